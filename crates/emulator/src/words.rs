//! The contents of a warp's register: one word per lane; and sets of lanes.
//!
//! The number of lanes is a constant of the code, so that loops over lanes vectorise: what runs
//! programs is compiled for each of [`WIDTHS`].

/// The sizes of warps for which the emulator has code.
pub(crate) const WIDTHS: [u32; 2] = [32, 64];

/// One 32-bit word per lane.
pub(crate) type Narrow<const W: usize> = [u32; W];
/// One 64-bit word per lane.
pub(crate) type Wide<const W: usize> = [u64; W];

/// Bits that are handled at once: masks are cut into pieces that fit into the words of lanes, so
/// that loops over both vectorise.
const PIECE: usize = u32::BITS as usize;

/// The mask of the lowest lanes: all of a warp for its width.
#[inline(always)]
pub(crate) const fn lowest_lanes(lanes: usize) -> u64 {
    match lanes {
        0 => 0,
        lanes => u64::MAX >> (u64::BITS as usize - lanes),
    }
}

/// The lanes in which a truth value holds.
#[inline]
pub(crate) fn lanes_of<const W: usize>(truth: &Narrow<W>) -> u64 {
    let mut lanes = 0;
    for (n, piece) in truth.chunks_exact(PIECE).enumerate() {
        // Four lanes at a time with equal shifts, which vectorises.
        let mut quads = [0u32; 4];
        for k in 0..PIECE / 4 {
            for (j, quad) in quads.iter_mut().enumerate() {
                *quad |= (piece[4 * k + j] & 1) << (4 * k);
            }
        }
        let piece = quads[0] | quads[1] << 1 | quads[2] << 2 | quads[3] << 3;
        lanes |= u64::from(piece) << (n * PIECE);
    }
    lanes
}

/// The active lanes, lowest first.
#[inline]
pub(crate) fn active(mask: u64) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

/// A type whose values are held in registers.
pub(crate) trait Lane: Copy + PartialOrd {
    type Word: Copy + Default;
    fn of(word: Self::Word) -> Self;
    fn word(self) -> Self::Word;
}

macro_rules! lane {
    ($($type:ty, $word:ty, |$w:ident| $of:expr, |$v:ident| $to:expr;)*) => {
        $(impl Lane for $type {
            type Word = $word;
            #[inline(always)]
            fn of($w: $word) -> Self {
                $of
            }
            #[inline(always)]
            fn word(self) -> $word {
                let $v = self;
                $to
            }
        })*
    };
}

lane! {
    i8, u32, |w| w as i8, |v| v as i32 as u32;
    i16, u32, |w| w as i16, |v| v as i32 as u32;
    i32, u32, |w| w as i32, |v| v as u32;
    u8, u32, |w| w as u8, |v| v.into();
    u16, u32, |w| w as u16, |v| v.into();
    u32, u32, |w| w, |v| v;
    f32, u32, |w| f32::from_bits(w), |v| v.to_bits();
    i64, u64, |w| w as i64, |v| v as u64;
    u64, u64, |w| w, |v| v;
    f64, u64, |w| f64::from_bits(w), |v| v.to_bits();
}

/// Copies the lanes in the mask.
#[inline(always)]
pub(crate) fn select<T: Copy, const W: usize>(to: &mut [T; W], from: &[T; W], mask: u64) {
    if mask == lowest_lanes(W) {
        *to = *from;
        return;
    }
    for (n, (to, from)) in to.chunks_exact_mut(PIECE).zip(from.chunks_exact(PIECE)).enumerate() {
        let mask = (mask >> (n * PIECE)) as u32;
        for i in 0..PIECE {
            to[i] = if mask & (1 << i) != 0 { from[i] } else { to[i] };
        }
    }
}
