//! Shared parts of the tests: realised kernels, and changes by hand that have to be noticed.

#![allow(dead_code)]

use std::sync::Arc;

use loopwright_kernel_ir::{
    Aff, BinaryOp, Constraint, Diagnostic, Expr, Instruction, KernelData, LoopKernel, Name, Reduce, Tree,
};
use loopwright_legality::{Verdict, judge_realization};
use loopwright_realize::{Wanted, realize};
use loopwright_target::Target;
use loopwright_transforms::Pipeline;

pub fn transformed(declared: &str, steps: &str) -> LoopKernel {
    let declared = LoopKernel::parse(declared).unwrap_or_else(|d| panic!("{d}"));
    Pipeline::parse(steps).unwrap().apply(&declared).unwrap_or_else(|d| panic!("{d}"))
}

/// The kernel and its only realisation, which is proved.
pub fn realized(name: &str, declared: &str, steps: &str) -> (LoopKernel, LoopKernel) {
    let before = transformed(declared, steps);
    let realized = realize(&before, &Target::default(), Wanted::All).unwrap();
    let [step] = realized.steps() else { panic!("{name}: {} realisations", realized.steps().len()) };
    assert_eq!(step.name, name);
    let verdict = judge_realization(&before, &step.kernel);
    assert!(matches!(verdict, Verdict::Proved { .. }), "{name}: {verdict}\n{}", step.kernel);
    // It is a kernel as others are, and its text gives it back.
    let again = LoopKernel::parse(&step.kernel.to_text()).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(again, step.kernel);
    (before, step.kernel.clone())
}

pub type Change = (&'static str, &'static dyn Fn(&mut KernelData), &'static str);

/// Each change of the realised kernel is noticed, for the reason that it breaks.
pub fn each_is_noticed(before: &LoopKernel, after: &LoopKernel, changes: &[Change]) {
    for (what, change, reason) in changes {
        let other = after
            .edit(|data| {
                change(data);
                Ok::<(), Diagnostic>(())
            })
            .unwrap();
        assert_ne!(other, *after, "{what} changes nothing");
        match judge_realization(before, &other) {
            Verdict::Unknown { reason: found, .. } => {
                assert!(found.contains(reason), "{what}: {found}\n{other}");
            }
            verdict => panic!("{what}: {verdict}\n{other}"),
        }
    }
}

pub fn instruction<'a>(data: &'a mut KernelData, id: &str) -> &'a mut Instruction {
    data.instructions.iter_mut().find(|i| *i.id == *id).unwrap()
}

/// The value of an instruction that is one reduction, changed.
pub fn reduction(data: &mut KernelData, id: &str, change: impl FnOnce(&mut Reduce)) {
    let instruction = instruction(data, id);
    let Expr::Reduce(reduce) = &instruction.value else { panic!("{id} is no reduction") };
    let mut reduce = (**reduce).clone();
    change(&mut reduce);
    instruction.value = Expr::Reduce(Arc::new(reduce));
}

/// The last constraint of the domain of an iname, which says where it ends, changed.
pub fn end(data: &mut KernelData, iname: &str, change: impl Fn(&Aff) -> Aff) {
    let domain = data.domains.iter_mut().find(|d| d.inames.iter().any(|i| **i == *iname)).unwrap();
    for c in domain.constraints.iter_mut().filter(|c| c.aff.coefficient(&Name::new(iname)) < 0) {
        *c = Constraint { kind: c.kind, aff: change(&c.aff) };
    }
}

pub fn renamed(e: &Expr, from: &str, to: &Expr) -> Expr {
    e.substitute(&|n| (**n == *from).then(|| to.clone()))
}

pub fn one_more(name: &str) -> Expr {
    Expr::binary(BinaryOp::Add, Expr::name(name), Expr::Int(1))
}

/// The place of a leaf among the roots.
pub fn position(trees: &[Tree], part: &str) -> usize {
    trees.iter().position(|t| matches!(t, Tree::Leaf(p) if p.to_string() == part)).unwrap()
}
