//! Refusals: the place that they point to, and the remedy that they give.

use std::process::Command;

use loopwright::prelude::*;

use crate::common::{Folder, call, call_with, example, refusal};

/// An error is shown with the lines of the file that contain it.
#[test]
fn refusals_show_the_place() {
    let folder = Folder::new("place");
    let file = folder.file(
        "bad.lw",
        "kernel bad(x: f32[n], y: f32[n], n: i32)\n\
         domain { [i] : 0 <= i < n }\n\
         y[i] = x[j] + xx[i]\n",
    );
    let text = refusal(&call(&["check", &file]));
    assert!(text.contains("bad.lw:3:10\n") && text.contains("3 | y[i] = x[j] + xx[i]\n"), "{text}");
    assert!(text.contains("bad.lw:3:15\n"), "everything wrong at once: {text}");
    let pipeline = folder.file("bad.pipe", "split_iname(i, 32)\nsplit_inam(i_inner, 4)\n");
    let text = refusal(&call(&["check", &example("kernels/axpy.lw"), &pipeline]));
    assert!(text.contains("bad.pipe:2:1\n") && text.contains("2 | split_inam(i_inner, 4)\n"), "{text}");
}

#[test]
fn bad_files_are_refused() {
    let folder = Folder::new("bad");
    let kernel = example("kernels/segmented_sum.lw");
    let text = refusal(&call(&["print", &folder.path("nothing.lw")]));
    assert!(text.contains("error[read-file]"), "{text}");
    refusal(&call(&["print", &folder.0.display().to_string()]));
    let mut state = 1u64;
    let noise: Vec<u8> = (0..4096)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        })
        .collect();
    for command in ["print", "check", "cuda", "run"] {
        for bytes in [&noise[..], &b"\xff\xfe"[..], b"", b"kernel", b"kernel f("] {
            let file = folder.file("noise.lw", bytes);
            refusal(&call(&[command, &file]));
        }
    }
    let nested = format!(
        "kernel f(y: f32[n], n: i32)\ndomain {{ [i] : 0 <= i < n }}\ny[i] = {}1.0{}\n",
        "(".repeat(20_000),
        ")".repeat(20_000)
    );
    refusal(&call(&["check", &folder.file("nested.lw", nested)]));
    // A kernel file truncated at any byte is refused or is a valid kernel; it never causes a crash.
    let whole = std::fs::read(&kernel).unwrap();
    for end in (0..whole.len()).step_by(7) {
        let output = call_with(&["check", "-"], &whole[..end]);
        assert!(matches!(output.status.code(), Some(0 | 2)), "{end}");
    }
    for pipeline in
        [&noise[..], b"split_iname(i, 32", b"unroll_iname(i)", b"split_iname(q, 4)", &b"(".repeat(20_000)]
    {
        refusal(&call(&["print", &kernel, &folder.file("bad.pipe", pipeline)]));
    }
    let x = Tensor::zeros(&[2, 2], DType::F32).unwrap().to_npy_bytes().unwrap();
    let cut = folder.file("cut.npy", &x[..x.len() - 3]);
    let text = refusal(&call(&["run", &kernel, "--input", &format!("x={cut}"), "--device", "emulator"]));
    assert!(text.contains("error[npy-truncated]"), "{text}");
    let noise = folder.file("noise.npy", &noise);
    refusal(&call(&["run", &kernel, "--input", &format!("x={noise}"), "--device", "emulator"]));
}

#[test]
fn bad_arguments_are_refused() {
    let kernel = example("kernels/segmented_sum.lw");
    let run = |args: &[&str]| {
        let mut all = vec!["run", &kernel, "--device", "emulator"];
        all.extend(args);
        refusal(&call(&all))
    };
    assert!(run(&[]).contains("argument `x` of `segmented_sum` is missing"));
    assert!(run(&["--set", "len=two"]).contains("`two` is not a number"));
    assert!(run(&["--set", "lem=2"]).contains("do you mean `len`?"));
    assert!(run(&["--random", "x"]).contains("error[missing-argument]"));
    assert!(run(&["--random", "y", "--set", "nseg=1", "--set", "len=1"]).contains("its arrays are x, out"));
    assert!(run(&["--set", "nseg=-1", "--set", "len=1", "--random", "x"]).contains("nseg = -1"));
    let text = refusal(&call(&["run", &kernel, "--device", "abacus"]));
    assert!(text.contains("write gpu, emulator or best"), "{text}");
    assert_eq!(call(&["dance"]).status.code(), Some(2));
    if Device::cuda(0).is_err() {
        let text = refusal(&call(&["run", &kernel, "--device", "gpu"]));
        assert!(text.contains("or run on the emulator"), "{text}");
    }
}

#[test]
fn bad_options_are_refused() {
    let folder = Folder::new("options");
    let kernel = example("kernels/axpy.lw");
    let pipeline = folder.file("split.pipe", "split_iname(i, $block)\n");
    let of = |args: &[&str]| refusal(&call(args));
    for (args, says, helps) in [
        (&["cuda", &kernel, "--compile", "foo"][..], "error[arch]: `foo`", "loopwright doctor"),
        (
            &["cuda", &kernel, "--index", "i8"],
            "error[index-type]: indices cannot be `i8`",
            "write i32 or i64",
        ),
        (&["run", &kernel, "--device", "abacus"], "error[device]: there is no device `abacus`", "emulator"),
        (&["run", &kernel, "--set", "n"], "error[option]: `n` is not of the form", "n=1000"),
        (
            &["print", &kernel, &pipeline, "-p", "block=x"],
            "error[parameter]: `x` is not an integer",
            "-p block=128",
        ),
        (&["print", &kernel, "-p", "block=8"], "error[unknown-parameter]", "give a pipeline file"),
        (&["run", &kernel, "--output", "out=out.npy"], "error[unknown-argument]", "its arrays are x, y"),
        (&["print", "/nowhere/k.lw"], "error[read-file]: /nowhere/k.lw cannot be read", "an existing"),
    ] {
        let text = of(args);
        assert!(text.contains(says) && text.contains(helps), "{text}");
    }
    let lost = format!("y={}", folder.path("no/where.npy"));
    let run = [
        "run", &kernel, "--set", "n=3", "--set", "a=2", "--random", "x", "--random", "y", "--device",
        "emulator",
    ];
    let output = call(&[&run[..], &["--output", &lost]].concat());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && text.contains("error[write-file]"), "{text}");
    // A machine without a compiler.
    let output = Command::new(env!("CARGO_BIN_EXE_loopwright"))
        .args(["cuda", &kernel, "--compile", "sm_80"])
        .env("LOOPWRIGHT_NVRTC", "/nowhere")
        .output()
        .unwrap();
    let text = refusal(&output);
    assert!(text.contains("error[no-compiler]") && text.contains("make setup"), "{text}");
}

/// Refusals of steps, of lowering and of arguments show the line concerned in the user's own files.
#[test]
fn late_refusals_show_the_place() {
    let folder = Folder::new("late");
    let kernel = folder.file(
        "k.lw",
        "kernel k(x: f32[n], y: f32[1], n: i32)\n\
         domain { [i] : 0 <= i < n }\n\
         \n\
         y[0] = x[i] {id=last}\n",
    );
    let pipe = |text: &str| folder.file("p.pipe", text);
    let blocks = "split_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)\n";
    let text = refusal(&call(&["check", &kernel, &pipe(blocks)]));
    assert!(text.contains("error[race]") && text.contains("p.pipe:2:1\n"), "{text}");
    let text = refusal(&call(&["check", &kernel, &pipe("split_iname(i, 32)\n\nsplit_iname(i_inner, 0)\n")]));
    assert!(text.contains("error[number-range]") && text.contains("p.pipe:3:1\n"), "{text}");
    let text = refusal(&call(&["run", &kernel, "--set", "n=3", "--device", "emulator"]));
    assert!(text.contains("error[missing-argument]") && text.contains("k.lw:1:10\n"), "{text}");
}

/// What the library says about its functions is said about options here.
#[test]
fn remedies_are_options() {
    let folder = Folder::new("remedies");
    let (kernel, open) = (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    for command in ["print", "check", "cuda", "explain", "run"] {
        let output = call(&[command, &kernel, &open]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {text}");
        assert!(text.contains("= help: give it a value: `-p block_rows=128`, or `--record FILE`"), "{text}");
        assert!(!text.contains("pipeline.bind"), "{text}");
    }
    let generic = folder.file(
        "generic.lw",
        "kernel k(x: T[n], y: T[n], n: i32)\nassume 0 <= n\n\
         domain { [i] : 0 <= i < n }\ny[i] = y[i] + x[i]\n",
    );
    let text = refusal(&call(&["cuda", &generic]));
    assert!(text.contains("error[open-type]") && text.contains("`--type T=f32`"), "{text}");
    let run = |more: &[&str]| {
        refusal(&call(&[&["run", &generic, "--type", "T=f32", "--device", "emulator"], more].concat()))
    };
    // An array that is written and read has to come from somewhere.
    let text = run(&["--set", "n=4", "--random", "x"]);
    assert!(
        text.contains(
            ": the kernel writes it, and reads it too: `--input y=y.npy`, `--random y` or `--zeros y`"
        ),
        "{text}"
    );
    assert!(run(&["--random", "x"]).contains("`--set n=VALUE`"));
}

/// Lowering refuses inames that only the pipeline has: it points to the step.
#[test]
fn refusals_of_lowering_point_to_steps() {
    let folder = Folder::new("steps");
    let kernel = example("kernels/axpy.lw");
    let pipeline = folder.file(
        "wide.pipe",
        "split_iname(i, 2048) # one block\n  tag_inames(i_outer: block.x, i_inner: thread.x)\n",
    );
    let text = refusal(&call(&["check", &kernel, &pipeline]));
    assert!(
        text.contains("error[too-many-threads]") && text.contains("`i_inner: thread.x` has 2048 values"),
        "{text}"
    );
    assert!(
        text.contains("wide.pipe:2:3\n")
            && text.contains("2 |   tag_inames(i_outer: block.x, i_inner: thread.x)\n"),
        "{text}"
    );
}
