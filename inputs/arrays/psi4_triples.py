"""CCSD(T) of water: RHF and CCSD of Psi4, the triples of Trifuse from NumPy arrays.

    apt-get install psi4 && pip install . && eval "$(psi4 --psiapi-path)" && python3 inputs/arrays/psi4_triples.py
"""

import numpy as np
import psi4

import trifuse


def triples(wfn):
    """The triples of a converged RHF-CCSD wave function of Psi4 in C1."""
    amplitudes = wfn.get_amplitudes()  # Psi4 1.3 gives them in C1 and without frozen orbitals only
    occupied, virtual = wfn.Ca_subset("AO", "ACTIVE_OCC"), wfn.Ca_subset("AO", "ACTIVE_VIR")
    mints = psi4.core.MintsHelper(wfn.basisset())
    spaces = {"o": occupied, "v": virtual}
    integrals = {name: np.asarray(mints.mo_eri(*(spaces[space] for space in name)))  # (pq|rs)
                 for name in ("ovvv", "ovoo", "ovov")}
    integrals["oovv"] = np.asarray(mints.mo_eri(occupied, occupied, virtual, virtual))  # (ij|ab)
    orbitals = np.hstack([occupied.to_array(), virtual.to_array()])
    return trifuse.triples(
        t1=amplitudes["tIA"].to_array(), t2=amplitudes["tIjAb"].to_array(), **integrals,
        eps_occ=wfn.epsilon_a_subset("AO", "ACTIVE_OCC").to_array(),
        eps_vir=wfn.epsilon_a_subset("AO", "ACTIVE_VIR").to_array(),
        fock=orbitals.T @ wfn.Fa().to_array() @ orbitals, convergence=psi4.core.get_option("CCENERGY", "R_CONVERGENCE"),
        correlation_energy=psi4.variable("CCSD CORRELATION ENERGY"), scf_energy=psi4.variable("SCF TOTAL ENERGY"))


def main():
    psi4.core.set_output_file("psi4.out", False)
    psi4.geometry("O 0 0 0\nH 0 0.757 0.587\nH 0 -0.757 0.587\nsymmetry c1\n")
    psi4.set_options({"basis": "6-31g", "scf_type": "pk", "e_convergence": 1e-11,
                      "d_convergence": 1e-10, "r_convergence": 1e-9})
    wfn = psi4.energy("ccsd", return_wfn=True)[1]
    result = triples(wfn)
    print(result)
    psi4.energy("ccsd(t)")
    print(f"E(T) of Psi4          {psi4.variable('(T) CORRECTION ENERGY'):.12f} Eh")
    return result


if __name__ == "__main__":
    main()
