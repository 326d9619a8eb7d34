"""The peers: CUB behind C functions (`cub_*.cu`), row sums by Triton, functions by torch.compile."""

import ctypes
import statistics
import subprocess
from pathlib import Path

from exported import checked, stream
from needed import torch
from timing import times


class Cub:
    """The functions of a source beside this file, compiled by nvcc. `fixed_size` says whether CUB
    has the form for segments of one length."""

    def __init__(self, cccl, work, source="cub_segments", fixed_size=None):
        library = work / f"lib{source}.so"
        self.fixed_size = bool(cccl) if fixed_size is None else fixed_size
        command = ["nvcc", "-O3", "-std=c++17", "-arch=native", "-Xcompiler", "-fPIC", "-shared"]
        command += [f"-I{cccl}"] if cccl else []
        command += ["-DCUB_FIXED_SIZE"] if self.fixed_size else []
        subprocess.run([*command, str(Path(__file__).with_name(f"{source}.cu")), "-o", str(library)], check=True)
        self.library = ctypes.CDLL(str(library))

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


def compiled(function, *arguments):
    """The function, compiled for these arguments by torch."""
    torch._dynamo.reset()
    run = torch.compile(function, fullgraph=True, dynamic=False, mode="max-autotune-no-cudagraphs")
    run(*arguments)
    return lambda: run(*arguments)


def triton_rows(x, out, length):
    """Row sums by Triton, the fastest of some tiles. Few rows are cut into parts, whose sums a
    second launch adds."""
    return triton_row_forms(x, out, length).get("Triton")


def triton_row_forms(x, out, length):
    """Those, the same tile with loads that are evicted first, and by a grid that stays resident:
    each of its programs takes tile after tile."""
    import triton
    import triton.language as tl

    global tile_sums, row_sums, resident_row_sums
    if "row_sums" not in globals():

        @triton.jit
        def tile_sums(x, out, count, tile, LENGTH: tl.constexpr, ROWS: tl.constexpr, STEP: tl.constexpr, FIRST: tl.constexpr):
            row = tile * ROWS + tl.arange(0, ROWS)
            column = tl.arange(0, STEP)
            place = row.to(tl.int64)[:, None] * LENGTH + column[None, :]
            total = tl.zeros((ROWS, STEP), tl.float32)
            for start in range(0, LENGTH, STEP):
                if LENGTH % STEP == 0:
                    if FIRST:
                        total += tl.load(x + place + start, eviction_policy="evict_first")
                    else:
                        total += tl.load(x + place + start)
                else:
                    inside = (start + column[None, :] < LENGTH) & (row[:, None] < count)
                    total += tl.load(x + place + start, mask=inside, other=0.0)
            tl.store(out + row, tl.sum(total, 1), mask=row < count)

        @triton.jit
        def row_sums(x, out, count, LENGTH: tl.constexpr, ROWS: tl.constexpr, STEP: tl.constexpr, FIRST: tl.constexpr):
            tile_sums(x, out, count, tl.program_id(0), LENGTH, ROWS, STEP, FIRST)

        @triton.jit
        def resident_row_sums(x, out, count, tiles, LENGTH: tl.constexpr, ROWS: tl.constexpr, STEP: tl.constexpr, STAGES: tl.constexpr):
            for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), num_stages=STAGES):
                tile_sums(x, out, count, tile, LENGTH, ROWS, STEP, False)

    segments = out.numel()
    parts = 1
    while segments * parts < 4096 and length // parts % 2 == 0 and length // parts > 16384:
        parts *= 2
    part = length // parts
    sums = torch.empty(segments * parts, device="cuda") if parts > 1 else out

    def added(launch):
        def both():
            launch()
            if parts > 1:
                row_sums[(segments,)](sums, out, segments, parts, 1, triton.next_power_of_2(parts), False, num_warps=1)

        return both

    def candidate(rows, step, warps, first=False):
        grid = (triton.cdiv(segments * parts, rows),)
        return added(lambda: row_sums[grid](x, sums, segments * parts, part, rows, step, first, num_warps=warps))

    def resident(rows, step, warps, stages, blocks):
        tiles = triton.cdiv(segments * parts, rows)
        grid = (min(tiles, torch.cuda.get_device_properties(0).multi_processor_count * blocks),)
        return added(lambda: resident_row_sums[grid](x, sums, segments * parts, tiles, part, rows, step, stages, num_warps=warps))

    def quickest(candidates):
        """The least time, its launch and what it is."""
        best = None
        for launch, what in candidates:
            try:
                time = statistics.median(times(launch, 5))
            except Exception:  # a tile that does not fit is no candidate
                continue
            if best is None or time < best[0]:
                best = (time, launch, what)
        return best

    whole = triton.next_power_of_2(part)
    shapes = []
    for step in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192):
        # All of a row at once, or by steps of many; of those that leave a rest, where there is no
        # other.
        if step > whole or (step < whole and step < 256) or (part % step and step < 1024 and step != whole):
            continue
        for tile in (2048, 4096, 8192):
            rows = tile // step
            if rows == 0 or (part % step == 0 and segments * parts % rows):
                continue
            shapes += [(rows, step, warps) for warps in (2, 4, 8, 16)]
    best = quickest((candidate(*shape), shape) for shape in shapes)
    if best is None:
        return {}
    rows, step, warps = best[2]
    found = {"Triton": best[1]}
    if part % step == 0:
        found["Triton, evict-first"] = candidate(rows, step, warps, first=True)
    # As many programs as have room by their threads, or half of them.
    blocks = [count for count in (64 // warps, 32 // warps) if count]
    staying = quickest((resident(rows, step, warps, stages, count), count) for stages in (1, 2, 3) for count in blocks)
    if staying:
        found["Triton, persistent"] = staying[1]
    return found
