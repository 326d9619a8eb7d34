//! The floating-point types of eight bits: storage, and conversions.
//!
//! Both are as the OCP's specification of 8-bit floating point has them, and conversions to them
//! saturate, as those of the hardware do: what is beyond the greatest number, infinities too, gives
//! that number. Rounding is to nearest, ties to even, and happens once.

use std::fmt;

/// The parts of an 8-bit type: a sign, an exponent and a fraction.
struct Format {
    /// The bits of the fraction.
    fraction: u32,
    /// The exponent of the smallest normal number.
    least: i32,
    /// The code of the greatest number.
    greatest: u8,
}

/// The code of a NaN of either type.
const NAN: u8 = 0x7f;

impl Format {
    const E4M3: Format = Format { fraction: 3, least: -6, greatest: 0x7e };
    const E5M2: Format = Format { fraction: 2, least: -14, greatest: 0x7b };

    /// The code of the nearest number.
    fn code(&self, value: f64) -> u8 {
        if value.is_nan() {
            return NAN;
        }
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        // Beyond every number, and so far that what follows needs no care.
        if magnitude >= 1e6 {
            return sign | self.greatest;
        }
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(self.least);
        let units = libm::rint(libm::ldexp(magnitude, self.fraction as i32 - exponent));
        // The leading digit of a normal number adds one to the exponent's part.
        let code = (((exponent - self.least) << self.fraction) + units as i32) as u32;
        sign | code.min(self.greatest.into()) as u8
    }

    /// The number of a code that is neither an infinity nor a NaN.
    fn value(&self, code: u8) -> f64 {
        let magnitude = i32::from(code & 0x7f);
        let (exponent, fraction) = (magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1));
        let units = if exponent == 0 { fraction } else { fraction | 1 << self.fraction };
        let value = libm::ldexp(units.into(), exponent.max(1) - 1 + self.least - self.fraction as i32);
        if code & 0x80 == 0 { value } else { -value }
    }
}

/// A number of four bits of exponent and three of fraction: up to 448, no infinities, one NaN of
/// either sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct E4M3(u8);

/// A number of five bits of exponent and two of fraction: up to 57344, with infinities and NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct E5M2(u8);

impl E4M3 {
    /// The number with these bits.
    pub fn from_bits(bits: u8) -> Self {
        E4M3(bits)
    }

    /// The encoding: sign, four bits of exponent, three of mantissa.
    pub fn to_bits(self) -> u8 {
        self.0
    }

    /// The nearest number; the greatest one of that sign for what is beyond it.
    pub fn from_f64(value: f64) -> Self {
        E4M3(Format::E4M3.code(value))
    }

    /// The number, exactly; NaN for the two encodings of it.
    pub fn to_f64(self) -> f64 {
        match self.0 & 0x7f {
            NAN => f64::NAN,
            _ => Format::E4M3.value(self.0),
        }
    }
}

impl E5M2 {
    /// The number with these bits.
    pub fn from_bits(bits: u8) -> Self {
        E5M2(bits)
    }

    /// The encoding: sign, five bits of exponent, two of mantissa.
    pub fn to_bits(self) -> u8 {
        self.0
    }

    /// The nearest finite number.
    pub fn from_f64(value: f64) -> Self {
        E5M2(Format::E5M2.code(value))
    }

    /// The number, exactly; infinities and NaN as they are.
    pub fn to_f64(self) -> f64 {
        match self.0 & 0x7f {
            0x7c if self.0 & 0x80 == 0 => f64::INFINITY,
            0x7c => f64::NEG_INFINITY,
            0x7d.. => f64::NAN,
            _ => Format::E5M2.value(self.0),
        }
    }
}

impl fmt::Display for E4M3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_f64().fmt(f)
    }
}

impl fmt::Display for E5M2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_f64().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The finite numbers of a type from its definition: a sum of powers of two for the bits.
    fn finite(fraction: i32, bias: i32, last: u8) -> Vec<(u8, f64)> {
        let of = |code: u8| {
            let bit = |at: i32| f64::from(code >> at & 1);
            let exponent: f64 = (fraction..7).map(|at| bit(at) * 2f64.powi(at - fraction)).sum();
            let digits: f64 = (0..fraction).map(|at| bit(at) * 2f64.powi(at - fraction)).sum();
            match exponent as i32 {
                0 => digits * 2f64.powi(1 - bias),
                e => (1.0 + digits) * 2f64.powi(e - bias),
            }
        };
        (0..=last).map(|code| (code, of(code))).collect()
    }

    type Of = (Vec<(u8, f64)>, fn(f64) -> u8, fn(u8) -> f64);

    fn both() -> [Of; 2] {
        [
            (finite(3, 7, 0x7e), |v| E4M3::from_f64(v).to_bits(), |b| E4M3::from_bits(b).to_f64()),
            (finite(2, 15, 0x7b), |v| E5M2::from_f64(v).to_bits(), |b| E5M2::from_bits(b).to_f64()),
        ]
    }

    #[test]
    fn numbers_have_the_values_of_their_bits() {
        for (numbers, code, value) in both() {
            for (bits, number) in numbers {
                assert_eq!((value(bits), value(bits | 0x80)), (number, -number), "{bits:#x}");
                assert_eq!((code(number), code(-number)), (bits, bits | 0x80), "{number}");
            }
        }
        assert_eq!([0x08, 0x7e].map(|b| E4M3::from_bits(b).to_f64()), [2f64.powi(-6), 448.0]);
        assert_eq!([0x04, 0x7b].map(|b| E5M2::from_bits(b).to_f64()), [2f64.powi(-14), 57344.0]);
        assert_eq!(E5M2::from_bits(0xfc).to_f64(), f64::NEG_INFINITY);
        assert!(E4M3::from_bits(0xff).to_f64().is_nan() && E5M2::from_bits(0x7e).to_f64().is_nan());
    }

    #[test]
    fn conversions_round_once_to_nearest_and_saturate() {
        for (numbers, code, _) in both() {
            for pair in numbers.windows(2) {
                let [(low, from), (high, to)] = [pair[0], pair[1]];
                let middle = (from + to) / 2.0;
                let even = if low % 2 == 0 { low } else { high };
                assert_eq!(code(middle), even, "{middle}");
                // The neighbours of the middle in f64, which f32 does not tell from it.
                let [below, above] = [-1, 1].map(|by| f64::from_bits((middle.to_bits() as i64 + by) as u64));
                assert_eq!((code(below), code(above)), (low, high), "{middle}");
            }
            let (last, greatest) = numbers[numbers.len() - 1];
            for beyond in [greatest * 1.04, greatest * 1.5, 1e6, 1e300, f64::INFINITY] {
                assert_eq!((code(beyond), code(-beyond)), (last, last | 0x80), "{beyond}");
            }
            assert_eq!((code(f64::NAN) & 0x7f, code(5e-324), code(-0.0)), (0x7f, 0, 0x80));
        }
    }
}
