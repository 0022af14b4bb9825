"""What the attributes of a dump say about arrays that are read from it. h5py.Dataset objects know their file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

FORMAT = "trifuse-dump"


class Facts(NamedTuple):
    """Attributes of a dump, by the names of arguments. None: not known."""

    reference: str | None = None
    kind: str | None = None
    omega2: float | None = None
    fock_in_triples: bool | None = None
    correlation_energy: float | None = None
    scf_energy: float | None = None
    convergence: float | None = None
    molecule: str | None = None
    basis: str | None = None
    comment: str | None = None
    factorization: str | None = None
    auxiliary_basis: str | None = None


_OF_AMPLITUDES = ("kind", "omega2", "correlation_energy", "convergence", "comment")


def facts_of(arrays: Mapping[str, Any]) -> Facts:
    """The facts of the dump to which the arrays belong. All are None if the arrays belong to no open dump.

    The facts about amplitudes are known only if all amplitudes belong to that dump.
    """
    files = {name: _dump_of(values) for name, values in arrays.items()}
    dumps = {name: file for name, file in files.items() if file is not None}
    if not dumps:
        return Facts()
    of_amplitudes = [name for name in files if name.startswith(("t1", "t2"))]
    chosen = next((name for name in of_amplitudes if name in dumps), next(iter(dumps)))
    facts = facts_from({name: plain(value) for name, value in dumps[chosen].attrs.items()})
    if all(name in dumps and dumps[name] == dumps[chosen] for name in of_amplitudes):
        return facts
    return facts._replace(**{name: None for name in _OF_AMPLITUDES})


def facts_from(attributes: Mapping[str, Any]) -> Facts:
    """The facts that the attributes of a dump state."""
    known = {name: attributes[name] for name in Facts._fields if name in attributes}
    known["kind"] = attributes.get("amplitudes", "ccsd")
    if "fock_in_triples" in known:
        known["fock_in_triples"] = bool(known["fock_in_triples"])
    return Facts(**known)


def stated_or(stated: Any, known: Any) -> Any:
    """What the caller states, else what is known."""
    return known if stated is None else stated


def is_of_h5py(values: Any) -> bool:
    """True for an object of h5py, which need not be installed."""
    return type(values).__module__.startswith("h5py")


def plain(value: Any) -> Any:
    """The value of an attribute as a Python object."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.item() if isinstance(value, np.generic) else value


def _dump_of(values: Any) -> Any:
    """The open file of a dataset of h5py if the file is a Trifuse dump, else None."""
    if not is_of_h5py(values) or not values or not hasattr(values, "file"):
        return None
    file = values.file
    return file if plain(file.attrs.get("format")) == FORMAT else None
