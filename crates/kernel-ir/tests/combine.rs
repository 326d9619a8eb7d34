//! Fused and batched kernels are those that are written by hand, and what cannot be one kernel is
//! refused.

use loopwright_kernel_ir::LoopKernel;

fn read(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()))
}

fn refused(result: Result<LoopKernel, loopwright_kernel_ir::Diagnostics>) -> String {
    match result {
        Ok(kernel) => panic!("it is accepted:\n{kernel}"),
        Err(d) => format!("\n{d}\n"),
    }
}

const FIRST: &str = "
    kernel first(x: T[n], t: T[n], n: i32)
    assume 0 <= n
    domain { [i, k] : 0 <= i < n and 0 <= k < 3 }
    <> s = sum(k, x[i]) {id=s}
    t[i] = s
";

#[test]
fn what_both_have_gets_a_number() {
    let second = read(
        "kernel second(t: T[n], i: T, n: i32, y: T[n])
         assume 0 <= n and n <= 100
         domain { [k] : 0 <= k < n }
         <> s = t[k]*i {id=s}
         y[k] = s {id=set_t, dep=s}",
    );
    let refusal = refused(read(FIRST).fuse(&second, "both"));
    assert_eq!(
        refusal,
        r"
error[fuse-clash]: `i` is an argument of `second`, and something else in the first kernel
  help: give one of them another name
"
    );
    let second = read(&second.to_text().replace("i: T,", "by: T,").replace("* i", "* by"));
    let both = read(FIRST).fuse(&second, "both").unwrap_or_else(|d| panic!("{d}"));
    let written = read(
        "kernel both(x: T[n], t: T[n], n: i32, by: T, y: T[n])
         assume 0 <= n and n <= 100
         domain { [i, k] : 0 <= i < n and 0 <= k < 3 }
         domain { [k_2] : 0 <= k_2 < n }
         <> s = sum(k, x[i]) {id=s}
         t[i] = s {id=set_t}
         <T> s_2 = t[k_2]*by {id=s_2}
         y[k_2] = s_2 {id=set_t_2, dep=s_2}",
    );
    assert_eq!(both.to_text(), written.to_text());
    assert_eq!(both, written);
}

#[test]
fn kernels_that_do_not_fit_are_refused() {
    let first = read(FIRST);
    let other = |text: &str| refused(first.fuse(&read(text), "both"));
    assert_eq!(
        other("kernel b(t: f64[n], n: i32)\ndomain { [i] : 0 <= i < n }\nt[i] = 0.0"),
        r"
error[fuse-clash]: the argument `t` is declared differently in the two kernels
  help: declare it alike, or give one of them another name
"
    );
    assert_eq!(
        other("kernel b(y: f64[n], n: i32)\noption fast_math\ndomain { [i] : 0 <= i < n }\ny[i] = 0.0"),
        r"
error[fuse-options]: `first` and `b` have different options
  help: options are those of the whole kernel: give both kernels the same
"
    );
    let empty = other("kernel b(y: f64[n], n: i32)\nassume n < 0\ny[0] = 0.0 if n > 3");
    assert!(empty.trim_start().starts_with("error[empty-context]"), "{empty}");
    let writes = read("kernel a(p: i32[n], n: i32)\ndomain { [i] : 0 <= i < n }\np[i] = 3*i");
    let reads = read(
        "kernel b(p: i32[n], y: f32[n], n: i32)
         fact 0 <= p < n
         domain { [i] : 0 <= i < n }
         y[p[i]] = 1.0",
    );
    let fact = r"
error[fuse-fact]: `b` has a fact about `p`, which `a` writes
  help: facts are checked before the kernel runs: leave it out, or keep the kernels apart
";
    assert_eq!(refused(writes.fuse(&reads, "both")), fact);
    assert_eq!(refused(reads.fuse(&writes, "both")), fact);
    let split = first.edit::<()>(|_| Ok(())).unwrap();
    assert_eq!(
        refused(split.fuse(&first, "both")),
        r"
error[transformed]: `first` has been transformed, and `fuse` takes declared kernels
  help: do it first, and transform the result
"
    );
}

#[test]
fn what_varies_gets_an_axis() {
    let one = read(
        "kernel one(a: f32[m, n] order(f), by: f32, sums: f32[m], m: i32, n: i32, count: i32)
         assume 1 <= n
         temp row: f32[n] global
         temp s: f32
         rule at(p) = row[p]
         domain { [i] : 0 <= i < m }
         domain { [j] : 0 <= j < n }
         for i {
             row[j] = by*a[i, j]
             s = sum(j, at(j))
             sums[i] = s if s > by
         }",
    );
    let many = one.batched("b", "count", ["a", "by", "sums", "row"]).unwrap_or_else(|d| panic!("{d}"));
    let written = read(
        "kernel one(
             a: f32[count, m, n] order(0, 2, 1), by: f32[count], sums: f32[count, m], m: i32, n: i32,
             count: i32
         )
         assume 1 <= n
         temp row: f32[count, n] global
         temp s: f32
         rule at(p) = row[b, p]
         domain { [b] : 0 <= b < count }
         domain { [i] : 0 <= i < m }
         domain { [j] : 0 <= j < n }
         for b, i {
             row[b, j] = by[b]*a[b, i, j]
             s = sum(j, row[b, j])
             sums[b, i] = s if s > by[b]
         }",
    );
    assert_eq!(many.to_text(), written.to_text());
    assert_eq!(many, written);
}

#[test]
fn batches_that_mean_nothing_are_refused() {
    let one = read(
        "kernel one(x: f32[n], idx: i32[n], y: f32[n], n: i32)
         fact injective(idx)
         fact 0 <= idx < n
         domain { [i] : 0 <= i < n }
         y[idx[i]] = x[i]",
    );
    let batched = |size: &str, list: &[&str]| refused(one.batched("b", size, list.to_vec()));
    assert_eq!(
        batched("count", &["x"]),
        r"
error[batch-shared]: `y` is written, and each problem would overwrite what the last one wrote
  help: list it, so that each problem has results of its own
"
    );
    assert_eq!(
        batched("count", &["idx", "y"]),
        r"
error[batch-varying]: the kernel has a fact about `idx` that needs an array of one axis
  help: leave the fact out, or let the problems share the array
"
    );
    assert_eq!(
        batched("count", &["n", "y"]),
        r"
error[batch-varying]: `n` is in bounds, lengths, assumptions or facts, and cannot vary
  help: problems of one batch have one size: leave it out of the list
"
    );
    assert!(batched("x", &["y"]).trim_start().starts_with("error[duplicate-name]: `one` has a `x` already"));
    assert!(
        batched("count", &["z", "y"]).trim_start().starts_with("error[unknown-name]: `one` has no argument")
    );
    // A size of the kernel may be the number of problems.
    assert!(one.batched("b", "n", ["x", "y"]).is_ok());
}
