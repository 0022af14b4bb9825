"""Trifuse dumps (tce_tiles/docs/dump-format.md): HDF5 files of dense arrays. Needs the package h5py."""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import as_numbers, kind_and_omega2, projectors, real_part, refuse_closed, reference_of, stated_fock
from ._facts import FORMAT, facts_from, facts_of, is_of_h5py, plain, stated_or
from ._options import PathLike, capitalized, number, path_bytes, shown, truth, word
from .errors import InputError, ResourceError, UsageError


def _exporter() -> Any:
    """The functions that write and verify dumps, those of drivers/pyscf_export."""
    try:
        return importlib.import_module("trifuse._pyscf_export")
    except ModuleNotFoundError as error:
        raise UsageError(f"Dumps need the package {error.name}; install it with pip.") from error


class Dump(Mapping[str, Any]):
    """A Trifuse dump that is open for reading: a mapping from names to arrays (h5py.Dataset), to be used with `with`.

    `trifuse.triples(**dump)` computes from the arrays without loading them as a whole, with the facts that the dump states
    about them; `trifuse.run(path)` is faster. Arrays that are loaded, dump["t2"][()], do not know their dump: pass
    `**dump.facts` with them.

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
        self.path = os.fsdecode(path_bytes("path", path))
        """Name of the file."""
        _exporter()
        try:
            self._file = importlib.import_module("h5py").File(self.path, "r")
            attributes = {name: plain(value) for name, value in self._file.attrs.items()}
        except (OSError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise InputError(f"{self.path}: {_unreadable(self.path, error)}") from error
        self.attributes: dict[str, Any] = attributes
        """Attributes of the dump: reference, amplitudes, correlation_energy (hartree), and so on."""
        if self.attributes.get("format") != FORMAT:
            self.close()
            raise InputError(f"{self.path}: this is not a Trifuse dump; its attribute `format` is not trifuse-dump.")

    @property
    def reference(self) -> str:
        """RHF, UHF or ROHF."""
        if "reference" not in self.attributes:
            raise InputError(f"{self.path}: this dump has no attribute `reference`, which every dump has; write it again.")
        return str(self.attributes["reference"])

    @property
    def kind(self) -> str:
        """ccsd, reg-ccsd, lambda or made-up."""
        return str(self.attributes.get("amplitudes", "ccsd"))

    @property
    def facts(self) -> dict[str, Any]:
        """What the dump states about its arrays, as arguments of `triples`: reference, kind, fock_in_triples and so on."""
        facts = facts_from(self.attributes)
        stated = {name: getattr(facts, name) for name in (
            "reference", "kind", "fock_in_triples", "correlation_energy", "scf_energy", "convergence")}
        stated["kind_omega2"] = facts.omega2
        return {name: value for name, value in stated.items() if value is not None}

    @property
    def sealed(self) -> bool:
        """True if the dump has checksums."""
        return "seal" in self._open()

    def damaged(self) -> list[str]:
        """Names of the arrays, and "header", that do not agree with the checksums. Reads the whole file."""
        if not self.sealed:
            raise UsageError(f"{self.path}: this dump has no checksums.")
        try:
            names: list[str] = _exporter().verify_seal(self.path)
        except (OSError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise InputError(f"{self.path}: the checksums cannot be read ({error}); write the dump again.") from error
        return names

    def close(self) -> None:
        """Closes the file. The arrays cannot be read any more."""
        self._file.close()

    def __getitem__(self, name: str) -> Any:
        if name == "seal":
            raise KeyError(name)
        return self._open()[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._open() if name != "seal")

    def __len__(self) -> int:
        return len(self._open()) - self.sealed

    def _open(self) -> Any:
        """The file, if it is open."""
        if not self._file:
            raise UsageError(f"{self.path}: this dump is closed; use its arrays inside the block `with trifuse.Dump(...)`.")
        return self._file

    def __enter__(self) -> Dump:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<trifuse.Dump {self.path}: {self.reference}, {self.kind}>"


def _unreadable(path: str, error: Exception) -> str:
    """Why h5py could not read a file, and the cure. `error`: its exception."""
    if os.path.isdir(path):
        return "this is a directory; name the dump file in it."
    if not os.path.lexists(path):
        return "this file does not exist; check the name."
    if isinstance(error, OSError) and error.errno == errno.EAGAIN:
        return "another program has locked this file, because it writes it; wait until it is complete."
    try:
        with open(path, "rb"):
            pass
    except OSError as cause:
        return f"this file cannot be opened ({cause.strerror}); check it and its permissions."
    if not importlib.import_module("h5py").is_hdf5(path):
        return "this is not an HDF5 file; name a Trifuse dump."
    return "this HDF5 file is truncated or damaged; write or copy it again."


def write_dump(
    path: PathLike,
    *,
    reference: str | None = None,
    kind: str | None = None,
    amplitudes: str | None = None,
    omega2: float | None = None,
    fock_in_triples: bool | None = None,
    correlation_energy: float | None = None,
    scf_energy: float | None = None,
    convergence: float | None = None,
    program: str = "trifuse.write_dump",
    molecule: str | None = None,
    basis: str | None = None,
    factorization: str | None = None,
    auxiliary_basis: str | None = None,
    comment: str | None = None,
    overwrite: bool = False,
    **arrays: npt.ArrayLike | None,
) -> None:
    """Writes arrays to a sealed Trifuse dump. The file takes its name when it is complete and on the disk.

    If the arrays are those of an open dump (`write_dump(path, **dump)`), what is not stated here is what that dump states.

    Parameters
    ----------
    path
        Name of the file. An earlier dump of the same program and kind of amplitudes is replaced.
    reference, fock_in_triples, correlation_energy, scf_energy, convergence
        As in `triples`.
    kind, omega2
        ccsd (default), reg-ccsd (with its omega2, hartree) or lambda. `amplitudes` is an earlier name of `kind`.
    program, molecule, basis, comment
        Provenance, which reports show.
    factorization, auxiliary_basis
        Of arrays factors_*: density-fitting (default) or cholesky; name of the auxiliary basis.
    overwrite
        True: any existing file of this name is replaced.
    arrays
        Arrays with the names and shapes of `triples`: integrals, or factors_* in place of them. Left amplitudes need
        neither.

    Raises
    ------
    UsageError
        The arguments are not possible, or the name belongs to another file.
    """
    exporter = _exporter()
    target = os.fsdecode(path_bytes("path", path))
    given = {name: values for name, values in arrays.items() if values is not None}
    for name, values in given.items():
        refuse_closed(name, values)
    facts = facts_of(given)
    found = reference_of(list(given), stated_or(reference, facts.reference))
    if not given:
        raise UsageError("There are no arrays; give them by name, for example t1=..., t2=....")
    kind, omega2 = kind_and_omega2(stated_or(kind, amplitudes), omega2, facts)
    if not word("program", program):
        raise UsageError("program is empty, but a dump names the program that wrote it.")
    version, texts = _version_of(given, stated_or(factorization, facts.factorization),
                                 stated_or(auxiliary_basis, facts.auxiliary_basis))
    texts.update(program=program, molecule=stated_or(molecule, facts.molecule), basis=stated_or(basis, facts.basis),
                 comment=stated_or(comment, facts.comment))
    strings = {name: text for name, text in texts.items() if text is not None and word(name, text)}
    energies = {"correlation_energy": stated_or(correlation_energy, facts.correlation_energy),
                "scf_energy": stated_or(scf_energy, facts.scf_energy), "convergence": stated_or(convergence, facts.convergence)}
    energies = {name: number(name, energy) for name, energy in energies.items() if energy is not None}
    fock_in_triples = stated_or(fock_in_triples, facts.fock_in_triples)
    stated = stated_fock(fock_in_triples)
    overwrite = truth("overwrite", overwrite)
    numbers = {name: _readable(name, values) for name, values in given.items()}
    with _own_errors(exporter, os.path.abspath(target)), exporter.new_dump(target, kind, overwrite, program) as file:
        largest = max(int(np.prod(each.shape)) for each in numbers.values())
        file.begin(found, kind, omega2, largest, strings, version=version)
        for name, energy in energies.items():
            file.attrs[name] = energy
        if stated:
            file.attrs["fock_in_triples"] = int(stated > 0)
        for name, values in numbers.items():
            rows = (real_part(name, np.asarray(values[n])) for n in range(values.shape[0]))
            file.write(name, tuple(values.shape), "i8" if name.startswith("irrep") else "f8", rows)


def _version_of(arrays: Mapping[str, Any], factorization: Any, auxiliary_basis: Any) -> tuple[int, dict[str, Any]]:
    """The version of a dump of these arrays, and its texts about the factors."""
    factors = [name for name in arrays if name.startswith("factors_")]
    if not factors:
        return 1, {}
    kinds = ("ovvv", "ovoo", "ovov", "oovv", "oooo", "kvvv", "ladder", "vvvv_diag")
    if integrals := [name for name in arrays if name.removeprefix("asym_").startswith(kinds)]:
        raise UsageError(f"{factors[0]} stands for all integrals, but {integrals[0]} is there, too; give only one of them.")
    factorization = stated_or(factorization, "density-fitting")
    if not isinstance(factorization, str) or factorization not in ("density-fitting", "cholesky"):
        raise UsageError(f"factorization is {shown(factorization)}, but it must be density-fitting or cholesky.")
    return 2, {"factorization": factorization, "auxiliary_basis": auxiliary_basis}


@contextlib.contextmanager
def _own_errors(exporter: Any, target: str) -> Iterator[None]:
    """Turns the exceptions of the exporter into those of this package."""
    try:
        yield
    except exporter.ExportError as error:
        raise UsageError(capitalized(str(error))) from error
    except (OSError, RuntimeError) as error:  # h5py raises both
        sentence = str(error)
        raise ResourceError(sentence if sentence.startswith(target) else f"{target}: this dump cannot be written ({sentence}).") from error


def _readable(name: str, values: Any) -> Any:
    """An array whose rows can be read one after another: `values` itself if it is one of HDF5."""
    if hasattr(values, "__cuda_array_interface__") and hasattr(values, "get"):
        values = values.get()
    if name.startswith("fragments"):
        values = projectors(name, values)
    numbers = values if is_of_h5py(values) else as_numbers(name, values)
    if len(numbers.shape) == 0:
        raise UsageError(f"{name} is a single number, but it must be an array.")
    return numbers
