//! Executes instructions of a loop one iteration ahead.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};

use crate::{
    Transform,
    rewrite::ahead::{self, Words},
};

step! {
    /// `advance(k, [load])`: executes instructions one iteration ahead, behind everything else in
    /// the loop.
    ///
    /// # Meaning
    ///
    /// For the first iteration they stand before the loop; those in the loop are executed at the
    /// end of its body, for the next iteration, if there is one. What they write keeps its place:
    /// unlike [`pipeline`](crate::Pipelined), the step adds no slots, so that everything that needs
    /// the values of this iteration has to be done by then.
    ///
    /// It is for loads that are moved ahead along an inner loop already. After
    /// `pipeline(k_inner, [x_reg], stages=2)`, the loads of the first inner iteration stand before
    /// the inner loop; `advance(k_outer, [x_load_first])` lets them begin behind the last inner
    /// iteration of the outer iteration before, in front of its barrier.
    ///
    /// # Legality
    ///
    /// Each is a plain instruction with a single target, in loops that contain nothing else inside
    /// the sequential loop. The first value of the iname is a single function of outer loops and
    /// parameters. The step is legal if what an instruction reads has its values an iteration
    /// earlier, and if nothing reads an element that it writes between its new and its old place.
    ///
    /// In text: `advance(k, [load])`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel mirror(x: f32[m, 4], y: f32[m, 4], m: i32)
    /// assume 1 <= m
    /// domain { [k, i] : 0 <= k < m and 0 <= i < 4 }
    /// y[k, i] = x[k, 3 - i] {id=turn}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// add_prefetch(x, [i], inames=[f], space=private, name=x_reg)
    /// advance(k, [x_fetch])
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel mirror(x: f32[m, 4], y: f32[m, 4], m: i32)
    /// assume 1 <= m
    /// domain { [k, i] : 0 <= k < m and 0 <= i <= 3 }
    /// domain { [f] : 0 <= f <= 3 and 0 <= k + 1 and k <= m - 2 and 0 <= k < m }
    /// domain { [f_first] : 0 <= f_first <= 3 and 1 <= m }
    /// temp x_reg: f32[4] private
    /// tag f: unroll
    /// tag f_first: unroll
    /// x_reg[f_first] = x[0, f_first] {id=x_fetch_first, inames=f_first, copies=x, by=add_prefetch}
    /// x_reg[f] = x[k + 1, f] {id=x_fetch, inames=k:f, copies=x, by=add_prefetch}
    /// y[k, i] = x_reg[3 - i] {id=turn, inames=k:i}
    /// tree {
    ///     for f_first {
    ///         x_fetch_first
    ///     }
    ///     for k {
    ///         for i {
    ///             turn
    ///         }
    ///         for f {
    ///             x_fetch
    ///         }
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Advance as "advance" {
        /// The iname of the loop.
        pub iname: Name = next("the iname of the loop"),
        /// The instructions, at least one.
        pub instructions: Vec<Name> = next("the instructions, as `[a_load, b_load]`") of Instructions,
    }
    table: "advance(k, [a_load])" => "–",
    methods: {
        /// See [`Advance`].
        fn advance(&self, iname: &str, instructions: impl crate::IntoNames) -> Result<Self, Diagnostic> {
            self.step(Advance::new(iname, instructions.into_names()))
        }
    }
}

impl Advance {
    /// These instructions one iteration of this loop ahead.
    pub fn new<N: Into<Name>>(iname: impl Into<Name>, instructions: impl IntoIterator<Item = N>) -> Self {
        Advance { iname: iname.into(), instructions: instructions.into_iter().map(Into::into).collect() }
    }
}

impl Transform for Advance {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let repeated = self.instructions.iter().enumerate();
        let mut repeated = repeated.filter(|(k, id)| self.instructions[..*k].contains(id));
        if let Some((_, id)) = repeated.next() {
            return Err(Diagnostic::new("advance", format!("`{id}` is named twice")));
        }
        if self.instructions.is_empty() {
            return Err(Diagnostic::new("advance", "no instruction is named")
                .help("name those that are to be executed ahead, as `[a_load, b_load]`"));
        }
        let words = Words { code: "advance", slots: "values of the next iteration" };
        ahead::in_place(kernel, &self.instructions, &self.iname, &words)
    }
}
