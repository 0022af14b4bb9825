"""The triples of PySCF's RCCSD and UCCSD objects, without files.

>>> import pyscf.cc, pyscf.gto, pyscf.scf
>>> import trifuse.pyscf
>>> mol = pyscf.gto.M(atom="O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", basis="6-31g", verbose=0)
>>> mycc = pyscf.cc.CCSD(pyscf.scf.RHF(mol).run()).run()
>>> round(trifuse.pyscf.ccsd_t(mycc), 6)
-0.000996
>>> with trifuse.pyscf.patch():          # mycc.ccsd_t() computes with Trifuse
...     energy = mycc.ccsd_t()
>>> round(energy, 6)
-0.000996

Properties: `Gradients(mycc).kernel()`, `dip_moment(mycc)`, `make_rdm1(mycc)`, `make_rdm2(mycc)`, `solve_lambda(mycc)`; see
drivers/docs/gradients.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._options import ObjectOptions, taking
from ._pyscf_patch import patch, unpatch
from ._pyscf_properties import Gradients, dip_moment, make_rdm1, make_rdm2, solve_lambda
from ._pyscf_triples import export as _export
from ._pyscf_triples import own_errors, triples

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Gradients", "ccsd_t", "dip_moment", "kernel", "make_rdm1", "make_rdm2", "patch", "solve_lambda",
           "solve_regularized_ccsd", "triples", "unpatch"]


@taking(ObjectOptions)
def ccsd_t(mycc: Any, t1: Any = None, t2: Any = None, eris: Any = None, **options: Unpack[ObjectOptions]) -> float:
    """E(T) in hartree, as mycc.ccsd_t(t1, t2, eris) gives it. The options are those of `triples`.

    With several values of omega2 the result is that of the first one.
    """
    return float(triples(mycc, t1, t2, eris, **options))


def kernel(mycc: Any, eris: Any, t1: Any = None, t2: Any = None, verbose: Any = 3) -> float:
    """E(T) in hartree, with the signature of pyscf.cc.ccsd_t.kernel and pyscf.cc.uccsd_t.kernel."""
    return float(triples(mycc, t1, t2, eris, verbose=verbose))


def solve_regularized_ccsd(mycc: Any, omega2: float, eris: Any = None) -> Any:
    """Solves the CCSD equations with omega2 (hartree) added to the virtual orbital energies.

    Returns a CCSD object, which `triples` takes as left amplitudes for two-sided Reg-CCSD(T).
    """
    with own_errors():
        return _export.solve_regularized_ccsd(mycc, omega2, eris=eris)
