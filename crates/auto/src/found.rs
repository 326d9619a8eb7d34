//! The search for a pipeline, and its outcome.

use std::{collections::BTreeSet, fmt};

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_lowering::{LowerOptions, Target, lower};
use loopwright_transforms::{Pipeline, Step, Transform};

use crate::{Nest, Proposal, RULES};

/// What was decided about one nest.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The outermost iname of the nest.
    pub nest: Name,
    /// The name of the rule; `None` if no rule has a form that is legal, and the loops stay as they
    /// are.
    pub rule: Option<&'static str>,
    /// The reason, in one sentence.
    pub reason: String,
    /// The steps.
    pub steps: Vec<Step>,
    /// What was proposed before, and refused.
    pub refused: Vec<Refused>,
}

/// A proposal that was refused, or a step of one that was left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The name of the rule.
    pub rule: &'static str,
    /// The text of the step that was refused; `None` if it was the finished kernel.
    pub step: Option<String>,
    /// Why.
    pub why: Diagnostic,
}

/// A pipeline for a kernel, with the reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The steps.
    pub pipeline: Pipeline,
    /// The kernel after these steps.
    pub kernel: LoopKernel,
    /// The decisions, in the order of the steps.
    pub decisions: Vec<Decision>,
}

/// The decisions: the rule and the reason as a comment, then the steps, in the form of a pipeline's
/// text. The alternate form also has what was refused before, as comments.
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
            writeln!(f, "# {}: {}", d.rule.unwrap_or("no rule"), d.reason)?;
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
    let mut found = Found { pipeline: Pipeline::new(), kernel: kernel.clone(), decisions: Vec::new() };
    extend(&mut found, target, &[]);
    found
}

/// As [`auto`], with the decisions by number that pass over so many legal proposals; the others take
/// the first. `None` if a nest has no more of them.
pub(crate) fn auto_with(kernel: &LoopKernel, target: &Target, skipped: &[usize]) -> Option<Found> {
    let mut found = Found { pipeline: Pipeline::new(), kernel: kernel.clone(), decisions: Vec::new() };
    extend(&mut found, target, skipped).then_some(found)
}

/// Decides about all nests; false if one has fewer proposals than are to be passed over.
fn extend(found: &mut Found, target: &Target, skipped: &[usize]) -> bool {
    let mut seen = BTreeSet::new();
    loop {
        let before = found.kernel.clone();
        let open = Nest::all(&before).into_iter().find(|nest| !seen.contains(&nest.key()));
        let Some(nest) = open else { return true };
        seen.insert(nest.key());
        let skip = skipped.get(found.decisions.len()).copied().unwrap_or(0);
        let (decision, kernel) = decide(&nest, target, skip);
        if skip > 0 && decision.rule.is_none() {
            return false;
        }
        found.pipeline = decision.steps.iter().cloned().fold(found.pipeline.clone(), Pipeline::step);
        found.kernel = kernel;
        found.decisions.push(decision);
    }
}

/// The decision about one nest, and the kernel after it, passing over so many legal proposals.
fn decide(nest: &Nest<'_>, target: &Target, skip: usize) -> (Decision, LoopKernel) {
    let mut refused = Vec::new();
    let mut passed: Vec<Vec<Step>> = Vec::new();
    for rule in RULES {
        for proposal in rule.propose(nest, target) {
            let Some((kernel, steps)) = attempt(nest.kernel, &proposal, rule.name(), target, &mut refused)
            else {
                continue;
            };
            if passed.contains(&steps) {
                continue;
            }
            if passed.len() < skip {
                passed.push(steps);
                continue;
            }
            let (name, reason) = (Some(rule.name()), proposal.reason);
            let decision = Decision { nest: nest.root().clone(), rule: name, reason, steps, refused };
            return (decision, kernel);
        }
    }
    let reason = match nest.band.iter().chain(&nest.inner).any(|n| nest.is_parallel(n)) {
        true => format!("no rule knows how to spread the loops under `{}`", nest.root()),
        false => format!("no loop under `{}` is parallel as it stands", nest.root()),
    };
    let decision = Decision { nest: nest.root().clone(), rule: None, reason, steps: Vec::new(), refused };
    (decision, nest.kernel.clone())
}

/// The kernel after the steps of a proposal, and those that were applied; `None` if one that it
/// needs is refused, or the kernel is refused by lowering.
fn attempt(
    kernel: &LoopKernel,
    proposal: &Proposal,
    rule: &'static str,
    target: &Target,
    refused: &mut Vec<Refused>,
) -> Option<(LoopKernel, Vec<Step>)> {
    let (mut after, mut steps) = (kernel.clone(), Vec::new());
    for (text, is_optional) in &proposal.steps {
        match Step::parse(text).and_then(|step| Ok((step.apply(&after)?, step))) {
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
    match lower(&after, LowerOptions::default().on(*target)) {
        Ok(_) => Some((after, steps)),
        // Types are bound at launch.
        Err(open) if open.code == "open-type" => Some((after, steps)),
        Err(why) => {
            refused.push(Refused { rule, step: None, why });
            None
        }
    }
}
