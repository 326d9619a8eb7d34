//! Updates by operators with names, which are exchanged by compare-and-swap: the emulator and the
//! printed text compute what the declared kernel says, wherever threads meet in an element.

use std::collections::BTreeMap;

use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::{
    lower,
    program::{Atomic, Program, Stmt},
};
use loopwright_testing::check;
use loopwright_text_check::Checker;
use loopwright_transforms::Pipeline;

/// The declaration of an operator, if it is the kernel's own: one with a lift, one on bits, and one
/// with a choice.
fn declaration(operator: &str) -> &'static str {
    match operator {
        "mixed" => {
            "reduction mixed(e) { state v: like e = 0; lift v = 2*e + 1; combine v = a.v + b.v; result v; commutes }\n"
        }
        "apart" => {
            "reduction apart(e) { state v: like e = 0; lift v = e; combine v = a.v ^ b.v; result v; commutes }\n"
        }
        "nearest" => {
            "reduction nearest(e) {
                state v: like e = highest()
                lift v = e
                combine v = if(abs(a.v) < abs(b.v) or abs(a.v) == abs(b.v) and a.v <= b.v, a.v, b.v)
                result v
                commutes
                trusted \"the one nearer to zero, of two the lesser\"
            }\n"
        }
        _ => "",
    }
}

const SCATTERED: [&str; 4] = [
    "",
    "tag_inames(i: block.x)",
    "split_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)",
    "split_iname(i, 16)\nsplit_iname(i_inner, 4)\n\
     tag_inames(i_outer: block.y, i_inner_outer: thread.y, i_inner_inner: thread.x)",
];

fn lowered(declared: &LoopKernel, steps: &str) -> Program {
    let kernel = Pipeline::parse(steps).unwrap().apply(declared).unwrap_or_else(|e| panic!("{steps}: {e}"));
    lower(&kernel, Default::default()).unwrap_or_else(|e| panic!("{steps}: {e}"))
}

/// The updates of the program's own in the text of its kernels.
fn exchanges(program: &Program) -> usize {
    let mut found = 0;
    for kernel in &program.kernels {
        Stmt::visit(&kernel.body, &mut |s| {
            found += usize::from(matches!(s, Stmt::Update { atomic: Atomic::By(_), .. }));
        });
    }
    found
}

/// Runs a program and its text for all of these sizes.
fn compare(declared: &LoopKernel, program: &Program, sizes: &[[i64; 2]]) {
    let checker = Checker::new().unwrap();
    for [n, m] in sizes {
        let sizes = BTreeMap::from([("n".into(), *n), ("m".into(), *m)]);
        assert!(check::is_compared(declared, &sizes).is_ok_and(|is| is), "{declared} at {sizes:?}");
        for outcome in
            [check::run(declared, program, &sizes), check::run_text(&checker, declared, program, &sizes)]
        {
            outcome.unwrap_or_else(|f| panic!("{}: {}\n{declared}\n{program}", f.kind, f.text));
        }
    }
}

#[test]
fn threads_and_blocks_meet_in_global_memory() {
    let of = |operator: &str, dtype: &str| {
        format!(
            "kernel k(x: {dtype}[n], to: i32[n], out: {dtype}[m], n: i32, m: i32)\n\
             fact 0 <= to < m\n\
             assume 0 <= n and 1 <= m\n\
             {}domain {{ [i] : 0 <= i < n }}\n\
             out[to[i]] {operator}= x[i] if i % 5 != 3 {{id=put}}\n",
            declaration(operator)
        )
    };
    for (operator, dtypes) in [
        ("product", &["i32", "u32", "i64", "u64"][..]),
        ("mixed", &["i32", "u64"]),
        ("apart", &["u32", "i64"]),
        ("nearest", &["i32", "i64", "f32", "f64"]),
    ] {
        for dtype in dtypes {
            let declared = LoopKernel::parse(&of(operator, dtype)).unwrap_or_else(|e| panic!("{e}"));
            for (k, steps) in SCATTERED.iter().enumerate() {
                let program = lowered(&declared, steps);
                // One thread alone reads and writes.
                assert_eq!(exchanges(&program), usize::from(k > 0), "{program}");
                compare(&declared, &program, &[[57, 3], [40, 1], [0, 2], [5, 40]]);
            }
        }
    }
}

#[test]
fn threads_meet_in_shared_memory() {
    let declared = LoopKernel::parse(&format!(
        "kernel k(x: i64[n, 48], to: i32[n, 48], out: i64[n, 4], own: i64[n, 48], n: i32, m: i32)\n\
         fact 0 <= to < 4\n\
         assume 1 <= n and m = 1\n\
         {}domain {{ [s] : 0 <= s < n }}\n\
         domain {{ [i] : 0 <= i < 48 }}\n\
         domain {{ [b] : 0 <= b < 4 }}\n\
         domain {{ [c] : 0 <= c < 4 }}\n\
         domain {{ [t, j] : 0 <= t < 3 and 0 <= j < 48 }}\n\
         temp part: i64[4] shared\n\
         part[b] = 7 {{id=begin, inames=s:b}}\n\
         part[to[s, i]] mixed= x[s, i] {{id=add, inames=s:i}}\n\
         out[s, c] = part[c] {{id=store, inames=s:c}}\n\
         own[s, j] mixed= x[s, j] + t {{id=alone, inames=s:j:t}}\n",
        declaration("mixed")
    ))
    .unwrap_or_else(|e| panic!("{e}"));
    let steps = "tag_inames(s: block.x, i: thread.x, b: thread.x, c: thread.x, j: thread.x)";
    let program = lowered(&declared, steps);
    assert_eq!(exchanges(&program), 1, "{program}");
    compare(&declared, &program, &[[1, 1], [5, 1]]);
}

#[test]
fn blocks_join_partial_results() {
    for (operator, dtype) in [("product", "u32"), ("product", "i64"), ("apart", "i32"), ("nearest", "f32")] {
        let declared = LoopKernel::parse(&format!(
            "kernel k(x: {dtype}[m, n], y: {dtype}[m], n: i32, m: i32)\n\
             assume 0 <= n and 0 <= m <= 64\n\
             {}domain {{ [s, i] : 0 <= s < m and 0 <= i < n }}\n\
             y[s] = {operator}(i, x[s, i]) {{id=total}}\n",
            declaration(operator)
        ))
        .unwrap_or_else(|e| panic!("{e}"));
        for (steps, updates) in [
            ("split_iname(i, 64)\ntag_inames(s: block.x, i_outer: block.y, i_inner: thread.x)", 1),
            ("split_iname(i, 64)\ntag_inames(i_outer: block.x, s: thread.x)", 1),
            ("tag_inames(s: block.x)", 0),
        ] {
            let program = lowered(&declared, &format!("{steps}\nreduce_atomically(total)"));
            assert_eq!(exchanges(&program), updates, "{program}");
            compare(&declared, &program, &[[200, 3], [64, 7], [1, 1], [0, 4]]);
        }
    }
}
