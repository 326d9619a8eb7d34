#!/usr/bin/env python3
"""Pictures and a table of what benches/gpu/all.sh measured: a picture for each workload, ratios to
the best peer on a logarithmic axis.

    benches/gpu/plots.py RESULTS.json FOLDER [--check]

Of the forms of ours, the fastest one with a clean second-level cache is drawn for each case; thin
lines go from the 10th to the 90th percentile. Where it loads evict-first, the table also has the
fastest form that does not. FOLDER gets WORKLOAD.svg and table.md, which shows the pictures;
`--check` compares with what is there instead. No library is needed.
"""

import argparse
import json
import math
import sys
import textwrap
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from all_cases import WORKLOADS

STATES = {"left": "#4c78a8", "clean": "#54a24b", "dirty": "#b5652b"}
WIDTH, LEFT, RIGHT = 420, 144, 376
TOP, BAR, PITCH, GAP = 92, 9, 11, 8
STREAMS = "evict-first"
LETTERS = 62  # of a line of 11 pixels that fits
FONT = "font-family='sans-serif' fill='#222'"


def best_forms(rows):
    """For each case of each workload, in the order of the rows: the form of ours that is drawn."""
    found = {}
    for row in rows:
        if not row["ours"] or not any(row.get(state, {}).get("ratio") for state in STATES):
            continue
        key = (row["workload"], row["name"], row["power"])
        if key not in found or measure(row) > measure(found[key]):
            found[key] = row
    return found


def plain_forms(rows):
    """For each case whose best form loads evict-first: the best of those that do not."""
    best = best_forms(rows)
    plain = best_forms([row for row in rows if STREAMS not in row["form"]])
    return {key: row for key, row in plain.items() if key in best and STREAMS in best[key]["form"]}


def measure(row):
    for state in ("clean", "dirty", "left"):
        if row.get(state, {}).get("ratio"):
            return row[state]["ratio"]
    return 0


def about(result):
    """What was measured, on what, by what."""
    lines = [f"{result['device']}, {result['date']}"]
    if "from" in result:
        lines.append(result["from"])
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return lines + ([versions] if versions else [])


def wrapped(text):
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) >= LETTERS:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def axis(rows):
    """The powers of two between which all ratios lie."""
    values = [row[state]["ratio"] for row in rows for state in STATES if row.get(state, {}).get("ratio")]
    return min(-1, math.floor(math.log2(min(values)))), max(1, math.ceil(math.log2(max(values))))


def place(ratio, low, high):
    """Where a ratio lies across the picture; what lies outside of the axis is at its end."""
    return LEFT + (RIGHT - LEFT) * (min(max(math.log2(ratio), low), high) - low) / (high - low)


def text(x, y, said, size=11, anchor="start", weight=""):
    bold = " font-weight='bold'" if weight else ""
    return f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' text-anchor='{anchor}' {FONT}{bold}>{escape(said)}</text>"


def picture(workload, rows, result):
    """The picture of a workload's cases."""
    lines = [line for part in about(result) for line in wrapped(part)]
    top = TOP + 13 * len(lines)
    group = PITCH * len(STATES) + GAP
    height = top + group * len(rows) + 26
    low, high = axis(rows)
    title = WORKLOADS[workload]
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}' role='img'>",
        f"<title>{escape(title)}: the best peer's time over ours</title>",
        f"<rect width='{WIDTH}' height='{height}' fill='white'/>",
        text(10, 20, title[0].upper() + title[1:], 14, weight="bold"),
    ]
    parts += [text(10, 38 + 13 * number, line) for number, line in enumerate(lines)]
    y = 46 + 13 * len(lines)
    for number, (state, colour) in enumerate(STATES.items()):
        x = 10 + 126 * number
        parts.append(f"<rect x='{x}' y='{y - 9}' width='10' height='10' fill='{colour}'/>")
        parts.append(text(x + 14, y, {"left": "cache as left", "clean": "clean", "dirty": "dirty"}[state]))
    parts.append(text(10, y + 16, "Best peer's time over ours: right of 1, ours is faster"))
    bottom = top + group * len(rows)
    step = max(1, math.ceil((high - low) / 8))
    for power in range(low, high + 1):
        if power % step and power != 0:
            continue
        x = place(2.0**power, low, high)
        strong = "stroke='#222' stroke-width='1.5'" if power == 0 else "stroke='#ddd'"
        parts.append(f"<line x1='{x:.1f}' y1='{top - 8}' x2='{x:.1f}' y2='{bottom}' {strong}/>")
        parts.append(text(x, bottom + 14, str(2**power) if power >= 0 else f"1/{2**-power}", anchor="middle"))
    one = place(1, low, high)
    for number, row in enumerate(rows):
        y = top + group * number
        parts.append(text(LEFT - 6, y + 12, row["name"], anchor="end"))
        parts.append(text(LEFT - 6, y + 25, f"2^{row['power']}", anchor="end"))
        for at, (state, colour) in enumerate(STATES.items()):
            found = row.get(state, {})
            if not found.get("ratio"):
                continue
            x, y_bar = place(found["ratio"], low, high), y + PITCH * at
            parts.append(f"<rect class='bar' x='{min(x, one):.1f}' y='{y_bar}' width='{abs(x - one):.1f}' height='{BAR}' fill='{colour}'/>")
            if "ratio_10" in found:
                ends = [place(found[name], low, high) for name in ("ratio_10", "ratio_90")]
                middle = y_bar + BAR / 2
                parts.append(f"<line class='spread' x1='{ends[0]:.1f}' y1='{middle}' x2='{ends[1]:.1f}' y2='{middle}' stroke='#111'/>")
            parts.append(text(WIDTH - 8, y_bar + BAR, f"{found['ratio']:.2f}", 11, "end"))
    return "\n".join(parts + ["</svg>"]) + "\n"


def cell(found):
    if not found.get("ratio"):
        return "–"
    spread = f" ({found['ratio_10']:.3f} to {found['ratio_90']:.3f})" if "ratio_10" in found else ""
    return f"{found['ratio']:.3f}{spread}"


def files(result):
    """Names and texts of all files."""
    found, plain = best_forms(result["rows"]), plain_forms(result["rows"])
    drawn = {workload: [row for (of, *_), row in found.items() if of == workload] for workload in WORKLOADS}
    made = {f"{workload}.svg": picture(workload, rows, result) for workload, rows in drawn.items() if rows}
    lines = textwrap.wrap(". ".join(about(result)) + ".", 100) + [""]
    for workload, rows in drawn.items():
        if not rows:
            continue
        title = WORKLOADS[workload]
        lines += [f"## {title[0].upper() + title[1:]}", "", f"![{title}](benchmarks/{workload}.svg)", ""]
        lines += ["| case | ours | ms | best peer | left | clean | dirty |", "|---|---|---|---|---|---|---|"]
        keys = [(row["workload"], row["name"], row["power"]) for row in rows]
        for row in (row for key in keys for row in (found[key], plain.get(key)) if row):
            state = next(state for state in ("clean", "dirty", "left") if row.get(state, {}).get("ratio"))
            time = f"{row[state]['ms']:.4f}" if "ms" in row[state] else "–"
            cells = " | ".join(cell(row.get(state, {})) for state in STATES)
            lines.append(f"| {row['name']}, 2^{row['power']} | {row['form']} | {time} | {row[state].get('best_peer', '–')} | {cells} |")
        lines.append("")
    lines += ["## Not measured", ""]
    for line in result["not measured"]:
        lines += textwrap.wrap(f"- {line}", 100, subsequent_indent="  ")
    made["table.md"] = "\n".join(lines) + "\n"
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    made = files(json.loads(given.results.read_text()))
    there = {path.name for path in given.folder.glob("*")} if given.folder.is_dir() else set()
    if given.check:
        stale = [name for name, new in made.items() if name not in there or (given.folder / name).read_text() != new]
        stale += sorted(there - set(made))
        for name in stale:
            print(f"{given.folder / name} is not what {given.results} gives")
        return 1 if stale else 0
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in there - set(made):
        (given.folder / name).unlink()
    for name, new in made.items():
        (given.folder / name).write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
