//! How a sum is divided: into steps, which are what a tile holds of it at a time, inside of its
//! other loops; and into chunks, where blocks share it.

use loopwright_kernel_ir::Name;

use super::Shape;
use crate::{
    Proposal,
    text::{split, split_as},
};

/// Steps of a ring that are few: it would be filled about as long as it runs.
const FEW: i64 = 8;
/// Blocks of each multiprocessor where blocks share a sum.
const PLACES: i64 = 2;
/// The least bytes that such a block loads: what joins the partial results takes as long as some
/// thousand loads.
const SHARE: i64 = 1 << 18;

impl Shape<'_> {
    /// The terms of the sum that a block takes, where tiles of these sides along y and x would
    /// leave multiprocessors without a block and the sum is long: blocks then share it, and their
    /// partial results are joined. In a launch of known sizes, without a batch, whose place in the
    /// grid they take.
    pub(super) fn chunk(&self, [of_y, of_x]: [i64; 2], depth: i64) -> Option<i64> {
        let (blocks, terms) = (self.blocks([of_y, of_x])?.max(1), self.nest.extent(&self.k)?);
        let bytes: i64 = self.factors.iter().map(|f| i64::try_from(f.bytes).unwrap_or(8)).max()?;
        let have_room = self.nest.fits_grid(&self.x, of_x) && self.nest.fits_grid(&self.y, of_y);
        let shares = PLACES * i64::from(self.nest.launch().multiprocessors) / blocks;
        if shares < 2
            || !self.places.is_empty()
            || !self.batch.is_empty()
            || !have_room
            || !self.beside.is_empty()
        {
            return None;
        }
        let least = SHARE / ((of_y + of_x) * bytes);
        let steps = ((terms / shares).max(least).max(1) - 1) / depth + 1;
        Some(steps * depth).filter(|chunk| terms >= 2 * chunk)
    }

    /// How many blocks share a sum so divided.
    pub(super) fn shares(&self, tile: [i64; 2], depth: i64) -> i64 {
        let of = |chunk: i64| Some((self.nest.extent(&self.k)? - 1) / chunk + 1);
        self.chunk(tile, depth).and_then(of).unwrap_or(1)
    }

    /// Whether the steps through a sum of several loops are one loop: where they are known to be
    /// whole, so that a ring does not run dry between the places of the outer ones. Where that
    /// would pay, and a length is a parameter, it is a wish.
    fn has_one_loop(&self, depth: i64) -> bool {
        let Some((_, inner)) = self.places.split_first() else { return false };
        let terms = self.nest.extent(&self.k);
        if terms.is_some_and(|terms| terms % depth != 0) {
            return false;
        }
        let open: Vec<&Name> =
            inner.iter().chain([&self.k]).filter(|n| !self.nest.has_fixed_length(n)).collect();
        if terms.is_none_or(|terms| terms < FEW * depth) {
            open.iter().for_each(|n| self.nest.wish_fixed_length(n, "one ring for the whole sum"));
        }
        open.is_empty()
    }

    /// The proposal with the loop over the sum split into steps of this depth, inside of its other
    /// loops; and the loop of the steps.
    pub(super) fn split_steps(&self, proposal: Proposal, depth: i64) -> (Proposal, String) {
        let k = &self.k;
        let (proposal, steps) = (proposal.step(split(k, depth)), format!("{k}_outer"));
        if self.places.is_empty() {
            return (proposal, steps);
        }
        let places = self.places.iter().map(Name::to_string);
        let order = places.chain([steps.clone()]).collect::<Vec<String>>().join(", ");
        let proposal = proposal.step(format!("reorder([{order}, {k}_inner])"));
        if !self.has_one_loop(depth) {
            return (proposal, steps);
        }
        let joined = format!("{k}_step");
        (proposal.step(format!("join_inames([{order}], {joined})")), joined)
    }

    /// The proposal with the loop over the sum split into steps of this depth, in chunks if blocks
    /// share it, with a word about them; the loop of the steps, and the tag of the chunks.
    pub(super) fn split_sum(
        &self,
        proposal: Proposal,
        chunk: Option<i64>,
        depth: i64,
    ) -> (Proposal, String, Option<(String, &'static str)>) {
        let (k, steps) = (&self.k, format!("{}_outer", self.k));
        let Some(chunk) = chunk else {
            let (proposal, steps) = self.split_steps(proposal, depth);
            return (proposal, steps, None);
        };
        let mut proposal = proposal
            .step(split_as(k, chunk, format!("{k}_chunk"), format!("{k}_rest")))
            .step(split_as(format!("{k}_rest"), depth, &steps, format!("{k}_inner")));
        proposal.reason += &format!(
            "; blocks take {chunk} terms of the sum each, since there are few results, and their partial \
             results are joined"
        );
        (proposal, steps, Some((format!("{k}_chunk"), "block.z")))
    }
}
