//! Where the fields of an array of structs lie that has strides of its own.

use loopwright_kernel_ir::{Arg, Expr, LoopKernel};

/// Strides count elements of 24 bytes: those of a field are in multiples of its type.
#[test]
fn fields_are_as_far_apart_as_the_elements() {
    let text = "\
kernel k(p: particle[n, 5] strides(40, 2), n: i32)
struct particle { x: f32, y: f32, mass: f64, kind: i32 }
domain { [i] : 0 <= i < n }
p[i, 0].y = 1.0
";
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{}", d.render()));
    for (field, bytes) in [("p_x", 4), ("p_y", 4), ("p_mass", 8), ("p_kind", 4)] {
        let of = kernel.args.iter().find_map(|arg| match arg {
            Arg::Array(array) if *array.name == *field => Some(&array.axes),
            _ => None,
        });
        let strides: Vec<Option<Expr>> = of.unwrap().iter().map(|axis| axis.stride.clone()).collect();
        assert_eq!(strides, [40, 2].map(|elements| Some(Expr::Int(elements * 24 / bytes))), "{field}");
    }
}
