"""Arrays in the memory of GPUs: of CuPy, of torch, and of everything that has the CUDA array interface or DLPack."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _library
from .errors import UsageError

CUDA_MEMORY = 2  # kDLCUDA of DLPack
_GPU_MEMORY = (CUDA_MEMORY, 13)  # and kDLCUDAManaged
_DEFAULT_STREAM = 1  # CUDA's legacy default stream


class DeviceArray(NamedTuple):
    """An array in the memory of a GPU."""

    place: npt.NDArray[np.float64]  # an array with the same pointer, shape and strides; its elements must never be read
    gpu: int
    stream: int | None  # on which the owner uses the array; None: not stated
    writeable: bool
    owner: Any


def without_gradients(values: Any) -> Any:
    """A tensor of torch that gives its numbers: one with gradients does not, on the host neither. Other arrays as they are."""
    return values.detach() if _library_of(values) == "torch" else values


def device_array(name: str, values: Any) -> DeviceArray | None:
    """The place of an array in the memory of a GPU; None if it is not there. `name`: for sentences."""
    if isinstance(values, (np.ndarray, list, tuple, int, float)):
        return None
    owner, number = values, None
    values = without_gradients(values)
    interface = getattr(values, "__cuda_array_interface__", None)
    if hasattr(values, "__dlpack_device__"):
        kind, number = values.__dlpack_device__()
        if interface is None and kind in _GPU_MEMORY:
            values, interface = _through_dlpack(values)
    if interface is None:
        return None
    if _library_of(values) == "torch" and values.is_neg():
        raise UsageError(f"{name} is a view whose numbers are negated when they are read; pass {name}.resolve_neg().")
    pointer, read_only = interface["data"]
    place = _place(name, interface, pointer or 0)
    gpu = int(number) if number is not None else _gpu_of(pointer or 0)
    return DeviceArray(place, gpu, _stream(values, gpu, interface), not read_only, owner)


def new_like(arrays: Sequence[DeviceArray], shape: Sequence[int]) -> Any:
    """A new array in C order on the GPU of the arrays, of the library of the first one that can make one."""
    for array in arrays:
        if (library := _library_of(array.owner)) == "cupy":
            cupy = sys.modules["cupy"]
            with cupy.cuda.Device(array.gpu):
                return cupy.empty(shape, dtype=np.float64)
        if library == "torch":
            return array.owner.detach().new_empty(shape)
    raise UsageError("out must be given, because only the arrays of CuPy and torch have a known way to make a new one.")


def common_stream(arrays: Sequence[DeviceArray]) -> int:
    """The stream of the first array that states one. Waits for the other streams."""
    streams = [array.stream for array in arrays if array.stream is not None]
    for other in set(streams[1:]) - set(streams[:1]):
        _driver("cuStreamSynchronize", ctypes.c_void_p(other))
    return streams[0] if streams else _DEFAULT_STREAM


def _library_of(values: Any) -> str:
    """The name of the package to which the type of an array belongs, if it has been imported."""
    for base in type(values).__mro__:  # the type may be the caller's own
        root = base.__module__.partition(".")[0]
        if root in ("cupy", "torch") and root in sys.modules:
            return root
    return ""


def _stream(values: Any, gpu: int, interface: Mapping[str, Any]) -> int | None:
    library = _library_of(values)
    if library == "torch":
        return int(sys.modules["torch"].cuda.current_stream(gpu).cuda_stream) or _DEFAULT_STREAM
    if library == "cupy":
        with sys.modules["cupy"].cuda.Device(gpu):
            return int(sys.modules["cupy"].cuda.get_current_stream().ptr) or _DEFAULT_STREAM
    stream: int | None = interface.get("stream")
    return stream


class _Place:
    """What NumPy makes an array of without a look at its elements."""

    def __init__(self, pointer: int, interface: Mapping[str, Any]) -> None:
        self.__array_interface__ = {"version": 3, "shape": tuple(interface["shape"]), "typestr": "<f8", "data": (pointer, False),
                                    "strides": interface.get("strides")}


def _place(name: str, interface: Mapping[str, Any], pointer: int) -> npt.NDArray[np.float64]:
    kind = np.dtype(interface["typestr"])
    if kind != np.float64:
        raise UsageError(f"{name} is an array of {kind} in the memory of a GPU; contractions there need float64, so convert it.")
    if interface.get("mask") is not None:
        raise UsageError(f"{name} is a masked array in the memory of a GPU; pass one without a mask.")
    if pointer == 0 and 0 not in interface["shape"]:
        raise UsageError(f"{name} has elements in the memory of a GPU, but its pointer is null.")
    place: npt.NDArray[np.float64] = np.asarray(_Place(pointer, interface))
    if not place.flags.aligned or any(stride % place.itemsize for stride in place.strides):
        raise UsageError(f"{name} is not aligned in the memory of a GPU; copy it.")
    return place


def _driver(function: str, *arguments: Any) -> None:
    """Calls a function of the driver of the GPUs."""
    try:
        code = getattr(ctypes.CDLL("libcuda.so.1"), function)(*arguments)
    except OSError as error:
        raise UsageError(f"There are arrays of GPUs, but the driver of GPUs cannot be loaded ({error}); install it.") from error
    if code != 0:
        raise UsageError(f"The driver of the GPUs refuses an array: {function} fails with code {code}.")


def _gpu_of(pointer: int) -> int:
    """The number of the GPU that has a memory. Arrays such as those of Numba do not say it."""
    if pointer == 0 or not _library.library().has_cuda:
        return 0
    ordinal = ctypes.c_int(0)
    device_ordinal = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    _driver("cuPointerGetAttribute", ctypes.byref(ordinal), ctypes.c_int(device_ordinal), ctypes.c_uint64(pointer))
    return ordinal.value


def _through_dlpack(values: Any) -> tuple[Any, Mapping[str, Any]]:
    """An array that has DLPack alone, as an array of a library if one is there, and its CUDA array interface."""
    for library in ("cupy", "torch"):
        if hasattr(module := sys.modules.get(library), "from_dlpack"):
            values = module.from_dlpack(values)  # type: ignore[union-attr]
            return values, values.__cuda_array_interface__
    return values, _interface_of(values.__dlpack__(stream=_DEFAULT_STREAM))


class _Tensor(ctypes.Structure):
    """DLTensor of DLPack"""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def _interface_of(capsule: Any) -> Mapping[str, Any]:
    """The CUDA array interface of the array in a capsule, which frees its own description; the array stays the caller's."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(pointer_of(capsule, b"dltensor"))
    kinds = {0: "i", 1: "u", 2: "f", 5: "c"}
    size = tensor.bits * tensor.lanes // 8
    shape = tuple(tensor.shape[n] for n in range(tensor.ndim))
    strides = tuple(8 * tensor.strides[n] for n in range(tensor.ndim)) if tensor.strides else None
    kind = kinds.get(tensor.code, "V") if tensor.lanes == 1 else "V"
    return {"shape": shape, "typestr": f"<{kind}{size}", "data": ((tensor.data or 0) + tensor.byte_offset, False), "strides": strides,
            "stream": _DEFAULT_STREAM}
