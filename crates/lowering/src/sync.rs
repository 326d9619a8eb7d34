//! Where threads have to wait for each other: barriers inside device kernels, cuts between them, and what no synchronisation mends.
//!
//! For each pair of accesses to one shared or written global array, one of them writing, the question is asked for each way in which
//! their times can differ: at the same iteration of all common loops (then the order is that of the text), or in an earlier
//! iteration of the n-th common loop. Where different threads of a block may meet, a barrier has to stand at the first component
//! where the times differ: between the two children of that body, or anywhere around the back edge of that loop. Where different
//! blocks may meet, a kernel boundary has to stand there, which only the host's level has. The fewest barriers that stab all
//! intervals of a body are placed greedily, each as late as possible; a back edge gets one at the end of the body unless one that
//! is already there separates the pair.

use loopwright_kernel_ir::{AddressSpace, Diagnostic, Name};
use loopwright_legality::{Access, Meeting, Query, Time, may_meet};

use crate::{
    analysis::Analysis,
    items::{Item, Join},
    program::Note,
};

/// Two accesses that need an order between different threads or blocks, and why.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    /// Positions of leaves in order of the text.
    pub from: usize,
    pub to: usize,
    /// `None`: the same iteration of all common loops. `Some(n)`: `from` in an earlier iteration of common loop `n`.
    pub carried: Option<usize>,
    pub note: String,
}

/// All pairs of accesses of these parts that may meet. `block` is the shape of the block.
///
/// Errors: two executions that nothing can order, as two threads that write one cell at the same time.
pub(crate) fn needs(
    analysis: &Analysis<'_>,
    parts: &[usize],
    block: [u32; 3],
    meeting: Meeting,
) -> Result<Vec<Need>, Diagnostic> {
    let mut needs = Vec::new();
    // Arrays in the order of their first access, so that the result is the same in every run.
    let mut arrays: Vec<(Name, Vec<(usize, usize)>)> = Vec::new();
    let mut index = std::collections::BTreeMap::new();
    for &p in parts {
        for (k, access) in analysis.parts[p].execution.accesses.iter().enumerate() {
            let Some(array) = analysis.lookup.array(&access.array) else { continue };
            let relevant = match meeting {
                Meeting::Threads => array.space != AddressSpace::Private,
                Meeting::Blocks => array.space == AddressSpace::Global,
                Meeting::Lanes => true,
            };
            if relevant {
                let n = *index.entry(access.array.clone()).or_insert_with(|| {
                    arrays.push((access.array.clone(), Vec::new()));
                    arrays.len() - 1
                });
                arrays[n].1.push((p, k));
            }
        }
    }
    let shared = |n: &Name| analysis.is_parameter(n);
    for (array, touches) in &arrays {
        for (i, &(p, k)) in touches.iter().enumerate() {
            for &(q, l) in &touches[i..] {
                let (a, b) = (&analysis.parts[p].execution, &analysis.parts[q].execution);
                let (x, y) = (&a.accesses[k], &b.accesses[l]);
                if !(x.write || y.write) {
                    continue;
                }
                let common = a.loops.iter().zip(&b.loops).take_while(|(s, t)| s == t).count();
                let ask = |a, x, b, y, time| -> Result<bool, Diagnostic> {
                    let query = Query { meeting, time, context: &analysis.context, shared: &shared, block };
                    Ok(may_meet(a, x, b, y, &query)?)
                };
                let describe = |a: &loopwright_legality::Execution,
                                x: &Access,
                                b: &loopwright_legality::Execution,
                                y: &Access| {
                    let verb = |x: &Access| if x.write { "writes" } else { "reads" };
                    format!("{} {} {array}, {} {} it", a.part, verb(x), b.part, verb(y))
                };
                if ask(a, x, b, y, Time::Same)? {
                    if p == q {
                        return Err(race(analysis, meeting, array, p, q));
                    }
                    if meeting == Meeting::Lanes {
                        // All lanes of one statement run before the next.
                    } else {
                        needs.push(Need { from: p, to: q, carried: None, note: describe(a, x, b, y) });
                    }
                }
                if meeting == Meeting::Lanes {
                    continue;
                }
                for n in 0..common {
                    if ask(a, x, b, y, Time::Earlier(n))? {
                        needs.push(Need { from: p, to: q, carried: Some(n), note: describe(a, x, b, y) });
                    }
                    if (p, k) != (q, l) && ask(b, y, a, x, Time::Earlier(n))? {
                        needs.push(Need { from: q, to: p, carried: Some(n), note: describe(b, y, a, x) });
                    }
                }
            }
        }
    }
    Ok(needs)
}

fn race(analysis: &Analysis<'_>, meeting: Meeting, array: &Name, p: usize, q: usize) -> Diagnostic {
    let (a, b) = (&analysis.parts[p].execution.part, &analysis.parts[q].execution.part);
    let who = match meeting {
        Meeting::Threads => "threads of a block",
        Meeting::Blocks => "blocks",
        Meeting::Lanes => "lanes of a thread",
    };
    let parallel: Vec<String> = analysis.parts[p]
        .inames
        .iter()
        .filter(|i| {
            let tag = analysis.kernel.tag(i);
            match meeting {
                Meeting::Threads => tag.thread_axis().is_some(),
                Meeting::Blocks => tag.block_axis().is_some(),
                Meeting::Lanes => tag.is_jam(),
            }
        })
        .map(|i| format!("`{i}: {}`", analysis.kernel.tag(i)))
        .collect();
    Diagnostic::new(
        "race",
        format!("different {who} may touch the same cell of `{array}` at the same time: {a} and {b}"),
    )
    .help(format!(
        "{} cannot run in parallel here: leave the iname sequential, or write different cells",
        if parallel.is_empty() { "the iname".to_string() } else { parallel.join(", ") }
    ))
}

/// The item that each part is in, by number.
pub(crate) fn homes(items: &[Item]) -> std::collections::HashMap<usize, usize> {
    let mut homes = std::collections::HashMap::new();
    for (k, item) in items.iter().enumerate() {
        for part in Item::parts(std::slice::from_ref(item)) {
            homes.insert(part, k);
        }
    }
    homes
}

/// Where a need lies in a body: the children that hold the two leaves.
struct Interval {
    from: usize,
    to: usize,
    carried: bool,
    note: String,
}

/// The items with the barriers that the needs ask for; `depth` host loops are around them. Joins that use shared memory need one around back edges as well.
pub(crate) fn place_barriers(
    analysis: &Analysis<'_>,
    items: Vec<Item>,
    needs: &[Need],
    depth: usize,
    joins_use_shared: &dyn Fn(&Join) -> bool,
) -> Vec<Item> {
    place(analysis, items, needs, depth, joins_use_shared)
}

fn place(
    analysis: &Analysis<'_>,
    items: Vec<Item>,
    needs: &[Need],
    depth: usize,
    joins_use_shared: &dyn Fn(&Join) -> bool,
) -> Vec<Item> {
    let homes = homes(&items);
    let position = |leaf: usize| homes.get(&leaf).copied();
    let mut intervals: Vec<Interval> = Vec::new();
    let mut inner: Vec<Vec<Need>> = vec![Vec::new(); items.len()];
    for need in needs {
        let (Some(from), Some(to)) = (position(need.from), position(need.to)) else { continue };
        match need.carried {
            // The loop whose back edge is meant is the one around this body.
            Some(n) if n + 1 == depth => {
                intervals.push(Interval { from, to, carried: true, note: need.note.clone() });
            }
            _ if from == to => inner[from].push(need.clone()),
            None => intervals.push(Interval { from, to, carried: false, note: need.note.clone() }),
            Some(_) => {}
        }
    }
    // A scratch array of a join is read at its end and written at the next one's beginning.
    if depth > 0 {
        for (k, item) in items.iter().enumerate() {
            if let Item::Join(join) = item
                && joins_use_shared(join)
            {
                let note = "the partial results are written again in the next iteration".to_string();
                intervals.push(Interval { from: k, to: k, carried: true, note });
            }
        }
    }
    // Barriers by the child that they stand before.
    let mut barriers: std::collections::BTreeMap<usize, String> = std::collections::BTreeMap::new();
    let mut forward: Vec<&Interval> = intervals.iter().filter(|i| !i.carried && i.from != i.to).collect();
    forward.sort_by_key(|i| (i.to.max(i.from), i.from.min(i.to)));
    for interval in forward {
        let (from, to) = (interval.from.min(interval.to), interval.from.max(interval.to));
        if !barriers.keys().any(|b| from < *b && *b <= to) {
            barriers.insert(to, interval.note.clone());
        }
    }
    let end = items.len();
    for interval in intervals.iter().filter(|i| i.carried) {
        if !barriers.keys().any(|b| *b > interval.from || *b <= interval.to) {
            barriers.insert(
                end,
                format!("{} in the next iteration", interval.note.trim_end_matches(" in the next iteration")),
            );
        }
    }
    let mut placed = Vec::new();
    for (k, item) in items.into_iter().enumerate() {
        if let Some(note) = barriers.get(&k) {
            placed.push(Item::Sync(Note(note.clone())));
        }
        placed.push(match item {
            Item::Loop { iname, body } => {
                let body = place(analysis, body, &inner[k], depth + 1, joins_use_shared);
                Item::Loop { iname, body }
            }
            other => other,
        });
    }
    if let Some(note) = barriers.get(&end) {
        placed.push(Item::Sync(Note(note.clone())));
    }
    placed
}
