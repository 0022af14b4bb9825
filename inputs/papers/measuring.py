"""What the scripts of the papers share: their options, `trifuse bench`, and tables and pictures of stored measurements."""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

HERE = pathlib.Path(__file__).resolve().parent
COLORS = ("#2a6fb0", "#c9862b", "#8a8a8a", "#c1272d")
Report = dict[str, Any]


class Reproduction(NamedTuple):
    """What a script does with its paper."""

    paper: str
    """Name of the script and of its files."""
    title: str
    measure: Callable[[argparse.Namespace], Report]
    """Measures. Returns what the file of results gets besides the paper, "computed" (where and how long) and "on a GPU"."""
    show: Callable[[Report], None]
    """Prints the tables of such results."""
    draw: Callable[[Report, Any], None]
    """Draws them with matplotlib.pyplot in the current figure."""


def parser(description: str) -> argparse.ArgumentParser:
    """The options that all scripts have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--gpu", action="store_true", help="the sizes of the paper on a GPU; default: small ones on cores")
    options.add_argument("--repeats", type=int, default=5, help="runs of each measurement; the median counts (default: 5)")
    options.add_argument("-o", "--output", type=pathlib.Path, help="file of the results (default: with --gpu the name of the script, .json)")
    options.add_argument("--read", type=pathlib.Path, help="measure nothing; show the results of this file")
    options.add_argument("--picture", type=pathlib.Path, help="draw the results into this file, for example x.svg; needs matplotlib")
    return options


def reproduce(reproduction: Reproduction, options: argparse.Namespace) -> None:
    """Measures, or reads what was measured, and shows it."""
    if options.picture and not importlib.util.find_spec("matplotlib"):
        sys.exit("--picture needs matplotlib; install it, or leave the option out and draw later with --read.")
    if options.read:
        report = json.loads(options.read.read_text(encoding="utf-8"))
        if report.get("paper") != reproduction.title:
            sys.exit(f"{options.read} has no results of {reproduction.title}.")
    else:
        begin = time.time()
        measured = reproduction.measure(options)
        report = {"paper": reproduction.title, "computed": f"on {machine(options.gpu)} in {time.time() - begin:.0f} s",
                  "on a GPU": options.gpu, **measured}
        output = options.output or (pathlib.Path(reproduction.paper + ".json") if options.gpu else None)
        if output:
            output.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{report['paper']}\nComputed {report['computed']}\n")
    reproduction.show(report)
    if options.picture:
        save_picture(reproduction, report, options.picture)


def save_picture(reproduction: Reproduction, report: Report, path: pathlib.Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 10, "font.sans-serif": "DejaVu Sans", "svg.fonttype": "none", "svg.hashsalt": "trifuse",
                         "axes.spines.top": False, "axes.spines.right": False})
    plt.figure(figsize=(7, 3.4), layout="constrained")
    reproduction.draw(report, plt)
    plt.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def machine(gpu: bool) -> str:
    """The GPU and the cores."""
    cores = f"{len(os.sched_getaffinity(0))} cores ({platform.machine()})"
    if not gpu or not shutil.which("nvidia-smi"):
        return cores
    done = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, check=False)
    names = done.stdout.splitlines()
    return f"one {names[0].strip()} and {cores}" if names else cores


def bench(*arguments: Any) -> Report:
    """The report of `trifuse bench` with these arguments, whose own output goes to the standard error stream."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        command = [sys.executable, "-m", "trifuse", "bench", *map(str, arguments), "--json", str(path)]
        print("trifuse", *command[3:-2], file=sys.stderr, flush=True)
        if subprocess.run(command, stdout=sys.stderr.fileno(), check=False).returncode != 0:
            sys.exit("`trifuse bench` failed; its message stands above.")
        report: Report = json.loads(path.read_text(encoding="utf-8"))
        return report


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a table of Markdown."""
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def rate(operations_per_second: float) -> str:
    """With its unit: GF/s, or TF/s from 1000 GF/s on."""
    giga = operations_per_second * 1e-9
    return f"{giga * 1e-3:.1f} TF/s" if giga >= 1000 else f"{giga:.1f} GF/s"


def grouped_bars(plt: Any, labels: Sequence[str], series: Mapping[str, Sequence[float]], axis: str) -> None:
    """Bars of each series beside each other, one group for each label."""
    width = 0.8 / len(series)
    for n, (name, values) in enumerate(series.items()):
        left = (n - 0.5 * (len(series) - 1)) * width
        plt.bar([x + left for x in range(len(labels))], values, width, label=name, color=COLORS[n])
    plt.xticks(range(len(labels)), labels)
    plt.ylabel(axis)
    plt.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(series), frameon=False, fontsize=8)  # above the bars
