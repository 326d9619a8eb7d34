//! What a rule is.

use loopwright_lowering::Target;

use crate::Nest;

/// Proposes steps for nests of one kind.
pub trait Rule: Sync {
    /// Its name, in explanations.
    fn name(&self) -> &'static str;
    /// The proposals for a nest, the best first; none if it is not of this kind.
    fn propose(&self, nest: &Nest<'_>, target: &Target) -> Vec<Proposal>;
}

/// Proposes steps that make one nest of several, before anything is decided about each.
pub(crate) trait Between: Sync {
    /// Its name, in explanations.
    fn name(&self) -> &'static str;
    /// The proposals, each with its first nest.
    fn propose<'n>(&self, nests: &'n [Nest<'n>]) -> Vec<(&'n Nest<'n>, Proposal)>;
}

/// Steps that a rule proposes for a nest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Each step's text, and whether the others make sense without it.
    pub(crate) steps: Vec<(String, bool)>,
    /// The reason for the proposal, in one sentence.
    pub(crate) reason: String,
}

impl Proposal {
    /// No steps yet, for this reason.
    pub(crate) fn new(reason: impl Into<String>) -> Proposal {
        Proposal { steps: Vec::new(), reason: reason.into() }
    }

    /// Adds a step without which the whole proposal fails.
    pub(crate) fn step(mut self, text: impl Into<String>) -> Proposal {
        self.steps.push((text.into(), false));
        self
    }

    /// Adds a step that is left out if it is refused.
    pub(crate) fn optional(mut self, text: impl Into<String>) -> Proposal {
        self.steps.push((text.into(), true));
        self
    }

    /// Hints that come before the other steps, with what they are for; each is left out if it is
    /// refused.
    pub(crate) fn hinted(mut self, hints: impl IntoIterator<Item = String>, why: &str) -> Proposal {
        let hints = hints.into_iter().map(|text| (text, true));
        self.steps.splice(..0, hints);
        self.reason += &format!("; {why}");
        self
    }
}
