//! Moves a statement or a loop past others.

use loopwright_kernel_ir::{Diagnostic, KernelData, LoopKernel, Name, PartRef, Tree};

use crate::{
    Transform, names,
    rewrite::{tree, unknown_instruction},
};

step! {
    /// `move_statement(id, before=other)`: moves a statement, or a whole loop, to another place in
    /// the order of the loop in which it stands.
    ///
    /// # Meaning
    ///
    /// What is moved, and what it is moved before or after (`after=other`), are given by the id of
    /// an instruction or by the iname of a loop. In the innermost loop around both, or outside of
    /// all loops, the first goes directly before or behind the second, with the loops in it. So a
    /// nest comes next to another one with which it is to be fused, and a load in front of what it
    /// is loaded for.
    ///
    /// # Legality
    ///
    /// In that loop, the loops around what is moved contain nothing else: cut them with
    /// [`Distribute`](crate::Distribute) first. With M the executions of what is moved, and P those
    /// of what it passes, the step is legal if { (m, p) : m in M, p in P, in one iteration of the
    /// loops around, both access one cell, one of them writes } is empty.
    ///
    /// In text: `move_statement(load, before=store)`, `move_statement(i, after=j)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel three(x: f32[n], y: f32[n], z: f32[n], s: f32[1], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// domain { [k] : 0 <= k < n }
    /// domain { [j] : 0 <= j < n }
    /// y[i] = 2.0 * x[i] {id=first}
    /// s[0] = sum(k, x[k]) {id=total}
    /// z[j] = y[j] + 1.0 {id=second}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// move_statement(j, before=total)
    /// fuse_loops([i, j])
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel three(x: f32[n], y: f32[n], z: f32[n], s: f32[1], n: i32)
    /// domain { [k] : 0 <= k < n }
    /// domain { [i] : 0 <= i < n }
    /// y[i] = 2.0 * x[i] {id=first, inames=i}
    /// s[0] = sum(k, x[k]) {id=total}
    /// z[i] = y[i] + 1.0 {id=second, inames=i, map=[j: i]}
    /// tree {
    ///     for i {
    ///         first
    ///         second
    ///     }
    ///     total.init
    ///     for k {
    ///         total.update
    ///     }
    ///     total.finish
    /// }
    /// ");
    /// // What reads a value cannot go before what writes it.
    /// let refusal = Pipeline::parse("move_statement(second, before=first)")?.apply(&before).unwrap_err();
    /// assert_eq!(refusal.code, "dependence-violated");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct MoveStatement as "move_statement" {
        /// What is moved: an instruction, or the iname of a loop.
        pub what: Name = next("an instruction, or the iname of a loop"),
        /// What it goes before: an instruction, or the iname of a loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub before: Option<Name> = option(),
        /// What it goes behind, if not before something.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub after: Option<Name> = option(),
    }
    table: "move_statement(load, before=store)" => "`add_dependency`, which loopy's scheduler obeys",
    methods: {
        /// Moves a statement or a loop before another; see [`MoveStatement`].
        fn move_before(&self, what: &str, other: &str) -> Result<Self, Diagnostic> {
            self.step(MoveStatement::before(what, other))
        }

        /// Moves a statement or a loop behind another; see [`MoveStatement`].
        fn move_after(&self, what: &str, other: &str) -> Result<Self, Diagnostic> {
            self.step(MoveStatement::after(what, other))
        }
    }
}

impl MoveStatement {
    /// Moves a statement or a loop directly before another.
    pub fn before(what: impl Into<Name>, other: impl Into<Name>) -> Self {
        MoveStatement { what: what.into(), before: Some(other.into()), after: None }
    }

    /// Moves a statement or a loop directly behind another.
    pub fn after(what: impl Into<Name>, other: impl Into<Name>) -> Self {
        MoveStatement { what: what.into(), before: None, after: Some(other.into()) }
    }
}

/// The leaves of an instruction, or of a loop.
fn leaves_of(data: &KernelData, name: &Name) -> Result<Vec<PartRef>, Diagnostic> {
    if let Some(instruction) = data.instruction(name) {
        return Ok(data.parts(instruction));
    }
    if !data.is_iname(name) {
        return Err(unknown_instruction(data, name));
    }
    match tree::body_of(&data.tree, name) {
        Some(body) => Ok(body.iter().flat_map(Tree::leaves).cloned().collect()),
        None => Err(Diagnostic::new("not-nested", format!("no instruction runs in a loop over `{name}`"))
            .help("parallel inames are coordinates: name an instruction, or the loop around it")),
    }
}

impl Transform for MoveStatement {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let what = &self.what;
        let (other, is_before) = match (&self.before, &self.after) {
            (Some(other), None) => (other, true),
            (None, Some(other)) => (other, false),
            _ => {
                return Err(Diagnostic::new(
                    "step-arguments",
                    format!("`move_statement({what})` needs one of `before=` and `after=`"),
                )
                .help(format!("write `move_statement({what}, before=id)`")));
            }
        };
        let (moved, anchor) = (leaves_of(kernel, what)?, leaves_of(kernel, other)?);
        if let Some(both) = moved.iter().find(|part| anchor.contains(part)) {
            return Err(Diagnostic::new(
                "step-arguments",
                format!("`{both}` belongs to both `{what}` and `{other}`"),
            ));
        }
        // The loops around all of both.
        let paths: Vec<Vec<Name>> =
            moved.iter().chain(&anchor).map(|part| tree::path_of(&kernel.tree, part)).collect();
        let mut common = paths.first().cloned().unwrap_or_default();
        for path in &paths {
            let length = common.iter().zip(path).take_while(|(a, b)| a == b).count();
            common.truncate(length);
        }
        let body = match common.last() {
            Some(iname) => tree::body_of(&kernel.tree, iname).unwrap_or_default(),
            None => &kernel.tree,
        };
        let has = |tree: &Tree, parts: &[PartRef]| tree.leaves().iter().any(|leaf| parts.contains(leaf));
        let mut taken = Vec::new();
        let mut left = Vec::new();
        for child in body {
            if !has(child, &moved) {
                left.push(child.clone());
                continue;
            }
            let others: Vec<String> =
                child.leaves().iter().filter(|leaf| !moved.contains(leaf)).map(ToString::to_string).collect();
            if let (false, Tree::Loop { iname, .. }) = (others.is_empty(), child) {
                return Err(Diagnostic::new(
                    "loops-not-perfect",
                    format!(
                        "`{what}` cannot be moved: the loop over `{iname}` also contains {}",
                        names::list(others.iter().map(String::as_str))
                    ),
                )
                .help(format!("`distribute({iname})` gives it a loop of its own")));
            }
            taken.push(child.clone());
        }
        let at = match is_before {
            true => left.iter().position(|child| has(child, &anchor)),
            false => left.iter().rposition(|child| has(child, &anchor)).map(|k| k + 1),
        };
        let at = at.unwrap_or(left.len());
        left.splice(at..at, taken);
        kernel.edit(|data| {
            data.tree = match common.last() {
                None => left,
                Some(around) => tree::replace_loop(&data.tree, around, &|_| {
                    vec![Tree::Loop { iname: around.clone(), body: left.clone() }]
                }),
            };
            Ok::<(), Diagnostic>(())
        })
    }
}
