//! What the printing of one kernel knows and collects.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use loopwright_kernel_ir::{DType, Diagnostic};
use loopwright_lowering::program::{DeviceKernel, Memory, Param, Program, VarId, is_legal_name};

use crate::types::c_type;

/// What the file needs above its kernels.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Headers.
    pub headers: RefCell<BTreeSet<&'static str>>,
    /// Helper functions: the name and the type that it is for.
    pub helpers: RefCell<BTreeSet<(&'static str, DType)>>,
    /// Names of the user's device functions that are called.
    pub functions: RefCell<BTreeSet<String>>,
    /// The first thing found wrong.
    pub error: RefCell<Option<Diagnostic>>,
}

impl Needs {
    /// Notes that something is wrong, and stands in for its text.
    pub(crate) fn refuse(&self, code: &'static str, message: impl Into<String>) -> String {
        self.error.borrow_mut().get_or_insert_with(|| Diagnostic::new(code, message));
        String::new()
    }

    /// Notes that a name cannot stand in CUDA C.
    fn refuse_name(&self, name: &str) {
        let message = format!("`{name}` cannot be a name in CUDA C");
        let help =
            "choose another: keywords, builtin types and functions of CUDA C, and names with `__` are taken";
        self.error.borrow_mut().get_or_insert_with(|| Diagnostic::new("illegal-name", message).help(help));
    }

    /// The C type, its header noted.
    pub(crate) fn c_type(&self, dtype: DType) -> &'static str {
        self.note(dtype);
        c_type(dtype)
    }

    /// Notes the header of a type.
    pub(crate) fn note(&self, dtype: DType) {
        match dtype {
            DType::F16 => drop(self.headers.borrow_mut().insert("cuda_fp16.h")),
            DType::BF16 => drop(self.headers.borrow_mut().insert("cuda_bf16.h")),
            _ => {}
        }
    }

    /// The name of a helper function for a type, noted.
    pub(crate) fn helper(&self, name: &'static str, dtype: DType) -> &'static str {
        self.helpers.borrow_mut().insert((name, dtype));
        name
    }
}

/// One kernel in print.
pub(crate) struct Context<'a> {
    /// The program that it belongs to.
    pub program: &'a Program,
    /// The kernel.
    pub kernel: &'a DeviceKernel,
    /// What the file needs.
    pub needs: &'a Needs,
    /// Constants without a literal (infinities, the mask of a partial warp): by name, the declaration at the kernel's head.
    pub constants: RefCell<BTreeMap<String, String>>,
    /// Names in use in the kernel.
    taken: BTreeSet<&'a str>,
}

impl<'a> Context<'a> {
    /// Begins with a kernel; notes names that CUDA C does not allow.
    pub(crate) fn new(program: &'a Program, kernel: &'a DeviceKernel, needs: &'a Needs) -> Self {
        let globals = program.globals.iter().map(|g| &*g.name);
        let scalars = program.scalars().map(|s| &*s.name);
        let locals = kernel.shared.iter().chain(&kernel.private).map(|a| &*a.name);
        let vars = kernel.vars.iter().map(|v| &*v.name);
        let own: Vec<&str> = locals.chain(vars).chain([&*kernel.name]).collect();
        let host = kernel.params.iter().filter_map(|p| match p {
            Param::HostVar(name) => Some(name.as_str()),
            _ => None,
        });
        let taken: BTreeSet<&str> = own.iter().copied().chain(globals).chain(scalars).chain(host).collect();
        for name in &taken {
            if !is_legal_name(name) {
                needs.refuse_name(name);
            }
        }
        let mut seen = BTreeSet::new();
        // Variables may share a name in scopes beside each other; lowering sees to their scopes.
        for array in kernel.shared.iter().chain(&kernel.private) {
            let name = &*array.name;
            if !seen.insert(name) {
                needs.refuse(
                    "duplicate-name",
                    format!("`{name}` names two things in kernel `{}`", kernel.name),
                );
            }
        }
        Context { program, kernel, needs, constants: RefCell::default(), taken }
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

    /// The name of a constant that the head of the kernel declares as `type name = value;`.
    pub(crate) fn constant(&self, c_type: &str, name: &str, value: &str) -> String {
        let mut free = name.to_string();
        while self.taken.contains(&*free) {
            free.push('_');
        }
        self.constants
            .borrow_mut()
            .entry(free.clone())
            .or_insert_with(|| format!("const {c_type} {free} = {value};"));
        free
    }

    /// The mask of the calling warp's threads, `None` where all 32 are there.
    pub(crate) fn warp_mask(&self) -> Option<String> {
        let threads = self.kernel.threads();
        let rest = (1u32 << (threads % 32)) - 1;
        match threads {
            t if t.is_multiple_of(32) => None,
            0..32 => Some(format!("{rest:#010x}u")),
            _ => {
                let [x, y, z] = self.kernel.block;
                let thread = match (y, z) {
                    (1, 1) => "threadIdx.x".to_string(),
                    (_, 1) => format!("threadIdx.y * {x} + threadIdx.x"),
                    _ => format!("(threadIdx.z * {y} + threadIdx.y) * {x} + threadIdx.x"),
                };
                let full = threads / 32 * 32;
                let value = format!("{thread} < {full} ? 0xffffffffu : {rest:#010x}u");
                Some(self.constant("unsigned int", "warp_mask", &value))
            }
        }
    }
}
