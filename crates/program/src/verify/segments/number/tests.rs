//! Operations on numbers, by `values.md`.

use loopwright_kernel_ir::DType;

use super::{Num, binary, unary};
use crate::{BinOp, UnOp};

/// Of a value whose bits have all been shifted out, its sign is left, if it is shifted to the
/// right.
#[test]
fn shifts_by_all_bits_or_a_negative_number_leave_the_sign_at_most() {
    let shifted =
        |op, value| [-1, 32, 40].map(|by| binary(op, DType::I32, Num::Int(value), Num::Int(by)).int());
    assert_eq!(shifted(BinOp::Shr, -5), [Some(-1); 3]);
    assert_eq!(shifted(BinOp::Shr, 5), [Some(0); 3]);
    assert_eq!(shifted(BinOp::Shr, 0), [Some(0); 3]);
    assert_eq!(shifted(BinOp::Shl, -5), [Some(0); 3]);
    assert_eq!(shifted(BinOp::Shl, 5), [Some(0); 3]);
}

#[test]
fn a_negation_turns_the_sign_and_wraps_at_the_least_integer() {
    let negative = |dtype, value| unary(UnOp::Neg, dtype, value);
    assert_eq!(negative(DType::F32, Num::Float(2.5)), Num::Float(-2.5));
    assert_eq!(negative(DType::F64, Num::Float(-0.5)), Num::Float(0.5));
    assert_eq!(negative(DType::I32, Num::Int(7)), Num::Int(-7));
    assert_eq!(negative(DType::I32, Num::Int(i32::MIN.into())), Num::Int(i32::MIN.into()));
    assert_eq!(negative(DType::I8, Num::Int(-128)), Num::Int(-128));
    assert_eq!(negative(DType::U8, Num::Int(1)), Num::Int(255));
    assert_eq!(negative(DType::I32, Num::Nothing), Num::Nothing);
}
