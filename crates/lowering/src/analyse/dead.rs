//! Instructions whose results nothing reads.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Access as Element, AddressSpace, Expr, Instruction, LoopKernel, Name};

/// The instructions whose results, in private or shared temporaries, are never read, or only by
/// other such instructions.
pub(crate) fn dead_instructions(kernel: &LoopKernel, data: &BTreeSet<Name>) -> BTreeSet<Name> {
    let local =
        |target: &Element| kernel.temporary(&target.array).is_some_and(|t| t.space != AddressSpace::Global);
    let mut dead = BTreeSet::new();
    loop {
        let mut read = data.clone();
        for i in kernel.instructions.iter().filter(|i| !dead.contains(&i.id)) {
            let of_itself = |n: &Name| i.targets.iter().any(|t| t.array == *n);
            let mut note = |n: &Name| {
                if !of_itself(n) {
                    read.insert(n.clone());
                }
            };
            for e in
                std::iter::once(&i.value).chain(&i.predicate).chain(i.targets.iter().flat_map(|t| &t.index))
            {
                e.visit(&mut |e| match e {
                    Expr::Name(n) => note(n),
                    Expr::Subscript(access) => note(&access.array),
                    _ => {}
                });
            }
        }
        let before = dead.len();
        let unread = |i: &&Instruction| i.targets.iter().all(|t| local(t) && !read.contains(&t.array));
        dead.extend(kernel.instructions.iter().filter(unread).map(|i| i.id.clone()));
        if dead.len() == before {
            return dead;
        }
    }
}
