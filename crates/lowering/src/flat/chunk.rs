//! The second launch: each warp goes through the tiles of its chunk.
//!
//! Warps do not wait for each other until the end, when the partial results that the warps of a
//! block have of common segments are joined, in order.

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{
    State, Writer,
    tile::{Chunk, Span, Tile},
    values,
    warp::Warp,
};
use crate::{
    program::{BinOp, MemRef, Memory, Note, Scope, ShuffleMode, Step, Stmt, Value, VarId},
    write::fold::{add, mul, not, select, sub},
};

/// The state that is carried from tile to tile.
pub(super) struct Progress {
    /// The open partial result before the tile; the lanes' separate parts of it are in `own`.
    pub carry: State,
    pub own: Option<super::inside::Own>,
    /// The first segment of the current group of ends; or, once the chunk's last point is passed,
    /// `-1 - s`, where `s` is the first segment after it.
    pub segment: VarId,
}

impl Writer<'_, '_, '_> {
    /// Threads of a warp.
    pub(super) fn warp_size(&self) -> i64 {
        self.emitter.warp_size().into()
    }

    /// Number of ends in a group.
    pub(super) fn group(&self) -> i64 {
        self.warp_size() * super::ENDS
    }

    /// Size of the widest access in bytes.
    pub(super) fn widest_access(&self) -> i64 {
        self.emitter.target().widest_access.into()
    }

    /// Number of warps per block.
    pub(super) fn warps(&self) -> i64 {
        i64::from(self.flat.threads) / self.warp_size()
    }

    pub(super) fn tile_points(&self) -> i64 {
        self.items() * self.warp_size()
    }

    /// The body of the kernel: a chunk for each warp.
    pub fn chunks(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let arrays = self.arrays()?;
        let registers = self.registers(&arrays)?;
        self.min_blocks = match self.emitter.analysis.kernel.options.min_blocks_per_multiprocessor {
            Some(blocks) => Some(blocks.get()),
            // 64-bit indices would need more registers.
            None if self.emitter.index() == DType::I32 => {
                let types = self.emitter.accumulator_types(self.nest.instruction, 0)?;
                let state = types.iter().map(|t| t.bytes()).sum();
                self.flat.min_blocks(self.emitter.target(), registers.bytes_of_point(self), state)
            }
            None => None,
        };
        let mut body = Vec::new();
        let warp = Warp { chunk: self.describe(&mut body)?, arrays, registers };
        let Warp { chunk, arrays, registers } = &warp;
        let neutral = self.neutral()?;
        let progress = Progress {
            carry: self.state("carry", neutral.clone(), &mut body)?,
            own: self.own(&mut body)?,
            segment: self.counter("segment", chunk.first_segment.clone(), None, &mut body),
        };
        let of_chunk = |array| self.shared_element(array, chunk.warp.clone());
        let heads = Self::stored(&arrays.head, of_chunk, neutral);
        body.push(Self::when(self.is_lane(chunk, 0), heads, Vec::new(), ""));
        body.extend(self.clear_last(&warp));
        body.push(Self::warp_sync("no point is marked yet: marks tell partial results apart"));
        // A multiple of the widest vector is a multiple of all narrower ones; and as a multiple of
        // `items`, it makes the quotient by `items` identify a point's lane.
        let aligned = self.int(self.widest_access().max(self.items()));
        let first = sub(chunk.from.clone(), Value::binary(BinOp::TruncRem, chunk.from.clone(), aligned));
        let first = self.named("first", first, &mut body);
        body.extend(self.load_points(&warp, &first, Span::From(&chunk.from))?);
        let segment = self.var(progress.segment);
        body.push(self.load_ends(registers.ends, segment.clone(), chunk, "the next ends of segments")?);
        self.begin_group(&warp, chunk.from.clone(), &mut body);
        let further = add(segment, self.int(self.group()));
        body.push(self.load_ends(registers.next_ends, further, chunk, "")?);

        let var = self.emitter.new_var("tile", self.emitter.index(), false);
        self.emitter.vars[var.0].index = true;
        let here = self.var(var);
        let mut inside = Vec::new();
        // After the first tile, all points up to the chunk's end belong to it.
        let begin_var = self.counter("begin", chunk.from.clone(), None, &mut body);
        let begin = self.var(begin_var);
        let next = add(here.clone(), self.int(self.tile_points()));
        let next = self.named("next_tile", next, &mut inside);
        let stop = Value::binary(BinOp::Min, next.clone(), chunk.to.clone());
        let stop = self.named("stop", stop, &mut inside);
        let tile = Tile { first: here, begin, stop };
        let whole = self.is_whole(chunk, &tile.first, Span::From(&tile.begin));
        let ahead = self.load_points(&warp, &next, Span::Later)?;
        let more = Value::binary(BinOp::Lt, next.clone(), chunk.to.clone());
        let ahead = Self::when(more, ahead, Vec::new(), "the next tile, while this one is worked on");

        let mut ends = self.mark_ends(&warp, &progress, &tile)?;
        if let Some(own) = &progress.own {
            ends.push(self.own_to_carry(own, &progress.carry)?);
        }
        ends.extend(self.stage(&warp, &tile)?);
        ends.push(ahead.clone());
        ends.push(Self::warp_sync(
            "points and marks of the tile are stored, from which partial results are made",
        ));
        ends.extend(self.scan_points(&warp, &progress, &tile)?);
        ends.push(Self::warp_sync("partial results are stored, at the last points of segments"));
        ends.extend(self.close_ends(&warp, &progress, &tile)?);
        ends.push(Self::warp_sync("the tile's partial results are read"));
        match &progress.own {
            Some(own) => {
                let mut plain = self.add_inside(own, &warp, &tile)?;
                plain.push(ahead);
                let open = self.ends_in(&warp, &tile, &mut inside);
                let inner = Value::binary(BinOp::And, whole, not(open));
                let note = "a tile inside one segment is added up; what ends in others goes to shared memory";
                inside.push(Self::when(inner, plain, ends, note));
            }
            None => inside.extend(ends),
        }
        inside.push(self.set(begin_var, next));
        // At least one tile: segments may end even if there are no points.
        let upper = Value::binary(BinOp::Max, chunk.to.clone(), add(first.clone(), self.int(1)));
        body.push(Stmt::For {
            var,
            lower: first,
            upper,
            step: Step::Add(self.tile_points()),
            unroll: false,
            body: inside,
            note: Note::default(),
        });
        body.push(self.close_empty(chunk, &progress)?);
        self.leave(&warp, &progress, &mut body)?;
        Ok(body)
    }

    pub(super) fn is_lane(&self, chunk: &Chunk, lane: i64) -> Value {
        Value::binary(BinOp::Eq, chunk.lane.clone(), self.int(lane))
    }

    pub(super) fn warp_sync(note: &str) -> Stmt {
        Stmt::Sync { scope: Scope::Warp, note: Note::new(note) }
    }

    /// The segments and points of the warp's chunk; in the last block, a warp's chunk may be empty.
    fn describe(&mut self, body: &mut Vec<Stmt>) -> Result<Chunk, Diagnostic> {
        let scratch = self.scratch()?;
        let lane = self.lane(body);
        let warp = self.emitter.thread_quotient(self.emitter.warp_size());
        let warp = self.named("warp", warp, body);
        let chunks = self.named("chunks", scratch.chunks.clone(), body);
        let chunk = add(mul(self.block(), self.int(self.warps())), warp.clone());
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

    /// Stores the block's partial results for the last launch: one thread joins those of its warps,
    /// in order.
    fn leave(&mut self, warp: &Warp, progress: &Progress, body: &mut Vec<Stmt>) -> Result<(), Diagnostic> {
        let Warp { chunk, arrays, .. } = warp;
        let scratch = self.scratch()?;
        if let Some(own) = &progress.own {
            body.push(self.own_to_carry(own, &progress.carry)?);
        }
        let of_chunk = |array| self.shared_element(array, chunk.warp.clone());
        let mut stores = Self::stored(&arrays.tail, of_chunk, values(&progress.carry));
        let some = Value::binary(BinOp::Lt, chunk.first_segment.clone(), chunk.end_segment.clone());
        let first = select(some, chunk.first_segment.clone(), self.int(-1));
        let to = self.shared_element(arrays.ended, chunk.warp.clone());
        stores.push(Stmt::Store { to, value: first, leaf: None });
        let note = "what the warp has of segments that others have a part of";
        body.push(Self::when(self.is_lane(chunk, 0), stores, Vec::new(), note));
        body.push(Stmt::Sync {
            scope: Scope::Block,
            note: Note::new("all warps have stored their partial results of common segments"),
        });
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
        join.push(self.unrolled(other, self.warps(), each, ""));
        for (list, state) in [(&scratch.head, &joined.head), (&scratch.tail, &joined.open)] {
            join.extend(Self::stored(list, |array| Self::element(array, self.block()), values(state)));
        }
        let to = Self::element(scratch.ended, self.block());
        join.push(Stmt::Store { to, value: self.first_ended(&joined), leaf: None });
        let one = Value::binary(BinOp::Eq, self.thread(), self.int(0));
        body.push(Self::when(one, join, Vec::new(), "the warps' parts of common segments, in their order"));
        Ok(())
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
