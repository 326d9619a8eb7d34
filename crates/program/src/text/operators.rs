//! Spelling and precedence of operators: the same as in the text of kernels, for operators that
//! occur there.

use crate::BinOp;

/// Precedence of operators; a higher value binds tighter.
pub(super) mod binding {
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

/// The infix operators with their spellings and how strongly they bind.
const INFIX: [(BinOp, &str, u8); 21] = [
    (BinOp::Or, "or", binding::OR),
    (BinOp::And, "and", binding::AND),
    (BinOp::Lt, "<", binding::COMPARE),
    (BinOp::Le, "<=", binding::COMPARE),
    (BinOp::Gt, ">", binding::COMPARE),
    (BinOp::Ge, ">=", binding::COMPARE),
    (BinOp::Eq, "==", binding::COMPARE),
    (BinOp::Ne, "!=", binding::COMPARE),
    (BinOp::BitOr, "|", binding::BIT_OR),
    (BinOp::BitXor, "^", binding::BIT_XOR),
    (BinOp::BitAnd, "&", binding::BIT_AND),
    (BinOp::Shl, "<<", binding::SHIFT),
    (BinOp::Shr, ">>", binding::SHIFT),
    (BinOp::Add, "+", binding::SUM),
    (BinOp::Sub, "-", binding::SUM),
    (BinOp::Mul, "*", binding::PRODUCT),
    (BinOp::Div, "/", binding::PRODUCT),
    (BinOp::FloorDiv, "//", binding::PRODUCT),
    (BinOp::FloorMod, "%", binding::PRODUCT),
    // C's, which round towards zero.
    (BinOp::TruncDiv, "quo", binding::PRODUCT),
    (BinOp::TruncRem, "rem", binding::PRODUCT),
];

/// The operator with this spelling, and its precedence.
pub(super) fn infix(spelling: &str) -> Option<(BinOp, u8)> {
    INFIX.iter().find(|(_, text, _)| *text == spelling).map(|(op, _, strength)| (*op, *strength))
}

/// The spelling and precedence of an operator; `None` for one that is written as a call.
pub(super) fn spelling(op: BinOp) -> Option<(&'static str, u8)> {
    INFIX.iter().find(|(known, ..)| *known == op).map(|(_, text, strength)| (*text, *strength))
}
