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

const PAIRS: &str = "
    kernel pairs(x: i32[2, n, 3] order(f), w: f32[2], k: i32[2, n], y: f32[n, 3], n: i32)
    assume 1 <= n
    fact 0 <= k < n
    rule first(i) = x[0, i, 2]
    domain { [i, c] : 0 <= i < n and 0 <= c < 3 }
    y[i, c] = w[0]*x[0, k[1, i], c] + w[1]*x[2 - 1, i, c] {id=y}
    x[1, i, 0] = first(i) {id=x}
";

#[test]
fn values_of_an_axis_are_arguments() {
    let apart = read(PAIRS)
        .separated("x", 0, ["re", "im"])
        .and_then(|k| k.separated("w", 0, ["a", "b"]))
        .and_then(|k| k.separated("k", 0, ["unused", "at"]))
        .unwrap_or_else(|d| panic!("{d}"));
    let written = read(
        "kernel pairs(
             re: i32[n, 3] order(f), im: i32[n, 3] order(f), a: f32, b: f32, unused: i32[n], at: i32[n],
             y: f32[n, 3], n: i32
         )
         assume 1 <= n
         fact 0 <= unused < n
         fact 0 <= at < n
         rule first(i) = re[i, 2]
         domain { [i, c] : 0 <= i < n and 0 <= c < 3 }
         y[i, c] = a*re[at[i], c] + b*im[i, c] {id=y}
         im[i, 0] = first(i) {id=x}",
    );
    assert_eq!(apart.to_text(), written.to_text());
    assert_eq!(apart, written);
}

#[test]
fn axes_that_cannot_be_arguments_are_refused() {
    let pairs = read(PAIRS);
    let lines = [
        refused(pairs.separated("z", 0, ["a"])),
        refused(pairs.separated("x", 3, ["a"])),
        refused(pairs.separated("x", 1, ["a"])),
        refused(pairs.separated("x", 2, ["a", "b", "d"])),
        refused(pairs.separated("x", 0, ["a", "b", "d"])),
        refused(pairs.separated("x", 0, ["a", "y"])),
        refused(read("kernel f(x: f32[2])\nx[0] = x[1]").separated("x", 0, ["a", "b"])),
        refused(read("kernel f(x: i32[2], y: f32[4])\nfact 0 <= x < 4\ny[x[0]] = 1.0").separated(
            "x",
            0,
            ["a", "b"],
        )),
        refused(read("kernel f(x: f32[2, 8] strides(9, _), y: f32[2])\ny[1] = x[0, 0]").separated(
            "x",
            0,
            ["a", "b"],
        )),
    ];
    assert_eq!(
        lines.concat(),
        r"
error[unknown-name]: `pairs` has no array argument `z`
  help: steps change temporaries: `separate_axis`, `concatenate_arrays`

error[separate-axis]: axis 3 of `x` cannot be separated: it has 3 axes
  help: axis 0 is the first

error[separate-axis]: axis 1 of `x` cannot be separated: its length is n, and 1 names are given
  help: give a name for each value of an axis of constant length

error[separate-axis]: axis 2 of `x` cannot be separated: `x[0, k[1, i], c]` has a subscript on it that is no number of the axis
  help: write an instruction for each value

error[separate-axis]: axis 0 of `x` cannot be separated: its length is 2, and 3 names are given
  help: give a name for each value of an axis of constant length

error[duplicate-name]: `pairs` has a `y` already
  help: give the new argument another name

error[separate-axis]: axis 0 of `x` cannot be separated: the kernel writes it, and numbers are passed by value
  help: add an axis of length 1 in the text

error[separate-axis]: axis 0 of `x` cannot be separated: a fact is declared about it that would be about none of the arguments
  help: leave the fact out

error[storage-differs]: `x` has strides or modes, which say where it lies as one array
  help: leave the strides to the shape
"
    );
}

const THREE: &str = "
    kernel three(a: f32[n, m], b: f32[n, 2], c: f32[n, m - 1], y: f32[n], n: i32, m: i32)
    assume 1 <= n and 2 <= m
    domain { [i, k] : 0 <= i < n and 0 <= k < m - 1 }
    rule last(i) = c[i, m - 2]
    y[i] = sum(k, a[i, k]*c[i, k]) + b[i, i // n] {id=y}
    a[i, 0] = last(i) {id=a}
";

#[test]
fn arguments_behind_one_another_are_one() {
    let one = read(THREE).concatenated(["a", "b", "c"], 1, "all").unwrap_or_else(|d| panic!("{d}"));
    let written = read(
        "kernel three(all: f32[n, 2*m + 1], y: f32[n], n: i32, m: i32)
         assume 1 <= n and 2 <= m
         domain { [i, k] : 0 <= i < n and 0 <= k < m - 1 }
         rule last(i) = all[i, 2*m]
         y[i] = sum(k, all[i, k]*all[i, k + m + 2]) + all[i, i // n + m] {id=y}
         all[i, 0] = last(i) {id=a}",
    );
    assert_eq!(one.to_text(), written.to_text());
    assert_eq!(one, written);
}

#[test]
fn arguments_that_do_not_fit_behind_one_another_are_refused() {
    let three = read(THREE);
    // Where `a` has no elements, `b` would begin before the whole.
    let short = "kernel f(a: f32[n - 3], b: f32[n], y: f32[n], n: i32)
                 domain { [i] : 0 <= i < n }
                 y[i] = b[i] + if(i < n - 3, a[i], 0.0)";
    let lines = [
        refused(three.concatenated(["a", "b"], 0, "all")),
        refused(three.concatenated(["a", "a"], 1, "all")),
        refused(three.concatenated(["a", "y"], 1, "all")),
        refused(three.concatenated(["a", "b"], 1, "last")),
        refused(three.concatenated::<&str>([], 1, "all")),
        refused(read(short).concatenated(["a", "b"], 0, "all")),
    ];
    assert_eq!(
        lines.concat(),
        r"
error[storage-differs]: `a` and `b` have different types, numbers of axes, or lengths on other axes
  help: declare them alike

error[storage-differs]: `a` is listed twice
  help: list it once

error[storage-differs]: `y` has no affine length on axis 1
  help: name another axis

error[duplicate-name]: `three` has a `last` already
  help: give the new argument another name

error[storage-differs]: no arrays are listed
  help: list at least two

error[out-of-bounds]: `all[i + n - 3]` exceeds the bounds of `all`
  witness: for i = 0, n = 2: the subscript -1, of an axis of length 1
  help: 3 <= i + n has to hold: correct the domain or the shape, or add an assumption
"
    );
}
