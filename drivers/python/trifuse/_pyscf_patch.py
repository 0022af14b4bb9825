"""patch(): functions of PySCF that compute here."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from ._options import ObjectOptions, Options, names_of, refuse_unknown, taking
from ._pyscf_densities import gamma1, gamma2, intermediates, is_restricted, module_of
from ._pyscf_derivatives import derivatives_by_integrals, derivatives_of
from ._pyscf_properties import electronic
from ._pyscf_refusals import refuse_unsupported
from ._pyscf_triples import export, integrals_of, triples
from .errors import NotAvailable

if TYPE_CHECKING:
    from typing_extensions import Unpack

_originals: dict[str, Any] = {}
_active: list[patch] = []


class patch(contextlib.AbstractContextManager["patch"]):
    """Makes (T) of PySCF's RCCSD and UCCSD objects compute here: mycc.ccsd_t(), and the modules of PySCF for its properties.

    These are cc.ccsd_t_lambda, cc.ccsd_t_rdm, grad.ccsd_t, and those of UHF. A call patch() lasts until unpatch() or the end of
    the program; `with patch():` undoes it at the end of the block. Options are those of `triples`, for example
    patch(device="cuda"); properties are always those of (T) with the same amplitudes on both sides. Objects that Trifuse does not
    support, and those for which PySCF's (T) has another definition (periodic ones, orbitals that are not canonical), use PySCF's
    own code, with a warning.
    """

    @taking(ObjectOptions)
    def __init__(self, **options: Unpack[ObjectOptions]) -> None:
        refuse_unknown(options, ObjectOptions)
        replacements = _replacements()
        self._before = {place: _found(place) for place in replacements}
        _active.append(self)
        for place, made in replacements.items():
            original = _originals.setdefault(place, self._before[place])
            _put(place, _replacement(made, original, dict(options)))

    def __exit__(self, *_: object) -> None:
        if self in _active:  # not after unpatch()
            _active.remove(self)
            for place, before in self._before.items():
                _put(place, before)


def unpatch() -> None:
    """Restores PySCF's own functions, also in the blocks of patch()."""
    _active.clear()
    for place, original in _originals.items():
        _put(place, original)


def _owner(place: str) -> tuple[Any, str]:
    """The module or the class, and the name in it, of a place such as pyscf.grad.ccsd_t:Gradients.grad_elec."""
    module, _, path = place.partition(":")
    *classes, name = path.split(".")
    return functools.reduce(getattr, classes, importlib.import_module(module)), name


def _found(place: str) -> Any:
    owner, name = _owner(place)
    return vars(owner)[name]


def _put(place: str, function: Any) -> None:
    setattr(*_owner(place), function)


def _replacement(made: Callable[..., Any], original: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """A function that replaces one of PySCF and has its parameters. `made`: takes them, and the options behind them."""

    @functools.wraps(original)
    def replaced(*arguments: Any, **named: Any) -> Any:
        bound = inspect.signature(original).bind(*arguments, **named)
        bound.apply_defaults()
        given = bound.arguments
        mycc = given["mycc"] if "mycc" in given else given["cc_grad"].base
        reason = _left_to_pyscf(mycc, given.get("eris"), made)
        if reason is None:
            try:
                return made(*given.values(), options)
            except NotAvailable as error:
                reason = str(error)
        log = importlib.import_module("pyscf.lib.logger").new_logger(mycc, given.get("verbose"))
        log.warn("Trifuse leaves this (T) to PySCF: %s", reason)
        return _mended(original, given, log)

    return replaced


def _mended(original: Callable[..., Any], given: dict[str, Any], log: Any) -> Any:
    """What PySCF's function returns, with the right block of four virtual orbitals, which (T) does not change.

    PySCF 2.14 and earlier ones compress this block of alpha and beta without a factor 1/2 in the densities of UCCSD(T).
    """
    d2 = original(*given.values())
    if not given.get("compress_vvvv") or is_restricted(given["mycc"]):
        return d2
    of_ccsd = module_of(given["mycc"], "cc.%sccsd_rdm")._gamma2_intermediates(*(given[n] for n in ("mycc", "t1", "t2", "l1", "l2")), True)
    if all(x is None and y is None or np.allclose(x, y, rtol=0, atol=1e-12) for x, y in zip(d2[1], of_ccsd[1])):
        return d2
    log.warn("This version of PySCF has a wrong factor in the compressed two-electron density of UCCSD(T) (dvvVV); it is mended here.")
    return (d2[0], of_ccsd[1], *d2[2:])


def _kernel(mycc: Any, eris: Any, t1: Any, t2: Any, verbose: Any, options: dict[str, Any]) -> float:
    return float(triples(mycc, t1, t2, eris, **{"verbose": verbose, **options}))


def _run(mycc: Any, t1: Any, t2: Any, eris: Any, which: str, options: dict[str, Any], fock: bool = False) -> tuple[Any, Any]:
    """The integrals and the derivatives."""
    eris = integrals_of(mycc, eris)
    return eris, derivatives_of(mycc, t1, t2, eris, which, _of_properties(options), fock)


def _of_properties(options: dict[str, Any]) -> dict[str, Any]:
    """The options without those that choose another energy than (T) of these amplitudes and orbitals, or a journal."""
    return {name: value for name, value in options.items() if name in names_of(Options) and name not in ("method", "rohf", "journal")}


def _make_intermediates(mycc: Any, t1: Any, t2: Any, eris: Any, options: dict[str, Any]) -> Any:
    eris, derivatives = _run(mycc, t1, t2, eris, "t", options)
    return intermediates(mycc, t1, t2, eris, derivatives, module_of(mycc, "cc.%sccsd_lambda"))


def _gamma1(mycc: Any, t1: Any, t2: Any, l1: Any, l2: Any, eris: Any, for_grad: bool, options: dict[str, Any]) -> Any:
    return gamma1(mycc, t1, t2, l1, l2, _run(mycc, t1, t2, eris, "all" if for_grad else "t", options, for_grad)[1])


def _gamma2_outcore(mycc: Any, t1: Any, t2: Any, l1: Any, l2: Any, eris: Any, h5fobj: Any, compress_vvvv: bool,
                    options: dict[str, Any]) -> Any:
    derivatives = derivatives_by_integrals(mycc, t1, t2, integrals_of(mycc, eris), _of_properties(options))
    return gamma2(mycc, t1, t2, l1, l2, derivatives, h5fobj, compress_vvvv)


def _gamma2(mycc: Any, t1: Any, t2: Any, l1: Any, l2: Any, eris: Any, compress_vvvv: bool, options: dict[str, Any]) -> Any:
    with importlib.import_module("pyscf.lib").H5TmpFile() as file:
        d2 = _gamma2_outcore(mycc, t1, t2, l1, l2, eris, file, compress_vvvv, options)
        if not is_restricted(mycc):
            return d2
        blocks: list[Any] = [each if each is None else each[...] for each in d2]
        return (*blocks[:5], blocks[6].transpose(2, 3, 0, 1), *blocks[6:])


def _grad_elec(cc_grad: Any, t1: Any, t2: Any, l1: Any, l2: Any, eris: Any, atmlst: Any, verbose: Any, options: dict[str, Any]) -> Any:
    return electronic(cc_grad.base, t1, t2, l1, l2, eris, atmlst, {"verbose": verbose, **_of_properties(options)})[0]


_REPLACEMENTS: dict[str, Callable[..., Any]] = {
    "cc.%sccsd_t:kernel": _kernel,
    "cc.%sccsd_t_lambda:make_intermediates": _make_intermediates,
    "cc.%sccsd_t_rdm:_gamma1_intermediates": _gamma1,
    "cc.%sccsd_t_rdm:_gamma2_intermediates": _gamma2,
    "cc.%sccsd_t_rdm:_gamma2_outcore": _gamma2_outcore,
    "grad.%sccsd_t:Gradients.grad_elec": _grad_elec}
"""Places in PySCF, and what computes there: takes the arguments of PySCF's function and the options."""


@functools.cache
def _replacements() -> dict[str, Callable[..., Any]]:
    """The places of this version of PySCF. Those before 2.11 have some modules only under names with _slow."""
    found = {}
    for spins in ("", "u"):
        for place, made in _REPLACEMENTS.items():
            module, _, path = f"pyscf.{place % spins}".partition(":")
            exists = importlib.util.find_spec(module) is not None
            found[f"{module if exists else module + '_slow'}:{path}"] = made
    return found


def _left_to_pyscf(mycc: Any, eris: Any, made: Callable[..., Any]) -> str | None:
    """Why PySCF's own (T) is right for this object, or has another definition than here. None if it is to be computed here."""
    try:
        export.check_supported(mycc)
    except export.NotSupported as error:
        return str(error)
    except export.ExportError:
        return None  # a mistake, which `triples` refuses
    if export.is_periodic(mycc):
        return ("its orbital energies contain the Madelung constant in a periodic calculation; trifuse.pyscf.ccsd_t gives the "
                "number without it.")
    coupling = _coupling(mycc, eris)
    if coupling > export.NON_CANONICAL:
        return (f"it ignores the off-diagonal Fock matrix elements of these orbitals, f_ij and f_ab, up to {coupling:.1e} hartree; "
                "trifuse.pyscf.ccsd_t gives the number with them.")
    try:
        if made is not _kernel:
            refuse_unsupported(mycc)
    except NotAvailable as error:
        return str(error)
    return None


def _coupling(mycc: Any, eris: Any) -> float:
    """The largest off-diagonal f_ij or f_ab, hartree. 0 for an ROHF reference, which has PySCF's definition here, too."""
    largest = 0.0
    with contextlib.suppress(AttributeError, TypeError, ValueError, IndexError):  # `triples` refuses such integrals
        largest = float(export.coupling_within_spaces(mycc, eris))
    return largest
