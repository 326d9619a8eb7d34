//! Random statements: every operator and function over operands of every type that meet according
//! to the page.

use std::sync::{Arc, OnceLock};

use loopwright_kernel_ir::{
    Access, BinaryOp, DType, Expr, Float, LoopKernel, MATH_FUNCTIONS, Name, Reduce, ReductionOp, UnaryOp,
    UpdateOp,
};

use super::{
    evaluate::{assigns, settled, temporary, typing},
    kernel::{Kernel, Loop, Statement, Target},
    power::{may_be_raised, raised},
    types::{Own, Scope, Stop, meet},
};
use crate::rng::Rng;

const INTEGERS: [DType; 8] =
    [DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];

/// Functions whose values are exact or correctly rounded.
pub(super) const EXACT: [&str; 8] = ["floor", "ceil", "round", "trunc", "sqrt", "fmod", "fma", "copysign"];

/// User-defined operators, associative over all states.
const OPERATORS: &[&str] = &[
    "reduction exclusive(x) {\n    state v: i64 = 0\n    lift v = x\n    combine v = a.v ^ \
     b.v\n    result v\n    commutes\n\
     }\n",
    "reduction squares(x) {\n    state v: i64 = 0\n    lift v = x*x\n    combine v = a.v + \
     b.v\n    result v\n    commutes\n\
     }\n",
    "reduction horner(p, q) {\n    state s: u32 = 1, t: u32 = 0\n    lift s = p, t = q\n    \
     combine s = a.s*b.s, t = a.t*b.s + b.t\n    result t\n\
     }\n",
    "reduction last(x) {\n    state v: like x = 0, set: bool = false\n    lift v = x, set = \
     true\n    combine v = if(b.set, b.v, a.v), set = a.set or b.set\n    result v\n\
     }\n",
    "reduction large(x) {\n    state v: i16 = 0\n    lift v = if(x > 3, 20000, 1)\n    combine v \
     = a.v + b.v\n    result v*2\n    commutes\n\
     }\n",
    "reduction spread(x) {\n    state low: like x = highest(), high: like x = lowest()\n    lift \
     low = x, high = x\n    combine low = min(a.low, b.low), high = max(a.high, b.high)\n    \
     result high - low\n    commutes\n\
     }\n",
];

/// The user-defined operators with their texts.
fn operators() -> &'static [(ReductionOp, String)] {
    static FOUND: OnceLock<Vec<(ReductionOp, String)>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let read = |source: &&str| {
            let text = format!("kernel k(y: i32[4])\n{source}{{ [i] : 0 <= i < 4 }}\ny[i] = 1\n");
            let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{text}\n{d}"));
            (kernel.reductions[0].clone(), (*source).to_string())
        };
        OPERATORS.iter().map(read).collect()
    })
}

/// The kind of expression to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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
    inames: Vec<(Name, i64)>,
    /// Whether a reduction may be generated.
    reduces: bool,
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
    let (lower, upper) = match rng.below(8) {
        0 | 1 => (0, Expr::name("n")),
        2 => (0, Expr::name("m")),
        3 => (2_147_483_607, Expr::Int(2_147_483_647)),
        4 => (5_000_000_000, Expr::Int(5_000_000_040)),
        5 => (100_000, Expr::binary(BinaryOp::Add, Expr::name("n"), Expr::Int(100_000))),
        _ => (0, Expr::Int(40)),
    };
    let around = Loop { name: Name::new("i"), lower: Expr::Int(lower), upper, outer: vec![] };
    let kernel = Kernel {
        scalars,
        arrays,
        around,
        loops: vec![],
        operators: operators().to_vec(),
        statements: vec![],
        float,
    };
    let scope = typing(&kernel);
    let inames = vec![(Name::new("i"), lower)];
    let mut g = Generator { rng, scope, kernel, floats, inames, reduces: true };
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

    /// A statement, and whether the page accepts it.
    fn statement(&mut self) -> (Statement, Result<(), Stop>) {
        let s = match self.rng.below(12) {
            0 => self.update(),
            1 => self.least(),
            _ => return self.assignment(),
        };
        let judged = settled(&self.scope, &self.kernel.loops, &s);
        (s, judged)
    }

    /// An update. Those of one element may be of any order, so that sums of floating-point values are
    /// of one each.
    fn update(&mut self) -> Statement {
        use DType::*;
        let mut types = vec![I32, U32, I64, U64];
        types.extend(self.floats.iter().copied().filter(|t| matches!(t, F32 | F64)));
        if self.rng.chance(5) {
            types = [vec![Bool], INTEGERS.to_vec(), self.floats.clone()].concat();
        }
        let t = self.rng.pick(&types);
        let signs = if t.is_float() && !self.rng.chance(5) { 3 } else { 5 };
        let op = UpdateOp::SIGNS[self.rng.below(signs)].0.clone();
        let kind = if t.is_float() && self.rng.chance(80) { Kind::Float } else { Kind::Int };
        let mut value = self.expr(kind, 3);
        if self.scope.own(&value).is_ok_and(|own| assigns(own, t).is_err()) && !self.rng.chance(5) {
            value = Expr::Cast(t.into(), value.into());
        }
        // An array that is updated already may be once more.
        let before: Vec<Name> = self
            .kernel
            .statements
            .iter()
            .filter_map(|s| match (&s.target, &s.update) {
                (Target::Array(name, of), Some(_)) if *of == t && t.is_integer() => Some(name.clone()),
                _ => None,
            })
            .collect();
        let name = match before.is_empty() || self.rng.chance(60) {
            true => Name::new(format!("out_{}", self.kernel.statements.len())),
            false => self.rng.pick(&before),
        };
        let place = self.place(op == UpdateOp::Sum && t.is_float());
        let mut s = Statement::new(Target::Array(name, t), value);
        s.update = Some((op, place));
        s.predicate = self.predicate();
        s
    }

    /// The element of an update, each by itself if that is wanted.
    fn place(&mut self, each: bool) -> Expr {
        use BinaryOp::*;
        let (iname, lower) = self.inames[0].clone();
        let i = Expr::Name(iname);
        let place = if lower == 0 { i.clone() } else { Expr::binary(Sub, i.clone(), Expr::Int(lower)) };
        let read =
            |array: &str, at: Expr| Expr::Subscript(Access { array: Name::new(array), index: vec![at] });
        match self.rng.below(6) {
            _ if each => place,
            0 => Expr::binary(Mod, i, Expr::Int(7)),
            1 => Expr::binary(FloorDiv, place, Expr::Int(3)),
            2 => read("idx", place),
            3 => Expr::binary(Add, read("jdx", place), Expr::Int(5)),
            4 => Expr::Int(self.rng.below(40) as i64),
            _ => place,
        }
    }

    /// The least or greatest value and its index.
    fn least(&mut self) -> Statement {
        let kind = if self.floats.is_empty() || self.rng.chance(40) { Kind::Int } else { Kind::Float };
        let name = self.loop_of_a_reduction();
        let value = self.expr(kind, 2);
        let index = match self.rng.below(3) {
            0 => Expr::Name(name.clone()),
            1 => Expr::binary(BinaryOp::Sub, Expr::Int(5), Expr::Name(name.clone())),
            _ => self.expr(Kind::Int, 1),
        };
        self.inames.pop();
        self.reduces = true;
        let op = self.rng.pick(&["argmin", "argmax"]);
        let fitting = |own: Result<Own, Stop>, rng: &mut Rng| {
            let types = [INTEGERS.to_vec(), self.floats.clone()].concat();
            let fitting: Vec<DType> =
                types.into_iter().filter(|t| own.clone().is_ok_and(|own| assigns(own, *t).is_ok())).collect();
            if fitting.is_empty() { DType::I32 } else { rng.pick(&fitting) }
        };
        let mut rng = Rng::new(self.rng.bits());
        let t = fitting(self.scope.own(&value), &mut rng);
        let second = fitting(self.scope.own(&index), &mut rng);
        let count = self.kernel.statements.len();
        let reduce = Reduce { op: Name::new(op), inames: vec![name], args: vec![value, index] };
        let target = Target::Array(Name::new(format!("out_{count}")), t);
        let mut s = Statement::new(target, Expr::Reduce(Arc::new(reduce)));
        s.second = Some((Name::new(format!("place_{count}")), second));
        s
    }

    fn predicate(&mut self) -> Option<Expr> {
        self.reduces = false;
        let predicate = match self.rng.chance(20) {
            true if self.rng.chance(40) => Some(self.affine(2)),
            true => Some(self.expr(Kind::Bool, 2)),
            false => None,
        };
        self.reduces = true;
        predicate
    }

    /// An assignment, and whether the page accepts it.
    fn assignment(&mut self) -> (Statement, Result<(), Stop>) {
        let count = self.kernel.statements.len();
        let inexact = !self.floats.is_empty() && self.rng.chance(12);
        let kind = match self.rng.below(10) {
            _ if inexact => Kind::Float,
            0 => Kind::Bool,
            k if k < 6 || self.floats.is_empty() => Kind::Int,
            _ => Kind::Float,
        };
        let depth = 1 + self.rng.below(4);
        let value = if inexact { self.inexact() } else { self.expr(kind, depth) };
        let own = self.scope.own(&value);
        let types: Vec<DType> =
            [DType::Bool].into_iter().chain(INTEGERS).chain(self.floats.iter().copied()).collect();
        let fitting = own.clone().map(|own| {
            let exact = |t: &DType| match own {
                _ if !inexact => true,
                Own::Of(of) => of == *t,
                _ => Some(*t) == self.kernel.float,
            };
            types.iter().copied().filter(|t| assigns(own, *t).is_ok()).filter(exact).collect::<Vec<_>>()
        });
        let t = match fitting {
            Ok(fitting) if !fitting.is_empty() && !self.rng.chance(2) => self.rng.pick(&fitting),
            _ => self.rng.pick(&types),
        };
        let target = if !inexact && self.rng.chance(20) {
            let said = if self.rng.chance(30) { Some(t) } else { None };
            Target::Temporary(Name::new(format!("temp_{count}")), said)
        } else {
            Target::Array(Name::new(format!("out_{count}")), t)
        };
        let array = matches!(target, Target::Array(..));
        let mut s = Statement::new(target, value);
        s.predicate = if array { self.predicate() } else { None };
        s.inexact = inexact && matches!(&s.value, Expr::Call { .. });
        let judged = own.and_then(|_| settled(&self.scope, &self.kernel.loops, &s));
        (s, judged)
    }

    fn inexact(&mut self) -> Expr {
        let of = MATH_FUNCTIONS
            .iter()
            .filter(|f| f.arity > 0 && !f.integers && f.name != "isnan" && !EXACT.contains(&f.name));
        let functions: Vec<_> = of.collect();
        let f = functions[self.rng.below(functions.len())];
        let args = (0..f.arity).map(|_| self.mixed(1)).collect();
        call(f.name, args)
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

    /// A number of any kind.
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
            3 | 4 => call(self.rng.pick(&["floor", "ceil", "round", "trunc", "sqrt"]), vec![a]),
            5 => match self.rng.below(3) {
                0 => {
                    let (b, c) = (self.mixed(depth - 1), self.mixed(depth - 1));
                    call("fma", vec![a, b, c])
                }
                1 => call("fmod", vec![a, self.mixed(depth - 1)]),
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
            3 if !self.floats.is_empty() => call("isnan", vec![self.expr(Kind::Float, depth - 1)]),
            _ => {
                let (a, b) = (self.mixed(depth - 1), self.mixed(depth - 1));
                let (a, b) = self.joined(a, b);
                Expr::binary(self.rng.pick(&[Lt, Le, Gt, Ge, Eq, Ne]), a, b)
            }
        }
    }

    /// Comparisons of inames and integer scalars, which proofs may use.
    fn affine(&mut self, depth: usize) -> Expr {
        use BinaryOp::*;
        if depth > 0 && self.rng.chance(40) {
            let (a, b) = (self.affine(depth - 1), self.affine(depth - 1));
            return match self.rng.below(5) {
                0 => Expr::Unary(UnaryOp::Not, a.into()),
                1 => Expr::binary(Or, a, b),
                _ => Expr::binary(And, a, b),
            };
        }
        let lower = self.inames[0].1;
        let i = Expr::name("i");
        let place = if lower == 0 { i } else { Expr::binary(Sub, i, Expr::Int(lower)) };
        let scaled = match self.rng.below(4) {
            0 => Expr::binary(Mul, place, Expr::Int(self.rng.pick(&[2, 3, 7, 100_000_000]))),
            1 => Expr::binary(self.rng.pick(&[Mod, FloorDiv]), place, Expr::Int(self.rng.pick(&[2, 3, 5]))),
            _ => place,
        };
        let other = match self.rng.below(4) {
            0 => Expr::Int(self.rng.below(40) as i64),
            1 => Expr::name(self.rng.pick(&["n", "m", "s_i8", "s_u8", "s_i16", "s_i32", "s_i64", "s_u32"])),
            _ => {
                let s = Expr::name(self.rng.pick(&["n", "s_i8", "s_u8", "s_i16", "s_i32"]));
                Expr::binary(self.rng.pick(&[Add, Sub]), s, Expr::Int(self.rng.below(20) as i64))
            }
        };
        Expr::binary(self.rng.pick(&[Lt, Le, Gt, Ge, Eq, Ne]), scaled, other)
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

    /// A subscript that lies in an array of 64 elements.
    fn subscript(&mut self) -> Expr {
        use BinaryOp::*;
        let (iname, lower) = {
            let all = self.inames.clone();
            self.rng.pick(&all)
        };
        let i = Expr::Name(iname);
        let place = match lower {
            0 => i.clone(),
            v => Expr::binary(Sub, i.clone(), Expr::Int(v)),
        };
        let read =
            |array: &str, at: Expr| Expr::Subscript(Access { array: Name::new(array), index: vec![at] });
        let modulo = |e: Expr| Expr::binary(Mod, e, Expr::Int(64));
        match self.rng.below(16) {
            0 => Expr::Int(self.rng.below(64) as i64),
            1 => modulo(Expr::binary(Mul, Expr::Int(self.rng.pick(&[3, 65537, 1_103_515_245])), i)),
            2 => modulo(Expr::binary(Sub, Expr::Int(17), Expr::binary(Mul, i.clone(), Expr::Int(5)))),
            3 => read(self.rng.pick(&["idx", "jdx"]), place),
            4 => {
                let inner = read(self.rng.pick(&["idx", "jdx"]), place);
                Expr::binary(Add, Expr::binary(Mul, inner, Expr::Int(7)), Expr::Int(3))
            }
            5 => modulo(Expr::binary(Add, i, Expr::name("n"))),
            6 => Expr::binary(FloorDiv, place, Expr::Int(3)),
            _ => place,
        }
    }

    /// A new loop, whose iname the caller takes away again.
    fn loop_of_a_reduction(&mut self) -> Name {
        let name = Name::new(format!("k_{}", self.kernel.loops.len()));
        let i = Expr::name("i");
        let from = self.inames[0].1;
        let (lower, upper, shift, outer) = match self.rng.below(6) {
            // 32-bit bounds do not lead beyond 32 bits.
            0 if from != 2_147_483_607 => {
                (i.clone(), Expr::binary(BinaryOp::Add, i, Expr::Int(5)), from, vec![Name::new("i")])
            }
            1 => (Expr::Int(0), Expr::binary(BinaryOp::FloorDiv, Expr::name("n"), Expr::Int(8)), 0, vec![]),
            2 => (Expr::Int(0), Expr::binary(BinaryOp::FloorDiv, Expr::name("m"), Expr::Int(8)), 0, vec![]),
            3 => (Expr::Int(2_147_483_640), Expr::Int(2_147_483_646), 2_147_483_640, vec![]),
            _ => (Expr::Int(0), Expr::Int(6), 0, vec![]),
        };
        self.kernel.loops.push(Loop { name: name.clone(), lower, upper, outer });
        let typed = typing(&self.kernel);
        self.scope.names.insert(name.clone(), typed.names[&name]);
        self.inames.push((name.clone(), shift));
        self.reduces = false;
        name
    }

    fn reduction(&mut self, kind: Kind) -> Expr {
        let name = self.loop_of_a_reduction();
        let (op, count, of) = match (kind, self.rng.below(8)) {
            (Kind::Bool, _) => (self.rng.pick(&["any", "all"]), 1, Kind::Bool),
            (Kind::Int, 0) => ("sum", 1, Kind::Bool),
            (Kind::Int, 1) => (self.rng.pick(&["exclusive", "squares"]), 1, Kind::Int),
            (Kind::Int, 2) => ("horner", 2, Kind::Int),
            (Kind::Int, 3) => ("large", 1, Kind::Int),
            (_, 4) => (self.rng.pick(&["last", "spread"]), 1, kind),
            _ => (self.rng.pick(&["sum", "product", "min", "max"]), 1, kind),
        };
        let args = (0..count).map(|_| self.expr(of, 2)).collect();
        self.reduces = true;
        self.inames.pop();
        Expr::Reduce(Arc::new(Reduce { op: Name::new(op), inames: vec![name], args }))
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
