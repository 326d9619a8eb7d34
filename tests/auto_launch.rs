//! `auto_for`: what the sizes of a launch decide; and grids that have room for every size.

use loopwright::{
    auto::{Found, Launch, auto, auto_for, search_for},
    prelude::*,
    tuner::{Machine, estimate_at},
};

pub(crate) fn parsed(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|d| panic!("{d}"))
}

/// What is found for a launch, which is what its text says.
pub(crate) fn found(kernel: &LoopKernel, launch: &Launch) -> Found {
    let found = auto_for(kernel, &Target::default(), launch);
    let read = Pipeline::parse(&found.to_string()).unwrap_or_else(|d| panic!("{d}\n{found}"));
    assert_eq!(read.apply(kernel).as_ref(), Ok(&found.kernel), "{found}");
    found
}

/// The numbers -8 to 8 without a pattern; sums of them are exact.
pub(crate) fn numbers(shape: &[usize]) -> Tensor {
    let mut state = 9u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 40) % 17) as f64 - 8.0
    };
    let all = (0..shape.iter().product::<usize>()).map(|_| next()).collect();
    Tensor::from_vec(shape, all).expect("a tensor").cast(DType::F32)
}

pub(crate) fn ran(found: &Found, args: &Args) -> Outputs {
    let compiled = Device::emulator().compile(&found.kernel).unwrap_or_else(|d| panic!("{d}\n{found}"));
    compiled.run(args).unwrap_or_else(|d| panic!("{d}\n{found}"))
}

/// Random kernels are asked twice by the tests of `crates/testing`; here, launches that are known.
#[test]
fn what_is_found_is_the_same_each_time() {
    for (text, sizes) in [
        (SCALE, [("m", 8192), ("n", 8192), ("l", 0)]),
        (crate::auto_products::PRODUCT, [("m", 256), ("n", 384), ("l", 80)]),
        (crate::auto_products::PRODUCT, [("m", 60), ("n", 70), ("l", 1 << 20)]),
    ] {
        let (kernel, launch) = (parsed(text), Launch::of(sizes));
        let [first, second] = [0; 2].map(|_| auto_for(&kernel, &Target::default(), &launch));
        assert_eq!(first, second);
    }
}

const SCALE: &str = "kernel scale(x: f32[m, n], y: f32[m, n], m: i32, n: i32)\n\
                     assume 0 <= m and 0 <= n\n\
                     domain { [i, j] : 0 <= i < m and 0 <= j < n }\n\
                     y[i, j] = 2.0*x[i, j] {id=scale}\n";

fn check_scale(found: &Found, m: usize, n: usize) {
    let x = numbers(&[m, n]);
    let twice: Vec<f64> = x.to_f64().iter().map(|v| 2.0 * v).collect();
    let outputs = ran(found, &Args::new().tensor("x", &x));
    assert_eq!(outputs.get("y").expect("an output").to_f64(), twice, "{m} x {n}\n{found}");
}

/// The axis y of a grid has 65535 blocks, here of eight rows each.
#[test]
fn maps_of_any_height_can_be_launched() {
    let kernel = parsed(SCALE);
    let found = found(&kernel, &Launch::default());
    assert_eq!(found.pipeline, auto(&kernel, &Target::default()).pipeline);
    for m in [1, 8 * 65535, 8 * 65535 + 1, 600_000] {
        check_scale(&found, m, 2);
    }
}

/// A launch that says how many they are needs no second axis: rows go where there is room.
#[test]
fn heights_that_are_known_are_on_the_axis_with_room() {
    let kernel = parsed(SCALE);
    for (m, n, tags) in [
        (8 * 65535, 8, "j_outer: block.x, i_outer: block.y"),
        (8 * 65535 + 1, 8, "i_outer: block.x, j_outer: block.y"),
        (8 * 65535 + 1, 32 * 65535 + 1, "j_outer: block.x, i_near: block.y, i_far: block.z"),
    ] {
        let found = found(&kernel, &Launch::of([("m", m), ("n", n)]));
        assert!(found.to_string().contains(tags), "{m} x {n}\n{found}");
    }
    check_scale(&found(&kernel, &Launch::of([("m", 600_000), ("n", 2)])), 600_000, 2);
    // The kernel's own assumptions say it as well.
    let bounded = parsed(&SCALE.replace("0 <= m and", "0 <= m and m <= 524280 and"));
    assert!(auto(&bounded, &Target::default()).to_string().contains("i_outer: block.y"));
    let bounded = parsed(&SCALE.replace("0 <= m and", "0 <= m and m <= 524281 and"));
    assert!(auto(&bounded, &Target::default()).to_string().contains("i_near: block.y"));
}

/// The same of loops around rows, of transposes, and of products of many rows.
#[test]
fn other_forms_of_any_height_can_be_launched() {
    let batches = "kernel sums(x: f32[b, m, n], out: f32[b, m], b: i32, m: i32, n: i32)\n\
                   assume 0 <= b and 0 <= m and 0 <= n\n\
                   domain { [a, r] : 0 <= a < b and 0 <= r < m }\n\
                   domain { [i] : 0 <= i < n }\n\
                   out[a, r] = sum(i, x[a, r, i])\n";
    let of_batches = found(&parsed(batches), &Launch::default());
    assert!(of_batches.to_string().contains("a_near: block.y, a_far: block.z"), "{of_batches}");
    for b in [65535usize, 65536] {
        let x = numbers(&[b, 1, 2]);
        let sums: Vec<f64> = x.to_f64().chunks(2).map(|row| row[0] + row[1]).collect();
        assert_eq!(ran(&of_batches, &Args::new().tensor("x", &x)).get("out").expect("sums").to_f64(), sums);
    }
    let turn = "kernel turn(a: f32[m, n], b: f32[n, m], m: i32, n: i32)\n\
                assume 0 <= m and 0 <= n\n\
                domain { [j, i] : 0 <= j < n and 0 <= i < m }\n\
                b[j, i] = a[i, j]\n";
    let turned = found(&parsed(turn), &Launch::default());
    let n = 32 * 65535 + 1;
    let x = numbers(&[1, n]);
    assert_eq!(ran(&turned, &Args::new().tensor("a", &x)).get("b").expect("turned").to_f64(), x.to_f64());
    let product = "kernel product(a: f32[m, l], b: f32[l, n], c: f32[m, n], m: i32, n: i32, l: i32)\n\
                   assume 0 <= m and 0 <= n and 0 <= l\n\
                   domain { [i, j] : 0 <= i < m and 0 <= j < n }\n\
                   domain { [k] : 0 <= k < l }\n\
                   c[i, j] = sum(k, a[i, k]*b[k, j])\n";
    let plain = found(&parsed(product), &Launch::default()).to_string();
    assert!(
        plain.contains("the grid has room for 8388480 `i`") && plain.contains("i_outer: block.y"),
        "{plain}"
    );
    let tall = found(&parsed(product), &Launch::of([("m", 1 << 24), ("n", 16), ("l", 16)]));
    assert!(tall.to_string().contains("i_outer: block.x"), "{tall}");
}

const SUMS: &str = "kernel sums(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)\n\
                    assume 0 <= nseg and 0 <= len\n\
                    domain { [s] : 0 <= s < nseg }\n\
                    domain { [i] : 0 <= i < len }\n\
                    out[s] = sum(i, x[s, i]) {id=total}\n";

fn check_sums(found: &Found, rows: usize, length: usize) {
    let x = numbers(&[rows, length]);
    let sums: Vec<f64> = x.to_f64().chunks(length).map(|row| row.iter().sum()).collect();
    let outputs = ran(found, &Args::new().tensor("x", &x));
    assert_eq!(outputs.get("out").expect("an output").to_f64(), sums, "{rows} rows of {length}\n{found}");
}

/// Rows of every kind of length, aligned and not, known by the launch alone and in every launch.
#[test]
fn rows_of_all_lengths_are_summed_as_declared() {
    let kernel = parsed(SUMS);
    for length in
        [1, 2, 3, 5, 8, 16, 17, 33, 36, 50, 64, 65, 100, 131, 225, 512, 601, 766, 1000, 1001, 2048, 4097]
    {
        let rows = (20_000 / length).clamp(3, 700);
        for count in [rows, 1 << 20] {
            let launch = Launch::of([("nseg", count as i64), ("len", length as i64)]);
            check_sums(&found(&kernel, &launch), rows, length);
            let assumed = Pipeline::parse(&format!("assume(len = {length})")).and_then(|p| p.apply(&kernel));
            check_sums(&found(&assumed.expect("an assumption"), &launch), rows, length);
        }
    }
}

/// Partial results have room for the rows that there are, not for all blocks of a grid: 8 GB, here.
#[test]
fn few_rows_have_few_partial_results() {
    let kernel = parsed(SUMS);
    let found = auto(&kernel, &Target::default());
    assert!(found.to_string().contains("s_far"), "{found}");
    check_sums(&found, 1, 1 << 22);
    check_sums(&found, 33, 5000);
}

/// A search for a launch begins with what is found for it, and keeps it if nothing is cheaper.
#[test]
fn searches_begin_with_what_is_found_for_the_launch() {
    let (kernel, target) = (parsed(SUMS), Target::default());
    for (rows, length) in [(8, 262_144), (64, 65_536), (1 << 20, 20)] {
        let launch = Launch::of([("nseg", rows), ("len", length)]);
        let expected = auto_for(&kernel, &target, &launch);
        let mut cost = |kernel: &LoopKernel| Some(if *kernel == expected.kernel { 1.0 } else { 2.0 });
        let searched = search_for(&kernel, &target, &launch, 6, &mut || true, &mut cost);
        assert_eq!((&searched.found.pipeline, searched.by_rules), (&expected.pipeline, Some(1.0)));
        assert!(searched.candidates > 1, "{rows} rows of {length}");
    }
}

/// What would change nothing is not said to make anything better; what would, is.
#[test]
fn wishes_that_come_to_nothing_are_left_out() {
    let better = |text: &str| {
        let (kernel, target, launch) = (parsed(text), Target::default(), Launch::default());
        let found = auto_for(&kernel, &target, &launch);
        let tried = found.clone().with_wishes_tried(&kernel, &target, &launch);
        [found, tried].map(|found| found.decisions.iter().map(|d| d.better.len()).sum::<usize>())
    };
    let solve = "kernel trsm(l: f32[n, n], b: f32[n, m], n: i32, m: i32)\n\
                 assume 0 <= n and 0 <= m\n\
                 domain { [i] : 0 <= i < n }\n\
                 domain { [c] : 0 <= c < m }\n\
                 domain { [k] : 0 <= k < i }\n\
                 b[i, c] = (b[i, c] - sum(k, l[i, k]*b[k, c]))/l[i, i] {id=solve}\n";
    assert_eq!(better(solve), [1, 0]);
    assert_eq!(better(SUMS), [1, 1]);
}

/// A kernel that lowering refuses, whatever the steps, says so.
#[test]
fn the_reason_for_no_rule_names_what_lowering_refuses() {
    let text = "kernel two(x: f32[n], z: f32[n], n: i32)\n\
                assume 0 <= n\n\
                temp y: f32[n]\n\
                domain { [i] : 0 <= i < n }\n\
                domain { [j] : 0 <= j < n }\n\
                y[i] = 2*x[i] {id=first}\n\
                z[j] = 3*y[j] {id=second}\n";
    let found = auto(&parsed(text), &Target::default());
    assert_eq!(found.decisions[0].rule, None);
    assert!(found.decisions[0].reason.contains("`y`"), "{found}");
}

/// What is assumed of a launch is what vectors need, and nothing where there are none.
#[test]
fn launches_of_whole_vectors_assume_so() {
    let kernel = parsed(SUMS);
    let first = |length: i64| {
        let found = found(&kernel, &Launch::of([("nseg", 1 << 20), ("len", length)]));
        found.pipeline.steps()[0].to_string()
    };
    assert_eq!(first(64), "assume(len mod 4 = 0)");
    assert_eq!(first(202), "assume(len mod 2 = 0)");
    assert!(first(201).starts_with("split_iname"), "{}", first(201));
    // The copy of rows that are short and not aligned has one size.
    assert_eq!((first(66), first(67)), ("fix_parameters(len=66)".into(), "fix_parameters(len=67)".into()));
    // Unless the launch is known, no length is.
    let unknown = found(&kernel, &Launch::default());
    assert!(unknown.decisions[0].better[0].to_string().contains("assume(len % 4 = 0)"), "{unknown}");
    // A launch of whole vectors runs the pipeline of another one, and others are refused.
    let found = found(&kernel, &Launch::of([("nseg", 1 << 20), ("len", 64)]));
    check_sums(&found, 5, 128);
    let refused = Device::emulator()
        .compile(&found.kernel)
        .and_then(|compiled| compiled.run(&Args::new().tensor("x", &numbers(&[5, 63]))));
    assert!(refused.is_err_and(|d| d.to_string().contains("len mod 4 = 0")));
}

/// Fewer rows than fill the device with a block each are divided among more blocks; where larger
/// blocks fill it, they do.
#[test]
fn few_long_rows_are_divided() {
    let kernel = parsed(SUMS);
    let of = |rows: i64, length: i64| found(&kernel, &Launch::of([("nseg", rows), ("len", length)]));
    let reason = |found: &Found| found.decisions.last().map(|d| d.reason.clone()).unwrap_or_default();
    let few = of(64, 1 << 22);
    assert!(
        reason(&few).starts_with("rows are long, and too few for the device, 64: blocks take 8192 points"),
        "{few}"
    );
    // With fewer points in all, chunks are smaller, so that all multiprocessors have blocks.
    let less = of(4, 1 << 18);
    assert!(reason(&less).contains("blocks take 4096 points"), "{less}");
    check_sums(&less, 3, (1 << 15) + 4);
    // Longer rows than an axis of the grid has room for in chunks of this size.
    let longest = of(1, 8192 * 65535);
    assert!(reason(&longest).contains("blocks take 8192 points"), "{longest}");
    let longest = of(1, 8192 * 65535 + 4);
    assert!(reason(&longest).contains("blocks take 16384 points"), "{longest}");
    let longest = of(1, 1 << 31);
    assert!(reason(&longest).contains("blocks take 65536 points"), "{longest}");
    for (rows, threads) in [(100_000, 512), (1024, 256), (512, 512), (256, 1024)] {
        let block = of(rows, 1 << 18);
        assert!(reason(&block).starts_with(&format!("a block of {threads} threads for each row")), "{block}");
    }
    // A device of fewer multiprocessors is filled by fewer rows.
    let small = Launch { multiprocessors: 8, ..Launch::of([("nseg", 64), ("len", 1 << 22)]) };
    let small = found(&kernel, &small);
    assert!(reason(&small).starts_with("a block of 512 threads for each row"), "{small}");
    // Short rows are not worth a second launch, however few; longer ones are not if nearly all of
    // the device has a block.
    let short = of(8, 4096);
    assert!(reason(&short).starts_with("a block of 1024 threads for each row"), "{short}");
    check_sums(&short, 8, 4096);
    // Where each multiprocessor has a block or two, even shorter rows get one each; where the
    // device holds all threads at once, a warp.
    let shorter = of(128, 512);
    assert!(reason(&shorter).starts_with("a block of 128 threads for each row of 512"), "{shorter}");
    check_sums(&shorter, 5, 512);
    for (rows, lanes, of_block) in [(2048, 32, 4), (8192, 32, 4), (16_384, 32, 8), (1 << 19, 16, 16)] {
        let shorter = of(rows, 512);
        let expected = format!(
            "rows of 512 are short: {lanes} lanes for each, in whole vectors of 4, {of_block} rows a block"
        );
        assert!(reason(&shorter).starts_with(&expected), "{shorter}");
        check_sums(&shorter, 5, 512);
    }
    for (rows, longest) in [(16, 1 << 16), (64, 1 << 16), (132, 1 << 16), (200, 1 << 18)] {
        let (block, chunks) = (of(rows, longest), of(rows, 2 * longest));
        assert!(reason(&block).starts_with("a block of 1024 threads"), "{block}");
        assert!(reason(&chunks).contains("too few for the device"), "{chunks}");
        assert!(block.to_string().contains("assume(len mod 4 = 0)"), "{block}");
    }
}

/// Results that are small beside what is read are stored in waves, whatever the kernel computes, if
/// the cache has to give something up and there are enough of them.
#[test]
fn results_of_short_rows_are_stored_in_waves() {
    let hints = |text: &str, launch: &Launch| {
        let found = found(&parsed(text), launch);
        let steps = found.pipeline.steps().iter().map(ToString::to_string);
        steps.filter(|s| s.starts_with("cache_")).collect::<Vec<String>>()
    };
    let products = "kernel products(a: f32[m, n], w: f32[n], y: f32[m], m: i32, n: i32)\n\
                    assume 0 <= m and 0 <= n\n\
                    domain { [r] : 0 <= r < m }\n\
                    domain { [k] : 0 <= k < n }\n\
                    y[r] = sum(k, a[r, k]*w[k])\n";
    let launch = |m: i64, n: i64| Launch::of([("m", m), ("n", n)]);
    // A sixth of 50 MB are seven windows of 297,619 f32, in lines of 128.
    assert_eq!(hints(products, &launch(1 << 24, 16)), ["cache_waves(y, window=297600, windows=8)"]);
    // Three waves and a half of 2^22 results.
    assert_eq!(hints(products, &launch(1 << 22, 64)), ["cache_waves(y, window=149760, windows=8)"]);
    let large = Launch { cache: 2 << 30, ..launch(1 << 24, 16) };
    assert!(hints(products, &large).is_empty(), "the cache holds everything");
    assert!(hints(products, &launch(1 << 16, 4096)).is_empty(), "results are few");
    assert!(hints(products, &launch(1 << 27, 1)).is_empty(), "results are as large as what is read");
    // Two results of a row: the elements go first, if the cache holds the results.
    let both = products
        .replace("y: f32[m]", "y: f32[m], z: f32[m]")
        .replace("y[r] = sum(k, a[r, k]*w[k])", "y[r], z[r] = argmax(k, a[r, k], cast(f32, k))");
    assert_eq!(hints(&both, &launch(1 << 20, 256)), ["cache_streaming(a)"]);
    assert!(hints(&both, &launch(1 << 23, 32)).is_empty());
}

/// Where nothing is known of a launch, rows are summed as declared whatever their length, and by
/// the static cost of 2^28 elements on an H200 in no more than three times what is found for the
/// length.
#[test]
fn rows_of_unknown_length_are_nowhere_far_from_the_fastest() {
    let kernel = parsed(SUMS);
    let unknown = found(&kernel, &Launch::default());
    for (rows, length) in [(70, 16), (33, 129), (3, 9000), (1, 4096), (5, 1)] {
        check_sums(&unknown, rows, length);
    }
    for length in [16usize, 128, 1024, 1 << 14, 1 << 18, 1 << 24] {
        let problem = [("nseg", (1i64 << 28) / length as i64), ("len", length as i64)];
        let small = length.min(1 << 16);
        let x = numbers(&[((1 << 17) / small).min(512), small]);
        let problem_by_name = problem.map(|(name, n)| (Name::new(name), n)).into();
        let cost = |found: &Found| {
            let args = Args::new().tensor("x", &x);
            estimate_at(&found.kernel, &args, &problem_by_name, &Machine::h200()).expect("a cost").estimate_ms
        };
        let (any, known) = (cost(&unknown), cost(&found(&kernel, &Launch::of(problem))));
        assert!(any < 3.0 * known, "{length}: {any} ms and {known} ms");
    }
}

/// Chunks of segments whose number of points the launch tells are as many as the device holds
/// warps.
#[test]
fn chunks_of_segments_follow_the_launch() {
    let kernel = parsed(
        "kernel ragged(x: f32[n], offsets: i32[nseg + 1], out: f32[nseg], n: i32, nseg: i32)\n\
         assume 0 <= n and 0 <= nseg\n\
         fact monotone(offsets)\n\
         fact 0 <= offsets <= n\n\
         domain { [s] : 0 <= s < nseg }\n\
         domain { [i] : lo <= i < hi }\n\
         temp lo: i32 private\n\
         temp hi: i32 private\n\
         lo = offsets[s] {id=load_lo}\n\
         hi = offsets[s + 1] {id=load_hi}\n\
         out[s] = sum(i, x[i]) {id=total}\n",
    );
    // 132 multiprocessors with five blocks of four warps, which take tiles of 32 * 32 points: 270.5
    // million steps are 101 of each, of which 92 and 6 per cent are taken. Segments of a point on
    // average are for eight blocks with half as many points.
    for (n, steps) in [
        (
            1i64 << 28,
            "cache_streaming(x)\n\
             flatten_ragged(s, i, threads=128, items=32, tiles=93, full_chunks=2640, tail_tiles=6)\n",
        ),
        (1000, "flatten_ragged(s, i, threads=128, items=16, tiles=1)\n"),
    ] {
        let found = found(&kernel, &Launch::of([("n", n), ("nseg", 1 << 20)]));
        assert_eq!(found.pipeline.to_string(), steps);
    }
    // A giant among short segments, and none that is longer than a chunk.
    let of = |longest: i64| {
        let longest = [(Name::new("i"), longest)].into();
        let launch = Launch { longest, ..Launch::of([("n", 1 << 28), ("nseg", 1 << 26)]) };
        found(&kernel, &launch).pipeline.to_string()
    };
    assert!(of(1 << 27).contains("items=16, tiles=63)"), "{}", of(1 << 27));
    assert!(of(8).contains("items=16, tiles=187)"), "{}", of(8));
}

/// Attention in two statements: the second divides what is a product by what belongs to its row.
#[test]
fn statements_of_attention_are_products() {
    let kernel = parsed(
        "kernel s(q: f32[n, d], k: f32[m, d], v: f32[m, d], o: f32[n, d], n: i32, m: i32, d: i32)\n\
         assume d >= 0 and m >= 1\n\
         domain { [i] : 0 <= i < n }\n\
         domain { [j] : 0 <= j < m }\n\
         domain { [e] : 0 <= e < d }\n\
         domain { [j2] : 0 <= j2 < m }\n\
         domain { [j3] : 0 <= j3 < m }\n\
         domain { [e2] : 0 <= e2 < d }\n\
         temp s: f32[n, m] global\n\
         s[i, j] = sum(e, q[i, e]*k[j, e])\n\
         o[i, e2] = sum(j2, exp(s[i, j2])*v[j2, e2])/sum(j3, exp(s[i, j3]))\n",
    );
    let found = found(&kernel, &Launch::default());
    let rules: Vec<Option<&str>> = found.decisions.iter().map(|d| d.rule).collect();
    assert_eq!(rules, [Some("apart"), Some("product"), Some("product")], "{found}");
    // What both sums read of `s` is copied, each by itself.
    let tiles = found.kernel.temporaries.iter().filter(|t| t.name.starts_with("s_")).count();
    assert!(tiles >= 2, "{found}\n{}", found.kernel);
    let (n, m, d) = (70usize, 45usize, 37usize);
    let small = |shape: &[usize], seed: u64| Tensor::random(shape, DType::F32, seed).expect("a tensor");
    let (q, k, v) = (small(&[n, d], 1), small(&[m, d], 2), small(&[m, d], 3));
    let outputs = ran(&found, &Args::new().tensor("q", &q).tensor("k", &k).tensor("v", &v));
    let got = outputs.get("o").expect("an output").to_f64();
    let (q, k, v) = (q.to_f64(), k.to_f64(), v.to_f64());
    for i in 0..n {
        let dot = |j: usize| (0..d).map(|e| q[i * d + e] * k[j * d + e]).sum::<f64>().exp();
        let weights: Vec<f64> = (0..m).map(dot).collect();
        let total: f64 = weights.iter().sum();
        for e in 0..d {
            let expected = weights.iter().enumerate().map(|(j, w)| w * v[j * d + e]).sum::<f64>() / total;
            assert!((got[i * d + e] - expected).abs() < 1e-4, "{i}, {e}: {} and {expected}", got[i * d + e]);
        }
    }
}

/// A single long row, and a few of them, are scanned by blocks that look back; of 4096 points, one
/// block is as fast.
#[test]
fn long_rows_are_scanned_across_blocks() {
    let kernel = |rows: &str, of: &str| {
        parsed(&format!(
            "kernel cumsum(x: f32[{rows}n], out: f32[{rows}n], m: i32, n: i32)\n\
             assume 0 <= m and 0 <= n\n\
             domain {{ [s] : 0 <= s < m }}\n\
             domain {{ [i] : 0 <= i < n }}\n\
             domain {{ [j] : 0 <= j <= i }}\n\
             out[{of}i] = sum(j, x[{of}j]) {{id=scan}}\n"
        ))
    };
    let of = |n: i64, m: i64| Launch::of([("n", n), ("m", m)]);
    for (rows, at, m) in [("", "", 1), ("m, ", "s, ", 3)] {
        let kernel = kernel(rows, at);
        for (n, text) in
            [(1 << 20, "vec=4)\nswizzle(x_tile, 3, 2, 3)"), (1_000_003, "i_own])\nswizzle(x_tile, 5, 0, 5)")]
        {
            let across = found(&kernel, &of(n, m));
            let found = across.to_string();
            assert!(found.contains("i_outer: block.x") && found.contains(text), "{found}");
            let length = if n % 4 == 0 { 9000 } else { 9001 };
            let shape = if m == 1 { vec![length] } else { vec![m as usize, length] };
            let x = numbers(&shape);
            let outputs = ran(&across, &Args::new().tensor("x", &x).scalar("m", m as i32));
            let x = x.to_f64();
            let wanted: Vec<f64> = x
                .chunks(length)
                .flat_map(|row| {
                    row.iter().scan(0.0, |sum, v| {
                        *sum += v;
                        Some(*sum)
                    })
                })
                .collect();
            assert_eq!(outputs.get("out").expect("an output").to_f64(), wanted, "{found}");
        }
        let short = found(&kernel, &of(4096, m)).to_string();
        assert!(!short.contains("block.x") || !short.contains("i_outer: block"), "{short}");
    }
    // Rows enough for all multiprocessors.
    let many = found(&kernel("m, ", "s, "), &of(1 << 20, 132)).to_string();
    assert!(!many.contains("i_outer: block"), "{many}");
}

/// The chunk of a block's own copy follows the number of updates; of few, or of more elements than
/// shared memory holds, there is none.
#[test]
fn updates_are_private_where_they_are_many() {
    let kernel = parsed(
        "kernel sums(keys: i32[n], x: f32[n], out: f32[bins], n: i32, bins: i32)\n\
         fact 0 <= keys < bins\n\
         assume 0 <= n and 1 <= bins\n\
         domain { [i] : 0 <= i < n }\n\
         out[keys[i]] += x[i] {id=add}\n",
    );
    let of = |n: i64, bins: i64| found(&kernel, &Launch::of([("n", n), ("bins", bins)]));
    let chunk = |found: &Found| {
        let text = found.to_string();
        let rest = text.split_once("chunk=").map(|(_, rest)| rest.to_string());
        rest.and_then(|rest| rest.split(',').next().and_then(|n| n.parse::<i64>().ok()))
    };
    // 64 updates for each element; as many blocks as are resident; two for each multiprocessor.
    assert_eq!(chunk(&of(1 << 24, 256)), Some(16384));
    assert_eq!(chunk(&of(1 << 28, 256)), Some(254_976));
    assert_eq!(chunk(&of(1 << 20, 256)), Some(4096));
    assert_eq!(chunk(&of(1 << 20, 65536)), None);
    assert_eq!(chunk(&of(1 << 16, 4096)), None);
    let found = of(1 << 20, 7);
    let text = found.to_string();
    assert!(text.contains("fix_parameters(bins=7)\n"), "{text}");
    let x = numbers(&[5000]);
    let keys: Vec<i32> = (0..5000).map(|k| (k * k) % 7).collect();
    let keyed = Tensor::from_vec(&[5000], keys.clone()).expect("a tensor");
    let zeros = Tensor::from_vec(&[7], vec![0.0f32; 7]).expect("a tensor");
    let args = Args::new().tensor("keys", &keyed).tensor("x", &x).tensor("out", &zeros);
    let mut wanted = [0.0; 7];
    for (key, value) in keys.iter().zip(x.to_f64()) {
        wanted[*key as usize] += value;
    }
    assert_eq!(ran(&found, &args).get("out").expect("an output").to_f64(), wanted, "{text}");
}

/// Statements along rows that are few and long have several blocks for each row, apart from one
/// another. Where a block for each row is about as fast, one launch does all.
#[test]
fn few_long_rows_are_taken_apart() {
    let kernel = parsed(
        "kernel shifted(x: f32[m, n], y: f32[m, n], m: i32, n: i32)\n\
         assume 0 <= m and 1 <= n\n\
         domain { [r] : 0 <= r < m }\n\
         domain { [i] : 0 <= i < n }\n\
         domain { [k] : 0 <= k < n }\n\
         domain { [j] : 0 <= j < n }\n\
         temp top: f32 private\n\
         temp total: f32 private\n\
         top = max(i, x[r, i]) {id=largest}\n\
         total = sum(k, top - x[r, k]) {id=differences}\n\
         y[r, j] = total - x[r, j] {id=shift}\n",
    );
    let launch = |m: i64, n: i64| Launch::of([("m", m), ("n", n)]);
    let apart = "privatize_temporary(total, [r])\ndistribute(r)\n";
    for (m, n, is_apart) in [
        (4, 1 << 16, true),
        (64, 1 << 16, false),
        (64, 1 << 18, true),
        (264, 1 << 18, false),
        (4096, 1 << 14, false),
    ] {
        let text = found(&kernel, &launch(m, n)).to_string();
        assert_eq!(text.contains(apart), is_apart, "{m} {n}: {text}");
    }
    let found = found(&kernel, &launch(2, 1 << 22));
    assert!(found.to_string().contains("their partial results are joined"), "{found}");
    let (m, n) = (3, 20000);
    let x = numbers(&[m, n]);
    let outputs = ran(&found, &Args::new().tensor("x", &x));
    let wanted: Vec<f64> = x
        .to_f64()
        .chunks(n)
        .flat_map(|row| {
            let top = row.iter().copied().fold(f64::MIN, f64::max);
            let total: f64 = row.iter().map(|v| top - v).sum();
            row.iter().map(move |v| total - v).collect::<Vec<f64>>()
        })
        .collect();
    assert_eq!(outputs.get("y").expect("an output").to_f64(), wanted, "{found}");
}

/// As many threads for a row as load it with several loads in flight, if there are many rows.
#[test]
fn long_rows_of_several_loops_have_more_threads() {
    let kernel = parsed(
        "kernel centred(x: f32[m, n], y: f32[m, n], m: i32, n: i32)\n\
         assume 0 <= m and 1 <= n\n\
         domain { [r] : 0 <= r < m }\n\
         domain { [i] : 0 <= i < n }\n\
         domain { [j] : 0 <= j < n }\n\
         temp total: f32 private\n\
         total = sum(i, x[r, i]) {id=total}\n\
         y[r, j] = x[r, j] - total/n {id=centre}\n",
    );
    for (m, n, of_block) in [(4096, 16384, 4096), (8192, 8192, 2048), (65536, 1024, 256), (256, 4096, 4096)] {
        let text = found(&kernel, &Launch::of([("m", m), ("n", n)])).to_string();
        assert!(text.contains(&format!("split_iname(i, {of_block})\n")), "{m} {n}: {text}");
    }
}

/// Columns that do not fill a warp are scanned by blocks along them; a window of five terms is a
/// thread's, whatever the length of what it moves over.
#[test]
fn narrow_columns_and_windows_are_seen() {
    let text = "kernel columns(x: f32[n, m], y: f32[n, m], n: i32, m: i32)\n\
                assume 0 <= n and 0 <= m\n\
                domain { [j] : 0 <= j < m }\n\
                domain { [i] : 0 <= i < n }\n\
                domain { [k] : 0 <= k <= i }\n\
                y[i, j] = max(k, x[k, j]) {id=run}\n";
    let (n, m) = (4099usize, 7usize);
    let found = self::found(&parsed(text), &Launch::of([("n", n as i64), ("m", m as i64)]));
    assert!(found.kernel.tag("i_outer").is_over_blocks(), "{found}");
    let x = numbers(&[n, m]);
    let (values, mut greatest) = (x.to_f64(), vec![f64::NEG_INFINITY; m]);
    let wanted: Vec<f64> = (0..n * m)
        .map(|at| {
            greatest[at % m] = greatest[at % m].max(values[at]);
            greatest[at % m]
        })
        .collect();
    let outputs = ran(&found, &Args::new().tensor("x", &x));
    assert_eq!(outputs.get("y").expect("an output").to_f64(), wanted, "{found}");

    let text = "kernel windows(x: f32[n + w], y: f32[n], n: i32, w: i32)\n\
                assume 0 <= n and 0 <= w\n\
                domain { [i] : 0 <= i < n }\n\
                domain { [k] : i <= k < i + w }\n\
                y[i] = sum(k, x[k]) {id=sums}\n";
    let found = self::found(&parsed(text), &Launch::of([("n", 4000), ("w", 5)]));
    assert!(!found.kernel.tag("k").is_parallel(), "{found}");
    let x = numbers(&[4005]);
    let wanted: Vec<f64> = x.to_f64().windows(5).take(4000).map(|terms| terms.iter().sum()).collect();
    let outputs = ran(&found, &Args::new().tensor("x", &x).scalar("w", 5).scalar("n", 4000));
    assert_eq!(outputs.get("y").expect("an output").to_f64(), wanted, "{found}");
}

/// Two sums of the same rows are one nest if the launch has many rows; what is found about a row is
/// used in the same nest, unless the rows are few.
#[test]
fn nests_over_the_same_rows_become_one() {
    let sums = "kernel two_sums(x: f32[m, n], a: f32[m], b: f32[m], m: i32, n: i32)\n\
                assume 0 <= m and 0 <= n\n\
                domain { [r] : 0 <= r < m }\n\
                domain { [i] : 0 <= i < n }\n\
                domain { [s] : 0 <= s < m }\n\
                domain { [k] : 0 <= k < n }\n\
                a[r] = sum(i, x[r, i]) {id=sums}\n\
                b[s] = sum(k, x[s, k]*x[s, k]) {id=squares}\n";
    let center = "kernel center(x: f32[m, n], y: f32[m, n], m: i32, n: i32)\n\
                  assume 0 <= m and 1 <= n\n\
                  domain { [r] : 0 <= r < m }\n\
                  domain { [i] : 0 <= i < n }\n\
                  domain { [p, q] : 0 <= p < m and 0 <= q < n }\n\
                  temp mean: f32[m] global\n\
                  mean[r] = sum(i, x[r, i]) / n {id=average}\n\
                  y[p, q] = x[p, q] - mean[p] {id=centered}\n";
    let many = Launch::of([("m", 65_536), ("n", 4097)]);
    let few = Launch::of([("m", 3), ("n", 1 << 24)]);
    let cases = [
        (sums, &Launch::default(), false),
        (sums, &many, true),
        (sums, &few, false),
        (center, &Launch::default(), true),
        (center, &many, true),
        (center, &few, false),
    ];
    for (text, launch, is_fused) in cases {
        let found = self::found(&parsed(text), launch);
        assert_eq!(found.decisions[0].rule == Some("fused"), is_fused, "{launch:?}\n{found}");
    }
    let (m, n) = (7usize, 300usize);
    let (x, found) = (numbers(&[m, n]), self::found(&parsed(sums), &many));
    let outputs = ran(&found, &Args::new().tensor("x", &x));
    for (name, of) in [("a", (|v| v) as fn(f64) -> f64), ("b", |v| v * v)] {
        let wanted: Vec<f64> = x.to_f64().chunks(n).map(|row| row.iter().map(|v| of(*v)).sum()).collect();
        assert_eq!(outputs.get(name).expect("an output").to_f64(), wanted, "{found}");
    }
}

/// Several scans in one nest, and several loops down the same columns, have forms and are right.
#[test]
fn scans_share_a_nest_and_loops_go_down_columns() {
    let scans = "kernel scans(x: f32[m, n], a: f32[m, n], b: f32[m, n], m: i32, n: i32)\n\
                 assume 1 <= m and 0 <= n\n\
                 domain { [s] : 0 <= s < m }\n\
                 domain { [i] : 0 <= i < n }\n\
                 domain { [j] : 0 <= j <= i }\n\
                 domain { [k] : 0 <= k <= i }\n\
                 a[s, i] = sum(j, x[s, j]) {id=first}\n\
                 b[s, i] = max(k, x[s, k]) {id=second}\n";
    let (m, n) = (11usize, 75usize);
    let x = numbers(&[m, n]);
    let found = self::found(&parsed(scans), &Launch::default());
    assert_eq!(found.decisions[0].rule, Some("scan"), "{found}");
    let outputs = ran(&found, &Args::new().tensor("x", &x));
    let carried = |of: fn(f64, f64) -> f64, first: f64| -> Vec<f64> {
        let rows = x.to_f64();
        let row = |row: &[f64]| {
            let carry = |state: &mut f64, v: &f64| {
                *state = of(*state, *v);
                Some(*state)
            };
            row.iter().scan(first, carry).collect::<Vec<f64>>()
        };
        rows.chunks(n).flat_map(row).collect()
    };
    assert_eq!(outputs.get("a").expect("an output").to_f64(), carried(|a, b| a + b, 0.0), "{found}");
    let greatest = carried(f64::max, f64::NEG_INFINITY);
    assert_eq!(outputs.get("b").expect("an output").to_f64(), greatest, "{found}");

    let columns = "kernel centered(x: f32[m, n], y: f32[m, n], m: i32, n: i32)\n\
                   assume 1 <= m and 0 <= n\n\
                   domain { [c] : 0 <= c < n }\n\
                   domain { [i] : 0 <= i < m }\n\
                   domain { [j] : 0 <= j < m }\n\
                   temp top: f32 private\n\
                   top = max(i, x[i, c]) {id=largest}\n\
                   y[j, c] = x[j, c] - top {id=below}\n";
    let found = self::found(&parsed(columns), &Launch::default());
    assert_eq!(found.decisions[0].rule, Some("strips"), "{found}");
    let outputs = ran(&found, &Args::new().tensor("x", &x));
    let values = x.to_f64();
    let top = |c: usize| (0..m).map(|r| values[r * n + c]).fold(f64::NEG_INFINITY, f64::max);
    let wanted: Vec<f64> = values.iter().enumerate().map(|(at, v)| v - top(at % n)).collect();
    assert_eq!(outputs.get("y").expect("an output").to_f64(), wanted, "{found}");
}
