//! Open types (type parameters) of a kernel, which the caller decides, and kernels with these types
//! bound.

use crate::{Arg, DType, Diagnostic, Diagnostics, Expr, Fact, KernelData, LoopKernel, Name, Type};

impl KernelData {
    /// The names of its open types, in the order in which the arguments show them.
    pub fn open_types(&self) -> Vec<Name> {
        let mut names = Vec::new();
        let mut add = |t: &Type| {
            if let Type::Open(name) = t
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        };
        for arg in &self.args {
            match arg {
                Arg::Array(a) => add(&a.dtype),
                Arg::Scalar(s) => add(&s.dtype),
            }
        }
        self.temporaries.iter().for_each(|t| add(&t.dtype));
        for i in &self.instructions {
            let mut visit = |e: &Expr| {
                e.visit(&mut |e| {
                    if let Expr::Cast(t, _) = e {
                        add(t);
                    }
                });
            };
            i.targets.iter().flat_map(|t| &t.index).for_each(&mut visit);
            visit(&i.value);
            i.predicate.iter().for_each(&mut visit);
        }
        names
    }
}

/// The expression with open types in casts replaced.
fn bind_expr(e: &Expr, bind: &dyn Fn(&Type) -> Type) -> Expr {
    let e = e.map_children(&mut |child| bind_expr(child, bind));
    match e {
        Expr::Cast(t, a) => Expr::Cast(bind(&t), a),
        e => e,
    }
}

impl LoopKernel {
    /// The kernel with open types replaced, in its declared form too. Open types that are not named
    /// stay open; a name that is not an open type of the kernel is an error, and so are types that
    /// make the kernel invalid, such as integers under `/`.
    pub fn bind_types(&self, types: &[(Name, DType)]) -> std::result::Result<LoopKernel, Diagnostics> {
        let open = self.open_types();
        if let Some((name, _)) = types.iter().find(|(n, _)| !open.contains(n)) {
            let mut d = Diagnostic::new("unknown-type", format!("the kernel has no open type `{name}`"));
            d.help = match open.is_empty() {
                true => Some("it has no open types".into()),
                false => crate::suggest::did_you_mean(name, open.iter().map(Name::as_str)).or_else(|| {
                    Some(format!(
                        "it has {}",
                        open.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
                    ))
                }),
            };
            return Err(d.into());
        }
        if types.is_empty() {
            return Ok(self.clone());
        }
        let bind = |t: &Type| match t {
            Type::Open(name) => {
                types.iter().find(|(n, _)| n == name).map_or(t.clone(), |(_, d)| Type::Known(*d))
            }
            t => t.clone(),
        };
        let mut data = (**self).clone();
        for arg in &mut data.args {
            match arg {
                Arg::Array(a) => a.dtype = bind(&a.dtype),
                Arg::Scalar(s) => s.dtype = bind(&s.dtype),
            }
        }
        data.temporaries.iter_mut().for_each(|t| t.dtype = bind(&t.dtype));
        for i in &mut data.instructions {
            i.targets.iter_mut().flat_map(|t| &mut t.index).for_each(|e| *e = bind_expr(e, &bind));
            i.value = bind_expr(&i.value, &bind);
            i.predicate.iter_mut().for_each(|e| *e = bind_expr(e, &bind));
        }
        for fact in &mut data.facts {
            if let Fact::Range { lower, upper, .. } = fact {
                lower.iter_mut().chain(upper).for_each(|e| *e = bind_expr(e, &bind));
            }
        }
        if let Some(declared) = &data.declared {
            let here: Vec<(Name, DType)> =
                types.iter().filter(|(n, _)| declared.open_types().contains(n)).cloned().collect();
            data.declared = Some(declared.bind_types(&here)?);
        }
        let bound = LoopKernel::from_data(data);
        bound.validate()?;
        Ok(bound)
    }
}
