//! Random statements: every operator and function over operands of every type that meet according
//! to the page.

mod reductions;
mod statements;
mod subscripts;

use loopwright_kernel_ir::{Access, BinaryOp, DType, Expr, Float, Name, UnaryOp};

use super::{
    evaluate::{settled, temporary, typing},
    kernel::{Kernel, Loop, Statement, Target},
    operators::{Operator, operators},
    power::{may_be_raised, raised},
    types::{Own, Scope, Stop, meet},
};
use crate::rng::Rng;

pub(super) const INTEGERS: [DType; 8] =
    [DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];

/// Functions whose values are exact or correctly rounded.
pub(super) const EXACT: [&str; 14] = [
    "floor",
    "ceil",
    "round",
    "rint",
    "nearbyint",
    "trunc",
    "sqrt",
    "fmod",
    "remainder",
    "logb",
    "fdim",
    "nextafter",
    "fma",
    "copysign",
];

/// The kind of expression to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Float,
    Bool,
}

/// A generator of one kernel.
struct Generator {
    rng: Rng,
    scope: Scope,
    kernel: Kernel,
    /// Floating-point types of the kernel.
    floats: Vec<DType>,
    /// Inames and their offsets: the value minus the offset lies in 0..40.
    inames: Vec<(Name, Expr)>,
    operators: Vec<Operator>,
    /// Whether a reduction may be generated.
    reduces: bool,
    /// Whether subscripts have operations of every kind, of data and of scalars too. Their numbers
    /// are large, so that few programs of such a kernel have 32-bit indices.
    computes_subscripts: bool,
    /// Whether elements of arrays and scalars that are no sizes bound reductions. A replay for
    /// unknown values of these does not know what runs, so that only some kernels have them.
    bounds_by_data: bool,
}

/// The kernel of this seed, and statements that the page refuses, each to be tested alone in it.
pub fn kernel(seed: u64, statements: usize) -> (Kernel, Vec<Statement>) {
    let mut rng = Rng::new(seed);
    use DType::*;
    let floats = match rng.below(8) {
        0..=2 => vec![F32, F16, BF16, E4M3, E5M2],
        3..=5 => vec![F64],
        6 => vec![F32, F64, F16, BF16, E4M3, E5M2],
        _ => vec![],
    };
    let float = match floats.len() {
        5 => Some(F32),
        1 => Some(F64),
        _ => None,
    };
    let types: Vec<DType> = [Bool].into_iter().chain(INTEGERS).chain(floats.iter().copied()).collect();
    let named =
        |prefix: &str| types.iter().map(|t| (Name::new(format!("{prefix}_{t}")), *t)).collect::<Vec<_>>();
    let mut scalars = named("s");
    scalars.extend([(Name::new("n"), I32), (Name::new("m"), I64)]);
    let mut arrays = named("x");
    arrays.extend([(Name::new("idx"), I32), (Name::new("jdx"), I64)]);
    let operators = operators(&mut rng, 4);
    let (lower, upper) = match rng.below(9) {
        0 | 1 => (0, Expr::name("n")),
        2 => (0, Expr::name("m")),
        3 => (2_147_483_607, Expr::Int(2_147_483_647)),
        4 => (5_000_000_000, Expr::Int(5_000_000_040)),
        5 => (100_000, Expr::binary(BinaryOp::Add, Expr::name("n"), Expr::Int(100_000))),
        6 => {
            let lower = rng.below(2000) as i64 - 1000;
            (lower, Expr::Int(lower + 40))
        }
        _ => (0, Expr::Int(40)),
    };
    let around = Loop { name: Name::new("i"), lower: Expr::Int(lower), upper, outer: vec![] };
    let kernel = Kernel {
        scalars,
        arrays,
        around,
        loops: vec![],
        operators: operators.iter().map(|o| (o.op.clone(), o.source.clone())).collect(),
        statements: vec![],
        float,
    };
    let scope = typing(&kernel);
    let inames = vec![(Name::new("i"), Expr::Int(lower))];
    let computes_subscripts = Rng::new(seed ^ 0x5bd1_e995).chance(35);
    let bounds_by_data = Rng::new(seed ^ 0x1b87_3593).chance(25);
    let mut g = Generator {
        rng,
        scope,
        kernel,
        floats,
        inames,
        operators,
        reduces: true,
        computes_subscripts,
        bounds_by_data,
    };
    let mut refused = Vec::new();
    let mut tries = 0;
    while g.kernel.statements.len() < statements && tries < 40 * statements {
        tries += 1;
        let before = g.kernel.loops.len();
        match g.statement() {
            (s, Ok(())) => g.add(s),
            (s, Err(Stop::Refused(_))) if refused.len() < 6 => refused.push(s),
            _ => {
                for l in g.kernel.loops.drain(before..) {
                    g.scope.names.remove(&l.name);
                }
            }
        }
    }
    (g.kernel, refused)
}

impl Generator {
    fn add(&mut self, s: Statement) {
        if let Target::Temporary(name, t) = &s.target {
            let t = t.map_or_else(|| temporary(&self.scope, &s.value), Ok);
            if let Ok(t) = t {
                self.scope.names.insert(name.clone(), Own::Of(t));
            }
        }
        self.kernel.statements.push(s);
    }

    fn expr(&mut self, kind: Kind, depth: usize) -> Expr {
        if depth == 0 || self.rng.chance(8) {
            return self.leaf(kind);
        }
        if self.rng.chance(8) {
            let c = self.expr(Kind::Bool, depth - 1);
            let (a, b) = (self.expr(kind, depth - 1), self.expr(kind, depth - 1));
            let (a, b) = self.joined(a, b);
            return Expr::If(c.into(), a.into(), b.into());
        }
        if self.rng.chance(10) {
            return self.cast(kind, depth);
        }
        if self.reduces && self.rng.chance(6) {
            return self.reduction(kind);
        }
        match kind {
            Kind::Int => self.integer(depth),
            Kind::Float => self.float(depth),
            Kind::Bool => self.truth(depth),
        }
    }

    /// A random number, an integer or a floating-point one.
    fn mixed(&mut self, depth: usize) -> Expr {
        let kind = if self.floats.is_empty() || self.rng.chance(20) { Kind::Int } else { Kind::Float };
        self.expr(kind, depth)
    }

    /// The operands, with the second one cast if they do not meet; one time in fifty they are left
    /// unchanged.
    fn joined(&mut self, a: Expr, b: Expr) -> (Expr, Expr) {
        let owns = (self.scope.own(&a), self.scope.own(&b));
        match owns {
            (Ok(x), Ok(y)) if meet(x, y).is_err() && !self.rng.chance(2) => {
                let t = match x {
                    Own::Of(t) => t,
                    Own::Int => DType::I32,
                    _ => return (a, b),
                };
                (a, Expr::Cast(t.into(), b.into()))
            }
            _ => (a, b),
        }
    }

    fn cast(&mut self, kind: Kind, depth: usize) -> Expr {
        let to = match kind {
            Kind::Int => self.rng.pick(&INTEGERS),
            Kind::Bool => DType::Bool,
            Kind::Float if self.floats.is_empty() => DType::F32,
            Kind::Float => {
                let floats = self.floats.clone();
                self.rng.pick(&floats)
            }
        };
        let from = match self.rng.below(5) {
            0 if kind == Kind::Int => Kind::Bool,
            1 | 2 if !self.floats.is_empty() => Kind::Float,
            _ => Kind::Int,
        };
        Expr::Cast(to.into(), self.expr(from, depth - 1).into())
    }

    fn integer(&mut self, depth: usize) -> Expr {
        use BinaryOp::*;
        let a = self.expr(Kind::Int, depth - 1);
        match self.rng.below(16) {
            0 => Expr::Unary(UnaryOp::Neg, a.into()),
            1 => Expr::Unary(UnaryOp::BitNot, a.into()),
            2 => call("abs", vec![a]),
            3 | 4 => {
                let b = self.expr(Kind::Int, depth - 1);
                let (a, b) = self.joined(a, b);
                call(self.rng.pick(&["min", "max"]), vec![a, b])
            }
            5 | 6 => {
                let b = match self.rng.below(3) {
                    0 => Expr::Int(self.rng.pick(&[0, 1, 7, 8, 15, 31, 32, 33, 63, 64, 200])),
                    1 => Expr::Unary(UnaryOp::Neg, Expr::Int(1).into()),
                    _ => self.expr(Kind::Int, depth - 1),
                };
                Expr::binary(self.rng.pick(&[Shl, Shr]), a, b)
            }
            7..=9 => {
                let b = match self.rng.below(4) {
                    0 => Expr::Int(self.rng.pick(&[1, 2, 3, 7, 16, 100, 1000, 65536, 2_147_483_647])),
                    1 => Expr::Unary(UnaryOp::Neg, Expr::Int(self.rng.pick(&[1, 3, 16])).into()),
                    2 if self.rng.chance(80) => {
                        let b = self.expr(Kind::Int, depth - 1);
                        Expr::binary(BitOr, b, Expr::Int(1))
                    }
                    _ => self.expr(Kind::Int, depth - 1),
                };
                let (a, mut b) = self.joined(a, b);
                if !matches!(b, Expr::Int(_)) && self.rng.chance(90) {
                    let zero = Expr::binary(Eq, b.clone(), Expr::Int(0));
                    b = Expr::If(zero.into(), Expr::Int(3).into(), b.into());
                }
                Expr::binary(self.rng.pick(&[FloorDiv, Mod]), a, b)
            }
            10 if may_be_raised(&a) => raised(&a, self.rng.pick(&[2, 2, 3, 4, 5, 8, 11])),
            _ => {
                let b = self.expr(Kind::Int, depth - 1);
                let (a, b) = self.joined(a, b);
                Expr::binary(self.rng.pick(&[Add, Sub, Mul, Mul, BitAnd, BitOr, BitXor]), a, b)
            }
        }
    }

    fn float(&mut self, depth: usize) -> Expr {
        use BinaryOp::*;
        let a = self.mixed(depth - 1);
        match self.rng.below(12) {
            0 => Expr::Unary(UnaryOp::Neg, a.into()),
            1 => call("abs", vec![a]),
            2 => {
                let b = self.mixed(depth - 1);
                call(self.rng.pick(&["min", "max"]), vec![a, b])
            }
            3 | 4 => {
                let of = ["floor", "ceil", "round", "trunc", "sqrt", "nearbyint", "logb"];
                call(self.rng.pick(&of), vec![a])
            }
            5 => match self.rng.below(3) {
                0 => {
                    let (b, c) = (self.mixed(depth - 1), self.mixed(depth - 1));
                    call("fma", vec![a, b, c])
                }
                1 => call(self.rng.pick(&["fmod", "remainder"]), vec![a, self.mixed(depth - 1)]),
                _ => call("copysign", vec![a, self.mixed(depth - 1)]),
            },
            6 if may_be_raised(&a) => {
                let power = raised(&a, self.rng.pick(&[2, 2, 3, 4, 7]));
                if self.rng.chance(30) { Expr::binary(Div, Expr::Int(1), power) } else { power }
            }
            _ => {
                let b = self.mixed(depth - 1);
                Expr::binary(self.rng.pick(&[Add, Sub, Mul, Add, Sub, Mul, Div, Div, FloorDiv]), a, b)
            }
        }
    }

    fn truth(&mut self, depth: usize) -> Expr {
        use BinaryOp::*;
        match self.rng.below(8) {
            0 => Expr::Unary(UnaryOp::Not, self.expr(Kind::Bool, depth - 1).into()),
            1 | 2 => {
                let (a, b) = (self.expr(Kind::Bool, depth - 1), self.expr(Kind::Bool, depth - 1));
                Expr::binary(self.rng.pick(&[And, Or, And, Or, Eq, Ne]), a, b)
            }
            3 if !self.floats.is_empty() => {
                call(self.rng.pick(&["isnan", "isinf", "isfinite"]), vec![self.expr(Kind::Float, depth - 1)])
            }
            _ => {
                let (a, b) = (self.mixed(depth - 1), self.mixed(depth - 1));
                let (a, b) = self.joined(a, b);
                Expr::binary(self.rng.pick(&[Lt, Le, Gt, Ge, Eq, Ne]), a, b)
            }
        }
    }

    fn leaf(&mut self, kind: Kind) -> Expr {
        let fits = |own: &Own| match (own, kind) {
            (Own::Of(DType::Bool), _) => kind == Kind::Bool,
            (Own::Of(t), Kind::Float) => t.is_float(),
            (Own::Of(t), Kind::Int) => t.is_integer(),
            _ => false,
        };
        match (self.rng.below(10), kind) {
            (0 | 1, Kind::Int) => Expr::Int(match self.rng.below(3) {
                0 => self.rng.below(12) as i64,
                1 => {
                    self.rng.pick(&[100, 127, 128, 255, 300, 32767, 65535, 65536, 16_777_217, 1_103_515_245])
                }
                _ => self.rng.pick(&[
                    2_147_483_647,
                    2_147_483_648,
                    4_294_967_295,
                    4_294_967_296,
                    i64::MAX,
                    1 << 40,
                ]),
            }),
            (0 | 1, Kind::Float) => match self.rng.below(12) {
                0 => Expr::Float(Float(f64::INFINITY)),
                1 => Expr::Float(Float(f64::NAN)),
                _ => Expr::Float(Float(self.rng.pick(&[
                    0.1,
                    0.5,
                    0.0,
                    1.0,
                    1.5,
                    2.5,
                    3.25,
                    1e10,
                    1e-3,
                    16_777_217.0,
                    4e9,
                    1e-42,
                    1e38,
                    70000.0,
                ]))),
            },
            (0, Kind::Bool) => Expr::Bool(self.rng.chance(50)),
            (2, Kind::Int | Kind::Float) if self.rng.chance(25) => {
                call(self.rng.pick(&["lowest", "highest"]), vec![])
            }
            (2..=4, _) => {
                let of: Vec<Name> =
                    self.scope.names.iter().filter(|(_, own)| fits(own)).map(|(n, _)| n.clone()).collect();
                let loops = |n: &Name| self.kernel.loops.iter().any(|l| l.name == *n);
                let here = |n: &Name| self.inames.iter().any(|(i, _)| i == n);
                let of: Vec<Name> = of.into_iter().filter(|n| here(n) || !loops(n)).collect();
                if of.is_empty() { self.element(kind) } else { Expr::Name(self.rng.pick(&of)) }
            }
            _ => self.element(kind),
        }
    }

    fn element(&mut self, kind: Kind) -> Expr {
        let t = match kind {
            Kind::Bool => DType::Bool,
            Kind::Float if !self.floats.is_empty() => {
                let floats = self.floats.clone();
                self.rng.pick(&floats)
            }
            _ => self.rng.pick(&INTEGERS),
        };
        let index = self.subscript();
        Expr::Subscript(Access { array: Name::new(format!("x_{t}")), index: vec![index] })
    }
}

/// The distance of an iname from its least value.
fn from(iname: &Expr, lower: &Expr) -> Expr {
    match lower {
        Expr::Int(0) => iname.clone(),
        Expr::Int(v) if *v < 0 => Expr::binary(BinaryOp::Add, iname.clone(), Expr::Int(-v)),
        lower => Expr::binary(BinaryOp::Sub, iname.clone(), lower.clone()),
    }
}

/// Whether the page accepts a kernel.
pub fn judge(kernel: &Kernel) -> Result<(), Stop> {
    let mut scope = typing(kernel);
    for s in &kernel.statements {
        settled(&scope, &kernel.loops, s)?;
        if let Target::Temporary(name, t) = &s.target {
            let t = t.map_or_else(|| temporary(&scope, &s.value), Ok)?;
            scope.names.insert(name.clone(), Own::Of(t));
        }
    }
    Ok(())
}

fn call(function: &str, mut args: Vec<Expr>) -> Expr {
    // `min(i, e)` is a reduction over an iname.
    if let ("min" | "max", [first @ Expr::Name(_), _]) = (function, &mut args[..]) {
        *first = Expr::binary(BinaryOp::Add, first.clone(), Expr::Int(0));
    }
    Expr::Call { function: Name::new(function), precision: None, args }
}
