//! What follows from a kernel before anything is decided: what its parts run for and access, who
//! runs them, and what nothing can order.

pub(crate) mod accumulate;
pub(crate) mod analysis;
pub(crate) mod arrays;
pub(crate) mod dead;
pub(crate) mod depend;
pub(crate) mod elect;
pub(crate) mod names;
pub(crate) mod paths;
pub(crate) mod private;
pub(crate) mod race;
pub(crate) mod ranges;
pub(crate) mod scan_order;
