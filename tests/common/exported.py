"""Launches exported host code on a GPU, by the loader in Python and by the library in C.

    python3 exported.py RUNS.json

RUNS.json names the kernel and lists runs: `arrays`, each a file with its bytes, and `scalars`, each
a type of ctypes with its value. A run leaves its arrays in files with `.python` and `.c` at the end
of their names.
"""

import ctypes
import importlib
import json
import sys

described = json.load(open(sys.argv[1]))
name, runs = described["name"], described["runs"]
sys.path.insert(0, ".")
loader = importlib.import_module(name)
module = loader.Module()
driver = ctypes.CDLL("libcuda.so.1")
library = ctypes.CDLL("./libhost.so")
host = (ctypes.c_void_p * 64)()


def checked(function, *arguments):
    error = function(*arguments)
    if error:
        message = getattr(library, f"{name}_message")
        message.restype = ctypes.c_char_p
        sys.exit(message(error).decode())


def memory(size):
    at = ctypes.c_uint64()
    checked(driver.cuMemAlloc_v2, ctypes.byref(at), ctypes.c_size_t(max(size, 1)))
    return at.value


def loaded(run):
    arrays = []
    for file in run["arrays"]:
        content = open(file, "rb").read()
        at = memory(len(content))
        if content:
            checked(driver.cuMemcpyHtoD_v2, ctypes.c_uint64(at), content, ctypes.c_size_t(len(content)))
        arrays.append((file, at, len(content)))
    return arrays


def stored(arrays, ending):
    checked(driver.cuCtxSynchronize)
    for file, at, size in arrays:
        content = ctypes.create_string_buffer(max(size, 1))
        if size:
            checked(driver.cuMemcpyDtoH_v2, content, ctypes.c_uint64(at), ctypes.c_size_t(size))
        open(file + ending, "wb").write(content.raw[:size])
        checked(driver.cuMemFree_v2, ctypes.c_uint64(at))


checked(getattr(library, f"{name}_load"), host)
for run in runs:
    scalars = [getattr(ctypes, kind)(value) for kind, value in run["scalars"]]
    values = [scalar.value for scalar in scalars]
    workspace = []
    if hasattr(loader, "workspace_bytes"):
        sizes = [value for value in values if isinstance(value, int)]
        workspace = [memory(loader.workspace_bytes(*sizes))]

    arrays = loaded(run)
    module.launch(*[at for _, at, _ in arrays], *values, *workspace)
    stored(arrays, ".python")

    arrays = loaded(run)
    addresses = [ctypes.c_uint64(at) for at in workspace + [at for _, at, _ in arrays]]
    checked(getattr(library, f"{name}_launch"), host, None, *addresses, *scalars)
    stored(arrays, ".c")
module.unload()
