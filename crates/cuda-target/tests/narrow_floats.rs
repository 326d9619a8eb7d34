//! Floating-point numbers below 32 bits are stored and converted. Arithmetic on them rounds after
//! each operation, unlike the declared kernel's: a program that asks for it is not printed.

use loopwright_cuda_target::cuda_source;
use loopwright_program::Program;

/// The CUDA C of a program that stores this value of two elements, or the refusal.
fn source(dtype: &str, value: &str) -> Result<String, String> {
    let text = format!(
        "program k(x, y) index i32\nglobal x: {dtype}[2] read\nglobal y: {dtype}[1] written\n\
         leaf set \"y[0] = ...\"\nhost {{\n launch k\n}}\nkernel k(x, y written) {{\n grid(1, 1, 1)\n \
         block(1, 1, 1)\n\n store y[0] = {value} {{set}}\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    cuda_source(&program).map(|source| source.text).map_err(|d| format!("{}: {}", d.code, d.message))
}

#[test]
fn arithmetic_on_narrow_floats_is_refused() {
    for dtype in ["f16", "bf16"] {
        assert!(source(dtype, "x[0]").is_ok_and(|text| text.contains("y[0] = x[0];")));
        for value in ["x[0] + x[1]", "x[0] * x[1]", "min(x[0], x[1])", "-x[0]", "sqrt(x[0])"] {
            let refusal = source(dtype, value).expect_err(value);
            let reason = format!("arithmetic on {dtype}, which has to be done in f32");
            assert!(refusal.starts_with("malformed-program: ") && refusal.contains(&reason), "{refusal}");
            assert!(source("f32", value).is_ok(), "{value}");
        }
    }
}
