#!/usr/bin/env python3
"""Factors of density fitting in place of integrals: arrays, objects of PySCF and dumps, compared with PySCF's (T)."""

import os
import subprocess
import tempfile
import unittest
import unittest.mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import h5py
import numpy as np
import pyscf.cc
from pyscf import lib, scf

import trifuse
import trifuse.pyscf
from molecules import HYDROXYL, METHYLENE, WATER, mean_field, solved
from trifuse import _pyscf_export as pyscf_export

TOLERANCE = 1e-10
SAME_FACTORS = 1e-12


def fitted(kind, atom, frozen=None, **options):
    return solved(pyscf.cc.CCSD(mean_field(lambda mol: kind(mol).density_fit(), atom, **options), frozen=frozen))


def molecules():
    return {"rhf": fitted(scf.RHF, WATER), "frozen": fitted(scf.RHF, WATER, frozen=1, symmetry=True),
            "uhf": fitted(scf.UHF, HYDROXYL, spin=1), "rohf": fitted(scf.ROHF, METHYLENE, spin=2, frozen=1)}


def arrays_of(cc):
    """The arrays of trifuse.triples from an RHF object without symmetry. The factors are made here, not by the package."""
    o = cc.nocc
    vectors = np.concatenate([lib.unpack_tril(block) for block in cc.with_df.loop()])
    factors = np.einsum("Qmn,mp,nq->Qpq", vectors, cc.mo_coeff, cc.mo_coeff, optimize=True)
    fock = cc.ao2mo().fock
    energies = fock.diagonal()
    return dict(t1=cc.t1, t2=cc.t2, fock=fock, eps_occ=energies[:o].copy(), eps_vir=energies[o:].copy(),
                factors_oo=factors[:, :o, :o], factors_ov=factors[:, :o, o:], factors_vv=factors[:, o:, o:])


def multiplied(arrays):
    """The same arrays with integrals."""
    oo, ov, vv = (arrays["factors_" + pair] for pair in ("oo", "ov", "vv"))
    others = {name: values for name, values in arrays.items() if not name.startswith("factors")}
    return dict(others, ovvv=np.einsum("Qia,Qbc->iabc", ov, vv), ovoo=np.einsum("Qia,Qjk->iajk", ov, oo),
                ovov=np.einsum("Qia,Qjb->iajb", ov, ov), oovv=np.einsum("Qij,Qab->ijab", oo, vv))


class Factors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.molecules = molecules()
        cls.arrays = arrays_of(cls.molecules["rhf"])
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name="factors.h5"):
        return os.path.join(self.folder.name, name)

    def test_objects_of_pyscf(self):
        for name, cc in self.molecules.items():
            with self.subTest(name), unittest.mock.patch.object(type(cc), "ao2mo", side_effect=AssertionError("no ovvv")):
                expected = cc.ccsd_t(eris=pyscf_ao2mo(cc))
                self.assertLess(abs(trifuse.pyscf.ccsd_t(cc) - expected), TOLERANCE)

    def test_arrays(self):
        expected = self.molecules["rhf"].ccsd_t()
        square = trifuse.triples(**self.arrays)
        self.assertLess(abs(float(square) - expected), TOLERANCE)
        self.assertIn(("singles equation", "passed"), [(check.name, check.status) for check in square.checks])
        packed = dict(self.arrays, factors_vv=lib.pack_tril(np.ascontiguousarray(self.arrays["factors_vv"])))
        self.assertEqual(float(trifuse.triples(**packed)), float(square))
        self.assertLess(abs(float(trifuse.triples(**multiplied(self.arrays))) - float(square)), SAME_FACTORS)
        energies = {float(trifuse.triples(**self.arrays, threads=threads)) for threads in (1, 2, 3)}
        self.assertEqual(energies, {float(square)})

    def test_the_checks_measure_the_same_as_with_integrals(self):
        arrays = dict(self.arrays, factors_vv=1.001 * self.arrays["factors_vv"])
        found, stored = ({check.name: check.value for check in trifuse.triples(**of, trust_input=True).checks}
                         for of in (arrays, multiplied(arrays)))
        self.assertGreater(found["singles equation"], 1e-6)
        self.assertEqual(found.keys(), stored.keys())
        for name, value in found.items():
            with self.subTest(name):
                self.assertAlmostEqual(value, stored[name], delta=1e-10)

    def test_options(self):
        for options in (dict(form="spin-orbital"), dict(omega2=[0.0, 0.1]), dict(tile_size=3)):
            with self.subTest(**options):
                found, stored = (trifuse.triples(**arrays, **options) for arrays in (self.arrays, multiplied(self.arrays)))
                for x, y in zip(found.energies, stored.energies):
                    self.assertLess(abs(x.e_t - y.e_t), SAME_FACTORS)
        rohf = self.molecules["rohf"]
        pyscf_export.write_dump(rohf, self.path("rohf_v1.h5"), factors=False, eris=pyscf_ao2mo(rohf))
        semicanonical = trifuse.pyscf.triples(rohf, rohf="semicanonical")
        self.assertLess(abs(float(semicanonical) - float(trifuse.run(self.path("rohf_v1.h5"), rohf="semicanonical"))),
                        SAME_FACTORS)
        self.assertNotAlmostEqual(float(semicanonical), trifuse.pyscf.ccsd_t(rohf), delta=1e-7)

    def test_lambda(self):
        cc = self.molecules["rhf"]
        pyscf_export.write_dump(cc, self.path("right.h5"))
        pyscf_export.write_lambda_dump(cc, self.path("left.h5"))
        of_files = trifuse.run(self.path("right.h5"), left=self.path("left.h5"))
        self.assertLess(abs(float(trifuse.pyscf.triples(cc, left="lambda")) - float(of_files)), 1e-9)

    def test_dumps(self):
        for name, cc in self.molecules.items():
            with self.subTest(name):
                path, stored = self.path(name + ".h5"), self.path(name + "_v1.h5")
                pyscf_export.write_dump(cc, path)
                with trifuse.Dump(path) as dump:
                    self.assertEqual(dump.attributes["version"], 2)
                    self.assertEqual(dump.attributes["factorization"], "density-fitting")
                    self.assertFalse(any(array.startswith("ovvv") for array in dump))
                    self.assertEqual(dump.damaged(), [])
                pyscf_export.write_dump(cc, stored, factors=False, eris=pyscf_ao2mo(cc))
                self.assertLess(abs(float(trifuse.run(path)) - float(trifuse.run(stored))), SAME_FACTORS)
                self.assertEqual(float(trifuse.run(path)), trifuse.pyscf.ccsd_t(cc))

    def test_multiplied_out_by_the_program(self):
        for name, cc in self.molecules.items():
            with self.subTest(name):
                path, target = self.path(name + ".h5"), self.path(name + "_multiplied.h5")
                pyscf_export.write_dump(cc, path)
                subprocess.run([os.environ["TRIFUSE"], "convert", path, target, "--multiply-out", "--quiet"], check=True)
                with trifuse.Dump(target) as dump:
                    self.assertEqual(dump.attributes["version"], 1)
                    self.assertEqual(dump.attributes["factorization"], "density-fitting")
                    self.assertTrue(any(array.startswith("ovvv") for array in dump))
                self.assertLess(abs(float(trifuse.run(path)) - float(trifuse.run(target))), SAME_FACTORS)

    def test_wrong_factors(self):
        def changed(name, index, value):
            array = np.array(self.arrays[name])
            array[index] = value
            return {name: array}

        vv, ov = self.arrays["factors_vv"], self.arrays["factors_ov"]
        cases = [
            (dict(factors_oo=None), "'factors_oo' is missing although 'factors_ov' is present"),
            (dict(factors_vv=vv[:, 1:]), "has shape .* ask for"),
            (dict(factors_vv=vv[1:]), "but other factors have"),
            (dict(factors_ov=ov[:0], factors_oo=self.arrays["factors_oo"][:0], factors_vv=vv[:0]), "has 0 auxiliary"),
            (changed("factors_ov", (3, 1, 2), np.nan), "factors_ov' holds a value that is not finite"),
            (changed("factors_vv", (3, 1, 2), 0.9), "symmetric in their last two indices"),
            (dict(factors_ov=1.01 * ov, correlation_energy=self.molecules["rhf"].e_corr), "energy"),
            (dict(factors_vv=1.05 * vv), "equation of the single excitations"),
            (dict(factors_ov=1.05 * ov), "equation of the single excitations"),
            (dict(factors_oo=1.05 * self.arrays["factors_oo"]), "equation of the single excitations"),
            (dict(factors_vv=vv[:, ::-1, ::-1]), "equation of the single excitations"),
            (dict(factors_vv=1e4 * vv), "in array 'factors_vv' is .* beyond any reasonable size"),
            (dict(ovvv=multiplied(self.arrays)["ovvv"]), "also the integrals 'ovvv'"),
        ]
        for changes, sentence in cases:
            with self.subTest(sentence), self.assertRaisesRegex(trifuse.InputError, sentence):
                trifuse.triples(**{**self.arrays, **changes})

    def test_a_dump_says_its_version(self):
        path = self.path("version.h5")
        pyscf_export.write_dump(self.molecules["rhf"], path)
        with h5py.File(path, "r+") as file:
            file.attrs["version"] = 1
            pyscf_export.seal(file)
        with self.assertRaisesRegex(trifuse.InputError, "version"):
            trifuse.run(path)


def pyscf_ao2mo(cc):
    """PySCF's own integrals, also while a test forbids cc.ao2mo()."""
    from pyscf.cc import dfccsd, dfuccsd

    return (dfuccsd if isinstance(cc, dfuccsd.UCCSD) else dfccsd)._make_df_eris(cc)


if __name__ == "__main__":
    unittest.main()
