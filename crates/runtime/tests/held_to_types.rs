//! Which results are right in bfloat16, after conversions and in values that go around a loop;
//! which strides keep the elements of a result apart; and what is said of shared memory that is too
//! small.

use indexmap::IndexMap;
use loopwright_kernel_ir::{DType, Element, LoopKernel, Name};
use loopwright_runtime::{Args, Device, Tensor, check_limits_of, usual_tolerance};
use loopwright_transforms::Pipeline;

fn parse(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"))
}

/// Whether `found` counts as the `y` that the kernel computes from `x`.
fn is_right<T: Element, U: Element>(text: &str, x: &[T], found: &[U]) -> bool {
    let compiled = Device::emulator().compile(&parse(text)).unwrap_or_else(|d| panic!("{d}"));
    let args = Args::new().tensor("x", &Tensor::from_slice(&[x.len()], x).unwrap());
    let mut results: IndexMap<Name, Tensor> = IndexMap::new();
    results.insert(Name::new("y"), Tensor::from_slice(&[found.len()], found).unwrap());
    compiled.expectation(&args).unwrap().difference(&results, None).unwrap().is_none()
}

/// With 8 bits of fraction, another order of summation changes the last of them.
#[test]
fn bfloat16_has_a_tolerance_between_its_neighbours() {
    let bf16 = usual_tolerance(DType::BF16);
    assert!((2f64.powi(-8)..2f64.powi(-4)).contains(&bf16), "{bf16}");
    assert!(bf16 > usual_tolerance(DType::F16) && bf16 < usual_tolerance(DType::E4M3));
}

/// A conversion to the type that a value has already loses nothing: a copy is one.
#[test]
fn a_conversion_to_the_same_type_rounds_nothing() {
    let text = "\
kernel k(x: f32[n], y: f64[n], n: i32)
domain { [i] : 0 <= i < n }
y[i] = cast(f64, cast(f32, x[i]))
";
    assert!(is_right(text, &[1.0f32], &[1.0f64]));
    assert!(!is_right(text, &[1.0f32], &[1.000_001f64]));
    assert!(is_right(&text.replace("cast(f32, x[i])", "x[i]*x[i]"), &[1.0f32], &[1.000_001f64]));
}

/// What the first statement reads is rounded to half precision in the round before, by a later one.
#[test]
fn what_comes_around_a_loop_is_as_coarse_as_what_is_stored_there() {
    let text = "\
kernel k(x: f64[n], y: f64[4], n: i32)
assume 1 <= n
domain { [first] : 0 <= first < 1 }
domain { [t] : 0 <= t < 4 }
temp s: f64[1]
s[first] = x[first] {id=begin}
y[t] = s[0] {id=keep}
s[0] = cast(f64, cast(f16, s[0])) {id=round, inames=t}
";
    let third = 1.0f64 / 3.0;
    assert!(is_right(text, &[third], &[third; 4]));
    assert!(is_right(text, &[third], &[third * 1.001; 4]));
    assert!(!is_right(text, &[third], &[third * 1.1; 4]));
}

/// Both operands of a reduction are themselves reductions, each in its own type.
#[test]
fn reductions_of_reductions_are_held_to_the_types_of_each() {
    let text = "\
kernel k(x: f32[n], y: f32[1], at: i32[1], n: i32)
assume 1 <= n
domain { [one] : 0 <= one < 1 }
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < 2 }
domain { [l] : 0 <= l < 2 }
y[one], at[one] = argmax(i, sum(j, x[i]), sum(l, i))
";
    assert!(is_right(text, &[1.0f32, 3.0, 2.0], &[6.0f32]));
    assert!(is_right(text, &[1.0f32, 3.0, 2.0], &[6.000_05f32]));
    assert!(!is_right(text, &[1.0f32, 3.0, 2.0], &[6.01f32]));
}

/// Whether a result of these strides is bound.
fn is_bound(dtype: &str, shape: &str, strides: &str) -> Result<(), String> {
    let subscripts = vec!["0"; shape.split(',').count() - 1].join(", ");
    let text = format!(
        "kernel k(y: {dtype}[{shape}] strides({strides}))\ndomain {{ [i] : 0 <= i < 2 }}\n\
         y[{subscripts}, i] = 1\n"
    );
    let compiled = Device::emulator().compile(&parse(&text)).map_err(|d| d.to_string())?;
    compiled.bind(&Args::new()).map(|_| ()).map_err(|d| d.to_string())
}

/// Of two axes, multiples of 2 and of 3 meet first at 6: three steps along the first axis and two
/// along the second. One of the axes may be longer than that.
#[test]
fn elements_that_lie_between_each_other_are_kept_apart() {
    for (shape, strides) in [("7, 2", "2, 3"), ("3, 7", "2, 3"), ("2, 9", "3, 2"), ("3, 2, 2", "2, 3, 8")] {
        assert_eq!(is_bound("f32", shape, strides), Ok(()), "{shape} by {strides}");
    }
    for (shape, strides) in [("4, 3", "2, 3"), ("3, 4", "3, 2"), ("3, 2, 2", "2, 3, 7")] {
        assert!(is_bound("f32", shape, strides).is_err(), "{shape} by {strides}");
    }
}

/// Three axes with more elements than are compared one by one: each stride exceeds the reach of the
/// smaller ones.
#[test]
fn strides_of_large_results_tell() {
    assert_eq!(is_bound("i8", "300, 300, 300", "90000, 300, 1"), Ok(()));
}

/// The array with the most bytes is named, not that with the most elements; and what it is a copy
/// of.
#[test]
fn the_largest_array_in_shared_memory_is_named() {
    let text = "\
kernel k(b: i8[n], x: f32[n], y: f32[n], n: i32)
domain { [i] : 0 <= i < n }
temp own: i8[600] shared
own[i % 512] = b[i] {id=keep}
y[i] = x[i] + cast(f32, own[i % 512]) + cast(f32, b[i]) {id=use}
";
    let told = |steps: &str, fewest: u32| {
        let pipeline = Pipeline::parse(steps).unwrap();
        let device = Device::emulator();
        let compiled = device
            .compile_pipeline(&parse(text), &pipeline, &Default::default())
            .unwrap_or_else(|d| panic!("{d}"));
        let stages = compiled.stages().unwrap();
        let mut limits = device.limits().clone();
        limits.shared_per_block_optin = fewest;
        limits.shared_per_block = fewest;
        check_limits_of(compiled.kernel(), &stages.program, &limits).unwrap_err().to_string()
    };
    let steps = "split_iname(i, 256)\nadd_prefetch(b, [i_inner])\nadd_prefetch(x, [i_inner])";
    let text = told(steps, 512);
    assert!(text.contains("`x_tile` has 1024 bytes, a copy of `x`"), "{text}");
    let steps = "split_iname(i, 64)\nadd_prefetch(b, [i_inner])";
    let text = told(steps, 512);
    assert!(text.contains("`own` has 600 bytes") && !text.contains("a copy of"), "{text}");
}
