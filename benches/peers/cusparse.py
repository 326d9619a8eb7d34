"""cuSPARSE's product of a matrix by rows and a vector, by its C functions: nothing is allocated or
described when it is launched."""

import ctypes
import importlib.util
import re
from pathlib import Path

from exported import checked, stream
from needed import torch

BASE_ZERO, INDEX_32, R_32F, NOT_TRANSPOSED = 0, 2, 0, 0


def library():
    """The library that torch has loaded, or would load."""
    loaded = re.search(r"(/\S*libcusparse\.so\S*)", Path("/proc/self/maps").read_text())
    if loaded:
        return ctypes.CDLL(loaded[1])
    found = importlib.util.find_spec("nvidia")
    for folder in found.submodule_search_locations if found else []:
        for path in sorted(Path(folder).rglob("libcusparse.so*")):
            return ctypes.CDLL(str(path))
    return ctypes.CDLL("libcusparse.so.12")


class Csr:
    """y = matrix * x; calling it launches. `algorithm` is cusparseSpMVAlg_t: 2 and 3 are the first
    and the second one for CSR."""

    def __init__(self, offsets, columns, values, x, y, algorithm, preprocessed):
        self.alive = (offsets, columns, values, x, y)
        self.library = library()
        pointer = lambda tensor: ctypes.c_void_p(tensor.data_ptr())
        self.handle = self.made("cusparseCreate")
        shape = [ctypes.c_int64(n) for n in (y.numel(), x.numel(), values.numel())]
        kinds = [INDEX_32, INDEX_32, BASE_ZERO, R_32F]
        self.matrix = self.made("cusparseCreateCsr", *shape, pointer(offsets), pointer(columns), pointer(values), *kinds)
        self.x = self.made("cusparseCreateDnVec", ctypes.c_int64(x.numel()), pointer(x), R_32F)
        self.y = self.made("cusparseCreateDnVec", ctypes.c_int64(y.numel()), pointer(y), R_32F)
        self.one, self.zero = ctypes.c_float(1), ctypes.c_float(0)
        self.algorithm = algorithm
        size = ctypes.c_size_t()
        self.call("cusparseSpMV_bufferSize", *self.arguments(), ctypes.byref(size))
        self.buffer = torch.empty(max(size.value, 1), dtype=torch.uint8, device="cuda")
        if preprocessed:
            self.call("cusparseSpMV_preprocess", *self.arguments(), pointer(self.buffer))

    def made(self, function, *arguments):
        made = ctypes.c_void_p()
        self.call(function, ctypes.byref(made), *arguments)
        return made

    def call(self, function, *arguments):
        checked(getattr(self.library, function)(*arguments), function)

    def arguments(self):
        one, zero = ctypes.byref(self.one), ctypes.byref(self.zero)
        return self.handle, NOT_TRANSPOSED, one, self.matrix, self.x, zero, self.y, R_32F, self.algorithm

    def __call__(self):
        self.call("cusparseSetStream", self.handle, stream())
        self.call("cusparseSpMV", *self.arguments(), ctypes.c_void_p(self.buffer.data_ptr()))
