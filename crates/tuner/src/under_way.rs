//! Bytes that a thread has in flight while it waits for memory.
//!
//! A thread issues all loads of straight-line code, or of one iteration of a rolled loop, and then
//! waits: a round. The bytes of a round are read from the program, the total bytes of each loop
//! from the emulator's counts, and the number of rounds follows from both. The mean over rounds is
//! the total bytes divided by the number of rounds: a loop that moves nearly everything dominates,
//! and a bisection next to it, whose rounds load 4 bytes, counts by its rounds. Loads in
//! straight-line code, such as those of a loop's bounds, are a round before the loop's own. Stores
//! are not waited for: their bytes move in the rounds of the loads.
//!
//! Compilers unroll a rolled loop four times if its counter increases by a step; if it halves or
//! doubles, as in a bisection, each load waits for the previous one. No load moves ahead of a
//! barrier of the block: the loads of one iteration of a loop with barriers, such as a scan in
//! rounds, are all that is under way. Lanes without a load wait with their warp.

use std::ops::AddAssign;

use loopwright_emulator::Report;
use loopwright_program::{MemRef, Memory, Program, Scope, Step, Stmt, Value, ValueKind};

use crate::body::trips;

/// The most bytes that an iteration of a rolled loop may load for the compiler's unrolling to
/// increase them.
const UNROLLED: f64 = 16.0;
/// The unroll factor of compilers for a rolled loop.
const TIMES: f64 = 4.0;

/// Bytes of all threads, and the number of rounds in which they move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct UnderWay {
    bytes: f64,
    rounds: f64,
}

impl AddAssign for UnderWay {
    fn add_assign(&mut self, other: UnderWay) {
        self.bytes += other.bytes;
        self.rounds += other.rounds;
    }
}

impl UnderWay {
    /// For the device kernel `kernel`, after the compiler's unrolling.
    pub fn of(program: &Program, report: &Report, kernel: usize) -> UnderWay {
        UnderWay::unrolled(program, report, kernel, TIMES)
    }

    /// For the device kernel `kernel`, with loops as in the text.
    pub fn as_written(program: &Program, report: &Report, kernel: usize) -> UnderWay {
        UnderWay::unrolled(program, report, kernel, 1.0)
    }

    fn unrolled(program: &Program, report: &Report, kernel: usize, times: f64) -> UnderWay {
        let (Some(device), Some((_, counters))) = (program.kernels.get(kernel), report.kernels.get(kernel))
        else {
            return UnderWay::default();
        };
        let lanes = f64::from(program.target.warp_size);
        let mut rounds = Rounds { program, times, asked: vec![0.0], of_loop: vec![0] };
        rounds.asked[0] = rounds.gather(&device.body, 0);
        let mut all = UnderWay { bytes: counters.global_stores.bytes as f64, rounds: 0.0 };
        for access in report.accesses.iter().filter(|a| a.kernel == kernel && !a.shared && !a.write) {
            let asked = rounds.of_loop.get(access.in_loop).and_then(|round| rounds.asked.get(*round));
            let bytes = access.traffic.bytes as f64;
            all.bytes += bytes;
            // A loaded address is loaded before the data at it, and is not part of the round.
            let own = bytes / access.traffic.active_lanes.max(1) as f64;
            // A warp waits for the loads of any of its lanes.
            all.rounds +=
                lanes * access.traffic.requests as f64 * own / asked.copied().unwrap_or(0.0).max(own);
        }
        all
    }

    /// The mean bytes per round and thread; 0 if there are no rounds.
    pub fn mean(&self) -> f64 {
        if self.rounds > 0.0 { self.bytes / self.rounds } else { 0.0 }
    }
}

/// The loads of the rounds of a kernel.
struct Rounds<'a> {
    program: &'a Program,
    /// The unroll factor of loops that are rolled in the text.
    times: f64,
    /// Bytes per round: of straight-line code, then of each loop in the order of the text, with 0
    /// for unrolled ones.
    asked: Vec<f64>,
    /// For each loop, the one to whose rounds its loads belong: itself, or the enclosing one if it
    /// is unrolled.
    of_loop: Vec<usize>,
}

impl Rounds<'_> {
    /// Bytes that these statements load in a round to which they belong.
    fn gather(&mut self, body: &[Stmt], round: usize) -> f64 {
        let mut bytes = 0.0;
        for stmt in body {
            bytes += match stmt {
                Stmt::For { lower, upper, step, unroll, body, .. } => {
                    let number = self.of_loop.len();
                    self.asked.push(0.0);
                    let bounds = self.loaded(lower) + self.loaded(upper);
                    match trips(lower, upper, *step).filter(|_| *unroll) {
                        Some(trips) => {
                            self.of_loop.push(round);
                            bounds + self.gather(body, round) * trips as f64
                        }
                        None => {
                            self.of_loop.push(number);
                            let once = self.gather(body, number);
                            self.asked[number] = match step {
                                Step::Add(_) if has_barrier(body) => once,
                                Step::Add(_) => once.max(UNROLLED.min(self.times * once)),
                                Step::Halve | Step::Double => once,
                            };
                            bounds
                        }
                    }
                }
                Stmt::If { cond, body, otherwise, .. } => {
                    self.loaded(cond) + self.gather(body, round).max(self.gather(otherwise, round))
                }
                _ => {
                    let mut own =
                        stmt.source().map_or(0.0, |from| f64::from(from.lanes) * self.element(from.element));
                    stmt.each_operand(&mut |value| own += self.loaded(value));
                    stmt.running().fold(own, |sum, body| sum + self.gather(body, round))
                }
            };
        }
        bytes
    }

    /// Bytes of an element in global memory, 0 elsewhere.
    fn element(&self, from: &MemRef) -> f64 {
        match from.memory {
            Memory::Global(global) => self
                .program
                .globals
                .get(global)
                .filter(|g| g.table().is_none())
                .map_or(0.0, |g| g.dtype.bytes() as f64),
            _ => 0.0,
        }
    }

    fn loaded(&self, value: &Value) -> f64 {
        let own = match &value.kind {
            ValueKind::Load(from) => self.element(from),
            _ => 0.0,
        };
        own + value.children().into_iter().map(|v| self.loaded(v)).sum::<f64>()
    }
}

/// Whether all threads of a block meet in these statements.
fn has_barrier(body: &[Stmt]) -> bool {
    Stmt::synchronises(body, &[Scope::Block])
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopwright_kernel_ir::{DType, LoopKernel};
    use loopwright_runtime::{Args, Device, Tensor};
    use loopwright_transforms::Pipeline;

    fn mean(kernel: &str, steps: &str, args: &Args) -> Vec<f64> {
        let kernel = LoopKernel::parse(kernel).expect("a kernel");
        let kernel = Pipeline::parse(steps).expect("steps").apply(&kernel).expect("legal");
        let bound = Device::emulator().compile(&kernel).and_then(|c| c.bind(args)).expect("compiles");
        let report = bound.run().expect("runs").report.expect("counts");
        (0..bound.program().kernels.len()).map(|k| UnderWay::of(bound.program(), &report, k).mean()).collect()
    }

    const ROWS: &str = "kernel rows(x: f32[n, m], out: f32[n], n: i32, m: i32)\n\
                        assume 0 <= n and 0 <= m\n\
                        domain { [s] : 0 <= s < n }\n\
                        domain { [i] : 0 <= i < m }\n\
                        out[s] = sum(i, x[s, i])\n";

    fn rows(rows: usize, length: usize) -> Args {
        Args::new().tensor("x", &Tensor::random(&[rows, length], DType::F32, 3).expect("a tensor"))
    }

    #[test]
    fn a_round_is_an_iteration_of_a_rolled_loop() {
        let steps = |tile: usize| {
            format!(
                "split_iname(i, {tile})\nsplit_iname(i_inner, 32, outer=i_part, inner=i_lane)\n\
                     tag_inames(s: block.x, i_lane: thread.x, i_part: ilp)\n"
            )
        };
        // 16 rounds of 32 bytes, 8 of 64; the stores are 4 bytes per row of 32 threads.
        for (tile, bytes) in [(256, 32.0), (512, 64.0)] {
            let found = mean(ROWS, &steps(tile), &rows(8, 4096));
            let stored = 4.0 / 32.0 * bytes / (4096.0 / 32.0 * 4.0);
            assert!((found[0] - bytes - stored).abs() < 1e-9, "{tile}: {found:?}");
        }
        // One load of 4 bytes per iteration, which compilers unroll.
        let found = mean(
            ROWS,
            "tag_inames(s: block.x)\nsplit_iname(i, 32)\ntag_inames(i_inner: thread.x)\n",
            &rows(8, 4096),
        );
        assert!((found[0] - 16.0).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn no_load_moves_ahead_of_a_barrier() {
        let text = "kernel prefix(x: f32[n, m], out: f32[n, m], n: i32, m: i32)\n\
                    assume 0 <= n and 0 <= m\n\
                    domain { [s] : 0 <= s < n }\n\
                    domain { [i] : 0 <= i < m }\n\
                    domain { [j] : 0 <= j <= i }\n\
                    out[s, i] = sum(j, x[s, j])\n";
        // Each round of a block loads 4 bytes a thread, and stores as many; a warp alone has no
        // barriers, and its loop is unrolled.
        let block = "realize_scan(i, j)\nsplit_iname(i, 256)\ntag_inames(s: block.x, i_inner: thread.x)\n";
        let found = mean(text, block, &rows(8, 4096));
        assert!((found[0] - 8.0).abs() < 1e-9, "{found:?}");
        let warp = "realize_scan(i, j)\nsplit_iname(i, 32)\ntag_inames(s: block.x, i_inner: thread.x)\n";
        let found = mean(text, warp, &rows(8, 4096));
        assert!((found[0] - 32.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn loops_count_as_much_as_they_move() {
        // The bounds are a round of 8 bytes; then each round is of 16, as compilers unroll.
        let text = "kernel k(x: f32[n], offsets: i32[nseg + 1], out: f32[nseg], n: i32, nseg: \
                    i32)\n\
                    assume 0 <= n and 0 <= nseg\n\
                    fact monotone(offsets)\n\
                    fact 0 <= offsets <= n\n\
                    domain { [s] : 0 <= s < nseg }\n\
                    domain { [i] : lo <= i < hi }\n\
                    temp lo: i32 private\n\
                    temp hi: i32 private\n\
                    lo = offsets[s]\n\
                    hi = offsets[s + 1]\n\
                    out[s] = sum(i, x[i])\n";
        let args = |length: i32| {
            let offsets: Vec<i32> = (0..5).map(|s| s * length).collect();
            let x = Tensor::random(&[4 * length as usize], DType::F32, 3).expect("a tensor");
            Args::new()
                .tensor("x", &x)
                .tensor("offsets", &Tensor::from_slice(&[5], &offsets).expect("a tensor"))
        };
        let steps = "split_iname(i, 32)\ntag_inames(s: block.x, i_inner: thread.x)\n";
        for (length, rounds) in [(32, 0.25), (128, 1.0), (32 * 256, 64.0)] {
            let found = mean(text, steps, &args(length))[0];
            let loaded = 8.0 + f64::from(length) / 32.0 * 4.0 + 4.0 / 32.0;
            assert!((found - loaded / (1.0 + rounds)).abs() < 1e-9, "{length}: {found}");
        }
        // A digit-wise search next to many loads: a round loads seven offsets, and rounds for
        // digits that four segments do not have load none.
        let found = mean(text, "flatten_ragged(s, i, threads=32, items=16, tiles=8)\n", &args(32 * 256));
        assert!((5.0..28.0).contains(&found[0]), "the first kernel only searches: {found:?}");
        assert!(found[1] > 50.0, "the second loads 60 bytes in most of its rounds: {found:?}");
    }
}
