//! Runs a whole program: binds the arguments, executes the host statements, and distributes the
//! blocks of each launch over cores.
//!
//! A run that faults is repeated block by block, so that the reported fault is the first in that
//! order and always the same. A race, or a read of uninitialised data, is repeated once more with
//! its cell watched: this finds both instances of a race, and reports a value that has not been
//! written yet as a race. Arguments change only if the run succeeds.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
};

use loopwright_kernel_ir::{Buffer, DType, Name, Number, PerDim};
use loopwright_program::{
    DeviceKernel, Global, HostStmt, LocalArray, Memory, Owner, Program, ProgramArg, Table, Value, eval_host,
};

use crate::{
    arguments::Arguments,
    block::{Block, Failure, Launch, Outcome},
    bytecode::{Code, Preset},
    compile::compile,
    counters::{AccessTraffic, CountedAccess, Counters, Report},
    fault::{Fault, FaultKind},
    look_back::{Board, RESIDENT, in_turns},
    memory::{Cells, GlobalArray},
    options::{DeviceClosure, Options},
    permuted::Permuted,
    shadow::{GlobalCell, MOST_BLOCKS},
    trace::{Target, Trace},
    traffic::Pieces,
    words::WIDTHS,
};

/// A program compiled to flat code once, ready to run any number of times.
#[derive(Clone, Debug)]
pub struct Emulator {
    program: Arc<Program>,
    options: Options,
    codes: Vec<Code>,
}

impl Emulator {
    /// Checks and compiles the program. Faults: a broken invariant of the lowered form, or a
    /// missing closure.
    pub fn new(program: &Arc<Program>, options: &Options) -> Result<Emulator, Fault> {
        let codes = codes(program, options)?;
        Ok(Emulator { program: program.clone(), options: options.clone(), codes })
    }

    /// Runs it on the arguments. Written arrays change only if there is no fault.
    pub fn run(&self, arguments: &mut Arguments) -> Result<Report, Fault> {
        Machine { program: &self.program, options: &self.options, codes: &self.codes }.run(arguments)
    }
}

/// Runs the program once on the arguments.
pub fn run(program: &Program, arguments: &mut Arguments, options: &Options) -> Result<Report, Fault> {
    Machine { program, options, codes: &codes(program, options)? }.run(arguments)
}

fn codes(program: &Program, options: &Options) -> Result<Vec<Code>, Fault> {
    let lanes = program.target.warp_size;
    if !WIDTHS.contains(&lanes) {
        let widths = WIDTHS.map(|width| width.to_string()).join(" or ");
        let detail = format!("its warps have {lanes} threads, and the emulator supports warps of {widths}");
        return Err(Fault::new(FaultKind::OtherTarget, detail));
    }
    program.kernels.iter().map(|k| compile(program, k, options)).collect()
}

/// The inputs of a run, apart from its arguments.
#[derive(Clone, Copy)]
struct Machine<'a> {
    program: &'a Program,
    options: &'a Options,
    codes: &'a [Code],
}

/// How a run schedules the blocks of a launch.
#[derive(Clone, Copy, Debug)]
enum Manner {
    /// On the threads of a pool, in any order.
    Spread,
    /// One after another, by their linear indices.
    InOrder,
    /// One after another, with a cell watched.
    Watching(Target),
}

impl Machine<'_> {
    fn run(&self, arguments: &mut Arguments) -> Result<Report, Fault> {
        let failure = match self.once(arguments, Manner::Spread) {
            Ok((globals, report)) => {
                for (global, array) in self.program.globals.iter().zip(&globals) {
                    if global.written
                        && global.owner == Owner::Caller
                        && let Some(argument) = arguments.arrays.get_mut(&global.name)
                    {
                        array.copy_to(&mut argument.buffer);
                        argument.initialised |= array.valued.iter().all(|v| v.load(Ordering::Relaxed) != 0);
                    }
                }
                return Ok(report);
            }
            Err(failure) => failure,
        };
        // Without a kernel, the order of blocks does not matter.
        if failure.fault.kernel.is_none() {
            return Err(failure.fault);
        }
        let failure = match self.once(arguments, Manner::InOrder) {
            Err(first) => first,
            Ok(_) => failure,
        };
        // A missing value may be one that a race has not written yet; before that, another cell may
        // expose the race.
        let mut target = failure.target;
        for _ in 0..2 {
            let Some(watched) = target else { break };
            match self.once(arguments, Manner::Watching(watched)) {
                Err(both) if both.fault.first.is_some() && both.target.is_some() => return Err(both.fault),
                Err(other) if failure.fault.kind == FaultKind::Uninitialised => target = other.target,
                _ => break,
            }
        }
        Err(failure.fault)
    }

    fn once(&self, arguments: &Arguments, manner: Manner) -> Outcome<(Vec<GlobalArray>, Report)> {
        let scalars = self.scalars(arguments)?;
        let globals = self.globals(arguments, &scalars)?;
        let kernels = self.program.kernels.iter().map(|k| (k.name.clone(), Counters::default())).collect();
        let closures = self.program.functions.iter();
        let mut run = Run {
            machine: *self,
            closures: closures.map(|f| self.options.functions.get(&f.name).cloned()).collect(),
            globals,
            values: scalars,
            report: Report { total: Counters::default(), kernels, accesses: Vec::new() },
            accessed: vec![Vec::new(); self.program.kernels.len()],
            launches: 0,
            host_steps: 0,
            manner,
        };
        run.host(&self.program.host)?;
        for (_, counters) in &run.report.kernels {
            run.report.total += *counters;
        }
        run.report.accesses = self.accesses(&run.accessed);
        Ok((run.globals, run.report))
    }

    /// The accesses that ran, with their arrays' names.
    fn accesses(&self, accessed: &[Vec<AccessTraffic>]) -> Vec<CountedAccess> {
        let mut all = Vec::new();
        for (kernel, traffics) in accessed.iter().enumerate() {
            let (Some(code), Some(device)) = (self.codes.get(kernel), self.program.kernels.get(kernel))
            else {
                continue;
            };
            for (access, traffic) in code.accesses.iter().zip(traffics).filter(|(_, t)| t.requests > 0) {
                let array = match access.memory {
                    Memory::Global(n) => self.program.globals.get(n).map(|g| g.name.clone()),
                    Memory::Shared(n) => device.shared.get(n).map(|a| a.name.clone()),
                    Memory::Private(_) => None,
                };
                let Some(array) = array else { continue };
                all.push(CountedAccess {
                    kernel,
                    array,
                    shared: matches!(access.memory, Memory::Shared(_)),
                    write: access.write,
                    leaf: code.sites.get(access.site as usize).and_then(|s| s.leaf),
                    in_loop: access.in_loop,
                    traffic: *traffic,
                });
            }
        }
        all
    }

    fn scalars(&self, arguments: &Arguments) -> Result<BTreeMap<Name, Number>, Fault> {
        let mut scalars = BTreeMap::new();
        for scalar in self.program.scalars() {
            let Some(value) = arguments.scalars.get(&scalar.name) else {
                let detail = format!("the scalar `{}` is missing", scalar.name);
                return Err(Fault::new(FaultKind::Argument, detail));
            };
            if value.dtype() != scalar.dtype {
                let (name, is, needed) = (&scalar.name, value.dtype(), scalar.dtype);
                let detail = format!("the scalar `{name}` is of type {is}, not {needed}");
                return Err(Fault::new(FaultKind::Argument, detail));
            }
            scalars.insert(scalar.name.clone(), *value);
        }
        Ok(scalars)
    }

    fn globals(
        &self,
        arguments: &Arguments,
        scalars: &BTreeMap<Name, Number>,
    ) -> Result<Vec<GlobalArray>, Fault> {
        let args = self.program.args.iter();
        let unknown = args.filter(|a| matches!(a, ProgramArg::Array(n) if *n >= self.program.globals.len()));
        if unknown.count() > 0 {
            return Err(Fault::new(FaultKind::InvalidProgram, "an argument is an array that does not exist"));
        }
        let mut bytes = 0u64;
        let mut all = Vec::with_capacity(self.program.globals.len());
        for (number, global) in self.program.globals.iter().enumerate() {
            all.push(self.global(number, global, arguments, scalars, &mut bytes)?);
        }
        Ok(all)
    }

    fn global(
        &self,
        number: usize,
        global: &Global,
        arguments: &Arguments,
        scalars: &BTreeMap<Name, Number>,
        bytes: &mut u64,
    ) -> Result<GlobalArray, Fault> {
        let name = &global.name;
        let of_array = |kind, detail: String| {
            let mut fault = Fault::new(kind, detail);
            fault.array = Some(name.clone());
            fault
        };
        let eval = |v: &Value| {
            eval_host(v, &|n| scalars.get(n).and_then(|s| s.as_i64())).filter(|v| *v >= 0).ok_or_else(|| {
                of_array(FaultKind::Argument, "its shape, strides or size have no value".to_owned())
            })
        };
        let shape = global.shape.iter().map(eval).collect::<Result<Vec<_>, _>>()?;
        let strides = global.strides.iter().map(eval).collect::<Result<Vec<_>, _>>()?;
        if shape.len() != strides.len() {
            return Err(of_array(
                FaultKind::InvalidProgram,
                "the number of strides differs from the number of axes".to_owned(),
            ));
        }
        // Strides make a padded array without rows negative in size.
        let size = if shape.contains(&0) { 0 } else { eval(&global.size)? };
        let writes = self.codes.iter().any(|c| c.writes[number]);
        let races = self.options.checks.races && writes;
        let argument = match global.owner {
            Owner::Caller => {
                let Some(argument) = arguments.arrays.get(name) else {
                    return Err(of_array(FaultKind::Argument, "the array is missing".to_owned()));
                };
                let (is, len) = (argument.buffer.dtype(), argument.buffer.len());
                if is != global.dtype {
                    let detail = format!("the array is of type {is}, not {}", global.dtype);
                    return Err(of_array(FaultKind::Argument, detail));
                }
                if (len as u64) < size as u64 {
                    let detail = format!("the array has {len} elements and needs {size}");
                    return Err(of_array(FaultKind::Argument, detail));
                }
                Some(argument)
            }
            Owner::Program(_) if writes => {
                let detail = "a constant table is written".to_owned();
                return Err(of_array(FaultKind::InvalidProgram, detail));
            }
            Owner::Launch | Owner::Program(_) => None,
        };
        let table = global.table().map(|Table(numbers)| {
            let mut buffer = Buffer::zeros(global.dtype, numbers.len());
            numbers.iter().enumerate().all(|(k, number)| buffer.set(k, *number)).then_some(buffer)
        });
        let table = match table {
            Some(Some(buffer)) if buffer.len() as i64 == size => Some(buffer),
            Some(_) => {
                let detail = "the values of the table do not match its type and size".to_owned();
                return Err(of_array(FaultKind::InvalidProgram, detail));
            }
            None => None,
        };
        let constant = table.is_some();
        let watch = !constant && self.options.checks.uninitialised && argument.is_none_or(|a| !a.initialised);
        let shadow = if races { size_of::<GlobalCell>() } else { 0 };
        let element = (global.dtype.bytes() + shadow + usize::from(watch)) as u64;
        *bytes = bytes.saturating_add((size as u64).saturating_mul(element));
        if *bytes > self.options.max_bytes {
            let limit = self.options.max_bytes;
            let detail = format!("with this array the run needs {bytes} bytes, and {limit} are allowed");
            return Err(of_array(FaultKind::MemoryLimit, detail));
        }
        let n = size as usize;
        let cells = match (argument, table) {
            (None, Some(buffer)) => Cells::from_bytes(global.dtype, buffer.bytes()),
            (Some(argument), _) => {
                Cells::from_bytes(global.dtype, &argument.buffer.bytes()[..n * global.dtype.bytes()])
            }
            // Arbitrary initial contents: NaN, minus one, true.
            (None, None) => {
                let byte = if global.dtype == DType::Bool { 1 } else { 0xff };
                Cells::from_bytes(global.dtype, &vec![byte; n * global.dtype.bytes()])
            }
        };
        let valued = if watch { (0..n).map(|_| AtomicU8::new(0)).collect() } else { Vec::new() };
        let shadow = if races { (0..n).map(|_| GlobalCell::default()).collect() } else { Vec::new() };
        let base = self.program.field_place(number).map_or(0, |place| place.offset as i64);
        Ok(GlobalArray { name: name.clone(), shape, strides, size, base, cells, constant, valued, shadow })
    }
}

struct Run<'a> {
    machine: Machine<'a>,
    closures: Vec<Option<DeviceClosure>>,
    globals: Vec<GlobalArray>,
    /// The values of scalar arguments and host variables.
    values: BTreeMap<Name, Number>,
    report: Report,
    /// Traffic, indexed by device kernel, then by access.
    accessed: Vec<Vec<AccessTraffic>>,
    launches: u32,
    host_steps: u64,
    manner: Manner,
}

impl Run<'_> {
    fn eval(&self, value: &Value, what: &str) -> Result<i64, Fault> {
        eval_host(value, &|n| self.values.get(n).and_then(|s| s.as_i64()))
            .ok_or_else(|| Fault::new(FaultKind::InvalidProgram, format!("{what} has no value")))
    }

    fn host(&mut self, body: &[HostStmt]) -> Outcome<()> {
        for stmt in body {
            match stmt {
                HostStmt::For { var, lower, upper, body, .. } => {
                    let lower = self.eval(lower, "a bound of a host loop")?;
                    let upper = self.eval(upper, "a bound of a host loop")?;
                    for value in lower..upper {
                        self.host_steps += 1;
                        if self.host_steps > self.machine.options.max_steps {
                            let detail = "the host's loops take too many steps";
                            return Err(Fault::new(FaultKind::StepLimit, detail).into());
                        }
                        let number = Number::I64(value).cast(self.machine.program.index);
                        self.values.insert(var.clone(), number);
                        self.host(body)?;
                    }
                    self.values.remove(var);
                }
                HostStmt::Launch(kernel) => self.launch(*kernel)?,
            }
        }
        Ok(())
    }

    fn launch(&mut self, number: usize) -> Outcome<()> {
        let machine = self.machine;
        let Some((kernel, code)) = machine.program.kernels.get(number).zip(machine.codes.get(number)) else {
            return Err(
                Fault::new(FaultKind::InvalidProgram, "a launch of a kernel that does not exist").into()
            );
        };
        let result = self.launch_kernel(number, kernel, code);
        result.map_err(|mut failure| {
            failure.fault.kernel.get_or_insert_with(|| kernel.name.clone());
            failure
        })
    }

    fn launch_kernel(&mut self, number: usize, kernel: &DeviceKernel, code: &Code) -> Outcome<()> {
        let grid = PerDim::try_from_fn(|dim| self.eval(&kernel.grid[dim], "the grid"))?;
        if grid.values().any(|g| *g < 1) {
            return Ok(());
        }
        let blocks = grid.values().try_fold(1i64, |n, g| n.checked_mul(*g));
        let Some(blocks) = blocks.and_then(|n| u32::try_from(n).ok()).filter(|n| *n < MOST_BLOCKS) else {
            return Err(Fault::new(FaultKind::StepLimit, "too many blocks: more than 2^27 - 2").into());
        };
        let takes_turns = !code.looks.is_empty();
        let workers = match self.manner {
            // Blocks that wait for others take turns.
            _ if takes_turns => 1,
            _ if self.machine.options.order.is_some() => 1,
            // One worker, so that floating-point sums are the same in every run.
            _ if code
                .accesses
                .iter()
                .any(|a| a.atomic.is_some() && matches!(a.memory, Memory::Global(_))) =>
            {
                1
            }
            Manner::Spread => emulator_threads(self.machine.options).min(blocks as usize).max(1),
            Manner::InOrder | Manner::Watching(_) => 1,
        };
        check_memory(
            kernel,
            self.machine.program.target.warp_size,
            if takes_turns { RESIDENT as u64 } else { workers as u64 },
            self.machine.options.max_bytes,
        )?;
        self.launches = self.launches.checked_add(1).ok_or_else(|| {
            Box::<Failure>::from(Fault::new(FaultKind::StepLimit, "more than 2^32 launches"))
        })?;
        let launch = Launch {
            program: self.machine.program,
            kernel,
            code,
            options: self.machine.options,
            globals: &self.globals,
            closures: &self.closures,
            number: self.launches,
            grid,
            pieces: Pieces::of(&self.machine.program.target),
            params: self.params(code)?,
            published: Board::default(),
        };
        let target = match self.manner {
            Manner::Watching(target) if target.launch == self.launches => Some(target),
            _ => None,
        };
        let trace = target.map(Trace::new);
        let (counters, accessed) = match self.machine.program.target.warp_size {
            64 if takes_turns => in_turns::<64>(&launch, blocks, trace)?,
            _ if takes_turns => in_turns::<32>(&launch, blocks, trace)?,
            64 => run_blocks::<64>(&launch, blocks, workers, trace)?,
            _ => run_blocks::<32>(&launch, blocks, workers, trace)?,
        };
        add_all(&mut self.accessed[number], &accessed);
        let total = &mut self.report.kernels[number].1;
        *total += counters;
        total.launches += 1;
        Ok(())
    }

    /// The bits of the presets that are parameters; 0 for the others.
    fn params(&self, code: &Code) -> Result<Vec<u64>, Fault> {
        code.presets
            .iter()
            .map(|(preset, dtype, _)| match preset {
                Preset::Param(name) => {
                    let value = self.values.get(name).ok_or_else(|| {
                        Fault::new(FaultKind::InvalidProgram, format!("there is no parameter `{name}`"))
                    })?;
                    let cast = value.cast(*dtype);
                    // There are no implicit conversions, but a value-preserving one is accepted.
                    if cast.cast(value.dtype()) != *value || cast.as_i128() != value.as_i128() {
                        let detail =
                            format!("the parameter `{name}` = {value} is not representable as {dtype}");
                        return Err(Fault::new(FaultKind::Argument, detail));
                    }
                    Ok(cast.bits())
                }
                _ => Ok(0),
            })
            .collect()
    }
}

fn emulator_threads(options: &Options) -> usize {
    options.threads.unwrap_or_else(rayon::current_num_threads)
}

/// Refuses private and shared arrays that would exceed the memory limit.
fn check_memory(kernel: &DeviceKernel, lanes: u32, workers: u64, limit: u64) -> Result<(), Fault> {
    let bytes = |arrays: &[LocalArray], each: u64| {
        arrays.iter().try_fold(0u64, |sum, a| {
            let elements = match a.layout {
                Some(_) => a.elements(),
                None => a.dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d))?,
            };
            sum.checked_add(elements.checked_mul(each)?)
        })
    };
    // A shared cell takes 24 bytes; a private element 8 for each lane and a mask for each warp.
    let warps = u64::from(kernel.threads().div_ceil(lanes));
    let private = bytes(&kernel.private, 8 * u64::from(lanes) + 8).and_then(|b| b.checked_mul(warps));
    let sum =
        bytes(&kernel.shared, 24).zip(private).and_then(|(s, p)| s.checked_add(p)?.checked_mul(workers));
    match sum {
        Some(sum) if sum <= limit => Ok(()),
        _ => Err(Fault::new(FaultKind::MemoryLimit, "shared and private arrays are too large")),
    }
}

/// Adds the traffic of each access to what was counted before.
pub(crate) fn add_all(total: &mut Vec<AccessTraffic>, more: &[AccessTraffic]) {
    total.resize(total.len().max(more.len()), AccessTraffic::default());
    for (total, more) in total.iter_mut().zip(more) {
        *total += *more;
    }
}

/// Runs the blocks of a launch, whose warps have `W` threads.
fn run_blocks<const W: usize>(
    launch: &Launch<'_>,
    blocks: u32,
    workers: usize,
    trace: Option<Trace>,
) -> Outcome<(Counters, Vec<AccessTraffic>)> {
    if workers != 1 {
        return spread::<W>(launch, blocks, workers);
    }
    let mut block = Block::<W>::new(launch, trace);
    let order = Permuted::new(blocks.into(), launch.options.order);
    for n in 0..u64::from(blocks) {
        // Below the number of blocks.
        block.run(order.at(n) as u32)?;
    }
    Ok((block.counted(), block.accessed))
}

/// Runs the blocks on several workers, each of which repeatedly takes the next few blocks.
fn spread<const W: usize>(
    launch: &Launch<'_>,
    blocks: u32,
    workers: usize,
) -> Outcome<(Counters, Vec<AccessTraffic>)> {
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    // Of several faults, keep that of the lowest block; the ordered run decides anyway.
    type Outcome = (Counters, Option<(u32, Box<Failure>)>, Vec<AccessTraffic>);
    let result: Mutex<Outcome> = Mutex::new((Counters::default(), None, Vec::new()));
    let some = (u64::from(blocks) / (workers as u64 * 16)).clamp(1, 64);
    let lock = || result.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    rayon::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|_| {
                let mut block = Block::<W>::new(launch, None);
                'blocks: while !stop.load(Ordering::Relaxed) {
                    let first = next.fetch_add(some, Ordering::Relaxed);
                    if first >= u64::from(blocks) {
                        break;
                    }
                    for n in first..(first + some).min(u64::from(blocks)) {
                        if let Err(failure) = block.run(n as u32) {
                            stop.store(true, Ordering::Relaxed);
                            let mut result = lock();
                            if result.1.as_ref().is_none_or(|(other, _)| u64::from(*other) > n) {
                                result.1 = Some((n as u32, failure));
                            }
                            break 'blocks;
                        }
                    }
                }
                let mut result = lock();
                result.0 += block.counted();
                add_all(&mut result.2, &block.accessed);
            });
        }
    });
    let (counters, failure, accessed) = result.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    match failure {
        Some((_, failure)) => Err(failure),
        None => Ok((counters, accessed)),
    }
}
