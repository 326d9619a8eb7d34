//! Groups the write-back of stores to an array into waves.

use loopwright_kernel_ir::{CacheHint, Diagnostic, LoopKernel, Name, Waves};
use loopwright_legality::Judgement;

use crate::{
    Number, Transform,
    arguments::{Args, Argument, keyed},
    rewrite::edit_global,
    step::TextForm,
};

step! {
    /// `cache_waves(out, window=335872, windows=8)`: stores to an array in global memory are
    /// written back to memory in waves.
    ///
    /// # Meaning
    ///
    /// A few writes among many reads cost more than their bytes: the memory switches between
    /// reading and writing for every few lines that the L2 cache evicts. On one H200, 1 % of evenly
    /// distributed writes costs 7 % of the read bandwidth; the same bytes written in bulk cost 2 %
    /// (`benches/RESULTS.md`). This step divides the elements of an array, in storage order, into
    /// waves of `windows` windows of `window` elements. The cache is asked to keep the stores to
    /// all windows of a wave but the last, and to evict the lines at the same position of these
    /// windows when a line of the last one is stored, so that the lines of a wave are written back
    /// within the time of one window, with only reads between two waves.
    ///
    /// It suits results that are stored approximately in storage order, by kernels that read much
    /// more than they write. The lines that are kept, a wave without its last window, have to fit
    /// into the part of the cache for persisting lines (`cudaLimitPersistingL2CacheSize`: 11.25 MiB
    /// on an H200 by default). Stores at the end that do not fill a wave have no hint, so that
    /// nothing is kept after the kernel. The hints (PTX's `evict_last` and `applypriority`, from
    /// sm_80 on) change no value, and the emulator ignores them. One-byte elements are stored
    /// without hints.
    ///
    /// # Legality
    ///
    /// Legal by theorem for any array in global memory: arguments, and temporaries moved there by
    /// [`SetAddressSpace`](crate::SetAddressSpace).
    ///
    /// In text: `cache_waves(out, window=335872, windows=8)`, one step for each array. The number
    /// of elements of a window is a multiple of 128; a wave has 2 to 64 windows (default 8).
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
        /// An array in global memory.
        pub array: Name,
        /// Number of elements per window.
        pub window: Number,
        /// Number of windows per wave.
        pub windows: Number,
    }
    table: "cache_waves(x, window=128, windows=2)" => "–",
    methods: {
        /// See [`CacheWaves`]; 8 windows per wave.
        fn cache_waves(&self, array: &str, window: i64) -> Result<Self, Diagnostic> {
            self.step(CacheWaves::new(array, window))
        }
    }
}

impl CacheWaves {
    /// Marks an array: windows of `window` elements, eight per wave.
    pub fn new(array: impl Into<Name>, window: impl Into<Number>) -> Self {
        CacheWaves { array: array.into(), window: window.into(), windows: Number::Known(8) }
    }

    /// Sets the number of windows per wave.
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
        Judgement::Theorem("caching changes no value")
    }
}
