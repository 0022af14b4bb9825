#!/usr/bin/env python3
"""Make the molecules in data/numbers, whose right numbers the test of wrong numbers changes.

    python3 make_right_numbers.py [folder]

Each file has the arrays of a dump with factors, and beside them other sets of amplitudes, whose names begin with the name
of their set: `lambda`, `left` (regularised, omega2 = 0.1), and `moved`, `moved_lambda`, `moved_left` of a second geometry.
Needs pyscf and h5py.
"""

import os
import sys

import h5py
import pyscf.cc
from pyscf import gto, scf

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "drivers"))

import pyscf_export

OMEGA2 = 0.1
CONVERGENCE = 1e-9  # largest change of the amplitudes in the last iteration
# Name: kind, atoms of two geometries, options of the molecule, frozen orbitals.
MOLECULES = {
    "water": (scf.RHF, "O 0 0 0; H 0.1 0.757 0.587; H 0.05 -{:.3f} 0.687", (0.857, 0.877), {}, None),
    "water_c2v": (scf.RHF, "O 0 0 0; H 0 0.757 {0:.3f}; H 0 -0.757 {0:.3f}", (0.587, 0.607), {"symmetry": "C2v"}, 1),
    "hydroxyl": (scf.UHF, "O 0 0 0; H 0.1 {:.3f} 0.3", (0.957, 0.977), {"spin": 1}, None),
    "hydroxyl_rohf": (scf.ROHF, "O 0 0 0; H 0.1 {:.3f} 0.3", (0.957, 0.977), {"spin": 1}, None),
}


def solve(kind, atom, options, frozen):
    mf = kind(gto.M(atom=atom, basis="6-31g", verbose=0, **options)).density_fit(auxbasis="weigend")
    mf.set(conv_tol=1e-13, conv_tol_grad=1e-9, max_cycle=200)
    mf.kernel()
    cc = pyscf.cc.CCSD(mf, frozen=frozen)
    cc.set(conv_tol=1e-12, conv_tol_normt=CONVERGENCE, max_cycle=300, verbose=0).run()
    assert mf.converged and cc.converged
    return cc


def add_amplitudes(file, source, of_set):
    with h5py.File(source) as old:
        for name in old:
            if name.startswith(("t1", "t2")):
                file[of_set + ":" + name] = old[name][()]
        if "correlation_energy" in old.attrs:
            file.attrs[of_set + "_correlation_energy"] = old.attrs["correlation_energy"]
    os.remove(source)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "data", "numbers")
    os.makedirs(folder, exist_ok=True)
    part = os.path.join(folder, "part.h5")
    for molecule, (kind, atoms, lengths, options, frozen) in MOLECULES.items():
        target = os.path.join(folder, molecule + ".h5")
        with h5py.File(target, "w", libver=("v110", "v110")) as file:
            file.attrs["convergence"] = CONVERGENCE
            for prefix, length in zip(("", "moved_"), lengths):
                cc = solve(kind, atoms.format(length), options, frozen)
                pyscf_export.write_dump(cc, part)
                with h5py.File(part) as dump:
                    if not prefix:
                        file.attrs["correlation_energy"] = dump.attrs["correlation_energy"]
                        file.attrs["reference"] = dump.attrs["reference"]
                        for name in dump:
                            if name != "seal":
                                file[name] = dump[name][()]
                if prefix:
                    add_amplitudes(file, part, "moved")
                else:
                    os.remove(part)
                cc.solve_lambda()
                pyscf_export.write_lambda_dump(cc, part)
                add_amplitudes(file, part, prefix + "lambda")
                pyscf_export.write_left_dump(pyscf_export.solve_regularized_ccsd(cc, OMEGA2), part)
                add_amplitudes(file, part, prefix + "left")
        print(f"{os.path.getsize(target):8d} {target}")


if __name__ == "__main__":
    main()
