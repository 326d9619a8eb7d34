//! Complex numbers (the page on values): kernels against the arithmetic of pairs that is written
//! here, by the plain interpreter, the emulator and the printed text.

use std::ops::{Add, Div, Mul, Neg, Sub};

use loopwright::emulator::{Arguments, Options};
use loopwright::ir::{Buffer, LoopKernel, Name, Number};
use loopwright::lowering::{LowerOptions, lower};
use loopwright::prelude::{Args, DType, Device, Pipeline, Tensor};
use loopwright_reference::{Inputs, Mode, interpret};
use loopwright_text_check::{Checker, Order, Scalar};

#[derive(Clone, Copy, Debug, PartialEq)]
struct C(f64, f64);

impl Add for C {
    type Output = C;
    fn add(self, b: C) -> C {
        C(self.0 + b.0, self.1 + b.1)
    }
}
impl Sub for C {
    type Output = C;
    fn sub(self, b: C) -> C {
        C(self.0 - b.0, self.1 - b.1)
    }
}
impl Mul for C {
    type Output = C;
    fn mul(self, b: C) -> C {
        C(self.0 * b.0 - self.1 * b.1, self.0 * b.1 + self.1 * b.0)
    }
}
impl Div for C {
    type Output = C;
    fn div(self, b: C) -> C {
        let d = b.0 * b.0 + b.1 * b.1;
        C((self.0 * b.0 + self.1 * b.1) / d, (self.1 * b.0 - self.0 * b.1) / d)
    }
}
impl Neg for C {
    type Output = C;
    fn neg(self) -> C {
        C(-self.0, -self.1)
    }
}
impl C {
    fn conj(self) -> C {
        C(self.0, -self.1)
    }
    fn abs(self) -> f64 {
        (self.0 * self.0 + self.1 * self.1).sqrt()
    }
    fn exp(self) -> C {
        C(self.1.cos() * self.0.exp(), self.1.sin() * self.0.exp())
    }
}
const J: C = C(0.0, 1.0);

fn real(v: f64) -> C {
    C(v, 0.0)
}

const N: usize = 5;

/// The arguments of every kernel below.
#[derive(Clone)]
struct State {
    x: Vec<C>,
    y: Vec<C>,
    m: Vec<[C; N]>,
    w: Vec<f64>,
    r: Vec<f64>,
    p: Vec<i32>,
    a: C,
    s: f64,
}

const HEAD: &str = "kernel k(x: complex128[n], y: complex128[n], m: complex128[n, n], w: f64[n], r: f64[n], \
                    p: i32[n], a: complex128, s: f64, n: i32)\n\
                    assume 1 <= n\nfact 0 <= p < n\n\
                    domain { [i] : 0 <= i < n }\ndomain { [k] : 0 <= k < n }\n";

impl State {
    fn new() -> State {
        let mut next = 7u64;
        let mut draw = || {
            next = next.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (next >> 40) as f64 / f64::from(1 << 23) - 1.0
        };
        let mut c = || C(draw() + 0.3, draw() - 0.2);
        State {
            x: (0..N).map(|_| c()).collect(),
            y: (0..N).map(|_| c()).collect(),
            m: (0..N).map(|_| std::array::from_fn(|_| c())).collect(),
            w: (0..N).map(|_| c().0 + 1.5).collect(),
            r: (0..N).map(|_| c().1).collect(),
            p: vec![2, 0, 4, 1, 3],
            a: C(0.75, -1.25),
            s: -0.625,
        }
    }

    fn arrays(&self) -> Vec<(&'static str, Buffer)> {
        let pairs = |v: &[C]| Buffer::from_slice(&v.iter().flat_map(|c| [c.0, c.1]).collect::<Vec<f64>>());
        vec![
            ("x", pairs(&self.x)),
            ("y", pairs(&self.y)),
            ("m", pairs(&self.m.concat())),
            ("w", Buffer::from_slice(&self.w)),
            ("r", Buffer::from_slice(&self.r)),
            ("p", Buffer::from_slice(&self.p)),
        ]
    }

    fn scalars(&self) -> Vec<(&'static str, Number)> {
        vec![
            ("a_re", self.a.0.into()),
            ("a_im", self.a.1.into()),
            ("s", self.s.into()),
            ("n", (N as i32).into()),
        ]
    }
}

fn near(what: &str, text: &str, found: &Buffer, expected: &Buffer) {
    if let (Some(found), Some(expected)) = (found.to_vec::<f64>(), expected.to_vec::<f64>()) {
        for (k, (f, e)) in found.iter().zip(&expected).enumerate() {
            assert!((f - e).abs() <= 1e-12 * (1.0 + e.abs()), "{what}, {k}: {f}, not {e}\n{text}");
        }
    }
}

/// The lines of a kernel, and what they do to the arguments.
type Case<'a> = (&'a str, &'a dyn Fn(&mut State));

/// The interpreter, the emulator and the printed text of each kernel leave these values.
fn compute(cases: &[Case<'_>]) {
    let mut programs = Vec::new();
    let mut kernels = Vec::new();
    for (lines, _) in cases {
        let kernel =
            LoopKernel::parse(&format!("{HEAD}{lines}")).unwrap_or_else(|d| panic!("{}", d.render()));
        let program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{lines}: {d}"));
        programs.push(program);
        kernels.push(kernel);
    }
    let compiled = Checker::new().unwrap().compile_all(&programs);
    for (((lines, expected), kernel), (program, compiled)) in
        cases.iter().zip(&kernels).zip(programs.iter().zip(compiled))
    {
        let given = State::new();
        let mut after = given.clone();
        expected(&mut after);
        let after = after.arrays();
        let mut inputs = Inputs::default();
        let mut emulated = Arguments::new();
        let mut printed = loopwright_text_check::Arguments::default();
        for (name, buffer) in given.arrays() {
            inputs.arrays.insert(Name::new(name), buffer.clone());
            printed.arrays.insert(Name::new(name), buffer.bytes().to_vec());
            emulated = emulated.array(name, buffer);
        }
        for (name, number) in given.scalars() {
            inputs.scalars.insert(Name::new(name), number);
            let scalar = number.as_i64().map_or(Scalar::Float(number.as_f64()), Scalar::Int);
            printed.scalars.insert(Name::new(name), scalar);
            emulated = emulated.scalar(name, number);
        }
        let reference = interpret(kernel, &inputs, Mode::Exact).unwrap_or_else(|d| panic!("{lines}: {d}"));
        loopwright::emulator::run(program, &mut emulated, &Options::default())
            .unwrap_or_else(|f| panic!("{lines}: {f}"));
        compiled
            .unwrap_or_else(|e| panic!("{lines}: {e}"))
            .run(&mut printed, Order::Forwards)
            .unwrap_or_else(|e| panic!("{lines}: {e}"));
        for (name, values) in &after {
            if let Some(found) = reference.get(&Name::new(name)) {
                near("the interpreter", lines, found, values);
            }
            near("the emulator", lines, emulated.buffer(name).unwrap(), values);
            let bytes = printed.arrays[&Name::new(name)].clone();
            let found = Buffer::from_bytes(values.dtype(), bytes).unwrap();
            near("the printed text", lines, &found, values);
        }
    }
}

fn all(v: &mut [C], f: impl Fn(usize, C) -> C) {
    for (k, z) in v.iter_mut().enumerate() {
        *z = f(k, *z);
    }
}

#[test]
fn both_parts_are_of_what_was_there() {
    compute(&[
        ("y[i] = a*x[i] + y[i]", &|t| {
            let t0 = t.clone();
            all(&mut t.y, |k, y| t0.a * t0.x[k] + y);
        }),
        ("y[i] = a*y[i]", &|t| {
            let a = t.a;
            all(&mut t.y, |_, y| a * y);
        }),
        ("y[i] = y[i]*y[i] - conj(y[i])", &|t| all(&mut t.y, |_, y| y * y - y.conj())),
        ("y[i] = 1j*y[i]", &|t| all(&mut t.y, |_, y| J * y)),
        ("y[i] = -1.5j*conj(y[i]) + 2", &|t| all(&mut t.y, |_, y| C(0.0, -1.5) * y.conj() + real(2.0))),
        ("y[i] = x[i]/y[i]", &|t| {
            let x = t.x.clone();
            all(&mut t.y, |k, y| x[k] / y);
        }),
        ("y[i] = complex(im(y[i]), re(y[i]))", &|t| all(&mut t.y, |_, y| C(y.1, y.0))),
        ("y[i].im = y[i].re\ny[i].re = 2.0*y[i].im", &|t| all(&mut t.y, |_, y| C(2.0 * y.0, y.0))),
        // Loops that carry values along.
        ("assume n >= 2\ndomain { [l] : 1 <= l < n }\ny[l] = a*y[l - 1] + y[l]", &|t| {
            for l in 1..N {
                t.y[l] = t.a * t.y[l - 1] + t.y[l];
            }
        }),
        ("<> z = 1.0 + 0j\nfor i { z = z*y[i]\ny[i] = z }", &|t| {
            let mut z = real(1.0);
            for y in &mut t.y {
                z = z * *y;
                *y = z;
            }
        }),
        // Mandelbrot: the next value is of both parts of the one before.
        (
            "domain { [l] : 0 <= l < 12 }\nfor i {\n <> z = 0.0j\n <> steps = 0.0\n for l {\n  z = z**2 + x[i] if \
             abs(z) <= 2.0\n  steps = steps + 1.0 if abs(z) <= 2.0\n }\n y[i] = z\n r[i] = steps\n}",
            &|t| {
                for k in 0..N {
                    let (mut z, mut steps) = (real(0.0), 0.0);
                    for _ in 0..12 {
                        if z.abs() <= 2.0 {
                            z = z * z + t.x[k];
                        }
                        if z.abs() <= 2.0 {
                            steps += 1.0;
                        }
                    }
                    (t.y[k], t.r[k]) = (z, steps);
                }
            },
        ),
    ]);
}

#[test]
fn predicates_decide_for_both_parts() {
    compute(&[
        ("y[i] = 0.0 if re(y[i]) > 0.0", &|t| all(&mut t.y, |_, y| if y.0 > 0.0 { real(0.0) } else { y })),
        ("y[i] = y[i]*a if re(y[i]) > 0.0 and im(y[i]) < 0.5", &|t| {
            let a = t.a;
            all(&mut t.y, |_, y| if y.0 > 0.0 && y.1 < 0.5 { y * a } else { y });
        }),
        // Where the first condition fails, the second would read out of bounds.
        ("y[i] = y[i]*a + x[i - 1] if i > 0 and abs(x[i - 1]) < abs(y[i])", &|t| {
            let (a, x) = (t.a, t.x.clone());
            all(&mut t.y, |k, y| if k > 0 && x[k - 1].abs() < y.abs() { y * a + x[k - 1] } else { y });
        }),
        ("y[i] = if(i > 0, x[i - 1]*x[i - 1]*a, 1j)", &|t| {
            let (a, x) = (t.a, t.x.clone());
            all(&mut t.y, |k, _| if k > 0 { x[k - 1] * x[k - 1] * a } else { J });
        }),
        ("if x[i] == conj(x[i]) { y[i] = 1.0 } else { y[i] = x[i] - s }\nr[i] = 3.0 if x[i] != x[i]", &|t| {
            let (s, x) = (t.s, t.x.clone());
            all(&mut t.y, |k, _| x[k] - real(s));
        }),
        ("r[i] = 1.0 if not isnan(x[i]) and complex(w[i], 0) == w[i]", &|t| t.r = vec![1.0; N]),
        ("r[i] = if(abs(x[i]) < 1.0, re(a*x[i]), im(x[i].re*a))", &|t| {
            let t0 = t.clone();
            t.r = (0..N)
                .map(|k| if t0.x[k].abs() < 1.0 { (t0.a * t0.x[k]).0 } else { t0.x[k].0 * t0.a.1 })
                .collect();
        }),
        ("y[i] = x[i] if abs(sum(k, m[i, k])) > 1.0", &|t| {
            let t0 = t.clone();
            let sum = |i: usize| t0.m[i].iter().fold(real(0.0), |a, b| a + *b);
            all(&mut t.y, |i, y| if sum(i).abs() > 1.0 { t0.x[i] } else { y });
        }),
    ]);
}

#[test]
fn operations_are_those_of_the_table() {
    compute(&[
        ("y[i] = s - x[i]*w[i]/2 + i*1j", &|t| {
            let t0 = t.clone();
            all(&mut t.y, |k, _| real(t0.s) - t0.x[k] * real(t0.w[k] / 2.0) + C(0.0, k as f64));
        }),
        // Integers would wrap here.
        ("y[i] = (100000*(i + 1) + 2j)*(100000*(i + 1) + 2j)", &|t| {
            all(&mut t.y, |k, _| {
                let z = C(1e5 * (k + 1) as f64, 2.0);
                z * z
            });
        }),
        ("y[i] = complex(100000*(i + 1), 0)**2", &|t| {
            all(&mut t.y, |k, _| real(1e10 * ((k + 1) * (k + 1)) as f64));
        }),
        ("y[i] = i + 1j", &|t| all(&mut t.y, |k, _| C(k as f64, 1.0))),
        ("y[i] = 1/x[i] + 2j/x[i] - x[i]/2j + x[i]/(1 + 1j)", &|t| {
            let x = t.x.clone();
            all(&mut t.y, |k, _| {
                real(1.0) / x[k] + C(0.0, 2.0) / x[k] - x[k] / C(0.0, 2.0) + x[k] / C(1.0, 1.0)
            });
        }),
        ("y[i] = x[i]**5 - x[i]**-2 + x[i]**1 + x[i]**0", &|t| {
            let x = t.x.clone();
            all(&mut t.y, |k, _| {
                let z = x[k];
                z * z * z * z * z - real(1.0) / (z * z) + z + real(1.0)
            });
        }),
        ("y[i] = exp(x[i]*a) + exp(3.0j*w[i]) + exp(complex(w[i], 0))", &|t| {
            let t0 = t.clone();
            all(&mut t.y, |k, _| (t0.x[k] * t0.a).exp() + C(0.0, 3.0 * t0.w[k]).exp() + real(t0.w[k].exp()));
        }),
        ("r[i] = abs(x[i]*conj(a)) + abs(2j) + re(s) + im(w[i])", &|t| {
            let t0 = t.clone();
            t.r = (0..N).map(|k| (t0.x[k] * t0.a.conj()).abs() + 2.0 + t0.s).collect();
        }),
        ("y[i] += x[i]*a\ny[p[i]] += 1j\ny[i] += w[i]", &|t| {
            let t0 = t.clone();
            all(&mut t.y, |k, y| y + t0.x[k] * t0.a + J + real(t0.w[k]));
        }),
        ("<complex64> z = x[i]\ny[i] = cast(complex128, z) - z", &|t| all(&mut t.y, |_, _| real(0.0))),
        (
            "temp h: complex128[4]\ndomain { [q] : 0 <= q < 4 }\nfor i { h[q] = x[i]*q\ny[i] = h[3] - h[1] }",
            &|t| {
                let x = t.x.clone();
                all(&mut t.y, |k, _| x[k] * real(2.0));
            },
        ),
        ("rule cube(u) = u*u*u\nrule turned(j) = x[j]*1j\ny[i] = cube(turned(i)) + cube(w[i])", &|t| {
            let t0 = t.clone();
            all(&mut t.y, |k, _| {
                let z = t0.x[k] * J;
                z * z * z + real(t0.w[k].powi(3))
            });
        }),
    ]);
}

#[test]
fn reductions_are_of_pairs() {
    let dot = |a: &[C], b: &[C]| a.iter().zip(b).fold(real(0.0), |sum, (a, b)| sum + *a * *b);
    compute(&[
        ("y[i] = sum(k, m[i, k]*x[k])", &|t| {
            let t0 = t.clone();
            all(&mut t.y, |i, _| dot(&t0.m[i], &t0.x));
        }),
        // It reads what it writes: what was there before, for the first element.
        ("y[0] = sum(k, m[0, k]*y[k])", &|t| t.y[0] = dot(&t.m[0], &t.y)),
        ("y[i] = a*sum(k, x[k]*conj(x[k])) + y[i]/sum(k, m[i, k])", &|t| {
            let t0 = t.clone();
            let conj: Vec<C> = t0.x.iter().map(|x| x.conj()).collect();
            let ones = vec![real(1.0); N];
            all(&mut t.y, |i, y| t0.a * dot(&t0.x, &conj) + y / dot(&t0.m[i], &ones));
        }),
        ("y[i] = product(k, m[i, k])", &|t| {
            let t0 = t.clone();
            all(&mut t.y, |i, _| t0.m[i].iter().fold(real(1.0), |p, z| p * *z));
        }),
        ("r[i] = sum(k, abs(m[i, k]*x[k]))", &|t| {
            t.r = (0..N).map(|i| (0..N).map(|k| (t.m[i][k] * t.x[k]).abs()).sum()).collect();
        }),
        ("r[0] = sum(i, abs(sum(k, m[i, k]*x[k])))", &|t| {
            t.r[0] = (0..N).map(|i| dot(&t.m[i], &t.x).abs()).sum();
        }),
        ("y[0] = sum(i, x[i]*sum(k, m[i, k]*x[k]))", &|t| {
            t.y[0] = (0..N).fold(real(0.0), |sum, i| sum + t.x[i] * dot(&t.m[i], &t.x));
        }),
        ("y[0] = sum([i, k], m[i, k])*1j + sum(k, 2j*w[k])", &|t| {
            let ones = vec![real(1.0); N];
            let sum = (0..N).fold(real(0.0), |sum, i| sum + dot(&t.m[i], &ones));
            t.y[0] = sum * J + C(0.0, 2.0 * t.w.iter().sum::<f64>());
        }),
        // A running total.
        ("domain { [l] : 0 <= l <= i }\ny[i] = sum(l, x[l]*x[l])", &|t| {
            let t0 = t.clone();
            all(&mut t.y, |i, _| dot(&t0.x[..=i], &t0.x[..=i]));
        }),
        ("<> v, at = argmax(k, abs(x[k]), k)\ny[i] = x[at]*x[at]", &|t| {
            let most = (0..N).max_by(|a, b| t.x[*a].abs().total_cmp(&t.x[*b].abs())).unwrap();
            let z = t.x[most];
            all(&mut t.y, |_, _| z * z);
        }),
        // A discrete Fourier transform.
        ("y[i] = sum(k, x[k]*exp(-6.283185307179586j*((i*k) % n)/n))", &|t| {
            let x = t.x.clone();
            all(&mut t.y, |i, _| {
                (0..N).fold(real(0.0), |sum, k| {
                    sum + x[k] * C(0.0, -std::f64::consts::TAU * ((i * k) % N) as f64 / N as f64).exp()
                })
            });
        }),
        ("y[i] = if(s < 0.0, sum(k, m[i, k]), 0.0)*a", &|t| {
            let t0 = t.clone();
            let ones = vec![real(1.0); N];
            all(&mut t.y, |i, _| dot(&t0.m[i], &ones) * t0.a);
        }),
    ]);
}

#[test]
fn called_kernels_take_pairs() {
    compute(&[
        // What is read and what is written are the same elements, by two names.
        (
            "kernel square(v: complex128[l], out u: complex128, l: i32) {\n assume 1 <= l\n u = v[0]*v[0]\n}\ny[i] = \
             square(y[i:i + 1])",
            &|t| all(&mut t.y, |_, y| y * y),
        ),
        (
            "kernel turn(v: complex128[l], z: complex128[l], l: i32) {\n domain { [j] : 0 <= j < l }\n v[j] = \
             complex(im(z[j]), re(z[j]))\n}\ncall turn(y, y)",
            &|t| all(&mut t.y, |_, y| C(y.1, y.0)),
        ),
        (
            "kernel total(row: complex128[l], out result: complex128, by: complex128, l: i32) {\n domain { [j] : 0 <= \
             j < l }\n result = by*sum(j, row[j])\n}\ny[i] = total(m[i, :], a*a)\n<> t = total(m[:, i], 1j)\ny[i] = \
             y[i] + t",
            &|t| {
                let t0 = t.clone();
                all(&mut t.y, |i, _| {
                    let row = (0..N).fold(real(0.0), |sum, k| sum + t0.m[i][k]);
                    let column = (0..N).fold(real(0.0), |sum, k| sum + t0.m[k][i]);
                    t0.a * t0.a * row + J * column
                });
            },
        ),
        (
            "kernel scale(v: complex128[l], by: f64, l: i32) {\n domain { [j] : 0 <= j < l }\n v[j] = by*v[j]*v[j]\n}\n\
             kernel part(z: complex128, out u: f64) {\n u = re(z)\n}\ncall scale(y, abs(a))\nr[i] = part(y[i] + \
             sum(k, x[k]))\ny[i].re = part(1j*y[i])",
            &|t| {
                let t0 = t.clone();
                let sum = t0.x.iter().fold(real(0.0), |a, b| a + *b);
                all(&mut t.y, |_, y| real(t0.a.abs()) * y * y);
                t.r = t.y.iter().map(|y| (*y + sum).0).collect();
                all(&mut t.y, |_, y| C(-y.1, y.1));
            },
        ),
    ]);
}

/// Steps, proofs and programs see an ordinary kernel: blocks, threads that share a sum of pairs,
/// tiles.
#[test]
fn pipelines_take_pairs_as_they_take_arrays() {
    let product = "kernel product(m: complex64[n, l], x: complex64[l], y: complex64[n], n: i32, l: i32)\n\
                   assume 0 <= n and 0 <= l\n\
                   domain { [i] : 0 <= i < n }\ndomain { [k] : 0 <= k < l }\n\
                   y[i] = sum(k, m[i, k]*x[k]) {id=out}";
    let fourier = "kernel fourier(x: complex128[n, l], y: complex128[n, l], n: i32, l: i32)\n\
                   assume 0 <= n and 1 <= l\n\
                   domain { [i] : 0 <= i < n }\ndomain { [j] : 0 <= j < l }\n\
                   domain { [k] : 0 <= k < l }\n\
                   y[i, j] = sum(k, x[i, k]*exp(-6.283185307179586j*((j*k) % l)/l)) {id=out}";
    for (text, steps) in [
        (product, "split_iname(k, 32); tag_inames(i: block.x, k_inner: thread.x)"),
        (
            product,
            "split_iname(i, 16); tag_inames(i_outer: block.x, i_inner: thread.x); split_iname(k, 8); \
                   add_prefetch(x, [k_inner]); add_prefetch(m, [i_inner, k_inner])",
        ),
        (product, "split_iname(k, 4); tag_inames(i: block.x, k_inner: unroll)"),
        (
            fourier,
            "split_iname(j, 8); tag_inames(i: block.y, j_outer: block.x, j_inner: thread.x); \
                   split_iname(k, 8); add_prefetch(x, [k_inner])",
        ),
    ] {
        let declared = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{}", d.render()));
        let steps = Pipeline::parse(steps).unwrap();
        let kernel = steps.apply(&declared).unwrap_or_else(|d| panic!("{d}"));
        for (n, l) in [(3i32, 45i32), (17, 8), (2, 1)] {
            let (rows, row) = (n as usize, l as usize);
            let pairs = |shape: &[usize], seed| {
                let dtype = if text == product { DType::F32 } else { DType::F64 };
                Tensor::random(&[shape, &[2]].concat(), dtype, seed).unwrap()
            };
            let mut args = Args::new();
            if text == product {
                args = args.tensor("m", &pairs(&[rows, row], 1)).tensor("x", &pairs(&[row], 2));
            } else {
                args = args.tensor("x", &pairs(&[rows, row], 1));
            }
            let run = |kernel: &LoopKernel| {
                let compiled = Device::emulator().compile(kernel).unwrap_or_else(|d| panic!("{d}"));
                let outputs = compiled.run(&args).unwrap_or_else(|d| panic!("{d}"));
                outputs.get("y").unwrap().buffer().clone()
            };
            let (found, expected) = (run(&kernel), run(&declared));
            let tolerance = if text == product { 1e-4 } else { 1e-12 };
            for k in 0..found.len() {
                let (f, e) = (found.get(k).unwrap().as_f64(), expected.get(k).unwrap().as_f64());
                assert!((f - e).abs() <= tolerance * (1.0 + e.abs()), "{k}: {f}, not {e}\n{text}");
            }
        }
    }
}

/// A real operand has no imaginary part: an infinity does not become NaN. Nor has a literal a part
/// that it is not written with.
#[test]
fn parts_that_are_not_there_make_no_nan() {
    let text = "kernel k(y: complex64[4], s: f32)\ny[0] = s*(1 + 1j)\ny[1] = 1j*complex(s, s)\ny[2] = s + 1j\n\
                y[3] = complex(s, 0)/complex(1.0, 1.0)";
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{}", d.render()));
    let mut inputs = Inputs::default();
    inputs.arrays.insert("y".into(), Buffer::from_slice(&[0f32; 8]));
    inputs.scalars.insert("s".into(), f32::INFINITY.into());
    let found = interpret(&kernel, &inputs, Mode::Exact).unwrap();
    let inf = f32::INFINITY;
    let y = found[&Name::new("y")].to_vec::<f32>().unwrap();
    assert_eq!(y, [inf, inf, -inf, inf, inf, 1.0, inf, -inf]);
}
