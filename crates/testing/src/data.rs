//! Arguments for a random kernel: small numbers, the same for a name and a size on every machine.

use std::collections::BTreeMap;

use loopwright_emulator::Arguments;
use loopwright_kernel_ir::{Arg, Array, BinaryOp, Buffer, DType, Expr, Fact, LoopKernel, Name, Number};

use crate::rng::Rng;

/// The value of an integer expression of parameters.
pub fn evaluate(e: &Expr, sizes: &BTreeMap<Name, i64>) -> Option<i64> {
    Some(match e {
        Expr::Int(v) => *v,
        Expr::Name(n) => *sizes.get(n)?,
        Expr::Binary(op, a, b) => {
            let (a, b) = (evaluate(a, sizes)?, evaluate(b, sizes)?);
            match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                BinaryOp::Mul => a * b,
                BinaryOp::FloorDiv if b > 0 => a.div_euclid(b),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// Number of elements of an argument in the default layout, or up to the last one where each axis
/// has a stride of its own.
pub fn length(array: &Array, sizes: &BTreeMap<Name, i64>) -> Option<usize> {
    if array.axes.iter().any(|axis| axis.stride.is_some()) {
        let mut last = 0;
        for axis in &array.axes {
            let (length, stride) = (evaluate(&axis.length, sizes)?, evaluate(axis.stride.as_ref()?, sizes)?);
            last += (length - 1) * stride;
        }
        // Lowering asks for as many where an axis has no elements.
        return usize::try_from((last + 1).max(0)).ok();
    }
    let mut product = 1usize;
    for axis in &array.axes {
        product = product.checked_mul(usize::try_from(evaluate(&axis.length, sizes)?).ok()?)?;
    }
    Some(product)
}

/// Arguments of these sizes. Every array has values; those with declared facts satisfy them.
///
/// `None` if a length cannot be evaluated.
pub fn arguments(kernel: &LoopKernel, sizes: &BTreeMap<Name, i64>) -> Option<Arguments> {
    let mut arguments = Arguments::new();
    for arg in &kernel.args {
        match arg {
            Arg::Scalar(s) => {
                let value = sizes.get(&s.name).copied().unwrap_or(2);
                arguments = arguments.scalar(s.name.clone(), Number::I64(value).cast(s.dtype.known()?));
            }
            Arg::Array(array) => {
                let buffer = buffer(kernel, array, sizes)?;
                arguments = arguments.array(array.name.clone(), buffer);
            }
        }
    }
    Some(arguments)
}

fn buffer(kernel: &LoopKernel, array: &Array, sizes: &BTreeMap<Name, i64>) -> Option<Buffer> {
    let dtype = array.dtype.known()?;
    let count = length(array, sizes)?;
    let mut rng = Rng::new(array.name.bytes().fold(count as u64, |h, b| h.wrapping_mul(31) ^ u64::from(b)));
    let mut range = None;
    let mut monotone = false;
    for fact in &kernel.facts {
        match fact {
            Fact::Range { array: name, lower, upper } if *name == array.name => {
                let low = lower.as_ref().map_or(Some(0), |e| evaluate(e, sizes))?;
                let high = upper.as_ref().map_or(Some(low + 8), |e| evaluate(e, sizes))?;
                range = Some((low, high));
            }
            Fact::Monotone(name) => monotone |= *name == array.name,
            _ => {}
        }
    }
    let mut values: Vec<i64> = (0..count)
        .map(|_| match range {
            Some((low, high)) => low + rng.below(usize::try_from(high - low).unwrap_or(0)) as i64,
            None if dtype.is_unsigned() => rng.below(7) as i64,
            None => rng.below(7) as i64 - 3,
        })
        .collect();
    if monotone {
        values.sort_unstable();
    }
    let mut buffer = Buffer::zeros(dtype, count);
    for (k, v) in values.into_iter().enumerate() {
        let number = match dtype {
            DType::Bool => Number::Bool(v > 0),
            _ if dtype.is_float() && range.is_none() && rng.chance(30) => {
                Number::F64(v as f64 + 0.25).cast(dtype)
            }
            _ => Number::I64(v).cast(dtype),
        };
        buffer.set(k, number);
    }
    Some(buffer)
}

/// Arguments of these sizes with arbitrary integers, so that a value from the wrong cell differs.
/// Arrays with declared facts satisfy them.
pub fn hashed(kernel: &LoopKernel, sizes: &BTreeMap<Name, i64>, seed: u64) -> Option<Arguments> {
    let mut all = arguments(kernel, sizes)?;
    for (name, array) in &mut all.arrays {
        let dtype = array.buffer.dtype();
        let is_declared = kernel.facts.iter().any(|f| f.array() == name);
        if is_declared || dtype.is_float() || dtype == DType::Bool {
            continue;
        }
        let mut rng =
            Rng::new(name.bytes().fold(seed ^ 0x94d0_49bb, |h, b| h.wrapping_mul(31) ^ u64::from(b)));
        for k in 0..array.buffer.len() {
            array.buffer.set(k, Number::I64(rng.bits() as i64).cast(dtype));
        }
    }
    Some(all)
}

/// Whether two results agree: integers exactly, floating-point numbers up to reassociation.
pub fn same(a: Number, b: Number) -> bool {
    if a.as_i128().is_some() {
        return a == b;
    }
    let (x, y) = (a.as_f64(), b.as_f64());
    let close = if a.dtype() == DType::F64 { 1e-9 } else { 1e-3 };
    x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= close * (1.0 + x.abs().max(y.abs()))
}

/// The first difference of two sets of arrays.
pub fn difference(found: &Arguments, expected: &Arguments) -> Option<String> {
    for (name, want) in &expected.arrays {
        let have = found.buffer(name)?;
        for (k, (a, b)) in have.numbers().zip(want.buffer.numbers()).enumerate() {
            if !same(a, b) {
                return Some(format!("{name}, element {k} of its storage: {a} instead of {b}"));
            }
        }
    }
    None
}
