//! What a user of loopwright writes: a kernel, a pipeline composed of pieces, and a sweep over its
//! parameter.

use loopwright::prelude::*;
use rayon::prelude::*;

/// The squared length of each row.
pub const KERNEL: &str = "\
kernel row_norms(x: f32[rows, columns], out: f32[rows], rows: i32, columns: i32)
assume 0 <= rows and 0 <= columns
domain { [r] : 0 <= r < rows }
domain { [c] : 0 <= c < columns }
out[r] = sum(c, x[r, c] * x[r, c]) {id=norm}
";

/// `$threads` threads share a row.
pub fn pipeline() -> Result<Pipeline, Diagnostic> {
    let split = Pipeline::parse("split_iname(c, $threads)")?;
    let tags = Pipeline::parse("tag_inames(r: block.x, c_inner: thread.x)")?;
    Ok(split.then(&tags))
}

/// A candidate's number of threads, and the bytes that it moves or the reason for its refusal.
pub type Candidate = (i64, Result<u64, Diagnostic>);

/// Runs every candidate on the emulator, in parallel.
pub fn sweep(kernel: &LoopKernel, x: &Tensor, threads: &[i64]) -> Result<Vec<Candidate>, Diagnostic> {
    let pipeline = pipeline()?;
    let run = |&count: &i64| {
        let cost = || {
            let kernel = pipeline.bind([("threads", count)])?.apply(kernel)?;
            let outputs = Device::emulator().compile(&kernel)?.run(&Args::new().tensor("x", x))?;
            Ok(outputs.report.map_or(0, |report| report.total.global_bytes_moved()))
        };
        (count, cost())
    };
    Ok(threads.par_iter().map(run).collect())
}
