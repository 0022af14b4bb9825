"""Factors of the integrals of a molecule by Cholesky decomposition, with integrals of PySCF.

Unlike factors of density fitting they reproduce every integral to the threshold, and need no auxiliary basis:
N. H. F. Beebe and J. Linderberg, Int. J. Quantum Chem. 12, 683 (1977).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from derivatives import contract


def factors(xp: Any, integrals: np.ndarray, threshold: float) -> Any:
    """L[P,pair] (an array of xp) with (pair|pair') = sum_P L[P,pair] L[P,pair'] up to `threshold`, hartree.

    integrals[pair,pair]: mol.intor("int2e", aosym="s4"). Only the columns of the chosen pairs go to the GPU.
    """
    diagonal = xp.array(integrals.diagonal())
    rows = xp.empty((0, len(diagonal)))
    for number in range(len(diagonal)):
        pivot = int(diagonal.argmax())
        largest = float(diagonal[pivot])
        if largest < threshold:
            return rows[:number]
        if number == len(rows):
            rows = xp.concatenate([rows, xp.empty((len(diagonal) // 40 + 8, len(diagonal)))])
        column = xp.asarray(integrals[pivot]) - rows[:number, pivot] @ rows[:number]
        rows[number] = column / largest**0.5
        diagonal -= rows[number] ** 2
        diagonal[pivot] = 0.0  # an exact zero
    return rows[: len(diagonal)]


def in_orbitals(xp: Any, rows: Any, orbitals: np.ndarray) -> Any:
    """b[P,p,q] (an array of xp) of the orbitals[nao,n] from the factors L[P,pair] of atomic orbitals."""
    nao = len(orbitals)
    p, q = np.tril_indices(nao)
    pairs = np.empty((nao, nao), dtype=np.int64)
    pairs[p, q] = pairs[q, p] = np.arange(len(p))
    pairs, orbitals = xp.asarray(pairs), xp.asarray(orbitals)
    b = xp.empty((len(rows), orbitals.shape[1], orbitals.shape[1]))
    for first in range(0, len(rows), 200):
        b[first : first + 200] = orbitals.T @ (rows[first : first + 200][:, pairs] @ orbitals)
    return b


def of_irreps(xp: Any, b: Any, irreps: np.ndarray, threshold: float) -> Any:
    """Factors b[Q,p,q] of which each belongs to one irrep, from those that do not: integrals that are 0 by symmetry become 0.

    Only the fewest that reproduce the integrals are kept, up to `threshold` in the norm of their matrix, hartree. The product
    of two irreps is the exclusive or of their numbers.
    """
    products = irreps[:, None] ^ irreps[None, :]
    parts = []
    for irrep in np.unique(products):
        part = b * xp.asarray(products == irrep)
        values, vectors = xp.linalg.eigh(contract("Ppq,Qpq->PQ", part, part))
        parts.append(contract("PQ,Ppq->Qpq", vectors[:, values > threshold], part))
    return xp.concatenate(parts)
