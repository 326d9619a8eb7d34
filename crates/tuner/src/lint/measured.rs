//! A kernel with the emulator's counts.

use indexmap::IndexMap;
use loopwright_emulator::{CountedAccess, Report};
use loopwright_kernel_ir::{DType, Diagnostic, Expr, LoopKernel, Name, Precision, Type, math_function};
use loopwright_program::{Place, Program};
use loopwright_runtime::cuda::{Occupancy, Resource};
use loopwright_runtime::disasm::disassemble;
use loopwright_runtime::machine_code::Executed;
use loopwright_runtime::{
    Arch, Args, CompileOptions, Device, Known, known, nvrtc::KernelResources, print_for,
};
use loopwright_transforms::Pipeline;

use crate::cost::{Unit, held};
use crate::judge::{Judge, necessary_bytes};
use crate::under_way::UnderWay;
use crate::{Bottleneck, Cost, Counted, Machine};

/// A guard that is due to a partial tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    /// The name of the device kernel that tests it, if one does.
    pub kernel: Option<String>,
    /// Why it is there.
    pub reason: String,
}

/// The data from which findings are derived.
pub(super) struct Measured {
    /// The kernel after the pipeline.
    pub kernel: LoopKernel,
    pub program: Program,
    pub report: Report,
    pub machine: Machine,
    pub known: Known,
    /// Bytes that the resident threads of a multiprocessor have in flight, by device kernel; none
    /// if it loads nothing.
    pub under_way: Vec<Option<f64>>,
    /// The blocks and warps that a multiprocessor holds of each device kernel.
    pub resident: Vec<Occupancy>,
    /// What the compiler reports of each device kernel; empty if nothing was compiled.
    pub resources: Vec<KernelResources>,
    /// What a warp of each device kernel executes, where the machine code of all of them tells.
    executed: Option<Vec<Executed>>,
    /// The static cost.
    pub cost: Cost,
    necessary_bytes: f64,
    judge: Judge,
    results: IndexMap<Name, loopwright_runtime::Tensor>,
}

impl Measured {
    pub fn of(
        kernel: &LoopKernel,
        pipeline: &Pipeline,
        args: &Args,
        machine: &Machine,
    ) -> Result<Measured, Diagnostic> {
        let device = Device::emulator();
        let kernel = pipeline.apply(kernel)?;
        let bound = device.compile(&kernel)?.bind(args)?;
        let outputs = bound.run()?;
        let program = bound.program().clone();
        let necessary_bytes = necessary_bytes(&bound)?;
        let report = outputs.report.unwrap_or_default();
        let mut measured = Measured {
            under_way: Vec::new(),
            resident: Vec::new(),
            resources: Vec::new(),
            executed: None,
            cost: Cost::default(),
            necessary_bytes,
            known: known(&kernel, args)?,
            kernel,
            report,
            machine: machine.clone(),
            judge: Judge::of_results(outputs.arrays.clone()),
            results: outputs.arrays,
            program,
        };
        measured.estimate();
        Ok(measured)
    }

    /// With what the compiler reports, for the device whose limits are known, and where it is asked
    /// for, with what its machine code says, which takes longer. Without a compiler, nothing is
    /// known of registers.
    pub fn compiled(mut self, args: &Args, is_read: bool) -> Measured {
        let options = CompileOptions::default();
        let compile = || print_for(&self.kernel, args, &options)?.compile(Arch::SM_90A, &options);
        if let Ok(binary) = compile() {
            let text = is_read.then(|| disassemble(&binary.compiled.cubin).ok()).flatten();
            let names = self.program.kernels.iter().map(|k| k.name.as_str());
            self.executed = text.and_then(|text| names.map(|name| Executed::read(&text, name)).collect());
            self.resources = binary.compiled.resources;
        }
        self.estimate();
        self
    }

    /// What follows from the counts and from the registers, which are guessed where nothing was
    /// compiled.
    fn estimate(&mut self) {
        let (device, program) = (Device::emulator(), &self.program);
        let limits = device.limits();
        self.resident = program.kernels.iter().map(|k| held(k, &self.resources, limits)).collect();
        let under_way = self.resident.iter().enumerate().map(|(number, resident)| {
            let bytes = UnderWay::as_written(program, &self.report, number).mean();
            let threads = f64::from(program.target.warp_size * resident.warps);
            (bytes > 0.0).then_some(bytes * threads)
        });
        self.under_way = under_way.collect();
        let counted = Counted {
            resources: &self.resources,
            ..Counted::whole(program, &self.report, self.necessary_bytes, &self.known.integers)
        };
        let mut cost = Cost::of(&counted, &self.machine, limits);
        let functions = self.report.total.issued.functions as f64;
        cost.of_functions = functions * (function_length(&self.kernel) - 1.0).max(0.0);
        cost.of_machine_code = self.issued();
        cost.estimate(&self.machine, limits);
        self.cost = cost;
    }

    /// All instructions of warps, and those for special functions, where the machine code tells:
    /// what each warp executes that has anything to do.
    fn issued(&self) -> Option<(f64, f64)> {
        let kernels = self.report.kernels.iter().zip(&self.program.kernels);
        let all = kernels.zip(self.executed.as_ref()?).map(|(((_, counters), kernel), executed)| {
            let of_block = u64::from(kernel.threads().div_ceil(self.program.target.warp_size));
            let warps = (counters.blocks * of_block).saturating_sub(counters.idle_warps) as f64;
            (warps * f64::from(executed.instructions), warps * f64::from(executed.special))
        });
        Some(all.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1)))
    }

    /// What the instructions of a unit are known by.
    pub fn known_by(&self, unit: Unit) -> &'static str {
        match (unit, self.cost.of_machine_code) {
            (Unit::Issue | Unit::Special, Some(_)) => "by the machine code",
            _ => "by the counts",
        }
    }

    /// The threads that the whole device holds at a time.
    pub fn most_threads(&self) -> u64 {
        let device = Device::emulator();
        u64::from(self.machine.multiprocessors) * u64::from(device.limits().max_threads_per_multiprocessor)
    }

    /// The device kernel of which registers let a multiprocessor hold the fewest threads, where
    /// that is less than a quarter of what it can hold: its number, the threads, the quarter, and
    /// the registers of each. A kernel with few accesses does not count.
    pub fn few_resident(&self) -> Option<(usize, f64, f64, u32)> {
        let lanes = f64::from(self.program.target.warp_size);
        let all = self.sectors();
        let few =
            self.program.kernels.iter().zip(&self.resident).enumerate().filter_map(|(number, (k, held))| {
                let registers = self.resources.iter().find(|r| r.name == *k.name)?.registers;
                let counters = &self.report.kernels.get(number)?.1;
                let sectors = (counters.global_loads.sectors + counters.global_stores.sectors) as f64;
                let (threads, quarter) =
                    (lanes * f64::from(held.warps), lanes * f64::from(held.max_warps) / 4.0);
                let is_few = held.limited_by == Resource::Registers && threads < quarter;
                (is_few && sectors >= 0.5 * all).then_some((number, threads, quarter, registers))
            });
        few.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The device kernel that spills most, with its bytes a thread and its registers.
    pub fn spilled(&self) -> Option<(&str, u32, u32)> {
        let bytes = |r: &KernelResources| r.spill_store_bytes + r.spill_load_bytes;
        let most = self.resources.iter().max_by_key(|r| bytes(r)).filter(|r| bytes(r) > 0)?;
        Some((&most.name, bytes(most), most.registers))
    }

    /// The units whose instructions take longest, and how many times as long as the memory they
    /// take, if all multiprocessors have their share: that some have no block is another finding.
    fn busiest(&self) -> (Unit, f64) {
        let limits = Device::emulator();
        let (unit, clocks) = self.cost.busiest(limits.limits());
        let ms = 1e3 * clocks / (self.multiprocessors() * self.machine.clock);
        (unit, ms / self.cost.bound_ms.max(f64::MIN_POSITIVE))
    }

    fn multiprocessors(&self) -> f64 {
        f64::from(self.machine.multiprocessors.max(1))
    }

    /// Whether instructions alone take longer than the memory: more loads in flight would not help.
    pub fn is_computing(&self) -> bool {
        self.busiest().1 > 1.0
    }

    /// The units whose instructions take the longest part of the estimated time, or longer than the
    /// memory, and how many times as long as that they take; nothing if it is the arithmetic that
    /// the kernel consists of.
    pub fn instructions(&self) -> Option<(Unit, f64)> {
        let (unit, times) = self.busiest();
        let is_spread = self.cost.blocks >= self.multiprocessors();
        let limits = times > 1.0 || (is_spread && self.cost.bottleneck == Bottleneck::Instructions);
        (limits && unit != Unit::Arithmetic).then_some((unit, times))
    }

    /// How the results of another form differ, if they do.
    pub fn differs(&self, other: &Measured) -> Option<String> {
        // Without a kernel to run there is nothing that could fail.
        self.judge.wrong(&other.results, None).ok().flatten()
    }

    /// The threads of the smallest block, if they do not fill a warp.
    pub fn less_than_a_warp(&self) -> Option<u32> {
        let fewest = self.program.kernels.iter().map(|k| k.threads()).min()?;
        (fewest < self.program.target.warp_size).then_some(fewest)
    }

    /// Total sectors of global memory.
    pub fn sectors(&self) -> f64 {
        (self.report.total.global_loads.sectors + self.report.total.global_stores.sectors) as f64
    }

    /// Sectors of global memory, and passes over the banks of shared memory, each of which serves
    /// the bytes of several sectors.
    pub fn burden(&self) -> f64 {
        let t = &self.report.total;
        self.sectors() + (t.shared_loads.wavefronts + t.shared_stores.wavefronts) as f64
    }

    /// Accesses of global or of shared memory.
    pub fn accesses(&self, shared: bool) -> impl Iterator<Item = &CountedAccess> {
        self.report.accesses.iter().filter(move |a| a.shared == shared)
    }

    /// Guards in the text that are due to partial tiles: the device kernel of each, and its reason.
    pub fn guards(&self) -> Vec<Guard> {
        let entries = self.program.explain().entries;
        let guards = entries.into_iter().filter(|e| e.place == Place::Guard).map(|e| Guard {
            kernel: e.kernel.and_then(|k| self.program.kernels.get(k)).map(|k| k.name.to_string()),
            reason: e.reason,
        });
        guards.collect()
    }
}

/// The mean number of machine instructions of the functions that a kernel calls, each as often as
/// its text has it.
fn function_length(kernel: &LoopKernel) -> f64 {
    let (mut calls, mut length) = (0.0, 0.0);
    for instruction in &kernel.instructions {
        instruction.value.visit(&mut |e| {
            let Expr::Call { function, precision, args } = e else { return };
            if matches!(function.as_str(), "min" | "max" | "abs" | "fma" | "lowest" | "highest") {
                return;
            }
            calls += 1.0;
            let is_fast = precision.unwrap_or(kernel.options.precision) == Precision::Fast;
            if is_fast && math_function(function).is_some_and(|f| f.fast) {
                length += 1.0;
                return;
            }
            length += f64::from(instructions_of(function, args.iter().any(|a| is_double(kernel, a))));
        });
    }
    if calls > 0.0 { length / calls } else { 1.0 }
}

/// Whether an expression reads or converts to f64.
fn is_double(kernel: &LoopKernel, e: &Expr) -> bool {
    let of = |name: &Name| kernel.array(name).is_some_and(|a| a.dtype.known() == Some(DType::F64));
    let mut found = false;
    e.visit(&mut |e| {
        found |= match e {
            Expr::Subscript(read) => of(&read.array),
            Expr::Name(name) => of(name),
            Expr::Cast(to, _) => *to == Type::Known(DType::F64),
            _ => false,
        }
    });
    found
}

/// The instructions that a call executes where its operand is an ordinary number: the machine code
/// of NVRTC 13.0 for compute capability 9.0, without the branches for very large or small ones. One
/// for those that are one instruction, and for those of which nothing is known.
fn instructions_of(function: &str, is_double: bool) -> u32 {
    match (function, is_double) {
        ("exp" | "exp10", false) => 10,
        ("exp2", false) => 4,
        ("expm1", false) => 29,
        ("log" | "log2" | "log10" | "log1p", false) => 28,
        ("sin" | "cos" | "tan", false) => 25,
        ("asin" | "acos" | "sinh", false) => 25,
        ("atan" | "cosh" | "tanh" | "cbrt", false) => 17,
        ("sqrt", false) => 8,
        ("rsqrt", false) => 4,
        ("erf", false) => 28,
        ("erfc", false) => 48,
        ("pow", false) => 80,
        ("atan2" | "hypot", false) => 30,
        ("exp" | "exp2" | "exp10" | "cosh" | "cbrt", true) => 60,
        ("expm1" | "log" | "log2" | "log10" | "atan", true) => 80,
        ("sin" | "cos" | "tan" | "tanh" | "asin" | "acos" | "erf", true) => 100,
        ("log1p" | "sinh" | "pow" | "atan2" | "erfc", true) => 200,
        ("sqrt" | "rsqrt" | "hypot", true) => 20,
        _ => 1,
    }
}
