#!/usr/bin/env python3
"""The tasks of Table 2 of Kim et al., ICS 2018: the symmetrised contractions of (T) on tiles of their sizes A to E.

    python3 kim2018.py --gpu                  # the fused kernels, with singles and energies -> kim2018.json
    python3 kim2018.py                        # half of each extent on cores: the 18 contractions one after the other
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import numpy as np
import trifuse

import measuring

TITLE = "Kim, Sukumaran-Rajam, Hong, Panyala, Srivastava, Krishnamoorthy, Sadayappan, ICS 2018"
# Extents of three tiles of holes and three of particles, and of the contracted tiles of holes and of particles.
SIZES = {"A": ((16, 16, 16, 16, 16, 16), (16, 16)), "B": ((64, 16, 16, 16, 16, 16), (16, 16)), "C": ((24,) * 6, (24, 24)),
         "D": ((15, 16, 16, 19, 20, 20), (20, 20)), "E": ((28,) * 6, (28, 28))}
# Shares of cuBLAS DGEMM (61.8 TF/s) that the authors' kernels reached on these sizes, as they are in ExaChem (commit 173a842),
# with and without FP64 matrix instructions, and those of NWChem, each with singles and energies, on one NVIDIA H200.
OTHERS = {"ExaChem, matrix instructions": dict(zip("ABCDE", (13.3, 13.1, 15.3, 12.3, 16.7))),
          "ExaChem, multiply-add": dict(zip("ABCDE", (10.1, 10.0, 10.2, 8.6, 11.0))),
          "NWChem": dict(zip("ABCDE", (0.72, 0.74, 0.76, 0.82, 0.85)))}
DGEMM_OF_OTHERS = 61.8


def products() -> list[tuple[str, str, int]]:
    """The 18 products: indices of t2 and of the integrals, and the sign. Holes i, j, k and l, particles a, b, c and d."""
    found = []
    for hole in range(3):
        for particle in range(3):
            alone, others = "ijk"[hole], "ijk".replace("ijk"[hole], "")
            single, pair = "abc"[particle], "abc".replace("abc"[particle], "")
            sign = (-1) ** (hole + particle)
            found.append(("l" + pair + alone, others + single + "l", -sign))
            found.append(("d" + single + others, "d" + alone + pair, sign))
    return found


class Task:
    """A task of made-up numbers, whose target is an array of six indices, in C order."""

    def __init__(self, target: tuple[int, ...], contracted: tuple[int, ...]) -> None:
        self.extent = dict(zip("ijkabcld", (*target, *contracted)))
        numbers = np.random.default_rng(1)

        def made_up(names: str) -> np.ndarray:
            return numbers.uniform(-1, 1, [self.extent[x] for x in names])

        self.products = [(t2, v2, sign, made_up(t2), made_up(v2)) for t2, v2, sign in products()]
        self.target = np.empty(target)

    def operations(self) -> float:
        return 2.0 * self.target.size * 9 * (self.extent["l"] + self.extent["d"])

    def seconds(self) -> float:
        """Computes the task."""
        begin = time.perf_counter()
        for n, (t2, v2, sign, a, b) in enumerate(self.products):
            trifuse.contract(f"{t2},{v2}->ijkabc", a, b, out=self.target, alpha=sign, beta=1.0 if n else 0.0)
        return time.perf_counter() - begin

    def error(self, elements: int = 200) -> float:
        """Largest error of some elements, which plain sums compute again, relative to the sum of absolute values."""
        chosen = np.random.default_rng(2).integers(0, self.target.shape, (elements, 6))
        errors = []
        for element in chosen:
            at = dict(zip("ijkabc", element))
            terms = [sign * a[tuple(at.get(x, slice(None)) for x in t2)] * b[tuple(at.get(x, slice(None)) for x in v2)]
                     for t2, v2, sign, a, b in self.products]
            wrong = abs(self.target[tuple(element)] - sum(each.sum() for each in terms))
            if wrong != 0.0:  # an element of antisymmetric numbers may be a sum of zeros
                errors.append(wrong / sum(abs(each).sum() for each in terms))
        return float(np.max(errors, initial=0.0))


def dgemm_rate(size: int = 512) -> float:
    """Rate of a product of square matrices by the same library, in operations per second."""
    a, times = np.ones((size, size)), []
    for _ in range(5):
        begin = time.perf_counter()
        trifuse.contract("ik,kj->ij", a, a)
        times.append(time.perf_counter() - begin)
    return 2.0 * size**3 / min(times)


def measure(options: argparse.Namespace) -> measuring.Report:
    if options.gpu:
        kernels = {each["task"][2]: each for each in measuring.bench("--kernels", "--repeats", options.repeats)["kernels"]
                   if each["task"].startswith("S-")}
        return {"kernels": [{"size": name, "extents": SIZES[name][0], "contracted": SIZES[name][1],
                             "seconds": statistics.median(kernels[name]["seconds"]), "operations": kernels[name]["operations"],
                             "dgemm": kernels[name]["dgemm_8192_flops_per_second"],
                             "peak": kernels[name]["matrix_instruction_flops_per_second"]} for name in SIZES]}
    rows: list[dict[str, Any]] = []
    for name, sizes in SIZES.items():
        target, contracted = (tuple(max(1, round(options.share * n)) for n in each) for each in sizes)
        task = Task(target, contracted)
        task.seconds()  # the first call loads the library and plans
        rows.append({"size": name, "extents": target, "contracted": contracted, "operations": task.operations(),
                     "seconds": statistics.median(task.seconds() for _ in range(options.repeats)), "dgemm": dgemm_rate(),
                     "error": task.error()})
    if not all(row["error"] <= 1e-13 for row in rows):
        sys.exit(f"A contraction is wrong: {rows}")
    return {"share": options.share, "contractions": rows}


def show(report: measuring.Report) -> None:
    rows = report.get("kernels") or report["contractions"]
    head = ["size", "extents of i, j, k, a, b, c", "contracted", "ms", "rate", "share of DGEMM"]
    head += ["share of the matrix instruction", *OTHERS] if report["on a GPU"] else ["largest error"]
    table = []
    for row in rows:
        speed = row["operations"] / row["seconds"]
        table.append([row["size"], ", ".join(map(str, row["extents"])), " + ".join(map(str, row["contracted"])),
                      f"{1e3 * row['seconds']:.3f}", measuring.rate(speed), f"{speed / row['dgemm']:.2f}" if row["dgemm"] else "no cuBLAS"])
        if report["on a GPU"]:
            table[-1] += [f"{speed / row['peak']:.2f}", *(f"{other[row['size']] / DGEMM_OF_OTHERS:.2f}" for other in OTHERS.values())]
        else:
            table[-1].append(f"{row['error']:.0e}")
    measuring.table(head, table)
    if report["on a GPU"]:
        print("The last three columns are shares of DGEMM that were measured on one NVIDIA H200.")


def draw(report: measuring.Report, plt: Any) -> None:
    rows = report.get("kernels") or report["contractions"]
    names = [row["size"] for row in rows]
    series = {"Trifuse": [row["operations"] / row["seconds"] / (row["dgemm"] or row["peak"]) for row in rows]}
    if report["on a GPU"]:
        series |= {name: [other[size] / DGEMM_OF_OTHERS for size in names] for name, other in OTHERS.items()}
    measuring.grouped_bars(plt, names, series, "share of DGEMM")


def main() -> None:
    parser = measuring.parser(__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.5, help="on cores: share of each extent (default: 0.5)")
    measuring.reproduce(measuring.Reproduction("kim2018", TITLE, measure, show, draw), parser.parse_args())


if __name__ == "__main__":
    main()
