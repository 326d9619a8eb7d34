//! Loops of which nothing runs in parallel yet, or which a user's steps have put on blocks or on
//! threads, and not on both.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use loopwright_kernel_ir::{
    AddressSpace, Aff, DType, Dim, Expr, Instruction, Lookup, LoopKernel, Name, Reduce, Tag, Tree, TypeTable,
};
use loopwright_lowering::Target;
use loopwright_transforms::{Step, Verdict};

use crate::{
    Launch, Wish, bounds,
    found::Assumable,
    judge::Judge,
    site::{self, Site, Stride},
};

/// The longest loop that counts as one of a known length: a device would take minutes for the
/// iterations, and estimates of several loops together stay far from the limits of 64 bits.
pub(crate) const LONGEST: i64 = 1 << 40;

/// The most iterations of loops together, and the most blocks, that estimates tell from more.
pub(crate) const MOST: i64 = 1 << 44;

/// A loop of the tree with all that it contains, which does not run both on blocks and on threads
/// yet. Loops that a user's steps have made parallel are in none of its lists.
pub struct Nest<'k> {
    /// The kernel as the steps so far have left it.
    pub kernel: &'k LoopKernel,
    /// The loops from the outside, as long as each contains nothing but the next one, and all
    /// others of the innermost of these. Loops of reductions are not among them.
    pub band: Vec<Name>,
    /// The other loops that belong to no reduction, outer before inner.
    pub inner: Vec<Name>,
    /// The instructions with parts inside, in text order.
    pub instructions: Vec<&'k Instruction>,
    /// Their accesses to global memory.
    pub sites: Vec<Site>,
    held: BTreeSet<Tag>,
    root: Name,
    tree: &'k Tree,
    judge: Rc<Judge>,
    verdicts: RefCell<BTreeMap<(Name, &'static str), bool>>,
    wishes: RefCell<Vec<Wish>>,
    remarks: RefCell<Vec<String>>,
    assumable: RefCell<BTreeSet<Assumable>>,
}

impl<'k> Nest<'k> {
    /// The nests of a kernel: loops at the top or directly inside loops of the host.
    pub fn all(kernel: &'k LoopKernel) -> Vec<Nest<'k>> {
        Nest::all_judged(kernel, &Rc::new(Judge::new(&Target::default(), false)))
    }

    /// As [`Nest::all`], with verdicts that are shared.
    pub(crate) fn all_judged(kernel: &'k LoopKernel, judge: &Rc<Judge>) -> Vec<Nest<'k>> {
        let mut found = Vec::new();
        collect(kernel, &kernel.tree, judge, &mut found);
        found
    }

    fn of(kernel: &'k LoopKernel, tree: &'k Tree, judge: &Rc<Judge>) -> Option<Nest<'k>> {
        let Tree::Loop { iname, .. } = tree else { return None };
        let leaves = tree.leaves();
        let lookup = Lookup::new(kernel);
        let inside = |i: &&Instruction| leaves.iter().any(|part| part.instruction == i.id);
        let instructions: Vec<&Instruction> = kernel.instructions.iter().filter(inside).collect();
        let tags = |i: &Instruction| {
            let own = i.reductions().iter().flat_map(|r| r.inames.clone()).collect::<Vec<Name>>();
            let base = own.iter().flat_map(|n| lookup.base_of(n));
            let all = i.within.iter().chain(base);
            all.map(|n| kernel.tag(n)).collect::<Vec<Tag>>()
        };
        let tags: BTreeSet<Tag> = instructions.iter().flat_map(|i| tags(i)).collect();
        let is_complete = tags.iter().any(|t| t.is_over_blocks()) && tags.iter().any(|t| t.is_in_block());
        if is_complete || tags.contains(&Tag::Flat) {
            return None;
        }
        let held: BTreeSet<Tag> = tags.into_iter().filter(|t| t.is_parallel()).collect();
        let is_open = |n: &Name| !kernel.tag(n).is_parallel();
        let reduced = reduced(&lookup, &instructions);
        let (mut band, mut at) = (Vec::new(), tree);
        while let Tree::Loop { iname, body } = at
            && !reduced.contains(iname)
        {
            if is_open(iname) {
                band.push(iname.clone());
            }
            match body.as_slice() {
                [only @ Tree::Loop { .. }] => at = only,
                _ => break,
            }
        }
        let mut inner = Vec::new();
        Tree::visit_leaves(std::slice::from_ref(tree), &mut |path, _| {
            for n in path {
                if is_open(n) && !band.contains(n) && !reduced.contains(n) && !inner.contains(*n) {
                    inner.push((*n).clone());
                }
            }
        });
        Some(Nest {
            kernel,
            band,
            inner,
            sites: instructions.iter().flat_map(|i| site::sites(kernel, i)).collect(),
            instructions,
            held,
            root: iname.clone(),
            tree,
            judge: judge.clone(),
            verdicts: RefCell::default(),
            wishes: RefCell::default(),
            remarks: RefCell::default(),
            assumable: RefCell::default(),
        })
    }

    /// Says why a better form does not apply, beside the reason of the one that is taken.
    pub(crate) fn remark(&self, why: String) {
        let mut remarks = self.remarks.borrow_mut();
        if !remarks.contains(&why) {
            remarks.push(why);
        }
    }

    /// A reason with the remarks that have been made so far.
    pub(crate) fn with_remarks(&self, reason: String) -> String {
        self.remarks.borrow().iter().fold(reason, |reason, why| format!("{reason}; {why}"))
    }

    /// What the user could declare for better forms, as far as it has been met.
    pub(crate) fn wishes(&self) -> Vec<Wish> {
        let mut all = self.wishes.borrow().clone();
        all.sort_by_cached_key(Wish::to_string);
        all
    }

    /// Adds what the user could declare, and what it would allow.
    pub(crate) fn wish(&self, wish: impl Into<Option<Wish>>) {
        let mut wishes = self.wishes.borrow_mut();
        if let Some(wish) = wish.into().filter(|wish| !wishes.contains(wish)) {
            wishes.push(wish);
        }
    }

    /// The same for one value of a parameter, which the launch that is meant may have.
    pub(crate) fn wish_fixed(&self, parameter: &Name, what: &str) {
        let value = self.launch().integers.get(parameter);
        let example = value.copied().unwrap_or(256);
        self.wish(Wish::step(format!("fix_parameters({parameter}={example})"), what));
        if let Some(value) = value {
            let step = format!("fix_parameters({parameter}={value})");
            let why = "this is the value";
            self.assumable.borrow_mut().insert(Assumable { step, why, changes_steps: true });
        }
    }

    /// The same for the length of a loop, if that is a parameter.
    pub(crate) fn wish_fixed_length(&self, iname: &Name, what: &str) {
        if let Some(parameter) = bounds::length_parameter(self.kernel, iname) {
            self.wish_fixed(&parameter, what);
        }
    }

    /// Whether a loop has the same length in every launch, which is known.
    pub(crate) fn has_fixed_length(&self, iname: &Name) -> bool {
        bounds::fixed_length(self.kernel, iname).is_some()
    }

    /// Those of the wishes that hold in the launch that is meant.
    pub(crate) fn assumable(&self) -> Vec<Assumable> {
        self.assumable.borrow().iter().cloned().collect()
    }

    /// What distinguishes it from other nests of the same kernel and of those after more steps.
    pub(crate) fn key(&self) -> (Name, Vec<Name>, Vec<Name>) {
        let loops = self.band.iter().chain(&self.inner).cloned().collect();
        (self.root.clone(), loops, self.instructions.iter().map(|i| i.id.clone()).collect())
    }

    /// The loop tree of the nest, from its outermost loop.
    pub(crate) fn tree(&self) -> &'k Tree {
        self.tree
    }

    /// The outermost iname, which no other nest has.
    pub fn root(&self) -> &Name {
        &self.root
    }

    /// What the user's steps have made parallel in it; empty if nothing is.
    pub fn held(&self) -> &BTreeSet<Tag> {
        &self.held
    }

    /// The axes of the grid that the user's steps have left, x first.
    pub(crate) fn free_blocks(&self) -> Vec<&'static str> {
        let all = [(Dim::X, "block.x"), (Dim::Y, "block.y"), (Dim::Z, "block.z")];
        all.into_iter()
            .filter(|(dim, _)| !self.held.contains(&Tag::Block(*dim)))
            .map(|(_, tag)| tag)
            .collect()
    }

    /// Whether iterations of a loop may run in different blocks, whatever the order: asked of the
    /// legality analysis.
    pub fn is_parallel(&self, iname: &Name) -> bool {
        let Some(axis) = self.free_blocks().first().copied() else { return false };
        !self.writes_again(iname) && self.is_legal(iname, axis, &[format!("tag_inames({iname}: {axis})")])
    }

    /// Whether all iterations of a loop write the same element, which no analysis has to be asked
    /// about: they cannot run in different threads.
    fn writes_again(&self, iname: &Name) -> bool {
        self.instructions.iter().filter(|i| i.update.is_none() && i.within.contains(iname)).any(|i| {
            let writes = self.sites.iter().filter(|s| s.is_write && s.instruction == i.id);
            writes.into_iter().any(|s| {
                s.index.iter().all(Option::is_some)
                    && s.stride(iname) == Stride::Same
                    && !self.ranges_depend(s, iname)
            })
        })
    }

    /// Whether the loops over an access's subscripts may have other bounds in other iterations of a
    /// loop around them: they mention it, or scalars that are assigned.
    fn ranges_depend(&self, site: &Site, iname: &Name) -> bool {
        let kernel = self.kernel;
        let mut inames: Vec<Name> =
            site.index.iter().flatten().flat_map(Aff::names).filter(|n| kernel.is_iname(n)).collect();
        let mut next = 0;
        while let Some(of) = inames.get(next).cloned() {
            next += 1;
            if bounds::are_data(kernel, &of) || bounds::depend_on(kernel, &of, iname) {
                return true;
            }
            let all = kernel.domains.iter().flat_map(|d| &d.inames);
            let more = all.filter(|n| !inames.contains(n) && bounds::depend_on(kernel, &of, n));
            inames.extend(more.cloned().collect::<Vec<Name>>());
        }
        false
    }

    /// Whether iterations of a loop may run in different threads of one block, which have the same
    /// cells in shared memory. Where the nest has no such cells, threads are as blocks are.
    pub fn is_parallel_in_block(&self, iname: &Name) -> bool {
        if self.is_parallel(iname) {
            return true;
        }
        let has_shared = self.kernel.temporaries.iter().any(|a| a.space == AddressSpace::Shared);
        let lanes = self.judge.target.warp_size;
        let steps =
            [format!("split_iname({iname}, {lanes})"), format!("tag_inames({iname}_inner: thread.x)")];
        has_shared && !self.writes_again(iname) && self.is_legal(iname, "thread.x", &steps)
    }

    /// Whether blocks may have several iterations of a loop each, one after the other, whatever
    /// other blocks do at that time.
    pub(crate) fn is_parallel_in_pieces(&self, iname: &Name) -> bool {
        let lanes = self.judge.target.warp_size;
        let steps = [format!("split_iname({iname}, {lanes})"), format!("tag_inames({iname}_outer: block.x)")];
        self.is_parallel(iname) && self.is_legal(iname, "pieces", &steps)
    }

    fn is_legal(&self, iname: &Name, tag: &'static str, steps: &[String]) -> bool {
        let key = (iname.clone(), tag);
        if let Some(known) = self.verdicts.borrow().get(&key) {
            return *known;
        }
        let legal = self.proves(iname, steps);
        self.verdicts.borrow_mut().insert(key, legal);
        legal
    }

    /// The kernel after these steps, if they are legal.
    pub(crate) fn applied(&self, steps: &[String]) -> Option<LoopKernel> {
        let mut all = steps.iter();
        all.try_fold(self.kernel.clone(), |kernel, text| Some(self.judge.step(&kernel, text).ok()?.0))
    }

    /// Whether these steps are proved to be legal, whatever the user has vouched for.
    fn proves(&self, iname: &Name, steps: &[String]) -> bool {
        let mut kernel = self.kernel.clone();
        if kernel.vouched.iter().any(|v| v.step.is_none()) {
            return steps.iter().all(|text| {
                let judged = Step::parse(text).and_then(|s| s.judged(&kernel));
                judged.is_ok_and(|judged| {
                    kernel = judged.kernel;
                    matches!(judged.verdict, Verdict::Proved { .. })
                })
            });
        }
        steps.iter().all(|text| match self.judge.step(&kernel, text) {
            Ok((after, _)) => {
                kernel = after;
                true
            }
            Err(why) => {
                let help = why.help.as_deref().unwrap_or_default();
                if let Some((facts, _)) = help.split_once(';').filter(|(text, _)| text.contains("`fact ")) {
                    self.wish(Wish::Independence { facts: facts.to_string(), iname: iname.clone() });
                }
                false
            }
        })
    }

    /// The loops of the band that are parallel, outermost first.
    pub fn parallel(&self) -> Vec<Name> {
        self.band.iter().filter(|n| self.is_parallel(n)).cloned().collect()
    }

    /// The reductions, each with its instruction.
    pub fn reductions(&self) -> Vec<(&'k Instruction, std::sync::Arc<Reduce>)> {
        self.instructions.iter().flat_map(|i| i.reductions().into_iter().map(move |r| (*i, r))).collect()
    }

    /// The values of the largest partial result of a reduction, and their bytes together; a word if
    /// types are open.
    pub(crate) fn state_bytes(&self) -> (usize, usize) {
        let table = TypeTable::new(self.kernel);
        let of = |i: &&Instruction| {
            let wanted: Vec<DType> =
                i.targets.iter().filter_map(|t| table.element(&t.array)?.known()).collect();
            let types = table.reduction_types(&i.value, &wanted).ok()?;
            types
                .iter()
                .map(|t| (t.state.len(), t.state.iter().map(|s| s.bytes()).sum::<usize>()))
                .max_by_key(|(_, bytes)| *bytes)
        };
        let all = self.instructions.iter().filter_map(of);
        all.max_by_key(|(_, bytes)| *bytes).unwrap_or((1, 4))
    }

    /// Whether there is no reduction.
    pub fn is_map(&self) -> bool {
        self.instructions.iter().all(|i| i.reductions().is_empty())
    }

    fn is_used(&self, name: &str) -> bool {
        let kernel = self.kernel;
        kernel.is_iname(name)
            || kernel.definition(name).is_some()
            || kernel.array(name).is_some()
            || kernel.instruction(name).is_some()
            || kernel.args.iter().any(|arg| **arg.name() == *name)
    }

    /// A name for a new iname, one of `w`, `wave` and `front`.
    pub(crate) fn fresh(&self) -> Option<&'static str> {
        ["w", "wave", "front"].into_iter().find(|name| !self.is_used(name))
    }

    /// The name that a step gives to a new iname which it would call so.
    pub(crate) fn next_name(&self, name: &str) -> String {
        let more = (2..).map(|k| format!("{name}_{k}"));
        let mut names = std::iter::once(name.to_string()).chain(more);
        names.find(|name| !self.is_used(name)).unwrap_or_default()
    }

    /// How well accesses are spread over memory if the neighbouring threads have neighbouring
    /// values of this iname: neighbours count for it, what is farther apart against it, each as
    /// often as it is accessed.
    pub fn score(&self, iname: &str) -> f64 {
        let along = self.sites.iter().filter(|s| s.inames.iter().any(|n| **n == *iname));
        along.map(|site| self.score_of(site, iname)).sum()
    }

    /// What an access counts for.
    pub(crate) fn score_of(&self, site: &Site, iname: &str) -> f64 {
        match site.stride(iname) {
            Stride::Same => 0.0,
            Stride::Unit if site.is_write => 1.01 * site.weight(),
            Stride::Unit => site.weight(),
            Stride::Apart => -site.weight(),
        }
    }

    /// The one of these inames whose neighbours should be neighbouring threads; of equal ones the
    /// last, which is the innermost.
    pub fn best<'n>(&self, of: impl IntoIterator<Item = &'n Name>) -> Option<Name> {
        let mut best: Option<(f64, &Name)> = None;
        for n in of {
            let score = self.score(n);
            if best.is_none_or(|(most, _)| score >= most) {
                best = Some((score, n));
            }
        }
        best.map(|(_, n)| n.clone())
    }

    /// Number of accesses whose elements are neighbours along an iname, and of those that move
    /// along it at all.
    pub fn neighbours(&self, iname: &str) -> (usize, usize) {
        let along = |of: Stride| self.sites.iter().filter(|s| s.stride(iname) == of).count();
        let (unit, apart) = (along(Stride::Unit), along(Stride::Apart));
        (unit, unit + apart)
    }

    /// The elements of a vector along an iname, the widest for which every access along it is shown
    /// to consist of whole, aligned vectors; 1 if there is none.
    pub fn vector(&self, iname: &str, widest: usize) -> i64 {
        let along: Vec<&Site> = self.sites.iter().filter(|s| s.stride(iname) == Stride::Unit).collect();
        let Some(bytes) = along.iter().map(|s| s.bytes).max() else { return 1 };
        let Some(begin) = bounds::begin(self.kernel, iname) else { return 1 };
        // The lengths of rows, which have to consist of whole vectors.
        let mut lengths: Vec<&Expr> = Vec::new();
        for site in &along {
            let (Some(axis), Some(array)) = (site.dense, self.kernel.array(&site.array)) else { return 1 };
            let exact = site.index[axis].as_ref().and_then(|aff| aff.as_var()).is_some_and(|n| **n == *iname);
            let plain = array.axes.iter().all(|a| a.stride.is_none() && a.padding == 0);
            if !exact || !plain {
                return 1;
            }
            if !lengths.contains(&&array.axes[axis].length) {
                lengths.push(&array.axes[axis].length);
            }
        }
        let widest = i64::try_from(widest / bytes.max(1)).unwrap_or(1);
        let widths = || std::iter::successors(Some(widest), |w| Some(w / 2)).take_while(|w| *w > 1);
        let is_known = |length: &Expr, width: i64| bounds::is_multiple(self.kernel, length, width);
        let is_whole = |width: &i64| begin % width == 0 && lengths.iter().all(|l| is_known(l, *width));
        if let Some(width) = widths().find(is_whole) {
            return width;
        }
        if !bounds::is_free(self.kernel, iname) {
            return 1;
        }
        // The widest that the launch has, or else the widest of all, could be assumed.
        let launch = &self.judge.launch;
        let at = |length: &Expr| length.to_aff()?.eval(&|n| launch.integers.get(n).copied());
        let at: Option<Vec<i64>> = lengths.iter().map(|length| at(length)).collect();
        let wanted = match &at {
            Some(lengths) => widths().find(|w| begin % w == 0 && lengths.iter().all(|l| l % w == 0)),
            None => Some(widest).filter(|w| *w > 1 && begin % w == 0),
        };
        let Some(width) = wanted else { return 1 };
        let mut open: Vec<String> = Vec::new();
        for length in lengths.into_iter().filter(|length| !is_known(length, width)) {
            let text = match length.names().len() {
                0 => return 1,
                1 if length.to_aff().is_some_and(|aff| aff.as_var().is_some()) => length.to_string(),
                _ => format!("({length})"),
            };
            open.push(format!("{text} % {width} = 0"));
        }
        let assumed = format!("assume({})", open.join(" and "));
        self.wish(Wish::step(&assumed, format!("whole vectors of {width} along `{iname}`")));
        if at.is_some() {
            let why = "rows consist of whole vectors";
            self.assumable.borrow_mut().insert(Assumable { step: assumed, why, changes_steps: false });
        }
        1
    }

    /// Whether each of these loops has a multiple of so many iterations in every launch. Where that
    /// is not known, it is a wish, for what it would allow.
    pub(crate) fn are_multiples(&self, loops: &[(&Name, i64)], what: &str) -> bool {
        self.multiples(loops, what, true)
    }

    /// The same for steps that serve partial tiles, too, and are better with whole ones.
    pub(crate) fn had_better_be_multiples(&self, loops: &[(&Name, i64)], what: &str) -> bool {
        self.multiples(loops, what, false)
    }

    fn multiples(&self, loops: &[(&Name, i64)], what: &str, changes_steps: bool) -> bool {
        let (mut open, mut are_meant) = (Vec::new(), true);
        for (iname, by) in loops {
            if let Some(length) = bounds::fixed_length(self.kernel, iname) {
                if length % by != 0 {
                    return false;
                }
                continue;
            }
            let Some(length) = bounds::length_parameter(self.kernel, iname) else { return false };
            if bounds::is_multiple(self.kernel, &Expr::from_aff(&Aff::var(&length)), *by) {
                continue;
            }
            match self.launch().integers.get(&length) {
                Some(value) if value % by != 0 => return false,
                value => are_meant &= value.is_some(),
            }
            let text = format!("{length} % {by} = 0");
            if !open.contains(&text) {
                open.push(text);
            }
        }
        if open.is_empty() {
            return true;
        }
        let assumed = format!("assume({})", open.join(" and "));
        self.wish(Wish::step(&assumed, what));
        if are_meant {
            let why = "loops consist of whole tiles";
            self.assumable.borrow_mut().insert(Assumable { step: assumed, why, changes_steps });
        }
        false
    }

    /// The number of values of an iname, if that is known: the same in every launch, or that of the
    /// launch that is meant. One beyond [`LONGEST`] counts as not known.
    pub(crate) fn extent(&self, iname: &Name) -> Option<i64> {
        let fixed = || bounds::fixed_length(self.kernel, iname);
        bounds::length_at(self.kernel, iname, &self.judge.launch.integers)
            .or_else(fixed)
            .filter(|length| *length <= LONGEST)
    }

    /// The length of the longest of these inames' ranges, if all are known.
    pub(crate) fn longest(&self, of: &[Name]) -> Option<i64> {
        let lengths: Option<Vec<i64>> = of.iter().map(|n| self.extent(n)).collect();
        lengths?.into_iter().max()
    }

    /// The number of iterations of these loops together, if that is known; at most [`MOST`].
    pub(crate) fn count(&self, of: &[Name]) -> Option<i64> {
        of.iter().try_fold(1i64, |product, n| Some(product.saturating_mul(self.extent(n)?).min(MOST)))
    }

    /// The launch that is meant.
    pub(crate) fn launch(&self) -> &Launch {
        &self.judge.launch
    }

    /// The most threads of a block.
    pub(crate) fn most_threads(&self) -> i64 {
        self.judge.target.most_threads.into()
    }

    /// The most blocks along the axes y and z of a grid.
    pub(crate) fn most_blocks(&self) -> i64 {
        self.judge.target.most_blocks.into()
    }

    /// Whether an axis of the grid other than x has room for this loop in every launch, or in the
    /// one that is meant, with so many iterations a block, as far as lengths are known.
    pub(crate) fn fits_grid(&self, iname: &Name, of_block: i64) -> bool {
        let most = self.most_blocks().saturating_mul(of_block);
        match self.extent(iname) {
            Some(length) => length <= most,
            None => bounds::is_at_most(self.kernel, iname, most),
        }
    }

    /// Whether such an axis is known to have no room for it.
    pub(crate) fn is_too_long(&self, iname: &Name, of_block: i64) -> bool {
        self.extent(iname).is_some_and(|length| length > self.most_blocks().saturating_mul(of_block))
    }

    /// Whether a reduction is of what others reduce: an argmin of distances, each a sum.
    pub(crate) fn has_nested_reductions(&self) -> bool {
        let nests = |r: &Reduce| r.args.iter().any(|arg| !arg.reductions().is_empty());
        self.instructions.iter().any(|i| i.reductions().iter().any(|r| nests(r)))
    }

    /// For each reduction, and each instruction in loops below the band, the iname that should be
    /// spread over threads: those of the rows that a block or a warp works on. Of reductions inside
    /// one another it is the iname of one, since an axis is for one of them.
    pub fn rows(&self) -> Vec<Name> {
        let mut found: Vec<Name> = Vec::new();
        let mut add = |best: Option<Name>| {
            if let Some(n) = best.filter(|n| !found.contains(n)) {
                found.push(n);
            }
        };
        let lookup = Lookup::new(self.kernel);
        for i in &self.instructions {
            for nested in outermost(&i.value) {
                let all = nested.inames.iter().cloned();
                let inner = nested.args.iter().flat_map(Expr::reductions).collect::<Vec<_>>();
                let all = inner.iter().flat_map(|r| r.inames.clone()).chain(all);
                let own = all.flat_map(|n| lookup.base_of(&n).to_vec());
                let own: Vec<Name> = own.filter(|n| !self.kernel.tag(n).is_parallel()).collect();
                // A few terms inside of many leave most lanes idle.
                let warp = i64::from(self.judge.target.warp_size);
                let fills =
                    |n: &&Name| inner.is_empty() || self.extent(n).is_none_or(|length| length >= warp);
                add(self.best(own.iter().filter(fills)).or_else(|| self.best(&own)));
            }
            let own: Vec<&Name> =
                i.within.iter().filter(|n| self.inner.contains(n) && self.is_parallel_in_block(n)).collect();
            add(self.best(own));
        }
        found
    }
}

/// The reductions of an expression that are in no other one.
fn outermost(e: &Expr) -> Vec<Reduce> {
    fn collect(e: &Expr, found: &mut Vec<Reduce>) {
        match e {
            Expr::Reduce(reduce) => found.push((**reduce).clone()),
            _ => e.each_child(&mut |child| collect(child, found)),
        }
    }
    let mut found = Vec::new();
    collect(e, &mut found);
    found
}

/// The base inames of the reductions of these instructions, without those that are also around one.
fn reduced(lookup: &Lookup<'_>, instructions: &[&Instruction]) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    for i in instructions {
        for n in i.reductions().iter().flat_map(|r| r.inames.clone()) {
            for base in lookup.base_of(&n) {
                let is_around = i.within.contains(base);
                if !is_around && !found.contains(base) {
                    found.push(base.clone());
                }
            }
        }
    }
    found
}

fn collect<'k>(kernel: &'k LoopKernel, trees: &'k [Tree], judge: &Rc<Judge>, found: &mut Vec<Nest<'k>>) {
    for tree in trees {
        match tree {
            Tree::Loop { iname, body } if kernel.tag(iname) == Tag::Host => {
                collect(kernel, body, judge, found);
            }
            tree => found.extend(Nest::of(kernel, tree, judge)),
        }
    }
}
