//! Makes several temporaries of one.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    Access, Array, Diagnostic, Expr, Instruction, KernelData, Lookup, LoopKernel, Name, Role,
};
use loopwright_legality::Judgement;
use loopwright_poly::System;

use crate::{
    Transform,
    rewrite::{
        axis_of, footprint::affine_subscript, fresh, move_accesses, require_fresh, require_temporary, touches,
    },
};

step! {
    /// `separate_axis(t, 0)`: makes a temporary of its own of each value of an axis.
    ///
    /// # Meaning
    ///
    /// `t[0, i]` becomes `t_0[i]`, `t[1, i]` becomes `t_1[i]`, and so on: an array of structures
    /// becomes a structure of arrays, and private elements become scalars. Order and padding of the
    /// other axes stay; strides, modes and swizzles are reset. Values of the axis that nothing
    /// accesses get no temporary.
    ///
    /// # Legality
    ///
    /// The axis has a constant length of at most 64, and each subscript on it has one value, as
    /// `1`, or as an iname of which [`IndexSetSplit`](crate::IndexSetSplit) or
    /// [`Peel`](crate::Peel) has left one. Then { (c, d) : c and d are different cells of `t` and
    /// are one cell afterwards } is empty, and each access is to the cell that it was to: the step
    /// is always legal. An argument can be separated while it is declared, by
    /// `LoopKernel::separated`, since the caller has to know; or a copy of it that
    /// [`PackArray`](crate::PackArray) makes.
    ///
    /// In text: `separate_axis(t, 0)`: array, axis (0 is the first; -1 the last), with the option
    /// `names=[a, b]`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel norms(x: f32[n, 2], y: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// temp v: f32[2] private
    /// v[0] = x[i, 0] {id=first}
    /// v[1] = x[i, 1] {id=second}
    /// y[i] = v[0] * v[0] + v[1] * v[1] {id=norm}
    /// ")?;
    /// let steps = Pipeline::parse("separate_axis(v, 0, names=[re, im])")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel norms(x: f32[n, 2], y: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// temp re: f32 private
    /// temp im: f32 private
    /// re = x[i, 0] {id=first, inames=i}
    /// im = x[i, 1] {id=second, inames=i}
    /// y[i] = re * re + im * im {id=norm, inames=i}
    /// tree {
    ///     for i {
    ///         first
    ///         second
    ///         norm
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct SeparateAxis as "separate_axis" {
        /// A temporary with axes.
        pub array: Name = next("the temporary"),
        /// The axis; negative ones count from the end.
        pub axis: i64 = next("the axis"),
        /// The names of the temporaries, one for each value; by default `t_0`, `t_1`, ...
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub names: Vec<Name> = option(),
    }
    table: "separate_axis(t, 0)" => "`tag_array_axes(k, \"t\", \"sep,C\")`",
    methods: {
        /// See [`SeparateAxis`].
        fn separate_axis(&self, array: &str, axis: i64) -> Result<Self, Diagnostic> {
            self.step(SeparateAxis::new(array, axis))
        }
    }
}

/// The most temporaries that a step makes.
const MOST: i64 = 64;

impl SeparateAxis {
    /// Temporaries with default names.
    pub fn new(array: impl Into<Name>, axis: i64) -> Self {
        SeparateAxis { array: array.into(), axis, names: Vec::new() }
    }

    fn refuse(&self, why: String) -> Diagnostic {
        let message = format!("axis {} of `{}` cannot be separated: {why}", self.axis, self.array);
        Diagnostic::new("separate-axis", message)
    }

    /// The number of the axis, and its length.
    fn axis(&self, array: &Array) -> Result<(usize, usize), Diagnostic> {
        let axis = axis_of(array, self.axis)?;
        let length = array.axes[axis].length.to_aff().and_then(|l| l.as_constant());
        match length {
            Some(length @ 1..=MOST) => Ok((axis, usize::try_from(length).unwrap_or_default())),
            _ => {
                let why = format!("its length is {}, and not a number up to {MOST}", array.axes[axis].length);
                Err(self.refuse(why).help("`map_array` cuts an axis into two, as [x] -> [x // 4, x % 4]"))
            }
        }
    }

    /// The value that a subscript of an instruction has at all its instances.
    fn value(
        &self,
        data: &KernelData,
        lookup: &Lookup<'_>,
        instruction: &Instruction,
        subscript: &Expr,
    ) -> Result<i64, Diagnostic> {
        if let Expr::Int(value) = subscript {
            return Ok(*value);
        }
        let refuse = |what: String| {
            let why = format!("a subscript on it in `{}` is `{subscript}`, {what}", instruction.id);
            let help = "split the loop so that the subscript has one value in each piece, as by \
                        `index_set_split`";
            Err(self.refuse(why).help(help))
        };
        let Some(value) = affine_subscript(data, subscript) else {
            return refuse("which depends on data".into());
        };
        let value = lookup.expand(&value)?;
        // Of the inames of reductions those that are mentioned: where one is, the access is inside
        // of its reduction, and the values of the others restrict nothing elsewhere.
        let mut inames = instruction.within.clone();
        inames.extend(
            value.names().into_iter().filter(|n| data.is_iname(n) && !instruction.within.contains(n)),
        );
        let mut rows = data.assumptions.clone();
        for c in lookup.instances(&inames) {
            rows.push(lookup.expand_constraint(&c)?);
        }
        match System::new(&rows)?.constant_range(&value)? {
            (Some(low), Some(high)) if low == high => Ok(low),
            (Some(low), Some(high)) => refuse(format!("which is between {low} and {high}")),
            _ => refuse("which has several values".into()),
        }
    }
}

/// The array without an axis.
fn without(array: &Array, axis: usize, name: &Name) -> Array {
    let piece = Array { name: name.clone(), ..array.clone() };
    let mut piece = piece.without_axis(axis);
    for axis in &mut piece.axes {
        axis.stride = None;
    }
    piece
}

impl Transform for SeparateAxis {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        require_temporary(kernel, &self.array)?;
        let Some(array) = kernel.temporary(&self.array) else { return Ok(kernel.clone()) };
        let (axis, length) = self.axis(array)?;
        if !self.names.is_empty() && self.names.len() != length {
            let why = format!("it has {length} values, and {} names are given", self.names.len());
            return Err(self.refuse(why).help("give a name for each value, or none"));
        }
        let mut names: Vec<Name> = Vec::new();
        for k in 0..length {
            let name = match self.names.get(k) {
                Some(name) => {
                    require_fresh(kernel, name, "name")?;
                    name.clone()
                }
                None => fresh(kernel, &format!("{}_{k}", self.array)),
            };
            if names.contains(&name) {
                return Err(self
                    .refuse(format!("`{name}` would be two of them"))
                    .help("give different names"));
            }
            names.push(name);
        }
        let lookup = Lookup::new(kernel);
        let mut used: BTreeSet<usize> = BTreeSet::new();
        let mut instructions = kernel.instructions.clone();
        for instruction in instructions.iter_mut().filter(|i| touches(i, &self.array)) {
            let before = instruction.clone();
            let mut source = None;
            move_accesses(instruction, &self.array, &mut |index| {
                let value = self.value(kernel, &lookup, &before, &index[axis])?;
                let piece = usize::try_from(value).ok().filter(|k| *k < length);
                let piece = piece.ok_or_else(|| self.refuse(format!("`{}` accesses {value}", before.id)))?;
                used.insert(piece);
                let mut index = index.to_vec();
                index.remove(axis);
                source.get_or_insert(piece);
                Ok(Access::new(&names[piece], index))
            })?;
            if let Role::Copies { source: of } = &mut instruction.role
                && *of == self.array
                && let Some(piece) = source
            {
                *of = names[piece].clone();
            }
        }
        kernel.edit(|data| {
            let at = data.temporaries.iter().position(|t| t.name == self.array).unwrap_or_default();
            let pieces = used.iter().map(|k| without(array, axis, &names[*k]));
            data.temporaries.splice(at..=at, pieces);
            data.instructions = instructions;
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a one-to-one map of cells preserves which accesses are to the same cell")
    }
}
