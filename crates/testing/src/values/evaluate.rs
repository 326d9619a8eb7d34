//! The values of expressions, and of a kernel.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{BinaryOp, Buffer, DType, Expr, LoopKernel, Name, Number, Reduce, UnaryOp};

use super::{
    arithmetic::{compare, exponent, floats, floor_div, has_update, integers, library, shift, updated},
    kernel::{Kernel, Loop, Statement, Target},
    number::{Value, wrap},
    types::{Own, Scope, Stop, at_least_32, refuse},
};

/// The environment in which an expression is evaluated.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    /// The types of all names.
    pub scope: Scope,
    /// The values of scalars, inames and temporaries.
    pub values: BTreeMap<Name, Value>,
    arrays: &'a BTreeMap<Name, Buffer>,
    loops: &'a [Loop],
    /// Whether only types are needed: all branches are taken, and values do not matter.
    dry: bool,
}

type Found = Result<Value, Stop>;

/// Checks that an expression of type `own` is allowed where the context wants type `to`.
pub fn assigns(own: Own, to: DType) -> Result<(), Stop> {
    let fits = match own {
        Own::Of(DType::Bool) => to == DType::Bool,
        Own::Of(t) if t.is_float() => to.is_float(),
        Own::Of(_) | Own::Int | Own::End => to != DType::Bool,
        Own::Float => to.is_float(),
    };
    if fits { Ok(()) } else { refuse(format!("no conversion to {to}")) }
}

impl<'a> Machine<'a> {
    /// A machine without loops.
    pub fn new(scope: Scope, arrays: &'a BTreeMap<Name, Buffer>) -> Machine<'a> {
        Machine { scope, values: BTreeMap::new(), arrays, loops: &[], dry: false }
    }

    /// The type in which an expression is computed if this type, or none, is wanted of it.
    fn settle(&self, own: Own, want: Option<DType>) -> Result<DType, Stop> {
        match (own, want) {
            (Own::Of(t), _) => Ok(t),
            (_, Some(t)) => Ok(t),
            (Own::Int, None) => Ok(DType::I32),
            (Own::Float, None) => self.scope.float.ok_or(Stop::Refused("an open floating-point type".into())),
            (Own::End, None) => Err(Stop::Unsaid("an end by itself".into())),
        }
    }

    /// As [`Machine::settle`], for an operation, which is widened to the wanted integer type.
    fn operation(&self, own: Own, want: Option<DType>) -> Result<DType, Stop> {
        let t = at_least_32(self.settle(own, want)?);
        Ok(match want {
            Some(w) if t.is_integer() && w.is_integer() && w.bytes() > t.bytes() => {
                if !t.is_unsigned() || !w.is_unsigned() { DType::I64 } else { DType::U64 }
            }
            _ => t,
        })
    }

    /// The value in the type that the context wants, if it wants one.
    pub fn value(&self, e: &Expr, want: Option<DType>) -> Found {
        if let Some(t) = want {
            assigns(self.scope.own(e)?, t)?;
        }
        let found = self.computed(e, want)?;
        Ok(want.map_or(found, |t| found.to(t)))
    }

    fn truth(&self, e: &Expr) -> Result<bool, Stop> {
        Ok(self.value(e, Some(DType::Bool))? == Value::Bool(true))
    }

    fn computed(&self, e: &Expr, want: Option<DType>) -> Found {
        use BinaryOp::*;
        let own = self.scope.own(e)?;
        match e {
            Expr::Int(v) => Ok(Value::Int(DType::I64, (*v).into()).to(self.settle(own, want)?)),
            Expr::Float(v) => Ok(Value::Float(DType::F64, v.0).to(self.settle(own, want)?)),
            Expr::Bool(v) => Ok(Value::Bool(*v)),
            Expr::Name(_) | Expr::Subscript(_) if self.dry => {
                Ok(Value::Int(DType::I32, 1).to(self.settle(own, None)?))
            }
            Expr::Name(name) => self.values.get(name).copied().ok_or(Stop::Refused(format!("{name}?"))),
            Expr::Unary(UnaryOp::Not, a) => Ok(Value::Bool(!self.truth(a)?)),
            // The minus is part of the literal.
            Expr::Unary(UnaryOp::Neg, a) if matches!(**a, Expr::Int(0)) => self.computed(a, want),
            Expr::Unary(op, a) => {
                let t = self.operation(own, want)?;
                match (op, self.value(a, Some(t))?) {
                    (UnaryOp::Neg, Value::Int(_, v)) => Ok(Value::Int(t, wrap(t, -v))),
                    (UnaryOp::Neg, Value::Float(_, v)) => Ok(Value::Float(t, -v)),
                    (_, Value::Int(_, v)) => Ok(Value::Int(t, wrap(t, !v))),
                    _ => Err(Stop::Unsaid("bits of an open integer where a float is wanted".into())),
                }
            }
            Expr::Binary(And, a, b) => {
                let first = self.truth(a)?;
                if !first {
                    self.reductions(b)?;
                }
                Ok(Value::Bool((first || self.dry) && self.truth(b)?))
            }
            Expr::Binary(Or, a, b) => {
                let first = self.truth(a)?;
                if first {
                    self.reductions(b)?;
                }
                Ok(Value::Bool((first && !self.dry) || self.truth(b)?))
            }
            Expr::Binary(op @ (Lt | Le | Gt | Ge | Eq | Ne), a, b) => {
                let t = at_least_32(self.settle(self.scope.meet(a, b)?, None)?);
                Ok(Value::Bool(match (self.value(a, Some(t))?, self.value(b, Some(t))?) {
                    (Value::Int(_, x), Value::Int(_, y)) => compare(*op, &x, &y),
                    (Value::Float(_, x), Value::Float(_, y)) => compare(*op, &x, &y),
                    (x, y) => {
                        if *op == Eq {
                            x == y
                        } else {
                            x != y
                        }
                    }
                }))
            }
            Expr::Binary(op @ (Shl | Shr), a, b) => {
                let t = self.operation(own, want)?;
                match (self.value(a, Some(t))?, self.value(b, Some(t))?) {
                    (Value::Int(_, x), Value::Int(_, by)) => Ok(Value::Int(t, shift(t, *op, x, by))),
                    _ => Err(Stop::Unsaid("a shift of an open integer where a float is wanted".into())),
                }
            }
            Expr::Binary(op, a, b) => {
                let t = self.operation(own, want)?;
                match (self.value(a, Some(t))?, self.value(b, Some(t))?) {
                    (Value::Int(..), Value::Int(_, 0)) if self.dry => Ok(Value::Int(t, 1)),
                    (Value::Int(_, x), Value::Int(_, y)) => Ok(Value::Int(t, integers(t, *op, x, y)?)),
                    (Value::Float(_, x), Value::Float(_, y)) => Ok(Value::Float(t, floats(t, *op, x, y)?)),
                    _ => refuse("arithmetic on truth values"),
                }
            }
            Expr::If(c, a, b) => {
                let t = self.settle(own, None).or_else(|stop| want.ok_or(stop))?;
                // f16 and bf16 are computed in f32; the store rounds.
                let t = match want.unwrap_or(t) {
                    DType::E4M3 | DType::E5M2 | DType::F16 | DType::BF16 => DType::F32,
                    t => t,
                };
                assigns(self.scope.own(a)?, t).and(assigns(self.scope.own(b)?, t))?;
                let (chosen, other) = if self.truth(c)? { (a, b) } else { (b, a) };
                if self.dry {
                    self.value(other, Some(t))?;
                } else {
                    self.reductions(other)?;
                }
                self.value(chosen, Some(t))
            }
            Expr::Cast(t, a) => {
                let Some(t) = t.known() else { return refuse("an open type") };
                // An open value takes the type of the cast.
                let context = match self.scope.own(a)? {
                    Own::Int | Own::End if t != DType::Bool => Some(t),
                    Own::Float if t.is_float() => Some(t),
                    _ => None,
                };
                Ok(self.value(a, context)?.to(t))
            }
            Expr::Call { function, args, .. } => self.call(function, args, own, want),
            Expr::Subscript(access) => {
                let at = self.exact(&access.index[0])?;
                let element = self.arrays.get(&access.array).and_then(|b| b.get(usize::try_from(at).ok()?));
                element.map(Value::of).ok_or(Stop::Refused(format!("{}[{at}] is outside", access.array)))
            }
            Expr::Reduce(r) => Ok(self.reduce(r, want)?[0]),
        }
    }

    fn call(&self, function: &str, args: &[Expr], own: Own, want: Option<DType>) -> Found {
        if function == "lowest" || function == "highest" {
            let t = self.settle(own, want)?;
            let (low, high) = if t.is_float() { (0, 0) } else { super::number::range(t) };
            // Of the types of eight bits, the page has the greatest numbers.
            let end = match t {
                DType::E4M3 => 448.0,
                DType::E5M2 => 57344.0,
                _ => f64::INFINITY,
            };
            return Ok(match (t.is_float(), function) {
                (true, "lowest") => Value::Float(t, -end),
                (true, _) => Value::Float(t, end),
                (false, "lowest") => Value::Int(t, low),
                (false, _) => Value::Int(t, high),
            });
        }
        if matches!(function, "ldexp" | "bessel_jn" | "bessel_yn") {
            return Err(Stop::Unsaid(format!("{function} of a number and an integer")));
        }
        let meeting = self.scope.arguments(args)?;
        let t = match function {
            "isnan" | "isinf" | "isfinite" | "signbit" | "ilogb" => self.settle(meeting, None)?,
            // A typed value is not widened: arguments have no context other than the type in which
            // they meet.
            _ => at_least_32(self.settle(own, want)?),
        };
        let mut ints = Vec::new();
        let mut reals = Vec::new();
        for e in args {
            match self.value(e, Some(t))? {
                Value::Int(_, v) => ints.push(v),
                Value::Float(_, v) => reals.push(v),
                Value::Bool(_) => return refuse("a truth value"),
            }
        }
        Ok(match (function, &*ints, &*reals) {
            ("isnan", [], [x]) => Value::Bool(x.is_nan()),
            ("isinf", [], [x]) => Value::Bool(*x == f64::INFINITY || *x == f64::NEG_INFINITY),
            ("isfinite", [], [x]) => Value::Bool(x.abs() < f64::INFINITY),
            ("signbit", [], [x]) if x.is_nan() => {
                return Err(Stop::Unsaid("the sign of NaN".into()));
            }
            ("signbit", [], [x]) => Value::Bool(*x < 0.0 || 1.0 / x < 0.0),
            ("ilogb", [], [x]) if *x == 0.0 || x.is_nan() => Value::Int(DType::I32, i32::MIN.into()),
            ("ilogb", [], [x]) if x.is_infinite() => Value::Int(DType::I32, i32::MAX.into()),
            ("ilogb", [], [x]) => Value::Int(DType::I32, exponent(*x).into()),
            ("isnan" | "isinf" | "isfinite" | "signbit" | "ilogb", ..) => {
                return Err(Stop::Unsaid(format!("{function} of an integer")));
            }
            ("min", [a, b], _) => Value::Int(t, *a.min(b)),
            ("max", [a, b], _) => Value::Int(t, *a.max(b)),
            ("abs", [a], _) => Value::Int(t, wrap(t, a.abs())),
            (_, [], x) => Value::Float(t, library(t, function, x)?),
            _ => return refuse(format!("{function} of integers")),
        })
    }

    /// An integer of unlimited size, as subscripts and bounds are.
    pub fn exact(&self, e: &Expr) -> Result<i128, Stop> {
        use BinaryOp::*;
        let found = match e {
            Expr::Int(v) => (*v).into(),
            Expr::Unary(UnaryOp::Neg, a) => -self.exact(a)?,
            Expr::Unary(UnaryOp::BitNot, a) => !self.exact(a)?,
            Expr::Name(_) | Expr::Subscript(_) => self.number(e)?,
            Expr::Binary(
                op @ (Add | Sub | Mul | FloorDiv | Mod | BitAnd | BitOr | BitXor | Shl | Shr),
                a,
                b,
            ) => {
                let (a, b) = (self.exact(a)?, self.exact(b)?);
                match op {
                    Add => a + b,
                    Sub => a - b,
                    Mul => a * b,
                    BitAnd => a & b,
                    BitOr => a | b,
                    BitXor => a ^ b,
                    Shl if (0..63).contains(&b) => a << b,
                    Shr if (0..63).contains(&b) => a >> b,
                    Shl | Shr => return Err(Stop::Unsaid(format!("a shift of a subscript by {b}"))),
                    _ if b == 0 => return Err(Stop::Error),
                    FloorDiv => floor_div(a, b),
                    _ => a - floor_div(a, b) * b,
                }
            }
            Expr::Call { function, args, .. } if function.as_str() == "min" => {
                self.exact(&args[0])?.min(self.exact(&args[1])?)
            }
            Expr::Call { function, args, .. } if function.as_str() == "max" => {
                self.exact(&args[0])?.max(self.exact(&args[1])?)
            }
            Expr::Call { function, args, .. } if function.as_str() == "abs" => self.exact(&args[0])?.abs(),
            Expr::If(c, a, b) => self.exact(if self.exact_truth(c)? { a } else { b })?,
            Expr::Cast(t, a) => match t.known() {
                Some(t) if t.is_integer() => match &**a {
                    Expr::Name(_) | Expr::Subscript(_) => wrap(t, self.number(a)?),
                    a => wrap(t, self.exact(a)?),
                },
                _ => return Err(Stop::Unsaid(format!("subscript {e}"))),
            },
            _ => return Err(Stop::Unsaid(format!("subscript {e}"))),
        };
        // A launch is refused.
        match i64::try_from(found) {
            Ok(_) => Ok(found),
            Err(_) => Err(Stop::Unsaid("a subscript of numbers that 64 bits do not hold".into())),
        }
    }

    /// The integer that is read.
    fn number(&self, e: &Expr) -> Result<i128, Stop> {
        match self.computed(e, None)? {
            Value::Int(_, v) => Ok(v),
            _ => refuse("a subscript is an integer"),
        }
    }

    /// A condition inside a subscript, whose comparisons are those of integers.
    fn exact_truth(&self, e: &Expr) -> Result<bool, Stop> {
        use BinaryOp::*;
        Ok(match e {
            Expr::Unary(UnaryOp::Not, a) => !self.exact_truth(a)?,
            Expr::Binary(And, a, b) => self.exact_truth(a)? && self.exact_truth(b)?,
            Expr::Binary(Or, a, b) => self.exact_truth(a)? || self.exact_truth(b)?,
            Expr::Binary(op @ (Lt | Le | Gt | Ge | Eq | Ne), a, b) => {
                compare(*op, &self.exact(a)?, &self.exact(b)?)
            }
            _ => return Err(Stop::Unsaid(format!("a condition {e} in a subscript"))),
        })
    }

    /// The two results of a reduction, in the types of its targets.
    pub fn both(&self, e: &Expr, wanted: [DType; 2]) -> Result<Vec<Value>, Stop> {
        let Expr::Reduce(r) = e else { return refuse("one value for two targets") };
        let types = self.scope.reduction(r, Some(wanted[0]))?.result;
        if types.len() != 2 {
            return refuse("two targets");
        }
        for (own, t) in types.into_iter().zip(wanted) {
            assigns(own, t)?;
        }
        Ok(self.reduce(r, Some(wanted[0]))?.into_iter().zip(wanted).map(|(v, t)| v.to(t)).collect())
    }

    /// Runs the reductions of an expression that is itself not evaluated.
    fn reductions(&self, e: &Expr) -> Result<(), Stop> {
        for r in e.reductions() {
            match self.reduce(&r, None) {
                // Its type follows from the surrounding expression, which has been checked.
                Err(Stop::Refused(_)) => self.reduce(&r, Some(DType::F64))?,
                found => found?,
            };
        }
        Ok(())
    }

    /// The results of a reduction, each in its own type or the wanted one.
    fn reduce(&self, r: &Reduce, want: Option<DType>) -> Result<Vec<Value>, Stop> {
        let typed = self.scope.reduction(r, want)?;
        let of = |own: Own| self.settle(own, want);
        let mut inner = Machine { values: BTreeMap::new(), ..self.clone() };
        inner.scope.names.clear();
        let mut state = Vec::new();
        for (e, own) in typed.op.neutral.iter().zip(&typed.state) {
            state.push(inner.value(e, Some(of(*own)?))?);
        }
        for point in self.points(&r.inames)? {
            for ((name, e), own) in typed.op.inputs.iter().zip(&r.args).zip(&typed.inputs) {
                inner.bind(name, point.value(e, Some(of(*own)?))?);
            }
            let mut lifted = Vec::new();
            for (e, own) in typed.op.lift.iter().zip(&typed.state) {
                // A library operator lifts truth values to the numbers that it adds.
                lifted.push(match inner.scope.own(e)? {
                    Own::Of(DType::Bool) => inner.value(e, None)?.to(of(*own)?),
                    _ => inner.value(e, Some(of(*own)?))?,
                });
            }
            for ((part, a), b) in typed.op.state.iter().zip(&state).zip(&lifted) {
                inner.bind(&Name::new(format!("a.{}", part.name)), *a);
                inner.bind(&Name::new(format!("b.{}", part.name)), *b);
            }
            for ((e, own), value) in typed.op.combine.iter().zip(&typed.state).zip(&mut state) {
                *value = inner.value(e, Some(of(*own)?))?;
            }
        }
        for (part, value) in typed.op.state.iter().zip(&state) {
            inner.bind(&part.name, *value);
        }
        typed.op.result.iter().map(|e| inner.value(e, None)).collect()
    }

    /// Gives a name its value and type.
    pub fn bind(&mut self, name: &Name, value: Value) {
        self.scope.names.insert(name.clone(), Own::Of(value.number().dtype()));
        self.values.insert(name.clone(), value);
    }

    /// This machine at each point of loops, in their order.
    fn points(&self, inames: &[Name]) -> Result<Vec<Machine<'a>>, Stop> {
        let [first, rest @ ..] = inames else { return Ok(vec![self.clone()]) };
        let Some(l) = self.loops.iter().find(|l| l.name == *first) else {
            return refuse(format!("{first}?"));
        };
        let t = self.iname(l);
        if self.dry {
            let mut inner = self.clone();
            inner.bind(first, Value::Int(t, 1));
            return inner.points(rest);
        }
        let mut found = Vec::new();
        for k in self.exact(&l.lower)?..self.exact(&l.upper)? {
            let mut inner = self.clone();
            inner.bind(first, Value::Int(t, k));
            found.extend(inner.points(rest)?);
        }
        Ok(found)
    }

    /// The type of an iname: 64 bits if one of its bounds has 64 bits.
    fn iname(&self, l: &Loop) -> DType {
        let mut wide = false;
        for bound in [&l.lower, &l.upper] {
            // What cancels is no part of the bound.
            let left = bound.to_aff().map(|aff| aff.names());
            bound.visit(&mut |e| {
                let counts = match e {
                    Expr::Int(_) => true,
                    Expr::Name(name) => left.as_ref().is_none_or(|left| left.contains(name)),
                    _ => false,
                };
                wide |= counts && matches!(self.scope.own(e), Ok(Own::Of(t)) if t.bytes() == 8);
            });
        }
        if wide { DType::I64 } else { DType::I32 }
    }
}

/// The types with which statements are checked.
pub fn typing(kernel: &Kernel) -> Scope {
    let arrays = BTreeMap::new();
    let mut machine =
        Machine { scope: kernel.scope(), values: BTreeMap::new(), arrays: &arrays, loops: &[], dry: false };
    for l in [&kernel.around].into_iter().chain(&kernel.loops) {
        let t = machine.iname(l);
        machine.scope.names.insert(l.name.clone(), Own::Of(t));
    }
    machine.scope
}

/// The type of a temporary that is assigned this value and has no type in the text.
pub fn temporary(scope: &Scope, value: &Expr) -> Result<DType, Stop> {
    match scope.own(value)? {
        Own::Of(t) => Ok(t),
        Own::Int => Ok(DType::I32),
        Own::Float => scope.float.ok_or(Stop::Refused("a temporary without a type".into())),
        Own::End => Err(Stop::Unsaid("an end by itself".into())),
    }
}

/// The contents of a kernel's arrays after it, and for each statement its error, if any; `parsed`
/// has the expressions of the text.
pub fn run(
    kernel: &Kernel,
    parsed: &LoopKernel,
    arrays: &BTreeMap<Name, Buffer>,
    scalars: &BTreeMap<Name, Number>,
) -> (BTreeMap<Name, Buffer>, Vec<Option<Stop>>) {
    let mut results = arrays.clone();
    let mut stops = vec![None; kernel.statements.len()];
    let mut all = kernel.loops.clone();
    all.push(kernel.around.clone());
    let mut machine =
        Machine { scope: typing(kernel), values: BTreeMap::new(), arrays, loops: &all, dry: false };
    for (name, value) in scalars.iter().filter(|(name, _)| kernel.scalars.iter().any(|(s, _)| s == *name)) {
        machine.bind(name, Value::of(*value));
    }
    let points = match machine.points(std::slice::from_ref(&kernel.around.name)) {
        Ok(points) => points,
        Err(stop) => return (results, vec![Some(stop); kernel.statements.len()]),
    };
    for (position, mut at) in points.into_iter().enumerate() {
        for ((s, said), stop) in kernel.statements.iter().zip(&parsed.instructions).zip(&mut stops) {
            let value = match &said.predicate {
                Some(p) => at.truth(p),
                None => Ok(true),
            };
            let value = value.and_then(|holds| {
                let want = match &s.target {
                    Target::Array(_, t) | Target::Temporary(_, Some(t)) => *t,
                    Target::Temporary(_, None) => temporary(&at.scope, &said.value)?,
                };
                assigns(at.scope.own(&said.value)?, want)?;
                if !holds {
                    return Ok(());
                }
                let found = match s.second {
                    None => vec![at.value(&said.value, Some(want))?],
                    Some((_, t)) => at.both(&said.value, [want, t])?,
                };
                let place = match &s.update {
                    Some((_, place)) => usize::try_from(at.exact(place)?).expect("a place in the array"),
                    None => position,
                };
                if let Target::Temporary(name, _) = &s.target {
                    at.bind(name, found[0]);
                }
                for ((name, _), value) in s.arrays().zip(found) {
                    let buffer = results.get_mut(name).expect("the array of a target");
                    let value = match (&s.update, buffer.get(place)) {
                        (Some((op, _)), Some(old)) => updated(op.clone(), Value::of(old), value)?,
                        _ => value,
                    };
                    assert!(buffer.set(place, value.number()), "{name}[{place}] takes {value:?}");
                }
                Ok(())
            });
            if let Err(why) = value {
                *stop = stop.take().or(Some(why));
            }
        }
    }
    (results, stops)
}

/// Checks that everything in a statement has a type.
pub fn settled(scope: &Scope, loops: &[Loop], s: &Statement) -> Result<(), Stop> {
    let arrays = BTreeMap::new();
    let machine =
        Machine { scope: scope.clone(), values: BTreeMap::new(), arrays: &arrays, loops, dry: true };
    let want = match &s.target {
        Target::Array(_, t) | Target::Temporary(_, Some(t)) => *t,
        Target::Temporary(_, None) => temporary(scope, &s.value)?,
    };
    if let Some((op, place)) = &s.update {
        scope.own(place)?;
        if !has_update(want, op.clone()) {
            return refuse(format!("{want} has no such update"));
        }
    }
    match s.second {
        Some((_, t)) => machine.both(&s.value, [want, t]).map(|_| ())?,
        None => machine.value(&s.value, Some(want)).map(|_| ())?,
    }
    s.predicate.as_ref().map_or(Ok(()), |p| machine.value(p, Some(DType::Bool)).map(|_| ()))
}
