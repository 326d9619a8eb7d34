//! Facts derived from a kernel before anything is decided: the instances and accesses of its parts,
//! their executors, and what nothing can order or deliver.

pub(crate) mod accumulate;
pub(crate) mod analysis;
pub(crate) mod arrays;
pub(crate) mod dead;
pub(crate) mod elect;
pub(crate) mod extents;
pub(crate) mod fragments;
pub(crate) mod lifetimes;
pub(crate) mod look_back;
pub(crate) mod names;
pub(crate) mod paths;
pub(crate) mod private;
pub(crate) mod ranges;
pub(crate) mod scan_order;
pub(crate) mod state;
pub(crate) mod tables;
pub(crate) mod via;
pub(crate) mod whole_boxes;
