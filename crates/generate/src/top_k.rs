//! The k largest along an axis.

use loopwright_kernel_ir::{
    AddressSpace, DType, Diagnostic, Diagnostics, Expr, LoopKernel, Name, array, call, computing_type,
    reduce as reduction, select, var,
};

use crate::{
    Generator, Kind,
    shape::{self, Axis, Length, Names},
    types::{no_accumulator, numbers, stored},
};

/// The most elements that are selected, each by a pass over the axis.
const MOST: i64 = 1024;

/// The kernel of the `k` largest elements along an axis: `top_k(4, "m, n", -1, F32)`. See
/// [`Generator::top_k`].
pub fn top_k(k: i64, shape: &str, axis: i64, dtype: DType) -> Result<LoopKernel, Diagnostics> {
    Generator::new().top_k(k, shape, axis, dtype)
}

impl Generator {
    /// The `k` largest elements along an axis, from the largest on, as `values`, and their places
    /// there as `indices` (i32). Of equal elements, the one with the smaller index comes first.
    ///
    /// Nothing is sorted: each pass selects the largest of the elements that come after the one
    /// before, in the order of values and then of indices, so that there are `k` passes over the
    /// axis. The size along the axis has to be `k` at least.
    ///
    /// A NaN is never selected. Where fewer than `k` elements are numbers, the rest of `values` are
    /// minus infinity, and the rest of `indices` 2147483647.
    ///
    /// Errors: `k` below 1, above 1024 or above a constant length (`generate-count`), an invalid
    /// shape or axis (`generate-shape`, `generate-axis`), bool, an accumulator (`generate-types`).
    ///
    /// ```
    /// use loopwright_generate::top_k;
    /// use loopwright_kernel_ir::DType::F32;
    ///
    /// assert_eq!(top_k(4, "n", 0, F32)?.to_string(), "\
    /// kernel top_k(x: f32[n], values: f32[4], indices: i32[4], n: i32)
    /// assume 4 <= n
    /// domain { [pass] : 0 <= pass <= 3 }
    /// domain { [i] : 0 <= i < n }
    /// temp last: f32 private
    /// temp at: i32 private
    /// last = highest() {id=begin}
    /// at = -1 {id=begin_at}
    /// last, at = argmax(i, if(x[i] < last or x[i] == last and i > at, x[i], lowest()), \
    /// if(x[i] < last or x[i] == last and i > at, i, highest())) {id=select, inames=pass}
    /// values[pass] = last {id=store, inames=pass}
    /// indices[pass] = at {id=store_at, inames=pass}
    /// ");
    /// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
    /// ```
    pub fn top_k(&self, k: i64, shape: &str, axis: i64, dtype: DType) -> Result<LoopKernel, Diagnostics> {
        self.check(Kind::TopK)?;
        no_accumulator("`top_k`", self)?;
        numbers("`top_k`", dtype)?;
        let lengths = shape::parse(shape)?;
        let along = shape::axis(axis, lengths.len())?;
        let most = match lengths[along] {
            Length::Fixed(n) => n.min(MOST),
            Length::Size(_) => MOST,
        };
        if !(1..=most).contains(&k) {
            return Err(Diagnostic::new("generate-count", format!("the {k} largest cannot be selected"))
                .help(format!("select 1 to {most} elements, each of which is a pass over the axis"))
                .into());
        }
        let mut names = Names::of(&lengths, &["x", "values", "indices", "last", "at", "pass"])?;
        let all = names.axes(&lengths);
        let pass = Axis { iname: Name::new("pass"), length: Length::Fixed(k) };
        let picked: Vec<&Axis> =
            all.iter().enumerate().map(|(d, a)| if d == along { &pass } else { a }).collect();
        let along = &all[along];
        let around: Vec<&Axis> = all.iter().filter(|a| a.iname != along.iname).collect();
        let out = self.out.unwrap_or(dtype);
        let mut kernel = LoopKernel::build(self.named("top_k"))
            .array("x", dtype, shape::lengths(&all))
            .array("values", out, shape::lengths(picked.iter().copied()))
            .array("indices", DType::I32, shape::lengths(picked.iter().copied()));
        let is_along = |size: &Name| along.length == Length::Size(size.clone());
        kernel = shape::declare(kernel, &lengths, |size| if is_along(size) { k } else { 0 });
        kernel = shape::domain(kernel, around.iter().copied());
        kernel = shape::domain(shape::domain(kernel, [&pass]), [along]);
        let computed = computing_type(dtype);
        let none: [Expr; 0] = [];
        kernel = kernel.temporary("last", computed, none.clone(), AddressSpace::Private).temporary(
            "at",
            DType::I32,
            none.clone(),
            AddressSpace::Private,
        );
        let (last, at) = (var("last"), var("at"));
        let element = array("x").at(shape::index(&all));
        let follows = element
            .clone()
            .lt(last.clone())
            .or(element.clone().equals(last.clone()).and(along.index().gt(at.clone())));
        let or_end = |value: Expr, end: &str| select(follows.clone(), value, call(end, none.clone()));
        let largest = reduction(
            "argmax",
            [along.iname.clone()],
            [or_end(element, "lowest"), or_end(along.index(), "highest")],
        );
        let loops: Vec<Name> = around.iter().map(|a| a.iname.clone()).collect();
        let in_pass: Vec<Name> = loops.iter().cloned().chain([pass.iname.clone()]).collect();
        kernel = kernel.assign(last.clone(), call("highest", none.clone())).id("begin").inames(loops.clone());
        kernel = kernel.assign(at.clone(), -1).id("begin_at").inames(loops);
        kernel = kernel.assign([last.clone(), at.clone()], largest).id("select").inames(in_pass.clone());
        let value = stored(last, computed, out);
        let targets = |name: &str| array(name).at(shape::index(picked.iter().copied()));
        kernel = kernel.assign(targets("values"), value).id("store").inames(in_pass.clone());
        kernel.assign(targets("indices"), at).id("store_at").inames(in_pass).finish()
    }
}
