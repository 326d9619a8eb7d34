//! Asks for registers for several blocks on a multiprocessor.

use std::num::NonZeroU32;

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_legality::Judgement;

use crate::{Number, Transform};

step! {
    /// `min_blocks_per_multiprocessor(8)`: the least number of blocks that a multiprocessor has to
    /// have registers for, at the same time.
    ///
    /// # Meaning
    ///
    /// The registers of a multiprocessor are divided among the threads of the blocks that it runs
    /// at the same time, so that more blocks mean fewer registers for each thread. Otherwise the
    /// compiler is free to use any number. The number becomes the second argument of CUDA's
    /// `__launch_bounds__`, for each device kernel that the kernel is lowered to; a compiler that
    /// cannot satisfy it, because that many blocks do not fit on a multiprocessor, warns and
    /// ignores it. HIP C++ has no such argument.
    ///
    /// A nest of [`FlattenRagged`](crate::FlattenRagged) chooses a number itself for the launch
    /// that processes the points; this number replaces it.
    ///
    /// # Legality
    ///
    /// Legal by theorem for any kernel: registers change no value.
    ///
    /// In text: `min_blocks_per_multiprocessor(8)`; the last one counts.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel axpy(x: f32[n], y: f32[n], a: f32, n: i32)
    /// domain { [i] : 0 <= i < n }
    /// y[i] = a * x[i] + y[i] {id=set}
    /// ")?;
    /// let steps = Pipeline::parse("min_blocks_per_multiprocessor(8)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel axpy(x: f32[n], y: f32[n], a: f32, n: i32)
    /// option min_blocks_per_multiprocessor(8)
    /// domain { [i] : 0 <= i < n }
    /// y[i] = a * x[i] + y[i] {id=set, inames=i}
    /// tree {
    ///     for i {
    ///         set
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct MinBlocksPerMultiprocessor as "min_blocks_per_multiprocessor" {
        /// The number of blocks, at least one.
        pub blocks: Number = next("the number of blocks"),
    }
    table: "min_blocks_per_multiprocessor(8)" => "a compiler option",
    methods: {
        /// See [`MinBlocksPerMultiprocessor`].
        fn min_blocks_per_multiprocessor(&self, blocks: impl Into<Number>) -> Result<Self, Diagnostic> {
            self.step(MinBlocksPerMultiprocessor::new(blocks))
        }
    }
}

impl MinBlocksPerMultiprocessor {
    /// Asks for at least this number of resident blocks on each multiprocessor.
    pub fn new(blocks: impl Into<Number>) -> Self {
        MinBlocksPerMultiprocessor { blocks: blocks.into() }
    }
}

impl Transform for MinBlocksPerMultiprocessor {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let blocks = self.blocks.value()?;
        let Some(blocks) = u32::try_from(blocks).ok().and_then(NonZeroU32::new) else {
            let message = format!("a multiprocessor cannot have {blocks} blocks");
            return Err(Diagnostic::new("step-arguments", message)
                .help("use a number that devices can hold, such as `min_blocks_per_multiprocessor(8)`"));
        };
        kernel.edit(|data| {
            data.options.min_blocks_per_multiprocessor = Some(blocks);
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("the number of registers per thread changes no value")
    }
}
