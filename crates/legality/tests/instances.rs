//! Executions that do not correspond to any instance of the declared kernel.

use loopwright_kernel_ir::{Constraint, Diagnostic, LoopKernel};
use loopwright_legality::{Basis, Comparison, Model, Verdict, judge};
use loopwright_poly::Aff;

/// One extra cell of a temporary is computed, from outside the array: nothing reads it, but it is
/// not a declared instance.
#[test]
fn an_instance_that_is_not_declared_is_no_proof() {
    let declared = LoopKernel::parse(
        "\
kernel twice(a: f32[n], b: f32[n], n: i32)
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < n }
temp t: f32[n + 1] global
t[i] = a[i] {id=load, inames=i}
b[j] = 2.0 * t[j] {id=store, inames=j}
",
    )
    .unwrap();
    let longer = declared
        .edit(|data| {
            let n = Constraint::le(&Aff::var("i"), &Aff::var("n"))?;
            data.domains[0].constraints[1] = n;
            Ok::<(), Diagnostic>(())
        })
        .unwrap();
    let Verdict::Unknown { reason, .. } = judge(&declared, &longer) else { panic!("a[n] is read") };
    assert!(reason.starts_with("`load` may run instances that are not declared"), "{reason}");
}

/// The values of two statements are compared down to the operands of function calls.
#[test]
fn another_operand_is_another_value() {
    let kernel = |operand: &str| {
        format!(
            "\
kernel k(a: f32[n], y: f32[n], n: i32)
domain {{ [i] : 0 <= i < n }}
y[i] = fma(a[i], a[i], {operand}) {{id=square}}
"
        )
    };
    let verdict = |operand: &str| {
        let text = format!("{}declared {{\n{}}}\n", kernel(operand), kernel("1.0"));
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}"));
        judge(kernel.declared(), &kernel)
    };
    assert!(matches!(verdict("1.0"), Verdict::Proved { .. }));
    let Verdict::Unknown { reason, .. } = verdict("2.0") else {
        panic!("another value is proved or refuted")
    };
    assert!(reason.contains("`square` computes another value"), "{reason}");
}

/// An instruction says which declared instances it does: `y[i]` gets the value of another one, or
/// the own one by another name.
#[test]
fn an_instance_reads_and_writes_its_own_cells() {
    let declared = "\
kernel k(a: f32[n], y: f32[n], n: i32)
domain { [i] : 0 <= i < n }
y[i] = a[i] * cast(f32, i) {id=put}
";
    let verdict = |cell: &str| {
        let text = format!(
            "\
kernel k(a: f32[n], y: f32[n], n: i32)
domain {{ [i] : 0 <= i < n }}
y[{cell}] = a[{cell}] * cast(f32, n - 1 - i) {{id=put, inames=i, map=[i: n - 1 - i]}}
tree {{
    for i {{
        put
    }}
}}
declared {{
{declared}}}
"
        );
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        judge(kernel.declared(), &kernel)
    };
    assert!(matches!(verdict("n - 1 - i"), Verdict::Proved { .. }));
    let found = verdict("i");
    assert!(matches!(&found, Verdict::Refuted(_)), "{found}");
}

/// A statement is run several times, so that its executions correspond to no declared ones one to
/// one. Besides what the comparison of the two forms asks, the flow of values asks whether these
/// executions are declared, and what its output holds at the end of each form.
#[test]
fn what_the_flow_of_values_asks_is_counted() {
    let kernel = |again: &str, inames: &str, tree: &str| {
        format!(
            "kernel k(a: f32[n], y: f32[n], n: i32)\n\
             domain {{ [i] : 0 <= i < n }}\n\
             {again}y[i] = 2.0 * a[i] {{id=twice, inames={inames}}}\n\
             tree {{\nfor i {{\n{tree}}}\n}}\n"
        )
    };
    let declared = kernel("", "i", "twice\n");
    let after = kernel("domain { [r] : 0 <= r < 4 }\n", "i:r", "for r {\ntwice\n}\n");
    let text = format!("{after}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    let (old, new) = (Model::new(kernel.declared()).unwrap(), Model::new(&kernel).unwrap());
    let (_, _, compared) = Comparison::new(&old, &new).run().unwrap();
    match judge(kernel.declared(), &kernel) {
        Verdict::Proved { basis: Basis::Flow, queries } => assert_eq!(queries, compared + 3),
        verdict => panic!("{verdict}"),
    }
}
