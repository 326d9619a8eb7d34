use std::path::{Path, PathBuf};

use loopwright_kernel_ir::{DType, LoopKernel, Name};
use loopwright_lowering::{LowerOptions, lower};
use loopwright_program::{Program, index_range};
use loopwright_transforms::Pipeline;

use super::fits::conditions;
use super::formula::{Bounds, Formula, Op};
use super::print::{Printer, Style};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn program(kernel: &LoopKernel, steps: &str, index: DType) -> Program {
    let pipeline = Pipeline::parse(steps).unwrap_or_else(|d| panic!("{steps}: {d}"));
    let kernel = pipeline.apply(kernel).unwrap_or_else(|d| panic!("{steps}: {d}"));
    lower(&kernel, LowerOptions::new(index)).unwrap_or_else(|d| panic!("{steps}: {d}"))
}

fn bounds(program: &Program) -> Bounds {
    let scalars = program.scalars().filter(|s| s.dtype.is_integer());
    Bounds::new(scalars.map(|s| (s.name.clone(), s.dtype)), &program.assumptions)
}

/// The sizes of one launch, by the order of the scalars.
fn lookup<'a>(program: &'a Program, sizes: &'a [i64]) -> impl Fn(&Name) -> Option<i64> + 'a {
    move |name| {
        let integers = program.scalars().filter(|s| s.dtype.is_integer());
        integers.zip(sizes).find(|(s, _)| s.name == *name).map(|(_, size)| *size)
    }
}

fn accepts(conditions: &[Formula], program: &Program, sizes: &[i64]) -> bool {
    let of = lookup(program, sizes);
    conditions.iter().all(|c| c.eval(&|name| of(name).map(i128::from)) == Some(1))
}

/// Where the conditions hold, the check for numbers finds nothing. Sizes are drawn around powers of
/// two, and around the places where their products reach 2^31.
#[test]
fn what_the_conditions_accept_fits() {
    let pipelines = [
        "ragged_sum/warp_per_segment.pipe",
        "axpy/block_128.pipe",
        "matmul/tiled_16.pipe",
        "segmented_sum/grid_per_segment.pipe",
        "segmented_sum/persistent.pipe",
        "segmented_sum/warp_vec4.pipe",
        "stencil/tiled_16.pipe",
        "transpose/tiled.pipe",
    ];
    let mut state = 7u64;
    let mut random = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for name in pipelines {
        let path = examples().join("pipelines").join(name);
        let steps = std::fs::read_to_string(&path).unwrap();
        let of = name.split('/').next().unwrap_or_default();
        let text = std::fs::read_to_string(examples().join(format!("kernels/{of}.lw"))).unwrap();
        let kernel = LoopKernel::parse(&text).unwrap();
        let program = program(&kernel, &steps, DType::I32);
        let conditions = conditions(&program, &bounds(&program));
        assert!(!conditions.is_empty(), "{name}");
        let scalars = program.scalars().filter(|s| s.dtype.is_integer()).count();
        let (mut accepted, mut refused, mut stricter) = (0, 0, 0);
        for _ in 0..2000 {
            let sizes: Vec<i64> = (0..scalars)
                .map(|_| (1i64 << random(32)) + random(40) as i64 - 20)
                .map(|size| size.clamp(0, i32::MAX.into()))
                .collect();
            let of = lookup(&program, &sizes);
            if !program.assumptions.iter().all(|a| a.holds(&of) == Some(true)) {
                continue;
            }
            let is_fine = index_range::check(&program, &of).is_ok();
            match (accepts(&conditions, &program, &sizes), is_fine) {
                (true, true) => accepted += 1,
                (true, false) => panic!("{name}: {sizes:?} are accepted, and do not fit"),
                (false, true) => stricter += 1,
                (false, false) => refused += 1,
            }
        }
        assert!(accepted > 20 && refused > 20, "{name}: {accepted} accepted, {refused} refused");
        assert_eq!(stricter, 0, "{name}: so many are refused that fit");
    }
}

/// The same for sizes of 64 bits, in programs with either index type.
#[test]
fn what_the_conditions_accept_fits_with_wide_sizes() {
    let kernel = LoopKernel::parse(
        "kernel rows(x: f32[m, n] strides(lda, 1), y: f32[m, n], m: i64, n: i64, lda: i64)
         assume 0 <= m and 0 <= n and n <= lda
         domain { [i, j] : 0 <= i < m and 0 <= j < n }
         y[i, j] = 2*x[i, j]",
    );
    let kernel = kernel.unwrap_or_else(|d| panic!("{d}"));
    let steps = "split_iname(j, 32)
                 split_iname(i, 8)
                 tag_inames(i_outer: block.y, j_outer: block.x, i_inner: thread.y, j_inner: thread.x)";
    for index in [DType::I32, DType::I64] {
        let program = program(&kernel, steps, index);
        let conditions = conditions(&program, &bounds(&program));
        let (mut accepted, mut refused) = (0, 0);
        for k in 0..4000u32 {
            // Powers of two and their neighbours, up to 2^47 and each combination of magnitudes.
            let size = |shift: u32, near: u32| (1i64 << shift) + i64::from(near % 5) - 2;
            let sizes = [size(k % 47, k / 7), size((k / 47) % 47, k / 3), size((k / 11) % 47, k)];
            let sizes = [sizes[0].max(0), sizes[1].max(0), sizes[2].max(sizes[1]).max(0)];
            let is_fine = index_range::check(&program, &lookup(&program, &sizes)).is_ok();
            match accepts(&conditions, &program, &sizes) {
                true => {
                    accepted += 1;
                    assert!(is_fine, "{index}: {sizes:?} are accepted, and do not fit");
                }
                false => refused += 1,
            }
        }
        assert!(accepted > 100 && refused > 100, "{index}: {accepted} accepted, {refused} refused");
    }
}

/// By hand: `n` elements in blocks of 256 need indices up to the end of the last block, and the sum
/// of 255 from which their number is computed.
#[test]
fn the_last_size_that_fits_is_accepted() {
    let kernel = LoopKernel::parse(
        "kernel scale(x: f32[n], y: f32[n], n: i32)
         assume 0 <= n
         domain { [i] : 0 <= i < n }
         y[i] = 2*x[i]",
    );
    let steps = "split_iname(i, 256)
                 tag_inames(i_outer: block.x, i_inner: thread.x)";
    let program = program(&kernel.unwrap(), steps, DType::I32);
    let conditions = conditions(&program, &bounds(&program));
    let most = i64::from(i32::MAX) - 255;
    assert!(accepts(&conditions, &program, &[most]));
    assert!(!accepts(&conditions, &program, &[most + 1]));
}

/// Formulas mean the same in each language's text.
#[test]
fn formulas_are_printed_with_the_brackets_that_they_need() {
    let n = || Formula::name(&Name::new("n"));
    let m = || Formula::name(&Name::new("m"));
    let of = Formula::binary;
    let bounds = Bounds::new([(Name::new("m"), DType::U32), (Name::new("n"), DType::I32)].into_iter(), &[]);
    let text = |formula: &Formula, style| {
        Printer { style, bounds: &bounds, rename: &|name| name.to_string() }.text(formula)
    };
    let all = |formula: Formula| {
        [Style::Integers, Style::Doubles, Style::Python, Style::Comment].map(|style| text(&formula, style))
    };
    let rounded = of(Op::FloorDiv, n().plus(15), Formula::Int(16));
    assert_eq!(
        all(of(Op::Mul, Formula::Int(16), rounded.clone())),
        [
            "16 * floor_div(n + 15, 16)",
            "16 * floor((n + 15) / 16)",
            "16 * ((n + 15) // 16)",
            "16 * floor((n + 15) / 16)",
        ]
    );
    // A number that is not negative is divided as in C.
    assert_eq!(
        all(of(Op::FloorMod, m().plus(3), Formula::Int(4))),
        ["(m + 3) % 4", "m + 3 - 4 * floor((m + 3) / 4)", "(m + 3) % 4", "(m + 3) % 4"]
    );
    let least = of(Op::Min, n(), of(Op::Sub, m(), of(Op::Sub, n(), Formula::Int(1))));
    assert_eq!(
        all(least),
        ["least(n, m - (n - 1))", "fmin(n, m - (n - 1))", "min(n, m - (n - 1))", "min(n, m - (n - 1))"]
    );
    let choice = Formula::If(of(Op::Gt, n(), Formula::Int(0)).into(), rounded.into(), m().into());
    assert_eq!(
        all(of(Op::Add, choice, Formula::Int(1 << 40))),
        [
            "(n > 0 ? floor_div(n + 15, 16) : m) + INT64_C(1099511627776)",
            "(n > 0 ? floor((n + 15) / 16) : m) + 1099511627776.0",
            "((n + 15) // 16 if n > 0 else m) + 1099511627776",
            "(n > 0 ? floor((n + 15) / 16) : m) + 1099511627776",
        ]
    );
    // Constants come together.
    assert_eq!(n().plus(3).plus(-5), Formula::Binary(Op::Sub, n().into(), Formula::Int(2).into()));
    assert_eq!(n().plus(3).plus(-3), n());
}

/// Bounds contain every value; an end that is not known stays so when it is divided.
#[test]
fn bounds_contain_all_values() {
    let n = || Formula::name(&Name::new("n"));
    let bounds = Bounds::new([(Name::new("n"), DType::I64)].into_iter(), &[]);
    let quotient = Formula::binary(Op::FloorDiv, n(), Formula::Int(16));
    assert!(!bounds.at_most(&quotient, 1 << 60) && !bounds.at_least(&quotient, -(1 << 60)));
    let rest = Formula::binary(Op::FloorMod, n(), Formula::Int(16));
    assert!(bounds.at_least(&rest, 0) && bounds.at_most(&rest, 15) && !bounds.at_most(&rest, 14));
    assert!(!bounds.at_least(&n(), -(1 << 61)));
}

/// Quotients of what may be negative are rounded towards zero, and limited like others.
#[test]
fn sizes_that_may_be_negative_are_accepted_where_they_fit() {
    let text = "kernel blur(x: f32[n + 2], y: f32[n], n: i32)\n\
                domain { [i] : 0 <= i < n }\n\
                y[i] = x[i] + x[i + 1] + x[i + 2]\n";
    let steps = "split_iname(i, 128)\ntag_inames(i_outer: block.x, i_inner: thread.x)\n";
    let program = program(&LoopKernel::parse(text).unwrap(), steps, DType::I32);
    let conditions = conditions(&program, &bounds(&program));
    for n in [i32::MIN, -200, -1, 0, 1, 1 << 24, 1 << 30, i32::MAX - 128, i32::MAX - 127, i32::MAX] {
        let sizes = [i64::from(n)];
        let is_fine = index_range::check(&program, &lookup(&program, &sizes)).is_ok();
        assert_eq!(accepts(&conditions, &program, &sizes), is_fine, "n = {n}");
    }
}

/// Indices that are made of data, in 64 bits and in 32: what may overflow, and whether it shows.
/// Where no sizes are refused by the check for numbers, the conditions refuse none.
#[test]
fn indices_made_of_data_fit_alike() {
    let cases = [
        // A product in a subscript is congruent to the number that was meant.
        ("idx: i64[m]", "x[idx[i]*4]", "", [true, false]),
        ("idx: i64[m]", "x[(idx[i]*4)//8 % 16]", "", [false, false]),
        ("idx: i64[m]", "x[(idx[i]*4)//8 % 16]", "fact 0 <= idx < 16\n", [true, true]),
        ("idx: i64[m]", "x[min(idx[i]*4, 15)]", "", [false, false]),
        ("idx: i64[m]", "x[min(idx[i] + 4, 15)]", "", [true, false]),
        ("idx: i64[m]", "x[if(idx[i]*4 > 8, 1, 0)]", "", [false, false]),
        ("idx: u32[m]", "x[(idx[i]*2) % 16]", "", [true, false]),
        ("idx: i32[m]", "x[(idx[i]*2)//4]", "", [true, false]),
        ("idx: i32[m]", "x[(idx[i]*2)//4]", "fact 0 <= idx < 32\n", [true, true]),
    ];
    for (array, read, fact, wanted) in cases {
        let text = format!(
            "kernel f(x: f32[16], {array}, y: f32[m], m: i32)\nassume 1 <= m and m <= 1000\n{fact}\
             domain {{ [i] : 0 <= i < m }}\ny[i] = {read}\n"
        );
        let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
        for (index, wanted) in [DType::I64, DType::I32].into_iter().zip(wanted) {
            let program = program(&kernel, "", index);
            let conditions = conditions(&program, &bounds(&program));
            for m in [1, 7, 1000] {
                let is_fine = index_range::check(&program, &lookup(&program, &[m])).is_ok();
                assert_eq!(is_fine, wanted, "{index}: {text}");
                assert_eq!(accepts(&conditions, &program, &[m]), wanted, "{index}: {text}{conditions:?}");
            }
        }
    }
}

/// A fact is about what the caller gives: it bounds nothing that the program has written.
#[test]
fn facts_about_what_is_written_say_nothing_of_later_reads() {
    let text = "kernel f(x: f32[16], idx: i64[m], y: f32[m], m: i32)\nassume 1 <= m\nfact 0 <= idx < 16\n\
                domain { [i] : 0 <= i < m }\nfor i {\nidx[i] = idx[i] + 1\ny[i] = x[(idx[i]*4)//8 % 16]\n}\n";
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"));
    let program = program(&kernel, "", DType::I64);
    assert!(index_range::check(&program, &lookup(&program, &[5])).is_err());
    assert!(!accepts(&conditions(&program, &bounds(&program)), &program, &[5]));
}

/// Proofs about conditions are for scalars below 2^61.
#[test]
fn scalars_in_conditions_are_limited() {
    let text = "kernel f(x: f32[64], y: f32[64], n: i64)\ndomain { [i] : 0 <= i < 64 }\n\
                y[i] = if(n > 5, x[i], 0.0)\n";
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"));
    for index in [DType::I32, DType::I64] {
        let program = program(&kernel, "", index);
        let conditions = conditions(&program, &bounds(&program));
        for n in [0, 1 << 40, 1 << 61, -(1 << 61), (1 << 61) + 1, -(1 << 61) - 1, i64::MAX] {
            let is_fine = index_range::check(&program, &lookup(&program, &[n])).is_ok();
            assert_eq!(accepts(&conditions, &program, &[n]), is_fine, "{index}: n = {n}, {conditions:?}");
        }
    }
}
