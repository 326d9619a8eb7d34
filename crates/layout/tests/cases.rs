//! Files of cases: that right ones hold, and that everything wrong or unknown is found.

use loopwright_layout::cases::run;
use serde_json::{Value as Json, json};

fn layout(shape: Json, stride: Json) -> Json {
    json!({"shape": shape, "stride": stride})
}

/// One case for each operation. Results were found by hand from the definitions.
fn cases() -> Vec<Json> {
    let l = layout;
    let rows = |n: i64| l(json!(n), json!(1));
    vec![
        json!({"id": 1, "op": "coalesce", "args": {"layout": l(json!([2, [1, 6]]), json!([1, [7, 2]])), "profile": null},
            "origin": "hand", "result": l(json!(12), json!(1)), "checks": {"same_size": true, "same_function": true}}),
        json!({"id": 2, "op": "coalesce", "args": {"layout": l(json!([[2, 2], 3]), json!([[1, 2], 4])), "profile": [1, 1]},
            "result": l(json!([4, 3]), json!([1, 4])), "checks": {"same_function": true}}),
        json!({"id": 3, "op": "filter", "args": {"layout": l(json!([2, 5, 3]), json!([3, 0, 6])), "profile": null},
            "result": l(json!(6), json!(3)), "checks": {"same_image": true, "injective": true}}),
        json!({"id": 4, "op": "complement", "args": {"layout": l(json!([2, 3]), json!([12, 2])), "max_idx": 48},
            "result": l(json!([2, 2, 2]), json!([1, 6, 24])),
            "checks": {"ordered": true, "disjoint_except_0": true, "completed_cosize_ge_max": true, "complete_injective": true}}),
        json!({"id": 5, "op": "complement", "args": {"layout": l(json!(3), json!(5)), "max_idx": null},
            "result": l(json!(5), json!(1))}),
        json!({"id": 6, "op": "composition", "args": {"A": l(json!([6, 2]), json!([8, 2])), "B": l(json!([4, 3]), json!([3, 1]))},
            "result": l(json!([[2, 2], 3]), json!([[24, 2], 8])),
            "checks": {"exact": true, "prefix_agrees": true, "compatible_B_R": true, "B_in_domain_of_A": true},
            "values": [0, 24, 2, 26, 8, 32]}),
        // Its stride divides no size, and still there is a layout: 0, 5 * 4 = 20.
        json!({"id": 7, "op": "composition", "args": {"A": l(json!([4, 9]), json!([10, 1])), "B": l(json!(2), json!(6))},
            "error": "AssertionError"}),
        // 0, 1, 2, 9, 10, 11, ... in steps of three has no mode of size 4.
        json!({"id": 8, "op": "composition", "args": {"A": l(json!([3, 4]), json!([1, 9])), "B": rows(4)},
            "error": "AssertionError"}),
        // What others compute here is short of its size.
        json!({"id": 9, "op": "composition", "args": {"A": l(json!([3, 4]), json!([1, 9])), "B": rows(4)},
            "result": l(json!(3), json!(1)), "checks": {"exact": false, "compatible_B_R": false}}),
        json!({"id": 10, "op": "composition", "args": {"A": l(json!([6, 8]), json!([8, 1])), "B": [2, l(json!(4), json!(2))]},
            "result": l(json!([2, 4]), json!([8, 2]))}),
        json!({"id": 11, "op": "right_inverse", "args": {"layout": l(json!([3, 5]), json!([5, 1]))},
            "result": l(json!([5, 3]), json!([3, 1])), "checks": {"L(R(i))==i": true}}),
        json!({"id": 12, "op": "left_inverse", "args": {"layout": l(json!([3, 2]), json!([2, 12]))},
            "result": l(json!([2, 3, 2, 2]), json!([6, 1, 12, 3])),
            "checks": {"R(L(i))==i": true, "L(R(L(i)))==L(i)": true, "L_injective": true}}),
        json!({"id": 13, "op": "left_inverse", "args": {"layout": l(json!(5), json!(-2))}, "error": "AssertionError"}),
        json!({"id": 14, "op": "left_inverse", "args": {"layout": l(json!([3, 2]), json!([0, 1]))},
            "result": l(json!(1), json!(0)), "checks": {"R(L(i))==i": false, "L(R(L(i)))==L(i)": false, "L_injective": false}}),
        json!({"id": 15, "op": "product", "args": {"a": [[2, 5], 3]}, "result": 30}),
        json!({"id": 16, "op": "inner_product", "args": {"a": [2, [3, 4]], "b": [5, [6, 7]]}, "result": 56}),
        json!({"id": 17, "op": "prefix_product", "args": {"a": [2, [3, 4], 5]}, "result": [1, [2, 6], 24]}),
        json!({"id": 18, "op": "shape_div", "args": {"a": [4, 6], "b": 8}, "result": [1, 3]}),
        json!({"id": 19, "op": "logical_divide", "args": {"A": l(json!(24), json!(3)), "B": l(json!(4), json!(2))},
            "result": l(json!([4, [2, 3]]), json!([6, [3, 24]])),
            "checks": {"size_preserved": true, "image_preserved": true, "compatible_B_R0": true}}),
        json!({"id": 20, "op": "zipped_divide", "args": {"A": l(json!([6, 8]), json!([8, 1])), "B": [rows(3), rows(4)]},
            "result": l(json!([[3, 4], [2, 2]]), json!([[8, 1], [24, 4]])),
            "checks": {"size_preserved": true, "image_preserved": true, "R0==composition": true}}),
        json!({"id": 21, "op": "tiled_divide", "args": {"A": l(json!([6, 8]), json!([8, 1])), "B": [rows(3), rows(4)]},
            "result": l(json!([[3, 4], 2, 2]), json!([[8, 1], 24, 4])), "checks": {"image_preserved": true}}),
        json!({"id": 22, "op": "logical_product", "args": {"A": l(json!(3), json!(2)), "B": l(json!([2, 2]), json!([2, 1]))},
            "result": l(json!([3, [2, 2]]), json!([2, [6, 1]])),
            "checks": {"R0==A": true, "compatible_B_R1": true, "injective": true}}),
        json!({"id": 23, "op": "blocked_product", "args": {"block": l(json!([2, 3]), json!([1, 2])), "tiler": l(json!([2, 4]), json!([4, 1]))},
            "result": l(json!([[2, 2], [3, 4]]), json!([[1, 24], [2, 6]])), "derived": true,
            "by_mode_coalesced": l(json!([[2, 2], 12]), json!([[1, 24], 2])), "checks": {"injective": true}}),
        json!({"id": 24, "op": "raked_product", "args": {"block": l(json!([2, 3]), json!([1, 2])), "tiler": l(json!([2, 4]), json!([4, 1]))},
            "result": l(json!([[2, 2], [4, 3]]), json!([[24, 1], [6, 2]])), "checks": {"injective": true}}),
        json!({"id": 25, "op": "zipped_product", "args": {"A": l(json!([2, 3]), json!([1, 2])), "B": [rows(2), rows(4)]},
            "result": l(json!([[2, 3], [2, [2, 2]]]), json!([[1, 2], [2, [1, 6]]]))}),
        json!({"id": 26, "op": "tiled_product", "args": {"A": l(json!([2, 3]), json!([1, 2])), "B": [rows(2), rows(4)]},
            "result": l(json!([[2, 3], 2, [2, 2]]), json!([[1, 2], 2, [1, 6]]))}),
        json!({"id": 27, "op": "layout_call", "args": {"layout": l(json!([3, [2, 2]]), json!([4, [1, 16]])), "coord": [2, 3]}, "result": 25}),
        json!({"id": 28, "op": "idx2crd", "args": {"idx": 11, "shape": [3, [2, 2]]}, "result": [2, [1, 1]]}),
        json!({"id": 29, "op": "crd2idx", "args": {"crd": [2, [1, 1]], "shape": [3, [2, 2]], "stride": [4, [1, 16]]}, "result": 25}),
        json!({"id": 30, "op": "size_cosize", "args": {"layout": l(json!([3, [2, 2]]), json!([4, [1, 16]]))},
            "result": {"size": 12, "cosize": 26}, "max_plus_1": 26}),
        json!({"id": 31, "op": "slice_and_offset", "args": {"crd": [2, [null, 1]], "layout": l(json!([3, [2, 2]]), json!([4, [1, 16]]))},
            "result": {"layout": l(json!([2]), json!([1])), "offset": 24}}),
        json!({"id": 32, "op": "swizzle", "args": {"B": 1, "M": 1, "S": 2, "inputs": [0, 7, 8, 15]}, "result": [0, 7, 10, 13],
            "size": 16, "bijective_on_size": true, "involution": true}),
        json!({"id": 33, "op": "composed_layout", "args": {"swizzle": [1, 0, 1], "offset": 0, "layout": l(json!([2, 2]), json!([2, 1]))},
            "result": [0, 3, 1, 2], "bijective": true}),
    ]
}

fn render(cases: &[Json]) -> String {
    run(&json!({"meta": {}, "cases": cases}).to_string()).unwrap().render()
}

#[test]
fn right_cases_hold() {
    let cases = cases();
    assert_eq!(render(&cases), format!("{} passed, 0 failed\n", cases.len()));
}

/// Every number of every result, property and check, changed, fails exactly that case.
#[test]
fn each_wrong_expectation_is_found() {
    fn places(json: &Json, at: &str, found: &mut Vec<String>) {
        match json {
            Json::Object(fields) => {
                fields.iter().for_each(|(k, v)| places(v, &format!("{at}/{}", k.replace('/', "~1")), found))
            }
            Json::Array(parts) => {
                parts.iter().enumerate().for_each(|(k, v)| places(v, &format!("{at}/{k}"), found))
            }
            Json::Number(_) | Json::Bool(_) => found.push(at.to_owned()),
            _ => {}
        }
    }
    let mut changed = 0;
    for case in cases() {
        for key in [
            "result",
            "values",
            "by_mode_coalesced",
            "max_plus_1",
            "size",
            "bijective",
            "bijective_on_size",
            "involution",
        ] {
            let Some(value) = case.get(key) else { continue };
            // Intentionally wrong results are decided by the post-condition, not by the expected
            // result.
            let is_decided_otherwise = case
                .pointer("/checks")
                .and_then(Json::as_object)
                .is_some_and(|c| c.values().any(|v| *v == false));
            if is_decided_otherwise {
                continue;
            }
            let mut found = Vec::new();
            places(value, "", &mut found);
            for place in found {
                let mut wrong = case.clone();
                let spot = wrong[key].pointer_mut(&place).unwrap();
                *spot = match &*spot {
                    Json::Bool(b) => json!(!*b),
                    number => json!(number.as_i64().unwrap() + 1),
                };
                let report = render(&[wrong.clone()]);
                assert!(report.ends_with("0 passed, 1 failed\n"), "{wrong}: {report}");
                changed += 1;
            }
        }
    }
    assert!(changed > 140, "{changed}");
}

/// A check that claims something false of the arguments fails; one that is false about the result
/// leaves the decision to the post-condition.
#[test]
fn checks_are_computed() {
    let base = cases().into_iter().find(|c| c["id"] == 6).unwrap();
    let with = |name: &str, value: Json| {
        let mut case = base.clone();
        case["checks"][name] = value;
        render(&[case])
    };
    assert!(
        with("B_in_domain_of_A", json!(false))
            .starts_with("case 6, composition: check B_in_domain_of_A is true")
    );
    assert!(with("R(L(i))==i", json!(true)).contains("check R(L(i))==i is unknown"));
    assert_eq!(with("exact", json!(false)), "1 passed, 0 failed\n");
}

#[test]
fn what_is_not_known_fails() {
    let base = cases().remove(0);
    let fails = |change: &dyn Fn(&mut Json), text: &str| {
        let mut case = base.clone();
        change(&mut case);
        let report = render(&[case]);
        assert_eq!(report, format!("case 1, {text}\n0 passed, 1 failed\n"));
    };
    fails(&|c| c["op"] = json!("colaesce"), "colaesce: the operation is unknown");
    fails(&|c| c["note"] = json!("x"), "coalesce: key note is unknown");
    fails(&|c| c["args"]["layuot"] = json!(1), "coalesce: key layuot is unknown");
    fails(&|c| c["args"]["layout"]["swizzle"] = json!(1), "coalesce: key swizzle is unknown");
    fails(&|c| c["checks"]["fast"] = json!(true), "coalesce: check fast is unknown");
    fails(&|c| c["error"] = json!("x"), "coalesce: it needs either `result` or `error`");
    fails(
        &|c| _ = c.as_object_mut().unwrap().remove("result"),
        "coalesce: it needs either `result` or `error`",
    );
    fails(
        &|c| _ = c["args"].as_object_mut().unwrap().remove("profile"),
        "coalesce: the argument profile is missing",
    );
    fails(
        &|c| c["args"]["layout"]["shape"] = json!([2, 2]),
        "coalesce: shape 2 and stride (7,2) are different trees",
    );
    let report = run(&json!({"cases": [], "casse": []}).to_string()).unwrap().render();
    assert_eq!(report, "section casse: unknown\n0 passed, 1 failed\n");
    assert!(run("{").is_err() && run("{}").is_err() && run("[]").is_err());
}

/// An error of ours does not pass where a layout exists, nor a value where it is wrong.
#[test]
fn errors_pass_only_where_no_layout_exists() {
    let case =
        |a: Json, b: Json| json!({"id": 1, "op": "composition", "args": {"A": a, "B": b}, "error": "x"});
    let huge = case(layout(json!([3, 4]), json!([1, 9])), layout(json!(1i64 << 30), json!(1)));
    assert!(render(&[huge]).contains("only an enumeration of 1073741824 points could decide this"));
    let result = json!({"id": 1, "op": "complement", "args": {"layout": layout(json!([2, 2]), json!([1, 1])), "max_idx": 8},
        "result": layout(json!(4), json!(2)), "checks": {"ordered": true}});
    assert!(render(&[result]).contains("no layout does this: the modes of (2,2):(1,1) overlap"));
}
