#!/usr/bin/env python3
"""Sparse matrices by rows (CSR) times a vector, in f32, beside cuSPARSE; and sums of the same
segments beside cuSPARSE with a vector of ones and CUB.

    benches/gpu/csr.py [--nonzeros 26] [--cases uniform:16 uniform:64 power:64 giant:16] [--cccl FOLDER] [--rounds 15] [--json FILE]

LOOPWRIGHT is the command. Ours of a product are flattened rows (what `auto` finds among them) and a
warp or a thread a row; of sums, those of examples/pipelines/ragged_sum. Cases are KIND:MEAN as of
benches/peers/segments.py: lengths that are uniform up to twice the mean, that follow a power law,
or one row of half of all. Matrices are square, columns uniformly random and in no order, values and
the vector uniform numbers of [-0.5, 0.5). cuSPARSE is called by its C functions, the buffer
allocated before, by both algorithms, the second one also with its preprocessing (which is not
timed). As segments, its columns are the numbers of rows: neighbours read the same one. CUB's
ReduceByKey reads a key of 4 bytes for each element, which are there before. Results are compared
with f64. What is timed is said in benches/peers/table.py.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "peers"))

from cusparse import Csr
from exported import EXAMPLES, Ours
from libraries import Cub
from needed import torch
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


class Problem:
    """A square matrix and a vector, and the same entries as segments."""

    def __init__(self, kind, mean, elements):
        offsets = lengths_of(kind, mean, elements)
        self.elements, self.rows = elements, offsets.numel() - 1
        self.longest = (offsets[1:] - offsets[:-1]).max().item()
        self.narrow, self.wide = offsets.to(torch.int32).cuda(), offsets.cuda()
        self.values, self.x = torch.rand(elements, device="cuda") - 0.5, torch.rand(self.rows, device="cuda") - 0.5
        self.y = torch.empty(self.rows, device="cuda")
        self.bound = 1e-5 * max(self.longest**0.5, 1)

    def columns(self):
        return torch.randint(0, self.rows, (self.elements,), dtype=torch.int32, device="cuda")

    def product(self, columns):
        return sums_between(self.wide, self.values.double() * self.x.double()[columns.long()])

    def sums(self):
        return sums_between(self.wide, self.values)


def product_peers(problem, columns, case, table):
    """cuSPARSE's algorithms and torch.sparse."""
    p, peers = problem, {}
    for name, algorithm, prepared in (("cuSPARSE, 1", 2, False), ("cuSPARSE, 2", 3, False), ("cuSPARSE, 2, preprocessed", 3, True)):
        launch = table.peer(case, name, lambda: Csr(p.narrow, columns, p.values, p.x, p.y, algorithm, prepared))
        peers[name] = launch and Form(launch, p.y)

    def by_torch():
        matrix = torch.sparse_csr_tensor(p.narrow, columns, p.values, size=(p.rows, p.rows), check_invariants=False)
        return Form(lambda: torch.mv(matrix, p.x))

    peers["torch.sparse"] = table.peer(case, "torch.sparse", by_torch)
    return peers


def segment_peers(problem, expected, cubs, case, table):
    """cuSPARSE with a vector of ones and CUB's two forms, and how results of all of these are
    compared."""
    p, peers = problem, {}
    keys = torch.repeat_interleave(torch.arange(p.rows, dtype=torch.int32, device="cuda"), p.wide[1:] - p.wide[:-1], output_size=p.elements)
    ones = torch.ones(p.rows, device="cuda")
    for name, algorithm, prepared in (("cuSPARSE with ones, 1", 2, False), ("cuSPARSE with ones, 2", 3, True)):
        launch = table.peer(case, name, lambda: Csr(p.narrow, keys, p.values, ones, p.y, algorithm, prepared))
        peers[name] = launch and Form(launch, p.y)
    if "cub_segments" in cubs:
        launch = table.peer(case, "CUB, segments", lambda: cubs["cub_segments"]("cub_offsets", p.values, p.y, p.rows, p.narrow))
        peers["CUB, segments"] = launch and Form(launch, p.y)
    if "cub_by_key" in cubs:
        # Runs of keys: empty rows have none.
        runs, unique = torch.zeros(1, dtype=torch.int32, device="cuda"), torch.empty(p.rows, dtype=torch.int32, device="cuda")
        packed, filled = torch.empty(p.rows, device="cuda"), p.wide[1:] > p.wide[:-1]

        def by_key():
            launch = cubs["cub_by_key"]("cub_by_key", keys, unique, p.values, packed, runs, p.elements)
            launch()
            whole = torch.zeros(p.rows, dtype=torch.float64, device="cuda")
            whole[filled] = packed[: int(runs.item())].double()
            check(whole, expected, p.bound, "CUB, ReduceByKey")
            # The arrays stay as long as the launch.
            return lambda: (launch(), keys, unique, packed, runs)

        launch = table.peer(case, "CUB, ReduceByKey", by_key)
        if launch:
            peers["CUB, ReduceByKey"] = Form(launch)

    def agrees(result, name):
        # ReduceByKey's sums, which leave empty rows out, have been compared above.
        if name != "CUB, ReduceByKey":
            check(result, expected, p.bound, name)

    return peers, agrees


def product_limit(problem, table):
    # Each element of the vector is read once at least: rows that repeat it find it in the cache.
    return table.rates.of(8 * problem.elements + 4 * (problem.rows + 1) + 4 * problem.rows, 4 * problem.rows)


def measure(kind, mean, elements, ours, cubs, table):
    problem = Problem(kind, mean, elements)
    columns, rows, y = problem.columns(), problem.rows, problem.y

    case = f"{kind} {mean}, product"
    expected = problem.product(columns)
    own = {}
    tensors = {"values": problem.values, "columns": columns, "offsets": problem.narrow, "x": problem.x, "y": y}
    sizes = {"nnz": elements, "rows": rows, "n": rows}
    for name, pipeline, parameters, auto in product_forms(problem.longest):
        path = pipeline and HERE / f"{pipeline}.pipe"
        launch = table.peer(case, name, lambda: ours.exported(HERE / "csr.lw", path, sizes, tensors, parameters, auto))
        table.failed += launch is None
        own[name] = launch and Form(launch, y)
    peers = product_peers(problem, columns, case, table)
    table.case(case, own, peers, lambda result, name: check(result, expected, problem.bound, name), product_limit(problem, table))

    case = f"{kind} {mean}, segments"
    expected = problem.sums()
    own = {}
    tensors, sizes = {"x": problem.values, "offsets": problem.narrow, "out": y}, {"n": elements, "nseg": rows}
    kernel = EXAMPLES / "kernels" / "ragged_sum.lw"
    for name, pipeline in (("flattened", "flattened.pipe"), ("auto", None)):
        path = pipeline and EXAMPLES / "pipelines" / "ragged_sum" / pipeline
        launch = table.peer(case, name, lambda: ours.exported(kernel, path, sizes, tensors, {}, pipeline is None))
        table.failed += launch is None
        own[name] = launch and Form(launch, y)
    peers, agrees = segment_peers(problem, expected, cubs, case, table)
    table.case(case, own, peers, agrees, table.rates.of(4 * elements + 4 * (rows + 1), 4 * rows))


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
