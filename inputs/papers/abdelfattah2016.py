#!/usr/bin/env python3
"""Batches of small products, the workload of Abdelfattah et al., ICCS 2016, beside cuBLAS.

    python3 abdelfattah2016.py --gpu          # 100,000 products of each size -> abdelfattah2016.json
    python3 abdelfattah2016.py                # 10,000 on cores, beside numpy.matmul
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np

import measuring

TITLE = "Abdelfattah, Baboulin, Dobrev, Dongarra, Earl, Falcou, Haidar, Karlin, Kolev, Masliah, Tomov, ICCS 2016"


def matmul_seconds(n: int, products: int, shared: bool, repeats: int) -> float:
    """Median time of numpy.matmul for the same batch."""
    numbers = np.random.default_rng(1)
    a, b = numbers.uniform(-1, 1, (n, n) if shared else (products, n, n)), numbers.uniform(-1, 1, (products, n, n))
    out, times = np.empty_like(b), []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        np.matmul(a, b, out=out)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def measure(options: argparse.Namespace) -> measuring.Report:
    products = options.products or (100_000 if options.gpu else 10_000)
    report: Any = measuring.bench("--contractions", "--batched", products, "--repeats", options.repeats,
                                  "--device", "cuda" if options.gpu else "cpu")["contractions"]
    rows = []
    for each in report["results"]:
        n, shared = int(each["group"].removeprefix("n = ")), each["contraction"].startswith("ik,")
        other = each.get("cublas_seconds") if options.gpu else matmul_seconds(n, products, shared, options.repeats)
        rows.append({"n": n, "shared": shared, "other_seconds": other,
                     **{name: each[name] for name in ("seconds", "flops_per_second", "share_of_bound", "error")}})
    return {"products": products, "other": "cuBLAS" if options.gpu else "numpy.matmul", "batches": rows}


def ratio(row: dict[str, Any]) -> str:
    return f"{row['other_seconds'] / row['seconds']:.2f}" if row["other_seconds"] else "not installed"


def show(report: measuring.Report) -> None:
    own, shared = ([row for row in report["batches"] if row["shared"] is which] for which in (False, True))
    measuring.table(["n", "own A: rate", "share of the bound", f"{report['other']} / Trifuse", "shared A: rate", "share of the bound",
                     f"{report['other']} / Trifuse"],
                    [[str(left["n"]), *(text for row in (left, right) for text in (measuring.rate(row["flops_per_second"]),
                                                                                   f"{row['share_of_bound']:.2f}", ratio(row)))]
                     for left, right in zip(own, shared)])
    print(f"{report['products']} products each. Abdelfattah et al., n = 8, K40c: cuBLAS / theirs 2.8; 90 % or more of their bound.")


def draw(report: measuring.Report, plt: Any) -> None:
    own, shared = ([row for row in report["batches"] if row["shared"] is which] for which in (False, True))
    series = {name: [row["share_of_bound"] for row in rows] for name, rows in (("own A", own), ("shared A", shared))}
    measuring.grouped_bars(plt, [str(row["n"]) for row in own], series, "share of the bound")
    plt.xlabel("n of the n x n matrices")


def main() -> None:
    parser = measuring.parser(__doc__.splitlines()[0])
    parser.add_argument("--products", type=int, help="products of a batch")
    measuring.reproduce(measuring.Reproduction("abdelfattah2016", TITLE, measure, show, draw), parser.parse_args())


if __name__ == "__main__":
    main()
