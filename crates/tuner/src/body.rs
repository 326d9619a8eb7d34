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
        Stmt::Collective { .. } | Stmt::Atom { .. } => inside(stmt),
        _ => inside(stmt).saturating_add(1),
    };
    body.iter().map(of).fold(0, usize::saturating_add)
}

/// The same of what is inside a statement.
fn inside(stmt: &Stmt) -> usize {
    stmt.running().map(|body| statements(body)).fold(0, usize::saturating_add)
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
                "`{}` has {count} statements after unrolling, more than {most}: the compiler \
                 would take too long",
                kernel.name
            );
            return Err(Diagnostic::new("body-too-long", message).help(
                "leave a loop rolled, or unroll shorter loops by `unroll`, `ilp` and `vec`; a \
                 higher `most_statements` allows more",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts the statements of a program with this body.
    fn of(body: &str) -> usize {
        let program = Program::parse(&format!(
            "program k(x, m: i32) index i32\n\
             global x: f32[64] written\n\
             host {{\n\
             launch k\n\
             }}\n\
             kernel k(x written, m: i32) {{\n\
             grid(1, 1, 1)\n\
             block(1, 1, 1)\n\
             var i: i32\n\
             var j: i32\n\
             {body}\n\
             }}\n"
        ));
        statements(&program.unwrap_or_else(|d| panic!("{}", d.render())).kernels[0].body)
    }

    #[test]
    fn unrolled_loops_count_as_often_as_they_run() {
        let nested = |outer: &str, inner: &str| {
            of(&format!(
                "for i: i32 = 0 to 64 step 8 {outer} {{\n\
                 for j: i32 = i to i + 8 {inner} {{\n\
                 store x[j] = 0.0f32\n\
                 }}\n\
                 }}"
            ))
        };
        // A loop that stays one is a statement.
        assert_eq!(nested("", ""), 3);
        assert_eq!(nested("unroll", ""), 8 * 2);
        // The number of iterations is known only of loops with constant bounds.
        assert_eq!(nested("", "unroll"), 3);
        let constant = "for i: i32 = 0 to 8 unroll {\n\
                        for j: i32 = 0 to 10 step 4 unroll {\n\
                        store x[j] = 0.0f32\n\
                        }\n\
                        }";
        assert_eq!(of(constant), 8 * 3);
        assert_eq!(of("for i: i32 = 0 to m unroll {\nstore x[i] = 0.0f32\n}"), 2);
    }

    #[test]
    fn both_sides_of_a_condition_count() {
        assert_eq!(of("if m > 0 {\nstore x[0] = 0.0f32\n} else {\nstore x[1] = 0.0f32\nbarrier block\n}"), 4);
    }
}
