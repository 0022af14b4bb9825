"""Two-electron terms of properties with density fitting, as derivatives by the three-index factors.

(pq|rs) = sum_L B[L,p,q] B[L,r,s]. A bar is the derivative of an energy by all elements of B, [L,p,q], symmetric in p and q. All
terms of one L need B of this L alone. B = V^-1 (P|pq) with the Cholesky factor V of the metric (P|Q).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._blocks import BYTES_OF_A_BLOCK, blocks, diagonal_of_pairs, rows_of_a_block
from ._pyscf_derivatives import Derivatives
from .errors import NotAvailable


def refuse_other_fitting(with_df: Any) -> None:
    """Raises NotAvailable for an object of density fitting without an auxiliary basis whose integrals have derivatives here."""
    df = importlib.import_module("pyscf.df")
    if not isinstance(with_df, df.DF):
        raise NotAvailable(f"Relaxed properties with {type(with_df).__name__} are not available; use density_fit().")
    if with_df._cderi is None:
        with_df.build()
    if with_df.auxmol is None:
        raise NotAvailable("Gradients need the auxiliary basis of the density fitting, but only its integrals were given; use "
                           "density_fit().")
    if with_df.get_naoaux() != with_df.auxmol.nao:
        raise NotAvailable("The auxiliary basis of the density fitting is linearly dependent, and gradients with it are not available; "
                           "choose another auxbasis.")


def factors_of(with_df: Any, left: Any, right: Any) -> Any:
    """B[L,p,q] of the orbitals `left` [ao,p] and `right` [ao,q]."""
    nr_e2 = importlib.import_module("pyscf.ao2mo._ao2mo").nr_e2
    p, q = left.shape[1], right.shape[1]
    both = np.asarray(np.hstack([left, right]), order="F")
    factors, begin = np.empty((with_df.get_naoaux(), p, q)), 0
    for block in with_df.loop():
        end = begin + len(block)
        factors[begin:end] = nr_e2(block, both, (0, p, p, p + q), aosym="s2", mosym="s1").reshape(-1, p, q)
        begin = end
    return factors


def bars_of_correlation(d2: Any, derivatives: Derivatives, factors: list[Any], occupied: list[int]) -> list[Any]:
    """The bars of CCSD(T), of each spin, for the factors among the orbitals of the CCSD. `d2`: the density blocks of CCSD.

    `factors`: of each spin. `occupied`: the number of occupied orbitals of each spin. Virtual orbitals of a closed shell are pairs
    in `d2`.
    """
    parts = [{"oo": b[:, :o, :o], "ov": b[:, :o, o:], "vv": b[:, o:, o:]} for b, o in zip(factors, occupied)]
    bars = [{pair: np.array(derivatives.bars[f"factors_{pair}{suffix}"]) for pair in part} for part, suffix in zip(parts, derivatives.spins)]
    for factor, values, (spin, pair), (other, second) in _terms(d2, len(parts)):
        _add_products(values, factor, parts[spin][pair], parts[other][second], bars[spin][pair], bars[other][second])
    if len(parts) == 1:
        _add_packed(d2[1], parts[0]["vv"], bars[0]["vv"])
    whole = []
    for b, bar, o in zip(factors, bars, occupied):
        matrix = np.empty_like(b)
        matrix[:, :o, :o] = (bar["oo"] + bar["oo"].transpose(0, 2, 1)) / 2
        matrix[:, o:, o:] = (bar["vv"] + bar["vv"].transpose(0, 2, 1)) / 2
        matrix[:, :o, o:] = bar["ov"] / 2
        matrix[:, o:, :o] = matrix[:, :o, o:].transpose(0, 2, 1)
        whole.append(matrix)
    return whole


def _terms(d2: Any, spins: int) -> Iterator[tuple[float, Any, tuple[int, str], tuple[int, str]]]:
    """The energy of the density blocks as sum factor X[p,q,r,s] (pq|rs): factor, X, and spin and spaces of p q and r s.

    Without the four virtual orbitals of a closed shell.
    """
    dovov, dvvvv, doooo, doovv, dovvo, _, dovvv, dooov = d2
    if spins == 1:
        ov, oo, vv = (0, "ov"), (0, "oo"), (0, "vv")
        yield 2, dovov, ov, ov
        yield 2, np.asarray(dovvo).transpose(0, 1, 3, 2), ov, ov
        yield from ((2, doooo, oo, oo), (2, doovv, oo, vv), (2, dovvv, ov, vv), (2, dooov, oo, ov))
        return
    for n, each in ((0, 0), (1, 3)):
        ov, oo, vv = (n, "ov"), (n, "oo"), (n, "vv")
        of_electrons = np.asarray(dovvo[each])
        yield 1, dovov[each], ov, ov
        yield 1, of_electrons.transpose(0, 1, 3, 2), ov, ov
        yield -1, of_electrons.transpose(0, 3, 2, 1), oo, vv
        yield from ((0.5, dvvvv[each], vv, vv), (0.5, doooo[each], oo, oo), (2, dovvv[each], ov, vv), (2, dooov[each], oo, ov))
    a, b = ({pair: (n, pair) for pair in ("oo", "ov", "vv")} for n in (0, 1))
    yield 2, dovov[1], a["ov"], b["ov"]
    yield 2, np.asarray(dovvo[1]).transpose(0, 1, 3, 2), a["ov"], b["ov"]
    yield from ((1, doovv[1], a["oo"], b["vv"]), (1, doovv[2], b["oo"], a["vv"]), (1, dvvvv[1], a["vv"], b["vv"]),
                (1, doooo[1], a["oo"], b["oo"]), (2, dovvv[1], a["ov"], b["vv"]), (2, dovvv[2], b["ov"], a["vv"]),
                (2, dooov[1], a["oo"], b["ov"]), (2, dooov[2], b["oo"], a["ov"]))


def _add_products(values: Any, factor: float, one: Any, other: Any, bar: Any, other_bar: Any) -> None:
    """Adds the derivatives of factor sum X[p,q,r,s] one[L,p,q] other[L,r,s]. Reads X in blocks of r, in which files are cut."""
    n = len(one)
    p, q, r, s = values.shape
    if 0 in (p, q, r, s):
        return
    left = np.ascontiguousarray(one).reshape(n, p * q)
    for rows in blocks(r, 8 * p * q * s):
        block = np.ascontiguousarray(values[:, :, rows]).reshape(p * q, -1)
        right = np.ascontiguousarray(other[:, rows]).reshape(n, -1)
        bar += (factor * (right @ block.T)).reshape(bar.shape)
        other_bar[:, rows] += (factor * (left @ block)).reshape(right.shape[0], -1, s)


def _add_packed(values: Any, factors: Any, bar: Any) -> None:
    """Adds the derivatives of 2 sum X[ab,cd] B[ab] B[cd] over all virtual orbitals. X is stored for pairs a >= b, c >= d."""
    lib = importlib.import_module("pyscf.lib")
    v = factors.shape[1]
    pairs = v * (v + 1) // 2
    if pairs == 0:
        return
    b = lib.pack_tril(np.ascontiguousarray(factors)) * 2
    b[:, diagonal_of_pairs(v)] /= 2
    found = np.zeros_like(b)
    for rows in blocks(pairs, 8 * pairs):
        block = np.asarray(values[rows])
        found[:, rows] += 2 * (b @ block.T)
        found += 2 * (b[:, rows] @ block)
    bar += lib.unpack_tril(found)


def packed_bars(bars: list[Any], orbitals: list[Any]) -> Any:
    """The sum over spins of bars in atomic orbitals, [L,pairs]. `orbitals`: of each spin [ao,p]."""
    pack_tril = importlib.import_module("pyscf.lib").pack_tril
    nao = len(orbitals[0])
    packed = np.empty((len(bars[0]), nao * (nao + 1) // 2))
    for rows in blocks(len(packed), 8 * nao * nao):
        packed[rows] = pack_tril(sum(c @ bar[rows] @ c.T for c, bar in zip(orbitals, bars)))
    return packed


def packed_bars_of_fields(with_df: Any, densities: list[Any], others: list[Any], count: int) -> Any:
    """The bars of half the energy of densities in the field of others, with exchange, [L,pairs].

    `densities`, `others`: of each spin, in atomic orbitals, symmetric. `count`: how often a spin counts.
    """
    lib = importlib.import_module("pyscf.lib")
    nao = len(densities[0])
    packed, begin = np.empty((with_df.get_naoaux(), nao * (nao + 1) // 2)), 0
    one, two = count * sum(densities), count * sum(others)
    for block in with_df.loop(rows_of_a_block(8 * nao * nao)):
        b = lib.unpack_tril(np.asarray(block))
        of_one, of_two = (np.tensordot(b, each, 2)[:, None, None] for each in (one, two))
        bar = of_two * one + of_one * two
        for d, e in zip(densities, others):
            exchange = d @ b @ e
            bar -= count * (exchange + exchange.transpose(0, 2, 1))
        packed[begin:begin + len(b)] = lib.pack_tril(bar / 2)
        begin += len(b)
    return packed


def forces(with_df: Any, packed: Any) -> Any:
    """The derivative by the positions of all atoms, [atom, xyz], hartree/bohr, of an energy with these bars [L,pairs].

    The bars are used up.
    """
    lib, aux_e2 = importlib.import_module("pyscf.lib"), importlib.import_module("pyscf.df.incore").aux_e2
    linalg = importlib.import_module("scipy.linalg")
    mol, auxmol = with_df.mol, with_df.auxmol
    nao, shells, functions = mol.nao, auxmol.nbas, auxmol.ao_loc
    twice = np.full(packed.shape[1], 2.0)
    twice[diagonal_of_pairs(nao)] = 1
    triangle = linalg.cholesky(auxmol.intor("int2c2e", hermi=1), lower=True)
    # The derivatives by (P|pq), and minus twice those by (P|Q).
    bars = np.ascontiguousarray(linalg.solve_triangular(triangle, packed, trans="T", lower=True, overwrite_b=True))
    overlaps = np.hstack([bars @ (twice * np.asarray(block)).T for block in with_df.loop()])
    of_metric = linalg.solve_triangular(triangle, overlaps.T, trans="T", lower=True).T
    by_function = np.zeros((3, nao))
    by_auxiliary = np.einsum("xpq,pq->px", auxmol.intor("int2c2e_ip1"), of_metric)
    begin = 0
    while begin < shells:
        end = begin + 1
        while end < shells and 8 * 3 * nao * nao * (functions[end + 1] - functions[begin]) < BYTES_OF_A_BLOCK:
            end += 1
        part, shell_slice = slice(functions[begin], functions[end]), (0, mol.nbas, 0, mol.nbas, begin, end)
        moved = aux_e2(mol, auxmol, "int3c2e_ip1", "s1", shls_slice=shell_slice)
        by_function += np.einsum("xpqk,kpq->xp", moved, lib.unpack_tril(bars[part]))
        moved = aux_e2(mol, auxmol, "int3c2e_ip2", "s2ij", shls_slice=shell_slice)
        by_auxiliary[part] -= np.einsum("xnk,kn->kx", moved, bars[part] * twice)
        begin = end
    result = np.zeros((mol.natm, 3))
    for atom, ((_, _, p0, p1), (_, _, q0, q1)) in enumerate(zip(mol.aoslice_by_atom(), auxmol.aoslice_by_atom())):
        result[atom] = by_auxiliary[q0:q1].sum(axis=0) - 2 * by_function[:, p0:p1].sum(axis=1)
    return result
