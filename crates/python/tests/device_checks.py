"""What a kernel does with arrays on a GPU; `test_device.py` runs this with a stand-in for the
driver.

The stand-in's devices have their memory on the host, so that this file reads and writes it; work of
a stream runs only when somebody waits for the stream, so that a wait that is missing shows every
time. PyTorch, CuPy and JAX are played by modules with the few of their words that the package uses.
"""

import ctypes
import gc
import sys
import types
import unittest

import numpy as np

import loopwright

cuda = ctypes.CDLL("libcuda.so")
cuda.stand_in_violation.restype = ctypes.c_char_p
cuda.stand_in_live_bytes.restype = ctypes.c_long
for name, kinds in {
    "cuMemAlloc_v2": [ctypes.c_void_p, ctypes.c_size_t],
    "cuMemFree_v2": [ctypes.c_uint64],
    "cuMemcpyDtoDAsync_v2": [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint64],
    "cuStreamCreate": [ctypes.c_void_p, ctypes.c_uint],
    "cuStreamSynchronize": [ctypes.c_uint64],
    "cuStreamQuery": [ctypes.c_uint64],
    "cuCtxSetCurrent": [ctypes.c_uint64],
}.items():
    getattr(cuda, name).argtypes = kinds

capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.argtypes, capsule_pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
capsule_rename = ctypes.pythonapi.PyCapsule_SetName
capsule_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]

DEVICE_CONTEXT = 0x1001
BODY = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_uint),
    ctypes.c_uint,
    ctypes.POINTER(ctypes.c_void_p),
)


def register(name, sizes, body):
    """The stand-in's kernel of this name; the body gets the values of its parameters' bytes."""

    def run(_grid, _block, _shared, parameters):
        body(*[ctypes.string_at(parameters[k], size) for k, size in enumerate(sizes)])

    kept = BODY(run)
    register.kept.append(kept)
    cuda.stand_in_kernel(name, len(sizes), (ctypes.c_size_t * len(sizes))(*sizes), kept)


register.kept = []


def floats(address, count):
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


def pointer(raw):
    return int.from_bytes(raw, "little")


def axpy(x, y, a, n):
    n = int.from_bytes(n, "little")
    y = floats(pointer(y), n)
    y += np.frombuffer(a, np.float32)[0] * floats(pointer(x), n)


def twice(x, out, n):
    n = int.from_bytes(n, "little")
    floats(pointer(out), n)[...] = 2 * floats(pointer(x), n)


def einsum(a, b, out, n):
    n = int.from_bytes(n, "little")
    floats(pointer(out), n)[...] = floats(pointer(a), n) * floats(pointer(b), n)


register(b"axpy", [8, 8, 4, 4], axpy)
register(b"einsum", [8, 8, 8, 4], einsum)
register(b"twice", [8, 8, 4], twice)

AXPY = """
    kernel axpy(x: f32[n], y: f32[n], a: f32, n: i32)
    domain { [i] : 0 <= i < n }
    y[i] = a*x[i] + y[i]
"""
TWICE = """
    kernel twice(x: f32[n], out: f32[n], n: i32)
    domain { [i] : 0 <= i < n }
    out[i] = 2.0*x[i]
"""


class Tensor:
    """A tensor of the played PyTorch on the first device."""

    is_cuda, device = True, 0

    def __init__(self, values):
        values = np.asarray(values, np.float32)
        self.count, address = len(values), ctypes.c_uint64()
        cuda.cuCtxSetCurrent(DEVICE_CONTEXT)
        assert cuda.cuMemAlloc_v2(ctypes.byref(address), values.nbytes) == 0
        self.address, self.streams, self.recorded = address.value, [], []
        floats(self.address, self.count)[...] = values

    def __dlpack__(self, *, stream=None):
        """As libraries do before version 1 of the protocol."""
        self.streams.append(stream)
        capsule = floats(self.address, self.count).__dlpack__()
        # The fields behind the address of the elements: kind and number of the device.
        structure = capsule_pointer(capsule, b"dltensor")
        (ctypes.c_int32 * 2).from_address(structure + 8)[:] = (2, 0)
        return capsule

    def __dlpack_device__(self):
        return (2, 0)

    def record_stream(self, stream):
        self.recorded.append(stream.cuda_stream)

    def later(self, values):
        """New values, which the current stream copies when it gets to it."""
        source = Tensor(values)
        source.copied = self
        cuda.cuMemcpyDtoDAsync_v2(self.address, source.address, 4 * self.count, torch.current)
        return source

    def tolist(self):
        return floats(self.address, self.count).tolist()

    def free(self):
        cuda.cuCtxSetCurrent(DEVICE_CONTEXT)
        cuda.cuMemFree_v2(self.address)


class Taken(Tensor):
    """A tensor of another library's memory."""

    def __init__(self, array):
        self.streams, self.recorded = [], []
        assert array.__dlpack_device__() == (2, 0)
        self.capsule = array.__dlpack__(stream=torch.current)
        structure = capsule_pointer(self.capsule, b"dltensor")
        self.address = ctypes.c_uint64.from_address(structure).value
        (self.count,) = array.shape

    def free(self):
        del self.capsule


class CuPyArray(Tensor):
    """An array of the played CuPy."""


class TakenByCuPy(Taken):
    """An array of the played CuPy in another library's memory."""


class JaxArray(Tensor):
    """An array of the played JAX, which never changes."""


class TakenByJax(Taken):
    """An array of the played JAX in another library's memory."""


cupy = types.ModuleType("cupy")
cupy.ndarray, cupy.from_dlpack = CuPyArray, TakenByCuPy
cupy.cuda = types.SimpleNamespace(
    get_current_stream=lambda: types.SimpleNamespace(ptr=torch.current)
)
jax = types.ModuleType("jax")
jax.dlpack = types.SimpleNamespace(from_dlpack=TakenByJax)
for kind in [CuPyArray, TakenByCuPy]:
    kind.__module__ = "cupy"
# Where JAX's arrays are from.
for kind in [JaxArray, TakenByJax]:
    kind.__module__ = "jaxlib._jax"
sys.modules.update(cupy=cupy, jax=jax)

torch = types.ModuleType("torch")
torch.Tensor = Tensor
torch.from_dlpack = Taken
torch.cuda = types.SimpleNamespace(
    current_stream=lambda device: types.SimpleNamespace(cuda_stream=torch.current)
)
for kind in [Tensor, Taken]:
    kind.__module__ = "torch"
sys.modules["torch"] = torch


class Device(unittest.TestCase):
    def setUp(self):
        cuda.stand_in_forgive()
        cuda.cuCtxSetCurrent(DEVICE_CONTEXT)
        handle = ctypes.c_uint64()
        assert cuda.cuStreamCreate(ctypes.byref(handle), 0) == 0
        torch.current = handle.value

    def tearDown(self):
        self.assertIsNone(cuda.stand_in_violation())

    def test_an_array_is_written_where_it_is_in_the_order_of_its_stream(self):
        x, y = Tensor([0, 0, 0]), Tensor([0, 0, 0])
        # Ready only when the stream gets to it.
        sources = [x.later([1, 2, 3]), y.later([10, 10, 10])]
        self.assertEqual(x.tolist(), [0, 0, 0])
        results = loopwright.Kernel(AXPY)(x=x, y=y, a=2)
        self.assertEqual(results.device, "stand-in 0")
        self.assertIs(results["y"], y)
        # PyTorch knows that the stream uses them, so that nothing has to wait.
        self.assertEqual((x.recorded, y.recorded), ([torch.current], [torch.current]))
        self.assertEqual(y.tolist(), [0, 0, 0])
        cuda.cuStreamSynchronize(torch.current)
        self.assertEqual((x.tolist(), y.tolist()), ([1, 2, 3], [12, 14, 16]))
        self.assertEqual((x.streams, y.streams), ([torch.current], [torch.current]))
        for tensor in [x, y, *sources]:
            tensor.free()

    def test_the_default_stream_is_named_as_the_protocol_wants(self):
        torch.current = 0
        x, y = Tensor([1]), Tensor([1])
        loopwright.Kernel(AXPY)(x=x, y=y, a=2)
        cuda.cuStreamSynchronize(0)
        self.assertEqual((y.streams, y.tolist()), ([1], [3]))

    def test_a_new_array_is_the_librarys_and_has_its_memory_until_it_is_freed(self):
        x = Tensor([1, 2, 3])
        kernel = loopwright.Kernel(TWICE)
        kernel(x=x)["out"].free()
        gc.collect()
        before = cuda.stand_in_live_bytes(0)
        out = kernel(x=x)["out"]
        self.assertIsInstance(out, Taken)
        cuda.cuStreamSynchronize(torch.current)
        self.assertEqual(out.tolist(), [2, 4, 6])
        self.assertGreater(cuda.stand_in_live_bytes(0), before)
        out.free()
        gc.collect()
        self.assertEqual(cuda.stand_in_live_bytes(0), before)

    def test_einsum_takes_arrays_where_they_are(self):
        a, b = Tensor([1, 2, 3]), Tensor([0, 0, 0])
        source = b.later([5, 6, 7])
        out = loopwright.einsum("i,i->i", a, b)
        self.assertIsInstance(out, Taken)
        cuda.cuStreamSynchronize(torch.current)
        self.assertEqual(out.tolist(), [5, 12, 21])
        # Once for its type, which these tensors do not tell otherwise.
        self.assertEqual(a.streams, [None, torch.current])
        for tensor in [a, b, source, out]:
            tensor.free()

    def test_results_are_checked_against_the_values_before_the_launch(self):
        x, y = Tensor([1, 2, 3]), Tensor([1, 1, 1])
        loopwright.Kernel(AXPY).check(x=x, y=y, a=3)
        self.assertEqual(y.tolist(), [4, 7, 10])
        register(b"axpy", [8, 8, 4, 4], lambda *_: None)
        with self.assertRaises(loopwright.Error) as caught:
            loopwright.Kernel(AXPY).check(x=x, y=y, a=3)
        self.assertEqual(caught.exception.code, "wrong-result")
        register(b"axpy", [8, 8, 4, 4], axpy)

    def test_a_call_waits_before_it_gives_back_what_nobody_was_told_about(self):
        class Other:
            """An array of a library that is not known."""

            def __init__(self, values):
                tensor = Tensor(values)
                self.recorded, self.tolist = tensor.recorded, tensor.tolist
                self.__class__.__dlpack__ = lambda _, **options: tensor.__dlpack__(**options)

            def __dlpack_device__(self):
                return (2, 0)

        x, y = Tensor([1, 2, 3]), Tensor([0, 0, 0])
        loopwright.Kernel(AXPY).on(stream=torch.current)(x=x, y=y, a=1)
        self.assertEqual(y.tolist(), [1, 2, 3])
        other = Other([1, 1, 1])
        loopwright.Kernel(AXPY)(x=x, y=other, a=1)
        self.assertEqual(other.tolist(), [2, 3, 4])
        self.assertEqual((x.recorded, other.recorded), ([], []))

    def test_a_bound_kernel_launches_without_waiting(self):
        x, y = Tensor([1, 2, 3]), Tensor([10, 10, 10])
        step = loopwright.Kernel(AXPY).bind(x=x, y=y, a=2)
        step()
        step()
        self.assertIs(step.results()["y"], y)
        # The stream has not been waited for.
        self.assertEqual(y.tolist(), [10, 10, 10])
        step.wait()
        self.assertEqual(y.tolist(), [14, 18, 22])
        # The arrays were asked for once, and are as they were.
        self.assertEqual((x.streams, y.streams), ([torch.current], [torch.current]))
        self.assertEqual(len(step.time(3)), 3)
        self.assertEqual(y.tolist(), [22, 34, 46])

    def test_launches_of_a_bound_kernel_come_in_the_order_of_its_stream(self):
        x, y = Tensor([1, 1, 1]), Tensor([0, 0, 0])
        step = loopwright.Kernel(AXPY).bind(x=x, y=y, a=1)
        step()
        source = x.later([5, 5, 5])
        step()
        step.wait()
        self.assertEqual(y.tolist(), [6, 6, 6])
        source.free()

    def test_new_arrays_of_a_bound_kernel_are_the_same_memory_each_time(self):
        x = Tensor([1, 2, 3])
        step = loopwright.Kernel(TWICE).bind(x=x)
        first, second = step.results()["out"], step.results()["out"]
        self.assertIsInstance(first, Taken)
        self.assertEqual(first.address, second.address)
        step()
        # It outlives what wrote it.
        del step
        cuda.cuStreamSynchronize(torch.current)
        self.assertEqual(second.tolist(), [2, 4, 6])

    def test_a_bound_kernel_copies_arrays_of_the_host_once(self):
        x, y = np.arange(3, dtype=np.float32), np.ones(3, np.float32)
        step = loopwright.Kernel(AXPY).bind(x=Tensor([1, 2, 3]), y=y, a=1)
        step()
        self.assertEqual(y.tolist(), [1, 1, 1])
        self.assertIs(step.results()["y"], y)
        self.assertEqual(y.tolist(), [2, 3, 4])
        step = loopwright.Kernel(TWICE).on("gpu").bind(x=x)
        x[:] = 7
        step()
        self.assertEqual(step.results()["out"].tolist(), [0, 2, 4])

    def test_an_array_of_cupy_is_written_where_it_is_on_its_stream(self):
        x, y = CuPyArray([0, 0, 0]), CuPyArray([1, 1, 1])
        source = x.later([1, 2, 3])
        results = loopwright.Kernel(AXPY)(x=x, y=y, a=2)
        self.assertIs(results["y"], y)
        # CuPy is not told that the stream uses them, so that the call waits.
        self.assertEqual(y.tolist(), [3, 5, 7])
        self.assertEqual((x.streams, y.streams), ([torch.current], [torch.current]))
        out = loopwright.Kernel(TWICE)(x=x)["out"]
        self.assertIsInstance(out, TakenByCuPy)
        self.assertEqual(out.tolist(), [2, 4, 6])
        for array in [x, y, source, out]:
            array.free()

    def test_a_stream_of_cupy_can_be_named(self):
        x, y = CuPyArray([1]), CuPyArray([1])
        torch.current, named = 0, torch.current
        stream = types.SimpleNamespace(ptr=named)
        loopwright.Kernel(AXPY).on(stream=stream)(x=x, y=y, a=2)
        self.assertEqual((y.streams, y.tolist()), ([named], [3]))

    def test_arrays_of_jax_are_read_where_they_are_and_never_written(self):
        x, y = JaxArray([1, 2, 3]), JaxArray([1, 1, 1])
        kernel = loopwright.Kernel(TWICE)
        kernel(x=x)["out"].free()
        gc.collect()
        before = cuda.stand_in_live_bytes(0)
        out = kernel(x=x)["out"]
        self.assertIsInstance(out, TakenByJax)
        # JAX has no stream to go by: the call waits.
        self.assertEqual(out.tolist(), [2, 4, 6])
        # The result alone is new: a copy of what is read would be as large.
        result = cuda.stand_in_live_bytes(0) - before
        self.assertGreater(result, 0)
        twice = kernel(x=x)["out"]
        self.assertEqual(cuda.stand_in_live_bytes(0) - before, 2 * result)
        with self.assertRaises(loopwright.Error) as caught:
            loopwright.Kernel(AXPY)(x=x, y=y, a=2)
        self.assertEqual(caught.exception.code, "read-only")
        self.assertEqual(y.tolist(), [1, 1, 1])
        for array in [x, y, out, twice]:
            array.free()

    def test_arrays_of_the_host_are_copied(self):
        x = np.arange(3, dtype=np.float32)
        results = loopwright.Kernel(TWICE).on("gpu")(x=x)
        self.assertEqual((results["out"].tolist(), results.device), ([0, 2, 4], "stand-in 0"))
        y = np.ones(3, np.float32)
        results = loopwright.Kernel(AXPY)(x=Tensor([1, 2, 3]), y=y, a=1)
        self.assertEqual(y.tolist(), [2, 3, 4])

    def test_the_same_memory_twice_is_refused(self):
        x = Tensor([1, 2, 3])
        with self.assertRaises(loopwright.Error) as caught:
            loopwright.Kernel(AXPY)(x=x, y=x, a=1)
        self.assertEqual(caught.exception.code, "aliased-arguments")

    def test_an_array_of_a_device_is_not_for_the_emulator(self):
        with self.assertRaises(loopwright.Error) as caught:
            loopwright.Kernel(TWICE).on("emulator")(x=Tensor([1]))
        self.assertEqual(caught.exception.code, "other-device")


if __name__ == "__main__":
    try:
        loopwright.Kernel(TWICE).on("gpu")(x=np.ones(1, np.float32))
    except loopwright.Error as error:
        if "nvrtc" not in error.code:
            raise
        print(f"there is no NVRTC: {error}")
        sys.exit(77)
    unittest.main()
