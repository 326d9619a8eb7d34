//! Loop distribution: splits a loop into several over parts of its body.

use loopwright_kernel_ir::{Diagnostic, KernelData, LoopKernel, Name, Part, Tag, Tree};

use crate::{
    Transform,
    rewrite::{
        body_of, fresh, give_own_inames, require_fresh, require_iname, require_untagged, tree,
        unknown_instruction,
    },
};

step! {
    /// `distribute(i)`: gives each child of a loop a separate loop, one after the other.
    ///
    /// # Meaning
    ///
    /// The body of the loop is cut between its children, or only before the instructions of
    /// `before=[...]`. The first piece keeps the iname; the others run over copies of it, called
    /// `i_2`, `i_3`, ... by default. This is loop distribution (or fission), the inverse of
    /// [`FuseLoops`](crate::FuseLoops).
    ///
    /// # Legality
    ///
    /// The parts of one instruction stay together: a reduction cannot be cut. A cut is legal if no
    /// dependence goes backwards across it: { x in a later piece -> y in an earlier piece : y needs
    /// x, x at an earlier value of the iname } is empty.
    ///
    /// In text: `distribute(i)`, `distribute(i, before=[second], new=[i_second])`.
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
    /// y[i] = 2.0 * x[i] {id=first}
    /// z[i] = y[i] + 1.0 {id=second}
    /// ")?;
    /// let steps = Pipeline::parse("distribute(i)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel two(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// domain { [i_2] : 0 <= i_2 < n }
    /// y[i] = 2.0 * x[i] {id=first, inames=i}
    /// z[i_2] = y[i_2] + 1.0 {id=second, inames=i_2, map=[i: i_2]}
    /// tree {
    ///     for i {
    ///         first
    ///     }
    ///     for i_2 {
    ///         second
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Distribute as "distribute" {
        /// The iname of the loop, without a tag or with the tag `host`.
        pub iname: Name = next("the iname of the loop"),
        /// The instructions that begin a new loop; if empty, every child of the loop gets one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub before: Vec<Name> = option() of Instructions,
        /// Names of the copies of the iname, in the order of the loops.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub new: Vec<Name> = option(),
    }
    table: "distribute(i)" => "`duplicate_inames`",
    methods: {
        /// See [`Distribute`], which has options.
        fn distribute(&self, iname: &str) -> Result<Self, Diagnostic> {
            self.step(Distribute::new(iname))
        }
    }
}

impl Distribute {
    /// Gives each child of the loop's body a loop of its own.
    pub fn new(iname: impl Into<Name>) -> Self {
        Distribute { iname: iname.into(), before: Vec::new(), new: Vec::new() }
    }

    /// Cuts the body only before these instructions.
    pub fn before<N: Into<Name>>(mut self, ids: impl IntoIterator<Item = N>) -> Self {
        self.before = ids.into_iter().map(Into::into).collect();
        self
    }

    /// Names the copies of the iname.
    pub fn named<N: Into<Name>>(mut self, new: impl IntoIterator<Item = N>) -> Self {
        self.new = new.into_iter().map(Into::into).collect();
        self
    }

    /// The children of the loop, in pieces.
    fn pieces(&self, kernel: &KernelData) -> Result<Vec<Vec<Tree>>, Diagnostic> {
        let iname = &self.iname;
        let Some(body) = body_of(&kernel.tree, iname) else {
            return Err(Diagnostic::new(
                "not-nested",
                format!("no instruction runs in a loop over `{iname}`"),
            ));
        };
        for id in &self.before {
            if kernel.instruction(id).is_none() {
                return Err(unknown_instruction(kernel, id));
            }
            // A cut before it has to be a cut between children.
            let child = body.iter().find(|t| t.leaves().iter().any(|l| l.instruction == *id));
            let first = child.and_then(|t| t.leaves().first().map(|l| l.instruction.clone()));
            if first.as_ref() != Some(id) {
                return Err(Diagnostic::new(
                    "loops-not-perfect",
                    format!(
                        "the loop over `{iname}` cannot be cut before `{id}`, which does not \
                         begin one of its children"
                    ),
                )
                .help("distribute the inner loop first"));
            }
        }
        // Parts of one instruction stay together, since they share an accumulator.
        let cut_through = |k: usize| {
            let ids = |trees: &[Tree]| {
                trees.iter().flat_map(Tree::leaves).map(|l| l.instruction.clone()).collect::<Vec<_>>()
            };
            let left = ids(&body[..k]);
            ids(&body[k..]).into_iter().find(|id| left.contains(id))
        };
        let mut pieces: Vec<Vec<Tree>> = Vec::new();
        for (k, tree) in body.iter().enumerate() {
            let asked = k > 0
                && tree.leaves().first().is_some_and(|l| {
                    self.before.is_empty() || {
                        self.before.contains(&l.instruction)
                            && !matches!(l.part, Part::Update(_) | Part::Finish)
                    }
                });
            match (asked, cut_through(k), pieces.last_mut()) {
                (true, None, _) | (_, _, None) => pieces.push(vec![tree.clone()]),
                (true, Some(id), Some(_)) if !self.before.is_empty() => {
                    return Err(Diagnostic::new(
                        "split-of-reduction",
                        format!("the loop over `{iname}` cannot be cut inside the reduction of `{id}`"),
                    ));
                }
                (_, _, Some(last)) => last.push(tree.clone()),
            }
        }
        if pieces.len() < 2 {
            return Err(Diagnostic::new(
                "distribute-nothing",
                format!("there is nothing to distribute in the loop over `{iname}`"),
            ));
        }
        Ok(pieces)
    }
}

impl Transform for Distribute {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let iname = &self.iname;
        require_iname(kernel, iname)?;
        if kernel.tag(iname) != Tag::Host {
            require_untagged(kernel, iname, "distributed")?;
        }
        let pieces = self.pieces(kernel)?;
        if !self.new.is_empty() && self.new.len() != pieces.len() - 1 {
            return Err(Diagnostic::new(
                "step-arguments",
                format!(
                    "the loop is cut into {} pieces, and {} new names are given",
                    pieces.len(),
                    self.new.len()
                ),
            )
            .help("the first piece keeps the name of the iname"));
        }
        kernel.edit(|data| {
            let mut loops = Vec::new();
            for (k, body) in pieces.into_iter().enumerate() {
                if k == 0 {
                    loops.push(Tree::Loop { iname: iname.clone(), body });
                    continue;
                }
                let new = match self.new.get(k - 1) {
                    Some(new) => {
                        require_fresh(data, new, "new")?;
                        new.clone()
                    }
                    None => fresh(data, iname),
                };
                let mut ids: Vec<Name> = Vec::new();
                for leaf in body.iter().flat_map(Tree::leaves) {
                    if !ids.contains(&leaf.instruction) {
                        ids.push(leaf.instruction.clone());
                    }
                }
                give_own_inames(data, &ids, &[(iname.clone(), new.clone())])?;
                data.copy_tag(iname, &new);
                loops.push(Tree::Loop { iname: new, body });
            }
            data.tree = tree::replace_loop(&data.tree, iname, &|_| loops.clone());
            Ok(())
        })
    }
}
