//! Bounds of loops, and loops of one iteration or none.
//!
//! A loop runs over the hull of the ranges of the parts inside (`loop_bounds`). Each part's range
//! is the projection of its constraints onto the iname and the names that have a value before the
//! loop; if threads synchronise inside, onto names that are uniform over the block. Bounds that are
//! implied by others and by known facts are dropped. A loop of one iteration becomes its body; one
//! without iterations is omitted.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, HardwareAxis, Name, Part, Tag};
use loopwright_poly::{Bound, System};

use super::{Counter, Loop, Node, place::Place, planner::Planner};
use crate::{
    analyse::analysis::PartInfo,
    program::Note,
    schedule::{
        items::Item,
        loop_bounds::{LoopBounds, LoopEnd, Side},
    },
};

impl Planner<'_, '_> {
    /// The loop over `iname` around these items, split into pieces if that pays off.
    pub fn loop_over(
        &mut self,
        iname: &Name,
        items: &[Item],
        place: &Place,
    ) -> Result<Vec<Node>, Diagnostic> {
        if self.analysis.kernel.tag(iname) == Tag::Partition
            && let Some(nodes) = self.partitioned(iname, items, place)?
        {
            return Ok(nodes);
        }
        match self.loops_of_pieces(iname, items, place)? {
            Some(nodes) => Ok(nodes),
            None => self.one_loop(iname, items, place, Note::default()),
        }
    }

    /// The loop over `iname`, in one piece.
    pub fn one_loop(
        &mut self,
        iname: &Name,
        items: &[Item],
        place: &Place,
        note: Note,
    ) -> Result<Vec<Node>, Diagnostic> {
        let bounds = self.loop_bounds(items, iname, place)?;
        self.bounded_loop(iname, items, bounds, place, note)
    }

    /// The loop over `iname` between these bounds.
    pub fn bounded_loop(
        &mut self,
        iname: &Name,
        items: &[Item],
        bounds: LoopBounds,
        place: &Place,
        note: Note,
    ) -> Result<Vec<Node>, Diagnostic> {
        let mut inside = place.clone();
        inside.bound.insert(iname.clone());
        bounds.learn(iname, &mut inside)?;
        let ends = (
            constant_end(&bounds.lower, place, Side::Lower)?,
            constant_end(&bounds.upper, place, Side::Upper)?,
        );
        let one = match (bounds.one_value(), ends) {
            (Some(value), _) => Some(value.clone()),
            (None, (Some(low), Some(high))) if high <= low => return Ok(Vec::new()),
            // Facts about the iname outside the loop concern all instances of a part, not a piece
            // of it.
            (None, (Some(low), Some(high))) if high == low + 1 && self.piece.is_none() => {
                Some(Aff::constant(low))
            }
            _ => None,
        };
        if let Some(value) = one {
            inside.learn(&[Constraint::equal(&Aff::var(iname), &value)?])?;
            inside.only.insert(iname.clone(), place.with_constants(&value)?);
            let known = inside.clone();
            let body = self.items(items, &mut inside)?;
            return Ok(vec![Node::Once { iname: iname.clone(), value, inside: known, body }]);
        }
        let unroll = self.analysis.kernel.tag(iname) == Tag::Unroll;
        let known = inside.clone();
        let body = self.items(items, &mut inside)?;
        let counter = Counter::Iname;
        Ok(vec![Node::Loop(Loop {
            iname: iname.clone(),
            bounds,
            unroll,
            counter,
            note,
            inside: known,
            body,
        })])
    }

    /// The bounds of the loop over an iname.
    ///
    /// Errors: parts without bounds.
    pub fn loop_bounds(&self, items: &[Item], iname: &Name, place: &Place) -> Result<LoopBounds, Diagnostic> {
        match self.bounds_or_refusal(items, iname, place)? {
            Ok(bounds) => Ok(bounds),
            Err(refusal) => Err(*refusal),
        }
    }

    /// The bounds of the loop over an iname, or why there are none.
    pub fn bounds_or_refusal(
        &self,
        items: &[Item],
        iname: &Name,
        place: &Place,
    ) -> Result<Result<LoopBounds, Box<Diagnostic>>, Diagnostic> {
        let analysis = self.analysis;
        let refused = |diagnostic: Diagnostic| Ok(Err(Box::new(diagnostic)));
        // The threads of the block have to go round together.
        let converges = items.iter().any(|item| item.converges(analysis));
        // The bounds must be constant.
        let unroll = analysis.kernel.tag(iname) == Tag::Unroll;
        let mut all: Vec<(usize, Vec<Bound>, Vec<Bound>)> = Vec::new();
        let known = |c: &Constraint| place.implies(c);
        let mut unbounded = None;
        for part in Item::parts(items) {
            let info = self.part(part);
            if matches!(info.execution.part.part, Part::Init(_)) && !info.inames.contains(iname) {
                continue;
            }
            let mut system = System::new(&analysis.context)?;
            let inside = self.piece.as_ref().map_or(&[][..], |p| &p.inside);
            for g in info.guards.iter().filter(|g| !inside.contains(&g.canonical)) {
                system.add(&g.canonical)?;
            }
            // The coordinates' ranges matter where they are eliminated.
            for axis in HardwareAxis::all().filter(|axis| place.bound.contains(axis.coordinate())) {
                if let Some(extent) = axis.extent_in(&self.block) {
                    let value = axis.position();
                    system.add(&Constraint::lt(&value, &Aff::constant(i64::from(extent)))?)?;
                    system.add(&Constraint::nonneg(value))?;
                }
            }
            if unroll {
                let range = system.constant_range(&Aff::var(iname))?;
                let (Some(low), Some(high)) = range else {
                    return refused(
                        Diagnostic::new(
                            "not-constant-length",
                            format!(
                                "`{iname}` is to be unrolled, but its length is not bounded by a \
                                 constant"
                            ),
                        )
                        .help(format!(
                            "split it first, as split_iname({iname}, 4), and unroll the inner iname"
                        )),
                    );
                };
                let bound = |v| vec![Bound { aff: Aff::constant(v), denominator: 1 }];
                all.push((part, bound(low), bound(high)));
                continue;
            }
            let keep = |n: &Name| self.available(n, place) && (!converges || self.uniform(&Aff::var(n)));
            let bounds = system.bounds(iname, &keep)?;
            if bounds.lower.is_empty() || bounds.upper.is_empty() {
                // A part between the loops of a split reduction is related to the outer one only
                // through the inner one, so the parts inside determine its range.
                let any = system.bounds(iname, &|_| true)?;
                if (any.lower.is_empty() || any.upper.is_empty()) && Item::parts(items).len() > 1 {
                    unbounded = Some(part);
                    continue;
                }
                return refused(self.no_bound(iname, info, converges));
            }
            // Facts known here need not be repeated.
            let lower = Side::Lower.needed(bounds.lower, &known)?;
            let upper = Side::Upper.needed(bounds.upper, &known)?;
            all.push((part, lower, upper));
        }
        if let (Some(part), true) = (unbounded, all.is_empty()) {
            return refused(self.no_bound(iname, &analysis.parts[part], false));
        }
        // A projection says nothing about empty ranges; the loop over one end must stay within that
        // over all instances.
        if let (Some(whole), [(_, lower, upper)]) =
            (self.piece.as_ref().and_then(|p| p.ends_of.as_ref()), all.as_mut_slice())
        {
            lower.extend(whole.lower.0.iter().flatten().cloned());
            upper.extend(whole.upper.0.iter().flatten().cloned());
            *lower = Side::Lower.needed(std::mem::take(lower), &known)?;
            *upper = Side::Upper.needed(std::mem::take(upper), &known)?;
        }
        let of_part = |k: usize, c: &Constraint| {
            let guards = self.part(all[k].0).guards.iter().map(|g| g.canonical.clone());
            Ok(place.system().with(&guards.collect::<Vec<_>>())?.implies(c)?)
        };
        let (lower, upper) = all.iter().map(|(_, low, high)| (low.clone(), high.clone())).unzip();
        Ok(Ok(LoopBounds {
            lower: LoopEnd::hull(Side::Lower, iname, lower, &known, &of_part)?,
            upper: LoopEnd::hull(Side::Upper, iname, upper, &known, &of_part)?,
        }))
    }

    fn no_bound(&self, iname: &Name, info: &PartInfo, converges: bool) -> Diagnostic {
        let refusal = Diagnostic::new(
            "no-bound",
            format!("the loop over `{iname}` has no bound for {} here", info.execution.part),
        );
        let names = info.guards.iter().flat_map(|g| g.canonical.names());
        if let Some(scalar) = names.into_iter().find(|n| self.is_loaded_by_lanes(n)) {
            let lanes = self.analysis.writers(&scalar).flat_map(|(_, writer)| writer.lanes.clone());
            let lanes: Vec<String> = lanes.map(|n| format!("`{n}`")).collect();
            return refusal.help(format!(
                "one loop serves all lanes of {0}, which load `{scalar}` each for itself, and it is not known \
                 that all of them have one value, the first too: leave {0} a loop, or spread it over threads",
                lanes.join(" and "),
            ));
        }
        if !converges {
            return refusal.help(
                "give the iname a lower and an upper bound, loaded before the loop if they are \
                 read from data",
            );
        }
        let refusal = refusal.help(
            "threads wait for each other inside the loop, so its bounds must be the same for all \
             threads of the block",
        );
        match self.different_rounds(iname, info) {
            Some(witness) => refusal.witness(witness),
            None => refusal,
        }
    }

    /// Two threads of a block that execute different numbers of iterations, because per-thread
    /// values bound the loop.
    fn different_rounds(&self, iname: &Name, info: &PartInfo) -> Option<String> {
        let bounding = |c: &&Constraint| c.aff.mentions(iname);
        let names: Vec<Name> =
            info.execution.constraints.iter().filter(bounding).flat_map(Constraint::names).collect();
        let load = info.execution.loads.iter().find(|l| names.contains(&l.name))?;
        let own = |n: &Name| HardwareAxis::of_coordinate(n).is_some_and(HardwareAxis::is_in_block);
        let coordinate = load.arguments.iter().flat_map(Aff::names).find(own)?;
        let on_axis = |i: &&Name| {
            self.analysis.kernel.tag(i).axis().is_some_and(|axis| coordinate == *axis.coordinate())
        };
        let thread = info.inames.iter().find(on_axis)?;
        let least = self.analysis.extents.get(thread)?.lower.as_constant()?;
        let cell = |value: i64| -> Option<String> {
            let index: Option<Vec<String>> = load
                .arguments
                .iter()
                .map(|a| a.eval(&|n| (*n == coordinate).then_some(value)).map(|v| v.to_string()))
                .collect();
            Some(format!("{}[{}]", load.array, index?.join(", ")))
        };
        let (first, second) = (cell(0)?, cell(1)?);
        Some(format!(
            "where {first} and {second} differ, ({thread} = {least}) and ({thread} = {}) run \
             different numbers of iterations of the loop over `{iname}`, and one waits at a \
             barrier that the other never reaches",
            least.checked_add(1)?
        ))
    }
}

/// The first value, or the one after the last, where it is constant.
fn constant_end(end: &LoopEnd, place: &Place, side: Side) -> Result<Option<i64>, Diagnostic> {
    let mut weakest: Option<i64> = None;
    for bounds in &end.0 {
        let mut own: Option<i64> = None;
        for b in bounds {
            let Some(value) = place.constant_quotient(&side.numerator(b)?, b.denominator)? else {
                return Ok(None);
            };
            own = Some(match (own, side) {
                (None, _) => value,
                (Some(o), Side::Lower) => o.max(value),
                (Some(o), Side::Upper) => o.min(value),
            });
        }
        let Some(own) = own else { return Ok(None) };
        weakest = Some(match (weakest, side) {
            (None, _) => own,
            (Some(w), Side::Lower) => w.min(own),
            (Some(w), Side::Upper) => w.max(own),
        });
    }
    Ok(weakest)
}
