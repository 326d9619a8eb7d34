//! Computes reductions whose range grows with a loop as running totals.

use std::fmt;

use loopwright_kernel_ir::{
    Aff, Constraint, Definition, Diagnostic, Domain, Expr, Instruction, KernelData, LoopKernel, Name, Part,
    PartRef, Tree,
};
use loopwright_legality::{Backwards, Judgement, backwards, carried};

use crate::{
    Reverse, Step, Transform, names,
    rewrite::{fresh, require_iname, require_untagged, tree},
};

step! {
    /// `realize_scan(i, j)`: turns a sum over `0 <= j <= i`, recomputed for each `i`, into a
    /// running total.
    ///
    /// # Meaning
    ///
    /// The reductions over `j` keep their accumulator from one `i` to the next: `init` moves out of
    /// the loop over `i`, and each iteration adds its one new point: `j = i` for an inclusive scan,
    /// `j = i - 1` for an exclusive one (`0 <= j < i`). Any operator can be scanned, including one
    /// that does not commute or whose state has several values, since the order of the points is
    /// kept.
    ///
    /// Other ranges are scanned in reversed loops. `i <= j < n` shrinks, and both loops are
    /// reversed first, as by `reverse(i)` and `reverse(j)`: later steps find the loop of the scan
    /// as `i_rev`. `0 <= j < n - i` takes `reverse(i)`, and `n - i <= j < n`, which grows from its
    /// end, `reverse(j)`.
    ///
    /// Later steps determine how it runs. A loop over `i` is sequential. With `i` split and its
    /// inner part on the threads of a block, the threads scan their points together by shuffles and
    /// shared memory, whatever their number; a loop over the outer part carries the total from tile
    /// to tile. Lanes (`vec`, `ilp`) inside the threads give each thread several neighbouring
    /// points. With the outer part on an axis of the grid, each block scans a tile and looks back
    /// over the tiles before its own, all in one launch, ahead of which a short one resets what
    /// tiles pass on; the rounding of floating-point sums then depends on the time at which blocks
    /// run.
    ///
    /// # Legality
    ///
    /// With U the points `(w, i, j)` of the reduction, I its instances `(w, i)`, and a constant
    /// `c`, the step is legal by theorem if
    ///
    /// * `{ (w, i, j) in U : j > i + c or (w, j - c, j) not in U }` and `{ (w, i, j) : (w, i) in I
    ///   and (w, j - c, j) in U and j - c <= i and (w, i, j) not in U }` are empty: each `i` has
    ///   the points that those up to it add, the last point of each; `i` may go in steps, as in
    ///   `0 <= i < n and i mod 3 = 0` with `0 <= j <= i and j mod 3 = 0`;
    /// * the reduced expression does not depend on `i`;
    /// * `{ x writes what is read for j : x < (w, i, j), not x < (w, j - c, j) }` is empty: the
    ///   value that the first instance reads for a point is the one that all later ones read.
    ///
    /// Where loops are reversed, this has to hold of the reversed ones, and reversing is judged as
    /// [`Reverse`] is: no dependence may be carried by `i`, and the operator has to commute. Tagged
    /// inames, predicates, and loops between `i` and `j` that are not part of the scan are refused.
    /// A step that changes the order of a scan is judged like any other. Which scans can go along
    /// blocks is decided by lowering (`look-back`).
    ///
    /// In text: `realize_scan(i, j)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel prefix_sum(x: f32[n], out: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// domain { [j] : 0 <= j <= i }
    /// out[i] = sum(j, x[j]) {id=prefix}
    /// ")?;
    /// let steps = Pipeline::parse("realize_scan(i, j)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel prefix_sum(x: f32[n], out: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// domain { [j] : 0 <= j <= i }
    /// domain { [j_new] : 0 = j_new }
    /// let j = i + j_new
    /// out[i] = sum(j, x[j]) {id=prefix, inames=i, scan=i}
    /// tree {
    ///     prefix.init
    ///     for i {
    ///         for j_new {
    ///             prefix.update
    ///         }
    ///         prefix.finish
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct RealizeScan as "realize_scan" {
        /// The iname along which the range grows.
        pub sweep: Name = next("the iname along which the range grows"),
        /// The iname of the reductions.
        pub point: Name = next("the iname of the reductions"),
    }
    table: "realize_scan(i, j)" => "`realize_reduction(k, force_scan=True)`",
    methods: {
        /// See [`RealizeScan`]: running totals along `sweep` replace reductions over `point`.
        fn realize_scan(&self, sweep: &str, point: &str) -> Result<Self, Diagnostic> {
            self.step(RealizeScan::new(sweep, point))
        }
    }
}

impl RealizeScan {
    /// Replaces reductions over `point` by running totals along `sweep`.
    pub fn new(sweep: impl Into<Name>, point: impl Into<Name>) -> Self {
        RealizeScan { sweep: sweep.into(), point: point.into() }
    }

    fn refuse(&self, id: &Name, why: impl fmt::Display, help: impl Into<String>) -> Diagnostic {
        Diagnostic::new("not-a-scan", format!("`{id}` is not a scan along `{}`: {why}", self.sweep))
            .help(help)
    }

    /// The instructions that reduce over the point.
    fn instructions<'a>(&self, data: &'a KernelData) -> Result<Vec<&'a Instruction>, Diagnostic> {
        let (i, j) = (&self.sweep, &self.point);
        let uses = |x: &&Instruction| x.reductions().iter().any(|r| r.inames.contains(j));
        let found: Vec<&Instruction> = data.instructions.iter().filter(uses).collect();
        if found.is_empty() {
            return Err(Diagnostic::new("reduction-inames", format!("no reduction runs over `{j}`")));
        }
        if let Some(other) = data.instructions.iter().find(|x| x.within.contains(j)) {
            return Err(self
                .refuse(&found[0].id, format!("`{}` also runs over `{j}`", other.id), "")
                .help(format!("`duplicate_inames({j}, within=[{}])` first", other.id)));
        }
        for x in &found {
            let id = &x.id;
            let reductions = x.reductions();
            if let Some(r) = reductions.iter().find(|r| r.inames != [j.clone()]) {
                let over = names::comma(&r.inames);
                return Err(self.refuse(
                    id,
                    format!("it also reduces over {over}"),
                    "move each reduction to a separate instruction",
                ));
            }
            if reductions.iter().any(|r| r.args.iter().any(|a| !a.reductions().is_empty())) {
                return Err(self.refuse(id, "a reduction is nested in another", "precompute the inner one"));
            }
            if x.predicate.is_some() {
                return Err(self.refuse(
                    id,
                    "it has a predicate",
                    "reduce `if(condition, value, neutral)` instead",
                ));
            }
            if !x.within.contains(i) {
                return Err(self.refuse(
                    id,
                    format!("`{i}` is not around it"),
                    format!("it has {}", names::list(x.within.iter().map(Name::as_str))),
                ));
            }
            for name in reductions.iter().flat_map(|r| &r.args).flat_map(Expr::names) {
                if data.base_of(&name).contains(i) {
                    return Err(self.refuse(
                        id,
                        format!(
                            "the reduced expression depends on `{name}`, so that each `{i}` \
                             reduces different values"
                        ),
                        format!(
                            "a factor that is the same for all `{j}` can be moved out of the \
                             reduction"
                        ),
                    ));
                }
            }
        }
        Ok(found)
    }

    /// The loops around an instruction, those of the scan after the others; refuses loops inside
    /// the scan.
    fn path(&self, data: &KernelData, x: &Instruction) -> Result<Vec<Name>, Diagnostic> {
        let part = |part| PartRef { instruction: x.id.clone(), part };
        let path = tree::path_of(&data.tree, &part(Part::Finish));
        if path.last() != Some(&self.sweep) {
            let inner = path.last().cloned().unwrap_or_else(|| self.sweep.clone());
            return Err(self.refuse(
                &x.id,
                format!("the loop over `{inner}` is inside the one over `{}`", self.sweep),
                format!("`reorder({inner}, {})` first", self.sweep),
            ));
        }
        for n in 0..x.reductions().len() {
            let mut inside = tree::path_of(&data.tree, &part(Part::Update(n)));
            if inside.pop().as_ref() != Some(&self.point) || inside != path {
                return Err(self.refuse(
                    &x.id,
                    format!(
                        "the loop over `{}` is not directly inside the one over `{}`",
                        self.point, self.sweep
                    ),
                    format!("`reorder({}, {})` first", self.sweep, self.point),
                ));
            }
        }
        Ok(path)
    }

    /// If the range has no end that grows with the loop around it: the kernel with the loops
    /// reversed that make it one, and the scan of these.
    fn turned(&self, kernel: &LoopKernel) -> Result<Option<(LoopKernel, RealizeScan)>, Diagnostic> {
        for iname in [&self.sweep, &self.point] {
            require_iname(kernel, iname)?;
            require_untagged(kernel, iname, "scanned")?;
        }
        // All reductions over the point have its range.
        let Some(x) = self.instructions(kernel)?.into_iter().next() else { return Ok(None) };
        self.path(kernel, x)?;
        let Backwards { sweep, point } = backwards(kernel, &x.id, &self.sweep, &self.point)?;
        if !sweep && !point {
            return Ok(None);
        }
        let (mut kernel, mut scan) = (kernel.clone(), self.clone());
        for (is_reversed, iname) in [(sweep, &mut scan.sweep), (point, &mut scan.point)] {
            if is_reversed {
                let new = fresh(&kernel, &format!("{iname}_rev"));
                let step = Step::from(Reverse::new(iname.clone()).named(new.clone()));
                kernel = step.judged(&kernel)?.kernel;
                *iname = new;
            }
        }
        Ok(Some((kernel, scan)))
    }

    /// The scan of a range that grows.
    fn scanned(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let (i, j) = (&self.sweep, &self.point);
        let mut offset = None;
        let mut ids = Vec::new();
        for x in self.instructions(kernel)? {
            let path = self.path(kernel, x)?;
            let c = carried(kernel, &x.id, i, j)?;
            if offset.is_some_and(|o| o != c) {
                return Err(self.refuse(
                    &x.id,
                    format!("its `{j}` differs from that of the preceding instructions"),
                    format!("`duplicate_inames({j}, within=[{}])` first", x.id),
                ));
            }
            offset = Some(c);
            ids.push((x.id.clone(), x.reductions().len(), path));
        }
        let offset = offset.unwrap_or(0);
        kernel.edit(|data| {
            // The new point gets a separate iname, so that its constraints restrict only the
            // updates.
            let new = fresh(data, &format!("{j}_new"));
            data.domains.push(Domain {
                inames: vec![new.clone()],
                constraints: vec![Constraint::zero(Aff::var(&new))],
            });
            let value = Aff::var(i).add(&Aff::var(&new))?.add_constant(offset)?;
            data.definitions.push(Definition { iname: j.clone(), value });
            data.tree = Tree::replace_loop(&data.tree, j, std::slice::from_ref(&new));
            // The instruction's name for the iname, by which later steps find it: the declared one,
            // if there is one.
            for (id, count, path) in &ids {
                for x in data.instructions.iter_mut().filter(|x| x.id == *id) {
                    let declared = x.map.iter().find(|(_, v)| v.as_var() == Some(i)).map(|(n, _)| n.clone());
                    x.scan = Some(declared.unwrap_or_else(|| i.clone()));
                }
                for n in 0..*count {
                    let part = |part| PartRef { instruction: id.clone(), part };
                    data.tree = tree::replace_leaf(&data.tree, &part(Part::Init(n)), &[]);
                    tree::insert_before(
                        &mut data.tree,
                        &path[..path.len() - 1],
                        &[part(Part::Update(n))],
                        Tree::Leaf(part(Part::Init(n))),
                    )?;
                }
            }
            Ok(())
        })
    }
}

impl Transform for RealizeScan {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        match self.turned(kernel)? {
            Some((reversed, scan)) => scan.scanned(&reversed),
            None => self.scanned(kernel),
        }
    }

    fn notes(&self, before: &LoopKernel) -> Vec<String> {
        let Ok(Some((_, scan))) = self.turned(before) else { return Vec::new() };
        let pairs = [(&self.sweep, &scan.sweep), (&self.point, &scan.point)].into_iter();
        let reversed: Vec<String> = (pairs.filter(|(old, new)| old != new))
            .map(|(old, new)| format!("`{old}` was reversed as `{new}`"))
            .collect();
        vec![format!("for a range that grows with the loop around it, {}", reversed.join(", and "))]
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        // Where loops are reversed, that has been judged.
        Judgement::Theorem(
            "each iteration has the points that those up to it add, and the value read for a point does \
             not change",
        )
    }
}
