//! Modified Bessel functions of the first kind, which the C library does not have.
//!
//! Below 20 they are their power series, all of whose terms have one sign; beyond, the asymptotic
//! series, whose least term is below the last place there (Abramowitz and Stegun, 9.6.10, 9.7.1).

/// Where the asymptotic series begins.
const LARGE: f64 = 20.0;

/// The modified Bessel function of order 0.
pub fn bessel_i0(x: f64) -> f64 {
    let x = x.abs();
    if x < LARGE { series(x, 0) } else { asymptotic(x, 0) }
}

/// The modified Bessel function of order 1.
pub fn bessel_i1(x: f64) -> f64 {
    let size = x.abs();
    let value = if size < LARGE { 0.5 * size * series(size, 1) } else { asymptotic(size, 1) };
    value.copysign(x)
}

/// The sum of `(x*x/4)^k/(k!*(k + order)!)`.
fn series(x: f64, order: i32) -> f64 {
    let quarter = 0.25 * x * x;
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..100 {
        term *= quarter / f64::from(k * (k + order));
        let next = sum + term;
        if next == sum {
            break;
        }
        sum = next;
    }
    // NaN, which no comparison has stopped.
    sum
}

/// `exp(x)/sqrt(2*pi*x)` times the sum of products of `((2k-1)^2 - 4*order^2)/(8*k*x)`.
fn asymptotic(x: f64, order: i32) -> f64 {
    if x.is_infinite() || x.is_nan() {
        return x;
    }
    let (mut term, mut sum) = (1.0f64, 1.0);
    for k in 1..60 {
        let odd = f64::from(2 * k - 1);
        let next = term * (odd * odd - f64::from(4 * order * order)) / (8.0 * f64::from(k) * x);
        // It diverges in the end.
        if next.abs() >= term.abs() || sum + next == sum {
            break;
        }
        term = next;
        sum += term;
    }
    // The whole exponential overflows before the function does.
    let root = (0.5 * x).exp();
    root * (root / (2.0 * std::f64::consts::PI * x).sqrt() * sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of arithmetic with 60 digits.
    #[test]
    fn values() {
        let near =
            |found: f64, exact: f64| assert!((found / exact - 1.0).abs() < 2e-15, "{found}, not {exact}");
        near(bessel_i0(0.25), 1.015686141223608);
        near(bessel_i0(1.0), 1.2660658777520084);
        near(bessel_i0(5.5), 42.69464515184779);
        near(bessel_i0(19.5), 26760525.339838766);
        near(bessel_i0(20.5), 70922869.83431701);
        near(bessel_i0(100.0), 1.0737517071310738e42);
        near(bessel_i0(700.0), 1.5295933476718737e302);
        near(bessel_i1(0.25), 0.12597910894546793);
        near(bessel_i1(1.0), 0.565159103992485);
        near(bessel_i1(5.5), 38.58816461632739);
        near(bessel_i1(19.5), 26065069.264457166);
        near(bessel_i1(20.5), 69170831.67918438);
        near(bessel_i1(100.0), 1.0683693903381625e42);
        near(bessel_i1(700.0), 1.5285003902339006e302);
        assert_eq!((bessel_i0(0.0), bessel_i1(0.0)), (1.0, 0.0));
        assert_eq!(bessel_i1(-2.5), -bessel_i1(2.5));
        assert!(bessel_i1(-0.0).is_sign_negative());
        assert_eq!((bessel_i0(-f64::INFINITY), bessel_i1(-f64::INFINITY)), (f64::INFINITY, -f64::INFINITY));
        assert_eq!(bessel_i0(714.0), f64::INFINITY);
        assert!(bessel_i0(f64::NAN).is_nan() && bessel_i1(f64::NAN).is_nan());
    }

    /// Both series agree where they meet.
    #[test]
    fn series_agree() {
        for k in 0..200 {
            let x = 19.0 + f64::from(k) / 100.0;
            for (a, b) in [(series(x, 0), asymptotic(x, 0)), (0.5 * x * series(x, 1), asymptotic(x, 1))] {
                assert!((a / b - 1.0).abs() < 3e-15, "{x}: {a} and {b}");
            }
        }
    }
}
