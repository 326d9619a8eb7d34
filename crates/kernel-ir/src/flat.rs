//! Loops over segments of unequal length that are flattened with the loops over their points: how
//! the work is distributed. `loopwright_legality::flat` describes the nests and why flattening them
//! is legal; the folder `flat` of lowering generates their code.

use std::{collections::BTreeSet, fmt};

use loopwright_poly::Name;
use loopwright_target::Target;
use serde::{Deserialize, Serialize};

use crate::{Diagnostic, KernelData, Tag};

/// How the steps of a flattened loop are distributed: a step is a point of a segment, or one of the
/// [`Flat::END_WEIGHT`] steps that the end of a segment counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Flat {
    /// Threads per block; each warp processes one chunk.
    pub threads: u16,
    /// Points per thread and tile; a warp's tile has as many for each of its threads.
    pub items: u16,
    /// Tiles per chunk, at least 1; a chunk is the work of one warp.
    pub tiles: u16,
    /// Smaller chunks at the end, if any.
    #[serde(alias = "shorter")]
    pub tail: Option<Tail>,
}

/// A guided schedule with two sizes of chunks. Blocks take chunks in order: full ones fill the
/// device, and blocks that finish early take the smaller ones of the tail (guided self-scheduling:
/// Polychronopoulos and Kuck, 1987; OpenMP's `schedule(guided)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tail {
    /// Number of chunks of full size.
    #[serde(alias = "after")]
    pub full_chunks: u32,
    /// Tiles per chunk of the tail.
    pub tiles: u16,
}

impl Flat {
    /// Number of steps that the end of a segment counts for: about the cost of closing one, in
    /// points.
    pub const END_WEIGHT: u16 = 2;

    /// The error in the numbers, if any.
    pub fn wrong(self) -> Option<String> {
        self.wrong_for(&Target::default())
    }

    /// As [`Self::wrong`], for a target.
    pub fn wrong_for(self, target: &Target) -> Option<String> {
        let (warp, most) = (target.warp_size, target.most_threads);
        let threads = u32::from(self.threads);
        if !threads.is_multiple_of(warp) || !(warp..=most).contains(&threads) {
            return Some(format!(
                "the number of threads has to be a multiple of {warp}, from {warp} to {most}"
            ));
        }
        self.wrong_of_any(target).map(String::from)
    }

    fn wrong_of_any(self, target: &Target) -> Option<&'static str> {
        if !matches!(self.items, 8 | 16 | 32) {
            return Some("the number of items per thread and tile has to be 8, 16 or 32");
        }
        if self.tiles == 0 || self.tail.is_some_and(|s| s.tiles == 0) {
            return Some("a chunk needs at least one tile");
        }
        let tail = self.tail?;
        if tail.full_chunks == 0 || tail.tiles > self.tiles {
            return Some(
                "at least one chunk has to have full size, and those of the tail must not be \
                 larger",
            );
        }
        let first = u64::from(tail.full_chunks)
            * u64::from(self.tiles)
            * u64::from(self.items)
            * u64::from(target.warp_size);
        (first > i32::MAX as u64).then_some("the full chunks have to have fewer than 2^31 steps")
    }

    /// The numbers of a text as `flat_128x16x16` or `flat_128x16x172_4224x11`: threads, items and
    /// tiles, then the number of full chunks and the tiles of those of the tail. One spelling
    /// only: no sign, no leading zero, no trailing text.
    pub fn parse(text: &str) -> Option<Flat> {
        let all = text.strip_prefix("flat_")?;
        let (full, tail) = all.split_once('_').map_or((all, None), |(a, b)| (a, Some(b)));
        let mut numbers = full.split('x');
        let mut number = || numbers.next()?.parse().ok();
        let (threads, items, tiles) = (number()?, number()?, number()?);
        let tail = match tail {
            Some(tail) => {
                let (full_chunks, tiles) = tail.split_once('x')?;
                Some(Tail { full_chunks: full_chunks.parse().ok()?, tiles: tiles.parse().ok()? })
            }
            None => None,
        };
        let flat = Flat { threads, items, tiles, tail };
        (flat.to_string() == text).then_some(flat)
    }
}

impl fmt::Display for Flat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flat_{}x{}x{}", self.threads, self.items, self.tiles)?;
        match self.tail {
            Some(Tail { full_chunks, tiles }) => write!(f, "_{full_chunks}x{tiles}"),
            None => Ok(()),
        }
    }
}

/// A tag as a text has it, with the numbers of a flattened loop.
pub(crate) enum Tagged {
    Tag(Tag),
    Flat(Flat),
}

impl Tagged {
    pub fn parse(text: &str) -> Option<Tagged> {
        let flat = || Flat::parse(text).map(Tagged::Flat);
        Tag::parse(text).map(Tagged::Tag).or_else(flat)
    }
}

impl KernelData {
    /// Gives an iname that has no tag this one.
    pub(crate) fn set_tag(&mut self, iname: &Name, tag: Tagged) {
        match tag {
            Tagged::Tag(tag) => drop(self.tags.insert(iname.clone(), tag)),
            Tagged::Flat(flat) => drop(self.flat.insert(iname.clone(), flat)),
        }
    }

    /// What is wrong with the numbers of an iname's flattened loop, if it is one.
    pub(crate) fn wrong_flat(&self, iname: &str) -> Option<Diagnostic> {
        let flat = self.flat.get(iname)?;
        let wrong = flat.wrong()?;
        let d = Diagnostic::new("wrong-tag", format!("`{iname}` is tagged {flat}, but {wrong}"));
        Some(d.help("write `flatten_ragged(s, i, threads=128, items=16, tiles=16)`"))
    }

    /// The tag of an iname in its text form, with the numbers of a flattened loop.
    pub fn tag_text(&self, iname: &str) -> String {
        match self.flat.get(iname) {
            Some(flat) => flat.to_string(),
            None => self.tag(iname).to_string(),
        }
    }

    /// The inames that have a tag, those of flattened loops included.
    pub fn tagged(&self) -> BTreeSet<&Name> {
        self.tags.keys().chain(self.flat.keys()).collect()
    }

    /// Whether an iname has a tag, or is that of a flattened loop.
    pub fn is_tagged(&self, iname: &str) -> bool {
        self.tags.contains_key(iname) || self.flat.contains_key(iname)
    }

    /// Removes the tags of the inames that are not kept.
    pub fn retain_tags(&mut self, keep: impl Fn(&Name) -> bool) {
        self.tags.retain(|iname, _| keep(iname));
        self.flat.retain(|iname, _| keep(iname));
    }

    /// Whether any iname has a tag.
    pub fn has_tags(&self) -> bool {
        !(self.tags.is_empty() && self.flat.is_empty())
    }

    /// Gives an iname the tag that another has, if any.
    pub fn copy_tag(&mut self, from: &Name, to: &Name) {
        if let Some(tag) = self.tags.get(from).copied() {
            self.tags.insert(to.clone(), tag);
        }
        if let Some(flat) = self.flat.get(from).copied() {
            self.flat.insert(to.clone(), flat);
        }
    }

    /// Removes the tag of an iname, if it has one.
    pub fn take_tag(&mut self, iname: &Name) -> Option<Tag> {
        let flat = self.flat.remove(iname).map(|_| Tag::Flat);
        self.tags.remove(iname).or(flat)
    }
}
