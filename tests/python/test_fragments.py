#!/usr/bin/env python3
"""Energies of fragments, Tr(P M), against M from whole arrays of triples, and through every door for arrays."""

import importlib
import os
import subprocess
import tempfile
import unittest
from itertools import permutations

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyscf.cc
from pyscf import scf

import trifuse
import trifuse.pyscf
from molecules import HYDROXYL, WATER, hydroxyl, mean_field, restricted_arrays, solved, unrestricted_arrays

TOLERANCE = 1e-15  # hartree; the energies are about 1e-3
CYCLES = {(0, 1, 2), (1, 2, 0), (2, 0, 1)}


def images(x, holes, particles):
    return x.transpose(*holes, *(3 + p for p in particles))


def spin_orbital_arrays(arrays):
    """t1, t2, ovvv, ovoo, ovov, f_ov and the energies of all spin orbitals, and the number of occupied ones of each spin."""
    if "t2" in arrays:
        x = {name: arrays["fock"] if name.startswith("fock") else arrays[name.split("_")[0]] for name in ("fock_a", "fock_b")}
        for s in "ab":
            x.update({f"eps_occ_{s}": arrays["eps_occ"], f"eps_vir_{s}": arrays["eps_vir"], f"t1_{s}": arrays["t1"],
                      f"t2_{s}{s}": arrays["t2"] - arrays["t2"].transpose(1, 0, 2, 3)})
            for t in "ab":
                x.update({f"{name}_{s}{s}{t}{t}": arrays[name] for name in ("ovvv", "ovoo", "ovov")})
        arrays = {**x, "t2_ab": arrays["t2"]}
    o, v = ([len(arrays[f"eps_{kind}_{s}"]) for s in "ab"] for kind in ("occ", "vir"))
    part = {"o": dict(a=slice(0, o[0]), b=slice(o[0], sum(o))), "v": dict(a=slice(0, v[0]), b=slice(v[0], sum(v)))}
    size = dict(o=sum(o), v=sum(v))

    def empty(spaces):
        return np.zeros([size[each] for each in spaces])

    t1, fov, t2 = empty("ov"), empty("ov"), empty("oovv")
    plain = {name: empty(name) for name in ("ovvv", "ovoo", "ovov")}
    for s in "ab":
        n = len(arrays[f"eps_occ_{s}"])
        t1[part["o"][s], part["v"][s]] = arrays[f"t1_{s}"]
        fov[part["o"][s], part["v"][s]] = arrays[f"fock_{s}"][:n, n:]
        for t in "ab":
            for name, whole in plain.items():
                key = f"{name}_{s}{s}{t}{t}"
                block = arrays[key] if key in arrays else arrays["ovov_aabb"].transpose(2, 3, 0, 1)
                whole[tuple(part[space][spin] for space, spin in zip(name, (s, s, t, t)))] = block
            if s == t:
                t2[part["o"][s], part["o"][s], part["v"][s], part["v"][s]] = arrays[f"t2_{s}{s}"]
    a, b = ({space: part[space][s] for space in "ov"} for s in "ab")
    ab = arrays["t2_ab"]
    t2[a["o"], b["o"], a["v"], b["v"]], t2[b["o"], a["o"], b["v"], a["v"]] = ab, ab.transpose(1, 0, 3, 2)
    t2[a["o"], b["o"], b["v"], a["v"]], t2[b["o"], a["o"], a["v"], b["v"]] = -ab.transpose(0, 1, 3, 2), -ab.transpose(1, 0, 2, 3)
    energies = [np.concatenate([arrays[f"eps_{kind}_{s}"] for s in "ab"]) for kind in ("occ", "vir")]
    return t1, t2, plain["ovvv"], plain["ovoo"], plain["ovov"], fov, energies, o


def pairs(arrays):
    """M of all spin orbitals, 1/36 sum over j, k, a, b, c of (W+S)[ijk] W[i'jk] / x, and the number of occupied ones of each spin."""
    t1, t2, ovvv, ovoo, ovov, fov, (occupied, virtual), o = spin_orbital_arrays(arrays)
    w = np.einsum("iabd,kjcd->ijkabc", ovvv, t2, optimize=True) - np.einsum("iajm,mkbc->ijkabc", ovoo, t2, optimize=True)
    s = np.einsum("iajb,kc->ijkabc", ovov, t1) + 0.5 * np.einsum("ijab,kc->ijkabc", t2, fov)
    all_images = [(sign(p) * sign(q), p, q) for p in permutations(range(3)) for q in permutations(range(3))]
    w, s = (0.5 * sum(factor * images(x, p, q) for factor, p, q in all_images) for x in (w, s))
    d = sum(e.reshape([-1 if n == axis else 1 for n in range(6)]) for axis, e in enumerate((occupied,) * 3 + (-virtual,) * 3))
    others = (1, 2, 3, 4, 5)
    return np.tensordot((w + s) / d, w, (others, others)) / 36, o


def sign(p):
    return 1 if p in CYCLES else -1


def expected(arrays, of_alpha, of_beta):
    """Tr(P M) of each fragment, from orbitals of both spins."""
    m, o = pairs(arrays)
    alpha, beta = slice(0, o[0]), slice(o[0], sum(o))
    return [np.sum(u @ u.T * m[alpha, alpha]) + np.sum(w @ w.T * m[beta, beta]) for u, w in zip(of_alpha, of_beta)]


def stated(cc):
    """What else is known of the arrays. PySCF's small f_ov enter the triples."""
    return dict(correlation_energy=cc.e_corr, fock_in_triples=True)


def split(occupied, first, seed=0):
    """Orthonormal orbitals of two fragments, which are mixtures of all occupied ones."""
    u = np.linalg.qr(np.random.default_rng(seed).standard_normal((occupied, occupied)))[0]
    return [u[:, :first], u[:, first:]]


class Case(unittest.TestCase):
    def assert_energies(self, result, energies):
        self.assertLess(np.max(np.abs(np.array(result.fragments) - energies)), TOLERANCE)
        self.assertLess(abs(sum(result.fragments) - result.e_t), TOLERANCE)
        self.assertLess(abs(sum(e for e, _ in result.energies[0].fragments) - result.e_bracket_t), TOLERANCE)

    def assert_refused(self, error, sentence, function, *arguments, **options):
        with self.assertRaisesRegex(error, sentence):
            function(*arguments, **{"device": "cpu", **options})


class ClosedShell(Case):
    @classmethod
    def setUpClass(cls):
        cls.cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER, "sto-3g"), frozen=1))
        cls.arrays, cls.u = restricted_arrays(cls.cc), split(cls.cc.nocc, 1)
        cls.energies = expected(cls.arrays, cls.u, cls.u)
        cls.arrays.update(stated(cls.cc))

    def test_arrays(self):
        for form in ("spin-adapted", "spin-orbital"):
            result = trifuse.triples(**self.arrays, fragments=self.u, form=form, device="cpu", tile_size=3)
            self.assert_energies(result, self.energies)
        self.assertIn("fragment\n", str(result))
        self.assertEqual(trifuse.triples(**self.arrays, device="cpu").fragments, ())

    def test_projectors_and_single_orbitals(self):
        projector = self.u[1] @ self.u[1].T
        self.assert_energies(trifuse.triples(**self.arrays, fragments=[self.u[0][:, 0], projector], device="cpu"), self.energies)

    def test_object(self):
        self.assert_energies(trifuse.pyscf.triples(self.cc, fragments=self.u), self.energies)
        several = trifuse.pyscf.triples(self.cc, fragments=self.u, omega2=[0.1, 0], left="lambda")
        for each in several.energies:
            self.assertLess(abs(sum(e_t for _, e_t in each.fragments) - each.e_t), TOLERANCE)

    def test_dump(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "water.h5")
            trifuse.write_dump(path, fragments=self.u, **self.arrays)
            self.assert_energies(trifuse.run(path, device="cpu"), self.energies)
            with trifuse.Dump(path) as dump:
                self.assert_energies(trifuse.triples(**dump, device="cpu"), self.energies)
            copy = os.path.join(folder, "copy.h5")
            subprocess.run([os.environ["TRIFUSE"], "convert", path, copy], check=True, capture_output=True)
            self.assert_energies(trifuse.run(copy, device="cpu"), self.energies)

    def test_density_fitting(self):
        """Factors give the energies of their products, also in orbitals that Trifuse rotates."""
        cc = solved(pyscf.cc.CCSD(mean_field(lambda mol: scf.RHF(mol).density_fit(), WATER, "sto-3g"), frozen=1))
        eris = importlib.import_module("pyscf.cc.ccsd").CCSD.ao2mo(cc)  # its arrays exist as long as this object
        energies = expected(restricted_arrays(cc, eris), self.u, self.u)
        for options in ({}, {"form": "spin-orbital"}):
            result = trifuse.pyscf.triples(cc, fragments=self.u, device="cpu", **options)
            self.assert_energies(result, energies)
        regularised = trifuse.pyscf.solve_regularized_ccsd(cc, 0.2)
        found = trifuse.pyscf.triples(cc, fragments=self.u, left=regularised)
        self.assertLess(abs(sum(found.fragments) - found.e_t), TOLERANCE)
        mixed = cc._scf.mo_coeff.copy()
        mixed[:, 1:5] = mixed[:, 1:5] @ np.hstack(self.u)
        local = solved(pyscf.cc.CCSD(cc._scf, frozen=1, mo_coeff=mixed))
        result = trifuse.pyscf.triples(local, fragments=[np.eye(4)[:, :1], np.eye(4)[:, 1:]])
        self.assertIn("not canonical", result.warnings[0])
        self.assertLess(np.max(np.abs(np.array(result.fragments) - energies)), 1e-11)

    def test_localised_orbitals(self):
        u = np.hstack(self.u)
        local = {**self.arrays, "fock": self.arrays["fock"].copy()}
        o = len(u)
        local["t1"] = np.einsum("ia,ik->ka", local["t1"], u)
        local["t2"] = np.einsum("ijab,ik,jl->klab", local["t2"], u, u)
        for name in ("ovvv", "ovov", "ovoo", "oovv"):
            for axis, space in enumerate(name):
                if space == "o":
                    local[name] = np.moveaxis(np.tensordot(local[name], u, (axis, 0)), -1, axis)
        local["fock"][:o, :o] = u.T @ local["fock"][:o, :o] @ u
        local["eps_occ"] = np.diag(local["fock"])[:o].copy()
        with self.assertWarnsRegex(trifuse.InputWarning, "not canonical"):
            result = trifuse.triples(**local, fragments=[np.eye(o)[:, :1], np.eye(o)[:, 1:]], device="cpu")
        self.assertLess(np.max(np.abs(np.array(result.fragments) - self.energies)), 1e-13)

    def test_mistakes(self):
        usage, data = trifuse.UsageError, trifuse.InputError
        for fragments, error, sentence in (
                (3, usage, "fragments is 3, but it must be a list of projectors or orbitals"),
                ([np.zeros((4, 4, 1))], usage, r"one has the shape \[4, 4, 1\]"),
                ([np.eye(4), np.ones(3)], usage, r"same number of occupied orbitals in each fragment, but they have \[3, 4\]"),
                ([np.eye(5)], data, r"'fragments' has the shape \[1,5,5\], but it must be \[n,4,4\]"),
                ([1e7 * np.eye(4)], data, "'fragments' has an element 1e.07, but a projector has elements up to 1"),
                ([np.triu(np.ones((4, 4)))], data, "'fragments': the projector of fragment 0, counted from 0, is not symmetric")):
            self.assert_refused(error, sentence, trifuse.triples, **self.arrays, fragments=fragments)
        self.assert_refused(usage, "for the methods t and reg-t only", trifuse.triples, **self.arrays, fragments=self.u, method="ct")
        self.assert_refused(usage, "fragments have 5 occupied orbitals, but 4 are correlated", trifuse.pyscf.triples, self.cc,
                            fragments=[np.eye(5)])


class OpenShell(Case):
    def test_density_fitting(self):
        cc = solved(pyscf.cc.CCSD(mean_field(lambda mol: scf.UHF(mol).density_fit(), HYDROXYL, "sto-3g", spin=1)))
        eris = importlib.import_module("pyscf.cc.uccsd").UCCSD.ao2mo(cc)
        arrays = {name: np.asarray(values) for name, values in unrestricted_arrays(cc, eris).items()}
        self.assert_energies(trifuse.pyscf.triples(cc, fragments=self.u), expected(arrays, *self.u))

    @classmethod
    def setUpClass(cls):
        cls.cc = solved(pyscf.cc.CCSD(mean_field(scf.UHF, HYDROXYL, "sto-3g", spin=1)))
        cls.arrays = unrestricted_arrays(cls.cc)
        cls.u = split(cls.cc.nocc[0], 2), split(cls.cc.nocc[1], 1, 1)

    def test_energies(self):
        cc = hydroxyl()
        arrays, u = unrestricted_arrays(cc), (split(cc.nocc[0], 2), split(cc.nocc[1], 1, 1))
        energies = expected(arrays, *u)
        arrays.update(stated(cc))
        self.assert_energies(trifuse.triples(**arrays, fragments_a=u[0], fragments_b=u[1], device="cpu", tile_size=3), energies)
        self.assert_energies(trifuse.pyscf.triples(cc, fragments=u), energies)

    def test_mistakes(self):
        self.assert_refused(trifuse.InputError, "'fragments_b' is missing, but the projectors of the other spin are there; pass both",
                            trifuse.triples, **self.arrays, fragments_a=self.u[0])
        self.assert_refused(trifuse.UsageError, "fragments must be a tuple for two spins", trifuse.pyscf.triples, self.cc,
                            fragments=self.u[0][:1])


if __name__ == "__main__":
    unittest.main()
