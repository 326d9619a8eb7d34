//! Names a form of expressions.

use loopwright_kernel_ir::{Diagnostic, Expr, LoopKernel, Name, Rule};
use loopwright_legality::Judgement;

use crate::{
    Transform,
    rewrite::{
        require_fresh,
        rules::{first_of, uses},
    },
};

step! {
    /// `extract_subst(f, [i, j], x[i, j]*w[j])`: names a form of expressions, as a rule.
    ///
    /// # Meaning
    ///
    /// The kernel gets the line `rule f(i, j) = x[i, j]*w[j]`. Its expressions stay what they are:
    /// rules are names for expressions that a kernel has, and a rule of the text is replaced by its
    /// value when it is read. Steps that take a rule find its uses by comparison, in which
    /// subscripts count as functions: `x[k + 1, 0]*w[0]` is `f(k + 1, 0)`.
    ///
    /// # Legality
    ///
    /// It is legal wherever it applies: nothing but the text changes, and { r : an instance r reads
    /// or computes something else than before } is empty by the replacement itself. It is refused
    /// if no expression has this form.
    ///
    /// In text: `extract_subst(f, [i, j], x[i, j]*w[j])`: the rule's name, its parameters, its
    /// value.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel slope(x: f32[n + 1], w: f32[n + 1], y: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// y[i] = x[i + 1]*w[i + 1] - x[i]*w[i] {id=slope}
    /// ")?;
    /// let steps = Pipeline::parse("extract_subst(f, [k], x[k]*w[k])")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel slope(x: f32[n + 1], w: f32[n + 1], y: f32[n], n: i32)
    /// rule f(k) = x[k] * w[k]
    /// domain { [i] : 0 <= i < n }
    /// y[i] = x[i + 1] * w[i + 1] - x[i] * w[i] {id=slope, inames=i}
    /// tree {
    ///     for i {
    ///         slope
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct ExtractSubst as "extract_subst" {
        /// The rule's name.
        pub rule: Name = next("the name of the rule"),
        /// The names in `value` that stand for any expression, in the order of a use's arguments.
        pub parameters: Vec<Name> = next("the parameters of the rule, as `[i, j]`"),
        /// What the rule stands for: expressions of this form are its uses.
        pub value: Expr = next("the value of the rule, as `x[i, j]*w[j]`"),
    }
    table: "extract_subst(f, [i, j], x[i, j]*w[j])" => "`extract_subst(k, \"f\", \"x[i, j]*w[j]\", \
        \"i, j\")`",
    methods: {
        /// See [`ExtractSubst`]; the value is text.
        fn extract_subst(
            &self,
            rule: &str,
            parameters: impl IntoNames,
            value: &str,
        ) -> Result<Self, Diagnostic> {
            let value = loopwright_kernel_ir::parse_expression(value)?;
            self.step(ExtractSubst { rule: rule.into(), parameters: parameters.into_names(), value })
        }
    }
}

impl Transform for ExtractSubst {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        require_fresh(kernel, &self.rule, "rule")?;
        let rule =
            Rule { name: self.rule.clone(), parameters: self.parameters.clone(), value: self.value.clone() };
        if uses(kernel, &rule).is_empty() {
            return Err(Diagnostic::new(
                "rule-unused",
                format!("no expression of the kernel has the form `{rule}`"),
            )
            .help("operations are compared as they are written, subscripts as functions"));
        }
        let named = kernel.edit(|data| {
            data.rules.push(rule);
            Ok::<(), Diagnostic>(())
        })?;
        named.validate().map_err(first_of)?;
        Ok(named)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("it only names expressions")
    }
}
