"""Pictures of plans and energies. Needs the package matplotlib.

    python3 -m trifuse.plot scaling plan.json -o scaling.svg        # of trifuse plan --json plan.json
    python3 -m trifuse.plot timeline trace.json -o timeline.svg     # of trifuse plan --trace trace.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Union

from ._options import PathLike
from ._program import Plan
from .errors import Error, InputError, UsageError
from .result import Result

KERNELS, COPIES, WHOLE, MEASURED = "#2a6fb0", "#d9822b", "#3a9e5c", "#b03a2e"

PlanLike = Union[Plan, Mapping[str, Any], PathLike]


def scaling(plan: PlanLike, ax: Any = None) -> Any:
    """Draws the predicted efficiency in per cent against the number of GPUs (or ranks, without GPUs).

    One curve is the share of the GPUs' time in which kernels run. The other one is the speed of the whole job for each
    GPU, with starting and planning, relative to the first point. Measured runs of the same job are points.

    Parameters
    ----------
    plan
        A Plan, its dictionary, or a report of `trifuse plan --json`.
    ax
        Axes of matplotlib to draw into. Default: a new figure.

    Returns
    -------
    The axes.
    """
    report = _read(plan, "plan")
    points = report["curve"]
    unit = "gpus" if report["prediction"]["gpus"] > 0 else "ranks"
    numbers = [point[unit] for point in points]
    ax = _axes() if ax is None else ax
    ax.plot(numbers, [100 * point["schedule"]["efficiency"] for point in points], "o-", color=KERNELS, label="tasks, predicted")
    ax.plot(numbers, [100 * point["scaling"] for point in points], "s-", color=WHOLE, label="whole job, predicted")
    first = points[0][unit] * points[0]["seconds_of"]["tasks"] * points[0]["schedule"]["efficiency"]
    measured = [run for run in report.get("measured", ()) if unit == "gpus" and run["gpus"] > 0
                and math.isclose(run["prediction"]["operations"], report["prediction"]["operations"], rel_tol=1e-6)]
    if measured:
        ax.plot([run["gpus"] for run in measured], [100 * first / (run["gpus"] * run["task_seconds"]) for run in measured],
                "D", color=MEASURED, label="tasks, measured")
    ax.set_xscale("log", base=2)
    ax.set_xticks(numbers, [str(number) for number in numbers])
    ax.minorticks_off()
    ax.set_ylim(0, 105)
    ax.set_xlabel(f"GPUs ({report['gpu_model']})" if unit == "gpus" else "ranks")
    ax.set_ylabel("efficiency / %")
    ax.set_title(f"Predicted strong scaling: {_operations(report['operations'])}, {report['form']} form")
    ax.grid(True, alpha=0.3)
    ax.legend()
    return ax


def timeline(trace: Mapping[str, Any] | PathLike, ax: Any = None) -> Any:
    """Draws what each GPU does during the tasks: kernels as thick bars, arriving panels as thin bars.

    Parameters
    ----------
    trace
        A file of `trifuse plan --trace` or trifuse.plan(trace=...), or its contents.
    ax
        Axes of matplotlib to draw into. Default: a new figure.

    Returns
    -------
    The axes.
    """
    contents = _read(trace, "trace")
    events = contents["traceEvents"]
    gpus = [event["pid"] for event in events if event["name"] == "process_name"]
    ax = _axes(height=1.2 + 0.22 * len(gpus)) if ax is None else ax
    for name, color, low, height in (("kernel", KERNELS, -0.25, 0.65), ("copy", COPIES, -0.45, 0.2)):
        for row, gpu in enumerate(gpus):
            spans = _joined([(event["ts"] * 1e-6, event["dur"] * 1e-6) for event in events
                             if event["ph"] == "X" and event["name"] == name and event["pid"] == gpu],
                            contents["otherData"]["seconds"] / 1500)
            ax.broken_barh(spans, (row + low, height), facecolors=color,
                           label={"kernel": "kernels", "copy": "panels arriving"}[name] if row == 0 else None)
    about = contents["otherData"]
    ax.set_yticks(range(len(gpus)), [f"GPU {gpu}" for gpu in gpus], fontsize=8)
    ax.set_ylim(len(gpus) - 0.5, -0.5)
    ax.set_xlim(0, about["seconds"])
    ax.set_xlabel("seconds")
    ax.set_title(f"Predicted tasks on {about['gpus']} GPUs ({about['gpu_model']}), {100 * about['efficiency']:.1f} % in kernels")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12 - 0.6 / max(4, len(gpus))), ncol=2, frameon=False)
    return ax


def energies(x: Sequence[float], curves: Mapping[str, Sequence[float | Result]], ax: Any = None, *, xlabel: str = "") -> Any:
    """Draws curves of energies, for example along a bond.

    Parameters
    ----------
    x
        The coordinate, for example bond lengths in angstrom.
    curves
        For each name the energies in hartree at each x. A Result counts with its total energy, or with E(T) if the total
        energy is not known.
    ax
        Axes of matplotlib to draw into. Default: a new figure.
    xlabel
        Name and unit of the coordinate.

    Returns
    -------
    The axes.
    """
    ax = _axes() if ax is None else ax
    for name, values in curves.items():
        if len(values) != len(x):
            raise UsageError(f"The curve {name} has {len(values)} energies, but there are {len(x)} values of x.")
        ax.plot(x, [_energy(value) for value in values], "o-", markersize=3, label=name)
    ax.set_xlabel(xlabel)
    ax.set_ylabel("E / hartree")
    ax.grid(True, alpha=0.3)
    ax.legend()
    return ax


def _operations(number: float) -> str:
    """A number of floating-point operations with the unit of the program's texts, for example 3.76 TF."""
    prefixes = iter(("", "k", "M", "G", "T", "P"))
    while number >= 999.5 and (prefix := next(prefixes, None)) is not None:
        number *= 1e-3
    return f"{number:.3g} {next(prefixes, 'E')}F"


def _joined(spans: Sequence[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Spans (begin, length) in ascending order. Spans less than `gap` apart are joined."""
    joined: list[tuple[float, float]] = []
    for begin, length in spans:
        if joined and begin - sum(joined[-1]) < gap:
            begin, length = joined[-1][0], max(sum(joined[-1]), begin + length) - joined[-1][0]
            joined.pop()
        joined.append((begin, length))
    return joined


def _energy(value: float | Result) -> float:
    if isinstance(value, Result):
        return value.e_t if value.e_tot is None else value.e_tot
    return float(value)


def _axes(height: float = 4.2) -> Any:
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError as error:
        raise UsageError(f"Pictures need the package {error.name}; install matplotlib with pip.") from error
    return pyplot.subplots(figsize=(7.0, height), layout="constrained")[1]


def _read(source: Any, kind: str) -> Mapping[str, Any]:
    """A report of this kind: `source` itself, or the contents of the file of this name."""
    if isinstance(source, Plan):
        report: Any = source.to_dict()
    elif isinstance(source, Mapping):
        report = source
    else:
        name = os.fspath(source)
        try:
            with open(name, encoding="utf-8") as file:
                report = json.load(file)
        except (OSError, ValueError) as error:
            raise InputError(f"{name}: this file cannot be read as JSON ({error}).") from error
    if not isinstance(report, Mapping) or report.get("report") != kind:
        raise InputError(f"This is not a {kind} of `trifuse plan`; make one with "
                         f"{'--json' if kind == 'plan' else '--trace'}.")
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `python3 -m trifuse.plot`. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python3 -m trifuse.plot", description="Draw reports of `trifuse plan`.")
    parser.add_argument("kind", choices=("scaling", "timeline"))
    parser.add_argument("report", help="file of --json (scaling) or --trace (timeline)")
    parser.add_argument("-o", "--output", required=True, help="picture: .svg, .pdf or .png")
    options = parser.parse_args(arguments)
    try:
        matplotlib = importlib.import_module("matplotlib")
        matplotlib.use("agg")
        matplotlib.rcParams.update({"svg.hashsalt": "trifuse", "svg.fonttype": "none"})  # the same file each time
        draw = scaling if options.kind == "scaling" else timeline
        metadata = {"Date": None} if options.output.endswith(".svg") else None
        draw(options.report).figure.savefig(options.output, metadata=metadata)
    except (ModuleNotFoundError, Error, OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
