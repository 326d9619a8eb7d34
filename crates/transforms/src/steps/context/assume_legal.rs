//! Vouches for a step that cannot be proved legal.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Vouched};
use loopwright_legality::Judgement;

use crate::{Transform, arguments::Args, step::TextForm};

step! {
    /// `assume_legal("rows never overlap")`: allows the next step even if it is not known to be
    /// legal.
    ///
    /// # Meaning
    ///
    /// The kernel records the reason together with the step, and prints it from then on. If the
    /// next step can be proved after all, nothing is recorded. A step that is refuted by a
    /// counter-example is refused all the same.
    ///
    /// # Legality
    ///
    /// The user is responsible for it.
    ///
    /// In text: `assume_legal("why")`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel scatter(x: f32[n], to: i32[n], y: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// y[to[i]] = x[i] {id=put}
    /// ")?;
    /// let unproved = Pipeline::parse("tag_inames(i: block.x)")?;
    /// assert_eq!(unproved.apply(&before).unwrap_err().code, "legality-unknown");
    /// let steps = Pipeline::parse("\
    /// assume_legal(\"to is a permutation\")
    /// tag_inames(i: block.x)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel scatter(x: f32[n], to: i32[n], y: f32[n], n: i32)
    /// assume_legal \"to is a permutation\" for \"tag_inames(i: block.x)\"
    /// domain { [i] : 0 <= i < n }
    /// tag i: block.x
    /// y[to[i]] = x[i] {id=put, inames=i}
    /// tree {
    ///     put
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(transparent)]
    pub struct AssumeLegal as "assume_legal", by hand {
        /// Why the next step is legal.
        pub reason: Name,
    }
    table: "assume_legal(\"why\")" => "–",
    methods: {
        /// See [`crate::AssumeLegal`]: allows the next step even if it is not known to be legal.
        fn assume_legal(&self, reason: &str) -> Result<Self, Diagnostic> {
            self.step(crate::AssumeLegal::new(reason))
        }
    }
}

impl AssumeLegal {
    /// Vouches for the next step for this reason.
    pub fn new(reason: impl Into<Name>) -> Self {
        AssumeLegal { reason: reason.into() }
    }
}

impl TextForm for AssumeLegal {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let reason = args.raw().join(", ");
        if reason.is_empty() {
            return Err(
                args.error("`assume_legal` needs a reason, as in `assume_legal(\"rows never overlap\")`")
            );
        }
        Ok(AssumeLegal::new(reason))
    }

    fn arguments(&self) -> Vec<String> {
        vec![format!("\"{}\"", self.reason)]
    }
}

impl Transform for AssumeLegal {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let reason = self.reason.trim();
        if reason.is_empty() || reason.contains(['"', '\n']) {
            return Err(Diagnostic::new(
                "assume-legal-reason",
                "the reason is not a single line of text without double quotes",
            )
            .help("explain in one line without double quotes why the next step is legal"));
        }
        kernel.edit(|data| {
            if let Some(pending) = data.vouched.iter_mut().find(|v| v.step.is_none()) {
                pending.reason = Name::new(reason);
            } else {
                data.vouched.push(Vouched { reason: Name::new(reason), step: None });
            }
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("it does not change the computation")
    }
}
