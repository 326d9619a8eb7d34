//! Complex numbers: random expressions of them as pairs of real expressions, by the table of the
//! page, against the library's reading of their text.

mod expression;

use std::{collections::BTreeMap, sync::Arc};

use loopwright_kernel_ir::{Access, BinaryOp, Buffer, DType, Expr, Float, LoopKernel, Name, UpdateOp};

use expression::{Complex, OfComplex, bin, neg, word};

use super::{
    arithmetic::updated,
    compare::{Count, Texts, forms, same},
    data::{Arguments, number},
    evaluate::{Machine, assigns},
    kernel::{LENGTH, POSITIONS},
    number::Value,
    types::{Own, Scope, Stop},
};
use crate::rng::Rng;

#[derive(Clone, Debug)]
enum Assigned {
    Complex(Complex),
    Real(OfComplex),
}

#[derive(Clone, Debug)]
struct Line {
    name: Name,
    /// The type of the target, of its parts if it is complex.
    dtype: DType,
    temporary: bool,
    updates: bool,
    value: Assigned,
    /// Units in the last place by which values may differ.
    apart: i128,
}

type Typed = Vec<(&'static str, DType)>;

/// The complex arguments, each with the type of its parts, and the real ones.
fn arrays(double: bool) -> (Typed, Typed) {
    use DType::*;
    match double {
        false => (vec![("xs", F32)], vec![("rs", F32), ("ks", I32), ("hs", F16)]),
        true => (vec![("xs", F32), ("xd", F64)], vec![("rs", F32), ("rd", F64), ("ks", I32)]),
    }
}

struct Generator {
    rng: Rng,
    double: bool,
    /// The names of the complex scalars.
    scalars: Vec<Name>,
    scope: Scope,
}

impl Generator {
    fn at(&mut self) -> Expr {
        let i = Expr::name("i");
        match self.rng.below(4) {
            0 => bin(BinaryOp::Mod, bin(BinaryOp::Mul, i, Expr::Int(7)), Expr::Int(LENGTH)),
            1 => bin(BinaryOp::Sub, Expr::Int(LENGTH - 1), i),
            _ => i,
        }
    }

    fn real(&mut self) -> Expr {
        let (_, reals) = arrays(self.double);
        if self.rng.chance(10) {
            return neg(self.real());
        }
        match self.rng.below(7) {
            0 => Expr::Float(Float(self.rng.pick(&[0.1, 0.5, 2.0, 0.0, 3.25, 1e10]))),
            1 => Expr::Int(self.rng.below(5) as i64),
            2 => Expr::name("i"),
            _ => {
                let (array, _) = self.rng.pick(&reals);
                let index = vec![self.at()];
                Expr::Subscript(Access { array: Name::new(array), index })
            }
        }
    }

    /// A number that is complex; not one that is a real number as written.
    fn complex(&mut self, depth: usize) -> Complex {
        if depth == 0 || self.rng.chance(10) {
            let (complex, _) = arrays(self.double);
            return match self.rng.below(8) {
                0 => Complex::Imaginary(self.rng.pick(&[1.0, 2.0, 0.5, 0.1])),
                1 => Complex::Parts(self.real(), self.real()),
                2 | 3 if !self.scalars.is_empty() => {
                    let all = self.scalars.clone();
                    Complex::Scalar(self.rng.pick(&all))
                }
                _ => Complex::Element(self.rng.pick(&complex).0, self.at()),
            };
        }
        let z = self.complex(depth - 1);
        let boxed = |z: Complex| Box::new(z);
        match self.rng.below(16) {
            0 => Complex::Neg(boxed(z)),
            1 => Complex::Conj(boxed(z)),
            2 => Complex::Power(boxed(z), 2 + self.rng.below(3) as u32, self.rng.chance(30)),
            3 => {
                let c = bin(BinaryOp::Lt, Expr::name("i"), Expr::Int(17));
                Complex::If(c.into(), boxed(z), boxed(self.complex(depth - 1)))
            }
            4 => {
                let t = if self.double && self.rng.chance(50) { DType::F64 } else { DType::F32 };
                Complex::Cast(t, boxed(z))
            }
            k => {
                let op = self.rng.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div]);
                let w = if k < 9 { Complex::Real(self.real()) } else { self.complex(depth - 1) };
                match self.rng.chance(50) {
                    true => Complex::Binary(op, boxed(w), boxed(z)),
                    false => Complex::Binary(op, boxed(z), boxed(w)),
                }
            }
        }
    }

    fn line(&mut self, k: usize) -> Line {
        let depth = 1 + self.rng.below(3);
        let z = self.complex(depth);
        let mut t = if self.double && self.rng.chance(60) { DType::F64 } else { DType::F32 };
        let kind = self.rng.below(12);
        // What is not exact stays in its type, whose last place is known.
        let exact = kind != 2 && kind != 5;
        if let (false, Some(Ok(Own::Of(own)))) = (exact, z.pair().1.map(|e| self.scope.own(&e))) {
            t = if own == DType::F64 { DType::F64 } else { DType::F32 };
        }
        let name = |prefix: &str| Name::new(format!("{prefix}_{k}"));
        let real = |value, dtype, apart| Line {
            name: name("real"),
            dtype,
            temporary: false,
            updates: false,
            value: Assigned::Real(value),
            apart,
        };
        let complex = |value, prefix, apart| Line {
            name: name(prefix),
            dtype: t,
            temporary: prefix == "t",
            updates: prefix == "sum",
            value: Assigned::Complex(value),
            apart,
        };
        match kind {
            0 => real(OfComplex::Re(z), t, 0),
            1 => real(OfComplex::Im(z), t, 0),
            2 => real(OfComplex::Abs(z), t, 2),
            3 => real(OfComplex::IsNan(z), DType::Bool, 0),
            4 => real(OfComplex::Equal(self.rng.chance(50), z, self.complex(1)), DType::Bool, 0),
            // Two functions and a product.
            5 => complex(Complex::Exp(z.into()), "out", 6),
            6 => complex(z, "t", 0),
            7 => complex(z, "sum", 0),
            _ => complex(z, "out", 0),
        }
    }
}

fn text(lines: &[Line], double: bool) -> String {
    let (complex, reals) = arrays(double);
    let mut args = Vec::new();
    args.extend(complex.iter().map(|(name, t)| format!("{name}: {}[{LENGTH}]", word(*t))));
    args.extend(reals.iter().map(|(name, t)| format!("{name}: {t}[{LENGTH}]")));
    args.extend(complex.iter().map(|(name, t)| format!("a_{name}: {}", word(*t))));
    let mut body = String::new();
    for line in lines {
        let Line { name, dtype, .. } = line;
        let (value, of) = match &line.value {
            Assigned::Complex(z) => (z.to_string(), word(*dtype).to_string()),
            Assigned::Real(v) => (v.to_string(), dtype.to_string()),
        };
        if line.temporary {
            body += &format!("<{of}> {name} = {value} {{inames=i}}\n");
        } else {
            args.push(format!("{name}: {of}[{POSITIONS}]"));
            body += &format!("{name}[i] {} {value}\n", if line.updates { "+=" } else { "=" });
        }
    }
    format!("kernel complex_values({})\n{{ [i] : 0 <= i < {POSITIONS} }}\n{body}", args.join(", "))
}

fn scope(double: bool) -> Scope {
    let (complex, reals) = arrays(double);
    let mut scope = Scope {
        arrays: Arc::new(complex.iter().chain(&reals).map(|(n, t)| (Name::new(*n), *t)).collect()),
        float: (!double).then_some(DType::F32),
        ..Scope::default()
    };
    for (name, t) in complex {
        for part in ["re", "im"] {
            scope.names.insert(Name::new(format!("a_{name}_{part}")), Own::Of(t));
        }
    }
    scope
}

fn arguments(lines: &[Line], double: bool, seed: u64) -> Arguments {
    let mut rng = Rng::new(seed);
    let mut found = Arguments::default();
    let (complex, reals) = arrays(double);
    let sized = complex.iter().map(|a| (a, 2 * LENGTH)).chain(reals.iter().map(|a| (a, LENGTH)));
    for ((name, t), length) in sized {
        let mut buffer = Buffer::zeros(*t, length as usize);
        (0..buffer.len()).for_each(|k| {
            buffer.set(k, number(&mut rng, *t));
        });
        found.arrays.insert(Name::new(*name), buffer);
    }
    for (name, t) in complex {
        for part in ["re", "im"] {
            found.scalars.insert(Name::new(format!("a_{name}_{part}")), number(&mut rng, t));
        }
    }
    for line in lines.iter().filter(|l| !l.temporary) {
        let parts = if matches!(line.value, Assigned::Complex(_)) { 2 } else { 1 };
        let mut buffer = Buffer::zeros(line.dtype, (parts * POSITIONS) as usize);
        (0..buffer.len()).for_each(|k| {
            buffer.set(k, Value::Int(DType::I32, 77).to(line.dtype).number());
        });
        found.arrays.insert(line.name.clone(), buffer);
    }
    found
}

/// What the arrays hold afterwards; the number of the first line that has no value, with the
/// reason.
fn evaluate(
    lines: &[Line],
    double: bool,
    arguments: &Arguments,
) -> Result<BTreeMap<Name, Buffer>, (usize, Stop)> {
    let mut results = arguments.arrays.clone();
    let mut machine = Machine::new(scope(double), &arguments.arrays);
    for (name, v) in &arguments.scalars {
        machine.bind(name, Value::of(*v));
    }
    for position in 0..POSITIONS as usize {
        let mut at = machine.clone();
        at.bind(&Name::new("i"), Value::Int(DType::I32, position as i128));
        for (k, line) in lines.iter().enumerate() {
            let parts = match &line.value {
                Assigned::Complex(z) => {
                    let (a, b) = z.pair();
                    vec![a, b]
                }
                Assigned::Real(v) => vec![Some(v.value())],
            };
            let count = parts.len();
            for (part, e) in parts.into_iter().enumerate() {
                // A part that is not there is no update.
                if e.is_none() && line.updates {
                    continue;
                }
                let e = e.unwrap_or(Expr::Float(Float(0.0)));
                let typed = at.scope.own(&e).and_then(|own| assigns(own, line.dtype));
                let value = typed.and_then(|()| at.value(&e, Some(line.dtype))).map_err(|stop| (k, stop))?;
                if line.temporary {
                    let name = format!("{}_{}", line.name, ["re", "im"][part]);
                    machine.scope.names.insert(Name::new(&name), Own::Of(line.dtype));
                    at.bind(&Name::new(name), value);
                    continue;
                }
                let buffer = results.get_mut(&line.name).expect("the array of a target");
                let place = count * position + part;
                let old = buffer.get(place).map(Value::of);
                let value = match old.filter(|_| line.updates) {
                    Some(old) => updated(UpdateOp::Sum, old, value).map_err(|stop| (k, stop))?,
                    None => value,
                };
                assert!(buffer.set(place, value.number()), "{}[{place}]", line.name);
            }
        }
    }
    Ok(results)
}

/// Checks the kernel of this seed: what was compared, and the disagreements.
pub fn case(seed: u64, lines: usize, texts: Texts) -> (Count, Vec<String>) {
    let mut rng = Rng::new(seed ^ 0x5bd1_e995);
    let double = rng.chance(50);
    let scalars = arrays(double).0.iter().map(|(name, _)| Name::new(format!("a_{name}"))).collect();
    let mut scope = scope(double);
    scope.names.insert(Name::new("i"), Own::Of(DType::I32));
    let mut g = Generator { rng, double, scalars, scope };
    let mut count = Count { kernels: 1, ..Count::default() };
    let mut failures = Vec::new();
    let mut kept: Vec<Line> = Vec::new();
    for k in 0..2 * lines {
        if kept.len() == lines {
            break;
        }
        let line = g.line(k);
        let temporary = line.temporary.then(|| (line.name.clone(), line.dtype));
        kept.push(line);
        let arguments = arguments(&kept, double, seed);
        match evaluate(&kept, double, &arguments) {
            Ok(_) => {
                if let Some((name, t)) = temporary {
                    for part in ["re", "im"] {
                        g.scope.names.insert(Name::new(format!("{name}_{part}")), Own::Of(t));
                    }
                    g.scalars.push(name);
                }
            }
            Err((_, stop)) => {
                let text = text(&kept, double);
                match (stop, LoopKernel::parse(&text)) {
                    (Stop::Refused(_), Err(_)) => count.refused += 1,
                    (Stop::Refused(why), Ok(_)) => failures.push(format!("accepted, but {why}\n{text}")),
                    (Stop::Unsaid(why), _) => count.leave_out(why),
                    (Stop::Error, _) => count.leave_out("an error"),
                }
                kept.pop();
            }
        }
    }
    for round in 0..2 {
        let seed = seed.wrapping_mul(2).wrapping_add(round);
        if let Err(whole) = check(&kept, double, seed, texts, &mut count) {
            // The shortest part of it that fails.
            let mut small = (kept.clone(), whole);
            let mut k = 0;
            while k < small.0.len() {
                let mut less = small.0.clone();
                let gone = less.remove(k);
                let read = less.iter().any(|l| gone.temporary && l.mentions(&gone.name));
                match check(&less, double, seed, texts, &mut Count::default()) {
                    Err(failure) if !read && failure.0 == small.1.0 => small = (less, failure),
                    _ => k += 1,
                }
            }
            let (kind, why) = small.1;
            failures.push(format!("{kind}: {why}\n{}", text(&small.0, double)));
        }
    }
    (count, failures)
}

impl Line {
    fn mentions(&self, name: &Name) -> bool {
        let text = match &self.value {
            Assigned::Complex(z) => z.to_string(),
            Assigned::Real(v) => v.to_string(),
        };
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name.as_str())
    }
}

fn check(
    lines: &[Line],
    double: bool,
    seed: u64,
    texts: Texts,
    count: &mut Count,
) -> Result<(), (&'static str, String)> {
    let arguments = arguments(lines, double, seed);
    let parsed = match LoopKernel::parse(&text(lines, double)) {
        Ok(parsed) => parsed,
        // Parts that conditions keep from being computed ahead have a greatest size.
        Err(d) if d.0.iter().all(|d| d.code == "too-deep") => {
            count.leave_out("too-deep");
            return Ok(());
        }
        Err(d) => return Err(("refused", d.to_string())),
    };
    let want = match evaluate(lines, double, &arguments) {
        Ok(want) => want,
        Err((_, stop)) => {
            count.leave_out(format!("{stop:?}"));
            return Ok(());
        }
    };
    let agrees = |found: &BTreeMap<Name, Buffer>| {
        for line in lines.iter().filter(|l| !l.temporary) {
            let both = (want.get(&line.name), found.get(&line.name));
            let (Some(want), Some(found)) = both else { return Err(format!("no `{}`", line.name)) };
            for (k, (want, found)) in want.numbers().zip(found.numbers()).enumerate() {
                if !same(want, found, line.apart) {
                    return Err(format!("{}[{k}] is {found:?}, not {want:?}", line.name));
                }
            }
        }
        Ok(())
    };
    count.add(forms(&parsed, &arguments, seed, texts, &agrees)?);
    count.expressions += if seed.is_multiple_of(2) { lines.len() } else { 0 };
    count.evaluations += lines.len() * POSITIONS as usize;
    Ok(())
}
