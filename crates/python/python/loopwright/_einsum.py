"""einsum on arrays."""

from __future__ import annotations

import functools
from typing import Any, Optional, Sequence

from . import _loopwright, generate
from ._errors import refused
from ._kernel import Kernel

#: The types by the names that libraries of arrays give them.
_TYPES = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
}


def einsum(
    specification: str, /, *operands: Any, acc: Optional[str] = None, out: Optional[str] = None
) -> Any:
    """Sums of products of operands' elements, as by `numpy.einsum`: `einsum("ik,kj->ij", a, b)`.

    The kernel is that of `loopwright.generate.einsum` with the steps that `Kernel.auto` finds, and
    is kept for later calls. It runs where the arrays are: those of PyTorch or CuPy on a GPU are
    used in place, NumPy's are copied to GPU 0, or to the emulator. The result is an array of their
    library.

    `acc` is the type of sums and `out` that of the result, such as `"f32"`; for arrays of NumPy of
    different types both are by default what `numpy.result_type` gives. A number, for an
    operand without letters, takes the type of the first array, or f64 if it is a fraction and that
    is an integer. There are no `...`, and axes of length 1 are not repeated.
    """
    types = _types(operands)
    if acc is None and out is None:
        acc, out = _common(operands, types)
    kernel = _kernel(specification, tuple(types), acc, out)
    names = kernel.arguments[: len(operands)]
    result = kernel(**dict(zip(names, operands)))["out"]
    return result.reshape(()) if _is_number(specification) else result


@functools.lru_cache(maxsize=256)
def _kernel(
    specification: str, types: Sequence[str], acc: Optional[str], out: Optional[str]
) -> Kernel:
    return generate.einsum(specification, types=types, acc=acc, out=out).auto()


def _common(
    operands: Sequence[Any], types: Sequence[str]
) -> tuple[Optional[str], Optional[str]]:
    """The types of sums and of the result where arrays of NumPy have different types: NumPy's.
    Numbers of Python have none of their own."""
    import numpy

    arrays = [value for value in operands if isinstance(value, (numpy.ndarray, numpy.generic))]
    if len({value.dtype for value in arrays}) < 2 or len(arrays) < sum(map(_is_array, operands)):
        return None, None
    try:
        common = _TYPES.get(numpy.result_type(*(value.dtype for value in arrays)).name)
    except TypeError:
        return None, None
    return common if common in ("f32", "f64", "i32", "i64", "u32", "u64") else None, common


def _is_array(value: Any) -> bool:
    return not isinstance(value, (bool, int, float))


def _types(operands: Sequence[Any]) -> list[str]:
    known = [_type(value) if _is_array(value) else None for value in operands]
    first = next((t for t in known if t is not None), None)

    def number(value: Any) -> str:
        own = "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f64"
        if first is None or first == "bool" or (own == "f64" and first[0] in "iu"):
            return own
        return first

    return [t if t is not None else number(v) for t, v in zip(known, operands)]


def _type(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        if not (hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")):
            raise refused(
                "argument-kind",
                f"an operand is of type `{type(value).__name__}`, which is neither an array nor a number",
                "pass a number, or an array that has `__array_interface__` or `__dlpack__`",
            )
        return _loopwright.element_type(value)
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    if name not in _TYPES:
        raise refused(
            "unknown-type",
            f"there are no kernels of `{name}`",
            f"convert the array to one of {', '.join(_TYPES)}",
        )
    return _TYPES[name]


def _is_number(specification: str) -> bool:
    """Whether the result has no letters."""
    operands, arrow, result = specification.partition("->")
    letters = [letter for letter in operands if letter.isalpha()]
    return not result.strip() if arrow else all(letters.count(c) > 1 for c in letters)
