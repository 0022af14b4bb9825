"""Derivatives of functions of arrays, for equations that are the derivative of other equations, such as those of Lambda.

A function that is written with `contract`, sums, factors and transposed arrays takes Traced arrays as well as arrays of NumPy
or CuPy. Traced arrays remember how they were made. `derivatives` goes back over these steps, as often as one likes.
"""

from __future__ import annotations

from typing import Any, Callable

import trifuse


class Traced:
    """An array with its parents: the arrays of which it was made, each with the function that makes the derivative with
    respect to the parent of that with respect to this array. `number` orders arrays by the time when they were made."""

    made = 0

    def __init__(self, value: Any, parents: list[tuple[Traced, Callable[[Any], Any]]] | None = None) -> None:
        self.value, self.parents = value, parents or []
        self.number = Traced.made = Traced.made + 1

    def __add__(self, other: Any) -> Traced:
        return Traced(self.value + value_of(other), [(x, lambda bar: bar) for x in (self, other) if isinstance(x, Traced)])

    __radd__ = __add__

    def __sub__(self, other: Any) -> Traced:
        return self.__add__(-1.0 * other)

    def __rsub__(self, other: Any) -> Traced:
        return self.__rmul__(-1.0).__add__(other)

    def __rmul__(self, factor: float) -> Traced:
        return Traced(factor * self.value, [(self, lambda bar: factor * bar)])

    def transpose(self, *axes: int) -> Traced:
        inverse = [axes.index(axis) for axis in range(len(axes))]
        return Traced(self.value.transpose(*axes), [(self, lambda bar: bar.transpose(*inverse))])

    __array_ufunc__ = None  # NumPy and CuPy leave sums and differences with their arrays to this class


def value_of(x: Any) -> Any:
    return x.value if isinstance(x, Traced) else x


def contract(expression: str, a: Any, b: Any) -> Any:
    """The contraction of two arrays on cores, or on the GPU whose memory they are in; of Traced ones if one of them is Traced.

    Each index is in two of the three arrays or in all three, so the derivatives are contractions of the same kind.
    """
    value = trifuse.contract(expression, value_of(a), value_of(b))
    inputs, result = expression.split("->")
    of_a, of_b = inputs.split(",")
    parents = []
    if isinstance(a, Traced):
        parents.append((a, lambda bar: trifuse.contract(f"{result},{of_b}->{of_a}", bar, value_of(b))))
    if isinstance(b, Traced):
        parents.append((b, lambda bar: trifuse.contract(f"{result},{of_a}->{of_b}", bar, value_of(a))))
    return Traced(value, parents) if parents else value


def derivatives(of: list[tuple[Traced, Any]], with_respect_to: list[Traced]) -> list[Any]:
    """The derivatives of sum_n sum(bar_n * array_n) of the pairs (array_n, bar_n) in `of`."""
    bars: dict[int, Any] = {}
    arrays: dict[int, Traced] = {}

    def add(array: Traced, bar: Any) -> None:
        arrays[array.number] = array
        bars[array.number] = bars[array.number] + bar if array.number in bars else bar

    for array, bar in of:
        add(array, bar)
    wanted = {array.number for array in with_respect_to}
    while pending := [number for number in bars if number not in wanted]:
        number = max(pending)  # everything that is made of this array was made after it
        bar = bars.pop(number)
        for parent, back in arrays[number].parents:
            add(parent, back(bar))
    return [bars.get(array.number, 0.0 * array.value) for array in with_respect_to]
