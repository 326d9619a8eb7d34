//! Pipelines of copies: fetches several iterations ahead of the one that computes.

use std::fmt;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use serde::{Deserialize, Serialize};

use crate::{
    Number, Transform,
    rewrite::ahead::{self, Words},
};

/// Where in an iteration copies for a later one are issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Issue {
    /// Where the copies stand in the loop.
    #[default]
    First,
    /// Behind everything else in the loop.
    Last,
    /// In two parts: loads into registers where the copies stand in the loop, and stores behind
    /// everything else.
    Staged,
}

impl Issue {
    /// All values, the default first.
    pub(crate) const ALL: [Issue; 3] = [Issue::First, Issue::Last, Issue::Staged];

    fn is_first(&self) -> bool {
        *self == Issue::First
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Issue::First => "first",
            Issue::Last => "last",
            Issue::Staged => "staged",
        })
    }
}

step! {
    /// `pipeline(k_outer, [a_tile, b_tile], stages=3)`: fetches tiles several iterations ahead,
    /// into slots of their buffers that are not in use.
    ///
    /// # Meaning
    ///
    /// Each temporary is written by one copy in the loop. It gets `stages` slots (an axis in
    /// front), of which iteration `k` reads the one with the number `(k - lo) mod stages`. The
    /// copies are moved `stages - 1` iterations ahead: those for the first iterations stand before
    /// the loop, and those in the loop fetch for `k + stages - 1`, if there is such an iteration.
    /// One barrier per iteration suffices. If the copies are asynchronous
    /// (`add_prefetch(..., via=cp_async)`), they go on during the computation: each iteration waits
    /// only for the copies that the next one reads. Two stages are
    /// [`double_buffer`](crate::DoubleBuffer).
    ///
    /// With `issue=last` the copies in the loop stand at the end of its body. Loads of shared
    /// memory that the computation begins with do not queue behind them then; with two stages,
    /// nothing would be left to hide the copies behind.
    ///
    /// With `issue=staged`, copies that are not asynchronous are split: `a_fetch_load` loads the
    /// elements of a thread into registers, `a_stage`, where the copy stands, and `a_fetch` stores
    /// them behind everything else in the loop. So the loads go on during the computation without
    /// `cp.async`, for elements that it cannot copy, such as single ones of two bytes.
    ///
    /// # Legality
    ///
    /// One plain instruction writes each temporary, inside the sequential loop and in loops that
    /// contain nothing else, and all accesses are inside the loop. The first value of the iname is
    /// a single function of outer loops and parameters. The step is legal if the cells that a copy
    /// reads keep their values for so many iterations, and if iteration k reads only what was
    /// fetched for it.
    ///
    /// In text: `pipeline(k_outer, [a_tile, b_tile], stages=3)`, with the option `issue=last` or
    /// `issue=staged`; at least two stages.
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
    /// add_prefetch(x, [i], inames=[f], via=cp_async)
    /// pipeline(k, [x_tile], stages=3)
    /// ")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel mirror(x: f32[m, 32], y: f32[m, 32], m: i32)
    /// assume 1 <= m
    /// domain { [k, i] : 0 <= k < m and 0 <= i <= 31 }
    /// domain { [f] : 0 <= f <= 31 and 0 <= k + 2 and k <= m - 3 and 0 <= k < m }
    /// domain { [f_first] : 0 <= f_first <= 31 and 1 <= m }
    /// domain { [f_ahead1] : 0 <= f_ahead1 <= 31 and 2 <= m }
    /// temp x_tile: f32[3, 32] shared
    /// tag f: thread.x
    /// tag f_ahead1: thread.x
    /// tag f_first: thread.x
    /// tag i: thread.x
    /// x_tile[0, f_first] = x[0, f_first] {id=x_fetch_first, inames=f_first, via=cp_async, copies=x, by=add_prefetch}
    /// x_tile[1, f_ahead1] = x[1, f_ahead1] {id=x_fetch_ahead1, inames=f_ahead1, via=cp_async, copies=x, by=add_prefetch}
    /// x_tile[(k + 2) % 3, f] = x[k + 2, f] {id=x_fetch, inames=k:f, via=cp_async, copies=x, by=add_prefetch}
    /// y[k, i] = x_tile[k % 3, 31 - i] {id=turn, inames=k:i}
    /// tree {
    ///     x_fetch_first
    ///     x_fetch_ahead1
    ///     for k {
    ///         x_fetch
    ///         turn
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct Pipelined as "pipeline" {
        /// The iname of the loop.
        pub iname: Name = next("the iname of the loop"),
        /// The buffers, at least one, each filled by one copy in the loop; each gets an axis of
        /// `stages` slots in front.
        pub temporaries: Vec<Name> = next("the temporaries, as `[a_tile, b_tile]`") of Temporaries,
        /// The number of slots: the copies are one less iterations ahead.
        pub stages: Number = shown(Number::Known(2)),
        /// Where in an iteration the copies for a later one are issued.
        #[serde(default, skip_serializing_if = "Issue::is_first")]
        pub issue: Issue = option(),
    }
    table: "pipeline(k_outer, [a_tile, b_tile], stages=3)" => "–",
    methods: {
        /// See [`Pipelined`].
        fn pipeline_copies(
            &self,
            iname: &str,
            temporaries: impl IntoNames,
            stages: impl Into<Number>,
        ) -> Result<Self, Diagnostic> {
            self.step(Pipelined::new(iname, temporaries.into_names(), stages))
        }
    }
}

/// The most slots of a buffer.
const MOST_STAGES: i64 = 16;

impl Pipelined {
    /// So many slots of temporaries, used in turn by the iterations of a loop.
    pub fn new<N: Into<Name>>(
        iname: impl Into<Name>,
        temporaries: impl IntoIterator<Item = N>,
        stages: impl Into<Number>,
    ) -> Self {
        let temporaries = temporaries.into_iter().map(Into::into).collect();
        Pipelined { iname: iname.into(), temporaries, stages: stages.into(), issue: Issue::First }
    }

    /// Splits the copies into loads into registers, and stores behind everything else in the loop.
    pub fn staged(mut self) -> Self {
        self.issue = Issue::Staged;
        self
    }

    /// Issues the copies behind everything else in the loop.
    pub fn issued_last(mut self) -> Self {
        self.issue = Issue::Last;
        self
    }
}

impl Transform for Pipelined {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let stages = self.stages.at_least(2, "the number of stages")?;
        if stages > MOST_STAGES {
            let message = format!("{stages} stages are more than the {MOST_STAGES} that a pipeline can have");
            return Err(Diagnostic::new("pipeline", message)
                .help("a few stages suffice: as many copies as can be under way at once"));
        }
        let repeated = self.temporaries.iter().enumerate().find(|(k, t)| self.temporaries[..*k].contains(t));
        if let Some((_, t)) = repeated {
            return Err(Diagnostic::new("pipeline", format!("`{t}` is named twice")));
        }
        if self.temporaries.is_empty() {
            return Err(Diagnostic::new("pipeline", "no buffer is named")
                .help("name the buffers that copies fill, as `[a_tile, b_tile]`"));
        }
        let words = Words { code: "pipeline", slots: "several slots" };
        let moved = ahead::copies(kernel, &self.temporaries, &self.iname, stages, &words)?;
        match self.issue {
            Issue::First => Ok(moved),
            Issue::Last => ahead::behind(&moved, &self.temporaries, &self.iname),
            Issue::Staged => ahead::staged(&moved, &self.temporaries, &self.iname, &words),
        }
    }
}
