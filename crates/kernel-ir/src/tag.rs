//! Tags: what an iname is mapped to.

use std::fmt;

use loopwright_target::Target;
use serde::{Deserialize, Serialize};

use crate::{Dim, HardwareAxis};

/// What an iname is mapped to. An iname with a parallel tag is a coordinate of an execution, not a
/// loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tag {
    /// A loop in the thread: what an iname without a tag is.
    Seq,
    /// A loop of constant length that is unrolled; the order of iterations is kept.
    Unroll,
    /// Lanes of one thread, constant in number: all lanes of one statement run before the next
    /// statement (unroll and jam). Private temporaries get a copy for each lane.
    Ilp,
    /// As [`Tag::Ilp`], and accesses whose neighbours in memory are neighbouring lanes become
    /// vector loads and stores.
    Vec,
    /// An axis of the grid.
    Block(Dim),
    /// An axis of the block.
    Thread(Dim),
    /// Warps of a block: the threads' y axis, with full warps along x.
    Warp,
    /// Lanes of a warp: the threads' x axis, with 2, 4, 8, 16 or 32 lanes.
    Lane,
    /// A loop on the host that launches kernels.
    Host,
    /// A loop over segments of unequal length, flattened with the loop over their points and cut
    /// into equal pieces, whatever the lengths.
    Flat(Flat),
}

/// How the steps of a flattened loop are distributed: a step is a point of a segment, or one of the
/// [`Flat::END_WEIGHT`] steps that the end of a segment counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flat {
    /// Threads per block; each warp processes one run.
    pub threads: u16,
    /// Points per thread and tile; a warp's tile has 32 times as many.
    pub items: u16,
    /// Tiles per run.
    pub tiles: u16,
    /// Shorter runs at the end, if any.
    pub shorter: Option<Shorter>,
}

/// Shorter runs after the first ones. Blocks take runs in order: the first runs fill the device,
/// and blocks that finish early take the short ones (guided self-scheduling: Polychronopoulos and
/// Kuck, 1987, here with two lengths).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shorter {
    /// Number of full-length runs.
    pub after: u32,
    /// Tiles per shorter run.
    pub tiles: u16,
}

impl Flat {
    /// Number of steps that the end of a segment counts for: about the cost of closing one, in
    /// points.
    pub const END_WEIGHT: u16 = 2;

    /// The least number of blocks that a multiprocessor has to have registers for: 32 warps with 64
    /// registers per thread, or 20 warps with about a hundred. There is none if a thread holds more
    /// than that leaves room for, judged by the bytes that it reads per point and those of a partial
    /// result. Left to itself, the compiler may use a few more registers, and a round then has fewer
    /// blocks than it was cut for.
    ///
    /// ```
    /// use loopwright_kernel_ir::Flat;
    /// use loopwright_target::Target;
    ///
    /// let of_items = |items| Flat { threads: 128, items, tiles: 8, shorter: None };
    /// let min_blocks = |items, point, state| of_items(items).min_blocks(&Target::cuda(), point, state);
    /// assert_eq!(min_blocks(16, 4, 4), Some(8));
    /// assert_eq!(min_blocks(32, 4, 4), Some(5));
    /// // Points of 8 bytes, and a partial result of 8 bytes.
    /// assert_eq!(min_blocks(32, 8, 4), None);
    /// assert_eq!(min_blocks(16, 4, 8), None);
    /// ```
    pub fn min_blocks(self, target: &Target, point: usize, state: usize) -> Option<u32> {
        let bytes = point * usize::from(self.items);
        if state > 4 || bytes > 128 {
            return None;
        }
        let registers = if bytes <= 64 { 64 } else { 102 };
        let warps = target.registers / registers / target.warp_size;
        Some(warps * target.warp_size / u32::from(self.threads)).filter(|blocks| *blocks > 0)
    }

    /// What is wrong with the numbers, if anything.
    pub fn wrong(self) -> Option<String> {
        self.wrong_for(&Target::default())
    }

    /// As [`Self::wrong`], of a target.
    pub fn wrong_for(self, target: &Target) -> Option<String> {
        let (warp, most) = (target.warp_size, target.most_threads);
        let threads = u32::from(self.threads);
        if !threads.is_multiple_of(warp) || !(warp..=most).contains(&threads) {
            return Some(format!("threads are a multiple of {warp}, from {warp} to {most}"));
        }
        self.wrong_of_any(target).map(String::from)
    }

    fn wrong_of_any(self, target: &Target) -> Option<&'static str> {
        if !matches!(self.items, 8 | 16 | 32) {
            return Some("a thread takes 8, 16 or 32 items of a tile");
        }
        if self.tiles == 0 || self.shorter.is_some_and(|s| s.tiles == 0) {
            return Some("a warp goes through at least one tile");
        }
        let shorter = self.shorter?;
        if shorter.after == 0 || shorter.tiles > self.tiles {
            return Some("behind at least one run, the others are shorter");
        }
        let first = u64::from(shorter.after)
            * u64::from(self.tiles)
            * u64::from(self.items)
            * u64::from(target.warp_size);
        (first > i32::MAX as u64).then_some("the first runs have 2^31 steps or more")
    }
}

impl fmt::Display for Flat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flat_{}x{}x{}", self.threads, self.items, self.tiles)?;
        match self.shorter {
            Some(Shorter { after, tiles }) => write!(f, "_{after}x{tiles}"),
            None => Ok(()),
        }
    }
}

impl Tag {
    /// Whether an iname of this tag is a coordinate rather than a loop.
    pub fn is_parallel(self) -> bool {
        self.is_hardware() || self.is_jam()
    }

    /// Whether its iterations run in different threads (of one block or of several).
    pub fn is_hardware(self) -> bool {
        self.axis().is_some()
    }

    /// Whether its iterations are lanes of one thread.
    pub fn is_jam(self) -> bool {
        match self {
            Tag::Ilp | Tag::Vec => true,
            Tag::Seq
            | Tag::Unroll
            | Tag::Block(_)
            | Tag::Thread(_)
            | Tag::Warp
            | Tag::Lane
            | Tag::Host
            | Tag::Flat(_) => false,
        }
    }

    /// The axis of the hardware that its iterations are spread over.
    pub fn axis(self) -> Option<HardwareAxis> {
        match self {
            Tag::Block(dim) => Some(HardwareAxis::Grid(dim)),
            Tag::Thread(dim) => Some(HardwareAxis::Block(dim)),
            Tag::Lane => Some(HardwareAxis::Block(Dim::X)),
            Tag::Warp => Some(HardwareAxis::Block(Dim::Y)),
            Tag::Seq | Tag::Unroll | Tag::Ilp | Tag::Vec | Tag::Host | Tag::Flat(_) => None,
        }
    }

    /// Whether its iterations run in different threads of one block.
    pub fn is_in_block(self) -> bool {
        self.axis().is_some_and(HardwareAxis::is_in_block)
    }

    /// Whether its iterations run in different blocks.
    pub fn is_over_blocks(self) -> bool {
        self.axis().is_some_and(|axis| !axis.is_in_block())
    }

    /// Whether the number of its iterations has to be known before the kernel runs: that of threads,
    /// lanes, and copies of a statement.
    pub fn has_constant_length(self) -> bool {
        self.is_in_block() || self.is_jam() || self == Tag::Unroll
    }

    /// The tag of a text: ours or loopy's (`g.0`, `l.1`, `unr`, `for`).
    pub fn parse(text: &str) -> Option<Tag> {
        let axis = |t: &str| match t {
            "x" | "0" => Some(Dim::X),
            "y" | "1" => Some(Dim::Y),
            "z" | "2" => Some(Dim::Z),
            _ => None,
        };
        Some(match text {
            "seq" | "for" => Tag::Seq,
            "unroll" | "unr" => Tag::Unroll,
            "ilp" | "ilp.unr" => Tag::Ilp,
            "vec" => Tag::Vec,
            "warp" => Tag::Warp,
            "lane" => Tag::Lane,
            "host" => Tag::Host,
            _ if text.starts_with("flat_") => {
                let all = text.strip_prefix("flat_")?;
                let (first, behind) = all.split_once('_').map_or((all, None), |(a, b)| (a, Some(b)));
                let mut numbers = first.split('x');
                let mut number = || numbers.next()?.parse().ok();
                let (threads, items, tiles) = (number()?, number()?, number()?);
                let shorter = match behind {
                    Some(behind) => {
                        let (after, tiles) = behind.split_once('x')?;
                        Some(Shorter { after: after.parse().ok()?, tiles: tiles.parse().ok()? })
                    }
                    None => None,
                };
                let flat = Flat { threads, items, tiles, shorter };
                // One spelling only: no sign, no leading zero, no trailing text.
                return (flat.to_string() == text).then_some(Tag::Flat(flat));
            }
            _ => {
                let (kind, rest) = text.split_once('.')?;
                match kind {
                    "block" | "g" => Tag::Block(axis(rest)?),
                    "thread" | "l" => Tag::Thread(axis(rest)?),
                    _ => return None,
                }
            }
        })
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tag::Seq => f.write_str("seq"),
            Tag::Unroll => f.write_str("unroll"),
            Tag::Ilp => f.write_str("ilp"),
            Tag::Vec => f.write_str("vec"),
            Tag::Block(dim) => write!(f, "block.{dim}"),
            Tag::Thread(dim) => write!(f, "thread.{dim}"),
            Tag::Warp => f.write_str("warp"),
            Tag::Lane => f.write_str("lane"),
            Tag::Host => f.write_str("host"),
            Tag::Flat(flat) => write!(f, "{flat}"),
        }
    }
}
