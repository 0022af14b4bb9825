"""Lambda amplitudes and density matrices of CCSD(T) from PySCF's CCSD terms and the derivatives of E(T).

Names of blocks (doo, dovov, ...) and factors are those of pyscf.cc.ccsd_rdm and uccsd_rdm.
"""

from __future__ import annotations

import importlib
from typing import Any

from ._blocks import blocks
from ._pyscf_derivatives import Derivatives
from .errors import UsageError

LAMBDA_TOLERANCE = 1e-6
"""The Lambda equations are solved to this norm of a change, or to the threshold of the object if this is smaller."""


def is_restricted(mycc: Any) -> bool:
    """False for UCCSD."""
    return not isinstance(mycc, importlib.import_module("pyscf.cc.uccsd").UCCSD)


def module_of(mycc: Any, name: str) -> Any:
    """A module of PySCF for the spins of an object: module_of(mycc, "cc.%sccsd_rdm")."""
    return importlib.import_module("pyscf." + name % ("" if is_restricted(mycc) else "u"))


def _lambda_module(mycc: Any) -> Any:
    """Where the CCSD part of the Lambda equations of this object is."""
    is_rccsd = isinstance(mycc, importlib.import_module("pyscf.cc.rccsd").RCCSD)
    return importlib.import_module("pyscf.cc.rccsd_lambda") if is_rccsd else module_of(mycc, "cc.%sccsd_lambda")


def intermediates(mycc: Any, t1: Any, t2: Any, eris: Any, derivatives: Derivatives, module: Any) -> Any:
    """The intermediates of PySCF's Lambda equations with those of (T): l1_t, l2_t, for UCCSD l1a_t, ..., l2bb_t."""
    imds = module.make_intermediates(mycc, t1, t2, eris)
    bars = derivatives.bars
    gaps = {s[-1:]: bars_gap for s, bars_gap in zip(derivatives.spins, _gaps(mycc, t1, eris))}
    if "t1" in bars:
        gap, t2_bar = gaps[""], bars["t2"]
        imds.l1_t = bars["t1"] / (2 * gap)
        imds.l2_t = (2 * t2_bar + t2_bar.transpose(1, 0, 2, 3)) / (3 * _pair_gaps(gap, gap))
        return imds
    for s in "ab":
        setattr(imds, f"l1{s}_t", bars["t1_" + s] / gaps[s])
    for s in ("aa", "ab", "bb"):
        factor = 1 if s == "ab" else 4
        setattr(imds, f"l2{s}_t", factor * bars["t2_" + s] / _pair_gaps(gaps[s[0]], gaps[s[1]]))
    return imds


def _gaps(mycc: Any, t1: Any, eris: Any) -> list[Any]:
    """eps_i - eps_a of each spin, hartree, with the level shift, by which PySCF's update_lambda divides."""
    restricted = is_restricted(mycc)
    spins = zip((t1,), (eris.mo_energy,)) if restricted else zip(t1, eris.mo_energy)
    return [e[:len(t)][:, None] - e[len(t):] - mycc.level_shift for t, e in spins]


def _pair_gaps(first: Any, second: Any) -> Any:
    return first[:, None, :, None] + second[None, :, None, :]


def solved_lambda(mycc: Any, t1: Any, t2: Any, l1: Any, l2: Any, eris: Any, derivatives: Derivatives) -> tuple[Any, Any]:
    """l1 and l2 of CCSD(T). The iteration starts from l1 and l2, or from t1 and t2."""
    module = _lambda_module(mycc)

    def with_triples(mycc: Any, t1: Any, t2: Any, eris: Any) -> Any:
        return intermediates(mycc, t1, t2, eris, derivatives, module)

    def update(mycc: Any, t1: Any, t2: Any, l1: Any, l2: Any, eris: Any, imds: Any) -> tuple[Any, Any]:
        l1, l2 = module.update_lambda(mycc, t1, t2, l1, l2, eris, imds)
        if is_restricted(mycc):
            return l1 + imds.l1_t, l2 + imds.l2_t
        return ((l1[0] + imds.l1a_t, l1[1] + imds.l1b_t), (l2[0] + imds.l2aa_t, l2[1] + imds.l2ab_t, l2[2] + imds.l2bb_t))

    tolerance = min(LAMBDA_TOLERANCE, mycc.conv_tol_normt or LAMBDA_TOLERANCE)
    kernel = importlib.import_module("pyscf.cc.ccsd_lambda").kernel
    converged, l1, l2 = kernel(mycc, eris, t1, t2, l1, l2, mycc.max_cycle, tolerance, mycc.verbose, with_triples, update)
    if not converged:
        raise UsageError(f"The Lambda equations of CCSD(T) are not converged to {tolerance:.0e} after {mycc.max_cycle} iterations; "
                         "raise max_cycle of the CCSD object.")
    return l1, l2


def gamma1(mycc: Any, t1: Any, t2: Any, l1: Any, l2: Any, derivatives: Derivatives) -> Any:
    """Blocks doo, dov, dvo, dvv of the density; for UCCSD each is a pair. Derivatives "all": with the off-diagonal elements of
    (T), which gradients need; else without them, as for a property at fixed orbitals."""
    doo, dov, dvo, dvv = module_of(mycc, "cc.%sccsd_rdm")._gamma1_intermediates(mycc, t1, t2, l1, l2)
    if is_restricted(mycc):
        return (doo + derivatives.fock_block("o") / 2, dov, dvo + derivatives.bars["fock_ov"].T / 2,
                dvv + derivatives.fock_block("v") / 2)
    return (tuple(d + derivatives.fock_block(c) for d, c in zip(doo, "oO")), dov,
            tuple(d + derivatives.bars["fock_ov" + s].T for d, s in zip(dvo, derivatives.spins)),
            tuple(d + derivatives.fock_block(c) for d, c in zip(dvv, "vV")))


def gamma2(mycc: Any, t1: Any, t2: Any, l1: Any, l2: Any, derivatives: Derivatives, file: Any, compressed: bool) -> Any:
    """Blocks dovov, dvvvv, ... of the density of two electrons, in the order of PySCF.

    `file`: an HDF5 file, in which PySCF stores those of a closed shell; (T) is added there in blocks. `compressed`: virtual
    orbitals as pairs, for gradients. The terms of (T) are half the derivatives (dovov: UHF whole ones of equal spins).
    """
    bars, d2 = derivatives.bars, gamma2_of_ccsd(mycc, t1, t2, l1, l2, file, compressed)
    if is_restricted(mycc):
        _add(d2[0], bars["ovov"], (0, 1, 2, 3), 0.5)
        _add(d2[6], bars["ovvv"], (0, 1, 2, 3), 0.5)
        _add(d2[7], bars["ovoo"], (2, 3, 0, 1), 0.5)
        return d2
    ovov, ovvv, ooov = d2[0], d2[6], d2[7]
    for target, spins, factor in ((ovov[0], "aaaa", 1), (ovov[1], "aabb", 0.5), (ovov[3], "bbbb", 1)):
        _add(target, bars["ovov_" + spins], (0, 1, 2, 3), factor)
    for target, spins in zip(ovvv, ("aaaa", "aabb", "bbaa", "bbbb")):
        _add(target, bars["ovvv_" + spins], (0, 1, 2, 3), 0.5)
    for target, spins in zip(ooov, ("aaaa", "bbaa", "aabb", "bbbb")):  # dooOV[j,m,I,A] belongs to (IA|jm)
        _add(target, bars["ovoo_" + spins], (2, 3, 0, 1), 0.5)
    return d2


def gamma2_of_ccsd(mycc: Any, t1: Any, t2: Any, l1: Any, l2: Any, file: Any, compressed: bool) -> Any:
    """The same blocks of CCSD."""
    return module_of(mycc, "cc.%sccsd_rdm")._gamma2_outcore(mycc, t1, t2, l1, l2, file, compressed)


def _add(target: Any, bar: Any, axes: tuple[int, ...], factor: float) -> None:
    """target += factor * bar in blocks of the third index, in which PySCF's files are cut."""
    bar = bar.transpose(axes)
    if bar.size == 0:
        return
    for block in blocks(bar.shape[2], bar.nbytes // bar.shape[2]):
        part = (slice(None), slice(None), block)
        target[part] = target[part] + factor * bar[part]


def rdm1(mycc: Any, d1: Any, **options: Any) -> Any:
    """The density matrix of blocks, as PySCF's make_rdm1 returns it."""
    return module_of(mycc, "cc.%sccsd_rdm")._make_rdm1(mycc, d1, with_frozen=True, **options)


def rdm2(mycc: Any, d1: Any, d2: Any, **options: Any) -> Any:
    """The density matrix of two electrons of blocks, as PySCF's make_rdm2 returns it."""
    return module_of(mycc, "cc.%sccsd_rdm")._make_rdm2(mycc, d1, d2, with_dm1=True, with_frozen=True, **options)
