# mypy: ignore-errors
"""A coupled-cluster object of PySCF: whether it can be exported, and what a dump says about it."""

import collections

import numpy as np

from .errors import ExportError


def check_supported(cc):
    """Raises ExportError if the amplitudes of this object cannot be exported, converged or not."""
    from pyscf.cc import ccsd, uccsd

    kind = f"{type(cc).__module__}.{type(cc).__name__}"
    if not isinstance(cc, ccsd.CCSDBase):
        raise ExportError(f"{kind} is not a PySCF coupled-cluster object; give a converged pyscf.cc.CCSD(mf).")
    if any(base.__module__.startswith("pyscf.pbc.") for base in type(cc).__mro__):
        raise ExportError(f"{kind} is a periodic calculation; only molecules can be exported.")
    if not isinstance(cc, (ccsd.CCSD, uccsd.UCCSD)) or getattr(cc, "cc2", False):
        raise ExportError(f"{kind} is not supported; only RCCSD and UCCSD amplitudes can be exported.")
    coefficients = cc.mo_coeff if isinstance(cc, uccsd.UCCSD) else (cc.mo_coeff,)
    if any(np.iscomplexobj(c) for c in coefficients):
        raise ExportError("the orbitals are complex; only real orbitals can be exported.")


def check_converged(cc, allow_unconverged):
    """Raises ExportError if there are no amplitudes, or if SCF or CCSD are not converged and this is not allowed."""
    if cc.t1 is None or cc.t2 is None:
        raise ExportError("there are no CCSD amplitudes yet; call cc.kernel() first.")
    if not cc._scf.converged and not allow_unconverged:
        raise ExportError("the SCF is not converged; converge it, or pass allow_unconverged=True.")
    if not cc.converged and not allow_unconverged:
        raise ExportError("the CCSD equations are not converged; raise max_cycle, or pass allow_unconverged=True.")


def is_density_fitted(cc):
    """True if the integrals of an object are products of the factors of its `with_df`."""
    return type(cc).__module__.startswith("pyscf.cc.df") and getattr(cc, "with_df", None) is not None


def fock_only(cc):
    """PySCF's integral object with orbitals and Fock matrix, but without integrals: enough for a left-hand dump."""
    from pyscf.cc import ccsd, uccsd

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
