//! `auto()` in the texts of pipelines, with searches: what the command line and Python read.
//!
//! A step does not know the arguments of the launch that its kernel is meant for. A search in a text
//! therefore counts at sizes of its own ([`sample`]): small ones, the same in every run. Where times
//! depend on sizes, `loopwright auto --search N --set ...` counts at those that it is given.

use std::collections::BTreeMap;

use loopwright_auto::Cost;
use loopwright_kernel_ir::{Arg, DType, Diagnostic, Fact, LoopKernel, Name};
use loopwright_runtime::{Args, Tensor, expected_arrays, fact_range};
use loopwright_transforms::Registry;
use loopwright_tuner::{Machine, estimate, points};

/// The steps of [`auto`](crate::auto) for pipelines in text form: `auto()`, `auto(search=16)` and
/// `auto(search=1s)`, which decide by the static cost on an H200.
///
/// ```
/// use loopwright::prelude::*;
///
/// let kernel = LoopKernel::parse("\
/// kernel scale(x: f32[n], y: f32[n], n: i32)
/// assume 0 <= n
/// domain { [i] : 0 <= i < n }
/// y[i] = 2*x[i] {id=scale}
/// ")?;
/// let pipeline = Pipeline::parse_with("auto(search=4)", &loopwright::automatic::registry())?;
/// assert!(!pipeline.apply(&kernel)?.tags.is_empty());
/// # Ok::<(), loopwright::Error>(())
/// ```
pub fn registry() -> Registry {
    registry_telling(|_| {})
}

/// As [`registry`]; a search that the clock cuts short is told of. Explanations of the pipeline say
/// so too.
pub fn registry_telling(tell: impl Fn(&str) + Send + Sync + 'static) -> Registry {
    crate::auto::registry_with(static_cost, tell)
}

/// The estimated time on an H200, at the sizes of [`sample`].
fn static_cost(kernel: &LoopKernel) -> Result<Cost, Diagnostic> {
    let (args, machine) = (sample(kernel)?, Machine::h200());
    Ok(Box::new(move |kernel| Some(estimate(kernel, &args, &machine).ok()?.estimate_ms)))
}

/// The most points, and the most elements of arrays, of a sample.
const MOST: f64 = (1 << 20) as f64;

/// Arguments to count a kernel with where none are given: random arrays within their declared facts,
/// integers of the largest power of two up to 1024 for which all assumptions hold and neither points
/// nor elements are more than 2^20. An integer for which an assumption does not hold then gets the
/// nearest power of two for which it does.
///
/// Errors: that there are no such integers; an open type.
pub fn sample(kernel: &LoopKernel) -> Result<Args, Diagnostic> {
    let declared = kernel.declared();
    let names: Vec<Name> = declared.args.iter().filter_map(integer).collect();
    let fits = |values: &BTreeMap<Name, i64>| {
        let value = |n: &Name| values.get(n).copied();
        let elements = declared.args.iter().map(|arg| match arg {
            Arg::Array(a) => {
                a.axes.iter().map(|x| Some(x.length.to_aff()?.eval(&value)? as f64)).product::<Option<f64>>()
            }
            Arg::Scalar(_) => Some(0.0),
        });
        let elements = elements.sum::<Option<f64>>().unwrap_or(0.0);
        elements <= MOST && points(declared, values).unwrap_or(0.0) <= MOST
    };
    for usual in (0..=10).rev().map(|k| 1i64 << k) {
        let mut values = BTreeMap::new();
        if choose(kernel, &names, usual, &mut values) && fits(&values) {
            return arguments(kernel, &values);
        }
    }
    let message = format!("no small sizes are known for which the assumptions of `{}` hold", declared.name);
    Err(Diagnostic::new("search-sample", message)
        .help("search with arguments: `loopwright auto KERNEL --search 16 --set n=1000`"))
}

/// The name of an integer argument.
fn integer(arg: &Arg) -> Option<Name> {
    match arg {
        Arg::Scalar(s) if s.dtype.known().is_some_and(|t| t.is_integer()) => Some(s.name.clone()),
        _ => None,
    }
}

/// Gives the names values, in their order, for which no assumption is wrong.
fn choose(kernel: &LoopKernel, names: &[Name], usual: i64, values: &mut BTreeMap<Name, i64>) -> bool {
    let Some((first, rest)) = names.split_first() else { return true };
    let nearest = (0..=10).flat_map(|k| [usual << k, usual >> k]).filter(|v| *v > 0);
    for value in nearest {
        values.insert(first.clone(), value);
        let known = |n: &Name| values.get(n).copied();
        let holds = kernel.assumptions.iter().all(|c| c.holds(&known) != Some(false));
        if holds && choose(kernel, rest, usual, values) {
            return true;
        }
    }
    values.remove(first);
    false
}

/// The arguments of a sample with these integers.
fn arguments(kernel: &LoopKernel, values: &BTreeMap<Name, i64>) -> Result<Args, Diagnostic> {
    let mut args = Args::new();
    for arg in kernel.declared().args.iter().filter(|arg| matches!(arg, Arg::Scalar(_))) {
        args = match values.get(arg.name()) {
            Some(value) => args.scalar(arg.name().clone(), *value),
            None => args.scalar(arg.name().clone(), 1.5),
        };
    }
    for (name, (dtype, shape)) in expected_arrays(kernel, &args)? {
        let tensor = random_array(kernel, &args, &name, dtype, &shape, 0)?;
        args = args.tensor(name, &tensor);
    }
    Ok(args)
}

/// A random array that satisfies the declared facts about it; the same for the same seed.
pub fn random_array(
    kernel: &LoopKernel,
    args: &Args,
    name: &str,
    dtype: DType,
    shape: &[usize],
    seed: u64,
) -> Result<Tensor, Diagnostic> {
    let seed = name.bytes().fold(seed, |s, b| s.wrapping_mul(31).wrapping_add(b.into()));
    let facts: Vec<&Fact> = kernel.facts.iter().filter(|f| **f.array() == *name).collect();
    if facts.is_empty() {
        return Tensor::random(shape, dtype, seed);
    }
    let bounds = fact_range(kernel, args, name)?;
    let raw = Tensor::random(&[shape.iter().product()], DType::U64, seed)?;
    let (low, high) = (bounds.0.unwrap_or(0), bounds.1.unwrap_or(8));
    let mut values: Vec<i64> = raw
        .to_vec::<u64>()?
        .iter()
        .scan(seed, |state, v| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1 + v);
            Some(low.saturating_add(((*state >> 33) as i64) % high.saturating_sub(low).max(1)))
        })
        .collect();
    if facts.iter().any(|f| matches!(f, Fact::Injective(_))) {
        // A permutation of the first values, by a stable sort of random keys.
        let mut order: Vec<i64> = (0..values.len() as i64).collect();
        order.sort_by_key(|k| values[*k as usize]);
        values = order.into_iter().map(|k| low.saturating_add(k)).collect();
    }
    if facts.iter().any(|f| matches!(f, Fact::Monotone(_))) {
        values.sort_unstable();
    }
    Ok(Tensor::from_vec(shape, values)?.cast(dtype))
}
