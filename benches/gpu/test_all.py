"""What can be tested of benches/gpu/all.sh without a GPU: the list of cases, what is said of times,
pictures and tables."""

import io
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "peers")]

import plots
from all import listed
from all_cases import ROOT, WORKLOADS, Own, cases, export_arguments, problems
from ratios import percentile, ratios


def row(name, power, form, ours=True, **states):
    return {"workload": "scan", "name": name, "power": power, "form": form, "ours": ours, **states}


def state(ratio, low, high):
    return {"ms": 0.5, "ratio": ratio, "ratio_10": low, "ratio_90": high, "best_peer": "CUB"}


RESULT = {
    "date": "2026-11-01",
    "device": "A <device>",
    "versions": {"torch": "1.2", "CUDA": "3.4"},
    "rows": [
        row("i32", 16, "slow", left=state(0.25, 0.2, 0.3), clean=state(0.25, 0.2, 0.3), dirty=state(0.25, 0.2, 0.3)),
        row("i32", 16, "fast", left=state(2.0, 1.0, 4.0), clean=state(0.5, 0.5, 0.5), dirty=state(1.0, 0.5, 2.0)),
        row("i32", 16, "CUB", ours=False, left=state(1.0, 1.0, 1.0), clean=state(1.0, 1.0, 1.0), dirty=state(1.0, 1.0, 1.0)),
        row("i32", 22, "no peer", left={"ms": 1.0}, clean={"ms": 1.0}, dirty={"ms": 1.0}),
        row("f32", 28, "only dirty", dirty=state(8.0, 8.0, 8.0)),
    ],
    "not measured": ["all, CUB: no nvcc"],
}


class Cases(unittest.TestCase):
    def test_every_workload_has_cases_of_files_that_are_there(self):
        given = cases()
        self.assertEqual({case.workload for case in given}, set(WORKLOADS))
        self.assertEqual(problems(given), [])

    def test_a_file_that_is_not_there_is_reported(self):
        case = cases(["csr"], [22])[0]
        lost = replace(case, own=(Own("lost", ROOT / "nowhere.lw", None),))
        self.assertEqual(problems([lost]), [f"csr, uniform, 16 a row, 2^22, lost: there is no {ROOT / 'nowhere.lw'}"])

    def test_a_name_that_comes_twice_is_reported(self):
        case = cases(["csr"], [22])[0]
        self.assertEqual(problems([case, case]), ["two cases are csr, uniform, 16 a row, 2^22"])
        twice = replace(case, peers=("auto",))
        self.assertEqual(problems([twice]), ["csr, uniform, 16 a row, 2^22: two forms are named auto"])

    def test_the_list_names_forms_and_peers(self):
        said = io.StringIO()
        with redirect_stdout(said):
            listed(cases(["f32"], [22]))
        self.assertIn("ring16: examples/kernels/matmul.lw benches/gpu/sgemm/ring16.pipe\n", said.getvalue())
        self.assertIn("    beside cuBLAS\n", said.getvalue())
        self.assertIn("1 cases, 3 forms of ours", said.getvalue())

    def test_the_dry_run_needs_nothing(self):
        done = subprocess.run([HERE / "all.sh", "dry-run", "--powers", "16"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("rows of 65536, 2^16 (nseg = 1, len = 65536)\n", done.stdout)

    def test_a_command_line_of_an_export(self):
        own = Own("a", Path("k.lw"), Path("p.pipe"), {"tile": 4}, auto=True)
        expected = "export k.lw p.pipe --auto --set=n=8 --parameter=tile=4 --arch sm_90a -o to".split()
        self.assertEqual(export_arguments(own, {"n": 8}, "sm_90a", Path("to")), expected)


class Ratios(unittest.TestCase):
    def test_percentiles_are_interpolated(self):
        # 11 values: the 10th percentile is the second one. Of two, it lies a tenth of the way.
        self.assertEqual(percentile([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 10), 1)
        self.assertEqual(percentile([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 90), 9)
        self.assertAlmostEqual(percentile([1, 2], 10), 1.1)
        self.assertEqual(percentile([3], 90), 3)

    def test_ratios_are_of_one_round(self):
        # Round by round 2, 1/2, 4: the quotient of the medians would be 2/2.
        found = ratios([2, 1, 8], [1, 2, 2])
        self.assertEqual(found["ratio"], 2)
        self.assertAlmostEqual(found["ratio_10"], 0.8)
        self.assertAlmostEqual(found["ratio_90"], 3.6)


class Forms(unittest.TestCase):
    def test_a_form_that_loads_evict_first_stands_beside_one_that_does_not(self):
        streams = row("f32", 28, "quick, evict-first", clean=state(3.0, 3.0, 3.0))
        rows = [row("f32", 28, "slow", clean=state(1.0, 1.0, 1.0)), row("f32", 28, "quick", clean=state(2.0, 2.0, 2.0)), streams]
        lines = [line for line in plots.files({**RESULT, "rows": rows})["table.md"].splitlines() if line.startswith("| f32")]
        self.assertEqual([line.split(" | ")[1] for line in lines], ["quick, evict-first", "quick"])
        # Where the best does not, nothing is added.
        rows = [*rows[:2], row("f32", 28, "late, evict-first", clean=state(0.5, 0.5, 0.5))]
        self.assertEqual(plots.files({**RESULT, "rows": rows})["table.md"].count("| f32"), 1)


class Pictures(unittest.TestCase):
    def setUp(self):
        self.made = plots.files(RESULT)
        self.root = xml.fromstring(self.made["scan.svg"])

    def elements(self, tag, of=None):
        found = self.root.iter(f"{{http://www.w3.org/2000/svg}}{tag}")
        return [element for element in found if of is None or element.get("class") == of]

    def test_a_picture_for_each_workload_that_was_measured(self):
        self.assertEqual(sorted(self.made), ["scan.svg", "table.md"])

    def test_bars_begin_at_one_on_a_logarithmic_axis(self):
        # From 1/2 to 8 in four parts of 58: one lies at 144 + 58. The faster form has 2, 1/2, 1;
        # then 8.
        bars = [(float(bar.get("x")), float(bar.get("width"))) for bar in self.elements("rect", "bar")]
        self.assertEqual(bars, [(202, 58), (144, 58), (202, 0), (202, 174)])

    def test_spreads_go_from_the_10th_to_the_90th_percentile(self):
        lines = [(float(line.get("x1")), float(line.get("x2"))) for line in self.elements("line", "spread")]
        self.assertEqual(lines[0], (202, 318))

    def test_it_can_be_read_at_420_pixels(self):
        self.assertEqual(self.root.get("width"), "420")
        for element in self.elements("text"):
            self.assertGreaterEqual(int(element.get("font-size")), 11, element.text)
            # A letter of 11 pixels is 6 wide, by and large.
            wide, x = 6 * len(element.text), float(element.get("x"))
            first = x - {"start": 0, "middle": wide / 2, "end": wide}[element.get("text-anchor")]
            self.assertGreaterEqual(first, 0, element.text)
            self.assertLessEqual(first + wide, 420, element.text)

    def test_names_of_all_cases_fit(self):
        for case in cases():
            self.assertLessEqual(6 * len(case.name), plots.LEFT - 6, case.name)

    def test_title_date_device_and_versions_are_there(self):
        said = [element.text for element in self.elements("text")]
        for wanted in ("Inclusive prefix sums", "A <device>, 2026-11-01", "torch 1.2, CUDA 3.4", "i32", "2^16", "0.50"):
            self.assertIn(wanted, said)

    def test_the_table_has_the_best_form_and_what_was_not_measured(self):
        table = self.made["table.md"]
        self.assertIn("| i32, 2^16 | fast | 0.5000 | CUB | 2.000 (1.000 to 4.000) | 0.500 (0.500 to 0.500) |", table)
        self.assertIn("| f32, 2^28 | only dirty | 0.5000 | CUB | – | – | 8.000 (8.000 to 8.000) |", table)
        self.assertNotIn("slow", table)
        self.assertNotIn("no peer", table)
        self.assertTrue(table.endswith("## Not measured\n\n- all, CUB: no nvcc\n"))

    def test_files_are_written_and_compared(self):
        with tempfile.TemporaryDirectory() as work:
            results, folder = Path(work) / "results.json", Path(work) / "pictures"
            results.write_text(json.dumps(RESULT))
            command = [sys.executable, HERE / "plots.py", results, folder]
            self.assertEqual(subprocess.run(command).returncode, 0)
            check = [*command, "--check"]
            self.assertEqual(subprocess.run(check).returncode, 0)
            (folder / "scan.svg").write_text("")
            done = subprocess.run(check, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout.split(" ")[0]), (1, str(folder / "scan.svg")))

    def test_the_book_shows_the_results_that_are_kept(self):
        command = [HERE / "plots.py", ROOT / "benches" / "results.json", ROOT / "book" / "src" / "reference" / "benchmarks", "--check"]
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_readme_names_the_ratios_that_are_kept(self):
        kept = plots.best_forms(json.loads((ROOT / "benches" / "results.json").read_text())["rows"])
        rows = [row for (workload, _, power), row in kept.items() if (workload, power) == ("rows", 28)]
        found = [row[state]["ratio"] for row in rows for state in plots.STATES]
        self.assertEqual(len(found), 4 * 3)
        said = f"run at {min(found):.3f} to {max(found):.3f} of the speed"
        self.assertIn(said, " ".join((ROOT / "README.md").read_text().split()))


if __name__ == "__main__":
    unittest.main()
