//! Kernels as JSON: what is written is read back equal; invalid contents of a file are refused, and
//! nothing panics.

use std::path::Path;

use loopwright_kernel_ir::{KernelData, LoopKernel};
use serde_json::Value;

const ROWS: &str = "
kernel rows(x: f32[n, m], out: f32[n], n: i32, m: i32)
assume 1 <= n and 1 <= m
reduction largest(x) {
    state v: like x = -inf
    lift v = x
    combine v = if(a.v < b.v, b.v, a.v)
    result v
    commutes
}
domain { [s] : 0 <= s < n }
domain { [i] : 0 <= i < m and 2*(i // 2) = i }
out[s] = largest(i, x[s, i]) + x[s, 0] if s % 2 == 0
";

fn kernel() -> Value {
    let kernel = LoopKernel::parse(ROWS).unwrap_or_else(|d| panic!("{d}"));
    serde_json::to_value(kernel).unwrap()
}

/// The kernels of the examples, with operators, loaded bounds and scalars, and one with everything
/// else.
fn corpus() -> Vec<LoopKernel> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(root.join("../../examples/kernels")).unwrap().map(|e| e.unwrap().path());
    let read = |f| LoopKernel::parse(&std::fs::read_to_string(f).unwrap()).unwrap_or_else(|d| panic!("{d}"));
    files.map(read).chain([LoopKernel::parse(ROWS).unwrap_or_else(|d| panic!("{d}"))]).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let kernels = corpus();
    assert!(kernels.len() > 4, "the files are there");
    for kernel in kernels {
        let text = serde_json::to_string(&kernel).unwrap();
        let back: LoopKernel = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{kernel}"));
        assert_eq!(back, kernel);
    }
}

/// Sets the value at a path of keys and numbers.
fn with(path: &str, value: Value) -> Value {
    let mut json = kernel();
    let place = json.pointer_mut(path).unwrap_or_else(|| panic!("there is no {path}"));
    assert_ne!(*place, value, "{path}");
    *place = value;
    json
}

fn refusal(json: Value) -> String {
    serde_json::from_value::<LoopKernel>(json).expect_err("hostile, and read").to_string()
}

#[test]
fn invariants_that_a_file_breaks_are_refusals() {
    use serde_json::json;
    // Where the divisor of `i // 2` is.
    let text = kernel().to_string();
    assert_eq!(text.matches("\"denominator\":2").count(), 1, "{text}");
    for divisor in ["0", "-2", "-9223372036854775808"] {
        let text = text.replace("\"denominator\":2", &format!("\"denominator\":{divisor}"));
        let error = serde_json::from_str::<LoopKernel>(&text).unwrap_err().to_string();
        assert!(error.contains(&format!("a divisor must be a positive constant, not {divisor}")), "{error}");
    }
    let zero = with("/domains/0/constraints/0/aff/terms/0/1", json!(0));
    assert!(refusal(zero).contains("without zero coefficients"));
    let mut twice = kernel();
    let terms = twice.pointer_mut("/domains/0/constraints/0/aff/terms").unwrap().as_array_mut().unwrap();
    terms.push(terms[0].clone());
    assert!(refusal(twice).contains("sorted, different"));
    for (path, value, code) in [
        ("/name", json!("a b"), "bad-name"),
        ("/domains/0/inames/0", json!("t"), "unknown-iname"),
        ("/domains/1/inames/0", json!("s"), "duplicate-name"),
        ("/reductions/0/combine", json!([]), "wrong-arity"),
        ("/instructions/0/targets", json!([]), "wrong-arity"),
        ("/instructions/0/value/Binary/1/Reduce/inames", json!([]), "reduction-place"),
        ("/instructions/0/within", json!([]), "iname-not-around"),
        ("/tree", json!([{"Loop": {"iname": "s", "body": []}}]), "wrong-tree"),
        ("/tree", json!([]), "wrong-tree"),
    ] {
        let error = refusal(with(path, value));
        assert!(error.contains(&format!("error[{code}")), "{path}: {error}");
    }
    for (axis, tag) in [(3, json!({"s": {"Thread": 3}})), (255, json!({"s": {"Block": 255}}))] {
        let error = refusal(with("/tags", tag));
        assert!(error.contains(&format!("there is no dimension {axis}")), "{error}");
    }
}

/// A name that is never looked up may have any form in stored data, but not in text.
#[test]
fn data_that_no_text_says_are_refused() {
    let error = refusal(with("/instructions/0/role", serde_json::json!({"Does": "a.v"})));
    assert!(error.contains("the data do not describe a kernel"), "{error}");
}

/// The splitmix64 generator.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// The pointers of all values inside.
fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Array(a) => a.iter().enumerate().for_each(|(k, v)| pointers(v, format!("{at}/{k}"), found)),
        Value::Object(o) => o.iter().for_each(|(k, v)| pointers(v, format!("{at}/{k}"), found)),
        _ => {}
    }
    found.push(at);
}

fn spoil(json: &mut Value, rng: &mut Rng) {
    let mut places = Vec::new();
    pointers(json, String::new(), &mut places);
    let other = json.pointer(&places[rng.below(places.len())]).cloned().unwrap_or_default();
    let words = ["", "i", "s", "x", "n", "out", "sum", "a.v", "if", "\u{e9}", "x[", "declared"];
    let numbers = [0, 1, -1, 2, 3, 200, i64::from(i32::MAX), i64::MAX, i64::MIN];
    let Some(place) = json.pointer_mut(&places[rng.below(places.len())]) else { return };
    match place {
        Value::Number(_) => *place = numbers[rng.below(numbers.len())].into(),
        Value::String(_) if rng.below(2) == 0 => *place = words[rng.below(words.len())].into(),
        Value::Array(items) if rng.below(4) > 0 => match rng.below(4) {
            0 => items.clear(),
            1 if !items.is_empty() => {
                let k = rng.below(items.len());
                items.push(items[k].clone());
            }
            2 if !items.is_empty() => {
                items.remove(rng.below(items.len()));
            }
            _ => items.reverse(),
        },
        _ => *place = other,
    }
}

#[test]
fn spoilt_json_never_panics() {
    let seeds: Vec<Value> = corpus().iter().map(|k| serde_json::to_value(k).unwrap()).collect();
    let cases: u64 = std::env::var("LOOPWRIGHT_CASES").ok().and_then(|v| v.parse().ok()).unwrap_or(4000);
    let mut read = 0;
    for case in 0..cases {
        let mut rng = Rng(case);
        let mut json = seeds[rng.below(seeds.len())].clone();
        for _ in 0..1 + rng.below(3) {
            spoil(&mut json, &mut rng);
        }
        let text = json.to_string();
        let outcome = std::panic::catch_unwind(|| {
            let Ok(kernel) = serde_json::from_str::<LoopKernel>(&text) else {
                // Unvalidated data can still be inspected.
                return serde_json::from_str::<KernelData>(&text)
                    .map(|data| LoopKernel::from_data(data).validate().is_ok())
                    .ok();
            };
            assert_eq!(LoopKernel::parse(&kernel.to_text()).as_ref(), Ok(&kernel));
            kernel.validate().map(|()| true).ok()
        });
        let valid = outcome.unwrap_or_else(|_| panic!("case {case}: {text}"));
        assert_ne!((valid, serde_json::from_str::<LoopKernel>(&text).is_ok()), (Some(false), true));
        read += u64::from(valid == Some(true));
    }
    assert!(read > cases / 25 && read < cases, "{read} of {cases} were read");
}
