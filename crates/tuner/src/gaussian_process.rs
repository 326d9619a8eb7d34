//! Regression by a Gaussian process: a mean and a standard deviation for every place, from values
//! at some places.
//!
//! The covariance of two places decays with the square of their distance, over a fixed length:
//! coordinates are base-2 logarithms, and little is known two doublings away. With `K` the
//! covariances of the known places, noise on the diagonal, and `k` those of a new place with them,
//! the mean there is `k K^-1 y` and the variance `1 - k K^-1 k` (Rasmussen and Williams, Gaussian
//! Processes for Machine Learning, algorithm 2.1). Values are shifted and scaled to mean 0 and
//! variance 1 first.

/// The correlation length, in doublings of a parameter.
const LENGTH: f64 = 1.5;
/// The variance of repeated measurements, relative to the variance of all values.
const NOISE: f64 = 0.02;

/// A model that is fitted to values at some places.
pub(crate) struct GaussianProcess {
    places: Vec<Vec<f64>>,
    mean: f64,
    deviation: f64,
    /// The lower triangle of the Cholesky factor of `K`, row by row.
    factor: Vec<Vec<f64>>,
    /// `K^-1 y`, for the scaled values `y`.
    weights: Vec<f64>,
}

fn covariance(a: &[f64], b: &[f64]) -> f64 {
    let squared: f64 = a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum();
    (-squared / (2.0 * LENGTH * LENGTH)).exp()
}

/// The factor `L` of `L L^T = matrix`, given by its lower triangle; none if rounding makes the
/// matrix not positive definite.
fn cholesky(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    for i in 0..matrix.len() {
        let (above, row) = matrix.split_at_mut(i);
        let row = row.first_mut()?;
        for (j, other) in above.iter().enumerate() {
            let known: f64 = row[..j].iter().zip(other).map(|(a, b)| a * b).sum();
            row[j] = (row[j] - known) / other[j];
        }
        let rest = row[i] - row[..i].iter().map(|a| a * a).sum::<f64>();
        if rest <= 0.0 || !rest.is_finite() {
            return None;
        }
        row[i] = rest.sqrt();
    }
    Some(matrix)
}

/// Solves `L x = y` by forward substitution, for the lower triangle `L`.
fn forwards(factor: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let mut x: Vec<f64> = Vec::with_capacity(y.len());
    for (row, value) in factor.iter().zip(y) {
        let known: f64 = row.iter().zip(&x).map(|(a, b)| a * b).sum();
        x.push((value - known) / row[x.len()]);
    }
    x
}

/// Solves `L^T x = y` by back substitution, for the lower triangle `L`.
fn backwards(factor: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let mut x = y.to_vec();
    for i in (0..x.len()).rev() {
        x[i] /= factor[i][i];
        for j in 0..i {
            x[j] -= factor[i][j] * x[i];
        }
    }
    x
}

impl GaussianProcess {
    /// Fits a model to places and their values; none if there are no values.
    pub fn fit(known: Vec<(Vec<f64>, f64)>) -> Option<GaussianProcess> {
        let (places, values): (Vec<_>, Vec<_>) = known.into_iter().unzip();
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
        let deviation = variance.sqrt().max(1e-6);
        let covariances = places.iter().enumerate().map(|(i, a)| {
            let row = places[..=i].iter().enumerate();
            row.map(|(j, b)| covariance(a, b) + if i == j { NOISE } else { 0.0 }).collect()
        });
        let factor = cholesky(covariances.collect())?;
        let scaled: Vec<f64> = values.iter().map(|v| (v - mean) / deviation).collect();
        let weights = backwards(&factor, &forwards(&factor, &scaled));
        if places.is_empty() {
            None
        } else {
            Some(GaussianProcess { places, mean, deviation, factor, weights })
        }
    }

    /// The mean and the standard deviation at a place.
    pub fn predict(&self, place: &[f64]) -> (f64, f64) {
        let with: Vec<f64> = self.places.iter().map(|known| covariance(known, place)).collect();
        let mean: f64 = with.iter().zip(&self.weights).map(|(a, b)| a * b).sum();
        let explained: f64 = forwards(&self.factor, &with).iter().map(|v| v * v).sum();
        (self.mean + self.deviation * mean, self.deviation * (1.0 - explained).max(0.0).sqrt())
    }

    /// The mean minus `deviations` standard deviations.
    pub fn lower_bound(&self, place: &[f64], deviations: f64) -> f64 {
        let (mean, deviation) = self.predict(place);
        mean - deviations * deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_through_what_it_knows_and_doubts_what_it_does_not() {
        let known: Vec<(Vec<f64>, f64)> =
            (0..6).map(f64::from).map(|x| (vec![x], (x - 2.0) * (x - 2.0))).collect();
        let model = GaussianProcess::fit(known.clone()).expect("six values");
        for (place, value) in &known {
            let (mean, deviation) = model.predict(place);
            assert!((mean - value).abs() < 1.0, "{mean} at {place:?}, not {value}");
            assert!(deviation < 1.5, "{deviation} at {place:?}");
        }
        let (mean, _) = model.predict(&[2.5]);
        assert!((mean - 0.25).abs() < 0.5, "{mean} between two");
        let (far, doubt) = model.predict(&[100.0]);
        let values = known.iter().map(|(_, v)| v);
        assert!((far - values.sum::<f64>() / 6.0).abs() < 1e-9, "far away the mean of all is the best guess");
        assert!(doubt > model.predict(&[2.5]).1 && model.lower_bound(&[100.0], 1.0) == far - doubt);
    }

    #[test]
    fn nothing_is_known_from_nothing_and_equal_values_are_no_trouble() {
        assert!(GaussianProcess::fit(Vec::new()).is_none());
        let equal = GaussianProcess::fit(vec![(vec![0.0], 3.0), (vec![0.0], 3.0)]).expect("two values");
        assert!((equal.predict(&[0.0]).0 - 3.0).abs() < 1e-5);
    }
}
