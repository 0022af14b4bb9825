#!/usr/bin/env python3
"""Reg-CCSD(T) of Ma et al., J. Chem. Theory Comput. 7, 1316 (2011): CH3F, dodecane and the Spiro cation.

    python3 ma2011.py --stored                # the stored results of the three examples
    python3 ma2011.py --gpu                   # all of them again, on a GPU and on cores -> ma2011.json; needs PySCF and CuPy
    python3 ma2011.py                         # in small, on cores: CH3F at equilibrium, and ethane instead of dodecane; needs PySCF

The examples methylfluoride, dodecane and spiro compute. This script starts them, and puts their results beside those of the paper.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import measuring

TITLE = "Ma, Krishnamoorthy, Villa, Kowalski, J. Chem. Theory Comput. 7, 1316 (2011)"
INPUTS = measuring.HERE.parent
STORED = {"CH3F": "methylfluoride/methods.json", "alkane": "dodecane/stretch.json", "Spiro": "spiro/energies.json"}
# What the paper prints, millihartree: Reg-CCSD(T) minus CCSD(T) of CH3F by distance and omega2, and the humps of dodecane.
PRINTED_SHIFTS = {(1.0, 0.2): 1.3, (2.5, 0.1): 118.0, (2.5, 0.2): 153.0}
PRINTED_HUMPS = {"CCSD(T)": 9.0, "Reg-CCSD(T), ω² = 0.1": 1.8}


def read(path: pathlib.Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def run(script: str, *arguments: Any) -> Any:
    """What an example computes."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "results.json"
        command = [sys.executable, "-B", str(INPUTS / script), *map(str, arguments), "-o", str(output)]
        print(*command[2:-2], file=sys.stderr, flush=True)
        if subprocess.run(command, stdout=sys.stderr.fileno(), check=False).returncode != 0:
            sys.exit(f"{script} failed; its message stands above.")
        return read(output)


def measure(options: argparse.Namespace) -> measuring.Report:
    if options.stored:
        return {"computed": "by the examples, where the last table says",
                "examples": {name: read(INPUTS / path) for name, path in STORED.items()}}
    if options.gpu:
        return {"examples": {"CH3F": run("methylfluoride/methods.py"), "alkane": run("dodecane/stretch.py", "--gpu"),
                             "Spiro": run("spiro/charge_transfer.py", "--gpu")}}
    examples = {"CH3F": run("methylfluoride/methods.py", *options.alphas)} if options.alphas else {}
    return {"examples": examples | {"alkane": run("dodecane/stretch.py", 1, 2, 3, "--carbons", 2, "--basis", "sto-3g")}}


def energies(points: list[dict[str, Any]], method: str) -> list[float]:
    """Energies of each point above the first one, millihartree."""
    totals = [each["E(CCSD)"] + each["corrections"][method] for each in points]
    return [1e3 * (total - totals[0]) for total in totals]


def show_stretch_of_ch3f(points: list[dict[str, Any]]) -> None:
    exact = {each["alpha"]: each["E(CCSDT)"] for each in read(INPUTS / "methylfluoride" / "ccsdt.json")["points"]}
    rows = []
    for each in points:
        alpha, corrections = each["alpha"], each["corrections"]
        for omega2 in (0.1, 0.2):
            regularised = corrections[f"Reg-CCSD(T), ω² = {omega2:g}"]
            errors = [f"{1e3 * (each['E(CCSD)'] + e - exact[alpha]):.1f}" if alpha in exact else ""
                      for e in (corrections["CCSD(T)"], regularised)]
            printed = PRINTED_SHIFTS.get((alpha, omega2))
            rows.append([f"{alpha:g}", f"{omega2:g}", *errors, f"{1e3 * (regularised - corrections['CCSD(T)']):.2f}",
                         "" if printed is None else f"{printed:g}"])
    print("Figures 3 and 4, the C-F stretch of CH3F, mEh:\n")
    measuring.table(["α", "ω²", "CCSD(T) - CCSDT", "Reg-CCSD(T) - CCSDT", "Reg-CCSD(T) - CCSD(T)", "the same, printed by Ma et al."], rows)


def show(report: measuring.Report) -> None:
    examples = report["examples"]
    if "CH3F" in examples:
        show_stretch_of_ch3f(examples["CH3F"]["points"])
    alkane = examples["alkane"]
    points = sorted(alkane["points"], key=lambda each: each["alpha"])
    print(f"Figure 5, the middle C-C bond of {alkane['molecule']}, {alkane['basis']}: highest energy minus that at "
          f"α = {points[-1]['alpha']:g}, mEh:\n")
    rows = []
    for method in points[0]["corrections"]:
        above = energies(points, method)
        printed = PRINTED_HUMPS.get(method) if alkane["molecule"] == "C12H26" else None
        rows.append([method, f"{max(above) - above[-1]:.1f}", "" if printed is None else f"{printed:g}"])
    measuring.table(["method", "hump", "Ma et al."], rows)
    times = {alkane["molecule"]: points}
    if "Spiro" in examples:
        points = times["Spiro cation"] = examples["Spiro"]["points"]
        print(f"Table 2, the Spiro cation, {examples['Spiro']['basis']}, mEh above the energy at {points[0]['coordinate']:g}:\n")
        measuring.table(["method", *(str(each["coordinate"]) for each in points[1:])],
                        [[method, *(f"{e:.2f}" for e in energies(points, method)[1:])] for method in points[0]["corrections"]])
    measuring.table(["molecule", "computed on", "times of (T), s", "of Reg-CCSD(T) with its amplitudes, s"],
                    [[name, (alkane if points is times[alkane["molecule"]] else examples["Spiro"])["computed on"],
                      span([each["seconds"]["CCSD(T)"] for each in points]),
                      span([each["seconds"]["regularised CCSD, ω² = 0.1"] + each["seconds"]["Reg-CCSD(T), ω² = 0.1"] for each in points])]
                     for name, points in times.items()])


def span(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


def draw(report: measuring.Report, plt: Any) -> None:
    alkane = report["examples"]["alkane"]
    points = sorted(alkane["points"], key=lambda each: each["alpha"])
    for method in points[0]["corrections"]:
        plt.plot([each["alpha"] for each in points], energies(points, method), marker="o", ms=3, label=method)
    plt.xlabel("α")
    plt.ylabel("E − E(α = 1)  [mE$_h$]")
    plt.title(f"{alkane['molecule']}, {alkane['basis']}", loc="left")
    plt.legend(frameon=False, fontsize=8)


def main() -> None:
    parser = measuring.parser(__doc__.splitlines()[0])
    parser.add_argument("--stored", action="store_true", help="compute nothing; show the stored results of the examples")
    parser.add_argument("--alphas", type=float, nargs="*", default=[1.0], help="on cores: distances of CH3F (default: 1)")
    measuring.reproduce(measuring.Reproduction("ma2011", TITLE, measure, show, draw), parser.parse_args())


if __name__ == "__main__":
    main()
