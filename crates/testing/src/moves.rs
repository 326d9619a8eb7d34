//! Random steps of a given kind, chosen so that most of them apply to the current kernel. Whether
//! they are legal is left to chance.

use loopwright_kernel_ir::{
    AddressSpace, Arg, Array, BinaryOp, Expr, Instruction, LoopKernel, Name, Tag, Tree,
};
use loopwright_transforms::{Registry, Step};

use crate::{
    products,
    rng::{Rng, any},
    sites::{Loops, growing, mentions, scans, segments, sweep, temporaries},
};

/// The kinds of steps, each with its weight: those that seldom apply are tried more often.
pub const KINDS: [(&str, usize); 67] = [
    ("split_iname", 4),
    ("tag_inames", 16),
    ("untag_inames", 18),
    ("reorder", 12),
    ("unroll", 6),
    ("join_inames", 6),
    ("add_prefetch", 12),
    ("assume", 5),
    ("assume_legal", 12),
    ("duplicate_inames", 8),
    ("fix_parameters", 4),
    ("pad_array_axis", 12),
    ("precompute", 26),
    ("rename_iname", 5),
    ("set_address_space", 6),
    ("set_precision", 5),
    ("split_reduction_inward", 26),
    ("split_reduction_outward", 34),
    ("tag_array_axes", 8),
    ("map_domain", 12),
    ("index_set_split", 5),
    ("peel", 5),
    ("reverse", 13),
    ("tile", 8),
    ("distribute", 12),
    ("fuse_loops", 14),
    ("fuse_maximal", 10),
    ("map_array", 12),
    ("privatize_temporary", 12),
    ("unprivatize_temporary", 10),
    ("alias_temporaries", 12),
    ("chunk_iname", 5),
    ("double_buffer", 30),
    ("pipeline", 44),
    ("advance", 26),
    ("buffer_array", 12),
    ("realize_scan", 10),
    ("save_reload", 8),
    ("flatten_ragged", 10),
    ("together", 8),
    ("composite", 4),
    ("user", 9),
    ("cache_streaming", 6),
    ("cache_waves", 6),
    ("reduce_atomically", 34),
    ("min_blocks_per_multiprocessor", 4),
    ("begin_launch", 14),
    ("swizzle", 32),
    ("set_layout", 12),
    ("tensorize", 66),
    ("map_to_atom", 72),
    ("prefetch_fragments", 40),
    ("store_matrices", 20),
    ("extract_subst", 4),
    ("assignment_to_subst", 16),
    ("subst_to_assignment", 16),
    ("move_statement", 16),
    ("split_live_range", 14),
    ("recognize_reduction", 38),
    ("privatize_updates", 40),
    ("set_update_scope", 26),
    ("pack_array", 10),
    ("separate_axis", 10),
    ("concatenate_arrays", 10),
    ("simplify", 10),
    ("collect_common_factors", 10),
    ("assign_common_subexpressions", 10),
];

/// A random kind of step, with the probabilities that the weights in [`KINDS`] give.
pub fn kind(rng: &mut Rng) -> &'static str {
    let all: usize = KINDS.iter().map(|(_, w)| w).sum();
    let mut at = rng.below(all);
    for (name, weight) in KINDS {
        if at < weight {
            return name;
        }
        at -= weight;
    }
    KINDS[0].0
}

/// The names of steps that random pipelines use: the user's own transform reverses the first loop.
pub fn registry() -> Registry {
    Registry::new().function("turn", |kernel| {
        let first = kernel.tree.iter().find_map(|t| match t {
            Tree::Loop { iname, .. } => Some(iname.clone()),
            Tree::Leaf(_) => None,
        });
        let text = first.map_or("reverse(nothing)".to_string(), |i| format!("reverse({i}, new={i}_turned)"));
        Step::parse(&text)?.rule().apply(kernel)
    })
}

fn comma(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}

fn tag(rng: &mut Rng) -> &'static str {
    rng.pick(&[
        "block.x",
        "block.x",
        "block.y",
        "thread.x",
        "thread.x",
        "thread.x",
        "thread.y",
        "lane",
        "vec",
        "ilp",
        "unroll",
        "partition",
        "host",
    ])
}

/// The step that collects the factors of an instruction that has some: few have.
pub fn collected(rng: &mut Rng, kernel: &LoopKernel) -> Option<String> {
    let of = |id: &Name| format!("collect_common_factors({id}, rounding=any)");
    let applies = |id: &Name| Step::parse(&of(id)).is_ok_and(|s| s.rule().apply(kernel).is_ok());
    let ids = kernel.instructions.iter().map(|i| i.id.clone());
    let some: Vec<Name> = ids.filter(|id| applies(id)).collect();
    any(rng, &some).map(|id| of(&id))
}

/// A swizzle whose period divides the storage.
pub fn swizzle(rng: &mut Rng, array: &Array) -> Option<String> {
    let whole = array.storage_size()?.trailing_zeros() as usize;
    // At least a bit that changes and one that is added to it.
    let room = whole.min(10).checked_sub(2)?;
    let bits = 1 + rng.below(room / 2 + 1);
    let distance = bits + rng.below(room + 3 - 2 * bits);
    let base = rng.below((room + 3).saturating_sub(bits + distance).max(1));
    let sign = if rng.chance(25) { "-" } else { "" };
    Some(format!("swizzle({}, {bits}, {base}, {sign}{distance})", array.name))
}

/// A layout whose modes are in any order, with gaps, some of two parts.
pub fn set_layout(rng: &mut Rng, array: &Array) -> Option<String> {
    let lengths: Vec<i64> =
        array.axes.iter().map(|a| a.length.to_aff()?.as_constant()).collect::<Option<_>>()?;
    // The parts of each axis, whose strides follow in any order.
    let parts: Vec<Vec<i64>> = lengths
        .iter()
        .map(|n| match [2, 3, 4].into_iter().find(|d| *n > *d && n % d == 0) {
            Some(d) if rng.chance(50) => vec![d, n / d],
            _ => vec![*n],
        })
        .collect();
    let mut order: Vec<(usize, usize)> =
        parts.iter().enumerate().flat_map(|(axis, own)| (0..own.len()).map(move |k| (axis, k))).collect();
    for k in 1..order.len() {
        order.swap(k, rng.below(k + 1));
    }
    let mut strides: Vec<Vec<i64>> = parts.iter().map(|own| vec![0; own.len()]).collect();
    let mut reach = 1;
    for (axis, k) in order {
        strides[axis][k] = reach + if rng.chance(25) { 1 } else { 0 };
        reach = strides[axis][k] * parts[axis][k];
    }
    let tuple = |all: &[Vec<i64>]| {
        let of = |own: &Vec<i64>| match own.as_slice() {
            [one] => one.to_string(),
            [a, b] => format!("({a},{b})"),
            _ => String::new(),
        };
        let all: Vec<String> = all.iter().map(of).collect();
        format!("({})", all.join(","))
    };
    Some(format!("set_layout({}, {}:{})", array.name, tuple(&parts), tuple(&strides)))
}

/// A random function of two inames: one that, with the other iname, has determinant one, or one
/// whose image is a lattice.
fn skewed(rng: &mut Rng, i: &Name, j: &Name) -> String {
    let (u, v) = (format!("{i}_u"), format!("{j}_v"));
    let k = rng.pick(&["", "2*", "-", "-"]);
    let term = |c: &str, n: &Name| match c {
        "-" => format!(" - {n}"),
        c => format!(" + {c}{n}"),
    };
    match rng.below(11) {
        0 => format!("[{i}, {j}] -> [{u}, {j}], {u} = {i}{}", term(k, j)),
        1 => format!("[{i}, {j}] -> [{i}, {v}], {v} = {j}{}", term(k, i)),
        2 => format!("[{i}, {j}] -> [{u}, {i}], {u} = {j}{}", term(k, i)),
        3 => format!("[{i}, {j}] -> [{j}, {u}], {u} = {i}{}", term(k, j)),
        4 => format!("[{i}, {j}] -> [{j}, {i}]"),
        5 => format!("[{i}, {j}] -> [{u}, {v}], {u} = {i} + {j}, {v} = {i} + 2*{j}"),
        6 => format!("[{i}, {j}] -> [{u}, {v}], {u} = 2*{i} + {j}, {v} = {i} + {j} - 1"),
        7 => format!("[{i}, {j}] -> [{u}, {v}], {u} = {i} + {j}, {v} = {i} - {j}"),
        8 => format!("[{i}, {j}] -> [{u}, {j}], {u} = 2*{i} + {j}"),
        9 => format!("[{i}, {j}] -> [{u}, {v}], {u} = {i} - 2*{j}, {v} = {i} + {j}"),
        _ => format!("[{i}, {j}] -> [{u}, {v}], {u} = {i} + 1, {v} = -{j}"),
    }
}

/// An option of copies: at times the readers' own inames, or any, as those of another copy.
fn onto(rng: &mut Rng, kernel: &LoopKernel, over: &[Name]) -> String {
    match rng.below(6) {
        0 | 1 if !over.is_empty() => format!(", onto=[{}]", comma(over)),
        2 if !over.is_empty() => {
            let all = kernel.base_inames();
            let first = rng.below(all.len().max(over.len()) - over.len() + 1);
            format!(", onto=[{}]", comma(&all[first..(first + over.len()).min(all.len())]))
        }
        _ => String::new(),
    }
}

/// A rule for a reduction of the kernel, whose parameters are the inames around it.
fn reduction_as_rule(rng: &mut Rng, kernel: &LoopKernel) -> Option<String> {
    let all: Vec<_> = kernel.instructions.iter().flat_map(|i| i.value.reductions()).collect();
    let chosen = Expr::Reduce(any(rng, &all)?);
    let own: Vec<Name> = chosen.reductions().iter().flat_map(|r| r.inames.clone()).collect();
    let mut parameters: Vec<Name> = chosen.names().into_iter().collect();
    parameters.retain(|n| kernel.is_iname(n) && !own.contains(n));
    (!parameters.is_empty()).then(|| format!("extract_subst(form_sum, [{}], {chosen})", comma(&parameters)))
}

/// A random step of this kind, if the kernel has a place for it.
pub fn step(rng: &mut Rng, kernel: &LoopKernel, kind: &str) -> Option<String> {
    let loops = Loops::of(kernel);
    let names = loops.names();
    let base = kernel.base_inames();
    let free: Vec<Name> = base.iter().filter(|i| kernel.tag(i) == Tag::Seq).cloned().collect();
    Some(match kind {
        "split_iname" => format!("split_iname({}, {})", any(rng, &free)?, rng.pick(&[1, 2, 2, 3, 4])),
        "tag_inames" => {
            let i = any(rng, &free)?;
            let first = tag(rng);
            match loops.paths.iter().find(|p| p.len() > 1 && p.contains(&i)) {
                Some(path) if rng.chance(25) && path[0] != i => {
                    format!(
                        "tag_inames({}: {}, {i}: {first})",
                        path[0],
                        rng.pick(&["block.x", "thread.y", "host"])
                    )
                }
                _ => format!("tag_inames({i}: {first})"),
            }
        }
        "untag_inames" => {
            let tagged: Vec<Name> = kernel.tagged().into_iter().cloned().collect();
            format!("untag_inames({})", any(rng, &tagged)?)
        }
        "reorder" => {
            let mut chain = loops.chain(rng)?;
            match chain.len() {
                2 => chain.reverse(),
                n => {
                    let k = 1 + rng.below(n - 1);
                    chain.rotate_left(k);
                }
            }
            format!("reorder({})", comma(&chain))
        }
        "unroll" => format!("unroll({})", any(rng, &free)?),
        "join_inames" => {
            let (i, j) = any(rng, &loops.perfect)?;
            format!("join_inames([{i}, {j}])")
        }
        // This creates the buffers for double_buffer.
        "add_prefetch" => {
            let read: Vec<Name> = kernel
                .args
                .iter()
                .filter_map(|a| match a {
                    Arg::Array(a) => Some(a.name.clone()),
                    Arg::Scalar(_) => None,
                })
                .filter(|a| kernel.instructions.iter().any(|i| mentions(&i.value, a)))
                .collect();
            let array = any(rng, &read)?;
            let over = sweep(rng, kernel, &array, false)?;
            let mut text = format!("add_prefetch({array}, [{}]{}", comma(&over), onto(rng, kernel, &over));
            if rng.chance(30) {
                text += ", space=private";
            } else if rng.chance(35) {
                text += ", via=cp_async";
            }
            if rng.chance(15) {
                text += ", pad=1";
            }
            if rng.chance(25) {
                let readers: Vec<Name> = kernel
                    .instructions
                    .iter()
                    .filter(|i| mentions(&i.value, &array))
                    .map(|i| i.id.clone())
                    .collect();
                text += &format!(", readers=[{}]", any(rng, &readers)?);
            }
            if rng.chance(20) {
                let reads = kernel.instructions.iter().flat_map(|i| i.value.accesses());
                let reads: Vec<String> = reads.filter(|a| a.array == array).map(|a| a.to_string()).collect();
                if !reads.is_empty() {
                    text += &format!(", accesses=[{}]", rng.pick(&reads));
                }
            }
            text + ")"
        }
        "assume" => rng
            .pick(&[
                "assume(1 <= n)",
                "assume(n <= 40)",
                "assume(m mod 2 = 0)",
                "assume(2 <= m)",
                "assume(n <= m)",
            ])
            .to_string(),
        "assume_legal" => "assume_legal(\"at random\")".to_string(),
        "duplicate_inames" => {
            let i = match loops.several.is_empty() {
                false if rng.chance(80) => any(rng, &loops.several)?,
                _ => any(rng, &free)?,
            };
            let inside: Vec<Name> =
                kernel.instructions.iter().filter(|x| x.within.contains(&i)).map(|x| x.id.clone()).collect();
            let one = match rng.below(3) {
                0 => inside.first().cloned(),
                1 => inside.last().cloned(),
                _ => any(rng, &inside),
            }?;
            format!("duplicate_inames([{i}], [{one}])")
        }
        "fix_parameters" => format!("fix_parameters({}={})", rng.pick(&["n", "m"]), rng.pick(&[2, 3])),
        "pad_array_axis" => {
            let how = rng.pick(&["1", "1", "multiple=4"]);
            format!("pad_array_axis({}, 0, {how})", any(rng, &temporaries(kernel, |t| !t.axes.is_empty()))?)
        }
        "cache_streaming" | "cache_waves" => {
            let arrays: Vec<Name> =
                kernel.args.iter().filter(|a| matches!(a, Arg::Array(_))).map(|a| a.name().clone()).collect();
            let array = any(rng, &arrays)?;
            match kind {
                "cache_waves" => format!("cache_waves({array}, window=128, windows={})", rng.pick(&[2, 3])),
                _ => format!("cache_streaming({array})"),
            }
        }
        "min_blocks_per_multiprocessor" => {
            format!("min_blocks_per_multiprocessor({})", rng.pick(&[1, 2, 8]))
        }
        "begin_launch" => {
            let instruction = any(rng, &kernel.instructions)?;
            format!("begin_launch({})", instruction.id)
        }
        "reduce_atomically" => {
            let global = |i: &&Instruction| i.check_atomic_join(kernel).is_ok();
            let joined: Vec<Name> = kernel.instructions.iter().filter(global).map(|i| i.id.clone()).collect();
            format!("reduce_atomically({})", any(rng, &joined)?)
        }
        "swizzle" | "set_layout" => {
            let is_local = |t: &Array| t.space != AddressSpace::Global && t.storage_size().is_some();
            let t = any(rng, &temporaries(kernel, |t| !t.axes.is_empty() && is_local(t)))?;
            let array = kernel.temporary(&t)?;
            if kind == "swizzle" { swizzle(rng, array)? } else { set_layout(rng, array)? }
        }
        "tag_array_axes" => {
            format!("tag_array_axes({}, f)", any(rng, &temporaries(kernel, |t| !t.axes.is_empty()))?)
        }
        "precompute" => {
            let t = any(rng, &temporaries(kernel, |t| !t.axes.is_empty()))?;
            let over = sweep(rng, kernel, &t, false)?;
            let space = if rng.chance(40) { ", space=private" } else { "" };
            let onto = onto(rng, kernel, &over);
            format!("precompute({t}, [{}]{space}{onto})", comma(&over))
        }
        "assignment_to_subst" => {
            format!("assignment_to_subst({})", any(rng, &temporaries(kernel, |_| true))?)
        }
        // The reads of an array, as a rule; then its values in a temporary.
        "extract_subst" => {
            if rng.chance(40)
                && let Some(sum) = reduction_as_rule(rng, kernel)
            {
                return Some(sum);
            }
            let reads = kernel.instructions.iter().flat_map(|i| i.value.accesses());
            let reads: Vec<(Name, usize)> = reads.map(|a| (a.array, a.index.len())).collect();
            if reads.is_empty() {
                return None;
            }
            let (array, axes) = rng.pick(&reads);
            let parameters: Vec<String> = (0..axes).map(|k| format!("p{k}")).collect();
            let list = parameters.join(", ");
            format!("extract_subst(form_{array}, [{list}], {array}[{list}])")
        }
        "move_statement" => {
            let mut places: Vec<Name> = kernel.instructions.iter().map(|i| i.id.clone()).collect();
            places.extend(loops.paths.iter().filter_map(|p| p.last().cloned()));
            let (what, other) = (any(rng, &places)?, any(rng, &places)?);
            format!("move_statement({what}, {}={other})", rng.pick(&["before", "after"]))
        }
        "split_live_range" => {
            let writers: Vec<(Name, Name)> = kernel
                .instructions
                .iter()
                .filter(|i| kernel.temporary(&i.targets[0].array).is_some())
                .map(|i| (i.targets[0].array.clone(), i.id.clone()))
                .collect();
            // Those that another instruction writes as well.
            let again: Vec<(Name, Name)> = writers
                .iter()
                .filter(|(t, id)| writers.iter().any(|(u, other)| t == u && id > other))
                .cloned()
                .collect();
            let (t, id) = any(rng, if again.is_empty() { &writers } else { &again })?;
            format!("split_live_range({t}, {id})")
        }
        "recognize_reduction" => {
            let own: Vec<(Name, Name)> = kernel
                .instructions
                .iter()
                .filter_map(|i| Some((i.id.clone(), i.within.last()?.clone())))
                .collect();
            // Those that combine values into one element.
            let adds = |(id, k): &&(Name, Name)| {
                kernel.instruction(id).is_some_and(|i| {
                    let index = &i.targets[0].index;
                    mentions(&i.value, &i.targets[0].array) && !index.iter().any(|e| e.names().contains(k))
                })
            };
            let mut chosen: Vec<(Name, Name)> = own.iter().filter(adds).cloned().collect();
            let is_sum = |(id, _): &&(Name, Name)| {
                kernel.instruction(id).is_some_and(|i| match &i.value {
                    Expr::Binary(BinaryOp::Add, first, _) => {
                        matches!(&**first, Expr::Subscript(a) if *a == i.targets[0])
                    }
                    _ => false,
                })
            };
            let sums: Vec<(Name, Name)> = chosen.iter().filter(is_sum).cloned().collect();
            if !sums.is_empty() {
                chosen = sums;
            }
            let (id, k) = any(rng, if chosen.is_empty() { &own } else { &chosen })?;
            format!("recognize_reduction({id}, {k})")
        }
        "privatize_updates" => {
            let updates: Vec<&Instruction> =
                kernel.instructions.iter().filter(|i| i.update.is_some()).collect();
            let i = any(rng, &updates)?;
            let iname = any(rng, &i.within)?;
            let chunk = rng.chance(60).then(|| format!(", chunk={}", 1 + rng.below(5)));
            let copies =
                rng.chance(30).then(|| format!(", copies={}, each={}", 2 + rng.below(2), 1 + rng.below(3)));
            format!(
                "privatize_updates({}, {iname}{}{})",
                i.id,
                chunk.unwrap_or_default(),
                copies.unwrap_or_default()
            )
        }
        "set_update_scope" => {
            let updates: Vec<&Instruction> =
                kernel.instructions.iter().filter(|i| i.update.is_some()).collect();
            let scope = rng.pick(&["block", "block", "device", "system"]);
            format!("set_update_scope({}, {scope})", any(rng, &updates)?.id)
        }
        "subst_to_assignment" => {
            let rules: Vec<Name> = kernel.rules.iter().map(|r| r.name.clone()).collect();
            match any(rng, &rules) {
                Some(rule) => format!("subst_to_assignment({rule})"),
                None => return step(rng, kernel, "extract_subst"),
            }
        }
        "rename_iname" => {
            let i = any(rng, &base)?;
            format!("rename_iname({i}, {i}_again)")
        }
        "set_address_space" => {
            let t = any(rng, &temporaries(kernel, |_| true))?;
            format!("set_address_space({t}, {})", rng.pick(&["private", "shared", "global"]))
        }
        "set_precision" => format!("set_precision({})", rng.pick(&["fast", "precise"])),
        "split_reduction_inward" | "split_reduction_outward" => {
            // One of several inames; a reduction over all of them has nothing to split off.
            let reductions = kernel.instructions.iter().flat_map(Instruction::reductions);
            let several: Vec<Vec<Name>> =
                reductions.map(|r| r.inames.clone()).filter(|i| i.len() > 1).collect();
            let inames = any(rng, &several)?;
            let natural = if kind == "split_reduction_inward" { inames.last() } else { inames.first() };
            let chosen = if rng.chance(85) { natural.cloned()? } else { rng.pick(&inames) };
            format!("{kind}({chosen})")
        }
        "map_domain" => match (rng.chance(75), any(rng, &loops.perfect)) {
            (true, Some((i, j))) => format!("map_domain({})", skewed(rng, &i, &j)),
            _ => {
                let i = any(rng, &names)?;
                match rng.below(3) {
                    0 => format!("map_domain([{i}] -> [{i}_u], {i}_u = {i} + {})", 1 + rng.below(3)),
                    // By an iname that may be around it.
                    1 => {
                        let outer = any(rng, &names)?;
                        format!("map_domain([{i}] -> [{i}_u], {i}_u = {i} - {outer} + {})", rng.below(3))
                    }
                    _ => format!("map_domain([{i}] -> [{i}_u], {i}_u = n - {i})"),
                }
            }
        },
        "index_set_split" => {
            let path = any(rng, &loops.paths)?;
            let i = path.last()?;
            let condition = match (rng.below(5), path.len()) {
                (0, _) => format!("{i} < {}", 1 + rng.below(3)),
                (1, _) => format!("{} <= {i}", 1 + rng.below(3)),
                (2, _) => format!("{i} + 1 < n"),
                (3, n) if n > 1 => format!("{i} <= {}", path[rng.below(n - 1)]),
                _ => format!("2*{i} < m"),
            };
            format!("index_set_split({i}, {condition}, suffix=_s{})", rng.below(1000))
        }
        "peel" => {
            let ends = rng.pick(&["first=1", "last=1", "first=1, last=1", "first=2"]);
            format!("peel({}, {ends})", any(rng, &names)?)
        }
        "reverse" => {
            let i = any(rng, &names)?;
            format!("reverse({i})")
        }
        "tile" => {
            let chain = loops.chain(rng)?;
            let lengths: Vec<String> =
                chain.iter().map(|_| rng.pick(&["2", "2", "3", "4"]).to_string()).collect();
            format!("tile([{}], [{}])", comma(&chain), lengths.join(", "))
        }
        "distribute" => {
            let i = any(rng, &loops.several)?;
            let inside: Vec<Name> =
                kernel.instructions.iter().filter(|x| x.within.contains(&i)).map(|x| x.id.clone()).collect();
            match inside.len() > 2 && rng.chance(60) {
                true => format!("distribute({i}, before=[{}])", inside[1 + rng.below(inside.len() - 1)]),
                false => format!("distribute({i})"),
            }
        }
        "fuse_loops" => {
            let (i, j) = any(rng, &loops.neighbours)?;
            match rng.chance(10) {
                true => format!("fuse_loops([{j}, {i}])"),
                false => format!("fuse_loops([{i}, {j}])"),
            }
        }
        "fuse_maximal" => {
            let (i, j) = any(rng, &loops.neighbours)?;
            let mut all = vec![i, j];
            while let Some((_, next)) = loops.neighbours.iter().find(|(before, _)| all.last() == Some(before))
            {
                all.push(next.clone());
            }
            format!("fuse_maximal({})", comma(&all))
        }
        "map_array" => {
            let t = any(rng, &temporaries(kernel, |t| !t.axes.is_empty()))?;
            let rank = kernel.temporary(&t)?.axes.len();
            let old: Vec<String> = (0..rank).map(|k| format!("x{k}")).collect();
            let mut new = old.clone();
            match rng.below(5) {
                0 => new[0] = "x0 + 2".into(),
                1 => new[0] = "7 - x0".into(),
                2 if rank > 1 => new[1] = "x0 + x1".into(),
                2 | 3 => new = [&["x0 // 2".to_string(), "x0 % 2".to_string()], &old[1..]].concat(),
                _ => new.reverse(),
            }
            format!("map_array({t}, [{}] -> [{}])", old.join(", "), new.join(", "))
        }
        "privatize_temporary" => {
            let t = any(rng, &temporaries(kernel, |_| true))?;
            let touching = kernel
                .instructions
                .iter()
                .filter(|i| mentions(&i.value, &t) || i.targets.iter().any(|x| x.array == t));
            let mut common: Option<Vec<Name>> = None;
            for i in touching {
                let inames = &i.within;
                common = Some(match common {
                    None => inames.clone(),
                    Some(c) => c.into_iter().filter(|n| inames.contains(n)).collect(),
                });
            }
            format!("privatize_temporary({t}, [{}])", any(rng, &common?)?)
        }
        "unprivatize_temporary" => {
            format!("unprivatize_temporary({}, 0)", any(rng, &temporaries(kernel, |t| !t.axes.is_empty()))?)
        }
        "alias_temporaries" => {
            let first = any(rng, &kernel.temporaries)?;
            let others = temporaries(kernel, |t| {
                t.name != first.name
                    && t.space == first.space
                    && t.axes == first.axes
                    && t.dtype == first.dtype
            });
            let second = any(rng, &others)?;
            format!("alias_temporaries([{}, {second}])", first.name)
        }
        "realize_scan" => {
            let growing = growing(kernel);
            let (sweep, point) = any(rng, &if growing.is_empty() { scans(kernel) } else { growing })?;
            format!("realize_scan({sweep}, {point})")
        }
        "flatten_ragged" => {
            let (s, i) = any(rng, &segments(kernel))?;
            let (threads, items) = (rng.pick(&[32, 32, 64]), rng.pick(&[8, 16, 32]));
            let runs = rng.pick(&[
                "tiles=1",
                "tiles=2",
                "tiles=2, full_chunks=1, tail_tiles=1",
                "tiles=3, full_chunks=2, tail_tiles=1",
            ]);
            format!("flatten_ragged({s}, {i}, threads={threads}, items={items}, {runs})")
        }
        "save_reload" => {
            let local = |t: &Array| t.space != AddressSpace::Global;
            format!("save_reload({})", any(rng, &temporaries(kernel, local))?)
        }
        "chunk_iname" => format!("chunk_iname({}, {})", any(rng, &free)?, rng.pick(&[2, 2, 3])),
        "double_buffer" | "pipeline" | "advance" => {
            let copies: Vec<&Instruction> = kernel
                .instructions
                .iter()
                .filter(|i| kernel.temporary(&i.targets[0].array).is_some() && !i.within.is_empty())
                .collect();
            let copied: Vec<&Instruction> =
                copies.iter().copied().filter(|i| i.id.contains("fetch") || i.id.contains("load")).collect();
            let copy = if copied.is_empty() { any(rng, &copies)? } else { any(rng, &copied)? };
            let around: Vec<Name> = loops
                .paths
                .iter()
                .filter_map(|p| p.last())
                .filter(|i| copy.within.contains(i))
                .cloned()
                .collect();
            let (buffer, around) = (&copy.targets[0].array, any(rng, &around)?);
            match kind {
                "pipeline" => {
                    let issue = rng.pick(&["", "", ", issue=last", ", issue=staged"]);
                    format!("pipeline({around}, [{buffer}], stages={}{issue})", rng.pick(&[2, 3, 3, 4]))
                }
                "advance" => format!("advance({around}, [{}])", copy.id),
                _ => format!("double_buffer({buffer}, {around})"),
            }
        }
        "buffer_array" => {
            let written: Vec<Name> = kernel
                .instructions
                .iter()
                .map(|i| i.targets[0].array.clone())
                .filter(|a| kernel.temporary(a).is_none())
                .collect();
            let array = any(rng, &written)?;
            let over = sweep(rng, kernel, &array, true)?;
            let mut text = format!("buffer_array({array}, [{}]", comma(&over));
            if rng.chance(25) {
                text += ", space=shared";
            }
            if rng.chance(25) {
                text += ", init=none";
            }
            text + ")"
        }
        "simplify" => {
            let ids: Vec<Name> = kernel.instructions.iter().map(|i| i.id.clone()).collect();
            format!("simplify([{}])", comma(&ids))
        }
        "collect_common_factors" => {
            let ids: Vec<Name> = kernel.instructions.iter().map(|i| i.id.clone()).collect();
            match collected(rng, kernel) {
                Some(step) => step,
                None => format!("collect_common_factors({}, rounding=any)", any(rng, &ids)?),
            }
        }
        "assign_common_subexpressions" => {
            let first = any(rng, &kernel.instructions)?;
            let alike = kernel.instructions.iter().filter(|i| i.within == first.within);
            let ids: Vec<Name> = alike.map(|i| i.id.clone()).collect();
            format!("assign_common_subexpressions([{}])", comma(&ids))
        }
        "separate_axis" => {
            // Mostly axes whose subscripts are numbers; slots and reversed halves are made by
            // steps.
            let constant = |t: &Array| t.axes.iter().any(|a| matches!(a.length, Expr::Int(1..=8)));
            let t = any(rng, &temporaries(kernel, constant))?;
            let array = kernel.temporary(&t)?;
            let short = |k: &usize| matches!(array.axes[*k].length, Expr::Int(1..=8));
            let axes: Vec<usize> = (0..array.axes.len()).filter(short).collect();
            format!("separate_axis({t}, {})", any(rng, &axes)?)
        }
        "concatenate_arrays" => {
            let a = any(rng, &temporaries(kernel, |t| !t.axes.is_empty()))?;
            let first = kernel.temporary(&a)?;
            let alike = |t: &Array| {
                (t.name != a && t.axes.len() == first.axes.len())
                    && (t.dtype == first.dtype && t.space == first.space)
            };
            let b = any(rng, &temporaries(kernel, alike))?;
            format!("concatenate_arrays([{a}, {b}], axis={})", rng.below(first.axes.len()))
        }
        "pack_array" => {
            let arrays = kernel.args.iter().filter(|a| matches!(a, Arg::Array(_)));
            let arrays: Vec<Name> = arrays.map(|a| a.name().clone()).collect();
            format!("pack_array({})", any(rng, &arrays)?)
        }
        "together" | "composite" => {
            let inside =
                ["reorder", "reverse", "map_domain", "split_iname", "tag_inames", "fuse_loops", "distribute"];
            let first = rng.pick(&inside);
            let first = step(rng, kernel, first)?;
            let parsed = Step::parse(&first).ok()?;
            let between = parsed.rule().apply(kernel).ok()?;
            let second = rng.pick(&inside);
            let second = step(rng, &between, second)?;
            let name = if kind == "together" { "together" } else { "both" };
            format!("{name} {{ {first}; {second} }}")
        }
        "tensorize" | "map_to_atom" | "prefetch_fragments" | "store_matrices" => {
            products::step(rng, kernel, kind)?
        }
        "user" => "turn()".to_string(),
        _ => return None,
    })
}
