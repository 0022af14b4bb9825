#!/usr/bin/env python3
"""Triples energies from nothing but a Trifuse dump, by the textbook formulas in plain numpy: an oracle for tests.

`spin_orbital_energies` knows no spin and no symmetry: it sums over all i<j<k and all a, b, c of the spin orbitals, with
antisymmetrised integrals (Raghavachari et al., CPL 157, 479 (1989)). `closed_shell_energies` is the other formula, of
Rendell, Lee and Komornicki, for RHF dumps. Both take a left-hand dump for two-sided energies.

    python3 brute_force.py dump.h5 [--left left.h5] [--omega2 0.1] [--semicanonical] [--f-ov]
"""

import argparse
import itertools

import h5py
import numpy as np

SPINS = {"a": 0, "b": 1}


def read(filename):
    with h5py.File(filename, "r") as file:
        dump = {name: item[()] for name, item in file.items() if isinstance(item, h5py.Dataset)}
        # Strings of fixed length come as bytes.
        dump["attributes"] = {name: value.decode() if isinstance(value, bytes) else value
                              for name, value in file.attrs.items()}
    if any(name.startswith("factors_") for name in dump):
        dump.update(multiplied_out(dump))
    return dump


def multiplied_out(dump):
    """The integrals of a dump of factors: (pq|rs) = sum_Q B[Q,p,q] B[Q,r,s]."""
    def factors(name):
        array = dump["factors_" + name]
        if array.ndim == 3:
            return array
        n = int(np.sqrt(2 * array.shape[1]))
        square = np.empty((len(array), n, n))
        rows, columns = np.tril_indices(n)
        square[:, rows, columns] = square[:, columns, rows] = array
        return square

    integrals = {}
    suffixes = [""] if "factors_ov" in dump else ["_a", "_b"]
    for first, second in itertools.product(suffixes, repeat=2):
        spins = first and f"_{first[1] * 2}{second[1] * 2}"
        for kind in ("ovvv", "ovoo", "ovov"):
            integrals[kind + spins] = np.tensordot(factors("ov" + first), factors(kind[2:] + second), axes=(0, 0))
    return integrals


class SpinOrbitals:
    """The arrays of a dump over spin orbitals, alpha before beta; (ia|bc) etc. stay Mulliken integrals."""

    def __init__(self, dump, amplitudes=None):
        """Orbital energies and integrals from `dump`, amplitudes from `amplitudes` (default: the same)."""
        amplitudes = amplitudes or dump
        self.restricted = dump["attributes"]["reference"] == "RHF"
        suffixes = {s: "" if self.restricted else "_" + s for s in SPINS}
        occ = [dump["eps_occ" + x] for x in suffixes.values()]
        vir = [dump["eps_vir" + x] for x in suffixes.values()]
        self.size = {"o": [len(e) for e in occ], "v": [len(e) for e in vir]}
        self.eps_o, self.eps_v = np.concatenate(occ), np.concatenate(vir)
        for kind in ("ovvv", "ovoo", "ovov"):
            setattr(self, kind, self._assemble(kind, self._integrals(dump, kind)))
        self.t1, self.t2 = self._amplitudes(amplitudes)
        self.f_ov = np.zeros((sum(self.size["o"]), sum(self.size["v"])))
        for s, x in suffixes.items():
            if "fock" + x in dump:
                n = self.size["o"][SPINS[s]]
                self.f_ov[self._box("ov", s + s)] = dump["fock" + x][:n, n:]

    def _box(self, classes, spins):
        slices = []
        for c, s in zip(classes, spins):
            start = 0 if s == "a" else self.size[c][0]
            slices.append(slice(start, start + self.size[c][SPINS[s]]))
        return tuple(slices)

    def _assemble(self, classes, blocks):
        full = np.zeros([sum(self.size[c]) for c in classes])
        for spins, block in blocks.items():
            full[self._box(classes, spins)] = block
        return full

    def _integrals(self, dump, kind):
        blocks = {}
        for p, q in itertools.product("ab", repeat=2):
            if self.restricted:
                blocks[p + p + q + q] = dump[kind]
            elif kind == "ovov" and (p, q) == ("b", "a"):
                blocks["bbaa"] = dump["ovov_aabb"].transpose(2, 3, 0, 1)
            else:
                blocks[p + p + q + q] = dump[f"{kind}_{p}{p}{q}{q}"]
        return blocks

    def _amplitudes(self, dump):
        if self.restricted:
            t1, ab = {"aa": dump["t1"], "bb": dump["t1"]}, dump["t2"]
            same = ab - ab.transpose(1, 0, 2, 3)
            t2 = {"aaaa": same, "bbbb": same}
        else:
            t1, ab = {"aa": dump["t1_a"], "bb": dump["t1_b"]}, dump["t2_ab"]
            t2 = {"aaaa": dump["t2_aa"], "bbbb": dump["t2_bb"]}
        t2 |= {"abab": ab, "baba": ab.transpose(1, 0, 3, 2), "abba": -ab.transpose(0, 1, 3, 2),
               "baab": -ab.transpose(1, 0, 2, 3)}
        return self._assemble("ov", t1), self._assemble("oovv", t2)

    def semicanonicalise(self, dump):
        """Rotate so that the occupied and the virtual block of each spin's Fock matrix are diagonal."""
        rotation = {c: np.zeros((sum(self.size[c]),) * 2) for c in "ov"}
        energies = {"o": self.eps_o.copy(), "v": self.eps_v.copy()}
        for s in "ab":
            fock = dump["fock" if self.restricted else "fock_" + s]
            n = self.size["o"][SPINS[s]]
            for c, part in (("o", slice(None, n)), ("v", slice(n, None))):
                box = self._box(c, s)[0]
                energies[c][box], rotation[c][box, box] = np.linalg.eigh(fock[part, part])
        self.eps_o, self.eps_v = energies["o"], energies["v"]
        for name, classes in (("t1", "ov"), ("f_ov", "ov"), ("t2", "oovv"), ("ovvv", "ovvv"), ("ovoo", "ovoo"),
                              ("ovov", "ovov")):
            array = getattr(self, name)
            for axis, c in enumerate(classes):
                array = np.moveaxis(np.tensordot(array, rotation[c], (axis, 0)), -1, axis)
            setattr(self, name, array)

    def correlation_energy(self):
        tau = self.t2 + 2.0 * np.einsum("ia,jb->ijab", self.t1, self.t1)
        direct = 0.5 * np.einsum("ijab,iajb", tau, self.ovov)
        return np.einsum("ia,ia", self.f_ov, self.t1) + 0.5 * direct - 0.25 * np.einsum("ijab,ibja", tau, self.ovov)


class Triples:
    """D and S of one triple i, j, k of spin orbitals, for all a, b, c."""

    def __init__(self, orbitals, f_ov):
        self.x = orbitals
        self.eibc = np.ascontiguousarray(orbitals.ovvv.transpose(0, 2, 3, 1) - orbitals.ovvv.transpose(0, 2, 1, 3))
        self.majk = orbitals.ovoo.transpose(2, 1, 3, 0) - orbitals.ovoo.transpose(2, 1, 0, 3)
        self.jkbc = orbitals.ovov.transpose(0, 2, 1, 3) - orbitals.ovov.transpose(0, 2, 3, 1)
        self.f_ov = orbitals.f_ov if f_ov else None

    @staticmethod
    def _antisymmetrised(term, i, j, k):
        """P(i/jk) P(a/bc): the index i and a of `term(i, j, k)[a, b, c]` alone, the other two already antisymmetric."""
        x = term(i, j, k) - term(j, i, k) - term(k, j, i)
        return x - x.transpose(1, 0, 2) - x.transpose(2, 1, 0)

    def doubles(self, i, j, k):
        def term(i, j, k):  # sum_e t_jk^ae <ei||bc> - sum_m t_im^bc <ma||jk>
            particle = np.tensordot(self.x.t2[j, k], self.eibc[i], (1, 0))
            hole = np.tensordot(self.majk[:, :, j, k], self.x.t2[i], (0, 0))
            return particle - hole
        return self._antisymmetrised(term, i, j, k)

    def singles(self, i, j, k):
        def term(i, j, k):  # t_i^a <jk||bc>, and f_ia t_jk^bc for orbitals that are not canonical
            x = np.multiply.outer(self.x.t1[i], self.jkbc[j, k])
            return x if self.f_ov is None else x + np.multiply.outer(self.f_ov[i], self.x.t2[j, k])
        return self._antisymmetrised(term, i, j, k)


def spin_orbital_energies(filename, left=None, omega2=0.0, semicanonical=False):
    """E[T] and E(T) = sum D_left D_right, (D_left + S_left) D_right over Delta - 3 omega2.

    S has the term f_ov t2 if the dump says so, and after `semicanonical` has rotated the orbitals.
    """
    dump = read(filename)
    right = SpinOrbitals(dump)
    other = SpinOrbitals(dump, read(left)) if left else right
    if semicanonical:
        for side in {id(right): right, id(other): other}.values():
            side.semicanonicalise(dump)
    f_ov = semicanonical or bool(dump["attributes"].get("fock_in_triples", 0))
    ket = Triples(right, f_ov)
    bra = Triples(other, f_ov) if left else ket
    eps_abc = right.eps_v[:, None, None] + right.eps_v[:, None] + right.eps_v
    brackets = parentheses = 0.0
    for i, j, k in itertools.combinations(range(len(right.eps_o)), 3):
        d_right = ket.doubles(i, j, k)
        d_left = bra.doubles(i, j, k) if left else d_right
        weighted = d_right / (right.eps_o[[i, j, k]].sum() - eps_abc - 3.0 * omega2)
        brackets += np.vdot(d_left, weighted) / 6.0
        parentheses += np.vdot(bra.singles(i, j, k), weighted) / 6.0
    return {"E[T]": float(brackets), "E(T)": float(brackets + parentheses)}


def closed_shell_energies(filename, left=None, omega2=0.0):
    """The same for an RHF dump in spatial orbitals."""
    dump = read(filename)
    bra = read(left) if left else dump
    eps_o, eps_v = dump["eps_occ"], dump["eps_vir"]
    vvov = np.ascontiguousarray(dump["ovvv"].transpose(2, 3, 0, 1))  # (bd|ia), read as [b,d,i,a]
    eps_abc = eps_v[:, None, None] + eps_v[:, None] + eps_v

    def w(t2, ijk):
        total = 0.0
        for p in itertools.permutations(range(3)):
            i, j, k = (ijk[x] for x in p)
            term = np.tensordot(vvov[:, :, i, :], t2[k, j], (1, 1)).transpose(1, 0, 2)  # sum_d (bd|ai) t_kj^cd: [a,b,c]
            term = term - np.tensordot(dump["ovoo"][i, :, j, :], t2[:, k], (1, 0))  # sum_l (ai|jl) t_lk^bc
            total = total + term.transpose(np.argsort(p))
        return total

    def outer(x, y, ijk):  # x_i^a y_jk^bc and the two others like it: [a,b,c]
        i, j, k = ijk
        return (np.multiply.outer(x[i], y[j, k]) + np.multiply.outer(x[j], y[i, k]).transpose(1, 0, 2)
                + np.multiply.outer(x[k], y[i, j]).transpose(1, 2, 0))

    def v(amplitudes, ijk):
        total = outer(amplitudes["t1"], dump["ovov"].transpose(0, 2, 1, 3), ijk)
        if dump["attributes"].get("fock_in_triples", 0):
            total = total + outer(dump["fock"][:len(eps_o), len(eps_o):], amplitudes["t2"], ijk)
        return total

    brackets = parentheses = 0.0
    for ijk in itertools.product(range(len(eps_o)), repeat=3):
        if ijk[0] < ijk[1] or ijk[1] < ijk[2]:
            continue
        weight = {1: 1, 2: 3, 3: 6}[len(set(ijk))] / 3.0
        right = w(dump["t2"], ijk)
        doubles = w(bra["t2"], ijk) if left else right
        singles = v(bra, ijk)
        right = right / (eps_o[list(ijk)].sum() - eps_abc - 3.0 * omega2)
        # The published kernel sums to this one over all orders of (ia), (jb), (kc); so i>=j>=k is enough.
        right = (4.0 * right + right.transpose(1, 2, 0) + right.transpose(2, 0, 1) - 2.0 * right.transpose(0, 2, 1)
                 - 2.0 * right.transpose(1, 0, 2) - 2.0 * right.transpose(2, 1, 0))
        brackets += weight * np.vdot(doubles, right)
        parentheses += weight * np.vdot(singles, right)
    return {"E[T]": float(brackets), "E(T)": float(brackets + parentheses)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump")
    parser.add_argument("--left")
    parser.add_argument("--omega2", type=float, default=0.0)
    parser.add_argument("--semicanonical", action="store_true")
    options = parser.parse_args()
    energies = spin_orbital_energies(options.dump, options.left, options.omega2, options.semicanonical)
    for name, value in energies.items():
        print(f"{name} = {value:.14f}")


if __name__ == "__main__":
    main()
