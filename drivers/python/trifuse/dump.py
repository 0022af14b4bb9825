"""Trifuse dumps (tce_tiles/docs/dump-format.md): HDF5 files of dense arrays. Needs the package h5py."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import KINDS, as_numbers, reference_of
from ._options import PathLike
from .errors import InputError, UsageError


def _exporter() -> Any:
    """The functions that write and verify dumps, those of drivers/pyscf_export."""
    try:
        return importlib.import_module("trifuse._pyscf_export")
    except ModuleNotFoundError as error:
        raise UsageError(f"Dumps need the package {error.name}; install it with pip.") from error


class Dump(Mapping[str, Any]):
    """A Trifuse dump that is open for reading: a mapping from names to arrays (h5py.Dataset), to be used with `with`.

    `trifuse.triples(**dump)` computes from the arrays without loading them as a whole; `trifuse.run(path)` is faster.

    >>> import numpy as np, os, tempfile, trifuse
    >>> path = os.path.join(tempfile.mkdtemp(), "pair.h5")
    >>> arrays = dict(eps_occ=[-0.5], eps_vir=[0.3, 0.9], t1=np.zeros((1, 2)), t2=np.zeros((1, 1, 2, 2)),
    ...               ovvv=np.zeros((1, 2, 2, 2)), ovoo=np.zeros((1, 2, 1, 1)), ovov=np.zeros((1, 2, 1, 2)))
    >>> trifuse.write_dump(path, molecule="H2", **arrays)
    >>> with trifuse.Dump(path) as dump:
    ...     print(dump.reference, dump.attributes["molecule"], dump["t2"].shape, dump.damaged())
    RHF H2 (1, 1, 2, 2) []
    """

    def __init__(self, path: PathLike) -> None:
        self.path = os.fspath(path)
        """Name of the file."""
        _exporter()
        try:
            self._file = importlib.import_module("h5py").File(self.path, "r")
        except OSError as error:
            raise InputError(f"{self.path}: this file cannot be read as HDF5 ({error}).") from error
        self.attributes: dict[str, Any] = {name: _plain(value) for name, value in self._file.attrs.items()}
        """Attributes of the dump: reference, amplitudes, correlation_energy (hartree), and so on."""
        if self.attributes.get("format") != "trifuse-dump":
            self.close()
            raise InputError(f"{self.path}: this is not a Trifuse dump; its attribute `format` is not trifuse-dump.")

    @property
    def reference(self) -> str:
        """RHF, UHF or ROHF."""
        return str(self.attributes["reference"])

    @property
    def kind(self) -> str:
        """ccsd, reg-ccsd, lambda or made-up."""
        return str(self.attributes.get("amplitudes", "ccsd"))

    @property
    def sealed(self) -> bool:
        """True if the dump has checksums."""
        return "seal" in self._file

    def damaged(self) -> list[str]:
        """Names of the arrays, and "header", that do not agree with the checksums. Reads the whole file."""
        if not self.sealed:
            raise UsageError(f"{self.path}: this dump has no checksums.")
        names: list[str] = _exporter().verify_seal(self.path)
        return names

    def close(self) -> None:
        """Closes the file. The arrays cannot be read any more."""
        self._file.close()

    def __getitem__(self, name: str) -> Any:
        if name == "seal":
            raise KeyError(name)
        return self._file[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._file if name != "seal")

    def __len__(self) -> int:
        return len(self._file) - self.sealed

    def __enter__(self) -> Dump:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<trifuse.Dump {self.path}: {self.reference}, {self.kind}>"


def write_dump(
    path: PathLike,
    *,
    reference: str | None = None,
    amplitudes: str = "ccsd",
    omega2: float | None = None,
    fock_in_triples: bool = False,
    correlation_energy: float | None = None,
    scf_energy: float | None = None,
    program: str = "trifuse.write_dump",
    molecule: str = "",
    basis: str = "",
    comment: str = "",
    overwrite: bool = False,
    **arrays: npt.ArrayLike | None,
) -> None:
    """Writes arrays to a sealed Trifuse dump. The file takes its name when it is complete and on the disk.

    Parameters
    ----------
    path
        Name of the file. An earlier dump of the same program and kind of amplitudes is replaced.
    reference, fock_in_triples, correlation_energy, scf_energy
        As in `triples`.
    amplitudes, omega2
        ccsd, reg-ccsd (with its omega2, hartree) or lambda.
    program, molecule, basis, comment
        Provenance, which reports show.
    overwrite
        True: any existing file of this name is replaced.
    arrays
        Arrays with the names and shapes of `triples`. Left amplitudes need no integrals.

    Raises
    ------
    UsageError
        The arguments are not possible, or the name belongs to another file.
    """
    exporter = _exporter()
    given = {name: values for name, values in arrays.items() if values is not None}
    found = reference_of(list(given), reference)
    if amplitudes not in KINDS:
        raise UsageError(f"amplitudes is {amplitudes!r}, but it must be ccsd, reg-ccsd or lambda.")
    if not given:
        raise UsageError("There are no arrays; give them by name, for example t1=..., t2=....")
    if not program:
        raise UsageError("program is empty, but a dump names the program that wrote it.")
    numbers = {name: _readable(name, values) for name, values in given.items()}
    texts = {"program": program, "molecule": molecule, "basis": basis, "comment": comment}
    energies = {"correlation_energy": correlation_energy, "scf_energy": scf_energy}
    with _own_errors(exporter), exporter.new_dump(path, amplitudes, overwrite, program) as file:
        largest = max(int(np.prod(each.shape)) for each in numbers.values())
        file.begin(found, amplitudes, omega2, largest, {name: text for name, text in texts.items() if text})
        for name, energy in energies.items():
            if energy is not None:
                file.attrs[name] = float(energy)
        file.attrs["fock_in_triples"] = int(fock_in_triples)
        for name, values in numbers.items():
            rows = (np.asarray(values[n]) for n in range(values.shape[0]))
            file.write(name, tuple(values.shape), "i8" if name.startswith("irrep") else "f8", rows)


@contextlib.contextmanager
def _own_errors(exporter: Any) -> Iterator[None]:
    """Turns the exceptions of the exporter into those of this package."""
    try:
        yield
    except exporter.ExportError as error:
        sentence = str(error)
        raise UsageError(sentence[:1].upper() + sentence[1:]) from error


def _readable(name: str, values: Any) -> Any:
    """An array whose rows can be read one after another: `values` itself if it is one of HDF5."""
    if hasattr(values, "__cuda_array_interface__") and hasattr(values, "get"):
        values = values.get()
    if type(values).__module__.startswith("h5py"):
        return values
    return as_numbers(name, values)


def _plain(value: Any) -> Any:
    """The value of an attribute as a Python object."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.item() if isinstance(value, np.generic) else value
