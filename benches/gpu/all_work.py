"""The cases of benches/gpu/all_cases.py on the device: arrays, peers, references. What is timed is
said in benches/peers/table.py."""

import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "peers"), str(HERE)]

import csr
import scan
import tensor
from all_cases import SPARSE, UNEQUAL, export_arguments, set_options
from exported import Exported, Ours
from libraries import Cub, compiled, triton_row_forms
from needed import torch
from segments import lengths_of
from table import Form, Wrong, check

CUBS = ("cub_segments", "cub_by_key", "cub_scan", "cub_histogram")


@dataclass
class Work:
    """Arrays by name and which of them is the result, peers by name, how a result is checked, and
    the least time."""

    tensors: dict
    out: str
    peers: dict
    agrees: object
    limit: float | None = None


@dataclass
class Binary:
    """What `loopwright export` wrote, what the form is, and whether it loads anything
    evict-first."""

    folder: Path
    form: str
    streams: bool


def longest(case):
    offsets = lengths_of(*UNEQUAL, 1 << case.power)
    return (offsets[1:] - offsets[:-1]).max().item()


def export(own, case, binary, folder):
    folder.mkdir()
    ours, form = Ours(binary, folder), own.name
    if own.chosen:
        last = [longest(case)] if "ragged" in own.chosen else []
        kernel, pipeline, form = ours.chosen(*own.chosen, *last)
        own = replace(own, kernel=kernel, pipeline=pipeline)
    if own.auto:
        # What `run` takes: found for these sizes.
        pipeline = folder / "auto.pipe"
        pipeline.write_text(ours.call("auto", own.kernel, *set_options(own.sizes or case.sizes)))
        own = replace(own, pipeline=pipeline, auto=False)
    to = folder / "export"
    ours.call(*export_arguments(own, case.sizes, ours.arch, to))
    return Binary(to, form, "__ldcs(" in (to / "kernel.cu").read_text())


class Context:
    """Binaries and libraries, built side by side before anything is timed."""

    def __init__(self, cases, binary, work, cccl, table):
        with ThreadPoolExecutor() as pool:
            libraries = {source: pool.submit(self.library, cccl, work, source) for source in CUBS}
            binaries = {}
            for number, (case, own) in enumerate((case, own) for case in cases for own in case.own):
                binaries[case.title(), own.name] = pool.submit(export, own, case, binary, work / f"form{number}")
        self.table, self.binaries = table, {}
        self.cubs = {source: table.peer("all", source, made.result) for source, made in libraries.items()}
        self.cubs = {source: cub for source, cub in self.cubs.items() if cub}
        for (title, name), made in binaries.items():
            self.binaries[title, name] = table.peer(title, name, made.result)
            table.failed += self.binaries[title, name] is None

    @staticmethod
    def library(cccl, work, source):
        if source == "cub_segments" and not cccl:
            # Toolkits of CUDA 13 have the form for segments of one length, older ones do not.
            with contextlib.suppress(Exception):
                return Cub(None, work, source, fixed_size=True)
        return Cub(cccl, work, source)

    def cub(self, source):
        if source not in self.cubs:
            raise RuntimeError("it was not compiled")
        return self.cubs[source]

    def own(self, case, tensors, out):
        """Forms by name; a name says what loads evict-first."""
        found = {}
        for own in case.own:
            binary = self.binaries[case.title(), own.name]
            launch = binary and self.table.peer(case.title(), own.name, lambda: Exported(binary.folder, tensors))
            if binary and not launch:
                self.table.failed += 1
            name = own.name if not binary or binary.form == own.name else f"{own.name}: {binary.form}"
            found[name + (", evict-first" if binary and binary.streams else "")] = launch and Form(launch, out)
        return found


def rows(case, context):
    count, length = case.sizes["nseg"], case.sizes["len"]
    x, out = torch.rand(count, length, device="cuda") - 0.5, torch.empty(count, device="cuda")
    ones = torch.ones(length, device="cuda")
    offsets = (torch.arange(0, count + 1, dtype=torch.int64, device="cuda") * length).to(torch.int32)
    peer = lambda name, make: context.table.peer(case.title(), name, make)
    cub = lambda *arguments: Form(context.cub("cub_segments")(*arguments), out)

    def fixed_size():
        if not context.cub("cub_segments").fixed_size:
            raise RuntimeError("these headers of CUB do not have it")
        return cub("cub_fixed", x, out, count, length)

    peers = {
        "CUB, offsets": peer("CUB, offsets", lambda: cub("cub_offsets", x, out, count, offsets)),
        "CUB, fixed size": peer("CUB, fixed size", fixed_size),
        "torch.sum": Form(lambda: torch.sum(x, -1, out=out), out),
        "cuBLAS, ones": Form(lambda: torch.mv(x, ones, out=out), out),
    }
    peers["torch.compile"] = peer("torch.compile", lambda: Form(compiled(lambda x: torch.sum(x, -1), x)))
    triton = peer("Triton", lambda: triton_row_forms(x.view(-1), out, length)) or {}
    peers |= {name: Form(launch, out) for name, launch in triton.items()}
    expected = torch.cat([part.double().sum(-1) for part in x.split(max(1, (1 << 26) // length))])
    bound = 1e-5 * length**0.5
    # The offsets have to stay: CUB's launch has their address.
    agrees = lambda result, name, _alive=offsets: check(result, expected, bound, name)
    return Work({"x": x, "out": out}, "out", peers, agrees, context.table.rates.of(4 * x.numel(), 4 * count))


def segments(case, context):
    problem = csr.Problem(*UNEQUAL, 1 << case.power)
    expected = problem.sums()
    peers, agrees = csr.segment_peers(problem, expected, context.cubs, case.title(), context.table)
    lengths = problem.wide[1:] - problem.wide[:-1]
    peers["torch.segment_reduce"] = Form(lambda: torch.segment_reduce(problem.values, "sum", lengths=lengths, unsafe=True))
    limit = context.table.rates.of(4 * problem.elements + 4 * (problem.rows + 1), 4 * problem.rows)
    return Work({"x": problem.values, "offsets": problem.narrow, "out": problem.y}, "out", peers, agrees, limit)


def sparse(case, context):
    problem = csr.Problem(*SPARSE, 1 << case.power)
    columns = problem.columns()
    expected = problem.product(columns)
    tensors = {"values": problem.values, "columns": columns, "offsets": problem.narrow, "x": problem.x, "y": problem.y}
    peers = csr.product_peers(problem, columns, case.title(), context.table)
    agrees = lambda result, name: check(result, expected, problem.bound, name)
    return Work(tensors, "y", peers, agrees, csr.product_limit(problem, context.table))


def prefix_sums(case, context):
    x, expected, bound = scan.problem(case.name, "inclusive", 1 << case.power)
    out = torch.empty_like(x)
    peers = {}
    for peer in ("CUB", "torch"):
        make = lambda: scan.peer_of(peer, case.name, "inclusive", x, out, context.cub("cub_scan") if peer == "CUB" else None)
        peers[peer] = context.table.peer(case.title(), peer, make)
    agrees = lambda result, name: check(result, expected, bound, name)
    # The limit is that of a single pass.
    return Work({"x": x, "out": out}, "out", peers, agrees, context.table.rates.of(4 * x.numel(), 4 * x.numel()))


def histogram(case, context):
    type_name = case.name.split()[0]
    dtype = {"i32": torch.int32, "u8": torch.uint8}[type_name]
    keys, counts = torch.randint(0, 256, (case.sizes["n"],), dtype=dtype, device="cuda"), torch.empty(256, dtype=torch.int32, device="cuda")
    expected = sum(torch.bincount(part.int(), minlength=256) for part in keys.split(1 << 24))
    make = lambda: Form(context.cub("cub_histogram")(f"cub_histogram_{type_name}", keys, counts, keys.numel()), counts)
    peers = {"CUB": context.table.peer(case.title(), "CUB", make)}
    limit = context.table.rates.of(keys.numel() * keys.element_size(), 1024)
    return Work({"keys": keys, "counts": counts}, "counts", peers, lambda result, name: check(result, expected, 0, name), limit)


def near(expected, reference, what, factor):
    """Refuses results whose error, in the norm, is more than `factor` times the peer's: both round
    alike, and add in another order."""
    scale = expected.norm()
    off = lambda result: ((result.double() - expected).norm() / scale).item()
    allowed = factor * off(reference)

    def agrees(result, name):
        error = off(result)
        if not error <= allowed:
            raise Wrong(f"{name}: off by {error:.3g}, more than {allowed:.3g}, {factor} times what {what} is off by")

    return agrees


def bf16(case, _context):
    tensors, out, peers, expected, _ = tensor.product("bf16", str(case.sizes["m"]))
    (peer_name, peer), = peers.items()
    return Work(tensors, out, peers, near(expected, peer.result().clone(), peer_name, 1.05))


def f32(case, _context):
    torch.backends.cuda.matmul.allow_tf32 = False
    side = case.sizes["m"]
    a, b = (torch.randn(side, side, device="cuda") for _ in range(2))
    c = torch.empty(side, side, device="cuda")
    # In parts along the sum, so that its order is not that of cuBLAS.
    expected = torch.zeros(side, side, dtype=torch.float64, device="cuda")
    for left, right in zip(a.split(512, 1), b.split(512, 0)):
        expected.addmm_(left.double(), right.double())
    peer = Form(lambda: torch.mm(a, b, out=c), c)
    return Work({"a": a, "b": b, "c": c}, "c", {"cuBLAS": peer}, near(expected, peer.result().clone(), "cuBLAS", 4))


def attention(case, context):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    heads, length, d, scale = (case.sizes[name] for name in ("h", "n", "d", "scale"))
    q, k, v = (torch.randn(heads, length, d, dtype=torch.bfloat16, device="cuda") for _ in range(3))
    o = torch.empty_like(q)
    expected = torch.empty(heads, length, d, dtype=torch.float64, device="cuda")
    for at in range(0, heads, 32):
        part = slice(at, at + 32)
        weights = torch.softmax(scale * (q[part].double() @ k[part].double().transpose(1, 2)), -1)
        expected[part] = weights @ v[part].double()

    def by(backend):
        def launch():
            with sdpa_kernel(backend):
                attend = torch.nn.functional.scaled_dot_product_attention
                return attend(q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), scale=scale).squeeze(0)

        launch()
        return Form(launch)

    backends = {"torch, flash": SDPBackend.FLASH_ATTENTION, "torch, cuDNN": SDPBackend.CUDNN_ATTENTION}
    peers = {name: context.table.peer(case.title(), name, lambda: by(backend)) for name, backend in backends.items()}
    # Weights and results are rounded to bf16.
    bound = 2**-7 * expected.abs() + 2e-3
    return Work({"q": q, "k": k, "v": v, "o": o}, "o", peers, lambda result, name: check(result, expected, bound, name))


WORK = {
    "rows": rows,
    "segments": segments,
    "csr": sparse,
    "scan": prefix_sums,
    "histogram": histogram,
    "bf16": bf16,
    "f32": f32,
    "attention": attention,
}


def measure(case, context):
    work = WORK[case.workload](case, context)
    own = context.own(case, work.tensors, work.tensors[work.out])
    missing = set(case.peers) - set(work.peers)
    for name in sorted(missing):
        if not any(f"{case.title()}, {name}" in line for line in context.table.missing):
            context.table.missing.append(f"{case.title()}, {name}: it is not there")
    about = {"workload": case.workload, "name": case.name, "power": case.power}
    context.table.case(case.title(), own, work.peers, work.agrees, work.limit, case.operations, about)
