#!/usr/bin/env python3
"""The Python examples in inputs/ give the energies of the programs that made the amplitudes."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

INPUTS = pathlib.Path(__file__).resolve().parents[2] / "inputs"


def psi4_environment():
    """The Python of Psi4, and the environment in which it can import psi4."""
    program = shutil.which("psi4")
    python = pathlib.Path(program).read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("#!").strip()
    exports = subprocess.run([program, "--psiapi-path"], capture_output=True, text=True, check=True).stdout
    folder = re.search(r"PYTHONPATH=([^:\s]+)", exports)[1]
    return python, {"PYTHONPATH": folder + os.pathsep + os.environ["PYTHONPATH"]}


class Examples(unittest.TestCase):
    def assert_same_triples(self, example, maker, python=sys.executable, environment=None):
        """Runs an example, which prints its E(T) and that of the program that made the arrays."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([python, "-B", INPUTS / "arrays" / example], capture_output=True, text=True, cwd=folder,
                                  env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        ours = re.search(r"^ *0 +\S+ +(\S+) +CCSD\(T\)$", done.stdout, re.MULTILINE)
        theirs = re.search(rf"^E\(T\) of {maker} +(\S+) Eh$", done.stdout, re.MULTILINE)
        self.assertLess(float(ours[1]), -0.0005)
        self.assertAlmostEqual(float(ours[1]), float(theirs[1]), delta=1e-10)

    def test_the_gamma_point_has_the_triples_of_pyscf(self):
        self.assert_same_triples("gamma_point.py", "PySCF")

    @unittest.skipUnless(shutil.which("psi4"), "Psi4 is not installed")
    def test_psi4_has_the_same_triples(self):
        self.assert_same_triples("psi4_triples.py", "Psi4", *psi4_environment())


if __name__ == "__main__":
    unittest.main()
