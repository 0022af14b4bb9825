#!/usr/bin/env python3
"""The energies of PySCF calculations through drivers/pyscf_export, against PySCF's own (T) and the oracles of this folder.

    python3 test_pyscf_export.py [--trifuse build/release/drivers/trifuse] [unittest options]

Every dump is evaluated by brute_force.py and, with --trifuse, by the `trifuse` program; all agree to 1e-10 hartree.
"""

import exported_dumps  # first: it sets the number of threads and the path of the exporter
import brute_force
import h5py
import numpy as np
import operator_algebra
import pyscf.cc
import pyscf_export
from exported_dumps import HYDROXYL, METHYLENE, TOLERANCE, WATER, Dumps, mean_field, solved
from pyscf import gto, scf
from pyscf.cc import addons, ccsd, gccsd, rccsd, uccsd


def spin_blocks(t1, t2):
    """Restricted amplitudes as those of a UCCSD."""
    same_spin = t2 - t2.transpose(1, 0, 2, 3)
    return (t1, t1), (same_spin, t2, same_spin)


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
        self.check(semicanonical.ccsd_t())
        with h5py.File(self.path()) as file:
            self.assertEqual(file.attrs["reference"], b"UHF")  # the spins have different orbitals


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


if __name__ == "__main__":
    exported_dumps.main()
