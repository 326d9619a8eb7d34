//! Statements under one loop that are better off with a nest of their own: two products, one after
//! the other, of the same rows, or one whose results a row keeps to itself.
//!
//! As long as they share the loop, a block or a thread would do all the work of a row. Each by
//! itself has a second loop around its sum, so that a block can take a tile of results. Where
//! values pass from one to the other in memory, the loop is taken apart (`distribute`), and each
//! nest is decided about by itself. Statements whose sums have no loop of their own around them, as
//! of a softmax, share what they read, and stay together, unless a launch has fewer rows than the
//! device has room for, and so long ones that more launches are less: then each statement gets
//! several blocks for a row, and values pass through global memory.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel twice(a: f32[n, n], b: f32[n, n], t: f32[n, n], c: f32[n, n], n: i32)
//! assume 1 <= n
//! domain { [i] : 0 <= i < n }
//! domain { [j] : 0 <= j < n }
//! domain { [k] : 0 <= k < n }
//! domain { [l] : 0 <= l < n }
//! domain { [p] : 0 <= p < n }
//! t[i, j] = sum(k, a[i, k]*b[k, j]) {id=first}
//! c[i, l] = sum(p, t[i, p]*b[p, l]) {id=second}
//! ")?;
//! let found = auto(&kernel, &Target::default());
//! assert_eq!(found.decisions[0].steps[0].to_string(), "distribute(i)");
//! assert_eq!(found.decisions[1].rule, Some("product"));
//! assert_eq!(found.decisions[2].rule, Some("product"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{AddressSpace, Instruction, Name, Tree};
use loopwright_lowering::Target;

use super::rows::{self, LAUNCH};
use crate::{Nest, Proposal, Rule, Site, Stride};

pub struct Apart;

/// Loads that a thread has in flight: while one is used, the next is under way.
const LOADS: i64 = 2;

impl Rule for Apart {
    fn name(&self) -> &'static str {
        "apart"
    }

    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal> {
        if nest.band.len() > 1 {
            return beside_each_other(nest).into_iter().collect();
        }
        let [i] = nest.band.as_slice() else { return Vec::new() };
        let Tree::Loop { body, .. } = nest.tree() else { return Vec::new() };
        if body.len() < 2 || !nest.is_parallel(i) {
            return Vec::new();
        }
        let first = products(nest, i).or_else(|| kept_by_rows(nest, i, body));
        first.or_else(|| long_rows(nest, i, target)).into_iter().collect()
    }
}

/// Sums with loops of their own around them.
fn products(nest: &Nest<'_>, i: &Name) -> Option<Proposal> {
    let is_product =
        |i: &&&Instruction| !i.reductions().is_empty() && i.within.iter().any(|n| nest.inner.contains(n));
    let products = nest.instructions.iter().filter(is_product).count();
    let reason = format!(
        "{products} sums under `{i}` have loops of their own around them: apart from one another, \
         each is spread along both"
    );
    (products >= 2).then(|| Proposal::new(reason).step(format!("distribute({i})")))
}

/// One product whose results a row keeps to itself, and which has a factor that all rows share: in
/// global memory the results are those of a matrix product, which reads the factor once for many
/// rows.
fn kept_by_rows(nest: &Nest<'_>, i: &Name, body: &[Tree]) -> Option<Proposal> {
    let is_product = |own: &&&Instruction| {
        let of = |s: &&Site| s.instruction == own.id && s.inames.len() > own.within.len();
        own.reductions().len() == 1
            && own.within.iter().any(|n| nest.inner.contains(n))
            && nest.sites.iter().filter(of).any(|s| s.stride(i) == Stride::Same)
            && nest.sites.iter().filter(of).any(|s| s.stride(i) != Stride::Same)
    };
    let product = nest.instructions.iter().find(is_product)?;
    let [target] = product.targets.as_slice() else { return None };
    let array = nest.kernel.temporary(&target.array)?;
    if array.space != AddressSpace::Private || array.axes.is_empty() {
        return None;
    }
    let belongs = |tree: &Tree| tree.leaves().iter().any(|part| part.instruction == product.id);
    let own = body.iter().position(belongs)?;
    let first = |tree: &Tree| tree.leaves().first().map(|part| part.instruction.clone());
    let behind = body[own..].iter().find(|tree| !belongs(tree)).and_then(first);
    let cuts: Vec<Name> = (own > 0).then(|| product.id.clone()).into_iter().chain(behind).collect();
    let cuts: Vec<&str> = cuts.iter().map(|n| &**n).collect();
    let name = &array.name;
    let reason = format!(
        "all rows share a factor of `{name}`, which each keeps to itself: in global memory it is a product \
         whose tiles read the factor once for many rows"
    );
    let proposal = Proposal::new(reason)
        .step(format!("set_address_space({name}, global)"))
        .step(format!("privatize_temporary({name}, [{i}])"));
    Some(proposal.step(format!("distribute({i}, before=[{}])", cuts.join(", "))))
}

/// Products whose results have the same loops, as projections of the same rows: each has a tile of
/// its own.
fn beside_each_other(nest: &Nest<'_>) -> Option<Proposal> {
    let [.., y, x] = nest.band.as_slice() else { return None };
    let is_product = |i: &&Instruction| {
        let reads = |fixed: &Name, moving: &Name| {
            nest.sites.iter().any(|s| {
                s.instruction == i.id
                    && s.inames.len() > i.within.len()
                    && s.stride(fixed) == Stride::Same
                    && s.stride(moving) != Stride::Same
            })
        };
        i.reductions().len() == 1 && reads(x, y) && reads(y, x)
    };
    let all = nest.instructions.len();
    if all < 2 || !nest.inner.is_empty() || !nest.instructions.iter().all(is_product) {
        return None;
    }
    let reason = format!("{all} products have the loops over `{y}` and `{x}`: each gets tiles of its own");
    let apart = |proposal: Proposal, n: &Name| proposal.step(format!("distribute({n})"));
    Some(nest.band.iter().rev().fold(Proposal::new(reason), apart))
}

/// Statements along rows that are so few and so long that several blocks had better work on each.
fn long_rows(nest: &Nest<'_>, i: &Name, target: &Target) -> Option<Proposal> {
    let (rows, count, launch) = (nest.rows(), nest.extent(i)?, nest.launch());
    let reductions = i64::try_from(nest.reductions().len()).ok()?;
    if rows.len() < 2 || reductions == 0 {
        return None;
    }
    let bytes = |r: &Name| -> Option<i64> {
        let own = |s: &&Site| s.stride(r) == Stride::Unit && s.stride(i) != Stride::Same;
        let along = nest.sites.iter().filter(own);
        let each = i64::try_from(along.map(|s| s.bytes).sum::<usize>()).ok()?;
        Some(nest.extent(r)?.saturating_mul(each))
    };
    let bytes = rows.iter().map(bytes).sum::<Option<i64>>()?.saturating_mul(count);
    // What a block for each row has in flight, of what the memory needs: the part of its bandwidth
    // that is used. The time that is lost has to pay for the other launches: one for each
    // statement, and one that joins the parts of each reduction.
    let threads = rows::threads(nest, &nest.band, &rows, 1, target).saturating_mul(count);
    let used = threads.saturating_mul(LOADS * i64::from(target.widest_access)).max(1) as f64;
    let needed = launch.in_flight as f64;
    let launches = i64::try_from(rows.len()).ok()? + reductions - 1;
    if bytes as f64 * (needed / used - 1.0) < (launches * LAUNCH) as f64 * needed {
        return None;
    }
    let mut proposal = Proposal::new(format!(
        "rows are long, and too few for the device, {count}: apart from one another, statements have several \
         blocks for each row"
    ));
    for t in &nest.kernel.temporaries {
        let is_read = nest.instructions.iter().any(|i| i.reads().contains(&t.name));
        if t.space != AddressSpace::Global && is_read {
            proposal = proposal
                .step(format!("set_address_space({}, global)", t.name))
                .step(format!("privatize_temporary({}, [{i}])", t.name));
        }
    }
    Some(proposal.step(format!("distribute({i})")))
}
