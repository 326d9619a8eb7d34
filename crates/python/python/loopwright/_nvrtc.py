"""The compiler of CUDA C among the packages of this environment."""

from __future__ import annotations

import sysconfig

from . import _loopwright


def search_own_packages() -> None:
    """Has the library search this environment's packages for NVRTC, such as PyTorch's, if the
    dynamic loader does not find one.

    The library finds other environments by the search path, and this one only if it is active.
    """
    _loopwright.search_packages(sysconfig.get_path("purelib"))
