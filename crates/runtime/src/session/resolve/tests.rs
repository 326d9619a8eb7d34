use super::*;
use crate::Tensor;

/// The value of `n` that follows from the lengths of `x` and `y`, if these are given.
fn inferred(arguments: &str, x: Option<usize>, y: Option<usize>) -> Option<i64> {
    let text =
        format!("kernel k({arguments}, n: i32)\ndomain {{ [i] : 0 <= i < n }}\ny[i] = 1.0 {{id=one}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}"));
    let mut args = Args::new();
    for (name, length) in [("x", x), ("y", y)] {
        if let Some(length) = length {
            args = args.tensor(name, &Tensor::uninit(&[length], DType::F32).unwrap());
        }
    }
    let mut integers = Integers::new();
    infer(&kernel, &args, &mut integers);
    integers.get("n").copied()
}

#[test]
fn lengths_say_what_parameters_are() {
    let twice = "x: f32[2*n + 1], y: f32[n + 3]";
    assert_eq!(inferred(twice, Some(7), None), Some(3));
    assert_eq!(inferred(twice, Some(8), None), None);
    assert_eq!(inferred(twice, None, Some(7)), Some(4));
    // A plain length takes precedence over an earlier one that is not plain.
    assert_eq!(inferred("x: f32[2*n + 1], y: f32[n]", Some(7), Some(5)), Some(5));
    // n + n // 2 = 3 has the solution n = 2, but equations with quotients are not solved.
    assert_eq!(inferred("x: f32[n + n // 2], y: f32[n]", Some(3), None), None);
    assert_eq!(inferred("x: f32[n // 2], y: f32[n]", Some(3), None), None);
}
