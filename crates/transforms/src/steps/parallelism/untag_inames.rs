//! Makes tagged inames plain loops again.

use std::collections::HashMap;

use loopwright_kernel_ir::{Diagnostic, KernelData, LoopKernel, Name, PartRef, Tree};

use crate::{
    Transform,
    rewrite::{parts_with_inames, require_iname},
};

step! {
    /// `untag_inames(i)`: makes a tagged iname a sequential loop again.
    ///
    /// # Meaning
    ///
    /// A coordinate becomes a node of the loop tree again, around all parts that have it, outside
    /// the loops that come after it in the instructions' lists of inames.
    ///
    /// # Legality
    ///
    /// The parts that have the iname must be neighbours, so that there is one place for the loop.
    ///
    /// In text: `untag_inames(i, j)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel transpose(x: f32[n, m], y: f32[m, n], n: i32, m: i32)
    /// assume 1 <= n and 1 <= m
    /// domain { [i, j] : 0 <= i < n and 0 <= j < m }
    /// y[j, i] = x[i, j] {id=move}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// tag_inames(i: block.x)
    /// untag_inames(i)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel transpose(x: f32[n, m], y: f32[m, n], n: i32, m: i32)
    /// assume 1 <= n and 1 <= m
    /// domain { [i, j] : 0 <= i < n and 0 <= j < m }
    /// y[j, i] = x[i, j] {id=move, inames=i:j}
    /// tree {
    ///     for i {
    ///         for j {
    ///             move
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(transparent)]
    pub struct UntagInames as "untag_inames" {
        /// Inames that have tags.
        pub inames: Vec<Name> = names("the inames to untag") of Inames,
    }
    table: "untag_inames(i)" => "`untag_inames(k, \"i\", ...)`",
    methods: {
        /// See [`UntagInames`].
        fn untag_inames(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(UntagInames { inames: inames.into_names() })
        }
    }
}

impl UntagInames {
    /// Removes the tags of these inames.
    pub fn new<N: Into<Name>>(inames: impl IntoIterator<Item = N>) -> Self {
        UntagInames { inames: inames.into_iter().map(Into::into).collect() }
    }
}

/// Puts a loop over `iname` around the parts that have it.
pub(crate) fn restore_loop(data: &mut KernelData, iname: &Name) -> Result<(), Diagnostic> {
    let parts: HashMap<PartRef, Vec<Name>> = parts_with_inames(data).into_iter().collect();
    let has = |tree: &Tree| {
        tree.leaves().into_iter().map(|leaf| parts.get(leaf).is_some_and(|i| i.contains(iname))).collect()
    };
    // Whether the loop over `inner` belongs inside: some part lists it after the iname.
    let inside = |inner: &Name| {
        parts.values().any(|inames| {
            let at = |n: &Name| inames.iter().position(|i| i == n);
            matches!((at(iname), at(inner)), (Some(a), Some(b)) if a < b)
        })
    };
    fn put(
        trees: &mut Vec<Tree>,
        iname: &Name,
        has: &dyn Fn(&Tree) -> Vec<bool>,
        inside: &dyn Fn(&Name) -> bool,
    ) -> Result<(), Diagnostic> {
        let concerned: Vec<usize> = (0..trees.len()).filter(|k| has(&trees[*k]).contains(&true)).collect();
        let (Some(first), Some(last)) = (concerned.first().copied(), concerned.last().copied()) else {
            return Ok(());
        };
        if first == last
            && let Tree::Loop { iname: here, body } = &mut trees[first]
            && !inside(here)
        {
            return put(body, iname, has, inside);
        }
        if (first..=last).any(|k| has(&trees[k]).contains(&false)) {
            if first == last
                && let Tree::Loop { body, .. } = &mut trees[first]
            {
                return put(body, iname, has, inside);
            }
            return Err(Diagnostic::new(
                "untag-ambiguous",
                format!("`{iname}` cannot be a loop here: other parts are between those that have it"),
            )
            .help(
                "leave it tagged, or rename it for some of the instructions with \
                `duplicate_inames`",
            ));
        }
        let body: Vec<Tree> = trees.drain(first..=last).collect();
        trees.insert(first, Tree::Loop { iname: iname.clone(), body });
        Ok(())
    }
    put(&mut data.tree, iname, &has, &inside)
}

impl Transform for UntagInames {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        kernel.edit(|data| {
            for iname in &self.inames {
                require_iname(data, iname)?;
                let Some(tag) = data.take_tag(iname) else {
                    return Err(Diagnostic::new("not-tagged", format!("`{iname}` has no tag to remove"))
                        .help("leave it out: it is a sequential loop"));
                };
                if tag.is_parallel() {
                    restore_loop(data, iname)?;
                }
            }
            Ok(())
        })
    }
}
