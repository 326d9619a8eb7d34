//! Combines the partial results of blocks by atomic updates of the result.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;

use crate::{Transform, rewrite::unknown_instruction};

step! {
    /// `reduce_atomically(total)`: blocks that share the reduction of an instruction combine their
    /// partial results by atomic updates.
    ///
    /// # Meaning
    ///
    /// A reduction over inames on the axes of the grid leaves each block with a partial result. By
    /// default these go to a separate array, and a second kernel joins them in a fixed order. With
    /// this step, a kernel launched before sets the result to the neutral element, and each block
    /// ends with an `atomicAdd`, `atomicMin` or `atomicMax`, or exchanges the smaller or the
    /// greater floating-point number, or what another operator makes of the two, by
    /// compare-and-swap; the array and the launch afterwards are not needed. If no iname of the
    /// reduction is on the grid, nothing changes.
    ///
    /// The updates happen in the order in which the blocks finish. Sums of floating-point numbers
    /// may therefore differ in their last bits from run to run; integer sums, minima and maxima do
    /// not. The emulator runs the blocks of such a kernel in order.
    ///
    /// # Legality
    ///
    /// Legal by theorem: partial results of a reduction may be joined in any order. The value is a
    /// single reduction and does not read the target: a sum, a minimum or a maximum into an array
    /// of `i32`, `u32`, `i64`, `u64`, `f32` or `f64`, or a reduction by another operator that
    /// commutes, with one value of that type as its state and its result, and whose lift is the
    /// input. Everything else is refused here: `argmin`, several values, narrower types. An array
    /// that is not in global memory is refused by the step that distributes the reduction over
    /// several blocks: this one, `tag_inames`, or `buffer_array` of the result. Lowering also
    /// refuses an array whose type is not that in which the reduction accumulates.
    ///
    /// In text: `reduce_atomically(total)`. `join_atomically` is its older name, accepted until
    /// 1.0.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i < len }
    /// out[s] = sum(i, x[s, i]) {id=total}
    /// ")?;
    /// let steps = Pipeline::parse("reduce_atomically(total)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
    /// assume 1 <= nseg and 0 <= len
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : 0 <= i < len }
    /// out[s] = sum(i, x[s, i]) {id=total, inames=s, join=atomic}
    /// tree {
    ///     for s {
    ///         total.init
    ///         for i {
    ///             total.update
    ///         }
    ///         total.finish
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct ReduceAtomically as "reduce_atomically" | "join_atomically" {
        /// The id of an instruction whose value is a single sum, minimum or maximum.
        pub instruction: Name = next("the instruction"),
    }
    table: "reduce_atomically(id)" => "`atomic` on an instruction",
    methods: {
        /// See [`ReduceAtomically`].
        fn reduce_atomically(&self, instruction: &str) -> Result<Self, Diagnostic> {
            self.step(ReduceAtomically::new(instruction))
        }
        /// The older name of `reduce_atomically`.
        #[doc(hidden)]
        fn join_atomically(&self, instruction: &str) -> Result<Self, Diagnostic> {
            self.reduce_atomically(instruction)
        }
    }
}

/// The older name of [`ReduceAtomically`].
#[doc(hidden)]
pub type JoinAtomically = ReduceAtomically;

impl ReduceAtomically {
    /// Joins the partial results of this instruction atomically.
    pub fn new(instruction: impl Into<Name>) -> Self {
        ReduceAtomically { instruction: instruction.into() }
    }
}

impl Transform for ReduceAtomically {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let id = &self.instruction;
        let Some(instruction) = kernel.instruction(id) else {
            return Err(unknown_instruction(kernel, id));
        };
        instruction.check_atomic_join(kernel)?;
        kernel.edit(|data| {
            for instruction in data.instructions.iter_mut().filter(|i| i.id == *id) {
                instruction.atomic = true;
            }
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("partial results of a reduction may be joined in any order")
    }
}
