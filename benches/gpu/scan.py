#!/usr/bin/env python3
"""Prefix sums of i32 and f32, inclusive and exclusive, beside CUB's DeviceScan and torch.cumsum.

    benches/gpu/scan.py [--elements 28] [--chunks 4096 16384 65536] [--cccl FOLDER] [--rounds 15] [--json FILE]

LOOPWRIGHT is the command. Ours are the pipelines of benches/gpu/scan: `look_back`, whose blocks
look back over the tiles before theirs, as CUB's do, so that the bytes of the array move twice, and
`three`, three launches that move them three times. Inputs are integers of 1 to 4 with any sign in
i32, uniform numbers of [-0.5, 0.5) in f32; results are compared with sums in i64 and f64. What is
timed is said in benches/peers/table.py.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "peers"))

from exported import Ours
from libraries import Cub
from needed import torch
from table import Form, Table, check

HERE = ROOT / "benches" / "gpu" / "scan"


def problem(type_name, kind, elements):
    """Numbers, their sums, and how far off results may be."""
    if type_name == "i32":
        x = torch.randint(-4, 5, (elements,), dtype=torch.int32, device="cuda")
        expected, bound = x.cumsum(0, dtype=torch.int64), 0
    else:
        x = torch.rand(elements, device="cuda") - 0.5
        # Random signs: sums grow by the root of their number. Passing totals from tile to tile
        # loses some 1e-7 of that each time, which adds up likewise.
        expected, bound = x.double().cumsum(0), 1e-5 * elements**0.5
    if kind == "exclusive":
        expected -= x
    return x, expected, bound


def peer_of(name, type_name, kind, x, out, cub):
    """CUB's or torch's sums; none where there is no CUB, or torch has no such sums."""
    if name == "CUB":
        return cub and Form(cub(f"cub_{kind}_{type_name}", x, out, x.numel()), out)
    return Form(lambda: torch.cumsum(x, 0, dtype=x.dtype, out=out), out) if kind == "inclusive" else None


def measure(type_name, kind, elements, chunks, ours, cub, table):
    case = f"{kind}, {type_name}"
    x, expected, bound = problem(type_name, kind, elements)
    out = torch.empty_like(x)
    own = {}
    for length in chunks:
        for tile, lanes in ((1024, 4), (2048, 4), (2048, 8), (4096, 8)):
            if tile > length:
                continue
            name, sizes = f"chunks of {length}, tiles of {tile}, {lanes} each", {"c": elements // length, "l": length}
            kernel, parameters = HERE / f"{type_name}_{kind}.lw", {"tile": tile, "own": lanes}
            launch = table.peer(case, name, lambda: ours.exported(kernel, HERE / "three.pipe", sizes, {"x": x, "out": out}, parameters))
            table.failed += launch is None
            own[name] = launch and Form(launch, out)
    for tile, lanes in ((4096, 16), (8192, 16), (4096, 32), (8192, 32), (16384, 32)):
        name, sizes = f"look-back, tiles of {tile}, {lanes} each", {"n": elements}
        kernel, parameters = HERE / f"one_{type_name}_{kind}.lw", {"tile": tile, "own": lanes}
        launch = table.peer(case, name, lambda: ours.exported(kernel, HERE / "look_back.pipe", sizes, {"x": x, "out": out}, parameters))
        table.failed += launch is None
        own[name] = launch and Form(launch, out)
    peers = {name: peer_of(name, type_name, kind, x, out, cub) for name in ("CUB", "torch")}
    # The limit is that of a single pass.
    table.case(case, own, peers, lambda result, name: check(result, expected, bound, name), table.rates.of(4 * elements, 4 * elements))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=28, help="a power of two")
    parser.add_argument("--chunks", type=int, nargs="*", default=[4096, 16384, 65536], help="divisors of it")
    parser.add_argument("--cccl", help="the folder of a newer CUB than nvcc's")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as work:
        table = Table(given.rounds)
        cub = table.peer("all", "CUB", lambda: Cub(given.cccl, Path(work), "cub_scan"))
        ours = Ours(os.environ["LOOPWRIGHT"], Path(work))
        for type_name in ("i32", "f32"):
            for kind in ("inclusive", "exclusive"):
                measure(type_name, kind, 1 << given.elements, given.chunks, ours, cub, table)
        return table.end(given.json)


if __name__ == "__main__":
    sys.exit(main())
