//! Whether index arithmetic has the program's index type, and each offset agrees with its
//! subscripts.
//!
//! Bounds are proved over the integers, while code computes in 32 or 64 bits. Each launch checks
//! that subscripts, bounds, grids and sizes fit ([`crate::index_range::check`]). This carries over
//! to the printed text if no index is narrowed on the way, and if the offset of an element, which
//! is what is printed for global memory, is the sum of its subscripts times the strides. Offsets
//! are compared as polynomials in variables, coordinates and parameters; an expression that is not
//! a polynomial counts as a variable. So do the bits that a swizzle takes from a sum, unless the
//! sum has the same low bits for all values of its variables: then they are a constant.

use std::{borrow::Cow, collections::BTreeMap};

use loopwright_kernel_ir::{DType, Dim, Name};

use crate::{BinOp, DeviceKernel, HostStmt, MemRef, Memory, Program, Stmt, UnOp, Value, ValueKind};

/// A place whose index is not of the program's type, or whose offset is not that of its subscripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WrongIndex {
    /// An index of another type: what it is, as `a subscript of x`, and its type.
    Type(String, DType),
    /// An element of this array.
    Offset(Name),
    /// The same, where factors leave 64 bits, or terms are too many to be compared.
    NotCompared(Name),
}

/// A factor of a term of a [`Polynomial`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Factor {
    Var(usize),
    ThreadIdx(Dim),
    BlockIdx(Dim),
    Param(Name),
    /// Anything else, by its text.
    Other(String),
}

/// A sum of products: each list of factors with its coefficient.
type Polynomial = BTreeMap<Vec<Factor>, i64>;

/// The most terms of a polynomial; offsets that need more are refused.
const TERMS: usize = 512;

fn polynomial(value: &Value) -> Option<Polynomial> {
    let one = |factor: Factor| Some(Polynomial::from([(vec![factor], 1)]));
    match &value.kind {
        ValueKind::Int(v) => Some(of_constant(*v)),
        ValueKind::Cast(a) if a.dtype.is_integer() && value.dtype.is_integer() => polynomial(a),
        ValueKind::Unary(UnOp::Neg, a) => sum(Polynomial::new(), &polynomial(a)?, -1),
        ValueKind::Binary(BinOp::Add, a, b) => sum(polynomial(a)?, &polynomial(b)?, 1),
        ValueKind::Binary(BinOp::Sub, a, b) => sum(polynomial(a)?, &polynomial(b)?, -1),
        ValueKind::Binary(BinOp::Mul, a, b) => product(&polynomial(a)?, &polynomial(b)?),
        ValueKind::Var(var) => one(Factor::Var(var.0)),
        ValueKind::ThreadIdx(dim) => one(Factor::ThreadIdx(*dim)),
        ValueKind::BlockIdx(dim) => one(Factor::BlockIdx(*dim)),
        ValueKind::Param(name) => one(Factor::Param(name.clone())),
        // What a mask takes depends on the low bits of a sum only.
        ValueKind::Binary(BinOp::BitAnd, a, mask)
            if a.dtype.is_integer() && mask.as_int().is_some_and(|m| (0..1 << 40).contains(&m)) =>
        {
            let bits = i64::BITS - mask.as_int()?.leading_zeros();
            let by_few = |by: &Value| by.as_int().and_then(|by| u32::try_from(by).ok()).filter(|by| *by < 20);
            let (of, by) = match &a.kind {
                ValueKind::Binary(op @ (BinOp::Shl | BinOp::Shr), of, by) => match by_few(by) {
                    Some(by) => (&**of, Some((*op, by))),
                    None => (&**a, None),
                },
                _ => (&**a, None),
            };
            let bits = match by {
                Some((BinOp::Shl, by)) => bits.saturating_sub(by),
                Some((_, by)) => bits + by,
                None => bits,
            };
            let low = modulo(polynomial(of)?, 1 << bits);
            match constant(&low) {
                Some(low) => {
                    let moved = match by {
                        Some((BinOp::Shl, by)) => low << by,
                        Some((_, by)) => low >> by,
                        None => low,
                    };
                    Some(of_constant(moved & mask.as_int()?))
                }
                None => one(Factor::Other(format!("{by:?} {:?} {low:?}", mask.as_int()))),
            }
        }
        // Bits, as swizzles combine them: by the polynomials of both sides.
        ValueKind::Binary(op @ (BinOp::BitXor | BinOp::BitAnd | BinOp::Shl | BinOp::Shr), a, b)
            if a.dtype.is_integer() && b.dtype.is_integer() =>
        {
            let (a, b) = (polynomial(a)?, polynomial(b)?);
            match (op, constant(&a), constant(&b)) {
                (BinOp::BitXor, Some(a), Some(b)) => Some(of_constant(a ^ b)),
                (BinOp::BitXor, Some(0), _) => Some(b),
                (BinOp::BitXor, _, Some(0)) => Some(a),
                _ => one(Factor::Other(format!("{op:?} {a:?} {b:?}"))),
            }
        }
        kind => one(Factor::Other(format!("{kind:?}"))),
    }
}

fn of_constant(v: i64) -> Polynomial {
    if v == 0 { Polynomial::new() } else { Polynomial::from([(Vec::new(), v)]) }
}

/// The value of a polynomial without factors.
fn constant(a: &Polynomial) -> Option<i64> {
    match a.len() {
        0 => Some(0),
        1 => a.get::<[Factor]>(&[]).copied(),
        _ => None,
    }
}

fn sum(mut a: Polynomial, b: &Polynomial, factor: i64) -> Option<Polynomial> {
    for (factors, c) in b {
        let known = a.entry(factors.clone()).or_insert(0);
        *known = known.checked_add(c.checked_mul(factor)?)?;
    }
    a.retain(|_, c| *c != 0);
    (a.len() <= TERMS).then_some(a)
}

/// The polynomial with coefficients reduced to the range from 0 to below `number`: its values
/// differ from those of the other one by multiples.
fn modulo(mut a: Polynomial, number: i64) -> Polynomial {
    a.values_mut().for_each(|c| *c = c.rem_euclid(number));
    a.retain(|_, c| *c != 0);
    a
}

fn product(a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    let mut all = Polynomial::new();
    for (f, c) in a {
        for (g, d) in b {
            let mut factors = [&f[..], &g[..]].concat();
            factors.sort();
            all = sum(all, &Polynomial::from([(factors, c.checked_mul(*d)?)]), 1)?;
        }
    }
    Some(all)
}

/// The first index of a program that is wrong.
pub(super) fn wrong_index(program: &Program) -> Option<WrongIndex> {
    let check = Check { program, kernel: None };
    for global in &program.globals {
        for value in global.shape.iter().chain(&global.strides).chain([&global.size]) {
            if let Some(wrong) = check.index(value, &format!("the layout of `{}`", global.name)) {
                return Some(wrong);
            }
        }
    }
    if let Some(wrong) = check.host(&program.host) {
        return Some(wrong);
    }
    program.kernels.iter().find_map(|kernel| {
        let check = Check { program, kernel: Some(kernel) };
        let grid =
            kernel.grid.values().find_map(|g| check.index(g, &format!("the grid of `{}`", kernel.name)));
        grid.or_else(|| check.body(&kernel.body))
    })
}

struct Check<'p> {
    program: &'p Program,
    kernel: Option<&'p DeviceKernel>,
}

impl Check<'_> {
    fn host(&self, body: &[HostStmt]) -> Option<WrongIndex> {
        body.iter().find_map(|stmt| match stmt {
            HostStmt::For { var, lower, upper, body, .. } => {
                let place = format!("the host's loop over `{var}`");
                self.index(lower, &place).or_else(|| self.index(upper, &place)).or_else(|| self.host(body))
            }
            HostStmt::Launch(_) => None,
        })
    }

    fn body(&self, body: &[Stmt]) -> Option<WrongIndex> {
        let mut found = None;
        Stmt::visit(body, &mut |stmt| {
            if found.is_some() {
                return;
            }
            if let Stmt::For { lower, upper, .. } = stmt {
                found = self
                    .index(lower, "the bound of a loop")
                    .or_else(|| self.index(upper, "the bound of a loop"));
            }
            stmt.each_element(&mut |element| found = found.take().or_else(|| self.element(element)));
            stmt.visit_values(&mut |value| {
                if let (ValueKind::Load(element), None) = (&value.kind, &found) {
                    found = self.element(element);
                }
            });
        });
        found
    }

    /// Whether a value is of the index type, and all arithmetic on indices inside of it.
    fn index(&self, value: &Value, place: &str) -> Option<WrongIndex> {
        if value.dtype != self.program.index {
            return Some(WrongIndex::Type(place.to_string(), value.dtype));
        }
        match &value.kind {
            // What is converted may be a number of any type as it is, but nothing that is computed
            // from indices. A conversion that the kernel's text has is one of an index.
            ValueKind::Cast(a) => match &a.kind {
                ValueKind::Cast(of) => match &of.kind {
                    ValueKind::Binary(..) | ValueKind::Unary(..) | ValueKind::Cast(_) => {
                        self.index(of, place)
                    }
                    _ => None,
                },
                ValueKind::Binary(..) | ValueKind::Unary(..)
                    if a.dtype.is_integer() && a.dtype.bytes() < self.program.index.bytes() && !reads(a) =>
                {
                    Some(WrongIndex::Type(place.to_string(), a.dtype))
                }
                _ => None,
            },
            ValueKind::Unary(_, a) => self.index(a, place),
            ValueKind::Binary(_, a, b) => self.index(a, place).or_else(|| self.index(b, place)),
            ValueKind::Select(_, a, b) => self.index(a, place).or_else(|| self.index(b, place)),
            _ => None,
        }
    }

    fn element(&self, element: &MemRef) -> Option<WrongIndex> {
        let kernel = self.kernel?;
        let laid_out = match element.memory {
            Memory::Global(_) => None,
            Memory::Shared(n) => kernel.shared.get(n).filter(|a| a.layout.is_some()),
            Memory::Private(n) => kernel.private.get(n).filter(|a| a.layout.is_some()),
        };
        let strides: Cow<'_, [Value]> = match element.memory {
            Memory::Global(g) => Cow::Borrowed(&self.program.globals.get(g)?.strides),
            Memory::Shared(n) => Cow::Owned(self.of_dims(&kernel.shared.get(n)?.dims)),
            Memory::Private(n) => Cow::Owned(self.of_dims(&kernel.private.get(n)?.dims)),
        };
        let name = match element.memory {
            Memory::Global(g) => &self.program.globals.get(g)?.name,
            Memory::Shared(n) => &kernel.shared.get(n)?.name,
            Memory::Private(n) => &kernel.private.get(n)?.name,
        };
        for value in element.subscripts.iter().chain([&*element.offset]) {
            let place = format!("a subscript of `{name}` in `{}`", kernel.name);
            if let Some(wrong) = self.index(value, &place) {
                return Some(wrong);
            }
        }
        if let Some(array) = laid_out {
            let wanted = array.whole_offset(&element.subscripts, self.program.index);
            let Some(wanted) = wanted else { return Some(WrongIndex::Offset(name.clone())) };
            let wanted = polynomial(&wanted);
            return compared(wanted, polynomial(&element.offset), name);
        }
        let mut total = Some(Polynomial::new());
        for (subscript, stride) in element.subscripts.iter().zip(strides.iter()) {
            let term = polynomial(subscript).zip(polynomial(stride)).and_then(|(s, t)| product(&s, &t));
            total = total.zip(term).and_then(|(total, term)| sum(total, &term, 1));
        }
        // A private array without subscripts is a scalar of the thread's.
        if element.subscripts.len() != strides.len() {
            return None;
        }
        compared(total, polynomial(&element.offset), name)
    }

    /// The strides of a local array, which is row-major.
    fn of_dims(&self, dims: &[u64]) -> Vec<Value> {
        let mut stride = 1i64;
        let mut strides = Vec::with_capacity(dims.len());
        for d in dims.iter().rev() {
            strides.push(Value::int(self.program.index, stride));
            stride = stride.saturating_mul(i64::try_from(*d).unwrap_or(i64::MAX));
        }
        strides.reverse();
        strides
    }
}

/// What is wrong with an offset, given those that are wanted and found, as far as they are known.
fn compared(wanted: Option<Polynomial>, found: Option<Polynomial>, name: &Name) -> Option<WrongIndex> {
    match wanted.zip(found) {
        Some((wanted, found)) => (wanted != found).then(|| WrongIndex::Offset(name.clone())),
        None => Some(WrongIndex::NotCompared(name.clone())),
    }
}

/// Whether a value is read from memory inside.
fn reads(value: &Value) -> bool {
    let mut found = false;
    value.visit(&mut |v| found |= matches!(v.kind, ValueKind::Load(_) | ValueKind::Var(_)));
    found
}
