#!/usr/bin/env python3
"""The Python examples in inputs/ give the energies of the programs that made the amplitudes."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyscf.cc
from pyscf import df, gto, scf
from pyscf.data.nist import HARTREE2EV

import trifuse.pyscf
from molecules import solved

INPUTS = pathlib.Path(__file__).resolve().parents[2] / "inputs"
sys.dont_write_bytecode = True  # the scripts of inputs/ are imported
sys.path += [str(INPUTS / folder) for folder in ("dodecane", "spiro")]


def psi4_environment():
    """The Python of Psi4, and the environment in which it can import psi4."""
    program = shutil.which("psi4")
    python = pathlib.Path(program).read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("#!").strip()
    exports = subprocess.run([program, "--psiapi-path"], capture_output=True, text=True, check=True).stdout
    folder = re.search(r"PYTHONPATH=([^:\s]+)", exports)[1]
    return python, {"PYTHONPATH": folder + os.pathsep + os.environ["PYTHONPATH"]}


class Examples(unittest.TestCase):
    def assert_same_triples(self, example, maker, python=sys.executable, environment=None, calculations=1):
        """Runs an example, which prints E(T) of each calculation and that of the program that made the arrays."""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([python, "-B", INPUTS / "arrays" / example], capture_output=True, text=True, cwd=folder,
                                  env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        ours = re.findall(r"^ *0 +\S+ +(\S+) +CCSD\(T\)$", done.stdout, re.MULTILINE)
        theirs = re.findall(rf"^E\(T\) of {maker} +(\S+) Eh$", done.stdout, re.MULTILINE)
        self.assertEqual((len(ours), len(theirs)), (calculations, calculations))
        for our, their in zip(ours, theirs):
            self.assertLess(float(our), -0.0005)
            self.assertAlmostEqual(float(our), float(their), delta=1e-10)

    def run_in(self, folder, script, *arguments):
        done = subprocess.run([sys.executable, "-B", script, *arguments], capture_output=True, text=True, cwd=folder,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_gamma_point_has_the_triples_of_pyscf(self):
        self.assert_same_triples("gamma_point.py", "PySCF")

    @unittest.skipUnless(shutil.which("psi4"), "Psi4 is not installed")
    def test_psi4_has_the_same_triples(self):
        """Of a closed shell, with a frozen core, and of an open shell with a frozen core."""
        self.assert_same_triples("psi4_triples.py", "Psi4", *psi4_environment(), calculations=3)

    @unittest.skipUnless(importlib.util.find_spec("pyscf.lno"), "pyscf-forge is not installed")
    def test_all_natural_orbitals_have_the_triples_of_the_molecule(self):
        done = subprocess.run(
            [sys.executable, "-B", INPUTS / "fragments" / "water_trimer.py", "--molecules", "1", "--basis", "6-31g", "--thresholds", "0"],
            capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = re.search(r"^ +0e\+00 +\S+ +(\S+)", done.stdout, re.MULTILINE)
        expected = re.search(r"^molecule +\S+ +(\S+)", done.stdout, re.MULTILINE)
        self.assertLess(float(expected[1]), -0.0005)
        self.assertAlmostEqual(float(found[1]), float(expected[1]), delta=2e-9)

    def test_all_methods_have_the_energies_of_the_gallery(self):
        stored = INPUTS / "methylfluoride" / "methods.json"
        with tempfile.TemporaryDirectory() as folder:
            self.run_in(folder, INPUTS / "methylfluoride" / "methods.py", "1", "-o", "methods.json")
            found, expected = (json.loads(path.read_text(encoding="utf-8"))["points"][0]
                               for path in (pathlib.Path(folder) / "methods.json", stored))
        self.assertAlmostEqual(found["E(CCSD)"], expected["E(CCSD)"], delta=1e-9)
        self.assertEqual(found["corrections"].keys(), expected["corrections"].keys())
        for name, correction in expected["corrections"].items():
            self.assertAlmostEqual(found["corrections"][name], correction, delta=1e-9, msg=name)

    def test_ccsd_and_triples_from_factors_are_those_of_pyscf(self):
        molecule = INPUTS / "water" / "water.xyz"
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(INPUTS / "density_fitting", folder, ignore=shutil.ignore_patterns("*.json", "*.png"), dirs_exist_ok=True)
            self.run_in(folder, "energy.py", molecule, "cc-pvdz", "--tolerance", "1e-9", "--json", "results.json")
            facts = json.loads((pathlib.Path(folder) / "results.json").read_text(encoding="utf-8"))
            if importlib.util.find_spec("matplotlib"):
                self.run_in(folder, "plot.py")
                picture = (pathlib.Path(folder) / "water.png").read_bytes()
                self.assertEqual(picture[:24], (INPUTS / "density_fitting" / "aspirin.png").read_bytes()[:24])  # PNG, size

        mol = gto.M(atom=str(molecule), basis="cc-pvdz", verbose=0)
        mf = scf.RHF(mol).density_fit(auxbasis="cc-pvdz-jkfit").run(conv_tol=1e-12, conv_tol_grad=1e-8)
        cc = pyscf.cc.CCSD(mf, frozen=1)
        cc.with_df = df.DF(mol, auxbasis="cc-pvdz-ri")
        solved(cc)
        self.assertEqual((facts["occupied"], facts["virtual"], facts["naux"]), (*cc.t1.shape, cc.with_df.get_naoaux()))
        # The amplitudes of both are wrong by some 1e-9 in norm, where their iterations stop. The energy of CCSD is linear in this
        # error, with integrals of a norm near 1. E(T) is quadratic in t2, whose norm is 0.2: its error is 1e-8 of E(T), 3e-11.
        self.assertAlmostEqual(facts["ccsd_correlation"], cc.e_corr, delta=1e-9)
        self.assertAlmostEqual(facts["double"]["E(T)"], cc.ccsd_t(), delta=1e-10)

    def expect_corrections(self, found, cc, *runs, **options):
        """Compares corrections with those of trifuse.pyscf.triples for each of the runs, which are keyword arguments."""
        expected = {e.method + (f", ω² = {e.omega2:g}" if e.omega2 else ""): e.e_t
                    for run in runs for e in trifuse.pyscf.triples(cc, **run, **options).energies}
        self.assertEqual(found.keys(), expected.keys())
        for name, correction in expected.items():
            self.assertAlmostEqual(found[name], correction, delta=1e-9, msg=name)

    def test_a_stretched_alkane_has_the_energies_of_pyscf(self):
        import stretch

        with tempfile.TemporaryDirectory() as folder:
            self.run_in(folder, INPUTS / "dodecane" / "stretch.py", "1.25", "1.5", "--carbons", "2", "--basis", "sto-3g",
                        "--threshold", "1e-11", "--tolerance", "1e-8", "-o", "stretch.json")
            points = json.loads((pathlib.Path(folder) / "stretch.json").read_text(encoding="utf-8"))["points"]
            if importlib.util.find_spec("matplotlib"):
                self.run_in(folder, INPUTS / "dodecane" / "plot.py", "stretch.json", ".")
                self.assertTrue((pathlib.Path(folder) / "stretch.svg").exists())
        self.assertEqual([point["alpha"] for point in points], [1.25, 1.5])
        mol = gto.M(atom=stretch.alkane(2, 1.5), basis="sto-3g", symmetry=True, verbose=0)
        cc = solved(pyscf.cc.CCSD(scf.RHF(mol).run(conv_tol=1e-12, conv_tol_grad=1e-8), frozen=2))
        self.assertAlmostEqual(points[1]["E(CCSD)"], cc.e_tot, delta=1e-9)
        self.expect_corrections(points[1]["corrections"], cc, {"method": "t"}, {"method": ["2t", "cr-cc23"]}, {
            "method": "reg-t", "left": trifuse.pyscf.solve_regularized_ccsd(cc, 0.1)})

    def test_a_radical_has_the_energies_of_pyscf(self):
        import charge_transfer
        import steps

        mol = gto.M(atom="N 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", basis="6-31g", spin=1, symmetry="C2v", verbose=0)
        options = charge_transfer.options(["--tolerance", "1e-8"])
        with unittest.mock.patch("sys.stdout"):
            times = steps.Times()
            radical = charge_transfer.Radical(np, charge_transfer.Reference(mol, None, times), 1, 1e-11, times)
            found = charge_transfer.energies_of(np, radical, options, times)
        cc = solved(pyscf.cc.CCSD(scf.ROHF(mol).run(conv_tol=1e-12, conv_tol_grad=1e-8), frozen=1))
        self.assertAlmostEqual(found["E(CCSD)"], cc.e_tot, delta=1e-9)
        self.expect_corrections(found["corrections"], cc, {"method": "t"}, {"method": ["ct", "cr-t"]}, {
            "method": "reg-t", "left": trifuse.pyscf.solve_regularized_ccsd(cc, 0.1)}, rohf="semicanonical")

    def test_the_path_of_the_charge_ends_at_the_mirror_image(self):
        import charge_transfer

        start, middle, end = (charge_transfer.geometry(x) for x in (-0.5, 0.0, 0.5))
        image = {(name, *np.round(np.array((y, x, -z)), 6) + 0.0) for name, (x, y, z) in start}
        self.assertEqual({(name, *np.round(xyz, 6) + 0.0) for name, xyz in end}, image)
        mol = gto.M(atom=middle, basis="sto-3g", charge=1, spin=1, symmetry=True, verbose=0)
        self.assertEqual((len(middle), mol.topgroup, mol.nelectron), (29, "D2d", 105))

    def output_of(self, script, *arguments, folder):
        """What an example in inputs/properties prints. With matplotlib it also draws picture.svg."""
        picture = ["--picture", "picture.svg"] if importlib.util.find_spec("matplotlib") else []
        done = subprocess.run([sys.executable, "-B", INPUTS / "properties" / script, *arguments, *picture], capture_output=True, text=True,
                              cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        if picture:
            self.assertIn("</svg>", (pathlib.Path(folder) / "picture.svg").read_text(encoding="utf-8"))
        return done.stdout

    def test_an_optimised_bond_is_at_the_minimum_of_the_energy(self):
        with tempfile.TemporaryDirectory() as folder:
            printed = self.output_of("optimise.py", "HF", "--basis", "6-31g", folder=folder)
        bond, error = map(float, re.search(r"^HF +CCSD\(T\) +(\S+) +(\S+)", printed, re.MULTILINE).groups())
        self.assertAlmostEqual(error, 100 * (bond - 0.91681), delta=0.01)
        energies = []
        for distance in (bond - 0.01, bond, bond + 0.01):
            cc = solved(pyscf.cc.CCSD(scf.RHF(gto.M(atom=f"F 0 0 0; H 0 0 {distance}", basis="6-31g", verbose=0)).run(conv_tol=1e-12), frozen=1))
            energies.append(cc.e_tot + cc.ccsd_t())
        before, at, after = energies
        self.assertLess(abs(0.005 * (before - after) / (before - 2 * at + after)), 2e-4)

    def test_the_dipole_moment_is_near_full_ci(self):
        with tempfile.TemporaryDirectory() as folder:
            printed = self.output_of("dipole_curve.py", "--distances", "0.9", "1.3", folder=folder)
        for full_ci, ccsd, ccsd_t, *regularised in re.findall(r"^ +[01]\.\d+ +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)$", printed, re.MULTILINE):
            errors = [abs(float(each) - float(full_ci)) for each in (ccsd, ccsd_t, *regularised)]
            self.assertLess(errors[1], 0.01)
            self.assertLess(3 * errors[1], errors[0])
            self.assertEqual(sorted(errors), [*errors[1:], errors[0]])

    def test_forces_of_frames(self):
        with tempfile.TemporaryDirectory() as folder:
            arguments, path = ("forces.py", "--frames", "2", "--basis", "6-31g", "-o", "water.xyz"), pathlib.Path(folder) / "water.xyz"
            self.output_of(*arguments, folder=folder)
            text = path.read_text(encoding="utf-8")
            path.write_text(text[:-30], encoding="utf-8")  # the second frame was cut off
            self.output_of(*arguments, folder=folder)
            again = path.read_text(encoding="utf-8")
        numbers = [[float(word) for word in re.findall(r"-?\d+\.\d+", each)] for each in (text, again)]
        self.assertEqual(len(numbers[0]), 2 * 19)
        for first, second in zip(*numbers):
            self.assertAlmostEqual(first, second, delta=2e-5)
        energy, *rest = numbers[0][:19]
        rows = [rest[n:n + 6] for n in range(0, 18, 6)]
        for force in zip(*(row[3:] for row in rows)):
            self.assertAlmostEqual(sum(force), 0, delta=1e-6)
        mol = gto.M(atom=[(element, row[:3]) for element, row in zip("OHH", rows)], basis="6-31g", verbose=0)
        cc = solved(pyscf.cc.CCSD(scf.RHF(mol).run(conv_tol=1e-12), frozen=1))
        self.assertAlmostEqual((cc.e_tot + cc.ccsd_t()) * HARTREE2EV, energy, delta=1e-5)


if __name__ == "__main__":
    unittest.main()
