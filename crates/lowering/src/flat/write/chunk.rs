//! The second launch: each warp goes through the tiles of its chunk.

use loopwright_kernel_ir::Diagnostic;

use super::{
    State, Writer,
    inside::Own,
    tile::{Chunk, Span, Tile},
    values,
};
use crate::{
    flat::plan::{ChunkNode, ChunksPlan, FirstNode, Group, TileNode},
    program::{BinOp, MemRef, Memory, Note, Scope, ShuffleMode, Step, Stmt, Value, VarId},
    write::fold::{add, mul, not, select, sub},
};

/// The state that is carried from tile to tile.
pub(super) struct Progress {
    /// The open partial result before the tile; the lanes' separate parts of it are in `own`.
    pub carry: State,
    pub own: Option<Own>,
    /// The first segment of the current group of ends; or, once the chunk's last point is passed,
    /// `-1 - s`, where `s` is the first segment after it.
    pub segment: VarId,
}

impl Progress {
    fn own(&self) -> Result<&Own, Diagnostic> {
        let missing = || Diagnostic::new("internal", "lanes without accumulators of their own");
        self.own.as_ref().ok_or_else(missing)
    }
}

impl<'w> Writer<'w, '_, '_> {
    /// The number of threads of a warp.
    pub(super) fn warp_size(&self) -> i64 {
        self.plan.cut.warp
    }

    /// Number of ends in a group.
    pub(super) fn group(&self) -> i64 {
        self.warp_size() * self.of_chunks().registers.each
    }

    /// What is decided about this launch.
    pub(super) fn of_chunks(&self) -> &'w ChunksPlan {
        &self.plan.chunks
    }

    /// The body of the kernel: a chunk for each warp.
    pub fn chunks(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let plan = self.of_chunks();
        self.declare(&plan.locals);
        let mut body = Vec::new();
        let chunk = self.describe(&mut body)?;
        let neutral = self.neutral()?;
        let progress = Progress {
            carry: self.state("carry", neutral.clone(), &mut body),
            own: plan.reduction.own.then(|| self.own(neutral, &mut body)),
            segment: self.counter("segment", chunk.first_segment.clone(), None, &mut body),
        };
        for node in &plan.nodes {
            self.chunk_node(node, &chunk, &progress, &mut body)?;
        }
        Ok(body)
    }

    fn chunk_node(
        &mut self,
        node: &ChunkNode,
        chunk: &Chunk,
        progress: &Progress,
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        match node {
            ChunkNode::ResetHead => {
                let neutral = self.neutral()?;
                let of_chunk = |array| self.shared_element(array, chunk.warp.clone());
                let heads = Self::stored(&self.of_chunks().arrays.head, of_chunk, neutral);
                body.push(Self::when(self.is_lane(chunk, 0), heads, Vec::new(), ""));
            }
            ChunkNode::ClearMarks => body.extend(self.clear_last(chunk)),
            ChunkNode::Sync(scope, note) => body.push(Self::sync(*scope, note)),
            ChunkNode::Tiles { align, before, each } => {
                let first = self.first_tile(chunk, *align);
                let first = self.named("first", first, body);
                for node in before {
                    self.first_node(node, (chunk, &first), progress, body)?;
                }
                self.tiles(each, (chunk, first), progress, body)?;
            }
            ChunkNode::CloseEmpty => body.push(self.close_empty(chunk, progress)?),
            ChunkNode::JoinLanes => body.push(self.own_to_carry(progress.own()?, &progress.carry)?),
            ChunkNode::StoreParts => body.push(self.store_parts(chunk, progress)),
            ChunkNode::JoinWarps => body.push(self.join_warps()?),
        }
        Ok(())
    }

    /// Where the first tile begins: at a multiple of `align`, and before the last point. Segments
    /// may end even if there are no points, so a chunk without any has a tile that ends where it
    /// begins. The loop over the tiles then ends at the chunk's end, without a variable for a
    /// bound of its own, which is one more than a thread has registers for on some architectures.
    fn first_tile(&self, chunk: &Chunk, align: i64) -> Value {
        let past = Value::binary(BinOp::TruncRem, chunk.from.clone(), self.int(align));
        let some = Value::binary(BinOp::Lt, chunk.from.clone(), chunk.to.clone());
        sub(sub(chunk.from.clone(), past), select(some, self.int(0), self.int(align)))
    }

    /// What comes before the first tile, which begins at `first`.
    fn first_node(
        &mut self,
        node: &FirstNode,
        (chunk, first): (&Chunk, &Value),
        progress: &Progress,
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        let registers = &self.of_chunks().registers;
        let segment = self.var(progress.segment);
        match node {
            FirstNode::LoadPoints => body.push(self.load_points(chunk, first, Span::From(&chunk.from))?),
            FirstNode::LoadEnds(Group::Current) => {
                body.push(self.load_ends(registers.ends, segment, chunk, "the next ends of segments")?);
            }
            FirstNode::FindBegins => self.begin_group(chunk, chunk.from.clone(), body),
            FirstNode::LoadEnds(Group::Next) => {
                let further = add(segment, self.int(self.group()));
                body.push(self.load_ends(registers.next_ends, further, chunk, "")?);
            }
        }
        Ok(())
    }

    /// The loop over the tiles, of which the first begins at `first`.
    fn tiles(
        &mut self,
        each: &[TileNode],
        (chunk, first): (&Chunk, Value),
        progress: &Progress,
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        let points = self.plan.cut.tile;
        let var = self.index_var("tile");
        let mut inside = Vec::new();
        // After the first tile, all points up to the chunk's end belong to it.
        let begin = self.counter("begin", chunk.from.clone(), None, body);
        let next = add(self.var(var), self.int(points));
        let next = self.named("next_tile", next, &mut inside);
        let stop = Value::binary(BinOp::Min, next.clone(), chunk.to.clone());
        let stop = self.named("stop", stop, &mut inside);
        let tile = Tile { first: self.var(var), begin: self.var(begin), stop, next };
        self.tile_nodes(each, (chunk, &tile), progress, &mut inside)?;
        inside.push(self.set(begin, tile.next));
        body.push(Stmt::For {
            var,
            lower: first,
            upper: chunk.to.clone(),
            step: Step::Add(points),
            unroll: false,
            body: inside,
            note: Note::default(),
        });
        Ok(())
    }

    fn tile_nodes(
        &mut self,
        nodes: &[TileNode],
        (chunk, tile): (&Chunk, &Tile),
        progress: &Progress,
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        for node in nodes {
            match node {
                TileNode::Vote { inside, ends } => {
                    let (mut plain, mut otherwise) = (Vec::new(), Vec::new());
                    self.tile_nodes(inside, (chunk, tile), progress, &mut plain)?;
                    self.tile_nodes(ends, (chunk, tile), progress, &mut otherwise)?;
                    let whole = self.is_whole(chunk, &tile.first, Span::From(&tile.begin));
                    let open = self.ends_in(tile, body);
                    let inner = Value::binary(BinOp::And, whole, not(open));
                    let note =
                        "a tile inside one segment is added up; what ends in others goes to shared memory";
                    body.push(Self::when(inner, plain, otherwise, note));
                }
                TileNode::AddLoaded => body.extend(self.add_inside(progress.own()?, chunk, tile)?),
                TileNode::LoadNext => {
                    let next = self.load_points(chunk, &tile.next, Span::Later)?;
                    let more = Value::binary(BinOp::Lt, tile.next.clone(), chunk.to.clone());
                    let note = "the next tile, while this one is worked on";
                    body.push(Self::when(more, vec![next], Vec::new(), note));
                }
                TileNode::MarkEnds => body.extend(self.mark_ends(chunk, progress, tile)?),
                TileNode::JoinLanes => body.push(self.own_to_carry(progress.own()?, &progress.carry)?),
                TileNode::Stage => body.extend(self.stage(chunk, tile)?),
                TileNode::Sync(note) => body.push(Self::sync(Scope::Warp, note)),
                TileNode::Reduce => body.extend(self.scan_points(chunk, progress, tile)?),
                TileNode::CloseEnds => body.extend(self.close_ends(chunk, progress, tile)?),
            }
        }
        Ok(())
    }

    pub(super) fn is_lane(&self, chunk: &Chunk, lane: i64) -> Value {
        Value::binary(BinOp::Eq, chunk.lane.clone(), self.int(lane))
    }

    pub(super) fn sync(scope: Scope, note: &str) -> Stmt {
        Stmt::Sync { scope, note: Note::new(note) }
    }

    /// The segments and points of the warp's chunk; in the last block, a warp's chunk may be empty.
    fn describe(&mut self, body: &mut Vec<Stmt>) -> Result<Chunk, Diagnostic> {
        let scratch = self.scratch()?;
        let lane = self.lane(body);
        let warp = self.emitter.thread_quotient(self.emitter.warp_size());
        let warp = self.named("warp", warp, body);
        let chunks = self.named("chunks", scratch.chunks.clone(), body);
        let chunk = add(mul(self.block(), self.int(self.plan.cut.warps)), warp.clone());
        let chunk = self.named("chunk", Value::binary(BinOp::Min, chunk, chunks.clone()), body);
        let next = Value::binary(BinOp::Min, add(chunk.clone(), self.int(1)), chunks);
        let next = self.named("next_chunk", next, body);
        let mut read = |array: usize, at: &Value, like: &str| {
            let value = self.global_load(array, at.clone());
            self.named(like, value, body)
        };
        let first_segment = read(scratch.starts, &chunk, "first_segment");
        let end_segment = read(scratch.starts, &next, "end_segment");
        let from = read(scratch.points, &chunk, "from");
        let to = read(scratch.points, &next, "to");
        Ok(Chunk { lane, warp, first_segment, end_segment, from, to })
    }

    /// The first lane stores what the warp has of segments that others have a part of: what is open
    /// after its chunk, and the first segment that ends in it.
    fn store_parts(&self, chunk: &Chunk, progress: &Progress) -> Stmt {
        let arrays = &self.of_chunks().arrays;
        let of_chunk = |array| self.shared_element(array, chunk.warp.clone());
        let mut stores = Self::stored(&arrays.tail, of_chunk, values(&progress.carry));
        let some = Value::binary(BinOp::Lt, chunk.first_segment.clone(), chunk.end_segment.clone());
        let first = select(some, chunk.first_segment.clone(), self.int(-1));
        stores.push(Stmt::Store { to: of_chunk(arrays.ended), value: first, leaf: None });
        let note = "what the warp has of segments that others have a part of";
        Self::when(self.is_lane(chunk, 0), stores, Vec::new(), note)
    }

    /// One thread joins the parts of the block's warps, in order, and stores those of the block for
    /// the last launch.
    fn join_warps(&mut self) -> Result<Stmt, Diagnostic> {
        let arrays = &self.of_chunks().arrays;
        let scratch = self.scratch()?;
        let mut join = Vec::new();
        let joined = self.no_parts("block", &mut join)?;
        let other = self.emitter.new_var("other_warp", self.emitter.index(), false);
        let mut each = Vec::new();
        let index = self.emitter.index();
        let ended = self.emitter.load(self.shared_element(arrays.ended, self.var(other)), index);
        let ended = self.named("ended", ended, &mut each);
        let of_other = |this: &Self, list: &[usize]| {
            this.loaded(list.iter().map(|array| this.shared_element(*array, this.var(other))), &joined.open)
        };
        let (head, tail) = (of_other(self, &arrays.head), of_other(self, &arrays.tail));
        let tail = self.named_state("tail", tail, &mut each);
        let note = "the block's first segment may have begun in an earlier block";
        each.push(self.join_part(&joined, ended, [head, tail], note)?);
        join.push(self.unrolled(other, self.plan.cut.warps, each, ""));
        for (list, state) in [(&scratch.head, &joined.head), (&scratch.tail, &joined.open)] {
            join.extend(Self::stored(list, |array| Self::element(array, self.block()), values(state)));
        }
        let to = Self::element(scratch.ended, self.block());
        join.push(Stmt::Store { to, value: self.first_ended(&joined), leaf: None });
        let one = Value::binary(BinOp::Eq, self.thread(), self.int(0));
        Ok(Self::when(one, join, Vec::new(), "the warps' parts of common segments, in their order"))
    }

    pub(super) fn shared_element(&self, array: usize, at: Value) -> MemRef {
        self.emitter.local_element(Memory::Shared(array), vec![at])
    }

    /// An element of the warp's slice of an array.
    pub(super) fn of_warp(&self, array: usize, chunk: &Chunk, at: Value) -> MemRef {
        self.emitter.local_element(Memory::Shared(array), vec![chunk.warp.clone(), at])
    }

    pub(super) fn unrolled(&self, var: VarId, upper: i64, body: Vec<Stmt>, note: &str) -> Stmt {
        Stmt::For {
            var,
            lower: self.int(0),
            upper: self.int(upper),
            step: Step::Add(1),
            unroll: true,
            body,
            note: Note::new(note),
        }
    }

    /// Broadcasts the value of the warp's last lane.
    pub(super) fn of_last_lane(&self, value: Value) -> Value {
        self.shuffled(ShuffleMode::Index, value, self.int(self.warp_size() - 1))
    }
}
