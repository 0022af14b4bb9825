"""The options of a run: their names, types and default values. Nothing else in this package lists them."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, TypedDict, TypeVar, Union

from .errors import UsageError

ProgressFunction = Callable[[float, float], Any]
Progress = Union[None, bool, ProgressFunction]
PathLike = Union[str, "os.PathLike[str]"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Options(TypedDict, total=False):
    """Options of a run, which trifuse.triples explains."""

    omega2: float | Sequence[float] | None
    device: str
    gpus: Sequence[int] | None
    threads: int | None
    memory: int | None
    tile_size: int | None
    form: str
    rohf: str
    precision: str
    target_error: float | None
    journal: PathLike | None
    check: bool
    trust_input: bool
    progress: Progress


class ObjectOptions(Options, total=False):
    """Options for objects of PySCF, which trifuse.pyscf.triples explains."""

    left: Any
    allow_unconverged: bool
    verbose: Any


_DEFAULTS: Mapping[str, Any] = {"device": "auto", "form": "auto", "rohf": "nwchem", "precision": "double", "check": True,
                                "trust_input": False, "allow_unconverged": False}


def default(name: str) -> Any:
    """Default value of an option."""
    return _DEFAULTS.get(name)


def names_of(options: Any) -> tuple[str, ...]:
    """Names of the members of a TypedDict."""
    return tuple(options.__annotations__)


def taking(options: Any, rest: str | None = None) -> Callable[[Function], Function]:
    """Lists the members of a TypedDict, which is the type of the parameter ** of a function, in help() and signature().

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
        return function

    return decorate


def refuse_unknown(given: Iterable[str], options: Any) -> None:
    """Throws UsageError if a name is not that of a member of the TypedDict `options`."""
    known = names_of(options)
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"the nearest name is {close[0]}." if close else f"the options are {', '.join(known)}."
            raise UsageError(f"There is no option {name}; {hint}")
