//! Fragments that instructions of their own load, ahead of the products that read them.
//!
//! In the kernel such a fragment is a private array: copies fill it, and products by an atom read
//! it as a factor, each thread the elements that its results need. In the program a warp shares
//! them: the array of fragments has, for each thread, its part of each fragment, as the atom's
//! placement says. The private array stays in the contracts, which the final check reads; nothing
//! that runs accesses it.
//!
//! Axes of the private array are, by the product's subscripts: the atom's `k`; the lanes that are
//! digits of the number of an element of `d`, those along the factor's rows; and all others, which
//! number fragments: other lanes, and slots. A copy runs over the elements in loops of its own, one
//! for each axis but those of slots. With the product's names for them, its source is a factor such
//! as a product without the array would load.

use loopwright_atom::{Atom, Operand};
use loopwright_kernel_ir::{Access, Aff, AtomUse, Constraint, Diagnostic, Expr, Name, Part};

use super::{AtomPlan, Held, Node, place::Place, planner::Planner};
use crate::schedule::items::Item;

/// What an axis of the private array is.
enum Axis {
    /// `k`, or a digit of the number of an element of `d`: the iname of the product.
    InBox(Name),
    /// A lane that numbers fragments.
    Lane(Name),
    /// Any other: its subscript selects fragments as a whole, as the slot of a buffer.
    Slot,
}

impl Planner<'_, '_> {
    /// The axes of the private array that a product reads in this way.
    fn axes_of_fragment(
        &self,
        atom: &Atom,
        operand: Operand,
        used: &AtomUse,
        access: &Access,
    ) -> Result<Vec<Axis>, Diagnostic> {
        let refuse = |why: String| {
            Diagnostic::new(
                "atom-operand",
                format!("`{}` cannot take `{access}` from registers: {why}", atom.name()),
            )
            .help("let `prefetch_fragments` make the array and the copies that fill it")
        };
        let registers = self.registers(atom, used).unwrap_or_default();
        let row = operand.axes()[0];
        let digits = atom.operand(Operand::D).element.iter();
        let wanted: Vec<Name> = registers
            .iter()
            .zip(digits)
            .filter(|(_, digit)| digit.axis == row)
            .map(|(name, _)| name.clone())
            .chain([used.axes[2].clone()])
            .collect();
        let mut axes = Vec::new();
        for e in &access.index {
            let Expr::Name(n) = e else {
                axes.push(Axis::Slot);
                continue;
            };
            axes.push(match n {
                n if wanted.contains(n) => Axis::InBox(n.clone()),
                n if self.analysis.kernel.tag(n).is_jam() => Axis::Lane(n.clone()),
                _ => Axis::Slot,
            });
        }
        for n in &wanted {
            if axes.iter().filter(|axis| matches!(axis, Axis::InBox(own) if own == n)).count() != 1 {
                return Err(refuse(format!("not one of its axes is that of `{n}`")));
            }
        }
        let inside = |e: &Expr| {
            let mut found = None;
            e.visit(&mut |e| match e {
                Expr::Name(n) if wanted.contains(n) || registers.contains(n) => found = Some(n.clone()),
                _ => {}
            });
            found
        };
        let warp = self.warp_lanes(atom).ok();
        let is_in_warp = |n: &Name| {
            let axis = self.analysis.kernel.tag(n).axis();
            axis.zip(warp.as_ref()).is_some_and(|(axis, warp)| warp.contains(axis))
        };
        for (axis, e) in axes.iter().zip(&access.index) {
            if e.names().iter().any(is_in_warp) {
                return Err(refuse(format!("`{e}` differs between lanes, which hold a fragment together")));
            }
            if let (Axis::Slot | Axis::Lane(_), Some(n)) = (axis, inside(e)) {
                return Err(refuse(format!("`{e}` depends on `{n}`, which is inside of a fragment")));
            }
        }
        Ok(axes)
    }

    /// The fragment that a product reads.
    pub(super) fn held(
        &self,
        atom: &Atom,
        operand: Operand,
        used: &AtomUse,
        access: &Access,
    ) -> Result<Held, Diagnostic> {
        let axes = self.axes_of_fragment(atom, operand, used, access)?;
        let row = axes.iter().zip(&access.index).filter(|(axis, _)| !matches!(axis, Axis::InBox(_)));
        let row = row.map(|(_, e)| e.clone()).collect();
        Ok(Held { array: access.array.clone(), lengths: self.numbers_of_fragments(&axes, access), row })
    }

    /// The lengths of the axes that number fragments.
    fn numbers_of_fragments(&self, axes: &[Axis], access: &Access) -> Vec<u64> {
        let array = self.analysis.lookup.array(&access.array);
        let lengths = array.into_iter().flat_map(|array| &array.axes).map(|axis| {
            let length = axis.length.to_aff().and_then(|length| length.as_constant());
            length.and_then(|length| u64::try_from(length).ok()).unwrap_or(1)
        });
        let numbers = axes.iter().zip(lengths).filter(|(axis, _)| !matches!(axis, Axis::InBox(_)));
        numbers.map(|(_, length)| length).collect()
    }

    /// The load of fragments, if this is its outermost loop.
    pub(super) fn load_of_fragments(
        &mut self,
        iname: &Name,
        items: &[Item],
        place: &Place,
    ) -> Result<Option<AtomPlan>, Diagnostic> {
        let analysis = self.analysis;
        let mut loops = vec![iname.clone()];
        let mut inner = items;
        let part = loop {
            match inner {
                [Item::Loop { iname, body }] => {
                    loops.push(iname.clone());
                    inner = body;
                }
                [Item::Leaf(part)] => break *part,
                _ => return Ok(None),
            }
        };
        let of = self.which(part);
        let info = of.info(analysis);
        let instruction = analysis.instruction(info);
        let ([target], Part::Whole) = (instruction.targets.as_slice(), info.execution.part.part) else {
            return Ok(None);
        };
        let Some(product) = analysis.fragment(&target.array) else { return Ok(None) };
        let refuse = |code: &'static str, why: String| {
            Diagnostic::new(code, format!("`{}` cannot load fragments: {why}", instruction.id))
        };
        let Some(used) = &analysis.kernel.instructions[product.instruction].atom else { return Ok(None) };
        let Some(atom) = loopwright_atom::named(&analysis.kernel.atoms, &used.name).cloned() else {
            return Err(Diagnostic::new("unknown-atom", format!("there is no atom `{}`", used.name)));
        };
        let (operand, read) = (product.operand, &product.access);
        let axes = self.axes_of_fragment(&atom, operand, used, read)?;
        // A loop around those of the copy, or inside of the outermost one: that of its contract.
        let mut own = axes.iter().zip(&target.index).filter(|(axis, _)| !matches!(axis, Axis::Slot));
        let is_own = |n: &Name| target.index.contains(&Expr::Name(n.clone()));
        let is_inside =
            own.any(|(_, e)| matches!(e, Expr::Name(n) if place.bound.contains(n) && !loops.contains(n)));
        if is_inside || !is_own(iname) {
            return Ok(None);
        }
        let (Expr::Subscript(source), None) = (&instruction.value, &instruction.predicate) else {
            let why = "it computes what it writes, or has a predicate".into();
            return Err(refuse("atom-operand", why).help("only a copy is a load of fragments"));
        };
        // The product's names for the loops.
        let mut names: Vec<(Name, Name)> = Vec::new();
        let (mut row, mut lanes) = (Vec::new(), Vec::new());
        for (axis, e) in axes.iter().zip(&target.index) {
            match (axis, e) {
                (Axis::Slot, e) => row.push(e.clone()),
                (Axis::InBox(n) | Axis::Lane(n), Expr::Name(own)) if loops.contains(own) => {
                    names.push((own.clone(), n.clone()));
                    if matches!(axis, Axis::Lane(_)) {
                        row.push(Expr::Name(n.clone()));
                        lanes.push(n.clone());
                    }
                }
                (_, e) => {
                    let why = format!("no loop of its own runs over `{e}`");
                    return Err(refuse("atom-operand", why));
                }
            }
        }
        if let Some(n) = loops.iter().find(|n| !names.iter().any(|(own, _)| own == *n)) {
            return Err(refuse(
                "atom-operand",
                format!("its loop over `{n}` has nothing to do with a fragment"),
            ));
        }
        let new = |n: &Name| {
            let found = names.iter().find(|(own, _)| own == n);
            found.map(|(_, new)| Expr::Name(new.clone()))
        };
        let source = Access {
            array: source.array.clone(),
            index: source.index.iter().map(|e| e.substitute(&new)).collect(),
        };
        let is_other_lane =
            |n: &Name| analysis.kernel.tag(n).is_jam() && !names.iter().any(|(_, new)| new == n);
        // Whether or not what is loaded depends on them: each has its own part of the private
        // array.
        if let Some(n) = info.lanes.iter().find(|n| is_other_lane(n)) {
            let why = format!("it does so for each lane of `{n}`, and these have no fragments of their own");
            return Err(refuse("atom-operand", why).help(format!("leave `{n}` a loop, or unroll it")));
        }
        let mut inside = place.clone();
        for lane in &lanes {
            inside = self.in_lane(lane, &inside)?;
        }
        let held = Held { array: target.array.clone(), lengths: self.numbers_of_fragments(&axes, read), row };
        let fragment = self.fragment(&atom, operand, used, &source, (&lanes, Some(held)), &inside)?;
        self.loads_fragments = true;
        let contract = self.loop_over(iname, items, place);
        self.loads_fragments = false;
        let contract = contract?;
        let mut guarded = None;
        Node::visit(&contract, &mut |node| {
            if let Node::Guard(guard) = node {
                guarded = guarded.take().or(guard.guards.first().map(|g| g.declared.clone()));
            }
        });
        if let Some(guard) = guarded {
            let why = format!("it loads whole fragments, which `{guard}` may cut");
            return Err(refuse("atom-guard", why).help("assume whole tiles"));
        }
        let within =
            [(&used.axes[2], atom.shape()[2])].into_iter().chain(axes.iter().filter_map(|axis| match axis {
                Axis::InBox(n) if *n != used.axes[2] => {
                    Some((n, analysis.extents.get(n).and_then(|extent| extent.constant)?))
                }
                _ => None,
            }));
        for (n, length) in within {
            let Some((own, _)) = names.iter().find(|(_, of)| of == n) else { continue };
            if let Some(runs) = part_of_range(&contract, own, length)? {
                let why = format!(
                    "it loads whole fragments, and its loop over `{own}` runs {runs} instead of from 0 to {}",
                    length - 1
                );
                return Err(refuse("atom-operand", why).help("do not divide the loops of such a copy"));
            }
        }
        let axes = used.axes.clone();
        Ok(Some(AtomPlan { of, atom, axes, contract, fragments: vec![fragment], product: None, inside }))
    }
}

/// How a loop among these nodes runs, in words, if it is not over `length` elements from 0 on
/// wherever it runs.
fn part_of_range(nodes: &[Node], iname: &Name, length: i64) -> Result<Option<String>, Diagnostic> {
    let mut places = Vec::new();
    Node::visit(nodes, &mut |node| match node {
        Node::Loop(one) if one.iname == *iname => places.push(&one.inside),
        Node::Once { iname: own, inside, .. } if own == iname => places.push(inside),
        _ => {}
    });
    for inside in places {
        let range = inside.system().constant_range(&Aff::var(iname))?;
        if let (Some(first), Some(last)) = range
            && (first, last) != (0, length - 1)
        {
            return Ok(Some(format!("from {first} to {last}")));
        }
        // What decides about its ends may not be the same everywhere.
        let anywhere = inside.system().keep_only(&|n| n != iname)?.system;
        let all = anywhere.with(&[
            Constraint::nonneg(Aff::var(iname)),
            Constraint::lt(&Aff::var(iname), &Aff::constant(length))?,
        ])?;
        if !all.implies_all(inside.system().constraints())? {
            return Ok(Some("over a part".into()));
        }
    }
    Ok(None)
}
