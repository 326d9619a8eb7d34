//! Writes expressions shorter, with the same values.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
};

use loopwright_kernel_ir::{
    BinaryOp, DType, Diagnostic, Expr, Float, KernelData, LoopKernel, Name, Type, TypeTable, UnaryOp,
    ValueType,
};
use loopwright_legality::Judgement;

use crate::{
    Transform,
    rewrite::{
        decided::{Formulas, decided, decided_in_parts},
        require_instructions,
        rules::{does_what_is_declared, has_same_reductions, is_of_its_own_type, redeclare},
    },
};

step! {
    /// `simplify([a, b])`: writes the expressions of instructions shorter, where their values stay
    /// the same, bit for bit.
    ///
    /// # Meaning
    ///
    /// In sums and products of integers, terms are collected: `2*3*k - k` becomes `5*k`, and
    /// `(k // 10)*10 + k % 10` becomes `k`. Of floating-point numbers, products and quotients by 1,
    /// differences with 0 and double negations go, and literals whose result is exact in every type
    /// become one: `2.0*4.0*x[i]*1.0` is `8.0*x[i]`. Subscripts are written as the functions that
    /// they are. Where domain and assumptions decide a condition, as `i >= 0` where `i` counts from
    /// 0, the value that is always chosen stays, and a predicate that always holds goes. What would
    /// not become shorter stays. The declared kernel changes in the same way, and keeps its
    /// `origin`, with which `run --verify` compares.
    ///
    /// Conditions that hold in a part of a loop stay, as `i == 0` of `0 <= i < n`, since the
    /// declared instruction has both parts; the note of the step (`explain`) names them. `peel` or
    /// `index_set_split` gives a part a loop of its own. Lowering then folds what it compares as
    /// numbers there, as in the first iteration, and the compiler sees the bounds of the others.
    ///
    /// Lowering and compilers do most of this by themselves. The step is for the kernel's text, and
    /// for steps that compare expressions as they are written, such as
    /// [`AssignCommonSubexpressions`](crate::AssignCommonSubexpressions).
    ///
    /// # Legality
    ///
    /// Integers wrap: sums and products are the same modulo a power of two, and a quotient rounded
    /// down, multiplied again, and its remainder add up to the dividend. Floating-point operations
    /// are left out only where the result is exact; terms are not collected, since `x + x + x` and
    /// `3.0*x` are rounded differently ([`CollectCommonFactors`](crate::CollectCommonFactors) does
    /// such things). So { (e, p) : e has another value at the instance p than before } is empty. If
    /// steps came before, the transformed kernel is judged against the new declared one.
    ///
    /// In text: `simplify([a, b])`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel digits(k: i32[n], x: f32[n], y: i32[n], z: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// y[i] = 2*3*k[i] - k[i] + (i // 10)*10 + i % 10 {id=a}
    /// z[(i // 4)*4 + i % 4] = 2.0*4.0*x[i]*1.0 + (x[i] + 0.0) {id=b}
    /// ")?;
    /// let after = Pipeline::parse("simplify([a, b])")?.apply(&before)?.to_string();
    /// assert!(after.contains("y[i] = 5 * k[i] + i {id=a}"), "{after}");
    /// // The sum of -0.0 and 0.0 is 0.0.
    /// assert!(after.contains("z[i] = 8.0 * x[i] + (x[i] + 0.0) {id=b}"), "{after}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Simplify as "simplify" {
        /// The instructions whose expressions are simplified, by their ids.
        pub instructions: Vec<Name> = next("the instructions, as `[a, b]`") of Instructions,
    }
    table: "simplify([a, b])" => "`simplify_using_aff`, `fold_constants`",
    methods: {
        /// See [`Simplify`].
        fn simplify(&self, instructions: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(Simplify { instructions: instructions.into_names() })
        }
    }
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, a.into(), b.into())
}

/// The shorter one, the first if they are alike.
fn shorter(a: Expr, b: Expr) -> Expr {
    if b.size() < a.size() { b } else { a }
}

/// A sum of products of atoms, by their numbers, each with a factor.
#[derive(Clone, Default)]
struct Sum {
    terms: BTreeMap<Vec<usize>, i64>,
}

impl Sum {
    fn of(monomial: Vec<usize>, factor: i64) -> Sum {
        let mut sum = Sum::default();
        if factor != 0 {
            sum.terms.insert(monomial, factor);
        }
        sum
    }

    fn plus(mut self, other: &Sum, times: i64) -> Option<Sum> {
        for (monomial, factor) in &other.terms {
            let old = self.terms.get(monomial).copied().unwrap_or(0);
            match factor.checked_mul(times)?.checked_add(old)? {
                0 => self.terms.remove(monomial),
                new => self.terms.insert(monomial.clone(), new),
            };
        }
        Some(self)
    }

    fn times(&self, other: &Sum) -> Option<Sum> {
        let mut all = Sum::default();
        for (a, x) in &self.terms {
            for (b, y) in &other.terms {
                let mut monomial = [a.clone(), b.clone()].concat();
                monomial.sort_unstable();
                all = all.plus(&Sum::of(monomial, x.checked_mul(*y)?), 1)?;
            }
        }
        Some(all)
    }
}

/// The value of sums and products of literals alone. Quotients depend on where their dividends
/// wrap.
fn literal_sum(e: &Expr) -> Option<i64> {
    match e {
        Expr::Int(value) => Some(*value),
        Expr::Unary(UnaryOp::Neg, a) => literal_sum(a)?.checked_neg(),
        Expr::Binary(BinaryOp::Add, a, b) => literal_sum(a)?.checked_add(literal_sum(b)?),
        Expr::Binary(BinaryOp::Sub, a, b) => literal_sum(a)?.checked_sub(literal_sum(b)?),
        Expr::Binary(BinaryOp::Mul, a, b) => literal_sum(a)?.checked_mul(literal_sum(b)?),
        _ => None,
    }
}

/// The most terms of a sum that is written out.
const MOST: usize = 64;

/// The integers of one type: what sums of them consist of.
struct Ring<'s> {
    simplifier: &'s Simplifier<'s>,
    dtype: DType,
    atoms: Vec<Expr>,
    /// The quotients among the atoms: the dividend as a sum and as an expression, and the divisor.
    quotients: BTreeMap<usize, (Sum, Expr, i64)>,
    /// What has been read already: a remainder reads its dividend twice.
    sums: HashMap<Expr, Option<Sum>>,
}

impl Ring<'_> {
    fn atom(&mut self, e: Expr) -> usize {
        let at = self.atoms.iter().position(|a| *a == e);
        at.unwrap_or_else(|| {
            self.atoms.push(e);
            self.atoms.len() - 1
        })
    }

    /// An expression as a sum; `None` if factors or terms become too large or too many.
    fn sum(&mut self, e: &Expr) -> Option<Sum> {
        if let Some(known) = self.sums.get(e) {
            return known.clone();
        }
        let found = self.read(e);
        self.sums.insert(e.clone(), found.clone());
        found
    }

    fn read(&mut self, e: &Expr) -> Option<Sum> {
        let is_own = self.simplifier.integer(e) == Some(self.dtype);
        if let Some(literal) = literal_sum(e) {
            return Some(Sum::of(Vec::new(), literal));
        }
        let found = match e {
            Expr::Unary(UnaryOp::Neg, a) if is_own => Sum::default().plus(&self.sum(a)?, -1)?,
            Expr::Binary(op, a, b) if is_own => match (op, &**b) {
                (BinaryOp::Add, _) => self.sum(a)?.plus(&self.sum(b)?, 1)?,
                (BinaryOp::Sub, _) => self.sum(a)?.plus(&self.sum(b)?, -1)?,
                (BinaryOp::Mul, _) => self.sum(a)?.times(&self.sum(b)?)?,
                (BinaryOp::FloorDiv, Expr::Int(d @ 2..)) => Sum::of(vec![self.quotient(a, *d)?], 1),
                (BinaryOp::Mod, Expr::Int(d @ 2..)) => {
                    let dividend = self.sum(a)?;
                    let quotient = self.quotient(a, *d)?;
                    dividend.plus(&Sum::of(vec![quotient], *d), -1)?
                }
                _ => Sum::of(vec![self.opaque(e)], 1),
            },
            _ => Sum::of(vec![self.opaque(e)], 1),
        };
        (found.terms.len() <= MOST).then_some(found)
    }

    fn opaque(&mut self, e: &Expr) -> usize {
        let inside = self.simplifier.children(e);
        self.atom(inside)
    }

    fn quotient(&mut self, dividend: &Expr, divisor: i64) -> Option<usize> {
        let sum = self.sum(dividend)?;
        let dividend = self.simplifier.walk(dividend);
        let atom = self.atom(binary(BinaryOp::FloorDiv, dividend.clone(), Expr::Int(divisor)));
        self.quotients.insert(atom, (sum, dividend, divisor));
        Some(atom)
    }

    /// The sum as an expression, with remainders where they make it shorter.
    fn written(&mut self, sum: &Sum) -> Option<Expr> {
        let plain = self.plain(sum)?;
        for (quotient, (of, dividend, divisor)) in self.quotients.clone() {
            let Some(factor) = sum.terms.get(&vec![quotient]) else { continue };
            if factor % divisor != 0 {
                continue;
            }
            let times = -(factor / divisor);
            let remainder = self.atom(binary(BinaryOp::Mod, dividend, Expr::Int(divisor)));
            let next = sum
                .clone()
                .plus(&of, times.checked_neg()?)?
                .plus(&Sum::of(vec![quotient], divisor), times)?
                .plus(&Sum::of(vec![remainder], times), 1)?;
            let shorter = self.plain(&next)?;
            if shorter.size() < plain.size() {
                return self.written(&next);
            }
        }
        Some(plain)
    }

    fn plain(&self, sum: &Sum) -> Option<Expr> {
        let mut written: Option<Expr> = None;
        // The constant comes last, and what is added before what is subtracted.
        let mut terms: Vec<(&Vec<usize>, i64)> = sum.terms.iter().map(|(m, c)| (m, *c)).collect();
        terms.sort_by_key(|(monomial, factor)| (monomial.is_empty(), *factor < 0));
        for (monomial, factor) in terms {
            let magnitude = factor.checked_abs().filter(|m| *m <= i64::from(i32::MAX))?;
            let product =
                monomial.iter().map(|a| self.atoms[*a].clone()).reduce(|a, b| binary(BinaryOp::Mul, a, b));
            let term = match product {
                None => Expr::Int(magnitude),
                Some(product) if magnitude == 1 => product,
                Some(product) => binary(BinaryOp::Mul, Expr::Int(magnitude), product),
            };
            written = Some(match (written, factor < 0) {
                (None, false) => term,
                // Unsigned numbers have no negative.
                (None, true) if self.dtype.is_unsigned() => return None,
                (None, true) => Expr::Unary(UnaryOp::Neg, term.into()),
                (Some(before), false) => binary(BinaryOp::Add, before, term),
                (Some(before), true) => binary(BinaryOp::Sub, before, term),
            });
        }
        let written = written.unwrap_or(Expr::Int(0));
        // Of literals alone, the type would be that of the place.
        let is_literal = sum.terms.keys().all(Vec::is_empty);
        Some(if is_literal { Expr::Cast(self.dtype.into(), written.into()) } else { written })
    }
}

struct Simplifier<'k> {
    table: TypeTable<'k>,
    /// What has been simplified already: sums and their parts ask for the same.
    known: RefCell<HashMap<Expr, Expr>>,
}

impl Simplifier<'_> {
    fn type_of(&self, e: &Expr) -> Option<DType> {
        match self.table.type_of(e).ok()? {
            ValueType::Of(Type::Known(t)) => Some(t),
            _ => None,
        }
    }

    /// The type of an integer that wraps in it or in a wider one, as its place wants.
    fn integer(&self, e: &Expr) -> Option<DType> {
        self.type_of(e).filter(|t| t.is_integer() && t.bytes() >= 4)
    }

    /// The expression with its parts simplified.
    fn children(&self, e: &Expr) -> Expr {
        match e {
            Expr::Subscript(_) => e.map_children(&mut |child| {
                // A subscript is an integer, which wraps nowhere.
                child.to_aff().map_or(child.clone(), |aff| shorter(child.clone(), Expr::from_aff(&aff)))
            }),
            _ => e.map_children(&mut |child| self.walk(child)),
        }
    }

    fn walk(&self, e: &Expr) -> Expr {
        if let Some(known) = self.known.borrow().get(e) {
            return known.clone();
        }
        let found = self.simplified(e);
        self.known.borrow_mut().insert(e.clone(), found.clone());
        found
    }

    fn simplified(&self, e: &Expr) -> Expr {
        let is_sum = matches!(
            e,
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) | Expr::Unary(UnaryOp::Neg, _)
        );
        let inside = self.children(e);
        if let (true, Some(dtype)) = (is_sum, self.integer(e)) {
            let mut ring = Ring {
                simplifier: self,
                dtype,
                atoms: Vec::new(),
                quotients: BTreeMap::new(),
                sums: HashMap::new(),
            };
            let written = ring.sum(e).and_then(|sum| ring.written(&sum));
            // What remains may be of a narrower type, in which it would wrap: `s*s + z - z`.
            let written = written.filter(|written| self.type_of(written) == Some(dtype));
            return written.map_or(inside.clone(), |written| shorter(inside, written));
        }
        let next = exact(&inside).unwrap_or_else(|| inside.clone());
        // The value without the operation has to be of the same type, wherever it stands.
        let same = self.table.type_of(&next).ok() == self.table.type_of(&inside).ok();
        let own = matches!(next, Expr::Name(_) | Expr::Float(_) | Expr::Int(_)) || is_of_its_own_type(&next);
        if same && own { next } else { inside }
    }
}

/// What an operation on floating-point numbers is without rounding.
fn exact(e: &Expr) -> Option<Expr> {
    let literal = |e: &Expr| match e {
        Expr::Int(v) => i32::try_from(*v).ok().map(f64::from),
        Expr::Float(v) => Some(v.0),
        _ => None,
    };
    match e {
        Expr::Unary(UnaryOp::Neg, a) => match &**a {
            Expr::Unary(UnaryOp::Neg, b) => Some((**b).clone()),
            _ => None,
        },
        Expr::Binary(op, a, b) => match (op, literal(a), literal(b)) {
            (op, Some(x), Some(y)) => {
                let result = match op {
                    BinaryOp::Add => x + y,
                    BinaryOp::Sub => x - y,
                    BinaryOp::Mul => x * y,
                    BinaryOp::Div => x / y,
                    _ => return None,
                };
                let all = [x, y, result].into_iter().all(is_exact_in_every_type);
                let is_float = matches!(**a, Expr::Float(_)) || matches!(**b, Expr::Float(_));
                (all && is_float && result > 0.0).then_some(Expr::Float(Float(result)))
            }
            (BinaryOp::Mul, Some(1.0), _) => Some((**b).clone()),
            (BinaryOp::Mul | BinaryOp::Div, _, Some(1.0)) => Some((**a).clone()),
            // Not the sum: of -0.0 and 0.0 it is 0.0.
            (BinaryOp::Sub, _, Some(zero)) if zero == 0.0 && zero.is_sign_positive() => Some((**a).clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a number has so few bits, and is so near to 1, that every floating-point type in which
/// the library computes has it.
fn is_exact_in_every_type(value: f64) -> bool {
    let magnitude = value.abs();
    let scaled = magnitude / 2f64.powi(magnitude.log2().floor() as i32) * 128.0;
    (1.0 / 4096.0..=16384.0).contains(&magnitude) && scaled.fract() == 0.0
}

impl Simplify {
    fn change(&self, data: &mut KernelData, decided: &BTreeMap<Name, (Formulas, Formulas)>) {
        for i in &mut data.instructions {
            let Some((old, new)) = i.role.declared().and_then(|id| decided.get(id)) else { continue };
            if (&i.value, &i.predicate) == (&old.0, &old.1) {
                (i.value, i.predicate) = new.clone();
            }
        }
        let before = data.clone();
        let simplifier = Simplifier { table: TypeTable::new(&before), known: RefCell::default() };
        for i in &mut data.instructions {
            if i.role.declared().is_none_or(|id| !self.instructions.contains(id)) {
                continue;
            }
            let value = simplifier.walk(&i.value);
            if has_same_reductions(&value, &i.value) {
                i.value = value;
            }
            i.predicate = i.predicate.as_ref().map(|p| simplifier.walk(p));
            for target in &mut i.targets {
                let same = Expr::Subscript(target.clone());
                if let (false, Expr::Subscript(access)) =
                    (target.index.is_empty(), simplifier.children(&same))
                {
                    *target = access;
                }
            }
        }
    }
}

/// What is said of conditions that hold in a part of a loop, with the remedy.
fn in_parts(kernel: &LoopKernel, ids: &[Name]) -> Vec<String> {
    let note = |(id, condition, iname): (Name, Expr, Name)| {
        let remedy = match &condition {
            Expr::Binary(BinaryOp::Eq | BinaryOp::Ne, ..) => {
                format!("`peel({iname}, first=1)` or `peel({iname}, last=1)`, if it is about an end of it,")
            }
            condition => format!("`index_set_split({iname}, {condition})`"),
        };
        format!(
            "`{condition}` in `{id}` holds in a part of the loop over `{iname}`, and stays: {remedy} gives \
             that part a loop of its own"
        )
    };
    decided_in_parts(kernel, ids).into_iter().map(note).collect()
}

impl Transform for Simplify {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let declared = kernel.declared();
        require_instructions(declared, &self.instructions)?;
        let decided = decided(kernel, &self.instructions);
        let mut new = (**declared).clone();
        self.change(&mut new, &decided);
        if new == **declared {
            return Err(Diagnostic::new(
                "nothing-simpler",
                "no expression of the instructions becomes shorter with the same values",
            )
            .help(match in_parts(kernel, &self.instructions).first() {
                Some(part) => format!("leave the step out; {part}"),
                None => {
                    "leave the step out; `collect_common_factors` may change how results are rounded".into()
                }
            }));
        }
        let after = redeclare(kernel, &|data| {
            self.change(data, &decided);
            Ok(())
        })?;
        does_what_is_declared(after)
    }

    fn notes(&self, before: &LoopKernel) -> Vec<String> {
        in_parts(before, &self.instructions)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem(
            "integers are the same modulo a power of two, nothing is rounded differently, and what is left \
             out is never chosen",
        )
    }
}
