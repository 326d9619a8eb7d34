//! The measurements of `codegen_time` for one case.

use std::{error::Error, time::Instant};

use loopwright_cuda_target::cuda_source;
use loopwright_kernel_ir::LoopKernel;
use loopwright_lowering::{LowerOptions, lower, lower_unverified, verify::verify};
use loopwright_transforms::{Basis, Pipeline, Verdict};

use crate::speed_cases::Case;

/// The keys of the stages.
pub const STAGES: [&str; 6] = ["declare", "transform", "lower", "print", "total", "total_without_proofs"];

/// The keys of the figures on legality checks.
pub const QUESTIONS: [&str; 3] = ["questions", "question_median_ms", "question_worst_ms"];

/// Summarises the times of all rounds: [`median`] or [`best`].
pub type Middle = fn(Vec<f64>) -> f64;

/// The number of rounds.
#[derive(Clone, Copy)]
pub struct Turns {
    /// Rounds that are not counted.
    pub warm_up: usize,
    /// Rounds that are counted.
    pub counted: usize,
    /// How the counted rounds are summarised.
    pub middle: Middle,
}

/// The figures of one case, in milliseconds.
pub struct Report {
    /// Times in the order of [`STAGES`].
    pub stages: [f64; 6],
    /// Time of each legality check.
    pub questions: Vec<f64>,
    /// The printed CUDA C.
    pub text: String,
}

impl Report {
    /// Measures a case.
    pub fn of(case: &Case, turns: Turns) -> Result<Report, Box<dyn Error>> {
        let (stages, text) = measure(case, turns)?;
        Ok(Report { stages, questions: ask(case, turns)?, text })
    }

    /// Figures in the order of [`QUESTIONS`].
    pub fn of_questions(&self) -> [f64; 3] {
        let worst = self.questions.iter().copied().fold(0.0, f64::max);
        [self.questions.len() as f64, median(self.questions.clone()), worst]
    }
}

/// The least time; 0 if there are none.
pub fn best(times: Vec<f64>) -> f64 {
    times.into_iter().min_by(f64::total_cmp).unwrap_or(0.0)
}

/// The median time; 0 if there are none.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// The stages and their total, and the text.
fn measure(case: &Case, turns: Turns) -> Result<([f64; 6], String), Box<dyn Error>> {
    let mut times: [Vec<f64>; 6] = Default::default();
    let mut text = String::new();
    for turn in 0..turns.warm_up + turns.counted {
        let ([declared, transformed, lowered, source, total], printed) = generate(case, true)?;
        let ([.., without_proofs], _) = generate(case, false)?;
        let stages = [declared, transformed, lowered, source, total, without_proofs];
        if turn >= turns.warm_up {
            times.iter_mut().zip(stages).for_each(|(all, one)| all.push(one));
        }
        text = printed;
    }
    Ok((times.map(turns.middle), text))
}

/// Goes once from the declared kernel to its text.
fn generate(case: &Case, proofs: bool) -> Result<([f64; 5], String), Box<dyn Error>> {
    let start = Instant::now();
    let kernel = LoopKernel::parse(&case.kernel)?;
    let declared = start.elapsed();
    let transformed_kernel = {
        let pipeline = Pipeline::parse(&case.pipeline)?;
        if proofs { pipeline.apply(&kernel)? } else { pipeline.apply_unjudged(&kernel)? }
    };
    let transformed = start.elapsed();
    let program = if proofs {
        lower(&transformed_kernel, LowerOptions::default())?
    } else {
        lower_unverified(&transformed_kernel, LowerOptions::default())?
    };
    let lowered = start.elapsed();
    let source = cuda_source(&program)?;
    let printed = start.elapsed();
    let stages = [declared, transformed - declared, lowered - transformed, printed - lowered, printed];
    Ok((stages.map(|t| t.as_secs_f64() * 1e3), source.text))
}

/// The time of each legality check: the verdict on each step that no theorem covers, and the final
/// check of the program.
fn ask(case: &Case, turns: Turns) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut questions: Vec<Vec<f64>> = Vec::new();
    for turn in 0..turns.warm_up + turns.counted {
        let mut kernel = LoopKernel::parse(&case.kernel)?;
        let mut times = Vec::new();
        for step in Pipeline::parse(&case.pipeline)?.explain(&kernel).steps {
            let judged = step.outcome?;
            let by_theorem = matches!(judged.verdict, Verdict::Proved { basis: Basis::Theorem(_), .. });
            times.extend((!by_theorem).then_some(judged.judge_microseconds / 1e3));
            kernel = judged.kernel;
        }
        let program = lower_unverified(&kernel, LowerOptions::default())?;
        let start = Instant::now();
        if let Some(refusal) = verify(&program).refusal() {
            return Err(refusal.into());
        }
        times.push(start.elapsed().as_secs_f64() * 1e3);
        questions.resize(times.len(), Vec::new());
        if turn >= turns.warm_up {
            questions.iter_mut().zip(times).for_each(|(all, one)| all.push(one));
        }
    }
    Ok(questions.into_iter().map(turns.middle).collect())
}
