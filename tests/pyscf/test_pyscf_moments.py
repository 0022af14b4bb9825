"""The arrays for dressed moments in dumps of PySCF: their numbers are those of the integrals over all orbitals."""

import exported_dumps  # first: it sets the number of threads and the path of the exporter
import h5py
import numpy as np
import pyscf.cc
import pyscf_export
from exported_dumps import HYDROXYL, WATER, Dumps, mean_field, solved
from pyscf import ao2mo, scf
from pyscf.cc import ccsd, rccsd, uccsd

NAMES = {"oooo", "kvvv", "ladder", "vvvv_diag"}
SPIN_NAMES = {"oovv_aabb", "oovv_bbaa", "oooo_aaaa", "oooo_aabb", "oooo_bbbb", "kvvv_aaaa", "kvvv_aabb", "kvvv_bbaa",
              "kvvv_bbbb", "ladder_aa", "ladder_ab", "ladder_bb", "vvvv_diag_aa", "vvvv_diag_ab", "vvvv_diag_bb"}


SEMICANONICAL_NAMES = {f"vvvv_diag_semicanonical_{both}" for both in ("aa", "ab", "bb")}


def coefficients(cc, dump=None):
    """Active orbitals by class, in the order of the dump. `dump`: their virtual orbitals are semicanonical, with its Fock matrix."""
    eris = pyscf_export.fock_only(cc)
    t1, t2 = pyscf_export.checked_amplitudes(cc, cc.t1, cc.t2)
    orbitals = pyscf_export.orbitals_of(cc, eris, t1, t2)
    found = {}
    for spin, mo in zip(("ov", "OV"), (eris.mo_coeff,) if orbitals.restricted else eris.mo_coeff):
        o = len(orbitals.order[spin[0]])
        found[spin[0]], found[spin[1]] = mo[:, :o][:, orbitals.order[spin[0]]], mo[:, o:][:, orbitals.order[spin[1]]]
        if dump is None:
            continue
        suffix = "" if orbitals.restricted else "_" + "ab"[spin == "OV"]
        fock = dump["fock" + suffix][o:, o:]
        irreps = dump["irrep_vir" + suffix][()] if "irrep_vir" + suffix in dump else np.zeros(len(fock))
        for irrep in set(irreps):
            which = np.nonzero(irreps == irrep)[0]
            found[spin[1]][:, which] = found[spin[1]][:, which] @ np.linalg.eigh(fock[np.ix_(which, which)])[1]
    return found


def expected_arrays(cc, dump):
    """All arrays for dressed moments from the whole (pq|rs) and the amplitudes in the dump."""
    mo, semicanonical = coefficients(cc), coefficients(cc, dump)

    def integrals(name, mo=mo):
        c = [mo[letter] for letter in name]
        return ao2mo.general(cc.mol, c, compact=False).reshape([each.shape[1] for each in c])

    found = {}
    restricted = "t1" in dump
    for first in "a" if restricted else "ab":
        for second in "a" if restricted else "ab":
            (o, v), (p, w) = (("ov", "OV")[spin == "b"] for spin in (first, second))
            pairs, both = ("", "") if restricted else (f"_{first * 2}{second * 2}", f"_{first}{second}")
            vvvv = integrals(v + v + w + w)
            t1 = dump["t1" + both[:2]][()]
            found["kvvv" + pairs] = np.einsum("ke,cebd->kcbd", t1, vvvv)
            if first != second:
                found["oovv" + pairs] = integrals(o + o + w + w)
            if (first, second) == ("b", "a"):
                continue
            found["oooo" + pairs] = integrals(o + o + p + p)
            found["ladder" + both] = np.einsum("acbd,ijcd->ijab", vvvv, dump["t2" + both][()])
            for name, vvvv in (("vvvv_diag", vvvv), ("vvvv_diag_semicanonical", integrals(v + v + w + w, semicanonical))):
                diagonals = [np.einsum("aabb->ab", vvvv)] + ([np.einsum("abab->ab", vvvv)] if first == second else [])
                found[name + both] = np.stack(diagonals)
    return found


class MomentArrays(Dumps):
    def check_arrays(self, cc, names, run=False):
        pyscf_export.write_dump(cc, self.path(), moments=True)
        self.assertEqual(pyscf_export.verify_seal(self.path()), [])
        with h5py.File(self.path()) as file:
            self.assertLessEqual(names, set(file))
            expected = expected_arrays(cc, file)
            self.assertLessEqual(names, set(expected))
            self.assertEqual({name for name in set(expected) if name in file}, names)
            for name, values in expected.items():
                if name not in names:
                    continue
                np.testing.assert_allclose(file[name][()], values, atol=1e-11, err_msg=name)
        if exported_dumps.TRIFUSE and run:
            self.assertLess(abs(self.trifuse(self.path())["E(T)"] - cc.ccsd_t()), exported_dumps.TOLERANCE)

    def test_restricted(self):
        mf = mean_field(scf.RHF, WATER, symmetry="C2v")
        for kind, frozen in ((ccsd.CCSD, None), (ccsd.CCSD, [0, 6]), (rccsd.RCCSD, 1)):
            self.check_arrays(solved(kind(mf, frozen)), NAMES, run=frozen is None)

    def test_unrestricted(self):
        self.check_arrays(solved(uccsd.UCCSD(mean_field(scf.UHF, HYDROXYL, spin=1), 1)), SPIN_NAMES, run=True)

    def test_other_orbitals(self):
        """Triples of ROHF and of orbitals that are not canonical may have semicanonical orbitals."""
        self.check_arrays(solved(pyscf.cc.CCSD(mean_field(scf.ROHF, HYDROXYL, spin=1), 1)), SPIN_NAMES | SEMICANONICAL_NAMES)
        self.check_arrays(solved(pyscf.cc.CCSD(mean_field(scf.ROHF, HYDROXYL, spin=1, symmetry="C2v"), 1)),
                          SPIN_NAMES | SEMICANONICAL_NAMES)
        mf = mean_field(scf.RHF, WATER)
        for first, last in ((1, 5), (5, 13)):
            mixed = np.linalg.qr(np.cos(np.arange((last - first)**2.0)).reshape(last - first, -1) + np.eye(last - first))[0]
            mf.mo_coeff[:, first:last] = mf.mo_coeff[:, first:last] @ mixed
        self.check_arrays(solved(ccsd.CCSD(mf, 1)), NAMES | {"vvvv_diag_semicanonical"})

    def test_one_electron(self):
        mf = mean_field(scf.UHF, "Li 0 0 0; H 0 0 1.6", spin=2, basis="sto-3g")
        self.check_arrays(solved(uccsd.UCCSD(mf, [[0], [0]])), SPIN_NAMES)

    def test_on_disk(self):
        for kind, mf, names in ((ccsd.CCSD, mean_field(scf.RHF, WATER, "sto-3g"), NAMES),
                                (rccsd.RCCSD, mean_field(scf.RHF, WATER, "sto-3g"), NAMES),
                                (uccsd.UCCSD, mean_field(scf.UHF, HYDROXYL, "sto-3g", spin=1), SPIN_NAMES)):
            cc = solved(kind(mf))
            cc.max_memory = 0
            cc._scf._eri = None
            self.check_arrays(cc, names)

    def test_factors_need_nothing_more(self):
        cc = solved(pyscf.cc.CCSD(mean_field(lambda mol: scf.RHF(mol).density_fit(), WATER, "sto-3g")))
        pyscf_export.write_dump(cc, self.path(), moments=True)
        with h5py.File(self.path()) as file:
            self.assertEqual(NAMES & set(file), set())

    def test_missing_integrals(self):
        cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER, "sto-3g")))
        eris = cc.ao2mo(cc.mo_coeff)
        eris.vvvv = None
        with self.assertRaisesRegex(pyscf_export.ExportError, "eris has no vvvv, .*; set direct=False"):
            pyscf_export.write_dump(cc, self.path(), eris=eris, moments=True)


if __name__ == "__main__":
    exported_dumps.main()
