//! Kernels run through the one interface, each test on the emulator and on a GPU; without a GPU those count as ignored, with the reason.

use std::process::ExitCode;

use libtest_mimic::{Arguments as Options, Completion, Failed, Trial};
use loopwright_kernel_ir::{DType, Diagnostic, LoopKernel, Number};
use loopwright_lowering::{LowerOptions, index_range, lower};
use loopwright_runtime::disasm::Disassembler;
use loopwright_runtime::{Arch, Args, CompileOptions, Device, DeviceTensor, Tensor, compile_for, nvrtc};
use loopwright_transforms::{Pipeline, Transforms};

const SUM: &str = "
kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
assume 1 <= nseg and 0 <= len
domain { [s] : 0 <= s < nseg }
domain { [i] : 0 <= i < len }
out[s] = sum(i, x[s, i])
";

const BLOCKS: &str = "
split_iname(i, 64)
tag_inames(s: block.x, i_inner: thread.x)
";

fn parse(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|e| panic!("{e}\nin\n{text}"))
}

fn kernel(text: &str, pipeline: &str) -> LoopKernel {
    Pipeline::parse(pipeline).and_then(|p| p.apply(&parse(text))).unwrap_or_else(|e| panic!("{e}"))
}

/// An elementwise kernel on a block of 32 threads.
fn elementwise(text: &str) -> LoopKernel {
    kernel(text, "split_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)")
}

fn floats(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_slice(shape, values).unwrap_or_else(|e| panic!("{e}"))
}

fn x() -> Tensor {
    floats(&[3, 4], &(1..=12).map(|v| v as f32).collect::<Vec<_>>())
}

type Outcome = Result<(), Failed>;

/// Fails with the diagnostic as it is rendered.
fn ok<T>(result: Result<T, Diagnostic>) -> Result<T, Failed> {
    result.map_err(|d| Failed::from(d.to_string()))
}

/// The refusal has exactly this text.
fn refused<T>(result: Result<T, Diagnostic>, text: &str) -> Outcome {
    match result {
        Ok(_) => Err(format!("not refused: {text}").into()),
        Err(d) if d.to_string() == text => Ok(()),
        Err(d) => Err(format!("expected\n{text}\nbut it is\n{d}").into()),
    }
}

fn a_sum_is_right(device: &Device) -> Outcome {
    let compiled = ok(device.compile(&kernel(SUM, BLOCKS)))?;
    let outputs = ok(compiled.run(&Args::new().tensor("x", &x())))?;
    assert_eq!(ok(ok(outputs.get("out"))?.to_vec::<f32>())?, [10.0, 26.0, 42.0]);
    assert_eq!(outputs.index, DType::I32);
    assert_eq!(outputs.report.is_some(), !device.is_gpu());
    // With everything said, and an array of the caller's for the result.
    let args = Args::new()
        .tensor("x", &x())
        .tensor("out", &ok(Tensor::uninit(&[3], DType::F32))?)
        .scalar("nseg", 3)
        .scalar("len", 4usize);
    assert_eq!(ok(ok(compiled.run(&args))?.get("out"))?, ok(outputs.get("out"))?);
    refused(outputs.get("ot"), "error[unknown-argument]: there is no array `ot`\n  help: do you mean `out`?")
}

fn wrong_arguments_are_refused(device: &Device) -> Outcome {
    let compiled = ok(device.compile(&kernel(SUM, BLOCKS)))?;
    let bind = |args: Args| compiled.bind(&args);
    let good = || Args::new().tensor("x", &x());
    refused(
        bind(Args::new()),
        "error[missing-argument]: argument `x` of `segmented_sum` is missing\n  help: give an array of f32[nseg, len]",
    )?;
    refused(
        bind(good().scalar("leng", 4)),
        "error[unknown-argument]: `segmented_sum` has no argument `leng`\n  help: do you mean `len`?",
    )?;
    refused(
        bind(good().scalar("velocity", 4)),
        "error[unknown-argument]: `segmented_sum` has no argument `velocity`\n  help: its arguments are x, out, nseg, len",
    )?;
    refused(
        bind(good().tensor("x", &x())),
        "error[argument-twice]: argument `x` was given twice\n  help: give it once",
    )?;
    refused(
        bind(good().scalar("out", 1)),
        "error[argument-kind]: `out` is an array and was given a number\n  help: give an array of f32[nseg]",
    )?;
    refused(
        bind(good().tensor("len", &x())),
        "error[argument-kind]: `len` is a number and was given an array\n  help: give one value of i32",
    )?;
    refused(
        bind(Args::new().tensor("x", &x().cast(DType::F64))),
        "error[argument-type]: the elements of `x` are f32 and were given as f64\n  help: convert them, or declare `x` with an open type",
    )?;
    refused(
        bind(Args::new().tensor("x", &ok(x().reshape(&[12]))?)),
        "error[argument-rank]: `x` has 2 axes and was given 1 axis\n  help: its declared shape is f32[nseg, len]",
    )?;
    refused(
        bind(good().scalar("len", 5)),
        "error[argument-shape]: the length `len` of axis 1 of `x` is 5, and was given as 4\n  witness: len = 5\n  help: the declared shape is f32[nseg, len]",
    )?;
    refused(
        bind(good().tensor("out", &ok(Tensor::uninit(&[4], DType::F32))?)),
        "error[argument-shape]: the length `nseg` of axis 0 of `out` is 3, and was given as 4\n  witness: nseg = 3 from axis 0 of `x`\n  help: the declared shape is f32[nseg]",
    )?;
    refused(
        bind(good().scalar("len", 4.5)),
        "error[scalar-type]: `len` is i32 and was given 4.5\n  help: give a value of i32",
    )?;
    refused(
        bind(good().scalar("len", 1i64 << 40)),
        "error[scalar-range]: `len` is i32, which does not hold 1099511627776\n  help: declare `len` with a wider type",
    )?;
    refused(
        bind(Args::new().tensor("x", &floats(&[0, 4], &[]))),
        "error[assumption]: the assumption `1 <= nseg` of `segmented_sum` does not hold\n  witness: nseg = 0 from axis 0 of `x`\n  help: the kernel was transformed relying on it: transform it without, or give other values",
    )?;
    refused(
        bind(good().bind_type("T", DType::F32)),
        "error[unknown-type]: `segmented_sum` has no open type `T`\n  help: all of its types are known",
    )
}

fn numbers_that_no_shape_tells_have_to_be_given(device: &Device) -> Outcome {
    let text = "
kernel scale(x: f32[n + 1], y: f32[n + 1], a: f32, n: i32)
domain { [i] : 0 <= i <= n }
y[i] = a * x[i]
";
    let compiled = ok(device.compile(&elementwise(text)))?;
    let args = || Args::new().tensor("x", &floats(&[4], &[1.0, 2.0, 3.0, 4.0]));
    refused(
        compiled.run(&args()).map(|_| ()),
        "error[missing-argument]: argument `a` of `scale` is missing\n  help: give a value of f32",
    )?;
    // n = 3 follows from n + 1 = 4; an integer is a fine f32.
    let bound = ok(compiled.bind(&args().scalar("a", 2)))?;
    assert_eq!(bound.scalar("n"), Some(Number::I32(3)));
    let outputs = ok(bound.run())?;
    assert_eq!(ok(ok(outputs.get("y"))?.to_vec::<f32>())?, [2.0, 4.0, 6.0, 8.0]);
    refused(
        compiled.bind(&args().scalar("a", true)),
        "error[scalar-type]: `a` is f32 and was given true\n  help: give a value of f32",
    )
}

const OPEN: &str = "
kernel twice(x: T[n], y: T[n], n: i32)
domain { [i] : 0 <= i < n }
y[i] = x[i] + x[i]
";

/// Lengths that no array tells follow from what a pipeline has fixed.
fn numbers_that_the_kernel_fixes_can_be_left_out(device: &Device) -> Outcome {
    let text = "kernel ramp(y: i32[m, n], m: i32, n: i32)\nassume 0 <= m and 1 <= n\n\
        domain { [i, j] : 0 <= i < m and 0 <= j < n }\ny[i, j] = 10 * i + j\n";
    let compiled =
        ok(device.compile(&kernel(text, "fix_parameters(n=4)\ntag_inames(i: block.x, j: thread.x)")))?;
    let outputs = ok(compiled.run(&Args::new().scalar("m", 2)))?;
    assert_eq!(ok(ok(outputs.get("y"))?.to_vec::<i32>())?, [0, 1, 2, 3, 10, 11, 12, 13]);
    let other = compiled.run(&Args::new().scalar("m", 2).scalar("n", 5));
    let refusal = other.err().ok_or("another value is taken")?;
    assert_eq!(refusal.code, "assumption", "{refusal}");
    Ok(())
}

fn open_types_are_bound_by_arguments(device: &Device) -> Outcome {
    let compiled = ok(device.compile(&elementwise(OPEN)))?;
    assert_eq!(compiled.forms(), 0, "nothing is known yet");
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::U8, DType::I64] {
        let x = ok(Tensor::from_vec(&[40], (0..40i32).collect()))?.cast(dtype);
        for _ in 0..2 {
            let outputs = ok(compiled.run(&Args::new().tensor("x", &x)))?;
            let y = ok(outputs.get("y"))?;
            assert_eq!(y.dtype(), dtype);
            assert_eq!(y.to_f64(), (0..40).map(|v| f64::from(2 * v)).collect::<Vec<_>>(), "{dtype}");
        }
    }
    assert_eq!(compiled.forms(), 7, "one binary a binding");
    let x = floats(&[2], &[1.0, 2.0]);
    refused(
        compiled.bind(&Args::new().tensor("x", &x).tensor("y", &x.cast(DType::F64))),
        "error[type-conflict]: type `T` is, by `x`, f32, and the elements of `y` are f64\n  help: convert one of them",
    )?;
    refused(
        compiled.stages().map(|_| ()),
        "error[open-type]: type `T` is open until arguments bind it\n  help: ask with `stages_for(&args)`",
    )?;
    assert!(ok(compiled.stages_for(&Args::new().tensor("x", &x)))?.cuda.text.contains("float"));
    Ok(())
}

/// Few elements, far up in the index space.
const FAR: &str = "
kernel far(x: i32[n], y: i32[n], n: i32, start: i64)
assume 0 <= n and 0 <= start
domain { [i] : start <= i < start + n }
y[i - start] = x[i - start] + 1
";

fn indices_are_as_wide_as_the_arguments_ask(device: &Device) -> Outcome {
    let kernel = parse(FAR);
    let compiled = ok(device.compile(&kernel))?;
    let x = ok(Tensor::from_vec(&[5], vec![1i32, 2, 3, 4, 5]))?;
    for (start, index) in [(0i64, DType::I32), (1 << 20, DType::I32), (3_000_000_000, DType::I64)] {
        let bound = ok(compiled.bind(&Args::new().tensor("x", &x).scalar("start", start)))?;
        assert_eq!(bound.index(), index, "start = {start}");
        let outputs = ok(bound.run())?;
        assert_eq!(ok(ok(outputs.get("y"))?.to_vec::<i32>())?, [2, 3, 4, 5, 6], "start = {start}");
    }
    assert_eq!(compiled.forms(), 2);
    let narrow = CompileOptions { index: Some(DType::I32), ..CompileOptions::default() };
    let compiled = ok(device.compile_with(&kernel, &narrow))?;
    let error = compiled.bind(&Args::new().tensor("x", &x).scalar("start", 3_000_000_000i64)).unwrap_err();
    assert_eq!(error.code, "index-overflow");
    Ok(())
}

fn facts_are_checked_on_request(device: &Device) -> Outcome {
    let text = "
kernel gather(x: f32[n], idx: i32[m], out: f32[m], n: i32, m: i32)
fact 0 <= idx < n
fact injective(idx)
fact monotone(idx)
domain { [i] : 0 <= i < m }
out[i] = x[idx[i]]
";
    let compiled = ok(device.compile(&elementwise(text)))?;
    let x = floats(&[5], &[0.0, 1.0, 2.0, 3.0, 4.0]);
    let args = |idx: &[i32]| {
        let idx = Tensor::from_slice(&[idx.len()], idx).unwrap();
        Args::new().tensor("x", &x).tensor("idx", &idx).check_facts()
    };
    let outputs = ok(compiled.run(&args(&[0, 2, 4])))?;
    assert_eq!(ok(outputs.get("out"))?.to_f64(), [0.0, 2.0, 4.0]);
    let help = "\n  help: the data are wrong, or the fact is: the kernel relies on it";
    refused(
        compiled.bind(&args(&[0, 2, 5])),
        &format!(
            "error[fact]: the elements of `idx` are not all in their declared range\n  witness: idx[2] is 5, declared are 0 to 4{help}"
        ),
    )?;
    refused(
        compiled.bind(&args(&[1, 2, 1])),
        &format!(
            "error[fact]: two elements of `idx` are equal, and were declared different\n  witness: idx[0] and idx[2] are both 1{help}"
        ),
    )?;
    refused(
        compiled.bind(&args(&[1, 3, 2])),
        &format!(
            "error[fact]: the elements of `idx` fall, and were declared monotone\n  witness: idx[1] is 3, idx[2] is 2{help}"
        ),
    )
}

fn data_may_stay_on_the_device(device: &Device) -> Outcome {
    let compiled = ok(device.compile(&elementwise(OPEN)))?;
    let a = ok(device.upload(&floats(&[3], &[1.0, 2.0, 3.0])))?;
    let b = ok(device.uninit(&[3], DType::F32))?;
    let there = ok(compiled.bind(&Args::new().device_tensor("x", &a).device_tensor("y", &b)))?;
    let back = ok(compiled.bind(&Args::new().device_tensor("x", &b).device_tensor("y", &a)))?;
    for _ in 0..3 {
        ok(there.launch())?;
        ok(back.launch())?;
    }
    assert_eq!(ok(a.download())?.to_f64(), [64.0, 128.0, 192.0]);
    assert_eq!(ok(there.read("y"))?.to_f64(), [32.0, 64.0, 96.0]);
    ok(there.write("x", &floats(&[3], &[5.0, 5.0, 5.0])))?;
    ok(there.launch())?;
    assert_eq!(ok(b.download())?.to_f64(), [10.0, 10.0, 10.0]);
    assert_eq!(ok(there.time(4))?.len(), 4);
    refused(
        compiled.bind(&Args::new().device_tensor("x", &a).device_tensor("y", &a)),
        "error[aliased-arguments]: `x` and `y` are the same memory, and the kernel writes `y`\n  help: give each written array memory of its own",
    )
}

fn launches_on_several_streams_have_scratch_of_their_own(device: &Device) -> Outcome {
    // Blocks depend on one another through t, which therefore is global.
    let text = "
kernel reverse_twice(x: f32[n], out: f32[n], n: i32)
domain { [i] : 0 <= i < n }
domain { [j] : 0 <= j < n }
temp t: f32[n] global
t[i] = 2.0 * x[i]
out[j] = t[n - 1 - j]
";
    let pipeline = "
split_iname(i, 32)
split_iname(j, 32)
tag_inames(i_outer: block.x, i_inner: thread.x, j_outer: block.x, j_inner: thread.x)
";
    let compiled = ok(device.compile(&kernel(text, pipeline)))?;
    let n = 1000;
    let mut launches = Vec::new();
    for k in 0..4 {
        let x = ok(Tensor::from_fn(&[n], |i| (i * (k + 1)) as f32))?;
        let stream = ok(device.stream())?;
        launches.push((k, ok(compiled.bind_on(&stream, &Args::new().tensor("x", &x)))?));
    }
    for _ in 0..20 {
        for (_, bound) in &launches {
            ok(bound.launch())?;
        }
    }
    for (k, bound) in &launches {
        ok(bound.wait())?;
        let expected: Vec<f64> = (0..n).map(|j| (2 * (n - 1 - j) * (k + 1)) as f64).collect();
        assert_eq!(ok(bound.read("out"))?.to_f64(), expected);
    }
    Ok(())
}

fn layouts_are_those_that_the_kernel_declares(device: &Device) -> Outcome {
    let text = "
kernel add_one(x: f32[n, m], y: f32[n, m], n: i32, m: i32)
domain { [i, j] : 0 <= i < n and 0 <= j < m }
y[i, j] = x[i, j] + 1.0
";
    let columns = kernel(text, "tag_array_axes(x, \"N0,N1\")\ntag_array_axes(y, \"N0,N1\")");
    let compiled = ok(device.compile(&columns))?;
    let bound = ok(compiled.bind(&Args::new().tensor("x", &x())))?;
    assert_eq!(ok(bound.array("y"))?.strides(), [1, 3], "columns are dense");
    let outputs = ok(bound.run())?;
    let expected: Vec<f64> = (2..=13).map(f64::from).collect();
    assert_eq!(ok(outputs.get("y"))?.to_f64(), expected);
    let rows = ok(device.upload(&x()))?;
    refused(
        compiled.bind(&Args::new().device_tensor("x", &rows)),
        "error[argument-strides]: `x` has strides [4, 1] and the kernel expects [1, 3]\n  help: give a tensor of the host, which is laid out as the kernel expects",
    )
}

fn limits_of_the_device_are_checked_before_the_launch(device: &Device) -> Outcome {
    let text = "
kernel copy(x: f32[n], y: f32[n], n: i32)
domain { [i] : 0 <= i < n }
y[i] = x[i]
";
    let rows = kernel(text, "tag_inames(i: block.y)");
    let compiled = ok(device.compile(&rows))?;
    let x = ok(Tensor::zeros(&[70_000], DType::F32))?;
    refused(
        compiled.bind(&Args::new().tensor("x", &x)),
        "error[device-limit]: `copy` cannot be launched: its grid has 70000 blocks along y, and the device allows 65535\n  help: put the longer iname on block.x, or split it and leave a sequential loop in each block",
    )
}

fn stages_show_every_form(device: &Device) -> Outcome {
    let declared = parse(SUM);
    let pipeline = ok(Pipeline::parse(BLOCKS))?;
    let compiled = ok(device.compile_pipeline(&declared, &pipeline, &CompileOptions::default()))?;
    let stages = ok(compiled.stages())?;
    assert_eq!(stages.declared, declared);
    let steps: Vec<&str> = stages.steps.iter().map(|s| s.step.as_str()).collect();
    assert_eq!(steps, ["split_iname(i, 64)", "tag_inames(s: block.x, i_inner: thread.x)"]);
    assert_eq!(&stages.steps[1].kernel, compiled.kernel());
    assert_eq!(stages.program.kernels.len(), 1);
    assert!(stages.cuda.text.contains("__global__"), "{}", stages.cuda.text);
    let lines = stages.cuda.text.lines().count();
    assert!((1..=lines).any(|l| stages.instruction_of_line(l).is_some()));
    if nvrtc::library().is_ok() {
        assert!(stages.not_compiled.is_none());
        assert_eq!(stages.resources().len(), 1);
        assert!(stages.resources()[0].registers > 0);
        assert!(stages.ptx().is_some_and(|ptx| ptx.contains(".entry segmented_sum")));
        assert!(stages.log().is_some());
        match Disassembler::find() {
            Some(_) => {
                // The last instruction of every kernel, on every architecture.
                let sass = ok(stages.sass())?;
                assert!(sass.contains("segmented_sum") && sass.contains("EXIT"), "{sass}");
            }
            None => {
                println!("left out: there is no disassembler");
                assert!(stages.sass().is_err_and(|d| d.to_string().contains("make setup")));
            }
        }
    } else {
        assert_eq!(stages.not_compiled.map(|d| d.code), Some("no-compiler"));
    }
    Ok(())
}

fn kernels_are_compiled_and_run_side_by_side(device: &Device) -> Outcome {
    let kernels: Vec<LoopKernel> = [32, 64, 128, 256]
        .iter()
        .map(|threads| {
            parse(SUM)
                .split_iname("i", *threads)
                .and_then(|k| k.tag_inames("s: block.x, i_inner: thread.x"))
                .unwrap_or_else(|e| panic!("{e}"))
        })
        .collect();
    let compiled = device.compile_all(&kernels, &CompileOptions::default());
    std::thread::scope(|scope| {
        for c in &compiled {
            scope.spawn(move || {
                let outputs = c.as_ref().unwrap().run(&Args::new().tensor("x", &x())).unwrap();
                assert_eq!(outputs.get("out").unwrap().to_f64(), [10.0, 26.0, 42.0]);
            });
        }
    });
    Ok(())
}

/// The emulator's faults come as diagnostics, and no array has changed.
fn faults_of_the_emulator_are_refusals() -> Outcome {
    let text = "
kernel gather(x: f32[n], idx: i32[m], out: f32[m], n: i32, m: i32)
fact 0 <= idx < n
domain { [i] : 0 <= i < m }
out[i] = x[idx[i]] {id=get}
";
    let device = Device::emulator();
    let compiled = ok(device.compile(&elementwise(text)))?;
    let idx = ok(Tensor::from_vec(&[3], vec![0i32, 1, 9]))?;
    let out = floats(&[3], &[7.0, 7.0, 7.0]);
    let args = Args::new().tensor("x", &floats(&[2], &[1.0, 2.0])).tensor("idx", &idx).tensor("out", &out);
    let bound = ok(compiled.bind(&args))?;
    let error = bound.launch().unwrap_err();
    assert_eq!(error.code, "out-of-bounds", "{error}");
    assert!(error.message.contains("`x[9]`"), "{error}");
    assert!(error.witness.as_ref().is_some_and(|w| w.contains("thread (2, 0, 0)")), "{error}");
    assert_eq!(ok(bound.read("out"))?, out);
    // A read of what has no value.
    let unset = Args::new()
        .tensor("x", &ok(Tensor::uninit(&[2], DType::F32))?)
        .tensor("idx", &ok(Tensor::from_vec(&[1], vec![0i32]))?);
    assert_eq!(compiled.run(&unset).unwrap_err().code, "uninitialised-read");
    Ok(())
}

/// Ranges of index expressions, at the edge of 32 bits.
fn ranges_of_indices_are_tight_at_the_edge() -> Outcome {
    let program = |text: &str, pipeline: &str| {
        lower(&kernel(text, pipeline), LowerOptions { index: DType::I32 }).unwrap_or_else(|e| panic!("{e}"))
    };
    let fits = |program: &loopwright_lowering::program::Program, values: &[(&str, i64)]| {
        index_range::check(program, &|name| values.iter().find(|(n, _)| **name == **n).map(|(_, v)| *v))
            .is_ok()
    };
    let sum = program(SUM, BLOCKS);
    assert!(fits(&sum, &[("nseg", 1 << 10), ("len", 1 << 20)]));
    assert!(fits(&sum, &[("nseg", 1), ("len", i64::from(i32::MAX) - 127)]));
    assert!(!fits(&sum, &[("nseg", 1 << 11), ("len", 1 << 20)]), "2^31 elements");
    let far = program(FAR, "");
    assert!(fits(&far, &[("n", 5), ("start", (1 << 31) - 7)]));
    assert!(!fits(&far, &[("n", 5), ("start", (1 << 31) - 3)]));
    Ok(())
}

fn npy_files_come_back() -> Outcome {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = folder.path().join("x.npy");
    for dtype in DType::ALL.into_iter().filter(|t| *t != DType::BF16) {
        for shape in [&[][..], &[5], &[0], &[2, 3, 4], &[3, 0, 2]] {
            let tensor = ok(Tensor::random(shape, dtype, 1))?;
            ok(tensor.to_npy(&path))?;
            assert_eq!(ok(Tensor::from_npy(&path))?, tensor, "{dtype} {shape:?}");
        }
    }
    refused(
        ok(Tensor::zeros(&[2], DType::BF16))?.to_npy_bytes(),
        "error[npy-type]: the .npy format has no bf16\n  help: convert the elements to f32, which holds every bf16",
    )?;
    // Another implementation reads what is written, and writes what is read.
    use npyz::WriterBuilder;
    let bytes = ok(x().to_npy_bytes())?;
    let file = npyz::NpyFile::new(&bytes[..]).map_err(|e| e.to_string())?;
    assert_eq!(file.shape(), [3, 4]);
    assert_eq!(file.into_vec::<f32>().map_err(|e| e.to_string())?, ok(x().to_vec::<f32>())?);
    for order in [npyz::Order::C, npyz::Order::Fortran] {
        let mut bytes = Vec::new();
        let mut writer = npyz::WriteOptions::new()
            .default_dtype()
            .shape(&[2, 3])
            .order(order)
            .writer(&mut bytes)
            .begin_nd()
            .map_err(|e| e.to_string())?;
        writer.extend([1i64, 2, 3, 4, 5, 6]).map_err(|e| e.to_string())?;
        writer.finish().map_err(|e| e.to_string())?;
        let expected = match order {
            npyz::Order::C => [1, 2, 3, 4, 5, 6],
            npyz::Order::Fortran => [1, 3, 5, 2, 4, 6],
        };
        assert_eq!(ok(ok(Tensor::from_npy_bytes("x.npy", &bytes))?.to_vec::<i64>())?, expected);
    }
    // The other order of bytes.
    let mut big = ok(ok(Tensor::from_vec(&[1], vec![1u16]))?.to_npy_bytes())?;
    let at = big.windows(3).position(|w| w == b"<u2").ok_or("no descr")?;
    big[at] = b'>';
    assert_eq!(ok(ok(Tensor::from_npy_bytes("x.npy", &big))?.to_vec::<u16>())?, [256]);
    Ok(())
}

fn malformed_npy_files_are_refused() -> Outcome {
    let whole = ok(x().to_npy_bytes())?;
    refused(
        Tensor::from_npy_bytes("x.npy", &whole[..whole.len() - 1]),
        "error[npy-truncated]: x.npy is truncated: its data ends at byte 176, and the file has 175\n  help: write or copy the file again",
    )?;
    refused(
        Tensor::from_npy_bytes("x.npy", b"kernel f()"),
        "error[npy]: x.npy is no .npy file: it does not begin with \\x93NUMPY\n  help: write one with numpy.save, or with Tensor::to_npy",
    )?;
    // Every prefix, every flipped byte and a header of nothing but parentheses: refused or read, never a panic.
    for end in 0..whole.len() {
        assert!(Tensor::from_npy_bytes("x.npy", &whole[..end]).is_err(), "{end} bytes were enough");
    }
    for at in 0..128 {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let _ = Tensor::from_npy_bytes("x.npy", &damaged);
        }
    }
    let with_header = |header: &str| {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes
    };
    for header in [
        "(".repeat(20_000),
        "{'descr': ".repeat(20_000),
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", u64::MAX),
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }".to_owned(),
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }".to_owned(),
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }".to_owned(),
        "{'descr': '|O', 'fortran_order': False, 'shape': (), }".to_owned(),
        "{'descr': '<\u{e9}4', 'fortran_order': False, 'shape': (), }".to_owned(),
    ] {
        assert!(Tensor::from_npy_bytes("x.npy", &with_header(&header)).is_err(), "{:.60}", header);
    }
    Ok(())
}

fn a_missing_device_says_what_to_do() -> Outcome {
    if Device::cuda(0).is_ok() {
        let error = Device::cuda(1000).unwrap_err();
        assert_eq!(error.code, "no-such-device");
        return Ok(());
    }
    let error = Device::cuda(0).unwrap_err();
    assert!(matches!(error.code, "no-driver" | "no-device"), "{error}");
    assert!(error.help.as_ref().is_some_and(|h| h.contains("or run on the emulator")), "{error}");
    assert!(!Device::best().is_gpu());
    Ok(())
}

/// Compiling for an architecture needs no GPU; without a compiler the remedy is said.
fn binaries_for_other_architectures() -> Result<Completion, Failed> {
    let kernel = kernel(SUM, BLOCKS);
    let options = CompileOptions::default();
    if let Err(missing) = nvrtc::library() {
        let error = compile_for(&kernel, Arch::SM_80, &Default::default(), &options).unwrap_err();
        assert_eq!((error.code, error.help), ("no-compiler", Some(missing.remedy())));
        return Ok(Completion::ignored_with("there is no NVRTC"));
    }
    for arch in [Arch::SM_80, Arch::SM_90A, Arch::SM_100A] {
        for index in [DType::I32, DType::I64] {
            let options = CompileOptions { index: Some(index), line_info: true, ..options.clone() };
            let binary = ok(compile_for(&kernel, arch, &Default::default(), &options))?;
            assert_eq!(binary.compiled.arch, arch);
            assert_eq!(binary.compiled.messages, [], "{arch} {index}");
            assert!(binary.compiled.is_complete());
        }
    }
    Ok(Completion::Completed)
}

/// `y[i] = x[i] + d`.
const ADD: &str = "
kernel add(x: f32[n], y: f32[n], d: f32, n: i32)
domain { [i] : 0 <= i < n }
y[i] = x[i] + d
";

fn sequences_are_replayed_in_their_order(device: &Device) -> Outcome {
    let compiled = ok(device.compile(&elementwise(ADD)))?;
    let start: Vec<f32> = (0..100).map(|k| k as f32).collect();
    let [x, y, z] = [(); 3].map(|()| device.upload(&floats(&[100], &start)));
    let (x, y, z) = (ok(x)?, ok(y)?, ok(z)?);
    let add = |from, to, d: f32| {
        ok(compiled.bind(&Args::new().device_tensor("x", from).device_tensor("y", to).scalar("d", d)))
    };
    let (one, two) = (add(&x, &y, 1.0)?, add(&x, &z, 2.0)?);
    // y = x + 1; z = x + 2 beside it; x = z: two more in each round.
    let mut graph = ok(device.record(|sequence| {
        sequence.launch(&one)?;
        sequence.launch(&two)?;
        sequence.copy(&z, &x)?;
        assert_eq!((sequence.len(), sequence.is_empty()), (3, false));
        Ok(())
    }))?;
    let shows = |array: &loopwright_runtime::DeviceTensor, more: f32| -> Outcome {
        let expected: Vec<f32> = start.iter().map(|v| v + more).collect();
        assert_eq!(ok(ok(array.download())?.to_vec::<f32>())?, expected);
        Ok(())
    };
    shows(&y, 0.0)?;
    for _ in 0..10 {
        ok(graph.launch())?;
    }
    shows(&x, 20.0)?;
    shows(&y, 19.0)?;
    // What was bound goes on living in the graph, which any stream of the device may launch.
    drop((one, two, compiled));
    let stream = ok(device.stream())?;
    ok(graph.launch_on(&stream))?;
    ok(stream.synchronize())?;
    shows(&x, 22.0)?;
    // Arrays are used as they are at the launch.
    ok(x.write(&floats(&[100], &start)))?;
    ok(graph.launch())?;
    shows(&y, 1.0)?;
    let mut nothing = ok(device.record(|_| Ok(())))?;
    ok(nothing.launch())?;
    let short = ok(device.upload(&floats(&[2], &[0.0; 2])))?;
    refused(
        device.record(|sequence| sequence.copy(&short, &x)),
        "error[tensor-shape]: an array of f32[2] with strides [1] cannot be copied to one of f32[100] with strides [1]\n  help: copy between arrays of the same type, shape and strides",
    )
}

fn copies_run_beside_the_host(device: &Device) -> Outcome {
    let stream = ok(device.stream())?;
    let (x, y) = (ok(device.uninit(&[2, 50], DType::F32))?, ok(device.uninit(&[2, 50], DType::F32))?);
    let values: Vec<f32> = (0..100).map(|k| 0.5 * k as f32).collect();
    let tensor = floats(&[2, 50], &values);
    let up = ok(stream.upload_from(ok(device.pin(&tensor))?, &x))?;
    ok(stream.copy(&x, &y))?;
    let down = ok(stream.download_to(&y, ok(device.pinned(&[2, 50], DType::F32))?))?;
    assert_eq!(ok(ok(down.wait())?.to_tensor())?, tensor);
    assert!(ok(up.is_done())?);
    // The memory comes back and is used again.
    let mut again = ok(up.wait())?;
    again.bytes_mut().fill(0);
    drop(ok(stream.upload_from(again, &x))?);
    assert_eq!(ok(x.download())?.to_f64(), [0.0; 100]);
    let mut truths = ok(device.pinned(&[3], DType::Bool))?;
    truths.bytes_mut()[1] = 2;
    let there = ok(device.uninit(&[3], DType::Bool))?;
    refused(
        stream.upload_from(truths, &there),
        "error[tensor-bool]: a truth value is neither 0 nor 1\n  help: write 0 or 1 to every byte of a bool array",
    )
}

fn events_tell_the_time(device: &Device) -> Outcome {
    let (one, two) = (ok(device.stream())?, ok(device.stream())?);
    let (x, y) = (ok(device.upload(&x()))?, ok(device.uninit(&[3, 4], DType::F32))?);
    let start = ok(one.record())?;
    ok(one.copy(&x, &y))?;
    let end = ok(one.record())?;
    ok(two.wait(&end))?;
    ok(two.synchronize())?;
    assert!(ok(start.is_done())? && ok(end.is_done())?);
    ok(end.synchronize())?;
    let time = ok(start.milliseconds_to(&end))?;
    assert!((0.0..1000.0).contains(&time), "{time} ms");
    assert_eq!(one.handle().is_some(), device.is_gpu());
    assert_eq!(ok(ok(y.download())?.to_vec::<f32>())?[11], 12.0);
    Ok(())
}

/// Two GPUs at once, from one thread and from two; arrays of one are refused by the other.
fn several_gpus_work_side_by_side(first: &Device) -> Result<Completion, Failed> {
    let second = match Device::cuda(1) {
        Ok(second) => second,
        Err(error) if error.code == "no-such-device" => {
            return Ok(Completion::ignored_with("there is only one GPU"));
        }
        Err(error) => return Err(error.to_string().into()),
    };
    let devices = [first.clone(), second];
    let work = |device: &Device, d: f32| -> Outcome {
        let compiled = ok(device.compile(&elementwise(ADD)))?;
        let (x, y) =
            (ok(device.upload(&floats(&[1000], &[1.0; 1000])))?, ok(device.uninit(&[1000], DType::F32))?);
        let args = Args::new().device_tensor("x", &x).device_tensor("y", &y).scalar("d", d);
        ok(ok(compiled.bind(&args))?.launch())?;
        assert_eq!(ok(ok(y.download())?.to_vec::<f32>())?, [1.0 + d; 1000]);
        Ok(())
    };
    for (number, device) in devices.iter().enumerate() {
        work(device, number as f32)?;
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = devices
            .iter()
            .map(|device| scope.spawn(|| (0..20).try_for_each(|d| work(device, d as f32))))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| Failed::from("a thread panicked"))?)
    })?;
    let [here, there] = [0, 1].map(|n: usize| devices[n].upload(&floats(&[4], &[0.0; 4])));
    let args = Args::new().device_tensor("x", &ok(here)?).device_tensor("y", &ok(there)?).scalar("d", 1.0);
    let refusal = ok(first.compile(&elementwise(ADD)))?.bind(&args).err();
    assert_eq!(refusal.map(|d| d.code), Some("other-device"));
    Ok(Completion::Completed)
}

/// Arrays copied from one GPU to another and back: on a stream of either, in order with it, and without a stream.
fn arrays_are_copied_between_gpus(here: &Device) -> Result<Completion, Failed> {
    let there = match Device::cuda(1) {
        Ok(there) => there,
        Err(error) if error.code == "no-such-device" => {
            return Ok(Completion::ignored_with("there is only one GPU"));
        }
        Err(error) => return Err(error.to_string().into()),
    };
    // Long enough that a copy which is not waited for is seen.
    let n = 1usize << 24;
    let x: Vec<f32> = (0..n).map(|k| (k % 1000) as f32).collect();
    let expected = |d: f32| x.iter().map(|v| v + d).collect::<Vec<f32>>();
    let add = |device: &Device, x: &DeviceTensor, y: &DeviceTensor, d: f32| {
        let args = Args::new().device_tensor("x", x).device_tensor("y", y).scalar("d", d);
        ok(device.compile(&elementwise(ADD)))?.bind(&args).map_err(|d| Failed::from(d.to_string()))
    };
    let source = ok(here.upload(&floats(&[n], &x)))?;
    for own in [here, &there] {
        let stream = ok(own.stream())?;
        let (made, copy) = (ok(here.uninit(&[n], DType::F32))?, ok(there.uninit(&[n], DType::F32))?);
        let (next, back) = (ok(there.uninit(&[n], DType::F32))?, ok(here.uninit(&[n], DType::F32))?);
        let (first, second) = (add(here, &source, &made, 1.0)?, add(&there, &copy, &next, 2.0)?);
        for _ in 0..5 {
            ok(first.launch())?;
            ok(stream.wait(&ok(here.default_stream().record())?))?;
            ok(stream.copy(&made, &copy))?;
            ok(there.default_stream().wait(&ok(stream.record())?))?;
            ok(second.launch())?;
            ok(stream.wait(&ok(there.default_stream().record())?))?;
            ok(stream.copy(&next, &back))?;
            ok(here.default_stream().wait(&ok(stream.record())?))?;
        }
        drop((made, next));
        assert!(ok(ok(copy.download())?.to_vec::<f32>())? == expected(1.0));
        assert!(ok(ok(back.download())?.to_vec::<f32>())? == expected(3.0));
    }
    let copy = ok(source.to_device(&there))?;
    assert!(ok(ok(copy.download())?.to_vec::<f32>())? == x);
    ok(ok(there.upload(&floats(&[n], &expected(5.0))))?.copy_to(&source))?;
    assert!(ok(ok(source.download())?.to_vec::<f32>())? == expected(5.0));
    Ok(Completion::Completed)
}

type Test = (&'static str, fn(&Device) -> Outcome);

fn main() -> ExitCode {
    let options = Options::from_args();
    let tests: [Test; 17] = [
        ("a_sum_is_right", a_sum_is_right),
        ("wrong_arguments_are_refused", wrong_arguments_are_refused),
        ("numbers_that_no_shape_tells_have_to_be_given", numbers_that_no_shape_tells_have_to_be_given),
        ("numbers_that_the_kernel_fixes_can_be_left_out", numbers_that_the_kernel_fixes_can_be_left_out),
        ("open_types_are_bound_by_arguments", open_types_are_bound_by_arguments),
        ("indices_are_as_wide_as_the_arguments_ask", indices_are_as_wide_as_the_arguments_ask),
        ("facts_are_checked_on_request", facts_are_checked_on_request),
        ("data_may_stay_on_the_device", data_may_stay_on_the_device),
        (
            "launches_on_several_streams_have_scratch_of_their_own",
            launches_on_several_streams_have_scratch_of_their_own,
        ),
        ("layouts_are_those_that_the_kernel_declares", layouts_are_those_that_the_kernel_declares),
        (
            "limits_of_the_device_are_checked_before_the_launch",
            limits_of_the_device_are_checked_before_the_launch,
        ),
        ("sequences_are_replayed_in_their_order", sequences_are_replayed_in_their_order),
        ("copies_run_beside_the_host", copies_run_beside_the_host),
        ("events_tell_the_time", events_tell_the_time),
        ("stages_show_every_form", stages_show_every_form),
        ("kernels_are_compiled_and_run_side_by_side", kernels_are_compiled_and_run_side_by_side),
        ("an_emulated_or_real_device_has_a_name", |device| {
            assert_eq!(device.name().starts_with("emulator ("), !device.is_gpu());
            assert!(device.limits().max_threads_per_block >= 1024);
            Ok(())
        }),
    ];
    let gpu = match (Device::cuda(0), nvrtc::library()) {
        (Ok(device), Ok(_)) => Ok(device),
        (Ok(_), Err(error)) => {
            println!("{error}");
            Err("there is no NVRTC")
        }
        (Err(error), _) if matches!(error.code, "no-driver" | "no-device") => {
            println!("{error}");
            Err("there is no GPU")
        }
        (Err(error), _) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut trials = Vec::new();
    for (name, test) in tests {
        trials.push(Trial::test(format!("emulator::{name}"), move || test(&Device::emulator())));
        let gpu = gpu.clone();
        trials.push(Trial::ignorable_test(format!("gpu::{name}"), move || match gpu {
            Ok(device) => test(&device).map(|()| Completion::Completed),
            Err(reason) => Ok(Completion::ignored_with(reason)),
        }));
    }
    type OnTwo = fn(&Device) -> Result<Completion, Failed>;
    let on_two: [(_, OnTwo); 2] = [
        ("gpu::several_gpus_work_side_by_side", several_gpus_work_side_by_side),
        ("gpu::arrays_are_copied_between_gpus", arrays_are_copied_between_gpus),
    ];
    for (name, test) in on_two {
        let gpu = gpu.clone();
        trials.push(Trial::ignorable_test(name, move || match gpu {
            Ok(device) => test(&device),
            Err(reason) => Ok(Completion::ignored_with(reason)),
        }));
    }
    trials.push(Trial::test("faults_of_the_emulator_are_refusals", faults_of_the_emulator_are_refusals));
    trials.push(Trial::test(
        "ranges_of_indices_are_tight_at_the_edge",
        ranges_of_indices_are_tight_at_the_edge,
    ));
    trials.push(Trial::test("npy_files_come_back", npy_files_come_back));
    trials.push(Trial::test("malformed_npy_files_are_refused", malformed_npy_files_are_refused));
    trials.push(Trial::test("a_missing_device_says_what_to_do", a_missing_device_says_what_to_do));
    trials.push(Trial::ignorable_test("binaries_for_other_architectures", binaries_for_other_architectures));
    libtest_mimic::run(&options, trials).exit_code()
}
