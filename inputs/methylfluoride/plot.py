#!/usr/bin/env python3
"""Draw results.json and methods.json beside ccsdt.json: curve.svg, curve.png and methods.svg (needs matplotlib). Prints the
errors of methods.json.

    python3 plot.py [results.json [output folder [methods.json]]]
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
# Panels of methods.svg: the range of errors (millihartree), and the color and line of each method.
PANELS = (
    ((-165, 55), {"CCSD": ("#777777", "-"), "CCSD(T)": ("#c1272d", "-"), "CCSD(cT)": ("#e08a1e", "-"),
                  "Lambda-CCSD(T)": ("#7a4fa3", "-"), "CR-CC(2,3)_D": ("#1a7f4b", "-")}),
    ((-9, 14), {"CR-CCSD(T)": ("#0b4f8a", "-"), "CCSD(2)_T = CR-CC(2,3)_A": ("#c1272d", "-"), "CR-CC(2,3)_B": ("#e08a1e", "-"),
                "CR-CC(2,3)_C": ("#7a4fa3", "-"), "CR-CC(2,3)_D": ("#1a7f4b", "-")}),
    ((-44, 22), {f"{name}, ω² = {omega2}": (color, line) for name, color in
                 (("Reg-CCSD(T)", "#0b4f8a"), ("Reg-(cT)", "#e08a1e"), ("Reg-GF(T)", "#7a4fa3"))
                 for omega2, line in ((0.1, "--"), (0.2, "-"))}))


def load(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)["points"]


def label(omega2):
    return f"Reg-CCSD(T), ω² = {omega2}"


def draw_curve(points, reference, folder):
    """Energies of CCSD(T) and Reg-CCSD(T), and their differences."""
    distance = np.array([p["R(CF)"] for p in points])
    ccsd = np.array([p["E(RHF)"] + p["E(CCSD) correlation"] for p in points])
    triples = np.array([p["E(T)"] for p in points])
    regularised = {p["omega2"]: np.array([q["regularised"][n]["E(Reg-T)"] for q in points])
                   for n, p in enumerate(points[0]["regularised"])}
    at = {p["alpha"]: n for n, p in enumerate(points)}
    shared = [at[p["alpha"]] for p in reference]
    ccsdt = np.array([p["E(CCSDT)"] for p in reference])

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


def draw_methods(points, reference, folder):
    """Errors of all methods against CCSDT, as a picture and as a table, in millihartree."""
    exact = {p["alpha"]: p["E(CCSDT)"] for p in reference}
    points = [p for p in points if p["alpha"] in exact]
    errors = {name: [1e3 * (p["E(CCSD)"] + p["corrections"].get(name, 0.0) - exact[p["alpha"]]) for p in points]
              for name in ("CCSD", *points[0]["corrections"])}
    print("| α |" + "".join(f" {p['alpha']:g} |" for p in points) + " range |\n|---|" + "---|" * (len(points) + 1))
    for name, row in errors.items():
        print(f"| {name} |" + "".join(f" {error:.1f} |" for error in (*row, max(row) - min(row))))

    figure, panels = plt.subplots(3, 1, figsize=(6.4, 9.6), sharex=True, height_ratios=(3, 2.4, 2.6), layout="constrained")
    for axes, (limits, methods) in zip(panels, PANELS):
        axes.axhline(0.0, color=COLORS["CCSDT"], lw=1)
        for name, (color, line) in methods.items():
            axes.plot([p["R(CF)"] for p in points], errors[name], line, color=color, label=name)
        axes.set_ylim(limits)
        axes.set_ylabel("E − E(CCSDT)  [mE$_h$]")
        axes.grid(alpha=0.25, lw=0.6)
        axes.legend(frameon=False, loc="lower left" if limits[0] < -14 else "upper left", fontsize=9)
    panels[0].set_title("CH₃F, stretch of the C–F bond, cc-pVDZ: errors against CCSDT", loc="left", fontsize=11)
    panels[-1].set_xlabel("R(C–F)  [Å]")
    figure.savefig(os.path.join(folder, "methods.svg"), metadata={"Date": None})


def main():
    results, folder, methods = (sys.argv[n] if len(sys.argv) > n else default for n, default in (
        (1, os.path.join(HERE, "results.json")), (2, HERE), (3, os.path.join(HERE, "methods.json"))))
    reference = load(os.path.join(HERE, "ccsdt.json"))
    plt.rcParams.update({"font.size": 10, "font.sans-serif": "DejaVu Sans", "svg.fonttype": "none", "svg.hashsalt": "trifuse",
                         "axes.spines.top": False, "axes.spines.right": False})
    draw_curve(load(results), reference, folder)
    draw_methods(load(methods), reference, folder)


if __name__ == "__main__":
    main()
