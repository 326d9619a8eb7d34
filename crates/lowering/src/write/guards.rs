//! Why a guard is there: condition by condition, with the step that led to it.
//!
//! A condition on one iname that a split made is there because the first or the last tile may
//! extend beyond the domain. One that relates several inames comes from the shape of the domain
//! itself, such as a triangle. One on a coordinate elects a thread for a part that has no iname on
//! that axis. And a copy moves only cells that its source and its buffer have.

use loopwright_kernel_ir::{
    Aff, Axis, Constraint, Diagnostic, Expr, HardwareAxis, Instruction, Kind, Name, Role, Tag,
};
use loopwright_poly::Term;

use crate::{
    analyse::analysis::{Guard, PartInfo},
    program::{Condition, Note, Reason, Value, ValueKind},
    schedule::Which,
    write::{emitter::Emitter, env::Env},
};

/// The purpose of a condition.
enum Purpose {
    /// A thread is elected on this coordinate.
    Elect(Name),
    /// The first tile of this iname may begin before the domain.
    First(Name),
    /// The last tile of this iname may extend beyond it.
    Last(Name),
    /// The domain has this shape.
    Shape,
}

impl Emitter<'_, '_> {
    /// A guard as a condition, in declared names. If a declared name gets its value only in a loop
    /// inside, but the guard does not depend on that loop, as `i + 1 <= 2*floor((i + n)/2)` does
    /// not on the even part of `i`, it is written in canonical names.
    pub fn guard_condition(&mut self, guard: &Guard, env: &Env) -> Result<Value, Diagnostic> {
        let declared = self.analysis.can_compare(&guard.declared, env)?;
        self.condition(if declared { &guard.declared } else { &guard.canonical }, env)
    }

    /// Why these guards of a part are there.
    pub fn guard_note(&self, guards: &[Guard], of: Option<&Which>, env: &Env) -> Note {
        let part = of.map(|of| of.info(self.analysis));
        let Some(part) = part.filter(|_| !guards.is_empty()) else { return Note::default() };
        let name = &part.execution.part;
        let instruction = self.analysis.instruction(part);
        let purposes: Vec<Purpose> = guards.iter().map(|g| self.purpose(g, part)).collect();
        let names = |wanted: &dyn Fn(&Purpose) -> Option<&Name>| {
            let mut found: Vec<String> = Vec::new();
            for n in purposes.iter().filter_map(wanted).map(|n| self.printed(n, env)) {
                if !found.contains(&n) {
                    found.push(n);
                }
            }
            found
        };
        let mut reasons = Vec::new();
        let elected = |axis: &HardwareAxis| {
            purposes.iter().any(|p| matches!(p, Purpose::Elect(c) if c == axis.coordinate()))
        };
        reasons.extend(self.elected(elected).map(|who| format!("{who} runs {name}")));
        if let Role::Copies { source } = &instruction.role {
            let others = guards.iter().zip(&purposes).filter(|(_, p)| !matches!(p, Purpose::Elect(_)));
            // A condition on no iname of the sweep asks for an iteration that reads the copy.
            let swept =
                |n: &Name| instruction.targets.iter().flat_map(|t| &t.index).any(|s| s.names().contains(n));
            let (cells, whole): (Vec<_>, Vec<_>) =
                others.partition(|(g, _)| g.declared.names().iter().any(swept));
            let tiles: Vec<Option<&Name>> =
                cells.iter().map(|(g, _)| self.ends_tile(g, instruction)).collect();
            if !whole.is_empty() {
                reasons.push("only what an iteration reads".to_owned());
            }
            let tile = tiles.iter().flatten().next().map(|tile| tile.to_string());
            let source = tiles.contains(&None).then(|| source.to_string());
            let of: Vec<String> = tile.into_iter().chain(source).collect();
            if !of.is_empty() {
                reasons.push(format!("only cells of {}", of.join(" and of ")));
            }
        } else {
            let first = names(&|p| if let Purpose::First(n) = p { Some(n) } else { None });
            let last = names(&|p| if let Purpose::Last(n) = p { Some(n) } else { None });
            let both: Vec<String> = last.iter().filter(|n| first.contains(n)).cloned().collect();
            let tiles = |which: &str, of: &[String], but: &[String]| {
                let of: Vec<&str> = of.iter().filter(|n| !but.contains(n)).map(String::as_str).collect();
                (!of.is_empty()).then(|| format!("the {which} of {} may be partial", of.join(", ")))
            };
            reasons.extend(tiles("first and the last tile", &both, &[]));
            reasons.extend(tiles("first tile", &first, &both));
            reasons.extend(tiles("last tile", &last, &both));
            let shapes = guards.iter().zip(&purposes).filter(|(_, p)| matches!(p, Purpose::Shape));
            let shapes: Vec<String> =
                shapes.map(|(g, _)| self.printed_constraint(&g.declared, env)).collect();
            if !shapes.is_empty() {
                reasons.push(format!("domain of {name}: {}", shapes.join(" and ")));
            }
        }
        let conditions = guards.iter().zip(&purposes).map(|(g, p)| self.condition_of(g, p, part)).collect();
        Note { text: reasons.join("; "), reason: Reason::Guard(conditions) }
    }

    /// The executor of what is guarded by an election on these axes, for a comment.
    fn elected(&self, on: impl Fn(&HardwareAxis) -> bool) -> Option<String> {
        let along = |axes: &[HardwareAxis]| -> Vec<&'static str> {
            let named = |axis: &HardwareAxis| axis.coordinate().rsplit('.').next().unwrap_or_default();
            axes.iter().filter(|axis| on(axis)).map(named).collect()
        };
        let threads = along(HardwareAxis::OF_BLOCK);
        let blocks = along(HardwareAxis::OF_GRID);
        let is_one = |axis: &HardwareAxis| on(axis) || axis.extent_in(&self.block).is_none_or(|n| n == 1);
        match (threads.as_slice(), blocks.as_slice()) {
            ([], []) => None,
            ([], blocks) => Some(format!("the first block along {}", blocks.join(" and "))),
            _ if HardwareAxis::OF_BLOCK.iter().all(is_one) => Some("one thread".to_owned()),
            (threads, _) => Some(format!("the first thread along {}", threads.join(" and "))),
        }
    }

    fn purpose(&self, guard: &Guard, part: &PartInfo) -> Purpose {
        let coordinate = guard.canonical.aff.as_var().filter(|v| loopwright_legality::is_coordinate(v));
        if let (Some(coordinate), Kind::Eq) = (coordinate, guard.canonical.kind) {
            return Purpose::Elect(coordinate.clone());
        }
        // Host loop variables have one value per launch; a coordinate represents the iname on its
        // axis.
        let kernel = self.analysis.kernel;
        let on_axis = |n: &Name| {
            part.inames
                .iter()
                .find(|i| loopwright_legality::coordinate_name(kernel.tag(i)) == Some(n.as_str()))
        };
        let mut inames: Vec<Name> = Vec::new();
        let mut coefficient = 0;
        for name in guard.declared.names() {
            let iname = on_axis(&name).unwrap_or(&name);
            if self.analysis.lookup.is_iname(iname) && kernel.tag(iname) != Tag::Host {
                inames.push(iname.clone());
                coefficient = guard.declared.aff.coefficient(&name);
            }
        }
        let tiled = match inames.as_slice() {
            [iname] if self.tile_length(iname).is_some() => Some(iname.clone()),
            // A sum that a loop counts represents the iname that it defines.
            [_, _, ..] => {
                let whole = self.analysis.kernel.definitions.iter().map(|d| &d.iname).find(|n| {
                    let base = self.analysis.lookup.base_of(n);
                    inames.iter().all(|i| base.contains(i)) && self.tile_length(n).is_some()
                });
                whole.cloned()
            }
            _ => None,
        };
        match (tiled, guard.declared.kind) {
            (Some(iname), Kind::Ge) if coefficient > 0 => Purpose::First(iname),
            (Some(iname), Kind::Ge) => Purpose::Last(iname),
            _ => Purpose::Shape,
        }
    }

    /// The length of the tiles of an iname that a split defined: `n*outer + inner`, where the inner
    /// one goes from 0 to n - 1.
    fn tile_length(&self, iname: &Name) -> Option<i64> {
        let value = self.analysis.lookup.definition(iname)?;
        let [(Term::Var(a), m), (Term::Var(b), n)] = value.terms() else { return None };
        let (inner, length) = match (m, n) {
            (1, n) => (a, *n),
            (m, 1) => (b, *m),
            _ => return None,
        };
        let last = Constraint::le(&Aff::var(inner), &Aff::constant(length.checked_sub(1)?)).ok()?;
        let (domain, _) = self.analysis.lookup.domain_of(inner)?;
        self.analysis.kernel.domains.get(domain)?.constraints.contains(&last).then_some(length)
    }

    /// The buffer of a copy, if this guard of it says where an axis of the buffer ends. The threads
    /// that copy need not be as many as its cells.
    fn ends_tile<'i>(&self, guard: &Guard, copy: &'i Instruction) -> Option<&'i Name> {
        let [target] = copy.targets.as_slice() else { return None };
        let axes = &self.analysis.kernel.array(&target.array)?.axes;
        let ends = |(subscript, axis): (&Expr, &Axis)| {
            let Expr::Int(length) = axis.length else { return false };
            let last = Aff::constant(length.saturating_sub(1));
            let end = subscript.to_aff().and_then(|s| Constraint::le(&s, &last).ok());
            end.is_some_and(|end| end == guard.declared)
        };
        target.index.iter().zip(axes).any(ends).then_some(&target.array)
    }

    /// The name by which the text refers to an iname.
    fn printed(&self, name: &Name, env: &Env) -> String {
        match env.values.get(name).map(|v| &v.kind) {
            Some(ValueKind::Var(var)) => {
                self.vars.get(var.0).map_or(name.to_string(), |v| v.name.to_string())
            }
            Some(ValueKind::Param(name)) => name.to_string(),
            _ => name.to_string(),
        }
    }

    fn printed_constraint(&self, constraint: &Constraint, env: &Env) -> String {
        let renamed = constraint.aff.substitute(&|n| Some(Aff::var(self.printed(n, env))));
        match renamed {
            Ok(aff) => Constraint { kind: constraint.kind, aff }.to_string(),
            Err(_) => constraint.to_string(),
        }
    }

    fn condition_of(&self, guard: &Guard, purpose: &Purpose, part: &PartInfo) -> Condition {
        let name = &part.execution.part;
        let instruction = self.analysis.instruction(part);
        let definition = |n: &Name| self.analysis.lookup.definition(n);
        let made_by = |n: &Name| match definition(n).zip(self.tile_length(n)) {
            Some((value, length)) => format!("`split_iname({n}, {length})` (`{n} = {value}`)"),
            None => n.to_string(),
        };
        let why = match (purpose, &instruction.role) {
            (Purpose::Elect(coordinate), _) => {
                format!(
                    "{name} has no iname on {coordinate}, over which `tag_inames` spread others: \
                     one runs it"
                )
            }
            (_, Role::Copies { source }) => {
                let step = instruction.made_by.as_ref().map_or(String::new(), |s| format!("`{s}`: "));
                let of = self.ends_tile(guard, instruction).unwrap_or(source);
                format!("{step}{name} copies only cells that {of} has")
            }
            (Purpose::First(n), _) => format!("{}: the first tile may be partial", made_by(n)),
            (Purpose::Last(n), _) => format!("{}: the last tile may be partial", made_by(n)),
            (Purpose::Shape, _) => {
                // An iname that a step replaced may be related to others by that step, such as the
                // skewed iname of a wavefront.
                let names = guard.declared.names();
                let made = names.iter().filter(|n| definition(n).is_some() && self.tile_length(n).is_none());
                let made: Vec<String> =
                    made.filter_map(|n| Some(format!("`{n} = {}`", definition(n)?))).collect();
                let with =
                    if made.is_empty() { String::new() } else { format!(", with {}", made.join(" and ")) };
                format!("the domain of {name}{with}")
            }
        };
        let condition = match purpose {
            Purpose::Elect(coordinate) => format!("{coordinate} = 0"),
            _ => guard.declared.to_string(),
        };
        Condition { condition, why }
    }
}
