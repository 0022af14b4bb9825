#!/usr/bin/env python3
"""CCSD(T) of a molecule from the factors of density fitting: SCF and factors by PySCF, CCSD by df_ccsd.py, triples by Trifuse.

    python3 energy.py aspirin.xyz cc-pvtz --gpu --precision double mixed --json results.json

Needs PySCF and the Python package of Trifuse; with --gpu, CCSD needs CuPy.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pathlib
import resource
import time
from typing import Any

import numpy as np
import pyscf.df
import pyscf.gto
import pyscf.lib
import pyscf.scf
import trifuse

import df_ccsd


def main_numbers(result: trifuse.Result) -> dict[str, Any]:
    """Energies, times and memory from the report of a run."""
    report = result.to_dict()
    energy = report["energies"][0]
    numbers: dict[str, Any] = {name: energy[name] for name in ("E[T]", "E(T)", "uncorrected", "error_bar") if name in energy}
    numbers |= {"timings": report["timings"], "operand_bytes": report["memory"]["operand_bytes"]}
    if "cuda" in report:
        gpu = report["cuda"]
        numbers |= {"gpu": gpu["devices"][0]["name"], "peak_bytes_of_the_gpu": gpu["peak_bytes"], "bytes_sent": gpu["bytes_sent"]}
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("molecule", type=pathlib.Path, help="an XYZ file, angstrom")
    parser.add_argument("basis", nargs="?", default="cc-pvtz")
    parser.add_argument("--gpu", action="store_true", help="CCSD with CuPy")
    parser.add_argument(
        "--precision", nargs="+", default=["double"], choices=["double", "mixed"], help="of the triples, one run for each"
    )
    parser.add_argument(
        "--tolerance", type=float, default=1e-6, help="largest norm of the change of the amplitudes; a tenth of that of the SCF gradient"
    )
    parser.add_argument("--json", type=pathlib.Path, help="write times, memory and energies")
    options = parser.parse_args()
    xp: Any = importlib.import_module("cupy") if options.gpu else np

    facts: dict[str, Any] = {"molecule": options.molecule.stem, "basis": options.basis}
    start = time.time()

    def done(step: str) -> None:
        nonlocal start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
        facts[f"{step}_seconds"], facts[f"peak_gib_after_{step}"] = round(time.time() - start, 2), round(peak, 2)
        print(f"{step}: {time.time() - start:.1f} s, peak of the host's memory so far {peak:.1f} GiB", flush=True)
        start = time.time()

    # max_memory in MB: PySCF keeps the factors of larger molecules on the disk.
    mol = pyscf.gto.M(atom=str(options.molecule), basis=options.basis, verbose=0, max_memory=60000)
    mf = pyscf.scf.RHF(mol).density_fit(auxbasis=f"{options.basis}-jkfit")
    mf.run(conv_tol=1e-10, conv_tol_grad=10 * options.tolerance)
    done("scf")

    frozen = sum(mol.atom_charge(a) > 2 for a in range(mol.natm))  # the 1s orbitals of the atoms Li to Ne
    orbitals = mf.mo_coeff[:, frozen:]
    o, n = mol.nelectron // 2 - frozen, orbitals.shape[1]
    fock = orbitals.T @ mf.get_fock() @ orbitals
    fitting = pyscf.df.DF(mol, auxbasis=f"{options.basis}-ri").build()
    b = np.empty((fitting.get_naoaux(), n, n))
    first = 0
    for rows in fitting.loop(100):
        half = pyscf.lib.unpack_tril(rows) @ orbitals
        b[first : first + len(rows)] = orbitals.T @ half
        first += len(rows)
    facts |= {"occupied": o, "virtual": n - o, "naux": first, "scf_energy": float(mf.e_tot)}
    print(f"{o} occupied, {n - o} virtual orbitals, {first} auxiliary functions", flush=True)
    done("factors")

    t1, t2, correlation = df_ccsd.ccsd(xp, fock, b, o, options.tolerance, report=lambda line: print(line, flush=True))
    if options.gpu:
        t1, t2 = xp.asnumpy(t1), xp.asnumpy(t2)
        xp.get_default_memory_pool().free_all_blocks()
    facts["ccsd_correlation"] = correlation
    done("ccsd")

    eps = np.diagonal(fock)
    for precision in options.precision:
        result = trifuse.triples(
            t1=t1,
            t2=t2,
            factors_oo=b[:, :o, :o],
            factors_ov=b[:, :o, o:],
            factors_vv=b[:, o:, o:],
            eps_occ=eps[:o],
            eps_vir=eps[o:],
            fock=fock,
            correlation_energy=correlation,
            scf_energy=mf.e_tot,
            convergence=options.tolerance,
            precision=precision,
        )
        print(result, flush=True)
        facts[precision] = main_numbers(result)
        done(f"triples_{precision}")
    if options.json:
        options.json.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
