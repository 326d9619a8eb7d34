//! What stands inside a collective: only what joins.
//!
//! Nothing inside is of a part, since whoever asks when parts run and who reads what does not look
//! there. It writes the accumulators that it joins, what is carried to the next round, and what is
//! its own: variables and elements of its thread that nothing else accesses, and shared memory that
//! nothing but collectives does.

use std::collections::HashMap;

use super::{Found, Holder, Reduction};
use crate::{DeviceKernel, Memory, Program, Stmt, ValueKind, VarId};

/// How often a text, or some of it, names each variable and each array of the block or thread.
#[derive(Default)]
pub(super) struct Uses {
    vars: HashMap<VarId, usize>,
    private: HashMap<usize, usize>,
    shared: HashMap<usize, usize>,
    /// The uses of shared memory in collectives.
    joined: HashMap<usize, usize>,
}

impl Uses {
    /// Those of a whole text with these collectives.
    pub fn of(body: &[Stmt], collectives: &[Found<'_>]) -> Uses {
        let mut uses = Uses::default();
        uses.count(body);
        for found in collectives {
            let mut inside = Uses::default();
            inside.count(found.body);
            for (array, times) in inside.shared {
                *uses.joined.entry(array).or_default() += times;
            }
        }
        uses
    }

    fn count(&mut self, body: &[Stmt]) {
        Stmt::visit(body, &mut |stmt| {
            stmt.assigned().for_each(|var| *self.vars.entry(var).or_default() += 1);
            stmt.each_element(&mut |element| self.array(element.memory));
            stmt.visit_values(&mut |value| match &value.kind {
                ValueKind::Var(var) => *self.vars.entry(*var).or_default() += 1,
                ValueKind::Load(element) => self.array(element.memory),
                _ => {}
            });
        });
    }

    fn array(&mut self, memory: Memory) {
        match memory {
            Memory::Global(_) => {}
            Memory::Shared(array) => *self.shared.entry(array).or_default() += 1,
            Memory::Private(array) => *self.private.entry(array).or_default() += 1,
        }
    }

    /// What is wrong inside of a collective.
    pub fn wrong_inside(
        &self,
        program: &Program,
        kernel: &DeviceKernel,
        found: &Found<'_>,
        claimed: Option<&Reduction<'_>>,
    ) -> Option<String> {
        let mut inside = Uses::default();
        inside.count(found.body);
        let is_own = |holder: Holder| match (claimed, holder) {
            (Some(of), _) => {
                let carried = of.begins.values().filter(|_| found.join.scan);
                of.state.values().chain(carried).any(|own| *own == holder)
            }
            (None, Holder::Var(var)) => found.join.state.contains(&var),
            (None, Holder::Array(_)) => false,
        };
        let mut leaf = None;
        Stmt::visit(found.body, &mut |stmt| leaf = leaf.or(stmt.leaf()));
        if let Some(leaf) = leaf {
            let part = program.leaves.get(leaf.0).map_or_else(String::new, |leaf| leaf.part.to_string());
            return Some(format!("contains a statement of {part}"));
        }
        let mut wrong = None;
        Stmt::visit(found.body, &mut |stmt| {
            if wrong.is_some() {
                return;
            }
            for var in stmt.assigned().filter(|var| !is_own(Holder::Var(*var))) {
                if self.vars.get(&var) != inside.vars.get(&var) {
                    let name = kernel.vars.get(var.0).map_or("?", |var| var.name.as_str());
                    wrong = Some(format!("assigns `{name}`, which is not its own"));
                }
            }
            let Some(memory) = stmt.written().map(|to| to.element.memory) else { return };
            let (name, own) = match memory {
                Memory::Global(array) => (program.globals.get(array).map(|array| &array.name), false),
                Memory::Shared(array) => (
                    kernel.shared.get(array).map(|array| &array.name),
                    self.shared.get(&array) == self.joined.get(&array),
                ),
                Memory::Private(array) => (
                    kernel.private.get(array).map(|array| &array.name),
                    is_own(Holder::Array(array)) || self.private.get(&array) == inside.private.get(&array),
                ),
            };
            if !own {
                wrong = Some(format!("writes `{}`, which is not its own", name.map_or("?", |n| n.as_str())));
            }
        });
        wrong
    }
}
