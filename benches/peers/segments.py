#!/usr/bin/env python3
"""Segmented sums of f32 beside CUB, torch, cuBLAS and Triton, in one process, in alternation.

    cargo build --release --bin loopwright
    benches/peers/segments.py [--equal LENGTHS] [--ragged KINDS] [--json FILE] [--cccl FOLDER] [--loopwright BINARY]
    cargo build --release --bin loopwright --example segmented_reduce
    benches/peers/segments.py --types [CASES]         f16, bf16, f64 and argmax beside torch, nothing else
    benches/peers/segments.py --defaults [CASES]      what is chosen without tuning beside what the tuner finds, nothing else

Run it from the repository's root on a machine with one GPU, torch, Triton and nvcc. For each case `loopwright tune` searches the
points of examples/tuning, `loopwright export` writes the best one's binary and launches, and this program launches them on torch's arrays.
Segments of unequal length are tuned on their own offsets, and checked on fewer ones of the same kind; what is taken without tuning is among the
candidates, and needs the example `segmented_reduce` beside the binary.

What is measured, for each case, by events, on 2^28 elements unless --elements says otherwise:

- every peer's median of 10 launches (3, if it takes more than twice as long as ours); of those within 5 % of the best, the one that is fastest in
  turn with the others goes on;
- the ratio: the best peer's time over ours, the median of 30 pairs of launches (5, as above), one of each in turn;
- the spread: how far the median of such pairs of ours against itself is from 1, plus the standard error of that median;
- the limit: bytes read at the rate of the best kernel that only reads, plus bytes written at the rate that a copy leaves for writing, all
  measured in the same run.

Results are compared with sums in f64 before anything is timed.
"""

import argparse
import ctypes
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
EQUAL = [1 << k for k in range(4, 25)] + [17, 100, 1000, 4097, 100003]
TYPES = [
    f"{operator}:{dtype}:{length}"
    for operator, dtype in (("sum", "f16"), ("sum", "bf16"), ("sum", "f64"), ("argmax", "f32"))
    for length in (64, 4096, 1 << 20)
]
# Eight named shapes, and two lengths that no sweep was made for.
DEFAULTS = ["equal:16", "equal:100", "equal:512", "equal:4096", "equal:100003", "equal:1048576", "power:64", "giant:64"]
DEFAULTS += ["equal:48", "equal:3000"]
RAGGED = [f"{kind}:{mean}" for kind in ("uniform", "power", "giant") for mean in (4, 16, 64, 1024, 65536)]


# --- The driver, and what `loopwright export` writes -------------------------------------------------------------------------

driver = ctypes.CDLL("libcuda.so.1")


def checked(status, what):
    if status != 0:
        raise RuntimeError(f"{what}: CUDA error {status}")


def stream():
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


class Attribute(ctypes.Structure):
    """CUlaunchAttribute, of which the one that is used is CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, a flag."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("flag", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("shape", ctypes.c_uint * 7),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", ctypes.c_uint),
    ]


class Exported:
    """A folder of `loopwright export`, bound to tensors by name; calling it launches."""

    def __init__(self, folder, tensors):
        plan = json.loads((folder / "launches.json").read_text())
        module = ctypes.c_void_p()
        binary = (folder / "kernel.cubin").read_bytes()
        checked(driver.cuModuleLoadData(ctypes.byref(module), binary), "cuModuleLoadData")
        self.alive = dict(tensors)
        for name, array in plan["arrays"].items():
            if array["scratch"]:
                self.alive[name] = torch.empty(array["bytes"], dtype=torch.uint8, device="cuda")
            elif self.alive[name].numel() * self.alive[name].element_size() < array["bytes"]:
                raise RuntimeError(f"{name} is smaller than {array['bytes']} bytes")
        self.launches = []
        for launch in plan["launches"]:
            function = ctypes.c_void_p()
            name = launch["kernel"].encode()
            checked(driver.cuModuleGetFunction(ctypes.byref(function), module, name), "cuModuleGetFunction")
            if launch["dynamic_shared"] > 48 * 1024:
                dynamic_shared_limit = 8
                size = launch["dynamic_shared"]
                checked(driver.cuFuncSetAttribute(function, dynamic_shared_limit, size), "cuFuncSetAttribute")
            values = []
            for parameter in launch["parameters"]:
                if "array" in parameter:
                    values.append(ctypes.c_void_p(self.alive[parameter["array"]].data_ptr()))
                else:
                    raw = bytes.fromhex(parameter["bytes"])
                    values.append((ctypes.c_char * len(raw)).from_buffer_copy(raw))
            pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
            shape = (ctypes.c_uint * 7)(*launch["grid"], *launch["block"], launch["dynamic_shared"])
            config = Config(shape, None, ctypes.pointer(Attribute(id=6, flag=1)), 1 if launch["early"] else 0)
            self.launches.append((function, config, pointers, values))

    def __call__(self):
        on = stream()
        for function, config, pointers, _ in self.launches:
            config.stream = on
            checked(driver.cuLaunchKernelEx(ctypes.byref(config), function, pointers, None), "cuLaunchKernelEx")


# --- Ours ----------------------------------------------------------------------------------------------------------------

class Ours:
    """The command line: tune, then export."""

    def __init__(self, binary, work, untuned=False):
        self.binary, self.work, self.count, self.untuned = binary, work, 0, untuned
        major, minor = torch.cuda.get_device_capability()
        self.arch = f"sm_{major}{minor}" + ("a" if major == 9 else "")

    def call(self, *args):
        done = subprocess.run([self.binary, *map(str, args)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, args))}\n{done.stderr}")
        return done.stdout

    def array(self, of, name, values):
        """NAME=FILE of an option: the values, of the problem or its sample, in a .npy file."""
        path = self.work / f"{of}{self.count}_{name}.npy"
        descr = {torch.int32: "<i4", torch.int64: "<i8", torch.float32: "<f4"}[values.dtype]
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(values.shape)}, }}"
        # Magic, version and length take 10 bytes, a newline ends the header, the data begin at a multiple of 64.
        header += " " * (-(10 + len(header) + 1) % 64) + "\n"
        with open(path, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
            raw = values.cpu().contiguous()
            file.write(ctypes.string_at(raw.data_ptr(), raw.numel() * raw.element_size()))
        return f"{name}={path}"

    def tuned(self, kernel, name, sizes, sample, arrays=None, sample_arrays=None):
        """The best point of examples/tuning/NAME for these sizes and arrays: its pipeline's file, and what it is. Arrays that are not
        given are random."""
        self.count += 1
        best = self.work / f"best{self.count}.pipe"
        tuning = EXAMPLES / "tuning" / name
        given = [f"--set={k}={v}" for k, v in sizes.items()] + [f"--sample={k}={v}" for k, v in sample.items()]
        given += [f"--input={self.array('problem', k, v)}" for k, v in (arrays or {}).items()]
        given += [f"--sample-input={self.array('sample', k, v)}" for k, v in (sample_arrays or {}).items()]
        self.call("tune", kernel, f"{tuning}.pipe", f"{tuning}.space", *given, "--device", "gpu", "--best", best)
        comment = best.read_text().splitlines()[0]
        return best, comment.split(": ", 1)[-1]

    def chosen(self, operator, dtype, *shape):
        """Kernel and pipeline that `segmented_reduce` takes for this device, untuned, and what the form is."""
        self.count += 1
        folder = self.work / f"chosen{self.count}"
        example = str(Path(self.binary).parent / "examples" / "segmented_reduce")
        done = subprocess.run([example, *map(str, (folder, operator, dtype, *shape))], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{example} {shape}\n{done.stderr}")
        return folder / "kernel.lw", folder / "default.pipe", done.stdout.strip()

    def exported(self, kernel, pipeline, sizes, tensors):
        folder = self.work / f"export{self.count}"
        sets = [f"--set={k}={v}" for k, v in sizes.items()]
        self.call("export", kernel, pipeline, *sets, "--arch", self.arch, "-o", folder)
        return Exported(folder, tensors)


# --- Peers ---------------------------------------------------------------------------------------------------------------

class Cub:
    def __init__(self, cccl, work):
        library = work / "libcub_segments.so"
        command = ["nvcc", "-O3", "-std=c++17", "-arch=native", "-Xcompiler", "-fPIC", "-shared"]
        command += [f"-I{cccl}", "-DCUB_FIXED_SIZE"] if cccl else []
        subprocess.run([*command, str(Path(__file__).with_name("cub_segments.cu")), "-o", str(library)], check=True)
        self.library = ctypes.CDLL(str(library))
        self.fixed_size = bool(cccl)

    def __call__(self, function, *args):
        """The launch, its scratch memory allocated."""
        function, size = getattr(self.library, function), ctypes.c_size_t()
        arguments = [ctypes.c_void_p(a.data_ptr()) if torch.is_tensor(a) else ctypes.c_longlong(a) for a in args]
        checked(function(None, ctypes.byref(size), *arguments, stream()), "CUB's scratch size")
        scratch = torch.empty(max(size.value, 1), dtype=torch.uint8, device="cuda")
        at = ctypes.c_void_p(scratch.data_ptr())

        def launch():
            checked(function(at, ctypes.byref(size), *arguments, stream()), "CUB")
            return scratch

        return launch


def triton_rows(x, out, length):
    """Row sums by Triton, the fastest of some tiles; nothing where no tile fits."""
    import triton
    import triton.language as tl

    global row_sums
    if "row_sums" not in globals():

        @triton.jit
        def row_sums(x, out, LENGTH: tl.constexpr, ROWS: tl.constexpr, STEP: tl.constexpr):
            row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
            column = tl.arange(0, STEP)
            place = row.to(tl.int64)[:, None] * LENGTH + column[None, :]
            total = tl.zeros((ROWS, STEP), tl.float32)
            for start in range(0, LENGTH, STEP):
                total += tl.load(x + place + start)
            tl.store(out + row, tl.sum(total, 1))

    segments, best = out.numel(), None
    for step in (16, 32, 64, 128, 256, 1024, 4096):
        if length % step or (step < length and step < 256):
            continue
        for tile in (2048, 4096, 8192):
            rows = tile // step
            if rows == 0 or segments % rows:
                continue
            for warps in (4, 8):
                def launch(rows=rows, step=step, warps=warps):
                    row_sums[(segments // rows,)](x, out, length, rows, step, num_warps=warps)

                try:
                    time = statistics.median(times(launch, 5))
                except Exception:  # a tile that does not fit is no candidate
                    continue
                if best is None or time < best[0]:
                    best = (time, launch)
    return best and best[1]


# --- Times ---------------------------------------------------------------------------------------------------------------

def timed(launch):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    launch()
    end.record()
    return start, end


def times(launch, count, warm_up=3):
    """Milliseconds of each launch."""
    for _ in range(warm_up):
        launch()
    events = [timed(launch) for _ in range(count)]
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in events]


def in_turn(first, second, pairs):
    """The second's time over the first's, of each pair."""
    for launch in (first, second):
        launch()
    events = [(timed(first), timed(second)) for _ in range(pairs)]
    torch.cuda.synchronize()
    return [b[0].elapsed_time(b[1]) / a[0].elapsed_time(a[1]) for a, b in events]


def fastest(launches, rounds=30):
    """The number of the fastest, all launched in turn."""
    if len(launches) == 1:
        return 0
    for launch in launches:
        launch()
    events = [[timed(launch) for launch in launches] for _ in range(rounds)]
    torch.cuda.synchronize()
    medians = [statistics.median(start.elapsed_time(end) for start, end in own) for own in zip(*events)]
    return medians.index(min(medians))


class Limits:
    """What the memory gives, in bytes a millisecond."""

    def __init__(self, x, cub):
        size, out = x.numel() * 4, torch.empty(1, device="cuda")
        copy = torch.empty_like(x)
        self.copy = 2 * size / statistics.median(times(lambda: copy.copy_(x), 20))
        readers = {"CUB's sum of all": cub("cub_sum", x, out, x.numel()), "torch's sum of all": lambda: torch.sum(x)}
        self.read = max(size / statistics.median(times(launch, 20)) for launch in readers.values())

    def of(self, read, written):
        """The least milliseconds for so many bytes."""
        # A copy of b bytes takes b / read + b / write.
        write = 1 / (2 / self.copy - 1 / self.read)
        return read / self.read + written / write


def measure(ours, peers, limit):
    """One case: medians, the ratio to the best peer, the spread, the part of the limit."""
    time = statistics.median(times(ours, 30))
    medians = {}
    for name, launch in peers.items():
        medians[name] = statistics.median(times(launch, 3, warm_up=1))
        if medians[name] <= 2 * time:
            medians[name] = statistics.median(times(launch, 10))
    near = [name for name in peers if medians[name] <= 1.05 * min(medians.values())]
    best = near[fastest([peers[name] for name in near])]
    itself = in_turn(ours, ours, 30)
    spread = abs(statistics.median(itself) - 1) + 1.2533 * statistics.stdev(itself) / math.sqrt(len(itself))
    ratio = statistics.median(in_turn(ours, peers[best], 30 if medians[best] <= 2 * time else 5))
    return {
        "ours_ms": time,
        "of_limit": limit / time,
        "best_peer": best,
        "ratio": ratio,
        "spread": spread,
        "peers_ms": medians,
        "holds": ratio >= 1 - min(spread, 0.01),
    }


def agree(out, expected, length, what):
    error = (out.double() - expected).abs().max().item()
    bound = 1e-5 * max(math.sqrt(length), 1)
    if not error <= bound:
        raise RuntimeError(f"{what}: off by {error}, more than {bound}")


# --- Cases ---------------------------------------------------------------------------------------------------------------

def equal(length, x, ours, cub, limits):
    segments = x.numel() // length
    part = x[: segments * length]
    rows, out = part.view(segments, length), torch.empty(segments, device="cuda")
    kernel = EXAMPLES / "kernels" / "segmented_sum.lw"
    sizes = {"nseg": segments, "len": length}
    # Candidates are checked on fewer rows, and on shorter ones where they are long, of the same remainder.
    short = length if length <= 1 << 18 else (1 << 18) + length % 4
    sample = {"nseg": max(2, min(segments, (1 << 16) // length)), "len": short}
    names = [n for n, fits in SPACES.items() if fits(length)]
    found = []
    for name in names:
        pipeline, point = ours.tuned(kernel, name, sizes, sample)
        launch = ours.exported(kernel, pipeline, sizes, {"x": part, "out": out})
        found.append((name, point, launch))
    name, point, launch = found[fastest([f[-1] for f in found])]
    expected = rows.double().sum(-1)
    ones = torch.ones(length, device="cuda")
    offsets = torch.arange(0, segments * length + 1, length, dtype=torch.int64, device="cuda").to(torch.int32)
    peers = {
        "CUB, offsets": cub("cub_offsets", part, out, segments, offsets),
        "torch.sum": lambda: torch.sum(rows, -1, out=out),
        "cuBLAS, ones": lambda: torch.mv(rows, ones, out=out),
    }
    if cub.fixed_size:
        peers["CUB, fixed size"] = cub("cub_fixed", part, out, segments, length)
    triton = triton_rows(part, out, length)
    if triton:
        peers["Triton"] = triton
    for what, run in {"ours": launch, **peers}.items():
        out.zero_()
        run()
        agree(out, expected, length, what)
    result = measure(launch, peers, limits.of(part.numel() * 4, segments * 4))
    return {"case": f"equal:{length}", "pipeline": name, "point": point, **result}


SPACES = {
    "segmented_sum_short": lambda n: n % 4 == 0 and n <= 2048,
    "segmented_sum_long": lambda n: n % 4 == 0 and n >= 1024,
    "segmented_sum_odd_short": lambda n: n % 4 != 0 and n <= 64,
    "segmented_sum_odd_long": lambda n: n % 4 != 0 and n > 64,
    "segmented_sum_odd_chunks": lambda n: n % 4 != 0 and n > 16384,
    "segmented_sum_peeled_long": lambda n: n % 4 != 0 and n > 512,
    "segmented_sum_peeled_chunks": lambda n: n % 4 != 0 and n > 16384,
    "segmented_sum_chunks": lambda n: n % 4 == 0 and n >= 1 << 18,
}


def lengths_of(kind, mean, elements):
    """Lengths that sum to the number of elements."""
    generator = torch.Generator().manual_seed(1)
    segments = elements // mean
    if kind == "uniform":
        lengths = torch.randint(0, 2 * mean + 1, (segments,), generator=generator)
    elif kind == "power":
        # Pareto with exponent 1.5: its mean is three times its least value.
        lengths = (mean / 3 * torch.rand(segments, generator=generator).clamp(min=1e-9) ** (-1 / 1.5)).long()
    elif kind == "giant":
        lengths = torch.full((segments,), mean // 2)
    else:
        raise SystemExit(f"{kind} is none of uniform, power, giant")
    ends = lengths.cumsum(0).clamp(max=elements)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), ends])
    if kind == "giant":
        middle = segments // 2
        offsets[middle:] += elements - offsets[-1]
    offsets[-1] = elements
    return offsets


# Points of the segments that candidates are checked on: enough that the largest tiles of examples/tuning leave work for two blocks.
RAGGED_SAMPLE = 1 << 22


def tuned_ragged(kind, mean, offsets, tensors, ours):
    """The best point of examples/tuning for these offsets, checked on fewer of the same kind: the space, what the point is, and its launch."""
    kernel = EXAMPLES / "kernels" / "ragged_sum.lw"
    few = lengths_of(kind, mean, RAGGED_SAMPLE).to(torch.int32)
    sizes = {"n": tensors["x"].numel(), "nseg": offsets.numel() - 1}
    sample = {"n": RAGGED_SAMPLE, "nseg": few.numel() - 1}
    arrays = {"offsets": offsets.to(torch.int32)}
    found = []
    for name in ("ragged_sum", "ragged_sum_streaming"):
        pipeline, point = ours.tuned(kernel, name, sizes, sample, arrays, {"offsets": few})
        found.append((name, point, ours.exported(kernel, pipeline, sizes, tensors)))
    return found[fastest([f[-1] for f in found])]


def ragged(kind, mean, x, ours, cub, limits):
    offsets = lengths_of(kind, mean, x.numel())
    segments, narrow = offsets.numel() - 1, offsets.to(torch.int32).cuda()
    out = torch.empty(segments, device="cuda")
    tensors = {"x": x, "out": out, "offsets": narrow}
    if not ours.untuned:
        name, point, launch = tuned_ragged(kind, mean, offsets, tensors, ours)
    lengths = (offsets[1:] - offsets[:-1]).cuda()
    longest = lengths.max().item()
    kernel, pipeline, form = ours.chosen("sum", "f32", "ragged", segments, x.numel(), longest)
    default = ours.exported(kernel, pipeline, {"n": x.numel(), "nseg": segments}, tensors)
    if ours.untuned or fastest([launch, default]) == 1:
        name, point, launch = "untuned", form, default
    running = torch.cat([torch.zeros(1, dtype=torch.float64, device="cuda"), x.double().cumsum(0)])
    wide = offsets.cuda()
    expected = running[wide[1:]] - running[wide[:-1]]
    del running
    peers = {
        "CUB, offsets": cub("cub_offsets", x, out, segments, narrow),
        "torch.segment_reduce": lambda: torch.segment_reduce(x, "sum", lengths=lengths, unsafe=True),
    }
    for what, run in {"ours": launch, "untuned": default, "CUB, offsets": peers["CUB, offsets"]}.items():
        out.zero_()
        run()
        agree(out, expected, longest, what)
    result = measure(launch, peers, limits.of(x.numel() * 4 + (segments + 1) * 4, segments * 4))
    result["peers_ms"]["ours, untuned"] = statistics.median(times(default, 30))
    case = {"case": f"{kind}:{mean}", "pipeline": f"{name}: {point}", "segments": segments, "longest": longest}
    return {**case, **result}


TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


def typed(operator, dtype, length, x, ours, _cub, limits):
    """Other element types and argmax on as many bytes as `x` has, by the untuned default, beside torch."""
    size = TORCH[dtype].itemsize
    segments = x.numel() * 4 // size // length
    rows = torch.rand(segments, length, device="cuda", dtype=torch.float32)
    rows = (rows - 0.5).to(TORCH[dtype])
    kernel, pipeline, form = ours.chosen(operator, dtype, "rows", segments, length)
    sizes = {"nseg": segments, "len": length}
    value = torch.empty(segments, device="cuda", dtype=TORCH[dtype])
    written = segments * size
    if operator == "argmax":
        index, place = (torch.empty(segments, device="cuda", dtype=t) for t in (torch.int32, torch.int64))
        ours_launch = ours.exported(kernel, pipeline, sizes, {"x": rows, "value": value, "index": index})
        written += segments * 4
        peers = {
            "torch.max, both": lambda: torch.max(rows, -1, out=(value, place)),
            "torch.argmax": lambda: torch.argmax(rows, -1, out=place),
        }
        ours_launch()
        if not torch.equal(value, rows.amax(-1)) or not torch.equal(rows.gather(1, index.long()[:, None])[:, 0], value):
            raise RuntimeError(f"argmax of {dtype}, rows of {length}: wrong")
    else:
        ours_launch = ours.exported(kernel, pipeline, sizes, {"x": rows, "out": value})
        peers = {"torch.sum": lambda: torch.sum(rows, -1, out=value)}
        ours_launch()
        parts = max(1, (1 << 26) // length)
        expected = torch.cat([part.double().sum(-1) for part in rows.split(parts)])
        # The rounding of the result, and that of adding: in f64 next to none.
        rounding = {"f16": 2**-11, "bf16": 2**-8, "f32": 2**-24, "f64": 2**-50}[dtype]
        adding = 0 if dtype == "f64" else 1e-5 * math.sqrt(length)
        off = (value.double() - expected).abs() - rounding * expected.abs() - adding
        if not (off <= 1e-9).all():
            raise RuntimeError(f"sum of {dtype}, rows of {length}: off by {off.max().item()} more than allowed")
    result = measure(ours_launch, peers, limits.of(rows.numel() * size, written))
    return {"case": f"{operator}:{dtype}:{length}", "pipeline": form, "segments": segments, **result}


def untuned(kind, number, x, ours, cub, limits):
    """What is chosen without tuning, beside what the tuner finds. The spread and the ratio are those of `measure`, the tuned form its
    only peer."""
    if kind == "equal":
        segments = x.numel() // number
        part, out = x[: segments * number], torch.empty(segments, device="cuda")
        sizes, tensors = {"nseg": segments, "len": number}, {"x": part, "out": out}
        declared = EXAMPLES / "kernels" / "segmented_sum.lw"
        short = number if number <= 1 << 18 else (1 << 18) + number % 4
        sample = {"nseg": max(2, min(segments, (1 << 16) // number)), "len": short}
        found = []
        for name in (n for n, fits in SPACES.items() if fits(number)):
            pipeline, point = ours.tuned(declared, name, sizes, sample)
            found.append((name, point, ours.exported(declared, pipeline, sizes, tensors)))
        name, point, tuned = found[fastest([f[-1] for f in found])]
        kernel, pipeline, form = ours.chosen("sum", "f32", "rows", segments, number)
        expected, longest, read = part.view(segments, number).double().sum(-1), number, part.numel() * 4
    else:
        offsets = lengths_of(kind, number, x.numel())
        segments, lengths = offsets.numel() - 1, (offsets[1:] - offsets[:-1]).cuda()
        out, longest = torch.empty(segments, device="cuda"), lengths.max().item()
        sizes = {"n": x.numel(), "nseg": segments}
        tensors = {"x": x, "out": out, "offsets": offsets.to(torch.int32).cuda()}
        name, point, tuned = tuned_ragged(kind, number, offsets, tensors, ours)
        kernel, pipeline, form = ours.chosen("sum", "f32", "ragged", segments, x.numel(), longest)
        running = torch.cat([torch.zeros(1, dtype=torch.float64, device="cuda"), x.double().cumsum(0)])
        wide = offsets.cuda()
        expected, read = running[wide[1:]] - running[wide[:-1]], x.numel() * 4 + (segments + 1) * 4
        del running
    default = ours.exported(kernel, pipeline, sizes, tensors)
    for what, run in {"the default": default, f"{name}: {point}": tuned}.items():
        out.zero_()
        run()
        agree(out, expected, longest, what)
    result = measure(default, {f"{name}: {point}": tuned}, limits.of(read, segments * 4))
    return {"case": f"default:{kind}:{number}", "pipeline": form, "segments": segments, **result}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--equal", default=",".join(map(str, EQUAL)), help="lengths, or nothing")
    parser.add_argument("--ragged", default=",".join(RAGGED), help="kind:mean of uniform, power, giant, or nothing")
    parser.add_argument("--untuned", action="store_true", help="unequal segments as they are reduced without a search")
    parser.add_argument("--types", nargs="?", const=",".join(TYPES), help="OPERATOR:TYPE:LENGTH, only these")
    parser.add_argument("--defaults", nargs="?", const=",".join(DEFAULTS), help="equal:LENGTH or KIND:MEAN, only these")
    parser.add_argument("--elements", type=int, default=1 << 28)
    parser.add_argument("--json", type=Path, help="write the results there, a line a case")
    parser.add_argument("--cccl", help="CCCL's headers, newer than the toolkit's: CUB's fixed-size form needs them")
    parser.add_argument("--loopwright", default=str(ROOT / "target" / "release" / "loopwright"))
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="segments-"))
    x = torch.rand(options.elements, device="cuda") - 0.5
    cub = Cub(options.cccl, work)
    limits = Limits(x, cub)
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUB {cub.library.cub_version()}; reading "
        f"{limits.read / 1e6:.0f} GB/s, copying {limits.copy / 1e6:.0f} GB/s",
        flush=True,
    )
    ours = Ours(options.loopwright, work, options.untuned)
    cases = [(equal, (int(n),)) for n in options.equal.split(",") if n]
    cases += [(ragged, (kind, int(mean))) for kind, mean in (c.split(":") for c in options.ragged.split(",") if c)]
    if options.types or options.defaults:
        types = [c.split(":") for c in (options.types or "").split(",") if c]
        shapes = [c.split(":") for c in (options.defaults or "").split(",") if c]
        cases = [(typed, (operator, dtype, int(length))) for operator, dtype, length in types]
        cases += [(untuned, (kind, int(number))) for kind, number in shapes]
    lines, failed = [], 0
    for case, args in cases:
        try:
            result = case(*args, x, ours, cub, limits)
        except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
            failed += 1
            print(f"{case.__name__} {args}: failed: {error}", flush=True)
            continue
        lines.append(json.dumps(result))
        peers = "  ".join(f"{name} {ms:.4f}" for name, ms in result["peers_ms"].items())
        print(
            f"{result['case']:>16}  {result['ours_ms']:.4f} ms  {result['of_limit']:.3f} of the limit  {result['ratio']:.3f} x "
            f"{result['best_peer']} (spread {result['spread']:.4f}, {'holds' if result['holds'] else 'BELOW'})  | {peers}  | {result['pipeline']}",
            flush=True,
        )
        if options.json:
            options.json.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} measured, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
