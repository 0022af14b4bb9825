#!/usr/bin/env python3
"""The examples in inputs/ that write dumps give PySCF's energies, in the folders of an installation."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class DumpExamples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_example(self, example):
        """Runs an example as installed, and returns what it prints."""
        shutil.copytree(ROOT / "inputs" / example.split("/")[0], self.folder / "examples" / example.split("/")[0])
        shutil.copytree(ROOT / "drivers" / "pyscf_export", self.folder / "pyscf_export", ignore=shutil.ignore_patterns("__pycache__"))
        done = subprocess.run([sys.executable, "-B", self.folder / "examples" / example], capture_output=True, text=True, cwd=self.folder,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def triples(self, method, *arguments):
        done = subprocess.run([os.environ["TRIFUSE"], "run", *arguments], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return float(re.search(rf"^ *\S+ +\S+ +(\S+) +{re.escape(method)}$", done.stdout, re.MULTILINE)[1])

    def energies(self, printed):
        return [float(energy) for energy in re.findall(r"E\(T\)\D* = (-\d+\.\d+)", printed)]

    def test_water(self):
        printed = self.run_example("water/water.py")
        (expected,) = self.energies(printed)
        self.assertLess(expected, -0.002)
        self.assertIn(f"E(T) = {self.triples('CCSD(T)', 'water.h5'):.10f}\n", printed)  # all digits that a user compares
        # The regularised amplitudes are smaller.
        left = self.triples("Reg-CCSD(T)", "water.h5", "--left", "water_left.h5")
        self.assertLess(expected, left)
        self.assertLess(left, 0.8 * expected)

    def test_methylene(self):
        uhf, rohf = self.energies(self.run_example("open_shell/methylene.py"))
        self.assertLess(uhf, -0.001)
        self.assertAlmostEqual(self.triples("CCSD(T)", "methylene_uhf.h5"), uhf, delta=1e-10)
        self.assertAlmostEqual(self.triples("CCSD(T)", "methylene_rohf.h5", "--rohf", "semicanonical"), rohf, delta=1e-10)


if __name__ == "__main__":
    unittest.main()
