"""Large arrays in blocks, and pairs of indices in packed arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

BYTES_OF_A_BLOCK = 1 << 27


def rows_of_a_block(bytes_of_a_row: int) -> int:
    """How many rows of an array are one block; at least one."""
    return max(1, BYTES_OF_A_BLOCK // max(1, bytes_of_a_row))


def blocks(rows: int, bytes_of_a_row: int) -> Iterator[slice]:
    """The rows of an array, block by block."""
    step = rows_of_a_block(bytes_of_a_row)
    for begin in range(0, rows, step):
        yield slice(begin, min(begin + step, rows))


def diagonal_of_pairs(n: int) -> Any:
    """The places of the pairs (p,p) among the pairs (p,q), p >= q, of n indices."""
    return np.arange(n) * (np.arange(n) + 3) // 2
