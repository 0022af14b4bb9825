# mypy: ignore-errors
"""The arrays of the dump that only methods with dressed moments need, from PySCF's integrals."""

import numpy as np

from .arrays import Array
from .errors import ExportError

# PySCF's names of the integrals, as in arrays.py. The last ones are those of virtual orbitals alone.
RESTRICTED = ("oooo", "vvvv")
SPINS = ("ooVV", "OOvv", "oooo", "ooOO", "OOOO", "vvvv", "vvVV", "VVVV")


def check_moment_integrals(orbitals, eris):
    """Raises ExportError if `eris` lack integrals for moment_arrays()."""
    for name in RESTRICTED if orbitals.restricted else SPINS:
        if getattr(eris, name, None) is None:
            raise ExportError(f"eris has no {name}, which the arrays for dressed moments need; set direct=False in this object, "
                              "run it again and take the integrals of its ao2mo(), or use density fitting.")


def moment_arrays(cc, orbitals, eris, t1, t2):
    """The arrays for dressed moments, but for vvvv_diag, and the arrays of vvvv_diag by name in the order of the dump.

    The integrals (ac|bd) are read once, for one orbital a at a time, so that no more than v^3 of them are held at once. Those
    that are multiplied with t1, o v^3 numbers, are kept in a temporary file.
    """
    def spins(name):
        return "_" + "".join("a" if c.islower() else "b" for c in name) if not orbitals.restricted else ""

    arrays, diagonals = [], {}
    for name in RESTRICTED if orbitals.restricted else SPINS:
        values = getattr(eris, name)
        if name.lower() != "vvvv":
            arrays.append(Array(name.lower() + spins(name), name, values, values.__getitem__))
            continue
        same = name[0] == name[2]
        passes = ((name, False),) if same else ((name, False), (name[2:] + name[:2], True))
        for pairs, swapped in passes:
            t = t1 if orbitals.restricted else t1[pairs[0] == "V"]
            file, diagonal = _products(t, values, len(orbitals.order[pairs[2]]), same, swapped)
            classes = ("O" if pairs[0] == "V" else "o") + pairs[1:]
            arrays.append(Array("kvvv" + spins(classes), classes, file["products"], _unpacked(file)))
            if not swapped:
                order = np.ix_(orbitals.order[pairs[0]], orbitals.order[pairs[2]])
                diagonals["vvvv_diag" + spins(pairs[::2])] = np.stack([each[order] for each in diagonal])
    if orbitals.restricted:
        ladders = [("ladder", "oovv", cc._add_vvvv(None, t2, eris, t2sym="jiba"))]
    else:
        ladders = zip(("ladder_aa", "ladder_ab", "ladder_bb"), ("oovv", "oOvV", "OOVV"), cc._add_vvvv(None, t2, eris))
    arrays += [Array(name, classes, values, values.__getitem__) for name, classes, values in ladders]
    return arrays, diagonals


def _products(t1, vvvv, size, same, swapped):
    """sum_e t_k^e (ce|bd) as [k,c,pairs b >= d] in a temporary file, and the matrices (cc|bb) and, of equal spins, (cb|cb).

    `vvvv`: (ce|bd) as pairs of both indices, or of an object that has no pairs as [c,e,b,d]. `size`: number of orbitals b;
    `same`: they are the orbitals c. `swapped`: c and e are the last indices of `vvvv`.
    """
    from pyscf import lib

    o, v = t1.shape
    file = lib.H5TmpFile()  # it is removed when this object is, so the rows of an array keep it
    products = file.create_dataset("products", (o, v, size * (size + 1) // 2), "f8")
    diagonal = np.zeros((2 if same else 1, v, size))
    squares = np.arange(size) * (np.arange(size) + 3) // 2  # the pairs b = d
    for c in range(v if size else 0):
        e = np.arange(v)
        pairs = np.maximum(c, e) * (np.maximum(c, e) + 1) // 2 + np.minimum(c, e)
        if len(vvvv.shape) == 4:
            rows = lib.pack_tril(np.asarray(vvvv[c]).real)
        else:
            rows = np.asarray(vvvv[:, pairs]).T if swapped else np.asarray(vvvv[pairs])
        diagonal[0, c] = rows[c, squares]
        if same:
            diagonal[1, c] = rows[e, pairs]
        if o:
            products[:, c] = t1 @ rows
    return file, diagonal


def _unpacked(file):
    """A function that reads rows of a file of _products() with b and d as two indices."""
    from pyscf import lib

    def rows(which):
        packed = file["products"][which]
        unpacked = lib.unpack_tril(packed.reshape(-1, packed.shape[-1]))
        return unpacked.reshape(*packed.shape[:2], *unpacked.shape[1:])

    return rows
