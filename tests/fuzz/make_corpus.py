#!/usr/bin/env python3
"""Make the dumps in data/, which the fuzz tests damage: small molecules in all kinds of files that h5py writes.

    python3 make_corpus.py [folder]

The dumps come from drivers/pyscf_export; all but one are then copied without their seal, in another way of storing
attributes and arrays. Needs pyscf and h5py.
"""

import json
import os
import sys

import h5py
import numpy as np
import pyscf.cc
from pyscf import gto, scf

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "drivers"))

import pyscf_export

MOLECULES = {
    "lih_rhf": (scf.RHF, "Li 0 0 0; H 0 0 1.6", "sto-3g", 0),
    "h2o_rhf": (scf.RHF, "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", "sto-3g", 0),
    "bh2_uhf": (scf.UHF, "B 0 0 0; H 0 0 1.1; H 0 0.9 -0.5", "sto-3g", 1),
    "h3_rohf": (scf.ROHF, "H 0 0 0; H 0 0.9 0; H 0 0 1", "6-31g", 1),
}

# Name of the file: molecule, format of the file, kind of strings, how t2 and ovvv are stored.
V110 = ("v110", "v110")  # with filters, HDF5 2 would write what 1.10 cannot read
GZIP = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
CASES = {
    "h2o_rhf_oldest": ("h2o_rhf", "earliest", "variable", {}),
    "h3_rohf_oldest_fixed": ("h3_rohf", "earliest", "fixed", {}),
    "bh2_uhf_oldest_gzip": ("bh2_uhf", "earliest", "variable", GZIP),
    "lih_rhf_oldest_fletcher32": ("lih_rhf", "earliest", "variable", {"fletcher32": True, "chunks": True}),
    "h2o_rhf_newest": ("h2o_rhf", "latest", "variable", {}),
    "h3_rohf_newest_gzip": ("h3_rohf", V110, "variable", {**GZIP, "fletcher32": True}),
    "lih_rhf_newest_chunked": ("lih_rhf", "latest", "fixed", {"chunks": True}),
    "h3_rohf_v110": ("h3_rohf", V110, "few", {}),
    "h2o_rhf_exported": ("h2o_rhf", None, None, None),
}


def calculation(kind, atom, basis, spin):
    mf = kind(gto.M(atom=atom, basis=basis, spin=spin, verbose=0)).set(conv_tol=1e-13, conv_tol_grad=1e-9).run()
    return pyscf.cc.CCSD(mf).set(conv_tol=1e-12, conv_tol_normt=1e-9, max_cycle=200, verbose=0).run()


def chunk_shape(shape):
    """Chunks that do not divide the array, and several of them."""
    return tuple(max(1, min(n, (n + 2) // 2)) for n in shape)


def copy(source, target, libver, strings, storage):
    with h5py.File(source) as old, h5py.File(target, "w", libver=libver) as new:
        for name, value in old.attrs.items():
            if name in ("minor_version", "seal_block"):
                continue  # copies have no seal
            if not isinstance(value, bytes):
                new.attrs[name] = value
            elif strings == "fixed":
                new.attrs[name] = np.bytes_(value)
            elif strings == "variable" or name in ("format", "reference", "molecule"):
                new.attrs[name] = value.decode()
        for name, dataset in old.items():
            if isinstance(dataset, h5py.Group):
                continue
            options = dict(storage) if dataset.size and name.startswith(("t2", "ovvv")) else {}
            if options:
                options["chunks"] = chunk_shape(dataset.shape)
            new.create_dataset(name, data=dataset[()], **options)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "data")
    os.makedirs(folder, exist_ok=True)
    exported = os.path.join(folder, "exported.h5")
    solved = {name: calculation(*arguments) for name, arguments in MOLECULES.items()}
    for name, (molecule, libver, strings, storage) in CASES.items():
        target = os.path.join(folder, name + ".h5")
        pyscf_export.write_dump(solved[molecule], exported, "a comment")
        if libver is None:
            os.replace(exported, target)
        else:
            copy(exported, target, libver, strings, storage)
            os.remove(exported)
        print(f"{os.path.getsize(target):8d} {target}")
    with open(os.path.join(folder, "energies.json"), "w") as file:
        energies = {name: float(solved[case[0]].ccsd_t()) for name, case in CASES.items()}
        json.dump({"program": f"PySCF {pyscf.__version__}", "E(T)": energies}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
