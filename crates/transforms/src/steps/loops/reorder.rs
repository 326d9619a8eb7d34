//! Interchanges loops.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Tree};

use crate::{
    Transform, names,
    rewrite::{body_of, check_commutes, path_to, replace_in_lists, require_iname, tree},
};

step! {
    /// `reorder(j, i)`: nests the loop over `i` inside the loop over `j`. It is loopy's
    /// `prioritize_loops`, and is always obeyed.
    ///
    /// # Meaning
    ///
    /// The named loops change places among themselves, so that they nest in the given order,
    /// outermost first. Loops between them that are not named stay where they are. Inames with
    /// parallel tags are coordinates, which have no order, and are passed over.
    ///
    /// # Legality
    ///
    /// The loops must be nested perfectly from the first to the last: a part between two of them
    /// would be executed a different number of times, and is refused. The order of a reduction
    /// whose operator does not commute is not changed. Two accesses of one cell, one of them a
    /// write, must keep their order for all values of the parameters; otherwise the step is refused
    /// with two executions whose order would change.
    ///
    /// In text: `reorder(j, i)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel carried(x: f32[n, m], n: i32, m: i32)
    /// domain { [i, j] : 1 <= i < n and 0 <= j < m - 1 }
    /// x[i, j] = x[i - 1, j] {id=step}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// split_iname(j, 8)
    /// reorder(j_outer, i, j_inner)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel carried(x: f32[n, m], n: i32, m: i32)
    /// domain { [i, j] : 1 <= i < n and 0 <= j <= m - 2 }
    /// domain { [j_outer, j_inner] : 0 <= j_inner <= 7 }
    /// let j = 8*j_outer + j_inner
    /// x[i, j] = x[i - 1, j] {id=step, inames=j_outer:i:j_inner}
    /// tree {
    ///     for j_outer {
    ///         for i {
    ///             for j_inner {
    ///                 step
    ///             }
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(transparent)]
    pub struct Reorder as "reorder" {
        /// The inames, outermost first.
        pub inames: Vec<Name> = names("the inames in their order, outermost first") of Inames,
    }
    table: "reorder(j, i)" => "`prioritize_loops(k, \"j,i\")`, always obeyed and its dependences \
        proved",
    methods: {
        /// See [`Reorder`].
        fn reorder(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(Reorder { inames: inames.into_names() })
        }
    }
}

impl Reorder {
    /// An order of loops, outermost first.
    pub fn new<N: Into<Name>>(inames: impl IntoIterator<Item = N>) -> Self {
        Reorder { inames: inames.into_iter().map(Into::into).collect() }
    }
}

impl Transform for Reorder {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        for (k, iname) in self.inames.iter().enumerate() {
            require_iname(kernel, iname)?;
            if self.inames[..k].contains(iname) {
                return Err(Diagnostic::new("iname-listed-twice", format!("`{iname}` is listed twice")));
            }
        }
        let loops: Vec<Name> = self.inames.iter().filter(|i| !kernel.tag(i).is_parallel()).cloned().collect();
        if loops.len() < 2 {
            return Err(Diagnostic::new("reorder-nothing", "an order needs at least two loops")
                .help("inames with parallel tags are coordinates and have no order"));
        }
        let longest = loops.iter().filter_map(|i| path_to(&kernel.tree, i)).max_by_key(Vec::len);
        let Some(path) = longest else {
            return Err(Diagnostic::new("not-nested", "no instruction runs in these loops"));
        };
        if let Some(other) = loops.iter().find(|i| !path.contains(i)) {
            let inner = path.last().cloned().unwrap_or_else(|| other.clone());
            return Err(Diagnostic::new(
                "not-nested",
                format!("the loops over `{other}` and `{inner}` are not nested in each other"),
            )
            .help("only loops around the same instructions can be interchanged"));
        }
        let old: Vec<Name> = path.iter().filter(|i| loops.contains(i)).cloned().collect();
        if old == loops {
            return Ok(kernel.clone());
        }
        // From the first to the last loop that changes its place, each has the next one as its only
        // child.
        let differs = |k: &usize| old[*k] != loops[*k];
        let first = (0..old.len()).find(differs).unwrap_or(0);
        let last = (0..old.len()).rev().find(differs).unwrap_or(0);
        let at = |k: usize| path.iter().position(|p| *p == old[k]).unwrap_or(0);
        for pair in path[at(first)..=at(last)].windows(2) {
            let body = body_of(&kernel.tree, &pair[0]).unwrap_or_default();
            if body.len() > 1 {
                let others: Vec<String> = body
                    .iter()
                    .filter(|t| !matches!(t, Tree::Loop { iname, .. } if *iname == pair[1]))
                    .flat_map(|t| t.leaves().into_iter().map(ToString::to_string).collect::<Vec<_>>())
                    .collect();
                return Err(Diagnostic::new(
                    "loops-not-perfect",
                    format!(
                        "the loops over `{}` and `{}` are not perfectly nested: the outer one \
                         also contains {}",
                        pair[0],
                        pair[1],
                        names::list(others.iter().map(String::as_str))
                    ),
                )
                .help(
                    "move what is between them to a separate loop with `duplicate_inames`, or tag \
                     one loop `ilp`",
                ));
            }
        }
        check_commutes(kernel, &loops[first..=last])?;
        kernel.edit(|data| {
            let new = |n: &Name| Some(loops[old.iter().position(|o| o == n)?].clone());
            tree::rename_loops(&mut data.tree, &new);
            // The lists of inames are updated through placeholders, so that no name is replaced
            // twice.
            let marks: Vec<Name> = old.iter().map(|n| Name::new(format!("{n}'"))).collect();
            let listed = old.clone();
            for (o, m) in listed.iter().zip(&marks) {
                replace_in_lists(data, o, std::slice::from_ref(m));
            }
            for (m, n) in marks.iter().zip(&loops) {
                replace_in_lists(data, m, std::slice::from_ref(n));
            }
            Ok(())
        })
    }
}
