#!/usr/bin/env python3
# %% [markdown]
# # CCSD(T) for PySCF users
#
# From a converged CCSD object of PySCF to energies, error bars, other methods, forces and a geometry. Everything takes
# ten seconds on two cores. Energies are in hartree.
#
# Install the package first: `pip install '.[pyscf,plot,tqdm]'` in the root of the sources of Trifuse. `tutorial.py` and
# `tutorial.ipynb` have the same contents. The page `drivers/docs/python.md` explains the usual options, and
# `help(trifuse.pyscf.triples)` lists all.

# %%
import numpy as np
import pyscf.cc
from pyscf import gto, scf
from scipy.optimize import minimize

import trifuse.plot
import trifuse.pyscf

WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"

# %% [markdown]
# ## A closed shell with density fitting
#
# `ccsd_t(mycc)` takes the place of `mycc.ccsd_t()`. It reads the amplitudes and the factors of density fitting from the
# object; (ia|bc) is never made. Nothing else in your script changes. The error of (T) is proportional to that of the
# amplitudes, so a tighter `conv_tol_normt` than PySCF's default is useful.

# %%
mol = gto.M(atom=WATER, basis="cc-pvdz", verbose=0)
mf = scf.RHF(mol).density_fit().run()
mycc = pyscf.cc.CCSD(mf, frozen=1).set(conv_tol_normt=1e-7).run()

e_t = trifuse.pyscf.ccsd_t(mycc)
print(f"E(T) of water = {e_t:.8f}, E(CCSD(T)) = {mycc.e_tot + e_t:.8f}")

# %% [markdown]
# A script that calls `mycc.ccsd_t()` in many places needs one more line:

# %%
with trifuse.pyscf.patch():  # or trifuse.pyscf.patch(), until trifuse.pyscf.unpatch()
    print(f"mycc.ccsd_t() = {mycc.ccsd_t():.8f}")

# %% [markdown]
# ## An open shell with a frozen core
#
# UCCSD objects work in the same way. `triples` returns the whole result.

# %%
radical = gto.M(atom="O 0 0 0; H 0 0 0.97", basis="cc-pvdz", spin=1, verbose=0)
open_shell = pyscf.cc.CCSD(scf.UHF(radical).run(), frozen=1).set(conv_tol_normt=1e-7).run()
result = trifuse.pyscf.triples(open_shell)
print(result)

# %% [markdown]
# ## The result
#
# The result is a number that knows more: the checks of the amplitudes and integrals, the parts of the spins, the total
# energies, the time, and the whole report.

# %%
print(f"E(T) = {result:.8f}, E[T] = {result.e_bracket_t:.8f}, total {result.e_tot:.8f}, CCSD {result.ccsd_energy:.8f}")
print("spins:", {spins: round(energies[1], 8) for spins, energies in result.spin_cases.items()})
print("checks:", {check.name: check.status for check in result.checks})
print("threads:", result.to_dict()["settings"]["threads"])

# %% [markdown]
# ## Progress
#
# On a terminal a bar appears if the package tqdm is installed. A function gets the finished and all floating-point
# operations; all is infinite while the input is checked. If the function returns False, the run ends with
# `trifuse.CancelledError`. Ctrl-C ends it within a second, too.

# %%
trifuse.pyscf.triples(mycc, progress=lambda done, total: print(f"{done / total:4.0%} of {total:.3g} operations"))

# %% [markdown]
# ## Mixed precision
#
# GPUs multiply faster with pairs of 16-bit numbers. A sample of tasks in double precision corrects the energy and gives
# its error bar: two bars cover the error in at least 95 % of all cases. `target_error=1e-7` asks for an error bar.
#
# Cores emulate this, slowly, so that you can try it: leave out `device="cpu"` where there is a GPU. Small tiles make
# enough tasks for a sample; for larger molecules leave out `tile_size`, too.

# %%
mixed = trifuse.pyscf.triples(mycc, precision="mixed", device="cpu", tile_size=3)
print(f"E(T) = {mixed:.10f} ± {mixed.error_bar:.1e}; the error is {float(mixed) - e_t:.1e}")

# %% [markdown]
# ## On a GPU
#
# Runs choose a GPU if there is one and the molecule is large enough. `device="cuda"` insists on it, `gpus=[0, 1]` names
# two of them, `memory="20GiB"` limits the memory on each.
#
# RCCSD objects of **gpu4pyscf** work, too: `trifuse.pyscf.ccsd_t(mycc)` and `triples(mycc)` take them as they are, and
# their amplitudes in the memory of the GPU. PySCF transforms the integrals, because these objects have no (ia|bc). For
# gradients, dipoles and densities pass `mycc.to_cpu()` and `device="cuda"`.

# %% [markdown]
# ## Where bonds break: CR-CC(2,3)
#
# (T) fails for stretched bonds. The completely renormalised CR-CC(2,3) does not. One run gives its four variants, and the
# Lambda equations are solved if this has not been done. Here hydrogen fluoride, up to 2.5 times its bond.

# %%
stretches = np.linspace(0.9, 2.5, 6)
curves = {"CCSD": [], "CCSD(T)": [], "CR-CC(2,3)_D": []}
for stretch in stretches:
    fluoride = gto.M(atom=f"F 0 0 0; H 0 0 {0.917 * stretch}", basis="6-31g", verbose=0)
    cc = pyscf.cc.CCSD(scf.RHF(fluoride).run(), frozen=1).set(conv_tol_normt=1e-7, max_cycle=200).run()
    eris = cc.ao2mo()
    cc.solve_lambda(eris=eris)
    curves["CCSD"].append(cc.e_tot)
    curves["CCSD(T)"].append(trifuse.pyscf.triples(cc, eris=eris).e_tot)
    renormalised = trifuse.pyscf.triples(cc, eris=eris, method="cr-cc23").by_method
    curves["CR-CC(2,3)_D"].append(renormalised["CR-CC(2,3)_D"].e_tot)
for name, energy in renormalised.items():
    print(f"{name:24} {energy.e_t:.8f}")

# %% [markdown]
# ## A picture

# %%
axes = trifuse.plot.energies(0.917 * stretches, curves, xlabel="H-F / angstrom")
axes.figure.savefig("tutorial.svg")

# %% [markdown]
# ## Forces and a geometry
#
# `Gradients(mycc).kernel()` returns the gradient of CCSD(T) for RHF and UHF; the page `drivers/docs/gradients.md` says for
# which objects. `as_scanner()` returns a function of a molecule. With the package geomeTRIC,
# `pyscf.geomopt.geometric_solver.optimize(gradients)` is one line; here SciPy optimises.

# %%
small = gto.M(atom=WATER, basis="6-31g", verbose=0)
tight = pyscf.cc.CCSD(scf.RHF(small).set(conv_tol=1e-10), frozen=1).set(conv_tol=1e-8, conv_tol_normt=1e-6)
gradients = trifuse.pyscf.Gradients(tight)
scanner = gradients.as_scanner()


def energy_and_gradient(places):
    energy, gradient = scanner(small.set_geom_(places.reshape(-1, 3), unit="Bohr", inplace=False))
    return energy, gradient.reshape(-1)


found = minimize(energy_and_gradient, small.atom_coords().reshape(-1), jac=True, method="BFGS", options={"gtol": 2e-4})
places = small.set_geom_(found.x.reshape(-1, 3), unit="Bohr", inplace=False).atom_coords(unit="Angstrom")
first, second = places[1:] - places[0]
angle = np.degrees(np.arccos(first @ second / np.linalg.norm(first) / np.linalg.norm(second)))
print(f"E(CCSD(T)) = {found.fun:.8f}, O-H = {np.linalg.norm(first):.4f} angstrom, angle = {angle:.2f} degrees, "
      f"largest force {np.abs(found.jac).max():.0e} hartree/bohr")
