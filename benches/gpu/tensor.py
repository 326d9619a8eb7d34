#!/usr/bin/env python3
"""Products of bf16 matrices by tensor cores beside cuBLAS, in one process, in alternation.

    benches/gpu/tensor.py FOLDER [--sizes 4096 8192] [--rounds 15] [--state clean|dirty|left] [--json FILE]

FOLDER is what `benches/gpu/tensor.sh export` writes: FOLDER/SIZE/VARIANT as of `loopwright export`. A round launches each kernel once, in a new
random order. Before each launch 512 MB are read (clean), 256 MB are written (dirty), or nothing is done (left). A time is the median over the
rounds, by events; the ratio to cuBLAS is the median of the ratios within each round, with the least and the greatest. Inputs are normal random
numbers, the right factor lies transposed. Results are compared with an f32 product of the same inputs, beside the error that cuBLAS makes.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from exported import Exported
from sgemm import alternate, shape


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", nargs="*")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--state", choices=["clean", "dirty", "left"], default="clean")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    read = torch.zeros(512 << 18, dtype=torch.float32, device="cuda")
    written = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    before = {"clean": lambda: read.sum(), "dirty": written.zero_, "left": lambda: None}[given.state]
    rows = []
    print(torch.cuda.get_device_name(), torch.version.cuda, given.state, flush=True)
    for size in given.sizes or sorted((p.name for p in given.folder.iterdir()), key=shape):
        m, n, l = shape(size)
        a = torch.randn(m, l, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(n, l, device="cuda", dtype=torch.bfloat16)
        expected = a.float() @ b.float().T
        blas_out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
        blas = lambda: torch.mm(a, b.T, out=blas_out)
        blas()
        off = lambda c: ((c.float() - expected).norm() / expected.norm()).item()
        kernels, about = {"cuBLAS": blas}, {"cuBLAS": {"error": off(blas_out)}}
        for folder in sorted((given.folder / size).iterdir()):
            c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
            ours = Exported(folder, {"a": a, "b": b, "c": c})
            ours()
            torch.cuda.synchronize()
            own = off(c)
            if not own <= 1.05 * about["cuBLAS"]["error"]:
                raise RuntimeError(f"{folder}: off by {own}, cuBLAS by {about['cuBLAS']['error']}")
            kernels[folder.name] = ours
            about[folder.name] = {"error": own, **ours.resources()}
        del expected
        times = alternate(kernels, given.rounds, before)
        for name, own in times.items():
            ratios = sorted(t / o for t, o in zip(times["cuBLAS"], own))
            time = statistics.median(own)
            tflops = 2e-9 * m * n * l / time
            ratio = {"of_cublas": statistics.median(ratios), "least": ratios[0], "greatest": ratios[-1]}
            rows.append({"size": size, "kernel": name, "ms": time, "tflops": tflops, **ratio, **about[name]})
        for row in sorted((r for r in rows if r["size"] == size), key=lambda r: r["ms"]):
            resources = f"{row['registers']:4d} registers, {row['resident_blocks']} blocks of {row['threads']}" if "registers" in row else ""
            print(
                f"{size:>8} {row['kernel']:34} {row['ms']:8.4f} ms {row['tflops']:6.1f} TFLOP/s  {row['of_cublas']:.3f} of cuBLAS "
                f"({row['least']:.3f} to {row['greatest']:.3f})  error {row['error']:.1e}  {resources}",
                flush=True,
            )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
