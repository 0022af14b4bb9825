# mypy: ignore-errors
"""Checksums of dumps, which the page of the dump format (tce_tiles/docs/dump-format.md) calls the seal. Needs no PySCF."""

import struct
import zlib

import h5py
import numpy as np


class BlockSums:
    """The CRC-32 of each block of consecutive elements of a dataset. The elements are added in C order, in parts."""

    def __init__(self, block):
        self.block_bytes, self.finished, self.sum, self.bytes = 8 * block, [], 0, 0

    def add(self, values):
        kind = "<i8" if np.issubdtype(values.dtype, np.integer) else "<f8"
        data = memoryview(np.ascontiguousarray(values, kind).reshape(-1).view(np.uint8))
        while data:
            part = data[:self.block_bytes - self.bytes]
            data = data[len(part):]
            self.sum, self.bytes = zlib.crc32(part, self.sum), self.bytes + len(part)
            if self.bytes == self.block_bytes:
                self.finished.append(self.sum)
                self.sum = self.bytes = 0

    def result(self):
        return np.array(self.finished + [self.sum] * (self.bytes > 0), "<u4")


def seal_block(elements):
    """Number of elements of a block: at least 1024, and so large that a dataset has at most 2^23 blocks."""
    block = 1024
    while -(-elements // block) > 2**23:
        block *= 2
    return block


def _sums_of(dataset, block):
    sums = BlockSums(block)
    if dataset.size:
        rows = max(1, 2**20 * dataset.shape[0] // dataset.size)
        for start in range(0, dataset.shape[0], rows):
            sums.add(dataset[start:start + rows])
    return sums.result()


def _header_sum(file):
    lines = []
    for name, value in sorted(file.attrs.items()):
        if isinstance(value, h5py.Empty) or np.size(value) != 1:
            continue
        value = np.asarray(value).reshape(-1)[0]
        if isinstance(value, bytes):
            value = value.decode(errors="surrogateescape")
        if isinstance(value, str):
            lines.append(f"{name}=" + value.split("\0")[0].rstrip(" "))
        elif isinstance(value, np.integer):
            lines.append(f"{name}={int(value)}")
        elif isinstance(value, np.floating):
            lines.append(f"{name}=" + struct.pack(">d", value).hex())
    for name in sorted(set(file["seal"]) - {"header"}):
        lines.append(f"{name} [{','.join(map(str, file[name].shape))}]")
    return zlib.crc32("".join(line + "\n" for line in lines).encode(errors="surrogateescape"))


def seal(file, sums=None, block=None):
    """Seal a complete dump that is open for writing (an h5py.File), or seal it again after a change.

    Uses only h5py, numpy and zlib, so other programs may copy this function. `sums`: known checksums of datasets, for
    blocks of `block` elements; all other datasets are read back.
    """
    datasets = sorted(name for name, item in file.items() if isinstance(item, h5py.Dataset))
    block = block or seal_block(max(file[name].size for name in datasets))
    if "seal" in file:
        del file["seal"]
    file.attrs["minor_version"] = 2
    file.attrs["seal_block"] = block
    group = file.create_group("seal")
    for name in datasets:
        known = sums is not None and name in sums
        group[name] = sums[name] if known else _sums_of(file[name], block)
    group["header"] = np.array([_header_sum(file)], "<u4")


def verify_seal(filename):
    """The names of datasets that have changed since the dump was sealed, and "header". Empty for an undamaged dump."""
    with h5py.File(filename, "r") as file:
        block = int(file.attrs["seal_block"])
        wrong = [] if file["seal/header"][0] == _header_sum(file) else ["header"]
        for name in sorted(set(file["seal"]) - {"header"}):
            if not np.array_equal(file["seal"][name][()], _sums_of(file[name], block)):
                wrong.append(name)
        return wrong
