"""The programs of the READMEs and of the book, which the test's script copies beside this file.

Those of one page follow each other.
"""

import contextlib
import io
import pathlib
import re
import unittest


class Programs(unittest.TestCase):
    def test_they_run(self):
        files = sorted(pathlib.Path(__file__).parent.glob("*.md"))
        if not files:
            self.skipTest("there are no READMEs beside the tests")
        for file in files:
            programs = re.findall(r"```python\n(.*?)```", file.read_text(), re.DOTALL)
            self.assertTrue(programs, file)
            printed, names = io.StringIO(), {}
            for program in programs:
                with contextlib.redirect_stdout(printed):
                    exec(compile(program, file.name, "exec"), names)
            self.assertIn("__global__", printed.getvalue(), file)


if __name__ == "__main__":
    unittest.main()
