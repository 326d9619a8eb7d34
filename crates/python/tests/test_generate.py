"""Kernels from a line, and einsum on arrays, against NumPy."""

import unittest

import numpy as np

import loopwright
from loopwright import generate


class Exporter:
    """An array that has DLPack only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def integers(shape, dtype=np.float32, seed=1):
    """Small ones, whose sums are exact."""
    return np.random.default_rng(seed).integers(-3, 4, size=shape).astype(dtype)


class Einsum(unittest.TestCase):
    def test_is_that_of_numpy(self):
        sizes = {"b": 3, "i": 5, "j": 4, "k": 7}
        for spec in [
            "ik,kj->ij",
            "bik,bkj->bij",
            "ik,kj",
            "ij->ji",
            "ii->i",
            "ii",
            "i,j->ij",
            "ij,jk,ki->",
            " i j , j ",
            "ab,bc->ac",
        ]:
            letters = spec.split("->")[0].replace(" ", "").split(",")
            shapes = [[sizes.get(c, 6) for c in letter] for letter in letters]
            for dtype in [np.float32, np.float64, np.int32, np.float16]:
                arrays = [integers(shape, dtype, k) for k, shape in enumerate(shapes)]
                found = loopwright.einsum(spec, *arrays)
                expected = np.einsum(spec, *[a.astype(np.float64) for a in arrays])
                self.assertEqual((found.dtype, found.shape), (dtype, expected.shape), spec)
                np.testing.assert_array_equal(found, expected.astype(dtype), spec)

    def test_of_no_elements(self):
        a, b = np.ones((3, 0), np.float32), np.ones((0, 2), np.float32)
        np.testing.assert_array_equal(loopwright.einsum("ik,kj->ij", a, b), np.zeros((3, 2)))
        self.assertEqual(loopwright.einsum("ik->k", a).shape, (0,))

    def test_accumulators_and_results(self):
        ones = np.ones(3000, np.float16)
        self.assertEqual(loopwright.einsum("i->", ones), 3000)
        big = np.full(2, 2_000_000_000, np.int32)
        found = loopwright.einsum("i->", big, out="i64")
        self.assertEqual((found.dtype, int(found)), (np.int64, 4_000_000_000))
        mixed = loopwright.einsum("i,i->i", np.ones(2, np.float32), np.ones(2, np.int64))
        self.assertEqual(mixed.dtype, np.float64)
        mixed = loopwright.einsum("i,i->i", np.ones(2, np.float32), np.ones(2, np.int64), out="f32")
        self.assertEqual(mixed.dtype, np.float32)
        truths = np.array([True, False, True])
        self.assertEqual(loopwright.einsum("i,i->i", truths, ~truths).tolist(), [False] * 3)
        self.assertEqual(int(loopwright.einsum("i,i->", truths, truths, acc="i32")), 2)

    def test_types_of_different_arrays_meet_as_in_numpy(self):
        pairs = [("i8", "f4"), ("f2", "f4"), ("i4", "u4"), ("u1", "i1"), ("i4", "f2"), ("i4", "f4")]
        for first, second in pairs:
            a, b = integers((3, 4), first, 2), np.abs(integers((4, 2), second, 3)).astype(second)
            a = np.abs(a).astype(first) if first[0] == "u" else a
            found = loopwright.einsum("ik,kj->ij", a, b)
            self.assertEqual(found.dtype, np.result_type(a, b), (first, second))
            np.testing.assert_array_equal(found, np.einsum("ik,kj->ij", a, b))
        # 2^24 + 1 is no f32.
        large = np.array([2**24 + 1])
        self.assertEqual(loopwright.einsum("i,i", large, np.ones(1, np.float32)), 2**24 + 1)

    def test_numbers(self):
        x = np.arange(4, dtype=np.float32)
        found = loopwright.einsum(",i->i", 2.5, x)
        self.assertEqual((found.dtype, found.tolist()), (np.float32, [0.0, 2.5, 5.0, 7.5]))
        found = loopwright.einsum("i,->i", x.astype(np.int32), 0.5)
        self.assertEqual((found.dtype, found.tolist()), (np.float64, [0.0, 0.5, 1.0, 1.5]))
        found = loopwright.einsum("i,->i", x.astype(np.int16), np.int16(3))
        self.assertEqual((found.dtype, found.tolist()), (np.int16, [0, 3, 6, 9]))
        self.assertEqual(int(loopwright.einsum(",", 6, 7)), 42)
        found = loopwright.einsum("i,->i", np.array([True, False]), True)
        self.assertEqual(found.tolist(), [True, False])

    def test_views_and_other_libraries(self):
        a = integers((6, 4))
        np.testing.assert_array_equal(loopwright.einsum("ik,kj", a[::2].T, a[::-2]), a[::2].T @ a[::-2])
        np.testing.assert_array_equal(loopwright.einsum("ij->j", Exporter(a)), a.sum(0))

    def test_refusals(self):
        x = np.ones(3, np.float32)
        for call, code, words in [
            (lambda: loopwright.einsum("i->j", x), "einsum-output", "an axis `j`"),
            (lambda: loopwright.einsum("...i", x), "einsum-syntax", "stands for axes"),
            (lambda: loopwright.einsum("i,i", x), "einsum-operands", "2 operands, but 1 type is given"),
            (lambda: loopwright.einsum("i", x.astype(np.complex64)), "unknown-type", "`complex64`"),
            (lambda: loopwright.einsum("i", "text"), "argument-kind", "type `str`"),
            (lambda: loopwright.einsum("i", x, acc="f33"), "unknown-type", "`f33` is no type"),
        ]:
            with self.assertRaises(loopwright.Error) as caught:
                call()
            self.assertEqual(caught.exception.code, code)
            self.assertIn(words, caught.exception.message)
            self.assertTrue(caught.exception.help)
        with self.assertRaises(loopwright.Error):
            loopwright.einsum("i,i", x, np.ones(4, np.float32))


class Generate(unittest.TestCase):
    def test_kernels_are_texts(self):
        k = generate.einsum("ik,kj->ij", types=["f16", "f16"], acc="f32", out="f32", name="mm")
        self.assertEqual(
            str(k),
            "kernel mm(a: f16[n_i, n_k], b: f16[n_k, n_j], out: f32[n_i, n_j], "
            "n_i: i32, n_k: i32, n_j: i32)\n"
            "assume 0 <= n_i and 0 <= n_k and 0 <= n_j\n"
            "domain { [i, j] : 0 <= i < n_i and 0 <= j < n_j }\n"
            "domain { [k] : 0 <= k < n_k }\n"
            "out[i, j] = sum(k, cast(f32, a[i, k]) * cast(f32, b[k, j])) {id=product}\n",
        )
        self.assertEqual(k.steps, "")
        self.assertEqual(str(loopwright.Kernel(str(k))), str(k))

    def test_results_are_those_of_numpy(self):
        x, y = integers((5, 9)), integers((5, 9), seed=2)
        for make, arrays, expected in [
            (generate.map("a*x + y", "m, n", scalars="a"), {"x": x, "y": y, "a": 3.0}, 3 * x + y),
            (generate.map("x + y", "m, n", types={"y": "i32"}), {"x": x, "y": y.astype("i4")}, x + y),
            (generate.copy("m, n", [1, 0]), {"x": x}, x.T),
            (generate.reduce("sum", "m, n"), {"x": x}, x.sum().reshape(1)),
            (generate.reduce("max", "m, n", -1), {"x": x}, x.max(1)),
            (generate.reduce("max", "m, n", np.int64(1)), {"x": x}, x.max(1)),
            (generate.reduce("any", "m, n", [0]), {"x": x}, x.any(0)),
            (generate.scan("cumsum", "m, n", 0), {"x": x}, x.cumsum(0)),
            (generate.scan("cumsum", "m, n", exclusive=True), {"x": x}, x.cumsum(1) - x),
        ]:
            found = make.auto().on("emulator")(**arrays)["out"]
            np.testing.assert_array_equal(found, expected, str(make))
            self.assertEqual(found.dtype, expected.dtype)

    def test_the_largest(self):
        x = integers((4, 30))
        results = generate.top_k(5, "m, n").auto().on("emulator")(x=x)
        order = np.argsort(-x, axis=1, kind="stable")[:, :5]
        np.testing.assert_array_equal(results["indices"], order)
        np.testing.assert_array_equal(results["values"], np.take_along_axis(x, order, 1))

    def test_refusals(self):
        for call, code in [
            (lambda: generate.copy("m, n", [2, 0]), "generate-axis"),
            (lambda: generate.reduce("summ", "n"), "generate-operator"),
            (lambda: generate.map("x[i]", "n"), "generate-expression"),
            (lambda: generate.top_k(0, "n"), "generate-count"),
            (lambda: generate.scan("cumsum", "n", type="bool"), "generate-types"),
        ]:
            with self.assertRaises(loopwright.Error) as caught:
                call()
            self.assertEqual(caught.exception.code, code)


if __name__ == "__main__":
    unittest.main()
