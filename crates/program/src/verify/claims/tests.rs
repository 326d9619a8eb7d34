//! The values of a state that the results of an operator need.

use loopwright_kernel_ir::LoopKernel;

use super::needed_state;

/// The third value decides what becomes of the first one alone, which it does by the second
/// operand: a state, where partial results are joined.
#[test]
fn a_value_that_one_of_the_needed_ones_is_made_of_is_needed() {
    let text = "\
kernel k(x: f32[n], y: f32[1], n: i32)
assume 0 <= n
domain { [i] : 0 <= i < n }
reduction total(v) {
    state s: like v = 0.0, c: i32 = 0, some: bool = false, most: like v = 0.0
    lift s = v, c = 1, some = true, most = v
    combine s = if(b.some, a.s + b.s, a.s), c = a.c + b.c, some = a.some or b.some, most = max(a.most, b.most)
    result s * c
    commutes
    trusted \"for the test\"
}
y[0] = total(i, x[i]) {id=row}
";
    let kernel = LoopKernel::parse(text).unwrap_or_else(|d| panic!("{}", d.render()));
    let operator = kernel.operator("total").unwrap();
    assert_eq!(needed_state(&operator, true), [0, 1, 2]);
    assert_eq!(needed_state(&operator, false), [0, 1]);
}
