#!/usr/bin/env python3
"""The middle C-C bond of an alkane, pulled apart: CCSD(T), Reg-CCSD(T) and CR-CC(2,3). README.md says what it shows.

    python3 stretch.py --gpu                                        # dodecane in 6-311G: writes stretch.json
    python3 stretch.py 1 1.5 --carbons 2 --basis sto-3g -o x.json   # ethane at two distances, on cores

Distances that the file has already are not computed again. Needs PySCF and the Python package of Trifuse; with --gpu also CuPy.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Any

import numpy as np
import pyscf.gto
import pyscf.scf
import pyscf.symm

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "density_fitting"))

import cholesky
import df_ccsd
import steps

# Bonds in angstrom, angles in degrees: usual values of alkanes, the same for each CH2 and CH3.
CC, CH, CCC, HCH = 1.53, 1.095, 113.0, 107.0
DISTANCES = (1.0, 1.25, 1.5, 1.75, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0)


def alkane(carbons: int, stretch: float) -> list[tuple[str, np.ndarray]]:
    """The zigzag chain C_n H_(2n+2), n even, whose middle bond is `stretch` times as long; its halves keep their shape."""
    along, across = CC * np.sin(np.radians(CCC / 2)), CC * np.cos(np.radians(CCC / 2))
    chain = np.array([(n * along, (n % 2) * across, 0.0) for n in range(-1, carbons + 1)])  # both ends: hydrogens of CH3
    bond = chain[carbons // 2 + 1] - chain[carbons // 2]
    shift = np.where(np.arange(carbons + 2) > carbons // 2, stretch - 1.0, 0.0)[:, None] * bond
    out, up = CH * np.sin(np.radians(HCH / 2)), CH * np.cos(np.radians(HCH / 2))
    atoms = []
    for n in range(1, carbons + 1):
        atoms.append(("C", chain[n] + shift[n]))
        away = 2 * chain[n] - chain[n - 1] - chain[n + 1]
        away /= np.linalg.norm(away)
        atoms += [("H", chain[n] + shift[n] + up * away + np.array((0.0, 0.0, z))) for z in (out, -out)]
    for end, neighbour in ((0, 1), (carbons + 1, carbons)):
        direction = (chain[end] - chain[neighbour]) / CC
        atoms.append(("H", chain[neighbour] + shift[neighbour] + CH * direction))
    return atoms


class Point:
    """RHF and factors at one distance, with the correlated orbitals in the order of their irreps."""

    def __init__(self, xp: Any, options: argparse.Namespace, alpha: float, density: Any, times: steps.Times) -> None:
        # Symmetry fixes the orbitals of degenerate pairs, on which CR-CC(2,3)_C and _D depend.
        mol = pyscf.gto.M(atom=alkane(options.carbons, alpha), basis=options.basis, symmetry=True, verbose=0, max_memory=100000)
        integrals = mol.intor("int2e", aosym="s4")
        times.done("integrals")
        # Another distance has the same basis functions, so its density is a start that keeps the RHF on one state.
        mf = pyscf.scf.RHF(mol).set(conv_tol=1e-11, conv_tol_grad=1e-7, max_cycle=200, _eri=integrals)
        mf.kernel(dm0=density)
        if not mf.converged:
            sys.exit(f"stretch.py: the RHF at {alpha} times the bond did not converge.")
        self.energy, self.density = float(mf.e_tot), mf.make_rdm1()
        times.done("RHF")

        frozen = options.carbons
        self.o = mol.nelectron // 2 - frozen
        irreps = pyscf.symm.label_orb_symm(mol, mol.irrep_id, mol.symm_orb, mf.mo_coeff) % 10
        order = np.concatenate([first + np.argsort(irreps[first:last], kind="stable")
                                for first, last in ((frozen, frozen + self.o), (frozen + self.o, mol.nao))])
        self.irreps, self.orbitals, self.overlap = irreps[order], mf.mo_coeff[:, order], mf.get_ovlp()
        # Exact zeros between irreps stay zeros. Rounding errors grow at large distances, where CCSD has solutions without symmetry.
        self.fock = self.orbitals.T @ mf.get_fock() @ self.orbitals * (self.irreps[:, None] == self.irreps)
        b = cholesky.in_orbitals(xp, cholesky.factors(xp, integrals, options.threshold), self.orbitals)
        self.b = cholesky.of_irreps(xp, b, self.irreps, options.threshold)
        times.done("factors")

    def amplitudes_of(self, xp: Any, other: Point, t1: Any, t2: Any) -> tuple[Any, Any]:
        """Amplitudes of another distance in the orbitals of this one, as far as both sets of orbitals resemble each other."""
        product = other.orbitals.T @ self.overlap @ self.orbitals * (other.irreps[:, None] == self.irreps)
        occ, vir = (xp.asarray(u @ v) for u, _, v in map(np.linalg.svd, (product[: self.o, : self.o], product[self.o :, self.o :])))
        t2 = xp.einsum("klab,ki->ilab", t2, occ)
        return occ.T @ t1 @ vir, xp.einsum("ilcb,lj,ca->ijab", xp.einsum("ilcd,db->ilcb", t2, vir), occ, vir, optimize=True)

    def inputs(self, xp: Any, t1: Any, t2: Any, tolerance: float) -> dict[str, Any]:
        """The arrays of trifuse.triples, on the host."""
        o, eps = self.o, np.diagonal(self.fock).copy()
        b = steps.on_host(xp, self.b)
        return {"t1": steps.on_host(xp, t1), "t2": steps.on_host(xp, t2), "eps_occ": eps[:o], "eps_vir": eps[o:], "fock": self.fock,
                "factors_oo": b[:, :o, :o], "factors_ov": b[:, :o, o:], "factors_vv": b[:, o:, o:],
                "irrep_occ": self.irreps[:o], "irrep_vir": self.irreps[o:], "scf_energy": self.energy, "convergence": tolerance}


def point(xp: Any, options: argparse.Namespace, alpha: float, before: Any) -> tuple[dict[str, Any], Any]:
    """The energies at one distance, and what the next distance starts from: the point and its amplitudes."""
    times = steps.Times()
    new = Point(xp, options, alpha, before[0].density if before else None, times)
    o, tolerance = new.o, options.tolerance
    start = new.amplitudes_of(xp, *before) if before else None

    def report(line: str) -> None:
        if options.verbose:
            print(f"    {line}", flush=True)

    def solved(omega2: float, start: Any) -> tuple[Any, Any, float]:
        return df_ccsd.ccsd(xp, new.fock, new.b, o, tolerance, 100, report, omega2, start)

    def as_left(amplitudes: tuple[Any, ...]) -> dict[str, np.ndarray]:
        return {name: steps.on_host(xp, x) for name, x in zip(("t1", "t2"), amplitudes)}

    t1, t2, correlation = solved(0.0, start)
    times.done("CCSD")
    left = as_left(df_ccsd.solve_lambda(xp, new.fock, new.b, o, t1, t2, tolerance, 100, report))
    times.done("Lambda")
    triples = steps.Triples(xp, new.inputs(xp, t1, t2, tolerance) | {"correlation_energy": correlation}, options.memory, times)
    triples("CCSD(T)")
    triples("CR-CC(2,3)", method=["2t", "cr-cc23"], left=left, left_kind="lambda")
    for omega2 in options.omega2:
        left = as_left(solved(omega2, (t1, t2))[:2])
        times.done(f"regularised CCSD, ω² = {omega2:g}")
        triples(f"Reg-CCSD(T), ω² = {omega2:g}", method="reg-t", left=left, left_kind="reg-ccsd", left_omega2=omega2)
    energies = {"R(CC)": alpha * CC, "E(RHF)": new.energy, "E(CCSD)": new.energy + correlation, "corrections": triples.corrections,
                "max |t1|": float(abs(t1).max()), "max |t2|": float(abs(t2).max()), "factors": len(new.b), "seconds": dict(times)}
    return energies, (new, t1, t2)


def main() -> None:
    parser = steps.parser(__doc__.splitlines()[0], HERE / "stretch.json", "6-311g", (0.1,))
    parser.add_argument("distances", type=float, nargs="*", default=DISTANCES, help="in units of 1.53 angstrom")
    parser.add_argument("--carbons", type=int, default=12, help="an even number (default: 12)")
    options = parser.parse_args()
    xp = steps.array_library(options.gpu)
    facts = {"molecule": f"C{options.carbons}H{2 * options.carbons + 2}", "basis": options.basis, "frozen orbitals": options.carbons,
             "computed on": steps.devices(xp), "units": "hartree, angstrom, seconds"}
    steps.compute(options.output, facts, "alpha", options.distances, lambda alpha, before: point(xp, options, alpha, before))


if __name__ == "__main__":
    main()
