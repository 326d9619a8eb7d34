//! Math functions of both precisions, and what the printer refuses.

use crate::common;

use common::*;
use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::{DType, MATH_FUNCTIONS, Precision};
use loopwright_program::*;
use loopwright_text_check::{Arguments, Checker, Order};

/// The function's value; those without a counterpart in Rust's library by identities or tables.
fn expected(name: &str, x: f64) -> Option<f64> {
    Some(match name {
        "min" => x.min(0.5),
        "max" => x.max(0.5),
        "abs" => x.abs(),
        "isnan" | "isinf" | "signbit" => 0.0,
        "isfinite" => 1.0,
        "logb" | "ilogb" => -2.0,
        // 2 times 1/2 is nearer to 1/4 than nothing: of two the even multiple, 0.
        "remainder" => x,
        // Times 2 to the power of 3.
        "ldexp" => 2.0,
        "rhypot" => 1.0 / x.hypot(0.5),
        "norm3d" => 0.75,
        "rnorm3d" => 1.0 / 0.75,
        "norm4d" => 0.8125f64.sqrt(),
        "rnorm4d" => 1.0 / 0.8125f64.sqrt(),
        // From tables: of 1/4, of order 3.
        "bessel_jn" => 0.00032425125267590815,
        "bessel_yn" => -328.51619572415996,
        "bessel_i0" => 1.015_686_141_223_608,
        "bessel_i1" => 0.125_979_108_945_467_93,
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "round" => x.round(),
        "trunc" => x.trunc(),
        "sqrt" => x.sqrt(),
        "rsqrt" => 1.0 / x.sqrt(),
        "cbrt" => x.cbrt(),
        "rcbrt" => 1.0 / x.cbrt(),
        "exp" => x.exp(),
        "exp2" => x.exp2(),
        // The root of the root of 10.
        "exp10" => 10f64.sqrt().sqrt(),
        "expm1" => x.exp_m1(),
        "log" => x.ln(),
        "log2" => x.log2(),
        "log10" => x.log10(),
        "log1p" => x.ln_1p(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tan" => x.tan(),
        "sinpi" | "cospi" => 0.5f64.sqrt(),
        "asin" => x.asin(),
        "acos" => x.acos(),
        "atan" => x.atan(),
        "atan2" => x.atan2(0.5),
        "sinh" => x.sinh(),
        "cosh" => x.cosh(),
        "tanh" => x.tanh(),
        "asinh" => x.asinh(),
        "acosh" => f64::NAN,
        "atanh" => x.atanh(),
        // erf(0.25), from the tables.
        "erf" => 0.2763263901682369,
        "erfc" => 1.0 - 0.2763263901682369,
        // gamma(1/4), from the tables.
        "lgamma" => 3.625609908221908f64.ln(),
        "tgamma" => 3.625609908221908,
        // From tables: of 1/4.
        "erfcx" => 0.7703465477309968,
        "erfinv" => 0.2253120550121781,
        "erfcinv" => 0.8134198475976185,
        "normcdf" => 0.5987063256829237,
        "normcdfinv" => -0.6744897501960817,
        "bessel_j0" => 0.9844359292958527,
        "bessel_j1" => 0.12402597732272692,
        "bessel_y0" => -0.9315730249300587,
        "bessel_y1" => -2.7041052293152825,
        "rint" | "nearbyint" | "fdim" => 0.0,
        "nextafter" => x,
        "pow" => x.powf(0.5),
        "fmod" => x % 0.5,
        "hypot" => x.hypot(0.5),
        "fma" => x * 0.5 + 0.5,
        "copysign" => x.copysign(0.5),
        // 0.25 has few enough bits. `values` in the tests of the workspace draws others.
        "to_tf32" | "truncate_to_tf32" => x,
        _ => return None,
    })
}

#[test]
fn math_functions_are_those_of_the_name() {
    let index = DType::I32;
    let mut b = Builder::new("math", index, [1, 1, 1]);
    let mut arguments = Arguments::new();
    let mut cases = vec![];
    for dtype in [DType::F32, DType::F64] {
        let x = b.array(&format!("x_{dtype}"), dtype, Value::int(index, 1), false);
        arguments = arguments.array(format!("x_{dtype}"), bytes(dtype, 0.25));
        for function in MATH_FUNCTIONS.iter().filter(|f| f.arity > 0) {
            for precision in [Precision::Precise, Precision::Fast] {
                let name = format!("y_{}_{dtype}_{precision:?}", function.name).to_lowercase();
                let to = b.array(&name, dtype, Value::int(index, 1), true);
                let zero = Value::int(index, 0);
                let mut args = vec![load(dtype, at(x, zero.clone()))];
                args.resize(function.arity, float(dtype, 0.5));
                if let Some(k) = function.integer {
                    args.swap(0, 1 - k);
                    args[k] = Value::int(DType::I32, 3);
                }
                let result = function.result_of(dtype);
                b.push(store(at(to, zero), call(function.name, result, precision, args).cast(dtype)));
                arguments = arguments.array(&*name, bytes(dtype, -7.0));
                let value = expected(function.name, 0.25).unwrap_or_else(|| panic!("{}", function.name));
                cases.push((name, dtype, value));
            }
        }
    }
    let compiled = Checker::new().unwrap().compile(&b.program).unwrap_or_else(|e| panic!("{e}"));
    let text = &compiled.source().text;
    for part in ["__expf(", "__powf(", "expf(", "exp(", "rsqrtf(", "rsqrt(", "fabs(", "fminf(", "fmax("] {
        assert!(text.contains(&format!("= {part}")), "{part}\n{text}");
    }
    // Approximations exist for f32 only.
    assert!(!text.lines().any(|l| l.contains("_f64_fast[0] = __")), "{text}");
    compiled.run(&mut arguments, Order::Forwards).unwrap();
    for (name, dtype, value) in cases {
        let found = &arguments.arrays[&*name];
        let (found, tolerance) = match dtype {
            DType::F32 => (f64::from(f32::from_ne_bytes(found[..].try_into().unwrap())), 1e-6),
            _ => (f64::from_ne_bytes(found[..].try_into().unwrap()), 1e-14),
        };
        let near = (found - value).abs() <= tolerance * (1.0 + value.abs());
        assert!(near || (found.is_nan() && value.is_nan()), "{name}: {found}, not {value}");
    }
}

fn bytes(dtype: DType, value: f64) -> Vec<u8> {
    match dtype {
        DType::F32 => (value as f32).to_ne_bytes().to_vec(),
        _ => value.to_ne_bytes().to_vec(),
    }
}

/// The program `y[0] = value` with an array `x` of the type.
fn with_value(name: &str, dtype: DType, value: impl Fn(Value) -> Value) -> Program {
    let mut b = Builder::new("refused", DType::I32, [32, 1, 1]);
    let zero = Value::int(DType::I32, 0);
    let x = b.array(name, dtype, zero.clone(), false);
    let y = b.array("y", dtype, zero.clone(), true);
    b.push(store(at(y, zero.clone()), value(load(dtype, at(x, zero)))));
    b.program
}

#[test]
fn names_that_cuda_c_has_taken_are_refused() {
    assert!(cuda_source(&with_value("x", DType::F32, |x| x)).is_ok());
    for name in ["float4", "register", "expf", "threadIdx", "a__b", "2x"] {
        let error = cuda_source(&with_value(name, DType::F32, |x| x)).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "error[illegal-name]: `{name}` cannot be a name in CUDA C\n  help: choose \
                 another: keywords, builtin types and functions of CUDA C, and names with `__` \
                 are reserved"
            )
        );
    }
}

#[test]
fn programs_that_break_their_invariants_are_refused() {
    let sum = |x: Value| Value::binary(BinOp::Add, x.clone(), x);
    let error = cuda_source(&with_value("x", DType::F16, sum)).unwrap_err();
    assert_eq!(error.to_string(), "error[malformed-program]: arithmetic on f16, which has to be done in f32");
    let unknown = |x: Value| call("gamma", DType::F32, Precision::Precise, vec![x]);
    let error = cuda_source(&with_value("x", DType::F32, unknown)).unwrap_err();
    assert_eq!(error.to_string(), "error[unknown-function]: there is no function `gamma`");
    let mut missing = with_value("x", DType::F32, |_| Value::var(DType::F32, VarId(7)));
    assert_eq!(
        cuda_source(&missing).unwrap_err().to_string(),
        "error[malformed-program]: variable 7 does not exist"
    );
    missing.kernels[0].body.clear();
    assert!(cuda_source(&missing).is_ok());
}
