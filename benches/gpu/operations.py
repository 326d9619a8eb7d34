#!/usr/bin/env python3
"""Common operations of array libraries by what `auto` finds for their sizes, beside PyTorch.

    benches/gpu/operations.py export FOLDER [NAME...]
    benches/gpu/operations.py measure FOLDER [NAME...] [--rounds 7]

Each is what a user would write first: a line of `loopwright make`, or a declared kernel, without a
step. Before each launch 512 MB are read, so that the second-level cache is clean. Times are medians
of events, in random order within each round; the ratio is torch's time over ours. The error is the
largest difference from torch's result over the largest element.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"


@dataclass(frozen=True)
class Operation:
    name: str
    # Arguments of `loopwright make`, or the text of a kernel.
    kernel: tuple | str
    sizes: dict
    # Shape and type of each array; `<N` for integers below N.
    arrays: dict
    result: str
    # In Python, of these names.
    peer: str
    # A pipeline of the examples, instead of what `auto` finds.
    pipeline: str = ""


def declared(arguments, assumed, domains, *statements):
    lines = [f"kernel operation({arguments})", *assumed, *(f"domain {{ {d} }}" for d in domains), *statements]
    return "\n".join(lines) + "\n"


def convolution(name, kind, images, side, channels, *, last):
    """A convolution of 3 x 3 whose pixels' channels are the last axis, or the first one of an image."""
    short = {"bfloat16": "bf16", "float32": "f32"}[kind]
    if last:
        arguments = f"x: {short}[nb, h + 2, v + 2, nc], w: {short}[3, 3, nc, no], y: {short}[nb, h, v, no]"
        at, factors = "b, i, j, o", ["w[p, q, c, o]", "x[b, i + p, j + q, c]"]
        shapes = (images, side + 2, side + 2, channels), (3, 3, channels, channels), (images, side, side, channels)
        peer = "torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)).permute(0, 2, 3, 1)"
    else:
        arguments = f"x: {short}[nb, nc, h + 2, v + 2], w: {short}[no, nc, 3, 3], y: {short}[nb, no, h, v]"
        at, factors = "b, o, i, j", ["w[o, c, p, q]", "x[b, c, i + p, j + q]"]
        shapes = (images, channels, side + 2, side + 2), (channels, channels, 3, 3), (images, channels, side, side)
        peer = "torch.nn.functional.conv2d(x, w)"
    factors = [f"cast(f32, {factor})" if short == "bf16" else factor for factor in factors]
    total = f"sum([c, p, q], {'*'.join(factors)})"
    kernel = declared(
        f"{arguments}, nb: i32, nc: i32, no: i32, h: i32, v: i32",
        ["assume 0 <= nb and 0 <= nc and 0 <= no and 0 <= h and 0 <= v"],
        (f"[{at}] : 0 <= b < nb and 0 <= i < h and 0 <= j < v and 0 <= o < no", "[c, p, q] : 0 <= c < nc and 0 <= p < 3 and 0 <= q < 3"),
        f"y[{at}] = cast(bf16, {total})" if short == "bf16" else f"y[{at}] = {total}",
    )
    sizes = {"nb": images, "nc": channels, "no": channels, "h": side, "v": side}
    return Operation(name, kernel, sizes, {n: (shape, kind) for n, shape in zip("xwy", shapes)}, "y", peer)


def operations():
    f32, bf16, f64 = "float32", "bfloat16", "float64"
    wide, large = (16384, 16384), (16384,)

    def einsum(text, *types):
        return ("make", "einsum", text, *types)

    bf16s = ("--types", "bf16")
    yield Operation("matrix times vector", einsum("ij,j->i"), {"n_i": 16384, "n_j": 16384}, {"a": (wide, f32), "b": (large, f32), "out": (large, f32)}, "out", "a @ b")
    yield Operation("vector times matrix", einsum("ij,i->j"), {"n_i": 16384, "n_j": 16384}, {"a": (wide, f32), "b": (large, f32), "out": (large, f32)}, "out", "b @ a")
    batch = (64, 512, 512)
    yield Operation("64 products of bf16, 512", einsum("bij,bjk->bik", *bf16s), dict(zip(("n_b", "n_i", "n_j", "n_k"), (64, 512, 512, 512))), {"a": (batch, bf16), "b": (batch, bf16), "out": (batch, bf16)}, "out", "torch.bmm(a, b)")
    batch = (64, 256, 256)
    yield Operation("64 products of f32, 256", einsum("bij,bjk->bik"), dict(zip(("n_b", "n_i", "n_j", "n_k"), (64, 256, 256, 256))), {"a": (batch, f32), "b": (batch, f32), "out": (batch, f32)}, "out", "torch.bmm(a, b)")
    few = (16, 4096)
    yield Operation("product of bf16, 16 x 4096 x 4096", einsum("ij,jk->ik", *bf16s), {"n_i": 16, "n_j": 4096, "n_k": 4096}, {"a": (few, bf16), "b": ((4096, 4096), bf16), "out": (few, bf16)}, "out", "a @ b")
    tall = (1 << 20, 64)
    yield Operation("product of f32, 64 x 64 x 2^20", einsum("ji,jk->ik"), {"n_i": 64, "n_j": 1 << 20, "n_k": 64}, {"a": (tall, f32), "b": (tall, f32), "out": ((64, 64), f32)}, "out", "a.t() @ b")
    side = (2048, 2048)
    yield Operation("product of f64, 2048", einsum("ij,jk->ik", "--types", "f64"), dict.fromkeys(("n_i", "n_j", "n_k"), 2048), {"a": (side, f64), "b": (side, f64), "out": (side, f64)}, "out", "a @ b")
    side, loops = (4096, 4096), ("[i] : 0 <= i < m", "[j] : 0 <= j < n", "[k] : 0 <= k < l")
    rows = "a: {0}[m, l], b: {0}[n, l], c: {1}[m, n], m: i32, n: i32, l: i32"
    natural = "assume 0 <= m and 0 <= n and 0 <= l"
    yield Operation("product of i8, 4096", declared(rows.format("i8", "i32"), [natural], loops, "c[i, j] = sum(k, cast(i32, a[i, k])*cast(i32, b[j, k]))"), dict.fromkeys("mnl", 4096), {"a": (side, "int8"), "b": (side, "int8"), "c": (side, "int32")}, "c", "torch._int_mm(a, b.t())")
    yield Operation("product of bf16 into f32, 4096", declared(rows.format("bf16", "f32"), [natural], loops, "c[i, j] = sum(k, cast(f32, a[i, k])*cast(f32, b[j, k]))"), dict.fromkeys("mnl", 4096), {"a": (side, bf16), "b": (side, bf16), "c": (side, f32)}, "c", "a @ b.t()")
    yield Operation("squared distances, 4096 x 4096 x 128", declared(rows.format("f32", "f32"), [natural], loops, "c[i, j] = sum(k, (a[i, k] - b[j, k])*(a[i, k] - b[j, k]))"), {"m": 4096, "n": 4096, "l": 128}, {"a": ((4096, 128), f32), "b": ((4096, 128), f32), "c": (side, f32)}, "c", "torch.cdist(a, b).square()")
    yield convolution("convolution of bf16, 64 channels last", bf16, 16, 64, 64, last=True)
    yield convolution("convolution of bf16, 256 channels last", bf16, 16, 128, 256, last=True)
    yield convolution("convolution of bf16, 64 channels first", bf16, 16, 64, 64, last=False)
    yield convolution("convolution of f32, 64 channels first", f32, 16, 64, 64, last=False)
    heads = (8, 1024, 16, 64)
    yield Operation("scores of 16 heads of bf16", einsum("bqhd,bkhd->bhqk", *bf16s), dict(zip(("n_b", "n_q", "n_h", "n_d", "n_k"), (8, 1024, 16, 64, 1024))), {"a": (heads, bf16), "b": (heads, bf16), "out": ((8, 16, 1024, 1024), bf16)}, "out", "torch.einsum('bqhd,bkhd->bhqk', a, b)")
    yield Operation("sum of f32 over two axes", einsum("ijkl,klm->ijm"), dict(zip(("n_i", "n_j", "n_k", "n_l", "n_m"), (64, 64, 64, 64, 1024))), {"a": ((64, 64, 64, 64), f32), "b": ((64, 64, 1024), f32), "out": ((64, 64, 1024), f32)}, "out", "torch.einsum('ijkl,klm->ijm', a, b)")
    whole, images = (8192, 8192), (64, 128, 56, 56)
    added = declared("a: f32[m, n], b: f32[m, n], c: f32[m, n], m: i32, n: i32", ["assume 0 <= m and 0 <= n"], ("[i, j] : 0 <= i < m and 0 <= j < n",), "c[i, j] = a[i, j] + b[i, j]")
    yield Operation("sum of two matrices", added, {"m": 8192, "n": 8192}, {"a": (whole, f32), "b": (whole, f32), "c": (whole, f32)}, "c", "a + b")
    loops = "[p, c, i, j] : 0 <= p < np and 0 <= c < nc and 0 <= i < h and 0 <= j < v"
    biased = declared("x: f32[np, nc, h, v], bias: f32[nc], y: f32[np, nc, h, v], np: i32, nc: i32, h: i32, v: i32", ["assume 0 <= np and 0 <= nc and 0 <= h and 0 <= v"], (loops,), "y[p, c, i, j] = max(x[p, c, i, j] + bias[c], 0.0)")
    yield Operation("bias and relu of 64 x 128 x 56 x 56", biased, dict(zip(("np", "nc", "h", "v"), images)), {"x": (images, f32), "bias": ((128,), f32), "y": (images, f32)}, "y", "torch.relu(x + bias[None, :, None, None])")
    last = (64, 56, 56, 128)
    yield Operation("channels last of 64 x 128 x 56 x 56", ("make", "copy", "--shape", "p,c,i,j", "--axes", "0,2,3,1"), dict(zip("pcij", images)), {"x": (images, f32), "out": (last, f32)}, "out", "x.permute(0, 2, 3, 1).contiguous()")
    all_of = {"x": ((1 << 28,), f32), "out": ((1,), f32)}
    yield Operation("sum of all", ("make", "reduce", "sum", "--shape", "n"), {"n": 1 << 28}, all_of, "out", "x.sum()")
    yield Operation("greatest of each row", ("make", "reduce", "argmax", "--shape", "m,n", "--axes", "1"), {"m": 4096, "n": 16384}, {"x": ((4096, 16384), f32), "values": ((4096,), f32), "indices": ((4096,), "int32")}, "values", "x.max(1)[0]")
    yield Operation("sums of columns", ("make", "reduce", "sum", "--shape", "m,n", "--axes", "0"), {"m": 16384, "n": 16384}, {"x": (wide, f32), "out": (large, f32)}, "out", "x.sum(0)")
    cube = (256, 1024, 1024)
    yield Operation("sums of a middle axis", ("make", "reduce", "sum", "--shape", "a,b,c", "--axes", "1"), {"a": 256, "b": 1024, "c": 1024}, {"x": (cube, f32), "out": ((256, 1024), f32)}, "out", "x.sum(1)")
    scanned, long = (8192, 16384), (1 << 26,)
    yield Operation("running sums of rows", ("make", "scan", "cumsum", "--shape", "m,n", "--axis", "1"), {"m": 8192, "n": 16384}, {"x": (scanned, f32), "out": (scanned, f32)}, "out", "x.cumsum(1)")
    yield Operation("running sums of columns", ("make", "scan", "cumsum", "--shape", "m,n", "--axis", "0"), {"m": 8192, "n": 16384}, {"x": (scanned, f32), "out": (scanned, f32)}, "out", "x.cumsum(0)")
    yield Operation("running sums of all", ("make", "scan", "cumsum", "--shape", "n"), {"n": 1 << 26}, {"x": (long, f32), "out": (long, f32)}, "out", "x.cumsum(0)")
    few = (8, 1 << 22)
    yield Operation("running sums of 8 rows", ("make", "scan", "cumsum", "--shape", "m,n", "--axis", "1", "--type", "i32"), {"m": 8, "n": 1 << 22}, {"x": (few, "<100"), "out": (few, "int32")}, "out", "x.cumsum(1)")
    yield Operation("axes 0, 2, 1", ("make", "copy", "--shape", "a,b,c", "--axes", "0,2,1"), {"a": 256, "b": 1024, "c": 1024}, {"x": (cube, f32), "out": (cube, f32)}, "out", "x.permute(0, 2, 1).contiguous()")
    yield Operation("eight greatest of each row", ("make", "top-k", "8", "--shape", "m,n", "--axis", "1"), {"m": 4096, "n": 8192}, {"x": ((4096, 8192), f32), "values": ((4096, 8), f32), "indices": ((4096, 8), "int32")}, "values", "x.topk(8, 1)[0]")
    counted = declared("keys: i32[n], counts: i32[256], n: i32", ["fact 0 <= keys < 256", "assume 0 <= n"], ("[b] : 0 <= b < 256", "[i] : 0 <= i < n"), "counts[b] = 0 {id=clear}", "counts[keys[i]] += 1 {id=count}")
    yield Operation("counts of 256 bins", counted, {"n": 1 << 26}, {"keys": (long, "<256"), "counts": ((256,), "int32")}, "counts", "torch.bincount(keys, minlength=256)")
    table, places = (50000, 64), (1 << 20,)
    gathered = declared("x: f32[r, d], at: i32[n], y: f32[n, d], n: i32, d: i32, r: i32", ["assume 0 <= n and 0 <= d and 1 <= r", "fact 0 <= at < r"], ("[i, c] : 0 <= i < n and 0 <= c < d",), "y[i, c] = x[at[i], c]")
    yield Operation("rows gathered", gathered, {"n": 1 << 20, "d": 64, "r": 50000}, {"x": (table, f32), "at": (places, "<50000"), "y": ((1 << 20, 64), f32)}, "y", "x[at]")
    normal = declared("x: f32[m, n], y: f32[m, n], m: i32, n: i32", ["assume 0 <= m and 1 <= n"], ("[r] : 0 <= r < m", "[i] : 0 <= i < n", "[j] : 0 <= j < n", "[k] : 0 <= k < n"), "temp t: f32[m] global", "temp s: f32[m] global", "t[r] = max(i, x[r, i])", "s[r] = sum(j, exp(x[r, j] - t[r]))", "y[r, k] = exp(x[r, k] - t[r])/s[r]")
    classify = (EXAMPLES / "kernels/classify.lw").read_text()
    for inputs, length in [(1 << 20, 64), (1 << 18, 512), (1 << 15, 4096)]:
        yield Operation(
            f"softmax of a product with 64 classes, {inputs} x {length}", classify, {"m": inputs, "l": length},
            {"x": ((inputs, length), bf16), "w": ((64, length), bf16), "p": ((inputs, 64), f32)}, "p",
            "torch.softmax((x @ w.T).float(), 1)", "pipelines/classify/mma.pipe",
        )
    yield Operation("softmax of 64 rows of 2^20", normal, {"m": 64, "n": 1 << 20}, {"x": ((64, 1 << 20), f32), "y": ((64, 1 << 20), f32)}, "y", "torch.softmax(x, 1)")


def folder_of(operation, given):
    return given.folder / "".join(c if c.isalnum() else "_" for c in operation.name)


def call(*arguments):
    done = subprocess.run([os.environ["LOOPWRIGHT"], *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def export(chosen, given):
    given.folder.mkdir(parents=True, exist_ok=True)
    for operation in chosen:
        folder = folder_of(operation, given)
        kernel, pipeline = folder.with_suffix(".lw"), folder.with_suffix(".pipe")
        text = operation.kernel if isinstance(operation.kernel, str) else call(*operation.kernel)
        kernel.write_text(text)
        sizes = [f"--set={name}={value}" for name, value in operation.sizes.items()]
        given_steps = operation.pipeline and (EXAMPLES / operation.pipeline).read_text()
        pipeline.write_text(given_steps or call("auto", kernel, *sizes))
        call("export", kernel, pipeline, *sizes, "--arch", os.environ.get("ARCH", "sm_90a"), "-o", folder)
        print(operation.name, flush=True)


def tensors(torch, operation):
    made = {}
    for name, (shape, kind) in operation.arrays.items():
        if kind[0] == "<":
            made[name] = torch.randint(0, int(kind[1:]), shape, dtype=torch.int32, device="cuda")
        elif name == operation.result or kind == "int32":
            made[name] = torch.zeros(shape, dtype=getattr(torch, kind), device="cuda")
        elif kind == "int8":
            made[name] = torch.randint(-9, 9, shape, dtype=torch.int8, device="cuda")
        else:
            made[name] = torch.randn(shape, device="cuda").to(getattr(torch, kind))
    return made


def measure(chosen, given):
    sys.path.insert(0, str(HERE.parent / "peers"))
    from exported import Exported
    from needed import torch
    from timing import timed

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    clean = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
    print(torch.cuda.get_device_name(), torch.__version__, flush=True)
    for operation in chosen:
        arrays = tensors(torch, operation)
        code, names = compile(operation.peer, operation.name, "eval"), {**arrays, "torch": torch}
        launches = {"ours": Exported(folder_of(operation, given), arrays), "torch": lambda: eval(code, names)}
        launches["ours"]()
        wanted, found = launches["torch"]().double().reshape(-1), arrays[operation.result].double().reshape(-1)
        error = ((found - wanted).abs().max() / wanted.abs().max()).item()
        times = {name: [] for name in launches}
        for _ in range(given.rounds):
            for name in random.sample(list(launches), len(launches)):
                clean.sum()
                start, end = timed(launches[name])
                torch.cuda.synchronize()
                times[name].append(start.elapsed_time(end) * 1e3)
        ours, theirs = (statistics.median(times[name]) for name in ("ours", "torch"))
        print(f"{operation.name:36} {ours:9.1f} us, torch {theirs:9.1f} us, {theirs / ours:7.3f}, error {error:.0e}", flush=True)
        del arrays, names, launches, wanted, found
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("export", "measure"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    chosen = [o for o in operations() if not given.names or any(name in o.name for name in given.names)]
    (export if given.what == "export" else measure)(chosen, given)


if __name__ == "__main__":
    main()
