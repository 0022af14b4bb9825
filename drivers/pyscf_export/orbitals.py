# mypy: ignore-errors
"""The orbitals of a coupled-cluster object: their order in the dump, energies, Fock matrix and irreps."""

import collections

import numpy as np

from .calculation import is_periodic, on_host, per_spin
from .errors import ExportError

# Amplitudes that symmetry forbids are rounding errors.
FORBIDDEN = 1e-8
# Orbitals with larger off-diagonal Fock matrix elements, hartree, are not canonical. An ROHF with PySCF's default thresholds
# leaves 2e-7.
NON_CANONICAL = 3e-5


# The orbitals of the indices of arrays. The dictionaries have a key for each orbital class o v O V (upper case: beta; absent
# when restricted), nocc and fock only for o and O. `order` lists PySCF's orbitals of a class in the order of the dump.
Orbitals = collections.namedtuple("Orbitals", "restricted reference suffixes nocc energies fock irreps order")


def orbitals_of(cc, eris, t1, t2):
    """The orbitals of an object, from its integrals or from `fock_only`. Raises ExportError if the dump cannot describe them.

    `t1`, `t2`: the amplitudes of the dump, which must have the symmetry of the orbitals.
    """
    from pyscf.cc import uccsd

    restricted = not isinstance(cc, uccsd.UCCSD)
    nocc, energies, fock, irreps = {}, {}, {}, {}
    for spin, n, e, f, mo in zip(("ov", "OV"), *(per_spin(cc, each) for each in (cc.nocc, eris.mo_energy, eris.fock,
                                                                                eris.mo_coeff))):
        nocc[spin[0]], fock[spin[0]] = n, on_host(f).real
        # At the Gamma point PySCF adds the Madelung constant to mo_energy. The amplitudes belong to the Fock matrix without it.
        e = fock[spin[0]].diagonal() if is_periodic(cc) else on_host(e).real
        ids = _irrep_numbers(cc, on_host(mo).real)
        for c, part in zip(spin, (slice(None, n), slice(n, None))):
            energies[c] = e[part]
            irreps[c] = None if ids is None else ids[part]
    if any(i is None for i in irreps.values()):
        irreps = None
    else:
        _check_symmetric(per_spin(cc, t1), per_spin(cc, t2), irreps)
    # Orbitals of an irrep are neighbours and keep their order.
    order = {c: np.argsort(irreps[c] if irreps else np.zeros(len(e)), kind="stable") for c, e in energies.items()}
    return Orbitals(restricted, _reference(cc, restricted), ("",) if restricted else ("_a", "_b"), nocc, energies, fock, irreps,
                    order)


def _reference(cc, restricted):
    if restricted:
        return "RHF"
    # pyscf.cc.CCSD turns an ROHF object into a UHF object. Only the equal orbitals of both spins show this.
    alpha, beta = (on_host(each) for each in cc.mo_coeff)
    occupied = [int(n) for n in cc.nocc]
    return "ROHF" if alpha.shape == beta.shape and np.array_equal(alpha, beta) and occupied[0] != occupied[1] else "UHF"


def coupling_within_spaces(cc, eris):
    """The largest off-diagonal element of the Fock matrix between two occupied or two virtual orbitals, hartree.

    0 for an ROHF reference, whose orbitals are never canonical for both spins.
    """
    from pyscf.cc import uccsd

    if _reference(cc, not isinstance(cc, uccsd.UCCSD)) == "ROHF":
        return 0.0
    return max(_off_diagonal(on_host(matrix), [n]) for n, matrix in zip(per_spin(cc, cc.nocc), per_spin(cc, eris.fock)))


def _off_diagonal(matrix, ends):
    """The largest off-diagonal element, absolute value, of the diagonal blocks that end before the rows `ends`, and of the last."""
    blocks = [matrix[first:end, first:end] for first, end in zip([0, *ends], [*ends, len(matrix)])]
    return max(abs(block - np.diag(np.diag(block))).max(initial=0.0) for block in blocks)


def semicanonical_virtuals(orbitals):
    """U[new,old] of semicanonical virtual orbitals by class: new ones in the order of the dump, old ones in that of PySCF.

    They diagonalise the Fock matrix among the orbitals of each irrep. None if the orbitals are canonical, so that triples do not
    have others.
    """
    canonical = all(_off_diagonal(orbitals.fock[o], [n]) <= NON_CANONICAL for o, n in orbitals.nocc.items())
    if canonical and orbitals.reference != "ROHF":
        return None
    vectors = {}
    for o, v in zip(orbitals.nocc, "vV"):
        n, order = orbitals.nocc[o], orbitals.order[v]
        irreps = np.zeros(len(order)) if orbitals.irreps is None else orbitals.irreps[v][order]
        vectors[v] = np.zeros((len(order), len(order)))
        for irrep in np.unique(irreps):
            rows, = np.nonzero(irreps == irrep)
            vectors[v][np.ix_(rows, order[rows])] = np.linalg.eigh(orbitals.fock[o][np.ix_(n + order[rows], n + order[rows])])[1].T
    return vectors


def rohf_warning(cc, orbitals):
    """A sentence if the orbitals of an ROHF reference are not canonical, so that PySCF's (T) depends on their choice, or None.

    Canonical ones diagonalise the mean of both Fock matrices among the doubly, the singly occupied and the empty orbitals.
    """
    if orbitals.reference != "ROHF" or not np.array_equal(*map(on_host, cc.get_frozen_mask())):
        return None
    coupling = _off_diagonal((orbitals.fock["o"] + orbitals.fock["O"]) / 2, sorted(orbitals.nocc.values()))
    if coupling <= NON_CANONICAL:
        return None
    return (f"The ROHF orbitals are not canonical: the mean of both Fock matrices couples orbitals of equal occupation by up to "
            f"{coupling:.1e} hartree; E(T) with the option rohf given depends on the choice of the orbitals, that with rohf "
            "semicanonical does not.")


def _irrep_numbers(cc, mo):
    """Irreps 0..7 whose product is the exclusive or, or None without usable symmetry."""
    from pyscf import symm

    mol = cc.mol
    if not mol.symmetry or mol.groupname == "SO3":
        return None
    try:
        ids = symm.label_orb_symm(mol, mol.irrep_id, mol.symm_orb, mo, s=cc._scf.get_ovlp())
    except ValueError:  # an orbital of mixed symmetry
        return None
    return np.asarray(ids, dtype=np.int64) % 10  # the last digit of a linear molecule's irrep is its D2h or C2v one


def _check_symmetric(t1, t2, irreps):
    classes = ("ov", "OV", "oovv") if len(t1) == 1 else ("ov", "OV", "oovv", "oOvV", "OOVV")
    for t, name in zip([*t1, *t2], [*classes[:len(t1)], *classes[2:]]):
        product = np.zeros(1, dtype=np.int64)
        for c in name[1:]:
            product = product[..., None] ^ irreps[c]
        for i, row in enumerate(t):  # row by row: t2 may be large
            forbidden = abs(row[product[0] != irreps[name[0]][i]]).max(initial=0.0)
            if forbidden > FORBIDDEN:
                raise ExportError(f"the amplitudes break the symmetry of the orbitals (by {forbidden:.1e}); build the "
                                  "molecule with symmetry=False.")


def orbital_numbers(orbitals):
    """Orbital energies (hartree) and, with symmetry, irreps, in the order of the dump: arrays by name."""
    numbers = {}
    for suffix, spin in zip(orbitals.suffixes, ("ov", "OV")):
        for c, kind in zip(spin, ("occ", "vir")):
            numbers[f"eps_{kind}{suffix}"] = orbitals.energies[c][orbitals.order[c]]
            if orbitals.irreps is not None:
                numbers[f"irrep_{kind}{suffix}"] = orbitals.irreps[c][orbitals.order[c]]
    return numbers


def fock_matrices(orbitals):
    """Fock matrices, hartree, in the order of the dump: arrays by name."""
    matrices = {}
    for suffix, spin in zip(orbitals.suffixes, ("ov", "OV")):
        order = np.concatenate([orbitals.order[spin[0]], orbitals.nocc[spin[0]] + orbitals.order[spin[1]]])
        matrices["fock" + suffix] = orbitals.fock[spin[0]][np.ix_(order, order)]
    return matrices
