"""Arrays of the caller as the library reads them: by pointer if possible, else through a reader of boxes."""

from __future__ import annotations

import ctypes
import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple, Protocol, Tuple, TypedDict, Union

import numpy as np
import numpy.typing as npt

from . import _library
from ._device_arrays import CUDA_MEMORY, device_array, without_gradients
from ._facts import Facts, is_of_h5py, stated_or
from ._options import names_of, number, shown, truth, word
from .errors import Error, InputError, UsageError

REFERENCES = {"RHF": 0, "UHF": 1, "ROHF": 2}
KINDS = {"ccsd": 0, "reg-ccsd": 1, "lambda": 2}
NAMES = ("eps_occ", "eps_vir", "t1", "t2", "ovvv", "ovoo", "ovov", "oovv", "oooo", "kvvv", "ladder", "vvvv_diag",
         "vvvv_diag_semicanonical", "fock", "irrep_occ", "irrep_vir", "factors_oo", "factors_ov", "factors_vv", "fragments")


_Array = Union[npt.ArrayLike, None]
SpinArrays = TypedDict("SpinArrays", {
    "eps_occ_a": _Array, "eps_occ_b": _Array, "eps_vir_a": _Array, "eps_vir_b": _Array,
    "t1_a": _Array, "t1_b": _Array, "t2_aa": _Array, "t2_ab": _Array, "t2_bb": _Array,
    "ovvv_aaaa": _Array, "ovvv_aabb": _Array, "ovvv_bbaa": _Array, "ovvv_bbbb": _Array,
    "ovoo_aaaa": _Array, "ovoo_aabb": _Array, "ovoo_bbaa": _Array, "ovoo_bbbb": _Array,
    "ovov_aaaa": _Array, "ovov_aabb": _Array, "ovov_bbbb": _Array, "oovv_aaaa": _Array, "oovv_bbbb": _Array,
    "asym_ovvv_aaaa": _Array, "asym_ovvv_bbbb": _Array, "asym_ovoo_aaaa": _Array, "asym_ovoo_bbbb": _Array,
    "asym_ovov_aaaa": _Array, "asym_ovov_bbbb": _Array, "asym_oovv_aaaa": _Array, "asym_oovv_bbbb": _Array,
    "oovv_aabb": _Array, "oovv_bbaa": _Array, "oooo_aaaa": _Array, "oooo_aabb": _Array, "oooo_bbbb": _Array,
    "kvvv_aaaa": _Array, "kvvv_aabb": _Array, "kvvv_bbaa": _Array, "kvvv_bbbb": _Array,
    "asym_oooo_aaaa": _Array, "asym_oooo_bbbb": _Array, "asym_kvvv_aaaa": _Array, "asym_kvvv_bbbb": _Array,
    "ladder_aa": _Array, "ladder_ab": _Array, "ladder_bb": _Array,
    "vvvv_diag_aa": _Array, "vvvv_diag_ab": _Array, "vvvv_diag_bb": _Array,
    "vvvv_diag_semicanonical_aa": _Array, "vvvv_diag_semicanonical_ab": _Array, "vvvv_diag_semicanonical_bb": _Array,
    "factors_oo_a": _Array, "factors_oo_b": _Array, "factors_ov_a": _Array, "factors_ov_b": _Array,
    "factors_vv_a": _Array, "factors_vv_b": _Array, "fock_a": _Array, "fock_b": _Array,
    "fragments_a": Any, "fragments_b": Any,
    "irrep_occ_a": _Array, "irrep_occ_b": _Array, "irrep_vir_a": _Array, "irrep_vir_b": _Array,
}, total=False)
"""Arrays of a UHF or ROHF reference, with their spins."""

SPIN_NAMES = names_of(SpinArrays)

Box = Tuple[slice, ...]


class HasBoxes(Protocol):
    """An array that is not in memory, such as an h5py.Dataset: it delivers boxes as NumPy arrays."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, box: Box, /) -> Any: ...


class Amplitudes(NamedTuple):
    """Amplitudes, integrals and orbital energies, and facts about them."""

    arrays: Mapping[str, Any]
    reference: str
    kind: str = "ccsd"
    omega2: float = 0.0
    fock_in_triples: bool | None = None
    correlation_energy: float | None = None
    scf_energy: float | None = None
    source: str = "the calling program"
    program: str = ""
    molecule: str = ""
    basis: str = ""
    convergence: float | None = None


def reference_of(names: Sequence[str], stated: str | None, options: Sequence[str] = ()) -> str:
    """The reference of arrays with these names. Without `stated`: RHF, or UHF if the names contain spins.

    `options`: names that an unknown name may stand for besides those of arrays.
    """
    known = NAMES + SPIN_NAMES
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"{shown(name)} is not the name of an array; names are texts, for example \"t1\".")
        if name not in known:
            close = difflib.get_close_matches(name, (*known, *options), 1)
            hint = f"the nearest name is {close[0]}." if close else "the names are those of the dump format."
            raise UsageError(f"There is no array {'or option ' if options else ''}{name}; {hint}")
    with_spins = any(name in SPIN_NAMES for name in names)
    if with_spins and any(name in NAMES for name in names):
        plain = next(name for name in names if name in NAMES)
        raise UsageError(f"Some names of the arrays have spins, but {plain} has none; "
                         "give either the arrays of an RHF reference or those of a UHF or ROHF reference.")
    reference = ("UHF" if with_spins else "RHF") if stated is None else stated
    if not isinstance(reference, str) or reference.upper() not in REFERENCES:
        raise UsageError(f"reference is {shown(stated)}, but it must be RHF, UHF or ROHF.")
    return reference.upper()


class Description:
    """trifuse_arrays of some amplitudes. It keeps everything alive that the library reads."""

    def __init__(self, amplitudes: Amplitudes) -> None:
        kind_of(amplitudes.kind)
        self.failures: list[BaseException] = []  # of readers, whose exceptions cannot pass through the library
        self._kept: list[Any] = []
        present = {name: values for name, values in amplitudes.arrays.items() if values is not None}
        self._arrays = (_library.Array * max(1, len(present)))()
        for array, (name, values) in zip(self._arrays, present.items()):
            self._fill(array, name, values)
        self.structure = _library.Arrays(
            size=ctypes.sizeof(_library.Arrays), array_size=ctypes.sizeof(_library.Array), count=len(present),
            arrays=self._arrays, reference=REFERENCES[amplitudes.reference], kind=KINDS[amplitudes.kind],
            omega2=number("omega2", amplitudes.omega2), fock_in_triples=stated_fock(amplitudes.fock_in_triples),
            correlation_energy=_known("correlation_energy", amplitudes.correlation_energy, math.nan),
            scf_energy=_known("scf_energy", amplitudes.scf_energy, math.nan),
            source=amplitudes.source.encode(), program=_text(amplitudes.program), molecule=_text(amplitudes.molecule),
            basis=_text(amplitudes.basis), convergence=_known("convergence", amplitudes.convergence, 0.0))

    def _fill(self, array: _library.Array, name: str, values: Any) -> None:
        array.name = name.encode()
        values = without_gradients(values)
        if _is_on_gpu(values):
            if _library.library().has_cuda and self._fill_from_gpu(array, name, values):
                return
            values = _copied_to_host(name, values)
        refuse_closed(name, values)
        if name.startswith("fragments"):
            values = projectors(name, values)
        if _delivers_boxes(values):
            self._set_shape(array, values.shape)
            array.reader = _reader(name, values, self.failures)
            self._kept.append(array.reader)
            return
        numbers = as_numbers(name, values)
        self._kept.append(numbers)
        array.data = numbers.ctypes.data
        array.type = _library.FLOAT64 if numbers.dtype == np.float64 else _library.INT64
        self._set_shape(array, numbers.shape)
        if not numbers.flags.c_contiguous:
            array.strides = self._integers(stride // numbers.itemsize for stride in numbers.strides)

    def _fill_from_gpu(self, array: _library.Array, name: str, values: Any) -> bool:
        """Gives the pointer of an array of a GPU. False if its layout, type or kind of memory does not allow this.

        The library waits until the GPU has made its numbers.
        """
        try:
            found = device_array(name, values)
        except UsageError:  # not of float64, for example: it is copied
            return False
        is_managed = hasattr(values, "__dlpack_device__") and values.__dlpack_device__()[0] != CUDA_MEMORY
        if found is None or is_managed or not found.place.flags.c_contiguous:
            return False
        self._kept.append(values)
        array.data = found.place.ctypes.data
        array.type = _library.FLOAT64
        array.location = found.gpu + 1
        self._set_shape(array, found.place.shape)
        return True

    def _set_shape(self, array: _library.Array, shape: Sequence[int]) -> None:
        array.rank = len(shape)
        array.shape = self._integers(shape)

    def _integers(self, numbers: Any) -> Any:
        values = list(numbers)
        integers = (ctypes.c_int64 * max(1, len(values)))(*values)
        self._kept.append(integers)
        return integers


def _reader(name: str, values: HasBoxes, failures: list[BaseException]) -> Any:
    """The function that the library calls for a box of `values`. It puts exceptions into `failures`."""
    rank = len(values.shape)

    def read(_context: int, offset: Any, count: Any, target: Any) -> int:
        try:
            box = tuple(slice(offset[n], offset[n] + count[n]) for n in range(rank))
            given = values[box]
            refuse_masked(name, given)
            numbers = real_part(name, np.asarray(given))
            wanted = tuple(count[n] for n in range(rank))
            if numbers.shape != wanted:
                raise UsageError(f"{name}[{', '.join(f'{each.start}:{each.stop}' for each in box)}] has the shape {list(numbers.shape)} "
                                 f"instead of {list(wanted)}; an array must deliver the boxes that it is asked for.")
            np.ctypeslib.as_array(target, wanted)[...] = numbers
            return 0
        except BaseException as error:
            failures.append(_named(name, values, error))
            return 1

    return _library.BoxReader(read)


def _named(name: str, values: Any, error: BaseException) -> BaseException:
    """An exception of a reader: one of h5py becomes a sentence about the array, another one stays as it is."""
    if isinstance(error, Error) or not isinstance(error, Exception) or not is_of_h5py(values):
        return error
    named = InputError(f"{name} cannot be read from its file ({str(error).rstrip('.')}); keep the file open and complete.")
    named.__cause__ = error
    return named


def as_numbers(name: str, values: Any) -> npt.NDArray[Any]:
    """A NumPy array of 64-bit floats, or of 64-bit integers for irreps. It is `values` itself if possible."""
    refuse_masked(name, values)
    try:
        if not isinstance(values, np.ndarray) and hasattr(values, "__dlpack__"):
            values = np.from_dlpack(values)
        numbers = np.asarray(values)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise UsageError(f"{name} is no array of numbers ({' '.join(str(error).split()).rstrip('.')}); "
                         "give a NumPy array, or lists of equal lengths.") from error
    numbers = real_part(name, numbers)
    if numbers.dtype.kind not in "fiub":
        raise UsageError(f"{name} must be an array of numbers, but its type is {numbers.dtype}.")
    wanted: npt.DTypeLike = np.float64
    if name.startswith("irrep"):
        if numbers.dtype.kind not in "iu":
            raise UsageError(f"{name} must be an array of integers, but its type is {numbers.dtype}.")
        wanted = np.int64
    numbers = numbers.astype(wanted, copy=False)
    if not numbers.flags.aligned or any(s % numbers.itemsize for s in numbers.strides):
        numbers = np.array(numbers, dtype=wanted, order="C")
    return numbers


def refuse_masked(name: str, values: Any) -> None:
    """Throws UsageError for a masked array with masked elements, whose numbers mean nothing."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise UsageError(f"{name} has masked elements; fill them first, for example with {name}.filled(0.0).")


def projectors(name: str, fragments: Any) -> npt.NDArray[Any]:
    """The projectors P [n,o,o] of fragments. Each fragment is P [o,o], orbitals u [o,m] with P = u u^T, or one orbital [o]."""
    try:
        given = [as_numbers(name, each) for each in fragments]
    except TypeError:
        raise UsageError(f"{name} is {shown(fragments)}, but it must be a list of projectors or orbitals, one for each "
                         "fragment.") from None
    made = []
    for each in given:
        if each.ndim not in (1, 2):
            raise UsageError(f"{name} must have the projector [o,o], orbitals [o,m] or one orbital [o] for each fragment, "
                             f"but one has the shape {list(each.shape)}.")
        u = each.reshape(len(each), -1)
        made.append(each if each.ndim == 2 and each.shape[0] == each.shape[1] else u @ u.T)
    if len({each.shape for each in made}) > 1:
        raise UsageError(f"{name} must have the same number of occupied orbitals in each fragment, but they have "
                         f"{sorted({len(each) for each in made})}.")
    return np.array(made)


def real_part(name: str, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An array whose type may be complex as a real array. Throws UsageError if an imaginary part is not zero."""
    if not np.iscomplexobj(numbers):
        return numbers
    if np.any(numbers.imag):
        raise UsageError(f"{name} is complex; only real numbers are possible.")
    return numbers.real


def kind_of(kind: Any) -> str:
    """The kind of amplitudes. Throws UsageError if there is no such kind."""
    if not isinstance(kind, str) or kind not in KINDS:
        hint = "; use trifuse.run for a dump of random numbers" if isinstance(kind, str) and kind == "made-up" else ""
        raise UsageError(f"The amplitudes are {shown(kind)}, but they must be ccsd, reg-ccsd or lambda{hint}.")
    return kind


def kind_and_omega2(kind: Any, omega2: Any, facts: Facts,
                    names: tuple[str, str] = ("kind", "omega2")) -> tuple[str, float | None]:
    """The kind of amplitudes and their omega2: what the caller states, else what the dump of the arrays states.

    `names`: of the two arguments, for sentences.
    """
    if kind is None and facts.kind == "made-up":
        return facts.kind, None
    if kind is None and omega2 is None and facts.kind is not None:
        kind, omega2 = facts.kind, facts.omega2
    kind = kind_of(stated_or(stated_or(kind, facts.kind), "ccsd"))
    if omega2 is not None:
        omega2 = number(names[1], omega2)
    if kind == "reg-ccsd" and omega2 is None:
        raise UsageError(f"reg-ccsd amplitudes need the omega2 with which they were solved; pass {names[1]}=....")
    if kind != "reg-ccsd" and omega2:
        raise UsageError(f"{names[1]} belongs to reg-ccsd amplitudes, but these are {kind}; "
                         f"pass {names[0]}=\"reg-ccsd\", or no {names[1]}.")
    return kind, omega2 if kind == "reg-ccsd" else None


def stated_fock(fock_in_triples: Any) -> int:
    """Whether f_ov t2 enters the disconnected triples, as the library takes it: 0 not stated, 1 it does, -1 it does not."""
    return 0 if fock_in_triples is None else 1 if truth("fock_in_triples", fock_in_triples) else -1


def _known(name: str, value: Any, unknown: float) -> float:
    return unknown if value is None else number(name, value)


def refuse_closed(name: str, values: Any) -> None:
    """Throws UsageError for a dataset of a file that is not open any more."""
    if is_of_h5py(values) and not values:
        raise UsageError(f"{name} is a dataset of a file that is closed; keep the file open until the result is there.")


def _delivers_boxes(values: Any) -> bool:
    """True for an array such as an h5py.Dataset. Only boxes of it should be in memory."""
    in_memory = isinstance(values, np.ndarray) or hasattr(values, "__array_interface__") or hasattr(values, "__dlpack__")
    return not in_memory and hasattr(values, "__getitem__") and _rank(values) > 1


def _rank(values: Any) -> int:
    try:
        return len(getattr(values, "shape", ()))
    except TypeError:  # no shape of an array
        return 0


def _is_on_gpu(values: Any) -> bool:
    return not isinstance(values, np.ndarray) and hasattr(values, "__cuda_array_interface__")


def _copied_to_host(name: str, values: Any) -> Any:
    copy: Callable[[], Any] | None = getattr(values, "get", None) or getattr(values, "cpu", None)
    if copy is None:
        raise UsageError(f"{name} is an array of a GPU that cannot be copied to the host; pass a NumPy array.")
    return copy()


def _text(value: Any) -> bytes | None:
    return word("A text about the amplitudes", value).encode() if value else None
