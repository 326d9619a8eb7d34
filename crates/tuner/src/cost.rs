//! The static cost of a candidate: estimated from counts alone, before anything is timed.
//!
//! The emulator runs the program on a sample of the problem and counts; counts are scaled to the
//! problem by the work (`points`), blocks are those of its grid. Each resource of the machine has a
//! time, and the longest is the roofline:
//!
//! * memory: the bytes that must move at all, over the bandwidth; all requested sectors, over that
//!   of the L2 cache (taken as 2.5 times as much). By Little's law the memory is only busy with
//!   `bandwidth * latency` bytes in flight: those that a thread waits for at a time
//!   ([`under_way`](crate::under_way)), for all resident threads and the part of their lives in
//!   which they wait ([`residents`](crate::residents)). If lines are read in pieces and more lines
//!   are open than half of the L2 cache holds, each is fetched again;
//! * lines: the L1 cache takes two clocks for each line of a request, so short runs cost time
//!   although no sector is wasted;
//! * instructions: arithmetic of warps, fused if possible, comparisons and selects, memory
//!   instructions and shuffles, over four schedulers per multiprocessor; or those of one kind
//!   alone, over the units for it ([`Throughput`]), if that takes longer. Addresses and guards are
//!   left out: compilers move most of them out of loops;
//! * shared memory: one wavefront per clock;
//! * blocks: a device starts at most one per 1.2 clocks, whatever its work, which limits blocks of
//!   a few short rows.
//!
//! The other times overlap with the longest as far as there are warps to switch to: their sum
//! counts, divided by the resident warps per scheduler. A barrier exposes the latency of a load to
//! the block, while other resident blocks continue. If the multiprocessors themselves are the
//! limit, a partial last wave takes as long as a full one. Registers are those of the compiler, or
//! 24 plus the words of private arrays; what does not fit is spilled. A launch costs three
//! microseconds.
//!
//! The ranking is tested against sweeps recorded on a GPU (`tests/recorded.rs`). `bound_ms` only
//! includes what the memory must move: no program that computes the same can be faster.

use std::collections::BTreeMap;

use loopwright_emulator::{Counters, Report};
use loopwright_kernel_ir::Name;
use loopwright_program::{DeviceKernel, Program, Target, eval_host};
use loopwright_runtime::cuda::{DeviceInfo, Occupancy, occupancy};
use loopwright_runtime::nvrtc::KernelResources;
use serde::{Deserialize, Serialize};

use crate::Bottleneck;
use crate::kept::kept_bytes;
use crate::residents::Residents;
use crate::throughput::{DIVISION, Throughput};
use crate::under_way::UnderWay;

/// What the device can do, in the units of the estimate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The name of the device whose figures these are, for messages.
    pub device: String,
    /// Bytes a second that the memory moves.
    pub bandwidth: f64,
    /// Whether the bandwidth was measured; otherwise it is the bus's.
    pub measured: bool,
    /// Latency of a load from memory, in seconds.
    pub latency: f64,
    /// Number of multiprocessors.
    pub multiprocessors: u32,
    /// Clock of the multiprocessors, Hz.
    pub clock: f64,
    /// f32 operations that a multiprocessor starts per clock, in lanes.
    #[serde(default = "usual_f32_lanes")]
    pub f32_lanes: f64,
    /// Size of the L2 cache, in bytes.
    #[serde(default = "usual_l2")]
    pub l2_bytes: f64,
}

/// The default if the size of the cache is unknown: that of an H200.
fn usual_l2() -> f64 {
    50e6
}

/// The default if the number of lanes is unknown: that of an H200.
fn usual_f32_lanes() -> f64 {
    Throughput::of((9, 0)).f32
}

/// Registers per thread without private arrays: indices, addresses, values in flight.
const BARE_REGISTERS: u32 = 24;
/// Clocks that the L1 cache takes per line of a request.
const CLOCKS_A_LINE: f64 = 2.0;
/// The bandwidth of the L2 cache over that of the memory.
const CACHE_RATE: f64 = 2.5;
/// The fraction of the bytes in flight that keeps the memory almost completely busy.
const NEARLY: f64 = 0.95;
/// Clocks between the starts of two blocks on the whole device: with 8 or 16 short rows per block,
/// an H200 starts 1.65e9 blocks per second, whether they have 64 threads or 128
/// (`tests/recorded/short_rows.txt`).
const CLOCKS_A_BLOCK: f64 = 1.2;
/// Fixed cost of a launch, in seconds.
const LAUNCH: f64 = 3e-6;

impl Machine {
    /// Peak f32 operations per second, a fused one counted as two.
    pub fn peak(&self) -> f64 {
        2.0 * self.f32_lanes * f64::from(self.multiprocessors) * self.clock
    }

    /// An H200 as measured: the default if there is no device.
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

    /// The machine that a device describes itself as. A device without a description (the emulator)
    /// is taken for one with 132 multiprocessors at 1.7 GHz and 3.3 TB/s.
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

/// The static cost of a candidate. Counts are those of the whole problem, scaled up from the
/// sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The estimated time of a launch, in milliseconds.
    pub estimate_ms: f64,
    /// A lower bound for any program that computes the same, in milliseconds.
    pub bound_ms: f64,
    /// Bytes that must move: those read and those written, each once.
    pub necessary_bytes: f64,
    /// Bytes moved between multiprocessors and memory: whole sectors, summed over requests.
    pub moved_bytes: f64,
    /// Floating-point additions, multiplications, divisions and functions, summed over lanes.
    pub operations: f64,
    /// Passes over the banks of shared memory beyond those needed.
    pub bank_conflicts: f64,
    /// The fraction of idle lanes, 0 to 1.
    pub idle: f64,
    /// Registers per thread, the maximum over its kernels; 0 if nothing was compiled.
    pub registers: u32,
    /// Bytes of registers spilled to memory, per thread.
    pub spilled: u32,
    /// Occupancy, 0 to 1: resident warps over the most that a multiprocessor holds, the minimum
    /// over its kernels.
    pub occupancy: f64,
    /// Bytes that a thread has in flight while it waits for them, the mean over all its waits, with
    /// each loop weighted by the bytes it moves.
    pub in_flight: f64,
    /// Number of waves of blocks.
    pub waves: f64,
    /// Bytes that move because the program keeps values in arrays of its own, which the
    /// second-level cache does not hold: written once, and read by each other launch.
    #[serde(default)]
    pub kept_bytes: f64,
    /// Cache lines of global memory touched, summed over requests.
    #[serde(default)]
    pub lines: f64,
    /// Global memory instructions, summed over warps.
    #[serde(default)]
    pub global_requests: f64,
    /// Shared memory instructions, summed over warps.
    #[serde(default)]
    pub shared_requests: f64,
    /// Passes over the banks of shared memory.
    #[serde(default)]
    pub wavefronts: f64,
    /// Multiplications that can be fused with an addition, summed over lanes.
    #[serde(default)]
    pub fused: f64,
    /// Instructions of warps that compute on floating-point values, where a fused pair is one: more
    /// than its share of `operations` for each that runs with idle lanes. 0 stands for whole warps.
    #[serde(default)]
    pub arithmetic: f64,
    /// Instructions of warps that compare values, select between them or compute on integer data;
    /// an integer division counts as many.
    #[serde(default)]
    pub compared: f64,
    /// Instructions of warps that divide floating-point values or apply functions to them.
    #[serde(default)]
    pub special: f64,
    /// Instructions of warps by which accurate functions are longer than one each. Only known where
    /// the kernel's expressions are looked at, as by lints.
    #[serde(skip)]
    pub of_functions: f64,
    /// All instructions of warps, and those for special functions, where they are read off the
    /// machine code, as by lints.
    #[serde(skip)]
    pub of_machine_code: Option<(f64, f64)>,
    /// Instructions of warps that convert values.
    #[serde(default)]
    pub conversions: f64,
    /// Shuffle instructions, summed over warps.
    #[serde(default)]
    pub shuffles: f64,
    /// Barriers executed, summed over blocks.
    #[serde(default)]
    pub barriers: f64,
    /// Number of kernel launches.
    #[serde(default)]
    pub launches: f64,
    /// Number of blocks of the device kernel with the most traffic, to which the following fields
    /// refer too.
    #[serde(default)]
    pub blocks: f64,
    /// Number of launches of that kernel, each with this number of blocks; 0 stands for 1.
    #[serde(default)]
    pub own_launches: f64,
    /// Bytes that it moves in all of them; 0 stands for all that are moved.
    #[serde(default)]
    pub own_bytes: f64,
    /// Threads of each of its blocks.
    #[serde(default)]
    pub threads: u32,
    /// Bytes of shared memory per block.
    #[serde(default)]
    pub shared_bytes: u32,
    /// 32-bit words of private arrays per thread, which become registers if they fit.
    #[serde(default)]
    pub private_words: u32,
    /// What the program is written for. It is not stored: a cost that is read is for CUDA.
    #[serde(skip)]
    pub target: Target,
    /// What takes the largest part of the estimate.
    #[serde(default)]
    pub bottleneck: Bottleneck,
}

/// What limits the rate of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Schedulers, one instruction of a warp per clock each.
    Issue,
    /// Additions and multiplications of f32.
    Arithmetic,
    /// Comparisons and integers.
    Comparisons,
    /// Exponentials, logarithms, roots, sines.
    Special,
    /// Exchanges between the lanes of a warp.
    Shuffles,
}

impl Unit {
    /// What the unit does, as a phrase for sentences.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Issue => "issuing instructions",
            Unit::Arithmetic => "arithmetic of floating-point numbers",
            Unit::Comparisons => "comparisons and integers",
            Unit::Special => "special functions",
            Unit::Shuffles => "shuffles",
        }
    }
}

/// The inputs of the estimate.
pub struct Counted<'a> {
    /// The program that the counts are of.
    pub program: &'a Program,
    /// The emulator's counts on the sample.
    pub report: &'a Report,
    /// The compiler's report; empty if nothing was compiled.
    pub resources: &'a [KernelResources],
    /// Bytes of the sample's arrays that must move.
    pub necessary_bytes: f64,
    /// The bytes of the problem over those of the sample.
    pub scale: f64,
    /// The work of the problem over that of the sample.
    pub work: f64,
    /// The number of launches of the problem over that of the sample.
    pub launches: f64,
    /// The problem's integers, which determine the number of blocks.
    pub integers: &'a BTreeMap<Name, i64>,
}

impl<'a> Counted<'a> {
    /// A run of the whole problem, of which nothing was compiled.
    pub(crate) fn whole(
        program: &'a Program,
        report: &'a Report,
        necessary_bytes: f64,
        integers: &'a BTreeMap<Name, i64>,
    ) -> Counted<'a> {
        let resources = &[];
        Counted {
            program,
            report,
            resources,
            necessary_bytes,
            scale: 1.0,
            work: 1.0,
            launches: 1.0,
            integers,
        }
    }
}

impl Cost {
    /// How often the necessary bytes are moved: 1 where none moves twice, 0 where none is
    /// necessary.
    pub fn moved_times(&self) -> f64 {
        if self.necessary_bytes > 0.0 { self.moved_bytes / self.necessary_bytes } else { 0.0 }
    }

    /// Registers per thread, and the words that do not fit: as compiled, or guessed.
    fn registers_and_spills(&self, info: &DeviceInfo) -> (u32, f64) {
        if self.registers > 0 {
            return (self.registers, f64::from(self.spilled) / 4.0);
        }
        let wanted = BARE_REGISTERS.saturating_add(self.private_words);
        let most = (info.registers_per_block / self.threads.max(1)).clamp(1, self.target.thread_registers);
        (wanted.min(most), f64::from(wanted.saturating_sub(most)))
    }

    /// Clocks that all instructions of warps would take on one multiprocessor, on the units that
    /// are busiest.
    fn instruction_clocks(&self, of: &Throughput, lanes: f64) -> f64 {
        self.units(of, lanes).into_iter().map(|(_, clocks)| clocks).fold(0.0, f64::max)
    }

    /// The units that execute most of the time, and the clocks that they would take for all
    /// instructions on one multiprocessor.
    pub(crate) fn busiest(&self, info: &DeviceInfo) -> (Unit, f64) {
        let units = self.units(&Throughput::of(info.compute_capability), f64::from(info.warp_size.max(1)));
        units.into_iter().fold((Unit::Issue, 0.0), |a, b| if b.1 > a.1 { b } else { a })
    }

    /// The clocks of four schedulers that each issue one instruction per clock, and of the units
    /// that take the results of this number of lanes.
    fn units(&self, of: &Throughput, lanes: f64) -> [(Unit, f64); 5] {
        let whole = (self.operations - self.fused).max(0.0) / lanes;
        let arithmetic = if self.arithmetic > 0.0 { self.arithmetic } else { whole };
        let accesses = self.global_requests + self.shared_requests;
        let begun =
            arithmetic + self.compared + self.conversions + accesses + self.shuffles + self.of_functions;
        let (begun, special) = self.of_machine_code.unwrap_or((begun, self.special));
        [
            (Unit::Issue, begun / 4.0),
            (Unit::Arithmetic, lanes * arithmetic / of.f32),
            (Unit::Comparisons, lanes * self.compared / of.compared),
            (Unit::Special, lanes * special / of.special),
            (Unit::Shuffles, lanes * self.shuffles / of.shuffled),
        ]
    }

    /// Recomputes the estimate for a machine and the limits of a device.
    pub fn estimate(&mut self, machine: &Machine, info: &DeviceInfo) {
        let (registers, spilled) = self.registers_and_spills(info);
        let held = occupancy(info, self.threads, registers, self.shared_bytes);
        let multiprocessors = f64::from(machine.multiprocessors.max(1));
        let blocks = self.blocks.max(1.0);
        self.bound_ms = 1e3 * self.necessary_bytes / machine.bandwidth;
        self.occupancy = held.fraction();
        self.waves = blocks / (f64::from(held.blocks.max(1)) * multiprocessors);
        // With few blocks, not every multiprocessor has one, or as many as it could hold.
        let working = blocks.min(multiprocessors);
        let resident = f64::from(held.blocks.max(1)).min((blocks / multiprocessors).max(1.0));
        let lanes = info.warp_size.max(1);
        let block_warps = f64::from(self.threads.div_ceil(lanes).max(1));
        let warps = resident * block_warps;
        let clocks = working * machine.clock;

        // Counts are those of all launches, and a thread lives in one.
        let launches = self.own_launches.max(1.0);
        let own_bytes = if self.own_bytes > 0.0 { self.own_bytes } else { self.moved_bytes };
        let of_thread = (own_bytes / (launches * blocks * f64::from(self.threads.max(1)))).max(1.0);
        let in_flight = if self.in_flight > 0.0 { self.in_flight.min(of_thread) } else { of_thread };
        let residents = Residents {
            blocks,
            places: f64::from(held.blocks.max(1)) * multiprocessors,
            warps: block_warps,
            lanes: f64::from(lanes),
            bytes: of_thread,
            in_flight,
            shuffles: self.shuffles / (launches * blocks * block_warps),
        };
        let busy = residents.busy_at_most(machine);
        let line = f64::from(self.target.line);
        let run = if self.lines > 0.0 { (self.moved_bytes / self.lines).max(1.0) } else { line };
        let open = warps * working * f64::from(lanes) * in_flight * line / run;
        let again = if open > machine.l2_bytes / 2.0 { (line / run).clamp(1.0, 2.0) } else { 1.0 };
        let (needed_once, asked_for) =
            ((self.necessary_bytes + self.kept_bytes) * again, self.moved_bytes / CACHE_RATE);
        let memory = needed_once.max(asked_for) / machine.bandwidth * residents.stretch(machine);
        let lines = self.lines * CLOCKS_A_LINE / clocks;
        let instructions =
            self.instruction_clocks(&Throughput::of(info.compute_capability), f64::from(lanes)) / clocks;
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
        let started = launches * blocks * CLOCKS_A_BLOCK / machine.clock;
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
        // Each spilled word is stored and reloaded where it is used.
        seconds *= 1.0 + spilled / 4.0;
        self.estimate_ms = 1e3 * (seconds + LAUNCH * self.launches);
    }

    /// Records what the compiler reports of the candidate: registers, spills, and the resulting
    /// occupancy. The estimate is kept.
    pub fn compiled(&mut self, program: &Program, resources: &[KernelResources], info: &DeviceInfo) {
        self.note(resources);
        let fractions = program.kernels.iter().map(|k| held(k, resources, info).fraction());
        self.occupancy = fractions.fold(1.0, f64::min);
    }

    /// Records registers and spills.
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
            moved_bytes: c.global_bytes_moved() as f64 * work,
            kept_bytes: kept_bytes(counted, machine.l2_bytes),
            lines: (c.global_loads.lines + c.global_stores.lines) as f64 * work,
            global_requests: (c.global_loads.requests + c.global_stores.requests) as f64 * work,
            shared_requests: (c.shared_loads.requests + c.shared_stores.requests) as f64 * work,
            wavefronts: (c.shared_loads.wavefronts + c.shared_stores.wavefronts) as f64 * work,
            bank_conflicts: c.bank_conflicts() as f64 * work,
            operations: operations(c) * work,
            arithmetic: arithmetic(c) * work,
            compared: compared(c) * work,
            special: (c.issued.functions + c.issued.float_division) as f64 * work,
            conversions: c.issued.conversions as f64 * work,
            fused: c.operations.float_multiply.min(c.operations.float_add) as f64 * work,
            shuffles: c.shuffles as f64 * work,
            barriers: c.barriers as f64 * work,
            launches: c.launches as f64 * counted.launches,
            idle: if lanes > 0.0 { c.idle_lanes as f64 / lanes } else { 0.0 },
            in_flight: waits.mean(),
            target: program.target,
            ..Cost::default()
        };
        cost.note(resources);
        let busiest = (0..program.kernels.len()).max_by_key(|k| (traffic(*k), std::cmp::Reverse(*k)));
        if let Some((k, kernel)) = busiest.and_then(|k| Some((k, program.kernels.get(k)?))) {
            let axis = |value| eval_host(value, &|name: &Name| counted.integers.get(name).copied());
            let grid = kernel.grid.values().map(axis).map(|n| n.map(|n| n.max(0) as f64));
            let on_sample = report.kernels.get(k).map_or(0, |(_, c)| c.blocks) as f64;
            let launches = report.kernels.get(k).map_or(1, |(_, c)| c.launches).max(1) as f64;
            cost.own_launches = launches * counted.launches;
            // A grid that differs between launches is taken as their mean.
            let mean = on_sample * work / cost.own_launches;
            cost.blocks = grid.product::<Option<f64>>().unwrap_or(mean);
            cost.own_bytes = report.kernels.get(k).map_or(0, |(_, c)| c.global_bytes_moved()) as f64 * work;
            cost.threads = kernel.threads();
            cost.shared_bytes = u32::try_from(kernel.shared_bytes()).unwrap_or(u32::MAX);
            let words = kernel.private.iter().map(|a| a.bytes().div_ceil(4)).sum::<u64>();
            cost.private_words = u32::try_from(words).unwrap_or(u32::MAX);
        }
        cost.estimate(machine, info);
        cost
    }
}

/// Number of resident blocks of a kernel per multiprocessor, assuming 32 registers per thread if
/// nothing was compiled.
pub(crate) fn held(kernel: &DeviceKernel, resources: &[KernelResources], info: &DeviceInfo) -> Occupancy {
    let compiled = resources.iter().find(|r| r.name == *kernel.name);
    let shared = u32::try_from(kernel.shared_bytes()).unwrap_or(u32::MAX);
    occupancy(info, kernel.threads(), compiled.map_or(32, |r| r.registers), shared)
}

fn operations(c: &Counters) -> f64 {
    let o = &c.operations;
    (o.float_add + o.float_multiply + o.float_division + o.functions) as f64
}

fn arithmetic(c: &Counters) -> f64 {
    let o = &c.issued;
    let fused = o.float_multiply.min(o.float_add);
    (o.float_add + o.float_multiply + o.float_division + o.functions - fused) as f64
}

fn compared(c: &Counters) -> f64 {
    let o = &c.issued;
    (o.comparisons + o.choices + o.float_extremes + o.integer) as f64 + DIVISION * o.integer_division as f64
}
