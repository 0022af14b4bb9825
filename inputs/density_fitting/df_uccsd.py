"""CCSD amplitudes of open shells from factors of the integrals, with NumPy on cores or with CuPy on a GPU.

The spin-orbital equations with integrals transformed by exp(T1), written for the blocks of alpha and beta spin. Everything that
has two spins is a tuple (alpha, beta). t2_aa and t2_bb are antisymmetric; in t2_ab[i,j,a,b] i and a are alpha, j and b beta.
See df_ccsd.py for closed shells, for the transformed factors and for the names of terms.
"""

from __future__ import annotations

from typing import Any

from derivatives import contract
from df_ccsd import iterated, ladder, ladder_of_two


def antisymmetric(x: Any) -> Any:
    """x[i,j,a,b] minus those with i and j or a and b exchanged, plus those with both exchanged."""
    x = x - x.transpose(1, 0, 2, 3)
    return x - x.transpose(0, 1, 3, 2)


class Spin:
    """Factors, Fock matrix and gaps of one spin."""

    def __init__(self, xp: Any, fock: Any, b: Any, o: int) -> None:
        self.o, self.fock, self.b = o, xp.asarray(fock), xp.asarray(b)
        self.oo, self.ov, self.vv = self.b[:, :o, :o], self.b[:, :o, o:], self.b[:, o:, o:]
        self.traces = xp.einsum("Pkk->P", self.oo)
        energies = xp.diagonal(self.fock)
        self.gaps = energies[:o, None] - energies[None, o:]

    def bare(self, traces: Any) -> Any:
        """The one-electron part of the Fock matrix; traces: the sum over both spins."""
        return self.fock - mean_field(self.b[:, :, : self.o], self.b[:, : self.o, :], self.b, traces)


class Dressed:
    """Factors and Fock matrix of one spin, transformed by exp(T1). The first index creates, the second annihilates."""

    def __init__(self, spin: Spin, t1: Any) -> None:
        self.ov = spin.ov
        self.oo = spin.oo + contract("Pkc,ic->Pki", spin.ov, t1)
        self.vv = spin.vv - contract("Pkc,ka->Pac", spin.ov, t1)
        self.vo = spin.ov.transpose(0, 2, 1) + contract("Pac,ic->Pai", spin.vv, t1) - contract("Pki,ka->Pai", self.oo, t1)

    def add_fock(self, spin: Spin, t1: Any, h: Any, traces: Any) -> None:
        """Adds the Fock matrix; h: bare one-electron part; traces: of the transformed factors, of both spins."""
        o = spin.o
        h_ov, h_oo = h[:o, o:], h[:o, :o] + contract("kc,ic->ki", h[:o, o:], t1)
        self.f_ov = h_ov + mean_field(self.oo, self.ov, self.ov, traces)
        self.f_oo = h_oo + mean_field(self.oo, self.oo, self.oo, traces)
        self.f_vv = h[o:, o:] - contract("ka,kc->ac", t1, h_ov) + mean_field(self.vo, self.ov, self.vv, traces)
        self.f_vo = h_ov.T + contract("ac,ic->ai", h[o:, o:], t1) - contract("ka,ki->ai", t1, h_oo)
        self.f_vo += mean_field(self.vo, self.oo, self.vo, traces)


def mean_field(left: Any, right: Any, whole: Any, traces: Any) -> Any:
    """(pq|kk) of both spins minus (pk|kq): left[P,p,k], right[P,k,q], whole[P,p,q], traces[P]."""
    return contract("P,Ppq->pq", traces, whole) - contract("Ppk,Pkq->pq", left, right)


class Equations:
    """The CCSD equations of fock[n,n] and factors b[P,n,n] of both spins; o: numbers of occupied orbitals."""

    def __init__(self, xp: Any, fock: tuple[Any, Any], b: tuple[Any, Any], o: tuple[int, int]) -> None:
        self.xp = xp
        self.spins = a, b_spin = Spin(xp, fock[0], b[0], o[0]), Spin(xp, fock[1], b[1], o[1])
        self.h = tuple(spin.bare(a.traces + b_spin.traces) for spin in self.spins)
        pairs = (a, a), (a, b_spin), (b_spin, b_spin)
        self.ovov = tuple(contract("Pia,Pjb->ijab", x.ov, y.ov) for x, y in pairs)  # (ia|jb) as [i,j,a,b]
        self.gaps = a.gaps, b_spin.gaps, *(x.gaps[:, None, :, None] + y.gaps[None, :, None, :] for x, y in pairs)

    def start(self) -> tuple[Any, ...]:
        """Amplitudes of first order."""
        aa, ab, bb = self.ovov
        integrals = aa - aa.transpose(0, 1, 3, 2), ab, bb - bb.transpose(0, 1, 3, 2)
        return *(0 * gaps for gaps in self.gaps[:2]), *(x / gaps for x, gaps in zip(integrals, self.gaps[2:]))

    def energy(self, t1_a: Any, t1_b: Any, t2_aa: Any, t2_ab: Any, t2_bb: Any) -> float:
        energy = 0.0
        for spin, t1 in zip(self.spins, (t1_a, t1_b)):
            energy += float((spin.fock[: spin.o, spin.o :] * t1).sum())
        for ovov, t2, x, y in zip(self.ovov, (t2_aa, t2_ab, t2_bb), (t1_a, t1_a, t1_b), (t1_a, t1_b, t1_b)):
            product = x[:, None, :, None] * y[None, :, None, :]
            if t2 is t2_ab:
                energy += float((ovov * (t2 + product)).sum())
            else:
                energy += float((ovov * (t2 + product - product.transpose(0, 1, 3, 2))).sum()) / 2
        return energy

    def residuals(self, t1_a: Any, t1_b: Any, t2_aa: Any, t2_ab: Any, t2_bb: Any) -> tuple[Any, ...]:
        t1, same, opposite = (t1_a, t1_b), (t2_aa, t2_bb), (t2_ab, t2_ab.transpose(1, 0, 3, 2))
        dressed = tuple(Dressed(spin, x) for spin, x in zip(self.spins, t1))
        traces = sum(spin.traces + contract("Pkc,kc->P", spin.ov, x) for spin, x in zip(self.spins, t1))
        for d, spin, x, h in zip(dressed, self.spins, t1, self.h):
            d.add_fock(spin, x, h, traces)
        # sum_kc t2[i,k,a,c] b_ov[P,k,c] of both spins of k and c
        b_u = tuple(contract("Pkc,ikac->Pia", dressed[s].ov, same[s]) + contract("Pkc,ikac->Pia", dressed[1 - s].ov, opposite[s])
                    for s in (0, 1))
        g_vv = tuple(d.f_vv - contract("Pkb,Pkc->bc", u, d.ov) for d, u in zip(dressed, b_u))
        g_oo = tuple(d.f_oo + contract("Pkd,Pjd->kj", d.ov, u) for d, u in zip(dressed, b_u))
        exchange = tuple(contract("Pki,Pac->kiac", d.oo, d.vv) for d in dressed)  # (ki|ac)
        ring = tuple(contract("kldc,liad->kiac", ovov, t2) for ovov, t2 in zip((self.ovov[0], self.ovov[2]), same))
        r1, r2 = [], []
        for s, (d, other) in enumerate(((dressed[0], dressed[1]), (dressed[1], dressed[0]))):
            r = d.f_vo.T + contract("ikac,kc->ia", same[s], d.f_ov) + contract("ikac,kc->ia", opposite[s], other.f_ov)
            r1.append(r + contract("Pic,Pac->ia", b_u[s], d.vv) - contract("Pki,Pka->ia", d.oo, b_u[s]))
            r2.append(self.same_spin(s, d, same[s], opposite[s], b_u[s], g_vv[s], g_oo[s], exchange[s] - 0.5 * ring[s]))
        mixed = self.opposite_spin(dressed, t2_ab, b_u, g_vv, g_oo, tuple(x - y for x, y in zip(exchange, ring)))
        return *r1, r2[0], mixed, r2[1]

    def same_spin(self, s: int, d: Dressed, t2: Any, opposite: Any, b_u: Any, g_vv: Any, g_oo: Any, exchange: Any) -> Any:
        """The residual of t2_aa (s = 0) or t2_bb."""
        klij = contract("Pki,Plj->klij", d.oo, d.oo) + 0.5 * contract("klcd,ijcd->klij", self.ovov[2 * s], t2)
        r2 = ladder(self.xp, t2, d.vv) + contract("klij,klab->ijab", klij, t2)
        direct = contract("Pai,Pbj->ijab", d.vo, d.vo)
        r2 += direct - direct.transpose(0, 1, 3, 2)
        x = contract("ijac,bc->ijab", t2, g_vv)
        r2 += x - x.transpose(0, 1, 3, 2)
        x = contract("ikab,kj->ijab", t2, g_oo)
        r2 -= x - x.transpose(1, 0, 2, 3)
        rings = contract("Pia,Pbj->ijab", b_u, d.vo + 0.5 * b_u.transpose(0, 2, 1)) - contract("ikac,kjbc->ijab", t2, exchange)
        half = contract("kldc,jlbd->kjbc", self.ovov[2 - 2 * s], opposite)  # k, c, l and d of the other spin
        rings -= 0.5 * contract("ikac,kjbc->ijab", opposite, half)
        return r2 + antisymmetric(rings)

    def opposite_spin(self, dressed: Any, t2: Any, b_u: Any, g_vv: Any, g_oo: Any, exchange: Any) -> Any:
        """The residual of t2_ab."""
        a, b = dressed
        klij = contract("Pki,Plj->klij", a.oo, b.oo) + contract("klcd,ijcd->klij", self.ovov[1], t2)
        r2 = ladder_of_two(self.xp, t2, a.vv, b.vv) + contract("klij,klab->ijab", klij, t2)
        r2 += contract("Pai,Pbj->ijab", a.vo + b_u[0].transpose(0, 2, 1), b.vo + b_u[1].transpose(0, 2, 1))
        r2 += contract("ijcb,ac->ijab", t2, g_vv[0]) + contract("ijac,bc->ijab", t2, g_vv[1])
        r2 -= contract("kjab,ki->ijab", t2, g_oo[0]) + contract("ikab,kj->ijab", t2, g_oo[1])
        r2 -= contract("kjcb,kiac->ijab", t2, exchange[0]) + contract("ikac,kjbc->ijab", t2, exchange[1])
        # rings that exchange the spins: (kj|ac), (ki|bc), and both together
        r2 -= contract("ikcb,kjac->ijab", t2, contract("Pkj,Pac->kjac", b.oo, a.vv))
        r2 -= contract("kjac,kibc->ijab", t2, contract("Pki,Pbc->kibc", a.oo, b.vv))
        r2 += contract("ibld,ljad->ijab", contract("ikcb,lkcd->ibld", t2, self.ovov[1]), t2)
        return r2


def ccsd(
    xp: Any, fock: tuple[Any, Any], b: tuple[Any, Any], o: tuple[int, int], tolerance: float = 1e-6, cycles: int = 50,
    report: Any = print, omega2: float = 0.0, start: tuple[Any, ...] | None = None
) -> tuple[tuple[Any, ...], float]:
    """The amplitudes (t1_a, t1_b, t2_aa, t2_ab, t2_bb) (arrays of xp) and the correlation energy in hartree.

    The parameters are those of df_ccsd.ccsd, for both spins; o: numbers of occupied orbitals.
    """
    shifted = []
    for f, number in zip(fock, o):
        f = xp.array(f)
        f[xp.arange(number, len(f)), xp.arange(number, len(f))] += omega2
        shifted.append(f)
    equations = Equations(xp, (shifted[0], shifted[1]), b, o)

    def residuals(*amplitudes: Any) -> tuple[Any, str]:
        return equations.residuals(*amplitudes), f"E = {equations.energy(*amplitudes):.12f} Eh, "

    name = "regularised CCSD" if omega2 else "CCSD"
    found = iterated(name, equations.gaps, start or equations.start(), residuals, tolerance, cycles, report)
    return found, equations.energy(*found)
