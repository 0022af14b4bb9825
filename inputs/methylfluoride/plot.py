#!/usr/bin/env python3
"""Draw results.json and ccsdt.json as curve.svg and curve.png (needs matplotlib).

    python3 plot.py [results.json [output folder]]
"""

import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
COLORS = {"CCSD": "#777777", "CCSD(T)": "#c1272d", 0.1: "#56a0d3", 0.2: "#0b4f8a", "CCSDT": "black"}


def load(name):
    with open(name) as file:
        return json.load(file)["points"]


def label(omega2):
    return f"Reg-CCSD(T), ω² = {omega2}"


def main():
    points = load(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "results.json"))
    folder = sys.argv[2] if len(sys.argv) > 2 else HERE
    reference = load(os.path.join(HERE, "ccsdt.json"))

    distance = np.array([p["R(CF)"] for p in points])
    ccsd = np.array([p["E(RHF)"] + p["E(CCSD) correlation"] for p in points])
    triples = np.array([p["E(T)"] for p in points])
    regularised = {p["omega2"]: np.array([q["regularised"][n]["E(Reg-T)"] for q in points])
                   for n, p in enumerate(points[0]["regularised"])}
    at = {p["alpha"]: n for n, p in enumerate(points)}
    shared = [at[p["alpha"]] for p in reference]
    ccsdt = np.array([p["E(CCSDT)"] for p in reference])

    plt.rcParams.update({"font.size": 10, "svg.fonttype": "none", "svg.hashsalt": "trifuse",
                         "axes.spines.top": False, "axes.spines.right": False})
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(6.4, 7.2), sharex=True, height_ratios=(3, 2),
                                          layout="constrained")

    def relative(energy):  # millihartree above the method's own energy at the equilibrium distance
        return 1e3 * (energy - energy[at[1.0]])

    upper.plot(distance, relative(ccsd), "-", color=COLORS["CCSD"], label="CCSD")
    upper.plot(distance, relative(ccsd + triples), "-o", ms=4, color=COLORS["CCSD(T)"], label="CCSD(T)")
    for omega2, energy in regularised.items():
        upper.plot(distance, relative(ccsd + energy), "-o", ms=4, color=COLORS[omega2], label=label(omega2))
        lower.plot(distance, 1e3 * (energy - triples), "-o", ms=4, color=COLORS[omega2], label=label(omega2))
    upper.plot(distance[shared], 1e3 * (ccsdt - ccsdt[0]), "x", ms=7, color=COLORS["CCSDT"], label="CCSDT", zorder=5)
    lower.plot(distance[shared], 1e3 * (ccsdt - (ccsd + triples)[shared]), "x", ms=7, color=COLORS["CCSDT"],
               label="CCSDT", zorder=5)

    upper.set_title("CH₃F, stretch of the C–F bond, cc-pVDZ", loc="left", fontsize=11)
    upper.set_ylabel("E − E(equilibrium)  [mE$_h$]")
    lower.set_ylabel("E − E(CCSD(T))  [mE$_h$]")
    lower.set_xlabel("R(C–F)  [Å]")
    lower.axhline(0.0, color=COLORS["CCSD(T)"], lw=1)
    for axes in (upper, lower):
        axes.grid(alpha=0.25, lw=0.6)
        axes.legend(frameon=False, loc="upper left", fontsize=9)
    for extension, options in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 150})):
        figure.savefig(os.path.join(folder, f"curve.{extension}"), **options)


if __name__ == "__main__":
    main()
