//! Has what is stored to an array written to memory in waves.

use loopwright_kernel_ir::{CacheHint, Diagnostic, LoopKernel, Name, Waves};
use loopwright_legality::Judgement;

use crate::{
    Number, Transform,
    arguments::{Args, Argument, keyed},
    rewrite::edit_global,
    step::TextForm,
};

step! {
    /// `cache_waves(out, window=335872, windows=8)`: stores to an array in global memory reach the
    /// memory in waves.
    ///
    /// # Meaning
    ///
    /// A few writes among many reads cost more than their bytes: memory turns around for each
    /// handful of lines that the second-level cache gives up. On one H200, a hundredth of writes,
    /// evenly strewn, takes 7 % of the rate of reading; the same bytes written at once take 2 %
    /// (`benches/RESULTS.md`). Here the elements of an array, by their places in storage, are cut
    /// into waves of `windows` windows of `window` elements. The cache is asked to keep what is
    /// stored to all windows but the last of a wave, and to give up the lines at the same place of
    /// those when a line of the last is stored, so that lines of a wave go to memory within one
    /// window's time, and nothing but reading is between two of them.
    ///
    /// It suits results that are stored about in the order of storage, by kernels that read much
    /// more. What is kept, a wave without its last window, has to fit into the part of the cache
    /// that is left to lines to be kept (`cudaLimitPersistingL2CacheSize`: 11.25 MiB on an H200
    /// unless set otherwise). Stores at the end that do not fill a wave are plain ones, so that
    /// nothing is kept when the kernel has ended. The hints (PTX's `evict_last` and
    /// `applypriority`, from sm_80 on) change no value; the emulator's accesses stay what they are.
    /// Elements of a byte are stored as ever.
    ///
    /// # Legality
    ///
    /// Legal by theorem, of any array in global memory: arguments, and temporaries moved there by
    /// [`SetAddressSpace`](crate::SetAddressSpace).
    ///
    /// In text: `cache_waves(out, window=335872, windows=8)`, a step for each array. A window has a
    /// multiple of 128 elements, a wave 2 to 64 windows (8).
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel sums(x: f32[n, 16], out: f32[n], n: i32)
    /// domain { [i] : 0 <= i < n }
    /// domain { [j] : 0 <= j < 16 }
    /// out[i] = sum(j, x[i, j]) {id=sum}
    /// ")?;
    /// let steps = Pipeline::parse("cache_waves(out, window=335872)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel sums(x: f32[n, 16], out: f32[n] waves(335872, 8), n: i32)
    /// domain { [i] : 0 <= i < n }
    /// domain { [j] : 0 <= j <= 15 }
    /// out[i] = sum(j, x[i, j]) {id=sum, inames=i}
    /// tree {
    ///     for i {
    ///         sum.init
    ///         for j {
    ///             sum.update
    ///         }
    ///         sum.finish
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct CacheWaves as "cache_waves", by hand {
        /// The array.
        pub array: Name,
        /// Elements of a window.
        pub window: Number,
        /// Windows of a wave.
        pub windows: Number,
    }
    table: "cache_waves(x, window=128, windows=2)" => "–",
    methods: {
        /// See [`CacheWaves`]; 8 windows a wave.
        fn cache_waves(&self, array: &str, window: i64) -> Result<Self, Diagnostic> {
            self.step(CacheWaves::new(array, window))
        }
    }
}

impl CacheWaves {
    /// Marks an array: windows of so many elements, eight a wave.
    pub fn new(array: impl Into<Name>, window: impl Into<Number>) -> Self {
        CacheWaves { array: array.into(), window: window.into(), windows: Number::Known(8) }
    }

    /// With so many windows a wave.
    pub fn windows(self, windows: impl Into<Number>) -> Self {
        CacheWaves { windows: windows.into(), ..self }
    }
}

impl TextForm for CacheWaves {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let array: Name = args.next("the array")?;
        let Some(window) = args.option::<Number>("window")? else {
            return Err(Diagnostic::new(
                "step-arguments",
                "`cache_waves` needs the number of elements of a window",
            )
            .help(format!("`cache_waves({array}, window=335872)`")));
        };
        let step = CacheWaves::new(array, window);
        Ok(match args.option::<Number>("windows")? {
            Some(windows) => step.windows(windows),
            None => step,
        })
    }

    fn arguments(&self) -> Vec<String> {
        vec![self.array.text(), keyed("window", &self.window), keyed("windows", &self.windows)]
    }

    fn numbers(&mut self) -> Vec<&mut Number> {
        vec![&mut self.window, &mut self.windows]
    }
}

impl Transform for CacheWaves {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let (window, windows) = (self.window.value()?, self.windows.value()?);
        let waves = Waves {
            window: u32::try_from(window.max(0)).unwrap_or(u32::MAX),
            windows: u8::try_from(windows.max(0)).unwrap_or(u8::MAX),
        };
        if let Some(wrong) = waves.wrong() {
            let message =
                format!("waves of {windows} windows of {window} elements are not possible: {wrong}");
            return Err(Diagnostic::new("step-arguments", message).help(format!(
                "`cache_waves({}, window=335872, windows=8)` keeps 9.4 MB of f32",
                self.array
            )));
        }
        edit_global(kernel, &self.array, |array| array.hints.add(CacheHint::Waves(waves)))
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("what a cache keeps changes no value")
    }
}
