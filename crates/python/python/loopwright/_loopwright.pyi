"""The extension module: what the package's own files are built on."""

from os import PathLike
from typing import Any, Optional, Union, final

__version__: str

class Error(Exception):
    """A kernel, a step or an argument that is refused, or a wrong result."""

    code: str
    message: str
    place: Optional[tuple[str, int, int]]
    witness: Optional[str]
    help: Optional[str]
    errors: list[Error]

@final
class Array:
    """An array that a kernel wrote."""

    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: Optional[int] = None,
        max_version: Optional[tuple[int, int]] = None,
        dl_device: Optional[tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any: ...

def einsum(specification: str, types: list[str], options: dict[str, str]) -> Kernel: ...
def map(
    expression: str,
    shape: str,
    type: str,
    scalars: list[str],
    types: dict[str, str],
    options: dict[str, str],
) -> Kernel: ...
def copy(shape: str, axes: list[int], type: str, options: dict[str, str]) -> Kernel: ...
def reduce(
    operator: str, shape: str, axes: list[int], type: str, options: dict[str, str]
) -> Kernel: ...
def scan(
    operator: str, shape: str, axis: int, type: str, exclusive: bool, options: dict[str, str]
) -> Kernel: ...
def top_k(k: int, shape: str, axis: int, type: str, options: dict[str, str]) -> Kernel: ...
def element_type(value: Any) -> str: ...
def search_packages(folder: Union[str, PathLike[str]]) -> None: ...

@final
class Kernel:
    def __new__(cls, text: str, origin: str = "<kernel>") -> Kernel: ...
    def apply(
        self, pipeline: str, parameters: dict[str, int], origin: str = "<pipeline>"
    ) -> Kernel: ...
    def step(self, text: str) -> Kernel: ...
    def with_types(self, types: dict[str, str]) -> Kernel: ...
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> list[str]: ...
    @property
    def written(self) -> list[str]: ...
    @property
    def declared(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def steps(self) -> str: ...
    def cuda(self) -> str: ...
    def program(self) -> str: ...
    def explain(self, lowered: bool) -> str: ...
    def run(
        self,
        values: dict[str, Any],
        device: Optional[str],
        stream: Optional[int],
        keeps: bool,
        in_order: bool,
        check: bool,
        tolerance: Optional[float],
    ) -> tuple[
        list[tuple[str, Optional[Array]]], str, Optional[float], Optional[dict[str, int]]
    ]: ...
    def bind(
        self,
        values: dict[str, Any],
        device: Optional[str],
        stream: Optional[int],
        in_order: bool,
    ) -> BoundKernel: ...
    def tune(
        self,
        search: tuple[str, str],
        values: dict[str, Any],
        sample: Optional[dict[str, Any]],
        device: Optional[str],
        options: dict[str, Any],
    ) -> dict[str, Any]: ...

@final
class BoundKernel:
    def launch(self) -> None: ...
    def wait(self) -> None: ...
    def time(self, repeats: int) -> list[float]: ...
    def results(
        self,
    ) -> tuple[list[tuple[str, Optional[Array]]], str, Optional[dict[str, int]]]: ...
