//! Subscripts that are not affine: refused where numbers that the kernel allows take them outside.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{LoopKernel, Name};

/// The witness of a refusal of this statement.
fn witness(assume: &str, statement: &str) -> Option<String> {
    parse(assume, statement).err().map(|d| {
        let first = &d.0[0];
        assert_eq!(first.code, "out-of-bounds", "{statement}: {}", d.render());
        first.witness.clone().unwrap_or_default()
    })
}

fn parse(assume: &str, statement: &str) -> Result<LoopKernel, loopwright_kernel_ir::Diagnostics> {
    LoopKernel::parse(&format!(
        "kernel k(flat: f32[h*w], x: f32[h, w], v: f32[n], y: f32[h, w], z: f32[n], h: i32, w: i32, n: i32,
                  d: i32, a: f32)
         {assume}
         constant far: i32[3] = [7, 8, 9]
         constant near: i32[2, 2] = [[0, 3], [2, 4]]
         domain {{ [i, j] : 0 <= i < h and 0 <= j < w }}
         domain {{ [k] : 0 <= k < n }}
         domain {{ [t] : 0 <= t < 2 }}
         {statement}"
    ))
}

#[test]
fn sizes_that_differ_show_a_wrong_stride() {
    // With a stride of `h`, not of `w`: row 2 of eleven rows of two begins at 22, behind the last.
    let at = witness("", "y[i, j] = flat[i*h + j]").unwrap();
    assert_eq!(
        at,
        "for d = 0, h = 11, i = 2, j = 0, n = 0, w = 2: the subscript 22, of an axis of length 22"
    );
    assert!(witness("", "flat[i*h + j] = 1.0").is_some());
    assert!(witness("assume h >= 1 and w >= 1", "y[i, j] = x[min(i + 1, w - 1), j]").is_some());
    // What is right is not refused, nor what an assumption makes right.
    assert_eq!(witness("", "y[i, j] = flat[i*w + j]"), None);
    assert_eq!(witness("assume h = w", "y[i, j] = flat[i*h + j]"), None);
    assert_eq!(witness("", "y[i, j] = x[min(i + 1, h - 1), j]"), None);
}

#[test]
fn scalars_that_are_no_sizes_may_be_negative() {
    for statement in
        ["z[k] = v[min(k + d, n - 1)]", "z[k] = v[max(k - d, 0)]", "z[k] = v[k % d]", "z[k] = v[k // d]"]
    {
        assert!(witness("", statement).is_some(), "{statement}");
        assert_eq!(witness("assume d >= 1", statement), None, "{statement}");
    }
}

#[test]
fn quotients_are_rounded_down_for_divisors_of_either_sign() {
    let at = |statement| witness("assume d = -3 and n = 5", statement).unwrap();
    assert!(
        at("z[k] = v[k // d]").ends_with("k = 1, n = 5, w = 0: the subscript -1, of an axis of length 5")
    );
    assert!(at("z[k] = v[k % d]").ends_with("k = 1, n = 5, w = 0: the subscript -2, of an axis of length 5"));
}

#[test]
fn the_values_of_constant_tables_count() {
    let at = witness("assume n = 4", "z[k] = v[far[t]]").unwrap();
    assert!(at.ends_with("t = 0, w = 0: the subscript 7, of an axis of length 4"), "{at}");
    // One of the four values is outside.
    let at = witness("assume n = 4", "z[k] = v[near[t, 1]]").unwrap();
    assert!(at.ends_with("t = 1, w = 0: the subscript 4, of an axis of length 4"), "{at}");
    assert_eq!(witness("assume n = 4", "z[k] = v[near[t, 0]]"), None);
    assert_eq!(witness("assume n >= 10", "z[k] = v[far[t]]"), None);
}

#[test]
fn floating_point_is_warned_of_unless_the_subscript_is_kept_inside() {
    let warned = |statement| {
        let kernel = parse("", statement).unwrap_or_else(|d| panic!("{statement}: {}", d.render()));
        kernel.unbounded_subscripts().iter().map(|d| d.render_warning()).collect::<String>()
    };
    assert_eq!(
        warned("z[k] = v[cast(i32, a)]").lines().next(),
        Some(
            "warning[unbounded-data]: `v[cast(i32, a)]` may leave its array: `cast(i32, a)` is not \
             followed through floating point"
        )
    );
    assert!(warned("z[k] = v[cast(i32, sqrt(cast(f32, k*k))) + 1]").contains("unbounded-data"));
    assert_eq!(warned("z[k] = v[min(max(cast(i32, a), 0), n - 1)]"), "");
    assert_eq!(warned("z[k] = v[k*k % n]"), "");
}

#[test]
fn a_launch_decides_quotients_and_tables() {
    let found = |statement, d| {
        let kernel =
            parse("assume d >= 0 and n >= 1700", statement).unwrap_or_else(|e| panic!("{}", e.render()));
        let sizes = [("n", 1700), ("d", d), ("h", 0), ("w", 0)];
        let sizes: BTreeMap<Name, i64> = sizes.into_iter().map(|(name, v)| (Name::new(name), v)).collect();
        kernel.check_subscripts(&sizes).map_err(|d| d.witness.unwrap_or_default())
    };
    assert_eq!(found("z[k] = v[k % d]", 3), Ok(()));
    let divides = "for d = 0, h = 0, k = 0, n = 1700, w = 0: the subscript divides by 0";
    assert_eq!(found("z[k] = v[k % d]", 0), Err(divides.into()));
    assert_eq!(found("z[k] = if(d > 0, v[k % d], 0.0)", 0), Ok(()));
    assert_eq!(found("z[k] = v[far[t] + d*d]", 40), Ok(()));
    let outside = "for d = 45, h = 0, n = 1700, t = 0, w = 0: the subscript 2032, of an axis of length 1700";
    assert_eq!(found("z[k] = v[far[t] + d*d]", 45), Err(outside.into()));
}

#[test]
fn data_that_nothing_bounds_are_warned_of() {
    let kernel = LoopKernel::parse(
        "kernel gather(x: f32[m], idx: i32[n], y: f32[n], m: i32, n: i32)
assume 1 <= m and 0 <= n
domain { [i] : 0 <= i < n }
y[i] = x[idx[i]]
",
    )
    .unwrap();
    let notes: Vec<String> = kernel.unbounded_subscripts().iter().map(|d| d.render_warning()).collect();
    assert_eq!(
        notes,
        ["\
warning[unbounded-data]: `x[idx[i]]` may leave its array: nothing bounds the elements of `idx`
 --> <kernel>:4:8
  |
4 | y[i] = x[idx[i]] {id=set_y}
  |        ^^^^^^^^^
  |
  = help: declare their range, which is then checked: `fact 0 <= idx < m`"]
    );
}
