//! Counts of kernels whose formulas are known.

use loopwright_counts::{Counts, Direction, Operation, count};
use loopwright_kernel_ir::{DType, LoopKernel, Name};

fn counts(text: &str) -> Counts {
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{text}\n{d}"));
    count(&kernel).unwrap_or_else(|d| panic!("{text}\n{d}"))
}

/// The formula of one kind of operation; `0` if there is none.
fn operation(counts: &Counts, operation: &Operation, dtype: DType) -> String {
    let found = counts.operations.iter().find(|o| o.operation == *operation && o.dtype == dtype);
    found.map_or("0".into(), |o| {
        let at_most = if o.total.at_most { "at most " } else { "" };
        format!("{at_most}{}", o.total.formula.as_ref().unwrap())
    })
}

/// The accesses of an array: direction, stride, along, formula or refusal.
fn accesses(counts: &Counts, array: &str) -> Vec<String> {
    let of = counts.accesses.iter().filter(|a| *a.array == *array);
    of.map(|a| {
        let total = match &a.total.formula {
            Ok(formula) => formula.to_string(),
            Err(d) => d.code.to_string(),
        };
        format!("{} {} along {}: {total}", a.direction, a.stride, a.along)
    })
    .collect()
}

fn elements(counts: &Counts, array: &str, direction: Direction) -> String {
    let found = counts.footprints.iter().find(|f| *f.array == *array && f.direction == direction).unwrap();
    match &found.total.formula {
        Ok(formula) => formula.to_string(),
        Err(d) => d.to_string(),
    }
}

#[test]
fn operations_are_counted_by_kind_and_type() {
    let c = counts(
        "kernel mixed(x: f32[n], y: f64[n], k: i32[n], out: f32[n], n: i32)
         assume 0 <= n
         domain { [i] : 0 <= i < n }
         out[i] = if(k[i] > 3, x[i]*2.0 + x[i], exp(x[i])/2.0)
         y[i] = x[i] - y[i]
         k[i] = -k[i] % 7 + i // 2",
    );
    let of = |kind, dtype| operation(&c, &kind, dtype);
    // The sides of a condition on data count fully, as an upper bound.
    assert_eq!(of(Operation::Add, DType::F32), "at most n");
    assert_eq!(of(Operation::FusedMulAdd, DType::F32), "at most n");
    assert_eq!(of(Operation::Call(Name::new("exp")), DType::F32), "at most n");
    assert_eq!(of(Operation::Div, DType::F32), "at most n");
    assert_eq!(of(Operation::Compare, DType::I32), "n");
    assert_eq!(of(Operation::Select, DType::F32), "n");
    assert_eq!(of(Operation::Add, DType::F64), "n");
    assert_eq!(of(Operation::Convert, DType::F64), "n");
    assert_eq!(of(Operation::Mod, DType::I32), "n");
    assert_eq!(of(Operation::Neg, DType::I32), "n");
    assert_eq!(of(Operation::Add, DType::I32), "n");
    assert_eq!(of(Operation::Div, DType::I32), "n");
}

#[test]
fn affine_conditions_are_exact() {
    let c = counts(
        "kernel bands(x: f32[n], out: f32[n], n: i32)
         assume 10 <= n
         domain { [i] : 0 <= i < n }
         out[i] = if(i < 3, x[i], if(i >= n - 2 or i == 5, 2.0*x[i], x[i] + x[i - 3])) if i != 7",
    );
    let of = |kind| operation(&c, &kind, DType::F32);
    // Of n - 1 values of i, three are below 3; i = 5 and the last two make three more.
    assert_eq!(of(Operation::Mul), "3");
    assert_eq!(of(Operation::Add), "n - 7");
    assert_eq!(accesses(&c, "x"), ["load 1 along i: 2*n - 8"]);
    assert_eq!(elements(&c, "out", Direction::Store), "n - 1");
}

#[test]
fn reductions_count_what_an_update_does() {
    let c = counts(
        "kernel norms(a: f32[m, n], s: f32[m], t: i32[m], m: i32, n: i32)
         domain { [r] : 0 <= r < m }
         domain { [i, j] : 0 <= i < n and i <= j < n }
         s[r] = sqrt(sum([i, j], a[r, i]*a[r, j]))",
    );
    let pairs = "(m*n^2 + m*n)/2";
    for kind in [Operation::Add, Operation::Mul, Operation::FusedMulAdd] {
        assert_eq!(operation(&c, &kind, DType::F32), pairs);
    }
    assert_eq!(operation(&c, &Operation::Call(Name::new("sqrt")), DType::F32), "m");
    // `argmin` compares twice at most: the second comparison is under the first.
    let c = counts(
        "kernel least(x: f32[n], v: f32[1], k: i32[1], n: i32)
         domain { [z, i] : 0 <= z < 1 and 0 <= i < n }
         v[z], k[z] = argmin(i, x[i], i)",
    );
    assert_eq!(operation(&c, &Operation::Select, DType::F32), "n");
    assert_eq!(operation(&c, &Operation::Select, DType::I32), "n");
}

#[test]
fn strides_follow_the_layout() {
    let c = counts(
        "kernel strides(a: f32[m, n], b: f32[m, n] order(f), x: f32[n], idx: i32[n], y: f32[m, n], m: i32, n: i32)
         fact 0 <= idx < n
         assume 4 <= n
         domain { [i, j] : 0 <= i < m and 0 <= j < n }
         y[i, j] = a[i, j] + b[i, j] + x[i % 4] + x[n - 1 - j] + x[j // 2] + x[idx[j]] + a[i, 3] {id=all}",
    );
    assert_eq!(accesses(&c, "a"), ["load uniform along j: m*n", "load 1 along j: m*n"]);
    assert_eq!(accesses(&c, "b"), ["load m along j: m*n"]);
    assert_eq!(
        accesses(&c, "x"),
        [
            "load uniform along j: m*n",
            "load -1 along j: m*n",
            "load varying along j: m*n",
            "load by data along j: m*n"
        ]
    );
    assert_eq!(
        elements(&c, "x", Direction::Load),
        "error[count-data]: the elements of `x` in `all` cannot be counted: a subscript is not affine, or \
         read from data"
    );
    assert_eq!(elements(&c, "idx", Direction::Load), "n if 1 <= m");
}

/// Each refusal with its text; other counts of the kernel stand.
#[test]
fn refusals_are_values_with_reasons() {
    let c = counts(
        "kernel ragged(offsets: i32[nseg + 1], x: f32[n], out: f32[nseg], nseg: i32, n: i32)
         fact monotone(offsets)
         fact 0 <= offsets <= n
         domain { [s] : 0 <= s < nseg }
         <i32> lo = offsets[s]
         <i32> hi = offsets[s + 1]
         domain { [i] : lo <= i < hi }
         out[s] = sum(i, x[i]) {id=total}",
    );
    let update = c.parts.iter().find(|p| p.part.to_string() == "total.update").unwrap();
    assert_eq!(
        update.total.formula.as_ref().unwrap_err().to_string(),
        "error[count-data]: `total.update` cannot be counted: `lo <= i` depends on data: `lo` is computed by \
         the kernel"
    );
    assert_eq!(accesses(&c, "x"), ["load 1 along i: count-data"]);
    assert_eq!(accesses(&c, "out"), ["store 1 along s: nseg"]);
    assert_eq!(elements(&c, "offsets", Direction::Load), "nseg + 1 if 1 <= nseg");

    let joined = counts(
        "kernel joined(x: f32[n], out: f32[1], n: i32)
         domain { [z, i] : 0 <= z < 1 and 0 <= i < n }
         tag i: block.x
         out[z] = sum(i, x[i]) {id=total, inames=z, join=atomic}
         tree {
             for z {
                 total.init
                 total.update
                 total.finish
             }
         }",
    );
    let updates = joined.accesses.iter().find(|a| a.direction == Direction::Update).unwrap();
    assert_eq!(
        updates.total.formula.as_ref().unwrap_err().to_string(),
        "error[count-joined]: the updates of `total` cannot be counted: blocks join their results, as \
         lowering decides\n  help: see the program: `loopwright check --schedule`"
    );
}
