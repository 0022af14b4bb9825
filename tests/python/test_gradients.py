#!/usr/bin/env python3
"""Properties of trifuse.pyscf against differences of energies, and against PySCF's own code."""

import io
import os
import tempfile
import unittest
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyscf.cc
from pyscf import dft, gto, qmmm, scf, solvent
from pyscf.cc import ccsd, ccsd_t_lambda, ccsd_t_lambda_slow, ccsd_t_rdm, ccsd_t_rdm_slow, ccsd_t_slow, dfccsd, rccsd, uccsd_rdm
from pyscf.cc import uccsd_t_lambda, uccsd_t_rdm
from pyscf.grad import ccsd_t as ccsd_t_grad
from pyscf.grad import ccsd_t_slow as ccsd_t_grad_slow
from pyscf.grad import uccsd_t as uccsd_t_grad

import trifuse
import trifuse.pyscf
from molecules import HYDROXYL, METHYLENE, WATER, hydroxyl, in_memory, mean_field, solved, water
from trifuse import _pyscf_derivatives, _pyscf_patch

STEPS = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))
"""Steps and weights of a derivative with an error of the fourth order."""
FLUORIDE, IMIDOGEN = "F 0 0 0; H 0 0 0.95", "N 0 0 0; H 0 0 1.04"
# An asymmetric geometry of each molecule, so that no part of a gradient vanishes.
BENT = np.array([[0.01, 0.02, 0.03], [-0.02, 0.04, 0.01], [0.03, -0.01, 0.02]])

# CCSD(T)/6-31G of NH2, atomic units.
NH2_ENERGY = -55.633632166329
NH2_DIPOLE, NH2_UNRELAXED = [0.023559343032, 0.027972359736, 0.921791835308], [0.023567312268, 0.027970911899, 0.922096281825]
NH2_GRADIENT = [[0.00082259863, 0.005078683769, 0.034952922073],
                [-0.000816816344, 0.021621792603, -0.016716534994],
                [-5.782286e-06, -0.026700476372, -0.018236387079]]


def derivative(energy, step):
    return sum(weight * energy(n * step) for n, weight in STEPS) / step


def largest(found, expected):
    """The largest difference of two arrays, or of two tuples of arrays."""
    if isinstance(found, (tuple, list)):
        return max(largest(*pair) for pair in zip(found, expected))
    return abs(np.asarray(found) - np.asarray(expected)).max()


def symmetric(rdm2):
    """The part of a two-electron density that real integrals see."""
    rdm2 = rdm2 + rdm2.transpose(1, 0, 2, 3)
    return rdm2 + rdm2.transpose(0, 1, 3, 2)


def converged(mol, frozen=None, field=None, near=None, fitted=None):
    """A CCSD object. `near`: one whose density matrix and amplitudes are near. `fitted`: density fitting begins with "scf" or "ccsd"."""
    kind = scf.UHF if mol.spin else scf.RHF
    mf = (kind(mol).density_fit() if fitted == "scf" else kind(mol)).set(conv_tol=1e-13, conv_tol_grad=1e-10, max_cycle=200)
    if field is not None:
        core = mf.get_hcore() + np.einsum("x,xpq->pq", field, mol.intor("int1e_r"))
        mf.get_hcore = lambda *_: core
    mf.kernel(None if near is None else near._scf.make_rdm1())
    cc = (dfccsd.RCCSD if fitted == "ccsd" else pyscf.cc.CCSD)(mf, frozen=frozen).set(conv_tol=1e-12, conv_tol_normt=1e-10, max_cycle=200, verbose=0)
    cc.kernel(*((None, None) if near is None else (near.t1, near.t2)), eris=in_memory(cc.ao2mo()))
    return cc


def total(cc, **options):
    return cc.e_tot + trifuse.pyscf.ccsd_t(cc, check=False, **options)


class NuclearGradients(unittest.TestCase):
    def check(self, atom, frozen=None, spin=0, tolerance=1e-8, fitted=None, basis="6-31g"):
        """The gradient agrees with energies along a direction in which all atoms move."""
        mol = gto.M(atom=atom, basis=basis, spin=spin, verbose=0)
        mol.set_geom_(mol.atom_coords() + BENT[:mol.natm], unit="Bohr")
        cc = converged(mol, frozen, fitted=fitted)
        gradients = trifuse.pyscf.Gradients(cc)
        de = gradients.kernel()
        self.assertAlmostEqual(gradients.e_tot, total(cc), delta=1e-10)
        np.testing.assert_allclose(de.sum(axis=0), 0, atol=1e-9)
        direction = np.random.default_rng(7).standard_normal(de.shape)
        direction /= np.linalg.norm(direction)
        places = mol.atom_coords()
        moved = derivative(lambda s: total(converged(mol.set_geom_(places + s * direction, unit="Bohr", inplace=False), frozen,
                                                     near=cc, fitted=fitted)), 4e-3)
        self.assertAlmostEqual(np.sum(de * direction), moved, delta=tolerance)

    def test_frozen_occupied_and_virtual_orbitals(self):
        self.check(WATER, frozen=[0, 12])

    def test_open_shell_diatomic_with_frozen_core(self):
        self.check(IMIDOGEN, frozen=1, spin=2)

    def test_density_fitting(self):
        self.check(FLUORIDE, frozen=[0, 9], fitted="scf", basis="3-21g")
        self.check(FLUORIDE, fitted="ccsd", basis="3-21g")
        self.check(IMIDOGEN, frozen=1, spin=2, fitted="scf", basis="3-21g")

    def test_doublet(self):
        """Numbers of a program that holds all triples in memory; they agree with differences of energies within 4e-11 and 3e-9."""
        cc = converged(gto.M(atom="N 0 0 0.02; H 0.03 -0.80 0.63; H 0 0.83 0.58", basis="6-31g", spin=1, verbose=0))
        gradients = trifuse.pyscf.Gradients(cc)
        np.testing.assert_allclose(gradients.kernel(), NH2_GRADIENT, rtol=0, atol=1e-9)
        self.assertAlmostEqual(gradients.e_tot, NH2_ENERGY, delta=1e-9)
        np.testing.assert_allclose(trifuse.pyscf.dip_moment(cc, unit="au"), NH2_DIPOLE, rtol=0, atol=1e-9)
        np.testing.assert_allclose(trifuse.pyscf.dip_moment(cc, relaxed=False, unit="au"), NH2_UNRELAXED, rtol=0, atol=1e-9)

    def test_molecules_without_f_ov_by_symmetry(self):
        """E(T) has a derivative by an f_ov that is zero."""
        nitrogen, hydrogen = "N 0 0 0; N 0 0 1.1", "H 0 0 0; H 0 0 0.74"
        for atoms, spin in ((nitrogen, 0), (hydrogen, 0), (hydrogen, 2)):
            start = gto.M(atom=atoms, basis="sto-3g", spin=spin, verbose=0)
            moved = derivative(lambda x, start=start: total(converged(start.set_geom_(
                start.atom_coords() + [[0, 0, 0], [0, 0, x]], unit="bohr", inplace=False))), 5e-3)
            gradient = trifuse.pyscf.Gradients(converged(start)).kernel()
            self.assertLess(largest(gradient, [[0, 0, -moved], [0, 0, moved]]), 1e-8)

    def test_degenerate_frozen_orbitals(self):
        """Symmetry keeps aligned orbitals apart, and not mixed ones."""
        atoms = "N 0 0 .1; H .94 0 -.28; H -.47 .8140638 -.28; H -.47 -.8140638 -.28"
        mf = mean_field(scf.RHF, atoms, basis="sto-3g")
        aligned = trifuse.pyscf.Gradients(solved(pyscf.cc.CCSD(mf, frozen=[2]))).kernel()
        self.assertLess(abs(aligned).max(), 1.0)
        self.assertLess(abs(aligned[0, 1]), 1e-7)
        mf.mo_coeff[:, 2:4] = mf.mo_coeff[:, 2:4] @ [[0.8, -0.6], [0.6, 0.8]]
        mixed = solved(pyscf.cc.CCSD(mf, frozen=[2]))
        with self.assertRaisesRegex(trifuse.UsageError, "freeze both or none"):
            trifuse.pyscf.dip_moment(mixed)

    def test_some_atoms(self):
        cc = water()
        whole = trifuse.pyscf.Gradients(cc).kernel()
        np.testing.assert_array_equal(trifuse.pyscf.Gradients(cc).kernel(atmlst=[2, 0]), whole[[2, 0]])

    def test_symmetry_and_both_classes(self):
        expected = trifuse.pyscf.Gradients(water()).kernel()
        for cc in (solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER, symmetry=True))), solved(rccsd.RCCSD(mean_field(scf.RHF, WATER)))):
            self.assertLess(largest(trifuse.pyscf.Gradients(cc).kernel(), expected), 2e-9)

    def test_scanner(self):
        scanner = trifuse.pyscf.Gradients(water(), device="cpu").as_scanner()
        self.assertIs(scanner.as_scanner(), scanner)
        moved = gto.M(atom=WATER.replace("0.587", "0.6"), basis="6-31g", verbose=0)
        energy, de = scanner(moved)
        fresh = solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER.replace("0.587", "0.6"))))
        self.assertAlmostEqual(energy, total(fresh), delta=1e-9)
        self.assertEqual((scanner.e_tot, scanner.converged), (energy, True))
        self.assertLess(largest(de, trifuse.pyscf.Gradients(fresh).kernel()), 1e-7)
        self.assertAlmostEqual(scanner(moved.atom_coords(unit="Angstrom"))[0], energy, delta=1e-8)


class SecondRun(Exception):
    """Something is computed that is known."""


class DipoleMoments(unittest.TestCase):
    def test_relaxed(self):
        """The derivative of energies of SCF, CCSD and (T) in a field; also of the regularised (T)."""
        frozen, step = [0, 10], 2e-3
        cc = converged(gto.M(atom=FLUORIDE, basis="6-31g", verbose=0), frozen)
        in_field = {n: converged(cc.mol, frozen, [0, 0, n * step], cc) for n, _ in STEPS}
        for options in {}, {"omega2": 0.2}:
            electrons = sum(weight * total(in_field[n], **options) for n, weight in STEPS) / step
            expected = cc.mol.atom_charges() @ cc.mol.atom_coords()[:, 2] - electrons
            np.testing.assert_allclose(trifuse.pyscf.dip_moment(cc, unit="au", **options), [0, 0, expected], atol=3e-9)

    def test_fixed_orbitals(self):
        """The derivative of energies of CCSD and (T) with the orbitals of the SCF without a field."""
        cc = converged(gto.M(atom=FLUORIDE, basis="6-31g", verbose=0))
        dipoles, density = cc.mol.intor("int1e_r")[2], cc._scf.make_rdm1()

        def energy(field):
            other, eris = cc.copy(), cc.ao2mo()
            eris.fock = eris.fock + field * eris.mo_coeff.T @ dipoles @ eris.mo_coeff
            eris.mo_energy = eris.fock.diagonal().copy()
            other.kernel(cc.t1, cc.t2, eris=eris)
            return field * np.sum(density * dipoles) + other.e_corr + ccsd_t_slow.kernel(other, eris, other.t1, other.t2, 0)

        expected = cc.mol.atom_charges() @ cc.mol.atom_coords()[:, 2] - derivative(energy, 2e-3)
        self.assertAlmostEqual(trifuse.pyscf.dip_moment(cc, relaxed=False, unit="au")[2], expected, delta=3e-9)

    def test_density_fitting(self):
        """The relaxed dipole against energies in fields, the one at fixed orbitals against the densities of PySCF's code."""
        mol, step = gto.M(atom=FLUORIDE, basis="3-21g", verbose=0), 2e-3
        cc = converged(mol, 1, fitted="scf")
        electrons = derivative(lambda s: total(converged(mol, 1, [0, 0, s], cc, "scf")), step)
        expected = mol.atom_charges() @ mol.atom_coords()[:, 2] - electrons
        self.assertAlmostEqual(trifuse.pyscf.dip_moment(cc, unit="au")[2], expected, delta=3e-9)
        eris = cc.ao2mo()
        amplitudes = ccsd_t_lambda_slow.kernel(cc, eris, cc.t1, cc.t2, tol=1e-10, max_cycle=100, verbose=0)[1:]
        theirs = (cc, cc.t1, cc.t2, *amplitudes, eris)
        self.assertLess(largest(trifuse.pyscf.make_rdm1(cc), ccsd_t_rdm_slow.make_rdm1(*theirs)), 2e-9)
        self.assertLess(largest(symmetric(trifuse.pyscf.make_rdm2(cc)), symmetric(ccsd_t_rdm_slow.make_rdm2(*theirs))), 2e-8)

    def test_nothing_is_computed_twice(self):
        cc = water()
        gradients = trifuse.pyscf.Gradients(cc)
        first, e_tot = gradients.kernel(), gradients.e_tot
        eris, in_field, again = cc.ao2mo(), cc.ao2mo(), SecondRun
        in_field.fock = in_field.fock + 0.01 * np.eye(len(in_field.fock))
        with mock.patch("trifuse._pyscf_properties.derivatives_of", side_effect=again), \
                mock.patch("pyscf.scf.hf.get_jk", side_effect=again), mock.patch.object(cc, "ao2mo", side_effect=again):
            self.assertEqual(largest(gradients.kernel(), first), 0.0)
            self.assertEqual(gradients.e_tot, e_tot)
            with trifuse.pyscf.patch():
                l1, l2 = trifuse.pyscf.solve_lambda(cc, eris=eris)
                self.assertEqual(largest(ccsd_t_grad.Gradients(cc).kernel(cc.t1, cc.t2, l1, l2, eris), first), 0.0)
            in_debye = trifuse.pyscf.dip_moment(cc)
            self.assertAlmostEqual(in_debye[2] / trifuse.pyscf.dip_moment(cc, unit="au")[2], 2.541746, 5)
            relaxed = trifuse.pyscf.make_rdm1(cc, relaxed=True)
            self.assertAlmostEqual(np.trace(relaxed), 10, 9)
            self.assertGreater(largest(relaxed, trifuse.pyscf.make_rdm1(cc)), 1e-4)
            with self.assertRaises(SecondRun):
                trifuse.pyscf.dip_moment(cc, omega2=0.1)
            with self.assertRaises(SecondRun):
                trifuse.pyscf.solve_lambda(cc, eris=in_field)
            cc.conv_tol_normt *= 0.1
            with self.assertRaises(SecondRun):
                trifuse.pyscf.solve_lambda(cc)
            cc.conv_tol_normt *= 10
            cc.t2 = cc.t2.transpose(1, 0, 2, 3)  # the same norm and sum
            with self.assertRaises(SecondRun):
                trifuse.pyscf.solve_lambda(cc)


    def test_nor_with_the_integrals_of_an_scf_of_usual_convergence(self):
        for kind, spin, cc_of in ((scf.RHF, 0, pyscf.cc.CCSD), (scf.UHF, 1, pyscf.cc.UCCSD)):
            mol = gto.M(atom=WATER, basis="sto-3g", charge=spin, spin=spin, verbose=0)
            cc = cc_of(kind(mol).run(), frozen=1).run()
            scanner = trifuse.pyscf.Gradients(cc).as_scanner()
            scanner(mol.atom_coords() * 1.01)
            cc = scanner.base
            with mock.patch("trifuse._pyscf_properties.derivatives_of", side_effect=SecondRun):
                self.assertEqual(trifuse.pyscf.dip_moment(cc).shape, (3,))
                trifuse.pyscf.solve_lambda(cc, eris=cc.ao2mo())
                cc._scf.get_hcore = lambda *args, core=cc._scf.get_hcore(): core + 1e-6 * np.eye(len(core))
                with self.assertRaises(SecondRun):  # those of the scanner were in another field
                    trifuse.pyscf.solve_lambda(cc)


class Densities(unittest.TestCase):
    def test_closed_shell(self):
        """PySCF's code with whole arrays in memory, with frozen orbitals."""
        cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER), frozen=[0, 12]))
        eris = cc.ao2mo()
        expected = ccsd_t_lambda_slow.kernel(cc, eris, cc.t1, cc.t2, tol=1e-10, max_cycle=100, verbose=0)[1:]
        found = trifuse.pyscf.solve_lambda(cc, eris=eris)
        self.assertIsNone(cc.l1)
        self.assertLess(largest(found, expected), 2e-9)
        self.assertEqual(trifuse.pyscf.solve_lambda(cc, l1=found[0], l2=found[1])[0].shape, cc.t1.shape)
        slow = (cc, cc.t1, cc.t2, *expected, eris)
        self.assertLess(largest(trifuse.pyscf.make_rdm1(cc), ccsd_t_rdm_slow.make_rdm1(*slow)), 2e-9)
        self.assertLess(largest(symmetric(trifuse.pyscf.make_rdm2(cc)), symmetric(ccsd_t_rdm_slow.make_rdm2(*slow))), 2e-8)
        gradient = ccsd_t_grad_slow.Gradients(cc).kernel(cc.t1, cc.t2, *expected, eris=eris)
        self.assertLess(largest(trifuse.pyscf.Gradients(cc).kernel(eris=eris), gradient), 2e-7)  # of PySCF's Z-vector

    def test_open_shell(self):
        """ROHF with frozen orbitals."""
        cc = solved(pyscf.cc.UCCSD(mean_field(scf.ROHF, METHYLENE, spin=2), frozen=[[0, 12], [0, 11]]))
        eris = cc.ao2mo()
        expected = uccsd_t_lambda.kernel(cc, eris, cc.t1, cc.t2, tol=1e-10, max_cycle=100, verbose=0)[1:]
        self.assertLess(largest(trifuse.pyscf.solve_lambda(cc, eris=eris), expected), 5e-9)
        theirs = (cc, cc.t1, cc.t2, *expected, eris)
        self.assertLess(largest(trifuse.pyscf.make_rdm1(cc), uccsd_t_rdm.make_rdm1(*theirs)), 2e-9)
        for found, whole in zip(trifuse.pyscf.make_rdm2(cc), uccsd_t_rdm.make_rdm2(*theirs)):
            self.assertLess(largest(symmetric(found), symmetric(whole)), 2e-8)

    def test_pairs_that_are_degenerate_by_accident(self):
        """Orbitals with near energies, as if they were degenerate: the run with mixed orbitals agrees with the commutator."""
        cc = hydroxyl()
        arguments = (cc, cc.t1, cc.t2, cc.ao2mo(), "all", {"verbose": 0}, True)
        exact = _pyscf_derivatives.derivatives_of(*arguments).fock
        with mock.patch.object(_pyscf_derivatives, "SMALLEST_GAP", 0.07), \
                mock.patch.object(_pyscf_derivatives, "_of_pairs", side_effect=_pyscf_derivatives._of_pairs) as runs:
            found = _pyscf_derivatives.derivatives_of(*arguments).fock
        self.assertGreater(sum(len(call.args[0]) for call in runs.call_args_list), 3)
        for c, expected in exact.items():
            # The runs neglect half the difference of energies, which is not zero here.
            self.assertLess(largest(found[c], expected), 5e-3 * abs(expected - np.diag(np.diag(expected))).max())


    def test_such_pairs_have_a_run_without_the_journal_of_the_first(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(_pyscf_derivatives, "SMALLEST_GAP", 0.07):
            journal = os.path.join(folder, "journal")
            found = trifuse.pyscf.Gradients(hydroxyl(), journal=journal).kernel()
            self.assertTrue(os.path.exists(journal))
            self.assertEqual(largest(found, trifuse.pyscf.Gradients(hydroxyl()).kernel()), 0.0)


class Patches(unittest.TestCase):
    def test_unpatch_lasts(self):
        before = ccsd_t_grad.Gradients.grad_elec
        with trifuse.pyscf.patch():
            with trifuse.pyscf.patch(threads=1):
                trifuse.pyscf.unpatch()
            self.assertIs(ccsd_t_grad.Gradients.grad_elec, before)
        self.assertIs(ccsd_t_grad.Gradients.grad_elec, before)
        with trifuse.pyscf.patch():
            with trifuse.pyscf.patch(threads=1):
                pass
            self.assertIsNot(ccsd_t_grad.Gradients.grad_elec, before)
        self.assertIs(ccsd_t_grad.Gradients.grad_elec, before)

    def test_modules_of_pyscf(self):
        for cc, of_lambda, of_rdm, of_grad in ((water(), ccsd_t_lambda, ccsd_t_rdm, ccsd_t_grad),
                                               (hydroxyl(), uccsd_t_lambda, uccsd_t_rdm, uccsd_t_grad)):
            eris = cc.ao2mo()
            before = (of_lambda.make_intermediates, of_rdm._gamma1_intermediates, of_grad.Gradients.grad_elec)
            with trifuse.pyscf.patch(threads=1, left="lambda", method=["t", "ct"]):  # of energies alone
                amplitudes = of_lambda.kernel(cc, eris, cc.t1, cc.t2, tol=1e-9, max_cycle=100, verbose=0)[1:]
                arguments = (cc, cc.t1, cc.t2, *amplitudes, eris)
                gradient = of_grad.Gradients(cc).kernel(*arguments[1:])
                densities = of_rdm.make_rdm1(*arguments), of_rdm.make_rdm2(*arguments)
                blocks = [of_rdm._gamma1_intermediates(*arguments, for_grad=True),
                          of_rdm._gamma2_intermediates(*arguments, compress_vvvv=True)]
            after = (of_lambda.make_intermediates, of_rdm._gamma1_intermediates, of_grad.Gradients.grad_elec)
            self.assertEqual(before, after)
            self.assertLess(largest(amplitudes, trifuse.pyscf.solve_lambda(cc)), 1e-8)
            self.assertLess(largest(gradient, trifuse.pyscf.Gradients(cc).kernel()), 1e-8)
            self.assertLess(largest(densities[0], trifuse.pyscf.make_rdm1(cc)), 1e-8)
            self.assertLess(largest(densities[1], trifuse.pyscf.make_rdm2(cc)), 1e-8)
            expected = of_rdm._gamma1_intermediates(*arguments, for_grad=True)
            for found, whole in zip(blocks[0][::3], expected[::3]):  # doo and dvv; a gradient needs their symmetric parts
                spins = [(found, whole)] if isinstance(found, np.ndarray) else zip(found, whole)
                self.assertLess(max(largest(x + x.T, y + y.T) for x, y in spins), 1e-9)
            self.assertEqual(len(blocks[1]), 8)

    def test_versions_of_pyscf_with_slow_modules_alone(self):
        def missing(name):
            return None if name in ("pyscf.cc.ccsd_t_lambda", "pyscf.cc.ccsd_t_rdm") else name

        with mock.patch("importlib.util.find_spec", missing):
            places = _pyscf_patch._replacements.__wrapped__()
        self.assertEqual(len(places), 12)
        self.assertEqual(sum("_slow" in place for place in places), 4)
        for place in places:
            self.assertTrue(callable(_pyscf_patch._found(place)), place)

    def test_objects_that_stay_with_pyscf_have_the_right_block_of_virtual_orbitals(self):
        mf = mean_field(scf.UHF, HYDROXYL, spin=1, basis="sto-3g")
        turned = np.array(mf.mo_coeff)
        turned[0][:, [1, 2]] = turned[0][:, [1, 2]] @ [[0.8, -0.6], [0.6, 0.8]]
        cc = solved(pyscf.cc.CCSD(mf, mo_coeff=turned))
        eris = cc.ao2mo()
        arguments = (cc, cc.t1, cc.t2, cc.t1, cc.t2)
        cc.stdout, cc.verbose = io.StringIO(), 2
        with trifuse.pyscf.patch():
            found = uccsd_t_rdm._gamma2_intermediates(*arguments, eris, compress_vvvv=True)
        self.assertIn("off-diagonal", cc.stdout.getvalue())
        expected = uccsd_rdm._gamma2_intermediates(*arguments, compress_vvvv=True)[1]
        self.assertLess(max(largest(x, y) for x, y in zip(found[1], expected) if x is not None), 1e-12)


class Refusals(unittest.TestCase):
    def refused(self, words, call):
        with self.assertRaisesRegex(trifuse.UsageError, words) as caught:
            call()
        self.assertTrue(str(caught.exception).endswith("."), str(caught.exception))

    def test_options(self):
        cc = water()
        self.refused("method is 'ct'", lambda: trifuse.pyscf.dip_moment(cc, method="ct"))
        self.refused("one value of omega2", lambda: trifuse.pyscf.make_rdm1(cc, omega2=[0, 0.1]))
        self.refused("no option devise", lambda: trifuse.pyscf.Gradients(cc, devise="cpu"))
        cc.max_cycle = 2
        self.refused("Lambda equations", lambda: trifuse.pyscf.solve_lambda(cc))
        self.refused("kernel", lambda: trifuse.pyscf.solve_lambda(pyscf.cc.CCSD(cc._scf)))

    def test_arguments(self):
        cc = water()
        self.refused("unit is 'debey'", lambda: trifuse.pyscf.dip_moment(cc, unit="debey"))
        self.refused("relaxed is 'no'", lambda: trifuse.pyscf.dip_moment(cc, relaxed="no"))
        self.refused("no atom 3", lambda: trifuse.pyscf.Gradients(cc).kernel(atmlst=[3]))
        self.refused("l1 must have the shape of t1", lambda: trifuse.pyscf.solve_lambda(cc, l1=np.zeros(3), l2=np.zeros(3)))
        as_lists = {"t1": cc.t1.tolist(), "t2": cc.t2.tolist()}
        unrelaxed = {"relaxed": False}
        self.assertLess(largest(trifuse.pyscf.dip_moment(cc, **as_lists, **unrelaxed), trifuse.pyscf.dip_moment(cc, **unrelaxed)), 1e-12)

    def test_orbitals(self):
        small = {"basis": "sto-3g"}
        fitted = solved(pyscf.cc.CCSD(mean_field(lambda mol: scf.RHF(mol).density_fit(), WATER, **small)))
        half_fitted = ccsd.CCSD(fitted._scf)
        half_fitted.t1, half_fitted.t2 = fitted.t1, fitted.t2
        self.refused("this CCSD has not", lambda: trifuse.pyscf.dip_moment(half_fitted, relaxed=False))
        fitted._scf.with_df.auxmol = None
        self.refused("only its integrals", lambda: trifuse.pyscf.Gradients(fitted).kernel())
        fitted._scf.only_dfj = True
        self.refused("only_dfj", lambda: trifuse.pyscf.dip_moment(fitted))
        rohf = solved(pyscf.cc.CCSD(mean_field(scf.ROHF, METHYLENE, spin=2, **small)))
        self.refused("ROHF", lambda: trifuse.pyscf.Gradients(rohf).kernel())
        kohn_sham = solved(pyscf.cc.CCSD(mean_field(lambda mol: dft.RKS(mol).set(xc="hf,vwn"), WATER, **small).to_hf()))
        self.refused("couples", lambda: trifuse.pyscf.dip_moment(kohn_sham))
        natural = solved(pyscf.cc.FNOCCSD(mean_field(scf.RHF, WATER), thresh=1e-3))
        self.refused("not those of its SCF", lambda: trifuse.pyscf.dip_moment(natural))
        mf = mean_field(scf.RHF, WATER, **small)
        turned = mf.mo_coeff.copy()
        turned[:, [3, 4]] = turned[:, [3, 4]] @ [[0.8, -0.6], [0.6, 0.8]]
        localised = solved(pyscf.cc.CCSD(mf, mo_coeff=turned))
        self.refused("canonical", lambda: trifuse.pyscf.make_rdm1(localised))
        without_energies = solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER, **small)))
        without_energies._scf.mo_energy = None
        self.refused("no orbital energies", lambda: trifuse.pyscf.dip_moment(without_energies))

    def test_hamiltonians(self):
        """Energies and properties at fixed orbitals are right, and the response or the derivatives are not known."""

        def replaced_integrals(mol):
            mf = scf.RHF(mol)
            mf._eri = 0.95 * mol.intor("int2e", aosym="s8")
            return mf

        def in_field(mol):
            mf = scf.RHF(mol)
            core = mf.get_hcore() + 0.01 * mol.intor("int1e_r")[2]
            mf.get_hcore = lambda *args: core
            return mf

        small = {"basis": "sto-3g"}
        for words, kind in (("implicit solvent", lambda mol: solvent.PCM(scf.RHF(mol))), ("replaced integrals", replaced_integrals)):
            cc = solved(pyscf.cc.CCSD(mean_field(kind, WATER, **small)))
            self.refused(words, lambda cc=cc: trifuse.pyscf.dip_moment(cc))
            self.refused(words, lambda cc=cc: trifuse.pyscf.Gradients(cc).kernel())
            self.assertEqual(np.shape(trifuse.pyscf.dip_moment(cc, relaxed=False)), (3,))
        model, sites = gto.M(verbose=0), 4
        model.nelectron, model.incore_anyway = 4, True
        hubbard = scf.RHF(model)
        hubbard.get_hcore = lambda *args: -np.eye(sites, k=1) - np.eye(sites, k=-1)
        hubbard.get_ovlp = lambda *args: np.eye(sites)
        hubbard._eri = np.zeros((sites,) * 4)
        hubbard._eri[(range(sites),) * 4] = 2.0
        cc = solved(pyscf.cc.CCSD(hubbard.run(conv_tol=1e-12)))
        self.refused("a model", lambda cc=cc: trifuse.pyscf.make_rdm1(cc, relaxed=True))
        self.assertAlmostEqual(np.trace(trifuse.pyscf.make_rdm1(cc)), 4, 9)
        cc = solved(pyscf.cc.CCSD(mean_field(in_field, WATER, **small)))
        self.refused("get_hcore", lambda: trifuse.pyscf.Gradients(cc).kernel())
        dipole = trifuse.pyscf.dip_moment(cc)
        self.assertEqual(np.shape(dipole), (3,))
        with mock.patch("trifuse._pyscf_properties.refuse_other_orbitals", side_effect=AssertionError("checked again")):
            self.assertEqual(dipole.tolist(), trifuse.pyscf.dip_moment(cc).tolist())
        in_charges = qmmm.mm_charge(scf.RHF(cc.mol), np.array([[3.0, 0, 0]]), np.array([0.5])).run()
        self.assertEqual(np.shape(trifuse.pyscf.Gradients(pyscf.cc.CCSD(in_charges).run(conv_tol_normt=1e-8)).kernel()), (3, 3))


if __name__ == "__main__":
    unittest.main()
