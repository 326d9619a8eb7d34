//! The state of printing one kernel, and what it collects for the file.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use loopwright_atom::Atom;
use loopwright_kernel_ir::{DType, Diagnostic, Name, PerDim, UpdateScope};
use loopwright_program::{
    BinOp, CopyPredicates, DeviceKernel, Language, Memory, Param, Program, Stmt, UnOp, Value, ValueKind,
    VarId,
};

use crate::{
    asynchronous::Function,
    dialect::Dialect,
    helpers::suffix,
    serpentine::Serpentine,
    slots::Slots,
    types::{c_type, vector_type},
};

/// Multiples of indices with factors up to this one count as indices themselves.
const SMALL: u64 = 1 << 16;

/// What the file needs before its kernels.
#[derive(Debug)]
pub(crate) struct Needs {
    /// The language that it is written in.
    pub dialect: Dialect,
    /// Headers to include, each once.
    pub headers: RefCell<BTreeSet<&'static str>>,
    /// Helper functions: the name and the operand type of each.
    pub helpers: RefCell<BTreeSet<(&'static str, DType)>>,
    /// Minima and maxima by compare-and-swap: the name and the operand type of each, and its scope.
    pub exchanges: RefCell<BTreeSet<(&'static str, DType, UpdateScope)>>,
    /// Element types and vector lengths that are stored in waves.
    pub waves: RefCell<BTreeSet<(DType, u8)>>,
    /// Loads of matrices that are called: the type of elements, the number of matrices, and
    /// whether they are transposed.
    pub matrices: RefCell<BTreeSet<(DType, u8, bool)>>,
    /// Stores of matrices that are called, likewise.
    pub stored_matrices: RefCell<BTreeSet<(DType, u8, bool)>>,
    /// The atoms that are called.
    pub atoms: RefCell<BTreeMap<Name, Arc<Atom>>>,
    /// Names of the user's device functions that are called.
    pub functions: RefCell<BTreeSet<String>>,
    /// The numbers of the updates that the program declares and that are called, with the scope.
    pub updates: RefCell<BTreeSet<(usize, UpdateScope)>>,
    /// The numbers of the look-backs that the program declares and that are called.
    pub look_backs: RefCell<BTreeSet<usize>>,
    /// Functions for asynchronous copies.
    pub async_copies: RefCell<BTreeSet<Function>>,
    /// Whether a warp has a barrier.
    pub warp_barrier: Cell<bool>,
    /// Whether lanes of a warp exchange values, which depends on how many there are.
    pub warp_functions: Cell<bool>,
    /// The constant tables that are read, with the greatest alignment in bytes that an access
    /// needs.
    pub tables: RefCell<BTreeMap<usize, usize>>,
    /// The structs whose arrays are passed.
    pub structs: RefCell<BTreeSet<Name>>,
    /// The first error found; later ones are dropped.
    pub error: RefCell<Option<Diagnostic>>,
}

impl Needs {
    /// Nothing yet, in this language.
    pub(crate) fn of(dialect: Dialect) -> Self {
        Needs {
            dialect,
            headers: RefCell::default(),
            helpers: RefCell::default(),
            exchanges: RefCell::default(),
            waves: RefCell::default(),
            atoms: RefCell::default(),
            matrices: RefCell::default(),
            stored_matrices: RefCell::default(),
            async_copies: RefCell::default(),
            functions: RefCell::default(),
            updates: RefCell::default(),
            look_backs: RefCell::default(),
            warp_barrier: Cell::default(),
            warp_functions: Cell::default(),
            tables: RefCell::default(),
            structs: RefCell::default(),
            error: RefCell::default(),
        }
    }

    /// Records an error, and returns a placeholder for the text.
    pub(crate) fn refuse(&self, code: &'static str, message: impl Into<String>) -> String {
        self.error.borrow_mut().get_or_insert_with(|| Diagnostic::new(code, message));
        String::new()
    }

    /// Records an error with a remedy.
    pub(crate) fn refuse_with(&self, code: &'static str, message: String, help: &str) {
        self.error.borrow_mut().get_or_insert_with(|| Diagnostic::new(code, message).help(help));
    }

    /// Records that a name is not valid in the language.
    fn refuse_name(&self, name: &str, language: Language) {
        let language = language.name;
        let message = format!("`{name}` cannot be a name in {language}");
        let help = format!(
            "choose another: keywords, builtin types and functions of {language}, and names with \
             `__` are reserved"
        );
        self.error.borrow_mut().get_or_insert_with(|| Diagnostic::new("illegal-name", message).help(help));
    }

    /// The C type. Records its header.
    pub(crate) fn c_type(&self, dtype: DType) -> &'static str {
        self.note(dtype);
        if dtype == DType::BF16 { self.dialect.bf16[0] } else { c_type(dtype) }
    }

    /// The type that moves `lanes` elements by one access, its header noted.
    pub(crate) fn vector_type(&self, dtype: DType, lanes: u8) -> Option<String> {
        self.note(dtype);
        match (dtype, lanes) {
            (DType::BF16, 2) => Some(self.dialect.bf16[1].into()),
            _ => vector_type(dtype, lanes),
        }
    }

    /// Records the header of a type.
    pub(crate) fn note(&self, dtype: DType) {
        match dtype {
            DType::F16 => drop(self.headers.borrow_mut().insert(self.dialect.half_headers[0])),
            DType::BF16 => drop(self.headers.borrow_mut().insert(self.dialect.half_headers[1])),
            float8 if float8.is_float8() => match self.dialect.float8_header {
                Some(header) => drop(self.headers.borrow_mut().insert(header)),
                None => {
                    let language = self.dialect.language.name;
                    self.refuse_with(
                        "no-type",
                        format!("there is no type {dtype} in {language}"),
                        "convert to f16",
                    );
                }
            },
            _ => {}
        }
    }

    /// The name of an update by compare-and-swap for a type. Records that it is needed.
    pub(crate) fn exchange(&self, name: &'static str, dtype: DType, scope: UpdateScope) -> String {
        self.exchanges.borrow_mut().insert((name, dtype, scope));
        format!("{name}{}", suffix(scope))
    }

    /// The name of a helper function for a type. Records that it is needed.
    pub(crate) fn helper(&self, name: &'static str, dtype: DType) -> &'static str {
        self.helpers.borrow_mut().insert((name, dtype));
        name
    }
}

/// Whether a value comes from memory, other threads, or a function.
pub(crate) fn is_taken(value: &Value) -> bool {
    let mut taken = false;
    value.visit(&mut |v| {
        taken |= v.kind.joins_lanes() || matches!(v.kind, ValueKind::Load(_) | ValueKind::Call { .. });
    });
    taken
}

/// The state of printing one kernel.
pub(crate) struct Context<'a> {
    /// The program that it belongs to.
    pub program: &'a Program,
    /// The kernel being printed.
    pub kernel: &'a DeviceKernel,
    /// What the file needs so far.
    pub needs: &'a Needs,
    /// Constants without a literal (infinities, the mask of a partial warp): the declaration at the
    /// start of the kernel, by name.
    pub constants: RefCell<BTreeMap<String, String>>,
    /// Whether the value being printed is data. Signed arithmetic on data wraps; that on indices is
    /// known not to overflow.
    pub of_data: Cell<bool>,
    /// Variables that hold data.
    data: BTreeSet<VarId>,
    /// Host loop variables, and scalar arguments that are lengths: indices are computed from them.
    lengths: BTreeSet<Name>,
    /// Names in use in the kernel.
    taken: BTreeSet<&'a str>,
    /// The loops of the nest being printed that go back and forth, if some do.
    pub serpentine: RefCell<Option<Serpentine>>,
    /// The remainders that loops around what is printed count up, innermost last.
    pub slots: RefCell<Vec<Slots>>,
    /// Where the condition of copies is an argument of each.
    pub predicates: CopyPredicates<'a>,
    /// The condition of the copies being printed, in that case.
    pub predicate: RefCell<Option<String>>,
}

impl<'a> Context<'a> {
    /// Starts printing a kernel. Records names that the language does not allow.
    pub(crate) fn new(program: &'a Program, kernel: &'a DeviceKernel, needs: &'a Needs) -> Self {
        let globals = program.globals.iter().map(|g| &*g.name);
        let scalars = program.scalars().map(|s| &*s.name);
        let records = program.records.iter().flat_map(|r| [&*r.name, &*r.of.name]);
        let locals = kernel.shared.iter().chain(&kernel.private).map(|a| &*a.name);
        let vars = kernel.vars.iter().map(|v| &*v.name);
        let own: Vec<&str> = locals.chain(vars).chain([&*kernel.name]).collect();
        let host = kernel.params.iter().filter_map(|p| match p {
            Param::HostVar(name) => Some(name.as_str()),
            _ => None,
        });
        let taken: BTreeSet<&str> =
            own.iter().copied().chain(globals).chain(scalars).chain(records).chain(host).collect();
        let fields = program.records.iter().flat_map(|r| r.of.fields.iter().map(|f| &*f.name));
        for name in taken.iter().copied().chain(fields) {
            let language = program.target.language;
            if !language.is_legal_name(name) {
                needs.refuse_name(name, language);
            }
        }
        let mut seen = BTreeSet::new();
        // Variables may share a name in disjoint scopes; lowering ensures that scopes are valid.
        for array in kernel.shared.iter().chain(&kernel.private) {
            let name = &*array.name;
            if !seen.insert(name) {
                needs.refuse(
                    "duplicate-name",
                    format!("`{name}` is used for two items in kernel `{}`", kernel.name),
                );
            }
        }
        let mut data = kernel.joined_values();
        let is_index = |var: &VarId| kernel.vars.get(var.0).is_some_and(|v| v.index);
        Stmt::visit(&kernel.body, &mut |stmt| match stmt {
            Stmt::Set { var, .. } | Stmt::Let { var, .. } if is_index(var) => {}
            Stmt::Set { var, .. } | Stmt::Let { var, leaf: Some(_), .. } => drop(data.insert(*var)),
            Stmt::Let { var, value, leaf: None } if is_taken(value) => drop(data.insert(*var)),
            Stmt::LookBack(look_back) => data.extend(&look_back.before),
            _ => {}
        });
        let of_data = Cell::new(false);
        let mut lengths: BTreeSet<Name> = kernel
            .params
            .iter()
            .filter_map(|p| match p {
                Param::HostVar(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        for length in
            program.globals.iter().flat_map(|g| g.shape.iter().chain(&g.strides)).chain(kernel.grid.values())
        {
            length.visit(&mut |v| {
                if let ValueKind::Param(name) = &v.kind {
                    lengths.insert(name.clone());
                }
            });
        }
        Context {
            program,
            kernel,
            needs,
            constants: RefCell::default(),
            of_data,
            data,
            lengths,
            taken,
            serpentine: RefCell::default(),
            slots: RefCell::default(),
            predicates: CopyPredicates::of(kernel),
            predicate: RefCell::default(),
        }
    }

    /// The state of printing an update that the program declares, which computes data only.
    pub(crate) fn of_update(program: &'a Program, kernel: &'a DeviceKernel, needs: &'a Needs) -> Self {
        let language = program.target.language;
        if !language.is_legal_name(&kernel.name) {
            needs.refuse_name(&kernel.name, language);
        }
        Context {
            program,
            kernel,
            needs,
            constants: RefCell::default(),
            of_data: Cell::new(true),
            data: (0..kernel.vars.len()).map(VarId).collect(),
            lengths: BTreeSet::new(),
            taken: kernel.vars.iter().map(|v| &*v.name).collect(),
            serpentine: RefCell::default(),
            slots: RefCell::default(),
            predicates: CopyPredicates::of(kernel),
            predicate: RefCell::default(),
        }
    }

    /// Whether a variable holds data.
    pub(crate) fn holds_data(&self, var: VarId) -> bool {
        self.data.contains(&var)
    }

    /// Whether signed arithmetic with this result must wrap: it is printed as data, and it is not a
    /// small multiple of indices in the index type, which a launch checks to fit
    /// (`loopwright_program::index_range`).
    pub(crate) fn wraps(&self, value: &Value) -> bool {
        let known = value.dtype == self.program.index;
        self.of_data.get() && (!known || self.weight(value).is_none_or(|w| w > SMALL))
    }

    /// As [`Self::wraps`], for `a op b`.
    pub(crate) fn wraps_in(&self, op: BinOp, a: &Value, b: &Value) -> bool {
        let known = a.dtype == self.program.index;
        self.of_data.get() && (!known || self.weight_of(op, a, b).is_none_or(|w| w > SMALL))
    }

    /// The greatest multiple of an index that the value can be, with constants at face value;
    /// `None` if it is not a function of indices.
    fn weight(&self, value: &Value) -> Option<u64> {
        match &value.kind {
            ValueKind::Int(v) => Some(v.unsigned_abs()),
            ValueKind::ThreadIdx(_) | ValueKind::BlockIdx(_) => Some(1),
            ValueKind::Var(var) => (!self.data.contains(var)).then_some(1),
            ValueKind::Param(name) => self.lengths.contains(name).then_some(1),
            ValueKind::Unary(UnOp::Neg, a) => self.weight(a),
            ValueKind::Binary(op, a, b) => self.weight_of(*op, a, b),
            _ => None,
        }
    }

    fn weight_of(&self, op: BinOp, a: &Value, b: &Value) -> Option<u64> {
        match op {
            BinOp::Add | BinOp::Sub => self.weight(a)?.checked_add(self.weight(b)?),
            BinOp::Mul if a.as_int().is_some() || b.as_int().is_some() => {
                self.weight(a)?.checked_mul(self.weight(b)?)
            }
            BinOp::TruncDiv | BinOp::TruncRem | BinOp::FloorDiv | BinOp::FloorMod => {
                self.weight(b)?;
                self.weight(a)
            }
            BinOp::Min | BinOp::Max => Some(self.weight(a)?.max(self.weight(b)?)),
            _ => None,
        }
    }

    /// The name of a variable.
    pub(crate) fn var(&self, id: VarId) -> String {
        match self.kernel.vars.get(id.0) {
            Some(var) => var.name.to_string(),
            None => self.needs.refuse("malformed-program", format!("variable {} does not exist", id.0)),
        }
    }

    /// The name and element type of an array.
    pub(crate) fn array(&self, memory: Memory) -> (&str, DType) {
        let found = match memory {
            Memory::Global(g) => self.program.globals.get(g).map(|a| (&*a.name, a.dtype)),
            Memory::Shared(s) => self.kernel.shared.get(s).map(|a| (&*a.name, a.dtype)),
            Memory::Private(p) => self.kernel.private.get(p).map(|a| (&*a.name, a.dtype)),
        };
        found.unwrap_or_else(|| {
            self.needs.refuse("malformed-program", format!("{memory:?} does not exist"));
            ("", DType::F32)
        })
    }

    /// A name like this one that the kernel does not use.
    pub(crate) fn free_name(&self, like: &str) -> String {
        let mut free = like.to_string();
        while self.taken.contains(&*free) {
            free.push('_');
        }
        free
    }

    /// The name of a constant that the start of the kernel declares as `type name = value;`.
    pub(crate) fn constant(&self, c_type: &str, name: &str, value: &str) -> String {
        let free = self.free_name(name);
        self.constants
            .borrow_mut()
            .entry(free.clone())
            .or_insert_with(|| format!("const {c_type} {free} = {value};"));
        free
    }

    /// The mask of the calling warp's threads, if the language needs one; `None` if all of its
    /// lanes exist.
    pub(crate) fn warp_mask(&self) -> Option<String> {
        if !self.needs.dialect.masks {
            return None;
        }
        let threads = self.kernel.threads();
        let lanes = self.program.target.warp_size;
        match (threads / lanes * lanes, threads % lanes) {
            (_, 0) => None,
            (0, rest) => Some(mask_of(rest)),
            (full, rest) => {
                let PerDim { x, y, z } = self.kernel.block;
                let thread = match (y, z) {
                    (1, 1) => "threadIdx.x".to_string(),
                    (_, 1) => format!("threadIdx.y * {x} + threadIdx.x"),
                    _ => format!("(threadIdx.z * {y} + threadIdx.y) * {x} + threadIdx.x"),
                };
                let value = format!("{thread} < {full} ? {} : {}", mask_of(lanes), mask_of(rest));
                Some(self.constant("unsigned int", "warp_mask", &value))
            }
        }
    }

    /// A call of a warp function, with that mask if the language needs one, even for whole warps.
    pub(crate) fn of_lanes(&self, function: &str, operands: &str) -> String {
        match self.needs.dialect.masks {
            true => {
                let mask = self.warp_mask().unwrap_or_else(|| mask_of(self.program.target.warp_size));
                format!("{function}_sync({mask}, {operands})")
            }
            false => format!("{function}({operands})"),
        }
    }
}

/// The mask of a warp's first lanes; their number is at most that of the bits of an unsigned int.
pub(crate) fn mask_of(lanes: u32) -> String {
    let mask = 1u32.checked_shl(lanes).map_or(u32::MAX, |above| above - 1);
    format!("{mask:#010x}u")
}
