//! The operator inputs on which laws are tested, the same in every run. Floating-point values are
//! held in f64.

use crate::{DType, Expr, Number, ReductionOp};

/// A generator of pseudorandom numbers (splitmix64) with a fixed seed.
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
        DType::E4M3 => 448.0,
        DType::E5M2 => 57344.0,
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

/// The literals in an operator's text.
pub(super) fn literals(op: &ReductionOp) -> Vec<Number> {
    let mut found: Vec<Number> = Vec::new();
    for e in [&op.neutral, &op.lift, &op.combine, &op.result].into_iter().flatten() {
        e.visit(&mut |e| {
            let literal = match e {
                Expr::Int(v) => Number::I64(*v),
                Expr::Float(v) => Number::F64(v.0),
                _ => return,
            };
            if !found.contains(&literal) {
                found.push(literal);
            }
        });
    }
    found
}

/// The number of values drawn for the literals of one operator.
const NAMED: usize = 96;

/// The values of a type at which an operator with these literals may behave differently: each
/// literal, its negative, its neighbours at distances of one digit and more, what lies between two,
/// the sums, differences, products and quotients of two, and the neighbours of these two. Only
/// those within the range of the type.
pub(super) fn named(dtype: DType, literals: &[Number]) -> Vec<Number> {
    let most = match dtype {
        DType::Bool => return Vec::new(),
        DType::E4M3 => 448.0,
        DType::E5M2 => 57344.0,
        DType::F16 => 65504.0,
        DType::BF16 => 3.3895313892515355e38,
        DType::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    };
    let mut found: Vec<Number> = Vec::new();
    let add = |found: &mut Vec<Number>, number: Option<Number>| {
        if let Some(number) = number.filter(|n| found.len() < NAMED && !found.contains(n)) {
            found.push(number);
        }
    };
    if dtype.is_float() {
        let mut of: Vec<f64> = literals.iter().map(|n| n.as_f64()).filter(|v| v.is_finite()).collect();
        let digit = match dtype {
            DType::F64 => f64::EPSILON,
            DType::F32 => f64::from(f32::EPSILON),
            _ => 2f64.powi(-7),
        };
        let near = of.iter().flat_map(|c| [*c, c - 1.0, c + 1.0, -c]).collect::<Vec<_>>();
        let close =
            of.iter().flat_map(|c| [2f64.powi(-10), digit].map(|d| [c * (1.0 - d), c * (1.0 + d)]).concat());
        let close = close.collect::<Vec<_>>();
        let pairs = pairs(&of).flat_map(|(c, d)| [c + d, c - d]).collect::<Vec<_>>();
        let products = self::pairs(&of).flat_map(|(c, d)| [c / d, c * d, c * d - 1.0, c * d + 1.0]);
        let products = products.filter(|v| v.is_finite()).collect::<Vec<_>>();
        of.sort_by(f64::total_cmp);
        let between = of.windows(2).map(|w| w[0] / 2.0 + w[1] / 2.0).collect::<Vec<_>>();
        let all = [near, between, close, pairs, products].concat();
        all.into_iter().filter(|v| v.abs() <= most).for_each(|v| add(&mut found, Some(Number::F64(v))));
        return found;
    }
    // A floating-point literal stands for the integers on both sides of it.
    let whole = |n: &Number| match n.as_i128() {
        Some(v) => Some(v),
        None => Some(n.as_f64().floor()).filter(|v| v.abs() < 1e18).map(|v| v as i128),
    };
    let mut of: Vec<i128> = literals.iter().filter_map(whole).collect();
    let near = of.iter().flat_map(|c| [*c, c - 1, c + 1, -c]).collect::<Vec<_>>();
    let sums = pairs(&of).flat_map(|(c, d)| [c + d, c - d, c ^ d]).collect::<Vec<_>>();
    let products = pairs(&of).flat_map(|(c, d)| {
        let quotient = c.checked_div(d).unwrap_or(0);
        [quotient, quotient - 1, quotient + 1, c * d, c * d - 1, c * d + 1]
    });
    let products = products.collect::<Vec<_>>();
    of.sort_unstable();
    let between = of.windows(2).map(|w| (w[0] + w[1]) / 2).collect::<Vec<_>>();
    for v in [near, between, sums, products].concat() {
        let number = i64::try_from(v).map(Number::I64).or_else(|_| u64::try_from(v).map(Number::U64)).ok();
        // A value out of range would wrap.
        add(&mut found, number.map(|n| n.cast(dtype)).filter(|n| n.as_i128() == Some(v)));
    }
    found
}

/// All pairs of two of these, in both orders.
fn pairs<T: Copy>(of: &[T]) -> impl Iterator<Item = (T, T)> {
    of.iter().flat_map(move |c| of.iter().map(move |d| (*c, *d)))
}
