#!/usr/bin/env python3
"""Histograms by the pipelines of benches/gpu/histogram beside CUB's DeviceHistogram, in one
process, in alternation.

    benches/gpu/histogram.py FOLDER [--cccl FOLDER] [--rounds 30] [--json FILE]

FOLDER is what `benches/gpu/histogram.sh export` writes: FOLDER/i32 and FOLDER/u8, of 2^28 keys
below 256. Cases: uniform keys, and all keys in one bin. Counts are compared with torch.bincount
first. Before each launch a buffer of four times the second-level cache is written. Times are
medians over the rounds, by events; the ratio is the median of the ratios within each round, CUB's
time over ours. CCCL is a newer version of CUB than nvcc's. The bytes a second are those of the
keys.
"""

import argparse
import ctypes
import json
import random
import statistics
import subprocess
import sys
from pathlib import Path

peers = Path(__file__).resolve().parents[1] / "peers"
sys.path.insert(0, str(peers))

from exported import Exported, checked, stream
from needed import torch
from timing import timed

KEYS = 1 << 28


def cub(work, cccl):
    library = work / "libcub_histogram.so"
    command = ["nvcc", "-O3", "-std=c++17", "-arch=native", "-Xcompiler", "-fPIC", "-shared"]
    command += [f"-I{cccl}"] if cccl else []
    subprocess.run([*command, str(peers / "cub_histogram.cu"), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def peer(library, type_name, keys, counts):
    function, size = getattr(library, f"cub_histogram_{type_name}"), ctypes.c_size_t()
    arguments = [ctypes.c_void_p(keys.data_ptr()), ctypes.c_void_p(counts.data_ptr()), ctypes.c_longlong(keys.numel())]
    checked(function(None, ctypes.byref(size), *arguments, stream()), "CUB's scratch size")
    scratch = torch.empty(max(size.value, 1), dtype=torch.uint8, device="cuda")

    def launch():
        checked(function(ctypes.c_void_p(scratch.data_ptr()), ctypes.byref(size), *arguments, stream()), "CUB")

    return launch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cccl")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.manual_seed(0)
    flush = torch.empty(4 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    library = cub(given.folder, given.cccl)
    print(torch.cuda.get_device_name(), torch.version.cuda, flush=True)
    rows = []
    for type_name, dtype in [("i32", torch.int32), ("u8", torch.uint8)]:
        for case in ["uniform", "one bin"]:
            if case == "uniform":
                keys = torch.randint(0, 256, (KEYS,), dtype=dtype, device="cuda")
            else:
                keys = torch.full((KEYS,), 7, dtype=dtype, device="cuda")
            expected = torch.zeros(256, dtype=torch.int64, device="cuda")
            for part in keys.split(1 << 24):
                expected += torch.bincount(part.int(), minlength=256)
            own, theirs = (torch.zeros(256, dtype=torch.int32, device="cuda") for _ in range(2))
            launches = {"ours": Exported(given.folder / type_name, {"keys": keys, "counts": own}), "CUB": peer(library, type_name, keys, theirs)}
            for name, counts in [("ours", own), ("CUB", theirs)]:
                launches[name]()
                torch.cuda.synchronize()
                if not torch.equal(counts.long(), expected):
                    raise RuntimeError(f"{name}: wrong counts of {case} {type_name} keys")
            times = {name: [] for name in launches}
            for _ in range(given.rounds):
                order = list(launches)
                random.shuffle(order)
                events = {}
                for name in order:
                    flush.zero_()
                    events[name] = timed(launches[name])
                torch.cuda.synchronize()
                for name, (start, end) in events.items():
                    times[name].append(start.elapsed_time(end))
            medians = {name: statistics.median(all_times) for name, all_times in times.items()}
            row = {
                "type": type_name,
                "case": case,
                "ms": medians,
                "gb_per_s": keys.numel() * keys.element_size() / medians["ours"] * 1e-6,
                "ratio": statistics.median(t / o for t, o in zip(times["CUB"], times["ours"])),
            }
            rows.append(row)
            print(
                f"{type_name:>3}, {case:8} ours {medians['ours']:8.4f} ms, CUB {medians['CUB']:8.4f} ms, {row['ratio']:.3f} of CUB, "
                f"{row['gb_per_s']:.0f} GB/s",
                flush=True,
            )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
