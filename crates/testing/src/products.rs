//! Random sums of products in boxes that hardware instructions compute, for the verdicts on steps.
//!
//! Factors lie in any order, in batches or not, and are as long as one box or two. Half of the
//! kernels multiply bytes, whose sums wrap and identify what was added, by an instruction that the
//! kernel declares; the others f64, by one of the library. Some have the results of a row in a
//! private array, and then the greatest of them; some convert results to two bytes, which a warp
//! may store as matrices.

use loopwright_kernel_ir::{Expr, LoopKernel, Name};

use crate::rng::{Rng, any};

/// The id of the instruction.
pub const PRODUCT: &str = "product";

/// Bytes by an instruction of sm_75, which the library lacks.
const BYTES: &str = "\
atom mma_m8n8k16_s8 {
    d[m, n] += a[m, k] * b[n, k]
    box m < 8, n < 8, k < 16
    a: i8 ((4,8),4):((32,1),8)
    b: i8 ((4,8),4):((32,1),8)
    d: i32 ((4,8),2):((16,1),8)
    executor warp
    since sm_75
    ptx mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32
}
";

/// Whether a kernel is one of these.
pub fn is_product(kernel: &LoopKernel) -> bool {
    kernel.declared().instructions.iter().any(|i| *i.id == *PRODUCT)
}

/// The text of a random kernel.
pub(crate) fn kernel(rng: &mut Rng) -> String {
    let bytes = rng.chance(50);
    let (factor, sum, atom, k) = if bytes { ("i8", "i32", BYTES, 16) } else { ("f64", "f64", "", 4) };
    let [m, n] = [0; 2].map(|_| rng.pick(&[8, 8, 16]));
    let l = k * rng.pick(&[1, 1, 2]);
    let batched = rng.chance(50);
    let element = |rng: &mut Rng, array: &str, axes: [(&str, i64); 2], batch: bool| {
        let mut axes: Vec<(String, String)> =
            axes.iter().map(|(i, length)| (i.to_string(), length.to_string())).collect();
        if rng.chance(40) {
            axes.reverse();
        }
        if batch {
            let at = rng.below(3);
            axes.insert(at, ("p".into(), "n".into()));
        }
        let lengths: Vec<&str> = axes.iter().map(|(_, length)| length.as_str()).collect();
        let inames: Vec<&str> = axes.iter().map(|(iname, _)| iname.as_str()).collect();
        (format!("{array}: "), format!("[{}]", lengths.join(", ")), format!("{array}[{}]", inames.join(", ")))
    };
    let (a, of_a, at_a) = element(rng, "a", [("i", m), ("k", l)], batched);
    let of_batch = batched && rng.chance(50);
    let (b, of_b, at_b) = element(rng, "b", [("j", n), ("k", l)], of_batch);
    let batch = if batched { "domain { [p] : 0 <= p < n }\n" } else { "" };
    if rng.chance(25) {
        return rows_of_products(
            rng,
            (atom, batch),
            (factor, sum),
            &[(&of_a, &at_a), (&of_b, &at_b)],
            [m, n, l],
        );
    }
    let (c, of_c, at_c) = element(rng, "c", [("i", m), ("j", n)], batched);
    // Results of two bytes.
    let stored = if bytes && rng.chance(50) { "i16" } else { sum };
    let converted = |e: &str| if bytes { format!("cast(i32, {e})") } else { e.to_string() };
    let (x, y) = if rng.chance(70) { (at_a, at_b) } else { (at_b, at_a) };
    let order = if rng.chance(70) { "i, j" } else { "j, i" };
    // A value that each result is used for, besides.
    let next = if rng.chance(40) {
        format!("{} = 3*{at_c} + 1\n", at_c.replacen('c', "d", 1))
    } else {
        String::new()
    };
    let d = if next.is_empty() { String::new() } else { format!(", d: {stored}{of_c}") };
    let (of_sum, end) = if stored == sum { (String::new(), "") } else { (format!("cast({stored}, "), ")") };
    format!(
        "kernel product({a}{factor}{of_a}, {b}{factor}{of_b}, {c}{stored}{of_c}{d}, n: i32, m: i32)\n\
         assume 0 <= n and 0 <= m\n{atom}{batch}\
         domain {{ [{order}] : 0 <= i < {m} and 0 <= j < {n} }}\n\
         domain {{ [k] : 0 <= k < {l} }}\n\
         {at_c} = {of_sum}sum(k, {} * {}){end} {{id={PRODUCT}}}\n{next}",
        converted(&x),
        converted(&y)
    )
}

/// Products whose results are the elements of a private array, one row after the other, of which
/// another instruction takes the greatest.
fn rows_of_products(
    rng: &mut Rng,
    (atom, batch): (&str, &str),
    (factor, sum): (&str, &str),
    factors: &[(&str, &str); 2],
    [m, n, l]: [i64; 3],
) -> String {
    let [(of_a, at_a), (of_b, at_b)] = factors;
    let converted = |e: &str| if factor == "i8" { format!("cast(i32, {e})") } else { e.to_string() };
    let (around, at) = if batch.is_empty() { ("i", "i") } else { ("p:i", "p, i") };
    let of_c = if batch.is_empty() { format!("[{m}]") } else { format!("[n, {m}]") };
    // What is read is what was written at the same place, or at its mirror image.
    let read = if rng.chance(80) { "t".to_string() } else { format!("{} - t", n - 1) };
    format!(
        "kernel product(a: {factor}{of_a}, b: {factor}{of_b}, c: {sum}{of_c}, n: i32, m: i32)\n\
         assume 0 <= n and 0 <= m\n{atom}{batch}\
         domain {{ [i, j] : 0 <= i < {m} and 0 <= j < {n} }}\n\
         domain {{ [k] : 0 <= k < {l} }}\n\
         domain {{ [t] : 0 <= t < {n} }}\n\
         temp row: {sum}[{n}] private\n\
         row[j] = sum(k, {} * {}) {{id={PRODUCT}, inames={around}:j}}\n\
         c[{at}] = max(t, row[{read}]) {{id=greatest, inames={around}}}\n",
        converted(at_a),
        converted(at_b)
    )
}

/// The steps that lead to an atom: loops are split to the lengths of its box.
pub(crate) fn recipe(rng: &mut Rng, kernel: &LoopKernel) -> Vec<String> {
    let bytes = !kernel.atoms.is_empty();
    let mut steps = Vec::new();
    let mut axes = Vec::new();
    for (iname, length) in [("i", 8), ("j", 8), ("k", if bytes { 16 } else { 4 })] {
        // Wrong lengths are refused.
        let is_whole = self::length(kernel, iname) == Some(length);
        if is_whole == rng.chance(10) {
            steps.push(format!("split_iname({iname}, {length})"));
            axes.push(format!("{iname}_inner"));
        } else {
            axes.push(iname.into());
        }
    }
    if rng.chance(30) {
        steps.push(format!("map_to_atom({PRODUCT})"));
    } else {
        let atom = if bytes { "mma_m8n8k16_s8" } else { "mma_m8n8k4_f64" };
        // The factors may change their places.
        let (m, n) = if rng.chance(80) { (0, 1) } else { (1, 0) };
        let greatest = kernel.instruction("greatest").is_some();
        let apart = if rng.chance(if greatest { 80 } else { 15 }) { ", lanes=apart" } else { "" };
        if greatest {
            // The digits of a lane's number and of a register's, as those of `j` are.
            let whole = axes[1] == "j";
            if !whole {
                steps.push("split_iname(t, 8)".into());
            }
            let t = if whole { "t" } else { "t_inner" };
            let each = rng.pick(&[2, 2, 2, 2, 4]);
            steps.push(format!("split_iname({t}, {each}, outer=t_lane, inner=t_reg)"));
            steps.push("tag_inames(t_lane: thread.x)".into());
        }
        let (m, n) = (&axes[m], &axes[n]);
        steps.push(format!("tensorize({PRODUCT}, {atom}, m={m}, n={n}, k={}{apart})", axes[2]));
    }
    let is_short = kernel.array("c").and_then(|c| c.dtype.known()).is_some_and(|dtype| dtype.bytes() == 2);
    if is_short && rng.chance(80) {
        // The register that `tensorize` makes is a digit of what is the atom's `n`.
        let around = rng.pick(&["", "", "p, "]);
        let n = rng.pick(&[&axes[1], &axes[1], &axes[0]]);
        steps.push(format!("buffer_array(c, [{around}lane, {n}_reg], space=shared, init=none)"));
        steps.push(format!("store_matrices({PRODUCT})"));
    }
    if rng.chance(50) {
        let array = rng.pick(&["a", "b"]);
        let own = if array == "a" { &axes[0] } else { &axes[1] };
        let over = if array == "a" { "lane".into() } else { format!("lane, {own}_reg") };
        steps.push(format!("add_prefetch({array}, [{over}, {}])", axes[2]));
    }
    if rng.chance(60) {
        steps.push(format!("prefetch_fragments({PRODUCT})"));
        // Along the loop around that over the box, if there is one.
        if rng.chance(60) {
            steps.push("pipeline(k_outer, [a_fragment, b_fragment], stages=2)".into());
        }
    }
    steps
}

/// The number of values of an iname, from an axis that it alone is the subscript of.
fn length(kernel: &LoopKernel, iname: &str) -> Option<i64> {
    let instruction = kernel.instruction(PRODUCT)?;
    instruction.value.accesses().iter().find_map(|access| {
        let axis = access.index.iter().position(|e| matches!(e, Expr::Name(n) if **n == *iname))?;
        kernel.array(&access.array)?.axes.get(axis)?.length.to_aff()?.as_constant()
    })
}

/// A random step that gives the updates to an atom.
pub(crate) fn step(rng: &mut Rng, kernel: &LoopKernel, kind: &str) -> Option<String> {
    let instruction = kernel.instruction(PRODUCT)?;
    if kind == "map_to_atom" {
        return Some(format!("map_to_atom({PRODUCT})"));
    }
    if kind == "prefetch_fragments" {
        return Some(format!("prefetch_fragments({PRODUCT})"));
    }
    if kind == "store_matrices" {
        return Some(format!("store_matrices({PRODUCT})"));
    }
    let reduced: Vec<Name> = instruction.reductions().iter().flat_map(|r| r.inames.clone()).collect();
    let atom = if kernel.atoms.is_empty() { "mma_m8n8k4_f64" } else { "mma_m8n8k16_s8" };
    let (m, n, k) = (any(rng, &instruction.within)?, any(rng, &instruction.within)?, any(rng, &reduced)?);
    Some(format!("tensorize({PRODUCT}, {atom}, m={m}, n={n}, k={k})"))
}
