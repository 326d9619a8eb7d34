//! The value of an expression.

use loopwright_kernel_ir::{BinaryOp, DType, Diagnostic, Expr, Name, Number, UnaryOp};

use crate::{
    machine::{Machine, Scope},
    number::{binary, end_of_range, math, unary},
    types::{Typing, computing, is_comparison, is_logic, join},
    val::{Val, mix},
};

impl Machine<'_> {
    /// The value in this type, which is widened as the mode wants.
    pub fn value(&self, e: &Expr, dtype: DType, scope: &Scope<'_>) -> Result<Val, Diagnostic> {
        let cast = |v: Val, to: DType| v.cast(self.held(to));
        Ok(match e {
            Expr::Int(v) => cast(self.plain(Number::I64(*v)), dtype),
            Expr::Float(v) => cast(self.plain(Number::F64(v.0)), dtype),
            Expr::Bool(v) => cast(self.plain(Number::Bool(*v)), dtype),
            Expr::Name(name) => cast(self.name_value(name, scope)?, dtype),
            Expr::Subscript(access) => cast(self.read(access, scope)?, dtype),
            Expr::Reduce(r) => cast(self.result_of(r, scope)?, dtype),
            Expr::Unary(op, a) => {
                let own = match (op, self.typing(e, scope)?) {
                    (UnaryOp::Not, _) => DType::Bool,
                    (_, Typing::Known(t)) if !(t.is_integer() && dtype.is_integer()) => t,
                    _ => computing(dtype),
                };
                let a = self.value(a, own, scope)?;
                let number = unary(*op, a.number)?;
                cast(Val { number, hash: self.hash(|| mix(&format!("{op:?}"), &[a.hash])) }, dtype)
            }
            Expr::Binary(op, a, b) => cast(self.binary(*op, a, b, dtype, scope)?, dtype),
            Expr::If(c, a, b) => {
                let c = self.value(c, DType::Bool, scope)?;
                let chosen = if c.number == Number::Bool(true) { a } else { b };
                let value = self.value(chosen, computing(dtype), scope)?;
                let hash = self.hash(|| mix("if", &[c.hash, value.hash]));
                cast(Val { hash, ..value }, dtype)
            }
            Expr::Cast(to, a) => {
                let to = self.bound_type(to)?;
                let from = match self.typing(a, scope)? {
                    Typing::Known(t) => t,
                    _ => to,
                };
                let a = self.value(a, from, scope)?;
                let hash = self.hash(|| mix("cast", &[to as u64, a.hash]));
                cast(cast(Val { hash, ..a }, to), dtype)
            }
            Expr::Call { function, args, .. } => cast(self.call(e, function, args, dtype, scope)?, dtype),
        })
    }

    /// The type that two operands are brought to, where a result of type `dtype` is wanted.
    fn operands_type(
        &self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        dtype: DType,
        scope: &Scope<'_>,
    ) -> Result<DType, Diagnostic> {
        if is_logic(op) {
            return Ok(DType::Bool);
        }
        let own = match join(self.typing(a, scope)?, self.typing(b, scope)?) {
            Typing::Known(t) if !is_comparison(op) && t.is_integer() && dtype.is_integer() => {
                if dtype.bytes() >= t.bytes() { dtype } else { t }
            }
            Typing::Known(t) => t,
            Typing::Fraction if is_comparison(op) => DType::F32,
            Typing::Integer | Typing::Any if is_comparison(op) => DType::I32,
            _ => computing(dtype),
        };
        Ok(if own == DType::Bool && !is_comparison(op) { DType::I32 } else { own })
    }

    fn binary(
        &self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        dtype: DType,
        scope: &Scope<'_>,
    ) -> Result<Val, Diagnostic> {
        let own = self.operands_type(op, a, b, dtype, scope)?;
        let a = self.value(a, own, scope)?;
        match (op, a.number) {
            (BinaryOp::And, Number::Bool(false)) | (BinaryOp::Or, Number::Bool(true)) => {
                return Ok(Val { hash: self.hash(|| mix(&format!("{op:?}"), &[a.hash])), ..a });
            }
            _ => {}
        }
        let b = self.value(b, own, scope)?;
        let number = binary(op, a.number, b.number)?;
        Ok(Val { number, hash: self.hash(|| mix(&format!("{op:?}"), &[a.hash, b.hash])) })
    }

    fn call(
        &self,
        e: &Expr,
        function: &Name,
        args: &[Expr],
        dtype: DType,
        scope: &Scope<'_>,
    ) -> Result<Val, Diagnostic> {
        match &**function {
            "lowest" | "highest" => {
                return Ok(self.plain(end_of_range(self.held(dtype), &**function == "lowest")));
            }
            _ => {}
        }
        let declared = self.kernel.functions.iter().find(|f| f.name == *function);
        let own = match (self.typing(e, scope)?, args.first()) {
            (Typing::Known(DType::Bool), Some(asked)) => match self.typing(asked, scope)? {
                Typing::Known(t) if t.is_float() => computing(t),
                _ => DType::F32,
            },
            (Typing::Known(t), _) => computing(t),
            (Typing::Fraction, _) if !dtype.is_float() => DType::F32,
            _ => computing(dtype),
        };
        let mut values = Vec::new();
        for (k, a) in args.iter().enumerate() {
            let wanted = declared.and_then(|f| f.params.get(k)).copied().unwrap_or(own);
            values.push(self.value(a, wanted, scope)?);
        }
        let hash = self.hash(|| mix(function, &values.iter().map(|v| v.hash).collect::<Vec<_>>()));
        let mut numbers: Vec<_> = values.iter().map(|v| v.number).collect();
        let number = match declared {
            None => math(function, &numbers)?,
            Some(f) => {
                // The user's function takes and gives what it declares, whatever the mode.
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
}
