//! Ends a launch where the user wants one to end.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_legality::Judgement;

use crate::{Transform, rewrite::unknown_instruction};

step! {
    /// `begin_launch(norm)`: a launch begins with what contains the instruction.
    ///
    /// # Meaning
    ///
    /// Statements and loops at the host's level (the top of the loop tree, and the bodies of loops
    /// tagged `host`) share a launch as long as blocks do not depend on one another. Unrelated ones
    /// then share the shape of the block and of the grid, too, so that the smaller one has threads
    /// without work. With this step, the one that contains the instruction's first part begins
    /// another launch, unless nothing comes before it. The shapes of its blocks and of its grid are
    /// those of its own inames.
    ///
    /// # Legality
    ///
    /// Legal by theorem: launches run one after the other, in the order of the text, so that
    /// nothing is reordered: { (x, y) : x < y before, not x < y after } is empty. Values of private
    /// and shared memory end with a launch: lowering refuses what reads them in a later one
    /// (`ends-with-kernel`; see [`SaveReload`](crate::SaveReload)), and a launch that would begin
    /// between the parts of another instruction's reduction.
    ///
    /// In text: `begin_launch(norm)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel two(x: f32[n], y: f32[n], u: f32[m, 16], v: f32[m, 16], n: i32, m: i32)
    /// assume 0 <= n and 0 <= m
    /// domain { [i] : 0 <= i < n }
    /// domain { [p, q] : 0 <= p < m and 0 <= q < 16 }
    /// y[i] = 2.0 * x[i] {id=twice}
    /// v[p, q] = u[p, q] + 1.0 {id=more}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// begin_launch(more)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel two(x: f32[n], y: f32[n], u: f32[m, 16], v: f32[m, 16], n: i32, m: i32)
    /// assume 0 <= n and 0 <= m
    /// domain { [i] : 0 <= i < n }
    /// domain { [p, q] : 0 <= p < m and 0 <= q <= 15 }
    /// y[i] = 2.0 * x[i] {id=twice, inames=i}
    /// v[p, q] = u[p, q] + 1.0 {id=more, inames=p:q, launch=new}
    /// tree {
    ///     for i {
    ///         twice
    ///     }
    ///     for p {
    ///         for q {
    ///             more
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct BeginLaunch as "begin_launch" {
        /// The id of an instruction.
        pub instruction: Name = next("the instruction"),
    }
    table: "begin_launch(id)" => "`add_barrier(k, before, id, \"global\")`",
    methods: {
        /// See [`BeginLaunch`].
        fn begin_launch(&self, instruction: &str) -> Result<Self, Diagnostic> {
            self.step(BeginLaunch::new(instruction))
        }
    }
}

impl BeginLaunch {
    /// A launch begins with this instruction.
    pub fn new(instruction: impl Into<Name>) -> Self {
        BeginLaunch { instruction: instruction.into() }
    }
}

impl Transform for BeginLaunch {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let id = &self.instruction;
        if kernel.instruction(id).is_none() {
            return Err(unknown_instruction(kernel, id));
        }
        kernel.edit(|data| {
            for instruction in data.instructions.iter_mut().filter(|i| i.id == *id) {
                instruction.begins_launch = true;
            }
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem("launches run in the order of the text")
    }
}
