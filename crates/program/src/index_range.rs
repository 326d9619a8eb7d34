//! Whether a program's index arithmetic stays in its type, for the parameters of one launch.
//!
//! Proofs are over the integers; code uses 32 or 64 bits. [`check`] computes the range of every
//! index expression of a program (intervals in 128 bits, from the values of the scalar arguments,
//! the grids and the loop bounds) and compares it with the index type. An interval contains every
//! value that the expression takes, so "fits" is a proof, while "does not fit" may be conservative.
//!
//! Checked are grids, bounds and counters of loops, subscripts, conditions, and named indices used
//! in them; and, in values of the kernel, what is computed from indices in the index type. Such
//! values wrap by definition, but signed arithmetic on indices is printed without wrapping, so
//! launches in which it would wrap use a program with wider indices, with conversions between
//! indices and values. An offset needs no separate check: every access is within its array, so the
//! offset and its partial sums are below the storage size, which is checked. Only the offsets of
//! what [`PredicatedCopies`] read are checked by themselves, since they are computed where nothing
//! is copied, too. Values read from memory have the range of a declared fact, otherwise that of
//! their type. In 64-bit code, their sums and products may overflow in a subscript, which is within
//! its array, and so congruent to the number that was meant; and sums of them are taken to fit
//! where they are compared, as in bounds of loops. Of anything else that is computed from them,
//! such as a quotient, nothing shows that they did: there they have to fit.

pub(crate) mod range;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic, Dim, Expr, FAR_SCALAR, Fact, Name, PerDim};

use self::range::{Range, binary, counter, limits};
use crate::{
    BinOp, CopyPredicates, DeviceKernel, HostStmt, LookBack, MemRef, Memory, Owner, PredicatedCopies,
    Program, Step, Stmt, UnOp, Value, ValueKind, Var, VarId,
};

/// An index expression whose values may leave the index type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooWide {
    /// Where it occurs, such as `a subscript of x in kernel f`.
    pub place: String,
    /// Bounds of its values, both inclusive.
    pub range: (i128, i128),
    /// The index type that it exceeds.
    pub index: DType,
}

impl TooWide {
    /// The bound of larger magnitude.
    pub fn farthest(&self) -> i128 {
        if self.range.0.unsigned_abs() > self.range.1.unsigned_abs() { self.range.0 } else { self.range.1 }
    }

    /// A refusal, for a type without a wider alternative.
    pub fn diagnostic(&self) -> Diagnostic {
        let (low, high) = self.range;
        let fits = limits(self.index).is_some_and(|(from, to)| from <= low && high <= to);
        if fits && low.unsigned_abs().max(high.unsigned_abs()) <= FAR_SCALAR as u128 {
            let range = if low == high { low.to_string() } else { format!("from {low} to {high}") };
            return Diagnostic::new(
                "index-overflow",
                format!("{} is {range}, and may wrap in the type in which it is computed", self.place),
            )
            .help("compute it in a wider type, as in `cast(i32, l)`, or in one that holds negative numbers");
        }
        if fits {
            return Diagnostic::new(
                "index-overflow",
                format!("{} is {low}: proofs about conditions are for scalars below 2^61", self.place),
            )
            .help("pass a smaller number, or one of a narrower type");
        }
        if low > i128::from(i64::MAX) && low != high {
            return Diagnostic::new(
                "index-overflow",
                format!("{} is 2^63 or more: proofs about conditions are for scalars below 2^61", self.place),
            )
            .help("pass a smaller number, or one of a narrower type");
        }
        Diagnostic::new(
            "index-overflow",
            format!("{} can reach {low} to {high}, which leaves {}", self.place, self.index),
        )
        .help("work on smaller pieces, or declare facts that bound the values read from data")
    }
}

/// Whether all index arithmetic of the program stays in its index type for these values of the
/// scalar arguments.
pub fn check(program: &Program, scalars: &dyn Fn(&Name) -> Option<i64>) -> Result<(), TooWide> {
    let mut facts = BTreeMap::new();
    for fact in &program.facts {
        if let Fact::Range { array, lower, upper } = fact {
            let value = |e: &Option<Expr>| {
                e.as_ref().and_then(Expr::to_aff).and_then(|a| a.eval(scalars)).map(i128::from)
            };
            // They are about what the caller gives, not about what the program writes.
            if !program.writes(array) {
                facts.insert(array.clone(), (value(lower), value(upper).map(|u| u - 1)));
            }
        }
    }
    let mut checker = Checker {
        program,
        scalars,
        facts,
        hosts: BTreeMap::new(),
        held: BTreeMap::new(),
        kernel: None,
        predicates: None,
        blocks: PerDim::all(Range::constant(0)),
        vars: Vec::new(),
        silent: false,
        found: None,
        of_indices: None,
    };
    checker.globals();
    // A load may precede, in text order, the store whose value it reads, because a host loop
    // launches it again later.
    checker.silent = true;
    for pass in 0..4 {
        let before = checker.held.clone();
        checker.host(&program.host);
        if checker.held == before {
            break;
        }
        if pass == 3 {
            checker.held.values_mut().for_each(|held| *held = None);
        }
    }
    checker.silent = false;
    checker.host(&program.host);
    checker.found.map_or(Ok(()), Err)
}

struct Checker<'a> {
    program: &'a Program,
    scalars: &'a dyn Fn(&Name) -> Option<i64>,
    facts: BTreeMap<Name, (Option<i128>, Option<i128>)>,
    hosts: BTreeMap<Name, Range>,
    /// The range of what is stored in each array, keyed by the number of a global array owned by
    /// the launch, or by the names of a kernel and its local array. `None` if unknown.
    held: BTreeMap<Held, Option<Range>>,
    kernel: Option<&'a DeviceKernel>,
    predicates: Option<CopyPredicates<'a>>,
    blocks: PerDim<Range>,
    vars: Vec<Option<Range>>,
    /// Suppresses reports while the ranges of variables are still growing.
    silent: bool,
    found: Option<TooWide>,
    /// The range of the first operation on indices that overflows the index type.
    of_indices: Option<(i128, i128)>,
}

/// An array that only the program itself writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Global(usize),
    Shared(Name, usize),
    /// A private array of the kernel with this name.
    Private(Name, usize),
}

impl<'a> Checker<'a> {
    /// The array, if only the program itself writes it.
    fn own_array(&self, memory: Memory) -> Option<Held> {
        match memory {
            Memory::Global(k) => {
                let global = self.program.globals.get(k)?;
                (global.owner == Owner::Launch).then_some(Held::Global(k))
            }
            Memory::Shared(k) => Some(Held::Shared(self.kernel?.name.clone(), k)),
            Memory::Private(k) => Some(Held::Private(self.kernel?.name.clone(), k)),
        }
    }

    /// Records that a value of this range is stored.
    fn hold(&mut self, memory: Memory, range: Option<Range>) {
        let Some(array) = self.own_array(memory) else { return };
        let held = match (self.held.get(&array).copied(), range) {
            (None, range) => range,
            (Some(Some(old)), Some(new)) => Some(old.union(new)),
            _ => None,
        };
        self.held.insert(array, held);
    }

    fn index_limits(&self) -> (i128, i128) {
        limits(self.program.index).unwrap_or((0, 0))
    }

    fn report(&mut self, place: &str, range: (i128, i128)) {
        if self.silent || self.found.is_some() {
            return;
        }
        let place = match self.kernel {
            Some(kernel) => format!("{place} in kernel `{}`", kernel.name),
            None => place.to_owned(),
        };
        self.found = Some(TooWide { place, range, index: self.program.index });
    }

    /// Evaluates an expression that must fit.
    fn index(&mut self, value: &Value, place: &str) -> Option<Range> {
        let range = self.value(value)?;
        let exempt = self.is_exempt(&range);
        if let Some(wrapped) = range.wrapped
            && !exempt
        {
            self.report(place, wrapped);
        }
        let limits = if value.dtype == DType::Bool { (0, 1) } else { self.index_limits() };
        if !range.is_within(limits) && !exempt {
            self.report(place, (range.low, range.high));
        }
        Some(range)
    }

    /// Whether a subscript may overflow, since data decide about it.
    fn is_exempt(&self, range: &Range) -> bool {
        range.data && !range.spoilt && self.program.index == DType::I64
    }

    /// Evaluates a bound of a loop, which is compared.
    fn bound(&mut self, value: &Value, place: &str) -> Option<Range> {
        let range = self.index(value, place)?;
        if let (true, Some(wrapped)) = (range.is_far, range.wrapped) {
            self.report(place, wrapped);
        }
        Some(range)
    }

    /// Evaluates a value of the kernel, in which arithmetic on data wraps as printed.
    fn data(&mut self, value: &Value, place: &str) -> Option<Range> {
        self.of_indices = None;
        let range = self.value(value);
        if let Some(wrapped) = self.of_indices.take() {
            self.report(place, wrapped);
        }
        // What has wrapped is the value: a subscript that is read from it has not.
        range.and_then(|r| if r.wrapped.is_some() { Range::of_type(value.dtype) } else { Some(r) })
    }

    /// Reports a scalar in a value's condition whose magnitude exceeds what proofs about conditions
    /// assume.
    fn far_scalars(&mut self, condition: &Value) {
        let mut far = None;
        condition.visit(&mut |v| {
            let ValueKind::Param(name) = &v.kind else { return };
            match (self.scalars)(name).map(i128::from) {
                Some(value) if v.dtype.is_integer() && value.unsigned_abs() > FAR_SCALAR as u128 => {
                    far = Some((name.clone(), (value, value)));
                }
                // It is not among the values of `i64`.
                None if v.dtype == DType::U64 && !self.hosts.contains_key(name) => {
                    far = Some((name.clone(), (i128::from(i64::MAX) + 1, u64::MAX.into())));
                }
                _ => {}
            }
        });
        if let Some((name, range)) = far {
            self.report(&format!("`{name}` in a condition"), range);
        }
    }

    fn globals(&mut self) {
        for global in &self.program.globals {
            for length in &global.shape {
                self.index(length, &format!("the length of `{}`", global.name));
            }
            self.index(&global.size, &format!("the size of `{}`", global.name));
        }
    }

    fn host(&mut self, body: &'a [HostStmt]) {
        for stmt in body {
            match stmt {
                HostStmt::For { var, lower, upper, body, .. } => {
                    let low = self.index(lower, &format!("the host's loop over `{var}`"));
                    let high = self.index(upper, &format!("the host's loop over `{var}`"));
                    let range = counter(low, high);
                    let before = self.hosts.insert(var.clone(), range.unwrap_or(Range::constant(0)));
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
            let grid = self.index(&kernel.grid[*dim], "the grid");
            let blocks = grid.map_or(self.index_limits().1, |g| g.high);
            self.blocks[*dim] = Range::new(0, (blocks - 1).max(0));
        }
        // Ranges of variables assigned in loops grow with each pass, and become unknown if they do
        // not converge.
        self.vars = vec![None; kernel.vars.len()];
        let silent = std::mem::replace(&mut self.silent, true);
        for pass in 0.. {
            let before = self.vars.clone();
            self.body(&kernel.body);
            // What depends on one that becomes unknown follows in later passes.
            if pass >= 3 {
                for (k, var) in kernel.vars.iter().enumerate() {
                    if self.vars[k] != before[k] {
                        self.vars[k] = Range::of_type(var.dtype);
                    }
                }
            }
            if self.vars == before {
                break;
            }
        }
        self.silent = silent;
        self.body(&kernel.body);
        self.kernel = None;
    }

    fn assign(&mut self, var: VarId, range: Option<Range>) {
        let Some(kernel) = self.kernel else { return };
        let Some(slot) = self.vars.get_mut(var.0) else { return };
        let Var { mutable, within, .. } = kernel.vars[var.0];
        if let Some((low, high)) = within {
            *slot = Some(Range::new(low.into(), high.into()));
            return;
        }
        *slot = match (*slot, range) {
            (Some(old), Some(new)) if mutable => Some(old.union(new)),
            (_, Some(new)) => Some(new),
            (old, None) => old.or(Range::of_type(kernel.vars[var.0].dtype)),
        };
    }

    fn body(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Let { var, value, leaf: None } | Stmt::Set { var, value, leaf: None } => {
                    let range = self.value(value);
                    self.assign(*var, range);
                }
                Stmt::Let { var, value, .. } | Stmt::Set { var, value, .. } => {
                    let range = self.data(value, "a value");
                    self.assign(*var, range);
                }
                Stmt::Store { to, value, .. } => {
                    self.element(to);
                    let range = self.data(value, "a value");
                    self.hold(to.memory, range);
                }
                Stmt::Update { to, value, .. } => {
                    self.element(to);
                    self.data(value, "a value");
                    self.hold(to.memory, None);
                }
                Stmt::For { var, lower, upper, step, body, .. } => {
                    let low = self.bound(lower, "the lower bound of a loop");
                    let high = self.bound(upper, "the upper bound of a loop");
                    let range = match step {
                        Step::Add(step) => {
                            let range = counter(low, high);
                            // The counter exceeds the bound before the loop ends.
                            if let Some(range) = range {
                                let last = range.high.saturating_add((*step).into());
                                let exempt = range.data && self.program.index == DType::I64;
                                if last > self.index_limits().1 && !exempt {
                                    self.report("the counter of a loop", (range.low, last));
                                }
                            }
                            range
                        }
                        // Downwards from `lower`.
                        Step::Double => match (&low, high) {
                            (Some(l), Some(h)) => {
                                let last = (h.high - 1).saturating_mul(2);
                                let exempt = h.data && self.program.index == DType::I64;
                                if last > self.index_limits().1 && !exempt {
                                    self.report("the counter of a loop", (l.low, last));
                                }
                                Some(Range::new(l.low, (h.high - 1).max(l.high)).from(&[*l]))
                            }
                            _ => None,
                        },
                        Step::Halve => low.map(|l| Range::new(0, l.high).from(&[l])),
                    };
                    if let Some(slot) = self.vars.get_mut(var.0) {
                        *slot = range;
                    }
                    self.body(body);
                }
                Stmt::If { cond, body, otherwise, note } => {
                    if note.is_predicate() {
                        self.far_scalars(cond);
                        self.data(cond, "a predicate");
                    } else {
                        self.index(cond, "a condition");
                    }
                    self.body(body);
                    self.body(otherwise);
                    let copies = self.predicates.as_ref().and_then(|predicates| predicates.find(stmt));
                    for copy in copies.iter().flat_map(PredicatedCopies::copies) {
                        let name = self.array_name(copy.from.memory);
                        self.index(&copy.from.offset, &format!("the offset of an element of `{name}`"));
                    }
                }
                Stmt::LookBack(LookBack { total, before, word, .. }) => {
                    self.element(word);
                    for value in total {
                        self.data(value, "a value");
                    }
                    self.hold(word.memory, None);
                    before.iter().for_each(|var| self.assign(*var, None));
                }
                _ => {
                    stmt.each_operand(&mut |value| {
                        self.index(value, "a condition");
                    });
                    stmt.each_element(&mut |element| self.element(element));
                    if let Some(to) = stmt.written() {
                        self.hold(to.element.memory, None);
                    }
                    stmt.bodies().for_each(|body| self.body(body));
                }
            }
        }
    }

    fn element(&mut self, element: &MemRef) {
        let name = self.array_name(element.memory);
        for subscript in &element.subscripts {
            self.index(subscript, &format!("a subscript of `{name}`"));
        }
    }

    fn array_name(&self, memory: Memory) -> Name {
        let local = |arrays: &[crate::LocalArray], k: usize| arrays.get(k).map(|a| a.name.clone());
        match memory {
            Memory::Global(k) => self.program.globals.get(k).map(|g| g.name.clone()),
            Memory::Shared(k) => self.kernel.and_then(|kernel| local(&kernel.shared, k)),
            Memory::Private(k) => self.kernel.and_then(|kernel| local(&kernel.private, k)),
        }
        .unwrap_or_else(|| Name::new("?"))
    }

    /// The range of an expression; `None` if it is not an integer. Elements read on the way are
    /// checked.
    fn value(&mut self, value: &Value) -> Option<Range> {
        let range = match &value.kind {
            ValueKind::Int(v) => Some(Range::constant(*v)),
            ValueKind::Bool(v) => Some(Range::constant((*v).into())),
            ValueKind::Float(_) => None,
            ValueKind::Var(var) => {
                let range = self.vars.get(var.0).copied().flatten();
                // Its value is that of an operation on indices before.
                let of_indices = range.filter(|r| !r.data && value.dtype == self.program.index);
                if let Some(wrapped) = of_indices.and_then(|r| r.wrapped) {
                    self.of_indices = self.of_indices.or(Some(wrapped));
                }
                range.or_else(|| Range::of_type(value.dtype))
            }
            ValueKind::Param(name) => self
                .hosts
                .get(name)
                .copied()
                .or_else(|| (self.scalars)(name).map(Range::constant))
                .or_else(|| Range::of_type(value.dtype)),
            ValueKind::BlockIdx(dim) => Some(self.blocks[*dim]),
            ValueKind::ThreadIdx(dim) => {
                let threads = self.kernel.map_or(1, |k| k.block[*dim]);
                Some(Range::new(0, i128::from(threads.max(1)) - 1))
            }
            ValueKind::Load(element) => {
                self.element(element);
                let mut range = Range::of_type(value.dtype)?;
                if let Memory::Global(k) = element.memory
                    && let Some((low, high)) =
                        self.program.globals.get(k).and_then(|g| self.facts.get(&g.name))
                {
                    range.low = low.map_or(range.low, |l| l.max(range.low));
                    range.high = high.map_or(range.high, |h| h.min(range.high)).max(range.low);
                }
                if let Some(Some(held)) = self.own_array(element.memory).and_then(|a| self.held.get(&a)) {
                    range = Range { data: true, ..*held };
                }
                Some(range)
            }
            ValueKind::Unary(op, a) => {
                let a = self.value(a)?;
                match op {
                    UnOp::Neg => Some(Range::new(-a.high, -a.low).from(&[a])),
                    UnOp::Not => Some(Range::new(0, 1).from(&[a])),
                    // `-1 - a`, but for unsigned types.
                    UnOp::BitNot if !value.dtype.is_unsigned() => {
                        Some(Range::new(-1 - a.high, -1 - a.low).from(&[a]))
                    }
                    UnOp::BitNot => Range::of_type(value.dtype).map(|all| all.made_of(&[a])),
                }
            }
            ValueKind::Binary(op, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                if op.is_comparison() {
                    let marks: Vec<Range> = a.into_iter().chain(b).collect();
                    Some(Range::new(0, 1).compared(&marks))
                } else {
                    binary(*op, a?, b?, value.dtype)
                }
            }
            ValueKind::Select(c, a, b) => {
                self.far_scalars(c);
                let (c, a, b) = (self.value(c), self.value(a), self.value(b));
                let marks: Vec<Range> = c.into_iter().collect();
                Some(a?.union(b?).from(&marks))
            }
            ValueKind::Cast(a) => {
                let a = self.value(a);
                match limits(value.dtype) {
                    Some(_) if value.dtype == DType::Bool => Some(Range::new(0, 1)),
                    // A conversion that changes the value is marked like an operation that
                    // overflows its type.
                    Some(_) => a.or_else(|| Range::of_type(value.dtype)),
                    None => None,
                }
            }
            ValueKind::Call { function, args, .. } => {
                let args: Vec<Range> = args.iter().filter_map(|arg| self.value(arg)).collect();
                let known = match (&**function, args.as_slice()) {
                    ("abs", [a]) if value.dtype.is_integer() => {
                        let (low, high) = (a.low.abs(), a.high.abs());
                        let least = if a.low <= 0 && a.high >= 0 { 0 } else { low.min(high) };
                        Some(Range::new(least, low.max(high)))
                    }
                    _ => Range::of_type(value.dtype),
                };
                known.map(|range| range.made_of(&args))
            }
            ValueKind::Shuffle { value: a, operand, .. } => {
                self.value(operand);
                self.value(a)
            }
            ValueKind::Ballot(a) => {
                self.value(a);
                Range::of_type(value.dtype)
            }
            ValueKind::LeadingZeros(a) => {
                self.value(a);
                Some(Range::new(0, 8 * a.dtype.bytes() as i128))
            }
            ValueKind::Any(a) => {
                let a = self.value(a);
                Some(Range::new(0, 1).from(&a.into_iter().collect::<Vec<_>>()))
            }
        };
        let mut range = range?;
        if let Some(limits) = limits(value.dtype)
            && !range.is_within(limits)
        {
            let is_sum = matches!(
                value.kind,
                ValueKind::Binary(BinOp::Add | BinOp::Sub, ..) | ValueKind::Unary(UnOp::Neg, _)
            );
            if value.dtype == self.program.index {
                range.is_far |= !is_sum;
                if !range.data && !matches!(value.kind, ValueKind::Cast(_)) {
                    self.of_indices = self.of_indices.or(Some((range.low, range.high)));
                }
                range.wrapped = range.wrapped.or(Some((range.low, range.high)));
            } else {
                // Other integers wrap by definition; in a subscript or a bound, nothing may, unless
                // the text has a conversion of data.
                let is_converted = range.data && matches!(value.kind, ValueKind::Cast(_));
                let wrapped = range.wrapped.or((!is_converted).then_some((range.low, range.high)));
                let all = Range::of_type(value.dtype)?;
                range = Range { low: all.low, high: all.high, wrapped, ..range };
                range.is_far |= !is_sum && !is_converted;
                // Congruent in a narrower type only.
                range.spoilt |= !is_converted;
            }
        }
        Some(range)
    }
}
