//! The second launch: blocks go through their tiles.
//!
//! A tile with no end in it is added up in registers (`inside`). Of others, points and ends go to shared memory; in a tile of many short segments
//! a thread takes a segment (`short`), otherwise it takes its steps (`walk`), and what is open before it comes from a scan over the block
//! (`scan`). The points and the first ends of a tile are loaded while the tile before is worked on (`stage`).

use std::collections::BTreeMap;

use loopwright_kernel_ir::{DType, Diagnostic};

use super::{State, Writer, inside::Own, is_staged, scan::Totals, values, walk::Walk};
use crate::{
    fold::{add, mul, sub},
    program::{BinOp, MemRef, Memory, Note, Scope, Step, Stmt, Value, VarId},
};

/// The most shared memory that a kernel may declare.
const MOST_SHARED: u64 = 48 * 1024;

/// Where the steps of all segments begin and end.
pub(super) struct Place {
    /// The first offset.
    pub base: Value,
    /// How many steps there are.
    pub total: Value,
}

/// What a tile has.
#[derive(Clone)]
pub(super) struct Tile {
    /// How many segments have ended before it.
    pub begun: Value,
    /// How many end in it.
    pub segments: Value,
    /// How many steps it has.
    pub steps: Value,
    /// How many points.
    pub points: Value,
    /// The first point.
    pub first_point: Value,
}

/// The shared memory of a block.
struct Arrays {
    /// Mapped values of points, by the number of the input.
    points: BTreeMap<usize, usize>,
    /// Places of ends.
    ends: usize,
    /// Of the scan.
    totals: Totals,
    /// The longest segment of each warp's ends.
    longest: usize,
    /// What is open behind the last of many short segments.
    open: Vec<usize>,
    /// What each warp has of a segment that goes through whole tiles: before an end of it, and at the end of the block.
    own: Vec<usize>,
    rest: Vec<usize>,
}

/// The variables of a thread in a tile.
struct Walked {
    /// How many segments of the tile have ended.
    current: VarId,
    /// How many end before the thread's steps.
    first: VarId,
    /// What the thread has of the first one that ends in its steps, and what comes after the last one.
    head: State,
    open: State,
    /// Whether one ends in its steps, and then in those of the threads before it.
    closed: VarId,
}

impl Writer<'_, '_, '_> {
    pub(super) fn shared_element(&self, array: usize, at: Value) -> MemRef {
        self.emitter.local_element(Memory::Shared(array), vec![at])
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

    /// A block for each `tiles` neighbouring tiles.
    pub fn tiles(&mut self) -> Result<Vec<Stmt>, Diagnostic> {
        let scratch = self.scratch()?;
        let arrays = self.arrays()?;
        let mut body = Vec::new();
        let base = self.base()?;
        let base = self.named("base", base, &mut body);
        let last = self.end_before(scratch.count.clone())?;
        let last = self.named("last", last, &mut body);
        let total = add(sub(last, base.clone()), scratch.count.clone());
        let total = self.named("total", total, &mut body);
        let first_tile = mul(self.block(), self.int(i64::from(self.flat.tiles)));
        let first_tile = self.named("first_tile", first_tile, &mut body);
        let end_tile = add(first_tile.clone(), self.int(i64::from(self.flat.tiles)));
        let end_tile = Value::binary(BinOp::Min, end_tile, scratch.tiles.clone());
        let end_tile = self.named("end_tile", end_tile, &mut body);
        let first_segment = self.global_load(scratch.starts, first_tile.clone());
        let first_segment = self.named("first_segment", first_segment, &mut body);
        let lane = self.emitter.thread_modulo(32);
        let lane = self.named("lane", lane, &mut body);
        let warp = self.emitter.thread_quotient(32);
        let warp = self.named("warp", warp, &mut body);
        let neutral = self.neutral()?;
        let carry = self.state("carry", neutral, &mut body)?;
        let own = self.own(&mut body)?;

        let filling = self.filling(&arrays.points)?;
        let registers = self.registers(&arrays.points)?;
        let place = Place { base, total };
        // What the first tile has; what each later one has is on the way while the one before it is worked on.
        let ahead = self.describe(&place, first_tile.clone(), &mut body)?;
        let next_end = self.counter("next_end", self.int(0), None, &mut body);
        body.push(self.load_end(next_end, &ahead)?);
        body.extend(self.load_points(&arrays.points, &registers, filling.as_deref(), &ahead)?);

        let tile_var = self.emitter.new_var("tile", self.emitter.index(), false);
        let number = self.var(tile_var);
        let mut inside = Vec::new();
        let tile = self.describe(&place, number.clone(), &mut inside)?;
        let some = Value::binary(BinOp::Gt, tile.segments.clone(), self.int(0));
        let longest = self.counter("longest", self.int(0), None, &mut inside);

        // What has been loaded is taken up.
        let mut staged = self.stage_ends(arrays.ends, next_end, &tile, longest, &lane)?;
        staged.push(self.longest_to_shared(longest, arrays.longest, &tile, &lane, &warp));
        staged.extend(self.store_points(&arrays.points, &registers, filling.is_some(), &tile)?);
        if let Some(own) = &own {
            staged.push(self.own_to_shared(own, &arrays.own, &lane, &warp)?);
            let whole = self.add_inside(own, &registers, filling.is_some(), &tile)?;
            let none = Value::binary(BinOp::Eq, tile.segments.clone(), self.int(0));
            let note = "a tile inside one segment is added up; what ends in others goes to shared memory";
            inside.push(Self::when(none, whole, staged, note));
        } else {
            inside.extend(staged);
        }

        // The next tile.
        let next_tile = self.named("next_tile", add(number, self.int(1)), &mut inside);
        let mut further = Vec::new();
        let ahead = self.describe(&place, next_tile.clone(), &mut further)?;
        further.push(self.load_end(next_end, &ahead)?);
        further.extend(self.load_points(&arrays.points, &registers, filling.as_deref(), &ahead)?);
        let exists = Value::binary(BinOp::Lt, next_tile, end_tile.clone());
        inside.push(Self::when(exists, further, Vec::new(), "the next tile, while this one is worked on"));

        inside.push(Stmt::Sync {
            scope: Scope::Block,
            note: Note::new("points and ends of the tile are loaded, from which partial results are made"),
        });
        let walked = self.walked(&mut inside)?;
        let mut work = Vec::new();
        if let Some(own) = &own {
            work.push(self.own_to_carry(own, &arrays.own, &carry)?);
        }
        work.extend(self.longest_of_tile(longest, arrays.longest, &tile));
        let short =
            self.short_segments(arrays.ends, &arrays.points, &arrays.open, &carry, &first_segment, &tile)?;
        let steps = filling.is_none().then(|| tile.steps.clone());
        let mut long = self.walk_steps(&walked, &arrays, &tile, steps)?;
        long.extend(self.within_warps(&walked.open, walked.closed, &arrays.totals, &lane, &warp)?);
        work.push(Self::when(self.is_short(longest), vec![short], long, ""));
        inside.extend(self.where_some(&own, &some, work));

        inside.push(Stmt::Sync {
            scope: Scope::Block,
            note: Note::new(
                "what is open after each warp is stored, or after the tile: partial results of their segments",
            ),
        });
        let mut taken = Vec::new();
        for (array, (_, dtype)) in arrays.open.iter().zip(&carry) {
            let element = self.shared_element(*array, self.int(0));
            taken.push(self.emitter.load(element, *dtype));
        }
        let short = Self::assign(&carry, taken);
        let mut long = Vec::new();
        let before =
            self.across_warps(&walked.open, walked.closed, &carry, &arrays.totals, &lane, &warp, &mut long)?;
        let mut whole = self.combine(&walked.head, values(&before), values(&walked.head))?;
        let segment = add(tile.begun.clone(), self.var(walked.first));
        let segment = self.named("whole", segment, &mut whole);
        whole.push(self.close(&walked.head, segment, &first_segment)?);
        let closes = Value::binary(BinOp::Gt, self.var(walked.current), self.var(walked.first));
        long.push(Self::when(closes, whole, Vec::new(), "the first segment that ends in the thread's steps"));
        let finish = vec![Self::when(self.is_short(longest), short, long, "")];
        inside.extend(self.where_some(&own, &some, finish));

        body.push(Stmt::For {
            var: tile_var,
            lower: first_tile,
            upper: end_tile.clone(),
            step: Step::Add(1),
            unroll: false,
            body: inside,
            note: Note::default(),
        });
        self.leave(&own, &arrays, &carry, [&lane, &warp], [&first_segment, &end_tile], &mut body)?;
        Ok(body)
    }

    /// Where tiles without an end have been dealt with, only those with one.
    fn where_some(&self, own: &Option<Own>, some: &Value, work: Vec<Stmt>) -> Vec<Stmt> {
        match own {
            Some(_) => vec![Self::when(some.clone(), work, Vec::new(), "")],
            None => work,
        }
    }

    /// Declares the shared memory.
    fn arrays(&mut self) -> Result<Arrays, Diagnostic> {
        let steps = self.flat.steps();
        let mut points = BTreeMap::new();
        for (k, arg) in self.args.clone().iter().enumerate() {
            if is_staged(self, arg) {
                let dtype = self.input_type(arg)?;
                let like = if self.args.len() == 1 { "points".to_string() } else { format!("points_{k}") };
                points.insert(k, self.shared(&like, dtype, steps.unsigned_abs(), "what is reduced, mapped"));
            }
        }
        let note = "the steps of the tile that end a segment, and one that none is";
        let ends = self.shared("ends", DType::I32, steps.unsigned_abs() + 1, note);
        let totals = self.totals()?;
        let warps = u64::from(self.emitter.block[0] / 32);
        let note = "the longest segment of each warp's ends";
        let longest = self.shared("longest_of", self.emitter.index(), warps, note);
        let types = self.emitter.accumulator_types(self.nest.instruction, 0, &self.env)?;
        let mut open = Vec::new();
        for (name, dtype) in crate::scan::names(&self.operator, "last_open").iter().zip(types) {
            open.push(self.shared(name, dtype, 1, "what is open behind the last of many segments"));
        }
        let (own, rest) = match self.operator.commutes {
            true => (self.own_totals("own_totals")?, self.own_totals("rest")?),
            false => (Vec::new(), Vec::new()),
        };
        let bytes: u64 = self.emitter.shared.iter().map(|a| a.bytes().next_multiple_of(16)).sum();
        if bytes > MOST_SHARED {
            return Err(Diagnostic::new(
                "too-much-shared",
                format!(
                    "a tile of {steps} steps of the flattened nest over `{}` takes {bytes} bytes of shared memory, more than {MOST_SHARED}",
                    self.nest.segment
                ),
            )
            .help("take fewer items or threads: `flatten_ragged(s, i, items=7)`"));
        }
        Ok(Arrays { points, ends, totals, longest, open, own, rest })
    }

    /// Declares what a thread has in a tile, before it is known which way the tile goes.
    fn walked(&mut self, body: &mut Vec<Stmt>) -> Result<Walked, Diagnostic> {
        let steps = self.flat.steps();
        let neutral = self.neutral()?;
        Ok(Walked {
            current: self.counter("segment", self.int(0), Some((0, steps)), body),
            first: self.counter("first", self.int(0), Some((0, steps)), body),
            head: self.state("head", neutral.clone(), body)?,
            open: self.state("open", neutral, body)?,
            closed: {
                let closed = self.emitter.new_var("closed", DType::I32, true);
                body.push(Stmt::Let { var: closed, value: Value::int(DType::I32, 0), leaf: None });
                closed
            },
        })
    }

    /// The thread's steps. `steps` is how many the tile has, where those behind them must not run.
    fn walk_steps(
        &mut self,
        walked: &Walked,
        arrays: &Arrays,
        tile: &Tile,
        own_steps: Option<Value>,
    ) -> Result<Vec<Stmt>, Diagnostic> {
        let (steps, items, threads) =
            (self.flat.steps(), i64::from(self.flat.items), i64::from(self.flat.threads));
        let mut body = Vec::new();
        let from_step = mul(self.thread(), self.int(items));
        let from_step = self.named("first_step", from_step, &mut body);
        body.extend(self.find(arrays.ends, walked.current, &tile.segments, &from_step));
        body.push(self.set(walked.first, self.var(walked.current)));
        let next_end = self.end_at(arrays.ends, self.var(walked.current));
        let next_end = self.counter("end", next_end, Some((0, steps)), &mut body);
        let shift = sub(from_step.clone(), self.var(walked.current));
        let shift = self.counter("shift", shift, Some((-steps, steps)), &mut body);
        let neutral = self.neutral()?;
        let walk = Walk {
            begun: tile.begun.clone(),
            first: self.var(walked.first),
            first_step: from_step.clone(),
            first_point: tile.first_point.clone(),
            steps: own_steps,
            current: walked.current,
            end: next_end,
            shift,
            ends: arrays.ends,
            points: arrays.points.clone(),
            head: walked.head.clone(),
            open: walked.open.clone(),
            neutral,
        };
        let (any, none) = (self.walk(&walk, true)?, self.walk(&walk, false)?);
        // Where a warp has an end somewhere, all of it walks: the test is for tiles with fewer ends than warps.
        let few = Value::binary(BinOp::Lt, tile.segments.clone(), self.int(threads / 32));
        let behind = Value::binary(BinOp::Ge, self.var(next_end), add(from_step, self.int(items)));
        let none_ends = Value::binary(BinOp::And, few, behind);
        body.push(Self::when(
            none_ends,
            vec![none],
            vec![any],
            "no segment ends in the thread's steps, or some step ends one",
        ));
        let (zero, one) = (Value::int(DType::I32, 0), Value::int(DType::I32, 1));
        let closes = Value::binary(BinOp::Gt, self.var(walked.current), self.var(walked.first));
        body.push(self.set(walked.closed, crate::fold::select(closes, one, zero)));
        Ok(body)
    }

    /// Writes the result of a segment that ends, or what the block has of it.
    pub(super) fn close(
        &mut self,
        state: &State,
        segment: Value,
        first_segment: &Value,
    ) -> Result<Stmt, Diagnostic> {
        let scratch = self.scratch()?;
        let mut partial = Vec::new();
        for (array, value) in scratch.head.iter().zip(values(state)) {
            let to = Self::element(*array, self.block());
            partial.push(Stmt::Store { to, value, leaf: Some(self.finish) });
        }
        let is_first = Value::binary(BinOp::Eq, segment.clone(), first_segment.clone());
        let written = self.result(values(state), segment)?;
        let note = "the block's first segment may have begun in an earlier block";
        Ok(Self::when(is_first, partial, written, note))
    }

    /// What a block leaves to the last launch.
    fn leave(
        &mut self,
        own: &Option<Own>,
        arrays: &Arrays,
        carry: &State,
        [lane, warp]: [&Value; 2],
        [first_segment, end_tile]: [&Value; 2],
        body: &mut Vec<Stmt>,
    ) -> Result<(), Diagnostic> {
        let scratch = self.scratch()?;
        let mut stores = Vec::new();
        if let Some(own) = own {
            body.push(self.own_to_shared(own, &arrays.rest, lane, warp)?);
            body.push(Stmt::Sync {
                scope: Scope::Block,
                note: Note::new("all warps have stored their partial results of the segment that is open"),
            });
            stores.push(self.own_to_carry(own, &arrays.rest, carry)?);
        }
        for (array, value) in scratch.tail.iter().zip(values(carry)) {
            stores.push(Stmt::Store { to: Self::element(*array, self.block()), value, leaf: None });
        }
        let ended = self.global_load(scratch.starts, end_tile.clone());
        let some = Value::binary(BinOp::Gt, ended, first_segment.clone());
        let value = crate::fold::select(some, first_segment.clone(), self.int(-1));
        let to = Self::element(scratch.ended, self.block());
        stores.push(Stmt::Store { to, value, leaf: None });
        let one = Value::binary(BinOp::Eq, self.thread(), self.int(0));
        body.push(Self::when(
            one,
            stores,
            Vec::new(),
            "what is open after the block's last tile, and the first segment that ends in it, if any does",
        ));
        Ok(())
    }

    /// How many segments of the tile end before a step, by bisection: bit by bit, and by fours without what a tile of few segments has none of.
    fn find(&mut self, ends: usize, current: VarId, segments: &Value, before: &Value) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        let bits = 64 - u64::leading_zeros(self.flat.steps().unsigned_abs());
        for group in (0..bits.div_ceil(4)).rev() {
            let unit = 1i64 << (4 * group);
            let highest = 1i64 << (bits - 4 * group - 1).min(3);
            let bit = self.emitter.new_var("bit", self.emitter.index(), true);
            let mut find = Vec::new();
            let own = mul(self.var(bit), self.int(unit));
            let next = self.named("next", Value::binary(BinOp::BitOr, self.var(current), own), &mut find);
            let exists = Value::binary(BinOp::Le, next.clone(), segments.clone());
            let end = self.end_at(ends, sub(next.clone(), self.int(1)));
            let both = Value::binary(BinOp::And, exists, Value::binary(BinOp::Lt, end, before.clone()));
            find.push(Self::when(both, vec![self.set(current, next)], Vec::new(), ""));
            let note = "the segments of the tile that end before the thread's first step, by bisection";
            let search = Stmt::For {
                var: bit,
                lower: self.int(highest),
                upper: self.int(0),
                step: Step::Halve,
                unroll: true,
                body: find,
                note: Note::new(if group + 1 == bits.div_ceil(4) { note } else { "" }),
            };
            let some = Value::binary(BinOp::Ge, segments.clone(), self.int(unit));
            stmts.push(Self::when(some, vec![search], Vec::new(), ""));
        }
        stmts
    }

    /// The step that ends the segment of this number in the tile.
    pub(super) fn end_at(&self, ends: usize, at: Value) -> Value {
        let element = self.shared_element(ends, at);
        self.emitter.load(element, DType::I32).cast(self.emitter.index())
    }
}
