//! Arrays of a device whose rows lie as far apart as a kernel expects, with more or less memory
//! behind the last one.

use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_runtime::{Args, Compiled, Device, Tensor};

fn compiled(device: &Device, x: &str) -> Compiled {
    let text =
        format!("kernel second_row(x: {x}, y: f32[5])\ndomain {{ [i] : 0 <= i < 5 }}\ny[i] = x[1, i]\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    device.compile(&kernel).unwrap()
}

/// Padding belongs to the array, also behind the last row: 16 elements of memory, of which 13 are
/// enough for a kernel that has strides alone.
#[test]
fn an_array_has_at_least_the_memory_that_the_kernel_expects() {
    let device = Device::emulator();
    let (padded, strided) =
        (compiled(&device, "f32[2, 5 pad 3]"), compiled(&device, "f32[2, 5] strides(8, 1)"));
    let values: Vec<f32> = (0..10u8).map(f32::from).collect();
    let host = Args::new().tensor("x", &Tensor::from_slice(&[2, 5], &values).unwrap());
    let [more, less] = [&padded, &strided].map(|kernel| {
        let bound = kernel.bind(&host).unwrap();
        bound.array("x").unwrap().clone()
    });
    assert_eq!((more.strides(), less.strides(), more.dtype()), (&[8, 1][..], &[8, 1][..], DType::F32));
    for (kernel, x) in [(&padded, &more), (&strided, &less), (&strided, &more)] {
        let outputs = kernel.bind(&Args::new().device_tensor("x", x)).unwrap().run().unwrap();
        assert_eq!(outputs.get("y").unwrap().to_f64(), [5.0, 6.0, 7.0, 8.0, 9.0]);
    }
    let refused = padded.bind(&Args::new().device_tensor("x", &less)).map(drop).unwrap_err();
    assert_eq!(
        (refused.code, &*refused.message),
        (
            "argument-strides",
            "`x` has 13 elements of memory and the kernel expects 16, including the padding after the \
             last row"
        )
    );
}
