//! The sizes in a pipeline that was found, as open parameters: tile sizes, block widths, numbers of
//! results in flight.
//!
//! A step that splits a loop has a length that is a choice, unless the inner loop is what hardware
//! has: the lanes of a warp, the elements of a vector, the box of an instruction. Its parameter is
//! named after the inner loop. Candidates are powers of two times the length that the rule took.
//! Where the inner loop is split again, its length has to be a multiple of that part's; and the
//! threads of a block are at least a warp, unless the rule has fewer, and at most as many as the
//! target allows. Whatever the sizes, the steps are judged again: relations only save the search
//! from forms that are pointless or refused.

use std::{collections::BTreeMap, fmt};

use loopwright_kernel_ir::{Diagnostic, HardwareAxis, LoopKernel, Name, Tag};
use loopwright_lowering::Target;
use loopwright_transforms::{Number, Pipeline, SplitIname, Step};

use crate::Found;

/// A size that may be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// The parameter: for a split, the name of the inner loop.
    pub name: Name,
    /// The size that the rule takes without a search.
    pub usual: i64,
    /// The candidates, in ascending order; the usual one is among them.
    pub values: Vec<i64>,
}

/// What has to hold between sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Relation {
    /// The first is a multiple of the second.
    Multiple(Name, Name),
    /// Their product lies within these limits.
    Product { of: Vec<Name>, least: i64, most: i64 },
}

/// A pipeline with open sizes. Its `Display` form is the text of a search space.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// The pipeline, in which sizes are open parameters.
    pub pipeline: Pipeline,
    /// The sizes, in the order of the steps.
    pub sizes: Vec<Size>,
    relations: Vec<Relation>,
    decisions: Vec<Vec<Step>>,
}

/// The most points for which sizes have five candidates; otherwise they have three.
const FEW: usize = 256;

impl Found {
    /// The pipeline with the sizes that may be chosen.
    ///
    /// ```
    /// use loopwright_auto::{Target, auto};
    /// use loopwright_kernel_ir::LoopKernel;
    ///
    /// let kernel = LoopKernel::parse("\
    /// kernel scale(x: f32[m, n], y: f32[m, n], m: i32, n: i32)
    /// assume 0 <= m and 0 <= n
    /// domain { [i, j] : 0 <= i < m and 0 <= j < n }
    /// y[i, j] = 2*x[i, j] {id=scale}
    /// ")?;
    /// let sizes = auto(&kernel, &Target::default()).sizes(&Target::default());
    /// assert_eq!(sizes.pipeline.to_string(), "\
    /// split_iname(j, $j_inner)
    /// split_iname(i, $i_inner)
    /// split_iname(i_outer, 65535, outer=i_far, inner=i_near)
    /// tag_inames(j_outer: block.x, i_near: block.y, i_far: block.z, j_inner: thread.x, i_inner: thread.y)
    /// ");
    /// assert_eq!(sizes.to_string(), "\
    /// j_inner in [8, 16, 32, 64, 128]
    /// i_inner in [2, 4, 8, 16, 32]
    /// require j_inner * i_inner >= 32 and j_inner * i_inner <= 1024
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sizes(&self, target: &Target) -> Sizes {
        let mut sizes = Sizes {
            pipeline: Pipeline::new(),
            sizes: Vec::new(),
            relations: Vec::new(),
            decisions: self.decisions.iter().map(|d| d.steps.clone()).collect(),
        };
        let all: Vec<&SplitIname> = self.pipeline.steps().iter().filter_map(split).collect();
        for steps in &mut sizes.decisions {
            for step in &mut *steps {
                open(step, &self.kernel, &all, &mut sizes.sizes, &mut sizes.relations);
            }
            sizes.relations.extend(block(steps, &self.kernel, target));
        }
        let number = sizes.sizes.len();
        let many = (0..number).try_fold(1usize, |n, _| n.checked_mul(5)).is_none_or(|points| points > FEW);
        let factors: &[(i64, i64)] =
            if many { &[(1, 2), (1, 1), (2, 1)] } else { &[(1, 4), (1, 2), (1, 1), (2, 1), (4, 1)] };
        for size in &mut sizes.sizes {
            let all = factors.iter().filter(|(_, by)| size.usual % by == 0);
            size.values = all.map(|(times, by)| size.usual * times / by).collect();
        }
        sizes.pipeline = sizes.decisions.iter().flatten().cloned().collect();
        sizes
    }
}

fn split(step: &Step) -> Option<&SplitIname> {
    match step {
        Step::SplitIname(split) => Some(split),
        _ => None,
    }
}

fn inner(split: &SplitIname) -> Name {
    split.inner.clone().unwrap_or_else(|| Name::new(format!("{}_inner", split.iname)))
}

/// Replaces the sizes of a step by parameters.
fn open(
    step: &mut Step,
    kernel: &LoopKernel,
    all: &[&SplitIname],
    sizes: &mut Vec<Size>,
    relations: &mut Vec<Relation>,
) {
    let mut size = |number: &mut Number, name: Name| {
        if let Number::Known(usual) = *number {
            sizes.push(Size { name: name.clone(), usual, values: Vec::new() });
            *number = Number::Open(name);
        }
    };
    match step {
        Step::SplitIname(split) => {
            let name = inner(split);
            let again = all.iter().find(|other| other.iname == name);
            if let Some(again) = again {
                if is_choice(kernel, &inner(again), all) {
                    relations.push(Relation::Multiple(name.clone(), inner(again)));
                }
            } else if !is_choice(kernel, &name, all) {
                return;
            }
            size(&mut split.length, name);
        }
        Step::FlattenRagged(flat) => {
            let s = flat.segment.clone();
            size(&mut flat.threads, Name::new(format!("{s}_threads")));
            size(&mut flat.items, Name::new(format!("{s}_items")));
            size(&mut flat.tiles, Name::new(format!("{s}_tiles")));
        }
        _ => {}
    }
}

/// Whether the length of a loop that a split has made is a choice.
fn is_choice(kernel: &LoopKernel, name: &Name, all: &[&SplitIname]) -> bool {
    let is_split = all.iter().any(|other| other.iname == *name);
    // The axes of the grid have as many blocks as they have.
    let fixed = matches!(kernel.tag(name), Tag::Vec | Tag::Lane) || kernel.tag(name).is_over_blocks();
    // What another step has divided is the box of an instruction.
    is_split || (kernel.is_iname(name) && !fixed)
}

/// What holds for the threads of a block: along each axis it has as many as one of the loops there.
fn block(steps: &[Step], kernel: &LoopKernel, target: &Target) -> Vec<Relation> {
    let all: Vec<&SplitIname> = steps.iter().filter_map(split).collect();
    let mut axes: BTreeMap<HardwareAxis, Vec<(&Number, i64)>> = BTreeMap::new();
    for split in &all {
        let axis =
            |name: &Name| kernel.tag(name).axis().filter(|axis| matches!(axis, HardwareAxis::Block(_)));
        if let Some(axis) = axis(&inner(split)) {
            axes.entry(axis).or_default().push((&split.length, 1));
        }
        // Of what is divided into threads with a part each, the threads are the outer loop.
        let outer = split.outer.clone().unwrap_or_else(|| Name::new(format!("{}_outer", split.iname)));
        if let (Some(axis), Number::Known(part)) = (axis(&outer), &split.length)
            && let Some(whole) = all.iter().find(|whole| inner(whole) == split.iname)
        {
            axes.entry(axis).or_default().push((&whole.length, *part));
        }
    }
    let mut blocks: Vec<Vec<(&Number, i64)>> = vec![Vec::new()];
    for loops in axes.values() {
        let mut longer = Vec::new();
        for block in &blocks {
            longer.extend(loops.iter().map(|one| [block.as_slice(), &[*one]].concat()));
        }
        blocks = longer;
    }
    let relation = |block: &Vec<(&Number, i64)>| {
        let (mut factor, mut by, mut of) = (1i64, 1i64, Vec::new());
        for (length, part) in block {
            by = by.checked_mul(*part)?;
            match length {
                Number::Known(length) => factor = factor.checked_mul(*length)?,
                Number::Open(name) => of.push(name.clone()),
            }
        }
        let limit = |threads: u32| Some(i64::from(threads).checked_mul(by)?.div_euclid(factor.max(1)));
        let (least, most) = (limit(target.warp_size)?, limit(target.most_threads)?);
        (!of.is_empty()).then_some(Relation::Product { of, least, most })
    };
    blocks.iter().filter_map(relation).collect()
}

impl Sizes {
    /// The sizes that the rules took.
    pub fn usual(&self) -> BTreeMap<Name, i64> {
        self.sizes.iter().map(|size| (size.name.clone(), size.usual)).collect()
    }

    /// Whether sizes are related as they have to be.
    pub fn allow(&self, values: &BTreeMap<Name, i64>) -> bool {
        let of = |name: &Name| values.get(name).copied().unwrap_or(1);
        let usual = self.usual();
        let product = |names: &[Name], of: &dyn Fn(&Name) -> i64| {
            names.iter().try_fold(1i64, |product, n| product.checked_mul(of(n))).unwrap_or(i64::MAX)
        };
        self.relations.iter().all(|relation| match relation {
            Relation::Multiple(a, b) => of(a) % of(b).max(1) == 0,
            Relation::Product { of: names, least, most } => {
                let threads = product(names, &of);
                let taken = product(names, &|n| usual.get(n).copied().unwrap_or(1));
                threads <= *most && threads >= (*least).min(taken)
            }
        })
    }

    /// What was found for a kernel, with these sizes.
    ///
    /// Errors: a step that is refused with them.
    pub fn with(
        &self,
        found: &Found,
        kernel: &LoopKernel,
        values: &BTreeMap<Name, i64>,
    ) -> Result<Found, Diagnostic> {
        self.with_applied(found, kernel, values, &|kernel, step| step.proved(kernel))
    }

    /// As [`Sizes::with`], where this applies the steps.
    pub(crate) fn with_applied(
        &self,
        found: &Found,
        declared: &LoopKernel,
        values: &BTreeMap<Name, i64>,
        apply: &dyn Fn(&LoopKernel, &Step) -> Result<LoopKernel, Diagnostic>,
    ) -> Result<Found, Diagnostic> {
        let mut new = Found::nothing(declared);
        for (decision, steps) in found.decisions.iter().zip(&self.decisions) {
            let own: Pipeline = steps.iter().cloned().collect();
            let names = own.parameters();
            let bound = own.bind(names.iter().filter_map(|n| Some((n.as_str(), *values.get(n)?))))?;
            for step in bound.steps() {
                new.kernel = apply(&new.kernel, step)?;
                new.pipeline = new.pipeline.step(step.clone());
            }
            let mut decision = decision.clone();
            decision.steps = bound.steps().to_vec();
            let changed = self.sizes.iter().filter(|s| names.contains(&s.name));
            let changed: Vec<String> = changed
                .filter_map(|s| Some((s, *values.get(&s.name)?)))
                .filter(|(s, value)| s.usual != *value)
                .map(|(s, value)| format!("{value} for `{}` rather than {}", s.name, s.usual))
                .collect();
            if !changed.is_empty() {
                decision.reason += &format!("; but {}", changed.join(", "));
            }
            new.decisions.push(decision);
        }
        Ok(new)
    }
}

/// The text of a search space: the candidates of each size, and what has to hold between them.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for size in &self.sizes {
            let values: Vec<String> = size.values.iter().map(i64::to_string).collect();
            writeln!(f, "{} in [{}]", size.name, values.join(", "))?;
        }
        let usual = self.usual();
        for relation in &self.relations {
            match relation {
                Relation::Multiple(a, b) => writeln!(f, "require {a} % {b} == 0")?,
                Relation::Product { of, least, most } => {
                    let factors: Vec<String> = of.iter().map(Name::to_string).collect();
                    let taken = of.iter().filter_map(|n| usual.get(n)).product::<i64>();
                    let product = factors.join(" * ");
                    writeln!(f, "require {product} >= {} and {product} <= {most}", (*least).min(taken))?;
                }
            }
        }
        Ok(())
    }
}
