//! `auto()` in the texts of pipelines, with searches: what the command line and Python read.
//!
//! A step does not know the arguments of the launch that its kernel is meant for. A search in a
//! text therefore counts at sizes of its own ([`sample`]): small ones, the same in every run. At
//! such sizes launches and idle multiprocessors would decide, so counts are scaled to a large
//! problem ([`problem`]). Where times depend on sizes, `loopwright auto --search N --set ...`
//! counts at those that it is given.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_auto::{Cost, Launch};
use loopwright_kernel_ir::{Arg, DType, Diagnostic, Fact, LoopKernel, Name};
use loopwright_runtime::{Args, Tensor, cuda::DeviceInfo, expected_arrays, fact_range};
use loopwright_transforms::Registry;
use loopwright_tuner::{Machine, estimate_at, points};

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

/// A launch of unknown sizes on a device with these figures and limits, which need not be present.
pub fn launch_on(machine: &Machine, limits: &DeviceInfo) -> Launch {
    Launch {
        multiprocessors: machine.multiprocessors.max(1),
        resident_threads: limits.max_threads_per_multiprocessor.max(1),
        in_flight: (machine.bandwidth * machine.latency) as u64,
        cache: machine.l2_bytes as u64,
        shared: limits.shared_per_multiprocessor.into(),
        architecture: 10 * limits.compute_capability.0 + limits.compute_capability.1,
        ..Launch::default()
    }
}

/// The estimated time on an H200 for a large problem, from counts at the sizes of [`sample`].
fn static_cost(kernel: &LoopKernel) -> Result<Cost, Diagnostic> {
    let (args, machine) = (sample(kernel)?, Machine::h200());
    let problem = problem(kernel)?;
    Ok(Box::new(move |kernel| Some(estimate_at(kernel, &args, &problem, &machine).ok()?.estimate_ms)))
}

/// The most elements of arrays and points of a problem, and its largest integer.
#[derive(Clone, Copy)]
struct Most {
    elements: f64,
    points: f64,
    longest: i64,
}

/// What the emulator counts in a fraction of a second: 128 in each direction of a product, so that
/// its tiles are full.
const SMALL: Most = Most { elements: (1 << 20) as f64, points: (1 << 21) as f64, longest: 1 << 16 };
/// What fills a device, and is small enough for its memory.
const LARGE: Most = Most { elements: (1 << 28) as f64, points: (1u64 << 36) as f64, longest: 1 << 28 };

/// Arguments to count a kernel with where none are given: random arrays within their declared
/// facts, one problem of a batch, and otherwise equal integers, of which the last doublings are
/// given to one after another, as long as all assumptions hold, arrays have at most 2^20 elements,
/// and there are at most 2^21 points. An integer for which an assumption does not hold then gets
/// the nearest power of two for which it does. Where data decide about the bounds of loops, other
/// loops have a 32nd of that, so that segments have some elements.
///
/// Errors: that there are no such integers; an open type.
pub fn sample(kernel: &LoopKernel) -> Result<Args, Diagnostic> {
    arguments(kernel, &small(kernel)?)
}

/// The integers of a large problem: those of [`sample`], doubled one after another as long as all
/// assumptions hold, arrays have at most 2^28 elements, and there are at most 2^36 points.
///
/// Errors: as [`sample`].
pub fn problem(kernel: &LoopKernel) -> Result<BTreeMap<Name, i64>, Diagnostic> {
    let small = small(kernel)?;
    let names: Vec<Name> = small.keys().cloned().collect();
    Ok(doubled(kernel, &names, small, LARGE))
}

/// The integers of [`sample`].
fn small(kernel: &LoopKernel) -> Result<BTreeMap<Name, i64>, Diagnostic> {
    let declared = kernel.declared();
    let names: Vec<Name> = declared.args.iter().filter_map(integer).collect();
    let (batches, rest): (Vec<Name>, Vec<Name>) = names.into_iter().partition(|n| is_batch(declared, n));
    for usual in (0..=10).rev().map(|k| 1i64 << k) {
        let mut values = BTreeMap::new();
        let chosen = choose(kernel, &batches, 1, &mut values) && choose(kernel, &rest, usual, &mut values);
        if chosen && fits(kernel, &values, SMALL) {
            let mut values = doubled(kernel, &rest, values, SMALL);
            if points(declared, &values).is_none() {
                shorten(kernel, &mut values);
            }
            return Ok(values);
        }
    }
    let message = format!("no small sizes are known for which the assumptions of `{}` hold", declared.name);
    Err(Diagnostic::new("search-sample", message)
        .help("search with arguments: `loopwright auto KERNEL --search 16 --set n=1000`"))
}

/// Whether an integer is the number of problems that arrays of three axes and more have along their
/// first: one is enough to count with, and leaves room for whole tiles of the others.
fn is_batch(declared: &LoopKernel, name: &Name) -> bool {
    let mut found = false;
    let alone = declared.args.iter().all(|arg| match arg {
        Arg::Array(a) => a.axes.iter().enumerate().all(|(k, axis)| {
            let mentioned = axis.length.names().contains(name);
            found |= mentioned;
            !mentioned || (k == 0 && a.axes.len() > 2 && axis.length.names().len() == 1)
        }),
        Arg::Scalar(_) => true,
    });
    alone && found
}

/// These integers, of which those with these names are doubled in turn until none can be.
fn doubled(
    kernel: &LoopKernel,
    names: &[Name],
    mut values: BTreeMap<Name, i64>,
    most: Most,
) -> BTreeMap<Name, i64> {
    let mut open = names.to_vec();
    open.sort();
    while !open.is_empty() {
        open.retain(|name| {
            let mut tried = values.clone();
            let Some(value) = tried.get_mut(name).filter(|v| **v < most.longest) else { return false };
            *value *= 2;
            let is_larger = holds(kernel, &tried) && fits(kernel, &tried, most);
            if is_larger {
                values = tried;
            }
            is_larger
        });
    }
    values
}

/// Points of a segment, on average, where data decide about their number.
const SEGMENT: i64 = 32;

/// Makes the loops shorter about whose bounds integers decide, by the mean number of points in
/// those about which data decide.
fn shorten(kernel: &LoopKernel, values: &mut BTreeMap<Name, i64>) {
    let declared = kernel.declared();
    let bounds: BTreeSet<Name> =
        declared.domains.iter().flat_map(|d| &d.constraints).flat_map(|c| c.names()).collect();
    for name in bounds {
        let mut tried = values.clone();
        let Some(value) = tried.get_mut(&name).filter(|v| **v > SEGMENT) else { continue };
        *value /= SEGMENT;
        if holds(kernel, &tried) {
            *values = tried;
        }
    }
}

/// Whether a problem is at most so large, as far as lengths and ranges are known.
fn fits(kernel: &LoopKernel, values: &BTreeMap<Name, i64>, most: Most) -> bool {
    let declared = kernel.declared();
    let value = |n: &Name| values.get(n).copied();
    let elements = declared.args.iter().map(|arg| match arg {
        Arg::Array(a) => {
            a.axes.iter().map(|x| Some(x.length.to_aff()?.eval(&value)? as f64)).product::<Option<f64>>()
        }
        Arg::Scalar(_) => Some(0.0),
    });
    let elements = elements.sum::<Option<f64>>().unwrap_or(0.0);
    elements <= most.elements && points(declared, values).unwrap_or(0.0) <= most.points
}

/// Whether no assumption is wrong, as far as these integers tell.
fn holds(kernel: &LoopKernel, values: &BTreeMap<Name, i64>) -> bool {
    let known = |n: &Name| values.get(n).copied();
    kernel.assumptions.iter().all(|c| c.holds(&known) != Some(false))
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
        if holds(kernel, values) && choose(kernel, rest, usual, values) {
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
    // A size that has no value is refused with this shape.
    let raw = Tensor::random(shape, DType::U64, seed)?;
    let (low, high) = (bounds.0.unwrap_or(0), bounds.1.unwrap_or(8));
    let (wanted, is_injective) = (raw.buffer().len(), facts.iter().any(|f| matches!(f, Fact::Injective(_))));
    let room = bounds.1.map(|high| usize::try_from(high.saturating_sub(low)).unwrap_or(0));
    if let Some(room) = room.filter(|room| *room < if is_injective { wanted } else { wanted.min(1) }) {
        let distinct = if is_injective { " distinct" } else { "" };
        let message = format!(
            "`{name}` cannot be random: no {wanted}{distinct} numbers are in its declared range, which \
             has {room}"
        );
        return Err(Diagnostic::new("fact", message)
            .help("choose other sizes, or correct the declared facts about it"));
    }
    let mut values: Vec<i64> = raw
        .to_vec::<u64>()?
        .iter()
        .scan(seed, |state, v| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1 + v);
            Some(low.saturating_add(((*state >> 33) as i64) % high.saturating_sub(low).max(1)))
        })
        .collect();
    if is_injective {
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
