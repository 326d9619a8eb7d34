//! The host's level: device kernels, their grids and blocks.
//!
//! Children of the host's level (the top of the loop tree, and the bodies of loops tagged `host`)
//! that are no host loops go into one device kernel as long as blocks do not depend on one another;
//! where they do, a kernel ends. As few kernels as possible. Each kernel and each host loop notes
//! the dependence that needs it. A host loop of one iteration is none: its iname is the value that
//! it has.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{
    AddressSpace, Aff, Arg, Constraint, Diagnostic, Flat, LoopKernel, Name, Part, PartRef, Tag, Tree,
};
use loopwright_legality::{BLOCK_COORDINATES, Meeting, THREAD_COORDINATES, Time, flat_nest};
use loopwright_poly::System;

use crate::{
    Hazards, LowerOptions,
    accumulate::fill_partial_tiles,
    analysis::Analysis,
    block::{block_shape, extents_of_threads},
    device_kernel::{Draft, called_functions, globals_read},
    early,
    elect::elect_writers,
    emitter::{Emitter, Shared, known},
    env::Env,
    flat::{self, Stage, Writer},
    grid::grid_extent,
    items::{Item, items_of},
    join::uses_shared,
    layout::layout,
    loop_bounds::{LoopBounds, LoopEnd, Side},
    names, private,
    program::{
        Atomic, DeviceKernel, Global, HostStmt, LeafId, Note, Owner, Param, Program, ProgramArg, Purpose,
        ScalarArg, Stmt, Value, ValueKind,
    },
    ranges::with_coordinates,
    sync,
};

pub(crate) fn lower(
    kernel: &LoopKernel,
    options: LowerOptions,
    hazards: Hazards,
    updates: BTreeMap<Name, Atomic>,
) -> Result<Program, Diagnostic> {
    names::check(kernel, options.target.language)?;
    let mut analysis = Analysis::new(kernel)?;
    elect_writers(&mut analysis);
    fill_partial_tiles(&mut analysis)?;
    analysis.updates = updates;
    let mut shared = Shared {
        globals: Vec::new(),
        leaves: Vec::new(),
        index: options.index,
        target: options.target,
        hazards,
    };
    let args = declare_globals(&analysis, &mut shared)?;
    if hazards == Hazards::Refused {
        private::check(&analysis)?;
    }
    let mut state = State {
        analysis: &analysis,
        shared,
        kernels: Vec::new(),
        parts: Vec::new(),
        host_known: Vec::new(),
        fixed: BTreeMap::new(),
    };
    let mut host = state.host_body(&kernel.tree, &mut Vec::new())?;
    if state.kernels.is_empty() {
        // No part has an instance. What runs programs counts on a kernel all the same.
        host.push(state.device_kernel(Vec::new(), &[])?);
    }
    if hazards == Hazards::Refused {
        private::check_kernels(&analysis, &state.parts)?;
    }
    let State { mut shared, mut kernels, .. } = state;
    if let [only] = kernels.as_mut_slice() {
        only.name = kernel.name.clone();
    }
    for k in &kernels {
        for p in &k.params {
            if let Param::Global { global, written, .. } = p {
                shared.globals[*global].written |= *written;
            }
        }
        for global in globals_read(&k.body) {
            shared.globals[global].read = true;
        }
    }
    early::mark(&host, &mut kernels, &shared.globals);
    // Parts without a statement: their loops are empty, or something went wrong.
    let emitted: BTreeSet<PartRef> = shared.leaves.iter().map(|l| l.part.clone()).collect();
    for part in (0..analysis.parts.len()).filter(|p| !emitted.contains(&analysis.parts[*p].execution.part)) {
        Emitter::new(&analysis, &mut shared, [1; 3], "").leaf_at(part, BTreeMap::new());
    }
    let called = called_functions(&kernels);
    let on_axes = analysis.extents.keys().filter_map(|i| Some((i.clone(), analysis.coordinate_of(i)?)));
    let coordinates = on_axes.collect();
    Ok(Program {
        name: kernel.name.clone(),
        target: options.target,
        index: options.index,
        args,
        globals: shared.globals,
        kernels,
        host,
        coordinates,
        leaves: shared.leaves,
        functions: kernel.functions.iter().filter(|f| called.contains(&f.name)).cloned().collect(),
        assumptions: kernel.assumptions.clone(),
        facts: kernel.facts.clone(),
    })
}

fn declare_globals(analysis: &Analysis<'_>, shared: &mut Shared) -> Result<Vec<ProgramArg>, Diagnostic> {
    let kernel = analysis.kernel;
    let mut args = Vec::new();
    let mut globals = Vec::new();
    let env = Env::new(&analysis.context)?;
    let index = shared.index;
    let arrays = kernel.args.iter().filter_map(|a| match a {
        Arg::Array(array) => Some((array, Owner::Caller)),
        Arg::Scalar(_) => None,
    });
    let temporaries =
        kernel.temporaries.iter().filter(|t| t.space == AddressSpace::Global).map(|t| (t, Owner::Launch));
    let mut emitter = Emitter::new(analysis, shared, [1; 3], "");
    for (array, owner) in arrays.chain(temporaries) {
        let l = layout(array, index, &mut |e| emitter.index_value(e, &env))?;
        globals.push(Global {
            name: array.name.clone(),
            dtype: known(&array.dtype, &array.name)?,
            shape: l.shape,
            strides: l.strides,
            size: l.size,
            owner,
            read: false,
            written: false,
            streaming: array.streaming,
            waves: array.waves,
        });
    }
    let mut number = 0;
    for arg in &kernel.args {
        args.push(match arg {
            Arg::Array(_) => {
                number += 1;
                ProgramArg::Array(number - 1)
            }
            Arg::Scalar(s) => {
                ProgramArg::Scalar(ScalarArg { name: s.name.clone(), dtype: known(&s.dtype, &s.name)? })
            }
        });
    }
    shared.globals = globals;
    Ok(args)
}

/// The note of a dependence on what is launched before.
fn after(name: &str, note: Note) -> Note {
    Note { text: format!("launched after {name}: {}", note.text), ..note }
}

struct State<'a, 'k> {
    analysis: &'a Analysis<'k>,
    shared: Shared,
    kernels: Vec<DeviceKernel>,
    /// The parts of each device kernel.
    parts: Vec<Vec<usize>>,
    /// What the host loops around guarantee.
    host_known: Vec<Constraint>,
    /// The values of host inames that have one value only.
    fixed: BTreeMap<Name, Aff>,
}

/// What is launched before something at the same level of the host.
struct Before {
    parts: Vec<usize>,
    /// What a comment calls it.
    name: String,
}

impl State<'_, '_> {
    /// The host's statements for trees inside these host loops.
    fn host_body(&mut self, trees: &[Tree], around: &mut Vec<Name>) -> Result<Vec<HostStmt>, Diagnostic> {
        let mut stmts = Vec::new();
        let mut segment: Vec<Tree> = Vec::new();
        let mut before: Option<Before> = None;
        for tree in trees {
            match tree {
                Tree::Loop { iname, body } if self.analysis.kernel.tag(iname) == Tag::Host => {
                    let parts = Item::parts(&items_of(self.analysis, body));
                    if parts.is_empty() {
                        continue;
                    }
                    let ended = std::mem::take(&mut segment);
                    stmts.extend(self.segment(&ended, around, &mut before)?);
                    let first = self.kernels.len();
                    let of_loop = self.host_loop(iname, body, around)?;
                    self.note_boundary(first, before.as_ref(), &parts)?;
                    let name = match of_loop.as_slice() {
                        [HostStmt::For { .. }] => format!("the host loop over {iname}"),
                        _ => self.name_of(self.kernels.len().saturating_sub(1)),
                    };
                    before = Some(Before { parts, name });
                    stmts.extend(of_loop);
                }
                Tree::Loop { iname, .. } if let Tag::Flat(flat) = self.analysis.kernel.tag(iname) => {
                    let parts = Item::parts(&items_of(self.analysis, std::slice::from_ref(tree)));
                    if parts.is_empty() {
                        continue;
                    }
                    let ended = std::mem::take(&mut segment);
                    stmts.extend(self.segment(&ended, around, &mut before)?);
                    let first = self.kernels.len();
                    stmts.extend(self.flat_nest(iname, flat, &parts, around)?);
                    self.note_boundary(first, before.as_ref(), &parts)?;
                    before = Some(Before { parts, name: self.name_of(self.kernels.len() - 1) });
                }
                _ => segment.push(tree.clone()),
            }
        }
        stmts.extend(self.segment(&segment, around, &mut before)?);
        Ok(stmts)
    }

    fn name_of(&self, kernel: usize) -> String {
        format!("{}_{kernel}", self.analysis.kernel.name)
    }

    /// Writes down why the kernel of this number does not belong to what is launched before it.
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
        around: &mut Vec<Name>,
    ) -> Result<Vec<HostStmt>, Diagnostic> {
        let analysis = self.analysis;
        let keep = |n: &Name| analysis.is_parameter(n) || around.contains(n);
        let mut context = analysis.context.clone();
        context.extend(self.host_known.iter().cloned());
        let context = System::new(&context)?;
        let known = |c: &Constraint| Ok(context.implies(c)?);
        // The parts inside may run through different ranges; the loop runs over all of them, and
        // each part is guarded.
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
                    "give the iname a lower and an upper bound over the parameters and the host loops around",
                ));
            }
            lowers.push(Side::Lower.needed(bounds.lower, &known)?);
            uppers.push(Side::Upper.needed(bounds.upper, &known)?);
            systems.push(system);
        }
        let of_part = |k: usize, c: &Constraint| Ok(systems[k].implies(c)?);
        let bounds = LoopBounds {
            lower: LoopEnd::hull(Side::Lower, iname, lowers, &known, &of_part)?,
            upper: LoopEnd::hull(Side::Upper, iname, uppers, &known, &of_part)?,
        };
        if let Some(value) = bounds.one_value() {
            let known = self.host_known.len();
            self.host_known.push(Constraint::equal(&Aff::var(iname), value)?);
            self.fixed.insert(iname.clone(), value.clone());
            around.push(iname.clone());
            let stmts = self.host_body(body, around)?;
            around.pop();
            self.fixed.remove(iname);
            self.host_known.truncate(known);
            return Ok(stmts);
        }
        let env = self.host_env(around)?;
        let mut emitter = Emitter::new(analysis, &mut self.shared, [1; 3], "");
        let lower = emitter.extreme(&bounds.lower, &env, Side::Lower)?;
        let upper = emitter.extreme(&bounds.upper, &env, Side::Upper)?;
        around.push(iname.clone());
        let known = self.host_known.len();
        self.host_known.extend(bounds.known(iname, &|c| Ok(context.implies(c)?))?);
        let first = self.kernels.len();
        let parts = Item::parts(&items_of(analysis, body));
        let body = self.host_body(body, around)?;
        self.host_known.truncate(known);
        around.pop();
        let note = self.loop_note(iname, &parts, around.len())?;
        if let Some(kernel) = self.kernels.get_mut(first) {
            kernel.notes.insert(0, note.clone());
        }
        let note = Box::new(note);
        Ok(vec![HostStmt::For { var: iname.clone(), lower, upper, body, note }])
    }

    fn host_env(&mut self, around: &[Name]) -> Result<Env, Diagnostic> {
        let mut env = Env::new(&self.analysis.context)?;
        for name in around {
            let value = match self.fixed.get(name) {
                Some(aff) => {
                    let meaning = env.with_constants(aff)?;
                    env.only.insert(name.clone(), meaning);
                    Emitter::new(self.analysis, &mut self.shared, [1; 3], "").aff_value(aff, &env)?
                }
                None => Value { dtype: self.shared.index, kind: ValueKind::Param(name.clone()) },
            };
            env.set(name.clone(), value);
            env.bound.insert(name.clone());
        }
        Ok(env)
    }

    /// Cuts neighbours at the host's level into device kernels.
    fn segment(
        &mut self,
        trees: &[Tree],
        around: &[Name],
        before: &mut Option<Before>,
    ) -> Result<Vec<HostStmt>, Diagnostic> {
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
        // As late as possible, but not through an instruction, whose parts share an accumulator,
        // and rather not between a private or shared value and its reader.
        let choose = |after: usize, before: usize| {
            let cuts = |(first, last): &(usize, usize), cut: usize| *first < cut && cut <= *last;
            let whole = |cut: &usize| !spans.values().any(|s| cuts(s, *cut));
            let places: Vec<usize> = (after + 1..=before).rev().filter(whole).collect();
            let best = places.iter().find(|c| !values.iter().any(|v| cuts(v, **c))).or(places.first());
            best.copied().unwrap_or(before)
        };
        // Of all of them together: what a block may be is checked for each kernel when its parts
        // are known.
        let block = extents_of_threads(analysis, &parts);
        let conflicts = sync::Conflicts::new(analysis, &parts, block, Meeting::Blocks, self.shared.hazards)?;
        let cuts = conflicts.cuts(&items, around.len(), &choose)?;
        // A join belongs to the part after it.
        let mut stmts = Vec::new();
        let mut current = Vec::new();
        let mut boundary: Option<Note> = None;
        for (k, item) in items.into_iter().enumerate() {
            if let Some(cut) = cuts.get(&k)
                && !current.is_empty()
            {
                let ended = std::mem::take(&mut current);
                stmts.push(self.noted_kernel(ended, around, boundary.take(), before)?);
                boundary = Some(sync::because(cut.clone()));
            }
            current.push(item);
        }
        stmts.push(self.noted_kernel(current, around, boundary, before)?);
        Ok(stmts)
    }

    /// A device kernel and why it is one of its own: for the dependence at a cut, or for one on
    /// what is launched before it.
    fn noted_kernel(
        &mut self,
        items: Vec<Item>,
        around: &[Name],
        boundary: Option<Note>,
        before: &mut Option<Before>,
    ) -> Result<HostStmt, Diagnostic> {
        let parts = Item::parts(&items);
        let number = self.kernels.len();
        let stmt = self.device_kernel(items, around)?;
        match (boundary, &before) {
            (Some(note), Some(before)) => {
                if let Some(kernel) = self.kernels.get_mut(number) {
                    kernel.notes.insert(0, after(&before.name, note));
                }
            }
            (_, before) => self.note_boundary(number, before.as_ref(), &parts)?,
        }
        *before = Some(Before { parts, name: self.name_of(number) });
        Ok(stmt)
    }

    /// The launches of a flattened nest.
    fn flat_nest(
        &mut self,
        iname: &Name,
        flat: Flat,
        parts: &[usize],
        around: &[Name],
    ) -> Result<Vec<HostStmt>, Diagnostic> {
        let analysis = self.analysis;
        let nest = flat_nest(analysis.kernel, iname)?;
        let target = self.shared.target;
        flat::check(flat, &target)?;
        let mut env = self.host_env(around)?;
        env.learn(&self.host_known)?;
        let emitter = Emitter::new(analysis, &mut self.shared, [1; 3], "");
        let scratch = Writer::new(emitter, env.clone(), &nest, flat, None)?.declare_scratch()?;
        let mut stmts = Vec::new();
        for stage in Stage::ALL {
            let number = self.kernels.len();
            let name = Name::new(self.name_of(number));
            let block = [stage.threads(flat, &target), 1, 1];
            let emitter = Emitter::new(analysis, &mut self.shared, block, &name);
            let mut writer = Writer::new(emitter, env.clone(), &nest, flat, Some(&scratch))?;
            let body = match stage {
                Stage::Starts => writer.starts()?,
                Stage::Runs => writer.runs()?,
                Stage::Join => writer.join()?,
            };
            let resident = writer.resident;
            let mut draft = Draft::of(writer.emitter, body);
            draft.finish();
            let one = Value::int(self.shared.index, 1);
            let launch = (name, [scratch.grid(stage, &target), one.clone(), one], block);
            let of = (analysis, self.shared.globals.as_slice());
            let notes = match stage {
                Stage::Starts => Vec::new(),
                _ => vec![stage.note(&self.name_of(number - 1))],
            };
            let kernel = draft.kernel(launch, of, around, &BTreeSet::new());
            self.kernels.push(DeviceKernel { resident, notes, ..kernel });
            self.parts.push(if stage == Stage::Runs { parts.to_vec() } else { Vec::new() });
            stmts.push(HostStmt::Launch(number));
        }
        Ok(stmts)
    }

    /// The first and the last item that touch each private or shared temporary.
    fn lives(&self, homes: &std::collections::HashMap<usize, usize>) -> Vec<(usize, usize)> {
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

    fn device_kernel(&mut self, items: Vec<Item>, around: &[Name]) -> Result<HostStmt, Diagnostic> {
        let analysis = self.analysis;
        let parts = Item::parts(&items);
        let block = block_shape(analysis, &parts, &self.shared.target)?;
        self.parts.push(parts.clone());
        if parts.iter().any(|p| !analysis.parts[*p].lanes.is_empty()) {
            sync::Conflicts::new(analysis, &parts, block, Meeting::Lanes, self.shared.hazards)?;
        }
        let conflicts = sync::Conflicts::new(analysis, &parts, block, Meeting::Threads, self.shared.hazards)?;
        let exchanged = conflicts.arrays();
        let warp = self.shared.target.warp_size;
        let items = conflicts.place_barriers(items, around.len(), false, &|j| uses_shared(block, j, warp))?;
        let name = Name::new(format!("{}_{}", analysis.kernel.name, self.kernels.len()));
        let mut env = self.host_env(around)?;
        let mut known_here = self.host_known.clone();
        for (axis, coordinate) in THREAD_COORDINATES.iter().enumerate() {
            if block[axis] > 1 {
                let kind = ValueKind::ThreadIdx(axis as u8);
                env.set(Name::new(coordinate), Value { dtype: self.shared.index, kind });
            } else {
                env.set(Name::new(coordinate), Value::int(self.shared.index, 0));
            }
            env.bound.insert(Name::new(coordinate));
            let value = Aff::var(*coordinate);
            known_here.push(Constraint::lt(&value, &Aff::constant(i64::from(block[axis])))?);
            known_here.push(Constraint::nonneg(value));
        }
        let one = Value::int(self.shared.index, 1);
        let mut grid = [one.clone(), one.clone(), one];
        for (axis, coordinate) in BLOCK_COORDINATES.iter().enumerate() {
            let inames: BTreeSet<Name> = parts
                .iter()
                .flat_map(|p| analysis.parts[*p].inames.iter())
                .filter(|i| analysis.kernel.tag(i).block_axis() == Some(axis))
                .cloned()
                .collect();
            let value = Aff::var(*coordinate);
            env.bound.insert(Name::new(coordinate));
            known_here.push(Constraint::nonneg(value.clone()));
            if inames.is_empty() {
                env.set(Name::new(coordinate), Value::int(self.shared.index, 0));
                known_here.push(Constraint::zero(value));
                continue;
            }
            let kind = ValueKind::BlockIdx(axis as u8);
            env.set(Name::new(coordinate), Value { dtype: self.shared.index, kind });
            let (extent, known) = {
                let host = self.host_env(around)?;
                grid_extent(analysis, &mut self.shared, &host, (&inames, coordinate), &parts, around)?
            };
            grid[axis] = extent;
            known_here.extend(known);
        }
        env.learn(&known_here)?;
        let mut emitter = Emitter::new(analysis, &mut self.shared, block, &name);
        emitter.relevant = parts.iter().flat_map(|p| analysis.parts[*p].inames.iter().cloned()).collect();
        let mut body = emitter.lets(&mut env)?;
        body.extend(emitter.coordinate_lets(&parts, &mut env)?);
        body.extend(emitter.emit_items(&items, &mut env)?);
        let mut draft = Draft::of(emitter, body);
        let given = Stmt::given(&draft.body, &self.shared.leaves);
        draft.finish();
        let kept = Stmt::given(&draft.body, &self.shared.leaves);
        self.leave_out(&given, &kept);
        let of = (analysis, self.shared.globals.as_slice());
        self.kernels.push(draft.kernel((name, grid, block), of, around, &exchanged));
        Ok(HostStmt::Launch(self.kernels.len() - 1))
    }

    /// Values of a thread that nothing reads are gone by now, and need not be computed.
    fn leave_out(&mut self, given: &BTreeSet<LeafId>, kept: &BTreeSet<LeafId>) {
        let value = |shared: &Shared, leaf: LeafId| {
            let leaf = &shared.leaves[leaf.0];
            match leaf.purpose {
                Purpose::Value(number) => Some((leaf.part.clone(), number)),
                Purpose::Support => None,
            }
        };
        let kept: BTreeSet<_> = kept.iter().filter_map(|leaf| value(&self.shared, *leaf)).collect();
        for (part, number) in given.iter().filter_map(|leaf| value(&self.shared, *leaf)).collect::<Vec<_>>() {
            if kept.contains(&(part.clone(), number)) || !self.is_private(&part, number) {
                continue;
            }
            for leaf in self.shared.leaves.iter_mut().filter(|leaf| leaf.part == part) {
                if let Some(instances) = &mut leaf.instances {
                    instances.values.retain(|v| *v != number);
                }
            }
        }
    }

    /// Whether a value of a part belongs to a thread.
    fn is_private(&self, part: &PartRef, number: u8) -> bool {
        let lookup = &self.analysis.lookup;
        let target = match part.part {
            Part::Init(_) | Part::Update(_) => return true,
            Part::Whole | Part::Finish => {
                lookup.instruction(&part.instruction).and_then(|i| i.targets.get(usize::from(number)))
            }
        };
        let array = target.and_then(|t| lookup.array(&t.array));
        array.is_some_and(|array| array.space == AddressSpace::Private)
    }
}
