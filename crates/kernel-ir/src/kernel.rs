//! The kernel itself.

use std::{collections::BTreeMap, num::NonZeroU32, ops::Deref, sync::Arc};

use loopwright_poly::{Aff, Constraint, Name};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{
    Arg, Array, Constant, DeviceFunction, Fact, Flat, Instruction, Precision, Record, ReductionOp, Rule,
    Struct, Tag, Tree, atom::Atom, part::Part, part::PartRef,
};

/// The integer points of a nest of inames: one conjunction, with its constraints as declared.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Domain {
    /// The inames that it introduces, outermost first. Other names in the constraints are
    /// parameters, inames of other domains, or integer scalar temporaries (a bound read from data).
    pub inames: Vec<Name>,
    /// The constraints, all of which hold.
    pub constraints: Vec<Constraint>,
}

/// An iname that is no longer a loop or a coordinate itself: its value in terms of others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Definition {
    /// The iname, defined once.
    pub iname: Name,
    /// Its value in terms of inames, which may be defined themselves, by later definitions.
    pub value: Aff,
}

/// A step without a proof, which the user asserts to be legal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Vouched {
    /// Why it is legal, in the user's words.
    pub reason: Name,
    /// The step's text; `None` as long as the step has not been applied.
    pub step: Option<Name>,
}

/// Options for the whole kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Options {
    /// Accuracy of math functions where a call does not specify it.
    pub precision: Precision,
    /// The least number of blocks that a multiprocessor has to have registers for, at the same
    /// time; `None` leaves it to the compiler. It bounds the registers of a thread, and changes no
    /// value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_blocks_per_multiprocessor: Option<NonZeroU32>,
}

impl KernelData {
    /// A kernel of this name without anything in it.
    pub fn new(name: Name) -> Self {
        KernelData {
            name,
            args: Vec::new(),
            temporaries: Vec::new(),
            constants: Vec::new(),
            structs: Vec::new(),
            records: Vec::new(),
            domains: Vec::new(),
            definitions: Vec::new(),
            instructions: Vec::new(),
            tree: Vec::new(),
            tags: BTreeMap::new(),
            flat: BTreeMap::new(),
            assumptions: Vec::new(),
            facts: Vec::new(),
            reductions: Vec::new(),
            functions: Vec::new(),
            rules: Vec::new(),
            atoms: Vec::new(),
            options: Options::default(),
            vouched: Vec::new(),
            declared: None,
            origin: None,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options { precision: Precision::Precise, min_blocks_per_multiprocessor: None }
    }
}

/// The contents of a kernel. Read them through [`LoopKernel`]; change them through
/// [`LoopKernel::edit`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KernelData {
    /// The name of the generated function.
    pub name: Name,
    /// Arguments in calling order.
    pub args: Vec<Arg>,
    /// Temporaries: private, shared and global.
    pub temporaries: Vec<Array>,
    /// Tables whose values the kernel contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<Constant>,
    /// Structs of scalars, which are elements of records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub structs: Vec<Struct>,
    /// Arguments whose elements are structs. Among `args` are the arrays of their fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<Record>,
    /// Domains in the order of their declaration.
    pub domains: Vec<Domain>,
    /// Values of the inames that transforms have replaced, in the order of their replacement.
    pub definitions: Vec<Definition>,
    /// Instructions in text order.
    pub instructions: Vec<Instruction>,
    /// The order of execution: each part of each instruction once, in the loops of its sequential
    /// inames.
    pub tree: Vec<Tree>,
    /// The tags of inames; an iname without an entry is sequential.
    pub tags: BTreeMap<Name, Tag>,
    /// Loops over segments of unequal length that are flattened with the loop over their points, by
    /// iname: their tag is [`Tag::Flat`], without an entry in `tags`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flat: BTreeMap<Name, Flat>,
    /// Constraints that the parameters satisfy.
    pub assumptions: Vec<Constraint>,
    /// Declared properties of data that the kernel reads.
    pub facts: Vec<Fact>,
    /// The kernel's own reduction operators.
    pub reductions: Vec<ReductionOp>,
    /// The user's device functions.
    pub functions: Vec<DeviceFunction>,
    /// Names for forms of expressions, which steps look for. The kernel's expressions contain no
    /// uses of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// The kernel's own hardware instructions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub atoms: Vec<Arc<Atom>>,
    /// Options for the whole kernel, such as the accuracy of math functions.
    pub options: Options,
    /// Steps whose legality the user has vouched for, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vouched: Vec<Vouched>,
    /// The kernel as it was declared; `None` while this is that kernel.
    pub declared: Option<LoopKernel>,
    /// Of a declared kernel that steps have rewritten, as those that replace a temporary by its
    /// expression: the kernel that the user declared. Results are compared with that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<LoopKernel>,
}

/// A kernel: immutable, cheap to clone, comparable, hashable.
///
/// Serialised as its [`KernelData`]. Deserialising validates it, since a file may contain anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
#[must_use = "a step leaves its kernel as it is, and returns another"]
pub struct LoopKernel(Arc<KernelData>);

impl<'de> Deserialize<'de> for LoopKernel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kernel = LoopKernel::from_data(KernelData::deserialize(deserializer)?);
        kernel.validate().map_err(de::Error::custom)?;
        // Text can only describe well-formed kernels; data can contain more, such as invalid names
        // where no name is looked up.
        match LoopKernel::parse(&kernel.to_text()) {
            Ok(again) if again == kernel => Ok(kernel),
            _ => Err(de::Error::custom(
                "the data do not describe a kernel: they do not survive printing and parsing",
            )),
        }
    }
}

impl Deref for LoopKernel {
    type Target = KernelData;
    fn deref(&self) -> &KernelData {
        &self.0
    }
}

impl LoopKernel {
    /// A kernel of exactly this data, without any checks: for parsers of transformed kernels.
    pub fn from_data(data: KernelData) -> LoopKernel {
        LoopKernel(Arc::new(data))
    }

    /// A changed copy. The copy remembers the declared kernel.
    pub fn edit<E>(&self, change: impl FnOnce(&mut KernelData) -> Result<(), E>) -> Result<LoopKernel, E> {
        let mut data = (*self.0).clone();
        if data.declared.is_none() {
            data.declared = Some(self.clone());
            data.origin = None;
        }
        change(&mut data)?;
        Ok(LoopKernel(Arc::new(data)))
    }

    /// The kernel as it was declared, in the form to which its instructions relate.
    pub fn declared(&self) -> &LoopKernel {
        self.declared.as_ref().unwrap_or(self)
    }

    /// The kernel that the user declared: [`LoopKernel::declared`], unless steps have rewritten
    /// that.
    pub fn origin(&self) -> &LoopKernel {
        let declared = self.declared();
        declared.origin.as_ref().unwrap_or(declared)
    }
}

impl KernelData {
    /// The instruction with this id.
    pub fn instruction(&self, id: &str) -> Option<&Instruction> {
        self.instructions.iter().find(|i| *i.id == *id)
    }

    /// The argument, temporary or constant table of this name that is an array, or a scalar
    /// temporary.
    pub fn array(&self, name: &str) -> Option<&Array> {
        self.args
            .iter()
            .find_map(|arg| match arg {
                Arg::Array(a) if *a.name == *name => Some(a),
                _ => None,
            })
            .or_else(|| self.temporary(name))
            .or_else(|| self.constant(name).map(|c| &c.array))
    }

    /// The constant table of this name.
    pub fn constant(&self, name: &str) -> Option<&Constant> {
        self.constants.iter().find(|c| *c.array.name == *name)
    }

    /// The temporary with this name.
    pub fn temporary(&self, name: &str) -> Option<&Array> {
        self.temporaries.iter().find(|t| *t.name == *name)
    }

    /// Whether this is the name of an iname, either of a domain or defined.
    pub fn is_iname(&self, name: &str) -> bool {
        self.domains.iter().any(|d| d.inames.iter().any(|i| **i == *name))
    }

    /// The definition of an iname that transforms have replaced.
    pub fn definition(&self, name: &str) -> Option<&Aff> {
        self.definitions.iter().find(|d| *d.iname == *name).map(|d| &d.value)
    }

    /// The tag of an iname; [`Tag::Seq`] if it has none, [`Tag::Flat`] if its loop is flattened.
    pub fn tag(&self, iname: &str) -> Tag {
        match self.flat.contains_key(iname) {
            true => Tag::Flat,
            false => self.tags.get(iname).copied().unwrap_or(Tag::Seq),
        }
    }

    /// The operator of a reduction; the kernel's own take precedence over the library's.
    pub fn operator(&self, name: &str) -> Option<ReductionOp> {
        self.reductions.iter().find(|r| *r.name == *name).cloned().or_else(|| ReductionOp::library(name))
    }

    /// The parts of an instruction in their order.
    pub fn parts(&self, instruction: &Instruction) -> Vec<PartRef> {
        let part = |part| PartRef { instruction: instruction.id.clone(), part };
        let count = instruction.reductions().len();
        if count == 0 {
            return vec![part(Part::Whole)];
        }
        (0..count)
            .flat_map(|n| [part(Part::Init(n)), part(Part::Update(n))])
            .chain([part(Part::Finish)])
            .collect()
    }
}
