//! Exchange of arrays between libraries without copies, by the structures of
//! [DLPack](https://dmlc.github.io/dlpack/latest/).
//!
//! A [`Shared`] array is memory with a description and an owner. It comes from another library
//! ([`Shared::from_raw`], [`Shared::from_raw_versioned`]) or from this process ([`Shared::lend`]),
//! and goes to another library as either structure ([`Shared::into_raw`],
//! [`Shared::into_raw_versioned`]). The holder of the structure calls its deleter once; a `Shared`
//! that is not passed on does so when it is dropped.
//!
//! Strides are in elements, by the convention. The structures do not say when the memory is ready:
//! Python's protocol passes a stream alongside, and callers of this module have to do the same.

mod shared;
mod structures;

pub use shared::{Description, Shared};
pub use structures::{ElementType, Place, RawManaged, RawTensor, RawVersioned};
