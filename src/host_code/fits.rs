//! Which sizes a program's index type suffices for, as conditions on the scalar arguments.
//!
//! [`index_range::check`](loopwright_program::index_range::check) decides this for numbers; a host
//! that takes any sizes has to decide it for formulas. Every index expression gets an interval
//! whose ends are formulas. It contains all values of the expression, so that the conditions are
//! sufficient: stricter than the check for numbers in places, never more lenient (`tests`). The
//! order of statements and what has to fit where are those of the check.

mod simplest;

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Aff, DType, Dim, Expr, Fact, Name, PerDim};
use loopwright_program::{
    CopyPredicates, DeviceKernel, HostStmt, LookBack, MemRef, Memory, Owner, PredicatedCopies, Program, Step,
    Stmt, UnOp, Value, ValueKind, VarId,
};

use self::simplest::simplest;
use super::formula::{Bounds, Formula, Op, op_of, range_of};

/// What indices of 64 bits reach at most: more bytes than a device has, and so little that neither
/// bytes of elements leave 64 bits nor doubles are too coarse.
const MOST_IN_64_BITS: i128 = 1 << 56;

/// An interval of formulas.
#[derive(Clone, Debug)]
struct Range {
    low: Formula,
    high: Formula,
    /// Whether a value read from memory is among the operands.
    data: bool,
    /// Whether a variable is among them whose range is not known yet.
    open: bool,
}

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
    simplest(walk.needs, limits, bounds)
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
        Some(Range { low: Formula::Int(low), high: Formula::Int(high), data: true, open: false })
    }

    fn constant(value: i128) -> Range {
        Range { low: Formula::Int(value), high: Formula::Int(value), data: false, open: false }
    }

    fn need(&mut self, range: &Range) {
        if self.silent {
            return;
        }
        self.needs.push(Need::AtLeast(range.low.clone()));
        self.needs.push(Need::AtMost(range.high.clone()));
    }

    fn is_exempt(&self, range: &Range) -> bool {
        range.data && self.program.index == DType::I64
    }

    /// An expression that has to fit.
    fn index(&mut self, value: &Value) -> Option<Range> {
        let range = self.value(value, Use::Index)?;
        if value.dtype != DType::Bool && !self.is_exempt(&range) {
            self.need(&range);
        }
        Some(range)
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
            Some((low, high)) => Some(Range {
                low: Formula::Int(low.into()),
                high: Formula::Int(high.into()),
                data: false,
                open: false,
            }),
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
                        Some(_) => self.value(value, Use::Data),
                    };
                    self.assign(*var, range, assigned);
                }
                Stmt::Store { to, value, .. } => {
                    self.element(to);
                    let range = self.value(value, Use::Data);
                    self.store(to.memory, range);
                }
                Stmt::Update { to, value, .. } => {
                    self.element(to);
                    self.value(value, Use::Data);
                    self.store(to.memory, None);
                }
                Stmt::LookBack(LookBack { total, before, word, .. }) => {
                    self.element(word);
                    self.value(total, Use::Data);
                    self.store(word.memory, None);
                    self.assign(*before, None, assigned);
                }
                Stmt::For { var, lower, upper, step, body, .. } => {
                    let (low, high) = (self.index(lower), self.index(upper));
                    let range = low.zip(high).and_then(|(low, high)| self.loop_counter(*step, &low, &high));
                    if let Some(slot) = self.vars.get_mut(var.0) {
                        *slot = range;
                    }
                    self.body(body, assigned);
                }
                Stmt::If { cond, body, otherwise, note } => {
                    self.value(cond, if note.is_predicate() { Use::Data } else { Use::Index });
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
        let flags = |low_end, high_end| Range {
            low: low_end,
            high: high_end,
            data: low.data || high.data,
            open: low.open || high.open,
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
                Some(flags(low.low.clone(), most))
            }
            Step::Halve => Some(flags(Formula::Int(0), low.high.clone())),
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
        Range { low: low.low.clone(), high: last, data: low.data || high.data, open: low.open || high.open }
    }

    fn union(&self, a: &Range, b: &Range) -> Range {
        Range {
            low: self.bounds.extreme(Op::Min, a.low.clone(), b.low.clone()),
            high: self.bounds.extreme(Op::Max, a.high.clone(), b.high.clone()),
            data: a.data || b.data,
            open: a.open || b.open,
        }
    }

    /// The range of an expression; `None` if it is not an integer. What has to fit on the way is
    /// noted.
    fn value(&mut self, value: &Value, how: Use) -> Option<Range> {
        let range = self.inside(value, how);
        let range = range?;
        let (low, high) = range_of(value.dtype)?;
        if self.bounds.at_least(&range.low, low) && self.bounds.at_most(&range.high, high) {
            return Some(range);
        }
        let is_index = value.dtype == self.program.index;
        match how {
            Use::Index if range.data && !is_index => {
                // Data wrap in their own types, within which they stay.
                Some(Range { open: range.open, ..self.of_type(value.dtype)? })
            }
            Use::Index => {
                let narrower = !is_index && value.dtype.bytes() < self.program.index.bytes();
                if narrower {
                    // No condition says that it fits its own type, which a launch would refuse.
                    let most = Formula::Int(self.limits().1 + 1);
                    self.need(&Range { low: most.clone(), high: most, data: false, open: false });
                    return Some(Range { open: range.open, ..self.of_type(value.dtype)? });
                }
                if !self.is_exempt(&range) {
                    self.need(&range);
                }
                Some(range)
            }
            Use::Data if is_index && !range.data && !matches!(value.kind, ValueKind::Cast(_)) => {
                self.need(&range);
                Some(range)
            }
            // It wraps, and is some value of its type.
            Use::Data => Some(Range { open: range.open, ..self.of_type(value.dtype)? }),
        }
    }

    fn inside(&mut self, value: &Value, how: Use) -> Option<Range> {
        match &value.kind {
            ValueKind::Int(v) => Some(Self::constant((*v).into())),
            ValueKind::Bool(v) => Some(Self::constant((*v).into())),
            ValueKind::Float(_) => None,
            ValueKind::Var(var) => self.var(*var, value.dtype),
            ValueKind::Param(name) => match self.hosts.get(name) {
                Some(range) => Some(range.clone()),
                None => {
                    range_of(value.dtype)?;
                    let end = Formula::name(name);
                    Some(Range { low: end.clone(), high: end, data: false, open: false })
                }
            },
            ValueKind::BlockIdx(dim) => Some(Range {
                low: Formula::Int(0),
                high: self.blocks[*dim].clone(),
                data: false,
                open: false,
            }),
            ValueKind::ThreadIdx(dim) => {
                let threads = self.kernel.map_or(1, |k| k.block[*dim]);
                let last = i128::from(threads.max(1)) - 1;
                Some(Range { high: Formula::Int(last), ..Self::constant(0) })
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
                    UnOp::BitNot => Some(Range { open: a.open, ..self.of_type(value.dtype)? }),
                }
            }
            ValueKind::Binary(op, a, b) => {
                let (x, y) = (self.value(a, how), self.value(b, how));
                if value.dtype == DType::Bool {
                    let flag = |of: fn(&Range) -> bool| x.iter().chain(&y).any(of);
                    let (data, open) = (flag(|r| r.data), flag(|r| r.open));
                    return Some(Range { low: Formula::Int(0), high: Formula::Int(1), data, open });
                }
                let (x, y) = (x?, y?);
                let (data, open) = (x.data || y.data, x.open || y.open);
                let known = self.operation(*op, x, y);
                match known {
                    Some((low, high)) => Some(Range { low, high, data, open }),
                    None => Some(Range { open, ..self.of_type(value.dtype)? }),
                }
            }
            ValueKind::Select(c, a, b) => {
                let (c, a, b) = (self.value(c, how), self.value(a, how), self.value(b, how));
                let both = self.union(&a?, &b?);
                Some(Range {
                    data: both.data || c.as_ref().is_some_and(|c| c.data),
                    open: both.open || c.is_some_and(|c| c.open),
                    ..both
                })
            }
            ValueKind::Cast(a) => {
                let a = self.value(a, how);
                match value.dtype {
                    DType::Bool => Some(Range { high: Formula::Int(1), ..Self::constant(0) }),
                    dtype => a.or_else(|| self.of_type(dtype)),
                }
            }
            ValueKind::Call { args, .. } => {
                for arg in args {
                    self.value(arg, how);
                }
                self.of_type(value.dtype)
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
                Some(Range { high: bits, data: true, ..Self::constant(0) })
            }
            ValueKind::Any(a) => {
                let a = self.value(a, how);
                let open = a.as_ref().is_some_and(|a| a.open);
                Some(Range { high: Formula::Int(1), data: true, open, ..Self::constant(0) })
            }
        }
    }

    /// The ends of an operation's results; `None` where nothing is known but the type.
    fn operation(&self, op: loopwright_program::BinOp, a: Range, b: Range) -> Option<(Formula, Formula)> {
        use loopwright_program::BinOp;
        let positive = self.bounds.at_least(&b.low, 1);
        let both = |op: Op, x: &Formula, y: &Formula| Formula::binary(op, x.clone(), y.clone());
        let corners = |op: Op| {
            let all = [(&a.low, &b.low), (&a.low, &b.high), (&a.high, &b.low), (&a.high, &b.high)];
            let end = |which: Op| {
                let [w, x, y, z] = all.map(|(x, y)| both(op, x, y));
                let first = self.bounds.extreme(which, w, x);
                self.bounds.extreme(which, first, self.bounds.extreme(which, y, z))
            };
            (end(Op::Min), end(Op::Max))
        };
        // The constant that the second operand is.
        let fixed = b.low.as_int().filter(|_| b.low == b.high);
        let natural = self.bounds.at_least(&a.low, 0);
        match op {
            BinOp::Add => Some((both(Op::Add, &a.low, &b.low), both(Op::Add, &a.high, &b.high))),
            BinOp::Sub => Some((both(Op::Sub, &a.low, &b.high), both(Op::Sub, &a.high, &b.low))),
            BinOp::Mul if natural && self.bounds.at_least(&b.low, 0) => {
                Some((both(Op::Mul, &a.low, &b.low), both(Op::Mul, &a.high, &b.high)))
            }
            BinOp::Mul if fixed.is_some_and(|c| c >= 0) => {
                Some((both(Op::Mul, &a.low, &b.low), both(Op::Mul, &a.high, &b.high)))
            }
            BinOp::Mul => Some(corners(Op::Mul)),
            BinOp::FloorDiv if positive => match natural || fixed.is_some() {
                true => Some((both(Op::FloorDiv, &a.low, &b.high), both(Op::FloorDiv, &a.high, &b.low))),
                false => Some(corners(Op::FloorDiv)),
            },
            BinOp::TruncDiv if positive && natural => {
                Some((both(Op::FloorDiv, &a.low, &b.high), both(Op::FloorDiv, &a.high, &b.low)))
            }
            // Rounded towards zero, a quotient is at least the one rounded down, and no further
            // above it than zero.
            BinOp::TruncDiv if positive && fixed.is_some() => {
                let high = both(Op::FloorDiv, &a.high, &b.low);
                let high = self.bounds.extreme(Op::Max, high, Formula::Int(0));
                Some((both(Op::FloorDiv, &a.low, &b.low), high))
            }
            // At most as far from zero as the dividend.
            BinOp::TruncDiv if positive => {
                let low = self.bounds.extreme(Op::Min, a.low.clone(), Formula::Int(0));
                Some((low, self.bounds.extreme(Op::Max, a.high.clone(), Formula::Int(0))))
            }
            BinOp::FloorMod if positive => {
                let is_below = fixed.is_some_and(|c| self.bounds.at_most(&a.high, c - 1));
                match natural && is_below {
                    true => Some((a.low, a.high)),
                    false => Some((Formula::Int(0), b.high.plus(-1))),
                }
            }
            BinOp::TruncRem if positive && natural => {
                Some((Formula::Int(0), self.bounds.extreme(Op::Min, a.high, b.high.plus(-1))))
            }
            BinOp::Min | BinOp::Max => {
                let op = op_of(op)?;
                Some((self.bounds.extreme(op, a.low, b.low), self.bounds.extreme(op, a.high, b.high)))
            }
            BinOp::BitAnd if natural && self.bounds.at_least(&b.low, 0) => {
                Some((Formula::Int(0), self.bounds.extreme(Op::Min, a.high, b.high)))
            }
            BinOp::BitOr | BinOp::BitXor if natural && self.bounds.at_least(&b.low, 0) => {
                let most = self.bounds.of(&a.high).1.max(self.bounds.of(&b.high).1);
                let bits = i128::BITS - most.leading_zeros();
                Some((Formula::Int(0), Formula::Int((1 << bits) - 1)))
            }
            BinOp::Shl => {
                let factor = Formula::Int(1 << fixed.filter(|c| (0..31).contains(c))?);
                Some((both(Op::Mul, &a.low, &factor), both(Op::Mul, &a.high, &factor)))
            }
            BinOp::Shr => {
                let divisor = Formula::Int(1 << fixed.filter(|c| (0..63).contains(c))?);
                Some((both(Op::FloorDiv, &a.low, &divisor), both(Op::FloorDiv, &a.high, &divisor)))
            }
            _ => None,
        }
    }
}
