"""Triples energies without any triples formula, for a closed-shell molecule small enough for full CI.

The definition itself: with the Hamiltonian as an operator on determinants, T the triply excited determinants and Phi
the Hartree-Fock determinant,

    E = sum_T <Phi| L H |T> <T| H R2 |Phi> / Delta_T        L = L1 + L2 of the left, R2 the doubles of the right side.

For canonical orbitals the one-electron part of H connects neither side, so that this is the two-sided (T) energy.
"""

import numpy as np
from pyscf import ao2mo
from pyscf.fci import addons, cistring, direct_spin1


def _excite(vector, norb, nelec, pairs):
    """The string a^+ i of every (spin, i, a) in `pairs`, applied from the last to the first."""
    annihilate, create = (addons.des_a, addons.des_b), (addons.cre_a, addons.cre_b)
    for spin, i, a in reversed(pairs):
        removed = [n - (s == spin) for s, n in enumerate(nelec)]
        vector = create[spin](annihilate[spin](vector, norb, nelec, i), norb, removed, a)
    return vector


def excited_state(t1, t2, norb, nelec):
    """(T1 + T2)|Phi> of spin-blocked amplitudes (t1a, t1b), (t2aa, t2ab, t2bb)."""
    shape = [cistring.num_strings(norb, n) for n in nelec]
    reference = np.zeros(shape)
    reference[0, 0] = 1.0
    state = np.zeros(shape)
    for spin, t in enumerate(t1):
        for (i, a), x in np.ndenumerate(t):
            state += x * _excite(reference, norb, nelec, [(spin, i, nelec[spin] + a)])
    for (p, q), factor, t in (((0, 0), 0.25, t2[0]), ((0, 1), 1.0, t2[1]), ((1, 1), 0.25, t2[2])):
        for (i, j, a, b), x in np.ndenumerate(t):
            if x != 0.0:
                state += factor * x * _excite(reference, norb, nelec, [(p, i, nelec[p] + a), (q, j, nelec[q] + b)])
    return state


def triples_energy(mf, left, right):
    """E[T] and E(T) of amplitudes ((t1a, t1b), (t2aa, t2ab, t2bb)) of an RHF object without frozen orbitals."""
    norb, nelec = mf.mo_coeff.shape[1], mf.mol.nelec
    one = mf.mo_coeff.T @ mf.get_hcore() @ mf.mo_coeff
    two = ao2mo.restore(1, ao2mo.full(mf._eri, mf.mo_coeff), norb)
    hamiltonian = direct_spin1.absorb_h1e(one, two, norb, nelec, 0.5)

    strings = [cistring.make_strings(range(norb), n) for n in nelec]
    occupied = [np.array([[s >> p & 1 for p in range(norb)] for s in spin]) for spin in strings]
    rank = np.add.outer(*(o[:, n:].sum(1) for o, n in zip(occupied, nelec)))
    energy = np.add.outer(*(o @ mf.mo_energy for o in occupied))
    triple = rank == 3
    delta = energy[0, 0] - energy[triple]

    def project(t1, t2):
        state = excited_state(t1, t2, norb, nelec)
        return direct_spin1.contract_2e(hamiltonian, state, norb, nelec)[triple]

    no_singles = tuple(np.zeros_like(t) for t in right[0])
    ket = project(no_singles, right[1]) / delta
    return {"E[T]": project(no_singles, left[1]) @ ket, "E(T)": project(*left) @ ket}
