#!/usr/bin/env python3
"""Print energies.json as the table of the gallery.

    python3 table.py [energies.json]
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    with open(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "energies.json"), encoding="utf-8") as file:
        points = json.load(file)["points"]
    corrections = list(points[0]["corrections"])
    energies = {"ROHF": [p["E(ROHF)"] for p in points], "CCSD": [p["E(CCSD)"] for p in points],
                **{name: [p["E(CCSD)"] + p["corrections"][name] for p in points] for name in corrections}}
    print(f"| coordinate | {points[0]['coordinate']:g} / Eh |" + "".join(f" {p['coordinate']} |" for p in points[1:]))
    print("|---|" + "---|" * len(points))
    for name, row in energies.items():
        print(f"| {name} | {row[0]:.6f} |" + "".join(f" {1e3 * (e - row[0]):.2f} |" for e in row[1:]))


if __name__ == "__main__":
    main()
