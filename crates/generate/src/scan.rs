//! Scans along an axis.

use loopwright_kernel_ir::{DType, Diagnostics, LoopKernel, array, reduce as reduction};

use crate::{
    Generator, Kind,
    reduce::no_operator,
    shape::{self, Axis, Names},
    types::{Sums, no_accumulator, numbers, stored},
};

/// The scans that there are kernels of.
pub const SCANS: [&str; 4] = ["cumsum", "cumprod", "cummin", "cummax"];

/// The kernel of a scan along an axis: `scan("cumsum", "m, n", -1, F32)`. See [`Generator::scan`].
pub fn scan(op: &str, shape: &str, axis: i64, dtype: DType) -> Result<LoopKernel, Diagnostics> {
    Generator::new().scan(op, shape, axis, dtype)
}

impl Generator {
    /// Each element of `out` is the sum, the product, the minimum or the maximum of the elements of
    /// `x` along an axis up to its own place, or before it if the scan is
    /// [exclusive](Generator::exclusive).
    ///
    /// The kernel says what each element is, from all elements before it; the step `realize_scan`,
    /// which `auto` takes, makes it one pass.
    ///
    /// Errors: another operator (`generate-operator`), an invalid shape or axis (`generate-shape`,
    /// `generate-axis`), types that the operator does not take (`generate-types`).
    ///
    /// ```
    /// use loopwright_generate::scan;
    /// use loopwright_kernel_ir::DType::F32;
    ///
    /// assert_eq!(scan("cumsum", "m, n", -1, F32)?.to_string(), "\
    /// kernel cumsum(x: f32[m, n], out: f32[m, n], m: i32, n: i32)
    /// assume 0 <= m and 0 <= n
    /// domain { [i, j] : 0 <= i < m and 0 <= j < n }
    /// domain { [k] : 0 <= k <= j }
    /// out[i, j] = sum(k, x[i, k]) {id=scan}
    /// ");
    /// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
    /// ```
    pub fn scan(&self, op: &str, shape: &str, axis: i64, dtype: DType) -> Result<LoopKernel, Diagnostics> {
        self.check(Kind::Scan)?;
        let by = match op {
            "cumsum" => "sum",
            "cumprod" => "product",
            "cummin" => "min",
            "cummax" => "max",
            _ => return Err(no_operator("scan", op, &SCANS).into()),
        };
        let what = format!("`{op}`");
        numbers(&what, dtype)?;
        let lengths = shape::parse(shape)?;
        let along = shape::axis(axis, lengths.len())?;
        let mut names = Names::of(&lengths, &["x", "out"])?;
        let all = names.axes(&lengths);
        let point = names.iname();
        let up_to = |(k, axis): (usize, &Axis)| match k == along {
            true => Axis { iname: point.clone(), length: axis.length.clone() },
            false => axis.clone(),
        };
        let read: Vec<Axis> = all.iter().enumerate().map(up_to).collect();
        let element = array("x").at(shape::index(&read));
        let reduced = |operand| reduction(by, [point.clone()], [operand]);
        let (out, value) = if matches!(by, "sum" | "product") {
            let sums = Sums::of(&[dtype], None, self)?;
            (sums.out, sums.result(reduced(sums.operand(element, dtype))))
        } else {
            no_accumulator(&what, self)?;
            let out = self.out.unwrap_or(dtype);
            (out, stored(reduced(element), dtype, out))
        };
        let mut kernel = LoopKernel::build(self.named(op)).array("x", dtype, shape::lengths(&all)).array(
            "out",
            out,
            shape::lengths(&all),
        );
        kernel = shape::domain(shape::declare(kernel, &lengths, |_| 0), &all);
        let relation = if self.exclusive { "<" } else { "<=" };
        let place = &all[along].iname;
        kernel
            .domain(&format!("{{ [{point}] : 0 <= {point} {relation} {place} }}"))
            .assign(array("out").at(shape::index(&all)), value)
            .id("scan")
            .finish()
    }
}
