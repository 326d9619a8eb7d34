//! Fixes parameters to values.

use std::{collections::BTreeMap, sync::Arc};

use loopwright_kernel_ir::{
    Access, Aff, Arg, Array, Constraint, DType, Diagnostic, Expr, Fact, LoopKernel, Name, Type,
};
use loopwright_legality::Judgement;

use crate::{
    Number, Transform,
    arguments::Args,
    rewrite::{check_consistent, require_parameter},
    step::TextForm,
};

step! {
    /// `fix_parameters(n=64)`: specialises the kernel to one value of a parameter.
    ///
    /// # Meaning
    ///
    /// The value replaces the parameter in domains, shapes and expressions. The argument remains,
    /// and the assumption `n = 64` is added, so that a launch with another value is refused.
    ///
    /// # Legality
    ///
    /// The step is legal for the launches that the assumption admits. Values that contradict
    /// earlier assumptions are refused.
    ///
    /// In text: `fix_parameters(n=64, m=$m)`.
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
    /// fix_parameters(len=1024)
    /// split_iname(i, 128)
    /// unroll(i_outer)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel segmented_sum(x: f32[nseg, 1024], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len and len = 1024
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i <= 1023 }
    /// domain { [i_outer, i_inner] : 0 <= i_inner <= 127 }
    /// let i = 128*i_outer + i_inner
    /// tag i_outer: unroll
    /// out[s] = sum([i_outer, i_inner], x[s, i]) {id=total, inames=s}
    /// tree {
    ///     for s {
    ///         total.init
    ///         for i_outer {
    ///             for i_inner {
    ///                 total.update
    ///             }
    ///         }
    ///         total.finish
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(transparent)]
    pub struct FixParameters as "fix_parameters", by hand {
        /// Parameters with their values.
        pub values: BTreeMap<Name, Number>,
    }
    table: "fix_parameters(n=64)" => "`fix_parameters(k, n=64)`",
    methods: {
        /// See [`FixParameters`].
        fn fix_parameters<'a>(
            &self,
            values: impl IntoIterator<Item = (&'a str, i64)>,
        ) -> Result<Self, Diagnostic> {
            self.step(FixParameters::new(values))
        }
    }
}

impl FixParameters {
    /// Fixes these parameters.
    pub fn new<N: Into<Name>, V: Into<Number>>(values: impl IntoIterator<Item = (N, V)>) -> Self {
        FixParameters { values: values.into_iter().map(|(n, v)| (n.into(), v.into())).collect() }
    }
}

impl TextForm for FixParameters {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let mut values = BTreeMap::new();
        for (key, value, span) in args.all_keyed() {
            let Some(number) = Number::parse(&value) else {
                return Err(args.error_in(span, format!("expected an integer or `$name`, not `{value}`")));
            };
            if values.insert(Name::new(&key), number).is_some() {
                return Err(args.error_in(span, format!("`{key}` is given twice")));
            }
        }
        if values.is_empty() {
            return Err(args.error("`fix_parameters` needs values, such as `n=64`"));
        }
        Ok(FixParameters { values })
    }

    fn arguments(&self) -> Vec<String> {
        self.values.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    fn numbers(&mut self) -> Vec<&mut Number> {
        self.values.values_mut().collect()
    }
}

impl Transform for FixParameters {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let mut values = BTreeMap::new();
        for (name, number) in &self.values {
            require_parameter(kernel, name)?;
            let integer = kernel.args.iter().any(|a| match a {
                Arg::Scalar(s) => s.name == *name && s.dtype.known().is_some_and(DType::is_integer),
                Arg::Array(_) => false,
            });
            if !integer {
                return Err(Diagnostic::new(
                    "fix-not-integer",
                    format!("`{name}` is not an integer argument and cannot be fixed"),
                )
                .help("write the number into the kernel"));
            }
            values.insert(name.clone(), number.value()?);
        }
        let aff = |n: &Name| values.get(n).map(|v| Aff::constant(*v));
        let expr = |e: &Expr| fold(&e.substitute(&|n| values.get(n).map(|v| Expr::Int(*v))));
        // In values a parameter keeps its type, which a literal would not: `n*n` wraps as it did.
        let types: BTreeMap<Name, Type> = kernel
            .args
            .iter()
            .filter_map(|a| match a {
                Arg::Scalar(s) => Some((s.name.clone(), s.dtype.clone())),
                Arg::Array(_) => None,
            })
            .collect();
        let in_value = |e: &Expr| {
            in_values(e, &expr, &|n| {
                Some(Expr::Cast(types.get(n)?.clone(), Arc::new(Expr::Int(*values.get(n)?))))
            })
        };
        for arg in &kernel.args {
            let Arg::Array(array) = arg else { continue };
            let lengths =
                array.axes.iter().map(|axis| expr(&axis.length).to_aff().and_then(|l| l.as_constant()));
            if let Some(length) = lengths.flatten().find(|length| *length < 0) {
                let message = format!("an axis of `{}` would have the length {length}", array.name);
                return Err(
                    Diagnostic::new("number-range", message).help("choose a number that is not negative")
                );
            }
        }
        kernel.edit(|data| {
            let constraint = |c: &Constraint| c.substitute(&aff);
            for domain in &mut data.domains {
                domain.constraints = domain.constraints.iter().map(constraint).collect::<Result<_, _>>()?;
            }
            for definition in &mut data.definitions {
                definition.value = definition.value.substitute(&aff)?;
            }
            let shape = |array: &mut Array| {
                for axis in &mut array.axes {
                    axis.length = expr(&axis.length);
                    axis.stride = axis.stride.as_ref().map(expr);
                }
            };
            for arg in &mut data.args {
                if let Arg::Array(array) = arg {
                    shape(array);
                }
            }
            data.temporaries.iter_mut().for_each(shape);
            data.records.iter_mut().for_each(|record| shape(&mut record.array));
            data.lay_out_records();
            for fact in &mut data.facts {
                if let Fact::Range { lower, upper, .. } = fact {
                    *lower = lower.as_ref().map(expr);
                    *upper = upper.as_ref().map(expr);
                }
            }
            for instruction in &mut data.instructions {
                instruction.value = in_value(&instruction.value);
                instruction.predicate = instruction.predicate.as_ref().map(in_value);
                for target in &mut instruction.targets {
                    target.index = target.index.iter().map(expr).collect();
                }
                for value in instruction.map.values_mut() {
                    *value = value.substitute(&aff)?;
                }
            }
            for (name, value) in &values {
                let known = Constraint::equal(&Aff::constant(*value), &Aff::var(name))?;
                if !data.assumptions.contains(&known) {
                    data.assumptions.push(known);
                }
            }
            check_consistent(data)
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("the kernel is correct for all values of the parameters, and so for these")
    }
}

/// The expression with names replaced by typed values, and by plain integers in subscripts.
fn in_values(e: &Expr, subscript: &dyn Fn(&Expr) -> Expr, replace: &dyn Fn(&Name) -> Option<Expr>) -> Expr {
    match e {
        Expr::Name(n) => replace(n).unwrap_or_else(|| e.clone()),
        Expr::Subscript(access) => Expr::Subscript(Access {
            array: access.array.clone(),
            index: access.index.iter().map(subscript).collect(),
        }),
        _ => e.map_children(&mut |child| in_values(child, subscript, replace)),
    }
}

/// The expression with integer arithmetic on constants folded.
fn fold(e: &Expr) -> Expr {
    let e = e.map_children(&mut fold);
    match (&e, e.to_aff().and_then(|a| a.as_constant())) {
        (Expr::Int(_), _) => e,
        (Expr::Binary(..) | Expr::Unary(..), Some(value)) => Expr::Int(value),
        _ => e,
    }
}
