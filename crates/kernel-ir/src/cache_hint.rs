//! Hints to the caches about an array in global memory. No hint changes a value.

use std::fmt;

use loopwright_target::Target;
use serde::{Deserialize, Serialize};

/// A hint to the caches about the accesses to an array in global memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheHint {
    /// Loads and stores are evict-first, because each element is touched once.
    Streaming,
    /// Stores are grouped into waves. Of a streaming array, that leaves its loads evict-first.
    Waves(Waves),
}

/// Stores in waves. A wave consists of windows of consecutive elements in storage; the L2 cache
/// keeps all windows but the last, and evicts them when the last one is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Waves {
    /// Elements per window: a positive multiple of 128, the bytes of a line of the cache
    /// ([`Target::line`]).
    pub window: u32,
    /// Windows per wave: 2 to 64.
    pub windows: u8,
}

impl Waves {
    /// The error in the numbers, if any.
    pub fn wrong(self) -> Option<String> {
        // A window is whole lines of the cache, also where elements have one byte.
        let line = Target::default().line;
        if self.window == 0 || !self.window.is_multiple_of(line) {
            return Some(format!("the number of elements of a window has to be a multiple of {line}"));
        }
        if !(2..=64).contains(&self.windows) {
            return Some("a wave has to have 2 to 64 windows".into());
        }
        let all = u64::from(self.window) * u64::from(self.windows);
        (all > i32::MAX as u64).then(|| "a wave has to have fewer than 2^31 elements".into())
    }
}

/// The hints of an array: at most one of each kind, in the order of the kinds.
///
/// ```
/// use loopwright_kernel_ir::{CacheHint, CacheHints, Waves};
///
/// let mut hints = CacheHints::default();
/// hints.add(CacheHint::Waves(Waves { window: 128, windows: 8 }));
/// hints.add(CacheHint::Streaming);
/// hints.add(CacheHint::Waves(Waves { window: 256, windows: 8 }));
/// assert_eq!(hints.to_string(), "streaming waves(256, 8)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CacheHints(Vec<CacheHint>);

impl CacheHints {
    /// Adds a hint, replacing any of the same kind.
    pub fn add(&mut self, hint: CacheHint) {
        let kind = std::mem::discriminant(&hint);
        self.0.retain(|other| std::mem::discriminant(other) != kind);
        self.0.push(hint);
        self.0.sort_unstable();
    }

    /// Whether there is no hint.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether accesses are evict-first, apart from stores in waves.
    pub fn streaming(&self) -> bool {
        self.0.contains(&CacheHint::Streaming)
    }

    /// The grouping of stores into waves, if any.
    pub fn waves(&self) -> Option<Waves> {
        self.0.iter().find_map(|hint| match hint {
            CacheHint::Waves(waves) => Some(*waves),
            CacheHint::Streaming => None,
        })
    }
}

impl fmt::Display for CacheHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CacheHint::Streaming => f.write_str("streaming"),
            CacheHint::Waves(Waves { window, windows }) => write!(f, "waves({window}, {windows})"),
        }
    }
}

/// The hints in their text form, separated by spaces.
impl fmt::Display for CacheHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, hint) in self.0.iter().enumerate() {
            write!(f, "{}{hint}", if k == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}
