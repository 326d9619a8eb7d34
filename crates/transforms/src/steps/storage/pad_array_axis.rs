//! Adds padding after an axis of an array.

use loopwright_kernel_ir::{Array, BinaryOp, Diagnostic, Expr, LoopKernel, Name};
use loopwright_legality::Judgement;

use crate::{
    Form, Number, Parameter, Transform,
    arguments::{Args, Argument, given},
    rewrite::{axis_of, change_array, require_no_table},
    step::TextForm,
};

step! {
    /// `pad_array_axis(t, 1, 1)`: adds padding after an axis of an array in storage.
    ///
    /// # Meaning
    ///
    /// The strides of outer axes grow. If a row of 32 floats is padded by one, the elements of a
    /// column are in 32 different banks of shared memory.
    ///
    /// With `multiple=32`, elements are added until their number is a multiple of 32, so that each
    /// row begins where vectors may. Of a constant length, that is a number. Of another one, a
    /// temporary gets the multiple as its length, of which nothing accesses the end; an argument
    /// keeps its shape and gets strides, as those of [`TagArrayAxes`](crate::TagArrayAxes).
    ///
    /// # Legality
    ///
    /// Always legal: distinct elements stay distinct, and nothing reads the padding. For an
    /// argument, the padding is part of the kernel's interface.
    ///
    /// In text: `pad_array_axis(t, 1, 1)`: array, axis (0 is the first; -1 the last), elements; or
    /// `pad_array_axis(t, 1, multiple=32)`. With both, elements are added before the length is
    /// rounded up.
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
    pub struct PadArrayAxis as "pad_array_axis", by hand {
        /// An array, argument or temporary, whose modes are not set (`set_layout`).
        pub array: Name,
        /// The axis; negative ones count from the end.
        pub axis: i64,
        /// The number of elements added after it, at least 0.
        pub by: Number,
        /// A number of which the padded length is a multiple; 1 is any length.
        #[serde(default = "any_length", skip_serializing_if = "is_any_length")]
        pub multiple: Number,
    }
    table:
        "pad_array_axis(t, 1, 1)" => "a stride",
        "pad_array_axis(t, 1, multiple=32)" => "`add_padding(k, \"t\", 1, 32)`",
    methods: {
        /// See [`PadArrayAxis`].
        fn pad_array_axis(&self, array: &str, axis: i64, by: impl Into<Number>) -> Result<Self, Diagnostic> {
            self.step(PadArrayAxis::new(array, axis, by))
        }
    }
}

fn any_length() -> Number {
    Number::Known(1)
}

fn is_any_length(number: &Number) -> bool {
    *number == any_length()
}

impl PadArrayAxis {
    /// Adds elements after an axis.
    pub fn new(array: impl Into<Name>, axis: i64, by: impl Into<Number>) -> Self {
        PadArrayAxis { array: array.into(), axis, by: by.into(), multiple: any_length() }
    }

    /// Adds elements after an axis until their number is a multiple.
    pub fn to_multiple(array: impl Into<Name>, axis: i64, of: impl Into<Number>) -> Self {
        PadArrayAxis { array: array.into(), axis, by: Number::Known(0), multiple: of.into() }
    }
}

impl TextForm for PadArrayAxis {
    const PARAMETERS: Option<&'static [Parameter]> = Some(&[
        Parameter { name: "array", form: Form::Positional, of: "Name" },
        Parameter { name: "axis", form: Form::Positional, of: "i64" },
        Parameter { name: "by", form: Form::Positional, of: "Number" },
        Parameter { name: "multiple", form: Form::Keyed, of: "Number" },
    ]);

    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let (array, axis): (Name, i64) = (args.next("the array")?, args.next("the axis")?);
        let multiple: Option<Number> = args.option("multiple")?;
        let by = match (args.following()?, &multiple) {
            (Some(by), _) => by,
            (None, Some(_)) => Number::Known(0),
            (None, None) => args.next("the elements to add, or `multiple=32`")?,
        };
        Ok(PadArrayAxis { array, axis, by, multiple: multiple.unwrap_or_else(any_length) })
    }

    fn arguments(&self) -> Vec<String> {
        let mut texts = vec![self.array.text(), self.axis.text()];
        if self.by != Number::Known(0) || is_any_length(&self.multiple) {
            texts.push(self.by.text());
        }
        texts.extend(given("multiple", &self.multiple, &any_length()));
        texts
    }

    fn numbers(&mut self) -> Vec<&mut Number> {
        vec![&mut self.by, &mut self.multiple]
    }
}

/// The least multiple of a number that is no less than a length with elements added.
fn rounded_up(length: &Expr, by: i64, multiple: i64) -> Result<Expr, Diagnostic> {
    let above = by.saturating_add(multiple - 1);
    if let Some(length) = length.to_aff() {
        return Ok(Expr::from_aff(&length.add_constant(above)?.floor_div(multiple)?.scale(multiple)?));
    }
    let sum = binary(BinaryOp::Add, length.clone(), Expr::Int(above));
    let blocks = binary(BinaryOp::FloorDiv, sum, Expr::Int(multiple));
    Ok(binary(BinaryOp::Mul, Expr::Int(multiple), blocks))
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, a.into(), b.into())
}

/// Refuses strides that are set outside of an axis: they would have to grow.
fn check_strides(array: &Array, padded: usize) -> Result<(), Diagnostic> {
    let order = array.storage_order();
    let mut outside = order.iter().take_while(|axis| **axis != padded);
    match outside.find(|axis| array.axes[**axis].stride.is_some()) {
        None => Ok(()),
        Some(set) => {
            let name = &array.name;
            let why =
                format!("the stride of axis {set} of `{name}` is set, and does not follow from its shape");
            Err(Diagnostic::new("pad-axis", why)
                .help("choose strides with `tag_array_axes`, as [stride:lda, N0]"))
        }
    }
}

/// The strides of an array whose axis `padded` has this length in storage; `None` for those that do
/// not change.
fn strides(array: &Array, padded: usize, length: &Expr) -> Result<Vec<Option<Expr>>, Diagnostic> {
    let order = array.storage_order();
    let place = order.iter().position(|axis| *axis == padded).unwrap_or(0);
    if place == 0 {
        let name = &array.name;
        let why = format!("no axis of `{name}` lies outside of axis {padded}, so that no stride would grow");
        return Err(Diagnostic::new("pad-axis", why).help("pad an axis that is denser in storage"));
    }
    let mut found = vec![None; array.axes.len()];
    // The elements between neighbours on the axis at hand.
    let mut dense: Option<Expr> = None;
    for (at, axis) in order.iter().enumerate().rev() {
        let a = &array.axes[*axis];
        if a.stride.is_some() {
            continue;
        }
        if at < place {
            found[*axis] = dense.clone();
        }
        let own = match (*axis == padded, a.padding) {
            (true, _) => length.clone(),
            (false, 0) => a.length.clone(),
            (false, by) => rounded_up(&a.length, by.into(), 1)?,
        };
        dense = Some(match dense {
            None => own,
            Some(dense) => binary(BinaryOp::Mul, own, dense),
        });
    }
    Ok(found)
}

impl Transform for PadArrayAxis {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let array = require_no_table(kernel, &self.array)?;
        if let Some(modes) = &array.layout.modes {
            return Err(Diagnostic::new(
                "wrong-layout",
                format!("the layout of `{}` is set to {modes}, which leaves no axis to pad", self.array),
            )
            .help("set a layout with larger strides"));
        }
        let number = |n: i64, what: &str| {
            u32::try_from(n)
                .map_err(|_| Diagnostic::new("number-range", format!("{what} does not fit into 32 bits")))
        };
        let by = number(self.by.at_least(0, "the padding")?, "the padding")?;
        let multiple = number(self.multiple.at_least(1, "the multiple")?, "the multiple")?;
        let axis = axis_of(array, self.axis)?;
        let length = &array.axes[axis].length;
        let constant = length.to_aff().and_then(|l| l.as_constant());
        let pad = |by: u32| {
            kernel.edit(|data| {
                change_array(data, &self.array, |array| array.axes[axis].padding = by);
                Ok(())
            })
        };
        match constant {
            _ if multiple == 1 => pad(by),
            Some(length) => {
                let (by, multiple) = (i64::from(by), i64::from(multiple));
                let short = length.saturating_add(by).rem_euclid(multiple);
                pad(number(by.saturating_add((multiple - short) % multiple), "the padding")?)
            }
            None => {
                check_strides(array, axis)?;
                let padded = rounded_up(length, by.into(), multiple.into())?;
                let is_own = kernel.temporary(&self.array).is_some();
                let strides = if is_own { Vec::new() } else { strides(array, axis, &padded)? };
                kernel.edit(|data| {
                    change_array(data, &self.array, |array| {
                        array.axes[axis].padding = 0;
                        if is_own {
                            array.axes[axis].length = padded.clone();
                        }
                        for (own, new) in array.axes.iter_mut().zip(&strides) {
                            own.stride = new.clone().or_else(|| own.stride.take());
                        }
                    });
                    Ok(())
                })
            }
        }
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a layout is injective")
    }
}
