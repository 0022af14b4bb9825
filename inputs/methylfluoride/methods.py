#!/usr/bin/env python3
"""The C-F stretch of methyl fluoride with all methods of Trifuse; plot.py compares them with the CCSDT of ccsdt.json.

    python3 methods.py                    # PySCF does RHF and CCSD, trifuse.pyscf the triples: writes methods.json
    python3 methods.py 1.0 2.5 -o x.json  # these distances only, in units of that of equilibrium
"""

import argparse
import json
import os
import sys

import pyscf.cc
import trifuse.pyscf

from ccsdt import ALPHAS
from scan import EQUILIBRIUM, FROZEN, HERE, OMEGA2, followed_rhf

# Options of the runs. Methods with the same two sides are computed together.
RUNS = ({"method": "t"}, {"method": "t", "left": "lambda"}, {"method": ["ct", "cr-t"]}, {"method": ["2t", "cr-cc23"]})
REGULARISED = ("reg-t", "ct", "reg-gf-t")  # methods with regularised amplitudes on the left


def point(alpha, mf):
    """The energy of CCSD and the corrections of all methods at one distance, hartree."""
    cc = pyscf.cc.CCSD(mf, frozen=FROZEN).set(conv_tol=1e-11, conv_tol_normt=1e-9, max_cycle=600, verbose=0)
    eris = cc.ao2mo()
    cc.kernel(eris=eris)
    cc.solve_lambda(eris=eris)
    results = [trifuse.pyscf.triples(cc, eris=eris, **run) for run in RUNS]
    for omega2 in OMEGA2:
        left = trifuse.pyscf.solve_regularized_ccsd(cc, omega2, eris=eris)
        results += [trifuse.pyscf.triples(cc, eris=eris, method=method, left=left) for method in REGULARISED]
    corrections = {e.method + (f", ω² = {e.omega2:g}" if e.omega2 else ""): e.e_t
                   for result in results for e in result.energies}
    print(f"{alpha:6.3f}{cc.e_tot:18.9f}" + "".join(f"{1e3 * e_t:10.3f}" for e_t in corrections.values()), flush=True)
    return {"alpha": alpha, "R(CF)": alpha * EQUILIBRIUM, "E(CCSD)": cc.e_tot, "corrections": corrections}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("alphas", type=float, nargs="*", default=ALPHAS, help="distances (default: those of ccsdt.py)")
    parser.add_argument("-o", "--output", default=os.path.join(HERE, "methods.json"))
    options = parser.parse_args()
    report = {"molecule": "CH3F", "basis": "cc-pVDZ", "frozen orbitals": FROZEN, "units": "hartree, angstrom",
              "programs": f"PySCF {pyscf.__version__} (RHF, CCSD), Trifuse (triples)",
              "points": [point(alpha, mf) for alpha, mf in followed_rhf(options.alphas)]}
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1, ensure_ascii=False)
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
