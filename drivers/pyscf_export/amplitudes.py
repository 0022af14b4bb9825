# mypy: ignore-errors
"""Amplitudes of a coupled-cluster object: their shapes, and whether Lambda belongs to them."""

from typing import NamedTuple, Optional

import numpy as np

from .calculation import active_sizes
from .errors import ExportError

# Lambda is refused if an iteration changes it by more than this, or by more than 100 times PySCF's threshold. At 10 times the
# threshold there is a warning, from 3e-6 on.
STALE, SUSPECT = 1e-4, 3e-6


class LambdaIteration(NamedTuple):
    """One iteration of PySCF's Lambda equations."""

    change: float  # of l1 and l2, norm
    limit: float  # of a change that is accepted
    warning: Optional[str]  # if the change is unusual


def checked_amplitudes(cc, t1, t2, names=("t1", "t2")):
    """t1 and t2 (or l1 and l2) as real arrays, tuples of them for UCCSD. Raises ExportError if they do not fit the orbitals."""
    sizes = active_sizes(cc)
    if len(sizes) == 1:
        shapes = ([sizes[0]], [(sizes[0][0],) * 2 + (sizes[0][1],) * 2])
        parts = [(t1,), (t2,)]
    else:
        (oa, va), (ob, vb) = sizes
        shapes = (sizes, [(oa, oa, va, va), (oa, ob, va, vb), (ob, ob, vb, vb)])
        parts = [_parts(name, each, n) for name, each, n in zip(names, (t1, t2), (2, 3))]
    found = [[_array(name, each) for each in part] for name, part in zip(names, parts)]
    for name, arrays, wanted, cases in zip(names, found, shapes, (("a", "b"), ("aa", "ab", "bb"))):
        for array, shape, of_other_spin, case in zip(arrays, wanted, wanted[::-1], cases):
            if tuple(array.shape) != shape:
                spins = f" of the spins {case}" if len(sizes) == 2 else ""
                raise ExportError(_misfit(name + spins, tuple(array.shape), shape, of_other_spin))
    return tuple(arrays[0] if len(sizes) == 1 else tuple(arrays) for arrays in found)


def _parts(name, values, count):
    if isinstance(values, (tuple, list)) and len(values) == count:
        return values
    cases = "(a, b)" if count == 2 else "(aa, ab, bb)"
    kind = f"{len(values)} arrays" if isinstance(values, (tuple, list)) else "one object"
    raise ExportError(f"{name} has {kind}, but the amplitudes of UCCSD are {count} arrays {cases}; pass a tuple of them.")


def _array(name, values):
    """An array as it is on a GPU, else a real NumPy array: without a copy if possible."""
    if hasattr(values, "__cuda_array_interface__"):
        return values
    if np.ma.is_masked(values):
        raise ExportError(f"{name} has masked elements; fill them first, for example with {name}.filled(0.0).")
    try:
        array = np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise ExportError(f"{name} is no array of numbers; amplitudes of RCCSD are arrays, those of UCCSD tuples of arrays.") from error
    if array.dtype.kind not in "fiuc":
        raise ExportError(f"{name} must be an array of numbers, but its type is {array.dtype}.")
    if np.iscomplexobj(array):
        if np.any(array.imag):
            raise ExportError(f"{name} is complex; only real amplitudes can be exported.")
        array = array.real
    return array


def _misfit(name, shape, wanted, of_other_spin):
    cure = "call kernel() of the CCSD object again after a change of frozen or of the orbitals"
    if len(shape) in (2, 4) and len(shape) != len(wanted):
        cure = "pass the singles first, then the doubles"
    elif shape == of_other_spin:
        cure = "pass the spin alpha before beta"
    return f"{name} has the shape {_text(shape)}, but the active orbitals of this object need {_text(wanted)}; {cure}."


def _text(shape):
    return "[" + ",".join(map(str, shape)) + "]"


def check_lambda(cc, t1, t2, l1, l2, eris=None):
    """Raises ExportError if l1 and l2 do not solve the Lambda equations of t1 and t2. Returns a LambdaIteration.

    PySCF keeps l1, l2 and converged_lambda when the CCSD runs again, for example at another geometry. One iteration of
    its Lambda equations shows this. `eris`: integrals of cc.ao2mo(); without them the integrals are transformed again.
    """
    probe = cc.copy()
    probe.diis, probe.max_cycle, probe.verbose = False, 1, 0
    new = probe.solve_lambda(t1, t2, l1, l2, cc.ao2mo(cc.mo_coeff) if eris is None else eris)
    change = float(np.linalg.norm(cc.amplitudes_to_vector(*new) - cc.amplitudes_to_vector(l1, l2)))
    threshold = float(cc.conv_tol_normt or 0.0)
    sentence = (f"one iteration of the Lambda equations changes l1 and l2 by {change:.1e}, but they converge to {threshold:.1e}: "
                "they are not those of t1 and t2")
    limit = max(STALE, 100 * threshold)
    if not change <= limit:
        raise ExportError(sentence + "; call solve_lambda() of the CCSD object again.")
    warning = sentence[:1].upper() + sentence[1:] + " to this threshold; call solve_lambda() again."
    return LambdaIteration(change, limit, warning if change > max(SUSPECT, 10 * threshold) else None)


def solved_lambda(cc, t1, t2, eris, allow_unconverged, check=True):
    """l1 and l2, and a LambdaIteration, or None if none was made. Solves the Lambda equations first if this has not been done.

    Raises ExportError if they are not converged, or older than the amplitudes (`check=False` leaves this out).
    """
    solves = cc.l1 is None or cc.l2 is None
    if solves:
        cc.solve_lambda(t1, t2, eris=eris)
    if not cc.converged_lambda and not allow_unconverged:
        raise ExportError("the Lambda equations are not converged; raise max_cycle and call solve_lambda again.")
    l1, l2 = checked_amplitudes(cc, cc.l1, cc.l2, ("l1", "l2"))
    check = check and not solves and cc.converged_lambda
    return l1, l2, check_lambda(cc, t1, t2, l1, l2, eris) if check else None
