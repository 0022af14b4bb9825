"""The response of the orbitals to a perturbation, and nuclear gradients, from the density matrices of a correlated method.

Matrices are those of one spin: a closed shell has one, which counts twice. p q are all orbitals, occupied ones first.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import _pyscf_fitted as fitted
from ._blocks import diagonal_of_pairs
from ._pyscf_densities import is_restricted, module_of
from ._pyscf_derivatives import Derivatives
from .errors import UsageError

# The Z-vector equations are solved until the residual is this part of the right side; they fail above the second number.
_RESIDUAL, _LARGEST_RESIDUAL = 1e-12, 1e-8
_MOST_SOLUTIONS = 8
# A frozen and an active orbital are degenerate below the first number, hartree. Symmetry keeps them apart if the element of the
# Lagrangian between them is below the second one, hartree.
_CLOSE, _OF_SYMMETRY = 1e-6, 1e-6


class Response(NamedTuple):
    """The relaxed density of the correlation energy, and what else a gradient needs."""

    density: list[Any]
    """Of each spin [p,q]: the change of the density matrix of Hartree-Fock by the correlation, with the response of the orbitals."""
    lagrangian: list[Any]
    """Of each spin [p,q]: minus the two-electron density times the integrals, (pr|st) Gamma[q,r,s,t], times the overlap."""
    of_integrals: Any
    """Derivative of the correlation energy by the positions of atoms, [atom, xyz], from two-electron integrals; None if not asked for."""


class TwoElectronTerms(NamedTuple):
    """The parts of a `Response` that are sums over the two-electron density."""

    lagrangian: list[Any]
    of_integrals: Any


class _Spins:
    """Orbitals of an SCF object, for each spin."""

    def __init__(self, mycc: Any) -> None:
        restricted = is_restricted(mycc)
        self.mf, self.restricted, self.count = mycc._scf, restricted, 2 if restricted else 1
        coefficients, occupations, masks, energies = (
            (each,) if restricted else tuple(each) for each in (mycc.mo_coeff, mycc.mo_occ, mycc.get_frozen_mask(), self.mf.mo_energy))
        self.orbitals, self.energies = coefficients, energies
        self.occupied = [int(np.count_nonzero(occupation > 0)) for occupation in occupations]
        self.spaces = [[np.nonzero(part)[0] for part in (mask & (occ > 0), ~mask & (occ > 0), mask & (occ == 0), ~mask & (occ == 0))]
                       for mask, occ in zip(masks, occupations)]
        """Numbers of the active occupied, frozen occupied, active virtual and frozen virtual orbitals."""

    def potentials(self, densities: list[Any]) -> list[Any]:
        """The potentials of electrons with these densities in atomic orbitals."""
        if self.restricted:
            return [np.asarray(self.mf.get_veff(self.mf.mol, 2 * densities[0]))]
        return list(np.asarray(self.mf.get_veff(self.mf.mol, np.stack(densities))))

    def moved_energy(self, of_scf: Any, densities: list[Any], others: list[Any]) -> Any:
        """The derivative of half the energy of densities in the field of others by the positions of atoms, [atom, xyz].

        `of_scf`: the gradients of the SCF.
        """
        with_df = getattr(self.mf, "with_df", None)
        if with_df is not None:
            return fitted.forces(with_df, fitted.packed_bars_of_fields(with_df, densities, others, self.count))
        n, result = len(densities), np.zeros((self.mf.mol.natm, 3))
        # Derivatives by the place of the first orbital, [xyz,p,q], negative. The integrals are computed once.
        coulomb, exchange = of_scf.get_jk(self.mf.mol, np.concatenate([np.stack(densities), np.stack(others)]))
        for atom, (_, _, begin, end) in enumerate(self.mf.mol.offset_nr_by_atom()):
            rows = slice(begin, end)
            for first, those in ((0, others), (n, densities)):
                field = self.count * sum(coulomb[first:first + n])
                for spin, each in enumerate(those):
                    result[atom] += self.count * np.tensordot((field - exchange[first + spin])[:, rows], each[rows], 2)
        return result

    def in_atomic_orbitals(self, matrices: list[Any]) -> list[Any]:
        return [c @ matrix @ c.T for c, matrix in zip(self.orbitals, matrices)]

    def total(self, matrices: list[Any]) -> Any:
        """The sum over both spins."""
        return self.count * sum(matrices)


def step_timer(mycc: Any, verbose: Any) -> Callable[[str], None]:
    """A function that reports the end of a step of properties, with its time, as a timer of PySCF (verbose=5)."""
    logger = importlib.import_module("pyscf.lib.logger")
    log, last = logger.new_logger(mycc, verbose), logger.init_timer()

    def done(step: str) -> None:
        nonlocal last
        last = log.timer(f"CCSD(T) properties: {step}", *last)

    return done


def response(mycc: Any, d1: Any, terms: TwoElectronTerms) -> Response:
    """The relaxed density. `d1`: blocks of the density matrix."""
    spins = _Spins(mycc)
    lagrangian, of_integrals = terms
    density = [_unrelaxed(spins, n, doo, dvv, lagrangian[n]) for n, (doo, dvv) in enumerate(
        ((d1[0], d1[3]),) if spins.restricted else zip(d1[0], d1[3]))]
    potentials = spins.potentials(spins.in_atomic_orbitals(density))
    right = []
    for c, o, potential, each in zip(spins.orbitals, spins.occupied, potentials, lagrangian):
        right.append(c[:, o:].T @ potential @ c[:, :o] + each[:o, o:].T - each[o:, :o])
    for matrix, o, z in zip(density, spins.occupied, _z_vector(spins, right)):
        matrix[o:, :o], matrix[:o, o:] = z, z.T
    return Response(density, lagrangian, of_integrals)


def _unrelaxed(spins: _Spins, n: int, doo: Any, dvv: Any, lagrangian: Any) -> Any:
    """The density of one spin without the response between occupied and virtual orbitals: active ones, and frozen with active ones."""
    active_o, frozen_o, active_v, frozen_v = spins.spaces[n]
    matrix, e = np.zeros_like(lagrangian), spins.energies[n]
    for active, frozen, block in ((active_o, frozen_o, doo), (active_v, frozen_v, dvv)):
        matrix[np.ix_(active, active)] = (block + block.T) / 2
        mixed = _between(lagrangian[np.ix_(frozen, active)], e[frozen, None] - e[active])
        matrix[np.ix_(frozen, active)], matrix[np.ix_(active, frozen)] = mixed, mixed.T
    return matrix


def _between(lagrangian: Any, gaps: Any) -> Any:
    """The density between frozen and active orbitals, [frozen,active]. `gaps`: differences of their energies, hartree.

    Of degenerate orbitals it is zero if symmetry keeps them apart. Otherwise E(CCSD(T)) depends on how they are mixed.
    """
    close = abs(gaps) < _CLOSE
    if np.any(close & (abs(lagrangian) > _OF_SYMMETRY)):
        raise UsageError("A frozen orbital has the energy of one that is not frozen, so the energy depends on how an SCF happens to mix "
                         "them, and has no derivative; freeze both or none.")
    return np.where(close, 0.0, lagrangian) / np.where(close, 1.0, gaps)


def terms_of_factors(mycc: Any, d2: Any, derivatives: Derivatives, with_gradient: bool) -> TwoElectronTerms:
    """The terms with density fitting. `d2`: blocks of CCSD; `derivatives`: of (T), by the factors."""
    spins = _Spins(mycc)
    numbers = [np.concatenate([o, v]) for o, _, v, _ in spins.spaces]
    active = [c[:, each] for c, each in zip(spins.orbitals, numbers)]
    factors = [fitted.factors_of(mycc.with_df, c, each) for c, each in zip(spins.orbitals, active)]
    of_active = [each[:, n] for each, n in zip(factors, numbers)]
    bars = fitted.bars_of_correlation(d2, derivatives, of_active, [len(o) for o, _, _, _ in spins.spaces])
    lagrangian = []
    for each, bar, n in zip(factors, bars, numbers):
        matrix = np.zeros((each.shape[1], each.shape[1]))
        # (pr|st) Gamma[q,r,s,t] is B[L,p,r] times the derivative by B[L,q,r].
        matrix[:, n] = -np.tensordot(each, bar, ((0, 2), (0, 1))) / spins.count
        lagrangian.append(matrix)
    return TwoElectronTerms(lagrangian, fitted.forces(mycc.with_df, fitted.packed_bars(bars, active)) if with_gradient else None)


def terms_of_integrals(mycc: Any, d2: Any, file: Any, with_gradient: bool, done: Callable[[str], None]) -> TwoElectronTerms:
    """The terms of all blocks of the density (virtual orbitals as pairs). `file`: HDF5, takes more data.

    `done`: takes the name of a step at its end. Shells are taken in blocks that fit into the memory of the object.
    """
    spins = _Spins(mycc)
    of_ccsd, gradient = importlib.import_module("pyscf.grad.ccsd"), module_of(mycc, "grad.%sccsd")
    current_memory = importlib.import_module("pyscf.lib").current_memory
    active = [c[:, np.concatenate([o, v])] for c, (o, _, v, _) in zip(spins.orbitals, spins.spaces)]
    gradient._rdm2_mo2ao(mycc, d2, active[0] if spins.restricted else tuple(active), file)
    done("two-electron density in atomic orbitals")
    names = ("dm2",) if spins.restricted else ("dm2aa+ab", "dm2bb+ab")
    mol, nao = mycc.mol, spins.orbitals[0].shape[0]
    diagonal = diagonal_of_pairs(nao)
    sums = [np.zeros((nao, nao)) for _ in names]
    of_integrals = np.zeros((mol.natm, 3))
    most = max(1, int((mycc.max_memory - current_memory()[0]) * 0.9e6 / 8 / (3.5 * nao**3)))
    for atom, (first, last, begin, _) in enumerate(mol.offset_nr_by_atom()):
        for shell, end_shell, functions in of_ccsd._shell_prange(mol, first, last, most):
            end = begin + functions
            shells = (shell, end_shell, 0, mol.nbas, 0, mol.nbas, 0, mol.nbas)
            integrals = mol.intor("int2e", aosym="s2kl", shls_slice=shells).reshape(functions, nao, -1)
            whole = 0
            for each, name in zip(sums, names):
                gamma = of_ccsd._load_block_tril(file[name], begin, end, nao)
                gamma[:, :, diagonal] *= 0.5
                # (pr|st) Gamma[q,r,s,t] is summed over r here, which the blocks cut.
                for x, y in zip(integrals, gamma):  # products without transposed copies
                    each += x @ y.T
                whole = whole + gamma
            integrals = None
            if with_gradient:
                derivative = mol.intor("int2e_ip1", comp=3, aosym="s2kl", shls_slice=shells).reshape(3, -1)
                of_integrals[atom] -= 2 * (derivative @ np.asarray(whole).reshape(-1))
            begin = end
    overlap = spins.mf.get_ovlp()
    lagrangian = [-(c.T @ each @ overlap @ c) / spins.count for c, each in zip(spins.orbitals, sums)]
    return TwoElectronTerms(lagrangian, of_integrals if with_gradient else None)


def _z_vector(spins: _Spins, right: list[Any]) -> list[Any]:
    """Solves the Z-vector equations (coupled-perturbed Hartree-Fock) for the density between virtual and occupied orbitals [a,i].

    PySCF's solver stops where its vectors become linearly dependent, at a relative residual near 1e-6. It is called again for
    the residual until this is small.
    """
    krylov = importlib.import_module("pyscf.lib").krylov
    gaps = np.concatenate([(e[o:, None] - e[:o]).reshape(-1) for e, o in zip(spins.energies, spins.occupied)])
    if gaps.size == 0:
        return right

    def split(vector: Any) -> list[Any]:
        ends = np.cumsum([each.size for each in right])[:-1]
        return [part.reshape(each.shape) for part, each in zip(np.split(np.ravel(vector), ends), right)]

    def coupling(vector: Any) -> Any:
        densities = []
        for c, o, z in zip(spins.orbitals, spins.occupied, split(vector)):
            half = c[:, o:] @ z @ c[:, :o].T
            densities.append(half + half.T)
        parts = [(c[:, o:].T @ v @ c[:, :o]).reshape(-1) for c, o, v in zip(spins.orbitals, spins.occupied, spins.potentials(densities))]
        return (np.concatenate(parts) / gaps).reshape(np.shape(vector))

    failure = None
    residual = start = -np.concatenate([each.reshape(-1) for each in right]) / gaps
    solution, size = np.zeros_like(start), float(np.linalg.norm(start))
    wanted, before = _RESIDUAL * size, np.inf
    for _ in range(_MOST_SOLUTIONS):
        if size <= wanted or size > before / 2:
            break
        try:
            solution = solution + size * np.ravel(krylov(coupling, residual / size, tol=1e-9, max_cycle=100))
        except RuntimeError as error:
            failure = error
            break
        residual = start - solution - coupling(solution)
        before, size = size, float(np.linalg.norm(residual))
    beginning = float(np.linalg.norm(start))
    if failure is not None or not size <= _LARGEST_RESIDUAL * beginning or not np.isfinite(size):
        raise UsageError(f"The Z-vector equations do not converge (residual {size:.0e}, at the beginning {beginning:.0e}); converge the "
                         "SCF more tightly, or test whether it is stable.") from failure
    return split(solution)


def relaxed_density(mycc: Any, found: Response) -> Any:
    """The relaxed density in atomic orbitals: of a closed shell the sum of both spins, else [2,p,q]."""
    spins = _Spins(mycc)
    changes = [spins.count * each for each in spins.in_atomic_orbitals(found.density)]
    hartree_fock = np.asarray(mycc._scf.make_rdm1(mycc.mo_coeff, mycc.mo_occ))
    return hartree_fock + (changes[0] if spins.restricted else np.stack(changes))


def gradient(mycc: Any, found: Response) -> Any:
    """Derivative of the electronic energy, Hartree-Fock and correlation, by the positions of all atoms: [atom, xyz], hartree/bohr."""
    spins, mol = _Spins(mycc), mycc.mol
    of_scf = mycc._scf.nuc_grad_method()
    hartree_fock = [c[:, :o] @ c[:, :o].T for c, o in zip(spins.orbitals, spins.occupied)]
    change = spins.in_atomic_orbitals(found.density)
    weighted = spins.total(spins.in_atomic_orbitals(_energy_weighted(spins, found)))
    potentials = spins.potentials(change)
    weighted += spins.total([p @ v @ p for p, v in zip(hartree_fock, potentials)])
    charge = spins.total([h + d for h, d in zip(hartree_fock, change)])
    of_overlap, of_core = of_scf.get_ovlp(mol), of_scf.hcore_generator(mol)
    # The two-electron energy of Hartree-Fock, and its change with the density.
    result = found.of_integrals + spins.moved_energy(of_scf, hartree_fock, [h + 2 * d for h, d in zip(hartree_fock, change)])
    for atom, (_, _, begin, end) in enumerate(mol.offset_nr_by_atom()):
        rows = slice(begin, end)
        result[atom] += np.tensordot(of_core(atom), charge, 2)
        result[atom] -= np.tensordot(of_overlap[:, rows], weighted[rows] + weighted[:, rows].T, 2)
    return result


def _energy_weighted(spins: _Spins, found: Response) -> list[Any]:
    """The matrix of each spin [p,q] that the derivative of the overlap multiplies, without the response of the Fock matrix."""
    matrices = []
    for e, o, density, lagrangian in zip(spins.energies, spins.occupied, found.density, found.lagrangian):
        weights = (e[:, None] + e) / 2
        weights[o:, :o], weights[:o, o:] = e[:o], e[:o, None]
        matrix = weights * density - lagrangian
        matrix[o:, :o] += lagrangian[o:, :o] - lagrangian[:o, o:].T
        matrix[:o, :o] += np.diag(e[:o])
        matrices.append(matrix)
    return matrices
