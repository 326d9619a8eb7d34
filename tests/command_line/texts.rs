//! The printed forms of kernels, steps and programs: `print`, `explain`, `compare`, `bisect`,
//! `check`, `cuda`, `doctor`.

use crate::common::{Folder, call, call_with, example, out, refusal, without_comments};

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
    // A printed transformed kernel is itself a kernel file, for another pipeline or none.
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
    // A refusal ends with status 2, its witness and its place, after the steps that succeeded.
    let folder = Folder::new("explain");
    let chain = folder.file(
        "chain.lw",
        "kernel chain(x: f32[n], n: i32)\n\
         assume 0 <= n\n\
         domain { [i] : 1 <= i < n }\n\
         x[i] = x[i - 1] {id=next}\n",
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
fn explain_names_the_grounds_of_a_verdict() {
    // Of the prefetch, that reads see what is declared; of what keeps its order, that it does.
    let kernel = example("kernels/transpose.lw");
    let text = out(&call(&["explain", &kernel, &example("pipelines/transpose/tiled.pipe")]));
    assert!(text.contains("\n   proved: every read sees the declared definition ("), "{text}");
    assert!(text.contains("\n   proved: all conflicting accesses keep their order ("), "{text}");
    // One query is no `queries`.
    let folder = Folder::new("explain_one_query");
    let kernel =
        folder.file("k.lw", "kernel k(x: f32[4], y: f32[4])\ny[0] = x[0] {id=a}\ny[0] = 1.0*x[0] {id=b}\n");
    let steps = folder.file("k.pipe", "move_statement(b, before=a)\n");
    let text = out(&call(&["explain", &kernel, &steps]));
    assert!(text.contains("\n   proved: all conflicting accesses keep their order (1 query)\n"), "{text}");
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
    subtract[i=129, j=0] reads x[129] before divide[i=129] writes it (as declared, n=130)
trisolv_1
  kernel boundary: launched after trisolv_0: copy writes x, divide reads it
    ";
    assert!(text.contains(expected), "{text}");
    assert!(
        text.contains(
            "i < n: `split_iname(i, 128)` (`i = 128*i_outer + i_inner`): the last tile may be \
             partial"
        ),
        "{text}"
    );
    // Neither a skewed iname nor a triangle is a tile.
    assert!(lowered("seidel-2d").contains("1 <= j: the domain of mean, with `j = w - 4*t - 2*i`"));
    assert!(lowered("syr2k").contains("j <= i: the domain of update"));
    // The row and the column of floyd-warshall are one launch each, not loops of launches.
    let text = lowered("floyd-warshall");
    assert_eq!(text.matches("host loop").count(), 1, "{text}");
    assert!(
        text.contains(
            "floyd_warshall_3\n  kernel boundary: launched after floyd_warshall_2: relax_right \
             reads path, relax_at_right writes it\n"
        ),
        "{text}"
    );
    // Two executions of a copy and its reader; the copy is not part of the declared kernel.
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

/// What lowering rewrites comes after the pipeline's steps, each with its verdict.
#[test]
fn explain_shows_what_lowering_rewrites() {
    let kernel = example("kernels/segmented_sum.lw");
    let explained = |pipeline: &str, options: &[&str]| {
        let pipeline = example(&format!("pipelines/segmented_sum/{pipeline}.pipe"));
        out(&call(&[&["explain"], options, &[&kernel, &pipeline]].concat()))
    };
    let text = explained("grid_per_segment", &[]);
    let (steps, lowering) = text.split_once("\nlowering: ").unwrap();
    assert!(steps.contains("\n3. tag_inames("), "{steps}");
    let expected = "\
two_stages(total): each block of `total` stores a partial result in `out_partial` over `i_chunk`; `total` joins them in a kernel of its own
   proved: each block reduces its own points, and each partial result is joined once
";
    assert!(lowering.starts_with(expected), "{lowering}");
    assert!(lowering.contains("   | + out_partial[s, i_chunk] = sum_partial("), "{lowering}");
    assert!(lowering.contains(", reduces=total, ") && lowering.contains(", joins=total}"), "{lowering}");
    let text = explained("grid_atomic", &[]);
    assert!(
        text.contains("\nlowering: updates(total): `total_start` gives `out` the neutral element"),
        "{text}"
    );
    assert!(text.contains("\n   proved: a result begins with the neutral element"), "{text}");
    // Most kernels are lowered as they are.
    assert!(!explained("block_per_segment", &[]).contains("lowering: "));
    let whole = explained("grid_atomic", &["--whole"]);
    let kernels = whole.lines().filter(|l| l.starts_with("   | kernel segmented_sum(")).count();
    assert_eq!(kernels, 6, "the declared kernel, four steps and the realised one: {whole}");
    // What cannot be lowered is said, and the steps are explained all the same.
    let folder = Folder::new("lowering");
    let two = folder.file(
        "two.lw",
        "kernel two(x: f32[n], y: f32[1], n: i32)\n\
         domain { [i] : 0 <= i < n }\n\
         domain { [j] : 0 <= j < n }\n\
         y[0] = sum(i, x[i]) / sum(j, x[j])\n",
    );
    let steps = folder.file("two.pipe", "tag_inames(i: block.x)\n");
    let text = out(&call(&["explain", &two, &steps]));
    assert!(text.contains("\nlowering: refused\n   error[grid-reduction]: "), "{text}");
    // Padding that a reduction runs over without a guard is claimed to change nothing.
    let text = out(&call(&[
        "explain",
        "--lowered",
        &example("kernels/matmul.lw"),
        &example("pipelines/matmul/tiled_16.pipe"),
    ]));
    assert!(text.contains(".update also runs for padding, whose terms change no result"), "{text}");
    assert!(text.contains("without a guard for "), "{text}");
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
    // Values go to the pipeline that has a parameter of that name; at least one of the two must.
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
    // The step that the user wrongly vouched for is the one that made the result wrong.
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
    // 256 threads are eight warps, whose sums are combined in shared memory.
    assert!(text.contains("grid (nseg, 1, 1), block (256, 1, 1)"), "{text}");
    assert!(text.contains("shared"), "{text}");
    let text = out(&call(&["check", &kernel, &example("pipelines/segmented_sum/thread_per_segment.pipe")]));
    assert!(text.contains("block (128, 1, 1), 0 barriers, 0 bytes of shared memory"), "{text}");
}

/// A kernel that no current device can launch is refused by `check`, before there are arguments.
#[test]
fn check_knows_the_limit_of_shared_memory() {
    let folder = Folder::new("limits");
    let kernel = |cells: usize| {
        format!(
            "kernel k(x: f32[n, {cells}], y: f32[n, {cells}], n: i32)\n\
             assume 0 <= n\n\
             temp t: f32[{cells}] shared\n\
             domain {{ [b] : 0 <= b < n }}\n\
             domain {{ [i] : 0 <= i < {cells} }}\n\
             domain {{ [j] : 0 <= j < {cells} }}\n\
             t[i] = x[b, i] {{inames=b:i}}\n\
             y[b, j] = t[{cells} - 1 - j]\n"
        )
    };
    let pipeline = folder.file(
        "threads.pipe",
        "split_iname(i, 256)\n\
         split_iname(j, 256)\n\
         tag_inames(b: block.x, i_inner: thread.x, j_inner: thread.x)\n",
    );
    // 227 KiB hold 58112 elements.
    let text = out(&call(&["check", &folder.file("largest.lw", kernel(58112)), &pipeline]));
    assert!(text.contains("232448 bytes of shared memory"), "{text}");
    let text = refusal(&call(&["check", &folder.file("larger.lw", kernel(58368)), &pipeline]));
    assert!(
        text.contains(
            "error[device-limit]: `k` cannot be launched: a block needs 233472 bytes of shared \
             memory, and the device has 232448 per block"
        ),
        "{text}"
    );
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
        refusal(&call(&["cuda", &kernel, &pipeline, "-p", "block=many"]))
            .contains("`many` is not an integer")
    );
    assert!(refusal(&call(&["cuda", &kernel, &pipeline, "-p", "block"])).contains("name=value"));
}

#[test]
fn the_doctor_knows_this_machine() {
    let text = out(&call(&["doctor"]));
    assert!(text.contains("emulator") && text.contains("NVRTC"), "{text}");
}

/// A bound that does not fit in 32 bits: a launch would use the program with 64-bit indices.
#[test]
fn cuda_prints_the_program_that_a_launch_takes() {
    let folder = Folder::new("wide");
    let kernel = folder.file(
        "wide.lw",
        "kernel wide(y: i64[n], n: i32)\n\
         domain { [k] : 0 <= k < n }\n\
         y[k] = sum(j, j)\n\
         domain { [j] : 3000000000 <= j < 3000000010 }\n",
    );
    let pipeline = folder.file("empty.pipe", "");
    let output = call(&["cuda", &kernel, &pipeline]);
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(notes.contains("indices have 64 bits") && notes.contains("3000000000"), "{notes}");
    assert!(out(&output).contains("for (long long j = 3000000000"), "{}", out(&output));
    // The user's explicit choice is printed.
    let chosen = call(&["cuda", &kernel, &pipeline, "--index", "i32"]);
    assert!(!String::from_utf8_lossy(&chosen.stderr).contains("indices have 64 bits"));
}

/// Sizes of what is found are parameters without a pipeline, too.
#[test]
fn auto_takes_sizes() {
    let axpy = "examples/kernels/axpy.lw";
    assert!(out(&call(&["auto", axpy])).contains("\nsplit_iname(i, 512)\n"));
    assert!(out(&call(&["auto", axpy, "-p", "i_inner=1024"])).contains("\nsplit_iname(i, 1024)\n"));
    let refused = refusal(&call(&["auto", axpy, "-p", "j_inner=512"]));
    assert!(refused.contains("there is no parameter `j_inner`"), "{refused}");
    assert!(refused.contains("the sizes are `i_inner`, `i_thread`"), "{refused}");
}

#[test]
fn steps_are_listed_and_have_pages() {
    let list = out(&call(&["steps"]));
    for name in loopwright::transforms::Step::NAMES {
        assert!(list.lines().any(|line| line.starts_with(name)), "{name} is not in\n{list}");
        let page = out(&call(&["steps", name]));
        assert!(page.starts_with(&format!("# {name}\n")) && page.contains("# Before and after"), "{page}");
        assert!(!page.contains("\n# Ok::<"), "what examples hide is not shown: {page}");
    }
    for name in ["together", "auto"] {
        assert!(list.lines().any(|line| line.starts_with(&format!("{name} "))), "{name} is not in\n{list}");
        let page = out(&call(&["steps", name]));
        assert!(page.starts_with(&format!("# {name}\n")) && page.contains(&format!("`{name}")), "{page}");
    }
    let unroll = out(&call(&["steps", "unroll"]));
    assert!(unroll.contains("`unroll(i)`: unrolls the loop over `i`"), "{unroll}");
    // A name of loopy's leads to ours; what does not exist at all, to the list.
    assert!(refusal(&call(&["steps", "unroll_iname"])).contains("it is called unroll here"));
    assert!(refusal(&call(&["steps", "splitt_iname"])).contains("did you mean `split_iname`?"));
    // Links of the library's own pages lead nowhere here.
    for name in ["precompute", "tag_inames"] {
        let page = out(&call(&["steps", name]));
        assert!(!page.contains("crate::"), "{page}");
    }
    assert!(refusal(&call(&["steps", "nothing_like_it"])).contains("`loopwright steps` lists all of them"));
}

/// Warnings and lints end a command with 1 where they are denied, as for continuous integration.
#[test]
fn warnings_can_be_denied() {
    let folder = Folder::new("denied");
    let gather = |facts: &str| {
        format!(
            "kernel gather(x: f32[m], idx: i32[n], y: f32[n], m: i32, n: i32)\n\
             assume 1 <= m and 0 <= n\n{facts}domain {{ [i] : 0 <= i < n }}\ny[i] = x[idx[i]]\n"
        )
    };
    let warned = folder.file("warned.lw", gather(""));
    let clean = folder.file("clean.lw", gather("fact 0 <= idx < m\n"));
    let code = |args: &[&str]| {
        let output = call(args);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (denied, text) = code(&["check", &warned, "--deny-warnings"]);
    assert_eq!(denied, Some(1));
    assert!(text.contains("warning[unbounded-data]"), "{text}");
    assert_eq!(code(&["check", &warned]), (Some(0), text));
    assert_eq!(code(&["check", &clean, "--deny-warnings"]).0, Some(0));
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("pipelines/segmented_sum/block_per_segment.pipe"));
    let lint = |more: &[&str]| {
        code(&[&["lint", &kernel, &pipeline, "--set", "nseg=5", "--set", "len=5"][..], more].concat())
    };
    let (allowed, text) = lint(&[]);
    assert!(allowed == Some(0) && text.contains("lint[sizes-too-small]"), "{text}");
    assert_eq!(lint(&["--deny-warnings"]), (Some(1), text));
    assert_eq!(lint(&["--deny-warnings", "--json"]).0, Some(1));
}

/// Older names of steps and of their arguments are read, and what is written today is said.
#[test]
fn older_names_of_steps_are_read_with_a_note() {
    let page = out(&call(&["steps", "join_atomically"]));
    assert!(page.starts_with("# reduce_atomically\n"), "{page}");
    let line = "Older names, which are read until 1.0: `join_atomically` for `reduce_atomically`\n";
    assert!(page.ends_with(line) && !page.contains("Also accepted"), "{page}");
    assert!(out(&call(&["steps", "set_address_space"])).ends_with("\nAlso accepted: make_global\n"));
    assert!(out(&call(&["steps", "flatten_ragged"])).contains("`runs=` for `full_chunks=`"));
    let folder = Folder::new("older");
    let kernel = folder.file(
        "total.lw",
        "kernel k(x: f32[n], y: f32[1], n: i32)\nassume 0 <= n\ndomain { [i] : 0 <= i < n }\n\
         y[0] = sum(i, x[i]) {id=total}\n",
    );
    let steps = |name: &str| {
        let text = format!("split_iname(i, 128)\ntag_inames(i_outer: block.x)\n{name}(total)\n");
        call(&["check", &kernel, &folder.file("total.pipe", text)])
    };
    let (older, now) = (steps("join_atomically"), steps("reduce_atomically"));
    assert_eq!(out(&older), out(&now));
    let said = String::from_utf8_lossy(&older.stderr);
    assert!(said.contains("note: `join_atomically` is called `reduce_atomically` now"), "{said}");
    assert!(!String::from_utf8_lossy(&now.stderr).contains("is called"));
}

/// What data decide is legal, and `check` says that nothing bounds them.
#[test]
fn check_warns_where_nothing_bounds_what_a_subscript_reads() {
    let folder = Folder::new("unbounded");
    let checked = |facts: &str, value: &str| {
        let text = format!(
            "# The place is in this text.\n\
             kernel gather(x: f32[m], idx: i32[n], y: f32[n], m: i32, n: i32)\n\
             assume 1 <= m and 0 <= n\n{facts}domain {{ [i] : 0 <= i < n }}\ny[i] = {value}\n"
        );
        out(&call(&["check", &folder.file("gather.lw", text)]))
    };
    let place = format!("{}:5:8", folder.path("gather.lw"));
    let expected = format!(
        "\
warning[unbounded-data]: `x[idx[i]]` may leave its array: nothing bounds the elements of `idx`
 --> {place}
  |
5 | y[i] = x[idx[i]]
  |        ^^^^^^^^^
  |
  = help: declare their range, which is then checked: `fact 0 <= idx < m`
"
    );
    let text = checked("", "x[idx[i]]");
    assert!(text.contains(&expected), "{text}");
    assert!(!checked("fact 0 <= idx < m\n", "x[idx[i]]").contains("warning"));
    assert!(!checked("", "x[idx[i] % m]").contains("warning"));
    assert!(!checked("", "x[min(max(idx[i], 0), m - 1)]").contains("warning"));
    assert!(checked("", "x[min(idx[i], m - 1)]").contains("unbounded-data"));
    assert!(checked("fact 0 <= idx < n\n", "x[idx[i]]").contains("declared range of `idx`"));
    assert!(!checked("", "if(idx[i] >= 0 and idx[i] < m, x[idx[i]], 0.0)").contains("warning"));
    assert!(checked("fact monotone(idx)\n", "x[idx[i]]").contains("nothing bounds the elements of `idx`"));
    // Masks, conversions and conditions of a choice are bounds, too.
    for (facts, value, is_inside) in [
        ("assume 8 <= m\n", "x[idx[i] & 7]", true),
        ("assume 8 <= m\n", "x[idx[i] & 8]", false),
        ("assume 256 <= m\n", "x[cast(u8, idx[i])]", true),
        ("assume 255 <= m\n", "x[cast(u8, idx[i])]", false),
        ("", "x[if(idx[i] >= 0 and idx[i] < 1, idx[i], 0)]", true),
        ("", "x[if(idx[i] < 0 or not idx[i] < 1, 0, idx[i])]", true),
        ("", "x[if(idx[i] < 1, idx[i], 0)]", false),
        ("", "x[if(idx[i] < 0 or idx[i] > 1, 0, idx[i])]", false),
        ("", "x[if(idx[i] < 0 and idx[i] > 0, 0, idx[i])]", false),
    ] {
        assert_eq!(!checked(facts, value).contains("warning"), is_inside, "{facts}{value}");
    }
    // Data that are loaded into a scalar first, and bound a loop.
    let ragged = "kernel rows(x: f32[m], y: f32[n], off: i32[n + 1], n: i32, m: i32)\n\
                  assume 1 <= n and 1 <= m\n\
                  domain { [k] : 0 <= k < n }\n\
                  domain { [j] : lo <= j < hi }\n\
                  <i32> lo = off[k]\n<i32> hi = off[k + 1]\ny[k] = sum(j, x[j])\n";
    let text = out(&call(&["check", &folder.file("rows.lw", ragged)]));
    assert!(text.contains("`x[j]` may leave its array: nothing bounds the elements of `off`"), "{text}");
    let bounded = ragged.replace("domain { [k]", "fact 0 <= off < m + 1\ndomain { [k]");
    let text = out(&call(&["check", &folder.file("bounded.lw", bounded)]));
    assert!(!text.contains("warning"), "{text}");
}

/// What is assigned twice, under a condition, or may wrap, is not followed, and `check` says so.
#[test]
fn check_warns_where_the_value_of_a_scalar_is_not_followed() {
    let folder = Folder::new("followed");
    let checked = |assumption: &str, lines: &str| {
        let text = format!(
            "kernel k(x: f32[n], bytes: u8[n], table: f32[256], y: f32[n], n: i32)\n\
             assume 1 <= n{assumption}\ndomain {{ [i] : 0 <= i < n }}\nfor i {{\n{lines}\n}}\n"
        );
        out(&call(&["check", &folder.file("k.lw", text)]))
    };
    for (assumption, lines, is_followed) in [
        ("", "<i32> k = i\ny[i] = x[k]", true),
        ("", "<i32> k = i\nk = k + 1\ny[i] = x[k]", false),
        ("", "<i32> k = i\nif i == 3 {\nk = n\n}\ny[i] = x[k]", false),
        ("", "<i16> k = i\ny[i] = x[k]", false),
        (" and n <= 32768", "<i16> k = i\ny[i] = x[k]", true),
        (" and n <= 32769", "<i16> k = i\ny[i] = x[k]", false),
        // The range of a type.
        ("", "<i32> k = bytes[i]\ny[i] = table[k]", true),
        ("", "<i32> k = bytes[i]\ny[i] = table[k + 1]", false),
    ] {
        let text = checked(assumption, lines);
        assert_eq!(!text.contains("warning[unbounded-data]"), is_followed, "{assumption} {lines}\n{text}");
    }
    let text = checked("", "<i32> k = i\nk = k + 1\ny[i] = x[k]");
    assert!(text.contains("`x[k]` may leave its array: what `k` holds is not followed"), "{text}");
}
