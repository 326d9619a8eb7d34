//! Reductions along axes.

use loopwright_kernel_ir::{
    DType, Diagnostic, Diagnostics, Expr, LoopKernel, array, cast, did_you_mean, reduce as reduction,
};

use crate::{
    Generator, Kind,
    shape::{self, Axis, Length, Names},
    types::{Sums, no_accumulator, numbers, stored},
};

/// The reductions that there are kernels of.
pub const REDUCTIONS: [&str; 9] = ["sum", "product", "mean", "min", "max", "any", "all", "argmin", "argmax"];

/// The kernel of a reduction along axes: `reduce("sum", "m, n", &[1], F32)` sums each row. See
/// [`Generator::reduce`].
pub fn reduce(op: &str, shape: &str, axes: &[i64], dtype: DType) -> Result<LoopKernel, Diagnostics> {
    Generator::new().reduce(op, shape, axes, dtype)
}

impl Generator {
    /// The elements of `x` along some axes, or along all if none are given, become one element of
    /// `out`, which has the other axes.
    ///
    /// | operator | result | of no elements |
    /// |---|---|---|
    /// | `sum`, `product` | of the type of the operand; of truth values, i32 or the accumulator's | 0, 1 |
    /// | `mean` | the sum over the number of elements; of integers and truth values, f64 or the accumulator's type | NaN |
    /// | `min`, `max` | of numbers, without NaNs | the other end of the type's range |
    /// | `any`, `all` | bool, of truth values or of whether numbers are not zero | false, true |
    /// | `argmin`, `argmax` | `values` and their `indices` (i32) along one axis; the first of equal ones, never a NaN | as `min` and `max`, and 2147483647 |
    ///
    /// `prod` is another word for `product`.
    ///
    /// Errors: another operator (`generate-operator`), an invalid shape or invalid axes
    /// (`generate-shape`, `generate-axis`), types that the operator does not take
    /// (`generate-types`).
    ///
    /// ```
    /// use loopwright_generate::reduce;
    /// use loopwright_kernel_ir::DType::F32;
    ///
    /// assert_eq!(reduce("mean", "m, n", &[0], F32)?.to_string(), "\
    /// kernel reduce_mean(x: f32[m, n], out: f32[n], m: i32, n: i32)
    /// assume 0 <= m and 0 <= n
    /// domain { [j] : 0 <= j < n }
    /// domain { [i] : 0 <= i < m }
    /// out[j] = sum(i, x[i, j]) / m {id=reduce}
    /// ");
    /// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
    /// ```
    pub fn reduce(
        &self,
        op: &str,
        shape: &str,
        axes: &[i64],
        dtype: DType,
    ) -> Result<LoopKernel, Diagnostics> {
        self.check(Kind::Reduction)?;
        let op = if op == "prod" { "product" } else { op };
        if !REDUCTIONS.contains(&op) {
            return Err(no_operator("reduction", op, &REDUCTIONS).into());
        }
        let lengths = shape::parse(shape)?;
        let along = match axes.is_empty() {
            true => (0..lengths.len()).collect(),
            false => shape::axes(axes, lengths.len())?,
        };
        let finds_places = matches!(op, "argmin" | "argmax");
        let arguments: &[&str] = if finds_places { &["x", "values", "indices"] } else { &["x", "out"] };
        let all = Names::of(&lengths, arguments)?.axes(&lengths);
        let part = |reduced: bool| -> Vec<&Axis> {
            all.iter().enumerate().filter(|(k, _)| along.contains(k) == reduced).map(|(_, a)| a).collect()
        };
        let (kept, reduced) = (part(false), part(true));
        let inames = || reduced.iter().map(|axis| axis.iname.clone());
        let element = array("x").at(shape::index(&all));
        let mut kernel =
            LoopKernel::build(self.named(&format!("reduce_{op}"))).array("x", dtype, shape::lengths(&all));
        if finds_places {
            no_accumulator(&format!("`{op}`"), self)?;
            numbers(&format!("`{op}`"), dtype)?;
            let [axis] = reduced.as_slice() else {
                return Err(Diagnostic::new(
                    "generate-axis",
                    format!(
                        "`{op}` runs along one axis, in which it gives a place, not along {}",
                        reduced.len()
                    ),
                )
                .help("give one axis")
                .into());
            };
            let out = self.out.unwrap_or(dtype);
            let results = kept.iter().copied();
            kernel = kernel.array("values", out, shape::lengths(results.clone())).array(
                "indices",
                DType::I32,
                shape::lengths(results.clone()),
            );
            kernel = shape::declare(kernel, &lengths, |_| 0);
            kernel = shape::domain(shape::domain(kernel, results), reduced.iter().copied());
            let targets =
                ["values", "indices"].map(|name| array(name).at(shape::index(kept.iter().copied())));
            let value = reduction(op, inames(), [element, axis.index()]);
            return kernel.assign(targets, value).id("reduce").finish();
        }
        let (out, value) = match op {
            "sum" | "product" | "mean" => {
                let counts = op == "mean" && !dtype.is_float();
                let usual = match (counts, dtype) {
                    (true, _) => Some(self.acc.unwrap_or(DType::F64)),
                    (false, DType::Bool) => Some(self.acc.unwrap_or(DType::I32)),
                    _ => None,
                };
                let sums = match (dtype, self.acc) {
                    // A truth value meets no number, so that it is one first.
                    (DType::Bool, None) => {
                        let out = self.out.or(usual).unwrap_or(DType::I32);
                        Sums::of(&[out], None, self)?
                    }
                    _ => Sums::of(&[dtype], usual, self)?,
                };
                let operand = sums.operand(element, dtype);
                let total = reduction(if op == "product" { "product" } else { "sum" }, inames(), [operand]);
                if op == "mean" {
                    if !sums.acc.is_float() {
                        return Err(Diagnostic::new(
                            "generate-types",
                            format!("a mean is a fraction, which {} does not hold", sums.acc),
                        )
                        .help("accumulate in a floating-point type, such as f64")
                        .into());
                    }
                    (sums.out, sums.result(total / count(&reduced, sums.acc)))
                } else {
                    (sums.out, sums.result(total))
                }
            }
            "any" | "all" => {
                no_accumulator(&format!("`{op}`"), self)?;
                let operand = if dtype == DType::Bool { element } else { element.differs(0) };
                let out = self.out.unwrap_or(DType::Bool);
                (out, stored(reduction(op, inames(), [operand]), DType::Bool, out))
            }
            _ => {
                no_accumulator(&format!("`{op}`"), self)?;
                numbers(&format!("`{op}`"), dtype)?;
                let out = self.out.unwrap_or(dtype);
                (out, stored(reduction(op, inames(), [element]), dtype, out))
            }
        };
        kernel = kernel.array("out", out, shape::lengths(kept.iter().copied()));
        kernel = shape::declare(kernel, &lengths, |_| 0);
        kernel = shape::domain(shape::domain(kernel, kept.iter().copied()), reduced.iter().copied());
        kernel.assign(array("out").at(shape::index(kept)), value).id("reduce").finish()
    }
}

/// The number of elements along axes. A product of sizes could leave i32, so that it is computed in
/// the type of the sum.
fn count(reduced: &[&Axis], acc: DType) -> Expr {
    let fixed = reduced.iter().map(|axis| match axis.length {
        Length::Fixed(n) => n,
        Length::Size(_) => 1,
    });
    // Beyond 64 bits there is no array of that many elements.
    let fixed = fixed.fold(1i64, i64::saturating_mul);
    let sizes: Vec<Expr> = reduced
        .iter()
        .filter(|axis| matches!(axis.length, Length::Size(_)))
        .map(|axis| axis.length.expr())
        .collect();
    let alone = sizes.len() == 1 && fixed == 1;
    let factors = sizes.into_iter().map(|size| if alone { size } else { cast(acc, size) });
    let constant = (fixed != 1).then_some(Expr::Int(fixed));
    constant.into_iter().chain(factors).reduce(|a, b| a * b).unwrap_or(Expr::Int(1))
}

/// The refusal of a word that is not among `known`, with the nearest one that is.
pub fn no_operator(what: &str, word: &str, known: &[&str]) -> Diagnostic {
    let help = did_you_mean(word, known.iter().copied())
        .unwrap_or_else(|| format!("the {what}s are {}", known.join(", ")));
    Diagnostic::new("generate-operator", format!("there is no {what} `{word}`")).help(help)
}
