#!/usr/bin/env python3
"""Segmented sums of f32 beside CUB, torch and Triton in three states of the second-level cache, in
one process.

    cargo build --release --bin loopwright --example segmented_reduce
    benches/peers/states.py [--equal LENGTHS] [--ragged CASES] [--elements 2^K...] [--rounds N] [--hide-host] [--json FILE] [--cccl FOLDER] [--loopwright BINARY]

Run it from the repository's root on a machine with one GPU, torch, Triton and nvcc, which does
nothing else: what a launch costs the host is in the times, unless `--hide-host` keeps the device
busy until the host has launched, as few elements want. Ours is what `segmented_reduce` takes
untuned, from `loopwright export`. A round launches each kernel once, in a new random order. Before
each launch

- left: the same kernel runs once, and its inputs and results are in the cache as far as they fit;
- clean: 512 MB of another array are read;
- dirty: 256 MB of another array are written, which is how most data arrive: a kernel before has
  just stored them.

A time is the median over the rounds, by events; a ratio is the best peer's time over ours. Results
are compared with sums in f64 before anything is timed.
"""

import argparse
import json
import tempfile
from pathlib import Path

from cache import STATES, Cache, medians
from exported import ROOT, Ours
from libraries import Cub, triton_rows
from needed import torch
from segments import EQUAL, lengths_of, sums_between
from timing import agree


def sums_by(cub, x, out, count, offsets):
    """CUB's launch, which has the offsets' address: they have to stay."""
    launch = cub("cub_offsets", x, out, count, offsets)
    return lambda: (launch(), offsets)


def rows(length, x, ours, cub):
    count = x.numel() // length
    part = x[: count * length]
    out, view = torch.empty(count, device="cuda"), part.view(count, length)
    kernel, pipeline, form = ours.chosen("sum", "f32", "rows", count, length)
    launch = ours.exported(kernel, pipeline, {"nseg": count, "len": length}, {"x": part, "out": out})
    offsets = (torch.arange(0, count + 1, dtype=torch.int64, device="cuda") * length).to(torch.int32)
    peers = {
        "CUB": sums_by(cub, part, out, count, offsets),
        "torch": lambda: torch.sum(view, -1, out=out),
        "Triton": triton_rows(part, out, length),
    }
    return form, launch, {name: peer for name, peer in peers.items() if peer}, out, view.double().sum(-1), length


def ragged(kind, mean, x, ours, cub):
    offsets = lengths_of(kind, mean, x.numel())
    count, longest = offsets.numel() - 1, (offsets[1:] - offsets[:-1]).max().item()
    out, narrow = torch.empty(count, device="cuda"), offsets.to(torch.int32).cuda()
    kernel, pipeline, form = ours.chosen("sum", "f32", "ragged", count, x.numel(), longest)
    tensors = {"x": x, "out": out, "offsets": narrow}
    launch = ours.exported(kernel, pipeline, {"n": x.numel(), "nseg": count}, tensors)
    return form, launch, {"CUB": sums_by(cub, x, out, count, narrow)}, out, sums_between(offsets.cuda(), x), longest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--equal", type=int, nargs="*", default=sorted(EQUAL))
    parser.add_argument("--ragged", nargs="*", default=[])
    parser.add_argument("--elements", type=int, nargs="*", default=[28], help="powers of two")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--hide-host", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--cccl", help="the folder of a newer CUB than nvcc's")
    parser.add_argument("--loopwright", default=str(ROOT / "target" / "release" / "loopwright"))
    given = parser.parse_args()
    torch.manual_seed(0)
    cache, results = Cache(given.hide_host), []
    print(torch.cuda.get_device_name(), f"CUDA {torch.version.cuda}, torch {torch.__version__}", flush=True)
    with tempfile.TemporaryDirectory() as work:
        ours, cub = Ours(given.loopwright, Path(work), untuned=True), Cub(given.cccl, Path(work))
        for power in given.elements:
            x = torch.rand(1 << power, device="cuda") - 0.5
            cases = [(f"rows of {length}", rows, (length,)) for length in given.equal if length <= x.numel()]
            cases += [(f"{case}", ragged, (case.split(":")[0], int(case.split(":")[1]))) for case in given.ragged]
            for name, case, arguments in cases:
                form, launch, peers, out, expected, longest = case(*arguments, x, ours, cub)
                for what, run in {"ours": launch, **peers}.items():
                    out.fill_(float("nan"))
                    run()
                    agree(out, expected, longest, what)
                row = {"elements": f"2^{power}", "case": name, "form": form}
                for state in STATES:
                    times = medians({"ours": launch, **peers}, state, cache, given.rounds)
                    best = min(peers, key=times.get)
                    row[state] = {"ratio": times[best] / times["ours"], "best_peer": best, "ms": times}
                results.append(row)
                shown = (f"{s} {row[s]['ratio']:6.3f} ({row[s]['ms']['ours']:.4f} ms, {row[s]['best_peer']})" for s in STATES)
                print(f"2^{power} {name:18}", "  ".join(shown), form, flush=True)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
