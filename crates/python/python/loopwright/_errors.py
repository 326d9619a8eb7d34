"""Errors of the package's own."""

from __future__ import annotations

import math
from typing import Any, Optional

from ._loopwright import Error


def refused(code: str, message: str, help: Optional[str] = None) -> Error:
    """An error like those of the library."""
    error = Error(f"error[{code}]: {message}" + (f"\n  help: {help}" if help else ""))
    error.code, error.message, error.help = code, message, help
    error.place = error.witness = None
    error.errors = [error]
    return error


def tolerance(value: Any) -> Optional[float]:
    """A relative tolerance as a caller gives it."""
    if value is None:
        return None
    is_number = not isinstance(value, (bool, str, bytes)) and hasattr(value, "__float__")
    number = float(value) if is_number else math.nan
    if not number >= 0.0:
        raise refused(
            "option",
            f"the tolerance is {value!r}, which is no number from 0 on",
            "a relative tolerance is a number such as 1e-5",
        )
    return number
