#!/usr/bin/env python3
"""Compares the energies of two builds of the program to the bit.

    tests/compare_builds.py OLD NEW [PATH ...] [--device cpu|cuda] [--launcher "mpirun -n 2"]

OLD and NEW are two executables `trifuse`. PATHs are folders; every HDF5 dump and every set of NWChem files below them is run
with each combination of options in OPTIONS that suits it. The default is tests/data. The exit code is 0 if every run has
the same energies, with every digit, or is refused with the same exit code; else 1.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

OPTIONS = (
    (),
    ("--omega2", "0,0.1,0.3"),
    ("--form", "spin-orbital"),
    ("--tile-size", "5"),
    ("--rohf", "semicanonical"),
)


def inputs_below(folder):
    """Prefixes of NWChem's files and paths of HDF5 dumps, sorted."""
    amplitudes = (re.fullmatch(r"(.*)\.(t2|t2amp\.000000|t2_copy\.\d+)", str(path)) for path in folder.rglob("*"))
    prefixes = {found.group(1) for found in amplitudes if found}
    return sorted(prefixes | {str(path) for path in folder.rglob("*.h5")})


def outcome(program, launcher, arguments):
    """The exit code and, after a success, the energies as text with every digit that the program wrote."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        line = [*launcher, program, "run", *arguments, "--quiet", "--json", str(report)]
        process = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
        if process.returncode != 0:
            return process.returncode, process.stderr.strip()
        return 0, json.dumps(json.loads(report.read_text(), parse_float=str)["energies"])


def main():
    parser = argparse.ArgumentParser(description="Compare the energies of two builds of the program to the bit.")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("paths", nargs="*", type=Path, default=[Path(__file__).resolve().parent / "data"])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--launcher", default="", help="what starts both programs, for example 'mpirun -n 2'")
    options = parser.parse_intermixed_args()
    launcher = shlex.split(options.launcher)
    sources = [source for path in options.paths for source in inputs_below(path)]
    if not sources:
        parser.error("there is nothing to compare below these paths")
    same, refused, different = 0, 0, 0
    for source in sources:
        for more in OPTIONS:
            arguments = [source, "--device", options.device, *more]
            old, new = outcome(options.old, launcher, arguments), outcome(options.new, launcher, arguments)
            if old == new or (old[0] == new[0] != 0):
                same += old[0] == 0
                refused += old[0] != 0
                continue
            different += 1
            print(f"DIFFERENT {shlex.join(arguments)}\n  old: {old}\n  new: {new}", flush=True)
    print(f"{len(sources)} inputs: {same} runs with the same energies, {refused} refused by both, {different} different")
    # A comparison of refusals alone would prove nothing.
    return 1 if different or not same else 0


if __name__ == "__main__":
    sys.exit(main())
