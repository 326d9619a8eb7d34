//! The values that an operator's parts take while its laws are tested, and how they are computed.
//!
//! Integers wrap in the type of their expression. Floating-point values stand for real numbers: they are computed in f64 whatever
//! their type, since the laws are those of the numbers that are meant, and rounding is allowed to break them.

use std::collections::BTreeMap;

use crate::{
    BinaryOp, DType, Expr, Name, Number, Type, TypeTable, UnaryOp, ValueType, computing_type, end_of_range,
    promote,
};

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Truth(bool),
    Integer(i128),
    Real(f64),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Truth(v) => write!(f, "{v}"),
            Value::Integer(v) => write!(f, "{v}"),
            Value::Real(v) if v.abs() >= 1e7 && v.is_finite() => write!(f, "{v:e}"),
            Value::Real(v) => write!(f, "{v}"),
        }
    }
}

impl Value {
    /// In another type; an integer wraps there.
    pub fn cast(self, to: DType) -> Value {
        let number = match self {
            Value::Truth(v) => Number::Bool(v),
            Value::Integer(v) if to.is_float() => return Value::Real(v as f64),
            Value::Integer(v) if to == DType::Bool => return Value::Truth(v != 0),
            Value::Integer(v) => return Value::Integer(wrapped(v, to)),
            Value::Real(v) if to.is_float() => return Value::Real(v),
            Value::Real(v) => Number::F64(v),
        };
        match number.cast(to) {
            Number::Bool(v) => Value::Truth(v),
            n => n.as_i128().map_or(Value::Real(n.as_f64()), Value::Integer),
        }
    }

    /// Its magnitude, of a finite real number.
    pub fn size(self) -> f64 {
        match self {
            Value::Real(v) if v.is_finite() => v.abs(),
            _ => 0.0,
        }
    }
}

/// What an integer type keeps of a result.
fn wrapped(value: i128, to: DType) -> i128 {
    Number::from_bits(to, value as u64).as_i128().unwrap_or(value)
}

/// An expression whose names are numbered and whose types are known.
#[derive(Debug)]
pub(super) enum Code {
    Constant(Value),
    Slot(usize),
    Cast(DType, Box<Code>),
    Unary(UnaryOp, DType, Box<Code>),
    Binary(BinaryOp, DType, Box<[Code; 2]>),
    Select(Box<[Code; 3]>),
    Function(Name, DType, Vec<Code>),
}

/// Which names an expression may speak of: their numbers, and all types.
pub(super) struct Scope<'a> {
    pub table: TypeTable<'a>,
    pub slots: BTreeMap<Name, usize>,
}

impl Scope<'_> {
    /// The type in which arithmetic of this type is done, where one of type `wanted` is asked for.
    fn resolved(of: &ValueType, wanted: DType) -> DType {
        match of {
            // An integer operation is done at the width of a wider integer type that is wanted.
            ValueType::Of(Type::Known(t))
                if t.is_integer() && wanted.is_integer() && wanted.bytes() > t.bytes() =>
            {
                wanted
            }
            ValueType::Of(Type::Known(t)) => computing_type(*t),
            ValueType::Of(Type::Open(_)) => DType::F32,
            ValueType::FloatLiteral if !wanted.is_float() => DType::F32,
            ValueType::IntLiteral | ValueType::AnyNumber if wanted == DType::Bool => DType::I32,
            _ => computing_type(wanted),
        }
    }

    /// The type in which two operands are compared.
    fn meeting(a: &ValueType, b: &ValueType) -> Option<DType> {
        Some(match (a, b) {
            (ValueType::Of(Type::Known(a)), ValueType::Of(Type::Known(b))) => promote(*a, *b)?,
            (ValueType::Of(Type::Known(t)), ValueType::FloatLiteral)
            | (ValueType::FloatLiteral, ValueType::Of(Type::Known(t)))
                if !t.is_float() =>
            {
                DType::F64
            }
            (ValueType::Of(Type::Known(t)), _) | (_, ValueType::Of(Type::Known(t))) => computing_type(*t),
            (ValueType::FloatLiteral, _) | (_, ValueType::FloatLiteral) => DType::F64,
            _ => DType::I64,
        })
    }

    /// The code of an expression whose value is wanted in this type. None: it calls what only a device can run.
    pub fn code(&self, e: &Expr, wanted: DType) -> Option<Code> {
        let cast = |to: DType, code: Code| Code::Cast(to, code.into());
        Some(match e {
            Expr::Int(v) => Code::Constant(Value::Integer((*v).into()).cast(wanted)),
            Expr::Float(v) => Code::Constant(Value::Real(v.0).cast(wanted)),
            Expr::Bool(v) => Code::Constant(Value::Truth(*v).cast(wanted)),
            Expr::Name(name) => cast(wanted, Code::Slot(*self.slots.get(name)?)),
            Expr::Subscript(_) | Expr::Reduce(_) => return None,
            Expr::Cast(to, a) => {
                let to = to.known().unwrap_or(DType::F32);
                // The operand of a cast has no context but itself.
                let own = match self.table.type_of(a).ok()? {
                    ValueType::Of(Type::Known(t)) => computing_type(t),
                    open => Self::resolved(&open, to),
                };
                cast(wanted, cast(to, self.code(a, own)?))
            }
            Expr::Unary(op, a) => {
                let own = match op {
                    UnaryOp::Not => DType::Bool,
                    _ => Self::resolved(&self.table.type_of(e).ok()?, wanted),
                };
                cast(wanted, Code::Unary(*op, own, self.code(a, own)?.into()))
            }
            Expr::Binary(op, a, b) => {
                use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
                let own = match op {
                    And | Or => DType::Bool,
                    Lt | Le | Gt | Ge | Eq | Ne => {
                        Self::meeting(&self.table.type_of(a).ok()?, &self.table.type_of(b).ok()?)?
                    }
                    _ => Self::resolved(&self.table.type_of(e).ok()?, wanted),
                };
                cast(wanted, Code::Binary(*op, own, [self.code(a, own)?, self.code(b, own)?].into()))
            }
            Expr::If(c, a, b) => Code::Select(
                [self.code(c, DType::Bool)?, self.code(a, wanted)?, self.code(b, wanted)?].into(),
            ),
            Expr::Call { function, args, .. } => {
                crate::math_function(function)?;
                let own = match (&**function, args.first()) {
                    ("isnan", Some(asked)) => Self::resolved(&self.table.type_of(asked).ok()?, DType::F32),
                    _ => Self::resolved(&self.table.type_of(e).ok()?, wanted),
                };
                let args = args.iter().map(|a| self.code(a, own)).collect::<Option<Vec<_>>>()?;
                cast(wanted, Code::Function(function.clone(), own, args))
            }
        })
    }
}

impl Code {
    /// The value where names have these values. None where an integer is divided by zero.
    pub fn value(&self, slots: &[Value]) -> Option<Value> {
        Some(match self {
            Code::Constant(v) => *v,
            Code::Slot(k) => *slots.get(*k)?,
            Code::Cast(to, a) => a.value(slots)?.cast(*to),
            Code::Unary(op, own, a) => match (op, a.value(slots)?) {
                (UnaryOp::Not, Value::Truth(v)) => Value::Truth(!v),
                (UnaryOp::Neg, Value::Real(v)) => Value::Real(-v),
                (UnaryOp::Neg, Value::Integer(v)) => Value::Integer(wrapped(-v, *own)),
                (UnaryOp::BitNot, Value::Integer(v)) => Value::Integer(wrapped(!v, *own)),
                _ => return None,
            },
            Code::Binary(op, own, operands) => {
                let a = operands[0].value(slots)?;
                match (op, a) {
                    (BinaryOp::And, Value::Truth(false)) | (BinaryOp::Or, Value::Truth(true)) => {
                        return Some(a);
                    }
                    _ => binary(*op, *own, a, operands[1].value(slots)?)?,
                }
            }
            Code::Select(parts) => match parts[0].value(slots)? {
                Value::Truth(true) => parts[1].value(slots)?,
                _ => parts[2].value(slots)?,
            },
            Code::Function(name, own, args) => {
                let args = args.iter().map(|a| a.value(slots)).collect::<Option<Vec<_>>>()?;
                function(name, *own, &args)?
            }
        })
    }

    /// Whether it only compares, chooses and passes on: what it gives follows from the order of its values, infinite ones too.
    pub fn only_chooses(&self) -> bool {
        use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
        match self {
            Code::Constant(_) | Code::Slot(_) => true,
            Code::Cast(_, a) | Code::Unary(_, _, a) => a.only_chooses(),
            Code::Binary(op, own, operands) => {
                let plain = matches!(op, And | Or | Lt | Le | Gt | Ge | Eq | Ne) || !own.is_float();
                plain && operands.iter().all(Code::only_chooses)
            }
            Code::Select(parts) => parts.iter().all(Code::only_chooses),
            Code::Function(name, _, args) => {
                matches!(&**name, "min" | "max" | "lowest" | "highest" | "isnan")
                    && args.iter().all(Code::only_chooses)
            }
        }
    }
}

fn binary(op: BinaryOp, own: DType, a: Value, b: Value) -> Option<Value> {
    use BinaryOp::*;
    fn compared<T: PartialOrd>(op: BinaryOp, a: T, b: T) -> Option<Value> {
        Some(Value::Truth(match op {
            Lt => a < b,
            Le => a <= b,
            Gt => a > b,
            Ge => a >= b,
            Eq => a == b,
            Ne => a != b,
            _ => return None,
        }))
    }
    match (a, b) {
        (Value::Truth(a), Value::Truth(b)) => match op {
            And | BitAnd => Some(Value::Truth(a && b)),
            Or | BitOr => Some(Value::Truth(a || b)),
            BitXor => Some(Value::Truth(a != b)),
            _ => compared(op, a, b),
        },
        (Value::Real(a), Value::Real(b)) => Some(Value::Real(match op {
            Add => a + b,
            Sub => a - b,
            Mul => a * b,
            Div => a / b,
            FloorDiv => (a / b).floor(),
            _ => return compared(op, a, b),
        })),
        (Value::Integer(a), Value::Integer(b)) => {
            let inside = (0..8 * own.bytes() as i128).contains(&b);
            let floor = |a: i128, b: i128| {
                let quotient = a.checked_div(b)?;
                Some(quotient - i128::from(a % b != 0 && (a < 0) != (b < 0)))
            };
            let exact = match op {
                Add => a + b,
                Sub => a - b,
                Mul => a.wrapping_mul(b),
                FloorDiv => floor(a, b)?,
                Mod => a - b * floor(a, b)?,
                BitAnd => a & b,
                BitOr => a | b,
                BitXor => a ^ b,
                Shl if inside => a << b,
                Shl => 0,
                Shr if inside => a >> b,
                Shr => -i128::from(a < 0),
                _ => return compared(op, a, b),
            };
            Some(Value::Integer(wrapped(exact, own)))
        }
        _ => None,
    }
}

fn function(name: &str, own: DType, args: &[Value]) -> Option<Value> {
    let range = |lowest: bool| match end_of_range(own, lowest) {
        Number::Bool(v) => Value::Truth(v),
        n => n.as_i128().map_or(Value::Real(n.as_f64()), Value::Integer),
    };
    match (name, args) {
        ("lowest", _) => return Some(range(true)),
        ("highest", _) => return Some(range(false)),
        ("min", [Value::Integer(a), Value::Integer(b)]) => return Some(Value::Integer(*a.min(b))),
        ("max", [Value::Integer(a), Value::Integer(b)]) => return Some(Value::Integer(*a.max(b))),
        ("abs", [Value::Integer(a)]) => return Some(Value::Integer(wrapped(a.abs(), own))),
        _ => {}
    }
    let reals: Vec<f64> = args
        .iter()
        .map(|v| match v {
            Value::Real(v) => Some(*v),
            _ => None,
        })
        .collect::<Option<_>>()?;
    Some(Value::Real(match (name, reals.as_slice()) {
        ("isnan", [a]) => return Some(Value::Truth(a.is_nan())),
        // Both pass over NaN.
        ("min", [a, b]) => a.min(*b),
        ("max", [a, b]) => a.max(*b),
        ("abs", [a]) => a.abs(),
        ("floor", [a]) => a.floor(),
        ("ceil", [a]) => a.ceil(),
        ("round", [a]) => a.round(),
        ("trunc", [a]) => a.trunc(),
        ("sqrt", [a]) => a.sqrt(),
        ("rsqrt", [a]) => 1.0 / a.sqrt(),
        ("cbrt", [a]) => a.cbrt(),
        ("exp", [a]) => a.exp(),
        ("exp2", [a]) => a.exp2(),
        ("expm1", [a]) => a.exp_m1(),
        ("log", [a]) => a.ln(),
        ("log2", [a]) => a.log2(),
        ("log10", [a]) => a.log10(),
        ("log1p", [a]) => a.ln_1p(),
        ("sin", [a]) => a.sin(),
        ("cos", [a]) => a.cos(),
        ("tan", [a]) => a.tan(),
        ("asin", [a]) => a.asin(),
        ("acos", [a]) => a.acos(),
        ("atan", [a]) => a.atan(),
        ("atan2", [a, b]) => a.atan2(*b),
        ("sinh", [a]) => a.sinh(),
        ("cosh", [a]) => a.cosh(),
        ("tanh", [a]) => a.tanh(),
        ("erf", [a]) => libm::erf(*a),
        ("erfc", [a]) => libm::erfc(*a),
        ("pow", [a, b]) => a.powf(*b),
        ("fmod", [a, b]) => a % b,
        ("hypot", [a, b]) => a.hypot(*b),
        ("fma", [a, b, c]) => a.mul_add(*b, *c),
        ("copysign", [a, b]) => a.copysign(*b),
        _ => return None,
    }))
}
