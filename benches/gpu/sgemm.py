#!/usr/bin/env python3
"""Products of f32 matrices by the pipelines of benches/gpu/sgemm beside cuBLAS (without tf32), in
one process, in alternation.

    benches/gpu/sgemm.py FOLDER [--sizes 2048 4096 8192] [--rounds 15] [--json FILE]

FOLDER is what `benches/gpu/sgemm.sh export` writes: FOLDER/SIZE/PIPELINE as of `loopwright export`,
SIZE being `4096` or `4095x4097x4099` (m, n, l). A round launches each kernel once, in a new random
order. Before each launch a buffer of four times the second-level cache is written. A time is the
median over the rounds, by events; the ratio to cuBLAS is the median of the ratios within each
round. Inputs are normal random numbers; results are compared with an f64 product first, on all
elements, beside the error that cuBLAS makes.
"""

import argparse
import json
import random
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from exported import Exported
from needed import torch
from timing import timed


def shape(size):
    parts = [int(p) for p in size.split("x")]
    return parts if len(parts) == 3 else parts * 3


def alternate(kernels, rounds, before):
    """Milliseconds of each kernel in each round; `before` is called before each launch."""
    for launch in kernels.values():
        for _ in range(2):
            launch()
    times = {name: [] for name in kernels}
    for _ in range(rounds):
        order = list(kernels)
        random.shuffle(order)
        events = {}
        for name in order:
            before()
            events[name] = timed(kernels[name])
        torch.cuda.synchronize()
        for name, (start, end) in events.items():
            times[name].append(start.elapsed_time(end))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", nargs="*")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    flush = torch.empty(4 * cache, dtype=torch.uint8, device="cuda")
    rows = []
    sizes = given.sizes or sorted((p.name for p in given.folder.iterdir()), key=lambda s: (shape(s)[0] % 16 != 0, shape(s)))
    print(torch.cuda.get_device_name(), torch.version.cuda, flush=True)
    for size in sizes:
        m, n, l = shape(size)
        a = torch.randn(m, l, device="cuda")
        b = torch.randn(l, n, device="cuda")
        expected = a.double() @ b.double()
        blas_out = torch.empty(m, n, device="cuda")
        blas = lambda: torch.mm(a, b, out=blas_out)
        blas()
        error = (blas_out.double() - expected).abs().max().item()
        kernels = {"cuBLAS": blas}
        about = {"cuBLAS": {"error": error}}
        for folder in sorted((given.folder / size).iterdir()):
            c = torch.full((m, n), float("nan"), device="cuda")
            ours = Exported(folder, {"a": a, "b": b, "c": c})
            ours()
            torch.cuda.synchronize()
            own = (c.double() - expected).abs().max().item()
            # Both sum l terms one after another, or in a few parts.
            if not own <= 8 * error + 1e-5:
                raise RuntimeError(f"{folder}: off by {own}, cuBLAS by {error}")
            kernels[folder.name] = ours
            about[folder.name] = {"error": own, **ours.resources()}
        del expected
        times = alternate(kernels, given.rounds, flush.zero_)
        for name, own in times.items():
            ratio = statistics.median(t / o for t, o in zip(times["cuBLAS"], own))
            time = statistics.median(own)
            row = {"size": size, "kernel": name, "ms": time, "tflops": 2e-9 * m * n * l / time, "of_cublas": ratio, **about[name]}
            rows.append(row)
        for row in sorted((r for r in rows if r["size"] == size), key=lambda r: r["ms"]):
            resources = f"{row['registers']:4d} registers, {row['resident_blocks']} blocks of {row['threads']}" if "registers" in row else ""
            print(
                f"{size:>16} {row['kernel']:14} {row['ms']:9.4f} ms {row['tflops']:6.2f} TFLOP/s  {row['of_cublas']:.3f} of cuBLAS  "
                f"error {row['error']:.1e}  {resources}",
                flush=True,
            )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
