"""The triples of objects of PySCF: their arrays, in the order that a run needs."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import Amplitudes, Box, projectors
from ._calculation import run_arrays
from ._options import ObjectOptions, capitalized, option_text, refuse_unknown, shown, taking, truth
from .errors import Error, InputError, UsageError
from .result import Check, Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

# drivers/pyscf_export, the folder that users without this package copy.
export: Any = importlib.import_module(f"{__package__}._pyscf_export")

# Methods with dressed moments, and those of them whose left amplitudes are Lambda.
_WITH_MOMENTS, _WITH_LAMBDA = frozenset({"ct", "cr-t", "2t", "cr-cc23", "reg-gf-t"}), frozenset({"2t", "cr-cc23"})


@taking(ObjectOptions)
def triples(
    mycc: Any,
    t1: Any = None,
    t2: Any = None,
    eris: Any = None,
    **options: Unpack[ObjectOptions],
) -> Result:
    """Computes the triples correction of a CCSD object of PySCF. Writes no file, except temporary ones for some methods.

    Parameters
    ----------
    mycc
        RCCSD (both classes of PySCF) or UCCSD on a real RHF, UHF or ROHF reference; with frozen orbitals, frozen
        natural orbitals, density fitting, symmetry.
    t1, t2
        Amplitudes in PySCF's layout: [o,v] and [o,o,v,v], for UCCSD tuples (a, b) and (aa, ab, bb). Default: those of
        mycc.
    eris
        Integrals of mycc.ao2mo(). Default: they are transformed here, once. Datasets of HDF5 are read box by box.
    method
        As in `trifuse.triples`. ct, cr-t, 2t, cr-cc23 and reg-gf-t need kvvv, the integrals of four virtual orbitals times t1,
        which is made here in temporary files. With density fitting the run makes all arrays from the factors. 2t and cr-cc23
        imply left="lambda".
    left
        Left amplitudes. "lambda": those of mycc.l1 and mycc.l2, for Lambda-CCSD(T); the Lambda equations are solved if
        this has not been done. An object of solve_regularized_ccsd: two-sided Reg-CCSD(T). Default: the right ones.
    fragments
        Projectors on the correlated occupied orbitals, in the order of mycc, or orbitals, one entry for each fragment, as in
        `trifuse.triples`; for UCCSD a tuple of those of alpha and of beta. The result has the part of E(T) of each. Frozen
        orbitals are not in them.
    rohf
        Of an ROHF reference: "given" gives PySCF's number, "semicanonical" the standard ROHF-CCSD(T).
    allow_unconverged
        True: amplitudes of mycc that are not converged are no error here. A check of the input may still fail.
    verbose
        Verbosity of the messages to mycc.stdout. Default: mycc.verbose. Warnings come from 2 on, the energy from 3, the
        sizes of kvvv and of dressed integrals from 4, the checks and the plan from 5.

    The other parameters, the result and the exceptions are those of `trifuse.triples`.
    """
    refuse_unknown(options, ObjectOptions)
    left, allow_unconverged = options.pop("left", None), truth("allow_unconverged", options.pop("allow_unconverged", False))
    fragments = options.pop("fragments", None)
    methods = (option_text("method", options.get("method")) or b"").decode().split(",")
    moments = not _WITH_MOMENTS.isdisjoint(methods)
    if left is None and not _WITH_LAMBDA.isdisjoint(methods):
        left = "lambda"
    logger = importlib.import_module("pyscf.lib.logger")
    log = _logger(mycc, options.pop("verbose", None))
    started = (logger.process_clock(), logger.perf_counter())
    name = type(mycc).__name__
    with own_errors():
        export.check_supported(mycc)
        mycc = export.with_real_orbitals(mycc)
        own = (t1 is None or t1 is mycc.t1) and (t2 is None or t2 is mycc.t2)
        if own:
            export.check_converged(mycc, allow_unconverged)
        t1, t2 = mycc.t1 if t1 is None else t1, mycc.t2 if t2 is None else t2
        if t1 is None or t2 is None:
            raise UsageError("There are no CCSD amplitudes yet; call mycc.kernel() first.")
        t1, t2 = export.checked_amplitudes(mycc, t1, t2)
        given = eris is not None
        if given:
            export.check_integrals(mycc, eris, True)
        if not export.is_density_fitted(mycc):
            eris = integrals_of(mycc, eris)
        right, orbitals = _right(mycc, t1, t2, eris, own, log if moments else None, fragments)
        checks = truth("check", options.get("check", True)) and not truth("trust_input", options.get("trust_input", False))
        left_amplitudes, iteration = None, None
        if left is not None:
            if left == "lambda" and (mycc.l1 is None or mycc.l2 is None):
                log.info("%s has no Lambda amplitudes; the Lambda equations are solved now.", name)
            left_amplitudes, iteration = _left(mycc, left, orbitals, (t1, t2, eris), right, allow_unconverged, checks,
                                               "reg-gf-t" in methods)
        of_left = None if iteration is None else iteration.warning
        of_rohf = None if str(options.get("rohf")) == "semicanonical" else export.rohf_warning(mycc, orbitals)
        warnings = [sentence for sentence in (export.scf_warning(mycc, orbitals), of_rohf, of_left) if sentence]
        for sentence in warnings:
            log.warn("%s", sentence)
    try:
        result = run_arrays(right, left_amplitudes, options, log=lambda is_warning, line: (
            log.warn("%s", line) if is_warning else log.debug("%s", line)))
    except InputError as error:
        raise InputError(_with_causes(str(error), own, given)) from error
    result = result.extended(warnings, [] if iteration is None else [
        Check("left: iteration of PySCF's Lambda equations", "passed", iteration.change, iteration.limit, "")])
    log.timer(f"{name}(T)", *started)
    for each in result.energies:
        omega = f" (omega2 = {each.omega2:g})" if each.omega2 else ""
        log.note("%s correction%s = %.15g", each.method.replace("CCSD", name, 1), omega, each.e_t)
    return result


def _logger(mycc: Any, verbose: Any) -> Any:
    """The messages of an object of PySCF."""
    logger = importlib.import_module("pyscf.lib.logger")
    if not hasattr(mycc, "stdout") or not hasattr(mycc, "verbose"):
        raise UsageError(f"{shown(mycc)} is not a PySCF coupled-cluster object; give a converged pyscf.cc.CCSD(mf).")
    for each in (mycc.verbose if verbose is None else verbose, mycc.verbose):
        if not isinstance(each, (int, np.integer, logger.Logger)):
            raise UsageError(f"verbose is {shown(each)}, but it must be a number from 0 to 9 or a logger of PySCF.")
    return logger.new_logger(mycc, verbose)


def _with_causes(sentence: str, own: bool, given: bool) -> str:
    """The sentence of a failed check, with the causes that objects of PySCF have."""
    if "CCSD" not in sentence:
        return sentence
    causes = ["the CCSD used other integrals than these eris"] if given else [
        "the CCSD used integrals of its own, kernel(eris=eris): pass eris=eris"]
    causes += ["the orbitals or frozen were changed after kernel()"]
    causes += [] if own else ["t1 and t2 are not those of CCSD, but for example of CC2"]
    return f"{sentence} Causes with PySCF: {'; '.join(causes)}."


class _Ordered:
    """An array of PySCF in the order of the dump's orbitals. Elements of a packed array are unpacked when they are read."""

    def __init__(self, array: Any, orders: list[Any]) -> None:
        self._values, self._orders = array.values, orders
        packed = len(self._values.shape) < len(orders)
        self._orders_read = orders[:2] if packed else orders
        self._pairs = orders[2] if packed else None
        self.shape = tuple(len(order) for order in orders)

    def __getitem__(self, box: Box) -> Any:
        chosen = [order[part] for order, part in zip(self._orders, box)]
        if self._pairs is None:
            return _elements(self._values, chosen)
        b, c = np.maximum.outer(chosen[2], chosen[3]), np.minimum.outer(chosen[2], chosen[3])
        pairs = b * (b + 1) // 2 + c
        return _elements(self._values, [*chosen[:2], pairs.reshape(-1)]).reshape(*map(len, chosen))


def _elements(values: Any, indices: list[Any]) -> Any:
    """values[ix_(indices)]. Of an array that is not in memory, the smallest enclosing box is read first."""
    if not isinstance(values, np.ndarray):
        if any(len(index) == 0 for index in indices):
            return np.empty([len(index) for index in indices])
        first = [int(index.min()) for index in indices]
        values = np.asarray(values[tuple(slice(n, int(index.max()) + 1) for n, index in zip(first, indices))])
        indices = [index - n for n, index in zip(first, indices)]
    return values[np.ix_(*indices)]


def integrals_of(mycc: Any, eris: Any) -> Any:
    """The integrals of an object: `eris`, or those that it transforms. gpu4pyscf has no (ia|bc), so PySCF transforms the integrals of its objects again."""
    if eris is None and not type(mycc).__module__.startswith("gpu4pyscf"):
        eris = mycc.ao2mo(mycc.mo_coeff)
    if getattr(eris, "ovvv", None) is None:
        eris = importlib.import_module("pyscf.cc.ccsd").CCSD.ao2mo(mycc, mycc.mo_coeff)
    return eris


def _right(mycc: Any, t1: Any, t2: Any, eris: Any, own: bool, moments: Any, fragments: Any) -> tuple[Amplitudes, Any]:
    """The right amplitudes with integrals (or the factors of density fitting), and the orbitals of the dump.

    `moments`: a logger if the arrays for dressed moments are needed, too, which the factors give; else None.
    `fragments`: of `triples`.
    """
    fitted = export.is_density_fitted(mycc)
    if eris is None:
        eris = export.fock_only(mycc)
    export.check_integrals(mycc, eris, fitted)
    orbitals = export.orbitals_of(mycc, eris, t1, t2)
    omega2 = export.omega2_of(mycc) if own else None
    kind = "ccsd" if omega2 is None else "reg-ccsd"
    arrays = {**export.orbital_numbers(orbitals), **export.fock_matrices(orbitals)}
    factors = export.factor_arrays(mycc, orbitals, eris) if fitted else {}
    stored = [] if fitted else export.integral_arrays(orbitals, eris)
    if moments is not None:
        of_kvvv, dressed = (size / 1e6 for size in export.moment_bytes(orbitals))
        moments.info("%s%.4g MB of dressed integrals of each side in memory",
                     "" if fitted else f"{of_kvvv:.4g} MB of kvvv in temporary files, ", dressed)
    if moments is not None and not fitted:
        export.check_moment_integrals(orbitals, eris)
        more, diagonals = export.moment_arrays(mycc, orbitals, eris, t1, t2)
        stored, arrays = [*stored, *more], {**arrays, **diagonals}
    for array in [*export.amplitude_arrays(orbitals, t1, t2), *stored]:
        arrays[array.name] = _in_order(array, orbitals)
    arrays.update(factors)
    if fragments is not None:
        arrays.update(_fragments(fragments, orbitals))
    if fitted:
        eris = export.integrals_of_energy(factors, orbitals, eris)
    energy = float(np.real(mycc.energy(t1, t2, eris))) if _has_numpy(t2) else None
    scf_energy = mycc._scf.e_tot if getattr(mycc, "e_hf", None) is None else mycc.e_hf
    return Amplitudes(arrays, orbitals.reference, kind, omega2 or 0.0, fock_in_triples=True, correlation_energy=energy,
                      scf_energy=float(np.real(scf_energy)), source=f"the {type(mycc).__name__} object",
                      convergence=export.convergence_of(mycc) if own else None, **export.provenance(mycc)), orbitals


def _fragments(fragments: Any, orbitals: Any) -> dict[str, Any]:
    """The projectors of fragments as arrays of the dump."""
    if not orbitals.restricted and not (isinstance(fragments, (tuple, list)) and len(fragments) == 2):
        raise UsageError("fragments must be a tuple for two spins: those of alpha orbitals, and those of beta orbitals.")
    arrays = {}
    spins = [fragments] if orbitals.restricted else fragments
    for suffix, space, of_spin in zip(orbitals.suffixes, "oO", spins):
        order = orbitals.order[space]
        made = projectors("fragments", of_spin)
        if made.ndim != 3 or made.shape[1] != len(order):
            raise UsageError(f"fragments have {made.shape[1] if made.ndim == 3 else 0} occupied orbitals, but {len(order)} "
                             f"are correlated{suffix and ' in spin ' + suffix[-1]}; leave out frozen and virtual orbitals.")
        arrays["fragments" + suffix] = made[:, order][:, :, order]
    return arrays


def _left(mycc: Any, left: Any, orbitals: Any, right_arrays: tuple[Any, Any, Any], right: Amplitudes, allow_unconverged: bool,
          checks: bool, moments: bool) -> tuple[Amplitudes, Any]:
    """The left amplitudes, and the LambdaIteration or None. `right_arrays`: t1, t2 and the integrals, or None for these.

    `moments`: with kvvv of regularised amplitudes.
    """
    iteration = None
    if isinstance(left, str):
        if left != "lambda":
            raise UsageError(f"left is {left!r}, but it must be \"lambda\" or an object of solve_regularized_ccsd.")
        t1, t2, iteration = export.solved_lambda(mycc, *right_arrays, allow_unconverged, checks)
        convergence = export.convergence_of_lambda(mycc)
        kind, omega2 = "lambda", 0.0
    else:
        export.check_supported(left)
        solved = export.omega2_of(left)
        if solved is None:
            raise UsageError("The left amplitudes do not come from solve_regularized_ccsd; pass the object that it returns.")
        export.check_converged(left, allow_unconverged)
        convergence = export.convergence_of(left)
        kind, omega2, (t1, t2) = "reg-ccsd", solved, export.checked_amplitudes(mycc, left.t1, left.t2)
    arrays = {name: values for name, values in right.arrays.items() if name.startswith(("eps_", "irrep_"))}
    products = export.product_arrays(orbitals, right_arrays[2], t1)[0] if moments and kind == "reg-ccsd" else []
    for array in [*export.amplitude_arrays(orbitals, t1, t2), *products]:
        arrays[array.name] = _in_order(array, orbitals)
    return right._replace(arrays=arrays, kind=kind, omega2=omega2, fock_in_triples=None, correlation_energy=None,
                          scf_energy=None, convergence=convergence, source="the left amplitudes"), iteration


def _in_order(array: Any, orbitals: Any) -> Any:
    """An array in the order of the dump: PySCF's array itself if the order is the same and the library can read it."""
    values = array.values
    orders = [orbitals.order[c] for c in array.classes]
    if all(np.array_equal(order, np.arange(len(order))) for order in orders):
        return values
    if len(orders) == 2 and isinstance(values, np.ndarray):
        return values[np.ix_(*orders)]
    if hasattr(values, "__cuda_array_interface__"):
        values = values.get()
        array = array._replace(values=values)
    return _Ordered(array, orders)


def _has_numpy(t2: Any) -> bool:
    return isinstance(t2[0] if isinstance(t2, (tuple, list)) else t2, np.ndarray)


@contextlib.contextmanager
def own_errors() -> Iterator[None]:
    """Turns the exceptions of the exporter, and those of PySCF about an object that is not complete, into UsageError."""
    try:
        yield
    except export.ExportError as error:
        raise UsageError(capitalized(str(error))) from error
    except Error:
        raise
    except (ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError) as error:
        raise UsageError(f"The arrays cannot be taken from this object of PySCF ({type(error).__name__}: "
                         f"{' '.join(str(error).split()).rstrip('.')}); run its kernel() again, and pass what PySCF returns.") from error
