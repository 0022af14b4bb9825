"""CCSD amplitudes from the factors of density fitting, with NumPy on cores or with CuPy on a GPU.

The equations are those of closed-shell CCSD with integrals transformed by exp(T1): T. Helgaker, P. Jorgensen and
J. Olsen, "Molecular Electronic-Structure Theory", section 13.7. With factors, only the factors are transformed:
A. E. DePrince and C. D. Sherrill, J. Chem. Theory Comput. 9, 2687 (2013). No array of size o v^3 or v^4 is made.

Indices: i j k l occupied, a b c d virtual, P auxiliary. All arrays are in C order (last index fastest) and in atomic units.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Diis:
    """Extrapolation of amplitudes from those of the last iterations (P. Pulay, Chem. Phys. Lett. 73, 393 (1980)).

    A vector is a tuple of arrays. The scalar products of the errors are kept from one iteration to the next.
    """

    def __init__(self, space: int = 6) -> None:
        self.space = space
        self.vectors: list[tuple[Any, ...]] = []
        self.errors: list[tuple[Any, ...]] = []
        self.products = np.zeros((0, 0))

    def next(self, vector: tuple[Any, ...], error: tuple[Any, ...]) -> tuple[Any, ...]:
        self.vectors, self.errors = [*self.vectors, vector][-self.space :], [*self.errors, error][-self.space :]
        n = len(self.errors)
        products = np.zeros((n + 1, n + 1))
        products[: n - 1, : n - 1] = self.products[-(n - 1) :, -(n - 1) :] if n > 1 else 0
        products[n - 1, :n] = products[:n, n - 1] = [sum(float((x * y).sum()) for x, y in zip(e, error)) for e in self.errors]
        self.products = products[:n, :n].copy()
        products[:n, :n] /= products[:n, :n].max()
        products[n, :n] = products[:n, n] = 1
        weights = np.linalg.lstsq(products, np.eye(n + 1)[n], rcond=None)[0][:n]
        return tuple(sum(float(w) * v for w, v in zip(weights, parts)) for parts in zip(*self.vectors))


def ladder(xp: Any, t2: Any, b_vv: Any, block: int) -> Any:
    """sum_cd t2[i,j,c,d] (ac|bd) as [i,j,a,b], from the transformed factors b_vv[P,a,c], in blocks of `block` orbitals a."""
    o, v = t2.shape[0], t2.shape[2]
    of_cd = t2.reshape(o * o, v * v)
    result = xp.empty((v, v, o, o))  # [a,b,i,j]; a below b follows from the exchange of (i,a) and (j,b)
    for first in range(0, v, block):
        last = min(first + block, v)
        for a in range(first, last):
            # [b,c,d] of this a and of b >= first: the exchange gives the others
            integrals = xp.tensordot(b_vv[:, a, :], b_vv[:, first:, :], axes=(0, 0))  # [c,b,d]
            integrals = integrals.transpose(1, 0, 2).reshape(v - first, v * v)
            result[a, first:] = (integrals @ of_cd.T).reshape(v - first, o, o)
        result[last:, first:last] = result[first:last, last:].transpose(1, 0, 3, 2)
    return result.transpose(2, 3, 0, 1)


def residuals(xp: Any, t1: Any, t2: Any, fock: Any, b: Any, o: int) -> tuple[Any, Any]:
    """The residuals [o,v] and [o,o,v,v] of the CCSD equations; b[P,o+v,o+v] are the factors, fock[o+v,o+v] the Fock matrix."""
    einsum = xp.einsum if xp is not np else lambda *arguments: np.einsum(*arguments, optimize=True)
    occupied, virtual = slice(None, o), slice(o, None)
    # The first index of a transformed factor creates, the second annihilates.
    oo, ov, vv = b[:, occupied, occupied], b[:, occupied, virtual], b[:, virtual, virtual]
    b_ov = ov
    b_oo = oo + xp.tensordot(ov, t1, axes=(2, 1))
    b_vv = vv - xp.tensordot(ov, t1, axes=(1, 0)).transpose(0, 2, 1)
    b_vo = ov.transpose(0, 2, 1) + xp.tensordot(vv, t1, axes=(2, 1)) - xp.tensordot(b_oo, t1, axes=(1, 0)).transpose(0, 2, 1)

    # The bare one-electron part h of the Fock matrix, then the Fock matrix of the transformed integrals.
    def mean_field(left: Any, right: Any, whole: Any, traces: Any) -> Any:
        """2 (pq|kk) - (pk|kq): left[P,p,k], right[P,k,q], whole[P,p,q], traces[P] = sum_k b[P,k,k]."""
        return 2 * xp.tensordot(traces, whole, axes=(0, 0)) - xp.tensordot(left, right, axes=((0, 2), (0, 1)))

    h = fock - mean_field(b[:, :, occupied], b[:, occupied, :], b, einsum("Pkk->P", oo))
    h_oo, h_ov, h_vo, h_vv = h[occupied, occupied], h[occupied, virtual], h[virtual, occupied], h[virtual, virtual]
    traces = einsum("Pkk->P", b_oo)
    f_ov = h_ov + mean_field(b_oo, b_ov, b_ov, traces)
    f_oo = h_oo + h_ov @ t1.T + mean_field(b_oo, b_oo, b_oo, traces)
    f_vv = h_vv - t1.T @ h_ov + mean_field(b_vo, b_ov, b_vv, traces)
    f_vo = h_vo + h_vv @ t1.T - t1.T @ h_oo - t1.T @ (h_ov @ t1.T) + mean_field(b_vo, b_oo, b_vo, traces)

    u2 = 2 * t2 - t2.transpose(0, 1, 3, 2)
    # sum_kc u2[i,k,a,c] b_ov[P,k,c] as [P,i,a]: one array for several terms
    b_u = xp.tensordot(b_ov, u2, axes=((1, 2), (1, 3)))
    r1 = f_vo.T + einsum("ikac,kc->ia", u2, f_ov)
    r1 += einsum("Pic,Pac->ia", b_u, b_vv)
    r1 -= einsum("Pki,Pka->ia", b_oo, b_u)

    # A: (ai|bj) and the ladder of particles.
    r2 = einsum("Pai,Pbj->ijab", b_vo, b_vo) + ladder(xp, t2, b_vv, 32)
    # B: the ladder of holes.
    ovov = einsum("Pkc,Pld->klcd", b_ov, b_ov)
    klij = einsum("Pki,Plj->klij", b_oo, b_oo) + einsum("klcd,ijcd->klij", ovov, t2)
    r2 += einsum("klij,klab->ijab", klij, t2)
    # C: rings without spin summation. The last line adds the exchange of (i,a) and (j,b) to `r`.
    kiac = einsum("Pki,Pac->kiac", b_oo, b_vv) - 0.5 * einsum("klcd,liad->kiac", ovov.transpose(0, 1, 3, 2), t2)
    c = einsum("kjbc,kiac->ijab", t2, kiac)
    r = -0.5 * c - c.transpose(1, 0, 2, 3)
    # D: rings with u2. (ai|kc) and exchange with the second half from b_u.
    aikc = 2 * einsum("Pai,Pkc->iakc", b_vo + 0.5 * b_u.transpose(0, 2, 1), b_ov)
    aikc -= einsum("Pac,Pki->iakc", b_vv, b_oo)
    aikc -= 0.5 * einsum("ilad,lckd->iakc", u2, einsum("Pkd,Plc->lckd", b_ov, b_ov))
    r += 0.5 * einsum("jkbc,iakc->ijab", u2, aikc)
    # E: the transformed Fock matrix.
    g_vv = f_vv - xp.tensordot(b_u, b_ov, axes=((0, 1), (0, 1)))
    g_oo = f_oo + einsum("Pkd,Pjd->kj", b_ov, b_u)
    r += einsum("ijac,bc->ijab", t2, g_vv) - einsum("ikab,kj->ijab", t2, g_oo)
    return r1, r2 + r + r.transpose(1, 0, 3, 2)


def ccsd(
    xp: Any, fock: np.ndarray, b: np.ndarray, o: int, tolerance: float = 1e-6, cycles: int = 50, report: Any = print
) -> tuple[Any, Any, float]:
    """t1[o,v], t2[o,o,v,v] (arrays of xp) and the correlation energy in hartree.

    fock[o+v,o+v]: with orbital energies on the diagonal; b[P,o+v,o+v]: factors, (pq|rs) = sum_P b[P,p,q] b[P,r,s];
    tolerance: largest norm of the change of the amplitudes.
    """
    fock, b = xp.asarray(fock), xp.asarray(b)
    energies = xp.diagonal(fock)
    gaps = energies[:o, None] - energies[None, o:]
    gaps2 = gaps[:, None, :, None] + gaps[None, :, None, :]
    ovov = xp.tensordot(b[:, :o, o:], b[:, :o, o:], axes=(0, 0)).transpose(0, 2, 1, 3)  # [i,j,a,b]
    t1, t2 = xp.zeros_like(gaps), ovov / gaps2
    diis = Diis()
    for cycle in range(cycles):
        tau = t2 + t1[:, None, :, None] * t1[None, :, None, :]
        energy = float(2 * (tau * ovov).sum() - (tau * ovov.transpose(0, 1, 3, 2)).sum() + 2 * (fock[:o, o:] * t1).sum())
        r1, r2 = residuals(xp, t1, t2, fock, b, o)
        r1, r2 = r1 / gaps, r2 / gaps2
        change = float(xp.sqrt((r1 * r1).sum() + (r2 * r2).sum()))
        report(f"CCSD cycle {cycle:2d}: E = {energy:.12f} Eh, change of the amplitudes {change:.2e}")
        if change < tolerance:
            return t1, t2, energy
        t1, t2 = diis.next((t1 + r1, t2 + r2), (r1, r2))
    raise RuntimeError(f"CCSD did not converge in {cycles} cycles")
