"""A run of the library: its options, its progress, its messages and its result."""

from __future__ import annotations

import contextvars
import ctypes
import json
import logging
import math
import re
import sys
import threading
import warnings
from collections.abc import Collection, Sequence
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from . import _library
from ._arrays import Amplitudes, Description
from ._interrupt import interruptible
from ._options import (Options, PathLike, Progress, ProgressFunction, option_text, path_bytes, refuse_gpus_of_cores, truth,
                       with_new_names)
from .errors import Error, InputWarning, UsageError
from .result import Result

LOGGER = logging.getLogger("trifuse")

LogFunction = Callable[[bool, str], None]
"""Receives messages instead of the logger and the module `warnings`: (True for a warning, line)."""

warned_by_caller: contextvars.ContextVar[bool] = contextvars.ContextVar("warned_by_caller", default=False)
"""True in threads whose runs give no warnings, because the caller gives those of the results."""

def run_arrays(right: Amplitudes, left: Amplitudes | None, options: Options, log: LogFunction | None = None) -> Result:
    """Computes the triples of amplitudes in memory."""
    options = with_new_names(options)
    _expect_derivatives(options.get("derivatives"), right, left)

    def compute(following: _Following) -> Result:
        with Handles() as handles:
            descriptions = [Description(each) for each in (right, left) if each is not None]
            amplitudes = [handles.amplitudes("new_dense_amplitudes", ctypes.byref(each.structure)) for each in descriptions]
            return _run(handles, amplitudes, options, following, descriptions, log)

    return _followed(compute, options, log)


def run_files(right: PathLike, left: PathLike | None, options: Options) -> Result:
    """Computes the triples of amplitudes in files."""
    options = with_new_names(options)

    def compute(following: _Following) -> Result:
        with Handles() as handles:
            paths = [path_bytes("path", right), *([] if left is None else [path_bytes("left", left)])]
            amplitudes = [handles.amplitudes("open_unverified_amplitudes", path, n) for n, path in enumerate(paths)]
            return _run(handles, amplitudes, options, following, [], None)

    return _followed(compute, options, None)


def _followed(compute: Callable[[_Following], Result], options: Options, log: LogFunction | None) -> Result:
    """Calls `compute` so that Ctrl-C cancels it, with a progress bar, and gives the warnings of the result."""
    bar, progress = _progress_of(options.get("progress"))
    following = _Following(progress)
    try:
        result = interruptible(lambda: compute(following), following.cancel)
    finally:
        if bar is not None:
            bar.close()
    if log is None and not warned_by_caller.get():
        give_warnings(result, stacklevel=5)
    return result


def give_warnings(result: Result, prefix: str = "", stacklevel: int = 2) -> None:
    """Gives the warnings of a result to the module `warnings`. `prefix`: the words before each of them."""
    for warning in result.warnings:
        warnings.warn(prefix + warning, InputWarning, stacklevel=stacklevel)


class Handles:
    """Handles of the library, which are deleted at the end of a `with` block."""

    def __init__(self) -> None:
        self._handles: list[tuple[str, int]] = []

    def __enter__(self) -> Handles:
        return self

    def __exit__(self, *_: object) -> None:
        while self._handles:
            _library.library().delete(*self._handles.pop())

    def amplitudes(self, function: str, *arguments: Any) -> int:
        """Calls a function that returns amplitudes."""
        return self._own("amplitudes", function, *arguments)

    def calculation(self, right: int, left: int | None) -> int:
        """Makes a calculation."""
        return self._own("calculation", "new_calculation", right, left)

    def _own(self, kind: str, function: str, *arguments: Any) -> int:
        handle: int = _library.library().call(function, *arguments)
        self._handles.append((kind, handle))
        return handle


def ends_run(answer: Any) -> bool:
    """True if a progress function has returned False, of Python or of NumPy."""
    return isinstance(answer, (bool, np.bool_)) and not answer


class _Following:
    """Follows a run for a function of the caller, and cancels it."""

    def __init__(self, progress: ProgressFunction | None) -> None:
        cancelled = threading.Event()
        failures: list[BaseException] = []

        def follow(_context: int, done: float, total: float) -> int:
            if cancelled.is_set():
                return 1
            try:
                return 1 if progress is not None and ends_run(progress(done, total or math.inf)) else 0
            except BaseException as error:  # cannot pass through the library
                failures.append(error)
                return 1

        self.cancel = cancelled.set
        self.failures = failures
        self.callback = _library.Progress(follow)


def _run(handles: Handles, amplitudes: list[int], options: Options, following: _Following,
         descriptions: Sequence[Description], receive: LogFunction | None) -> Result:
    library = _library.library()
    calculation = handles.calculation(amplitudes[0], amplitudes[1] if len(amplitudes) > 1 else None)
    _set(library, calculation, options)
    library.call("set_progress", calculation, following.callback, None)
    log = _log_of(receive)
    if log is not None:
        library.call("set_log", calculation, log, None)
    try:
        library.call("run", calculation)
    except Error as error:
        for failures in (following.failures, *(each.failures for each in descriptions)):
            if failures:
                raise failures[0] from error
        raise
    derivatives, absent = _derivatives(library, calculation, options.get("derivatives"))
    return Result(_report(library, calculation), derivatives).extended(absent, [])


def _derivatives(library: _library.Library, calculation: int, wanted: Any) -> tuple[dict[str, npt.NDArray[np.float64]], list[str]]:
    """The derivatives of a run, and warnings about absent ones. `wanted`: the option."""
    found: dict[str, npt.NDArray[np.float64]] = {}
    names = None if wanted is None or isinstance(wanted, str) else [str(each) for each in wanted]
    computed = []
    for index in range(library.call("derivative_count", calculation)):
        name, rank, shape = ctypes.create_string_buffer(_library.NAME_LENGTH), ctypes.c_int64(), (ctypes.c_int64 * 4)()
        library.call("get_derivative", calculation, index, name, ctypes.byref(rank), shape)
        key = name.value.decode()
        computed.append(key)
        if names is not None and key not in names:
            continue
        values = np.empty(tuple(shape[:rank.value]))
        library.call("copy_derivative", calculation, name.value, values.size, values.ctypes.data_as(ctypes.c_void_p))
        found[key] = values
    absent = [each for each in names or () if each not in found]
    if not absent:
        return found, []
    # The names of a file are known after the run, whose other results are not lost.
    return found, [f"There are no derivatives by {', '.join(absent)}; this run has those by {', '.join(computed)}."]


def _report(library: _library.Library, calculation: int) -> dict[str, Any]:
    size = library.call("get_report", calculation, 0, None)
    text = ctypes.create_string_buffer(size)
    library.call("get_report", calculation, size, text)
    report: dict[str, Any] = json.loads(text.value)
    return report


def _set(library: _library.Library, calculation: int, options: Options) -> None:
    refuse_gpus_of_cores(options)
    # The library checks all options after each one. A target error needs mixed precision, and GPUs imply cuda, unless the
    # caller names a device.
    for name in sorted(options, key=lambda name: (name == "device") - (name == "precision")):
        value = _kinds_of_derivatives(options.get(name)) if name == "derivatives" else options.get(name)
        text = None if name == "progress" else option_text(name, value)
        if text is not None:
            library.call("set_option", calculation, name.encode(), text)


_ARRAYS_WITH_DERIVATIVES = ("t1", "t2", "ovov", "ovvv", "ovoo", "fock_ov", "eps_occ", "eps_vir", "omega2", "factors_oo",
                            "factors_ov", "factors_vv")


def _kinds_of_derivatives(wanted: Any) -> Any:
    """The value of the option of the library that has the derivatives with these names."""
    if wanted is None or isinstance(wanted, str):
        return wanted
    if not isinstance(wanted, Collection) or not all(isinstance(each, str) for each in wanted):
        raise UsageError(f"derivatives is {wanted!r}; it must be 't', 'all' or a list of names of arrays.")
    for name in wanted:
        # The names of arrays of an unrestricted reference end with spins.
        if _array_of(name) not in _ARRAYS_WITH_DERIVATIVES:
            raise UsageError(f"There are no derivatives by {name!r}; possible are {', '.join(_ARRAYS_WITH_DERIVATIVES)}, "
                             "with the spins of the arrays (t2_aa), and left/t1 and left/t2.")
    return "all" if any(part in str(name) for name in wanted for part in ("ovvv", "ovoo", "factors")) else "t"


def _expect_derivatives(wanted: Any, right: Amplitudes, left: Amplitudes | None) -> None:
    """Raises UsageError for names of derivatives that these amplitudes do not have."""
    _kinds_of_derivatives(wanted)
    if wanted is None or isinstance(wanted, str):
        return
    possible = {name for name in right.arrays if _array_of(name) in _ARRAYS_WITH_DERIVATIVES} | {"omega2"}
    possible |= {name.replace("fock", "fock_ov") for name in right.arrays if _array_of(name) == "fock"}
    possible |= {"left/" + name for name in (left.arrays if left is not None else ()) if _array_of(name) in ("t1", "t2")}
    for name in wanted:
        if name not in possible:
            raise UsageError(f"There are no derivatives by {str(name)!r}; these arrays have those by {', '.join(sorted(possible))}.")


def _array_of(name: str) -> str:
    """The array to which a name of derivatives belongs, without the side and the spins."""
    return re.sub("_[ab]+$", "", name.removeprefix("left/").removeprefix("asym_"))


def _log_of(function: LogFunction | None) -> Any:
    """The function that the library calls for each message, or None."""
    if function is None:
        if not LOGGER.isEnabledFor(logging.INFO):
            return None
        # Warnings are given to the module `warnings` after the run.
        function = lambda is_warning, line: None if is_warning else LOGGER.info("%s", line)  # noqa: E731
    receive: LogFunction | None = function

    def log(_context: int, level: int, line: bytes) -> None:
        nonlocal receive
        try:
            if receive is not None:
                receive(level == _library.LOG_WARNING, line.decode(errors="replace"))
        except Exception as error:  # cannot pass through the library, and is no reason to lose a run
            receive = None
            warnings.warn(f"Messages of this run are not shown any more, because showing them failed: {error!r}", RuntimeWarning,
                          stacklevel=2)

    return _library.Log(log)


def progress_bar(progress: Any, **settings: Any) -> Any:
    """A bar of tqdm, or None. `progress`: None shows it if the output is a terminal and tqdm is installed."""
    if not (sys.stderr.isatty() if progress is None else truth("progress", progress)):
        return None
    try:
        from tqdm import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        if progress is None:
            return None
        raise UsageError("progress=True needs the package tqdm; pip install tqdm, or pass a function.") from None
    # A run of less than half a second shows no bar.
    return tqdm(leave=False, delay=0.5, file=sys.stderr, dynamic_ncols=True, **settings)


def _progress_of(progress: Progress) -> tuple[Any, ProgressFunction | None]:
    """A progress bar, which the caller closes, and the function that follows the run. Each may be None."""
    if callable(progress):
        return None, progress
    bar = progress_bar(progress, desc="(T)", unit="F", unit_scale=True)
    if bar is None:
        return None, None

    def follow(done: float, total: float) -> None:
        bar.total = total if math.isfinite(total) else None
        bar.update(done - bar.n)

    return bar, follow
