//! Adds assumptions about the parameters.

use loopwright_kernel_ir::{Constraint, Diagnostic, Lookup, LoopKernel, parse_constraints};
use loopwright_legality::Judgement;

use crate::{
    Transform,
    arguments::Args,
    rewrite::{check_consistent, require_parameter},
    step::TextForm,
};

step! {
    /// `assume(n >= 1 and n % 16 = 0)`: adds assumptions about the parameters.
    ///
    /// # Meaning
    ///
    /// The constraints become part of the kernel: bounds and guards that follow from them are
    /// omitted, and a launch whose arguments do not satisfy them is refused.
    ///
    /// # Legality
    ///
    /// Only scalar arguments may occur, and the constraints must be satisfiable together with the
    /// assumptions made so far.
    ///
    /// In text: `assume(n >= 1 and n % 16 = 0)`; commas mean `and`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i < len }
    /// out[s] = sum(i, x[s, i]) {id=total}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// assume(len % 16 = 0, nseg <= 1000)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len and len mod 16 = 0 and nseg <= 1000
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i < len }
    /// out[s] = sum(i, x[s, i]) {id=total, inames=s}
    /// tree {
    ///     for s {
    ///         total.init
    ///         for i {
    ///             total.update
    ///         }
    ///         total.finish
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(into = "String", try_from = "String")]
    pub struct Assume as "assume", by hand {
        /// The constraints, all of which hold.
        pub constraints: Vec<Constraint>,
    }
    table: "assume(n >= 1)" => "`assume(k, \"n >= 1\")`",
    methods: {
        /// See [`Assume`]; `n >= 1 and n % 16 = 0`.
        fn assume(&self, constraints: &str) -> Result<Self, Diagnostic> {
            self.step(Assume::parse(constraints)?)
        }
    }
}

impl From<Assume> for String {
    fn from(step: Assume) -> String {
        step.conjunction()
    }
}

impl TryFrom<String> for Assume {
    type Error = Diagnostic;
    fn try_from(text: String) -> Result<Self, Diagnostic> {
        Assume::parse(&text)
    }
}

impl Assume {
    /// Parses assumptions such as `n >= 1 and n % 16 = 0`.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        Ok(Assume { constraints: parse_constraints(text)? })
    }

    fn conjunction(&self) -> String {
        self.constraints.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
    }
}

impl TextForm for Assume {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let text = args.raw().join(" and ");
        if text.is_empty() {
            return Err(args.error("`assume` needs constraints, such as `n >= 1`"));
        }
        Assume::parse(&text).map_err(|d| args.error(format!("`{text}`: {}", d.message)))
    }

    fn arguments(&self) -> Vec<String> {
        vec![self.conjunction()]
    }
}

impl Transform for Assume {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        for name in self.constraints.iter().flat_map(Constraint::names) {
            require_parameter(kernel, &name)?;
            if let Some(dtype) =
                Lookup::new(kernel).scalar(&name).and_then(|s| s.dtype.known()).filter(|t| !t.is_integer())
            {
                let message = format!("`{name}` is of {dtype}, and assumptions are about integers");
                return Err(Diagnostic::new("unknown-argument", message)
                    .help("name scalar arguments of integer types"));
            }
        }
        kernel.edit(|data| {
            for c in &self.constraints {
                if !data.assumptions.contains(c) {
                    data.assumptions.push(c.clone());
                }
            }
            check_consistent(data)
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("it only adds an assumption about the parameters")
    }
}
