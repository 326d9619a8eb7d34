//! Flattens the loops over segments of unequal length and their points.

use loopwright_kernel_ir::{Diagnostic, Flat, LoopKernel, Name, Tail};
use loopwright_legality::{Judgement, flat_nest};

use crate::{
    Number, Transform,
    arguments::{Args, Argument, keyed},
    older_names,
    rewrite::{require_iname, require_untagged},
    step::TextForm,
};

step! {
    /// `flatten_ragged(s, i)`: divides segments of unequal length into chunks of equal work.
    ///
    /// # Meaning
    ///
    /// The points `offsets[s] <= i < offsets[s + 1]` of all segments are numbered consecutively
    /// together with the ends of the segments, each of which counts as several points: these are
    /// *steps*. Warps take equal numbers of steps, so that neither one giant segment nor millions
    /// of empty ones leave them idle, and accesses are contiguous whatever the lengths. Partial
    /// results of a segment that is spread over several lanes are joined in the order of its
    /// points: results are bitwise reproducible, and the operator need not commute.
    ///
    /// A block has `threads` threads (128). Each of its warps processes a *chunk* of `tiles` tiles
    /// (16), each of 32 times `items` points (8, 16 or 32; default 16): it loads them by vector
    /// accesses if the values are read at the points' numbers, and reduces them in shared memory,
    /// of which a block needs `threads * items` mapped values plus an eighth, and a byte for each.
    /// Warps do not wait for each other. Lowering generates three launches: one that finds the
    /// beginning of each chunk by bisection, one that processes the chunks, and one that joins the
    /// blocks' partial results of common segments.
    ///
    /// Blocks take the chunks in their order. Chunks of equal size do not take equal time: points
    /// inside a long segment cost less than ends of short ones. A guided schedule (OpenMP's term)
    /// balances this with two sizes: the first `full_chunks` chunks have `tiles` tiles, and those
    /// of the tail `tail_tiles`. If there are as many full ones as warps resident on the device,
    /// with nine tenths of all steps, warps that finish early process the remainder in small
    /// chunks.
    ///
    /// # Legality
    ///
    /// Legal by theorem (`loopwright_legality::flat_nest`) where `monotone(offsets)` is declared
    /// with a range; the bounds of `i` are exactly `lo <= i < hi`, loaded from neighbouring offsets
    /// in the loop over `0 <= s < N`; that loop has only host loops around it, and contains only
    /// loads of scalars and one reduction over `i`; different segments write different elements;
    /// and the nest writes nothing that it reads. Lowering checks these conditions again for the
    /// finished kernel, so that a later step that violates them is refused.
    ///
    /// In text: `flatten_ragged(s, i, threads=128, items=16, tiles=16)`, followed by
    /// `full_chunks=4224, tail_tiles=1` for a guided schedule. `runs` and `rest` are older names of
    /// these two, accepted until 1.0.
    ///
    /// # Before and after
    ///
    /// ```
    /// use loopwright_kernel_ir::LoopKernel;
    /// use loopwright_transforms::Pipeline;
    ///
    /// let before = LoopKernel::parse("\
    /// kernel ragged_sum(x: f32[n], offsets: i32[nseg + 1], out: f32[nseg], n: i32, nseg: i32)
    /// fact monotone(offsets)
    /// fact 0 <= offsets <= n
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : lo <= i < hi }
    /// temp lo: i32 private
    /// temp hi: i32 private
    /// lo = offsets[s] {id=load_lo}
    /// hi = offsets[s + 1] {id=load_hi}
    /// out[s] = sum(i, x[i]) {id=total}
    /// ")?;
    /// let steps = Pipeline::parse("flatten_ragged(s, i, threads=256)")?;
    /// assert_eq!(steps.apply(&before)?.to_string(), "\
    /// kernel ragged_sum(x: f32[n], offsets: i32[nseg + 1], out: f32[nseg], n: i32, nseg: i32)
    /// fact monotone(offsets)
    /// fact 0 <= offsets <= n
    /// domain { [s] : 0 <= s < nseg }
    /// domain { [i] : lo <= i < hi }
    /// temp lo: i32 private
    /// temp hi: i32 private
    /// tag s: flat_256x16x16
    /// lo = offsets[s] {id=load_lo, inames=s}
    /// hi = offsets[s + 1] {id=load_hi, inames=s}
    /// out[s] = sum(i, x[i]) {id=total, inames=s}
    /// tree {
    ///     for s {
    ///         load_lo
    ///         load_hi
    ///         total.init
    ///         for i {
    ///             total.update
    ///         }
    ///         total.finish
    ///     }
    /// }
    /// ");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct FlattenRagged as "flatten_ragged", by hand {
        /// The iname of the segments.
        pub segment: Name,
        /// The iname of their points.
        pub point: Name,
        /// Number of threads per block.
        pub threads: Number,
        /// Number of points per thread in a tile.
        pub items: Number,
        /// Number of tiles in a warp's chunk.
        pub tiles: Number,
        /// The number of chunks that have `tiles` tiles; 0 if all have.
        #[serde(alias = "runs")]
        pub full_chunks: Number,
        /// The number of tiles in each chunk of the tail; 0 if there is none.
        #[serde(alias = "rest")]
        pub tail_tiles: Number,
    }
    table: "flatten_ragged(s, i)" => "–",
    methods: {
        /// See [`FlattenRagged`](crate::FlattenRagged), which has options: divides segments of
        /// unequal length into chunks of equal work.
        fn flatten_ragged(&self, segment: &str, point: &str) -> Result<Self, Diagnostic> {
            self.step(crate::FlattenRagged::new(segment, point))
        }
    }
}

impl FlattenRagged {
    /// The loops over `segment` and `point`, flattened; 128 threads of 16 items, 16 tiles.
    pub fn new(segment: impl Into<Name>, point: impl Into<Name>) -> Self {
        FlattenRagged {
            segment: segment.into(),
            point: point.into(),
            threads: Number::Known(128),
            items: Number::Known(16),
            tiles: Number::Known(16),
            full_chunks: Number::Known(0),
            tail_tiles: Number::Known(0),
        }
    }

    /// Sets the number of threads of a block.
    pub fn threads(self, threads: impl Into<Number>) -> Self {
        FlattenRagged { threads: threads.into(), ..self }
    }

    /// Sets the number of points per thread in a tile.
    pub fn items(self, items: impl Into<Number>) -> Self {
        FlattenRagged { items: items.into(), ..self }
    }

    /// Sets the number of tiles in a chunk.
    pub fn tiles(self, tiles: impl Into<Number>) -> Self {
        FlattenRagged { tiles: tiles.into(), ..self }
    }

    /// A guided schedule: `tail_tiles` tiles in each chunk after the first `full_chunks` ones.
    pub fn guided(self, full_chunks: impl Into<Number>, tail_tiles: impl Into<Number>) -> Self {
        FlattenRagged { full_chunks: full_chunks.into(), tail_tiles: tail_tiles.into(), ..self }
    }

    /// The older name of [`Self::guided`].
    #[doc(hidden)]
    pub fn shorter(self, full_chunks: impl Into<Number>, tail_tiles: impl Into<Number>) -> Self {
        self.guided(full_chunks, tail_tiles)
    }
}

impl TextForm for FlattenRagged {
    fn read(args: &mut Args<'_>) -> Result<Self, Diagnostic> {
        let segment: Name = args.next("the iname of the segments")?;
        let point: Name = args.next("the iname of their points")?;
        let mut step = FlattenRagged::new(segment, point);
        let numbers = [
            ("threads", &mut step.threads),
            ("items", &mut step.items),
            ("tiles", &mut step.tiles),
            ("full_chunks", &mut step.full_chunks),
            ("tail_tiles", &mut step.tail_tiles),
        ];
        for (key, number) in numbers {
            for key in older_names::keys("flatten_ragged", key) {
                if let Some(given) = args.option(key)? {
                    *number = given;
                }
            }
        }
        Ok(step)
    }

    fn arguments(&self) -> Vec<String> {
        let mut texts = vec![self.segment.text(), self.point.text()];
        let always = [("threads", &self.threads), ("items", &self.items), ("tiles", &self.tiles)];
        texts.extend(always.map(|(key, number)| keyed(key, number)));
        if (&self.full_chunks, &self.tail_tiles) != (&Number::Known(0), &Number::Known(0)) {
            let guided = [("full_chunks", &self.full_chunks), ("tail_tiles", &self.tail_tiles)];
            texts.extend(guided.map(|(key, number)| keyed(key, number)));
        }
        texts
    }

    fn numbers(&mut self) -> Vec<&mut Number> {
        vec![&mut self.threads, &mut self.items, &mut self.tiles, &mut self.full_chunks, &mut self.tail_tiles]
    }
}

impl Transform for FlattenRagged {
    fn apply(&self, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
        let (s, i) = (&self.segment, &self.point);
        for iname in [s, i] {
            require_iname(kernel, iname)?;
            require_untagged(kernel, iname, "flattened")?;
        }
        let nest = match flat_nest(kernel, s) {
            Err(_) if flat_nest(kernel, i).is_ok_and(|n| n.point == *s) => {
                return Err(Diagnostic::new(
                    "not-ragged",
                    format!("`{i}` are the segments, and `{s}` their points"),
                )
                .help(format!("list the segments first: `flatten_ragged({i}, {s})`")));
            }
            found => found?,
        };
        if nest.point != *i {
            return Err(Diagnostic::new(
                "not-ragged",
                format!("the loop inside the one over `{s}` is over `{}`, not over `{i}`", nest.point),
            )
            .help(format!("`flatten_ragged({s}, {})`", nest.point)));
        }
        let number = |n: &Number| -> Result<u16, Diagnostic> {
            let value = n.value()?.clamp(0, u16::MAX.into());
            Ok(u16::try_from(value).unwrap_or(u16::MAX))
        };
        let full_chunks =
            u32::try_from(self.full_chunks.value()?.clamp(0, u32::MAX.into())).unwrap_or(u32::MAX);
        let tail = Tail { full_chunks, tiles: number(&self.tail_tiles)? };
        let flat = Flat {
            threads: number(&self.threads)?,
            items: number(&self.items)?,
            tiles: number(&self.tiles)?,
            tail: Some(tail).filter(|t| (t.full_chunks, t.tiles) != (0, 0)),
        };
        if let Some(wrong) = flat.wrong() {
            let tail = match flat.tail {
                Some(_) => format!(", {} after {} full chunks", self.tail_tiles, self.full_chunks),
                None => String::new(),
            };
            return Err(Diagnostic::new(
                "step-arguments",
                format!(
                    "{} threads, {} items and {} tiles{tail} are not possible: {wrong}",
                    self.threads, self.items, self.tiles
                ),
            )
            .help(match flat.tail {
                Some(_) => "give both `full_chunks` and `tail_tiles` (tiles in each later chunk, \
                            at most `tiles`), or neither"
                    .to_owned(),
                None => format!(
                    "the defaults of `flatten_ragged({s}, {i})` are 128 threads, 16 items and 16 \
                     tiles"
                ),
            }));
        }
        kernel.edit(|data| {
            data.flat.insert(s.clone(), flat);
            Ok(())
        })
    }

    fn judgement(&self, _before: &LoopKernel) -> Judgement {
        Judgement::Theorem(
            "monotone offsets assign each step to one segment, segments are independent, and \
             partial results of one are joined in order",
        )
    }
}
