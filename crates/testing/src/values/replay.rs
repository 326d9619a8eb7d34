//! What the replay of legality says of values, against the evaluator: its numbers are the page's,
//! and what it takes for equal is.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use loopwright_kernel_ir::{DType, Expr, LoopKernel, MATH_FUNCTIONS, Name, Number, Part};
use loopwright_legality::{Data, Instance, Model, Parameters, Run, Stop as NoRun, Value, replay};

use super::{
    compare::needed,
    data::{self, Arguments},
    evaluate,
    generate::EXACT,
    kernel::{Kernel, POSITIONS, Statement, Target},
};

/// Statistics of a kernel's replays.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Replayed {
    pub values: usize,
    /// Values that are numbers, whatever the data.
    pub numbers: usize,
    /// Values that are the same as one before.
    pub equal: usize,
    /// Predicates that decide which instances run.
    pub predicates: usize,
    /// Why there was no replay.
    pub left_out: Vec<String>,
}

/// Replays a kernel once for unknown scalars, and once for those of each of these seeds.
///
/// Errors: a disagreement.
pub fn check(kernel: &Kernel, seeds: &[u64]) -> Result<Replayed, String> {
    let mut found = Replayed::default();
    let bare = without_predicates(kernel);
    let Ok(parsed) = LoopKernel::parse(&bare.to_string()) else {
        found.left_out.push("no kernel without predicates".into());
        return Ok(found);
    };
    let results: Vec<Results> = seeds.iter().map(|seed| Results::new(&bare, &parsed, *seed)).collect();
    let sizes = |name: &Name| matches!(name.as_str(), "n" | "m");
    held(&bare, &parsed, &results, &sizes, &mut found)?;
    for (one, seed) in results.iter().zip(seeds) {
        held(&bare, &parsed, std::slice::from_ref(one), &|_| true, &mut found)?;
        for k in (0..kernel.statements.len()).filter(|k| kernel.statements[*k].predicate.is_some()) {
            predicate(&kernel.with(&needed(kernel, k)), *seed, &mut found)?;
        }
    }
    Ok(found)
}

/// The kernel with its statements and the values of its predicates, each assigned without a
/// condition.
fn without_predicates(kernel: &Kernel) -> Kernel {
    let mut bare = kernel.clone();
    bare.statements.clear();
    for (k, s) in kernel.statements.iter().enumerate() {
        let mut own = Statement { predicate: None, update: None, ..s.clone() };
        if let (Some(_), Target::Array(_, t)) = (&s.update, &s.target) {
            // The value by which it updates.
            own.target = Target::Array(Name::new(format!("by_{k}")), *t);
        }
        bare.statements.push(own);
        if let Some(p) = &s.predicate {
            let target = Target::Array(Name::new(format!("holds_{k}")), DType::Bool);
            bare.statements.push(Statement::new(target, p.clone()));
        }
    }
    bare
}

/// What the evaluator says of a kernel.
struct Results {
    arguments: Arguments,
    arrays: BTreeMap<Name, loopwright_kernel_ir::Buffer>,
    /// The statements that have values everywhere.
    going: Vec<bool>,
}

impl Results {
    fn new(kernel: &Kernel, parsed: &LoopKernel, seed: u64) -> Results {
        let arguments = data::arguments(kernel, seed);
        let (arrays, stops) = evaluate::run(kernel, parsed, &arguments.arrays, &arguments.scalars);
        let going = (0..stops.len()).map(|k| needed(kernel, k).iter().all(|n| stops[*n].is_none())).collect();
        Results { arguments, arrays, going }
    }

    /// The value of a statement that has an array as its target.
    fn value(&self, s: &Statement, k: usize, position: usize) -> Option<Number> {
        match &s.target {
            Target::Array(name, _) if self.going[k] => self.arrays.get(name)?.get(position),
            _ => None,
        }
    }
}

/// The integers of scalars. Proofs assume of those of 64 bits that they are below 2^61.
fn parameters(arguments: &Arguments, known: &dyn Fn(&Name) -> bool) -> Parameters {
    let integers = arguments.scalars.iter().filter(|(name, v)| known(name) && v.dtype().is_integer());
    integers
        .filter_map(|(name, v)| Some((name.clone(), v.as_i64().filter(|v| v.unsigned_abs() < 1 << 61)?)))
        .collect()
}

/// The declared instances of a statement, by position.
fn instances<'a>(
    kernel: &'a Kernel,
    parsed: &'a LoopKernel,
    k: usize,
) -> impl Iterator<Item = (usize, Instance)> + 'a {
    let said = &parsed.instructions[k];
    let part = if said.reductions().is_empty() { Part::Whole } else { Part::Finish };
    let Expr::Int(first) = kernel.around.lower else { panic!("the loop starts at a literal") };
    (0..POSITIONS).map(move |p| {
        let point = vec![(kernel.around.name.clone(), first + p)];
        (p as usize, Instance { instruction: said.id.clone(), part, point })
    })
}

fn run(parsed: &LoopKernel, parameters: &Parameters) -> Result<Result<Run, NoRun>, String> {
    let model = Model::new(parsed).map_err(|d| d.to_string())?;
    match replay(&model, parameters, Data::Unknown, None) {
        Ok(Ok(run)) => Ok(Ok(run)),
        Ok(Err(failure)) => Err(format!("the declared kernel fails: {failure:?}")),
        Err(stop) => Ok(Err(stop)),
    }
}

/// Holds the values of a kernel without predicates to those for several arguments that agree in
/// what is known.
fn held(
    kernel: &Kernel,
    parsed: &LoopKernel,
    results: &[Results],
    known: &dyn Fn(&Name) -> bool,
    found: &mut Replayed,
) -> Result<(), String> {
    let known = parameters(&results[0].arguments, known);
    let run = match run(parsed, &known)? {
        Ok(run) => run,
        Err(stop) => {
            found.left_out.push(format!("replay: {stop}"));
            return Ok(());
        }
    };
    let free = free(kernel, parsed, &known);
    let mut seen: HashMap<Value, (usize, usize)> = HashMap::new();
    for (k, s) in kernel.statements.iter().enumerate() {
        for (position, who) in instances(kernel, parsed, k) {
            let value = run.value(&who).ok_or_else(|| format!("`{who}` is not replayed"))?;
            let place = |k: usize| format!("`{}`", kernel.statements[k].value);
            let mut wanted = results.iter().map(|r| r.value(s, k, position));
            match value.number() {
                _ if wanted.clone().all(|v| v.is_none()) => {}
                Some(number) => {
                    found.values += 1;
                    found.numbers += 1;
                    if let Some(other) = wanted.flatten().find(|v| Value::of(*v) != value) {
                        return Err(format!(
                            "{} is {number:?} for any data in {who}, not {other:?}",
                            place(k)
                        ));
                    }
                }
                None if free.contains(&k) && wanted.all(|v| v.is_some()) => {
                    return Err(format!("{} is not known in {who}, though it reads no data", place(k)));
                }
                None => {
                    found.values += 1;
                    let (other, at) = *seen.entry(value).or_insert((k, position));
                    found.equal += usize::from((other, at) != (k, position));
                    for r in results {
                        let both = (r.value(s, k, position), r.value(&kernel.statements[other], other, at));
                        let (Some(a), Some(b)) = both else { continue };
                        if Value::of(a) != Value::of(b) {
                            return Err(format!(
                                "{} in {who} counts as the same as {} at position {at}: {a:?}, {b:?}",
                                place(k),
                                place(other)
                            ));
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// The statements whose values depend on known scalars and inames alone, by operations that have
/// one result. Reductions are not among them.
fn free(kernel: &Kernel, parsed: &LoopKernel, known: &Parameters) -> BTreeSet<usize> {
    let mut names: BTreeSet<Name> = known.keys().cloned().collect();
    names.insert(kernel.around.name.clone());
    let mut found = BTreeSet::new();
    for (k, (s, said)) in kernel.statements.iter().zip(&parsed.instructions).enumerate() {
        let mut free = !s.inexact;
        said.value.visit(&mut |e| {
            free &= match e {
                Expr::Name(name) => names.contains(name),
                Expr::Subscript(_) | Expr::Reduce(_) => false,
                Expr::Call { function, .. } => {
                    EXACT.contains(&function.as_str())
                        || MATH_FUNCTIONS.iter().any(|f| f.name == function.as_str() && f.integers)
                        || ["isnan", "isinf", "isfinite"].contains(&function.as_str())
                }
                _ => true,
            }
        });
        if free {
            found.insert(k);
            if let Target::Temporary(name, _) = &s.target {
                names.insert(name.clone());
            }
        }
    }
    found
}

/// Where a predicate decides which instances run, those of the page do.
fn predicate(kernel: &Kernel, seed: u64, found: &mut Replayed) -> Result<(), String> {
    let Ok(parsed) = LoopKernel::parse(&kernel.to_string()) else { return Ok(()) };
    let bare = without_predicates(kernel);
    let arguments = data::arguments(&bare, seed);
    let known = parameters(&arguments, &|_| true);
    let Ok(run) = run(&parsed, &known)? else { return Ok(()) };
    let Ok(parsed_bare) = LoopKernel::parse(&bare.to_string()) else { return Ok(()) };
    let (arrays, stops) = evaluate::run(&bare, &parsed_bare, &arguments.arrays, &arguments.scalars);
    let (last, holds) = (kernel.statements.len() - 1, bare.statements.len() - 1);
    let Target::Array(name, _) = &bare.statements[holds].target else { return Ok(()) };
    if stops[holds].is_some() {
        return Ok(());
    }
    found.predicates += 1;
    for (position, who) in instances(kernel, &parsed, last) {
        let (runs, wanted) = (run.value(&who).is_some(), arrays[name].get(position));
        if wanted != Some(Number::Bool(runs)) {
            return Err(format!(
                "`{who}` {}, not as its predicate says",
                if runs { "runs" } else { "does not run" }
            ));
        }
    }
    Ok(())
}
