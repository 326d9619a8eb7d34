//! Which sizes a program's index type suffices for, as conditions on the scalar arguments.
//!
//! [`index_range::check`](loopwright_program::index_range::check) decides this for numbers; a host
//! that takes any sizes has to decide it for formulas. Every index expression gets an interval
//! whose ends are formulas. It contains all values of the expression, so that the conditions are
//! sufficient: stricter than the check for numbers in places, never more lenient (`tests`). The
//! order of statements and what has to fit where are those of the check.

mod range;
mod simplest;

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Aff, DType, Dim, Expr, FAR_SCALAR, Fact, Name, PerDim};
use loopwright_program::{
    BinOp, CopyPredicates, DeviceKernel, HostStmt, LookBack, MemRef, Memory, Owner, PredicatedCopies,
    Program, Step, Stmt, UnOp, Value, ValueKind, VarId,
};

use self::{
    range::{Range, operation},
    simplest::simplest,
};
use super::formula::{Bounds, Formula, Op, range_of};

/// What indices of 64 bits reach at most: more bytes than a device has, and so little that neither
/// bytes of elements leave 64 bits nor doubles are too coarse.
const MOST_IN_64_BITS: i128 = 1 << 56;

/// A program's sizes have to satisfy these conditions, each a comparison.
pub(super) fn conditions(program: &Program, bounds: &Bounds) -> Vec<Formula> {
    let mut walk = Walk {
        program,
        bounds: bounds.clone(),
        facts: facts(program),
        hosts: BTreeMap::new(),
        kernel: None,
        predicates: None,
        blocks: PerDim::all(Formula::Int(0)),
        vars: Vec::new(),
        settled: BTreeMap::new(),
        held: BTreeMap::new(),
        stored: BTreeMap::new(),
        needs: Vec::new(),
        in_conditions: BTreeSet::new(),
        silent: false,
    };
    for global in &program.globals {
        for length in &global.shape {
            walk.index(length);
        }
        for stride in &global.strides {
            walk.index(stride);
        }
        walk.index(&global.size);
    }
    // What the program keeps in its own arrays is known once all that it stores there is.
    walk.silent = true;
    loop {
        walk.stored.clear();
        walk.host(&program.host);
        let found = known(std::mem::take(&mut walk.stored));
        let more = found.len() > walk.held.len();
        walk.held = found;
        if !more {
            break;
        }
    }
    walk.silent = false;
    walk.host(&program.host);
    let limits = walk.limits();
    let mut all = simplest(walk.needs, limits, bounds);
    for scalar in walk.in_conditions.iter().map(Formula::name) {
        let far = i128::from(FAR_SCALAR);
        if !bounds.at_most(&scalar, far) {
            all.push(Formula::binary(Op::Le, scalar.clone(), Formula::Int(far)));
        }
        if !bounds.at_least(&scalar, -far) {
            all.push(Formula::binary(Op::Ge, scalar, Formula::Int(-far)));
        }
    }
    all
}

/// Whether no sizes satisfy a condition.
pub(super) fn is_hopeless(condition: &Formula, bounds: &Bounds) -> bool {
    match condition {
        Formula::Binary(Op::Le, f, limit) => {
            limit.as_int().is_some_and(|limit| bounds.at_least(f, limit + 1))
        }
        Formula::Binary(Op::Ge, f, limit) => limit.as_int().is_some_and(|limit| bounds.at_most(f, limit - 1)),
        _ => false,
    }
}

/// The ranges of arrays with declared bounds, their ends inclusive.
fn facts(program: &Program) -> BTreeMap<Name, (Option<Formula>, Option<Formula>)> {
    let of = |e: &Option<Expr>| e.as_ref().and_then(Expr::to_aff).map(|a: Aff| Formula::of_aff(&a));
    let ranges = program.facts.iter().filter_map(|fact| match fact {
        // They are about what the caller gives, not about what the program writes.
        Fact::Range { array, .. } if program.writes(array) => None,
        Fact::Range { array, lower, upper } => {
            Some((array.clone(), (of(lower), of(upper).map(|u| u.plus(-1)))))
        }
        Fact::Monotone(_) | Fact::Injective(_) => None,
    });
    ranges.collect()
}

/// An array that only the program itself writes: in global memory by its number, otherwise by its
/// kernel's name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Own {
    Global(usize),
    Shared(Name, usize),
    Private(Name, usize),
}

/// Those of which everything that is assigned or stored is known.
fn known<K: Ord>(all: BTreeMap<K, Option<Range>>) -> BTreeMap<K, Range> {
    all.into_iter().filter_map(|(key, range)| Some((key, range.filter(|r| !r.open)?))).collect()
}

/// Something that has to be within the limits of the index type.
enum Need {
    AtLeast(Formula),
    AtMost(Formula),
}

struct Walk<'a> {
    program: &'a Program,
    bounds: Bounds,
    facts: BTreeMap<Name, (Option<Formula>, Option<Formula>)>,
    hosts: BTreeMap<Name, Range>,
    kernel: Option<&'a DeviceKernel>,
    predicates: Option<CopyPredicates<'a>>,
    /// The greatest index of a block on each axis.
    blocks: PerDim<Formula>,
    vars: Vec<Option<Range>>,
    /// Mutable variables whose range is known.
    settled: BTreeMap<VarId, Range>,
    /// Arrays of the program's own of which the range of what they hold is known.
    held: BTreeMap<Own, Range>,
    /// What is stored in them; `None` if it is unknown.
    stored: BTreeMap<Own, Option<Range>>,
    needs: Vec<Need>,
    /// Scalars in conditions on values, which proofs take to be no greater than [`FAR_SCALAR`].
    in_conditions: BTreeSet<Name>,
    silent: bool,
}

/// What has to fit: index arithmetic everywhere, or operations on indices inside of values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Index,
    Data,
}

impl<'a> Walk<'a> {
    fn limits(&self) -> (i128, i128) {
        match self.program.index {
            DType::I32 => (i32::MIN.into(), i32::MAX.into()),
            _ => (-MOST_IN_64_BITS, MOST_IN_64_BITS),
        }
    }

    fn of_type(&self, dtype: DType) -> Option<Range> {
        let (low, high) = range_of(dtype)?;
        Some(Range { data: true, ..Range::new(Formula::Int(low), Formula::Int(high)) })
    }

    fn need(&mut self, (low, high): (Formula, Formula)) {
        if self.silent {
            return;
        }
        self.needs.push(Need::AtLeast(low));
        self.needs.push(Need::AtMost(high));
    }

    /// A range beyond the limits of the index type: what has it is refused for all sizes.
    fn hopeless(&self) -> (Formula, Formula) {
        let beyond = Formula::Int(self.limits().1 + 1);
        (beyond.clone(), beyond)
    }

    /// Whether a subscript may overflow, since data decide about it.
    fn is_exempt(&self, range: &Range) -> bool {
        range.data && !range.spoilt && self.program.index == DType::I64
    }

    /// An expression that has to fit.
    fn index(&mut self, value: &Value) -> Option<Range> {
        let range = self.value(value, Use::Index)?;
        if !self.is_exempt(&range) {
            if let Some(wrapped) = range.wrapped.clone() {
                self.need(wrapped);
            }
            if value.dtype != DType::Bool {
                self.need((range.low.clone(), range.high.clone()));
            }
        }
        Some(range)
    }

    /// A bound of a loop, which is compared.
    fn bound(&mut self, value: &Value) -> Option<Range> {
        let range = self.index(value)?;
        if let (true, Some(wrapped)) = (range.is_far, range.wrapped.clone()) {
            self.need(wrapped);
        }
        Some(range)
    }

    /// A value of the kernel, in which arithmetic on data wraps as printed.
    fn data(&mut self, value: &Value) -> Option<Range> {
        let range = self.value(value, Use::Data)?;
        match range.wrapped {
            Some(_) => Some(Range { open: range.open, ..self.of_type(value.dtype)? }),
            None => Some(range),
        }
    }

    /// The scalars of a condition on values.
    fn condition(&mut self, condition: &Value) {
        condition.visit(&mut |v| {
            if let ValueKind::Param(name) = &v.kind
                && v.dtype.is_integer()
                && !self.hosts.contains_key(name)
            {
                self.in_conditions.insert(name.clone());
            }
        });
    }

    fn host(&mut self, body: &'a [HostStmt]) {
        for stmt in body {
            match stmt {
                HostStmt::For { var, lower, upper, body, .. } => {
                    let (low, high) = (self.index(lower), self.index(upper));
                    let range = low.zip(high).map(|(l, h)| self.counter(&l, &h));
                    let range = range.or_else(|| self.of_type(self.program.index));
                    let before = range.and_then(|range| self.hosts.insert(var.clone(), range));
                    self.host(body);
                    match before {
                        Some(before) => self.hosts.insert(var.clone(), before),
                        None => self.hosts.remove(var),
                    };
                }
                HostStmt::Launch(number) => {
                    if let Some(kernel) = self.program.kernels.get(*number) {
                        self.launch(kernel);
                    }
                }
            }
        }
    }

    fn launch(&mut self, kernel: &'a DeviceKernel) {
        self.kernel = Some(kernel);
        self.predicates = Some(CopyPredicates::of(kernel));
        for dim in Dim::ALL {
            let last = match self.index(&kernel.grid[*dim]) {
                Some(grid) => grid.high.plus(-1),
                None => Formula::Int(self.limits().1),
            };
            self.blocks[*dim] = self.bounds.extreme(Op::Max, last, Formula::Int(0));
        }
        // A mutable variable has the union of what it is assigned, once that is known without the
        // variable itself; otherwise any value of its type.
        self.settled.clear();
        let silent = std::mem::replace(&mut self.silent, true);
        for _ in 0..kernel.vars.len() {
            let mut assigned: BTreeMap<VarId, Option<Range>> = BTreeMap::new();
            self.vars = vec![None; kernel.vars.len()];
            self.body(&kernel.body, &mut assigned);
            let found = known(assigned);
            if found.len() == self.settled.len() {
                break;
            }
            self.settled = found;
        }
        self.silent = silent;
        self.vars = vec![None; kernel.vars.len()];
        self.body(&kernel.body, &mut BTreeMap::new());
        self.kernel = None;
    }

    fn assign(&mut self, var: VarId, range: Option<Range>, assigned: &mut BTreeMap<VarId, Option<Range>>) {
        let Some(kernel) = self.kernel else { return };
        let Some(of) = kernel.vars.get(var.0) else { return };
        let range = match of.within {
            Some((low, high)) => Some(Range::new(Formula::Int(low.into()), Formula::Int(high.into()))),
            None => range.or_else(|| self.of_type(of.dtype)),
        };
        if !of.mutable {
            self.vars[var.0] = range;
            return;
        }
        let union = match (assigned.remove(&var), range) {
            (None, range) => range,
            (Some(Some(old)), Some(new)) => Some(self.union(&old, &new)),
            _ => None,
        };
        assigned.insert(var, union);
    }

    fn own(&self, memory: Memory) -> Option<Own> {
        match memory {
            Memory::Global(k) => {
                let global = self.program.globals.get(k)?;
                (global.owner == Owner::Launch).then_some(Own::Global(k))
            }
            Memory::Shared(k) => Some(Own::Shared(self.kernel?.name.clone(), k)),
            Memory::Private(k) => Some(Own::Private(self.kernel?.name.clone(), k)),
        }
    }

    fn store(&mut self, memory: Memory, range: Option<Range>) {
        let Some(array) = self.own(memory) else { return };
        let union = match (self.stored.remove(&array), range) {
            (None, range) => range,
            (Some(Some(old)), Some(new)) => Some(self.union(&old, &new)),
            _ => None,
        };
        self.stored.insert(array, union);
    }

    fn var(&self, var: VarId, dtype: DType) -> Option<Range> {
        let is_mutable = self.kernel.and_then(|k| k.vars.get(var.0)).is_some_and(|v| v.mutable);
        let known = match is_mutable {
            true => self.settled.get(&var).cloned(),
            false => self.vars.get(var.0).cloned().flatten(),
        };
        known.or_else(|| Some(Range { open: is_mutable, ..self.of_type(dtype)? }))
    }

    fn body(&mut self, body: &'a [Stmt], assigned: &mut BTreeMap<VarId, Option<Range>>) {
        for stmt in body {
            match stmt {
                Stmt::Let { var, value, leaf } | Stmt::Set { var, value, leaf } => {
                    // Without a leaf it is an index by a name: where it is used it has to fit.
                    let range = match leaf {
                        None => self.value(value, Use::Index),
                        Some(_) => self.data(value),
                    };
                    self.assign(*var, range, assigned);
                }
                Stmt::Store { to, value, .. } => {
                    self.element(to);
                    let range = self.data(value);
                    self.store(to.memory, range);
                }
                Stmt::Update { to, value, .. } => {
                    self.element(to);
                    self.data(value);
                    self.store(to.memory, None);
                }
                Stmt::LookBack(LookBack { total, before, word, .. }) => {
                    self.element(word);
                    total.iter().for_each(|value| drop(self.data(value)));
                    self.store(word.memory, None);
                    before.iter().for_each(|var| self.assign(*var, None, assigned));
                }
                Stmt::For { var, lower, upper, step, body, .. } => {
                    let (low, high) = (self.bound(lower), self.bound(upper));
                    let range = low.zip(high).and_then(|(low, high)| self.loop_counter(*step, &low, &high));
                    if let Some(slot) = self.vars.get_mut(var.0) {
                        *slot = range;
                    }
                    self.body(body, assigned);
                }
                Stmt::If { cond, body, otherwise, note } => {
                    if note.is_predicate() {
                        self.condition(cond);
                        self.data(cond);
                    } else {
                        self.index(cond);
                    }
                    self.body(body, assigned);
                    self.body(otherwise, assigned);
                    let copies = self.predicates.as_ref().and_then(|predicates| predicates.find(stmt));
                    for copy in copies.iter().flat_map(PredicatedCopies::copies) {
                        self.index(&copy.from.offset);
                    }
                }
                _ => {
                    stmt.each_operand(&mut |value| {
                        self.index(value);
                    });
                    stmt.each_element(&mut |element| self.element(element));
                    if let Some(to) = stmt.written() {
                        self.store(to.element.memory, None);
                    }
                    for body in stmt.bodies() {
                        self.body(body, assigned);
                    }
                }
            }
        }
    }

    fn loop_counter(&mut self, step: Step, low: &Range, high: &Range) -> Option<Range> {
        let exempt = high.data && self.program.index == DType::I64;
        let at_end = |walk: &mut Self, last: Formula| {
            if !exempt && !walk.silent {
                walk.needs.push(Need::AtMost(last));
            }
        };
        match step {
            Step::Add(step) => {
                let range = self.counter(low, high);
                // The counter exceeds the bound before the loop ends.
                at_end(self, range.high.clone().plus(step.into()));
                Some(range)
            }
            Step::Double => {
                let last = high.high.clone().plus(-1);
                at_end(self, Formula::binary(Op::Mul, Formula::Int(2), last.clone()));
                let most = self.bounds.extreme(Op::Max, last, low.high.clone());
                Some(Range::new(low.low.clone(), most).from([low, high]))
            }
            Step::Halve => Some(Range::up_to(low.high.clone()).from([low, high])),
        }
    }

    fn element(&mut self, element: &MemRef) {
        for subscript in &element.subscripts {
            self.index(subscript);
        }
    }

    /// From `low` up to `high`, exclusive.
    fn counter(&self, low: &Range, high: &Range) -> Range {
        let last = self.bounds.extreme(Op::Max, high.high.clone().plus(-1), low.low.clone());
        Range::new(low.low.clone(), last).from([low, high])
    }

    fn union(&self, a: &Range, b: &Range) -> Range {
        let low = self.bounds.extreme(Op::Min, a.low.clone(), b.low.clone());
        Range::new(low, self.bounds.extreme(Op::Max, a.high.clone(), b.high.clone())).from([a, b])
    }

    /// The range of an expression; `None` if it is not an integer. What has to fit on the way is
    /// noted.
    fn value(&mut self, value: &Value, how: Use) -> Option<Range> {
        let range = self.inside(value, how)?;
        let (low, high) = range_of(value.dtype)?;
        // The ends of 64 bits are beyond what `Bounds` tells apart.
        let from = |end: &Formula| end.as_int().map_or_else(|| self.bounds.at_least(end, low), |v| v >= low);
        let to = |end: &Formula| end.as_int().map_or_else(|| self.bounds.at_most(end, high), |v| v <= high);
        if from(&range.low) && to(&range.high) {
            return Some(range);
        }
        let is_index = value.dtype == self.program.index;
        let ends = (range.low.clone(), range.high.clone());
        let is_cast = matches!(value.kind, ValueKind::Cast(_));
        let is_sum = matches!(
            value.kind,
            ValueKind::Binary(BinOp::Add | BinOp::Sub, ..) | ValueKind::Unary(UnOp::Neg, _)
        );
        // Some value of its type, with the marks of its operands.
        let wraps = |walk: &Self, range: &Range| Some(walk.of_type(value.dtype)?.from([range]));
        match how {
            Use::Index if !is_index && range.data && is_cast => wraps(self, &range),
            Use::Index if !is_index && range.data => {
                // Data that wrap in a type of their own are congruent in that type only. What is
                // within its limits is, moved by their distance, within those of indices.
                let (least, most) = self.limits();
                let (from, to) = (range.low.clone().plus(least - low), range.high.clone().plus(most - high));
                let mut range = wraps(self, &range)?;
                range.wrapped = range.wrapped.or(Some((from, to)));
                range.is_far |= !is_sum;
                range.spoilt = true;
                Some(range)
            }
            Use::Index if !is_index && value.dtype.bytes() < self.program.index.bytes() => {
                // No condition says that it fits its own type, which a launch would refuse.
                self.need(self.hopeless());
                wraps(self, &range)
            }
            // What the program itself has stored is taken to fit, as what it was computed from
            // does, where its range is not known.
            Use::Index if range.data && range.open && self.program.index == DType::I64 => Some(range),
            Use::Index if range.data && self.program.index == DType::I64 => {
                let wrapped = range.wrapped.clone().or(Some(ends));
                Some(Range { wrapped, is_far: range.is_far || !is_sum, ..range })
            }
            Use::Index => {
                self.need(ends);
                Some(range)
            }
            Use::Data if is_index && !range.data && !is_cast => {
                self.need(ends);
                Some(range)
            }
            Use::Data => wraps(self, &range),
        }
    }

    fn inside(&mut self, value: &Value, how: Use) -> Option<Range> {
        match &value.kind {
            ValueKind::Int(v) => Some(Range::constant((*v).into())),
            ValueKind::Bool(v) => Some(Range::constant((*v).into())),
            ValueKind::Float(_) => None,
            ValueKind::Var(var) => self.var(*var, value.dtype),
            ValueKind::Param(name) => match self.hosts.get(name) {
                Some(range) => Some(range.clone()),
                None => {
                    range_of(value.dtype)?;
                    let end = Formula::name(name);
                    Some(Range::new(end.clone(), end))
                }
            },
            ValueKind::BlockIdx(dim) => Some(Range::up_to(self.blocks[*dim].clone())),
            ValueKind::ThreadIdx(dim) => {
                let threads = self.kernel.map_or(1, |k| k.block[*dim]);
                Some(Range::up_to(Formula::Int(i128::from(threads.max(1)) - 1)))
            }
            ValueKind::Load(element) => {
                self.element(element);
                let mut range = self.of_type(value.dtype)?;
                if let Memory::Global(k) = element.memory
                    && let Some((low, high)) =
                        self.program.globals.get(k).and_then(|g| self.facts.get(&g.name)).cloned()
                {
                    range.low = low.map_or(range.low.clone(), |l| self.bounds.extreme(Op::Max, l, range.low));
                    range.high =
                        high.map_or(range.high.clone(), |h| self.bounds.extreme(Op::Min, h, range.high));
                    range.high = self.bounds.extreme(Op::Max, range.high, range.low.clone());
                }
                match self.own(element.memory) {
                    None => Some(range),
                    Some(array) => Some(match self.held.get(&array) {
                        Some(held) => Range { data: true, ..held.clone() },
                        None => Range { open: true, ..range },
                    }),
                }
            }
            ValueKind::Unary(op, a) => {
                let a = self.value(a, how)?;
                let minus = |e: &Formula| Formula::binary(Op::Sub, Formula::Int(0), e.clone());
                match op {
                    UnOp::Neg => Some(Range { low: minus(&a.high), high: minus(&a.low), ..a }),
                    UnOp::Not => Some(Range { low: Formula::Int(0), high: Formula::Int(1), ..a }),
                    UnOp::BitNot => Some(self.of_type(value.dtype)?.made_of([&a])),
                }
            }
            ValueKind::Binary(op, a, b) => {
                let (x, y) = (self.value(a, how), self.value(b, how));
                if value.dtype == DType::Bool {
                    return Some(Range::up_to(Formula::Int(1)).compared(x.iter().chain(&y)));
                }
                let (x, y) = (x?, y?);
                let known = match operation(&self.bounds, *op, &x, &y) {
                    Some((low, high)) => Range::new(low, high),
                    None => self.of_type(value.dtype)?,
                };
                Some(match op {
                    BinOp::Add | BinOp::Sub | BinOp::Mul => known.from([&x, &y]),
                    BinOp::Shl => known.made_of([&y]).from([&x]),
                    BinOp::Min | BinOp::Max => known.compared([&x, &y]),
                    _ => known.made_of([&x, &y]),
                })
            }
            ValueKind::Select(c, a, b) => {
                self.condition(c);
                let (c, a, b) = (self.value(c, how), self.value(a, how), self.value(b, how));
                Some(self.union(&a?, &b?).from(&c))
            }
            ValueKind::Cast(a) => {
                let a = self.value(a, how);
                match value.dtype {
                    DType::Bool => Some(Range::up_to(Formula::Int(1))),
                    dtype => a.or_else(|| self.of_type(dtype)),
                }
            }
            ValueKind::Call { args, .. } => {
                let args: Vec<Range> = args.iter().filter_map(|arg| self.value(arg, how)).collect();
                Some(self.of_type(value.dtype)?.made_of(&args))
            }
            ValueKind::Shuffle { value: a, operand, .. } => {
                self.value(operand, how);
                self.value(a, how)
            }
            ValueKind::Ballot(a) => {
                self.value(a, how);
                self.of_type(value.dtype)
            }
            ValueKind::LeadingZeros(a) => {
                self.value(a, how);
                let bits = Formula::Int(8 * a.dtype.bytes() as i128);
                Some(Range { data: true, ..Range::up_to(bits) })
            }
            ValueKind::Any(a) => {
                let a = self.value(a, how);
                Some(Range { data: true, ..Range::up_to(Formula::Int(1)).from(&a) })
            }
        }
    }
}
