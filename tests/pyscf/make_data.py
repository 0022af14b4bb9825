#!/usr/bin/env python3
"""Make the dumps and energies in data/, from which the C++ tests take PySCF's results without Python.

    python3 make_data.py [folder]
"""

import json
import os
import sys

import pyscf.cc
from pyscf import gto, scf

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "drivers")]

import brute_force
import pyscf_export


def solve(kind, atom, frozen=None, **options):
    mol = gto.M(atom=atom, basis="6-31g", verbose=0, **options)
    mf = kind(mol).set(conv_tol=1e-13, conv_tol_grad=1e-9, max_cycle=200).run()
    return pyscf.cc.CCSD(mf, frozen).set(conv_tol=1e-12, conv_tol_normt=1e-9, max_cycle=200, verbose=0).run()


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "data")
    energies = {"program": f"PySCF {pyscf.__version__}", "units": "hartree", "one_sided": {}, "two_sided": []}

    def add(name, cc, comment, pyscf_triples=True, **oracle):
        path = os.path.join(folder, name)
        pyscf_export.write_dump(cc, path, comment)
        entry = {"E(CCSD) correlation": cc.e_corr, "brute_force": brute_force.spin_orbital_energies(path, **oracle)}
        if pyscf_triples:
            entry["PySCF E(T)"] = cc.ccsd_t()
        if oracle:
            entry["options"] = oracle
        energies["one_sided"][name] = entry

    def add_pair(name, left, omega2):
        values = brute_force.spin_orbital_energies(*(os.path.join(folder, n) for n in (name, left)), omega2)
        energies["two_sided"].append({"dump": name, "left": left, "omega2": omega2, "brute_force": values})

    water = solve(scf.RHF, "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587")
    add("h2o_631g_rhf.h5", water, "all electrons correlated")
    for omega2 in (0.1, 0.2):
        left = f"h2o_631g_left_{omega2}.h5"
        pyscf_export.write_left_dump(pyscf_export.solve_regularized_ccsd(water, omega2), os.path.join(folder, left))
        add_pair("h2o_631g_rhf.h5", left, omega2)
    pyscf_export.write_lambda_dump(water, os.path.join(folder, "h2o_631g_lambda.h5"))
    add_pair("h2o_631g_rhf.h5", "h2o_631g_lambda.h5", 0.0)

    add("h2o_631g_rhf_c2v.h5", solve(scf.RHF, "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", 1, symmetry="C2v"),
        "C2v, one frozen orbital")

    hydroxyl = solve(scf.UHF, "O 0 0 0; H 0 0 0.97", spin=1)
    add("oh_631g_uhf.h5", hydroxyl, "all electrons correlated")
    pyscf_export.write_left_dump(pyscf_export.solve_regularized_ccsd(hydroxyl, 0.1),
                                 os.path.join(folder, "oh_631g_left_0.1.h5"))
    add_pair("oh_631g_uhf.h5", "oh_631g_left_0.1.h5", 0.1)

    # PySCF's own number for ROHF orbitals follows another convention, so only the oracle's is kept.
    add("ch2_631g_rohf.h5", solve(scf.ROHF, "C 0 0 0; H 0 0.99 0.43; H 0 -0.99 0.43", spin=2), "triplet, ROHF",
        pyscf_triples=False, semicanonical=True)

    with open(os.path.join(folder, "energies.json"), "w") as file:
        json.dump(energies, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
