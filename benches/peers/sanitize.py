#!/usr/bin/env python3
"""Every example pipeline, a point of every space of examples/tuning, and the untuned forms of
`segmented_reduce`, on a GPU: the result against the declared kernel, a second run's to the bit
against the first's, and compute-sanitizer.

    benches/peers/sanitize.py                    # about 2^20 elements, memcheck, racecheck and synccheck of each
    benches/peers/sanitize.py --only waves       # those whose names contain it ("untuned f16", "tuning/argmax")
    benches/peers/sanitize.py --device emulator  # the results alone, on the emulator

Needs `cargo build --release --bin loopwright --example segmented_reduce`, and compute-sanitizer of
the CUDA toolkit on the PATH. Each line is a pipeline; the exit status is 1 if any failed.
"""

import argparse
import array
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from npy import head

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TOOLS = ["memcheck", "racecheck", "synccheck"]

# What is read, and sizes; of several, the first that a pipeline takes.
KERNELS = {
    "attention": ("q k v", ["scale=0.125 h=2 n=256 m=256 d=64"]),
    "axpy": ("x y", ["a=2 n=1048576"]),
    "classify": ("x w", ["m=333 l=256"]),
    "column_sum": ("x", ["m=8192 n=128"]),
    "histogram": ("keys counts", ["n=1048576 bins=300", "n=1048576 bins=256"]),
    "histogram_blocks": ("keys counts", ["n=1048576"]),
    "layer_norm": ("x gain bias", ["eps=0.00001 m=1024 n=1024", "eps=0.00001 m=256 n=4096", "eps=0.00001 m=64 n=16384"]),
    "log_sum_exp": ("x", ["m=256 n=4096"]),
    "matmul": ("a b", ["m=256 n=256 l=256"]),
    "matmul_bf16": ("a b", ["m=256 n=256 l=256"]),
    # What is declared is quadratic in the length.
    "prefix_sum": ("x", ["nseg=1024 len=128"]),
    "ragged_sum": ("x", ["n=1048576"]),
    "segmented_sum": ("x", ["nseg=16384 len=64"]),
    "softmax": ("x", ["m=1024 n=1024", "m=256 n=4096", "m=64 n=16384"]),
    "simpson": ("u", ["m=256 n=300 area=0.5", "m=37 n=41 area=0.5"]),
    "stencil": ("u", ["m=1024 n=1024"]),
    "transpose": ("a", ["m=1024 n=1024"]),
    "argmax": ("x", ["nseg=16384 len=64"]),
}

# A point of each space, and sizes where they are not those of the kernel.
POINTS = {
    "argmax_chunks": ("chunk=16384 step=512 tile=1024", "nseg=4 len=262144"),
    "argmax_long": ("step=512 tile=1024", "nseg=256 len=4096"),
    "argmax_short": ("width=32 rows=16 block_rows=32", None),
    "column_sum": ("columns=128 rows=16 parts=16 chunk=1024", None),
    "matmul": ("bm=64 bn=64 bk=8 hm=32 hn=32", None),
    "ragged_sum": ("threads=128 items=16 tiles=8 full_chunks=0 tail_tiles=0", None),
    "ragged_sum_streaming": ("threads=128 items=32 tiles=16 full_chunks=32 tail_tiles=1", None),
    "segmented_sum_chunks": ("chunk=16384 step=1024 tile=2048", "nseg=4 len=262144"),
    "segmented_sum_long": ("step=512 tile=1024", "nseg=256 len=4096"),
    "segmented_sum_odd_chunks": ("chunk=16384 tile=1024 threads=256", "nseg=3 len=262147"),
    "segmented_sum_odd_long": ("tile=1024 threads=256", "nseg=255 len=4097"),
    "segmented_sum_odd_short": ("rows=64 width=9", "nseg=61680 len=17"),
    "segmented_sum_misaligned_chunks": ("chunk=16384 step=1024 tile=2048", "nseg=3 len=262147"),
    "segmented_sum_misaligned_short": ("rows=16 width=32", "nseg=8128 len=129"),
    "segmented_sum_staged_rows": ("len=17 rows=128 pad=0", "nseg=61680 len=17"),
    "segmented_sum_misaligned_long": ("step=1024 tile=2048", "nseg=255 len=4097"),
    "segmented_sum_short": ("width=16 rows=32 block_rows=128", "nseg=65536 len=16"),
    "segmented_sum_short_streaming": ("width=32 rows=8 block_rows=32", None),
    "segmented_sum_short_waves": ("width=16 rows=32 block_rows=128", "nseg=65536 len=16"),
}

# Untuned, chosen for 2^30 bytes: equal rows by type and operator with the lengths that are timed,
# and segments of mean 64.
UNTUNED_ROWS = [("sum", "f32", length) for length in (16, 17, 33, 64, 98, 100, 129, 385, 512, 1000, 4096, 4097, 100003, 1 << 20)]
UNTUNED_ROWS += [
    (operator, dtype, length)
    for operator, dtype in (("sum", "f16"), ("sum", "bf16"), ("sum", "f64"), ("sum", "i64"), ("mean", "f16"), ("argmax", "f32"), ("argmin", "f64"))
    for length in (64, 4096, 1 << 20)
]
UNTUNED_ROWS += [("sum", dtype, length) for dtype in ("f16", "f64") for length in (17, 97, 513, 4097)]
UNTUNED_RAGGED = [("sum", "f32"), ("sum", "f16"), ("sum", "bf16"), ("sum", "f64"), ("max", "i32"), ("mean", "f16"), ("argmax", "f32")]
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "i32": 4, "f64": 8, "i64": 8}


def offsets(folder, points):
    """Lengths by a power law, empty ones among them, and a long one at the end: a .npy file."""
    draw, ends = random.Random(1), [0]
    while ends[-1] < points * 7 // 8:
        ends.append(min(points, ends[-1] + int(1.3 * draw.random() ** (-1 / 1.5))))
    ends.append(points)
    path = Path(folder) / "offsets.npy"
    path.write_bytes(head("<i4", [len(ends)]) + array.array("i", ends).tobytes())
    return path


def examples():
    """Name, kernel, pipeline, options, and the options of sizes to try, of what is shipped."""
    for pipeline in sorted((EXAMPLES / "pipelines").glob("*/*.pipe")):
        kernel = pipeline.parent.name
        reads, sizes = KERNELS[kernel]
        yield f"{kernel}/{pipeline.stem}", EXAMPLES / "kernels" / f"{kernel}.lw", pipeline, reads, [], sizes
    for pipeline in sorted((EXAMPLES / "tuning").glob("*.pipe")):
        point, sizes = POINTS[pipeline.stem]
        kernel = max((k for k in KERNELS if pipeline.stem.startswith(k)), key=len)
        folder = "tuning" if kernel == "argmax" else "kernels"
        reads, usual = KERNELS[kernel]
        options = [f"-p{value}" for value in point.split()]
        yield f"tuning/{pipeline.stem}", EXAMPLES / folder / f"{kernel}.lw", pipeline, reads, options, [sizes] if sizes else usual


def untuned(example, folder, only):
    """The same of what `segmented_reduce` chooses for this device, of those whose names contain
    `only`; a choice that fails ends the run."""
    kinds = [(*row[:2], ["rows", str((1 << 30) // BYTES[row[1]] // row[2]), str(row[2])]) for row in UNTUNED_ROWS]
    kinds += [(*kind, ["ragged", str((1 << 24) // BYTES[kind[1]]), str((1 << 30) // BYTES[kind[1]])]) for kind in UNTUNED_RAGGED]
    for operator, dtype, shape in kinds:
        equal = shape[0] == "rows"
        name = f"untuned {dtype} {operator}, {'rows of ' + shape[2] if equal else 'ragged'}"
        if only not in name:
            continue
        place = Path(folder) / name.replace(" ", "_")
        subprocess.run([example, place, operator, dtype, *shape], check=True, stdout=subprocess.DEVNULL)
        size = f"nseg={max(1, (1 << 20) // int(shape[2]))} len={shape[2]}" if equal else "n=1048576"
        yield name, place / "kernel.lw", place / "default.pipe", "x", [], [size]


def differs(name, kernel, run, folder):
    """The results that are not the same to the bit in two runs, and how many runs there were: none
    of atomic updates, which come in any order. For bf16, .npy files have no type: the first values,
    as they are printed."""
    if "atomic" in name:
        return [], 0
    text = kernel.read_text()
    head, body = text[: text.index(")")], text[text.index(")") :]
    arrays = [array for array in re.findall(r"(\w+): \w+\[", head) if re.search(rf"\b{array}\[[^=\n]*\](, .*)? = ", body)]
    assert arrays, f"{name} writes nothing"
    results = []
    for turn in range(2):
        if "bf16[" in head:
            done = subprocess.run(list(map(str, run)), check=True, capture_output=True, text=True)
            results.append([line for line in done.stdout.splitlines() if line.split(":")[0] in arrays])
            continue
        files = [folder / f"{name.replace('/', '_')}_{array}_{turn}.npy" for array in arrays]
        subprocess.run([*map(str, run), *(f"--output={a}={f}" for a, f in zip(arrays, files))], check=True, capture_output=True)
        results.append([file.read_bytes() for file in files])
    wrong = [f"{array} is not the same in two runs" for array, first, second in zip(arrays, *results, strict=True) if first != second]
    return wrong, len(results)


def check(case, options, ends):
    """What failed, and how many runs there were."""
    name, kernel, pipeline, reads, given, sizes = case
    for size in sizes:
        run = [options.loopwright, "run", kernel, pipeline, *given, "--device", options.device]
        run += [f"--set={value}" for value in size.split()] + [f"--random={name}" for name in reads.split()]
        run += [f"--input=offsets={ends}"] if "ragged" in name else []
        done = subprocess.run([*map(str, run), "--verify"], capture_output=True, text=True)
        if "error[assumption]" not in done.stderr:
            break
    if done.returncode != 0 or "verified: equal" not in done.stdout:
        return [f"verify: {(done.stdout + done.stderr).strip()[-600:]}"], 1
    wrong, repeated = differs(name, kernel, run, ends.parent)
    tools = TOOLS if options.device == "gpu" else []
    for tool in tools:
        command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *map(str, run)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0 or not ("ERROR SUMMARY: 0 errors" in done.stdout or "0 hazards displayed" in done.stdout):
            wrong.append(f"{tool}: {(done.stdout + done.stderr).strip()[-600:]}")
    return wrong, 1 + repeated + len(tools)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--device", default="gpu", choices=["gpu", "emulator"])
    parser.add_argument("--jobs", type=int, default=4, help="how many run at a time")
    parser.add_argument("--loopwright", default=str(ROOT / "target" / "release" / "loopwright"))
    options = parser.parse_args()
    runs = failed = 0
    with tempfile.TemporaryDirectory(prefix="sanitize-") as folder, ThreadPoolExecutor(options.jobs) as pool:
        ends = offsets(folder, 1 << 20)
        example = Path(options.loopwright).parent / "examples" / "segmented_reduce"
        chosen = [case for case in examples() if options.only in case[0]] + list(untuned(example, folder, options.only))
        for case, (wrong, count) in zip(chosen, pool.map(lambda case: check(case, options, ends), chosen)):
            runs, failed = runs + count, failed + len(wrong)
            print(f"{case[0]}: {'ok' if not wrong else 'FAILED'}, {count} runs", flush=True)
            for text in wrong:
                print(f"    {text}")
    print(f"{len(chosen)} pipelines, {runs} runs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
