# mypy: ignore-errors
"""The arrays of the dump that only methods with dressed moments need, from PySCF's integrals."""

import functools
import tempfile

import numpy as np

from .arrays import Array
from .errors import ExportError
from .orbitals import semicanonical_virtuals

# PySCF's names of the integrals, as in arrays.py. The last ones are those of virtual orbitals alone.
RESTRICTED = ("oooo", "vvvv")
SPINS = ("ooVV", "OOvv", "oooo", "ooOO", "OOOO", "vvvv", "vvVV", "VVVV")


def check_moment_integrals(orbitals, eris):
    """Raises ExportError if `eris` lack integrals for moment_arrays()."""
    for name in RESTRICTED if orbitals.restricted else SPINS:
        if _integrals(eris, name) is None:
            raise ExportError(f"eris has no {name}, which the arrays for dressed moments need; set direct=False in this object, "
                              "run it again and take the integrals of its ao2mo(), or use density fitting.")


def moment_bytes(orbitals):
    """Bytes of kvvv, which moment_arrays() keeps in temporary files, and of the dressed integrals of one side of the energy."""
    sizes = [(len(orbitals.order[o]), len(orbitals.order[v])) for o, v in ("ov", "OV")[:len(orbitals.suffixes)]]
    kvvv = sum(o * v * w * (w + 1) // 2 for o, v in sizes for _, w in sizes)
    return 8 * kvvv, 8 * sum(o * v * (w * w + p * p) for o, v in sizes for p, w in sizes)


def moment_arrays(cc, orbitals, eris, t1, t2):
    """The arrays for dressed moments, and those of (aa|bb) and (ab|ab), vvvv_diag, by name in the order of the dump.

    If the triples may have semicanonical orbitals, the latter are there for these, too: vvvv_diag_semicanonical.

    The integrals (ac|bd) are read once, for one orbital a at a time, so that no more than v^3 of them are held at once. Those
    that are multiplied with t1, o v^3 / 2 numbers, are kept in a temporary file.
    """
    arrays = []
    for name in RESTRICTED if orbitals.restricted else SPINS:
        if name.lower() != "vvvv":
            values = _integrals(eris, name)
            arrays.append(Array(name.lower() + _spins(orbitals, name), name, values, values.__getitem__))
    products, diagonals = product_arrays(orbitals, eris, t1, semicanonical_virtuals(orbitals))
    if orbitals.restricted:
        ladders = [("ladder", "oovv", cc._add_vvvv(None, t2, eris, t2sym="jiba"))]
    else:
        ladders = zip(("ladder_aa", "ladder_ab", "ladder_bb"), ("oovv", "oOvV", "OOVV"), cc._add_vvvv(None, t2, eris))
    arrays += products + [Array(name, classes, values, values.__getitem__) for name, classes, values in ladders]
    return arrays, diagonals


def product_arrays(orbitals, eris, t1, semicanonical=None):
    """kvvv of these t1, and the arrays of vvvv_diag by name in the order of the dump.

    `semicanonical`: also vvvv_diag_semicanonical, of these orbitals: semicanonical_virtuals().
    """
    arrays, diagonals = [], {}
    for name in RESTRICTED if orbitals.restricted else SPINS:
        if name.lower() != "vvvv":
            continue
        values = _integrals(eris, name)
        same = name[0] == name[2]
        passes = ((name, False),) if same else ((name, False), (name[2:] + name[:2], True))
        for pairs, swapped in passes:
            t = t1 if orbitals.restricted else t1[pairs[0] == "V"]
            other = None if semicanonical is None or swapped else [semicanonical[c] for c in pairs[::2]]
            products, diagonal, rotated = _products(t, values, len(orbitals.order[pairs[2]]), same, swapped, other)
            classes = ("O" if pairs[0] == "V" else "o") + pairs[1:]
            arrays.append(Array("kvvv" + _spins(orbitals, classes), classes, products, _unpacked(products)))
            if not swapped:
                order = np.ix_(orbitals.order[pairs[0]], orbitals.order[pairs[2]])
                spins = _spins(orbitals, pairs[::2])
                diagonals["vvvv_diag" + spins] = np.stack([each[order] for each in diagonal])
                if other is not None:
                    diagonals["vvvv_diag_semicanonical" + spins] = rotated
    return arrays, diagonals


def _spins(orbitals, name):
    return "_" + "".join("a" if c.islower() else "b" for c in name) if not orbitals.restricted else ""


def _integrals(eris, name):
    """The integrals of this name, or None. Those of virtual orbitals alone may be products of PySCF's factors."""
    values = getattr(eris, name, None)
    factors = [getattr(eris, pair + "L", None) for pair in (name[:2], name[2:])]
    return values if values is not None or any(each is None for each in factors) else _OfFactors(*factors)


class _OfFactors:
    """(ac|bd) as pairs of both indices, made of the factors [pairs,naux] of density fitting when they are read."""

    def __init__(self, left, right):
        self._left, self._right = left, right
        self.shape = (len(left), len(right))

    @functools.cached_property
    def _in_memory(self):
        return np.asarray(self._right)

    def __getitem__(self, index):
        rows, columns = index if isinstance(index, tuple) else (index, slice(None))
        return np.asarray(self._left[rows]) @ self._in_memory[columns].T


def _products(t1, vvvv, size, same, swapped, semicanonical=None):
    """sum_e t_k^e (ce|bd) as [k,c,pairs b >= d] in a temporary file, and the matrices (cc|bb) and, of equal spins, (cb|cb).

    `vvvv`: (ce|bd) as pairs of both indices, or of an object that has no pairs as [c,e,b,d]. `size`: number of orbitals b;
    `same`: they are the orbitals c. `swapped`: c and e are the last indices of `vvvv`. `semicanonical`: U[new,c] and U[new,b]
    of other orbitals, for which the same matrices are returned, too; None: a third result has no meaning.
    """
    import h5py
    from pyscf import lib

    o, v = t1.shape
    with tempfile.NamedTemporaryFile(dir=lib.param.TMPDIR) as file:  # it has no name afterwards, and ends with the array
        products = h5py.File(file.name, "w").create_dataset("products", (o, v, size * (size + 1) // 2), "f8")
    diagonal = np.zeros((2 if same else 1, v, size))
    rotated = np.zeros_like(diagonal)
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
        if semicanonical is not None:
            _add_rotated(rotated, c, rows, *semicanonical)
    return products, diagonal, rotated


def _add_rotated(diagonal, c, rows, u, w):
    """Adds the part of orbital c to (xx|yy) = U[x,c] U[x,e] W[y,b] W[y,d] (ce|bd) and, of equal spins, to (xy|xy).

    `rows`: (ce|bd) as [e, pairs b >= d]. `u`, `w`: U and W.
    """
    from pyscf import lib

    half = lib.unpack_tril(np.asarray(u @ rows)).reshape(-1, w.shape[1]) @ w.T
    half = half.reshape(len(u), *w.shape)  # [x,b,y]: sum_ed U[x,e] W[y,d] (ce|bd)
    diagonal[0] += u[:, c, None] * np.einsum("xby,yb->xy", half, w)
    if len(diagonal) == 2:
        diagonal[1] += u[:, c, None] * (u @ np.einsum("yby->by", half))


def _unpacked(products):
    """A function that reads rows of the first array of _products() with b and d as two indices."""
    from pyscf import lib

    def rows(which):
        packed = products[which]
        unpacked = lib.unpack_tril(packed.reshape(-1, packed.shape[-1]))
        return unpacked.reshape(*packed.shape[:2], *unpacked.shape[1:])

    return rows
