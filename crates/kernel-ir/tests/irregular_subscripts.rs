//! Which kernels have subscripts that a launch has to look at again.

use loopwright_kernel_ir::LoopKernel;

/// Whether a launch looks at the subscripts of a kernel with this statement.
fn is_irregular(statement: &str) -> bool {
    let text = format!(
        "kernel k(x: f32[n], square: f32[n*n], y: f32[n], which: i32[n], n: i32)
         assume 1 <= n
         domain {{ [i] : 0 <= i < n }}
         domain {{ [j] : 0 <= j < n }}
         {statement}"
    );
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{statement}: {}", d.render()));
    kernel.has_irregular_subscripts()
}

#[test]
fn affine_subscripts_and_those_that_read_data_are_regular() {
    for statement in [
        "y[i] = x[n - 1 - i]",
        "y[i] = 2.0*x[i // 2] + x[i % 4 // 4]",
        "y[i] = x[which[i]]",
        "y[i] = x[which[i]*which[i]]",
        "y[which[i]] = 1.0",
        "y[i] = sum(j, if(x[j] > 0.0, x[i], 0.0)) if x[i] > 0.0",
        // It is no subscript that is not affine.
        "y[i] = x[i] if i*i < 100",
    ] {
        assert!(!is_irregular(statement), "{statement}");
    }
}

#[test]
fn a_subscript_that_is_not_affine_is_found_wherever_it_stands() {
    for statement in [
        "y[i] = x[i*i % n]",
        "y[i*i % n] = x[i]",
        "y[i] = x[i] + x[i*i % n]",
        "y[i] = sum(j, x[i] * x[j*j % n])",
        "y[i] = if(x[i*i % n] > 0.0, 1.0, 2.0)",
        "y[i] = if(n > 4, 1.0, x[i*i % n])",
        "y[i] = 1.0 if x[i*i % n] > 0.0",
        // Those around it read data, and are left to the launch.
        "y[i] = x[which[i*i % n]]",
        "y[which[i*i % n]] = 1.0",
    ] {
        assert!(is_irregular(statement), "{statement}");
    }
}

#[test]
fn so_is_an_axis_whose_length_is_not_affine() {
    assert!(is_irregular("y[i] = square[i]"));
    assert!(is_irregular("square[i] = 1.0"));
    assert!(is_irregular("y[i] = x[i] if square[i] > 0.0"));
    assert!(is_irregular("y[i] = square[which[i]]"), "its length alone says so");
}
