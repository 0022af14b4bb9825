#!/usr/bin/env python3
"""PySCF calculations through drivers/pyscf_export.py, against PySCF's own (T) and the oracles of this folder.

    python3 test_pyscf_export.py [--trifuse build/release/drivers/trifuse] [unittest options]

Every dump is evaluated by brute_force.py and, with --trifuse, by the `trifuse` program; all agree to 1e-10 hartree.
"""

import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
import unittest
import zlib

os.environ.setdefault("OMP_NUM_THREADS", "1")

import h5py
import numpy as np
import pyscf.cc
from pyscf import gto, scf
from pyscf.cc import addons, ccsd, gccsd, rccsd, uccsd

HERE = os.path.dirname(os.path.abspath(__file__))
EXPORTER = os.path.join(HERE, "..", "..", "drivers", "pyscf_export.py")
sys.path[:0] = [HERE, os.path.dirname(EXPORTER)]

import brute_force
import operator_algebra
import pyscf_export

TOLERANCE = 1e-10
TRIFUSE = None

WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"
HYDROXYL = "O 0 0 0; H 0 0 0.97"
METHYLENE = "C 0 0 0; H 0 0.99 0.43; H 0 -0.99 0.43"


def mean_field(kind, atom, basis="6-31g", **options):
    mol = gto.M(atom=atom, basis=basis, verbose=0, **options)
    return kind(mol).set(conv_tol=1e-13, conv_tol_grad=1e-9, max_cycle=200).run()


def solved(cc):
    return cc.set(conv_tol=1e-12, conv_tol_normt=1e-9, max_cycle=200, verbose=0).run()


def spin_blocks(t1, t2):
    """Restricted amplitudes as those of a UCCSD."""
    same_spin = t2 - t2.transpose(1, 0, 2, 3)
    return (t1, t1), (same_spin, t2, same_spin)


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


class PySCFTriples(Dumps):
    def test_water(self):
        self.check_own_dump(solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER))))

    def test_two_formulas_agree(self):
        cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER)))
        oracle = self.check_own_dump(cc)
        other = brute_force.closed_shell_energies(self.path())
        for name, value in oracle.items():
            self.assertLess(abs(other[name] - value), 1e-14)

    def test_frozen_core(self):
        self.check_own_dump(solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER), frozen=1)))

    def test_frozen_list(self):
        self.check_own_dump(solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER), frozen=[0, 6, 12])))

    def test_one_pair(self):
        self.check_own_dump(solved(pyscf.cc.CCSD(mean_field(scf.RHF, "H 0 0 0; H 0 0 0.74"))))

    def test_symmetry(self):
        mf = mean_field(scf.RHF, "N 0 0 0; N 0 0 1.1", symmetry=True)
        self.check_own_dump(solved(pyscf.cc.CCSD(mf, frozen=2)))
        with h5py.File(self.path()) as file:
            irreps = [file[name][()] for name in ("irrep_occ", "irrep_vir")]
        for numbers in irreps:
            self.assertTrue((np.diff(numbers) >= 0).all())
        self.assertEqual(set(np.concatenate(irreps)), {0, 2, 3, 5, 6, 7})

    def test_density_fitting(self):
        self.check_own_dump(solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER).density_fit().run(conv_tol=1e-13))))

    def test_hydroxyl(self):
        self.check_own_dump(solved(pyscf.cc.CCSD(mean_field(scf.UHF, HYDROXYL, spin=1))))

    def test_hydroxyl_with_symmetry(self):
        mf = mean_field(scf.UHF, HYDROXYL, spin=1, symmetry="C2v")
        self.check_own_dump(solved(pyscf.cc.CCSD(mf)))
        with h5py.File(self.path()) as file:
            self.assertEqual(file["irrep_vir_b"].shape, file["eps_vir_b"].shape)

    def test_amidogen_with_frozen_orbitals(self):
        mf = mean_field(scf.UHF, "N 0 0 0; H 0 0.803 0.632; H 0 -0.803 0.632", spin=1)
        self.check_own_dump(solved(pyscf.cc.UCCSD(mf, frozen=[[0, 12], [0, 11]])))

    def test_few_beta_electrons(self):
        self.check_own_dump(solved(pyscf.cc.CCSD(mean_field(scf.UHF, "Li 0 0 0", spin=1))))

    def test_no_beta_electrons(self):
        mf = mean_field(scf.UHF, "H 0 0 0; H 0 0 1; H 0 1 0; H 1 0 0", spin=4)
        self.check_own_dump(solved(pyscf.cc.CCSD(mf)))

    def test_unrestricted_equals_restricted(self):
        mf = mean_field(scf.RHF, WATER)
        restricted = self.check_own_dump(solved(pyscf.cc.CCSD(mf)))
        unrestricted = self.check_own_dump(solved(pyscf.cc.UCCSD(mf.to_uhf())))
        with h5py.File(self.path()) as file:
            self.assertEqual(file.attrs["reference"], b"UHF")
        self.assertLess(abs(restricted["E(T)"] - unrestricted["E(T)"]), TOLERANCE)

    def test_format_of_the_file(self):
        """No string of variable length, whose heap has no checksum; checksums over everything that describes data."""
        pyscf_export.write_dump(solved(pyscf.cc.CCSD(mean_field(scf.RHF, "H 0 0 0; H 0 0 0.74"))), self.path(), "naïve")
        with h5py.File(self.path()) as file:
            for name, value in file.attrs.items():
                self.assertIsNone(h5py.check_vlen_dtype(file.attrs.get_id(name).dtype), name)
            self.assertEqual(file.attrs["comment"].decode(), "naïve")
        with open(self.path(), "rb") as file:
            content = file.read()
        self.assertEqual(content[8], 3, "version of the superblock")
        for signature in (b"GCOL", b"TREE", b"SNOD", b"HEAP"):
            self.assertNotIn(signature, content)

    def test_integrals_on_disk(self):
        for kind, mf in ((ccsd.CCSD, mean_field(scf.RHF, WATER)), (rccsd.RCCSD, mean_field(scf.RHF, WATER)),
                         (uccsd.UCCSD, mean_field(scf.UHF, HYDROXYL, spin=1))):
            cc = solved(kind(mf))
            pyscf_export.write_dump(cc, self.path())
            cc.max_memory = 0
            cc._scf._eri = None
            pyscf_export.write_dump(cc, self.path("outcore.h5"))
            with h5py.File(self.path()) as incore, h5py.File(self.path("outcore.h5")) as outcore:
                self.assertEqual(set(incore), set(outcore))
                for name in set(incore) - {"seal"}:
                    np.testing.assert_allclose(outcore[name][()], incore[name][()], atol=1e-11)


class Seals(Dumps):
    """The exporter seals its dumps, and Trifuse accepts the seals. The function of the format page makes the same seals."""

    @classmethod
    def setUpClass(cls):
        cls.cases = [solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER))),
                     solved(pyscf.cc.CCSD(mean_field(scf.UHF, HYDROXYL, spin=1)))]

    def run_trifuse(self, *arguments):
        return subprocess.run([TRIFUSE, *arguments], capture_output=True, text=True)

    def test_dumps_are_sealed(self):
        for cc in self.cases:
            pyscf_export.write_dump(cc, self.path())
            self.assertEqual(pyscf_export.verify_seal(self.path()), [])
            with h5py.File(self.path()) as file:
                self.assertEqual(set(file["seal"]) - {"header"}, set(file) - {"seal"})
                self.assertAlmostEqual(file.attrs["scf_energy"], cc._scf.e_tot, 12)
            if TRIFUSE:
                done = self.run_trifuse("run", self.path(), "--json", self.path("report.json"))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("Trifuse dump, version 1.1, sealed", done.stdout)
                with open(self.path("report.json")) as file:
                    report = json.load(file)
                self.assertIs(report["input"]["sealed"], True)
                self.assertAlmostEqual(report["ccsd_energy"], cc.e_tot, 9)
                self.assertAlmostEqual(report["energies"][0]["ccsd_t_energy"], cc.e_tot + cc.ccsd_t(), 9)

    def test_every_dataset_and_attribute(self):
        for cc in self.cases:
            pyscf_export.write_dump(cc, self.path("sound.h5"))
            with h5py.File(self.path("sound.h5")) as file:
                changes = sorted(set(file) - {"seal"}) + ["attribute " + name for name in file.attrs]
            for change in changes:
                with open(self.path("sound.h5"), "rb") as sound, open(self.path(), "wb") as copy:
                    copy.write(sound.read())
                with h5py.File(self.path(), "r+") as file:
                    name = change.split()[-1]
                    if change.startswith("attribute"):
                        value = file.attrs[name]
                        file.attrs[name] = value + b"x" if isinstance(value, bytes) else np.nextafter(value, 9e9) \
                            if isinstance(value, float) else value + 1
                        expected = ["header"]
                    else:
                        numbers = file[name][()]
                        last = numbers.reshape(-1)[-1:]
                        last[:] = np.nextafter(last, 9e9)
                        file[name][...] = numbers
                        expected = [name]
                with self.subTest(change):
                    if name != "seal_block":
                        self.assertEqual(pyscf_export.verify_seal(self.path()), expected)
                    if TRIFUSE:
                        done = self.run_trifuse("run", self.path())
                        self.assertEqual(done.returncode, 1, done.stdout)
                        if name not in ("version", "format", "seal_block"):
                            self.assertIn("not match the seal", done.stderr)

    def test_the_function_of_the_format_page(self):
        with open(os.path.join(HERE, "..", "..", "tce_tiles", "docs", "dump-format.md")) as page:
            code = next(part.split("```")[0] for part in page.read().split("```python\n") if "def seal" in part)
        names = {}
        exec(code, names)
        for cc in self.cases:
            pyscf_export.write_dump(cc, self.path())
            with h5py.File(self.path(), "r+") as file:
                sums = {name: dataset[()] for name, dataset in file["seal"].items()}
                names["seal"](file)
                for name, dataset in file["seal"].items():
                    np.testing.assert_array_equal(dataset[()], sums[name])
                file.attrs["comment"] = "a remark  "
                file.attrs["molecule"] = "Hällö"
                names["seal"](file)
                header = file["seal/header"][0]
                pyscf_export.seal(file)
                self.assertEqual(file["seal/header"][0], header)
            if TRIFUSE:
                done = self.run_trifuse("info", self.path())
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_blocks_of_large_datasets(self):
        self.assertEqual(pyscf_export._seal_block(2**33), 1024)
        self.assertEqual(pyscf_export._seal_block(2**33 + 1), 2048)
        sums = pyscf_export._BlockSums(4)
        numbers = np.arange(10.0)
        for part in np.split(numbers, [1, 2, 7]):
            sums.add(part)
        np.testing.assert_array_equal(sums.result(), [zlib.crc32(numbers[n:n + 4].tobytes()) for n in (0, 4, 8)])

    def test_a_dump_that_trifuse_wrote(self):
        if not TRIFUSE:
            self.skipTest("needs --trifuse")
        for layout in ((), ("--irreps", "2")):
            done = self.run_trifuse("bench", "--occupied", "4", "--virtual", "12", *layout, "--write", self.path())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(pyscf_export.verify_seal(self.path()), [])
            with h5py.File(self.path(), "r+") as file:
                self.assertEqual(set(file["seal"]) - {"header"}, set(file) - {"seal"})
                file["ovvv"][0, 0, 0, 0] += 1e-12
            self.assertEqual(pyscf_export.verify_seal(self.path()), ["ovvv"])
            os.remove(self.path())


class RestrictedOpenShell(Dumps):
    def setUp(self):
        super().setUp()
        self.mf = mean_field(scf.ROHF, METHYLENE, spin=2)

    def test_pyscf_formula(self):
        """PySCF takes the diagonal of each spin's Fock matrix as orbital energies and adds f_ov t2."""
        self.check_own_dump(solved(pyscf.cc.CCSD(self.mf)))
        with h5py.File(self.path()) as file:
            self.assertEqual(file.attrs["reference"], b"ROHF")

    def test_loose_scf(self):
        """The remaining f_ov of a loosely converged SCF enters as in PySCF."""
        for kind, spin, atom in ((scf.RHF, 0, WATER), (scf.UHF, 2, METHYLENE)):
            mol = gto.M(atom=atom, basis="6-31g", verbose=0, spin=spin)
            self.check_own_dump(solved(pyscf.cc.CCSD(kind(mol).set(conv_tol=1e-6, conv_tol_grad=1e-3).run())))

    def test_semicanonical(self):
        """The standard ROHF-CCSD(T): PySCF gives it for orbitals that were made semicanonical beforehand."""
        cc = solved(pyscf.cc.CCSD(self.mf, frozen=1))
        pyscf_export.write_dump(cc, self.path())
        rotated = []
        for mo, fock, nocc in zip(cc.mo_coeff, self.mf.to_uhf().get_fock(), cc.mol.nelec):
            mo = mo.copy()
            for block in (slice(1, nocc), slice(nocc, None)):
                mo[:, block] = mo[:, block] @ np.linalg.eigh(mo[:, block].T @ fock @ mo[:, block])[1]
            rotated.append(mo)
        semicanonical = solved(pyscf.cc.UCCSD(self.mf.to_uhf(), frozen=1, mo_coeff=np.array(rotated)))
        self.assertLess(abs(semicanonical.e_corr - cc.e_corr), TOLERANCE)
        self.check(semicanonical.ccsd_t(), semicanonical=True)

        pyscf_export.write_dump(semicanonical, self.path())
        self.check(semicanonical.ccsd_t(), semicanonical=True)


class TwoSided(Dumps):
    def write_pair(self, cc, omega2):
        pyscf_export.write_dump(cc, self.path())
        reg = pyscf_export.solve_regularized_ccsd(cc, omega2)
        pyscf_export.write_left_dump(reg, self.path("left.h5"), omega2)
        return reg

    def assert_solves_shifted_equations(self, reg, omega2):
        """PySCF's spin-orbital code finds nothing to update when only its Fock matrix is shifted."""
        general = gccsd.GCCSD(reg._scf.to_ghf())
        eris = general.ao2mo()
        virtual = np.arange(general.nocc, general.nmo)
        eris.fock[virtual, virtual] += omega2
        t1, t2 = (addons.spatial2spin(t, eris.orbspin) for t in (reg.t1, reg.t2))
        new1, new2 = general.update_amps(t1, t2, eris)
        self.assertLess(max(abs(new1 - t1).max(), abs(new2 - t2).max()), 1e-8)

    def test_regularised_water(self):
        cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER)))
        reg = self.write_pair(cc, 0.1)
        self.assert_solves_shifted_equations(reg, 0.1)
        self.assertGreater(reg.e_corr, cc.e_corr)
        two_sided = self.check(left=self.path("left.h5"), omega2=0.1)
        self.assertGreater(two_sided["E(T)"], self.check(omega2=0.1)["E(T)"])
        other = brute_force.closed_shell_energies(self.path(), self.path("left.h5"), 0.1)
        self.assertLess(abs(other["E(T)"] - two_sided["E(T)"]), 1e-14)

    def test_regularised_hydroxyl(self):
        cc = solved(pyscf.cc.CCSD(mean_field(scf.UHF, HYDROXYL, spin=1, symmetry="C2v")))
        self.assert_solves_shifted_equations(self.write_pair(cc, 0.2), 0.2)
        self.check(left=self.path("left.h5"), omega2=0.2)

    def test_regularised_from_mean_field(self):
        mf = mean_field(scf.RHF, WATER)
        reg = pyscf_export.solve_regularized_ccsd(mf, 0.1, frozen=1)
        again = self.write_pair(solved(pyscf.cc.CCSD(mf, frozen=1)), 0.1)
        self.assertLess(abs(reg.e_corr - again.e_corr), 1e-6)

    def test_zero_shift_is_the_genuine_energy(self):
        cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER), frozen=1))
        reg = self.write_pair(cc, 0.0)
        self.assertLess(abs(reg.e_corr - cc.e_corr), TOLERANCE)
        self.check(cc.ccsd_t(), left=self.path("left.h5"))

    def test_lambda(self):
        """RHF and UHF dumps of one molecule against the definition of the energy on determinants."""
        mf = mean_field(scf.RHF, "H 0 0 0; H 0 0 0.8; H 0 1.1 0; H 0 1.2 0.9")
        cc = solved(pyscf.cc.CCSD(mf))
        cc.solve_lambda()
        right, left = spin_blocks(cc.t1, cc.t2), spin_blocks(cc.l1, cc.l2)
        self.check_own_dump(cc)
        self.assertLess(abs(operator_algebra.triples_energy(mf, right, right)["E(T)"] - cc.ccsd_t()), TOLERANCE)

        expected = operator_algebra.triples_energy(mf, left, right)["E(T)"]
        self.assertGreater(abs(expected - cc.ccsd_t()), 1e-7)
        pyscf_export.write_lambda_dump(cc, self.path("lambda.h5"))
        self.check(expected, left=self.path("lambda.h5"))

        unrestricted = solved(pyscf.cc.UCCSD(mf.to_uhf()))
        pyscf_export.write_dump(unrestricted, self.path())
        pyscf_export.write_lambda_dump(unrestricted, self.path("lambda.h5"))
        self.check(expected, left=self.path("lambda.h5"))


class Refusals(Dumps):
    def assert_refused(self, words, call, *arguments, **options):
        with self.assertRaisesRegex(pyscf_export.ExportError, words):
            call(*arguments, **options)
        self.assertEqual(os.listdir(self.folder), [])

    def test_calculations(self):
        mf = mean_field(scf.RHF, WATER)
        fresh = pyscf.cc.CCSD(mf)
        self.assert_refused("call cc.kernel", pyscf_export.write_dump, fresh, self.path())
        unconverged = fresh.set(max_cycle=2, verbose=0).run()
        self.assert_refused("not converged", pyscf_export.write_dump, unconverged, self.path())
        self.assert_refused("GCCSD is not supported", pyscf_export.write_dump, gccsd.GCCSD(mf.to_ghf()), self.path())
        self.assert_refused("not a PySCF coupled-cluster", pyscf_export.write_dump, mf, self.path())
        self.assert_refused("omega2 is -1", pyscf_export.solve_regularized_ccsd, fresh, -1.0)
        self.assert_refused("solve_regularized_ccsd", pyscf_export.write_left_dump, unconverged, self.path(), 0.1)
        pyscf_export.write_dump(unconverged, self.path(), allow_unconverged=True)
        os.remove(self.path())
        unconverged.converged, mf.converged = True, False
        self.assert_refused("SCF is not converged", pyscf_export.write_dump, unconverged, self.path())

    def test_orbitals(self):
        mf = mean_field(scf.RHF, WATER)
        mixed = mf.mo_coeff.copy()
        mixed[:, 3:5] = mixed[:, 3:5] @ np.array([[0.8, 0.6], [-0.6, 0.8]])
        cc = solved(ccsd.CCSD(mf, mo_coeff=mixed))
        self.assert_refused("not canonical", pyscf_export.write_dump, cc, self.path())
        cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER, symmetry=True)))
        cc.t1 = cc.t1 + 1e-3
        self.assert_refused("symmetry", pyscf_export.write_dump, cc, self.path())
        cc = rccsd.RCCSD(mf, mo_coeff=mf.mo_coeff + 0j)
        self.assert_refused("orbitals are complex", pyscf_export.write_dump, cc, self.path())

    def test_labels(self):
        cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, "H 0 0 0; H 0 0 0.74")))
        reg = pyscf_export.solve_regularized_ccsd(cc, 0.1)
        self.assert_refused("omega2 = 0.1, not 0.2", pyscf_export.write_left_dump, reg, self.path(), 0.2)
        self.assert_refused("standard CCSD", pyscf_export.write_lambda_dump, reg, self.path())
        self.assert_refused("solve_regularized_ccsd", pyscf_export.write_left_dump, reg.run(), self.path())


class ExistingFiles(Dumps):
    """A dump replaces an earlier dump of its kind, and any other file only if this is allowed. A failure leaves no file."""

    @classmethod
    def setUpClass(cls):
        cls.cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, "H 0 0 0; H 0 0 0.74")))
        cls.reg = pyscf_export.solve_regularized_ccsd(cls.cc, 0.1)

    def write(self, name="dump.h5", content="precious\n"):
        with open(self.path(name), "w") as file:
            file.write(content)

    def read(self, name="dump.h5"):
        with open(self.path(name), "rb") as file:
            return file.read()

    def assert_kept(self, words, call=None, **options):
        before = {name: self.read(name) for name in os.listdir(self.folder) if os.path.exists(self.path(name))}
        names = set(os.listdir(self.folder))
        with self.assertRaisesRegex(pyscf_export.ExportError, words):
            (call or pyscf_export.write_dump)(self.cc, self.path(), **options)
        self.assertEqual(set(os.listdir(self.folder)), names)
        self.assertEqual({name: self.read(name) for name in before}, before)

    def test_earlier_dumps_are_replaced(self):
        for call, cc in ((pyscf_export.write_dump, self.cc), (pyscf_export.write_left_dump, self.reg),
                         (pyscf_export.write_lambda_dump, self.cc)):
            call(cc, self.path(call.__name__), comment="first")
            call(cc, self.path(call.__name__), comment="second")
            with h5py.File(self.path(call.__name__)) as file:
                self.assertEqual(file.attrs["comment"], b"second")
        self.assertEqual(len(os.listdir(self.folder)), 3)

    def test_other_files_are_kept(self):
        self.write()
        self.assert_kept("exists already")
        self.write(content="")
        self.assert_kept("exists already")
        with h5py.File(self.path(), "w") as file:  # a checkpoint file, say
            file.attrs["format"] = "another"
        self.assert_kept("exists already")
        pyscf_export.write_dump(self.cc, self.path(), overwrite=True)
        self.assert_kept("not an earlier lambda dump", pyscf_export.write_lambda_dump)
        with h5py.File(self.path(), "r+") as file:
            file.attrs["program"] = "trifuse"
        self.assert_kept("exists already")
        pyscf_export.write_lambda_dump(self.cc, self.path(), overwrite=True)
        self.assertEqual(pyscf_export.verify_seal(self.path()), [])

    def test_links_are_not_followed(self):
        for target in ("target", "nothing", "dump.h5"):
            self.write("target")
            os.symlink(target, self.path())
            self.assert_kept("symbolic link")
            pyscf_export.write_dump(self.cc, self.path(), overwrite=True)
            self.assertFalse(os.path.islink(self.path()))
            self.assertEqual(self.read("target"), b"precious\n")
            self.assertFalse(os.path.exists(self.path("nothing")))
            os.remove(self.path())

    def test_what_is_no_file_is_kept(self):
        for make in (os.mkdir, os.mkfifo):
            make(self.path())
            for overwrite in (False, True):
                with self.assertRaisesRegex(pyscf_export.ExportError, "not a regular file"):
                    pyscf_export.write_dump(self.cc, self.path(), overwrite=overwrite)
            self.assertEqual(os.listdir(self.folder), ["dump.h5"])
            os.rmdir(self.path()) if make is os.mkdir else os.remove(self.path())

    def test_the_old_temporary_name_is_somebody_elses(self):
        self.write("dump.h5.partial")
        os.symlink("dump.h5.partial", self.path("link.h5.partial"))
        pyscf_export.write_dump(self.cc, self.path())
        pyscf_export.write_dump(self.cc, self.path("link.h5"))
        self.assertEqual(self.read("dump.h5.partial"), b"precious\n")
        self.assertEqual(len(os.listdir(self.folder)), 4)

    def test_exceptions_leave_nothing(self):
        for existing in (False, True):
            if existing:
                pyscf_export.write_dump(self.cc, self.path())
            for failure in (KeyboardInterrupt, MemoryError, OSError):
                eris = self.cc.ao2mo(self.cc.mo_coeff)

                def fail(*_):
                    self.assertEqual(len(os.listdir(self.folder)), 1 + existing)  # the dump is under way
                    raise failure

                eris.get_ovvv = fail
                before = self.read() if existing else None
                with self.assertRaises(failure):
                    pyscf_export.write_dump(self.cc, self.path(), eris=eris)
                self.assertEqual(os.listdir(self.folder), ["dump.h5"] if existing else [])
                self.assertEqual(self.read() if existing else None, before)

    def test_a_file_that_appears_meanwhile_is_kept(self):
        for overwrite in (False, True):
            eris = self.cc.ao2mo(self.cc.mo_coeff)
            get_ovvv = eris.get_ovvv
            eris.get_ovvv = lambda *rows: self.write() or get_ovvv(*rows)
            if overwrite:
                pyscf_export.write_dump(self.cc, self.path(), eris=eris, overwrite=True)
                self.assertEqual(pyscf_export.verify_seal(self.path()), [])
                continue
            with self.assertRaisesRegex(pyscf_export.ExportError, "exists already"):
                pyscf_export.write_dump(self.cc, self.path(), eris=eris)
            self.assertEqual((os.listdir(self.folder), self.read()), (["dump.h5"], b"precious\n"))
            os.remove(self.path())

    def test_permissions_are_those_of_other_files(self):
        before = os.umask(0o027)
        try:
            pyscf_export.write_dump(self.cc, self.path())
        finally:
            os.umask(before)
        self.assertEqual(os.stat(self.path()).st_mode & 0o777, 0o640)


class CommandLine(Dumps):
    def run_tool(self, *arguments, molecule="3\nwater\nO 0 0 0\nH 0 0.757 0.587\nH 0 -0.757 0.587\n", fresh=False):
        with open(self.path("molecule.xyz"), "w") as file:
            file.write(molecule)
        line = [EXPORTER, "molecule.xyz", *arguments]
        if fresh:
            return subprocess.run([sys.executable, *line], cwd=self.folder, capture_output=True, text=True)
        return self.run_in_copy(line)

    def run_in_copy(self, line):
        """Runs the tool in a copy of this process, which need not import PySCF again: that takes longer than most runs."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    os.dup2(out.fileno(), 1)
                    os.dup2(err.fileno(), 2)
                    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                    os.chdir(self.folder)
                    sys.argv = line
                    runpy.run_path(EXPORTER, run_name="__main__")
                    code = 0
                except SystemExit as end:
                    code = 0 if end.code is None else end.code if isinstance(end.code, int) else 1
                    if not isinstance(end.code, (int, type(None))):
                        print(end.code, file=sys.stderr)
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(line, code, out.read(), err.read())

    def test_water(self):
        done = self.run_tool("--basis", "6-31g", "--frozen", "1", "--omega2", "0.1", "--lambda", "lambda.h5",
                             "--triples", "-o", "dump.h5", fresh=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        printed = next(float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("E(T)"))
        self.assertLess(abs(self.check()["E(T)"] - printed), 1e-9)
        self.check(left=self.path("dump.left_0.1.h5"), omega2=0.1)
        self.check(left=self.path("lambda.h5"))

    def test_bad_input(self):
        done = self.run_tool("--basis", "no-such-basis", "-o", "dump.h5", fresh=True)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        for arguments, words in ((["--basis", "no-such-basis"], "no-such-basis"), ([], "--basis"),
                                 (["--basis", "6-31g", "--spin", "1"], "spin"),
                                 (["--basis", "6-31g", "--frozen", "9"], "frozen"),
                                 (["--basis", "6-31g", "--omega2", "nan"], "omega2")):
            done = self.run_tool(*arguments, "-o", "dump.h5")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for text in ("", "two\n\nH 0 0 0\n", "1\n\nXx 0 0 0\n", "1\n\nH 0 0\n"):
            done = self.run_tool("--basis", "6-31g", "-o", "dump.h5", molecule=text)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_outputs(self):
        """The input is refused before anything is computed, and before the basis is read."""
        with open(self.path("other"), "w") as file:
            file.write("precious\n")
        for outputs, words in ((["-o", "other"], "exists already"), (["-o", "molecule.xyz"], "molecule"),
                               (["-o", "a.h5", "--lambda", "./a.h5"], "same name"),
                               (["-o", "a.h5", "--omega2", "0.1", "--left", "other"], "exists already"),
                               (["-o", "molecule.xyz", "--overwrite"], "molecule")):
            done = self.run_tool("--basis", "no-such-basis", *outputs)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(set(os.listdir(self.folder)), {"molecule.xyz", "other"})
        hydrogen = "2\n\nH 0 0 0\nH 0 0 0.74\n"
        done = self.run_tool("--basis", "sto-3g", "-o", "other", "--overwrite", molecule=hydrogen)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(pyscf_export.verify_seal(self.path("other")), [])


if __name__ == "__main__":
    if "--trifuse" in sys.argv:
        at = sys.argv.index("--trifuse")
        TRIFUSE = os.path.abspath(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    unittest.main()
