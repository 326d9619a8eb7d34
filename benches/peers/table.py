"""A table of several forms of the same work, ours and peers, timed in one process, in alternation,
in three states of the second-level cache.

Results are compared with a reference before anything is timed: a form of ours that is wrong ends
its case as failed, a peer that is wrong, or that cannot be had here, is left out, and the end of
the table says so.

A time is the median over the rounds, by events, with half of the range of the middle half of the
rounds in percent of it. The best peer is the one with the least median; the ratio is its time over
this form's within each round, of which the median is given, and in brackets the 10th and the 90th
percentile: above 1, the form is faster than every peer. The last column is for the clean state: the
least time for the bytes that have to move, at the rates measured in the same run, over the median;
or operations a second.
"""

import json
import statistics
import sys
import traceback

from cache import STATES, Cache, samples
from needed import torch
from ratios import ratios


class Wrong(RuntimeError):
    """A result that differs from the reference."""


def check(result, expected, bound, what):
    """Refuses results that are off by more than `bound`, a number or a tensor; everything is
    compared in f64, in parts."""
    result, expected = result.reshape(-1), expected.reshape(-1)
    if result.numel() != expected.numel():
        raise Wrong(f"{what}: {result.numel()} results instead of {expected.numel()}")
    part = 1 << 26
    for at in range(0, expected.numel(), part):
        limit = bound.reshape(-1)[at : at + part] if torch.is_tensor(bound) else bound
        off = (result[at : at + part].double() - expected[at : at + part].double()).abs()
        # Not `off > limit`, which no NaN is.
        bad = ~(off <= limit)
        if bad.any():
            raise Wrong(f"{what}: {int(bad.sum())} results are wrong, off by {off.max().item():.3g}")


class Rates:
    """What the memory gives, in bytes a millisecond: reading, by the sum of everything, and
    copying."""

    def __init__(self, elements=1 << 28):
        x = torch.rand(elements, device="cuda")
        y, total = torch.empty_like(x), torch.empty((), device="cuda")
        cache = Cache()
        launches = {"read": lambda: torch.sum(x, dim=0, out=total), "copy": lambda: y.copy_(x)}
        times = {name: statistics.median(t) for name, t in samples(launches, "clean", cache, 15).items()}
        size = 4 * elements
        self.read, self.copy = size / times["read"], 2 * size / times["copy"]

    def of(self, read, written):
        """The least milliseconds for so many bytes."""
        # A copy of b bytes takes b / read + b / write.
        write = 1 / (2 / self.copy - 1 / self.read)
        return read / self.read + written / write


class Form:
    """A launch, and the tensor that it writes; without one, the launch returns its result."""

    def __init__(self, launch, out=None):
        self.launch, self.out = launch, out

    def result(self):
        if self.out is not None:
            self.out.fill_(float("nan") if self.out.is_floating_point() else 0x55)
        result = self.launch()
        torch.cuda.synchronize()
        return result if self.out is None else self.out


class Table:
    def __init__(self, rounds, rates=True, seconds=None, hide_host=False):
        """`seconds` bounds the rounds of a state, see `samples`."""
        self.rounds, self.cache, self.rows, self.failed = rounds, Cache(hide_host), [], 0
        self.seconds = seconds
        self.missing, self.notes = [], []
        self.rates = Rates() if rates else None
        torch.cuda.empty_cache()
        versions = f"CUDA {torch.version.cuda}, torch {torch.__version__}"
        print(f"{torch.cuda.get_device_name()}, {versions}", end="")
        print(f"; reading {self.rates.read / 1e6:.0f} GB/s, copying {self.rates.copy / 1e6:.0f}" if rates else "")
        print("\n| case | form | " + " | ".join(f"{state}: ms | ratio" for state in STATES) + (" | of limit |" if rates else " | TFLOP/s |"))
        print("|---|---|" + "---|" * (2 * len(STATES) + 1), flush=True)

    def peer(self, case, name, make):
        """What `make` gives; none where it fails, which the end of the table says."""
        try:
            return make()
        except Exception as error:  # whatever a library says: what it offers is not there
            self.leave_out(case, name, error)
            return None

    def leave_out(self, case, name, error):
        lines = str(error).strip().splitlines() or [type(error).__name__]
        self.missing.append(f"{case}, {name}: {type(error).__name__}: {lines[0][:200]}")

    def case(self, case, own, peers, agrees, limit=None, operations=None, about=None):
        """Times forms by name. `own` and `peers` give none for what is not there;
        `agrees(result, name)` raises where a result is wrong; `limit` is in milliseconds,
        `operations` are counted, `about` is put into the rows of the result."""
        try:
            launches = {}
            for name, form in {**own, **peers}.items():
                if form is None:
                    continue
                try:
                    agrees(form.result(), name)
                    launches[name] = form.launch
                except Exception as error:
                    self.leave_out(case, name, error)
                    if name in own:
                        self.failed += 1
            times = {state: samples(launches, state, self.cache, self.rounds, self.seconds) for state in STATES}
        except Exception:
            self.failed += 1
            self.missing.append(f"{case}: failed")
            traceback.print_exc()
            return
        best = {}
        for state in STATES:
            middle = {name: statistics.median(times[state][name]) for name in launches if name in peers}
            best[state] = min(middle, key=middle.get) if middle else None
        for name in launches:
            columns, row = [], {"case": case, "form": name, "ours": name in own, "limit_ms": limit, **(about or {})}
            for state in STATES:
                all_times = sorted(times[state][name])
                middle = statistics.median(all_times)
                quarter = len(all_times) // 4
                spread = 50 * (all_times[-1 - quarter] - all_times[quarter]) / middle
                row[state] = {"ms": middle, "spread_percent": spread, "least": all_times[0], "greatest": all_times[-1], "rounds": len(all_times)}
                shown = "–"
                if best[state]:
                    row[state] |= {"best_peer": best[state], **ratios(times[state][best[state]], times[state][name])}
                    shown = "{ratio:.3f} ({ratio_10:.3f} to {ratio_90:.3f})".format(**row[state])
                columns += [f"{middle:.4f} ±{spread:.1f} %", shown]
            last = "–" if limit is None else f"{limit / row['clean']['ms']:.3f}"
            if operations is not None:
                row["tflops"] = 1e-9 * operations / row["clean"]["ms"]
                last = f"{row['tflops']:.1f}"
            shown = f"**{name}**" if name in own else name
            print(f"| {case} | {shown} | " + " | ".join(columns) + f" | {last} |", flush=True)
            self.rows.append(row)

    def end(self, path=None):
        """Says what was not measured, and gives the exit status."""
        print(f"\nMedians of {self.rounds} rounds{', or of at least 5 in the time for a case' if self.seconds else ''}; ours in bold.")
        for line in self.notes:
            print(line)
        for line in self.missing:
            print(f"not measured: {line}")
        if path:
            path.write_text(json.dumps({"rows": self.rows, "notes": self.notes, "not measured": self.missing}, indent=1) + "\n")
        sys.stdout.flush()
        return 1 if self.failed else 0
