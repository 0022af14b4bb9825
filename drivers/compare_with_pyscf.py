#!/usr/bin/env python3
"""Times PySCF's (T) and Trifuse's on the same amplitudes, in turn, on the same cores, and prints the ratios.

    python3 compare_with_pyscf.py --trifuse PATH/TO/trifuse [--molecule glycine] [--threads N] [--repeats 3] [--json FILE]

PySCF runs twice: with the OpenBLAS of its wheel, and with the library of --blas, by default the system's OpenBLAS, which
its process loads first (LD_PRELOAD). Each run is a process of its own, and wall and processor times are those of whole
processes. The ratios compare a whole process of Trifuse, which reads a file, checks it and computes, with PySCF's call
ccsd_t alone, which has its integrals in memory. The energies must agree to 1e-10 Eh. Needs pyscf and h5py; the folder
pyscf_export stands beside this file.
"""
import argparse
import ctypes
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

MOLECULES = {  # name: geometry (angstrom), frozen orbitals
    "glycine": ("""N -1.905 -0.113  0.000; C -0.741  0.745  0.000; C  0.553 -0.053  0.000; O  0.639 -1.249  0.000
                   O  1.625  0.769  0.000; H -1.900 -0.733  0.807; H -1.900 -0.733 -0.807; H -0.747  1.404  0.877
                   H -0.747  1.404 -0.877; H  2.412  0.206  0.000""", 5),
    "formamide": ("""C  0.000  0.420  0.000; O  1.196  0.238  0.000; N -0.938 -0.563  0.000; H -0.446  1.432  0.000
                     H -0.642 -1.527  0.000; H -1.924 -0.345  0.000""", 3),
    "formaldehyde": ("O 0 0 0.676; C 0 0 -0.530; H 0 0.937 -1.118; H 0 -0.937 -1.118", 2),
    "water": ("O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587", 1),
}
INTEGRALS = ("ovoo", "ovov", "ovvv")


def processor_seconds(of):
    usage = resource.getrusage(of)
    return usage.ru_utime + usage.ru_stime


def used_blas():
    """The OpenBLAS whose functions PySCF's library calls: a library that was loaded first, else that of the wheel."""
    import pyscf.lib
    for library, origin in ((ctypes.CDLL(None), "preloaded"), (pyscf.lib.load_library("libcc"), "of PySCF")):
        if not hasattr(library, "dgemm_") or not hasattr(library, "openblas_get_config"):
            continue
        texts = []
        for function in (library.openblas_get_config, library.openblas_get_corename):
            function.restype, function.argtypes = ctypes.c_char_p, ()
            texts.append(function().decode())
        version = re.match(r"OpenBLAS (\S+)", texts[0])  # old versions do not name themselves: their files do
        if version is None:
            with open("/proc/self/maps") as maps:
                version = re.search(r"/libopenblasp?-r(\d+)-[0-9a-f]{8}((?:\.\d+)+)\.so", maps.read())
        name = "OpenBLAS " + ("".join(version.groups()) if version else "of unknown version")
        return {"name": f"{name} ({texts[1]} kernels)", "config": texts[0], "origin": origin}
    return {"name": "not OpenBLAS", "config": "", "origin": "unknown"}


def run_pyscf_alone(folder):
    """The process that is timed: loads the integrals of `folder`, computes E(T) once and prints what that took."""
    import numpy
    from pyscf import cc, scf
    from pyscf.cc.ccsd import _ChemistsERIs
    mol, reference = scf.chkfile.load_scf(os.path.join(folder, "scf.chk"))
    mf = scf.RHF(mol)
    mf.__dict__.update(reference)
    with open(os.path.join(folder, "settings.json")) as file:
        settings = json.load(file)
    mycc = cc.CCSD(mf, frozen=settings["frozen"])
    mycc.max_memory = settings["max_memory"]
    arrays = {name: numpy.load(os.path.join(folder, name + ".npy")) for name in (*INTEGRALS, "fock", "mo_energy", "t1", "t2")}
    eris = _ChemistsERIs(mol)
    for name in (*INTEGRALS, "fock", "mo_energy"):
        setattr(eris, name, arrays[name])
    processor, wall = processor_seconds(resource.RUSAGE_SELF), time.perf_counter()
    energy = mycc.ccsd_t(arrays["t1"], arrays["t2"], eris)
    print(json.dumps({"call": {"wall": time.perf_counter() - wall,
                               "processor": processor_seconds(resource.RUSAGE_SELF) - processor},
                      "energy": energy, "blas": used_blas()}))


def timed(command, environment=None):
    """Runs a command; returns what it prints, and the wall and processor seconds of the process."""
    processor, wall = processor_seconds(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, text=True)
    times = {"wall": time.perf_counter() - wall, "processor": processor_seconds(resource.RUSAGE_CHILDREN) - processor}
    if done.returncode:
        sys.exit(f"{command[0]} failed with exit code {done.returncode}.")
    return done.stdout, times


def solve(options, folder):
    """Solves CCSD and writes the dump for Trifuse and the same numbers for PySCF's processes."""
    import numpy
    from pyscf import cc, gto, lib, scf
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from pyscf_export import write_dump
    lib.num_threads(options.threads)
    geometry, frozen = MOLECULES[options.molecule]
    mol = gto.M(atom=geometry, basis=options.basis, verbose=0)
    mf = scf.RHF(mol)
    if options.density_fit:
        mf = mf.density_fit()
    mf.chkfile = os.path.join(folder, "scf.chk")
    mf.run(conv_tol=1e-11)
    mycc = cc.CCSD(mf, frozen=frozen)
    mycc.conv_tol, mycc.conv_tol_normt, mycc.max_memory = 1e-9, 1e-7, 12000
    mycc.run()
    write_dump(mycc, os.path.join(folder, "dump.h5"))
    eris = mycc.ao2mo()
    arrays = {name: getattr(eris, name)[()] for name in INTEGRALS}
    for name, array in {**arrays, "fock": eris.fock, "mo_energy": eris.mo_energy, "t1": mycc.t1, "t2": mycc.t2}.items():
        numpy.save(os.path.join(folder, name + ".npy"), array)
    with open(os.path.join(folder, "settings.json"), "w") as file:
        json.dump({"frozen": frozen, "max_memory": mycc.max_memory}, file)
    return int(mycc.nocc), int(mycc.nmo - mycc.nocc)


class Comparison:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.trifuse = {"blas": "", "process": [], "task_seconds": []}
        self.pyscf = {}  # by the library of BLAS

    def run_trifuse(self):
        report = os.path.join(self.folder, "report.json")
        _, times = timed([self.options.trifuse, "run", os.path.join(self.folder, "dump.h5"), "--quiet", "--json", report,
                          "--threads", str(self.options.threads)])
        with open(report) as file:
            result = json.load(file)
        self.trifuse["blas"] = result["machine"]["blas"]
        self.trifuse["process"].append(times)
        self.trifuse["task_seconds"].append(result["timings"]["task_seconds"])
        self.energy = result["energies"][0]["E(T)"]

    def run_pyscf(self, name, environment):
        text, times = timed([sys.executable, "-B", os.path.abspath(__file__), "--of-pyscf", self.folder], environment)
        found = json.loads(text.splitlines()[-1])
        if environment and found["blas"]["origin"] != "preloaded":
            sys.exit(f"PySCF does not use {self.options.blas}: is it an OpenBLAS (apt-get install libopenblas0)?")
        if abs(found["energy"] - self.energy) > 1e-10:
            sys.exit(f"The energies differ: PySCF {found['energy']:.15f} Eh, Trifuse {self.energy:.15f} Eh.")
        series = self.pyscf.setdefault(name, {"blas": found["blas"], "process": [], "call": [], "difference": 0.0})
        series["process"].append(times)
        series["call"].append(found["call"])
        series["difference"] = max(series["difference"], abs(found["energy"] - self.energy))

    def run(self):
        for _ in range(self.options.repeats):
            self.run_trifuse()
            self.run_pyscf("wheel", None)
            # The kernels are those of Trifuse. Each thread of PySCF calls BLAS: threads of BLAS as well would slow it down.
            kernels = self.trifuse["blas"].partition("(")[2].partition(" ")[0]
            self.run_pyscf("system", {"LD_PRELOAD": self.options.blas, "OPENBLAS_NUM_THREADS": "1",
                                      **({"OPENBLAS_CORETYPE": kernels} if kernels else {})})

    def ratio(self, name, kind):
        """The median of the ratios of PySCF's call to the process of Trifuse beside it."""
        return statistics.median(theirs[kind] / ours[kind]
                                 for theirs, ours in zip(self.pyscf[name]["call"], self.trifuse["process"]))

    def report(self, occupied, virtual):
        import pyscf
        return {"molecule": self.options.molecule, "basis": self.options.basis, "density_fit": self.options.density_fit,
                "occupied": occupied, "virtual": virtual, "threads": self.options.threads, "pyscf_version": pyscf.__version__,
                "load_average": os.getloadavg()[0], "trifuse": self.trifuse, "pyscf": self.pyscf,
                "ratios": {name: {kind: self.ratio(name, kind) for kind in ("wall", "processor")} for name in self.pyscf}}


def in_words(report):
    def line(what, blas, series):
        medians = (statistics.median(x[kind] for x in series) for kind in ("wall", "processor"))
        return f"{what:24}{blas:36}" + "".join(f"{seconds:11.2f}" for seconds in medians)

    lines = [f"{'seconds, medians of ' + str(len(report['trifuse']['process'])):60}       wall  processor",
             line("Trifuse, whole process", report["trifuse"]["blas"], report["trifuse"]["process"])]
    for series in report["pyscf"].values():
        lines += [line("PySCF, call of ccsd_t", series["blas"]["name"], series["call"]),
                  line("PySCF, whole process", "", series["process"])]
    for name, ratio in report["ratios"].items():
        lines.append(f"Trifuse's process is {ratio['wall']:.2f} times as fast as PySCF's call with "
                     f"{report['pyscf'][name]['blas']['name']} (by processor time: {ratio['processor']:.2f}).")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trifuse", help="the program")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--molecule", choices=MOLECULES, default="glycine")
    parser.add_argument("--basis", default="6-311g**")
    parser.add_argument("--density-fit", action="store_true", help="integrals by density fitting, for both programs")
    parser.add_argument("--blas", default="libopenblas.so.0", help="OpenBLAS of PySCF's second run (default: the system's)")
    parser.add_argument("--json", help="write a report with all times to this file")
    parser.add_argument("--of-pyscf", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.of_pyscf:
        return run_pyscf_alone(options.of_pyscf)
    if not options.trifuse:
        parser.error("--trifuse is missing: the path of the program")
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        occupied, virtual = solve(options, folder)
        print(f"{options.molecule}, {options.basis}: {occupied} occupied, {virtual} virtual orbitals, "
              f"{options.threads} threads", flush=True)
        comparison = Comparison(options, folder)
        comparison.run()
        report = comparison.report(occupied, virtual)
    print(in_words(report))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
