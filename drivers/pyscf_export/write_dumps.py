# mypy: ignore-errors
"""The dumps of a coupled-cluster object: amplitudes with all that the triples need, and left-hand amplitudes alone."""

import warnings

import numpy as np

from .amplitudes import checked_amplitudes, solved_lambda
from .arrays import amplitude_arrays, check_integrals, factor_arrays, integral_arrays, integrals_of_energy
from .calculation import (auxiliary_basis, check_converged, check_supported, convergence_of, convergence_of_lambda, fock_only,
                          is_density_fitted, provenance, scf_warning, with_real_orbitals)
from .dump_file import check_target, new_dump
from .errors import ExportError
from .moments import check_moment_integrals, moment_arrays, product_arrays
from .orbitals import fock_matrices, orbital_numbers, orbitals_of, rohf_warning
from .regularized import omega2_of


def write_dump(cc, filename, comment="", allow_unconverged=False, eris=None, overwrite=False, factors=True,
               moments=False):
    """Write amplitudes, orbital energies, Fock matrix and integrals of a converged RCCSD or UCCSD object.

    `eris`: integrals from `cc.ao2mo()`; without them the integrals are transformed again. The large (ia|bc) arrays are
    written one occupied orbital at a time, so that no more than v^3 numbers are held at once. A density-fitted object
    gets a dump of its factors (`factors=False`: of the integrals), which is much smaller, and (ia|bc) is never made.
    `overwrite`: True replaces any file or link of this name. `moments`: also the arrays for dressed moments of the format page,
    for which the integrals of four virtual orbitals are read in blocks. Factors need no further arrays.
    """
    check_supported(cc)
    cc = with_real_orbitals(cc)
    check_converged(cc, allow_unconverged)
    check_target(filename, _kind(cc), overwrite)  # before the integrals are transformed
    t1, t2 = checked_amplitudes(cc, cc.t1, cc.t2)
    factors = factors and is_density_fitted(cc)
    if eris is None:
        eris = fock_only(cc) if factors else cc.ao2mo(cc.mo_coeff)
    check_integrals(cc, eris, factors)
    orbitals = orbitals_of(cc, eris, t1, t2)
    moments = moments and not factors
    if moments:
        check_moment_integrals(orbitals, eris)
    if rohf := rohf_warning(cc, orbitals):
        warnings.warn(rohf, stacklevel=2)
    integrals = factor_arrays(cc, orbitals, eris) if factors else None
    with new_dump(filename, _kind(cc), overwrite) as file:
        _write_header(file, cc, orbitals, comment, integrals)
        energy = cc.energy(t1, t2, integrals_of_energy(integrals, orbitals, eris) if factors else eris)
        file.attrs["correlation_energy"] = float(np.real(energy))
        file.attrs["scf_energy"] = float(np.real(cc._scf.e_tot if getattr(cc, "e_hf", None) is None else cc.e_hf))
        _write_convergence(file, convergence_of(cc))
        file.attrs["fock_in_triples"] = 1  # PySCF adds f_ov t2; without it the last digits differ if the SCF is not tight
        _write_ordered(file, amplitude_arrays(orbitals, t1, t2), orbitals)
        for name, matrix in fock_matrices(orbitals).items():
            file.write_array(name, matrix)
        if factors:
            for name, array in integrals.items():
                file.write_array(name, array)
        else:
            _write_ordered(file, integral_arrays(orbitals, eris), orbitals)
        if moments:
            arrays, diagonals = moment_arrays(cc, orbitals, eris, t1, t2)
            _write_ordered(file, arrays, orbitals)
            for name, matrices in diagonals.items():
                file.write_array(name, matrices)


def write_left_dump(cc, filename, omega2=None, comment="", allow_unconverged=False, overwrite=False, eris=None,
                    moments=False):
    """Write the amplitudes of `solve_regularized_ccsd`, with the original orbital energies, as a left-hand dump.

    `overwrite` as in `write_dump`. `moments`: also kvvv, which Reg-GF(T) needs, from `eris` of `cc.ao2mo()`; without them the
    integrals are transformed again.
    """
    check_supported(cc)
    solved = omega2_of(cc)
    if solved is None:
        raise ExportError("these amplitudes do not come from solve_regularized_ccsd; pass the object that it returns.")
    if omega2 is not None and omega2 != solved:
        raise ExportError(f"these amplitudes were solved with omega2 = {solved}, not {omega2}.")
    check_converged(cc, allow_unconverged)
    t1, t2 = checked_amplitudes(cc, cc.t1, cc.t2)
    if moments and eris is None:
        eris = cc.ao2mo(cc.mo_coeff)
    orbitals = orbitals_of(cc, eris if moments else fock_only(cc), t1, t2)
    if moments:
        check_moment_integrals(orbitals, eris)
    with new_dump(filename, _kind(cc), overwrite) as file:
        _write_header(file, cc, orbitals, comment)
        # After the last iteration e_corr is the energy of these amplitudes. It does not contain the shift.
        file.attrs["correlation_energy"] = float(np.real(cc.e_corr))
        _write_convergence(file, convergence_of(cc))
        _write_ordered(file, amplitude_arrays(orbitals, t1, t2), orbitals)
        if moments:
            _write_ordered(file, product_arrays(orbitals, eris, t1)[0], orbitals)


def write_lambda_dump(cc, filename, comment="", allow_unconverged=False, overwrite=False, eris=None):
    """Write the Lambda amplitudes as a left-hand dump. Solves the Lambda equations first if necessary.

    Lambda amplitudes that are older than t1 and t2 are refused: one iteration of the Lambda equations would change them.
    `eris`: integrals from `cc.ao2mo()`; without them the integrals are transformed again.

    Lambda_2 = 1/4 sum lambda_ij^ab i^+ j^+ b a over spin orbitals. PySCF's l1 and l2 are these lambda in the order
    [i,a] and [i,j,a,b]: of UCCSD for the spin cases aa, ab, bb, and of RCCSD for i, a alpha and j, b beta (no
    spin-adapted combination), like t1 and t2. So they take the places of t1 and t2 in the left factor of the triples
    energy: for real orbitals <0|(L1+L2) V|ijk,abc> is the sum S + D of L1 and L2. `overwrite` as in `write_dump`.
    """
    check_supported(cc)
    if omega2_of(cc) is not None:
        raise ExportError("these amplitudes are regularised; Lambda amplitudes need the standard CCSD.")
    check_converged(cc, allow_unconverged)
    check_target(filename, "lambda", overwrite)
    t1, t2 = checked_amplitudes(cc, cc.t1, cc.t2)
    l1, l2, iteration = solved_lambda(cc, t1, t2, eris, allow_unconverged)
    if iteration is not None and iteration.warning:
        warnings.warn(iteration.warning, stacklevel=2)
    orbitals = orbitals_of(cc, fock_only(cc), l1, l2)
    with new_dump(filename, "lambda", overwrite) as file:
        _write_header(file, cc, orbitals, comment)
        file.set_string("amplitudes", "lambda")
        _write_convergence(file, convergence_of_lambda(cc))
        _write_ordered(file, amplitude_arrays(orbitals, l1, l2), orbitals)


def _kind(cc):
    """The attribute `amplitudes` of a dump of this object."""
    return "ccsd" if omega2_of(cc) is None else "reg-ccsd"


def _write_header(file, cc, orbitals, comment, factors=None):
    o, v = (max(len(orbitals.order[c]) for c in classes if c in orbitals.order) for classes in ("oO", "vV"))
    largest = max(o * v**3, o**3 * v, o**4, (o * v)**2, (o + v)**2)
    if factors is None:
        file.begin(orbitals.reference, _kind(cc), omega2_of(cc), largest, provenance(cc))
    else:
        largest = max([(o * v)**2, (o + v)**2, *(array.size for array in factors.values())])
        strings = {**provenance(cc), "factorization": "density-fitting", "auxiliary_basis": auxiliary_basis(cc)}
        file.begin(orbitals.reference, _kind(cc), omega2_of(cc), largest, strings, version=2)
    if not cc.converged:
        comment += " (CCSD not converged)" if cc.e_corr is not None else " (amplitudes set or restored)"
    if scf := scf_warning(cc, orbitals):
        comment += f" ({scf.split(';')[0]})"
        warnings.warn(scf, stacklevel=3)
    if comment:
        file.set_string("comment", comment)
    for name, numbers in orbital_numbers(orbitals).items():
        file.write_array(name, numbers)


def _write_convergence(file, threshold):
    if threshold is not None:
        file.attrs["convergence"] = threshold


def _write_ordered(file, arrays, orbitals):
    """Writes datasets in the order of the dump, one value of the first index at a time."""
    for array in arrays:
        rest = np.ix_(*(orbitals.order[c] for c in array.classes[1:]))
        rows = (_real(array, np.asarray(array.rows(slice(i, i + 1)))[0])[rest] for i in orbitals.order[array.classes[0]])
        file.write(array.name, tuple(len(orbitals.order[c]) for c in array.classes), "f8", rows)


def _real(array, row):
    if np.iscomplexobj(row) and np.any(row.imag):
        raise ExportError(f"{array.name} is complex; only real orbitals can be exported.")
    return row.real
