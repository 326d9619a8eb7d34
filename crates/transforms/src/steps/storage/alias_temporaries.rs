//! Lets temporaries that are not alive at the same time share their storage.

use loopwright_kernel_ir::{Access, Diagnostic, Expr, LoopKernel, Name};

use crate::{
    Transform,
    rewrite::{map_expressions, replace_accesses, require_temporary},
};

step! {
    /// `alias_temporaries([a, b])`: merges several temporaries into one.
    ///
    /// # Meaning
    ///
    /// All accesses go to the first one, and the others disappear. Consecutive phases can thus use
    /// the same shared memory.
    ///
    /// # Legality
    ///
    /// The temporaries have the same type, address space and number of axes, and the first one is
    /// at least as long as the others on each axis. It keeps its layout, in which the cells of the
    /// others lie from then on; [`MapArray`](crate::MapArray) gives a temporary another shape
    /// before. The step is legal if no value is overwritten before its last read: { w -> r, v : r
    /// reads what w wrote into one of them, v writes the same cell of another one, w < v < r } is
    /// empty, for any two threads that share the storage.
    ///
    /// In text: `alias_temporaries([a, b])`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel twice(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// temp a: f32 private
    /// temp b: f32 private
    /// a = x[i] {id=load_x}
    /// y[i] = a * a {id=square}
    /// b = y[i] {id=load_y}
    /// z[i] = b + b {id=sum}
    /// ")?;
    /// let steps = Pipeline::parse("alias_temporaries([a, b])")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel twice(x: f32[n], y: f32[n], z: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// temp a: f32 private
    /// a = x[i] {id=load_x, inames=i}
    /// y[i] = a * a {id=square, inames=i}
    /// a = y[i] {id=load_y, inames=i}
    /// z[i] = a + a {id=sum, inames=i}
    /// tree {
    ///     for i {
    ///         load_x
    ///         square
    ///         load_y
    ///         sum
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[serde(transparent)]
    pub struct AliasTemporaries as "alias_temporaries" {
        /// The temporaries; the first one stays.
        pub temporaries: Vec<Name> = list("the temporaries, as `[a, b]`") of Temporaries,
    }
    table: "alias_temporaries([a, b])" => "`alias_temporaries(k, [\"a\", \"b\"])`",
    methods: {
        /// See [`AliasTemporaries`].
        fn alias_temporaries(&self, temporaries: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(AliasTemporaries::new(temporaries.into_names()))
        }
    }
}

impl AliasTemporaries {
    /// Merges these temporaries into one.
    pub fn new<N: Into<Name>>(temporaries: impl IntoIterator<Item = N>) -> Self {
        AliasTemporaries { temporaries: temporaries.into_iter().map(Into::into).collect() }
    }
}

impl Transform for AliasTemporaries {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let [first, others @ ..] = self.temporaries.as_slice() else {
            return Err(Diagnostic::new("step-arguments", "`alias_temporaries` needs temporaries"));
        };
        require_temporary(kernel, first)?;
        if others.is_empty() {
            return Err(Diagnostic::new(
                "step-arguments",
                "`alias_temporaries` needs at least two temporaries",
            ));
        }
        let Some(storage) = kernel.temporary(first) else { return Ok(kernel.clone()) };
        for (k, name) in others.iter().enumerate() {
            require_temporary(kernel, name)?;
            if name == first || others[..k].contains(name) {
                return Err(Diagnostic::new("temporary-listed-twice", format!("`{name}` is listed twice")));
            }
            let Some(other) = kernel.temporary(name) else { continue };
            let differs = [
                ("types", storage.dtype != other.dtype),
                ("address spaces", storage.space != other.space),
                ("numbers of axes", storage.axes.len() != other.axes.len()),
            ];
            if let Some((what, _)) = differs.iter().find(|(_, d)| *d) {
                return Err(Diagnostic::new(
                    "storage-differs",
                    format!("`{first}` and `{name}` cannot share storage: their {what} differ"),
                )
                .help("give them the same type, address space and number of axes first"));
            }
            for (n, (own, its)) in storage.axes.iter().zip(&other.axes).enumerate() {
                let constant = |e: &Expr| e.to_aff().and_then(|f| f.as_constant());
                let longer = match (constant(&own.length), constant(&its.length)) {
                    (Some(own), Some(its)) => own >= its,
                    _ => own.length == its.length,
                };
                if !longer {
                    return Err(Diagnostic::new(
                        "storage-differs",
                        format!(
                            "`{name}` does not fit into `{first}`: it is {} long on axis {n}, and `{first}` {}",
                            its.length, own.length
                        ),
                    )
                    .help("name the larger one first; `map_array` gives a temporary another shape"));
                }
            }
        }
        let renamed = |n: &Name| others.contains(n);
        kernel.edit(|data| {
            data.temporaries.retain(|t| !renamed(&t.name));
            for instruction in &mut data.instructions {
                map_expressions(instruction, &mut |e| {
                    let mut failed = None;
                    let mut e = e.substitute(&|n| renamed(n).then(|| Expr::Name(first.clone())));
                    for other in others {
                        let to_first = |a: &Access| {
                            Ok(Expr::Subscript(Access { array: first.clone(), index: a.index.clone() }))
                        };
                        e = replace_accesses(&e, other, &to_first, &mut failed);
                    }
                    e
                });
                for target in instruction.targets.iter_mut().filter(|t| renamed(&t.array)) {
                    target.array = first.clone();
                }
                if let loopwright_kernel_ir::Role::Copies { source } = &mut instruction.role
                    && renamed(source)
                {
                    *source = first.clone();
                }
            }
            Ok(())
        })
    }
}
