//! The kernels as plain loops, written from the definitions of PolyBench/C 4.2: the reference for
//! every pipeline. Only the names of the arrays are shared with the declared kernels.

use std::{
    collections::BTreeMap,
    ops::{Index, IndexMut},
};

/// An array with its shape, in row-major order.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The elements, in row-major order.
    pub values: Vec<f64>,
}

impl Grid {
    fn at<const D: usize>(&self, index: [usize; D]) -> usize {
        index.iter().zip(&self.shape).fold(0, |place, (i, length)| place * length + i)
    }
}

impl<const D: usize> Index<[usize; D]> for Grid {
    type Output = f64;
    fn index(&self, index: [usize; D]) -> &f64 {
        &self.values[self.at(index)]
    }
}

impl<const D: usize> IndexMut<[usize; D]> for Grid {
    fn index_mut(&mut self, index: [usize; D]) -> &mut f64 {
        let at = self.at(index);
        &mut self.values[at]
    }
}

/// The arguments of one run.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// Integer arguments, by name.
    pub sizes: BTreeMap<String, usize>,
    /// Arrays, by name.
    pub arrays: BTreeMap<String, Grid>,
}

/// A floating-point argument of the kernels that have one.
pub const ALPHA: f64 = 1.5;
/// See [`ALPHA`].
pub const BETA: f64 = 1.25;

impl Problem {
    fn size(&self, name: &str) -> usize {
        self.sizes[name]
    }

    fn take<const D: usize>(&mut self, names: [&str; D]) -> [Grid; D] {
        names.map(|name| self.arrays.remove(name).unwrap_or_else(|| panic!("there is no array {name}")))
    }

    fn put(&mut self, name: &str, grid: Grid) {
        self.arrays.insert(name.to_string(), grid);
    }
}

pub fn gemm(p: &mut Problem) {
    let [mut c, a, b] = p.take(["C", "A", "B"]);
    for i in 0..p.size("ni") {
        for j in 0..p.size("nj") {
            c[[i, j]] *= BETA;
        }
        for k in 0..p.size("nk") {
            for j in 0..p.size("nj") {
                c[[i, j]] += ALPHA * a[[i, k]] * b[[k, j]];
            }
        }
    }
    p.put("C", c);
}

pub fn two_mm(p: &mut Problem) {
    let [a, b, c, mut d] = p.take(["A", "B", "C", "D"]);
    let (ni, nj) = (p.size("ni"), p.size("nj"));
    let mut product = Grid { shape: vec![ni, nj], values: vec![0.0; ni * nj] };
    for i in 0..ni {
        for k in 0..p.size("nk") {
            for j in 0..nj {
                product[[i, j]] += ALPHA * a[[i, k]] * b[[k, j]];
            }
        }
        for j in 0..p.size("nl") {
            d[[i, j]] *= BETA;
        }
        for k in 0..nj {
            for j in 0..p.size("nl") {
                d[[i, j]] += product[[i, k]] * c[[k, j]];
            }
        }
    }
    p.put("D", d);
}

pub fn syr2k(p: &mut Problem) {
    let [mut c, a, b] = p.take(["C", "A", "B"]);
    for i in 0..p.size("n") {
        for j in 0..=i {
            c[[i, j]] *= BETA;
        }
        for j in 0..=i {
            for k in 0..p.size("m") {
                c[[i, j]] += a[[j, k]] * ALPHA * b[[i, k]] + b[[j, k]] * ALPHA * a[[i, k]];
            }
        }
    }
    p.put("C", c);
}

pub fn atax(p: &mut Problem) {
    let [a, x] = p.take(["A", "x"]);
    let (m, n) = (p.size("m"), p.size("n"));
    let mut y = Grid { shape: vec![n], values: vec![0.0; n] };
    for i in 0..m {
        let mut product = 0.0;
        for j in 0..n {
            product += a[[i, j]] * x[[j]];
        }
        for j in 0..n {
            y[[j]] += a[[i, j]] * product;
        }
    }
    p.put("y", y);
}

pub fn mvt(p: &mut Problem) {
    let [a, mut x1, mut x2, y1, y2] = p.take(["A", "x_1", "x_2", "y_1", "y_2"]);
    let n = p.size("n");
    for i in 0..n {
        for j in 0..n {
            x1[[i]] += a[[i, j]] * y1[[j]];
        }
    }
    for j in 0..n {
        for i in 0..n {
            x2[[i]] += a[[j, i]] * y2[[j]];
        }
    }
    p.put("x_1", x1);
    p.put("x_2", x2);
}

pub fn gesummv(p: &mut Problem) {
    let [a, b, x] = p.take(["A", "B", "x"]);
    let n = p.size("n");
    let mut y = Grid { shape: vec![n], values: vec![0.0; n] };
    for i in 0..n {
        let (mut first, mut second) = (0.0, 0.0);
        for j in 0..n {
            first += a[[i, j]] * x[[j]];
            second += b[[i, j]] * x[[j]];
        }
        y[[i]] = ALPHA * first + BETA * second;
    }
    p.put("y", y);
}

pub fn trmm(p: &mut Problem) {
    let [a, mut b] = p.take(["A", "B"]);
    let (m, n) = (p.size("m"), p.size("n"));
    for i in 0..m {
        for k in i + 1..m {
            for j in 0..n {
                b[[i, j]] += a[[k, i]] * b[[k, j]];
            }
        }
        for j in 0..n {
            b[[i, j]] *= ALPHA;
        }
    }
    p.put("B", b);
}

pub fn lu(p: &mut Problem) {
    let [mut a] = p.take(["A"]);
    let n = p.size("n");
    for i in 0..n {
        for j in 0..i {
            for k in 0..j {
                a[[i, j]] -= a[[i, k]] * a[[k, j]];
            }
            a[[i, j]] /= a[[j, j]];
        }
        for k in 0..i {
            for j in i..n {
                a[[i, j]] -= a[[i, k]] * a[[k, j]];
            }
        }
    }
    p.put("A", a);
}

pub fn cholesky(p: &mut Problem) {
    let [mut a] = p.take(["A"]);
    for i in 0..p.size("n") {
        for j in 0..i {
            for k in 0..j {
                a[[i, j]] -= a[[i, k]] * a[[j, k]];
            }
            a[[i, j]] /= a[[j, j]];
        }
        for k in 0..i {
            a[[i, i]] -= a[[i, k]] * a[[i, k]];
        }
        a[[i, i]] = a[[i, i]].sqrt();
    }
    p.put("A", a);
}

pub fn trisolv(p: &mut Problem) {
    let [l, b] = p.take(["L", "b"]);
    let n = p.size("n");
    let mut x = Grid { shape: vec![n], values: vec![0.0; n] };
    for i in 0..n {
        x[[i]] = b[[i]];
        for j in 0..i {
            x[[i]] -= l[[i, j]] * x[[j]];
        }
        x[[i]] /= l[[i, i]];
    }
    p.put("x", x);
}

pub fn jacobi_1d(p: &mut Problem) {
    let [mut a, mut b] = p.take(["A", "B"]);
    let sweep = |from: &Grid, to: &mut Grid, n: usize| {
        for i in 1..n - 1 {
            to[[i]] = 0.33333 * (from[[i - 1]] + from[[i]] + from[[i + 1]]);
        }
    };
    for _ in 0..p.size("tsteps") {
        sweep(&a, &mut b, p.size("n"));
        sweep(&b, &mut a, p.size("n"));
    }
    p.put("A", a);
    p.put("B", b);
}

pub fn jacobi_2d(p: &mut Problem) {
    let [mut a, mut b] = p.take(["A", "B"]);
    let sweep = |from: &Grid, to: &mut Grid, n: usize| {
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                let sum =
                    from[[i, j]] + from[[i, j - 1]] + from[[i, j + 1]] + from[[i + 1, j]] + from[[i - 1, j]];
                to[[i, j]] = 0.2 * sum;
            }
        }
    };
    for _ in 0..p.size("tsteps") {
        sweep(&a, &mut b, p.size("n"));
        sweep(&b, &mut a, p.size("n"));
    }
    p.put("A", a);
    p.put("B", b);
}

pub fn seidel_2d(p: &mut Problem) {
    let [mut a] = p.take(["A"]);
    let n = p.size("n");
    for _ in 0..p.size("tsteps") {
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                let mut sum = 0.0;
                for di in 0..3 {
                    for dj in 0..3 {
                        sum += a[[i + di - 1, j + dj - 1]];
                    }
                }
                a[[i, j]] = sum / 9.0;
            }
        }
    }
    p.put("A", a);
}

pub fn heat_3d(p: &mut Problem) {
    let [mut a, mut b] = p.take(["A", "B"]);
    let sweep = |from: &Grid, to: &mut Grid, n: usize| {
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                for k in 1..n - 1 {
                    let here = from[[i, j, k]];
                    let bend = |x: f64, y: f64| 0.125 * (x - 2.0 * here + y);
                    to[[i, j, k]] = bend(from[[i + 1, j, k]], from[[i - 1, j, k]])
                        + bend(from[[i, j + 1, k]], from[[i, j - 1, k]])
                        + bend(from[[i, j, k + 1]], from[[i, j, k - 1]])
                        + here;
                }
            }
        }
    };
    for _ in 0..p.size("tsteps") {
        sweep(&a, &mut b, p.size("n"));
        sweep(&b, &mut a, p.size("n"));
    }
    p.put("A", a);
    p.put("B", b);
}

pub fn fdtd_2d(p: &mut Problem) {
    let [mut ex, mut ey, mut hz, fict] = p.take(["ex", "ey", "hz", "fict"]);
    let (nx, ny) = (p.size("nx"), p.size("ny"));
    for t in 0..p.size("tmax") {
        for j in 0..ny {
            ey[[0, j]] = fict[[t]];
        }
        for i in 1..nx {
            for j in 0..ny {
                ey[[i, j]] -= 0.5 * (hz[[i, j]] - hz[[i - 1, j]]);
            }
        }
        for i in 0..nx {
            for j in 1..ny {
                ex[[i, j]] -= 0.5 * (hz[[i, j]] - hz[[i, j - 1]]);
            }
        }
        for i in 0..nx - 1 {
            for j in 0..ny - 1 {
                let curl = ex[[i, j + 1]] - ex[[i, j]] + ey[[i + 1, j]] - ey[[i, j]];
                hz[[i, j]] -= 0.7 * curl;
            }
        }
    }
    p.put("ex", ex);
    p.put("ey", ey);
    p.put("hz", hz);
}

pub fn floyd_warshall(p: &mut Problem) {
    let [mut path] = p.take(["path"]);
    let n = p.size("n");
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                let through = path[[i, k]] + path[[k, j]];
                if through < path[[i, j]] {
                    path[[i, j]] = through;
                }
            }
        }
    }
    p.put("path", path);
}
