//! The example pipelines as HIP C++: all texts compile with the shim's header for HIP, and those
//! for warps of 32 threads compute what those in CUDA C do.

use std::{fs, path::PathBuf};

use loopwright_cuda_target::cuda_source;
use loopwright_hip_target::hip_source;
use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_program::{Program, Target};
use loopwright_text_check::{Arguments, Checker, Order};
use rayon::prelude::*;

use crate::examples::transformed;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// All kernels and pipelines of the examples.
fn examples() -> Vec<(String, String)> {
    let names = |path: PathBuf| {
        let entries = fs::read_dir(path).unwrap().map(|e| e.unwrap().path());
        let mut names: Vec<String> =
            entries.map(|p| p.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let kernels = names(folder().join("pipelines"));
    let of =
        |k: &String| names(folder().join("pipelines").join(k)).into_iter().map(|p| (k.clone(), p)).collect();
    kernels.iter().flat_map(|k| -> Vec<_> { of(k) }).collect()
}

/// The refusals to print a pipeline whose instructions only CUDA C has.
fn only_in_cuda(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "matmul_bf16/mma" => Some(&["no-atom"]),
        "attention/mma"
        | "classify/mma"
        | "matmul_bf16/mma_async"
        | "matmul_bf16/mma_swizzled"
        | "matmul_bf16/mma_raster" => Some(&["no-atom", "no-async-copies"]),
        "prefix_sum/look_back" => Some(&["look-back"]),
        "matmul/register_tile_async" => Some(&["no-async-copies"]),
        _ => None,
    }
}

/// Votes have 64 bits where there are no masks, whatever the number of lanes.
#[test]
fn votes_have_the_type_of_their_warp() {
    let vote = |target: &str, dtype: &str, lanes: u32| {
        let text = format!(
            "program k(x, n: i32) index i32\ntarget {target}\nglobal x: {dtype}[64] written\nhost {{\n launch \
             k\n}}\nkernel k(x written, n: i32) {{\n grid(1, 1, 1)\n block({lanes}, 1, 1)\n\n store \
             x[thread.x] = typed({dtype}, ballot(n < 3))\n}}\n"
        );
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        let source = if target == "cuda" { cuda_source(&program) } else { hip_source(&program) };
        let source = source.unwrap_or_else(|d| panic!("{}", d.render())).text;
        source.lines().find_map(|line| Some(line.split_once("x[threadIdx.x] = ")?.1.to_string())).unwrap()
    };
    assert_eq!(vote("cuda", "u32", 32), "__ballot_sync(0xffffffffu, n < 3);");
    assert_eq!(vote("rdna", "u32", 32), "(unsigned int)__ballot(n < 3);");
    assert_eq!(vote("cdna", "u64", 64), "__ballot(n < 3);");
}

/// Two numbers of bf16 move as one of the language's type for pairs.
#[test]
fn pairs_of_bf16_have_the_type_of_their_language() {
    let copied = |target: &str| {
        let text = format!(
            "program k(x, y) index i32\ntarget {target}\nglobal x: bf16[64] read\nglobal y: bf16[64] \
             written\nhost {{\n launch k\n}}\nkernel k(x, y written) {{\n grid(1, 1, 1)\n block(32, 1, 1)\n\n \
             copy 2 y[2 * thread.x] = x[2 * thread.x]\n}}\n"
        );
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        let source = if target == "cuda" { cuda_source(&program) } else { hip_source(&program) };
        source.unwrap_or_else(|d| panic!("{}", d.render())).text
    };
    let (cuda, hip) = (copied("cuda"), copied("rdna"));
    assert!(cuda.contains("__nv_bfloat162") && !cuda.contains("__hip_bfloat162"), "{cuda}");
    assert!(hip.contains("__hip_bfloat162") && !hip.contains("__nv_bfloat162"), "{hip}");
}

/// The second warp of the block has half of its lanes, which a barrier names in CUDA C alone.
#[test]
fn barriers_of_a_warp_name_its_lanes_where_there_are_masks() {
    let barrier = |target: &str| {
        let text = format!(
            "program k(x) index i32\ntarget {target}\nglobal x: i32[48] written\nhost {{\n launch \
             k\n}}\nkernel k(x written) {{\n grid(1, 1, 1)\n block(48, 1, 1)\n\n barrier warp\n store \
             x[thread.x] = 0\n}}\n"
        );
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{}\n{text}", d.render()));
        let source = if target == "cuda" { cuda_source(&program) } else { hip_source(&program) };
        source.unwrap_or_else(|d| panic!("{}", d.render())).text
    };
    let (cuda, hip) = (barrier("cuda"), barrier("rdna"));
    let mask = "const unsigned int warp_mask = threadIdx.x < 32 ? 0xffffffffu : 0x0000ffffu;";
    assert!(cuda.contains(mask) && cuda.contains("__syncwarp(warp_mask);"), "{cuda}");
    assert!(hip.contains("    order_warp();\n") && !hip.contains("mask"), "{hip}");
}

/// A text whose lanes exchange values is for one number of them, and says so to the compiler;
/// others run with any.
#[test]
fn texts_are_compiled_for_their_number_of_lanes_alone() {
    let text = |pipeline: &str, target: Target| {
        let program = lowered(&transformed("segmented_sum", pipeline), target).unwrap();
        hip_source(&program).unwrap().text
    };
    for (target, lanes) in [(Target::hip_cdna(), 64), (Target::hip_rdna(), 32)] {
        let check = format!(
            "#if defined(__AMDGCN_WAVEFRONT_SIZE__) && __AMDGCN_WAVEFRONT_SIZE__ != {lanes}\n\
             #error \"this text is for warps of {lanes} threads\"\n#endif\n"
        );
        let exchanging = text("block_per_segment", target);
        assert!(exchanging.contains(&check), "{exchanging}");
        let alone = text("thread_per_segment", target);
        assert!(!alone.contains("#error"), "{alone}");
    }
}

/// A text without what it lacks would be another program.
#[test]
fn refusals_name_what_the_language_lacks() {
    let refused = |kernel: &str, pipeline: &str| {
        let program = lowered(&transformed(kernel, pipeline), Target::hip_rdna()).unwrap();
        hip_source(&program).err().unwrap().render()
    };
    let text = refused("matmul_bf16", "mma");
    assert_eq!(text, "error[no-atom]: no instruction loads 4 matrices of bf16");
    let text = refused("matmul", "register_tile_async");
    assert!(
        text.starts_with("error[no-async-copies]: `matmul` copies asynchronously, which HIP C++ cannot\n"),
        "{text}"
    );
    assert!(text.ends_with("help: leave out `via=cp_async`"), "{text}");
    let kernel = LoopKernel::parse(
        "kernel copy(x: e4m3[8], y: f32[8])\ndomain { [i] : 0 <= i < 8 }\ny[i] = cast(f32, x[i])\n",
    );
    let program = lowered(&kernel.unwrap(), Target::hip_rdna()).unwrap();
    let text = hip_source(&program).err().unwrap().render();
    assert_eq!(text, "error[no-type]: there is no type e4m3 in HIP C++\n |\n = help: convert to f16");
}

fn lowered(kernel: &LoopKernel, target: Target) -> Result<Program, Diagnostic> {
    lower(kernel, LowerOptions::default().on(target))
}

#[test]
fn the_text_of_every_example_compiles() {
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    let compiled: usize = examples()
        .par_iter()
        .map(|(kernel, pipeline)| {
            let name = format!("{kernel}/{pipeline}");
            let kernel = transformed(kernel, pipeline);
            let mut compiled = 0;
            for target in [Target::hip_rdna(), Target::hip_cdna()] {
                let program = match lowered(&kernel, target) {
                    Ok(program) => program,
                    // Pipelines that rely on warps of 32 threads.
                    Err(d) if target.warp_size == 64 => {
                        let needs_32 = ["warp-without-lanes", "flat-warp", "atom-lanes"];
                        assert!(needs_32.contains(&d.code), "{name}: {d}");
                        continue;
                    }
                    Err(d) => panic!("{name}: {d}"),
                };
                let source = match (hip_source(&program), only_in_cuda(&name)) {
                    (Ok(source), None) => source,
                    (Err(d), Some(codes)) if codes.contains(&d.code) => continue,
                    (Ok(source), Some(_)) => panic!("{name} can be printed:\n{}", source.text),
                    (Err(d), _) => panic!("{name}: {d}"),
                };
                for other in ["_sync(", "__nv_", "cuda", "asm", "__ldcs", "__stcs"] {
                    assert!(!source.text.contains(other), "{name}: {other}\n{}", source.text);
                }
                assert!(source.text.starts_with("#include <hip/hip_runtime.h>\n"), "{name}");
                checker.compile_source(&program, source).unwrap_or_else(|d| panic!("{name}: {}", d.render()));
                compiled += 1;
            }
            compiled
        })
        .sum();
    assert!(compiled > 40, "{compiled}");
}

#[test]
fn texts_in_both_languages_compute_the_same() {
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    let x: Vec<f32> = (0..3 * 1000).map(|k| ((k * 7) % 11) as f32).collect();
    let arguments = || {
        let arrays = Arguments::new().floats("x", &x).floats("out", &[0.0; 3]);
        arrays.scalar("nseg", 3).scalar("len", 1000)
    };
    for pipeline in ["block_per_segment", "warp_per_segment", "subwarp_8", "warp_vec4"] {
        let kernel = transformed("segmented_sum", pipeline);
        let run = |program: &Program, source| {
            let mut arguments = arguments();
            let text = checker.compile_source(program, source).unwrap_or_else(|d| panic!("{}", d.render()));
            text.run(&mut arguments, Order::Forwards).unwrap_or_else(|d| panic!("{pipeline}: {d}"));
            arguments.get_floats("out")
        };
        let cuda = lowered(&kernel, Target::cuda()).unwrap();
        let hip = lowered(&kernel, Target::hip_rdna()).unwrap();
        let found = run(&hip, hip_source(&hip).unwrap());
        assert_eq!(found, run(&cuda, cuda_source(&cuda).unwrap()));
        let sums: Vec<f32> = x.chunks(1000).map(|row| row.iter().sum()).collect();
        assert_eq!(found, sums, "{pipeline}");
    }
}

#[test]
fn programs_for_another_language_are_refused() {
    let program = lowered(&transformed("axpy", "block_128"), Target::cuda()).unwrap();
    assert_eq!(
        hip_source(&program).unwrap_err().message,
        "`axpy` was lowered for CUDA C and warps of 32 threads, and cannot be printed in HIP C++ \
         for warps of 32 or 64"
    );
}
