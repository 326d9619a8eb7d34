//! What does a share of a reduction does that share, over the loops that there were.

use crate::common::{each_is_noticed, instruction, position, realized, reduction};
use loopwright_kernel_ir::{Name, Role, Share, Tree};

#[test]
fn shares_of_two_stages() {
    let text = "\
kernel k(x: f32[m, n], w: f32[m], out: f32[m], n: i32, m: i32)
domain { [s] : 0 <= s < m }
domain { [i] : 0 <= i < n }
domain { [r] : 0 <= r < m }
out[s] = sum(i, x[s, i]) {id=total}
w[r] = 1.0 {id=other}
";
    let steps = "\
split_iname(i, 256)
tag_inames(s: block.x, i_outer: block.y, i_inner: thread.x)
";
    let (before, after) = realized("two_stages", text, steps);
    each_is_noticed(
        &before,
        &after,
        &[
            (
                "what joins is said to update",
                &|data| {
                    let role = Role::Realizes { of: Name::new("total"), share: Share::Update };
                    instruction(data, "total").role = role;
                },
                "is to join partial results",
            ),
            (
                "a block reduces over another iname too",
                &|data| reduction(data, "total_partial", |r| r.inames.push(Name::new("r"))),
                "does not reduce what",
            ),
            (
                "what joins runs in a loop that there was",
                &|data| {
                    let nest = position(&data.tree, "total.init") + 1;
                    let body = vec![data.tree[nest].clone()];
                    data.tree[nest] = Tree::Loop { iname: Name::new("r"), body };
                },
                "the loop tree has changed",
            ),
        ],
    );
}
