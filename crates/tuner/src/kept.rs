//! Bytes that have to move because a program keeps values in global memory for itself.
//!
//! What instructions leave for later ones in an array of the program's own is written once, and
//! read by each launch other than the one that writes it, which finds it in a cache. Of each array
//! a launch moves what it asks for, and the array at most. Arrays that the second-level cache holds
//! together cost nothing.

use std::collections::BTreeMap;

use loopwright_kernel_ir::Name;
use loopwright_program::{Owner, eval_host};

use crate::Counted;

/// The bytes that all launches move of the program's own arrays, if those are larger than the
/// cache; otherwise 0.
pub(crate) fn kept_bytes(counted: &Counted<'_>, cache: f64) -> f64 {
    let Counted { program, report, work, integers, .. } = counted;
    let own: BTreeMap<&Name, f64> = program
        .globals
        .iter()
        .filter(|global| global.owner == Owner::Launch)
        .map(|global| {
            let axis = |value| Some(eval_host(value, &|name: &Name| integers.get(name).copied())? as f64);
            let elements = global.shape.iter().map(axis).product::<Option<f64>>();
            let bytes = elements.map(|n| n.max(0.0) * global.dtype.bytes() as f64);
            (&global.name, bytes.unwrap_or(f64::INFINITY))
        })
        .collect();
    let sector = f64::from(program.target.sector);
    let (mut all, mut sizes) = (0.0, BTreeMap::new());
    for (kernel, (_, counters)) in report.kernels.iter().enumerate() {
        let launches = counters.launches as f64 * counted.launches;
        let mut moved: BTreeMap<(&Name, bool), f64> = BTreeMap::new();
        let accesses = report.accesses.iter().filter(|a| a.kernel == kernel && !a.shared);
        for access in accesses.filter(|a| own.contains_key(&a.array)) {
            let bytes = access.traffic.passes as f64 * sector * work;
            *moved.entry((&access.array, access.write)).or_insert(0.0) += bytes;
        }
        for ((array, is_write), bytes) in &moved {
            let size = own.get(array).copied().unwrap_or(f64::INFINITY);
            let most = sizes.entry(*array).or_insert(0.0f64);
            *most = most.max(size.min(*bytes));
            if *is_write || !moved.contains_key(&(*array, true)) {
                all += bytes.min(launches * size);
            }
        }
    }
    if sizes.values().sum::<f64>() <= cache { 0.0 } else { all }
}

#[cfg(test)]
mod tests {
    use loopwright_kernel_ir::{DType, LoopKernel};
    use loopwright_runtime::{Args, Device, Tensor};
    use loopwright_transforms::Pipeline;

    use super::*;
    use crate::{Cost, Machine, estimate_at};

    /// The cost of two maps, the second of which reads what the first one leaves in `t`.
    fn cost(declared: &str, steps: &str, n: i64) -> Cost {
        let text = format!(
            "kernel chain(x: f32[n], {declared}z: f32[n], n: i32)\nassume 0 <= n\n\
             domain {{ [i] : 0 <= i < n }}\ndomain {{ [j] : 0 <= j < n }}\n{}\
             t[i] = 2*x[i] {{id=first}}\nz[j] = t[j] + 1 {{id=second}}\n",
            if declared.is_empty() { "temp t: f32[n] global\n" } else { "" }
        );
        let first = if steps.contains("subst") { "" } else { "split_iname(i, 1024)\n" };
        let steps =
            format!("{steps}{first}split_iname(j, 1024)\ntag_inames(*_outer: block.x, *_inner: thread.x)");
        let kernel = LoopKernel::parse(&text).expect("a kernel");
        let kernel = Pipeline::parse(&steps).and_then(|p| p.apply(&kernel)).expect("legal steps");
        let zeros = |n: usize| Tensor::zeros(&[n], DType::F32).expect("a tensor");
        let args = Args::new().tensor("x", &zeros(1024)).scalar("n", 1024);
        let args = if declared.is_empty() { args } else { args.tensor("t", &zeros(1024)) };
        estimate_at(&kernel, &args, &BTreeMap::from([(Name::new("n"), n)]), &Machine::h200()).expect("a cost")
    }

    #[test]
    fn arrays_of_the_program_are_written_to_memory() {
        let (array, large) = (4.0 * f64::from(1 << 28), 1 << 28);
        // One launch, which writes the array; a second one reads it.
        assert_eq!(cost("", "", large).kept_bytes, array);
        assert_eq!(cost("", "begin_launch(second)\n", large).kept_bytes, 2.0 * array);
        // What a cache holds, what is the caller's, and what is not there.
        assert_eq!(cost("", "", 1 << 20).kept_bytes, 0.0);
        assert_eq!(cost("t: f32[n], ", "", large).kept_bytes, 0.0);
        let inlined = cost("", "assignment_to_subst(t)\n", large);
        assert_eq!(inlined.kept_bytes, 0.0);
        let (kept, machine) = (cost("", "", large), Machine::h200());
        let mut free = Cost { kept_bytes: 0.0, ..kept };
        free.estimate(&machine, Device::emulator().limits());
        assert!(kept.estimate_ms > 1.4 * free.estimate_ms, "{} and {}", kept.estimate_ms, free.estimate_ms);
    }
}
