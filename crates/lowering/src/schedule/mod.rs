//! The schedule: everything that lowering decides, between the kernel and the program.
//!
//! A schedule has the launches of the host and, for each device kernel, a tree of [`Node`]s: loops
//! with their bounds and counters, guards, barriers with the dependence that requires each, joins
//! of partial results with their method, loads that several lanes share, vectors with their
//! remainders. [`show`] prints it (`loopwright check --schedule`), and `write` makes the program
//! from it without deciding anything.
//!
//! The passes, in order, each a file whose head states its algorithm:
//!
//! | pass | decides |
//! |---|---|
//! | [`host`] | launches: where a kernel ends, loops of the host, grids and blocks |
//! | [`crate::schedule::items`], [`crate::schedule::sync`] | order, joins before what uses them, barriers |
//! | [`between_blocks`] | refuses loops of the device whose blocks depend on one another |
//! | [`updates`] | which updates are atomic |
//! | [`waits`] | groups of asynchronous copies, and waits for them |
//! | [`guards`] | which guards are placed around which parts |
//! | [`loops`] | bounds of loops, loops of one iteration |
//! | [`pieces`] | loops over vectors of which some are partial |
//! | [`lanes`], [`loads`], [`vectors`] | which work of a statement is done per lane, which once, which by vectors |
//! | [`atoms`], [`fragments`] | which updates hardware instructions do, and what is loaded for them |
//! | [`stored`] | which results warps store as matrices |
//! | [`joins`], [`join_barriers`] | how threads join their partial results, and the barriers between |
//! | [`early`] | which kernels start before the launches before them have ended |
//! | [`storage`] | where temporaries and accumulators live |
//! | [`counters`] | which index a loop counts |
//! | [`conditions`] | which statements share a branch of the kernel's predicates |
//!
//! A nest over segments of unequal length has a plan of its own ([`crate::flat::plan`]), whose
//! launches are in the schedule like others.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use loopwright_atom::Atom;
use loopwright_kernel_ir::{Access, Aff, Constraint, DType, Dim, Expr, Name, PerDim, UpdateOp};
use loopwright_poly::Bound;

use crate::{
    analyse::analysis::{Analysis, Guard, PartInfo},
    program::Note,
    schedule::{items::Join, join_barriers::JoinBarriers, joins::JoinPlan, loop_bounds::LoopBounds},
};

pub(crate) mod atoms;
mod between_blocks;
pub(crate) mod block;
mod conditions;
pub(crate) mod counters;
mod depend;
pub(crate) mod early;
mod fragments;
pub(crate) mod grid;
pub(crate) mod guards;
pub(crate) mod host;
pub(crate) mod items;
pub(crate) mod join_barriers;
pub(crate) mod joins;
pub(crate) mod lanes;
pub(crate) mod loads;
pub(crate) mod loop_bounds;
pub(crate) mod loops;
pub(crate) mod partition;
pub(crate) mod pieces;
pub(crate) mod place;
pub(crate) mod planner;
mod race;
pub(crate) mod show;
pub(crate) mod spoken;
pub(crate) mod storage;
mod stored;
pub(crate) mod sync;
pub(crate) mod updates;
pub(crate) mod vectors;
pub(crate) mod waits;

use place::Place;

/// All decisions for a kernel.
pub(crate) struct Schedule {
    pub host: Vec<HostNode>,
    pub kernels: Vec<KernelPlan>,
}

/// An action of the host: a launch, or a loop around launches.
pub(crate) enum HostNode {
    /// Launches the kernel of this number.
    Launch(usize),
    /// Repeats the actions inside.
    For { iname: Name, bounds: LoopBounds, around: HostPlace, body: Vec<HostNode>, note: Note },
}

/// Facts known inside host loops.
#[derive(Clone, Default)]
pub(crate) struct HostPlace {
    /// Their inames, outermost first.
    pub around: Vec<Name>,
    /// The values of those that have one value only.
    pub fixed: BTreeMap<Name, Aff>,
    /// Constraints on their inames that hold inside of them.
    pub known: Vec<Constraint>,
}

/// One launch of a device kernel, with all that is decided about it.
pub(crate) struct KernelPlan {
    pub name: Name,
    /// The host loops around it.
    pub around: HostPlace,
    /// Why it is a separate kernel, and why its host loops are needed.
    pub notes: Vec<Note>,
    /// The parts that it runs.
    pub parts: Vec<usize>,
    /// Whether it starts before the launches before it have ended, for which its threads wait.
    pub starts_early: bool,
    pub body: KernelBody,
}

/// The body of a launch.
pub(crate) enum KernelBody {
    /// A tree of nodes, as all kernels have that flatten no nest.
    Nodes(Box<Body>),
    /// A launch of a nest over segments, by its plan.
    Segments(crate::flat::Launch),
}

/// The body of a kernel as a tree of nodes, with the shape of its launch.
pub(crate) struct Body {
    pub block: PerDim<u32>,
    /// The number of blocks on each axis of the grid; one on axes that are missing here.
    pub grid: BTreeMap<Dim, GridExtent>,
    /// Facts known where the kernel begins.
    pub place: Place,
    pub nodes: Vec<Node>,
    /// The arrays through which its threads pass values to each other.
    pub exchanged: BTreeSet<Name>,
}

/// The number of blocks on an axis: the maximum over parts of the minimum of each part's bounds.
#[derive(Clone, Debug)]
pub(crate) struct GridExtent {
    pub uppers: Vec<Vec<Bound>>,
    /// Whether there is at least one block, even if the bounds are empty.
    pub at_least_one: bool,
}

/// An element of the body of a kernel.
pub(crate) enum Node {
    /// A loop whose iterations run one after another.
    Loop(Loop),
    /// A loop of one iteration: its iname is this value.
    Once { iname: Name, value: Aff, inside: Place, body: Vec<Node> },
    /// Runs nodes where conditions hold.
    Guard(Guarded),
    /// Runs if some lane of a vector is in range and some lane is not.
    Ends { ends: Ends, note: Note, body: Vec<Node> },
    /// For each value of a lane, unrolled.
    Lane { lane: Name, inside: Place, body: Vec<Node> },
    /// A statement of a part, for one value of each lane.
    Statement(Statement),
    /// Statements that the kernel states under a predicate.
    Branch(Branch),
    /// Elements that lanes share are loaded before the nodes that read them.
    Loads { of: Which, loads: Vec<Load>, body: Vec<Node> },
    /// A statement over a vector's lanes.
    Vector(Box<Vector>),
    /// The vectors of a statement are loaded, for all its lanes.
    VectorLoads { of: Which, accesses: Vec<Access>, around: Vec<Name>, lane: Name, length: i64, first: Place },
    /// All vector loads of the lanes, then the work on what they loaded.
    Ahead { accesses: Vec<Access>, lanes: Vec<Name>, loads: Vec<Node>, uses: Vec<Node> },
    /// The updates of a reduction, done by a hardware instruction.
    Atom(Box<AtomPlan>),
    /// The results of a part, which a warp stores as matrices.
    StoreMatrices(Box<StorePlan>),
    /// Joins the partial results of a reduction; or, for a scan, gives each lane and thread the
    /// joined value up to it.
    Join { join: Join, plan: JoinPlan, barriers: JoinBarriers },
    /// The accumulators of a scan are reset.
    Start(Join),
    /// A barrier of all threads of the block.
    Sync(Note),
    /// The asynchronous copies so far are a group.
    Commit,
    /// A wait for all but this number of the youngest groups.
    Wait(u32, Note),
    /// From here on these facts are known: the ranges of loaded values.
    Known(Place),
}

/// A loop whose iterations run one after another, with its bounds and what it counts.
pub(crate) struct Loop {
    pub iname: Name,
    pub bounds: LoopBounds,
    pub unroll: bool,
    pub counter: Counter,
    pub note: Note,
    pub inside: Place,
    pub body: Vec<Node>,
}

/// What the variable of a loop in the program is.
pub(crate) enum Counter {
    /// The iname of the loop.
    Iname,
    /// A sum that the body uses instead.
    Sum(Sum),
}

/// `name = step*iname + rest`.
pub(crate) struct Sum {
    pub name: Name,
    pub step: i64,
    pub rest: Aff,
    /// The exclusive upper bound is the least of these.
    pub ends: Vec<Aff>,
    /// Its value over canonical names.
    pub canonical: Aff,
}

/// Nodes that run where all guards hold.
pub(crate) struct Guarded {
    pub guards: Vec<Guard>,
    /// The guards that a comment explains, and the part that they belong to.
    pub explained: Vec<Guard>,
    pub of: Option<Which>,
    pub inside: Place,
    pub body: Vec<Node>,
}

/// A statement of a part, for one value of its lanes.
pub(crate) struct Statement {
    pub of: Which,
    /// Elements that it reads several times.
    pub repeated: Vec<Access>,
    /// Where these hold, a copy copies its source; elsewhere it writes its filling.
    pub filling: Vec<Guard>,
    /// How it updates its target atomically, if it does; see [`updates`].
    pub atomic: Option<UpdateOp>,
}

/// Statements that run where a predicate of the kernel holds, and others where it does not.
pub(crate) struct Branch {
    pub predicate: Expr,
    /// Elements that are loaded before, each once, for these parts; one that has several names is
    /// given by all of them.
    pub loads: Vec<(Which, Vec<Access>)>,
    pub then: Vec<Node>,
    pub otherwise: Vec<Node>,
}

/// A load that lanes share.
pub(crate) struct Load {
    pub access: Access,
    pub how: LoadHow,
}

/// How lanes share loads.
pub(crate) enum LoadHow {
    /// All of them one element.
    Variable,
    /// An element for each value of these.
    Elements(Vec<Name>),
    /// A vector of the last of these, of this length, for each value of the others.
    Vectors(Vec<Name>, i64, Box<Place>),
}

impl LoadHow {
    /// The lanes for whose values there are separate elements.
    pub fn lanes(&self) -> &[Name] {
        match self {
            LoadHow::Variable => &[],
            LoadHow::Elements(lanes) | LoadHow::Vectors(lanes, ..) => lanes,
        }
    }
}

/// A statement over a vector's lanes.
pub(crate) struct Vector {
    pub of: Which,
    pub lane: Name,
    pub length: i64,
    /// The accesses that are vector loads.
    pub reads: Vec<Access>,
    /// The accesses that are vector stores.
    pub write: Option<Access>,
    /// Where these hold, a copy loads its vector; elsewhere it fills all lanes.
    pub filling: Vec<Guard>,
    /// Where the first lane runs.
    pub first: Place,
    /// The nodes inside the loop over the lanes.
    pub inside: Place,
    pub statement: Statement,
}

/// What a warp does for an atom: updates, in the loop over its `k` and the lanes around, with the
/// loads of fragments for them; or loads of fragments alone.
pub(crate) struct AtomPlan {
    pub of: Which,
    pub atom: Arc<Atom>,
    /// The inames of its `m`, `n` and `k`.
    pub axes: [Name; 3],
    /// The statements that the atom stands for.
    pub contract: Vec<Node>,
    /// The fragments to load, in order.
    pub fragments: Vec<Fragment>,
    /// The product, unless fragments are only loaded.
    pub product: Option<Product>,
    pub inside: Place,
}

/// The product of fragments.
pub(crate) struct Product {
    /// The lanes of the thread that are digits of an element's number in `d`, least significant
    /// first.
    pub registers: Vec<Name>,
    /// The other lanes of the thread, outermost first, each with the place inside its loop.
    pub lanes: Vec<Name>,
    /// Where the fragments of `a` and `b` are.
    pub factors: [Factor; 2],
}

/// The fragment of a factor.
pub(crate) enum Factor {
    /// The one of this number among those that are loaded with the product.
    Loaded(usize),
    /// One that instructions of its own have loaded.
    Held(Held),
}

/// A row of an array of fragments, which stands for a private array of the kernel.
pub(crate) struct Held {
    /// The array of the kernel.
    pub array: Name,
    /// The lengths of the axes that number fragments.
    pub lengths: Vec<u64>,
    /// The subscripts on these axes.
    pub row: Vec<Expr>,
}

/// The elements of a factor that a lane loads.
pub(crate) struct Fragment {
    /// The lanes of the thread for whose values there are separate fragments.
    pub lanes: Vec<Name>,
    pub array: Name,
    /// The number of its elements.
    pub elements: i64,
    pub loads: FragmentLoads,
    /// Where they are kept, if not for the product that follows alone.
    pub held: Option<Held>,
}

/// How a fragment is loaded.
pub(crate) enum FragmentLoads {
    /// Each lane loads its own elements, a number of neighbours at once. The subscripts of each,
    /// over canonical names.
    Words(Vec<Vec<Aff>>, i64),
    /// Each lane loads its own elements one by one, where guards hold, and takes zeros elsewhere.
    /// Of each the subscripts, and the guards, over canonical names.
    Chosen(Vec<(Vec<Aff>, Vec<Guard>)>),
    /// The warp loads matrices of eight rows of 16 bytes. The subscripts of the row whose address a
    /// lane gives, and how many fragments one load takes: neighbours along the last of the lanes,
    /// of which the row is that of the first.
    Matrices { row: Vec<Aff>, transposed: bool, together: i64 },
}

/// Results that a warp stores as matrices of eight rows of 16 bytes.
pub(crate) struct StorePlan {
    pub of: Which,
    pub target: Access,
    pub dtype: DType,
    /// The statements that compute what is stored, in the loops over the lanes.
    pub values: Vec<Node>,
    /// The lanes of the thread.
    pub all: Vec<Name>,
    /// The same, in the order of the axes of the array in which values are kept until then.
    pub order: Vec<Name>,
    /// The lanes in whose loops matrices are stored, the last one by `together`.
    pub lanes: Vec<Name>,
    /// The subscripts of the row whose address a lane gives.
    pub row: Vec<Aff>,
    pub transposed: bool,
    /// The matrices of one store, those of `together` boxes.
    pub matrices: u8,
    pub together: i64,
    pub inside: Place,
}

/// A condition for partial vectors: one of `fails` does not hold, and all of `holds` do.
#[derive(PartialEq, Eq)]
pub(crate) struct Ends {
    pub fails: Vec<Constraint>,
    pub holds: Vec<Constraint>,
}

/// A part, or some of its instances.
#[derive(Clone)]
pub(crate) struct Which {
    pub number: usize,
    pub piece: Option<Rc<PartInfo>>,
}

impl Which {
    pub fn info<'a>(&'a self, analysis: &'a Analysis<'_>) -> &'a PartInfo {
        match &self.piece {
            Some(piece) => piece,
            None => &analysis.parts[self.number],
        }
    }
}

impl Node {
    /// The bodies inside, in order.
    pub fn bodies(&self) -> Vec<&[Node]> {
        match self {
            Node::Loop(Loop { body, .. })
            | Node::Once { body, .. }
            | Node::Guard(Guarded { body, .. })
            | Node::Ends { body, .. }
            | Node::Lane { body, .. }
            | Node::Loads { body, .. } => vec![body],
            Node::StoreMatrices(plan) => vec![&plan.values],
            Node::Branch(Branch { then, otherwise, .. }) => vec![then, otherwise],
            Node::Ahead { loads, uses, .. } => vec![loads, uses],
            Node::Statement(_)
            | Node::Vector(_)
            | Node::VectorLoads { .. }
            | Node::Atom(_)
            | Node::Join { .. }
            | Node::Start(_)
            | Node::Sync(_)
            | Node::Commit
            | Node::Wait(..)
            | Node::Known(_) => Vec::new(),
        }
    }

    /// The bodies inside, and the contract of an instruction of the hardware.
    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<Node>> {
        match self {
            Node::Loop(Loop { body, .. })
            | Node::Once { body, .. }
            | Node::Guard(Guarded { body, .. })
            | Node::Ends { body, .. }
            | Node::Lane { body, .. }
            | Node::Loads { body, .. } => vec![body],
            Node::StoreMatrices(plan) => vec![&mut plan.values],
            Node::Atom(plan) => vec![&mut plan.contract],
            Node::Branch(Branch { then, otherwise, .. }) => vec![then, otherwise],
            Node::Ahead { loads, uses, .. } => vec![loads, uses],
            Node::Statement(_)
            | Node::Vector(_)
            | Node::VectorLoads { .. }
            | Node::Join { .. }
            | Node::Start(_)
            | Node::Sync(_)
            | Node::Commit
            | Node::Wait(..)
            | Node::Known(_) => Vec::new(),
        }
    }

    /// Calls `f` on each node, outer before inner.
    pub fn visit<'a>(nodes: &'a [Node], f: &mut dyn FnMut(&'a Node)) {
        for node in nodes {
            f(node);
            for body in node.bodies() {
                Node::visit(body, f);
            }
        }
    }
}
