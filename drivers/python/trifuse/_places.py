"""Where the library and the program are, and how the library is loaded."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator

from .errors import ResourceError


def library_path() -> pathlib.Path:
    """The library of this package, or the one that the environment variable TRIFUSE_LIBRARY names."""
    chosen = os.environ.get("TRIFUSE_LIBRARY")
    path = pathlib.Path(chosen) if chosen else pathlib.Path(__file__).parent / "lib" / "libtrifuse.so"
    if not path.is_file():
        raise ResourceError(f"{path}: the library of Trifuse is not there; install the package with pip, "
                            "or set TRIFUSE_LIBRARY to the path of the library.")
    return path


def program_path() -> pathlib.Path:
    """The program: of this package, or the one that the environment variable TRIFUSE names, or the one of PATH."""
    beside = pathlib.Path(__file__).parent / "bin" / "trifuse"
    chosen = os.environ.get("TRIFUSE") or (str(beside) if beside.is_file() else shutil.which("trifuse"))
    if not chosen:
        raise ResourceError("The program trifuse is not there; install the package with pip, "
                            "or set TRIFUSE to the path of the program.")
    return pathlib.Path(chosen)


def load(path: pathlib.Path) -> ctypes.CDLL:
    """Loads the library with OpenBLAS kernels that suit the processor."""
    with _suitable_kernels():
        return ctypes.CDLL(str(path))


@contextlib.contextmanager
def _suitable_kernels() -> Iterator[None]:
    """Sets OPENBLAS_CORETYPE to the kernels that the program uses, unless the user has set it.

    OpenBLAS chooses its kernels when it is loaded. On a processor that is newer than OpenBLAS, its choice is several
    times too slow. The program knows better ones (drivers/openblas_kernels.hpp), and `trifuse --version` prints them.
    """
    name = "OPENBLAS_CORETYPE"
    kernels = None
    if name not in os.environ:
        with contextlib.suppress(OSError, ResourceError, subprocess.SubprocessError):
            printed = subprocess.run([str(program_path()), "--version"], capture_output=True, text=True, timeout=20,
                                     check=True).stdout
            kernels = re.search(r"BLAS: OpenBLAS .*\((\w+) kernels\)", printed)
    if kernels is None:
        yield
        return
    os.environ[name] = kernels.group(1)
    try:
        yield
    finally:
        os.environ.pop(name, None)
