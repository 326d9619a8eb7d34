//! Random expressions of every type, printed, compiled, run, and compared with their value computed
//! here.
//!
//! The evaluation is by the definition: integers are computed in 128 bits and wrapped to their type
//! after each operation, so whatever C does in another type (unsigned builtin variables, narrow
//! integers in int, literals) has to give the same result.

use crate::common;

use common::*;
use loopwright_kernel_ir::{DType, Name, Precision};
use loopwright_program::*;
use loopwright_text_check::{Arguments, Checker, Order, Scalar};

const THREADS: u32 = 40;
const BLOCKS: i64 = 3;
const TOTAL: usize = THREADS as usize * BLOCKS as usize;

/// A small generator of numbers, the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }
}

/// A value of a thread.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Num {
    Int(i128),
    Float(f64),
}

/// The integer of the type with the same bits.
fn wrap(dtype: DType, value: i128) -> i128 {
    match dtype {
        DType::Bool => i128::from(value != 0),
        DType::I8 => value as i8 as i128,
        DType::I16 => value as i16 as i128,
        DType::I32 => value as i32 as i128,
        DType::I64 => value as i64 as i128,
        DType::U8 => value as u8 as i128,
        DType::U16 => value as u16 as i128,
        DType::U32 => value as u32 as i128,
        DType::U64 => value as u64 as i128,
        other => panic!("{other}"),
    }
}

fn round(dtype: DType, value: f64) -> f64 {
    if dtype == DType::F32 { value as f32 as f64 } else { value }
}

const TYPES: [DType; 11] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F32,
    DType::F64,
];

/// What expressions may read: an array of each type with one element per thread.
struct World {
    index: DType,
    arrays: Vec<(DType, Memory, Vec<Num>)>,
    scalars: Vec<(Value, Num)>,
}

fn element(random: &mut Random, dtype: DType) -> Num {
    match dtype {
        DType::F32 | DType::F64 => Num::Float((random.below(2001) as f64 - 1000.0) / 16.0),
        DType::Bool => Num::Int(random.below(2) as i128),
        _ => {
            let bits = dtype.bytes() as u32 * 8;
            Num::Int(wrap(
                dtype,
                match random.below(8) {
                    0 => 1 << (bits - 1),
                    1 => (1 << (bits - 1)) - 1,
                    2 => -1,
                    3 => random.below(1 << 31) as i128 * 0x1_0001_0003,
                    _ => random.below(21) as i128 - 10,
                },
            ))
        }
    }
}

impl World {
    fn position(&self) -> Value {
        let width = Value::int(self.index, THREADS.into());
        Value::binary(BinOp::Add, Value::binary(BinOp::Mul, block(self.index), width), thread(self.index))
    }

    /// A random expression of the type.
    fn value(&self, random: &mut Random, dtype: DType, depth: usize) -> Value {
        if depth == 0 {
            return self.leaf(random, dtype);
        }
        let boxed = |random: &mut Random, dtype| Box::new(self.value(random, dtype, depth - 1));
        match random.below(12) {
            0 => self.leaf(random, dtype),
            1 => {
                let kind =
                    ValueKind::Select(boxed(random, DType::Bool), boxed(random, dtype), boxed(random, dtype));
                Value { dtype, kind }
            }
            2 | 3 => {
                let from = loop {
                    let from = TYPES[random.below(TYPES.len())];
                    // Beyond the range of an integer, the conversion from floating-point is
                    // undefined.
                    if from != dtype && (dtype.is_float() || dtype == DType::Bool || !from.is_float()) {
                        break from;
                    }
                };
                self.value(random, from, depth - 1).cast(dtype)
            }
            _ => match dtype {
                DType::Bool => self.truth(random, depth),
                DType::F32 | DType::F64 => {
                    let op = [BinOp::Add, BinOp::Sub, BinOp::Mul, BinOp::Div, BinOp::Min, BinOp::Max]
                        [random.below(6)];
                    match random.below(8) {
                        0 => Value { dtype, kind: ValueKind::Unary(UnOp::Neg, boxed(random, dtype)) },
                        1 => call("abs", dtype, Precision::Precise, vec![*boxed(random, dtype)]),
                        _ => Value::binary(op, *boxed(random, dtype), *boxed(random, dtype)),
                    }
                }
                _ => self.integer(random, dtype, depth),
            },
        }
    }

    fn integer(&self, random: &mut Random, dtype: DType, depth: usize) -> Value {
        use BinOp::*;
        let any = |random: &mut Random| self.value(random, dtype, depth - 1);
        match random.below(16) {
            0 => Value { dtype, kind: ValueKind::Unary(UnOp::Neg, Box::new(any(random))) },
            1 => Value { dtype, kind: ValueKind::Unary(UnOp::BitNot, Box::new(any(random))) },
            2 => call("abs", dtype, Precision::Precise, vec![any(random)]),
            7 if dtype == DType::I32 => {
                let of = [DType::U32, DType::U64][random.below(2)];
                self.value(random, of, depth - 1).leading_zeros()
            }
            // A divisor that is a constant, -1 excluded.
            3 | 4 => {
                let divisor =
                    [1, 2, 3, 7, 16, 100, if dtype.is_unsigned() { 5 } else { -3 }][random.below(7)];
                let op = if random.below(2) == 0 { FloorDiv } else { FloorMod };
                Value::binary(op, any(random), Value::int(dtype, divisor))
            }
            // C's own operators, for non-negative values: the coordinates, and the low bits of
            // anything.
            5 => {
                let op = if random.below(2) == 0 { TruncDiv } else { TruncRem };
                let divisor = Value::int(dtype, [1, 2, 3, 32, 100][random.below(5)]);
                let natural = Value::binary(BitAnd, any(random), Value::int(dtype, 127));
                Value::binary(op, if dtype == self.index { self.position() } else { natural }, divisor)
            }
            6 => {
                let op = if random.below(2) == 0 { Shl } else { Shr };
                let most = random.below(7) as i64;
                // By a constant, or by what is evidently no more than that.
                let amount = Value::int(dtype, most);
                let below = Value::int(DType::I32, most + 1);
                let rest = Value::binary(FloorMod, self.value(random, DType::I32, 1), below);
                let amount = match random.below(3) {
                    0 => amount,
                    1 => rest.cast(dtype),
                    _ => Value::binary(Sub, Value::int(DType::I32, most), rest).cast(dtype),
                };
                Value::binary(op, any(random), amount)
            }
            k => {
                let op = [Add, Sub, Mul, Min, Max, BitAnd, BitOr, BitXor, Add, Sub][k % 10];
                Value::binary(op, any(random), any(random))
            }
        }
    }

    fn truth(&self, random: &mut Random, depth: usize) -> Value {
        use BinOp::*;
        let truth = |random: &mut Random| self.value(random, DType::Bool, depth - 1);
        match random.below(6) {
            0 => Value::binary(And, truth(random), truth(random)),
            1 => Value::binary(Or, truth(random), truth(random)),
            2 => Value { dtype: DType::Bool, kind: ValueKind::Unary(UnOp::Not, Box::new(truth(random))) },
            _ => {
                let of = TYPES[1 + random.below(TYPES.len() - 1)];
                let op = [Lt, Le, Gt, Ge, Eq, Ne][random.below(6)];
                Value::binary(op, self.value(random, of, depth - 1), self.value(random, of, depth - 1))
            }
        }
    }

    fn leaf(&self, random: &mut Random, dtype: DType) -> Value {
        if dtype == self.index && random.below(2) == 0 {
            return if random.below(3) == 0 { block(dtype) } else { thread(dtype) };
        }
        match random.below(4) {
            0 => match element(random, dtype) {
                Num::Float(v) => float(dtype, v),
                Num::Int(v) if dtype == DType::Bool => Value { dtype, kind: ValueKind::Bool(v != 0) },
                Num::Int(v) => Value::int(dtype, v as i64),
            },
            1 if self.scalars.iter().any(|(v, _)| v.dtype == dtype) => {
                self.scalars.iter().find(|(v, _)| v.dtype == dtype).unwrap().0.clone()
            }
            _ => {
                let (_, memory, _) = self.arrays.iter().find(|(t, ..)| *t == dtype).unwrap();
                load(dtype, at(*memory, self.position()))
            }
        }
    }

    /// The value for one thread.
    fn eval(&self, value: &Value, who: usize) -> Num {
        let dtype = value.dtype;
        let eval = |v: &Value| self.eval(v, who);
        let int = |v: &Value| match eval(v) {
            Num::Int(v) => v,
            Num::Float(v) => panic!("{v}"),
        };
        match &value.kind {
            ValueKind::Int(v) => Num::Int(wrap(dtype, (*v).into())),
            ValueKind::Float(v) => Num::Float(round(dtype, *v)),
            ValueKind::Bool(v) => Num::Int((*v).into()),
            ValueKind::Param(_) => self.scalars.iter().find(|(v, _)| v == value).unwrap().1,
            ValueKind::BlockIdx(_) => Num::Int((who / THREADS as usize) as i128),
            ValueKind::ThreadIdx(_) => Num::Int((who % THREADS as usize) as i128),
            ValueKind::Load(m) => {
                self.arrays.iter().find(|(_, memory, _)| *memory == m.memory).unwrap().2[who]
            }
            ValueKind::LeadingZeros(a) => {
                let highest = (0..128).rev().find(|bit| int(a) >> bit & 1 == 1);
                Num::Int(8 * a.dtype.bytes() as i128 - highest.map_or(0, |bit| bit + 1))
            }
            ValueKind::Unary(UnOp::Not, a) => Num::Int(1 - int(a)),
            ValueKind::Unary(UnOp::BitNot, a) => Num::Int(wrap(dtype, !int(a))),
            ValueKind::Unary(UnOp::Neg, a) => match eval(a) {
                Num::Int(v) => Num::Int(wrap(dtype, -v)),
                Num::Float(v) => Num::Float(-v),
            },
            ValueKind::Select(c, a, b) => eval(if int(c) != 0 { a } else { b }),
            ValueKind::Cast(a) => match (eval(a), dtype) {
                (Num::Int(v), DType::F32) => Num::Float(v as f32 as f64),
                (Num::Int(v), DType::F64) => Num::Float(v as f64),
                (Num::Int(v), _) => Num::Int(wrap(dtype, v)),
                (Num::Float(v), DType::Bool) => Num::Int((v != 0.0).into()),
                (Num::Float(v), _) => Num::Float(round(dtype, v)),
            },
            ValueKind::Call { args, .. } => match eval(&args[0]) {
                Num::Int(v) => Num::Int(wrap(dtype, v.abs())),
                Num::Float(v) => Num::Float(v.abs()),
            },
            ValueKind::Binary(BinOp::And, a, b) => Num::Int(if int(a) == 0 { 0 } else { int(b) }),
            ValueKind::Binary(BinOp::Or, a, b) => Num::Int(if int(a) != 0 { 1 } else { int(b) }),
            ValueKind::Binary(op, a, b) => match (eval(a), eval(b)) {
                (Num::Int(a), Num::Int(b)) => Num::Int(wrap(dtype, integer_op(*op, a, b))),
                (Num::Float(x), Num::Float(y)) => float_op(*op, a.dtype, x, y),
                mixed => panic!("{mixed:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
}

fn integer_op(op: BinOp, a: i128, b: i128) -> i128 {
    use BinOp::*;
    match op {
        Add => a + b,
        Sub => a - b,
        Mul => a.wrapping_mul(b),
        FloorDiv => a / b - i128::from(a % b != 0 && (a < 0) != (b < 0)),
        FloorMod => a - b * integer_op(FloorDiv, a, b),
        TruncDiv => a / b,
        TruncRem => a % b,
        Min => a.min(b),
        Max => a.max(b),
        Lt => (a < b).into(),
        Le => (a <= b).into(),
        Gt => (a > b).into(),
        Ge => (a >= b).into(),
        Eq => (a == b).into(),
        Ne => (a != b).into(),
        BitAnd => a & b,
        BitOr => a | b,
        BitXor => a ^ b,
        Shl => a << b,
        Shr => a >> b,
        Div | And | Or => panic!("{op:?}"),
    }
}

fn float_op(op: BinOp, dtype: DType, a: f64, b: f64) -> Num {
    use BinOp::*;
    let truth = |t: bool| Num::Int(t.into());
    // Sums, products and quotients of f32 computed in f64 round to the same f32.
    let number = |v: f64| Num::Float(round(dtype, v));
    match op {
        Add => number(a + b),
        Sub => number(a - b),
        Mul => number(a * b),
        Div => number(a / b),
        Min => number(a.min(b)),
        Max => number(a.max(b)),
        Lt => truth(a < b),
        Le => truth(a <= b),
        Gt => truth(a > b),
        Ge => truth(a >= b),
        Eq => truth(a == b),
        Ne => truth(a != b),
        other => panic!("{other:?}"),
    }
}

fn bytes(dtype: DType, value: Num) -> Vec<u8> {
    match (dtype, value) {
        (DType::F32, Num::Float(v)) => (v as f32).to_ne_bytes().to_vec(),
        (_, Num::Float(v)) => v.to_ne_bytes().to_vec(),
        (_, Num::Int(v)) => v.to_le_bytes()[..dtype.bytes()].to_vec(),
    }
}

fn same(dtype: DType, value: Num, found: &[u8]) -> bool {
    match (dtype, value) {
        (DType::F32, Num::Float(v)) => {
            let found = f32::from_ne_bytes(found.try_into().unwrap()) as f64;
            found == v || (found.is_nan() && v.is_nan())
        }
        (_, Num::Float(v)) => {
            let found = f64::from_ne_bytes(found.try_into().unwrap());
            found == v || (found.is_nan() && v.is_nan())
        }
        _ => bytes(dtype, value) == found,
    }
}

/// A program of this many random expressions, each stored to its own array.
fn random_program(
    random: &mut Random,
    index: DType,
    count: usize,
) -> (Program, World, Vec<(DType, Value)>, Arguments) {
    let mut builder = Builder::new("random_values", index, [THREADS, 1, 1]);
    builder.kernel().grid.x = Value::int(index, BLOCKS);
    let mut arguments = Arguments::new();
    let size = Value::int(index, TOTAL as i64);
    let mut world = World { index, arrays: vec![], scalars: vec![] };
    for dtype in TYPES {
        let content: Vec<Num> = (0..TOTAL).map(|_| element(random, dtype)).collect();
        let name = format!("in_{dtype}");
        arguments =
            arguments.array(&*name, content.iter().flat_map(|v| bytes(dtype, *v)).collect::<Vec<u8>>());
        world.arrays.push((dtype, builder.array(&name, dtype, size.clone(), false), content));
        if dtype != DType::Bool {
            let name = format!("scalar_{dtype}");
            let value = element(random, dtype);
            let scalar = match value {
                Num::Int(v) => Scalar::Int(v as i64),
                Num::Float(v) => Scalar::Float(v),
            };
            arguments = arguments.scalar(&*name, scalar);
            world.scalars.push((builder.scalar(&name, dtype), value));
        }
    }
    let mut stores = Vec::new();
    for k in 0..count {
        let dtype = TYPES[k % TYPES.len()];
        let depth = 1 + k % 4;
        let value = world.value(random, dtype, depth);
        let name = format!("out_{k}");
        let memory = builder.array(&name, dtype, size.clone(), true);
        builder.push(store(at(memory, world.position()), value.clone()));
        arguments = arguments.array(&*name, vec![0; TOTAL * dtype.bytes()]);
        stores.push((dtype, value));
    }
    (builder.program, world, stores, arguments)
}

/// Constant conditions are normal in random expressions; expressions that C would compute
/// differently are not.
fn checker() -> Checker {
    let lenient = [
        "type-limits",
        "bool-compare",
        "int-in-bool-context",
        "tautological-compare",
        "bool-operation",
        "overflow",
    ];
    Checker::new().unwrap().without_warnings(&lenient)
}

#[test]
fn random_expressions_have_their_value() {
    let mut random = Random(20);
    let checker = checker();
    let cases: Vec<_> = (0..12)
        .map(|k| random_program(&mut random, if k % 2 == 0 { DType::I32 } else { DType::I64 }, 110))
        .collect();
    let programs: Vec<Program> = cases.iter().map(|c| c.0.clone()).collect();
    for (compiled, (program, world, stores, mut arguments)) in
        checker.compile_all(&programs).into_iter().zip(cases)
    {
        let compiled = compiled.unwrap_or_else(|e| panic!("{e}"));
        compiled.run(&mut arguments, Order::Forwards).unwrap();
        for (k, (dtype, value)) in stores.iter().enumerate() {
            let found = &arguments.arrays[&Name::new(format!("out_{k}"))];
            for (who, found) in found.chunks(dtype.bytes()).enumerate() {
                let expected = world.eval(value, who);
                let text =
                    || compiled.source().text.lines().skip_while(|l| !l.contains(&format!("out_{k}[")));
                assert!(
                    same(*dtype, expected, found),
                    "out_{k} of thread {who}, index {}: {expected:?}, not {found:?}\n{}",
                    program.index,
                    text().take(4).collect::<Vec<_>>().join("\n")
                );
            }
        }
    }
}
