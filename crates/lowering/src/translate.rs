//! Expressions of the kernel as typed values.
//!
//! Literals adapt to the type of their context. Arithmetic on f16 and bf16 is done in f32. Where an integer expression is wanted in the
//! index type, its leaves are converted, so that nothing overflows on the way.

use loopwright_kernel_ir::{
    Access, Aff, Arg, BinaryOp, Constraint, DType, Diagnostic, Expr, Kind, Name, Precision, Term, UnaryOp,
};

use crate::{
    emitter::{Emitter, Storage, computing, known},
    env::{Env, Loaded},
    fold::{add, logic, mul, not, select, sub},
    layout::{layout, offset},
    program::{BinOp, MemRef, Memory, UnOp, Value, ValueKind},
    scope::Scope,
    typing::{Typing, join},
};

impl Emitter<'_, '_> {
    /// The expression in a type of its own choice; literals that stand alone become I32 or F32.
    pub fn natural(&mut self, e: &Expr, scope: Scope<'_>) -> Result<Value, Diagnostic> {
        let dtype = match self.typing(e, scope, &mut 0)? {
            Typing::Known(t) => t,
            Typing::FloatLiteral => DType::F32,
            Typing::IntLiteral | Typing::Any => DType::I32,
        };
        self.value(e, dtype, scope)
    }

    /// The expression in this type.
    pub fn value(&mut self, e: &Expr, dtype: DType, scope: Scope<'_>) -> Result<Value, Diagnostic> {
        self.translate(e, dtype, scope, &mut 0)
    }

    /// An integer expression in the index type.
    pub fn index_value(&mut self, e: &Expr, env: &Env) -> Result<Value, Diagnostic> {
        if let Some(aff) = e.to_aff()
            && scope_is_plain(&aff, &self.analysis.lookup)
        {
            let canonical = self.analysis.canonical(&aff)?;
            let named = env.in_names(&canonical)?;
            // A loop that counts a sum has no value for the parts of it.
            let has_value = |n: &Name| {
                env.values.contains_key(n)
                    || !self.analysis.lookup.is_iname(n)
                    || crate::analysis::coordinate_name(self.analysis.kernel.tag(n)).is_some()
            };
            if named.terms().len() < aff.terms().len() || !aff.names().iter().all(has_value) {
                let e = Expr::from_aff(&named);
                return self.value(&e, self.index(), Scope::of(env));
            }
        }
        self.value(e, self.index(), Scope::of(env))
    }

    /// A function in the index type.
    pub fn aff_value(&mut self, aff: &Aff, env: &Env) -> Result<Value, Diagnostic> {
        let expr = Expr::from_aff(aff);
        self.index_value(&expr, env)
    }

    fn translate(
        &mut self,
        e: &Expr,
        dtype: DType,
        scope: Scope<'_>,
        number: &mut usize,
    ) -> Result<Value, Diagnostic> {
        let value = match e {
            Expr::Int(v) if dtype.is_float() => Value { dtype, kind: ValueKind::Float(*v as f64) },
            Expr::Int(v) if dtype == DType::Bool => Value { dtype, kind: ValueKind::Bool(*v != 0) },
            Expr::Int(v) => Value::int(dtype, *v),
            Expr::Float(v) if dtype.is_float() => Value { dtype, kind: ValueKind::Float(v.0) },
            Expr::Float(v) => Value { dtype: DType::F64, kind: ValueKind::Float(v.0) }.cast(dtype),
            Expr::Bool(v) => Value { dtype: DType::Bool, kind: ValueKind::Bool(*v) }.cast(dtype),
            Expr::Name(name) => self.name_value(name, scope)?.cast(dtype),
            Expr::Unary(op, a) => {
                let start = *number;
                let own = match (op, self.typing(e, scope, &mut { start })?) {
                    (UnaryOp::Not, _) => DType::Bool,
                    (_, Typing::Known(t)) if !(t.is_integer() && dtype.is_integer()) => t,
                    _ => computing(dtype),
                };
                let a = self.translate(a, own, scope, number)?;
                let kind = match (op, a.as_int()) {
                    (UnaryOp::Neg, Some(v)) if v != i64::MIN => ValueKind::Int(-v),
                    (UnaryOp::Neg, _) => ValueKind::Unary(UnOp::Neg, Box::new(a)),
                    (UnaryOp::Not, _) => return Ok(not(a).cast(dtype)),
                    (UnaryOp::BitNot, _) => ValueKind::Unary(UnOp::BitNot, Box::new(a)),
                };
                Value { dtype: own, kind }.cast(dtype)
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b, dtype, scope, number)?,
            Expr::If(c, a, b) => {
                let c = self.translate(c, DType::Bool, scope, number)?;
                let own = computing(dtype);
                let a = self.translate(a, own, scope, number)?;
                let b = self.translate(b, own, scope, number)?;
                select(c, a, b).cast(dtype)
            }
            Expr::Cast(t, a) => {
                let to = known(t, &Name::new("cast"))?;
                let start = *number;
                let from = match self.typing(a, scope, &mut { start })? {
                    Typing::Known(t) => t,
                    _ => to,
                };
                self.translate(a, from, scope, number)?.cast(to).cast(dtype)
            }
            Expr::Call { function, precision, args } => {
                self.call(e, function, *precision, args, dtype, scope, number)?
            }
            Expr::Subscript(access) => self.read(access, scope.env)?.cast(dtype),
            Expr::Reduce(r) => {
                *number += r.args.iter().map(|a| a.reductions().len()).sum::<usize>();
                let here = *number;
                *number += 1;
                let value = scope.results.and_then(|r| r.get(&here)).cloned();
                value
                    .ok_or_else(|| Diagnostic::new("internal", "a reduction has no result here"))?
                    .cast(dtype)
            }
        };
        Ok(value)
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        dtype: DType,
        scope: Scope<'_>,
        number: &mut usize,
    ) -> Result<Value, Diagnostic> {
        let start = *number;
        let mut counter = start;
        let typing = join(self.typing(a, scope, &mut counter)?, self.typing(b, scope, &mut counter)?);
        let is_logic = matches!(op, BinaryOp::And | BinaryOp::Or);
        let comparison = matches!(
            op,
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::Eq | BinaryOp::Ne
        );
        let own = match typing {
            _ if is_logic => DType::Bool,
            // Sums of integers are computed in the type that is wanted, if it is an integer type.
            Typing::Known(t) if !comparison && t.is_integer() && dtype.is_integer() => {
                if dtype.bytes() >= t.bytes() { dtype } else { t }
            }
            Typing::Known(t) => t,
            Typing::FloatLiteral if comparison => DType::F32,
            Typing::IntLiteral | Typing::Any if comparison => DType::I32,
            _ => computing(dtype),
        };
        let own = if own == DType::Bool && !is_logic && !comparison { DType::I32 } else { own };
        let x = self.translate(a, own, scope, number)?;
        let y = self.translate(b, own, scope, number)?;
        if op == BinaryOp::Div && !own.is_float() {
            return Err(Diagnostic::new("integer-division", "`/` divides floating-point values only")
                .help("write `//` for the quotient of integers, rounded down"));
        }
        let integers = own.is_integer();
        let value = match op {
            BinaryOp::Add if integers => add(x, y),
            BinaryOp::Sub if integers => sub(x, y),
            BinaryOp::Mul if integers => mul(x, y),
            BinaryOp::And => logic(BinOp::And, x, y),
            BinaryOp::Or => logic(BinOp::Or, x, y),
            BinaryOp::FloorDiv | BinaryOp::Mod if integers => self.divide(op, a, b, x, y, scope)?,
            BinaryOp::FloorDiv => {
                let quotient = Value::binary(BinOp::Div, x, y);
                let kind = ValueKind::Call {
                    function: Name::new("floor"),
                    precision: Precision::Precise,
                    args: vec![quotient],
                };
                Value { dtype: own, kind }
            }
            _ => {
                let op = match op {
                    BinaryOp::Add => BinOp::Add,
                    BinaryOp::Sub => BinOp::Sub,
                    BinaryOp::Mul => BinOp::Mul,
                    BinaryOp::Div => BinOp::Div,
                    BinaryOp::FloorDiv => BinOp::FloorDiv,
                    BinaryOp::Mod => BinOp::FloorMod,
                    BinaryOp::Lt => BinOp::Lt,
                    BinaryOp::Le => BinOp::Le,
                    BinaryOp::Gt => BinOp::Gt,
                    BinaryOp::Ge => BinOp::Ge,
                    BinaryOp::Eq => BinOp::Eq,
                    BinaryOp::Ne => BinOp::Ne,
                    BinaryOp::And | BinaryOp::Or => {
                        return Err(Diagnostic::new("internal", "logic is translated before"));
                    }
                    BinaryOp::BitAnd => BinOp::BitAnd,
                    BinaryOp::BitOr => BinOp::BitOr,
                    BinaryOp::BitXor => BinOp::BitXor,
                    BinaryOp::Shl => BinOp::Shl,
                    BinaryOp::Shr => BinOp::Shr,
                };
                Value::binary(op, x, y)
            }
        };
        Ok(value.cast(dtype))
    }

    /// A quotient or remainder of integers: C's where nothing is negative.
    fn divide(
        &mut self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        x: Value,
        y: Value,
        scope: Scope<'_>,
    ) -> Result<Value, Diagnostic> {
        let quotient = op == BinaryOp::FloorDiv;
        if let (Some(p), Some(q)) = (x.as_int(), y.as_int())
            && q > 0
        {
            return Ok(Value::int(x.dtype, if quotient { p.div_euclid(q) } else { p.rem_euclid(q) }));
        }
        if y.as_int() == Some(1) {
            return Ok(if quotient { x } else { Value::int(x.dtype, 0) });
        }
        let nonneg = |e: &Expr, v: &Value| -> Result<bool, Diagnostic> {
            if v.dtype.is_unsigned() {
                return Ok(true);
            }
            let Some(aff) = e.to_aff() else { return Ok(false) };
            let aff = self.analysis.canonical(&aff)?;
            scope.env.implies(&Constraint::nonneg(aff))
        };
        let truncates = nonneg(a, &x)? && (y.as_int().is_some_and(|v| v > 0) || nonneg(b, &y)?);
        let op = match (quotient, truncates) {
            (true, true) => BinOp::TruncDiv,
            (true, false) => BinOp::FloorDiv,
            (false, true) => BinOp::TruncRem,
            (false, false) => BinOp::FloorMod,
        };
        Ok(Value::binary(op, x, y))
    }

    #[allow(clippy::too_many_arguments)]
    fn call(
        &mut self,
        e: &Expr,
        function: &Name,
        precision: Option<Precision>,
        args: &[Expr],
        dtype: DType,
        scope: Scope<'_>,
        number: &mut usize,
    ) -> Result<Value, Diagnostic> {
        let kernel = self.analysis.kernel;
        match &**function {
            "lowest" | "highest" => return Ok(end_of_range(dtype, &**function == "lowest")),
            _ => {}
        }
        if let Some(f) = kernel.functions.iter().find(|f| f.name == *function) {
            let mut values = Vec::new();
            for (a, t) in args.iter().zip(&f.params) {
                values.push(self.translate(a, *t, scope, number)?);
            }
            let kind =
                ValueKind::Call { function: function.clone(), precision: Precision::Precise, args: values };
            return Ok(Value { dtype: f.result, kind }.cast(dtype));
        }
        let start = *number;
        let own = match self.typing(e, scope, &mut { start })? {
            Typing::Known(DType::Bool) => {
                // isnan: the type of what is asked about.
                let mut counter = start;
                match self.typing(&args[0], scope, &mut counter)? {
                    Typing::Known(t) if t.is_float() => computing(t),
                    _ => DType::F32,
                }
            }
            Typing::Known(t) => computing(t),
            Typing::FloatLiteral if !dtype.is_float() => DType::F32,
            _ => computing(dtype),
        };
        let mut values = Vec::new();
        for a in args {
            values.push(self.translate(a, own, scope, number)?);
        }
        let result = if &**function == "isnan" { DType::Bool } else { own };
        let value = match (&**function, values.len()) {
            ("min" | "max", 2) => {
                let op = if &**function == "min" { BinOp::Min } else { BinOp::Max };
                let y = values.pop();
                let x = values.pop();
                match (x, y) {
                    (Some(x), Some(y)) => Value::binary(op, x, y),
                    _ => return Err(Diagnostic::new("internal", "min without operands")),
                }
            }
            _ => Value {
                dtype: result,
                kind: ValueKind::Call {
                    function: function.clone(),
                    precision: precision.unwrap_or(kernel.options.precision),
                    args: values,
                },
            },
        };
        Ok(value.cast(dtype))
    }

    /// The value of a name.
    pub fn name_value(&mut self, name: &Name, scope: Scope<'_>) -> Result<Value, Diagnostic> {
        if let Some(value) = scope.local.and_then(|l| l.get(name)) {
            return Ok(value.clone());
        }
        if let Some(value) = scope.env.values.get(name) {
            return Ok(value.clone());
        }
        let kernel = self.analysis.kernel;
        if let Some(definition) = self.analysis.lookup.definition(name) {
            let definition = Expr::from_aff(definition);
            return self.index_value(&definition, scope.env);
        }
        if let Some(coordinate) = crate::analysis::coordinate_name(kernel.tag(name))
            && let Some(value) = scope.env.values.get(coordinate)
        {
            let lower = self.analysis.extents.get(name).map(|e| e.lower.clone()).unwrap_or_default();
            let (value, lower) = (value.clone(), self.aff_value(&lower, scope.env)?);
            return Ok(add(value, lower));
        }
        for arg in &kernel.args {
            if let Arg::Scalar(s) = arg
                && s.name == *name
            {
                let dtype = known(&s.dtype, name)?;
                let value = Value { dtype, kind: ValueKind::Param(name.clone()) };
                // f16 arguments are computed with in f32, as loads are.
                return Ok(value.cast(computing(dtype)));
            }
        }
        if self.analysis.lookup.array(name).is_some() {
            return self.read(&Access { array: name.clone(), index: Vec::new() }, scope.env);
        }
        Err(Diagnostic::new("unknown-name", format!("`{name}` has no value here")))
    }

    /// The element of an access.
    pub fn element(&mut self, access: &Access, env: &Env) -> Result<Target, Diagnostic> {
        let array = self.analysis.lookup.array(&access.array).ok_or_else(|| {
            Diagnostic::new("unknown-name", format!("there is no array `{}`", access.array))
        })?;
        if array.axes.len() != access.index.len() {
            return Err(Diagnostic::new(
                "wrong-arity",
                format!(
                    "`{}` has {} axes and {} subscripts here",
                    access.array,
                    array.axes.len(),
                    access.index.len()
                ),
            ));
        }
        let dtype = known(&array.dtype, &access.array)?;
        let mut subscripts = Vec::new();
        for s in &access.index {
            subscripts.push(self.index_value(s, env)?);
        }
        let element = match self.storage(&access.array)? {
            Storage::Var(var) => return Ok(Target::Var(var)),
            Storage::Private { array: number, lanes } => {
                let mut all = self.lane_values(&lanes, env)?;
                all.extend(Self::in_storage_order(array, subscripts));
                self.local_element(Memory::Private(number), all)
            }
            Storage::Shared(number) => {
                if subscripts.is_empty() {
                    subscripts.push(self.index_int(0));
                }
                let subscripts = Self::in_storage_order_or(array, subscripts);
                self.local_element(Memory::Shared(number), subscripts)
            }
            Storage::Global(number) => {
                let index = self.index();
                let layout = layout(array, index, &mut |e| self.index_value(e, env))?;
                let offset = offset(array, &layout, &subscripts, index);
                MemRef { memory: Memory::Global(number), subscripts, offset: Box::new(offset) }
            }
        };
        Ok(Target::Element(element, dtype))
    }

    fn in_storage_order_or(array: &loopwright_kernel_ir::Array, subscripts: Vec<Value>) -> Vec<Value> {
        if array.axes.is_empty() { subscripts } else { Self::in_storage_order(array, subscripts) }
    }

    /// The values of lanes: inside their loops the counters; a lane that is not around is the first.
    pub fn lane_values(&mut self, lanes: &[Name], env: &Env) -> Result<Vec<Value>, Diagnostic> {
        let mut values = Vec::new();
        for lane in lanes {
            let lower = self.analysis.extents.get(lane).map(|e| e.lower.clone()).unwrap_or_default();
            let value = match env.values.get(lane) {
                Some(value) => value.clone(),
                None => {
                    values.push(self.index_int(0));
                    continue;
                }
            };
            let lower = self.aff_value(&lower, env)?;
            values.push(sub(value, lower));
        }
        Ok(values)
    }

    /// The value of an element: what has been loaded of it already, or a load.
    pub fn read(&mut self, access: &Access, env: &Env) -> Result<Value, Diagnostic> {
        match env.loaded.iter().find(|(a, _)| a == access) {
            Some((_, Loaded::Var(var))) => return Ok(self.var_value(*var)),
            Some((_, Loaded::Array { number, lanes })) => {
                let array = self.analysis.lookup.array(&access.array).map(|a| &a.dtype);
                let dtype = array.map_or(Ok(DType::F32), |t| known(t, &access.array))?;
                let lanes = self.lane_values(lanes, env)?;
                let element = self.local_element(Memory::Private(*number), lanes);
                return Ok(self.load(element, dtype));
            }
            None => {}
        }
        match self.element(access, env)? {
            Target::Var(var) => Ok(self.var_value(var)),
            Target::Element(element, dtype) => Ok(self.load(element, dtype)),
        }
    }

    /// A constraint as a comparison: terms with negative signs go to the other side.
    pub fn condition(&mut self, c: &Constraint, env: &Env) -> Result<Value, Diagnostic> {
        if c.kind == Kind::Eq
            && let Some(builtin) = c.aff.as_var().and_then(|v| builtin(v))
        {
            // An elected thread or block: `threadIdx.x == 0`.
            let value = Value { dtype: self.index(), kind: builtin };
            return Ok(Value::binary(BinOp::Eq, value, self.index_int(0)));
        }
        let mut left = Aff::default();
        let mut right = Aff::default();
        for (term, k) in c.aff.terms() {
            let one = match term {
                Term::Var(name) => Aff::var(name),
                Term::Div(div) => div.numerator.floor_div(div.denominator)?,
            };
            if *k < 0 {
                left = left.add(&one.scale(k.saturating_neg())?)?;
            } else {
                right = right.add(&one.scale(*k)?)?;
            }
        }
        let constant = c.aff.constant_term();
        // Alone on the left stands what is compared: `i < n`, `i >= 1`, `i + j <= n - 3`.
        let (op, left, right) = match c.kind {
            Kind::Eq if left.terms().is_empty() => {
                (BinOp::Eq, right, Aff::constant(constant.saturating_neg()))
            }
            Kind::Eq => (BinOp::Eq, left, right.add_constant(constant)?),
            Kind::Ge if left.terms().is_empty() => {
                (BinOp::Ge, right, Aff::constant(constant.saturating_neg()))
            }
            Kind::Ge => (BinOp::Lt, left, right.add_constant(constant.saturating_add(1))?),
        };
        let left = self.aff_value(&left, env)?;
        let right = self.aff_value(&right, env)?;
        Ok(Value::binary(op, left, right))
    }
}

/// What an assignment writes.
pub(crate) enum Target {
    Var(crate::program::VarId),
    Element(MemRef, DType),
}

/// The least or greatest value of a type; infinities for floating-point types.
pub(crate) fn end_of_range(dtype: DType, lowest: bool) -> Value {
    let kind = match dtype {
        DType::F16 | DType::BF16 | DType::F32 | DType::F64 => {
            ValueKind::Float(if lowest { f64::NEG_INFINITY } else { f64::INFINITY })
        }
        DType::Bool => ValueKind::Bool(!lowest),
        DType::I8 => ValueKind::Int(if lowest { i8::MIN.into() } else { i8::MAX.into() }),
        DType::I16 => ValueKind::Int(if lowest { i16::MIN.into() } else { i16::MAX.into() }),
        DType::I32 => ValueKind::Int(if lowest { i32::MIN.into() } else { i32::MAX.into() }),
        DType::I64 => ValueKind::Int(if lowest { i64::MIN } else { i64::MAX }),
        DType::U8 => ValueKind::Int(if lowest { 0 } else { u8::MAX.into() }),
        DType::U16 => ValueKind::Int(if lowest { 0 } else { u16::MAX.into() }),
        DType::U32 => ValueKind::Int(if lowest { 0 } else { u32::MAX.into() }),
        // As the bits of all ones.
        DType::U64 => ValueKind::Int(if lowest { 0 } else { -1 }),
    };
    Value { dtype, kind }
}

/// The builtin of a coordinate.
fn builtin(name: &str) -> Option<ValueKind> {
    use loopwright_legality::{BLOCK_COORDINATES, THREAD_COORDINATES};
    let axis = |names: [&str; 3]| names.iter().position(|n| *n == name).and_then(|a| u8::try_from(a).ok());
    axis(THREAD_COORDINATES)
        .map(ValueKind::ThreadIdx)
        .or_else(|| axis(BLOCK_COORDINATES).map(ValueKind::BlockIdx))
}

/// Whether all names of a function are those of inames, coordinates, scalar arguments or scalar temporaries.
fn scope_is_plain(aff: &Aff, lookup: &loopwright_kernel_ir::Lookup<'_>) -> bool {
    aff.names().iter().all(|n| {
        lookup.is_iname(n)
            || lookup.is_scalar(n)
            || loopwright_legality::is_coordinate(n)
            || lookup.array(n).is_some_and(|a| a.axes.is_empty())
    })
}
