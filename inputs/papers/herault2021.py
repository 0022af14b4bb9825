#!/usr/bin/env python3
"""Integrals made when a task needs them, and blocks that symmetry makes zero: the two means of Herault et al., IPDPS 2021.

    python3 herault2021.py --gpu              # stored integrals, factors, little memory, eight irreps -> herault2021.json
    python3 herault2021.py --plan             # what trifuse.plan predicts for these cases; measures nothing
    python3 herault2021.py                    # small molecules on cores

Herault et al. make the tiles of their large operand on demand on the GPU that needs them. Trifuse makes panels of integrals from factors.
The numbers are made up, except for those of the energies, which are compared: from factors, and from integrals multiplied out.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
import trifuse

import measuring

TITLE = "Herault, Robert, Bosilca, Harrison, Lewis, Valeev, Dongarra, IPDPS 2021"


class Case(NamedTuple):
    occupied: int
    virtual: int
    naux: int | None = None
    irreps: int = 1
    memory: str | None = None


ON_GPU = (Case(40, 200), Case(40, 200, 800), Case(40, 200, memory="2500MiB"), Case(40, 200, 800, memory="2500MiB"),
          Case(40, 360), Case(40, 360, 1200), Case(64, 256, irreps=8), Case(64, 256, 1000, irreps=8))
ON_CORES = (Case(10, 32), Case(10, 32, 100), Case(16, 64, irreps=8), Case(16, 64, 200, irreps=8))
LONG = 20.0  # predicted seconds from which a case is measured once


def made_up_factors(occupied: int, virtual: int, naux: int, irreps: int) -> dict[str, Any]:
    """Arrays of trifuse.triples. A factor B[Q,p,q] is zero unless the irreps of Q, p and q multiply to the first one."""
    numbers = np.random.default_rng(1)
    irrep = [np.sort(np.arange(n) % irreps) for n in (naux, occupied, virtual)]

    def block(*which: int) -> Any:
        labels = np.zeros((1,) * len(which), dtype=int)
        for axis, kind in enumerate(which):
            labels = labels ^ irrep[kind].reshape([-1 if d == axis else 1 for d in range(len(which))])
        return numbers.uniform(-0.04, 0.04, labels.shape) * (labels == 0)

    oo, vv, t2 = block(0, 1, 1), block(0, 2, 2), block(1, 1, 2, 2)
    return {"factors_oo": oo + oo.transpose(0, 2, 1), "factors_ov": block(0, 1, 2), "factors_vv": vv + vv.transpose(0, 2, 1),
            "t1": block(1, 2), "t2": t2 + t2.transpose(1, 0, 3, 2), "eps_occ": -1 + 0.5 * np.sort(numbers.uniform(size=occupied)),
            "eps_vir": 0.5 + np.sort(numbers.uniform(size=virtual)), "irrep_occ": irrep[1], "irrep_vir": irrep[2]}


def multiplied_out(arrays: dict[str, Any]) -> dict[str, Any]:
    """The same arrays with stored integrals and without symmetry."""
    oo, ov, vv = (arrays["factors_" + pair] for pair in ("oo", "ov", "vv"))
    others = {name: values for name, values in arrays.items() if name.partition("_")[0] not in ("factors", "irrep")}
    return others | {name: trifuse.contract(f"Q{left},Q{right}->{left}{right}", a, b) for name, left, right, a, b in (
        ("ovvv", "ia", "bc", ov, vv), ("ovoo", "ia", "jk", ov, oo), ("ovov", "ia", "jb", ov, ov), ("oovv", "ij", "ab", oo, vv))}


def energies(device: str, occupied: int, virtual: int, naux: int) -> list[dict[str, Any]]:
    """E(T) from factors, and from stored integrals without symmetry."""
    rows = []
    for irreps in (1, 8):
        arrays = made_up_factors(occupied, virtual, naux, irreps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", trifuse.InputWarning)  # made-up amplitudes satisfy no equations
            ours, plain = (float(trifuse.triples(**each, device=device, check=False)) for each in (arrays, multiplied_out(arrays)))
        zeros = 1 - np.count_nonzero(arrays["t2"]) / arrays["t2"].size
        rows.append({"irreps": irreps, "E(T), factors": ours, "E(T), stored": plain, "zeros in t2": zeros})
        if not abs(ours - plain) <= 1e-11 * abs(plain):
            sys.exit(f"The energies from factors and from stored integrals differ: {rows}")
    return rows


def predicted(case: Case) -> dict[str, float]:
    """Memory, bytes and time on one H100, as trifuse.plan predicts them."""
    found = trifuse.plan(occupied=case.occupied, virtual=case.virtual, naux=case.naux, irreps=case.irreps, gpus=1, gpu_model="h100",
                         memory=case.memory).to_dict()["prediction"]
    return {"seconds": found["seconds_of"]["tasks"], "peak_bytes": found["memory"]["gpu"]["peak"], "bytes_sent": found["bytes_sent"],
            "operands_bytes": found["memory"]["rank_bytes"], "kernels": found["schedule"]["kernels"]}


def measured(case: Case, gpu: bool, repeats: int) -> dict[str, Any]:
    options: list[Any] = ["--occupied", case.occupied, "--virtual", case.virtual, "--irreps", case.irreps, "--form", "spin-adapted"]
    options += ["--factors", case.naux] if case.naux else []
    options += ["--memory", case.memory] if case.memory else []
    report = measuring.bench(*options, "--repeats", repeats, "--device", "cuda" if gpu else "cpu")["results"][0]
    row = {"tasks": report["tasks"], "operations": report["operations"], "seconds": statistics.median(report["seconds"])}
    if gpu:
        cuda = report["cuda"]
        row |= {"load_seconds": report["load_seconds"], "peak_bytes": cuda["peak_bytes"], "bytes_sent": cuda["bytes_sent"] / repeats,
                "bytes_made": cuda["bytes_made_from_factors"] / repeats,
                **{name: cuda["seconds"][name] / sum(report["seconds"]) for name in ("kernels", "copies")}}
    return row


def measure(options: argparse.Namespace) -> measuring.Report:
    if options.plan:
        return {"computed": "by the model of `trifuse plan`",
                "cases": [{**case._asdict(), "predicted": predicted(case)} for case in ON_GPU]}
    cases = []
    for case in ON_GPU if options.gpu else ON_CORES:
        plan = predicted(case)
        repeats = 1 if plan["seconds"] > LONG else options.repeats
        cases.append({**case._asdict(), "predicted": plan, "measured": measured(case, options.gpu, repeats)})
    return {"cases": cases, "energies": energies("cuda", 16, 64, 150) if options.gpu else energies("cpu", 8, 16, 40)}


def gib(number: float) -> str:
    return f"{number / 2**30:.1f} GiB" if number >= 2**30 else f"{number / 2**20:.1f} MiB"


def names(case: dict[str, Any]) -> list[str]:
    """The first columns of all tables."""
    return [f"{case['occupied']}, {case['virtual']}", str(case["irreps"]), f"{case['naux']} factors" if case["naux"] else "stored",
            case["memory"] or "all"]


def show_measured(report: measuring.Report) -> None:
    rows = []
    for case in report["cases"]:
        found, o, v = case["measured"], case["occupied"], case["virtual"]
        dense = 2 * o**3 * v**3 * (o + v)
        rows.append([*names(case), str(found["tasks"]), f"{dense / found['operations']:.2f}", f"{found['seconds']:.3f}"])
        if report["on a GPU"]:
            rows[-1] += [f"{found['load_seconds']:.2f}", *(gib(found[name]) for name in ("peak_bytes", "bytes_sent", "bytes_made")),
                         f"{100 * found['kernels']:.1f} %", f"{100 * found['copies']:.1f} %"]
    measuring.table(["orbitals", "irreps", "integrals", "memory", "tasks", "2 o³v³(o+v) / operations", "tasks / s",
                     *(["read / s", "GPU memory", "sent", "made", "in kernels", "in copies"] if report["on a GPU"] else [])], rows)
    measuring.table(["irreps", "zeros in t2", "E(T) / Eh from factors", "difference from stored integrals without symmetry"],
                    [[str(each["irreps"]), f"{100 * each['zeros in t2']:.1f} %", f"{each['E(T), factors']:.12f}",
                      f"{each['E(T), factors'] - each['E(T), stored']:.0e}"] for each in report["energies"]])


def show(report: measuring.Report) -> None:
    if "energies" in report:
        show_measured(report)
    print("`trifuse plan` predicts for one H100:\n")
    measuring.table(["orbitals", "irreps", "integrals", "memory", "operands on the host", "GPU memory", "sent", "tasks / s", "in kernels"],
                    [[*names(case), *(gib(case["predicted"][name]) for name in ("operands_bytes", "peak_bytes", "bytes_sent")),
                      f"{case['predicted']['seconds']:.3g}", f"{100 * case['predicted']['kernels']:.1f} %"] for case in report["cases"]])


def draw(report: measuring.Report, plt: Any) -> None:
    """Memory of the GPU and bytes that are sent to it, measured or else predicted."""
    found = [case["measured" if report["on a GPU"] else "predicted"] for case in report["cases"]]
    labels = ["\n".join((f"{case['occupied']}, {case['virtual']}", "factors" if case["naux"] else "stored",
                         case["memory"] or (f"{case['irreps']} irreps" if case["irreps"] > 1 else ""))) for case in report["cases"]]
    measuring.grouped_bars(plt, labels, {"memory of the GPU": [each["peak_bytes"] / 2**30 for each in found],
                                         "sent to it": [each["bytes_sent"] / 2**30 for each in found]},
                           "GiB" if report["on a GPU"] else "GiB, predicted")


def main() -> None:
    parser = measuring.parser(__doc__.splitlines()[0])
    parser.add_argument("--plan", action="store_true", help="only predict the cases of --gpu")
    measuring.reproduce(measuring.Reproduction("herault2021", TITLE, measure, show, draw), parser.parse_args())


if __name__ == "__main__":
    main()
