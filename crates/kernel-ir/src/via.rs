//! How an instruction's values get to memory. Whichever way is taken, the values that it writes are
//! the same.

use serde::{Deserialize, Serialize};

/// The way of an instruction's values to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// Through registers: a load, then a store.
    #[default]
    Plain,
    /// Asynchronously, from global to shared memory. The copy is under way until the thread that
    /// issued it waits for it, while the thread continues.
    #[serde(rename = "cp_async")]
    Asynchronous,
    /// From the registers of a warp to shared memory by matrices of eight rows, whose addresses
    /// lanes give each other.
    #[serde(rename = "stmatrix")]
    Matrices,
}

impl Via {
    /// All ways, with their keywords in texts, as in `{id=a_fetch, via=cp_async}`.
    pub const WORDS: [(Via, &'static str); 3] =
        [(Via::Plain, "plain"), (Via::Asynchronous, "cp_async"), (Via::Matrices, "stmatrix")];

    /// The ways of a copy.
    pub const COPIES: [Via; 2] = [Via::Plain, Via::Asynchronous];

    /// The keyword in texts: `plain`, `cp_async` or `stmatrix`.
    pub fn word(self) -> &'static str {
        Via::WORDS.iter().find(|(via, _)| *via == self).map_or("plain", |(_, word)| word)
    }

    /// The way with this keyword.
    pub fn of_word(word: &str) -> Option<Via> {
        Via::WORDS.iter().find(|(_, known)| *known == word).map(|(via, _)| *via)
    }

    /// Whether the copy proceeds while the thread that issued it continues.
    pub fn is_asynchronous(self) -> bool {
        self == Via::Asynchronous
    }

    /// Whether it is the default, which texts leave out.
    pub fn is_plain(&self) -> bool {
        *self == Via::Plain
    }
}
