//! A piece of printed expression: its text, its precedence, and how its C value represents the
//! intended value.
//!
//! C computes `threadIdx.x` in unsigned int and narrow integers in int, and types plain literals as
//! int. Casting each immediately would be correct but unreadable. Instead every piece knows its
//! [`Rep`], and is cast only where it makes a difference.

use loopwright_kernel_ir::DType;

use crate::{literal, types::c_type};

/// Precedence of C operators; a greater number binds tighter.
pub(crate) mod prec {
    pub(crate) const TERNARY: u8 = 3;
    pub(crate) const OR: u8 = 4;
    pub(crate) const AND: u8 = 5;
    pub(crate) const BIT_OR: u8 = 6;
    pub(crate) const BIT_XOR: u8 = 7;
    pub(crate) const BIT_AND: u8 = 8;
    pub(crate) const EQUAL: u8 = 9;
    pub(crate) const LESS: u8 = 10;
    pub(crate) const SHIFT: u8 = 11;
    pub(crate) const ADD: u8 = 12;
    pub(crate) const MUL: u8 = 13;
    /// Signs and casts, and what binds more tightly: nothing is printed around a piece in which
    /// they would differ.
    pub(crate) const UNARY: u8 = 15;
}

/// How the C value of a piece represents the intended value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rep {
    /// It has the C type of the value's type, and equals the value.
    Own,
    /// It is an unsigned int. If exact, it equals the value, which is not negative and below 2^31
    /// (2^32 for 64-bit types). Otherwise it is congruent to the value, an I32, modulo 2^32;
    /// converting it to int gives the value.
    Unsigned {
        /// Whether it equals the value.
        exact: bool,
    },
    /// It is an unsigned long long, congruent to the value, an I64, modulo 2^64; converting it to
    /// long long gives the value.
    UnsignedLong,
    /// It is an int. If exact, it equals the value, which is of another integer type or bool.
    /// Otherwise it is congruent to a value of at most 16 bits; converting it to that type gives
    /// the value.
    Int {
        /// Whether it equals the value.
        exact: bool,
    },
}

/// A piece of printed expression.
#[derive(Clone, Debug)]
pub(crate) struct Printed {
    /// C source text, without parentheses around it.
    pub text: String,
    /// The precedence of its outermost operator.
    pub prec: u8,
    /// How its C value represents the intended value.
    pub rep: Rep,
    /// Its value, if it is a constant.
    pub literal: Option<i64>,
}

impl Printed {
    /// A piece with the C type and value of its value.
    pub(crate) fn own(text: impl Into<String>, prec: u8) -> Self {
        Printed { text: text.into(), prec, rep: Rep::Own, literal: None }
    }

    /// A name, a call, a subscript.
    pub(crate) fn primary(text: impl Into<String>) -> Self {
        Self::own(text, prec::UNARY)
    }

    /// The same text with another representation.
    pub(crate) fn with(mut self, rep: Rep) -> Self {
        self.rep = rep;
        self
    }

    /// An integer constant, without a suffix if int suffices.
    pub(crate) fn integer(dtype: DType, value: i64) -> Self {
        let value = match dtype {
            DType::I8 => value as i8 as i64,
            DType::I16 => value as i16 as i64,
            DType::I32 => value as i32 as i64,
            DType::U8 => value as u8 as i64,
            DType::U16 => value as u16 as i64,
            DType::U32 => value as u32 as i64,
            _ => value,
        };
        let least = if dtype == DType::U64 { 0 } else { -i64::from(i32::MAX) };
        let is_int = (least..=i32::MAX.into()).contains(&value);
        let (text, rep) = match dtype {
            DType::I32 => (literal::integer(dtype, value), Rep::Own),
            _ if is_int => (value.to_string(), Rep::Int { exact: true }),
            _ => (literal::integer(dtype, value), Rep::Own),
        };
        // The least value is printed as a difference, since its magnitude has no literal.
        let (text, prec) = match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            Some(difference) => (difference.to_string(), prec::ADD),
            None => (text, prec::UNARY),
        };
        Printed { text, prec, rep, literal: Some(value) }
    }

    /// Whether its C value equals the value.
    pub(crate) fn is_exact(&self) -> bool {
        !matches!(self.rep, Rep::Unsigned { exact: false } | Rep::Int { exact: false } | Rep::UnsignedLong)
    }

    /// Whether it is an unsigned int.
    pub(crate) fn is_unsigned(&self) -> bool {
        matches!(self.rep, Rep::Unsigned { .. })
    }

    /// Whether it equals the value and is visibly not negative.
    pub(crate) fn is_natural(&self) -> bool {
        self.rep == (Rep::Unsigned { exact: true }) || self.literal.is_some_and(|v| v >= 0)
    }

    /// The piece, cast if its C value does not equal the value.
    pub(crate) fn exact(self, dtype: DType) -> Self {
        if self.is_exact() { self } else { self.cast(dtype) }
    }

    /// The piece, cast if it is an unsigned long long that represents a signed value.
    pub(crate) fn settled(self) -> Self {
        if self.rep == Rep::UnsignedLong { self.cast(DType::I64) } else { self }
    }

    /// The piece with exactly the C type of its value.
    pub(crate) fn typed(self, dtype: DType) -> Self {
        match (self.rep, self.literal) {
            (Rep::Own, _) => self,
            (_, Some(value)) => {
                let text = literal::integer(dtype, value);
                Printed { text, prec: prec::UNARY, rep: Rep::Own, literal: self.literal }
            }
            _ => self.cast(dtype),
        }
    }

    /// The cast `(type)piece`, with parentheses around the piece where it needs them.
    pub(crate) fn cast(self, dtype: DType) -> Self {
        Printed::own(format!("({}){}", c_type(dtype), self.within(prec::UNARY)), prec::UNARY)
    }

    /// Its text as an operand of an operator with precedence `outer`.
    pub(crate) fn within(&self, outer: u8) -> String {
        if self.prec < outer { format!("({})", self.text) } else { self.text.clone() }
    }
}
