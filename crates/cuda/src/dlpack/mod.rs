//! Arrays that change hands between libraries without a copy, by the structures of
//! [DLPack](https://dmlc.github.io/dlpack/latest/).
//!
//! A [`Shared`] array is memory with a description and an owner. It comes from another library
//! ([`Shared::from_raw`], [`Shared::from_raw_versioned`]) or from this process ([`Shared::lend`]),
//! and goes to another library as either structure ([`Shared::into_raw`],
//! [`Shared::into_raw_versioned`]). Whoever holds the structure calls its deleter once; a `Shared`
//! that goes nowhere does so when it is dropped.
//!
//! Strides are in elements, by the convention. The structures say nothing about when the memory is
//! ready: Python's protocol passes a stream beside them, and so must the callers of this module.

mod shared;
mod structures;

pub use shared::{Description, Shared};
pub use structures::{ElementType, Place, RawManaged, RawTensor, RawVersioned};
