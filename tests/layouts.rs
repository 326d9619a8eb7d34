//! Layouts of shared and private arrays in whole kernels: results, bank conflicts, and programs in
//! which one side of an array takes its elements from where they would lie otherwise.

use std::{collections::BTreeMap, fs, path::Path};

use loopwright_emulator::{Arguments, Options, run};
use loopwright_kernel_ir::{Buffer, DType, LoopKernel, Name, Number};
use loopwright_lowering::{
    LowerOptions, lower,
    program::{Owner, Program, eval_host},
    verify::{Finding, verify_kernel},
};
use loopwright_testing::check;
use loopwright_text_check::Checker;
use loopwright_transforms::Pipeline;

fn example(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(file);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{file}: {e}"))
}

fn product() -> LoopKernel {
    LoopKernel::parse(&example("kernels/matmul_bf16.lw")).unwrap_or_else(|d| panic!("{d}"))
}

fn transformed(declared: &LoopKernel, pipeline: &str) -> LoopKernel {
    Pipeline::parse(pipeline).and_then(|p| p.apply(declared)).unwrap_or_else(|d| panic!("{d}"))
}

fn lowered(kernel: &LoopKernel) -> Program {
    lower(kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"))
}

/// Few enough products for the plain interpreter: larger ones are not compared.
fn sizes([m, n, l]: [i64; 3]) -> BTreeMap<Name, i64> {
    [("m", m), ("n", n), ("l", l)].into_iter().map(|(name, value)| (Name::new(name), value)).collect()
}

/// The bank conflicts of a product of this size.
fn conflicts(program: &Program, sizes: &BTreeMap<Name, i64>) -> u64 {
    let value = |name: &Name| sizes.get(name).copied();
    let mut arguments = Arguments::new();
    for scalar in program.scalars() {
        let number = Number::I64(value(&scalar.name).expect("its size is given")).cast(scalar.dtype);
        arguments = arguments.scalar(scalar.name.clone(), number);
    }
    for global in program.globals.iter().filter(|g| g.owner == Owner::Caller) {
        let len = eval_host(&global.size, &value).expect("the sizes are given") as usize;
        arguments = arguments.array(global.name.clone(), Buffer::zeros(DType::BF16, len));
    }
    run(program, &mut arguments, &Options::default()).unwrap_or_else(|f| panic!("{f}")).total.bank_conflicts()
}

/// Two steps of `k` for 2 x 2 blocks of 128 x 128, two of which are whole in one direction.
///
/// Without padding, the four rows of 64 bytes with equal parity lie in the same banks: each of the
/// four matrices of a load of `a`, and of the four of one of `b`, takes four passes rather than
/// one. Rows of 80 bytes keep the eight rows of a matrix apart, but not always the two rows that
/// eight threads store. Swizzled rows keep both apart.
#[test]
fn a_swizzle_takes_the_conflicts_of_loads_and_stores_away() {
    let swizzled = example("pipelines/matmul_bf16/mma_swizzled.pipe");
    let plain: String = swizzled
        .lines()
        .filter(|line| !line.starts_with("swizzle("))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_ne!(plain, swizzled);
    let padded = example("pipelines/matmul_bf16/mma_async.pipe");
    let sizes = sizes([256, 128, 64]);
    let [plain, padded, swizzled] = [plain, padded, swizzled]
        .map(|pipeline| conflicts(&lowered(&transformed(&product(), &pipeline)), &sizes));
    // For each of two blocks, four warps and four steps of 16: four loads of `a` of four matrices,
    // four of `b`, each for two fragments of two.
    let loads = 2 * 4 * 4 * (4 * 4 * 3 + 4 * 4 * 3);
    assert_eq!(plain, loads);
    assert!(0 < padded && padded < plain, "{padded}");
    assert_eq!(swizzled, 0);
}

#[test]
fn swizzled_tiles_give_what_is_declared() {
    let declared = product();
    let pipeline = example("pipelines/matmul_bf16/mma_swizzled.pipe");
    let program = lowered(&transformed(&declared, &pipeline));
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    for own in [[130, 3, 72], [3, 130, 72], [17, 20, 0], [20, 20, 104]] {
        check::run(&declared, &program, &sizes(own)).unwrap_or_else(|f| panic!("{own:?}: {}", f.text));
    }
    check::run_text(&checker, &declared, &program, &sizes([20, 20, 72]))
        .unwrap_or_else(|f| panic!("{}", f.text));
}

/// Tiles of 64 x 16 and 96 x 16, of which one is given the layout.
const TILES: &str = "\
split_iname(i, 64)
split_iname(j, 96)
split_iname(k, 16)
split_iname(i_inner, 16, outer=i_reg, inner=i_thread)
split_iname(j_inner, 32, outer=j_reg, inner=j_thread)
tag_inames(i_outer: block.y, j_outer: block.x, i_thread: thread.y, j_thread: thread.x, i_reg: ilp, j_reg: ilp)
add_prefetch(a, [i_thread, i_reg, k_inner])
add_prefetch(b, [j_thread, j_reg, k_inner])
";

#[test]
fn a_product_runs_in_every_layout_of_its_tiles() {
    let declared = product();
    let checker = Checker::new().unwrap_or_else(|d| panic!("{d}"));
    let mut pipelines = Vec::new();
    for steps in [
        // The two that tutorials draw: rows of 17, and columns of 32 in three parts.
        "set_layout(a_tile, (64,16):(17,1))\nset_layout(b_tile, ((32,3),16):((1,512),32))",
        // Blocks of 8 x 8; a swizzle of the whole, whose bits come from below.
        "set_layout(a_tile, ((8,8),(8,2)):((8,128),(1,64)))\nswizzle(b_tile, 2, 0, -4)",
        // Order and padding first; both swizzled.
        "tag_array_axes(a_tile, f)\npad_array_axis(a_tile, 0, 64)\nswizzle(a_tile, 2, 1, 4)\n\
         set_layout(b_tile, Sw<3,1,3> o 0 o (96,(2,8)):(2,(1,192)))",
        // Subscripts change behind them, and elements stay where they are: exchanged, and in parts.
        "set_layout(a_tile, (64,16):(17,1))\nmap_array(a_tile, [x, y] -> [y, x])\n\
         swizzle(b_tile, 2, 0, 4)\nmap_array(b_tile, [x, y] -> [x // 32, y, x % 32])",
        // In slots.
        "set_layout(a_tile, (64,16):(17,1))\nswizzle(b_tile, 1, 2, 2)\npipeline(k_outer, [a_tile, b_tile], stages=2)",
    ] {
        pipelines.push(format!("{TILES}{steps}\n"));
    }
    // In registers.
    let shared = "add_prefetch(a, [i_thread, i_reg, k_inner])\n";
    let private = "add_prefetch(a, [k_inner], space=private)\nset_layout(a_tile, ((8,2)):((2,1)))\n";
    pipelines.push(TILES.replace(shared, private).replace("i_reg: ilp", "i_reg: unroll"));
    for steps in pipelines {
        let kernel = transformed(&declared, &steps);
        let program = lowered(&kernel);
        let again = Program::parse(&program.to_text()).unwrap_or_else(|d| panic!("{steps}\n{d}"));
        assert_eq!(again.to_text(), program.to_text(), "{steps}");
        for own in [[65, 3, 24], [3, 97, 24]] {
            let runs = [
                check::run(&declared, &program, &sizes(own)),
                check::run_text(&checker, &declared, &program, &sizes(own)),
            ];
            for run in runs {
                run.unwrap_or_else(|f| panic!("{steps}\n{own:?}: {}", f.text));
            }
        }
    }
}

/// An access of a program's text, with the offset that it would have without a swizzle.
fn unswizzled(text: &str, access: &str, strides: &[i64]) -> String {
    let begin = text.find(access).unwrap_or_else(|| panic!("{access} in\n{text}")) + access.len();
    let end = begin + text[begin..].find(']').expect("it ends");
    let subscripts = &text[begin..end];
    let offset: Vec<String> =
        subscripts.split(", ").zip(strides).map(|(s, stride)| format!("({s}) * {stride}")).collect();
    assert_eq!(offset.len(), strides.len(), "{subscripts}");
    format!("{}{subscripts} @ {}{}", &text[..begin], offset.join(" + "), &text[end..])
}

#[test]
fn a_swizzle_on_one_side_only_is_refused_and_run_wrong() {
    let declared = product();
    let kernel = transformed(&declared, &example("pipelines/matmul_bf16/mma_swizzled.pipe"));
    let text = lowered(&kernel).to_text();
    let proved = |text: &str| {
        let program = Program::parse(text).unwrap_or_else(|d| panic!("{d}"));
        let wrong = match verify_kernel(&kernel, &program) {
            Finding::Proved { .. } => None,
            Finding::Refuted(why) | Finding::Unknown(why) => Some(why.to_string()),
        };
        (wrong, check::run(&declared, &program, &sizes([20, 20, 72])).is_ok())
    };
    assert_eq!(proved(&text), (None, true));
    for access in ["= a_tile[", "= b_tile[", "copy_async 8 a_tile[k_outer"] {
        let access = if access.starts_with("copy") {
            let begin = text.rfind("copy_async 8 a_tile[").expect("it is copied in the loop");
            let end = begin + text[begin..].find('[').expect("it has subscripts") + 1;
            let (before, behind) = text.split_at(begin);
            format!("{before}{}", unswizzled(behind, &text[begin..end], &[4096, 32, 1]))
        } else {
            unswizzled(&text, access, &[4096, 32, 1])
        };
        let (wrong, right) = proved(&access);
        let wrong = wrong.expect("it is refused");
        assert!(wrong.contains("is not that of its subscripts"), "{wrong}");
        assert!(!right, "a run shows it");
    }
}

#[test]
fn vectors_that_a_layout_takes_apart_are_refused() {
    let swizzled = example("pipelines/matmul_bf16/mma_swizzled.pipe");
    for (step, why) in [
        ("swizzle(a_tile, 2, 2, 3)", "Sw<2,2,3> keeps only 4 neighbours of `a_tile` together"),
        ("set_layout(a_tile, (128,32):(1,128))", "the mode 128:1 of axis 1 of `a_tile` takes them apart"),
        ("set_layout(a_tile, (128,32):(36,1))", "of `a_tile` takes them apart or shifts them"),
    ] {
        let pipeline = swizzled.replace("swizzle(a_tile, 2, 3, 3)", step);
        let refused =
            lower(&transformed(&product(), &pipeline), LowerOptions::default()).unwrap_err().to_string();
        assert!(refused.contains("error[unaligned]") && refused.contains(why), "{refused}");
    }
}

/// Rows of 5 elements begin at multiples of 8: those of 5 and, with one more, of 6 are rounded up
/// to a multiple of 4. Elements between rows stay as they were.
#[test]
fn rows_of_arguments_that_are_padded_to_a_multiple() {
    let declared = LoopKernel::parse(
        "kernel turn(x: f32[n, m], y: f32[n, m], n: i32, m: i32)
         assume 0 <= n and 0 <= m
         domain { [i, j] : 0 <= i < n and 0 <= j < m }
         y[i, m - 1 - j] = x[i, j]",
    )
    .unwrap_or_else(|d| panic!("{d}"));
    let pipeline = "pad_array_axis(x, 1, multiple=4)\npad_array_axis(y, -1, 1, multiple=4)\n\
                    split_iname(j, 4)\ntag_inames(i: block.x, j_inner: thread.x)";
    let program = lowered(&transformed(&declared, pipeline));
    let at = |i: usize, j: usize| (10 * i + j) as f32;
    // The last row needs no padding behind it.
    let mut x = [-1.0f32; 21];
    let mut expected = [-2.0f32; 21];
    for (i, j) in (0..3).flat_map(|i| (0..5).map(move |j| (i, j))) {
        x[8 * i + j] = at(i, j);
        expected[8 * i + 4 - j] = at(i, j);
    }
    let mut arguments = Arguments::new()
        .scalar("n", Number::I32(3))
        .scalar("m", Number::I32(5))
        .array("x", Buffer::from_slice(&x))
        .array("y", Buffer::from_slice(&[-2.0f32; 21]));
    run(&program, &mut arguments, &Options::default()).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(arguments.buffer(&Name::new("y")), Some(&Buffer::from_slice(&expected)));
    // Without rows, or with empty ones, there are no elements.
    for (n, m) in [(0, 5), (3, 0)] {
        let none = Buffer::from_slice::<f32>(&[]);
        let mut arguments = Arguments::new()
            .scalar("n", Number::I32(n))
            .scalar("m", Number::I32(m))
            .array("x", none.clone())
            .array("y", none);
        run(&program, &mut arguments, &Options::default()).unwrap_or_else(|f| panic!("{n} {m}: {f}"));
    }
}
