"""The compiler of CUDA C among the packages of this environment."""

from __future__ import annotations

import os
import pathlib
import sysconfig

_VARIABLE = "LOOPWRIGHT_NVRTC"


def prefer_own_packages() -> None:
    """Has the library use NVRTC of this environment's packages, such as PyTorch's, if there is one.

    The library finds other environments by the search path, and this one only if it is active.
    """
    packages = pathlib.Path(sysconfig.get_path("purelib"))
    found = any(packages.glob("nvidia/*/lib/libnvrtc.so.1[23]"))
    if found and not os.environ.get(_VARIABLE):
        os.environ[_VARIABLE] = str(packages)
