//! Fast paths for the most frequent operations. Each gives exactly the result of the general
//! operation (except for which of two NaNs results, which Rust leaves open).
//!
//! The general operations of [`lanes`](crate::lanes) and of the interpreter define the semantics.
//! These paths cover i32, f32 and bool where nothing faults, and report that they do not apply
//! otherwise.

use loopwright_kernel_ir::DType;
use loopwright_program::{BinOp, ShuffleMode};

use crate::words::{Narrow, select};

/// `file[dst] = f(file[a], file[b])`, lane by lane. Eight lanes are read before they are written,
/// so that the loop vectorises without testing whether the registers overlap.
#[inline(always)]
fn zip<const W: usize>(
    file: &mut [Narrow<W>],
    (dst, a, b): (usize, usize, usize),
    f: impl Fn(u32, u32) -> u32,
) {
    for k in (0..W).step_by(8) {
        let (x, y) = (&file[a], &file[b]);
        let mut out = [0; 8];
        for i in 0..8 {
            out[i] = f(x[k + i], y[k + i]);
        }
        file[dst][k..k + 8].copy_from_slice(&out);
    }
}

/// The number of bits needed for the magnitudes of the lanes.
#[inline(always)]
fn magnitude<const W: usize>(a: &Narrow<W>) -> u32 {
    let mut bits = 0;
    for v in a {
        bits |= *v ^ ((*v as i32 >> 31) as u32);
    }
    u32::BITS - bits.leading_zeros()
}

/// The most frequent operations within the file of 32-bit words. Returns `false`, with no effect,
/// for any other operation or if an integer overflows.
#[inline(always)]
pub(crate) fn binary_common<const W: usize>(
    op: BinOp,
    dtype: DType,
    file: &mut [Narrow<W>],
    regs: (usize, usize, usize),
    exact: bool,
) -> bool {
    match (dtype, op) {
        (DType::F32, BinOp::Add) => {
            zip(file, regs, |a, b| (f32::from_bits(a) + f32::from_bits(b)).to_bits());
        }
        (DType::F32, BinOp::Mul) => {
            zip(file, regs, |a, b| (f32::from_bits(a) * f32::from_bits(b)).to_bits());
        }
        (DType::I32, BinOp::Add) => {
            let (x, y) = (&file[regs.1], &file[regs.2]);
            let mut over = 0;
            for i in 0..W {
                let sum = x[i].wrapping_add(y[i]);
                over |= (x[i] ^ sum) & (y[i] ^ sum);
            }
            if exact && over >> 31 != 0 {
                return false;
            }
            zip(file, regs, u32::wrapping_add);
        }
        (DType::I32, BinOp::Mul) => {
            // |a| <= 2^p and |b| <= 2^q with p + q < 31.
            if exact && magnitude(&file[regs.1]) + magnitude(&file[regs.2]) > 30 {
                return false;
            }
            zip(file, regs, u32::wrapping_mul);
        }
        (DType::I32, BinOp::Lt) => zip(file, regs, |a, b| u32::from((a as i32) < b as i32)),
        (DType::I32, BinOp::Eq) => zip(file, regs, |a, b| u32::from(a == b)),
        _ => return false,
    }
    true
}

/// An operation on one i32, or a comparison or logic operation on one pair of words: what
/// [`binary_narrow`] computes if all lanes are equal. `None` if it overflows and that is a fault,
/// and for operations not covered here.
#[inline(always)]
pub(crate) fn binary_scalar(op: BinOp, a: u32, b: u32, exact: bool) -> Option<u32> {
    let (x, y) = (a as i32, b as i32);
    let checked = |(value, over): (i32, bool)| (!(exact && over)).then_some(value as u32);
    match op {
        BinOp::Add => checked(x.overflowing_add(y)),
        BinOp::Sub => checked(x.overflowing_sub(y)),
        BinOp::Mul => checked(x.overflowing_mul(y)),
        BinOp::Min => Some(x.min(y) as u32),
        BinOp::Max => Some(x.max(y) as u32),
        BinOp::Lt => Some((x < y).into()),
        BinOp::Le => Some((x <= y).into()),
        BinOp::Gt => Some((x > y).into()),
        BinOp::Ge => Some((x >= y).into()),
        BinOp::Eq => Some((x == y).into()),
        BinOp::Ne => Some((x != y).into()),
        BinOp::And => Some(a & b),
        BinOp::Or => Some(a | b),
        _ => None,
    }
}

/// Quotients and remainders of i32 by a power of two common to all lanes, by shifts and masks.
/// `None` if they cannot be computed so.
pub(crate) fn divide_by_power<const W: usize>(
    op: BinOp,
    a: &Narrow<W>,
    b: &Narrow<W>,
    mask: u64,
) -> Option<Narrow<W>> {
    if !matches!(op, BinOp::FloorDiv | BinOp::FloorMod | BinOp::TruncDiv | BinOp::TruncRem) {
        return None;
    }
    let divisor = b[0];
    let others = b.iter().fold(0, |d, b| d | (b ^ divisor));
    if others != 0 || divisor as i32 <= 0 || !divisor.is_power_of_two() {
        return None;
    }
    let negative = a.iter().fold(0, |n, a| n | a) >> 31 != 0;
    let result = match op {
        BinOp::FloorDiv => a.map(|a| (a as i32 >> divisor.trailing_zeros()) as u32),
        BinOp::FloorMod => a.map(|a| a & (divisor - 1)),
        // Truncation equals floor if nothing is negative.
        BinOp::TruncDiv if !negative => a.map(|a| a >> divisor.trailing_zeros()),
        BinOp::TruncRem if !negative => a.map(|a| a & (divisor - 1)),
        _ => return None,
    };
    let mut out = [0; W];
    select(&mut out, &result, mask);
    Some(out)
}

/// A shuffle in which all lanes take part. A lane whose source is outside its group keeps its own
/// value.
pub(crate) fn shuffled<const W: usize>(
    mode: ShuffleMode,
    width: u32,
    from: &Narrow<W>,
    operand: &Narrow<W>,
) -> Narrow<W> {
    let by = operand[0];
    if mode == ShuffleMode::Xor && by < width && operand.iter().fold(0, |d, o| d | (o ^ by)) == 0 {
        return match by {
            1 => std::array::from_fn(|i| from[i ^ 1]),
            2 => std::array::from_fn(|i| from[i ^ 2]),
            4 => std::array::from_fn(|i| from[i ^ 4]),
            8 => std::array::from_fn(|i| from[i ^ 8]),
            16 => std::array::from_fn(|i| from[i ^ 16]),
            _ => std::array::from_fn(|i| from[(i ^ by as usize) % W]),
        };
    }
    let mut out = [0; W];
    for i in 0..W {
        let (own, by) = (i as u32, operand[i]);
        let group = own & width.wrapping_neg();
        let source = match mode {
            ShuffleMode::Xor => own ^ by,
            ShuffleMode::Down => own.wrapping_add(by),
            ShuffleMode::Up => own.wrapping_sub(by),
            ShuffleMode::Index => group + (by & (width - 1)),
        };
        let inside = source.wrapping_sub(group) < width;
        out[i] = from[if inside { source } else { own } as usize % W];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        lanes::{LaneFault, binary_narrow},
        words::lowest_lanes,
    };

    const WARP: usize = 32;

    const EDGES: [u32; 14] = [
        0,
        1,
        2,
        3,
        7,
        32,
        1 << 15,
        46341,
        i32::MAX as u32,
        i32::MIN as u32,
        u32::MAX,
        -7i32 as u32,
        0x3f80_0000,
        0x7fc0_0000,
    ];

    /// Pairs of registers that combine every edge value with every other.
    fn pairs() -> impl Iterator<Item = (Narrow<WARP>, Narrow<WARP>)> {
        let n = EDGES.len();
        (0..n * n).map(move |k| {
            let a = std::array::from_fn(|lane| if k % 3 == 0 { EDGES[k / n] } else { EDGES[(k + lane) % n] });
            let b =
                std::array::from_fn(|lane| if k % 2 == 0 { EDGES[k % n] } else { EDGES[(k + 3 * lane) % n] });
            (a, b)
        })
    }

    const OPS: [BinOp; 17] = [
        BinOp::Add,
        BinOp::Sub,
        BinOp::Mul,
        BinOp::Min,
        BinOp::Max,
        BinOp::FloorDiv,
        BinOp::FloorMod,
        BinOp::TruncDiv,
        BinOp::TruncRem,
        BinOp::Lt,
        BinOp::Le,
        BinOp::Gt,
        BinOp::Ge,
        BinOp::Eq,
        BinOp::Ne,
        BinOp::And,
        BinOp::Or,
    ];

    #[test]
    fn common_operations_are_the_general_ones() {
        let mut done = 0;
        for (a, b) in pairs() {
            for (op, dtype, exact) in OPS
                .into_iter()
                .flat_map(|op| [(op, DType::I32, true), (op, DType::I32, false), (op, DType::F32, false)])
                .filter(|(op, ..)| !matches!(op, BinOp::And | BinOp::Or))
            {
                let mut file = [[77; WARP], a, b];
                if !binary_common(op, dtype, &mut file, (0, 1, 2), exact) {
                    assert_eq!(file[0], [77; WARP], "{op:?} of {dtype} gave up halfway");
                    continue;
                }
                done += 1;
                let mut general = binary_narrow(op, dtype, &a, &b, lowest_lanes(WARP), exact);
                if dtype == DType::F32
                    && !op.is_comparison()
                    && let Ok(general) = &mut general
                {
                    // Which of two NaNs results is left open.
                    let is_nan = |word: u32| f32::from_bits(word).is_nan();
                    for lane in (0..WARP).filter(|l| is_nan(a[*l]) && is_nan(b[*l])) {
                        assert!(is_nan(general[lane]) && is_nan(file[0][lane]));
                        general[lane] = file[0][lane];
                    }
                }
                assert_eq!(general, Ok(file[0]), "{op:?} of {dtype}, exact: {exact}, {a:?}, {b:?}");
            }
        }
        assert!(done > 1000, "{done}");
    }

    #[test]
    fn operations_on_one_value_are_the_general_ones() {
        for a in EDGES {
            for b in EDGES {
                for (op, exact) in OPS.into_iter().flat_map(|op| [(op, true), (op, false)]) {
                    let logic = matches!(op, BinOp::And | BinOp::Or);
                    let (dtype, a, b) = if logic { (DType::Bool, a & 1, b & 1) } else { (DType::I32, a, b) };
                    let general = binary_narrow(op, dtype, &[a; WARP], &[b; WARP], 1, exact);
                    match binary_scalar(op, a, b, exact) {
                        Some(value) => assert_eq!(general, Ok([value; WARP]), "{a} {op:?} {b}"),
                        None => assert!(
                            matches!(general, Err(LaneFault::Overflow(0)))
                                || matches!(
                                    op,
                                    BinOp::FloorDiv | BinOp::FloorMod | BinOp::TruncDiv | BinOp::TruncRem
                                ),
                            "{a} {op:?} {b}"
                        ),
                    }
                }
            }
        }
    }

    #[test]
    fn powers_of_two_divide_by_shifts() {
        type Scalar = fn(i32, i32) -> i32;
        let ops: [(BinOp, Scalar); 4] = [
            (BinOp::FloorDiv, |a, b| a.div_euclid(b)),
            (BinOp::FloorMod, |a, b| a.rem_euclid(b)),
            (BinOp::TruncDiv, |a, b| a / b),
            (BinOp::TruncRem, |a, b| a % b),
        ];
        for (op, scalar) in ops {
            for shift in [0, 1, 5, 30] {
                let divisor = 1i32 << shift;
                for base in [i32::MIN, -40, 0, 1000, i32::MAX - 31] {
                    let a: Narrow<WARP> = std::array::from_fn(|lane| (base + lane as i32) as u32);
                    let result = divide_by_power(op, &a, &[divisor as u32; WARP], 0xff00_ff0f);
                    assert!(result.is_some() || base < 0, "{op:?}");
                    for (lane, value) in result.iter().flat_map(|r| r.iter().enumerate()) {
                        let inactive = 0xff00_ff0fu64 >> lane & 1 == 0;
                        let expected = if inactive { 0 } else { scalar(a[lane] as i32, divisor) };
                        assert_eq!(*value as i32, expected, "{} {op:?} {divisor}", a[lane] as i32);
                    }
                }
            }
            for divisor in [0, 3, i32::MIN as u32, u32::MAX] {
                assert_eq!(divide_by_power(op, &[9; WARP], &[divisor; WARP], lowest_lanes(WARP)), None);
            }
            let mixed = std::array::from_fn(|lane| 1 << (lane % 2));
            assert_eq!(divide_by_power(op, &[9; WARP], &mixed, lowest_lanes(WARP)), None);
        }
    }

    #[test]
    fn shuffles_keep_to_their_groups() {
        shuffles_of::<32>();
        shuffles_of::<64>();
    }

    fn shuffles_of<const W: usize>() {
        let from: Narrow<W> = std::array::from_fn(|lane| 100 + lane as u32);
        for mode in [ShuffleMode::Xor, ShuffleMode::Down, ShuffleMode::Up, ShuffleMode::Index] {
            for width in [2u32, 4, 8, 16, 32, 64].into_iter().filter(|width| *width as usize <= W) {
                for (by, step) in [-33i32, -1, 0, 1, 2, 3, 4, 8, 16, 31, 32, 33, 63, 64, i32::MAX, i32::MIN]
                    .into_iter()
                    .flat_map(|by| [(by, 0), (by, 1)])
                {
                    let operand: Narrow<W> = std::array::from_fn(|l| by.wrapping_add(step * l as i32) as u32);
                    let out = shuffled(mode, width, &from, &operand);
                    for lane in 0..W {
                        let (own, by) = (lane as i64, i64::from(operand[lane] as i32));
                        let group = own - own % i64::from(width);
                        let source = match mode {
                            ShuffleMode::Xor => own ^ by,
                            ShuffleMode::Down => own + by,
                            ShuffleMode::Up => own - by,
                            ShuffleMode::Index => group + by.rem_euclid(width.into()),
                        };
                        let inside = (group..group + i64::from(width)).contains(&source);
                        let expected = 100 + if inside { source } else { own } as u32;
                        assert_eq!(out[lane], expected, "{mode:?} over {width} by {by}, lane {lane}");
                    }
                }
            }
        }
    }
}
