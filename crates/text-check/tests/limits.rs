//! Operations for whose extreme operands C has no result, and values have one: conversions beyond
//! the range of a type, and shifts by all of its bits. The printed text is compiled and run.

use crate::common;

use common::*;
use loopwright_kernel_ir::DType;
use loopwright_program::*;
use loopwright_text_check::{Arguments, Checker, Order};

const INTEGERS: [DType; 8] =
    [DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];

/// The least and the greatest value of an integer type.
fn ends(dtype: DType) -> (i128, i128) {
    let bits = 8 * dtype.bytes() as u32;
    match dtype.is_unsigned() {
        true => (0, (1 << bits) - 1),
        false => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    }
}

/// What the one thread of a kernel makes of the elements `0..count` of an array of bytes: those of
/// the result.
fn computed(
    (from, bytes): (DType, Vec<u8>),
    (to, count): (DType, usize),
    value: impl Fn(&dyn Fn(usize) -> Value) -> Vec<Value>,
) -> Vec<i128> {
    let mut b = Builder::new("limits", DType::I32, [1, 1, 1]);
    let index = |k: usize| Value::int(DType::I32, k as i64);
    let x = b.array("x", from, index(bytes.len() / from.bytes()), false);
    let y = b.array("y", to, index(count), true);
    let element = |k: usize| load(from, at(x, index(k)));
    for (k, value) in value(&element).into_iter().enumerate() {
        b.push(store(at(y, index(k)), value));
    }
    let mut arguments = Arguments::new().array("x", bytes).array("y", vec![0x5a; count * to.bytes()]);
    let compiled = Checker::new().unwrap().compile(&b.program).unwrap_or_else(|e| panic!("{e}"));
    compiled.run(&mut arguments, Order::Forwards).unwrap();
    let whole = |bytes: &[u8]| {
        let sign = if !to.is_unsigned() && bytes[bytes.len() - 1] >= 0x80 { 0xff } else { 0 };
        let mut wide = [sign; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        i128::from_le_bytes(wide)
    };
    arguments.arrays["y"].chunks(to.bytes()).map(whole).collect()
}

/// Towards zero; beyond the range its nearest end; 0 of NaN.
#[test]
fn a_float_beyond_the_range_of_an_integer_becomes_the_nearest_end() {
    let mut floats = vec![0.0, -0.9, 1.9, -1.9, 2.5, -2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e30];
    // On both sides of the ends of all types, as near as an f32 is.
    floats.extend([7, 8, 15, 16, 31, 32, 63, 64].map(|bits| 2f64.powi(bits)));
    floats.extend([7, 8, 15, 16].map(|bits| 2f64.powi(bits) - 1.0));
    floats.extend([31, 32, 63, 64].map(|bits| f64::from((2f32.powi(bits)).next_down())));
    let opposite: Vec<f64> = floats.iter().map(|x| -x).collect();
    floats.extend(opposite);
    floats.extend([-129.0, -32769.0]);
    for from in [DType::F32, DType::F64] {
        let bytes: Vec<u8> = match from {
            DType::F32 => floats.iter().flat_map(|x| (*x as f32).to_ne_bytes()).collect(),
            _ => floats.iter().flat_map(|x| x.to_ne_bytes()).collect(),
        };
        for to in INTEGERS {
            let found = computed((from, bytes.clone()), (to, floats.len()), |x| {
                (0..floats.len()).map(|k| x(k).cast(to)).collect()
            });
            let (least, greatest) = ends(to);
            for (x, found) in floats.iter().zip(found) {
                // As f32 these have the same whole parts, but 1e30, which is beyond all ranges
                // anyway.
                let expected = if x.is_nan() { 0 } else { (x.trunc() as i128).clamp(least, greatest) };
                assert_eq!(found, expected, "{x} of {from} as {to}");
            }
        }
    }
}

/// Every bit is moved out; of a negative value that is shifted to the right, its sign stays.
#[test]
fn a_shift_by_all_bits_leaves_none() {
    for dtype in INTEGERS {
        let bits = 8 * dtype.bytes() as i128;
        let (least, greatest) = ends(dtype);
        let values = [least, greatest, 1, 5];
        let wide: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()[..dtype.bytes()].to_vec()).collect();
        let amounts = [bits - 1, bits, bits + 1];
        let all = || amounts.iter().flat_map(|by| (0..values.len()).map(move |k| (k, *by)));
        for op in [BinOp::Shl, BinOp::Shr] {
            let found = computed((dtype, wide.clone()), (dtype, values.len() * amounts.len()), |x| {
                all().map(|(k, by)| Value::binary(op, x(k), Value::int(dtype, by as i64))).collect()
            });
            for ((k, by), found) in all().zip(found) {
                let value = values[k];
                let expected = match op {
                    BinOp::Shr => value >> by,
                    // Of the bits of the product those that the type has, as one of its values.
                    _ => {
                        let low = (value << by) & ((1 << bits) - 1);
                        if low > greatest { low - (1 << bits) } else { low }
                    }
                };
                assert_eq!(found, expected, "{value} of {dtype}, {op:?} by {by}");
            }
        }
    }
}
