"""Arrays of other libraries, which are stood in for by the protocols that they have."""

import ctypes
import gc
import unittest
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
