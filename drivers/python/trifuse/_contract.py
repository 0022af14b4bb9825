"""Contractions of two arrays, through trifuse_contract of the library."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _library
from ._arrays import as_numbers
from ._options import integer, number, shown, word
from .errors import UsageError

Numbers = npt.NDArray[np.float64]


def contract(expression: str, a: npt.ArrayLike, b: npt.ArrayLike, out: Numbers | None = None, *, alpha: float = 1.0,
             beta: float = 0.0, threads: int | None = None) -> Numbers:
    """Computes out = alpha sum a b + beta out of any indices, in double precision on CPU cores.

        c = trifuse.contract("aebf,dfce->abcd", a, b)   # c[a,b,c,d] = sum_ef a[a,e,b,f] b[d,f,c,e]

    expression
        The indices of a, of b and of the result, one letter for each axis. Each index is in two of them or in all three;
        the sum runs over those that the result lacks. At most 12 indices.
    a, b
        Arrays of any strides. 64-bit floats are not copied as a whole.
    out
        A writeable array of 64-bit floats with any strides, which shares no memory with a and b. Default: a new array in
        C order.
    alpha, beta
        Factors of the sum and of the old values of out. With beta=0 the old values are not read.
    threads
        Number of threads. Default: as many as the process may use. The bits of the result do not depend on it.

    Returns out. Raises UsageError with a sentence that names the index if the arrays do not fit the expression.
    """
    text = word("expression", expression)
    operands = [_operand(name, values) for name, values in (("a", a), ("b", b))]
    factor = number("beta", beta)
    if out is None:
        if factor != 0.0:
            raise UsageError(f"beta is {shown(beta)}, but there is no array out of which it could be the factor.")
        out = np.empty(_shape_of_result(text, operands))
    else:
        _expect_result(out, operands)
    arguments: list[Any] = []
    for values in (*operands, out):
        arguments.append((values.ctypes.data, ctypes.byref(_layout(values))))
    (a_data, a_layout), (b_data, b_layout), (out_data, out_layout) = arguments
    _library.library().call("contract", text.encode(), number("alpha", alpha), a_data, a_layout, b_data, b_layout, factor,
                            out_data, out_layout, 0 if threads is None else integer("threads", threads))
    return out


def _operand(name: str, values: Any) -> Numbers:
    if not isinstance(values, np.ndarray) and hasattr(values, "__cuda_array_interface__"):
        raise UsageError(f"{name} is an array of a GPU, but contractions are computed on CPU cores; copy it to the host.")
    return as_numbers(name, values)


def _expect_result(out: Any, operands: list[Numbers]) -> None:
    if not isinstance(out, np.ndarray) or out.dtype != np.float64:
        raise UsageError("out must be a NumPy array of 64-bit floats.")
    if not out.flags.writeable or not out.flags.aligned or any(stride % out.itemsize for stride in out.strides):
        raise UsageError("out must be writeable and aligned; pass another array.")
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
