#!/usr/bin/env python3
"""The dipole moment of hydrogen fluoride along its bond, with CCSD, CCSD(T) and the regularised (T), beside full CI.

    python3 dipole_curve.py                                     # 6-31G, 17 distances
    python3 dipole_curve.py --picture dipole.svg                # needs matplotlib
    python3 dipole_curve.py --basis aug-cc-pvtz --distances 0.9168 --without-full-ci

The moments are derivatives of the energy by an electric field, with the response of the orbitals. Full CI has the core orbital of
Hartree-Fock.
"""

import argparse

import numpy as np
import pyscf.cc
from pyscf import gto, mcscf, scf

import trifuse.pyscf

# omega2, hartree, of each curve. With 1000 a thousandth of (T) is left.
METHODS = {"CCSD": 1e3, "CCSD(T)": 0.0, "Reg-(T), ω² = 0.1": 0.1, "Reg-(T), ω² = 0.2": 0.2}


def moments(distance, basis, near, with_full_ci):
    """The moments of each method, debye, and the CCSD object. `near`: that of a near distance, or None."""
    mol = gto.M(atom=f"F 0 0 0; H 0 0 {distance}", basis=basis, verbose=0)
    mf = scf.RHF(mol).set(conv_tol=1e-11).newton()
    mf.kernel(None if near is None else near._scf.make_rdm1())
    cc = pyscf.cc.CCSD(mf.undo_newton(), frozen=1).set(conv_tol=1e-9, conv_tol_normt=1e-7, max_cycle=200)
    eris = cc.ao2mo()
    cc.kernel(eris=eris)
    found = {}
    if with_full_ci:
        full_ci = mcscf.CASCI(cc._scf, cc.mo_occ.size - 1, 8)
        full_ci.fix_spin_(ss=0)
        full_ci.kernel(verbose=0)
        found["full CI"] = cc._scf.dip_moment(mol, full_ci.make_rdm1(), verbose=0)[2]
    for name, omega2 in METHODS.items():
        found[name] = trifuse.pyscf.dip_moment(cc, eris=eris, omega2=omega2)[2]
    return found, cc


def draw(distances, curves, basis, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "trifuse", "axes.spines.top": False, "axes.spines.right": False})
    with_errors = "full CI" in curves
    figure, panels = plt.subplots(1 + with_errors, 1, figsize=(6.4, 6.0 if with_errors else 4.0), sharex=True, squeeze=False,
                                  layout="constrained")
    for (name, values), color in zip(curves.items(), ("black", "#777777", "#c1272d", "#56a0d3", "#0b4f8a")[-len(curves):]):
        line = "-" if name == "full CI" else "-o"
        panels[0, 0].plot(distances, values, line, ms=3.5, color=color, label=name)
        if with_errors:
            panels[1, 0].plot(distances, np.subtract(values, curves["full CI"]), line, ms=3.5, color=color)
    panels[0, 0].set_ylabel("dipole moment  [D]")
    panels[0, 0].set_title(f"HF, {basis}, relaxed dipole moments", loc="left", fontsize=11)
    panels[0, 0].legend(frameon=False)
    if with_errors:
        panels[1, 0].set_ylabel("− full CI  [D]")
        panels[1, 0].set_ylim(-0.02, 0.15)
    panels[-1, 0].set_xlabel("R(H–F)  [Å]")
    for axes in panels[:, 0]:
        axes.grid(alpha=0.25, lw=0.6)
    figure.savefig(path, **({"metadata": {"Date": None}} if path.endswith(".svg") else {"dpi": 150}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--basis", default="6-31g")
    parser.add_argument("--distances", type=float, nargs="+", default=[*np.arange(0.7, 2.35, 0.1).round(2)], help="angstrom")
    parser.add_argument("--without-full-ci", action="store_true")
    parser.add_argument("--picture", help="name of an SVG or PNG file")
    arguments = parser.parse_args()

    names, near = [*METHODS] if arguments.without_full_ci else ["full CI", *METHODS], None
    curves = {name: [] for name in names}
    print("R/angstrom  " + "  ".join(f"{name:>17}" for name in names))
    for distance in arguments.distances:
        found, near = moments(distance, arguments.basis, near, not arguments.without_full_ci)
        for name in names:
            curves[name].append(found[name])
        print(f"{distance:10.3f}  " + "  ".join(f"{found[name]:17.5f}" for name in names), flush=True)
    if arguments.picture:
        draw(arguments.distances, curves, arguments.basis, arguments.picture)


if __name__ == "__main__":
    main()
