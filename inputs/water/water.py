#!/usr/bin/env python3
"""Water with PySCF, CCSD(T)/cc-pVDZ: from your own script to Trifuse.

    python3 water.py
    trifuse run water.h5                        # CCSD(T): PySCF's number, printed below
    trifuse run water.h5 --left water_left.h5   # Reg-CCSD(T)

The same without a script, with the folder pyscf_export of drivers/ or of share/trifuse/:

    python3 pyscf_export water.xyz --basis cc-pvdz --frozen 1 --omega2 0.1 --triples -o water.h5
"""

import os
import sys

import pyscf.cc
from pyscf import gto, scf

# Your own script needs only a copy of the folder pyscf_export beside it. Here the folder is in drivers/ of the sources, or in
# share/trifuse/ of an installation.
sys.path.extend(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", folder) for folder in ("drivers", ""))
import pyscf_export

mol = gto.M(atom=os.path.join(os.path.dirname(os.path.abspath(__file__)), "water.xyz"), basis="cc-pvdz", symmetry=True)

# The error of (T) is proportional to the error of the amplitudes, so tighter thresholds than PySCF's defaults are useful.
mf = scf.RHF(mol).set(conv_tol=1e-11).run()
mycc = pyscf.cc.CCSD(mf, frozen=1).set(conv_tol=1e-10, conv_tol_normt=1e-8)

# The integrals are transformed once and used by the CCSD, the dump and the regularised CCSD.
eris = mycc.ao2mo()
mycc.kernel(eris=eris)
pyscf_export.write_dump(mycc, "water.h5", comment="water, frozen core", eris=eris)

# Reg-CCSD(T) has the amplitudes of a regularised CCSD on the left of the triples energy; omega^2 in hartree.
regularised = pyscf_export.solve_regularized_ccsd(mycc, 0.1, eris=eris)
pyscf_export.write_left_dump(regularised, "water_left.h5")

# With symmetry, PySCF's (T) has an error of 4e-12 hartree, so more digits than these would not be those of Trifuse.
print(f"PySCF's own E(T) = {mycc.ccsd_t(eris=eris):.10f}")
