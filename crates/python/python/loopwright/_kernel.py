"""Kernels as Python sees them."""

from __future__ import annotations

import inspect
import operator
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from . import _arrays, _errors
from ._errors import refused
from ._loopwright import Array
from ._loopwright import BoundKernel as _NativeBound
from ._loopwright import Kernel as _Native
from ._steps import Argument, Steps
from ._text import Text


class Results(dict[str, Any]):
    """The arrays that a kernel wrote, by name.

    An array that was passed is the same object, with its new elements; the others are new, of the
    library of the arguments, or NumPy's if these are none. On a GPU, an array for a library that is
    not known is an `Array`, which libraries take by their `from_dlpack`.
    """

    #: The name of the device that the kernel ran on.
    device: str
    #: The duration of the launch, or `None` where arrays on a GPU were used in place.
    milliseconds: Optional[float]
    #: What the emulator counted: launches, blocks, bytes moved in global memory, barriers, bank
    #: conflicts. `None` on a GPU.
    counts: Optional[dict[str, int]]

    def __init__(
        self,
        arrays: Mapping[str, Any],
        device: str,
        milliseconds: Optional[float],
        counts: Optional[dict[str, int]],
    ) -> None:
        super().__init__(arrays)
        self.device = device
        self.milliseconds = milliseconds
        self.counts = counts


def _written(value: Any) -> str:
    """An argument of a step as it is written in a pipeline."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_written(tag)}" for name, tag in value.items())
    if isinstance(value, Iterable) and not isinstance(value, (bytes, set, frozenset)):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"an argument of a step is text, an integer or names, not {value!r}")
    return str(operator.index(value))


def _names(names: Union[str, Sequence[str]]) -> list[str]:
    """One name, several separated by commas, or a list of them."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",")]
    return list(names)


def _library(library: Union[str, Sequence[str], Mapping[str, str]]) -> list[tuple[str, str]]:
    """The texts of a library with their names in errors."""
    if isinstance(library, str):
        texts = [("<library>", library)]
    elif isinstance(library, Mapping):
        texts = list(library.items())
    else:
        texts = [(f"<library {k + 1}>", text) for k, text in enumerate(library)]
    for _, text in texts:
        if not isinstance(text, str):
            raise TypeError(f"the text of a library is a str, not {type(text).__name__}")
    return [(origin, inspect.cleandoc(text) + "\n") for origin, text in texts]


def _returned(
    written: Sequence[tuple[str, Optional[Array]]], arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """The arrays that were written, as the caller gets them."""
    library = _arrays.library_of(arguments.values())
    arrays = {}
    for name, array in written:
        given = arguments.get(name)
        # An array that was passed is its own library's, a new one that of the arguments.
        own = library if given is None else _arrays.library_of([given])
        arrays[name] = own.result(array, given)
    return arrays


class BoundKernel:
    """A kernel with its arguments, made by `Kernel.bind`.

    A call launches it. Everything that can be checked before has been; a launch looks nothing up
    and allocates nothing.
    """

    __slots__ = ("_arguments", "_launch", "_native")

    def __init__(self, native: _NativeBound, arguments: Mapping[str, Any]) -> None:
        self._native, self._arguments, self._launch = native, dict(arguments), native.launch

    def __call__(self) -> None:
        """Submits a launch to the stream, and returns without waiting for it.

        A GPU reports errors of the work in a later call that waits. The emulator has no queue: it
        runs the kernel in this call.
        """
        self._launch()

    def wait(self) -> None:
        """Waits until all launches are done, and raises the error of one that failed."""
        self._native.wait()

    def time(self, repeats: int = 10) -> list[float]:
        """Launches so many times, and returns the milliseconds of each.

        On a GPU they are measured by events, after one launch that is not; on the emulator by the
        clock.
        """
        return self._native.time(repeats)

    def results(self) -> Results:
        """The arrays that the launches so far have written, as a call of the kernel returns them.

        An array on a GPU is the same memory each time, ready in the order of the stream: nothing
        waits. Arrays on the host are copied, once the launches are done.
        """
        written, device, counts = self._native.results()
        return Results(_returned(written, self._arguments), device, None, counts)


class Kernel(Steps):
    """A kernel: its declaration, and the steps that were applied to it.

    A kernel never changes; a step that is refused raises `Error` and leaves it as it was. The steps
    are methods too: `k.split_iname("i", 128).tag_inames(i_outer="block.x", i_inner="thread.x")`.

    Parameters
    ----------
    text
        The kernel in loopwright's text form. Lines may be indented.
    origin
        The name of the text in errors, such as a file's.
    library
        Texts of kernels that this one may call, with their operators and device functions: one
        text, a list of them, or a mapping from their names in errors, such as those of files. The
        kernels of a text may call those of the texts before it.
    """

    __slots__ = ("_device", "_native", "_stream")

    def __init__(
        self,
        text: str,
        *,
        origin: str = "<kernel>",
        library: Union[str, Sequence[str], Mapping[str, str]] = (),
    ) -> None:
        if not isinstance(text, str):
            raise TypeError(f"the text of a kernel is a str, not {type(text).__name__}")
        self._native = _Native(inspect.cleandoc(text) + "\n", origin, _library(library))
        self._device: Optional[str] = None
        self._stream: Optional[int] = None

    @classmethod
    def _of(cls, native: _Native) -> Kernel:
        """A kernel without a device of its own."""
        other = object.__new__(cls)
        other._native, other._device, other._stream = native, None, None
        return other

    def fuse(self, other: Kernel, name: Optional[str] = None) -> Kernel:
        """One kernel of this one and of `other`, which runs after it.

        Arguments of the same name are the same, so that `other` may read what this kernel writes.
        By default the kernel has both names. Neither may have steps.
        """
        return self._with(self._native.fuse(other._native, name or f"{self.name}_{other.name}"))

    def batched(
        self, of: Union[str, Sequence[str]], *, iname: str = "batch", count: str = "count"
    ) -> Kernel:
        """The kernel for `count` problems at once, which differ in the arguments `of`.

        These, and temporaries in global memory that are listed, get a first axis, along which
        `iname` runs. The kernel may have no steps.
        """
        return self._with(self._native.batched(_names(of), iname, count))

    def separated(
        self, array: str, names: Union[str, Sequence[str]], *, axis: int = 0
    ) -> Kernel:
        """The kernel with an argument for each value on an axis of `array`, called `names`.

        The kernel may have no steps; temporaries are separated by the step `separate_axis`.
        """
        return self._with(self._native.separated(array, operator.index(axis), _names(names)))

    def concatenated(
        self, arrays: Union[str, Sequence[str]], name: str, *, axis: int = 0
    ) -> Kernel:
        """The kernel with one argument `name` for several arrays, one behind the other.

        The kernel may have no steps; temporaries are put together by `concatenate_arrays`.
        """
        return self._with(self._native.concatenated(_names(arrays), operator.index(axis), name))

    def _with(self, native: _Native) -> Kernel:
        other = object.__new__(type(self))
        other._native, other._device, other._stream = native, self._device, self._stream
        return other

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self

    def __reduce__(self) -> Any:
        """By its text and its steps, which are applied and proved again."""
        return _restored, (str(self.declared), str(self.steps), self._device)

    def apply(self, pipeline: str, /, **parameters: int) -> Kernel:
        """The kernel after the steps of a pipeline, one a line or separated by `;`.

        Keyword arguments are the values of its open parameters: `apply("split_iname(i, $block)",
        block=128)`.
        """
        return self._with(self._native.apply(pipeline, parameters))

    def _step(self, name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Kernel:
        written = [_written(value) for value in arguments]
        written += [f"{key}={_written(v)}" for key, v in options.items() if v is not None]
        return self._with(self._native.step(f"{name}({', '.join(written)})"))

    def tag_inames(self, /, *arguments: Argument, **tags: Argument) -> Kernel:
        return self._step("tag_inames", [*arguments, *([tags] if tags else [])], {})

    tag_inames.__doc__ = f"{Steps.tag_inames.__doc__}\n        Here also `tag_inames(i=\"block.x\")`.\n        "

    def assume_legal(self, why: str) -> Kernel:  # type: ignore[override]
        return self._step("assume_legal", [f'"{why}"'], {})

    assume_legal.__doc__ = Steps.assume_legal.__doc__

    def auto(self, *, search: Optional[Union[int, str]] = None) -> Kernel:
        """The kernel after steps that are found for what its steps have left open.

        `search=16` takes the cheapest of 16 forms by their estimated time on an H200, at small
        sizes of its own; `search="1s"` stands for 32, unless the clock cuts it short. `explain`
        shows the steps, each with its reason, and what would be better.
        """
        return self._step("auto", [], {"search": search})

    def with_types(self, **types: str) -> Kernel:
        """The kernel with its open types bound: `with_types(T="f32")`.

        Arrays bind them in a call; only `cuda` and `program` need this.
        """
        return self._with(self._native.with_types(types))

    def on(self, device: Optional[str] = None, *, stream: Any = None) -> Kernel:
        """The same kernel, to be run on a device: `"emulator"`, `"gpu"`, `"gpu:1"` or `"best"`.

        `stream` is a stream of PyTorch or CuPy, or the address of a CUDA stream. By default a
        kernel runs where its arguments are, on the current stream of their library.
        """
        other = self._with(self._native)
        other._device = device
        other._stream = _arrays.stream_handle(stream)
        return other

    def __call__(self, /, **arguments: Any) -> Results:
        """Runs the kernel, and returns the arrays that it wrote.

        Arguments are numbers, and arrays with `__array_interface__` or `__dlpack__`. Integers that
        follow from the shapes of arrays may be left out, and so may arrays that the kernel only
        writes. An array that is passed and that the kernel writes has the results afterwards.

        Complex arrays are taken where a kernel has pairs, `x: complex64[n]` or `x: f32[n, 2]`, and
        a complex number for `a` where it has the scalars `a_re` and `a_im`. New arrays are pairs.

        Arrays on a GPU are used where they are, in the order of the stream. With tensors of PyTorch
        on its current stream the call does not wait for the device, and an error of the work shows
        in a later call that waits. With other libraries, and on a stream that `on` names, it
        returns when the device is idle, since the memory is only lent; `bind` makes launches that
        never wait. Arrays on the host are copied to the device. A run cannot be interrupted by
        Ctrl-C before it is done.
        """
        return self._run(arguments, False, None)

    def check(self, tolerance: Optional[float] = None, /, **arguments: Any) -> Results:
        """Runs the kernel as a call does, and compares the results with the declared kernel.

        The reference is a plain interpreter of the declared kernel, which is slow. Integers have to
        be equal, floating-point numbers within a relative tolerance (by default 2e-5 for f32, 1e-12
        for f64, 4e-3 for f16, 3e-2 for bf16), with allowance for terms that cancel: it is given as
        the first argument, or as `tolerance` if the kernel has no argument of this name. A
        difference raises `Error` with the code `wrong-result`. Since the reference has the types of
        the declared kernel, a warning says where that computes in f32 what it stores as f64.
        """
        if tolerance is None and "tolerance" not in self.arguments:
            tolerance = arguments.pop("tolerance", None)
        return self._run(arguments, True, _errors.tolerance(tolerance))

    def _run(self, arguments: dict[str, Any], check: bool, tolerance: Optional[float]) -> Results:
        library = _arrays.library_of(arguments.values())
        self._check_takes(arguments)
        stream, in_order = self._order(library, arguments)
        written, device, milliseconds, counts = self._native.run(
            arguments, self._device, stream, library.immutable, in_order, check, tolerance
        )
        return Results(_returned(written, arguments), device, milliseconds, counts)

    def bind(self, /, **arguments: Any) -> BoundKernel:
        """Checks these arguments once, and returns what launches the kernel with them.

        A call of the result submits a launch and returns at once, which is what a loop of many
        launches needs: `step = k.bind(x=x, y=y, a=0.5)`, then `step()` as often as wanted. Launches
        go to the stream that is current now, or that `on` names.

        Arrays on a GPU are used where they are, and kept for as long as the result lives. Arrays on
        the host are copied to the device here, and only here; `BoundKernel.results` copies what was
        written back. Arrays of JAX never change, so that there is nothing to launch repeatedly.
        """
        library = _arrays.library_of(arguments.values())
        if library.immutable:
            raise refused(
                "read-only",
                "a bound kernel writes the same memory at each launch, and arrays of JAX never change",
                "call the kernel, which returns new arrays",
            )
        self._check_takes(arguments)
        stream, in_order = self._order(library, arguments)
        return BoundKernel(self._native.bind(arguments, self._device, stream, in_order), arguments)

    def _check_takes(self, arguments: Mapping[str, Any]) -> None:
        """Refuses arrays that the kernel writes and that take no elements, before it runs."""
        for name in self._native.written:
            given = arguments.get(name)
            if hasattr(given, "__array_interface__") or hasattr(given, "__dlpack__"):
                _arrays.library_of([given]).check_takes(name, given)

    def _order(
        self, library: _arrays.Library, arguments: Mapping[str, Any]
    ) -> tuple[Optional[int], bool]:
        """The stream to run on, and whether the library of the arrays knows that it does."""
        if self._stream is not None:
            return self._stream, False
        stream = library.current_stream(arguments.values())
        return stream, stream is not None and library.told(arguments.values())

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self._native.name

    @property
    def arguments(self) -> list[str]:
        """The names of the arguments."""
        return self._native.arguments

    @property
    def declared(self) -> Text:
        """The text of the declared kernel."""
        return Text(self._native.declared, "kernel")

    @property
    def text(self) -> Text:
        """The text of the kernel after all steps."""
        return Text(self._native.text, "kernel")

    @property
    def steps(self) -> Text:
        """The steps that were applied, one a line: the text of a pipeline."""
        return Text(self._native.steps)

    @property
    def cuda(self) -> Text:
        """The kernel as CUDA C."""
        return Text(self._native.cuda(), "cuda")

    @property
    def program(self) -> Text:
        """The lowered program, which the CUDA C is printed from and the emulator runs."""
        return Text(self._native.program())

    def explain(self, *, lowered: bool = False) -> Text:
        """Why each step is legal and what it changed.

        With `lowered`, the reason for each barrier, guard and copy of the lowered program instead.
        """
        return Text(self._native.explain(lowered), "explanation")

    def __repr__(self) -> str:
        steps = self.steps.count("\n")
        after = f" after {steps} step{'s' if steps > 1 else ''}" if steps else ""
        return f"<loopwright.Kernel {self.name}({', '.join(self.arguments)}){after}>"

    def __str__(self) -> str:
        return str(self.text)

    def _repr_html_(self) -> str:
        return self.text._repr_html_()


def _restored(declared: str, steps: str, device: Optional[str]) -> Kernel:
    """A kernel from its texts, as `pickle` keeps it."""
    kernel = Kernel(declared).apply(steps)
    return kernel if device is None else kernel.on(device)
