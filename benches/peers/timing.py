"""Times by events, in rows and in turn, and what the memory gives. What is measured stands in the
head of segments.py."""

import math
import statistics

from needed import torch


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


def fastest(launches, rounds=3):
    """The number of the fastest, rows of 10 launches of each in turn: behind another, a kernel
    finds what that has left in the cache."""
    if len(launches) == 1:
        return 0
    own = [[] for _ in launches]
    for _ in range(rounds):
        for launch, all_times in zip(launches, own):
            all_times += times(launch, 10, warm_up=2)
    medians = [statistics.median(all_times) for all_times in own]
    return medians.index(min(medians))


class Limits:
    """What the memory gives, in bytes a millisecond."""

    def __init__(self, x, cub):
        size, out = x.numel() * 4, torch.empty(1, device="cuda")
        copy = torch.empty_like(x)
        self.copy = 2 * size / statistics.median(times(lambda: copy.copy_(x), 20))
        rows = torch.empty(x.numel() // 16384, device="cuda")
        offsets = torch.arange(0, rows.numel() + 1, dtype=torch.int64, device="cuda") * 16384
        offsets = offsets.to(torch.int32)
        readers = {
            "CUB's sum of all": cub("cub_sum", x, out, x.numel()),
            "torch's sum of all": lambda: torch.sum(x),
            "CUB's sums of rows of 16384": cub("cub_offsets", x, rows, rows.numel(), offsets),
        }
        self.readers = {name: size / statistics.median(times(launch, 20)) for name, launch in readers.items()}
        self.read = max(self.readers.values())

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
    best = min(medians, key=medians.get)
    if medians[best] <= 2 * time:
        near = [name for name in peers if medians[name] <= 1.05 * medians[best]]
        best = near[fastest([peers[name] for name in near])]
    itself = in_turn(ours, ours, 30)
    spread = abs(statistics.median(itself) - 1) + 1.2533 * statistics.stdev(itself) / math.sqrt(len(itself))
    ratio = statistics.median(in_turn(ours, peers[best], 30 if medians[best] <= 2 * time else 5))
    return {
        "ours_ms": time,
        **ours.resources(),
        "of_limit": limit / time,
        "best_peer": best,
        "ratio": ratio,
        "ratio_in_rows": medians[best] / time,
        "spread": spread,
        "peers_ms": medians,
        "holds": ratio >= 1 - min(spread, 0.01),
    }


def agree(out, expected, length, what):
    error = (out.double() - expected).abs().max().item()
    bound = 1e-5 * max(math.sqrt(length), 1)
    if not error <= bound:
        raise RuntimeError(f"{what}: off by {error}, more than {bound}")
