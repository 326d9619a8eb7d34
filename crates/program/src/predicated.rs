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

use std::{cell::OnceCell, collections::BTreeMap};

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
    /// The copies, in their order.
    pub fn copies(&self) -> Vec<&'a AsyncCopy> {
        let mut found = Vec::new();
        Stmt::visit(self.body, &mut |stmt| found.extend(stmt.async_copy()));
        found
    }
}

/// What decides in a kernel where copies can have a predicate. The ranges of its names are computed
/// when the first copy asks.
#[derive(Debug)]
pub struct CopyPredicates<'k> {
    kernel: &'k DeviceKernel,
    ranges: OnceCell<Ranges>,
}

/// What the names of a kernel that are not assigned again may be in all places where they are
/// declared, whatever the parameters are.
type Ranges = BTreeMap<VarId, Range>;

impl<'k> CopyPredicates<'k> {
    /// Those of a kernel.
    pub fn of(kernel: &'k DeviceKernel) -> Self {
        CopyPredicates { kernel, ranges: OnceCell::new() }
    }

    /// The statement, one of the kernel, as a choice between copies and nothing, if it is one.
    pub fn find<'s>(&self, stmt: &'s Stmt) -> Option<PredicatedCopies<'s>> {
        let Stmt::If { cond, body, otherwise, note } = stmt else { return None };
        let is_one = otherwise.is_empty()
            && !note.is_predicate()
            && is_plain(self.kernel, cond)
            && copies_only(self.kernel, body);
        if !is_one {
            return None;
        }
        let found = PredicatedCopies { cond, body, note };
        let copies = found.copies();
        (!copies.is_empty() && copies.iter().all(|copy| self.is_inside(&copy.to))).then_some(found)
    }

    /// Whether an element of shared memory is one of its array, whatever the parameters are.
    fn is_inside(&self, element: &MemRef) -> bool {
        let Memory::Shared(number) = element.memory else { return false };
        let Some(array) = self.kernel.shared.get(number) else { return false };
        let ranges = self.ranges.get_or_init(|| ranges(self.kernel));
        let inside = |(subscript, length): (&Value, &u64)| {
            range(self.kernel, &|var| ranges.get(var).copied(), subscript)
                .is_some_and(|range| range.is_within((0, i128::from(*length) - 1)))
        };
        element.subscripts.len() == array.dims.len() && element.subscripts.iter().zip(&array.dims).all(inside)
    }
}

/// The ranges of names: what a name is made of is declared before it.
fn ranges(kernel: &DeviceKernel) -> Ranges {
    let mut found = Ranges::new();
    add_ranges(kernel, &kernel.body, &Ranges::new(), &mut found);
    found
}

/// Adds the ranges of the names that these statements declare. `narrowed` are those of counters
/// under the conditions around them that stay control flow.
fn add_ranges(kernel: &DeviceKernel, body: &[Stmt], narrowed: &Ranges, found: &mut Ranges) {
    for stmt in body {
        let here = |found: &Ranges, value: &Value| {
            let names = |var: &VarId| narrowed.get(var).or_else(|| found.get(var)).copied();
            range(kernel, &names, value)
        };
        let declared = match stmt {
            Stmt::Let { var, value, .. } => Some((var, here(found, value))),
            Stmt::For { var, lower, upper, step: Step::Add(_), .. } => {
                Some((var, counter(here(found, lower), here(found, upper))))
            }
            Stmt::For { var, .. } => Some((var, None)),
            _ => None,
        };
        if let Some((var, known)) = declared
            && let Some(of_var) = kernel.vars.get(var.0).filter(|var| !var.mutable)
            && let Some(known) = known.or_else(|| Range::of_type(of_var.dtype))
        {
            found.entry(*var).and_modify(|range| *range = range.union(known)).or_insert(known);
        }
        match stmt {
            Stmt::If { cond, body, otherwise, .. } => {
                // Where the condition may become a predicate, it does not hold around addresses.
                let inside = match copies_only(kernel, body) {
                    true => narrowed.clone(),
                    false => narrow(kernel, cond, narrowed, found),
                };
                add_ranges(kernel, body, &inside, found);
                add_ranges(kernel, otherwise, narrowed, found);
            }
            other => {
                for body in other.bodies() {
                    add_ranges(kernel, body, narrowed, found);
                }
            }
        }
    }
}

/// The ranges of counters where a condition holds, too, that bounds one by a constant.
fn narrow(kernel: &DeviceKernel, cond: &Value, narrowed: &Ranges, found: &Ranges) -> Ranges {
    let mut inside = narrowed.clone();
    let mut conjuncts = vec![cond];
    while let Some(cond) = conjuncts.pop() {
        let ValueKind::Binary(op, a, b) = &cond.kind else { continue };
        if *op == BinOp::And {
            conjuncts.extend([&**a, &**b]);
            continue;
        }
        let (ValueKind::Var(var), Some(bound)) = (&a.kind, b.as_int()) else { continue };
        let is_fixed = kernel.vars.get(var.0).is_some_and(|var| !var.mutable);
        let Some(known) = inside.get(var).or_else(|| found.get(var)).filter(|_| is_fixed) else { continue };
        let bound = i128::from(bound);
        let (low, high) = match op {
            BinOp::Lt => (known.low, known.high.min(bound - 1)),
            BinOp::Le => (known.low, known.high.min(bound)),
            BinOp::Gt => (known.low.max(bound + 1), known.high),
            BinOp::Ge => (known.low.max(bound), known.high),
            BinOp::Eq => (known.low.max(bound), known.high.min(bound)),
            _ => continue,
        };
        // Where nothing satisfies it, what is inside does not run.
        if low <= high {
            inside.insert(*var, Range::new(low, high));
        }
    }
    inside
}

/// The range of an index where nothing is known of parameters; `None` if it is not an integer.
fn range(kernel: &DeviceKernel, names: &dyn Fn(&VarId) -> Option<Range>, value: &Value) -> Option<Range> {
    let of = |value: &Value| range(kernel, names, value);
    let known = match &value.kind {
        ValueKind::Int(v) => Some(Range::constant(*v)),
        ValueKind::ThreadIdx(dim) => Some(Range::new(0, i128::from(kernel.block[*dim].max(1)) - 1)),
        ValueKind::BlockIdx(_) => Some(Range::new(0, limits(value.dtype)?.1)),
        ValueKind::Var(var) => names(var),
        ValueKind::Unary(UnOp::Neg, a) => of(a).map(|a| Range::new(-a.high, -a.low)),
        ValueKind::Binary(op, a, b) if !op.is_comparison() => binary(*op, of(a)?, of(b)?, value.dtype),
        ValueKind::Select(_, a, b) => Some(of(a)?.union(of(b)?)),
        ValueKind::Cast(a) => {
            let limits = limits(value.dtype)?;
            of(a).filter(|range| range.is_within(limits))
        }
        _ => None,
    };
    known.or_else(|| Range::of_type(value.dtype))
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
