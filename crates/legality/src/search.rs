//! Searches for parameter values for which a transformed kernel goes wrong, smallest first.

use std::collections::{BTreeMap, btree_map::Entry};

use loopwright_kernel_ir::{Constraint, LoopKernel, Name};

use crate::{
    Model,
    replay::{Data, Failure, Parameters, Run, Stop, replay},
    witness::Witness,
};

/// The result of a search.
#[derive(Clone, Debug)]
pub enum Search {
    /// A run went wrong, as the witness shows.
    Wrong(Box<Witness>),
    /// No run went wrong, which proves nothing about sizes that were not run.
    Clean {
        /// Number of choices of parameter values that were run.
        tried: usize,
        /// Whether some reads saw other definitions without changing an output.
        harmless: bool,
    },
    /// The kernel cannot be run.
    Stopped(Stop),
}

/// Maximum number of choices that are tried.
const TRIES: usize = 160;

/// Sizes that are tried, equal for all parameters, after all small choices.
const SIZES: [i64; 8] = [5, 6, 8, 9, 17, 33, 65, 130];

/// The parameters that bounds and subscripts mention.
fn parameters(model: &Model<'_>) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    let mut add = |names: std::collections::BTreeSet<Name>| {
        for n in names {
            if model.is_parameter(&n) && !found.contains(&n) {
                found.push(n);
            }
        }
    };
    for part in &model.parts {
        part.constraints.iter().for_each(|c| add(c.names()));
        part.events.iter().flat_map(|e| &e.cell).flatten().for_each(|a| add(a.names()));
        part.events.iter().flat_map(|e| &e.under).for_each(|c| add(c.names()));
    }
    // Parameters mentioned only in assumptions need a choice if the assumptions do not hold for
    // one.
    for c in &model.kernel.assumptions {
        let apart = c.names().iter().all(|n| !found.contains(n));
        if !apart || c.holds(&|_| Some(1)) != Some(true) {
            found.extend(c.names().into_iter().filter(|n| model.is_parameter(n)));
        }
    }
    found.sort();
    found.dedup();
    found
}

fn allowed(context: &[Constraint], values: &Parameters) -> bool {
    context.iter().all(|c| c.holds(&|n| Some(values.get(n).copied().unwrap_or(1))) == Some(true))
}

/// All choices with values up to a limit, by increasing sum.
fn small(names: &[Name]) -> Vec<Parameters> {
    let most = match names.len() {
        0 | 1 => 10,
        2 => 5,
        3 => 3,
        _ => 2,
    };
    let mut all: Vec<Vec<i64>> = vec![Vec::new()];
    for _ in names {
        all = all.into_iter().flat_map(|v| (0..=most).map(move |x| [v.clone(), vec![x]].concat())).collect();
        if all.len() > 4096 {
            break;
        }
    }
    all.sort_by_key(|v| (v.iter().sum::<i64>(), v.clone()));
    all.into_iter().map(|v| names.iter().cloned().zip(v).collect()).collect()
}

/// The number of draws of the data in which a difference is looked for.
const DRAWS: u64 = 8;

/// The run of a declared kernel.
fn declared_run(declared: &Model<'_>, values: &Parameters, data: Data) -> Result<Run, Stop> {
    replay(declared, values, data, None)?
        .map_err(|_| Stop::Other("the declared kernel is not sequential".into()))
}

/// Whether numbers show that a run goes wrong; also where there is no run with numbers.
///
/// Threads that touch a cell at the same time conflict whatever they leave there.
fn is_shown(declared: &Model<'_>, after: &Model<'_>, values: &Parameters, failure: &Failure) -> bool {
    if matches!(failure, Failure::Race { .. }) {
        return true;
    }
    let differs = |data: Data| {
        let expected = declared_run(declared, values, data)?;
        Ok::<bool, Stop>(replay(after, values, data, Some(&expected))?.is_err())
    };
    (0..DRAWS).any(|seed| differs(Data::Drawn(seed)).unwrap_or(true))
}

struct Trial<'a, 'd, 'k> {
    declared: &'a Model<'d>,
    after: &'a Model<'k>,
}

impl Trial<'_, '_, '_> {
    /// The failure; otherwise whether some reads saw other definitions without changing an output.
    fn run(&self, values: &Parameters) -> Result<Result<bool, Failure>, Stop> {
        let expected = declared_run(self.declared, values, Data::Unknown)?;
        Ok(match replay(self.after, values, Data::Unknown, Some(&expected))? {
            Ok(run) => Ok(run.harmless),
            Err(failure) if is_shown(self.declared, self.after, values, &failure) => Err(failure),
            Err(_) => Ok(true),
        })
    }
}

/// Replays a kernel for small parameter values, and for the values that a query has found.
pub fn search(declared: &Model<'_>, after: &Model<'_>, found: Option<&BTreeMap<Name, i64>>) -> Search {
    let fixed = after.fixed();
    let mut names = parameters(after);
    names.extend(parameters(declared).into_iter().filter(|n| !names.contains(n)).collect::<Vec<_>>());
    names.retain(|n| !fixed.contains_key(n));
    let context = &after.context;
    let trial = Trial { declared, after };
    let with_fixed = |mut v: Parameters| {
        v.extend(fixed.clone());
        v
    };
    let mut choices: Vec<Parameters> =
        small(&names).into_iter().map(with_fixed).filter(|v| allowed(context, v)).collect();
    choices.truncate(TRIES);
    let hint: Option<Parameters> = found
        .map(|f| with_fixed(names.iter().map(|n| (n.clone(), f.get(n).copied().unwrap_or(1))).collect()));
    choices.extend(hint.filter(|v| allowed(context, v)));
    for size in SIZES {
        let values = with_fixed(names.iter().map(|n| (n.clone(), size)).collect());
        if allowed(context, &values) && !choices.contains(&values) {
            choices.push(values);
        }
    }
    let (mut clean, mut stopped, mut harmless) = (0, None, false);
    for values in &choices {
        match trial.run(values) {
            Ok(Ok(changes)) => {
                clean += 1;
                harmless |= changes;
            }
            Ok(Err(failure)) => return Search::Wrong(Box::new(minimise(&trial, values, failure, context))),
            Err(Stop::Large) if clean > 0 => break,
            Err(stop @ (Stop::Data(_) | Stop::Unbounded(_) | Stop::Other(_))) => {
                return Search::Stopped(stop);
            }
            Err(stop) => stopped = Some(stop),
        }
    }
    match (clean, stopped) {
        (0, Some(stop)) => Search::Stopped(stop),
        _ => Search::Clean { tried: clean, harmless },
    }
}

/// Reduces the values one after another while the run still goes wrong.
fn minimise(
    trial: &Trial<'_, '_, '_>,
    values: &Parameters,
    failure: Failure,
    context: &[Constraint],
) -> Witness {
    let (mut values, mut failure) = (values.clone(), failure);
    for name in values.keys().cloned().collect::<Vec<_>>() {
        for _ in 0..300 {
            let mut less = values.clone();
            let Some(v) = less.get_mut(&name) else { break };
            *v -= 1;
            if *v < 0 || !allowed(context, &less) {
                break;
            }
            match trial.run(&less) {
                Ok(Err(f)) => (values, failure) = (less, f),
                _ => break,
            }
        }
    }
    Witness::new(trial.after.kernel, failure, values)
}

/// Whether a transformed kernel agrees with its declared one for these parameter values: the first
/// failure, or `None`.
///
/// Errors: the run depends on data, or is too large.
pub fn agrees(kernel: &LoopKernel, values: &Parameters) -> Result<Option<Failure>, Stop> {
    Replays::default().agrees(kernel, values)
}

/// Runs of a declared kernel, kept for the next transformed one.
#[derive(Default)]
pub struct Replays {
    declared: Option<LoopKernel>,
    runs: BTreeMap<Parameters, Run>,
}

impl Replays {
    /// As [`agrees`]. Kernels of one declared kernel after another share its runs.
    pub fn agrees(&mut self, kernel: &LoopKernel, values: &Parameters) -> Result<Option<Failure>, Stop> {
        if self.declared.as_ref() != Some(kernel.declared()) {
            *self = Replays { declared: Some(kernel.declared().clone()), runs: BTreeMap::new() };
        }
        let run = match self.runs.entry(values.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(declared_run(&Model::new(kernel.declared())?, values, Data::Unknown)?)
            }
        };
        Ok(replay(&Model::new(kernel)?, values, Data::Unknown, Some(run))?.err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that writes this cell in each of so many iterations, and a form of it that runs
    /// them as blocks.
    fn kernels(iterations: &str, cell: &str) -> [LoopKernel; 2] {
        let head = format!(
            "kernel k(x: f32[{iterations}], y: f32[{iterations} + 7], m: i32, n: i32)\nassume 0 <= m and \
             1 <= n\ndomain {{ [i] : 0 <= i < {iterations} }}\n"
        );
        let declared = format!("{head}y[{cell}] = x[i] {{id=put, inames=i}}\n");
        let tagged = format!(
            "{head}tag i: block.x\ny[{cell}] = x[i] {{id=put, inames=i}}\ntree {{\nput\n}}\ndeclared \
             {{\n{declared}}}\n"
        );
        [declared, tagged].map(|text| LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}")))
    }

    /// Each value of a witness is the least with which it is one, 0 included.
    #[test]
    fn a_witness_has_the_least_values() {
        let [before, after] = kernels("n + m", "i % 7");
        let (declared, after) = (Model::new(&before).unwrap(), Model::new(&after).unwrap());
        let trial = Trial { declared: &declared, after: &after };
        let values: Parameters = [("m".into(), 3), ("n".into(), 9)].into();
        let failure = trial.run(&values).unwrap().unwrap_err();
        let witness = minimise(&trial, &values, failure, &after.context);
        assert_eq!(witness.parameters, [("m".into(), 0), ("n".into(), 8)].into());
    }

    /// Of a kernel that is too large to be run, nothing has been tried.
    #[test]
    fn a_search_without_a_run_says_why() {
        let [before, after] = kernels("100000", "i");
        let (declared, after) = (Model::new(&before).unwrap(), Model::new(&after).unwrap());
        let found = search(&declared, &after, None);
        assert!(matches!(found, Search::Stopped(Stop::Large)), "{found:?}");
    }
}
