#!/usr/bin/env python3
"""Softmax, layer norm and log-sum-exp of rows of f32 beside torch, torch.compile and fused Triton
kernels.

    benches/gpu/rows.py [--elements 28] [--kernels softmax ...] [--lengths 1024 4096 16384] [--rounds 15] [--json FILE]

LOOPWRIGHT is the command. Ours are the pipelines of examples/pipelines, what `auto` finds where
rows are assumed to be whole vectors, and for log-sum-exp those of benches/gpu/rows. torch.compile
has `max-autotune-no-cudagraphs`. Inputs are normal random numbers; results are compared with f64.
What is timed is said in benches/peers/table.py, the Triton kernels are in
benches/peers/triton_fused.py.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches" / "peers"))

from exported import EXAMPLES, Ours
from libraries import compiled
from needed import torch
from table import Form, Table, check

HERE = ROOT / "benches" / "gpu" / "rows"
EPS = 1e-5


def own_forms(kind, length):
    """Name, kernel, pipeline, values of open parameters, whether the rest is found."""
    kernel, pipelines = EXAMPLES / "kernels" / f"{kind}.lw", EXAMPLES / "pipelines" / kind
    auto = [("auto", kernel, HERE / "whole_vectors.pipe", {}, True)]
    if kind != "log_sum_exp":
        return [(name, kernel, pipelines / f"{name}.pipe", {}, False) for name in (f"row_{length}", "any_length")] + auto
    found = [("block_vec4", kernel, pipelines / "block_vec4.pipe", {}, False)]
    for tile, step in ((1024, 512), (1024, 1024), (2048, 1024), (2048, 512)):
        if tile <= length:
            shape = {"tile": tile, "step": step}
            found.append((f"one_exp, {step // 4} threads, {tile // step} loads", HERE / "one_exp.lw", HERE / "fold.pipe", shape, False))
    for threads in (128,) if length == 1024 else (256, 512):
        name = f"sweeps, {threads} threads"
        found.append((name, HERE / "sweeps.lw", HERE / "sweeps.pipe", {"n": length, "threads": threads}, False))
    return found + auto


def reference(kind, x, gain, bias):
    """The results in f64, by parts of the rows."""
    parts = []
    for part in x.split(max(1, (1 << 26) // x.shape[1])):
        wide = part.double()
        if kind == "softmax":
            parts.append(torch.softmax(wide, -1))
        elif kind == "layer_norm":
            parts.append(torch.nn.functional.layer_norm(wide, (x.shape[1],), gain.double(), bias.double(), EPS))
        else:
            parts.append(torch.logsumexp(wide, -1))
    return torch.cat(parts)


def libraries(kind, x, y, gain, bias):
    """What torch does, and the same as a function to compile."""
    length = x.shape[1]
    if kind == "softmax":
        return Form(lambda: torch.softmax(x, -1, out=y), y), lambda x, gain, bias: torch.softmax(x, -1)
    if kind == "log_sum_exp":
        return Form(lambda: torch.logsumexp(x, -1, out=y), y), lambda x, gain, bias: torch.logsumexp(x, -1)
    norm = lambda x, gain, bias: torch.nn.functional.layer_norm(x, (length,), gain, bias, EPS)
    return Form(lambda: norm(x, gain, bias)), norm


def measure(kind, length, elements, ours, table):
    case, count = f"{kind}, rows of {length}", elements // length
    x = torch.randn(count, length, device="cuda")
    gain, bias = (torch.rand(length, device="cuda") for _ in range(2))
    y = torch.empty(count, device="cuda") if kind == "log_sum_exp" else torch.empty_like(x)
    sizes = {"m": count, "n": length, **({"eps": EPS} if kind == "layer_norm" else {})}
    tensors = {"x": x, "y": y, "gain": gain, "bias": bias}
    expected = reference(kind, x, gain, bias)
    bound = 2e-5 * expected + 1e-9 if kind == "softmax" else 2e-5 * (1 + expected.abs())
    own = {}
    for name, kernel, pipeline, parameters, auto in own_forms(kind, length):
        launch = table.peer(case, name, lambda: ours.exported(kernel, pipeline, sizes, tensors, parameters, auto))
        table.failed += launch is None
        own[name] = launch and Form(launch, y)
    eager, function = libraries(kind, x, y, gain, bias)
    peers = {"torch": eager, "torch.compile": table.peer(case, "torch.compile", lambda: Form(compiled(function, x, gain, bias)))}

    def triton():
        from triton_fused import forms

        return forms(kind, x, y, gain, bias, EPS)

    peers.update({name: Form(launch, y) for name, launch in (table.peer(case, "Triton", triton) or {}).items()})
    bytes_of_x = 4 * x.numel()
    table.case(case, own, peers, lambda result, name: check(result, expected, bound, name), table.rates.of(bytes_of_x, 4 * y.numel()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=28, help="a power of two")
    parser.add_argument("--kernels", nargs="*", default=["softmax", "layer_norm", "log_sum_exp"])
    parser.add_argument("--lengths", type=int, nargs="*", default=[1024, 4096, 16384], help="of these")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.manual_seed(0)
    table = Table(given.rounds)
    with tempfile.TemporaryDirectory() as work:
        ours = Ours(os.environ["LOOPWRIGHT"], Path(work))
        for kind in given.kernels:
            for length in given.lengths:
                measure(kind, length, 1 << given.elements, ours, table)
    return table.end(given.json)


if __name__ == "__main__":
    sys.exit(main())
