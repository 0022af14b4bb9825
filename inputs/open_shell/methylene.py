#!/usr/bin/env python3
"""Triplet methylene with PySCF, CCSD(T)/cc-pVDZ on a UHF and on an ROHF reference.

    python3 methylene.py
    trifuse run methylene_uhf.h5
    trifuse run methylene_rohf.h5 --rohf semicanonical

Each must give the E(T) that this script prints.
"""

import os
import sys

import numpy as np
import pyscf.cc
from pyscf import gto, scf

# Your own script needs only a copy of the folder pyscf_export beside it. Here the folder is in drivers/ of the sources, or in
# share/trifuse/ of an installation.
sys.path.extend(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", folder) for folder in ("drivers", ""))
import pyscf_export

mol = gto.M(atom="C 0 0 0; H 0 0.99 0.43; H 0 -0.99 0.43", basis="cc-pvdz", spin=2)


def tight(cc):
    return cc.set(conv_tol=1e-10, conv_tol_normt=1e-8).run()


uhf = scf.UHF(mol).set(conv_tol=1e-11).run()
uccsd = tight(pyscf.cc.CCSD(uhf))
pyscf_export.write_dump(uccsd, "methylene_uhf.h5")
print(f"UHF-CCSD(T):  PySCF's E(T) = {uccsd.ccsd_t():.12f}")

# PySCF does CCSD on ROHF orbitals with its UCCSD code. The dump says that the reference is ROHF and holds the Fock
# matrices, from which Trifuse makes the orbitals semicanonical.
rohf = scf.ROHF(mol).set(conv_tol=1e-11).run()
roccsd = tight(pyscf.cc.UCCSD(rohf))
pyscf_export.write_dump(roccsd, "methylene_rohf.h5")


def semicanonical(mf):
    """Orbitals that diagonalise the occupied and the virtual block of each spin's Fock matrix."""
    unrestricted = mf.to_uhf()
    orbitals = []
    for mo, fock, occupied in zip(unrestricted.mo_coeff, unrestricted.get_fock(), unrestricted.mo_occ > 0):
        mo = mo.copy()
        for block in (occupied, ~occupied):
            mo[:, block] = mo[:, block] @ np.linalg.eigh(mo[:, block].T @ fock @ mo[:, block])[1]
        orbitals.append(mo)
    return np.array(orbitals)


# PySCF's (T) does not rotate the orbitals. It gives the standard ROHF-CCSD(T) only with semicanonical orbitals.
rotated = tight(pyscf.cc.UCCSD(rohf.to_uhf(), mo_coeff=semicanonical(rohf)))
print(f"ROHF-CCSD(T): PySCF's E(T) = {rotated.ccsd_t():.12f}")
