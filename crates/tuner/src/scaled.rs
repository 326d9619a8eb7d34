//! The static cost of one kernel for a large problem, from counts of a small one.
//!
//! Counts of a problem that is small enough for the emulator say little by themselves: launches and
//! idle multiprocessors decide there. So they are scaled: counts by the work, bytes by the arrays,
//! launches by the loops of the host. Grids are those of the large problem.

use std::collections::BTreeMap;

use loopwright_kernel_ir::{Arg, Diagnostic, LoopKernel, Name, Tag};
use loopwright_runtime::{Args, Device, known};

use crate::{Cost, Counted, Machine, judge::necessary_bytes, points::iterations, work::Work};

/// The static cost of a transformed kernel on a machine for a problem with these integers: it runs
/// on the emulator for small arguments, and what is counted there is scaled.
///
/// The small problem should be one that the tiles of the kernel divide, since idle threads are
/// scaled too. Where data decide about the bounds of loops, work grows with the bytes of the
/// arrays.
///
/// Errors: those of lowering, of arguments that do not fit, and what the emulator finds.
pub fn estimate_at(
    kernel: &LoopKernel,
    sample: &Args,
    problem: &BTreeMap<Name, i64>,
    machine: &Machine,
) -> Result<Cost, Diagnostic> {
    let emulator = Device::emulator();
    let bound = emulator.compile(kernel)?.bind(sample)?;
    let necessary_bytes = necessary_bytes(&bound)?;
    let report = bound.run()?.report.unwrap_or_default();
    let declared = kernel.declared();
    let small = known(declared, sample)?.integers;
    let ratio = |large: Option<f64>, small: Option<f64>| match (large, small) {
        (Some(large), Some(small)) if small > 0.0 => Some(large / small),
        _ => None,
    };
    let scale = ratio(Some(bytes(declared, problem)), Some(bytes(declared, &small))).unwrap_or(1.0);
    let is_scan = |id: &Name| kernel.instruction(id).is_some_and(|i| i.scan.is_some());
    let work = Work::of(declared, &is_scan);
    let of = |integers| work.at(integers);
    let counted = Counted {
        program: bound.program(),
        report: &report,
        resources: &[],
        necessary_bytes,
        scale,
        work: ratio(of(problem), of(&small)).unwrap_or(scale),
        launches: ratio(host_iterations(kernel, problem), host_iterations(kernel, &small)).unwrap_or(1.0),
        integers: problem,
    };
    Ok(Cost::of(&counted, machine, emulator.limits()))
}

/// Bytes of all arrays at these sizes.
fn bytes(declared: &LoopKernel, integers: &BTreeMap<Name, i64>) -> f64 {
    let of = |arg: &Arg| match arg {
        Arg::Array(a) => {
            let length = |e: &loopwright_kernel_ir::Expr| Some(e.to_aff()?.eval_in(integers)? as f64);
            let elements = a.axes.iter().map(|x| length(&x.length)).product::<Option<f64>>();
            elements.unwrap_or(0.0) * a.dtype.known().map_or(4, |t| t.bytes()) as f64
        }
        Arg::Scalar(_) => 0.0,
    };
    declared.args.iter().map(of).sum()
}

/// The iterations of loops of the host, over all instructions; `None` if the range of one is not
/// known.
fn host_iterations(kernel: &LoopKernel, integers: &BTreeMap<Name, i64>) -> Option<f64> {
    let host = |i: &loopwright_kernel_ir::Instruction| {
        let loops = i.within.iter().enumerate().filter(|(_, n)| kernel.tag(n) == Tag::Host);
        loops.map(|(k, n)| iterations(kernel, n, &i.within[..k], integers)).product::<Option<f64>>()
    };
    kernel.instructions.iter().map(host).sum()
}

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::DType;
    use loopwright_runtime::Tensor;
    use loopwright_transforms::Pipeline;

    use super::*;

    fn estimated(text: &str, steps: &str, small: &Args, n: i64) -> Cost {
        let kernel = LoopKernel::parse(text).expect("a kernel");
        let kernel = Pipeline::parse(steps).and_then(|p| p.apply(&kernel)).expect("legal steps");
        let problem = BTreeMap::from([(Name::new("n"), n)]);
        estimate_at(&kernel, small, &problem, &Machine::h200()).expect("a cost")
    }

    fn zeros(shape: &[usize]) -> Tensor {
        Tensor::zeros(shape, DType::F32).expect("a tensor")
    }

    /// Twice as large is twice the bytes, the work and the blocks, and one launch as before.
    #[test]
    fn counts_grow_with_the_work() {
        let text = "kernel k(x: f32[n], y: f32[n], n: i32)\nassume 0 <= n\n\
                    domain { [i] : 0 <= i < n }\ny[i] = 2*x[i]\n";
        let small = Args::new().tensor("x", &zeros(&[1024])).scalar("n", 1024);
        let steps = "split_iname(i, 128)\ntag_inames(i_outer: block.x, i_inner: thread.x)";
        let of = |n| estimated(text, steps, &small, n);
        let (same, large) = (of(1024), of(1 << 28));
        assert_eq!((same.blocks, large.blocks), (8.0, f64::from(1 << 21)));
        assert_eq!(same.moved_bytes, 8192.0);
        assert_eq!(large.moved_bytes, 8.0 * f64::from(1 << 28));
        assert_eq!(large.necessary_bytes, large.moved_bytes);
        assert_eq!(large.launches, 1.0);
    }

    /// Reductions up to one's own point are quadratic work as they stand, and linear as a scan.
    #[test]
    fn scans_are_linear() {
        let text = "kernel k(x: f32[n], y: f32[n], n: i32)\nassume 0 <= n\n\
                    domain { [i] : 0 <= i < n }\ndomain { [j] : 0 <= j <= i }\n\
                    y[i] = sum(j, x[j])\n";
        let small = Args::new().tensor("x", &zeros(&[256])).scalar("n", 256);
        let growth = |steps: &str| {
            let of = |n| estimated(text, steps, &small, n).global_requests;
            of(1024) / of(256)
        };
        assert_eq!(growth(""), (1024.0 * 1025.0) / (256.0 * 257.0));
        assert_eq!(growth("realize_scan(i, j)"), 4.0);
    }

    /// A loop of the host launches as often as it has iterations.
    #[test]
    fn launches_follow_loops_of_the_host() {
        let text = "kernel k(x: f32[n, n], n: i32)\nassume 1 <= n\n\
                    domain { [t] : 1 <= t < n }\ndomain { [i] : 0 <= i < n }\n\
                    x[t, i] = 2*x[t - 1, i]\n";
        let small = Args::new().tensor("x", &zeros(&[33, 33])).scalar("n", 33);
        let steps = "tag_inames(t: host, i: block.x)";
        assert_eq!(estimated(text, steps, &small, 33).launches, 32.0);
        assert_eq!(estimated(text, steps, &small, 129).launches, 128.0);
        // One iteration each time, at `t`.
        let steps = "index_set_split(i, i < t, suffix=_at)\nindex_set_split(i_at, i_at <= t, suffix=_after)\n\
                     tag_inames(t: host, i_at: host)";
        assert_eq!(
            estimated(text, steps, &small, 129).launches / estimated(text, steps, &small, 33).launches,
            4.0
        );
        // Along a diagonal, where bounds are those of both loops: 2 to 2*n - 2.
        let text = "kernel k(x: f32[n, n], n: i32)\nassume 2 <= n\n\
                    domain { [i, j] : 1 <= i < n and 1 <= j < n }\n\
                    x[i, j] = x[i - 1, j] + x[i, j - 1]\n";
        let steps = "map_domain([i, j] -> [w, i], w = i + j)\ntag_inames(w: host, i: block.x)";
        assert_eq!(estimated(text, steps, &small, 33).launches, 63.0);
        assert_eq!(estimated(text, steps, &small, 129).launches, 255.0);
    }
}
