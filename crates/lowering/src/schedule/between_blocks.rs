//! Refuses blocks that depend on one another inside a loop of the device, where no launch can end
//! and order them.
//!
//! The refusal is decided over all blocks that there may be. Its witness has to name blocks that
//! the grid has: a part that has no iname on an axis may run in all of the axis's blocks, whose
//! number is that of the part with the most of them. So a witness is looked for among the pairs
//! whose blocks another part of the launch reaches, and the refusal stands without one if there is
//! no such pair.

use loopwright_kernel_ir::{Aff, Constraint, Diagnostic, HardwareAxis, Name, Part, PartRef};
use loopwright_legality::{Presence, Time, primed};

use crate::{
    analyse::{analysis::PartInfo, ranges::with_coordinates},
    program::Dependence,
    schedule::{items::Item, sync::Conflicts},
};

/// The parts that one launch runs, for questions about its blocks.
pub(super) struct Launch<'a, 'k> {
    conflicts: &'a Conflicts<'a, 'k>,
    parts: Vec<usize>,
    /// The number of loops of the host around it.
    host_loops: usize,
}

impl<'a, 'k> Launch<'a, 'k> {
    /// The launch of these items, inside a number of loops of the host.
    pub fn new(conflicts: &'a Conflicts<'a, 'k>, items: &[Item], host_loops: usize) -> Self {
        Launch { conflicts, parts: Item::parts(items), host_loops }
    }

    /// No two blocks may depend on one another inside a loop over `iname`; `depth` loops are around
    /// it.
    pub fn refuse_dependent_blocks(
        &self,
        iname: &Name,
        body: &[Item],
        depth: usize,
    ) -> Result<(), Diagnostic> {
        let parts = self.conflicts.relevant(Item::parts(body));
        if let Some(found) = self.conflicts.meet_any(&parts, &parts, Time::Earlier(depth))? {
            return Err(self.refusal(found, "from one iteration to the next of the loop over", iname)?);
        }
        for (k, p) in parts.iter().enumerate() {
            if let Some(found) = self.conflicts.meet_any(&[*p], &parts[k + 1..], Time::Same)? {
                return Err(self.refusal(found, "inside the loop over", iname)?);
            }
        }
        for item in body {
            if let Item::Loop { iname, body } = item {
                self.refuse_dependent_blocks(iname, body, depth + 1)?;
            }
        }
        Ok(())
    }

    fn refusal(&self, found: Dependence, how: &str, iname: &Name) -> Result<Diagnostic, Diagnostic> {
        let refusal = Diagnostic::new(
            "blocks-depend",
            format!("blocks depend on one another {how} `{iname}`: {found}"),
        )
        .help(format!("tag `{iname}: host`, so that each of its iterations is a separate launch"));
        let is_certain = |part: &PartRef| {
            self.part(part).is_some_and(|info| self.conflicts.analysis.predicate(info).is_some())
        };
        if !(is_certain(&found.first.part) && is_certain(&found.second.part)) {
            return Ok(refusal);
        }
        let found = self.between_existing_blocks(found)?;
        Ok(match found.as_ref().and_then(|found| Some(found.shown(&found.example()?))) {
            Some(shown) => refusal.witness(format!("{shown}; nothing orders blocks within a launch")),
            None => refusal,
        })
    }

    fn part(&self, part: &PartRef) -> Option<&PartInfo> {
        let analysis = self.conflicts.analysis;
        analysis.numbers.get(part).map(|p| &analysis.parts[*p])
    }

    /// Those of the pairs whose blocks exist for what one part of the launch runs.
    fn between_existing_blocks(&self, mut found: Dependence) -> Result<Option<Dependence>, Diagnostic> {
        for axis in HardwareAxis::OF_GRID {
            let runs_everywhere = |part: &PartRef| {
                let presence = self.part(part).map(|info| &info.execution.executor[*axis]);
                matches!(presence, Some(Presence::Replicated | Presence::Collective))
            };
            let mut blocks = Vec::new();
            if runs_everywhere(&found.first.part) {
                blocks.push(axis.position());
            }
            if runs_everywhere(&found.second.part) {
                blocks.push(axis.position().rename(&|n| Some(primed(n)))?);
            }
            if blocks.is_empty() {
                continue;
            }
            let mut reached = None;
            for part in &self.parts {
                let Some(rows) = self.reaches(*part, *axis, &blocks)? else { continue };
                let pairs = found.pairs.with(&rows)?;
                if !pairs.is_empty()? {
                    reached = Some(pairs);
                    break;
                }
            }
            let Some(pairs) = reached else { return Ok(None) };
            found.pairs = pairs;
        }
        Ok(Some(found))
    }

    /// That some instance of a part lies at these positions of the axis or beyond them, over names
    /// of its own for what differs between instances. `None` for parts that do not count blocks.
    fn reaches(
        &self,
        part: usize,
        axis: HardwareAxis,
        positions: &[Aff],
    ) -> Result<Option<Vec<Constraint>>, Diagnostic> {
        let analysis = self.conflicts.analysis;
        let execution = &analysis.parts[part].execution;
        let is_init = matches!(execution.part.part, Part::Init(_));
        if is_init || execution.executor[axis].iname().is_none() {
            return Ok(None);
        }
        let around = &execution.loops[..self.host_loops.min(execution.loops.len())];
        let is_common = |n: &Name| analysis.is_parameter(n) || around.contains(n);
        let own = |aff: &Aff| aff.rename(&|n| (!is_common(n)).then(|| n.followed_by("''")));
        let mut domain = execution.constraints.clone();
        with_coordinates(&mut domain);
        let mut rows = Vec::with_capacity(domain.len() + positions.len());
        for c in &domain {
            rows.push(Constraint { kind: c.kind, aff: own(&c.aff)? });
        }
        for position in positions {
            rows.push(Constraint::le(position, &own(&axis.position())?)?);
        }
        Ok(Some(rows))
    }
}
