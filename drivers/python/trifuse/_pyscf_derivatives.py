"""Derivatives of E(T) by the arrays of an object of PySCF, in the order of its orbitals."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np

from ._arrays import Amplitudes
from ._blocks import blocks
from ._calculation import run_arrays
from ._options import Options, names_of
from ._pyscf_triples import export, triples

# The class of each index, as in names of PySCF: o v are alpha orbitals, O V beta ones. Q is an auxiliary function.
_CLASSES = {"t1": "ov", "t2": "oovv", "ovvv": "ovvv", "ovoo": "ovoo", "ovov": "ovov", "fock_ov": "ov", "eps_occ": "o", "eps_vir": "v",
            "factors_oo": "Qoo", "factors_ov": "Qov", "factors_vv": "Qvv"}
# Two orbitals with a smaller difference of energies, hartree, are degenerate: the commutator says nothing about them.
SMALLEST_GAP = 1e-6
SMALLEST_GAP_MIXED = 1e-4  # the numerators have the errors of single precision
# Degenerate orbitals belong together by symmetry if all totally symmetric quantities agree to this part of their largest values.
_SYMMETRIC = 1e-4


class Derivatives(NamedTuple):
    """E(T) and its derivatives by arrays of PySCF."""

    e_t: float
    """E(T), hartree."""
    bars: dict[str, Any]
    """By the names of arrays in dumps (t2_ab, ovvv_aabb, fock_ov_a, eps_occ_a), with the shape and the symmetry of each."""
    fock: dict[str, Any]
    """By the Fock matrix among the orbitals of each class o, v, O, V; empty if only the diagonals are wanted."""

    def fock_block(self, name: str) -> Any:
        """The derivative by the Fock matrix among the orbitals of a class; only the diagonal, if the rest is not known."""
        suffix = "" if len(self.spins) == 1 else "_a" if name.islower() else "_b"
        return self.fock[name] if self.fock else np.diag(self.bars[("eps_occ" if name in "oO" else "eps_vir") + suffix])

    @property
    def spins(self) -> tuple[str, ...]:
        """The ends of names: one for a closed shell, two for UHF."""
        return ("",) if "t1" in self.bars else ("_a", "_b")


def classes_of(name: str) -> str:
    """The class of each index of an array of the dump: "oOvV" of t2_ab."""
    base, _, spins = name.rpartition("_")
    if base not in _CLASSES:
        return _CLASSES[name]
    letters = _CLASSES[base]
    spins = spins * (len(letters) // len(spins)) if len(spins) < 4 else spins
    return "".join(letter if spin == "a" else letter.upper() for letter, spin in zip(letters, spins))


def derivatives_of(mycc: Any, t1: Any, t2: Any, eris: Any, which: str, options: dict[str, Any], fock: bool = False) -> Derivatives:
    """Runs the triples with derivatives. `which`: "t" (Lambda, unrelaxed density) or "all". `fock`: with the matrices, which need "all"."""
    result = triples(mycc, t1, t2, eris, **{**options, "derivatives": which})
    orbitals = export.orbitals_of(mycc, eris, t1, t2)
    log = importlib.import_module("pyscf.lib.logger").new_logger(mycc, options.get("verbose"))
    log.info("%.4g MB of derivatives of E(T)", sum(np.asarray(values).nbytes for values in result.derivatives.values()) / 1e6)
    bars = {name: _in_order_of_pyscf(np.asarray(values), classes_of(name), orbitals)
            for name, values in result.derivatives.items() if name != "omega2"}
    found = Derivatives(result.e_t, bars, {})
    if not fock:
        return found
    spin_part = "" if orbitals.restricted else "_"
    integrals = _factor_arrays(mycc, orbitals, eris) if export.is_density_fitted(mycc) else export.integral_arrays(orbitals, eris)
    arrays = [*export.amplitude_arrays(orbitals, t1, t2), *integrals]
    for c, matrix in orbitals.fock.items():
        n = orbitals.nocc[c]
        rows = matrix[:n, n:]
        suffix = spin_part and ("_a" if c == "o" else "_b")
        arrays.append(export.arrays.Array("fock_ov" + suffix, "ov" if c == "o" else "OV", rows, rows.__getitem__))
    return found._replace(fock=fock_blocks(found, arrays, orbitals.energies, options))


def derivatives_by_integrals(mycc: Any, t1: Any, t2: Any, eris: Any, options: dict[str, Any]) -> Derivatives:
    """The derivatives "all", with density fitting, too, by the integrals of `eris`."""
    if export.is_density_fitted(mycc):
        unfitted = importlib.import_module(f"pyscf.cc.{'ccsd' if export.orbitals_of(mycc, eris, t1, t2).restricted else 'uccsd'}")
        mycc = mycc.view(unfitted.CCSD)
    return derivatives_of(mycc, t1, t2, eris, "all", options)


def _in_order_of_pyscf(values: Any, classes: str, orbitals: Any) -> Any:
    """An array of the dump in the order of PySCF's orbitals."""
    orders = [np.arange(n) if c == "Q" else np.argsort(orbitals.order[c], kind="stable") for c, n in zip(classes, values.shape)]
    if all(np.array_equal(order, np.arange(len(order))) for order in orders):
        return values
    return values[np.ix_(*orders)]


def _factor_arrays(mycc: Any, orbitals: Any, eris: Any) -> list[Any]:
    """The factors of density fitting, [Q,p,q], in the order of PySCF's orbitals."""
    unpack_tril = importlib.import_module("pyscf.lib").unpack_tril
    arrays = []
    for name, values in export.factor_arrays(mycc, orbitals, eris).items():
        classes = classes_of(name)
        whole = _in_order_of_pyscf(unpack_tril(values) if values.ndim == 2 else values, classes, orbitals)
        arrays.append(export.arrays.Array(name, classes, whole, whole.__getitem__))
    return arrays


def fock_blocks(derivatives: Derivatives, arrays: list[Any], energies: dict[str, Any], options: dict[str, Any],
                smallest_gap: float | None = None) -> dict[str, Any]:
    """Derivatives by the Fock matrix among occupied and among virtual orbitals, as matrices.

    E(T) does not change if an orbital rotation turns all arrays and the Fock matrix. Hence the off-diagonal derivative is
    (C_pq - C_qp) / 2 (eps_p - eps_q), where C_pq sums X_bar[..p..] X[..q..] over all arrays and indices. Degenerate pairs are
    zero if symmetry is the reason; others need one more run, with orbitals that are mixed.

    `arrays`: those of PySCF, with their names in dumps; `energies`: orbital energies of each class, hartree.
    """
    if smallest_gap is None:
        smallest_gap = SMALLEST_GAP_MIXED if options.get("precision") == "mixed" else SMALLEST_GAP
    overlaps = {c: np.zeros((len(e), len(e))) for c, e in energies.items()}
    for array in arrays:
        if array.name in derivatives.bars:
            _add_overlaps(overlaps, array, np.ascontiguousarray(derivatives.bars[array.name]))
    matrices, accidental = {}, []
    for c, e in energies.items():
        gap = e[:, None] - e
        apart = abs(gap) >= smallest_gap
        matrices[c] = np.where(apart, overlaps[c] - overlaps[c].T, 0.0) / np.where(apart, 2 * gap, 1.0)
        diagonal = np.diag(derivatives.fock_block(c))
        np.fill_diagonal(matrices[c], diagonal)
        close = [(int(p), int(q)) for p, q in zip(*np.nonzero(np.triu(~apart, 1)))]
        accidental += [(c, *pair) for pair in _without_symmetric(close, diagonal, c, arrays)]
    while accidental:
        apart_from_each_other = _disjoint(accidental)
        for (c, p, q), value in zip(apart_from_each_other, _of_pairs(apart_from_each_other, arrays, energies, options)):
            matrices[c][p, q] = matrices[c][q, p] = value
        accidental = [pair for pair in accidental if pair not in apart_from_each_other]
    return matrices


def _add_overlaps(overlaps: dict[str, Any], array: Any, bar: Any) -> None:
    """Adds sum X_bar[..p..] X[..q..] of one array to the matrices of its classes. Reads the array in blocks of rows."""
    if bar.size == 0:
        return
    for rows in blocks(bar.shape[0], bar[0].nbytes):
        x, y = bar[rows], np.ascontiguousarray(np.asarray(array.rows(rows)).real)
        if _weight(array, 0) != 0:
            overlaps[array.classes[0]][:, rows] += _weight(array, 0) * (bar.reshape(len(bar), -1) @ y.reshape(len(y), -1).T)
        for n in range(1, y.ndim):
            if _weight(array, n) == 0:
                continue
            # As matrices [before, index, behind], which are products without transposed copies.
            shape = (-1, y.shape[n], int(np.prod(y.shape[n + 1:])))
            if shape[2] == 1:
                overlaps[array.classes[n]] += _weight(array, n) * (x.reshape(-1, shape[1]).T @ y.reshape(-1, shape[1]))
            else:
                overlaps[array.classes[n]] += _weight(array, n) * sum(u @ v.T for u, v in zip(x.reshape(shape), y.reshape(shape)))


def _weight(array: Any, index: int) -> int:
    """How often an index counts, because others are equal in the array and in the derivative: 0, 1 or 2."""
    if array.name.startswith(("ovvv", "ovoo")):
        return (1, 1, 0, 2)[index]
    if array.name.startswith(("t2", "ovov")) and array.classes in ("oovv", "OOVV", "ovov", "OVOV"):
        return (2, 0, 0, 2)[index]
    if array.name.startswith("factors"):
        return (0, 1, 1)[index] if "_ov" in array.name else (0, 2, 0)[index]
    return 1


def _without_symmetric(pairs: list[tuple[int, int]], diagonal: Any, c: str, arrays: list[Any]) -> list[tuple[int, int]]:
    """The pairs that are degenerate by accident. A totally symmetric matrix is a number times 1 among the others.

    Such matrices are the derivatives themselves, `diagonal`, and the overlaps of t2 with itself.
    """
    if not pairs:
        return []
    t2 = {c: np.zeros((len(diagonal),) * 2)}
    for array in arrays:
        if array.name.startswith("t2"):
            values = np.asarray(array.rows(slice(None)))
            for n in (n for n, each in enumerate(array.classes) if each == c):
                others = [m for m in range(4) if m != n]
                t2[c] += np.tensordot(values, values, (others, others))
    largest, largest_t2 = (_SYMMETRIC * abs(x).max() for x in (diagonal, t2[c]))
    return [(p, q) for p, q in pairs if abs(diagonal[p] - diagonal[q]) > largest or abs(t2[c][p, q]) > largest_t2
            or abs(t2[c][p, p] - t2[c][q, q]) > largest_t2]


def _disjoint(pairs: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Some of these pairs, at least one, of which no two share an orbital."""
    chosen: list[tuple[str, int, int]] = []
    for c, p, q in pairs:
        if not any(c == other and {p, q} & set(rest) for other, *rest in chosen):
            chosen.append((c, p, q))
    return chosen


def _of_pairs(pairs: list[tuple[str, int, int]], arrays: list[Any], energies: dict[str, Any], options: dict[str, Any]) -> list[float]:
    """Derivatives by f_pq of disjoint pairs of degenerate orbitals, from one more run with copies of all arrays.

    The run has the orbitals (p + q) and (p - q), divided by sqrt(2), in the places of p and q. E(T) is the same. The derivatives
    by their energies are the means of those of p and q, plus and minus the derivative by f_pq.
    """
    turned = {}
    for array in arrays:
        if array.name.startswith("oovv"):
            continue
        values = np.array(array.rows(slice(None)), dtype=float)
        for c, p, q in pairs:
            for n in (n for n, each in enumerate(array.classes) if each == c):
                by_orbital = np.moveaxis(values, n, 0)
                by_orbital[[p, q]] = np.stack([by_orbital[p] + by_orbital[q], by_orbital[p] - by_orbital[q]]) * np.sqrt(0.5)
        turned[array.name] = values
    means = {c: e.copy() for c, e in energies.items()}
    for c, p, q in pairs:
        means[c][[p, q]] = means[c][[p, q]].mean()
    for suffix, spin in zip(("",) if len(energies) == 2 else ("_a", "_b"), ("ov", "OV")):
        turned["eps_occ" + suffix], turned["eps_vir" + suffix] = (means[c] for c in spin)
        fock = np.diag(np.concatenate([means[c] for c in spin]))
        o, fock_ov = len(means[spin[0]]), turned.pop("fock_ov" + suffix)
        fock[:o, o:], fock[o:, :o] = fock_ov, fock_ov.T
        turned["fock" + suffix] = fock
    # A journal and a progress function belong to the run before this one.
    kept = {name: value for name, value in options.items() if name in names_of(Options) and name not in ("journal", "progress")}
    run: Any = {**kept, "derivatives": "t", "check": False}
    right = Amplitudes(turned, "RHF" if len(energies) == 2 else "UHF", "ccsd", 0.0, fock_in_triples=True, source="the mixed orbitals")
    bars = run_arrays(right, None, run, log=lambda is_warning, line: None).derivatives
    found = []
    for c, p, q in pairs:
        suffix = "" if len(energies) == 2 else "_a" if c.islower() else "_b"
        bar = bars[("eps_occ" if c in "oO" else "eps_vir") + suffix]
        found.append(float(bar[p] - bar[q]) / 2)
    return found
