//! Gives an argument a copy in global memory, whose layout is free.

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Arg, Array, Axis, Constraint, Diagnostic, Domain, Expr, Instruction,
    KernelData, LoopKernel, Name, Part, PartRef, Role, Tree,
};
use loopwright_legality::{Judgement, Verdict, judge_by_proof};

use crate::{
    SeparateAxis, Transform,
    rewrite::{element, fresh, rename_array, require_fresh, require_no_table, touches, tree},
};

step! {
    /// `pack_array(x)`: gives an argument a copy in global memory, which the kernel uses instead
    /// and whose layout is free.
    ///
    /// # Meaning
    ///
    /// `x_pack` has the shape of `x`, and all accesses go to it. `x_load`, a nest of loops over
    /// `x_f0`, `x_f1`, ... in front of everything else, copies all cells of `x` to it; `x_store`, a
    /// nest over `x_s0`, ... behind everything else, copies all of them back, if the kernel writes
    /// the array. The caller passes the array as before. As a temporary, the copy takes every
    /// layout: [`MapArray`](crate::MapArray) splits, joins and permutes its axes,
    /// [`PadArrayAxis`](crate::PadArrayAxis) pads them. The nests are split and tagged like others:
    /// spread over blocks, they become kernels of their own.
    ///
    /// With `separate=1`, each value of that axis has an array of its own, `x_pack_0`, `x_pack_1`,
    /// ..., as [`SeparateAxis`](crate::SeparateAxis) makes them, and an instruction of its own,
    /// `x_load_0`, ..., in one nest over the other axes: an array of structures that the caller
    /// passes is a structure of arrays to the kernel.
    ///
    /// Cells of which the kernel reads what the caller has left in them, and those that it does not
    /// write, need the first nest. It is left out where the kernel is proved to write each cell
    /// before it reads it: then `x` remains an array that is only written.
    ///
    /// # Legality
    ///
    /// Always legal. The copy has all cells before the first access, and what it is afterwards goes
    /// back to all of them, so that cells that the kernel leaves alone get the values that they
    /// had: { c : c is a cell of `x` that no instance copies, or that two copy back } is empty.
    /// Without the first nest, the step is proved by following values, as for
    /// [`BufferArray`](crate::BufferArray). Facts are declared of arguments, and would not be known
    /// of a copy: an array that has some is refused.
    ///
    /// In text: `pack_array(x)` with the options `name=x_pack` and `separate=1`.
    ///
    /// # Before and after
    ///
    /// Rows in blocks of 32, the elements of a column of each block next to each other:
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel times(a: f32[n, m], x: f32[m], y: f32[n], n: i32, m: i32)
    /// assume 1 <= n and 1 <= m
    /// domain { [i, k] : 0 <= i < n and 0 <= k < m }
    /// y[i] = sum(k, a[i, k] * x[k]) {id=dot}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// pack_array(a)
    /// map_array(a_pack, [r, c] -> [r // 32, c, r % 32])
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel times(a: f32[n, m], x: f32[m], y: f32[n], n: i32, m: i32)
    /// assume 1 <= n and 1 <= m
    /// domain { [i, k] : 0 <= i < n and 0 <= k < m }
    /// domain { [a_f0, a_f1] : 0 <= a_f0 < n and 0 <= a_f1 < m }
    /// temp a_pack: f32[(n + 31) // 32, m, 32] global
    /// a_pack[a_f0 // 32, a_f1, a_f0 % 32] = a[a_f0, a_f1] {id=a_load, inames=a_f0:a_f1, copies=a, by=pack_array}
    /// y[i] = sum(k, a_pack[i // 32, k, i % 32] * x[k]) {id=dot, inames=i}
    /// tree {
    ///     for a_f0 {
    ///         for a_f1 {
    ///             a_load
    ///         }
    ///     }
    ///     for i {
    ///         dot.init
    ///         for k {
    ///             dot.update
    ///         }
    ///         dot.finish
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct PackArray as "pack_array" {
        /// An array argument that the kernel accesses, with lengths that are affine functions of
        /// parameters.
        pub array: Name = next("the array"),
        /// The copy's name; by default the array's with the suffix `_pack`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<Name> = option(),
        /// An axis of a constant length: the copy has an array of its own for each of its values.
        /// Negative ones count from the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub separate: Option<i64> = option(),
    }
    table: "pack_array(x)" => "`split_array_dim(k, ...)`, `tag_array_axes`, for arguments",
    methods: {
        /// See [`PackArray`].
        fn pack_array(&self, array: &str) -> Result<Self, Diagnostic> {
            self.step(PackArray::new(array))
        }
    }
}

impl PackArray {
    /// A copy with the default name.
    pub fn new(array: impl Into<Name>) -> Self {
        PackArray { array: array.into(), name: None, separate: None }
    }

    fn refuse(&self, why: &str, help: &str) -> Diagnostic {
        Diagnostic::new("pack-array", format!("`{}` cannot be packed: {why}", self.array)).help(help)
    }

    /// The array, if it can be packed, with its lengths.
    fn check<'k>(&self, kernel: &'k KernelData) -> Result<(&'k Array, Vec<Aff>), Diagnostic> {
        let name = &self.array;
        let array = require_no_table(kernel, name)?;
        if kernel.temporary(name).is_some() {
            return Err(self.refuse(
                "it is a temporary, whose layout is free",
                "change its layout, as with `map_array`",
            ));
        }
        if !kernel.instructions.iter().any(|i| touches(i, name)) {
            return Err(self.refuse("nothing reads or writes it", "name an array that the kernel uses"));
        }
        if kernel.facts.iter().any(|f| f.array() == name) {
            let help = "leave arrays as they are from which bounds and subscripts are read";
            return Err(self.refuse("a fact is declared about it, and would not be known of the copy", help));
        }
        let lengths: Option<Vec<Aff>> = array.axes.iter().map(|a| a.length.to_aff()).collect();
        let help = "fix the parameters that it multiplies with `fix_parameters`";
        let lengths =
            lengths.ok_or_else(|| self.refuse("one of its lengths is not an affine function", help))?;
        Ok((array, lengths))
    }

    /// The separated axis, with its length.
    fn separated(&self, lengths: &[Aff]) -> Result<Option<(usize, i64)>, Diagnostic> {
        let Some(given) = self.separate else { return Ok(None) };
        let axes = lengths.len() as i64;
        let axis = usize::try_from(if given < 0 { given + axes } else { given }).ok();
        let Some((axis, length)) = axis.and_then(|k| Some((k, lengths.get(k)?))) else {
            let why = format!("it has no axis {given}");
            return Err(self.refuse(&why, "axes are numbered from 0; -1 is the last"));
        };
        match length.as_constant() {
            Some(n @ 1..=MOST_PIECES) => Ok(Some((axis, n))),
            Some(n) => {
                let why = format!("{n} arrays of their own would be made");
                Err(self.refuse(&why, "an axis of at most 64 values can be separated"))
            }
            None => {
                let why = format!("the length of axis {axis} is `{length}`, and no number");
                Err(self.refuse(&why, "fix the parameter with `fix_parameters`"))
            }
        }
    }

    /// One of the nests: the instructions, with their loops and their domain.
    fn nest(
        &self,
        data: &KernelData,
        lengths: &[Aff],
        from: &Name,
        to: &Name,
        is_load: bool,
    ) -> Result<Nest, Diagnostic> {
        let (letter, word) = if is_load { ("f", "load") } else { ("s", "store") };
        let inames: Vec<Name> =
            (0..lengths.len()).map(|k| fresh(data, &format!("{}_{letter}{k}", self.array))).collect();
        let mut constraints = Vec::new();
        for (iname, length) in inames.iter().zip(lengths) {
            constraints.push(Constraint::nonneg(Aff::var(iname)));
            constraints.push(Constraint::lt(&Aff::var(iname), length)?);
        }
        let separated = self.separated(lengths)?;
        let mut within = inames.clone();
        if let Some((axis, _)) = separated {
            let iname = within.remove(axis);
            constraints.retain(|c| !c.aff.mentions(&iname));
        }
        let mut instructions = Vec::new();
        for piece in 0..separated.map_or(1, |(_, length)| length) {
            let mut index: Vec<Expr> = inames.iter().map(|n| Expr::Name(n.clone())).collect();
            let mut id = format!("{}_{word}", self.array);
            if let Some((axis, _)) = separated {
                index[axis] = Expr::Int(piece);
                id = format!("{id}_{piece}");
            }
            instructions.push(Instruction {
                within: within.clone(),
                made_by: Some(Name::new("pack_array")),
                ..Instruction::new(
                    fresh(data, &id),
                    vec![Access::new(to, index.clone())],
                    element(from, index),
                    Role::Copies { source: from.clone() },
                )
            });
        }
        let leaf = |i: &Instruction| Tree::Leaf(PartRef { instruction: i.id.clone(), part: Part::Whole });
        let tree = tree::nest(&within, instructions.iter().map(leaf).collect());
        let domain = (!within.is_empty()).then_some(Domain { inames: within, constraints });
        Ok(Nest { instructions, domain, tree })
    }

    /// The kernel with the copy, filled first or not.
    fn packed(&self, kernel: &LoopKernel, is_loaded: bool) -> Result<LoopKernel, Diagnostic> {
        let (array, lengths) = self.check(kernel)?;
        let (array, source) = (array.clone(), &self.array);
        let is_written = is_written(kernel, source);
        let copy = match &self.name {
            Some(name) => {
                require_fresh(kernel, name, "name")?;
                name.clone()
            }
            None => fresh(kernel, &format!("{source}_pack")),
        };
        let packed = kernel.edit(|data| {
            rename_array(data, source, &copy);
            let axes = array.axes.iter().map(|a| Axis::new(a.length.clone())).collect();
            data.temporaries.push(Array::new(&copy, array.dtype.clone(), axes, AddressSpace::Global));
            if is_loaded {
                let nest = self.nest(data, &lengths, source, &copy, true)?;
                data.domains.extend(nest.domain);
                data.tree.splice(0..0, nest.tree);
                data.instructions.splice(0..0, nest.instructions);
            }
            if is_written {
                let nest = self.nest(data, &lengths, &copy, source, false)?;
                data.domains.extend(nest.domain);
                data.tree.extend(nest.tree);
                data.instructions.extend(nest.instructions);
            }
            Ok::<(), Diagnostic>(())
        })?;
        match self.separate {
            Some(axis) => SeparateAxis::new(copy, axis).apply(&packed),
            None => Ok(packed),
        }
    }
}

/// The most arrays that the copy is separated into, as by [`SeparateAxis`].
const MOST_PIECES: i64 = 64;

/// The instructions that copy the array, with their domain and their loops.
struct Nest {
    instructions: Vec<Instruction>,
    domain: Option<Domain>,
    tree: Vec<Tree>,
}

fn is_written(data: &KernelData, array: &Name) -> bool {
    data.instructions.iter().any(|i| i.targets.iter().any(|t| t.array == *array))
}

impl Transform for PackArray {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        if is_written(kernel, &self.array) {
            let unfilled = self.packed(kernel, false)?;
            if matches!(judge_by_proof(kernel, &unfilled), Verdict::Proved { .. }) {
                return Ok(unfilled);
            }
        }
        self.packed(kernel, true)
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem(
            "the copy has all cells that are read before they are written, and gives all of them back",
        )
    }

    fn notes(&self, before: &LoopKernel) -> Vec<String> {
        let arg = before.args.iter().find(|a| matches!(a, Arg::Array(a) if a.name == self.array));
        let (Some(_), Ok(after)) = (arg, self.apply(before)) else { return Vec::new() };
        let is_filled = after
            .instructions
            .iter()
            .any(|i| matches!(&i.role, Role::Copies { source } if *source == self.array));
        let filled = match is_filled {
            true => "is filled first",
            false => "is not filled first: each cell is written before it is read",
        };
        vec![format!("the copy of `{}` {filled}", self.array)]
    }
}
