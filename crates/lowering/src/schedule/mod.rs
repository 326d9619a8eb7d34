//! The schedule: everything that lowering decides, between the kernel and the program.
//!
//! A schedule has the launches of the host and, for each device kernel, a tree of [`Node`]s: loops
//! with their bounds and what they count, guards, barriers with the dependence that needs each,
//! joins of partial results with how they are done, loads that several lanes share, vectors with
//! what remains of them. [`show`] prints it (`loopwright check --schedule`), and `write` makes the
//! program from it without deciding anything.
//!
//! The passes, in order, each a file whose head states its algorithm:
//!
//! | pass | decides |
//! |---|---|
//! | [`host`] | launches: where a kernel ends, loops of the host, grids and blocks |
//! | [`crate::schedule::items`], [`crate::schedule::sync`] | order, joins before what uses them, barriers |
//! | [`guards`] | which parts come under which guards |
//! | [`loops`] | bounds of loops, loops of one iteration |
//! | [`pieces`] | loops over vectors of which some lie partly outside of the range |
//! | [`lanes`], [`loads`], [`vectors`] | what of a statement is done for each lane, what once, what by vectors |
//! | [`joins`] | how threads join their partial results |
//! | [`storage`] | where temporaries and accumulators live |
//! | [`counters`] | which index a loop counts |

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use loopwright_kernel_ir::{Access, Aff, Constraint, Dim, Name};
use loopwright_poly::Bound;

use crate::{
    analyse::analysis::{Analysis, Guard, PartInfo},
    program::Note,
    schedule::{items::Join, joins::JoinPlan, loop_bounds::LoopBounds},
};

pub(crate) mod block;
pub(crate) mod counters;
pub(crate) mod grid;
pub(crate) mod guards;
pub(crate) mod host;
pub(crate) mod items;
pub(crate) mod joins;
pub(crate) mod lanes;
pub(crate) mod loads;
pub(crate) mod loop_bounds;
pub(crate) mod loops;
pub(crate) mod pieces;
pub(crate) mod place;
pub(crate) mod planner;
pub(crate) mod show;
pub(crate) mod spoken;
pub(crate) mod storage;
pub(crate) mod sync;
pub(crate) mod vectors;

use place::Place;

/// All that is decided for a kernel.
pub(crate) struct Schedule {
    pub host: Vec<HostNode>,
    pub kernels: Vec<KernelPlan>,
}

/// What the host does.
pub(crate) enum HostNode {
    /// Launches the kernel of this number.
    Launch(usize),
    /// Repeats what is inside.
    For { iname: Name, bounds: LoopBounds, around: HostPlace, body: Vec<HostNode>, note: Note },
}

/// What is known inside of loops of the host.
#[derive(Clone, Default)]
pub(crate) struct HostPlace {
    /// Their inames, outermost first.
    pub around: Vec<Name>,
    /// The values of those that have one value only.
    pub fixed: BTreeMap<Name, Aff>,
    /// What they guarantee.
    pub known: Vec<Constraint>,
}

/// One launch.
pub(crate) struct KernelPlan {
    pub name: Name,
    /// The loops of the host around it.
    pub around: HostPlace,
    /// Why it is a kernel of its own, and what its host loops are for.
    pub notes: Vec<Note>,
    /// The parts that it runs.
    pub parts: Vec<usize>,
    pub body: KernelBody,
}

/// What a launch does.
pub(crate) enum KernelBody {
    /// What its nodes say.
    Nodes(Box<Body>),
    /// A launch of a nest over segments.
    Segments(crate::flat::Launch),
}

/// A kernel of nodes.
pub(crate) struct Body {
    pub block: [u32; 3],
    /// How many blocks there are on the axes of the grid; one on those that it does not have.
    pub grid: BTreeMap<Dim, GridExtent>,
    /// What is known where the kernel begins.
    pub place: Place,
    pub nodes: Vec<Node>,
    /// The arrays through which its threads pass values to each other.
    pub exchanged: BTreeSet<Name>,
}

/// How many blocks an axis has: for each kind of part the least of its bounds, of these the
/// greatest.
#[derive(Clone, Debug)]
pub(crate) struct GridExtent {
    pub uppers: Vec<Vec<Bound>>,
    /// Whether something has to run even where the bounds leave nothing.
    pub at_least_one: bool,
}

/// An element of the body of a kernel.
pub(crate) enum Node {
    /// A sequential loop.
    Loop(Loop),
    /// A loop of one iteration: its iname is this value.
    Once { iname: Name, value: Aff, inside: Place, body: Vec<Node> },
    /// Runs where these hold.
    Guard(Guarded),
    /// Runs where some lane of a vector is in range and some is not.
    Ends { ends: Ends, note: Note, body: Vec<Node> },
    /// For each value of a lane, unrolled.
    Lane { lane: Name, inside: Place, body: Vec<Node> },
    /// A statement of a part.
    Statement(Statement),
    /// What lanes share is loaded before what reads it.
    Loads { of: Which, loads: Vec<Load>, body: Vec<Node> },
    /// A statement over a vector's lanes.
    Vector(Box<Vector>),
    /// The vectors of a statement are loaded, for all its lanes.
    VectorLoads { of: Which, accesses: Vec<Access>, around: Vec<Name>, lane: Name, length: i64, first: Place },
    /// All that lanes load by vectors, then what is done with it.
    Ahead { accesses: Vec<Access>, lanes: Vec<Name>, loads: Vec<Node>, uses: Vec<Node> },
    /// The partial results of a reduction become one; or each lane and thread gets what is joined up
    /// to it.
    Join { join: Join, plan: JoinPlan },
    /// The accumulators of a scan are reset.
    Start(Join),
    /// A block-wide barrier.
    Sync(Note),
    /// From here on this is known: the ranges of what has been loaded.
    Known(Place),
}

/// A sequential loop.
pub(crate) struct Loop {
    pub iname: Name,
    pub bounds: LoopBounds,
    pub unroll: bool,
    pub counter: Counter,
    pub note: Note,
    pub inside: Place,
    pub body: Vec<Node>,
}

/// What a loop counts.
pub(crate) enum Counter {
    /// Its iname.
    Iname,
    /// A sum that the body speaks of instead.
    Sum(Sum),
}

/// `name = step*iname + rest`.
pub(crate) struct Sum {
    pub name: Name,
    pub step: i64,
    pub rest: Aff,
    /// The least of these is the value that is not reached.
    pub ends: Vec<Aff>,
    /// What it is over canonical names.
    pub canonical: Aff,
}

/// What runs under guards.
pub(crate) struct Guarded {
    pub guards: Vec<Guard>,
    /// Those that a comment explains, and whose they are.
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
    /// Where these hold, a copy copies; elsewhere it writes its filling.
    pub filling: Vec<Guard>,
}

/// A load that lanes share.
pub(crate) struct Load {
    pub access: Access,
    pub how: LoadHow,
}

/// How lanes share what they load.
pub(crate) enum LoadHow {
    /// All of them one element.
    Variable,
    /// An element for each value of these.
    Elements(Vec<Name>),
    /// A vector of the last of these, of this length, for each value of the others.
    Vectors(Vec<Name>, i64, Box<Place>),
}

impl LoadHow {
    /// The lanes whose values have elements of their own.
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
    /// What is read by vectors.
    pub reads: Vec<Access>,
    /// What is written by vectors.
    pub write: Option<Access>,
    /// Where the first lane runs.
    pub first: Place,
    /// Inside of the loop over the lanes.
    pub inside: Place,
    pub statement: Statement,
}

/// Which lanes of vectors a condition singles out: where one of `fails` does not hold and all of
/// `holds` do.
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
            Node::Ahead { loads, uses, .. } => vec![loads, uses],
            Node::Statement(_)
            | Node::Vector(_)
            | Node::VectorLoads { .. }
            | Node::Join { .. }
            | Node::Start(_)
            | Node::Sync(_)
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
