//! The search for a pipeline, and its outcome.

use std::{collections::BTreeSet, fmt, rc::Rc};

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name, Tag, Tree};
use loopwright_lowering::Target;
use loopwright_poly::{System, remembering};
use loopwright_transforms::{Pipeline, Step};

use crate::{
    Launch, Nest, Proposal, RULES, Wish,
    continued::{self, Begun},
    fit,
    judge::Judge,
    recurrence,
    rules::{self, BEGUN, BETWEEN},
};

/// What was decided about one nest.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The outermost iname of the nest; empty for what is assumed of all.
    pub nest: Name,
    /// The name of the rule; `None` if no rule has a form that is legal, and the loops stay as they
    /// are.
    pub rule: Option<&'static str>,
    /// The reason, in one sentence.
    pub reason: String,
    /// The steps, in the order in which they are applied.
    pub steps: Vec<Step>,
    /// What was proposed before, and refused.
    pub refused: Vec<Refused>,
    /// What the user could say for better forms.
    pub better: Vec<Wish>,
    /// Number of loops of the nest around its statements.
    pub(crate) loops: usize,
    /// Those of `better` that hold in the launch that is meant.
    pub(crate) assumable: Vec<Assumable>,
}

/// What holds in the launch that is meant, and could be assumed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Assumable {
    /// The step that assumes it.
    pub step: String,
    /// What consists of whole parts then.
    pub why: &'static str,
    /// Whether only other steps make use of it; vectors may make the same ones better.
    pub changes_steps: bool,
}

/// A proposal that was refused, or a step of one that was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The name of the rule that proposed it.
    pub rule: &'static str,
    /// The text of the step that was refused; `None` if it was the finished kernel.
    pub step: Option<String>,
    /// The refusal of the step, or of the finished kernel.
    pub why: Diagnostic,
}

/// A pipeline for a kernel, with the reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The steps of all decisions, in their order.
    pub pipeline: Pipeline,
    /// The kernel after these steps.
    pub kernel: LoopKernel,
    /// The decisions, in the order of the steps.
    pub decisions: Vec<Decision>,
}

impl Decision {
    /// The rule with the reason, and what would make it better.
    pub fn lines(&self) -> Vec<String> {
        let first = format!("{}: {}", self.rule.unwrap_or("no rule"), self.reason);
        let better = self.better.iter().map(|what| format!("better: {what}"));
        std::iter::once(first).chain(better).collect()
    }
}

/// The decisions: the rule and the reason as a comment, and what would make it better, then the
/// steps, in the form of a pipeline's text. The alternate form also has what was refused before, as
/// comments.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for d in &self.decisions {
            let shown: &[Refused] = if f.alternate() { &d.refused } else { &[] };
            for refused in shown {
                let what = refused.step.as_deref().map_or("lowering".to_string(), |s| format!("`{s}`"));
                writeln!(f, "# refused, {}: {what}", refused.rule)?;
                let why = refused.why.to_string();
                why.lines().try_for_each(|line| writeln!(f, "#     {line}"))?;
            }
            d.lines().iter().try_for_each(|line| writeln!(f, "# {line}"))?;
            d.steps.iter().try_for_each(|step| writeln!(f, "{step}"))?;
        }
        Ok(())
    }
}

/// Finds a pipeline for what a kernel leaves open, for this target.
///
/// The pipeline can be empty: if nothing is parallel, or nothing is open. It never fails; a kernel
/// that lowering refuses as it stands gets what helps, or nothing.
pub fn auto(kernel: &LoopKernel, target: &Target) -> Found {
    let judge = Rc::new(Judge::new(target, false));
    auto_with(kernel, &judge, &[]).unwrap_or_else(|| Found::nothing(kernel))
}

/// As [`auto`], for one launch, whose sizes say which form is the best: a row of 16 elements wants
/// a few lanes, one of 16 million many blocks. Where its rows consist of whole vectors, or its
/// loops of whole tiles, the pipeline begins by assuming so; other launches for which that is wrong
/// are refused then.
///
/// ```
/// use loopwright_auto::{Launch, Target, auto_for};
/// use loopwright_kernel_ir::LoopKernel;
///
/// let kernel = LoopKernel::parse("\
/// kernel row_sum(x: f32[m, n], out: f32[m], m: i32, n: i32)
/// assume 0 <= m and 0 <= n
/// domain { [r] : 0 <= r < m }
/// domain { [i] : 0 <= i < n }
/// out[r] = sum(i, x[r, i]) {id=total}
/// ")?;
/// let launch = Launch::of([("m", 1 << 24), ("n", 16)]);
/// assert_eq!(auto_for(&kernel, &Target::default(), &launch).pipeline.to_string(), "\
/// assume(n mod 4 = 0)
/// cache_waves(out, window=297600, windows=8)
/// split_iname(r, 128)
/// split_iname(r_inner, 32, outer=r_part, inner=r_row)
/// split_iname(i, 16)
/// split_iname(i_inner, 4, outer=i_lane, inner=i_vec)
/// tag_inames(r_outer: block.x, r_row: thread.y, r_part: ilp, i_lane: thread.x, i_vec: vec)
/// ");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn auto_for(kernel: &LoopKernel, target: &Target, launch: &Launch) -> Found {
    found_for(kernel, target, launch, false)
}

fn found_for(kernel: &LoopKernel, target: &Target, launch: &Launch, witnesses: bool) -> Found {
    let (assumed, rest) = assumed_for(kernel, target, launch, witnesses);
    assumed.then(rest)
}

/// What holds in the launch that is meant and steps make use of, as steps that assume it, and what
/// the rules find for the kernel after them.
pub(crate) fn assumed_for(
    kernel: &LoopKernel,
    target: &Target,
    launch: &Launch,
    witnesses: bool,
) -> (Found, Found) {
    let by_rules = |kernel: &LoopKernel| {
        let judge = Rc::new(Judge::new(target, witnesses).meant_for(launch));
        auto_with(kernel, &judge, &[]).unwrap_or_else(|| Found::nothing(kernel))
    };
    let plain = by_rules(kernel);
    let mut open: BTreeSet<&Assumable> = plain.decisions.iter().flat_map(|d| &d.assumable).collect();
    let found_with = |open: &BTreeSet<&Assumable>| {
        let assumed = Found::assuming(kernel, open);
        let rest = (!assumed.decisions.is_empty()).then(|| by_rules(&assumed.kernel));
        rest.map(|rest| (assumed, rest))
    };
    let mut found = found_with(&open);
    for assumable in open.clone().into_iter().filter(|a| a.changes_steps) {
        let mut fewer = open.clone();
        fewer.remove(assumable);
        let without = found_with(&fewer);
        let [a, b] = [&without, &found].map(|found| found.as_ref().map_or(&plain, |(_, rest)| rest));
        if a.pipeline == b.pipeline {
            (open, found) = (fewer, without);
        }
    }
    // Nothing is assumed that no step makes use of: the same steps may be about vectors that are
    // aligned then.
    let makes_use = |rest: &Found| {
        open.iter().any(|a| a.changes_steps) || rest.kernel.tags.values().any(|tag| *tag == Tag::Vec)
    };
    match found {
        Some((assumed, rest)) if makes_use(&rest) => (assumed, rest),
        _ => (Found::nothing(kernel), plain),
    }
}

/// As [`auto_for`], and the refusals of illegal steps show executions for which they are wrong,
/// which takes longer.
pub fn auto_with_witnesses(kernel: &LoopKernel, target: &Target, launch: &Launch) -> Found {
    found_for(kernel, target, launch, true)
}

/// As [`auto`], except that the decision with number `k` passes over the first `skipped[k]` legal
/// proposals; decisions beyond the list take the first. `None` if a nest has too few proposals.
pub(crate) fn auto_with(kernel: &LoopKernel, judge: &Rc<Judge>, skipped: &[usize]) -> Option<Found> {
    // Verdicts on proposals for one kernel ask much the same.
    remembering(|| {
        let found = lowered(kernel, judge, skipped)?;
        Some(with_fitting_blocks(kernel, judge, skipped, found))
    })
}

/// Lowering comes once, at the end. Where it refuses what was found, it comes after each proposal
/// instead, so that each is one that it takes.
fn lowered(kernel: &LoopKernel, judge: &Rc<Judge>, skipped: &[usize]) -> Option<Found> {
    if !kernel.tree.iter().any(|tree| matches!(tree, Tree::Loop { .. })) {
        return (skipped.iter().all(|skip| *skip == 0)).then(|| Found::without_loops(kernel));
    }
    let mut found = Found::nothing(kernel);
    let complete = found.extend(judge, skipped, Lowering::AtTheEnd);
    let decided = found.decisions.iter().any(|d| d.rule.is_some());
    if !decided || judge.lowers(&found.kernel).is_ok() {
        return complete.then_some(found);
    }
    let mut found = Found::nothing(kernel);
    found.extend(judge, skipped, Lowering::OfEach).then_some(found)
}

/// The most proposals of a nest that are tried for the sake of its neighbours.
const OTHERS: usize = 4;

/// What was found, with other proposals of the same rule for nests whose blocks have another shape
/// than those of their launch, as far as that leaves fewer threads idle. Nests with the fewest
/// loops come first.
fn with_fitting_blocks(kernel: &LoopKernel, judge: &Rc<Judge>, skipped: &[usize], mut found: Found) -> Found {
    let idle = |found: &Found| {
        let blocks = judge.lowers(&found.kernel).unwrap_or_default();
        if blocks.is_empty() { 1.0 } else { fit::idle(&found.kernel, &blocks) }
    };
    if found.decisions.iter().filter(|d| d.rule.is_some()).count() < 2 {
        return found;
    }
    let mut least = idle(&found);
    if least <= 1.0 {
        return found;
    }
    let mut skipped = skipped.to_vec();
    skipped.resize(found.decisions.len(), 0);
    let mut order: Vec<usize> = (0..found.decisions.len()).collect();
    order.sort_by_key(|number| found.decisions[*number].loops);
    for number in order {
        for _ in 0..OTHERS {
            if least <= 1.0 {
                return found;
            }
            let mut tried = skipped.clone();
            tried[number] += 1;
            let Some(mut other) = lowered(kernel, judge, &tried) else { break };
            // The neighbours keep what suits them best.
            let others = |of: &Found| {
                let all = of.decisions.iter().enumerate().filter(|(k, _)| *k != number);
                all.map(|(_, d)| d.steps.clone()).collect::<Vec<_>>()
            };
            let rule = |of: &Found| of.decisions.get(number).and_then(|d| d.rule);
            let is_alike = rule(&other) == rule(&found) && others(&other) == others(&found);
            let now = idle(&other);
            skipped = tried;
            if is_alike && now < least {
                if let Some(decision) = other.decisions.get_mut(number) {
                    decision.reason += ", and blocks have the shape of a neighbour's in the same launch";
                }
                (found, least) = (other, now);
            }
        }
    }
    found
}

/// When kernels are lowered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lowering {
    AtTheEnd,
    OfEach,
}

impl Found {
    /// A kernel left as it is: no steps, no decisions.
    pub(crate) fn nothing(kernel: &LoopKernel) -> Found {
        Found { pipeline: Pipeline::new(), kernel: kernel.clone(), decisions: Vec::new() }
    }

    /// A kernel of which nothing can be spread.
    fn without_loops(kernel: &LoopKernel) -> Found {
        let count = kernel.instructions.len();
        let statements = if count == 1 { "its statement".into() } else { format!("its {count} statements") };
        let decision = Decision {
            nest: Name::new(""),
            rule: None,
            reason: format!("the kernel has no loop to spread: one thread executes {statements}"),
            steps: Vec::new(),
            refused: Vec::new(),
            better: Vec::new(),
            loops: 0,
            assumable: Vec::new(),
        };
        Found { decisions: vec![decision], ..Found::nothing(kernel) }
    }

    /// These assumptions alone: values of parameters first, and of the others those that do not
    /// follow.
    fn assuming(kernel: &LoopKernel, all: &BTreeSet<&Assumable>) -> Found {
        let mut found = Found::nothing(kernel);
        let parsed = all.iter().filter_map(|a| Some((*a, Step::parse(&a.step).ok()?)));
        let (others, values): (Vec<_>, Vec<_>) =
            parsed.partition(|(_, step)| matches!(step, Step::Assume(_)));
        for (assumable, step) in values.into_iter().chain(others) {
            if let Step::Assume(assume) = &step
                && System::new(&found.kernel.assumptions)
                    .and_then(|known| known.implies_all(&assume.constraints))
                    .unwrap_or(false)
            {
                continue;
            }
            let Ok(kernel) = step.proved(&found.kernel) else { continue };
            found.kernel = kernel;
            found.pipeline = found.pipeline.step(step.clone());
            found.decisions.push(Decision {
                nest: Name::new(""),
                rule: Some("launch"),
                reason: format!("{} in the launch that is meant", assumable.why),
                steps: vec![step],
                refused: Vec::new(),
                better: Vec::new(),
                loops: 0,
                assumable: Vec::new(),
            });
        }
        found
    }

    /// Steps that were found before, as one decision, with the reason.
    ///
    /// Errors: those of the steps.
    pub fn given(kernel: &LoopKernel, steps: &[Step], reason: String) -> Result<Found, Diagnostic> {
        let pipeline: Pipeline = steps.iter().cloned().collect();
        let decision = Decision {
            nest: Name::new(""),
            rule: Some("record"),
            reason,
            steps: steps.to_vec(),
            refused: Vec::new(),
            better: Vec::new(),
            loops: 0,
            assumable: Vec::new(),
        };
        Ok(Found { kernel: pipeline.apply(kernel)?, pipeline, decisions: vec![decision] })
    }

    /// The same without the wishes that come to nothing: with what they would have declared the
    /// same steps are found, and none of them is about vectors, which may be whole then. Each wish
    /// that is a step takes a search of its own.
    ///
    /// `kernel`, `target` and `launch` are those that this was found for, by [`auto_for`].
    pub fn with_wishes_tried(mut self, kernel: &LoopKernel, target: &Target, launch: &Launch) -> Found {
        let mut wishes: Vec<&Wish> = Vec::new();
        for wish in self.decisions.iter().flat_map(|d| &d.better) {
            if !wishes.contains(&wish) {
                wishes.push(wish);
            }
        }
        let comes_to_nothing = |wish: &Wish| {
            let Wish::Step { step, .. } = wish else { return None };
            let declared = step.proved(kernel).ok()?;
            let found = found_for(&declared, target, launch, false);
            let vectors = found.kernel.tags.values().any(|tag| *tag == Tag::Vec);
            Some(found.pipeline == self.pipeline && !vectors)
        };
        let vain: Vec<Wish> =
            (wishes.into_iter()).filter(|wish| comes_to_nothing(wish) == Some(true)).cloned().collect();
        for decision in &mut self.decisions {
            decision.better.retain(|wish| !vain.contains(wish));
        }
        self
    }

    /// With what was found after it.
    pub(crate) fn then(mut self, rest: Found) -> Found {
        self.pipeline = self.pipeline.then(&rest.pipeline);
        self.kernel = rest.kernel;
        self.decisions.extend(rest.decisions);
        self
    }

    /// Decides about all nests; false if one has fewer proposals than are to be passed over.
    fn extend(&mut self, judge: &Rc<Judge>, skipped: &[usize], lowering: Lowering) -> bool {
        let mut seen = BTreeSet::new();
        let declared = continued::declared(&self.kernel);
        for nest in Nest::all_judged(&declared, judge) {
            let before = self.kernel.clone();
            let Some(begun) = Begun::new(&before, &nest) else { continue };
            let skip = skipped.get(self.decisions.len()).copied().unwrap_or(0);
            match decide_begun(&begun, &nest, judge, skip, lowering) {
                Continued::Decided(decision, kernel) => self.decided(*decision, kernel),
                Continued::TooFew => return false,
                Continued::Not => {}
            }
        }
        if !self.joined(judge, skipped, lowering) {
            return false;
        }
        // The instructions that the user's steps have put on blocks or on threads, and not on both.
        // What rules have decided about stays.
        let begun = |kernel: &LoopKernel| {
            let all = Nest::all_judged(kernel, judge).into_iter().filter(|nest| !nest.held().is_empty());
            let instructions = all.flat_map(|nest| nest.instructions.clone());
            instructions.map(|i| i.id.clone()).collect::<BTreeSet<Name>>()
        };
        let mut begun = begun(&self.kernel);
        loop {
            let before = self.kernel.clone();
            let all = Nest::all_judged(&before, judge);
            let is_open = |nest: &Nest<'_>| {
                nest.held().is_empty() || nest.instructions.iter().all(|i| begun.contains(&i.id))
            };
            let mut next: Vec<Nest<'_>> =
                all.into_iter().filter(|nest| !seen.contains(&nest.key()) && is_open(nest)).collect();
            let tiles = if next.len() > 1 { next.iter().position(rules::has_tiles) } else { None };
            if next.is_empty() {
                return true;
            }
            let nest = next.swap_remove(tiles.unwrap_or(0));
            seen.insert(nest.key());
            if !nest.held().is_empty() {
                begun.retain(|id| nest.instructions.iter().all(|i| i.id != *id));
            }
            let skip = skipped.get(self.decisions.len()).copied().unwrap_or(0);
            let (decision, kernel) = decide(&nest, judge, skip, lowering);
            if skip > 0 && decision.rule.is_none() {
                return false;
            }
            self.decided(decision, kernel);
        }
    }

    /// Decides which nests become one; false as for [`Found::extend`].
    fn joined(&mut self, judge: &Rc<Judge>, skipped: &[usize], lowering: Lowering) -> bool {
        let mut seen = BTreeSet::new();
        'next: loop {
            let before = self.kernel.clone();
            let nests = Nest::all_judged(&before, judge);
            for rule in BETWEEN {
                for (nest, proposal) in rule.propose(&nests) {
                    let text = proposal.steps.iter().map(|(text, _)| text.as_str()).collect::<Vec<&str>>();
                    if !seen.insert(text.join("\n")) {
                        continue;
                    }
                    let mut refused = Vec::new();
                    let tried = attempt(&before, &proposal, rule.name(), judge, lowering, &mut refused);
                    let Some((kernel, steps)) = tried else { continue };
                    if !stays_parallel(nest, &kernel, judge) {
                        continue;
                    }
                    let mut decision = Decision {
                        nest: nest.root().clone(),
                        rule: Some(rule.name()),
                        reason: proposal.reason,
                        steps,
                        refused,
                        better: Vec::new(),
                        loops: nest.band.len() + nest.inner.len(),
                        assumable: Vec::new(),
                    };
                    match skipped.get(self.decisions.len()).copied().unwrap_or(0) {
                        0 => self.decided(decision, kernel),
                        1 => {
                            decision.reason += "; but apart they cost less";
                            decision.steps.clear();
                            self.decided(decision, before.clone());
                        }
                        _ => return false,
                    }
                    continue 'next;
                }
            }
            return true;
        }
    }

    fn decided(&mut self, decision: Decision, kernel: LoopKernel) {
        self.pipeline = decision.steps.iter().cloned().fold(self.pipeline.clone(), Pipeline::step);
        self.kernel = kernel;
        self.decisions.push(decision);
    }
}

/// Whether the outermost loop of a nest is as parallel after it has been joined with another one,
/// if there is still one of this name.
fn stays_parallel(nest: &Nest<'_>, after: &LoopKernel, judge: &Rc<Judge>) -> bool {
    let joined = Nest::all_judged(after, judge);
    let joined = joined.iter().find(|joined| joined.root() == nest.root());
    joined.is_none_or(|joined| joined.is_parallel(joined.root()) || !nest.is_parallel(nest.root()))
}

/// What came of a nest that a user's steps have begun.
enum Continued {
    Decided(Box<Decision>, LoopKernel),
    /// It has fewer forms than are to be passed over.
    TooFew,
    /// No form of the declared nest goes on from there.
    Not,
}

/// The decision about a nest that a user's steps have begun, as a form of the declared nest that
/// goes on from there.
fn decide_begun(
    begun: &Begun<'_>,
    declared: &Nest<'_>,
    judge: &Judge,
    skip: usize,
    lowering: Lowering,
) -> Continued {
    let mut refused = Vec::new();
    let mut passed: Vec<Vec<Step>> = Vec::new();
    for rule in RULES {
        for proposal in rule.propose(declared, &judge.target) {
            for rest in begun.continued(&proposal) {
                let tried = attempt(begun.kernel(), &rest, rule.name(), judge, lowering, &mut refused);
                let Some((kernel, steps)) = tried else { continue };
                if !steps.iter().any(spreads) || passed.contains(&steps) {
                    continue;
                }
                if passed.len() < skip {
                    passed.push(steps);
                    continue;
                }
                let decision = Decision {
                    nest: declared.root().clone(),
                    rule: Some(rule.name()),
                    reason: rest.reason,
                    steps,
                    refused,
                    better: declared.wishes(),
                    loops: declared.band.len() + declared.inner.len(),
                    assumable: declared.assumable(),
                };
                return Continued::Decided(Box::new(decision), kernel);
            }
        }
    }
    if passed.is_empty() { Continued::Not } else { Continued::TooFew }
}

/// Whether a step spreads loops over the device or over lanes, or moves data to where they are
/// shared: what only divides or unrolls the loops of a finished form is a matter of taste.
fn spreads(step: &Step) -> bool {
    matches!(step, Step::TagInames(_) | Step::AddPrefetch(_))
}

/// The decision about one nest, and the kernel after it; the first `skip` legal proposals are
/// passed over.
fn decide(nest: &Nest<'_>, judge: &Judge, skip: usize, lowering: Lowering) -> (Decision, LoopKernel) {
    let mut refused = Vec::new();
    let mut passed: Vec<Vec<Step>> = Vec::new();
    let decision = |rule, reason, steps, refused| Decision {
        nest: nest.root().clone(),
        rule,
        reason: nest.with_remarks(reason),
        steps,
        refused,
        better: nest.wishes(),
        loops: nest.band.len() + nest.inner.len(),
        assumable: nest.assumable(),
    };
    let rules = if nest.held().is_empty() { RULES } else { BEGUN };
    if nest.held().is_empty() {
        recurrence::wish(nest);
    }
    for rule in rules {
        for proposal in rule.propose(nest, &judge.target) {
            let tried = attempt(nest.kernel, &proposal, rule.name(), judge, lowering, &mut refused);
            let Some((kernel, steps)) = tried else { continue };
            if passed.contains(&steps) {
                continue;
            }
            if passed.len() < skip {
                passed.push(steps);
                continue;
            }
            return (decision(Some(rule.name()), proposal.reason, steps, refused), kernel);
        }
    }
    let reason = match nest.band.iter().chain(&nest.inner).any(|n| nest.is_parallel(n)) {
        _ if !nest.held().is_empty() => {
            format!("under `{}`, the steps before leave no loop that could be spread as well", nest.root())
        }
        true => format!("no rule knows how to spread the loops under `{}`", nest.root()),
        false => format!("no loop under `{}` is parallel as it stands", nest.root()),
    };
    let reason = match judge.lowers(nest.kernel) {
        Err(refusal) => format!("{reason}; lowering refuses the kernel itself: {}", refusal.message),
        Ok(_) => reason,
    };
    (decision(None, reason, Vec::new(), refused), nest.kernel.clone())
}

/// The kernel after the steps of a proposal, and those that were applied; `None` if one that it
/// needs is refused, or the kernel is refused by lowering.
fn attempt(
    kernel: &LoopKernel,
    proposal: &Proposal,
    rule: &'static str,
    judge: &Judge,
    lowering: Lowering,
    refused: &mut Vec<Refused>,
) -> Option<(LoopKernel, Vec<Step>)> {
    let (mut after, mut steps) = (kernel.clone(), Vec::new());
    for (text, is_optional) in &proposal.steps {
        match judge.step(&after, text) {
            Ok((kernel, step)) => {
                after = kernel;
                steps.push(step);
            }
            Err(why) => {
                refused.push(Refused { rule, step: Some(text.clone()), why });
                if !is_optional {
                    return None;
                }
            }
        }
    }
    if lowering == Lowering::OfEach
        && let Err(why) = judge.lowers(&after)
    {
        refused.push(Refused { rule, step: None, why });
        return None;
    }
    Some((after, steps))
}
