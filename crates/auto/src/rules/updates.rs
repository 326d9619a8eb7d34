//! Updates of elements that data choose: histograms, sums by key.
//!
//! Updates of one element by many threads wait for each other in the second-level cache, which does
//! one at a time. So where the elements fit in shared memory, each block updates a copy of its own,
//! and the copies are joined at the end (`privatize_updates`). A block takes as many updates as
//! leave the device full, and enough that the joins, one for each element and block, are few beside
//! them. Where there are more elements than updates for a multiprocessor, most are met once, and
//! global memory is the better place.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel histogram(keys: u8[n], counts: i32[256], n: i32)
//! assume 0 <= n
//! domain { [i] : 0 <= i < n }
//! counts[keys[i]] += 1 {id=count}
//! ")?;
//! assert_eq!(auto(&kernel, &Target::default()).pipeline.to_string(), "\
//! privatize_updates(count, i, chunk=65536, outer=i_chunk)
//! split_iname(i, 256)
//! tag_inames(i_chunk: block.x, counts_s0: thread.x, counts_j0: thread.x, i_inner: thread.x)
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{DType, Expr, Fact, Instruction, KernelData, Name};
use loopwright_lowering::Target;

use crate::{
    Nest, Proposal, Rule, Wish,
    grid::{AXES, Along, on_axes},
    text::{split, split_as, tag},
};

pub struct Updates;

/// Threads of each block.
const THREADS: i64 = 256;
/// Updates in shared memory for each one in global memory, as far as the device stays full: with so
/// many, joins take a small part of the time.
const FOR_A_JOIN: i64 = 64;
/// The same where the number of updates is not known, and the most updates of a block then.
const FOR_A_JOIN_OF_MANY: i64 = 256;
const OF_MANY: i64 = 1 << 16;
/// Blocks of each multiprocessor at least, so that some update while others begin or join.
const BLOCKS: i64 = 2;

/// The axes of the updated array at which the loop over `i` updates several places, with their
/// lengths; `None` if data of the loop choose none of them, or a length is not known.
fn chosen(nest: &Nest<'_>, up: &Instruction, i: &Name, around: &[Name]) -> Option<Vec<i64>> {
    let [target] = up.targets.as_slice() else { return None };
    let kernel = nest.kernel;
    let fixed = |e: &Expr| {
        e.to_aff().is_some_and(|aff| !aff.mentions_any(&|n| kernel.is_iname(n) && !around.contains(n)))
    };
    let axes = &kernel.array(&target.array)?.axes;
    let several = || target.index.iter().zip(axes).filter(|(e, _)| !fixed(e));
    if !several().any(|(e, _)| e.to_aff().is_none() && e.names().contains(i)) {
        return None;
    }
    let mut lengths = Vec::new();
    for (_, axis) in several() {
        let length = axis.length.to_aff()?;
        if let (None, Some(parameter)) = (length.as_constant(), length.as_var()) {
            nest.wish_fixed(parameter, "copies of what is updated in shared memory");
        }
        lengths.push(length.as_constant().filter(|length| *length > 0)?);
    }
    Some(lengths)
}

/// The arrays of subscripts whose values are in no declared range, so that nothing says that they
/// stay within a copy.
fn without_range(kernel: &KernelData, up: &Instruction) -> Vec<Name> {
    let is_ranged = |array: &Name| {
        let narrow = |t: DType| t.is_integer() && t.bytes() <= 2;
        kernel.array(array).and_then(|a| a.dtype.known()).is_some_and(narrow)
            || kernel.facts.iter().any(|fact| {
                matches!(fact, Fact::Range { array: of, lower: Some(_), upper: Some(_) } if of == array)
            })
    };
    let read = up.targets.iter().flat_map(|t| &t.index).flat_map(Expr::accesses).map(|a| a.array.clone());
    read.filter(|array| !is_ranged(array)).collect()
}

impl Rule for Updates {
    fn name(&self) -> &'static str {
        "updates"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        let ([up], Some((i, around))) = (nest.instructions.as_slice(), nest.band.split_last()) else {
            return Vec::new();
        };
        if up.update.is_none() || !nest.inner.is_empty() || !nest.is_map() {
            return Vec::new();
        }
        let Some(lengths) = chosen(nest, up, i, around) else { return Vec::new() };
        let Some(array) = up.targets.first().and_then(|t| nest.kernel.array(&t.array)) else {
            return Vec::new();
        };
        let cells = lengths.iter().fold(1i64, |product, length| product.saturating_mul(*length));
        let bytes = i64::try_from(array.dtype.known().map_or(8, DType::bytes)).unwrap_or(8);
        let all = cells.saturating_mul(bytes);
        if u64::try_from(all).is_ok_and(|all| all > target.static_shared) {
            nest.remark(format!(
                "data choose among {cells} elements of `{}`, {all} bytes, and blocks have {} bytes of shared \
                 memory for copies of them: they are updated in global memory",
                array.name, target.static_shared
            ));
            return Vec::new();
        }
        if let Some(open) = without_range(nest.kernel, up).first() {
            let range = lengths.first().copied().unwrap_or(cells);
            let fact =
                Fact::Range { array: open.clone(), lower: Some(Expr::Int(0)), upper: Some(Expr::Int(range)) };
            nest.wish(Wish::Fact { fact, allows: format!("copies of `{}` in shared memory", array.name) });
            return Vec::new();
        }
        let length = nest.extent(i);
        let chunk = match length.and_then(|n| Some(n.saturating_mul(nest.count(around)?))) {
            Some(all) => {
                let of_one = all / i64::from(nest.launch().multiprocessors.max(1));
                if of_one < cells {
                    nest.remark(format!(
                        "a multiprocessor has {of_one} updates for {cells} elements of `{}`: copies in shared \
                         memory would be joined more often than they are updated",
                        array.name
                    ));
                    return Vec::new();
                }
                let resident = (nest.launch().places() / THREADS).max(1);
                (all / resident).max((of_one / BLOCKS).min(cells.saturating_mul(FOR_A_JOIN)))
            }
            None => cells.saturating_mul(FOR_A_JOIN_OF_MANY).min(OF_MANY),
        };
        let width = nest.vector(i, target.widest_access as usize);
        let round = THREADS * width;
        let rounds = chunk.saturating_add(round - 1) / round;
        let chunk = rounds.max(1).saturating_mul(round);
        let chunk =
            (length.is_none_or(|n| n > chunk)).then_some((chunk, nest.next_name(&format!("{i}_chunk"))));
        let up = &up.id;
        let reason = format!(
            "data choose among {cells} elements of `{}`: each block updates a copy of its own in shared \
             memory, with which the array is updated at the end",
            array.name
        );
        let mut proposal = Proposal::new(reason).step(match &chunk {
            Some((length, outer)) => format!("privatize_updates({up}, {i}, chunk={length}, outer={outer})"),
            None => format!("privatize_updates({up}, {i})"),
        });
        proposal = proposal.step(split(i, round));
        let mut inner = Vec::new();
        // What is started and joined: the last axis along the threads.
        for letter in ["s", "j"] {
            let axis = |k: usize| nest.next_name(&format!("{}_{letter}{k}", array.name));
            let (Some(length), Some(last)) = (lengths.last(), lengths.len().checked_sub(1).map(axis)) else {
                continue;
            };
            if *length > THREADS {
                proposal = proposal.step(split(&last, THREADS));
                inner.push((format!("{last}_inner"), "thread.x"));
            } else {
                inner.push((last, "thread.x"));
            }
        }
        if width > 1 {
            let parts = [format!("{i}_thread"), format!("{i}_vec")];
            proposal = proposal.step(split_as(format!("{i}_inner"), width, &parts[0], &parts[1]));
            inner.extend(parts.into_iter().zip(["thread.x", "vec"]));
        } else {
            inner.push((format!("{i}_inner"), "thread.x"));
        }
        let mut loops: Vec<Along> = around.iter().rev().map(Along::whole).collect();
        if let Some((length, outer)) = chunk {
            loops.insert(0, Along { of: i.clone(), each: length, blocks: outer, length: None });
        }
        let (proposal, mut tags) = on_axes(nest, proposal, loops, &AXES);
        tags.extend(inner);
        vec![proposal.step(tag(&tags))]
    }
}
