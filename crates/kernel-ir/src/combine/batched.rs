//! One problem becomes many.

use std::collections::BTreeMap;

use loopwright_poly::{Aff, Constraint};

use crate::{
    AddressSpace, Arg, Array, Axis, DType, Diagnostic, Diagnostics, Domain, Expr, Fact, KernelData,
    LoopKernel, Name, Scalar, Type,
    inline::{Actual, Call, Names, Sub, in_sizes, inline},
    text::complete_built,
};

impl LoopKernel {
    /// The kernel for many problems at once: `batch` is an iname around all lines, from 0 below the
    /// integer argument `size`, and what is listed in `varying` has an axis for it, the slowest
    /// one. All else is shared by the problems. An argument that is a number becomes an array of
    /// numbers; a temporary gets a copy per problem, which it needs where problems run at the same
    /// time and share its memory.
    ///
    /// If the kernel has no argument `size`, it gets one, of type `i32`.
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    ///
    /// let one = LoopKernel::parse("
    ///     kernel product(a: f32[m, n], x: f32[n], y: f32[m], by: f32, m: i32, n: i32)
    ///     domain { [i, j] : 0 <= i < m and 0 <= j < n }
    ///     y[i] = by*sum(j, a[i, j]*x[j])
    /// ")?;
    /// let many = one.batched("b", "count", ["x", "y", "by"])?;
    ///
    /// let expected = LoopKernel::parse("
    ///     kernel product(
    ///         a: f32[m, n], x: f32[count, n], y: f32[count, m], by: f32[count], m: i32, n: i32, count: i32
    ///     )
    ///     domain { [b] : 0 <= b < count }
    ///     domain { [i, j] : 0 <= i < m and 0 <= j < n }
    ///     y[b, i] = by[b]*sum(j, a[i, j]*x[b, j])
    /// ")?;
    /// assert_eq!(many, expected);
    /// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
    /// ```
    ///
    /// Errors: a kernel that steps have changed (`transformed`); a listed name that is neither an
    /// argument nor a temporary (`unknown-name`); a name of the batch that the kernel already has
    /// (`duplicate-name`); an array with a layout of its own, or a size of other things, in the
    /// list (`batch-varying`); an array that the kernel writes and that is not listed, since each
    /// problem would overwrite the results of the one before (`batch-shared`); a fact that needs
    /// one axis about an array that gets a second one (`batch-varying`).
    pub fn batched<N: Into<Name>>(
        &self,
        batch: impl Into<Name>,
        size: impl Into<Name>,
        varying: impl IntoIterator<Item = N>,
    ) -> Result<LoopKernel, Diagnostics> {
        super::declared(self, "`batched`")?;
        let (batch, size) = (batch.into(), size.into());
        let varying: Vec<Name> = varying.into_iter().map(Into::into).collect();
        check(self, &batch, &size, &varying)?;
        let varies = |n: &Name| varying.contains(n);
        let axis = || Axis::new(Expr::Name(size.clone()));
        let wider = |a: &Array| {
            let axes = std::iter::once(axis()).chain(a.axes.iter().cloned()).collect();
            // The new axis is the slowest.
            let order = match a.order.as_slice() {
                [] => Vec::new(),
                order => std::iter::once(0).chain(order.iter().map(|k| k + 1)).collect(),
            };
            Array { axes, order, ..a.clone() }
        };
        let mut data = KernelData {
            constants: Vec::new(),
            domains: Vec::new(),
            instructions: Vec::new(),
            rules: Vec::new(),
            ..(**self).clone()
        };
        data.tree.clear();
        data.origin = None;
        for arg in &mut data.args {
            *arg = match &*arg {
                Arg::Array(a) if varies(&a.name) => Arg::Array(wider(a)),
                Arg::Scalar(s) if varies(&s.name) => {
                    Arg::Array(Array::new(&s.name, s.dtype.clone(), vec![axis()], AddressSpace::Global))
                }
                same => same.clone(),
            };
        }
        if !data.args.iter().any(|a| *a.name() == size) {
            data.args.push(Arg::Scalar(Scalar { name: size.clone(), dtype: Type::Known(DType::I32) }));
        }
        // Temporaries that vary are arrays of the caller; the others are the called kernel's own.
        data.temporaries = self.temporaries.iter().filter(|t| varies(&t.name)).map(&wider).collect();
        data.domains = vec![Domain {
            inames: vec![batch.clone()],
            constraints: vec![
                Constraint::nonneg(Aff::var(&batch)),
                Constraint::lt(&Aff::var(&batch), &Aff::var(&size)).map_err(Diagnostic::from)?,
            ],
        }];
        let mut callee = (**self).clone();
        let own: Vec<Array> = std::mem::take(&mut callee.temporaries);
        let (moved, kept): (Vec<Array>, Vec<Array>) = own.into_iter().partition(|t| varies(&t.name));
        callee.temporaries = kept;
        let (arrays, mut scalars): (Vec<Array>, Vec<Array>) =
            moved.into_iter().partition(|t| !t.axes.is_empty());
        callee.args.extend(arrays.into_iter().map(Arg::Array));
        // Numbers are elements, like results.
        callee.args.retain(|arg| match arg {
            Arg::Scalar(s) if varies(&s.name) => {
                scalars.push(Array::new(&s.name, s.dtype.clone(), Vec::new(), AddressSpace::Private));
                false
            }
            _ => true,
        });
        callee.temporaries.extend(scalars.iter().cloned());
        let scalars: Vec<Name> = scalars.into_iter().map(|t| t.name).collect();
        let here = || Expr::Name(batch.clone());
        let slice = |a: &Array| {
            let subs = varies(&a.name)
                .then(|| std::iter::once(Sub::At(here())).chain(a.axes.iter().map(|_| Sub::ALL)).collect());
            Actual::Slice { array: a.name.clone(), subs }
        };
        let mut actuals: BTreeMap<Name, Actual> = callee
            .args
            .iter()
            .map(|arg| match arg {
                Arg::Array(a) => (a.name.clone(), slice(a)),
                Arg::Scalar(s) => (s.name.clone(), Actual::Value(Expr::Name(s.name.clone()))),
            })
            .collect();
        for name in &scalars {
            actuals.insert(name.clone(), Actual::Element(crate::Access::new(name, vec![here()])));
        }
        let call = Call {
            callee: &callee,
            results: &scalars,
            actuals,
            within: vec![batch.clone()],
            predicate: None,
            names: Names::default(),
        };
        let made = inline(&data, &call).map_err(|fault| fault.diagnostic)?;
        super::add(&mut data, made);
        complete_built(data)
    }
}

fn check(kernel: &KernelData, batch: &Name, size: &Name, varying: &[Name]) -> Result<(), Diagnostics> {
    let refuse = |code: &'static str, message: String, help: &str| -> Result<(), Diagnostics> {
        Err(Diagnostic::new(code, message).help(help).into())
    };
    let known = kernel.all_names();
    let is_integer = |a: &Arg| matches!(a, Arg::Scalar(s) if s.dtype.known().is_some_and(|t| t.is_integer()));
    let is_size = kernel.args.iter().any(|a| a.name() == size && is_integer(a));
    let taken = |n: &&Name| known.contains(*n) && !(is_size && *n == size);
    if let Some(name) = [batch, size].into_iter().find(taken) {
        let message = format!("`{}` has a `{name}` already", kernel.name);
        return refuse("duplicate-name", message, "give the batch another name");
    }
    if batch == size || varying.contains(size) {
        let message = format!("`{size}` is the number of problems, and nothing else");
        return refuse("duplicate-name", message, "give the number another name");
    }
    for name in varying {
        let array = kernel.array(name).filter(|_| kernel.constant(name).is_none());
        let scalar = kernel.args.iter().any(|a| matches!(a, Arg::Scalar(s) if s.name == *name));
        if array.is_none() && !scalar {
            let message = format!("`{}` has no argument or temporary `{name}`", kernel.name);
            let names = kernel.args.iter().map(Arg::name).chain(kernel.temporaries.iter().map(|t| &t.name));
            let help = crate::suggest::did_you_mean(name, names.map(Name::as_str));
            return refuse("unknown-name", message, help.as_deref().unwrap_or("list names of the kernel"));
        }
        let is_number = scalar || array.is_some_and(|a| a.axes.is_empty());
        if is_number && in_sizes(kernel, name) {
            let message = format!("`{name}` is in bounds, lengths, assumptions or facts, and cannot vary");
            return refuse(
                "batch-varying",
                message,
                "problems of one batch have one size: leave it out of the list",
            );
        }
        if let Some(a) = array
            && (a.axes.iter().any(|x| x.stride.is_some()) || !a.layout.is_default())
        {
            let message =
                format!("`{name}` has strides or modes, which say nothing about an axis for the batch");
            return refuse(
                "batch-varying",
                message,
                "declare the batch by hand, or leave the strides to the shape",
            );
        }
        let one_axis = |f: &&Fact| matches!(f, Fact::Monotone(a) | Fact::Injective(a) if a == name);
        if kernel.facts.iter().any(|f| one_axis(&f)) {
            let message = format!("the kernel has a fact about `{name}` that needs an array of one axis");
            return refuse(
                "batch-varying",
                message,
                "leave the fact out, or let the problems share the array",
            );
        }
    }
    for arg in &kernel.args {
        let name = arg.name();
        let written = kernel.instructions.iter().any(|i| i.targets.iter().any(|t| t.array == *name));
        if written && !varying.contains(name) {
            let message =
                format!("`{name}` is written, and each problem would overwrite what the last one wrote");
            return refuse("batch-shared", message, "list it, so that each problem has results of its own");
        }
    }
    Ok(())
}
