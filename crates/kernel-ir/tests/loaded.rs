//! Whether a scalar keeps the values that are loaded into it.

use loopwright_kernel_ir::{DType, LoopKernel, Name};

#[test]
fn a_type_holds_those_whose_values_it_has() {
    for wide in DType::ALL.into_iter().filter(|t| t.is_integer()) {
        for narrow in DType::ALL.into_iter().filter(|t| t.is_integer()) {
            let (Some((low, high)), Some((from, to))) = (wide.range(), narrow.range()) else { continue };
            assert_eq!(wide.holds(narrow), low <= from && to <= high, "{wide} holds {narrow}");
        }
    }
    assert!(DType::F32.holds(DType::F32) && !DType::F64.holds(DType::F32) && !DType::I32.holds(DType::F32));
}

#[test]
fn a_scalar_keeps_what_its_type_holds_or_what_is_declared() {
    let kernel = |fact: &str, scalar: &str| {
        let text = format!(
            "kernel k(x: f32[n], d: i32[n], y: f32[n], n: i32, m: u8)\nassume 1 <= n\n{fact}domain {{ [i] : 0 <= i < n }}\n\
             for i {{\n<{scalar}> t = d[i]\ny[i] = x[i] + t\n}}\n"
        );
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}"));
        kernel.keeps(&Name::new("t"), &Name::new("d"))
    };
    assert!(kernel("", "i32") && kernel("", "i64") && !kernel("", "u8") && !kernel("", "u32"));
    assert!(kernel("fact 0 <= d < 256\n", "u8") && !kernel("fact 0 <= d < 257\n", "u8"));
    assert!(kernel("fact 0 <= d < m\n", "u8") && kernel("fact 0 <= d <= m\n", "u8"));
    assert!(!kernel("fact 0 <= d < n\n", "u8") && !kernel("fact -1 <= d < 9\n", "u8"));
}
