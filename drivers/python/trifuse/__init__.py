"""Trifuse: the triples correction of coupled-cluster theory, (T), from converged CCSD amplitudes, on GPUs and on cores.

    import trifuse.pyscf
    trifuse.pyscf.ccsd_t(mycc)                      # the (T) energy of a PySCF calculation

    result = trifuse.triples(t1=t1, t2=t2, ovvv=ovvv, ovoo=ovoo, ovov=ovov, oovv=oovv, fock=fock, eps_occ=eps_occ, ...)
    print(result, float(result))                    # of NumPy arrays

    trifuse.triples_many(molecules)                 # of many small molecules at the same time
    trifuse.run("water.h5")                         # of a Trifuse dump or NWChem's files
    trifuse.plan(occupied=40, virtual=360, gpus=4)  # a prediction of memory and time

The import loads no library and touches no GPU. Docstrings name pages by their paths in the sources; an installed package
has them in its folder share/trifuse.
"""

from __future__ import annotations

import importlib.metadata as _metadata

from ._contract import contract
from ._library import release_memory
from ._interface import run, triples
from ._many import triples_many
from ._program import Plan, plan
from .dump import Dump, write_dump
from .errors import CancelledError, Error, InputError, InputWarning, InternalError, ResourceError, UsageError
from .result import Check, Energy, Result

__all__ = [
    "CancelledError", "Check", "Dump", "Energy", "Error", "InputError", "InputWarning", "InternalError", "Plan",
    "ResourceError", "Result", "UsageError", "__version__", "contract", "plan", "release_memory", "run", "triples", "triples_many", "write_dump",
]


def _version() -> str:
    try:
        return _metadata.version("trifuse")
    except _metadata.PackageNotFoundError:
        return "unknown"  # the sources, which are not installed


__version__: str = _version()
