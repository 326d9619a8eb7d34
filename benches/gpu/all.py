#!/usr/bin/env python3
"""Ours beside the strongest peer that is there, for each workload, in one process and one table.

    benches/gpu/all.py --dry-run                 every case, its forms and peers; needs neither a GPU nor torch
    benches/gpu/all.py --export                  the binaries of all forms that name a pipeline, for sm_90a (NVRTC, no GPU)
    benches/gpu/all.py [--workloads rows ...] [--powers 16 22 28] [--rounds 20] [--cccl FOLDER] [--json FILE]

LOOPWRIGHT is the command; the example `segmented_reduce` has to lie in the folder `examples` beside
it. Sizes are powers of two, of elements. Each form is timed in three states of the second-level
cache, see benches/peers/cache.py; the host's time for a launch is hidden in all of them. What a
line of the table is, is said in benches/peers/table.py. Results are compared with f64 before
anything is timed. The results are written to FILE after each case: benches/gpu/plots.py draws them.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from all_cases import LEFT_OUT, POWERS, ROOT, WORKLOADS, cases, export_arguments, problems


def listed(given):
    """Every case, a line for each, with forms and peers."""
    for case in given:
        sizes = ", ".join(f"{name} = {value}" for name, value in case.sizes.items())
        print(f"{case.title()} ({sizes})")
        for own in case.own:
            parts = [path.relative_to(ROOT).as_posix() for path in (own.kernel, own.pipeline) if path]
            parts += [f"{name}={value}" for name, value in own.parameters.items()]
            parts += ["auto"] if own.auto else []
            parts += ["segmented_reduce", *map(str, own.chosen)] if own.chosen else []
            print(f"    {own.name}: {' '.join(parts)}")
        print(f"    beside {'; '.join(case.peers)}")
    for line in LEFT_OUT:
        print(f"left out: {line}")
    print(f"{len(given)} cases, {sum(len(case.own) for case in given)} forms of ours")


def exported(given, binary):
    """Exports each form that names a pipeline or is found; says which cannot be, and gives their
    number."""

    def one(item):
        number, (case, own) = item
        arguments = export_arguments(own, case.sizes, "sm_90a", Path(work) / str(number))
        done = subprocess.run([binary, *arguments], capture_output=True, text=True)
        return done.returncode and f"{case.title()}, {own.name}: {done.stderr.strip()}"

    forms = [(case, own) for case in given for own in case.own if own.kernel]
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor() as pool:
        failed = [said for said in pool.map(one, enumerate(forms)) if said]
    for said in failed:
        print(said)
    print(f"{len(forms) - len(failed)} exported, {len(failed)} failed")
    return len(failed)


def said_by(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def versions(context, binary):
    import torch

    found = {"torch": torch.__version__, "CUDA": torch.version.cuda}
    try:
        import triton

        found["Triton"] = triton.__version__
    except ImportError:
        pass
    if "cub_segments" in context.cubs:
        number = context.cubs["cub_segments"].library.cub_version()
        found["CUB"] = f"{number // 100000}.{number // 100 % 1000}"
    driver = said_by("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0")
    found |= {"driver": driver} if driver else {}
    version = said_by(binary, "--version")
    commit = said_by("git", "rev-parse", "--short=8", "HEAD")
    found["loopwright"] = " ".join(part for part in ((version or "").removeprefix("loopwright "), commit and f"({commit})") if part)
    return found


def written(path, head, table):
    if path:
        path.write_text(json.dumps({**head, "rows": table.rows, "not measured": table.missing}, indent=1) + "\n")


def measured(given, options, binary):
    import torch

    from all_work import Context, measure
    from table import Table

    began = time.monotonic()
    torch.manual_seed(0)
    table = Table(options.rounds, seconds=options.seconds, hide_host=True)
    with tempfile.TemporaryDirectory() as work:
        context = Context(given, binary, Path(work), options.cccl, table)
        head = {
            "date": datetime.date.today().isoformat(),
            "device": torch.cuda.get_device_name(),
            "versions": versions(context, binary),
            "rounds": options.rounds,
            "reading GB/s": round(table.rates.read / 1e6),
            "copying GB/s": round(table.rates.copy / 1e6),
        }
        table.missing += LEFT_OUT
        for case in given:
            if time.monotonic() - began > options.until:
                table.missing.append(f"{case.title()}: no time was left")
                continue
            try:
                measure(case, context)
            except Exception as error:
                table.failed += 1
                table.leave_out(f"{case.title()}", "all", error)
            torch.cuda.empty_cache()
            written(options.json, head, table)
        written(options.json, head, table)
    print(f"\n{head['date']}, " + ", ".join(f"{name} {version}" for name, version in head["versions"].items()))
    print(f"{time.monotonic() - began:.0f} s")
    return table.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true", help="list the cases, and do nothing else")
    parser.add_argument("--export", action="store_true", help="write the binaries, and do nothing else")
    parser.add_argument("--workloads", nargs="*", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--powers", type=int, nargs="*", choices=POWERS, default=list(POWERS))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4, help="for a case in a state: five rounds are enough then")
    parser.add_argument("--until", type=float, default=540, help="seconds after which no case is begun")
    parser.add_argument("--cccl", help="the folder of a newer CUB than nvcc's")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    given = cases(options.workloads, options.powers)
    wrong = problems(given)
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return 1
    if options.dry_run:
        listed(given)
        return 0
    binary = os.environ["LOOPWRIGHT"]
    if options.export:
        return 1 if exported(given, binary) else 0
    return measured(given, options, binary)


if __name__ == "__main__":
    sys.exit(main())
