#!/usr/bin/env python3
"""What a launch from Python costs the host, beside CuPy, the driver's binding `cuda.bindings`,
Triton and torch; and a kernel from its declaration to its first launch.

    benches/gpu/launch.py [--rounds 51] [--launches 200] [--json FILE]

Needs the package `loopwright` (the wheel), torch, CuPy and one GPU; `cuda.core`, `cuda.bindings`
and Triton where they are there. All launch `y[i] = a*x[i] + y[i]` on 1024 elements of torch's
arrays, on torch's current stream. A round measures each of them once, in a new random order: the
clock of the host around so many launches, with nothing under way before; a queue that is full is
not measured, since 200 launches fit into it. Times are medians over the rounds, with the lower and
the upper quartile; the ratio is to `cuda.core`, or to the leanest of what stands in for it.

First launches are those of kernels whose texts differ: from the declaration to the end of the first
launch, with an empty cache of binaries and with one that holds them; the device is open. They are
compared with CuPy's RawKernel of such a kernel written by hand, whose own cache is emptied
likewise.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

N = 1024
AXPY = """
    kernel {name}(x: f32[n], y: f32[n], a: f32, n: i32)
    domain {{ [i] : 0 <= i < n }}
    y[i] = a*x[i] + y[i]{more}
"""
STEPS = "split_iname(i, 128); tag_inames(i_outer: block.x, i_inner: thread.x)"
SOURCE = """
extern "C" __global__ void axpy(float *x, float *y, float a, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
BLOCKS, THREADS = N // 128, 128


def quartiles(values):
    return statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3


def ours(x, y):
    import loopwright

    kernel = loopwright.Kernel(AXPY.format(name="axpy", more="")).apply(STEPS)
    found = {"loopwright, call (waits)": lambda: kernel(x=x, y=y, a=0.5)}
    # Older packages can only call.
    if hasattr(kernel, "bind"):
        found["loopwright, bound"] = kernel.bind(x=x, y=y, a=0.5)
    return found


def by_cupy(x, y):
    import cupy
    import numpy
    import torch

    kernel = cupy.RawKernel(SOURCE, "axpy")
    arguments = (cupy.from_dlpack(x), cupy.from_dlpack(y), numpy.float32(0.5), numpy.int32(N))
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

    def launch():
        kernel((BLOCKS,), (THREADS,), arguments)

    def on_stream():
        with stream:
            launch()

    return {"cupy.RawKernel": launch, "cupy.RawKernel, on a stream": on_stream}


def compiled(source):
    """The function of a source, compiled by nvcc, by the driver's binding."""
    from cuda.bindings import driver

    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder) / "axpy.cu", Path(folder) / "axpy.cubin"
        text.write_text(source)
        subprocess.run(["nvcc", "-cubin", "-arch=native", str(text), "-o", str(binary)], check=True)
        error, module = driver.cuModuleLoadData(binary.read_bytes())
    assert error == driver.CUresult.CUDA_SUCCESS, error
    error, function = driver.cuModuleGetFunction(module, b"axpy")
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return driver, function, module


def by_bindings(x, y):
    import ctypes

    import torch

    driver, function, module = compiled(SOURCE)
    stream = driver.CUstream(torch.cuda.current_stream().cuda_stream)
    values = (x.data_ptr(), y.data_ptr(), 0.5, N)
    kinds = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_int)
    # As the binding packs arguments, each time, and with pointers that are made once.
    raw = [kind(value) for kind, value in zip(kinds, values)]
    pointers = (ctypes.c_void_p * len(raw))(*[ctypes.addressof(value) for value in raw])
    at = ctypes.addressof(pointers)
    keep = (raw, pointers, module)

    def packing():
        driver.cuLaunchKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, (values, kinds), 0)

    def packed(_keep=keep):
        driver.cuLaunchKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, at, 0)

    return {"cuda.bindings, packing": packing, "cuda.bindings, packed": packed}


def by_core(x, y):
    import ctypes

    import numpy
    import torch

    try:
        from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
    except ImportError:
        from cuda.core.experimental import Device, LaunchConfig, Program, ProgramOptions, launch
    device = Device()
    device.set_current()
    options = ProgramOptions(std="c++17", arch=f"sm_{''.join(map(str, device.compute_capability))}")
    kernel = Program(SOURCE, code_type="c++", options=options).compile("cubin").get_kernel("axpy")

    class Current:
        def __cuda_stream__(self):
            return (0, torch.cuda.current_stream().cuda_stream)

    stream = device.create_stream(Current())
    config = LaunchConfig(grid=BLOCKS, block=THREADS)
    arguments = (x.data_ptr(), y.data_ptr(), ctypes.c_float(0.5), numpy.int32(N))
    return {"cuda.core": lambda: launch(stream, config, kernel, *arguments)}


def by_triton(x, y):
    from triton_axpy import axpy

    return {"Triton": lambda: axpy[(BLOCKS,)](x, y, 0.5, N, BLOCK=128)}


def by_torch(x, y):
    return {"torch, y.add_": lambda: y.add_(x, alpha=0.5)}


def host_times(launches, rounds, count):
    """Microseconds of a launch in each round."""
    import torch

    names, order = list(launches), random.Random(1)
    found = {name: [] for name in names}
    for launch in launches.values():
        for _ in range(20):
            launch()
    for _ in range(rounds):
        order.shuffle(names)
        for name in names:
            launch = launches[name]
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(count):
                launch()
            found[name].append(1e6 * (time.perf_counter() - start) / count)
    torch.cuda.synchronize()
    return found


def launch_cost(given):
    import torch

    x, start = torch.rand(N, device="cuda"), torch.rand(N, device="cuda")
    launches, missing, alive = {}, [], []
    import loopwright

    if not hasattr(loopwright.Kernel, "bind"):
        missing.append("loopwright, bound: this package has no `Kernel.bind`")
    for maker in (ours, by_core, by_bindings, by_cupy, by_triton, by_torch):
        try:
            # Some keep addresses alone.
            alive.append(start.clone())
            made = maker(x, alive[-1])
        except Exception as error:  # what is not there, or not in this version
            missing.append(f"{maker.__name__}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            if maker is ours:
                raise
            continue
        launches.update(made)
    # Each is right: it adds a*x to y once a launch.
    for maker in (ours, by_core, by_bindings, by_cupy, by_triton, by_torch):
        y = start.clone()
        try:
            made = maker(x, y)
        except Exception:
            continue
        for name, launch in made.items():
            y.copy_(start)
            launch()
            torch.cuda.synchronize()
            off = (y.double() - (0.5 * x.double() + start.double())).abs().max().item()
            if not off <= 1e-6:
                launches.pop(name, None)
                missing.append(f"{name}: wrong by {off}")
                if maker is ours:
                    raise RuntimeError(f"{name}: wrong by {off}")
    times = host_times(launches, given.rounds, given.launches)
    middle = {name: statistics.median(all_times) for name, all_times in times.items()}
    stand_in = [name for name in middle if name.startswith(("cuda.bindings", "cupy"))]
    base = "cuda.core" if "cuda.core" in middle else min(stand_in, key=middle.get) if stand_in else None
    print(f"\n| launch | host, us | quartiles | over {base} |\n|---|---|---|---|")
    for name in sorted(middle, key=middle.get):
        low, _, high = quartiles(times[name])
        ratio = f"{middle[name] / middle[base]:.2f}" if base else "–"
        print(f"| {name} | {middle[name]:.2f} | {low:.2f} to {high:.2f} | {ratio} |")
    return {"us": times, "base": base}, missing


def first_launches(count):
    """Milliseconds from the declaration to the end of the first launch of so many kernels, ours and
    CuPy's, in a process of its own."""
    import cupy
    import loopwright
    import torch

    x, y = torch.rand(N, device="cuda"), torch.rand(N, device="cuda")
    # The device is open, and what is done once in a process has been done.
    loopwright.Kernel(AXPY.format(name="opened", more="")).apply(STEPS)(x=x, y=y, a=0.5)
    cupy.RawKernel(SOURCE.replace("axpy", "opened"), "opened")((1,), (1,), (cupy.zeros(1, "f4"), cupy.zeros(1, "f4"), cupy.float32(0), cupy.int32(0)))
    found = {"declared": [], "loaded": [], "launched": [], "cupy": []}
    a, b = cupy.from_dlpack(x), cupy.from_dlpack(y)
    for number in range(count):
        torch.cuda.synchronize()
        start = time.perf_counter()
        kernel = loopwright.Kernel(AXPY.format(name=f"axpy_{number}", more=f" + {number}.0")).apply(STEPS)
        declared = time.perf_counter()
        if hasattr(kernel, "bind"):
            bound = kernel.bind(x=x, y=y, a=0.5)
            loaded = time.perf_counter()
            bound()
            bound.wait()
        else:
            loaded = float("nan")
            kernel(x=x, y=y, a=0.5)
        done = time.perf_counter()
        found["declared"].append(1e3 * (declared - start))
        found["loaded"].append(1e3 * (loaded - start))
        found["launched"].append(1e3 * (done - start))
        text = SOURCE.replace("+ y[i];", f"+ y[i] + {number}.0f;").replace("axpy", f"axpy_{number}")
        start = time.perf_counter()
        cupy.RawKernel(text, f"axpy_{number}")((BLOCKS,), (THREADS,), (a, b, cupy.float32(0.5), cupy.int32(N)))
        torch.cuda.synchronize()
        found["cupy"].append(1e3 * (time.perf_counter() - start))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=51)
    parser.add_argument("--launches", type=int, default=200, help="in a row")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.first:
        print(json.dumps(first_launches(given.first)))
        return 0
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
    import torch

    print(torch.cuda.get_device_name(), f"CUDA {torch.version.cuda}, torch {torch.__version__}, Python {sys.version.split()[0]}", flush=True)
    cost, missing = launch_cost(given)
    first = {}
    print("\n| first launch, ms (median of 9) | declared | loaded | launched | CuPy, launched |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LOOPWRIGHT_CACHE": f"{folder}/ours", "CUPY_CACHE_DIR": f"{folder}/cupy", "CUDA_CACHE_DISABLE": "1"}
        for state in ("empty cache", "warm cache"):
            ran = subprocess.run([sys.executable, __file__, "--first", "9"], env=environment, capture_output=True, text=True)
            if ran.returncode != 0:
                missing.append(f"first launches, {state}: {(ran.stderr.strip().splitlines() or ['no output'])[-1]}")
                continue
            first[state] = json.loads(ran.stdout.strip().splitlines()[-1])
            columns = [statistics.median(first[state][key]) for key in ("declared", "loaded", "launched", "cupy")]
            print(f"| {state} | " + " | ".join(f"{value:.2f}" for value in columns) + " |", flush=True)
    print()
    for line in missing:
        print(f"not measured: {line}")
    if given.json:
        given.json.write_text(json.dumps({"launch": cost, "first": first, "not measured": missing}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
