//! Fuses as many adjacent loops as can be proved legal.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Tree};
use loopwright_legality::{Judgement, Verdict};

use crate::{FuseLoops, Transform, judged::verdict, names, rewrite::require_iname};

step! {
    /// `fuse_maximal(i, j, k)`: fuses several consecutive loops into as few as can be proved legal.
    ///
    /// # Meaning
    ///
    /// The candidates are taken in the order of the text. Each is fused with the loop before it, as
    /// by [`FuseLoops`](crate::FuseLoops), if that applies and is proved; otherwise it stays, and
    /// those after it are fused with it. Each fused loop has the name of its first candidate.
    /// Candidates that can be one loop can also be fused without the first or last of them, so that
    /// no other choice of neighbours leaves fewer loops.
    /// [`Pipeline::explain`](crate::Pipeline::explain) shows which loops were kept apart, and why.
    ///
    /// # Legality
    ///
    /// As for each fusion: { x in a later body -> y in an earlier body : y needs x, x at an equal
    /// or earlier value } loses none that was kept before; each is judged by itself. If no two can
    /// be fused, the step is refused with the reason for the first two.
    ///
    /// In text: `fuse_maximal(i, j, k)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// // The third loop reads what later iterations of the second one write.
    /// let before = LoopKernel::parse("\
    /// kernel chain(x: f32[n + 1], y: f32[n + 1], z: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// domain { [j] : 0 <= j < n }
    /// domain { [k] : 0 <= k < n }
    /// domain { [l] : 0 <= l < n }
    /// x[i] = 2.0 * x[i] {id=a}
    /// y[j] = x[j] + 1.0 {id=b}
    /// z[k] = y[k] + y[k + 1] {id=c}
    /// z[l] = 3.0 * z[l] {id=d}
    /// ")?;
    /// let steps = Pipeline::parse("fuse_maximal(i, j, k, l)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel chain(x: f32[n + 1], y: f32[n + 1], z: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// domain { [k] : 0 <= k < n }
    /// x[i] = 2.0 * x[i] {id=a, inames=i}
    /// y[i] = x[i] + 1.0 {id=b, inames=i, map=[j: i]}
    /// z[k] = y[k] + y[k + 1] {id=c, inames=k}
    /// z[k] = 3.0 * z[k] {id=d, inames=k, map=[l: k]}
    /// tree {
    ///     for i {
    ///         a
    ///         b
    ///     }
    ///     for k {
    ///         c
    ///         d
    ///     }
    /// }
    /// ");
    /// let explained = steps.explain(&before);
    /// assert_eq!(explained.steps[0].notes, [
    ///     "`j` was fused with `i`",
    ///     "`k` was not fused with `i`: b[j=1] writes y[1], c[k=0] must read it; c[k=0] runs first (n=2)",
    ///     "`l` was fused with `k`",
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(transparent)]
    pub struct FuseMaximal as "fuse_maximal" {
        /// The inames of the candidates.
        pub inames: Vec<Name> = names("the inames of the loops") of Inames,
    }
    table: "fuse_maximal(i, j, k)" => "`get_kennedy_unweighted_fusion_candidates`, \
        `rename_inames_in_batch`",
    methods: {
        /// See [`FuseMaximal`](crate::FuseMaximal).
        fn fuse_maximal(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(crate::FuseMaximal::new(inames.into_names()))
        }
    }
}

/// The decision about one candidate.
struct Decision {
    iname: Name,
    /// The iname of the loop before it.
    with: Name,
    /// Why the two were not fused.
    apart: Option<Diagnostic>,
}

impl FuseMaximal {
    /// Fuses these loops as far as possible.
    pub fn new<N: Into<Name>>(inames: impl IntoIterator<Item = N>) -> Self {
        FuseMaximal { inames: inames.into_iter().map(Into::into).collect() }
    }

    /// The candidates in the order of the text.
    fn in_order(&self, kernel: &LoopKernel) -> Result<Vec<Name>, Diagnostic> {
        if self.inames.len() < 2 {
            return Err(Diagnostic::new("step-arguments", "`fuse_maximal` needs at least two loops")
                .help("list the inames of consecutive loops"));
        }
        for (k, iname) in self.inames.iter().enumerate() {
            require_iname(kernel, iname)?;
            if self.inames[..k].contains(iname) {
                return Err(Diagnostic::new("iname-listed-twice", format!("`{iname}` is listed twice")));
            }
        }
        let mut ordered = Vec::new();
        loops(&kernel.tree, &mut ordered);
        if let Some(iname) = self.inames.iter().find(|n| !ordered.contains(n)) {
            return Err(Diagnostic::new(
                "not-nested",
                format!("no instruction runs in a loop over `{iname}`"),
            )
            .help("fuse loops before tagging them"));
        }
        ordered.retain(|n| self.inames.contains(n));
        Ok(ordered)
    }

    /// The kernel with all fusions that are proved, and the decision about each candidate after the
    /// first.
    fn fuse(&self, kernel: &LoopKernel) -> Result<(LoopKernel, Vec<Decision>), Diagnostic> {
        let ordered = self.in_order(kernel)?;
        let mut kernel = kernel.clone();
        let mut decisions = Vec::new();
        let mut head: Option<Name> = None;
        for iname in ordered {
            let Some(with) = head.clone() else {
                head = Some(iname);
                continue;
            };
            let fusion = FuseLoops::new([with.clone(), iname.clone()]);
            // What the user vouches for is the step as a whole: a fusion counts only with a proof.
            let tried = fusion.apply(&kernel).and_then(|fused| match verdict(&fusion, &kernel, &fused) {
                Verdict::Proved { .. } => Ok(fused),
                refused => {
                    Err(refused.refusal().unwrap_or_else(|| Diagnostic::new("internal", "no verdict")))
                }
            });
            let apart = match tried {
                Ok(fused) => {
                    kernel = fused;
                    None
                }
                Err(why) => {
                    head = Some(iname.clone());
                    Some(why)
                }
            };
            decisions.push(Decision { iname, with, apart });
        }
        Ok((kernel, decisions))
    }
}

/// The inames of all loops, outer before inner, in the order of the text.
fn loops(trees: &[Tree], found: &mut Vec<Name>) {
    for tree in trees {
        if let Tree::Loop { iname, body } = tree {
            found.push(iname.clone());
            loops(body, found);
        }
    }
}

impl Transform for FuseMaximal {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let (fused, decisions) = self.fuse(kernel)?;
        if decisions.iter().any(|d| d.apart.is_none()) {
            return Ok(fused);
        }
        let listed = names::list(self.inames.iter().map(Name::as_str));
        let message = format!("no fusion of two of the loops over {listed} can be proved legal");
        let refusal = Diagnostic::new("nothing-to-fuse", message);
        Err(match decisions.into_iter().find_map(|d| Some((d.with, d.iname, d.apart?))) {
            Some((with, iname, why)) => {
                let refusal = match &why.witness {
                    Some(witness) => refusal.witness(witness.clone()),
                    None => refusal.witness(format!("`{with}` and `{iname}`: {}", why.message)),
                };
                match why.help {
                    Some(help) => refusal.help(help),
                    None => refusal,
                }
            }
            None => refusal,
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("each of its fusions was judged")
    }

    fn notes(&self, before: &LoopKernel) -> Vec<String> {
        let Ok((_, decisions)) = self.fuse(before) else { return Vec::new() };
        let note = |d: &Decision| match &d.apart {
            None => format!("`{}` was fused with `{}`", d.iname, d.with),
            Some(why) => {
                let why = why.witness.as_ref().unwrap_or(&why.message);
                format!("`{}` was not fused with `{}`: {why}", d.iname, d.with)
            }
        };
        decisions.iter().map(note).collect()
    }
}
