//! The scope of an update: among whose accesses nothing comes between its read and its write.

use serde::{Deserialize, Serialize};

/// Among whom an update of an element is one step. Scopes are ordered by what they contain.
///
/// The scope of a kernel's updates is the device, which is right for any kernel: blocks of one
/// launch may run at the same time. A block's is narrower, and enough where no two blocks of a
/// launch update one element; lowering and the final check refuse it elsewhere (`update-scope`).
/// The system's is wider: the array may be updated by the host or by other devices while the
/// kernel runs, as in memory that all of them map. That is a property of the caller's array, which
/// no proof about the kernel finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateScope {
    /// The threads of a block.
    Block,
    /// All threads of the device.
    #[default]
    Device,
    /// All that can access the memory: the device, other devices, and the host.
    System,
}

impl UpdateScope {
    /// All scopes, with their words in texts, as in `{scope=block}`.
    pub const WORDS: [(UpdateScope, &'static str); 3] =
        [(UpdateScope::Block, "block"), (UpdateScope::Device, "device"), (UpdateScope::System, "system")];

    /// Its word in texts.
    pub fn word(self) -> &'static str {
        UpdateScope::WORDS.iter().find(|(scope, _)| *scope == self).map_or("device", |(_, word)| word)
    }

    /// The scope with this word.
    pub fn of_word(word: &str) -> Option<UpdateScope> {
        UpdateScope::WORDS.iter().find(|(_, known)| *known == word).map(|(scope, _)| *scope)
    }

    /// Whether it is that of updates which say none.
    pub fn is_device(&self) -> bool {
        *self == UpdateScope::Device
    }
}
