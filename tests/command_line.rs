//! The command line, as a user calls it: what it prints, writes and refuses, and its exit status.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use loopwright::prelude::*;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("loopwright-cli-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn example(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(path).display().to_string()
}

fn call(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loopwright")).args(args).stdin(Stdio::null()).output().unwrap()
}

fn call_with(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_loopwright"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program may refuse before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The diagnostics of a refusal.
fn refusal(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("error[") && !text.contains("panicked"), "{text}");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    text
}

fn without_comments(file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect()
}

#[test]
fn print_gives_the_kernel_back() {
    let file = example("kernels/segmented_sum.lw");
    assert_eq!(out(&call(&["print", &file])), without_comments(&file));
    let from_stdin = call_with(&["print", "-"], &std::fs::read(&file).unwrap());
    assert_eq!(out(&from_stdin), without_comments(&file));
    let steps =
        out(&call(&["print", "--steps", &file, &example("pipelines/segmented_sum/block_per_segment.pipe")]));
    assert!(steps.contains("\n# split_iname(i, 256)\nkernel segmented_sum("), "{steps}");
    assert!(steps.contains("tag s: block.x"), "{steps}");
    // What is printed of a transformed kernel is a kernel file again, for another pipeline or none.
    let folder = Folder::new("print");
    let printed = out(&call(&["print", &file, &example("pipelines/segmented_sum/block_per_segment.pipe")]));
    let again = folder.file("again.lw", &printed);
    assert_eq!(out(&call(&["print", &again])), printed);
}

#[test]
fn explain_shows_verdicts_and_changes() {
    let kernel = example("kernels/transpose.lw");
    let pipeline = example("pipelines/transpose/tiled.pipe");
    let text = out(&call(&["explain", &kernel, &pipeline]));
    assert!(text.starts_with("declared\n   | kernel transpose("), "{text}");
    assert!(
        text.contains("\n1. split_iname(i, 32)\n   proved: a split in place keeps all executions"),
        "{text}"
    );
    assert!(text.contains("   | + temp a_tile: f32[32, 32] shared\n"), "{text}");
    assert!(!text.contains(" us"), "the same bytes each time: {text}");
    let whole = out(&call(&["explain", "--whole", &kernel, &pipeline]));
    let steps = whole.lines().filter(|l| l.starts_with("   | kernel transpose(")).count();
    assert_eq!(steps, 6, "the declared kernel and five steps: {whole}");
    assert!(out(&call(&["explain", "--times", &kernel, &pipeline])).contains("\n1. step "));
    // A refusal ends with status 2, its witness and its place, after the steps that went well.
    let folder = Folder::new("explain");
    let chain = folder.file(
        "chain.lw",
        "kernel chain(x: f32[n], n: i32)\nassume 0 <= n\ndomain { [i] : 1 <= i < n }\nx[i] = x[i - 1] {id=next}\n",
    );
    let steps = folder.file("chain.pipe", "split_iname(i, 32)\ntag_inames(i_outer: block.x)\n");
    let refused = call(&["explain", &chain, &steps]);
    let (text, error) = (String::from_utf8_lossy(&refused.stdout), String::from_utf8_lossy(&refused.stderr));
    assert_eq!(refused.status.code(), Some(2));
    assert!(text.contains("1. split_iname(i, 32)\n") && !text.contains("2. "), "{text}");
    assert!(error.contains("step 2, `tag_inames(i_outer: block.x)`: "), "{error}");
    assert!(
        error.contains("witness: ") && error.contains("next[i=32]") && error.contains("chain.pipe:2:1"),
        "{error}"
    );
}

#[test]
fn explain_names_the_dependence_behind_what_lowering_placed() {
    let lowered = |path: &str| {
        let (kernel, pipeline) =
            (example(&format!("polybench/{path}.lw")), example(&format!("polybench/{path}.pipe")));
        out(&call(&["explain", "--lowered", &kernel, &pipeline]))
    };
    let text = lowered("trisolv");
    let expected = "\
host loop: launched for each w: subtract reads x, divide writes it at a later w
    subtract[i=128, j=0] reads x[128] before divide[i=128] writes it (as declared, n=129)
trisolv_1
  kernel boundary: launched after trisolv_0: copy writes x, divide reads it
    ";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains(
            "i < n: `split_iname(i, 128)` (`i = 128*i_outer + i_inner`): the last tile may be partial"
        ),
        "{text}"
    );
    // A skewed iname is no tile, and a triangle is none.
    assert!(lowered("seidel-2d").contains("1 <= j: the domain of mean, with `j = w - 4*t - 2*i`"));
    assert!(lowered("syr2k").contains("j <= i: the domain of update"));
    // The row and the column of floyd-warshall are one launch each, not loops of one.
    let text = lowered("floyd-warshall");
    assert_eq!(text.matches("host loop").count(), 1, "{text}");
    assert!(text.contains("floyd_warshall_3\n  kernel boundary: launched after floyd_warshall_2: relax_right reads path, relax_at_right writes it\n"), "{text}");
    // Two executions of a copy and its reader; the copy is none of the declared kernel's.
    let tiled = [
        "explain",
        "--lowered",
        &example("kernels/transpose.lw"),
        &example("pipelines/transpose/tiled.pipe"),
    ];
    let text = out(&call(&tiled));
    assert!(text.contains("copy: a_fetch copies a, made by `add_prefetch`"), "{text}");
    assert!(text.contains("  barrier: a_fetch writes a_tile, copy reads it\n      a_fetch["), "{text}");
    assert!(text.contains(" before copy[j="), "{text}");
}

#[test]
fn compare_and_bisect_name_a_step() {
    let kernel = example("kernels/transpose.lw");
    let (tiled, padded) =
        (example("pipelines/transpose/tiled.pipe"), example("pipelines/transpose/tiled_padded.pipe"));
    let text = out(&call(&["compare", &kernel, &tiled, &padded]));
    assert!(text.starts_with("step 5 differs\n  first:  add_prefetch("), "{text}");
    assert!(
        text.ends_with("- temp a_tile: f32[32, 32] shared\n+ temp a_tile: f32[32, 32 pad 1] shared\n"),
        "{text}"
    );
    assert_eq!(out(&call(&["compare", &kernel, &tiled, &tiled])), "the kernels are equal after every step\n");
    refusal(&call(&["compare", &kernel, &tiled]));
    // Values go to the pipeline that has a parameter for them; one of the two must.
    let folder = Folder::new("compare");
    let open = folder.file("open.pipe", "split_iname(i, $width)\n");
    let text = out(&call(&["compare", &kernel, &open, &tiled, "-p", "width=16"]));
    assert!(
        text.starts_with("step 1 differs\n  first:  split_iname(i, 16)\n  second: split_iname(i, 32)\n"),
        "{text}"
    );
    refusal(&call(&["compare", &kernel, &open, &tiled, "-p", "height=16"]));

    let culprit = |args: &[&str]| out(&call(&[&["bisect", &kernel], args].concat()));
    assert!(culprit(&[&tiled, "--barriers", "0"]).starts_with("step 5, `add_prefetch("));
    assert_eq!(culprit(&[&tiled, "--barriers", "1"]), "no step made it false\n");
    let sizes = ["--set", "m=64", "--set", "n=32"];
    let conflicts = |pipeline: &str| culprit(&[&[pipeline, "--bank-conflicts", "0"], &sizes[..]].concat());
    assert!(conflicts(&tiled).starts_with("step 5, `add_prefetch("));
    assert_eq!(conflicts(&padded), "no step made it false\n");
    assert_eq!(culprit(&[&[tiled.as_str(), "--result"], &sizes[..]].concat()), "no step made it false\n");
    refusal(&call(&["bisect", &kernel, &tiled]));
    assert!(
        refusal(&call(&["bisect", &kernel, &tiled, "--moved", "0"])).contains("error["),
        "sizes are needed"
    );
    // A step that the user vouched for wrongly is the one that made the result wrong.
    let scatter = folder.file(
        "scatter.lw",
        "kernel scatter(to: i32[n], y: i32[n], n: i32)\nassume 0 <= n\nfact 0 <= to < n\n\
         domain { [i] : 0 <= i < n }\ny[to[i]] = i {id=put}\n",
    );
    let reversed = folder.file(
        "reversed.pipe",
        "split_iname(i, 8)\nassume_legal(\"to is a permutation\")\nreverse(i_outer)\n",
    );
    let args = ["bisect", &scatter, &reversed, "--result", "--set", "n=100", "--zeros", "y"];
    let text = out(&call(&args));
    assert!(text.starts_with("step 3, `reverse(i_outer)`, made it false\n"), "{text}");
}

#[test]
fn check_says_what_was_decided() {
    let kernel = example("kernels/segmented_sum.lw");
    let text = out(&call(&["check", &kernel, &example("pipelines/segmented_sum/block_per_segment.pipe")]));
    assert!(text.starts_with("segmented_sum: 1 instruction, 1 device kernel, i32 indices\n"), "{text}");
    // 256 threads are eight warps, whose sums meet in shared memory.
    assert!(text.contains("grid (nseg, 1, 1), block (256, 1, 1)"), "{text}");
    assert!(text.contains("shared"), "{text}");
    let text = out(&call(&["check", &kernel, &example("pipelines/segmented_sum/thread_per_segment.pipe")]));
    assert!(text.contains("block (128, 1, 1), 0 barriers, 0 bytes of shared memory"), "{text}");
}

/// What no current device can launch is refused where the kernel is looked at, before there are arguments.
#[test]
fn check_knows_the_limit_of_shared_memory() {
    let folder = Folder::new("limits");
    let kernel = |cells: usize| {
        format!(
            "kernel k(x: f32[n, {cells}], y: f32[n, {cells}], n: i32)\nassume 0 <= n\ntemp t: f32[{cells}] shared\n\
             domain {{ [b] : 0 <= b < n }}\ndomain {{ [i] : 0 <= i < {cells} }}\ndomain {{ [j] : 0 <= j < {cells} }}\n\
             t[i] = x[b, i] {{inames=b:i}}\ny[b, j] = t[{cells} - 1 - j]\n"
        )
    };
    let pipeline = folder.file(
        "threads.pipe",
        "split_iname(i, 256)\nsplit_iname(j, 256)\ntag_inames(b: block.x, i_inner: thread.x, j_inner: thread.x)\n",
    );
    // 227 KiB are 58112 elements.
    let text = out(&call(&["check", &folder.file("largest.lw", kernel(58112)), &pipeline]));
    assert!(text.contains("232448 bytes of shared memory"), "{text}");
    let text = refusal(&call(&["check", &folder.file("larger.lw", kernel(58368)), &pipeline]));
    assert!(
        text.contains("error[device-limit]: `k` cannot be launched: a block takes 233472 bytes of shared memory, and the device has 232448 for one"),
        "{text}"
    );
}

/// More memory than there is is a refusal, neither an abort nor the end of the process by the system.
#[test]
fn sizes_beyond_the_memory_are_refused() {
    let folder = Folder::new("memory");
    let kernel = folder.file(
        "add.lw",
        "kernel add(x: f32[n], y: f32[n], n: i64)\nassume 0 <= n\ndomain { [i] : 0 <= i < n }\ny[i] = x[i] + y[i]\n",
    );
    for n in ["1000000000000000000", "1000000000000", "100000000000", "20000000000"] {
        let set = format!("n={n}");
        for fill in ["--random", "--zeros"] {
            let args = ["run", &kernel, "--device", "emulator", "--set", &set, fill, "x", fill, "y"];
            let text = refusal(&call(&args));
            assert!(text.contains("memory"), "{text}");
        }
    }
}

#[test]
fn cuda_prints_the_text() {
    let kernel = example("kernels/axpy.lw");
    let folder = Folder::new("cuda");
    let pipeline = folder
        .file("blocks.pipe", "split_iname(i, $block)\ntag_inames(i_outer: block.x, i_inner: thread.x)\n");
    let text = out(&call(&["cuda", &kernel, &pipeline, "-p", "block=64"]));
    assert!(text.contains("__launch_bounds__(64)") && text.contains("\naxpy("), "{text}");
    let wide = out(&call(&["cuda", &kernel, &pipeline, "-p", "block=64", "--index", "i64"]));
    assert!(wide.contains("long"), "{wide}");
    let text = refusal(&call(&["cuda", &kernel, &pipeline]));
    assert!(text.contains("block"), "{text}");
    let text = refusal(&call(&["cuda", &kernel, &pipeline, "-p", "blok=64"]));
    assert!(text.contains("did you mean `$block`?"), "{text}");
    assert!(
        refusal(&call(&["cuda", &kernel, &pipeline, "-p", "block=many"])).contains("`many` is no integer")
    );
    assert!(refusal(&call(&["cuda", &kernel, &pipeline, "-p", "block"])).contains("name=value"));
}

#[test]
fn run_reads_and_writes_npy_files() {
    let folder = Folder::new("run");
    let x = Tensor::from_vec(&[3, 4], (1..=12).map(|v| v as f32).collect()).unwrap();
    x.to_npy(folder.path("x.npy")).unwrap();
    let kernel = example("kernels/segmented_sum.lw");
    for pipeline in ["block_per_segment", "warp_per_segment", "thread_per_segment"] {
        let pipeline = example(&format!("pipelines/segmented_sum/{pipeline}.pipe"));
        let output = call(&[
            "run",
            &kernel,
            &pipeline,
            "--input",
            &format!("x={}", folder.path("x.npy")),
            "--output",
            &format!("out={}", folder.path("out.npy")),
            "--device",
            "emulator",
            "--verify",
        ]);
        let text = out(&output);
        assert!(text.contains("out: f32[3] = 10 26 42\n"), "{text}");
        assert!(text.contains("verified: equal to the declared kernel\n"), "{text}");
        let result = Tensor::from_npy(folder.path("out.npy")).unwrap();
        assert_eq!(result.to_vec::<f32>().unwrap(), [10.0, 26.0, 42.0]);
    }
}

#[test]
fn run_makes_data_that_keeps_the_declared_facts() {
    let text = out(&call(&[
        "run",
        &example("kernels/ragged_sum.lw"),
        &example("pipelines/ragged_sum/warp_per_segment.pipe"),
        "--set",
        "n=500",
        "--set",
        "nseg=7",
        "--random",
        "x",
        "--random",
        "offsets",
        "--check-facts",
        "--verify",
        "--device",
        "emulator",
    ]));
    assert!(text.contains("out: f32[7] = ") && text.contains("verified"), "{text}");
}

#[test]
fn run_binds_open_types() {
    let folder = Folder::new("types");
    let kernel = folder.file(
        "twice.lw",
        "kernel twice(x: T[n], y: T[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = x[i] + x[i]\n",
    );
    let with = |t: &str| {
        call(&["run", &kernel, "--set", "n=3", "--random", "x", "--type", t, "--device", "emulator"])
    };
    assert!(out(&with("T=f64")).contains("y: f64[3] = "));
    assert!(refusal(&with("T=f31")).contains("`f31` is no type"));
    assert!(refusal(&with("U=f32")).contains("has no open type `U`"));
    let untold = call(&["check", &kernel]);
    assert!(refusal(&untold).contains("--type T=f32"));
    out(&call(&["check", &kernel, "--type", "T=f16"]));
}

#[test]
fn a_wrong_result_has_status_1() {
    let folder = Folder::new("wrong");
    // Half-precision sums are not those of the declared kernel to seven digits; nothing else can make a checked kernel wrong.
    let x = Tensor::from_fn(&[1, 4096], |k| 1.0f32 / (k as f32 + 1.0)).unwrap();
    x.to_npy(folder.path("x.npy")).unwrap();
    let output = call(&[
        "run",
        &example("kernels/segmented_sum.lw"),
        &example("pipelines/segmented_sum/block_per_segment.pipe"),
        "--input",
        &format!("x={}", folder.path("x.npy")),
        "--device",
        "emulator",
        "--verify",
        "0",
    ]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("wrong: element 0 of `out` is "), "{text}");
}

/// A kernel whose blocks write through an index array: the fact that its elements differ is needed, and checked on request.
#[test]
fn a_scatter_needs_different_elements() {
    let folder = Folder::new("scatter");
    let text = "kernel scatter(x: f32[n], idx: i32[n], y: f32[n], n: i32)\nfact 0 <= idx < n\nFACT\n\
                domain { [i] : 0 <= i < n }\ny[idx[i]] = x[i]\n";
    let with = folder.file("with.lw", text.replace("FACT", "fact injective(idx)"));
    let without = folder.file("without.lw", text.replace("FACT", ""));
    let pipeline =
        folder.file("blocks.pipe", "split_iname(i, 4)\ntag_inames(i_outer: block.x, i_inner: thread.x)\n");
    let text = refusal(&call(&["check", &without, &pipeline]));
    assert!(text.contains("error[legality-unknown]") && text.contains("`fact injective(idx)`"), "{text}");
    let x = Tensor::from_vec(&[6], vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    x.to_npy(folder.path("x.npy")).unwrap();
    let run = |idx: Vec<i32>| {
        Tensor::from_vec(&[6], idx).unwrap().to_npy(folder.path("idx.npy")).unwrap();
        let (x, idx) = (format!("x={}", folder.path("x.npy")), format!("idx={}", folder.path("idx.npy")));
        call(&[
            "run",
            &with,
            &pipeline,
            "--input",
            &x,
            "--input",
            &idx,
            "--check-facts",
            "--verify",
            "--device",
            "emulator",
        ])
    };
    let text = out(&run(vec![5, 0, 4, 1, 3, 2]));
    assert!(text.contains("y: f32[6] = 2 4 6 5 3 1\n") && text.contains("verified"), "{text}");
    let text = refusal(&run(vec![5, 0, 4, 1, 0, 2]));
    assert!(text.contains("error[fact]") && text.contains("idx[1] and idx[4] are both 0"), "{text}");
}

/// What is wrong is shown in the lines of the file that it stands in.
#[test]
fn refusals_show_the_place() {
    let folder = Folder::new("place");
    let file = folder.file(
        "bad.lw",
        "kernel bad(x: f32[n], y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\ny[i] = x[j] + xx[i]\n",
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
    // A kernel file cut off anywhere is refused or a kernel, never a crash.
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
    assert!(run(&["--set", "len=two"]).contains("`two` is no number"));
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
fn the_doctor_knows_this_machine() {
    let text = out(&call(&["doctor"]));
    assert!(text.contains("emulator") && text.contains("NVRTC"), "{text}");
}

#[test]
fn tune_names_the_best_point_and_keeps_what_it_was_asked_to_keep() {
    let folder = Folder::new("tune");
    let (page, best, log) = (folder.path("page.html"), folder.path("best.pipe"), folder.path("log.jsonl"));
    let kernel = example("kernels/segmented_sum.lw");
    let pipeline = example("tuning/segmented_sum_short.pipe");
    let space = folder.file("small.space", "width in [16, 64]\nrows in [16]\nblock_rows in [32, 64, 4096]\n");
    let args = [
        "tune",
        &kernel,
        &pipeline,
        &space,
        "--set",
        "nseg=100000",
        "--set",
        "len=64",
        "--sample",
        "nseg=128",
        "--device",
        "emulator",
        "--html",
        &page,
        "--best",
        &best,
        "--log",
        &log,
    ];
    let text = out(&call(&args));
    assert!(text.contains("<- best") && text.contains("nothing was timed"), "{text}");
    // The pipeline that it wrote is one, without open parameters.
    let found = std::fs::read_to_string(&best).unwrap();
    assert!(found.starts_with("# Tuned on emulator: width="), "{found}");
    let printed = out(&call(&["cuda", &kernel, &best]));
    assert!(printed.contains("float4"), "{printed}");
    assert!(std::fs::read_to_string(&page).unwrap().contains("</html>"));

    let refused = call(&["tune", &kernel, &pipeline, &folder.file("bad.space", "width = 4\n")]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("space-syntax"));
    let with = |more: &[&str]| refusal(&call(&[&args[..3], &[&space], &args[4..12], more].concat()));
    let text = with(&["--strategy", "clever"]);
    assert!(
        text.contains("error[strategy]") && text.contains("write exhaustive, random or guided"),
        "{text}"
    );
    let text = with(&["--strategy", "guided", "--points", "0"]);
    assert!(text.contains("error[strategy]: a strategy of 0 points looks at nothing"), "{text}");
    let text = with(&["--points", "3"]);
    assert!(text.contains("error[strategy]") && text.contains("--strategy random"), "{text}");
    let text = with(&["--launches", "0"]);
    assert!(text.contains("error[launches]: a median of 0 launches is no figure"), "{text}");
    let few = out(&call(
        &[&args[..3], &[&space], &args[4..12], &["--strategy", "random", "--points", "2"]].concat(),
    ));
    assert!(few.contains("\n4 points were not looked at: the strategy left them out\n"), "{few}");
    let text = refusal(&call(&[&args[..3], &[&space, "--set", "nseg=0"], &args[6..12]].concat()));
    assert!(text.contains("error[nothing-to-do]") && text.contains("nseg=0"), "{text}");
    // The reference alone would take minutes, and nothing is known of any point when the time is over.
    let over =
        call(&[&args[..3], &[&space], &args[4..8], &["--device", "emulator", "--budget", "0.2"]].concat());
    let (text, error) = (String::from_utf8_lossy(&over.stdout), String::from_utf8_lossy(&over.stderr));
    assert_eq!(over.status.code(), Some(1), "{error}");
    assert!(
        text.contains("\nspent ") && !text.contains("is legal") && !error.contains("is legal"),
        "{text}{error}"
    );
    assert!(
        error.contains("--sample nseg=VALUE") && error.contains("before any point was looked at"),
        "{error}"
    );
    let text = with(&["--log", &folder.path("no/where.jsonl")]);
    assert!(text.contains("error[tuning-log]") && text.contains("cannot be"), "{text}");
    // Files that results could not go to are refused before the search, and nothing is left behind.
    let lost = folder.path("no/where");
    for (option, code) in [("--html", "write-file"), ("--best", "write-file"), ("--record", "tuning-record")]
    {
        let text = with(&[option, &lost]);
        assert!(text.contains(&format!("error[{code}]: {lost} cannot be written")), "{text}");
    }
    let notes = folder.file("notes.txt", "my notes");
    for (option, code) in [("--record", "tuning-record"), ("--log", "tuning-log")] {
        let text = with(&[option, &notes]);
        assert!(text.contains(&format!("error[{code}]")) && text.contains("notes.txt"), "{text}");
        assert_eq!(std::fs::read_to_string(&notes).unwrap(), "my notes");
    }
    let early = folder.path("early.html");
    with(&["--html", &early, "--launches", "0"]);
    assert!(!Path::new(&early).exists(), "nothing was written before there was something to write");
    let none =
        folder.file("none.space", "width in [16]\nrows in [16]\nblock_rows in [32]\nrequire rows == 3\n");
    let text = refusal(&call(&[&args[..3], &[&none], &args[4..12]].concat()));
    assert!(text.contains("error[empty-space]") && text.contains("relax a `require` line"), "{text}");
}

#[test]
fn a_report_shows_several_searches_along_a_size() {
    let folder = Folder::new("report");
    let (page, log) = (folder.path("page.html"), folder.path("log.jsonl"));
    let kernel = example("kernels/segmented_sum.lw");
    let space = |text: &str| folder.file("some.space", text);
    let tune = |pipeline: &str, space: &str, nseg: &str, len: &str| {
        let (nseg, len) = (format!("nseg={nseg}"), format!("len={len}"));
        let pipeline = example(&format!("tuning/{pipeline}.pipe"));
        let args = ["tune", &kernel, &pipeline, space, "--set", &nseg, "--set", &len, "--log", &log];
        out(&call(&[&args[..], &["--sample", "nseg=64", "--device", "emulator"]].concat()));
    };
    let short = space("width in [16, 64]\nrows in [16]\nblock_rows in [32, 64]\n");
    tune("segmented_sum_short", &short, "100000", "64");
    let report = |more: &[&str]| call(&[&["report", &log][..], more].concat());
    let text = refusal(&report(&[]));
    assert!(text.contains("error[report-size]: all searches are of one shape"), "{text}");
    tune("segmented_sum_short", &short, "100000", "256");
    let text = out(&report(&["--html", &page]));
    assert!(
        text.starts_with("fraction of the memory's limit by len; nseg=100000\n\nsegmented_sum_short\n"),
        "{text}"
    );
    assert!(text.contains("\n  estimated by the counts: nothing was timed\n"), "{text}");
    let rows: Vec<&str> =
        text.lines().filter(|l| l.contains(" estimate ") && l.contains(" width=")).collect();
    assert!(
        rows.len() == 2 && rows[0].starts_with("  len=64 ") && rows[1].starts_with("  len=256 "),
        "{text}"
    );
    assert!(
        std::fs::read_to_string(&page).unwrap().contains("<g class=\"s0\"><polyline class=\"line estimate\"")
    );
    // Another pipeline of the same kernel is another line; that its number of rows is another has to be said.
    let long = space("step in [256]\ntile in [256, 512]\n");
    tune("segmented_sum_long", &long, "3000", "4096");
    let text = refusal(&report(&[]));
    assert!(text.contains("error[report-size]: the searches differ in `len`, `nseg`"), "{text}");
    let text = out(&report(&["--by", "len"]));
    assert!(
        text.contains("\n\nsegmented_sum_short\n") && text.contains("\n\nsegmented_sum_long\n"),
        "{text}"
    );
    assert!(text.contains("\n  len=4096 nseg=3000 "), "{text}");
    // What a strategy finds of them needs neither the kernel nor a device.
    let replay = |more: &[&str]| call(&[&["tune", "--replay", &log][..], more].concat());
    let text = out(&replay(&["--strategy", "random", "--points", "1", "--seed", "5"]));
    assert_eq!(text.matches("\n  best of all ").count(), 3, "{text}");
    assert_eq!(text.matches("\n  random with seed 5, 1 counted: ").count(), 3, "{text}");
    assert!(
        text.starts_with("segmented_sum_short on emulator: ") && text.contains(" % of the best\n"),
        "{text}"
    );
    assert_eq!(out(&replay(&[])).matches(": 100.0 % of the best\n").count(), 3, "all points");
    let text = refusal(&replay(&["--strategy", "random", "--points", "0"]));
    assert!(text.contains("error[strategy]"), "{text}");
    let many = space("width in [64]\nrows in [4096]\nblock_rows in [4096]\n");
    let (short, none) = (example("tuning/segmented_sum_short.pipe"), folder.path("none.jsonl"));
    let args = ["tune", &kernel, &short, &many, "--set", "nseg=100000", "--set", "len=64", "--log", &none];
    let searched = call(&[&args[..], &["--sample", "nseg=64", "--device", "emulator"]].concat());
    assert_eq!(searched.status.code(), Some(1), "too many threads");
    let text = refusal(&call(&["tune", "--replay", &none]));
    assert!(text.contains("error[nothing-to-replay]") && text.contains("points that are legal"), "{text}");
    let text = refusal(&call(&["tune", "--replay", &kernel]));
    assert!(text.contains("error[tuning-log]"), "{text}");
    let text = refusal(&report(&["--by", "rows"]));
    assert!(text.contains("`segmented_sum_short` of log has no integer argument `rows`"), "{text}");
    let text = refusal(&report(&["--by", "len", "--html", &folder.path("no/where.html")]));
    assert!(text.contains("error[write-file]"), "{text}");
    assert_eq!(call(&["report"]).status.code(), Some(2));
}

#[test]
fn every_space_of_the_examples_has_points_that_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tuning");
    let mut names: Vec<String> = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        names.extend(name.strip_suffix(".space").map(String::from));
    }
    names.sort();
    let sizes = |name: &str| match name {
        "argmax_chunks" => ("argmax", "nseg=3 len=70000"),
        "argmax_long" => ("argmax", "nseg=5 len=9000"),
        "argmax_short" => ("argmax", "nseg=1000 len=68"),
        "column_sum" => ("column_sum", "m=300 n=132"),
        "matmul" => ("matmul", "m=70 n=66 l=33"),
        // 33000 steps: for some points many blocks, for others a part of one tile.
        "ragged_sum" | "ragged_sum_streaming" => ("ragged_sum", "n=30000 nseg=3000"),
        "segmented_sum_chunks" => ("segmented_sum", "nseg=3 len=70000"),
        "segmented_sum_long" => ("segmented_sum", "nseg=5 len=9000"),
        "segmented_sum_odd_chunks" => ("segmented_sum", "nseg=3 len=33333"),
        "segmented_sum_odd_long" => ("segmented_sum", "nseg=5 len=4097"),
        "segmented_sum_odd_short" => ("segmented_sum", "nseg=1000 len=17"),
        "segmented_sum_peeled_chunks" => ("segmented_sum", "nseg=3 len=33333"),
        "segmented_sum_peeled_long" => ("segmented_sum", "nseg=5 len=4097"),
        "segmented_sum_short" | "segmented_sum_short_streaming" => ("segmented_sum", "nseg=1000 len=68"),
        other => panic!("{other} has no sizes here"),
    };
    for name in names {
        let (kernel, sizes) = sizes(&name);
        let tuning = |kind: &str| example(&format!("tuning/{name}.{kind}"));
        // A kernel without pipelines of its own lies beside its spaces.
        let folder = if kernel == "argmax" { "tuning" } else { "kernels" };
        let (kernel, pipeline, space) =
            (example(&format!("{folder}/{kernel}.lw")), tuning("pipe"), tuning("space"));
        let mut args = vec!["tune", &kernel, &pipeline, &space, "--device", "emulator"];
        args.extend(sizes.split(' ').flat_map(|s| ["--set", s]));
        let text = out(&call(&args));
        assert!(text.contains("best by the counts, nothing was timed: "), "{name}: {text}");
        assert!(!text.contains("wrong"), "{name}: {text}");
    }
}

/// A file of offsets.
fn offsets(folder: &Folder, name: &str, values: Vec<i32>) -> String {
    let path = folder.path(name);
    Tensor::from_vec(&[values.len()], values).unwrap().to_npy(&path).unwrap();
    format!("offsets={path}")
}

#[test]
fn a_search_over_segments_takes_the_users_own_offsets() {
    let folder = Folder::new("offsets");
    let tuning = |kind: &str| example(&format!("tuning/ragged_sum.{kind}"));
    let (kernel, pipeline, log) =
        (example("kernels/ragged_sum.lw"), tuning("pipe"), folder.path("log.jsonl"));
    let space = folder.file("few.space", "threads in [64]\nitems in [8, 16]\ntiles in [4]\n");
    let tune = |more: &[&str]| {
        let args = ["tune", &kernel, &pipeline, &space, "--device", "emulator", "--set", "n=40000000"];
        call(&[&args[..], more].concat())
    };
    let all = offsets(&folder, "all.npy", (0..=1000).map(|k| 40_000 * k).collect());
    // One giant among empty segments, and equal ones: the same lengths of arrays.
    let giant = offsets(&folder, "giant.npy", (0..=100).map(|k| if k < 50 { 0 } else { 5000 }).collect());
    let even = offsets(&folder, "even.npy", (0..=100).map(|k| 50 * k).collect());
    let with = |sample: &str| {
        let own = ["--input", &all, "--sample", "n=5000", "--sample-input", sample, "--log", &log];
        out(&tune(&own))
    };
    let text = with(&giant);
    assert!(text.contains("best by the counts, nothing was timed: threads=64 items="), "{text}");
    assert!(!text.contains("outcomes were taken from the log"), "{text}");
    // What was counted on other segments is counted again, and of the same ones it is not.
    assert!(!with(&even).contains("outcomes were taken from the log"));
    assert!(with(&even).contains("\n2 outcomes were taken from the log\n"));

    // A record serves other offsets that are drawn alike, and says of others what differs.
    let record = folder.path("tuned.json");
    out(&tune(&["--input", &all, "--sample", "n=5000", "--sample-input", &even, "--record", &record]));
    let run = |offsets: &str| {
        let args = ["run", &kernel, &pipeline, "--record", &record, "--device", "emulator", "--random", "x"];
        call(&[&args[..], &["--set", "n=40000000", "--input", offsets]].concat())
    };
    let middle = |k: i32| 40_000 * k + if k % 1000 == 0 { 0 } else { k * 7919 % 30_000 };
    let tomorrow = offsets(&folder, "tomorrow.npy", (0..=1000).map(middle).collect());
    out(&run(&tomorrow));
    let uneven = (0..=1000).map(|k| if k <= 500 { k } else { 40_000_000 - (1000 - k) });
    let text = refusal(&run(&offsets(&folder, "uneven.npy", uneven.collect())));
    assert!(
        text.contains("the record is of something else: its data class is `offsets: mean about 32768, a quarter in segments about 1 x as long, no giant, few empty`, and here it is `offsets: mean about 32768, a quarter in segments about 512 x as long, a giant, few empty`"),
        "{text}"
    );
    // What was only counted, on a sample, is of the sample's segments.
    let sizes = ["--set", "nseg=1000", "--sample", "n=5000", "--sample", "nseg=100"];
    out(&tune(&[&sizes[..], &["--sample-input", &giant, "--record", &record]].concat()));
    let text = std::fs::read_to_string(&record).unwrap();
    assert!(text.contains("\"data_class\": \"offsets: mean about 64, a quarter in segments about 64 x as long, a giant, most empty\""), "{text}");

    let text = refusal(&tune(&["--input", &all, "--sample", "n=5000"]));
    assert!(text.contains("error[") && text.contains("--sample-input"), "{text}");
    // Offsets that break what is declared of them are refused, those of the sample too.
    let falls = offsets(&folder, "falls.npy", (0..=100).map(|k| 5000 - 50 * k).collect());
    let beyond = offsets(&folder, "beyond.npy", (0..=100).map(|k| 51 * k).collect());
    let text = refusal(&tune(&["--input", &falls]));
    assert!(text.contains("error[fact]: the elements of `offsets` fall"), "{text}");
    let text = refusal(&tune(&["--input", &all, "--sample", "n=5000", "--sample-input", &beyond]));
    assert!(
        text.contains("error[fact]: the elements of `offsets` are not all in their declared range"),
        "{text}"
    );
}

/// The lines of a tuning log that are whole records.
fn whole_lines(log: &str) -> usize {
    let text = std::fs::read(log).unwrap_or_default();
    text.split(|b| *b == b'\n').filter(|l| serde_json::from_slice::<serde_json::Value>(l).is_ok()).count()
}

#[test]
fn a_search_that_was_killed_goes_on_with_its_log() {
    let folder = Folder::new("killed");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let space =
        folder.file("all.space", "width in powers(8, 128)\nrows in powers(4, 64)\nblock_rows in [32, 64]\n");
    let log = folder.path("log.jsonl");
    let args = |log: &'static str| {
        let mut args = vec!["tune", "KERNEL", "PIPELINE", "SPACE", "--device", "emulator", "--log", log];
        args.extend(["--set", "nseg=4096", "--set", "len=512", "--sample", "nseg=256"]);
        args
    };
    let filled = |args: Vec<&str>| -> Vec<String> {
        let fill = |a: &str| match a {
            "KERNEL" => kernel.clone(),
            "PIPELINE" => pipeline.clone(),
            "SPACE" => space.clone(),
            "LOG" => log.clone(),
            "OTHER" => folder.path("other.jsonl"),
            a => a.to_owned(),
        };
        args.into_iter().map(fill).collect()
    };
    let mut child = Command::new(env!("CARGO_BIN_EXE_loopwright"))
        .args(filled(args("LOG")))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while whole_lines(&log) < 5 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = whole_lines(&log);
    assert!((5..50).contains(&kept), "it was killed before its 50 points were done: {kept}");
    // As if it had died within a write.
    let bytes = std::fs::read(&log).unwrap();
    let end = bytes.iter().rposition(|b| *b == b'\n').unwrap();
    std::fs::write(&log, &bytes[..end - 20]).unwrap();

    let again =
        out(&Command::new(env!("CARGO_BIN_EXE_loopwright")).args(filled(args("LOG"))).output().unwrap());
    assert!(again.contains(&format!("\n{} outcomes were taken from the log\n", kept - 1)), "{again}");
    // The same as a search that was never ended.
    let whole =
        out(&Command::new(env!("CARGO_BIN_EXE_loopwright")).args(filled(args("OTHER"))).output().unwrap());
    let of = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|l| !l.starts_with("spent") && !l.contains("from the log"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(of(&again), of(&whole));
    // And nothing is left to do for a third.
    let third =
        out(&Command::new(env!("CARGO_BIN_EXE_loopwright")).args(filled(args("LOG"))).output().unwrap());
    assert!(third.contains("\n50 outcomes were taken from the log\n"), "{third}");
}

#[test]
fn a_record_is_used_where_it_holds() {
    let folder = Folder::new("record");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let space = folder.file("small.space", "width in [16, 64]\nrows in [16]\nblock_rows in [32, 64]\n");
    let record = folder.path("tuned.json");
    let tune = |len: &str| {
        let (len, record) = (format!("len={len}"), record.clone());
        let set = ["--set", "nseg=1000", "--set", &len, "--sample", "nseg=128", "--device", "emulator"];
        out(&call(&[&["tune", &kernel, &pipeline, &space, "--record", &record][..], &set].concat()))
    };
    let best = tune("64");
    let best = best.lines().find_map(|l| l.strip_prefix("best by the counts, nothing was timed: ")).unwrap();
    let run = |more: &[&str], nseg: &str, len: &str| {
        let (nseg, len) = (format!("nseg={nseg}"), format!("len={len}"));
        let args = ["run", &kernel, &pipeline, "--record", &record, "--device", "emulator", "--random", "x"];
        call(&[&args[..], &["--set", &nseg, "--set", &len, "--verify"], more].concat())
    };
    // Alike is enough: 900 rows of 80 are in the classes of 1000 rows of 64.
    assert!(out(&run(&[], "904", "80")).contains("verified"));
    let differs = refusal(&run(&[], "904", "200"));
    assert!(
        differs.contains("error[record-differs]: the record is of something else: its shape class is `")
            && differs.contains("64..127 by 16")
            && differs.contains("128..255 by 8"),
        "{differs}"
    );
    // With values of one's own it is only a note.
    let own = run(&["-p", "width=16", "-p", "rows=16", "-p", "block_rows=32"], "904", "200");
    assert!(String::from_utf8_lossy(&own.stderr).contains("note: the record is of something else"));
    assert!(out(&own).contains("verified"));
    // Printing asks for no sizes: the text is that of the best point.
    let cuda = |more: &[&str]| call(&[&["cuda", &kernel, &pipeline], more].concat());
    let parameters: Vec<&str> = best.split(' ').flat_map(|p| ["-p", p]).collect();
    assert_eq!(out(&cuda(&["--record", &record])), out(&cuda(&parameters)));
    // Values that are given go first.
    let width = if best.contains("width=16") { "width=64" } else { "width=16" };
    assert_ne!(out(&cuda(&["--record", &record, "-p", width])), out(&cuda(&["--record", &record])));
    // A second shape class in the same file; the first still holds.
    tune("200");
    assert!(
        out(&run(&[], "904", "200")).contains("verified") && out(&run(&[], "904", "80")).contains("verified")
    );
    // Two records of one text whose best points differ: printing cannot choose between them.
    let other = folder.file("other.space", "width in [32]\nrows in [16]\nblock_rows in [32]\n");
    let set = ["--set", "nseg=1000", "--set", "len=3000", "--sample", "nseg=128", "--device", "emulator"];
    out(&call(&[&["tune", &kernel, &pipeline, &other, "--record", &record][..], &set].concat()));
    let refused = refusal(&cuda(&["--record", &record]));
    assert!(
        refused.contains("error[record-ambiguous]: 3 records hold for this kernel and pipeline")
            && refused.contains("2048..4095 by 8"),
        "{refused}"
    );
    std::fs::remove_file(&record).unwrap();
    tune("64");
    // Another pipeline: its own step is named.
    let text = std::fs::read_to_string(&pipeline).unwrap();
    let changed = folder.file("changed.pipe", text.replace("len % 4", "len % 8"));
    let refused = refusal(&call(&["cuda", &kernel, &changed, "--record", &record]));
    assert!(
        refused.contains("its pipeline is `assume(len mod 4 = 0)`, and here it is `assume(len mod 8 = 0)`"),
        "{refused}"
    );
    let damaged = folder.file("damaged.json", &std::fs::read(&record).unwrap()[..50]);
    let refused = refusal(&call(&["cuda", &kernel, &pipeline, "--record", &damaged]));
    assert!(refused.contains("error[tuning-record]") && refused.contains("EOF"), "{refused}");
    let refused = refusal(&call(&["cuda", &kernel, "--record", &record]));
    assert!(refused.contains("`--record` has no pipeline to go to"), "{refused}");
}

#[test]
fn candidates_are_compiled_here_and_timed_elsewhere() {
    let folder = Folder::new("binaries");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("tuning/segmented_sum_short.pipe"));
    let space = folder.file("small.space", "width in [16, 64]\nrows in [16, 128]\nblock_rows in [128]\n");
    let binaries = folder.path("binaries");
    let tune = |len: &str, more: &[&str]| {
        let len = format!("len={len}");
        let args = ["tune", &kernel, &pipeline, &space, "--set", "nseg=100000", "--set", &len];
        call(&[&args[..], &["--sample", "nseg=128", "--device", "emulator"], more].concat())
    };
    if loopwright::runtime::nvrtc::library().is_err() {
        let refused = refusal(&tune("64", &["--compile-only", &binaries, "--arch", "sm_90a"]));
        assert!(refused.contains("error[no-compiler]"), "{refused}");
        return;
    }
    let made = out(&tune("64", &["--compile-only", &binaries, "--arch", "sm_90a"]));
    assert!(made.starts_with("3 candidates compiled in ") && made.contains(" 1 refused; "), "{made}");
    assert!(made.contains(" regs  point\n") && made.contains("  <- best\n"), "{made}");
    // Timing them needs no compiler, but a GPU.
    let measured = refusal(&tune("64", &["--measure", &binaries]));
    assert!(measured.contains("error[binary-device]: binaries for sm_90a are timed on a GPU"), "{measured}");
    let refused = refusal(&tune("80", &["--measure", &binaries]));
    assert!(
        refused.contains("error[binary-folder-differs]") && refused.contains("of another problem"),
        "{refused}"
    );
    std::fs::write(format!("{binaries}/00000.cubin"), "cut").unwrap();
    let refused = refusal(&tune("64", &["--measure", &binaries]));
    assert!(refused.contains("error[binary-folder]") && refused.contains("00000.cubin"), "{refused}");
    let refused = refusal(&tune("64", &["--compile-only", &binaries]));
    assert!(refused.contains("error[arch]: there is no GPU here"), "{refused}");
}

#[test]
fn lint_says_what_is_slow_and_what_was_tried() {
    let kernel = example("kernels/transpose.lw");
    let lint = |pipeline: &str, more: &[&str]| {
        let pipeline = example(&format!("pipelines/transpose/{pipeline}.pipe"));
        out(&call(&[&["lint", &kernel, &pipeline, "--set", "m=384", "--set", "n=352"], more].concat()))
    };
    let text = lint("tiled", &[]);
    assert!(
        text.contains(
            "lint[bank-conflicts]: a read of `a_tile` in shared memory takes 32.0 passes over the banks\n  at kernel `transpose`, in `b[j, i] = "
        ),
        "{text}"
    );
    assert!(text.contains("\n  tried: pad axis 1 of `a_tile` by 1: 31 conflicts a request to 0\n    pad_array_axis(a_tile, 1, 1)\n"), "{text}");
    assert!(text.ends_with("2 lints, 2 with a repair\n"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&lint("tiled", &["--json"])).unwrap();
    let first = &json[0];
    assert_eq!((&first["code"], &first["number"]), (&"bank-conflicts".into(), &31.0.into()));
    // The repaired pipeline is a file for the other commands, and the lint is gone.
    let folder = Folder::new("lint");
    let repaired = folder.file("repaired.pipe", first["repair"]["pipeline"].as_str().unwrap());
    let again = out(&call(&["lint", &kernel, &repaired, "--set", "m=384", "--set", "n=352"]));
    assert!(!again.contains("bank-conflicts"), "{again}");
    assert!(refusal(&call(&["lint", &kernel])).contains("error[missing-argument]"));
    // Every code has its row on the page about them.
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/lints.md")).unwrap();
    for (code, _) in loopwright::tuner::LINT_CODES {
        assert!(page.contains(&format!("\n| `{code}` | ")), "{code}");
    }
}

#[test]
fn export_lists_what_another_host_launches() {
    let folder = Folder::new("export");
    let made = folder.path("made");
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("pipelines/segmented_sum/grid_per_segment.pipe"));
    let export = |more: &[&str]| {
        call(
            &[&["export", &kernel, &pipeline, "--arch", "sm_90a", "-o", &made, "--set", "nseg=3"], more]
                .concat(),
        )
    };
    let refused = refusal(&export(&[]));
    assert!(refused.contains("error[missing-argument]: argument `len`"), "{refused}");
    if loopwright::runtime::nvrtc::library().is_err() {
        assert!(refusal(&export(&["--set", "len=100003"])).contains("error[no-compiler]"));
        return;
    }
    out(&export(&["--set", "len=100003"]));
    let list = std::fs::read(format!("{made}/launches.json")).unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
    assert_eq!(list["arch"], "sm_90a");
    // Chunks of 16384: seven to a row of 100003, whose sums are scratch memory.
    let scratch = serde_json::json!({
        "dtype": "f32", "shape": [3, 7], "strides": [7, 1], "bytes": 84, "written": true, "scratch": true,
    });
    assert_eq!(list["arrays"]["out_partial"], scratch);
    assert_eq!(list["arrays"]["x"]["bytes"], 3 * 100_003 * 4);
    assert_eq!(
        (&list["arrays"]["x"]["scratch"], &list["arrays"]["x"]["written"]),
        (&false.into(), &false.into())
    );
    let [first, second] = &list["launches"].as_array().unwrap()[..] else { panic!("{list}") };
    assert_eq!(first["grid"], serde_json::json!([3, 7, 1]));
    assert_eq!(first["block"], serde_json::json!([256, 1, 1]));
    assert_eq!(second["grid"], serde_json::json!([3, 1, 1]));
    // 100003 is 0x186a3, an i32.
    let parameters = |launch: &serde_json::Value| launch["parameters"].clone();
    assert_eq!(
        parameters(first),
        serde_json::json!([{ "array": "x" }, { "array": "out_partial" }, { "bytes": "a3860100" }])
    );
    assert_eq!(
        parameters(second),
        serde_json::json!([{ "array": "out" }, { "array": "out_partial" }, { "bytes": "a3860100" }])
    );
    // The kernels are those of the text and of the binary beside it.
    let text = std::fs::read_to_string(format!("{made}/kernel.cu")).unwrap();
    let binary = std::fs::read(format!("{made}/kernel.cubin")).unwrap();
    for launch in [first, second] {
        let name = launch["kernel"].as_str().unwrap();
        assert!(text.contains(&format!("{name}(")), "{text}");
        assert!(binary.windows(name.len()).any(|w| w == name.as_bytes()));
    }
    assert!(binary.starts_with(b"\x7fELF"));
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
            "error[parameter]: `x` is no integer",
            "-p block=128",
        ),
        (&["print", &kernel, "-p", "block=8"], "error[unknown-parameter]", "name a pipeline file"),
        (&["run", &kernel, "--output", "out=out.npy"], "error[unknown-argument]", "its arrays are x, y"),
        (&["print", "/nowhere/k.lw"], "error[read-file]: /nowhere/k.lw cannot be read", "that exists"),
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

/// Refusals of steps, of lowering and of arguments show the line that they are about, in the user's own files.
#[test]
fn late_refusals_show_the_place() {
    let folder = Folder::new("late");
    let kernel = folder.file(
        "k.lw",
        "kernel k(x: f32[n], y: f32[1], n: i32)\ndomain { [i] : 0 <= i < n }\n\ny[0] = x[i] {id=last}\n",
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
