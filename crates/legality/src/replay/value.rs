//! The value that an execution computes, as a hash of its expression and of the values that it
//! reads.
//!
//! Two statements with the same expression over the same values compute the same value, whatever
//! their names, as do those that differ in the order of a sum's or a product's operands, or in how
//! a constant is written. Integers from inames and parameters are computed where their types do not
//! affect the result, so that a condition on them selects its branch and reads in the other branch
//! do not count. Everything else is a hash of the operation and its operands.

use std::hash::{DefaultHasher, Hash, Hasher};

use loopwright_kernel_ir::{BinaryOp, DType, Expr, Instruction, LoopKernel, Name, Number, Part, UnaryOp};

use super::{Instance, Parameters, machine::Seen};
use crate::event::consumer;

pub(super) fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

#[derive(Clone, Copy, Hash)]
enum Value {
    /// An integer, or a truth value as 0 or 1.
    Int(i64),
    /// The bits of another number.
    Float(u64),
    Hash(u64),
}

/// The numbers of the reductions whose results a part of an instruction uses, in order of use.
pub(super) fn consumed(instruction: &Instruction, part: Part) -> Vec<usize> {
    let part = if part == Part::Whole { Part::Finish } else { part };
    (0..instruction.reductions().len()).filter(|n| consumer(instruction, *n) == part).collect()
}

/// The expressions of a declared part of an instruction, with the values of their operands.
pub(super) struct Evaluation<'a> {
    pub declared: &'a LoopKernel,
    pub parameters: &'a Parameters,
    pub who: &'a Instance,
    /// What the reads of the part see, in text order.
    pub reads: &'a [Seen],
    /// The results of the reductions that it uses.
    pub reduced: &'a [u64],
}

impl Evaluation<'_> {
    /// The hash of the value that the part computes: the instruction's value, or a term of a
    /// reduction.
    pub fn hash(mut self) -> u64 {
        let declared = self.declared;
        let Some(instruction) = declared.instruction(&self.who.instruction) else { return 0 };
        match self.who.part {
            Part::Whole | Part::Finish => hash_of(self.value(&instruction.value)),
            Part::Init(_) => 0,
            Part::Update(n) => match instruction.reductions().get(n) {
                Some(reduce) => hash_of(reduce.args.iter().map(|e| self.value(e)).collect::<Vec<_>>()),
                None => 0,
            },
        }
    }

    fn read(&mut self) -> Option<&Seen> {
        let (first, rest) = self.reads.split_first()?;
        self.reads = rest;
        Some(first)
    }

    fn value(&mut self, e: &Expr) -> Value {
        match e {
            Expr::Int(v) => Value::Int(*v),
            Expr::Bool(v) => Value::Int((*v).into()),
            Expr::Float(v) => float(v.0),
            Expr::Name(n) if self.declared.array(n).is_some() => {
                Value::Hash(self.read().map_or(0, |seen| seen.hash))
            }
            Expr::Name(n) => self.name(n),
            Expr::Subscript(access) => {
                // The read itself comes before those in its subscripts.
                let seen = self.read().filter(|seen| seen.known).map(|seen| seen.hash);
                let index: Vec<Value> = access.index.iter().map(|e| self.value(e)).collect();
                // Nothing writes it, so the subscripts identify the element.
                Value::Hash(seen.unwrap_or_else(|| hash_of((&access.array, index))))
            }
            Expr::Reduce(r) => {
                let (first, rest) = self.reduced.split_first().unwrap_or((&0, &[]));
                self.reduced = rest;
                Value::Hash(hash_of((&r.op, first)))
            }
            Expr::Unary(op, a) => match (op, self.value(a)) {
                (UnaryOp::Neg, Value::Float(bits)) => float(-f64::from_bits(bits)),
                (UnaryOp::Neg, Value::Int(a)) => {
                    int(a.checked_neg()).unwrap_or(Value::Hash(hash_of((op, a))))
                }
                (UnaryOp::Not, Value::Int(a)) => Value::Int((a == 0).into()),
                (op, a) => Value::Hash(hash_of((op, a))),
            },
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                computed(*op, a, b).unwrap_or_else(|| {
                    let (first, second) = match commutes(*op) && hash_of(b) < hash_of(a) {
                        true => (b, a),
                        false => (a, b),
                    };
                    Value::Hash(hash_of((op, first, second)))
                })
            }
            Expr::If(c, a, b) => match (self.value(c), self.value(a), self.value(b)) {
                (Value::Int(0), _, b) => b,
                (Value::Int(_), a, _) => a,
                all => Value::Hash(hash_of(all)),
            },
            Expr::Cast(to, a) => match (to.known(), self.value(a)) {
                (Some(dtype), Value::Int(a)) if dtype.is_float() => float(a as f64),
                // The same number, but for how it is rounded.
                (Some(dtype), a @ Value::Float(_)) if dtype.is_float() => a,
                // In these types, no sum of small integers wraps.
                (Some(dtype @ (DType::I32 | DType::I64)), Value::Int(a)) => {
                    int(Number::I64(a).cast(dtype).as_i64()).unwrap_or(Value::Int(a))
                }
                (_, a) => Value::Hash(hash_of((to.to_string(), a))),
            },
            Expr::Call { function, precision, args } => {
                let args: Vec<Value> = args.iter().map(|e| self.value(e)).collect();
                Value::Hash(hash_of((function, precision, args)))
            }
        }
    }

    fn name(&self, n: &Name) -> Value {
        let of = |n: &Name| {
            let own = self.who.point.iter().find(|(m, _)| m == n).map(|(_, v)| *v);
            own.or_else(|| self.parameters.get(n).copied())
        };
        let defined = || self.declared.expand(self.declared.definition(n)?).ok()?.eval(&of);
        match of(n).or_else(defined) {
            Some(v) => Value::Int(v),
            None => Value::Hash(hash_of(n)),
        }
    }
}

/// An integer that fits in 32 bits, and so does not wrap in any type that it may have.
fn int(v: Option<i64>) -> Option<Value> {
    v.filter(|v| i32::try_from(*v).is_ok()).map(Value::Int)
}

/// The greatest integer up to which floating-point numbers are integers, so that comparisons of them
/// are right in most types.
const EXACT: f64 = 256.0;

/// A number, whatever its type: what differs in rounding alone counts as equal, which only leaves
/// counter-examples out.
fn float(v: f64) -> Value {
    match v.fract() == 0.0 && v.abs() <= EXACT {
        true => Value::Int(v as i64),
        false => Value::Float(v.to_bits()),
    }
}

/// Whether the operands of an operation may be exchanged.
fn commutes(op: BinaryOp) -> bool {
    use BinaryOp::{Add, BitAnd, BitOr, BitXor, Eq, Mul, Ne};
    matches!(op, Add | Mul | BitAnd | BitOr | BitXor | Eq | Ne)
}

/// An operation on numbers that gives a floating-point one.
fn of_floats(op: BinaryOp, a: Value, b: Value) -> Option<Value> {
    let number = |v: Value| match v {
        Value::Int(v) => Some(v as f64),
        Value::Float(bits) => Some(f64::from_bits(bits)),
        Value::Hash(_) => None,
    };
    let (a, b) = (number(a)?, number(b)?);
    Some(float(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        _ => return None,
    }))
}

fn computed(op: BinaryOp, a: Value, b: Value) -> Option<Value> {
    if op == BinaryOp::Div || matches!((a, b), (Value::Float(_), _) | (_, Value::Float(_))) {
        return of_floats(op, a, b);
    }
    let (Value::Int(a), Value::Int(b)) = (a, b) else {
        // One operand may decide.
        return match (op, a, b) {
            (BinaryOp::And, Value::Int(0), _) | (BinaryOp::And, _, Value::Int(0)) => Some(Value::Int(0)),
            (BinaryOp::Or, Value::Int(1), _) | (BinaryOp::Or, _, Value::Int(1)) => Some(Value::Int(1)),
            _ => None,
        };
    };
    let truth = |v: bool| Some(Value::Int(v.into()));
    match op {
        BinaryOp::Add => int(a.checked_add(b)),
        BinaryOp::Sub => int(a.checked_sub(b)),
        BinaryOp::Mul => int(a.checked_mul(b)),
        BinaryOp::FloorDiv if b > 0 => int(Some(a.div_euclid(b))),
        BinaryOp::Mod if b > 0 => int(Some(a.rem_euclid(b))),
        BinaryOp::Lt => truth(a < b),
        BinaryOp::Le => truth(a <= b),
        BinaryOp::Gt => truth(a > b),
        BinaryOp::Ge => truth(a >= b),
        BinaryOp::Eq => truth(a == b),
        BinaryOp::Ne => truth(a != b),
        BinaryOp::And => truth(a != 0 && b != 0),
        BinaryOp::Or => truth(a != 0 || b != 0),
        _ => None,
    }
}
