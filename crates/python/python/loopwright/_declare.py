"""Kernels declared by functions."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Optional, Union, overload

from ._kernel import Kernel


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(*, pipeline: Optional[str] = None, **parameters: int) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Optional[Callable[..., Any]] = None, /, *, pipeline: Optional[str] = None, **parameters: int
) -> Union[Kernel, Callable[[Callable[..., Any]], Kernel]]:
    """Declares a kernel by a function: its arguments by the annotations, the rest by the docstring.

        @loopwright.kernel(pipeline="split_iname(i, $threads); tag_inames(i_inner: thread.x)", threads=128)
        def twice(x: "f32[n]", out: "f32[n]", n: "i32"):
            '''
            domain { [i] : 0 <= i < n }
            out[i] = 2.0*x[i]
            '''

    A docstring that begins with `kernel` is the whole text. The function itself never runs: its
    name becomes the `Kernel`. `parameters` are the values of the pipeline's open parameters.
    """

    def declare(function: Callable[..., Any]) -> Kernel:
        text = inspect.getdoc(function) or ""
        if not text.startswith("kernel "):
            arguments = ", ".join(
                _argument(function, argument)
                for argument in inspect.signature(function).parameters.values()
            )
            text = f"kernel {function.__name__}({arguments})\n{text}"
        declared = Kernel(text, origin=f"<{function.__qualname__}>")
        return declared if pipeline is None else declared.apply(pipeline, **parameters)

    return declare if function is None else declare(function)


def _argument(function: Callable[..., Any], argument: inspect.Parameter) -> str:
    kind = argument.annotation
    if not isinstance(kind, str):
        raise TypeError(
            f"argument `{argument.name}` of `{function.__qualname__}` needs a type of kernels as its "
            f'annotation, such as "f32[n]" or "i32"'
        )
    # Under `from __future__ import annotations` an annotation is its source, with its quotes.
    if kind[:1] in ("'", '"') and kind[-1:] == kind[:1]:
        kind = kind[1:-1]
    return f"{argument.name}: {kind}"
