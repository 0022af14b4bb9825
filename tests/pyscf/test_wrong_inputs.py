#!/usr/bin/env python3
"""Mistakes that people make when they write dumps. Each mistake must give an error of one sentence, or a warning.

    python3 test_wrong_inputs.py --trifuse build/release/drivers/trifuse [unittest options]

The arrays stay finite, of the right shape and, where that can be, of the symmetry that the format claims.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "1")

import h5py
import numpy as np
import pyscf.cc
from pyscf import gto, scf

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "drivers")]

import pyscf_export

TRIFUSE = None
HARTREE_IN_EV = 27.211386
MOLECULES = {
    "rhf": (scf.RHF, dict(atom="O 0 0 0; H 0 0.757 0.587; H 0.2 -0.757 0.587", basis="6-31g")),
    "uhf": (scf.UHF, dict(atom="C 0 0 0; H 0 0.99 0.43; H 0.3 -0.99 0.43", basis="6-31g", spin=2)),
}
KINDS = []


def kind(*references):
    """Registers a mistake, which changes the arrays of a dump (a dictionary), for these references (default: all)."""
    def register(change):
        KINDS.extend((reference, change) for reference in references or MOLECULES)
        return change
    return register


def of_class(dump, stem):
    return [name for name in dump if name == stem or name.startswith(stem + "_")]


def scaled(stem, factor):
    def change(dump):
        for name in of_class(dump, stem):
            dump[name] = factor * dump[name]
    change.__name__ = f"{stem} times {factor}"
    kind()(change)


for stem in ("t1", "t2", "ovvv", "ovoo", "ovov"):
    for factor in (-1.0, 2.0, 0.0):
        scaled(stem, factor)
scaled("oovv", -1.0)
scaled("oovv", 0.0)
scaled("eps_occ", HARTREE_IN_EV)
scaled("eps_vir", HARTREE_IN_EV)


def one_element(name, value, *references):
    def change(dump):
        array = dump[name]
        array[(0, 0, *(n - 1 for n in array.shape[2:]))] = value
    change.__name__ = f"one diagonal element of {name} is {value:g}"
    kind(*references)(change)


one_element("ovvv", 1000.0, "rhf")
one_element("ovoo", 1001.0, "rhf")
one_element("ovvv_aabb", 1000.0, "uhf")
one_element("ovoo_bbaa", 1001.0, "uhf")
one_element("ovvv", 1.0, "rhf")


def sign_of(name):
    def change(dump):
        dump[name] = -dump[name]
    change.__name__ = f"sign of {name}"
    kind("uhf")(change)


for name in ("t1_b", "ovvv_aaaa", "ovvv_aabb", "ovvv_bbaa", "ovvv_bbbb", "ovoo_aaaa", "ovoo_aabb", "ovoo_bbaa"):
    sign_of(name)


@kind()
def energies_in_ev(dump):
    for name in dump:
        if name.startswith("eps"):
            dump[name] = HARTREE_IN_EV * dump[name]


@kind()
def energies_reversed(dump):
    for name in dump:
        if name.startswith("eps"):
            dump[name] = dump[name][::-1]


@kind()
def energies_and_fock_in_ev(dump):
    for name in dump:
        if name.startswith(("eps", "fock")):
            dump[name] = HARTREE_IN_EV * dump[name]


@kind()
def an_energy_of_1e307(dump):
    dump[of_class(dump, "eps_vir")[0]][-1] = 1e307


@kind("uhf")
def fock_matrices_exchanged(dump):
    # Of the sizes that the other spin has, so that shapes agree.
    dump["fock_a"], dump["fock_b"] = dump["fock_b"].copy(), dump["fock_a"].copy()


@kind()
def ovvv_of_another_orbital_order(dump):
    for name in of_class(dump, "ovvv"):
        dump[name] = dump[name][::-1]


@kind()
def ovoo_of_another_orbital_order(dump):
    for name in of_class(dump, "ovoo"):
        dump[name] = dump[name][:, ::-1]


@kind()
def virtual_orbitals_of_t1_in_another_order(dump):
    for name in of_class(dump, "t1"):
        dump[name] = dump[name][:, ::-1]


@kind()
def ovvv_partly_not_written(dump):
    for name in of_class(dump, "ovvv"):
        dump[name][-1] = 0.0


@kind()
def ovoo_partly_not_written(dump):
    for name in of_class(dump, "ovoo"):
        dump[name][-1] = 0.0


@kind()
def phase_of_one_orbital_in_ovoo(dump):
    for name in of_class(dump, "ovoo"):
        dump[name][:, 0] *= -1.0


@kind("rhf")
def antisymmetrised_t2(dump):
    dump["t2"] = dump["t2"] - dump["t2"].transpose(1, 0, 2, 3)


@kind("rhf")
def t2_twice_less_exchanged(dump):
    dump["t2"] = 2.0 * dump["t2"] - dump["t2"].transpose(1, 0, 2, 3)


@kind("rhf")
def exchange_integrals_for_direct_ones(dump):
    dump["ovov"] = dump["ovov"].transpose(0, 3, 2, 1)


@kind("rhf")
def ovvv_averaged_with_its_exchange(dump):
    ovvv = dump["ovvv"]
    mixed = (ovvv + ovvv.transpose(0, 2, 1, 3) + ovvv.transpose(0, 3, 2, 1)) / 3.0
    dump["ovvv"] = mixed


@kind("uhf")
def spins_of_ovvv_exchanged(dump):
    a, b = dump["ovvv_aaaa"].shape, dump["ovvv_bbbb"].shape
    o, v = min(a[0], b[0]), min(a[1], b[1])
    part = dump["ovvv_aaaa"][:o, :v, :v, :v].copy()
    dump["ovvv_aaaa"][:o, :v, :v, :v] = dump["ovvv_bbbb"][:o, :v, :v, :v]
    dump["ovvv_bbbb"][:o, :v, :v, :v] = part


@kind()
def amplitudes_of_first_order(dump):
    for name in of_class(dump, "t1"):
        dump[name] = 0.5 * dump[name]


@kind()
def noise_of_a_percent_in_ovvv(dump):
    for name in of_class(dump, "ovvv"):
        array = dump[name]
        noise = 1.0 + 0.01 * np.cos(np.arange(array.size)).reshape(array.shape)
        dump[name] = array * 0.5 * (noise + noise.transpose(0, 1, 3, 2))


@kind()
def regularised_amplitudes_called_genuine(dump):
    dump[".left"] = True


class WrongInputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="trifuse_wrong_")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        for name, (reference, molecule) in MOLECULES.items():
            mf = reference(gto.M(verbose=0, **molecule)).set(conv_tol=1e-12, conv_tol_grad=1e-8).run()
            mycc = pyscf.cc.CCSD(mf).set(conv_tol=1e-11, conv_tol_normt=1e-9, max_cycle=200)
            eris = mycc.ao2mo()
            mycc.kernel(eris=eris)
            pyscf_export.write_dump(mycc, cls.path(name), eris=eris)
            left = pyscf_export.solve_regularized_ccsd(mycc, 0.1, eris=eris)
            pyscf_export.write_left_dump(left, cls.path(name + "_left"))

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name + ".h5")

    def info(self, path):
        report = self.path("report") + ".json"
        done = subprocess.run([TRIFUSE, "info", path, "--json", report], capture_output=True, text=True, timeout=300)
        document = None
        if done.returncode == 0:
            with open(report, encoding="utf-8") as file:
                document = json.load(file)
            os.remove(report)
        return done, document

    def changed(self, reference, change):
        """An unsealed copy of a dump with a mistake in it."""
        with h5py.File(self.path(reference)) as file:
            attributes = dict(file.attrs)
            dump = {name: file[name][()] for name in file if name != "seal"}
        change(dump)
        if dump.pop(".left", False):
            with h5py.File(self.path(reference + "_left")) as file:
                dump.update({name: file[name][()] for name in file if name.startswith(("t1", "t2"))})
            attributes.pop("correlation_energy")
        wrong = self.path("wrong")
        with h5py.File(wrong, "w", libver=("v110", "v110")) as file:
            for name, value in attributes.items():
                if name not in ("minor_version", "seal_block"):
                    file.attrs[name] = value
            for name, array in dump.items():
                file[name] = array
        return wrong

    def test_right_ones_are_accepted_without_a_warning(self):
        for reference in MOLECULES:
            for path in (self.path(reference), self.changed(reference, lambda dump: None)):
                with self.subTest(path=path):
                    done, document = self.info(path)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(document["warnings"], [])
                    self.assertEqual({check["status"] for check in document["checks"]}, {"passed"})

    def test_each_mistake_is_refused_with_one_sentence_or_told(self):
        refused, warned = [], []
        self.assertGreaterEqual(len({change.__name__ for _, change in KINDS}), 30)
        for reference, change in KINDS:
            with self.subTest(reference=reference, mistake=change.__name__):
                path = self.changed(reference, change)
                done, document = self.info(path)
                if done.returncode == 0:
                    self.assertNotEqual(document["warnings"], [], "accepted without a word")
                    warned.append(change.__name__)
                    continue
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(path, done.stderr)
                refused.append(change.__name__)
        print(f"{len(refused)} mistakes refused, {len(warned)} told of by a warning: {', '.join(warned)}", file=sys.stderr)


if __name__ == "__main__":
    if "--trifuse" in sys.argv:
        at = sys.argv.index("--trifuse")
        TRIFUSE = os.path.abspath(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    if TRIFUSE is None:
        sys.exit("Say which program to test: --trifuse PATH")
    unittest.main()
