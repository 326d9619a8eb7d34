//! The premises of the theorem of reductions along misaligned rows, of rows whose ends are read
//! from data.

use crate::common;

use common::{each_is_noticed, instruction, realized, reduction};
use loopwright_kernel_ir::{Access, AddressSpace, Aff, BinaryOp, Expr, Name};

/// Sums of the elements between two positions in each row.
const PARTS: &str = "\
kernel k(x: f32[m, n], from: i32[m], to: i32[m], y: i32[m], out: f32[m], n: i32, m: i32)
assume 1 <= n
fact 0 <= from <= n
fact 0 <= to <= n
domain { [s] : 0 <= s < m }
domain { [i] : lo <= i < hi }
domain { [r] : 0 <= r < m }
temp lo: i32 private
temp hi: i32 private
lo = from[s] {id=begin, inames=s}
hi = to[s] {id=end, inames=s}
out[s] = sum(i, x[s, i]) {id=total}
y[r] = 1 {id=other}
";

const VECTORS: &str = "\
split_iname(i, 128, outer=i_tile, inner=i_rest)
split_iname(i_rest, 4, outer=i_thread, inner=i_vec)
tag_inames(s: block.x, i_thread: thread.x, i_vec: vec)
";

/// `lo` for `hi` and `hi` for `lo`.
fn exchanged(aff: &Aff) -> Aff {
    aff.rename(&|n| match &**n {
        "lo" => Some(Name::new("hi")),
        "hi" => Some(Name::new("lo")),
        _ => None,
    })
    .unwrap()
}

#[test]
fn the_number_that_is_taken_off_is_one_for_each_result() {
    let (before, after) = realized("alignment", PARTS, VECTORS);
    let reason = "does not compute one number for each result";
    each_is_noticed(
        &before,
        &after,
        &[
            (
                "only some rows have a number",
                &|data| {
                    let even = Expr::binary(BinaryOp::Mod, Expr::name("s"), Expr::Int(2));
                    let even = Expr::binary(BinaryOp::Eq, even, Expr::Int(0));
                    instruction(data, "find_misalign_i").predicate = Some(even);
                },
                reason,
            ),
            (
                "rows may get the numbers of others",
                &|data| instruction(data, "find_misalign_i").atomic = true,
                reason,
            ),
            (
                "it depends on what the kernel writes",
                &|data| {
                    let find = instruction(data, "find_misalign_i");
                    let Expr::Binary(op, _, most) = find.value.clone() else { panic!() };
                    let read = Access { array: Name::new("y"), index: vec![Expr::name("s")] };
                    find.value = Expr::Binary(op, Expr::Subscript(read).into(), most);
                },
                reason,
            ),
            (
                "all threads of a block write their number to one place",
                &|data| {
                    let name = instruction(data, "find_misalign_i").targets[0].array.clone();
                    let number = data.temporaries.iter_mut().find(|t| t.name == name).unwrap();
                    number.space = AddressSpace::Shared;
                },
                reason,
            ),
            (
                "it may be any multiple of four, below zero too",
                &|data| {
                    let find = instruction(data, "find_misalign_i");
                    let Expr::Binary(op, start, _) = find.value.clone() else { panic!() };
                    find.value = Expr::Binary(op, start, Expr::Int(-4).into());
                },
                reason,
            ),
        ],
    );
}

/// The terms are those of the row, at the position from which the number has been taken off.
#[test]
fn what_is_reduced_is_what_was() {
    let (before, after) = realized("alignment", PARTS, VECTORS);
    let reason = "does not reduce what it did at other positions";
    each_is_noticed(
        &before,
        &after,
        &[(
            "each element counts twice",
            &|data| {
                let twice = |e: &Expr| Expr::binary(BinaryOp::Mul, e.clone(), Expr::Int(2));
                reduction(data, "total", |reduce| reduce.args = reduce.args.iter().map(twice).collect());
            },
            reason,
        )],
    );
}

/// The positions are read from data, under names that stand for what they are read from.
#[test]
fn rows_end_where_their_data_say() {
    let (before, after) = realized("alignment", PARTS, VECTORS);
    each_is_noticed(
        &before,
        &after,
        &[(
            "they begin where they ended, and end where they began",
            &|data| {
                let i = Name::new("i");
                for domain in data.domains.iter_mut().filter(|d| d.inames.contains(&i)) {
                    domain.constraints.iter_mut().for_each(|c| c.aff = exchanged(&c.aff));
                }
            },
            "has other points",
        )],
    );
}
