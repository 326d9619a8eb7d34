"""What is in the second-level cache when a launch begins, and times of launches in alternation.

Three states, which are prepared before each launch:

- left: the same kernel runs once, and its inputs and results are in the cache as far as they fit;
- clean: 512 MB of another array are read;
- dirty: 256 MB of another array are written, which is how most data arrive: a kernel before has just stored them.
"""

import random
import statistics

import torch

from timing import timed

STATES = ("left", "clean", "dirty")


class Cache:
    def __init__(self):
        self.read = torch.rand(1 << 27, device="cuda")
        self.written = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
        self.sum = torch.empty(1, device="cuda")

    def prepare(self, state, launch):
        if state == "left":
            launch()
        elif state == "clean":
            torch.sum(self.read, dim=0, out=self.sum[0])
        else:
            self.written.fill_(1)


def samples(launches, state, cache, rounds):
    """Milliseconds of each launch in each round. A round launches each once, in a new random order."""
    names, order = list(launches), random.Random(1)
    found = {name: [] for name in names}
    for launch in launches.values():
        launch()
        launch()
    for _ in range(rounds):
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
