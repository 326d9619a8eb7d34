//! Each lint where it applies, with a repair that lowers its number, and where it does not.

use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_runtime::{Arch, Args, Tensor};
use loopwright_transforms::Pipeline;
use loopwright_tuner::{LINT_CODES, Lint, Machine, lint};

const TRANSPOSE: &str = include_str!("../../../examples/kernels/transpose.lw");
const SEGMENTED_SUM: &str = include_str!("../../../examples/kernels/segmented_sum.lw");

macro_rules! pipeline {
    ($name:literal) => {
        include_str!(concat!("../../../examples/pipelines/", $name, ".pipe"))
    };
}

fn lints(kernel: &str, pipeline: &str, array: &str, shape: [usize; 2]) -> Vec<Lint> {
    let kernel = LoopKernel::parse(kernel).expect("a kernel");
    let pipeline = Pipeline::parse(pipeline).expect("a pipeline");
    let tensor = Tensor::random(&shape, DType::F32, 3).expect("a tensor");
    let args = Args::new().tensor(array, &tensor);
    let found = lint(&kernel, &pipeline, &args, &Machine::h200()).expect("it runs");
    assert!(found.iter().all(|l| LINT_CODES.iter().any(|(code, _)| *code == l.code)));
    for lint in &found {
        // A repair is a pipeline that can be used unchanged.
        if let Some(repair) = &lint.repair {
            assert!(repair.after < repair.before && repair.before == lint.number, "{lint}");
            let _ =
                Pipeline::parse(&repair.pipeline).expect("it is one").apply(&kernel).expect("it is legal");
        }
    }
    found
}

fn of<'l>(lints: &'l [Lint], code: &str) -> Option<&'l Lint> {
    lints.iter().find(|l| l.code == code)
}

fn text(lints: &[Lint]) -> String {
    lints.iter().map(|l| format!("{l}\n")).collect()
}

#[test]
fn bank_conflicts() {
    let found = lints(TRANSPOSE, pipeline!("transpose/tiled"), "a", [64, 64]);
    let lint = of(&found, "bank-conflicts").unwrap_or_else(|| panic!("{}", text(&found)));
    assert_eq!((lint.number, lint.unit), (31.0, "conflicts per request"));
    assert_eq!(lint.place.array.as_deref(), Some("a_tile"));
    assert!(
        lint.to_string().contains("tried: pad axis 1 of `a_tile` by 1: 31 conflicts per request to 0"),
        "{lint}"
    );
    // Longer columns change nothing, and are reported so.
    assert!(
        lint.tried.iter().any(|t| t.what == "pad axis 0 of `a_tile` by 1" && t.why.contains("31")),
        "{lint}"
    );
    let padded = lints(TRANSPOSE, pipeline!("transpose/tiled_padded"), "a", [64, 64]);
    assert!(of(&padded, "bank-conflicts").is_none(), "{}", text(&padded));
}

#[test]
fn uncoalesced_access() {
    let naive = "split_iname(i, 32)\n\
                 split_iname(j, 32)\n\
                 tag_inames(i_outer: block.y, j_outer: block.x, i_inner: thread.x, j_inner: \
                 thread.y)\n";
    let found = lints(TRANSPOSE, naive, "a", [64, 64]);
    let lint = of(&found, "uncoalesced-access").unwrap_or_else(|| panic!("{}", text(&found)));
    assert_eq!((lint.number, lint.place.array.as_deref()), (32.0, Some("a")));
    assert!(lint.message.contains("32.0 sectors where 4.0 hold its bytes"), "{lint}");
    let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint}"));
    assert!(
        repair.after <= 8.0 && repair.steps.iter().any(|s| s.starts_with("add_prefetch(a, ")),
        "{lint} {:#?}",
        lint.tried
    );
    // Swapping the threads alone moves the problem to the writes.
    let swap = lint.tried.iter().find(|t| t.what == "swap thread.x and thread.y").expect("it was tried");
    assert!(swap.why.contains("all accesses together move"), "{lint}");

    // One thread per row: the lanes of a warp are moved to the row.
    let found = lints(SEGMENTED_SUM, pipeline!("segmented_sum/thread_per_segment"), "x", [256, 128]);
    let lint = of(&found, "uncoalesced-access").unwrap_or_else(|| panic!("{}", text(&found)));
    let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint}"));
    assert_eq!((repair.before, repair.after), (32.0, 4.0));
    assert!(repair.what == "map thread.x to `i`", "{lint}");

    for (kernel, pipeline, array) in [
        (TRANSPOSE, pipeline!("transpose/tiled_padded"), "a"),
        (SEGMENTED_SUM, pipeline!("segmented_sum/warp_per_segment"), "x"),
    ] {
        let found = lints(kernel, pipeline, array, [64, 128]);
        assert!(of(&found, "uncoalesced-access").is_none(), "{}", text(&found));
    }
}

#[test]
fn idle_lanes() {
    // Rows of 40 for 32 lanes: the second iteration has work for 8.
    let wide = "split_iname(s, 4)\nsplit_iname(i, 32)\n\
                tag_inames(s_outer: block.x, s_inner: thread.y, i_inner: thread.x)\n";
    let found = lints(SEGMENTED_SUM, wide, "x", [64, 40]);
    let lint = of(&found, "idle-lanes").unwrap_or_else(|| panic!("{}", text(&found)));
    assert!(lint.number > 15.0, "{lint}");
    let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint}"));
    assert!(repair.what == "split `i` by 8 instead of 32" && repair.after < 0.7 * repair.before, "{lint}");
    let full = lints(SEGMENTED_SUM, pipeline!("segmented_sum/subwarp_8"), "x", [64, 64]);
    assert!(of(&full, "idle-lanes").is_none(), "{}", text(&full));
}

/// Blocks of 256 threads for 32 columns: seven of their eight warps do nothing, and are counted.
#[test]
fn warps_that_do_nothing_are_idle() {
    let copy = "
kernel copy(x: f32[m, n], y: f32[m, n], m: i32, n: i32)
assume 0 <= m and 0 <= n
domain { [i, j] : 0 <= i < m and 0 <= j < n }
y[i, j] = x[i, j]
";
    let steps = |length: i64| {
        format!("split_iname(j, {length})\ntag_inames(i: block.x, j_outer: block.y, j_inner: thread.x)")
    };
    let found = lints(copy, &steps(256), "x", [2048, 32]);
    let lint = of(&found, "idle-lanes").unwrap_or_else(|| panic!("{}", text(&found)));
    assert_eq!(lint.message, "88 % of the lanes of its warps are idle: 88 % of them do nothing at all");
    assert_eq!(lint.number, 87.5);
    let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint}"));
    assert_eq!((repair.steps.as_slice(), repair.after), (["split_iname(j, 32)".to_owned()].as_slice(), 0.0));
    let found = lints(copy, &steps(256), "x", [2048, 256]);
    assert!(of(&found, "idle-lanes").is_none(), "{}", text(&found));
}

#[test]
fn low_bytes_in_flight() {
    // 2048 threads per multiprocessor with 4 bytes each are 8 KiB.
    let found = lints(SEGMENTED_SUM, pipeline!("segmented_sum/block_per_segment"), "x", [256, 4096]);
    let lint = of(&found, "low-bytes-in-flight").unwrap_or_else(|| panic!("{}", text(&found)));
    assert!(lint.message.contains("have 8.0 KiB of loads in flight"), "{lint}");
    let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint}"));
    assert_eq!(repair.after, 0.0);
    assert!(repair.steps.iter().any(|s| s.contains("ilp") || s.contains("unroll")), "{lint}");
    let found = lints(SEGMENTED_SUM, pipeline!("segmented_sum/block_vec4"), "x", [256, 4096]);
    assert!(of(&found, "low-bytes-in-flight").is_none_or(|l| l.number < lint.number), "{}", text(&found));
    let found = lints(SEGMENTED_SUM, pipeline!("segmented_sum/warp_vec4"), "x", [1024, 1024]);
    assert!(of(&found, "low-bytes-in-flight").is_none(), "{}", text(&found));
}

/// A map has no loop of which several iterations could be under way: a thread takes several
/// elements.
#[test]
fn a_map_gets_several_elements_a_thread() {
    let copy = "
kernel copy(x: f32[n, 1], y: f32[n], n: i32)
assume 0 <= n
domain { [i] : 0 <= i < n }
y[i] = x[i, 0]
";
    let steps = "split_iname(i, 256)\ntag_inames(i_outer: block.x, i_inner: thread.x)\n";
    let found = lints(copy, steps, "x", [1 << 20, 1]);
    let lint = of(&found, "low-bytes-in-flight").unwrap_or_else(|| panic!("{}", text(&found)));
    let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint}"));
    assert_eq!(repair.after, 0.0);
    assert_eq!(
        repair.steps,
        [
            "split_iname(i, 512, inner=i_tile)",
            "split_iname(i_tile, 256, outer=i_part, inner=i_inner)",
            "tag_inames(i_part: ilp)"
        ]
    );
}

#[test]
fn few_blocks() {
    let found = lints(SEGMENTED_SUM, pipeline!("segmented_sum/block_per_segment"), "x", [4, 65536]);
    let lint = of(&found, "few-blocks").unwrap_or_else(|| panic!("{}", text(&found)));
    assert_eq!(
        (lint.number, lint.message.as_str()),
        (128.0, "4 blocks for the 132 multiprocessors of an H200")
    );
    let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint}"));
    assert_eq!(repair.after, 0.0);
    assert!(repair.steps.iter().any(|s| s.contains("block.y")), "{lint}");
    let found = lints(SEGMENTED_SUM, pipeline!("segmented_sum/block_per_segment"), "x", [132, 512]);
    assert!(of(&found, "few-blocks").is_none(), "{}", text(&found));
}

#[test]
fn guards_that_are_not_needed() {
    let pipeline = pipeline!("segmented_sum/thread_per_segment");
    let found = lints(SEGMENTED_SUM, pipeline, "x", [256, 8]);
    let lint = of(&found, "guard-not-needed").unwrap_or_else(|| panic!("{}", text(&found)));
    let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint}"));
    assert_eq!((repair.before, repair.after), (1.0, 0.0));
    assert_eq!(repair.steps, ["assume(nseg mod 128 = 0)"]);
    // 250 rows leave a partial tile: its guard is needed.
    let found = lints(SEGMENTED_SUM, pipeline, "x", [250, 8]);
    assert!(of(&found, "guard-not-needed").is_none(), "{}", text(&found));
}

/// What is quoted is the guard that the repair removes, not the first of the text.
#[test]
fn the_guard_that_is_not_needed_is_quoted() {
    let steps = "split_iname(s, 32)\nsplit_iname(i, 8)\n\
                 tag_inames(s_outer: block.x, s_inner: thread.x, i_inner: unroll)\n";
    // Rows of 250 leave a partial tile, 256 of them none; and the other way round.
    for (shape, removed, step) in [
        ([250, 256], "of i may", "assume(len mod 32 = 0)"),
        ([256, 250], "of s may", "assume(nseg mod 32 = 0)"),
    ] {
        let found = lints(SEGMENTED_SUM, steps, "x", shape);
        let lint = of(&found, "guard-not-needed").unwrap_or_else(|| panic!("{}", text(&found)));
        let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint}"));
        assert_eq!((repair.before, repair.after), (2.0, 1.0));
        assert_eq!(repair.steps, [step]);
        assert!(lint.message.contains(removed), "{lint}");
    }
}

const STENCIL: &str = "
kernel window(img: f32[h + 4, w + 4], out: f32[h, w], h: i32, w: i32)
assume 0 <= h and 0 <= w
domain { [y, x] : 0 <= y < h and 0 <= x < w }
domain { [a, b] : 0 <= a < 5 and 0 <= b < 5 }
out[y, x] = sum([a, b], img[y + a, x + b])
";

/// A copy for each read, since the window is not in the sweep; and the tile with its halo.
#[test]
fn copies_without_reuse() {
    let tiled = "split_iname(y, 8)\nsplit_iname(x, 32)\n\
                 tag_inames(y_outer: block.y, x_outer: block.x, y_inner: thread.y, x_inner: thread.x)\n";
    let with = |sweep: &str| format!("{tiled}add_prefetch(img, [{sweep}])");
    let found = lints(STENCIL, &with("y_inner, x_inner"), "img", [68, 68]);
    let lint = of(&found, "copy-without-reuse").unwrap_or_else(|| panic!("{}", text(&found)));
    assert_eq!((lint.number, lint.place.array.as_deref()), (1.0, Some("img_tile")));
    let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint}"));
    assert_eq!(
        (repair.what.as_str(), repair.after),
        ("leave out `add_prefetch(img, [y_inner, x_inner])`", 0.0)
    );
    let found = lints(STENCIL, &with("y_inner, x_inner, a, b"), "img", [68, 68]);
    assert!(of(&found, "copy-without-reuse").is_none(), "{}", text(&found));
    // A transposition reads each element of its tile once, and needs the tile.
    let found = lints(TRANSPOSE, pipeline!("transpose/tiled_padded"), "a", [64, 64]);
    assert!(of(&found, "copy-without-reuse").is_none(), "{}", text(&found));
}

/// Sizes that one block could take say nothing about blocks.
#[test]
fn sizes_too_small_to_judge() {
    let found = lints(SEGMENTED_SUM, pipeline!("segmented_sum/block_per_segment"), "x", [5, 5]);
    // 25 elements and 5 results.
    let lint = of(&found, "sizes-too-small").unwrap_or_else(|| panic!("{}", text(&found)));
    assert_eq!(lint.number, 1024.0 - 30.0);
    assert!(lint.to_string().contains("these sizes have 30 elements"), "{lint}");
    for code in ["idle-lanes", "low-bytes-in-flight", "few-blocks", "guard-not-needed"] {
        assert!(of(&found, code).is_none(), "{}", text(&found));
    }
    let found = lints(SEGMENTED_SUM, pipeline!("segmented_sum/block_per_segment"), "x", [5, 203]);
    assert!(of(&found, "sizes-too-small").is_some(), "1020 elements: {}", text(&found));
    let found = lints(SEGMENTED_SUM, pipeline!("segmented_sum/block_per_segment"), "x", [5, 204]);
    assert!(of(&found, "sizes-too-small").is_none(), "1025 elements: {}", text(&found));
}

/// Dividing few threads among more blocks makes them no more; sharing a thread's loop does.
#[test]
fn few_threads_are_not_divided_among_more_blocks() {
    let copy = "
kernel copy(x: f32[n, 1], y: f32[n], n: i32)
assume 0 <= n
domain { [i] : 0 <= i < n }
y[i] = x[i, 0]
";
    let steps = "split_iname(i, 128)\ntag_inames(i_outer: block.x, i_inner: thread.x)";
    let found = lints(copy, steps, "x", [4096, 1]);
    let lint = of(&found, "few-blocks").unwrap_or_else(|| panic!("{}", text(&found)));
    assert!(lint.repair.is_none(), "{lint}");
    for (length, why) in [
        (32, "the same 4096 threads in more blocks, and an H200 holds 270336"),
        (16, "its blocks have 16 threads, fewer than the 32 of a warp"),
    ] {
        let what = format!("split `i` by {length} instead of 128");
        let tried = lint.tried.iter().find(|t| t.what == what).expect("it was tried");
        assert_eq!(tried.why, why);
    }
    // Few multiprocessors take long for their instructions: the blocks are what is wrong.
    assert!(of(&found, "instruction-limit").is_none(), "{}", text(&found));
    // Sixteen rows one after the other, in four blocks.
    let steps = "split_iname(s, 16)\nsplit_iname(i, 128)\ntag_inames(s_outer: block.x, i_inner: thread.x)";
    let found = lints(SEGMENTED_SUM, steps, "x", [64, 4096]);
    let lint = of(&found, "few-blocks").unwrap_or_else(|| panic!("{}", text(&found)));
    assert!(!lint.tried.iter().any(|t| t.why.contains("the same")), "{lint:?}");
    assert!(lint.repair.is_some(), "{lint}");
}

/// Blocks below a warp are not made smaller, nor larger where that leaves multiprocessors without
/// one; and no block of one thread is proposed.
#[test]
fn no_repair_has_less_than_a_warp_and_none_contradicts_another() {
    let copy = "
kernel copy(x: f32[n, 1], y: f32[n], n: i32)
assume 0 <= n
domain { [i] : 0 <= i < n }
y[i] = x[i, 0]
";
    let steps =
        |length: i64| format!("split_iname(i, {length})\ntag_inames(i_outer: block.x, i_inner: thread.x)");
    let repairs = |found: &[Lint]| -> Vec<(&'static str, Vec<String>)> {
        found.iter().filter_map(|l| Some((l.code, l.repair.as_ref()?.steps.clone()))).collect()
    };
    // 125 blocks of half a warp for 132 multiprocessors; 63 of a whole one.
    for length in [16, 24] {
        let found = lints(copy, &steps(length), "x", [2000, 1]);
        for code in ["few-blocks", "idle-lanes"] {
            let lint = of(&found, code).unwrap_or_else(|| panic!("{}", text(&found)));
            assert!(lint.repair.is_none(), "{lint}");
        }
        let idle = of(&found, "idle-lanes").expect("it is there").to_string();
        assert!(idle.contains("split `i` by 32 instead of") && idle.contains("`few-blocks` from"), "{idle}");
    }
    // With blocks enough, whole warps are what helps, and the smallest blocks of them.
    let found = lints(copy, &steps(16), "x", [8000, 1]);
    assert!(
        repairs(&found).contains(&("idle-lanes", vec!["split_iname(i, 32)".to_owned()])),
        "{}",
        text(&found)
    );
    let found = lints(copy, "", "x", [4096, 1]);
    for (code, steps) in repairs(&found) {
        assert!(!steps.iter().any(|s| s.contains("block.")), "{code}: {steps:?}");
    }
}

/// An accurate power is eighty machine instructions, a fast one is few, two of them for special
/// functions.
#[test]
fn accurate_functions_take_their_instructions() {
    let kernel = |function: &str, times: usize| {
        let powers: Vec<String> = (0..times).map(|k| format!("{function}(x[i, 0] + {k}.0, 0.3)")).collect();
        format!(
            "kernel powers(x: f32[n, 1], y: f32[n], n: i32)\nassume 0 <= n\n\
             domain {{ [i] : 0 <= i < n }}\ny[i] = {}\n",
            powers.join(" + ")
        )
    };
    let steps = "split_iname(i, 128)\ntag_inames(i_outer: block.x, i_inner: thread.x)";
    let found = lints(&kernel("pow", 2), steps, "x", [524288, 1]);
    let lint = of(&found, "instruction-limit").unwrap_or_else(|| panic!("{}", text(&found)));
    assert!(lint.message.starts_with("issuing instructions take"), "{lint}");
    let found = lints(&kernel("fast.pow", 2), steps, "x", [524288, 1]);
    assert!(of(&found, "instruction-limit").is_none(), "{}", text(&found));
    // Without loops, the machine code tells. It has two special instructions for each fast power,
    // of which the counts know one.
    let is_disassembled = loopwright_runtime::disasm::Disassembler::find().is_some();
    if loopwright_runtime::nvrtc::library().is_ok() && is_disassembled {
        assert!(lint.message.ends_with("by the machine code"), "{lint}");
        let found = lints(&kernel("fast.pow", 6), steps, "x", [524288, 1]);
        let lint = of(&found, "instruction-limit").unwrap_or_else(|| panic!("{}", text(&found)));
        assert!(lint.message.starts_with("special functions take"), "{lint}");
        // Twelve of them for a warp take 24 clocks, its 256 bytes 15.2.
        assert!((1.5..1.7).contains(&lint.number), "{lint}");
    }
}

/// Five hundred fast exponentials, of one special instruction each, for eight bytes take longer
/// than the memory does.
#[test]
fn special_functions_that_take_longer_than_the_memory() {
    let kernel = |value: &str| {
        format!(
            "kernel heavy(x: f32[n, 64], y: f32[n, 64], n: i32)\nassume 0 <= n\n\
             domain {{ [i, j, k] : 0 <= i < n and 0 <= j < 64 and 0 <= k < 512 }}\n\
             <f32> v = x[i, j] {{inames=i:j}}\ny[i, j] = {value} {{inames=i:j}}\n"
        )
    };
    let rows = "tag_inames(i: block.x, j: thread.x)\n";
    let found = lints(&kernel("sum(k, fast.exp(v*k))"), rows, "x", [768, 64]);
    let lint = of(&found, "instruction-limit").unwrap_or_else(|| panic!("{}", text(&found)));
    assert!(lint.number > 1.0 && lint.message.starts_with("special functions take"), "{lint}");
    // Of a loop the machine code does not say how often it runs.
    assert!(lint.message.ends_with("by the counts"), "{lint}");
    // Also where each iteration loads its operand, which takes longer by the counts: more loads in
    // flight would not help.
    let found = lints(&kernel("sum(k, fast.exp(x[i, j]*k))"), rows, "x", [768, 64]);
    let lint = of(&found, "instruction-limit").unwrap_or_else(|| panic!("{}", text(&found)));
    assert!(lint.message.starts_with("special functions take"), "{lint}");
    assert!(of(&found, "low-bytes-in-flight").is_none(), "{}", text(&found));
    // A copy is limited by memory.
    let found = lints(&kernel("v"), rows, "x", [768, 64]);
    assert!(of(&found, "instruction-limit").is_none(), "{}", text(&found));
}

/// What the compiler cannot keep in registers is found where there is a compiler.
#[test]
fn registers_that_are_spilled() {
    let wide = "
kernel wide(x: f32[n, 400], y: f32[n, 400], n: i32)
domain { [i] : 0 <= i < n }
domain { [k] : 0 <= k < 400 }
domain { [j] : 0 <= j < 400 }
temp t: f32[400] private
t[k] = exp(x[i, k])*2.0 {inames=i:k}
y[i, j] = t[399 - j]*t[j] {inames=i:j}
";
    let unrolled = "split_iname(i, 128)\n\
                    tag_inames(i_outer: block.x, i_inner: thread.x, k: unroll, j: unroll)\n";
    let kernel = LoopKernel::parse(wide).expect("a kernel");
    let steps = Pipeline::parse(unrolled).expect("a pipeline").apply(&kernel).expect("it is legal");
    let compiled =
        loopwright_runtime::compile_for(&steps, Arch::SM_90A, &Default::default(), &Default::default());
    let Ok(binary) = compiled else {
        eprintln!("skipped: there is no compiler");
        return;
    };
    let found = lints(wide, unrolled, "x", [128, 400]);
    let spills = binary.compiled.resources.iter().any(|r| r.spill_store_bytes > 0);
    assert!(spills, "{:?}", binary.compiled.resources);
    let lint = of(&found, "spilled-registers").unwrap_or_else(|| panic!("{}", text(&found)));
    assert!(lint.number > 0.0 && lint.message.contains("registers for sm_90a"), "{lint}");
}

/// Threads with so many registers that a multiprocessor holds few of them: what the compiler
/// reports counts for the loads in flight, too.
#[test]
fn registers_that_leave_room_for_few_threads() {
    let wide = "split_iname(s, 128)\nsplit_iname(i, 128)\n\
                tag_inames(s_outer: block.x, s_inner: thread.x, i_inner: ilp)\n";
    let kernel = LoopKernel::parse(SEGMENTED_SUM).expect("a kernel");
    let applied = Pipeline::parse(wide).expect("a pipeline").apply(&kernel).expect("it is legal");
    let compiled =
        loopwright_runtime::compile_for(&applied, Arch::SM_90A, &Default::default(), &Default::default());
    let Ok(binary) = compiled else {
        eprintln!("skipped: there is no compiler");
        return;
    };
    let registers = binary.compiled.resources[0].registers;
    assert!(registers > 128, "{registers}");
    let found = lints(SEGMENTED_SUM, wide, "x", [256, 256]);
    let lint = of(&found, "few-resident-threads").unwrap_or_else(|| panic!("{}", text(&found)));
    assert!(lint.message.contains(&format!("{registers} registers for sm_90a")), "{lint}");
    let repair = lint.repair.as_ref().unwrap_or_else(|| panic!("{lint} {:?}", lint.tried));
    assert_eq!(repair.after, 0.0);
    assert!(repair.steps[0].starts_with("split_iname(i, "), "{lint}");
    let narrow = wide.replace("split_iname(i, 128)", "split_iname(i, 4)");
    let found = lints(SEGMENTED_SUM, &narrow, "x", [256, 256]);
    assert!(of(&found, "few-resident-threads").is_none(), "{}", text(&found));
}
