//! Expressions of the kernel as values of the program.
//!
//! The meaning of an expression and the type of each node are given by `kernel-ir` ([`Typed`]).
//! Subscripts and bounds are integers and are computed in the index type, which a launch checks to
//! be wide enough; values wrap in their types. Facts about integers, such as that a dividend is
//! non-negative, are used for values only if these cannot have wrapped.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{
    Access, Aff, Arg, BinaryOp, Constraint, DType, Diagnostic, Expr, HardwareAxis, Kind, Name, Number,
    Precision, Term, TypeTable, Typed, TypedKind, UnaryOp,
};

use crate::{
    analyse::arrays::known,
    program::{BinOp, MemRef, Memory, UnOp, Value, ValueKind},
    schedule::spoken::sides,
    write::{
        emitter::{Emitter, Storage, computing},
        env::{Env, Loaded},
        fold::{add, logic, mul, not, select, sub},
        layout::offset,
        scope::Scope,
    },
};

impl Emitter<'_, '_> {
    /// The expression in this type.
    pub fn value(&mut self, e: &Expr, dtype: DType, scope: Scope<'_>) -> Result<Value, Diagnostic> {
        let types = self.analysis.types(self.index());
        let typed = match scope.local {
            None => types.values.typed(e, dtype, None)?,
            Some(local) => of_operator(&types.values, local).typed(e, dtype, None)?,
        };
        self.translate(&typed, scope, Context::Value)
    }

    /// An integer expression in the index type, without simplification.
    pub fn integer(&mut self, e: &Expr, env: &Env) -> Result<Value, Diagnostic> {
        let typed = self.analysis.types(self.index()).indices.typed(e, self.index(), None)?;
        self.translate(&typed, Scope::of(env), Context::Index)
    }

    /// An integer expression in the index type.
    pub fn index_value(&mut self, e: &Expr, env: &Env) -> Result<Value, Diagnostic> {
        if let Some(aff) = e.to_aff()
            && let Some(spoken) = self.analysis.respoken(&aff, env)?
        {
            return self.integer(&Expr::from_aff(&spoken), env);
        }
        // What cancels is not written: `(j // 10)*10 + j % 10` is `j`.
        if let Some(simpler) = e.to_aff().map(|aff| Expr::from_aff(&aff)).filter(|s| s.size() < e.size()) {
            return self.integer(&simpler, env);
        }
        self.integer(e, env)
    }

    /// A function in the index type.
    pub fn aff_value(&mut self, aff: &Aff, env: &Env) -> Result<Value, Diagnostic> {
        let expr = Expr::from_aff(aff);
        self.index_value(&expr, env)
    }

    fn translate(&mut self, e: &Typed, scope: Scope<'_>, context: Context) -> Result<Value, Diagnostic> {
        let dtype = e.dtype;
        Ok(match &e.kind {
            TypedKind::Constant(number) => Value::from(*number),
            TypedKind::Name(name) => as_stored(self.name_value(name, scope)?, dtype),
            TypedKind::Element { access, .. } => self.read(access, scope.env)?.cast(dtype),
            TypedKind::Reduction(number) => {
                let value = scope.results.and_then(|r| r.get(number)).cloned();
                value
                    .ok_or_else(|| Diagnostic::new("internal", "a reduction has no result here"))?
                    .cast(dtype)
            }
            TypedKind::Unary(op, a) => {
                let a = self.translate(a, scope, context)?;
                match op {
                    UnaryOp::Not => not(a),
                    UnaryOp::Neg => Value { dtype, kind: ValueKind::Unary(UnOp::Neg, Box::new(a)) },
                    UnaryOp::BitNot => Value { dtype, kind: ValueKind::Unary(UnOp::BitNot, Box::new(a)) },
                }
            }
            TypedKind::Binary(..) => self.chain(e, scope, context)?,
            TypedKind::If(c, a, b) => {
                let c = self.translate(c, scope, context)?;
                let a = self.translate(a, scope, context)?;
                let b = self.translate(b, scope, context)?;
                select(c, a, b)
            }
            TypedKind::Convert(a) | TypedKind::Cast(a) => {
                let value = self.translate(a, scope, context)?;
                converted(&value, dtype, context).unwrap_or_else(|| value.cast(dtype))
            }
            TypedKind::Call { function, precision, args } => {
                let mut values = Vec::new();
                for a in args {
                    values.push(self.translate(a, scope, context)?);
                }
                self.call(function, *precision, values, dtype)?
            }
        })
    }

    /// Operators of two operands, `a + b - c`. A chain is nested as deeply as it is long, and is
    /// gone through in a loop: its calls would not fit on the stack of a thread.
    fn chain(&mut self, e: &Typed, scope: Scope<'_>, context: Context) -> Result<Value, Diagnostic> {
        let (mut first, mut operators) = (e, Vec::new());
        while let TypedKind::Binary(op, a, b) = &first.kind {
            operators.push((*op, &**a, &**b));
            first = a;
        }
        let mut value = self.translate(first, scope, context)?;
        for (op, a, b) in operators.into_iter().rev() {
            let right = self.translate(b, scope, context)?;
            value = self.binary(op, (a, value), (b, right), scope, context)?;
        }
        Ok(value)
    }

    /// An operator of two operands, each with its value.
    fn binary(
        &mut self,
        op: BinaryOp,
        (a, x): (&Typed, Value),
        (b, y): (&Typed, Value),
        scope: Scope<'_>,
        context: Context,
    ) -> Result<Value, Diagnostic> {
        let own = a.dtype;
        if op == BinaryOp::Div && !own.is_float() {
            return Err(Diagnostic::new("internal", "`/` of integers, which no kernel has"));
        }
        let integers = own.is_integer();
        let op: BinOp = match op {
            BinaryOp::Add if integers => return Ok(add(x, y)),
            BinaryOp::Sub if integers => return Ok(sub(x, y)),
            BinaryOp::Mul if integers => return Ok(mul(x, y)),
            // An index holds what it is shifted to, and C has no shift of what may be negative.
            BinaryOp::Shl
                if context == Context::Index
                    && y.as_int().is_some_and(|by| (0..own.bytes() as i64 * 8 - 1).contains(&by)) =>
            {
                return Ok(mul(x, Value::int(own, 1 << y.as_int().unwrap_or(0))));
            }
            BinaryOp::And => return Ok(logic(BinOp::And, x, y)),
            BinaryOp::Or => return Ok(logic(BinOp::Or, x, y)),
            BinaryOp::FloorDiv | BinaryOp::Mod if integers => {
                return self.divide(op, a, b, x, y, scope, context);
            }
            BinaryOp::FloorDiv => {
                let kind = ValueKind::Call {
                    function: Name::new("floor"),
                    precision: Precision::Precise,
                    args: vec![Value::binary(BinOp::Div, x, y)],
                };
                return Ok(Value { dtype: own, kind });
            }
            op => op.into(),
        };
        if let (true, Some(p), Some(q)) = (integers, x.as_int(), y.as_int())
            && let Some(holds) = if own == DType::U64 {
                // Numbers of 64 bits without a sign are given by their bits.
                op.compared(p.cast_unsigned(), q.cast_unsigned())
            } else {
                op.compared(p, q)
            }
        {
            return Ok(Value { dtype: DType::Bool, kind: ValueKind::Bool(holds) });
        }
        Ok(Value::binary(op, x, y))
    }

    /// A quotient or remainder of integers: C's operators if nothing is negative.
    #[allow(clippy::too_many_arguments)]
    fn divide(
        &mut self,
        op: BinaryOp,
        a: &Typed,
        b: &Typed,
        x: Value,
        y: Value,
        scope: Scope<'_>,
        context: Context,
    ) -> Result<Value, Diagnostic> {
        let quotient = op == BinaryOp::FloorDiv;
        if let (Some(p), Some(q)) = (x.as_int(), y.as_int())
            && q > 0
            && (p >= 0 || !x.dtype.is_unsigned())
        {
            return Ok(Value::int(x.dtype, if quotient { p.div_euclid(q) } else { p.rem_euclid(q) }));
        }
        if y.as_int() == Some(1) {
            return Ok(if quotient { x } else { Value::int(x.dtype, 0) });
        }
        if let (Some(divisor), Context::Index) = (y.as_int().filter(|d| *d > 1), context)
            && let Some((whole, rest)) = self.by_digits(a, divisor, scope.env)?
        {
            return self.aff_value(if quotient { &whole } else { &rest }, scope.env);
        }
        let truncates = self.is_natural(a, scope, context)?
            && (y.as_int().is_some_and(|v| v > 0) || self.is_natural(b, scope, context)?);
        let op = match (quotient, truncates) {
            (true, true) => BinOp::TruncDiv,
            (true, false) => BinOp::FloorDiv,
            (false, true) => BinOp::TruncRem,
            (false, false) => BinOp::FloorMod,
        };
        Ok(Value::binary(op, x, y))
    }

    /// The quotient and the remainder of an index, if they can be read off its terms: those of
    /// `32*i_outer + i_inner` by 32 are `i_outer` and `i_inner`, where `i_inner` is known to be a
    /// remainder. A remainder of what is less than the divisor is written as such: `k % 2` of two
    /// slots.
    fn by_digits(&mut self, a: &Typed, divisor: i64, env: &Env) -> Result<Option<(Aff, Aff)>, Diagnostic> {
        let Some(aff) = integer_form(a, Context::Index) else { return Ok(None) };
        let Ok(canonical) = self.analysis.canonical(&aff) else { return Ok(None) };
        let canonical = env.place.without_constant_quotients(&canonical)?;
        // Nothing is known of what 64 bits do not hold.
        let Ok((whole, rest)) = digits(&canonical, divisor) else { return Ok(None) };
        if whole.terms().is_empty() {
            return Ok(None);
        }
        let holds = |c: Constraint| env.implies(&c).unwrap_or(false);
        let is_rest =
            holds(Constraint::nonneg(rest.clone())) && holds(Constraint::lt(&rest, &Aff::constant(divisor))?);
        let written =
            is_rest && self.analysis.can_write(&whole, env)? && self.analysis.can_write(&rest, env)?;
        Ok(written.then_some((whole, rest)))
    }

    /// Whether the value is known to be non-negative. Index arithmetic is that of the integers;
    /// values wrap, so their integer also has to fit their type.
    fn is_natural(&mut self, e: &Typed, scope: Scope<'_>, context: Context) -> Result<bool, Diagnostic> {
        if e.dtype.is_unsigned() {
            return Ok(true);
        }
        let Some(aff) = integer_form(e, context) else { return Ok(false) };
        // Nothing is known about what does not fit in the 64 bits of queries.
        let Ok(aff) = self.analysis.canonical(&aff) else { return Ok(false) };
        if !scope.env.implies(&Constraint::nonneg(aff.clone())).unwrap_or(false) {
            return Ok(false);
        }
        if context == Context::Index || self.keeps_its_value(e, scope)? {
            return Ok(true);
        }
        let greatest = if e.dtype.bytes() == 8 { i64::MAX } else { i32::MAX.into() };
        match Constraint::le(&aff, &Aff::constant(greatest)) {
            Ok(fits) => Ok(scope.env.implies(&fits).unwrap_or(false)),
            Err(_) => Ok(false),
        }
    }

    /// Whether the value is that of one name, unchanged by conversions.
    fn keeps_its_value(&mut self, e: &Typed, scope: Scope<'_>) -> Result<bool, Diagnostic> {
        match &e.kind {
            TypedKind::Name(name) => Ok(self.name_value(name, scope)?.dtype.bytes() <= e.dtype.bytes()),
            TypedKind::Convert(a) => Ok(a.dtype.is_integer()
                && a.dtype.bytes() <= e.dtype.bytes()
                && self.keeps_its_value(a, scope)?),
            _ => Ok(false),
        }
    }

    fn call(
        &mut self,
        function: &Name,
        precision: Option<Precision>,
        mut args: Vec<Value>,
        dtype: DType,
    ) -> Result<Value, Diagnostic> {
        let kernel = self.analysis.kernel;
        let is_declared = kernel.functions.iter().any(|f| f.name == *function);
        if let ("min" | "max", 2, false) = (&**function, args.len(), is_declared) {
            let op = if &**function == "min" { BinOp::Min } else { BinOp::Max };
            return match (args.pop(), args.pop()) {
                (Some(y), Some(x)) => Ok(Value::binary(op, x, y)),
                _ => Err(Diagnostic::new("internal", "min without operands")),
            };
        }
        let precision = match is_declared {
            true => Precision::Precise,
            false => precision.unwrap_or(kernel.options.precision),
        };
        Ok(Value { dtype, kind: ValueKind::Call { function: function.clone(), precision, args } })
    }

    /// The value that a name has here: local, in the environment, defined, or passed to the kernel.
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
        if let Some(coordinate) = loopwright_legality::coordinate_name(kernel.tag(name))
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
                // Arithmetic on f16 arguments is in f32, as it is on loads.
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
                "internal",
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
                // Lengths and strides are those that the program declares, in their words: what is
                // known here of a sign would give quotients in them another form.
                let Some(global) = self.shared_state.globals.get(number) else {
                    return Err(Diagnostic::new("internal", format!("`{}` is not declared", access.array)));
                };
                let offset = offset(array, (&global.shape, &global.strides), &subscripts, self.index());
                MemRef { memory: Memory::Global(number), subscripts, offset: Box::new(offset) }
            }
        };
        Ok(Target::Element(element, dtype))
    }

    fn in_storage_order_or(array: &loopwright_kernel_ir::Array, subscripts: Vec<Value>) -> Vec<Value> {
        if array.axes.is_empty() { subscripts } else { Self::in_storage_order(array, subscripts) }
    }

    /// The values of lanes: their counters inside their loops, the first lane elsewhere.
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

    /// The value of an element: from where it has been loaded already, or a load.
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
            Target::Element(element, dtype) => {
                let value = self.load(element, dtype);
                let chosen = env.chosen.clone();
                match chosen.iter().find(|(own, _)| own == access) {
                    Some((_, guards)) => self.filled(value, guards, &Expr::Int(0), env),
                    None => Ok(value),
                }
            }
        }
    }

    /// A constraint as a comparison of its two sides.
    pub fn condition(&mut self, c: &Constraint, env: &Env) -> Result<Value, Diagnostic> {
        if c.kind == Kind::Eq
            && let Some(builtin) = c.aff.as_var().and_then(|v| builtin(v))
        {
            // An elected thread or block: `threadIdx.x == 0`.
            let value = Value { dtype: self.index(), kind: builtin };
            return Ok(Value::binary(BinOp::Eq, value, self.index_int(0)));
        }
        let (op, left, right) = sides(c)?;
        let left = self.aff_value(&left, env)?;
        let right = self.aff_value(&right, env)?;
        Ok(Value::binary(op, left, right))
    }
}

/// The destination of an assignment.
pub(crate) enum Target {
    Var(crate::program::VarId),
    Element(MemRef, DType),
}

/// How an expression is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Context {
    /// A value that the kernel's text computes: it wraps in its type.
    Value,
    /// A subscript or a bound: an integer.
    Index,
}

/// The terms that a number divides, divided by it, and the others.
fn digits(aff: &Aff, divisor: i64) -> Result<(Aff, Aff), loopwright_poly::Error> {
    let constant = aff.constant_term();
    let mut whole = Aff::constant(constant.div_euclid(divisor));
    let mut rest = Aff::constant(constant.rem_euclid(divisor));
    for (term, c) in aff.terms() {
        let one = match term {
            Term::Var(name) => Aff::var(name),
            Term::Div(div) => div.numerator.floor_div(div.denominator)?,
        };
        match c % divisor {
            0 => whole = whole.add(&one.scale(c / divisor)?)?,
            _ => rest = rest.add(&one.scale(*c)?)?,
        }
    }
    Ok((whole, rest))
}

/// The types of an operator's expressions, whose names have these values.
fn of_operator<'k>(table: &TypeTable<'k>, local: &BTreeMap<Name, Value>) -> TypeTable<'k> {
    table.with_scalars(local.iter().map(|(name, value)| (name.clone(), value.dtype.into())))
}

/// A constant, converted. One that would overflow an index is left for the checks to find.
fn converted(value: &Value, to: DType, context: Context) -> Option<Value> {
    let number = match value.kind {
        ValueKind::Int(v) if value.dtype.is_integer() => Number::from_bits(value.dtype, v as u64),
        ValueKind::Bool(v) => Number::Bool(v),
        _ => return None,
    };
    let result = number.cast(to);
    let same = result.as_i128() == number.as_i128();
    (context == Context::Value || same).then(|| Value::from(result))
}

/// The integer that an expression denotes before anything wraps, if it is quasi-affine. In values,
/// nested quotients and remainders are excluded, since their operands may have wrapped.
fn integer_form(e: &Typed, context: Context) -> Option<Aff> {
    match &e.kind {
        TypedKind::Constant(number) => number.as_i64().map(Aff::constant),
        TypedKind::Name(name) => Some(Aff::var(name)),
        TypedKind::Convert(a) if a.dtype.is_integer() && e.dtype.is_integer() => {
            // An intermediate value of a narrower type may differ.
            (context == Context::Index || a.dtype.bytes() >= e.dtype.bytes() || is_name(a))
                .then(|| integer_form(a, context))?
        }
        TypedKind::Unary(UnaryOp::Neg, a) => integer_form(a, context)?.neg().ok(),
        TypedKind::Binary(op, a, b) => {
            let (a, b) = (integer_form(a, context)?, integer_form(b, context)?);
            let divisor = || b.as_constant().filter(|d| *d > 0 && context == Context::Index);
            match op {
                BinaryOp::Add => a.add(&b).ok(),
                BinaryOp::Sub => a.sub(&b).ok(),
                BinaryOp::Mul => match (a.as_constant(), b.as_constant()) {
                    (Some(c), _) => b.scale(c).ok(),
                    (_, Some(c)) => a.scale(c).ok(),
                    _ => None,
                },
                BinaryOp::FloorDiv => a.floor_div(divisor()?).ok(),
                BinaryOp::Mod => a.modulo(divisor()?).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A value in a type; a scalar of that type itself, without the conversion to the type in which it
/// would be computed and back, which does not give every infinity again.
fn as_stored(value: Value, dtype: DType) -> Value {
    match value.kind {
        ValueKind::Cast(scalar) if scalar.dtype == dtype => *scalar,
        kind => Value { dtype: value.dtype, kind }.cast(dtype),
    }
}

fn is_name(e: &Typed) -> bool {
    matches!(e.kind, TypedKind::Name(_))
}

/// The builtin of a coordinate.
fn builtin(name: &str) -> Option<ValueKind> {
    HardwareAxis::of_coordinate(name).map(ValueKind::of_axis)
}
