"""What notebooks show, and searches."""

import html
import unittest

import numpy as np

import loopwright

TWICE = """
    kernel twice(x: f32[n], out: f32[n], n: i32)
    domain { [i] : 0 <= i < n }
    out[i] = 2.0*x[i]
"""
BLOCKS = "split_iname(i, $threads); tag_inames(i_outer: block.x, i_inner: thread.x)"


def without_tags(page):
    text, inside = [], False
    for c in page:
        if c in "<>":
            inside = c == "<"
        elif not inside:
            text.append(c)
    return html.unescape("".join(text))


class Display(unittest.TestCase):
    def test_pages_hold_the_whole_text_and_colours(self):
        k = loopwright.Kernel(TWICE).apply(BLOCKS, threads=32)
        for text in [k.text, k.declared, k.cuda, k.explain(), k.explain(lowered=True), k.program]:
            self.assertIsInstance(text, str)
            self.assertEqual(without_tags(text._repr_html_()), str(text))
        for text in [k.text, k.cuda, k.explain()]:
            self.assertIn("<span style=", text._repr_html_())
        self.assertEqual(k._repr_html_(), k.text._repr_html_())


class Searches(unittest.TestCase):
    def setUp(self):
        self.kernel = loopwright.Kernel(TWICE).on("emulator")
        self.arguments = {"x": np.arange(512, dtype=np.float32)}

    def test_the_best_point_is_a_kernel(self):
        space = {"threads": [1, 64]}
        found = loopwright.tune(self.kernel, BLOCKS, space, self.arguments)
        # Warps of one thread each move a sector for every element.
        self.assertEqual(found.best, {"threads": 64})
        self.assertFalse(found.timed)
        self.assertIn("split_iname(i, 64)", found.kernel.steps)
        np.testing.assert_array_equal(
            found.kernel(**self.arguments)["out"], 2 * self.arguments["x"]
        )
        self.assertIn("threads", str(found))
        self.assertIn("iframe", found._repr_html_())
        self.assertIn("estimated", repr(found))

    def test_spaces_as_text_and_samples(self):
        space = "threads in powers(32, 128)\nrequire threads <= 64"
        sample = {"x": np.arange(64, dtype=np.float32)}
        found = loopwright.tune(self.kernel, BLOCKS, space, self.arguments, sample=sample)
        self.assertIn(found.best["threads"], [32, 64])

    def test_refusals(self):
        def refused(*arguments, **options):
            with self.assertRaises(loopwright.Error) as caught:
                loopwright.tune(self.kernel, *arguments, **options)
            return caught.exception

        def code(*arguments, **options):
            return refused(*arguments, **options).code

        space = {"threads": [32]}
        self.assertEqual(code(BLOCKS, space, self.arguments, strategy="best"), "strategy")
        self.assertEqual(code(BLOCKS, space, self.arguments, points=3), "strategy")
        self.assertEqual(code(BLOCKS, {}, self.arguments), "open-parameter")
        help = refused(BLOCKS, {}, self.arguments).help
        self.assertIn('{"threads": [64, 128]}', help)
        self.assertNotIn("add a line", help)
        closed = refused(BLOCKS.replace("$threads", "64"), space, self.arguments)
        self.assertEqual(closed.code, "unknown-parameter")
        self.assertIn("write `$threads` in place of one", closed.help)
        none = refused(BLOCKS, {"threads": [0]}, self.arguments)
        self.assertEqual(none.code, "no-point")
        self.assertEqual(str(none).count("no point is legal"), 1)


if __name__ == "__main__":
    unittest.main()
