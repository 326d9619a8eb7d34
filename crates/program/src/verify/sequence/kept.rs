//! Whether what is read of shared and private arrays still exists: such memory begins anew with
//! each launch.
//!
//! A read that comes after a write of another launch in the kernel, and of one cell, has to come
//! after a write of its own launch too: [`Sequence::turned`] shows that no write is moved across
//! another one or across the read, so that what is between the two launches is not what the read
//! sees. Asked is, for each read, whether the executions that come after a write of another launch
//! are among those that come after one of their own. The first may be too many (conditions that are
//! not affine are left out), the second must not be: a write of its own launch that stands under
//! such a condition, or whose subscripts are data, counts for what its thread reads beside it,
//! under the same condition, in the same iteration of all loops, and by the same data. Accumulators
//! are left to `joins`.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{AddressSpace, Aff, Constraint, Diagnostic, HardwareAxis, Name};
use loopwright_legality::{Event, Touch, primed};
use loopwright_poly::{Result, Set, System};

use super::{Both, Pair, Placed, Sequence, place};
use crate::verify::{Finding, reading::Turn};

/// A statement of a part with what it accesses of one array.
#[derive(Clone, Copy)]
pub(super) struct Accessing<'a> {
    pub part: usize,
    pub event: &'a Event,
    pub statement: usize,
}

/// The writes that a read comes after.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    /// The writes of another launch.
    Elsewhere,
    /// The writes of its own launch, whose executions are known.
    Own,
    /// Those of its own thread, in the same iteration of all loops.
    Beside,
}

impl Sequence<'_> {
    /// Whether two statements run in one launch, which runs once.
    fn in_one_launch(x: &Placed, y: &Placed) -> bool {
        x.launch == y.launch && x.host.is_empty()
    }

    /// The first read of an array that may want what another launch has left.
    pub(super) fn not_kept(
        &mut self,
        both: &Both<'_, '_>,
        accesses: &[Accessing<'_>],
    ) -> Result<Option<Finding>> {
        let space = both.model.space(both.array);
        if space == AddressSpace::Global || both.model.is_accumulator(both.array) {
            return Ok(None);
        }
        for read in accesses.iter().filter(|a| a.event.touch != Touch::Write) {
            if let Some(found) = self.read_is_kept(both, accesses, *read)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn read_is_kept(
        &mut self,
        both: &Both<'_, '_>,
        accesses: &[Accessing<'_>],
        read: Accessing<'_>,
    ) -> Result<Option<Finding>> {
        let y = &self.statements[read.statement];
        let nest = |s: &Placed| s.by_data.then(|| (both.nest)(self.part(s))).flatten();
        let writes = accesses.iter().filter(|a| a.event.touch != Touch::Read);
        let (mut elsewhere, mut own) = (Vec::new(), Vec::new());
        for write in writes {
            let x = &self.statements[write.statement];
            // What a flattened nest does is followed on numbers.
            if nest(x).is_some() && nest(x) == nest(y) {
                continue;
            }
            if !Self::in_one_launch(x, y) {
                elsewhere.extend(
                    self.after(both, *write, read, Writes::Elsewhere)?.into_iter().map(|s| (s, *write)),
                );
            }
        }
        if elsewhere.is_empty() {
            return Ok(None);
        }
        let mut all_own = true;
        // An update passes on what the element held.
        let begins = |a: &&Accessing<'_>| !matches!(a.event.touch, Touch::Read | Touch::Combine(_));
        for write in accesses.iter().filter(begins) {
            let x = &self.statements[write.statement];
            if x.launch != y.launch {
                continue;
            }
            if nest(x).is_some() && nest(x) == nest(y) {
                return Ok(None);
            }
            let is_known = x.whole && alternatives(&x.either).is_some() && write.event.opaque.is_empty();
            all_own &= is_known;
            match is_known {
                true => own.extend(self.after(both, *write, read, Writes::Own)?),
                false if self.is_beside(*write, read) => {
                    own.extend(self.after(both, *write, read, Writes::Beside)?);
                }
                false => {}
            }
        }
        let mut dims: Vec<Name> = Vec::new();
        for system in elsewhere.iter().map(|(s, _)| s).chain(&own) {
            for name in system.constraints().iter().flat_map(Constraint::names) {
                if name.ends_with('\'') && !dims.contains(&name) {
                    dims.push(name);
                }
            }
        }
        dims.sort();
        let own = Set::from_systems(&dims, own)?;
        for (system, write) in elsewhere {
            self.queries += 1;
            let left = Set::from_systems(&dims, vec![system])?.subtract(&own)?;
            if left.is_empty()? {
                continue;
            }
            let (x, y) = (&self.statements[write.statement], &self.statements[read.statement]);
            let message = format!(
                "{} reads an element of `{}` that {} has written in another launch",
                self.part(y),
                both.array,
                self.part(x)
            );
            let found = Diagnostic::new("not-kept", message)
                .help("shared and private memory begins anew with each launch");
            let is_exact = all_own && x.exact && y.exact && x.either.is_empty() && y.either.len() < 2;
            let sample = if is_exact { left.sample(&BTreeMap::new())? } else { None };
            return Ok(Some(match sample {
                Some(point) => Finding::Refuted(Box::new(found.witness(format!(
                    "no launch that runs it{} has written the element before",
                    place(self.program, &point, "'")
                )))),
                None => Finding::Unknown(Box::new(found)),
            }));
        }
        Ok(None)
    }

    /// Whether a write runs wherever a thread comes to a read: it stands in no loop and under no
    /// condition beside those around the read. Loops around both count inames of both, since
    /// neither comes twice.
    fn is_beside(&self, write: Accessing<'_>, read: Accessing<'_>) -> bool {
        let (x, y) = (&self.statements[write.statement], &self.statements[read.statement]);
        let common = x.path.iter().zip(&y.path).take_while(|(a, b)| a == b).count();
        !x.by_data && matches!(x.path[common..], [Turn::Nth(_)])
    }

    /// The executions of a read, by primed names, that come after some execution of a write of the
    /// same cell.
    fn after(
        &self,
        both: &Both<'_, '_>,
        write: Accessing<'_>,
        read: Accessing<'_>,
        writes: Writes,
    ) -> Result<Vec<System>> {
        let (x, y) = (&self.statements[write.statement], &self.statements[read.statement]);
        let parts = (&both.model.parts[write.part], &both.model.parts[read.part]);
        let pair = Pair {
            program: self.program,
            model: both.model,
            context: both.context,
            array: both.array,
            parts,
            events: (write.event, read.event),
            x: write.statement,
            y: read.statement,
        };
        let own = writes != Writes::Elsewhere;
        if own && !(pair.has_known_cells() && write.event.under.is_empty()) {
            return Ok(Vec::new());
        }
        let cell = pair.one_cell()?;
        let mut rows = [pair.context, &x.rows, &cell.rows].concat();
        if writes == Writes::Beside {
            let coordinates = HardwareAxis::all().map(|axis| Name::new(axis.coordinate()));
            let inames = parts.0.inames.iter().filter(|n| parts.1.inames.contains(n));
            // Subscripts are read from arrays that nothing writes.
            let data = parts.0.loads.iter().map(|load| &load.name);
            for name in coordinates.chain(inames.chain(data).cloned()) {
                rows.push(Constraint::equal(&Aff::var(&name), &Aff::var(primed(&name)))?);
            }
        }
        for c in &y.rows {
            rows.push(pair.second_of(c)?);
        }
        // One list of constraints for each way in which the launches are the same, or are not.
        let mut launches: Vec<Vec<Constraint>> = Vec::new();
        let mut same = Vec::new();
        for number in &x.host {
            let Some(time) = self.loops[*number].time.as_ref().filter(|_| y.host.contains(number)) else {
                continue;
            };
            let other = pair.second(time)?;
            for [a, b] in [[time, &other], [&other, time]] {
                let mut apart = same.clone();
                apart.push(Constraint::lt(a, b)?);
                launches.push(apart);
            }
            same.push(Constraint::equal(time, &other)?);
        }
        if own {
            launches = vec![same];
        } else if x.launch != y.launch {
            launches = vec![Vec::new()];
        }
        let base = System::new(&rows)?;
        // What is known of the read may be left out, what is known of its own writes may not.
        let none = || vec![Vec::new()];
        let of_write = match writes {
            Writes::Own => alternatives(&x.either).unwrap_or_default(),
            Writes::Elsewhere | Writes::Beside => none(),
        };
        let mut either = Vec::new();
        for first in &of_write {
            for second in alternatives(&y.either).unwrap_or_else(none) {
                let second = second.iter().map(|c| pair.second_of(c)).collect::<Result<Vec<_>>>()?;
                either.push([first.as_slice(), &second].concat());
            }
        }
        let mut found = Vec::new();
        for way in pair.before_in_kernel(false)? {
            for more in launches.iter().flat_map(|l| either.iter().map(move |e| [&l[..], e].concat())) {
                let case = base.with(&[way.rows.as_slice(), &more].concat())?;
                if case.is_empty()? {
                    continue;
                }
                let is_first = |n: &Name| !n.ends_with('\'') && !both.model.is_parameter(n);
                found.extend(case.project_exactly(&is_first)?);
            }
        }
        Ok(found)
    }
}

/// The most conjunctions into which lists are divided.
const ALTERNATIVES: usize = 16;

/// One constraint of each list, in all ways; `None` if there are too many.
fn alternatives(lists: &[Vec<Constraint>]) -> Option<Vec<Vec<Constraint>>> {
    let mut all = vec![Vec::new()];
    for list in lists {
        if all.len() * list.len() > ALTERNATIVES {
            return None;
        }
        all = all
            .iter()
            .flat_map(|some| list.iter().map(|c| [&some[..], std::slice::from_ref(c)].concat()))
            .collect();
    }
    Some(all)
}
