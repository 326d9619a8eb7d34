//! Index set splitting: divides the range of a loop in two by an affine condition.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    Aff, Arg, Constraint, Diagnostic, KernelData, Kind, LoopKernel, Name, Part, PartRef, Tree,
    parse_constraints,
};

use crate::{
    Transform,
    arguments::{Args, Argument, keyed},
    rewrite::{body_of, give_own_inames, path_to, require_fresh, require_iname, require_untagged, tree},
    step::TextForm,
};

step! {
    /// `index_set_split(i, i < k)`: splits the loop over `i` into one over the values where the
    /// condition holds and one over the others.
    ///
    /// # Meaning
    ///
    /// The loop over `i` with all that it contains is copied. The first copy keeps its names and
    /// takes the condition; inames and instructions of the other one get a suffix, and it takes the
    /// negated condition. The direction of the condition determines which of the two loops comes
    /// first, so that the values of `i` keep their order. Two splits separate a single value:
    /// `index_set_split(i, i <= k, suffix=_below)`, then `index_set_split(i, i < k, suffix=_at)`.
    ///
    /// # Legality
    ///
    /// Each instance is in exactly one of the copies, `{ S[i] : c }` or `{ S[i] : not c }`, and
    /// their order does not change, so that the step is legal wherever it applies. Inames of
    /// reductions, which share one accumulator, tagged inames, and conditions other than
    /// inequalities of the iname, inames around it and parameters are refused.
    ///
    /// In text: `index_set_split(i, i < k)`, with `suffix=_rest` as the default of its option.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel border(x: f32[n], y: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// y[i] = if(i < n - 1, x[i], 0.0) {id=set}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// index_set_split(i, i < n - 1, suffix=_last)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel border(x: f32[n], y: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n and i <= n - 2 }
    /// domain { [i_last] : 0 <= i_last < n <= i_last + 1 }
    /// y[i] = if(i < n - 1, x[i], 0.0) {id=set, inames=i}
    /// y[i_last] = if(i_last < n - 1, x[i_last], 0.0) {id=set_last, inames=i_last, does=set, map=[i: i_last]}
    /// tree {
    ///     for i {
    ///         set
    ///     }
    ///     for i_last {
    ///         set_last
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct IndexSetSplit as "index_set_split", by hand {
        /// The iname of the loop, without a tag.
        pub iname: Name,
        /// The condition under which the first copy runs.
        pub condition: Constraint,
        /// The suffix of the names in the other copy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub suffix: Option<Name>,
    }
    table: "index_set_split(i, i < k)" => "–",
    methods: {
        /// See [`IndexSetSplit`](crate::IndexSetSplit); a condition such as `i < k`.
        fn index_set_split(&self, iname: &str, condition: &str, suffix: &str) -> Result<Self, Diagnostic> {
            self.step(Step::parse(&format!("index_set_split({iname}, {condition}, \
                suffix={suffix})"))?)
        }
    }
}

impl IndexSetSplit {
    /// Splits at an inequality.
    pub fn new(iname: impl Into<Name>, condition: Constraint) -> Self {
        IndexSetSplit { iname: iname.into(), condition, suffix: None }
    }

    /// Sets the suffix of the names in the copy where the condition does not hold.
    pub fn suffixed(mut self, suffix: impl Into<Name>) -> Self {
        self.suffix = Some(suffix.into());
        self
    }
}

/// The items that are copied: the instructions of a loop and the sequential inames in it, beginning
/// with its own.
struct Copied {
    ids: Vec<Name>,
    inames: Vec<Name>,
}

fn copied(data: &KernelData, iname: &Name) -> Result<Copied, Diagnostic> {
    let body = body_of(&data.tree, iname).unwrap_or_default();
    let mut leaves: Vec<PartRef> = Vec::new();
    let mut inames = vec![iname.clone()];
    Tree::visit_leaves(body, &mut |path, part| {
        leaves.push(part.clone());
        for n in path {
            if !inames.contains(n) {
                inames.push((*n).clone());
            }
        }
    });
    let ids: BTreeSet<&Name> = leaves.iter().map(|l| &l.instruction).collect();
    let ids: Vec<Name> =
        data.instructions.iter().filter(|i| ids.contains(&i.id)).map(|i| i.id.clone()).collect();
    for id in &ids {
        let Some(instruction) = data.instruction(id) else { continue };
        if let Some(outside) = data.parts(instruction).into_iter().find(|p| !leaves.contains(p)) {
            let what = match outside.part {
                Part::Init(_) | Part::Finish => "it is an iname of a reduction",
                _ => "not all parts are inside",
            };
            return Err(Diagnostic::new(
                "split-of-reduction",
                format!("the loop over `{iname}` of `{id}` cannot be cut in two: {what}"),
            )
            .help("`split_reduction_outward` introduces partial results, whose loops can be cut"));
        }
    }
    Ok(Copied { ids, inames })
}

/// Checks that the condition is an inequality of the iname, of loops around it and of integer
/// arguments.
fn check_condition(data: &KernelData, iname: &Name, condition: &Constraint) -> Result<(), Diagnostic> {
    let refuse = |why: String| {
        Err(Diagnostic::new("split-condition", format!("`{iname}` cannot be split at {condition}: {why}"))
            .help("the condition has to be an inequality of the iname, outer loops and parameters"))
    };
    if condition.kind != Kind::Ge {
        return refuse("it is an equation".into());
    }
    if condition.aff.coefficient(iname) == 0 {
        return refuse(format!("it does not bound `{iname}` from one side"));
    }
    let around = path_to(&data.tree, iname).unwrap_or_default();
    for n in condition.names() {
        let known = around.contains(&n)
            || (data.is_iname(&n) && data.base_of(&n).iter().all(|b| around.contains(b) || *b == *iname))
            || data.args.iter().any(|a| matches!(a, Arg::Scalar(s) if s.name == n));
        if !known {
            return refuse(format!("`{n}` is neither an outer loop nor a parameter"));
        }
    }
    Ok(())
}

/// The tree with all loops and instructions renamed.
fn renamed(tree: &Tree, other: &dyn Fn(&Name) -> Name) -> Tree {
    match tree {
        Tree::Leaf(p) => Tree::Leaf(PartRef { instruction: other(&p.instruction), part: p.part }),
        Tree::Loop { iname, body } => {
            Tree::Loop { iname: other(iname), body: body.iter().map(|t| renamed(t, other)).collect() }
        }
    }
}

impl TextForm for IndexSetSplit {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let iname = args.next("the iname whose range is split")?;
        let suffix = args.option("suffix")?;
        let texts = args.all_texts();
        let [(text, span)] = texts.as_slice() else {
            return Err(args.error("`index_set_split` needs one condition, such as `i < k`"));
        };
        let constraints = parse_constraints(text)
            .map_err(|d| args.error_in(span.clone(), format!("`{text}`: {}", d.message)))?;
        match constraints.as_slice() {
            // Printed, an equation would read as an option.
            [Constraint { kind: Kind::Eq, .. }] => {
                Err(args.error_in(span.clone(), format!("`{text}` is an equation, not an inequality")))
            }
            [condition] => Ok(IndexSetSplit { iname, condition: condition.clone(), suffix }),
            _ => Err(args.error_in(span.clone(), format!("`{text}` is not one condition"))),
        }
    }

    fn arguments(&self) -> Vec<String> {
        let suffix = self.suffix.as_ref().map(|suffix| keyed("suffix", suffix));
        [self.iname.text(), self.condition.to_string()].into_iter().chain(suffix).collect()
    }
}

impl Transform for IndexSetSplit {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let (iname, condition) = (&self.iname, &self.condition);
        let suffix = self.suffix.as_ref().map_or("_rest", Name::as_str);
        require_iname(kernel, iname)?;
        require_untagged(kernel, iname, "split")?;
        check_condition(kernel, iname, condition)?;
        let Copied { ids, inames } = copied(kernel, iname)?;
        let other = |n: &Name| Name::new(format!("{n}{suffix}"));
        for n in &inames {
            require_fresh(kernel, &other(n), "suffix")?;
        }
        if let Some(id) = ids.iter().find(|id| kernel.instruction(&other(id)).is_some()) {
            return Err(Diagnostic::new(
                "name-taken",
                format!("the kernel already has an instruction `{}`", other(id)),
            )
            .help("choose another suffix with `suffix=...`"));
        }
        let pairs: Vec<(Name, Name)> = inames.iter().map(|n| (n.clone(), other(n))).collect();
        kernel.edit(|data| {
            let mut copies = Vec::new();
            for instruction in data.instructions.iter().filter(|i| ids.contains(&i.id)) {
                let mut copy = instruction.clone();
                copy.id = other(&copy.id);
                for id in copy.after.iter_mut().filter(|id| ids.contains(id)) {
                    *id = other(id);
                }
                copies.push(copy);
            }
            let at = data.instructions.iter().rposition(|i| ids.contains(&i.id)).map_or(0, |k| k + 1);
            let new_ids: Vec<Name> = copies.iter().map(|c| c.id.clone()).collect();
            data.instructions.splice(at..at, copies);
            give_own_inames(data, &new_ids, &pairs)?;
            // not (aff >= 0) is -aff - 1 >= 0. Defined inames in it may depend on the iname.
            let opposite = data.expand(&condition.aff)?.neg()?.add_constant(-1)?;
            let opposite = Constraint::nonneg(opposite.substitute_one(iname, &Aff::var(other(iname)))?);
            if let Some(domain) = data.domains.last_mut() {
                domain.constraints.push(opposite);
            }
            if let Some(domain) = data.domains.iter_mut().find(|d| d.inames.contains(iname)) {
                domain.constraints.push(condition.clone());
            }
            for (old, new) in &pairs {
                data.copy_tag(old, new);
            }
            let holds_first = condition.aff.coefficient(iname) < 0;
            data.tree = tree::replace_loop(&data.tree, iname, &|here| match holds_first {
                true => vec![here.clone(), renamed(here, &other)],
                false => vec![renamed(here, &other), here.clone()],
            });
            Ok(())
        })
    }
}
