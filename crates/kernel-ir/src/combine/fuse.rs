//! Two kernels as one.

use std::collections::BTreeMap;

use crate::{
    Arg, Diagnostic, Diagnostics, Expr, Fact, KernelData, LoopKernel, Name,
    inline::{Actual, Call, Names, inline},
    text::complete_built,
};

impl LoopKernel {
    /// One kernel that does what this one does, and then what the other one does.
    ///
    /// Arguments of one name are one argument, so that the second kernel reads what the first has
    /// written; they have to be declared alike. So are open types of one name. Of everything else,
    /// what the second kernel calls like something in the first gets a number, `i_2`. Assumptions
    /// and facts are those of both.
    ///
    /// The loops stay apart: `fuse_loops` joins them, where that is legal.
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    ///
    /// let producer = LoopKernel::parse("
    ///     kernel producer(x: f32[n], t: f32[n], n: i32)
    ///     domain { [i] : 0 <= i < n }
    ///     t[i] = 2.0*x[i]
    /// ")?;
    /// let consumer = LoopKernel::parse("
    ///     kernel consumer(t: f32[n], y: f32[n], n: i32)
    ///     assume 1 <= n
    ///     domain { [i] : 0 <= i < n }
    ///     y[i] = t[i] + t[0]
    /// ")?;
    /// let both = producer.fuse(&consumer, "both")?;
    ///
    /// let expected = LoopKernel::parse("
    ///     kernel both(x: f32[n], t: f32[n], n: i32, y: f32[n])
    ///     assume 1 <= n
    ///     domain { [i] : 0 <= i < n }
    ///     domain { [i_2] : 0 <= i_2 < n }
    ///     t[i] = 2.0*x[i]
    ///     y[i_2] = t[i_2] + t[0]
    /// ")?;
    /// assert_eq!(both, expected);
    /// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
    /// ```
    ///
    /// Errors: a kernel that steps have changed (`transformed`); arguments, operators, functions or
    /// atoms of one name that differ, or an argument that has the name of something else
    /// (`fuse-clash`); different options (`fuse-options`); a fact of one kernel about an array that
    /// the other one writes (`fuse-fact`); whatever makes the result invalid, such as assumptions
    /// that exclude each other.
    pub fn fuse(&self, other: &LoopKernel, name: impl Into<Name>) -> Result<LoopKernel, Diagnostics> {
        super::declared(self, "`fuse`")?;
        super::declared(other, "`fuse`")?;
        let mut data = (**self).clone();
        data.name = name.into();
        data.tree.clear();
        data.origin = None;
        options(self, other)?;
        facts(self, other)?;
        arguments(&mut data, other)?;
        let kinds = "give one of them another name";
        let clash = |name: &Name| {
            let message = format!("both kernels have `{name}`, and not the same");
            Diagnostics::from(Diagnostic::new("fuse-clash", message).help(kinds))
        };
        for op in &other.reductions {
            match data.reductions.iter().find(|o| o.name == op.name) {
                None => data.reductions.push(op.clone()),
                Some(own) if own == op => {}
                Some(_) => return Err(clash(&op.name)),
            }
        }
        for f in &other.functions {
            match data.functions.iter().find(|o| o.name == f.name) {
                None => data.functions.push(f.clone()),
                Some(own) if own == f => {}
                Some(_) => return Err(clash(&f.name)),
            }
        }
        for a in &other.atoms {
            match data.atoms.iter().find(|o| o.name() == a.name()) {
                None => data.atoms.push(a.clone()),
                Some(own) if own == a => {}
                Some(_) => return Err(clash(a.name())),
            }
        }
        for c in &other.assumptions {
            if !data.assumptions.contains(c) {
                data.assumptions.push(c.clone());
            }
        }
        // What holds of a table follows from its values, under whatever name.
        for fact in other.facts.iter().filter(|f| other.constant(f.array()).is_none()) {
            if !data.facts.contains(fact) {
                data.facts.push(fact.clone());
            }
        }
        let names = Names::numbered(other, &data);
        let actuals: BTreeMap<Name, Actual> = other
            .args
            .iter()
            .map(|arg| match arg {
                Arg::Array(a) => (a.name.clone(), Actual::Slice { array: a.name.clone(), subs: None }),
                Arg::Scalar(s) => (s.name.clone(), Actual::Value(Expr::Name(s.name.clone()))),
            })
            .collect();
        let call = Call { callee: other, results: &[], actuals, within: Vec::new(), predicate: None, names };
        let made = inline(&data, &call).map_err(|fault| fault.diagnostic)?;
        super::add(&mut data, made);
        complete_built(data)
    }
}

fn options(first: &KernelData, second: &KernelData) -> Result<(), Diagnostics> {
    if first.options == second.options {
        return Ok(());
    }
    let message = format!("`{}` and `{}` have different options", first.name, second.name);
    Err(Diagnostic::new("fuse-options", message)
        .help("options are those of the whole kernel: give both kernels the same")
        .into())
}

/// Facts are checked when arrays are bound: an array that one kernel writes need no longer satisfy
/// what the other one says of it.
fn facts(first: &KernelData, second: &KernelData) -> Result<(), Diagnostics> {
    for (own, other) in [(first, second), (second, first)] {
        let written =
            |name: &Name| other.instructions.iter().any(|i| i.targets.iter().any(|t| t.array == *name));
        let about =
            |fact: &&Fact| other.args.iter().any(|a| a.name() == fact.array()) && written(fact.array());
        if let Some(fact) = own.facts.iter().find(about) {
            let array = fact.array();
            let message = format!("`{}` has a fact about `{array}`, which `{}` writes", own.name, other.name);
            return Err(Diagnostic::new("fuse-fact", message)
                .help("facts are checked before the kernel runs: leave it out, or keep the kernels apart")
                .into());
        }
    }
    Ok(())
}

/// Adds the arguments of the second kernel.
fn arguments(data: &mut KernelData, other: &KernelData) -> Result<(), Diagnostics> {
    let own = data.all_names();
    for arg in &other.args {
        let name = arg.name();
        match data.args.iter().find(|a| a.name() == name) {
            Some(known) if known == arg => {}
            Some(_) => {
                let message = format!("the argument `{name}` is declared differently in the two kernels");
                return Err(Diagnostic::new("fuse-clash", message)
                    .help("declare it alike, or give one of them another name")
                    .into());
            }
            None if own.contains(name) => {
                let message = format!(
                    "`{name}` is an argument of `{}`, and something else in the first kernel",
                    other.name
                );
                return Err(Diagnostic::new("fuse-clash", message)
                    .help("give one of them another name")
                    .into());
            }
            None => data.args.push(arg.clone()),
        }
    }
    let clash = |name: &Name| {
        let message = format!("the structs `{name}` of the two kernels are not the same");
        Diagnostics::from(Diagnostic::new("fuse-clash", message).help("give one of them another name"))
    };
    for of in &other.structs {
        match data.structs.iter().find(|s| s.name == of.name) {
            None => data.structs.push(of.clone()),
            Some(own) if own == of => {}
            Some(_) => return Err(clash(&of.name)),
        }
    }
    // A record of one kernel only has to be one in both where they share its name.
    for record in &other.records {
        match data.records.iter().find(|r| r.array.name == record.array.name) {
            None => data.records.push(record.clone()),
            Some(own) if own == record => {}
            Some(_) => return Err(clash(record.of())),
        }
    }
    Ok(())
}
