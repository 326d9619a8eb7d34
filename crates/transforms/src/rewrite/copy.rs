//! Buffers that separate instructions fill: the place of these instructions, their inames, and the
//! replacement of reads by reads of the buffer.

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Constraint, Diagnostic, Domain, Expr, Instruction, KernelData, Lookup, Name,
    PartRef,
};
use loopwright_legality::owner;
use loopwright_poly::System;

use crate::rewrite::{
    element, extent,
    footprint::{self, Read, Span},
    fresh::{fresh, require_fresh},
    tree,
};

/// The place where a buffer is filled: the inames around it, outermost first, and the loops among
/// them.
pub(crate) struct Site {
    pub within: Vec<Name>,
    pub loops: Vec<Name>,
    pub readers: Vec<PartRef>,
}

/// Finds the place where a buffer with these spans is filled. With `inside_writes`, it is inside
/// every loop that writes the array.
pub(crate) fn site(
    data: &KernelData,
    reads: &[Read],
    spans: &[Span],
    sweep: &[Name],
    space: AddressSpace,
    array: &Name,
    inside_writes: bool,
) -> Result<Site, Diagnostic> {
    let mut readers: Vec<PartRef> = Vec::new();
    for read in reads {
        if !readers.contains(&read.part) {
            readers.push(read.part.clone());
        }
    }
    let depends = |n: &Name| spans.iter().any(|s| s.base.mentions(n));
    let Some(first) = readers.first() else {
        return Err(Diagnostic::new("prefetch-nothing", format!("nothing reads `{array}`"))
            .help("name an array that an instruction reads"));
    };
    // The loops around the copy: all up to and including the innermost one that the base depends
    // on, or that writes the array.
    let path = tree::path_of(&data.tree, first);
    let written = data
        .instructions
        .iter()
        .filter(|i| i.targets.iter().any(|t| t.array == *array))
        .map(|i| tree::path_of(&data.tree, &extent::last_part(data, &i.id)))
        .map(|writer| path.iter().zip(&writer).take_while(|(a, b)| a == b).count())
        .max()
        .filter(|_| inside_writes)
        .unwrap_or(0);
    let depth = path.iter().rposition(depends).map_or(0, |k| k + 1).max(written);
    let loops = path[..depth].to_vec();
    if let Some(swept) = loops.iter().find(|n| sweep.contains(n)) {
        let inner = loops.last().unwrap_or(swept);
        return Err(Diagnostic::new(
            "prefetch-order",
            format!(
                "the copy of `{array}` would be inside the loop over `{swept}`, which it has to \
                 sweep"
            ),
        )
        .help(format!("move the loop over `{inner}` outside with `reorder`, or sweep over it as well")));
    }
    for reader in &readers {
        if !tree::path_of(&data.tree, reader).starts_with(&loops) {
            return Err(Diagnostic::new(
                "prefetch-order",
                format!("`{reader}` reads `{array}` outside the loop that would contain the copy"),
            )
            .help("restrict the step to some of the instructions with `readers=[...]`"));
        }
    }
    let inames = data.part_inames(first);
    // Where each block, or each thread, has an array of its own, a copy belongs to one of them: for
    // other coordinates than those that have readers, nothing has written its array.
    let owner = data.temporaries.iter().find(|t| t.name == *array).map(|t| owner(t.space));
    let owns = |n: &Name| {
        let axis = data.tag(n).axis().filter(|_| !sweep.contains(n));
        axis.is_some_and(|axis| owner.as_ref().is_some_and(|owner| owner.contains(axis)))
    };
    let within: Vec<Name> =
        inames.iter().filter(|n| depends(n) || loops.contains(n) || owns(n)).cloned().collect();
    for iname in &within {
        let tag = data.tag(iname);
        if space == AddressSpace::Shared && (tag.is_in_block() || tag.is_jam()) {
            return Err(Diagnostic::new(
                "prefetch-thread-base",
                format!(
                    "the copied part of `{array}` would differ between threads of a block: it \
                     depends on `{iname}: {tag}`"
                ),
            )
            .help(format!("sweep over `{iname}` as well, or use `space=private`")));
        }
    }
    Ok(Site { within, loops, readers })
}

/// The read of the buffer that replaces a read of the array.
pub(crate) fn buffered(
    data: &KernelData,
    buffer: &Name,
    access: &Access,
    spans: &[Span],
    kept: &[usize],
) -> Result<Expr, Diagnostic> {
    let mut index = Vec::with_capacity(kept.len());
    for axis in kept {
        let aff = footprint::affine_subscript(data, &access.index[*axis]).unwrap_or_default();
        index.push(Expr::from_aff(&spans[*axis].number(&aff)?));
    }
    Ok(element(buffer, index))
}

/// The names of the copy's inames, one for each axis of the buffer.
pub(crate) fn fetch_names(
    data: &KernelData,
    given: &[Name],
    stem: &Name,
    axes: usize,
) -> Result<Vec<Name>, Diagnostic> {
    if !given.is_empty() {
        if given.len() != axes {
            return Err(Diagnostic::new(
                "prefetch-inames",
                format!(
                    "the buffer has {axes} axes (those of length 1 are left out), and {} inames \
                     are given",
                    given.len()
                ),
            ));
        }
        for (k, name) in given.iter().enumerate() {
            require_fresh(data, name, "inames")?;
            if given[..k].contains(name) {
                return Err(Diagnostic::new("iname-listed-twice", format!("`{name}` is listed twice")));
            }
        }
        return Ok(given.to_vec());
    }
    Ok((0..axes).map(|k| fresh(data, &format!("{stem}_f{k}"))).collect())
}

/// Adds constraints on the loops around an instruction that introduces no iname. After a split, an
/// outer iname gets its bounds from the inner one, over which the instruction does not run: without
/// them its range would be unbounded. Constraints that all other instructions in the loop satisfy
/// restrict none of them; the others are returned.
pub(crate) fn bound_outer(
    data: &mut KernelData,
    instruction: &Instruction,
    constraints: &[Constraint],
) -> Result<Vec<Constraint>, Diagnostic> {
    let rows = |data: &KernelData, inames: &[Name]| -> Result<System, Diagnostic> {
        let mut rows = data.assumptions.clone();
        for c in Lookup::new(data).instances(inames) {
            rows.push(data.expand_constraint(&c)?);
        }
        Ok(System::new(&rows)?)
    };
    let mut others = Vec::new();
    for c in constraints {
        let c = data.expand_constraint(c)?;
        let Some(innermost) = instruction.within.iter().rfind(|n| c.aff.mentions(n)).cloned() else {
            continue;
        };
        if rows(data, &instruction.within)?.implies(&c)? {
            continue;
        }
        let mut all = true;
        for part in data.instructions.iter().flat_map(|i| data.parts(i)) {
            let inames = data.part_inames(&part);
            all &= !inames.contains(&innermost) || rows(data, &inames)?.implies(&c)?;
        }
        match data.domains.iter_mut().find(|d| d.inames.contains(&innermost)) {
            Some(domain) if all => domain.constraints.push(c),
            _ => others.push(c),
        }
    }
    Ok(others)
}

/// Adds an instruction with its inames and their domain, and its leaf before its first reader.
pub(crate) fn add_instruction(
    data: &mut KernelData,
    instruction: Instruction,
    inames: &[Name],
    constraints: Vec<Constraint>,
    site: &Site,
) -> Result<(), Diagnostic> {
    let leaves = data.parts(&instruction).into_iter().map(loopwright_kernel_ir::Tree::Leaf).collect();
    add_parts(data, instruction, leaves, inames, constraints, site)
}

/// As [`add_instruction`], with the parts of the instruction inside its inames.
pub(crate) fn add_parts(
    data: &mut KernelData,
    mut instruction: Instruction,
    parts: Vec<loopwright_kernel_ir::Tree>,
    inames: &[Name],
    mut constraints: Vec<Constraint>,
    site: &Site,
) -> Result<(), Diagnostic> {
    let mut inames = inames.to_vec();
    if inames.is_empty() {
        let others = bound_outer(data, &instruction, &constraints)?;
        if !others.is_empty() {
            // Constraints that other instructions do not satisfy need a separate domain, and thus
            // an iname.
            let once = fresh(data, &format!("{}_once", instruction.id));
            constraints = others;
            constraints.push(Constraint::zero(Aff::var(&once)));
            instruction.within.push(once.clone());
            inames.push(once);
        }
    }
    if !inames.is_empty() {
        data.domains.push(Domain { inames: inames.clone(), constraints });
    }
    for tree in tree::nest(&inames, parts) {
        tree::insert_before(&mut data.tree, &site.loops, &site.readers, tree)?;
    }
    list_before_readers(data, instruction, site);
    Ok(())
}

/// Lists an instruction before the first reader of its results.
pub(crate) fn list_before_readers(data: &mut KernelData, instruction: Instruction, site: &Site) {
    let first = data.instructions.iter().position(|i| site.readers.iter().any(|r| r.instruction == i.id));
    data.instructions.insert(first.unwrap_or(data.instructions.len()), instruction);
}
