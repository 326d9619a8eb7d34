"""Errors of the package's own."""

from __future__ import annotations

from typing import Optional

from ._loopwright import Error


def refused(code: str, message: str, help: Optional[str] = None) -> Error:
    """An error like those of the library."""
    error = Error(f"error[{code}]: {message}" + (f"\n  help: {help}" if help else ""))
    error.code, error.message, error.help = code, message, help
    error.place = error.witness = None
    error.errors = [error]
    return error
