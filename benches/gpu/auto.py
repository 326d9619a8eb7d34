"""Times of the pipelines that `loopwright auto` finds, beside those written by hand.

Each form is a process of its own (`loopwright run --device gpu --repeat N`), which reports the
median of N launches, or of N rounds of launches. Arrays are drawn, and exceed the second-level
cache in all cases that memory bounds. The ratio is auto's time over that of the best form written
by hand: of those that serve every launch, and of those that assume lengths as well. `--check` runs
each form at small sizes and compares it with the declared kernel instead.

The last columns are peers, where there is an obvious one: torch, torch.compile and a simple Triton
kernel on arrays of the same size, by events in this process, each behind a launch of its own, as
loopwright's rounds of launches are; auto's time over the fastest peer's. Their results are compared
with f64 first. `--no-peers` leaves them out, as where there is no torch.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path("examples")

# A kernel, the sizes to time it at, and small ones at which every form can be checked.
CASES = [
    ("attention", {"h": 32, "n": 2048, "m": 2048, "d": 64}, {"h": 2, "n": 96, "m": 64, "d": 64}),
    ("axpy", {"n": 1 << 27}, {"n": 5000}),
    ("classify", {"m": 1 << 20, "l": 512}, {"m": 128, "l": 64}),
    ("column_sum", {"m": 8192, "n": 16384}, {"m": 70, "n": 300}),
    ("histogram", {"n": 1 << 28, "bins": 4096}, {"n": 5000, "bins": 4096}),
    ("histogram_blocks", {"n": 1 << 28}, {"n": 50000}),
    ("layer_norm", {"m": 32768, "n": 4096}, {"m": 3, "n": 4096}),
    ("log_sum_exp", {"m": 32768, "n": 4096}, {"m": 3, "n": 4096}),
    ("matmul_bf16", {"m": 4096, "n": 4096, "l": 4096}, {"m": 128, "n": 128, "l": 64}),
    ("matmul", {"m": 4096, "n": 4096, "l": 4096}, {"m": 128, "n": 128, "l": 64}),
    ("prefix_sum", {"nseg": 65536, "len": 2048}, {"nseg": 3, "len": 2048}),
    ("ragged_sum", {"nseg": 1 << 20, "n": 1 << 28}, {"nseg": 40, "n": 3000}),
    ("segmented_sum", {"nseg": 32768, "len": 4096}, {"nseg": 3, "len": 4096}),
    ("simpson", {"m": 8192, "n": 8192}, {"m": 70, "n": 70}),
    ("softmax", {"m": 32768, "n": 4096}, {"m": 3, "n": 4096}),
    ("stencil", {"m": 16386, "n": 16386}, {"m": 66, "n": 130}),
    ("transpose", {"m": 16384, "n": 8192}, {"m": 96, "n": 64}),
    ("2mm", {"ni": 2048, "nj": 2048, "nk": 2048, "nl": 2048}, {"ni": 70, "nj": 70, "nk": 70, "nl": 70}),
    ("atax", {"m": 16384, "n": 16384}, {"m": 70, "n": 300}),
    ("cholesky", {"n": 2048}, {"n": 40}),
    ("fdtd-2d", {"tmax": 2, "nx": 8192, "ny": 8192}, {"tmax": 2, "nx": 40, "ny": 70}),
    ("floyd-warshall", {"n": 2048}, {"n": 40}),
    ("gemm", {"ni": 2048, "nj": 2048, "nk": 2048}, {"ni": 70, "nj": 70, "nk": 70}),
    ("gesummv", {"n": 16384}, {"n": 300}),
    ("heat-3d", {"tsteps": 2, "n": 514}, {"tsteps": 2, "n": 20}),
    ("jacobi-1d", {"tsteps": 2, "n": 1 << 26}, {"tsteps": 2, "n": 3000}),
    ("jacobi-2d", {"tsteps": 2, "n": 8194}, {"tsteps": 2, "n": 70}),
    ("lu", {"n": 2048}, {"n": 40}),
    ("mvt", {"n": 16384}, {"n": 300}),
    ("seidel-2d", {"tsteps": 4, "n": 2050}, {"tsteps": 2, "n": 40}),
    ("syr2k", {"n": 2048, "m": 2048}, {"n": 70, "m": 70}),
    ("trisolv", {"n": 8192}, {"n": 70}),
    ("trmm", {"m": 2048, "n": 2048}, {"m": 70, "n": 70}),
]


def forms(name):
    """The kernel's file, and the pipelines that were written for it."""
    for kernel, pipelines in [
        (EXAMPLES / f"kernels/{name}.lw", sorted((EXAMPLES / f"pipelines/{name}").glob("*.pipe"))),
        (EXAMPLES / f"polybench/{name}.lw", [EXAMPLES / f"polybench/{name}.pipe"]),
    ]:
        if kernel.exists():
            return kernel, [p for p in pipelines if p.exists()]
    sys.exit(f"no kernel `{name}`")


def serves_all(pipeline):
    """Whether a pipeline serves every launch that its kernel does."""
    return not re.search(r"^\s*(assume|fix_parameters)\(", pipeline.read_text(), re.M)


def run(kernel, form, sizes, options):
    """The output of a run, or `None` and the reason why there is none."""
    text = re.sub(r"#.*", "", kernel.read_text())
    header = re.search(r"kernel\s+\w+\((.*?)\)\s*$", text, re.S | re.M).group(1)
    args = []
    for arg, dtype in re.findall(r"(\w+)\s*:\s*([^,\[\]]+(?:\[[^\]]*\])?)", header):
        if "[" in dtype:
            args += ["--random", arg]
        else:
            args += ["--set", f"{arg}={sizes.get(arg, 1.5)}"]
    command = [os.environ["LOOPWRIGHT"], "run", str(kernel), form, "--device", "gpu", *args, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("error")]
        return None, (errors or done.stderr.splitlines() or ["no output"])[0]
    return done.stdout, ""


def check(name, sizes):
    kernel, pipelines = forms(name)
    wrong = 0
    for form in ["--auto", *map(str, pipelines)]:
        out, why = run(kernel, form, sizes, ["--verify"])
        right = out is not None and "verified" in out
        # A form for other lengths, which is refused at these.
        others = why.startswith("error[assumption]")
        wrong += not right and not others
        print(f"{name} {Path(form).stem}: {'right' if right else why or out}", flush=True)
    return wrong


def measure(name, sizes, repeat, peers):
    kernel, pipelines = forms(name)
    times = {}
    for form in ["--auto", *map(str, pipelines)]:
        out, why = run(kernel, form, sizes, ["--repeat", str(repeat)])
        median = out and re.search(r"median of \d+: ([\d.]+) ms", out)
        if median:
            times[form] = float(median.group(1))
        else:
            print(f"  {name} {Path(form).stem}: {why}", file=sys.stderr)
    found = times.pop("--auto", None)
    columns = []
    for some in [[p for p in pipelines if serves_all(p)], [p for p in pipelines if not serves_all(p)]]:
        timed = [(times[str(p)], p.stem) for p in some if str(p) in times]
        if timed and found:
            best, stem = min(timed)
            columns.append((f"{best:.3f} {stem}", found / best))
        else:
            columns.append(("–", None))
    others = peers(name, sizes, repeat) if peers else {}
    if others:
        best = min(others.values())
        said = ", ".join(f"{peer} {time:.3f}" for peer, time in sorted(others.items(), key=lambda item: item[1]))
        columns.append((said, found / best if found else None))
    else:
        columns.append(("–", None))
    shown = " | ".join(f"{text} | {'–' if ratio is None else f'{ratio:.2f}'}" for text, ratio in columns)
    print(f"| {name} | {'–' if found is None else f'{found:.3f}'} | {shown} |", flush=True)
    return columns[0][1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the declared kernels instead")
    parser.add_argument("--repeat", type=int, default=20, help="launches of each form (20)")
    parser.add_argument("--no-peers", action="store_true", help="without torch and Triton")
    parser.add_argument("kernels", nargs="*", help="those to take (all)")
    given = parser.parse_args()
    cases = [case for case in CASES if not given.kernels or case[0] in given.kernels]
    if given.check:
        sys.exit(1 if sum(check(name, small) for name, _, small in cases) else 0)
    peers = None
    if not given.no_peers:
        sys.path.insert(0, str(Path("benches/peers")))
        from auto_peers import times_of_peers as peers
    print("| kernel | auto, ms | by hand, ms | ratio | with assumptions, ms | ratio | peers, ms | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    ratios = [r for r in (measure(name, large, given.repeat, peers) for name, large, _ in cases) if r]
    mean = 1.0
    for ratio in ratios:
        mean *= ratio ** (1 / len(ratios))
    within = sum(ratio <= 1.3 for ratio in ratios)
    print(f"geometric mean {mean:.2f}; {within} of {len(ratios)} within 1.3")


if __name__ == "__main__":
    main()
