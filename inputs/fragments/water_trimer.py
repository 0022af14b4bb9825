"""LNO-CCSD(T) of a cyclic water trimer: fragments and CCSD of pyscf-forge, the triples of each fragment by Trifuse.

    pip install '.[pyscf]' pyscf-forge && python3 inputs/fragments/water_trimer.py

Each localised orbital is a fragment, with a space of local natural orbitals (LNO) of its own. pyscf.lno solves CCSD in this
space; the part of E(T) that belongs to the localised orbital comes from `trifuse.pyscf.triples(..., fragments=)`. With all
natural orbitals the parts add up to the E(T) of the whole molecule.
"""

import argparse
from unittest import mock

import numpy as np
import pyscf.cc
import pyscf.gto
import pyscf.lo
import pyscf.mp
import pyscf.scf
from pyscf.lno import LNOCCSD_T

import trifuse.pyscf


def trimer():
    """A ring of three molecules: O-O 2.80 Å, O-H 0.96 Å. One H of each is in a hydrogen bond, the other one out of the plane."""
    turn = np.array([[-0.5, -np.sqrt(0.75), 0], [np.sqrt(0.75), -0.5, 0], [0, 0, 1]])
    oxygen = np.array([2.80 / np.sqrt(3), 0, 0])
    bonded = (turn @ oxygen - oxygen) / 2.80
    outwards, up = np.cross(bonded, [0, 0, 1]), np.array([0, 0, 1])
    angle, slope = np.radians(104.5), np.radians(50)
    atoms = []
    for n, side in enumerate((1, 1, -1)):
        free = np.cos(angle) * bonded + np.sin(angle) * (np.cos(slope) * outwards + side * np.sin(slope) * up)
        rotation = np.linalg.matrix_power(turn, n)
        for element, place in (("O", oxygen), ("H", oxygen + 0.96 * bonded), ("H", oxygen + 0.96 * free)):
            atoms.append((element, rotation @ place))
    return atoms


def triples_of_fragment(mycc, eris, ulo, t1=None, t2=None, verbose=None):
    """In the place of pyscf.lno.lnoccsd_t.kernel: Tr(P M) of the orbitals ulo[i,m]."""
    return trifuse.pyscf.triples(mycc, t1, t2, eris, fragments=[ulo], verbose=0).fragments[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--basis", default="cc-pvdz")
    parser.add_argument("--molecules", type=int, choices=(1, 2, 3), default=3, help="leave molecules out")
    parser.add_argument("--thresholds", type=float, nargs="+", default=[1e-4, 1e-5, 1e-6],
                        help="of the occupations of natural orbitals; 0: all of them, as many CCSD of the whole as orbitals")
    arguments = parser.parse_args()

    n = arguments.molecules
    mol = pyscf.gto.M(atom=trimer()[:3 * n], basis=arguments.basis, verbose=0)
    mf = pyscf.scf.RHF(mol).density_fit().run(conv_tol=1e-11)
    mycc = pyscf.cc.CCSD(mf, frozen=n).run(conv_tol=1e-9, conv_tol_normt=1e-7)
    e_t = trifuse.pyscf.ccsd_t(mycc)
    mp2 = pyscf.mp.MP2(mf, frozen=n).run().e_corr
    localised = pyscf.lo.PipekMezey(mol, mf.mo_coeff[:, n:mol.nelectron // 2]).kernel()

    print("threshold   E(CCSD)/Eh      E(T)/Eh         E(CCSD(T)) with MP2 of the rest")
    for threshold in arguments.thresholds:
        local = LNOCCSD_T(mf, localised, [[m] for m in range(localised.shape[1])], frozen=n).set(verbose=0)
        local.lno_thresh = [10 * (threshold or 1e-100), threshold or 1e-100]
        local.kwargs_imp = {"conv_tol": 1e-9, "conv_tol_normt": 1e-7}
        with mock.patch("pyscf.lno.lnoccsd_t.kernel", triples_of_fragment):
            local.kernel()
        triples = local.efrag_cc_t.sum()
        print(f"{threshold:9.0e}  {local.e_corr_ccsd:.9f}  {triples:.9f}  {local.e_corr_ccsd_t_pt2corrected(mp2):.9f}", flush=True)
    print(f"molecule   {mycc.e_corr:.9f}  {e_t:.9f}  {mycc.e_corr + e_t:.9f}")


if __name__ == "__main__":
    main()
