//! Sets and maps as JSON: what is written is read back equal, names of tuples included, and what no
//! set or map is is refused.

use loopwright_poly::{Map, Set};
use serde_json::{Value, json};

#[test]
fn what_is_written_is_read_back() {
    for text in [
        "[n] -> { A[i] -> B[i + 1] : 0 <= i < n }",
        "[n] -> { A[i] -> [i + 1] : 0 <= i < n }",
        "{ [i, j] -> B[floor(i/4), j] : 0 <= i < 8 or j = 2 }",
        "{ A[] -> [i] : 0 <= i < 3 }",
    ] {
        let map: Map = text.parse().unwrap();
        let stored = serde_json::to_string(&map).unwrap();
        let back: Map = serde_json::from_str(&stored).unwrap_or_else(|e| panic!("{e}\n{stored}"));
        assert_eq!(back, map, "{text}");
        assert_eq!(back.tuples(), map.tuples(), "{text}");
    }
    for text in ["[n] -> { A[i] : 0 <= i < n }", "{ [i, j] : i mod 3 = 0 }", "[n, m] -> { [] : n < m }"] {
        let set: Set = text.parse().unwrap();
        let stored = serde_json::to_string(&set).unwrap();
        let back: Set = serde_json::from_str(&stored).unwrap_or_else(|e| panic!("{e}\n{stored}"));
        assert_eq!(back, set, "{text}");
        assert_eq!(back.to_string(), set.to_string(), "{text}");
    }
}

#[test]
fn what_is_no_set_or_map_is_refused() {
    let stored: Map = "[n] -> { A[i] -> B[j] : 0 <= i < n and j = i }".parse().unwrap();
    let stored = serde_json::to_value(stored).unwrap();
    let refusal = |path: &str, value: Value| {
        let mut json = stored.clone();
        let place = json.pointer_mut(path).unwrap_or_else(|| panic!("there is no {path} in {stored}"));
        assert_ne!(*place, value, "{path}");
        *place = value;
        serde_json::from_value::<Map>(json).expect_err("hostile, and read").to_string()
    };
    assert!(refusal("/outs", json!(["i"])).contains("two dimensions are called `i`"));
    assert!(refusal("/params", json!(["n", "i"])).contains("`i` is a parameter and a dimension"));
    let error = serde_json::from_value::<Set>(stored).expect_err("a map").to_string();
    assert!(error.contains("a set has one tuple, this is a map"), "{error}");
}
