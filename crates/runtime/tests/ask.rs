//! Queries about a kernel's expected arguments before all are given, and expressions of scalars as
//! the host evaluates them.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, LoopKernel, Name};
use loopwright_runtime::{
    Args, Device, Tensor, bind_open_types, check_facts, expected_arrays, fact_range, known,
};

fn parse(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|e| panic!("{e}\nin\n{text}"))
}

fn integers(shape: &[usize], values: &[i32]) -> Tensor {
    Tensor::from_slice(shape, values).unwrap()
}

/// A gather with these facts about `idx`.
fn gather(facts: &[&str]) -> LoopKernel {
    let facts: String = facts.iter().map(|f| format!("fact {f}\n")).collect();
    parse(&format!(
        "kernel gather(x: T[n, 3], idx: i32[m], other: i32[m], out: T[m], n: i32, m: i32)\n\
         {facts}domain {{ [i] : 0 <= i < m }}\n\
         out[i] = x[idx[i], 0] + cast(T, 0 * other[i])\n"
    ))
}

#[test]
fn shapes_and_types_follow_from_what_is_given() {
    let kernel = gather(&[]);
    let x = Tensor::zeros(&[5, 3], DType::F16).unwrap();
    let args = Args::new().tensor("x", &x).scalar("m", 7);
    let expected = expected_arrays(&kernel, &args).unwrap();
    let found: Vec<(&str, DType, &[usize])> =
        expected.iter().map(|(n, (t, s))| (n.as_str(), *t, s.as_slice())).collect();
    assert_eq!(
        found,
        [
            ("x", DType::F16, &[5, 3][..]),
            ("idx", DType::I32, &[7]),
            ("other", DType::I32, &[7]),
            ("out", DType::F16, &[7])
        ]
    );
    let known = known(&kernel, &args).unwrap();
    assert_eq!(known.arrays, expected);
    assert_eq!(known.types, BTreeMap::from([(Name::new("T"), DType::F16)]));
    assert_eq!(known.integers, BTreeMap::from([(Name::new("m"), 7), (Name::new("n"), 5)]));
    let other = args.clone().scalar("l", 1);
    assert_eq!(expected_arrays(&kernel, &other).unwrap_err().code, "unknown-argument");
    // A length that nothing determines.
    assert_eq!(expected_arrays(&kernel, &Args::new().tensor("x", &x)).unwrap_err().code, "missing-argument");
}

/// The range of `idx` for n = 5 and m = 7.
fn range(facts: &[&str]) -> (Option<i64>, Option<i64>) {
    let args = Args::new().scalar("n", 5).scalar("m", 7).bind_type("T", DType::F32);
    fact_range(&gather(facts), &args, "idx").unwrap()
}

/// The upper end is exclusive. Several facts about an array hold together; facts about other arrays
/// do not count.
#[test]
fn ranges_of_facts_are_the_narrowest() {
    assert_eq!(range(&[]), (None, None));
    assert_eq!(range(&["monotone(idx)"]), (None, None));
    assert_eq!(range(&["2 <= idx < n"]), (Some(2), Some(5)));
    assert_eq!(range(&["2 <= idx"]), (Some(2), None));
    assert_eq!(range(&["idx < n"]), (None, Some(5)));
    assert_eq!(range(&["other < n", "2 <= idx"]), (Some(2), None));
    assert_eq!(range(&["0 <= idx < n", "-3 <= other < 100"]), (Some(0), Some(5)));
    assert_eq!(range(&["2 <= idx < n", "3 <= idx < m"]), (Some(3), Some(5)));
    assert_eq!(range(&["3 <= idx < m", "2 <= idx < n"]), (Some(3), Some(5)));
    assert_eq!(range(&["idx < m", "2 <= idx", "idx < n"]), (Some(2), Some(5)));
}

/// Bounds in facts as the host evaluates them, with n = 5 and m = 7.
#[test]
fn the_host_evaluates_bounds() {
    for (bound, value) in [
        ("n + m", 12),
        ("m - n", 2),
        ("n * m", 35),
        ("-n + 20", 15),
        ("m // 2", 3),
        ("(n - m) // 2 + 10", 9),
        ("(n - m - 1) // 2 + 10", 8),
        ("m % n", 2),
        ("(n - m) % 5 + 1", 4),
        ("(n - m - 8) % 5 + 1", 1),
        ("n % (0 - n) + 1", 1),
        ("cast(i32, m) + 1", 8),
        ("if(n <= m, 10, 20)", 10),
        ("if(m <= m, 10, 20)", 10),
        ("if(m <= n, 10, 20)", 20),
        ("if(n == m, 10, 20)", 20),
        ("if(n == n, 10, 20)", 10),
    ] {
        assert_eq!(range(&[&format!("idx < {bound}")]), (None, Some(value)), "{bound}");
    }
}

#[test]
fn facts_of_what_is_given_are_checked() {
    let kernel = gather(&["0 <= idx < n", "injective(other)"]);
    let args = |idx: &[i32], other: &[i32]| {
        Args::new()
            .tensor("idx", &integers(&[3], idx))
            .tensor("other", &integers(&[3], other))
            .scalar("n", 5)
            .bind_type("T", DType::F32)
    };
    check_facts(&kernel, &args(&[0, 4, 4], &[1, 2, 3])).unwrap();
    assert_eq!(check_facts(&kernel, &args(&[0, 5, 4], &[1, 2, 3])).unwrap_err().code, "fact");
    assert_eq!(check_facts(&kernel, &args(&[0, 4, 4], &[1, 2, 1])).unwrap_err().code, "fact");
    // A missing argument is not an error here.
    let missing =
        Args::new().tensor("idx", &integers(&[3], &[0, 5, 4])).scalar("n", 6).bind_type("T", DType::F32);
    check_facts(&kernel, &missing).unwrap();
}

#[test]
fn open_types_are_bound_all_of_them_and_no_others() {
    let kernel =
        parse("kernel k(x: T[n], y: U[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = cast(U, x[i])\n");
    let bind = |types: &[(&str, DType)]| {
        bind_open_types(&kernel, &types.iter().map(|(n, t)| (Name::new(*n), *t)).collect())
    };
    let bound = bind(&[("T", DType::F32), ("U", DType::F64)]).unwrap();
    assert!(bound.open_types().is_empty());
    assert!(bound.to_text().starts_with("kernel k(x: f32[n], y: f64[n], n: i32)"), "{bound}");
    for (types, message) in [
        (&[("T", DType::F32)][..], "error[open-type]: no argument determines the type `U`"),
        (&[("U", DType::F32)], "error[open-type]: no argument determines the type `T`"),
        (
            &[("T", DType::F32), ("U", DType::F32), ("V", DType::F32)],
            "error[unknown-type]: `k` has no open type `V`",
        ),
        (&[("V", DType::F32)], "error[unknown-type]: `k` has no open type `V`"),
    ] {
        let refusal = bind(types).unwrap_err().to_string();
        assert!(refusal.starts_with(message), "{refusal}");
    }
}

/// An array that the kernel reads must be given, even if it is also written; one that is only
/// written is allocated.
#[test]
fn arrays_that_are_read_have_to_be_given() {
    let missing = |value: &str| {
        let text = format!("kernel k(x: f32[4], y: f32[4])\ndomain {{ [i] : 0 <= i < 4 }}\ny[i] = {value}\n");
        let compiled = Device::emulator().compile(&parse(&text)).unwrap();
        let x = Tensor::from_slice(&[4], &[1.0f32; 4]).unwrap();
        compiled.reference(&Args::new().tensor("x", &x)).map(|_| ()).map_err(|d| d.to_string())
    };
    assert_eq!(missing("x[i]"), Ok(()));
    let found = missing("x[i] + y[i]").unwrap_err();
    assert!(found.starts_with("error[missing-argument]: argument `y` of `k` is missing"), "{found}");
}
