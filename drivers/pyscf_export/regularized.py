# mypy: ignore-errors
"""The regularised CCSD, whose amplitudes are the left-hand ones of Reg-CCSD(T)."""

import copy
import numbers

import numpy as np

from .arrays import check_integrals
from .calculation import check_supported
from .errors import ExportError


def solve_regularized_ccsd(mf_or_cc, omega2, frozen=None, eris=None):
    """Solve the CCSD equations of H + omega2 * sum_a a^+ a and return the CCSD object with these amplitudes.

    omega2 (hartree) is added to the virtual diagonal of the Fock matrix everywhere in the equations, unlike PySCF's
    `level_shift`, which changes the iteration and not its result. Thresholds, frozen orbitals and memory are those of
    the CCSD object. The Fock matrix and the orbital energies of the result are not changed.
    """
    import pyscf.cc
    from pyscf.cc import ccsd
    from pyscf.scf import hf

    if not isinstance(omega2, numbers.Real) or not np.isfinite(omega2) or omega2 < 0:
        raise ExportError(f"omega2 is {omega2!r}, but it must be a number of at least 0, in hartree.")
    if isinstance(mf_or_cc, ccsd.CCSDBase):
        if frozen is not None:
            raise ExportError("the CCSD object determines the frozen orbitals; set frozen there.")
        genuine = mf_or_cc
    elif not isinstance(mf_or_cc, hf.SCF):
        raise ExportError(f"{type(mf_or_cc).__name__} is not a PySCF object; give a CCSD object, or the mean field for it.")
    else:
        genuine = pyscf.cc.CCSD(mf_or_cc, frozen)
    check_supported(genuine)
    if eris is None:
        eris = genuine.ao2mo(genuine.mo_coeff)
    check_integrals(genuine, eris, False)

    reg = genuine.copy()
    reg.t1 = reg.t2 = reg.l1 = reg.l2 = reg.e_corr = None
    reg.converged = reg.converged_lambda = False
    # Do not overwrite the CCSD amplitudes of the object in a checkpoint or DIIS file.
    reg.chkfile = reg.diis_file = reg.callback = None
    reg.diis = bool(reg.diis)
    reg.kernel(eris=_with_shifted_virtuals(eris, omega2))
    reg.regularized_solution = (float(omega2), reg.t2)  # see omega2_of
    return reg


def omega2_of(cc):
    """The omega^2 with which the amplitudes of this object were solved; None for CCSD amplitudes.

    The object remembers both, so that a dump is not mislabelled after another run of its kernel.
    """
    omega2, t2 = getattr(cc, "regularized_solution", (None, None))
    return omega2 if t2 is not None and t2 is cc.t2 else None


def _with_shifted_virtuals(eris, omega2):
    def shifted(matrix, energies, nocc):
        virtual = np.arange(nocc, len(energies))
        matrix, energies = np.array(matrix), np.array(energies)
        matrix[virtual, virtual] += omega2
        energies[virtual] += omega2  # the solver takes the diagonal out of the Fock matrix with these
        return matrix, energies

    eris = copy.copy(eris)  # shares the integrals
    if isinstance(eris.fock, tuple):
        spins = [shifted(f, e, n) for f, e, n in zip(eris.fock, eris.mo_energy, eris.nocc)]
        eris.fock = eris.focka, eris.fockb = tuple(f for f, _ in spins)
        eris.mo_energy = tuple(e for _, e in spins)
    else:
        eris.fock, eris.mo_energy = shifted(eris.fock, eris.mo_energy, eris.nocc)
    return eris
