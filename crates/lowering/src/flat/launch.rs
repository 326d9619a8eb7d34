//! The three launches of a flattened nest.

use std::rc::Rc;

use loopwright_kernel_ir::{Diagnostic, Name};
use loopwright_legality::flat_nest;

use super::{
    plan::Plan,
    show::{self, Line},
};
use crate::{LowerOptions, analyse::analysis::Analysis, program::Note};

/// The three launches of a nest, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Starts,
    Chunks,
    Join,
}

impl Stage {
    const ALL: [Stage; 3] = [Stage::Starts, Stage::Chunks, Stage::Join];

    /// The number of threads of each block of the launch.
    pub fn threads(self, plan: &Plan) -> u32 {
        match self {
            Stage::Starts => plan.search.threads,
            Stage::Chunks => plan.chunks.threads,
            Stage::Join => plan.join.threads,
        }
    }

    /// The least number of blocks that a multiprocessor must have registers for.
    pub fn min_blocks(self, plan: &Plan) -> Option<u32> {
        match self {
            Stage::Chunks => plan.chunks.min_blocks,
            Stage::Starts | Stage::Join => None,
        }
    }
}

/// One launch of a nest, in the schedule.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(super) plan: Rc<Plan>,
    pub(super) stage: Stage,
}

/// The launches of the nest over the segments of this iname, in order.
///
/// Errors: a nest that [`flat_nest`] refuses; those of [`Plan::new`].
pub(crate) fn launches(
    analysis: &Analysis<'_>,
    options: LowerOptions,
    segment: &Name,
) -> Result<Vec<Launch>, Diagnostic> {
    let missing = || Diagnostic::new("internal", "nothing says how a flattened nest is cut");
    let flat = *analysis.kernel.flat.get(segment).ok_or_else(missing)?;
    let nest = flat_nest(analysis.kernel, segment)?;
    let plan = Rc::new(Plan::new(analysis, options, nest, flat)?);
    Ok(Stage::ALL.map(|stage| Launch { plan: plan.clone(), stage }).into())
}

impl Launch {
    /// Whether this launch runs the parts of the nest.
    pub fn has_parts(&self) -> bool {
        self.stage == Stage::Chunks
    }

    /// Why it is a separate launch after the kernel of this name.
    pub fn notes(&self, before: &str) -> Vec<Note> {
        let why = match self.stage {
            Stage::Starts => return Vec::new(),
            Stage::Chunks => "which finds where each chunk of the flattened segments begins",
            Stage::Join => {
                "whose blocks leave partial results of the flattened segments that they have in \
                 common"
            }
        };
        vec![Note::new(format!("launched after {before}, {why}"))]
    }

    /// The number of threads of each block.
    pub fn threads(&self) -> u32 {
        self.stage.threads(&self.plan)
    }

    /// What is decided about it, for the text of a schedule.
    pub fn lines(&self) -> Vec<Line> {
        show::lines(&self.plan, self.stage)
    }
}
