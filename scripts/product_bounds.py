#!/usr/bin/env python3
"""What can be known of the fastest product of each type without a device: its machine code for an
H200, and how fast it can be at most by that.

    scripts/product_bounds.py [NAME...]

A line each: instructions of the inner loop by their SASS names; registers, spills, stack; warps
that are resident on a multiprocessor; bytes that they have under way there while a step is computed
(the copies of all slots of the ring but the one that is read, and loads into registers); bank
conflicts of a run on the emulator, results included; and the rate that each resource allows:

    tensor   what the instruction alone reaches on an H200 (benches/peers/mma_rate.cu); of f32, 128
             lanes a clock
    shared   one pass over the banks a clock: a pass for each matrix of `LDSM` and for each 128
             bytes that `LDGSTS` writes; one for each `LDS`, whose lanes may read the same words
    issue    one instruction a clock for each of four schedulers
    level 2  bytes that `LDGSTS` and `LDG` read, at 2.5 times the memory's bandwidth

Constants are those of the static cost (`crates/tuner/src/cost.rs`). The bound is the least of them;
that some of them do not overlap fully is why less is reached. LOOPWRIGHT is the command. No GPU is
needed. Exit status 1 if a kernel spills or has a stack.
"""

import collections
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine_code import ROOT, command, inner_loop, instructions, name, tools, usage_of

CLOCK, MULTIPROCESSORS, LEVEL_2 = 1.98e9, 132, 2.5 * 4.4e12
REGISTERS, SHARED, WARPS = 65536, 233472, 64
# Multiplications of a warp by one instruction.
SHAPES = {
    "HMMA.16816": 16 * 8 * 16,
    "HMMA.1688": 16 * 8 * 8,
    "IMMA.16832": 16 * 8 * 32,
    "DMMA.16x8x16": 16 * 8 * 16,
    "DMMA.16x8x8": 16 * 8 * 8,
    "DMMA.16x8x4": 16 * 8 * 4,
    "DMMA.8x8x4": 8 * 8 * 4,
    "FFMA": 32,
}
FFMA_RATE = 2 * 128 * MULTIPROCESSORS * CLOCK / 1e12

TENSOR = "benches/gpu/tensor"
# Name: kernel, pipeline, parameters, sizes, sizes on the emulator, TFLOP/s of the instruction.
WIDE = "bm=256 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3 group=8 a=4 b=2"
PRODUCTS = {
    "f32": ("examples/kernels/matmul.lw", "benches/gpu/sgemm/ring16.pipe", "", "m=4096 n=4096 l=4096", "m=128 n=128 l=64", FFMA_RATE),
    "f32, any size": ("examples/kernels/matmul.lw", "examples/pipelines/matmul/register_tile.pipe", "", "m=4095 n=4097 l=4099", "m=131 n=133 l=35", FFMA_RATE),
    "bf16": ("examples/kernels/matmul_bf16.lw", f"{TENSOR}/ring_across_flat.pipe", WIDE, "m=4096 n=4096 l=4096", "m=2048 n=256 l=64", 626),
    "f16": (f"{TENSOR}/f16.lw", f"{TENSOR}/ring_across_flat.pipe", WIDE, "m=4096 n=4096 l=4096", "m=2048 n=256 l=64", 611),
    "tf32, rounded before": (f"{TENSOR}/tf32_rounded_first.lw", f"{TENSOR}/ring_rounded_first.pipe", "bm=256 bn=128 wm=64 wn=64 bk=32 stages=4 group=4", "m=4096 n=4096 l=4096", "m=1024 n=128 l=32", 318),
    "tf32, cut off": (f"{TENSOR}/tf32_truncated.lw", f"{TENSOR}/ring_across_tf32_truncated.pipe", "bm=256 bn=128 wm=64 wn=64 bk=32 stages=4 group=4", "m=4096 n=4096 l=4096", "m=1024 n=128 l=32", 318),
    "s8": (f"{TENSOR}/s8.lw", f"{TENSOR}/ring_across_s8.pipe", "bm=128 bn=128 wm=64 wn=64 bk=128 stages=3 group=8", "m=4096 n=4096 l=4096", "m=1024 n=128 l=128", 1301),
    "f64": (f"{TENSOR}/f64.lw", f"{TENSOR}/ring_f64_16.pipe", "bm=64 bn=64 wm=32 wn=32 bk=16 stages=4 group=8", "m=4096 n=4096 l=4096", "m=1024 n=128 l=32", 66.7),
    "convolution": (f"{TENSOR}/convolution.lw", f"{TENSOR}/conv_ring.pipe", "height=128 channels=256 bm=128 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3", "q=16 h=128 w=128 n=256 l=256", "q=1 h=2 w=128 n=128 l=64", 626),
    "contraction": (f"{TENSOR}/contraction.lw", f"{TENSOR}/contraction_ring.pipe", "length=256 bm=256 bn=128 wm=64 wn=64 bk=64 stages=3 swizzle=3 group=8", "t=16 m=4096 n=4096 l=256", "t=2 m=2048 n=256 l=64", 626),
}


def options(flag, pairs):
    return [word for pair in pairs.split() for word in (flag, pair)]


def multiplications(line):
    """Of one instruction of a warp; 0 of others than products."""
    opcode = line.split()[1 if line.startswith("@") else 0].rstrip(";")
    parts = opcode.split(".")
    return SHAPES.get(".".join(parts[:2]), 0) or SHAPES.get(parts[0], 0)


def passes(line):
    """Over the banks of shared memory, by one instruction of a warp."""
    opcode = line.split()[1 if line.startswith("@") else 0]
    if opcode.startswith("LDSM"):
        return {"4": 4, "2": 2}.get(opcode[-1], 1)
    if opcode.startswith("LDGSTS"):
        return copied(line) // 128
    return 1 if opcode.startswith(("LDS", "STS")) else 0


def copied(line, instruction="LDGSTS"):
    """Bytes that an instruction of a warp copies asynchronously, or loads."""
    opcode = line.split()[1 if line.startswith("@") else 0]
    if opcode.split(".")[0] != instruction:
        return 0
    width = next((int(part) for part in opcode.split(".") if part in ("64", "128")), 32)
    return 32 * width // 8


def conflicts_of(kernel, pipeline, parameters, small):
    """Bank conflicts of a run on the emulator."""
    # Where a pipeline is for certain sizes, these are parameters of it.
    for fixed, size in (("height", "h"), ("channels", "l"), ("length", "l")):
        value = re.search(rf"\b{size}=(\d+)", small)
        parameters = re.sub(rf"\b{fixed}=\d+", f"{fixed}={value and value.group(1)}", parameters)
    arrays = [word for array in ("x", "f") for word in ("--random", array)] if "conv" in pipeline else ["--random", "a", "--random", "b"]
    run = command() + ["run", kernel, pipeline, *options("-p", parameters), *options("--set", small), *arrays, "--device", "emulator"]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True)
    found = re.search(r"(\d+) bank conflicts", done.stdout + done.stderr)
    if done.returncode or not found:
        sys.exit(f"{pipeline}: {done.stdout}{done.stderr}")
    return int(found.group(1))


def resident_blocks(threads, registers, shared):
    """Of a multiprocessor, by what its registers, shared memory (with the system's own KiB of each
    block, which the binary lists) and warps have room for. Registers are given to warps by 256."""
    warps = threads // 32
    a_warp = -(-registers * 32 // 256) * 256
    return min(REGISTERS // a_warp // warps, SHARED // shared, WARPS // warps)


def line(product, environment):
    kernel, pipeline, parameters, sizes, small, rate = PRODUCTS[product]
    text = (ROOT / pipeline).read_text()
    stages = int(re.search(r"stages=(\d+)", parameters or text).group(1)) if "stages=" in text else 1
    with tempfile.TemporaryDirectory() as folder:
        if product == "f16":
            pipeline = f"{folder}/f16.pipe"
            Path(pipeline).write_text(text.replace("_bf16", "_f16"))
        export = command() + ["export", kernel, pipeline, *options("-p", parameters), *options("--set", sizes), "--arch", "sm_90a", "-o", f"{folder}/to"]
        done = subprocess.run(export, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{product}: {done.stderr}")
        launches = json.loads(Path(folder, "to/launches.json").read_text())["launches"]
        cubin = f"{folder}/to/kernel.cubin"
        show = lambda option: subprocess.run(["cuobjdump", option, cubin], env=environment, check=True, capture_output=True, text=True).stdout
        usage, code = show("-res-usage"), show("-sass")
        conflicts = conflicts_of(kernel, pipeline, parameters, small)
    # The launch with the product: others prepare factors.
    functions = {part.split("\n", 1)[0].strip(): part for part in code.split("Function :")[1:]}
    launch = max(launches, key=lambda l: sum(map(multiplications, inner_loop(instructions(functions[l["kernel"]])))))
    loop = inner_loop(instructions(functions[launch["kernel"]]))
    registers, stack, local, shared = usage_of(usage, launch["kernel"])
    x, y, z = launch["block"]
    shared += launch["dynamic_shared"]
    blocks = resident_blocks(x * y * z, registers, shared)
    warps = blocks * (x * y * z) // 32
    products = sum(map(multiplications, loop))
    rates = {
        "tensor": rate,
        "shared": 2 * products / max(sum(map(passes, loop)), 1) * MULTIPROCESSORS * CLOCK / 1e12,
        "issue": 2 * products / len(loop) * 4 * MULTIPROCESSORS * CLOCK / 1e12,
    }
    copies, loads = sum(map(copied, loop)), sum(copied(one, "LDG") for one in loop)
    if copies + loads:
        rates["level 2"] = 2 * products / (copies + loads) * LEVEL_2 / 1e12
    bound = min(rates, key=rates.get)
    mix = ", ".join(f"{n} {count}" for n, count in collections.Counter(map(name, loop)).most_common(8))
    under_way = warps * (copies * (stages - 1) + loads)
    print(
        f"{product} ({Path(PRODUCTS[product][1]).stem}): inner loop of {len(loop)}: {mix}; {registers} registers, spills: {local}, "
        f"stack: {stack}; {warps} resident warps in {blocks} blocks, {under_way} bytes under way, {conflicts} bank conflicts; "
        + ", ".join(f"{n} {value:.0f}" for n, value in rates.items())
        + f" TFLOP/s; bound {rates[bound]:.0f} by {bound}",
        flush=True,
    )
    return stack == 0 and local == 0


def main():
    environment = tools()
    wanted = sys.argv[1:] or list(PRODUCTS)
    sys.exit(0 if all([line(product, environment) for product in wanted]) else 1)


if __name__ == "__main__":
    main()
