"""Arrays of other libraries, which are stood in for by the protocols that they have."""

import ctypes
import gc
import sys
import types
import unittest
import unittest.mock
import weakref

import numpy as np

import loopwright

COPY = """
    kernel copy(x: T[n], out: T[n], n: i32)
    domain { [i] : 0 <= i < n }
    out[i] = x[i]
"""


class Exporter:
    """An array that has DLPack only, as PyTorch's tensors on the host."""

    def __init__(self, array, options=("stream", "max_version", "dl_device", "copy")):
        self.array, self.options, self.asked = array, options, []

    def __dlpack__(self, **options):
        self.asked.append(options)
        if not set(options) <= set(self.options):
            raise TypeError("an unknown option")
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Incoming(unittest.TestCase):
    def setUp(self):
        self.kernel = loopwright.Kernel(COPY).on("emulator")

    def test_dlpack_with_and_without_versions(self):
        x = np.arange(6, dtype=np.int16)[::-2]
        for options in [("max_version",), ()]:
            given = Exporter(x, options)
            self.assertEqual(self.kernel(x=given)["out"].tolist(), [5, 3, 1])
            self.assertIn({"max_version": (1, 1)}, given.asked)

    def test_what_was_passed_is_given_back(self):
        x = np.arange(6, dtype=np.int16)
        gone = weakref.ref(x)
        given = Exporter(x)
        self.kernel(x=given)
        del given, x
        gc.collect()
        self.assertIsNone(gone())

    def test_an_exception_of_the_library_comes_through(self):
        class Broken(Exporter):
            def __dlpack__(self, **options):
                raise BufferError("requires grad")

        with self.assertRaisesRegex(BufferError, "requires grad"):
            self.kernel(x=Broken(np.ones(1)))

    def test_a_capsule_that_was_used_is_refused(self):
        class Used(Exporter):
            def __dlpack__(self, **options):
                capsule = self.array.__dlpack__()
                name = ctypes.pythonapi.PyCapsule_SetName
                name.argtypes = [ctypes.py_object, ctypes.c_char_p]
                name(capsule, b"used_dltensor")
                return capsule

        with self.assertRaises(BufferError):
            self.kernel(x=Used(np.ones(1)))

    def test_bf16_of_a_type_that_numpy_does_not_have(self):
        class BFloat16(np.ndarray):
            """What `ml_dtypes` does: two bytes of no kind, and a name."""

            @property
            def dtype(self):
                class Type:
                    name = "bfloat16"

                return Type()

        bits = np.array([0x3FC0, 0xC000], np.uint16)  # 1.5 and -2
        x = bits.view("V2").view(BFloat16)
        self.assertEqual(x.__array_interface__["typestr"][1:], "V2")
        kernel = loopwright.Kernel(COPY.replace("out: T", "out: f32").replace("x[i]\n", "cast(f32, x[i])\n"))
        self.assertEqual(kernel.on("emulator")(x=x)["out"].tolist(), [1.5, -2.0])


class Written(unittest.TestCase):
    """Arrays into which results are copied."""

    def setUp(self):
        self.kernel = loopwright.Kernel(COPY).on("emulator")

    def refused(self, code, **arguments):
        with self.assertRaises(loopwright.Error) as caught:
            self.kernel(**arguments)
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        return str(caught.exception)

    def test_elements_that_share_memory(self):
        x = np.arange(4.0)
        strided = np.lib.stride_tricks.as_strided
        for strides in [(0,), (4,)]:
            out = strided(np.zeros(4), (4,), strides)
            code = "overlapping-elements" if strides == (0,) else "tensor-strides"
            self.refused(code, x=x, out=out)
        rows = loopwright.Kernel("""
            kernel rows(x: f64[m, n], out: f64[m, n], m: i32, n: i32)
            domain { [i, j] : 0 <= i < m and 0 <= j < n }
            out[i, j] = x[i, j]
        """).on("emulator")
        for strides, fine in [((8, 8), False), ((16, 24), True), ((-16, 24), True), ((24, 8), True)]:
            out = strided(np.zeros(20)[4:], (3, 2), strides)
            if fine:
                rows(x=np.arange(6.0).reshape(3, 2), out=out)
                self.assertEqual(out.tolist(), [[0, 1], [2, 3], [4, 5]])
            else:
                with self.assertRaises(loopwright.Error) as caught:
                    rows(x=np.zeros((3, 2)), out=out)
                self.assertEqual(caught.exception.code, "overlapping-elements")
        # What is only read may share memory, with itself, too.
        self.assertEqual(self.kernel(x=strided(x[1:], (3,), (0,)))["out"].tolist(), [1, 1, 1])

    def test_parts_of_one_array(self):
        whole = np.arange(24.0).reshape(4, 6)
        self.kernel(x=whole[:, 1], out=whole[:, 4])
        self.assertEqual(whole[:, 4].tolist(), [1, 7, 13, 19])
        # Rows of different length, between each other.
        flat = np.arange(12.0)
        self.kernel(x=flat[::3], out=flat[1::3])
        self.assertEqual(flat[1::3].tolist(), [0, 3, 6, 9])
        self.kernel(x=flat[3:12:4], out=flat[4:7])
        self.assertEqual(flat[4:7].tolist(), [3, 6, 11])
        for x, out in [(flat[:4], flat[3:7]), (flat[::3], flat[:4]), (flat[::-1], flat)]:
            self.refused("aliased-arguments", x=x, out=out)

    def test_memory_that_was_not_set(self):
        out = np.full(3, 7, np.uint8).view(np.bool_)
        self.kernel(x=np.array([True, False, True]), out=out)
        self.assertEqual(out.view(np.uint8).tolist(), [1, 0, 1])
        self.assertIn("argument `x`", self.refused("tensor-bool", x=np.full(3, 7, np.uint8).view(np.bool_)))

    def test_arrays_without_assignment_of_elements(self):
        class Interface:
            def __init__(self, array, read_only=False):
                self.array = array
                self.__array_interface__ = dict(array.__array_interface__)
                self.__array_interface__["data"] = (array.ctypes.data, read_only)

        x, y = np.arange(3.0), np.zeros(3)
        out = Interface(y)
        self.assertIs(self.kernel(x=x, out=out)["out"], out)
        self.assertEqual(y.tolist(), [0, 1, 2])
        self.refused("read-only", x=x, out=Interface(np.zeros(3), True))
        y[:] = 0
        self.refused("read-only", x=x, out=Exporter(np.broadcast_to(0.0, 3)))

        class Versioned(Exporter):
            def __dlpack__(self, **options):
                return self.array.__dlpack__(max_version=options.get("max_version"))

        if np.from_dlpack(Versioned(y)).flags.writeable:
            self.kernel(x=x, out=Versioned(y))
            self.assertEqual(y.tolist(), [0, 1, 2])

    def test_floating_point_types_of_eight_bits(self):
        class Float8(np.ndarray):
            """What `ml_dtypes` does: a byte of no kind, and a name."""

            @property
            def dtype(self):
                return types.SimpleNamespace(name="float8_e4m3fn", kind="V")

        bits = np.array([0x38, 0xC0, 0x7E], np.uint8)  # 1, -2 and 448 as e4m3
        x = bits.view("V1").view(Float8)
        added = types.SimpleNamespace(float8_e4m3fn=np.dtype("V1"))
        with unittest.mock.patch.dict(sys.modules, ml_dtypes=added):
            result = self.kernel(x=x)["out"]
            self.assertEqual((result.dtype, result.view(np.uint8).tolist()), (np.dtype("V1"), bits.tolist()))
            out = np.zeros(3, "V1")
            self.kernel(x=x, out=out.view(Float8))
            self.assertEqual(out.view(np.uint8).tolist(), bits.tolist())
        with unittest.mock.patch.dict(sys.modules, ml_dtypes=None):
            self.assertEqual(self.kernel(x=x)["out"].tolist(), bits.tolist())
        try:
            import ml_dtypes
        except ImportError:
            return
        x = bits.view(ml_dtypes.float8_e4m3fn)
        out = np.zeros_like(x)
        self.assertEqual(self.kernel(x=x)["out"].tolist(), [1, -2, 448])
        self.kernel(x=x, out=out)
        self.assertEqual(out.tolist(), [1, -2, 448])

    def test_masked_arrays(self):
        text = self.refused("argument-kind", x=np.ma.masked_array(np.arange(3.0), [0, 1, 0]))
        self.assertIn("filled", text)

    def test_refusals_name_the_argument(self):
        for array in [np.ones(3, ">f4"), np.array([None] * 3), np.zeros(3, [("a", "u1"), ("b", "<f4")])["b"]]:
            with self.assertRaises(loopwright.Error) as caught:
                self.kernel(x=array)
            self.assertIn("argument `x`", str(caught.exception))


class Outgoing(unittest.TestCase):
    def result(self, x):
        native = loopwright.Kernel(COPY).on("emulator")._native
        written, *_ = native.run({"x": x}, "emulator", None, False, False, False, None)
        return dict(written)["out"]

    def test_results_are_taken_without_a_copy(self):
        array = self.result(np.arange(4.0))
        self.assertEqual((array.dtype, array.shape), ("f64", (4,)))
        self.assertEqual(array.__dlpack_device__(), (1, 0))
        views = [np.asarray(array), np.from_dlpack(array)]
        address = array.__array_interface__["data"][0]
        for view in views:
            self.assertEqual(view.__array_interface__["data"][0], address)
            self.assertEqual(view.tolist(), [0, 1, 2, 3])
        # The views keep the memory.
        del array
        gc.collect()
        views[0][0] = 7
        self.assertEqual(views[1].tolist(), [7, 1, 2, 3])

    def test_capsules_that_nobody_takes(self):
        array = self.result(np.arange(4.0))
        for version in [None, (0, 8), (1, 0), (1, 1)]:
            capsule = array.__dlpack__(max_version=version)
            versioned = version is not None and version[0] >= 1
            self.assertIn("dltensor_versioned" if versioned else '"dltensor"', repr(capsule))
            del capsule
        gc.collect()
        self.assertEqual(np.asarray(array).tolist(), [0, 1, 2, 3])

    def test_what_cannot_be_done_is_refused(self):
        array = self.result(np.arange(4.0))
        for options in [{"copy": True}, {"dl_device": (2, 0)}]:
            with self.assertRaises(BufferError):
                array.__dlpack__(**options)
        array.__dlpack__(copy=False, dl_device=(1, 0), stream=None)

    def test_empty_arrays(self):
        self.assertEqual(np.asarray(self.result(np.zeros(0))).shape, (0,))


if __name__ == "__main__":
    unittest.main()
