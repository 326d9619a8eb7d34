//! Arguments that become several, and several that become one.

use loopwright_poly::Aff;

use crate::{
    Access, Arg, Array, Axis, BinaryOp, Diagnostic, Diagnostics, Expr, Fact, KernelData, LoopKernel, Name,
    Scalar, text::complete_built,
};

impl LoopKernel {
    /// The kernel with an argument for each value of an axis of `array`: `x[1, i]` is `second[i]`,
    /// if `names` has `second` for the value 1. So an array of structures becomes a structure of
    /// arrays, which the caller passes one by one. Where no axis remains, the arguments are
    /// numbers.
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    ///
    /// let pairs = LoopKernel::parse("
    ///     kernel norm(x: f32[n, 2], w: f32[2], y: f32[n], n: i32)
    ///     domain { [i] : 0 <= i < n }
    ///     y[i] = w[0]*x[i, 0]*x[i, 0] + w[1]*x[i, 1]*x[i, 1]
    /// ")?;
    /// let apart = pairs.separated("x", 1, ["re", "im"])?.separated("w", 0, ["a", "b"])?;
    ///
    /// let expected = LoopKernel::parse("
    ///     kernel norm(re: f32[n], im: f32[n], a: f32, b: f32, y: f32[n], n: i32)
    ///     domain { [i] : 0 <= i < n }
    ///     y[i] = a*re[i]*re[i] + b*im[i]*im[i]
    /// ")?;
    /// assert_eq!(apart, expected);
    /// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
    /// ```
    ///
    /// Errors: a kernel that steps have changed (`transformed`); a name that is not an array
    /// argument (`unknown-name`); an axis that it does not have, or whose length is not the number
    /// of names; a subscript on the axis that is not a number; strides or modes; a fact that needs
    /// one array; a written array of one axis, of which numbers would remain (`separate-axis`); a
    /// name that the kernel has already (`duplicate-name`).
    pub fn separated<N: Into<Name>>(
        &self,
        array: &str,
        axis: usize,
        names: impl IntoIterator<Item = N>,
    ) -> Result<LoopKernel, Diagnostics> {
        super::declared(self, "`separated`")?;
        let names: Vec<Name> = names.into_iter().map(Into::into).collect();
        let old = argument(self, array)?;
        let refuse = |why: String, help: &str| {
            Diagnostic::new("separate-axis", format!("axis {axis} of `{array}` cannot be separated: {why}"))
                .help(help)
        };
        check_layout(old)?;
        let Some(along) = old.axes.get(axis) else {
            return Err(refuse(format!("it has {} axes", old.axes.len()), "axis 0 is the first").into());
        };
        if constant(&along.length) != i64::try_from(names.len()).ok() || names.is_empty() {
            let why = format!("its length is {}, and {} names are given", along.length, names.len());
            return Err(refuse(why, "give a name for each value of an axis of constant length").into());
        }
        check_fresh(self, &names)?;
        let written = self.instructions.iter().any(|i| i.targets.iter().any(|t| *t.array == *array));
        let is_number = old.axes.len() == 1;
        if is_number && written {
            let why = "the kernel writes it, and numbers are passed by value".to_string();
            return Err(refuse(why, "add an axis of length 1 in the text").into());
        }
        let fact = self
            .facts
            .iter()
            .find(|f| *f.array() == *array && (is_number || !matches!(f, Fact::Range { .. })));
        if fact.is_some() {
            let why = "a fact is declared about it that would be about none of the arguments".to_string();
            return Err(refuse(why, "leave the fact out").into());
        }
        let mut data = (**self).clone();
        data.tree.clear();
        data.origin = None;
        let mut wrong = None;
        map_accesses(&mut data, &mut |access| {
            if *access.array != *array {
                return access;
            }
            let value = access.index.get(axis).and_then(constant);
            match value.and_then(|v| names.get(usize::try_from(v).ok()?)) {
                Some(name) => {
                    let mut index = access.index;
                    index.remove(axis);
                    Access::new(name, index)
                }
                None => {
                    wrong.get_or_insert(access.to_string());
                    access
                }
            }
        });
        if let Some(access) = wrong {
            let why = format!("`{access}` has a subscript on it that is no number of the axis");
            return Err(refuse(why, "write an instruction for each value").into());
        }
        let piece = |name: &Name| match is_number {
            true => Arg::Scalar(Scalar { name: name.clone(), dtype: old.dtype.clone() }),
            false => Arg::Array(Array { name: name.clone(), ..old.clone() }.without_axis(axis)),
        };
        replace_argument(&mut data, array, names.iter().map(piece).collect());
        let ranges = |fact: Fact| match fact {
            Fact::Range { array: of, lower, upper } if *of == *array => names
                .iter()
                .map(|name| Fact::Range { array: name.clone(), lower: lower.clone(), upper: upper.clone() })
                .collect(),
            other => vec![other],
        };
        data.facts = std::mem::take(&mut data.facts).into_iter().flat_map(ranges).collect();
        complete_built(data)
    }

    /// The kernel with one argument `name` in place of several, one after another along an axis:
    /// `b[i]` is `name[i + n]` after an `a` of length `n`. The caller passes them in one
    /// allocation.
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    ///
    /// let two = LoopKernel::parse("
    ///     kernel add(a: f32[n], b: f32[n], y: f32[n], n: i32)
    ///     assume 0 <= n
    ///     domain { [i] : 0 <= i < n }
    ///     y[i] = a[i] + b[i]
    /// ")?;
    /// let one = two.concatenated(["a", "b"], 0, "both")?;
    ///
    /// let expected = LoopKernel::parse("
    ///     kernel add(both: f32[2*n], y: f32[n], n: i32)
    ///     assume 0 <= n
    ///     domain { [i] : 0 <= i < n }
    ///     y[i] = both[i] + both[i + n]
    /// ")?;
    /// assert_eq!(one, expected);
    /// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
    /// ```
    ///
    /// Errors: a kernel that steps have changed (`transformed`); a name that is not an array
    /// argument (`unknown-name`); arrays whose types, numbers of axes or lengths on other axes
    /// differ, that have a layout of their own, facts, or a length on the axis that is not affine
    /// (`storage-differs`); a name that the kernel has already (`duplicate-name`); a subscript that
    /// is not proved to be in bounds, since the length before it may be negative (`out-of-bounds`).
    pub fn concatenated<N: Into<Name>>(
        &self,
        arrays: impl IntoIterator<Item = N>,
        axis: usize,
        name: impl Into<Name>,
    ) -> Result<LoopKernel, Diagnostics> {
        super::declared(self, "`concatenated`")?;
        let (names, name): (Vec<Name>, Name) = (arrays.into_iter().map(Into::into).collect(), name.into());
        let arrays = names.iter().map(|n| argument(self, n)).collect::<Result<Vec<&Array>, _>>()?;
        let refuse = |message: String, help: &str| Diagnostic::new("storage-differs", message).help(help);
        let [first, others @ ..] = arrays.as_slice() else {
            return Err(refuse("no arrays are listed".into(), "list at least two").into());
        };
        if let Some(twice) = (1..names.len()).find(|k| names[..*k].contains(&names[*k])) {
            return Err(refuse(format!("`{}` is listed twice", names[twice]), "list it once").into());
        }
        check_fresh(self, std::slice::from_ref(&name))?;
        let mut begins = vec![Aff::constant(0)];
        for array in &arrays {
            check_layout(array)?;
            let plain = array.order.is_empty() && array.axes.iter().all(|a| a.padding == 0);
            if !plain || self.facts.iter().any(|f| *f.array() == array.name) {
                let why = format!("`{}` has an order, padding or a fact of its own", array.name);
                return Err(refuse(why, "declare the whole array in the text").into());
            }
            let length = array.axes.get(axis).and_then(|a| a.length.to_aff());
            let Some(length) = length else {
                let why = format!("`{}` has no affine length on axis {axis}", array.name);
                return Err(refuse(why, "name another axis").into());
            };
            let begin = begins.last().cloned().unwrap_or_default();
            begins.push(begin.add(&length).map_err(Diagnostic::from)?);
        }
        let length = |a: &Axis| a.length.to_aff().map_or_else(|| a.length.clone(), |f| Expr::from_aff(&f));
        for other in others {
            let mut differ = first.dtype != other.dtype || first.axes.len() != other.axes.len();
            let pairs = first.axes.iter().zip(&other.axes).enumerate();
            for (k, (a, b)) in pairs {
                differ |= k != axis && length(a) != length(b);
            }
            if differ {
                let why = format!(
                    "`{}` and `{}` have different types, numbers of axes, or lengths on other axes",
                    first.name, other.name
                );
                return Err(refuse(why, "declare them alike").into());
            }
        }
        let mut whole = Array { name: name.clone(), ..(*first).clone() };
        whole.axes[axis] = Axis::new(Expr::from_aff(begins.last().unwrap_or(&Aff::default())));
        let mut data = (**self).clone();
        data.tree.clear();
        data.origin = None;
        map_accesses(&mut data, &mut |access| {
            let Some(k) = names.iter().position(|n| *n == access.array) else { return access };
            let mut index = access.index;
            if let Some(own) = index.get_mut(axis) {
                *own = match own.to_aff().and_then(|aff| aff.add(&begins[k]).ok()) {
                    Some(sum) => Expr::from_aff(&sum),
                    None => {
                        Expr::Binary(BinaryOp::Add, own.clone().into(), Expr::from_aff(&begins[k]).into())
                    }
                };
            }
            Access::new(&name, index)
        });
        replace_argument(&mut data, &names[0], vec![Arg::Array(whole)]);
        data.args.retain(|a| !names[1..].contains(a.name()));
        complete_built(data)
    }
}

fn constant(e: &Expr) -> Option<i64> {
    e.to_aff()?.as_constant()
}

fn argument<'k>(kernel: &'k KernelData, name: &str) -> Result<&'k Array, Diagnostics> {
    let arrays = || {
        kernel.args.iter().filter_map(|a| match a {
            Arg::Array(array) => Some(array),
            Arg::Scalar(_) => None,
        })
    };
    arrays().find(|a| *a.name == *name).ok_or_else(|| {
        let message = format!("`{}` has no array argument `{name}`", kernel.name);
        let help = crate::suggest::did_you_mean(name, arrays().map(|a| a.name.as_str()));
        let help =
            help.unwrap_or_else(|| "steps change temporaries: `separate_axis`, `concatenate_arrays`".into());
        Diagnostic::new("unknown-name", message).help(help).into()
    })
}

/// Refuses arrays whose layout says where elements are that no longer are one array's.
fn check_layout(array: &Array) -> Result<(), Diagnostics> {
    if array.axes.iter().all(|a| a.stride.is_none()) && array.layout.is_default() {
        return Ok(());
    }
    let message = format!("`{}` has strides or modes, which say where it lies as one array", array.name);
    Err(Diagnostic::new("storage-differs", message).help("leave the strides to the shape").into())
}

fn check_fresh(kernel: &KernelData, names: &[Name]) -> Result<(), Diagnostics> {
    let known = kernel.all_names();
    let taken = (0..names.len()).find(|k| known.contains(&names[*k]) || names[..*k].contains(&names[*k]));
    let Some(k) = taken else { return Ok(()) };
    let message = format!("`{}` has a `{}` already", kernel.name, names[k]);
    Err(Diagnostic::new("duplicate-name", message).help("give the new argument another name").into())
}

/// Puts arguments in the place of one.
fn replace_argument(data: &mut KernelData, array: &str, new: Vec<Arg>) {
    if let Some(at) = data.args.iter().position(|a| **a.name() == *array) {
        data.args.splice(at..=at, new);
    }
}

/// Replaces accesses, reads and writes, in instructions and rules, inner ones first.
fn map_accesses(data: &mut KernelData, to: &mut dyn FnMut(Access) -> Access) {
    fn walk(e: &Expr, to: &mut dyn FnMut(Access) -> Access) -> Expr {
        match e {
            Expr::Subscript(access) => {
                let index = access.index.iter().map(|e| walk(e, to)).collect();
                let new = to(Access::new(&access.array, index));
                if new.index.is_empty() { Expr::Name(new.array) } else { Expr::Subscript(new) }
            }
            _ => e.map_children(&mut |child| walk(child, to)),
        }
    }
    for instruction in &mut data.instructions {
        instruction.value = walk(&instruction.value, to);
        instruction.predicate = instruction.predicate.as_ref().map(|p| walk(p, to));
        for target in &mut instruction.targets {
            let index = target.index.iter().map(|e| walk(e, to)).collect();
            *target = to(Access::new(&target.array, index));
        }
    }
    for rule in &mut data.rules {
        rule.value = walk(&rule.value, to);
    }
}
