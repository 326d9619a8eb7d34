//! The bytes that the elements of strided arrays occupy.

use loopwright::runtime::dlpack::Description;

/// Where the elements of an array are, in bytes.
pub struct Places<'a> {
    array: &'a Description,
    size: i128,
    /// The first byte and the one behind the last.
    low: i128,
    high: i128,
}

/// The longest range of memory whose bytes are compared one by one if strides do not decide: a bit
/// for each takes 256 MiB.
const ENUMERABLE: i128 = 1 << 31;

impl Places<'_> {
    /// Those of an array.
    pub fn of(array: &Description) -> Places<'_> {
        let size = array.dtype.bytes() as i128;
        let (mut low, mut high) = (i128::from(array.address), i128::from(array.address) + size);
        for (length, stride) in array.shape.iter().zip(&array.strides) {
            let reach = (*length as i128 - 1) * i128::from(*stride) * size;
            low += reach.min(0);
            high += reach.max(0);
        }
        if array.shape.contains(&0) {
            high = low;
        }
        Places { array, size, low, high }
    }

    /// Whether no two elements share memory. `false` where that takes too long to find out.
    pub fn are_apart(&self) -> bool {
        let mut axes = self.axes();
        axes.sort_unstable();
        let mut reach = 0;
        let is_nested = axes.iter().all(|(stride, length)| {
            let is_apart = *stride > reach;
            reach += (length - 1) * stride;
            is_apart
        });
        if is_nested || self.low == self.high {
            return true;
        }
        // More elements than bytes do not fit.
        let count = axes.iter().map(|(_, length)| *length).fold(1i128, i128::saturating_mul);
        if count > self.high - self.low || self.high - self.low > ENUMERABLE {
            return false;
        }
        let mut taken = Bits::new(self.low, self.high);
        self.each(&mut |byte| taken.take(byte))
    }

    /// Whether some element of this array shares memory with one of the other. `true` where that
    /// takes too long to find out.
    pub fn meet(&self, other: &Places<'_>) -> bool {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        if low >= high {
            return false;
        }
        // Elements of both repeat with the greatest common divisor of all strides.
        let own = self.axes().iter().map(|(s, _)| s * self.size).fold(0, gcd);
        let period = other.axes().iter().map(|(s, _)| s * other.size).fold(own, gcd);
        if period > 0 {
            let apart = (i128::from(other.array.address) - i128::from(self.array.address)).rem_euclid(period);
            if apart >= self.size && apart + other.size <= period {
                return false;
            }
        }
        if high - low > ENUMERABLE {
            return true;
        }
        let mut taken = Bits::new(low, high);
        self.each(&mut |byte| {
            taken.take(byte);
            true
        });
        !other.each(&mut |byte| !taken.has(byte))
    }

    /// The axes with several elements: the magnitude of the stride, in elements, and the length.
    fn axes(&self) -> Vec<(i128, i128)> {
        let all = self.array.strides.iter().zip(&self.array.shape);
        let all = all.map(|(stride, length)| (i128::from(*stride).abs(), *length as i128));
        all.filter(|(_, length)| *length > 1).collect()
    }

    /// Calls `f` for each byte of each element, until it is `false`; whether it never was.
    fn each(&self, f: &mut dyn FnMut(i128) -> bool) -> bool {
        fn along(axes: &[(usize, i128)], at: i128, size: i128, f: &mut dyn FnMut(i128) -> bool) -> bool {
            match axes {
                [] => (at..at + size).all(f),
                [(length, stride), rest @ ..] => {
                    (0..*length).all(|k| along(rest, at + k as i128 * stride, size, f))
                }
            }
        }
        let steps = self.array.strides.iter().map(|stride| i128::from(*stride) * self.size);
        let axes: Vec<(usize, i128)> = self.array.shape.iter().copied().zip(steps).collect();
        along(&axes, self.array.address.into(), self.size, f)
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A bit for each byte of a range.
struct Bits {
    low: i128,
    words: Vec<u64>,
}

impl Bits {
    fn new(low: i128, high: i128) -> Bits {
        Bits { low, words: vec![0; usize::try_from((high - low) / 64 + 1).unwrap_or(0)] }
    }

    /// Takes a byte; `false` if it was taken. Bytes outside the range are free.
    fn take(&mut self, byte: i128) -> bool {
        let is_free = !self.has(byte);
        if let (Some((word, bit)), true) = (self.place(byte), is_free)
            && let Some(word) = self.words.get_mut(word)
        {
            *word |= bit;
        }
        is_free
    }

    /// Whether a byte was taken.
    fn has(&self, byte: i128) -> bool {
        let place = self.place(byte);
        place.is_some_and(|(word, bit)| self.words.get(word).is_some_and(|word| word & bit != 0))
    }

    /// The word of a byte, and its bit there.
    fn place(&self, byte: i128) -> Option<(usize, u64)> {
        let place = byte - self.low;
        Some((usize::try_from(place).ok()? / 64, 1 << (place % 64)))
    }
}
