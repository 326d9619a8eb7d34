"""GPU kernels declared once, transformed by proved steps, printed as CUDA C, and run.

    >>> import numpy as np, loopwright
    >>> k = loopwright.Kernel('''
    ...     kernel twice(x: f32[n], out: f32[n], n: i32)
    ...     domain { [i] : 0 <= i < n }
    ...     out[i] = 2.0*x[i]
    ... ''')
    >>> k = k.apply("split_iname(i, 128); tag_inames(i_outer: block.x, i_inner: thread.x)")
    >>> k(x=np.arange(4, dtype=np.float32))["out"]
    array([0., 2., 4., 6.], dtype=float32)

`Kernel` declares a kernel by its text, `Kernel.apply` and the methods of the steps transform it,
and calling it runs it: on the GPU that holds its arguments, on GPU 0 if there is one, or on the
emulator. `generate` has kernels from a line, such as `generate.einsum("ik,kj->ij")`, and `einsum`
runs one on arrays. `Kernel.cuda` is its CUDA C, `Kernel.explain` shows why each step is legal. What
is refused raises `Error`, whose text shows the place, a counter-example and the remedy.
"""

from . import _nvrtc, generate
from ._declare import kernel
from ._einsum import einsum
from ._kernel import BoundKernel, Kernel, Results
from ._loopwright import Array, Error, __version__
from ._text import Text
from ._tune import Tuning, tune

__all__ = [
    "Array",
    "BoundKernel",
    "Error",
    "Kernel",
    "Results",
    "Text",
    "Tuning",
    "__version__",
    "einsum",
    "generate",
    "kernel",
    "tune",
]

_nvrtc.search_own_packages()
