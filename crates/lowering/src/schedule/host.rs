//! The host's level: launches, and the grids and blocks of their kernels.
//!
//! Children at the host's level (the top of the loop tree, and the bodies of loops tagged `host`)
//! that are not host loops share a device kernel as long as blocks do not depend on one another;
//! where they do, a kernel ends, and where the user wants one to begin. This gives the fewest
//! kernels. Each kernel and each host loop is annotated with the dependence that requires it. A
//! host loop of one iteration is replaced by its body, with the iname's only value. Then the passes
//! over each kernel decide its contents.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use loopwright_kernel_ir::{
    AddressSpace, Aff, Constraint, Diagnostic, Dim, HardwareAxis, Name, PerDim, Tag, Tree,
};
use loopwright_legality::{Meeting, Time};
use loopwright_poly::{System, Table};

use super::{
    Body, HostNode, HostPlace, KernelBody, KernelPlan, Node, Schedule, conditions, counters, early,
    place::Place, planner::Planner, spoken::Spoken, updates, waits,
};
use crate::{
    Hazards, LowerOptions,
    analyse::{analysis::Analysis, lifetimes, private, ranges::with_coordinates},
    flat,
    program::Note,
    schedule::{
        block::{block_shape, extents_of_threads},
        grid::grid_extent,
        items::{Item, items_of},
        joins::uses_shared,
        loop_bounds::{LoopBounds, LoopEnd, Side},
        sync,
    },
};

/// Makes all decisions for a kernel.
pub(crate) fn schedule(
    analysis: &Analysis<'_>,
    options: LowerOptions,
    hazards: Hazards,
) -> Result<Schedule, Diagnostic> {
    if hazards == Hazards::Refused {
        private::check(analysis)?;
    }
    let mut host = Host { analysis, options, hazards, kernels: Vec::new() };
    let mut nodes = host.body(&analysis.kernel.tree, &HostPlace::default())?;
    if host.kernels.is_empty() {
        // No part has an instance. The runtime and the emulator expect a kernel nevertheless.
        nodes.push(host.kernel(Vec::new(), &HostPlace::default())?);
    }
    if hazards == Hazards::Refused {
        let parts: Vec<Vec<usize>> = host.kernels.iter().map(|k| k.parts.clone()).collect();
        lifetimes::check(analysis, &parts)?;
    }
    early::decide(&nodes, &mut host.kernels);
    Ok(Schedule { host: nodes, kernels: host.kernels })
}

/// The note of a dependence on what is launched before.
fn after(name: &str, note: Note) -> Note {
    Note { text: format!("launched after {name}: {}", note.text), ..note }
}

struct Host<'a, 'k> {
    analysis: &'a Analysis<'k>,
    options: LowerOptions,
    hazards: Hazards,
    kernels: Vec<KernelPlan>,
}

/// What is launched before something at the same level of the host.
struct Before {
    parts: Vec<usize>,
    /// How comments refer to it.
    name: String,
}

impl HostPlace {
    /// The facts known inside these loops, and the names that have a value there.
    pub fn place(&self, analysis: &Analysis<'_>) -> Result<Place, Diagnostic> {
        let mut place = Place::new(&analysis.context)?;
        for name in &self.around {
            if let Some(aff) = self.fixed.get(name) {
                let meaning = place.with_constants(aff)?;
                place.only.insert(name.clone(), meaning);
            }
            place.bound.insert(name.clone());
        }
        Ok(place)
    }

    /// One loop further in, with these facts about it.
    fn inside(&self, iname: &Name, known: Vec<Constraint>) -> HostPlace {
        let mut inside = self.clone();
        inside.around.push(iname.clone());
        inside.known.extend(known);
        inside
    }
}

impl Host<'_, '_> {
    /// The host's actions for trees inside these host loops.
    fn body(&mut self, trees: &[Tree], around: &HostPlace) -> Result<Vec<HostNode>, Diagnostic> {
        let mut nodes = Vec::new();
        let mut segment: Vec<Tree> = Vec::new();
        let mut before: Option<Before> = None;
        for tree in trees {
            let Tree::Loop { iname, body } = tree else {
                self.end_before(tree, &mut segment, around, &mut before, &mut nodes)?;
                segment.push(tree.clone());
                continue;
            };
            let tag = self.analysis.kernel.tag(iname);
            if !matches!(tag, Tag::Host | Tag::Flat) {
                self.end_before(tree, &mut segment, around, &mut before, &mut nodes)?;
                segment.push(tree.clone());
                continue;
            }
            let parts = Item::parts(&items_of(self.analysis, std::slice::from_ref(tree)));
            if parts.is_empty() {
                continue;
            }
            let ended = std::mem::take(&mut segment);
            nodes.extend(self.segment(&ended, around, &mut before)?);
            let first = self.kernels.len();
            let own = match tag {
                Tag::Flat => self.flat_nest(iname, &parts, around)?,
                _ => self.host_loop(iname, body, around)?,
            };
            self.note_boundary(first, before.as_ref(), &parts)?;
            let name = match own.as_slice() {
                [HostNode::For { .. }] => format!("the host loop over {iname}"),
                _ => self.name_of(self.kernels.len().saturating_sub(1)),
            };
            before = Some(Before { parts, name });
            nodes.extend(own);
        }
        nodes.extend(self.segment(&segment, around, &mut before)?);
        Ok(nodes)
    }

    /// Ends the launch of what comes before a tree, if the user wants one to begin with it.
    fn end_before(
        &mut self,
        tree: &Tree,
        segment: &mut Vec<Tree>,
        around: &HostPlace,
        before: &mut Option<Before>,
        nodes: &mut Vec<HostNode>,
    ) -> Result<(), Diagnostic> {
        let kernel = self.analysis.kernel;
        if segment.is_empty() || !kernel.instructions.iter().any(|i| i.begins_launch) {
            return Ok(());
        }
        let begins = tree.leaves().into_iter().find(|leaf| {
            let first = kernel.tree.iter().flat_map(Tree::leaves).find(|l| l.instruction == leaf.instruction);
            first == Some(leaf) && kernel.instruction(&leaf.instruction).is_some_and(|i| i.begins_launch)
        });
        let Some(begins) = begins else { return Ok(()) };
        let ended = std::mem::take(segment);
        // A reduction's parts share an accumulator of a thread.
        let ends: BTreeSet<&Name> = ended.iter().flat_map(Tree::leaves).map(|l| &l.instruction).collect();
        let rest = kernel.tree.iter().flat_map(Tree::leaves).skip_while(|leaf| *leaf != begins);
        if let Some(cut) = rest.map(|leaf| &leaf.instruction).find(|id| ends.contains(id)) {
            let message = format!(
                "a launch cannot begin with `{}`: it would divide `{cut}`, whose parts are on both sides",
                begins.instruction
            );
            return Err(Diagnostic::new("launch-in-reduction", message).help(format!(
                "give `{cut}` loops of its own with `distribute`, or begin the launch with it"
            )));
        }
        nodes.extend(self.segment(&ended, around, before)?);
        Ok(())
    }

    fn name_of(&self, kernel: usize) -> String {
        let mut name = format!("{}_{kernel}", self.analysis.kernel.name);
        // Tables are as visible as kernels.
        while self.analysis.kernel.constant(&name).is_some() {
            name.push('k');
        }
        name
    }

    /// Records why the kernel of this number is separate from what is launched before it.
    fn note_boundary(
        &mut self,
        kernel: usize,
        before: Option<&Before>,
        parts: &[usize],
    ) -> Result<(), Diagnostic> {
        let Some(before) = before else { return Ok(()) };
        let both = [&before.parts[..], parts].concat();
        let mut conflicts =
            sync::Conflicts::of_launches(self.analysis, &both, extents_of_threads(self.analysis, &both));
        let note = match conflicts.between_launches(&before.parts, parts, Time::Same)? {
            Some(found) => after(&before.name, sync::because(found)),
            None => Note::new(format!("launched after {}, on which it does not depend", before.name)),
        };
        if let Some(kernel) = self.kernels.get_mut(kernel) {
            kernel.notes.insert(0, note);
        }
        Ok(())
    }

    /// The dependence that a host loop carries, as a note; `depth` loops are around it.
    fn loop_note(&self, iname: &Name, parts: &[usize], depth: usize) -> Result<Note, Diagnostic> {
        let mut conflicts =
            sync::Conflicts::of_launches(self.analysis, parts, extents_of_threads(self.analysis, parts));
        Ok(match conflicts.between_launches(parts, parts, Time::Earlier(depth))? {
            Some(found) => {
                let note = sync::because(found);
                Note { text: format!("launched for each {iname}: {} at a later {iname}", note.text), ..note }
            }
            None => Note::new(format!("launched for each {iname}, though no iteration depends on another")),
        })
    }

    fn host_loop(
        &mut self,
        iname: &Name,
        body: &[Tree],
        around: &HostPlace,
    ) -> Result<Vec<HostNode>, Diagnostic> {
        let analysis = self.analysis;
        let mut context = analysis.context.clone();
        context.extend(around.known.iter().cloned());
        let context = System::new(&context)?;
        let bounds = self.host_bounds(iname, body, around, &context)?;
        if let Some(value) = bounds.one_value() {
            let mut inside = around.inside(iname, vec![Constraint::equal(&Aff::var(iname), value)?]);
            inside.fixed.insert(iname.clone(), value.clone());
            return self.body(body, &inside);
        }
        let inside = around.inside(iname, bounds.known(iname, &|c| Ok(context.implies(c)?))?);
        let first = self.kernels.len();
        let parts = Item::parts(&items_of(analysis, body));
        let body = self.body(body, &inside)?;
        let note = self.loop_note(iname, &parts, around.around.len())?;
        if let Some(kernel) = self.kernels.get_mut(first) {
            kernel.notes.insert(0, note.clone());
        }
        Ok(vec![HostNode::For { iname: iname.clone(), bounds, around: around.clone(), body, note }])
    }

    /// The bounds of a host loop: the parts inside may have different ranges; the loop covers all
    /// of them, and each part is guarded.
    fn host_bounds(
        &self,
        iname: &Name,
        body: &[Tree],
        around: &HostPlace,
        context: &System,
    ) -> Result<LoopBounds, Diagnostic> {
        let analysis = self.analysis;
        let keep = |n: &Name| analysis.is_parameter(n) || around.around.contains(n);
        let known = |c: &Constraint| Ok(context.implies(c)?);
        let (mut lowers, mut uppers, mut systems) = (Vec::new(), Vec::new(), Vec::new());
        for leaf in body.iter().flat_map(Tree::leaves) {
            let Some(info) = analysis.numbers.get(leaf).map(|p| &analysis.parts[*p]) else { continue };
            let mut rows = analysis.context.clone();
            rows.extend(info.execution.constraints.iter().cloned());
            with_coordinates(&mut rows);
            let system = System::of(rows)?;
            let bounds = system.bounds(iname, &keep)?;
            if bounds.lower.is_empty() || bounds.upper.is_empty() {
                return Err(Diagnostic::new(
                    "no-bound",
                    format!("the host loop over `{iname}` has no bound for {} here", info.execution.part),
                )
                .help(
                    "give the iname a lower and an upper bound over the parameters and the host \
                     loops around",
                ));
            }
            lowers.push(Side::Lower.needed(bounds.lower, &known)?);
            uppers.push(Side::Upper.needed(bounds.upper, &known)?);
            systems.push(system);
        }
        let of_part = |k: usize, c: &Constraint| Ok(systems[k].implies(c)?);
        Ok(LoopBounds {
            lower: LoopEnd::hull(Side::Lower, iname, lowers, &known, &of_part)?,
            upper: LoopEnd::hull(Side::Upper, iname, uppers, &known, &of_part)?,
        })
    }

    /// Cuts neighbours at the host's level into device kernels.
    fn segment(
        &mut self,
        trees: &[Tree],
        around: &HostPlace,
        before: &mut Option<Before>,
    ) -> Result<Vec<HostNode>, Diagnostic> {
        if trees.is_empty() {
            return Ok(Vec::new());
        }
        let analysis = self.analysis;
        let items = items_of(analysis, trees);
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let parts = Item::parts(&items);
        let homes = sync::homes(&items);
        let mut spans: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for p in &parts {
            let Some(k) = homes.get(p).copied() else { continue };
            let span = spans.entry(analysis.parts[*p].instruction).or_insert((k, k));
            *span = (span.0.min(k), span.1.max(k));
        }
        let values = self.lives(&homes);
        // As late as possible, but never through an instruction, whose parts share an accumulator,
        // and preferably not between a private or shared value and its reader.
        let choose = |after: usize, before: usize| {
            let cuts = |(first, last): &(usize, usize), cut: usize| *first < cut && cut <= *last;
            let whole = |cut: &usize| !spans.values().any(|s| cuts(s, *cut));
            let places: Vec<usize> = (after + 1..=before).rev().filter(whole).collect();
            let best = places.iter().find(|c| !values.iter().any(|v| cuts(v, **c))).or(places.first());
            best.copied().unwrap_or(before)
        };
        // For all of them together: limits on the block are checked for each kernel when its parts
        // are known.
        let block = extents_of_threads(analysis, &parts);
        let conflicts = sync::Conflicts::new(analysis, &parts, block, Meeting::Blocks, self.hazards)?;
        let cuts = conflicts.cuts(&items, around.around.len(), &choose)?;
        // A join belongs to the part after it.
        let mut nodes = Vec::new();
        let mut current = Vec::new();
        let mut boundary: Option<Note> = None;
        for (k, item) in items.into_iter().enumerate() {
            if let Some(cut) = cuts.get(&k)
                && !current.is_empty()
            {
                let ended = std::mem::take(&mut current);
                nodes.push(self.noted_kernel(ended, around, boundary.take(), before)?);
                boundary = Some(sync::because(cut.clone()));
            }
            current.push(item);
        }
        nodes.push(self.noted_kernel(current, around, boundary, before)?);
        Ok(nodes)
    }

    /// A device kernel and the reason why it is separate: the dependence at the cut, or one on an
    /// earlier launch.
    fn noted_kernel(
        &mut self,
        items: Vec<Item>,
        around: &HostPlace,
        boundary: Option<Note>,
        before: &mut Option<Before>,
    ) -> Result<HostNode, Diagnostic> {
        let parts = Item::parts(&items);
        let number = self.kernels.len();
        let node = self.kernel(items, around)?;
        match (boundary, &before) {
            (Some(note), Some(before)) => {
                if let Some(kernel) = self.kernels.get_mut(number) {
                    kernel.notes.insert(0, after(&before.name, note));
                }
            }
            (_, before) => self.note_boundary(number, before.as_ref(), &parts)?,
        }
        *before = Some(Before { parts, name: self.name_of(number) });
        Ok(node)
    }

    /// The launches of a flattened nest.
    fn flat_nest(
        &mut self,
        iname: &Name,
        parts: &[usize],
        around: &HostPlace,
    ) -> Result<Vec<HostNode>, Diagnostic> {
        let mut nodes = Vec::new();
        for launch in flat::launches(self.analysis, self.options, iname)? {
            let number = self.kernels.len();
            self.kernels.push(KernelPlan {
                name: Name::new(self.name_of(number)),
                around: around.clone(),
                notes: launch.notes(&self.name_of(number.saturating_sub(1))),
                parts: if launch.has_parts() { parts.to_vec() } else { Vec::new() },
                starts_early: false,
                body: KernelBody::Segments(launch),
            });
            nodes.push(HostNode::Launch(number));
        }
        Ok(nodes)
    }

    /// The first and the last item that touch each private or shared temporary.
    fn lives(&self, homes: &Table<usize, usize>) -> Vec<(usize, usize)> {
        let temporaries = &self.analysis.kernel.temporaries;
        let local = temporaries.iter().filter(|t| t.space != AddressSpace::Global);
        local
            .filter_map(|t| {
                let touches = self.analysis.touches.get(&t.name)?;
                let places = || touches.iter().filter_map(|(part, _)| homes.get(part).copied());
                Some((places().min()?, places().max()?))
            })
            .collect()
    }

    /// A device kernel of these items.
    fn kernel(&mut self, items: Vec<Item>, around: &HostPlace) -> Result<HostNode, Diagnostic> {
        let analysis = self.analysis;
        let parts = Item::parts(&items);
        let block = block_shape(analysis, &parts, &self.options.target)?;
        if parts.iter().any(|p| !analysis.parts[*p].lanes.is_empty()) {
            sync::Conflicts::new(analysis, &parts, block, Meeting::Lanes, self.hazards)?;
        }
        let conflicts = sync::Conflicts::new(analysis, &parts, block, Meeting::Threads, self.hazards)?;
        let exchanged = conflicts.arrays();
        let warp = self.options.target.warp_size;
        let depth = around.around.len();
        let items = conflicts.place_barriers(items, depth, false, &|j| uses_shared(block, j, warp))?;
        let items = waits::place(&conflicts, items)?;
        let (place, grid) = self.begin(&parts, block, around)?;
        self.check_homes(&parts)?;
        let mut planner = Planner {
            analysis,
            block,
            target: &self.options.target,
            hazards: self.hazards,
            data: Rc::default(),
            atomic: updates::atomic(analysis, &parts, block)?,
            loads_fragments: false,
            piece: None,
            at_ends: false,
        };
        let mut nodes = planner.items(&items, &mut place.clone())?;
        planner.data = Rc::default();
        self.count(&mut planner, &mut nodes, &parts, &place)?;
        conditions::branch(analysis, &mut nodes)?;
        let number = self.kernels.len();
        self.kernels.push(KernelPlan {
            name: Name::new(self.name_of(number)),
            around: around.clone(),
            notes: Vec::new(),
            parts,
            starts_early: false,
            body: KernelBody::Nodes(Box::new(Body { block, grid, place, nodes, exchanged })),
        });
        Ok(HostNode::Launch(number))
    }

    /// The facts known where a kernel begins, and its grid.
    fn begin(
        &self,
        parts: &[usize],
        block: PerDim<u32>,
        around: &HostPlace,
    ) -> Result<(Place, BTreeMap<Dim, super::GridExtent>), Diagnostic> {
        let analysis = self.analysis;
        let host = around.place(analysis)?;
        let mut place = host.clone();
        let mut known = around.known.clone();
        let mut fixed = BTreeMap::new();
        for dim in Dim::ALL {
            let (axis, extent) = (HardwareAxis::Block(*dim), block[*dim]);
            let (name, value) = (Name::new(axis.coordinate()), axis.position());
            known.push(Constraint::lt(&value, &Aff::constant(i64::from(extent)))?);
            known.push(Constraint::nonneg(value));
            if extent <= 1 {
                fixed.insert(name.clone(), Aff::constant(0));
            }
            place.bound.insert(name);
        }
        let mut grid = BTreeMap::new();
        for dim in Dim::ALL {
            let axis = HardwareAxis::Grid(*dim);
            let inames: BTreeSet<Name> = parts
                .iter()
                .flat_map(|p| analysis.parts[*p].inames.iter())
                .filter(|i| analysis.kernel.tag(i).axis() == Some(axis))
                .cloned()
                .collect();
            let (name, value) = (Name::new(axis.coordinate()), axis.position());
            known.push(Constraint::nonneg(value.clone()));
            if inames.is_empty() {
                fixed.insert(name.clone(), Aff::constant(0));
                known.push(Constraint::zero(value));
            } else {
                let (extent, own) = grid_extent(analysis, &host, (&inames, axis), parts, &around.around)?;
                known.extend(own);
                grid.insert(*dim, extent);
            }
            place.bound.insert(name);
        }
        place.fixed = Rc::new(fixed);
        place.learn(&known)?;
        Ok((place, grid))
    }

    /// Refuses temporaries that cannot live in their address space.
    fn check_homes(&self, parts: &[usize]) -> Result<(), Diagnostic> {
        for temporary in &self.analysis.kernel.temporaries {
            let touched = self.analysis.touches.get(&temporary.name);
            let here = touched.into_iter().flatten().any(|(part, _)| parts.contains(part));
            if here && temporary.space != AddressSpace::Global {
                self.analysis.home(temporary)?;
            }
        }
        Ok(())
    }

    /// Decides what each loop counts: its iname, or a sum that its body uses.
    fn count(
        &self,
        planner: &mut Planner<'_, '_>,
        nodes: &mut [Node],
        parts: &[usize],
        place: &Place,
    ) -> Result<(), Diagnostic> {
        let analysis = self.analysis;
        let relevant = relevant(analysis, parts);
        let mut names = Spoken { values: place.bound.clone(), bound: place.bound.clone(), named: Vec::new() };
        counters::name_definitions(analysis, &mut names, &relevant)?;
        let on_axes = relevant.iter().filter(|i| analysis.kernel.tag(i).is_hardware());
        names.values.extend(on_axes.cloned());
        counters::count(planner, nodes, &names, place, &relevant)
    }
}

/// The base inames of parts.
pub(crate) fn relevant(analysis: &Analysis<'_>, parts: &[usize]) -> BTreeSet<Name> {
    parts.iter().flat_map(|p| analysis.parts[*p].inames.iter().cloned()).collect()
}
