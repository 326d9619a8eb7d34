//! Random kernels over triangles, clipped and strided ranges, with random splits and tags.
//!
//! The parts inside one loop of such a kernel run over ranges none of which need contain the
//! others: a sum may be empty where its result is written, and two sums in one loop may begin and
//! end at different places. A lowered case computes the same as the declared kernel, or it is
//! refused for a reason in [`REASONS`] that names what is refused.

use std::{collections::BTreeMap, fmt::Write};

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Tag};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_transforms::Pipeline;

use crate::{case::Case, rng::Rng};

/// The valid refusals of a kernel over such ranges by lowering: a length that has to be constant
/// and is not, more inames or threads on an axis than fit, threads counted from a value that is not
/// a single function of the parameters, values held by other threads or blocks, numbers of lanes
/// that do not divide a warp, and missing synchronisation.
pub const REASONS: [&str; 9] = [
    "blocks-depend",
    "ends-with-kernel",
    "foreign-value",
    "grid-reduction",
    "lane-length",
    "no-least-value",
    "not-constant-length",
    "too-many-threads",
    "two-hardware-inames",
];

/// Statistics of the steps of some cases.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// Number of kernels lowered or refused by lowering.
    pub asked: usize,
    /// The numbers of those refused, by code.
    pub refused: BTreeMap<&'static str, usize>,
    /// Those whose refusal has an invalid reason or no place.
    pub wrong: Vec<(Case, Diagnostic)>,
}

impl Sweep {
    /// The statistics of both, field by field.
    pub fn with(mut self, other: Sweep) -> Sweep {
        self.asked += other.asked;
        for (code, count) in other.refused {
            *self.refused.entry(code).or_default() += count;
        }
        self.wrong.extend(other.wrong);
        self
    }

    fn refuse(&mut self, case: Case, d: Diagnostic) {
        *self.refused.entry(d.code).or_default() += 1;
        if d.place.is_none() || !REASONS.contains(&d.code) {
            self.wrong.push((case, d));
        }
    }
}

/// The case of this seed. Refused steps are left out, and so are those that lowering refuses
/// afterwards, which are recorded.
///
/// # Panics
/// If the text of the kernel is invalid.
pub fn case(seed: u64) -> (Case, Sweep) {
    let mut rng = Rng::new(seed ^ 0x7261_6e67_6573);
    let (text, declared) = loop {
        let text = kernel(&mut rng);
        match LoopKernel::parse(&text) {
            Ok(declared) => break (text, declared),
            // A range without points is rightly refused.
            Err(d) if d.0.iter().all(|d| d.code == "empty-domain") => {}
            Err(d) => panic!("seed {seed}\n{text}\n{d}"),
        }
    };
    let mut case = Case { kernel: text, steps: Vec::new() };
    let mut sweep = Sweep { asked: 1, ..Sweep::default() };
    if let Err(d) = lower(&declared, LowerOptions::default()) {
        sweep.refuse(case.clone(), d);
        return (case, sweep);
    }
    let mut kernel = declared;
    for _ in 0..2 + rng.below(7) {
        let Some(step) = step(&mut rng, &kernel) else { continue };
        let Ok(next) = Pipeline::parse(&step).and_then(|p| p.apply(&kernel)) else { continue };
        let mut tried = case.clone();
        tried.steps.push(step);
        sweep.asked += 1;
        match lower(&next, LowerOptions::default()) {
            Ok(_) => (case, kernel) = (tried, next),
            Err(d) => sweep.refuse(tried, d),
        }
    }
    (case, sweep)
}

/// A step for this kernel: mostly splits and tags.
fn step(rng: &mut Rng, kernel: &LoopKernel) -> Option<String> {
    let base: Vec<Name> = kernel.base_inames();
    let free: Vec<Name> = base.iter().filter(|i| kernel.tag(i) == Tag::Seq).cloned().collect();
    if free.is_empty() {
        return None;
    }
    let i = rng.pick(&free);
    Some(match rng.below(20) {
        0..=8 => format!("split_iname({i}, {})", rng.pick(&[1, 2, 3, 4, 8, 32])),
        9..=15 => {
            let tags = [
                "block.x",
                "block.x",
                "block.y",
                "thread.x",
                "thread.x",
                "thread.y",
                "ilp",
                "unroll",
                "partition",
                "host",
                "lane",
            ];
            format!("tag_inames({i}: {})", rng.pick(&tags))
        }
        16 => format!("split_reduction_inward({i})"),
        17 => format!("reverse({i})"),
        18 => format!("reorder({}, {i})", rng.pick(&free)),
        _ => format!("map_domain([{i}] -> [{i}_m], {i}_m = {i} + {})", rng.below(4)),
    })
}

struct Maker<'r> {
    rng: &'r mut Rng,
    domains: Vec<String>,
    count: usize,
}

/// A random kernel over such ranges. All inames lie between 0 and `n + m + 3`.
fn kernel(rng: &mut Rng) -> String {
    let mut maker = Maker { rng, domains: Vec::new(), count: 0 };
    let mut text = String::from(
        "kernel ranges(x: i32[2*n + 2*m + 16], y: i32[n + m + 8, n + m + 8], z: i32[n + m + 8], \
         n: i32, m: i32)\n",
    );
    text += match maker.rng.below(4) {
        0 => "assume 1 <= n and 1 <= m\n",
        1 => "assume 0 <= n and 0 <= m and m <= n\n",
        _ => "assume 0 <= n and 0 <= m\n",
    };
    let outer = maker.range("i", &[]);
    let nested = maker.rng.chance(35);
    let mut around = vec![outer.clone()];
    if nested {
        around.push(maker.range("j", &around.clone()));
    }
    let target = match around.as_slice() {
        [i, j] => format!("y[{i}, {j}]"),
        _ => format!("z[{outer}]"),
    };
    let first = maker.value(&around, &target);
    let mut lines = vec![format!("{target} = {first} {{id=a, inames={}}}", around.join(":"))];
    // A second statement in the same outer loop, of another range.
    if maker.rng.chance(45) {
        let mut around = vec![outer.clone()];
        let target = match (maker.rng.below(3), nested) {
            // Another array, so that the two need no order.
            (0, false) => {
                around.push(maker.range("q", &around.clone()));
                format!("y[{outer}, {}]", around[1])
            }
            (_, true) => format!("z[{outer}]"),
            _ => format!("y[{outer}, 0]"),
        };
        let second = maker.value(&around, &target);
        lines.push(format!("{target} = {second} {{id=b, inames={}}}", around.join(":")));
    }
    for line in maker.domains.iter().chain(&lines) {
        let _ = writeln!(text, "{line}");
    }
    text
}

impl Maker<'_> {
    fn fresh(&mut self, prefix: &str) -> String {
        self.count += 1;
        format!("{prefix}{}", self.count)
    }

    /// A domain of a new iname inside others: bounds that keep it between 0 and `n + m + 3`, and
    /// sometimes further bounds.
    fn range(&mut self, prefix: &str, around: &[String]) -> String {
        let k = self.fresh(prefix);
        let i = if around.is_empty() { "1".to_string() } else { self.rng.pick(around) };
        let lower = [
            format!("0 <= {k}"),
            format!("0 <= {k}"),
            format!("0 <= {k}"),
            format!("1 <= {k}"),
            format!("m <= {k}"),
            format!("{i} <= {k}"),
            format!("{i} <= {k}"),
            format!("{i} <= 2*{k}"),
            format!("0 <= {k} and {i} - 1 <= {k}"),
            format!("0 <= {k} and {i} - 2 <= 3*{k}"),
            format!("0 <= {k} and n - {i} <= {k}"),
        ];
        let upper = [
            format!("{k} < n"),
            format!("{k} < n"),
            format!("{k} < m"),
            format!("2*{k} < n + 1"),
            format!("{k} < n + m"),
            format!("{k} < {i}"),
            format!("{k} <= {i}"),
            format!("2*{k} <= {i}"),
            format!("{k} < n and {k} <= {i} + 1"),
            format!("{k} < n and {k} < m"),
            format!("{k} < m and 2*{k} <= {i} + 1"),
            format!("{k} < n - {i}"),
            format!("{k} <= 3"),
            format!("{k} < 5 and {k} <= {i}"),
        ];
        let (lower, upper) = (self.rng.pick(&lower), self.rng.pick(&upper));
        self.domains.push(format!("domain {{ [{k}] : {lower} and {upper} }}"));
        k
    }

    /// The value of a target over these inames: mostly sums, sometimes with something else next to
    /// them or inside.
    fn value(&mut self, around: &[String], target: &str) -> String {
        let k = self.range("k", around);
        let mut inside = around.to_vec();
        inside.push(k.clone());
        let op = self.rng.pick(&["sum", "sum", "sum", "max"]);
        let term = match self.rng.below(6) {
            0 => k.clone(),
            1 => format!("x[{k}] * {}", around[0]),
            2 => format!("x[{k} + {}]", self.rng.pick(around)),
            3 => {
                let l = self.range("l", &inside);
                format!("sum({l}, x[{l}] + {k})")
            }
            _ => format!("x[{k}]"),
        };
        let reduced = format!("{op}({k}, {term})");
        match self.rng.below(5) {
            0 => format!("2 * {target} + {reduced}"),
            1 => {
                let l = self.range("l", around);
                format!("{reduced} - sum({l}, x[{l} + 1])")
            }
            _ => reduced,
        }
    }
}
