//! Pipelines as values: saved, loaded, replayed with every check repeated, compared, and bisected
//! for the step that made a property false.

use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_transforms::{Bisection, Pipeline, Verdict};

/// Each cell from its own old value.
const OWN: &str = "\
kernel own(x: f32[n], n: i32)
assume 0 <= n
domain { [i] : 0 <= i < n }
x[i] = 2.0 * x[i] {id=double}
";

/// Each cell from its neighbour's new value: the loop cannot be spread.
const CHAIN: &str = "\
kernel chain(x: f32[n], n: i32)
assume 0 <= n
domain { [i] : 1 <= i < n }
x[i] = 2.0 * x[i - 1] {id=double}
";

const STEPS: &str = "\
split_iname(i, $block)
together {
    split_iname(i_inner, 4, outer=i_thread, inner=i_lane)
    tag_inames(i_lane: ilp)
}
tag_inames(i_outer: block.x, i_thread: thread.x)
";

fn kernel(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap()
}

fn verdicts(pipeline: &Pipeline, kernel: &LoopKernel) -> Vec<String> {
    let explained = pipeline.explain(kernel);
    let verdict = |outcome: &Result<_, Diagnostic>| match outcome {
        Ok(loopwright_transforms::Judged { verdict: Verdict::Proved { basis, queries }, .. }) => {
            format!("{basis:?} {queries}")
        }
        Ok(judged) => judged.verdict.to_string(),
        Err(refusal) => refusal.to_string(),
    };
    explained.steps.iter().map(|s| verdict(&s.outcome)).collect()
}

#[test]
fn a_loaded_pipeline_is_the_saved_one_and_is_checked_again() {
    let open = Pipeline::parse(STEPS).unwrap();
    for saved in [open.clone(), open.bind([("block", 128)]).unwrap()] {
        let json = serde_json::to_string(&saved).unwrap();
        let loaded: Pipeline = serde_json::from_str(&json).unwrap();
        assert_eq!(loaded, saved);
        assert_eq!(Pipeline::parse(&saved.to_string()).unwrap(), saved);
    }
    let saved = open.bind([("block", 128)]).unwrap();
    let loaded: Pipeline = serde_json::from_str(&serde_json::to_string(&saved).unwrap()).unwrap();
    assert_eq!(loaded.apply(&kernel(OWN)), saved.apply(&kernel(OWN)));
    // Proofs are not saved: the checks are repeated, with different outcomes for another kernel.
    let first = verdicts(&saved, &kernel(OWN));
    assert_eq!(first.len(), 3);
    assert!(first.iter().any(|v| v.starts_with("Order ") && v != "Order 0"), "{first:?}");
    assert_eq!(verdicts(&loaded, &kernel(OWN)), first);
    let refusal = loaded.apply(&kernel(CHAIN)).unwrap_err();
    assert_eq!(refusal.code, saved.apply(&kernel(CHAIN)).unwrap_err().code);
    assert!(refusal.message.starts_with("step 2, `together`: "), "{refusal}");
    assert!(refusal.witness.as_deref().is_some_and(|w| w.contains("must read it")), "{refusal}");
}

#[test]
fn an_explanation_shows_what_each_step_changed() {
    let text =
        Pipeline::parse("split_iname(i, 8)\nspread { unroll(i_inner); tag_inames(i_outer: thread.x) }")
            .unwrap()
            .explain(&kernel(CHAIN))
            .to_string();
    let expected = "\
1. split_iname(i, 8)
   proved: a split in place keeps all executions and their order
   | - x[i] = 2.0 * x[i - 1] {id=double}
   | + domain { [i_outer, i_inner] : 0 <= i_inner <= 7 }
   | + let i = 8*i_outer + i_inner
   | + x[i] = 2.0 * x[i - 1] {id=double, inames=i_outer:i_inner}
   | + tree {
   | +     for i_outer {
   | +         for i_inner {
   | +             double
   | +         }
   | +     }
   | + }
2. unroll(i_inner)
   proved: ";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("3. tag_inames(i_outer: thread.x)\n   refused\n   error["), "{text}");
    assert!(text.contains("step 2, `spread`: "), "{text}");
}

#[test]
fn pipelines_differ_where_their_kernels_do() {
    let parse = |text: &str| Pipeline::parse(text).unwrap();
    // The same kernel by different steps is not a difference.
    let fluent = parse("split_iname(i, 4, outer=a, inner=b)\nsplit_iname(a, 2)");
    let other = parse("split_iname(i, 4)\nrename_iname(i_outer, a)");
    let divergence = fluent.compare(&other, &kernel(OWN)).unwrap();
    assert_eq!(divergence.equal_steps, 0);
    assert!(!divergence.same_end);
    let first = parse("split_iname(i, 4)\nunroll(i_inner)\ntag_inames(i_outer: block.x)");
    let second = parse("split_iname(i, 4)\ntag_inames(i_outer: block.x)\nunroll(i_inner)");
    let divergence = first.compare(&second, &kernel(OWN)).unwrap();
    assert_eq!((divergence.equal_steps, divergence.same_end), (1, true));
    assert!(divergence.to_string().ends_with("the final kernels are equal\n"), "{divergence}");
    assert!(
        first
            .compare(&parse("split_iname(i, 4)\ntag_inames(i_inner: unroll, i_outer: seq)"), &kernel(OWN))
            .is_some()
    );
    // A shorter pipeline differs by the first step that it lacks; a refusal differs from a kernel.
    let shorter = parse("split_iname(i, 4)\nunroll(i_inner)");
    let divergence = first.compare(&shorter, &kernel(CHAIN)).unwrap();
    assert_eq!(divergence.equal_steps, 2);
    let text = divergence.to_string();
    assert!(
        text.starts_with(
            "step 3 differs\n  first:  tag_inames(i_outer: block.x), refused\n  second: no step\n"
        ),
        "{text}"
    );
    assert!(text.contains("+ kernel chain("), "{text}");
    assert!(first.compare(&first.clone(), &kernel(CHAIN)).is_none());
}

#[test]
fn the_first_step_that_made_it_false_is_found() {
    let steps = Pipeline::parse(
        "split_iname(i, 64)\n\
         split_iname(i_inner, 8, outer=a, inner=b)\n\
         unroll(b)\n\
         tag_inames(i_outer: block.x)",
    )
    .unwrap();
    let own = kernel(OWN);
    let loops = |k: &LoopKernel| k.to_string().matches("for ").count();
    let found = |bisection: Bisection| match bisection {
        Bisection::Found(culprit) => (culprit.number, culprit.unknown),
        other => panic!("{other:?}"),
    };
    // The number of loops rises and falls again: the first such step counts.
    assert_eq!(found(steps.bisect(&own, |k| Ok(loops(k) < 3)).unwrap()), (1, vec![]));
    assert_eq!(found(steps.bisect(&own, |k| Ok(loops(k) < 2)).unwrap()), (0, vec![]));
    assert!(matches!(steps.bisect(&own, |_| Ok(true)).unwrap(), Bisection::Holds));
    assert!(matches!(steps.bisect(&own, |k| Ok(loops(k) > 1)).unwrap(), Bisection::NeverHeld));
    // Kernels that cannot be tested are skipped, and reported.
    let unable = || Err(Diagnostic::new("test", "not now"));
    let halfway = |k: &LoopKernel| match k.tags.values().count() {
        _ if loops(k) < 2 => Ok(true),
        0 => unable(),
        tags => Ok(tags < 1),
    };
    let bisection = steps.bisect(&own, halfway).unwrap();
    let text = bisection.to_string();
    assert_eq!(found(bisection), (2, vec![0, 1]));
    let expected = "step 3, `unroll(b)`, or one of the steps 1, 2, after which it cannot be \
                    evaluated, made it false\n\
                    - x[i]";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("\n+ tag b: unroll\n"), "{text}");
    let refused = Pipeline::parse("tag_inames(i: block.x)").unwrap().bisect(&kernel(CHAIN), |_| Ok(true));
    assert!(refused.is_err());
}
