#!/usr/bin/env python3
"""trifuse.pyscf against PySCF's own (T), and against the program for what PySCF does not have."""

import io
import os
import tempfile
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyscf.cc
from pyscf import gto, scf
from pyscf.cc import ccsd, ccsd_t, gccsd, rccsd, uccsd, uccsd_t

import trifuse
import trifuse.pyscf
from molecules import HYDROXYL, METHYLENE, WATER, hydroxyl, mean_field, solved, water

TOLERANCE = 1e-10


class Case(unittest.TestCase):
    def check(self, cc, **options):
        """E(T) with and without integrals agrees with PySCF's, and leaves the object as it was."""
        eris = cc.ao2mo(cc.mo_coeff)
        expected = cc.ccsd_t(eris=eris)
        before = [np.array(t) for t in (cc.t1 if isinstance(cc.t1, tuple) else (cc.t1,))]
        found = trifuse.pyscf.ccsd_t(cc, eris=eris, **options)
        self.assertIsInstance(found, float)
        self.assertLess(abs(found - expected), TOLERANCE)
        self.assertLess(abs(trifuse.pyscf.kernel(cc, eris, cc.t1, cc.t2, 0) - expected), TOLERANCE)
        for t, old in zip(cc.t1 if isinstance(cc.t1, tuple) else (cc.t1,), before):
            np.testing.assert_array_equal(t, old)
        return expected


class RestrictedReferences(Case):
    def test_both_classes(self):
        mf = mean_field(scf.RHF, WATER)
        for kind in (ccsd.CCSD, rccsd.RCCSD):
            self.check(solved(kind(mf)))

    def test_frozen_orbitals(self):
        mf = mean_field(scf.RHF, WATER)
        self.check(solved(pyscf.cc.CCSD(mf, frozen=1)))
        self.check(solved(pyscf.cc.CCSD(mf, frozen=[0, 6, 12])))

    def test_frozen_natural_orbitals(self):
        self.check(solved(pyscf.cc.FNOCCSD(mean_field(scf.RHF, WATER, "cc-pvdz"), thresh=1e-3)))

    def test_symmetry(self):
        for options in ({"symmetry": True}, {"symmetry": "C2v"}):
            self.check(solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER, **options))))
        self.check(solved(pyscf.cc.CCSD(mean_field(scf.RHF, "N 0 0 0; N 0 0 1.1", symmetry=True), frozen=2)))

    def test_x2c(self):
        self.check(solved(pyscf.cc.CCSD(mean_field(lambda mol: scf.RHF(mol).x2c(), WATER))))

    def test_effective_core_potential(self):
        self.check(solved(pyscf.cc.CCSD(mean_field(scf.RHF, "Br 0 0 0; H 0 0 1.41", "lanl2dz", ecp={"Br": "lanl2dz"}))))

    def test_density_fitting(self):
        self.check(solved(pyscf.cc.CCSD(mean_field(lambda mol: scf.RHF(mol).density_fit(), WATER))))

    def test_integrals_on_disk(self):
        for kind in (ccsd.CCSD, rccsd.RCCSD):
            for symmetry in (False, True):
                cc = solved(kind(mean_field(scf.RHF, WATER, symmetry=symmetry)))
                expected = cc.ccsd_t()
                cc.max_memory = 0
                cc._scf._eri = None
                eris = cc.ao2mo(cc.mo_coeff)
                self.assertNotIsInstance(eris.ovvv, np.ndarray)
                self.assertLess(abs(trifuse.pyscf.ccsd_t(cc, eris=eris) - expected), TOLERANCE)

    def test_objects_without_ovvv(self):
        """The integrals of gpu4pyscf's CCSD have no (ia|bc)."""
        class Direct(ccsd.CCSD):
            def ao2mo(self, mo_coeff=None):
                eris = super().ao2mo(mo_coeff)
                eris.ovvv = None
                return eris

        cc = water()
        direct = Direct(cc._scf)
        found = trifuse.pyscf.ccsd_t(direct, cc.t1, cc.t2, direct.ao2mo())
        self.assertLess(abs(found - cc.ccsd_t()), TOLERANCE)

    def test_loose_scf(self):
        mol = gto.M(atom=WATER, basis="6-31g", verbose=0)
        self.check(solved(pyscf.cc.CCSD(scf.RHF(mol).set(conv_tol=1e-6, conv_tol_grad=1e-3).run())))

    def test_one_pair(self):
        self.check(solved(pyscf.cc.CCSD(mean_field(scf.RHF, "H 0 0 0; H 0 0 0.74"))))


class OpenShells(Case):
    def test_unrestricted(self):
        self.check(hydroxyl())
        self.check(solved(pyscf.cc.CCSD(mean_field(scf.UHF, HYDROXYL, spin=1, symmetry="C2v"))))

    def test_frozen_orbitals(self):
        mf = mean_field(scf.UHF, METHYLENE, spin=2)
        self.check(solved(pyscf.cc.CCSD(mf, frozen=1)))
        self.check(solved(pyscf.cc.UCCSD(mf, frozen=[[0, 12], [0, 11]])))

    def test_few_beta_electrons(self):
        self.check(solved(pyscf.cc.CCSD(mean_field(scf.UHF, "Li 0 0 0", spin=1))))
        self.check(solved(pyscf.cc.CCSD(mean_field(scf.UHF, "H 0 0 0; H 0 0 1; H 0 1 0; H 1 0 0", spin=4))))

    def test_restricted_open_shell(self):
        self.check(solved(pyscf.cc.CCSD(mean_field(scf.ROHF, METHYLENE, spin=2))))
        self.check(solved(pyscf.cc.CCSD(mean_field(scf.ROHF, METHYLENE, spin=2, symmetry=True), frozen=1)))

    def test_density_fitting(self):
        self.check(solved(pyscf.cc.CCSD(mean_field(lambda mol: scf.UHF(mol).density_fit(), METHYLENE, spin=2))))

    def test_integrals_on_disk(self):
        for symmetry in (False, "C2v"):
            cc = solved(uccsd.UCCSD(mean_field(scf.UHF, HYDROXYL, spin=1, symmetry=symmetry)))
            expected = cc.ccsd_t()
            cc.max_memory = 0
            cc._scf._eri = None
            eris = cc.ao2mo(cc.mo_coeff)
            self.assertNotIsInstance(eris.ovVV, np.ndarray)
            self.assertLess(abs(trifuse.pyscf.ccsd_t(cc, eris=eris) - expected), TOLERANCE)

    def test_semicanonical(self):
        """The standard ROHF-CCSD(T): PySCF gives it for orbitals that were made semicanonical beforehand."""
        mf = mean_field(scf.ROHF, METHYLENE, spin=2)
        cc = solved(pyscf.cc.CCSD(mf, frozen=1))
        rotated = []
        for mo, fock, nocc in zip(cc.mo_coeff, mf.to_uhf().get_fock(), cc.mol.nelec):
            mo = mo.copy()
            for block in (slice(1, nocc), slice(nocc, None)):
                mo[:, block] = mo[:, block] @ np.linalg.eigh(mo[:, block].T @ fock @ mo[:, block])[1]
            rotated.append(mo)
        expected = solved(pyscf.cc.UCCSD(mf.to_uhf(), frozen=1, mo_coeff=np.array(rotated))).ccsd_t()
        self.assertLess(abs(trifuse.pyscf.ccsd_t(cc, rohf="semicanonical") - expected), TOLERANCE)


class LeftAmplitudes(Case):
    def by_dump(self, cc, left, write, **options):
        with tempfile.TemporaryDirectory() as folder:
            right_path, left_path = os.path.join(folder, "right.h5"), os.path.join(folder, "left.h5")
            trifuse.pyscf._export.write_dump(cc, right_path)
            write(left, left_path)
            return trifuse.run(right_path, left=left_path, **options)

    def test_lambda_and_regularised(self):
        """The same energies as those of dumps."""
        for cc in (water(), hydroxyl(), solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER, symmetry=True)))):
            found = trifuse.pyscf.triples(cc, left="lambda")
            expected = self.by_dump(cc, cc, trifuse.pyscf._export.write_lambda_dump)
            self.assertEqual((found.method, expected.method), ("Lambda-CCSD(T)",) * 2)
            self.assertLess(abs(float(found) - float(expected)), TOLERANCE)
            self.assertGreater(abs(float(found) - cc.ccsd_t()), 1e-6)
            regularised = trifuse.pyscf.solve_regularized_ccsd(cc, 0.1)
            found = trifuse.pyscf.triples(cc, left=regularised)
            expected = self.by_dump(cc, regularised, trifuse.pyscf._export.write_left_dump)
            self.assertEqual((found.method, expected.method), ("Reg-CCSD(T)",) * 2)
            self.assertEqual(found.energies[0].omega2, 0.1)
            self.assertLess(abs(float(found) - float(expected)), TOLERANCE)


class Messages(Case):
    def test_verbosity(self):
        cc = water()
        for verbose, words, silent in ((0, [], True), (3, ["RCCSD(T) correction", "CCSD(T) correction"], False), (5, ["heck"], False)):
            cc.stdout, cc.verbose = io.StringIO(), verbose
            trifuse.pyscf.ccsd_t(cc)
            output = cc.stdout.getvalue()
            self.assertEqual(output == "", silent, output)
            if words:
                self.assertTrue(any(word in output for word in words), output)


class Patches(Case):
    def test_patch(self):
        objects = [water(), hydroxyl()]
        originals = [ccsd_t.kernel, uccsd_t.kernel]
        expected = [cc.ccsd_t() for cc in objects]
        here = [trifuse.pyscf.ccsd_t(cc) for cc in objects]
        with trifuse.pyscf.patch():
            for cc, energy, theirs in zip(objects, here, expected):
                self.assertEqual(cc.ccsd_t(), energy)
                self.assertLess(abs(energy - theirs), TOLERANCE)
            with trifuse.pyscf.patch(omega2=0.1):
                self.assertNotAlmostEqual(objects[0].ccsd_t(), here[0], 6)
            self.assertEqual(objects[0].ccsd_t(), here[0])
        self.assertEqual([ccsd_t.kernel, uccsd_t.kernel], originals)
        trifuse.pyscf.patch()
        self.assertEqual(objects[0].ccsd_t(), here[0])
        trifuse.pyscf.unpatch()
        self.assertEqual([ccsd_t.kernel, uccsd_t.kernel], originals)

    def test_unsupported_objects_use_pyscf(self):
        mf = mean_field(scf.RHF, WATER)
        cc = solved(rccsd.RCCSD(mf))
        cc.cc2 = True
        expected = cc.ccsd_t()
        with trifuse.pyscf.patch():
            cc.stdout, cc.verbose = io.StringIO(), 2
            self.assertEqual(cc.ccsd_t(), expected)
            self.assertIn("not supported", cc.stdout.getvalue())


class Refusals(Case):
    def refused(self, words, cc, kind=trifuse.UsageError, **options):
        with self.assertRaisesRegex(kind, words) as caught:
            trifuse.pyscf.ccsd_t(cc, **options)
        self.assertTrue(str(caught.exception).endswith("."), str(caught.exception))

    def test_objects(self):
        mf = mean_field(scf.RHF, WATER)
        fresh = pyscf.cc.CCSD(mf)
        self.refused("call cc.kernel", fresh)
        unconverged = fresh.set(max_cycle=2, verbose=0).run()
        self.refused("not converged", unconverged)
        self.refused("not a PySCF coupled-cluster", mf)
        self.refused("GCCSD is not supported", gccsd.GCCSD(mf.to_ghf()))
        self.refused("left is 'Lambda'", water(), left="Lambda")
        self.refused("solve_regularized_ccsd", water(), left=water())

    def test_wrong_amplitudes(self):
        cc, other = water(), solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER.replace("0.587", "0.6"))))
        self.refused("", cc, trifuse.InputError, t1=other.t1, t2=other.t2)
        self.refused("", cc, trifuse.InputError, eris=other.ao2mo())

    def test_amplitudes_of_the_caller(self):
        """Amplitudes that are passed need no converged object, as in PySCF."""
        cc = water()
        t1, t2, expected = cc.t1, cc.t2, cc.ccsd_t()
        fresh = pyscf.cc.CCSD(cc._scf)
        self.assertLess(abs(trifuse.pyscf.ccsd_t(fresh, t1, t2) - expected), TOLERANCE)


if __name__ == "__main__":
    unittest.main()
