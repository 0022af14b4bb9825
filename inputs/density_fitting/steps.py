"""What the scripts that compute several points on a GPU or on cores share: arrays, memory, times, and the file of their points."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pathlib
import sys
import time
import warnings
from typing import Any, Callable, Sequence

import numpy as np
import trifuse


def array_library(gpu: bool) -> Any:
    """CuPy, or NumPy."""
    return importlib.import_module("cupy") if gpu else np


def on_host(xp: Any, array: Any) -> np.ndarray:
    return np.asarray(array if xp is np else xp.asnumpy(array))


def release(xp: Any) -> None:
    """CuPy and Trifuse keep memory of the GPU for their next calls. This gives it back, because both need most of it."""
    if xp is not np:
        xp.get_default_memory_pool().free_all_blocks()
        trifuse.release_memory()


def devices(xp: Any) -> str:
    cores = f"{len(os.sched_getaffinity(0))} cores"
    return cores if xp is np else f"one {xp.cuda.runtime.getDeviceProperties(0)['name'].decode()} and {cores}"


class Times(dict[str, float]):
    """Seconds of each step. Prints them."""

    def __init__(self) -> None:
        super().__init__()
        self.last = time.time()

    def done(self, step: str) -> None:
        now = time.time()
        self[step], self.last = round(now - self.last, 2), now
        print(f"  {step}: {self[step]:.1f} s", flush=True)


class Triples:
    """Corrections of one point: each call adds those of a run of trifuse.triples with the same arrays, which the first one checks."""

    def __init__(self, xp: Any, inputs: dict[str, Any], memory: str | None, times: Times) -> None:
        self.xp, self.times = xp, times
        self.inputs = inputs | {"device": "cpu" if xp is np else "cuda", "memory": memory}
        self.corrections: dict[str, float] = {}

    def __call__(self, step: str, **arguments: Any) -> None:
        release(self.xp)
        with warnings.catch_warnings():
            check = not self.corrections
            if not check:
                warnings.simplefilter("ignore", trifuse.InputWarning)  # it says that nothing is checked
            result = trifuse.triples(**self.inputs, **arguments, check=check)
        for e in result.energies:
            self.corrections[e.method + (f", ω² = {e.omega2:g}" if e.omega2 else "")] = e.e_t
        release(self.xp)
        self.times.done(step)


def parser(description: str, output: pathlib.Path, basis: str, omega2: tuple[float, ...]) -> argparse.ArgumentParser:
    """The options that all scripts have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--basis", default=basis)
    options.add_argument("--gpu", action="store_true", help="compute on a GPU; needs CuPy")
    options.add_argument("--omega2", type=float, nargs="*", default=omega2, help="of Reg-CCSD(T), hartree")
    options.add_argument("--threshold", type=float, default=1e-6, help="of the factors, hartree")
    options.add_argument("--tolerance", type=float, default=1e-6, help="largest norm of the change of the amplitudes")
    options.add_argument("--memory", help='of the triples on the GPU, for example "20 GiB", if the GPU has other work, too')
    options.add_argument("--verbose", action="store_true", help="print every cycle of CCSD")
    options.add_argument("-o", "--output", type=pathlib.Path, default=output)
    return options


def compute(path: pathlib.Path, facts: dict[str, Any], name: str, values: Sequence[Any], point: Callable[[Any, Any], Any]) -> None:
    """Writes the facts and the points at these values to a file of JSON, after each point. Leaves out those that it has.

    point(value, state): the energies of a point, which get the value under `name`, and what the next point starts from.
    """
    report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else facts | {"points": []}
    for fact in ("molecule", "basis"):
        if report[fact] != facts[fact]:
            sys.exit(f"{path} has points of {report[fact]}, not of {facts[fact]}; choose another file with -o.")
    state = None
    for value in values:
        if any(each[name] == value for each in report["points"]):
            continue
        print(f"{name} = {value}", flush=True)
        energies, state = point(value, state)
        report["points"].append({name: value} | energies)
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
