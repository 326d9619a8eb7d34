//! Chooses the precision of math functions.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Precision};
use loopwright_legality::Judgement;

use crate::{Transform, arguments::Args, step::TextForm};

step! {
    /// `set_precision(fast)`: math functions of the kernel use the hardware's approximations,
    /// except where a call says otherwise.
    ///
    /// # Legality
    ///
    /// The declared kernel leaves the precision of such calls to this option; results differ within
    /// the approximation's error.
    ///
    /// In text: `set_precision(fast)`, `set_precision(precise)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel decay(x: f32[n], y: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// y[i] = exp(-x[i]) {id=decay}
    /// ")?;
    /// let steps = Pipeline::parse("set_precision(fast)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel decay(x: f32[n], y: f32[n], n: i32)
    /// option fast_math
    /// domain { [i] : 0 <= i < n }
    /// y[i] = exp(-x[i]) {id=decay, inames=i}
    /// tree {
    ///     for i {
    ///         decay
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(transparent)]
    pub struct SetPrecision as "set_precision", by hand {
        /// The precision of calls that do not specify one.
        pub precision: Precision,
    }
    table: "set_precision(fast)" => "a compiler option",
    methods: {
        /// See [`SetPrecision`].
        fn set_precision(&self, precision: Precision) -> Result<Self, Diagnostic> {
            self.step(SetPrecision::new(precision))
        }
    }
}

impl SetPrecision {
    /// Sets the precision of calls that do not specify one.
    pub fn new(precision: Precision) -> Self {
        SetPrecision { precision }
    }
}

impl TextForm for SetPrecision {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let name: Name = args.next("`fast` or `precise`")?;
        match name.as_str() {
            "fast" => Ok(SetPrecision::new(Precision::Fast)),
            "precise" => Ok(SetPrecision::new(Precision::Precise)),
            other => {
                Err(args.error(format!("there is no precision `{other}`")).help("it is `fast` or `precise`"))
            }
        }
    }

    fn arguments(&self) -> Vec<String> {
        let precision = match self.precision {
            Precision::Fast => "fast",
            Precision::Precise => "precise",
        };
        vec![precision.to_string()]
    }
}

impl Transform for SetPrecision {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        kernel.edit(|data| {
            data.options.precision = self.precision;
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("the results are equal up to the requested precision")
    }
}
