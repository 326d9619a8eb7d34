//! Exchanges between the lanes of a warp: shuffles and ballots.
//!
//! All lanes that are threads of the block take part. If some of them are inactive, the exchange is
//! divergent, as for a barrier. A lane whose source is outside its group keeps its own value. A
//! source lane that is not a thread of the block is a fault.

use loopwright_program::ShuffleMode;

use crate::{
    block::{Block, Failure, Outcome, lowest},
    bytecode::Reg,
    fault::{Act, FaultKind},
    quick,
    warp::Warp,
    words::{active, lowest_lanes},
};

impl<const W: usize> Block<'_, W> {
    /// The fault of a point that only some of the required lanes reached.
    pub fn divergent(&self, kind: FaultKind, warp: &Warp<W>, site: u32) -> Box<Failure> {
        let mut failure = self.failure(kind, warp, lowest(warp.mask), site, Act::Waits);
        failure.fault.first = failure.fault.second.take();
        let absent = lowest(warp.exists & !warp.mask);
        failure.fault.second = Some(self.instance(warp, absent, site, Act::Absent));
        failure.fault.detail = "only some threads of a warp reach it".to_owned();
        failure
    }

    /// Counts an exchange among all lanes of a warp, and faults if some do not take part.
    pub fn all_lanes(&mut self, warp: &mut Warp<W>, site: u32) -> Outcome<()> {
        if self.launch.options.checks.divergence && warp.mask != warp.exists {
            return Err(self.divergent(FaultKind::DivergentShuffle, warp, site));
        }
        self.counters.shuffles += 1;
        Ok(())
    }

    pub fn shuffle(
        &mut self,
        warp: &mut Warp<W>,
        mode: ShuffleMode,
        width: u8,
        wide: bool,
        (dst, value, operand): (Reg, Reg, Reg),
        site: u32,
    ) -> Outcome<()> {
        self.all_lanes(warp, site)?;
        if !wide && warp.mask == lowest_lanes(W) {
            // All lanes take part and are threads of the block.
            let from = &warp.narrow[value as usize];
            let out = quick::shuffled(mode, u32::from(width), from, &warp.narrow[operand as usize]);
            warp.narrow[dst as usize] = out;
            return Ok(());
        }
        let width = i64::from(width);
        let operand = warp.narrow[operand as usize];
        let mut source = [0; W];
        for lane in active(warp.mask) {
            let (own, by) = (lane as i64, i64::from(operand[lane] as i32));
            // Widths are powers of two.
            let group = own & -width;
            let from = match mode {
                ShuffleMode::Xor => own ^ by,
                ShuffleMode::Down => own + by,
                ShuffleMode::Up => own - by,
                ShuffleMode::Index => group + by.rem_euclid(width),
            };
            let inside = from >= group && from < group + width;
            source[lane] = if inside { from as usize } else { lane };
            if warp.exists >> source[lane] & 1 == 0 {
                if self.launch.options.checks.divergence {
                    let mut failure =
                        self.failure(FaultKind::DivergentShuffle, warp, lane, site, Act::Computes);
                    failure.fault.detail =
                        format!("lane {lane} reads from lane {from}, which is not a thread of the block");
                    return Err(failure);
                }
                source[lane] = lane;
            }
        }
        if wide {
            let from = warp.wide[value as usize];
            warp.wide[dst as usize] = source.map(|lane| from[lane]);
        } else {
            let from = warp.narrow[value as usize];
            warp.narrow[dst as usize] = source.map(|lane| from[lane]);
        }
        Ok(())
    }
}
