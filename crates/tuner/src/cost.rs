//! What a candidate costs by counts alone, before anything is timed.
//!
//! The emulator runs the program on a sample of the problem and counts; counts grow to the problem
//! with the work (`points`), blocks are those of its grid. Each resource of the machine has a time,
//! and the longest is the roofline:
//!
//! * memory: the bytes that must move at all, over the bandwidth; all sectors that are asked for,
//!   over that of the second-level cache (taken as 2.5 times as much). By Little's law the memory
//!   is only busy with `bandwidth * latency` bytes under way: those that a thread waits for at a
//!   time ([`under_way`](crate::under_way)), for all resident threads and the part of their lives
//!   in which they wait ([`residents`](crate::residents)). Where lines are read in pieces and more
//!   lines are open than half of the second-level cache holds, each is fetched again;
//! * lines: the first-level cache takes two clocks for each line of a request, so that short runs
//!   cost although no sector is wasted;
//! * instructions: arithmetic of warps, fused where it can be, comparisons and choices, memory
//!   instructions and shuffles, over four schedulers a multiprocessor; or those of one kind alone,
//!   over the units that it has ([`Throughput`]), where that takes longer. What addresses and
//!   guards take is left out: compilers move most of it out of loops;
//! * shared memory: a wavefront a clock;
//! * blocks: a device starts one in 1.2 clocks at most, whatever it does, so that blocks of a few
//!   short rows come no faster.
//!
//! What is not the longest overlaps with it as far as there are warps to go on with: the rest
//! counts, divided by the resident warps of a scheduler. A barrier exposes the latency of a load to
//! the block; other resident blocks go on. Where the multiprocessors themselves are the limit, a
//! last wave that is not full takes as long as a full one. Registers are those of the compiler, or
//! 24 and the words of private arrays; what does not fit is spilled. A launch costs three
//! microseconds.
//!
//! How well this ranks is held to sweeps recorded on a GPU (`tests/recorded.rs`). `bound_ms` leaves
//! out everything but what the memory must move: nothing that computes the same can be faster.

use std::collections::BTreeMap;

use loopwright_emulator::{Counters, Report};
use loopwright_kernel_ir::Name;
use loopwright_program::{DeviceKernel, Program, eval_host};
use loopwright_runtime::cuda::{DeviceInfo, Occupancy, occupancy};
use loopwright_runtime::nvrtc::KernelResources;
use serde::{Deserialize, Serialize};

use crate::Bottleneck;
use crate::residents::Residents;
use crate::throughput::{DIVISION, Throughput};
use crate::under_way::UnderWay;

/// What the device can do, in the units of the estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The device's name.
    pub device: String,
    /// Bytes a second that the memory moves.
    pub bandwidth: f64,
    /// Whether the bandwidth was measured; otherwise it is the bus's.
    pub measured: bool,
    /// Seconds between a load and its value.
    pub latency: f64,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Clock of the multiprocessors, Hz.
    pub clock: f64,
    /// Lanes of a multiprocessor that work on f32 in one clock.
    #[serde(default = "usual_f32_lanes")]
    pub f32_lanes: f64,
    /// Bytes of the second-level cache.
    #[serde(default = "usual_l2")]
    pub l2_bytes: f64,
}

/// Where nothing says how large the cache is: that of an H200.
fn usual_l2() -> f64 {
    50e6
}

/// Where nothing says how many lanes there are: those of an H200.
fn usual_f32_lanes() -> f64 {
    Throughput::of((9, 0)).f32
}

/// Registers of a thread without private arrays: indices, addresses, values on their way.
const BARE_REGISTERS: u32 = 24;
/// Registers of a thread, at most, on all current devices.
const MOST_REGISTERS: u32 = 255;
/// Bytes of a line of the caches.
const LINE: f64 = 128.0;
/// Clocks that the first-level cache takes for each line of a request.
const CLOCKS_A_LINE: f64 = 2.0;
/// The bandwidth of the second-level cache over that of the memory.
const CACHE_RATE: f64 = 2.5;
/// The part of the bytes under way that keeps the memory busy but for a rest that is not worth
/// naming.
const NEARLY: f64 = 0.95;
/// Clocks from the start of a block to that of the next, on the whole device: where blocks have 8
/// or 16 short rows, an H200 starts 1.65e9 in a second, whether they have 64 threads or 128
/// (`tests/recorded/short_rows.txt`).
const CLOCKS_A_BLOCK: f64 = 1.2;
/// Seconds that a launch takes besides.
const LAUNCH: f64 = 3e-6;

impl Machine {
    /// Operations on f32 a second, fused ones counted as two.
    pub fn peak(&self) -> f64 {
        2.0 * self.f32_lanes * f64::from(self.multiprocessors) * self.clock
    }

    /// An H200 as it was measured: what is taken for a device that is not there.
    pub fn h200() -> Machine {
        Machine {
            device: "an H200".to_owned(),
            bandwidth: 4.4e12,
            measured: false,
            latency: 700e-9,
            multiprocessors: 132,
            clock: 1.98e9,
            f32_lanes: usual_f32_lanes(),
            l2_bytes: usual_l2(),
        }
    }

    /// What the device's own description says. A device that does not say (the emulator) is taken
    /// for one with 132 multiprocessors at 1.7 GHz and 3.3 TB/s.
    pub fn described(info: &DeviceInfo) -> Machine {
        let real = info.memory_bus_bits > 0;
        Machine {
            device: info.name.clone(),
            bandwidth: info.peak_bandwidth().unwrap_or(3.3e12),
            measured: false,
            latency: 700e-9,
            multiprocessors: if real { info.multiprocessors } else { 132 },
            clock: if info.clock_khz > 0 { f64::from(info.clock_khz) * 1e3 } else { 1.7e9 },
            f32_lanes: Throughput::of(info.compute_capability).f32,
            l2_bytes: if info.l2_bytes > 0 { info.l2_bytes as f64 } else { usual_l2() },
        }
    }
}

/// What a candidate costs by counts. Counts are those of the whole problem, scaled up from the
/// sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The estimated time of a launch, milliseconds.
    pub estimate_ms: f64,
    /// What no program that computes the same can go below, milliseconds.
    pub bound_ms: f64,
    /// Bytes that must move: what is read and what is written, each once.
    pub necessary_bytes: f64,
    /// Bytes that move between multiprocessors and memory: 32 for each sector of each request.
    pub moved_bytes: f64,
    /// Floating-point sums, products, quotients and functions of lanes.
    pub operations: f64,
    /// Passes over the banks of shared memory beyond those needed.
    pub bank_conflicts: f64,
    /// The part of the lanes that idles, 0 to 1.
    pub idle: f64,
    /// Registers a thread, the most of its kernels; 0 where nothing was compiled.
    pub registers: u32,
    /// Bytes of registers spilled to memory, a thread.
    pub spilled: u32,
    /// Resident warps over the most that a multiprocessor holds, the least of its kernels.
    pub occupancy: f64,
    /// Bytes that a thread has under way while it waits for them, the mean over all its waits: of
    /// each loop as much as it moves.
    pub in_flight: f64,
    /// Waves of blocks.
    pub waves: f64,
    /// Lines of 128 bytes of global memory touched, summed over requests.
    #[serde(default)]
    pub lines: f64,
    /// Memory instructions of warps: global memory.
    #[serde(default)]
    pub global_requests: f64,
    /// Memory instructions of warps: shared memory.
    #[serde(default)]
    pub shared_requests: f64,
    /// Passes over the banks of shared memory.
    #[serde(default)]
    pub wavefronts: f64,
    /// Products of lanes that have a sum to be fused with.
    #[serde(default)]
    pub fused: f64,
    /// Instructions of warps that compare values, choose between them or work on integers of data;
    /// quotients of these are many.
    #[serde(default)]
    pub compared: f64,
    /// Instructions of warps that divide floating-point values or apply functions to them.
    #[serde(default)]
    pub special: f64,
    /// Instructions of warps that convert values.
    #[serde(default)]
    pub conversions: f64,
    /// Shuffles of warps.
    #[serde(default)]
    pub shuffles: f64,
    /// Barriers that blocks come through.
    #[serde(default)]
    pub barriers: f64,
    /// Launches of device kernels.
    #[serde(default)]
    pub launches: f64,
    /// Blocks, of the device kernel with most traffic; as what follows.
    #[serde(default)]
    pub blocks: f64,
    /// Threads of a block.
    #[serde(default)]
    pub threads: u32,
    /// Bytes of shared memory of a block.
    #[serde(default)]
    pub shared_bytes: u32,
    /// Words of private arrays of a thread, which become registers where they fit.
    #[serde(default)]
    pub private_words: u32,
    /// What takes the largest part of the estimate.
    #[serde(default)]
    pub bottleneck: Bottleneck,
}

/// What the estimate is made from.
pub struct Counted<'a> {
    /// The program.
    pub program: &'a Program,
    /// The emulator's counts on the sample.
    pub report: &'a Report,
    /// What the compiler says; empty where nothing was compiled.
    pub resources: &'a [KernelResources],
    /// Bytes of the sample's arrays that must move.
    pub necessary_bytes: f64,
    /// How many times more bytes the problem has than the sample.
    pub scale: f64,
    /// How many times more work.
    pub work: f64,
    /// The problem's integers, which tell how many blocks there are.
    pub integers: &'a BTreeMap<Name, i64>,
}

impl Cost {
    /// Registers of a thread, and the words that do not fit: as compiled, or guessed.
    fn registers_and_spills(&self, info: &DeviceInfo) -> (u32, f64) {
        if self.registers > 0 {
            return (self.registers, f64::from(self.spilled) / 4.0);
        }
        let wanted = BARE_REGISTERS.saturating_add(self.private_words);
        let most = (info.registers_per_block / self.threads.max(1)).clamp(1, MOST_REGISTERS);
        (wanted.min(most), f64::from(wanted.saturating_sub(most)))
    }

    /// Clocks that all instructions of warps would take one multiprocessor: those of four
    /// schedulers that each begin one in a clock, or of the units that have the most to do.
    fn instruction_clocks(&self, of: &Throughput) -> f64 {
        let arithmetic = (self.operations - self.fused).max(0.0) / 32.0;
        let accesses = self.global_requests + self.shared_requests;
        let begun = arithmetic + self.compared + self.conversions + accesses + self.shuffles;
        [
            begun / 4.0,
            32.0 * arithmetic / of.f32,
            32.0 * self.compared / of.compared,
            32.0 * self.special / of.special,
            32.0 * self.shuffles / of.shuffled,
        ]
        .into_iter()
        .fold(0.0, f64::max)
    }

    /// Estimates again, for a machine and the limits of a device.
    pub fn estimate(&mut self, machine: &Machine, info: &DeviceInfo) {
        let (registers, spilled) = self.registers_and_spills(info);
        let held = occupancy(info, self.threads, registers, self.shared_bytes);
        let multiprocessors = f64::from(machine.multiprocessors.max(1));
        let blocks = self.blocks.max(1.0);
        self.bound_ms = 1e3 * self.necessary_bytes / machine.bandwidth;
        self.occupancy = held.fraction();
        self.waves = blocks / (f64::from(held.blocks.max(1)) * multiprocessors);
        // With few blocks not every multiprocessor has one, or all that it could hold.
        let working = blocks.min(multiprocessors);
        let resident = f64::from(held.blocks.max(1)).min((blocks / multiprocessors).max(1.0));
        let block_warps = f64::from(self.threads.div_ceil(32).max(1));
        let warps = resident * block_warps;
        let clocks = working * machine.clock;

        let of_thread = (self.moved_bytes / (blocks * f64::from(self.threads.max(1)))).max(1.0);
        let in_flight = if self.in_flight > 0.0 { self.in_flight.min(of_thread) } else { of_thread };
        let residents = Residents {
            blocks,
            places: f64::from(held.blocks.max(1)) * multiprocessors,
            warps: block_warps,
            bytes: of_thread,
            in_flight,
            shuffles: self.shuffles / (blocks * block_warps),
        };
        let busy = residents.busy_at_most(machine);
        let run = if self.lines > 0.0 { (self.moved_bytes / self.lines).max(1.0) } else { LINE };
        let open = warps * working * 32.0 * in_flight * LINE / run;
        let again = if open > machine.l2_bytes / 2.0 { (LINE / run).clamp(1.0, 2.0) } else { 1.0 };
        let (needed_once, asked_for) = (self.necessary_bytes * again, self.moved_bytes / CACHE_RATE);
        let memory = needed_once.max(asked_for) / machine.bandwidth * residents.stretch(machine);
        let lines = self.lines * CLOCKS_A_LINE / clocks;
        let instructions = self.instruction_clocks(&Throughput::of(info.compute_capability)) / clocks;
        let shared = self.wavefronts / clocks;

        let times = [memory, lines, instructions, shared];
        let longest = times.into_iter().fold(0.0, f64::max);
        let rest = times.iter().sum::<f64>() - longest;
        let pairs = self.barriers / blocks / 2.0;
        let exposed = pairs * machine.latency * self.waves.max(1.0) / resident;
        let mut seconds = longest + rest / (warps / 4.0).max(1.0) + exposed;
        if self.waves > 1.0 && memory.max(lines) < longest {
            seconds *= self.waves.ceil() / self.waves;
        }
        let started = blocks * CLOCKS_A_BLOCK / machine.clock;
        let waits_for_blocks = if started > seconds { started } else { 0.0 };
        seconds = seconds.max(started);
        let waits_for_memory = match () {
            () if busy < NEARLY => Bottleneck::BytesInFlight,
            () if asked_for > needed_once => Bottleneck::SecondLevelCache,
            () => Bottleneck::Memory,
        };
        self.bottleneck = Bottleneck::longest(&[
            (waits_for_memory, memory),
            (Bottleneck::FirstLevelCache, lines),
            (Bottleneck::Instructions, instructions),
            (Bottleneck::SharedMemory, shared),
            (Bottleneck::Barriers, exposed),
            (Bottleneck::Blocks, waits_for_blocks),
            (Bottleneck::SpilledRegisters, seconds * spilled / 4.0),
            (Bottleneck::Launches, LAUNCH * self.launches),
        ]);
        // Each spilled word goes to memory and back where it is used.
        seconds *= 1.0 + spilled / 4.0;
        self.estimate_ms = 1e3 * (seconds + LAUNCH * self.launches);
    }

    /// Notes what the compiler says of the candidate: registers, spills, and the occupancy that
    /// follows. The estimate stays.
    pub fn compiled(&mut self, program: &Program, resources: &[KernelResources], info: &DeviceInfo) {
        self.note(resources);
        let fractions = program.kernels.iter().map(|k| held(k, resources, info).fraction());
        self.occupancy = fractions.fold(1.0, f64::min);
    }

    /// Notes registers and spills.
    pub(crate) fn note(&mut self, resources: &[KernelResources]) {
        self.registers = resources.iter().map(|r| r.registers).max().unwrap_or(0);
        self.spilled = resources.iter().map(|r| r.spill_load_bytes + r.spill_store_bytes).max().unwrap_or(0);
    }

    /// The counts of a candidate, and the estimate for a machine.
    pub fn of(counted: &Counted<'_>, machine: &Machine, info: &DeviceInfo) -> Cost {
        let Counted { program, report, resources, scale, work, .. } = counted;
        let c = &report.total;
        let lanes = (c.active_lanes + c.idle_lanes) as f64;
        let traffic = |k: usize| {
            let of = report.kernels.get(k).map(|(_, c)| c.global_loads.sectors + c.global_stores.sectors);
            of.unwrap_or(0)
        };
        let mut waits = UnderWay::default();
        for kernel in 0..program.kernels.len() {
            waits += UnderWay::of(program, report, kernel);
        }
        let mut cost = Cost {
            necessary_bytes: counted.necessary_bytes * scale,
            moved_bytes: 32.0 * (c.global_loads.sectors + c.global_stores.sectors) as f64 * work,
            lines: (c.global_loads.lines + c.global_stores.lines) as f64 * work,
            global_requests: (c.global_loads.requests + c.global_stores.requests) as f64 * work,
            shared_requests: (c.shared_loads.requests + c.shared_stores.requests) as f64 * work,
            wavefronts: (c.shared_loads.wavefronts + c.shared_stores.wavefronts) as f64 * work,
            bank_conflicts: c.bank_conflicts() as f64 * work,
            operations: operations(c) * work,
            compared: compared(c) * work,
            special: (c.issued.functions + c.issued.float_division) as f64 * work,
            conversions: c.issued.conversions as f64 * work,
            fused: c.operations.float_multiply.min(c.operations.float_add) as f64 * work,
            shuffles: c.shuffles as f64 * work,
            barriers: c.barriers as f64 * work,
            launches: c.launches as f64,
            idle: if lanes > 0.0 { c.idle_lanes as f64 / lanes } else { 0.0 },
            in_flight: waits.mean(),
            ..Cost::default()
        };
        cost.note(resources);
        let busiest = (0..program.kernels.len()).max_by_key(|k| (traffic(*k), std::cmp::Reverse(*k)));
        if let Some((k, kernel)) = busiest.and_then(|k| Some((k, program.kernels.get(k)?))) {
            let axis = |value| eval_host(value, &|name: &Name| counted.integers.get(name).copied());
            let grid = kernel.grid.iter().map(axis).map(|n| n.map(|n| n.max(0) as f64));
            let on_sample = report.kernels.get(k).map_or(0, |(_, c)| c.blocks) as f64;
            cost.blocks = grid.product::<Option<f64>>().unwrap_or(on_sample * work);
            cost.threads = kernel.threads();
            cost.shared_bytes = u32::try_from(kernel.shared_bytes()).unwrap_or(u32::MAX);
            let words = kernel.private.iter().map(|a| a.bytes().div_ceil(4)).sum::<u64>();
            cost.private_words = u32::try_from(words).unwrap_or(u32::MAX);
        }
        cost.estimate(machine, info);
        cost
    }
}

/// How many blocks of a kernel a multiprocessor holds; of 32 registers a thread where nothing was
/// compiled.
pub(crate) fn held(kernel: &DeviceKernel, resources: &[KernelResources], info: &DeviceInfo) -> Occupancy {
    let compiled = resources.iter().find(|r| r.name == *kernel.name);
    let shared = u32::try_from(kernel.shared_bytes()).unwrap_or(u32::MAX);
    occupancy(info, kernel.threads(), compiled.map_or(32, |r| r.registers), shared)
}

fn operations(c: &Counters) -> f64 {
    let o = &c.operations;
    (o.float_add + o.float_multiply + o.float_division + o.functions) as f64
}

fn compared(c: &Counters) -> f64 {
    let o = &c.issued;
    (o.comparisons + o.choices + o.float_extremes + o.integer) as f64 + DIVISION * o.integer_division as f64
}
