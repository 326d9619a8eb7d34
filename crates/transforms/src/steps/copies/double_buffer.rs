//! Double buffering: fetches for the next iteration while the current one computes.

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};

use crate::{
    Transform,
    rewrite::ahead::{self, Words},
};

step! {
    /// `double_buffer(a_tile, k_outer)`: fetches a tile one iteration ahead, into the half of the
    /// buffer that is not in use.
    ///
    /// # Meaning
    ///
    /// The temporary is written by one copy in the loop. It gets two slots (an axis of length 2 in
    /// front), used alternately: iteration `k` reads slot `(k - lo) mod 2`. The copy is moved one
    /// iteration ahead: a copy before the loop (the prologue) fills slot 0, and the one in the loop
    /// fetches for `k + 1`, if there is such an iteration. Loads overlap with the computation, and
    /// one barrier per iteration suffices.
    ///
    /// # Legality
    ///
    /// One plain instruction writes the temporary, inside the sequential loop and in loops that
    /// contain nothing else, and all accesses are inside the loop. The first value of the iname is
    /// a single function of outer loops and parameters. The step is legal if the cells that the
    /// copy reads keep their values for one more iteration, { v : v writes a cell that copy(k + 1)
    /// reads, copy(k) < v < copy(k + 1) } is empty, and if iteration k reads only what was fetched
    /// for it.
    ///
    /// In text: `double_buffer(a_tile, k_outer)`.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel mirror(x: f32[m, 32], y: f32[m, 32], m: i32)
    /// assume 1 <= m
    /// domain { [k, i] : 0 <= k < m and 0 <= i < 32 }
    /// y[k, i] = x[k, 31 - i] {id=turn}
    /// ")?;
    /// let steps = Pipeline::parse("\
    /// tag_inames(i: thread.x)
    /// add_prefetch(x, [i], inames=[f])
    /// double_buffer(x_tile, k)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel mirror(x: f32[m, 32], y: f32[m, 32], m: i32)
    /// assume 1 <= m
    /// domain { [k, i] : 0 <= k < m and 0 <= i <= 31 }
    /// domain { [f] : 0 <= f <= 31 and 0 <= k + 1 and k <= m - 2 and 0 <= k < m }
    /// domain { [f_first] : 0 <= f_first <= 31 and 1 <= m }
    /// temp x_tile: f32[2, 32] shared
    /// tag f: thread.x
    /// tag f_first: thread.x
    /// tag i: thread.x
    /// x_tile[0, f_first] = x[0, f_first] {id=x_fetch_first, inames=f_first, copies=x, by=add_prefetch}
    /// x_tile[(k + 1) % 2, f] = x[k + 1, f] {id=x_fetch, inames=k:f, copies=x, by=add_prefetch}
    /// y[k, i] = x_tile[k % 2, 31 - i] {id=turn, inames=k:i}
    /// tree {
    ///     x_fetch_first
    ///     for k {
    ///         x_fetch
    ///         turn
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct DoubleBuffer as "double_buffer" {
        /// The buffer that one copy in the loop fills; it gets an axis of length 2 in front.
        pub temporary: Name = next("the temporary"),
        /// The iname of the loop.
        pub iname: Name = next("the iname of the loop"),
    }
    table: "double_buffer(a_tile, k_outer)" => "–",
    methods: {
        /// See [`DoubleBuffer`].
        fn double_buffer(&self, temporary: &str, iname: &str) -> Result<Self, Diagnostic> {
            self.step(DoubleBuffer::new(temporary, iname))
        }
    }
}

impl DoubleBuffer {
    /// Two slots of a temporary, used alternately by the iterations of a loop.
    pub fn new(temporary: impl Into<Name>, iname: impl Into<Name>) -> Self {
        DoubleBuffer { temporary: temporary.into(), iname: iname.into() }
    }
}

impl Transform for DoubleBuffer {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let words = Words { code: "double-buffer", slots: "two slots" };
        ahead::copies(kernel, std::slice::from_ref(&self.temporary), &self.iname, 2, &words)
    }
}
