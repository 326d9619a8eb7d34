//! Predicts how long the compiler will take: statements of a body after unrolling.
//!
//! NVRTC unrolls the loops marked for it and then compiles one long body, in time that grows faster
//! than its length. Measured for sm_90a with the register-tiled product, its loop over `k`
//! unrolled: 1465 statements 1.5 s, 2657 2.4 s, 5027 6.8 s, 9767 43 s. A search would spend its
//! time on a few such points, whose binaries exceed the instruction cache.

use loopwright_kernel_ir::Diagnostic;
use loopwright_program::{Program, Step, Stmt, Value};

/// The default limit of a search for the statements of a body.
pub(crate) const MOST_STATEMENTS: usize = 6000;

/// Statements of a body with its unrolled loops written out; a loop that stays one counts once.
fn statements(body: &[Stmt]) -> usize {
    let of = |stmt: &Stmt| match stmt {
        Stmt::For { lower, upper, step, unroll, body, .. } => {
            match trips(lower, upper, *step).filter(|_| *unroll) {
                Some(times) => statements(body).saturating_mul(times),
                None => statements(body).saturating_add(1),
            }
        }
        Stmt::If { body, otherwise, .. } => {
            statements(body).saturating_add(statements(otherwise)).saturating_add(1)
        }
        Stmt::Collective { body, .. } => statements(body),
        Stmt::Let { .. } | Stmt::Set { .. } | Stmt::Declare(_) | Stmt::Sync { .. } => 1,
        Stmt::Store { .. } | Stmt::Update { .. } | Stmt::VectorCopy { .. } => 1,
    };
    body.iter().map(of).fold(0, usize::saturating_add)
}

/// Number of iterations of a loop with constant bounds.
pub(crate) fn trips(lower: &Value, upper: &Value, step: Step) -> Option<usize> {
    match (lower.as_int()?, upper.as_int()?, step) {
        (a, b, Step::Add(s)) if s > 0 => usize::try_from(b.checked_sub(a)?.max(0))
            .ok()
            .map(|n| n.div_ceil(usize::try_from(s).unwrap_or(1))),
        _ => None,
    }
}

/// Refuses a program with a body of more than `most` statements.
pub(crate) fn check(program: &Program, most: usize) -> Result<(), Diagnostic> {
    for kernel in &program.kernels {
        let count = statements(&kernel.body);
        if count > most {
            let message = format!(
                "`{}` has {count} statements once its loops are unrolled, more than {most}: the compiler would take long",
                kernel.name
            );
            return Err(Diagnostic::new("body-too-long", message).help(
                "leave a loop rolled, or give `unroll`, `ilp` and `vec` shorter ones; a higher `most_statements` allows more",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_kernel_ir::LoopKernel;
    use loopwright_lowering::{LowerOptions, lower};
    use loopwright_transforms::Pipeline;

    fn of(steps: &str) -> usize {
        let kernel = LoopKernel::parse(
            "kernel k(x: f32[n, 64], out: f32[n, 64], n: i32)\nassume 0 <= n\n\
             domain { [s, i] : 0 <= s < n and 0 <= i < 64 }\nout[s, i] = 2.0 * x[s, i]\n",
        );
        let steps = Pipeline::parse(&format!("tag_inames(s: block.x)\n{steps}")).expect("steps");
        let kernel = steps.apply(&kernel.expect("a kernel")).expect("legal");
        let program = lower(&kernel, LowerOptions::default()).expect("a program");
        program.kernels.iter().map(|k| statements(&k.body)).max().unwrap_or(0)
    }

    /// The longest bodies of the product's space, which were all compiled and timed: 128 elements
    /// per thread, 32 steps of `k` unrolled.
    #[test]
    fn the_recorded_sweep_is_let_through() {
        let kernel =
            LoopKernel::parse(include_str!("../../../examples/kernels/matmul.lw")).expect("a kernel");
        let pipeline = Pipeline::parse(include_str!("../../../examples/tuning/matmul.pipe")).expect("steps");
        let of = |bk: i64| {
            let point = [("bm", 128), ("bn", 128), ("bk", bk), ("hm", 32), ("hn", 64)];
            let kernel = pipeline.bind(point).and_then(|p| p.apply(&kernel)).expect("legal");
            let program = lower(&kernel, LowerOptions::default()).expect("a program");
            (
                program.kernels.iter().map(|k| statements(&k.body)).max().unwrap_or(0),
                check(&program, MOST_STATEMENTS),
            )
        };
        let (count, verdict) = of(32);
        assert!(verdict.is_ok() && count > 32 * 128, "{count}");
        let (count, verdict) = of(64);
        assert!(verdict.is_err() && count > 64 * 128, "{count}");
    }

    #[test]
    fn unrolled_loops_count_as_often_as_they_run() {
        let rolled = of("");
        assert!(rolled < 6, "{rolled}");
        let all = of("unroll(i)");
        assert!((64..4 * 64).contains(&all), "{all}");
        let eight = of("split_iname(i, 8)\nunroll(i_inner)");
        assert!((8..4 * 8).contains(&eight), "{eight}");
        let both = of("split_iname(i, 8)\nunroll(i_inner)\nunroll(i_outer)");
        assert!((64..4 * 64).contains(&both), "{both}");
    }
}
