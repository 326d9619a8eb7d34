//! The operator inputs on which laws are tested, the same in every run. Floating-point values are
//! held in f64.

use crate::{DType, Number};

/// Rounds of splitmix64.
pub(super) struct Random(u64);

impl Random {
    pub fn new() -> Random {
        Random(0x6f70_6572_6174_6f72)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }
}

/// Small values, which coincide often.
pub(super) fn few(dtype: DType) -> Vec<Number> {
    match dtype {
        DType::Bool => vec![Number::Bool(false), Number::Bool(true)],
        t if t.is_float() => [1.0, 2.5, -1.0, 0.0, 0.5, -3.0].map(Number::F64).to_vec(),
        t => [1, 2, -1, 0, 5, -3].map(|v| Number::I64(v).cast(t)).to_vec(),
    }
}

/// Any value of a type; floating-point ones are multiples of 1/4 below 8, whose sums and products
/// are exact.
pub(super) fn any(dtype: DType, random: &mut Random) -> Number {
    match dtype {
        DType::Bool => Number::Bool(random.below(2) == 1),
        t if t.is_float() => Number::F64(random.below(63) as f64 / 4.0 - 7.75),
        t => Number::U64(random.next()).cast(t),
    }
}

/// The ends of a type's range. Floating-point ones are small enough for finite squares, unless
/// infinities are requested.
pub(super) fn ends(dtype: DType, infinite: bool) -> Vec<Number> {
    let far = match dtype {
        DType::Bool => return few(dtype),
        DType::F16 => 65504.0,
        t if t.is_float() => 2f64.powi(120),
        t => {
            let bits = 8 * t.bytes() as u32;
            let sign = 1i64 << (bits - 1);
            let all = [0, -1, sign, sign.wrapping_sub(1)];
            return all.map(|v| Number::I64(v).cast(t)).to_vec();
        }
    };
    let mut all = vec![far, -far];
    if infinite {
        all.extend([f64::INFINITY, f64::NEG_INFINITY]);
    }
    all.into_iter().map(Number::F64).collect()
}
