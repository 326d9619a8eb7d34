"""y += a*x by Triton."""

import triton
import triton.language as tl


@triton.jit
def axpy(x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(y + i, a * tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)
