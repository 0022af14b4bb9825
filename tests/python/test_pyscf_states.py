#!/usr/bin/env python3
"""Objects of PySCF in other states than one after SCF and CCSD: restarted, changed, at another geometry, of other orbitals."""

import copy
import io
import os
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyscf.cc
import pyscf.pbc.cc
import pyscf.pbc.gto
import pyscf.pbc.scf
from pyscf import dft, gto, scf
from pyscf.scf import chkfile

import trifuse
import trifuse.pyscf
from molecules import HYDROXYL, METHYLENE, WATER, hydroxyl, mean_field, solved, water
from temporary_folder import FolderTest
from trifuse import _pyscf_export as pyscf_export

TOLERANCE = 1e-10
BENT = WATER.replace("0.587", "0.65")


def changed(cc, **members):
    other = copy.copy(cc)
    other.__dict__.update(members)
    return other


class Case(FolderTest):
    @classmethod
    def setUpClass(cls):
        cls.water, cls.hydroxyl = water(), hydroxyl()

    def same(self, found, expected):
        self.assertLess(abs(float(found) - float(expected)), TOLERANCE)


class Occupations(Case):
    def test_a_hole_below_an_occupied_orbital_is_refused(self):
        """PySCF's coupled cluster takes the first orbitals for the occupied ones."""
        for cc, words in ((self.water, "an empty orbital before .* first 5 "), (self.hydroxyl, "an empty beta orbital before .* first 4 ")):
            occupations = np.array(cc.mo_occ)
            last = occupations[-1] if occupations.ndim > 1 else occupations
            n = int(np.count_nonzero(last))
            last[[n - 1, n]] = last[[n, n - 1]]
            other = changed(cc, mo_occ=occupations)
            for call in (trifuse.pyscf.ccsd_t, lambda other: pyscf_export.write_dump(other, self.path())):
                with self.assertRaisesRegex(Exception, words + ".*put the occupied orbitals first"):
                    call(other)
            with trifuse.pyscf.patch(), self.assertRaisesRegex(trifuse.UsageError, words):
                other.ccsd_t()
            self.assertEqual(os.listdir(self.folder), [])

    def test_a_frozen_hole_is_no_hole(self):
        occupations, list_of_frozen = np.array(self.hydroxyl.mo_occ), [[], [2]]
        occupations[1][[2, 4]] = occupations[1][[4, 2]]
        pyscf_export.check_supported(changed(self.hydroxyl, mo_occ=occupations, frozen=list_of_frozen))
        with self.assertRaisesRegex(pyscf_export.ExportError, "empty beta orbital"):
            pyscf_export.check_supported(changed(self.hydroxyl, mo_occ=occupations, frozen=1))

    def test_fractional_occupations_are_refused(self):
        with self.assertRaisesRegex(trifuse.UsageError, "fractional"):
            trifuse.pyscf.ccsd_t(changed(self.water, mo_occ=np.array(self.water.mo_occ) * 0.9))


class LambdaAmplitudes(Case):
    def test_those_of_another_geometry_are_refused(self):
        """PySCF keeps l1, l2 and converged_lambda when CCSD runs again."""
        for kind, before, atom, spin in ((scf.RHF, WATER, BENT, 0), (scf.UHF, HYDROXYL, HYDROXYL.replace("0.97", "1.05"), 1),
                                         (lambda mol: scf.RHF(mol).density_fit(), WATER, BENT, 0)):
            cc = solved(pyscf.cc.CCSD(mean_field(kind, before, "sto-3g", spin=spin)))
            cc.solve_lambda()
            right = trifuse.pyscf.triples(cc, left="lambda")
            self.assertEqual(right.warnings, ())
            name, status, change, limit, _ = right.checks[-1]
            self.assertEqual((name, status, limit), ("left: iteration of PySCF's Lambda equations", "passed", 1e-4))
            self.assertTrue(0 < change < 1e-7, change)
            self.assertEqual(right.to_dict()["checks"][-1]["value"], change)
            mol = gto.M(atom=atom, basis="sto-3g", spin=spin, verbose=0)
            cc._scf.reset(mol).kernel()
            cc.reset(mol)
            cc.mo_coeff = cc._scf.mo_coeff
            cc.kernel()
            self.assertTrue(cc.converged_lambda)
            with self.assertRaisesRegex(trifuse.UsageError, r"are not those of t1 and t2; call solve_lambda\(\)"):
                trifuse.pyscf.triples(cc, left="lambda")
            with self.assertRaisesRegex(pyscf_export.ExportError, "are not those of t1 and t2"):
                pyscf_export.write_lambda_dump(cc, self.path())
            self.assertEqual(os.listdir(self.folder), [])
            cc.solve_lambda()
            self.assertNotAlmostEqual(float(trifuse.pyscf.triples(cc, left="lambda")), float(right), 8)

    def test_a_small_difference_is_told(self):
        cc = water()
        cc.solve_lambda()
        for change, refused in ((1e-5, False), (1e-3, True)):
            other = changed(cc, l1=cc.l1 * (1 + change / np.linalg.norm(cc.l1)))
            if refused:
                with self.assertRaisesRegex(trifuse.UsageError, "are not those of t1 and t2"):
                    trifuse.pyscf.triples(other, left="lambda")
            else:
                warnings = trifuse.pyscf.triples(other, left="lambda").warnings
                self.assertIn("to this threshold; call solve_lambda() again.", " ".join(warnings))
                with self.assertWarnsRegex(UserWarning, "call solve_lambda"):
                    pyscf_export.write_lambda_dump(other, self.path())

    def test_they_belong_to_the_amplitudes_of_the_call(self):
        cc = water()
        expected = trifuse.pyscf.triples(cc, left="lambda")
        self.assertNotIn("iteration", str(expected))  # PySCF has just solved the equations
        fresh = pyscf.cc.CCSD(cc._scf).set(conv_tol_normt=1e-9, max_cycle=200)
        self.same(trifuse.pyscf.triples(fresh, cc.t1, cc.t2, left="lambda"), expected)


class Restarts(Case):
    def test_amplitudes_from_files(self):
        mf = self.water._scf
        mf.chkfile = self.path("scf.chk")
        mf.dump_chk(vars(mf))
        mol, members = chkfile.load_scf(mf.chkfile)
        again = scf.RHF(mol)
        again.__dict__.update(members)
        self.assertFalse(again.converged)
        cc = pyscf.cc.CCSD(again)
        cc.t1, cc.t2 = self.water.t1, self.water.t2
        expected = self.water.ccsd_t()
        result = trifuse.pyscf.triples(cc)
        self.same(result, expected)
        self.assertEqual(result.warnings, ())
        with trifuse.pyscf.patch():
            self.same(cc.ccsd_t(), expected)
        pyscf_export.write_dump(cc, self.path())
        self.same(trifuse.run(self.path()), expected)
        with trifuse.Dump(self.path()) as dump:
            self.assertIn("amplitudes set or restored", dump.attributes["comment"])
            self.assertNotIn("convergence", dump.attributes)
        stopped = pyscf.cc.CCSD(again).set(max_cycle=2, verbose=0).run()
        with self.assertRaisesRegex(trifuse.UsageError, "not converged"):
            trifuse.pyscf.triples(stopped)

    def test_convergence_is_stated(self):
        cc = self.water
        pyscf_export.write_dump(cc, self.path())
        cc.solve_lambda()
        pyscf_export.write_lambda_dump(cc, self.path("lambda.h5"))
        pyscf_export.write_left_dump(pyscf_export.solve_regularized_ccsd(cc, 0.1), self.path("left.h5"))
        for name in ("dump.h5", "lambda.h5", "left.h5"):
            with trifuse.Dump(self.path(name)) as dump:
                self.assertEqual(dump.attributes["convergence"], cc.conv_tol_normt)
        self.assertEqual(pyscf_export.convergence_of(changed(cc, converged=False)), None)


def rotated(cc):
    """The object in orbitals that are mixed at random among the occupied ones and among the virtual ones."""
    rng = np.random.default_rng(1)
    restricted = not isinstance(cc, pyscf.cc.uccsd.UCCSD)
    each = [(cc.mo_coeff, cc.nocc)] if restricted else list(zip(cc.mo_coeff, cc.nocc))
    mixing = [[np.linalg.qr(np.eye(n) + 0.3 * rng.normal(size=(n, n)))[0] for n in (o, mo.shape[1] - o)] for mo, o in each]
    mixed = [np.hstack([mo[:, :o] @ u_occ, mo[:, o:] @ u_vir]) for (mo, o), (u_occ, u_vir) in zip(each, mixing)]
    (u, w), (v, x) = mixing[0], mixing[-1]

    def doubles(t2, u, v, w, x):
        return np.einsum("ijab,ik,jl,ac,bd->klcd", t2, u, v, w, x, optimize=True)

    other = type(cc)(cc._scf, mo_coeff=mixed[0] if restricted else np.array(mixed))
    if restricted:
        other.t1, other.t2 = u.T @ cc.t1 @ w, doubles(cc.t2, u, u, w, w)
    else:
        other.t1 = (u.T @ cc.t1[0] @ w, v.T @ cc.t1[1] @ x)
        other.t2 = (doubles(cc.t2[0], u, u, w, w), doubles(cc.t2[1], u, v, w, x), doubles(cc.t2[2], v, v, x, x))
    return other


def semicanonical(cc, eris):
    """Orbitals for which f_ij and f_ab are diagonal."""
    both = []
    restricted = not isinstance(cc, pyscf.cc.uccsd.UCCSD)
    for mo, fock, n in [(cc.mo_coeff, eris.fock, cc.nocc)] if restricted else zip(cc.mo_coeff, eris.fock, cc.nocc):
        both.append(np.hstack([mo[:, part] @ np.linalg.eigh(fock[part, part])[1] for part in (slice(None, n), slice(n, None))]))
    return both[0] if restricted else np.array(both)


class OtherOrbitals(Case):
    def kohn_sham(self, kind=dft.RKS, **options):
        # Not OH: a rotation of its singly occupied orbital about the axis changes no energy, so CCSD may not converge.
        mol = gto.M(atom=WATER if kind is dft.RKS else METHYLENE, basis="6-31g", verbose=0, **options)
        return solved(pyscf.cc.CCSD(kind(mol).set(xc="pbe", conv_tol=1e-11).run().to_hf()))

    def everywhere(self, cc, expected):
        """The object, its dump and the arrays of the dump give this E(T), and say what they have rotated."""
        pyscf_export.write_dump(cc, self.path(), overwrite=True)
        with trifuse.Dump(self.path()) as dump:
            self.assertEqual(dump.reference, "UHF" if isinstance(cc, pyscf.cc.uccsd.UCCSD) else "RHF")
            for result in (trifuse.pyscf.triples(cc), trifuse.run(self.path()), trifuse.triples(**dump)):
                self.same(result, expected)
                self.assertIn("not canonical", " ".join(result.warnings))

    def test_rotations_do_not_change_the_energy(self):
        fitted = solved(pyscf.cc.CCSD(mean_field(lambda mol: scf.RHF(mol).density_fit(), WATER)))
        for cc in (self.water, self.hydroxyl, fitted):
            self.everywhere(rotated(cc), cc.ccsd_t())

    def test_kohn_sham_orbitals_have_the_energy_of_semicanonical_ones(self):
        for cc in (self.kohn_sham(), self.kohn_sham(dft.UKS, spin=2)):
            other = solved(type(cc)(cc._scf, mo_coeff=semicanonical(cc, cc.ao2mo())))
            expected = other.ccsd_t()
            self.assertGreater(abs(expected - cc.ccsd_t()), 1e-7)
            self.same(trifuse.pyscf.triples(other), expected)
            self.everywhere(cc, expected)

    def test_rohf_orbitals_that_are_not_canonical_are_told(self):
        """In them the default, PySCF's (T), is another number; the standard ROHF-CCSD(T) is the same."""
        mf = mean_field(scf.ROHF, METHYLENE, "sto-3g", spin=2)
        canonical, mixed = solved(pyscf.cc.CCSD(mf)), mf.mo_coeff.copy()
        mixed[:, 1:3] = mixed[:, 1:3] @ [[0.6, -0.8], [0.8, 0.6]]
        cc = solved(pyscf.cc.UCCSD(mf.to_uhf(), mo_coeff=np.array([mixed, mixed])))
        found = trifuse.pyscf.triples(cc)
        self.assertRegex(" ".join(found.warnings), "The ROHF orbitals are not canonical: .* by up to 1.*; E.T. with .* rohf given")
        self.same(found, cc.ccsd_t())
        self.assertNotAlmostEqual(float(found), canonical.ccsd_t(), 7)
        with self.assertWarnsRegex(UserWarning, "ROHF orbitals are not canonical"):
            pyscf_export.write_dump(cc, self.path())
        standard = trifuse.pyscf.triples(cc, rohf="semicanonical")
        self.same(standard, trifuse.pyscf.triples(canonical, rohf="semicanonical"))
        for silent in (standard, trifuse.pyscf.triples(canonical)):
            self.assertNotIn("not canonical", " ".join(silent.warnings))

    def test_patch_leaves_another_definition_to_pyscf(self):
        cc = self.kohn_sham()
        expected = cc.ccsd_t()
        with trifuse.pyscf.patch():
            cc.stdout, cc.verbose = io.StringIO(), 2
            self.assertEqual(cc.ccsd_t(), expected)
            self.assertIn("ignores the off-diagonal Fock matrix elements", cc.stdout.getvalue())

    def test_an_scf_that_has_stopped_is_told(self):
        mf = scf.RHF(gto.M(atom=WATER, basis="6-31g", verbose=0)).set(max_cycle=2).run()
        cc = solved(pyscf.cc.CCSD(mf))
        self.assertRegex(" ".join(trifuse.pyscf.triples(cc).warnings), "The SCF is not converged: .* by up to .* f_ov enters")
        with self.assertWarnsRegex(UserWarning, "SCF is not converged"):
            pyscf_export.write_dump(cc, self.path())

    def test_gamma_point(self):
        cell = pyscf.pbc.gto.M(a=4.0 * np.eye(3), atom="H 0 0 0; H 0 0 0.8; H 0 1.4 0; H 0 1.4 0.9", basis="sto-3g", verbose=0)
        mf = pyscf.pbc.scf.RHF(cell).density_fit().run(conv_tol=1e-11)
        cc = solved(pyscf.pbc.cc.CCSD(mf))
        eris = cc.ao2mo()
        found = trifuse.pyscf.triples(cc, eris=eris)
        own = cc.ccsd_t(eris=eris)
        with trifuse.pyscf.patch():
            cc.stdout, cc.verbose = io.StringIO(), 2
            self.assertEqual(cc.ccsd_t(eris=eris), own)
            self.assertIn("Madelung", cc.stdout.getvalue())
        eris.mo_energy = eris.fock.diagonal()
        self.same(found, cc.ccsd_t(eris=eris))
        pyscf_export.write_dump(cc, self.path())
        self.same(trifuse.run(self.path()), found)
        periodic = pyscf.pbc.cc.KCCSD(pyscf.pbc.scf.KRHF(cell, cell.make_kpts([1, 1, 2])).density_fit())
        with self.assertRaisesRegex(trifuse.UsageError, "those at the Gamma point"):
            trifuse.pyscf.triples(periodic)


if __name__ == "__main__":
    unittest.main()
