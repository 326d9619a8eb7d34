#!/usr/bin/env python3
"""Segmented sums of f32 beside CUB, torch, cuBLAS and Triton, in one process, in alternation.

    cargo build --release --bin loopwright
    benches/peers/segments.py [--equal LENGTHS] [--ragged KINDS] [--json FILE] [--cccl FOLDER] [--loopwright BINARY]
    cargo build --release --bin loopwright --example segmented_reduce
    benches/peers/segments.py --types [CASES]         f16, bf16, f64 and argmax beside torch, nothing else
    benches/peers/segments.py --defaults [CASES]      what is chosen without tuning beside what the tuner finds, nothing else
    benches/peers/segments.py --rows [CASES]          softmax, layer norm, transpose and column sums beside torch, nothing else

Run it from the repository's root on a machine with one GPU, torch, Triton and nvcc. For each case
`loopwright tune` searches the points of examples/tuning, `loopwright export` writes the best one's
binary and launches, and this program launches them on torch's arrays. On 16 cores an equal length
takes 14 s, a case of unequal ones 45 s, or 5 s with --untuned. Segments of unequal length are tuned
on their own offsets, and checked on fewer ones of the same kind; what is taken without tuning is
among the candidates, and needs the example `segmented_reduce` beside the binary.

What is measured, for each case, by events, on 2^28 elements unless --elements says otherwise:

- every peer's median of 10 launches (3, if it takes more than twice as long as ours); of those
  within 5 % of the best, the one that is fastest in rows of launches goes on;
- the ratio: the best peer's time over ours, the median of 30 pairs of launches (5, as above), one
  of each in turn. Behind a peer, a kernel with streaming loads finds the end of the array in the
  second-level cache, and leaves it there: it looks up to 2 % faster at long rows and 8 % at short
  ones. So the ratio of the medians of launches in rows of their own is given as well;
- the spread: how far the median of such pairs of ours against itself is from 1, plus the standard
  error of that median;
- the limit: bytes read at the rate of the fastest kernel that only reads, plus bytes written at the
  rate that a copy leaves for writing, all measured in the same run. Readers are CUB's and torch's
  sums of everything, and CUB's sums of rows of 16384, which write a 16384th.

Of ours, the line of a case names the registers of the launch that can have the most bytes under
way, the blocks of it that are resident on a multiprocessor, and how many KiB their threads can have
under way there: as many loads of each as stand in the machine code ahead of the first use of one of
them.

Results are compared with sums in f64 before anything is timed. What the launches are is in
`exported.py`, the peers in `libraries.py`, how times are taken in `timing.py`.
"""

import argparse
import json
import math
import re
import statistics
import sys
import tempfile
from pathlib import Path

from exported import EXAMPLES, ROOT, Ours
from libraries import Cub, triton_rows
from needed import torch
from timing import Limits, agree, fastest, measure, times

EQUAL = [1 << k for k in range(4, 25)] + [17, 100, 1000, 4097, 100003]
TYPES = [
    f"{operator}:{dtype}:{length}"
    for operator, dtype in (("sum", "f16"), ("sum", "bf16"), ("sum", "f64"), ("argmax", "f32"))
    for length in (64, 4096, 1 << 20)
]
# Eight named shapes, and two lengths that no sweep was made for.
DEFAULTS = ["equal:16", "equal:100", "equal:512", "equal:4096", "equal:100003", "equal:1048576", "power:64", "giant:64"]
DEFAULTS += ["equal:68", "equal:3000"]
ROWS = [f"{kernel}:{length}" for kernel in ("softmax", "layer_norm") for length in (1024, 4096, 16384)]
ROWS += ["log_sum_exp:4096", "transpose:16384", "column_sum:1024", "column_sum:16384"]
RAGGED = [f"{kind}:{mean}" for kind in ("uniform", "power", "giant") for mean in (4, 16, 64, 1024, 65536)]


# --- Cases ----------------------------------------------------------------------------------------

def tuned_equal(sizes, tensors, ours):
    """The best point of examples/tuning for these rows: the space, what the point is, and its
    launch. Candidates are checked on fewer rows, and on shorter ones where they are long, of the
    same remainder."""
    kernel = EXAMPLES / "kernels" / "segmented_sum.lw"
    segments, length = sizes["nseg"], sizes["len"]
    short = length if length <= 1 << 18 else (1 << 18) + length % 4
    sample = {"nseg": max(2, min(segments, (1 << 16) // length)), "len": short}
    found = []
    for name in (n for n, fits in SPACES.items() if fits(length)):
        pipeline, point = ours.tuned(kernel, name, sizes, sample)
        found.append((name, point, ours.exported(kernel, pipeline, sizes, tensors)))
    return found[fastest([f[-1] for f in found])]


def equal(length, x, ours, cub, limits):
    segments = x.numel() // length
    part = x[: segments * length]
    rows, out = part.view(segments, length), torch.empty(segments, device="cuda")
    sizes = {"nseg": segments, "len": length}
    name, point, launch = tuned_equal(sizes, {"x": part, "out": out}, ours)
    expected = rows.double().sum(-1)
    ones = torch.ones(length, device="cuda")
    offsets = torch.arange(0, segments * length + 1, length, dtype=torch.int64, device="cuda").to(torch.int32)
    peers = {
        "CUB, offsets": cub("cub_offsets", part, out, segments, offsets),
        "torch.sum": lambda: torch.sum(rows, -1, out=out),
        "cuBLAS, ones": lambda: torch.mv(rows, ones, out=out),
    }
    if cub.fixed_size:
        peers["CUB, fixed size"] = cub("cub_fixed", part, out, segments, length)
    triton = triton_rows(part, out, length)
    if triton:
        peers["Triton"] = triton
    for what, run in {"ours": launch, **peers}.items():
        out.zero_()
        run()
        agree(out, expected, length, what)
    result = measure(launch, peers, limits.of(part.numel() * 4, segments * 4))
    return {"case": f"equal:{length}", "pipeline": name, "point": point, **result}


# The lengths that the space has kernels for.
STAGED_ROWS = json.loads(re.search(r"len in (\[.*\])", (EXAMPLES / "tuning" / "segmented_sum_staged_rows.space").read_text())[1])

SPACES = {
    # Loads are streaming ones where half of the second-level cache holds all results, else these
    # are stored in waves. (`segmented_reduce` has plain loads, and waves up to rows of 512.)
    "segmented_sum_short": lambda n: n % 4 == 0 and n < 64,
    "segmented_sum_short_waves": lambda n: n % 4 == 0 and n < 64,
    "segmented_sum_short_streaming": lambda n: n % 4 == 0 and 64 <= n <= 2048,
    "segmented_sum_long": lambda n: n % 4 == 0 and n >= 256,
    "segmented_sum_odd_short": lambda n: n % 4 != 0 and n <= 64,
    "segmented_sum_staged_rows": lambda n: n in STAGED_ROWS,
    "segmented_sum_misaligned_short": lambda n: n % 4 != 0 and 128 < n <= 1024,
    "segmented_sum_odd_long": lambda n: n % 4 != 0 and n > 64,
    "segmented_sum_odd_chunks": lambda n: n % 4 != 0 and n > 16384,
    "segmented_sum_misaligned_long": lambda n: n % 4 != 0 and n > 512,
    "segmented_sum_misaligned_chunks": lambda n: n % 4 != 0 and n > 16384,
    "segmented_sum_chunks": lambda n: n % 4 == 0 and n >= 1 << 18,
}


def lengths_of(kind, mean, elements):
    """Lengths that sum to the number of elements."""
    generator = torch.Generator().manual_seed(1)
    segments = elements // mean
    if kind == "uniform":
        lengths = torch.randint(0, 2 * mean + 1, (segments,), generator=generator)
    elif kind == "power":
        # Pareto with exponent 1.5: its mean is three times its least value.
        lengths = (mean / 3 * torch.rand(segments, generator=generator).clamp(min=1e-9) ** (-1 / 1.5)).long()
    elif kind == "giant":
        lengths = torch.full((segments,), mean // 2)
    else:
        raise SystemExit(f"{kind} is none of uniform, power, giant")
    ends = lengths.cumsum(0).clamp(max=elements)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), ends])
    if kind == "giant":
        middle = segments // 2
        offsets[middle:] += elements - offsets[-1]
    offsets[-1] = elements
    return offsets


def sums_between(offsets, x):
    """The sums of the segments, in f64."""
    running = torch.cat([torch.zeros(1, dtype=torch.float64, device="cuda"), x.double().cumsum(0)])
    return running[offsets[1:]] - running[offsets[:-1]]


# Points of the segments that candidates are checked on: enough that the largest tiles of
# examples/tuning leave work for two blocks.
RAGGED_SAMPLE = 1 << 22


def tuned_ragged(kind, mean, offsets, tensors, ours):
    """The best point of examples/tuning for these offsets, checked on fewer of the same kind: the
    space, what the point is, and its launch."""
    kernel = EXAMPLES / "kernels" / "ragged_sum.lw"
    few = lengths_of(kind, mean, RAGGED_SAMPLE).to(torch.int32)
    sizes = {"n": tensors["x"].numel(), "nseg": offsets.numel() - 1}
    sample = {"n": RAGGED_SAMPLE, "nseg": few.numel() - 1}
    arrays = {"offsets": offsets.to(torch.int32)}
    found = []
    for name in ("ragged_sum", "ragged_sum_streaming"):
        pipeline, point = ours.tuned(kernel, name, sizes, sample, arrays, {"offsets": few})
        found.append((name, point, ours.exported(kernel, pipeline, sizes, tensors)))
    return found[fastest([f[-1] for f in found])]


def ragged(kind, mean, x, ours, cub, limits):
    offsets = lengths_of(kind, mean, x.numel())
    segments, narrow = offsets.numel() - 1, offsets.to(torch.int32).cuda()
    out = torch.empty(segments, device="cuda")
    tensors = {"x": x, "out": out, "offsets": narrow}
    if not ours.untuned:
        name, point, launch = tuned_ragged(kind, mean, offsets, tensors, ours)
    lengths = (offsets[1:] - offsets[:-1]).cuda()
    longest = lengths.max().item()
    kernel, pipeline, form = ours.chosen("sum", "f32", "ragged", segments, x.numel(), longest)
    default = ours.exported(kernel, pipeline, {"n": x.numel(), "nseg": segments}, tensors)
    if ours.untuned or fastest([launch, default]) == 1:
        name, point, launch = "untuned", form, default
    expected = sums_between(offsets.cuda(), x)
    peers = {
        "CUB, offsets": cub("cub_offsets", x, out, segments, narrow),
        "torch.segment_reduce": lambda: torch.segment_reduce(x, "sum", lengths=lengths, unsafe=True),
    }
    for what, run in {"ours": launch, "untuned": default, "CUB, offsets": peers["CUB, offsets"]}.items():
        out.zero_()
        run()
        agree(out, expected, longest, what)
    result = measure(launch, peers, limits.of(x.numel() * 4 + (segments + 1) * 4, segments * 4))
    result["peers_ms"]["ours, untuned"] = statistics.median(times(default, 30))
    case = {"case": f"{kind}:{mean}", "pipeline": f"{name}: {point}", "segments": segments, "longest": longest}
    return {**case, **result}


TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


def typed(operator, dtype, length, x, ours, _cub, limits):
    """Other element types and argmax on as many bytes as `x` has, by the untuned default, beside
    torch."""
    size = TORCH[dtype].itemsize
    segments = x.numel() * 4 // size // length
    rows = torch.rand(segments, length, device="cuda", dtype=torch.float32)
    rows = (rows - 0.5).to(TORCH[dtype])
    kernel, pipeline, form = ours.chosen(operator, dtype, "rows", segments, length)
    sizes = {"nseg": segments, "len": length}
    value = torch.empty(segments, device="cuda", dtype=TORCH[dtype])
    written = segments * size
    if operator == "argmax":
        index, place = (torch.empty(segments, device="cuda", dtype=t) for t in (torch.int32, torch.int64))
        ours_launch = ours.exported(kernel, pipeline, sizes, {"x": rows, "value": value, "index": index})
        written += segments * 4
        peers = {
            "torch.max, both": lambda: torch.max(rows, -1, out=(value, place)),
            "torch.argmax": lambda: torch.argmax(rows, -1, out=place),
        }
        ours_launch()
        if not torch.equal(value, rows.amax(-1)) or not torch.equal(rows.gather(1, index.long()[:, None])[:, 0], value):
            raise RuntimeError(f"argmax of {dtype}, rows of {length}: wrong")
    else:
        ours_launch = ours.exported(kernel, pipeline, sizes, {"x": rows, "out": value})
        peers = {"torch.sum": lambda: torch.sum(rows, -1, out=value)}
        ours_launch()
        parts = max(1, (1 << 26) // length)
        expected = torch.cat([part.double().sum(-1) for part in rows.split(parts)])
        # The rounding of the result, and that of adding: in f64 next to none.
        rounding = {"f16": 2**-11, "bf16": 2**-8, "f32": 2**-24, "f64": 2**-50}[dtype]
        adding = 0 if dtype == "f64" else 1e-5 * math.sqrt(length)
        off = (value.double() - expected).abs() - rounding * expected.abs() - adding
        if not (off <= 1e-9).all():
            raise RuntimeError(f"sum of {dtype}, rows of {length}: off by {off.max().item()} more than allowed")
    result = measure(ours_launch, peers, limits.of(rows.numel() * size, written))
    return {"case": f"{operator}:{dtype}:{length}", "pipeline": form, "segments": segments, **result}


def untuned(kind, number, x, ours, cub, limits):
    """What is chosen without tuning, beside what the tuner finds. The spread and the ratio are
    those of `measure`, the tuned form its only peer."""
    if kind == "equal":
        segments = x.numel() // number
        part, out = x[: segments * number], torch.empty(segments, device="cuda")
        sizes, tensors = {"nseg": segments, "len": number}, {"x": part, "out": out}
        name, point, tuned = tuned_equal(sizes, tensors, ours)
        kernel, pipeline, form = ours.chosen("sum", "f32", "rows", segments, number)
        expected, longest, read = part.view(segments, number).double().sum(-1), number, part.numel() * 4
    else:
        offsets = lengths_of(kind, number, x.numel())
        segments, lengths = offsets.numel() - 1, (offsets[1:] - offsets[:-1]).cuda()
        out, longest = torch.empty(segments, device="cuda"), lengths.max().item()
        sizes = {"n": x.numel(), "nseg": segments}
        tensors = {"x": x, "out": out, "offsets": offsets.to(torch.int32).cuda()}
        name, point, tuned = tuned_ragged(kind, number, offsets, tensors, ours)
        kernel, pipeline, form = ours.chosen("sum", "f32", "ragged", segments, x.numel(), longest)
        expected, read = sums_between(offsets.cuda(), x), x.numel() * 4 + (segments + 1) * 4
    default = ours.exported(kernel, pipeline, sizes, tensors)
    for what, run in {"the default": default, f"{name}: {point}": tuned}.items():
        out.zero_()
        run()
        agree(out, expected, longest, what)
    result = measure(default, {f"{name}: {point}": tuned}, limits.of(read, segments * 4))
    return {"case": f"default:{kind}:{number}", "pipeline": form, "segments": segments, **result}


def row_work(kind, number, x, ours, cub, limits):
    """Softmax, layer norm and log-sum-exp, a user's operator, of rows of that many, the transpose
    of a square of that side, the sums of that many columns."""
    kernel = EXAMPLES / "kernels" / f"{kind}.lw"
    count = x.numel() // number
    rows, bytes_of_x = x.view(count, number), x.numel() * 4
    sizes = {"m": count, "n": number}
    if kind == "column_sum":
        out = torch.empty(number, device="cuda")
        sample = {"m": max(1, (1 << 18) // number), "n": number}
        pipeline, point = ours.tuned(kernel, "column_sum", sizes, sample)
        launch = ours.exported(kernel, pipeline, sizes, {"x": rows, "out": out})
        expected = torch.stack([part.double().sum(0) for part in rows.split(max(1, (1 << 26) // number))]).sum(0)
        peers, limit, depth = {"torch.sum": lambda: torch.sum(rows, 0, out=out)}, limits.of(bytes_of_x, number * 4), count
    elif kind == "log_sum_exp":
        out, point = torch.empty(count, device="cuda"), "block_vec4"
        ours.count += 1
        launch = ours.exported(kernel, EXAMPLES / "pipelines" / kind / f"{point}.pipe", sizes, {"x": rows, "y": out})
        expected, limit, depth = torch.logsumexp(rows, -1), limits.of(bytes_of_x, count * 4), 1
        peers = {"torch.logsumexp": lambda: torch.logsumexp(rows, -1, out=out)}
    else:
        point = "tiled_vec4" if kind == "transpose" else f"row_{number}"
        pipeline = EXAMPLES / "pipelines" / kind / f"{point}.pipe"
        ours.count += 1
        limit, depth = 2 * bytes_of_x / limits.copy, 1
        if kind == "transpose":
            out = torch.empty(number, count, device="cuda")
            tensors, expected = {"a": rows, "b": out}, rows.t()
            peers = {"copy of the transposed": lambda: out.copy_(rows.t())}
        else:
            out = torch.empty_like(rows)
            gain, bias = (torch.rand(number, device="cuda") for _ in range(2))
            tensors = {"x": rows, "y": out, "gain": gain, "bias": bias}
            if kind == "softmax":
                expected, peers = torch.softmax(rows, -1), {"torch.softmax": lambda: torch.softmax(rows, -1, out=out)}
            else:
                sizes["eps"] = 1e-5

                def norm():
                    return torch.nn.functional.layer_norm(rows, (number,), gain, bias, 1e-5)

                expected, peers = norm(), {"torch.layer_norm": norm}
        launch = ours.exported(kernel, pipeline, sizes, tensors)
    out.zero_()
    launch()
    agree(out, expected, depth, f"{kind} of {number}")
    del expected
    result = measure(launch, peers, limit)
    return {"case": f"{kind}:{number}", "pipeline": point, **result}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--equal", default=",".join(map(str, EQUAL)), help="lengths, or nothing")
    parser.add_argument("--ragged", default=",".join(RAGGED), help="kind:mean of uniform, power, giant, or nothing")
    parser.add_argument("--untuned", action="store_true", help="unequal segments as they are reduced without a search")
    parser.add_argument("--types", nargs="?", const=",".join(TYPES), help="OPERATOR:TYPE:LENGTH, only these")
    parser.add_argument("--defaults", nargs="?", const=",".join(DEFAULTS), help="equal:LENGTH or KIND:MEAN, only these")
    parser.add_argument("--rows", nargs="?", const=",".join(ROWS), help="KERNEL:LENGTH of softmax, layer_norm, log_sum_exp, transpose, column_sum, only these")
    parser.add_argument("--elements", type=int, default=1 << 28)
    parser.add_argument("--json", type=Path, help="write the results there, a line a case")
    parser.add_argument("--cccl", help="CCCL's headers, newer than the toolkit's: CUB's fixed-size form needs them")
    parser.add_argument("--loopwright", default=str(ROOT / "target" / "release" / "loopwright"))
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="segments-"))
    x = torch.rand(options.elements, device="cuda") - 0.5
    cub = Cub(options.cccl, work)
    limits = Limits(x, cub)
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUB {cub.library.cub_version()}; reading GB/s: "
        + ", ".join(f"{name} {rate / 1e6:.0f}" for name, rate in limits.readers.items())
        + f"; copying {limits.copy / 1e6:.0f}",
        flush=True,
    )
    ours = Ours(options.loopwright, work, options.untuned)
    cases = [(equal, (int(n),)) for n in options.equal.split(",") if n]
    cases += [(ragged, (kind, int(mean))) for kind, mean in (c.split(":") for c in options.ragged.split(",") if c)]
    if options.types or options.defaults or options.rows:
        types = [c.split(":") for c in (options.types or "").split(",") if c]
        shapes = [c.split(":") for c in (options.defaults or "").split(",") if c]
        cases = [(typed, (operator, dtype, int(length))) for operator, dtype, length in types]
        cases += [(untuned, (kind, int(number))) for kind, number in shapes]
        rows = [c.split(":") for c in (options.rows or "").split(",") if c]
        cases += [(row_work, (kind, int(number))) for kind, number in rows]
    lines, failed = [], 0
    for case, args in cases:
        try:
            result = case(*args, x, ours, cub, limits)
        except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
            failed += 1
            print(f"{case.__name__} {args}: failed: {error}", flush=True)
            continue
        lines.append(json.dumps(result))
        peers = "  ".join(f"{name} {ms:.4f}" for name, ms in result["peers_ms"].items())
        print(
            f"{result['case']:>16}  {result['ours_ms']:.4f} ms  {result['of_limit']:.3f} of the limit  {result['ratio']:.3f} x "
            f"{result['best_peer']} (in rows {result['ratio_in_rows']:.3f}, spread {result['spread']:.4f}, {'holds' if result['holds'] else 'BELOW'})  | {peers}  | "
            f"{result['pipeline']}{', ' + result['point'] if 'point' in result else ''}; {result['registers']} registers, "
            f"{result['resident_blocks']} x {result['threads']} threads, {result['kib_under_way']:.0f} KiB under way",
            flush=True,
        )
        if options.json:
            options.json.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} measured, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
