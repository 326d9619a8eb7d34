//! Host tensors exported and imported through the structures of DLPack.

use loopwright_kernel_ir::{DType, Diagnostic};
use loopwright_runtime::Tensor;
use loopwright_runtime::dlpack::{Place, Shared};

#[test]
fn every_type_comes_back() -> Result<(), Diagnostic> {
    for dtype in DType::ALL {
        for shape in [&[][..], &[0, 3], &[5], &[2, 3, 4]] {
            let tensor = Tensor::random(shape, dtype, 7)?;
            // SAFETY: nothing else calls the deleters.
            let (plain, versioned) = unsafe {
                (
                    Shared::from_raw(tensor.share()?.into_raw())?,
                    Shared::from_raw_versioned(tensor.share()?.into_raw_versioned())?,
                )
            };
            assert_eq!(Tensor::from_shared(&plain)?, tensor);
            assert_eq!(Tensor::from_shared(&versioned)?, tensor);
            assert_eq!(plain.description().place, Place::host());
        }
    }
    Ok(())
}

/// GPU memory is not read as if it were host memory.
#[test]
fn an_array_of_a_gpu_is_no_tensor() -> Result<(), Diagnostic> {
    let raw = Tensor::random(&[2], DType::F32, 1)?.share()?.into_raw();
    // SAFETY: the structure is live.
    let elsewhere = unsafe {
        (*raw).tensor.place = Place { kind: Place::CUDA, number: 3 };
        Shared::from_raw(raw)?
    };
    assert_eq!(
        Tensor::from_shared(&elsewhere).map_or_else(|d| d.to_string(), |_| String::new()),
        "error[other-device]: the array is on device 3 of kind 2, not on the host\n  help: borrow \
         it on its device with `Device::borrow`"
    );
    Ok(())
}
