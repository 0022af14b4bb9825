#!/usr/bin/env python3
"""Orbitals that are not canonical: localised, Kohn-Sham and Brueckner ones, compared with PySCF's (T) in semicanonical orbitals."""

import json
import os
import subprocess
import tempfile
import unittest
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyscf.cc
from pyscf import dft, lib, lo, scf

import trifuse
import trifuse.pyscf
from molecules import WATER, hydroxyl, mean_field, restricted_arrays, solved, unrestricted_arrays, water

TOLERANCE = 1e-10


def rotated(orbitals, occupied, seed):
    """Occupied and virtual orbitals after random rotations among themselves."""
    rng = np.random.default_rng(seed)
    parts = orbitals[:, :occupied], orbitals[:, occupied:]
    return np.hstack([part @ np.linalg.qr(rng.normal(size=(part.shape[1],) * 2))[0] for part in parts])


def semicanonical(orbitals, fock, occupied):
    """Orbitals that diagonalise the blocks of the Fock matrix `fock`, which is in atomic orbitals."""
    parts = orbitals[:, :occupied], orbitals[:, occupied:]
    return np.hstack([part @ np.linalg.eigh(part.T @ fock @ part)[1] for part in parts])


def coupled_cluster(mf, orbitals):
    """Converged CCSD in any orbitals of a restricted or unrestricted reference."""
    reference = (scf.UHF if mf.mol.spin else scf.RHF)(mf.mol)
    reference.mo_coeff, reference.mo_occ, reference.converged = orbitals, mf.mo_occ, True
    reference.e_tot = reference.energy_tot(reference.make_rdm1())
    return solved(pyscf.cc.CCSD(reference))


def in_orbitals(cc, orbitals):
    """The same CCSD in other orbitals of the occupied and of the virtual space: it needs no iterations."""
    overlap = cc.mol.intor("int1e_ovlp")
    unrestricted = isinstance(cc.t1, tuple)
    turns = []
    for old, new, o in zip(cc.mo_coeff, orbitals, cc.nocc) if unrestricted else [(cc.mo_coeff, orbitals, cc.nocc)]:
        turn = old.T @ overlap @ new
        turns.append((turn[:o, :o], turn[o:, o:]))
    other = pyscf.cc.CCSD(cc._scf, mo_coeff=orbitals)
    singles = [oo.T @ t1 @ vv for t1, (oo, vv) in zip(cc.t1 if unrestricted else [cc.t1], turns)]
    pairs = [(0, 0), (0, 1), (1, 1)] if unrestricted else [(0, 0)]
    doubles = [np.einsum("ijab,ip,jq,ar,bs->pqrs", t2, turns[x][0], turns[y][0], turns[x][1], turns[y][1], optimize=True)
               for t2, (x, y) in zip(cc.t2 if unrestricted else [cc.t2], pairs)]
    other.t1, other.t2 = (tuple(singles), tuple(doubles)) if unrestricted else (singles[0], doubles[0])
    return other


def program(command, *arguments):
    """The report of a command of the program."""
    called = [os.environ["TRIFUSE"], command, *arguments, "--json", "-"]
    return json.loads(subprocess.run(called, capture_output=True, check=True).stdout)


class Orbitals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.water, cls.hydroxyl = water(), hydroxyl()

    def check(self, arrays, expected, note="in semicanonical orbitals"):
        """Arrays and a dump of them give the expected energy, and results and reports say what was done."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", trifuse.InputWarning)
            result = trifuse.triples(**arrays)
        self.assertAlmostEqual(float(result), expected, delta=TOLERANCE)
        path = os.path.join(self.folder.name, self.id() + ".h5")
        trifuse.write_dump(path, fock_in_triples=True, **arrays)
        report = program("run", path)
        self.assertAlmostEqual(report["energies"][0]["E(T)"], expected, delta=TOLERANCE)
        self.assertIn(note, report["reference_note"])
        for sentences in (" ".join(map(str, result.warnings)), " ".join(report["warnings"])):
            self.assertEqual("not canonical" in sentences, "semicanonical" in note)

    def test_localised_orbitals_give_the_energy_of_canonical_ones(self):
        orbitals = self.water.mo_coeff.copy()
        orbitals[:, 1:5] = lo.Boys(self.water.mol, orbitals[:, 1:5]).kernel()
        self.check(restricted_arrays(in_orbitals(self.water, orbitals)), self.water.ccsd_t())
        both = np.array([rotated(of_spin, o, 2) for of_spin, o in zip(self.hydroxyl.mo_coeff, (5, 4))])
        self.check(unrestricted_arrays(in_orbitals(self.hydroxyl, both)), self.hydroxyl.ccsd_t())

    def test_localised_orbitals_give_the_moments_of_canonical_ones(self):
        for cc in (self.water, self.hydroxyl):
            lambdas = cc.copy()
            lambdas.t1, lambdas.t2 = cc.solve_lambda()
            spins = isinstance(cc.t1, tuple)
            orbitals = [rotated(mo, o, 6) for mo, o in zip(cc.mo_coeff if spins else [cc.mo_coeff], cc.nocc if spins else [cc.nocc])]
            others = [in_orbitals(each, np.array(orbitals) if spins else orbitals[0]) for each in (cc, lambdas)]
            others[0].l1, others[0].l2, others[0].converged_lambda = others[1].t1, others[1].t2, True
            for method in ("ct", "2t"):
                self.assertAlmostEqual(trifuse.pyscf.ccsd_t(others[0], method=method), trifuse.pyscf.ccsd_t(cc, method=method),
                                       delta=TOLERANCE)

    def test_the_program_tells_checks_plans_and_converts_them(self):
        path, copy = (os.path.join(self.folder.name, name) for name in ("mixed.h5", "copy.h5"))
        arrays = restricted_arrays(in_orbitals(self.water, rotated(self.water.mo_coeff, 5, 7)))
        trifuse.write_dump(path, fock_in_triples=True, **arrays)
        run = program("run", path)
        self.assertEqual(run["plan"]["form"], "spin-adapted")
        self.assertIn("not canonical", " ".join(program("info", path)["warnings"]))
        planned = program("plan", path, "--gpus", "0")["prediction"]["memory"]["rotation"]["rotated_rank_bytes"]
        self.assertEqual(planned, run["memory"]["rotated_bytes"])
        subprocess.run([os.environ["TRIFUSE"], "convert", path, copy], capture_output=True, check=True)
        self.assertAlmostEqual(program("run", copy)["energies"][0]["E(T)"], self.water.ccsd_t(), delta=TOLERANCE)

    def test_kohn_sham_orbitals_give_the_energy_of_semicanonical_ones(self):
        kohn_sham = dft.RKS(self.water.mol).set(xc="pbe", conv_tol=1e-12).run()
        fock = self.water._scf.get_fock(dm=kohn_sham.make_rdm1())
        canonical = coupled_cluster(self.water._scf, semicanonical(kohn_sham.mo_coeff, fock, 5))
        expected = canonical.ccsd_t()
        self.assertGreater(abs(expected - self.water.ccsd_t()), 1e-5)
        self.check(restricted_arrays(canonical), expected, "with the f_ov t2 term")
        self.check(restricted_arrays(in_orbitals(canonical, kohn_sham.mo_coeff)), expected)

        kohn_sham = dft.UKS(self.hydroxyl.mol).set(xc="pbe", conv_tol=1e-12).run()
        fock = self.hydroxyl._scf.get_fock(dm=kohn_sham.make_rdm1())
        orbitals = np.array([semicanonical(*each) for each in zip(kohn_sham.mo_coeff, fock, (5, 4))])
        canonical = coupled_cluster(self.hydroxyl._scf, orbitals)
        self.check(unrestricted_arrays(in_orbitals(canonical, kohn_sham.mo_coeff)), canonical.ccsd_t())

    def test_brueckner_orbitals_give_the_energy_of_semicanonical_ones(self):
        t1 = self.water.t1
        turn = np.eye(sum(t1.shape))
        turn[5:, :5], turn[:5, 5:] = t1.T, -t1
        orbitals = self.water.mo_coeff @ np.linalg.qr(turn)[0]
        fock = self.water._scf.get_fock(dm=2 * orbitals[:, :5] @ orbitals[:, :5].T)
        canonical = coupled_cluster(self.water._scf, semicanonical(orbitals, fock, 5))
        self.check(restricted_arrays(in_orbitals(canonical, rotated(orbitals, 5, 3))), canonical.ccsd_t())

    def test_factors_of_localised_orbitals_give_the_energy_of_canonical_ones(self):
        canonical = solved(pyscf.cc.CCSD(mean_field(lambda mol: scf.RHF(mol).density_fit(), WATER)))
        cc = in_orbitals(canonical, rotated(canonical.mo_coeff, 5, 4))
        vectors = np.concatenate([lib.unpack_tril(block) for block in cc.with_df.loop()])
        factors = np.einsum("Qmn,mp,nq->Qpq", vectors, cc.mo_coeff, cc.mo_coeff, optimize=True)
        fock = cc.ao2mo().fock
        arrays = dict(t1=cc.t1, t2=cc.t2, fock=fock, eps_occ=fock.diagonal()[:5].copy(), eps_vir=fock.diagonal()[5:].copy(),
                      factors_oo=factors[:, :5, :5], factors_ov=factors[:, :5, 5:], factors_vv=factors[:, 5:, 5:])
        with self.assertWarnsRegex(trifuse.InputWarning, "not canonical"):
            self.assertAlmostEqual(float(trifuse.triples(**arrays)), canonical.ccsd_t(), delta=TOLERANCE)


if __name__ == "__main__":
    unittest.main()
