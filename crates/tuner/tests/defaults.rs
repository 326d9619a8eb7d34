//! Defaults of the segmented sum without tuning: the static cost chooses among the forms of
//! `examples/tuning` at named lengths.

use crate::machines;

use loopwright_kernel_ir::{DType, LoopKernel};
use loopwright_runtime::cuda::DeviceInfo;
use loopwright_runtime::{Args, Tensor};
use loopwright_transforms::Pipeline;
use loopwright_tuner::{Choice, Machine, Space, choose};

const SHORT: usize = 0;
const LONG: usize = 1;
const ODD_SHORT: usize = 2;
const ODD_LONG: usize = 3;
const CHUNKS: usize = 4;

macro_rules! form {
    ($name:literal, $space:expr) => {{
        let text = include_str!(concat!("../../../examples/tuning/segmented_sum_", $name, ".pipe"));
        (Pipeline::parse(text).expect("a pipeline"), Space::parse($space).expect("a space"))
    }};
}

fn forms() -> [(Pipeline, Space); 5] {
    [
        form!("short", "width in [16, 64, 128]\nrows in [8, 32]\nblock_rows in [32, 64]\n"),
        form!("long", "step in [512, 1024, 2048]\ntile in [2048, 4096]\n"),
        form!("odd_short", "rows in [64, 128]\nwidth in [17, 33]\n"),
        form!("odd_long", "threads in [128, 256]\ntile in [512, 1024]\n"),
        form!("chunks", "chunk in [32768]\nstep in [1024]\ntile in [2048, 4096]\n"),
    ]
}

fn kernel() -> LoopKernel {
    LoopKernel::parse(include_str!("../../../examples/kernels/segmented_sum.lw")).expect("a kernel")
}

/// The choice for rows of a length, 2^28 elements in all, counted on a few rows of at most 2^15.
fn choice(length: usize, machine: &Machine, limits: &DeviceInfo) -> Choice {
    let problem = Args::new().scalar("nseg", ((1usize << 28) / length) as i64).scalar("len", length as i64);
    let sample_length = if length > 1 << 15 { (1 << 15) + length % 4 } else { length };
    let rows = ((1 << 15) / sample_length).max(1);
    let x = Tensor::random(&[rows, sample_length], DType::F32, 5).expect("a tensor");
    choose(&kernel(), &forms(), &problem, &Args::new().tensor("x", &x), machine, limits).expect("a choice")
}

#[test]
fn named_lengths() {
    let (h200, limits) = (Machine::h200(), machines::h200());
    let (on_a100, a100) = (Machine::described(&machines::a100()), machines::a100());
    let mut text = String::new();
    for (length, wanted) in [
        (16, &[SHORT][..]),
        (100, &[SHORT]),
        (512, &[SHORT, LONG]),
        (4096, &[SHORT, LONG]),
        (100_003, &[ODD_LONG]),
        (1 << 20, &[LONG, CHUNKS]),
        // Not used while the model was made.
        (17, &[ODD_SHORT]),
        (1000, &[SHORT, LONG]),
    ] {
        let both = [(&h200, &limits), (&on_a100, &a100)];
        let machines = if matches!(length, 100 | 1_048_576) { &both[..] } else { &both[..1] };
        for (machine, limits) in machines {
            let choice = choice(length, machine, limits);
            let cost = &choice.cost;
            text += &format!(
                "{length} on {}: form {} {}: {:.3} ms, bound {:.3}, moved {:.2}, blocks {}\n",
                machine.device,
                choice.form,
                choice.point,
                cost.estimate_ms,
                cost.bound_ms,
                cost.moved_bytes / cost.necessary_bytes,
                cost.blocks
            );
            assert!(wanted.contains(&choice.form), "{text}");
            assert!(cost.blocks >= f64::from(machine.multiprocessors), "{text}");
            // Rows of 17 are read by lanes of a warp half of which are idle, from sectors that
            // belong to two rows.
            let most = if length == 17 { 1.9 } else { 1.35 };
            assert!(cost.moved_bytes < most * cost.necessary_bytes, "{text}");
            assert!(cost.estimate_ms < 1.6 * cost.bound_ms, "{text}");
        }
    }
    println!("{text}");
}

/// Medians of `benches/RESULTS-archive.md` for 2^28 elements on an H200: of two points of short
/// rows, the slower and the faster one. A thread of either reads its row in one go; the faster
/// point has more bytes in flight while blocks begin and end.
#[test]
fn threads_of_one_round_need_more_bytes_under_way() {
    let (machine, limits) = (Machine::h200(), machines::h200());
    let estimate = |length: usize, space: &str| {
        let forms = [form!("short", space)];
        let problem =
            Args::new().scalar("nseg", ((1usize << 28) / length) as i64).scalar("len", length as i64);
        let x = Tensor::random(&[512, length], DType::F32, 5).expect("a tensor");
        let sample = Args::new().tensor("x", &x);
        choose(&kernel(), &forms, &problem, &sample, &machine, &limits).expect("a choice").cost.estimate_ms
    };
    // 0.2747 and 0.2573 ms.
    let slow = estimate(48, "width in [64]\nrows in [8]\nblock_rows in [16]\n");
    let fast = estimate(48, "width in [64]\nrows in [16]\nblock_rows in [64]\n");
    assert!(slow > 1.03 * fast, "{slow} {fast}");
    assert!(
        (0.97..1.10).contains(&(slow / 0.2747)) && (0.97..1.10).contains(&(fast / 0.2573)),
        "{slow} {fast}"
    );
}

#[test]
fn where_no_form_fits_the_first_refusal_is_told() {
    let problem = Args::new().scalar("nseg", 1000).scalar("len", 7);
    let sample = Args::new().tensor("x", &Tensor::random(&[8, 7], DType::F32, 5).expect("a tensor"));
    let limits = machines::h200();
    let aligned = &forms()[..1];
    let refused =
        choose(&kernel(), aligned, &problem, &sample, &Machine::h200(), &limits).expect_err("7 is odd");
    assert!(refused.to_string().starts_with("error[no-choice]: no form fits this problem: "), "{refused}");
    assert!(refused.message.contains("len"), "{refused}");
}
