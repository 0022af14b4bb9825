"""The C library: where it is, its structures and its functions. See fortran_iface/trifuse.h, trifuse_arrays.h and trifuse_contract.h."""

from __future__ import annotations

import ctypes
import functools
import pathlib
from ctypes import POINTER, c_char, c_char_p, c_double, c_int32, c_int64, c_void_p
from typing import Any

from ._places import library_path, load
from .errors import CancelledError, Error, InputError, InternalError, ResourceError, UsageError

MESSAGE_LENGTH = 1024
NAME_LENGTH = 64
FEATURE_CUDA = 1
FLOAT64, INT32, INT64 = 0, 1, 2
HOST = 0
LOG_WARNING = 1

_ERRORS: dict[int, type[Error]] = {1: InputError, 2: UsageError, 3: ResourceError, 6: CancelledError}


class Status(ctypes.Structure):
    """trifuse_status"""

    _fields_ = [("code", c_int32), ("message", c_char * MESSAGE_LENGTH)]


BoxReader = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(c_int64), POINTER(c_int64), POINTER(c_double))
Progress = ctypes.CFUNCTYPE(c_int32, c_void_p, c_double, c_double)
Log = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_char_p)


class Array(ctypes.Structure):
    """trifuse_array"""

    _fields_ = [
        ("name", c_char_p),
        ("data", c_void_p),
        ("type", c_int32),
        ("location", c_int32),
        ("rank", c_int64),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("reader", BoxReader),
        ("context", c_void_p),
    ]


class Layout(ctypes.Structure):
    """trifuse_layout"""

    _fields_ = [("rank", c_int64), ("extents", POINTER(c_int64)), ("strides", POINTER(c_int64))]


class Arrays(ctypes.Structure):
    """trifuse_arrays"""

    _fields_ = [
        ("size", c_int64),
        ("array_size", c_int64),
        ("count", c_int64),
        ("arrays", POINTER(Array)),
        ("reference", c_int32),
        ("kind", c_int32),
        ("omega2", c_double),
        ("fock_in_triples", c_int32),
        ("correlation_energy", c_double),
        ("scf_energy", c_double),
        ("source", c_char_p),
        ("program", c_char_p),
        ("molecule", c_char_p),
        ("basis", c_char_p),
        ("convergence", c_double),
    ]


_CONTRACTION = (c_char_p, c_double, c_void_p, POINTER(Layout), c_void_p, POINTER(Layout), c_double, c_void_p, POINTER(Layout))

# Result and parameters of each function, without the status that is the first parameter.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "gpu_count": (c_int64, []),
    "release_memory": (None, []),
    "open_unverified_amplitudes": (c_void_p, [c_char_p, c_int32]),
    "new_dense_amplitudes": (c_void_p, [POINTER(Arrays)]),
    "new_calculation": (c_void_p, [c_void_p, c_void_p]),
    "set_option": (None, [c_void_p, c_char_p, c_char_p]),
    "set_progress": (None, [c_void_p, Progress, c_void_p]),
    "set_log": (None, [c_void_p, Log, c_void_p]),
    "run": (None, [c_void_p]),
    "contract": (None, [*_CONTRACTION, c_int64]),
    "contract_on_gpus": (None, [*_CONTRACTION, c_int64, POINTER(c_int32), c_int64]),
    "contract_in_gpu_memory": (None, [*_CONTRACTION, c_int32, c_void_p]),
    "derivative_count": (c_int64, [c_void_p]),
    "get_derivative": (None, [c_void_p, c_int64, c_char_p, POINTER(c_int64), POINTER(c_int64)]),
    "copy_derivative": (None, [c_void_p, c_char_p, c_int64, c_void_p]),
    "get_report": (c_int64, [c_void_p, c_int64, c_char_p]),
}


class Library:
    """The loaded library. It stays loaded until the program ends."""

    def __init__(self, path: pathlib.Path) -> None:
        try:
            self._library = load(path)
        except OSError as error:
            raise ResourceError(f"The library of Trifuse cannot be loaded: {error}; install the package again.") from error
        for name, (result, parameters) in _FUNCTIONS.items():
            function = self._function(name, path)
            function.restype, function.argtypes = result, [POINTER(Status), *parameters]
        self._function("version", path).restype = c_char_p
        self._function("features", path).restype = c_int64
        for name in ("delete_amplitudes", "delete_calculation"):
            function = self._function(name, path)
            function.restype, function.argtypes = c_int32, [POINTER(c_void_p)]

    def _function(self, name: str, path: pathlib.Path) -> Any:
        try:
            return getattr(self._library, "trifuse_" + name)
        except AttributeError:
            raise ResourceError(f"{path} has no function trifuse_{name}; it belongs to another version of Trifuse.") from None

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function without the global interpreter lock, and raises its status as an exception."""
        status = Status()
        result = getattr(self._library, "trifuse_" + name)(ctypes.byref(status), *arguments)
        if status.code != 0:
            raise _ERRORS.get(status.code, InternalError)(status.message.decode(errors="replace"))
        return result

    def delete(self, kind: str, handle: int) -> None:
        """Deletes a handle of `kind` amplitudes or calculation."""
        getattr(self._library, "trifuse_delete_" + kind)(ctypes.byref(c_void_p(handle)))

    @property
    def version(self) -> str:
        """The version of the library."""
        text: bytes = self._library.trifuse_version()
        return text.decode()

    @property
    def has_cuda(self) -> bool:
        """True if the library can use GPUs."""
        return bool(self._library.trifuse_features() & FEATURE_CUDA)

    def gpu_count(self) -> int:
        """The number of GPUs that can be used."""
        count: int = self.call("gpu_count")
        return count


def release_memory() -> None:
    """Returns the memory that the process keeps for its next run on GPUs, at most 2 GiB of each GPU, to the system."""
    library().call("release_memory")


@functools.lru_cache(maxsize=None)
def library() -> Library:
    """The library, loaded at the first call."""
    return Library(library_path())
