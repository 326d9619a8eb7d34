"""What is in the second-level cache when a launch begins, and times of launches in alternation.

Three states, which are prepared before each launch:

- left: the same kernel runs once, and its inputs and results are in the cache as far as they fit
  (with `hide_host` the device then waits for some tenths of a millisecond, so that a short kernel's
  time is not that of the host's next launch; in the other states it is busy as long);
- clean: 512 MB of another array are read;
- dirty: 256 MB of another array are written, which is how most data arrive: a kernel before has
  just stored them.
"""

import random
import statistics
import time

from needed import torch
from timing import timed

STATES = ("left", "clean", "dirty")


# Cycles of the device, some 0.3 ms: what the slowest of the hosts' launches takes.
WAIT = 500_000


class Cache:
    def __init__(self, hide_host=False):
        self.hide_host = hide_host
        self.read = torch.rand(1 << 27, device="cuda")
        self.written = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
        self.sum = torch.empty(1, device="cuda")

    def prepare(self, state, launch):
        if state == "left":
            launch()
            if self.hide_host:
                torch.cuda._sleep(WAIT)
        elif state == "clean":
            torch.sum(self.read, dim=0, out=self.sum[0])
        else:
            self.written.fill_(1)


def samples(launches, state, cache, rounds, seconds=None):
    """Milliseconds of each launch in each round. A round launches each once, in a new random order.
    After so many seconds five rounds are enough."""
    names, order = list(launches), random.Random(1)
    found = {name: [] for name in names}
    for launch in launches.values():
        launch()
        launch()
    began = time.monotonic()
    for count in range(rounds):
        if seconds is not None and count >= 5 and time.monotonic() - began > seconds:
            break
        order.shuffle(names)
        for name in names:
            cache.prepare(state, launches[name])
            start, end = timed(launches[name])
            torch.cuda.synchronize()
            found[name].append(start.elapsed_time(end))
    return found


def medians(launches, state, cache, rounds):
    """Milliseconds of each launch."""
    return {name: statistics.median(times) for name, times in samples(launches, state, cache, rounds).items()}
