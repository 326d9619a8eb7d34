//! Products: which tiles a launch gets, and that what is computed is what is declared.

use loopwright::{
    auto::{Found, Launch, auto, auto_for},
    prelude::*,
    runtime::{
        Arch,
        nvrtc::{self, CompileError, CompileOptions},
    },
};

use crate::auto_launch::{found, numbers, parsed, ran};

pub(crate) const PRODUCT: &str = "kernel product(a: f32[m, l], b: f32[l, n], c: f32[m, n], m: i32, n: i32, l: i32)\n\
                       assume 0 <= m and 0 <= n and 0 <= l\n\
                       domain { [i, j] : 0 <= i < m and 0 <= j < n }\n\
                       domain { [k] : 0 <= k < l }\n\
                       c[i, j] = sum(k, a[i, k]*b[k, j]) {id=product}\n";

/// Of whole tiles, later ones are copied while one is multiplied. What is assumed for that, and for
/// nothing else, is not where the steps that need it are refused.
#[test]
fn products_of_whole_tiles_are_copied_ahead() {
    let kernel = parsed(PRODUCT);
    // Two blocks, which one multiprocessor holds.
    let launch = |l: i64| Launch { multiprocessors: 1, ..Launch::of([("m", 256), ("n", 128), ("l", l)]) };
    let whole = found(&kernel, &launch(80));
    let text = whole.to_string();
    let begin = "# launch: loops consist of whole tiles in the launch that is meant\n\
                 assume(m mod 128 = 0 and n mod 128 = 0 and l mod 16 = 0)\n";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.contains("pipeline(k_outer, [a_tile, b_tile], stages=3)\n"), "{text}");
    check(&whole, [["m, l", "i, k"], ["l, n", "k, j"]], [256, 128, 80], "f32", &text);

    let plain = found(&kernel, &launch(88));
    assert_eq!(plain.pipeline, auto(&kernel, &Target::default()).pipeline);
    // 64 KiB of shared memory hold no results beside the slots.
    let small = Target { dynamic_shared: 64 << 10, ..Target::default() };
    let text = auto_for(&kernel, &small, &launch(80)).to_string();
    assert!(!text.contains("assume(") && !text.contains("pipeline("), "{text}");
    // A name that one of the steps would give.
    let taken = PRODUCT.replace(", m: i32", ", k_quarter: f32, m: i32").replace("sum(", "k_quarter*sum(");
    let taken = parsed(&taken);
    assert_eq!(found(&taken, &launch(80)).pipeline, auto(&taken, &Target::default()).pipeline);
}

/// A product of matrices, each given by its lengths and its subscripts, of elements of this type.
fn product(a: [&str; 2], b: [&str; 2], dtype: &str, assumed: &str) -> LoopKernel {
    let ([a, at], [b, bt]) = (a, b);
    let (left, right) = match dtype {
        "bf16" => (format!("cast(f32, a[{at}])"), format!("cast(f32, b[{bt}])")),
        _ => (format!("a[{at}]"), format!("b[{bt}]")),
    };
    let sum = format!("sum(k, {left}*{right})");
    let sum = if dtype == "bf16" { format!("cast(bf16, {sum})") } else { sum };
    parsed(&format!(
        "kernel product(a: {dtype}[{a}], b: {dtype}[{b}], c: {dtype}[m, n], m: i32, n: i32, l: i32)\n\
         assume 0 <= m and 0 <= n and 0 <= l{assumed}\n\
         domain {{ [i, j] : 0 <= i < m and 0 <= j < n }}\n\
         domain {{ [k] : 0 <= k < l }}\n\
         c[i, j] = {sum} {{id=product}}\n"
    ))
}

/// On tensor cores, fragments are loaded a step ahead as well, if there are enough blocks.
#[test]
fn products_of_fragments_are_loaded_ahead() {
    let ahead = "prefetch_fragments(product)\n";
    let kernel = product(["m, l", "i, k"], ["n, l", "j, k"], "bf16", " and l % 8 = 0");
    let text_for = |n: i64| {
        let launch = Launch::of([("m", 2048), ("n", n), ("l", 128)]);
        auto_for(&kernel, &Target::default(), &launch).to_string()
    };
    let whole = text_for(2048);
    let begin = "# launch: loops consist of whole tiles in the launch that is meant\n\
                 assume(m mod 2048 = 0 and n mod 128 = 0 and l mod 64 = 0)\n";
    assert!(whole.starts_with(begin) && whole.contains(ahead), "{whole}");
    // Eight blocks would leave most of the device idle.
    let few = text_for(128);
    assert!(few.contains("split_iname(i, 32)\n") && !few.contains(ahead), "{few}");
    // Of six rows of blocks, two are taken together.
    let launch = Launch::of([("m", 1536), ("n", 2816), ("l", 128)]);
    let six = auto_for(&kernel, &Target::default(), &launch).to_string();
    assert!(six.contains("split_iname(i_outer, 2, ") && six.contains("assume(m mod 512 = 0"), "{six}");

    // Rows of tiles are as long as factors lie.
    let turned = product(["l, m", "k, i"], ["n, l", "j, k"], "bf16", WHOLE);
    let text = auto(&turned, &Target::default()).to_string();
    assert!(text.contains(ahead) && text.contains("swizzle(a_tile, 3, 3, 5)\n"), "{text}");
    // Results of 32 bits leave as whole sectors, without a way through shared memory.
    let wide = turned.to_string().replace("c: bf16", "c: f32").replace("cast(bf16, sum(k, ", "(sum(k, ");
    let text = auto(&parsed(&wide), &Target::default()).to_string();
    assert!(text.contains(ahead) && !text.contains("buffer_array"), "{text}");
}

const WHOLE: &str = " and l % 64 = 0 and m % 2048 = 0 and n % 128 = 0";

#[test]
#[ignore = "half a minute"]
fn products_of_fragments_compute_what_is_declared() {
    let kernel = product(["m, l", "i, k"], ["l, n", "k, j"], "bf16", WHOLE);
    let found = auto(&kernel, &Target::default());
    assert!(found.to_string().contains("swizzle(b_tile, 3, 3, 4)\n"), "{found}");
    let (m, n, l) = (2048, 128, 128);
    let [a, b] = [[m, l], [l, n]].map(|shape| numbers(&shape).cast(DType::BF16));
    let outputs = ran(&found, &Args::new().tensor("a", &a).tensor("b", &b));
    let got = outputs.get("c").expect("an output").to_f64();
    let (x, y) = (a.to_f64(), b.to_f64());
    // Products and sums are exact in f32; the result is rounded.
    let dot = |e: usize| (0..l).map(|k| x[e / n * l + k] * y[k * n + e % n]).sum::<f64>();
    for e in (0..m * n).step_by(997) {
        let wanted = Tensor::from_vec(&[1], vec![dot(e)]).expect("a tensor").cast(DType::BF16).to_f64();
        assert_eq!(got[e], wanted[0], "element {e}");
    }
}

/// Where the usual tiles would leave multiprocessors without a block, tiles are shorter: 64 x 64,
/// of which the launch has four for four multiprocessors, or 32 x 32. Whole or not, and whatever
/// the order of the factors, they compute what is declared.
#[test]
fn few_results_get_short_tiles() {
    let lefts = [["m, l", "i, k"], ["l, m", "k, i"]];
    let rights = [["l, n", "k, j"], ["n, l", "j, k"]];
    let long = |sizes: [usize; 3]| (4, 64, sizes);
    let short = |sizes: [usize; 3]| (132, 32, sizes);
    let some = [[long([128, 128, 64]), short([40, 56, 24])], [long([104, 120, 40]), short([64, 32, 64])]];
    for dtype in ["f32", "bf16"] {
        for (order, (a, b)) in lefts.iter().flat_map(|a| rights.iter().map(move |b| (*a, *b))).enumerate() {
            let kernel = product(a, b, dtype, "");
            for (multiprocessors, side, [m, n, l]) in some[order.count_ones() as usize % 2] {
                let sizes = Launch::of([("m", m as i64), ("n", n as i64), ("l", l as i64)]);
                let found = auto_for(&kernel, &Target::default(), &Launch { multiprocessors, ..sizes });
                let what = format!("{dtype} {a:?} {b:?} {m} x {n} x {l}\n{found}");
                assert!(what.contains(&format!("split_iname(i, {side})\n")), "{what}");
                assert!(what.contains("pipeline(k_outer, [a_tile, b_tile], stages="), "{what}");
                // Partial tiles need no more than whole vectors for tensor cores.
                let assumed = if dtype == "bf16" { "mod 8 = 0" } else { "assume(" };
                assert_eq!(
                    what.contains(assumed),
                    l != 64 && dtype == "bf16" || l == 64 && dtype == "f32",
                    "{what}"
                );
                check(&found, [a, b], [m, n, l], dtype, &what);
            }
        }
    }
}

/// Where the last wave of the longest tiles would be mostly idle, tiles are as short as fills it.
#[test]
fn tiles_of_a_fragment_ring_fill_waves() {
    let whole = "fragments that are loaded while the ones before are multiplied";
    for (multiprocessors, [rows, columns], b) in
        [(2, [96, 128], ["n, l", "j, k"]), (4, [96, 64], ["n, l", "j, k"]), (4, [96, 64], ["l, n", "k, j"])]
    {
        let (a, [m, n, l]) = (["m, l", "i, k"], [192, 128, 128]);
        let kernel = product(a, b, "bf16", "");
        let sizes = Launch::of([("m", m as i64), ("n", n as i64), ("l", l as i64)]);
        let found = auto_for(&kernel, &Target::default(), &Launch { multiprocessors, ..sizes });
        let what = format!("{b:?} on {multiprocessors}\n{found}");
        for step in [format!("split_iname(i, {rows})\n"), format!("split_iname(j, {columns})\n")] {
            assert!(what.contains(&step), "{what}");
        }
        assert!(what.contains("prefetch_fragments(") && !what.contains(whole), "{what}");
        check(&found, [a, b], [m, n, l], "bf16", &what);
    }
    // Rows of 96 elements along the side have no swizzle.
    let kernel = product(["l, m", "k, i"], ["n, l", "j, k"], "bf16", "");
    let sizes = Launch::of([("m", 192), ("n", 128), ("l", 128)]);
    let found = auto_for(&kernel, &Target::default(), &Launch { multiprocessors: 2, ..sizes }).to_string();
    assert!(!found.contains("split_iname(i, 96)"), "{found}");
}

/// Compares a run on the emulator with the product in f64.
fn check(found: &Found, [a, b]: [[&str; 2]; 2], [m, n, l]: [usize; 3], dtype: &str, what: &str) {
    let dtype = match dtype {
        "bf16" => DType::BF16,
        "f64" => DType::F64,
        _ => DType::F32,
    };
    let length =
        |name: &str| [("m", m), ("n", n), ("l", l)].iter().find(|(known, _)| *known == name).map(|e| e.1);
    let shape = |of: &str| of.split(", ").filter_map(length).collect::<Vec<usize>>();
    let [left, right] = [a[0], b[0]].map(|of| numbers(&shape(of)).cast(dtype));
    let outputs = ran(found, &Args::new().tensor("a", &left).tensor("b", &right));
    let (x, y) = (left.to_f64(), right.to_f64());
    let dot = |e: usize| -> f64 {
        let (i, j) = (e / n, e % n);
        let at = |k: usize| {
            let of_a = if a[0] == "m, l" { i * l + k } else { k * m + i };
            let of_b = if b[0] == "l, n" { k * n + j } else { j * l + k };
            x[of_a] * y[of_b]
        };
        (0..l).map(at).sum()
    };
    // Products and sums are exact in f32; the result is rounded.
    let wanted = Tensor::from_vec(&[m * n], (0..m * n).map(dot).collect()).expect("a tensor").cast(dtype);
    assert_eq!(outputs.get("c").expect("an output").to_f64(), wanted.to_f64(), "{what}");
}

/// A sum that is long, of few results: blocks share it, and their partial results are joined.
#[test]
fn blocks_share_the_sums_of_few_results() {
    let launch = |l: i64| Launch { multiprocessors: 2, ..Launch::of([("m", 64), ("n", 64), ("l", l)]) };
    for (dtype, l, chunk) in [("f32", 1104, 512), ("bf16", 2064, 1024)] {
        let factors = [["m, l", "i, k"], ["n, l", "j, k"]];
        let kernel = product(factors[0], factors[1], dtype, "");
        let shared = found(&kernel, &launch(l));
        let text = shared.to_string();
        assert!(text.contains(&format!("split_iname(k, {chunk}, outer=k_chunk")), "{text}");
        assert!(text.contains("k_chunk: block.z") && text.contains("via=cp_async"), "{text}");
        check(&shared, factors, [64, 64, l as usize], dtype, &text);
        // Two blocks would load too little each.
        let short = found(&kernel, &launch(2 * chunk - 16)).to_string();
        assert!(!short.contains("k_chunk"), "{short}");
    }
}

#[test]
fn products_of_8_bit_integers_are_done_by_tensor_cores() {
    for (b, at) in [("n, l", "j, k"), ("l, n", "k, j")] {
        let kernel = parsed(&format!(
            "kernel product(a: i8[m, l], b: i8[{b}], c: i32[m, n], m: i32, n: i32, l: i32)\n\
             assume 0 <= m and 0 <= n and 0 <= l\n\
             domain {{ [i, j] : 0 <= i < m and 0 <= j < n }}\n\
             domain {{ [k] : 0 <= k < l }}\n\
             c[i, j] = sum(k, cast(i32, a[i, k])*cast(i32, b[{at}])) {{id=product}}\n"
        ));
        let launch = Launch::of([("m", 4112), ("n", 4112), ("l", 4112)]);
        let found = found(&kernel, &launch);
        let text = found.to_string();
        assert!(text.contains("map_to_atom(product)") && text.contains("vec=16, via=cp_async"), "{text}");
        check_integers(&found, at, DType::I8, [40, 48, 144]);
    }
}

/// Runs a product of integers of this size and type, whose right factor is read at `at`, and
/// compares all results.
fn check_integers(found: &Found, at: &str, dtype: DType, [m, n, l]: [usize; 3]) {
    let is_transposed = at == "j, k";
    let shape = if is_transposed { [n, l] } else { [l, n] };
    let [left, right] = [[m, l], shape].map(|shape| numbers(&shape).cast(dtype));
    let outputs = ran(found, &Args::new().tensor("a", &left).tensor("b", &right));
    let (x, y) = (left.to_f64(), right.to_f64());
    let wanted = |e: usize| -> f64 {
        let (i, j) = (e / n, e % n);
        (0..l).map(|k| x[i * l + k] * y[if is_transposed { j * l + k } else { k * n + j }]).sum()
    };
    let wanted: Vec<f64> = (0..m * n).map(wanted).collect();
    assert_eq!(outputs.get("c").expect("an output").to_f64(), wanted, "{found}");
}

/// Rows that are not known to consist of vectors come element by element, each in a register of its
/// own: as many at a time as leave room for the results.
#[test]
fn products_of_8_bit_integers_of_any_size_spill_no_registers() {
    for (dtype, b, at) in [("i8", "n, l", "j, k"), ("i8", "l, n", "k, j"), ("u8", "n, l", "j, k")] {
        let kernel = parsed(&format!(
            "kernel product(a: {dtype}[m, l], b: {dtype}[{b}], c: i32[m, n], m: i32, n: i32, l: i32)\n\
             assume 0 <= m and 0 <= n and 0 <= l\n\
             domain {{ [i, j] : 0 <= i < m and 0 <= j < n }}\n\
             domain {{ [k] : 0 <= k < l }}\n\
             c[i, j] = sum(k, cast(i32, a[i, k])*cast(i32, b[{at}])) {{id=product}}\n"
        ));
        let found = auto(&kernel, &Target::default());
        let text = found.to_string();
        assert!(text.contains("map_to_atom(product)") && text.contains("split_iname(k, 32)\n"), "{text}");
        // Partial tiles, and rows that begin anywhere.
        let element = if dtype == "i8" { DType::I8 } else { DType::U8 };
        check_integers(&found, at, element, [37, 45, 83]);

        // Also in shorter tiles.
        let few = self::found(&kernel, &Launch::of([("m", 1000), ("n", 1000), ("l", 1001)]));
        assert!(few.to_string().contains("split_iname(i, 64)\n"), "{few}");
        for found in [found, few] {
            assert_eq!(spilled(&found), 0, "{found}");
        }
    }
}

/// Bytes of registers that spill on any of three architectures; none are known without a compiler,
/// whose absence the runtime's own tests report.
fn spilled(found: &Found) -> u32 {
    let program = lower(&found.kernel, LowerOptions::default()).unwrap_or_else(|d| panic!("{d}"));
    let source = cuda_source(&program).unwrap_or_else(|d| panic!("{d}"));
    let of = |arch: Arch| match nvrtc::compile(&source.text, &CompileOptions::new(arch)) {
        Ok(compiled) => compiled.resources.iter().map(|r| r.spill_store_bytes).sum(),
        Err(CompileError::NotFound(_)) => 0,
        Err(e) => panic!("{e}\n{found}"),
    };
    [Arch::SM_80, Arch::SM_90A, Arch::SM_100A].into_iter().map(of).sum()
}

/// Of f64, by the instructions that the architecture has; whole tiles and others.
#[test]
fn products_of_f64_are_done_by_tensor_cores() {
    for (architecture, rows, factors) in [
        (90, 16, [["m, l", "i, k"], ["n, l", "j, k"]]),
        (90, 16, [["m, l", "i, k"], ["l, n", "k, j"]]),
        (80, 8, [["l, m", "k, i"], ["n, l", "j, k"]]),
    ] {
        let kernel = product(factors[0], factors[1], "f64", "");
        let launch = |m: i64| Launch {
            architecture,
            multiprocessors: 2,
            ..Launch::of([("m", m), ("n", 128), ("l", 32)])
        };
        let whole = found(&kernel, &launch(64));
        let text = whole.to_string();
        assert!(text.contains("map_to_atom(product)") && text.contains("issue=last)"), "{text}");
        assert!(text.contains(&format!("split_iname(i_tile, {rows}, outer=i_mma")), "{text}");
        check(&whole, factors, [64, 128, 32], "f64", &text);
        let partial = found(&kernel, &launch(66));
        let text = partial.to_string();
        assert!(text.contains("map_to_atom(product)") && !text.contains("mod 64 = 0"), "{text}");
        check(&partial, factors, [66, 128, 32], "f64", &text);
    }
}

/// A sum over channels at each place of a window, of images that lie in this order; `last` is
/// whether an element's channels are neighbours.
fn convolution(dtype: &str, last: bool) -> LoopKernel {
    let (shapes, at, factors) = if last {
        (
            ["nb, h + 2, v + 2, nc", "3, 3, nc, no", "nb, h, v, no"],
            "b, i, j, o",
            ["w[p, q, c, o]", "x[b, i + p, j + q, c]"],
        )
    } else {
        (
            ["nb, nc, h + 2, v + 2", "no, nc, 3, 3", "nb, no, h, v"],
            "b, o, i, j",
            ["w[o, c, p, q]", "x[b, c, i + p, j + q]"],
        )
    };
    let total = match dtype {
        "bf16" => {
            format!("cast(bf16, sum([c, p, q], cast(f32, {})*cast(f32, {})))", factors[0], factors[1])
        }
        _ => format!("sum([c, p, q], {}*{})", factors[0], factors[1]),
    };
    let [x, w, y] = shapes;
    parsed(&format!(
        "kernel convolution(x: {dtype}[{x}], w: {dtype}[{w}], y: {dtype}[{y}], nb: i32, nc: i32, no: i32, h: i32, \
         v: i32)\n\
         assume 0 <= nb and 0 <= nc and 0 <= no and 0 <= h and 0 <= v\n\
         domain {{ [b, i, j, o] : 0 <= b < nb and 0 <= i < h and 0 <= j < v and 0 <= o < no }}\n\
         domain {{ [c, p, q] : 0 <= c < nc and 0 <= p < 3 and 0 <= q < 3 }}\n\
         y[{at}] = {total} {{id=convolution}}\n"
    ))
}

/// A product at each place of a window: one ring for all places, and one axis of the grid for the
/// images and their rows, as far as lengths allow it.
#[test]
fn convolutions_are_products_at_each_place() {
    for (dtype, last, channels, wanted) in [
        ("bf16", true, 64, ["join_inames([b, i], b_i)", "pipeline(c_step,", "map_to_atom(convolution)"]),
        ("bf16", true, 40, ["join_inames([b, i], b_i)", "pipeline(c_outer,", "map_to_atom(convolution)"]),
        ("bf16", true, 20, ["join_inames([b, i], b_i)", "reorder(p, q, c_outer", "map_to_atom(convolution)"]),
        ("bf16", false, 64, ["join_inames([b, i], b_i)", "reorder(o, j)", "map_to_atom(convolution)"]),
        ("f32", false, 32, ["join_inames([b, i], b_i)", "pipeline(c_step,", "via=cp_async"]),
    ] {
        let kernel = convolution(dtype, last);
        let (nb, nc, no, h, v) = (2usize, channels, 24usize, 2usize, 20usize);
        let sizes = [("nb", nb), ("nc", nc), ("no", no), ("h", h), ("v", v)];
        let found = found(&kernel, &Launch::of(sizes.map(|(name, n)| (name, n as i64))));
        let text = found.to_string();
        assert!(wanted.iter().all(|wanted| text.contains(wanted)), "{dtype} {last} {channels}: {text}");

        let dtype = if dtype == "bf16" { DType::BF16 } else { DType::F32 };
        let (of_x, of_w) = if last {
            ([nb, h + 2, v + 2, nc], [3, 3, nc, no])
        } else {
            ([nb, nc, h + 2, v + 2], [no, nc, 3, 3])
        };
        let [x, w] = [&of_x, &of_w].map(|shape| numbers(shape).cast(dtype));
        let outputs = ran(&found, &Args::new().tensor("x", &x).tensor("w", &w));
        let (x, w) = (x.to_f64(), w.to_f64());
        let at = |of: &[f64], shape: [usize; 4], at: [usize; 4]| {
            of[((at[0] * shape[1] + at[1]) * shape[2] + at[2]) * shape[3] + at[3]]
        };
        let mut all = Vec::new();
        let axes = if last { [nb, h, v, no] } else { [nb, no, h, v] };
        for e in 0..nb * h * v * no {
            let (a, b, c, d) = (
                e / (axes[1] * axes[2] * axes[3]),
                e / (axes[2] * axes[3]) % axes[1],
                e / axes[3] % axes[2],
                e % axes[3],
            );
            let (image, i, j, o) = if last { (a, b, c, d) } else { (a, c, d, b) };
            let mut total = 0.0;
            for (c, p, q) in (0..nc).flat_map(|c| (0..9).map(move |place| (c, place / 3, place % 3))) {
                total += if last {
                    at(&w, of_w, [p, q, c, o]) * at(&x, of_x, [image, i + p, j + q, c])
                } else {
                    at(&w, of_w, [o, c, p, q]) * at(&x, of_x, [image, c, i + p, j + q])
                };
            }
            all.push(total);
        }
        // Products and sums are exact in f32; the result is rounded.
        let wanted = Tensor::from_vec(&[all.len()], all).expect("a tensor").cast(dtype);
        assert_eq!(outputs.get("y").expect("an output").to_f64(), wanted.to_f64(), "{text}");
    }
}

/// Of a sum over several loops, the one along which neighbours lie in memory is divided into steps.
#[test]
fn sums_over_two_axes_are_products_at_each_place() {
    let kernel = parsed(
        "kernel contraction(a: f32[m, r, l], b: f32[r, l, n], c: f32[m, n], m: i32, n: i32, r: i32, l: i32)\n\
         assume 0 <= m and 0 <= n and 0 <= r and 0 <= l\n\
         domain { [i, j] : 0 <= i < m and 0 <= j < n }\n\
         domain { [s, k] : 0 <= s < r and 0 <= k < l }\n\
         c[i, j] = sum([s, k], a[i, s, k]*b[s, k, j]) {id=product}\n",
    );
    let (m, n, r, l) = (40, 33, 3, 64);
    let launch = Launch::of([("m", m as i64), ("n", n as i64), ("r", r as i64), ("l", l as i64)]);
    let found = found(&kernel, &launch);
    let text = found.to_string();
    assert!(
        text.contains("join_inames([s, k_outer], k_step)") && text.contains("pipeline(k_step,"),
        "{text}"
    );
    let (left, right) = (numbers(&[m, r, l]), numbers(&[r, l, n]));
    let outputs = ran(&found, &Args::new().tensor("a", &left).tensor("b", &right));
    let (x, y) = (left.to_f64(), right.to_f64());
    let wanted = |e: usize| -> f64 {
        let (i, j) = (e / n, e % n);
        (0..r * l).map(|k| x[i * r * l + k] * y[k * n + j]).sum()
    };
    let wanted: Vec<f64> = (0..m * n).map(wanted).collect();
    assert_eq!(outputs.get("c").expect("an output").to_f64(), wanted, "{text}");
}
