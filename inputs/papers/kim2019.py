#!/usr/bin/env python3
"""The 48 contractions of TCCG, with which Kim et al., CGO 2019, measure their code generator, beside cuTENSOR.

    python3 kim2019.py --gpu                  # the whole size -> kim2019.json
    python3 kim2019.py                        # a hundredth of the size on cores
"""

from __future__ import annotations

import argparse
import csv
import pathlib
from typing import Any

import measuring

TITLE = "Kim, Sukumaran-Rajam, Thumma, Krishnamoorthy, Panyala, Pouchet, Rountev, Sadayappan, CGO 2019"
CUTENSOR = measuring.HERE / "cutensor.csv"


def measure(options: argparse.Namespace) -> measuring.Report:
    report: Any = measuring.bench("--contractions", "--repeats", options.repeats, "--share", 1 if options.gpu else options.share,
                                  "--device", "cuda" if options.gpu else "cpu")["contractions"]
    if options.gpu:
        with open(options.cutensor, encoding="utf-8", newline="") as file:
            others = {int(row["number"]): float(row["flops_per_second"]) for row in csv.DictReader(file)}
        for each in report["results"]:
            each["cutensor_flops_per_second"] = others[each["number"]]
    return {"contractions": report}


def groups(report: measuring.Report) -> dict[str, list[dict[str, Any]]]:
    results = report["contractions"]["results"]
    found: dict[str, list[dict[str, Any]]] = {each["group"]: [] for each in results}
    for each in results:
        found[each["group"]].append(each)
    return found | {"all 48": results}


def ratios(results: list[dict[str, Any]]) -> list[float]:
    return [each["flops_per_second"] / each["cutensor_flops_per_second"] for each in results]


def show(report: measuring.Report) -> None:
    rows = []
    for name, results in groups(report).items():
        rows.append([name, str(len(results)), f"{measuring.geometric_mean([each['share_of_bound'] for each in results]):.2f}"])
        if report["on a GPU"]:
            others = [each["cutensor_flops_per_second"] / each["bound_flops_per_second"] for each in results]
            numbers = measuring.geometric_mean(others), measuring.geometric_mean(ratios(results)), min(ratios(results))
            rows[-1] += [f"{number:.2f}" for number in numbers]
    head = ["group", "contractions", "share of the bound"]
    measuring.table(head + (["share, cuTENSOR", "ratio", "smallest ratio"] if report["on a GPU"] else []), rows)
    print(f"Largest relative error: {max(each['error'] for each in report['contractions']['results']):.0e}. Means are geometric.")
    if report["on a GPU"]:
        print("cuTENSOR: the rates of the file --cutensor; those of cutensor.csv are of cuTENSOR 2.8.1 on one NVIDIA H100.")


def draw(report: measuring.Report, plt: Any) -> None:
    results = report["contractions"]["results"]
    numbers = [each["number"] for each in results]
    plt.bar([n - 0.2 for n in numbers], [each["share_of_bound"] for each in results], 0.4, label="Trifuse", color="#2a6fb0")
    if report["on a GPU"]:
        plt.bar([n + 0.2 for n in numbers], [each["cutensor_flops_per_second"] / each["bound_flops_per_second"] for each in results], 0.4,
                label="cuTENSOR", color="#c9862b")
    plt.xlabel("number of the contraction")
    plt.ylabel("share of the bound")
    plt.legend(frameon=False, fontsize=8)


def main() -> None:
    parser = measuring.parser(__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.01, help="on cores: share of the size (default: 0.01)")
    parser.add_argument("--cutensor", type=pathlib.Path, default=CUTENSOR, help="CSV file with the columns number and flops_per_second")
    measuring.reproduce(measuring.Reproduction("kim2019", TITLE, measure, show, draw), parser.parse_args())


if __name__ == "__main__":
    main()
