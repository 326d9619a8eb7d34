"""Kernels declared by functions."""

from __future__ import annotations

import inspect
from typing import (
    Annotated,
    Any,
    Callable,
    Mapping,
    Optional,
    Sequence,
    Union,
    get_origin,
    overload,
)

from ._errors import refused
from ._kernel import Kernel
from ._loopwright import Error


@overload
def kernel(function: Callable[..., Any], /) -> Kernel: ...
@overload
def kernel(
    *,
    pipeline: Optional[str] = None,
    library: Union[str, Sequence[str], Mapping[str, str]] = (),
    **parameters: int,
) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Optional[Callable[..., Any]] = None,
    /,
    *,
    pipeline: Optional[str] = None,
    library: Union[str, Sequence[str], Mapping[str, str]] = (),
    **parameters: int,
) -> Union[Kernel, Callable[[Callable[..., Any]], Kernel]]:
    """Declares a kernel by a function: its arguments by the annotations, the rest by the docstring.

        @loopwright.kernel(pipeline="split_iname(i, $threads); tag_inames(i_inner: thread.x)", threads=128)
        def twice(x: "f32[n]", out: "f32[n]", n: "i32"):
            '''
            domain { [i] : 0 <= i < n }
            out[i] = 2.0*x[i]
            '''

    For type checkers an annotation is also `Annotated[Any, "f32[n]"]`. A docstring that begins with
    `kernel` is the whole text. The function itself never runs: its
    name becomes the `Kernel`. `parameters` are the values of the pipeline's open parameters;
    `library` is that of `Kernel`.
    """

    def declare(function: Callable[..., Any]) -> Kernel:
        text = inspect.getdoc(function) or ""
        if not text.startswith("kernel "):
            arguments = ", ".join(
                _argument(function, argument)
                for argument in inspect.signature(function).parameters.values()
            )
            text = f"kernel {function.__name__}({arguments})\n{text}"
        try:
            declared = Kernel(text, origin=f"<{function.__qualname__}>", library=library)
        except Error as error:
            if error.place is None or not _is_prose(text, error.place[1]):
                raise
            hint = "the docstring is the text of the kernel: put `#` in front of prose"
            explained = refused(error.code, error.message, hint)
            explained.place = error.place
            explained.args = (f"{error}\n  help: {hint}",)
            raise explained from None
        return declared if pipeline is None else declared.apply(pipeline, **parameters)

    return declare if function is None else declare(function)


def _is_prose(text: str, line: int) -> bool:
    """Whether a line is words alone, such as a sentence."""
    lines = text.splitlines()
    words = lines[line - 1].split() if 0 < line <= len(lines) else []
    return len(words) > 1 and all(word.strip(".,:;()'`-").isalpha() for word in words)


def _argument(function: Callable[..., Any], argument: inspect.Parameter) -> str:
    kind = argument.annotation
    where = f"argument `{argument.name}` of `{function.__qualname__}`"
    if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
        raise TypeError(f"{where} stands for several: a kernel names each of its arguments")
    if argument.default is not argument.empty:
        raise TypeError(f"{where} has a default value, which arguments of kernels do not have")
    if isinstance(kind, str) and kind.partition("[")[0].endswith("Annotated"):
        kind = eval(kind, function.__globals__)
    if get_origin(kind) is Annotated:
        kind = next((text for text in kind.__metadata__ if isinstance(text, str)), None)
    if not isinstance(kind, str):
        raise TypeError(
            f'{where} needs a type of kernels as its annotation, such as "f32[n]" or "i32", or '
            f'`Annotated[Any, "f32[n]"]`'
        )
    # Under `from __future__ import annotations` an annotation is its source, with its quotes.
    if kind[:1] in ("'", '"') and kind[-1:] == kind[:1]:
        kind = kind[1:-1]
    return f"{argument.name}: {kind}"
