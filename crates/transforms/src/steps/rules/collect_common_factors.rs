//! Multiplies once by what several terms have as a factor.

use std::fmt;

use loopwright_kernel_ir::{
    BinaryOp, DType, Diagnostic, Expr, Instruction, KernelData, Lookup, LoopKernel, Name, Reduce, Type,
    TypeTable, UnaryOp, ValueType,
};
use loopwright_legality::Judgement;
use serde::{Deserialize, Serialize};

use crate::{
    Transform,
    rewrite::{
        rules::{does_what_is_declared, has_same_reductions, redeclare},
        unknown_instruction,
    },
};

/// Whether a step may change how results are rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// Results stay what they are, bit for bit.
    #[default]
    Same,
    /// They are those of the same expression in exact arithmetic, rounded elsewhere.
    Any,
}

impl Rounding {
    /// All values, the default first.
    pub(crate) const ALL: [Rounding; 2] = [Rounding::Same, Rounding::Any];

    fn is_same(&self) -> bool {
        *self == Rounding::Same
    }
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rounding::Same => "same",
            Rounding::Any => "any",
        })
    }
}

step! {
    /// `collect_common_factors(id, rounding=any)`: multiplies once by what terms of a sum have as a
    /// common factor.
    ///
    /// # Meaning
    ///
    /// In the value of the instruction `sum(j, c*a)` becomes `c*sum(j, a)`, if `c` does not depend
    /// on `j`, and `c*a + c*b` becomes `c*(a + b)`; of several factors the one that most terms have
    /// comes first. Factors are compared as they are written. The declared kernel changes in the
    /// same way, and keeps its `origin`, with which `run --verify` compares.
    ///
    /// # Legality
    ///
    /// All terms and factors have the type of the sum. Sums and products of integers wrap, and are
    /// the same modulo a power of two in either form. Those of floating-point numbers are rounded
    /// elsewhere, and differ more where terms cancel, overflow or are infinite, and where a sum has
    /// no terms and its factor is infinite: the step takes them with `rounding=any` only.
    ///
    /// A factor is read where the sum ends rather than for each term, and also where the sum has no
    /// terms. One that reads a temporary, what the loops of the sum write, or an element by a
    /// subscript from data, or that divides by what may be 0, stays in the sum: { (f, p) : the
    /// factor f, read at the end of the sum at p, has another value than for one of its terms } is
    /// empty. If steps came before, the transformed kernel is judged against the new declared one.
    ///
    /// In text: `collect_common_factors(id)` with the option `rounding=any`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel scaled(a: f32[m, n], c: f32[m], y: f32[m], m: i32, n: i32)
    /// domain { [i, j] : 0 <= i < m and 0 <= j < n }
    /// y[i] = sum(j, c[i]*a[i, j]) + c[i]*a[i, 0] if n >= 1 {id=total}
    /// ")?;
    /// let steps = Pipeline::parse("collect_common_factors(total, rounding=any)")?;
    /// let after = steps.apply(&before)?.to_string();
    /// assert!(after.contains("y[i] = c[i] * (sum(j, a[i, j]) + a[i, 0]) if n >= 1"), "{after}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct CollectCommonFactors as "collect_common_factors" {
        /// The instruction whose sums have common factors, by its id.
        pub id: Name = next("the instruction"),
        /// Whether floating-point results may be rounded differently.
        #[serde(default, skip_serializing_if = "Rounding::is_same")]
        pub rounding: Rounding = option(),
    }
    table: "collect_common_factors(id, rounding=any)" => "`collect_common_factors_on_increment(k, \"y\")`",
    methods: {
        /// See [`CollectCommonFactors`], which has options.
        fn collect_common_factors(&self, id: &str) -> Result<Self, Diagnostic> {
            self.step(CollectCommonFactors { id: id.into(), rounding: Rounding::Same })
        }
    }
}

/// The rewriting of one instruction's value.
struct Collector<'k> {
    data: &'k KernelData,
    lookup: Lookup<'k>,
    table: TypeTable<'k>,
    /// The types of the sums that have changed.
    changed: Vec<DType>,
}

/// The factors of a product, left before right.
fn factors(e: &Expr) -> Vec<Expr> {
    match e {
        Expr::Binary(BinaryOp::Mul, a, b) => [factors(a), factors(b)].concat(),
        _ => vec![e.clone()],
    }
}

fn product(factors: Vec<Expr>) -> Option<Expr> {
    factors.into_iter().reduce(|a, b| Expr::Binary(BinaryOp::Mul, a.into(), b.into()))
}

/// The terms of a sum, with whether they are subtracted.
fn terms(e: &Expr, negative: bool) -> Vec<(bool, Expr)> {
    match e {
        Expr::Binary(BinaryOp::Add, a, b) => [terms(a, negative), terms(b, negative)].concat(),
        Expr::Binary(BinaryOp::Sub, a, b) => [terms(a, negative), terms(b, !negative)].concat(),
        _ => vec![(negative, e.clone())],
    }
}

fn total(terms: Vec<(bool, Expr)>) -> Option<Expr> {
    let mut sum: Option<Expr> = None;
    for (negative, term) in terms {
        sum = Some(match (sum, negative) {
            (None, false) => term,
            (None, true) => Expr::Unary(UnaryOp::Neg, term.into()),
            (Some(sum), false) => Expr::Binary(BinaryOp::Add, sum.into(), term.into()),
            (Some(sum), true) => Expr::Binary(BinaryOp::Sub, sum.into(), term.into()),
        });
    }
    sum
}

impl Collector<'_> {
    /// The type of an expression, if it is one in which sums and products are those of a ring, up
    /// to rounding.
    fn ring(&self, e: &Expr) -> Option<DType> {
        match self.table.type_of(e).ok()? {
            ValueType::Of(Type::Known(t)) if (t.is_float() || t.is_integer()) && t.bytes() >= 4 => Some(t),
            _ => None,
        }
    }

    /// Whether the factors of a term all have this type, or are literals, which take it.
    fn are(&self, factors: &[Expr], dtype: DType) -> bool {
        let is_literal = |e: &Expr| match e {
            Expr::Int(_) => true,
            Expr::Float(_) => dtype.is_float(),
            _ => false,
        };
        factors.iter().all(|f| is_literal(f) || self.ring(f) == Some(dtype))
    }

    /// The expression with its factors collected. `wanted` is the type in which its place computes
    /// it, where that is known: integers of another type would not wrap where they did.
    fn walk(&mut self, e: &Expr, wanted: Option<DType>) -> Expr {
        let own = self.ring(e);
        let kept = own.filter(|own| wanted == Some(*own));
        let inside = match e {
            // Subscripts are no values.
            Expr::Subscript(_) => return e.clone(),
            // What is reduced is computed in its own type.
            Expr::Reduce(_) => e.map_children(&mut |child| {
                let own = self.ring(child);
                self.walk(child, own)
            }),
            // The operands of arithmetic are computed in its type.
            Expr::Binary(..) | Expr::Unary(UnaryOp::Neg, _) => {
                e.map_children(&mut |child| self.walk(child, kept))
            }
            Expr::Call { function, .. } if matches!(&**function, "min" | "max") => {
                e.map_children(&mut |child| self.walk(child, kept))
            }
            Expr::If(c, a, b) => {
                Expr::If(self.walk(c, None).into(), self.walk(a, kept).into(), self.walk(b, kept).into())
            }
            _ => e.map_children(&mut |child| self.walk(child, None)),
        };
        if own.is_some_and(|own| own.is_integer()) && kept.is_none() {
            return inside;
        }
        match &inside {
            Expr::Reduce(r) if *r.op == *"sum" => self.out_of(r).unwrap_or(inside),
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => self.out_of_terms(&inside).unwrap_or(inside),
            _ => inside,
        }
    }

    /// Whether an expression has a value where a sum over these inames ends, the same as for each
    /// of its terms, also where there are none: it reads no temporary, which may not have been
    /// written, nothing that is written in the loops of the sum, no element by a subscript from
    /// data, which may be valid only where there are terms, and divides by literals alone.
    fn is_fixed(&self, e: &Expr, inames: &[&Name]) -> bool {
        let is_given = |n: &Name| self.data.temporary(n).is_none();
        let is_written_inside = |n: &Name| {
            self.lookup.writers(n).iter().any(|w| {
                let within = &self.data.instructions[*w].within;
                within.iter().any(|n| self.lookup.base_of(n).iter().any(|n| inames.contains(&n)))
            })
        };
        let accesses = e.accesses();
        let mut is_total = true;
        e.visit(&mut |e| {
            if let Expr::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, _, by) = e {
                is_total &= matches!(**by, Expr::Int(by) if by != 0);
            }
        });
        is_total
            && accesses.iter().all(|a| a.index.iter().all(|s| s.to_aff().is_some()))
            && e.names().iter().chain(accesses.iter().map(|a| &a.array)).all(|n| {
                is_given(n)
                    && !is_written_inside(n)
                    && !self.lookup.base_of(n).iter().any(|n| inames.contains(&n))
            })
    }

    /// A reduction with the factors that do not depend on it in front.
    fn out_of(&mut self, r: &Reduce) -> Option<Expr> {
        let [arg] = r.args.as_slice() else { return None };
        let dtype = self.ring(&Expr::Reduce(r.clone().into()))?;
        let all = factors(arg);
        if self.ring(arg) != Some(dtype) || !self.are(&all, dtype) {
            return None;
        }
        let own: Vec<&Name> = r.inames.iter().flat_map(|n| self.lookup.base_of(n)).collect();
        let depends = |e: &Expr| !e.reductions().is_empty() || !self.is_fixed(e, &own);
        let (inner, mut outer): (Vec<Expr>, Vec<Expr>) = all.into_iter().partition(depends);
        let inner = product(inner)?;
        if outer.is_empty() || self.ring(&inner) != Some(dtype) {
            return None;
        }
        let reduce = Reduce { args: vec![inner], ..r.clone() };
        outer.push(Expr::Reduce(reduce.into()));
        self.changed.push(dtype);
        product(outer)
    }

    /// A sum with the factor in front that most of its terms have.
    fn out_of_terms(&mut self, e: &Expr) -> Option<Expr> {
        let dtype = self.ring(e)?;
        let terms = terms(e, false);
        let split: Vec<Vec<Expr>> = terms.iter().map(|(_, t)| factors(t)).collect();
        if !split.iter().all(|fs| self.are(fs, dtype)) {
            return None;
        }
        let mut best: Option<(usize, Expr)> = None;
        for factor in split.iter().flatten() {
            let count = split.iter().filter(|fs| fs.contains(factor)).count();
            if count > best.as_ref().map_or(1, |(most, _)| *most) {
                best = Some((count, factor.clone()));
            }
        }
        let (_, factor) = best?;
        let (mut with, mut rest) = (Vec::new(), Vec::new());
        let mut first = 0;
        for (k, ((negative, term), mut fs)) in terms.into_iter().zip(split).enumerate() {
            match fs.iter().position(|f| *f == factor) {
                // A term that is the factor itself would leave 1, whose type is open.
                Some(at) if fs.len() > 1 => {
                    if with.is_empty() {
                        first = k;
                    }
                    fs.remove(at);
                    with.push((negative, product(fs)?));
                }
                _ => rest.push((negative, term)),
            }
        }
        if with.len() < 2 {
            return None;
        }
        let inside = total(with)?;
        // Of literals alone, the sum would be computed in the type of its place.
        if self.ring(&inside) != Some(dtype) {
            return None;
        }
        let inside = self.out_of_terms(&inside).unwrap_or(inside);
        self.changed.push(dtype);
        rest.insert(first.min(rest.len()), (false, product(vec![factor, inside])?));
        let all = total(rest)?;
        Some(self.out_of_terms(&all).unwrap_or(all))
    }
}

impl CollectCommonFactors {
    fn refuse(&self, why: String, help: &str) -> Diagnostic {
        let message = format!("no factors of `{}` are collected: {why}", self.id);
        Diagnostic::new("common-factors", message).help(help)
    }

    /// The instruction with its new value, and the types in which it is computed differently.
    fn changed(
        &self,
        data: &KernelData,
        instruction: &Instruction,
    ) -> Result<(Instruction, Vec<DType>), Diagnostic> {
        let mut collector =
            Collector { data, lookup: Lookup::new(data), table: TypeTable::new(data), changed: Vec::new() };
        let wanted = instruction.targets.first().and_then(|t| data.array(&t.array)?.dtype.known());
        let value = collector.walk(&instruction.value, wanted);
        if collector.changed.is_empty() {
            return Err(self.refuse(
                "no sum in it has a factor in common that can be computed outside of its terms".into(),
                "the terms are to have the type of the sum, which its place leaves as it is, and the \
                 factor written in the same way; it may read arguments, by subscripts that are functions \
                 of inames",
            ));
        }
        let is_decided = instruction.scan.is_some() || instruction.atom.is_some() || instruction.atomic;
        if is_decided || !has_same_reductions(&instruction.value, &value) {
            return Err(self.refuse(
                "its sums would come in another order, or a step has decided how one runs".into(),
                "apply the step earlier, or write the sums in the order in which they share a factor",
            ));
        }
        let new = Instruction { value, ..instruction.clone() };
        Ok((new, collector.changed))
    }
}

impl Transform for CollectCommonFactors {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let Some(instruction) = kernel.declared().instruction(&self.id) else {
            return Err(unknown_instruction(kernel.declared(), &self.id));
        };
        let (_, types) = self.changed(kernel.declared(), instruction)?;
        if let Some(t) = types.iter().find(|t| t.is_float()).filter(|_| self.rounding.is_same()) {
            return Err(self.refuse(
                format!("results of type {t} would be rounded differently"),
                "write `rounding=any` if that may be",
            ));
        }
        let after = redeclare(kernel, &|data| {
            let mut all = Vec::new();
            for i in &data.instructions {
                let is_meant = i.role.declared() == Some(&self.id);
                all.push(if is_meant { self.changed(data, i)?.0 } else { i.clone() });
            }
            data.instructions = all;
            Ok(())
        })?;
        does_what_is_declared(after)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a factor of all terms is a factor of their sum")
    }
}
