//! A proposal's steps, rewritten for loops that have become others.
//!
//! Each loop that the proposal names is a list of digits: one loop, several of which none is
//! outside the others' split, or none at all where the user's pieces are shorter. Splits cut such
//! lists, tags and copies go to what is in them.

use std::collections::{BTreeMap, BTreeSet};

use loopwright_kernel_ir::{Dim, HardwareAxis, Name, Tag};
use loopwright_transforms::{AddPrefetch, Number, SplitIname, Step};

use super::Begun;
use crate::{
    Proposal,
    digits::{Cut, Digit, cut},
    site,
};

/// What a step of a proposal comes to.
enum Item {
    Step(String, bool),
    /// Tags for what loops have become.
    Tags(Vec<(Vec<Digit>, Tag)>),
}

/// Pieces are at most so many times as long as proposed, or as short: a tile of one row serves
/// nothing twice.
const FARTHEST: i64 = 4;
/// Blocks of pieces of other lengths have at least this part of the threads that are proposed.
const FEWER: i64 = 4;
/// And at most so many times as many, since larger blocks leave more places empty.
const MORE: i64 = 2;

pub(super) struct Adapter<'b> {
    begun: &'b Begun<'b>,
    /// What the loops that a proposal names are.
    loops: BTreeMap<Name, Vec<Digit>>,
    /// Names of new loops.
    made: BTreeSet<Name>,
    /// Tiles of copies that are there already.
    copied: Vec<Name>,
    /// Loops whose pieces have the user's lengths in place of the proposed ones.
    given: BTreeSet<(Name, i64)>,
    /// The threads of a block as proposed.
    proposed: i64,
    most_threads: i64,
    first: Vec<String>,
    items: Vec<Item>,
}

impl<'b> Adapter<'b> {
    pub fn new(begun: &'b Begun<'b>, loops: BTreeMap<Name, Vec<Digit>>, first: Vec<String>) -> Adapter<'b> {
        let made = loops.values().flatten().map(|d| d.iname.clone()).collect();
        Adapter {
            begun,
            loops,
            made,
            copied: Vec::new(),
            given: BTreeSet::new(),
            proposed: 1,
            most_threads: begun.most_threads,
            first,
            items: Vec::new(),
        }
    }

    /// The tag that the user's steps have given to a loop.
    fn tag(&self, digit: &Digit) -> Tag {
        self.begun.kernel.tag(&digit.iname)
    }

    /// What is left of the proposal's steps, with its reason.
    pub fn adapted(mut self, proposal: &Proposal) -> Option<Proposal> {
        let parsed: Option<Vec<(Step, bool)>> = proposal
            .steps
            .iter()
            .map(|(text, optional)| Some((Step::parse(text).ok()?, *optional)))
            .collect();
        let parsed = parsed?;
        let tags: BTreeMap<&Name, Tag> = parsed
            .iter()
            .filter_map(|(step, _)| if let Step::TagInames(tag) = step { Some(&tag.tags) } else { None })
            .flatten()
            .map(|(iname, tag)| (iname, *tag))
            .collect();
        let divided: BTreeSet<&Name> = parsed
            .iter()
            .filter_map(
                |(step, _)| if let Step::SplitIname(split) = step { Some(&split.iname) } else { None },
            )
            .collect();
        self.proposed = proposed(&parsed, &tags);
        for (step, is_optional) in &parsed {
            match step {
                Step::SplitIname(split) => self.split(split, &tags, &divided)?,
                Step::TagInames(tag) => {
                    let tags = tag.tags.iter().map(|(iname, tag)| (self.of(iname), *tag)).collect();
                    self.items.push(Item::Tags(tags));
                }
                Step::AddPrefetch(copy) => self.copy(copy, *is_optional),
                step => {
                    let text = step.to_string();
                    if self.copied.iter().any(|tile| mentions(&text, tile)) {
                        continue;
                    }
                    // A step about a loop of which nothing is left has nothing to do.
                    let is_over = |n: &Name| self.loops.get(n).is_some_and(Vec::is_empty);
                    if matches!(step, Step::Unroll(unroll) if unroll.inames.iter().all(is_over)) {
                        continue;
                    }
                    self.items.push(Item::Step(self.renamed(&text), *is_optional));
                }
            }
        }
        let mut reason = proposal.reason.clone();
        if !self.given.is_empty() {
            let given: Vec<String> = self.given.iter().map(|(n, length)| format!("{length} `{n}`")).collect();
            reason += &format!("; with pieces of {}, as the steps before have them", given.join(" and "));
        }
        Some(Proposal { reason, ..self.finished()? })
    }

    /// What a loop of the proposal is; itself, if another step of it makes it.
    fn of(&self, iname: &Name) -> Vec<Digit> {
        self.loops.get(iname).cloned().unwrap_or_else(|| vec![Digit { iname: iname.clone(), length: None }])
    }

    /// A new loop's name: this one, unless the kernel has it.
    fn fresh(&mut self, wanted: &Name) -> Name {
        let kernel = self.begun.kernel;
        let is_free =
            |n: &Name| !self.made.contains(n) && !kernel.is_declared(n) && kernel.definition(n).is_none();
        let more = (2..).map(|k| Name::new(format!("{wanted}_{k}")));
        let name = std::iter::once(wanted.clone()).chain(more).find(is_free);
        let name = name.unwrap_or_else(|| wanted.clone());
        self.made.insert(name.clone());
        name
    }

    fn split(
        &mut self,
        split: &SplitIname,
        tags: &BTreeMap<&Name, Tag>,
        divided: &BTreeSet<&Name>,
    ) -> Option<()> {
        let Number::Known(length) = split.length else { return None };
        let [outer, inner] = parts(split);
        let digits = self.of(&split.iname);
        // Two axes of the grid for what may be long: the user's blocks have theirs.
        let has_blocks = |n: &Name| tags.get(n).is_some_and(|tag| tag.is_over_blocks());
        if has_blocks(&outer) && has_blocks(&inner) && digits.iter().any(|d| self.tag(d).is_over_blocks()) {
            self.loops.insert(outer, Vec::new());
            self.loops.insert(inner, digits);
            return Some(());
        }
        let kernel = self.begun.kernel;
        let is_spread = |d: &Digit| kernel.tag(&d.iname).is_hardware();
        // A loop that is spread is neither divided, nor one of several loops for one.
        let is_kept = |at: &Cut| {
            let (k, parts) = match *at {
                Cut::Behind(k) => (k, 0),
                Cut::Within(k, _) if is_spread(&digits[k]) => return false,
                Cut::Within(k, _) => (k, 1),
            };
            let is_one = |of: &[Digit], name: &Name| {
                divided.contains(name) || of.len() + parts < 2 || !of.iter().any(is_spread)
            };
            is_one(&digits[..k], &outer) && is_one(&digits[k + parts..], &inner)
        };
        let at = cut(&digits, length).filter(is_kept).or_else(|| {
            // Pieces of the user's length then, the nearest that is possible.
            let all = (0..=digits.len()).map(Cut::Behind).filter(is_kept);
            let all = all.filter_map(|at| Some((at, pieces(&digits, at)?)));
            let far = |given: i64| (given.max(length)) / given.min(length).max(1);
            let nearest = all.filter(|(_, given)| far(*given) <= FARTHEST).min_by_key(|(_, n)| far(*n))?;
            // Without one that is spread they could be one loop again, unless it is part of such.
            let is_part = digits.iter().all(|d| d.length.is_some());
            (is_part || digits.iter().any(is_spread)).then_some(())?;
            self.given.insert((split.iname.clone(), nearest.1));
            Some(nearest.0)
        });
        let (outside, inside) = match at? {
            Cut::Behind(k) => (digits[..k].to_vec(), digits[k..].to_vec()),
            Cut::Within(k, own) => {
                let digit = &digits[k];
                if self.tag(digit) != Tag::Seq {
                    return None;
                }
                // Only one digit has the name that is meant for all.
                let wanted = |is_alone: bool, name: &Name, suffix: &str| match is_alone {
                    true => name.clone(),
                    false => Name::new(format!("{}_{suffix}", digit.iname)),
                };
                let (first, last) =
                    (wanted(k == 0, &outer, "outer"), wanted(k + 1 == digits.len(), &inner, "inner"));
                let (first, last) = (self.fresh(&first), self.fresh(&last));
                let text = crate::text::split_as(&digit.iname, own, &first, &last);
                let step = Step::parse(&text).ok()?;
                self.items.push(Item::Step(shortest(step).to_string(), false));
                let rest = digit.length.map(|length| length / own);
                let (first, last) =
                    (Digit { iname: first, length: rest }, Digit { iname: last, length: Some(own) });
                let outside = digits[..k].iter().cloned().chain([first]).collect();
                (outside, [last].into_iter().chain(digits[k + 1..].iter().cloned()).collect())
            }
        };
        self.loops.insert(outer, outside);
        self.loops.insert(inner, inside);
        Some(())
    }

    /// A copy, unless what it copies is no longer read by the nest itself.
    fn copy(&mut self, copy: &AddPrefetch, is_optional: bool) {
        let mut sites = self.begun.instructions.iter().flat_map(|i| site::reads(i));
        if !sites.any(|array| array == copy.array) {
            let tile = copy.name.clone().unwrap_or_else(|| Name::new(format!("{}_tile", copy.array)));
            self.copied.push(tile);
            // The rows of the user's tile are as long as it says, unless it was padded already.
            let rows = copy.pad.value().ok().filter(|pad| *pad > 0);
            if let (Some(pad), Some(tile)) = (rows, self.begun.tile(&copy.array)) {
                self.items.push(Item::Step(format!("pad_array_axis({tile}, 1, {pad})"), true));
            }
            return;
        }
        let mut copy = copy.clone();
        copy.sweep = copy.sweep.iter().flat_map(|n| self.of(n)).map(|d| d.iname).collect();
        self.items.push(Item::Step(Step::AddPrefetch(copy).to_string(), is_optional));
    }

    /// A step's text about what its loops are.
    fn renamed(&self, text: &str) -> String {
        let mut new = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
            let (name, more) = rest.split_at(end);
            match self.loops.get(name) {
                Some(digits) => {
                    let names: Vec<&str> = digits.iter().map(|d| &*d.iname).collect();
                    new += &names.join(", ");
                }
                None => new += name,
            }
            let other = more.find(is_of_name).unwrap_or(more.len());
            new += &more[..other];
            rest = &more[other..];
        }
        new
    }

    /// The threads of a block, as far as their numbers are known.
    fn threads(&self) -> i64 {
        let all = self.items.iter().filter_map(|item| match item {
            Item::Tags(tags) => Some(tags),
            Item::Step(..) => None,
        });
        let length = |digits: &[Digit]| digits.iter().filter_map(|d| d.length).product();
        block(all.flatten().map(|(digits, tag)| (*tag, length(digits))))
    }

    /// The proposal, if all tags of the user's are as it would have them.
    fn finished(mut self) -> Option<Proposal> {
        let user: BTreeMap<Name, Tag> = self.begun.tagged().map(|(n, tag)| (n.clone(), tag)).collect();
        let all = || {
            let tags = self.items.iter().filter_map(|item| match item {
                Item::Tags(tags) => Some(tags),
                Item::Step(..) => None,
            });
            tags.flatten()
        };
        // The axes that the user's loops have in place of those that are proposed for them.
        let mut axes: BTreeMap<Tag, Tag> = BTreeMap::new();
        let mut met = BTreeSet::new();
        for (digits, tag) in all() {
            let given: Vec<(&Name, Tag)> =
                digits.iter().filter_map(|d| Some((&d.iname, *user.get(&d.iname)?))).collect();
            match given.as_slice() {
                [] => {}
                [(iname, own)] if digits.len() == 1 && is_alike(*own, *tag) => {
                    if axes.insert(*tag, *own).is_some_and(|other| other != *own) {
                        return None;
                    }
                    met.insert((*iname).clone());
                }
                _ => return None,
            }
        }
        if user.keys().any(|n| !met.contains(n)) {
            return None;
        }
        // The other axes: their own if the user's loops leave them, or else one that is left.
        let proposed: Vec<Tag> = all().map(|(_, tag)| *tag).filter(|tag| tag.is_hardware()).collect();
        for tag in &proposed {
            if axes.contains_key(tag) {
                continue;
            }
            let taken: Vec<Tag> = axes.values().chain(user.values()).copied().collect();
            let left = match tag {
                Tag::Thread(_) => Dim::ALL.iter().map(|dim| Tag::Thread(*dim)).collect(),
                Tag::Block(_) => Dim::ALL.iter().map(|dim| Tag::Block(*dim)).collect(),
                _ => vec![*tag],
            };
            let is_free = |tag: &&Tag| taken.iter().all(|other| other.axis() != tag.axis());
            let others = left.iter().filter(|other| !proposed.contains(other));
            let own = [tag].into_iter().chain(others).chain(&left).find(is_free)?;
            axes.insert(*tag, *own);
        }
        let threads = self.threads();
        let is_alike = threads >= self.proposed / FEWER && threads <= self.proposed.saturating_mul(MORE);
        if threads > self.most_threads || !(self.given.is_empty() || is_alike) {
            return None;
        }
        let mut steps: Vec<(String, bool)> = self.first.drain(..).map(|text| (text, false)).collect();
        for item in self.items {
            match item {
                Item::Step(text, is_optional) => steps.push((text, is_optional)),
                Item::Tags(tags) => {
                    let mut own: Vec<(String, String)> = Vec::new();
                    for (digits, tag) in tags {
                        let is_spread = tag.is_hardware() || tag == Tag::Vec;
                        for digit in digits.iter().filter(|d| !user.contains_key(&d.iname)) {
                            let given = self.begun.kernel.tag(&digit.iname);
                            match given {
                                Tag::Seq if digits.len() > 1 && is_spread => return None,
                                Tag::Seq => {}
                                // Lanes that the user's steps have made.
                                _ if !is_spread || given == tag => continue,
                                _ => return None,
                            }
                            let tag = axes.get(&tag).copied().unwrap_or(tag);
                            own.push((digit.iname.to_string(), tag.to_string()));
                        }
                    }
                    let own: Vec<(String, &str)> =
                        own.iter().map(|(n, tag)| (n.clone(), tag.as_str())).collect();
                    if !own.is_empty() {
                        steps.push((crate::text::tag(&own), false));
                    }
                }
            }
        }
        (!steps.is_empty()).then_some(Proposal { steps, reason: String::new() })
    }
}

/// The threads of a block with loops of these tags and lengths: of each axis the longest.
fn block(loops: impl Iterator<Item = (Tag, i64)>) -> i64 {
    let mut axes: BTreeMap<HardwareAxis, i64> = BTreeMap::new();
    for (tag, length) in loops {
        if let Some(axis) = tag.axis().filter(|axis| axis.is_in_block()) {
            let most = axes.entry(axis).or_insert(1);
            *most = length.max(*most);
        }
    }
    axes.values().fold(1, |product, length| product.saturating_mul(*length))
}

/// The threads of a block of a proposal, as far as splits tell.
fn proposed(steps: &[(Step, bool)], tags: &BTreeMap<&Name, Tag>) -> i64 {
    let mut lengths: BTreeMap<Name, i64> = BTreeMap::new();
    for (step, _) in steps {
        let Step::SplitIname(split) = step else { continue };
        let Number::Known(length) = split.length else { continue };
        let [outer, inner] = parts(split);
        if let Some(whole) = lengths.get(&split.iname) {
            lengths.insert(outer, whole / length.max(1));
        }
        lengths.insert(inner, length);
    }
    block(tags.iter().filter_map(|(iname, tag)| Some((*tag, *lengths.get(*iname)?))))
}

/// The loops that a split makes.
fn parts(split: &SplitIname) -> [Name; 2] {
    let part = |name: &Option<Name>, suffix: &str| {
        name.clone().unwrap_or_else(|| Name::new(format!("{}_{suffix}", split.iname)))
    };
    [part(&split.outer, "outer"), part(&split.inner, "inner")]
}

/// The number of iterations behind a cut, if that is known.
fn pieces(digits: &[Digit], at: Cut) -> Option<i64> {
    let Cut::Behind(k) = at else { return None };
    digits[k..].iter().try_fold(1i64, |product, d| product.checked_mul(d.length?))
}

/// Whether a loop may have the one tag where the other is proposed: a coordinate of a thread in
/// place of another one, or of a block.
fn is_alike(own: Tag, proposed: Tag) -> bool {
    match (own, proposed) {
        (Tag::Thread(_), Tag::Thread(_)) | (Tag::Block(_), Tag::Block(_)) => true,
        (own, proposed) => own.axis().is_some() && own.axis() == proposed.axis(),
    }
}

/// A split without the names that it gives anyway.
fn shortest(step: Step) -> Step {
    let Step::SplitIname(mut split) = step else { return step };
    let is_usual = |name: &Option<Name>, suffix: &str| {
        name.as_ref().is_some_and(|name| **name == *format!("{}_{suffix}", split.iname))
    };
    if is_usual(&split.outer, "outer") && is_usual(&split.inner, "inner") {
        (split.outer, split.inner) = (None, None);
    }
    Step::SplitIname(split)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a text has this name.
fn mentions(text: &str, name: &str) -> bool {
    text.split(|c| !is_of_name(c)).any(|word| word == name)
}
