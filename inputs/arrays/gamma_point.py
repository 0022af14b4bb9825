"""CCSD(T) of diamond at the Gamma point: RHF and CCSD of PySCF, the triples of Trifuse from NumPy arrays.

    pip install '.[pyscf]' && python3 inputs/arrays/gamma_point.py

Orbitals and integrals are real at the Gamma point, so the arrays have the symmetries of those of a molecule.
`trifuse.pyscf.ccsd_t(mycc)` takes the arrays from the object itself; the function below shows what they are.
"""

import numpy as np
import pyscf.pbc.cc
import pyscf.pbc.gto
import pyscf.pbc.scf

import trifuse


def triples(mycc, eris):
    """The triples of a converged RCCSD object of pyscf.pbc with its integrals."""
    o = mycc.nocc
    # PySCF adds the Madelung constant to the occupied energies in eris.mo_energy. The amplitudes belong to the Fock
    # matrix without it. Trifuse refuses energies that do not fit the Fock matrix.
    energies = eris.fock.diagonal()
    integrals = {name: np.asarray(getattr(eris, name)) for name in ("ovoo", "ovov", "oovv")}
    return trifuse.triples(
        t1=mycc.t1, t2=mycc.t2, eps_occ=energies[:o], eps_vir=energies[o:], ovvv=eris.get_ovvv(), **integrals,
        fock=eris.fock, correlation_energy=mycc.e_corr, scf_energy=mycc._scf.e_tot, convergence=mycc.conv_tol_normt)


def main():
    cell = pyscf.pbc.gto.M(a=1.7834 * (np.ones((3, 3)) - np.eye(3)), atom="C 0 0 0; C 0.8917 0.8917 0.8917",
                           basis="gth-dzv", pseudo="gth-pade", verbose=0)
    mf = pyscf.pbc.scf.RHF(cell).density_fit().run(conv_tol=1e-11)
    mycc = pyscf.pbc.cc.CCSD(mf).run(conv_tol=1e-10, conv_tol_normt=1e-8)
    eris = mycc.ao2mo()
    result = triples(mycc, eris)
    print(result)
    eris.mo_energy = eris.fock.diagonal()
    print(f"E(T) of PySCF         {mycc.ccsd_t(eris=eris):.12f} Eh")
    return result


if __name__ == "__main__":
    main()
