"""What has to be known of the libraries whose arrays are passed.

The protocols say what an array is. Each library has its own words for the rest: how it takes an
array, which stream is current, how elements are copied into an array that exists.
"""

from __future__ import annotations

from typing import Any, Iterable, Optional

from ._errors import refused
from ._loopwright import Array


def is_complex(array: Any) -> bool:
    """Whether the elements of an array are complex numbers, which kernels have as pairs."""
    dtype = getattr(array, "dtype", None)
    return getattr(dtype, "kind", None) == "c" or bool(getattr(dtype, "is_complex", False))


class Library:
    """NumPy, and the base of the others."""

    #: Whether arrays never change, so that results are new ones.
    immutable = False

    def current_stream(self, arguments: Iterable[Any]) -> Optional[int]:
        """The address of the current stream, or `None` for loopwright's own."""
        return None

    def told(self, arguments: Iterable[Any]) -> bool:
        """Whether all arrays on a GPU are of this library, and it was told that the current stream
        uses them: it then reuses their memory only after the work of that stream."""
        return False

    def take(self, array: Array) -> Any:
        """The library's view of an array, without a copy."""
        import numpy

        if array.__dlpack_device__()[0] != 1:
            return array
        view = numpy.asarray(array)
        if array.dtype not in _ADDED:
            return view
        try:
            import ml_dtypes
        except ImportError:
            if array.dtype != "bf16":
                return view
            raise refused(
                "no-bf16",
                "NumPy has no type for the elements of a result, which are bf16",
                "install the package `ml_dtypes`, which adds it, or pass PyTorch's tensors",
            ) from None
        return view.view(getattr(ml_dtypes, _ADDED[array.dtype]))

    def check_takes(self, name: str, target: Any) -> None:
        """Refuses an array of the caller, on the host, into which results cannot be copied."""
        if hasattr(target, "__setitem__") or not _is_on_host(target):
            return
        view = _view(target)
        if view is None or not view.flags.writeable:
            raise refused(
                "read-only",
                f"the kernel writes `{name}`, into which nothing can be written: its elements are not "
                f"assigned to, and NumPy has no view of them that can be written",
                "pass an array of NumPy, or leave it out if the kernel does not read it",
            )

    def copy(self, array: Any, target: Any) -> None:
        """Copies the elements of a view into an array of the caller."""
        if not hasattr(target, "__setitem__"):
            target = _view(target)
        target[...] = array

    def result(self, array: Optional[Array], given: Any) -> Any:
        """The result for the caller: what was given, or a new array."""
        if array is None:
            return given
        view = self.take(array)
        if given is None:
            return view
        if is_complex(given):
            self.copy(view[..., 0], given.real)
            self.copy(view[..., 1], given.imag)
        else:
            self.copy(view, given)
        return given


#: The types that the package `ml_dtypes` adds to NumPy. Without it results of eight bits are given
#: as their bits.
_ADDED = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}


def _is_on_host(array: Any) -> bool:
    return not hasattr(array, "__dlpack_device__") or array.__dlpack_device__()[0] == 1


def _view(array: Any) -> Any:
    """NumPy's view of another library's array on the host, by a protocol; none if there is none."""
    import numpy

    if hasattr(array, "__array_interface__"):
        return numpy.asarray(array)
    try:
        return numpy.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError):
        return None


class Torch(Library):
    """PyTorch."""

    def current_stream(self, arguments: Iterable[Any]) -> Optional[int]:
        import torch

        for value in arguments:
            if isinstance(value, torch.Tensor) and value.is_cuda:
                return int(torch.cuda.current_stream(value.device).cuda_stream)
        return None

    def told(self, arguments: Iterable[Any]) -> bool:
        import torch

        on_device = []
        for value in arguments:
            if isinstance(value, torch.Tensor):
                if value.is_cuda:
                    on_device.append(value)
            elif hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] != 1:
                return False
        for value in on_device:
            value.record_stream(torch.cuda.current_stream(value.device))
        return True

    def take(self, array: Array) -> Any:
        import torch

        return torch.from_dlpack(array)

    def check_takes(self, name: str, target: Any) -> None:
        pass

    def copy(self, array: Any, target: Any) -> None:
        target.copy_(array)


class CuPy(Library):
    """CuPy."""

    def current_stream(self, arguments: Iterable[Any]) -> Optional[int]:
        import cupy

        return int(cupy.cuda.get_current_stream().ptr)

    def take(self, array: Array) -> Any:
        import cupy

        return cupy.from_dlpack(array)


class Jax(Library):
    """JAX, whose arrays never change: results are new ones."""

    immutable = True

    def take(self, array: Array) -> Any:
        import jax

        return jax.dlpack.from_dlpack(array)

    def result(self, array: Optional[Array], given: Any) -> Any:
        if array is None:
            return given
        view = self.take(array)
        if is_complex(given):
            import jax

            return jax.lax.complex(view[..., 0], view[..., 1])
        return view


_LIBRARIES = {"torch": Torch(), "cupy": CuPy(), "jaxlib": Jax(), "jax": Jax()}
_NUMPY = Library()


def library_of(arguments: Iterable[Any]) -> Library:
    """The library of the first array, NumPy if it is not known."""
    for value in arguments:
        library = _LIBRARIES.get(type(value).__module__.partition(".")[0])
        if library is not None:
            return library
    return _NUMPY


def stream_handle(stream: Any) -> Optional[int]:
    """The address of a stream of PyTorch (`cuda_stream`) or CuPy (`ptr`), or a number itself."""
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    return None if stream is None else int(stream)
