"""CCSD and Lambda amplitudes from factors of the integrals, with NumPy on cores or with CuPy on a GPU.

The equations are those of closed-shell CCSD with integrals transformed by exp(T1): T. Helgaker, P. Jorgensen and
J. Olsen, "Molecular Electronic-Structure Theory", section 13.7. With factors, only the factors are transformed:
A. E. DePrince and C. D. Sherrill, J. Chem. Theory Comput. 9, 2687 (2013). No array of size o v^3 or v^4 is made. The Lambda
equations are the derivatives of the CCSD equations, which derivatives.py makes. Trifuse computes the contractions.

Indices: i j k l occupied, a b c d virtual, P auxiliary. All arrays are in C order (last index fastest) and in atomic units.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from derivatives import Traced, contract, derivatives, value_of


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


def ladder(xp: Any, t2: Any, b_vv: Any, block: int = 32) -> Any:
    """sum_cd t2[i,j,c,d] (ac|bd) as [i,j,a,b], from the transformed factors b_vv[P,a,c], in blocks of `block` orbitals a."""
    o, v = t2.shape[0], t2.shape[2]
    result = xp.empty((v, v, o, o))  # [a,b,i,j]; a below b follows from the exchange of (i,a) and (j,b)
    for first in range(0, v, block):
        last = min(first + block, v)
        for a in range(first, last):
            # of this a and of b >= first: the exchange gives the others
            integrals = contract("Pc,Pbd->bcd", b_vv[:, a, :], b_vv[:, first:, :])
            result[a, first:] = contract("bcd,ijcd->bij", integrals, t2)
        result[last:, first:last] = result[first:last, last:].transpose(1, 0, 3, 2)
    return result.transpose(2, 3, 0, 1)


def ladder_of_two(xp: Any, t2: Any, left: Any, right: Any) -> Any:
    """sum_cd t2[i,j,c,d] (xc|bd) as [i,j,x,b], from the factors left[P,x,c] and right[P,b,d]."""
    result = xp.empty((*t2.shape[:2], left.shape[1], right.shape[1]))
    for x in range(left.shape[1]):
        result[:, :, x] = contract("bcd,ijcd->ijb", contract("Pc,Pbd->bcd", left[:, x], right), t2)
    return result


def traced_ladder(xp: Any, t1: Any, t2: Any, b_ov: Any, b_vv: Any) -> Any:
    """The ladder; of Traced amplitudes with its own derivatives, because it is computed in blocks."""
    amplitudes, factors = value_of(t2), value_of(b_vv)
    value = ladder(xp, amplitudes, factors)
    if not isinstance(t2, Traced):
        return value
    half = ladder_of_two(xp, amplitudes, b_ov, factors)  # t1[k,a] is in the factors of a and of b as - t1[k,a] b_ov[P,k,c]
    return Traced(value, [(t2, lambda bar: ladder(xp, bar, factors.transpose(0, 2, 1))),
                          (t1, lambda bar: -2 * contract("ijab,ijkb->ka", bar, half))])


class Equations:
    """The closed-shell CCSD equations of the factors b[P,o+v,o+v] and the Fock matrix fock[o+v,o+v]; o: occupied orbitals."""

    def __init__(self, xp: Any, fock: Any, b: Any, o: int) -> None:
        self.xp, fock, b = xp, xp.asarray(fock), xp.asarray(b)
        occupied, virtual = slice(None, o), slice(o, None)
        self.b_oo, self.b_ov, self.b_vv = b[:, occupied, occupied], b[:, occupied, virtual], b[:, virtual, virtual]
        self.traces = xp.einsum("Pkk->P", self.b_oo)
        # The bare one-electron part of the Fock matrix.
        h = fock - mean_field(b[:, :, occupied], b[:, occupied, :], b, self.traces)
        self.h_oo, self.h_ov, self.h_vv = h[occupied, occupied], h[occupied, virtual], h[virtual, virtual]
        self.f_ov = fock[occupied, virtual]
        energies = xp.diagonal(fock)
        gaps = energies[:o, None] - energies[None, o:]
        self.gaps = gaps, gaps[:, None, :, None] + gaps[None, :, None, :]
        self.ovov = contract("Pia,Pjb->ijab", self.b_ov, self.b_ov)  # (ia|jb) as [i,j,a,b]
        self.spin_summed_ovov = 2 * self.ovov - self.ovov.transpose(0, 1, 3, 2)

    def energy(self, t1: Any, t2: Any) -> float:
        tau = t2 + t1[:, None, :, None] * t1[None, :, None, :]
        return float((tau * self.spin_summed_ovov).sum() + 2 * (self.f_ov * t1).sum())

    def residuals(self, t1: Any, t2: Any) -> tuple[Any, Any]:
        """The residuals [o,v] and [o,o,v,v]; t1 and t2 may be Traced."""
        # The first index of a transformed factor creates, the second annihilates.
        b_ov = self.b_ov
        b_oo = self.b_oo + contract("Pkc,ic->Pki", b_ov, t1)
        b_vv = self.b_vv - contract("Pkc,ka->Pac", b_ov, t1)
        b_vo = (b_ov.transpose(0, 2, 1) + contract("Pac,ic->Pai", self.b_vv, t1) - contract("Pki,ka->Pai", b_oo, t1))

        # The Fock matrix of the transformed integrals.
        traces = self.traces + contract("Pkc,kc->P", b_ov, t1)
        f_ov = self.h_ov + mean_field(b_oo, b_ov, b_ov, traces)
        f_oo = self.h_oo + contract("kc,ic->ki", self.h_ov, t1) + mean_field(b_oo, b_oo, b_oo, traces)
        f_vv = self.h_vv - contract("ka,kc->ac", t1, self.h_ov) + mean_field(b_vo, b_ov, b_vv, traces)
        h_oo = self.h_oo + contract("kc,ic->ki", self.h_ov, t1)
        f_vo = (self.h_ov.transpose(1, 0) + contract("ac,ic->ai", self.h_vv, t1) - contract("ka,ki->ai", t1, h_oo)
                + mean_field(b_vo, b_oo, b_vo, traces))

        u2 = 2 * t2 - t2.transpose(0, 1, 3, 2)
        b_u = contract("Pkc,ikac->Pia", b_ov, u2)  # one array for several terms
        r1 = f_vo.transpose(1, 0) + contract("ikac,kc->ia", u2, f_ov)
        r1 += contract("Pic,Pac->ia", b_u, b_vv)
        r1 -= contract("Pki,Pka->ia", b_oo, b_u)

        # A: (ai|bj) and the ladder of particles.
        r2 = contract("Pai,Pbj->ijab", b_vo, b_vo)
        r2 += traced_ladder(self.xp, t1, t2, b_ov, b_vv)
        # B: the ladder of holes.
        klij = contract("Pki,Plj->klij", b_oo, b_oo) + contract("klcd,ijcd->klij", self.ovov, t2)
        r2 += contract("klij,klab->ijab", klij, t2)
        # C: rings without spin summation. The last line adds the exchange of (i,a) and (j,b) to `r`.
        kiac = contract("Pki,Pac->kiac", b_oo, b_vv)
        kiac -= 0.5 * contract("kldc,liad->kiac", self.ovov, t2)
        c = contract("kjbc,kiac->ijab", t2, kiac)
        r = -0.5 * c - c.transpose(1, 0, 2, 3)
        # D: rings with u2. (ai|kc) and exchange with the second half from b_u.
        iakc = 2 * contract("Pai,Pkc->iakc", b_vo + 0.5 * b_u.transpose(0, 2, 1), b_ov)
        iakc -= contract("Pac,Pki->iakc", b_vv, b_oo)
        iakc -= 0.5 * contract("ilad,lkcd->iakc", u2, self.ovov)
        r += 0.5 * contract("jkbc,iakc->ijab", u2, iakc)
        # E: the transformed Fock matrix.
        g_vv = f_vv - contract("Pkb,Pkc->bc", b_u, b_ov)
        g_oo = f_oo + contract("Pkd,Pjd->kj", b_ov, b_u)
        r += contract("ijac,bc->ijab", t2, g_vv)
        r -= contract("ikab,kj->ijab", t2, g_oo)
        r2 += r
        r2 += r.transpose(1, 0, 3, 2)
        return r1, r2


def mean_field(left: Any, right: Any, whole: Any, traces: Any) -> Any:
    """2 (pq|kk) - (pk|kq): left[P,p,k], right[P,k,q], whole[P,p,q], traces[P] = sum_k b[P,k,k]."""
    return 2 * contract("P,Ppq->pq", traces, whole) - contract("Ppk,Pkq->pq", left, right)


def iterated(
    name: str, gaps: tuple[Any, ...], start: tuple[Any, ...], residuals: Any, tolerance: float, cycles: int, report: Any
) -> tuple[Any, ...]:
    """The amplitudes whose residuals vanish. `residuals` takes amplitudes; it returns their residuals and a text for the report.

    gaps: of each array of amplitudes, the sums of energies of occupied orbitals minus those of virtual orbitals.
    """
    diis, amplitudes = Diis(), start
    for cycle in range(cycles):
        found, text = residuals(*amplitudes)
        steps = tuple(residual / gap for residual, gap in zip(found, gaps))
        change = sum(float((step * step).sum()) for step in steps) ** 0.5
        report(f"{name} cycle {cycle:2d}: {text}change of the amplitudes {change:.2e}")
        if change < tolerance:
            return amplitudes
        amplitudes = diis.next(tuple(x + step for x, step in zip(amplitudes, steps)), steps)
    raise RuntimeError(f"{name} did not converge in {cycles} cycles")


def ccsd(
    xp: Any, fock: Any, b: Any, o: int, tolerance: float = 1e-6, cycles: int = 50, report: Any = print, omega2: float = 0.0,
    start: tuple[Any, Any] | None = None
) -> tuple[Any, Any, float]:
    """t1[o,v], t2[o,o,v,v] (arrays of xp) and the correlation energy in hartree.

    fock[o+v,o+v]: with orbital energies on the diagonal; b[P,o+v,o+v]: factors, (pq|rs) = sum_P b[P,p,q] b[P,r,s];
    tolerance: largest norm of the change of the amplitudes; omega2: of regularised CCSD, hartree, added to the energies of the
    virtual orbitals; start: amplitudes of the first cycle.
    """
    fock = xp.array(fock)
    fock[xp.arange(o, len(fock)), xp.arange(o, len(fock))] += omega2
    equations = Equations(xp, fock, b, o)

    def residuals(t1: Any, t2: Any) -> tuple[Any, str]:
        return equations.residuals(t1, t2), f"E = {equations.energy(t1, t2):.12f} Eh, "

    if start is None:
        start = xp.zeros_like(equations.gaps[0]), equations.ovov / equations.gaps[1]
    t1, t2 = iterated("regularised CCSD" if omega2 else "CCSD", equations.gaps, start, residuals, tolerance, cycles, report)
    return t1, t2, equations.energy(t1, t2)


def solve_lambda(
    xp: Any, fock: Any, b: Any, o: int, t1: Any, t2: Any, tolerance: float = 1e-6, cycles: int = 50, report: Any = print,
    of_triples: tuple[Any, Any] = (0.0, 0.0)
) -> tuple[Any, Any]:
    """Lambda amplitudes l1[o,v], l2[o,o,v,v] (arrays of xp) of the CCSD amplitudes t1 and t2.

    The derivative of E + sum 2 l1 r1 + sum (2 l2[ijab] - l2[ijba]) r2 with respect to the amplitudes is 0: this is the
    Lagrangian of a closed shell in spin orbitals. of_triples: the derivatives of E(T) by t1 and t2, for Lambda of CCSD(T).
    """
    equations = Equations(xp, fock, b, o)
    t1, t2 = Traced(t1), Traced(t2)
    r1, r2 = equations.residuals(t1, t2)
    of_t1 = 2 * equations.f_ov + 2 * contract("ijab,jb->ia", equations.spin_summed_ovov, t1.value)
    of_t1 += xp.asarray(of_triples[0])
    of_t2 = equations.spin_summed_ovov + xp.asarray(of_triples[1])

    def residuals(l1: Any, l2: Any) -> tuple[Any, str]:
        bar1, bar2 = derivatives([(r1, 2 * l1), (r2, 2 * l2 - l2.transpose(0, 1, 3, 2))], [t1, t2])
        bar1, bar2 = bar1 + of_t1, 0.5 * (bar2 + bar2.transpose(1, 0, 3, 2)) + of_t2
        return (bar1 / 2, (2 * bar2 + bar2.transpose(0, 1, 3, 2)) / 3), ""

    l1, l2 = iterated("Lambda", equations.gaps, (t1.value, t2.value), residuals, tolerance, cycles, report)
    return l1, l2
