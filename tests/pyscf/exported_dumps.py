"""What the tests of drivers/pyscf_export share: molecules, and a test case whose dumps brute_force.py and trifuse evaluate."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "1")

from pyscf import gto

HERE = os.path.dirname(os.path.abspath(__file__))
EXPORTER = os.path.join(HERE, "..", "..", "drivers", "pyscf_export")
sys.path[:0] = [HERE, os.path.dirname(EXPORTER)]

import brute_force
import pyscf_export

TOLERANCE = 1e-10
TRIFUSE = None  # the program, if the command line names it

WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"
HYDROXYL = "O 0 0 0; H 0 0 0.97"
METHYLENE = "C 0 0 0; H 0 0.99 0.43; H 0 -0.99 0.43"


def mean_field(kind, atom, basis="6-31g", **options):
    mol = gto.M(atom=atom, basis=basis, verbose=0, **options)
    return kind(mol).set(conv_tol=1e-13, conv_tol_grad=1e-9, max_cycle=200).run()


def solved(cc):
    return cc.set(conv_tol=1e-12, conv_tol_normt=1e-9, max_cycle=200, verbose=0).run()


class Dumps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name="dump.h5"):
        return os.path.join(self.folder, name)

    def trifuse(self, *arguments, omega2=0.0):
        report = self.path("report.json")
        command = [TRIFUSE, "run", *arguments, "--omega2", str(omega2), "--json", report, "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(report) as file:
            return next(e for e in json.load(file)["energies"] if e["omega2"] == omega2)

    def check(self, expected=None, left=None, omega2=0.0, semicanonical=False):
        """The oracle gives E(T) = `expected`, and trifuse gives the oracle's E[T] and E(T)."""
        oracle = brute_force.spin_orbital_energies(self.path(), left, omega2, semicanonical)
        if expected is not None:
            self.assertLess(abs(oracle["E(T)"] - expected), TOLERANCE)
        if TRIFUSE:
            extra = (["--left", left] if left else []) + (["--rohf", "semicanonical"] if semicanonical else [])
            energies = self.trifuse(self.path(), *extra, omega2=omega2)
            for name, value in oracle.items():
                self.assertLess(abs(energies[name] - value), TOLERANCE, name)
        return oracle

    def check_own_dump(self, cc, **options):
        """The dump of a converged object gives PySCF's (T) and CCSD energies."""
        pyscf_export.write_dump(cc, self.path())
        orbitals = brute_force.SpinOrbitals(brute_force.read(self.path()))
        self.assertLess(abs(orbitals.correlation_energy() - cc.e_corr), TOLERANCE)
        return self.check(cc.ccsd_t(), **options)


def main():
    """Runs the tests of the program that was started."""
    global TRIFUSE
    if "--trifuse" in sys.argv:
        at = sys.argv.index("--trifuse")
        TRIFUSE = os.path.abspath(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
