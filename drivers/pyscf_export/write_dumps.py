# mypy: ignore-errors
"""The dumps of a coupled-cluster object: amplitudes with all that the triples need, and left-hand amplitudes alone."""

import numpy as np

from .arrays import amplitude_arrays, factor_arrays, integral_arrays, integrals_of_energy
from .calculation import auxiliary_basis, check_converged, check_supported, fock_only, is_density_fitted, provenance
from .dump_file import may_take, new_dump
from .errors import ExportError
from .orbitals import fock_matrices, orbital_numbers, orbitals_of
from .regularized import omega2_of


def write_dump(cc, filename, comment="", allow_unconverged=False, eris=None, overwrite=False, factors=True):
    """Write amplitudes, orbital energies, Fock matrix and integrals of a converged RCCSD or UCCSD object.

    `eris`: integrals from `cc.ao2mo()`; without them the integrals are transformed again. The large (ia|bc) arrays are
    written one occupied orbital at a time, so that no more than v^3 numbers are held at once. A density-fitted object
    gets a dump of its factors (`factors=False`: of the integrals), which is much smaller, and (ia|bc) is never made.
    `overwrite`: True replaces any file or link of this name.
    """
    check_supported(cc)
    check_converged(cc, allow_unconverged)
    may_take(filename, _kind(cc), overwrite)  # before the integrals are transformed
    factors = factors and is_density_fitted(cc)
    if eris is None:
        eris = fock_only(cc) if factors else cc.ao2mo(cc.mo_coeff)
    orbitals = orbitals_of(cc, eris, cc.t1, cc.t2)
    integrals = factor_arrays(cc, orbitals, eris) if factors else None
    with new_dump(filename, _kind(cc), overwrite) as file:
        _write_header(file, cc, orbitals, comment, integrals)
        energy = cc.energy(cc.t1, cc.t2, integrals_of_energy(integrals, orbitals, eris) if factors else eris)
        file.attrs["correlation_energy"] = float(energy)
        file.attrs["scf_energy"] = float(cc._scf.e_tot if getattr(cc, "e_hf", None) is None else cc.e_hf)
        file.attrs["fock_in_triples"] = 1  # PySCF adds f_ov t2; without it the last digits differ if the SCF is not tight
        _write_ordered(file, amplitude_arrays(orbitals, cc.t1, cc.t2), orbitals)
        for name, matrix in fock_matrices(orbitals).items():
            file.write_array(name, matrix)
        if factors:
            for name, array in integrals.items():
                file.write_array(name, array)
        else:
            _write_ordered(file, integral_arrays(orbitals, eris), orbitals)


def write_left_dump(cc, filename, omega2=None, comment="", allow_unconverged=False, overwrite=False):
    """Write the amplitudes of `solve_regularized_ccsd`, with the original orbital energies, as a left-hand dump.

    `overwrite` as in `write_dump`.
    """
    check_supported(cc)
    solved = omega2_of(cc)
    if solved is None:
        raise ExportError("these amplitudes do not come from solve_regularized_ccsd; pass the object that it returns.")
    if omega2 is not None and omega2 != solved:
        raise ExportError(f"these amplitudes were solved with omega2 = {solved}, not {omega2}.")
    check_converged(cc, allow_unconverged)
    orbitals = orbitals_of(cc, fock_only(cc), cc.t1, cc.t2)
    with new_dump(filename, _kind(cc), overwrite) as file:
        _write_header(file, cc, orbitals, comment)
        # After the last iteration e_corr is the energy of these amplitudes. It does not contain the shift.
        file.attrs["correlation_energy"] = float(cc.e_corr)
        _write_ordered(file, amplitude_arrays(orbitals, cc.t1, cc.t2), orbitals)


def write_lambda_dump(cc, filename, comment="", allow_unconverged=False, overwrite=False):
    """Write the Lambda amplitudes as a left-hand dump. Solves the Lambda equations first if necessary.

    Lambda_2 = 1/4 sum lambda_ij^ab i^+ j^+ b a over spin orbitals. PySCF's l1 and l2 are these lambda in the order
    [i,a] and [i,j,a,b]: of UCCSD for the spin cases aa, ab, bb, and of RCCSD for i, a alpha and j, b beta (no
    spin-adapted combination), like t1 and t2. So they take the places of t1 and t2 in the left factor of the triples
    energy: for real orbitals <0|(L1+L2) V|ijk,abc> is the sum S + D of L1 and L2. `overwrite` as in `write_dump`.
    """
    check_supported(cc)
    if omega2_of(cc) is not None:
        raise ExportError("these amplitudes are regularised; Lambda amplitudes need the standard CCSD.")
    check_converged(cc, allow_unconverged)
    may_take(filename, "lambda", overwrite)
    if cc.l1 is None or cc.l2 is None:
        cc.solve_lambda()
    if not cc.converged_lambda and not allow_unconverged:
        raise ExportError("the Lambda equations are not converged; raise max_cycle and call solve_lambda again.")
    orbitals = orbitals_of(cc, fock_only(cc), cc.l1, cc.l2)
    with new_dump(filename, "lambda", overwrite) as file:
        _write_header(file, cc, orbitals, comment)
        file.set_string("amplitudes", "lambda")
        _write_ordered(file, amplitude_arrays(orbitals, cc.l1, cc.l2), orbitals)


def _kind(cc):
    """The attribute `amplitudes` of a dump of this object."""
    return "ccsd" if omega2_of(cc) is None else "reg-ccsd"


def _write_header(file, cc, orbitals, comment, factors=None):
    o, v = (max(len(orbitals.order[c]) for c in classes if c in orbitals.order) for classes in ("oO", "vV"))
    largest = max(o * v**3, o**3 * v, (o * v)**2, (o + v)**2)
    if factors is None:
        file.begin(orbitals.reference, _kind(cc), omega2_of(cc), largest, provenance(cc))
    else:
        largest = max([(o * v)**2, (o + v)**2, *(array.size for array in factors.values())])
        strings = {**provenance(cc), "factorization": "density-fitting", "auxiliary_basis": auxiliary_basis(cc)}
        file.begin(orbitals.reference, _kind(cc), omega2_of(cc), largest, strings, version=2)
    if not cc.converged:
        comment += " (CCSD not converged)"
    if comment:
        file.set_string("comment", comment)
    for name, numbers in orbital_numbers(orbitals).items():
        file.write_array(name, numbers)


def _write_ordered(file, arrays, orbitals):
    """Writes datasets in the order of the dump, one value of the first index at a time."""
    for array in arrays:
        rest = np.ix_(*(orbitals.order[c] for c in array.classes[1:]))
        rows = (np.asarray(array.rows(slice(i, i + 1)))[0][rest] for i in orbitals.order[array.classes[0]])
        file.write(array.name, tuple(len(orbitals.order[c]) for c in array.classes), "f8", rows)
