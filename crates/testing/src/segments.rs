//! Kernels over segments of unequal length.

/// The text of a kernel over `nseg` segments of `n` elements that ends with the given instruction.
/// `head` stands before its domains, `outputs` among its arguments.
pub fn kernel(head: &str, outputs: &str, instruction: &str) -> String {
    format!(
        "\
kernel k(x: i32[n], w: i32[nseg], offsets: i32[nseg + 1], {outputs}, n: i32, nseg: i32)
assume 0 <= n and 0 <= nseg
fact monotone(offsets)
fact 0 <= offsets <= n
{head}domain {{ [s] : 0 <= s < nseg }}
domain {{ [i] : lo <= i < hi }}
temp lo: i32 private
temp hi: i32 private
lo = offsets[s]
hi = offsets[s + 1]
{instruction}
"
    )
}
