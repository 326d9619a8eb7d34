//! Reductions along misaligned rows, read by whole vectors.
//!
//! `vec` needs neighbours of which the first lies at a multiple of the vector's size. Rows of odd
//! length begin at any address, so `vec` would be refused (`unaligned`). A reduction may take its
//! points in any order, though: its loop over `0 <= i < len` can as well go over positions that are
//! counted from the last such multiple before the row,
//!
//! ```text
//! misalign_i = (s * len) & 3              elements between that multiple and the row
//! misalign_i <= i < len + misalign_i        the loop, whose tiles begin at multiples of four again
//! x[s, i - misalign_i]                    what it reads
//! ```
//!
//! so that all vectors but the first and the last of a row lie inside it and at such multiples,
//! whatever `s` and `len` are. Lowering moves whole vectors by vector accesses; the elements of the
//! first and the last are read one by one.
//!
//! That changes which thread, lane and iteration takes a point. It is done where nothing can tell:
//! the operator commutes and is not a scan; all loops that the iname was split into belong to the
//! reduction and to nothing else; and what it reads is written by nobody in the kernel.

use std::{collections::BTreeSet, sync::Arc};

use loopwright_kernel_ir::{
    Access, AddressSpace, Aff, Array, BinaryOp, Constraint, DType, Diagnostic, Expr, Instruction, KernelData,
    Kind, Lookup, LoopKernel, Name, Part, PartRef, Reduce, Share, Tag,
};
use loopwright_legality::context;
use loopwright_poly::System;
use loopwright_target::Target;

use crate::{
    Realization,
    rewrite::{before_init, fresh, with_reduction},
    two_stages::share,
};

/// The name of the realisation.
const NAME: &str = "alignment";

/// A reduction that can count its points from an aligned address.
struct Row {
    /// The number of the instruction.
    instruction: usize,
    reduce: Arc<Reduce>,
    /// The number of the reduction among the instruction's.
    number: usize,
    /// The iname along the row.
    iname: Name,
    /// Where the row begins, in elements.
    start: Expr,
    /// How many elements an access has.
    lanes: i64,
}

/// The next kernel with a reduction that counts its points from aligned addresses: that of the
/// first instruction, from this number on, which allows it; with the number to continue from.
pub(crate) fn first(
    kernel: &LoopKernel,
    from: usize,
    target: &Target,
) -> Result<Option<(Realization, usize)>, Diagnostic> {
    let mut rows = (from..kernel.instructions.len()).filter_map(|number| row(kernel, number, target));
    let Some(row) = rows.next() else { return Ok(None) };
    // The inserted instruction comes before the row's, whose number grows by one.
    Ok(Some((aligned(kernel, &row)?, row.instruction + 2)))
}

fn row(kernel: &LoopKernel, instruction: usize, target: &Target) -> Option<Row> {
    let own = &kernel.instructions[instruction];
    if own.scan.is_some() || own.predicate.is_some() || own.update.is_some() {
        return None;
    }
    let number = 0;
    let [reduce] = own.reductions().try_into().ok()?;
    let reduce: Arc<Reduce> = reduce;
    let lane = reduce.inames.iter().find(|n| kernel.tag(n) == Tag::Vec)?;
    if !kernel.operator(&reduce.op)?.commutes {
        return None;
    }
    // Most kernels have no such lane and do not come here.
    let lookup = Lookup::new(kernel);
    let written =
        |array: &Name| kernel.instructions.iter().any(|i| i.targets.iter().any(|t| t.array == *array));
    let accesses: Vec<Access> = reduce.args.iter().flat_map(Expr::accesses).collect();
    if accesses.iter().any(|a| written(&a.array)) {
        return None;
    }
    let known = System::new(&context(kernel)).ok()?;
    // Where the row depends on another iname of the reduction, each result has several rows, and no
    // one number says how they are aligned.
    let around: BTreeSet<&Name> = own.within.iter().flat_map(|n| lookup.base_of(n)).collect();
    let one_row =
        |start: &Expr| start.names().iter().all(|n| lookup.base_of(n).iter().all(|b| around.contains(b)));
    let (iname, start, lanes) = accesses.iter().find_map(|access| {
        let (iname, start) = start_of(kernel, &lookup, access, lane)?;
        if !one_row(&start) {
            return None;
        }
        let array = kernel.array(&access.array)?;
        let lanes = lanes_of(kernel, lane)?.min(widest(array.dtype.known()?, target));
        (!begins_at_multiple(&known, array, access, &iname, lanes)?).then_some((iname, start, lanes))
    })?;
    let base = lookup.base_of(&iname);
    let alone = kernel.instructions.iter().enumerate().all(|(k, i)| {
        let within = i.within.iter().flat_map(|n| lookup.base_of(n)).any(|n| base.contains(n));
        let reduced = i.reductions().iter().flat_map(|r| r.inames.clone()).any(|n| base.contains(&n));
        !within && (k == instruction || !reduced)
    });
    let whole = base.iter().all(|n| reduce.inames.contains(n));
    // What the vectors are counted from is the value of the iname, whose tiles have to be whole
    // vectors.
    let value = lookup.expand(&Aff::var(&iname)).ok()?;
    let tiles = value.sub(&Aff::var(lane)).ok()?.modulo(lanes).ok()?;
    (alone && whole && lanes > 1 && tiles.as_constant() == Some(0)).then_some(Row {
        instruction,
        reduce,
        number,
        iname,
        start,
        lanes,
    })
}

/// The length of a lane that goes from 0 on.
fn lanes_of(kernel: &KernelData, lane: &Name) -> Option<i64> {
    let domain = kernel.domains.iter().find(|d| d.inames.contains(lane))?;
    let last = domain.constraints.iter().find_map(|c| {
        let rest = c.aff.add(&Aff::var(lane)).ok()?;
        (c.kind == Kind::Ge && c.aff.coefficient(lane) == -1).then(|| rest.as_constant()).flatten()
    })?;
    matches!(last, 1 | 3 | 7 | 15).then_some(last + 1)
}

/// The iname along which the lanes of an access are neighbours in memory, and where in memory its
/// row begins: the offset of the element that it would be at the iname's value 0, as a product of
/// lengths and subscripts.
fn start_of(kernel: &KernelData, lookup: &Lookup<'_>, access: &Access, lane: &Name) -> Option<(Name, Expr)> {
    let array = kernel.array(&access.array)?;
    if array.space != AddressSpace::Global || array.axes.iter().any(|a| a.stride.is_some()) {
        return None;
    }
    let order = array.storage_order();
    let (dense, outer) = order.split_last()?;
    let dense = access.index.get(*dense)?.to_aff()?;
    let names = dense.names();
    let mut along = names.iter().filter(|n| lookup.base_of(n).contains(lane));
    let (iname, None) = (along.next()?, along.next()) else { return None };
    let of_row = |n: &Name| lookup.base_of(n).iter().any(|b| lookup.base_of(iname).contains(b));
    let rest = dense.sub(&Aff::var(iname)).ok()?;
    if rest.names().iter().any(of_row) {
        return None;
    }
    let mut start: Option<Expr> = None;
    for (k, axis) in outer.iter().enumerate() {
        let subscript = access.index.get(*axis)?;
        if subscript.to_aff()?.names().iter().any(of_row) {
            return None;
        }
        let sum = match start {
            Some(sum) => Expr::binary(BinaryOp::Add, sum, subscript.clone()),
            None => subscript.clone(),
        };
        let denser = &array.axes[*outer.get(k + 1).unwrap_or(order.last()?)];
        let length = match denser.padding {
            0 => denser.length.clone(),
            n => Expr::binary(BinaryOp::Add, denser.length.clone(), Expr::Int(n.into())),
        };
        start = Some(Expr::binary(BinaryOp::Mul, sum, length));
    }
    let start = match (start, rest.as_constant()) {
        (Some(start), Some(0)) => start,
        (Some(start), _) => Expr::binary(BinaryOp::Add, start, Expr::from_aff(&rest)),
        (None, _) => Expr::from_aff(&rest),
    };
    Some((iname.clone(), start))
}

/// Whether rows are known to begin at multiples of this number of elements.
fn begins_at_multiple(
    known: &System,
    array: &Array,
    access: &Access,
    iname: &Name,
    lanes: i64,
) -> Option<bool> {
    let is_multiple = |aff: &Aff| known.implies(&Constraint::zero(aff.modulo(lanes).ok()?)).ok();
    let order = array.storage_order();
    let (dense, outer) = order.split_last()?;
    let rest = access.index.get(*dense)?.to_aff()?.sub(&Aff::var(iname)).ok()?;
    if !is_multiple(&rest)? {
        return Some(false);
    }
    // A stride is the product of the denser lengths.
    for (k, axis) in outer.iter().enumerate() {
        if *access.index.get(*axis)? == Expr::Int(0) {
            continue;
        }
        let mut aligned = false;
        for denser in &order[k + 1..] {
            let axis = &array.axes[*denser];
            aligned |= is_multiple(&axis.length.to_aff()?.add_constant(axis.padding.into()).ok()?)?;
        }
        if !aligned {
            return Some(false);
        }
    }
    Some(true)
}

/// The misalignment of a row that begins at this element: how many elements it begins behind a
/// multiple of `lanes`, a power of two.
fn misalignment(start: Expr, lanes: i64) -> Expr {
    Expr::binary(BinaryOp::BitAnd, start, Expr::Int(lanes - 1))
}

/// The iname along which an access reads its row, if the loop over it counts from the last multiple
/// of `lanes` elements before the row, because `shift`, which the subscript takes off, was computed
/// so.
pub fn aligned_iname(
    kernel: &LoopKernel,
    lookup: &Lookup<'_>,
    access: &Access,
    lane: &Name,
    lanes: i64,
    shift: &Name,
) -> Option<Name> {
    let array = kernel.array(&access.array)?;
    let order = array.storage_order();
    let dense = *order.last()?;
    let mut unshifted = access.clone();
    let position = access.index.get(dense)?.to_aff()?.add(&Aff::var(shift)).ok()?;
    unshifted.index[dense] = Expr::from_aff(&position);
    if unshifted.index.iter().any(|s| s.names().contains(shift)) {
        return None;
    }
    let (iname, start) = start_of(kernel, lookup, &unshifted, lane)?;
    let mut writers = kernel.instructions.iter().filter(|i| i.targets.iter().any(|t| t.array == *shift));
    match (writers.next(), writers.next()) {
        (Some(Instruction { value, .. }), None) if *value == misalignment(start, lanes) => Some(iname),
        _ => None,
    }
}

fn aligned(kernel: &LoopKernel, row: &Row) -> Result<Realization, Diagnostic> {
    let shift = fresh(kernel, &format!("misalign_{}", row.iname));
    let id = fresh(kernel, &format!("find_{shift}"));
    let last = row.lanes - 1;
    let edited = kernel.edit(|data| -> Result<(), Diagnostic> {
        data.temporaries.push(Array::new(&shift, DType::I32, Vec::new(), AddressSpace::Private));
        let position = Aff::var(&row.iname).sub(&Aff::var(&shift))?;
        for domain in data.domains.iter_mut().filter(|d| d.inames.contains(&row.iname)) {
            let mut shifted = Vec::new();
            for c in &domain.constraints {
                let k = c.aff.coefficient(&row.iname);
                shifted.push(Constraint { kind: c.kind, aff: c.aff.substitute_one(&row.iname, &position)? });
                // What holds for any shift from 0 to `last`: the launch has to know how many blocks
                // there are before it is found.
                if k != 0 && c.kind == Kind::Ge {
                    let slack = if k < 0 { k.saturating_neg().saturating_mul(last) } else { 0 };
                    shifted.push(Constraint::nonneg(c.aff.add_constant(slack)?));
                }
            }
            domain.constraints = shifted;
        }
        let there = Expr::binary(BinaryOp::Sub, Expr::Name(row.iname.clone()), Expr::Name(shift.clone()));
        let moved = Reduce {
            op: row.reduce.op.clone(),
            inames: row.reduce.inames.clone(),
            args: row
                .reduce
                .args
                .iter()
                .map(|a| a.substitute(&|n| (*n == row.iname).then(|| there.clone())))
                .collect(),
        };
        let own = &mut data.instructions[row.instruction];
        own.value = with_reduction(&own.value, &row.reduce, &Expr::Reduce(Arc::new(moved)));
        let within = own.within.clone();
        let owner = PartRef { instruction: own.id.clone(), part: Part::Init(row.number) };
        let target = Access { array: shift.clone(), index: Vec::new() };
        let value = misalignment(row.start.clone(), row.lanes);
        let find = Instruction {
            within,
            made_by: Some(Name::new(NAME)),
            ..Instruction::new(id.clone(), vec![target], value, share(own, Share::Alignment))
        };
        data.instructions.insert(row.instruction, find);
        data.tree = before_init(&data.tree, &owner, &id);
        Ok(())
    })?;
    let own = &kernel.instructions[row.instruction].id;
    Ok(Realization {
        name: NAME,
        instruction: own.clone(),
        what: format!(
            "`{own}` counts `{}` from the last multiple of {} elements before its row, which \
             `{id}` finds",
            row.iname, row.lanes
        ),
        kernel: edited,
    })
}

/// How many elements of a type the widest access has.
fn widest(dtype: DType, target: &Target) -> i64 {
    i64::try_from(target.widest_elements(dtype.bytes())).unwrap_or(1)
}
