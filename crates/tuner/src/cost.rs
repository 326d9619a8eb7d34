//! What a candidate costs by counts alone, before anything is timed.
//!
//! The emulator runs the program on a sample of the problem and counts requests, sectors, wavefronts and warp instructions; the compiled
//! binary says how many registers a thread takes, and so how many warps are resident. The estimate is a roofline with two corrections:
//!
//! * memory: the bytes that must move at all, over the device's bandwidth; all sectors that are asked for, over the bandwidth of the
//!   second-level cache (taken as 2.5 times that of the memory);
//! * in flight: by Little's law the memory is kept busy only by `bandwidth * latency` bytes under way. A thread has those under way that it
//!   loads in one iteration of its innermost loop that is not unrolled;
//! * issue: warp instructions over four schedulers a multiprocessor, wavefronts of shared memory over one a clock;
//! * waves: the last wave of blocks may be partly empty, and few blocks leave multiprocessors idle;
//! * a launch costs three microseconds.
//!
//! `bound_ms` leaves out everything but what the memory must move: nothing that computes the same can be faster.

use loopwright_emulator::Counters;
use loopwright_lowering::program::{DeviceKernel, MemRef, Memory, Program, Step, Stmt, Value, ValueKind};
use loopwright_runtime::cuda::{DeviceInfo, Occupancy, occupancy};
use loopwright_runtime::nvrtc::KernelResources;
use serde::{Deserialize, Serialize};

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
}

/// Lanes of a multiprocessor that work on f32 in one clock, on current devices.
const F32_LANES: f64 = 128.0;

impl Machine {
    /// Operations on f32 a second, fused ones counted as two.
    pub fn peak(&self) -> f64 {
        2.0 * F32_LANES * f64::from(self.multiprocessors) * self.clock
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
        }
    }

    /// What the device's own description says. A device that does not say (the emulator) is taken for one with 132 multiprocessors at
    /// 1.7 GHz and 3.3 TB/s.
    pub fn described(info: &DeviceInfo) -> Machine {
        let real = info.memory_bus_bits > 0;
        Machine {
            device: info.name.clone(),
            bandwidth: info.peak_bandwidth().unwrap_or(3.3e12),
            measured: false,
            latency: 700e-9,
            multiprocessors: if real { info.multiprocessors } else { 132 },
            clock: if info.clock_khz > 0 { f64::from(info.clock_khz) * 1e3 } else { 1.7e9 },
        }
    }
}

/// What a candidate costs by counts. Counts are those of the whole problem, scaled up from the sample.
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
    /// Floating-point operations of lanes.
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
    /// Bytes that a thread has under way before it waits, the least of its kernels that load in a loop.
    pub in_flight: f64,
    /// Waves of blocks.
    pub waves: f64,
}

/// What the estimate is made from.
pub struct Counted<'a> {
    /// The program.
    pub program: &'a Program,
    /// The emulator's counts on the sample.
    pub counters: &'a Counters,
    /// What the compiler says; empty where nothing was compiled.
    pub resources: &'a [KernelResources],
    /// Bytes of the sample's arrays that must move.
    pub necessary_bytes: f64,
    /// How many times larger the problem is than the sample.
    pub scale: f64,
}

impl Cost {
    /// Notes what the compiler says of the candidate: registers, spills, and the occupancy that follows. The estimate stays.
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

    /// The estimate for a machine.
    pub fn of(counted: &Counted<'_>, machine: &Machine, info: &DeviceInfo) -> Cost {
        let Counted { program, counters: c, resources, scale, .. } = counted;
        let sectors = (c.global_loads.sectors + c.global_stores.sectors) as f64 * scale;
        let moved_bytes = 32.0 * sectors;
        let necessary_bytes = counted.necessary_bytes * scale;
        let lanes = (c.active_lanes + c.idle_lanes) as f64;
        let wavefronts = (c.shared_loads.wavefronts + c.shared_stores.wavefronts) as f64 * scale;
        let mut cost = Cost {
            bound_ms: 1e3 * necessary_bytes / machine.bandwidth,
            necessary_bytes,
            moved_bytes,
            operations: operations(c) * scale,
            bank_conflicts: c.bank_conflicts() as f64 * scale,
            idle: if lanes > 0.0 { c.idle_lanes as f64 / lanes } else { 0.0 },
            registers: resources.iter().map(|r| r.registers).max().unwrap_or(0),
            spilled: resources.iter().map(|r| r.spill_load_bytes + r.spill_store_bytes).max().unwrap_or(0),
            occupancy: 1.0,
            in_flight: f64::INFINITY,
            ..Cost::default()
        };
        let mut resident = 0.0f64;
        let mut warps = f64::INFINITY;
        for kernel in &program.kernels {
            let held = held(kernel, resources, info);
            cost.occupancy = cost.occupancy.min(held.fraction());
            resident = resident.max(f64::from(held.blocks));
            warps = warps.min(f64::from(held.warps));
            let bytes = in_flight(program, kernel);
            if bytes > 0.0 {
                cost.in_flight = cost.in_flight.min(bytes);
            }
        }
        if !cost.in_flight.is_finite() {
            cost.in_flight = 0.0;
        }
        let multiprocessors = f64::from(machine.multiprocessors.max(1));
        let blocks = (c.blocks as f64 * scale).max(1.0);
        cost.waves = blocks / (resident * multiprocessors).max(1.0);
        // A later wave that is not full takes as long as a full one.
        let filled = if cost.waves > 1.0 { cost.waves / cost.waves.ceil() } else { 1.0 };
        // With few blocks not every multiprocessor has one, or all that it could hold.
        let working = blocks.min(multiprocessors);
        let held = if resident > 0.0 { (blocks / multiprocessors / resident).min(1.0) } else { 0.0 };

        let under_way = warps.min(1e6) * held * 32.0 * cost.in_flight.max(4.0);
        let needed = machine.bandwidth * machine.latency / multiprocessors;
        let busy = (under_way / needed).clamp(1e-4, 1.0);
        let memory =
            (necessary_bytes / machine.bandwidth).max(moved_bytes / (2.5 * machine.bandwidth)) / busy;
        let issue = lanes / 32.0 * scale / (working * 4.0 * machine.clock);
        let shared = wavefronts / (working * machine.clock);
        let spills = 1.0 + f64::from(cost.spilled) / 64.0;
        let seconds = memory.max(issue).max(shared) * spills / filled + 3e-6 * c.launches as f64;
        cost.estimate_ms = 1e3 * seconds;
        cost
    }
}

/// How many blocks of a kernel a multiprocessor holds; of 32 registers a thread where nothing was compiled.
pub(crate) fn held(kernel: &DeviceKernel, resources: &[KernelResources], info: &DeviceInfo) -> Occupancy {
    let compiled = resources.iter().find(|r| r.name == *kernel.name);
    let shared = u32::try_from(kernel.shared_bytes()).unwrap_or(u32::MAX);
    occupancy(info, kernel.threads(), compiled.map_or(32, |r| r.registers), shared)
}

fn operations(c: &Counters) -> f64 {
    let o = &c.operations;
    (o.float_add + o.float_multiply + o.float_division + o.functions) as f64
}

/// Bytes that a thread loads from global memory in one iteration of an innermost loop that is not unrolled, or in straight code;
/// the least over such loops, 0 where nothing is loaded.
pub(crate) fn in_flight(program: &Program, kernel: &DeviceKernel) -> f64 {
    let mut loops = Vec::new();
    let straight = gather(program, &kernel.body, &mut loops);
    let least = loops.into_iter().filter(|b| *b > 0.0).fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { straight }
}

/// Bytes loaded by these statements outside of rolled loops; the bytes of each rolled loop's iteration go to `loops`.
fn gather(program: &Program, body: &[Stmt], loops: &mut Vec<f64>) -> f64 {
    let mut bytes = 0.0;
    for stmt in body {
        match stmt {
            Stmt::For { lower, upper, step, unroll, body, .. } => {
                let once = gather(program, body, loops);
                match trips(lower, upper, *step).filter(|_| *unroll) {
                    Some(trips) => bytes += once * trips,
                    None => loops.push(once),
                }
            }
            Stmt::If { body, otherwise, .. } => {
                bytes += gather(program, body, loops).max(gather(program, otherwise, loops));
            }
            Stmt::Collective { body, .. } => bytes += gather(program, body, loops),
            Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } => {
                bytes += loaded(program, value);
            }
            Stmt::VectorCopy { from, lanes, .. } => bytes += f64::from(*lanes) * element(program, from),
            Stmt::Declare(_) | Stmt::Sync { .. } => {}
        }
    }
    bytes
}

fn trips(lower: &Value, upper: &Value, step: Step) -> Option<f64> {
    match (lower.as_int()?, upper.as_int()?, step) {
        (a, b, Step::Add(s)) if s > 0 => Some(((b - a).max(0) as f64 / s as f64).ceil()),
        _ => None,
    }
}

/// Bytes of an element in global memory, 0 elsewhere.
fn element(program: &Program, from: &MemRef) -> f64 {
    match from.memory {
        Memory::Global(global) => program.globals.get(global).map_or(0.0, |g| g.dtype.bytes() as f64),
        _ => 0.0,
    }
}

fn loaded(program: &Program, value: &Value) -> f64 {
    let own = match &value.kind {
        ValueKind::Load(from) => element(program, from),
        _ => 0.0,
    };
    own + value.children().into_iter().map(|v| loaded(program, v)).sum::<f64>()
}
