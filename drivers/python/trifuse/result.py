"""Results: energies with their methods, spin cases, checks and warnings."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SPIN_CASES = ("aaa", "aab", "abb", "bbb")


class Energy(NamedTuple):
    """The energies of one method and one value of omega2, in hartree. Of another method than (T), E[T] and E(T) are the
    energies in their places: of CCSD(cT), E[cT] and E(cT)."""

    omega2: float
    """Value of omega2."""
    e_bracket_t: float
    """E[T], without the disconnected triples."""
    e_t: float
    """E(T)."""
    method: str
    """Name of the energy, for example CCSD(T), Reg-CCSD(T) or CCSD(cT)."""
    e_tot: float | None
    """E(SCF) + E(CCSD) + E(T). None if one of them is not known."""
    spin_cases: Mapping[str, tuple[float, float]]
    """E[T] and E(T) of the spin cases aaa, aab, abb and bbb. They add up to the energies above."""
    error_bar: tuple[float, float] = (0.0, 0.0)
    """Error bars of E[T] and E(T) in mixed precision: two bars cover the error in at least 95 % of all cases. 0 in double
    precision."""
    uncorrected: tuple[float, float] | None = None
    """E[T] and E(T) in mixed precision without the correction by tasks in double precision. None in double precision."""
    overlap: tuple[float, float] | None = None
    """CR-CCSD(T): the overlaps by which both sums have been divided; else None."""
    smallest_denominator: float | None = None
    """The smallest absolute denominator of all triples, hartree. None if there are no triples."""
    fragments: tuple[tuple[float, float], ...] = ()
    """The parts of E[T] and E(T) of each fragment. They add up to the energies if the projectors add up to 1."""


class Check(NamedTuple):
    """A check of the input by a relation that correct amplitudes satisfy."""

    name: str
    """Name of the relation."""
    status: str
    """passed, not known or failed."""
    value: float | None
    """How far the input is from the relation. None if that is not known."""
    limit: float | None
    """Largest value that passes. None if that is not known."""
    note: str
    """Failed: one sentence. Not known: the reason. Passed: a second value with its limits, if the check has two."""


class Result:
    """The result of a run. print() shows it, and float() gives E(T) in hartree, which a format with a specification prints.

    >>> result = Result({"energies": [{"omega2": 0.0, "E[T]": -0.0031, "E(T)": -0.0030, "method": "CCSD(T)",
    ...                                "ccsd_t_energy": None, "spin_cases": {}}]})
    >>> float(result)
    -0.003
    >>> f"E(T) = {result:.6f} Eh"
    'E(T) = -0.003000 Eh'
    >>> result.method
    'CCSD(T)'
    """

    def __init__(self, report: Mapping[str, Any], derivatives: Mapping[str, npt.NDArray[np.float64]] | None = None) -> None:
        self._report = dict(report)
        self.derivatives: Mapping[str, npt.NDArray[np.float64]] = dict(derivatives or {})
        """Derivatives of E(T) by the arrays of the input, hartree per unit of the array, if the option `derivatives` asks
        for them. Names and shapes are those of the arrays; `fock_ov` [i,a] is a part of `fock`, `omega2` is one number,
        and arrays of `left` begin with left/. The change of E(T) is the sum of derivative times change over all elements,
        for changes that have the symmetry of the array."""
        self.energies: tuple[Energy, ...] = tuple(_energy(each) for each in report["energies"])
        """The energies of each method, in the order of drivers/docs/methods.md, and of each value of omega2."""
        self.warnings: tuple[str, ...] = tuple(report.get("warnings", ()))
        """Sentences about values that are possible but rare, about trusted input, or about failed GPUs."""
        self.checks: tuple[Check, ...] = tuple(_check(each) for each in report.get("checks", ()))
        """The checks of the input."""

    def extended(self, warnings: Sequence[str], checks: Sequence[Check]) -> Result:
        """This result, with more warnings before its own and more checks behind them."""
        if not warnings and not checks:
            return self
        added = [check._asdict() for check in checks]
        return Result({**self._report, "warnings": [*warnings, *self.warnings], "checks": [*self._report.get("checks", ()), *added]},
                      self.derivatives)

    def __float__(self) -> float:
        return self.e_t

    @property
    def e_t(self) -> float:
        """E(T) of the first method and value of omega2, hartree."""
        return self.energies[0].e_t

    @property
    def e_bracket_t(self) -> float:
        """E[T] of the first method and value of omega2, hartree."""
        return self.energies[0].e_bracket_t

    @property
    def e_tot(self) -> float | None:
        """E(SCF) + E(CCSD) + E(T) of the first method and value of omega2, hartree. None if one of them is not known."""
        return self.energies[0].e_tot

    @property
    def method(self) -> str:
        """Name of the energy of the first method and value of omega2, for example CCSD(T)."""
        return self.energies[0].method

    @property
    def by_method(self) -> Mapping[str, Energy]:
        """The energies by the names of their methods. Of several values of omega2 with one name, the first one.

        >>> both = [{"omega2": 0.0, "E[T]": -0.0031, "E(T)": energy, "method": name, "ccsd_t_energy": None, "spin_cases": {}}
        ...         for name, energy in (("CCSD(cT)", -0.0030), ("CR-CCSD(T)", -0.0028))]
        >>> {name: energy.e_t for name, energy in Result({"energies": both}).by_method.items()}
        {'CCSD(cT)': -0.003, 'CR-CCSD(T)': -0.0028}
        """
        found: dict[str, Energy] = {}
        for each in self.energies:
            found.setdefault(each.method, each)
        return found

    @property
    def spin_cases(self) -> Mapping[str, tuple[float, float]]:
        """E[T] and E(T) of each spin case for the first method and value of omega2, hartree."""
        return self.energies[0].spin_cases

    @property
    def fragments(self) -> tuple[float, ...]:
        """The part of E(T) of each fragment for the first method and value of omega2, hartree."""
        return tuple(e_t for _, e_t in self.energies[0].fragments)

    @property
    def error_bar(self) -> float:
        """Error bar of E(T) of the first method and value of omega2, hartree. 0 in double precision."""
        return self.energies[0].error_bar[1]

    @property
    def ccsd_correlation_energy(self) -> float | None:
        """CCSD correlation energy, recomputed from the amplitudes, hartree. None if it is not known."""
        value: float | None = self._report.get("ccsd_correlation_energy")
        return value

    @property
    def ccsd_energy(self) -> float | None:
        """E(SCF) + E(CCSD correlation), hartree. None if one of them is not known."""
        value: float | None = self._report.get("ccsd_energy")
        return value

    @property
    def e_ccsd(self) -> float | None:
        """The old name of ccsd_correlation_energy. It gives a DeprecationWarning."""
        warnings.warn("Result.e_ccsd is the correlation energy; use its new name, Result.ccsd_correlation_energy.",
                      DeprecationWarning, stacklevel=2)
        return self.ccsd_correlation_energy

    @property
    def seconds(self) -> float | None:
        """Time from the opening of the input to the energies, seconds. None if it is not known."""
        value: float | None = self._report.get("timings", {}).get("whole_seconds")
        return value

    def to_dict(self) -> dict[str, Any]:
        """The whole report as a dictionary, with the members of drivers/docs/report.schema.json."""
        return copy.deepcopy(self._report)

    def __format__(self, specification: str) -> str:
        return format(float(self), specification) if specification else str(self)

    def __repr__(self) -> str:
        return f"<trifuse.Result {self.method} E(T) = {self.e_t:.12f} Eh>"

    def __str__(self) -> str:
        lines = [f"{'omega2':>8}  {'E[T] / Eh':>20}  {'E(T) / Eh':>20}  method"]
        for each in self.energies:
            lines.append(f"{each.omega2:8g}  {each.e_bracket_t:20.15f}  {each.e_t:20.15f}  {each.method}")
        for number, (bracket, e_t) in enumerate(self.energies[0].fragments):
            lines.append(f"{number:8}  {bracket:20.15f}  {e_t:20.15f}  fragment")
        for each in self.energies:
            if each.uncorrected is not None:
                lines.append(f"{each.omega2:8g}  {each.error_bar[0]:20.1e}  {each.error_bar[1]:20.1e}  error bars (mixed precision)")
        if self.ccsd_correlation_energy is not None:
            lines.append(f"E(CCSD) correlation  {self.ccsd_correlation_energy:.12f} Eh")
        if self.e_tot is not None:
            lines.append(f"E({self.method})  {self.e_tot:.12f} Eh")
        lines += [f"{each.name}: {each.status}{_numbers(each)}" for each in self.checks]
        lines += ["Warning: " + each for each in self.warnings]
        if self.seconds is not None:
            lines.append(f"{self.seconds:.2f} s")
        return "\n".join(lines)


def _energy(report: Mapping[str, Any]) -> Energy:
    cases = {name: _pair(each) for name, each in report["spin_cases"].items()}
    mixed = "error_bar" in report
    return Energy(float(report["omega2"]), *_pair(report), str(report["method"]), report["ccsd_t_energy"], cases,
                  _pair(report["error_bar"]) if mixed else (0.0, 0.0), _pair(report["uncorrected"]) if mixed else None,
                  _pair(report["overlap"]) if "overlap" in report else None, report.get("smallest_denominator"),
                  tuple(_pair(each) for each in report.get("fragments", ())))


def _pair(energies: Mapping[str, Any]) -> tuple[float, float]:
    return float(energies["E[T]"]), float(energies["E(T)"])


def _check(report: Mapping[str, Any]) -> Check:
    return Check(str(report["name"]), str(report["status"]), report.get("value"), report.get("limit"),
                 str(report.get("note") or ""))


def _numbers(check: Check) -> str:
    if check.value is None:
        return f" ({check.note})" if check.note else ""
    limit = "" if check.limit is None else f", limit {check.limit:.2g}"
    other = f"; {check.note}" if check.note and check.status == "passed" else ""
    return f" ({check.value:.2g}{limit}){other}"
