//! A launch of a plan as lines of a schedule: its blocks, arrays and accumulators, then its nodes
//! in order, indented by nesting. A line says what the plan decides; a note, what something is for.

use super::{
    launch::Stage,
    plan::{
        ChunkNode, Chunks, FirstNode, Group, HandedArray, Length, Local, Locals, Outside, Plan, RoundNode,
        Source, Staged, TileNode,
    },
};
use crate::program::Scope;

/// A line of a schedule.
pub(crate) struct Line {
    /// Levels of indentation inside the kernel.
    pub depth: usize,
    pub text: String,
    /// The reason for the decision, or what the line is for; may be empty.
    pub note: String,
}

/// What is decided about a launch.
pub(super) fn lines(plan: &Plan, stage: Stage) -> Vec<Line> {
    let mut show = Show { plan, lines: Vec::new() };
    match stage {
        Stage::Starts => show.starts(),
        Stage::Chunks => show.chunks(),
        Stage::Join => show.join(),
    }
    show.lines
}

struct Show<'p> {
    plan: &'p Plan,
    lines: Vec<Line>,
}

impl Show<'_> {
    fn noted(&mut self, depth: usize, text: impl Into<String>, note: &str) {
        self.lines.push(Line { depth, text: text.into(), note: note.to_string() });
    }

    fn line(&mut self, depth: usize, text: impl Into<String>) {
        self.noted(depth, text, "");
    }

    /// The launch that finds where chunks begin.
    fn starts(&mut self) {
        let Plan { cut, search, handed, .. } = self.plan;
        let (steps, chunk) = (&cut.steps, cut.chunk);
        self.line(0, format!("steps: {steps} at most, {} for the end of a segment", cut.end_weight));
        let chunks = match &cut.chunks {
            Chunks::Equal { chunks, .. } => format!("{chunks} of {chunk} steps"),
            Chunks::Guided { full, all, later, length } => {
                format!("min({full}, {all}) of {chunk} steps, then max(0, {later})/{length} of {length}")
            }
        };
        self.line(0, format!("chunks: {chunks}"));
        self.blocks(&format!("{} each, a warp for each border of chunks", warps(search.warps)));
        self.handed([&handed.starts, &handed.points]);
        self.line(0, "for each border, by a warp");
        let (rounds, bits, lanes) = (search.rounds, search.digit, cut.warp);
        let how = format!("{rounds} digits of {bits} bits, each by a ballot of {lanes} lanes");
        self.line(1, format!("find how many segments end before it: {how}"));
        let (starts, points) = (&handed.starts.like, &handed.points.like);
        self.line(1, format!("store {starts}, {points}, for the first lane"));
    }

    fn blocks(&mut self, text: &str) {
        let count = &self.plan.cut.count;
        self.line(0, format!("blocks: {text}; none unless {count} > 0"));
    }

    fn handed<'h>(&mut self, arrays: impl IntoIterator<Item = &'h HandedArray>) {
        for HandedArray { like, length, note, .. } in arrays {
            let each = match length {
                Length::Borders => "border of chunks",
                Length::Blocks => "block",
            };
            self.noted(0, format!("{like}: a global array, an element for each {each}"), note);
        }
    }

    fn locals(&mut self, locals: &Locals) {
        for Local { like, dims, note, .. } in &locals.shared {
            self.noted(0, format!("{like}: an array of each block, {dims:?}"), note);
        }
        for (k, Local { dims, note, .. }) in locals.private.iter().enumerate() {
            let name = locals.private_name(k);
            self.noted(0, format!("{name}: an array of each thread, {dims:?}"), note);
        }
    }

    fn accumulator(&mut self, whose: &str) {
        let values = match self.plan.state.len() {
            1 => "1 value".to_string(),
            n => format!("{n} values"),
        };
        let id = &self.plan.instruction;
        self.line(0, format!("accumulator of {id}: {values} in each {whose}"));
    }

    /// The reduction: `sum of total`.
    fn reduction(&self) -> String {
        format!("{} of {}", self.plan.operator.name, self.plan.instruction)
    }

    /// The launch over chunks.
    fn chunks(&mut self) {
        let Plan { cut, handed, chunks, .. } = self.plan;
        if let Some(blocks) = chunks.min_blocks {
            self.line(0, format!("registers: for {blocks} blocks on a multiprocessor"));
        }
        self.blocks(&format!("{} each, a warp for each chunk", warps(cut.warps)));
        self.locals(&chunks.locals);
        self.handed(handed.head.iter().chain(&handed.tail).chain([&handed.ended]));
        self.accumulator("warp, which is open across tiles");
        if chunks.reduction.own {
            self.accumulator("lane, for tiles inside one segment");
        }
        for node in &chunks.nodes {
            self.chunk_node(node);
        }
    }

    fn chunk_node(&mut self, node: &ChunkNode) {
        let Plan { cut, chunks, .. } = self.plan;
        let arrays = &chunks.arrays;
        match node {
            ChunkNode::ResetHead => {
                let heads = self.shared(&arrays.head);
                self.line(0, format!("reset {heads}, for the first lane of each warp"));
            }
            ChunkNode::ClearMarks => {
                let last = self.shared(&[arrays.last]);
                self.line(0, format!("clear {last}{}", by(chunks.reduction.marks)));
            }
            ChunkNode::Sync(Scope::Warp, note) => self.noted(0, "barrier of the warp", note),
            ChunkNode::Sync(Scope::Block, note) => self.noted(0, "barrier", note),
            ChunkNode::Tiles { align, before, each } => {
                for node in before {
                    self.first_node(node);
                }
                let (tile, from) = (cut.tile, format!("from a multiple of {align} on"));
                self.line(0, format!("loop over tiles of {tile} points, {from}"));
                self.tile_nodes(each, 1);
            }
            ChunkNode::CloseEmpty => {
                self.line(0, "store results of the segments behind the last point, one for each lane");
            }
            ChunkNode::JoinLanes => self.join_lanes(0),
            ChunkNode::StoreParts => {
                let parts = self.shared(&[arrays.tail.as_slice(), &[arrays.ended]].concat());
                self.line(0, format!("store {parts}, for the first lane of each warp"));
            }
            ChunkNode::JoinWarps => {
                let (what, warps) = (self.reduction(), warps(cut.warps));
                self.line(0, format!("join {what} over {warps}: in order, by the first thread"));
            }
        }
    }

    fn first_node(&mut self, node: &FirstNode) {
        let registers = &self.plan.chunks.registers;
        let (each, ends) = (registers.each, registers.each * self.plan.cut.warp);
        match node {
            FirstNode::LoadPoints => self.load_points(0, "the first tile"),
            FirstNode::LoadEnds(Group::Current) => {
                let to = self.private(registers.ends);
                self.line(0, format!("load {to}: the first {ends} ends of segments, {each} for each lane"));
            }
            FirstNode::LoadEnds(Group::Next) => {
                let to = self.private(registers.next_ends);
                self.line(0, format!("load {to}: the next {ends} ends"));
            }
            FirstNode::FindBegins => {
                let to = self.private(registers.begins);
                self.line(0, format!("find {to}: where the first {ends} segments begin, by shuffles"));
            }
        }
    }

    fn load_points(&mut self, depth: usize, which: &str) {
        for load in &self.plan.chunks.loads.inputs {
            let how = partial(load.vector);
            self.line(depth, format!("load {}, points of {which}{how}", load.access));
        }
    }

    fn tile_nodes(&mut self, nodes: &[TileNode], depth: usize) {
        let Plan { cut, chunks, .. } = self.plan;
        for node in nodes {
            match node {
                TileNode::Vote { inside, ends } => {
                    self.line(depth, "if the tile is whole and no segment ends in it, by vote of the warp");
                    self.tile_nodes(inside, depth + 1);
                    self.line(depth, "else");
                    self.tile_nodes(ends, depth + 1);
                }
                TileNode::AddLoaded => {
                    let what = self.reduction();
                    self.line(depth, format!("update {what} for {} loaded points in each lane", cut.items));
                }
                TileNode::LoadNext => self.load_points(depth, "the next tile"),
                TileNode::MarkEnds => {
                    let last = self.shared(&[chunks.arrays.last]);
                    let further = self.private(chunks.registers.further_ends);
                    let whose = format!("of the group, the next one, and {further}, as far as needed");
                    self.line(depth, format!("mark {last}: the last points of segments, {whose}"));
                }
                TileNode::JoinLanes => self.join_lanes(depth),
                TileNode::Stage => {
                    for staged in &chunks.reduction.staged {
                        self.stage(staged, depth);
                    }
                }
                TileNode::Sync(note) => self.noted(depth, "barrier of the warp", note),
                TileNode::Reduce => self.reduce(depth),
                TileNode::CloseEnds => {
                    let head = self.shared(&chunks.arrays.head);
                    let to = format!("that of the chunk's first to {head}");
                    let what = "store results of the segments that end here, one for each lane";
                    self.line(depth, format!("{what}; {to}"));
                }
            }
        }
    }

    fn join_lanes(&mut self, depth: usize) {
        let (what, lanes) = (self.reduction(), self.plan.cut.warp);
        self.line(depth, format!("join {what} over the lanes: by shuffles among {lanes} lanes"));
    }

    /// How an input goes to shared memory.
    fn stage(&mut self, staged: &Staged, depth: usize) {
        let Plan { chunks, inputs, .. } = self.plan;
        let Some(input) = inputs.get(staged.input) else { return };
        let to = self.shared(&[staged.points.array]);
        let from = match staged.source {
            Source::Loaded(_) => String::new(),
            Source::Mapped(private) => format!(", by way of {}", self.private(private)),
        };
        let filling = match &chunks.reduction.outside {
            Outside::Neutral(values) => match values.get(staged.input) {
                Some(value) => format!(", filling with {value} outside of the chunk"),
                None => String::new(),
            },
            Outside::Skipped => String::new(),
        };
        let (value, how) = (&input.value, partial(staged.width));
        self.line(depth, format!("store {value} to {to}{from}{how}{filling}"));
    }

    /// How the lanes reduce the points of a tile.
    fn reduce(&mut self, depth: usize) {
        let Plan { cut, chunks, .. } = self.plan;
        let (arrays, reduction) = (&chunks.arrays, &chunks.reduction);
        let (items, what) = (cut.items, self.reduction());
        let last = self.shared(&[arrays.last]);
        self.line(depth, format!("load and clear {last} of {items} neighbours{}", by(reduction.marks)));
        for staged in &reduction.staged {
            let from = self.shared(&[staged.points.array]);
            self.line(depth, format!("load {from} of {items} neighbours{}", by(staged.own_width)));
        }
        if let Some(highest) = reduction.bisection {
            let how = format!("by bisection, in steps from {highest} down");
            self.line(depth, format!("find the segment of each point: {how}"));
        }
        let outside = match reduction.outside {
            Outside::Neutral(_) => "",
            Outside::Skipped => " of the chunk",
        };
        let order = "in their order, starting over behind marks";
        self.line(depth, format!("update {what} for {items} neighbours{outside} in each lane, {order}"));
        let complete: Vec<usize> = arrays.complete.iter().map(|points| points.array).collect();
        let to = self.shared(&complete);
        let overwritten = |staged: &&Staged| Some(staged.input) == arrays.overwritten;
        let how = match reduction.staged.iter().find(overwritten) {
            Some(staged) => format!(", with all other points{}", by(staged.own_width)),
            None => ", one by one".to_string(),
        };
        self.line(depth, format!("store {to}: what marked points complete{how}"));
        let before = self.shared(&arrays.before);
        self.scan(depth, &what, "lanes");
        self.line(depth, format!("store {before}: what is open before each lane"));
    }

    fn scan(&mut self, depth: usize, what: &str, over: &str) {
        let lanes = self.plan.cut.warp;
        let how = format!("by shuffles among {lanes} lanes, as far as the last end, by ballot");
        self.line(depth, format!("scan {what} over the {over}: {how}"));
    }

    /// The launch that joins what blocks have left.
    fn join(&mut self) {
        let join = &self.plan.join;
        self.blocks("1");
        self.locals(&join.locals);
        self.accumulator("thread, which is open across rounds");
        let (together, each) = (join.together, join.each);
        self.line(0, format!("loop over the parts of {together} blocks, {each} for each thread"));
        let what = self.reduction();
        for node in &join.round {
            match node {
                RoundNode::JoinBlocks => {
                    self.line(1, format!("join {what} over {each} blocks: in order, in each thread"));
                }
                RoundNode::ScanLanes => self.scan(1, &what, "lanes"),
                RoundNode::StoreTotals => {
                    let arrays = join.open.iter().chain([&join.closed]);
                    let names: Vec<&str> =
                        arrays.filter_map(|k| Some(join.locals.shared.get(*k)?.like.as_str())).collect();
                    self.line(1, format!("store {}, for the last lane of each warp", names.join(", ")));
                }
                RoundNode::Sync(note) => self.noted(1, "barrier", note),
                RoundNode::ScanWarps => self.scan(1, &what, "warps, one for each lane"),
                RoundNode::AddLanes => {
                    self.line(1, format!("join {what} over the warps and the lanes before each thread"));
                }
                RoundNode::Close => {
                    self.line(1, "store the result of the first segment that ends in each thread's blocks");
                }
            }
        }
    }

    /// The names of arrays of a block of the launch over chunks.
    fn shared(&self, arrays: &[usize]) -> String {
        let shared = &self.plan.chunks.locals.shared;
        let names: Vec<&str> = arrays.iter().filter_map(|k| Some(shared.get(*k)?.like.as_str())).collect();
        names.join(", ")
    }

    /// The name of a private array of the launch over chunks.
    fn private(&self, array: usize) -> String {
        self.plan.chunks.locals.private_name(array)
    }
}

fn warps(count: i64) -> String {
    match count {
        1 => "1 warp".to_string(),
        n => format!("{n} warps"),
    }
}

/// The width of accesses, in elements, as the text says it.
fn by(elements: i64) -> String {
    match elements {
        1 => ", one by one".to_string(),
        n => format!(", by vectors of {n}"),
    }
}

/// As [`by`], where all points of a tile belong to the chunk.
fn partial(elements: i64) -> String {
    match elements {
        1 => by(1),
        n => format!("{}, or one by one in a partial tile", by(n)),
    }
}
