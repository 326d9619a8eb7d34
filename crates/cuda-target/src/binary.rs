//! Binary operations: printed as operators or functions, with casts only where C would compute
//! something else, and parentheses where C or the reader needs them.

use loopwright_kernel_ir::DType;
use loopwright_program::{BinOp, Value, ValueKind};

use crate::{
    context::Context,
    printed::{Printed, Rep, prec},
    types::is_small,
};

/// The operator and its precedence; `None` for an operation that is printed as a function.
pub(crate) fn operator(op: BinOp) -> Option<(&'static str, u8)> {
    Some(match op {
        BinOp::Add => ("+", prec::ADD),
        BinOp::Sub => ("-", prec::ADD),
        BinOp::Mul => ("*", prec::MUL),
        BinOp::Div | BinOp::TruncDiv => ("/", prec::MUL),
        BinOp::TruncRem => ("%", prec::MUL),
        BinOp::Lt => ("<", prec::LESS),
        BinOp::Le => ("<=", prec::LESS),
        BinOp::Gt => (">", prec::LESS),
        BinOp::Ge => (">=", prec::LESS),
        BinOp::Eq => ("==", prec::EQUAL),
        BinOp::Ne => ("!=", prec::EQUAL),
        BinOp::And => ("&&", prec::AND),
        BinOp::Or => ("||", prec::OR),
        BinOp::BitAnd => ("&", prec::BIT_AND),
        BinOp::BitOr => ("|", prec::BIT_OR),
        BinOp::BitXor => ("^", prec::BIT_XOR),
        BinOp::Shl => ("<<", prec::SHIFT),
        BinOp::Shr => (">>", prec::SHIFT),
        BinOp::FloorDiv | BinOp::FloorMod | BinOp::Min | BinOp::Max => return None,
    })
}

/// The left operand's text: parenthesised where C needs it, and where few readers remember the
/// precedence.
fn left(op: &str, outer: u8, a: &Printed) -> String {
    let same_chain = a.prec == outer && (outer != prec::MUL || (op == "*" && !has_division(&a.text)));
    let unclear = match outer {
        prec::MUL => a.prec == prec::MUL && !same_chain,
        prec::SHIFT => a.prec < prec::UNARY,
        prec::BIT_AND | prec::BIT_XOR | prec::BIT_OR => a.prec < prec::UNARY && a.prec != outer,
        prec::LESS | prec::EQUAL => a.prec == prec::LESS || a.prec == prec::EQUAL,
        prec::OR => a.prec == prec::AND,
        _ => false,
    };
    if unclear { format!("({})", a.text) } else { a.within(outer) }
}

/// The right operand's text.
fn right(outer: u8, b: &Printed) -> String {
    let unclear = match outer {
        prec::SHIFT | prec::BIT_AND | prec::BIT_XOR | prec::BIT_OR => b.prec < prec::UNARY,
        prec::LESS | prec::EQUAL => b.prec == prec::LESS || b.prec == prec::EQUAL,
        prec::OR => b.prec == prec::AND,
        // `a && (b && c)` is printed as `a && b && c`.
        prec::AND => return b.within(outer),
        _ => false,
    };
    let both_or = outer == prec::OR && b.prec == prec::OR;
    if unclear { format!("({})", b.text) } else { b.within(if both_or { outer } else { outer + 1 }) }
}

/// Whether the outermost level of a product contains a division.
fn has_division(text: &str) -> bool {
    let mut depth = 0;
    text.bytes().any(|c| {
        match c {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            _ => {}
        }
        depth == 0 && (c == b'/' || c == b'%')
    })
}

/// `a + (-5)` as `a - 5`, which has the same value: the operation and the constant.
fn minus_a_constant(op: BinOp, b: &Value) -> Option<(BinOp, Value)> {
    let kind = match b.kind {
        ValueKind::Int(v) if v < 0 && v > -i64::from(i32::MAX) && !b.dtype.is_unsigned() => {
            ValueKind::Int(-v)
        }
        ValueKind::Float(v) if v < 0.0 => ValueKind::Float(-v),
        _ => return None,
    };
    let opposite = match op {
        BinOp::Add => BinOp::Sub,
        BinOp::Sub => BinOp::Add,
        _ => return None,
    };
    Some((opposite, Value { dtype: b.dtype, kind }))
}

/// The argument of a function: overload resolution uses the exact type; narrow integers become int.
fn operand(v: &Value, printed: Printed) -> String {
    if is_small(v.dtype) { printed.exact(v.dtype).text } else { printed.typed(v.dtype).text }
}

impl Context<'_> {
    /// `a op b`, whose value is of type `dtype`. A chain, as `a + b - c`, is nested as deeply as it
    /// is long, and is gone through in a loop: its calls would not fit on the stack of a thread.
    pub(crate) fn binary(&self, op: BinOp, a: &Value, b: &Value, dtype: DType) -> Printed {
        let (mut first, mut operations) = (a, vec![(op, a, b, dtype)]);
        while let (ValueKind::Binary(op, a, b), None) = (&first.kind, self.slot(first)) {
            operations.push((*op, a, b, first.dtype));
            first = a;
        }
        let mut printed = self.raw(first);
        while let Some((op, a, b, dtype)) = operations.pop() {
            printed = self.operation(op, (a, printed), b, dtype);
        }
        printed
    }

    /// `a op b`, where `a` has been printed.
    fn operation(&self, op: BinOp, (a, pa): (&Value, Printed), b: &Value, dtype: DType) -> Printed {
        let of = a.dtype;
        if !matches!(op, BinOp::Eq | BinOp::Ne) {
            self.no_half(of);
        }
        let Some((symbol, level)) = operator(op) else { return self.function(op, (a, pa), b) };
        if let Some((opposite, b)) = minus_a_constant(op, b) {
            return self.operation(opposite, (a, pa), &b, of);
        }
        let mut b = b;
        if let BinOp::Shl | BinOp::Shr = op {
            let Some(amount) = self.small_amount(b) else { return self.shift_by_any(op, (a, pa), b) };
            b = amount;
        }
        let (mut pa, mut pb) = (pa, self.raw(b));
        match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul if self.wraps_in(op, a, b) => {
                let unsigned = |p: &Printed| match of {
                    DType::I64 => p.rep == Rep::UnsignedLong,
                    _ => p.is_unsigned(),
                };
                if matches!(of, DType::I32 | DType::I64) && !(unsigned(&pa) || unsigned(&pb)) {
                    // A single unsigned operand makes the operation unsigned.
                    if pa.literal.is_some() {
                        (pb, _) = modular(of, pb);
                    } else {
                        (pa, _) = modular(of, pa);
                    }
                }
            }
            BinOp::Shl if matches!(of, DType::I32 | DType::I64) && self.of_data.get() => {
                let (pa, rep) = modular(of, pa);
                let text = format!("{} {symbol} {}", left(symbol, level, &pa), right(level, &pb.exact(of)));
                return Printed::own(text, level).with(rep);
            }
            BinOp::Add | BinOp::Sub | BinOp::Mul => {}
            _ => (pa, pb) = (pa.settled(), pb.settled()),
        }
        let (pa, pb, rep) = match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul => arithmetic(op, of, pa, pb),
            BinOp::TruncDiv | BinOp::TruncRem => quotient(of, pa, pb),
            BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor => bitwise(op, of, pa, pb),
            BinOp::Shl | BinOp::Shr => shift(op, of, pa, pb),
            _ if op.is_comparison() => {
                let (pa, pb) = comparable(of, pa, pb);
                (pa, pb, Rep::Own)
            }
            // Floating-point quotients, and logic.
            _ => (pa.exact(of), pb.exact(of), Rep::Own),
        };
        debug_assert!(dtype == of || op.is_comparison());
        Printed::own(format!("{} {symbol} {}", left(symbol, level, &pa), right(level, &pb)), level).with(rep)
    }

    /// A shift by an amount that may exceed the bits of the type, for which C defines no result.
    fn shift_by_any(&self, op: BinOp, (a, pa): (&Value, Printed), b: &Value) -> Printed {
        let of = if is_small(a.dtype) { DType::I32 } else { a.dtype };
        let name = self.needs.helper(if op == BinOp::Shl { "shift_left" } else { "shift_right" }, of);
        let call = Printed::primary(format!("{name}({}, {})", operand(a, pa), operand(b, self.raw(b))));
        if is_small(a.dtype) { call.with(Rep::Int { exact: op == BinOp::Shr }) } else { call }
    }

    /// An operation that is a function in CUDA C.
    fn function(&self, op: BinOp, (a, pa): (&Value, Printed), b: &Value) -> Printed {
        let of = a.dtype;
        let name = match (op, of) {
            (BinOp::FloorDiv, t) if t.is_unsigned() => {
                return self.operation(BinOp::TruncDiv, (a, pa), b, of);
            }
            (BinOp::FloorMod, t) if t.is_unsigned() => {
                return self.operation(BinOp::TruncRem, (a, pa), b, of);
            }
            (BinOp::FloorDiv | BinOp::FloorMod, t) => {
                let helper_type = if t == DType::I64 { DType::I64 } else { DType::I32 };
                self.needs.helper(if op == BinOp::FloorDiv { "floor_div" } else { "floor_mod" }, helper_type)
            }
            (BinOp::Min, DType::F32) => "fminf",
            (BinOp::Min, DType::F64) => "fmin",
            (BinOp::Max, DType::F32) => "fmaxf",
            (BinOp::Max, DType::F64) => "fmax",
            (BinOp::Min, _) => "min",
            _ => "max",
        };
        let call = Printed::primary(format!("{name}({}, {})", operand(a, pa), operand(b, self.raw(b))));
        match is_small(of) {
            true => call.with(Rep::Int { exact: op != BinOp::FloorDiv }),
            false => call,
        }
    }
}

/// A signed value in the unsigned type of its size, whose arithmetic wraps: the piece, and how it
/// represents the value.
pub(crate) fn modular(of: DType, a: Printed) -> (Printed, Rep) {
    match of {
        DType::I64 if a.rep == Rep::UnsignedLong => (a, Rep::UnsignedLong),
        DType::I64 => (a.exact(of).cast(DType::U64).with(Rep::UnsignedLong), Rep::UnsignedLong),
        _ if a.is_unsigned() => (a, Rep::Unsigned { exact: false }),
        _ => {
            let rep = Rep::Unsigned { exact: false };
            (a.exact(of).cast(DType::U32).with(rep), rep)
        }
    }
}

/// Sums, differences and products: modulo 2^32 in unsigned int if an operand contains a builtin
/// variable, otherwise in the type.
fn arithmetic(op: BinOp, of: DType, a: Printed, b: Printed) -> (Printed, Printed, Rep) {
    match of {
        DType::I32 if a.is_unsigned() || b.is_unsigned() => {
            let exact = op != BinOp::Sub && a.is_natural() && b.is_natural();
            (a, b, Rep::Unsigned { exact })
        }
        // If the other operand is an unsigned long long, an int is sign-extended, which is
        // congruent; an unsigned int that represents a negative value is not.
        DType::I64 if a.rep == Rep::UnsignedLong || b.rep == Rep::UnsignedLong => (a, b, Rep::UnsignedLong),
        DType::I64 | DType::U32 | DType::U64 => {
            let (a, b) = one_typed(of, a, b);
            (a, b, Rep::Own)
        }
        _ if is_small(of) => {
            let (a, b) = (a.exact(of), b.exact(of));
            // The product of two unsigned shorts can overflow int.
            let a = if of == DType::U16 && op == BinOp::Mul { a.cast(DType::U32) } else { a };
            (a, b, Rep::Int { exact: false })
        }
        _ => (a, b, Rep::Own),
    }
}

/// Ensures that C computes in the type, by giving one of the operands that type.
fn one_typed(of: DType, a: Printed, b: Printed) -> (Printed, Printed) {
    match (a.rep, b.rep) {
        (Rep::Own, _) | (_, Rep::Own) => (a, b),
        _ if a.literal.is_some() && b.literal.is_none() => (a, b.typed(of)),
        _ => (a.typed(of), b),
    }
}

/// C's quotient and remainder. Operands that contain builtin variables are not negative.
fn quotient(of: DType, a: Printed, b: Printed) -> (Printed, Printed, Rep) {
    match of {
        DType::I32 if a.is_unsigned() || b.is_unsigned() => (a, b, Rep::Unsigned { exact: true }),
        DType::I64 if a.rep != Rep::Own && b.rep != Rep::Own => match a.is_unsigned() || b.is_unsigned() {
            true => (a, b, Rep::Unsigned { exact: true }),
            false => (a, b, Rep::Int { exact: true }),
        },
        DType::U32 | DType::U64 => {
            let (a, b) = one_typed(of, a, b);
            (a, b, Rep::Own)
        }
        _ if is_small(of) => (a.exact(of), b.exact(of), Rep::Int { exact: true }),
        _ => (a, b, Rep::Own),
    }
}

fn bitwise(op: BinOp, of: DType, a: Printed, b: Printed) -> (Printed, Printed, Rep) {
    match of {
        DType::I32 if a.is_unsigned() || b.is_unsigned() => {
            let exact = match op {
                BinOp::BitAnd => a.is_natural() || b.is_natural(),
                _ => a.is_natural() && b.is_natural(),
            };
            (a, b, Rep::Unsigned { exact })
        }
        DType::I64 | DType::U32 | DType::U64 => match a.is_natural() && b.is_natural() && a.is_unsigned() {
            true => (a, b, Rep::Unsigned { exact: true }),
            false => {
                let (a, b) = one_typed(of, a, b);
                (a, b, Rep::Own)
            }
        },
        _ if is_small(of) => (a.exact(of), b.exact(of), Rep::Int { exact: true }),
        _ => (a, b, Rep::Own),
    }
}

fn shift(op: BinOp, of: DType, a: Printed, b: Printed) -> (Printed, Printed, Rep) {
    let b = b.exact(of);
    match (of, op) {
        (DType::I32, BinOp::Shl) if a.is_unsigned() => (a, b, Rep::Unsigned { exact: false }),
        (DType::I32 | DType::I64, BinOp::Shr) if a.is_unsigned() && a.is_natural() => {
            (a, b, Rep::Unsigned { exact: true })
        }
        // Shifted as unsigned int: before C++20, shifting a negative value, or a bit into the sign
        // position, is undefined.
        (t, BinOp::Shl) if is_small(t) => (a.exact(of).cast(DType::U32), b, Rep::Int { exact: false }),
        (t, _) if is_small(t) => (a.exact(of), b, Rep::Int { exact: op == BinOp::Shr }),
        _ => (a.typed(of), b, Rep::Own),
    }
}

/// Operands for which C's comparison is that of the values.
fn comparable(of: DType, a: Printed, b: Printed) -> (Printed, Printed) {
    match of {
        // If the other operand is an unsigned int, an int would be converted to unsigned.
        DType::I32 if (a.is_unsigned() || b.is_unsigned()) && !(a.is_natural() && b.is_natural()) => {
            (a.typed(of), b.typed(of))
        }
        DType::I64 if a.rep != Rep::Own && b.rep != Rep::Own && !(a.is_natural() && b.is_natural()) => {
            (a.typed(of), b.typed(of))
        }
        _ => (a.exact(of), b.exact(of)),
    }
}
