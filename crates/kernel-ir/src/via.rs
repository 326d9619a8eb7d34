//! How a copy moves its elements. Whichever way is taken, a copy is a copy: the value that it
//! writes is the same.

use serde::{Deserialize, Serialize};

/// The way of a copy's elements from memory to memory.
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
}

impl Via {
    /// All ways, with their keywords in texts, as in `{id=a_fetch, via=cp_async}`.
    pub const WORDS: [(Via, &'static str); 2] = [(Via::Plain, "plain"), (Via::Asynchronous, "cp_async")];

    /// The keyword in texts: `plain` or `cp_async`.
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
