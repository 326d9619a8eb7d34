//! Assembles a device kernel from what was emitted for it: its variables are named, and its
//! parameters collected from its body.

use std::{collections::BTreeSet, num::NonZeroU32};

use loopwright_kernel_ir::{Arg, DType, Name, PerDim};
use loopwright_target::Language;

use crate::{
    analyse::analysis::Analysis,
    program::{
        DeclaredLookBack, DeclaredUpdate, DeviceKernel, Global, InOrder, LocalArray, Memory, Param, Stmt,
        Value, ValueKind, Var,
    },
    write::{
        declare::{finish, rename},
        emitter::Emitter,
    },
};

/// What was emitted of a device kernel.
pub(crate) struct Draft {
    pub body: Vec<Stmt>,
    vars: Vec<Var>,
    shared: Vec<LocalArray>,
    private: Vec<LocalArray>,
    in_order: Option<InOrder>,
    /// Names that its variables must not get.
    taken: BTreeSet<String>,
    /// The language of their names.
    language: Language,
}

impl Draft {
    /// A body with the variables and arrays that its emitter has collected.
    pub fn of(emitter: Emitter<'_, '_>, body: Vec<Stmt>) -> Draft {
        let (taken, language) = (emitter.taken_names(), emitter.target().language);
        let Emitter { vars, shared, private, in_order, .. } = emitter;
        Draft { body, vars, shared, private, in_order, taken, language }
    }

    /// Drops what is never read, and variables that are copies of others.
    pub fn finish(&mut self) {
        finish(&mut self.body, &mut self.vars);
    }

    /// The kernel of this name with this grid and block. `exchanged` are the arrays through which
    /// its threads pass values to each other, `around` the variables of host loops.
    pub fn kernel(
        mut self,
        (name, grid, block): (Name, impl Into<PerDim<Value>>, impl Into<PerDim<u32>>),
        (analysis, globals): (&Analysis<'_>, &[Global]),
        around: &[Name],
        exchanged: &BTreeSet<Name>,
    ) -> DeviceKernel {
        rename(&self.body, &mut self.vars, &self.taken, self.language);
        let options = &analysis.kernel.options;
        DeviceKernel {
            name,
            params: params(&self.body, self.in_order, globals, analysis, around, exchanged),
            grid: grid.into(),
            block: block.into(),
            min_blocks_per_multiprocessor: options.min_blocks_per_multiprocessor.map(NonZeroU32::get),
            early: false,
            in_order: self.in_order,
            vars: self.vars,
            shared: self.shared,
            private: self.private,
            body: self.body,
            notes: Vec::new(),
        }
    }
}

/// The parameters of a kernel: the arrays it accesses, the scalars and host variables it reads, in
/// calling order.
fn params(
    body: &[Stmt],
    in_order: Option<InOrder>,
    globals: &[Global],
    analysis: &Analysis<'_>,
    around: &[Name],
    exchanged: &BTreeSet<Name>,
) -> Vec<Param> {
    let read = globals_read(body);
    let mut written: BTreeSet<usize> = in_order.iter().map(|of| of.counter).collect();
    let mut published = BTreeSet::new();
    let mut scalars = BTreeSet::new();
    let mut named = |v: &Value| {
        v.visit(&mut |v| {
            if let ValueKind::Param(name) = &v.kind {
                scalars.insert(name.clone());
            }
        });
    };
    Stmt::visit(body, &mut |s| {
        if let Some(to) = s.written()
            && let Memory::Global(g) = to.element.memory
        {
            written.insert(g);
            // Whether a wave is complete depends on the size.
            if let Some(array) = globals.get(g).filter(|array| array.hints.waves().is_some()) {
                named(&array.size);
            }
        }
        published.extend(s.published());
        s.each_value(&mut named);
    });
    written.extend(&published);
    let mut params = Vec::new();
    for (global, array) in globals.iter().enumerate() {
        if array.table().is_none() && (read.contains(&global) || written.contains(&global)) {
            let both = read.contains(&global) && written.contains(&global);
            let exchanged = both && exchanged.contains(&array.name) || published.contains(&global);
            params.push(Param::Global { global, written: written.contains(&global), exchanged });
        }
    }
    for arg in &analysis.kernel.args {
        if let Arg::Scalar(s) = arg
            && scalars.contains(&s.name)
        {
            params.push(Param::Scalar { name: s.name.clone(), dtype: s.dtype.known().unwrap_or(DType::I32) });
        }
    }
    for name in around {
        if scalars.contains(name) {
            params.push(Param::HostVar(name.clone()));
        }
    }
    params
}

/// The numbers of the global arrays that a body reads.
pub(crate) fn globals_read(body: &[Stmt]) -> BTreeSet<usize> {
    let mut read = BTreeSet::new();
    Stmt::visit(body, &mut |s| {
        read.extend(s.published());
        s.each_read(&mut |from| {
            if let Memory::Global(global) = from.element.memory {
                read.insert(global);
            }
        });
    });
    read
}

pub(crate) fn called_functions(
    kernels: &[DeviceKernel],
    updates: &[DeclaredUpdate],
    look_backs: &[DeclaredLookBack],
) -> BTreeSet<Name> {
    let mut called = BTreeSet::new();
    let mut note = |v: &Value| {
        if let ValueKind::Call { function, .. } = &v.kind {
            called.insert(function.clone());
        }
    };
    for k in kernels {
        Stmt::visit(&k.body, &mut |s| s.visit_values(&mut note));
    }
    updates.iter().for_each(|update| update.combined.visit(&mut note));
    look_backs.iter().flat_map(|of| &of.combined).for_each(|value| value.visit(&mut note));
    called
}
