//! One block: its warps in turn between barriers, and the code that they run.
//!
//! Warp 0 runs until it waits at a barrier or ends, then warp 1, and so on; when all wait at one barrier, the next phase begins.
//! That is one legal order of the block's threads; what another order could change is a race, and reported as one. Everything a block does is
//! deterministic as long as no other block writes what it reads, which is a race too.

use loopwright_kernel_ir::{DType, Name, Number};
use loopwright_lowering::program::{DeviceKernel, Memory, Program, Scope, ShuffleMode};

use crate::{
    bytecode::{CLASSES, Class, Code, DOUBLE, HALVE, Inst, MathFn, Preset, Reg, is_wide},
    counters::{AccessTraffic, Counters, Operations},
    fault::{Act, Fault, FaultKind, Instance},
    lanes::{self, LaneFault, WARP, active, lanes_of, select},
    memory::GlobalArray,
    options::{DeviceClosure, Options},
    quick,
    shadow::{MOST_SYNCS, Stamp, Who},
    trace::{Target, Trace},
    warp::{SharedArray, State, Warp},
};

/// One launch of a kernel, as all its blocks see it.
pub(crate) struct Launch<'a> {
    pub program: &'a Program,
    pub kernel: &'a DeviceKernel,
    pub code: &'a Code,
    pub options: &'a Options,
    pub globals: &'a [GlobalArray],
    /// The closures of the program's device functions.
    pub closures: &'a [Option<DeviceClosure>],
    /// Launches of the run, from 1.
    pub number: u32,
    pub grid: [i64; 3],
    /// For each preset that is a parameter, its bits.
    pub params: Vec<u64>,
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

/// The state of the block that runs. It serves one block after another.
pub(crate) struct Block<'a> {
    pub launch: &'a Launch<'a>,
    pub warps: Vec<Warp>,
    pub shared: Vec<SharedArray>,
    /// Its number in the grid.
    pub number: u32,
    pub at: [i64; 3],
    /// Barriers that it came through.
    pub barriers: u32,
    pub counters: Counters,
    /// By the number of the access.
    pub accessed: Vec<AccessTraffic>,
    /// For each class of operations, lanes and instructions.
    pub lanes: [u64; CLASSES],
    pub issued: [u64; CLASSES],
    steps: u64,
    pub trace: Option<Trace>,
}

impl<'a> Block<'a> {
    pub fn new(launch: &'a Launch<'a>, trace: Option<Trace>) -> Block<'a> {
        let (kernel, code) = (launch.kernel, launch.code);
        let threads = kernel.threads();
        let warps: Vec<_> = (0..threads.div_ceil(WARP as u32) as usize)
            .map(|n| Warp::new(code, &kernel.private, n, threads))
            .collect();
        let mut block = Block {
            launch,
            warps,
            shared: SharedArray::all(&kernel.shared),
            number: 0,
            at: [0; 3],
            barriers: 0,
            counters: Counters::default(),
            accessed: vec![AccessTraffic::default(); code.accesses.len()],
            lanes: [0; CLASSES],
            issued: [0; CLASSES],
            steps: 0,
            trace,
        };
        for ((preset, dtype, reg), bits) in code.presets.iter().zip(&launch.params) {
            for warp in 0..block.warps.len() {
                match preset {
                    Preset::Constant(bits) => block.fill(warp, *dtype, *reg, |_| *bits),
                    Preset::Param(_) => block.fill(warp, *dtype, *reg, |_| *bits),
                    Preset::ThreadIdx(axis) => block.fill(warp, *dtype, *reg, |lane| {
                        thread_of(kernel.block, warp * WARP + lane)[usize::from(*axis)].into()
                    }),
                    Preset::BlockIdx(_) => {}
                }
            }
        }
        block
    }

    fn fill(&mut self, warp: usize, dtype: DType, reg: Reg, bits: impl Fn(usize) -> u64) {
        let warp = &mut self.warps[warp];
        for lane in 0..WARP {
            let value = Number::from_bits(dtype, bits(lane));
            if is_wide(dtype) {
                warp.wide[reg as usize][lane] = value.bits();
            } else {
                warp.narrow[reg as usize][lane] = lanes::narrow_word(value);
            }
        }
    }

    /// Runs the block of this number.
    pub fn run(&mut self, number: u32) -> Outcome<()> {
        let [gx, gy, _] = self.launch.grid;
        let n = i64::from(number);
        self.number = number;
        self.at = [n % gx, n / gx % gy, n / gx / gy];
        (self.barriers, self.steps) = (0, 0);
        for (preset, dtype, reg) in &self.launch.code.presets {
            if let Preset::BlockIdx(axis) = preset {
                let value = Number::from_bits(*dtype, self.at[usize::from(*axis)] as u64);
                for warp in &mut self.warps {
                    if is_wide(*dtype) {
                        warp.wide[*reg as usize] = [value.bits(); WARP];
                    } else {
                        warp.narrow[*reg as usize] = [lanes::narrow_word(value); WARP];
                    }
                }
            }
        }
        self.warps.iter_mut().for_each(Warp::restart);
        self.shared.iter_mut().for_each(SharedArray::restart);
        self.counters.blocks += 1;
        loop {
            for n in 0..self.warps.len() {
                if self.warps[n].state == State::Running {
                    let mut warp = std::mem::take(&mut self.warps[n]);
                    let result = self.run_warp(&mut warp);
                    self.warps[n] = warp;
                    result?;
                }
            }
            if self.warps.iter().all(|w| w.state == State::Ended) {
                return Ok(());
            }
            self.meet()?;
        }
    }

    /// All warps wait or have ended: the barrier opens, if it is one.
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

    fn too_many(&self, detail: &str) -> Box<Failure> {
        let mut fault = Fault::new(FaultKind::StepLimit, detail);
        fault.kernel = Some(self.launch.kernel.name.clone());
        fault.into()
    }

    /// An execution of the statement of a site.
    pub fn instance(&self, warp: &Warp, lane: usize, site: u32, act: Act) -> Instance {
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
            thread: thread_of(self.launch.kernel.block, warp.number * WARP + lane),
            values,
        }
    }

    /// A fault that one lane shows.
    pub fn failure(&self, kind: FaultKind, warp: &Warp, lane: usize, site: u32, act: Act) -> Box<Failure> {
        let mut fault = Fault::new(kind, "");
        fault.kernel = Some(self.launch.kernel.name.clone());
        fault.second = Some(self.instance(warp, lane, site, act));
        fault.into()
    }

    fn lane_fault(&self, fault: LaneFault, warp: &Warp, site: u32) -> Box<Failure> {
        let (kind, lane) = match fault {
            LaneFault::DivisionByZero(lane) => (FaultKind::DivisionByZero, lane),
            LaneFault::Overflow(lane) => (FaultKind::IndexOverflow, lane),
        };
        self.failure(kind, warp, lane, site, Act::Computes)
    }

    /// The moment of what lane 0 of the warp does now.
    pub fn stamp(&self, warp: &Warp) -> Stamp {
        Stamp::new(self.barriers, warp.syncs, warp.number)
    }

    pub fn who(&self) -> Who {
        Who::new(self.launch.number, self.number)
    }

    #[inline]
    fn count(&mut self, class: Class, mask: u32) {
        self.lanes[class as usize] += u64::from(mask.count_ones());
        self.issued[class as usize] += 1;
    }

    /// The counters, with the operations of all blocks that it served.
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
            counters.idle_lanes += WARP as u64 * self.issued[class] - self.lanes[class];
        }
        counters
    }

    /// Runs a warp until it waits or ends.
    fn run_warp(&mut self, warp: &mut Warp) -> Outcome<()> {
        let insts = &self.launch.code.insts[..];
        let limit = self.launch.options.max_steps;
        let mut pc = warp.pc as usize;
        let mut steps = self.steps;
        loop {
            steps += 1;
            if steps > limit {
                return Err(self.too_many(&format!("a block took more than {limit} steps")));
            }
            let inst = insts[pc];
            pc += 1;
            match inst {
                Inst::Move { wide, dst, src } => {
                    if wide {
                        warp.wide[dst as usize] = warp.wide[src as usize];
                    } else {
                        warp.narrow[dst as usize] = warp.narrow[src as usize];
                    }
                }
                Inst::MoveActive { wide, dst, src } => {
                    if wide {
                        let from = warp.wide[src as usize];
                        select(&mut warp.wide[dst as usize], &from, warp.mask);
                    } else {
                        let from = warp.narrow[src as usize];
                        select(&mut warp.narrow[dst as usize], &from, warp.mask);
                    }
                }
                Inst::Chosen { wide, dst, src, tally } => {
                    if wide {
                        warp.wide[dst as usize] = warp.wide[src as usize];
                    } else {
                        warp.narrow[dst as usize] = warp.narrow[src as usize];
                    }
                    let active = u64::from(warp.mask.count_ones());
                    for (class, times) in &self.launch.code.tallies[tally as usize] {
                        self.lanes[*class as usize] += active * times;
                        self.issued[*class as usize] += times;
                    }
                }
                Inst::Blend { wide, dst, c, a, b, class } => {
                    let mask = lanes_of(&warp.narrow[c as usize]);
                    if wide {
                        let mut out = warp.wide[b as usize];
                        select(&mut out, &warp.wide[a as usize], mask);
                        warp.wide[dst as usize] = out;
                    } else {
                        let mut out = warp.narrow[b as usize];
                        select(&mut out, &warp.narrow[a as usize], mask);
                        warp.narrow[dst as usize] = out;
                    }
                    self.count(class, warp.mask);
                }
                Inst::Binary { op, dtype, dst, a, b, class, exact, site } => {
                    self.count(class, warp.mask);
                    let (a, b) = (a as usize, b as usize);
                    if dst as usize != a
                        && dst as usize != b
                        && quick::binary_common(op, dtype, &mut warp.narrow, (dst as usize, a, b), exact)
                    {
                        continue;
                    }
                    let result = if !is_wide(dtype) {
                        let (x, y) = (&warp.narrow[a], &warp.narrow[b]);
                        lanes::binary_narrow(op, dtype, x, y, warp.mask, exact)
                            .map(|out| warp.narrow[dst as usize] = out)
                    } else if op.is_comparison() {
                        let out = lanes::compare_wide(op, dtype, &warp.wide[a], &warp.wide[b]);
                        warp.narrow[dst as usize] = out;
                        Ok(())
                    } else {
                        lanes::binary_wide(op, dtype, &warp.wide[a], &warp.wide[b], warp.mask, exact)
                            .map(|out| warp.wide[dst as usize] = out)
                    };
                    result.map_err(|fault| self.lane_fault(fault, warp, site))?;
                }
                Inst::Uniform { op, dtype, dst, a, b, class, exact, site } => {
                    self.count(class, warp.mask);
                    let (x, y) = (&warp.narrow[a as usize], &warp.narrow[b as usize]);
                    match quick::binary_scalar(op, x[0], y[0], exact) {
                        Some(value) => warp.narrow[dst as usize] = [value; WARP],
                        None => {
                            let result = lanes::binary_narrow(op, dtype, x, y, warp.mask, exact);
                            let out = result.map_err(|fault| self.lane_fault(fault, warp, site))?;
                            warp.narrow[dst as usize] = out;
                        }
                    }
                }
                Inst::Unary { op, dtype, dst, a, class, exact, site } => {
                    self.count(class, warp.mask);
                    let result = if is_wide(dtype) {
                        lanes::unary_wide(op, dtype, &warp.wide[a as usize], warp.mask, exact)
                            .map(|out| warp.wide[dst as usize] = out)
                    } else {
                        lanes::unary_narrow(op, dtype, &warp.narrow[a as usize], warp.mask, exact)
                            .map(|out| warp.narrow[dst as usize] = out)
                    };
                    result.map_err(|fault| self.lane_fault(fault, warp, site))?;
                }
                Inst::Cast { from, to, dst, src, class } => {
                    self.count(class, warp.mask);
                    let (dst, src) = (dst as usize, src as usize);
                    match (is_wide(from), is_wide(to)) {
                        (false, false) => {
                            warp.narrow[dst] = lanes::cast_narrow(from, to, &warp.narrow[src]);
                        }
                        (false, true) => warp.wide[dst] = lanes::cast_widen(from, to, &warp.narrow[src]),
                        (true, false) => {
                            warp.narrow[dst] = lanes::cast_shorten(from, to, &warp.wide[src]);
                        }
                        (true, true) => warp.wide[dst] = lanes::cast_wide(from, to, &warp.wide[src]),
                    }
                }
                Inst::Math { function, dtype, dst, args, class } => {
                    self.count(class, warp.mask);
                    let mask = warp.mask;
                    if !is_wide(dtype) {
                        let args = args.map(|a| &warp.narrow[a as usize]);
                        warp.narrow[dst as usize] = lanes::math_narrow(function, dtype, args, mask);
                    } else if function == MathFn::IsNan {
                        warp.narrow[dst as usize] = lanes::is_nan_wide(&warp.wide[args[0] as usize]);
                    } else {
                        let args = args.map(|a| &warp.wide[a as usize]);
                        warp.wide[dst as usize] = lanes::math_wide(function, dtype, args, mask);
                    }
                }
                Inst::User { call, dst } => self.user(warp, call, dst)?,
                Inst::Shuffle { mode, width, wide, dst, value, operand, site } => {
                    self.shuffle(warp, mode, width, wide, (dst, value, operand), site)?;
                }
                Inst::Any { dst, value, site } => {
                    self.all_lanes(warp, site)?;
                    let some = lanes_of(&warp.narrow[value as usize]) & warp.mask != 0;
                    warp.narrow[dst as usize] = [u32::from(some); WARP];
                }
                Inst::Since { dst, value, lane, site } => self.since(warp, (dst, value, lane), site)?,
                Inst::Load { access, dst } => self.load(warp, access, dst)?,
                Inst::Store { access, src } => self.store(warp, access, src)?,
                Inst::Update { access, src } => self.update(warp, access, src)?,
                Inst::VectorCopy { to, from, lanes } => self.vector_copy(warp, to, from, lanes)?,
                Inst::Defined { slot, site } => {
                    let without = warp.mask & !warp.defined[slot as usize];
                    if without != 0 {
                        let lane = lowest(without);
                        let mut failure = self.failure(FaultKind::Uninitialised, warp, lane, site, Act::Read);
                        failure.fault.array = self.launch.code.sites[site as usize].about.clone();
                        return Err(failure);
                    }
                }
                Inst::Define { slot } => warp.defined[slot as usize] |= warp.mask,
                Inst::Undefine { slot } => warp.defined[slot as usize] &= !warp.mask,
                Inst::If { cond, slot, other } => {
                    let holds = lanes_of(&warp.narrow[cond as usize]);
                    warp.masks[slot as usize] = warp.mask;
                    warp.masks[slot as usize + 1] = warp.mask & !holds;
                    warp.mask &= holds;
                    if warp.mask == 0 {
                        pc = other as usize;
                    }
                }
                Inst::Else { slot, end } => {
                    warp.mask = warp.masks[slot as usize + 1];
                    if warp.mask == 0 {
                        pc = end as usize;
                    }
                }
                Inst::Restore { slot } => warp.mask = warp.masks[slot as usize],
                Inst::LoopEnter { slot } => warp.masks[slot as usize] = warp.mask,
                Inst::LoopTest { wide, uniform, var, upper, down, end } => {
                    let (var, upper) = (var as usize, upper as usize);
                    if uniform {
                        let (v, u) = (warp.narrow[var][0] as i32, warp.narrow[upper][0] as i32);
                        if !(if down { v > u } else { v < u }) {
                            warp.mask = 0;
                            pc = end as usize;
                        }
                        continue;
                    }
                    let test = if wide {
                        let op = if down { loopwright_lowering::program::BinOp::Gt } else { LESS };
                        lanes::compare_wide(op, DType::I64, &warp.wide[var], &warp.wide[upper])
                    } else {
                        below(&warp.narrow[var], &warp.narrow[upper], down)
                    };
                    warp.mask &= lanes_of(&test);
                    if warp.mask == 0 {
                        pc = end as usize;
                    }
                }
                Inst::LoopNext { wide, uniform, var, step, head, site } => {
                    if uniform {
                        let lanes = &mut warp.narrow[var as usize];
                        let v = i64::from(lanes[0] as i32);
                        if let Some(Ok(next)) = advanced(v, step).map(i32::try_from) {
                            *lanes = [next as u32; WARP];
                            pc = head as usize;
                            continue;
                        }
                    }
                    let overflow = if wide {
                        advance_wide(&mut warp.wide[var as usize], step, warp.mask)
                    } else {
                        advance_narrow(&mut warp.narrow[var as usize], step, warp.mask)
                    };
                    if let Some(lane) = overflow {
                        // Past the greatest integer: the loop would not end as it should.
                        return Err(self.failure(FaultKind::IndexOverflow, warp, lane, site, Act::Computes));
                    }
                    pc = head as usize;
                }
                Inst::Sync { scope, site } => {
                    if warp.mask != warp.exists && self.launch.options.checks.divergence {
                        return Err(self.divergent(FaultKind::DivergentBarrier(scope), warp, site));
                    }
                    match scope {
                        Scope::Warp => {
                            warp.syncs += 1;
                            self.counters.warp_syncs += 1;
                            if warp.syncs >= MOST_SYNCS {
                                let detail = "more synchronisations than the emulator can tell apart";
                                return Err(self.too_many(detail));
                            }
                        }
                        Scope::Block => {
                            warp.state = State::Waiting(site);
                            break;
                        }
                    }
                }
                Inst::End => {
                    warp.state = State::Ended;
                    break;
                }
            }
        }
        warp.pc = pc as u32;
        self.counters.steps += steps - self.steps;
        self.steps = steps;
        Ok(())
    }

    /// Some lanes came to a place that all have to come to.
    fn divergent(&self, kind: FaultKind, warp: &Warp, site: u32) -> Box<Failure> {
        let mut failure = self.failure(kind, warp, lowest(warp.mask), site, Act::Waits);
        failure.fault.first = failure.fault.second.take();
        let absent = lowest(warp.exists & !warp.mask);
        failure.fault.second = Some(self.instance(warp, absent, site, Act::Absent));
        failure.fault.detail = "only some threads of a warp come to it".to_owned();
        failure
    }

    fn user(&mut self, warp: &mut Warp, call: u32, dst: Reg) -> Outcome<()> {
        self.count(Class::Function, warp.mask);
        let call = &self.launch.code.calls[call as usize];
        let Some(Some(closure)) = self.launch.closures.get(call.function) else { return Ok(()) };
        let mut args = Vec::with_capacity(call.args.len());
        for lane in active(warp.mask) {
            args.clear();
            for (dtype, reg) in &call.args {
                let word = if is_wide(*dtype) {
                    warp.wide[*reg as usize][lane]
                } else {
                    warp.narrow[*reg as usize][lane].into()
                };
                args.push(lanes::number(*dtype, word));
            }
            let result = closure(&args);
            if result.dtype() != call.result {
                let mut failure =
                    self.failure(FaultKind::MissingFunction, warp, lane, call.site, Act::Computes);
                failure.fault.detail = format!(
                    "the closure of `{}` gave a value of {} instead of {}",
                    self.launch.program.functions[call.function].name,
                    result.dtype(),
                    call.result
                );
                return Err(failure);
            }
            if is_wide(call.result) {
                warp.wide[dst as usize][lane] = result.bits();
            } else {
                warp.narrow[dst as usize][lane] = lanes::narrow_word(result);
            }
        }
        Ok(())
    }

    /// Counts an exchange among all lanes of a warp, and refuses it where some do not take part.
    fn all_lanes(&mut self, warp: &mut Warp, site: u32) -> Outcome<()> {
        if self.launch.options.checks.divergence && warp.mask != warp.exists {
            return Err(self.divergent(FaultKind::DivergentShuffle, warp, site));
        }
        self.counters.shuffles += 1;
        Ok(())
    }

    fn since(&mut self, warp: &mut Warp, (dst, value, lane): (Reg, Reg, Reg), site: u32) -> Outcome<()> {
        self.all_lanes(warp, site)?;
        let have = lanes_of(&warp.narrow[value as usize]) & warp.mask;
        for own in active(warp.mask) {
            let below = warp.narrow[lane as usize][own];
            if below > 31 {
                let mut failure = self.failure(FaultKind::DivergentShuffle, warp, own, site, Act::Computes);
                failure.fault.detail = format!("asks about lane {}, which no warp has", below as i32);
                return Err(failure);
            }
            warp.narrow[dst as usize][own] = (have << (31 - below)).leading_zeros();
        }
        Ok(())
    }

    fn shuffle(
        &mut self,
        warp: &mut Warp,
        mode: ShuffleMode,
        width: u8,
        wide: bool,
        (dst, value, operand): (Reg, Reg, Reg),
        site: u32,
    ) -> Outcome<()> {
        self.all_lanes(warp, site)?;
        if !wide && warp.mask == u32::MAX {
            // All lanes take part and exist.
            let from = &warp.narrow[value as usize];
            let out = quick::shuffled(mode, u32::from(width), from, &warp.narrow[operand as usize]);
            warp.narrow[dst as usize] = out;
            return Ok(());
        }
        let width = i64::from(width);
        let operand = warp.narrow[operand as usize];
        let mut source = [0; WARP];
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
                        format!("lane {lane} takes from lane {from}, which the block does not have");
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

    /// Where the cell that failed lies, for the run that looks for the other instance.
    pub fn target(&self, memory: Memory, cell: i64) -> Target {
        Target { launch: self.launch.number, memory, cell }
    }
}

const LESS: loopwright_lowering::program::BinOp = loopwright_lowering::program::BinOp::Lt;

fn below(var: &[u32; WARP], upper: &[u32; WARP], down: bool) -> [u32; WARP] {
    let mut out = [0; WARP];
    for i in 0..WARP {
        let (v, u) = (var[i] as i32, upper[i] as i32);
        out[i] = u32::from(if down { v > u } else { v < u });
    }
    out
}

/// The value of a loop's counter in the next iteration; `None` beyond 64 bits.
fn advanced(v: i64, step: i64) -> Option<i64> {
    match step {
        HALVE => Some(v / 2),
        DOUBLE => v.checked_mul(2),
        step => v.checked_add(step),
    }
}

fn advance_narrow(var: &mut [u32; WARP], step: i64, mask: u32) -> Option<usize> {
    let step32 = i32::try_from(step).unwrap_or(i32::MAX);
    let mut any = step > i64::from(i32::MAX);
    let before = *var;
    for v in var.iter_mut() {
        let (next, over) = match step {
            HALVE => ((*v as i32) / 2, false),
            DOUBLE => (*v as i32).overflowing_mul(2),
            _ => (*v as i32).overflowing_add(step32),
        };
        any |= over;
        *v = next as u32;
    }
    if !any {
        return None;
    }
    active(mask).find(|lane| {
        let next = advanced(i64::from(before[*lane] as i32), step);
        next.is_none_or(|v| i32::try_from(v).is_err())
    })
}

fn advance_wide(var: &mut [u64; WARP], step: i64, mask: u32) -> Option<usize> {
    let before = *var;
    let mut any = false;
    for v in var.iter_mut() {
        let next = advanced(*v as i64, step);
        any |= next.is_none();
        *v = next.map_or(*v, |next| next as u64);
    }
    if !any {
        return None;
    }
    active(mask).find(|lane| advanced(before[*lane] as i64, step).is_none())
}

/// The lowest lane of a mask.
pub(crate) fn lowest(mask: u32) -> usize {
    (mask.trailing_zeros() as usize).min(WARP - 1)
}

/// The coordinates of a thread.
pub(crate) fn thread_of(block: [u32; 3], number: usize) -> [u32; 3] {
    let n = number as u32;
    [n % block[0], n / block[0] % block[1], n / block[0] / block[1]]
}
