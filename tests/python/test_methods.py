#!/usr/bin/env python3
"""The option method: arrays, files and objects of PySCF against reference energies, and what cannot be computed."""

import io
import os
import tempfile
import unittest
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import h5py
import numpy as np
import pyscf.cc
from pyscf import lib, scf
from pyscf.cc import rccsd

import trifuse
import trifuse.pyscf
from molecules import mean_field, shared, solved
from trifuse._arrays import NAMES, SPIN_NAMES
from trifuse._pyscf_export import write_dump, write_lambda_dump, write_left_dump

DATA = Path(os.environ["TRIFUSE_TEST_DATA"])
MOMENTS = DATA / "dumps" / "hf_160_631g_rhf_moments.h5"
CT, A = "CCSD(cT)", "CCSD(2)_T = CR-CC(2,3)_A"

# Energies of a program of its own, whose formulas are those of spin orbitals: hartree, with geometries in bohr. It agrees with
# NWChem and ccpy to 1e-9.
ATOMS = {
    "h2o": "O 0 0 0.22143139; H 0 1.4304387 -0.88572555; H 0 -1.4304387 -0.88572555",
    "f2": "F 0 0 0; F 0 0 2.66816", "hf": "H 0 0 0; F 0 0 1.7328", "oh": "O 0 0 0; H 0 0 1.8324",
    "ch2": "C 0 0 0.18837; H 0 1.87183 -0.56511; H 0 -1.87183 -0.56511"}
ENERGIES = {  # E(cT), E[cT], CR-CC(2,3)_A
    "h2o": (-0.0009055276991919331, -0.0009943132915154176, -0.0009181539238996836),
    "f2": (-0.004860696901940586, -0.005312617235901442, -0.004608816305384236),
    "hf": (-0.0011752605077555093, -0.0015238105840151039, -0.0014041144657543137),
    "oh": (-0.0005207049780449937, -0.0005934050909014695, -0.000543364186226289),
    "ch2": (-0.0005736840184853156, -0.000582011513822786, -0.0005653766859333015)}
OTHERS = {  # E CR-CCSD[T], E CR-CCSD(T), CR-CC(2,3)_B, _C, _D
    "h2o": (-0.0009518855719734019, -0.0008668748718009162, -0.0008886972318313353, -0.0011643817720863741, -0.0011590057019600893),
    "f2": (-0.004839455232234558, -0.0044274708708270955, -0.004353825444161549, -0.005914551531934575, -0.005824864236989222),
    "hf": (-0.0014702816300930072, -0.0011339395068583114, -0.00135735225225319, -0.0017680974287568524, -0.0017525295951883845),
    "oh": (-0.0005739030483410152, -0.000503587667045313, -0.0005281717706582794, -0.0007040452100837119, -0.0006993221779177173),
    "ch2": (-0.0005619607165086034, -0.0005539176729203754, -0.0005521773362136267, -0.0007688520064362032, -0.0007659705814144538)}
CR, VARIANTS = "CR-CCSD(T)", ("CR-CC(2,3)_B", "CR-CC(2,3)_C", "CR-CC(2,3)_D")
# The same for CH2 with ROHF in semicanonical orbitals: CR-CC(2,3)_A, _B, _C, _D.
ROHF_CH2 = (-0.0005719993142524797, -0.0005578275901107919, -0.0007762939729372097, -0.0007733222773476781)
TOLERANCE = 1e-9


@shared
def amplitudes(name, spin=0, basis="6-31g", **options):
    kind = scf.UHF if spin else scf.RHF
    return solved(pyscf.cc.CCSD(mean_field(kind, ATOMS[name], basis, spin=spin, unit="bohr"), **options))


def in_semicanonical_orbitals(cc):
    """A copy of a CCSD object whose orbitals diagonalise the Fock matrix among occupied and among virtual orbitals.

    Orbitals of an irrep are mixed with those of others only if they have the same energy.
    """
    restricted = not isinstance(cc, pyscf.cc.uccsd.UCCSD)
    eris = cc.ao2mo(cc.mo_coeff)
    spins = []
    for mo, fock, nocc, mask in zip(*((each,) if restricted else each for each in (
            cc.mo_coeff, eris.fock, cc.nocc, cc.get_frozen_mask()))):
        u = [np.linalg.eigh(block)[1] for block in (fock[:nocc, :nocc], fock[nocc:, nocc:])]
        new = np.array(mo)
        active = np.array(mo)[:, mask]
        new[:, mask] = np.hstack([active[:, :nocc] @ u[0], active[:, nocc:] @ u[1]])
        spins.append((new, *u))
    mf = (scf.RHF if restricted else scf.UHF)(cc.mol)
    if getattr(cc._scf, "with_df", None) is not None:
        mf = mf.density_fit()
    mf.set(mo_coeff=spins[0][0] if restricted else np.array([each[0] for each in spins]), mo_occ=cc._scf.mo_occ,
           mo_energy=cc._scf.mo_energy, e_tot=cc._scf.e_tot, converged=True)
    new = (pyscf.cc.CCSD if restricted else pyscf.cc.UCCSD)(mf, frozen=cc.frozen)
    new.set(verbose=0, converged=True, converged_lambda=True, e_corr=cc.e_corr, conv_tol=cc.conv_tol,
            conv_tol_normt=cc.conv_tol_normt)

    def turned(name):
        x1, x2 = (((x,) if restricted else x) for x in (getattr(cc, name + "1"), getattr(cc, name + "2")))
        pairs = [(0, 0)] if restricted else [(0, 0), (0, 1), (1, 1)]
        singles = [np.einsum("ia,ij,ab->jb", x, *spins[s][1:], optimize=True) for s, x in enumerate(x1)]
        doubles = [np.einsum("ijab,ik,jl,ac,bd->klcd", x, spins[s][1], spins[t][1], spins[s][2], spins[t][2], optimize=True)
                   for (s, t), x in zip(pairs, x2)]
        return (singles[0], doubles[0]) if restricted else (tuple(singles), tuple(doubles))

    new.t1, new.t2 = turned("t")
    new.l1, new.l2 = turned("l")
    return new


@shared
def fitted(name, spin):
    """A density-fitted CCSD of a molecule."""
    kind = scf.UHF if spin else scf.RHF
    return solved(pyscf.cc.CCSD(mean_field(lambda mol: kind(mol).density_fit(), ATOMS[name], spin=spin, unit="bohr")))


def arrays_of(name):
    """The input arrays of a file of tests/data/moments, its Lambda amplitudes and its energies."""
    with h5py.File(DATA / "moments" / name) as file:
        known = {each: values[()] for each, values in file.items() if each in NAMES + SPIN_NAMES}
        left = {each.replace("lambda", "t"): values[()] for each, values in file.items() if each.startswith("lambda")}
        return {**known, "correlation_energy": file.attrs.get("correlation_energy")}, left, dict(file.attrs)


class Case(unittest.TestCase):
    def assert_energies(self, result, method, e_t, e_bracket_t=None, tolerance=TOLERANCE):
        self.assertEqual(result.method, method)
        self.assertLess(abs(result.e_t - e_t), tolerance)
        self.assertEqual(result.by_method[method].e_t, result.e_t)
        if e_bracket_t is not None:
            self.assertLess(abs(result.e_bracket_t - e_bracket_t), tolerance)

    def assert_refused(self, error, sentence, function, *arguments, **options):
        with self.assertRaisesRegex(error, sentence):
            function(*arguments, **{"device": "cpu", **options})


class Arrays(Case):
    def test_closed_shell(self):
        arrays, left, known = arrays_of("h2o_631g_rhf.h5")
        for form in ("spin-adapted", "spin-orbital"):
            result = trifuse.triples(**arrays, method="ct", form=form)
            self.assert_energies(result, CT, known["E(cT)"], known["E[cT]"], 1e-13)
            self.assertEqual(result.to_dict()["settings"]["method"], ["ct"])
            result = trifuse.triples(**arrays, left=left, left_kind="lambda", method=["2t"], form=form)
            self.assert_energies(result, A, known["E CR-CC(2,3)_A"], tolerance=1e-13)
        self.assertEqual(trifuse.triples(**arrays).to_dict()["settings"]["method"], ["t"])
        together = trifuse.triples(**arrays, left=left, left_kind="lambda", method=["ct", "cr-t", "cr-cc23"]).by_method
        for method, name in ((CT, "E(cT)"), (CR, "E CR-CCSD(T)"), (A, "E CR-CC(2,3)_A"), (VARIANTS[2], "E CR-CC(2,3)_D")):
            self.assertLess(abs(together[method].e_t - known[name]), 1e-13, method)

    def test_packed(self):
        arrays, _, known = arrays_of("h2o_631g_rhf.h5")
        rows, columns = np.tril_indices(arrays["kvvv"].shape[3])
        arrays["kvvv"] = arrays["kvvv"][:, :, rows, columns]
        self.assert_energies(trifuse.triples(**arrays, method="ct"), CT, known["E(cT)"], tolerance=1e-13)

    def test_spins(self):
        e_t, e_bracket_t, a = ENERGIES["oh"]
        cc = amplitudes("oh", spin=1)
        with tempfile.TemporaryDirectory() as folder:
            path, left = os.path.join(folder, "oh.h5"), os.path.join(folder, "lambda.h5")
            write_dump(cc, path, moments=True)
            write_lambda_dump(cc, left)
            with trifuse.Dump(path) as dump, trifuse.Dump(left) as of_left:
                self.assert_energies(trifuse.triples(**dump, method="ct"), CT, e_t, e_bracket_t)
                self.assert_energies(trifuse.triples(**dump, left=of_left, method="2t"), A, a)
            both = trifuse.run(path, left=left, method="2t,ct")
            self.assert_energies(both, CT, e_t, e_bracket_t)
            self.assertLess(abs(both.by_method[A].e_t - a), TOLERANCE)

    def test_several_values_of_omega2(self):
        result = trifuse.run(MOMENTS, method="ct", omega2=[0, 0.1], device="cpu")
        self.assertEqual([each.method for each in result.energies], [CT, "denominator-shifted " + CT])
        self.assertEqual(set(result.by_method), {CT, "denominator-shifted " + CT})
        self.assertLess(abs(result.e_t + 0.0029762904945657438), TOLERANCE)
        self.assertLess(abs(result.energies[1].e_t), abs(result.e_t))

    def test_journal(self):
        arrays, _, _ = arrays_of("h2o_631g_rhf.h5")
        with tempfile.TemporaryDirectory() as folder:
            options = {"method": "ct", "journal": os.path.join(folder, "journal"), "check": False, "tile_size": 4}
            first = trifuse.triples(**arrays, threads=1, **options)
            again = trifuse.triples(**arrays, threads=2, **options)
            tasks = again.to_dict()["tasks"]
            self.assertEqual((again.e_t, tasks["from_journal"]), (first.e_t, tasks["total"]))
            arrays["kvvv"] = arrays["kvvv"] + 1e-9
            self.assert_refused(trifuse.UsageError, "belongs to a calculation with other input", trifuse.triples, **arrays, **options)

    def test_absent_arrays(self):
        arrays, _, _ = arrays_of("h2o_631g_rhf.h5")
        for name in ("oooo", "kvvv", "oovv", "fock"):
            arrays.pop(name)
        self.assert_refused(trifuse.InputError, "lacks oovv, oooo, kvvv, fock, which methods with moments of CCSD need",
                            trifuse.triples, **arrays, method="ct")
        arrays, _, _ = arrays_of("random_uhf.h5")
        for name in ("oovv_bbaa", "oooo_aabb", "kvvv_bbbb"):
            arrays.pop(name)
        self.assert_refused(trifuse.InputError, "lacks oovv_bbaa, oooo_aabb, kvvv_bbbb, which", trifuse.triples, **arrays,
                            method="ct", check=False)

    def test_other_integrals(self):
        """Factors are those of the integrals that PySCF would make, and the files of NWChem have all classes of integrals."""
        for spin, name in ((0, "h2o"), (1, "oh")):
            cc = fitted(name, spin)
            with tempfile.TemporaryDirectory() as folder:
                paths = [os.path.join(folder, each) for each in ("factors.h5", "whole.h5")]
                for path, factors in zip(paths, (True, False)):
                    write_dump(cc, path, moments=True, factors=factors)
                found, expected = (trifuse.run(path, method="ct,cr-t", device="cpu").by_method for path in paths)
                for method, energies in expected.items():
                    self.assertLess(abs(found[method].e_t - energies.e_t), 1e-12)
        cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587")))
        expected = trifuse.pyscf.triples(cc, method="ct,cr-t").by_method
        found = trifuse.run(DATA / "nwchem" / "h2o_631g_c1_rhf_t5_2eorb", method="ct,cr-t", device="cpu").by_method
        for method, energies in expected.items():
            self.assertLess(abs(found[method].e_t - energies.e_t), TOLERANCE)

    def test_methods_that_do_not_fit(self):
        _, left, _ = arrays_of("h2o_631g_rhf.h5")
        for method, sentence in (
                ("2t", "need Lambda amplitudes on the left side"), ("cr-cc23", "need Lambda amplitudes on the left side"),
                ("reg-t", "needs regularised amplitudes on the left side"), ("t,2t", "share no side"),
                (["reg-t", "ct"], "share no side"), ("tt", "method is \"tt\"; it must be t, ct, cr-t, 2t, cr-cc23, reg-t or reg-gf-t"),
                ([], "method is \"\"; it must be"), (3, "method is 3, but it must be a text")):
            self.assert_refused(trifuse.UsageError, sentence, trifuse.run, MOMENTS, method=method)
        arrays, left, _ = arrays_of("h2o_631g_rhf.h5")
        for method in ("ct", "cr-t"):
            self.assert_refused(trifuse.UsageError, "ct and cr-t have no Lambda amplitudes", trifuse.triples, **arrays,
                                left=left, left_kind="lambda", method=method)


class Objects(Case):
    def check(self, cc, name, **options):
        (e_t, e_bracket_t, a), (divided, all_divided, *variants) = ENERGIES[name], OTHERS[name]
        result = trifuse.pyscf.triples(cc, method="ct,cr-t", **options)
        self.assert_energies(result, CT, e_t, e_bracket_t)
        self.assertLess(abs(result.by_method[CR].e_bracket_t - divided), TOLERANCE)
        self.assertLess(abs(result.by_method[CR].e_t - all_divided), TOLERANCE)
        of_bracket_t, of_t = result.by_method[CR].overlap
        self.assertAlmostEqual(of_t * result.by_method[CR].e_t, result.e_t, 15)
        self.assertAlmostEqual(of_bracket_t * result.by_method[CR].e_bracket_t, result.e_bracket_t, 15)
        result = trifuse.pyscf.triples(cc, method=["2t", "cr-cc23"], **options)
        self.assert_energies(result, A, a)
        degenerate = any("degenerate orbitals of one symmetry" in warning for warning in result.warnings)
        self.assertEqual(degenerate, name in ("f2", "hf"))
        for variant, energy in zip(VARIANTS, variants):
            # Other orbitals pi of a linear molecule give another energy.
            tolerance = 5e-5 if degenerate and variant != VARIANTS[0] else TOLERANCE
            self.assertLess(abs(result.by_method[variant].e_t - energy), tolerance, variant)
        self.assertEqual(set(result.by_method), {A, *VARIANTS})
        self.assertGreater(min(each.smallest_denominator for each in result.energies), 0.5)

    def test_closed_shells(self):
        self.check(amplitudes("h2o"), "h2o")
        self.check(amplitudes("f2", frozen=2), "f2")
        self.check(amplitudes("hf", basis="dz"), "hf")
        cc = solved(rccsd.RCCSD(mean_field(scf.RHF, ATOMS["h2o"], unit="bohr", symmetry=True)))
        self.assertLess(abs(trifuse.pyscf.ccsd_t(cc, method="ct") - ENERGIES["h2o"][0]), TOLERANCE)

    def test_open_shells(self):
        self.check(amplitudes("oh", spin=1), "oh")
        self.check(amplitudes("ch2", spin=2), "ch2")

    def check_semicanonical(self, cc, rohf="given"):
        """The energies of rotated orbitals are those of an object that has semicanonical orbitals from the beginning."""
        cc.solve_lambda()
        by_hand = in_semicanonical_orbitals(cc)
        for method in ("ct,cr-t", "2t,cr-cc23"):
            found, expected = (trifuse.pyscf.triples(each, method=method, rohf=each_rohf).by_method
                               for each, each_rohf in ((cc, rohf), (by_hand, "given")))
            self.assertEqual(set(found), set(expected))
            for name, energies in expected.items():
                self.assertLess(abs(found[name].e_t - energies.e_t), TOLERANCE, name)
        return found

    def test_rohf(self):
        for options, frozen in (({"symmetry": "C2v"}, 1), ({}, None)):
            mf = mean_field(scf.ROHF, ATOMS["ch2"], spin=2, unit="bohr", **options)
            found = self.check_semicanonical(solved(pyscf.cc.UCCSD(mf, frozen=frozen)), "semicanonical")
        for name, energy in zip((A, *VARIANTS), ROHF_CH2):
            self.assertLess(abs(found[name].e_t - energy), TOLERANCE, name)

    def test_orbitals_that_are_not_canonical(self):
        mf = mean_field(scf.RHF, ATOMS["h2o"], unit="bohr")
        mf.mo_coeff = mf.mo_coeff.copy()
        for first, last in ((1, 5), (5, 13)):
            mixed = np.linalg.qr(np.cos(np.arange((last - first)**2.0)).reshape(last - first, -1) + np.eye(last - first))[0]
            mf.mo_coeff[:, first:last] = mf.mo_coeff[:, first:last] @ mixed
        found = self.check_semicanonical(solved(pyscf.cc.CCSD(mf, frozen=1)))
        canonical = amplitudes("h2o", frozen=1)
        for name, energies in trifuse.pyscf.triples(canonical, method="2t,cr-cc23").by_method.items():
            self.assertLess(abs(found[name].e_t - energies.e_t), TOLERANCE, name)
        fitted_mf = mf.density_fit()
        fitted_mf.set(mo_coeff=mf.mo_coeff, mo_occ=mf.mo_occ, mo_energy=mf.mo_energy, e_tot=mf.e_tot, converged=True)
        self.check_semicanonical(solved(pyscf.cc.CCSD(fitted_mf)))

    def test_regularised(self):
        cc = amplitudes("h2o")
        left = trifuse.pyscf.solve_regularized_ccsd(cc, 0.2)
        self.assert_energies(trifuse.pyscf.triples(cc, left=left, method="ct"), "Reg-(cT)", -0.0007055947093266807)
        self.assert_energies(trifuse.pyscf.triples(cc, left=left, method="reg-t"), "Reg-CCSD(T)", -0.0007746583467618321)
        gf = trifuse.pyscf.triples(cc, left=left, method="reg-gf-t,ct").by_method
        self.assertLess(abs(gf["Reg-GF(T)"].e_t + 0.0006223603682375873), TOLERANCE)
        self.assertLess(abs(gf["Reg-(cT)"].e_t + 0.0007055947093266807), TOLERANCE)
        with tempfile.TemporaryDirectory() as folder:
            right, of_left = os.path.join(folder, "h2o.h5"), os.path.join(folder, "left.h5")
            write_dump(cc, right, moments=True)
            write_left_dump(left, of_left)
            self.assert_refused(trifuse.InputError, "left.h5 lacks kvvv", trifuse.run, right, left=of_left, method="reg-gf-t")
            write_left_dump(left, of_left, overwrite=True, moments=True)
            gf = trifuse.run(right, left=of_left, method="reg-gf-t", form="spin-orbital")
            self.assert_energies(gf, "Reg-GF(T)", -0.0006223603682375873)
            with trifuse.Dump(right) as dump, trifuse.Dump(of_left) as left_dump:
                self.assertEqual(trifuse.triples(**dump, left=left_dump, method="reg-gf-t", form="spin-orbital").e_t, gf.e_t)

    def test_regularised_with_spins(self):
        cc = amplitudes("ch2", spin=2)
        left = trifuse.pyscf.solve_regularized_ccsd(cc, 0.2)
        result = trifuse.pyscf.triples(cc, left=left, method="reg-gf-t")
        self.assert_energies(result, "Reg-GF(T)", -0.00038726026472872386)

    def test_given_integrals_are_used(self):
        cc = amplitudes("h2o")
        eris = cc.ao2mo()
        cc.ao2mo = None
        self.check(cc, "h2o", eris=eris)

    def test_integrals_on_disk(self):
        for cc, name in ((amplitudes("h2o"), "h2o"), (amplitudes("oh", spin=1), "oh")):
            cc.max_memory = 0
            cc._scf._eri = None
            eris = cc.ao2mo()
            self.assertNotIsInstance(eris.vvvv, np.ndarray)
            self.assertLess(abs(trifuse.pyscf.ccsd_t(cc, eris=eris, method="ct") - ENERGIES[name][0]), TOLERANCE)

    def test_density_fitting(self):
        """The factors are passed. The products of the factors are PySCF's own whole integrals."""
        for name, spin in (("h2o", 0), ("oh", 1)):
            cc = fitted(name, spin)
            for method in ("ct", "2t"):
                found = trifuse.pyscf.ccsd_t(cc, method=method)
                with tempfile.TemporaryDirectory() as folder:
                    path, left = os.path.join(folder, "whole.h5"), os.path.join(folder, "lambda.h5")
                    write_dump(cc, path, moments=True, factors=False)
                    if method == "2t":
                        write_lambda_dump(cc, left)
                    result = trifuse.run(path, left=left if method == "2t" else None, method=method, device="cpu")
                self.assertLess(abs(found - result.e_t), 1e-12)
            self.assertLess(abs(trifuse.pyscf.ccsd_t(cc, method="ct") - ENERGIES[name][0]), 2e-5)

    def test_messages(self):
        cc = amplitudes("h2o")
        cc.stdout = io.StringIO()
        trifuse.pyscf.ccsd_t(cc, method="2t", verbose=lib.logger.INFO)
        self.assertRegex(cc.stdout.getvalue(), r"0\.01152 MB of kvvv .*, 0\.02848 MB of dressed integrals of each side")
        self.assertRegex(cc.stdout.getvalue(), "CCSD has no Lambda amplitudes; the Lambda equations are solved now")
        cc.stdout = io.StringIO()
        trifuse.pyscf.ccsd_t(cc, method="2t", verbose=lib.logger.INFO)
        self.assertNotIn("are solved now", cc.stdout.getvalue())
        trifuse.pyscf.ccsd_t(cc, method="ct", verbose=lib.logger.NOTE)
        self.assertEqual(cc.stdout.getvalue().count("kvvv"), 1)
        with trifuse.pyscf.patch(method="ct"):
            self.assertLess(abs(cc.ccsd_t() - ENERGIES["h2o"][0]), TOLERANCE)

    def test_refusals(self):
        cc = amplitudes("h2o")
        eris = cc.ao2mo()
        self.assert_refused(trifuse.UsageError, "share no side", trifuse.pyscf.ccsd_t, cc, eris=eris, method="t,2t")
        self.assert_refused(trifuse.UsageError, "no Lambda amplitudes", trifuse.pyscf.ccsd_t, cc, eris=eris, left="lambda", method="ct")
        eris.vvvv = None
        self.assert_refused(trifuse.UsageError, "eris has no vvvv, .* set direct=False", trifuse.pyscf.ccsd_t, cc, eris=eris, method="ct")


if __name__ == "__main__":
    unittest.main()
