//! Permutes the elements of an array in storage by a swizzle.

use loopwright_kernel_ir::{ArrayLayout, Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;

use crate::{
    Number, Transform,
    rewrite::{change_array, require_layout_of_its_own},
};

step! {
    /// `swizzle(t, 2, 3, 3)`: permutes the elements of an array in storage, without padding.
    ///
    /// # Meaning
    ///
    /// The element at position `x` of the storage moves to `x ^ ((x & yyy) >> S)`, where `yyy` are
    /// `B` bits from bit `M + S` on: CuTe's `Sw<B,M,S>`, counted in elements. Blocks of `2^M`
    /// neighbours stay together. If a row has `2^(M+S)` elements, block `c` of row `r` changes
    /// places with block `c ^ (r mod 2^B)` of that row, so that the blocks of a column lie in
    /// different banks of shared memory. A negative `S` exchanges the two groups of bits.
    ///
    /// The pattern of 128 bytes that tensor maps call `128B` is `Sw<3,4,3>` in bytes: for elements
    /// of two bytes `swizzle(t, 3, 3, 3)`.
    ///
    /// # Legality
    ///
    /// A swizzle is one to one, and subscripts do not change. The storage has to be a multiple of
    /// `2^(B+M+|S|)` elements, so that none is moved out of it. The array is shared or private. A
    /// vector of at most `2^M` elements stays one; longer ones are refused where they are made.
    ///
    /// In text: `swizzle(t, 2, 3, 3)`: array, bits, first bit, distance.
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
    /// swizzle(x_tile, 5, 0, 5)
    /// ")?;
    /// let after = steps.apply(&before)?.to_string();
    /// assert!(after.contains("temp x_tile: f32[32, 32] swizzle(5, 0, 5) shared"), "{after}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct SwizzleArray as "swizzle" {
        /// A shared or private array without a swizzle.
        pub array: Name = next("the array"),
        /// The number of bits that change.
        pub bits: Number = next("the number of bits"),
        /// The first of them: blocks of `2^base` elements stay together.
        pub base: Number = next("the first bit"),
        /// The distance to the bits that are added to them.
        pub shift: Number = next("the distance to the bits that are added"),
    }
    table: "swizzle(t, 3, 3, 3)" => "–",
    methods: {
        /// See [`SwizzleArray`].
        fn swizzle(
            &self,
            array: &str,
            bits: impl Into<Number>,
            base: impl Into<Number>,
            shift: impl Into<Number>,
        ) -> Result<Self, Diagnostic> {
            self.step(SwizzleArray::new(array, bits, base, shift))
        }
    }
}

impl SwizzleArray {
    /// Swizzles an array with these numbers: see the fields of the same names.
    pub fn new(
        array: impl Into<Name>,
        bits: impl Into<Number>,
        base: impl Into<Number>,
        shift: impl Into<Number>,
    ) -> Self {
        SwizzleArray { array: array.into(), bits: bits.into(), base: base.into(), shift: shift.into() }
    }
}

impl Transform for SwizzleArray {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let (bits, base, shift) = (self.bits.value()?, self.base.value()?, self.shift.value()?);
        let of = format!("Sw<{bits},{base},{shift}>");
        let own: ArrayLayout = of.parse()?;
        require_layout_of_its_own(kernel, &self.array, &own)?;
        if let Some(before) = kernel.temporary(&self.array).and_then(|a| a.layout.swizzle) {
            return Err(Diagnostic::new(
                "wrong-layout",
                format!("`{}` has a swizzle already: {before}", self.array),
            )
            .help("give one swizzle only; `set_layout` replaces what was set before"));
        }
        kernel.edit(|data| {
            change_array(data, &self.array, |array| array.layout.swizzle = own.swizzle);
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("a layout is injective")
    }
}
