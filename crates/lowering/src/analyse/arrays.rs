//! Queries about the shapes and types of arrays.

use loopwright_kernel_ir::{AddressSpace, Array, DType, Diagnostic, Expr, Name, Type};
use loopwright_layout::{ComposedLayout, Layout};
use loopwright_target::Target;

/// Number of elements of a type in the widest access.
pub(crate) fn widest(dtype: DType, target: &Target) -> i64 {
    i64::try_from(target.widest_elements(dtype.bytes())).unwrap_or(1)
}

/// The axes of an array from the slowest to the densest.
pub(crate) fn storage_order(array: &Array) -> Vec<usize> {
    array.storage_order()
}

/// The axis along which neighbouring elements are neighbours in memory. Where axes have strides of
/// their own, all of them have to, and it is the last one whose stride is the constant 1.
pub(crate) fn dense_axis(array: &Array) -> Option<usize> {
    if array.axes.iter().all(|axis| axis.stride.is_none()) {
        return storage_order(array).last().copied();
    }
    if array.space != AddressSpace::Global || array.axes.iter().any(|axis| axis.stride.is_none()) {
        return None;
    }
    array.axes.iter().rposition(|axis| axis.stride == Some(Expr::Int(1)))
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
            // The lengths of an array whose layout is set are those of its modes.
            let padding = if array.layout.is_default() { axis.padding } else { 0 };
            u64::try_from(length).ok().map(|l| l + u64::from(padding))
        })
        .collect()
}

/// The layout that is set of an array of constant shape: a mode for each axis, in storage order.
/// `None` if none is set.
pub(crate) fn set_layout(array: &Array) -> Result<Option<ComposedLayout>, Diagnostic> {
    if array.layout.is_default() {
        return Ok(None);
    }
    if let Some(wrong) = array.layout_fault() {
        return Err(wrong);
    }
    let Some(ComposedLayout { swizzle, offset, layout: Layout::Tuple(modes) }) = array.storage_layout()
    else {
        return Err(Diagnostic::new("internal", format!("`{}` has no layout", array.name)));
    };
    let modes = storage_order(array).into_iter().filter_map(|axis| modes.get(axis).cloned()).collect();
    Ok(Some(ComposedLayout { swizzle, offset, layout: Layout::Tuple(modes) }))
}

/// The known type of a name.
pub(crate) fn known(dtype: &Type, name: &Name) -> Result<DType, Diagnostic> {
    dtype.known().ok_or_else(|| {
        Diagnostic::new("open-type", format!("the type `{dtype}` of `{name}` is not bound"))
            .help("bind it with bind_types, or let the arguments bind it at launch")
    })
}
