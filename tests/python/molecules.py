"""Converged calculations of PySCF that the tests of the Python package share."""

import functools
from collections.abc import Hashable

import h5py
import numpy as np
import pyscf.cc
from pyscf import gto, scf

WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"
HYDROXYL = "O 0 0 0; H 0 0 0.97"
METHYLENE = "C 0 0 0; H 0 0.99 0.43; H 0 -0.99 0.43"


def shared(make):
    """`make` computes once for all tests with the same arguments.

    Each test gets a copy: it may set attributes, but not elements of the arrays, which the copies share.
    """
    once = functools.lru_cache(maxsize=None)(make)

    @functools.wraps(make)
    def copy(*arguments, **options):
        hashable = all(isinstance(each, Hashable) for each in (*arguments, *options.values()))
        made = (once if hashable else make)(*arguments, **options).copy()
        if hasattr(made, "_scf"):
            made._scf = made._scf.copy()
        return made

    return copy


@shared
def mean_field(kind, atom, basis="6-31g", **options):
    mol = gto.M(atom=atom, basis=basis, verbose=0, **options)
    return kind(mol).set(conv_tol=1e-13, conv_tol_grad=1e-9, max_cycle=200).run()


def in_memory(eris):
    """The same integrals.

    PySCF reads factors from a file in every iteration, for open shells in single rows, which is half the time of CCSD.
    """
    for name in ("vvL", "VVL"):
        if isinstance(getattr(eris, name, None), h5py.Dataset):
            setattr(eris, name, getattr(eris, name)[()])
    return eris


def solved(cc):
    cc.set(conv_tol=1e-12, conv_tol_normt=1e-9, max_cycle=200, verbose=0)
    cc.kernel(eris=in_memory(cc.ao2mo(cc.mo_coeff)))
    return cc


@shared
def water():
    return solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER)))


@shared
def hydroxyl():
    return solved(pyscf.cc.CCSD(mean_field(scf.UHF, HYDROXYL, spin=1)))


def unpacked(eris, name):
    return np.asarray(getattr(eris, "get_" + name)())


def restricted_arrays(cc, eris=None):
    """The arrays of trifuse.triples, from an object without symmetry."""
    eris = eris or cc.ao2mo()
    o = cc.nocc
    return dict(t1=cc.t1, t2=cc.t2, ovvv=unpacked(eris, "ovvv"), ovoo=eris.ovoo, ovov=eris.ovov, oovv=eris.oovv,
                eps_occ=eris.mo_energy[:o], eps_vir=eris.mo_energy[o:], fock=eris.fock)


def unrestricted_arrays(cc, eris=None):
    eris = eris or cc.ao2mo()
    arrays = {}
    for spin, o, energies, fock in zip("ab", cc.nocc, eris.mo_energy, eris.fock):
        arrays.update({f"eps_occ_{spin}": energies[:o], f"eps_vir_{spin}": energies[o:], f"fock_{spin}": fock})
    arrays.update(t1_a=cc.t1[0], t1_b=cc.t1[1], t2_aa=cc.t2[0], t2_ab=cc.t2[1], t2_bb=cc.t2[2])
    for name in ("ovvv", "ovVV", "OVvv", "OVVV"):
        arrays["ovvv_" + spins(name)] = unpacked(eris, name)
    for name in ("ovoo", "ovOO", "OVoo", "OVOO", "ovov", "ovOV", "OVOV", "oovv", "OOVV"):
        arrays[name.lower() + "_" + spins(name)] = getattr(eris, name)
    return arrays


def spins(name):
    return "".join("a" if letter.islower() else "b" for letter in name)
