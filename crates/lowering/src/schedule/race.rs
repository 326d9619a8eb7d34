//! Diagnostics of races: who conflicts where, a witness of two instances, and a remedy.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, Fact, Name, UpdateScope};
use loopwright_legality::{Meeting, Query, Time};

use super::sync::Conflicts;

impl Conflicts<'_, '_> {
    /// The refusal of conflicting executions of one part that nothing can order.
    pub fn race(&self, array: &Name, p: usize) -> Diagnostic {
        let analysis = self.analysis;
        let part = &analysis.parts[p].execution.part;
        let who = match self.meeting {
            Meeting::Threads => "threads of a block",
            Meeting::Blocks => "blocks",
            Meeting::Lanes => "lanes of a thread",
            Meeting::Block => "executions of a block",
            Meeting::Any => "launches",
        };
        let parallel: Vec<String> = analysis.parts[p]
            .inames
            .iter()
            .filter(|i| {
                let tag = analysis.kernel.tag(i);
                match self.meeting {
                    Meeting::Threads => tag.is_in_block(),
                    Meeting::Blocks => tag.is_over_blocks(),
                    Meeting::Lanes => tag.is_jam(),
                    Meeting::Any | Meeting::Block => false,
                }
            })
            .map(|i| format!("`{i}: {}`", analysis.kernel.tag(i)))
            .collect();
        let instruction = analysis.instruction(&analysis.parts[p]);
        if self.meeting == Meeting::Blocks
            && instruction.scope == UpdateScope::Block
            && instruction.targets.iter().any(|t| t.array == *array)
        {
            let refusal = Diagnostic::new(
                "update-scope",
                format!(
                    "different blocks may update the same element of `{array}` in {part}, whose \
                     updates are one step in their own block alone (`scope=block`)"
                ),
            )
            .help(format!(
                "let the scope be the device, which any blocks may share{}",
                self.missing_facts(array, p)
            ));
            return match self.example_of_race(array, p) {
                Some(example) => refusal.witness(example),
                None => refusal,
            };
        }
        let inames = if parallel.is_empty() { "the iname".to_string() } else { parallel.join(", ") };
        let diagnostic = Diagnostic::new(
            "race",
            format!(
                "different {who} may touch the same cell of `{array}` at the same time in \
                 {part}, and one of them writes"
            ),
        )
        .help(format!(
            "{inames} cannot run in parallel here: leave the iname sequential, or write different \
             cells{}",
            self.missing_facts(array, p)
        ));
        match self.example_of_race(array, p) {
            Some(example) => diagnostic.witness(example),
            None => diagnostic,
        }
    }

    /// If the cell depends on data: the facts that would rule out the conflict, if they hold.
    fn missing_facts(&self, array: &Name, p: usize) -> String {
        let kernel = self.analysis.kernel;
        let execution = &self.analysis.parts[p].execution;
        let of_array = execution.accesses.iter().filter(|a| a.array == *array);
        let subscripts: BTreeSet<Name> =
            of_array.flat_map(|a| a.subscripts.iter().flatten().flat_map(Aff::names)).collect();
        let bounds: BTreeSet<Name> = execution.constraints.iter().flat_map(Constraint::names).collect();
        let mut facts: BTreeSet<String> = BTreeSet::new();
        for load in &execution.loads {
            let one_axis = load.arguments.len() == 1;
            let (injective, monotone) =
                (Fact::Injective(load.array.clone()), Fact::Monotone(load.array.clone()));
            if one_axis && subscripts.contains(&load.name) && !kernel.facts.contains(&injective) {
                facts.insert(format!("`fact injective({})`", load.array));
            }
            if one_axis && bounds.contains(&load.name) && !kernel.facts.contains(&monotone) {
                facts.insert(format!("`fact monotone({})`", load.array));
            }
        }
        match facts.len() {
            0 => String::new(),
            _ => format!("; if it is true of the data, declare {}", Vec::from_iter(facts).join(" or ")),
        }
    }

    /// Two instances of a part that access one cell of an array at the same time, if the subscripts
    /// determine them.
    fn example_of_race(&self, array: &Name, p: usize) -> Option<String> {
        let analysis = self.analysis;
        let info = &analysis.parts[p];
        let guarded = analysis.guarded(p);
        let execution = &*guarded;
        // Data may have any values; an example with made-up ones would prove nothing.
        if !execution.loads.is_empty() || analysis.predicate(info).is_none() {
            return None;
        }
        let shared = |n: &Name| analysis.is_parameter(n);
        let of_array = self.accesses.get(&p)?.get(array)?;
        let owning = analysis.separate_lanes(array);
        for (i, k) in of_array.iter().enumerate() {
            for l in &of_array[i..] {
                let (x, y) = (&execution.accesses[*k], &execution.accesses[*l]);
                if !(x.write || y.write) {
                    continue;
                }
                let query = Query { owning: &owning, ..self.query(Time::Same, &shared) };
                let Ok(Some(point)) = loopwright_legality::example(execution, x, execution, y, &query) else {
                    continue;
                };
                let primed = |n: &Name| point.get(&Name::new(format!("{n}'"))).copied();
                let own = |n: &Name| point.get(n).copied();
                let other = |n: &Name| if shared(n) { own(n) } else { primed(n) };
                let value =
                    |aff: &Aff, of: &dyn Fn(&Name) -> Option<i64>| aff.eval(&|n| Some(of(n).unwrap_or(0)));
                let mut cell = Vec::new();
                for s in &x.subscripts {
                    cell.push(value(s.as_ref()?, &own)?.to_string());
                }
                let instance = |of: &dyn Fn(&Name) -> Option<i64>| -> Option<String> {
                    let mut values = Vec::new();
                    for iname in &info.inames {
                        let aff = analysis.canonical(&Aff::var(iname)).ok()?;
                        values.push(format!("{iname} = {}", value(&aff, of)?));
                    }
                    Some(values.join(", "))
                };
                let mut parameters: Vec<String> = Vec::new();
                for (name, v) in point.iter().filter(|(n, _)| shared(n)) {
                    parameters.push(format!("{name} = {v}"));
                }
                let with = if parameters.is_empty() {
                    String::new()
                } else {
                    format!(" with {}", parameters.join(", "))
                };
                let (first, second) = (instance(&own)?, instance(&other)?);
                let subscripts =
                    if cell.is_empty() { String::new() } else { format!("[{}]", cell.join(", ")) };
                let verb = |write: bool| if write { "writes" } else { "reads" };
                return Some(format!(
                    "({first}) {} `{array}{subscripts}` and ({second}) {} it{with}",
                    verb(x.write),
                    verb(y.write)
                ));
            }
        }
        None
    }
}
