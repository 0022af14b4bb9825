#!/usr/bin/env python3
"""The gradient of CCSD(T), from a geometry to forces, with the time of each step. README.md has results.

    python3 gradient.py --gpu                              # aspirin in cc-pVDZ: writes results.json
    python3 gradient.py ../water/water.xyz -o x.json       # water, on cores
    python3 gradient.py ../water/water.xyz --pyscf-alone   # the same gradient by PySCF alone

The cores are frozen. Needs PySCF and the Python package of Trifuse; with --gpu also CuPy.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import resource
import sys
from typing import Any

import numpy as np
import pyscf.cc
import pyscf.gto
import pyscf.lib
import pyscf.scf
from pyscf.data.elements import chemcore

HERE = pathlib.Path(__file__).resolve().parent
FACTORS = HERE.parent / "density_fitting"
sys.path.append(str(FACTORS))

import cholesky
import df_ccsd
import steps
import trifuse.pyscf

# Of the factors, hartree, and the norm of a change of amplitudes: both are below the thresholds of PySCF's iterations.
THRESHOLD, TOLERANCE = 1e-9, 3e-7


class Clock(pyscf.lib.logger.Logger):
    """A logger of PySCF that gives the steps of Trifuse's gradients to `times`."""

    def __init__(self, times: steps.Times) -> None:
        super().__init__(sys.stdout, 0)
        self.times = times

    def timer(self, message: str, *started: float) -> tuple[float, float]:
        name, _, step = message.partition(": ")
        if name == "CCSD(T) properties":
            self.times.done(step)
        return super().timer(message, *started)


def ccsd_object(mol: Any, times: steps.Times) -> Any:
    """RHF with integrals in memory, and the object of a CCSD with frozen cores."""
    integrals = mol.intor("int2e", aosym="s4")
    times.done("integrals")
    mf = pyscf.scf.RHF(mol).set(conv_tol=1e-11, conv_tol_grad=1e-7, _eri=integrals)
    mf.kernel()
    times.done("RHF")
    return pyscf.cc.CCSD(mf, frozen=chemcore(mol)).set(conv_tol=1e-7, conv_tol_normt=1e-5)


class Factors:
    """CCSD and Lambda amplitudes from factors that reproduce the integrals, with NumPy or CuPy: PySCF starts here."""

    def __init__(self, xp: Any, mycc: Any, verbose: bool) -> None:
        mf, self.xp, self.verbose = mycc._scf, xp, verbose
        self.o, orbitals = mycc.nocc, mycc.mo_coeff[:, mycc.get_frozen_mask()]
        self.fock = orbitals.T @ mf.get_fock() @ orbitals
        self.b = cholesky.in_orbitals(xp, cholesky.factors(xp, mf._eri, THRESHOLD), orbitals)

    def report(self, line: str) -> None:
        if self.verbose:
            print(f"    {line}", flush=True)

    def ccsd(self) -> list[np.ndarray]:
        t1, t2, _ = df_ccsd.ccsd(self.xp, self.fock, self.b, self.o, TOLERANCE, 100, self.report)
        return self._on_host(t1, t2)

    def lambda_of(self, t1: np.ndarray, t2: np.ndarray, of_triples: tuple[Any, Any]) -> list[np.ndarray]:
        amplitudes = self.xp.asarray(t1), self.xp.asarray(t2)
        found = df_ccsd.solve_lambda(self.xp, self.fock, self.b, self.o, *amplitudes, TOLERANCE, 100, self.report, of_triples)
        return self._on_host(*found)

    def _on_host(self, *arrays: Any) -> list[np.ndarray]:
        found = [steps.on_host(self.xp, each) for each in arrays]
        steps.release(self.xp)
        return found


def with_trifuse(mycc: Any, xp: Any, options: argparse.Namespace, times: steps.Times) -> dict[str, Any]:
    """Energies and the gradient, with the triples and the starts of the iterations on a GPU or on cores."""
    of_triples = {"device": "cpu" if xp is np else "cuda", "memory": options.memory}
    factors = Factors(xp, mycc, options.verbose)
    times.done("factors")
    start = factors.ccsd()
    times.done("CCSD from factors")
    eris = mycc.ao2mo()
    times.done("transformed integrals")
    if options.unchecked:
        mycc.t1, mycc.t2 = start
        mycc.e_hf, mycc.e_corr, mycc.converged = mycc._scf.e_tot, mycc.energy(*start, eris), True
    else:
        mycc.kernel(*start, eris=eris)
    times.done("last cycles of CCSD")
    # Trifuse gives the derivatives of E(T) by t1 and t2, for Lambda of CCSD(T).
    bars = trifuse.pyscf.triples(mycc, eris=eris, derivatives="t", **of_triples).derivatives
    times.done("(T) and its derivatives by amplitudes")
    l1, l2 = factors.lambda_of(mycc.t1, mycc.t2, (bars["t1"], bars["t2"]))
    times.done("Lambda from factors")
    count = len(factors.b)
    del factors, bars
    gradients = trifuse.pyscf.Gradients(mycc, **of_triples)
    gradients.kernel(l1=l1, l2=l2, eris=eris, verbose=Clock(times))
    return {"factors": count, "E(CCSD)": mycc.e_tot, "E(CCSD(T))": gradients.e_tot, "gradient": gradients.de.tolist()}


def pyscf_alone(mycc: Any, times: steps.Times) -> dict[str, Any]:
    """The same by PySCF."""
    from pyscf.cc import ccsd_t_lambda
    from pyscf.grad import ccsd_t

    eris = mycc.ao2mo()
    times.done("transformed integrals")
    mycc.kernel(eris=eris)
    times.done("CCSD")
    triples = mycc.ccsd_t(eris=eris)
    times.done("(T)")
    converged, l1, l2 = ccsd_t_lambda.kernel(mycc, eris, tol=mycc.conv_tol_normt, verbose=0)
    if not converged:
        sys.exit("gradient.py: PySCF's Lambda equations did not converge.")
    times.done("Lambda")
    gradient = ccsd_t.Gradients(mycc).kernel(mycc.t1, mycc.t2, l1, l2, eris)
    times.done("gradient")
    return {"E(CCSD)": mycc.e_tot, "E(CCSD(T))": mycc.e_tot + triples, "gradient": gradient.tolist()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("molecule", nargs="?", type=pathlib.Path, default=FACTORS / "aspirin.xyz",
                        help="XYZ file (default: aspirin)")
    parser.add_argument("--basis", default="cc-pvdz")
    parser.add_argument("--gpu", action="store_true", help="compute on a GPU; needs CuPy")
    parser.add_argument("--memory", help='of the triples on the GPU, for example "20 GiB", if the GPU has other work, too')
    parser.add_argument("--unchecked", action="store_true", help="no cycle of PySCF checks the CCSD amplitudes from factors")
    parser.add_argument("--pyscf-alone", action="store_true", help="use no function of Trifuse")
    parser.add_argument("--verbose", action="store_true", help="print every cycle of CCSD and Lambda")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=HERE / "results.json")
    options = parser.parse_args()
    xp = steps.array_library(options.gpu)
    times = steps.Times()
    # The limit is for arrays that PySCF could keep in memory or in files; it has to hold the integrals.
    mol = pyscf.gto.M(atom=str(options.molecule), basis=options.basis, verbose=4 if options.verbose else 0,
                     max_memory=100000)
    mycc = ccsd_object(mol, times)
    found = pyscf_alone(mycc, times) if options.pyscf_alone else with_trifuse(mycc, xp, options, times)
    if not (mycc._scf.converged and mycc.converged):
        sys.exit("gradient.py: the RHF or the CCSD did not converge.")
    occupied, virtual = mycc.t1.shape
    seconds = dict(times) | {"all": round(sum(times.values()), 2)}
    print(f"  all: {seconds['all']:.1f} s, E(CCSD(T)) = {found['E(CCSD(T))']:.9f} Eh")
    facts = {"molecule": options.molecule.stem, "basis": options.basis, "functions": mol.nao, "frozen orbitals": mycc.frozen,
             "occupied": occupied, "virtual": virtual,
             "computed by": "PySCF" if options.pyscf_alone else "PySCF and Trifuse",
             "computed on": steps.devices(xp), "units": "hartree, bohr, seconds", "E(RHF)": mycc._scf.e_tot, **found,
             "memory of the process, GiB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 1),
             "seconds": seconds}
    options.output.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
