//! Gives an array a layout in storage.

use loopwright_kernel_ir::{ArrayLayout, Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;

use crate::{
    Transform,
    arguments::{Args, Argument},
    call::unquoted,
    rewrite::{change_array, require_layout_of_its_own},
    step::TextForm,
};

step! {
    /// `set_layout(t, (64,16):(17,1))`: gives an array a layout in storage.
    ///
    /// # Meaning
    ///
    /// The layout is in CuTe's notation, in elements, and has a mode for each axis, whose size is
    /// the axis's length. A mode may itself have several, the first of which runs fastest:
    /// `((32,3),16):((1,512),32)` has element `[i, j]` at `i % 32 + i / 32 * 512 + j * 32`. It
    /// replaces what order, padding, strides and a swizzle have said before; a swizzle may be part
    /// of it, as in `Sw<2,3,3> o 0 o (128,32):(32,1)`.
    ///
    /// # Legality
    ///
    /// Refused if two elements would have one place, with both of them. Subscripts do not change,
    /// and thus neither do values. The array is shared or private: where an element of global
    /// memory lies is the sum of its subscripts times strides, axis by axis, by which a launch
    /// checks the arrays that callers pass.
    ///
    /// In text: `set_layout(t, (64,16):(17,1))`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel transpose(x: f32[n, n], y: f32[n, n], n: i32)
    /// domain { [i, j] : 0 <= i < n and 0 <= j < n }
    /// y[j, i] = x[i, j] {id=move}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// tile([i, j], [32, 32])
    /// add_prefetch(x, [i_inner, j_inner])
    /// set_layout(x_tile, (32,32):(33,1))
    /// ")?;
    /// let after = steps.apply(&before)?.to_string();
    /// assert!(after.contains("temp x_tile: f32[32, 32] layout((32,32):(33,1)) shared"), "{after}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct SetLayout as "set_layout", by hand {
        /// A shared or private array.
        pub array: Name,
        /// A mode for each axis, and a swizzle or none.
        pub layout: ArrayLayout,
    }
    table: "set_layout(t, (64,16):(17,1))" => "–",
    methods: {
        /// See [`SetLayout`].
        fn set_layout(&self, array: &str, layout: &str) -> Result<Self, Diagnostic> {
            self.step(SetLayout::new(array, layout.parse()?))
        }
    }
}

impl SetLayout {
    /// Gives an array this layout in storage.
    pub fn new(array: impl Into<Name>, layout: ArrayLayout) -> Self {
        SetLayout { array: array.into(), layout }
    }
}

impl TextForm for SetLayout {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let array: Name = args.next("the array")?;
        // The commas of a swizzle separate arguments of other steps.
        let texts: Vec<String> = args.all_texts().into_iter().map(|(t, _)| t).collect();
        if texts.is_empty() {
            return Err(args.error("`set_layout` needs a layout, as `(64,16):(17,1)`"));
        }
        let text = texts.join(",");
        Ok(SetLayout::new(array, unquoted(&text).parse()?))
    }

    fn arguments(&self) -> Vec<String> {
        vec![self.array.text(), self.layout.to_string()]
    }
}

impl Transform for SetLayout {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        require_layout_of_its_own(kernel, &self.array, &self.layout)?;
        if self.layout.modes.is_none() {
            return Err(Diagnostic::new(
                "wrong-layout",
                format!("`set_layout({}, {})` gives no modes", self.array, self.layout),
            )
            .help("write a mode for each axis, as `(64,16):(17,1)`; `swizzle` swizzles what there is"));
        }
        kernel.edit(|data| {
            change_array(data, &self.array, |array| {
                array.order.clear();
                for axis in &mut array.axes {
                    (axis.stride, axis.padding) = (None, 0);
                }
                array.layout = self.layout.clone();
                array.layout.swizzle = self.layout.swizzle.filter(|s| s.bits() > 0);
            });
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a layout is injective")
    }
}
