//! Queries about the shapes and types of arrays.

use loopwright_kernel_ir::{Array, DType, Diagnostic, Name, Type};
use loopwright_target::Target;

/// Number of elements of a type in the widest access.
pub(crate) fn widest(dtype: DType, target: &Target) -> i64 {
    i64::try_from(target.widest_elements(dtype.bytes())).unwrap_or(1)
}

/// The axes of an array from the slowest to the densest.
pub(crate) fn storage_order(array: &Array) -> Vec<usize> {
    array.storage_order()
}

/// The constant length of each axis with its padding, in storage order; `None` where one is not
/// constant or has its own stride.
pub(crate) fn constant_dims(array: &Array) -> Option<Vec<u64>> {
    storage_order(array)
        .into_iter()
        .map(|axis| {
            let axis = &array.axes[axis];
            if axis.stride.is_some() {
                return None;
            }
            let length = axis.length.to_aff()?.as_constant()?;
            u64::try_from(length).ok().map(|l| l + u64::from(axis.padding))
        })
        .collect()
}

/// The known type of a name.
pub(crate) fn known(dtype: &Type, name: &Name) -> Result<DType, Diagnostic> {
    dtype.known().ok_or_else(|| {
        Diagnostic::new("open-type", format!("the type `{dtype}` of `{name}` is not bound"))
            .help("bind it with bind_types, or let the arguments bind it at launch")
    })
}
