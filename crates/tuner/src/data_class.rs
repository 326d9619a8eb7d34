//! Classes of array contents, for records that a project ships.
//!
//! The distribution of work depends on arrays with declared facts: offsets give the lengths of
//! segments, indices which elements are near each other. A record has to serve future values as
//! well, so it does not keep a digest of them, as a log does, but a few figures of their
//! distribution, rounded so coarsely that values drawn in the same way have the same ones.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Diagnostic, Fact, LoopKernel, Name, Number};
use loopwright_runtime::{Args, Tensor};

/// The most pairs of neighbours whose distance is sampled.
const LOOKED_AT: usize = 1 << 16;

/// The arrays with declared facts, sorted by name.
pub(crate) fn arrays(kernel: &LoopKernel) -> BTreeSet<Name> {
    // What a constant table contains is part of the kernel.
    let declared = kernel.declared();
    let passed = declared.facts.iter().filter(|fact| declared.constant(fact.array()).is_none());
    passed.map(|fact| fact.array().clone()).collect()
}

/// The classes of all arrays with declared facts, taken from the arguments or, for arrays missing
/// there, from the sample.
pub(crate) fn data_class(
    kernel: &LoopKernel,
    args: &Args,
    sample: Option<&Args>,
) -> Result<String, Diagnostic> {
    let mut classes = Vec::new();
    let args = args.with_fields(kernel)?;
    let sample = sample.map(|sample| sample.with_fields(kernel)).transpose()?;
    for array in arrays(kernel) {
        let given = match args.values(&array)? {
            None => sample.as_ref().map_or(Ok(None), |sample| sample.values(&array))?,
            given => given,
        };
        let monotone = kernel.declared().facts.iter().any(|f| matches!(f, Fact::Monotone(a) if *a == array));
        let of = if monotone { offsets_class } else { indices_class };
        classes.extend(given.map(|values| format!("{array}: {}", of(&values))));
    }
    Ok(classes.join("; "))
}

/// The class of offsets, by the lengths of the segments between neighbours:
///
/// * their mean, to the nearest power of two;
/// * the minimum length, relative to the mean, of the longest segments that together hold a quarter
///   of all points, to the nearest power of eight: 1 stands for equal lengths and for lengths
///   uniform between 0 and twice the mean. If lengths differ by orders of magnitude the longest one
///   is a matter of luck, but this figure is not;
/// * whether one segment is a giant, with at least an eighth of all points;
/// * how many are empty: few are less than an eighth, most are half or more.
///
/// ```
/// use loopwright_runtime::Tensor;
/// use loopwright_tuner::offsets_class;
///
/// let of = |offsets: &[i32]| Tensor::from_slice(&[offsets.len()], offsets).map(|t| offsets_class(&t));
/// let even: Vec<i32> = (0..=1000).map(|k| 60 * k).collect();
/// assert_eq!(of(&even)?, "mean about 64, a quarter in segments about 1 x as long, no giant, few empty");
/// // One with all but 2000 points.
/// let giant: Vec<i32> = (0..=1000).map(|k| k + if k > 500 { 59_000 } else { 0 }).collect();
/// assert_eq!(of(&giant)?, "mean about 64, a quarter in segments about 512 x as long, a giant, few empty");
/// # Ok::<(), loopwright_kernel_ir::Diagnostic>(())
/// ```
pub fn offsets_class(offsets: &Tensor) -> String {
    let mut lengths = Lengths { count: 0, empty: 0, total: 0, longest: 0, alike: vec![(0, 0); GROUPS] };
    let mut before = None;
    for value in offsets.buffer().numbers().map(whole) {
        if let Some(before) = before.replace(value) {
            lengths.add(value.abs_diff(before));
        }
    }
    lengths.class()
}

/// Groups of lengths: eight between two powers of two.
const GROUPS: usize = 8 * 128;

/// Statistics of lengths, from which their class is named.
struct Lengths {
    count: u64,
    empty: u64,
    total: u128,
    longest: u128,
    /// Number and sum of the lengths in each group of similar lengths, which share their leading
    /// binary digits.
    alike: Vec<(u64, u128)>,
}

impl Lengths {
    fn add(&mut self, length: u128) {
        self.count += 1;
        self.total += length;
        self.longest = self.longest.max(length);
        let Some(power) = length.checked_ilog2() else {
            self.empty += 1;
            return;
        };
        // The first four binary digits: lengths in a group differ by at most an eighth.
        let digits = length >> power.saturating_sub(3) << 3u32.saturating_sub(power);
        if let Some(group) = self.alike.get_mut(8 * power as usize + (digits & 7) as usize) {
            group.0 += 1;
            group.1 += length;
        }
    }

    /// The mean length of the group in which a quarter of the points is reached, counting from the
    /// longest.
    fn of_a_quarter(&self) -> f64 {
        let mut points = 0;
        let reached = self.alike.iter().rev().find(|(_, sum)| {
            points += sum;
            4 * points >= self.total
        });
        reached.map_or(0.0, |(count, sum)| *sum as f64 / *count as f64)
    }

    fn class(&self) -> String {
        if self.count == 0 {
            return "no segments".to_owned();
        }
        if self.total == 0 {
            return "all empty".to_owned();
        }
        let mean = self.total as f64 / self.count as f64;
        let (about, longer) = (nearest_power(mean, 1), nearest_power(self.of_a_quarter() / mean, 3));
        let giant = if 8 * self.longest >= self.total { "a" } else { "no" };
        let empty = match (8 * self.empty, 2 * self.empty) {
            (eighths, _) if eighths < self.count => "few",
            (_, halves) if halves < self.count => "some",
            _ => "most",
        };
        format!(
            "mean about {about}, a quarter in segments about {longer} x as long, {giant} giant, \
             {empty} empty"
        )
    }
}

/// The class of unordered indices: the median distance of neighbours, to the nearest power of
/// eight. Equal neighbours have distance 0.
///
/// ```
/// use loopwright_runtime::Tensor;
/// use loopwright_tuner::indices_class;
///
/// let of = |indices: &[i32]| Tensor::from_slice(&[indices.len()], indices).map(|t| indices_class(&t));
/// assert_eq!(of(&[3, 4, 5, 6, 100, 101])?, "neighbours about 1 apart");
/// assert_eq!(of(&[7, 900, 20, 350, 1000, 3])?, "neighbours about 512 apart");
/// assert_eq!(of(&[5, 5, 5])?, "neighbours about 0 apart");
/// # Ok::<(), loopwright_kernel_ir::Diagnostic>(())
/// ```
pub fn indices_class(indices: &Tensor) -> String {
    let pairs = indices.len().saturating_sub(1);
    if pairs == 0 {
        return "no neighbours".to_owned();
    }
    // Odd, so that samples do not coincide with the beginnings of rows of usual lengths.
    let every = pairs.div_ceil(LOOKED_AT) | 1;
    let values = || indices.buffer().numbers().map(whole);
    let mut apart: Vec<u128> =
        values().zip(values().skip(1)).step_by(every).map(|(a, b)| b.abs_diff(a)).collect();
    let middle = apart.len() / 2;
    let (_, median, _) = apart.select_nth_unstable(middle);
    format!("neighbours about {} apart", nearest_power(*median as f64, 3))
}

fn whole(number: Number) -> i128 {
    number.as_i128().unwrap_or(0)
}

/// The power of `2^bits` nearest to `value` as a ratio, as a fraction if below one. Zero stays
/// zero.
fn nearest_power(value: f64, bits: i32) -> String {
    if value <= 0.0 {
        return "0".to_owned();
    }
    let exponent = (value.log2() / f64::from(bits)).round() as i32 * bits;
    match u32::try_from(exponent) {
        Ok(up) => 1u128.checked_shl(up).unwrap_or(u128::MAX).to_string(),
        Err(_) => format!("1/{}", 1u128.checked_shl(exponent.unsigned_abs()).unwrap_or(u128::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths drawn pseudo-randomly by `length`, for a seed.
    fn drawn(seed: u64, count: usize, length: impl Fn(f64) -> f64) -> String {
        let (mut ends, mut state) = (vec![0i64], seed);
        for _ in 0..count {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let unit = ((state >> 11) as f64 / (1u64 << 53) as f64).max(1e-9);
            ends.push(ends[ends.len() - 1] + length(unit) as i64);
        }
        offsets_class(&Tensor::from_vec(&[ends.len()], ends).expect("offsets"))
    }

    #[test]
    fn the_same_distribution_is_the_same_class_on_every_day() {
        let even = "mean about 64, a quarter in segments about 1 x as long, no giant, few empty";
        type Length = fn(f64) -> f64;
        let cases: [(&str, Length); 5] = [
            (even, |_| 64.0),
            (even, |u| u * 129.0),
            (&even.replace("64", "4"), |u| u * 9.0),
            // Three of four are empty.
            (&even.replace("64", "16").replace("1 x", "8 x").replace("few", "most"), |u| {
                if u < 0.75 { 0.0 } else { 64.0 + u }
            }),
            // A heavy tail, whose longest segment differs by orders of magnitude from draw to draw.
            (&even.replace("1 x", "8 x"), |u| 64.0 / 3.0 * u.powf(-1.0 / 1.5)),
        ];
        for (class, length) in cases {
            for seed in 0..20 {
                assert_eq!(drawn(seed, 100_000, length), class, "seed {seed}");
            }
        }
    }

    #[test]
    fn classes_at_their_edges() {
        let of =
            |offsets: &[u32]| offsets_class(&Tensor::from_slice(&[offsets.len()], offsets).expect("offsets"));
        assert_eq!(of(&[]), "no segments");
        assert_eq!(of(&[7]), "no segments");
        assert_eq!(of(&[7, 7, 7]), "all empty");
        let one = of(&[0, u32::MAX]);
        assert_eq!(one, "mean about 4294967296, a quarter in segments about 1 x as long, a giant, few empty");
        // Of nine equal segments none is a giant, of eight each is.
        let equal = |count: u32| of(&(0..=count).map(|k| 5 * k).collect::<Vec<_>>());
        assert!(equal(9).contains(", no giant, ") && equal(8).contains(", a giant, "));
        // An eighth is some, a half is most.
        let empty = |which: u32| {
            let lengths = (0..8).map(|k| if k < which { 0 } else { 3 });
            let ends = lengths.scan(0, |end, length| {
                *end += length;
                Some(*end)
            });
            of(&std::iter::once(0).chain(ends).collect::<Vec<_>>())
        };
        let ends = [0, 1, 3, 4, 7].map(|which| empty(which).split(", ").last().map(str::to_owned));
        assert_eq!(
            ends.map(Option::unwrap_or_default),
            ["few empty", "some empty", "some empty", "most empty", "most empty"]
        );
        // Means below one; the quarter is of the longer ones.
        let rare: Vec<u32> = (0..=64).map(|k| u32::from(k >= 32) + u32::from(k >= 50)).collect();
        assert_eq!(
            of(&rare),
            "mean about 1/32, a quarter in segments about 64 x as long, a giant, most empty"
        );
    }

    #[test]
    fn indices_are_told_apart_by_how_far_neighbours_are() {
        let of =
            |indices: Vec<i32>| indices_class(&Tensor::from_vec(&[indices.len()], indices).expect("indices"));
        assert_eq!(of(vec![]), "no neighbours");
        assert_eq!(of((0..1_000_000).collect()), "neighbours about 1 apart");
        assert_eq!(of((0..1_000_000).rev().collect()), "neighbours about 1 apart");
        assert_eq!(of((0..1_000_000).map(|k| k / 4).collect()), "neighbours about 0 apart");
        // Every element is far from the previous one, even if not all pairs are sampled.
        let mixed = |k: i64| (k * 618_033 % 1_000_003) as i32;
        assert_eq!(of((0..1_000_000).map(mixed).collect()), "neighbours about 262144 apart");
    }
}
