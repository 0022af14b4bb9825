#!/usr/bin/env python3
"""CCSD(T) energies and forces of many geometries of a small molecule, in one extended XYZ file, to train a potential.

    python3 forces.py molecule.xyz --frames 100 -o training.xyz
    python3 forces.py --frames 3 --basis 6-31g -o water.xyz         # water
    python3 forces.py --frames 100 --picture forces.svg -o water.xyz

Geometries are those of the molecule with random displacements, or those of a trajectory (--trajectory frames.xyz). Energies are
in eV, forces in eV/Å, as ASE and the programs that train potentials read them. A run that was stopped continues after the last
complete frame. tqdm (pip install tqdm) shows a progress bar.
"""

import argparse
import os
import pathlib

import numpy as np
import pyscf.cc
from pyscf import gto, scf
from pyscf.data.elements import chemcore
from pyscf.data.nist import BOHR, HARTREE2EV

import trifuse.pyscf

WATER = pathlib.Path(__file__).resolve().parents[1] / "water" / "water.xyz"


def frames_of(path):
    """Elements and places [atom, xyz], angstrom, and the comment of each frame of an XYZ file, as far as they are complete."""
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    frames, at = [], 0
    while at < len(lines) and lines[at].strip():
        end = at + 2 + int(lines[at])
        if end >= len(lines):  # the last line has no end: it was cut off
            break
        words = [line.split() for line in lines[at + 2:end]]
        frames.append(([row[0] for row in words], np.array([row[1:] for row in words], dtype=float), lines[at + 1]))
        at = end
    return frames


def displaced(places, count, width, seed):
    """Geometries with normal displacements of this width, angstrom, of each coordinate."""
    random = np.random.default_rng(seed)
    return [places + width * random.standard_normal(places.shape) for _ in range(count)]


def text_of(elements, places, energy, forces):
    """A frame of extended XYZ."""
    rows = (f"{element:2} " + " ".join(f"{x:15.8f}" for x in (*place, *force)) for element, place, force in zip(elements, places, forces))
    return (f'{len(elements)}\nProperties=species:S:1:pos:R:3:forces:R:3 energy={energy:.10f} pbc="F F F"\n' + "\n".join(rows) + "\n")


def bar(steps, done, total):
    """The steps, with a progress bar if tqdm is installed, else with a line for each tenth."""
    try:
        from tqdm import tqdm

        yield from tqdm(steps, desc="frames", initial=done, total=total)
    except ImportError:
        for n, step in enumerate(steps, done + 1):
            yield step
            if 10 * n // total > 10 * (n - 1) // total:
                print(f"{n} of {total} frames", flush=True)


def draw(path, picture):
    """The forces on all atoms against the energy of their frame above the lowest one."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    frames = frames_of(path)
    energies = np.array([float(comment.split("energy=")[1].split()[0]) for _, _, comment in frames])
    forces = np.array([np.linalg.norm(values[:, 3:], axis=1) for _, values, _ in frames])
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "trifuse", "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    elements = frames[0][0]
    for n, color in zip(range(len(elements)), ("#c1272d", "#0b4f8a", "#56a0d3", "#777777", "#e08a1e", "#7a4fa3") * len(elements)):
        axes.plot(energies - energies.min(), forces[:, n], "o", ms=4, color=color, label=f"{elements[n]} {n + 1}")
    axes.set_xlabel("energy above the lowest frame  [eV]")
    axes.set_ylabel("|force|  [eV/Å]")
    axes.set_title(f"{len(frames)} frames, CCSD(T)", loc="left", fontsize=11)
    axes.legend(frameon=False)
    figure.savefig(picture, **({"metadata": {"Date": None}} if picture.endswith(".svg") else {"dpi": 150}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("molecule", nargs="?", default=WATER, help="XYZ file; default: water")
    parser.add_argument("--trajectory", help="XYZ file whose frames are the geometries")
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--width", type=float, default=0.05, help="of the displacements, angstrom")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--basis", default="cc-pvdz")
    parser.add_argument("--picture", help="name of an SVG or PNG file")
    parser.add_argument("-o", "--output", default="training.xyz")
    arguments = parser.parse_args()

    elements, places, _ = frames_of(arguments.trajectory or arguments.molecule)[0]
    geometries = ([frame[1][:, :3] for frame in frames_of(arguments.trajectory)] if arguments.trajectory
                  else displaced(places[:, :3], arguments.frames, arguments.width, arguments.seed))
    mol = gto.M(atom=list(zip(elements, places[:, :3])), basis=arguments.basis, verbose=0)
    cc = pyscf.cc.CCSD(scf.RHF(mol).set(conv_tol=1e-10), frozen=chemcore(mol)).set(conv_tol=1e-8, conv_tol_normt=1e-6)
    scanner = trifuse.pyscf.Gradients(cc).as_scanner()

    complete = frames_of(arguments.output) if os.path.exists(arguments.output) else []
    with open(arguments.output, "w", encoding="utf-8") as file:
        for names, values, comment in complete:
            file.write(text_of(names, values[:, :3], float(comment.split("energy=")[1].split()[0]), values[:, 3:]))
        for geometry in bar(geometries[len(complete):], len(complete), len(geometries)):
            energy, gradient = scanner(mol.set_geom_(geometry, unit="Angstrom", inplace=False))
            file.write(text_of(elements, geometry, energy * HARTREE2EV, -gradient * HARTREE2EV / BOHR))
            file.flush()
    if arguments.picture:
        draw(arguments.output, arguments.picture)


if __name__ == "__main__":
    main()
