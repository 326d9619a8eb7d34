//! Instructions.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use loopwright_poly::{Aff, Name};
use serde::{Deserialize, Serialize};

use crate::{
    AddressSpace, DType, Diagnostic, Expr, HardwareAxis, KernelData, Reduce, UpdateOp, UpdateScope, Via,
};

/// An element of an array, or a scalar temporary (no subscripts).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// The name of an argument or a temporary.
    pub array: Name,
    /// One subscript for each axis; none for a scalar temporary.
    pub index: Vec<Expr>,
}

/// The supported atomic updates, in words.
pub const UPDATES: &str = "supported are sums, minima, maxima and products of i32, u32, i64, u64, f32 and \
                           f64, and operators of one such value whose lift is the input";

/// Whether elements of this type support atomic updates by this operator; see [`UPDATES`].
pub fn has_update(operator: &str, dtype: DType) -> bool {
    let update = [UpdateOp::Sum, UpdateOp::Min, UpdateOp::Max].into_iter().find(|u| u.name() == operator);
    update.is_some_and(|update| update.takes(dtype))
}

/// How an instruction relates to the declared kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// It executes instances of the declared instruction with this id.
    Does(Name),
    /// It copies cells of `source` for the declared reads that its copies serve.
    Copies {
        /// The array whose cells are copied.
        source: Name,
    },
    /// It computes a share of the declared instruction with this id, which several instructions
    /// realise together. Only the realisation passes before lowering create such instructions.
    Realizes {
        /// The id of the declared instruction.
        of: Name,
        /// What it does of that instruction.
        share: Share,
    },
}

/// The share of one of several instructions that realise a declared reduction together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Share {
    /// Each of its instances reduces the points of one block, and stores the operator's state.
    Partial,
    /// It combines the states that all blocks have stored, and writes the declared result.
    Join,
    /// It writes the operator's neutral element where results will be.
    Start,
    /// Each of its instances reduces the points of one block, and combines the result with the
    /// target by an atomic update.
    Update,
    /// It computes by how many elements a row is misaligned. The reduction along the row counts its
    /// points from the aligned address before the row.
    Alignment,
}

impl Share {
    /// All shares, with their keywords in texts, as in `{id=out_partial, reduces=out}`.
    pub const WORDS: [(Share, &'static str); 5] = [
        (Share::Partial, "reduces"),
        (Share::Join, "joins"),
        (Share::Start, "starts"),
        (Share::Update, "updates"),
        (Share::Alignment, "aligns"),
    ];

    /// The keyword that states this share in texts: see [`Share::WORDS`].
    pub fn word(self) -> &'static str {
        Share::WORDS.iter().find(|(share, _)| *share == self).map_or("does", |(_, word)| word)
    }

    /// The share with this keyword.
    pub fn of_word(word: &str) -> Option<Share> {
        Share::WORDS.iter().find(|(_, known)| *known == word).map(|(share, _)| *share)
    }
}

impl Role {
    /// The declared instruction that it executes completely or in part; `None` for a copy.
    pub fn declared(&self) -> Option<&Name> {
        match self {
            Role::Does(id) | Role::Realizes { of: id, .. } => Some(id),
            Role::Copies { .. } => None,
        }
    }

    /// Its share of a declared instruction, if it does not execute it completely.
    pub fn share(&self) -> Option<Share> {
        match self {
            Role::Realizes { share, .. } => Some(*share),
            Role::Does(_) | Role::Copies { .. } => None,
        }
    }
}

/// One instruction: `target = value` for each instance of its inames, where its predicate holds, or
/// an update, as `target += value`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instruction {
    /// Its name, unique among the instructions of the kernel.
    pub id: Name,
    /// What is written: one target, or one for each result of a reduction.
    pub targets: Vec<Access>,
    /// The expression whose value is written, or with which an update combines what its target
    /// holds.
    pub value: Expr,
    /// How its target is updated, if its value is not what is written: see [`UpdateOp`]. There is
    /// one target then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<UpdateOp>,
    /// Among whom its update is one step; see [`UpdateScope`]. Of an assignment the device.
    #[serde(default, skip_serializing_if = "UpdateScope::is_device")]
    pub scope: UpdateScope,
    /// If it is false, nothing is read or written.
    pub predicate: Option<Expr>,
    /// The inames around it, outermost first, without those of its reductions. Split inames are
    /// replaced by their parts.
    pub within: Vec<Name>,
    /// How it relates to the declared kernel.
    pub role: Role,
    /// The values of declared inames that this instruction iterates over under other names (after
    /// duplicate or rename). Declared inames without an entry stand for themselves, through the
    /// kernel's definitions.
    pub map: BTreeMap<Name, Aff>,
    /// A declared iname around it along which its reductions are *scans*: each accumulator carries
    /// over from one value of the iname to the next, and an update adds only the new points. `init`
    /// is then outside the iname's loops, and `finish` sees the points of all values up to its own.
    /// `None`: every value of the iname has an accumulator of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan: Option<Name>,
    /// Whether blocks that share its reduction add their partial results to the target by atomic
    /// updates, in any order, instead of leaving them to a kernel that joins them in a fixed order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub atomic: bool,
    /// Whether a launch begins with it: with what contains its first part at the host's level,
    /// where anything comes before that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begins_launch: bool,
    /// The hardware instruction that runs the updates of its reduction, a box of instances at a
    /// time. What is computed, and which thread owns which result, is said by the instruction
    /// itself and stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atom: Option<AtomUse>,
    /// How its values get to memory.
    #[serde(default, skip_serializing_if = "Via::is_plain")]
    pub via: Via,
    /// Instructions that the user asked to come before it (loopy's `dep=`); the order of the text
    /// has to agree.
    pub after: Vec<Name>,
    /// The transform that made it, for comments; `None` for a declared one.
    pub made_by: Option<Name>,
}

/// The use of a hardware instruction (an *atom*) for the updates of a reduction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AtomUse {
    /// The name of the atom, which the kernel declares.
    pub name: Name,
    /// The inames whose values are the box's coordinates `m`, `n` and `k`, from 0 on.
    pub axes: [Name; 3],
}

impl std::fmt::Display for AtomUse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [m, n, k] = &self.axes;
        write!(f, "{}({m}, {n}, {k})", self.name)
    }
}

impl Access {
    /// The element of an array with these subscripts; without any, a scalar.
    pub fn new(array: impl Into<Name>, index: Vec<Expr>) -> Self {
        Access { array: array.into(), index }
    }
}

impl Instruction {
    /// An instruction without a predicate, outside all loops, that no transform introduced. Other
    /// fields are set before `..Instruction::new(...)`.
    pub fn new(id: impl Into<Name>, targets: Vec<Access>, value: Expr, role: Role) -> Self {
        Instruction {
            id: id.into(),
            targets,
            value,
            update: None,
            scope: UpdateScope::Device,
            predicate: None,
            within: Vec::new(),
            role,
            map: BTreeMap::new(),
            scan: None,
            atomic: false,
            begins_launch: false,
            atom: None,
            via: Via::Plain,
            after: Vec::new(),
            made_by: None,
        }
    }

    /// The value of the iname that its reductions are scans along, in inames that may be defined.
    pub fn scan_value(&self) -> Option<Aff> {
        let iname = self.scan.as_ref()?;
        Some(self.map.get(iname).cloned().unwrap_or_else(|| Aff::var(iname)))
    }

    /// Checks that blocks can join their partial results in its target by atomic updates: its value
    /// is a single reduction, its operator has an atomic update for the target's type, and it does
    /// not read what it writes. Open types are left to lowering.
    pub fn check_atomic_join(&self, kernel: &KernelData) -> Result<(), Diagnostic> {
        let refuse = |code: &'static str, why: String, help: &str| {
            let message = format!("`{}` cannot be joined by atomic updates: {why}", self.id);
            Err(Diagnostic::new(code, message).help(help))
        };
        let ([target], Expr::Reduce(reduce)) = (self.targets.as_slice(), &self.value) else {
            let help = "move the use of the result to a separate instruction";
            return refuse("atomic-shape", "its value is not a single reduction".into(), help);
        };
        let dtype = kernel.array(&target.array).and_then(|a| a.dtype.known());
        if let Some(Err(d)) = dtype.map(|dtype| UpdateOp::joining(kernel, &reduce.op, dtype)) {
            return refuse(d.code, d.message, d.help.as_deref().unwrap_or(UPDATES));
        }
        if self.reads().contains(&target.array) {
            let why = format!("it reads `{}`, which the blocks update", target.array);
            return refuse("atomic-shape", why, "let it write another array");
        }
        self.check_atomic_target(kernel)
    }

    /// Refuses the system's scope for an update of a temporary: nothing outside the kernel reaches
    /// it.
    pub fn check_system_scope(&self, kernel: &KernelData) -> Result<(), Diagnostic> {
        let own = self.targets.iter().find(|target| kernel.temporary(&target.array).is_some());
        let Some(target) = own else { return Ok(()) };
        let message =
            format!("nothing outside the kernel updates `{}`, a temporary of its own", target.array);
        Err(Diagnostic::new("update-scope", message).help("leave `scope=system` out"))
    }

    /// Whether blocks can join the partial results of its reduction in its target, if they are to
    /// and its reduction is over blocks: the target has to be in global memory.
    pub fn check_atomic_target(&self, kernel: &KernelData) -> Result<(), Diagnostic> {
        let over_blocks = |i: &Name| matches!(kernel.tag(i).axis(), Some(HardwareAxis::Grid(_)));
        if !self.reductions().iter().any(|r| r.inames.iter().any(over_blocks)) {
            return Ok(());
        }
        for array in self.targets.iter().map(|t| &t.array) {
            if kernel.array(array).is_some_and(|a| a.space != AddressSpace::Global) {
                let message = format!(
                    "`{}` cannot be joined by atomic updates: blocks cannot add to `{array}`, \
                     which is not in global memory",
                    self.id
                );
                let help = format!("move it there first: `make_global({array})`");
                return Err(Diagnostic::new("atomic-target", message).help(help));
            }
        }
        Ok(())
    }

    /// The names that it reads, including those in subscripts of its targets: arrays, scalars,
    /// inames and parameters. An update reads its target.
    pub fn reads(&self) -> BTreeSet<Name> {
        let mut found = self.operands();
        found.extend(self.targets.iter().filter(|_| self.update.is_some()).map(|t| t.array.clone()));
        found
    }

    /// The names in its value, its predicate and the subscripts of its targets.
    pub fn operands(&self) -> BTreeSet<Name> {
        let mut found = BTreeSet::new();
        let subscripts = self.targets.iter().flat_map(|t| &t.index);
        for e in [&self.value].into_iter().chain(&self.predicate).chain(subscripts) {
            found.extend(e.reads());
        }
        found
    }

    /// Its expressions: the subscripts of its targets, its value, its predicate.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.targets.iter().flat_map(|t| &t.index).chain([&self.value]).chain(&self.predicate)
    }

    /// Its reductions in the order of their numbers.
    pub fn reductions(&self) -> Vec<Arc<Reduce>> {
        self.value.reductions()
    }
}
