//! Compares results with those of the declared kernel, element by element.
//!
//! - Integers and truth values are equal, including those of 64 bits.
//! - A floating-point element is within the tolerance of the declared kernel's, relative to the
//!   *element itself*, as computed by the plain interpreter in f64 or in the kernel's own types.
//!   NaN matches NaN, an infinity the same infinity.
//! - If terms cancel, the result is smaller than the rounding errors of its terms, and no order of
//!   summation would pass. An element that fails the rule above may therefore differ by as much as
//!   it changes when the inputs change by the tolerance, relative to themselves: it is exact for
//!   such nearby inputs (small backward error). This amount is determined by running the plain
//!   interpreter again on perturbed inputs, always the same ones, once any element needs it.
//!   Nothing cancels in an element that none of these runs changes by more than [`SENSITIVE`] times
//!   the tolerance, as a copy, a sum of terms of one sign or a product of a few inputs; it has to
//!   satisfy the first rule. High powers and exponentials are sensitive to their inputs too, and
//!   are not told from cancellation.
//!
//! A difference below the least normal number of the type is not seen, because a device may flush
//! subnormal numbers; in f16, whose subnormal numbers every device keeps, one below the least of
//! these.
//!
//! The usual tolerance is that of the element's type, or of the coarsest type in which the declared
//! kernel rounds on the way (`rounding`): an f64 that is a sum in f32 is compared as an f32.
//!
//! Sums of updates of `f16` and `bf16` elements are rounded at each update, in any order
//! ([`Spread`]): an element that fails the rules above may differ by as much as some order differs
//! from the exact sum at most. If that is an eighth of the terms or more, a comparison would say
//! nothing, and is refused (`update-rounding`) instead of passed. What is computed of such elements
//! may differ by as much as it changes when they are other right results, drawn at random.
//!
//! A tolerance of 0 requires the interpreter's results bit for bit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use indexmap::IndexMap;
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel, Name, Number, UpdateOp};
use loopwright_reference::{AnyOrder, Inputs, Mode, Spread};

use super::reference;
use super::rounding::tolerances;
use super::{Args, Compiled, Device, Tensor};

/// The usual relative tolerance of results of a type, which allows for another order of summation.
/// 0 for integers and `bool`.
pub fn usual_tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::E4M3 => 0.125,
        DType::E5M2 => 0.25,
        DType::F16 => 4e-3,
        DType::BF16 => 3e-2,
        DType::F32 => 2e-5,
        DType::F64 => 1e-12,
        _ => 0.0,
    }
}

/// The least normal number of a type.
fn least(dtype: DType) -> f64 {
    match dtype {
        // Subnormal half-precision numbers are always supported: the distance of two neighbours.
        DType::E4M3 => 2f64.powi(-9),
        DType::E5M2 => 2f64.powi(-16),
        DType::F16 => 2f64.powi(-24),
        DType::BF16 | DType::F32 => f64::from(f32::MIN_POSITIVE),
        _ => f64::MIN_POSITIVE,
    }
}

/// Number of perturbed inputs. It is practically impossible that the changes cancel in an element
/// for all of them.
const DRAWS: u64 = 4;

/// An element that changes by more than this many times the tolerance, relative to itself, if
/// inputs change by the tolerance, is one whose terms cancel.
const SENSITIVE: f64 = 4.0;

type Arrays = IndexMap<Name, Tensor>;
/// For each array, the change of each element.
type Moved = BTreeMap<Name, Vec<f64>>;

/// The results of the declared kernel, to compare other results with.
pub struct Expectation {
    expected: Arrays,
    /// The usual tolerance of arrays that are computed in coarser types than their own.
    tolerances: BTreeMap<Name, f64>,
    /// What the order of updates leaves open.
    order: AnyOrder,
    asked: Option<Asked>,
}

/// Data for further comparisons, computed on demand.
struct Asked {
    device: Device,
    kernel: LoopKernel,
    args: Args,
    own: OnceLock<Result<Arrays, Diagnostic>>,
    /// The changes of elements, by the bits of the tolerance.
    moved: Mutex<BTreeMap<u64, Arc<Moved>>>,
    /// The changes of elements when those that updates have rounded are other right results.
    drawn: OnceLock<Result<Moved, Diagnostic>>,
}

impl Compiled {
    /// Runs the declared kernel on these arguments by the plain interpreter, to compare results
    /// with.
    pub fn expectation(&self, args: &Args) -> Result<Expectation, Diagnostic> {
        self.expectation_until(args, None)
    }

    /// As [`Compiled::expectation`], refused as `out-of-time` if it does not finish by the
    /// deadline.
    pub fn expectation_until(
        &self,
        args: &Args,
        deadline: Option<Instant>,
    ) -> Result<Expectation, Diagnostic> {
        let asked = Asked {
            device: self.device().clone(),
            kernel: self.kernel().clone(),
            args: args.clone(),
            own: OnceLock::new(),
            moved: Mutex::default(),
            drawn: OnceLock::new(),
        };
        let bound = reference::bound(self.kernel(), args)?;
        let (expected, order) = match rounds_sums(&bound) {
            false => (self.reference_in_f64_until(args, deadline)?, AnyOrder::default()),
            true => reference::run_any_order(self.device(), self.kernel(), args, deadline, None)?,
        };
        Ok(Expectation { expected, tolerances: tolerances(&bound)?, order, asked: Some(asked) })
    }
}

impl Expectation {
    /// Uses these results as the expected ones.
    pub fn of_results(expected: IndexMap<Name, Tensor>) -> Expectation {
        Expectation { expected, tolerances: BTreeMap::new(), order: AnyOrder::default(), asked: None }
    }

    /// The first element that differs, as a sentence; none if all agree. Arrays that are not among
    /// the results are skipped. The tolerance is relative; by default it is [`usual_tolerance`] of
    /// the array's type, or of the coarsest type in which the declared kernel computes the array.
    pub fn difference(
        &self,
        results: &IndexMap<Name, Tensor>,
        tolerance: Option<f64>,
    ) -> Result<Option<String>, Diagnostic> {
        for (name, expected) in &self.expected {
            let Some(found) = results.get(name) else { continue };
            if found.len() != expected.len() {
                return Ok(Some(format!(
                    "`{name}` has {} elements, and {} in the declared kernel",
                    found.len(),
                    expected.len()
                )));
            }
            let usual = || {
                let computed = self.tolerances.get(name).copied().unwrap_or(0.0);
                let own = usual_tolerance(found.dtype());
                if own > 0.0 { own.max(computed) } else { own }
            };
            let tolerance = tolerance.unwrap_or_else(usual);
            let rule = Rule { tolerance, floor: if tolerance > 0.0 { least(found.dtype()) } else { 0.0 } };
            let both = found.buffer().numbers().zip(expected.buffer().numbers());
            for (k, (x, y)) in both.enumerate() {
                if !rule.near(x, y, 0.0) && !self.excused(name, k, (x, y), rule)? {
                    return Ok(Some(format!(
                        "element {k} of `{name}` is {x}, and the declared kernel gives {y}"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// Whether an element that is not close in f64 is close in the kernel's own types, or changes
    /// by as much for nearby inputs.
    fn excused(
        &self,
        name: &Name,
        k: usize,
        (x, y): (Number, Number),
        rule: Rule,
    ) -> Result<bool, Diagnostic> {
        let Some(asked) = &self.asked else { return Ok(false) };
        let own = asked.own.get_or_init(|| asked.run(Mode::Exact, &|_| {})).as_ref().map_err(Clone::clone)?;
        if own.get(name).and_then(|t| t.buffer().get(k)).is_some_and(|own| rule.near(x, own, 0.0)) {
            return Ok(true);
        }
        let is_affected = self.order.affected.contains(name);
        if y.as_i128().is_some() && is_affected {
            return Err(self.undecided(name, k, (x, y)));
        }
        if rule.tolerance == 0.0 || y.as_i128().is_some() {
            return Ok(false);
        }
        let moved = asked.moved(&self.expected, rule.tolerance)?;
        let moved = moved.get(name).and_then(|m| m.get(k)).copied().unwrap_or(0.0);
        if rule.near(x, y, moved) {
            return Ok(true);
        }
        // Another order of the updates, of the element itself or of what it is computed of.
        let spread = self.order.spreads.get(name).and_then(|own| own.get(&k));
        let mut more = moved + spread.map_or(0.0, Spread::bound);
        let mut says = spread.is_none_or(Spread::says_something);
        if is_affected {
            let drawn = asked.drawn(&self.expected)?;
            more += drawn.get(name).and_then(|m| m.get(k)).copied().unwrap_or(0.0);
            says &= self.order.spreads.values().flat_map(BTreeMap::values).all(Spread::says_something);
        }
        if !says && (more.is_infinite() || is_affected || rule.near(x, y, more)) {
            return Err(self.undecided(name, k, (x, y)));
        }
        Ok(rule.near(x, y, more))
    }

    /// The refusal to compare an element that the order of updates decides.
    fn undecided(&self, name: &Name, k: usize, (x, y): (Number, Number)) -> Diagnostic {
        let updates = self.order.spreads.get(name).and_then(|own| own.get(&k)).map(Spread::updates);
        let why = match updates {
            Some(updates) => format!("its {updates} updates are rounded"),
            None => "what it is computed of is rounded at each update".into(),
        };
        let message = format!(
            "element {k} of `{name}` is {x}, and {y} without rounding: {why} in an order that is open, which \
             may leave that and much else"
        );
        Diagnostic::new("update-rounding", message).help(
            "update an array of f32, and convert it in another instruction; or compare a problem with fewer \
             updates of each element",
        )
    }
}

/// Whether updates add to elements of a type in which sums are rounded at each of them.
fn rounds_sums(bound: &LoopKernel) -> bool {
    let is_narrow = |name: &Name| {
        bound.array(name).and_then(|array| array.dtype.known()).is_some_and(DType::is_narrow_float)
    };
    let mut sums = bound.instructions.iter().filter(|i| i.update == Some(UpdateOp::Sum));
    sums.any(|i| i.targets.iter().any(|t| is_narrow(&t.array)))
}

impl Asked {
    fn run(&self, mode: Mode, change: &dyn Fn(&mut Inputs)) -> Result<Arrays, Diagnostic> {
        reference::run(&self.device, &self.kernel, &self.args, mode, None, change)
    }

    /// The total change of each element when elements that updates have rounded are other right
    /// results.
    fn drawn(&self, expected: &Arrays) -> Result<&Moved, Diagnostic> {
        let draw = || {
            let mut moved = Moved::new();
            for seed in 0..DRAWS {
                let (drawn, _) =
                    reference::run_any_order(&self.device, &self.kernel, &self.args, None, Some(seed))?;
                for (name, drawn) in &drawn {
                    let Some(expected) = expected.get(name).filter(|e| e.dtype().is_float()) else {
                        continue;
                    };
                    let sums = moved.entry(name.clone()).or_insert_with(|| vec![0.0; expected.len()]);
                    for (sum, (x, y)) in sums.iter_mut().zip(drawn.to_f64().iter().zip(expected.to_f64())) {
                        let change = (x - y).abs();
                        *sum += if change.is_finite() { change } else { 0.0 };
                    }
                }
            }
            Ok(moved)
        };
        self.drawn.get_or_init(draw).as_ref().map_err(Clone::clone)
    }

    /// The total change of each element when inputs change by the tolerance; 0 where nothing
    /// cancels.
    fn moved(&self, expected: &Arrays, tolerance: f64) -> Result<Arc<Moved>, Diagnostic> {
        let known = || self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(moved) = known().get(&tolerance.to_bits()) {
            return Ok(moved.clone());
        }
        let mut moved = Moved::new();
        let mut largest = Moved::new();
        for seed in 0..DRAWS {
            let drawn = self.run(Mode::Wide, &|inputs| change(inputs, tolerance, seed))?;
            for (name, drawn) in &drawn {
                let Some(expected) = expected.get(name).filter(|e| e.dtype().is_float()) else { continue };
                let (drawn, expected) = (drawn.to_f64(), expected.to_f64());
                let none = || vec![0.0; expected.len()];
                let sum = moved.entry(name.clone()).or_insert_with(none);
                let most = largest.entry(name.clone()).or_insert_with(none);
                for ((sum, most), (x, y)) in sum.iter_mut().zip(most).zip(drawn.iter().zip(&expected)) {
                    // A change that is not a finite number allows no difference.
                    let change = Some((x - y).abs()).filter(|d| d.is_finite()).unwrap_or(0.0);
                    *sum += change;
                    *most = change.max(*most);
                }
            }
        }
        for (name, sums) in &mut moved {
            let (Some(most), Some(expected)) = (largest.get(name), expected.get(name)) else { continue };
            for ((sum, most), y) in sums.iter_mut().zip(most).zip(expected.to_f64()) {
                if *most <= SENSITIVE * tolerance * y.abs() {
                    *sum = 0.0;
                }
            }
        }
        let moved = Arc::new(moved);
        known().insert(tolerance.to_bits(), moved.clone());
        Ok(moved)
    }
}

/// Changes each floating-point input by half the tolerance up to all of it, upwards or downwards.
fn change(inputs: &mut Inputs, tolerance: f64, seed: u64) {
    let mut state = seed;
    let mut factor = || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let z = z ^ (z >> 31);
        let part = 0.5 + (z >> 12) as f64 / 2f64.powi(53);
        1.0 + tolerance * if z & 1 == 0 { part } else { -part }
    };
    let mut changed = |n: Number| Number::F64(n.as_f64() * factor()).cast(n.dtype());
    for buffer in inputs.arrays.values_mut().filter(|b| b.dtype().is_float()) {
        let values: Vec<Number> = buffer.numbers().collect();
        values.into_iter().enumerate().for_each(|(k, n)| {
            buffer.set(k, changed(n));
        });
    }
    for number in inputs.scalars.values_mut().filter(|n| n.dtype().is_float()) {
        *number = changed(*number);
    }
}

/// The allowed distance of two elements.
#[derive(Clone, Copy)]
struct Rule {
    tolerance: f64,
    floor: f64,
}

impl Rule {
    fn near(self, x: Number, y: Number, more: f64) -> bool {
        if let (Some(x), Some(y)) = (x.as_i128(), y.as_i128()) {
            return x == y;
        }
        let (x, y) = (x.as_f64(), y.as_f64());
        let allowed = self.tolerance * y.abs() + self.floor + more;
        x == y || (x.is_nan() && y.is_nan()) || (y.is_finite() && (x - y).abs() <= allowed)
    }
}

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::Buffer;

    use super::*;

    #[test]
    fn inputs_change_by_half_the_tolerance_up_to_all_of_it_in_both_directions() {
        let tolerance = 1e-3;
        let values: Vec<f64> = (1..=1000).map(f64::from).collect();
        let changed = |seed: u64| {
            let given = Inputs::new().array("x", Buffer::from_slice(&values));
            let mut inputs = given.array("p", Buffer::from_slice(&[7i32; 9])).scalar("a", 1.0).scalar("n", 9);
            change(&mut inputs, tolerance, seed);
            assert_eq!(inputs.arrays["p"].to_vec::<i32>().unwrap(), [7; 9], "integers stay");
            assert_eq!(inputs.scalars["n"], Number::I32(9), "integers stay");
            let scalar = inputs.scalars["a"].as_f64();
            let array = inputs.arrays["x"].to_vec::<f64>().unwrap();
            let parts = array.iter().zip(&values).map(|(x, value)| (x / value - 1.0) / tolerance);
            parts.chain([(scalar - 1.0) / tolerance]).collect::<Vec<f64>>()
        };
        for seed in 0..DRAWS {
            let parts = changed(seed);
            let rounding = 1e-9;
            let allowed = 0.5 - rounding..=1.0 + rounding;
            assert!(parts.iter().all(|part| allowed.contains(&part.abs())), "{seed}: {parts:?}");
            // Each is as likely as another one.
            let [up, near] = [|part: &f64| *part > 0.0, |part: &f64| part.abs() < 0.75]
                .map(|is| parts.iter().filter(|part| is(part)).count());
            assert!((400..=600).contains(&up), "{seed}: {up} of {} upwards", parts.len());
            assert!((400..=600).contains(&near), "{seed}: {near} of {} by less than 3/4", parts.len());
        }
        assert_ne!(changed(0), changed(1));
    }
}
