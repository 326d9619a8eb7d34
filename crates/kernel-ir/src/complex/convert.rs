//! Expressions with complex numbers as expressions of their parts.

use std::sync::Arc;

use super::{Table, not_real, part_name, part_type, value::Value};
use crate::{
    Access, BinaryOp, Diagnostic, Expr, Float, Name, Precision, Reduce, Type, TypeTable, UnaryOp, ValueType,
};

/// The most nodes of a part that is written twice where it cannot be computed ahead.
const SIZE_LIMIT: usize = 64;

/// What may be computed by an instruction of its own before the one in which an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// Any value: the place is reached whenever the instruction runs.
    All,
    /// Reductions: they run before the instruction wherever they stand. Other values may only be
    /// computed where a condition holds.
    Reductions,
    /// Nothing: it is computed for each point of a reduction, or it is a condition or a subscript.
    Nothing,
}

impl Ahead {
    fn in_branch(self) -> Ahead {
        if self == Ahead::All { Ahead::Reductions } else { self }
    }
}

/// A value that is computed ahead, in private scalars.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub id: Name,
    pub targets: Vec<Name>,
    pub value: Expr,
}

/// The state of converting one instruction.
pub(crate) struct Convert<'a> {
    pub table: &'a Table,
    /// The types of the names whose type is known, parts of complex ones among them.
    pub types: &'a TypeTable<'a>,
    /// The id of the instruction, with which new names begin.
    pub id: Name,
    /// A name that nothing has, beginning with this.
    pub fresh: &'a mut dyn FnMut(&str) -> Name,
    pub made: Vec<Made>,
}

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

fn call(function: &str, precision: Option<Precision>, args: Vec<Expr>) -> Expr {
    Expr::Call { function: Name::new(function), precision, args }
}

/// The number of operations and calls in an expression, without those in subscripts; up to `most`.
fn operations(e: &Expr, most: usize) -> usize {
    let mut count = match e {
        Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Name(_) | Expr::Subscript(_) => return 0,
        Expr::Call { .. } | Expr::Reduce(_) => 4,
        _ => 1,
    };
    for child in e.children() {
        if count < most {
            count += operations(child, most - count);
        }
    }
    count
}

/// Whether a value is cheap enough to be written twice: a load, a name, or one operation on them.
fn is_light(e: &Expr) -> bool {
    let mut varies = false;
    e.visit(&mut |e| varies |= matches!(e, Expr::Name(_) | Expr::Subscript(_) | Expr::Reduce(_)));
    !varies || operations(e, 2) < 2
}

impl Convert<'_> {
    /// The expression as a number with parts.
    pub fn value(&mut self, e: &Expr, ahead: Ahead) -> Result<Value> {
        match e {
            Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) => Ok(Value::real(e.clone())),
            Expr::Name(n) => Ok(match self.table.scalar_of(n) {
                Some((scalar, Some(part))) => Value::real(Expr::Name(part_name(&scalar, part))),
                Some((scalar, None)) => {
                    Value::pair(Expr::Name(part_name(&scalar, 0)), Expr::Name(part_name(&scalar, 1)))
                }
                None if self.table.arrays.contains_key(n) => {
                    return Err(self.subscripts(n, 0).into());
                }
                None => Value::real(e.clone()),
            }),
            Expr::Subscript(access) => self.access(access),
            Expr::Unary(UnaryOp::Neg, a) => {
                let a = self.value(a, ahead)?;
                Ok(match (a.complex, &a.re) {
                    // As it was written.
                    (false, Some(re)) => Value::real(Expr::Unary(UnaryOp::Neg, Arc::new(re.clone()))),
                    _ => a.neg(),
                })
            }
            Expr::Unary(op, a) => {
                let sign = if *op == UnaryOp::Not { "not" } else { "~" };
                let a = self.operand(a, ahead, sign)?;
                Ok(Value::real(Expr::Unary(*op, Arc::new(a))))
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b, ahead),
            Expr::If(c, a, b) => self.choice(c, a, b, ahead),
            Expr::Cast(t, a) => self.cast(t, a, ahead),
            Expr::Call { function, precision, args } => self.call(function, *precision, args, ahead),
            Expr::Reduce(r) => self.reduction(r, ahead),
        }
    }

    /// The expression as a real number, which a place needs.
    pub fn real(&mut self, e: &Expr, ahead: Ahead, place: &str) -> Result<Expr> {
        if !self.table.concerns(e) {
            return Ok(e.clone());
        }
        match self.value(e, ahead)? {
            Value { re: Some(re), complex: false, .. } => Ok(re),
            _ => Err(not_real(e, place).into()),
        }
    }

    /// An element, with its part if it is complex.
    pub fn element(&mut self, access: &Access, part: usize) -> Result<Access> {
        let mut index = self.index(access)?;
        if let Some(axes) = self.table.arrays.get(&access.array) {
            if *axes != index.len() {
                return Err(self.subscripts(&access.array, index.len()).into());
            }
            index.push(Expr::Int(i64::from(part != 0)));
        }
        Ok(Access { array: access.array.clone(), index })
    }

    fn index(&mut self, access: &Access) -> Result<Vec<Expr>> {
        access.index.iter().map(|e| self.real(e, Ahead::Nothing, "a subscript")).collect()
    }

    fn subscripts(&self, array: &Name, given: usize) -> Diagnostic {
        let axes = self.table.arrays.get(array).copied().unwrap_or(0);
        let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let message = format!(
            "`{array}` has {}, but {} given",
            plural(axes, "axis").replace("axiss", "axes"),
            match given {
                1 => "1 subscript is".to_string(),
                n => format!("{n} subscripts are"),
            }
        );
        Diagnostic::new("wrong-subscript", message)
            .help("an element is a complex number; its parts are `re(x[...])` and `im(x[...])`")
    }

    fn access(&mut self, access: &Access) -> Result<Value> {
        if self.table.arrays.contains_key(&access.array) {
            let part = |this: &mut Self, k| this.element(access, k).map(Expr::Subscript);
            return Ok(Value::pair(part(self, 0)?, part(self, 1)?));
        }
        Ok(Value::real(Expr::Subscript(Access { array: access.array.clone(), index: self.index(access)? })))
    }

    fn operand(&mut self, e: &Expr, ahead: Ahead, operation: &str) -> Result<Expr> {
        match self.value(e, ahead)? {
            Value { re: Some(re), complex: false, .. } => Ok(re),
            _ => Err(undefined(operation, e).into()),
        }
    }

    /// A real number that becomes the real part of a complex one: no integer, which would wrap.
    fn floating(&self, e: Expr) -> Expr {
        match &e {
            Expr::Float(_) => return e,
            Expr::Int(v) if v.unsigned_abs() < 1 << 53 => return Expr::Float(Float(*v as f64)),
            _ => {}
        }
        let is_float = match self.types.infer(&e) {
            Ok(ValueType::FloatLiteral) => true,
            Ok(ValueType::Of(t)) => t.known().is_none_or(|t| t.is_float()),
            _ => false,
        };
        if is_float { e } else { Expr::binary(BinaryOp::Add, Expr::Float(Float(0.0)), e) }
    }

    /// The number, as an operand of a complex operation.
    fn operand_of_complex(&self, value: Value) -> Value {
        if value.complex { value } else { Value { re: value.re.map(|e| self.floating(e)), ..value } }
    }

    /// The operand with a sign that may be moved: that of an integer stays where it is, since the
    /// integer wraps.
    fn with_its_sign(&self, value: Value) -> Value {
        match &value.re {
            Some(Expr::Unary(UnaryOp::Neg, a)) if !matches!(**a, Expr::Int(_)) => {
                self.operand_of_complex(value)
            }
            _ => value,
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr, ahead: Ahead) -> Result<Value> {
        let sign = crate::text::binary_text(op);
        let behind = if matches!(op, BinaryOp::And | BinaryOp::Or) { ahead.in_branch() } else { ahead };
        let (x, y) = (self.value(a, ahead)?, self.value(b, behind)?);
        if !x.complex && !y.complex {
            let (Some(x), Some(y)) = (x.re, y.re) else { return Err(undefined(sign, a).into()) };
            return Ok(Value::real(Expr::binary(op, x, y)));
        }
        let (x, y) = (self.with_its_sign(x), self.with_its_sign(y));
        Ok(match op {
            BinaryOp::Add | BinaryOp::Sub => {
                // A real operand whose partner has no real part stands there alone.
                let alone = |v: Value, other: &Value| match other.re {
                    None => self.operand_of_complex(v),
                    Some(_) => v,
                };
                let (x, y) = (alone(x.clone(), &y), alone(y, &x));
                if op == BinaryOp::Add { x.add(y) } else { x.sub(y) }
            }
            BinaryOp::Mul => {
                // The product with a literal one is the other factor, which is not an integer then.
                let (x, y) = match (x.has_one(), y.has_one()) {
                    (false, false) => (x, y),
                    _ => (self.operand_of_complex(x), self.operand_of_complex(y)),
                };
                let x = if y.is_whole() { self.shared(x, ahead)? } else { x };
                let y = if x.is_whole() { self.shared(y, ahead)? } else { y };
                x.mul(&y)
            }
            BinaryOp::Div => {
                let y = if x.is_whole() || y.is_whole() { self.shared(y, ahead)? } else { y };
                let x = if y.is_whole() { self.shared(x, ahead)? } else { x };
                let square = y.square().map(|e| self.shared_part(e, ahead)).transpose()?;
                x.div(&y, square.as_ref())
            }
            BinaryOp::Eq | BinaryOp::Ne => {
                let ([xr, xi], [yr, yi]) = (x.parts(), y.parts());
                let both = if op == BinaryOp::Eq { BinaryOp::And } else { BinaryOp::Or };
                Value::real(Expr::binary(both, Expr::binary(op, xr, yr), Expr::binary(op, xi, yi)))
            }
            _ => return Err(undefined(sign, if x.complex { a } else { b }).into()),
        })
    }

    fn choice(&mut self, c: &Expr, a: &Expr, b: &Expr, ahead: Ahead) -> Result<Value> {
        let c = self.real(c, ahead, "a condition")?;
        let inside = ahead.in_branch();
        let (a, b) = (self.value(a, inside)?, self.value(b, inside)?);
        let choose = |c: &Expr, a: Expr, b: Expr| Expr::If(c.clone().into(), a.into(), b.into());
        if !a.complex && !b.complex {
            let (Some(a), Some(b)) = (a.re, b.re) else { return Err(undefined("if", &c).into()) };
            return Ok(Value::real(choose(&c, a, b)));
        }
        let zero = || Expr::Float(Float(0.0));
        let part = |c: &Expr, a: Option<Expr>, b: Option<Expr>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(choose(c, a.unwrap_or_else(zero), b.unwrap_or_else(zero))),
        };
        let c = if c.reductions().is_empty() { c } else { self.shared_part(c, ahead)? };
        Ok(Value::of(part(&c, a.re, b.re), part(&c, a.im, b.im)))
    }

    fn cast(&mut self, t: &Type, a: &Expr, ahead: Ahead) -> Result<Value> {
        let value = self.value(a, ahead)?;
        let to = |t: Type, e: Expr| Expr::Cast(t, Arc::new(e));
        match (part_type(t), value) {
            (Some(part), v) => {
                let part = |e: Expr| to(Type::Known(part), e);
                Ok(Value::of(v.re.map(part), v.im.map(part)))
            }
            (None, Value { re: Some(re), complex: false, .. }) => Ok(Value::real(to(t.clone(), re))),
            (None, _) => Err(not_real(a, &format!("`{t}`")).into()),
        }
    }

    fn call(
        &mut self,
        function: &Name,
        precision: Option<Precision>,
        args: &[Expr],
        ahead: Ahead,
    ) -> Result<Value> {
        if self.table.is_function(function) {
            let arity = if **function == *"complex" { 2 } else { 1 };
            if args.len() != arity {
                let plural = if arity == 1 { "argument" } else { "arguments" };
                let message = format!("`{function}` takes {arity} {plural}, and {} are given", args.len());
                let help =
                    "`complex(a, b)` is a number of these parts; `re(z)`, `im(z)` and `conj(z)` take one";
                return Err(Diagnostic::new("wrong-arity", message).help(help).into());
            }
            if arity == 2 {
                let place = "a part of a complex number";
                let (re, im) = (self.real(&args[0], ahead, place)?, self.real(&args[1], ahead, place)?);
                // Of `2.0j`, and of what is written like it.
                let part = |e: Expr| (e != Expr::Int(0)).then(|| self.floating(e));
                return Ok(Value::of(part(re), part(im)));
            }
            let v = self.value(&args[0], ahead)?;
            let zero = Expr::Int(0);
            return Ok(match &**function {
                "re" if v.complex => Value::real(v.re.unwrap_or(Expr::Float(Float(0.0)))),
                "im" if v.complex => Value::real(v.im.unwrap_or(Expr::Float(Float(0.0)))),
                "im" => Value::real(zero),
                "re" => v,
                _ => v.conj(),
            });
        }
        let mut values = Vec::with_capacity(args.len());
        for a in args {
            values.push(self.value(a, ahead)?);
        }
        let Some(at) = values.iter().position(|v| v.complex) else {
            let args = values.into_iter().filter_map(|v| v.re).collect();
            return Ok(Value::real(Expr::Call { function: function.clone(), precision, args }));
        };
        if self.table.functions.contains(function) {
            return Err(not_real(&args[at], &format!("a parameter of `{function}`")).into());
        }
        let value = match values.pop() {
            Some(value) if args.len() == 1 => value,
            _ => return Err(undefined(function, &args[at]).into()),
        };
        match (&**function, value.re.clone(), value.im.clone()) {
            ("abs", Some(re), Some(im)) => Ok(Value::real(call("hypot", precision, vec![re, im]))),
            ("abs", re, im) => {
                let part = re.or(im).unwrap_or(Expr::Float(Float(0.0)));
                Ok(Value::real(call("abs", precision, vec![part])))
            }
            ("isnan", re, im) => {
                let mut parts = re.into_iter().chain(im).map(|e| call("isnan", precision, vec![e]));
                let first = parts.next().unwrap_or(Expr::Bool(false));
                Ok(Value::real(parts.fold(first, |a, b| Expr::binary(BinaryOp::Or, a, b))))
            }
            ("exp", re, None) => Ok(Value::of(re.map(|re| call("exp", precision, vec![re])), None)),
            ("exp", re, Some(im)) => {
                let im = self.shared_part(im, ahead)?;
                let turned =
                    Value::pair(call("cos", precision, vec![im.clone()]), call("sin", precision, vec![im]));
                let Some(re) = re else { return Ok(turned) };
                let size = self.shared_part(call("exp", precision, vec![re]), ahead)?;
                Ok(Value::of(Some(size), None).mul(&turned))
            }
            _ => Err(undefined(function, &args[at]).into()),
        }
    }

    fn reduction(&mut self, r: &Reduce, ahead: Ahead) -> Result<Value> {
        let with = |args| Reduce { op: r.op.clone(), inames: r.inames.clone(), args };
        let mut values = Vec::with_capacity(r.args.len());
        for a in &r.args {
            values.push(self.value(a, Ahead::Nothing)?);
        }
        let Some(at) = values.iter().position(|v| v.complex) else {
            let args = values.into_iter().filter_map(|v| v.re).collect();
            return Ok(Value::real(Expr::Reduce(Arc::new(with(args)))));
        };
        let operator = super::OPERATORS.iter().find(|(op, _)| **op == *r.op).map(|(_, made)| *made);
        let (Some(operator), [value]) = (operator, values.as_slice()) else {
            return Err(undefined(&r.op, &r.args[at]).into());
        };
        if r.op == *"sum" && (ahead == Ahead::Nothing || !value.is_whole()) {
            let part = |e: &Option<Expr>| Some(Expr::Reduce(Arc::new(with(vec![e.clone()?]))));
            return Ok(Value::of(part(&value.re), part(&value.im)));
        }
        if ahead == Ahead::Nothing {
            let message =
                format!("a `{}` of complex numbers stands in a condition, a subscript or a reduction", r.op);
            return Err(Diagnostic::new("complex-function", message)
                .help("compute it before, into a temporary: `<> t = product(k, z[k])`")
                .into());
        }
        let e = Expr::Reduce(Arc::new(Reduce {
            op: Name::new(operator),
            inames: r.inames.clone(),
            args: value.clone().parts().to_vec(),
        }));
        if let Some(known) = self.made.iter().find(|m| m.value == e)
            && let [re, im] = known.targets.as_slice()
        {
            return Ok(Value::pair(Expr::Name(re.clone()), Expr::Name(im.clone())));
        }
        let id = (self.fresh)(&format!("{}_{}", self.id, r.op));
        let targets = vec![(self.fresh)(&format!("{id}_re")), (self.fresh)(&format!("{id}_im"))];
        let names = Value::pair(Expr::Name(targets[0].clone()), Expr::Name(targets[1].clone()));
        self.made.push(Made { id, targets, value: e });
        Ok(names)
    }

    /// The number with parts that may be written more than once.
    fn shared(&mut self, value: Value, ahead: Ahead) -> Result<Value> {
        let Value { re, im, complex } = value;
        let re = re.map(|e| self.shared_part(e, ahead)).transpose()?;
        let im = im.map(|e| self.shared_part(e, ahead)).transpose()?;
        Ok(Value { re, im, complex })
    }

    fn shared_part(&mut self, e: Expr, ahead: Ahead) -> Result<Expr> {
        if is_light(&e) {
            return Ok(e);
        }
        if ahead == Ahead::All && self.is_decided(&e) {
            return Ok(self.computed(e));
        }
        if operations(&e, SIZE_LIMIT) >= SIZE_LIMIT {
            let message = format!("the parts of this value have more than {SIZE_LIMIT} operations");
            let help = "compute parts of it in separate instructions, `<> t = ...`";
            return Err(Diagnostic::new("too-deep", message).help(help).into());
        }
        Ok(e)
    }

    /// Whether a value has a type where it stands by itself. Where it has none, it takes that of
    /// what it meets, which may be another one in each place.
    fn is_decided(&self, e: &Expr) -> bool {
        let open = matches!(self.types.infer(e), Ok(ValueType::FloatLiteral | ValueType::AnyNumber));
        !open || self.types.floats().len() == 1
    }

    /// A scalar that holds the value.
    pub fn computed(&mut self, e: Expr) -> Expr {
        if let Some(known) = self.made.iter().find(|m| m.value == e) {
            return Expr::Name(known.targets[0].clone());
        }
        let name = (self.fresh)(&format!("{}_part", self.id));
        self.made.push(Made { id: name.clone(), targets: vec![name.clone()], value: e });
        Expr::Name(name)
    }
}

/// The refusal of an operation that complex numbers do not have here.
fn undefined(operation: &str, e: &Expr) -> Diagnostic {
    let z = match e {
        Expr::Name(_) | Expr::Subscript(_) => e.to_string(),
        _ => "z".to_string(),
    };
    let help = match operation {
        "<" | "<=" | ">" | ">=" | "min" | "max" | "argmin" | "argmax" => {
            format!("complex numbers have no order: compare real ones, such as `abs({z})` or `re({z})`")
        }
        "log" => format!("write `complex(log(abs({z})), atan2(im({z}), re({z})))`"),
        "sqrt" => format!(
            "write `complex(sqrt((abs({z}) + re({z}))/2), copysign(sqrt((abs({z}) - re({z}))/2), im({z})))`"
        ),
        "sin" => format!("write `complex(sin(re({z}))*cosh(im({z})), cos(re({z}))*sinh(im({z})))`"),
        "cos" => format!("write `complex(cos(re({z}))*cosh(im({z})), -sin(re({z}))*sinh(im({z})))`"),
        "pow" => format!("a power with a constant integer exponent is a product: `{z}**3`"),
        "angle" | "arg" | "phase" => format!("write `atan2(im({z}), re({z}))`"),
        _ => "what complex numbers have is `+ - * /`, `**` with a constant integer exponent, `==`, `!=`, \
              `if`, `re`, `im`, `conj`, `abs`, `exp`, `isnan`, `sum` and `product`; write others with `re` \
              and `im`"
            .to_string(),
    };
    let message = format!("`{operation}` of the complex number `{e}` has no meaning here");
    Diagnostic::new("complex-function", message).help(help)
}
