//! One block: runs its warps in turn between barriers, counts, and identifies the instances of a
//! fault.
//!
//! Warp 0 runs until it waits at a barrier or ends, then warp 1, and so on; when all wait at the
//! same barrier, the next phase begins. That is one legal order of the block's threads; anything
//! that another order could change is a race, and is reported as one. A block is deterministic as
//! long as no other block writes what it reads, which is also a race.

use loopwright_kernel_ir::{DType, Name, Number, PerDim};
use loopwright_program::{DeviceKernel, Memory, Program, Scope};

use crate::{
    bytecode::{CLASSES, Class, Code, Preset, Reg, is_wide},
    counters::{AccessTraffic, Counters, Operations},
    fault::{Act, Fault, FaultKind, Instance},
    flights::UnderWay,
    lanes,
    look_back::Board,
    memory::GlobalArray,
    options::{DeviceClosure, Options},
    permuted::Permuted,
    shadow::{MOST_SYNCS, Stamp, Who},
    trace::{Target, Trace},
    traffic::Pieces,
    warp::{SharedArray, State, Warp},
    words::active,
};

/// One launch of a kernel, shared by all its blocks.
pub(crate) struct Launch<'a> {
    pub program: &'a Program,
    pub kernel: &'a DeviceKernel,
    pub code: &'a Code,
    pub options: &'a Options,
    pub globals: &'a [GlobalArray],
    /// The closures of the program's device functions.
    pub closures: &'a [Option<DeviceClosure>],
    /// Number of the launch within the run, from 1.
    pub number: u32,
    pub grid: PerDim<i64>,
    /// In which pieces memory is accessed.
    pub pieces: Pieces,
    /// The bits of each preset that is a parameter.
    pub params: Vec<u64>,
    /// What blocks have published that look back.
    pub published: Board,
}

/// A fault, and the cell to watch when the run is repeated to find the other instance.
#[derive(Debug)]
pub(crate) struct Failure {
    pub fault: Fault,
    pub target: Option<Target>,
}

impl From<Fault> for Box<Failure> {
    fn from(fault: Fault) -> Self {
        Box::new(Failure { fault, target: None })
    }
}

pub(crate) type Outcome<T> = Result<T, Box<Failure>>;

/// The state of the block being run. It is reused from block to block.
pub(crate) struct Block<'a, const W: usize> {
    pub launch: &'a Launch<'a>,
    pub warps: Vec<Warp<W>>,
    pub shared: Vec<SharedArray>,
    /// Its linear index in the grid.
    pub number: u32,
    pub at: PerDim<i64>,
    /// Number of block-wide barriers passed.
    pub barriers: u32,
    pub counters: Counters,
    /// Traffic, indexed by access number.
    pub accessed: Vec<AccessTraffic>,
    /// Whether memory was accessed since this was last reset, if accesses are counted; and whether
    /// each warp has accessed it.
    pub touched: bool,
    worked: Vec<bool>,
    /// Lanes and warp instructions for each class of operations.
    pub lanes: [u64; CLASSES],
    pub issued: [u64; CLASSES],
    pub steps: u64,
    pub trace: Option<Trace>,
    /// Asynchronous copies that have been issued and have not taken effect yet.
    pub under_way: UnderWay,
    /// Whether it waits for what another block publishes.
    pub blocked: bool,
}

/// How far a block has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// All of its threads have ended.
    Ended,
    /// It has published something, and goes on when it is resumed.
    Published,
    /// It waits for what another block publishes.
    Waits,
}

impl<'a, const W: usize> Block<'a, W> {
    pub fn new(launch: &'a Launch<'a>, trace: Option<Trace>) -> Block<'a, W> {
        let (kernel, code) = (launch.kernel, launch.code);
        let threads = kernel.threads();
        let warps: Vec<_> = (0..threads.div_ceil(W as u32) as usize)
            .map(|n| Warp::new(code, &kernel.private, n, threads))
            .collect();
        let mut block = Block {
            launch,
            warps,
            shared: SharedArray::all(&kernel.shared),
            number: 0,
            at: PerDim::all(0),
            barriers: 0,
            counters: Counters::default(),
            accessed: vec![AccessTraffic::default(); code.accesses.len()],
            touched: false,
            worked: Vec::new(),
            lanes: [0; CLASSES],
            issued: [0; CLASSES],
            steps: 0,
            trace,
            under_way: UnderWay::default(),
            blocked: false,
        };
        for ((preset, dtype, reg), bits) in code.presets.iter().zip(&launch.params) {
            for warp in 0..block.warps.len() {
                match preset {
                    Preset::Constant(bits) => block.fill(warp, *dtype, *reg, |_| *bits),
                    Preset::Param(_) => block.fill(warp, *dtype, *reg, |_| *bits),
                    Preset::ThreadIdx(dim) => block.fill(warp, *dtype, *reg, |lane| {
                        thread_of(kernel.block, warp * W + lane)[*dim].into()
                    }),
                    Preset::BlockIdx(_) => {}
                }
            }
        }
        block
    }

    fn fill(&mut self, warp: usize, dtype: DType, reg: Reg, bits: impl Fn(usize) -> u64) {
        let warp = &mut self.warps[warp];
        for lane in 0..W {
            let value = Number::from_bits(dtype, bits(lane));
            if is_wide(dtype) {
                warp.wide[reg as usize][lane] = value.bits();
            } else {
                warp.narrow[reg as usize][lane] = lanes::narrow_word(value);
            }
        }
    }

    /// Runs the block with this linear index, of a kernel whose blocks do not look back.
    pub fn run(&mut self, number: u32) -> Outcome<()> {
        self.start(number)?;
        self.resume().map(|_| ())
    }

    /// Begins the block with this linear index.
    pub fn start(&mut self, number: u32) -> Outcome<()> {
        let PerDim { x, y, .. } = self.launch.grid;
        let n = i64::from(number);
        self.number = number;
        self.at = PerDim { x: n % x, y: n / x % y, z: n / x / y };
        (self.barriers, self.steps) = (0, 0);
        for (preset, dtype, reg) in &self.launch.code.presets {
            if let Preset::BlockIdx(dim) = preset {
                let value = Number::from_bits(*dtype, self.at[*dim] as u64);
                for warp in &mut self.warps {
                    if is_wide(*dtype) {
                        warp.wide[*reg as usize] = [value.bits(); W];
                    } else {
                        warp.narrow[*reg as usize] = [lanes::narrow_word(value); W];
                    }
                }
            }
        }
        self.warps.iter_mut().for_each(Warp::restart);
        self.shared.iter_mut().for_each(SharedArray::restart);
        self.under_way.restart();
        self.counters.blocks += 1;
        self.worked.clear();
        self.worked.resize(self.warps.len(), false);
        self.is_numbered()
    }

    /// Runs the block until it ends or looks back.
    pub fn resume(&mut self) -> Outcome<Progress> {
        self.blocked = false;
        for warp in &mut self.warps {
            if warp.state == State::Looking {
                warp.state = State::Running;
            }
        }
        loop {
            // Another order between each two barriers.
            let seed = self.launch.options.order.map(|seed| {
                seed.wrapping_add(u64::from(self.barriers)).wrapping_add(u64::from(self.number) << 32)
            });
            let order = Permuted::new(self.warps.len() as u64, seed);
            for n in 0..self.warps.len() as u64 {
                let n = order.at(n) as usize;
                if self.warps[n].state == State::Running {
                    let mut warp = std::mem::take(&mut self.warps[n]);
                    let result = self.run_warp(&mut warp);
                    self.warps[n] = warp;
                    result?;
                    self.worked[n] |= std::mem::take(&mut self.touched);
                }
            }
            if self.warps.iter().all(|w| w.state == State::Ended) {
                if self.launch.options.count {
                    self.counters.idle_warps += self.worked.iter().filter(|worked| !**worked).count() as u64;
                }
                return Ok(Progress::Ended);
            }
            if self.warps.iter().any(|w| w.state == State::Looking) {
                return Ok(if self.blocked { Progress::Waits } else { Progress::Published });
            }
            self.meet()?;
        }
    }

    /// All warps wait or have ended: opens the barrier if they are at the same one.
    fn meet(&mut self) -> Outcome<()> {
        if self.launch.options.checks.divergence {
            let first = self.warps.iter().find(|w| matches!(w.state, State::Waiting(_)));
            let other = first.and_then(|f| self.warps.iter().find(|w| w.state != f.state));
            if let (Some(waits), Some(other)) = (first, other)
                && let State::Waiting(site) = waits.state
            {
                let kind = FaultKind::DivergentBarrier(Scope::Block);
                let mut failure = self.failure(kind, waits, lowest(waits.exists), site, Act::Waits);
                let (other_site, act, detail) = match other.state {
                    State::Waiting(other) => (other, Act::Waits, "warps wait at different barriers"),
                    _ => (site, Act::Absent, "a warp has ended while another waits"),
                };
                failure.fault.first = failure.fault.second.take();
                let mut second = self.instance(other, lowest(other.exists), other_site, act);
                if act == Act::Absent {
                    second.values.clear();
                }
                failure.fault.second = Some(second);
                failure.fault.detail = detail.to_owned();
                return Err(failure);
            }
        }
        self.barriers += 1;
        self.counters.barriers += 1;
        if self.barriers >= MOST_SYNCS {
            return Err(self.too_many("more barriers than the emulator can tell apart"));
        }
        for warp in &mut self.warps {
            warp.syncs = 0;
            if let State::Waiting(_) = warp.state {
                warp.state = State::Running;
            }
        }
        Ok(())
    }

    pub fn too_many(&self, detail: &str) -> Box<Failure> {
        let mut fault = Fault::new(FaultKind::StepLimit, detail);
        fault.kernel = Some(self.launch.kernel.name.clone());
        fault.into()
    }

    /// An execution of the statement at a site.
    pub fn instance(&self, warp: &Warp<W>, lane: usize, site: u32, act: Act) -> Instance {
        let code = self.launch.code;
        let site = &code.sites[site as usize];
        let leaf = site.leaf.and_then(|l| self.launch.program.leaves.get(l.0));
        let mut values: Vec<(Name, i64)> = Vec::new();
        let mut scope = site.scope;
        while scope > 0 {
            let (shown, outer) = &code.scopes[scope - 1];
            let word = if is_wide(shown.dtype) {
                warp.wide[shown.reg as usize][lane]
            } else {
                warp.narrow[shown.reg as usize][lane].into()
            };
            values.push((shown.name.clone(), lanes::number(shown.dtype, word).as_i64().unwrap_or(0)));
            scope = *outer;
        }
        values.reverse();
        Instance {
            leaf: site.leaf,
            part: leaf.map_or_else(|| site.what.to_owned(), |l| l.part.to_string()),
            text: leaf.map_or_else(String::new, |l| l.text.clone()),
            act,
            block: self.at,
            thread: thread_of(self.launch.kernel.block, warp.number * W + lane),
            values,
        }
    }

    /// A fault in one lane, with the instance that it executes as the second one.
    pub fn failure(&self, kind: FaultKind, warp: &Warp<W>, lane: usize, site: u32, act: Act) -> Box<Failure> {
        let mut fault = Fault::new(kind, "");
        fault.kernel = Some(self.launch.kernel.name.clone());
        fault.second = Some(self.instance(warp, lane, site, act));
        fault.into()
    }

    /// The stamp of the current step of the warp's lane 0.
    pub fn stamp(&self, warp: &Warp<W>) -> Stamp {
        Stamp::new(self.barriers, warp.syncs, warp.number)
    }

    pub fn who(&self) -> Who {
        Who::new(self.launch.number, self.number)
    }

    /// The counters, including the operations of all blocks run so far.
    pub fn counted(&self) -> Counters {
        let mut counters = self.counters;
        if !self.launch.options.count {
            return counters;
        }
        let by_class = |of: &[u64; CLASSES]| Operations {
            integer: of[Class::Integer as usize],
            integer_division: of[Class::IntegerDivision as usize],
            float_add: of[Class::FloatAdd as usize],
            float_multiply: of[Class::FloatMultiply as usize],
            float_division: of[Class::FloatDivision as usize],
            float_extremes: of[Class::FloatExtreme as usize],
            functions: of[Class::Function as usize],
            comparisons: of[Class::Comparison as usize],
            logic: of[Class::Logic as usize],
            choices: of[Class::Choice as usize],
            conversions: of[Class::Conversion as usize],
            index: of[Class::Index as usize],
        };
        (counters.operations, counters.issued) = (by_class(&self.lanes), by_class(&self.issued));
        for class in 0..Class::Check as usize {
            counters.active_lanes += self.lanes[class];
            counters.idle_lanes += W as u64 * self.issued[class] - self.lanes[class];
        }
        counters
    }

    /// The failed cell, for the run that looks for the other instance.
    pub fn target(&self, memory: Memory, cell: i64) -> Target {
        Target { launch: self.launch.number, memory, cell }
    }
}

/// The lowest lane of a mask.
pub(crate) fn lowest(mask: u64) -> usize {
    active(mask).next().unwrap_or(0)
}

/// The coordinates of a thread in its block.
fn thread_of(block: PerDim<u32>, number: usize) -> PerDim<u32> {
    let n = number as u32;
    PerDim { x: n % block.x, y: n / block.x % block.y, z: n / block.x / block.y }
}
