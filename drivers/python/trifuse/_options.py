"""The options of a run: their names, types, meanings and default values. Nothing else in this package lists them.

The library has their limits."""

from __future__ import annotations

import difflib
import inspect
import operator
import os
import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, TypedDict, TypeVar, Union

import numpy as np

from .errors import UsageError

ProgressFunction = Callable[[float, float], Any]
Progress = Union[None, bool, ProgressFunction]
PathLike = Union[str, "os.PathLike[str]"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Options(TypedDict, total=False):
    """Options of a run.

    method
        t (default), ct, cr-t, 2t, cr-cc23, reg-t or reg-gf-t, or several of them that share a side, for example
        ["ct", "cr-t"]: drivers/docs/methods.md lists their energies and the arrays that each needs. One run computes all of them.
    omega2
        One value or several values, hartree. One run computes all of them.
    device, gpus
        auto, cpu or cuda; a list of the numbers of the GPUs to use, for example [0, 1]. gpus alone implies cuda; with
        device="auto" cores may compute, too.
        auto: GPUs for molecules that are large enough. cpu: no GPU.
    kernel
        Name of the kernel configuration of GPUs, for measurements. Default: the best for the GPU.
    threads, memory, tile_size
        Number of threads; limit of memory (CPU: of the scratch, GPUs: on each GPU), a number of bytes or a text with a unit,
        for example "8GiB"; largest tile.
    form, rohf
        auto, spin-orbital or spin-adapted; the orbitals of an ROHF reference: given (those of the amplitudes: the number of
        NWChem and of PySCF) or semicanonical (the standard ROHF-CCSD(T)).
    precision, target_error
        double, or mixed: GPUs compute faster, and the energies have error bars; with device="cpu" it is a slow emulation, without
        derivatives.
        target_error is the error bar in hartree that mixed precision must reach; default: 7e-9 of the energy, or 3e-10
        hartree if this is more.
    journal
        File of finished tasks. A run that was stopped resumes from it. Default: none, and nothing is written.
    derivatives
        Derivatives of E(T) by the arrays: "t" by t1, t2 and the small arrays, "all" also by ovvv and ovoo, or
        by factors (twice the work), or a list of names. The result has them in `derivatives`; drivers/docs/derivatives.md.
    check
        False: the numbers of the arrays are not checked. The result says so.
    trust_input
        True: the run continues after a failed check, with a warning.
    progress
        None: a progress bar if the output is a terminal and tqdm is installed. True, False: always, never. A function
        progress(done, total) is called ten times in a second. Both numbers are floating-point operations; total is infinite
        (math.inf) while the input is read and checked, never 0. If the function returns False, the run ends with
        CancelledError.
    """

    method: str | Sequence[str] | None
    omega2: float | Sequence[float] | None
    device: str
    gpus: Sequence[int] | None
    kernel: str | None
    threads: int | None
    memory: int | str | None
    tile_size: int | None
    form: str
    rohf: str
    precision: str
    target_error: float | None
    journal: PathLike | None
    derivatives: str | Sequence[str] | None
    check: bool
    trust_input: bool
    progress: Progress


class ObjectOptions(Options, total=False):
    """Options for objects of PySCF, which trifuse.pyscf.triples explains."""

    left: Any
    fragments: Any
    allow_unconverged: bool
    verbose: Any


_DEFAULTS: Mapping[str, Any] = {"device": "auto", "form": "auto", "rohf": "given", "precision": "double", "check": True,
                                "trust_input": False, "allow_unconverged": False}


def default(name: str) -> Any:
    """Default value of an option."""
    return _DEFAULTS.get(name)


def names_of(options: Any) -> tuple[str, ...]:
    """Names of the members of a TypedDict."""
    return tuple(options.__annotations__)


def taking(options: Any, rest: str | None = None) -> Callable[[Function], Function]:
    """Lists the members of a TypedDict, which is the type of the parameter ** of a function, in help() and signature().

    It replaces {options} in the documentation of the function by the meanings of the options.

    `rest`: the name under which the parameter ** itself stays in the list, because it takes more names.
    """

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        *parameters, keywords = signature.parameters.values()
        for name, hint in options.__annotations__.items():
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default(name),
                                                annotation=getattr(hint, "__forward_arg__", hint)))
        if rest is not None:
            parameters.append(keywords.replace(name=rest, annotation="npt.ArrayLike | None"))
        setattr(function, "__signature__", signature.replace(parameters=parameters))
        _, _, meanings = (Options.__doc__ or "").partition("\n\n")
        function.__doc__ = (function.__doc__ or "").replace("    {options}", meanings.rstrip())
        return function

    return decorate


def with_new_names(options: Options) -> Options:
    """The options without values that have a new name. Such a value gives a DeprecationWarning at the caller of the package."""
    if options.get("rohf") != "nwchem":
        return options
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "trifuse":
        frame, level = frame.f_back, level + 1
    warnings.warn('rohf="nwchem" has the new name rohf="given"; it is the number of NWChem and of PySCF.', DeprecationWarning,
                  stacklevel=level)
    return {**options, "rohf": "given"}


def refuse_gpus_of_cores(options: Options) -> None:
    """Throws UsageError if the options name GPUs but choose CPU cores."""
    device, gpus = options.get("device"), options.get("gpus")
    if isinstance(device, str) and device == "cpu" and gpus is not None and gpu_numbers(gpus):
        raise UsageError('gpus names GPUs, but device="cpu" uses none; leave one of them out.')


def gpu_numbers(values: Any, others: str = 'device="cuda" takes all GPUs, device="cpu" none.') -> list[int]:
    """The numbers of GPUs in a list. Throws UsageError for one number, which may also be meant as the number of all GPUs.

    `others`: the sentence about other choices.
    """
    numbers = None if isinstance(values, (str, bytes)) or np.ndim(values) == 0 else several(values)
    if not numbers:
        raise UsageError(f"gpus is {shown(values)}, but it must be a list of numbers of GPUs, for example gpus=[0]; {others}")
    return [integer("gpus", each) for each in numbers]


_UNITS = {"B": 1.0, **{prefix + ending: factor for power, prefix in enumerate("KMGT", 1)
                     for ending, factor in (("", 2.0 ** (10 * power)), ("iB", 2.0 ** (10 * power)), ("B", 10.0 ** (3 * power)))}}


def byte_count(name: str, value: Any) -> int:
    """An amount of memory: a number of bytes, or a text with a unit, for example 8GiB. Throws UsageError if it is none."""
    if not isinstance(value, str):
        return integer(name, value)
    amount = re.fullmatch(r"([0-9.]+)([A-Za-z]+)", "".join(value.split()))
    try:
        return int(float(amount[1]) * _UNITS[amount[2]])  # type: ignore[index]
    except (KeyError, OverflowError, TypeError, ValueError):
        raise UsageError(f"{name} is {shown(value)}, but it must be an amount of memory, for example \"8GiB\".") from None


def option_text(name: str, value: Any) -> bytes | None:
    """The value of an option as the library reads it; None if it is not given. Throws UsageError if it has another type."""
    hint = Options.__annotations__[name]
    types = str(getattr(hint, "__forward_arg__", hint)).split(" | ")
    if value is None and "None" in types:
        return None
    if "PathLike" in types:
        return path_bytes(name, value)
    if "Sequence[str]" in types:
        return ",".join(word(name, each) for each in several(value)).encode(errors="replace")
    if name == "gpus":
        value = gpu_numbers(value)
    convert = number if "float" in types else integer
    if any(each.startswith("Sequence") for each in types):
        return ",".join(repr(convert(name, each)) for each in several(value)).encode()
    if "bool" in types:
        return b"true" if truth(name, value) else b"false"
    if "str" in types and (isinstance(value, str) or "int" not in types):
        text = word(name, value)
        return ("".join(text.split()) if "int" in types else text).encode(errors="replace")  # memory="8 GiB"
    return repr(convert(name, value)).encode()


def several(values: Any) -> list[Any]:
    """The elements of a list, a tuple or an array, or the value itself."""
    return list(np.ravel(np.asarray(values, dtype=object)))


def refuse_unknown(given: Iterable[str], options: Any) -> None:
    """Throws UsageError if a name is not that of a member of the TypedDict `options`."""
    known = names_of(options)
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"the nearest name is {close[0]}." if close else f"the options are {', '.join(known)}."
            raise UsageError(f"There is no option {name}; {hint}")


def number(name: str, value: Any) -> float:
    """An option or argument as a number. Throws UsageError if it is none."""
    try:
        found = complex(value.reshape(()) if hasattr(value, "reshape") else value)
        if not isinstance(value, (str, bytes)) and found.imag == 0:
            return found.real
    except (TypeError, ValueError, OverflowError):
        pass
    raise UsageError(f"{name} is {shown(value)}, but it must be a real number.")


def integer(name: str, value: Any) -> int:
    """An option or argument as an integer of 64 bits. Throws UsageError if it is none."""
    try:
        exact = isinstance(value, float) and value.is_integer()
        found = int(value) if exact else operator.index(value)
    except TypeError:
        raise UsageError(f"{name} is {shown(value)}, but it must be an integer.") from None
    if not -2**63 <= found < 2**63:
        raise UsageError(f"{name} is {found}, but it must be an integer of 64 bits.")
    return found


def truth(name: str, value: Any) -> bool:
    """An option or argument that is True or False. Throws UsageError for everything else but 0 and 1."""
    try:
        if value in (0, 1):
            return bool(value)
    except (TypeError, ValueError):  # an array, say
        pass
    raise UsageError(f"{name} is {shown(value)}, but it must be True or False.")


def word(name: str, value: Any) -> str:
    """An option or argument that is a text. Throws UsageError if it is none."""
    if isinstance(value, str) and "\0" not in value:
        return value
    raise UsageError(f"{name} is {shown(value)}, but it must be a text{' without NUL' if isinstance(value, str) else ''}.")


def path_bytes(name: str, value: Any) -> bytes:
    """The name of a file for the library. Throws UsageError if the value cannot be one."""
    try:
        encoded = os.fsencode(value)
    except (TypeError, UnicodeError):
        raise UsageError(f"{name} is {shown(value)}, but it must be the name of a file.") from None
    if not encoded or b"\0" in encoded:
        raise UsageError(f"{name} is {shown(value)}, but a name of a file is not empty and has no NUL.")
    return encoded


def shown(value: Any) -> str:
    """A value in a sentence: short."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:50]}... ({type(value).__name__})"


def capitalized(sentence: str) -> str:
    """A sentence with a capital letter, unless it begins with a name, such as t1, ovvv or int."""
    begins_with_a_word = sentence.startswith(("the ", "these ", "there ", "density fitting "))
    return sentence[:1].upper() + sentence[1:] if begins_with_a_word else sentence
