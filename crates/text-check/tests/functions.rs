//! The user's device functions, compiled for the host.

use loopwright_kernel_ir::{DType, DeviceFunction, Name, Number};
use loopwright_text_check::device_functions;

fn function(name: &str, params: &[DType], result: DType, source: &str) -> DeviceFunction {
    DeviceFunction { name: Name::new(name), params: params.to_vec(), result, source: Name::new(source) }
}

/// What a function of this text gives for these numbers.
fn called(name: &str, result: DType, source: &str, args: &[Number]) -> Number {
    let params: Vec<DType> = args.iter().map(|number| number.dtype()).collect();
    let compiled =
        device_functions(&[function(name, &params, result, source)]).unwrap_or_else(|d| panic!("{d}"));
    compiled[name](args)
}

#[test]
fn numbers_of_each_kind_are_passed_and_returned() {
    use Number::{Bool, F32, F64, I8, I32, I64, U64};
    let plus = |c_type: &str| format!("__device__ {c_type} plus({c_type} a, {c_type} b) {{ return a + b; }}");
    let cases = [
        ("float", DType::F32, [F32(1.5), F32(0.25)], F32(1.75)),
        ("double", DType::F64, [F64(1e300), F64(1e284)], F64(1e300 + 1e284)),
        ("signed char", DType::I8, [I8(100), I8(100)], I8(-56)),
        ("int", DType::I32, [I32(-3), I32(1)], I32(-2)),
        // Signed integers wrap, as on a GPU.
        ("int", DType::I32, [I32(i32::MAX), I32(1)], I32(i32::MIN)),
        ("long long", DType::I64, [I64(-1), I64(i64::MIN)], I64(i64::MAX)),
        ("unsigned long long", DType::U64, [U64(u64::MAX), U64(2)], U64(1)),
    ];
    for (c_type, dtype, args, wanted) in cases {
        assert_eq!(called("plus", dtype, &plus(c_type), &args), wanted, "{c_type}");
    }
    let half = |x: f32| Number::from_bits(DType::F16, u64::from(half::f16::from_f32(x).to_bits()));
    let source = "__device__ __half twice(__half a) { return __float2half(2.0f * __half2float(a)); }";
    assert_eq!(called("twice", DType::F16, source, &[half(1.5)]), half(3.0));
    let source = "__device__ bool less(float a, double b) { return a < b; }";
    assert_eq!(called("less", DType::Bool, source, &[F32(1.0), F64(2.0)]), Bool(true));
}

#[test]
fn a_function_calls_those_before_it_and_may_have_a_name_of_the_library() {
    let functions = [
        function("cbrt", &[DType::F32], DType::F32, "__device__ float cbrt(float x) { return x + 1.0f; }"),
        function(
            "both",
            &[DType::F32],
            DType::F32,
            "__device__ float both(float x) { return 2.0f * cbrt(x); }",
        ),
    ];
    let compiled = device_functions(&functions).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(compiled["both"](&[Number::F32(3.0)]), Number::F32(8.0));
}

#[test]
fn texts_that_do_not_compile_or_know_their_thread_are_refused() {
    let refused = |source: &str| {
        let function = function("f", &[DType::F32], DType::F32, source);
        let error = device_functions(&[function]).map(|_| ()).unwrap_err();
        assert_eq!(error.code, "device-function", "{error}");
        error.to_string()
    };
    assert!(refused("__device__ float f(float x) { return y; }").contains("`f` cannot be compiled"));
    for body in ["x + threadIdx.x", "__shfl_sync(~0u, x, 0)", "x + (float)clock64()"] {
        let message = refused(&format!("__device__ float f(float x) {{ return {body}; }}"));
        assert!(message.contains("no function of its arguments"), "{message}");
    }
}
