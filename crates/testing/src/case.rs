//! A random case: a kernel, the steps taken, the program.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Diagnostic, LoopKernel, Name};
use loopwright_lowering::{LowerOptions, lower, program::Program};
use loopwright_transforms::Pipeline;

use crate::{
    kernels::{self, Generated},
    pipelines,
    rng::Rng,
};

/// A kernel's text and steps. [`Case::build`] computes everything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The text of the kernel, as declared.
    pub kernel: String,
    /// The text of each step, in order.
    pub steps: Vec<String>,
}

/// The result of building a case.
#[derive(Clone, Debug)]
pub struct Built {
    /// The kernel as declared.
    pub declared: LoopKernel,
    /// The kernel after all steps.
    pub transformed: LoopKernel,
    /// The program that the transformed kernel was lowered to.
    pub program: Program,
}

/// The numbers of refusals by steps and by lowering, by code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Refusals by steps, by code.
    pub steps: BTreeMap<&'static str, usize>,
    /// Refusals by lowering, by code.
    pub lowering: BTreeMap<&'static str, usize>,
    /// Steps that were applied, by name.
    pub taken: BTreeMap<String, usize>,
    /// The first case that lowering refused, by code.
    pub first: BTreeMap<&'static str, String>,
}

impl Refusals {
    /// Adds the counts of another one to these.
    pub fn add(&mut self, other: &Refusals) {
        for (mine, theirs) in [(&mut self.steps, &other.steps), (&mut self.lowering, &other.lowering)] {
            for (code, count) in theirs {
                *mine.entry(code).or_insert(0) += count;
            }
        }
        for (code, text) in &other.first {
            self.first.entry(code).or_insert_with(|| text.clone());
        }
        for (name, count) in &other.taken {
            *self.taken.entry(name.clone()).or_insert(0) += count;
        }
    }
}

impl Case {
    /// The case of this seed: steps that are refused, or that lowering refuses afterwards, are left
    /// out and counted.
    ///
    /// # Panics
    /// If the random kernel is invalid, or lowering refuses it as declared.
    pub fn random(seed: u64, refusals: &mut Refusals) -> Case {
        let Generated { text, carried } = kernels::kernel(seed);
        let declared = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("seed {seed}\n{text}\n{d}"));
        if let Err(d) = lower(&declared, LowerOptions::default()) {
            panic!("seed {seed}: lowering refuses a kernel as declared\n{text}\n{d}");
        }
        let mut rng = Rng::new(seed ^ 0x5851_f42d_4c95_7f2d);
        let mut kernel = declared.clone();
        let mut steps = Vec::new();
        let mut planned =
            if rng.chance(60) { pipelines::guided(&mut rng, &declared, &carried) } else { Vec::new() };
        planned.reverse();
        let noise = rng.below(12);
        for _ in 0..planned.len() + noise {
            let step = planned.pop().unwrap_or_else(|| pipelines::step(&mut rng, &kernel, &carried));
            let name = step.split('(').next().unwrap_or_default().to_string();
            match apply(&step, &kernel) {
                Err(d) => *refusals.steps.entry(d.code).or_insert(0) += 1,
                Ok(next) => match lower(&next, LowerOptions::default()) {
                    Err(d) => {
                        *refusals.lowering.entry(d.code).or_insert(0) += 1;
                        refusals.first.entry(d.code).or_insert_with(|| {
                            let mut steps = steps.clone();
                            steps.push(step.clone());
                            format!("{}{d}\n", Case { kernel: text.clone(), steps })
                        });
                    }
                    Ok(_) => {
                        *refusals.taken.entry(name).or_insert(0) += 1;
                        kernel = next;
                        steps.push(step);
                    }
                },
            }
        }
        Case { kernel: text, steps }
    }

    /// The kernels and the program, or the refusal.
    pub fn build(&self) -> Result<Built, Diagnostic> {
        let declared = LoopKernel::parse(&self.kernel)
            .map_err(|d| d.0.into_iter().next().unwrap_or_else(|| Diagnostic::new("none", "no kernel")))?;
        let mut transformed = declared.clone();
        for step in &self.steps {
            transformed = apply(step, &transformed)?;
        }
        let program = lower(&transformed, LowerOptions::default())?;
        Ok(Built { declared, transformed, program })
    }

    /// Smaller cases, the smallest first: without some steps, without a line of the kernel.
    pub fn smaller(&self) -> Vec<Case> {
        let mut found = Vec::new();
        let count = self.steps.len();
        for (from, to) in [(0, count / 2), (count / 2, count)] {
            if count > 3 {
                let mut steps = self.steps.clone();
                steps.drain(from..to);
                found.push(Case { kernel: self.kernel.clone(), steps });
            }
        }
        for k in (0..count).rev() {
            let mut steps = self.steps.clone();
            steps.remove(k);
            found.push(Case { kernel: self.kernel.clone(), steps });
        }
        let lines: Vec<&str> = self.kernel.lines().collect();
        for k in (1..lines.len()).rev() {
            let mut fewer = lines.clone();
            fewer.remove(k);
            found.push(Case { kernel: fewer.join("\n") + "\n", steps: self.steps.clone() });
        }
        // Arguments that nothing mentions, and smaller numbers.
        if let Some((head, rest)) = self.kernel.split_once('\n') {
            let open = head.find('(').map_or(0, |k| k + 1);
            let args: Vec<String> = split_arguments(&head[open..head.len() - 1]);
            for k in 0..args.len() {
                let name = args[k].split(':').next().unwrap_or_default();
                if !mentions(rest, name) && !args.iter().enumerate().any(|(n, a)| n != k && mentions(a, name))
                {
                    let mut fewer = args.clone();
                    fewer.remove(k);
                    let kernel = format!("{}{})\n{rest}", &head[..open], fewer.join(", "));
                    found.push(Case { kernel, steps: self.steps.clone() });
                }
            }
        }
        found
    }
}

/// The texts between commas outside brackets.
fn split_arguments(text: &str) -> Vec<String> {
    let mut depth = 0;
    let mut found = vec![String::new()];
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = found.last_mut() {
            last.push(c);
        }
    }
    found.iter().map(|a| a.trim().to_string()).collect()
}

fn mentions(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

fn apply(step: &str, kernel: &LoopKernel) -> Result<LoopKernel, Diagnostic> {
    Pipeline::parse(step)?.apply(kernel)
}

/// The sizes with which a case is run.
pub fn sizes() -> Vec<BTreeMap<Name, i64>> {
    [(0, 3), (1, 1), (5, 9), (17, 4), (8, 33), (12, 20)]
        .into_iter()
        .map(|(n, m)| BTreeMap::from([(Name::new("n"), n), (Name::new("m"), m)]))
        .collect()
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}==== pipeline\n{}\n", self.kernel, self.steps.join("\n"))
    }
}
