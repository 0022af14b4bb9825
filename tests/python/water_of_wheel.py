"""Tries an installed wheel: (T) of water, beside that of PySCF."""

import pyscf.cc
import pyscf.gto
import pyscf.scf
import trifuse.pyscf

mol = pyscf.gto.M(atom="O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", basis="cc-pvdz", verbose=0)
mycc = pyscf.cc.CCSD(pyscf.scf.RHF(mol).run()).run()
ours, theirs = trifuse.pyscf.ccsd_t(mycc), mycc.ccsd_t()
print(f"E(T) {ours:.12f} Eh, of PySCF {theirs:.12f} Eh")
assert abs(ours - theirs) < 1e-10 and ours < -0.003
