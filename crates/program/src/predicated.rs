//! Copies whose condition can be a predicate of the instruction instead of control flow.
//!
//! Where a condition stands around asynchronous copies, a compiler computes their addresses under
//! it, copy by copy. If each instruction has the condition as a predicate, no control flow stands
//! around the addresses, and what they have in common is computed once.
//!
//! Then addresses are computed where the condition does not hold, too. So nothing in them reads
//! memory or divides by what may be zero; the elements that are written lie within their array
//! without the condition, by the constant ranges of their subscripts; and that the offsets of those
//! that are read fit is asked of the sizes of each launch ([`crate::index_range::check`]).

use std::collections::BTreeMap;

use crate::{
    Async, AsyncCopy, BinOp, DeviceKernel, MemRef, Memory, Note, Step, Stmt, UnOp, Value, ValueKind, VarId,
    index_range::range::{Range, binary, counter, limits},
};

/// A choice between copies and nothing, whose condition can be the predicate of each copy.
#[derive(Clone, Copy, Debug)]
pub struct PredicatedCopies<'a> {
    /// The condition, over indices.
    pub cond: &'a Value,
    /// Copies, names of indices, and unrolled loops over such statements.
    pub body: &'a [Stmt],
    /// The reason that comments of the printed text give.
    pub note: &'a Note,
}

impl<'a> PredicatedCopies<'a> {
    /// The statement as such a choice, if it is one.
    pub fn of(kernel: &DeviceKernel, stmt: &'a Stmt) -> Option<PredicatedCopies<'a>> {
        let Stmt::If { cond, body, otherwise, note } = stmt else { return None };
        let copies = PredicatedCopies { cond, body, note };
        let is_one = otherwise.is_empty()
            && !note.is_predicate()
            && is_plain(kernel, cond)
            && copies_only(kernel, body)
            && !copies.copies().is_empty();
        let is_inside = || {
            let names = Names::of(kernel);
            copies.copies().iter().all(|copy| names.is_inside(&copy.to))
        };
        (is_one && is_inside()).then_some(copies)
    }

    /// The copies, in their order.
    pub fn copies(&self) -> Vec<&'a AsyncCopy> {
        let mut found = Vec::new();
        Stmt::visit(self.body, &mut |stmt| found.extend(stmt.async_copy()));
        found
    }
}

/// Whether a body consists of copies whose addresses can be computed anywhere.
fn copies_only(kernel: &DeviceKernel, body: &[Stmt]) -> bool {
    let plain = |value: &Value| is_plain(kernel, value);
    let element = |m: &MemRef| m.subscripts.iter().all(plain) && plain(&m.offset);
    body.iter().all(|stmt| match stmt {
        Stmt::Let { value, leaf: None, .. } => plain(value),
        Stmt::Async(Async::Copy(AsyncCopy { to, from, when: None, .. })) => element(to) && element(from),
        Stmt::For { unroll: true, body, .. } => copies_only(kernel, body),
        _ => false,
    })
}

/// Whether a value can be computed anywhere in the kernel: arithmetic on constants, coordinates,
/// parameters and names that always have a value.
fn is_plain(kernel: &DeviceKernel, value: &Value) -> bool {
    let mut plain = true;
    value.visit(&mut |v| {
        plain &= match &v.kind {
            ValueKind::Int(_)
            | ValueKind::Bool(_)
            | ValueKind::Param(_)
            | ValueKind::BlockIdx(_)
            | ValueKind::ThreadIdx(_)
            | ValueKind::Unary(..)
            | ValueKind::Select(..)
            | ValueKind::Cast(_) => true,
            ValueKind::Var(var) => kernel.vars.get(var.0).is_some_and(|var| !var.mutable),
            ValueKind::Binary(op, _, divisor) => match op {
                BinOp::Div | BinOp::FloorDiv | BinOp::FloorMod | BinOp::TruncDiv | BinOp::TruncRem => {
                    divisor.as_int().is_some_and(|divisor| divisor > 0)
                }
                _ => true,
            },
            ValueKind::Float(_)
            | ValueKind::Load(_)
            | ValueKind::Call { .. }
            | ValueKind::Shuffle { .. }
            | ValueKind::Ballot(_)
            | ValueKind::LeadingZeros(_)
            | ValueKind::Any(_) => false,
        };
    });
    plain
}

/// What the names of a kernel's indices stand for.
struct Names<'k> {
    kernel: &'k DeviceKernel,
    values: BTreeMap<VarId, &'k Value>,
    /// First value and bound of counters that go upwards.
    counters: BTreeMap<VarId, (&'k Value, &'k Value)>,
}

impl<'k> Names<'k> {
    fn of(kernel: &'k DeviceKernel) -> Self {
        let (mut values, mut counters) = (BTreeMap::new(), BTreeMap::new());
        Stmt::visit(&kernel.body, &mut |stmt| match stmt {
            Stmt::Let { var, value, .. } => drop(values.insert(*var, value)),
            Stmt::For { var, lower, upper, step: Step::Add(_), .. } => {
                counters.insert(*var, (lower, upper));
            }
            _ => {}
        });
        Names { kernel, values, counters }
    }

    /// Whether an element of shared memory is one of its array, whatever the parameters are.
    fn is_inside(&self, element: &MemRef) -> bool {
        let Memory::Shared(number) = element.memory else { return false };
        let Some(array) = self.kernel.shared.get(number) else { return false };
        let inside = |(subscript, length): (&Value, &u64)| {
            self.range(subscript).is_some_and(|range| range.is_within((0, i128::from(*length) - 1)))
        };
        element.subscripts.len() == array.dims.len() && element.subscripts.iter().zip(&array.dims).all(inside)
    }

    /// The range of an index where nothing is known of parameters; `None` if it is not an integer.
    fn range(&self, value: &Value) -> Option<Range> {
        let known = match &value.kind {
            ValueKind::Int(v) => Some(Range::constant(*v)),
            ValueKind::ThreadIdx(dim) => Some(Range::new(0, i128::from(self.kernel.block[*dim].max(1)) - 1)),
            ValueKind::BlockIdx(_) => Some(Range::new(0, limits(value.dtype)?.1)),
            ValueKind::Var(var) => match (self.counters.get(var), self.values.get(var)) {
                (Some((lower, upper)), _) => counter(self.range(lower), self.range(upper)),
                (None, Some(value)) => self.range(value),
                (None, None) => None,
            },
            ValueKind::Unary(UnOp::Neg, a) => self.range(a).map(|a| Range::new(-a.high, -a.low)),
            ValueKind::Binary(op, a, b) if !op.is_comparison() => {
                binary(*op, self.range(a)?, self.range(b)?, value.dtype)
            }
            ValueKind::Select(_, a, b) => Some(self.range(a)?.union(self.range(b)?)),
            ValueKind::Cast(a) => {
                let limits = limits(value.dtype)?;
                self.range(a).filter(|range| range.is_within(limits))
            }
            _ => None,
        };
        known.or_else(|| Range::of_type(value.dtype))
    }
}
