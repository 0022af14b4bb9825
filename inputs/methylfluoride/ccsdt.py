#!/usr/bin/env python3
"""Full CCSDT along the same stretch with PySCF, the reference of plot.py; about an hour on one core.

    python3 ccsdt.py        # writes ccsdt.json, and goes on after the points that are in it already
"""

import json
import os
import sys

import pyscf.cc

from scan import EQUILIBRIUM, FROZEN, HERE, followed_rhf

ALPHAS = (1.0, 1.25, 1.5, *(0.125 * n for n in range(13, 21)))  # 1.625 ... 2.5
FILE = os.path.join(HERE, "ccsdt.json")


def main():
    points = []
    if os.path.exists(FILE):
        with open(FILE) as file:
            points = json.load(file)["points"]
    done = {point["alpha"] for point in points}
    for alpha, mf in followed_rhf(ALPHAS):
        if alpha in done:
            continue
        # From MP2 amplitudes, the default, the iteration does not converge at large distances.
        guess = pyscf.cc.CCSD(mf, frozen=FROZEN).set(max_cycle=300, verbose=0).run()
        cc = pyscf.cc.CCSDT(mf, frozen=FROZEN).set(conv_tol=1e-7, max_cycle=150, diis_space=10, verbose=0)
        cc.kernel(tamps=[guess.t1, guess.t2])
        if not cc.converged:
            sys.exit(f"ccsdt.py: the CCSDT at alpha = {alpha} did not converge.")
        print(f"{alpha:6.3f}{cc.e_tot:18.9f}", flush=True)
        points.append({"alpha": alpha, "R(CF)": alpha * EQUILIBRIUM, "E(CCSDT)": cc.e_tot})
        with open(FILE, "w") as file:
            json.dump({"program": f"PySCF {pyscf.__version__}", "units": "hartree, angstrom", "points": points}, file,
                      indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
