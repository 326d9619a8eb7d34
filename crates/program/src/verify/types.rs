//! Whether operands have the types that their operations and places have.
//!
//! The text has no conversions but those that it writes. A language of its kind converts by itself
//! where types differ, as C cuts off what is kept in an integer and compares a negative number as a
//! great one without a sign; copies of vectors move bits. So what a variable is assigned, what is
//! stored and what is copied has the type of its place, and the two sides of an operation have one
//! type, but for the number of bits of a shift. Groups of lanes are of a size that shuffles have.

use loopwright_kernel_ir::DType;

use crate::{Async, BinOp, DeviceKernel, MemRef, Memory, Program, Stmt, Value, ValueKind, VarId};

/// Why a program has an operand of another type than its operation or place.
pub(super) fn wrong_type(program: &Program) -> Option<String> {
    program.kernels.iter().find_map(|kernel| {
        let types = Types { program, kernel };
        let mut found = None;
        Stmt::visit(&kernel.body, &mut |stmt| {
            if found.is_none() {
                found = types.statement(stmt);
            }
        });
        found.map(|why| format!("{why}, in `{}`", kernel.name))
    })
}

struct Types<'p> {
    program: &'p Program,
    kernel: &'p DeviceKernel,
}

impl Types<'_> {
    fn statement(&self, stmt: &Stmt) -> Option<String> {
        let (place, found) = match stmt {
            Stmt::Let { var, value, .. } | Stmt::Set { var, value, .. } => {
                (self.of_variable(*var), Some(value.dtype))
            }
            Stmt::Store { to, value, .. } | Stmt::Update { to, value, .. } => {
                (self.of_element(to), Some(value.dtype))
            }
            Stmt::VectorCopy { to, from, .. } => (self.of_element(to), self.of_element(from).map(|f| f.1)),
            Stmt::Async(Async::Copy(copy)) => {
                (self.of_element(&copy.to), self.of_element(&copy.from).map(|f| f.1))
            }
            // Matrices and fragments are held to the types of their instruction (`atoms`), and what
            // looks back to its declaration (`look_back`).
            Stmt::LoadMatrices { .. }
            | Stmt::StoreMatrices { .. }
            | Stmt::Mma { .. }
            | Stmt::Async(Async::Commit | Async::Wait { .. })
            | Stmt::LookBack(_) => (None, None),
            // These give nothing a value; what is inside is visited by itself.
            Stmt::Declare(_)
            | Stmt::For { .. }
            | Stmt::If { .. }
            | Stmt::Sync { .. }
            | Stmt::Atom { .. }
            | Stmt::Collective { .. } => (None, None),
        };
        if let (Some((name, wanted)), Some(found)) = (place, found)
            && wanted != found
        {
            return Some(format!("`{name}` is of {wanted}, and gets a value of {found}"));
        }
        let mut wrong = None;
        stmt.visit_values(&mut |value| wrong = wrong.take().or_else(|| self.value(value)));
        wrong
    }

    fn value(&self, value: &Value) -> Option<String> {
        let named = |place: Option<(String, DType)>| {
            let (name, dtype) = place?;
            (dtype != value.dtype).then(|| format!("`{name}` is of {dtype}, and read as {}", value.dtype))
        };
        match &value.kind {
            ValueKind::Var(var) => named(self.of_variable(*var)),
            ValueKind::Load(from) => named(self.of_element(from)),
            ValueKind::Binary(op, a, b) if !matches!(op, BinOp::Shl | BinOp::Shr) && a.dtype != b.dtype => {
                Some(format!("an operation has a side of {} and one of {}", a.dtype, b.dtype))
            }
            ValueKind::Select(_, a, b) if a.dtype != b.dtype => {
                Some(format!("a choice is of {} or of {}", a.dtype, b.dtype))
            }
            ValueKind::Shuffle { width, .. } => {
                let warp = self.program.target.warp_size;
                let is_one = width.is_power_of_two() && (2..=warp).contains(width);
                let lanes = format!("groups of {width} lanes: these have a power of two, from 2 to {warp}");
                (!is_one).then(|| format!("a shuffle is in {lanes}"))
            }
            _ => None,
        }
    }

    fn of_variable(&self, var: VarId) -> Option<(String, DType)> {
        self.kernel.vars.get(var.0).map(|var| (var.name.to_string(), var.dtype))
    }

    fn of_element(&self, element: &MemRef) -> Option<(String, DType)> {
        let (name, dtype) = match element.memory {
            Memory::Global(number) => self.program.globals.get(number).map(|g| (&g.name, g.dtype)),
            Memory::Shared(number) => self.kernel.shared.get(number).map(|a| (&a.name, a.dtype)),
            Memory::Private(number) => self.kernel.private.get(number).map(|a| (&a.name, a.dtype)),
        }?;
        Some((name.to_string(), dtype))
    }
}
