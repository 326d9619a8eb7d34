//! The printed CUDA C of every example pipeline. Accept a change with `cargo insta review` (or
//! `INSTA_UPDATE=always cargo test`).

mod common;

use loopwright_cuda_target::cuda_source;
use loopwright_lowering::program::Place;

#[test]
fn the_cuda_c_of_every_example_pipeline() {
    for example in common::examples() {
        let source = cuda_source(&example.program()).unwrap_or_else(|d| panic!("{}: {d}", example.name()));
        let name = format!("{}__{}", example.kernel, example.pipeline);
        insta::with_settings!({
            prepend_module_to_snapshot => false,
            omit_expression => true,
            description => format!("{}\n{}", example.declared, example.steps),
        }, {
            insta::assert_snapshot!(name, source.text);
        });
    }
}

#[test]
fn the_cuda_c_of_the_polybench_pipelines() {
    for example in common::polybench() {
        let source = cuda_source(&example.program()).unwrap_or_else(|d| panic!("{}: {d}", example.name()));
        let name = format!("polybench__{}", example.kernel);
        insta::with_settings!({
            prepend_module_to_snapshot => false,
            omit_expression => true,
            description => format!("{}\n{}", example.declared, example.steps),
        }, {
            insta::assert_snapshot!(name, source.text);
        });
    }
}

/// Each barrier, kernel boundary and host loop of the examples preserves a dependence, which its
/// comment names and two executions exhibit, in declared order if the declared kernel contains
/// both. Joins of partial results need only their line.
#[test]
fn every_barrier_and_boundary_names_its_dependence() {
    let mut shown = 0;
    for example in common::examples().iter().chain(common::polybench()) {
        let program = example.program();
        let text = cuda_source(&program).unwrap_or_else(|d| panic!("{}: {d}", example.name())).text;
        // Comments are wrapped: compare without white space and slashes.
        let plain = |text: &str| text.replace(|c: char| c.is_whitespace() || c == '/', "");
        let text = plain(&text);
        let entries = program.explain().entries;
        let launches = entries.iter().filter(|e| e.place == Place::Boundary).count();
        assert!(launches + 1 >= program.kernels.len(), "{}", example.name());
        for entry in entries {
            let why = entry.reason.trim_start_matches("among the threads of a warp: ");
            let why = why.trim_start_matches("for asynchronous copies: ");
            let said = matches!(entry.place, Place::Copy | Place::Claim) || text.contains(&plain(why));
            assert!(said, "{}: `{why}` is not in the text", example.name());
            match entry.place {
                Place::Barrier if why.contains("partial results") => {}
                Place::Boundary if why.contains("flattened segments") => {}
                Place::Boundary if why.ends_with("it sets to 0 what the blocks count and publish") => {}
                Place::Wait if why == "no copy is under way at the end" => {}
                Place::Barrier | Place::Wait | Place::Boundary | Place::HostLoop => {
                    shown += 1;
                    let [line] = entry.details.as_slice() else {
                        panic!("{}: {why}: {:?}", example.name(), entry.details)
                    };
                    assert!(
                        why.contains(" writes ") && line.contains(" before "),
                        "{}: {why}: {line}",
                        example.name()
                    );
                    assert!(!line.contains("the other way round"), "{}: {line}", example.name());
                }
                Place::Copy => assert!(why.contains("made by `"), "{}: {why}", example.name()),
                Place::Claim => {
                    assert!(why.contains("also runs for padding"), "{}: {why}", example.name());
                    assert!(entry.details[0].len() > "without a guard for ".len(), "{}", example.name());
                }
                Place::Guard => assert!(!why.is_empty()),
            }
        }
    }
    assert!(shown > 40, "{shown}");
}
