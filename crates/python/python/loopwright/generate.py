"""Kernels from a line: declared kernels, to be read, transformed and run like any other.

    >>> import loopwright
    >>> print(loopwright.generate.einsum("ik,kj->ij"))
    kernel einsum(a: f32[n_i, n_k], b: f32[n_k, n_j], out: f32[n_i, n_j], n_i: i32, n_k: i32, n_j: i32)
    assume 0 <= n_i and 0 <= n_k and 0 <= n_j
    domain { [i, j] : 0 <= i < n_i and 0 <= j < n_j }
    domain { [k] : 0 <= k < n_k }
    out[i, j] = sum(k, a[i, k] * b[k, j]) {id=product}
    <BLANKLINE>

Shapes are lengths between commas, names of sizes and constants: `"m, n, 4"`. Axes are numbered from
0, or from -1 at the end. Sums, products and means accumulate f16, bf16 and the types of eight bits
in f32, other types in their own, or in `acc`; `out` is the type of the result, by default that of
the operands. `Kernel.auto` finds steps for all of them.
"""

from __future__ import annotations

from typing import Iterable, Mapping, Optional, Sequence, Union

from . import _loopwright
from ._kernel import Kernel

__all__ = ["copy", "einsum", "map", "reduce", "scan", "top_k"]


def _options(**given: Optional[str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if value is not None}


def einsum(
    specification: str,
    /,
    *,
    types: Union[str, Sequence[str]] = "f32",
    acc: Optional[str] = None,
    out: Optional[str] = None,
    name: Optional[str] = None,
) -> Kernel:
    """Sums of products of operands' elements, whose axes are named by letters.

    Axes with the same letter run together; those that the result does not have are summed over.
    Without `->`, the result has the letters that occur once, in alphabetical order. Operands are
    called `a`, `b`, ..., and the length along `i` is `n_i`; an operand without letters is a number.
    `types` is the type of each operand, or one of all.
    """
    if isinstance(types, str):
        types = [types] * (specification.count(",") + 1)
    return Kernel._of(
        _loopwright.einsum(specification, list(types), _options(acc=acc, out=out, name=name))
    )


def map(
    expression: str,
    shape: str,
    /,
    type: str = "f32",
    *,
    scalars: Iterable[str] = (),
    types: Mapping[str, str] = {},
    out: Optional[str] = None,
    name: Optional[str] = None,
) -> Kernel:
    """An expression of the elements at each place, such as `map("a*x + y", "n", scalars=["a"])`.

    A name is the element of an array, a number if `scalars` has it, a size of the shape, or the
    index along an axis: `i`, `j`, `k`, `l`, `i4`, .... `types` has the operands whose type is not
    `type`.
    """
    if isinstance(scalars, str):
        scalars = [scalars]
    options = _options(out=out, name=name)
    return Kernel._of(_loopwright.map(expression, shape, type, list(scalars), dict(types), options))


def copy(
    shape: str,
    axes: Sequence[int] = (),
    /,
    type: str = "f32",
    *,
    out: Optional[str] = None,
    name: Optional[str] = None,
) -> Kernel:
    """The elements of `x` with its axes in the order of `axes`: `copy("m, n", [1, 0])` is a
    transpose.
    """
    return Kernel._of(_loopwright.copy(shape, list(axes), type, _options(out=out, name=name)))


def reduce(
    operator: str,
    shape: str,
    axes: Union[int, Sequence[int]] = (),
    /,
    type: str = "f32",
    *,
    acc: Optional[str] = None,
    out: Optional[str] = None,
    name: Optional[str] = None,
) -> Kernel:
    """A reduction of `x` along an axis, several, or all if none are given.

    The operators are sum, product, mean, min, max, any, all, and argmin and argmax along one axis,
    which give `values` and `indices`.
    """
    along = list(axes) if isinstance(axes, Iterable) else [axes]
    options = _options(acc=acc, out=out, name=name)
    return Kernel._of(_loopwright.reduce(operator, shape, along, type, options))


def scan(
    operator: str,
    shape: str,
    axis: int = -1,
    /,
    type: str = "f32",
    *,
    exclusive: bool = False,
    acc: Optional[str] = None,
    out: Optional[str] = None,
    name: Optional[str] = None,
) -> Kernel:
    """cumsum, cumprod, cummin or cummax of `x` along an axis; if `exclusive`, of what is before
    each element.
    """
    options = _options(acc=acc, out=out, name=name)
    return Kernel._of(_loopwright.scan(operator, shape, axis, type, exclusive, options))


def top_k(
    k: int,
    shape: str,
    axis: int = -1,
    /,
    type: str = "f32",
    *,
    out: Optional[str] = None,
    name: Optional[str] = None,
) -> Kernel:
    """The `k` largest elements of `x` along an axis as `values`, and their places as `indices`.

    Nothing is sorted: there are `k` passes over the axis. Of equal elements, the first comes first;
    a NaN is never selected.
    """
    return Kernel._of(_loopwright.top_k(k, shape, axis, type, _options(out=out, name=name)))
