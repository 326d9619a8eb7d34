//! Removes an axis of a temporary.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};

use crate::{
    Number, Transform,
    rewrite::{map_accesses, require_temporary},
};

step! {
    /// `unprivatize_temporary(t, 0)`: removes an axis of a temporary, so that all cells along it
    /// become one.
    ///
    /// # Meaning
    ///
    /// The axis is removed from the shape, and its subscript from each access. It is the inverse of
    /// [`PrivatizeTemporary`](crate::PrivatizeTemporary): array contraction. The other axes keep
    /// the modes that `set_layout` has set.
    ///
    /// # Legality
    ///
    /// The temporary has the axis. The step is legal if no value is overwritten before its last
    /// read: { w -> r, v : r reads what w wrote, v writes a cell that differs from r's on this axis
    /// only, w < v < r } is empty.
    ///
    /// In text: `unprivatize_temporary(t, 0)`, the axis counted from 0.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel pass(x: f32[n], y: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// temp t: f32[n] global
    /// t[i] = 2.0 * x[i] {id=first}
    /// y[i] = t[i] + 1.0 {id=second}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// unprivatize_temporary(t, 0)
    /// set_address_space(t, private)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel pass(x: f32[n], y: f32[n], n: i32)
    /// assume 1 <= n
    /// domain { [i] : 0 <= i < n }
    /// temp t: f32 private
    /// t = 2.0 * x[i] {id=first, inames=i}
    /// y[i] = t + 1.0 {id=second, inames=i}
    /// tree {
    ///     for i {
    ///         first
    ///         second
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct UnprivatizeTemporary as "unprivatize_temporary" {
        /// A temporary with axes.
        pub temporary: Name = next("the temporary"),
        /// The axis, from 0 on.
        pub axis: Number = next("the axis"),
    }
    table: "unprivatize_temporary(t, 0)" => "`unprivatize_temporaries_with_inames(k, \"i\", \
        \"t\")`",
    methods: {
        /// See [`UnprivatizeTemporary`].
        fn unprivatize_temporary(&self, temporary: &str, axis: i64) -> Result<Self, Diagnostic> {
            self.step(UnprivatizeTemporary::new(temporary, axis))
        }
    }
}

impl UnprivatizeTemporary {
    /// One cell along this axis.
    pub fn new(temporary: impl Into<Name>, axis: impl Into<Number>) -> Self {
        UnprivatizeTemporary { temporary: temporary.into(), axis: axis.into() }
    }
}

impl Transform for UnprivatizeTemporary {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let t = &self.temporary;
        require_temporary(kernel, t)?;
        let number = self.axis.at_least(0, "the axis")?;
        let axes = kernel.temporary(t).map_or(0, |a| a.axes.len());
        let Some(axis) = usize::try_from(number).ok().filter(|a| *a < axes) else {
            return Err(Diagnostic::new(
                "no-such-axis",
                format!("`{t}` has no axis {number}; there are {axes}"),
            )
            .help("axes are counted from 0"));
        };
        kernel.edit(|data| {
            for a in data.temporaries.iter_mut().filter(|a| a.name == *t) {
                *a = a.clone().without_axis(axis);
            }
            for instruction in &mut data.instructions {
                map_accesses(instruction, t, &|index| {
                    index.iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, e)| e.clone()).collect()
                });
            }
            Ok(())
        })
    }
}
