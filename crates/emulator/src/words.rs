//! The contents of a warp's register: one word per lane.

/// Lanes per warp: as many as a lane mask has bits. Programs for warps of other sizes are refused.
pub(crate) const WARP: usize = u32::BITS as usize;
/// One 32-bit word per lane.
pub(crate) type Narrow = [u32; WARP];
/// One 64-bit word per lane.
pub(crate) type Wide = [u64; WARP];

/// The lanes in which a truth value holds.
#[inline]
pub(crate) fn lanes_of(truth: &Narrow) -> u32 {
    // Four lanes at a time with equal shifts, which vectorises.
    let mut quads = [0u32; 4];
    for k in 0..WARP / 4 {
        for (j, quad) in quads.iter_mut().enumerate() {
            *quad |= (truth[4 * k + j] & 1) << (4 * k);
        }
    }
    quads[0] | quads[1] << 1 | quads[2] << 2 | quads[3] << 3
}

/// The active lanes, lowest first.
#[inline]
pub(crate) fn active(mask: u32) -> impl Iterator<Item = usize> {
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
pub(crate) fn select<T: Copy>(to: &mut [T; WARP], from: &[T; WARP], mask: u32) {
    if mask == u32::MAX {
        *to = *from;
        return;
    }
    for i in 0..WARP {
        to[i] = if mask & (1 << i) != 0 { from[i] } else { to[i] };
    }
}
