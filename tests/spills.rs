//! No example spills: NVRTC takes the text of each without a warning, for three architectures,
//! keeps all values of each device kernel in registers, and needs no stack.
//!
//! A text that has instructions which an architecture lacks says since which it can be compiled, in
//! a line of its head; it is left out for those before. Pipelines with open parameters
//! (`examples/tuning`) are not examples of one text; the tuner reports what their points spill.

use std::collections::BTreeMap;

use loopwright::runtime::{
    Arch,
    nvrtc::{self, CompileOptions},
};
use loopwright_cuda_target::cuda_source;
use rayon::prelude::*;

use crate::common::{self, Example};

const ARCHITECTURES: [Arch; 3] = [Arch::SM_80, Arch::SM_90A, Arch::SM_100A];

/// What is left out, with the architectures that lack an instruction of it; nothing else may be.
const LEFT_OUT: &[(&str, &str)] = &[];

/// The first architecture that has all instructions of a text.
fn since(text: &str) -> u32 {
    let of = |line: &str| line.strip_prefix("// For sm_")?.strip_suffix(" and later.")?.parse().ok();
    text.lines().filter_map(of).max().unwrap_or_default()
}

/// What the compiler warns of, spills or puts on a stack; and the architectures that lack an
/// instruction of the text.
fn compiled(example: &Example) -> (Vec<String>, Vec<Arch>) {
    let name = example.name();
    let source = cuda_source(&example.program()).unwrap_or_else(|d| panic!("{name}: {d}"));
    let least = since(&source.text);
    let (can, cannot): (Vec<Arch>, Vec<Arch>) =
        ARCHITECTURES.into_iter().partition(|arch| arch.number() >= least);
    let mut wrong = Vec::new();
    for arch in can {
        let compiled = nvrtc::compile(&source.text, &CompileOptions::new(arch))
            .unwrap_or_else(|e| panic!("{name}, {arch}: {e}"));
        assert_eq!(compiled.resources.len(), source.kernels.len(), "{name}, {arch}: {}", compiled.log);
        wrong.extend(compiled.warnings().map(|warning| format!("{name}, {arch}: {warning}")));
        for kernel in compiled.resources.iter().filter(|r| r.spills() || r.stack_bytes > 0) {
            wrong.push(format!("{name}, {arch}: {kernel:?}"));
        }
    }
    (wrong, cannot)
}

#[test]
fn no_example_spills() {
    // Its absence is reported by the runtime's own tests.
    if nvrtc::library().is_err() {
        return;
    }
    let more: Vec<Example> = common::products().into_iter().chain(common::from_loopy()).collect();
    let all: Vec<&Example> = common::examples().iter().chain(common::polybench()).chain(&more).collect();
    let outcomes: Vec<_> = all.par_iter().map(|example| (example.name(), compiled(example))).collect();
    let wrong: Vec<&String> = outcomes.iter().flat_map(|(_, (wrong, _))| wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mut left_out: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, (_, cannot)) in outcomes.iter().filter(|(_, (_, cannot))| !cannot.is_empty()) {
        left_out.entry(name).or_default().extend(cannot.iter().map(Arch::to_string));
    }
    let left_out: Vec<(&str, String)> =
        left_out.into_iter().map(|(name, of)| (name, of.join(", "))).collect();
    let expected: Vec<(&str, String)> = LEFT_OUT.iter().map(|(name, of)| (*name, (*of).to_owned())).collect();
    assert_eq!(left_out, expected, "left out for want of an instruction");
    let compiled: usize = outcomes.iter().map(|(_, (_, cannot))| ARCHITECTURES.len() - cannot.len()).sum();
    assert!(compiled > 3 * 100, "only {compiled} binaries");
}
