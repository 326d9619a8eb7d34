//! Gives some instructions separate loops.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, PartRef, Tree};

use crate::{
    Transform, names,
    rewrite::{give_own_inames, path_to, require_fresh, require_iname, require_instructions},
};

step! {
    /// `duplicate_inames([i], [second])`: gives the instructions separate loops over copies of the
    /// inames.
    ///
    /// # Meaning
    ///
    /// The chosen instructions run over new inames with the same range; the loop is split in two,
    /// and their half comes before or after the rest, according to their position. Each
    /// instruction's map remembers the value of the declared iname.
    ///
    /// # Legality
    ///
    /// The chosen instructions must all be at the beginning or all at the end of the loop, and no
    /// dependence may go from the half that comes later to the other one: no access of the later
    /// half may previously have preceded an access to the same cell by the earlier half where one
    /// of the two is a write. Otherwise the step is refused with two such executions.
    ///
    /// In text: `duplicate_inames([i], [second, third], new=[i2])`; by default the new iname is
    /// called `i_dup`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel two(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// temp t: f32[n] global
    /// temp q: f32 private
    /// t[i] = 2.0 * x[i] {id=first}
    /// q = x[i] {id=load}
    /// y[i] = t[i] + q {id=second}
    /// z[i] = t[i] {id=third}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// duplicate_inames(i, third, new=i3)
    /// split_iname(i3, 8)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel two(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// domain { [i3] : 0 <= i3 < n }
    /// domain { [i3_outer, i3_inner] : 0 <= i3_inner <= 7 }
    /// temp t: f32[n] global
    /// temp q: f32 private
    /// let i3 = 8*i3_outer + i3_inner
    /// t[i] = 2.0 * x[i] {id=first, inames=i}
    /// q = x[i] {id=load, inames=i}
    /// y[i] = t[i] + q {id=second, inames=i}
    /// z[i3] = t[i3] {id=third, inames=i3_outer:i3_inner, map=[i: i3]}
    /// tree {
    ///     for i {
    ///         first
    ///         load
    ///         second
    ///     }
    ///     for i3_outer {
    ///         for i3_inner {
    ///             third
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct DuplicateInames as "duplicate_inames" {
        /// The inames, over each of which at least one of the instructions runs.
        pub inames: Vec<Name> = next("the inames") of Inames,
        /// The instructions that get separate loops.
        pub instructions: Vec<Name> = next("the instructions, as `[id, ...]`") of Instructions,
        /// Names of the copies, in the order of the inames.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub new: Vec<Name> = option(),
    }
    table: "duplicate_inames([i], [id])" => "`duplicate_inames(k, \"i\", \"id:id\")`, with its \
        dependences proved",
    methods: {
        /// See [`DuplicateInames`].
        fn duplicate_inames(
            &self,
            inames: impl IntoNames,
            instructions: impl IntoNames,
            new: impl IntoNames,
        ) -> Result<Self, Diagnostic> {
            self.step(DuplicateInames {
                inames: inames.into_names(),
                instructions: instructions.into_names(),
                new: new.into_names(),
            })
        }
    }
}

impl DuplicateInames {
    /// Gives instructions separate loops.
    pub fn new<N: Into<Name>, I: Into<Name>>(
        inames: impl IntoIterator<Item = N>,
        instructions: impl IntoIterator<Item = I>,
    ) -> Self {
        DuplicateInames {
            inames: inames.into_iter().map(Into::into).collect(),
            instructions: instructions.into_iter().map(Into::into).collect(),
            new: Vec::new(),
        }
    }

    /// Names the copies, in the order of the inames.
    pub fn named<N: Into<Name>>(mut self, new: impl IntoIterator<Item = N>) -> Self {
        self.new = new.into_iter().map(Into::into).collect();
        self
    }
}

/// Cuts the loop over `iname` in two.
fn cut(trees: &mut Vec<Tree>, iname: &Name, new: &Name, chosen: &[Name]) -> Result<bool, Diagnostic> {
    for k in 0..trees.len() {
        let Tree::Loop { iname: here, body } = &mut trees[k] else { continue };
        if here != iname {
            if cut(body, iname, new, chosen)? {
                return Ok(true);
            }
            continue;
        }
        let mut mine = Vec::new();
        for tree in body.iter() {
            let leaves = tree.leaves();
            let count = leaves.iter().filter(|l| chosen.contains(&l.instruction)).count();
            if count != 0 && count != leaves.len() {
                return Err(Diagnostic::new(
                    "loops-not-perfect",
                    format!(
                        "the loop over `{iname}` cannot be cut: a loop inside it has \
                        instructions of both halves"
                    ),
                )
                .help("duplicate the inner iname first, or both together"));
            }
            mine.push(count != 0);
        }
        let changes = mine.windows(2).filter(|w| w[0] != w[1]).count();
        if changes > 1 {
            return Err(Diagnostic::new(
                "loops-not-perfect",
                format!(
                    "the loop over `{iname}` cannot be cut in two: {} are between other \
                     instructions",
                    names::list(chosen.iter().map(|n| &**n))
                ),
            )
            .help("choose instructions at the beginning or at the end of the loop"));
        }
        if changes == 0 {
            if mine.first() == Some(&true) {
                *here = new.clone();
            }
            return Ok(true);
        }
        let at = mine.windows(2).position(|w| w[0] != w[1]).map_or(0, |k| k + 1);
        let back = body.split_off(at);
        let behind = if mine[0] {
            *here = new.clone();
            iname.clone()
        } else {
            new.clone()
        };
        trees.insert(k + 1, Tree::Loop { iname: behind, body: back });
        return Ok(true);
    }
    Ok(false)
}

impl DuplicateInames {
    fn one(&self, kernel: &LoopKernel, iname: &Name, new: &Name) -> Result<LoopKernel, Diagnostic> {
        require_iname(kernel, iname)?;
        require_fresh(kernel, new, "new")?;
        let with: Vec<PartRef> = kernel
            .instructions
            .iter()
            .flat_map(|i| kernel.parts(i))
            .filter(|p| kernel.part_inames(p).contains(iname))
            .collect();
        let concerned: Vec<Name> = self
            .instructions
            .iter()
            .filter(|id| with.iter().any(|p| p.instruction == **id))
            .cloned()
            .collect();
        if concerned.is_empty() {
            return Err(Diagnostic::new(
                "duplicate-nothing",
                format!("none of the instructions runs over `{iname}`"),
            ));
        }
        kernel.edit(|data| {
            give_own_inames(data, &concerned, &[(iname.clone(), new.clone())])?;
            data.copy_tag(iname, new);
            if !data.tag(iname).is_parallel() {
                cut(&mut data.tree, iname, new, &concerned)?;
            }
            Ok(())
        })
    }
}

impl Transform for DuplicateInames {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        require_instructions(kernel, &self.instructions)?;
        if !self.new.is_empty() && self.new.len() != self.inames.len() {
            return Err(Diagnostic::new(
                "step-arguments",
                format!(
                    "{} inames are duplicated, and {} new names are given",
                    self.inames.len(),
                    self.new.len()
                ),
            ));
        }
        // Inner loops first, so that an outer one can be cut between them.
        let mut pairs: Vec<(Name, Name)> = self
            .inames
            .iter()
            .enumerate()
            .map(|(k, i)| {
                (i.clone(), self.new.get(k).cloned().unwrap_or_else(|| Name::new(format!("{i}_dup"))))
            })
            .collect();
        pairs.sort_by_key(|(i, _)| std::cmp::Reverse(path_to(&kernel.tree, i).map_or(0, |p| p.len())));
        for (iname, _) in &pairs {
            require_iname(kernel, iname)?;
        }
        let mut kernel = kernel.clone();
        for (iname, new) in &pairs {
            kernel = self.one(&kernel, iname, new)?;
        }
        Ok(kernel)
    }
}
