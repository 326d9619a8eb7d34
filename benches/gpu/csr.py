#!/usr/bin/env python3
"""Sparse matrices by rows (CSR) times a vector, in f32, beside cuSPARSE; and sums of the same segments beside cuSPARSE with a vector of ones and CUB.

    benches/gpu/csr.py [--nonzeros 26] [--cases uniform:16 uniform:64 power:64 giant:16] [--cccl FOLDER] [--rounds 15] [--json FILE]

LOOPWRIGHT is the command. Ours of a product are flattened rows (what `auto` finds among them) and a warp or a thread a row; of sums, those of
examples/pipelines/ragged_sum. Cases are KIND:MEAN as of benches/peers/segments.py: lengths that are uniform up to twice the mean, that follow a power law,
or one row of half of all. Matrices are square, columns uniformly random and in no order, values and the vector uniform numbers of [-0.5, 0.5).
cuSPARSE is called by its C functions, the buffer allocated before, by both algorithms, the second one also with its preprocessing (which is not timed).
As segments, its columns are the numbers of rows: neighbours read the same one. CUB's ReduceByKey reads a key of 4 bytes for each element, which are
there before. Results are compared with f64. What is timed is said in benches/peers/table.py.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "peers"))

from cusparse import Csr
from exported import EXAMPLES, Ours
from libraries import Cub
from segments import lengths_of, sums_between
from table import Form, Table, check

HERE = ROOT / "benches" / "gpu" / "csr"
SHAPES = [{"threads": 128, "items": 16, "tiles": 16}, {"threads": 128, "items": 8, "tiles": 16}, {"threads": 256, "items": 16, "tiles": 8}]


def product_forms(longest):
    found = [("flat, {threads} x {items} x {tiles}".format(**shape), "flat", shape, False) for shape in SHAPES]
    found.append(("auto", None, {}, True))
    # Long rows take a thread, and rows of millions take a warp, seconds.
    found += [("warp a row", "warp_per_row", {}, False)] if longest <= 1 << 18 else []
    found += [("thread a row", "thread_per_row", {}, False)] if longest <= 1 << 10 else []
    return found


def measure(kind, mean, elements, ours, cubs, table):
    offsets = lengths_of(kind, mean, elements)
    rows, longest = offsets.numel() - 1, (offsets[1:] - offsets[:-1]).max().item()
    narrow, wide = offsets.to(torch.int32).cuda(), offsets.cuda()
    values, x = torch.rand(elements, device="cuda") - 0.5, torch.rand(rows, device="cuda") - 0.5
    columns = torch.randint(0, rows, (elements,), dtype=torch.int32, device="cuda")
    y = torch.empty(rows, device="cuda")
    bound = 1e-5 * max(longest**0.5, 1)

    case = f"{kind} {mean}, product"
    expected = sums_between(wide, values.double() * x.double()[columns.long()])
    own = {}
    tensors = {"values": values, "columns": columns, "offsets": narrow, "x": x, "y": y}
    sizes = {"nnz": elements, "rows": rows, "n": rows}
    for name, pipeline, parameters, auto in product_forms(longest):
        path = pipeline and HERE / f"{pipeline}.pipe"
        launch = table.peer(case, name, lambda: ours.exported(HERE / "csr.lw", path, sizes, tensors, parameters, auto))
        table.failed += launch is None
        own[name] = launch and Form(launch, y)
    peers = {}
    for name, algorithm, prepared in (("cuSPARSE, 1", 2, False), ("cuSPARSE, 2", 3, False), ("cuSPARSE, 2, preprocessed", 3, True)):
        launch = table.peer(case, name, lambda: Csr(narrow, columns, values, x, y, algorithm, prepared))
        peers[name] = launch and Form(launch, y)

    def by_torch():
        matrix = torch.sparse_csr_tensor(narrow, columns, values, size=(rows, rows), check_invariants=False)
        return Form(lambda: torch.mv(matrix, x))

    peers["torch.sparse"] = table.peer(case, "torch.sparse", by_torch)
    # Each element of the vector is read once at least: rows that repeat it find it in the cache.
    limit = table.rates.of(8 * elements + 4 * (rows + 1) + 4 * rows, 4 * rows)
    table.case(case, own, peers, lambda result, name: check(result, expected, bound, name), limit)

    case = f"{kind} {mean}, segments"
    expected = sums_between(wide, values)
    own = {}
    tensors, sizes = {"x": values, "offsets": narrow, "out": y}, {"n": elements, "nseg": rows}
    kernel = EXAMPLES / "kernels" / "ragged_sum.lw"
    for name, pipeline in (("flattened", "flattened.pipe"), ("auto", None)):
        path = pipeline and EXAMPLES / "pipelines" / "ragged_sum" / pipeline
        launch = table.peer(case, name, lambda: ours.exported(kernel, path, sizes, tensors, {}, pipeline is None))
        table.failed += launch is None
        own[name] = launch and Form(launch, y)
    keys = torch.repeat_interleave(torch.arange(rows, dtype=torch.int32, device="cuda"), wide[1:] - wide[:-1], output_size=elements)
    ones = torch.ones(rows, device="cuda")
    peers = {}
    for name, algorithm, prepared in (("cuSPARSE with ones, 1", 2, False), ("cuSPARSE with ones, 2", 3, True)):
        launch = table.peer(case, name, lambda: Csr(narrow, keys, values, ones, y, algorithm, prepared))
        peers[name] = launch and Form(launch, y)
    if "cub_segments" in cubs:
        launch = table.peer(case, "CUB, segments", lambda: cubs["cub_segments"]("cub_offsets", values, y, rows, narrow))
        peers["CUB, segments"] = launch and Form(launch, y)
    if "cub_by_key" in cubs:
        # Runs of keys: empty rows have none.
        runs, unique = torch.zeros(1, dtype=torch.int32, device="cuda"), torch.empty(rows, dtype=torch.int32, device="cuda")
        packed, filled = torch.empty(rows, device="cuda"), wide[1:] > wide[:-1]

        def by_key():
            launch = cubs["cub_by_key"]("cub_by_key", keys, unique, values, packed, runs, elements)
            launch()
            whole = torch.zeros(rows, dtype=torch.float64, device="cuda")
            whole[filled] = packed[: int(runs.item())].double()
            check(whole, expected, bound, "CUB, ReduceByKey")
            return launch

        launch = table.peer(case, "CUB, ReduceByKey", by_key)
        if launch:
            peers["CUB, ReduceByKey"] = Form(launch)
    limit = table.rates.of(4 * elements + 4 * (rows + 1), 4 * rows)

    def agrees(result, name):
        # ReduceByKey's sums, which leave empty rows out, have been compared above.
        if name != "CUB, ReduceByKey":
            check(result, expected, bound, name)

    table.case(case, own, peers, agrees, limit)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nonzeros", type=int, default=26, help="a power of two")
    parser.add_argument("--cases", nargs="*", default=["uniform:16", "uniform:64", "power:64", "giant:16"], help="KIND:MEAN")
    parser.add_argument("--cccl", help="the folder of a newer CUB than nvcc's")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as work:
        table, cubs = Table(given.rounds), {}
        for source in ("cub_segments", "cub_by_key"):
            cub = table.peer("all", source, lambda: Cub(given.cccl, Path(work), source))
            if cub:
                cubs[source] = cub
        ours = Ours(os.environ["LOOPWRIGHT"], Path(work))
        for case in given.cases:
            kind, mean = case.split(":")
            measure(kind, int(mean), 1 << given.nonzeros, ours, cubs, table)
        return table.end(given.json)


if __name__ == "__main__":
    sys.exit(main())
