//! The value that an execution computes: a number where it depends on no data, and otherwise a hash
//! of its expression and of the values that it reads.
//!
//! Two statements with the same expression over the same values compute the same value, whatever
//! their names, as do those that differ in the order of a sum's or a product's operands, or in how
//! a constant is written. Numbers are those of the page on values (`kernel-ir/values.md`): inames
//! and parameters in their types, in which they wrap, and every operation that has one result.
//! Reductions, functions that are not exact and those of the user are hashes, whatever they are of,
//! but sums of integers, which are sums of their terms. Hashes of integers are added, subtracted
//! and multiplied by numbers as integers of 64 bits are: what is the same sum of multiples of data,
//! as `x[0] + i - i` and `x[0]`, has one hash, and is equal in each type. Products of data are
//! hashed, since even numbers have powers that are zero. A condition on a number selects its
//! branch, and reads in the other branch do not count.
//!
//! Where numbers are drawn for data ([`Data::Drawn`]), a hash stands for a number that it
//! determines: each read of a value that is known by its hash alone gives that number, and so do
//! reductions and functions that are not exact.

use std::hash::{DefaultHasher, Hash, Hasher};

use loopwright_kernel_ir::{
    BinaryOp, DType, Instruction, LoopKernel, Name, Number, Part, Typed, TypedKind, UnaryOp,
    arithmetic::{binary, math, unary},
};

use super::{Data, Parameters, expressions::Computes, machine::Seen};
use crate::event::consumer;

/// The hash of a form. Enums are hashed by the numbers of their variants, `-x` and the conversion
/// of `x` to the first of all types alike: each kind of form has a word for itself.
pub(super) fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// A value in a replay. Values that are equal are equal for all data; different numbers are
/// different, and so are hashes of what is not known to be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// A number, by its type and bits; all NaN of a type are one.
    Number(DType, u64),
    /// The hash of a value that depends on data.
    Hash(u64),
}

impl Value {
    /// The value of a number, with one NaN for all NaNs of a type.
    pub fn of(number: Number) -> Value {
        let dtype = number.dtype();
        let nan = dtype.is_float() && number.as_f64().is_nan();
        let one = if nan { Number::F64(f64::NAN).cast(dtype) } else { number };
        Value::Number(dtype, one.bits())
    }

    /// The number, if it depends on no data.
    pub fn number(self) -> Option<Number> {
        match self {
            Value::Number(dtype, bits) => Some(Number::from_bits(dtype, bits)),
            Value::Hash(_) => None,
        }
    }

    /// What stands for it in sums and products of integers, modulo 2^64.
    pub(super) fn ring(self) -> u64 {
        match (self.number().and_then(|n| n.as_i128()), self) {
            (Some(integer), _) => integer as u64,
            (None, Value::Hash(hash) | Value::Number(_, hash)) => hash,
        }
    }

    /// Whether it is this integer.
    fn is(self, integer: i128) -> bool {
        self.number().is_some_and(|n| n.as_i128() == Some(integer))
    }
}

/// The numbers of the reductions whose results a part of an instruction uses, in order of use.
pub(super) fn consumed(instruction: &Instruction, part: Part) -> Vec<usize> {
    let part = if part == Part::Whole { Part::Finish } else { part };
    (0..instruction.reductions().len()).filter(|n| consumer(instruction, *n) == part).collect()
}

/// The result of a reduction: a hash of its operator and its terms, and for a sum what it comes to
/// if they are integers.
pub(super) struct Reduced {
    pub hash: u64,
    pub sum: Option<Value>,
}

/// The expressions of a declared part of an instruction, with the values of their operands.
pub(super) struct Evaluation<'a> {
    pub declared: &'a LoopKernel,
    pub parameters: &'a Parameters,
    pub data: Data,
    /// The inames of the instance with their values.
    pub point: &'a [(&'a Name, i64)],
    /// What the reads of the part see, in text order.
    pub reads: &'a [Seen],
    /// The results of the reductions that it uses, with their operators.
    pub reduced: &'a [Reduced],
}

impl Evaluation<'_> {
    /// What the part computes: the instruction's value, or a term of a reduction.
    pub fn of(mut self, computes: Option<&Computes>) -> Value {
        match computes {
            Some(Computes::Values(all)) => match all.as_slice() {
                [one] => self.value(one),
                all => Value::Hash(hash_of(all.iter().map(|e| self.value(e)).collect::<Vec<_>>())),
            },
            Some(Computes::Results(types)) => {
                let reduced: Vec<u64> = self.reduced.iter().map(|r| r.hash).collect();
                Value::Hash(hash_of((types, reduced)))
            }
            None => Value::Hash(0),
        }
    }

    fn read(&mut self) -> Option<&Seen> {
        let (first, rest) = self.reads.split_first()?;
        self.reads = rest;
        Some(first)
    }

    fn value(&mut self, e: &Typed) -> Value {
        match (self.computed(e), self.data) {
            (Value::Hash(hash), Data::Drawn(seed)) => Value::of(drawn(seed, hash, e.dtype)),
            (value, _) => value,
        }
    }

    fn computed(&mut self, e: &Typed) -> Value {
        match &e.kind {
            TypedKind::Constant(number) => Value::of(*number),
            TypedKind::Name(n) if self.declared.array(n).is_some() => {
                self.read().map_or(Value::Hash(0), |seen| seen.value)
            }
            TypedKind::Name(n) => self.name(n, e.dtype),
            TypedKind::Element { access, index } => {
                // The read itself comes before those in its subscripts.
                let seen = self.read().filter(|seen| seen.cell.is_some()).map(|seen| seen.value);
                let index: Vec<Value> = index.iter().map(|e| self.value(e)).collect();
                // Nothing writes it, so the subscripts identify the element.
                seen.unwrap_or_else(|| Value::Hash(hash_of((&access.array, index))))
            }
            TypedKind::Reduction(_) => {
                let Some((first, rest)) = self.reduced.split_first() else { return Value::Hash(0) };
                self.reduced = rest;
                match first.sum.filter(|_| e.dtype.is_integer()) {
                    Some(Value::Number(_, sum)) => Value::of(Number::I64(sum as i64).cast(e.dtype)),
                    Some(sum) => sum,
                    None => Value::Hash(hash_of(("reduction", e.dtype, first.hash))),
                }
            }
            TypedKind::Unary(op, a) => {
                let a = self.value(a);
                match (a.number().and_then(|a| unary(*op, a).ok()), op) {
                    (Some(number), _) => Value::of(number),
                    (None, UnaryOp::Neg) if e.dtype.is_integer() => Value::Hash(a.ring().wrapping_neg()),
                    (None, _) => Value::Hash(hash_of(("unary", op, a))),
                }
            }
            TypedKind::Binary(op, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                operation(*op, e.dtype, a, b)
            }
            TypedKind::If(c, a, b) => {
                let (c, a, b) = (self.value(c), self.value(a), self.value(b));
                match c.number() {
                    Some(Number::Bool(true)) => a,
                    Some(_) => b,
                    None if a == b => a,
                    None => Value::Hash(hash_of(("if", c, a, b))),
                }
            }
            TypedKind::Convert(a) | TypedKind::Cast(a) => {
                let a = self.value(a);
                match a.number() {
                    Some(a) => Value::of(a.cast(e.dtype)),
                    None => Value::Hash(hash_of(("conversion", e.dtype, a))),
                }
            }
            TypedKind::Call { function, precision, args } => {
                let mut args: Vec<Value> = args.iter().map(|e| self.value(e)).collect();
                let own = self.declared.functions.iter().any(|f| f.name == *function);
                let numbers: Option<Vec<Number>> = args.iter().map(|v| v.number()).collect();
                if let Some(numbers) = numbers.filter(|_| !own && is_exact(function))
                    && let Ok(number) = math(function, &numbers)
                {
                    return Value::of(number);
                }
                if !own && matches!(&**function, "min" | "max") {
                    if args[..1] == args[1..] {
                        return args[0];
                    }
                    args.sort();
                }
                Value::Hash(hash_of(("call", function, precision, args)))
            }
        }
    }

    /// An iname or a scalar argument.
    fn name(&self, n: &Name, dtype: DType) -> Value {
        let of = |n: &Name| {
            let own = self.point.iter().find(|(m, _)| *m == n).map(|(_, v)| *v);
            own.or_else(|| self.parameters.get(n).copied())
        };
        let defined = || self.declared.expand(self.declared.definition(n)?).ok()?.eval(&of);
        match of(n).or_else(defined) {
            Some(v) => Value::of(Number::I64(v).cast(dtype)),
            None => Value::Hash(hash_of(n)),
        }
    }
}

/// The number of this type that stands for a hash.
fn drawn(seed: u64, hash: u64, dtype: DType) -> Number {
    let bits = hash_of((seed, hash));
    let near_zero = (bits % 13) as i64 - 4;
    match (dtype.is_float(), seed.is_multiple_of(2)) {
        _ if dtype == DType::Bool => Number::Bool(bits.is_multiple_of(2)),
        (_, true) => Number::I64(near_zero).cast(dtype),
        (false, false) => Number::from_bits(dtype, bits),
        // All bits of the fraction, so that sums in another order round in another way.
        (true, false) => {
            let fraction = (bits >> 11) as f64 / (1u64 << 53) as f64;
            Number::F64((fraction - 0.4) * (1 << (bits % 8)) as f64).cast(dtype)
        }
    }
}

/// Whether a function of the library has one result, the same everywhere.
fn is_exact(function: &str) -> bool {
    matches!(
        function,
        "min"
            | "max"
            | "abs"
            | "isnan"
            | "isinf"
            | "isfinite"
            | "signbit"
            | "nearbyint"
            | "remainder"
            | "ldexp"
            | "logb"
            | "ilogb"
            | "floor"
            | "ceil"
            | "round"
            | "trunc"
            | "sqrt"
            | "fma"
            | "fmod"
            | "copysign"
            | "to_tf32"
            | "truncate_to_tf32"
    )
}

/// Whether the operands of an operation may be exchanged.
fn commutes(op: BinaryOp) -> bool {
    use BinaryOp::{Add, And, BitAnd, BitOr, BitXor, Eq, Mul, Ne, Or};
    matches!(op, Add | Mul | BitAnd | BitOr | BitXor | Eq | Ne | And | Or)
}

/// An operation whose result is of this type.
fn operation(op: BinaryOp, dtype: DType, a: Value, b: Value) -> Value {
    let number = |a: Value, b: Value| binary(op, a.number()?, b.number()?).ok();
    if let Some(number) = number(a, b) {
        return Value::of(number);
    }
    if let Some(value) = one_decides(op, dtype, a, b) {
        return value;
    }
    match op {
        BinaryOp::Add if dtype.is_integer() => return Value::Hash(a.ring().wrapping_add(b.ring())),
        BinaryOp::Sub if dtype.is_integer() => return Value::Hash(a.ring().wrapping_sub(b.ring())),
        BinaryOp::Mul if dtype.is_integer() && (a.number().is_some() || b.number().is_some()) => {
            let product = a.ring().wrapping_mul(b.ring());
            // Too few of the bits may be left to tell values apart.
            if product.trailing_zeros() < 24 {
                return Value::Hash(product);
            }
        }
        _ => {}
    }
    let (first, second) = if commutes(op) && b < a { (b, a) } else { (a, b) };
    Value::Hash(hash_of(("binary", op, first, second)))
}

/// The result where one operand decides it, whatever the other is, or where it is one of them.
/// Floating-point operations have no such case: a zero times a NaN is not zero.
fn one_decides(op: BinaryOp, dtype: DType, a: Value, b: Value) -> Option<Value> {
    use BinaryOp::{Add, And, BitAnd, BitOr, BitXor, FloorDiv, Mod, Mul, Or, Shl, Shr, Sub};
    let truth = |v: Value| v.number().map(|n| n == Number::Bool(true));
    match (op, truth(a), truth(b)) {
        (And, Some(false), _) | (And, _, Some(false)) => return Some(Value::of(Number::Bool(false))),
        (Or, Some(true), _) | (Or, _, Some(true)) => return Some(Value::of(Number::Bool(true))),
        (And | Or, Some(_), _) => return Some(b),
        (And | Or, _, Some(_)) => return Some(a),
        (And | Or, ..) if a == b => return Some(a),
        _ => {}
    }
    if !dtype.is_integer() {
        return None;
    }
    let zero = Value::of(Number::I32(0).cast(dtype));
    match op {
        Mul | BitAnd if a.is(0) || b.is(0) => Some(zero),
        Mod if b.is(1) || b.is(-1) => Some(zero),
        Sub | BitXor if a == b => Some(zero),
        BitAnd | BitOr if a == b => Some(a),
        Add | BitOr | BitXor if a.is(0) => Some(b),
        Add | Sub | BitOr | BitXor | Shl | Shr if b.is(0) => Some(a),
        Mul if a.is(1) => Some(b),
        Mul | FloorDiv if b.is(1) => Some(a),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::replay::Instance;

    /// Of a thousand hashes some are multiples of 64, whose eleventh power would be zero.
    #[test]
    fn products_of_different_data_differ() {
        let data = || (0..1000).map(|k| Value::Hash(hash_of(("element", k))));
        let power = |x: Value| (0..10).fold(x, |power, _| operation(BinaryOp::Mul, DType::I64, power, x));
        assert_eq!(data().map(power).collect::<BTreeSet<_>>().len(), 1000);
        let factor = Value::of(Number::I64(1 << 16));
        let shifted = |x: Value| (0..4).fold(x, |x, _| operation(BinaryOp::Mul, DType::I64, x, factor));
        assert_eq!(data().map(shifted).collect::<BTreeSet<_>>().len(), 1000);
    }

    /// Each operand of `and`, `or` and the bitwise ones counts, unless they are one value; their
    /// order does not.
    #[test]
    fn operands_that_may_be_exchanged_both_count() {
        let [a, b, c] = ["a", "b", "c"].map(|name| Value::Hash(hash_of(("element", name))));
        for (op, dtype) in [
            (BinaryOp::And, DType::Bool),
            (BinaryOp::Or, DType::Bool),
            (BinaryOp::BitAnd, DType::I32),
            (BinaryOp::BitOr, DType::I32),
        ] {
            let of = |a: Value, b: Value| operation(op, dtype, a, b);
            assert_eq!(of(a, a), a);
            assert_eq!(of(a, b), of(b, a));
            assert_eq!(BTreeSet::from([a, b, c, of(a, b), of(b, c), of(c, a)]).len(), 6, "{op:?}");
        }
    }

    /// Forms of different kinds differ, though an operator and a type have one number: `-x` is not
    /// whether `x` is 0, nor is `not b` a conversion to the next of the types.
    #[test]
    fn operators_are_no_conversions() {
        let text = "kernel k(x: f64[1], b: bool[1], y: f64[1], t: bool[1], u: bool[1], v: i8[1])\n\
                    y[0] = -x[0]\nt[0] = cast(bool, x[0])\nu[0] = not b[0]\nv[0] = cast(i8, b[0])\n";
        let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"));
        let model = crate::Model::new(&kernel).unwrap();
        let Ok(Ok(run)) = super::super::replay(&model, &Parameters::new(), Data::Unknown, None) else {
            panic!("it runs")
        };
        let values = kernel.instructions.iter().map(|i| {
            let who = Instance { instruction: i.id.clone(), part: Part::Whole, point: Vec::new() };
            run.value(&who).unwrap()
        });
        assert_eq!(values.collect::<BTreeSet<_>>().len(), 4);
    }
}
