#!/usr/bin/env python3
"""The Python examples in inputs/ give the energies of the programs that made the amplitudes."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

INPUTS = pathlib.Path(__file__).resolve().parents[2] / "inputs"


class Examples(unittest.TestCase):
    def test_the_gamma_point_has_the_triples_of_pyscf(self):
        done = subprocess.run([sys.executable, INPUTS / "arrays" / "gamma_point.py"], capture_output=True, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        ours = re.search(r"^ *0 +\S+ +(\S+) +CCSD\(T\)$", done.stdout, re.MULTILINE)
        theirs = re.search(r"^E\(T\) of PySCF +(\S+) Eh$", done.stdout, re.MULTILINE)
        self.assertLess(float(ours[1]), -0.005)
        self.assertAlmostEqual(float(ours[1]), float(theirs[1]), delta=1e-10)


if __name__ == "__main__":
    unittest.main()
