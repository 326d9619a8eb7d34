//! Products by hardware instructions: each kind of type as declared, and programs whose fragments
//! are spoilt by hand, which the final check refuses and the emulator catches.

use std::collections::BTreeMap;

use loopwright_atom::{Operand, all, library};
use loopwright_kernel_ir::{LoopKernel, Name};
use loopwright_lowering::{
    LowerOptions, lower,
    program::Program,
    verify::{Finding, verify_kernel},
};
use loopwright_testing::check;
use loopwright_text_check::Checker;
use loopwright_transforms::Pipeline;

/// A tile of one warp, from global memory.
const TILE: &str = "\
kernel tile(a: bf16[16, 16], b: bf16[8, 16], c: f32[16, 8])
domain { [i, j] : 0 <= i < 16 and 0 <= j < 8 }
domain { [k] : 0 <= k < 16 }
c[i, j] = sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k])) {id=product}
";

const TENSORIZE: &str = "tensorize(product, mma_m16n8k16_bf16, m=i, n=j, k=k)";

fn parse(kernel: &str) -> LoopKernel {
    LoopKernel::parse(kernel).unwrap_or_else(|d| panic!("{kernel}\n{d}"))
}

fn transformed(declared: &LoopKernel, pipeline: &str) -> LoopKernel {
    Pipeline::parse(pipeline).and_then(|p| p.apply(declared)).unwrap_or_else(|d| panic!("{d}"))
}

fn program(kernel: &LoopKernel) -> Program {
    lower(kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"))
}

fn sizes(values: &[(&str, i64)]) -> BTreeMap<Name, i64> {
    values.iter().map(|(name, value)| (Name::new(*name), *value)).collect()
}

/// Two warps, whole tiles and partial ones, factors copied to shared memory by vectors.
fn shared(types: [&str; 3], atom: &str, [m, n, k]: [i64; 3]) -> (String, String) {
    let [of_a, of_b, of_sums] = types;
    let rounded = library(atom).and_then(|atom| atom.conversion().cloned());
    let factor = |access: &str| match (&rounded, of_a == of_sums) {
        (Some(function), _) => format!("{function}({access})"),
        (_, true) => access.to_string(),
        _ => format!("cast({of_sums}, {access})"),
    };
    // The library's sum of f16 is added in f32.
    let (operator, sum) = match of_sums {
        "f16" => (
            "reduction half_sum(x) { state v: f16 = 0.0; lift v = x; combine v = a.v + b.v; result v; commutes }\n",
            "half_sum",
        ),
        _ => ("", "sum"),
    };
    let kernel = format!(
        "\
kernel product(a: {of_a}[m, l], b: {of_b}[n, l], c: {of_sums}[m, n], m: i32, n: i32, l: i32)
assume 0 <= m and 0 <= n and 0 <= l
domain {{ [i, j] : 0 <= i < m and 0 <= j < n }}
domain {{ [k] : 0 <= k < l }}
{operator}c[i, j] = {sum}(k, {} * {}) {{id=product}}
",
        factor("a[i, k]"),
        factor("b[j, k]")
    );
    let pipeline = format!(
        "\
split_iname(i, {m}, outer=i_block, inner=i_box)
split_iname(j, {}, outer=j_block, inner=j_inner)
split_iname(j_inner, {n}, outer=j_warp, inner=j_box)
split_iname(k, {k}, outer=k_outer, inner=k_box)
tag_inames(i_block: block.y, j_block: block.x, j_warp: thread.y)
tensorize(product, {atom}, m=i_box, n=j_box, k=k_box)
add_prefetch(a, [{}lane, k_box])
add_prefetch(b, [j_warp, j_box_reg, {}lane, k_box])
",
        2 * n,
        // Eight rows are as many as the lanes have.
        if m == 8 { "" } else { "i_box_reg, " },
        // Of sixteen columns, registers have the lowest digit and the third one.
        if n == 8 { "" } else { "j_box_reg_2, " }
    );
    (kernel, pipeline)
}

/// A product of the types of an atom, as declared and lowered to it; its factors in shared memory,
/// or where they are.
fn by_atom(name: &str, copied: bool) -> (LoopKernel, Program) {
    let atom = library(name).expect("it has a name");
    let dtype = |operand| atom.operand(operand).dtype.to_string();
    let [a, b, d] = [Operand::A, Operand::B, Operand::D].map(dtype);
    let (kernel, mut pipeline) = shared([&a, &b, &d], name, atom.shape());
    if !copied {
        pipeline = pipeline.split("add_prefetch").next().unwrap_or_default().to_string();
    }
    let declared = parse(&kernel);
    let program = program(&transformed(&declared, &pipeline));
    (declared, program)
}

#[test]
fn each_atom_computes_what_is_declared() {
    for (name, copied) in all().iter().flat_map(|atom| [true, false].map(|copied| (atom.name(), copied))) {
        let (declared, program) = by_atom(name, copied);
        assert!(program.to_text().contains(&format!("mma {name}(")), "{name}: the atom is called");
        for (m, n, l) in [(1, 1, 1), (16, 16, 32), (17, 33, 41), (5, 40, 0), (40, 9, 16)] {
            check::run(&declared, &program, &sizes(&[("m", m), ("n", n), ("l", l)]))
                .unwrap_or_else(|f| panic!("{name}, {m} x {n} x {l}: {}: {}", f.kind, f.text));
        }
    }
}

/// Results of two warps, which leave by vectors through shared memory, and copies that are issued
/// behind the products.
const STORED: &str = "\
split_iname(i, 32, outer=i_block, inner=i_inner)
split_iname(j, 32, outer=j_block, inner=j_inner)
split_iname(i_inner, 16, outer=i_mma, inner=i_box)
split_iname(j_inner, 16, outer=j_warp, inner=j_tile)
split_iname(j_tile, 8, outer=j_mma, inner=j_box)
split_iname(k, 16, outer=k_outer, inner=k_box)
tag_inames(i_block: block.y, j_block: block.x, j_warp: thread.y, i_mma: ilp, j_mma: ilp)
tensorize(product, mma_m16n8k16_bf16, m=i_box, n=j_box, k=k_box)
untag_inames(j_box_reg)
tag_inames(j_box_reg: vec)
add_prefetch(a, [i_mma, i_box_reg, lane, k_box], vec=8, via=cp_async)
add_prefetch(b, [j_warp, j_mma, j_box_reg, lane, k_box], vec=8, via=cp_async)
buffer_array(c, [i_mma, i_box_reg, lane, j_warp, j_mma, j_box_reg], space=shared, init=none, vec=8)
pipeline(k_outer, [a_tile, b_tile], stages=3, issue=last)
";

fn stored() -> (LoopKernel, Program) {
    let declared = parse(
        "\
kernel product(a: bf16[m, l], b: bf16[n, l], c: bf16[m, n], m: i32, n: i32, l: i32)
assume 0 <= m and 0 <= n and 0 <= l and l % 8 = 0 and n % 8 = 0
domain { [i, j] : 0 <= i < m and 0 <= j < n }
domain { [k] : 0 <= k < l }
c[i, j] = cast(bf16, sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k]))) {id=product}
",
    );
    let program = program(&transformed(&declared, STORED));
    (declared, program)
}

#[test]
fn results_leave_by_vectors_through_shared_memory() {
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    let (declared, program) = stored();
    let text = program.to_text();
    for form in ["copy 2 c_buf[", "copy 8 c["] {
        assert!(text.contains(form), "{form} in\n{text}");
    }
    for (m, n, l) in [(1, 8, 8), (32, 32, 64), (33, 40, 72), (5, 24, 0)] {
        let sizes = sizes(&[("m", m), ("n", n), ("l", l)]);
        check::run(&declared, &program, &sizes)
            .and_then(|_| check::run_text(&checker, &declared, &program, &sizes))
            .unwrap_or_else(|f| panic!("{m} x {n} x {l}: {}: {}", f.kind, f.text));
    }
}

/// A copy that leaves out what it should fill with zeros: what an earlier step left in the slot is
/// added.
#[test]
fn a_ring_whose_slots_are_not_filled_is_refused_and_computes_something_else() {
    let (declared, program) = stored();
    let kernel = transformed(&declared, STORED);
    let text = program.to_text();
    // What is stale in one factor only is multiplied by zeros, which a run does not show.
    let mut spoilt = text.clone();
    for array in ["a", "b"] {
        let copy = format!("copy_async 8 {array}_tile[(k_outer + 2)");
        let line = text.lines().find(|l| l.contains(&copy)).expect("it copies");
        let (copy, rest) = line.split_once(" when ").expect("it fills");
        let (condition, leaf) = rest.rsplit_once(" {").expect("it has a leaf");
        let guarded = format!("if {condition} \"only cells of {array}\" {{\n{copy} {{{leaf}\n}}");
        spoilt = spoilt.replace(line, &guarded);
    }
    let spoilt = Program::parse(&spoilt).unwrap_or_else(|d| panic!("{d}"));
    let why = refusal(&kernel, &spoilt);
    assert!(why.contains("may add to a result where product.update has no instances"), "{why}");
    let sizes = sizes(&[("m", 32), ("n", 32), ("l", 56)]);
    check::run(&declared, &program, &sizes).unwrap_or_else(|f| panic!("{}: {}", f.kind, f.text));
    assert!(check::run(&declared, &spoilt, &sizes).is_err());
}

/// The calls of the printed text: its functions around the instructions are NVRTC's and a GPU's to
/// check, and for this are replaced by ones that know which lane holds what.
#[test]
fn the_printed_calls_compute_what_is_declared() {
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    for (name, copied) in all().iter().flat_map(|atom| [true, false].map(|copied| (atom.name(), copied))) {
        let (declared, program) = by_atom(name, copied);
        for (m, n, l) in [(16, 16, 32), (17, 33, 41)] {
            check::run_text(&checker, &declared, &program, &sizes(&[("m", m), ("n", n), ("l", l)]))
                .unwrap_or_else(|f| panic!("{name}, {m} x {n} x {l}: {}: {}", f.kind, f.text));
        }
    }
}

/// Exchanged accumulators are wrong in the printed text, too: its check can fail.
#[test]
fn a_spoilt_text_computes_something_else() {
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    let kernel = parse(TILE);
    let text = program(&transformed(&kernel, TENSORIZE)).to_text();
    let spoilt = text.replace("acc[0, 1], acc[1, 0]", "acc[1, 0], acc[0, 1]");
    assert_ne!(text, spoilt);
    let spoilt = Program::parse(&spoilt).unwrap_or_else(|d| panic!("{d}"));
    let failure = check::run_text(&checker, &kernel, &spoilt, &sizes(&[])).unwrap_err();
    assert_eq!(failure.kind, "text", "{}", failure.text);
}

/// The final check's refusal of a program.
fn refusal(kernel: &LoopKernel, program: &Program) -> String {
    match verify_kernel(kernel, program) {
        Finding::Proved { .. } => panic!("it is proved"),
        Finding::Refuted(why) | Finding::Unknown(why) => why.to_string(),
    }
}

/// What is spoilt: the text before and after, a part of the refusal, and whether a run shows it.
const SPOILT: [(&str, &str, &str, bool); 14] = [
    // Another row, another column, another element of the word, another array.
    (
        "a_frag[2] = a[lane quo 4 + 8,",
        "a_frag[2] = a[lane quo 4,",
        "element 2 of the accumulator of lane 0",
        true,
    ),
    ("a_frag[4] = a[lane quo 4, j_lane * 2 + 8]", "a_frag[4] = a[lane quo 4, j_lane * 2]", "for k = 8", true),
    ("b_frag[0] = b[lane quo 4,", "b_frag[0] = b[lane quo 8,", "as `b`", true),
    ("b_frag[2] = b[", "b_frag[2] = a[", "as `b`", true),
    // The left factor's fragment as one of the right factor's lanes would have it.
    (
        "a_frag[0] = a[lane quo 4, j_lane * 2]",
        "a_frag[0] = a[lane quo 4, j_lane * 2 quo 4 * 4]",
        "as `a`",
        true,
    ),
    // Elements that are missing, loaded twice, or of a place where there are none.
    (
        "        copy 2 b_frag[2] = b[lane quo 4, j_lane * 2 + 8]\n",
        "",
        "element 2 of the fragment `b` is not loaded",
        true,
    ),
    ("copy 2 b_frag[2]", "copy 2 b_frag[0]", "loaded twice", true),
    // Accumulators: two exchanged, one twice.
    ("acc[0, 1], acc[1, 0]", "acc[1, 0], acc[0, 1]", "element 1 of the accumulator", true),
    ("acc[0, 1], acc[1, 0]", "acc[0, 1], acc[0, 1]", "not those that the contract updates", true),
    // Fragments exchanged.
    ("+= a_frag[0] * b_frag[0]", "+= b_frag[0] * a_frag[0]", "wrong-atom", true),
    // Another atom, with other numbers of elements.
    ("mma mma_m16n8k16_bf16(", "mma mma_m16n8k8_bf16(", "wrong-atom", true),
    ("mma mma_m16n8k16_bf16(", "mma mma_m16n8k16_f16(", "takes elements of other types", true),
    // A product that only some lanes run. The final check names the lanes; in a run they wait.
    ("    atom \"", "    if thread.x < 16 {\n    atom \"", "not all threads", true),
    // More than loads: what the warp multiplies is changed behind the loads.
    ("        mma mma", "        store acc[0, 0] = 1.0f32\n        mma mma", "not loaded but computed", true),
];

#[test]
fn spoilt_fragments_are_refused_and_run_wrong() {
    let declared = parse(TILE);
    let kernel = transformed(&declared, TENSORIZE);
    let text = program(&kernel).to_text();
    let again = Program::parse(&text).unwrap_or_else(|d| panic!("{d}"));
    assert!(matches!(verify_kernel(&kernel, &again), Finding::Proved { .. }));
    check::run(&declared, &again, &sizes(&[])).unwrap_or_else(|f| panic!("{}: {}", f.kind, f.text));
    for (from, to, part, shows) in SPOILT {
        let mut spoilt = text.replacen(from, to, 1);
        assert_ne!(spoilt, text, "{from}");
        if to.contains("if thread") {
            spoilt = spoilt.replacen("    for i_reg.2", "    }\n    for i_reg.2", 1);
        }
        let spoilt = Program::parse(&spoilt).unwrap_or_else(|d| panic!("{from}\n{d}"));
        let refused = refusal(&kernel, &spoilt);
        assert!(refused.contains(part), "{from} -> {to}\n{refused}");
        let run = check::run(&declared, &spoilt, &sizes(&[]));
        assert_eq!(run.is_err(), shows, "{from} -> {to}");
    }
}

#[test]
fn a_product_without_its_contract_is_refused() {
    let kernel = transformed(&parse(TILE), TENSORIZE);
    let text = program(&kernel).to_text();
    // The product once more, behind the atom.
    let (before, after) = text.split_once("    for i_reg.2").expect("the results are stored");
    let product =
        "    mma mma_m16n8k16_bf16(acc[0, 0], acc[0, 1], acc[1, 0], acc[1, 1]) += a_frag[0] * b_frag[0]\n";
    let twice = format!("{before}{product}    for i_reg.2{after}");
    let refused = refusal(&kernel, &Program::parse(&twice).unwrap_or_else(|d| panic!("{d}")));
    assert!(refused.contains("without a contract"), "{refused}");
}

/// What a step or lowering refuses, with a part of the refusal.
#[test]
fn what_is_no_product_of_the_atom_is_refused() {
    let cases = [
        (TILE.replace("* cast", "+ cast"), TENSORIZE, "is not the product of two elements"),
        (TILE.replace("sum(", "max("), TENSORIZE, "`max`, the operator of the reduction, does not add"),
        (TILE.replace("a: bf16", "a: f16"), TENSORIZE, "its `a` is bf16, where `a[i, k]` is f16"),
        (TILE.replace("b[j, k]", "a[i, k]"), TENSORIZE, "the right factor `a[i, k]` depends on `i`"),
        (
            TILE.replace("0 <= k < 16", "0 <= k < 15"),
            TENSORIZE,
            "`k` of `mma_m16n8k16_bf16` goes from 0 to 15, and the kernel's `k` goes from 0 to 14",
        ),
        (
            TILE.to_string(),
            "tensorize(product, mma_m16n8k16_bf61, m=i, n=j, k=k)",
            "did you mean `mma_m16n8k16_bf16`?",
        ),
        (TILE.to_string(), "tensorize(product, mma_m16n8k16_bf16, m=i, n=j)", "`k=i_inner`"),
        (
            TILE.to_string(),
            "tensorize(product, mma_m16n8k16_bf16, m=k, n=j, k=i)",
            "is not a sequential loop of the reduction",
        ),
    ];
    for (kernel, pipeline, part) in cases {
        let refused = LoopKernel::parse(&kernel)
            .map_err(|d| d.to_string())
            .and_then(|k| Pipeline::parse(pipeline).and_then(|p| p.apply(&k)).map_err(|d| d.to_string()));
        let refused = refused.expect_err(pipeline);
        assert!(refused.contains(part), "{kernel}{pipeline}\n{refused}");
    }
}

#[test]
fn boxes_that_a_guard_may_cut_are_refused_when_lowered() {
    let (kernel, pipeline) = shared(["bf16", "bf16", "f32"], "mma_m16n8k16_bf16", [16, 8, 16]);
    // Where one row ends, others go on: their factors cannot be zero.
    let steps: String =
        pipeline.lines().filter(|l| !l.starts_with("add_prefetch")).map(|l| format!("{l}\n")).collect();
    let triangle = kernel.replace("0 <= k < l", "0 <= k <= i").replace("assume", "assume m <= l and");
    let refused = lower(&transformed(&parse(&triangle), &steps), LowerOptions::default())
        .map(|_| ())
        .expect_err("it is cut");
    assert_eq!(refused.code, "atom-guard", "{refused}");
    // A statement beside the updates in the loop over k.
    let steps = format!("{pipeline}split_iname(k_outer, 2, outer=ko, inner=ki)\n");
    lower(&transformed(&parse(&kernel), &steps), LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"));
}

/// Each lane fills the row of its results, and others load it as fragments. No device has this
/// instruction, so that its text is not compiled.
#[test]
fn lanes_that_load_what_others_have_filled_wait_for_them() {
    let declared = parse(
        "kernel product(a: f64[32, 4], b: f64[8, 4], c: f64[32, 8])\n\
         atom own_rows {\n\
             d[m, n] += a[m, k] * b[n, k]\n\
             box m < 32, n < 8, k < 4\n\
             a: f64 ((4,8),4):((32,1),8)\n\
             b: f64 ((4,8),1):((8,1),0)\n\
             d: f64 ((8,4),8):((1,8),32)\n\
             executor warp\n\
             since sm_80\n\
             ptx mma.sync.aligned.m32n8k4.row.col.f64.f64.f64.f64\n\
         }\n\
         domain { [i, j] : 0 <= i < 32 and 0 <= j < 8 }\n\
         domain { [k] : 0 <= k < 4 }\n\
         domain { [p, q] : 0 <= p < 32 and 0 <= q < 4 }\n\
         temp t: f64[32, 4] shared\n\
         t[p, q] = 2.0*a[p, q] {id=twice}\n\
         c[i, j] = sum(k, t[i, k] * b[j, k]) {id=product}\n",
    );
    let kernel = transformed(&declared, "tag_inames(p: lane)\ntensorize(product, own_rows, m=i, n=j, k=k)\n");
    let program = program(&kernel);
    assert!(program.to_text().contains("barrier block \"twice writes t, product.update reads it\""));
    check::run(&declared, &program, &sizes(&[])).unwrap_or_else(|d| panic!("{d:?}"));
}

/// Copies of the two factors stand in different loops, or in none: each is filled where it stands.
#[test]
fn partial_tiles_are_filled_by_copies_in_different_loops() {
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    let kernel = |arguments: &str, domain: &str, assumed: &str, target: &str, of_a: &str| {
        format!(
            "\
kernel product({arguments})
assume {assumed}
domain {{ {domain} and 0 <= j < n }}
domain {{ [k] : 0 <= k < 16 }}
{target} = sum(k, cast(f32, {of_a}) * cast(f32, b[j, k])) + bias[j] {{id=product}}
"
        )
    };
    let plain = kernel(
        "a: bf16[m, 16], b: bf16[n, 16], bias: f32[n], c: f32[m, n], m: i32, n: i32",
        "[i, j] : 0 <= i < m",
        "0 <= m and 0 <= n",
        "c[i, j]",
        "a[i, k]",
    );
    let batched = kernel(
        "a: bf16[q, m, 16], b: bf16[n, 16], bias: f32[n], c: f32[q, m, n], q: i32, m: i32, n: i32",
        "[p, i, j] : 0 <= p < q and 0 <= i < m",
        "0 <= q and 0 <= m and 0 <= n",
        "c[p, i, j]",
        "a[p, i, k]",
    );
    // Of each number another number of rows, which may be none.
    let triangle = batched.replace("0 <= i < m", "0 <= i < m and i <= 5*p");
    let tiles =
        "split_iname(i, 16, outer=i_tile, inner=i_box)\nsplit_iname(j, 8, outer=j_tile, inner=j_box)\n";
    let done = "\
tensorize(product, mma_m16n8k16_bf16, m=i_box, n=j_box, k=k)
add_prefetch(a, [i_box_reg, lane, k])
add_prefetch(b, [j_box_reg, lane, k])
";
    let cases = [
        // One tile of `a` for all of a block's tiles of `b`.
        (&plain, "reorder(j_tile, i_box)\ntag_inames(i_tile: block.x)\n"),
        // Two blocks take turns with the tiles of `a`, each with one tile of `b`.
        (
            &plain,
            "split_iname(i_tile, 2, outer=i_turn, inner=i_block)\n\
             tag_inames(i_block: block.x, j_tile: block.y)\n",
        ),
        // From the last turn down.
        (
            &plain,
            "split_iname(i_tile, 2, outer=i_turn, inner=i_block)\nreverse(i_turn)\n\
             tag_inames(i_block: block.x, j_tile: block.y)\n",
        ),
        // A block has the same weights for all products of a batch.
        (&batched, "tag_inames(i_tile: block.x, j_tile: block.y)\n"),
        (&triangle, "tag_inames(i_tile: block.x, j_tile: block.y)\n"),
    ];
    for (text, steps) in cases {
        let declared = parse(text);
        let steps = format!("{tiles}{steps}{done}");
        let program = program(&transformed(&declared, &steps));
        assert!(program.to_text().contains("mma mma_m16n8k16_bf16("), "{steps}");
        for (m, n) in [(1, 1), (16, 8), (33, 21), (70, 9)] {
            let sizes = sizes(&[("q", 3), ("m", m), ("n", n)]);
            check::run(&declared, &program, &sizes)
                .and_then(|_| check::run_text(&checker, &declared, &program, &sizes))
                .unwrap_or_else(|f| panic!("{text}{steps}\n{m} x {n}: {}: {}", f.kind, f.text));
        }
    }
}

/// A product whose factors are read from global memory, also beyond whole boxes.
const IN_PLACE: &str = "\
kernel product(a: bf16[m, l], b: bf16[n, l], bias: f32[n], c: f32[m, n], m: i32, n: i32, l: i32)
assume 0 <= m and 0 <= n and 0 <= l
domain { [i, j] : 0 <= i < m and 0 <= j < n }
domain { [k] : 0 <= k < l }
c[i, j] = sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k])) + bias[j] {id=product}
";

const STEPS_IN_PLACE: &str = "\
split_iname(i, 16, outer=i_tile, inner=i_box)
split_iname(j, 8, outer=j_tile, inner=j_box)
split_iname(k, 16, outer=k_outer, inner=k_box)
tag_inames(i_tile: block.y, j_tile: block.x)
tensorize(product, mma_m16n8k16_bf16, m=i_box, n=j_box, k=k_box)
";

#[test]
fn partial_tiles_of_factors_in_place_are_zeros() {
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    let one_array = IN_PLACE.replace("b: bf16[n, l], ", "").replace("b[j, k]", "a[j, k]");
    let one_array = one_array.replace("assume", "assume n <= m and");
    // Half of the results; `b` has no more rows than these need.
    let triangle =
        IN_PLACE.replace("0 <= j < n", "0 <= j <= i").replace("[n", "[m").replace("m, n]", "m, m]");
    let batched = IN_PLACE
        .replace("a: bf16[m", "a: bf16[q, m")
        .replace("c: f32[m", "c: f32[q, m")
        .replace("m: i32", "q: i32, m: i32")
        .replace("[i, j] : ", "[p, i, j] : 0 <= p < q and ")
        .replace("c[i", "c[p, i")
        .replace("a[i", "a[p, i");
    let turns = STEPS_IN_PLACE
        .replace("i_tile: block.y", "i_block: block.y")
        .replace("tag_inames", "split_iname(i_tile, 2, outer=i_turn, inner=i_block)\ntag_inames");
    let triangular = format!("reorder(i, j)\n{STEPS_IN_PLACE}");
    // One factor in place, the other one copied.
    let mixed = format!("{STEPS_IN_PLACE}add_prefetch(b, [j_box_reg, lane, k_box])\n");
    let cases = [
        (IN_PLACE, STEPS_IN_PLACE),
        (IN_PLACE, &turns),
        (IN_PLACE, &mixed),
        (&one_array, STEPS_IN_PLACE),
        (&triangle, &triangular),
        (&batched, STEPS_IN_PLACE),
    ];
    for (text, steps) in cases {
        let declared = parse(text);
        let program = program(&transformed(&declared, steps));
        assert!(program.to_text().contains("mma mma_m16n8k16_bf16("), "{steps}");
        for (m, n, l) in [(1, 1, 1), (16, 8, 16), (33, 21, 41), (18, 9, 0)] {
            let sizes = sizes(&[("q", 2), ("m", m), ("n", n), ("l", l)]);
            check::run(&declared, &program, &sizes)
                .and_then(|_| check::run_text(&checker, &declared, &program, &sizes))
                .unwrap_or_else(|f| panic!("{text}{steps}\n{m} x {n} x {l}: {}: {}", f.kind, f.text));
        }
    }
}

/// What is spoilt of it: the text before and after, and a part of the refusal.
const SPOILT_IN_PLACE: [(&str, &str, &str); 7] = [
    // A lane asks for another row, or another column.
    (
        "a_frag[2] = if(i_tile * 16 + lane quo 4 < m - 8",
        "a_frag[2] = if(i_tile * 16 + lane quo 4 < m",
        "if m - 16*block.y - 1 >= 0 and l - 16*k_outer",
    ),
    (
        "a_frag[2] = if(i_tile * 16 + lane quo 4 < m - 8",
        "a_frag[2] = if(i_tile * 16 + lane quo 4 < m - 9",
        "where the contract reads a[16*block.y + 8, ",
    ),
    ("j_box_lane * 2 < l - 9, b[", "j_box_lane * 2 < l - 10, b[", "as `b`"),
    // It does not ask.
    (
        "if(j_tile * 8 + lane quo 4 < n and k_outer * 16 + j_box_lane * 2 < l - 9, \
         b[j_tile * 8 + lane quo 4, k_outer * 16 + j_box_lane * 2 + 9], 0.0bf16)",
        "b[j_tile * 8 + lane quo 4, k_outer * 16 + j_box_lane * 2 + 9]",
        "as `b`",
    ),
    // The contract takes something else than zero, or leaves out results or terms.
    (
        "if(i.1 < m and k < l, a[i.1, k], 0.0bf16)",
        "if(i.1 < m and k < l, a[i.1, k], 1.0bf16)",
        "does not add a product",
    ),
    (
        "if(i.1 < m and k < l, a[i.1, k], 0.0bf16)",
        "if(i.1 + 1 < m and k < l, a[i.1, k], 0.0bf16)",
        "where the contract reads a[",
    ),
    (
        "if(j.1 < n and k < l, b[j.1, k], 0.0bf16)",
        "if(j.1 < n and k + 1 < l, b[j.1, k], 0.0bf16)",
        "where the contract reads b[",
    ),
];

#[test]
fn spoilt_choices_of_factors_in_place_are_refused() {
    let declared = parse(IN_PLACE);
    let kernel = transformed(&declared, STEPS_IN_PLACE);
    let text = program(&kernel).to_text();
    for (from, to, part) in SPOILT_IN_PLACE {
        let spoilt = text.replacen(from, to, 1);
        assert_ne!(spoilt, text, "{from}\n{text}");
        let spoilt = Program::parse(&spoilt).unwrap_or_else(|d| panic!("{from}\n{d}"));
        let refused = refusal(&kernel, &spoilt);
        assert!(refused.contains(part), "{from} -> {to}\n{refused}");
    }
    // Contract and loads alike, by a condition that leaves out the last term.
    let spoil = |replacements: &[(&str, &str)]| {
        let mut spoilt = text.clone();
        for (from, to) in replacements {
            let before = spoilt.clone();
            spoilt = spoilt.replace(from, to);
            assert_ne!(spoilt, before, "{from}\n{text}");
        }
        refusal(&kernel, &Program::parse(&spoilt).unwrap_or_else(|d| panic!("{d}\n{spoilt}")))
    };
    let fewer: Vec<(String, String)> = [0, 1, 8, 9]
        .iter()
        .rev()
        .map(|less| {
            let end = |less: i32| if less == 0 { "l, ".to_string() } else { format!("l - {less}, ") };
            (format!("j_box_lane * 2 < {}", end(*less)), format!("j_box_lane * 2 < {}", end(less + 1)))
        })
        .collect();
    let mut replaced = vec![("k < l, ", "k < l - 1, ")];
    replaced.extend(fewer.iter().map(|(from, to)| (from.as_str(), to.as_str())));
    let why = spoil(&replaced);
    assert!(why.contains("product.update does not compute its value"), "{why}");
}

/// Zeros for one factor alone do not add zero where the other one is infinite or no number.
#[test]
fn zeros_for_one_factor_alone_are_refused() {
    let longer = IN_PLACE.replace("b: bf16[n, l]", "b: bf16[n, l + 16]");
    let declared = parse(&longer);
    let kernel = transformed(&declared, STEPS_IN_PLACE);
    let text = program(&kernel).to_text();
    // The conditions on `k`, of the contract and of each load of an element of `b`.
    let mut spoilt = text.replace("j.1 < n and k < l, b[", "j.1 < n, b[");
    for line in text.lines().filter(|line| line.contains("store b_frag[")) {
        let Some((before, rest)) = line.split_once(" and k_outer") else { continue };
        let (_, after) = rest.split_once(", b[").expect("it loads an element of `b`");
        spoilt = spoilt.replace(line, &format!("{before}, b[{after}"));
    }
    assert_eq!(text.matches("< l").count() - spoilt.matches("< l").count(), 5, "{spoilt}");
    let spoilt = Program::parse(&spoilt).unwrap_or_else(|d| panic!("{d}\n{spoilt}"));
    let why = refusal(&kernel, &spoilt);
    assert!(why.contains("may add to a result where product.update has no instances"), "{why}");
}
