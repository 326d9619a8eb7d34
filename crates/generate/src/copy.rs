//! Copies with permuted axes.

use loopwright_kernel_ir::{DType, Diagnostic, Diagnostics, LoopKernel, array};

use crate::{
    Generator, Kind,
    shape::{self, Axis, Names},
    types::{no_accumulator, stored},
};

/// The kernel of a copy with axes in this order: `copy("m, n", &[1, 0], F32)` is a transpose. See
/// [`Generator::copy`].
pub fn copy(shape: &str, axes: &[i64], dtype: DType) -> Result<LoopKernel, Diagnostics> {
    Generator::new().copy(shape, axes, dtype)
}

impl Generator {
    /// The elements of `x` in `out`, whose axis `d` is the axis `axes[d]` of `x`; no axes at all
    /// stand for the order as it is. [`Generator::out`] gives the result another type.
    ///
    /// Errors: an invalid shape or invalid axes (`generate-shape`, `generate-axis`), an accumulator
    /// (`generate-types`).
    ///
    /// ```
    /// use loopwright_generate::copy;
    /// use loopwright_kernel_ir::DType::F32;
    ///
    /// assert_eq!(copy("m, n", &[1, 0], F32)?.to_string(), "\
    /// kernel copy(x: f32[m, n], out: f32[n, m], m: i32, n: i32)
    /// assume 0 <= m and 0 <= n
    /// domain { [j, i] : 0 <= j < n and 0 <= i < m }
    /// out[j, i] = x[i, j] {id=copy}
    /// ");
    /// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
    /// ```
    pub fn copy(&self, shape: &str, axes: &[i64], dtype: DType) -> Result<LoopKernel, Diagnostics> {
        self.check(Kind::Copy)?;
        no_accumulator("a copy", self)?;
        let shape = shape::parse(shape)?;
        let order = match axes.is_empty() {
            true => (0..shape.len()).collect(),
            false => shape::axes(axes, shape.len())?,
        };
        if order.len() != shape.len() {
            return Err(Diagnostic::new(
                "generate-axis",
                format!("a copy has all {} axes of its operand, but {} are given", shape.len(), order.len()),
            )
            .help("give each axis once, in the order of the result: `1, 0` is a transpose")
            .into());
        }
        let all = Names::of(&shape, &["x", "out"])?.axes(&shape);
        let turned: Vec<&Axis> = order.iter().map(|k| &all[*k]).collect();
        let out = self.out.unwrap_or(dtype);
        let mut kernel = LoopKernel::build(self.named("copy")).array("x", dtype, shape::lengths(&all)).array(
            "out",
            out,
            shape::lengths(turned.iter().copied()),
        );
        kernel = shape::declare(kernel, &shape, |_| 0);
        kernel = shape::domain(kernel, turned.iter().copied());
        let value = stored(array("x").at(shape::index(&all)), dtype, out);
        kernel.assign(array("out").at(shape::index(turned)), value).id("copy").finish()
    }
}
