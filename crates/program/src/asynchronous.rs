//! Copies that proceed while the thread that issued them continues.
//!
//! The copies that a thread issues between two commits are a *group*. A wait lets the thread
//! continue once at most a given number of its youngest groups are under way: the copies of all
//! others have taken effect. A copy takes effect somewhere between its issue and the wait of its
//! own thread that covers it, and only that thread knows: others see it after a barrier that
//! follows the wait. Until then nothing may access the elements that are written, and nothing may
//! write those that are read.

use crate::{LeafId, MemRef, Note, Value};

/// A statement about asynchronous copies.
#[derive(Clone, Debug, PartialEq)]
pub enum Async {
    /// Issues a copy, which takes effect by the wait for its group.
    Copy(AsyncCopy),
    /// The copies since the last commit, if there are any, are a group.
    Commit,
    /// Waits until at most this number of the thread's youngest groups are under way.
    Wait {
        /// The number of groups that may stay under way; 0 waits for all of them.
        pending: u32,
        /// The copies that are waited for, and who reads what they bring.
        note: Note,
    },
}

/// A copy of neighbouring elements from global to shared memory.
#[derive(Clone, Debug, PartialEq)]
pub struct AsyncCopy {
    /// The first element written, of shared memory.
    pub to: MemRef,
    /// The first element read, of global memory and of the same type.
    pub from: MemRef,
    /// The number of elements: 4, 8 or 16 bytes together, to which both addresses are aligned.
    pub lanes: u8,
    /// Where this does not hold, nothing is read and zeros are written.
    pub when: Option<Value>,
    /// The leaf that it comes from, if it belongs to a part of an instruction.
    pub leaf: Option<LeafId>,
}

impl AsyncCopy {
    /// The sizes of copies in bytes.
    pub const BYTES: [usize; 3] = [4, 8, 16];
}
