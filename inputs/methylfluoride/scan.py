#!/usr/bin/env python3
"""The C-F stretch of methyl fluoride with CCSD(T) and two-sided Reg-CCSD(T); README.md says what it shows.

    python3 scan.py --trifuse ../../build/release/drivers/trifuse          # writes results.json
    python3 scan.py --trifuse ../../build/release/drivers/trifuse --check  # compares both ends with known values
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import pyscf.cc
from pyscf import gto, scf

HERE = os.path.dirname(os.path.abspath(__file__))
# The folder pyscf_export is in drivers/ of the sources, or in share/trifuse/ of an installation.
sys.path.extend(os.path.join(HERE, "..", "..", folder) for folder in ("drivers", ""))

import pyscf_export

EQUILIBRIUM = 1.38655  # angstrom
HYDROGENS = ((-0.356040531421, 1.030433396239, 0.0), (-0.356040531421, -0.515216698120, -0.892381498051),
             (-0.356040531421, -0.515216698120, 0.892381498051))
ALPHAS = tuple(0.875 + 0.125 * n for n in range(14))  # 0.875 ... 2.5
OMEGA2 = (0.1, 0.2)
FROZEN = 2

# Known values for --check, in millihartree, from an independent evaluation: E(T), and the two-sided Reg-CCSD(T) relative
# to it. The differences of the errors against CCSDT that Ma et al. (JCTC 2011) print are +1.3, +118 and +153.
KNOWN = {
    1.0: {"E(T)": -6.457, "shifts": {0.1: 0.74, 0.2: 1.35}},
    2.5: {"E(T)": -201.249, "shifts": {0.1: 117.67, 0.2: 152.75}, "t1": 0.60, "t2": 0.96},
}
TOLERANCE = 0.05  # millihartree


def molecule(alpha):
    # The mirror plane fixes the orbitals of degenerate pairs, on which CR-CC(2,3)_C and _D depend.
    atoms = [("C", (0.0, 0.0, 0.0)), ("F", (alpha * EQUILIBRIUM, 0.0, 0.0))] + [("H", xyz) for xyz in HYDROGENS]
    return gto.M(atom=atoms, basis="cc-pvdz", symmetry="Cs", verbose=0)


def followed_rhf(alphas):
    """RHF at each distance, started from the density of the previous distance. This keeps it on one state along the curve."""
    density = None
    for alpha in alphas:
        mf = scf.RHF(molecule(alpha)).set(conv_tol=1e-12, conv_tol_grad=1e-8, max_cycle=200)
        mf.kernel(dm0=density)
        if not mf.converged:
            sys.exit(f"scan.py: the RHF at alpha = {alpha} did not converge.")
        density = mf.make_rdm1()
        yield alpha, mf


class Trifuse:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def triples(self, dump, *options):
        """E(T) for each omega2."""
        report = os.path.join(self.folder, "report.json")
        done = subprocess.run([self.program, "run", dump, *options, "--json", report, "--quiet"], stderr=subprocess.PIPE,
                              text=True)
        if done.returncode != 0:
            sys.exit(f"scan.py: trifuse failed on {dump}: {done.stderr.strip()}")
        with open(report) as file:
            return {e["omega2"]: e["E(T)"] for e in json.load(file)["energies"]}


def point(alpha, mf, trifuse):
    cc = pyscf.cc.CCSD(mf, frozen=FROZEN).set(conv_tol=1e-10, conv_tol_normt=1e-8, max_cycle=300, verbose=0)
    eris = cc.ao2mo()
    cc.kernel(eris=eris)
    dump, left = (os.path.join(trifuse.folder, name) for name in ("dump.h5", "left.h5"))
    pyscf_export.write_dump(cc, dump, comment=f"C-F stretch, alpha = {alpha}", eris=eris)
    one_sided = trifuse.triples(dump, "--omega2", ",".join(str(x) for x in (0.0, *OMEGA2)))
    result = {"alpha": alpha, "R(CF)": alpha * EQUILIBRIUM, "E(RHF)": mf.e_tot, "E(CCSD) correlation": cc.e_corr,
              "max |t1|": float(abs(cc.t1).max()), "max |t2|": float(abs(cc.t2).max()),
              "E(T)": one_sided[0.0], "regularised": []}
    for omega2 in OMEGA2:
        pyscf_export.write_left_dump(pyscf_export.solve_regularized_ccsd(cc, omega2, eris=eris), left)
        result["regularised"].append({"omega2": omega2, "E(Reg-T)": trifuse.triples(dump, "--left", left)[omega2],
                                      "E(T) denominator shift only": one_sided[omega2]})
    shifts = "".join(f"{1e3 * (r['E(Reg-T)'] - result['E(T)']):+12.3f}" for r in result["regularised"])
    print(f"{alpha:6.3f}{mf.e_tot + cc.e_corr:18.9f}{1e3 * result['E(T)']:14.3f}{shifts}", flush=True)
    return result


def compare(results):
    """Print every known value beside the computed one. True if all agree."""
    good = True
    for result in results:
        known = KNOWN[result["alpha"]]
        pairs = [("E(T)", 1e3 * result["E(T)"], known["E(T)"], TOLERANCE)]
        for reg in result["regularised"]:
            shift = 1e3 * (reg["E(Reg-T)"] - result["E(T)"])
            pairs.append((f"shift at omega2 = {reg['omega2']}", shift, known["shifts"][reg["omega2"]], TOLERANCE))
        for name in ("t1", "t2"):
            if name in known:
                pairs.append((f"max |{name}|", result[f"max |{name}|"], known[name], 0.005))
        for name, ours, theirs, tolerance in pairs:
            agrees = abs(ours - theirs) <= tolerance
            good = good and agrees
            print(f"alpha = {result['alpha']}: {name} = {ours:.3f}, known {theirs} {'' if agrees else '  DIFFERS'}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trifuse", default="trifuse", help="the trifuse program (default: the one on PATH)")
    parser.add_argument("--check", action="store_true", help="compute both ends only and compare with known values")
    parser.add_argument("-o", "--output", default=os.path.join(HERE, "results.json"))
    options = parser.parse_args()
    program = shutil.which(options.trifuse)
    if program is None:
        parser.error(f"there is no program {options.trifuse}; give --trifuse.")

    print(f"{'alpha':>6}{'E(CCSD)':>18}{'E(T) / mEh':>14}" + "".join(f"{f'Reg({w})':>12}" for w in OMEGA2))
    with tempfile.TemporaryDirectory() as folder:
        trifuse = Trifuse(os.path.abspath(program), folder)
        results = [point(alpha, mf, trifuse) for alpha, mf in followed_rhf(ALPHAS)
                   if not options.check or alpha in KNOWN]
    if options.check:
        return 0 if compare(results) else 1
    report = {"molecule": "CH3F", "basis": "cc-pVDZ", "frozen orbitals": FROZEN, "units": "hartree, angstrom",
              "programs": f"PySCF {pyscf.__version__} (RHF, CCSD), Trifuse (triples)", "points": results}
    with open(options.output, "w") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
