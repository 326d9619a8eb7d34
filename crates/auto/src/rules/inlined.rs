//! Arrays of the kernel's own whose elements are each read once: they are computed where they are
//! read.
//!
//! What one loop leaves in global memory for the next is written there and read again, as much as
//! any other array. Computed in its place it moves nothing. So it is if each element is read once;
//! or more often, if computing it again loads no more than reading it would, and takes no
//! functions. Readers that use an element for several results, as a product does, are better served
//! by the array.
//!
//! ```
//! use loopwright_auto::{Target, auto};
//! use loopwright_kernel_ir::LoopKernel;
//!
//! let kernel = LoopKernel::parse("\
//! kernel chain(x: f32[n], y: f32[n], z: f32[n], n: i32)
//! assume 0 <= n
//! domain { [i] : 0 <= i < n }
//! domain { [j] : 0 <= j < n }
//! temp t: f32[n] global
//! t[i] = x[i] + y[i] {id=first}
//! z[j] = 2*t[j] {id=second}
//! ")?;
//! let found = auto(&kernel, &Target::default());
//! assert_eq!(found.decisions[0].steps[0].to_string(), "assignment_to_subst(t)");
//! assert!(found.kernel.temporaries.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use loopwright_kernel_ir::{AddressSpace, Array, Expr, Instruction, Name};

use crate::{
    Nest, Proposal, Stride,
    rule::Between,
    site::{Site, reads, sites},
};

pub struct Inlined;

impl Between for Inlined {
    fn name(&self) -> &'static str {
        "inlined"
    }

    fn propose<'n>(&self, nests: &'n [Nest<'n>]) -> Vec<(&'n Nest<'n>, Proposal)> {
        let Some(kernel) = nests.first().map(|nest| nest.kernel) else { return Vec::new() };
        let kept =
            kernel.temporaries.iter().filter(|t| t.space == AddressSpace::Global && !t.axes.is_empty());
        kept.filter_map(|temporary| {
            let nest = nests.iter().find(|nest| writer(nest, temporary).is_some())?;
            let why = reason(nest, writer(nest, temporary)?, temporary)?;
            Some((nest, Proposal::new(why).step(format!("assignment_to_subst({})", temporary.name))))
        })
        .collect()
    }
}

/// The only instruction that writes an array, if it is in this nest and computes a map.
fn writer<'n>(nest: &'n Nest<'n>, array: &Array) -> Option<&'n Instruction> {
    let writes = |i: &&Instruction| i.targets.iter().any(|target| target.array == array.name);
    let mut all = nest.kernel.instructions.iter().filter(writes);
    let only = all.next().filter(|_| all.next().is_none())?;
    let is_plain = only.update.is_none() && only.predicate.is_none() && only.targets.len() == 1;
    let is_map = only.reductions().is_empty() && nest.instructions.iter().any(|i| i.id == only.id);
    (is_plain && is_map && !reads(only).contains(&array.name)).then_some(only)
}

/// Why an array had better not be kept, if that is so.
fn reason(nest: &Nest<'_>, writer: &Instruction, array: &Array) -> Option<String> {
    let kernel = nest.kernel;
    let others = kernel.instructions.iter().filter(|i| i.id != writer.id);
    let mut readers: Vec<Site> =
        others.flat_map(|i| sites(kernel, i)).filter(|s| !s.is_write && s.array == array.name).collect();
    // What an instruction reads twice at one place it loads once.
    readers.dedup_by(|a, b| a.instruction == b.instruction && a.text == b.text && a.inames == b.inames);
    let is_single = |n: &Name| nest.extent(n) == Some(1);
    let is_used_once = |s: &Site| s.inames.iter().all(|n| s.stride(n) != Stride::Same || is_single(n));
    if readers.is_empty() || !readers.iter().all(is_used_once) {
        return None;
    }
    let name = &array.name;
    if readers.len() == 1 {
        return Some(format!("each element of `{name}` is read once: it is computed where it is read"));
    }
    let loads = sites(kernel, writer).iter().filter(|s| !s.is_write).count();
    let is_cheap = loads <= 1 && !has_functions(&writer.value);
    is_cheap.then(|| {
        format!(
            "elements of `{name}` cost as much to compute as to load: they are computed where they are read"
        )
    })
}

/// Whether an expression applies functions.
fn has_functions(value: &Expr) -> bool {
    let mut found = false;
    value.visit(&mut |e| found |= matches!(e, Expr::Call { .. }));
    found
}
