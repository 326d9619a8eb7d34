//! Slots that a loop counts up, by running the printed statements that do so.

use std::collections::BTreeMap;

use loopwright_cuda_target::cuda_source;
use loopwright_program::Program;

/// The lines of a loop over `k` from here on, with a product of fragments and a store of `c` to the
/// element `(k + c) rem s` of `t` for each of these pairs.
fn printed(first: &str, step: &str, uses: &[(i64, i64)]) -> Vec<String> {
    let mut text = format!(
        "program k(x, n: i32) index i32\nglobal x: f32[8] written\nhost {{\n launch k\n}}\nkernel k(x written, \
         n: i32) {{\n grid(1, 1, 1)\n block(32, 1, 1)\n var k: i32\n var j: i32\n shared t: f32[64]\n private \
         acc: f64[2]\n private a: f64[1]\n private b: f64[1]\n\n for j: i32 = 0 to 2 {{\n for k: i32 = {first} \
         to 20{step} {{\n mma mma_m8n8k4_f64(acc[0], acc[1]) += a[0] * b[0]\n store t[j rem 2] = 0.5f32\n"
    );
    for (offset, slots) in uses {
        let sum = match offset {
            0 => "k".to_string(),
            1.. => format!("(k + {offset})"),
            _ => format!("(k - {})", -offset),
        };
        text += &format!(" store t[{sum} rem {slots}] = {offset}.0f32\n");
    }
    text += " }\n }\n}\n";
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
    cuda_source(&program).unwrap().text.lines().map(|line| line.trim().to_string()).collect()
}

/// The value of a number, a name, or an operation on two of them.
fn value(text: &str, names: &BTreeMap<String, i64>) -> i64 {
    let text = text.trim();
    let of = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some((a, b)) = of("floor_mod").and_then(|of| of.rsplit_once(", ")) {
        return value(a, names).rem_euclid(value(b, names));
    }
    if let Some((a, b)) = text.rsplit_once(" % ") {
        return value(a, names) % value(b, names);
    }
    if let Some((a, b)) = of("max").and_then(|of| of.split_once(", ")) {
        return value(a, names).max(value(b, names));
    }
    if let Some(inside) = of("") {
        return value(inside, names);
    }
    for (sign, operator) in [(1, " + "), (-1, " - ")] {
        if let Some((a, b)) = text.rsplit_once(operator) {
            return value(a, names) + sign * value(b, names);
        }
    }
    text.parse().unwrap_or_else(|_| *names.get(text).unwrap_or_else(|| panic!("`{text}` has no value")))
}

/// Runs a loop that counts from here by one, and holds each element to what it should be.
fn run(first: &str, n: i64, uses: &[(i64, i64)]) {
    let lines = printed(first, "", uses);
    let text = lines.join(" ");
    let (_, start) = text.split_once("for (int k = ").unwrap();
    let (start, _) = start.split_once("; ").unwrap();
    let head = lines.iter().position(|line| line.ends_with("++k) {")).unwrap();
    let mut names = BTreeMap::from([("n".to_string(), n)]);
    for declared in format!("k = {start}").split(", k_slot").map(|declared| declared.trim()) {
        let (name, first) = declared.split_once(" = ").unwrap();
        let name = if name == "k" { name.to_string() } else { format!("k_slot{name}") };
        let first = value(first, &names);
        names.insert(name, first);
    }
    assert!(names.len() > 2, "nothing is counted: {lines:#?}");
    while names["k"] < 20 {
        let mut stores = uses.iter();
        for line in lines[head + 1..].iter().take_while(|line| *line != "}") {
            let Some((to, from)) = line.trim_end_matches(';').split_once(" = ") else { continue };
            if let Some(element) = to.strip_prefix("t[") {
                if from == "0.5f" {
                    continue;
                }
                let (offset, slots) = stores.next().unwrap();
                let wanted = names["k"] + offset;
                let found = value(element.trim_end_matches(']'), &names);
                // A subscript is not negative where it is used.
                assert!(wanted < 0 || found == wanted % slots, "{line} at k = {}: {lines:#?}", names["k"]);
            } else {
                let from = match from.split_once(" ? ") {
                    Some((condition, sides)) => {
                        let ((a, b), (then, or)) =
                            (condition.split_once(" == ").unwrap(), sides.split_once(" : ").unwrap());
                        if value(a, &names) == value(b, &names) { then } else { or }
                    }
                    None => from,
                };
                let from = value(from, &names);
                names.insert(to.trim_start_matches("const int ").to_string(), from);
            }
        }
        assert_eq!(stores.len(), 0, "{lines:#?}");
        *names.get_mut("k").unwrap() += 1;
    }
}

#[test]
fn each_element_has_its_slot_in_each_iteration() {
    let offsets = [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5];
    for slots in 2..5 {
        for a in offsets {
            run("0", 0, &[(a, slots)]);
            for b in offsets {
                run("0", 0, &[(a, slots), (b, slots)]);
                // From 0 or before it, some are used in later iterations only.
                for n in [-6, -1, 0, 7] {
                    run("n", n, &[(a, slots), (b, slots), (1, slots)]);
                    run("max(0, n)", n, &[(a, slots), (b, slots)]);
                }
            }
        }
        let all: Vec<(i64, i64)> = (0..slots).map(|c| (c, slots)).collect();
        run("0", 0, &all);
        run("1", 0, &all);
    }
    // Rings of several lengths.
    run("0", 0, &[(0, 2), (1, 2), (0, 3), (2, 3), (1, 4)]);
    run("n", 5, &[(1, 3), (1, 2), (2, 3)]);
}

/// A remainder of a counter that advances by two is divided for; that of another one has its own.
#[test]
fn only_a_counter_that_advances_by_one_counts_slots() {
    let is_counted = |lines: &[String]| lines.iter().any(|line| line.contains("k_slot"));
    assert!(is_counted(&printed("0", "", &[(1, 3)])));
    assert!(!is_counted(&printed("0", " step 2", &[(1, 3)])));
    assert!(printed("0", "", &[(0, 2)]).contains(&"t[slot] = 0.5f;".to_string()));
}
