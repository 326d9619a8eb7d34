//! Expressions: precedence climbing, loosest first
//! `or`, `and`, `not`, comparisons, `|`, `^`, `&`, shifts, sums, products, signs.

use std::sync::Arc;

use loopwright_target::Language;

use crate::{
    Access, BinaryOp, DType, Expr, Float, Name, Precision, Reduce, ReductionOp, Type, UnaryOp,
    complex::TYPES,
    inline::Sub,
    math_function,
    text::{
        lexer::Tok,
        parser::{Parse, Parser},
        rows::{slice_here, slice_mark},
        shape::field_mark,
    },
};

/// Precedence of operators; a higher value binds tighter.
pub(crate) mod binding {
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const COMPARE: u8 = 4;
    pub const BIT_OR: u8 = 5;
    pub const BIT_XOR: u8 = 6;
    pub const BIT_AND: u8 = 7;
    pub const SHIFT: u8 = 8;
    pub const SUM: u8 = 9;
    pub const PRODUCT: u8 = 10;
    pub const SIGN: u8 = 11;
    pub const ATOM: u8 = 12;
}

/// The most operators in one chain: expression trees are walked recursively.
const CHAIN_LIMIT: usize = 512;

pub(crate) fn binary_binding(op: BinaryOp) -> u8 {
    use BinaryOp::*;
    match op {
        Or => binding::OR,
        And => binding::AND,
        Lt | Le | Gt | Ge | Eq | Ne => binding::COMPARE,
        BitOr => binding::BIT_OR,
        BitXor => binding::BIT_XOR,
        BitAnd => binding::BIT_AND,
        Shl | Shr => binding::SHIFT,
        Add | Sub => binding::SUM,
        Mul | Div | FloorDiv | Mod => binding::PRODUCT,
    }
}

pub(crate) fn binary_text(op: BinaryOp) -> &'static str {
    use BinaryOp::*;
    match op {
        Add => "+",
        Sub => "-",
        Mul => "*",
        Div => "/",
        FloorDiv => "//",
        Mod => "%",
        Lt => "<",
        Le => "<=",
        Gt => ">",
        Ge => ">=",
        Eq => "==",
        Ne => "!=",
        And => "and",
        Or => "or",
        BitAnd => "&",
        BitOr => "|",
        BitXor => "^",
        Shl => "<<",
        Shr => ">>",
    }
}

const BINARY: [BinaryOp; 19] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::FloorDiv,
    BinaryOp::Mod,
    BinaryOp::Lt,
    BinaryOp::Le,
    BinaryOp::Gt,
    BinaryOp::Ge,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::Shl,
    BinaryOp::Shr,
];

impl Parser {
    /// An expression, as long as operators follow.
    pub(crate) fn expr(&mut self) -> Parse<Expr> {
        self.expr_from(binding::OR)
    }

    /// An expression without comparisons and logic outside of parentheses.
    pub(crate) fn expr_above_comparison(&mut self) -> Parse<Expr> {
        self.expr_from(binding::COMPARE + 1)
    }

    fn operator(&self) -> Option<BinaryOp> {
        let text = match self.tok(0) {
            Tok::Punct(p) => p,
            Tok::Ident => match self.word(0) {
                Some(w @ ("and" | "or")) => w,
                _ => return None,
            },
            _ => return None,
        };
        BINARY.into_iter().find(|op| binary_text(*op) == text)
    }

    fn expr_from(&mut self, least: u8) -> Parse<Expr> {
        self.enter()?;
        let mut left = self.prefix(least)?;
        let mut chain = 0;
        // The right side of the comparison before, for `a <= b < c`.
        let mut compared: Option<Expr> = None;
        while let Some(op) = self.operator() {
            let strength = binary_binding(op);
            if strength < least {
                break;
            }
            chain += 1;
            if chain > CHAIN_LIMIT {
                return Err(self
                    .error("too-deep", format!("a chain of more than {CHAIN_LIMIT} operators"))
                    .help("compute parts of it in separate instructions")
                    .into());
            }
            self.advance();
            let right = self.expr_from(strength + 1)?;
            if strength == binding::COMPARE {
                let first = compared.replace(right.clone());
                left = match first {
                    None => Expr::binary(op, left, right),
                    Some(shared) => Expr::binary(BinaryOp::And, left, Expr::binary(op, shared, right)),
                };
            } else {
                compared = None;
                left = Expr::binary(op, left, right);
            }
        }
        self.leave();
        Ok(left)
    }

    fn prefix(&mut self, least: u8) -> Parse<Expr> {
        if self.at_word("not") {
            if least > binding::NOT {
                return Err(self
                    .error("syntax", "`not` cannot be an operand of an operation with higher precedence")
                    .help("put it in parentheses")
                    .into());
            }
            self.advance();
            return Ok(Expr::Unary(UnaryOp::Not, Arc::new(self.expr_from(binding::NOT)?)));
        }
        let op = match self.tok(0) {
            Tok::Punct("-") => UnaryOp::Neg,
            Tok::Punct("~") => UnaryOp::BitNot,
            Tok::Punct("+") => {
                self.advance();
                return self.prefix_inside();
            }
            _ => return self.power(),
        };
        self.advance();
        if op == UnaryOp::Neg && !self.peek_is(1, "**") {
            // A sign right before a literal belongs to it, unless the literal is raised.
            match self.tok(0) {
                Tok::Int(value) => {
                    let negative = 0i64.checked_sub_unsigned(value).ok_or_else(|| self.huge())?;
                    self.advance();
                    return Ok(Expr::Int(negative));
                }
                Tok::Float(value) => {
                    self.advance();
                    return Ok(Expr::Float(Float(-value)));
                }
                Tok::Imaginary(value) => return self.imaginary(-value),
                Tok::Ident if self.at_word("inf") => {
                    self.advance();
                    return Ok(Expr::Float(Float(f64::NEG_INFINITY)));
                }
                _ => {}
            }
        }
        Ok(Expr::Unary(op, Arc::new(self.prefix_inside()?)))
    }

    pub(super) fn prefix_inside(&mut self) -> Parse<Expr> {
        self.enter()?;
        let value = self.prefix(binding::SIGN)?;
        self.leave();
        Ok(value)
    }

    pub(super) fn atom(&mut self) -> Parse<Expr> {
        match self.tok(0) {
            Tok::Int(value) => {
                let value = self.small(value)?;
                self.advance();
                Ok(Expr::Int(value))
            }
            Tok::Float(value) => {
                self.advance();
                Ok(Expr::Float(Float(value)))
            }
            Tok::Imaginary(value) => self.imaginary(value),
            Tok::Punct("(") => {
                self.open("(")?;
                let value = self.expr()?;
                self.close(")")?;
                Ok(value)
            }
            Tok::Ident => self.word_atom(),
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn word_atom(&mut self) -> Parse<Expr> {
        let literal = match self.word(0).unwrap_or_default() {
            "true" | "True" => Some(Expr::Bool(true)),
            "false" | "False" => Some(Expr::Bool(false)),
            "inf" => Some(Expr::Float(Float(f64::INFINITY))),
            "nan" => Some(Expr::Float(Float(f64::NAN))),
            _ => None,
        };
        if let Some(literal) = literal {
            self.advance();
            return Ok(literal);
        }
        if self.at_word("if") {
            self.advance();
            self.open("(")?;
            let condition = self.expr()?;
            self.expect(",")?;
            let then = self.expr()?;
            self.expect(",")?;
            let otherwise = self.expr()?;
            self.close(")")?;
            return Ok(Expr::If(condition.into(), then.into(), otherwise.into()));
        }
        if self.at_word("cast") {
            self.advance();
            self.open("(")?;
            let dtype = self.dtype()?;
            self.expect(",")?;
            let value = self.expr()?;
            self.close(")")?;
            return Ok(Expr::Cast(dtype, value.into()));
        }
        let record = self.word(0).filter(|_| !self.in_operator).and_then(|w| self.record_named(w));
        if let Some(record) = record {
            return self.field_of_element(record);
        }
        if self.peek_is(1, ".") && matches!(self.tok(2), Tok::Ident) {
            let precision = match self.word(0) {
                Some("fast") => Some(Precision::Fast),
                Some("precise") => Some(Precision::Precise),
                _ => None,
            };
            if precision.is_some() && self.peek_is(3, "(") {
                self.advance();
                self.advance();
                let function = self.name("a function")?;
                let args = self.call_arguments()?;
                return Ok(Expr::Call { function, precision, args });
            }
            // `a.v`: a value of an operator's state.
            let name = format!("{}.{}", self.word(0).unwrap_or_default(), self.word(2).unwrap_or_default());
            self.advance();
            self.advance();
            self.advance();
            return self.value_of_operator(name.into());
        }
        let start = self.span();
        let name = self.name("an expression")?;
        if self.at("[") && self.in_operator {
            return self.value_of_operator(name);
        }
        if self.at("[") {
            let element = Expr::Subscript(Access { array: name, index: self.subscripts()? });
            return Ok(match self.complex_part() {
                Some(part) => Expr::Call { function: part, precision: None, args: vec![element] },
                None => element,
            });
        }
        if self.at("(") {
            return self.call_or_reduction(name, start);
        }
        Ok(Expr::Name(name))
    }

    /// The rest of a value in an operator after its name: `a.o[d]`, `a.v.x`.
    fn value_of_operator(&mut self, name: Name) -> Parse<Expr> {
        if !self.in_operator {
            return Ok(Expr::Name(name));
        }
        let mut value = match self.at("[") {
            true => Expr::Subscript(Access { array: name, index: self.subscripts()? }),
            false => Expr::Name(name),
        };
        if self.eat(".") {
            let field = self.name("a field")?;
            value = field_mark(&field, value);
        }
        Ok(value)
    }

    /// The subscripts of an element, as `[i, j + 1]`, or `[i, :]` where texts have slices.
    pub(crate) fn subscripts(&mut self) -> Parse<Vec<Expr>> {
        self.open("[")?;
        let mut index = Vec::new();
        while !self.at("]") {
            let from = self.span().start;
            match self.sub()? {
                Sub::At(e) => index.push(e),
                range if self.slices && !self.in_operator => {
                    index.push(slice_mark(range, from..self.last_end()));
                }
                Sub::Range { .. } => return Err(slice_here(self.place(from..self.last_end())).into()),
            }
            if !self.eat(",") {
                break;
            }
        }
        self.close("]")?;
        Ok(index)
    }

    fn call_arguments(&mut self) -> Parse<Vec<Expr>> {
        self.open("(")?;
        let mut args = Vec::new();
        while !self.at(")") {
            args.push(self.expr()?);
            if !self.eat(",") {
                break;
            }
        }
        self.close(")")?;
        Ok(args)
    }

    /// A call, or a reduction: one whose first argument is a list of inames, or that has an
    /// operator's name and a name as its first argument. [`resolve`] decides afterwards, when all
    /// inames are known.
    fn call_or_reduction(&mut self, function: Name, start: std::ops::Range<usize>) -> Parse<Expr> {
        // loopy's `reduce(sum, i, e)`.
        if matches!(&*function, "reduce" | "simul_reduce")
            && matches!(self.tok(1), Tok::Ident)
            && self.peek_is(2, ",")
        {
            self.open("(")?;
            let op = self.name("an operator")?;
            self.expect(",")?;
            let reduce = self.reduction_rest(op)?;
            self.close(")")?;
            return Ok(reduce);
        }
        let operator = ReductionOp::is_library(&function);
        let is_value = self.word(1).is_some_and(|w| super::RESERVED.contains(&w));
        let by_name = operator && !is_value && matches!(self.tok(1), Tok::Ident) && self.peek_is(2, ",");
        if self.peek_is(1, "[") || by_name {
            self.open("(")?;
            let reduce = self.reduction_rest(function)?;
            self.close(")")?;
            return Ok(reduce);
        }
        let args = self.call_arguments()?;
        if operator && math_function(&function).is_none() {
            return Err(self
                .diagnostic(
                    start.start..self.last_end(),
                    "syntax",
                    format!("`{function}` needs the inames that it reduces over"),
                )
                .help(format!("write `{function}(i, e)` or `{function}([i, j], e)`"))
                .into());
        }
        Ok(Expr::Call { function, precision: None, args })
    }

    fn reduction_rest(&mut self, op: Name) -> Parse<Expr> {
        let inames = match self.at("[") {
            true => self.bracketed_names("[", "]")?,
            false => vec![self.name("an iname")?],
        };
        let mut args = Vec::new();
        while self.eat(",") {
            args.push(self.expr()?);
        }
        Ok(Expr::Reduce(Arc::new(Reduce { op, inames, args })))
    }

    /// A type: one of ours, or a type parameter, which begins with a capital letter.
    pub fn dtype(&mut self) -> Parse<Type> {
        let Some(word) = self.word(0) else { return Err(self.unexpected("a type")) };
        // loopy's `np.float32`.
        let (word, tokens) = match (word, self.peek_is(1, "."), self.word(2)) {
            ("np" | "numpy", true, Some(inner)) => (inner, 3),
            _ => (word, 1),
        };
        let dtype = match DType::from_name(word) {
            Some(known) => Type::Known(known),
            None if TYPES.iter().any(|(name, _)| *name == word) => {
                if !self.complex {
                    return Err(self.no_complex());
                }
                Type::Open(word.into())
            }
            None if word.starts_with(|c: char| c.is_ascii_uppercase()) && tokens == 1 => {
                Type::Open(word.into())
            }
            None => {
                let names = DType::ALL.map(DType::name);
                let complex = TYPES.iter().map(|(name, _)| *name).filter(|_| self.complex);
                let ours = foreign_type(word)
                    .or_else(|| crate::suggest::nearest(word, names.into_iter().chain(complex)));
                let error = self.error("unknown-type", format!("`{word}` is not a type"));
                return Err(error
                    .help(match ours {
                        Some(ours) => format!("do you mean `{ours}`?"),
                        None => format!(
                            "the types are {}; a type that the arguments bind begins with a \
                             capital letter, such as `T`",
                            names.join(", ")
                        ),
                    })
                    .into());
            }
        };
        for _ in 0..tokens {
            self.advance();
        }
        Ok(dtype)
    }
}

/// Our name of a type that has another name in C, numpy or the language of device functions.
fn foreign_type(word: &str) -> Option<&'static str> {
    if let Some(ours) = Language::OF_KERNELS.type_named(word).filter(|ours| *ours != word) {
        return Some(ours);
    }
    Some(match word {
        "float32" | "single" => "f32",
        "float64" => "f64",
        "half" | "float16" => "f16",
        "bfloat16" => "bf16",
        "int32" | "int32_t" | "long32" => "i32",
        "long" | "int64" | "int64_t" => "i64",
        "int16" | "int16_t" => "i16",
        "char" | "int8" | "int8_t" => "i8",
        "unsigned" | "uint" | "uint32" | "uint32_t" => "u32",
        "uint64" | "uint64_t" | "size_t" => "u64",
        "uint16" | "uint16_t" => "u16",
        "uint8" | "uint8_t" => "u8",
        "bool_" => "bool",
        _ => return None,
    })
}

/// Decides which calls are reductions, now that the inames and the kernel's own operators are
/// known: `max(i, e)` is one if `i` is an iname.
pub(crate) fn resolve(e: &Expr, is_iname: &dyn Fn(&str) -> bool, operators: &[ReductionOp]) -> Expr {
    let e = e.map_children(&mut |child| resolve(child, is_iname, operators));
    match &e {
        Expr::Reduce(r) => match r.inames.as_slice() {
            [name]
                if !is_iname(name) && math_function(&r.op).is_some_and(|f| f.arity == r.args.len() + 1) =>
            {
                let args = std::iter::once(Expr::Name(name.clone())).chain(r.args.iter().cloned()).collect();
                Expr::Call { function: r.op.clone(), precision: None, args }
            }
            _ => e,
        },
        Expr::Call { function, precision: None, args } => match args.split_first() {
            Some((Expr::Name(iname), rest))
                if is_iname(iname) && operators.iter().any(|o| o.name == *function) =>
            {
                Expr::Reduce(Arc::new(Reduce {
                    op: function.clone(),
                    inames: vec![iname.clone()],
                    args: rest.to_vec(),
                }))
            }
            _ => e,
        },
        _ => e,
    }
}
