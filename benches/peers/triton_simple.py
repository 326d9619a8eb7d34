"""Simple Triton kernels, as one would write them first: rows in one piece, columns and products in
tiles. Lengths are whole."""

import torch
import triton
import triton.language as tl

from triton_fused import best, each


@triton.jit
def axpy(x, y, out, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 1.5 * tl.load(x + i) + tl.load(y + i))


@triton.jit
def columns(x, out, m, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr, PART: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    first = tl.program_id(1) * PART
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, PART, ROWS):
        row = first + start + tl.arange(0, ROWS)
        total += tl.load(x + row.to(tl.int64)[:, None] * n + column[None, :])
    tl.atomic_add(out + column, tl.sum(total, 0))


@triton.jit
def product(a, b, c, m, n, l, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    # Blocks in groups of rows, which share what they read.
    number, across = tl.program_id(0), n // BN
    group = number // (GROUP * across)
    within = number % (GROUP * across)
    rows = (group * GROUP + within % GROUP) * BM + tl.arange(0, BM)
    cols = (within // GROUP) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, l, BK):
        left = tl.load(a + rows[:, None] * l + (start + k)[None, :])
        right = tl.load(b + cols[None, :] * l + (start + k)[:, None])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * n + cols[None, :], total.to(tl.bfloat16))


def simple(name, tensors):
    """A launch that returns its result, the fastest of a few shapes; none where there is no simple
    kernel."""
    if name == "axpy":
        x, y = tensors
        out = torch.empty_like(x)

        def launch(block, warps):
            return lambda: axpy[(x.numel() // block,)](x, y, out, block, num_warps=warps)

        candidates = [(0, launch(block, warps)) for block, warps in ((1024, 4), (2048, 4), (4096, 8))]
    elif name in ("softmax", "layer_norm", "log_sum_exp"):
        x = tensors[0]
        count, length = x.shape
        gain, bias = tensors[1:] if name == "layer_norm" else (x, x)
        out = torch.empty(count, device="cuda") if name == "log_sum_exp" else torch.empty_like(x)
        number = {"softmax": 0, "layer_norm": 1, "log_sum_exp": 2}[name]

        def launch(warps):
            return lambda: each[(count,)](x, out, gain, bias, 1.5, number, length, 1, False, num_warps=warps)

        candidates = [(0, launch(warps)) for warps in (4, 8, 16)]
    elif name == "column_sum":
        (x,) = tensors
        m, n = x.shape
        out = torch.empty(n, device="cuda")

        def launch(rows, width, parts):
            def run():
                out.zero_()
                columns[(n // width, parts)](x, out, m, n, rows, width, m // parts, num_warps=4)

            return run

        candidates = [(0, launch(rows, width, parts)) for rows, width in ((16, 128), (8, 256)) for parts in (8, 32)]
    elif name == "matmul_bf16":
        a, b = tensors
        (m, l), n = a.shape, b.shape[0]
        out = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")

        def launch(bm, bn, bk, warps, stages):
            grid = (m // bm * (n // bn),)
            return lambda: product[grid](a, b, out, m, n, l, bm, bn, bk, 8, num_warps=warps, num_stages=stages)

        candidates = [(0, launch(*shape)) for shape in ((128, 128, 64, 4, 4), (128, 256, 64, 8, 3), (256, 128, 64, 8, 3))]
    else:
        return None
    chosen = best(candidates)[1]

    def run():
        chosen()
        return out

    return run
