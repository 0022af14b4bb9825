"""Contractions of two arrays, through the functions of trifuse_contract.h."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from . import _library
from ._arrays import as_numbers
from ._device_arrays import DeviceArray, common_stream, device_array, new_like
from ._options import byte_count, gpu_numbers, integer, number, shown, word
from .errors import ResourceError, UsageError

Numbers = npt.NDArray[np.float64]


class OnDevice(Protocol):
    """An array that says on which device it is: of CuPy, torch and others."""

    def __dlpack_device__(self) -> Any: ...


@overload
def contract(expression: str, a: npt.ArrayLike, b: npt.ArrayLike, out: Numbers | None = None, *, alpha: float = 1.0,
             beta: float = 0.0, threads: int | None = None, gpus: bool | Sequence[int] | None = None,
             memory: int | str | None = None) -> Numbers: ...


@overload
def contract(expression: str, a: OnDevice, b: OnDevice, out: OnDevice | None = None, *, alpha: float = 1.0,
             beta: float = 0.0) -> Any: ...


def contract(expression: str, a: Any, b: Any, out: Any = None, *, alpha: float = 1.0, beta: float = 0.0, threads: int | None = None,
             gpus: bool | Sequence[int] | None = None, memory: int | str | None = None) -> Any:
    """Computes out = alpha sum a b + beta out of any indices, in double precision on CPU cores or GPUs.

        c = trifuse.contract("aebf,dfce->abcd", a, b)   # c[a,b,c,d] = sum_ef a[a,e,b,f] b[d,f,c,e]

    Parameters
    ----------
    expression
        The indices of a, of b and of the result, one letter for each axis. Each index is in two of them or in all three;
        the sum runs over those that the result lacks. At most 12 indices.
    a, b
        Arrays of any strides. 64-bit floats are not copied as a whole. If all arrays are in the memory of one GPU (CuPy, torch,
        anything with the CUDA array interface or DLPack), that GPU computes on the current stream of their library, and the
        call returns before it ends. They must be 64-bit floats. A result has no gradient.
    out
        A writeable array of 64-bit floats with any strides, which shares no memory with a and b. Default: a new array in
        C order; on a GPU: of CuPy or torch as a or b.
    alpha, beta
        Factors of the sum and of the old values of out. With beta=0 the old values are not read.
    threads
        Number of threads on CPU cores. Default: as many as the process may use. The bits of the result do not depend on it.
    gpus
        True, or a list of numbers of GPUs, as CUDA counts them: they compute with arrays of the host, which may be larger than
        their memory. Default: CPU cores.
    memory
        Limit of the memory for arrays on each of these GPUs: a number of bytes, or a text such as "8GiB". Default: seven
        eighths of the free memory.

    Returns out. Raises UsageError with a sentence that names the index if the arrays do not fit the expression, and
    ResourceError if a GPU fails.
    """
    text = word("expression", expression)
    factors = number("alpha", alpha), number("beta", beta)
    if out is None and factors[1] != 0.0:
        raise UsageError(f"beta is {shown(beta)}, but out is not given; give the array whose old values beta multiplies.")
    given = {"a": a, "b": b} if out is None else {"a": a, "b": b, "out": out}
    on_gpu = {name: found for name, values in given.items() if (found := device_array(name, values))}
    if on_gpu:
        for option, value in (("threads", threads), ("gpus", gpus), ("memory", memory)):
            if value is not None:
                raise UsageError(f"{option} is for arrays of the host, but {next(iter(on_gpu))} is in the memory of a GPU; "
                                 f"leave {option} out.")
        return _in_gpu_memory(text, factors, out, [*given], on_gpu)
    operands = [as_numbers("a", a), as_numbers("b", b)]
    if out is None:
        shape = _shape_of_result(text, operands)
        try:
            out = np.empty(shape)
        except (MemoryError, ValueError) as error:
            raise ResourceError(f"There is no memory for the result, an array of the shape {shape}.") from error
    else:
        _expect_result(out, operands)
    if gpus is None or gpus is False:
        if memory is not None:
            raise UsageError("memory is the limit of memory on GPUs, but gpus is not given; leave memory out.")
        _call("contract", text, factors, [*operands, out], 0 if threads is None else integer("threads", threads))
        return out
    if threads is not None:
        raise UsageError("threads is for CPU cores, but gpus is given, too; leave one of them out.")
    numbers = [] if gpus is True else gpu_numbers(gpus, "True takes all GPUs, False none.")
    _call("contract_on_gpus", text, factors, [*operands, out], len(numbers), (ctypes.c_int32 * len(numbers))(*numbers),
          0 if memory is None else byte_count("memory", memory))
    return out


def _in_gpu_memory(text: str, factors: tuple[float, float], out: Any, names: list[str], arrays: dict[str, DeviceArray]) -> Any:
    """Computes with arrays in the memory of a GPU. `names`: of all arrays, `arrays`: those that are there."""
    first = next(iter(arrays))
    for name in names:
        if name not in arrays:
            raise UsageError(f"{first} is in the memory of a GPU, but {name} is not; copy one of them.")
        if arrays[name].gpu != arrays[first].gpu:
            raise UsageError(f"{first} is on GPU {arrays[first].gpu}, but {name} is on GPU {arrays[name].gpu}; copy one of them.")
    operands = [arrays["a"], arrays["b"]]
    if out is None:
        out = new_like(operands, _shape_of_result(text, [operand.place for operand in operands]))
        result = device_array("out", out)
        assert result is not None
    else:
        result = arrays["out"]
        if not result.writeable:
            raise UsageError("out must be writeable; pass another array.")
        _expect_own_memory(result.place, [operand.place for operand in operands])
    if not _library.library().has_cuda:
        raise UsageError(f"{first} is in the memory of a GPU, but this Trifuse was built without CUDA; copy it to the host.")
    _call("contract_in_gpu_memory", text, factors, [array.place for array in (*operands, result)], result.gpu,
          common_stream([result, *operands]))
    return out


def _call(function: str, text: str, factors: tuple[float, float], arrays: Iterable[Numbers], *others: Any) -> None:
    """Calls a function of the library with a contraction of a, b and out, and the other arguments of the function."""
    a, b, out = ((array.ctypes.data, ctypes.byref(_layout(array))) for array in arrays)
    _library.library().call(function, text.encode(), factors[0], *a, *b, factors[1], *out, *others)


def _expect_result(out: Any, operands: list[Numbers]) -> None:
    if not isinstance(out, np.ndarray) or out.dtype != np.float64:
        raise UsageError("out must be a NumPy array of 64-bit floats.")
    if not out.flags.writeable or not out.flags.aligned or any(stride % out.itemsize for stride in out.strides):
        raise UsageError("out must be writeable and aligned; pass another array.")
    _expect_own_memory(out, operands)


def _expect_own_memory(out: Numbers, operands: list[Numbers]) -> None:
    for name, operand in zip("ab", operands):
        if _share_memory(out, operand):
            raise UsageError(f"out shares memory with {name}; pass another array, or copy {name}.")


def _share_memory(first: Numbers, second: Numbers) -> bool:
    most_work: Any = 100_000  # the question is hard for some strides; the type hints of NumPy know only 0 and -1
    try:
        return np.shares_memory(first, second, max_work=most_work)
    except RuntimeError:
        return True


def _shape_of_result(text: str, operands: list[Numbers]) -> list[int]:
    """The shape of the result. If the expression is wrong, it has no meaning, and the library refuses it."""
    inputs, _, result = text.replace(" ", "").partition("->")
    extents: dict[str, int] = {}
    for letters, values in zip(inputs.split(","), operands):
        extents.update(zip(letters, values.shape))
    if set(result) <= set(extents) and len(set(result)) == len(result):
        return [extents[letter] for letter in result]
    return [1] * len(result[:_MOST_AXES])


_MOST_AXES = 12


def _layout(values: Numbers) -> _library.Layout:
    integers = ctypes.c_int64 * values.ndim
    return _library.Layout(rank=values.ndim, extents=integers(*values.shape),
                           strides=integers(*(stride // values.itemsize for stride in values.strides)))
