# mypy: ignore-errors
"""Amplitudes, integrals and factors of density fitting, as PySCF has them and by their names in the dump."""

import collections
import copy

import numpy as np

from .calculation import active_sizes, on_host
from .errors import ExportError

# PySCF's names of the integrals (pq|rs): o v are alpha orbitals, O V beta ones.
RESTRICTED_INTEGRALS = ("ovvv", "ovoo", "ovov", "oovv")
SPIN_INTEGRALS = ("ovvv", "ovVV", "OVvv", "OVVV", "ovoo", "ovOO", "OVoo", "OVOO", "ovov", "ovOV", "OVOV", "oovv", "OOVV")

# An array of the dump as PySCF has it, before its orbitals are put in order.
# name: its name in the dump; classes: the class o v O V of each index; values: PySCF's array, in memory or an HDF5
# dataset, where b, c of (ia|bc) may be one index of v(v+1)/2 pairs b >= c; rows(slice): some rows of the full array.
Array = collections.namedtuple("Array", "name classes values rows")


def amplitude_arrays(orbitals, t1, t2):
    """t1 and t2 of the dump, or Lambda amplitudes under these names."""
    if orbitals.restricted:
        arrays = [("t1", "ov", t1), ("t2", "oovv", t2)]
    else:
        arrays = [("t1_a", "ov", t1[0]), ("t1_b", "OV", t1[1]),
                  ("t2_aa", "oovv", t2[0]), ("t2_ab", "oOvV", t2[1]), ("t2_bb", "OOVV", t2[2])]
    return [Array(name, classes, values, values.__getitem__) for name, classes, values in arrays]


def check_integrals(cc, eris, fitted):
    """Raises ExportError if `eris` are not integrals for the orbitals of this object. `fitted`: only the Fock matrix matters."""
    sizes = active_sizes(cc)
    names = () if fitted else RESTRICTED_INTEGRALS if len(sizes) == 1 else SPIN_INTEGRALS
    missing = [name for name in ("fock", "mo_energy", "mo_coeff", *names) if getattr(eris, name, None) is None]
    if missing:
        raise ExportError(f"eris has no {missing[0]}; give the integrals that ao2mo() of this object returns.")
    matrices = eris.fock if len(sizes) == 2 else (eris.fock,)
    shapes = [np.shape(matrix) for matrix in matrices]
    if shapes != [(o + v,) * 2 for o, v in sizes]:
        raise ExportError(f"the Fock matrix of eris has {shapes[0][-1] if shapes and shapes[0] else 0} orbitals, but this object "
                          f"has {sum(sizes[0])} active ones; give the integrals that ao2mo() of this object returns.")


def integral_arrays(orbitals, eris):
    """The integrals of the dump."""
    arrays = []
    for name in RESTRICTED_INTEGRALS if orbitals.restricted else SPIN_INTEGRALS:
        # Each letter of PySCF's name is the class of an index. Only (ia|bc) may be packed; a method unpacks it.
        values = getattr(eris, name)
        rows = getattr(eris, "get_" + name) if name.lower() == "ovvv" else values.__getitem__
        spins = "" if orbitals.restricted else "_" + "".join("a" if c.islower() else "b" for c in name)
        arrays.append(Array(name.lower() + spins, name, values, rows))
    return arrays


def factor_arrays(cc, orbitals, eris):
    """The factors of a density-fitted object in the order of the dump: arrays by name.

    (pq|rs) = sum_Q B[Q,p,q] B[Q,r,s]. factors_vv is packed, [naux,v(v+1)/2]. The vectors in atomic orbitals are read
    from `cc.with_df` in blocks.
    """
    from pyscf.ao2mo import _ao2mo

    naux, arrays, spins = cc.with_df.get_naoaux(), {}, []
    coefficients = (eris.mo_coeff,) if orbitals.restricted else eris.mo_coeff
    for suffix, spin, mo in zip(orbitals.suffixes, ("ov", "OV"), coefficients):
        o, v = (len(orbitals.order[c]) for c in spin)
        order = np.concatenate([orbitals.order[spin[0]], o + orbitals.order[spin[1]]])
        b, c = np.tril_indices(v)
        spins.append((suffix, o, np.asarray(on_host(mo).real[:, order], order="F"), (slice(None), o + b, o + c)))
        for name, shape in (("oo", (o, o)), ("ov", (o, v)), ("vv", (v * (v + 1) // 2,))):
            arrays[f"factors_{name}{suffix}"] = np.empty((naux, *shape))
    begin = 0
    for block in cc.with_df.loop():
        end = begin + len(block)
        for suffix, o, mo, lower_triangle in spins:
            n = mo.shape[1]
            pairs = _ao2mo.nr_e2(block, mo, (0, n, 0, n), aosym="s2", mosym="s1").reshape(-1, n, n)
            arrays["factors_oo" + suffix][begin:end] = pairs[:, :o, :o]
            arrays["factors_ov" + suffix][begin:end] = pairs[:, :o, o:]
            arrays["factors_vv" + suffix][begin:end] = pairs[lower_triangle]
        begin = end
    if begin != naux:
        raise ExportError(f"density fitting delivered {begin} of {naux} vectors; build cc.with_df again.")
    return arrays


def integrals_of_energy(factors, orbitals, eris):
    """A copy of PySCF's integral object with (ia|jb) from factors, in PySCF's order. The CCSD energy needs no other integrals."""
    eris = copy.copy(eris)
    rows = {}
    for suffix, spin in zip(orbitals.suffixes, ("ov", "OV")):
        back = np.ix_(*(np.argsort(orbitals.order[c]) for c in spin))
        rows[spin] = np.stack([row[back] for row in factors["factors_ov" + suffix]])
    for name in ("ovov",) if orbitals.restricted else ("ovov", "ovOV", "OVOV"):
        left, right = rows[name[:2]], rows[name[2:]]
        setattr(eris, name, np.tensordot(left, right, axes=(0, 0)))
    if orbitals.restricted:
        eris.ovvo = eris.ovov.transpose(0, 1, 3, 2)
    return eris
