//! Adds elements behind an axis of an array.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;
use serde::{Deserialize, Serialize};

use crate::{
    Number, Transform,
    call::Args,
    rewrite::{change_array, require_array},
    step::BuiltIn,
};

/// `pad_array_axis(t, 1, 1)`: adds elements behind an axis of an array in its storage.
///
/// # Meaning
///
/// The strides of the axes outside of it grow. A row of 32 floats padded by one lets a column lie
/// in 32 banks of shared memory.
///
/// # Legality
///
/// Always legal: distinct elements stay distinct, and nothing reads the padding. For an argument it
/// is part of how the kernel is called.
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PadArrayAxis {
    /// The array.
    pub array: Name,
    /// The axis; negative ones count from the end.
    pub axis: i64,
    /// Elements behind it.
    pub by: Number,
}

impl PadArrayAxis {
    /// Adds elements behind an axis.
    pub fn new(array: impl Into<Name>, axis: i64, by: impl Into<Number>) -> Self {
        PadArrayAxis { array: array.into(), axis, by: by.into() }
    }
}

impl BuiltIn for PadArrayAxis {
    const NAME: &'static str = "pad_array_axis";

    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let array = args.name("the array")?;
        let axis = args.number("the axis")?.value()?;
        Ok(PadArrayAxis { array, axis, by: args.number("the elements to add")? })
    }

    fn numbers(&mut self) -> Vec<&mut Number> {
        vec![&mut self.by]
    }
}

impl Transform for PadArrayAxis {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let axes = require_array(kernel, &self.array)?.axes.len();
        let by = u32::try_from(self.by.at_least(0, "the padding")?)
            .map_err(|_| Diagnostic::new("number-range", "the padding does not fit into 32 bits"))?;
        let count = i64::try_from(axes).unwrap_or(i64::MAX);
        let axis = if self.axis < 0 { self.axis.saturating_add(count) } else { self.axis };
        let axis = usize::try_from(axis).ok().filter(|k| *k < axes).ok_or_else(|| {
            Diagnostic::new(
                "axis-count",
                format!("`{}` has {axes} axes, and none of number {}", self.array, self.axis),
            )
        })?;
        kernel.edit(|data| {
            change_array(data, &self.array, |array| array.axes[axis].padding = by);
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a layout gives different elements different places")
    }
}

impl fmt::Display for PadArrayAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pad_array_axis({}, {}, {})", self.array, self.axis, self.by)
    }
}
