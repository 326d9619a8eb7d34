//! Adds padding after an axis of an array.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;

use crate::{
    Number, Transform,
    rewrite::{change_array, require_array},
};

step! {
    /// `pad_array_axis(t, 1, 1)`: adds padding after an axis of an array in storage.
    ///
    /// # Meaning
    ///
    /// The strides of outer axes grow. If a row of 32 floats is padded by one, the elements of a
    /// column are in 32 different banks of shared memory.
    ///
    /// # Legality
    ///
    /// Always legal: distinct elements stay distinct, and nothing reads the padding. For an
    /// argument, the padding is part of the kernel's interface.
    ///
    /// In text: `pad_array_axis(t, 1, 1)`: array, axis (0 is the first; -1 the last), elements.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel matmul(a: f32[n, m], b: f32[m, l], c: f32[n, l], n: i32, m: i32, l: i32)
    /// assume 1 <= n and 1 <= m and 1 <= l
    /// domain { [i, j, k] : 0 <= i < n and 0 <= j < l and 0 <= k < m }
    /// c[i, j] = sum(k, a[i, k] * b[k, j]) {id=dot}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// tag_array_axes(a, f)
    /// tag_array_axes(b, [stride:2*l, N0])
    /// pad_array_axis(c, -1, 1)
    /// set_precision(fast)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel matmul(
    ///     a: f32[n, m] order(f),
    ///     b: f32[m, l] strides(2 * l, _),
    ///     c: f32[n, l pad 1],
    ///     n: i32,
    ///     m: i32,
    ///     l: i32,
    /// )
    /// option fast_math
    /// assume 1 <= n and 1 <= m and 1 <= l
    /// domain { [i, j, k] : 0 <= i < n and 0 <= j < l and 0 <= k < m }
    /// c[i, j] = sum(k, a[i, k] * b[k, j]) {id=dot, inames=i:j}
    /// tree {
    ///     for i {
    ///         for j {
    ///             dot.init
    ///             for k {
    ///                 dot.update
    ///             }
    ///             dot.finish
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct PadArrayAxis as "pad_array_axis" {
        /// An array, argument or temporary, whose modes are not set (`set_layout`).
        pub array: Name = next("the array"),
        /// The axis; negative ones count from the end.
        pub axis: i64 = next("the axis"),
        /// The number of elements added after it, at least 0.
        pub by: Number = next("the elements to add"),
    }
    table: "pad_array_axis(t, 1, 1)" => "`add_padding(k, \"t\", 1, align)`",
    methods: {
        /// See [`PadArrayAxis`].
        fn pad_array_axis(&self, array: &str, axis: i64, by: impl Into<Number>) -> Result<Self, Diagnostic> {
            self.step(PadArrayAxis::new(array, axis, by))
        }
    }
}

impl PadArrayAxis {
    /// Adds elements after an axis.
    pub fn new(array: impl Into<Name>, axis: i64, by: impl Into<Number>) -> Self {
        PadArrayAxis { array: array.into(), axis, by: by.into() }
    }
}

impl Transform for PadArrayAxis {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let array = require_array(kernel, &self.array)?;
        let axes = array.axes.len();
        if let Some(modes) = &array.layout.modes {
            return Err(Diagnostic::new(
                "wrong-layout",
                format!("the layout of `{}` is set to {modes}, which leaves no axis to pad", self.array),
            )
            .help("set a layout with larger strides"));
        }
        let by = u32::try_from(self.by.at_least(0, "the padding")?)
            .map_err(|_| Diagnostic::new("number-range", "the padding does not fit into 32 bits"))?;
        let count = i64::try_from(axes).unwrap_or(i64::MAX);
        let axis = if self.axis < 0 { self.axis.saturating_add(count) } else { self.axis };
        let axis = usize::try_from(axis).ok().filter(|k| *k < axes).ok_or_else(|| {
            Diagnostic::new(
                "axis-count",
                format!("`{}` has {axes} axes, and no axis {}", self.array, self.axis),
            )
        })?;
        kernel.edit(|data| {
            change_array(data, &self.array, |array| array.axes[axis].padding = by);
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a layout is injective")
    }
}
