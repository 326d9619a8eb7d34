//! Which write a read sees, by isl's dataflow analysis.
//!
//! Each access is a map of its own tuple (`r0`, `r1`, ... and `w0`, `w1`, ...) to the cells of one
//! array, and one of it to times. isl finds for each read the last write of its cell before it.

use std::{ffi::CString, rc::Rc};

use super::{
    context::{Context, Handle},
    ffi::{self, Ptr},
    map::{IslMap, Shape, space},
};
use crate::{Error, Result, isl::Disjunct};

/// An access: its cells and its times, as relations from its dimensions.
pub(crate) struct IslAccess {
    pub(crate) dims: usize,
    pub(crate) cells: Disjunct,
    pub(crate) times: Disjunct,
}

/// For each read: for each write the pairs `write -> read`, and the pairs `read -> cell` of reads
/// that are in none of these.
pub(crate) type IslFlow = Vec<(Vec<IslMap>, IslMap)>;

fn name(kind: char, number: usize) -> Result<CString> {
    CString::new(format!("{kind}{number}")).map_err(|e| Error::Isl(e.to_string()))
}

struct Asked {
    context: Rc<Context>,
    params: usize,
    cell: usize,
    time: usize,
}

impl Asked {
    /// The union of one map for each access, from its named tuple to the cells or the times.
    fn union(&self, kind: char, accesses: &[IslAccess], times: bool) -> Result<Option<Handle>> {
        let mut union: Option<Handle> = None;
        for (k, access) in accesses.iter().enumerate() {
            let named = self.named((kind, k), (if times { 't' } else { 'a' }, 0), access, times)?;
            // SAFETY: the map is alive and given away.
            let named = unsafe { ffi::isl_union_map_from_map(named.give()) };
            let named = Handle::take(&self.context, named, ffi::isl_union_map_free)?;
            union = Some(match union {
                None => named,
                // SAFETY: both are alive and of one context, and are given away.
                Some(before) => Handle::take(
                    &self.context,
                    unsafe { ffi::isl_union_map_union(before.give(), named.give()) },
                    ffi::isl_union_map_free,
                )?,
            });
        }
        Ok(union)
    }

    /// The map of an access to its cells or its times, between named tuples.
    fn named(
        &self,
        tuple: (char, usize),
        array: (char, usize),
        access: &IslAccess,
        times: bool,
    ) -> Result<Handle> {
        let outs = if times { self.time } else { self.cell };
        let shape = Shape { params: self.params, ins: access.dims, outs };
        let rows = if times { &access.times } else { &access.cells };
        let map = IslMap::within(&self.context, shape, std::slice::from_ref(rows))?.into_handle();
        let (tuple, array) = (name(tuple.0, tuple.1)?, name(array.0, array.1)?);
        // SAFETY: the map is alive and given away each time; names are copied.
        let named = unsafe {
            let map = ffi::isl_map_set_tuple_name(map.give(), ffi::DIM_IN, tuple.as_ptr());
            ffi::isl_map_set_tuple_name(map, ffi::DIM_OUT, array.as_ptr())
        };
        Handle::take(&self.context, named, ffi::isl_map_free)
    }

    /// The part of a union between two named tuples.
    fn extract(
        &self,
        union: &Handle,
        from: (char, usize, usize),
        to: (char, usize, usize),
    ) -> Result<IslMap> {
        let shape = Shape { params: self.params, ins: from.2, outs: to.2 };
        let (a, b) = (name(from.0, from.1)?, name(to.0, to.1)?);
        let plain = space(&self.context, shape)?;
        // SAFETY: the space is given away each time; the union is alive and kept; names are copied.
        let map = unsafe {
            let named = ffi::isl_space_set_tuple_name(plain, ffi::DIM_IN, a.as_ptr());
            let named = ffi::isl_space_set_tuple_name(named, ffi::DIM_OUT, b.as_ptr());
            ffi::isl_union_map_extract_map(union.keep(), named)
        };
        let map = Handle::take(&self.context, map, ffi::isl_map_free)?;
        Ok(IslMap::of(map, shape))
    }
}

/// Asks isl for the dataflow: for each read, the writes that it sees.
pub(crate) fn flow(
    params: usize,
    cell: usize,
    time: usize,
    reads: &[IslAccess],
    writes: &[IslAccess],
) -> Result<IslFlow> {
    let context = Context::start()?;
    let asked = Asked { context: context.clone(), params, cell, time };
    let Some(sink) = asked.union('r', reads, false)? else { return Ok(Vec::new()) };
    let Some(read_times) = asked.union('r', reads, true)? else { return Ok(Vec::new()) };
    let source = asked.union('w', writes, false)?;
    let schedule = match asked.union('w', writes, true)? {
        None => read_times,
        // SAFETY: both are alive and of one context, and are given away.
        Some(times) => Handle::take(
            &context,
            unsafe { ffi::isl_union_map_union(read_times.give(), times.give()) },
            ffi::isl_union_map_free,
        )?,
    };
    // SAFETY: everything is alive and of one context, and given away; null passes through isl's
    // calls.
    let flow = unsafe {
        let mut info: Ptr = ffi::isl_union_access_info_from_sink(sink.give());
        if let Some(source) = source {
            info = ffi::isl_union_access_info_set_must_source(info, source.give());
        }
        info = ffi::isl_union_access_info_set_schedule_map(info, schedule.give());
        ffi::isl_union_access_info_compute_flow(info)
    };
    let flow = Handle::take(&context, flow, ffi::isl_union_flow_free)?;
    // SAFETY: the flow is alive and kept.
    let pairs = unsafe { ffi::isl_union_flow_get_must_dependence(flow.keep()) };
    let pairs = Handle::take(&context, pairs, ffi::isl_union_map_free)?;
    let mut answer = Vec::with_capacity(reads.len());
    for (k, read) in reads.iter().enumerate() {
        let mut sources = Vec::with_capacity(writes.len());
        for (l, write) in writes.iter().enumerate() {
            sources.push(asked.extract(&pairs, ('w', l, write.dims), ('r', k, read.dims))?);
        }
        let mut none = asked.named(('r', k), ('a', 0), read, false)?;
        for (l, write) in writes.iter().enumerate() {
            let seen = asked.extract(&pairs, ('w', l, write.dims), ('r', k, read.dims))?.into_handle();
            // SAFETY: both are alive and of one context, and are given away.
            let rest = unsafe { ffi::isl_map_subtract_domain(none.give(), ffi::isl_map_range(seen.give())) };
            none = Handle::take(&context, rest, ffi::isl_map_free)?;
        }
        let shape = Shape { params, ins: read.dims, outs: cell };
        answer.push((sources, IslMap::of(none, shape)));
    }
    Ok(answer)
}
