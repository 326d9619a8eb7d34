//! How the last launch joins the partial results of blocks, in their order.
//!
//! One block, of as many warps as a warp has lanes, joins them in rounds; in each, a thread joins
//! those of a few neighbouring blocks. A scan over the lanes of a warp, then over the warps, gives
//! each thread the open partial result before its own, with which it closes the first segment that
//! ends in them. The open partial result after the last thread is carried to the next round.
//!
//! The totals of warps go through shared memory: each warp's last lane stores its total, and after
//! a barrier each lane of every warp takes that of one warp. They are double-buffered, so that this
//! barrier is the only one of a round.

use loopwright_kernel_ir::{DType, Diagnostic, ReductionOp};
use loopwright_target::Target;

use super::{Cut, search::small_block, storage::Locals};
use crate::analyse::state::names;

/// Number of blocks whose partial results a thread joins in a round.
const JOINED: i64 = 4;

/// How the last launch joins.
pub(crate) struct Join {
    /// Threads of its only block.
    pub threads: u32,
    /// Number of blocks whose partial results a thread joins in a round.
    pub each: i64,
    /// Number of blocks of a round.
    pub together: i64,
    pub locals: Locals,
    /// Shared memory for the open partial result after each warp, twice: one array per value of the
    /// state.
    pub open: Vec<usize>,
    /// Whether a segment ends in each warp, twice.
    pub closed: usize,
    /// What blocks have left, of a thread's blocks.
    pub ended: usize,
    pub heads: Vec<usize>,
    pub tails: Vec<usize>,
    /// What happens in a round.
    pub round: Vec<RoundNode>,
}

/// A step of a round, in the order in which the threads of the block do them.
pub(crate) enum RoundNode {
    /// Each thread loads what its blocks have left, and joins it.
    JoinBlocks,
    /// What is open after each lane, by a segmented scan over the lanes of a warp.
    ScanLanes,
    /// The last lane of each warp stores its total.
    StoreTotals,
    /// A barrier of the block.
    Sync(&'static str),
    /// What is open before each warp, by a segmented scan over the totals; the carry goes on to the
    /// next round.
    ScanWarps,
    /// Joins what the warps before have left open with the lanes before in the own warp: the value
    /// that is open where each thread begins.
    AddLanes,
    /// Each thread writes the result of the first segment that ends in its blocks.
    Close,
}

impl Join {
    /// Errors: a block cannot have as many warps as a warp has lanes.
    pub fn new(
        (operator, state): (&ReductionOp, &[DType]),
        cut: &Cut,
        index: DType,
        target: &Target,
    ) -> Result<Join, Diagnostic> {
        let threads = target.warp_size * target.warp_size;
        if threads > target.most_threads {
            return Err(small_block(target, threads));
        }
        let mut locals = Locals::default();
        let note = "what is open behind each warp";
        let totals = names(operator, "totals");
        let totals = totals.iter().zip(state);
        let open = totals.map(|(name, dtype)| locals.shared(name, *dtype, &[2, cut.warp], note)).collect();
        let note = "whether a segment ends in each warp";
        let closed = locals.shared("totals_closed", DType::I32, &[2, cut.warp], note);
        let ended = locals.private("ended", index, JOINED);
        let mut of_state = |like: &str| -> Vec<usize> {
            let names = names(operator, like);
            names.iter().zip(state).map(|(name, dtype)| locals.private(name, *dtype, JOINED)).collect()
        };
        let (heads, tails) = (of_state("heads"), of_state("tails"));
        let stored = "all warps have stored what is open behind them: partial results of their segments";
        let round = vec![
            RoundNode::JoinBlocks,
            RoundNode::ScanLanes,
            RoundNode::StoreTotals,
            RoundNode::Sync(stored),
            RoundNode::ScanWarps,
            RoundNode::AddLanes,
            RoundNode::Close,
        ];
        let together = i64::from(threads) * JOINED;
        Ok(Join { threads, each: JOINED, together, locals, open, closed, ended, heads, tails, round })
    }
}
