//! The kernels whose generation time is tracked: text of a kernel, text of a pipeline.
//!
//! Four typical kernels (symbolic sizes, guards kept), and chains of 50, 100 and 200 statements:
//! through scalars in one parallel loop, through one array with a sequential loop for each
//! statement, and through two buffers in shared memory with a barrier per statement.

use std::fmt::Write;

/// A kernel and its pipeline.
pub struct Case {
    /// The name of the case, such as `axpy` or `loops_100`.
    pub name: String,
    /// The text of the declared kernel.
    pub kernel: String,
    /// The text of the pipeline.
    pub pipeline: String,
}

/// All cases, in the order of the report.
pub fn all() -> Vec<Case> {
    let mut cases = vec![axpy(), matmul(), row_sum(), stencil()];
    for chain in [scalars, loops, shared] {
        cases.extend([50, 100, 200].map(chain));
    }
    cases
}

fn case(name: &str, kernel: &str, pipeline: &str) -> Case {
    Case { name: name.into(), kernel: kernel.into(), pipeline: pipeline.into() }
}

fn axpy() -> Case {
    case("axpy", include_str!("../kernels/axpy.lw"), include_str!("../pipelines/axpy/block_128.pipe"))
}

fn matmul() -> Case {
    case("matmul", include_str!("../kernels/matmul.lw"), include_str!("../pipelines/matmul/tiled_16.pipe"))
}

fn row_sum() -> Case {
    case(
        "row_sum",
        include_str!("../kernels/segmented_sum.lw"),
        include_str!("../pipelines/segmented_sum/block_per_segment.pipe"),
    )
}

fn stencil() -> Case {
    case("stencil", include_str!("../kernels/stencil.lw"), include_str!("../pipelines/stencil/tiled_16.pipe"))
}

/// Writing to a string cannot fail, so the result is ignored.
macro_rules! line {
    ($text:ident, $($arg:tt)*) => {{ let _ = writeln!($text, $($arg)*); }};
}

/// `t1 = t0 * 0.5 + 1`, `t2 = t1 * 0.5 + 2`, ... for each element.
fn scalars(count: usize) -> Case {
    let mut text =
        String::from("kernel scalars(x: f32[n], y: f32[n], n: i32)\ndomain { [i] : 0 <= i < n }\n");
    for k in 0..count - 1 {
        line!(text, "temp t{k}: f32 private");
    }
    line!(text, "t0 = x[i] {{id=s0, inames=i}}");
    for k in 1..count - 1 {
        line!(text, "t{k} = t{} * 0.5 + {k} {{id=s{k}, inames=i}}", k - 1);
    }
    line!(text, "y[i] = t{} {{id=s{}}}", count - 2, count - 1);
    let pipeline = include_str!("../pipelines/axpy/block_128.pipe").into();
    Case { name: format!("scalars_{count}"), kernel: text, pipeline }
}

/// For each row: `y[i, c1] = y[i, c1] * 0.5 + 1` for all c1, then `y[i, c2] = y[i, c2] * 0.5 + 2`
/// for all c2, and so on.
fn loops(count: usize) -> Case {
    let mut text = String::from("kernel loops(x: f32[n, m], y: f32[n, m], n: i32, m: i32)\n");
    line!(text, "domain {{ [i] : 0 <= i < n }}");
    for k in 0..count {
        line!(text, "domain {{ [c{k}] : 0 <= c{k} < m }}");
    }
    line!(text, "y[i, c0] = x[i, c0] {{id=s0}}");
    for k in 1..count {
        line!(text, "y[i, c{k}] = y[i, c{k}] * 0.5 + {k} {{id=s{k}}}");
    }
    let pipeline = include_str!("../pipelines/axpy/block_128.pipe").into();
    Case { name: format!("loops_{count}"), kernel: text, pipeline }
}

/// Each statement reads, mirrored, what the previous one wrote into shared memory.
fn shared(count: usize) -> Case {
    let mut text = String::from("kernel shared(x: f32[n, 128], y: f32[n, 128], n: i32)\n");
    line!(text, "domain {{ [b] : 0 <= b < n }}");
    for k in 0..count {
        line!(text, "domain {{ [t{k}] : 0 <= t{k} < 128 }}");
    }
    line!(text, "temp even: f32[128] shared\ntemp odd: f32[128] shared");
    let buffer = |k: usize| if k.is_multiple_of(2) { "even" } else { "odd" };
    line!(text, "even[t0] = x[b, t0] {{id=s0}}");
    for k in 1..count - 1 {
        let (to, from) = (buffer(k), buffer(k - 1));
        line!(text, "{to}[t{k}] = {from}[127 - t{k}] * 0.5 + {k} {{id=s{k}, inames=b:t{k}}}");
    }
    let (last, from) = (count - 1, buffer(count - 2));
    line!(text, "y[b, t{last}] = {from}[127 - t{last}] {{id=s{last}}}");
    let threads: Vec<String> = (0..count).map(|k| format!("t{k}: thread.x")).collect();
    let pipeline = format!("tag_inames(b: block.x, {})\n", threads.join(", "));
    Case { name: format!("shared_{count}"), kernel: text, pipeline }
}
