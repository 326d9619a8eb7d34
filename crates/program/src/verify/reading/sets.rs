//! What a reading consists of: scopes, loops, accesses, statements of parts, and the structure of a
//! body.

use std::ops::Range;

use loopwright_kernel_ir::{Aff, Constraint, Kind, Name};
use loopwright_legality::Load;

use super::Copied;
use crate::{
    Atomic, LeafId, MemRef, Memory, Program, Scope as SyncScope, Step, Stmt, Value, verify::integers::Asked,
};

/// The name, in constraints, of the elements of a vector that is touched.
pub(in crate::verify) fn lane_of(touch: TouchId) -> Name {
    Name::new(format!("lane of {touch}"))
}

/// The name of a loop's counter in constraints.
pub(in crate::verify) fn name_of_loop(variable: &Name, var: usize) -> Name {
    Name::new(format!("{variable}#{var}"))
}

/// The number of a [`Scope`] in [`Reading::scopes`].
pub(in crate::verify) type ScopeId = usize;

/// The number of a [`Touch`] in [`Reading::touches`].
pub(in crate::verify) type TouchId = usize;

/// The names that constraints are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verify) enum Terms {
    /// The variables of the text: counters of loops and named indices.
    Text,
    /// The inames of the kernel that indices and loops stand for.
    Instances,
}

/// A conjunction of constraints and of disjunctions.
#[derive(Clone, Debug, Default)]
pub(in crate::verify) struct Rows {
    pub all: Vec<Constraint>,
    pub either: Vec<Vec<Constraint>>,
}

impl Rows {
    /// Adds that the one holds or the other: each part of the one, or each of the other.
    pub fn one_of(&mut self, one: Rows, other: Rows) {
        let (one, other) = (one.alternatives(), other.alternatives());
        for (a, b) in one.iter().flat_map(|a| other.iter().map(move |b| (a, b))) {
            let mut list: Vec<Constraint> = Vec::new();
            for c in a.iter().chain(b) {
                // What follows from one that is there already is not an alternative to it.
                if !list.iter().any(|known| follows(known, c)) {
                    list.retain(|known| !follows(c, known));
                    list.push(c.clone());
                }
            }
            match list.as_slice() {
                [c] => self.all.push(c.clone()),
                _ => self.either.push(list),
            }
        }
    }

    /// All of it as lists, each with at least one constraint that holds.
    pub fn alternatives(self) -> Vec<Vec<Constraint>> {
        self.all.into_iter().map(|c| vec![c]).chain(self.either).collect()
    }
}

/// Whether a constraint plainly follows from another one: if it is the same one, or differs from it
/// by a constant.
fn follows(c: &Constraint, from: &Constraint) -> bool {
    let by_constant = || c.aff.sub(&from.aff).ok().and_then(|more| more.as_constant());
    c == from || c.kind == Kind::Ge && from.kind == Kind::Ge && by_constant().is_some_and(|more| more >= 0)
}

/// A statement that gives the value of a part, or prepares it.
#[derive(Clone, Debug)]
pub(in crate::verify) struct Done {
    pub leaf: LeafId,
    pub scope: ScopeId,
    /// The lane that its elements are, if it is a copy and that is known.
    pub copied: Option<Copied>,
    /// The value of the part, or what it prepares for one.
    pub gives: Given,
    /// The turns from the beginning of the text to the statement.
    pub path: Vec<Turn>,
}

/// One turn on the way from the beginning of a text to a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verify) enum Turn {
    /// To the statement with this number of a body.
    Nth(usize),
    /// Into the loop with this number in [`Reading::loops`].
    Loop(usize),
    /// Into a side of a choice.
    Side(bool),
}

/// What a statement of a part gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::verify) enum Given {
    /// The value of the part with this number.
    Value(u8),
    /// Elements of the private array with this number, for a value of the part.
    Prepared(usize),
    /// Anything else that serves the part.
    Support,
}

impl Given {
    pub fn of(stmt: &Stmt, program: &Program) -> Given {
        if let Some((_, number)) = stmt.gives(&program.leaves) {
            return Given::Value(number);
        }
        match stmt {
            Stmt::Store { to: MemRef { memory: Memory::Private(array), .. }, .. }
            | Stmt::VectorCopy { to: MemRef { memory: Memory::Private(array), .. }, .. } => {
                Given::Prepared(*array)
            }
            _ => Given::Support,
        }
    }

    /// The number of the part's value.
    pub fn value(self) -> Option<u8> {
        match self {
            Given::Value(number) => Some(number),
            Given::Prepared(_) | Given::Support => None,
        }
    }
}

/// A named index or a loop, to be held to what it means.
#[derive(Clone, Debug)]
pub(in crate::verify) enum Named {
    /// The index of this name has this value in the scope, and means that.
    Index { name: Name, scope: ScopeId, value: Aff, meaning: Aff },
    /// The index of this name has a value in the scope that is not followed.
    Unread { name: Name, scope: ScopeId },
    /// A scalar that lanes are given is read here, with the value of the first lane for all of
    /// them, after `behind` of the statements that give such values. Statements of parts for which
    /// it is read come from this number of [`Reading::done`] on.
    OfLanes { name: Name, scope: ScopeId, behind: usize, from: usize },
    /// The loop starts there, and advances by a constant.
    Loop { name: Name, scope: ScopeId, lower: Option<Aff>, step: Step, meaning: Aff, inames: Vec<Name> },
}

/// A loop of the host: its variable, and from where to where it goes.
pub(in crate::verify) type HostLoop<'p> = (Name, &'p Value, &'p Value);

/// A loop of the text.
#[derive(Clone, Debug)]
pub(in crate::verify) struct Loop {
    /// Its name in constraints.
    pub name: Name,
    /// How the counter changes from one iteration to the next.
    pub step: Step,
    /// The functions of which the greatest is where it starts; none if that is anything else.
    pub lowers: Vec<Aff>,
    /// The functions of which the least is the value that it ends before, or at if it halves; none
    /// if that is anything else.
    pub uppers: Vec<Aff>,
    /// The scope in which the loop stands.
    pub scope: ScopeId,
    /// The condition that it has an iteration, at the place before it.
    pub begins: Says,
    /// The condition that an iteration is not the last one.
    pub goes_on: Says,
    /// Whether it contains a barrier of the block, or a commit of asynchronous copies or a wait.
    pub has_events: bool,
    /// Whether it contains a barrier of the block.
    pub synchronises: bool,
    /// Whether it contains a barrier of the block or of single warps.
    pub joins_lanes: bool,
    /// What it counts, if that is known; of a loop that counts nothing of the kernel, but has at
    /// most one iteration, the number of that.
    pub counter: Option<Aff>,
    /// The inames that it counts and no loop around it does.
    pub inames: Vec<Name>,
}

impl Loop {
    /// The value of its first iteration; `None` if it is the greatest of several, or not affine.
    pub fn start(&self) -> Option<&Aff> {
        single(&self.lowers)
    }

    /// The value of its first iteration, if that plainly is the only one.
    pub fn only_value(&self, step: Step) -> Option<&Aff> {
        let first = self.start()?;
        let is_behind = |end: &Aff, next: i64| end.sub(first).ok()?.as_constant().map(|d| d <= next);
        let ends = |next| self.uppers.iter().any(|end| is_behind(end, next) == Some(true));
        let known = first.as_constant();
        let single = match step {
            Step::Add(step) => step > 0 && ends(step),
            Step::Double => known.is_some_and(|k| k > 0 && ends(k)),
            Step::Halve => {
                let end = self.end().and_then(Aff::as_constant);
                known.zip(end).is_some_and(|(k, end)| k / 2 <= end)
            }
        };
        single.then_some(first)
    }

    /// The value before which it ends, or at which if it halves; `None` if it is the least of
    /// several, or not affine.
    pub fn end(&self) -> Option<&Aff> {
        single(&self.uppers)
    }
}

fn single(of: &[Aff]) -> Option<&Aff> {
    match of {
        [one] => Some(one),
        _ => None,
    }
}

/// What holds at a place of the text.
#[derive(Clone, Debug, Default)]
pub(in crate::verify) struct Scope {
    /// Loops and guards around, as constraints.
    pub rows: Vec<Constraint>,
    /// Disjunctions, such as of a condition with `or`, or of a lower bound that is a minimum: of
    /// each list at least one constraint holds.
    pub either: Vec<Vec<Constraint>>,
    /// Loops around, outermost first: numbers in [`Reading::loops`].
    pub loops: Vec<usize>,
    /// The values read from data that occur in the constraints.
    pub loads: Vec<Load>,
    /// Whether the constraints are all that restricts the executions.
    pub exact: bool,
    /// Whether a condition or a bound was left out, because it is not affine.
    pub unread: bool,
    /// If predicates of the kernel stand around: the same place without what they say.
    pub guards: Option<ScopeId>,
}

impl Scope {
    /// Whether the constraints and the disjunctions are all that restricts the executions.
    pub fn is_whole(&self) -> bool {
        !self.unread && self.loads.is_empty()
    }
}

/// An access of shared or global memory.
#[derive(Clone, Debug)]
pub(in crate::verify) struct Touch {
    pub memory: Memory,
    pub write: bool,
    /// The kind of atomic update that it is, if it is one.
    pub atomic: Option<Atomic>,
    /// Whether that is one step among the threads of a block alone.
    pub in_block: bool,
    /// Whether it is that of an asynchronous copy: it happens after it has been issued.
    pub asynchronous: bool,
    /// Its subscripts; `None` where one is not affine.
    pub cell: Vec<Option<Aff>>,
    pub scope: ScopeId,
    /// The conditions of the choices around it in its statement's value, which its scope has, too;
    /// `None` if one is more than a conjunction of constraints.
    pub choices: Option<Vec<Constraint>>,
    pub leaf: Option<LeafId>,
}

/// The structure of a body, as far as order and barriers go.
#[derive(Clone, Debug)]
pub(in crate::verify) enum Node<'p> {
    /// A statement's accesses.
    Touches(Vec<TouchId>),
    /// A barrier of the block, or of each warp.
    Barrier(Barrier<'p>),
    /// The asynchronous copies so far are a group.
    Commit(Barrier<'p>),
    /// A wait for all but this number of the youngest groups.
    Wait(u32, Barrier<'p>),
    Loop(usize, Vec<Node<'p>>),
    /// Threads that have to run the next statement together, though they need not wait.
    Together(Barrier<'p>),
    /// The sides of a choice, with what each says and its body: where the condition holds, and
    /// where it does not.
    Choice([(Side, Vec<Node<'p>>); 2]),
}

/// What it says that a condition holds.
#[derive(Clone, Debug, Default)]
pub(in crate::verify) struct Says {
    pub rows: Vec<Constraint>,
    /// Whether that is all that it says.
    pub exact: bool,
}

impl Says {
    pub fn of(rows: Rows, exact: bool) -> Says {
        Says { exact: exact && rows.either.is_empty(), rows: rows.all }
    }
}

/// One side of an `if`.
#[derive(Clone, Debug, Default)]
pub(in crate::verify) struct Side {
    /// The condition on which the choice goes there.
    pub taken: Says,
    /// The scope of what stands there.
    pub scope: ScopeId,
}

/// A barrier, with the conditions under which a thread reaches it.
#[derive(Clone, Debug)]
pub(in crate::verify) struct Barrier<'p> {
    pub note: &'p str,
    /// The threads that wait for each other.
    pub among: SyncScope,
    /// Conditions and bounds of loops around, outermost first, and the scope in which each is
    /// evaluated.
    pub around: Vec<(ScopeId, Decision<'p>)>,
}

/// What decides whether, or how often, a body runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::verify) enum Decision<'p> {
    /// The condition of a choice, which side, and what a launch is asked of it.
    If(&'p Value, bool, Asked),
    /// Bounds of a loop, and its step.
    Bounds(&'p Value, &'p Value, Step),
}

/// The two forms of an atom's statements.
#[derive(Clone, Debug)]
pub(in crate::verify) struct AtomText<'p> {
    pub contract: &'p [Stmt],
    pub body: &'p [Stmt],
    /// What the contract reads of shared and global memory, in the order of the text.
    pub read: Range<TouchId>,
    /// What the body reads there.
    pub loaded: Range<TouchId>,
    /// What the contract accesses of private arrays: numbers in [`Reading::private`].
    pub contract_private: Range<usize>,
    /// What the body accesses of them.
    pub body_private: Range<usize>,
}

/// An access of an array, for the check of its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::verify) struct Access {
    pub memory: Memory,
    /// How many neighbours are accessed at once.
    pub lanes: u8,
    /// Whether they are a vector, at an aligned address and in one row; elements that merely follow
    /// each other in storage otherwise.
    pub aligned: bool,
    /// The axis along which they lie.
    pub dense: usize,
    /// The subscripts of the first; `None` where one is not affine.
    pub cell: Vec<Option<Aff>>,
    pub scope: ScopeId,
}

/// An access of a private array by the statements of an atom.
#[derive(Clone, Debug)]
pub(in crate::verify) struct PrivateTouch {
    pub array: usize,
    pub write: bool,
    /// Its subscripts; `None` where one is not affine. Of several neighbours that of the first.
    pub cell: Vec<Option<Aff>>,
}
