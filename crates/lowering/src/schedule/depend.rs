//! Two conflicting accesses as a dependence that can be reported: which comes first, on which cell,
//! and when the declared kernel runs both.

use loopwright_kernel_ir::{Aff, Diagnostic, Name, Part, PartRef};
use loopwright_legality::{Load, Time, data_ranges, primed};

use super::sync::{Conflicts, Met};
use crate::{
    analyse::paths::Step,
    program::{Dependence, End},
};

impl Conflicts<'_, '_> {
    /// The dependence between two parts that conflict.
    pub fn dependence(&self, parts: [usize; 2], met: Met, time: Time) -> Result<Dependence, Diagnostic> {
        let analysis = self.analysis;
        let [first, second] = parts.map(|p| analysis.guarded(p));
        let prime = |aff: Aff| aff.substitute(&|n| (!analysis.is_parameter(n)).then(|| Aff::var(primed(n))));
        let mut other = self.end(parts[1], second.accesses[met.accesses[1]].write, &met.array)?;
        for (_, value) in &mut other.instance {
            *value = prime(std::mem::take(value))?;
        }
        for c in other.domain.iter_mut().flatten() {
            c.aff = prime(std::mem::take(&mut c.aff))?;
        }
        for value in other.declared_time.iter_mut().flatten() {
            *value = prime(std::mem::take(value))?;
        }
        let array = met.array;
        let access = &first.accesses[met.accesses[0]];
        let carried_by = match time {
            Time::Same => None,
            Time::Earlier(depth) => first.loops.get(depth).cloned(),
        };
        let own = self.end(parts[0], access.write, &array)?;
        let mut loads = first.loads.clone();
        for load in &second.loads {
            let arguments = load.arguments.iter().cloned().map(prime).collect::<Result<_, _>>()?;
            loads.push(Load { name: primed(&load.name), array: load.array.clone(), arguments });
        }
        let facts = if loads.is_empty() { Vec::new() } else { analysis.kernel.facts.clone() };
        let mut parameters = met.pairs.names();
        for c in [&own, &other].into_iter().flat_map(|end| end.domain.iter().flatten()) {
            parameters.extend(c.names());
        }
        parameters.retain(|n| analysis.is_parameter(n));
        Ok(Dependence {
            array: array.clone(),
            cell: access.subscripts.clone(),
            first: own,
            second: other,
            carried_by,
            parameters: parameters.into_iter().collect(),
            loads,
            facts,
            pairs: met.pairs,
        })
    }

    /// One side of a dependence, over the names of its own execution. It is named after the
    /// declared instance that it executes, unless it is one of several parts that do so and pass
    /// data through an array that the declared kernel does not have.
    fn end(&self, part: usize, writes: bool, array: &Name) -> Result<End, Diagnostic> {
        let analysis = self.analysis;
        let info = &analysis.parts[part];
        let instruction = analysis.instruction(info);
        let own = &info.execution.part;
        let (lookup, paths) = analysis.declared();
        let does = instruction.role.declared().filter(|id| lookup.instruction(id).is_some());
        let does = does.map(|id| PartRef { instruction: id.clone(), part: own.part });
        let Some(does) = does else {
            let mut instance = Vec::new();
            for iname in &info.inames {
                instance.push((iname.clone(), analysis.canonical(&Aff::var(iname))?));
            }
            return Ok(End {
                part: own.clone(),
                writes,
                name: own.to_string(),
                instance,
                domain: Some(Vec::new()),
                declared_time: None,
            });
        };
        let value = |iname: &Name| {
            let value = instruction.map.get(iname).cloned().unwrap_or_else(|| Aff::var(iname));
            analysis.canonical(&value)
        };
        let mut instance = Vec::new();
        let inames = lookup.part_inames(&does);
        for iname in &inames {
            instance.push((iname.clone(), value(iname)?));
        }
        let guarded = analysis.guarded(part);
        let mut domain = data_ranges(analysis.kernel, &guarded.loads)?;
        for c in lookup.instances(&inames) {
            let c = lookup.expand_constraint(&c)?;
            let of = |n: &Name| instance.iter().find(|(iname, _)| iname == n).map(|(_, v)| v.clone());
            domain.push(c.substitute(&of)?);
        }
        // A scalar of the declared kernel means the same here only if it is read from the same
        // data.
        let is_told = |n: &Name| lookup.array(n).is_none() || guarded.loads.iter().any(|l| l.name == *n);
        let is_told = domain.iter().all(|c| c.names().iter().all(is_told));
        let path = paths.get(&does).filter(|_| lookup.array(array).is_some());
        let mut declared_time = None;
        if let Some(path) = path {
            let mut time = Vec::with_capacity(path.len());
            for step in path {
                time.push(match step {
                    Step::Position(k) => Aff::constant(i64::try_from(*k).unwrap_or(i64::MAX)),
                    Step::Loop(iname) => match instance.iter().find(|(n, _)| n == *iname) {
                        Some((_, value)) => value.clone(),
                        None => value(iname)?,
                    },
                });
            }
            declared_time = Some(time);
        }
        let name = match does.part {
            Part::Whole | Part::Finish => does.instruction.to_string(),
            _ => does.to_string(),
        };
        let domain = is_told.then_some(domain);
        Ok(End { part: own.clone(), writes, name, instance, domain, declared_time })
    }
}
