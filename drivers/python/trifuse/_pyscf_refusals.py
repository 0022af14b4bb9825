"""Objects and options without properties of CCSD(T) here: each function raises UsageError, with the reason."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ._pyscf_densities import is_restricted
from ._pyscf_fitted import refuse_other_fitting
from ._pyscf_triples import export
from .errors import NotAvailable, UsageError

# The Fock matrix of an SCF, hartree, differs less from that of the integrals of the molecule: screening of small integrals.
_OTHER_FOCK = 1e-6


def refuse_other_energies(options: dict[str, Any]) -> None:
    """Raises UsageError for options of an energy without properties."""
    method, omega2 = options.get("method"), options.get("omega2")
    if method not in (None, "t", ["t"]):
        raise UsageError(f"method is {method!r}, but only the derivatives of (T) are available; leave it out.")
    if omega2 is not None and np.size(omega2) != 1:
        raise UsageError("Properties belong to one energy; give one value of omega2.")
    if options.get("rohf") not in (None, "given", "nwchem"):
        raise UsageError("Properties are those of the orbitals of the object; leave out rohf.")


def expect_coupled_cluster(mycc: Any) -> None:
    """Raises UsageError for an object of another kind, whose members would otherwise be missed one by one."""
    if not hasattr(mycc, "t1"):
        raise UsageError(f"{type(mycc).__module__}.{type(mycc).__name__} is not a PySCF coupled-cluster object; give a converged "
                         "pyscf.cc.CCSD(mf).")


def refuse_unsupported(mycc: Any) -> None:
    """Raises NotAvailable for objects without Lambda and densities here."""
    if type(mycc).__module__.startswith("gpu4pyscf"):
        raise NotAvailable("Properties of objects of gpu4pyscf are not available; use mycc.to_cpu() and device=\"cuda\".")
    if export.is_periodic(mycc):
        raise NotAvailable("Properties of periodic calculations are not available; trifuse.pyscf.triples gives their energy.")
    if getattr(mycc._scf, "with_df", None) is not None and not export.is_density_fitted(mycc):
        raise NotAvailable("The SCF has density fitting, and this CCSD has not; make it by pyscf.cc.CCSD(mf), or the SCF without density_fit().")
    if export.omega2_of(mycc) is not None:
        raise NotAvailable("The amplitudes of this object are regularised, and Lambda equations for them are not available; use the "
                           "CCSD object and omega2.")


def refuse_other_orbitals(mycc: Any) -> None:
    """Raises NotAvailable if the orbitals do not respond as those of Hartree-Fock do."""
    mf, name = mycc._scf, type(mycc._scf).__name__
    if mf.mo_energy is None:
        raise NotAvailable("The SCF has no orbital energies, so the response of its orbitals is not known; call mf.kernel(), or use a "
                           "property at fixed orbitals (relaxed=False).")
    if getattr(mf, "with_df", None) is not None and mf.only_dfj:
        raise NotAvailable("Relaxed properties with density fitting of the Coulomb energy alone are not available; leave out only_dfj.")
    for with_df in (getattr(mf, "with_df", None), mycc.with_df if export.is_density_fitted(mycc) else None):
        if with_df is not None:
            refuse_other_fitting(with_df)
    alpha_is_beta = not is_restricted(mycc) and np.array_equal(*mycc.mo_coeff) and len({int(n) for n in mycc.nocc}) > 1
    if alpha_is_beta or "ROHF" in name:
        raise NotAvailable("The response of ROHF orbitals is not available; use UHF, or a property at fixed orbitals (relaxed=False).")
    same = np.shape(mycc.mo_coeff) == np.shape(mf.mo_coeff) and np.allclose(mycc.mo_coeff, mf.mo_coeff, rtol=0, atol=1e-10)
    if not same:
        raise NotAvailable("The orbitals of the CCSD object are not those of its SCF (natural or other orbitals), whose response is not "
                           "available; use those of the SCF, or a property at fixed orbitals (relaxed=False).")
    fock = np.asarray(mf.get_fock())
    refuse_other_hamiltonian(mycc, fock)
    parts = ((mf.mo_coeff, mf.mo_occ, fock),) if fock.ndim == 2 else zip(mf.mo_coeff, mf.mo_occ, fock)
    coupling = max(abs(c[:, occ > 0].T @ f @ c[:, occ == 0]).max(initial=0.0) for c, occ, f in parts)
    if coupling > export.COUPLED:
        raise NotAvailable(f"The orbitals are not those of a converged Hartree-Fock: the Fock matrix couples occupied and virtual orbitals "
                           f"by {coupling:.1e} hartree; converge the SCF and run the CCSD again, or use a property at fixed orbitals "
                           "(relaxed=False).")


def refuse_other_hamiltonian(mycc: Any, fock: Any) -> None:
    """Raises NotAvailable unless the mean field of the SCF is that of the integrals of its molecule, whose response and derivatives
    relaxed properties take. `fock`: the Fock matrix of the SCF in atomic orbitals."""
    mf = mycc._scf
    if getattr(mf, "with_solvent", None) is not None or getattr(mycc, "with_solvent", None) is not None:
        raise NotAvailable("Relaxed properties with an implicit solvent are not available; use a property at fixed orbitals "
                           "(relaxed=False), or leave out the solvent.")
    if np.shape(fock)[-1] != mf.mol.nao:
        raise NotAvailable("The SCF is one of a model without the atomic orbitals of its molecule, so relaxed properties are not "
                           "available; use a property at fixed orbitals (relaxed=False).")
    density = np.asarray(mf.make_rdm1())
    whole = density.ndim == 2
    if getattr(mf, "with_df", None) is not None:
        coulomb, exchange = mf.with_df.get_jk(density, hermi=1)
    else:
        hf = importlib.import_module("pyscf.scf.hf")
        coulomb, exchange = hf.get_jk(mf.mol, density, hermi=1, vhfopt=hf.SCF(mf.mol).init_direct_scf(mf.mol))
    mean_field = coulomb - exchange / 2 if whole else coulomb[0] + coulomb[1] - exchange
    error = abs(fock - (mf.get_hcore() + mean_field)).max(initial=0.0)
    if error > _OTHER_FOCK:
        raise NotAvailable(f"The mean field of the SCF is not that of the integrals of its molecule (Fock matrices differ by up to "
                           f"{error:.1e} hartree): replaced integrals (mf._eri) or another potential have no relaxed properties here; use "
                           "a property at fixed orbitals (relaxed=False).")


def refuse_moved_core(mycc: Any) -> None:
    """Raises NotAvailable for a one-electron Hamiltonian of the caller, whose derivatives by the positions of atoms are not known."""
    mf = mycc._scf
    of_pyscf = str(getattr(mf.get_hcore, "__module__", "")).startswith("pyscf.")
    if "get_hcore" in vars(mf) or not of_pyscf:
        raise NotAvailable("get_hcore of the SCF was replaced, for example by a field, and the derivatives of the new one by the positions "
                           "of atoms are not known, so there is no gradient; dipoles and densities are available.")


def refuse_other_guess(l1: Any, l2: Any, t1: Any, t2: Any) -> None:
    """Raises UsageError for Lambda amplitudes, where an iteration starts, of other shapes than the amplitudes."""
    for name, given, like in (("l1", l1, t1), ("l2", l2, t2)):
        shapes = [[np.shape(each) for each in (x if isinstance(x, (tuple, list)) else (x,))] for x in (given, like)]
        if given is not None and shapes[0] != shapes[1]:
            raise UsageError(f"{name} must have the shape of {name.replace('l', 't')}; leave it out for PySCF's start.")
