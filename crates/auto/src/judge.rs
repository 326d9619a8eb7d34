//! Verdicts that proposals share.
//!
//! Proposals for one nest begin alike, and a search makes the same decisions again for each of its
//! candidates. So what came of a step for a kernel, and of lowering it, is kept. Of a lowered
//! program only the shapes of its blocks are.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{Hash, Hasher},
};

use loopwright_kernel_ir::{Diagnostic, LoopKernel, PerDim};
use loopwright_lowering::{LowerOptions, Target, lower, program::DeviceKernel};
use loopwright_transforms::{Step, Transform};

use crate::Launch;

/// A kernel as a key. Of what it hashes, steps change at least something; the rest of a kernel,
/// with the one that was declared, takes longer to hash than many a question takes to answer.
#[derive(Clone, PartialEq, Eq)]
struct Key(LoopKernel);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let kernel = &self.0;
        kernel.tags.hash(state);
        kernel.domains.iter().for_each(|domain| domain.inames.hash(state));
        kernel.temporaries.iter().for_each(|temporary| temporary.name.hash(state));
        kernel.instructions.iter().for_each(|i| i.within.hash(state));
        kernel.assumptions.len().hash(state);
    }
}

/// A kernel after a step, or why there is none.
type Outcome = Result<(LoopKernel, Step), Diagnostic>;

/// The threads of a block along x, y and z, for each device kernel; none if types are open.
pub(crate) type Blocks = Vec<PerDim<i64>>;

/// Applies steps and lowers kernels, each once.
pub(crate) struct Judge {
    pub target: Target,
    /// The launch that is meant.
    pub launch: Launch,
    /// Whether refusals show executions for which a step is wrong. This takes longer, and changes
    /// nothing else.
    pub witnesses: bool,
    steps: RefCell<HashMap<(Key, String), Outcome>>,
    lowered: RefCell<HashMap<Key, Result<Blocks, Diagnostic>>>,
}

impl Judge {
    pub fn new(target: &Target, witnesses: bool) -> Judge {
        Judge {
            target: *target,
            launch: Launch::default(),
            witnesses,
            steps: RefCell::default(),
            lowered: RefCell::default(),
        }
    }

    /// For this launch.
    pub fn meant_for(self, launch: &Launch) -> Judge {
        Judge { launch: launch.clone(), ..self }
    }

    /// The kernel after a step, and the step.
    pub fn step(&self, kernel: &LoopKernel, text: &str) -> Outcome {
        let key = (Key(kernel.clone()), text.to_string());
        if let Some(known) = self.steps.borrow().get(&key) {
            return known.clone();
        }
        let outcome = Step::parse(text).and_then(|step| {
            let after = if self.witnesses { step.apply(kernel)? } else { step.proved(kernel)? };
            Ok((after, step))
        });
        self.steps.borrow_mut().insert(key, outcome.clone());
        outcome
    }

    /// The blocks of a kernel that is lowered, the final check included.
    pub fn lowers(&self, kernel: &LoopKernel) -> Result<Blocks, Diagnostic> {
        let key = Key(kernel.clone());
        if let Some(known) = self.lowered.borrow().get(&key) {
            return known.clone();
        }
        let outcome = match lower(kernel, LowerOptions::default().on(self.target)) {
            Ok(program) => {
                let block = |k: &DeviceKernel| k.block.map(i64::from);
                Ok(program.kernels.iter().map(block).collect())
            }
            // Types are bound at launch.
            Err(open) if open.code == "open-type" => Ok(Blocks::new()),
            Err(why) => Err(why),
        };
        self.lowered.borrow_mut().insert(key, outcome.clone());
        outcome
    }
}
