//! A sweep over the open parameters of a pipeline: how many lanes share a segment, how many segments a block has, how many loads a
//! lane has in flight.
//!
//! Candidates are compiled side by side. On a GPU they are timed; without one they are ranked by what the emulator counts. A
//! candidate that is not legal is a result like the others, with its reason.

#[path = "common/segmented.rs"]
mod segmented;

use std::error::Error;

use loopwright::prelude::*;
use rayon::prelude::*;

/// `$lanes` threads share a segment, `$rows` segments share a block, each thread has `$unroll` accumulators.
const PIPELINE: &str = "
    split_iname(s, $rows)
    split_iname(i, $lanes, outer=i_rest, inner=i_lane)
    split_iname(i_rest, $unroll, outer=i_step, inner=i_part)
    tag_inames(s_outer: block.x, s_inner: thread.y, i_lane: thread.x, i_part: ilp)
";

struct Candidate {
    name: String,
    /// The time in ms on a GPU, otherwise the emulator's estimate of the work; or why there is none.
    cost: Result<f64, Diagnostic>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::best();
    let kernel = LoopKernel::parse(segmented::KERNEL)?;
    let pipeline = Pipeline::parse(PIPELINE)?;
    println!("parameters: {:?}, device: {}", pipeline.parameters(), device.name());

    let mut grid = Vec::new();
    for lanes in [8, 32, 128] {
        for rows in [1, 4, 16] {
            for unroll in [1, 4] {
                grid.push((lanes, rows, unroll));
            }
        }
    }
    let (segments, length) = if device.is_gpu() { (1 << 16, 1024) } else { (64, 1000) };
    let x = segmented::random(&[segments, length], 3)?;
    let args = Args::new().tensor("x", &x);

    let compiled: Vec<(String, Result<Compiled, Diagnostic>)> = grid
        .par_iter()
        .map(|&(lanes, rows, unroll)| {
            let make = || {
                let bound = pipeline.bind([("lanes", lanes), ("rows", rows), ("unroll", unroll)])?;
                device.compile(&bound.apply(&kernel)?)
            };
            (format!("lanes={lanes} rows={rows} unroll={unroll}"), make())
        })
        .collect();
    // One after the other, so that they do not disturb each other's times.
    let mut candidates: Vec<Candidate> = compiled
        .into_iter()
        .map(|(name, compiled)| Candidate { name, cost: compiled.and_then(|c| cost(&c, &args, &x)) })
        .collect();
    candidates.sort_by(|a, b| match (&a.cost, &b.cost) {
        (Ok(x), Ok(y)) => x.total_cmp(y),
        (x, y) => x.is_err().cmp(&y.is_err()),
    });

    for candidate in &candidates {
        match &candidate.cost {
            Ok(cost) if device.is_gpu() => println!("{cost:10.4} ms   {}", candidate.name),
            Ok(cost) => println!("{cost:10.0} work {}", candidate.name),
            Err(why) => println!("   refused   {}: {}", candidate.name, why.message),
        }
    }
    assert!(candidates[0].cost.is_ok(), "the best candidate is legal");
    assert!(
        candidates.iter().any(|c| c.cost.is_err()),
        "128 lanes x 16 rows are more threads than a block has"
    );
    Ok(())
}

/// Checks the result, then measures: by the median of 20 launches, or by the emulator's counts.
fn cost(compiled: &Compiled, args: &Args, x: &Tensor) -> Result<f64, Diagnostic> {
    let bound = compiled.bind(args)?;
    let outputs = bound.run()?;
    let wrong = segmented::compare(x, outputs.get("out")?).wrong;
    if wrong > 0 {
        return Err(Diagnostic::new("wrong-result", format!("{wrong} sums are wrong")));
    }
    if let Some(report) = outputs.report {
        // Sectors cost most; then what warps execute, idle lanes included; then what everyone waits for.
        let c = report.total;
        let sectors = c.global_loads.sectors + c.global_stores.sectors;
        return Ok((8 * sectors + (c.active_lanes + c.idle_lanes) / 32 + 8 * c.barriers) as f64);
    }
    let mut times = bound.time(20)?;
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
