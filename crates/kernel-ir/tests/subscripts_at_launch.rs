//! Subscripts that are not affine, for the sizes of a launch: validation has tried them on small
//! numbers only.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{LoopKernel, Name};

/// What is found for these values of `n` and `m`: nothing, or the code and the witness.
fn found(statement: &str, n: i64, m: i64) -> Result<(), (&'static str, String)> {
    let text = format!(
        "kernel k(x: f32[1600], z: f32[2*n], t: f32[n*(n + 1) // 2], y: f32[m + 1], which: i32[1600],
                  r: f32[1600*n - n*n], n: i32, m: i32)
         assume 0 <= n and 0 <= m
         domain {{ [j] : 0 <= j < m }}
         domain {{ [i] : 0 <= i < 2*n }}
         domain {{ [p, q] : 0 <= p < n and 0 <= q <= p }}
         {statement}"
    );
    let kernel = LoopKernel::parse(&text).unwrap();
    let sizes = BTreeMap::from([(Name::new("n"), n), (Name::new("m"), m)]);
    kernel.check_subscripts(&sizes).map_err(|d| (d.code, d.witness.unwrap_or_default()))
}

#[test]
fn a_point_beyond_those_that_were_tried_is_found() {
    assert_eq!(found("y[j] = x[j*j]", 0, 40), Ok(()));
    let outside = "for j = 40, m = 41, n = 0: the subscript 1600, of an axis of length 1600";
    assert_eq!(found("y[j] = x[j*j]", 0, 41), Err(("out-of-bounds", outside.into())));
    // What is written counts as what is read does, and reductions run regardless of conditions.
    assert_eq!(found("x[j*j] = 1.0", 0, 41), Err(("out-of-bounds", outside.into())));
    let at = found("y[0] = if(m < 10, sum(j, x[j*j]), 0.0)", 0, 41);
    assert_eq!(at, Err(("out-of-bounds", outside.into())));
}

#[test]
fn each_place_counts() {
    let outside = "for j = 40, m = 41, n = 0: the subscript 1600, of an axis of length 1600";
    for statement in [
        "y[j] = 1.0 if x[j*j] > 0.0",
        "y[j] = if(x[j*j] > 0.0, 1.0, 2.0)",
        "y[j] = x[0] + x[which[j*j]]",
        "y[which[j*j]] = 1.0",
    ] {
        assert_eq!(found(statement, 0, 40), Ok(()), "{statement}");
        assert_eq!(found(statement, 0, 41), Err(("out-of-bounds", outside.into())), "{statement}");
    }
}

#[test]
fn lengths_that_are_not_affine_count_too() {
    assert_eq!(found("r[i] = 1.0", 1598, 0), Ok(()));
    let outside = "for i = 1599, m = 0, n = 1599: the subscript 1599, of an axis of length 1599";
    assert_eq!(found("r[i] = 1.0", 1599, 0), Err(("out-of-bounds", outside.into())));
}

#[test]
fn ranges_decide_whatever_the_number_of_points() {
    for subscript in ["min(j*j, 1599)", "(j*j) % 1600", "abs(j - 800) // 625", "(j*j) & 1023", "j*j >> 30"] {
        assert_eq!(found(&format!("y[j] = x[{subscript}]"), 0, 1_000_000), Ok(()), "{subscript}");
    }
    assert_eq!(found("t[p*(p + 1) // 2 + q] = 1.0", 1_000_000, 0), Ok(()));
}

#[test]
fn where_ranges_do_not_suffice_each_point_is_looked_at() {
    // The range of `i ^ 1` goes up to the next power of two.
    assert_eq!(found("z[i ^ 1] = 1.0", 500, 0), Ok(()));
    assert_eq!(found("y[j] = x[j ^ 1]", 0, 1600), Ok(()));
    let outside = "for j = 1600, m = 1601, n = 0: the subscript 1601, of an axis of length 1600";
    assert_eq!(found("y[j] = x[j ^ 1]", 0, 1601), Err(("out-of-bounds", outside.into())));
    let many = found("z[i ^ 1] = 1.0", 1_000_000, 0);
    assert_eq!(many, Err(("unchecked-subscript", String::new())));
}

#[test]
fn too_many_points_are_refused_with_what_would_help() {
    let kernel = LoopKernel::parse(
        "kernel k(z: f32[2*n], n: i32)
assume 0 <= n
domain { [i] : 0 <= i < 2*n }
z[i ^ 1] = 1.0
",
    )
    .unwrap();
    let refusal = kernel.check_subscripts(&BTreeMap::from([(Name::new("n"), 1_000_000)])).unwrap_err();
    assert_eq!(
        refusal.render(),
        "\
error[unchecked-subscript]: whether `z[i ^ 1]` is in bounds is not known for these sizes: it is not affine, and has too many points to look at each
 --> <kernel>:4:1
  |
4 | z[i ^ 1] = 1.0 {id=set_z}
  | ^^^^^^^^
  |
  = help: what ranges show is known at once: keep the subscript inside by `min`, `max` or `%`, as in `x[min(e, n - 1)]`"
    );
}

#[test]
fn points_that_do_not_run_do_not_count() {
    // By a condition of which no proof can be made.
    assert_eq!(found("y[j] = x[j*j] if j*j < 1600", 0, 1000), Ok(()));
    assert_eq!(found("y[j] = if(j*j >= 1600, 0.0, x[j*j])", 0, 1000), Ok(()));
    // One that lets the wrong points pass.
    let outside = "for j = 40, m = 1000, n = 0: the subscript 1600, of an axis of length 1600";
    let passed = found("y[j] = x[j*j] if j*j < 1601", 0, 1000);
    assert_eq!(passed, Err(("out-of-bounds", outside.into())));
    // By a condition that bounds the iname itself.
    assert_eq!(found("y[j] = x[j*j] if j < 40", 0, 1000), Ok(()));
    // By an empty domain.
    assert_eq!(found("x[(i + 1)*j] = 1.0 {inames=i:j}", 0, 1_000_000), Ok(()));
}

#[test]
fn a_condition_that_may_wrap_prevents_nothing() {
    // `j*65536*65536` is 0 for each `j`: the condition holds, though it does not in the integers.
    let outside = "for j = 40, m = 41, n = 0: the subscript 1600, of an axis of length 1600";
    let wraps = found("y[j] = x[j*j] if j*65536*65536 < 1", 0, 41);
    assert_eq!(wraps, Err(("out-of-bounds", outside.into())));
}
