"""CCSD(T) of Psi4's closed and open shells: RHF, UHF and CCSD of Psi4, the triples of Trifuse from NumPy arrays.

    apt-get install psi4 && pip install . && eval "$(psi4 --psiapi-path)" && python3 inputs/arrays/psi4_triples.py

RHF and UHF references without point group symmetry (symmetry c1), with or without frozen orbitals.
"""

import glob
import os
import struct

import numpy as np
import psi4

import trifuse

CC_OEI, CC_TAMPS = 101, 109  # the numbers of Psi4's files of t1 and t2


def amplitudes(unit, *names):
    """Arrays of a file of Psi4's coupled cluster. (get_amplitudes() of Psi4 1.3 fails with frozen orbitals and UHF.)"""
    (path,) = glob.glob(f"{psi4.core.IOManager.shared_object().get_file_path(unit)}psi*.{os.getpid()}*.{unit}")
    with open(path, "rb") as file:
        data = file.read()
    (count,), entry, page, found = struct.unpack_from("Q", data), 8, 65536, {}
    for _ in range(count):  # an entry: its name, the addresses of its begin and of its end as (page, offset), numbers
        begin_page, begin, end_page, end = struct.unpack_from("4Q", data, entry + 80)
        stop = end_page * page + end
        found[data[entry:entry + 80].split(b"\0")[0].decode()] = data[entry + 112:stop]
        entry = stop
    return [np.frombuffer(found[name]) for name in names]


def antisymmetric(pairs, o, v):
    """t2[i,j,a,b] of t2[i>j,a>b]."""
    (i, j), (a, b) = np.tril_indices(o, -1), np.tril_indices(v, -1)
    t2 = np.zeros((o, o, v, v))
    for sign, first, second in ((1, i, j), (-1, j, i)):
        t2[first[:, None], second[:, None], a, b] = sign * pairs.reshape(len(i), len(a))
        t2[first[:, None], second[:, None], b, a] = -sign * pairs.reshape(len(i), len(a))
    return t2


def triples(wfn):
    """The triples of a converged CCSD wave function of Psi4, whose files still exist."""
    restricted = wfn.same_a_b_orbs()
    spaces = {"o": wfn.Ca_subset("AO", "ACTIVE_OCC"), "v": wfn.Ca_subset("AO", "ACTIVE_VIR"),
              "O": wfn.Cb_subset("AO", "ACTIVE_OCC"), "V": wfn.Cb_subset("AO", "ACTIVE_VIR")}
    oa, va, ob, vb = (space.shape[1] for space in spaces.values())
    mints = psi4.core.MintsHelper(wfn.basisset())
    kinds = ("ovvv ovoo ovov oovv" if restricted else
             "ovvv ovVV OVvv OVVV ovoo ovOO OVoo OVOO ovov ovOV OVOV oovv OOVV").split()
    arrays = {}
    for kind in kinds:  # (pq|rs); capital letters: beta
        spins = "" if restricted else "_" + "".join("a" if space.islower() else "b" for space in kind)
        arrays[kind.lower() + spins] = np.asarray(mints.mo_eri(*(spaces[space] for space in kind)))
    of_spins = (("a", "o", "v", wfn.Fa(), wfn.epsilon_a_subset), ("b", "O", "V", wfn.Fb(), wfn.epsilon_b_subset))
    for spin, occupied, virtual, fock, epsilon in of_spins[:1 if restricted else 2]:
        suffix = "" if restricted else "_" + spin
        orbitals = np.hstack([spaces[occupied].to_array(), spaces[virtual].to_array()])
        arrays["fock" + suffix] = orbitals.T @ fock.to_array() @ orbitals
        arrays["eps_occ" + suffix] = epsilon("AO", "ACTIVE_OCC").to_array()
        arrays["eps_vir" + suffix] = epsilon("AO", "ACTIVE_VIR").to_array()
    if restricted:
        (t1,), (t2,) = amplitudes(CC_OEI, "tIA"), amplitudes(CC_TAMPS, "tIjAb")
        arrays.update(t1=t1.reshape(oa, va), t2=t2.reshape(oa, oa, va, va))
    else:
        t1_a, t1_b = amplitudes(CC_OEI, "tIA", "tia")
        t2_aa, t2_ab, t2_bb = amplitudes(CC_TAMPS, "tIJAB", "tIjAb", "tijab")
        arrays.update(t1_a=t1_a.reshape(oa, va), t1_b=t1_b.reshape(ob, vb), t2_ab=t2_ab.reshape(oa, ob, va, vb),
                      t2_aa=antisymmetric(t2_aa, oa, va), t2_bb=antisymmetric(t2_bb, ob, vb))
    return trifuse.triples(
        **arrays, convergence=psi4.core.get_option("CCENERGY", "R_CONVERGENCE"),
        correlation_energy=psi4.variable("CCSD CORRELATION ENERGY"), scf_energy=psi4.variable("SCF TOTAL ENERGY"))


def main():
    psi4.core.set_output_file("psi4.out", False)
    for name, molecule, options in (
            ("water", "O 0 0 0\nH 0 0.757 0.587\nH 0 -0.757 0.587", {"reference": "rhf"}),
            ("water, frozen core", "O 0 0 0\nH 0 0.757 0.587\nH 0 -0.757 0.587", {"reference": "rhf", "freeze_core": "true"}),
            ("hydroxyl, frozen core", "0 2\nO 0 0 0\nH 0 0 0.97", {"reference": "uhf", "freeze_core": "true"})):
        psi4.core.clean_options()
        psi4.geometry(molecule + "\nsymmetry c1\n")
        psi4.set_options({"basis": "6-31g", "scf_type": "pk", "e_convergence": 1e-11, "d_convergence": 1e-10,
                          "r_convergence": 1e-9, **options})
        wfn = psi4.energy("ccsd(t)", return_wfn=True)[1]
        print(name, triples(wfn), sep="\n")
        print(f"E(T) of Psi4          {psi4.variable('(T) CORRECTION ENERGY'):.12f} Eh\n")
        psi4.core.clean()


if __name__ == "__main__":
    main()
