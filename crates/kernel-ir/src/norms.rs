//! Lengths of vectors, and the exponents of numbers: what C has otherwise or not at all.

/// The length of a vector, without overflow on the way; infinite if a part is, even beside a NaN.
pub fn norm(parts: &[f64]) -> f64 {
    match scaled(parts) {
        Ok((root, exponent)) => libm::scalbn(root, exponent),
        Err(value) => value,
    }
}

/// One over the length of a vector.
pub fn inverse_norm(parts: &[f64]) -> f64 {
    match scaled(parts) {
        Ok((root, exponent)) => libm::scalbn(1.0 / root, -exponent),
        Err(value) => 1.0 / value,
    }
}

/// The length, as a number near 1 and an exponent; or what has no such form.
fn scaled(parts: &[f64]) -> Result<(f64, i32), f64> {
    if parts.iter().any(|x| x.is_infinite()) {
        return Err(f64::INFINITY);
    }
    if parts.iter().any(|x| x.is_nan()) {
        return Err(f64::NAN);
    }
    let largest = parts.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if largest == 0.0 {
        return Err(0.0);
    }
    let exponent = libm::ilogb(largest);
    let squares = parts.iter().fold(0.0, |sum, x| {
        let x = libm::scalbn(*x, -exponent);
        x.mul_add(x, sum)
    });
    Ok((squares.sqrt(), exponent))
}

/// The exponent of the leading bit, as a floating-point number.
pub fn logb(x: f64) -> f64 {
    match x {
        _ if x == 0.0 => f64::NEG_INFINITY,
        _ if x.is_finite() => f64::from(libm::ilogb(x)),
        _ => x.abs(),
    }
}

/// The exponent of the leading bit: the least integer of 0 and NaN, the greatest of infinities.
pub fn ilogb(x: f64) -> i32 {
    match x {
        _ if x == 0.0 || x.is_nan() => i32::MIN,
        _ if x.is_infinite() => i32::MAX,
        _ => libm::ilogb(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        assert_eq!(norm(&[2.0, 3.0, 6.0]), 7.0);
        assert_eq!(norm(&[1e200, 1e200, 1e200, 1e200]), 2e200);
        assert_eq!(norm(&[3e-320, 4e-320]), 5e-320);
        assert_eq!(inverse_norm(&[-3.0, 0.0, 4.0]), 0.2);
        assert_eq!(inverse_norm(&[1e-310, 0.0]), 1.0 / 1e-310);
        assert_eq!(norm(&[f64::NAN, f64::NEG_INFINITY]), f64::INFINITY);
        assert_eq!(inverse_norm(&[f64::NAN, f64::INFINITY]), 0.0);
        assert!(norm(&[f64::NAN, 0.0]).is_nan() && inverse_norm(&[f64::NAN, 0.0]).is_nan());
        assert_eq!((norm(&[0.0, -0.0]), inverse_norm(&[0.0, -0.0])), (0.0, f64::INFINITY));
        assert_eq!(norm(&[f64::MAX, f64::MAX]), f64::INFINITY);
    }

    #[test]
    fn exponents() {
        for (x, e) in [(1.0, 0), (-0.75, -1), (8.0, 3), (5e-324, -1074), (f64::MAX, 1023)] {
            assert_eq!((ilogb(x), logb(x)), (e, f64::from(e)));
        }
        assert_eq!([0.0, -0.0, f64::NAN].map(ilogb), [i32::MIN; 3]);
        assert_eq!(ilogb(f64::NEG_INFINITY), i32::MAX);
        assert_eq!((logb(-0.0), logb(f64::NEG_INFINITY)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(logb(f64::NAN).is_nan());
    }
}
