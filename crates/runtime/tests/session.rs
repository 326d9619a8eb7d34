//! Kernels run through the common device interface, each test on the emulator and on a GPU. Without
//! a GPU, its tests are listed as ignored with the reason.

#[path = "session/arguments.rs"]
mod arguments;
#[path = "session/compiled.rs"]
mod compiled;
#[path = "session/expressions.rs"]
mod expressions;
#[path = "session/facts.rs"]
mod facts;
#[path = "session/npy.rs"]
mod npy;
#[path = "session/streams.rs"]
mod streams;
#[path = "session/two_gpus.rs"]
mod two_gpus;

use std::process::ExitCode;

use libtest_mimic::{Arguments as Options, Completion, Failed, Trial};
use loopwright_kernel_ir::{Diagnostic, LoopKernel};
use loopwright_runtime::{Device, Tensor, nvrtc};
use loopwright_transforms::Pipeline;

const SUM: &str = "
kernel segmented_sum(x: f32[nseg, len], out: f32[nseg], nseg: i32, len: i32)
assume 1 <= nseg and 0 <= len
domain { [s] : 0 <= s < nseg }
domain { [i] : 0 <= i < len }
out[s] = sum(i, x[s, i])
";

const BLOCKS: &str = "
split_iname(i, 64)
tag_inames(s: block.x, i_inner: thread.x)
";

const OPEN: &str = "
kernel twice(x: T[n], y: T[n], n: i32)
domain { [i] : 0 <= i < n }
y[i] = x[i] + x[i]
";

/// Few elements, at high positions in the index space.
const FAR: &str = "
kernel far(x: i32[n], y: i32[n], n: i32, start: i64)
assume 0 <= n and 0 <= start
domain { [i] : start <= i < start + n }
y[i - start] = x[i - start] + 1
";

/// `y[i] = x[i] + d`.
const ADD: &str = "
kernel add(x: f32[n], y: f32[n], d: f32, n: i32)
domain { [i] : 0 <= i < n }
y[i] = x[i] + d
";

fn parse(text: &str) -> LoopKernel {
    LoopKernel::parse(text).unwrap_or_else(|e| panic!("{e}\nin\n{text}"))
}

fn kernel(text: &str, pipeline: &str) -> LoopKernel {
    Pipeline::parse(pipeline).and_then(|p| p.apply(&parse(text))).unwrap_or_else(|e| panic!("{e}"))
}

/// An elementwise kernel on a block of 32 threads.
fn elementwise(text: &str) -> LoopKernel {
    kernel(text, "split_iname(i, 32)\ntag_inames(i_outer: block.x, i_inner: thread.x)")
}

fn floats(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_slice(shape, values).unwrap_or_else(|e| panic!("{e}"))
}

fn x() -> Tensor {
    floats(&[3, 4], &(1..=12).map(|v| v as f32).collect::<Vec<_>>())
}

type Outcome = Result<(), Failed>;

/// Fails with the rendered diagnostic.
fn ok<T>(result: Result<T, Diagnostic>) -> Result<T, Failed> {
    result.map_err(|d| Failed::from(d.to_string()))
}

/// Checks that the refusal has exactly this text.
fn refused<T>(result: Result<T, Diagnostic>, text: &str) -> Outcome {
    match result {
        Ok(_) => Err(format!("not refused: {text}").into()),
        Err(d) if d.to_string() == text => Ok(()),
        Err(d) => Err(format!("expected\n{text}\nbut it is\n{d}").into()),
    }
}

type Test = (&'static str, fn(&Device) -> Outcome);

/// A test on a GPU, ignored with the reason if there is none.
fn on_gpu(
    name: impl Into<String>,
    gpu: Result<Device, &'static str>,
    test: impl FnOnce(&Device) -> Result<Completion, Failed> + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || match gpu {
        Ok(device) => test(&device),
        Err(reason) => Ok(Completion::ignored_with(reason)),
    })
}

fn main() -> ExitCode {
    let options = Options::from_args();
    let tests: [Test; 29] = [
        ("a_sum_is_right", arguments::a_sum_is_right),
        ("wrong_arguments_are_refused", arguments::wrong_arguments_are_refused),
        (
            "subscripts_that_were_only_tried_are_checked",
            arguments::subscripts_that_were_only_tried_are_checked,
        ),
        (
            "an_array_that_is_updated_is_not_made_for_the_caller",
            arguments::an_array_that_is_updated_is_not_made_for_the_caller,
        ),
        (
            "numbers_that_no_shape_tells_have_to_be_given",
            arguments::numbers_that_no_shape_tells_have_to_be_given,
        ),
        (
            "numbers_that_the_kernel_fixes_can_be_left_out",
            arguments::numbers_that_the_kernel_fixes_can_be_left_out,
        ),
        ("open_types_are_bound_by_arguments", arguments::open_types_are_bound_by_arguments),
        ("indices_are_as_wide_as_the_arguments_ask", arguments::indices_are_as_wide_as_the_arguments_ask),
        ("facts_are_checked_unless_they_are_trusted", arguments::facts_are_checked_unless_they_are_trusted),
        (
            "what_bounds_and_assumptions_speak_of_is_held_by_i64",
            arguments::what_bounds_and_assumptions_speak_of_is_held_by_i64,
        ),
        ("ranges_hold_up_to_their_ends", facts::ranges_hold_up_to_their_ends),
        (
            "monotone_elements_may_be_equal_and_never_fall",
            facts::monotone_elements_may_be_equal_and_never_fall,
        ),
        ("equal_elements_are_found_wherever_they_are", facts::equal_elements_are_found_wherever_they_are),
        ("facts_are_asked_of_all_arrays_that_have_them", facts::facts_are_asked_of_all_arrays_that_have_them),
        ("conditions_ask_for_wide_indices_too", arguments::conditions_ask_for_wide_indices_too),
        ("floats_become_integers_of_their_range", expressions::floats_become_integers_of_their_range),
        ("integers_wrap_at_the_ends_of_their_range", expressions::integers_wrap_at_the_ends_of_their_range),
        (
            "values_of_inames_wrap_whatever_the_indices_are",
            expressions::values_of_inames_wrap_whatever_the_indices_are,
        ),
        ("data_may_stay_on_the_device", streams::data_may_stay_on_the_device),
        ("an_array_that_is_written_is_given_once", streams::an_array_that_is_written_is_given_once),
        (
            "launches_on_several_streams_have_scratch_of_their_own",
            streams::launches_on_several_streams_have_scratch_of_their_own,
        ),
        ("layouts_are_those_that_the_kernel_declares", arguments::layouts_are_those_that_the_kernel_declares),
        (
            "limits_of_the_device_are_checked_before_the_launch",
            compiled::limits_of_the_device_are_checked_before_the_launch,
        ),
        ("sequences_are_replayed_in_their_order", streams::sequences_are_replayed_in_their_order),
        ("copies_run_beside_the_host", streams::copies_run_beside_the_host),
        ("events_tell_the_time", streams::events_tell_the_time),
        ("stages_show_every_form", compiled::stages_show_every_form),
        ("kernels_are_compiled_and_run_side_by_side", compiled::kernels_are_compiled_and_run_side_by_side),
        ("an_emulated_or_real_device_has_a_name", |device| {
            assert_eq!(device.name().starts_with("emulator ("), !device.is_gpu());
            assert!(device.limits().max_threads_per_block >= 1024);
            Ok(())
        }),
    ];
    let gpu = match (Device::cuda(0), nvrtc::library()) {
        (Ok(device), Ok(_)) => Ok(device),
        (Ok(_), Err(error)) => {
            println!("{error}");
            Err("there is no NVRTC")
        }
        (Err(error), _) if matches!(error.code, "no-driver" | "no-device") => {
            println!("{error}");
            Err("there is no GPU")
        }
        (Err(error), _) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut trials = Vec::new();
    for (name, test) in tests {
        trials.push(Trial::test(format!("emulator::{name}"), move || test(&Device::emulator())));
        let completed = move |device: &Device| test(device).map(|()| Completion::Completed);
        trials.push(on_gpu(format!("gpu::{name}"), gpu.clone(), completed));
    }
    type OnTwo = fn(&Device) -> Result<Completion, Failed>;
    let on_two: [(_, OnTwo); 2] = [
        ("gpu::several_gpus_work_side_by_side", two_gpus::several_gpus_work_side_by_side),
        ("gpu::arrays_are_copied_between_gpus", two_gpus::arrays_are_copied_between_gpus),
    ];
    for (name, test) in on_two {
        trials.push(on_gpu(name, gpu.clone(), test));
    }
    trials.push(Trial::test(
        "faults_of_the_emulator_are_refusals",
        compiled::faults_of_the_emulator_are_refusals,
    ));
    trials.push(Trial::test(
        "ranges_of_indices_are_tight_at_the_edge",
        compiled::ranges_of_indices_are_tight_at_the_edge,
    ));
    trials.push(Trial::test("npy_files_come_back", npy::npy_files_come_back));
    trials.push(Trial::test("malformed_npy_files_are_refused", npy::malformed_npy_files_are_refused));
    trials.push(Trial::test("a_missing_device_says_what_to_do", compiled::a_missing_device_says_what_to_do));
    trials.push(Trial::ignorable_test(
        "binaries_for_other_architectures",
        compiled::binaries_for_other_architectures,
    ));
    trials.push(Trial::ignorable_test(
        "instructions_of_later_architectures_are_refused",
        compiled::instructions_of_later_architectures_are_refused,
    ));
    libtest_mimic::run(&options, trials).exit_code()
}
