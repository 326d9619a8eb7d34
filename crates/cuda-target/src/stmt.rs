//! Statements as lines of CUDA C.

use loopwright_kernel_ir::{DType, Role, UpdateScope, Waves};
use loopwright_program::{
    Async, AsyncCopy, Atomic, BinOp, Global, LeafId, MemRef, Memory, PredicatedCopies, Scope, Step, Stmt,
    Value, ValueKind, VarId,
};

use crate::{
    binary::operator,
    context::{Context, is_taken},
    helpers::{WAVES, suffix},
    serpentine::Serpentine,
    types::is_small,
    wrap::{WIDTH, comment, wrap},
};

/// Lines of text, each with the leaf that it comes from.
#[derive(Debug, Default)]
pub(crate) struct Lines(pub Vec<(String, Option<LeafId>)>);

impl Lines {
    /// Adds a statement at an indentation, broken if it is too long.
    pub(crate) fn push(&mut self, text: &str, indent: usize, leaf: Option<LeafId>) {
        self.0.extend(wrap(text, indent).into_iter().map(|line| (line, leaf)));
    }

    /// Adds a comment on separate lines.
    pub(crate) fn comment(&mut self, text: &str, indent: usize, leaf: Option<LeafId>) {
        self.0.extend(comment(text, indent).into_iter().map(|line| (line, leaf)));
    }

    /// Adds a statement with a trailing comment, or with the comment above if the line would be too
    /// long.
    pub(crate) fn noted(&mut self, text: &str, note: &str, indent: usize, leaf: Option<LeafId>) {
        let note = note.trim();
        let one_line = !note.contains('\n') && !note.ends_with('\\');
        if !note.is_empty() && one_line && indent + text.len() + 5 + note.len() <= WIDTH {
            self.0.push((format!("{:indent$}{text}  // {note}", ""), leaf));
        } else {
            self.comment(note, indent, leaf);
            self.push(text, indent, leaf);
        }
    }

    fn verbatim(&mut self, text: String, leaf: Option<LeafId>) {
        self.0.push((text, leaf));
    }
}

impl Context<'_> {
    /// Whether two leaves belong to the same part.
    fn same_part(&self, a: LeafId, b: LeafId) -> bool {
        let part = |leaf: LeafId| self.program.leaves.get(leaf.0).map(|leaf| &leaf.part);
        a == b || part(a) == part(b)
    }

    /// A leaf of the part that all statements in a body come from, if there is only one.
    pub(crate) fn only_leaf(&self, body: &[Stmt]) -> Option<LeafId> {
        let mut leaves = Vec::new();
        Stmt::visit(body, &mut |stmt| {
            leaves.extend(stmt.leaf());
        });
        let first = *leaves.first()?;
        leaves.iter().all(|leaf| self.same_part(*leaf, first)).then_some(first)
    }

    /// The statements of a body.
    pub(crate) fn body(&self, body: &[Stmt], indent: usize, out: &mut Lines) {
        let mut commented = None;
        for stmt in body {
            let leaf = stmt.leaf();
            let known = leaf.zip(commented).is_some_and(|(a, b)| self.same_part(a, b));
            if leaf.is_some() && !known {
                self.copy_comment(stmt, leaf, indent, out);
            }
            commented = leaf.or(commented);
            self.stmt(stmt, indent, out);
        }
    }

    /// A comment on a copy: the step that made it, what it copies, and what fills the rest of its
    /// buffer.
    fn copy_comment(&self, stmt: &Stmt, leaf: Option<LeafId>, indent: usize, out: &mut Lines) {
        let Some(copy) = leaf.and_then(|id| self.program.leaves.get(id.0)) else { return };
        if let Role::Copies { source } = &copy.role {
            let step = copy.made_by.as_ref().map(|step| format!(" ({step})")).unwrap_or_default();
            let filling = match stmt {
                Stmt::Store { value: Value { kind: ValueKind::Select(_, _, filling), .. }, .. } => {
                    match filling.is_zero() {
                        true => ", zeros outside".into(),
                        false => format!(", {} outside", self.converted(filling)),
                    }
                }
                Stmt::Async(Async::Copy(AsyncCopy { when: Some(_), .. })) => ", zeros outside".into(),
                _ => String::new(),
            };
            out.comment(&format!("{} copies {source}{step}{filling}", copy.part), indent, leaf);
        }
    }

    fn stmt(&self, stmt: &Stmt, indent: usize, out: &mut Lines) {
        self.of_data.set(match stmt {
            Stmt::Store { .. } | Stmt::Update { .. } => true,
            Stmt::Set { var, .. } | Stmt::Let { var, .. } => self.holds_data(*var),
            _ => false,
        });
        match stmt {
            Stmt::Let { var, value, leaf } => {
                let constant = self.kernel.vars.get(var.0).is_some_and(|v| !v.mutable);
                let text = format!(
                    "{}{} {} = {};",
                    if constant { "const " } else { "" },
                    self.var_type(*var),
                    self.var(*var),
                    self.converted(value)
                );
                out.push(&text, indent, *leaf);
            }
            Stmt::Declare(var) => {
                out.push(&format!("{} {};", self.var_type(*var), self.var(*var)), indent, None)
            }
            Stmt::Set { var, value, leaf } => {
                let is_target = |v: &Value| matches!(v.kind, ValueKind::Var(id) if id == *var);
                out.push(&self.assignment(&self.var(*var), value, &is_target), indent, *leaf);
            }
            Stmt::Store { to, value, leaf } => out.push(&self.store(to, value), indent, *leaf),
            Stmt::Update { atomic, scope, to, value, leaf } => {
                out.push(&self.update(*atomic, *scope, to, value), indent, *leaf);
            }
            Stmt::VectorCopy { to, from, lanes, leaf } => {
                out.push(&self.vector_copy(to, from, *lanes), indent, *leaf)
            }
            Stmt::Async(stmt) => self.asynchronous(stmt, indent, out),
            Stmt::For { .. } => self.for_loop(stmt, indent, out),
            Stmt::If { .. } => self.guard(stmt, indent, out),
            Stmt::Sync { scope, note } => {
                let call = match scope {
                    Scope::Block => "__syncthreads();".into(),
                    Scope::Warp => match self.warp_mask() {
                        None => {
                            self.needs.warp_barrier.set(true);
                            self.needs.dialect.warp_barrier.into()
                        }
                        Some(mask) => format!("__syncwarp({mask});"),
                    },
                };
                out.noted(&call, &note.text, indent, None);
            }
            Stmt::Atom { body, note, .. } => {
                out.comment(&note.text, indent, None);
                self.body(body, indent, out);
            }
            Stmt::LoadMatrices { to, from, matrices, row, transposed } => {
                out.push(&self.load_matrices(to, from, (*matrices, *row), *transposed), indent, None);
            }
            Stmt::StoreMatrices { to, from, matrices, transposed } => {
                out.push(&self.store_matrices(to, from, *matrices, *transposed), indent, None);
            }
            Stmt::Mma { atom, d, a, b } => out.push(&self.mma(atom, d, a, b), indent, None),
            Stmt::LookBack(stmt) => {
                self.look_back(stmt).iter().for_each(|line| out.push(line, indent, None));
            }
            Stmt::Collective { body, note, .. } => {
                out.comment(&note.text, indent, None);
                self.body(body, indent, out);
            }
        }
    }

    fn var_type(&self, var: VarId) -> &'static str {
        self.kernel.vars.get(var.0).map_or("", |v| self.needs.c_type(v.dtype))
    }

    fn for_loop(&self, stmt: &Stmt, indent: usize, out: &mut Lines) {
        let Stmt::For { var, lower, upper, step, unroll, body, note } = stmt else { return };
        let leaf = self.only_leaf(body);
        let around = self.serpentine.borrow().clone();
        let serpentine = around.clone().or_else(|| Serpentine::of(self.kernel, stmt));
        let turn = serpentine.as_ref().and_then(|found| found.turn(*var));
        let decides = serpentine.as_ref().is_some_and(|found| found.by == *var);
        self.serpentine.replace(serpentine);
        let value = self.var(*var);
        let name = if turn.is_some() { self.free_name(&format!("{value}_turn")) } else { value.clone() };
        let advance = match step {
            Step::Add(1) => format!("++{name}"),
            Step::Add(by) => format!("{name} += {by}"),
            Step::Halve => format!("{name} /= 2"),
            Step::Double => format!("{name} *= 2"),
        };
        let relation = if *step == Step::Halve { '>' } else { '<' };
        // The counter is an int: comparing it with an unsigned bound would make the comparison
        // unsigned.
        let bound = self.raw(upper);
        let bound =
            if bound.is_unsigned() && upper.dtype == DType::I32 { bound.typed(DType::I32) } else { bound };
        out.comment(&note.text, indent, leaf);
        if decides {
            let why = "what is inside goes back and forth: one operand stays where the other changes";
            out.comment(why, indent, leaf);
        }
        let slots = self.slots_of(stmt);
        if let Some(slots) = &slots {
            out.comment(&self.about_slots(slots), indent, leaf);
        }
        if *unroll {
            out.push("#pragma unroll", indent, leaf);
        }
        let first_slots = slots.as_ref().map(|slots| self.first_slots(slots, lower)).unwrap_or_default();
        let start = format!("{} {name} = {}{first_slots}", self.var_type(*var), self.converted(lower));
        let head = format!(
            "for ({start}; {name} {relation} {}; {advance}) {{",
            bound.within(crate::printed::prec::SHIFT)
        );
        out.push(&head, indent, leaf);
        if let Some((by, last)) = turn {
            let by = self.var(by);
            let direction = format!("{by} % 2 == 0 ? {name} : {last} - {name}");
            out.push(&format!("const {} {value} = {direction};", self.var_type(*var)), indent + 4, leaf);
        }
        let next_slots = slots.as_ref().map(|slots| self.next_slots(slots)).unwrap_or_default();
        let is_counted = slots.is_some();
        self.slots.borrow_mut().extend(slots);
        self.body(body, indent + 4, out);
        if is_counted {
            self.slots.borrow_mut().pop();
        }
        for line in next_slots {
            out.push(&line, indent + 4, leaf);
        }
        self.serpentine.replace(around);
        out.push("}", indent, leaf);
    }

    fn guard(&self, stmt: &Stmt, indent: usize, out: &mut Lines) {
        if let Some(copies) = self.predicates.find(stmt) {
            return self.predicated_copies(copies, indent, out);
        }
        let mut stmt = stmt;
        let mut before = "";
        while let Stmt::If { cond, body, otherwise, note } = stmt {
            let leaf = self.only_leaf(body);
            // The comment of the first condition goes above it, that of a later one inside.
            if before.is_empty() {
                out.comment(&note.text, indent, leaf);
            }
            // A guard is over indices; a predicate may be over data.
            self.of_data.set(note.is_predicate() || is_taken(cond));
            out.push(&format!("{before}if ({}) {{", self.condition(cond).text), indent, leaf);
            self.of_data.set(false);
            if !before.is_empty() {
                out.comment(&note.text, indent + 4, leaf);
            }
            self.body(body, indent + 4, out);
            match &otherwise[..] {
                [] => return out.push("}", indent, leaf),
                [next @ Stmt::If { .. }] => {
                    before = "} else ";
                    stmt = next;
                }
                otherwise => {
                    out.push("} else {", indent, self.only_leaf(otherwise));
                    self.body(otherwise, indent + 4, out);
                    return out.push("}", indent, self.only_leaf(otherwise));
                }
            }
        }
    }

    /// Copies whose condition is an argument of each. The names of indices between them have a
    /// scope of their own.
    fn predicated_copies(&self, copies: PredicatedCopies<'_>, indent: usize, out: &mut Lines) {
        let PredicatedCopies { cond, body, note } = copies;
        let leaf = self.only_leaf(body);
        out.comment(&note.text, indent, leaf);
        let holds = self.condition(cond).text;
        let around = self.predicate.replace(Some(holds));
        if body.iter().any(|stmt| matches!(stmt, Stmt::Let { .. })) {
            out.push("{", indent, leaf);
            self.body(body, indent + 4, out);
            out.push("}", indent, leaf);
        } else {
            self.body(body, indent, out);
        }
        self.predicate.replace(around);
    }

    /// `target = value;`, or `target op= operand;` if the value is `target op operand`.
    fn assignment(&self, target: &str, value: &Value, is_target: &dyn Fn(&Value) -> bool) -> String {
        let dtype = value.dtype;
        if let ValueKind::Binary(op, a, b) = &value.kind
            && is_target(a)
            && let Some((symbol, _)) = operator(*op)
            && !op.is_comparison()
            && !matches!(op, BinOp::And | BinOp::Or)
            && dtype != DType::Bool
            && !dtype.is_narrow_float()
            // Not if C would compute in int and might overflow.
            && !(dtype == DType::U16 && *op == BinOp::Mul)
            && !(matches!(dtype, DType::I32 | DType::I64)
                && matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Shl)
                && self.wraps(value))
        {
            let one = b.as_int() == Some(1);
            let exact =
                matches!(op, BinOp::TruncDiv | BinOp::TruncRem | BinOp::Shl | BinOp::Shr) || is_small(dtype);
            return match op {
                BinOp::Add if one => format!("++{target};"),
                BinOp::Sub if one => format!("--{target};"),
                _ if exact => format!("{target} {symbol}= {};", self.exact(b).text),
                _ => format!("{target} {symbol}= {};", self.converted(b)),
            };
        }
        format!("{target} = {};", self.converted(value))
    }

    /// `atomicAdd` or similar, with its result unused: the compiler emits a memory reduction. There
    /// is no such function for minima and maxima of floating-point numbers, nor for what the
    /// program declares.
    ///
    /// The scope is part of a function's name, where it is not the device's. Shared memory is that
    /// of a block, which its functions know by the address.
    fn update(&self, atomic: Atomic, scope: UpdateScope, to: &MemRef, value: &Value) -> String {
        let (_, dtype) = self.array(to.memory);
        if !atomic.takes(dtype, &self.program.updates) || matches!(to.memory, Memory::Private(_)) {
            return self.needs.refuse(
                "malformed-program",
                format!("there is no atomic update of this kind for {dtype} here: {atomic:?}"),
            );
        }
        if dtype.is_narrow_float() && !self.needs.dialect.half_updates {
            let language = self.needs.dialect.language.name;
            self.needs.refuse_with(
                "update-type",
                format!("there are no atomic updates of {dtype} in {language}"),
                "update an array of f32, and convert it in another instruction",
            );
            return String::new();
        }
        let scope = match to.memory {
            Memory::Global(_) => self.needs.dialect.scope(scope),
            Memory::Shared(_) | Memory::Private(_) => UpdateScope::Device,
        };
        let own = |name: &str| format!("{name}{}", suffix(scope));
        let function = match atomic {
            Atomic::Min if dtype.is_float() => self.needs.exchange("atomic_min", dtype, scope),
            Atomic::Max if dtype.is_float() => self.needs.exchange("atomic_max", dtype, scope),
            // CUDA's functions for two bytes have the device's scope alone.
            Atomic::Add if dtype.is_narrow_float() && !scope.is_device() => {
                self.needs.exchange("atomic_add", dtype, scope)
            }
            Atomic::Add => own("atomicAdd"),
            Atomic::Min => own("atomicMin"),
            Atomic::Max => own("atomicMax"),
            Atomic::And => own("atomicAnd"),
            Atomic::Or => own("atomicOr"),
            Atomic::By(number) => {
                self.needs.updates.borrow_mut().insert((number, scope));
                self.program.updates.get(number).map_or_else(String::new, |update| own(&update.name))
            }
        };
        let (element, value) = (self.element(to), self.converted(value));
        // Signed and unsigned sums have the same bits, as do operations on bits, and CUDA provides
        // the function for unsigned words.
        if dtype == DType::I64 && matches!(atomic, Atomic::Add | Atomic::And | Atomic::Or) {
            let unsigned = "unsigned long long";
            return format!(
                "{function}(reinterpret_cast<{unsigned} *>(&{element}), \
                 static_cast<{unsigned}>({value}));"
            );
        }
        format!("{function}(&{element}, {value});")
    }

    fn store(&self, to: &MemRef, value: &Value) -> String {
        if let Some(of) = self.waves(to) {
            return self.store_in_waves(of, to, format!("&{}", self.element(to)), self.converted(value), 1);
        }
        if self.is_streaming(to) {
            return format!("__stcs(&{}, {});", self.element(to), self.converted(value));
        }
        let is_target = |v: &Value| matches!(&v.kind, ValueKind::Load(from) if from == to);
        self.assignment(&self.element(to), value, &is_target)
    }

    fn vector_copy(&self, to: &MemRef, from: &MemRef, lanes: u8) -> String {
        let (_, dtype) = self.array(to.memory);
        let Some(vector) =
            self.needs.vector_type(dtype, lanes).filter(|_| dtype == self.array(from.memory).1)
        else {
            return self
                .needs
                .refuse("malformed-program", format!("no access moves {lanes} elements of {dtype}"));
        };
        let target = format!("reinterpret_cast<{vector} *>(&{})", self.element(to));
        let source = format!("reinterpret_cast<const {vector} *>(&{})", self.element(from));
        let source = match self.is_streaming(from) {
            true => format!("__ldcs({source})"),
            false => format!("*{source}"),
        };
        match (self.waves(to), self.is_streaming(to)) {
            (Some(of), _) => self.store_in_waves(of, to, target, source, lanes),
            (None, true) => format!("__stcs({target}, {source});"),
            (None, false) => format!("*{target} = {source};"),
        }
    }

    /// The array of an element that is stored in waves, and its wave parameters. There is no such
    /// store for one-byte elements.
    fn waves(&self, to: &MemRef) -> Option<(&Global, Waves)> {
        let (Memory::Global(global), true) = (to.memory, self.needs.dialect.hints) else { return None };
        let array = self.program.globals.get(global)?;
        Some((array, array.hints.waves().filter(|_| array.dtype.bytes() > 1)?))
    }

    /// A store of `lanes` elements of such an array.
    fn store_in_waves(
        &self,
        (array, Waves { window, windows }): (&Global, Waves),
        to: &MemRef,
        target: String,
        value: String,
        lanes: u8,
    ) -> String {
        self.needs.waves.borrow_mut().insert((array.dtype, lanes));
        let of_data = self.of_data.replace(false);
        let (at, size) = (self.converted(&to.offset), self.converted(&array.size));
        self.of_data.set(of_data);
        format!("{WAVES}({target}, {value}, {at}, {size}, {window}, {windows});")
    }

    /// `__align__(16) ` for an array with vector accesses; empty if its elements' own alignment
    /// suffices.
    pub(crate) fn alignment(&self, memory: Memory) -> String {
        match self.aligned_to(memory) {
            None => String::new(),
            Some(bytes) => format!("__align__({bytes}) "),
        }
    }

    /// The alignment in bytes that vector accesses to an array need, if there are some.
    pub(crate) fn aligned_to(&self, memory: Memory) -> Option<usize> {
        let mut most = 1;
        Stmt::visit(&self.kernel.body, &mut |stmt| {
            match stmt {
                Stmt::VectorCopy { to, from, lanes, .. }
                | Stmt::Async(Async::Copy(AsyncCopy { to, from, lanes, .. }))
                    if to.memory == memory || from.memory == memory =>
                {
                    most = most.max(*lanes);
                }
                Stmt::LoadMatrices { to, from, row, .. } => {
                    let lanes = if from.memory == memory { *row } else { row / 4 };
                    if to.memory == memory || from.memory == memory {
                        most = most.max(lanes);
                    }
                }
                Stmt::StoreMatrices { to, .. } if to.memory == memory => most = most.max(Stmt::STORED_ROW),
                Stmt::StoreMatrices { from, .. } if from.memory == memory => most = most.max(2),
                // The elements of a fragment are passed by words.
                Stmt::Mma { a, b, .. } if a.memory == memory || b.memory == memory => {
                    let bytes = self.array(memory).1.bytes();
                    most = most.max(u8::try_from(4 / bytes.clamp(1, 4)).unwrap_or(1));
                }
                _ => {}
            }
        });
        match most {
            1 => None,
            lanes => Some(self.array(memory).1.bytes() * lanes as usize),
        }
    }
}

impl Lines {
    /// Adds lines of user text unchanged.
    pub(crate) fn source(&mut self, text: &str) {
        for line in text.trim().lines() {
            self.verbatim(line.trim_end().to_string(), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_stands_behind_its_statement_where_the_line_is_wide_enough() {
        for (indent, text) in [(0, "f();"), (8, "__syncthreads();")] {
            let room = WIDTH - indent - text.len() - "  // ".len();
            let noted = |length: usize| {
                let mut lines = Lines::default();
                lines.noted(text, &"n".repeat(length), indent, None);
                lines.0.into_iter().map(|(line, _)| line).collect::<Vec<_>>()
            };
            let blank = " ".repeat(indent);
            let (fits, beyond) = ("n".repeat(room), "n".repeat(room + 1));
            assert_eq!(noted(room), [format!("{blank}{text}  // {fits}")]);
            assert_eq!(noted(room).concat().len(), WIDTH);
            assert_eq!(noted(room + 1), [format!("{blank}// {beyond}"), format!("{blank}{text}")]);
        }
    }
}
