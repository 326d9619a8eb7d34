//! The value of an expression whose nodes are all typed.

use loopwright_kernel_ir::{
    BinaryOp, DType, Diagnostic, Name, Number, Typed, TypedKind,
    arithmetic::{binary, math, unary},
};

use crate::{
    machine::{Machine, Scope, error},
    val::{Val, mix},
};

impl Machine<'_> {
    /// The value in the node's type, widened as the mode requires.
    pub fn value(&self, e: &Typed, scope: &Scope<'_>) -> Result<Val, Diagnostic> {
        let held = self.held(e.dtype);
        let value = match &e.kind {
            TypedKind::Constant(number) => self.plain(*number).cast(held),
            TypedKind::Name(name) => self.name_value(name, e.dtype, scope)?.cast(held),
            TypedKind::Element { access, index } => self.read(&access.array, index, scope)?.cast(held),
            TypedKind::Reduction(n) => {
                let missing = || error("uninitialised-read", "a reduction has no result here");
                let results = self.results(scope.instruction.ok_or_else(missing)?, *n)?;
                results.first().copied().ok_or_else(missing)?.cast(held)
            }
            TypedKind::Unary(op, a) => {
                let a = self.value(a, scope)?;
                Val { number: unary(*op, a.number)?, hash: self.hash(|| mix(&format!("{op:?}"), &[a.hash])) }
            }
            TypedKind::Binary(op, a, b) => self.binary(*op, a, b, scope)?,
            TypedKind::If(c, a, b) => {
                let c = self.value(c, scope)?;
                let chosen = if c.number == Number::Bool(true) { a } else { b };
                let value = self.value(chosen, scope)?;
                Val { hash: self.hash(|| mix("if", &[c.hash, value.hash])), ..value }
            }
            // Implicit conversions do not change the hash.
            TypedKind::Convert(a) => self.value(a, scope)?.cast(held),
            TypedKind::Cast(a) => {
                let a = self.value(a, scope)?;
                Val { hash: self.hash(|| mix("cast", &[e.dtype as u64, a.hash])), ..a }.cast(held)
            }
            TypedKind::Call { function, args, .. } => self.call(function, args, scope)?.cast(held),
        };
        debug_assert_eq!(value.number.dtype(), held);
        Ok(value)
    }

    fn binary(&self, op: BinaryOp, a: &Typed, b: &Typed, scope: &Scope<'_>) -> Result<Val, Diagnostic> {
        let a = self.value(a, scope)?;
        match (op, a.number) {
            (BinaryOp::And, Number::Bool(false)) | (BinaryOp::Or, Number::Bool(true)) => {
                return Ok(Val { hash: self.hash(|| mix(&format!("{op:?}"), &[a.hash])), ..a });
            }
            _ => {}
        }
        let b = self.value(b, scope)?;
        let number = binary(op, a.number, b.number)?;
        Ok(Val { number, hash: self.hash(|| mix(&format!("{op:?}"), &[a.hash, b.hash])) })
    }

    fn call(&self, function: &Name, args: &[Typed], scope: &Scope<'_>) -> Result<Val, Diagnostic> {
        let values = args.iter().map(|a| self.value(a, scope)).collect::<Result<Vec<_>, _>>()?;
        let hash = self.hash(|| mix(function, &values.iter().map(|v| v.hash).collect::<Vec<_>>()));
        let mut numbers: Vec<_> = values.iter().map(|v| v.number).collect();
        let number = match self.kernel.functions.iter().find(|f| f.name == *function) {
            None => math(function, &numbers)?,
            Some(f) => {
                // A user-defined function takes and returns its declared types, whatever the mode.
                for (number, t) in numbers.iter_mut().zip(&f.params) {
                    *number = number.cast(*t);
                }
                let closure = self.inputs.functions.get(function).ok_or_else(|| {
                    Diagnostic::new("missing-function", format!("`{function}` needs a closure"))
                })?;
                closure(&numbers)
            }
        };
        Ok(Val { number, hash })
    }

    /// The type in which values of a type are held.
    pub fn held(&self, dtype: DType) -> DType {
        if self.is_wide() && dtype.is_float() { DType::F64 } else { dtype }
    }
}
