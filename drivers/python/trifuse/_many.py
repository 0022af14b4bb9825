"""trifuse.triples_many."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Callable, Literal, Union, cast, overload

from . import _library
from ._calculation import ends_run, give_warnings, progress_bar, warned_by_caller
from ._interface import run, triples
from ._options import (Options, PathLike, gpu_numbers, integer, refuse_gpus_of_cores, refuse_unknown, shown, taking, truth,
                       with_new_names)
from .errors import CancelledError, Error, InputError, InputWarning, ResourceError, UsageError
from .result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

Molecule = Union[Mapping[str, Any], PathLike]
Outcome = Union[Result, Error]

CALLS_FOR_EACH_GPU = 2
"""While the GPU computes one molecule, cores check and read the next one."""


@overload
def triples_many(molecules: Iterable[Molecule], *, workers: int | None = None, return_errors: Literal[False] = False,
                 **options: Unpack[Options]) -> list[Result]: ...
@overload
def triples_many(molecules: Iterable[Molecule], *, workers: int | None = None, return_errors: bool,
                 **options: Unpack[Options]) -> list[Outcome]: ...


@taking(Options)
def triples_many(
    molecules: Iterable[Molecule],
    *,
    workers: int | None = None,
    return_errors: bool = False,
    **options: Unpack[Options],
) -> Any:
    """Computes the triples correction of many molecules, several of them at the same time.

    This is faster than a loop if the molecules are small. Each molecule has the energies, to the last bit, that it has
    alone on the same kind of device. Exceptions and warnings name the molecule by its position or path.

    Parameters
    ----------
    molecules
        For each molecule the arguments of `triples` as a mapping, or the path of a dump or of NWChem's files. A generator
        makes each mapping when a worker is free for it, so that few molecules are in memory.
    workers
        Number of molecules at the same time. Default: two for each GPU; without GPUs one for each thread. Fewer workers
        need less memory.
    return_errors
        True: the list has the exception of a molecule in the place of its result: a trifuse.Error, whose sentence names the
        molecule by its position or path. False: the first exception ends the call.
    threads
        Number of threads of all workers together. Default: the cores that this process may use.
    gpus
        The numbers of the GPUs. Each molecule is computed on one of them. Default: all GPUs, for molecules that are large
        enough.
    progress
        As in `triples`, but it counts molecules. A function progress(done, total) is called after each molecule; total
        is infinite (math.inf) if the molecules have no length.

    The other parameters are those of `triples`, for all molecules. An argument of a molecule has precedence.

    Returns
    -------
    list of Result
        In the order of the molecules.

    Examples
    --------
    >>> import numpy as np, trifuse
    >>> def pair(v):
    ...     return dict(eps_occ=[-0.5], eps_vir=np.arange(1.0, v + 1), t1=np.zeros((1, v)), t2=np.zeros((1, 1, v, v)),
    ...                 ovvv=np.zeros((1, v, v, v)), ovoo=np.zeros((1, v, 1, 1)), ovov=np.zeros((1, v, 1, v)))
    >>> [float(result) for result in trifuse.triples_many(pair(v) for v in (2, 3, 4))]
    [0.0, 0.0, 0.0]
    """
    refuse_unknown(options, Options)
    options = with_new_names(options)
    return_errors = truth("return_errors", return_errors)
    if options.get("journal") is not None:
        raise UsageError("A journal belongs to one molecule; give each molecule its own, or none.")
    if isinstance(molecules, (str, bytes, Mapping)) or not isinstance(molecules, Iterable) or getattr(molecules, "shape", None) == ():
        raise UsageError(f"molecules is {shown(molecules)}, but it must be a list of molecules; for one molecule: [molecule].")
    total = len(molecules) if isinstance(molecules, Sized) else 0
    calls = _Calls(workers, options, total)
    outcomes: dict[int, Outcome] = {}
    with _progress(options.get("progress"), total) as tell, calls.running():
        pending: dict[Future[Result], tuple[int, str]] = {}
        for number, molecule in enumerate(molecules):
            pending[calls.start(molecule)] = number, _name_of(number, molecule)
            if len(pending) > calls.workers:
                _collect(pending, outcomes, return_errors)
                tell(len(outcomes))
        while pending:
            _collect(pending, outcomes, return_errors)
            tell(len(outcomes))
    return [outcomes[number] for number in range(len(outcomes))]


def _collect(pending: dict[Future[Result], tuple[int, str]], outcomes: dict[int, Outcome], return_errors: bool) -> None:
    """Waits for at least one pending call, and moves the calls that have ended to `outcomes`."""
    for future in wait(pending, return_when=FIRST_COMPLETED).done:
        number, name = pending.pop(future)
        try:
            result = outcomes[number] = future.result()
            give_warnings(result, f"{name}: ", stacklevel=4)
        except Exception as error:
            if not return_errors and not isinstance(error, Error):
                raise  # an exception of the caller's own array
            named = _named(name, error)
            if not return_errors:
                raise named from error
            outcomes[number] = named


def _name_of(number: int, molecule: Any) -> str:
    """The words that name a molecule in a sentence: its position in the list, and its path."""
    path = "" if isinstance(molecule, Mapping) else f", {shown(molecule)}"
    return f"molecules[{number}]{path}"


def _named(name: str, error: Exception) -> Error:
    """The exception of a molecule as one of this package whose sentence names the molecule."""
    kind = type(error) if isinstance(error, Error) else ResourceError if isinstance(error, (MemoryError, OSError)) else InputError
    sentence = str(error) if isinstance(error, (Error, InputWarning)) else f"{type(error).__name__}: {error}"
    prefix = f"{name}: "
    named = kind(prefix + sentence.removeprefix(prefix))
    named.__cause__ = error
    return named


class _Calls:
    """Calls of `triples` and `run` in threads, with the threads and the GPU of each call."""

    def __init__(self, workers: int | None, options: Options, molecules: int) -> None:
        """`molecules`: their number; 0: not known."""
        stated = options.get("threads")
        threads = 0 if stated is None else integer("threads", stated)
        threads = threads or _cores()
        gpus = gpus_of(options, _library.library().gpu_count)
        self.workers = integer("workers", workers) if workers is not None else CALLS_FOR_EACH_GPU * len(gpus) or threads
        if molecules > 0:  # the threads of workers without a molecule help the others
            self.workers = min(self.workers, molecules)
        if self.workers < 1 or threads < 1:
            raise UsageError(f"{self.workers} workers with {threads} threads are not possible; give at least 1.")
        self._options = options.copy()
        self._options["threads"] = max(1, threads // self.workers)
        self._options["progress"] = lambda done, total: not self._cancelled.is_set()
        self._cancelled = threading.Event()
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for worker in range(self.workers):
            self._free.put(gpus[worker % len(gpus)] if gpus else -1)
        self._executor = ThreadPoolExecutor(self.workers, "trifuse", lambda: bool(warned_by_caller.set(True)))

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Ends all calls at the end of a `with` block: an exception cancels them."""
        try:
            yield
        except BaseException:
            self._cancelled.set()
            self._executor.shutdown(wait=False, cancel_futures=True)
            raise
        self._executor.shutdown()

    def start(self, molecule: Molecule) -> Future[Result]:
        """Starts a call when a thread is free."""
        return self._executor.submit(self._compute, molecule)

    def _compute(self, molecule: Molecule) -> Result:
        gpu = self._free.get()
        try:
            options = {**self._options, **on_gpu(gpu, self._options)}
            if isinstance(molecule, Mapping):
                if molecule.get("device") == "cpu":  # it has no use for the GPU of this call
                    options = {name: value for name, value in options.items() if name != "gpus"}
                return triples(**cast(Any, _arguments(options, molecule)))
            return run(molecule, **cast(Options, options))
        finally:
            self._free.put(gpu)


def _arguments(options: Mapping[str, Any], molecule: Mapping[Any, Any]) -> dict[str, Any]:
    """The arguments of `triples` for a molecule, which may be an open dump."""
    arguments = {**options, **molecule}
    for name in arguments:
        if not isinstance(name, str):
            raise UsageError(f"{shown(name)} is not the name of an argument; names are texts, for example \"t1\".")
    return arguments


def gpus_of(options: Options, count: Callable[[], int]) -> list[int]:
    """The numbers of the GPUs on which molecules may be computed. `count`: says how many GPUs there are."""
    refuse_gpus_of_cores(options)
    if (numbers := options.get("gpus")) is not None:
        return gpu_numbers(numbers)
    return [] if options.get("device") == "cpu" else list(range(count()))


def on_gpu(gpu: int, options: Options) -> Options:
    """The options that put a molecule on GPU `gpu`; -1: on none. If the user says nothing, small molecules use cores."""
    if gpu < 0:
        return {}
    if options.get("gpus") is None:
        return {"gpus": [gpu], "device": options.get("device", "auto")}
    return {"gpus": [gpu]}


def _cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def _progress(progress: Any, total: int) -> Iterator[Callable[[int], None]]:
    """A function that tells the user how many molecules are done."""
    if callable(progress):

        def tell(done: int) -> None:
            if ends_run(progress(done, total or math.inf)):
                raise CancelledError(f"The progress function ended the calculation after {done} molecules.")

        yield tell
        return
    bar = progress_bar(progress, desc="(T)", unit=" molecules", total=total or None)
    if bar is None:
        yield lambda done: None
        return
    with bar:
        yield lambda done: bar.update(done - bar.n)
