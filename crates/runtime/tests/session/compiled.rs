//! Compiled kernels: the intermediate forms, many kernels at once, device limits, other
//! architectures; and the emulator's own checks.

use libtest_mimic::{Completion, Failed};
use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_program::{Program, index_range};
use loopwright_runtime::disasm::Disassembler;
use loopwright_runtime::{
    Arch, Args, CompileOptions, Device, Tensor, check_device_limits, compile_for, nvrtc,
};
use loopwright_transforms::{Pipeline, Transforms};

use super::{BLOCKS, FAR, Outcome, SUM, elementwise, floats, kernel, ok, parse, refused, x};

pub(super) fn limits_of_the_device_are_checked_before_the_launch(device: &Device) -> Outcome {
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
        "error[device-limit]: `copy` cannot be launched: its grid has 70000 blocks along y, and \
         the device allows 65535\n  help: map the longer iname to block.x, or split it and leave \
         a sequential loop in each block",
    )
}

pub(super) fn stages_show_every_form(device: &Device) -> Outcome {
    let declared = parse(SUM);
    let pipeline = ok(Pipeline::parse(BLOCKS))?;
    let compiled = ok(device.compile_pipeline(&declared, &pipeline, &CompileOptions::default()))?;
    let stages = ok(compiled.stages())?;
    assert_eq!(stages.declared, declared);
    let steps: Vec<&str> = stages.steps.iter().map(|s| s.step.as_str()).collect();
    assert_eq!(steps, ["split_iname(i, 64)", "tag_inames(s: block.x, i_inner: thread.x)"]);
    assert_eq!(&stages.steps[1].kernel, compiled.kernel());
    assert_eq!(stages.program.kernels.len(), 1);
    // Its blocks have 64 threads.
    let mut limits = device.limits().clone();
    limits.max_threads_per_block = 64;
    ok(check_device_limits(&stages.program, &limits))?;
    limits.max_threads_per_block = 63;
    refused(
        check_device_limits(&stages.program, &limits),
        "error[device-limit]: `segmented_sum` cannot be launched: its block has 64 threads, and the device \
         allows 63\n  help: split the inames on threads by smaller factors",
    )?;
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

pub(super) fn kernels_are_compiled_and_run_side_by_side(device: &Device) -> Outcome {
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

/// The emulator's faults are reported as diagnostics, and no array has changed.
pub(super) fn faults_of_the_emulator_are_refusals() -> Outcome {
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
    let args = Args::new()
        .tensor("x", &floats(&[2], &[1.0, 2.0]))
        .tensor("idx", &idx)
        .tensor("out", &out)
        .trust_facts();
    let bound = ok(compiled.bind(&args))?;
    let error = bound.launch().unwrap_err();
    assert_eq!(error.code, "out-of-bounds", "{error}");
    assert!(error.message.contains("`x[9]`"), "{error}");
    assert!(error.witness.as_ref().is_some_and(|w| w.contains("thread (2, 0, 0)")), "{error}");
    assert_eq!(ok(bound.read("out"))?, out);
    // A read of an element without a value.
    let unset = Args::new()
        .tensor("x", &ok(Tensor::uninit(&[2], DType::F32))?)
        .tensor("idx", &ok(Tensor::from_vec(&[1], vec![0i32]))?);
    assert_eq!(compiled.run(&unset).unwrap_err().code, "uninitialised-read");
    Ok(())
}

/// Ranges of index expressions at the limit of 32 bits.
pub(super) fn ranges_of_indices_are_tight_at_the_edge() -> Outcome {
    let program = |text: &str, pipeline: &str| {
        let compiled = Device::emulator().compile(&kernel(text, pipeline));
        compiled.and_then(|c| c.program()).unwrap_or_else(|e| panic!("{e}"))
    };
    let fits = |program: &Program, values: &[(&str, i64)]| {
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

pub(super) fn a_missing_device_says_what_to_do() -> Outcome {
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

/// Compiling for an architecture needs no GPU; without a compiler the remedy is reported.
pub(super) fn binaries_for_other_architectures() -> Result<Completion, Failed> {
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

/// What an architecture does not have is refused before the compiler is asked, which accepts it for
/// the first one that has it, and would refuse it itself for the one before.
pub(super) fn instructions_of_later_architectures_are_refused() -> Result<Completion, Failed> {
    let fp8 = "
kernel product(a: e4m3[16, 32], b: e4m3[8, 32], c: f32[16, 8])
domain { [i, j] : 0 <= i < 16 and 0 <= j < 8 }
domain { [k] : 0 <= k < 32 }
c[i, j] = sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k])) {id=product}
";
    let stored = "
kernel product(a: bf16[16, 16], b: bf16[8, 16], c: bf16[16, 8])
domain { [i, j] : 0 <= i < 16 and 0 <= j < 8 }
domain { [k] : 0 <= k < 16 }
c[i, j] = cast(bf16, sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k]))) {id=product}
";
    // An instruction of the kernel's own, as which the library's is declared.
    let own = "
kernel product(a: bf16[16, 16], b: bf16[8, 16], c: f32[16, 8])
atom own {
    d[m, n] += a[m, k] * b[n, k]
    box m < 16, n < 8, k < 16
    a: bf16 ((4,8),(2,2,2)):((32,1),(16,8,128))
    b: bf16 ((4,8),(2,2)):((16,1),(8,64))
    d: f32 ((4,8),(2,2)):((32,1),(16,8))
    executor warp
    since sm_90
    ptx mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
}
domain { [i, j] : 0 <= i < 16 and 0 <= j < 8 }
domain { [k] : 0 <= k < 16 }
c[i, j] = sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k])) {id=product}
";
    let by = |atom: &str| format!("tensorize(product, {atom}, m=i, n=j, k=k)\n");
    let leaves = "buffer_array(c, [i_reg, lane, j_reg], space=shared, init=none)\nstore_matrices(product)\n";
    let sm = |number: u32| -> Result<Arch, Failed> { Ok(format!("sm_{number}").parse::<Arch>()?) };
    let cases = [
        (fp8, by("mma_m16n8k32_e4m3"), "mma_m16n8k32_e4m3", 89, Arch::SM_80),
        (stored, by("mma_m16n8k16_bf16") + leaves, "stmatrix", 90, sm(89)?),
        (own, by("own"), "own", 90, sm(89)?),
        (own, by("own"), "own", 90, Arch::SM_80),
    ];
    for (text, pipeline, name, since, before) in cases {
        let kernel = kernel(text, &pipeline);
        let options = CompileOptions::default();
        let error = compile_for(&kernel, before, &Default::default(), &options).unwrap_err();
        let message =
            format!("`{name}` is an instruction of sm_{since} and later, and {before} does not have it");
        assert_eq!((error.code, error.message), ("atom-architecture", message));
        if nvrtc::library().is_ok() {
            ok(compile_for(&kernel, sm(since)?, &Default::default(), &options))?;
        }
    }
    Ok(Completion::Completed)
}
