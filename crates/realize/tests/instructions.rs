//! What a realisation leaves of an instruction beside its reduction: the rest of its value, and no
//! hardware instruction for what it joins.

use crate::common;

use common::{each_is_noticed, instruction, realized};
use loopwright_kernel_ir::{Access, AtomUse, BinaryOp, Expr, Name};
use loopwright_legality::{Verdict, judge_realization};

const ROWS: &str = "\
kernel k(x: f32[m, n], out: f32[m], most: f32[m], n: i32, m: i32)
assume 1 <= n
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
out[s] = 2.0 * sum(i, x[s, i]) {id=total}
";

const VECTORS: &str = "\
split_iname(i, 128, outer=i_tile, inner=i_rest)
split_iname(i_rest, 4, outer=i_thread, inner=i_vec)
tag_inames(s: block.x, i_thread: thread.x, i_vec: vec)
";

const BLOCKS: &str = "\
split_iname(i, 256)
tag_inames(s: block.x, i_outer: block.y, i_inner: thread.x)
";

/// The sum from an aligned address is used and stored as that of the row was.
#[test]
fn what_is_reduced_from_an_aligned_address_is_used_as_before() {
    let (before, after) = realized("alignment", ROWS, VECTORS);
    let reason = "does not reduce what it did at other positions";
    each_is_noticed(
        &before,
        &after,
        &[
            (
                "one is added to the sum",
                &|data| {
                    let own = instruction(data, "total");
                    own.value = Expr::binary(BinaryOp::Add, own.value.clone(), Expr::Int(1));
                },
                reason,
            ),
            (
                "the sum is stored in another array",
                &|data| instruction(data, "total").targets[0].array = Name::new("most"),
                reason,
            ),
            (
                "the sum is added to what others have stored",
                &|data| instruction(data, "total").atomic = true,
                reason,
            ),
        ],
    );
}

/// A number with a mask of no bits is zero: the rows begin where they began.
#[test]
fn a_number_of_no_bits_takes_nothing_off() {
    let (before, after) = realized("alignment", ROWS, VECTORS);
    let nothing = after
        .edit(|data| {
            let find = instruction(data, "find_misalign_i");
            let Expr::Binary(op, start, _) = find.value.clone() else { panic!("{}", find.value) };
            find.value = Expr::Binary(op, start, Expr::Int(0).into());
            Ok::<(), loopwright_kernel_ir::Diagnostic>(())
        })
        .unwrap();
    let verdict = judge_realization(&before, &nothing);
    assert!(matches!(verdict, Verdict::Proved { .. }), "{verdict}\n{nothing}");
}

/// A hardware instruction multiplies, and does not join partial results.
#[test]
fn partial_results_are_joined_by_no_hardware_instruction() {
    let (before, after) = realized("two_stages", ROWS, BLOCKS);
    each_is_noticed(
        &before,
        &after,
        &[
            (
                "an instruction that multiplies joins",
                &|data| {
                    let axes = ["s", "s", "s"].map(Name::new);
                    instruction(data, "total").atom =
                        Some(AtomUse { name: Name::new("mma_m8n8k4_f64"), axes });
                },
                "does not join what",
            ),
            (
                "the sum is stored in another array",
                &|data| {
                    let target = Access { array: Name::new("most"), index: vec![Expr::name("s")] };
                    instruction(data, "total").targets[0] = target;
                },
                "does not join what",
            ),
        ],
    );
}
