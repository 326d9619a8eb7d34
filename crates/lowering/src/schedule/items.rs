//! The body of a device kernel as items: loops, parts, joins of partial results, barriers.

use loopwright_kernel_ir::{AxisSet, Dim, Name, Part, PartRef, Tree};
use loopwright_legality::{Executor, Presence};

use crate::{
    analyse::{analysis::Analysis, scan_order},
    program::Note,
};

/// An element of a body: the kernel's loops and parts with what synchronises and joins them.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// A loop whose iterations run one after another.
    Loop { iname: Name, body: Vec<Item> },
    /// A part, by its number in [`Analysis::parts`].
    Leaf(usize),
    /// Joins the partial results of a reduction, before the part that uses the result.
    Join(Join),
    /// Resets the accumulators of a scan before the points of this round are added; the total of
    /// earlier rounds is carried separately.
    Start(Join),
    /// A barrier of all threads of the block.
    Sync(Note),
    /// The asynchronous copies so far are a group.
    Commit,
    /// A wait for all but this number of the youngest groups.
    Wait(u32, Note),
}

/// A join of partial results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    /// Number of the instruction.
    pub instruction: usize,
    /// Number of the reduction in it.
    pub reduction: usize,
    /// Lanes of a thread that are joined.
    pub lanes: Vec<Name>,
    /// Its executor: the threads of the joined axes collectively; on other axes that of the part
    /// that uses the result.
    pub executor: Executor,
    /// Whether all threads need the result, or only the first on each joined axis.
    pub to_all: bool,
    /// The part that uses the result.
    pub consumer: usize,
    /// Whether it is a scan: each lane and thread gets the joined value up to it, in order.
    pub scan: bool,
    /// The axis of the grid along which it is a scan from block to block, if it is one.
    pub tiles: Option<Dim>,
}

impl Join {
    /// The axes of the block that are joined.
    pub fn axes(&self) -> AxisSet {
        self.executor.collective().collect()
    }
}

impl Item {
    /// Calls `f` on each item, outer before inner.
    pub fn visit<'a>(items: &'a [Item], f: &mut dyn FnMut(&'a Item)) {
        for item in items {
            f(item);
            if let Item::Loop { body, .. } = item {
                Item::visit(body, f);
            }
        }
    }

    /// The parts below, in order.
    pub fn parts(items: &[Item]) -> Vec<usize> {
        let mut found = Vec::new();
        Item::visit(items, &mut |i| {
            if let Item::Leaf(part) = i {
                found.push(*part);
            }
        });
        found
    }

    /// Whether all threads of a block have to reach this item together: to synchronise, to join
    /// their partial results, or for an instruction of whole warps.
    pub fn converges(&self, analysis: &Analysis<'_>) -> bool {
        match self {
            Item::Sync(_) | Item::Commit | Item::Wait(..) => true,
            Item::Join(join) => !join.axes().is_empty(),
            Item::Leaf(part) => {
                let info = &analysis.parts[*part];
                let instruction = analysis.instruction(info);
                match info.execution.part.part {
                    Part::Update(_) => instruction.atom.is_some(),
                    Part::Whole => instruction.targets.iter().any(|t| analysis.fragment(&t.array).is_some()),
                    Part::Init(_) | Part::Finish => false,
                }
            }
            Item::Start(_) => false,
            Item::Loop { body, .. } => body.iter().any(|item| item.converges(analysis)),
        }
    }
}

/// The items of trees, with joins before the parts that use their results.
pub(crate) fn items_of(analysis: &Analysis<'_>, trees: &[Tree]) -> Vec<Item> {
    let mut items = Vec::new();
    for tree in trees {
        match tree {
            Tree::Loop { iname, body } => {
                let body = items_of(analysis, body);
                // A loop around dead instructions is dropped.
                if !body.is_empty() {
                    items.push(Item::Loop { iname: iname.clone(), body });
                }
            }
            Tree::Leaf(part) => {
                let Some(number) = analysis.numbers.get(part).copied() else {
                    continue;
                };
                for join in joins_before(analysis, number, part) {
                    if join.scan && scan_order::is_carried(analysis, join.instruction) {
                        let update = Part::Update(join.reduction);
                        let update = PartRef { instruction: part.instruction.clone(), part: update };
                        let update = analysis.numbers.get(&update).copied();
                        let adds = |i: &Item| {
                            update.is_some_and(|u| Item::parts(std::slice::from_ref(i)).contains(&u))
                        };
                        let at = items.iter().position(adds).unwrap_or(items.len());
                        items.insert(at, Item::Start(join.clone()));
                    }
                    items.push(Item::Join(join));
                }
                items.push(Item::Leaf(number));
            }
        }
    }
    items
}

fn joins_before(analysis: &Analysis<'_>, number: usize, part: &PartRef) -> Vec<Join> {
    let info = &analysis.parts[number];
    let instruction = analysis.instruction(info);
    if matches!(part.part, Part::Whole | Part::Init(_)) {
        return Vec::new();
    }
    let mut joins = Vec::new();
    for (n, reduce) in instruction.reductions().iter().enumerate() {
        if loopwright_legality::consumer(instruction, n) != part.part
            || !analysis.is_joined(info.instruction, n)
        {
            continue;
        }
        let inames: Vec<Name> =
            reduce.inames.iter().flat_map(|i| analysis.lookup.base_of(i).iter().cloned()).collect();
        let tag = |i: &Name| analysis.kernel.tag(i);
        let lanes: Vec<Name> = inames.iter().filter(|i| tag(i).is_jam()).cloned().collect();
        let on_axes = inames.iter().filter_map(|i| tag(i).axis());
        let axes: AxisSet = on_axes.filter(|axis| axis.is_in_block()).collect();
        if lanes.is_empty() && axes.is_empty() {
            continue;
        }
        let user = &info.execution.executor;
        let to_all = axes.iter().any(|axis| user[axis] != Presence::Elected);
        let executor = Executor::from_fn(|axis| match axes.contains(axis) {
            true => Presence::Collective,
            false => user[axis].clone(),
        });
        joins.push(Join {
            instruction: info.instruction,
            reduction: n,
            lanes,
            executor,
            to_all,
            consumer: number,
            scan: instruction.scan.is_some(),
            tiles: scan_order::tiles(analysis.kernel, &analysis.lookup, info.instruction),
        });
    }
    joins
}
