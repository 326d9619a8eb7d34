//! The steps as methods on a kernel.

use loopwright_kernel_ir::{AddressSpace, Diagnostic, LoopKernel, Name, Precision};

use crate::{
    AddPrefetch, AliasTemporaries, Assume, BufferArray, CacheStreaming, CacheWaves, ChunkIname, Distribute,
    DoubleBuffer, DuplicateInames, FixParameters, FuseLoops, JoinAtomically, JoinInames, Number,
    PadArrayAxis, Peel, Pipeline, Precompute, PrivatizeTemporary, RealizeScan, RenameIname, Reorder, Reverse,
    SaveReload, SetAddressSpace, SetPrecision, SplitIname, SplitReductionInward, SplitReductionOutward, Step,
    TagArrayAxes, TagInames, Tile, Together, Transform, UnprivatizeTemporary, Unroll, UntagInames,
};

/// Names as users write them: one text with commas, or a list.
pub trait IntoNames {
    /// The names.
    fn into_names(self) -> Vec<Name>;
}

impl IntoNames for &str {
    fn into_names(self) -> Vec<Name> {
        self.split(',').map(str::trim).filter(|t| !t.is_empty()).map(Name::new).collect()
    }
}

impl<const N: usize> IntoNames for [&str; N] {
    fn into_names(self) -> Vec<Name> {
        self.into_iter().map(Name::new).collect()
    }
}

impl IntoNames for &[Name] {
    fn into_names(self) -> Vec<Name> {
        self.to_vec()
    }
}

impl IntoNames for Vec<Name> {
    fn into_names(self) -> Vec<Name> {
        self
    }
}

/// The steps as methods of a kernel, each the same as applying the step's value.
pub trait Transforms: Sized {
    /// Any step.
    fn step(&self, step: impl Into<Step>) -> Result<Self, Diagnostic>;
    /// All steps of a pipeline.
    fn pipeline(&self, pipeline: &Pipeline) -> Result<Self, Diagnostic>;
    /// A user's own transform.
    fn transform(&self, transform: &dyn Transform) -> Result<Self, Diagnostic>;
    /// Several steps judged at their end.
    fn together(&self, steps: impl IntoIterator<Item = Step>) -> Result<Self, Diagnostic> {
        self.step(Together::new(steps))
    }
    /// See [`SplitIname`].
    fn split_iname(&self, iname: &str, length: impl Into<Number>) -> Result<Self, Diagnostic> {
        self.step(SplitIname::new(iname, length))
    }
    /// See [`SplitIname`].
    fn split_iname_as(
        &self,
        iname: &str,
        length: impl Into<Number>,
        outer: &str,
        inner: &str,
    ) -> Result<Self, Diagnostic> {
        self.step(SplitIname::new(iname, length).named(outer, inner))
    }
    /// See [`TagInames`]; `i_outer: block.x, i_inner: thread.x`.
    fn tag_inames(&self, tags: &str) -> Result<Self, Diagnostic> {
        self.step(TagInames::parse(tags)?)
    }
    /// See [`UntagInames`].
    fn untag_inames(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(UntagInames { inames: inames.into_names() })
    }
    /// See [`Reorder`].
    fn reorder(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(Reorder { inames: inames.into_names() })
    }
    /// See [`JoinInames`].
    fn join_inames(&self, inames: impl IntoNames, new: &str) -> Result<Self, Diagnostic> {
        self.step(JoinInames { inames: inames.into_names(), new: Some(Name::new(new)) })
    }
    /// See [`AddPrefetch`], which has options.
    fn add_prefetch(&self, array: &str, sweep: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(AddPrefetch::new(array, sweep.into_names()))
    }
    /// See [`Precompute`], which has options.
    fn precompute(&self, temporary: &str, sweep: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(Precompute::new(temporary, sweep.into_names()))
    }
    /// See [`Assume`]; `n >= 1 and n % 16 = 0`.
    fn assume(&self, constraints: &str) -> Result<Self, Diagnostic> {
        self.step(Assume::parse(constraints)?)
    }
    /// See [`crate::AssumeLegal`]: lets the next step pass though it is not known to be legal.
    fn assume_legal(&self, reason: &str) -> Result<Self, Diagnostic> {
        self.step(crate::AssumeLegal::new(reason))
    }
    /// See [`FixParameters`].
    fn fix_parameters<'a>(
        &self,
        values: impl IntoIterator<Item = (&'a str, i64)>,
    ) -> Result<Self, Diagnostic> {
        self.step(FixParameters::new(values))
    }
    /// See [`RenameIname`].
    fn rename_iname(&self, iname: &str, new: &str) -> Result<Self, Diagnostic> {
        self.step(RenameIname::new(iname, new))
    }
    /// See [`DuplicateInames`].
    fn duplicate_inames(
        &self,
        inames: impl IntoNames,
        instructions: impl IntoNames,
        new: impl IntoNames,
    ) -> Result<Self, Diagnostic> {
        self.step(DuplicateInames {
            inames: inames.into_names(),
            instructions: instructions.into_names(),
            new: new.into_names(),
        })
    }
    /// See [`SplitReductionInward`].
    fn split_reduction_inward(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(SplitReductionInward { inames: inames.into_names() })
    }
    /// See [`SplitReductionOutward`].
    fn split_reduction_outward(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(SplitReductionOutward { inames: inames.into_names() })
    }
    /// See [`SetAddressSpace`].
    fn set_address_space(&self, temporary: &str, space: AddressSpace) -> Result<Self, Diagnostic> {
        self.step(SetAddressSpace::new(temporary, space))
    }
    /// See [`SetAddressSpace`].
    fn make_global(&self, temporary: &str) -> Result<Self, Diagnostic> {
        self.set_address_space(temporary, AddressSpace::Global)
    }
    /// See [`CacheStreaming`].
    fn cache_streaming(&self, array: &str) -> Result<Self, Diagnostic> {
        self.step(CacheStreaming::new(array))
    }
    /// See [`CacheWaves`]; 8 windows a wave.
    fn cache_waves(&self, array: &str, window: i64) -> Result<Self, Diagnostic> {
        self.step(CacheWaves::new(array, window))
    }
    /// See [`JoinAtomically`].
    fn join_atomically(&self, instruction: &str) -> Result<Self, Diagnostic> {
        self.step(JoinAtomically::new(instruction))
    }
    /// See [`TagArrayAxes`]; `c`, `f`, or `N1, N0`.
    fn tag_array_axes(&self, array: &str, layout: &str) -> Result<Self, Diagnostic> {
        self.step(TagArrayAxes::parse(array, layout)?)
    }
    /// See [`PadArrayAxis`].
    fn pad_array_axis(&self, array: &str, axis: i64, by: impl Into<Number>) -> Result<Self, Diagnostic> {
        self.step(PadArrayAxis::new(array, axis, by))
    }
    /// See [`SetPrecision`].
    fn set_precision(&self, precision: Precision) -> Result<Self, Diagnostic> {
        self.step(SetPrecision::new(precision))
    }
    /// See [`Unroll`].
    fn unroll(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(Unroll { inames: inames.into_names() })
    }
    /// See [`MapDomain`](crate::MapDomain); `[t, i] -> [w, t], w = 2*t + i`.
    fn map_domain(&self, map: &str) -> Result<Self, Diagnostic> {
        self.step(Step::parse(&format!("map_domain({map})"))?)
    }
    /// See [`MapArray`](crate::MapArray); `[x, y] -> [y, x + y]`.
    fn map_array(&self, array: &str, map: &str) -> Result<Self, Diagnostic> {
        self.step(Step::parse(&format!("map_array({array}, {map})"))?)
    }
    /// See [`Reverse`].
    fn reverse(&self, iname: &str) -> Result<Self, Diagnostic> {
        self.step(Reverse::new(iname))
    }
    /// See [`Tile`].
    fn tile<'a, N: Into<Number>>(
        &self,
        tiles: impl IntoIterator<Item = (&'a str, N)>,
    ) -> Result<Self, Diagnostic> {
        self.step(Tile::new(tiles))
    }
    /// See [`IndexSetSplit`](crate::IndexSetSplit); a condition such as `i < k`.
    fn index_set_split(&self, iname: &str, condition: &str, suffix: &str) -> Result<Self, Diagnostic> {
        self.step(Step::parse(&format!("index_set_split({iname}, {condition}, suffix={suffix})"))?)
    }
    /// See [`Peel`].
    fn peel(
        &self,
        iname: &str,
        first: impl Into<Number>,
        last: impl Into<Number>,
    ) -> Result<Self, Diagnostic> {
        self.step(Peel::new(iname, first, last))
    }
    /// See [`Distribute`], which has options.
    fn distribute(&self, iname: &str) -> Result<Self, Diagnostic> {
        self.step(Distribute::new(iname))
    }
    /// See [`PrivatizeTemporary`].
    fn privatize_temporary(&self, temporary: &str, inames: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(PrivatizeTemporary::new(temporary, inames.into_names()))
    }
    /// See [`UnprivatizeTemporary`].
    fn unprivatize_temporary(&self, temporary: &str, axis: i64) -> Result<Self, Diagnostic> {
        self.step(UnprivatizeTemporary::new(temporary, axis))
    }
    /// See [`AliasTemporaries`].
    fn alias_temporaries(&self, temporaries: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(AliasTemporaries::new(temporaries.into_names()))
    }
    /// See [`BufferArray`], which has options.
    fn buffer_array(&self, array: &str, sweep: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(BufferArray::new(array, sweep.into_names()))
    }
    /// See [`DoubleBuffer`].
    fn double_buffer(&self, temporary: &str, iname: &str) -> Result<Self, Diagnostic> {
        self.step(DoubleBuffer::new(temporary, iname))
    }
    /// See [`ChunkIname`].
    fn chunk_iname(&self, iname: &str, chunks: impl Into<Number>) -> Result<Self, Diagnostic> {
        self.step(ChunkIname::new(iname, chunks))
    }
    /// See [`FuseMaximal`](crate::FuseMaximal).
    fn fuse_maximal(&self, inames: impl IntoNames) -> Result<Self, Diagnostic> {
        self.step(crate::FuseMaximal::new(inames.into_names()))
    }
    /// See [`SaveReload`].
    fn save_reload(&self, temporary: &str) -> Result<Self, Diagnostic> {
        self.step(SaveReload::new(temporary))
    }
    /// See [`RealizeScan`]: running totals along `sweep` in the place of reductions over `point`.
    fn realize_scan(&self, sweep: &str, point: &str) -> Result<Self, Diagnostic> {
        self.step(RealizeScan::new(sweep, point))
    }
    /// See [`FlattenRagged`](crate::FlattenRagged), which has options: segments of unequal length
    /// in pieces of equal work.
    fn flatten_ragged(&self, segment: &str, point: &str) -> Result<Self, Diagnostic> {
        self.step(crate::FlattenRagged::new(segment, point))
    }
    /// See [`FuseLoops`].
    fn fuse_loops(&self, inames: impl IntoNames, new: &str) -> Result<Self, Diagnostic> {
        self.step(FuseLoops::new(inames.into_names()).named(new))
    }
}

impl Transforms for LoopKernel {
    fn step(&self, step: impl Into<Step>) -> Result<Self, Diagnostic> {
        step.into().apply(self)
    }

    fn pipeline(&self, pipeline: &Pipeline) -> Result<Self, Diagnostic> {
        pipeline.apply(self)
    }

    fn transform(&self, transform: &dyn Transform) -> Result<Self, Diagnostic> {
        Ok(crate::judged::apply_judged(transform, false, self)?.kernel)
    }
}
