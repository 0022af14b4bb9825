"""The program `trifuse`, which comes with the package: trifuse.plan, and the command `trifuse`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from ._options import PathLike, byte_count, integer, number, path_bytes, several, shown, word
from ._places import program_path
from .errors import Error, InputError, InternalError, ResourceError, UsageError

_ERRORS: dict[int, type[Error]] = {1: InputError, 2: UsageError, 3: ResourceError}


class Plan:
    """A predicted job: memory, bytes moved, time, efficiency. print() shows the report."""

    def __init__(self, text: str, report: Mapping[str, Any]) -> None:
        self._text, self._report = text, dict(report)

    @property
    def seconds(self) -> float:
        """Predicted time of the whole job, seconds."""
        value: float = self._report["prediction"]["seconds"]
        return value

    @property
    def efficiency(self) -> float:
        """Share of the GPUs' time in which a kernel runs, 0 to 1."""
        value: float = self._report["prediction"]["schedule"]["efficiency"]
        return value

    def to_dict(self) -> dict[str, Any]:
        """The whole report as a dictionary, with the members of drivers/docs/report.schema.json."""
        copy: dict[str, Any] = json.loads(json.dumps(self._report))
        return copy

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<trifuse.Plan of {self.seconds:.2f} s>"


def plan(
    path: PathLike | None = None,
    *,
    occupied: int | None = None,
    virtual: int | None = None,
    naux: int | None = None,
    irreps: int | None = None,
    reference: str | None = None,
    gpus: int | None = None,
    ranks: int | None = None,
    nodes: int | None = None,
    gpu_model: str | None = None,
    memory: int | str | None = None,
    method: str | Sequence[str] | None = None,
    derivatives: str | None = None,
    form: str | None = None,
    tile_size: int | None = None,
    precision: str | None = None,
    assume: Mapping[str, float] | None = None,
    measured: Sequence[PathLike] = (),
    trace: PathLike | None = None,
) -> Plan:
    """Predicts memory, bytes moved, time and efficiency of a job, as `trifuse plan` does (drivers/docs/planning.md).

    Parameters
    ----------
    path
        Amplitudes: a Trifuse dump or NWChem's files. Without them give occupied and virtual.
    occupied, virtual, naux, irreps, reference
        Numbers of orbitals of each spin, number of auxiliary functions (if integrals come from factors), number of
        irreps (1, 2, 4, 8), rhf or uhf.
    gpus, ranks, nodes
        Numbers of all nodes together. The ranks (processes) share the GPUs evenly. gpus=0: only CPU cores. Without ranks
        there is one for each node.
    gpu_model, memory
        h200, h100, h100-pcie, a100, a100-40gb, b200, gb10, l40s, a6000, rtx4090 or rtx5090; memory to use on each GPU, a
        number of bytes or a text with a unit, for example "40GiB".
    method
        Triples method or a list of some, as of trifuse.triples; default: "t".
    derivatives
        t or all: those that the run computes (drivers/docs/derivatives.md).
    form, tile_size
        auto, spin-orbital or spin-adapted; the largest tile.
    precision
        double, or mixed with its sample in double precision.
    assume
        Numbers of the machine model, for example {"network": 100e9}.
    measured
        JSON reports of measured runs, to compare with their predictions.
    trace
        File that gets the predicted timeline as a Chrome trace, for ui.perfetto.dev and trifuse.plot.timeline.

    Examples
    --------
    >>> import trifuse
    >>> job = trifuse.plan(occupied=10, virtual=60, gpus=2)
    >>> 0 < job.efficiency <= 1
    True
    """
    arguments = [] if path is None else [_name("path", path)]
    options = {"reference": reference, "gpu_model": gpu_model, "form": form, "precision": precision,
               "derivatives_of": derivatives}
    numbers = {"occupied": occupied, "virtual": virtual, "naux": naux, "irreps": irreps, "gpus": gpus, "ranks": ranks, "nodes": nodes,
               "tile_size": tile_size}
    values = {**{name: word(name, value) for name, value in options.items() if value is not None},
              **{name: str(integer(name, value)) for name, value in numbers.items() if value is not None}}
    if method is not None:
        values["method"] = ",".join(word("method", name) for name in several(method))
    if memory is not None:
        values["memory"] = str(byte_count("memory", memory))
    if trace is not None:
        values["trace"] = _name("trace", trace)
    for name, value in values.items():
        arguments += ["--" + name.replace("_", "-"), value]
    if not isinstance(assume, (Mapping, type(None))):
        raise UsageError(f"assume is {shown(assume)}, but it must be a mapping, for example {{\"network\": 100e9}}.")
    for name, assumed in (assume or {}).items():
        arguments += ["--assume", f"{word('A name in assume', name)}={number(name, assumed)!r}"]
    for each in [measured] if isinstance(measured, (str, os.PathLike)) else measured:
        arguments += ["--measured", _name("measured", each)]
    with tempfile.TemporaryDirectory(prefix="trifuse-") as folder:
        report = os.path.join(folder, "plan.json")
        command = [str(program_path()), "plan", *arguments, "--json", report]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sentence = done.stderr.strip().split("\n")[0].removeprefix("trifuse: ")
            raise _ERRORS.get(done.returncode, InternalError)(
                sentence or f"The program {command[0]} ended with exit code {done.returncode}.")
        with open(report, encoding="utf-8") as file:
            return Plan(done.stdout, json.load(file))


def _name(option: str, path: Any) -> str:
    return os.fsdecode(path_bytes(option, path))


def main() -> None:
    """The command `trifuse` of an installed package: becomes the program."""
    path = str(program_path())
    os.execv(path, [path, *sys.argv[1:]])
