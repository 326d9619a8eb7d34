//! A schedule as text: a line for each decision, indented by nesting.

use std::fmt::Write;

use loopwright_kernel_ir::{
    Access, Aff, Constraint, Diagnostic, Expr, HardwareAxis, Kind, Name, Reduce, Tag, UpdateScope,
};

use super::{
    AtomPlan, Body, Branch, Counter, FragmentLoads, GridExtent, Held, HostNode, KernelBody, KernelPlan, Load,
    LoadHow, Loop, Node, Schedule, Statement, Which, counters::converges, storage::Home,
};
use crate::{
    analyse::analysis::{Analysis, Guard, reduction},
    program::Note,
    schedule::{
        items::Join,
        joins::{JoinPlan, Units, axis_names},
        loop_bounds::{LoopBounds, LoopEnd, Side},
    },
};

/// The text of a schedule.
pub(crate) fn text(schedule: &Schedule, analysis: &Analysis<'_>) -> Result<String, Diagnostic> {
    let mut text = Text { analysis, text: String::new() };
    for left_out in &analysis.left_out {
        text.plain(0, &left_out.to_string());
    }
    text.host(schedule, &schedule.host, 0)?;
    Ok(text.text)
}

struct Text<'a, 'k> {
    analysis: &'a Analysis<'k>,
    text: String,
}

impl Text<'_, '_> {
    fn line(&mut self, depth: usize, line: &str, note: &Note) {
        let indent = "    ".repeat(depth);
        let note = if note.text.is_empty() { String::new() } else { format!("    # {}", note.text) };
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{indent}{line}{note}");
    }

    fn plain(&mut self, depth: usize, line: &str) {
        self.line(depth, line, &Note::default());
    }

    fn host(&mut self, schedule: &Schedule, nodes: &[HostNode], depth: usize) -> Result<(), Diagnostic> {
        for node in nodes {
            match node {
                HostNode::For { iname, bounds, body, note, .. } => {
                    self.line(depth, &format!("host loop {iname}: {}", bounds_text(bounds, iname)?), note);
                    self.host(schedule, body, depth + 1)?;
                }
                HostNode::Launch(number) => {
                    if let Some(plan) = schedule.kernels.get(*number) {
                        self.kernel(plan, depth)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn kernel(&mut self, plan: &KernelPlan, depth: usize) -> Result<(), Diagnostic> {
        for note in plan.notes.iter().filter(|n| !n.text.is_empty()) {
            self.plain(depth, &format!("# {}", note.text));
        }
        match &plan.body {
            KernelBody::Segments(launch) => {
                self.plain(depth, &format!("kernel {}: block {} x 1 x 1", plan.name, launch.threads()));
                self.start(plan, depth + 1);
                for line in launch.lines() {
                    self.line(depth + 1 + line.depth, &line.text, &Note::new(line.note));
                }
            }
            KernelBody::Nodes(body) => {
                let Body { block, grid, nodes, .. } = body.as_ref();
                if nodes.iter().any(|node| matches!(node, Node::Join { join, .. } if join.tiles.is_some())) {
                    let resets = format!("kernel {}_reset: sets to 0 what its blocks publish", plan.name);
                    self.plain(depth, &resets);
                }
                self.plain(depth, &format!("kernel {}: block {block}", plan.name));
                self.start(plan, depth + 1);
                for (dim, extent) in grid {
                    let coordinate = HardwareAxis::Grid(*dim).coordinate();
                    self.plain(depth + 1, &grid_text(extent, coordinate)?);
                }
                self.storage(plan, depth + 1)?;
                self.nodes(nodes, depth + 1)?;
            }
        }
        Ok(())
    }

    fn start(&mut self, plan: &KernelPlan, depth: usize) {
        if plan.starts_early {
            self.plain(depth, "starts early, waits for the end of the launches before");
        }
    }

    fn storage(&mut self, plan: &KernelPlan, depth: usize) -> Result<(), Diagnostic> {
        let analysis = self.analysis;
        for temporary in &analysis.kernel.temporaries {
            let touched = analysis.touches.get(&temporary.name);
            let here = touched.into_iter().flatten().any(|(part, _)| plan.parts.contains(part));
            if !here || temporary.space == loopwright_kernel_ir::AddressSpace::Global {
                continue;
            }
            let home = match analysis.home(temporary)? {
                Home::Variable => "a variable of each thread".to_string(),
                Home::Private { lanes, dims, .. } => {
                    format!("an array of each thread, {dims:?}{}", for_each(&lanes))
                }
                Home::Shared { dims, .. } => format!("an array of each block, {dims:?}"),
            };
            self.plain(depth, &format!("{}: {home}", temporary.name));
        }
        let mut seen = std::collections::BTreeSet::new();
        for number in plan.parts.iter().map(|p| analysis.parts[*p].instruction) {
            if !seen.insert(number) {
                continue;
            }
            let instruction = &analysis.kernel.instructions[number];
            for (n, reduce) in instruction.reductions().iter().enumerate() {
                let lanes = analysis.accumulator_lanes(number, n);
                let (of, id) = (self.state(reduce), &instruction.id);
                self.plain(depth, &format!("accumulator of {id}: {of} in each thread{}", for_each(&lanes)));
            }
        }
        Ok(())
    }

    fn state(&self, reduce: &Reduce) -> String {
        let values = self.analysis.kernel.operator(&reduce.op).map_or(1, |o| o.state.len());
        format!("{values} value{}", if values == 1 { "" } else { "s" })
    }

    fn nodes(&mut self, nodes: &[Node], depth: usize) -> Result<(), Diagnostic> {
        for node in nodes {
            match node {
                Node::Loop(l) => {
                    self.line(depth, &loop_text(l)?, &l.note);
                    self.nodes(&l.body, depth + 1)?;
                }
                Node::Once { iname, value, body, .. } => {
                    self.plain(depth, &format!("{iname} = {value}"));
                    self.nodes(body, depth + 1)?;
                }
                Node::Guard(g) => {
                    let cond = all_of(g.guards.iter().map(|g| &g.declared));
                    self.plain(depth, &format!("if {cond}{}", for_whom(&g.body)));
                    self.nodes(&g.body, depth + 1)?;
                }
                Node::Ends { ends, note, body } => {
                    let mut cond = format!("not ({})", all_of(ends.fails.iter()));
                    if !ends.holds.is_empty() {
                        cond += &format!(" and {}", all_of(ends.holds.iter()));
                    }
                    self.line(depth, &format!("if {cond}"), note);
                    self.nodes(body, depth + 1)?;
                }
                Node::Lane { lane, body, .. } => {
                    self.plain(depth, &format!("for each {lane}"));
                    self.nodes(body, depth + 1)?;
                }
                Node::Statement(s) => self.statement(s, None, depth),
                Node::Branch(branch) => self.branch(branch, depth)?,
                Node::Loads { loads, body, .. } => {
                    for load in loads {
                        self.plain(depth, &load_text(load));
                    }
                    self.nodes(body, depth)?;
                }
                Node::Vector(v) => {
                    let reads = v.reads.iter().map(|a| format!("load {a}"));
                    let write = v.write.iter().map(|a| format!("store {a}"));
                    let moves: Vec<String> = reads.chain(write).collect();
                    let moves = match moves.as_slice() {
                        [] => ", loaded above".to_string(),
                        [load, store] if self.is_asynchronous(&v.of) => {
                            format!(", asynchronously: {load}, {store}")
                        }
                        moves => format!(": {}", moves.join(", ")),
                    };
                    let filling = filling_text(&v.filling);
                    self.plain(depth, &format!("by vectors of {} over {}{moves}{filling}", v.length, v.lane));
                    self.plain(depth + 1, &format!("for each {}", v.lane));
                    self.statement(&v.statement, None, depth + 2);
                }
                Node::VectorLoads { accesses, lane, length, .. } => {
                    let loads: Vec<String> = accesses.iter().map(|a| format!("load {a}")).collect();
                    self.plain(depth, &format!("by vectors of {length} over {lane}: {}", loads.join(", ")));
                }
                Node::Ahead { loads, uses, .. } => {
                    self.nodes(loads, depth)?;
                    self.nodes(uses, depth)?;
                }
                Node::Atom(plan) => self.atom(plan, depth),
                Node::StoreMatrices(plan) => {
                    let kind = if plan.transposed { "transposed matrices" } else { "matrices" };
                    let text = format!("by {kind} of eight rows, {} at once", plan.matrices);
                    self.plain(depth, &format!("store {} {text}, behind", plan.target));
                    self.nodes(&plan.values, depth + 1)?;
                }
                Node::Join { join, plan, barriers } => {
                    self.plain(depth, &self.join_text(join, *plan));
                    for note in barriers.all() {
                        self.line(depth + 1, "barrier", note);
                    }
                }
                Node::Start(join) => {
                    self.plain(depth, &format!("reset the accumulator of {}", self.owner(join)));
                }
                Node::Sync(note) => self.line(depth, "barrier", note),
                Node::Commit => self.plain(depth, "commit the copies so far as a group"),
                Node::Wait(0, note) => self.line(depth, "wait for all groups", note),
                Node::Wait(1, note) => self.line(depth, "wait for all groups but the youngest", note),
                Node::Wait(left, note) => {
                    self.line(depth, &format!("wait for all groups but the {left} youngest"), note);
                }
                Node::Known(_) => {}
            }
        }
        Ok(())
    }

    /// The fragments that are loaded, and the product, if there is one.
    fn atom(&mut self, plan: &AtomPlan, depth: usize) {
        for fragment in &plan.fragments {
            let each = fragment.lanes.iter().map(|lane| format!(", for each {lane}")).collect::<String>();
            let words = match &fragment.loads {
                FragmentLoads::Words(_, 1) => "one by one".to_string(),
                FragmentLoads::Words(_, word) => format!("by words of {word}"),
                FragmentLoads::Chosen(_) => "one by one, zeros where no element is".to_string(),
                FragmentLoads::Matrices { transposed, together, .. } => {
                    let kind = if *transposed { "transposed matrices" } else { "matrices" };
                    match together {
                        1 => format!("by {kind} of eight rows"),
                        _ => format!("by {kind} of eight rows, {together} fragments at once"),
                    }
                }
            };
            let count = fragment.elements;
            let to =
                fragment.held.as_ref().map_or_else(String::new, |held| format!(" into {}", row_text(held)));
            self.plain(depth, &format!("load {count} elements of {}{to}{each}, {words}", fragment.array));
        }
        let Some(product) = &plan.product else { return };
        let part = &plan.of.info(self.analysis).execution.part;
        let each = product.lanes.iter().map(|lane| format!(", for each {lane}")).collect::<String>();
        let [m, n, k] = &plan.axes;
        self.plain(depth, &format!("{part} by {}({m}, {n}, {k}){each}", plan.atom.name()));
    }

    fn branch(&mut self, branch: &Branch, depth: usize) -> Result<(), Diagnostic> {
        for access in branch.loads.iter().filter_map(|(_, names)| names.first()) {
            self.plain(depth, &format!("load {access} once"));
        }
        let predicate = &branch.predicate;
        if let ([Node::Statement(only)], []) = (branch.then.as_slice(), branch.otherwise.as_slice()) {
            self.statement(only, Some(predicate), depth);
            return Ok(());
        }
        self.plain(depth, &format!("if {predicate}"));
        self.nodes(&branch.then, depth + 1)?;
        if !branch.otherwise.is_empty() {
            self.plain(depth, "else");
            self.nodes(&branch.otherwise, depth + 1)?;
        }
        Ok(())
    }

    fn statement(&mut self, s: &Statement, predicate: Option<&Expr>, depth: usize) {
        let part = &s.of.info(self.analysis).execution.part;
        for access in &s.repeated {
            self.plain(depth, &format!("load {access} once"));
        }
        let how = match (self.is_asynchronous(&s.of), &s.atomic) {
            (true, _) => ", asynchronously",
            (false, Some(_)) => match self.analysis.instruction(s.of.info(self.analysis)).scope {
                UpdateScope::Block => ", atomically in its block",
                UpdateScope::Device => ", atomically",
                UpdateScope::System => ", atomically in the system",
            },
            (false, None) => "",
        };
        let predicate = predicate.map_or_else(String::new, |p| format!(" if {p}"));
        self.plain(depth, &format!("{part}{predicate}{how}{}", filling_text(&s.filling)));
    }

    fn is_asynchronous(&self, of: &Which) -> bool {
        self.analysis.instruction(of.info(self.analysis)).via.is_asynchronous()
    }

    fn owner(&self, join: &Join) -> Name {
        self.analysis.kernel.instructions[join.instruction].id.clone()
    }

    fn join_text(&self, join: &Join, plan: JoinPlan) -> String {
        let how = match plan {
            JoinPlan::Nothing => "in each thread".to_string(),
            JoinPlan::Butterfly(width) => format!("by shuffles among {width} lanes"),
            JoinPlan::Warps { group, .. } => {
                format!(
                    "by shuffles in each warp, then through shared memory, {group} threads \
                     together"
                )
            }
            JoinPlan::Memory => "through shared memory".to_string(),
            JoinPlan::Scan(Units { group: 1, .. }) => "in each thread".to_string(),
            JoinPlan::Scan(units) => match (units.unit, units.count()) {
                (1, _) => format!("through shared memory, {} threads together", units.group),
                (_, 1) => format!("by shuffles among {} lanes", units.group),
                (unit, _) => {
                    let inside = match units.warps {
                        true => "each warp".to_string(),
                        false => format!("each {unit} lanes"),
                    };
                    format!(
                        "by shuffles in {inside}, then through shared memory, {} threads together",
                        units.group
                    )
                }
            },
        };
        let instruction = &self.analysis.kernel.instructions[join.instruction];
        let op = reduction(instruction, join.reduction).map_or_else(String::new, |r| r.op.to_string());
        let lanes: Vec<&str> = join.lanes.iter().map(|l| &**l).collect();
        let mut over = lanes;
        let axes = axis_names(join);
        if !axes.is_empty() {
            over.push(&axes);
        }
        let to = if join.scan || join.to_all { "" } else { ", for the first thread" };
        let does = if join.scan { "scan" } else { "join" };
        let tiles = match join.tiles {
            Some(dim) => format!(", after the tiles before, by a look-back along {}", Tag::Block(dim)),
            None => String::new(),
        };
        format!("{does} {op} of {} over {}: {how}{to}{tiles}", self.owner(join), over.join(", "))
    }
}

/// A fragment by the array that it stands for.
fn row_text(held: &Held) -> String {
    let row: Vec<String> = held.row.iter().map(ToString::to_string).collect();
    match row.as_slice() {
        [] => held.array.to_string(),
        row => format!("{}[{}]", held.array, row.join(", ")),
    }
}

/// Where a copy fills its buffer.
fn filling_text(guards: &[Guard]) -> String {
    match guards {
        [] => String::new(),
        guards => format!(", filling unless {}", all_of(guards.iter().map(|g| &g.declared))),
    }
}

fn for_each(lanes: &[Name]) -> String {
    let lanes: Vec<&str> = lanes.iter().map(|l| &**l).collect();
    if lanes.is_empty() { String::new() } else { format!(", for each {}", lanes.join(", ")) }
}

fn load_text(load: &Load) -> String {
    let Load { access, how } = load;
    let access: &Access = access;
    match how {
        LoadHow::Variable => format!("load {access} once"),
        LoadHow::Elements(lanes) => format!("load {access}{}", for_each(lanes)),
        LoadHow::Vectors(lanes, length, _) => {
            format!("load {access}{}, by vectors of {length}", for_each(lanes))
        }
    }
}

fn loop_text(l: &Loop) -> Result<String, Diagnostic> {
    let unroll = if l.unroll { ", unrolled" } else { "" };
    let counts = match &l.counter {
        Counter::Iname => String::new(),
        Counter::Sum(sum) => format!(", counts {} = {}", sum.name, sum.canonical),
    };
    let whom = for_whom(&l.body);
    Ok(format!("loop {}: {}{unroll}{counts}{whom}", l.iname, bounds_text(&l.bounds, &l.iname)?))
}

/// Whether a condition or bounds are evaluated per thread, or uniformly for a block that
/// synchronises inside.
fn for_whom(body: &[Node]) -> &'static str {
    if converges(body) { ", for all threads of the block" } else { "" }
}

fn bounds_text(bounds: &LoopBounds, iname: &Name) -> Result<String, Diagnostic> {
    let of = Aff::var(iname);
    let lower = end_text(&bounds.lower, Side::Lower, &of)?;
    Ok(format!("{lower} and {}", end_text(&bounds.upper, Side::Upper, &of)?))
}

/// The constraint of one end on the index; those of several parts are a disjunction.
fn end_text(end: &LoopEnd, side: Side, of: &Aff) -> Result<String, Diagnostic> {
    let mut lists = Vec::new();
    for bounds in &end.0 {
        let says = bounds.iter().map(|b| side.says(b, of)).collect::<Result<Vec<Constraint>, _>>()?;
        lists.push(all_of(says.iter()));
    }
    Ok(match lists.as_slice() {
        [one] => one.clone(),
        several => format!("({})", several.join(" or ")),
    })
}

fn grid_text(extent: &GridExtent, coordinate: &str) -> Result<String, Diagnostic> {
    let blocks = end_text(&LoopEnd(extent.uppers.clone()), Side::Upper, &Aff::var(coordinate))?;
    let least = if extent.at_least_one { ", at least one" } else { "" };
    Ok(format!("blocks: {blocks}{least}"))
}

fn all_of<'c>(constraints: impl Iterator<Item = &'c Constraint>) -> String {
    let says = |c: &Constraint| match (c.kind, c.aff.as_var()) {
        (Kind::Eq, Some(name)) => format!("{name} = 0"),
        _ => c.to_string(),
    };
    constraints.map(says).collect::<Vec<_>>().join(" and ")
}
