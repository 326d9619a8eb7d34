//! What realisations share: new names, leaves in their place, bounds of blocks.

use std::sync::Arc;

use loopwright_kernel_ir::{
    Aff, Constraint, Definition, Diagnostic, Dim, Domain, Expr, KernelData, Name, Part, PartRef, Reduce, Tag,
    Tree,
};

/// A name like this one that nothing in the kernel has.
pub(crate) fn fresh(kernel: &KernelData, like: &str) -> Name {
    let taken = |name: &str| kernel.is_declared(name) || kernel.instruction(name).is_some();
    let mut name = like.to_string();
    let mut k = 1;
    while taken(&name) {
        name = format!("{like}_{k}");
        k += 1;
    }
    Name::from(name)
}

/// A name like this one that no operator has.
pub(crate) fn fresh_operator(kernel: &KernelData, like: &str) -> Name {
    let mut name = like.to_string();
    let mut k = 1;
    while kernel.operator(&name).is_some() {
        name = format!("{like}_{k}");
        k += 1;
    }
    Name::from(name)
}

/// An expression with a reduction replaced.
pub(crate) fn with_reduction(e: &Expr, reduce: &Arc<Reduce>, by: &Expr) -> Expr {
    match e {
        Expr::Reduce(r) if r == reduce => by.clone(),
        _ => e.map_children(&mut |c| with_reduction(c, reduce, by)),
    }
}

/// Spreads an iname that has bounds over this number of threads of an axis of the block: the inames
/// of their rounds, and of the threads.
pub(crate) fn over_threads(
    data: &mut KernelData,
    name: &Name,
    dim: Dim,
    threads: i64,
) -> Result<(Name, Name), Diagnostic> {
    let (outer, inner) = (fresh(data, &format!("{name}_outer")), fresh(data, &format!("{name}_inner")));
    let thread = Aff::var(&inner);
    data.domains.push(Domain {
        inames: vec![outer.clone(), inner.clone()],
        constraints: vec![
            Constraint::nonneg(thread.clone()),
            Constraint::lt(&thread, &Aff::constant(threads))?,
        ],
    });
    let value = Aff::var(&outer).scale(threads)?.add(&thread)?;
    data.definitions.push(Definition { iname: name.clone(), value });
    data.tags.insert(inner.clone(), Tag::Thread(dim));
    Ok((outer, inner))
}

/// The partial result is written once a block: the bounds of the block's inames alone.
pub(crate) fn bound_blocks(data: &mut KernelData, blocks: Vec<Constraint>) {
    for c in blocks {
        let names = c.names();
        let last = data.domains.iter_mut().rev().find(|d| d.inames.iter().any(|i| names.contains(i)));
        if let Some(d) = last
            && !d.constraints.contains(&c)
        {
            d.constraints.push(c);
        }
    }
}

/// The tree with a leaf of an instruction before that of an init.
pub(crate) fn before_init(trees: &[Tree], init: &PartRef, id: &Name) -> Vec<Tree> {
    let mut result = Vec::new();
    for tree in trees {
        match tree {
            Tree::Leaf(p) => {
                if p == init {
                    result.push(Tree::Leaf(PartRef { instruction: id.clone(), part: Part::Whole }));
                }
                result.push(tree.clone());
            }
            Tree::Loop { iname, body } => {
                result.push(Tree::Loop { iname: iname.clone(), body: before_init(body, init, id) })
            }
        }
    }
    result
}
