//! The verdict on a transformed kernel, in a word.

use loopwright_kernel_ir::LoopKernel;
use loopwright_legality::{Basis, Verdict, agrees, judge};

/// `order` or `flow`, by which it is proved, `refuted` or `unknown`. A refutation is replayed once
/// more.
pub fn judged(transformed: &str, declared: &str) -> String {
    let text = format!("{transformed}declared {{\n{declared}}}\n");
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    match judge(kernel.declared(), &kernel) {
        Verdict::Proved { basis: Basis::Order, .. } => "order".into(),
        Verdict::Proved { .. } => "flow".into(),
        Verdict::Refuted(witness) => {
            assert_eq!(agrees(&kernel, &witness.parameters), Ok(Some(witness.failure.clone())));
            "refuted".into()
        }
        Verdict::Unknown { .. } => "unknown".into(),
    }
}

/// Whether a verdict is a proof.
pub fn is_proved(verdict: &str) -> bool {
    ["order", "flow"].contains(&verdict)
}

/// The verdict on sums of rows, of which two blocks need each one, and each block computes those of
/// its tile by parts in this order. Rows have at least so many terms; the sum has this predicate
/// and this option.
pub fn computed_by_each_block(least: i64, [predicate, option]: [&str; 2], parts: &str) -> String {
    let kernel = |head: &str, total: &str, slope: &str, tree: &str| {
        format!(
            "\
kernel slopes(x: f32[n + 1, m], y: f32[n], n: i32, m: i32)
assume 1 <= n and {least} <= m
domain {{ [k] : 0 <= k < m }}
domain {{ [i] : 0 <= i < n }}
{head}
{total}
{slope}
{tree}"
        )
    };
    let declared = kernel(
        "domain { [r] : 0 <= r < n + 1 }\ntemp row: f32[n + 1] global",
        &format!("row[r] = sum(k, x[r, k]){predicate} {{id=total{option}}}"),
        "y[i] = row[i + 1] - row[i] {id=slope}",
        "",
    );
    let after = kernel(
        "domain { [t] : 0 <= t <= 1 }\ntemp tile: f32[2] shared\ntag i: block.x",
        &format!("tile[t] = sum(k, x[i + t, k]){predicate} {{id=total, inames=i:t, map=[r: i + t]{option}}}"),
        "y[i] = tile[1] - tile[0] {id=slope, inames=i}",
        &format!("tree {{\nfor t {{\n{parts}}}\nslope\n}}\n"),
    );
    judged(&after, &declared)
}
