"""Searches for the values of a pipeline's open parameters."""

from __future__ import annotations

import html
import operator
import os
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Optional, Union

from . import _errors
from ._errors import refused
from ._kernel import Kernel


@dataclass(frozen=True)
class Tuning:
    """What a search found. Notebooks show its page, with plots."""

    #: The kernel after the pipeline with the best values.
    kernel: Kernel
    #: The best values.
    best: dict[str, int]
    #: The time of the best point or, where nothing is timed, its estimate.
    milliseconds: Optional[float]
    #: Whether points were timed: on a GPU.
    timed: bool
    #: All points, best first.
    table: str
    #: A page with plots.
    html: str
    #: Warnings.
    notes: list[str]

    def __repr__(self) -> str:
        kind = "" if self.timed else " estimated"
        return f"<loopwright.Tuning {self.best}, {self.milliseconds:.3g} ms{kind}>"

    def __str__(self) -> str:
        return self.table

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:36em;border:0"></iframe>'


def tune(
    kernel: Kernel,
    pipeline: str,
    space: Union[str, Mapping[str, Iterable[int]]],
    arguments: Mapping[str, Any],
    *,
    sample: Optional[Mapping[str, Any]] = None,
    strategy: str = "exhaustive",
    points: Optional[int] = None,
    seed: int = 0,
    budget: Optional[float] = None,
    log: Optional[Union[str, os.PathLike[str]]] = None,
    launches: int = 20,
    tolerance: Optional[float] = None,
) -> Tuning:
    """Searches for the fastest values of a pipeline's open parameters.

    Every point is checked against the declared kernel and counted on the emulator. On a GPU the
    points are then timed; without one, their times are estimated from the counts.

    Parameters
    ----------
    kernel, pipeline
        A kernel, and a pipeline with open parameters such as `split_iname(i, $threads)`.
    space
        The values to try: `{"threads": [64, 128]}`, or the text of a space, which can also have
        requirements: `threads in powers(32, 1024)` and `require rows * threads <= 1024`.
    arguments
        The arguments of a call.
    sample
        Arguments of a smaller problem, on which points are checked and counted: both are slow.
    strategy, points, seed
        "exhaustive", or "random" or "guided" with a number of points.
    budget
        Seconds after which the search ends with what it has found.
    log
        A file that keeps outcomes, and from which a search resumes.
    launches
        The number of launches of a median.
    tolerance
        The relative tolerance of the check; by default it depends on the type.

    Raises
    ------
    Error
        If no point is legal, among others.
    """
    if not isinstance(space, str):
        space = "".join(f"{name} in {_candidates(name, values)}\n" for name, values in space.items())
    options = {
        "strategy": strategy,
        "points": None if points is None else _count("points", points, 1),
        "seed": _count("seed", seed, 0),
        "budget": None if budget is None else float(budget),
        "log": None if log is None else os.fspath(log),
        "launches": _count("launches", launches, 1),
        "tolerance": _errors.tolerance(tolerance),
    }
    found = kernel._native.tune(
        (pipeline, space),
        dict(arguments),
        None if sample is None else dict(sample),
        kernel._device,
        options,
    )
    if found["best"] is None:
        # The table has the same sentence, in a line of its own.
        table = [line for line in found["table"].splitlines() if line != found["why_none"]]
        raise refused("no-point", "\n".join([found["why_none"], "", *table]))
    return Tuning(
        kernel=kernel.apply(pipeline, **found["best"]),
        best=found["best"],
        milliseconds=found["milliseconds"],
        timed=found["timed"],
        table=found["table"],
        html=found["html"],
        notes=found["notes"],
    )


def _candidates(name: str, values: Iterable[int]) -> list[int]:
    """The values to try for a parameter, which are integers."""
    if isinstance(values, (str, bytes)):
        raise refused(
            "option",
            f"the values to try for `{name}` are a text",
            f'give them as a list, `{{"{name}": [64, 128]}}`, or the space as one text, '
            f'"{name} in [64, 128]"',
        )
    try:
        return [operator.index(value) for value in values]
    except TypeError:
        raise refused(
            "option",
            f"the values to try for `{name}` are not all integers",
            f'give a list of integers: `{{"{name}": [64, 128]}}`',
        ) from None


def _count(name: str, value: Any, least: int) -> int:
    """An option that is a number of something."""
    try:
        count = operator.index(value)
    except TypeError:
        count = -1
    if not least <= count < 1 << 63:
        raise refused(
            "option", f"`{name}` is {value!r}", f"it is an integer, and at least {least}"
        )
    return count
