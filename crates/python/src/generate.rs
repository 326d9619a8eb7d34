//! Kernels from a line.

use std::collections::BTreeMap;

use loopwright::generate::Generator;
use loopwright::prelude::{DType, Diagnostic, LoopKernel};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::exchange;
use crate::kernel::{Kernel, dtype};

/// What is not as usual, by name: `name`, `acc`, `out`.
type Options = BTreeMap<String, String>;

fn generator(options: &Options) -> Result<Generator, Diagnostic> {
    let mut generator = Generator::new();
    for (option, value) in options {
        generator = match option.as_str() {
            "name" => generator.name(value.as_str()),
            "acc" => generator.acc(dtype(value)?),
            _ => generator.out(dtype(value)?),
        };
    }
    Ok(generator)
}

fn made(make: impl FnOnce() -> Result<LoopKernel, Failure>) -> PyResult<Kernel> {
    Ok(Kernel::declared_as(make()?))
}

/// The kernel of an einsum for operands of these types.
#[pyfunction]
pub fn einsum(specification: &str, types: Vec<String>, options: Options) -> PyResult<Kernel> {
    made(|| {
        let types = types.iter().map(|t| dtype(t)).collect::<Result<Vec<DType>, _>>()?;
        Ok(generator(&options)?.einsum(specification, types)?)
    })
}

/// The kernel of an expression of each element.
#[pyfunction]
pub fn map(
    expression: &str,
    shape: &str,
    r#type: &str,
    scalars: Vec<String>,
    types: BTreeMap<String, String>,
    options: Options,
) -> PyResult<Kernel> {
    made(|| {
        let mut generator = generator(&options)?;
        for scalar in scalars {
            generator = generator.scalar(scalar);
        }
        for (name, own) in types {
            generator = generator.typed(name, dtype(&own)?);
        }
        Ok(generator.map(expression, shape, dtype(r#type)?)?)
    })
}

/// The kernel of a copy with axes in another order.
#[pyfunction]
pub fn copy(shape: &str, axes: Vec<i64>, r#type: &str, options: Options) -> PyResult<Kernel> {
    made(|| Ok(generator(&options)?.copy(shape, &axes, dtype(r#type)?)?))
}

/// The kernel of a reduction along axes.
#[pyfunction]
pub fn reduce(
    operator: &str,
    shape: &str,
    axes: Vec<i64>,
    r#type: &str,
    options: Options,
) -> PyResult<Kernel> {
    made(|| Ok(generator(&options)?.reduce(operator, shape, &axes, dtype(r#type)?)?))
}

/// The kernel of a scan along an axis.
#[pyfunction]
pub fn scan(
    operator: &str,
    shape: &str,
    axis: i64,
    r#type: &str,
    exclusive: bool,
    options: Options,
) -> PyResult<Kernel> {
    made(|| {
        let mut generator = generator(&options)?;
        if exclusive {
            generator = generator.exclusive();
        }
        Ok(generator.scan(operator, shape, axis, dtype(r#type)?)?)
    })
}

/// The kernel of the k largest elements along an axis.
#[pyfunction]
pub fn top_k(k: i64, shape: &str, axis: i64, r#type: &str, options: Options) -> PyResult<Kernel> {
    made(|| Ok(generator(&options)?.top_k(k, shape, axis, dtype(r#type)?)?))
}

/// The type of the elements of an array.
#[pyfunction]
pub fn element_type(value: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    Ok(exchange::dtype_of(value)?.name())
}
