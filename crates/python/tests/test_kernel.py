"""The package as its users see it: kernels from text, steps, runs on NumPy arrays, errors."""

import concurrent.futures
import copy
import importlib.metadata
import inspect
import pathlib
import pickle
import tempfile
import unittest
import warnings

import numpy as np

import loopwright
from loopwright import generate

TWICE = """
    kernel twice(x: f32[n], out: f32[n], n: i32)
    domain { [i] : 0 <= i < n }
    out[i] = 2.0*x[i]
"""
BLOCKS = "split_iname(i, $threads); tag_inames(i_outer: block.x, i_inner: thread.x)"

AXPY = """
    kernel axpy(x: f64[n], y: f64[n], a: f64, n: i32)
    domain { [i] : 0 <= i < n }
    y[i] = a*x[i] + y[i]
"""

SEGMENTS = """
    kernel segmented_sum(x: T[nseg, len], out: T[nseg], nseg: i32, len: i32)
    domain { [s] : 0 <= s < nseg }
    domain { [i] : 0 <= i < len }
    out[s] = sum(i, x[s, i])
"""


def emulated(text):
    return loopwright.Kernel(text).on("emulator")


class Runs(unittest.TestCase):
    def test_the_eight_lines(self):
        k = loopwright.Kernel(TWICE).apply(BLOCKS, threads=128)
        x = np.arange(1000, dtype=np.float32)
        out = k(x=x)["out"]
        np.testing.assert_array_equal(out, 2 * x)
        np.testing.assert_array_equal(k.check(x=x)["out"], 2 * x)
        self.assertIn("__global__", k.cuda)
        self.assertEqual((out.dtype, out.shape), (np.float32, (1000,)))

    def test_results_say_where_they_come_from(self):
        results = emulated(TWICE)(x=np.ones(3, np.float32))
        self.assertTrue(results.device.startswith("emulator"), results.device)
        self.assertGreaterEqual(results.milliseconds, 0.0)
        self.assertEqual(list(results), ["out"])
        self.assertEqual((results.counts["launches"], results.counts["blocks"]), (1, 1))

    def test_a_bound_kernel_is_launched_as_often_as_wanted(self):
        x, y = np.arange(4.0), np.ones(4)
        step = emulated(AXPY).bind(x=x, y=y, a=10)
        for _ in range(3):
            self.assertIsNone(step())
        step.wait()
        np.testing.assert_array_equal(y, np.ones(4))
        results = step.results()
        self.assertIs(results["y"], y)
        np.testing.assert_array_equal(y, 1 + 30 * np.arange(4.0))
        self.assertEqual(results.counts["launches"], 1)
        self.assertTrue(results.device.startswith("emulator"), results.device)

    def test_what_is_bound_was_checked(self):
        for arguments, code in [
            ({"x": np.zeros(3), "y": np.zeros(4), "a": 1}, "argument-shape"),
            ({"x": np.zeros(3), "y": np.zeros(3)}, "missing-argument"),
            ({"x": np.zeros(3), "y": np.zeros(3), "a": 1, "b": 2}, "unknown-argument"),
        ]:
            with self.assertRaises(loopwright.Error) as caught:
                emulated(AXPY).bind(**arguments)
            self.assertEqual(caught.exception.code, code)

    def test_a_check_says_where_an_f64_was_computed_in_f32(self):
        text = """
            kernel k(x: f32[n], y: f64[n], n: i32)
            domain { [i] : 0 <= i < n }
            y[i] = %s
        """
        x = np.ones(3, np.float32)
        with self.assertWarnsRegex(UserWarning, "single-in-double.*computes a value in f32") as caught:
            emulated(text % "x[i]*x[i]").check(x=x)
        self.assertEqual(caught.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            emulated(text % "cast(f64, x[i])*x[i]").check(x=x)
            # A call compares nothing.
            emulated(text % "x[i]*x[i]")(x=x)

    def test_views_of_any_strides(self):
        whole = np.arange(24, dtype=np.float32).reshape(4, 6)
        k = emulated(SEGMENTS)
        for view in [whole, whole.T, whole[::2, ::-1], whole[:0], whole[:, 1:2]]:
            out = k.check(x=view)["out"]
            np.testing.assert_array_equal(out, view.sum(axis=1, dtype=np.float32))

    def test_open_types_are_those_of_the_arrays(self):
        k = emulated(SEGMENTS)
        for dtype in [np.float16, np.float32, np.float64, np.int32, np.int64, np.uint32]:
            x = np.arange(6).reshape(2, 3).astype(dtype)
            out = k(x=x)["out"]
            self.assertEqual(out.dtype, dtype)
            self.assertEqual(out.tolist(), [3, 12])

    def test_truth_values(self):
        k = emulated("""
            kernel flip(x: bool[n], out: bool[n], n: i32)
            domain { [i] : 0 <= i < n }
            out[i] = not x[i]
        """)
        out = k(x=np.array([True, False, True]))["out"]
        self.assertEqual((out.dtype, out.tolist()), (np.bool_, [False, True, False]))

    def test_an_array_that_is_passed_and_written_has_the_results(self):
        x, whole = np.arange(4.0), np.ones((4, 2))
        y = whole[:, 1]
        results = emulated(AXPY).check(x=x, y=y, a=10)
        self.assertIs(results["y"], y)
        self.assertEqual(whole.tolist(), [[1, 1], [1, 11], [1, 21], [1, 31]])
        self.assertEqual(x.tolist(), [0, 1, 2, 3])

    def test_results_can_be_written_and_outlive_all_else(self):
        out = emulated(TWICE)(x=np.ones(5, np.float32))["out"]
        out += 1
        self.assertEqual(out.tolist(), [3.0] * 5)

    def test_numbers(self):
        k = emulated(AXPY)
        for a in [2, 2.0, np.float64(2), np.float32(2), np.int8(2), np.array(2.0)]:
            y = k(x=np.ones(1), y=np.ones(1), a=a)["y"]
            self.assertEqual(y.tolist(), [3.0], repr(a))

    def test_threads_share_a_kernel(self):
        k = emulated(TWICE)
        arrays = [np.full(2000, v, np.float32) for v in range(16)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda x: k(x=x)["out"], arrays))
        for x, out in zip(arrays, results):
            np.testing.assert_array_equal(out, 2 * x)

    def test_sizes_may_be_given_and_have_to_agree(self):
        k, x = emulated(TWICE), np.ones(3, np.float32)
        self.assertEqual(k(x=x, n=3)["out"].shape, (3,))
        with self.assertRaises(loopwright.Error) as caught:
            k(x=x, n=4)
        self.assertEqual(caught.exception.code, "argument-shape")


class Refusals(unittest.TestCase):
    def refused(self, code, work):
        with self.assertRaises(loopwright.Error) as caught:
            work()
        self.assertEqual(caught.exception.code, code, str(caught.exception))
        return caught.exception

    def test_an_error_of_the_text_has_its_place(self):
        error = self.refused("syntax", lambda: loopwright.Kernel("kernel a(", origin="a.lw"))
        self.assertEqual(error.place[0], "a.lw")
        self.assertIn("a.lw:1", str(error))

    def test_all_errors_of_a_text_are_shown(self):
        text = TWICE.replace("2.0*x[i]", "z[i] + w[i]")
        error = self.refused("unknown-name", lambda: loopwright.Kernel(text))
        self.assertEqual(len(error.errors), 2)
        for alone in error.errors:
            self.assertIsInstance(alone, loopwright.Error)
            self.assertIn(str(alone), str(error))

    def test_an_illegal_step_shows_two_executions(self):
        k = loopwright.Kernel("""
            kernel shift(x: f32[32])
            domain { [i] : 1 <= i < 32 }
            x[i] = x[i - 1]
        """)
        error = self.refused("race", lambda: k.apply("tag_inames(i: thread.x)"))
        self.assertIn("i=1", error.witness)
        self.assertIn("i=2", error.witness)
        self.assertIn("tag_inames", str(error))

    def test_arguments(self):
        k = emulated(TWICE)
        x = np.ones(3, np.float32)
        for code, arguments in {
            "missing-argument": {},
            "unknown-argument": {"x": x, "z": 1},
            "argument-type": {"x": np.ones(3)},
            "argument-rank": {"x": np.ones((3, 1), np.float32)},
            "argument-kind": {"x": "text"},
            "scalar-type": {"x": x, "n": 3.5},
            "scalar-range": {"x": x, "n": 1 << 40},
            "read-only": {"x": x, "out": np.broadcast_to(np.float32(0), 3)},
            "aliased-arguments": {"x": x, "out": x},
        }.items():
            with self.subTest(code):
                self.refused(code, lambda: k(**arguments))
        for array in [np.ones(3, ">f4"), np.ones(3, ">c8"), np.array(["a"])]:
            self.refused("argument-type", lambda: k(x=array))
        packed = np.zeros(3, np.dtype([("a", "u1"), ("b", "<f4")]))
        self.refused("tensor-strides", lambda: k(x=packed["b"]))

    def test_complex_numbers(self):
        k = emulated("""
            kernel axpy(x: complex64[n], y: complex64[n], out: complex64[n], a: complex64, n: i32)
            domain { [i] : 0 <= i < n }
            y[i] = a*x[i] + y[i]
            out[i] = conj(y[i])
        """)
        x = np.array([1 + 2j, -3j, 0.5], np.complex64)
        ones = np.ones(6, np.complex64)
        expected = (2 - 1j) * x + 1
        for a in [2 - 1j, np.complex64(2 - 1j), np.array(2 - 1j, np.complex64)]:
            y = ones.copy()[::2]
            results = k(x=x, y=y, a=a)
            self.assertIs(results["y"], y)
            self.assertEqual(y.tolist(), expected.tolist())
            # A new array has the kernel's own form: pairs.
            pairs = results["out"]
            self.assertEqual((pairs.shape, pairs.dtype), ((3, 2), np.float32))
            self.assertEqual(np.ascontiguousarray(pairs).view(np.complex64)[:, 0].tolist(),
                             expected.conj().tolist())
        # As pairs, and by a real number, and in columns.
        y = np.ones((3, 2), np.float32)
        k(x=x, y=y, a=2)
        self.assertEqual((y[:, 0] + 1j * y[:, 1]).tolist(), (2 * x + (1 + 1j)).tolist())
        k.check(x=x, y=ones[:3].copy(), a_re=1.0, a_im=0.5)
        rows = emulated("""
            kernel t(z: complex128[m, n], m: i32, n: i32)
            domain { [i, j] : 0 <= i < m and 0 <= j < n }
            z[i, j] = 1j*z[i, j]
        """)
        z = np.asfortranarray(np.arange(6).reshape(2, 3) + 1j)
        given = z.copy()
        rows(z=z)
        self.assertEqual(z.tolist(), (1j * given).tolist())
        self.refused("argument-rank", lambda: emulated(TWICE)(x=np.ones(3, np.complex64)))

    def test_numbers(self):
        k = emulated(AXPY.replace("f64", "f32"))

        class Odd(int):
            def __str__(self):
                return "7"

        ones = np.ones(1, np.float32)
        self.assertEqual(k(x=ones, y=ones.copy(), a=Odd(2))["y"].tolist(), [3.0])
        for a in [10**5000, 1 << 64, 1e39, -1e39]:
            self.refused("scalar-range", lambda: k(x=ones, y=ones.copy(), a=a))
        self.assertEqual(k(x=ones, y=ones.copy(), a=float("inf"))["y"].tolist(), [float("inf")])

    def test_complex_numbers_of_another_size(self):
        k = emulated(TWICE.replace("f32", "complex64"))
        error = self.refused("argument-type", lambda: k(x=np.ones(3, np.complex128)))
        self.assertIn("complex64, but complex128", str(error))

    def test_tolerances(self):
        k, x = emulated(TWICE), np.ones(3, np.float32)
        k.check(1e-5, x=x)
        k.check(tolerance=np.float32(1e-5), x=x)
        k.check(0, x=x)
        for wrong in [-1.0, float("nan"), True, "1"]:
            self.refused("option", lambda: k.check(wrong, x=x))
            self.refused("option", lambda: k.check(tolerance=wrong, x=x))
        # An argument of the kernel keeps its name.
        k = emulated(TWICE.replace("n: i32", "n: i32, tolerance: f32").replace("2.0", "tolerance"))
        self.assertEqual(k.check(x=x, tolerance=-3.0)["out"].tolist(), [-3.0] * 3)

    def test_options_of_a_search(self):
        k, x = emulated(TWICE), np.ones(300, np.float32)

        def search(threads, **options):
            return loopwright.tune(k, BLOCKS, {"threads": threads}, {"x": x}, **options)

        for threads in ["64", [64.5], [None]]:
            self.refused("option", lambda: search(threads))
        wrong = [{"points": -1}, {"points": 1.5}, {"launches": 0}, {"seed": "a"}, {"tolerance": -1}]
        for options in wrong:
            self.refused("option", lambda: search([32], strategy="random", **options))
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log.jsonl"
            found = search(np.array([32, 64]), log=log)
            self.assertIn(found.best["threads"], (32, 64))
            self.assertTrue(log.exists())

    def test_texts_are_texts(self):
        with self.assertRaisesRegex(TypeError, "a str, not bytes"):
            loopwright.Kernel(TWICE.encode())

    def test_remedies_are_written_in_python(self):
        error = self.refused("open-type", lambda: loopwright.Kernel(SEGMENTS).cuda)
        self.assertIn('with_types(T="f32")', error.help)
        types = ["bool", "f32"]
        error = self.refused("generate-types", lambda: generate.einsum("i,i->i", types=types))
        self.assertIn('`acc="f32"`', error.help)
        gather = emulated("""
            kernel gather(x: f32[n], idx: i32[m], out: f32[m], n: i32, m: i32)
            domain { [i] : 0 <= i < m }
            out[i] = x[idx[i]]
        """)
        x, idx = np.ones(3, np.float32), np.array([5], np.int32)
        error = self.refused("out-of-bounds", lambda: gather(x=x, idx=idx))
        self.assertNotIn("check_facts", error.help)

    def test_a_refused_run_changes_no_array(self):
        y = np.ones(3)
        self.refused("argument-shape", lambda: emulated(AXPY)(x=np.ones(4), y=y, a=1.0))
        self.assertEqual(y.tolist(), [1, 1, 1])

    def test_devices(self):
        self.refused("device", lambda: loopwright.Kernel(TWICE).on("tpu")(x=np.ones(1, np.float32)))

    def test_parameters(self):
        k = loopwright.Kernel(TWICE)
        self.refused("unknown-parameter", lambda: k.apply(BLOCKS, block=2))
        error = self.refused("open-parameter", lambda: k.apply(BLOCKS))
        self.assertIn("help: give it a value: `kernel.apply(pipeline, threads=128)`", str(error))


class Combined(unittest.TestCase):
    TOTAL = """
        kernel total(row: f32[k], out result: f32, k: i32) {
            domain { [j] : 0 <= j < k }
            result = sum(j, row[j])
        }
    """
    ROWS = """
        kernel rows(x: f32[m, n], y: f32[m], m: i32, n: i32)
        domain { [i] : 0 <= i < m }
        y[i] = total(x[i, :])
    """

    def test_kernels_of_a_library_are_called(self):
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        for library in (self.TOTAL, [self.TOTAL], {"sums.lw": self.TOTAL}):
            k = loopwright.Kernel(self.ROWS, library=library).on("emulator")
            np.testing.assert_array_equal(k.check(x=x)["y"], x.sum(axis=1))

        @loopwright.kernel(library=self.TOTAL)
        def rows(x: "f32[m, n]", y: "f32[m]", m: "i32", n: "i32"):
            """
            domain { [i] : 0 <= i < m }
            y[i] = total(x[i, :])
            """

        np.testing.assert_array_equal(rows.on("emulator")(x=x)["y"], x.sum(axis=1))

    def test_refusals_of_a_library_name_its_text(self):
        with self.assertRaises(loopwright.Error) as caught:
            loopwright.Kernel(self.ROWS, library={"sums.lw": self.TOTAL, "more.lw": self.TOTAL})
        self.assertEqual(caught.exception.code, "duplicate-name")
        self.assertEqual(caught.exception.place[:2], ("more.lw", 1))
        with self.assertRaises(TypeError):
            loopwright.Kernel(self.ROWS, library=[3])

    def test_two_kernels_are_one(self):
        thrice = loopwright.Kernel(TWICE.replace("twice(x", "thrice(out").replace("out: f32[n], n", "y: f32[n], n")
                                   .replace("out[i] = 2.0*x[i]", "y[i] = 3.0*out[i]"))
        both = loopwright.Kernel(TWICE).on("emulator").fuse(thrice)
        self.assertEqual(both.name, "twice_thrice")
        x = np.arange(5, dtype=np.float32)
        between = np.zeros(5, dtype=np.float32)
        np.testing.assert_array_equal(both.check(x=x, out=between)["y"], 6 * x)
        self.assertEqual(loopwright.Kernel(TWICE).fuse(thrice, "six").name, "six")
        with self.assertRaises(loopwright.Error) as caught:
            loopwright.Kernel(TWICE).apply(BLOCKS, threads=32).fuse(thrice)
        self.assertEqual(caught.exception.code, "transformed")

    def test_many_problems(self):
        many = loopwright.Kernel(TWICE).batched("x, out", iname="b", count="problems")
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.testing.assert_array_equal(many.on("emulator").check(x=x)["out"], 2 * x)
        self.assertIn("problems: i32", str(many.declared))

    def test_arrays_of_the_caller(self):
        pairs = loopwright.Kernel("""
            kernel norm(x: f32[n, 2], y: f32[n], n: i32)
            domain { [i] : 0 <= i < n }
            y[i] = x[i, 0]*x[i, 0] + x[i, 1]*x[i, 1]
        """).on("emulator")
        x = np.arange(8, dtype=np.float32).reshape(4, 2)
        apart = pairs.separated("x", ["re", "im"], axis=1)
        squares = (x * x).sum(axis=1)
        y = apart.check(re=x[:, 0].copy(), im=x[:, 1].copy())["y"]
        np.testing.assert_array_equal(y, squares)
        halves = loopwright.Kernel("""
            kernel add(a: f32[n], b: f32[n], y: f32[n], n: i32)
            assume 0 <= n
            domain { [i] : 0 <= i < n }
            y[i] = a[i] + b[i]
        """).on("emulator").concatenated(["a", "b"], "both")
        np.testing.assert_array_equal(halves.check(both=x.reshape(8))["y"], x.reshape(2, 4).sum(axis=0))


class Copies(unittest.TestCase):
    def test_pickled_and_copied(self):
        k = emulated(TWICE).apply(BLOCKS, threads=32)
        x = np.arange(3, dtype=np.float32)
        for other in [pickle.loads(pickle.dumps(k)), copy.copy(k), copy.deepcopy([k])[0]]:
            self.assertEqual((str(other), other.steps, other.declared), (str(k), k.steps, k.declared))
            results = other(x=x)
            self.assertTrue(results.device.startswith("emulator"))
            self.assertEqual(results["out"].tolist(), [0, 2, 4])
        bound = loopwright.Kernel(SEGMENTS).with_types(T="f64").auto()
        self.assertEqual(str(pickle.loads(pickle.dumps(bound))), str(bound))
        self.assertEqual(str(pickle.loads(pickle.dumps(k.text))), str(k))


class Texts(unittest.TestCase):
    def test_what_a_kernel_says_of_itself(self):
        k = loopwright.Kernel(TWICE)
        self.assertEqual(repr(k), "<loopwright.Kernel twice(x, out, n)>")
        split = k.apply("split_iname(i, 128)")
        self.assertEqual(repr(split), "<loopwright.Kernel twice(x, out, n) after 1 step>")
        self.assertEqual(split.steps, "split_iname(i, 128)\n")
        self.assertEqual(split.declared, k.declared)
        self.assertIn("i_inner", str(split))
        self.assertNotIn("i_inner", str(k))
        self.assertEqual((k.name, k.arguments), ("twice", ["x", "out", "n"]))

    def test_explanations(self):
        k = loopwright.Kernel(TWICE).apply(BLOCKS, threads=32)
        self.assertIn("proved", k.explain())
        self.assertIn("split_iname(i, 32)", k.explain())
        self.assertNotEqual(k.explain(lowered=True), k.explain())
        self.assertIn("program", k.program)

    def test_open_types_are_bound_for_texts(self):
        k = loopwright.Kernel(SEGMENTS)
        with self.assertRaises(loopwright.Error) as caught:
            k.cuda
        self.assertEqual(caught.exception.code, "open-type")
        self.assertIn("double", k.with_types(T="f64").cuda)

    def test_the_package_has_its_licences_and_address(self):
        package = importlib.metadata.distribution("loopwright")
        names = {file.name for file in package.files}
        self.assertLessEqual({"LICENSE-MIT", "LICENSE-APACHE", "LICENSE-isl", "LICENSE-imath"}, names)
        self.assertTrue(package.metadata.get_all("Project-URL"))

    def test_everything_is_documented(self):
        for name in loopwright.__all__:
            value = getattr(loopwright, name)
            if inspect.isclass(value):
                self.assertTrue(value.__doc__, name)
        for name, value in inspect.getmembers(loopwright.Kernel):
            if not name.startswith("_"):
                self.assertTrue(inspect.getdoc(value), name)


if __name__ == "__main__":
    unittest.main()
