//! Where temporaries and accumulators live.
//!
//! A private scalar is a variable, unless lanes own cells of it: then it is a private array with an
//! element for each of their values. A private array gets these axes before its own. Lanes outside
//! of which something touches an array own nothing of it. A shared temporary is an array of the
//! block, of length 1 if it is a scalar. An accumulator has a copy for each lane that is around it
//! or reduced over.

use loopwright_kernel_ir::{AddressSpace, Array, Diagnostic, Name, Part, PartRef, ReductionOp};

use loopwright_layout::{ComposedLayout, Layout};
use loopwright_legality::owning_lanes;

use super::items::Join;
use crate::analyse::{
    analysis::{Analysis, PartInfo},
    arrays::{constant_dims, set_layout},
};

/// Where a temporary lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In a variable of the thread.
    Variable,
    /// In a private array with an axis for each of these lanes before its own.
    Private { lanes: Vec<Name>, dims: Vec<u64>, layout: Option<ComposedLayout> },
    /// In an array of the block.
    Shared { dims: Vec<u64>, layout: Option<ComposedLayout> },
}

impl Analysis<'_> {
    /// Where a temporary that is not global lives.
    pub fn home(&self, array: &Array) -> Result<Home, Diagnostic> {
        let own = constant_dims(array).ok_or_else(|| {
            Diagnostic::new(
                "not-constant-shape",
                format!("`{}` is {}, so its lengths have to be constant", array.name, array.space),
            )
            .help("give it constant lengths, fix the parameter, or make it global")
        })?;
        Ok(match array.space {
            AddressSpace::Private => {
                let lanes = self.owning_lanes(&array.name);
                if own.is_empty() && lanes.is_empty() {
                    return Ok(Home::Variable);
                }
                let lengths = self.lane_lengths(&lanes);
                let layout = set_layout(array)?.map(|layout| for_each_lane(layout, &lengths)).transpose()?;
                let dims = lengths.into_iter().chain(own).collect();
                Home::Private { lanes, dims, layout }
            }
            AddressSpace::Shared if own.is_empty() => Home::Shared { dims: vec![1], layout: None },
            AddressSpace::Shared => Home::Shared { dims: own, layout: set_layout(array)? },
            AddressSpace::Global | AddressSpace::Constant => {
                return Err(Diagnostic::new("internal", format!("`{}` is {}", array.name, array.space)));
            }
        })
    }

    /// The lanes for which a private temporary has a copy.
    pub fn owning_lanes(&self, name: &Name) -> Vec<Name> {
        let touches = self.touches.get(name).map_or(&[][..], Vec::as_slice).iter().map(|(p, k)| {
            let part = &self.parts[*p];
            (part.lanes.as_slice(), part.execution.accesses[*k].write)
        });
        let is_scalar = self.lookup.array(name).is_some_and(|array| array.axes.is_empty());
        owning_lanes(is_scalar, touches)
    }

    /// The lanes in each of which an array has cells of its own, which nothing touches from outside
    /// of it: none, if it is no private temporary.
    pub fn separate_lanes(&self, array: &Name) -> Vec<Name> {
        let is_private = self.lookup.array(array).is_some_and(|a| a.space == AddressSpace::Private);
        let mut lanes = if is_private { self.owning_lanes(array) } else { Vec::new() };
        let touches = self.touches.get(array).map_or(&[][..], Vec::as_slice);
        lanes.retain(|lane| touches.iter().all(|(part, _)| self.parts[*part].lanes.contains(lane)));
        lanes
    }

    /// Whether the lanes that write a private temporary never touch the same cells.
    pub fn is_own_of_lanes(&self, array: &Array) -> bool {
        let lanes = self.separate_lanes(&array.name);
        let is_own = |(_, part): (usize, &PartInfo)| part.lanes.iter().all(|lane| lanes.contains(lane));
        array.space == AddressSpace::Private && self.writers(&array.name).all(is_own)
    }

    /// How many values each of these lanes has; 1 where that is not constant.
    pub fn lane_lengths(&self, lanes: &[Name]) -> Vec<u64> {
        let length = |lane: &Name| self.extents.get(lane).and_then(|e| e.constant).unwrap_or(1);
        lanes.iter().map(|lane| u64::try_from(length(lane)).unwrap_or(1)).collect()
    }

    /// The lanes for which the accumulator of a reduction has a copy: those around it, then those
    /// reduced over, if these are joined.
    pub fn accumulator_lanes(&self, instruction: usize, reduction: usize) -> Vec<Name> {
        let i = &self.kernel.instructions[instruction];
        let part = match self.is_joined(instruction, reduction) {
            true => Part::Update(reduction),
            false => Part::Init(reduction),
        };
        let part = PartRef { instruction: i.id.clone(), part };
        let mut lanes: Vec<Name> = Vec::new();
        for iname in self.kernel.part_inames(&part) {
            if self.kernel.tag(&iname).is_jam() && !lanes.contains(&iname) {
                lanes.push(iname);
            }
        }
        lanes
    }

    /// The lanes of the accumulators of a join that it does not join.
    pub fn lanes_around(&self, join: &Join) -> Vec<Name> {
        let lanes = self.accumulator_lanes(join.instruction, join.reduction);
        lanes.into_iter().filter(|l| !join.lanes.contains(l)).collect()
    }

    /// The lanes for which a scan in rounds carries a total: those of its accumulator that it does
    /// not scan over.
    pub fn carry_lanes(&self, instruction: usize, reduction: usize) -> Vec<Name> {
        let i = &self.kernel.instructions[instruction];
        let init = self.lookup.inames_of(i, Part::Init(reduction));
        let lanes = self.accumulator_lanes(instruction, reduction);
        lanes.into_iter().filter(|l| init.contains(l)).collect()
    }

    /// The operator of a reduction.
    pub fn operator(&self, name: &Name) -> Result<ReductionOp, Diagnostic> {
        self.kernel.operator(name).ok_or_else(|| {
            Diagnostic::new("unknown-operator", format!("there is no reduction operator `{name}`"))
        })
    }
}

/// The layout of copies of an array for lanes, which are numbered before its own axes.
fn for_each_lane(layout: ComposedLayout, lengths: &[u64]) -> Result<ComposedLayout, Diagnostic> {
    let ComposedLayout { swizzle, offset, layout } = layout;
    let Layout::Tuple(mut modes) = layout else {
        return Err(Diagnostic::new("internal", "a layout without modes of its axes"));
    };
    // Each copy begins where the swizzle does.
    let period = 1i64 << (swizzle.bits() + swizzle.base() + swizzle.shift().unsigned_abs());
    let size = Layout::Tuple(modes.clone()).cosize().ok().and_then(|n| n.as_const()).unwrap_or(0);
    let mut stride = (size + period - 1) / period * period;
    for length in lengths.iter().rev() {
        let length = i64::try_from(*length).unwrap_or(1);
        modes.insert(0, Layout::mode(length, stride));
        stride = stride.saturating_mul(length);
    }
    Ok(ComposedLayout { swizzle, offset, layout: Layout::Tuple(modes) })
}
