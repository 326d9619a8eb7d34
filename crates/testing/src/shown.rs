//! Whether the instances that a refusal by lowering shows are declared ones, at the sizes that it
//! names.
//!
//! A witness is a sentence: `update[i=0, k=1] reads a[0] before update[i=1, k=0] writes it (as
//! declared, n=2)`. Names with values in brackets are declared instances, other values those of
//! parameters. Executions of the transformed kernel are written `load (i_outer = 0, j = 1)`.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Arg, Diagnostic, Expr, Fact, Lookup, LoopKernel, Name};
use loopwright_legality::Model;

use crate::{
    brute::{self, Instance, Sizes, Stop},
    check::Failure,
    data,
};

/// The instances of a witness and the values of parameters in it.
pub fn read(witness: &str) -> (Vec<Instance>, Sizes) {
    let (mut instances, mut sizes) = (Vec::new(), Sizes::new());
    let pairs = |text: &str| -> Option<Vec<(Name, i64)>> {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=')?;
            Some((Name::new(name.trim()), value.trim().parse().ok()?))
        };
        text.split(',').map(pair).collect()
    };
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '\'';
    let mut outside = String::new();
    let mut rest = witness;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, behind) = after.split_once(']').unwrap_or((after, ""));
        outside.push_str(before);
        if let Some(mut point) = pairs(inside) {
            let from = before.rfind(|c| !is_of_name(c)).map_or(0, |at| at + 1);
            let part = &before[from..];
            point.sort();
            // A part of a reduction is an instance over the inames that it has.
            let instruction = Name::new(part.split('.').next().unwrap_or(part));
            instances.push(Instance { instruction, point });
        }
        rest = behind;
    }
    outside.push_str(rest);
    for word in outside.split(|c: char| c.is_whitespace() || "(),;".contains(c)) {
        if let Some((name, value)) = word.split_once('=')
            && let Ok(value) = value.parse()
        {
            sizes.insert(Name::new(name), value);
        }
    }
    (instances, sizes)
}

/// The executions of the transformed kernel in a witness, and the values of parameters.
fn read_executions(kernel: &LoopKernel, witness: &str) -> (Vec<Instance>, Sizes) {
    let pair = |part: &str| -> Option<(Name, i64)> {
        let (name, value) = part.split_once(" = ")?;
        let name = name.trim().rsplit(' ').next().unwrap_or(name);
        Some((Name::new(name), value.trim().parse().ok()?))
    };
    let (mut executions, mut outside) = (Vec::new(), String::new());
    let mut rest = witness;
    while let Some((before, after)) = rest.split_once('(') {
        let (inside, behind) = after.split_once(')').unwrap_or((after, ""));
        outside.push_str(before);
        if let Some(point) = inside.split(", ").map(pair).collect::<Option<Vec<_>>>()
            && point.iter().all(|(n, _)| kernel.is_iname(n))
        {
            executions.push(Instance { instruction: Name::new(""), point });
        }
        rest = behind;
    }
    outside.push_str(rest);
    let sizes = outside.split(", ").filter_map(pair).collect();
    (executions, sizes)
}

/// Values of the parameters that a witness does not name, so that the assumptions hold.
fn completed(kernel: &LoopKernel, named: &Sizes) -> Option<Sizes> {
    let is_integer = |a: &&Arg| match a {
        Arg::Scalar(s) => s.dtype.known().is_some_and(|t| t.is_integer()),
        Arg::Array(_) => false,
    };
    let others: Vec<&Name> =
        kernel.args.iter().filter(is_integer).map(Arg::name).filter(|n| !named.contains_key(*n)).collect();
    let holds =
        |sizes: &Sizes| kernel.assumptions.iter().all(|c| c.holds(&|n| sizes.get(n).copied()) != Some(false));
    [1, 2, 4, 8, 16, 0, 3, 32].into_iter().find_map(|value| {
        let mut sizes = named.clone();
        sizes.extend(others.iter().map(|n| ((*n).clone(), value)));
        holds(&sizes).then_some(sizes)
    })
}

/// Compares the witness of a refusal with a run of the declared kernel. Where data decide what
/// runs, all data of few elements are tried. Returns whether there was a run: not where there is no
/// witness of this kind, or too many data.
///
/// Errors: an instance that the declared kernel does not have at these sizes, or sizes that the
/// assumptions exclude.
pub fn check(kernel: &LoopKernel, refusal: &Diagnostic) -> Result<bool, Failure> {
    let Some(witness) = &refusal.witness else { return Ok(false) };
    let (mut instances, mut sizes) = read(witness);
    let declared = kernel.declared();
    instances.retain(|i| declared.instruction(&i.instruction).is_some());
    let (executions, more) = read_executions(kernel, witness);
    if instances.is_empty() {
        sizes = more;
    }
    if instances.is_empty() && executions.is_empty() {
        return Ok(false);
    }
    if let Ok(model) = Model::new(kernel) {
        sizes.extend(model.fixed());
    }
    let failure = |kind, text: String| Err(Failure { kind, text: format!("{text}: {refusal}") });
    let Some(sizes) = completed(kernel, &sizes) else {
        return failure("sizes", format!("the assumptions do not hold for {sizes:?}"));
    };
    if instances.is_empty() {
        return match run_for_some_data(kernel, &sizes, &executions) {
            Some(false) => failure("outside", format!("no data make all executions run at {sizes:?}")),
            found => Ok(found.is_some()),
        };
    }
    match brute::run(declared, &sizes) {
        Ok(run) => match instances.iter().find(|i| !run.ran.contains(i)) {
            Some(i) => {
                failure("outside", format!("{}{:?} is not declared at {sizes:?}", i.instruction, i.point))
            }
            None => Ok(true),
        },
        Err(Stop::Data) => match run_for_some_data(declared, &sizes, &instances) {
            Some(false) => failure("outside", format!("no data make all instances run at {sizes:?}")),
            found => Ok(found.is_some()),
        },
        Err(_) => Ok(false),
    }
}

/// Elements of arrays, by name.
type Data = BTreeMap<Name, Vec<i64>>;

/// The most arrays of data that are tried.
const MOST_DATA: usize = 100_000;

/// All contents of the integer arrays of which a range is declared, as far as the other facts allow
/// them; `None` if there are too many.
fn all_data(kernel: &LoopKernel, sizes: &Sizes) -> Option<Vec<Data>> {
    let mut all = vec![Data::new()];
    for fact in &kernel.facts {
        let Fact::Range { array, lower: Some(lower), upper: Some(upper) } = fact else { continue };
        let length = data::length(kernel.array(array)?, sizes)?;
        let values = data::evaluate(lower, sizes)?..data::evaluate(upper, sizes)?;
        let is = |wanted: Fact| kernel.facts.contains(&wanted);
        let (monotone, injective) = (is(Fact::Monotone(array.clone())), is(Fact::Injective(array.clone())));
        let mut lists = vec![Vec::new()];
        for _ in 0..length {
            let fits = |list: &Vec<i64>, v: i64| {
                (!monotone || list.last().is_none_or(|last| *last <= v)) && !(injective && list.contains(&v))
            };
            let longer = |list: &Vec<i64>| -> Vec<Vec<i64>> {
                let more = values.clone().filter(|v| fits(list, *v));
                more.map(|v| [&list[..], &[v]].concat()).collect()
            };
            lists = lists.iter().flat_map(longer).collect();
            if lists.len() * all.len() > MOST_DATA {
                return None;
            }
        }
        let with = |data: &Data, list: &Vec<i64>| {
            let mut data = data.clone();
            data.insert(array.clone(), list.clone());
            data
        };
        all = all.iter().flat_map(|data| lists.iter().map(|list| with(data, list))).collect();
    }
    Some(all)
}

/// Whether the domain of an instance holds it, where scalars are elements of these arrays.
fn runs(lookup: &Lookup<'_>, sizes: &Sizes, data: &Data, instance: &Instance) -> Option<bool> {
    let point: Sizes = instance.point.iter().cloned().chain(sizes.clone()).collect();
    let loaded = |scalar: &Name| -> Option<i64> {
        let mut all = lookup.kernel().instructions.iter();
        let Expr::Subscript(access) = &all.find(|i| i.targets.iter().any(|t| t.array == *scalar))?.value
        else {
            return None;
        };
        let [index] = access.index.as_slice() else { return None };
        let index = index.to_aff()?.eval(&|n| point.get(n).copied())?;
        data.get(&access.array)?.get(usize::try_from(index).ok()?).copied()
    };
    let value = |n: &Name| point.get(n).copied().or_else(|| loaded(n));
    let inames: Vec<Name> = instance.point.iter().map(|(n, _)| n.clone()).collect();
    let rows = lookup.instances(&inames).into_iter();
    rows.map(|c| lookup.expand_constraint(&c).ok()?.holds(&value))
        .collect::<Option<Vec<bool>>>()
        .map(|all| all.into_iter().all(|holds| holds))
}

/// Whether there are data with which all instances run; `None` if that is not found out.
fn run_for_some_data(kernel: &LoopKernel, sizes: &Sizes, instances: &[Instance]) -> Option<bool> {
    let lookup = Lookup::new(kernel);
    let all_run = |data: &Data| -> Option<bool> {
        let each = instances.iter().map(|i| runs(&lookup, sizes, data, i)).collect::<Option<Vec<_>>>()?;
        Some(each.into_iter().all(|runs| runs))
    };
    // Where no data count, none are needed.
    if let Some(found) = all_run(&Data::new()) {
        return Some(found);
    }
    for data in all_data(kernel, sizes)? {
        if all_run(&data)? {
            return Some(true);
        }
    }
    Some(false)
}
