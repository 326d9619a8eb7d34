//! Arguments: the ends of all ranges, zeros of both signs, the least and greatest numbers,
//! infinities and NaN, and random values.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Buffer, DType, Name, Number};

use super::{
    kernel::{Kernel, LENGTH, POSITIONS, Statement},
    number::{Value, bits, range, wrap},
};
use crate::rng::Rng;

/// The arguments of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// Arrays, including those that are written.
    pub arrays: BTreeMap<Name, Buffer>,
    /// The scalars of the kernel.
    pub scalars: BTreeMap<Name, Number>,
}

/// The arguments of this seed: the same for a name, whatever other arguments the kernel has.
pub fn arguments(kernel: &Kernel, seed: u64) -> Arguments {
    let mut found = Arguments::default();
    let of = |name: &Name| Rng::new(name.bytes().fold(seed, |h, b| h.wrapping_mul(31) ^ u64::from(b)));
    for (name, t) in &kernel.arrays {
        let mut rng = of(name);
        let mut buffer = Buffer::zeros(*t, LENGTH as usize);
        for k in 0..buffer.len() {
            let number = match name.as_str() {
                "idx" | "jdx" => Value::Int(*t, rng.below(8) as i128).number(),
                _ => number(&mut rng, *t),
            };
            buffer.set(k, number);
        }
        found.arrays.insert(name.clone(), buffer);
    }
    for (name, t) in kernel.statements.iter().flat_map(Statement::arrays) {
        let mut buffer = Buffer::zeros(t, POSITIONS as usize);
        (0..buffer.len()).for_each(|k| {
            buffer.set(k, Value::Int(DType::I32, 77).to(t).number());
        });
        found.arrays.insert(name.clone(), buffer);
    }
    for (name, t) in &kernel.scalars {
        let value = match name.as_str() {
            "n" | "m" => Value::Int(*t, POSITIONS.into()).number(),
            _ => number(&mut of(name), *t),
        };
        found.scalars.insert(name.clone(), value);
    }
    found
}

/// A number of the type: a special one or any.
pub fn number(rng: &mut Rng, t: DType) -> Number {
    let few = rng.below(24);
    if t == DType::Bool {
        return Number::Bool(few.is_multiple_of(2));
    }
    if t.is_float() {
        let ends: [f64; 24] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            2147483647.0,
            2147483648.0,
            -2147483649.0,
            4294967296.0,
            9.3e18,
            -9.3e18,
            1.9e19,
            255.5,
            -128.9,
            65504.0,
            1e-40,
            3.0e38,
        ];
        return match rng.below(4) {
            0 => Value::Float(DType::F64, ends[few]).to(t).number(),
            1 => Value::Float(DType::F64, (rng.below(4001) as f64 - 2000.0) / 16.0).to(t).number(),
            2 => Value::Float(DType::F64, rng.below(200) as f64 - 100.0).to(t).number(),
            _ => match Number::from_bits(t, rng.bits()) {
                // Only one NaN is used: which NaN results is undefined.
                any if any.as_f64().is_nan() => Value::Float(DType::F64, f64::NAN).to(t).number(),
                any => any,
            },
        };
    }
    let (low, high) = range(t);
    let v = match few {
        0 => low,
        1 => low + 1,
        2 => high,
        3 => high - 1,
        4 => 0,
        5 => -1,
        6 => 1,
        7 => 1 << (bits(t) / 2),
        8 => high / 2,
        9 => low / 2,
        10..=13 => rng.bits().into(),
        14 => rng.below(80) as i128 - 8,
        _ => rng.below(21) as i128 - 10,
    };
    Value::Int(t, wrap(t, v)).number()
}
