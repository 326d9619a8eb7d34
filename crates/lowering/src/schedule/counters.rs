//! Lets loops count the index that their body uses, as in hand-written code: `for (int i =
//! threadIdx.x; i < n; i += 256)`.
//!
//! A loop over `i_outer` whose body uses it only through one defined iname `i = 256*i_outer + r`
//! counts `i`, or the part of it that has a value before the loop where `r` has inner inames. With
//! `256*i_outer <= U` the bound is `i <= U + r`; with `i_outer <= u` it is `i < 256*(u + 1) + r`,
//! where parts of `r` between 0 and 255 may be left out, as they make no difference.
//!
//! The pass visits outer loops before inner ones, with the names that have values at each place. A
//! loop counts a sum only if everything inside can be written in the remaining names even when
//! inner loops count their own inames, so that writing the schedule cannot fail.

use std::collections::BTreeSet;

use loopwright_kernel_ir::{Aff, Diagnostic, HardwareAxis, Name, Term};
use loopwright_legality::evaluated;

use super::{
    Branch, Counter, Guarded, Loop, Node, Statement, Sum, Which, place::Place, planner::Planner,
    spoken::Spoken,
};
use crate::{
    analyse::analysis::{Analysis, Guard},
    schedule::{
        loop_bounds::{LoopBounds, Side},
        spoken::fails,
    },
};

/// Decides what each loop counts. `names` are the names at the place, `place` the facts known
/// there.
pub(crate) fn count(
    planner: &mut Planner<'_, '_>,
    nodes: &mut [Node],
    names: &Spoken,
    place: &Place,
    relevant: &BTreeSet<Name>,
) -> Result<(), Diagnostic> {
    let mut place = place.clone();
    for node in nodes {
        match node {
            Node::Known(known) => {
                planner.data = known.data.clone();
                place = known.clone();
            }
            Node::Loop(l) => {
                if let Some(sum) = sum_of(planner, l, names, &place, relevant)? {
                    l.counter = Counter::Sum(sum);
                }
                // Names matter only to loops further in.
                if has_loops(&l.body) {
                    let inner = inside_loop(planner.analysis, l, names, relevant)?;
                    count(planner, &mut l.body, &inner, &l.inside, relevant)?;
                } else {
                    learn_data(planner, &l.body);
                }
            }
            Node::Once { iname, inside, body, .. } if has_loops(body) => {
                let inner = with_value(planner.analysis, iname, names, relevant)?;
                count(planner, body, &inner, inside, relevant)?;
            }
            Node::Guard(g) => count(planner, &mut g.body, names, &g.inside, relevant)?,
            // There are no loops inside loops over lanes.
            other => other.bodies().into_iter().for_each(|body| learn_data(planner, body)),
        }
    }
    Ok(())
}

/// Scalars that nodes load are known from then on.
fn learn_data(planner: &mut Planner<'_, '_>, nodes: &[Node]) {
    Node::visit(nodes, &mut |node| {
        if let Node::Known(known) = node {
            planner.data = known.data.clone();
        }
    });
}

/// Whether there are loops among nodes, which may count a sum.
fn has_loops(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Loop(_) => true,
        Node::Once { body, .. } | Node::Guard(Guarded { body, .. }) => has_loops(body),
        _ => false,
    })
}

/// The names inside of a loop.
fn inside_loop(
    analysis: &Analysis<'_>,
    l: &Loop,
    names: &Spoken,
    relevant: &BTreeSet<Name>,
) -> Result<Spoken, Diagnostic> {
    match &l.counter {
        Counter::Iname => with_value(analysis, &l.iname, names, relevant),
        Counter::Sum(sum) => with_sum(analysis, &l.iname, sum, names, relevant),
    }
}

/// The names inside a loop over `iname` that counts a sum.
fn with_sum(
    analysis: &Analysis<'_>,
    iname: &Name,
    sum: &Sum,
    names: &Spoken,
    relevant: &BTreeSet<Name>,
) -> Result<Spoken, Diagnostic> {
    let mut inner = names.clone();
    inner.bound.insert(iname.clone());
    inner.values.insert(sum.name.clone());
    inner.named.push((sum.name.clone(), sum.canonical.clone()));
    name_definitions(analysis, &mut inner, relevant)?;
    Ok(inner)
}

/// The names with this one added.
fn with_value(
    analysis: &Analysis<'_>,
    name: &Name,
    names: &Spoken,
    relevant: &BTreeSet<Name>,
) -> Result<Spoken, Diagnostic> {
    let mut inner = names.clone();
    inner.bound.insert(name.clone());
    inner.values.insert(name.clone());
    name_definitions(analysis, &mut inner, relevant)?;
    Ok(inner)
}

/// Names for the defined inames that have a value from here on.
pub(crate) fn name_definitions(
    analysis: &Analysis<'_>,
    names: &mut Spoken,
    relevant: &BTreeSet<Name>,
) -> Result<(), Diagnostic> {
    // Later definitions are closer to the names that are bound.
    for definition in analysis.kernel.definitions.iter().rev() {
        if names.values.contains(&definition.iname)
            || !analysis.lookup.base_of(&definition.iname).iter().all(|b| relevant.contains(b))
        {
            continue;
        }
        let canonical = analysis.canonical(&definition.value)?;
        let known = |n: &Name| names.bound.contains(n) || analysis.is_parameter(n);
        if canonical.names().iter().all(known) && analysis.can_write(&definition.value, names)? {
            names.values.insert(definition.iname.clone());
            names.named.push((definition.iname.clone(), canonical));
        }
    }
    Ok(())
}

/// The sum that a loop can count; `None` where the body needs its iname.
fn sum_of(
    planner: &Planner<'_, '_>,
    l: &Loop,
    names: &Spoken,
    place: &Place,
    relevant: &BTreeSet<Name>,
) -> Result<Option<Sum>, Diagnostic> {
    let analysis = planner.analysis;
    if l.unroll {
        return Ok(None);
    }
    let Some(defined) = only_use(analysis, l)? else { return Ok(None) };
    if names.values.contains(&defined) {
        return Ok(None);
    }
    let Some(sum) = sum(planner, l, &defined, place)? else { return Ok(None) };
    let inner = with_sum(analysis, &l.iname, &sum, names, relevant)?;
    let [low] = l.bounds.lower.conjunction().unwrap_or_default() else { return Ok(None) };
    let start = Side::Lower.numerator(low)?.floor_div(low.denominator)?;
    for aff in sum.ends.iter().chain([&start, &sum.rest]) {
        if !analysis.can_write(aff, names)? {
            return Ok(None);
        }
    }
    Ok(can_write(analysis, &l.body, &inner, relevant)?.then_some(sum))
}

/// The sum that the loop counts for `defined`, or for the part of it that has a value here.
fn sum(
    planner: &Planner<'_, '_>,
    l: &Loop,
    defined: &Name,
    place: &Place,
) -> Result<Option<Sum>, Diagnostic> {
    let analysis = planner.analysis;
    let (Some([_]), Some(highs)) = (l.bounds.lower.conjunction(), l.bounds.upper.conjunction()) else {
        return Ok(None);
    };
    let converges = converges(&l.body);
    let canonical = analysis.canonical(&Aff::var(defined))?;
    let step = canonical.coefficient(&l.iname);
    if step < 2 || !canonical.is_affine() {
        return Ok(None);
    }
    // The part that has a value here; inner inames add theirs.
    let mut rest = Aff::default();
    let mut whole = true;
    for (term, c) in canonical.terms() {
        let Term::Var(name) = term else { return Ok(None) };
        if *name == l.iname {
            continue;
        }
        if planner.available(name, place) {
            rest = rest.add(&Aff::var(name).scale(*c)?)?;
        } else {
            whole = false;
        }
    }
    if whole {
        rest = rest.add_constant(canonical.constant_term())?;
    }
    let of_thread = |n: &Name| HardwareAxis::of_coordinate(n).is_some_and(HardwareAxis::is_in_block);
    if converges && rest.names().iter().any(of_thread) {
        return Ok(None);
    }
    // Parts of the rest that are smaller than a step.
    let mut fixed = Aff::constant(rest.constant_term());
    let mut small = Aff::default();
    for (term, c) in rest.terms() {
        let Term::Var(name) = term else { return Ok(None) };
        let one = Aff::var(name).scale(*c)?;
        if c.abs() < step { small = small.add(&one)? } else { fixed = fixed.add(&one)? }
    }
    let (least, greatest) = place.system().constant_range(&small)?;
    if !(least.is_some_and(|l| l >= 0) && greatest.is_some_and(|g| g < step)) {
        fixed = rest.clone();
    }
    let mut ends = Vec::new();
    for high in highs {
        ends.push(if high.denominator == step {
            high.aff.add(&rest)?.add_constant(1)?
        } else if high.denominator % step == 0 {
            // m*(step*iname + rest) <= U, where the rest of the bound equals that of the sum.
            let m = high.denominator / step;
            let sum = high.aff.add(&rest.scale(m)?)?;
            if sum.names().iter().any(|n| rest.mentions(n)) {
                return Ok(None);
            }
            sum.floor_div(m)?.add_constant(1)?
        } else if high.denominator == 1 {
            high.aff.add_constant(1)?.scale(step)?.add(&fixed)?
        } else {
            return Ok(None);
        });
    }
    if ends.is_empty() {
        return Ok(None);
    }
    let canonical = Aff::var(&l.iname).scale(step)?.add(&rest)?;
    let mut name = if whole { defined.clone() } else { Name::new(format!("{defined}_tile")) };
    // The name may already be that of the split's part.
    while !whole && analysis.lookup.is_iname(&name) {
        name = Name::new(format!("{name}_begin"));
    }
    Ok(Some(Sum { name, step, rest, ends, canonical }))
}

/// Whether all threads of a block have to reach something inside together.
pub(crate) fn converges(nodes: &[Node]) -> bool {
    let mut found = false;
    Node::visit(nodes, &mut |node| match node {
        Node::Sync(_) | Node::Commit | Node::Wait(..) | Node::Atom(_) | Node::StoreMatrices(_) => {
            found = true;
        }
        Node::Join { join, .. } => found |= !join.axes().is_empty(),
        _ => {}
    });
    found
}

/// The parts that nodes run.
fn parts(nodes: &[Node]) -> Vec<&Which> {
    let mut found = Vec::new();
    Node::visit(nodes, &mut |node| match node {
        Node::Statement(s) => found.push(&s.of),
        Node::Vector(v) => found.push(&v.of),
        Node::VectorLoads { of, .. } | Node::Loads { of, .. } => found.push(of),
        _ => {}
    });
    found
}

/// The one name through which the parts below use the iname of a loop, if it is a defined one.
fn only_use(analysis: &Analysis<'_>, l: &Loop) -> Result<Option<Name>, Diagnostic> {
    let mut used: BTreeSet<Name> = BTreeSet::new();
    let mut note = |names: BTreeSet<Name>| {
        used.extend(names.into_iter().filter(|n| analysis.lookup.base_of(n).contains(&l.iname)));
    };
    let mut seen = BTreeSet::new();
    for part in parts(&l.body).into_iter().filter(|of| seen.insert(of.number)) {
        let info = &analysis.parts[part.number];
        let instruction = analysis.instruction(info);
        for e in evaluated(instruction, info.execution.part.part) {
            note(e.names());
        }
        let filling = info.filling.iter().flat_map(|f| &f.guards);
        for g in info.guards.iter().chain(filling) {
            if g.canonical.aff.mentions(&l.iname) && !l.inside.implies(&g.canonical)? {
                note(g.declared.names());
            }
        }
    }
    let mut used = used.into_iter();
    Ok(match (used.next(), used.next()) {
        (Some(one), None) if analysis.lookup.definition(&one).is_some() => Some(one),
        _ => None,
    })
}

/// Whether nodes can be written where these names have values, if loops count their inames.
fn can_write(
    analysis: &Analysis<'_>,
    nodes: &[Node],
    names: &Spoken,
    relevant: &BTreeSet<Name>,
) -> Result<bool, Diagnostic> {
    for node in nodes {
        let written = match node {
            Node::Loop(l) => {
                let inner = with_value(analysis, &l.iname, names, relevant)?;
                can_write_bounds(analysis, &l.bounds, names)?
                    && can_write(analysis, &l.body, &inner, relevant)?
            }
            Node::Once { iname, value, body, .. } => {
                let inner = with_value(analysis, iname, names, relevant)?;
                analysis.can_write(value, names)? && can_write(analysis, body, &inner, relevant)?
            }
            Node::Guard(g) => {
                can_write_guards(analysis, &g.guards, names)?
                    && can_write(analysis, &g.body, names, relevant)?
            }
            Node::Ends { ends, body, .. } => {
                let mut written = can_write(analysis, body, names, relevant)?;
                for c in &ends.fails {
                    written = written && analysis.can_compare(&fails(c)?, names)?;
                }
                for c in &ends.holds {
                    written = written && analysis.can_compare(c, names)?;
                }
                written
            }
            Node::Lane { lane, body, .. } => {
                let inner = with_value(analysis, lane, names, relevant)?;
                can_write(analysis, body, &inner, relevant)?
            }
            Node::Statement(s) => can_write_statement(analysis, s, names)?,
            // Each statement is asked about its predicate.
            Node::Branch(Branch { then, otherwise, .. }) => {
                can_write(analysis, then, names, relevant)?
                    && can_write(analysis, otherwise, names, relevant)?
            }
            Node::Loads { loads, body, .. } => {
                let inner = with_lanes(analysis, loads.iter().flat_map(|l| l.how.lanes()), names, relevant)?;
                let mut written = can_write(analysis, body, names, relevant)?;
                for load in loads {
                    written = written && analysis.can_write_subscripts(&load.access, &inner)?;
                }
                written
            }
            Node::Vector(v) => {
                let inner = with_value(analysis, &v.lane, names, relevant)?;
                can_write_statement(analysis, &v.statement, &inner)?
                    && can_write_guards(analysis, &v.filling, names)?
            }
            Node::VectorLoads { accesses, lane, .. } => {
                let inner = with_value(analysis, lane, names, relevant)?;
                let mut written = true;
                for access in accesses {
                    written = written && analysis.can_write_subscripts(access, &inner)?;
                }
                written
            }
            Node::Ahead { loads, uses, .. } => {
                can_write(analysis, loads, names, relevant)? && can_write(analysis, uses, names, relevant)?
            }
            // Its fragments are addressed by the inames themselves.
            Node::Atom(_) | Node::StoreMatrices(_) => false,
            Node::Join { .. } | Node::Start(_) | Node::Sync(_) | Node::Known(_) => true,
            Node::Commit | Node::Wait(..) => true,
        };
        if !written {
            return Ok(false);
        }
    }
    Ok(true)
}

fn with_lanes<'n>(
    analysis: &Analysis<'_>,
    lanes: impl Iterator<Item = &'n Name>,
    names: &Spoken,
    relevant: &BTreeSet<Name>,
) -> Result<Spoken, Diagnostic> {
    let mut inner = names.clone();
    for lane in lanes {
        inner = with_value(analysis, lane, &inner, relevant)?;
    }
    Ok(inner)
}

fn can_write_statement(analysis: &Analysis<'_>, s: &Statement, names: &Spoken) -> Result<bool, Diagnostic> {
    let info = s.of.info(analysis);
    let instruction = analysis.instruction(info);
    for e in evaluated(instruction, info.execution.part.part) {
        if !analysis.can_write_expr(e, names)? {
            return Ok(false);
        }
    }
    for target in &instruction.targets {
        if matches!(
            info.execution.part.part,
            loopwright_kernel_ir::Part::Whole | loopwright_kernel_ir::Part::Finish
        ) && !analysis.can_write_subscripts(target, names)?
        {
            return Ok(false);
        }
    }
    can_write_guards(analysis, &s.filling, names)
}

fn can_write_guards(analysis: &Analysis<'_>, guards: &[Guard], names: &Spoken) -> Result<bool, Diagnostic> {
    for g in guards {
        if !analysis.can_compare(&g.declared, names)? && !analysis.can_compare(&g.canonical, names)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn can_write_bounds(
    analysis: &Analysis<'_>,
    bounds: &LoopBounds,
    names: &Spoken,
) -> Result<bool, Diagnostic> {
    for (end, side) in [(&bounds.lower, Side::Lower), (&bounds.upper, Side::Upper)] {
        for b in end.0.iter().flatten() {
            if !analysis.can_write(&side.numerator(b)?.floor_div(b.denominator)?, names)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
