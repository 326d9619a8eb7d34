//! Makes one temporary of several.

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, Axis, BinaryOp, Constraint, Diagnostic, Expr, LoopKernel, Name, Role,
};
use loopwright_legality::{Judgement, Model, context};
use loopwright_poly::System;

use crate::{
    Transform,
    rewrite::{axis_of, fresh, move_accesses, require_fresh, require_temporary},
};

step! {
    /// `concatenate_arrays([a, b])`: makes one temporary of several, behind one another along an
    /// axis.
    ///
    /// # Meaning
    ///
    /// `a` stays where it begins, and `b[i]` becomes `a_cat[i + n]` with the length `n` of `a`: one
    /// allocation for all, in which each keeps its cells. The new temporary is row-major, without
    /// padding. [`AliasTemporaries`](crate::AliasTemporaries) lets them share cells instead.
    ///
    /// # Legality
    ///
    /// The temporaries have the same type, address space and number of axes, and the same lengths
    /// on all axes but the one; the lengths on that one are affine functions of parameters, which
    /// the assumptions keep from being negative. Then { (c, d) : c and d are cells of two of them,
    /// and lie at one place } is empty, and each access is to the cell that it was to. Of private
    /// temporaries, each of the lanes that write one (`ilp`, `vec`) has its own; where those of one
    /// are not those of another, they would come to share cells, and the step is proved only if
    /// that makes no difference.
    ///
    /// In text: `concatenate_arrays([a, b])` with the options `axis=1` (negative ones count from
    /// the end) and `name=both`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel turn(x: f32[m, 32], y: f32[m, 32], m: i32)
    /// domain { [r, i] : 0 <= r < m and 0 <= i < 32 }
    /// domain { [k, j] : 0 <= k < m and 0 <= j < 32 }
    /// temp a: f32[32] shared
    /// temp b: f32[16] shared
    /// a[i] = x[r, i] {id=all}
    /// b[i // 2] = 2.0 * x[r, i] if i % 2 == 0 {id=half}
    /// y[r, i] = a[31 - i] + b[i // 2] {id=sum}
    /// ")?;
    /// let steps = Pipeline::parse("concatenate_arrays([a, b], name=both)")?;
    /// let after = steps.apply(&before)?.to_string();
    /// assert!(after.contains("temp both: f32[48] shared"), "{after}");
    /// assert!(after.contains("both[i // 2 + 32] = 2.0 * x[r, i] if i % 2 == 0"), "{after}");
    /// assert!(after.contains("y[r, i] = both[31 - i] + both[i // 2 + 32]"), "{after}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct ConcatenateArrays as "concatenate_arrays" {
        /// The temporaries in their order, at least two.
        pub temporaries: Vec<Name> = next("the temporaries, as `[a, b]`") of Temporaries,
        /// The axis; negative ones count from the end.
        #[serde(default)]
        pub axis: i64 = option(0),
        /// The new temporary's name; by default that of the first one with the suffix `_cat`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<Name> = option(),
    }
    table: "concatenate_arrays([a, b])" => "`concatenate_arrays(k, [\"a\", \"b\"])`",
    methods: {
        /// See [`ConcatenateArrays`].
        fn concatenate_arrays(&self, temporaries: impl IntoNames) -> Result<Self, Diagnostic> {
            self.step(ConcatenateArrays::new(temporaries.into_names()))
        }
    }
}

impl ConcatenateArrays {
    /// Along the first axis, with the default name.
    pub fn new<N: Into<Name>>(temporaries: impl IntoIterator<Item = N>) -> Self {
        ConcatenateArrays {
            temporaries: temporaries.into_iter().map(Into::into).collect(),
            axis: 0,
            name: None,
        }
    }

    /// The temporaries, the number of the axis, and where each one begins on it, with the whole
    /// length at the end.
    fn check<'k>(&self, kernel: &'k LoopKernel) -> Result<(Vec<&'k Array>, usize, Vec<Aff>), Diagnostic> {
        let refuse =
            |message: String, help: &str| Err(Diagnostic::new("storage-differs", message).help(help));
        let mut arrays: Vec<&Array> = Vec::new();
        for (k, name) in self.temporaries.iter().enumerate() {
            require_temporary(kernel, name)?;
            if self.temporaries[..k].contains(name) {
                return Err(Diagnostic::new("temporary-listed-twice", format!("`{name}` is listed twice")));
            }
            arrays.extend(kernel.temporary(name));
        }
        let [first, others @ ..] = arrays.as_slice() else {
            return Err(Diagnostic::new("step-arguments", "`concatenate_arrays` needs temporaries"));
        };
        if others.is_empty() {
            return Err(Diagnostic::new(
                "step-arguments",
                "`concatenate_arrays` needs at least two temporaries",
            ));
        }
        let axis = axis_of(first, self.axis)?;
        for other in others {
            let differs = [
                ("types", first.dtype != other.dtype),
                ("address spaces", first.space != other.space),
                ("numbers of axes", first.axes.len() != other.axes.len()),
            ];
            if let Some((what, _)) = differs.iter().find(|(_, d)| *d) {
                return refuse(
                    format!("`{}` and `{}` cannot become one: their {what} differ", first.name, other.name),
                    "give them the same type, address space and number of axes first",
                );
            }
            let same = |a: &Axis, b: &Axis| match (a.length.to_aff(), b.length.to_aff()) {
                (Some(a), Some(b)) => a == b,
                _ => a.length == b.length,
            };
            let mut pairs = first.axes.iter().zip(&other.axes).enumerate();
            if let Some((k, (a, b))) = pairs.find(|(k, (a, b))| *k != axis && !same(a, b)) {
                return refuse(
                    format!(
                        "`{}` and `{}` cannot become one: they are {} and {} long on axis {k}",
                        first.name, other.name, a.length, b.length
                    ),
                    "name the axis along which they differ, as `axis=1`; `map_array` changes shapes",
                );
            }
        }
        let known = System::new(&context(kernel))?;
        let mut begins = vec![Aff::constant(0)];
        for array in &arrays {
            let Some(length) = array.axes[axis].length.to_aff() else {
                return refuse(
                    format!("the length of `{}` on axis {axis} is not an affine function", array.name),
                    "fix the parameters that it multiplies with `fix_parameters`",
                );
            };
            if !known.implies(&Constraint::nonneg(length.clone()))? {
                return refuse(
                    format!("the length of `{}` on axis {axis}, {length}, may be negative", array.name),
                    &format!("`assume({length} >= 0)` before"),
                );
            }
            let end = begins.last().map_or(Ok(length.clone()), |begin| begin.add(&length))?;
            begins.push(end);
        }
        Ok((arrays, axis, begins))
    }
}

impl Transform for ConcatenateArrays {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let (arrays, axis, begins) = self.check(kernel)?;
        let (Some(first), Some(length)) = (arrays.first(), begins.last()) else { return Ok(kernel.clone()) };
        let new = match &self.name {
            Some(name) => {
                require_fresh(kernel, name, "name")?;
                name.clone()
            }
            None => fresh(kernel, &format!("{}_cat", first.name)),
        };
        let mut axes: Vec<Axis> = first.axes.iter().map(|a| Axis::new(a.length.clone())).collect();
        axes[axis] = Axis::new(Expr::from_aff(length));
        let whole = Array::new(&new, first.dtype.clone(), axes, first.space);
        kernel.edit(|data| {
            let at = data.temporaries.iter().position(|t| t.name == first.name).unwrap_or_default();
            data.temporaries[at] = whole;
            data.temporaries.retain(|t| !self.temporaries[1..].contains(&t.name));
            for instruction in &mut data.instructions {
                for (array, begin) in self.temporaries.iter().zip(&begins) {
                    move_accesses(instruction, array, &mut |index| {
                        let mut index = index.to_vec();
                        let own = index[axis].clone();
                        index[axis] = match own.to_aff().and_then(|aff| aff.add(begin).ok()) {
                            Some(aff) => Expr::from_aff(&aff),
                            None => Expr::Binary(BinaryOp::Add, own.into(), Expr::from_aff(begin).into()),
                        };
                        Ok(Access::new(&new, index))
                    })?;
                }
                if let Role::Copies { source } = &mut instruction.role
                    && self.temporaries.contains(source)
                {
                    *source = new.clone();
                }
            }
            Ok(())
        })
    }

    fn judgement(&self, before: &LoopKernel) -> Judgement {
        let is_private =
            |name: &Name| before.temporary(name).is_some_and(|t| t.space == AddressSpace::Private);
        if self.temporaries.iter().any(is_private) {
            // Lanes that write a private temporary have one each; the whole has one kind of owner.
            let Ok(model) = Model::new(before) else { return Judgement::Ask };
            let mut owners = self.temporaries.iter().map(|name| model.owning_lanes(name));
            let first = owners.next();
            if owners.any(|lanes| Some(lanes) != first) {
                return Judgement::Ask;
            }
        }
        Judgement::Theorem("a one-to-one map of cells preserves which accesses are to the same cell")
    }
}
