# mypy: ignore-errors
"""A coupled-cluster object of PySCF: whether it can be exported, and what a dump says about it."""

import collections

import numpy as np

from .errors import ExportError, NotSupported

# f_ia of a converged SCF, hartree, is smaller.
COUPLED = 1e-4


def check_supported(cc):
    """Raises ExportError if the amplitudes of this object cannot be exported, converged or not."""
    from pyscf.cc import ccsd, uccsd

    kind = f"{type(cc).__module__}.{type(cc).__name__}"
    if not isinstance(cc, ccsd.CCSDBase):
        raise ExportError(f"{kind} is not a PySCF coupled-cluster object; give a converged pyscf.cc.CCSD(mf).")
    at_gamma = any(base.__module__ == "pyscf.pbc.cc.ccsd" for base in type(cc).__mro__)
    if not isinstance(cc, (ccsd.CCSD, uccsd.UCCSD)) or is_periodic(cc) and not at_gamma:
        hint = ", of periodic calculations those at the Gamma point" if is_periodic(cc) else ""
        raise NotSupported(f"{kind} is not supported; only RCCSD and UCCSD amplitudes can be exported{hint}.")
    if getattr(cc, "cc2", False):
        raise NotSupported(f"CC2 amplitudes are not supported, which {kind} has with cc2=True; (T) needs those of CCSD: set "
                           "cc2=False and call cc.kernel() again.")
    if cc.mo_coeff is None or cc.mo_occ is None:
        raise ExportError("the SCF has no orbitals yet; run it, and make the CCSD object from it afterwards.")
    for spin in per_spin(cc, cc.mo_coeff):
        if np.iscomplexobj(spin) and np.any(on_host(spin).imag):
            raise NotSupported("the orbitals are complex; only real orbitals can be exported.")
    _check_occupations(cc)


def with_real_orbitals(cc):
    """The object, or a copy with real orbitals if their type is complex and check_supported has found no imaginary part."""
    if not any(np.iscomplexobj(spin) for spin in per_spin(cc, cc.mo_coeff)):
        return cc
    real = cc.copy()
    real.mo_coeff = np.real(np.asarray(cc.mo_coeff))
    return real


def is_periodic(cc):
    """True for an object of pyscf.pbc. Those at the Gamma point have the arrays of a molecule."""
    return any(base.__module__.startswith("pyscf.pbc.") for base in type(cc).__mro__)


def per_spin(cc, values):
    """A quantity of an object as a tuple: of both spins, or of the only one of a restricted object."""
    from pyscf.cc import uccsd

    return tuple(values) if isinstance(cc, uccsd.UCCSD) else (values,)


def on_host(values):
    """A NumPy array, also of an array of a GPU."""
    return values.get() if hasattr(values, "__cuda_array_interface__") else np.asarray(values)


def active_sizes(cc):
    """Numbers of occupied and of virtual orbitals of each spin, without frozen ones."""
    try:
        return [(int(o), int(n) - int(o)) for o, n in zip(per_spin(cc, cc.nocc), per_spin(cc, cc.nmo))]
    except Exception as error:  # PySCF raises many kinds for an impossible list
        raise ExportError(f"frozen is {cc.frozen}, which does not fit the orbitals ({type(error).__name__} of PySCF); give "
                          "the number of frozen core orbitals, or a list of orbitals that exist, counted from 0.") from error


def _check_occupations(cc):
    """PySCF's coupled cluster takes the first active orbitals for the occupied ones. Their occupations must agree."""
    sizes = active_sizes(cc)
    masks = per_spin(cc, cc.get_frozen_mask())
    for spin, occupations, mask, (o, _) in zip(("alpha", "beta"), per_spin(cc, cc.mo_occ), masks, sizes):
        occupations = on_host(occupations)
        if np.any(abs(occupations - np.round(occupations)) > 1e-6):
            raise ExportError("the occupations mo_occ are fractional, but CCSD needs a determinant; run the SCF without smearing.")
        occupied = occupations[on_host(mask)] > 0
        if not occupied[:o].all() or occupied[o:].any():
            spin = f"{spin} " if len(sizes) > 1 else ""
            raise ExportError(
                f"mo_occ has an empty {spin}orbital before an occupied one, but PySCF's CCSD takes the first {o} active "
                "orbitals for the occupied ones, so these amplitudes are those of another determinant; put the occupied "
                "orbitals first in mo_coeff, mo_energy and mo_occ, count frozen lists in that order, and run the CCSD again.")


def check_converged(cc, allow_unconverged):
    """Raises ExportError if there are no amplitudes, or if CCSD has stopped before it converged and this is not allowed.

    Amplitudes that the caller has put into the object, or restored from a file, are accepted: their energy e_corr is not
    known. The checks of Trifuse judge them, as all amplitudes.
    """
    if cc.t1 is None or cc.t2 is None:
        raise ExportError("there are no CCSD amplitudes yet; call cc.kernel() first.")
    if not cc.converged and cc.e_corr is not None and not allow_unconverged:
        raise ExportError("the CCSD equations are not converged; raise max_cycle, or pass allow_unconverged=True.")


def convergence_of(cc):
    """The threshold of the norm of the change of the amplitudes with which the CCSD converged, or None."""
    return float(cc.conv_tol_normt) if cc.converged and cc.conv_tol_normt else None


def convergence_of_lambda(cc):
    """The same threshold of the Lambda amplitudes, or None."""
    return float(cc.conv_tol_normt) if cc.converged_lambda and cc.conv_tol_normt else None


def scf_warning(cc, orbitals):
    """A sentence if the SCF is not converged and its Fock matrix couples occupied and virtual orbitals, or None.

    Without this coupling the SCF was converged elsewhere, for example where its checkpoint file was written. With it, the
    energies are still those of these orbitals, for example of Kohn-Sham or Brueckner orbitals.
    """
    if getattr(cc._scf, "converged", True):
        return None
    coupling = max(abs(fock[:orbitals.nocc[c], orbitals.nocc[c]:]).max(initial=0.0) for c, fock in orbitals.fock.items())
    if coupling < COUPLED:
        return None
    return (f"The SCF is not converged: its Fock matrix couples occupied and virtual orbitals by up to {coupling:.1e} hartree; "
            "the triples are those of these orbitals, and f_ov enters them.")


def is_density_fitted(cc):
    """True if the integrals of an object are products of the factors of its `with_df`."""
    fitted = any(each.__module__.startswith("pyscf.cc.df") for each in type(cc).__mro__)  # scanners have classes of their own
    return fitted and getattr(cc, "with_df", None) is not None


def fock_only(cc):
    """PySCF's integral object with orbitals and Fock matrix, but without integrals: enough for a left-hand dump."""
    from pyscf.cc import ccsd, uccsd

    if is_periodic(cc):  # its ao2mo() leaves the Ewald term out of the Fock matrix
        return cc.ao2mo(cc.mo_coeff)
    module = uccsd if isinstance(cc, uccsd.UCCSD) else ccsd
    return module._ChemistsERIs()._common_init_(cc, cc.mo_coeff)


def provenance(cc):
    """Attributes that name the origin of the numbers."""
    import pyscf

    mol = cc.mol
    hill_order = sorted(collections.Counter(mol.elements).items(), key=lambda e: ({"C": 0, "H": 1}.get(e[0], 2), e[0]))
    return {"molecule": "".join(element + (str(n) if n > 1 else "") for element, n in hill_order),
            "basis": mol.basis if isinstance(mol.basis, str) else "user-defined",
            "program": f"PySCF {pyscf.__version__}"}


def auxiliary_basis(cc):
    """The attribute of a dump that names the auxiliary basis of a density-fitted object."""
    basis = cc.with_df.auxbasis
    return basis if isinstance(basis, str) else "default of PySCF" if basis is None else "user-defined"
