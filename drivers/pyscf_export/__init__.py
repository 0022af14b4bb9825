# mypy: ignore-errors
"""Write the Trifuse dump (tce_tiles/docs/dump-format.md) of a PySCF coupled-cluster calculation.

Copy this folder next to your script; it needs pyscf, numpy and h5py. The Python package `trifuse` contains the same
folder. It also calls the functions of this folder that write no file.

    import pyscf_export
    mycc = pyscf.cc.CCSD(mf).run()
    pyscf_export.write_dump(mycc, "dump.h5")                            # trifuse run dump.h5

    reg = pyscf_export.solve_regularized_ccsd(mycc, 0.1)                # Reg-CCSD(T), omega^2 = 0.1 hartree
    pyscf_export.write_left_dump(reg, "left.h5")                        # trifuse run dump.h5 --left left.h5

    pyscf_export.write_lambda_dump(mycc, "lambda.h5")                   # Lambda-CCSD(T), likewise with --left

Supported: RCCSD and UCCSD on real RHF, UHF and ROHF references, with or without frozen orbitals and density fitting.
A dump takes its name when it is complete. It replaces an earlier dump of the same kind that this package wrote. It replaces
any other file only with `overwrite=True`.
`seal` adds the checksums of the format page to any complete dump, also of another program. `verify_seal` compares them.
As a program: `python3 pyscf_export molecule.xyz --basis cc-pvdz -o dump.h5`, where `pyscf_export` is this folder, or
`python3 -m pyscf_export ...`; see --help.
"""

import argparse
import collections
import contextlib
import copy
import os
import secrets
import stat
import struct
import warnings
import zlib

import h5py
import numpy as np

# Functions import PySCF themselves, because `seal`, `verify_seal` and dumps of other programs need only h5py and numpy.

# PySCF's names of the integrals (pq|rs): o v are alpha orbitals, O V beta ones.
RESTRICTED_INTEGRALS = ("ovvv", "ovoo", "ovov", "oovv")
SPIN_INTEGRALS = ("ovvv", "ovVV", "OVvv", "OVVV", "ovoo", "ovOO", "OVoo", "OVOO", "ovov", "ovOV", "OVOV", "oovv", "OOVV")

# If an off-diagonal element of the Fock matrix exceeds this, the orbitals are not canonical. The elements of an SCF with
# PySCF's default thresholds are smaller by one or two orders of magnitude.
NON_CANONICAL = 1e-3
# Amplitudes that symmetry forbids are rounding errors.
FORBIDDEN = 1e-8


class ExportError(Exception):
    """One sentence that says what cannot be exported."""


def write_dump(cc, filename, comment="", allow_unconverged=False, eris=None, overwrite=False, factors=True):
    """Write amplitudes, orbital energies, Fock matrix and integrals of a converged RCCSD or UCCSD object.

    `eris`: integrals from `cc.ao2mo()`; without them the integrals are transformed again. The large (ia|bc) arrays are
    written one occupied orbital at a time, so that no more than v^3 numbers are held at once. A density-fitted object
    gets a dump of its factors (`factors=False`: of the integrals), which is much smaller, and (ia|bc) is never made.
    `overwrite`: True replaces any file or link of this name.
    """
    _check_supported(cc)
    _check_converged(cc, allow_unconverged)
    _may_take(filename, _kind(cc), overwrite)  # before the integrals are transformed
    factors = factors and is_density_fitted(cc)
    if eris is None:
        eris = _fock_only(cc) if factors else cc.ao2mo(cc.mo_coeff)
    orbitals = _orbitals(cc, eris, cc.t1, cc.t2)
    integrals = factor_arrays(cc, orbitals, eris) if factors else None
    with _new_dump(filename, _kind(cc), overwrite) as file:
        _write_header(file, cc, orbitals, comment, integrals)
        energy = cc.energy(cc.t1, cc.t2, integrals_of_energy(integrals, orbitals, eris) if factors else eris)
        file.attrs["correlation_energy"] = float(energy)
        file.attrs["scf_energy"] = float(cc._scf.e_tot if getattr(cc, "e_hf", None) is None else cc.e_hf)
        file.attrs["fock_in_triples"] = 1  # PySCF adds f_ov t2; without it the last digits differ if the SCF is not tight
        _write_ordered(file, amplitude_arrays(orbitals, cc.t1, cc.t2), orbitals)
        for name, matrix in fock_matrices(orbitals).items():
            _write_rows(file, name, matrix)
        if factors:
            for name, array in integrals.items():
                _write_rows(file, name, array)
        else:
            _write_ordered(file, integral_arrays(orbitals, eris), orbitals)


def solve_regularized_ccsd(mf_or_cc, omega2, frozen=None, eris=None):
    """Solve the CCSD equations of H + omega2 * sum_a a^+ a and return the CCSD object with these amplitudes.

    omega2 (hartree) is added to the virtual diagonal of the Fock matrix everywhere in the equations, unlike PySCF's
    `level_shift`, which changes the iteration and not its result. Thresholds, frozen orbitals and memory are those of
    the CCSD object. The Fock matrix and the orbital energies of the result are not changed.
    """
    import pyscf.cc
    from pyscf.cc import ccsd

    if not np.isfinite(omega2) or omega2 < 0:
        raise ExportError(f"omega2 is {omega2}, but it must be a number of at least 0, in hartree.")
    if isinstance(mf_or_cc, ccsd.CCSDBase):
        if frozen is not None:
            raise ExportError("the CCSD object determines the frozen orbitals; set frozen there.")
        genuine = mf_or_cc
    else:
        genuine = pyscf.cc.CCSD(mf_or_cc, frozen)
    _check_supported(genuine)
    if eris is None:
        eris = genuine.ao2mo(genuine.mo_coeff)

    reg = genuine.copy()
    reg.t1 = reg.t2 = reg.l1 = reg.l2 = reg.e_corr = None
    reg.converged = reg.converged_lambda = False
    # Do not overwrite the CCSD amplitudes of the object in a checkpoint or DIIS file.
    reg.chkfile = reg.diis_file = reg.callback = None
    reg.diis = bool(reg.diis)
    reg.kernel(eris=_with_shifted_virtuals(eris, omega2))
    reg.regularized_solution = (float(omega2), reg.t2)  # see _omega2
    return reg


def write_left_dump(cc, filename, omega2=None, comment="", allow_unconverged=False, overwrite=False):
    """Write the amplitudes of `solve_regularized_ccsd`, with the original orbital energies, as a left-hand dump.

    `overwrite` as in `write_dump`.
    """
    _check_supported(cc)
    solved = _omega2(cc)
    if solved is None:
        raise ExportError("these amplitudes do not come from solve_regularized_ccsd; pass the object that it returns.")
    if omega2 is not None and omega2 != solved:
        raise ExportError(f"these amplitudes were solved with omega2 = {solved}, not {omega2}.")
    _check_converged(cc, allow_unconverged)
    orbitals = _orbitals(cc, _fock_only(cc), cc.t1, cc.t2)
    with _new_dump(filename, _kind(cc), overwrite) as file:
        _write_header(file, cc, orbitals, comment)
        # After the last iteration e_corr is the energy of these amplitudes. It does not contain the shift.
        file.attrs["correlation_energy"] = float(cc.e_corr)
        _write_ordered(file, amplitude_arrays(orbitals, cc.t1, cc.t2), orbitals)


def write_lambda_dump(cc, filename, comment="", allow_unconverged=False, overwrite=False):
    """Write the Lambda amplitudes as a left-hand dump. Solves the Lambda equations first if necessary.

    Lambda_2 = 1/4 sum lambda_ij^ab i^+ j^+ b a over spin orbitals. PySCF's l1 and l2 are these lambda in the order
    [i,a] and [i,j,a,b]: of UCCSD for the spin cases aa, ab, bb, and of RCCSD for i, a alpha and j, b beta (no
    spin-adapted combination), like t1 and t2. So they take the places of t1 and t2 in the left factor of the triples
    energy: for real orbitals <0|(L1+L2) V|ijk,abc> is the sum S + D of L1 and L2. `overwrite` as in `write_dump`.
    """
    _check_supported(cc)
    if _omega2(cc) is not None:
        raise ExportError("these amplitudes are regularised; Lambda amplitudes need the standard CCSD.")
    _check_converged(cc, allow_unconverged)
    _may_take(filename, "lambda", overwrite)
    if cc.l1 is None or cc.l2 is None:
        cc.solve_lambda()
    if not cc.converged_lambda and not allow_unconverged:
        raise ExportError("the Lambda equations are not converged; raise max_cycle and call solve_lambda again.")
    orbitals = _orbitals(cc, _fock_only(cc), cc.l1, cc.l2)
    with _new_dump(filename, "lambda", overwrite) as file:
        _write_header(file, cc, orbitals, comment)
        _set_string(file, "amplitudes", "lambda")
        _write_ordered(file, amplitude_arrays(orbitals, cc.l1, cc.l2), orbitals)


def _omega2(cc):
    """The omega^2 with which the amplitudes of this object were solved; None for CCSD amplitudes.

    The object remembers both, so that a dump is not mislabelled after another run of its kernel.
    """
    omega2, t2 = getattr(cc, "regularized_solution", (None, None))
    return omega2 if t2 is not None and t2 is cc.t2 else None


def _kind(cc):
    """The attribute `amplitudes` of a dump of this object."""
    return "ccsd" if _omega2(cc) is None else "reg-ccsd"


def _check_supported(cc):
    from pyscf.cc import ccsd, uccsd

    kind = f"{type(cc).__module__}.{type(cc).__name__}"
    if not isinstance(cc, ccsd.CCSDBase):
        raise ExportError(f"{kind} is not a PySCF coupled-cluster object; give a converged pyscf.cc.CCSD(mf).")
    if any(base.__module__.startswith("pyscf.pbc.") for base in type(cc).__mro__):
        raise ExportError(f"{kind} is a periodic calculation; only molecules can be exported.")
    if not isinstance(cc, (ccsd.CCSD, uccsd.UCCSD)) or getattr(cc, "cc2", False):
        raise ExportError(f"{kind} is not supported; only RCCSD and UCCSD amplitudes can be exported.")
    coefficients = cc.mo_coeff if isinstance(cc, uccsd.UCCSD) else (cc.mo_coeff,)
    if any(np.iscomplexobj(c) for c in coefficients):
        raise ExportError("the orbitals are complex; only real orbitals can be exported.")


def _check_converged(cc, allow_unconverged):
    if cc.t1 is None or cc.t2 is None:
        raise ExportError("there are no CCSD amplitudes yet; call cc.kernel() first.")
    if not cc._scf.converged and not allow_unconverged:
        raise ExportError("the SCF is not converged; converge it, or pass allow_unconverged=True.")
    if not cc.converged and not allow_unconverged:
        raise ExportError("the CCSD equations are not converged; raise max_cycle, or pass allow_unconverged=True.")


# The orbitals of the indices of arrays. The dictionaries have a key for each orbital class o v O V (upper case: beta; absent
# when restricted), nocc and fock only for o and O. `order` lists PySCF's orbitals of a class in the order of the dump.
Orbitals = collections.namedtuple("Orbitals", "restricted reference suffixes nocc energies fock irreps order")


def _orbitals(cc, eris, t1, t2):
    from pyscf.cc import uccsd

    restricted = not isinstance(cc, uccsd.UCCSD)
    per_spin = (lambda x: (x,)) if restricted else tuple
    nocc, energies, fock, irreps = {}, {}, {}, {}
    for spin, n, e, f, mo in zip(("ov", "OV"), per_spin(cc.nocc), per_spin(eris.mo_energy), per_spin(eris.fock),
                                 per_spin(eris.mo_coeff)):
        nocc[spin[0]], fock[spin[0]] = n, np.asarray(f)
        ids = _irrep_numbers(cc, mo)
        for c, part in zip(spin, (slice(None, n), slice(n, None))):
            energies[c] = np.asarray(e)[part]
            irreps[c] = None if ids is None else ids[part]
    if any(i is None for i in irreps.values()):
        irreps = None
    else:
        _check_symmetric(per_spin(t1), per_spin(t2), irreps)
    # Orbitals of an irrep are neighbours and keep their order.
    order = {c: np.argsort(irreps[c] if irreps else np.zeros(len(e)), kind="stable") for c, e in energies.items()}
    reference = _reference(cc, restricted, fock, nocc)
    return Orbitals(restricted, reference, ("",) if restricted else ("_a", "_b"), nocc, energies, fock, irreps, order)


def _reference(cc, restricted, fock, nocc):
    coupling = max(abs(matrix - np.diag(np.diag(matrix))).max(initial=0.0) for matrix in fock.values())
    if restricted:
        if coupling > NON_CANONICAL:
            raise ExportError(f"the orbitals are not canonical (off-diagonal Fock matrix elements up to {coupling:.1e} "
                              "hartree); converge the SCF and use its canonical orbitals.")
        return "RHF"
    # pyscf.cc.CCSD turns an ROHF object into a UHF object. Only the equal orbitals of both spins show this.
    alpha, beta = cc.mo_coeff
    same_orbitals = alpha.shape == beta.shape and np.array_equal(alpha, beta) and nocc["o"] != nocc["O"]
    return "ROHF" if same_orbitals or coupling > NON_CANONICAL else "UHF"


def _irrep_numbers(cc, mo):
    """Irreps 0..7 whose product is the exclusive or, or None without usable symmetry."""
    from pyscf import symm

    mol = cc.mol
    if not mol.symmetry or mol.groupname == "SO3":
        return None
    try:
        ids = symm.label_orb_symm(mol, mol.irrep_id, mol.symm_orb, mo, s=cc._scf.get_ovlp())
    except ValueError:  # an orbital of mixed symmetry
        return None
    return np.asarray(ids, dtype=np.int64) % 10  # the last digit of a linear molecule's irrep is its D2h or C2v one


def _check_symmetric(t1, t2, irreps):
    classes = ("ov", "OV", "oovv") if len(t1) == 1 else ("ov", "OV", "oovv", "oOvV", "OOVV")
    for t, name in zip([*t1, *t2], [*classes[:len(t1)], *classes[2:]]):
        product = np.zeros(1, dtype=np.int64)
        for c in name[1:]:
            product = product[..., None] ^ irreps[c]
        for i, row in enumerate(t):  # row by row: t2 may be large
            forbidden = abs(row[product[0] != irreps[name[0]][i]]).max(initial=0.0)
            if forbidden > FORBIDDEN:
                raise ExportError(f"the amplitudes break the symmetry of the orbitals (by {forbidden:.1e}); build the "
                                  "molecule with symmetry=False.")


def _fock_only(cc):
    """PySCF's integral object with orbitals and Fock matrix, but without integrals: enough for a left-hand dump."""
    from pyscf.cc import ccsd, uccsd

    module = uccsd if isinstance(cc, uccsd.UCCSD) else ccsd
    return module._ChemistsERIs()._common_init_(cc, cc.mo_coeff)


# An array of the dump as PySCF has it, before its orbitals are put in order.
# name: its name in the dump; classes: the class o v O V of each index; values: PySCF's array, in memory or an HDF5
# dataset, where b, c of (ia|bc) may be one index of v(v+1)/2 pairs b >= c; rows(slice): some rows of the full array.
Array = collections.namedtuple("Array", "name classes values rows")


def amplitude_arrays(orbitals, t1, t2):
    """t1 and t2 of the dump, or Lambda amplitudes under these names."""
    if orbitals.restricted:
        arrays = [("t1", "ov", t1), ("t2", "oovv", t2)]
    else:
        arrays = [("t1_a", "ov", t1[0]), ("t1_b", "OV", t1[1]),
                  ("t2_aa", "oovv", t2[0]), ("t2_ab", "oOvV", t2[1]), ("t2_bb", "OOVV", t2[2])]
    return [Array(name, classes, values, values.__getitem__) for name, classes, values in arrays]


def integral_arrays(orbitals, eris):
    """The integrals of the dump."""
    arrays = []
    for name in RESTRICTED_INTEGRALS if orbitals.restricted else SPIN_INTEGRALS:
        # Each letter of PySCF's name is the class of an index. Only (ia|bc) may be packed; a method unpacks it.
        values = getattr(eris, name)
        rows = getattr(eris, "get_" + name) if name.lower() == "ovvv" else values.__getitem__
        spins = "" if orbitals.restricted else "_" + "".join("a" if c.islower() else "b" for c in name)
        arrays.append(Array(name.lower() + spins, name, values, rows))
    return arrays


def is_density_fitted(cc):
    """True if the integrals of an object are products of the factors of its `with_df`."""
    return type(cc).__module__.startswith("pyscf.cc.df") and getattr(cc, "with_df", None) is not None


def factor_arrays(cc, orbitals, eris):
    """The factors of a density-fitted object in the order of the dump: arrays by name.

    (pq|rs) = sum_Q B[Q,p,q] B[Q,r,s]. factors_vv is packed, [naux,v(v+1)/2]. The vectors in atomic orbitals are read
    from `cc.with_df` in blocks.
    """
    from pyscf.ao2mo import _ao2mo

    naux, arrays, spins = cc.with_df.get_naoaux(), {}, []
    coefficients = (eris.mo_coeff,) if orbitals.restricted else eris.mo_coeff
    for suffix, spin, mo in zip(orbitals.suffixes, ("ov", "OV"), coefficients):
        o, v = (len(orbitals.order[c]) for c in spin)
        order = np.concatenate([orbitals.order[spin[0]], o + orbitals.order[spin[1]]])
        b, c = np.tril_indices(v)
        spins.append((suffix, o, np.asarray(mo[:, order], order="F"), (slice(None), o + b, o + c)))
        for name, shape in (("oo", (o, o)), ("ov", (o, v)), ("vv", (v * (v + 1) // 2,))):
            arrays[f"factors_{name}{suffix}"] = np.empty((naux, *shape))
    begin = 0
    for block in cc.with_df.loop():
        end = begin + len(block)
        for suffix, o, mo, lower_triangle in spins:
            n = mo.shape[1]
            pairs = _ao2mo.nr_e2(block, mo, (0, n, 0, n), aosym="s2", mosym="s1").reshape(-1, n, n)
            arrays["factors_oo" + suffix][begin:end] = pairs[:, :o, :o]
            arrays["factors_ov" + suffix][begin:end] = pairs[:, :o, o:]
            arrays["factors_vv" + suffix][begin:end] = pairs[lower_triangle]
        begin = end
    if begin != naux:
        raise ExportError(f"density fitting delivered {begin} of {naux} vectors; build cc.with_df again.")
    return arrays


def integrals_of_energy(factors, orbitals, eris):
    """A copy of PySCF's integral object with (ia|jb) from factors, in PySCF's order. The CCSD energy needs no other integrals."""
    eris = copy.copy(eris)
    rows = {}
    for suffix, spin in zip(orbitals.suffixes, ("ov", "OV")):
        back = np.ix_(*(np.argsort(orbitals.order[c]) for c in spin))
        rows[spin] = np.stack([row[back] for row in factors["factors_ov" + suffix]])
    for name in ("ovov",) if orbitals.restricted else ("ovov", "ovOV", "OVOV"):
        left, right = rows[name[:2]], rows[name[2:]]
        setattr(eris, name, np.tensordot(left, right, axes=(0, 0)))
    if orbitals.restricted:
        eris.ovvo = eris.ovov.transpose(0, 1, 3, 2)
    return eris


def orbital_numbers(orbitals):
    """Orbital energies (hartree) and, with symmetry, irreps, in the order of the dump: arrays by name."""
    numbers = {}
    for suffix, spin in zip(orbitals.suffixes, ("ov", "OV")):
        for c, kind in zip(spin, ("occ", "vir")):
            numbers[f"eps_{kind}{suffix}"] = orbitals.energies[c][orbitals.order[c]]
            if orbitals.irreps is not None:
                numbers[f"irrep_{kind}{suffix}"] = orbitals.irreps[c][orbitals.order[c]]
    return numbers


def fock_matrices(orbitals):
    """Fock matrices, hartree, in the order of the dump: arrays by name."""
    matrices = {}
    for suffix, spin in zip(orbitals.suffixes, ("ov", "OV")):
        order = np.concatenate([orbitals.order[spin[0]], orbitals.nocc[spin[0]] + orbitals.order[spin[1]]])
        matrices["fock" + suffix] = orbitals.fock[spin[0]][np.ix_(order, order)]
    return matrices


def _with_shifted_virtuals(eris, omega2):
    def shifted(matrix, energies, nocc):
        virtual = np.arange(nocc, len(energies))
        matrix, energies = np.array(matrix), np.array(energies)
        matrix[virtual, virtual] += omega2
        energies[virtual] += omega2  # the solver takes the diagonal out of the Fock matrix with these
        return matrix, energies

    eris = copy.copy(eris)  # shares the integrals
    if isinstance(eris.fock, tuple):
        spins = [shifted(f, e, n) for f, e, n in zip(eris.fock, eris.mo_energy, eris.nocc)]
        eris.fock = eris.focka, eris.fockb = tuple(f for f, _ in spins)
        eris.mo_energy = tuple(e for _, e in spins)
    else:
        eris.fock, eris.mo_energy = shifted(eris.fock, eris.mo_energy, eris.nocc)
    return eris


class _BlockSums:
    """The CRC-32 of each block of consecutive elements of a dataset. The elements are added in C order, in parts."""

    def __init__(self, block):
        self.block_bytes, self.finished, self.sum, self.bytes = 8 * block, [], 0, 0

    def add(self, values):
        kind = "<i8" if np.issubdtype(values.dtype, np.integer) else "<f8"
        data = memoryview(np.ascontiguousarray(values, kind).reshape(-1).view(np.uint8))
        while data:
            part = data[:self.block_bytes - self.bytes]
            data = data[len(part):]
            self.sum, self.bytes = zlib.crc32(part, self.sum), self.bytes + len(part)
            if self.bytes == self.block_bytes:
                self.finished.append(self.sum)
                self.sum = self.bytes = 0

    def result(self):
        return np.array(self.finished + [self.sum] * (self.bytes > 0), "<u4")


def _seal_block(elements):
    """Number of elements of a block: at least 1024, and so large that a dataset has at most 2^23 blocks."""
    block = 1024
    while -(-elements // block) > 2**23:
        block *= 2
    return block


def _sums_of(dataset, block):
    sums = _BlockSums(block)
    if dataset.size:
        rows = max(1, 2**20 * dataset.shape[0] // dataset.size)
        for start in range(0, dataset.shape[0], rows):
            sums.add(dataset[start:start + rows])
    return sums.result()


def _header_sum(file):
    lines = []
    for name, value in sorted(file.attrs.items()):
        if isinstance(value, h5py.Empty) or np.size(value) != 1:
            continue
        value = np.asarray(value).reshape(-1)[0]
        if isinstance(value, bytes):
            value = value.decode(errors="surrogateescape")
        if isinstance(value, str):
            lines.append(f"{name}=" + value.split("\0")[0].rstrip(" "))
        elif isinstance(value, np.integer):
            lines.append(f"{name}={int(value)}")
        elif isinstance(value, np.floating):
            lines.append(f"{name}=" + struct.pack(">d", value).hex())
    for name in sorted(set(file["seal"]) - {"header"}):
        lines.append(f"{name} [{','.join(map(str, file[name].shape))}]")
    return zlib.crc32("".join(line + "\n" for line in lines).encode(errors="surrogateescape"))


def seal(file, sums=None, block=None):
    """Seal a complete dump that is open for writing (an h5py.File), or seal it again after a change.

    Uses only h5py, numpy and zlib, so other programs may copy this function. `sums`: known checksums of datasets, for
    blocks of `block` elements; all other datasets are read back.
    """
    datasets = sorted(name for name, item in file.items() if isinstance(item, h5py.Dataset))
    block = block or _seal_block(max(file[name].size for name in datasets))
    if "seal" in file:
        del file["seal"]
    file.attrs["minor_version"] = 1
    file.attrs["seal_block"] = block
    group = file.create_group("seal")
    for name in datasets:
        known = sums is not None and name in sums
        group[name] = sums[name] if known else _sums_of(file[name], block)
    group["header"] = np.array([_header_sum(file)], "<u4")


def verify_seal(filename):
    """The names of datasets that have changed since the dump was sealed, and "header". Empty for an undamaged dump."""
    with h5py.File(filename, "r") as file:
        block = int(file.attrs["seal_block"])
        wrong = [] if file["seal/header"][0] == _header_sum(file) else ["header"]
        for name in sorted(set(file["seal"]) - {"header"}):
            if not np.array_equal(file["seal"][name][()], _sums_of(file[name], block)):
                wrong.append(name)
        return wrong


class _Dump:
    """A dump during writing: the file, and the checksums of its datasets so far."""

    def __init__(self, file):
        self.file, self.attrs, self.sums, self.block = file, file.attrs, {}, None

    def write(self, name, shape, dtype, rows):
        """Writes a dataset from its rows, one after another along the first axis."""
        dataset = self.file.create_dataset(name, shape, dtype)
        sums = _BlockSums(self.block)
        if 0 not in shape:
            for n, row in enumerate(rows):
                dataset[n] = row
                sums.add(np.asarray(row))
        self.sums[name] = sums.result()

    def seal(self):
        seal(self.file, self.sums, self.block)


def _is_earlier_dump(filename, kind, program):
    """True if this exporter wrote this file for this program and with this kind of amplitudes."""
    try:
        with h5py.File(filename, "r") as file:
            expected = {"format": "trifuse-dump", "amplitudes": kind}
            found = {name: file.attrs.get(name, b"") for name in ("program", *expected)}
    except (OSError, RuntimeError, ValueError, TypeError, KeyError):
        return False
    found = {name: value.decode(errors="replace") if isinstance(value, bytes) else value for name, value in found.items()}
    return str(found.pop("program")).startswith(program) and found == expected


def _may_take(filename, kind, overwrite, program="PySCF "):
    """True if the file exists and may be replaced. Raises ExportError if it must not be replaced."""
    try:
        mode = os.lstat(filename).st_mode
    except FileNotFoundError:
        return False
    name = os.fsdecode(filename)
    if stat.S_ISLNK(mode):
        if not overwrite:
            raise ExportError(f"{name}: this is a symbolic link, and dumps do not follow links; name the file itself, "
                              "or replace the link with overwrite (overwrite=True, --overwrite).")
    elif not stat.S_ISREG(mode):
        raise ExportError(f"{name}: this is not a regular file; give the dump another name.")
    elif not overwrite and not _is_earlier_dump(filename, kind, program):
        raise ExportError(f"{name}: this file exists already and is not an earlier {kind} dump of this exporter; "
                          "give the dump another name, or allow replacing it (overwrite=True, --overwrite).")
    return True


def _create_beside(filename):
    """A new, empty file in the same directory: its name and descriptor. Links are never followed."""
    directory, name = os.path.split(filename)
    stem = os.fsdecode(os.fsencode(name)[:200])  # file systems allow names of 255 bytes
    while True:
        partial = os.path.join(directory, f"{stem}.partial-{secrets.token_hex(8)}")
        with contextlib.suppress(FileExistsError):
            return partial, os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _take_name(partial, filename, existed, kind, overwrite, program):
    """Gives a complete file its name, unless another file has taken the name meanwhile."""
    exists = _may_take(filename, kind, overwrite, program)
    if not overwrite and not existed:
        appeared = ExportError(f"{filename}: another program made this file meanwhile, and it is kept.")
        if exists:
            raise appeared
        try:
            os.link(partial, filename)  # never replaces a file
            return
        except FileExistsError:
            raise appeared from None
        except OSError:  # a file system without hard links
            pass
    os.replace(partial, filename)


@contextlib.contextmanager
def _new_dump(filename, kind, overwrite, program="PySCF "):
    """A dump that takes its name when it is complete, sealed and on the disk. An exception removes it.

    It may replace an earlier dump of the same kind whose attribute `program` begins with this text.
    """
    filename = os.path.abspath(os.fsdecode(filename))
    existed = _may_take(filename, kind, overwrite, program)
    partial, descriptor = _create_beside(filename)
    try:
        # The format of HDF5 1.10 has checksums of all metadata. Older formats have none.
        with h5py.File(partial, "w", libver=("v110", "v110")) as file:
            dump = _Dump(file)
            yield dump
            dump.seal()
        os.fsync(descriptor)
        _take_name(partial, filename, existed, kind, overwrite, program)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)
        os.close(descriptor)
    with contextlib.suppress(OSError):  # some file systems cannot flush the name
        directory = os.open(os.path.dirname(filename), os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _set_string(file, name, text):
    """Sets a string attribute of fixed length. HDF5 stores strings of variable length in a heap without a checksum."""
    value = text.encode()
    file.attrs.create(name, value, dtype=h5py.string_dtype("utf-8", max(1, len(value))))


def _provenance(cc):
    """Attributes that name the origin of the numbers."""
    import pyscf

    mol = cc.mol
    hill_order = sorted(collections.Counter(mol.elements).items(), key=lambda e: ({"C": 0, "H": 1}.get(e[0], 2), e[0]))
    return {"molecule": "".join(element + (str(n) if n > 1 else "") for element, n in hill_order),
            "basis": mol.basis if isinstance(mol.basis, str) else "user-defined",
            "program": f"PySCF {pyscf.__version__}"}


def _auxiliary_basis(cc):
    basis = cc.with_df.auxbasis
    return basis if isinstance(basis, str) else "default of PySCF" if basis is None else "user-defined"


def _begin(file, reference, kind, omega2, largest, strings, version=1):
    """Writes the attributes of every dump. `largest`: elements of its largest array; `strings`: optional attributes."""
    file.block = _seal_block(largest)
    file.attrs["version"] = version
    for name, text in {"format": "trifuse-dump", "reference": reference, "amplitudes": kind, **strings}.items():
        _set_string(file, name, text)
    if omega2 is not None:
        file.attrs["omega2"] = omega2


def _write_header(file, cc, orbitals, comment, factors=None):
    o, v = (max(len(orbitals.order[c]) for c in classes if c in orbitals.order) for classes in ("oO", "vV"))
    largest = max(o * v**3, o**3 * v, (o * v)**2, (o + v)**2)
    if factors is None:
        _begin(file, orbitals.reference, _kind(cc), _omega2(cc), largest, _provenance(cc))
    else:
        largest = max([(o * v)**2, (o + v)**2, *(array.size for array in factors.values())])
        strings = {**_provenance(cc), "factorization": "density-fitting", "auxiliary_basis": _auxiliary_basis(cc)}
        _begin(file, orbitals.reference, _kind(cc), _omega2(cc), largest, strings, version=2)
    if not cc.converged:
        comment += " (CCSD not converged)"
    if comment:
        _set_string(file, "comment", comment)
    for name, numbers in orbital_numbers(orbitals).items():
        _write_rows(file, name, numbers)


def _write_rows(file, name, array):
    file.write(name, array.shape, array.dtype, array)


def _write_ordered(file, arrays, orbitals):
    """Writes datasets in the order of the dump, one value of the first index at a time."""
    for array in arrays:
        rest = np.ix_(*(orbitals.order[c] for c in array.classes[1:]))
        rows = (np.asarray(array.rows(slice(i, i + 1)))[0][rest] for i in orbitals.order[array.classes[0]])
        file.write(array.name, tuple(len(orbitals.order[c]) for c in array.classes), "f8", rows)


# ---- the command line tool ----


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: error: {message}\n")


def _arguments(argv):
    parser = _Parser(prog="pyscf_export", description="Run SCF and CCSD with PySCF and write a Trifuse dump of it. Bad input ends with exit "
                                 "code 2, a calculation that does not converge with 1.")
    add = parser.add_argument
    add("molecule", help="geometry in angstrom, an .xyz file")
    add("--basis", required=True, help="a basis set that PySCF knows, for example cc-pvdz")
    add("--charge", type=int, default=0, help="charge of the molecule (default 0)")
    add("--spin", type=int, default=0, help="number of unpaired electrons (default 0)")
    add("--reference", choices=("rhf", "uhf", "rohf"), help="default: rhf without unpaired electrons, else uhf")
    add("--frozen", type=int, default=0, help="number of frozen core orbitals (default 0)")
    add("--symmetry", action="store_true", help="use point-group symmetry; the dump then carries the irreps")
    add("--omega2", type=float, help="also solve the regularised CCSD with this omega^2 in hartree and write its "
                                     "left-hand dump")
    add("--left", help="name of that left-hand dump (default: NAME.left_OMEGA2.h5 for -o NAME.h5)")
    add("--lambda", dest="lambda_dump", metavar="FILE", help="also write the Lambda amplitudes as a left-hand dump")
    add("--triples", action="store_true", help="also print PySCF's own (T) correction")
    add("--memory", type=float, help="memory for PySCF in MB (default: PySCF's)")
    add("--verbose", type=int, default=0, help="PySCF's verbosity, 0 to 9 (default 0)")
    add("-o", "--output", required=True, help="name of the dump")
    add("--overwrite", action="store_true", help="replace any existing file; never the molecule")
    options = parser.parse_args(argv)
    if options.left and options.omega2 is None:
        parser.error("--left names the dump of --omega2, which is missing.")
    if options.omega2 is not None and not (np.isfinite(options.omega2) and options.omega2 >= 0):
        parser.error(f"--omega2 is {options.omega2}, but it must be at least 0.")
    if options.reference == "rhf" and options.spin != 0:
        parser.error("--reference rhf needs --spin 0; use uhf or rohf for unpaired electrons.")
    if options.omega2 is not None and not options.left:
        options.left = f"{os.path.splitext(options.output)[0]}.left_{options.omega2:g}.h5"
    outputs = {os.path.realpath(name) for name in (options.output, options.left, options.lambda_dump) if name}
    if len(outputs) < sum(name is not None for name in (options.output, options.left, options.lambda_dump)):
        parser.error("two dumps have the same name; give them different names.")
    if os.path.realpath(options.molecule) in outputs:
        parser.error(f"{options.molecule}: this file is the molecule and is never overwritten; choose another name.")
    return parser, options


def _molecule(options):
    from pyscf import gto

    try:
        atoms = gto.fromfile(options.molecule, format="xyz")
    except OSError as error:
        raise ExportError(f"{options.molecule}: cannot be read ({error.strerror}).") from error
    except (ValueError, IndexError, KeyError, RuntimeError) as error:
        raise ExportError(f"{options.molecule}: this is not an xyz file (number of atoms, comment, atoms).") from error
    try:
        with warnings.catch_warnings():  # the error below reports an unknown basis
            warnings.simplefilter("ignore")
            mol = gto.M(atom=atoms, basis=options.basis, charge=options.charge, spin=options.spin,
                        symmetry=options.symmetry, verbose=options.verbose, parse_arg=False)
    except Exception as error:  # PySCF raises many kinds for an unknown element or basis or an impossible spin
        raise ExportError(f"PySCF refuses this molecule: {' '.join(str(error).split())}") from error
    if options.memory:
        mol.max_memory = options.memory
    if not 0 <= options.frozen <= min(mol.nelec):
        raise ExportError(f"--frozen is {options.frozen}, but 0 to {min(mol.nelec)} orbitals can be frozen.")
    return mol


def _run(options):
    for name, kind in ((options.output, "ccsd"), (options.left, "reg-ccsd"), (options.lambda_dump, "lambda")):
        if name:
            _may_take(name, kind, options.overwrite)
    mol = _molecule(options)

    import pyscf.cc
    from pyscf import scf

    reference = options.reference or ("rhf" if options.spin == 0 else "uhf")
    mf = {"rhf": scf.RHF, "uhf": scf.UHF, "rohf": scf.ROHF}[reference](mol)
    mf.set(conv_tol=1e-11, conv_tol_grad=1e-7, max_cycle=200).run()
    if not mf.converged:
        raise RuntimeError("the SCF did not converge; write a script with a better initial guess, see write_dump.")
    mycc = pyscf.cc.CCSD(mf, frozen=options.frozen or None)
    mycc.set(conv_tol=1e-10, conv_tol_normt=1e-8, max_cycle=200)
    eris = mycc.ao2mo(mycc.mo_coeff)
    mycc.kernel(eris=eris)
    if not mycc.converged:
        raise RuntimeError("the CCSD did not converge; write a script with a better initial guess, see write_dump.")
    write_dump(mycc, options.output, eris=eris, overwrite=options.overwrite)
    print(f"E(SCF)                 {mf.e_tot:20.12f}")
    print(f"E(CCSD) correlation    {mycc.e_corr:20.12f}")
    print(f"dump                   {options.output}")
    if options.omega2 is not None:
        reg = solve_regularized_ccsd(mycc, options.omega2, eris=eris)
        if not reg.converged:
            raise RuntimeError(f"the regularised CCSD (omega2 = {options.omega2:g}) did not converge.")
        write_left_dump(reg, options.left, overwrite=options.overwrite)
        print(f"E(Reg-CCSD) correlation{reg.e_corr:20.12f}")
        print(f"left-hand dump         {options.left}")
    if options.lambda_dump:
        mycc.solve_lambda(eris=eris)
        if not mycc.converged_lambda:
            raise RuntimeError("the Lambda equations did not converge.")
        write_lambda_dump(mycc, options.lambda_dump, overwrite=options.overwrite)
        print(f"Lambda left-hand dump  {options.lambda_dump}")
    if options.triples:
        print(f"E(T) of PySCF          {mycc.ccsd_t(eris=eris):20.12f}")
        if reference == "rohf":
            print("(for an ROHF reference PySCF keeps the f_ov t2 term but neglects off-diagonal f_ij and f_ab)")


def main(argv=None):
    parser, options = _arguments(argv)
    try:
        _run(options)
    except ExportError as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    except (OSError, RuntimeError) as error:
        parser.exit(1, f"{parser.prog}: error: {error}\n")
    return 0

