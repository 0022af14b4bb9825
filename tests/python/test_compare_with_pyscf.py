#!/usr/bin/env python3
"""drivers/compare_with_pyscf.py runs PySCF with two libraries of BLAS, says which, and reports the times and ratios."""

import ctypes.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "drivers" / "compare_with_pyscf.py"


def compare(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, "--molecule", "water", "--basis", "sto-3g", "--threads", "1",
                           *arguments], capture_output=True, text=True)


class Comparison(unittest.TestCase):
    @unittest.skipUnless(ctypes.util.find_library("openblas"), "the system has no OpenBLAS")
    def test_a_report_has_both_libraries_and_the_ratios_of_its_times(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            done = compare("--trifuse", os.environ["TRIFUSE"], "--repeats", "2", "--json", path)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        self.assertEqual((report["occupied"], report["virtual"], report["threads"]), (4, 2, 1))
        origins = {name: series["blas"]["origin"] for name, series in report["pyscf"].items()}
        self.assertEqual(origins, {"wheel": "of PySCF", "system": "preloaded"})
        ours = report["trifuse"]["process"]
        for name, series in report["pyscf"].items():
            self.assertRegex(series["blas"]["name"], r"^OpenBLAS \d+\.\d+\.\d+")
            self.assertIn(series["blas"]["name"], done.stdout)
            self.assertEqual((len(ours), len(series["call"]), len(series["process"])), (2, 2, 2))
            self.assertLess(series["difference"], 1e-10)
            for call, process in zip(series["call"], series["process"]):
                self.assertLess(call["wall"], process["wall"])
                self.assertLess(call["processor"], process["processor"])
            for kind in ("wall", "processor"):
                expected = statistics.median(theirs[kind] / our[kind] for theirs, our in zip(series["call"], ours))
                self.assertAlmostEqual(report["ratios"][name][kind], expected)

    def test_a_library_that_is_no_openblas_is_refused(self):
        done = compare("--trifuse", os.environ["TRIFUSE"], "--repeats", "1", "--blas", "libm.so.6")
        self.assertEqual(done.returncode, 1)
        self.assertIn("PySCF does not use libm.so.6", done.stderr)

    def test_the_program_is_required(self):
        done = compare()
        self.assertEqual(done.returncode, 2)
        self.assertIn("--trifuse is missing", done.stderr)


if __name__ == "__main__":
    unittest.main()
