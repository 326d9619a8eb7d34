//! State for writing one device kernel: its variables, arrays and names, and where temporaries and
//! accumulators live.

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use loopwright_kernel_ir::computing_type as computing;
use loopwright_kernel_ir::{Access, Aff, Array, DType, Diagnostic, LoopKernel, Name, PerDim};

use loopwright_poly::Table;
use loopwright_target::Target;

use crate::{
    analyse::{
        analysis::Analysis,
        arrays::{known, storage_order},
    },
    program::{
        DeclaredLookBack, DeclaredUpdate, Global, InOrder, Leaf, LeafId, LocalArray, MemRef, Memory, Purpose,
        Value, ValueKind, Var, VarId,
    },
    schedule::storage::Home,
    write::{
        env::Env,
        fold::{add, mul},
    },
};

/// Where a private scalar, an accumulator's value or an array lives.
#[derive(Clone, Debug)]
pub(crate) enum Storage {
    Var(VarId),
    /// A private array with one axis per lane iname before the array's own.
    Private {
        array: usize,
        lanes: Vec<Name>,
    },
    Shared(usize),
    Global(usize),
}

/// State shared by all device kernels of a program.
pub(crate) struct Shared {
    pub globals: Vec<Global>,
    pub leaves: Vec<Leaf>,
    /// Updates by operators with names, as far as they are atomic, each with its operator.
    pub updates: Vec<(Name, DeclaredUpdate)>,
    /// The names of the functions for them, whether they are needed or not.
    pub update_names: BTreeMap<(Name, DType), Name>,
    /// What blocks join when they look back, each with its operator.
    pub look_backs: Vec<(Name, DeclaredLookBack)>,
    /// The names of the functions for that, whether they are needed or not.
    pub look_back_names: BTreeMap<(Name, Vec<DType>), Name>,
    pub index: DType,
    pub target: Target,
}

impl Shared {
    /// A name like this one for a device function of the program: no item of the kernel has it, and
    /// none of these functions.
    pub(super) fn free_function<'n>(
        &self,
        kernel: &LoopKernel,
        like: &str,
        functions: impl Iterator<Item = &'n Name> + Clone,
    ) -> Name {
        let is_taken = |name: &str| {
            *kernel.name == *name
                || kernel.args.iter().any(|a| **a.name() == *name)
                || kernel.functions.iter().any(|f| *f.name == *name)
                || self.globals.iter().any(|g| *g.name == *name)
                || functions.clone().any(|other| **other == *name)
        };
        // Functions of other scopes than the device's have names that are longer.
        let is_any_taken =
            |name: &str| ["", "_block", "_system"].iter().any(|end| is_taken(&format!("{name}{end}")));
        self.target.language.legal_like(like, is_any_taken).into()
    }
}

/// State for writing one device kernel.
pub(crate) struct Emitter<'a, 'k> {
    pub analysis: &'a Analysis<'k>,
    pub shared_state: &'a mut Shared,
    pub block: PerDim<u32>,
    pub grid: PerDim<Value>,
    /// How blocks get their coordinates, where some statement looks back.
    pub in_order: Option<InOrder>,
    pub vars: Vec<Var>,
    pub shared: Vec<LocalArray>,
    pub private: Vec<LocalArray>,
    pub temporaries: BTreeMap<Name, Storage>,
    /// By instruction and reduction: one location per value of the state.
    pub accumulators: BTreeMap<(usize, usize), Vec<(Storage, DType)>>,
    /// For scans in successive rounds: the totals of earlier rounds, laid out as
    /// [`Self::accumulators`].
    pub carries: BTreeMap<(usize, usize), Vec<(Storage, DType)>>,
    /// Base inames of the parts of this kernel.
    pub relevant: BTreeSet<Name>,
    /// The arrays of fragments, by the private array of the kernel that each stands for.
    pub fragments: BTreeMap<Name, usize>,
    /// The arrays into which the vectors of the current statement have been loaded.
    pub ahead: Vec<(Access, usize)>,
    names: BTreeSet<String>,
    leaf_ids: Table<LeafKey, LeafId>,
    leaf_keys: BTreeMap<LeafId, LeafKey>,
}

/// The index of a part, its inames that have one value, and the purpose of its statements.
type LeafKey = (usize, Vec<(Name, Aff)>, Purpose);

impl<'a, 'k> Emitter<'a, 'k> {
    pub fn new(
        analysis: &'a Analysis<'k>,
        shared_state: &'a mut Shared,
        block: impl Into<PerDim<u32>>,
        name: &str,
    ) -> Self {
        let mut names = BTreeSet::from([name.to_string()]);
        names.extend(analysis.kernel.args.iter().map(|a| a.name().to_string()));
        names.extend(analysis.kernel.functions.iter().map(|f| f.name.to_string()));
        names.extend(analysis.kernel.structs.iter().map(|s| s.name.to_string()));
        names.extend(shared_state.globals.iter().map(|g| g.name.to_string()));
        names.extend(shared_state.update_names.values().map(Name::to_string));
        names.extend(shared_state.look_back_names.values().map(Name::to_string));
        let one = Value::int(shared_state.index, 1);
        Emitter {
            analysis,
            shared_state,
            block: block.into(),
            grid: PerDim::all(one),
            in_order: None,
            vars: Vec::new(),
            shared: Vec::new(),
            private: Vec::new(),
            temporaries: BTreeMap::new(),
            accumulators: BTreeMap::new(),
            carries: BTreeMap::new(),
            relevant: BTreeSet::new(),
            fragments: BTreeMap::new(),
            ahead: Vec::new(),
            names,
            leaf_ids: Table::default(),
            leaf_keys: BTreeMap::new(),
        }
    }

    pub fn target(&self) -> &Target {
        &self.shared_state.target
    }

    pub fn index(&self) -> DType {
        self.shared_state.index
    }

    pub fn index_int(&self, value: i64) -> Value {
        Value::int(self.index(), value)
    }

    /// An unused name like this one.
    pub fn unique(&mut self, like: &str) -> Name {
        let language = self.target().language;
        let name = language.legal_like(&like.replace('.', "_"), |name| self.names.contains(name));
        self.names.insert(name.clone());
        Name::from(name)
    }

    /// Names that variables must not get: those of arguments and arrays.
    pub fn taken_names(&self) -> BTreeSet<String> {
        self.names.clone()
    }

    /// A new variable. Its name is made unique in its scope at the end.
    pub fn new_var(&mut self, like: &str, dtype: DType, mutable: bool) -> VarId {
        self.vars.push(Var {
            name: Name::new(like.replace('.', "_")),
            dtype,
            mutable,
            meaning: None,
            within: None,
            index: false,
        });
        VarId(self.vars.len() - 1)
    }

    /// A new index with the value of this function of inames, coordinates and parameters.
    pub fn new_index(&mut self, like: &str, meaning: Aff) -> VarId {
        let var = self.new_var(like, self.index(), false);
        self.vars[var.0].meaning = Some(meaning);
        var
    }

    pub fn var_value(&self, var: VarId) -> Value {
        Value::var(self.vars[var.0].dtype, var)
    }

    /// The origin of a part's statements at this place.
    pub fn leaf(&mut self, part: usize, env: &Env) -> LeafId {
        let info = &self.analysis.parts[part];
        let of_part = |(iname, _): &(&Name, &Aff)| info.inames.contains(*iname);
        self.leaf_at(
            part,
            env.place.only.iter().filter(of_part).map(|(i, v)| (i.clone(), v.clone())).collect(),
        )
    }

    /// As [`Self::leaf`], where these inames have one value each.
    pub fn leaf_at(&mut self, part: usize, only: BTreeMap<Name, Aff>) -> LeafId {
        let key = (part, only.into_iter().collect::<Vec<_>>(), Purpose::Support);
        if let Some(id) = self.leaf_ids.get(&key) {
            return *id;
        }
        let info = &self.analysis.parts[part];
        let instruction = self.analysis.instruction(info);
        self.shared_state.leaves.push(Leaf {
            part: info.execution.part.clone(),
            role: instruction.role.clone(),
            purpose: Purpose::Support,
            made_by: instruction.made_by.clone(),
            text: {
                let targets: Vec<String> = instruction.targets.iter().map(ToString::to_string).collect();
                let sign = instruction.update.as_ref().map_or("=".into(), |update| update.sign());
                format!("{} {sign} {}", targets.join(", "), instruction.value)
            },
            instances: Some(info.instances(self.analysis)),
            only: key.1.clone(),
            decided_by_data: false,
        });
        let id = LeafId(self.shared_state.leaves.len() - 1);
        self.leaf_keys.insert(id, key.clone());
        self.leaf_ids.insert(key, id);
        id
    }

    /// As this leaf, for the statement that writes the part's value of this number.
    pub fn giving(&mut self, leaf: LeafId, value: usize) -> LeafId {
        let purpose = Purpose::Value(u8::try_from(value).unwrap_or(u8::MAX));
        let Some((part, only, _)) = self.leaf_keys.get(&leaf).cloned() else { return leaf };
        let key = (part, only, purpose);
        if let Some(id) = self.leaf_ids.get(&key) {
            return *id;
        }
        let leaves = &mut self.shared_state.leaves;
        let like = Leaf { purpose, ..leaves[leaf.0].clone() };
        leaves.push(like);
        let id = LeafId(leaves.len() - 1);
        self.leaf_ids.insert(key, id);
        id
    }

    /// Where an array or temporary lives.
    pub fn storage(&mut self, name: &Name) -> Result<Storage, Diagnostic> {
        if let Some(storage) = self.temporaries.get(name) {
            return Ok(storage.clone());
        }
        if let Some(number) = self.shared_state.globals.iter().position(|g| g.name == *name) {
            return Ok(Storage::Global(number));
        }
        let array = self.analysis.lookup.array(name).ok_or_else(|| {
            Diagnostic::new("unknown-name", format!("there is no array or temporary `{name}`"))
        })?;
        let dtype = known(&array.dtype, name)?;
        let storage = match self.analysis.home(array)? {
            Home::Variable => {
                let var = self.new_var(name, dtype, true);
                self.vars[var.0].meaning = self.analysis.data.contains(name).then(|| Aff::var(name));
                Storage::Var(var)
            }
            Home::Private { lanes, dims, layout } => {
                let name = self.unique(name);
                self.private.push(LocalArray { name, dtype, dims, layout, note: String::new() });
                Storage::Private { array: self.private.len() - 1, lanes }
            }
            Home::Shared { dims, layout } => {
                let name = self.unique(name);
                self.shared.push(LocalArray { name, dtype, dims, layout, note: String::new() });
                Storage::Shared(self.shared.len() - 1)
            }
        };
        self.temporaries.insert(name.clone(), storage.clone());
        Ok(storage)
    }

    /// The element of a private or shared array at these subscripts (lanes first).
    pub fn local_element(&self, memory: Memory, subscripts: Vec<Value>) -> MemRef {
        let array = match memory {
            Memory::Shared(n) => &self.shared[n],
            Memory::Private(n) => &self.private[n],
            Memory::Global(_) => return MemRef { memory, subscripts, offset: Box::new(self.index_int(0)) },
        };
        if let Some(offset) = array.offset(&subscripts, self.index()) {
            return MemRef { memory, subscripts, offset: Box::new(offset) };
        }
        let mut offset = self.index_int(0);
        for (s, d) in subscripts.iter().zip(&array.dims) {
            offset = add(mul(offset, self.index_int(i64::try_from(*d).unwrap_or(i64::MAX))), s.clone());
        }
        MemRef { memory, subscripts, offset: Box::new(offset) }
    }

    /// The element `by` places behind another one, along the axis in which an access's elements are
    /// dense.
    pub fn element_behind(&self, element: MemRef, access: &Access, by: i64) -> MemRef {
        let MemRef { memory, mut subscripts, offset } = element;
        let step = self.index_int(by);
        // Subscripts of local arrays are in the order of the storage.
        let dense = match memory {
            Memory::Global(_) => self.dense_axis(access),
            Memory::Shared(_) | Memory::Private(_) => subscripts.len().checked_sub(1),
        };
        if let Some(s) = dense.and_then(|a| subscripts.get_mut(a)) {
            *s = add(s.clone(), step.clone());
        }
        let has_layout = match memory {
            Memory::Global(_) => false,
            Memory::Shared(n) => self.shared[n].layout.is_some(),
            Memory::Private(n) => self.private[n].layout.is_some(),
        };
        // Places after it in a swizzled array depend on where it lies.
        if has_layout {
            return self.local_element(memory, subscripts);
        }
        MemRef { memory, subscripts, offset: Box::new(add(*offset, step)) }
    }

    /// Subscripts of a local array in storage order.
    pub fn in_storage_order(array: &Array, subscripts: Vec<Value>) -> Vec<Value> {
        storage_order(array).into_iter().filter_map(|axis| subscripts.get(axis).cloned()).collect()
    }

    pub fn load(&self, element: MemRef, dtype: DType) -> Value {
        Value { dtype, kind: ValueKind::Load(element) }
    }
}
