"""CUDA tensors of PyTorch used by loopwright in their place, and arrays of loopwright used by
PyTorch: the same pointers, no copy, and the order of work kept by streams alone.

    python3 torch_exchange.py path/to/libtorch_exchange.so

Before each exchange the producer's stream is kept busy for a while, so that a consumer that does
not wait reads old values.
"""

import ctypes
import json
import sys

import torch

N = 1 << 20
BUSY = 200_000_000  # cycles: about a tenth of a second

library = ctypes.CDLL(sys.argv[1])
library.exchange_stream.restype = ctypes.c_uint64
library.exchange_axpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_uint64]
library.exchange_filled.argtypes = [ctypes.c_uint64, ctypes.c_float, ctypes.c_uint64, ctypes.POINTER(ctypes.c_uint64)]
library.exchange_filled.restype = ctypes.c_void_p

python = ctypes.pythonapi
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_New.restype = ctypes.py_object

# Names of capsules have to stay where they are.
FRESH, USED = ctypes.c_char_p(b"dltensor"), ctypes.c_char_p(b"used_dltensor")


def give(tensor, stream):
    """The structure of a tensor, which the receiver owns from here on, ready in the order of a
    stream."""
    capsule = tensor.__dlpack__(stream=stream)
    pointer = python.PyCapsule_GetPointer(capsule, FRESH)
    python.PyCapsule_SetName(capsule, USED)
    return pointer


def data_of(pointer):
    """The address in a structure: its first field, and the offset behind the tensor's other
    fields."""
    return ctypes.c_uint64.from_address(pointer).value + ctypes.c_uint64.from_address(pointer + 40).value


class Handed:
    """What torch takes an array from: the protocol's two methods around a structure."""

    def __init__(self, pointer):
        self.pointer = pointer

    def __dlpack__(self, stream=None, **_):
        return python.PyCapsule_New(self.pointer, FRESH, None)

    def __dlpack_device__(self):
        return (2, 0)


def axpy(x, y, a, stream, named):
    px, py = give(x, named), give(y, named)
    same = data_of(px) == x.data_ptr() and data_of(py) == y.data_ptr()
    assert library.exchange_axpy(px, py, a, stream) == 0
    return same


report = {}
torch.cuda.init()
ours = library.exchange_stream()
assert ours != 0

# On a stream of torch's own: our kernel comes in its order.
theirs = torch.cuda.Stream()
with torch.cuda.stream(theirs):
    x, y = torch.zeros(N, device="cuda"), torch.zeros(N, device="cuda")
    theirs.synchronize()
    torch.cuda._sleep(BUSY)
    x.fill_(3.0)
    y.fill_(1.0)
    same = axpy(x, y, 2.0, theirs.cuda_stream, theirs.cuda_stream)
    still_busy = not theirs.query()
    y.mul_(10.0)
    report["on torch's stream"] = {"same pointers": same, "host did not wait": still_busy,
                                   "right": bool((y == 70.0).all().item())}
    assert library.exchange_release() == 0

# On our stream: the protocol has it wait for torch's, and torch's waits for it afterwards.
with torch.cuda.stream(theirs):
    # A slice that does not begin where its memory does.
    whole = torch.zeros(N + 8, device="cuda")
    x, y = whole[8:], torch.zeros(N, device="cuda")
    theirs.synchronize()
    torch.cuda._sleep(BUSY)
    whole.fill_(5.0)
    y.fill_(1.0)
    same = axpy(x, y, 1.0, ours, ours)
    still_busy = not theirs.query()
    theirs.wait_stream(torch.cuda.ExternalStream(ours))
    y.mul_(10.0)
    report["on our stream"] = {"same pointers": same, "host did not wait": still_busy,
                               "right": bool((y == 60.0).all().item())}
    assert library.exchange_release() == 0

# An array of ours, filled on our stream behind a kernel that waits for a busy stream of torch's.
with torch.cuda.stream(theirs):
    torch.cuda._sleep(BUSY)
    torch.cuda.ExternalStream(ours).wait_stream(theirs)
    address = ctypes.c_uint64(0)
    other = torch.cuda.Stream()
    with torch.cuda.stream(other):
        pointer = library.exchange_filled(N, 7.0, other.cuda_stream, ctypes.byref(address))
        assert pointer
        got = torch.from_dlpack(Handed(pointer))
        result = got + 1.0
        still_busy = not other.query()
        right = bool((result == 8.0).all().item())
    report["an array of ours"] = {"same pointers": got.data_ptr() == address.value, "host did not wait": still_busy,
                                  "right": right, "shape": list(got.shape)}
    assert library.exchange_release() == 0
    # We have let go of it; torch has not.
    got.fill_(9.0)
    report["an array of ours"]["lives on"] = bool((got == 9.0).all().item())
    del got, result

# What was lent went back: torch reuses the memory.
torch.cuda.synchronize()
del x, y, whole
report["bytes of torch left"] = torch.cuda.memory_allocated()

print(json.dumps(report, indent=2))
good = all(value is not False for part in report.values() if isinstance(part, dict) for value in part.values())
sys.exit(0 if good and report["bytes of torch left"] == 0 else 1)
