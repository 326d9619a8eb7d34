//! The own type of an expression, and the type in which operands meet.

use std::{collections::BTreeMap, sync::Arc};

use loopwright_kernel_ir::{BinaryOp, DType, Expr, Name, Reduce, ReductionOp, StateType, UnaryOp};

/// A type, or an open one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// Open to any number; `i32` without context.
    Int,
    /// Open to any floating-point type.
    Float,
    /// `lowest()` and `highest()`: open to any number.
    End,
    /// This type.
    Of(DType),
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The page refuses it, for this reason.
    Refused(String),
    /// The page does not define it.
    Unsaid(String),
    /// It is an error where it is evaluated: a division by zero.
    Error,
}

/// The types of what an expression may mention.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Inames, scalars, temporaries, parts of a state.
    pub names: BTreeMap<Name, Own>,
    /// The types of arrays' elements.
    pub arrays: Arc<BTreeMap<Name, DType>>,
    /// The user-defined operators.
    pub operators: Arc<Vec<ReductionOp>>,
    /// The kernel's only floating-point type, if there is exactly one.
    pub float: Option<DType>,
}

/// The refusal of an expression, for this reason.
pub fn refuse<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Refused(why.into()))
}

/// The type in which arithmetic on values of a type is done.
pub fn at_least_32(t: DType) -> DType {
    match t {
        DType::E4M3 | DType::E5M2 | DType::F16 | DType::BF16 => DType::F32,
        DType::I8 | DType::I16 | DType::U8 | DType::U16 => DType::I32,
        _ => t,
    }
}

/// A narrow floating-point type counts as `f32`.
fn as_f32(t: DType) -> DType {
    if t.is_float() { at_least_32(t) } else { t }
}

/// The type in which two operands meet.
pub fn meet(a: Own, b: Own) -> Result<Own, Stop> {
    use Own::*;
    Ok(match (a, b) {
        (Int, Int) => Int,
        (End, Of(t)) | (Of(t), End) if t != DType::Bool => Of(as_f32(t)),
        (End, x) | (x, End) if x != Of(DType::Bool) => x,
        (Float, Float | Int) | (Int, Float) => Float,
        (Of(DType::Bool), Of(DType::Bool)) => Of(DType::Bool),
        (Of(DType::Bool), _) | (_, Of(DType::Bool)) => return refuse("bool meets bool alone"),
        (Int, Of(t)) | (Of(t), Int) => Of(as_f32(t)),
        (Float, Of(t)) | (Of(t), Float) => {
            if t.is_float() {
                Of(as_f32(t))
            } else {
                Float
            }
        }
        (Of(s), Of(t)) => Of(match (s.is_float(), t.is_float()) {
            (true, false) => as_f32(s),
            (false, true) => as_f32(t),
            (true, true) => {
                if s == DType::F64 || t == DType::F64 {
                    DType::F64
                } else {
                    DType::F32
                }
            }
            (false, false) => {
                if s == t {
                    return Ok(Of(s));
                }
                if s.bytes() < 4 && t.bytes() < 4 {
                    return Ok(Of(DType::I32));
                }
                let (wide, other) = if s.bytes() >= t.bytes() { (s, t) } else { (t, s) };
                let signed_is_wider = wide.bytes() > other.bytes() && other.is_unsigned();
                if wide.is_unsigned() != other.is_unsigned() && !signed_is_wider {
                    return refuse(format!("{s} and {t} do not meet"));
                }
                wide
            }
        }),
        (Int | Float | End | Of(_), _) => return refuse("they do not meet"),
    })
}

impl Own {
    fn wide(self) -> Own {
        if let Own::Of(t) = self { Own::Of(at_least_32(t)) } else { self }
    }

    fn number(self) -> Result<Own, Stop> {
        if self == Own::Of(DType::Bool) { refuse("bool is no number") } else { Ok(self) }
    }

    fn integer(self) -> Result<Own, Stop> {
        match self {
            Own::Float => refuse("an integer is needed"),
            Own::Of(t) if !t.is_integer() => refuse(format!("{t} is no integer")),
            _ => Ok(self),
        }
    }
}

impl Scope {
    /// The type of an expression.
    pub fn own(&self, e: &Expr) -> Result<Own, Stop> {
        use BinaryOp::*;
        Ok(match e {
            Expr::Int(v) if i32::try_from(*v).is_err() => Own::Of(DType::I64),
            Expr::Int(_) => Own::Int,
            Expr::Float(_) => Own::Float,
            Expr::Bool(_) => Own::Of(DType::Bool),
            Expr::Name(name) => match self.names.get(name) {
                Some(own) => *own,
                None => return refuse(format!("{name}?")),
            },
            Expr::Unary(UnaryOp::Not, a) => self.truth(a)?,
            Expr::Unary(UnaryOp::BitNot, a) => self.own(a)?.integer()?.wide(),
            Expr::Unary(UnaryOp::Neg, a) => match self.own(a)?.number()?.wide() {
                Own::Of(t) if t.is_unsigned() => return refuse(format!("{t} has no negative values")),
                own => own,
            },
            Expr::Binary(And | Or, a, b) => {
                self.truth(a)?;
                self.truth(b)?
            }
            Expr::Binary(Lt | Le | Gt | Ge, a, b) => {
                if self.meet(a, b)? == Own::Of(DType::Bool) {
                    return Err(Stop::Unsaid("an order of truth values".into()));
                }
                Own::Of(DType::Bool)
            }
            Expr::Binary(Eq | Ne, a, b) => {
                self.meet(a, b)?;
                Own::Of(DType::Bool)
            }
            Expr::Binary(Shl | Shr, a, b) => {
                self.own(b)?.integer()?;
                self.own(a)?.integer()?.wide()
            }
            Expr::Binary(Div, a, b) => {
                let int = |own: Own| matches!(own, Own::Of(t) if t.is_integer());
                let open = |own: Own| matches!(own, Own::Int | Own::End);
                let (x, y) = (self.own(a)?, self.own(b)?);
                match meet(x, y)?.number()? {
                    _ if open(x) && open(y) => Own::Float,
                    _ if (int(x) || open(x)) && (int(y) || open(y)) => return refuse("/ of integers"),
                    own => own.wide(),
                }
            }
            Expr::Binary(Mod | BitAnd | BitOr | BitXor, a, b) => self.meet(a, b)?.integer()?.wide(),
            Expr::Binary(_, a, b) => self.meet(a, b)?.number()?.wide(),
            Expr::If(c, a, b) => {
                self.truth(c)?;
                self.meet(a, b)?
            }
            Expr::Cast(t, a) => {
                let Some(t) = t.known() else { return refuse("an open type") };
                self.own(a)?;
                Own::Of(t)
            }
            Expr::Call { function, args, .. } => match function.as_str() {
                "lowest" | "highest" => Own::End,
                "isnan" | "isinf" | "isfinite" | "signbit" => {
                    self.arguments(args)?;
                    Own::Of(DType::Bool)
                }
                "ilogb" => {
                    self.arguments(args)?;
                    Own::Of(DType::I32)
                }
                "min" | "max" | "abs" => self.arguments(args)?.wide(),
                _ => match self.arguments(args)?.wide() {
                    Own::Of(t) if t.is_float() => Own::Of(t),
                    Own::End => return Err(Stop::Unsaid("an end".into())),
                    _ => Own::Float,
                },
            },
            Expr::Subscript(access) => {
                access.index.iter().try_for_each(|e| self.index(e))?;
                match self.arrays.get(&access.array) {
                    Some(t) => Own::Of(*t),
                    None => return refuse(format!("{}?", access.array)),
                }
            }
            Expr::Reduce(r) => self.reduction(r, None)?.result[0],
        })
    }

    /// Checks an integer of a subscript, where those of all types meet.
    fn index(&self, e: &Expr) -> Result<(), Stop> {
        use BinaryOp::{Add, BitAnd, BitOr, BitXor, FloorDiv, Mod, Mul, Shl, Shr, Sub};
        match e {
            Expr::Unary(UnaryOp::Neg | UnaryOp::BitNot, a) => self.index(a),
            Expr::Binary(Add | Sub | Mul | FloorDiv | Mod | BitAnd | BitOr | BitXor | Shl | Shr, a, b) => {
                self.index(a).and(self.index(b))
            }
            Expr::Call { function, args, .. } if ["min", "max", "abs"].contains(&function.as_str()) => {
                args.iter().try_for_each(|e| self.index(e))
            }
            Expr::If(c, a, b) => self.index_condition(c).and(self.index(a)).and(self.index(b)),
            Expr::Cast(t, a) if t.known().is_some_and(DType::is_integer) => self.index(a),
            e => self.own(e)?.integer().map(|_| ()),
        }
    }

    /// Checks a condition of a subscript.
    fn index_condition(&self, e: &Expr) -> Result<(), Stop> {
        use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
        match e {
            Expr::Unary(UnaryOp::Not, a) => self.index_condition(a),
            Expr::Binary(And | Or, a, b) => self.index_condition(a).and(self.index_condition(b)),
            Expr::Binary(Lt | Le | Gt | Ge | Eq | Ne, a, b) => self.index(a).and(self.index(b)),
            e => self.truth(e).map(|_| ()),
        }
    }

    fn truth(&self, e: &Expr) -> Result<Own, Stop> {
        match self.own(e)? {
            Own::Of(DType::Bool) => Ok(Own::Of(DType::Bool)),
            _ => refuse("a truth value is needed"),
        }
    }

    /// The type in which two operands meet.
    pub fn meet(&self, a: &Expr, b: &Expr) -> Result<Own, Stop> {
        meet(self.own(a)?, self.own(b)?)
    }

    /// The type in which the arguments of a function meet.
    pub fn arguments(&self, args: &[Expr]) -> Result<Own, Stop> {
        let mut own = self.own(&args[0])?.number()?;
        for e in &args[1..] {
            own = meet(own, self.own(e)?)?;
        }
        own.number()
    }

    /// The operator of this name.
    pub fn operator(&self, name: &str) -> Result<ReductionOp, Stop> {
        let own = self.operators.iter().find(|o| o.name.as_str() == name).cloned();
        own.or_else(|| ReductionOp::library(name)).ok_or(Stop::Refused(format!("{name}?")))
    }

    /// The types of a reduction's parts, where this floating-point type is wanted of it.
    pub fn reduction(&self, r: &Reduce, wanted: Option<DType>) -> Result<Typed, Stop> {
        let op = self.operator(&r.op)?;
        let library = self.operators.iter().all(|o| o.name != r.op);
        let mut inputs = Vec::new();
        for e in &r.args {
            inputs.push(match (self.own(e)?, wanted.filter(|t| t.is_float())) {
                (Own::Of(t), _) if t.is_float() => Own::Of(at_least_32(t)),
                (Own::Float, Some(t)) => Own::Of(at_least_32(t)),
                (Own::Int, _) => Own::Of(DType::I32),
                (Own::End, _) => return Err(Stop::Unsaid("an end in a reduction".into())),
                (own, _) => own,
            });
        }
        let accumulated = |own: Own| match own {
            Own::Of(DType::U8 | DType::U16) => Own::Of(DType::U32),
            Own::Of(DType::Bool | DType::I8 | DType::I16) => Own::Of(DType::I32),
            own => own,
        };
        let mut inner = Scope { names: BTreeMap::new(), ..self.clone() };
        let mut state = Vec::new();
        for part in &op.state {
            let own = match part.dtype {
                StateType::Fixed(t) => Own::Of(t),
                StateType::Input(k) => match r.op.as_str() {
                    "sum" | "product" if library => accumulated(inputs[k]),
                    "min" | "max" | "argmin" | "argmax" if library => inputs[k].number()?,
                    _ => inputs[k],
                },
            };
            inner.names.insert(part.name.clone(), own);
            state.push(own);
        }
        let result = op.result.iter().map(|e| inner.own(e)).collect::<Result<_, _>>()?;
        Ok(Typed { op, inputs, state, result })
    }
}

/// A reduction's operator with its types.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Typed {
    pub op: ReductionOp,
    pub inputs: Vec<Own>,
    pub state: Vec<Own>,
    pub result: Vec<Own>,
}
