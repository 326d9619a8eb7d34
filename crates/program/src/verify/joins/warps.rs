//! Warps that are alike are followed once.
//!
//! In the beginning the threads of a warp have partial results of their own, those of another warp
//! others, and nothing else is different. That stays so while each thread does the same with what
//! it has and with what it gets from threads of its warp: put the partial results of one warp for
//! those of another, thread by thread, and what one warp has becomes what the other has. All
//! that is asked of values (whether two states have something in common, whether a term is the
//! operator's) has the same answer then. So the first warp is followed for all, up to the first
//! statement that may tell warps apart: one that depends on a thread's number or goes through
//! memory. From there on all threads are followed.

use std::rc::Rc;

use super::{
    known::{Known, Values},
    parts::Parts,
    run::{Points, Run},
    terms::Term,
};
use crate::{Stmt, Value, ValueKind};

/// How many threads are followed in the beginning, of so many in a block.
pub(super) fn followed_first(points: &Points, threads: usize, warp_size: usize) -> usize {
    let by_warps = matches!(points, Points::Threads) && warp_size > 1 && threads.is_multiple_of(warp_size);
    if by_warps { warp_size } else { threads }
}

/// Whether a statement does in each warp what it does in the others.
pub(super) fn is_alike(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Declare(_) | Stmt::Sync { .. } => true,
        Stmt::Let { value, .. } | Stmt::Set { value, .. } => is_alike_value(value),
        Stmt::For { lower, upper, body, .. } => {
            is_alike_value(lower) && is_alike_value(upper) && body.iter().all(is_alike)
        }
        _ => false,
    }
}

fn is_alike_value(value: &Value) -> bool {
    let mut alike = match value.kind {
        ValueKind::Int(_)
        | ValueKind::Float(_)
        | ValueKind::Bool(_)
        | ValueKind::Var(_)
        | ValueKind::Cast(_)
        | ValueKind::Shuffle { .. }
        | ValueKind::Binary(..)
        | ValueKind::Unary(..)
        | ValueKind::Select(..)
        | ValueKind::Call { .. } => true,
        // They tell threads apart, or are not followed at all.
        ValueKind::ThreadIdx(_)
        | ValueKind::BlockIdx(_)
        | ValueKind::Param(_)
        | ValueKind::Load(_)
        | ValueKind::Any(_)
        | ValueKind::Ballot(_)
        | ValueKind::LeadingZeros(_) => false,
    };
    value.each_child(&mut |child| alike &= is_alike_value(child));
    alike
}

impl Run<'_> {
    /// From here on all threads are followed.
    pub(super) fn follow_all(&mut self) {
        if self.threads == self.all {
            return;
        }
        let warps = self.all / self.threads.max(1);
        for (_, values) in &mut self.cells {
            // What is the same in all threads of the first warp has no partial result of theirs.
            if let [_, _, ..] = values.distinct() {
                *values = of_warps(values.distinct(), warps);
            }
        }
        self.threads = self.all;
    }
}

/// The values of all threads, given those of the first of so many warps.
fn of_warps(first: &[Known], warps: usize) -> Values {
    let mut all = first.to_vec();
    for warp in 1..warps {
        let by = warp * first.len();
        // Threads that have joined their states share what they have.
        let mut moved: Vec<(*const Parts, Rc<Parts>)> = Vec::new();
        all.extend(first.iter().map(|known| match known {
            Known::Parts(parts) => {
                let own = Rc::as_ptr(parts);
                let before = moved.iter().rev().find(|(of, _)| *of == own).map(|(_, moved)| moved.clone());
                Known::Parts(before.unwrap_or_else(|| {
                    let parts = Rc::new(parts.moved(by));
                    moved.push((own, parts.clone()));
                    parts
                }))
            }
            Known::Term(term) => Known::Term(Rc::new(moved_term(term, by))),
            Known::Int(_) | Known::Float(_) | Known::Nothing => known.clone(),
        }));
    }
    Values::of(all)
}

fn moved_term(term: &Term, by: usize) -> Term {
    match term {
        Term::Part(parts) => Term::Part(Rc::new(parts.moved(by))),
        Term::Op(op, args) => Term::Op(op.clone(), args.iter().map(|arg| moved_term(arg, by)).collect()),
        Term::Int(_) | Term::Float(_) | Term::Side(..) => term.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::joins::parts::Content;

    #[test]
    fn other_warps_have_the_partial_results_of_their_own_threads() {
        let part = |content| Known::Parts(Rc::new(Parts { number: Some(0), content }));
        let (size, warps) = (96, 3);
        let both = part(Content::set(size, [0, 5]));
        let twice = Content::single(size, 3).with(&Content::set(size, [3, 4]), true);
        let mut first = vec![both.clone(), both, part(twice.clone()), Known::Int(7), Known::Nothing];
        first.push(Known::Term(Rc::new(Term::Part(Rc::new(Parts { number: None, content: twice })))));
        first.resize(32, Known::Nothing);
        let all = of_warps(&first, warps);
        for warp in 0..warps {
            let by = 32 * warp;
            let content = |lane: usize| match all.at(by + lane) {
                Known::Parts(parts) => parts.content.clone(),
                Known::Term(term) => match &**term {
                    Term::Part(parts) => parts.content.clone(),
                    other => panic!("{other:?}"),
                },
                other => panic!("{other:?}"),
            };
            assert_eq!([content(0), content(1)], [(); 2].map(|()| Content::set(size, [by, by + 5])));
            let again = Content::single(size, by + 3).with(&Content::set(size, [by + 3, by + 4]), true);
            assert!(matches!(again, Content::Set { twice: Some(k), .. } if k == by + 3));
            assert_eq!([content(2), content(5)], [again.clone(), again]);
            assert!(matches!(all.at(by + 3), Known::Int(7)) && matches!(all.at(by + 31), Known::Nothing));
        }
    }

    #[test]
    fn only_what_each_warp_does_with_its_own_is_alike() {
        use loopwright_kernel_ir::{DType, Dim};

        use crate::{BinOp, ShuffleMode, VarId};
        let int = |v| Value::int(DType::I32, v);
        let of = |kind| Value { dtype: DType::F32, kind };
        let own = || of(ValueKind::Var(VarId(0)));
        let shuffled = |operand: Value| {
            let mode = ShuffleMode::Xor;
            of(ValueKind::Shuffle { mode, value: own().into(), operand: operand.into(), width: 32 })
        };
        let set = |value| Stmt::Set { var: VarId(0), value, leaf: None };
        let lane = || Value { dtype: DType::I32, kind: ValueKind::ThreadIdx(Dim::X) };
        assert!(is_alike(&set(Value::binary(BinOp::Add, own(), shuffled(int(16))))));
        assert!(!is_alike(&set(Value::binary(BinOp::Add, own(), shuffled(lane())))));
        assert!(!is_alike(&set(Value::binary(BinOp::Add, own(), lane()))));
        for (points, threads, followed) in [
            (Points::Threads, 256, 32),
            (Points::Threads, 32, 32),
            (Points::Threads, 48, 48),
            (Points::Given(3), 256, 256),
        ] {
            assert_eq!(followed_first(&points, threads, 32), followed);
        }
    }
}
