//! `count`: tables of formulas, numbers, JSON, refusals.

use crate::common::{Folder, call, example, out, refusal};

#[test]
fn formulas_of_a_triangle_and_their_values() {
    let folder = Folder::new("count");
    let kernel = folder.file(
        "below.lw",
        "kernel below(a: f32[n, n], x: f32[n], y: f32[n], n: i32)\n\
         domain { [i, j] : 0 <= i < n and 0 <= j < i }\n\
         y[i] = sum(j, a[i, j]*x[j]) {id=below}\n",
    );
    let expected = "below: counts of the kernel, without what lowering adds\n\
        \n\
        executions\n\
        \x20 below.init    n            = 4\n\
        \x20 below.update  (n^2 - n)/2  = 6\n\
        \x20 below.finish  n            = 4\n\
        \n\
        operations\n\
        \x20 add            f32  (n^2 - n)/2  = 6\n\
        \x20 mul            f32  (n^2 - n)/2  = 6\n\
        \x20 mul-add pairs  f32  (n^2 - n)/2  = 6\n\
        \n\
        accesses, with the stride in elements\n\
        \x20 load   a  f32  global  1 along j  (n^2 - n)/2  = 6\n\
        \x20 load   x  f32  global  1 along j  (n^2 - n)/2  = 6\n\
        \x20 store  y  f32  global  1 along i  n            = 4\n\
        \n\
        distinct elements in global memory\n\
        \x20 load   a  f32  (n^2 - n)/2      = 6, 24 bytes\n\
        \x20 load   x  f32  n - 1 if 1 <= n  = 3, 12 bytes\n\
        \x20 store  y  f32  n                = 4, 16 bytes\n\
        \n\
        launches of the lowered program\n\
        \x20 below  launches                 1  = 1\n\
        \x20 below  blocks                   1  = 1\n\
        \x20 below  barriers, of all blocks  0  = 0\n";
    assert_eq!(out(&call(&["count", &kernel, "--set", "n=4"])), expected);
    // Without sizes, the same lines without numbers.
    let plain = out(&call(&["count", &kernel]));
    assert!(plain.contains("  below.update  (n^2 - n)/2\n") && !plain.contains("  = "), "{plain}");
}

/// A split loop is counted as the loop before; threads decide what is contiguous.
#[test]
fn pipelines_keep_the_work_and_change_the_strides() {
    let (kernel, pipeline) =
        (example("kernels/segmented_sum.lw"), example("pipelines/segmented_sum/block_vec4.pipe"));
    let text = out(&call(&["count", &kernel, &pipeline, "--set", "nseg=3", "--set", "len=1000"]));
    let has = |line: &str| text.lines().any(|l| l.split_whitespace().eq(line.split_whitespace()));
    assert!(has("total.update len*nseg = 3000"), "{text}");
    assert!(has("load x f32 global 4 along thread.x (i_thread) len*nseg = 3000"), "{text}");
    // Each thread of a block has an accumulator of its own.
    assert!(has("total.init nseg for each thread.x = 3"), "{text}");
}

#[test]
fn data_is_refused_by_name_and_the_rest_stands() {
    let kernel = example("kernels/ragged_sum.lw");
    let text = out(&call(&["count", &kernel, "--set", "nseg=3"]));
    assert!(
        text.contains("  total.update  ? (1)\n") && text.contains("  total.finish  nseg   = 3\n"),
        "{text}"
    );
    let reason =
        "\n(1) `total.update` cannot be counted: `lo <= i` depends on data: `lo` is computed by the kernel\n";
    assert!(text.contains(reason), "{text}");
    let json = out(&call(&["count", &kernel, "--json", "--set", "nseg=3"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["executions"][2]["part"], "total.init");
    assert_eq!(json["executions"][2]["formula"], "nseg");
    assert_eq!(json["executions"][2]["value"], 3);
    assert_eq!(json["executions"][3]["refused"]["code"], "count-data");
    assert_eq!(json["elements"][0]["bytes"], 4);
}

#[test]
fn sizes_are_those_of_the_kernel() {
    let kernel = example("kernels/matmul.lw");
    let text = refusal(&call(&["count", &kernel, "--set", "rows=3"]));
    assert!(text.contains("error[unknown-parameter]: the kernel has no parameter `rows`"), "{text}");
    assert!(text.contains("the scalar arguments of `matmul`: `m`, `n`, `l`"), "{text}");
    let text = refusal(&call(&["count", &kernel, "--set", "m=many"]));
    assert!(text.contains("error[option]: `many` is not an integer, and `m` needs one"), "{text}");
    let text = refusal(&call(&["count", &example("kernels/stencil.lw"), "--set", "m=-7"]));
    assert!(text.contains("error[assumption]: the kernel assumes"), "{text}");
    let text = out(&call(&["count", &kernel, "--set", "m=3"]));
    assert!(text.contains("m*n    needs n") || text.contains("needs n"), "{text}");
}

/// Each block of a row of blocks fetches the row's tiles of `a` for itself, and each of a column
/// the column's tiles of `b`: the numbers are those of one of them, and the table says so.
#[test]
fn what_each_block_does_for_itself_is_marked() {
    let (kernel, pipeline) = (example("kernels/matmul.lw"), example("pipelines/matmul/tiled_16.pipe"));
    let text = out(&call(&["count", &kernel, &pipeline]));
    let words = |start: &str| -> Vec<String> {
        let line =
            text.lines().find(|l| l.split_whitespace().collect::<Vec<_>>().join(" ").starts_with(start));
        line.unwrap_or_else(|| panic!("{start}: {text}")).split("  ").map(|w| w.trim().to_owned()).collect()
    };
    assert!(words("a_fetch").contains(&"for each block.x".to_owned()), "{text}");
    assert!(words("b_fetch").contains(&"for each block.y".to_owned()), "{text}");
    assert!(words("load a f32 global").contains(&"for each block.x".to_owned()), "{text}");
    assert!(!words("product.update").iter().any(|w| w.starts_with("for each")), "{text}");
    assert!(!words("store c f32 global").iter().any(|w| w.starts_with("for each")), "{text}");
}

/// Barriers of a tiled product: two for each tile of each block; and launches under a host's loop.
#[test]
fn launches_and_barriers_of_the_program() {
    let (kernel, pipeline) = (example("kernels/matmul.lw"), example("pipelines/matmul/tiled_16.pipe"));
    let sizes = ["--set", "m=40", "--set", "n=64", "--set", "l=50"];
    let text = out(&call(&[&["count", &kernel, &pipeline][..], &sizes].concat()));
    assert!(text.contains("  matmul  blocks                   ((m + 15) // 16)*((n + 15) // 16)"), "{text}");
    let last = text.lines().last().unwrap();
    // 3 x 4 blocks, and 4 tiles along l.
    assert!(last.starts_with("  matmul  barriers, of all blocks") && last.ends_with("= 96"), "{text}");
    let folder = Folder::new("count-host");
    let steps = folder.file(
        "steps.lw",
        "kernel steps(x: f32[t + 1, n], t: i32, n: i32)\n\
         domain { [s] : 0 <= s < t }\n\
         domain { [i] : s <= i < n }\n\
         x[s + 1, i] = 2.0*x[s, n - 1 - i + s] {id=step}\n",
    );
    let pipeline = folder
        .file("steps.pipe", "split_iname(i, 32)\ntag_inames(s: host, i_outer: block.x, i_inner: thread.x)\n");
    let text = out(&call(&["count", &steps, &pipeline, "--set", "t=3", "--set", "n=70"]));
    assert!(text.lines().any(|l| l.starts_with("  steps  launches ") && l.ends_with("= 3")), "{text}");
    assert!(text.lines().any(|l| l.starts_with("  steps  blocks ") && l.ends_with("= 9")), "{text}");
}

/// A grid that depends on data has no formula; what does not, has.
#[test]
fn blocks_by_data_are_refused() {
    use loopwright::prelude::*;
    let read = |path: &str| std::fs::read_to_string(example(path)).unwrap();
    let kernel = LoopKernel::parse(&read("kernels/ragged_sum.lw")).unwrap();
    let pipeline = Pipeline::parse(&read("pipelines/ragged_sum/flattened.pipe")).unwrap();
    let kernel = pipeline.apply(&kernel).unwrap();
    let program = lower(&kernel, LowerOptions::new(DType::I32)).unwrap();
    let counts = loopwright::launches::count_launches(&kernel, &program);
    assert_eq!(counts[0].launches.as_ref().unwrap().to_string(), "1");
    assert_eq!(
        counts[0].blocks.as_ref().unwrap_err().to_string(),
        "error[count-control]: the blocks of `ragged_sum_0` cannot be counted: a bound or a condition around \
         them is not affine"
    );
}
