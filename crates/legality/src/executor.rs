//! Who runs a part, and who owns a cell: the one model of both, which legality, lowering and the
//! final check read.
//!
//! An *executor* says of each axis of the hardware how a part stands to it ([`Presence`]). An
//! *owner* is a set of axes: threads that differ on one of them have cells of their own
//! ([`owner`]). The rule which connects the two is [`executor`]: a part that has no iname on an
//! axis is run by every coordinate that owns what it writes or that reduces for it, and elsewhere
//! by the first.

use std::ops::{Index, IndexMut};

use loopwright_kernel_ir::{AddressSpace, AxisSet, HardwareAxis, Instruction, Lookup, Name, Part, PerAxis};

/// How a part stands to one axis. `I` says what is known of the iname that runs there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Presence<I = ()> {
    /// It has an iname on the axis: each coordinate runs instances of its own.
    At(I),
    /// One coordinate runs it, the first: the part has no iname there, or the kernel has none.
    #[default]
    Elected,
    /// Each coordinate runs a copy of its own.
    Replicated,
    /// All coordinates run it together, as one: the join of what they have computed apart.
    Collective,
}

impl<I> Presence<I> {
    /// What is known of the iname on the axis.
    pub fn iname(&self) -> Option<&I> {
        match self {
            Presence::At(iname) => Some(iname),
            Presence::Elected | Presence::Replicated | Presence::Collective => None,
        }
    }

    /// Whether all coordinates run the same instances.
    pub fn is_everywhere(&self) -> bool {
        match self {
            Presence::Replicated | Presence::Collective => true,
            Presence::At(_) | Presence::Elected => false,
        }
    }
}

/// Who runs a part: how it stands to each axis of the hardware.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executor<I = Name>(PerAxis<Presence<I>>);

impl<I> Executor<I> {
    /// An executor by its presence on each axis.
    pub fn from_fn(of: impl FnMut(HardwareAxis) -> Presence<I>) -> Self {
        Executor(PerAxis::from_fn(of))
    }

    /// The axes, in order, with how the part stands to each.
    pub fn iter(&self) -> impl Iterator<Item = (HardwareAxis, &Presence<I>)> {
        self.0.iter()
    }

    /// The axes of which all coordinates run the same instances.
    pub fn everywhere(&self) -> impl Iterator<Item = HardwareAxis> {
        self.iter().filter(|(_, presence)| presence.is_everywhere()).map(|(axis, _)| axis)
    }

    /// The axes whose coordinates run it together.
    pub fn collective(&self) -> impl Iterator<Item = HardwareAxis> {
        self.iter().filter(|(_, p)| matches!(p, Presence::Collective)).map(|(axis, _)| axis)
    }

    /// The executor without its inames: what can be said of a part without its kernel.
    pub fn unnamed(&self) -> Executor<()> {
        Executor::from_fn(|axis| match &self[axis] {
            Presence::At(_) => Presence::At(()),
            Presence::Elected => Presence::Elected,
            Presence::Replicated => Presence::Replicated,
            Presence::Collective => Presence::Collective,
        })
    }
}

impl<I> Index<HardwareAxis> for Executor<I> {
    type Output = Presence<I>;

    fn index(&self, axis: HardwareAxis) -> &Presence<I> {
        &self.0[axis]
    }
}

impl<I> IndexMut<HardwareAxis> for Executor<I> {
    fn index_mut(&mut self, axis: HardwareAxis) -> &mut Presence<I> {
        &mut self.0[axis]
    }
}

/// Who owns the cells of an array: the axes on which threads differ that have cells of their own.
/// Where the set is empty, all threads of all blocks have the same cells.
pub fn owner(space: AddressSpace) -> AxisSet {
    let owns = |axis: &HardwareAxis| match (space, axis) {
        (AddressSpace::Private, HardwareAxis::Block(_) | HardwareAxis::Grid(_)) => true,
        (AddressSpace::Shared, HardwareAxis::Grid(_)) => true,
        (AddressSpace::Shared, HardwareAxis::Block(_)) => false,
        (AddressSpace::Global, HardwareAxis::Block(_) | HardwareAxis::Grid(_)) => false,
        // Nobody writes a constant table: all threads see one.
        (AddressSpace::Constant, HardwareAxis::Block(_) | HardwareAxis::Grid(_)) => false,
    };
    HardwareAxis::all().filter(owns).collect()
}

/// The lanes of a thread that have cells of a private array of their own each, in the order in
/// which they are first met: those in which it is written, and outside of which nothing touches it.
/// `touching` is, of each part that touches it: the lanes in which it runs, and whether it writes.
/// Where something touches the array outside of a lane, all values of the lane have the same cells,
/// which subscripts tell apart; a scalar has none, and belongs to each lane in which it is written.
pub fn owning_lanes<'a>(
    is_scalar: bool,
    touching: impl Iterator<Item = (&'a [Name], bool)> + Clone,
) -> Vec<Name> {
    let mut owning: Vec<Name> = Vec::new();
    for lane in touching.clone().filter(|(_, writes)| *writes).flat_map(|(lanes, _)| lanes) {
        let is_around_all = || touching.clone().all(|(lanes, _)| lanes.contains(lane));
        if !owning.contains(lane) && (is_scalar || is_around_all()) {
            owning.push(lane.clone());
        }
    }
    owning
}

/// Whether threads that differ on these axes alone have cells of the space in common.
pub fn is_common_to(space: AddressSpace, axes: &[HardwareAxis]) -> bool {
    let owner = owner(space);
    !axes.iter().any(|axis| owner.contains(*axis))
}

/// Who runs a part with these inames.
///
/// A value of a thread is computed by every thread that reads it, and what a reduction over an axis
/// needs is there on all of the axis; for anything else the first thread or block of an axis
/// without an iname is elected. An axis that no iname of the kernel is on has one coordinate.
pub fn executor(lookup: &Lookup<'_>, instruction: &Instruction, part: Part, inames: &[Name]) -> Executor {
    let spaces = instruction.targets.iter().filter_map(|t| lookup.array(&t.array)).map(|a| a.space);
    let owner = owner(spaces.max().unwrap_or(AddressSpace::Private));
    let reduced: Vec<&Name> = match part {
        Part::Whole | Part::Finish => Vec::new(),
        Part::Init(_) | Part::Update(_) => {
            let reductions = instruction.reductions();
            let names = reductions.iter().flat_map(|r| &r.inames);
            names.flat_map(|i| lookup.base_of(i)).collect()
        }
    };
    let used = lookup.axes_in_use();
    let axis_of = |iname: &Name| lookup.tag(iname).axis();
    let mut on: PerAxis<Option<&Name>> = PerAxis::from_fn(|_| None);
    for iname in inames {
        if let Some(axis) = axis_of(iname) {
            on[axis].get_or_insert(iname);
        }
    }
    let over: AxisSet = reduced.into_iter().filter_map(axis_of).collect();
    Executor::from_fn(|axis| match on[axis] {
        _ if !used.contains(axis) => Presence::Elected,
        Some(iname) => Presence::At(iname.clone()),
        None if over.contains(axis) || owner.contains(axis) => Presence::Replicated,
        None => Presence::Elected,
    })
}

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::{Dim, LoopKernel, PartRef, Tag};

    use super::*;

    const X: HardwareAxis = HardwareAxis::Block(Dim::X);
    const Y: HardwareAxis = HardwareAxis::Block(Dim::Y);
    const BLOCKS: HardwareAxis = HardwareAxis::Grid(Dim::X);

    const ROWS: &str = "\
kernel rows(x: f32[n, 128], y: f32[n], n: i32)
assume 1 <= n
domain { [i, j, k] : 0 <= i < n and 0 <= j < 128 and 0 <= k < 128 }
temp own: f32
temp row: f32[128] shared
temp lone: f32[1] shared
temp all: f32[n] global
lone[0] = x[0, 0] {id=lone}
row[j] = x[i, j] {id=fill}
own = x[i, 0] {id=own}
row[0] = x[i, 0] {id=first}
all[i] = x[i, 0] {id=all}
y[i] = sum(k, row[k]) {id=add}
";

    /// Who runs a part of the kernel with a block for each row, and a thread for each column.
    fn of(id: &str, part: Part) -> Executor {
        let kernel = LoopKernel::parse(ROWS).unwrap();
        let kernel = kernel
            .edit::<()>(|data| {
                data.tags.insert("i".into(), Tag::Block(Dim::X));
                data.tags.insert("j".into(), Tag::Thread(Dim::X));
                data.tags.insert("k".into(), Tag::Thread(Dim::X));
                Ok(())
            })
            .unwrap();
        let lookup = Lookup::new(&kernel);
        let inames = lookup.part_inames(&PartRef { instruction: id.into(), part });
        executor(&lookup, kernel.instruction(id).unwrap(), part, &inames)
    }

    #[test]
    fn without_an_iname_on_an_axis_every_owner_of_the_target_runs_a_part_or_one_is_elected() {
        let at = |iname: &str| Presence::At(Name::new(iname));
        for (id, part, threads, blocks) in [
            ("fill", Part::Whole, at("j"), at("i")),
            ("own", Part::Whole, Presence::Replicated, at("i")),
            ("first", Part::Whole, Presence::Elected, at("i")),
            ("lone", Part::Whole, Presence::Elected, Presence::Replicated),
            ("all", Part::Whole, Presence::Elected, at("i")),
            ("add", Part::Init(0), Presence::Replicated, at("i")),
            ("add", Part::Update(0), at("k"), at("i")),
            ("add", Part::Finish, Presence::Elected, at("i")),
        ] {
            let found = of(id, part);
            assert_eq!((&found[X], &found[BLOCKS]), (&threads, &blocks), "{id} {part:?}");
            assert_eq!(found[Y], Presence::Elected, "no iname is there: {id} {part:?}");
        }
    }

    #[test]
    fn lanes_and_warps_are_coordinates_on_the_axes_of_threads() {
        let kernel = LoopKernel::parse(
            "\
kernel both(x: f32[4, 32], y: f32[32])
domain { [w, l, t] : 0 <= w < 4 and 0 <= l < 32 and 0 <= t < 32 }
temp row: f32[4, 32] shared
row[w, l] = x[w, l] {id=fill}
y[t] = row[0, t] {id=store}
",
        )
        .unwrap();
        let kernel = kernel
            .edit::<()>(|data| {
                data.tags.insert("w".into(), Tag::Warp);
                data.tags.insert("l".into(), Tag::Lane);
                data.tags.insert("t".into(), Tag::Thread(Dim::X));
                Ok(())
            })
            .unwrap();
        let lookup = Lookup::new(&kernel);
        let of = |id: &str| {
            let inames = lookup.part_inames(&PartRef { instruction: id.into(), part: Part::Whole });
            executor(&lookup, kernel.instruction(id).unwrap(), Part::Whole, &inames)
        };
        // Were lanes an axis beside x, the first lane would be elected for `store`, of which each
        // thread along x has an instance.
        assert_eq!((&of("fill")[X], &of("store")[X]), (&Presence::At("l".into()), &Presence::At("t".into())));
        assert_eq!((&of("fill")[Y], &of("store")[Y]), (&Presence::At("w".into()), &Presence::Elected));
    }

    #[test]
    fn cells_are_common_to_threads_that_differ_on_no_axis_of_their_owner() {
        let common = |space, axes| is_common_to(space, axes);
        let (threads, blocks) = (HardwareAxis::OF_BLOCK, HardwareAxis::OF_GRID);
        for (space, to_threads, to_blocks) in [
            (AddressSpace::Private, false, false),
            (AddressSpace::Shared, true, false),
            (AddressSpace::Global, true, true),
        ] {
            assert_eq!((common(space, threads), common(space, blocks)), (to_threads, to_blocks), "{space}");
        }
    }
}
