//! Operations on numbers, by `values.md`.

use loopwright_kernel_ir::DType;

use super::{Num, binary};
use crate::BinOp;

/// Of a value whose bits have all been shifted out, its sign is left, if it is shifted to the right.
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
