//! The warning about domains that would mean something else as sets.

use loopwright_kernel_ir::LoopKernel;

fn said(domain: &str, lines: &str) -> Vec<String> {
    let text = format!(
        "kernel k(x: f32[n], y: f32[n], z: f32[n, n], n: i32)\nassume 8 <= n\ndomain {domain}\n{lines}\n"
    );
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{}", d.render()));
    kernel.projections().into_iter().map(|d| d.message).collect()
}

#[test]
fn an_instruction_that_lacks_an_iname_runs_for_more_than_the_projection() {
    // 4, ..., n - 1 have no `j`.
    assert_eq!(
        said("{ [i, j] : 0 <= i < n and i <= j < 4 }", "y[i] = x[i]"),
        ["`set_y` runs for each `i`, also where `j` of the same domain has no value"]
    );
    // Each `i` has a `j`.
    assert!(said("{ [i, j] : 0 <= i < n and i <= j < n }", "y[i] = x[i]").is_empty());
    // An empty range of `j` that does not depend on `i` leaves nothing at all.
    assert!(said("{ [i, j] : 0 <= i < n and 9 <= j < n }", "y[i] = x[i]").is_empty());
    assert!(said("{ [i, j] : 0 <= i < n and i < j < n }", "y[i] = sum(j, x[j])").is_empty());
}

#[test]
fn a_nest_that_another_instruction_has_is_meant() {
    let domain = "{ [i, j] : 0 <= i < n and i < j < n }";
    assert!(said(domain, "y[i] = x[i]\nz[i, j] = x[j]").is_empty());
    assert_eq!(said(domain, "y[i] = x[i]").len(), 1);
}

#[test]
fn an_instruction_that_only_bounds_put_into_a_loop_is_overwritten() {
    let domain = "{ [i, j] : 0 <= i < n and i <= j < n }";
    assert_eq!(
        said(domain, "y[0] = sum(j, x[j])"),
        ["`set_y` is in the loop over `i` because the bounds of `j` mention it, and each iteration \
          overwrites `y`"]
    );
    assert_eq!(said(domain, "y[j] = x[j]").len(), 1);
    // A result for each `i`, one that is read there, and what accumulates.
    assert!(said(domain, "y[i] = sum(j, x[j])").is_empty());
    assert!(said(domain, "<> s = sum(j, x[j])\ny[i] = s").is_empty());
    assert!(said(domain, "y[0] = y[0] + sum(j, x[j])").is_empty());
    assert!(said(domain, "y[0] += sum(j, x[j])").is_empty());
}

#[test]
fn the_witness_is_a_point_without_the_iname() {
    let text = "kernel k(x: f32[n], y: f32[n], n: i32)\nassume 8 <= n\n\
                domain { [i, j] : 0 <= i < n and i <= j < 4 }\ny[i] = x[i]";
    let kernel = LoopKernel::parse(text).unwrap();
    let [warning] = &kernel.projections()[..] else { panic!() };
    assert_eq!(warning.witness.as_deref(), Some("i=4, n=8"));
    let pinned = "\
warning[projection]: `set_y` runs for each `i`, also where `j` of the same domain has no value
 --> <kernel>:4:1
  |
4 | y[i] = x[i] {id=set_y}
";
    let shown = warning.render_warning();
    assert!(shown.starts_with(pinned), "{shown}");
}
