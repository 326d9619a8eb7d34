//! Tags: what an iname is mapped to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Diagnostic, Dim, HardwareAxis};

/// What an iname is mapped to. An iname with a parallel tag is a coordinate of an execution, not a
/// loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tag {
    /// A loop in the thread: what an iname without a tag is.
    Seq,
    /// A loop of constant length that is unrolled; the order of iterations is kept.
    Unroll,
    /// A loop in the thread, written as several loops where conditions inside of it hold for some
    /// of its iterations only: those for which all of them hold come in a loop of their own.
    Partition,
    /// Lanes of one thread, constant in number: all lanes of one statement run before the next
    /// statement (unroll and jam). Private temporaries get a copy for each lane.
    Ilp,
    /// As [`Tag::Ilp`], and accesses whose neighbours in memory are neighbouring lanes become
    /// vector loads and stores.
    Vec,
    /// The blocks along a dimension of the grid.
    Block(Dim),
    /// The threads along a dimension of the block.
    Thread(Dim),
    /// Warps of a block: the threads' y axis, with full warps along x.
    Warp,
    /// Lanes of a warp: the threads' x axis. Their number is a power of two, at least 2 and at most
    /// the threads of a warp.
    Lane,
    /// A loop on the host that launches kernels.
    Host,
    /// A loop over segments of unequal length that is flattened with the loop over their points,
    /// as [`KernelData::flat`](crate::KernelData::flat) says.
    Flat,
}

impl Tag {
    /// All tags, each axis by itself.
    pub const ALL: [Tag; 15] = [
        Tag::Seq,
        Tag::Unroll,
        Tag::Partition,
        Tag::Ilp,
        Tag::Vec,
        Tag::Block(Dim::X),
        Tag::Block(Dim::Y),
        Tag::Block(Dim::Z),
        Tag::Thread(Dim::X),
        Tag::Thread(Dim::Y),
        Tag::Thread(Dim::Z),
        Tag::Warp,
        Tag::Lane,
        Tag::Host,
        Tag::Flat,
    ];

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
            | Tag::Partition
            | Tag::Block(_)
            | Tag::Thread(_)
            | Tag::Warp
            | Tag::Lane
            | Tag::Host
            | Tag::Flat => false,
        }
    }

    /// The axis of the hardware that its iterations are spread over.
    pub fn axis(self) -> Option<HardwareAxis> {
        match self {
            Tag::Block(dim) => Some(HardwareAxis::Grid(dim)),
            Tag::Thread(dim) => Some(HardwareAxis::Block(dim)),
            Tag::Lane => Some(HardwareAxis::Block(Dim::X)),
            Tag::Warp => Some(HardwareAxis::Block(Dim::Y)),
            Tag::Seq | Tag::Unroll | Tag::Partition | Tag::Ilp | Tag::Vec | Tag::Host | Tag::Flat => None,
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

    /// Whether the number of its iterations has to be known before the kernel runs: that of
    /// threads, lanes, and copies of a statement.
    pub fn has_constant_length(self) -> bool {
        self.is_in_block() || self.is_jam() || self == Tag::Unroll
    }

    /// The refusal of the tag for an iname without a constant bound on its length, where
    /// [`Tag::has_constant_length`].
    pub fn needs_constant_length(self, iname: &str) -> Diagnostic {
        Diagnostic::new(
            "not-constant-length",
            format!("`{iname}` cannot be tagged `{self}`: its length is not bounded by a constant"),
        )
        .help(format!(
            "split it first, as split_iname({iname}, 128), and tag the inner iname; or fix the \
             parameter"
        ))
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
            "partition" => Tag::Partition,
            "ilp" | "ilp.unr" => Tag::Ilp,
            "vec" => Tag::Vec,
            "warp" => Tag::Warp,
            "lane" => Tag::Lane,
            "host" => Tag::Host,
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
            Tag::Partition => f.write_str("partition"),
            Tag::Ilp => f.write_str("ilp"),
            Tag::Vec => f.write_str("vec"),
            Tag::Block(dim) => write!(f, "block.{dim}"),
            Tag::Thread(dim) => write!(f, "thread.{dim}"),
            Tag::Warp => f.write_str("warp"),
            Tag::Lane => f.write_str("lane"),
            Tag::Host => f.write_str("host"),
            Tag::Flat => f.write_str("flat"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tag;
    use crate::Dim;

    /// The place of a tag in [`Tag::ALL`].
    fn place(tag: Tag) -> usize {
        let axis = |dim: Dim| usize::from(u8::from(dim));
        match tag {
            Tag::Seq => 0,
            Tag::Unroll => 1,
            Tag::Partition => 2,
            Tag::Ilp => 3,
            Tag::Vec => 4,
            Tag::Block(dim) => 5 + axis(dim),
            Tag::Thread(dim) => 8 + axis(dim),
            Tag::Warp => 11,
            Tag::Lane => 12,
            Tag::Host => 13,
            Tag::Flat => 14,
        }
    }

    #[test]
    fn all_tags_are_listed_and_read_as_they_are_printed() {
        assert!(Tag::ALL.map(place).into_iter().eq(0..Tag::ALL.len()));
        for tag in Tag::ALL {
            // The text of a flattened loop has numbers besides, which `Flat` reads.
            let read = (tag != Tag::Flat).then_some(tag);
            assert_eq!(Tag::parse(&tag.to_string()), read, "{tag}");
        }
    }
}
