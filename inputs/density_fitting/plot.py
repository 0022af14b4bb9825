#!/usr/bin/env python3
"""Draws results.json of energy.py: the time of each step, and memory beside that of stored integrals (needs matplotlib)."""

import json
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = pathlib.Path(__file__).resolve().parent
GIB = 2**30


def main():
    facts = json.loads((HERE / "results.json").read_text())
    o, v, naux = facts["occupied"], facts["virtual"], facts["naux"]
    steps = {"SCF": "scf", "factors": "factors", "CCSD": "ccsd", "(T), double": "triples_double", "(T), mixed": "triples_mixed"}
    seconds = {label: facts[f"{step}_seconds"] for label, step in steps.items() if f"{step}_seconds" in facts}
    memory = {
        "(ia|bc) stored": 8 * o * v**3 / GIB,
        "factors": 8 * naux * (o * o + o * v + v * (v + 1) / 2) / GIB,
        "t2": 8 * (o * v) ** 2 / GIB,
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3))
    for axes, numbers, label in ((left, seconds, "seconds"), (right, memory, "GiB")):
        bars = axes.barh(list(numbers), list(numbers.values()), color="#0b4f8a")
        axes.bar_label(bars, fmt="%.3g", padding=3)
        axes.invert_yaxis()
        axes.set_xlabel(label)
        axes.margins(x=0.15)
        axes.spines[["top", "right"]].set_visible(False)
    left.set_title("time of each step")
    right.set_title("memory of the arrays")
    figure.suptitle(f"{facts['molecule']}, {facts['basis']}: {o} occupied, {v} virtual orbitals, {naux} auxiliary functions")
    figure.tight_layout()
    figure.savefig(HERE / f"{facts['molecule']}.png", dpi=110)


if __name__ == "__main__":
    main()
