//! Compiles a device kernel to flat code: values.
//!
//! A value ends up in a register that nothing changes while its statement runs. Choices are in
//! [`compile_choice`](crate::compile_choice).

use loopwright_kernel_ir::{DType, MathResult, Name, math_function};
use loopwright_program::{BinOp, UnOp, Value, ValueKind};

use crate::{
    bytecode::{Call, Class, Inst, MathFn, Preset, Reg, is_wide},
    compile::Compiler,
    fault::{Fault, FaultKind},
};

const DEPTH: usize = 3000;

fn math_fn(name: &Name) -> Option<MathFn> {
    Some(match name.as_str() {
        "abs" => MathFn::Abs,
        "isnan" => MathFn::IsNan,
        "isinf" => MathFn::IsInf,
        "isfinite" => MathFn::IsFinite,
        "signbit" => MathFn::SignBit,
        "ilogb" => MathFn::Ilogb,
        "floor" => MathFn::Floor,
        "ceil" => MathFn::Ceil,
        "round" => MathFn::Round,
        "trunc" => MathFn::Trunc,
        "sqrt" => MathFn::Sqrt,
        "rsqrt" => MathFn::Rsqrt,
        "cbrt" => MathFn::Cbrt,
        "rcbrt" => MathFn::Rcbrt,
        "exp" => MathFn::Exp,
        "exp2" => MathFn::Exp2,
        "exp10" => MathFn::Exp10,
        "expm1" => MathFn::Expm1,
        "log" => MathFn::Log,
        "log2" => MathFn::Log2,
        "log10" => MathFn::Log10,
        "log1p" => MathFn::Log1p,
        "sin" => MathFn::Sin,
        "cos" => MathFn::Cos,
        "tan" => MathFn::Tan,
        "sinpi" => MathFn::Sinpi,
        "cospi" => MathFn::Cospi,
        "asin" => MathFn::Asin,
        "acos" => MathFn::Acos,
        "atan" => MathFn::Atan,
        "atan2" => MathFn::Atan2,
        "sinh" => MathFn::Sinh,
        "cosh" => MathFn::Cosh,
        "tanh" => MathFn::Tanh,
        "asinh" => MathFn::Asinh,
        "acosh" => MathFn::Acosh,
        "atanh" => MathFn::Atanh,
        "erf" => MathFn::Erf,
        "erfc" => MathFn::Erfc,
        "lgamma" => MathFn::Lgamma,
        "tgamma" => MathFn::Tgamma,
        "rint" | "nearbyint" => MathFn::Rint,
        "erfcx" => MathFn::Erfcx,
        "erfinv" => MathFn::Erfinv,
        "erfcinv" => MathFn::Erfcinv,
        "normcdf" => MathFn::Normcdf,
        "normcdfinv" => MathFn::Normcdfinv,
        "bessel_j0" => MathFn::BesselJ0,
        "bessel_j1" => MathFn::BesselJ1,
        "bessel_y0" => MathFn::BesselY0,
        "bessel_y1" => MathFn::BesselY1,
        "bessel_i0" => MathFn::BesselI0,
        "bessel_i1" => MathFn::BesselI1,
        "bessel_jn" => MathFn::BesselJn,
        "bessel_yn" => MathFn::BesselYn,
        "ldexp" => MathFn::Ldexp,
        "logb" => MathFn::Logb,
        "remainder" => MathFn::Remainder,
        "rhypot" => MathFn::Rhypot,
        "norm3d" => MathFn::Norm3d,
        "rnorm3d" => MathFn::Rnorm3d,
        "norm4d" => MathFn::Norm4d,
        "rnorm4d" => MathFn::Rnorm4d,
        "fdim" => MathFn::Fdim,
        "nextafter" => MathFn::Nextafter,
        "pow" => MathFn::Pow,
        "fmod" => MathFn::Fmod,
        "hypot" => MathFn::Hypot,
        "fma" => MathFn::Fma,
        "copysign" => MathFn::Copysign,
        "to_tf32" => MathFn::ToTf32,
        "truncate_to_tf32" => MathFn::TruncateToTf32,
        _ => return None,
    })
}

fn class_of(op: BinOp, dtype: DType) -> Class {
    if op.is_comparison() {
        return Class::Comparison;
    }
    match (op, dtype.is_float()) {
        (BinOp::And | BinOp::Or, _) => Class::Logic,
        _ if dtype == DType::Bool => Class::Logic,
        (BinOp::Mul, true) => Class::FloatMultiply,
        (BinOp::Div, true) => Class::FloatDivision,
        (BinOp::Min | BinOp::Max, true) => Class::FloatExtreme,
        (_, true) => Class::FloatAdd,
        (BinOp::FloorDiv | BinOp::FloorMod | BinOp::TruncDiv | BinOp::TruncRem, false) => {
            Class::IntegerDivision
        }
        (_, false) => Class::Integer,
    }
}

fn fits(op: BinOp, dtype: DType) -> bool {
    match op {
        BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Min | BinOp::Max => dtype != DType::Bool,
        BinOp::Div => dtype.is_float(),
        BinOp::FloorDiv | BinOp::FloorMod | BinOp::TruncDiv | BinOp::TruncRem | BinOp::Shl | BinOp::Shr => {
            dtype.is_integer()
        }
        BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => !dtype.is_float(),
        BinOp::And | BinOp::Or => dtype == DType::Bool,
        BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne => true,
    }
}

impl<'a> Compiler<'a> {
    /// The register that holds the value.
    pub fn value(&mut self, value: &'a Value) -> Result<Reg, Fault> {
        if let Some(preset) = Preset::of(value) {
            let type_ok = match preset {
                Preset::BlockIdx(_) | Preset::ThreadIdx(_) => value.dtype == self.program.index,
                _ => true,
            };
            let found = self.code.presets.iter().find(|(p, d, _)| *d == value.dtype && *p == preset);
            return match found {
                Some((_, _, reg)) if type_ok => Ok(*reg),
                _ => self.invalid(format!("{:?} of type {}", value.kind, value.dtype)),
            };
        }
        if let ValueKind::Var(var) = value.kind {
            let (place, dtype) = self.place(var)?;
            if dtype != value.dtype {
                return self.invalid(format!("a variable of {dtype} as a value of {}", value.dtype));
            }
            if let Some(slot) = place.watched {
                let name = self.kernel.vars[var.0].name.clone();
                let site = self.site(Some(&name));
                self.emit(Inst::Defined { slot, site });
            }
            return Ok(place.reg);
        }
        let remembered = self.memo_at == Some(self.lazy);
        if remembered && let Some((_, reg)) = self.memo.iter().find(|(v, _)| *v == value) {
            return Ok(*reg);
        }
        let dst = self.fresh(value.dtype);
        self.value_into(value, dst)?;
        if remembered {
            self.memo.push((value, dst));
        }
        Ok(dst)
    }

    /// Computes the value into a register that none of its operands uses.
    pub fn value_into(&mut self, value: &'a Value, dst: Reg) -> Result<(), Fault> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.invalid("values nest too deeply");
        }
        self.value_of_kind(value, dst)?;
        self.depth -= 1;
        Ok(())
    }

    fn value_of_kind(&mut self, value: &'a Value, dst: Reg) -> Result<(), Fault> {
        let dtype = value.dtype;
        match &value.kind {
            ValueKind::Load(from) => {
                let access = self.access(from, dtype, false)?;
                self.emit(Inst::Load { access, dst });
            }
            ValueKind::Unary(op, a) => self.unary(*op, a, dtype, dst)?,
            ValueKind::Binary(op, a, b) => self.binary(*op, a, b, dtype, dst)?,
            ValueKind::Select(c, a, b) => self.select(c, a, b, dtype, dst)?,
            ValueKind::Cast(a) => {
                let src = self.value(a)?;
                self.cast(a.dtype, dtype, src, dst);
            }
            ValueKind::Call { function, args, .. } => self.call(function, args, dtype, dst)?,
            ValueKind::Shuffle { mode, value: taken, operand, width } => {
                if taken.dtype != dtype || operand.dtype != DType::I32 {
                    return self.invalid("a shuffle's value or operand has the wrong type");
                }
                if !self.program.target.divides_warp((*width).into()) {
                    return self.invalid(format!("a shuffle over {width} lanes"));
                }
                let (taken, operand) = (self.value(taken)?, self.value(operand)?);
                let site = self.site(None);
                let (mode, width, wide) = (*mode, *width as u8, is_wide(dtype));
                self.emit(Inst::Shuffle { mode, width, wide, dst, value: taken, operand, site });
            }
            ValueKind::Any(a) => {
                if a.dtype != DType::Bool || dtype != DType::Bool {
                    return self.invalid("the operand of a vote of the warp is not a truth value");
                }
                let value = self.value(a)?;
                let site = self.site(None);
                self.emit(Inst::Any { dst, value, site });
            }
            ValueKind::Ballot(a) => {
                if a.dtype != DType::Bool || dtype != Value::ballot_type(&self.program.target) {
                    return self.invalid(format!("a ballot of {} as {dtype}", a.dtype));
                }
                let value = self.value(a)?;
                let site = self.site(None);
                self.emit(Inst::Ballot { dst, value, site });
            }
            ValueKind::LeadingZeros(a) => {
                if !matches!(a.dtype, DType::U32 | DType::U64) || dtype != DType::I32 {
                    return self.invalid(format!("leading zeros of {} as {dtype}", a.dtype));
                }
                let (wide, src) = (is_wide(a.dtype), self.value(a)?);
                let class = self.class(Class::Integer, dtype);
                self.emit(Inst::LeadingZeros { wide, dst, src, class });
            }
            ValueKind::Int(_)
            | ValueKind::Float(_)
            | ValueKind::Bool(_)
            | ValueKind::Var(_)
            | ValueKind::Param(_)
            | ValueKind::BlockIdx(_)
            | ValueKind::ThreadIdx(_) => {
                let src = self.value(value)?;
                self.emit(Inst::Move { wide: is_wide(dtype), dst, src });
                self.set_uniform(dtype, dst, self.is_uniform(dtype, src));
            }
        }
        Ok(())
    }

    fn cast(&mut self, from: DType, to: DType, src: Reg, dst: Reg) {
        let class = self.class(Class::Conversion, from);
        self.emit(Inst::Cast { from, to, dst, src, class });
        self.set_uniform(to, dst, self.is_uniform(from, src));
    }

    /// The register of an operand, with half precision widened to f32.
    fn operand(&mut self, value: &'a Value) -> Result<(Reg, DType), Fault> {
        let reg = self.value(value)?;
        if !value.dtype.is_narrow_float() {
            return Ok((reg, value.dtype));
        }
        let dst = self.fresh(DType::F32);
        self.cast(value.dtype, DType::F32, reg, dst);
        Ok((dst, DType::F32))
    }

    /// The register for a result of type `computed` before it is rounded to `dtype`.
    fn before_rounding(&mut self, computed: DType, dtype: DType, dst: Reg) -> Reg {
        if computed != dtype && dtype.is_narrow_float() { self.fresh(computed) } else { dst }
    }

    fn round(&mut self, computed: DType, dtype: DType, src: Reg, dst: Reg) {
        if src != dst {
            self.cast(computed, dtype, src, dst);
        }
    }

    fn unary(&mut self, op: UnOp, a: &'a Value, dtype: DType, dst: Reg) -> Result<(), Fault> {
        let fits = match op {
            UnOp::Neg => dtype != DType::Bool,
            UnOp::Not => dtype == DType::Bool,
            UnOp::BitNot => dtype.is_integer(),
        };
        if !fits || a.dtype != dtype {
            return self.invalid(format!("{op:?} of {} as {dtype}", a.dtype));
        }
        let (a, computed) = self.operand(a)?;
        let to = self.before_rounding(computed, dtype, dst);
        let class = match (op, dtype.is_float()) {
            (UnOp::Not, _) => Class::Logic,
            (_, true) => Class::FloatAdd,
            (_, false) => Class::Integer,
        };
        let class = self.class(class, dtype);
        let exact = self.exact && dtype == self.program.index;
        let site = self.site(None);
        self.emit(Inst::Unary { op, dtype: computed, dst: to, a, class, exact, site });
        self.round(computed, dtype, to, dst);
        Ok(())
    }

    fn binary(&mut self, op: BinOp, a: &'a Value, b: &'a Value, dtype: DType, dst: Reg) -> Result<(), Fault> {
        let result = if op.is_comparison() { DType::Bool } else { a.dtype };
        if a.dtype != b.dtype || result != dtype || !fits(op, a.dtype) {
            return self.invalid(format!("{op:?} of {} and {} as {dtype}", a.dtype, b.dtype));
        }
        if matches!(op, BinOp::And | BinOp::Or) && !self.harmless(b) {
            return self.short_circuit(op, a, b, dst);
        }
        let (a, computed) = self.operand(a)?;
        let (b, _) = self.operand(b)?;
        let to = if op.is_comparison() { dst } else { self.before_rounding(computed, dtype, dst) };
        let class = self.class(class_of(op, computed), computed);
        let exact = self.exact && computed == self.program.index;
        let site = self.site(None);
        // A division skips inactive lanes.
        let divides = matches!(op, BinOp::FloorDiv | BinOp::FloorMod | BinOp::TruncDiv | BinOp::TruncRem);
        let uniform = !divides && self.is_uniform(computed, a) && self.is_uniform(computed, b);
        let dtype_of_result = if op.is_comparison() { DType::Bool } else { computed };
        let done_once = match computed {
            DType::I32 => {
                op.is_comparison()
                    || matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Min | BinOp::Max)
            }
            DType::Bool => matches!(op, BinOp::And | BinOp::Or),
            _ => false,
        };
        self.emit(if uniform && done_once {
            Inst::Uniform { op, dtype: computed, dst: to, a, b, class, exact, site }
        } else {
            Inst::Binary { op, dtype: computed, dst: to, a, b, class, exact, site }
        });
        self.set_uniform(dtype_of_result, to, uniform);
        self.round(computed, dtype, to, dst);
        Ok(())
    }

    fn call(&mut self, name: &Name, args: &'a [Value], dtype: DType, dst: Reg) -> Result<(), Fault> {
        if let Some(function) = self.program.functions.iter().position(|f| f.name == *name) {
            return self.user_call(function, args, dtype, dst);
        }
        let Some(known) = math_function(name) else {
            return Err(Fault::new(FaultKind::MissingFunction, format!("`{name}` is no function")));
        };
        if known.arity != args.len() {
            return self.invalid(format!("`{name}` of {} values", args.len()));
        }
        if let ("min" | "max", [a, b]) = (known.name, args) {
            let op = if known.name == "min" { BinOp::Min } else { BinOp::Max };
            return self.binary(op, a, b, dtype, dst);
        }
        let Some(function) = math_fn(name) else {
            return self.invalid(format!("`{name}` occurs in a lowered program"));
        };
        let Some(of) = known.of_operands(args).map(|a| a.dtype) else {
            return self.invalid(format!("`{name}` of no values"));
        };
        let typed = if function == MathFn::Abs { of != DType::Bool } else { of.is_float() };
        let as_declared = |(k, a): (usize, &Value)| a.dtype == known.operand(k, of);
        if !typed || known.result_of(of) != dtype || !args.iter().enumerate().all(as_declared) {
            return self.invalid(format!("`{name}` of {of} as {dtype}"));
        }
        // The operands come first, and then the integer.
        let (mut operands, mut integers) = (Vec::new(), Vec::new());
        let mut computed = of;
        for (k, arg) in args.iter().enumerate() {
            let (reg, held) = self.operand(arg)?;
            if known.integer == Some(k) {
                integers.push(reg);
            } else {
                computed = held;
                operands.push(reg);
            }
        }
        let first = operands.first().copied().unwrap_or(0);
        let mut regs = [first; 4];
        for (reg, found) in regs.iter_mut().zip(operands) {
            *reg = found;
        }
        let to = match known.result {
            MathResult::Operand => self.before_rounding(computed, dtype, dst),
            MathResult::Bool | MathResult::Int => dst,
        };
        if let Some(k) = integers.first().copied() {
            let class = self.class(Class::Function, computed);
            self.emit(Inst::MathOfInt { function, dtype: computed, dst: to, a: first, k, class });
            self.round(computed, dtype, to, dst);
            return Ok(());
        }
        let class = self.class(Class::Function, computed);
        self.emit(Inst::Math { function, dtype: computed, dst: to, args: regs, class });
        if known.result == MathResult::Operand {
            self.round(computed, dtype, to, dst);
        }
        Ok(())
    }

    fn user_call(&mut self, function: usize, args: &'a [Value], dtype: DType, dst: Reg) -> Result<(), Fault> {
        let declared = &self.program.functions[function];
        if !args.iter().map(|a| a.dtype).eq(declared.params.iter().copied()) || declared.result != dtype {
            return self.invalid(format!("a call of `{}` with other types than declared", declared.name));
        }
        if !self.options.functions.contains_key(&declared.name) {
            return Err(Fault::new(
                FaultKind::MissingFunction,
                format!("`{}` needs a closure to run on the emulator", declared.name),
            ));
        }
        let mut regs = Vec::with_capacity(args.len());
        for arg in args {
            regs.push((arg.dtype, self.value(arg)?));
        }
        let site = self.site(None);
        self.code.calls.push(Call { function, args: regs, result: dtype, site });
        let call = self.code.calls.len() as u32 - 1;
        self.emit(Inst::User { call, dst });
        Ok(())
    }
}
