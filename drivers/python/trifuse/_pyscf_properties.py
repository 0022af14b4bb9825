"""Properties of CCSD(T) for objects of PySCF: Lambda amplitudes, density matrices, dipole moments, nuclear gradients."""

from __future__ import annotations

import functools
import hashlib
import importlib
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._arrays import as_numbers
from ._options import Options, integer, refuse_unknown, shown, taking, truth
from ._pyscf_densities import gamma1, gamma2, gamma2_of_ccsd, is_restricted, rdm1, rdm2, solved_lambda
from ._pyscf_derivatives import Derivatives, derivatives_by_integrals, derivatives_of
from ._pyscf_refusals import (expect_coupled_cluster, refuse_moved_core, refuse_other_energies, refuse_other_guess, refuse_other_orbitals,
                              refuse_unsupported)
from ._pyscf_response import gradient, relaxed_density, response, step_timer, terms_of_factors, terms_of_integrals
from ._pyscf_triples import export, integrals_of, own_errors
from .errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Unpack


# Fock matrices of the same integrals, hartree, differ less.
_SAME_FOCK = 1e-9


class _Known(NamedTuple):
    """Results for the amplitudes of an object. No array with three virtual indices."""

    fingerprint: tuple[Any, ...]
    e_t: float
    l1: Any
    l2: Any
    d1: Any
    """Blocks of the density at fixed orbitals."""
    relaxed: Any = None
    """The relaxed density matrix in atomic orbitals."""
    gradient: Any = None
    """That of the electronic energy, [atom, xyz], hartree/bohr."""
    e_ccsd: Any = None
    """The correlation energy of CCSD, hartree; there if `gradient` is."""
    fock: Any = None
    """The Fock matrices of the integrals, see _fock_of()."""
    given: bool = False
    """True if the caller passed the integrals."""


_known: weakref.WeakKeyDictionary[Any, _Known] = weakref.WeakKeyDictionary()


class _Point:
    """The amplitudes and integrals of one call, after the checks."""

    def __init__(self, mycc: Any, t1: Any, t2: Any, l1: Any, l2: Any, eris: Any, options: dict[str, Any]) -> None:
        expect_coupled_cluster(mycc)
        options = dict(options)
        verbose = options.pop("verbose", mycc.verbose)
        refuse_unknown(options, Options)
        refuse_other_energies(options)
        with own_errors():
            export.check_supported(mycc)
            refuse_unsupported(mycc)
            self.t1, self.t2 = (_as_amplitudes(mycc, name, each) for name, each in (("t1", t1), ("t2", t2)))
            refuse_other_guess(l1, l2, self.t1, self.t2)
            self.mycc, self.guess, self.options, self._eris = mycc, (l1, l2), {"verbose": verbose, **options}, eris
            self.fingerprint = _fingerprint(mycc, self.t1, self.t2, options)
            known = _known.get(mycc)
            same = known is not None and known.fingerprint == self.fingerprint and self._has_integrals_of(known)
            self.known = known if same else None

    def _has_integrals_of(self, known: _Known) -> bool:
        """True if the integrals have the same Fock matrices. Two-electron integrals are too large to be compared."""
        if self._eris is None and not known.given:
            return True
        pairs = zip(_fock_of(self.mycc, self._eris), known.fock)
        return all(np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=0, atol=_SAME_FOCK) for x, y in pairs)

    @functools.cached_property
    def eris(self) -> Any:
        """The integrals. Raises UsageError if the orbitals are not canonical."""
        with own_errors():
            eris = integrals_of(self.mycc, self._eris)
            coupling = export.coupling_within_spaces(self.mycc, eris)
            if coupling > export.NON_CANONICAL:
                raise UsageError(f"The Fock matrix couples orbitals of one kind, f_ij or f_ab up to {coupling:.1e} hartree, but properties "
                                 "need canonical orbitals; make the CCSD object from the orbitals of the SCF.")
            return eris

    def derivatives(self, which: str, fock: bool = False) -> Derivatives:
        return derivatives_of(self.mycc, self.t1, self.t2, self.eris, which, self.options, fock)

    def unrelaxed(self) -> _Known:
        """Lambda and the density at fixed orbitals, in twice the time of E(T)."""
        return self.known or self._remember(self._lambda(self.derivatives("t")))

    def relaxed(self, with_gradient: bool) -> _Known:
        """The relaxed density and the gradient, in three times the time of E(T)."""
        known = self.known
        if known is not None and known.relaxed is not None and (known.gradient is not None or not with_gradient):
            return known
        refuse_other_orbitals(self.mycc)
        done = step_timer(self.mycc, self.options["verbose"])
        derivatives = self.derivatives("all", fock=True)
        done("derivatives of E(T)")
        known = known or self._lambda(derivatives)
        done("Lambda")
        amplitudes = (self.mycc, self.t1, self.t2, known.l1, known.l2)
        d1, fitted = gamma1(*amplitudes, derivatives), export.is_density_fitted(self.mycc)
        with importlib.import_module("pyscf.lib").H5TmpFile() as file:
            if fitted:
                d2 = gamma2_of_ccsd(*amplitudes, file, compressed=is_restricted(self.mycc))
                done("density matrices")
                terms = terms_of_factors(self.mycc, d2, derivatives, with_gradient)
            else:
                d2 = gamma2(*amplitudes, derivatives, file, compressed=True)
                done("density matrices")
                terms = terms_of_integrals(self.mycc, d2, file, with_gradient, done)
        done("derivatives of two-electron integrals")
        found = response(self.mycc, d1, terms)
        done("Z-vector")
        de = gradient(self.mycc, found) if with_gradient else None
        done("derivatives of one-electron integrals and of the mean field")
        e_ccsd = float(np.real(self.mycc.energy(self.t1, self.t2, self.eris))) if with_gradient else None
        return self._remember(known._replace(relaxed=relaxed_density(self.mycc, found), gradient=de, e_ccsd=e_ccsd))

    def _lambda(self, derivatives: Derivatives) -> _Known:
        l1, l2 = solved_lambda(self.mycc, self.t1, self.t2, *self.guess, self.eris, derivatives)
        d1 = gamma1(self.mycc, self.t1, self.t2, l1, l2, derivatives._replace(fock={}))
        fock = [np.array(each) for each in _fock_of(self.mycc, self.eris)]
        return _Known(self.fingerprint, derivatives.e_t, l1, l2, d1, fock=fock, given=self._eris is not None)

    def _remember(self, known: _Known) -> _Known:
        _known[self.mycc] = known
        return known


def _as_amplitudes(mycc: Any, name: str, given: Any) -> Any:
    """The amplitudes t1 or t2: an array, for UCCSD a tuple of arrays. given=None: those of the object."""
    values = getattr(mycc, name) if given is None else given
    if values is None:
        raise UsageError("There are no CCSD amplitudes yet; call mycc.kernel() first.")
    if is_restricted(mycc):
        return as_numbers(name, values)
    return tuple(as_numbers(name, each) for each in values)


def _fingerprint(mycc: Any, t1: Any, t2: Any, options: dict[str, Any]) -> tuple[Any, ...]:
    """A value that changes with the amplitudes, the orbitals, the molecule and the options."""
    contents = hashlib.blake2b()
    for values in (t1, t2, mycc.mo_coeff, mycc.get_frozen_mask()):
        for each in values if isinstance(values, (tuple, list)) else (values,):
            contents.update(np.ascontiguousarray(each).data)
    facts = sorted((name, repr(value)) for name, value in options.items() if name != "progress")
    return (contents.digest(), mycc.mol.atom_coords().tobytes(), mycc.conv_tol_normt, *facts)


def _fock_of(mycc: Any, eris: Any) -> Any:
    """The Fock matrices of integrals in the orbitals of the object, a list of one or two; eris=None: those of the SCF."""
    if eris is not None:
        fock = getattr(eris, "fock", None)
        return list(fock) if isinstance(fock, (tuple, list)) else [fock]
    fock, orbitals, active = mycc._scf.get_fock(), mycc.mo_coeff, mycc.get_frozen_mask()
    if is_restricted(mycc):
        fock, orbitals, active = [fock], [orbitals], [active]
    return [c[:, a].T @ f @ c[:, a] for c, f, a in zip(orbitals, fock, active)]


@taking(Options)
def solve_lambda(mycc: Any, t1: Any = None, t2: Any = None, l1: Any = None, l2: Any = None, eris: Any = None,
                 **options: Unpack[Options]) -> tuple[Any, Any]:
    """Solves the Lambda equations of CCSD(T). Returns l1 and l2 in PySCF's layout; mycc keeps those of CCSD, if it has them.

    Parameters
    ----------
    mycc
        RCCSD or UCCSD with canonical orbitals, after kernel(); frozen orbitals, density fitting and symmetry too.
    t1, t2, eris
        As in `triples`.
    l1, l2
        Where the iteration starts. Default: PySCF's start.
    omega2
        One value: the derivatives of Reg-(T).

    The other options are those of `triples`. The results for the last amplitudes of an object are kept as long as the object.
    """
    known = _Point(mycc, t1, t2, l1, l2, eris, dict(options)).unrelaxed()
    return known.l1, known.l2


@taking(Options)
def make_rdm1(mycc: Any, t1: Any = None, t2: Any = None, l1: Any = None, l2: Any = None, eris: Any = None, ao_repr: bool = False,
              relaxed: bool = False, **options: Unpack[Options]) -> Any:
    """The one-electron density matrix of CCSD(T), of UCCSD those of alpha and beta.

    relaxed=False: at fixed orbitals, as that of PySCF. relaxed=True: with the response of the orbitals. ao_repr=True: in atomic
    orbitals, else in those of mycc. The other parameters are those of `solve_lambda`.
    """
    relaxed, ao_repr = truth("relaxed", relaxed), truth("ao_repr", ao_repr)
    point = _Point(mycc, t1, t2, l1, l2, eris, dict(options))
    if not relaxed:
        return rdm1(mycc, point.unrelaxed().d1, ao_repr=ao_repr)
    density = point.relaxed(with_gradient=False).relaxed
    if not ao_repr:
        overlap = mycc._scf.get_ovlp()
        pairs = [(mycc.mo_coeff, density)] if is_restricted(mycc) else zip(mycc.mo_coeff, density)
        turned = [c.T @ overlap @ each @ overlap @ c for c, each in pairs]
        density = turned[0] if is_restricted(mycc) else turned
    return density if is_restricted(mycc) else tuple(density)


@taking(Options)
def make_rdm2(mycc: Any, t1: Any = None, t2: Any = None, l1: Any = None, l2: Any = None, eris: Any = None, ao_repr: bool = False,
              **options: Unpack[Options]) -> Any:
    """The two-electron density matrix of CCSD(T) at fixed orbitals, of UCCSD those of the spins aa, ab, bb. n^4 numbers in memory.

    Its elements have the symmetry of the integrals where (T) enters. Those of PySCF do not, and give the same energy. The
    parameters are those of `make_rdm1`.
    """
    point = _Point(mycc, t1, t2, l1, l2, eris, dict(options))
    derivatives = derivatives_by_integrals(mycc, point.t1, point.t2, point.eris, point.options)
    known = point.known or point._remember(point._lambda(derivatives))
    with importlib.import_module("pyscf.lib").H5TmpFile() as file:
        d2 = gamma2(mycc, point.t1, point.t2, known.l1, known.l2, derivatives, file, compressed=False)
        return rdm2(mycc, known.d1, d2, ao_repr=ao_repr)


@taking(Options)
def dip_moment(mycc: Any, relaxed: bool = True, unit: str = "Debye", t1: Any = None, t2: Any = None, l1: Any = None, l2: Any = None,
               eris: Any = None, **options: Unpack[Options]) -> Any:
    """The dipole moment of CCSD(T), [xyz]. unit: Debye or au.

    relaxed=True: the derivative of the energy by an electric field, in three times the time of E(T). relaxed=False: at fixed
    orbitals, in twice that time. The other parameters are those of `solve_lambda`.
    """
    if not isinstance(unit, str) or unit.lower() not in ("debye", "au"):
        raise UsageError(f"unit is {shown(unit)}, but it must be Debye or au.")
    density = make_rdm1(mycc, t1, t2, l1, l2, eris, True, relaxed, **options)
    return mycc._scf.dip_moment(mycc.mol, np.asarray(density), unit=unit, verbose=0)


@taking(Options)
def Gradients(mycc: Any, **options: Unpack[Options]) -> Any:
    """Nuclear gradients of CCSD(T): an object as pyscf.grad.ccsd_t.Gradients or pyscf.grad.uccsd_t.Gradients.

    kernel() returns [atom, xyz], hartree/bohr; e_tot is E(CCSD(T)), hartree. as_scanner() returns a function of a molecule, which
    returns the energy and the gradient, as geomeTRIC, PyBerny and ASE call it through pyscf.geomopt. The options are those of
    `triples`, with one value of omega2: for example Gradients(mycc, device="cuda").
    """
    refuse_unknown(options, Options)
    expect_coupled_cluster(mycc)
    return _classes(is_restricted(mycc))[0](mycc, dict(options))


@functools.cache
def _classes(restricted: bool) -> tuple[Any, Any]:
    """The classes of gradients and of scanners, which are those of PySCF, too."""
    base = importlib.import_module(f"pyscf.grad.{'' if restricted else 'u'}ccsd_t").Gradients
    lib = importlib.import_module("pyscf.lib")
    of_gradients = type("Gradients", (_Gradients, base), {"_keys": {"options", "e_tot"}})
    return of_gradients, type("Gradients_Scanner", (_Scanner, lib.GradScanner, of_gradients), {})


class _Gradients:
    """Replaces methods of PySCF's Gradients."""

    base: Any
    mol: Any
    atmlst: Any
    de: Any
    e_tot: Any = None
    """E(CCSD(T)), hartree, after kernel()."""

    def __init__(self, mycc: Any, options: dict[str, Any]) -> None:
        super().__init__(mycc)  # type: ignore[call-arg]
        self.options = options

    def kernel(self, t1: Any = None, t2: Any = None, l1: Any = None, l2: Any = None, eris: Any = None, atmlst: Any = None,
               verbose: Any = None) -> Any:
        """The gradient [atom, xyz], hartree/bohr. Runs the CCSD if this has not been done. l1, l2: where the iteration starts."""
        mycc = self.base
        if t1 is None and mycc.t1 is None:
            mycc.kernel(eris=eris)
        self.atmlst = self.atmlst if atmlst is None else atmlst
        options = self.options if verbose is None else {**self.options, "verbose": verbose}
        de, self.e_tot = electronic(mycc, t1, t2, l1, l2, eris, self.atmlst, options)
        of_any: Any = self
        self.de = de + of_any.grad_nuc(atmlst=self.atmlst)
        if self.mol.symmetry:
            self.de = of_any.symmetrize(self.de, self.atmlst)
        of_any._finalize()
        return self.de

    def as_scanner(self) -> Any:
        """A function of a molecule, or of coordinates, that returns the energy, hartree, and the gradient."""
        scanner = _classes(is_restricted(self.base))[1]
        return self if isinstance(self, scanner) else scanner(self)


def electronic(mycc: Any, t1: Any, t2: Any, l1: Any, l2: Any, eris: Any, atoms: Any, options: dict[str, Any]) -> tuple[Any, float]:
    """The gradient of the electronic energy of the chosen atoms [atom, xyz], hartree/bohr, and E(CCSD(T)), hartree."""
    chosen = None if atoms is None else [integer("a number of atmlst", each) for each in np.ravel(atoms)]
    for atom in chosen or ():
        if not 0 <= atom < mycc.mol.natm:
            raise UsageError(f"There is no atom {atom}; atmlst has numbers from 0 to {mycc.mol.natm - 1}.")
    point = _Point(mycc, t1, t2, l1, l2, eris, options)
    refuse_moved_core(mycc)
    known = point.relaxed(with_gradient=True)
    e_tot = float(np.real(mycc.e_hf if mycc.e_hf is not None else mycc._scf.e_tot)) + known.e_ccsd + known.e_t
    return known.gradient[slice(None) if chosen is None else chosen].copy(), e_tot


class _Scanner:
    """Follows a molecule: SCF, CCSD, Lambda and the gradient, each from the results at the last geometry."""

    base: Any
    mol: Any
    e_tot: Any = None

    def __init__(self, gradients: Any) -> None:
        importlib.import_module("pyscf.lib").GradScanner.__init__(self, gradients)

    def __call__(self, mol_or_geom: Any, **options: Any) -> tuple[float, Any]:
        """E(CCSD(T)), hartree, and its gradient [atom, xyz], hartree/bohr. Takes a molecule of PySCF, or coordinates in its unit."""
        is_molecule = isinstance(mol_or_geom, importlib.import_module("pyscf.gto").MoleBase)
        mol = mol_or_geom if is_molecule else self.mol.set_geom_(mol_or_geom, inplace=False)
        mycc, known = self.base, _known.get(self.base)
        size = mycc.vector_size() if mycc.t2 is not None else 0
        of_any: Any = self
        of_any.reset(mol)
        mycc._scf(mol)
        mycc.mo_coeff, mycc.mo_occ = mycc._scf.mo_coeff, mycc._scf.mo_occ
        if size != mycc.vector_size():
            mycc.t1 = mycc.t2 = known = None
        eris = mycc.ao2mo(mycc.mo_coeff)
        mycc.kernel(mycc.t1, mycc.t2, eris=eris)
        l1, l2 = (known.l1, known.l2) if known is not None else (None, None)
        de = of_any.kernel(l1=l1, l2=l2, eris=eris, **options)
        return self.e_tot, de

    @property
    def converged(self) -> bool:
        """True if the SCF and the CCSD are converged. Lambda always is: otherwise there is an exception."""
        return bool(self.base._scf.converged and self.base.converged)
