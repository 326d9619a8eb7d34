"""Steps as methods, and kernels declared by functions."""

import inspect
import unittest
from typing import Annotated, Any

import numpy as np

import loopwright
from loopwright._steps import Steps

TWICE = """
    kernel twice(x: f32[n], out: f32[n], n: i32)
    domain { [i] : 0 <= i < n }
    out[i] = 2.0*x[i]
"""


class Methods(unittest.TestCase):
    def test_a_method_is_the_step_of_its_text(self):
        k = loopwright.Kernel(TWICE)
        split = k.split_iname("i", 128, inner="lane")
        self.assertEqual(split.steps, "split_iname(i, 128, inner=lane)\n")
        self.assertEqual(split.text, k.apply("split_iname(i, 128, inner=lane)").text)
        self.assertEqual(k.steps, "")

    def test_arguments_of_every_kind(self):
        k = loopwright.Kernel("""
            kernel scale(x: f32[n, m], out: f32[n, m], n: i32, m: i32)
            assume n >= 1
            domain { [i, j] : 0 <= i < n and 0 <= j < m }
            out[i, j] = 2.0*x[i, j]
        """)
        k = (
            k.assume("m >= 1")
            .tile(["i", "j"], [16, 32])
            .tag_inames("j_inner: thread.x", i_inner="thread.y")
            .tag_inames({"i_outer": "block.y"}, j_outer="block.x")
            .fix_parameters(m=np.int64(64))
        )
        self.assertEqual(
            k.steps.splitlines(),
            [
                "assume(1 <= m)",
                "tile([i, j], [16, 32])",
                "tag_inames(j_inner: thread.x, i_inner: thread.y)",
                "tag_inames(i_outer: block.y, j_outer: block.x)",
                "fix_parameters(m=64)",
            ],
        )
        x = np.arange(192, dtype=np.float32).reshape(3, 64)
        np.testing.assert_array_equal(k.on("emulator").check(x=x)["out"], 2 * x)

    def test_a_reason_may_be_any_text(self):
        k = loopwright.Kernel(TWICE).assume_legal("a reason, with a comma (and more) = so")
        self.assertIn("a reason, with a comma (and more) = so", k.steps)

    def test_a_refused_method_raises_and_leaves_the_kernel(self):
        k = loopwright.Kernel(TWICE)
        with self.assertRaises(loopwright.Error) as caught:
            k.split_iname("j", 128)
        self.assertIn("j", caught.exception.message)
        self.assertEqual(k.steps, "")

    def test_an_argument_is_one_argument(self):
        k = loopwright.Kernel(TWICE)
        for text in ["i); unroll(i", "i) unroll(i"]:
            with self.assertRaises(loopwright.Error):
                k.unroll(text)
        for value in [True, 1.5, None]:
            with self.assertRaises(TypeError):
                k.split_iname("i", value)

    def test_every_step_has_a_method_with_a_page(self):
        names = [name for name in vars(Steps) if not name.startswith("_")]
        self.assertGreater(len(names), 40)
        for name in names:
            method = getattr(loopwright.Kernel, name)
            self.assertTrue(inspect.isfunction(method), name)
            self.assertIn("Legality", inspect.getdoc(method), name)

    def test_steps_are_found(self):
        declared = loopwright.Kernel(TWICE)
        k = declared.auto()
        self.assertEqual(k.steps, "auto()\n")
        self.assertEqual(k.text, declared.apply("auto()").text)
        self.assertIn("map: neighbours of `i` are neighbours in memory", k.explain())
        x = np.arange(300, dtype=np.float32)
        np.testing.assert_array_equal(k.on("emulator").check(x=x)["out"], 2 * x)
        self.assertEqual(declared.auto(search=4).steps, "auto(search=4)\n")
        with self.assertRaises(loopwright.Error):
            declared.auto(search=0)

    def test_the_explanation_is_that_of_all_steps(self):
        k = loopwright.Kernel(TWICE).split_iname("i", 32).apply("tag_inames(i_inner: thread.x)")
        self.assertIn("split_iname(i, 32)", k.explain())
        self.assertIn("tag_inames(i_inner: thread.x)", k.explain())


class Arguments(unittest.TestCase):
    def test_any_iname_can_be_tagged_by_keyword(self):
        k = loopwright.Kernel(TWICE.replace("i]", "self]").replace("[i", "[self").replace("<= i", "<= self"))
        self.assertEqual(k.tag_inames(self="block.x").steps, "tag_inames(self: block.x)\n")

    def test_names_are_any_sequence(self):
        k = loopwright.Kernel("""
            kernel twice(x: f32[n, n], out: f32[n, n], n: i32)
            domain { [i, j] : 0 <= i < n and 0 <= j < n }
            out[i, j] = 2.0*x[i, j]
        """)
        for names in [["j", "i"], ("j", "i"), (name for name in "ji"), {"j": 0, "i": 0}.keys()]:
            self.assertEqual(k.reorder(names).steps, k.reorder("j", "i").steps)
        for wrong in [{"i", "j"}, b"ij", 1.5]:
            with self.assertRaises(TypeError):
                k.reorder(wrong)


class Functions(unittest.TestCase):
    def test_a_docstring_is_the_text(self):
        @loopwright.kernel
        def anything(x, out, n):
            """
            kernel twice(x: f32[n], out: f32[n], n: i32)
            domain { [i] : 0 <= i < n }
            out[i] = 2.0*x[i]
            """

        self.assertEqual(anything.name, "twice")
        self.assertEqual(anything.on("emulator")(x=np.ones(2, np.float32))["out"].tolist(), [2, 2])

    def test_annotations_are_the_arguments(self):
        @loopwright.kernel(pipeline="split_iname(i, $lanes)", lanes=8)
        def twice(x: "f32[n]", out: "f32[n]", n: "i32"):
            """
            domain { [i] : 0 <= i < n }
            out[i] = 2.0*x[i]
            """

        self.assertEqual(repr(twice), "<loopwright.Kernel twice(x, out, n) after 1 step>")
        self.assertIn("kernel twice(x: f32[n], out: f32[n], n: i32)", twice.declared)

    def test_annotations_that_type_checkers_read(self):
        @loopwright.kernel
        def twice(x: Annotated[Any, "f32[n]"], out: "Annotated[Any, 'f32[n]']", n: "i32"):
            """
            domain { [i] : 0 <= i < n }
            out[i] = 2.0*x[i]
            """

        self.assertIn("kernel twice(x: f32[n], out: f32[n], n: i32)", twice.declared)

    def test_parameters_that_kernels_do_not_have(self):
        def default(x: "f32[n]", n: "i32" = 3):
            """x[0] = 1.0"""

        def several(*x: "f32[n]"):
            """x[0] = 1.0"""

        def named(**x: "f32[n]"):
            """x[0] = 1.0"""

        for function in [default, several, named]:
            with self.assertRaisesRegex(TypeError, "argument `[xn]` of `.*`"):
                loopwright.kernel(function)

    def test_prose_in_a_docstring(self):
        with self.assertRaises(loopwright.Error) as caught:

            @loopwright.kernel
            def twice(x: "f32[n]", n: "i32"):
                """Doubles the elements of an array.

                domain { [i] : 0 <= i < n }
                x[i] = 2.0*x[i]
                """

        self.assertIn("put `#` in front of prose", str(caught.exception))
        self.assertEqual(caught.exception.place[1], 2)

    def test_an_error_names_the_function(self):
        with self.assertRaises(loopwright.Error) as caught:

            @loopwright.kernel
            def wrong(x: "f32[n]", n: "i32"):
                """x[i] = 1.0"""

        self.assertIn("wrong", caught.exception.place[0])
        with self.assertRaises(TypeError):

            @loopwright.kernel
            def untyped(x):
                """x[0] = 1.0"""


if __name__ == "__main__":
    unittest.main()
