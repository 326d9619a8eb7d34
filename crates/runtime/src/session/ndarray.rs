//! Tensors from arrays of the crate `ndarray`, and back (feature `ndarray`). Elements are copied.

use loopwright_kernel_ir::{Diagnostic, Element};
use ndarray::{Array, ArrayBase, Data, Dimension, IxDyn};

use super::tensor::Tensor;

/// A tensor of an array's elements, whatever their order in memory.
///
/// Errors: those of [`Tensor::from_vec`].
///
/// ```
/// use loopwright_runtime::Tensor;
/// use ndarray::{Array2, array};
///
/// let x = array![[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
/// let columns = Tensor::try_from(&x.t())?;
/// assert_eq!(columns.shape(), [3, 2]);
/// assert_eq!(columns.to_vec::<f32>()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// assert_eq!(Array2::<f32>::try_from(&columns)?, x.t());
/// # Ok::<(), loopwright_kernel_ir::Diagnostic>(())
/// ```
impl<T: Element, S: Data<Elem = T>, D: Dimension> TryFrom<&ArrayBase<S, D>> for Tensor {
    type Error = Diagnostic;

    fn try_from(array: &ArrayBase<S, D>) -> Result<Tensor, Diagnostic> {
        Tensor::from_vec(array.shape(), array.iter().copied().collect())
    }
}

/// An array of a tensor's elements, in row-major order.
///
/// Errors: `tensor-type` if the elements are of another type, `tensor-length` if the tensor has not
/// as many axes.
///
/// ```
/// use loopwright_runtime::Tensor;
/// use ndarray::{Array1, Array2, ArrayD};
///
/// let x = Tensor::from_vec(&[2, 2], vec![1, 2, 3, 4])?;
/// assert_eq!(Array2::<i32>::try_from(&x)?[[1, 0]], 3);
/// assert_eq!(ArrayD::<i32>::try_from(&x)?.shape(), [2, 2]);
/// assert_eq!(Array1::<i32>::try_from(&x).unwrap_err().code, "tensor-length");
/// assert_eq!(Array2::<f32>::try_from(&x).unwrap_err().code, "tensor-type");
/// # Ok::<(), loopwright_kernel_ir::Diagnostic>(())
/// ```
impl<T: Element, D: Dimension> TryFrom<&Tensor> for Array<T, D> {
    type Error = Diagnostic;

    fn try_from(tensor: &Tensor) -> Result<Array<T, D>, Diagnostic> {
        let refused = |_| {
            let axes = D::NDIM.map_or("other".to_owned(), |axes| axes.to_string());
            Diagnostic::new(
                "tensor-length",
                format!("an array of {axes} axes was requested, but the shape is {:?}", tensor.shape()),
            )
            .help("request as many axes, or `ArrayD` for any number")
        };
        let array = Array::from_shape_vec(IxDyn(tensor.shape()), tensor.to_vec::<T>()?).map_err(refused)?;
        array.into_dimensionality().map_err(refused)
    }
}
