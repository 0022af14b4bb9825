#!/usr/bin/env python3
"""Times PySCF's (T) and Trifuse's on the same amplitudes, in turn, on the same cores, and prints the ratio.

    python3 compare_with_pyscf.py --trifuse PATH/TO/trifuse [--threads N] [--repeats 3] [--density-fit]

The molecule is glycine in 6-311G**, frozen core: 15 occupied and 100 virtual orbitals. The energies must agree to 1e-10 Eh.
Needs pyscf and h5py; the folder pyscf_export stands beside this file.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

GLYCINE = """
N  -1.905 -0.113  0.000
C  -0.741  0.745  0.000
C   0.553 -0.053  0.000
O   0.639 -1.249  0.000
O   1.625  0.769  0.000
H  -1.900 -0.733  0.807
H  -1.900 -0.733 -0.807
H  -0.747  1.404  0.877
H  -0.747  1.404 -0.877
H   2.412  0.206  0.000
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trifuse", required=True, help="the program")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--basis", default="6-311g**")
    parser.add_argument("--density-fit", action="store_true", help="integrals from the factors of density fitting, for both programs")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)

    from pyscf import cc, gto, lib, scf
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from pyscf_export import write_dump

    lib.num_threads(options.threads)
    mol = gto.M(atom=GLYCINE, basis=options.basis, verbose=0)
    mf = scf.RHF(mol)
    if options.density_fit:
        mf = mf.density_fit()
    mf.run(conv_tol=1e-11)
    mycc = cc.CCSD(mf, frozen=5)
    mycc.conv_tol, mycc.conv_tol_normt = 1e-9, 1e-7
    mycc.max_memory = 12000
    mycc.run()
    eris = mycc.ao2mo()
    print(f"CCSD done: {mycc.nocc} occupied, {mycc.nmo - mycc.nocc} virtual, {options.threads} threads", flush=True)

    theirs, ours = [], []
    with tempfile.TemporaryDirectory() as scratch:
        dump, report = os.path.join(scratch, "glycine.h5"), os.path.join(scratch, "report.json")
        write_dump(mycc, dump)
        for _ in range(options.repeats):
            start = time.perf_counter()
            expected = mycc.ccsd_t(eris=eris)
            theirs.append(time.perf_counter() - start)
            start = time.perf_counter()
            subprocess.run([options.trifuse, "run", dump, "--quiet", "--json", report, "--threads", str(options.threads)], check=True)
            ours.append(time.perf_counter() - start)
            with open(report) as file:
                result = json.load(file)
            found = result["energies"][0]["E(T)"]
            print(f"PySCF {theirs[-1]:7.2f} s   trifuse, whole process with reading and checks {ours[-1]:7.2f} s "
                  f"(tasks alone {result['timings']['task_seconds']:.2f} s)   E(T) differ by {abs(found - expected):.1e} Eh", flush=True)
            if abs(found - expected) > 1e-10:
                sys.exit("The energies differ.")
    print(f"median {statistics.median(theirs):.2f} s over {statistics.median(ours):.2f} s: "
          f"{statistics.median(t / o for t, o in zip(theirs, ours)):.2f} times as fast as PySCF")


if __name__ == "__main__":
    main()
