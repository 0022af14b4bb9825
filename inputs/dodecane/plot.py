#!/usr/bin/env python3
"""Draw stretch.json: stretch.svg (needs matplotlib). Prints the table of the gallery and the hump of each curve.

    python3 plot.py [stretch.json [output folder]]
"""

import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = os.path.dirname(os.path.abspath(__file__))
# Color and line of each method.
METHODS = {"CCSD": ("#777777", "-"), "CCSD(T)": ("#c1272d", "-"), "Reg-CCSD(T), ω² = 0.1": ("#0b4f8a", "-"),
           "CCSD(2)_T = CR-CC(2,3)_A": ("#e08a1e", "--"), "CR-CC(2,3)_B": ("#7a4fa3", "--"),
           "CR-CC(2,3)_C": ("#8fbf6a", "--"), "CR-CC(2,3)_D": ("#1a7f4b", "-")}


def main():
    results, folder = (sys.argv[n] if len(sys.argv) > n else default for n, default in (
        (1, os.path.join(HERE, "stretch.json")), (2, HERE)))
    with open(results, encoding="utf-8") as file:
        report = json.load(file)
    points = sorted(report["points"], key=lambda p: p["alpha"])
    # millihartree above the method's own energy at the first distance
    energies = {name: [p["E(CCSD)"] + p["corrections"].get(name, 0.0) for p in points]
                for name in METHODS if name == "CCSD" or name in points[0]["corrections"]}
    curves = {name: [1e3 * (e - row[0]) for e in row] for name, row in energies.items()}
    print("| α |" + "".join(f" {p['alpha']:g} |" for p in points) + " hump |\n|---|" + "---|" * (len(points) + 1))
    for name, row in curves.items():
        print(f"| {name} |" + "".join(f" {e:.1f} |" for e in (*row, max(row) - row[-1])))

    plt.rcParams.update({"font.size": 10, "font.sans-serif": "DejaVu Sans", "svg.fonttype": "none", "svg.hashsalt": "trifuse",
                         "axes.spines.top": False, "axes.spines.right": False})
    figure, (whole, end) = plt.subplots(2, 1, figsize=(6.4, 7.2), height_ratios=(2, 3), layout="constrained")
    for axes in (whole, end):
        for name, row in curves.items():
            axes.plot([p["R(CC)"] for p in points], row, METHODS[name][1], marker="o", ms=3, color=METHODS[name][0], label=name)
        axes.set_ylabel("E − E(equilibrium)  [mE$_h$]")
        axes.grid(alpha=0.25, lw=0.6)
    last = [p for p in points if p["alpha"] >= 1.75]  # the humps, without CCSD
    if last:
        shown = [row[points.index(p)] for name, row in curves.items() if name != "CCSD" for p in last]
        end.set_xlim(last[0]["R(CC)"] - 0.05, last[-1]["R(CC)"] + 0.05)
        end.set_ylim(min(shown) - 2, max(shown) + 2)
    whole.legend(frameon=False, loc="lower right", fontsize=8)
    whole.set_title(f"{report['molecule']}, stretch of the middle C–C bond, {report['basis'].upper()}", loc="left", fontsize=11)
    end.set_xlabel("R(C–C)  [Å]")
    figure.savefig(os.path.join(folder, "stretch.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
