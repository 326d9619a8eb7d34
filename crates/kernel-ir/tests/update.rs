//! The operators of updates: their signs, their types, and how two values become one.

use loopwright_kernel_ir::{DType, LoopKernel, UpdateOp};

#[test]
fn each_sign_belongs_to_one_operator() {
    for (op, sign) in UpdateOp::SIGNS {
        assert_eq!(op.sign(), sign);
        assert_eq!(UpdateOp::SIGNS.iter().filter(|(_, other)| *other == sign).count(), 1);
    }
}

#[test]
fn the_lift_of_an_operator_is_part_of_its_update() {
    let text = "kernel k(x: i32[n], y: i32[n], n: i32)\n\
                domain { [i] : 0 <= i < n }\n\
                reduction mixed(e) { state v: like e = 0; lift v = 2*e; combine v = a.v + b.v; result v; \
                commutes }\n\
                y[i] mixed= x[i]\n\
                x[i] product= 2\n";
    let kernel = LoopKernel::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let combined = |k: usize| {
        let update = kernel.instructions[k].update.clone().unwrap();
        update.combination(&kernel, DType::I32).unwrap().unwrap().combined.to_string()
    };
    assert_eq!(combined(0), "a.v + cast(i32, 2 * e)");
    assert_eq!(combined(1), "a.v * x");
    assert_eq!(UpdateOp::Min.combination(&kernel, DType::I32), Ok(None));
}

#[test]
fn types_are_those_of_words_that_devices_exchange() {
    let of = |op: UpdateOp| DType::ALL.into_iter().filter(|t| op.takes(*t)).collect::<Vec<_>>();
    let integers = [DType::I32, DType::I64, DType::U32, DType::U64];
    for op in [UpdateOp::Sum, UpdateOp::Min, UpdateOp::Max] {
        let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
        assert_eq!(of(op), [&integers[..], &floats].concat());
    }
    for op in [UpdateOp::And, UpdateOp::Or] {
        assert_eq!(of(op), integers);
    }
}
