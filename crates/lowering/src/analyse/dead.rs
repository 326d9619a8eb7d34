//! Instructions whose results nothing reads. They are left out of the program, and the schedule and
//! `explain` name them ([`LeftOut`]).

use std::{collections::BTreeSet, fmt};

use loopwright_kernel_ir::{Access as Element, AddressSpace, Expr, Instruction, LoopKernel, Name};

/// An instruction that a program leaves out, since nothing reads what it writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The id of the instruction.
    pub instruction: Name,
    /// The private and shared temporaries that it writes, each once.
    pub unread: Vec<Name>,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unread: Vec<&str> = self.unread.iter().map(|n| &**n).collect();
        write!(f, "left out: {} (nothing reads {})", self.instruction, unread.join(", "))
    }
}

/// What a program of the kernel leaves out, in the order of its instructions. `data` are the arrays
/// that bounds are read from.
pub(crate) fn left_out(kernel: &LoopKernel, data: &BTreeSet<Name>) -> Vec<LeftOut> {
    let dead = dead_instructions(kernel, data);
    let of = |i: &Instruction| {
        let mut unread: Vec<Name> = Vec::new();
        for target in &i.targets {
            if !unread.contains(&target.array) {
                unread.push(target.array.clone());
            }
        }
        LeftOut { instruction: i.id.clone(), unread }
    };
    kernel.instructions.iter().filter(|i| dead.contains(&i.id)).map(of).collect()
}

/// The instructions whose results, in private or shared temporaries, are never read, or only by
/// other such instructions.
fn dead_instructions(kernel: &LoopKernel, data: &BTreeSet<Name>) -> BTreeSet<Name> {
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
