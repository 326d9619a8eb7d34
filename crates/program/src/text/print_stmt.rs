//! Statements as text.

use std::fmt::Write;

use super::{note, print_value::ValuePrinter};
use crate::{Async, AsyncCopy, Atomic, Join, Leaf, LeafId, LookBack, Scope, Step, Stmt, VarId};

/// The names of atomic updates that no program declares.
pub(super) const UPDATES: [(Atomic, &str); 5] = [
    (Atomic::Add, "add"),
    (Atomic::Min, "min"),
    (Atomic::Max, "max"),
    (Atomic::And, "and"),
    (Atomic::Or, "or"),
];

/// Prints the statements of a kernel.
pub(super) struct StmtPrinter<'a> {
    pub values: ValuePrinter<'a>,
    pub leaves: &'a [Leaf],
}

impl StmtPrinter<'_> {
    pub fn body(&self, out: &mut String, body: &[Stmt], indent: usize) {
        body.iter().for_each(|stmt| self.stmt(out, stmt, indent));
    }

    fn stmt(&self, out: &mut String, stmt: &Stmt, indent: usize) {
        let values = &self.values;
        let space = format!("{:indent$}", "");
        // Writing to a string does not fail.
        let _ = match stmt {
            Stmt::Let { var, value, leaf } => {
                let (text, leaf) = (values.text(value), self.leaf(*leaf));
                writeln!(out, "{space}let {} = {text}{leaf}", self.declared(*var))
            }
            Stmt::Declare(var) => writeln!(out, "{space}declare {}", self.declared(*var)),
            Stmt::Set { var, value, leaf } => {
                let (text, leaf) = (values.text(value), self.leaf(*leaf));
                writeln!(out, "{space}set {} = {text}{leaf}", values.variable(*var))
            }
            Stmt::Store { to, value, leaf } => {
                let (to, text, leaf) = (values.element(to), values.text(value), self.leaf(*leaf));
                writeln!(out, "{space}store {to} = {text}{leaf}")
            }
            Stmt::Update { atomic, scope, to, value, leaf } => {
                let own =
                    |number: &usize| values.names.updates.get(*number).map_or("?", |name| name.as_str());
                let name = match atomic {
                    Atomic::By(number) => format!("by {}", own(number)),
                    _ => UPDATES.iter().find(|(known, _)| known == atomic).map_or("?", |(_, n)| n).into(),
                };
                let (to, text, leaf) = (values.element(to), values.text(value), self.leaf(*leaf));
                let scope = if scope.is_device() { String::new() } else { format!("({})", scope.word()) };
                writeln!(out, "{space}update {name}{scope} {to} = {text}{leaf}")
            }
            Stmt::VectorCopy { to, from, lanes, leaf } => {
                let (to, from, leaf) = (values.element(to), values.element(from), self.leaf(*leaf));
                writeln!(out, "{space}copy {lanes} {to} = {from}{leaf}")
            }
            Stmt::For { var, lower, upper, step, unroll, body, note } => {
                let step = match step {
                    Step::Add(1) => String::new(),
                    Step::Add(by) => format!(" step {by}"),
                    Step::Halve => " step halve".to_string(),
                    Step::Double => " step double".to_string(),
                };
                let unroll = if *unroll { " unroll" } else { "" };
                let _ = writeln!(
                    out,
                    "{space}for {} = {} to {}{step}{unroll}{} {{",
                    self.declared(*var),
                    values.text(lower),
                    values.text(upper),
                    note::text_of(note)
                );
                self.body(out, body, indent + 4);
                writeln!(out, "{space}}}")
            }
            Stmt::If { .. } => {
                out.push_str(&space);
                self.guard(out, stmt, indent);
                Ok(())
            }
            Stmt::Sync { scope, note } => {
                let scope = match scope {
                    Scope::Block => "block",
                    Scope::Warp => "warp",
                };
                writeln!(out, "{space}barrier {scope}{}", note::text_of(note))
            }
            Stmt::Atom { contract, body, note } => {
                let _ = writeln!(out, "{space}atom{} {{", note::text_of(note));
                self.body(out, contract, indent + 4);
                let _ = writeln!(out, "{space}}} by {{");
                self.body(out, body, indent + 4);
                writeln!(out, "{space}}}")
            }
            Stmt::LoadMatrices { to, from, matrices, row, transposed } => {
                let (to, from) = (values.element(to), values.element(from));
                let transposed = if *transposed { " transposed" } else { "" };
                let of = if *row == 8 { String::new() } else { format!(" of {row}") };
                writeln!(out, "{space}matrices {matrices}{of}{transposed} {to} = {from}")
            }
            Stmt::StoreMatrices { to, from, matrices, transposed } => {
                let (to, from) = (values.element(to), values.element(from));
                let transposed = if *transposed { " transposed" } else { "" };
                writeln!(out, "{space}store_matrices {matrices}{transposed} {to} = {from}")
            }
            Stmt::Mma { atom, d, a, b } => {
                let d: Vec<String> = d.iter().map(|element| values.element(element)).collect();
                let (d, a, b) = (d.join(", "), values.element(a), values.element(b));
                writeln!(out, "{space}mma {atom}({d}) += {a} * {b}")
            }
            Stmt::Async(Async::Copy(AsyncCopy { to, from, lanes, when, leaf })) => {
                let (to, from, leaf) = (values.element(to), values.element(from), self.leaf(*leaf));
                let when = when.as_ref().map_or_else(String::new, |w| format!(" when {}", values.text(w)));
                writeln!(out, "{space}copy_async {lanes} {to} = {from}{when}{leaf}")
            }
            Stmt::Async(Async::Commit) => writeln!(out, "{space}commit"),
            Stmt::Async(Async::Wait { pending, note }) => {
                writeln!(out, "{space}wait {pending}{}", note::text_of(note))
            }
            Stmt::LookBack(LookBack { by, axis, total, before, word }) => {
                let name = values.names.look_backs.get(*by).map_or("?", |name| name.as_str());
                let total: Vec<String> = total.iter().map(|value| values.text(value)).collect();
                let before: Vec<String> = before.iter().map(|var| self.declared(*var)).collect();
                let (total, before, word) = (total.join(", "), before.join(", "), values.element(word));
                writeln!(out, "{space}look_back {before} = {name}({total}) along block.{axis} at {word}")
            }
            Stmt::Collective { join, body, note } => {
                let _ = writeln!(out, "{space}collective {}{} {{", self.join(join), note::text_of(note));
                self.body(out, body, indent + 4);
                writeln!(out, "{space}}}")
            }
        };
    }

    /// `if ... { ... } else if ... { ... }`, from the keyword on.
    fn guard(&self, out: &mut String, mut stmt: &Stmt, indent: usize) {
        let space = format!("{:indent$}", "");
        while let Stmt::If { cond, body, otherwise, note } = stmt {
            let _ = writeln!(out, "if {}{} {{", self.values.text(cond), note::text_of(note));
            self.body(out, body, indent + 4);
            match &otherwise[..] {
                [] => break,
                [next @ Stmt::If { .. }] => {
                    let _ = write!(out, "{space}}} else ");
                    stmt = next;
                }
                otherwise => {
                    let _ = writeln!(out, "{space}}} else {{");
                    self.body(out, otherwise, indent + 4);
                    break;
                }
            }
        }
        let _ = writeln!(out, "{space}}}");
    }

    /// `sum(acc) along(x: 32) to_all scan across(block.x)`
    fn join(&self, join: &Join) -> String {
        let state: Vec<&str> = join.state.iter().map(|v| self.values.variable(*v)).collect();
        let axes: Vec<String> = join.axes.iter().map(|(dim, n)| format!("{dim}: {n}")).collect();
        let to_all = if join.to_all { " to_all" } else { "" };
        let scan = if join.scan { " scan" } else { "" };
        let tiles = join.tiles.map_or_else(String::new, |dim| format!(" across(block.{dim})"));
        format!("{}({}) along({}){to_all}{scan}{tiles}", join.operator, state.join(", "), axes.join(", "))
    }

    /// A variable at its declaration, with its type.
    fn declared(&self, var: VarId) -> String {
        let name = self.values.variable(var);
        match self.values.names.type_of(var) {
            Some(dtype) => format!("{name}: {dtype}"),
            None => name.to_string(),
        }
    }

    /// The leaf of a statement, with a leading space.
    fn leaf(&self, leaf: Option<LeafId>) -> String {
        let Some(id) = leaf else { return String::new() };
        let Some(leaf) = self.leaves.get(id.0) else { return " {?}".to_string() };
        match self.values.names.leaves_of(&leaf.part) {
            [_] => format!(" {{{}}}", leaf.part),
            several => {
                let number = several.iter().position(|l| *l == id).unwrap_or_default();
                format!(" {{{}[{number}]}}", leaf.part)
            }
        }
    }
}
