"""trifuse.triples and trifuse.run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy.typing as npt

from ._arrays import Amplitudes, SpinArrays, kind_and_omega2, kind_of, reference_of, refuse_closed
from ._calculation import run_arrays, run_files
from ._facts import facts_of, stated_or
from ._options import Options, PathLike, names_of, refuse_unknown, shown, taking
from .errors import UsageError
from .result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack


class _Others(Options, SpinArrays, total=False):
    """Arguments of `triples` besides those in its first line."""

    irrep_occ: npt.ArrayLike | None
    irrep_vir: npt.ArrayLike | None
    oooo: npt.ArrayLike | None
    kvvv: npt.ArrayLike | None
    ladder: npt.ArrayLike | None
    vvvv_diag: npt.ArrayLike | None
    vvvv_diag_semicanonical: npt.ArrayLike | None
    factors_oo: npt.ArrayLike | None
    factors_ov: npt.ArrayLike | None
    factors_vv: npt.ArrayLike | None
    fragments: Any


@taking(Options, rest="arrays")
def triples(
    *,
    t1: npt.ArrayLike | None = None,
    t2: npt.ArrayLike | None = None,
    ovvv: npt.ArrayLike | None = None,
    ovoo: npt.ArrayLike | None = None,
    ovov: npt.ArrayLike | None = None,
    eps_occ: npt.ArrayLike | None = None,
    eps_vir: npt.ArrayLike | None = None,
    oovv: npt.ArrayLike | None = None,
    fock: npt.ArrayLike | None = None,
    reference: str | None = None,
    left: Mapping[str, Any] | None = None,
    left_kind: str | None = None,
    left_omega2: float | None = None,
    kind: str | None = None,
    kind_omega2: float | None = None,
    fock_in_triples: bool | None = None,
    correlation_energy: float | None = None,
    scf_energy: float | None = None,
    convergence: float | None = None,
    **others: Unpack[_Others],
) -> Result:
    """Computes the triples correction of coupled cluster from dense arrays.

    The arrays have the names, shapes and units of the Trifuse dump (tce_tiles/docs/dump-format.md): real orbitals,
    C order (last index fastest), hartree; o occupied and v virtual orbitals, without frozen ones. (pq|rs) is a Mulliken
    integral. An array of 64-bit floats is read in place, with any strides. Other types are converted. An h5py.Dataset
    is read box by box. CuPy arrays and other arrays with the CUDA array interface are accepted.

    Arrays of an RHF reference:

    =============  ==============  ==================================================================
    eps_occ        [o]             orbital energies
    eps_vir        [v]
    t1             [o,v]           t_i^a
    t2             [o,o,v,v]       t_ij^ab; i, a have spin alpha and j, b spin beta
    ovvv           [o,v,v,v]       (ia|bc), or packed as [o,v,v(v+1)/2] with b >= c
    ovoo           [o,v,o,o]       (ia|jk)
    ovov           [o,v,o,v]       (ia|jb)
    oovv           [o,o,v,v]       (ij|ab), optional; makes the check of the input sharp
    fock           [o+v,o+v]       Fock matrix, occupied orbitals first; optional; without it orbitals must be canonical
    irrep_occ      [o]             irreps 0 to 7, ascending integers; optional, with irrep_vir
    irrep_vir      [v]
    oooo           [o,o,o,o]       (ij|kl), optional; this and the next ones are for dressed moments, E(T) does not need them
    kvvv           [o,v,v,v]       [k,c,b,d]: sum_e t_k^e (ce|bd), optional; or packed as ovvv
    ladder         [o,o,v,v]       [i,j,a,b]: sum_cd (ac|bd) t_ij^cd, optional
    vvvv_diag      [2,v,v]         (aa|bb) and (ab|ab), optional; vvvv_diag_semicanonical: of semicanonical orbitals a, b
    fragments      n of [o,o]      projectors of fragments, or orbitals [o,m] or [o] of each; optional
    =============  ==============  ==================================================================

    Arrays of a UHF or ROHF reference have the spins in their names (a alpha, b beta): eps_occ_a, eps_occ_b, eps_vir_a,
    eps_vir_b, t1_a, t1_b, t2_aa, t2_ab, t2_bb, ovvv_aaaa, ovvv_aabb, ovvv_bbaa, ovvv_bbbb, the same four of ovoo,
    ovov_aaaa, ovov_aabb, ovov_bbbb, and optionally oovv_aaaa, oovv_bbbb, fock_a, fock_b, fragments_a and
    fragments_b, the irreps and the arrays for dressed moments that the format page names.

    Fragments: each is a projector P on occupied orbitals, or orbitals u with P = u u^T. The result has Tr(P M) of each, a
    part of E(T); these parts add up to E(T) if the projectors add up to 1 (drivers/docs/methods.md).

    Density fitting and Cholesky decomposition: instead of ovvv, ovoo, ovov and oovv the factors B with
    (pq|rs) = sum_Q B[Q,p,q] B[Q,r,s] (UHF and ROHF: with the suffixes _a and _b):

    =============  ==============  ==================================================================
    factors_oo     [naux,o,o]
    factors_ov     [naux,o,v]
    factors_vv     [naux,v,v]      or packed as [naux,v(v+1)/2], lower triangle by rows
    =============  ==============  ==================================================================

    Parameters
    ----------
    reference
        RHF, UHF or ROHF. Default: RHF, or UHF if the names contain spins.
    left
        Arrays t1, t2 (or those with spins) and optionally orbital energies of the left amplitudes. Default: the right
        amplitudes.
    left_kind, left_omega2, kind, kind_omega2
        Of the left and of the right amplitudes: ccsd (default), reg-ccsd (solved with that omega2, hartree) or lambda.
        Left amplitudes other than the right ones need left_kind.
    fock_in_triples
        True: the disconnected triples have the term f_ov t2, as PySCF's. It needs the Fock matrix. False: they do not.
        Default: RHF and UHF have it if `fock` has an f_ov that is not zero, ROHF does not. Orbitals that `fock` couples
        within the occupied or the virtual ones (localised, Kohn-Sham, Brueckner) are rotated, and the result says so.
    correlation_energy, scf_energy
        Energies of the program that made the arrays, hartree. The first one is compared with the arrays.
    convergence
        Threshold of the norm of the change of t1 and t2 with which that program stopped, for example conv_tol_normt of
        PySCF. The checks are as sharp as it allows.

    If the arrays are those of an open dump (`triples(**dump)`), what is not stated here is what that dump states.
    {options}

    Returns
    -------
    Result
        The energies, hartree. float() gives E(T).

    Raises
    ------
    InputError
        The arrays are wrong or fail a check.
    UsageError
        The arguments are not possible.
    ResourceError
        There is no memory or disk space.

    Examples
    --------
    A made-up molecule of one electron pair has no triples:

    >>> import numpy as np, trifuse
    >>> v = 2
    >>> result = trifuse.triples(
    ...     eps_occ=[-0.5], eps_vir=[0.3, 0.9], t1=np.zeros((1, v)), t2=np.zeros((1, 1, v, v)),
    ...     ovvv=np.zeros((1, v, v, v)), ovoo=np.zeros((1, v, 1, 1)), ovov=np.zeros((1, v, 1, v)))
    >>> float(result)
    0.0
    """
    options = cast(Options, {name: value for name, value in others.items() if name in names_of(Options)})
    arrays = {"eps_occ": eps_occ, "eps_vir": eps_vir, "t1": t1, "t2": t2, "ovvv": ovvv, "ovoo": ovoo, "ovov": ovov,
              "oovv": oovv, "fock": fock, **{name: value for name, value in others.items() if name not in options}}
    given = _present(arrays)
    facts = facts_of(given)
    found = reference_of(list(given), stated_or(reference, facts.reference), names_of(Options))
    right_amplitudes = Amplitudes(
        given, found, *_kind(given, kind, kind_omega2, ("kind", "kind_omega2")),
        fock_in_triples=stated_or(fock_in_triples, facts.fock_in_triples),
        correlation_energy=stated_or(correlation_energy, facts.correlation_energy),
        scf_energy=stated_or(scf_energy, facts.scf_energy), convergence=stated_or(convergence, facts.convergence),
        molecule=facts.molecule or "", basis=facts.basis or "", source="the arrays")
    left_amplitudes = None
    for name, value in (("left_kind", left_kind), ("left_omega2", left_omega2)):
        if left is None and value is not None:
            raise UsageError(f"{name} is for left amplitudes, but left is not given; give left=dict(t1=..., t2=...).")
    if left is not None:
        if not isinstance(left, Mapping):
            raise UsageError(f"left is {shown(left)}, but it must be a mapping of arrays, for example dict(t1=l1, t2=l2).")
        of_left = _present(left)
        left_arrays = {**_energies(given), **of_left}
        left_facts = facts_of(of_left)
        if reference_of(list(left_arrays), stated_or(left_facts.reference, found)) != found:
            raise UsageError("The left arrays have another reference than the right ones.")
        left_amplitudes = Amplitudes(left_arrays, found, *_kind(of_left, left_kind, left_omega2, ("left_kind", "left_omega2")),
                                     convergence=left_facts.convergence, source="the left arrays")
    return run_arrays(right_amplitudes, left_amplitudes, options)


def _present(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays that are not None. Throws UsageError if one belongs to a file that is closed."""
    present = {name: values for name, values in arrays.items() if values is not None}
    for name, values in present.items():
        refuse_closed(name, values)
    return present


def _kind(arrays: Mapping[str, Any], kind: str | None, omega2: float | None, names: tuple[str, str]) -> tuple[str, float]:
    """The kind of amplitudes and their omega2. `names`: of these arguments of `triples`."""
    found, omega2 = kind_and_omega2(kind, omega2, facts_of(arrays), names)
    return kind_of(found), omega2 or 0.0


@taking(Options)
def run(
    path: PathLike,
    *,
    left: PathLike | None = None,
    **options: Unpack[Options],
) -> Result:
    """Computes the triples correction of amplitudes in files.

    Parameters
    ----------
    path
        A Trifuse dump, or the prefix or the folder of NWChem's files.
    left
        Left amplitudes of the same kinds. Default: the right amplitudes.

    The other parameters, the result and the exceptions are those of `triples`.
    """
    refuse_unknown(options, Options)
    return run_files(path, left, options)


def _energies(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The orbital energies and irreps, which the left amplitudes share."""
    return {name: values for name, values in arrays.items() if name.startswith(("eps_", "irrep_"))}
