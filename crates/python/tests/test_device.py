"""Arrays on a GPU, which are used where they are, on the stream of their library.

There need be no GPU: a library in place of the driver has devices in the host's memory, and puts
off all work until somebody waits for it. `device_checks.py` runs with that library loaded.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("LOOPWRIGHT_STAND_IN_SOURCE")
COMPILER = shutil.which(os.environ.get("CC", "cc"))


@unittest.skipUnless(SOURCE, "LOOPWRIGHT_STAND_IN_SOURCE does not name the driver's stand-in")
@unittest.skipUnless(COMPILER, "there is no C compiler for the driver's stand-in")
class OnTheStandIn(unittest.TestCase):
    def test_arrays_on_a_device(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [COMPILER, "-std=gnu11", "-O1", "-shared", "-fPIC", "-pthread", "-o"]
                + [f"{folder}/libcuda.so", SOURCE],
                check=True,
            )
            folders = [folder, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
            environment = {
                **os.environ,
                "LD_LIBRARY_PATH": os.pathsep.join(folders),
                "LOOPWRIGHT_CACHE": f"{folder}/cache",
            }
            checks = pathlib.Path(__file__).with_name("device_checks.py")
            ran = subprocess.run(
                [sys.executable, checks], env=environment, capture_output=True, text=True
            )
        if ran.returncode == 77:
            self.skipTest(ran.stdout.strip())
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)


if __name__ == "__main__":
    unittest.main()
