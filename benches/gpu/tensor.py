#!/usr/bin/env python3
"""Products by tensor cores and a contraction beside cuBLAS, and a convolution beside cuDNN, by way of
torch, in one process, in alternation.

    benches/gpu/tensor.py FOLDER [--types bf16 f16 tf32 s8 f64 ...] [--sizes 4096 8192] [--rounds 15] [--json FILE]

FOLDER is what `benches/gpu/tensor.sh export` writes: FOLDER/TYPE/SIZE/VARIANT as of
`loopwright export`. SIZE is `4096` or `4095x4097x4099` (m, n, l); of a convolution images, height,
width, channels of the result and of the input; of a contraction t, m, n and l of its kernel, for
which torch.einsum copies a factor, and cuBLAS alone multiplies what is copied already. Inputs are normal random numbers (s8: all bytes
alike); the right factor lies transposed, channels are the fastest axis. Results are compared with a
product in f64, beside the error that the peer makes, which a note behind the table says with our
registers. tf32 is compared with cuBLAS where it may round to tf32, s8 with `torch._int_mm`. What is
timed is said in benches/peers/table.py.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from exported import Exported
from needed import torch
from table import Form, Table, Wrong

TYPES = {
    "bf16": (torch.bfloat16, torch.bfloat16),
    "f16": (torch.float16, torch.float16),
    "tf32": (torch.float32, torch.float32),
    "tf32_truncated": (torch.float32, torch.float32),
    "tf32_rounded_first": (torch.float32, torch.float32),
    "s8": (torch.int8, torch.int32),
    "f64": (torch.float64, torch.float64),
}
# How much larger our error may be than the peer's: both round alike, but where bits of tf32 are cut
# off, which cuBLAS does not; and f64 is all in the order of sums.
ALLOWED = {"bf16": 1.05, "tf32": 1.05, "tf32_truncated": 3, "tf32_rounded_first": 1.05, "s8": 1, "f64": 4}


def shape(size):
    parts = [int(p) for p in size.split("x")]
    return parts if len(parts) > 1 else parts * 3


def drawn(dtype, *of):
    if dtype == torch.int8:
        return torch.randint(-128, 128, of, dtype=dtype, device="cuda")
    return torch.randn(*of, dtype=dtype, device="cuda")


def product(type_name, size):
    """Tensors by name, the name of the result, peers by name, of which the first one's error is the
    measure, the result in f64, and operations."""
    (m, n, l), (dtype, result) = shape(size), TYPES[type_name]
    a, b = drawn(dtype, m, l), drawn(dtype, n, l)
    c = torch.empty(m, n, dtype=result, device="cuda")
    # In parts along l, so that sums of f64 are not those of cuBLAS.
    expected = torch.zeros(m, n, dtype=torch.float64, device="cuda")
    for left, right in zip(a.split(512, 1), b.split(512, 1)):
        expected.addmm_(left.double(), right.double().T)
    multiply = torch._int_mm if dtype == torch.int8 else torch.mm
    return {"a": a, "b": b, "c": c}, "c", {"cuBLAS": Form(lambda: multiply(a, b.T, out=c), c)}, expected, 2 * m * n * l


def convolution(_type_name, size):
    q, h, w, n, l = shape(size)
    x, f = drawn(torch.bfloat16, q, h + 2, w + 2, l), drawn(torch.bfloat16, 3, 3, n, l)
    y = torch.empty(q, h, w, n, dtype=torch.bfloat16, device="cuda")
    expected = torch.zeros(q * h * w, n, dtype=torch.float64, device="cuda")
    for r in range(3):
        for s in range(3):
            expected.addmm_(x[:, r : r + h, s : s + w].reshape(-1, l).double(), f[r, s].double().T)
    image, weights = x.permute(0, 3, 1, 2), f.permute(2, 3, 0, 1).contiguous(memory_format=torch.channels_last)
    run = lambda: torch.nn.functional.conv2d(image, weights).permute(0, 2, 3, 1)
    return {"x": x, "f": f, "y": y}, "y", {"cuDNN": Form(run)}, expected, 2 * q * h * w * n * l * 9


def contraction(_type_name, size):
    t, m, n, l = shape(size)
    a, b = drawn(torch.bfloat16, t, m, l), drawn(torch.bfloat16, n, t, l)
    c = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    expected = torch.zeros(m, n, dtype=torch.float64, device="cuda")
    for h in range(t):
        expected.addmm_(a[h].double(), b[:, h].double().T)
    copied = a.permute(1, 0, 2).reshape(m, t * l)
    peers = {
        "torch.einsum": Form(lambda: torch.einsum("tml,ntl->mn", a, b)),
        "cuBLAS, copied before": Form(lambda: torch.mm(copied, b.view(n, t * l).T, out=c), c),
    }
    return {"a": a, "b": b, "c": c}, "c", peers, expected, 2 * t * m * n * l


MAKE = {"convolution": convolution, "contraction": contraction}


def measure(type_name, size, folder, table):
    case = f"{type_name}, {size}"
    make = MAKE.get(type_name, product)
    tensors, result_name, peers, expected, operations = make(type_name, size)
    peer_name, peer = next(iter(peers.items()))
    scale = expected.norm()

    def off(result):
        if result.numel() != expected.numel():
            raise Wrong(f"{result.numel()} results instead of {expected.numel()}")
        return ((result.reshape(expected.shape).double() - expected).norm() / scale).item()

    errors = {}
    own = {}
    for path in sorted(folder.iterdir()):
        launch = table.peer(case, path.name, lambda: Exported(path, tensors))
        table.failed += launch is None
        own[path.name] = launch and Form(launch, tensors[result_name])
    peer_error = off(peer.result())

    def agrees(result, name):
        error = off(result)
        if not error <= ALLOWED.get(type_name, 1.05) * peer_error + (0 if type_name == "s8" else 1e-15):
            raise Wrong(f"{name}: off by {error:.3g}, {peer_name} by {peer_error:.3g}")
        errors[name] = error

    table.case(case, own, peers, agrees, operations=operations)
    for name, error in errors.items():
        about = own[name].launch.resources() if name in own else None
        resources = f", {about['registers']} registers, {about['resident_blocks']} resident blocks of {about['threads']}" if about else ""
        table.notes.append(f"{case}, {name}: error {error:.2e}{resources}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--types", nargs="*", default=[*TYPES, *MAKE])
    parser.add_argument("--sizes", nargs="*")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    table = Table(given.rounds, rates=False)
    for type_name in given.types:
        if not (given.folder / type_name).is_dir():
            continue
        torch.backends.cuda.matmul.allow_tf32 = type_name.startswith("tf32")
        for size in sorted((p.name for p in (given.folder / type_name).iterdir()), key=shape):
            if not given.sizes or size in given.sizes:
                try:
                    measure(type_name, size, given.folder / type_name / size, table)
                except Exception as error:
                    table.failed += 1
                    table.leave_out(f"{type_name}, {size}", "all", error)
                torch.cuda.empty_cache()
    return table.end(given.json)


if __name__ == "__main__":
    sys.exit(main())
