#!/usr/bin/env python3
"""Optimise geometries with Hartree-Fock, CCSD and CCSD(T), and compare the bonds with experiment.

    python3 optimise.py                             # HF, N2, CO and H2O in cc-pVTZ
    python3 optimise.py HF --basis 6-31g
    python3 optimise.py --picture bonds.svg         # needs matplotlib

geomeTRIC optimises if it is installed (pip install geometric), otherwise SciPy. The core orbitals are frozen.
"""

import argparse
import importlib.util
import math

import numpy as np
import pyscf.cc
from pyscf import gto, scf
from pyscf.data.elements import chemcore
from scipy.optimize import minimize

import trifuse.pyscf

# A start, and the experimental bond (angstrom) and angle (degrees) of the equilibrium. Diatomics: Huber and Herzberg, Constants of
# Diatomic Molecules (1979). Water: Csaszar et al., J. Chem. Phys. 122, 214305 (2005).
MOLECULES = {
    "HF": ("F 0 0 0; H 0 0 0.95", 0.91681, None),
    "N2": ("N 0 0 0; N 0 0 1.13", 1.09769, None),
    "CO": ("C 0 0 0; O 0 0 1.16", 1.12832, None),
    "H2O": ("O 0 0 0; H 0 0.78 0.56; H 0 -0.78 0.56", 0.95782, 104.485),
}


def gradients(mol, method):
    """A function of a molecule that returns its energy and gradient."""
    mf = scf.RHF(mol).set(conv_tol=1e-10)
    if method == "RHF":
        return mf.nuc_grad_method().as_scanner()
    cc = pyscf.cc.CCSD(mf, frozen=chemcore(mol)).set(conv_tol=1e-8, conv_tol_normt=1e-6)
    return (cc.nuc_grad_method() if method == "CCSD" else trifuse.pyscf.Gradients(cc)).as_scanner()


def optimised(mol, method):
    """The molecule at the minimum of the energy."""
    scanner = gradients(mol, method)
    if importlib.util.find_spec("geometric"):
        from pyscf.geomopt import geometric_solver

        return geometric_solver.optimize(scanner)

    def energy_and_gradient(places):
        energy, gradient = scanner(mol.set_geom_(places.reshape(-1, 3), unit="Bohr", inplace=False))
        return energy, gradient.reshape(-1)

    # With steps in units of half a bohr, the first step of BFGS is not too long for a bond.
    found = minimize(lambda x: (lambda e, g: (e, 0.5 * g))(*energy_and_gradient(0.5 * x)), 2 * mol.atom_coords().reshape(-1), jac=True,
                     method="BFGS", options={"gtol": 5e-5})
    return mol.set_geom_(0.5 * found.x.reshape(-1, 3), unit="Bohr", inplace=False)


def bond_and_angle(mol):
    """The bond of the first two atoms, angstrom, and the angle at the first atom, degrees, or None."""
    bonds = mol.atom_coords(unit="Angstrom")[1:] - mol.atom_coords(unit="Angstrom")[0]
    lengths = np.linalg.norm(bonds, axis=1)
    angle = None if len(bonds) < 2 else math.degrees(math.acos(bonds[0] @ bonds[1] / lengths[0] / lengths[1]))
    return lengths[0], angle


def draw(errors, basis, path):
    """A group of bars for each molecule: errors of the bonds, picometre."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "trifuse", "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    colors = {"RHF": "#777777", "CCSD": "#56a0d3", "CCSD(T)": "#c1272d"}
    for n, (method, color) in enumerate(colors.items()):
        axes.bar(np.arange(len(errors)) + 0.27 * (n - 1), [each[method] for each in errors.values()], 0.25, color=color, label=method)
    axes.axhline(0, color="black", lw=0.8)
    axes.set_xticks(range(len(errors)), errors)
    axes.set_ylabel("bond − experiment  [pm]")
    axes.set_title(f"Optimised bonds, {basis}, frozen core", loc="left", fontsize=11)
    axes.legend(frameon=False)
    figure.savefig(path, **({"metadata": {"Date": None}} if path.endswith(".svg") else {"dpi": 150}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("molecules", nargs="*", default=list(MOLECULES), help=", ".join(MOLECULES))
    parser.add_argument("--basis", default="cc-pvtz")
    parser.add_argument("--picture", help="name of an SVG or PNG file")
    arguments = parser.parse_args()

    errors = {}
    print("molecule  method    bond/angstrom  - experiment/pm  angle/degrees")
    for name in arguments.molecules:
        start, experiment, _ = MOLECULES[name]
        mol, errors[name] = gto.M(atom=start, basis=arguments.basis, verbose=0), {}
        for method in ("RHF", "CCSD", "CCSD(T)"):
            mol = optimised(mol, method)
            bond, angle = bond_and_angle(mol)
            errors[name][method] = 100 * (bond - experiment)
            print(f"{name:8}  {method:8}  {bond:13.5f}  {errors[name][method]:15.2f}{'' if angle is None else f'  {angle:13.2f}'}", flush=True)
    if arguments.picture:
        draw(errors, arguments.basis, arguments.picture)


if __name__ == "__main__":
    main()
