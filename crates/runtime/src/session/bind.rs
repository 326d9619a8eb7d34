//! Checks arguments once, for all launches with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use loopwright_kernel_ir::{DType, Diagnostic, Dim, HardwareAxis, LoopKernel, Name, PerDim, Role, Tag};
use loopwright_program::{DeviceKernel, FieldPlace, Global, Memory, Owner, Program, Stmt, index_range};

use super::args::{ArrayArg, CheckedFacts};
use super::bound::{Bound, Execution, Outputs};
use super::device::Inner;
use super::resolve::{Resolved, resolve};
use super::stream::Stream;
use super::variant::{Key, Variant};
use super::{Args, Compiled, DeviceTensor, Tensor, emulate, facts, host, record};
use crate::cuda::{self, DeviceInfo, FunctionInfo, LaunchShape, limits};

impl Compiled {
    /// Checks arguments and prepares a launch that can be repeated.
    pub fn bind(&self, args: &Args) -> Result<Bound, Diagnostic> {
        self.bind_on(&self.device().default_stream(), args)
    }

    /// As [`Compiled::bind`], with launches on a stream. Global temporaries belong to the bound
    /// launch, so that launches that are bound separately may run at the same time.
    pub fn bind_on(&self, stream: &Stream, args: &Args) -> Result<Bound, Diagnostic> {
        bind(self, stream, args).map_err(|d| self.kernel().locate(d))
    }

    /// Copies the arguments to the device, launches once, and copies back every array that the
    /// kernel writes.
    pub fn run(&self, args: &Args) -> Result<Outputs, Diagnostic> {
        self.bind(args)?.run()
    }
}

/// The form that the arguments need.
pub(super) fn key_for(compiled: &Compiled, args: &Args) -> Result<Key, Diagnostic> {
    let resolved = resolve(compiled.kernel(), args)?;
    Ok(choose(compiled, &resolved)?.0)
}

/// The narrowest index type in which all index arithmetic fits, beginning with `first` (the only
/// one tried if it was requested), with the result of `form` for it.
pub(super) fn narrowest<T>(
    first: DType,
    only: bool,
    resolved: &Resolved,
    mut form: impl FnMut(DType) -> Result<T, Diagnostic>,
    program: impl Fn(&T) -> &Program,
) -> Result<(DType, T), Diagnostic> {
    let lookup = |name: &Name| resolved.integers.get(name).copied();
    let made = form(first)?;
    let too_wide = match index_range::check(program(&made), &lookup) {
        Ok(()) => return Ok((first, made)),
        Err(too_wide) => too_wide,
    };
    if only || first == DType::I64 {
        return Err(too_wide.diagnostic());
    }
    let made = form(DType::I64)?;
    index_range::check(program(&made), &lookup).map_err(|t| t.diagnostic())?;
    Ok((DType::I64, made))
}

/// The form of a compiled kernel with the narrowest indices.
fn choose(compiled: &Compiled, resolved: &Resolved) -> Result<(Key, Arc<Variant>), Diagnostic> {
    let key = |index| Key { types: resolved.types.clone(), index };
    let only = compiled.options().index.is_some();
    let form = |index| compiled.variant(&key(index));
    let (index, variant) = narrowest(compiled.first_index(), only, resolved, form, |v| &v.program)?;
    Ok((key(index), variant))
}

fn bind(compiled: &Compiled, stream: &Stream, args: &Args) -> Result<Bound, Diagnostic> {
    let args = &*args.with_fields(compiled.kernel())?;
    let resolved = resolve(compiled.kernel(), args)?;
    compiled.check_subscripts(&resolved.integers)?;
    let (key, variant) = choose(compiled, &resolved)?;
    let program = &variant.program;
    let device = compiled.device();
    let steps = host::launches(program, &resolved.integers)?;
    check_limits(compiled, &variant, &steps)?;
    let mut arrays: IndexMap<Name, DeviceTensor> = IndexMap::new();
    let mut checked: BTreeMap<Name, Tensor> = BTreeMap::new();
    let mut wholes: BTreeMap<Name, DeviceTensor> = BTreeMap::new();
    for (number, global) in program.globals.iter().enumerate() {
        let layout = host::layout(global, &resolved.integers)?;
        let given = match &global.owner {
            Owner::Caller => args.arrays.get(&global.name),
            Owner::Launch => None,
            // It is part of the program's module.
            Owner::Program(_) => continue,
        };
        if let (Some(ArrayArg::Host(tensor)), Some(_)) = (given, program.field_place(number))
            && args.facts != CheckedFacts::None
            && program.facts.iter().any(|f| *f.array() == global.name)
        {
            checked.insert(global.name.clone(), tensor.clone());
        }
        if let Some(place) = program.field_place(number) {
            let whole = match wholes.get(&place.record.name) {
                Some(whole) => DeviceTensor::clone(whole),
                None => {
                    let whole = bind_record((device, stream), place, &layout, (args, program), &arrays)?;
                    wholes.insert(place.record.name.clone(), whole.clone());
                    whole
                }
            };
            let array = whole.field(&place.record.of, place.field)?;
            if let Some(ArrayArg::Device(given)) = given {
                if !given.whole().is_some_and(|given| given.is(&whole)) {
                    return Err(foreign_field(&global.name, &place.record.name));
                }
                if args.facts == CheckedFacts::All && program.facts.iter().any(|f| *f.array() == global.name)
                {
                    checked.insert(global.name.clone(), array.download()?);
                }
            }
            arrays.insert(global.name.clone(), array);
            continue;
        }
        let array = match given {
            None => DeviceTensor::alloc(device, global.dtype, layout)?,
            Some(ArrayArg::Host(tensor)) => {
                let array = DeviceTensor::alloc(device, global.dtype, layout)?;
                array.write_on(stream, tensor)?;
                if args.facts != CheckedFacts::None && program.facts.iter().any(|f| *f.array() == global.name)
                {
                    checked.insert(global.name.clone(), tensor.clone());
                }
                array
            }
            Some(ArrayArg::Device(array)) => {
                let of = (global.written, alignment(program, number));
                check_device_array(device, &global.name, array, &layout, &arrays, program, of)?;
                if args.facts == CheckedFacts::All && program.facts.iter().any(|f| *f.array() == global.name)
                {
                    checked.insert(global.name.clone(), array.download()?);
                }
                array.clone()
            }
        };
        arrays.insert(global.name.clone(), array);
    }
    for fact in &program.facts {
        if let Some(data) = checked.get(fact.array()) {
            facts::check(fact, data, &resolved.integers)?;
        }
    }
    let execution = match (&*device.inner, &stream.0) {
        (Inner::Cuda { .. }, Some(stream)) => {
            let source = variant.source()?;
            let gpu = variant
                .gpu
                .as_ref()
                .ok_or_else(|| Diagnostic::new("no-binary", "the kernel was not compiled for this device"))?;
            let mut launches = Vec::new();
            for step in &steps {
                let arguments = cuda_arguments(program, step, &arrays, &resolved, key.index)?;
                let info = &source.kernels[step.kernel];
                let shape = LaunchShape {
                    grid: step.grid.into(),
                    block: info.block.into(),
                    dynamic_shared: u32::try_from(info.dynamic_bytes()).unwrap_or(u32::MAX),
                };
                let function = &gpu.functions[step.kernel];
                launches.push(if step.early {
                    function.prepare_early(stream, &shape, arguments)?
                } else {
                    function.prepare(stream, &shape, arguments)?
                });
            }
            Execution::Cuda { stream: stream.clone(), launches: launches.into() }
        }
        (Inner::Emulator { options, .. }, _) => {
            Execution::Emulator(Arc::new(emulate::Emulation::new(&variant, &resolved, options)))
        }
        (Inner::Cuda { .. }, None) => {
            return Err(Diagnostic::new(
                "other-device",
                "the stream belongs to a different device than the kernel",
            )
            .help("create the stream on the device that the kernel was compiled for"));
        }
    };
    Ok(Bound::new(compiled, variant, key.index, arrays, &resolved, stream.clone(), execution))
}

/// The memory of a record: the bytes that were given, or new ones with the given fields.
fn bind_record(
    (device, stream): (&super::Device, &Stream),
    place: FieldPlace<'_>,
    layout: &super::layout::Layout,
    (args, program): (&Args, &Program),
    earlier: &IndexMap<Name, DeviceTensor>,
) -> Result<DeviceTensor, Diagnostic> {
    let FieldPlace { record, field, .. } = place;
    let bytes = record::layout_of(&record.of, field, layout);
    let globals: Vec<&Global> = record.fields.iter().map(|g| &program.globals[*g]).collect();
    let given: Vec<Option<&ArrayArg>> = globals.iter().map(|g| args.arrays.get(&g.name)).collect();
    let whole = given.iter().find_map(|given| match given {
        Some(ArrayArg::Device(array)) => Some(array.whole()),
        _ => None,
    });
    match whole {
        Some(Some(whole)) => {
            let widest = record.fields.iter().map(|g| alignment(program, *g)).max().unwrap_or(1);
            let of = (globals.iter().any(|g| g.written), widest.max(record.of.alignment() as u64));
            check_device_array(device, &record.name, whole, &bytes, earlier, program, of)?;
            Ok(whole.clone())
        }
        Some(None) => Err(foreign_field(&globals[field].name, &record.name)),
        None => {
            let fields: Vec<Option<&Tensor>> = given
                .iter()
                .map(|given| match given {
                    Some(ArrayArg::Host(tensor)) => Some(tensor),
                    _ => None,
                })
                .collect();
            let tensor = record::bytes_of(&record.of, &layout.shape, &fields)?;
            let whole = DeviceTensor::alloc(device, DType::U8, bytes)?;
            whole.write_on(stream, &tensor)?;
            Ok(whole)
        }
    }
}

/// The refusal of an array of a device for a field.
fn foreign_field(field: &Name, record: &Name) -> Diagnostic {
    let message = format!("`{field}` is a field of the structs in `{record}`, and no array of a device");
    Diagnostic::new("argument-kind", message)
        .help(format!("pass `{record}` as bytes, or all fields as host arrays"))
}

fn check_device_array(
    device: &super::Device,
    name: &Name,
    array: &DeviceTensor,
    layout: &super::layout::Layout,
    earlier: &IndexMap<Name, DeviceTensor>,
    program: &Program,
    (is_written, alignment): (bool, u64),
) -> Result<(), Diagnostic> {
    if !array.device().is(device) {
        return Err(Diagnostic::new(
            "other-device",
            format!("`{name}` is on {} and the kernel runs on {}", array.device().name(), device.name()),
        )
        .help("upload it to the device of the kernel"));
    }
    if array.layout().same_places(layout) && array.layout().size < layout.size {
        return Err(Diagnostic::new(
            "argument-strides",
            format!(
                "`{name}` has {} elements of memory and the kernel expects {}, including the \
                 padding after the last row",
                array.layout().size,
                layout.size
            ),
        )
        .help(
            "pass memory with the padding, or a host tensor, which is laid out as the kernel \
             expects",
        ));
    }
    if !array.layout().same_places(layout) {
        return Err(Diagnostic::new(
            "argument-strides",
            format!(
                "`{name}` has strides {:?} and the kernel expects {:?}",
                array.layout().strides,
                layout.strides
            ),
        )
        .help("pass a host tensor, which is laid out as the kernel expects"));
    }
    if array.device_address().is_some_and(|address| !address.is_multiple_of(alignment)) {
        return Err(Diagnostic::new(
            "argument-alignment",
            format!(
                "`{name}` does not begin at a multiple of {alignment} bytes, as its vector \
                 accesses need"
            ),
        )
        .help("pass aligned memory, or use a kernel without vector accesses to it"));
    }
    for (other, (earlier_name, earlier)) in earlier.iter().enumerate() {
        if array.overlaps(earlier) && (is_written || program.globals[other].written) {
            let writes = if is_written { name } else { earlier_name };
            return Err(Diagnostic::new(
                "aliased-arguments",
                format!(
                    "`{earlier_name}` and `{name}` are the same memory, and the kernel writes \
                     `{writes}`"
                ),
            )
            .help("use separate memory for each written array"));
        }
    }
    Ok(())
}

/// The alignment in bytes that the widest access to a global array needs, by its number in
/// [`Program::globals`].
pub fn alignment(program: &Program, number: usize) -> u64 {
    let mut lanes = 1;
    for kernel in &program.kernels {
        Stmt::visit(&kernel.body, &mut |stmt| {
            let accesses = stmt.written().into_iter().chain(stmt.source());
            let here = accesses.filter(|access| access.element.memory == Memory::Global(number));
            lanes = here.map(|access| access.lanes).fold(lanes, u8::max);
        });
    }
    u64::from(lanes) * program.globals[number].dtype.bytes() as u64
}

/// Whether a device can launch a program at all: block sizes and shared memory, without grids,
/// which depend on the arguments.
pub fn check_device_limits(program: &Program, device: &DeviceInfo) -> Result<(), Diagnostic> {
    for kernel in &program.kernels {
        let function = FunctionInfo {
            name: kernel.name.to_string(),
            max_threads_per_block: device.max_threads_per_block,
            ..FunctionInfo::default()
        };
        check_launch(kernel, &function, device, PerDim::all(0))?;
    }
    Ok(())
}

/// As [`check_device_limits`]; a refusal names what the kernel has put there.
pub fn check_limits_of(
    kernel: &LoopKernel,
    program: &Program,
    device: &DeviceInfo,
) -> Result<(), Diagnostic> {
    check_device_limits(program, device).map_err(|refusal| match excess(kernel, program, device) {
        Some(excess) => refusal.witness(excess),
        None => refusal,
    })
}

/// The inames along an axis of a block that is too long, or else the largest array in shared memory
/// that is too small for all of them.
fn excess(kernel: &LoopKernel, program: &Program, device: &DeviceInfo) -> Option<String> {
    for launched in &program.kernels {
        for ((dim, threads), most) in Dim::ALL.iter().zip(launched.block.values()).zip(device.max_block) {
            let is_along = |tag: &Tag| tag.axis() == Some(HardwareAxis::Block(*dim));
            if let Some((iname, tag)) = kernel.tags.iter().find(|(_, tag)| *threads > most && is_along(tag)) {
                return Some(format!("`{iname}: {tag}` has {threads} values"));
            }
        }
        if launched.shared_bytes() > u64::from(device.shared_per_block_optin) {
            let bytes = |dims: &[u64], dtype: DType| dims.iter().product::<u64>() * dtype.bytes() as u64;
            let largest = launched.shared.iter().max_by_key(|a| bytes(&a.dims, a.dtype))?;
            let copied = kernel.instructions.iter().find_map(|i| match &i.role {
                Role::Copies { source } if i.targets.iter().any(|t| t.array == largest.name) => Some(source),
                _ => None,
            });
            let of = copied.map_or_else(String::new, |source| format!(", a copy of `{source}`"));
            return Some(format!("`{}` has {} bytes{of}", largest.name, bytes(&largest.dims, largest.dtype)));
        }
    }
    None
}

fn check_launch(
    kernel: &DeviceKernel,
    function: &FunctionInfo,
    device: &DeviceInfo,
    grid: PerDim<u64>,
) -> Result<(), Diagnostic> {
    let shared = u32::try_from(kernel.shared_bytes()).unwrap_or(u32::MAX);
    let shape = LaunchShape { grid: grid.into(), block: kernel.block.into(), dynamic_shared: shared };
    Ok(limits::check(device, function, &shape).map_err(cuda::CudaError::from)?)
}

/// Checks the limits of the device before anything is launched.
fn check_limits(compiled: &Compiled, variant: &Variant, steps: &[host::Step]) -> Result<(), Diagnostic> {
    let info = compiled.device().limits();
    let check = |number: usize, grid: PerDim<u64>| -> Result<(), Diagnostic> {
        let kernel = &variant.program.kernels[number];
        let function = match variant.gpu.as_ref().map(|gpu| gpu.functions[number].info()) {
            Some(function) => FunctionInfo { shared_bytes: 0, ..function.clone() },
            None => FunctionInfo {
                name: kernel.name.to_string(),
                max_threads_per_block: info.max_threads_per_block,
                ..FunctionInfo::default()
            },
        };
        check_launch(kernel, &function, info, grid)
    };
    // A kernel that could never run is refused even if these arguments do not launch it.
    for number in 0..variant.program.kernels.len() {
        check(number, PerDim::all(0))?;
    }
    steps.iter().try_for_each(|step| check(step.kernel, step.grid))
}

fn cuda_arguments(
    program: &Program,
    step: &host::Step,
    arrays: &IndexMap<Name, DeviceTensor>,
    resolved: &Resolved,
    index: DType,
) -> Result<cuda::Arguments, Diagnostic> {
    let mut arguments = cuda::Arguments::new();
    for parameter in host::parameters(program, step, &resolved.scalars, index)? {
        arguments = match parameter {
            host::Parameter::Array(name) => {
                let missing = || {
                    let what = format!("argument `{name}` of `{}` is missing", program.name);
                    Diagnostic::new("missing-argument", what)
                };
                arguments.buffer(arrays.get(name).ok_or_else(missing)?.cuda_buffer()?)
            }
            host::Parameter::Bytes(bytes) => arguments.bytes(&bytes)?,
        };
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use loopwright_program::{Global, HostStmt, MemRef, Target, Value};

    use super::*;

    fn cell(memory: Memory) -> MemRef {
        MemRef { memory, subscripts: Vec::new(), offset: Value::int(DType::I32, 0).into() }
    }

    /// Only vector accesses need more alignment than the elements, in either direction of copying.
    #[test]
    fn the_widest_access_decides_about_alignment() {
        let global = |name: &str, dtype: DType| Global {
            name: Name::new(name),
            dtype,
            shape: Vec::new(),
            strides: Vec::new(),
            size: Value::int(DType::I32, 64),
            owner: Owner::Caller,
            read: true,
            written: true,
            hints: Default::default(),
        };
        let copy = |to: Memory, from: Memory, lanes: u8| Stmt::VectorCopy {
            to: cell(to),
            from: cell(from),
            lanes,
            leaf: None,
        };
        let (read, written, own) = (Memory::Global(0), Memory::Global(1), Memory::Private(0));
        let one = Value::int(DType::I32, 1);
        let program = Program {
            name: Name::new("p"),
            target: Target::default(),
            index: DType::I32,
            args: Vec::new(),
            globals: vec![global("x", DType::F32), global("y", DType::F16), global("z", DType::F64)],
            kernels: vec![DeviceKernel {
                name: Name::new("k"),
                params: Vec::new(),
                grid: PerDim::all(one),
                block: PerDim { x: 32, y: 1, z: 1 },
                min_blocks_per_multiprocessor: None,
                early: false,
                in_order: None,
                vars: Vec::new(),
                shared: Vec::new(),
                private: Vec::new(),
                body: vec![copy(own, read, 2), copy(own, read, 4), copy(own, read, 2), copy(written, own, 4)],
                notes: Vec::new(),
            }],
            host: vec![HostStmt::Launch(0)],
            records: Vec::new(),
            coordinates: Vec::new(),
            leaves: Vec::new(),
            functions: Vec::new(),
            updates: Vec::new(),
            look_backs: Vec::new(),
            atoms: Vec::new(),
            assumptions: Vec::new(),
            facts: Vec::new(),
        };
        assert_eq!([0, 1, 2].map(|number| alignment(&program, number)), [16, 8, 8]);
    }
}
