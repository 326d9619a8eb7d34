#!/usr/bin/env python3
"""The machine code of the examples' products: instructions of the inner loop by their SASS names,
registers, spills, stack.

    scripts/machine_code.py [ARCH [KERNEL/PIPELINE...]]

No GPU is needed: NVRTC compiles, cuobjdump and nvdisasm show. The inner loop is the innermost one
with the most multiplications. LOOPWRIGHT is the command; by default `cargo run --release`. Exit
status 1 if a kernel spills or has a stack, 3 if there is no disassembler.
"""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZES = ["--set", "m=4096", "--set", "n=4096", "--set", "l=4096"]
ARITHMETIC = ("HMMA", "IMMA", "DMMA", "FFMA", "DFMA")


def tools():
    brought = sorted(glob.glob(str(ROOT / ".build/nvrtc/nvidia/*/bin")))
    path = os.pathsep.join(brought + [os.environ.get("PATH", "")])
    if not shutil.which("cuobjdump", path=path) or not shutil.which("nvdisasm", path=path):
        print("machine code: no cuobjdump and nvdisasm; `make setup` installs them where it can", file=sys.stderr)
        sys.exit(3)
    return {**os.environ, "PATH": path}


def command():
    given = os.environ.get("LOOPWRIGHT")
    return [given] if given else ["cargo", "run", "--quiet", "--release", "--bin", "loopwright", "--"]


def instructions(text):
    """Address and text of each instruction."""
    found = re.findall(r"/\*([0-9a-f]{4,})\*/\s+(.*?);", text)
    return [(int(address, 16), line) for address, line in found]


def name(line):
    words = line.split()
    if words[0].startswith("@"):
        del words[0]
    return words[0].split(".")[0]


def inner_loop(code):
    """The instructions of the innermost loop with the most multiplications; all of them if there is
    no loop."""
    loops = []
    for address, line in code:
        target = re.search(r"BRA.*0x([0-9a-f]+)", line)
        if target and int(target.group(1), 16) < address:
            loops.append((int(target.group(1), 16), address))
    work = lambda loop: sum(name(line) in ARITHMETIC for address, line in code if loop[0] <= address <= loop[1])
    innermost = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] and work(b) > 0 for b in loops)]
    if not innermost:
        return [line for _, line in code]
    first, last = max(innermost, key=work)
    return [line for address, line in code if first <= address <= last]


def usage_of(text, function=""):
    """Registers, bytes of stack and of local memory of a thread, and bytes of shared memory, of a
    function, or of the first one."""
    text = text[text.index(f"Function {function}") :]
    return [int(re.search(rf"{word}:(\d+)", text).group(1)) for word in ("REG", "STACK", "LOCAL", "SHARED")]


def main():
    arch, wanted = (sys.argv[1:2] or ["sm_90a"])[0], sys.argv[2:]
    if not wanted:
        files = [p for kernel in ("matmul", "matmul_bf16") for p in sorted((ROOT / "examples/pipelines" / kernel).glob("*.pipe"))]
        files += sorted((ROOT / "examples/products").glob("*.pipe"))
        wanted = [f"{p.parent.name}/{p.stem}" for p in files]
    environment, bad = tools(), False
    for product in wanted:
        kernel, pipeline = product.split("/")
        with tempfile.TemporaryDirectory() as folder:
            of_folder = [f"examples/kernels/{kernel}.lw", f"examples/pipelines/{product}.pipe"]
            whole = ["examples/kernels/matmul_bf16.lw", f"examples/{product}.pipe"]
            files = whole if kernel == "products" else of_folder
            export = command() + ["export", *files, *SIZES, "--arch", arch, "-o", folder]
            done = subprocess.run(export, cwd=ROOT, capture_output=True, text=True)
            if "error[device-limit]" in done.stderr:
                # Some tiles are made for architectures with more of it.
                print(f"{product} {arch}: {done.stderr.splitlines()[0]}", flush=True)
                continue
            if done.returncode:
                sys.exit(f"{product}: {done.stderr}")
            show = lambda option: subprocess.run(
                ["cuobjdump", option, f"{folder}/kernel.cubin"], env=environment, check=True, capture_output=True, text=True
            ).stdout
            usage = show("-res-usage")
            counts = collections.Counter(map(name, inner_loop(instructions(show("-sass")))))
        registers, stack, local, _ = usage_of(usage)
        bad |= stack > 0 or local > 0
        total = sum(counts.values())
        most = ", ".join(f"{instruction} {count}" for instruction, count in counts.most_common(12))
        print(f"{product} {arch}: {registers} registers, spills: {local}, stack: {stack}; inner loop of {total}: {most}", flush=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
