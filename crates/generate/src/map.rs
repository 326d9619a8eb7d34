//! Expressions of the elements at one place.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{
    Arg, DType, Diagnostic, Diagnostics, Expr, LoopKernel, Name, Scalar, array, check_name, parse_expression,
};

use crate::{
    Generator, Kind,
    shape::{self, Names},
    types::no_accumulator,
};

/// The kernel of an expression of each element, such as `map("2.0*x + y", "n", F32)`. See
/// [`Generator::map`].
pub fn map(expression: &str, shape: &str, dtype: DType) -> Result<LoopKernel, Diagnostics> {
    Generator::new().map(expression, shape, dtype)
}

impl Generator {
    /// `out` at each place of a shape is an expression of the operands there, in the language of
    /// kernels.
    ///
    /// A name in the expression is the element of an array of that shape and of type `dtype`,
    /// unless it is
    /// * a [`scalar`](Generator::scalar), or of another [type](Generator::typed);
    /// * a size of the shape;
    /// * the index along an axis, which is `i` of axis 0, `j` of axis 1, then `k`, `l`, `i4`, `i5`,
    ///   ..., without those that are names of sizes or of operands with a type or a scalar.
    ///
    /// Arguments are in the order in which they occur. The result has the type `dtype` too, or
    /// [`Generator::out`], to which the value is converted as by an assignment.
    ///
    /// Errors: an expression that does not parse (`syntax`, ...) or has types that do not meet; a
    /// reduction or a subscript in it (`generate-expression`); names that clash (`generate-name`),
    /// or that an option gives and the expression does not have; an invalid shape
    /// (`generate-shape`); an accumulator (`generate-types`).
    ///
    /// ```
    /// use loopwright_generate::Generator;
    /// use loopwright_kernel_ir::DType::F32;
    ///
    /// let kernel = Generator::new().name("axpy").scalar("a").map("a*x + y", "n", F32)?;
    /// assert_eq!(kernel.to_string(), "\
    /// kernel axpy(a: f32, x: f32[n], y: f32[n], out: f32[n], n: i32)
    /// assume 0 <= n
    /// domain { [i] : 0 <= i < n }
    /// out[i] = a * x[i] + y[i] {id=map}
    /// ");
    /// # Ok::<(), loopwright_kernel_ir::Diagnostics>(())
    /// ```
    pub fn map(&self, expression: &str, shape: &str, dtype: DType) -> Result<LoopKernel, Diagnostics> {
        self.check(Kind::Map)?;
        no_accumulator("a map", self)?;
        let shape = shape::parse(shape)?;
        let value = parse_expression(expression)?;
        elements_alone(&value)?;
        let used = names(&value);
        let options: Vec<&Name> = self.typed.iter().map(|(name, _)| name).chain(&self.scalars).collect();
        if let Some(name) = options.iter().find(|name| !used.contains(name)) {
            return Err(Diagnostic::new("generate-name", format!("the expression has no operand `{name}`"))
                .help(format!("its names are {}", list(&used)))
                .into());
        }
        let mut arguments: Vec<&str> = options.iter().map(|name| &***name).collect();
        arguments.push("out");
        let mut known = Names::of(&shape, &arguments)?;
        let axes = known.axes(&shape);
        let is_index = |name: &Name| axes.iter().any(|axis| axis.iname == *name);
        let is_size = |name: &Name| shape::sizes(&shape).contains(name);
        let is_scalar = |name: &Name| self.scalars.contains(name);
        let operands: Vec<&Name> = used.iter().filter(|name| !is_index(name) && !is_size(name)).collect();
        shape::limit(operands.len(), "operands")?;
        let mut kernel = LoopKernel::build(self.named("map"));
        for name in &operands {
            check_name(name, "an operand")?;
            if **name == *"out" {
                return Err(Diagnostic::new("generate-name", "`out` is the result, and no operand")
                    .help("call the operand otherwise, such as `x`")
                    .into());
            }
            let own = self.typed.iter().rev().find(|(n, _)| n == *name).map_or(dtype, |(_, t)| *t);
            kernel = match is_scalar(name) {
                true => kernel.arg(Arg::Scalar(Scalar { name: (*name).clone(), dtype: own.into() })),
                false => kernel.array((*name).clone(), own, shape::lengths(&axes)),
            };
        }
        kernel = kernel.array("out", self.out.unwrap_or(dtype), shape::lengths(&axes));
        kernel = shape::declare(kernel, &shape, |_| 0);
        kernel = shape::domain(kernel, &axes);
        let element = |name: &Name| {
            let is_array = operands.contains(&name) && !is_scalar(name);
            is_array.then(|| array(name.clone()).at(shape::index(&axes)))
        };
        kernel.assign(array("out").at(shape::index(&axes)), value.substitute(&element)).id("map").finish()
    }
}

/// Refuses what is not about the elements at one place.
fn elements_alone(value: &Expr) -> Result<(), Diagnostic> {
    let mut refused = None;
    value.visit(&mut |e| {
        let what = match e {
            Expr::Subscript(access) => Some((format!("the subscript `{e}`"), access.array.to_string())),
            Expr::Reduce(r) => Some((format!("the reduction `{e}`"), r.op.to_string())),
            _ => None,
        };
        refused = refused.take().or(what);
    });
    let Some((what, name)) = refused else { return Ok(()) };
    Err(Diagnostic::new("generate-expression", format!("{what} is not about the elements at one place")).help(
        format!(
            "an operand's name stands for its element, without a subscript; what needs more than that, as `{name}` \
             does here, is a kernel to be written"
        ),
    ))
}

/// The names of values, in the order in which they occur.
fn names(value: &Expr) -> Vec<Name> {
    let (mut names, mut known) = (Vec::new(), BTreeSet::new());
    value.visit(&mut |e| {
        if let Expr::Name(name) = e
            && known.insert(name.clone())
        {
            names.push(name.clone());
        }
    });
    names
}

fn list(names: &[Name]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
