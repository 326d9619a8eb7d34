//! Kernels lowered for targets other than the default one: effects of the warp's width, and
//! refusals.

use crate::cases;
use crate::common;

use loopwright::emulator;
use loopwright::lowering::program::{DeviceKernel, ShuffleMode, Stmt, ValueKind};
use loopwright::prelude::*;

fn lowered(kernel: &LoopKernel, target: Target) -> Result<Program, Diagnostic> {
    lower(kernel, LowerOptions::default().on(target))
}

fn transformed(text: &str, steps: &str) -> LoopKernel {
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"));
    Pipeline::parse(steps).and_then(|p| p.apply(&kernel)).unwrap_or_else(|d| panic!("{d}"))
}

fn refusal<T>(result: Result<T, Diagnostic>) -> String {
    result.err().expect("refused").render()
}

const SUM: &str = "kernel total(x: f32[n, 128], y: f32[n], n: i32)\n\
                   assume 0 <= n\n\
                   domain { [s] : 0 <= s < n }\n\
                   domain { [i] : 0 <= i < 128 }\n\
                   y[s] = sum(i, x[s, i])\n";

/// Widths of the shuffles that pass on a lane's value.
fn widths(program: &Program) -> Vec<u32> {
    let mut found = Vec::new();
    for kernel in &program.kernels {
        Stmt::visit(&kernel.body, &mut |stmt| {
            if let Stmt::Let { value, .. } | Stmt::Set { value, .. } = stmt {
                value.visit(&mut |v| {
                    if let ValueKind::Shuffle { mode: ShuffleMode::Xor, width, .. } = v.kind {
                        found.push(width);
                    }
                });
            }
        });
    }
    found
}

#[test]
fn threads_are_joined_by_warps_of_the_target() {
    let kernel = transformed(SUM, "tag_inames(s: block.x, i: thread.x)");
    let narrow = lowered(&kernel, Target::cuda()).unwrap();
    let wide = lowered(&kernel, Target { warp_size: 64, ..Target::cuda() }).unwrap();
    // 128 threads are four warps of 32, or two of 64.
    assert_eq!(widths(&narrow), [32, 4]);
    assert_eq!(widths(&wide), [64, 2]);
    assert_eq!(narrow.kernels[0].shared_bytes(), 16);
    assert_eq!(wide.kernels[0].shared[0].elements(), 2);
}

#[test]
fn numbers_of_the_target_are_limits() {
    let kernel = transformed(SUM, "tag_inames(s: block.x, i: thread.x)");
    assert_eq!(
        refusal(lowered(&kernel, Target { most_threads: 64, ..Target::cuda() })),
        "error[too-many-threads]: a block of 128 x 1 x 1 = 128 threads is more than the 64 that a \
         block may have\n --> <kernel>:5:1\n  |\n5 | tag i: thread.x\n  | ^^^^^^^^^^^^^^^\n  |\n  = witness: \
         `i: thread.x` has 128 values\n  = help: split the thread axes by smaller numbers"
    );
}

#[test]
fn names_are_legal_in_the_targets_language() {
    const OWN: &[&str] = &["tmp", "total"];
    let mut target = Target::cuda();
    target.language.name = "a language";
    target.language.reserved = &[OWN];
    let kernel = transformed(SUM, "tag_inames(s: block.x)");
    assert_eq!(
        refusal(lowered(&kernel, target)),
        "error[reserved-name]: `total` means something else in a language\n --> <kernel>:1:8\n  |\n1 | \
         kernel total(x: f32[n, 128], y: f32[n], n: i32)\n  |        ^^^^^\n  |\n  = help: give it another \
         name, as `total_1`"
    );
}

/// A kernel may declare names that are reserved in CUDA C: those that only the program uses are
/// renamed, those that callers know are refused.
#[test]
fn names_are_judged_when_a_kernel_is_lowered() {
    let text = |array: &str| {
        format!(
            "kernel twice(x: f32[n], {array}: f32[n], n: i32)\n\
             assume 0 <= n\n\
             domain {{ [int] : 0 <= int < n }}\n\
             temp float4: f32\n\
             float4 = 2.0 * x[int] {{id=get, inames=int}}\n\
             {array}[int] = float4 {{id=put, inames=int}}\n"
        )
    };
    let kernel =
        transformed(&text("y"), "split_iname(int, 128)\ntag_inames(int_outer: block.x, int_inner: thread.x)");
    let program = lowered(&kernel, Target::cuda()).unwrap();
    let printed = cuda_source(&program).unwrap().text;
    assert!(printed.contains("int int_1 = ") && printed.contains("float4_1"), "{printed}");
    let named = transformed(&text("a__b"), "");
    let refused = lowered(&named, Target::cuda()).unwrap_err();
    assert_eq!(
        (refused.code, &*refused.message, refused.help.as_deref()),
        ("reserved-name", "`a__b` means something else in CUDA C", Some("give it another name, as `a_b`"))
    );
}

/// Steps accept numbers of lanes that any target has; lowering checks against its own target.
#[test]
fn sixty_four_lanes_need_a_target_that_has_them() {
    let steps = "split_iname(i, 64)\ntag_inames(s: block.x, i_inner: lane)";
    let kernel = transformed(SUM, steps);
    assert_eq!(widths(&lowered(&kernel, Target::hip_cdna()).unwrap()), [64]);
    assert_eq!(lowered(&kernel, Target::cuda()).unwrap_err().code, "lane-length");
}

#[test]
fn other_targets_are_refused_by_what_knows_only_one() {
    let kernel = transformed(SUM, "tag_inames(s: block.x, i: thread.x)");
    let program = lowered(&kernel, Target { warp_size: 64, ..Target::cuda() }).unwrap();
    assert_eq!(
        refusal(cuda_source(&program)),
        "error[other-target]: `total` was lowered for CUDA C and warps of 64 threads, and cannot \
         be printed in CUDA C for warps of 32\n |\n = help: lower it for a target with the \
         language that it is printed in"
    );
    let program = lowered(&kernel, Target { warp_size: 16, ..Target::cuda() }).unwrap();
    let run = emulator::run(&program, &mut emulator::Arguments::default(), &EmulatorOptions::default());
    assert_eq!(
        refusal(run.map_err(|fault| fault.diagnostic())),
        "error[other-target]: the program is written for another target: its warps have 16 \
         threads, and the emulator supports warps of 32 or 64\n |\n = help: lower the kernel for \
         a target whose warps the emulator runs, such as `Target::cuda()`"
    );
}

/// The programs of the examples for AMD's wavefronts of 64 threads, on the emulator with all
/// checks.
#[test]
fn wide_wavefronts_run_on_the_emulator() {
    let (mut ran, mut over_64) = (0, 0);
    for example in common::examples() {
        let program = match lowered(&example.transformed(), Target::hip_cdna()) {
            Ok(program) => program,
            Err(d) => {
                let needs_32 = ["warp-without-lanes", "flat-warp", "atom-lanes"];
                assert!(needs_32.contains(&d.code), "{}: {d}", example.name());
                continue;
            }
        };
        for sizes in cases::sizes(&example.kernel) {
            if !cases::allowed(&program, &sizes) {
                continue;
            }
            let mut arguments = cases::arguments(&program, &sizes);
            let expected = cases::expected(&example.declared, &arguments);
            emulator::run(&program, &mut arguments, &EmulatorOptions::default())
                .unwrap_or_else(|fault| panic!("{} {sizes:?}: {}", example.name(), fault.diagnostic()));
            for (name, buffer) in &expected {
                let got = arguments.buffer(name).expect("the array is an argument");
                assert!(
                    cases::agree(&example.kernel, got, buffer),
                    "{} {sizes:?}: `{name}` is {got:?}, expected {buffer:?}",
                    example.name()
                );
            }
            ran += 1;
        }
        over_64 += usize::from(widths(&program).contains(&64));
    }
    assert!(ran > 40 && over_64 > 2, "{ran} runs, {over_64} programs with shuffles over 64 lanes");
}

/// A device of the runtime has a target, too, for which its kernels are lowered.
#[test]
fn the_emulator_stands_for_devices_of_other_targets() {
    let kernel = transformed(SUM, "tag_inames(s: block.x, i: thread.x)");
    let device = Device::emulator_for(Target::hip_cdna(), EmulatorOptions::default());
    assert_eq!((device.limits().warp_size, device.target()), (64, Target::hip_cdna()));
    let compiled = device.compile(&kernel).unwrap();
    assert_eq!(widths(&compiled.program().unwrap()), [64, 2]);
    let x = Tensor::from_vec(&[2, 128], (0..256).map(|v| v as f32).collect()).unwrap();
    let outputs = compiled.run(&Args::new().tensor("x", &x)).unwrap();
    assert_eq!(outputs.get("y").unwrap().to_f64(), [127.0 * 64.0, 127.0 * 64.0 + 128.0 * 128.0]);
    // What prints CUDA C refuses it.
    assert_eq!(compiled.stages().unwrap_err().code, "other-target");
}

/// Refusals of lowering for warps of 64 threads: steps that rely on 32 lanes, and flattened nests,
/// whose last launch would need a block of 64 warps.
#[test]
fn the_examples_are_proved_for_wide_warps_too() {
    let flattened = "error[flat-warp]: flattened nests cannot be written for warps of 64 \
                     threads\n |\n = help: lower the kernel without `flatten_ragged` for this \
                     target";
    let lanes = "error[warp-without-lanes]: an iname is tagged `warp`, but the x axis has 32 \
                 threads instead of 64 lanes\n |\n = help: tag an iname of length 64 `lane`, or \
                 use `thread.y`";
    let mut proved = 0;
    for example in common::examples().iter().chain(common::polybench()) {
        match lowered(&example.transformed(), Target { warp_size: 64, ..Target::cuda() }) {
            Ok(_) => proved += 1,
            Err(d) if d.code == "atom-lanes" => {
                let why = "its warps have 32 lanes, and those of the target 64";
                assert!(d.message.ends_with(why), "{}: {d}", example.name());
            }
            Err(d) => assert!([flattened, lanes].contains(&&*d.render()), "{}: {d}", example.name()),
        }
    }
    assert!(proved > 20, "{proved}");
    for example in common::examples() {
        assert_eq!(example.program().target, Target::default());
    }
}

/// Limits of a small device: two warps a block, and 4 KiB of shared memory.
const SMALL: Target =
    Target { most_threads: 64, static_shared: 4 << 10, dynamic_shared: 4 << 10, ..Target::cuda() };

/// Runs a program on the emulator, which refuses blocks that its target does not have: the results
/// are those of the declared kernel.
fn agrees(text: &str, sizes: &[(&str, i64)], program: &Program) {
    let declared = LoopKernel::parse(text).unwrap();
    let mut arguments = cases::arguments(program, sizes);
    let expected = cases::expected(&declared, &arguments);
    emulator::run(program, &mut arguments, &EmulatorOptions::default())
        .unwrap_or_else(|fault| panic!("{}: {}", declared.name, fault.diagnostic()));
    for (name, buffer) in &expected {
        let got = arguments.buffer(name).expect("the array is an argument");
        assert!(cases::agree(&declared.name, got, buffer), "`{name}` is {got:?}, expected {buffer:?}");
    }
}

/// The launches that lowering adds by itself have the blocks that it would choose, or smaller ones
/// where the target has no such blocks.
#[test]
fn launches_that_lowering_adds_have_blocks_of_the_target() {
    let sum = include_str!("../examples/kernels/segmented_sum.lw");
    let scan = include_str!("../examples/kernels/prefix_sum.lw");
    let blocks = "split_iname(i, 32)\ntag_inames(s: block.y, i_outer: block.x, i_inner: thread.x)";
    let rows = "split_iname(s, 8)\nsplit_iname(i, 32)\n\
                tag_inames(s_outer: block.y, s_inner: thread.x, i_outer: block.x)";
    let atomic = format!("{blocks}\nreduce_atomically(total)");
    let look_back = format!("realize_scan(i, j)\n{blocks}");
    // What joins two stages has 128 threads, or 8 rows of 16; first values, and the words of a
    // look-back, are set by 128 and 256.
    for (text, steps, usual, small) in [
        (sum, blocks, 128, 64),
        (sum, rows, 128, 64),
        (sum, atomic.as_str(), 128, 64),
        (scan, look_back.as_str(), 256, 64),
    ] {
        let kernel = transformed(text, steps);
        let greatest = |program: &Program| program.kernels.iter().map(DeviceKernel::threads).max();
        let program = lowered(&kernel, Target::cuda()).unwrap_or_else(|d| panic!("{steps}: {d}"));
        assert_eq!(greatest(&program), Some(usual), "{steps}");
        let program = lowered(&kernel, SMALL).unwrap_or_else(|d| panic!("{steps}: {d}"));
        assert_eq!(greatest(&program), Some(small), "{steps}");
        agrees(text, &[("nseg", 3), ("len", 130)], &program);
    }
}
