//! Spreads the loops of a copy over the threads of a block.
//!
//! The last axis of the tile is mapped to `thread.x`, so that neighbouring threads fetch
//! neighbouring cells; the axis before it to `thread.y`, and so on. An axis longer than its number
//! of threads is split, and the outer part unrolled if it is short. If threads would be idle,
//! because the block has one axis and the tile's last one is shorter, or because the block has more
//! axes than the tile, the axes are joined and distributed over all threads.
//!
//! A copy by vectors is spread in the same way over vectors: the last axis is split first, and the
//! elements of a vector become lanes of its thread.

use loopwright_kernel_ir::{AddressSpace, Array, Diagnostic, Dim, LoopKernel, Name, Tag};

use crate::{
    JoinInames, Number, SplitIname, TagInames, Transform,
    rewrite::{extent, footprint::Span, fresh},
};

/// Loops of more iterations than this are not unrolled automatically.
const UNROLL_LIMIT: i64 = 16;

/// One loop of the copy: its iname and its length.
pub(crate) type Fetch = (Name, i64);

fn tag(kernel: &LoopKernel, iname: &Name, tag: Tag) -> Result<LoopKernel, Diagnostic> {
    TagInames { tags: vec![(iname.clone(), tag)] }.apply(kernel)
}

/// The kernel with the copy's loops spread over threads. Before, they are sequential and perfectly
/// nested in the order of `fetch`.
///
/// If `deal` is set, the axes are joined unless each is a multiple of its threads, so that no
/// thread is idle.
fn over_threads(kernel: &LoopKernel, fetch: &[Fetch], deal: bool) -> Result<LoopKernel, Diagnostic> {
    let Some((first, _)) = fetch.first() else { return Ok(kernel.clone()) };
    let shape: Vec<(Dim, i64)> =
        extent::block_shape(kernel, first)?.into_iter().filter(|(_, threads)| *threads > 1).collect();
    if shape.is_empty() {
        return Ok(kernel.clone());
    }
    let mut kernel = kernel.clone();
    let mut fetch = fetch.to_vec();
    let shorter = fetch.last().is_some_and(|(_, l)| *l < shape[0].1);
    let uneven = deal && fetch.iter().rev().zip(&shape).any(|((_, l), (_, threads))| l % threads != 0);
    if fetch.len() > 1 && (shape.len() > fetch.len() || (shape.len() == 1 && shorter) || uneven) {
        let names: Vec<Name> = fetch.iter().map(|(n, _)| n.clone()).collect();
        let stem = names[0].trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
        let joined = fresh(&kernel, &stem);
        kernel = JoinInames::new(names).named(joined.clone()).apply(&kernel)?;
        let total = fetch
            .iter()
            .try_fold(1i64, |t, (_, l)| t.checked_mul(*l))
            .ok_or(loopwright_poly::Error::Overflow)?;
        fetch = vec![(joined, total)];
    }
    // A tile of one axis: the part that remains after one axis of threads goes to the next.
    let chain = fetch.len() == 1;
    for (dim, threads) in &shape {
        let Some((iname, length)) = fetch.pop() else { break };
        if length <= *threads {
            kernel = tag(&kernel, &iname, Tag::Thread(*dim))?;
            if chain {
                break;
            }
            continue;
        }
        let outer = fresh(&kernel, &format!("{iname}_outer"));
        let inner = fresh(&kernel, &format!("{iname}_inner"));
        kernel = SplitIname::new(&iname, *threads).named(outer.clone(), inner.clone()).apply(&kernel)?;
        kernel = tag(&kernel, &inner, Tag::Thread(*dim))?;
        // Rounded up; `length + threads - 1` may go past 64 bits.
        let left = length / threads + i64::from(length % threads != 0);
        let last = shape.last().is_some_and(|(d, _)| d == dim);
        if chain && !last {
            fetch.push((outer, left));
        } else if left <= UNROLL_LIMIT {
            kernel = tag(&kernel, &outer, Tag::Unroll)?;
        }
    }
    Ok(kernel)
}

/// The kernel with the copy's loops unrolled if they are short in total: a private array can then
/// be in registers.
fn unrolled(kernel: &LoopKernel, fetch: &[Fetch]) -> Result<LoopKernel, Diagnostic> {
    let total = fetch.iter().try_fold(1i64, |t, (_, l)| t.checked_mul(*l));
    if total.is_none_or(|t| t > 4 * UNROLL_LIMIT) {
        return Ok(kernel.clone());
    }
    let mut kernel = kernel.clone();
    for (iname, _) in fetch {
        kernel = tag(&kernel, iname, Tag::Unroll)?;
    }
    Ok(kernel)
}

/// The number of elements of the vectors by which a box of an array is copied, which has to divide
/// the length of the copy along the axis whose neighbours are neighbours in memory.
pub(crate) fn vector(wanted: &Number, source: &Array, spans: &[Span]) -> Result<i64, Diagnostic> {
    let vector = wanted.at_least(1, "the number of elements of a vector")?;
    if vector == 1 {
        return Ok(1);
    }
    let refuse = |why: String, help: &str| {
        let array = &source.name;
        Err(Diagnostic::new("prefetch-vector", format!("`{array}` cannot be copied by vectors: {why}"))
            .help(help.to_string()))
    };
    if ![2, 4, 8, 16].contains(&vector) {
        return refuse(format!("there are no vectors of {vector}"), "give 2, 4, 8 or 16 elements");
    }
    let dense = source.storage_order().last().copied();
    let last = (0..spans.len()).rev().find(|k| spans[*k].length > 1);
    match (dense, last) {
        (Some(dense), Some(last)) if dense == last && spans[last].step == 1 => {}
        _ => {
            return refuse(
                "the last axis of its tile is not the one whose elements are neighbours in memory"
                    .to_string(),
                "sweep over the axis along which neighbours lie, or copy single elements",
            );
        }
    }
    let length = last.map_or(1, |k| spans[k].length);
    if length % vector != 0 {
        return refuse(
            format!("a row of its tile has {length} elements, which is no multiple of {vector}"),
            "choose a tile whose rows consist of whole vectors",
        );
    }
    Ok(vector)
}

/// The kernel with the last of the copy's loops split into vectors of this many elements, which are
/// lanes, and the loops that are left.
fn by_vectors(
    kernel: &LoopKernel,
    fetch: &[Fetch],
    vector: i64,
) -> Result<(LoopKernel, Vec<Fetch>), Diagnostic> {
    let Some(((iname, length), before)) = fetch.split_last() else {
        return Ok((kernel.clone(), Vec::new()));
    };
    let lane = fresh(kernel, &format!("{iname}_vec"));
    let mut fetch = before.to_vec();
    if *length == vector {
        return Ok((tag(kernel, iname, Tag::Vec)?, fetch));
    }
    let outer = fresh(kernel, &format!("{iname}_vectors"));
    let kernel = SplitIname::new(iname, vector).named(outer.clone(), lane.clone()).apply(kernel)?;
    fetch.push((outer, length / vector));
    Ok((tag(&kernel, &lane, Tag::Vec)?, fetch))
}

/// The kernel with the copy's loops unrolled for a private buffer, and spread over the threads of
/// the block for any other. A `vector` of more than one element, which divides the last
/// length, is moved by one thread at once.
pub(crate) fn for_space(
    kernel: &LoopKernel,
    fetch: &[Fetch],
    space: AddressSpace,
    vector: i64,
) -> Result<LoopKernel, Diagnostic> {
    let (kernel, fetch) = match vector {
        1 => (kernel.clone(), fetch.to_vec()),
        _ => by_vectors(kernel, fetch, vector)?,
    };
    match space {
        AddressSpace::Private => unrolled(&kernel, &fetch),
        AddressSpace::Shared | AddressSpace::Global | AddressSpace::Constant => {
            over_threads(&kernel, &fetch, vector > 1)
        }
    }
}
