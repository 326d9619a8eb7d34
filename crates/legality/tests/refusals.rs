//! What a refusal tells: the smallest sizes that go wrong, wherever among those that are tried they
//! lie, and the data about which a fact would help.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Verdict, agrees, judge};

fn verdict(transformed: &str, declared: &str) -> Verdict {
    let text = format!("{transformed}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    let verdict = judge(kernel.declared(), &kernel);
    if let Verdict::Refuted(witness) = &verdict {
        assert_eq!(agrees(&kernel, &witness.parameters), Ok(Some(witness.failure.clone())));
    }
    verdict
}

/// The sizes for which a loop over `i` from 0 to `n - 1` goes wrong if it runs backwards, by name.
fn wrong_sizes(arguments: &str, assumed: &str, statement: &str) -> Vec<(String, i64)> {
    let kernel = |reversed: &str, iname: &str| {
        format!(
            "kernel k({arguments})\n\
             {assumed}domain {{ [i] : 0 <= i < n }}\n\
             {reversed}{statement} {{id=move, inames={iname}}}\n\
             tree {{\nfor {iname} {{\nmove\n}}\n}}\n"
        )
    };
    match verdict(&kernel("domain { [r] }\nlet i = n - 1 - r\n", "r"), &kernel("", "i")) {
        Verdict::Refuted(witness) => {
            witness.parameters.iter().map(|(name, value)| (name.to_string(), *value)).collect()
        }
        verdict => panic!("{verdict}"),
    }
}

/// `n * n >= 400` is no affine condition, of which no query can find the least solution.
#[test]
fn the_least_size_that_goes_wrong_is_told() {
    let head = "x: f32[n + 1], n: i32";
    assert_eq!(wrong_sizes(head, "", "x[i] = x[i + 1]"), [("n".into(), 2)]);
    assert_eq!(wrong_sizes(head, "", "x[i] = if(n * n >= 400, x[i + 1], 0.0)"), [("n".into(), 20)]);
}

/// Of three parameters, all values up to three are tried together, also if no greater ones go
/// wrong.
#[test]
fn sizes_that_alone_go_wrong_are_found() {
    let found = wrong_sizes(
        "x: f32[n + m + l + 1], n: i32, m: i32, l: i32",
        "assume 0 <= m and 0 <= l\n",
        "x[i + m + l] = if(n * n == 9, x[i + m + l + 1], 0.0)",
    );
    assert_eq!(found, [("l".into(), 0), ("m".into(), 0), ("n".into(), 3)]);
}

/// The cells that are written decide, not those that are read.
#[test]
fn a_fact_is_wanted_of_what_decides_where_is_written() {
    let kernel = |tag: &str, tree: &str| {
        format!(
            "kernel k(x: f32[n], y: f32[n], p: i32[n], q: i32[n], n: i32)\n\
             fact 0 <= p < n\n\
             fact 0 <= q < n\n\
             domain {{ [i] : 0 <= i < n }}\n\
             {tag}y[p[i]] = x[q[i]] {{id=put, inames=i}}\n\
             tree {{\n{tree}}}\n"
        )
    };
    match verdict(&kernel("tag i: block.x\n", "put\n"), &kernel("", "for i {\nput\n}\n")) {
        Verdict::Unknown { repair: Some(repair), .. } => assert_eq!(
            repair,
            "declare what is known of the data, as `fact injective(p)` or `fact monotone(p)`"
        ),
        verdict => panic!("{verdict}"),
    }
}
