"""What is said of the times of two forms that were measured in the same rounds."""

import statistics


def percentile(values, percent):
    """By linear interpolation between the sorted values."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def ratios(peer, own):
    """A peer's time over ours within each round: the median, and the 10th and 90th percentile."""
    found = [theirs / time for theirs, time in zip(peer, own, strict=True)]
    return {"ratio": statistics.median(found), "ratio_10": percentile(found, 10), "ratio_90": percentile(found, 90)}
