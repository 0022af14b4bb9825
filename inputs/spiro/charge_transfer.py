#!/usr/bin/env python3
"""The charge of the Spiro cation moves from one ring to the other: CCSD(T), Reg-CCSD(T), CCSD(cT) and CR-CCSD(T).

    python3 charge_transfer.py --gpu                          # 6-31G: writes energies.json
    python3 charge_transfer.py --basis sto-3g -o x.json       # a smaller basis, on cores

README.md says what it shows. Points that the file has already are not computed again. Needs PySCF and the Python package of
Trifuse; with --gpu also CuPy.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Any

import numpy as np
import pyscf.gto
import pyscf.lib
import pyscf.scf
import pyscf.symm

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "density_fitting"))

import cholesky
import df_uccsd
import steps

# The reaction coordinate: -1/2 is the geometry of spiro.xyz, whose ring at z > 0 has the charge; 1/2 is its mirror image. At 0 there
# are two solutions: the charge stays on its ring, or it is on both.
COORDINATES: tuple[Any, ...] = (-0.5, -0.25, 0.0, "0, delocalised")
SPINS = "ab"


def geometry(coordinate: float, path: pathlib.Path = HERE / "spiro.xyz") -> list[tuple[str, np.ndarray]]:
    """Atoms on the straight line between spiro.xyz and its mirror image, in angstrom."""
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()[2:]]
    positions = np.array([[float(x) for x in line[1:4]] for line in lines])
    image = positions[:, (1, 0, 2)] * (1, 1, -1)  # exchanges the rings
    partners = [int(np.linalg.norm(image - each, axis=1).argmin()) for each in positions]
    mixed = (0.5 - coordinate) * positions + (0.5 + coordinate) * image[partners]
    return [(line[0], position) for line, position in zip(lines, mixed)]


class Reference:
    """ROHF of a radical."""

    def __init__(self, mol: Any, like: Reference | None, times: steps.Times) -> None:
        """like: the same molecule in a similar geometry, whose state this one has. None: that of the ionised molecule."""
        self.mol, self.integrals = mol, mol.intor("int2e", aosym="s4")
        times.done("integrals")
        mf = pyscf.scf.ROHF(mol).set(_eri=self.integrals)
        if like is None:
            orbitals, occupations = ionised(mol, self.integrals)
        else:
            values, vectors = np.linalg.eigh(like.orbitals.T @ mf.get_ovlp() @ like.orbitals)
            orbitals, occupations = like.orbitals @ (vectors / values**0.5) @ vectors.T, like.occupations
        # From given orbitals, because otherwise the occupations may jump between the rings.
        self.mf = mf.newton().set(conv_tol=1e-10, conv_tol_grad=1e-6, max_cycle=100)
        self.mf.kernel(symmetric(mol, orbitals), occupations)
        if not self.mf.converged:
            sys.exit("charge_transfer.py: the ROHF did not converge.")
        self.orbitals: np.ndarray = np.array(self.mf.mo_coeff)
        self.occupations: np.ndarray = self.mf.mo_occ
        times.done("ROHF")


class Radical:
    """Factors and Fock matrices of semicanonical orbitals of both spins, in the order of their irreps, without frozen orbitals."""

    def __init__(self, xp: Any, reference: Reference, frozen: int, threshold: float, times: steps.Times) -> None:
        mol, mf = reference.mol, reference.mf
        self.energy, self.functions = float(mf.e_tot), int(mol.nao)
        irreps = pyscf.symm.label_orb_symm(mol, mol.irrep_id, mol.symm_orb, mf.mo_coeff) % 10
        order = np.lexsort((mf.mo_energy, -mf.mo_occ))[frozen:]
        fock = mf.get_fock()
        rows = cholesky.factors(xp, reference.integrals, threshold)
        self.o = int((mf.mo_occ > 0).sum()) - frozen, int((mf.mo_occ > 1).sum()) - frozen
        spins = [semicanonical(mf.mo_coeff[:, order], irreps[order], f, o) for f, o in zip((fock.focka, fock.fockb), self.o)]
        self.irreps, self.fock = (spins[0][1], spins[1][1]), (spins[0][2], spins[1][2])
        # Both spins have the same space of orbitals, so the same factors, rotated.
        first = spins[0][0]
        b = cholesky.of_irreps(xp, cholesky.in_orbitals(xp, rows, first), self.irreps[0], threshold)
        rotation = (first.T @ mf.get_ovlp() @ spins[1][0]) * (self.irreps[0][:, None] == self.irreps[1])
        rotation = xp.asarray(rotation)
        self.b = b, rotation.T @ (b @ rotation)
        times.done("factors")

    def inputs(self, xp: Any, amplitudes: tuple[Any, ...], tolerance: float) -> dict[str, Any]:
        """The arrays of trifuse.triples, on the host."""
        arrays: dict[str, Any] = {"scf_energy": self.energy, "convergence": tolerance} | named(xp, amplitudes)
        for s, o, irreps, fock, b in zip(SPINS, self.o, self.irreps, self.fock, self.b):
            b, eps = steps.on_host(xp, b), np.diagonal(fock).copy()
            arrays |= {f"factors_oo_{s}": b[:, :o, :o], f"factors_ov_{s}": b[:, :o, o:], f"factors_vv_{s}": b[:, o:, o:],
                       f"eps_occ_{s}": eps[:o], f"eps_vir_{s}": eps[o:], f"fock_{s}": fock,
                       f"irrep_occ_{s}": irreps[:o], f"irrep_vir_{s}": irreps[o:]}
        return arrays


def symmetric(mol: Any, orbitals: np.ndarray) -> Any:
    """Orbitals with their irreps, as PySCF passes them."""
    return pyscf.lib.tag_array(orbitals, orbsym=pyscf.symm.label_orb_symm(mol, mol.irrep_id, mol.symm_orb, orbitals))


def ionised(mol: Any, integrals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orbitals of the molecule with one more electron, and their occupations without an electron of the highest orbital."""
    more = mol.copy()
    more.charge, more.spin = mol.charge - 1, 0
    more.build()
    mf = pyscf.scf.RHF(more).set(conv_tol=1e-9, _eri=integrals)
    mf.kernel()
    occupations = np.array(mf.mo_occ)
    occupations[np.argmax(np.where(occupations > 0, mf.mo_energy, -np.inf))] = 1
    return np.array(mf.mo_coeff), occupations


def semicanonical(orbitals: Any, irreps: Any, fock: Any, o: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Orbitals that diagonalise the occupied and the virtual block of the Fock matrix, in the order of their irreps; these irreps;
    and the Fock matrix of these orbitals."""
    columns, labels = [], []
    for space in (slice(None, o), slice(o, None)):
        for irrep in np.unique(irreps):
            chosen = orbitals[:, space][:, irreps[space] == irrep]
            columns.append(chosen @ np.linalg.eigh(chosen.T @ fock @ chosen)[1])
            labels += [irrep] * chosen.shape[1]
    rotated, found = np.hstack(columns), np.array(labels)
    return rotated, found, rotated.T @ fock @ rotated * (found[:, None] == found)


def named(xp: Any, amplitudes: tuple[Any, ...]) -> dict[str, np.ndarray]:
    return {name: steps.on_host(xp, x) for name, x in zip(("t1_a", "t1_b", "t2_aa", "t2_ab", "t2_bb"), amplitudes)}


def energies_of(xp: Any, radical: Radical, options: argparse.Namespace, times: steps.Times) -> dict[str, Any]:
    """CCSD and all corrections of a radical."""

    def report(line: str) -> None:
        if options.verbose:
            print(f"    {line}", flush=True)

    def solved(omega2: float, start: Any) -> tuple[tuple[Any, ...], float]:
        return df_uccsd.ccsd(xp, radical.fock, radical.b, radical.o, options.tolerance, 100, report, omega2, start)

    amplitudes, correlation = solved(0.0, None)
    times.done("CCSD")
    facts = {"correlation_energy": correlation, "fock_in_triples": True}
    triples = steps.Triples(xp, radical.inputs(xp, amplitudes, options.tolerance) | facts, options.memory, times)
    triples("CCSD(T)")
    triples("CR-CCSD(T)", method=["ct", "cr-t"])
    for omega2 in options.omega2:
        left = named(xp, solved(omega2, amplitudes)[0])
        times.done(f"regularised CCSD, ω² = {omega2:g}")
        triples(f"Reg-CCSD(T), ω² = {omega2:g}", method="reg-t", left=left, left_kind="reg-ccsd", left_omega2=omega2)
    return {"E(ROHF)": radical.energy, "E(CCSD)": radical.energy + correlation, "corrections": triples.corrections,
            "occupied": radical.o, "functions": radical.functions, "factors": len(radical.b[0]),
            "max |t1|": max(float(abs(x).max()) for x in amplitudes[:2]),
            "max |t2|": max(float(abs(x).max()) for x in amplitudes[2:]), "seconds": dict(times)}


def point(xp: Any, options: argparse.Namespace, coordinate: Any, before: Reference | None) -> tuple[dict[str, Any], Any]:
    """The energies at one coordinate, and the ROHF from which the next one starts, whose charge is on the ring at z > 0."""
    times = steps.Times()

    def reference(place: float, like: Reference | None) -> Reference:
        mol = pyscf.gto.M(atom=geometry(place), basis=options.basis, charge=1, spin=1, symmetry="C2v", verbose=0, max_memory=100000)
        return Reference(mol, like, times)

    delocalised = isinstance(coordinate, str)
    if before is None and not delocalised and coordinate != COORDINATES[0]:
        before = reference(COORDINATES[0], None)  # only there the ionised molecule has its charge on one ring
    found = reference(0.0 if delocalised else coordinate, None if delocalised else before)
    frozen = sum(found.mol.atom_charge(a) > 2 for a in range(found.mol.natm))  # the 1s orbitals of C and N
    energies = energies_of(xp, Radical(xp, found, frozen, options.threshold, times), options, times)
    return energies, before if delocalised else found


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = steps.parser(__doc__.splitlines()[0], HERE / "energies.json", "6-31g", (0.1,))
    parser.add_argument("--coordinates", nargs="*", default=COORDINATES, type=lambda text: text if "," in text else float(text),
                        help=f"of these: {COORDINATES}")
    return parser.parse_args(arguments)


def main() -> None:
    chosen = options()
    xp = steps.array_library(chosen.gpu)
    facts = {"molecule": "C13H14N2+", "basis": chosen.basis, "computed on": steps.devices(xp), "units": "hartree, seconds"}
    steps.compute(chosen.output, facts, "coordinate", chosen.coordinates, lambda *values: point(xp, chosen, *values))


if __name__ == "__main__":
    main()
