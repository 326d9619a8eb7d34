//! Joins nested loops into one.

use loopwright_kernel_ir::{
    Aff, Constraint, Definition, Diagnostic, Domain, KernelData, LoopKernel, Name, Tree,
};
use loopwright_legality::Judgement;

use crate::{
    Transform,
    arguments::{Args, Argument},
    names,
    patterns::{Subject, is_pattern},
    rewrite::{
        body_of, extent, parts_with_inames, replace_in_lists, require_fresh, require_iname, require_untagged,
    },
    step::{List, TextForm},
};

step! {
    /// `join_inames([i, j], k)`: the loops over `i` and `j` inside it become one loop over `k`.
    ///
    /// # Meaning
    ///
    /// With `J` values of `j`, the iname `k` comes with the definitions `i = floor(k/J)` and
    /// `j = k mod J` (each plus its least value); expressions and constraints still refer to `i`
    /// and `j`. The first of the inames varies slowest.
    ///
    /// # Legality
    ///
    /// The loops must be nested perfectly, without tags, in the given order. All but the first need
    /// a constant length; the least value of the first has to be a single function of the
    /// parameters. Executions and their order stay the same, so the step is always legal.
    ///
    /// In text: `join_inames([i, j], k)`, or `join_inames(i, j, new=k)`; by default the new iname
    /// is called `i_j`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel fill(y: f32[n, 8], n: i32)
    /// domain { [i, j] : 0 <= i < n and 0 <= j < 8 }
    /// y[i, j] = 1.0 {id=fill}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// join_inames(i, j)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel fill(y: f32[n, 8], n: i32)
    /// domain { [i, j] : 0 <= i < n and 0 <= j <= 7 }
    /// domain { [i_j] : 0 <= i_j < 8*n }
    /// let i = floor(i_j/8)
    /// let j = i_j mod 8
    /// y[i, j] = 1.0 {id=fill, inames=i_j}
    /// tree {
    ///     for i_j {
    ///         fill
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct JoinInames as "join_inames", by hand {
        /// The inames, slowest first.
        pub inames: Vec<Name>,
        /// The joined iname; by default the names joined by `_`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub new: Option<Name>,
    }
    table: "join_inames([i, j], k)" => "`join_inames(k, [\"i\", \"j\"], \"k\")`",
    methods: {
        /// See [`JoinInames`].
        fn join_inames(&self, inames: impl IntoNames, new: &str) -> Result<Self, Diagnostic> {
            self.step(JoinInames { inames: inames.into_names(), new: Some(Name::new(new)) })
        }
    }
}

impl JoinInames {
    /// Joins these inames, slowest first.
    pub fn new<N: Into<Name>>(inames: impl IntoIterator<Item = N>) -> Self {
        JoinInames { inames: inames.into_iter().map(Into::into).collect(), new: None }
    }

    /// Names the joined iname.
    pub fn named(mut self, new: impl Into<Name>) -> Self {
        self.new = Some(new.into());
        self
    }
}

/// Refuses loops that are not perfectly nested in this order.
fn check_nest(data: &KernelData, inames: &[Name]) -> Result<(), Diagnostic> {
    for (part, have) in parts_with_inames(data) {
        let some = inames.iter().filter(|i| have.contains(i)).count();
        if some != 0 && some != inames.len() {
            return Err(Diagnostic::new(
                "loops-not-perfect",
                format!(
                    "`{part}` runs over some of {} but not over all",
                    names::list(inames.iter().map(|n| &**n))
                ),
            )
            .help("only loops around the same parts can be joined"));
        }
    }
    for pair in inames.windows(2) {
        let only =
            matches!(body_of(&data.tree, &pair[0]), Some([Tree::Loop { iname, .. }]) if *iname == pair[1]);
        if !only {
            return Err(Diagnostic::new(
                "loops-not-perfect",
                format!("the loop over `{}` is not all that the loop over `{}` contains", pair[1], pair[0]),
            )
            .help(format!(
                "bring them next to each other with `reorder`: `{}` outside, `{}` inside",
                pair[0], pair[1]
            )));
        }
    }
    Ok(())
}

impl TextForm for JoinInames {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let (listed, mut inames) = args.names_or_list("the inames to join, slowest first")?;
        let mut new = args.option("new")?;
        let rest = args.rest_names()?;
        match (listed, rest.as_slice()) {
            (true, [name]) if new.is_none() && !is_pattern(name) => new = Some(name.clone()),
            (true, []) => {}
            _ => inames.extend(rest),
        }
        Ok(JoinInames { inames, new })
    }

    fn arguments(&self) -> Vec<String> {
        [self.inames.text()].into_iter().chain(self.new.as_ref().map(Name::to_string)).collect()
    }

    fn lists(&mut self) -> Vec<List<'_>> {
        List::of(&mut self.inames, Some(Subject::Inames)).into_iter().collect()
    }
}

impl Transform for JoinInames {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let [slowest, others @ ..] = self.inames.as_slice() else {
            return Err(Diagnostic::new("step-arguments", "`join_inames` needs inames to join"));
        };
        for (k, iname) in self.inames.iter().enumerate() {
            require_iname(kernel, iname)?;
            require_untagged(kernel, iname, "joined")?;
            if self.inames[..k].contains(iname) {
                return Err(Diagnostic::new("iname-listed-twice", format!("`{iname}` is listed twice")));
            }
        }
        if others.is_empty() {
            return Err(Diagnostic::new("step-arguments", "`join_inames` needs at least two inames"));
        }
        check_nest(kernel, &self.inames)?;
        let new = self
            .new
            .clone()
            .unwrap_or_else(|| Name::new(self.inames.iter().map(Name::as_str).collect::<Vec<_>>().join("_")));
        require_fresh(kernel, &new, "new")?;
        let mut ranges = Vec::new();
        for iname in &self.inames {
            let range = extent::range(kernel, iname)?.ok_or_else(|| {
                Diagnostic::new(
                    "no-least-value",
                    format!(
                        "`{iname}` cannot be joined: its least value is not a single function of \
                         the parameters"
                    ),
                )
            })?;
            if range.length.is_none() && iname != slowest {
                return Err(Diagnostic::new(
                    "not-constant-length",
                    format!("`{iname}` cannot be joined: its length is not bounded by a constant"),
                )
                .help(
                    "only the first of the joined inames may have a length that depends on \
                     parameters",
                ));
            }
            ranges.push(range);
        }
        kernel.edit(|data| {
            let k = Aff::var(&new);
            let mut constraints = vec![Constraint::nonneg(k.clone())];
            let mut definitions = Vec::new();
            // From the fastest to the slowest: the quotient of k by the lengths of the faster ones.
            let mut stride = 1i64;
            let overflow = || Diagnostic::from(loopwright_poly::Error::Overflow);
            for (iname, range) in self.inames.iter().zip(&ranges).rev() {
                let quotient = k.floor_div(stride)?;
                if iname == slowest {
                    let greatest = match (range.length, &range.upper) {
                        (Some(length), _) => Some(Aff::constant(length - 1)),
                        (None, Some(upper)) => Some(upper.sub(&range.lower)?),
                        (None, None) => None,
                    };
                    if let Some(greatest) = greatest {
                        let last = greatest.scale(stride)?.add_constant(stride - 1)?;
                        constraints.push(Constraint::le(&k, &last)?);
                    }
                    definitions.push((iname.clone(), quotient.add(&range.lower)?));
                } else {
                    let length = range.length.unwrap_or(1).max(1);
                    definitions.push((iname.clone(), quotient.modulo(length)?.add(&range.lower)?));
                    stride = stride.checked_mul(length).ok_or_else(overflow)?;
                }
            }
            // An iname with a single value is no longer mentioned. Its bounds go to the domain of
            // the new iname: in a domain shared with others, they would restrict all of them. What
            // bounds an iname of a loop inside by it stays: it says nothing of what is beside that.
            let is_joined = |name: &Name| self.inames.contains(name);
            let single: Vec<&Name> = definitions
                .iter()
                .filter(|(_, value)| !value.mentions(&new))
                .map(|(iname, _)| iname)
                .collect();
            for domain in &mut data.domains {
                let Domain { inames, constraints: own } = domain;
                let bounds = |c: &Constraint| {
                    inames.iter().any(|n| single.contains(&n) && c.aff.mentions(n))
                        && !inames.iter().any(|n| !is_joined(n) && c.aff.mentions(n))
                };
                let (moved, kept) = std::mem::take(own).into_iter().partition(bounds);
                domain.constraints = kept;
                constraints.extend::<Vec<Constraint>>(moved);
            }
            data.domains.push(Domain { inames: vec![new.clone()], constraints });
            data.definitions
                .extend(definitions.into_iter().rev().map(|(iname, value)| Definition { iname, value }));
            replace_in_lists(data, slowest, std::slice::from_ref(&new));
            data.tree = Tree::replace_loop(&data.tree, slowest, std::slice::from_ref(&new));
            for iname in others {
                replace_in_lists(data, iname, &[]);
                data.tree = Tree::splice(&data.tree, iname);
            }
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Ask
    }
}
