//! Matrices that the lanes of a warp store together: what the instruction does, against the
//! manual's formulas; spoilt stores, which the final check refuses and a run shows; steps that
//! break them.

use std::collections::BTreeMap;

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, LoopKernel, Name, Number};
use loopwright_lowering::{
    LowerOptions, lower,
    program::Program,
    verify::{Finding, verify_kernel},
};
use loopwright_testing::check;
use loopwright_text_check::Checker;
use loopwright_transforms::Pipeline;

/// A warp whose lane `l` stores `100*l + k` as its element `k`, with rows of matrix `i` at row
/// `8*i` of a tile, and the tile's elements.
fn stored(matrices: i64, transposed: bool) -> Vec<Vec<i64>> {
    let (rows, elements) = (8 * matrices, 2 * matrices);
    let word = if transposed { " transposed" } else { "" };
    let text = format!(
        "program store(x) index i32
global x: i16[{rows}, 8] written
host {{
    launch store
}}
kernel store(x written) {{
    grid(1, 1, 1)
    block(32, 1, 1)
    var k: i32
    var r: i32
    var c: i32
    shared tile: i16[{rows}, 8]
    private own: i16[{elements}]
    for k: i32 = 0 to {elements} unroll {{
        store own[k] = cast(i16, thread.x * 100 + k)
    }}
    store_matrices {matrices}{word} tile[thread.x rem {rows}, 0] = own[0]
    barrier block
    if thread.x < 1 {{
        for r: i32 = 0 to {rows} {{
            for c: i32 = 0 to 8 {{
                store x[r, c] = tile[r, c]
            }}
        }}
    }}
}}
"
    );
    let program = Program::parse(&text).unwrap_or_else(|d| panic!("{text}\n{d}"));
    let x = Buffer::zeros(loopwright_kernel_ir::DType::I16, 8 * rows as usize);
    let mut arguments = Arguments::new().output("x", x);
    run(&program, &mut arguments, &Options::default()).unwrap_or_else(|f| panic!("{f}"));
    let x = arguments.buffer(&Name::new("x")).expect("it is written").clone();
    let at = |n: usize| x.get(n).and_then(|v: Number| v.as_i64()).expect("it has values");
    (0..rows as usize).map(|r| (0..8).map(|c| at(8 * r + c)).collect()).collect()
}

/// Of `stmatrix`, the manual says: lane `l` has, in register `i`, the elements of row `l / 4` and
/// of columns `2*(l % 4)` and the next of matrix `i`; with `.trans` matrices are stored as columns.
/// The lower half of a register is the first element.
#[test]
fn the_manual_says_which_lane_holds_what() {
    for matrices in [1, 2, 4] {
        for transposed in [false, true] {
            let found = stored(matrices, transposed);
            for (matrix, row, column) in
                (0..matrices).flat_map(|i| (0..8).flat_map(move |r| (0..8).map(move |c| (i, r, c))))
            {
                let (r, c) = if transposed { (column, row) } else { (row, column) };
                let (lane, half) = (4 * r + c / 2, c % 2);
                let at = found[(8 * matrix + row) as usize][column as usize];
                assert_eq!(
                    at,
                    100 * lane + 2 * matrix + half,
                    "{matrices} {transposed}: {matrix} {row} {column}"
                );
            }
        }
    }
}

fn parse(kernel: &str) -> LoopKernel {
    LoopKernel::parse(kernel).unwrap_or_else(|d| panic!("{kernel}\n{d}"))
}

fn transformed(declared: &LoopKernel, pipeline: &str) -> LoopKernel {
    Pipeline::parse(pipeline).and_then(|p| p.apply(declared)).unwrap_or_else(|d| panic!("{d}"))
}

/// Two boxes of a warp, whose results leave through shared memory.
const TILE: &str = "\
kernel tile(a: bf16[16, 16], b: bf16[16, 16], c: bf16[16, 16])
domain { [i, j] : 0 <= i < 16 and 0 <= j < 16 }
domain { [k] : 0 <= k < 16 }
c[i, j] = cast(bf16, sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k]))) {id=product}
";

const STEPS: &str = "\
split_iname(j, 8, outer=j_mma, inner=j_box)
tag_inames(j_mma: ilp)
tensorize(product, mma_m16n8k16_bf16, m=i, n=j_box, k=k)
buffer_array(c, [i_reg, lane, j_mma, j_box_reg], space=shared, init=none)
store_matrices(product)
";

/// What is spoilt: the text before and after, and a part of the refusal. A run shows each of them.
const SPOILT: [(&str, &str, &str); 8] = [
    // The addresses of other rows, of other columns, of the two boxes exchanged.
    ("matrices 4 c_buf[c_s1,", "matrices 4 c_buf[lane quo 2,", "where the contract stores it"),
    ("lane quo 16 * 8]", "(lane quo 16 + 1) rem 2 * 8]", "where the contract stores it"),
    ("lane quo 16 * 8]", "lane quo 16]", "where the contract stores it"),
    // The other direction, fewer matrices, the registers of others.
    ("store_matrices 4 c_buf", "store_matrices 4 transposed c_buf", "where the contract stores it"),
    ("store_matrices 4 c_buf", "store_matrices 2 c_buf", "is not stored, as the contract does"),
    ("= c_frag[j_mma.5, 0, 0]", "= c_frag[j_mma.5, 1, 0]", "where the contract stores it"),
    // What a lane computes is kept for another element.
    ("store c_frag[j_mma.4, i_reg.2,", "store c_frag[j_mma.4, 1 - i_reg.2,", ""),
    ("    barrier block \"product.finish writes c_buf, c_store reads it\"\n", "", ""),
];

/// Why a program is refused that is spoilt by another text in place of one; and whether a run of
/// these sizes shows it.
fn spoilt(
    (declared, kernel): (&LoopKernel, &LoopKernel),
    text: &str,
    (from, to): (&str, &str),
    sizes: &BTreeMap<Name, i64>,
) -> (String, bool) {
    let spoilt = text.replacen(from, to, 1);
    assert!(text != spoilt, "{from}\n{text}");
    let spoilt = Program::parse(&spoilt).unwrap_or_else(|d| panic!("{from}\n{d}"));
    let refused = match verify_kernel(kernel, &spoilt) {
        Finding::Proved { .. } => panic!("{from} -> {to} is proved"),
        Finding::Refuted(why) | Finding::Unknown(why) => why.to_string(),
    };
    (refused, check::run(declared, &spoilt, sizes).is_err())
}

/// Requires that the check refuses a program which reads what is stored beyond the instances.
fn reads_are_refused(kernel: &LoopKernel, text: &str, (from, to): (&str, &str)) {
    let text = text.replacen("    private acc", "    private read: bf16[1]\n    private acc", 1);
    let reads = text.replacen(from, to, 1);
    let reads = Program::parse(&reads).unwrap_or_else(|d| panic!("{d}\n{reads}"));
    let Finding::Unknown(why) = verify_kernel(kernel, &reads) else { panic!("it reads what is stored") };
    assert!(why.to_string().contains("may store what is read"), "{why}");
}

#[test]
fn spoilt_stores_are_refused_and_run_wrong() {
    let declared = parse(TILE);
    let kernel = transformed(&declared, STEPS);
    let program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"));
    let text = program.to_text();
    check::run(&declared, &program, &BTreeMap::new()).unwrap_or_else(|f| panic!("{}", f.text));
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    check::run_text(&checker, &declared, &program, &BTreeMap::new()).unwrap_or_else(|f| panic!("{}", f.text));
    for (from, to, part) in SPOILT {
        let (refused, shows) = spoilt((&declared, &kernel), &text, (from, to), &BTreeMap::new());
        assert!(refused.contains(part), "{from} -> {to}\n{refused}");
        assert!(shows, "{from} -> {to} computes the same");
    }
}

/// A store without a contract, and one whose contract says something else.
#[test]
fn stores_without_their_contract_are_refused() {
    let declared = parse(TILE);
    let kernel = transformed(&declared, STEPS);
    let text = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}")).to_text();
    let refused = |text: String| {
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{text}\n{d}"));
        match verify_kernel(&kernel, &program) {
            Finding::Proved { .. } => panic!("it is proved\n{text}"),
            Finding::Refuted(why) | Finding::Unknown(why) => why.to_string(),
        }
    };
    let line = text.lines().find(|line| line.contains("store_matrices")).expect("it stores").trim();
    let barrier = "    barrier block \"product.finish";
    let loose = text.replacen(barrier, &format!("    {}\n{barrier}", line.replace("j_mma.5", "0")), 1);
    assert!(refused(loose).contains("stores matrices without a contract"));
    // The contract converts what it stores.
    let other = text.replacen(
        "= c_frag[j_mma.6, i_reg.3, j_box_reg.3]",
        "= -c_frag[j_mma.6, i_reg.3, j_box_reg.3]",
        1,
    );
    assert!(other != text);
    assert!(refused(other).contains("does not copy an element of an array of the thread"));
}

/// Steps behind the one that asks for matrices may leave no rows to store.
#[test]
fn arrays_without_whole_rows_are_refused() {
    let declared = parse(TILE);
    for (step, part) in [
        ("pad_array_axis(c_buf, 1, 4)", "at a multiple of 16 bytes"),
        ("swizzle(c_buf, 1, 2, 3)", "at a multiple of 16 bytes"),
        ("set_layout(c_buf, (16,(2,8)):(2,(1,32)))", "at a multiple of 16 bytes"),
        ("set_address_space(c_buf, global)", "`c_buf` is global"),
    ] {
        let kernel = transformed(&declared, &format!("{STEPS}{step}\n"));
        let refused = lower(&kernel, LowerOptions::default()).expect_err(step);
        assert_eq!(refused.code, "matrix-store", "{step}: {refused}");
        assert!(refused.to_string().contains(part), "{step}: {refused}");
    }
    // These leave rows of eight elements together.
    for step in [
        "pad_array_axis(c_buf, 1, 8)",
        "swizzle(c_buf, 1, 3, 3)",
        "set_layout(c_buf, (16,(8,2)):(8,(1,128)))",
    ] {
        let kernel = transformed(&declared, &format!("{STEPS}{step}\n"));
        let program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{step}: {d}"));
        assert!(program.to_text().contains("store_matrices 4"), "{step}");
        check::run(&declared, &program, &BTreeMap::new()).unwrap_or_else(|f| panic!("{step}: {}", f.text));
    }
}

/// Rows of a product that fill the last tile of 16 in part.
const ROWS: &str = "\
kernel rows(a: bf16[m, 16], b: bf16[8, 16], c: bf16[m, 8], m: i32)
assume 0 <= m
domain { [i, j] : 0 <= i < m and 0 <= j < 8 }
domain { [k] : 0 <= k < 16 }
c[i, j] = cast(bf16, sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k]))) {id=product}
";

const STEPS_OF_ROWS: &str = "\
split_iname(i, 16)
tag_inames(i_outer: block.x)
tensorize(product, mma_m16n8k16_bf16, m=i_inner, n=j, k=k)
add_prefetch(a, [i_inner_reg, lane, k])
add_prefetch(b, [lane, j_reg, k])
buffer_array(c, [i_inner_reg, lane, j_reg], space=shared, init=none)
store_matrices(product)
";

/// Whole boxes are stored where the rows behind the last one are read by nobody.
#[test]
fn boxes_of_partial_tiles_are_stored_whole() {
    let declared = parse(ROWS);
    let kernel = transformed(&declared, STEPS_OF_ROWS);
    let program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"));
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    for m in [1, 7, 16, 17, 30] {
        let sizes = BTreeMap::from([(Name::new("m"), m)]);
        check::run(&declared, &program, &sizes).unwrap_or_else(|f| panic!("{m}: {}", f.text));
        check::run_text(&checker, &declared, &program, &sizes).unwrap_or_else(|f| panic!("{m}: {}", f.text));
    }
    // A statement that reads a row which is none of the array in the last tile.
    let text = program.to_text();
    let read = "c_store reads it\"\n    store read[0] = c_buf[15, 0]\n";
    reads_are_refused(&kernel, &text, ("c_store reads it\"\n", read));
}

/// Rows of a product that two blocks take turns with, the last tile in part; each row is scaled,
/// which only exists for rows that do.
const TURNS: &str = "\
kernel turns(a: bf16[m, 16], b: bf16[8, 16], s: f32[m], c: bf16[m, 8], m: i32)
assume 0 <= m
domain { [i, j] : 0 <= i < m and 0 <= j < 8 }
domain { [k] : 0 <= k < 16 }
c[i, j] = cast(bf16, s[i] * sum(k, cast(f32, a[i, k]) * cast(f32, b[j, k]))) {id=product}
";

const STEPS_OF_TURNS: &str = "\
split_iname(i, 16, outer=i_tile, inner=i_inner)
split_iname(i_tile, 2, outer=i_turn, inner=i_block)
tag_inames(i_block: block.x)
tensorize(product, mma_m16n8k16_bf16, m=i_inner, n=j, k=k)
add_prefetch(a, [i_inner_reg, lane, k])
add_prefetch(b, [lane, j_reg, k])
buffer_array(c, [i_inner_reg, lane, j_reg], space=shared, init=none)
store_matrices(product)
";

/// What is spoilt of it: the text before and after, a part of the refusal, and whether a run with
/// 41 rows shows it.
const SPOILT_TURNS: [(&str, &str, &str, bool); 6] = [
    // Zeros in place of a result, of all of them, and results in place of others.
    ("if(i.2 < m, cast(bf16,", "if(i.2 + 1 < m, cast(bf16,", "does not compute its value", true),
    ("if(i.2 < m, cast(bf16,", "if(m <= i.2, cast(bf16,", "does not compute its value", true),
    ("s[i.2] * acc[i_inner_reg.2, j_reg.2]", "s[i.2] * acc[i_inner_reg.2, 0]", "does not compute", true),
    // A scale that is none.
    ("if(i.2 < m, cast(bf16,", "if(i.2 <= m, cast(bf16,", "axis 0 of `s`", true),
    // The next turn stores before this one's results, or those of other lanes, have been read.
    (
        "    barrier block \"a_fetch writes a_tile, product.update reads it\"\n",
        "",
        "no barrier is between",
        true,
    ),
    (
        "    barrier block \"product.finish writes c_buf, c_store reads it\"\n",
        "",
        "no barrier is between",
        true,
    ),
];

#[test]
fn boxes_are_stored_whole_in_turns_and_where_their_values_read_memory() {
    let declared = parse(TURNS);
    let kernel = transformed(&declared, STEPS_OF_TURNS);
    let program = lower(&kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"));
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    let sizes = |m: i64| BTreeMap::from([(Name::new("m"), m)]);
    for m in [1, 16, 17, 32, 41, 70] {
        check::run(&declared, &program, &sizes(m)).unwrap_or_else(|f| panic!("{m}: {}", f.text));
        check::run_text(&checker, &declared, &program, &sizes(m))
            .unwrap_or_else(|f| panic!("{m}: {}", f.text));
    }
    let text = program.to_text();
    for (from, to, part, shows) in SPOILT_TURNS {
        let (refused, found) = spoilt((&declared, &kernel), &text, (from, to), &sizes(41));
        assert!(refused.contains(part), "{from} -> {to}\n{refused}");
        assert_eq!(found, shows, "{from} -> {to}");
    }
    // What a turn before has stored, in a row that is none of the array then: no instance reads it.
    let rows = "        for i_inner_reg: i32 = 0 to 2 unroll {";
    let read = format!("        store read[0] = c_buf[15, 0]\n{rows}");
    reads_are_refused(&kernel, &text, (rows, &read));
}

/// The last tile comes first: what is stored behind the end would be read by later turns, if they
/// did not store these rows themselves. Neither lowering nor the check follows that.
#[test]
fn boxes_of_turns_downwards_are_not_stored_whole() {
    let declared = parse(&TURNS.replace("s[i] * ", ""));
    let downwards = STEPS_OF_TURNS.replace("tag_inames", "reverse(i_turn)\ntag_inames");
    let kernel = transformed(&declared, &downwards);
    let refused = lower(&kernel, LowerOptions::default()).expect_err("it is refused");
    assert_eq!(refused.code, "matrix-store", "{refused}");
    // What each lane stores by itself is guarded. Without the guard it stores rows that do not
    // exist: of turns upwards these are the last ones, so that nothing reads them.
    let unguarded = |steps: &str| {
        let plain = transformed(&declared, &steps.replace("store_matrices(product)\n", ""));
        let program = lower(&plain, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"));
        let text = program.to_text();
        let (before, leaf) = text.split_once("leaf product.finish \"").expect("it finishes");
        let (head, rows) = leaf.split_once("\n    runs ").expect("it has instances");
        let (rows, after) = rows.split_once('\n').expect("it goes on");
        let (of_rows, others) = rows.split_once(" and ").expect("others");
        // The first rows are `from <= i < to`.
        let (from, _) = of_rows.rsplit_once(" < ").expect("rows end");
        let allowed = format!("{from} and {others}");
        let after = after.replacen("if i.2 < m \"the last tile of i may be partial\" {", "if 0 < 1 {", 1);
        let text =
            format!("{before}leaf product.finish \"{head}\n    runs {rows}\n    allowed {allowed}\n{after}");
        let program = Program::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        // Only where a kernel asks for matrices, boxes may be stored whole.
        let kernel = transformed(&declared, steps);
        (text, verify_kernel(&kernel, &program))
    };
    let (text, upwards) = unguarded(STEPS_OF_TURNS);
    assert!(matches!(upwards, Finding::Proved { .. }), "{upwards}\n{text}");
    let (text, downwards) = unguarded(&downwards);
    let Finding::Unknown(why) = downwards else { panic!("{downwards}\n{text}") };
    assert!(why.to_string().contains("may store what is read"), "{why}");
}
