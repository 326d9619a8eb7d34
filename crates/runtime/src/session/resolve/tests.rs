use super::*;
use crate::Tensor;

/// The value of `n` that follows from the lengths of `x` and `y`, if these are given.
fn inferred(arguments: &str, x: Option<usize>, y: Option<usize>) -> Option<i64> {
    let text =
        format!("kernel k({arguments}, n: i32)\ndomain {{ [i] : 0 <= i < n }}\ny[i] = 1.0 {{id=one}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}"));
    let mut args = Args::new();
    for (name, length) in [("x", x), ("y", y)] {
        if let Some(length) = length {
            args = args.tensor(name, &Tensor::uninit(&[length], DType::F32).unwrap());
        }
    }
    let mut integers = Integers::new();
    infer(&kernel, &args, &mut integers);
    integers.get("n").copied()
}

#[test]
fn lengths_say_what_parameters_are() {
    let twice = "x: f32[2*n + 1], y: f32[n + 3]";
    assert_eq!(inferred(twice, Some(7), None), Some(3));
    assert_eq!(inferred(twice, Some(8), None), None);
    assert_eq!(inferred(twice, None, Some(7)), Some(4));
    // A plain length takes precedence over an earlier one that is not plain.
    assert_eq!(inferred("x: f32[2*n + 1], y: f32[n]", Some(7), Some(5)), Some(5));
    // n + n // 2 = 3 has the solution n = 2, but equations with quotients are not solved.
    assert_eq!(inferred("x: f32[n + n // 2], y: f32[n]", Some(3), None), None);
    assert_eq!(inferred("x: f32[n // 2], y: f32[n]", Some(3), None), None);
}

/// Words over two letters, up to a length.
fn words(length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..length {
        last = last.iter().flat_map(|w| ["a", "b"].map(|c| format!("{w}{c}"))).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Edits by their definition: a letter less on either side, or the last letters against each other.
fn edits(a: &[u8], b: &[u8]) -> usize {
    match (a.split_last(), b.split_last()) {
        (None, _) => b.len(),
        (_, None) => a.len(),
        (Some((x, a_rest)), Some((y, b_rest))) => {
            let changed = edits(a_rest, b_rest) + usize::from(x != y);
            changed.min(edits(a_rest, b) + 1).min(edits(a, b_rest) + 1)
        }
    }
}

#[test]
fn distances_are_least_numbers_of_edits() {
    for a in words(4) {
        for b in words(4) {
            assert_eq!(distance(&a, &b), edits(a.as_bytes(), b.as_bytes()), "{a} {b}");
        }
    }
}

/// A third of the letters may differ, and four at most.
#[test]
fn near_names_are_few_edits_away() {
    assert_eq!(nearest("leng", &["len", "x", "length"]), Some("len"));
    assert_eq!(nearest("len", &["lens", "len"]), Some("lens"));
    assert_eq!(nearest("abc", &["ab", "a"]), Some("ab"));
    assert_eq!(nearest("abc", &["a", "xyc", ""]), None);
    assert_eq!(nearest("abcd", &["ab"]), Some("ab"));
    assert_eq!(nearest("abcd", &["a"]), None);
    assert_eq!(nearest("x", &["y", "xy", ""]), None);
    assert_eq!(nearest("xy", &["x"]), Some("x"));
    let long = "abcdefghijklmnopqrst";
    assert_eq!(nearest(long, &[&long[4..]]), Some(&long[4..]));
    assert_eq!(nearest(long, &[&long[5..]]), None);
}
