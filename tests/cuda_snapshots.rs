//! The CUDA C of every example pipeline, as it is printed. `cargo insta review` (or `INSTA_UPDATE=always cargo test`) takes a change.

mod common;

use loopwright_cuda_target::cuda_source;

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
