#!/usr/bin/env python3
"""Mistakes in calls of the package. Each one gives an exception of the package whose sentence names the cause."""

import copy
import os
import tempfile
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "1")

import h5py
import numpy as np
import pyscf.cc
from pyscf import scf

import trifuse
import trifuse.pyscf
from molecules import hydroxyl, mean_field, restricted_arrays, solved, water

OBJECTS = {}


def setUpModule():
    OBJECTS.update(rhf=water(), uhf=hydroxyl())
    OBJECTS.update(arrays=restricted_arrays(OBJECTS["rhf"]), rhf_eris=OBJECTS["rhf"].ao2mo(), uhf_eris=OBJECTS["uhf"].ao2mo())


def changed(name, **members):
    """A copy of a solved object with other members."""
    cc = copy.copy(OBJECTS[name])
    cc.__dict__.update(members)
    return cc


def of_object(name, **arguments):
    """The triples of a solved object with its integrals."""
    return trifuse.pyscf.ccsd_t(OBJECTS[name], **{"eris": OBJECTS[name + "_eris"], **arguments})


def of_arrays(**changes):
    return trifuse.triples(**{**OBJECTS["arrays"], **changes})


class Boxes:
    """An array that is not in memory, and delivers changed boxes."""

    def __init__(self, values, change):
        self.values, self.change, self.shape = values, change, values.shape

    def __getitem__(self, box):
        return self.change(self.values[box])


def mistakes_with_arrays():
    """Names of mistakes, calls, and words of their sentences."""
    arrays = OBJECTS["arrays"]
    t1, t2 = arrays["t1"], arrays["t2"]
    yield from ((f"{name}={value!r}", lambda name=name, value=value: of_arrays(**{name: value}), f"{name} is .*must be")
                for name, value in (
        ("omega2", "x"), ("omega2", [0.0, None]), ("omega2", 1j), ("threads", "two"), ("threads", 2.5), ("threads", 10**30),
        ("memory", "8 gigabytes"), ("memory", "GiB"), ("memory", [1]), ("tile_size", "20"), ("gpus", "0"), ("gpus", [0.5]),
        ("gpus", [2**40]), ("target_error", "small"), ("check", "no"), ("check", t1), ("trust_input", 2), ("progress", "bar"),
        ("device", ["cpu"]), ("form", None), ("precision", 64), ("reference", 5), ("reference", ["RHF"]),
        ("correlation_energy", "low"), ("scf_energy", [1.0, 2.0]), ("fock_in_triples", "yes"), ("convergence", "tight"),
        ("left", t1), ("journal", 5)))
    yield "kind", lambda: of_arrays(kind="CCSD"), "amplitudes are 'CCSD', but"
    yield "kind of the left", lambda: of_arrays(left=dict(t1=t1, t2=t2), left_kind=1), "amplitudes are 1, but"
    yield "omega2 of the left", lambda: of_arrays(left=dict(t1=t1, t2=t2), left_kind="reg-ccsd", left_omega2="x"), "omega2 is 'x'"
    yield "omega2 without kind", lambda: of_arrays(left=dict(t1=t1, t2=t2), left_omega2=0.1), "pass left_kind=\"reg-ccsd\""
    yield "kind without omega2", lambda: of_arrays(left=dict(t1=t1, t2=t2), left_kind="reg-ccsd"), "pass left_omega2="
    yield "omega2 of the right", lambda: of_arrays(kind_omega2=0.1), "pass kind=\"reg-ccsd\", or no kind_omega2"
    yield "name that is no text", lambda: of_arrays(left={1: t1}), "not the name of an array"
    yield "lists of different lengths", lambda: of_arrays(t1=[[0.0], [0.0, 1.0]]), "t1 is no array of numbers"
    yield "text", lambda: of_arrays(t2="t2.npy"), "t2 must be an array of numbers"
    yield "dictionary", lambda: of_arrays(ovov={"a": 1}), "ovov must be an array of numbers"
    yield "kind of a left that is not there", lambda: of_arrays(left_kind="lambda"), "left is not given"
    yield "omega2 of a left that is not there", lambda: of_arrays(left_omega2=0.1), "left is not given"
    yield "masked", lambda: of_arrays(t2=np.ma.array(t2, mask=t2 > 0)), "t2 has masked elements"
    yield "boxes of another shape", lambda: of_arrays(ovvv=Boxes(arrays["ovvv"], lambda box: box[:1]), check=False), "ovvv.* the shape"
    yield "boxes that are numbers", lambda: of_arrays(ovvv=Boxes(arrays["ovvv"], lambda box: 0.0), check=False), "ovvv.* the shape"
    yield "complex", lambda: of_arrays(t2=t2 * (1 + 1e-3j)), "t2 is complex"
    yield "NUL in a path", lambda: of_arrays(journal="a\0b"), "journal is .* no NUL"
    yield "path that is none", lambda: trifuse.run(None), "path is None"
    yield "number for a path", lambda: trifuse.run(3.5), "path is 3.5"
    yield "left path that is none", lambda: trifuse.run("x.h5", left=t1), "left is"
    yield "dump of nothing", lambda: trifuse.Dump(None), "path is None"
    yield "dump to nothing", lambda: trifuse.write_dump(None, **arrays), "path is None"
    yield "molecules that are one path", lambda: trifuse.triples_many("a.h5"), "must be a list of molecules"
    yield "molecules that are one mapping", lambda: trifuse.triples_many(arrays), "must be a list of molecules"
    yield "molecules that are a number", lambda: trifuse.triples_many(5), "must be a list of molecules"
    yield "workers", lambda: trifuse.triples_many([arrays], workers="two"), "workers is 'two'"
    yield "plan of a number", lambda: trifuse.plan(5), "path is 5"
    yield "plan with an assumption that is a list", lambda: trifuse.plan(occupied=2, virtual=4, assume=[1]), "assume is .1."
    yield "plan with an assumption that is text", lambda: trifuse.plan(occupied=2, virtual=4, assume={"network": "x"}), "network is 'x'"
    yield "plan with NUL", lambda: trifuse.plan(occupied=2, virtual=4, form="a\0"), "form is .* without NUL"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "d.h5")
        yield "number for an array", lambda: trifuse.write_dump(path, **{**arrays, "t1": 5.0}), "t1 is a single number"
        yield "reg-ccsd without omega2", lambda: trifuse.write_dump(path, kind="reg-ccsd", **arrays), "pass omega2="
        yield "omega2 of ccsd", lambda: trifuse.write_dump(path, omega2=0.1, **arrays), "belongs to reg-ccsd"
        yield "factors and integrals", lambda: trifuse.write_dump(path, factors_ov=np.zeros((3, 5, 8)), **arrays), "only one of them"
        yield "missing folder", lambda: trifuse.write_dump(os.path.join(folder, "no", "d.h5"), **arrays), "make it, or name another"
        trifuse.write_dump(path, **arrays)
        with trifuse.Dump(path) as dump, h5py.File(path) as file:
            closed = {name: dump[name] for name in dump}
            others = {name: file[name] for name in dump}
        yield "closed dump", lambda: trifuse.triples(**dump), "this dump is closed"
        yield "array of a closed dump", lambda: dump["t2"], "this dump is closed"
        yield "size of a closed dump", lambda: len(dump), "this dump is closed"
        yield "datasets of a closed dump", lambda: trifuse.triples(**closed), "file that is closed"
        yield "datasets of a closed file", lambda: trifuse.triples(**others), "file that is closed"
        yield "dump of closed datasets", lambda: trifuse.write_dump(path, **closed), "file that is closed"


def mistakes_with_objects():
    rhf, uhf = OBJECTS["rhf"], OBJECTS["uhf"]
    yield "frozen set afterwards", lambda: trifuse.pyscf.ccsd_t(changed("rhf", frozen=1)), "call kernel.. of the CCSD object again"
    yield "frozen list of UCCSD", lambda: trifuse.pyscf.ccsd_t(changed("uhf", frozen=[[0], [0]])), "call kernel.. of the CCSD"
    yield "frozen that do not exist", lambda: trifuse.pyscf.ccsd_t(changed("rhf", frozen=[0, 99])), "frozen is .0, 99."
    yield "all frozen", lambda: trifuse.pyscf.ccsd_t(changed("rhf", frozen=5)), "frozen is 5"
    yield "frozen text", lambda: trifuse.pyscf.ccsd_t(changed("rhf", frozen="1s")), "frozen is 1s"
    yield "t1 and t2 exchanged", lambda: of_object("rhf", t1=rhf.t2, t2=rhf.t1), "the singles first"
    yield "spins exchanged", lambda: of_object("uhf", t1=uhf.t1[::-1]), "alpha before beta"
    yield "spins of t2 exchanged", lambda: of_object("uhf", t2=uhf.t2[::-1]), "alpha before beta"
    yield "one spin", lambda: of_object("uhf", t1=uhf.t1[0]), "UCCSD are 2 arrays"
    yield "two of three spins", lambda: of_object("uhf", t2=uhf.t2[:2]), "UCCSD are 3 arrays"
    yield "amplitudes of UCCSD", lambda: of_object("rhf", t1=uhf.t1, t2=uhf.t2), "t1 (is no array|has the shape)"
    yield "t2 of text", lambda: of_object("rhf", t2="t2"), "t2 must be an array of numbers"
    yield "complex t1", lambda: of_object("rhf", t1=rhf.t1 + 1e-3j), "t1 is complex"
    yield "integrals of the other class", lambda: of_object("rhf", eris=OBJECTS["uhf_eris"]), "ao2mo.. of this object"
    yield "integrals of RCCSD", lambda: of_object("uhf", eris=OBJECTS["rhf_eris"]), "ao2mo.. of this object"
    yield "integrals that are text", lambda: of_object("rhf", eris="eris"), "eris has no fock"
    yield "integrals that are an array", lambda: of_object("rhf", eris=rhf.t2), "eris has no fock"
    yield "no object", lambda: trifuse.pyscf.ccsd_t(None), "not a PySCF coupled-cluster object"
    yield "mean field", lambda: trifuse.pyscf.ccsd_t(rhf._scf), "not a PySCF coupled-cluster object"
    yield "no amplitudes", lambda: trifuse.pyscf.ccsd_t(pyscf.cc.CCSD(rhf._scf)), "call cc.kernel"
    yield "no orbitals", lambda: trifuse.pyscf.ccsd_t(changed("rhf", mo_coeff=None)), "no orbitals yet"
    yield "complex orbitals", lambda: trifuse.pyscf.ccsd_t(changed("rhf", mo_coeff=rhf.mo_coeff * 1j)), "complex"
    yield "CC2", lambda: trifuse.pyscf.ccsd_t(changed("rhf", cc2=True)), "CC2 amplitudes"
    yield "memory", lambda: of_object("rhf", memory="much"), "memory is .much.; it must be an amount of memory"
    yield "omega2", lambda: of_object("rhf", omega2="x"), "omega2 is 'x'"
    yield "verbose", lambda: of_object("rhf", verbose="loud"), "verbose is 'loud'"
    yield "allow_unconverged", lambda: of_object("rhf", allow_unconverged="yes"), "allow_unconverged is 'yes'"
    yield "left", lambda: of_object("rhf", left=5), "not a PySCF coupled-cluster object"
    yield "omega2 of regularised amplitudes", lambda: trifuse.pyscf.solve_regularized_ccsd(rhf, "x"), "omega2 is 'x'"
    yield "regularised amplitudes of None", lambda: trifuse.pyscf.solve_regularized_ccsd(None, 0.1), "not a PySCF object"


class Mistakes(unittest.TestCase):
    def test_each_one_has_a_sentence(self):
        count = 0
        for cases in (mistakes_with_arrays(), mistakes_with_objects()):
            for name, call, words in cases:
                count += 1
                with self.subTest(name):
                    with self.assertRaisesRegex(trifuse.Error, words) as caught:
                        call()
                    self.assertRegex(str(caught.exception), r"\.$")
        self.assertGreaterEqual(count, 60)

    def test_equal_numbers_of_other_types_are_accepted(self):
        arrays, rhf = OBJECTS["arrays"], OBJECTS["rhf"]
        expected = float(of_arrays())
        for same in (dict(memory="1.5G"), dict(memory=2.0**30), dict(threads=np.int64(1)), dict(omega2=[0]), dict(check=np.True_),
                     dict(t2=arrays["t2"] + 0j), dict(omega2=np.zeros(1)), dict(correlation_energy=rhf.e_corr + 0j),
                     dict(trust_input=0), dict(reference="rhf"), dict(progress=False)):
            with self.subTest(same.keys()):
                self.assertEqual(float(of_arrays(**same)), expected)
        expected = of_object("rhf")
        for same in (dict(t1=rhf.t1 + 0j, t2=rhf.t2 + 0j), dict(t1=rhf.t1.tolist()), dict(memory="64MiB")):
            with self.subTest(same.keys()):
                self.assertEqual(of_object("rhf", **same), expected)
        self.assertAlmostEqual(trifuse.pyscf.ccsd_t(changed("rhf", mo_coeff=rhf.mo_coeff + 0j)), expected, delta=1e-12)

    def test_many_molecules_survive_every_exception(self):
        class Broken:
            shape = np.shape(OBJECTS["arrays"]["ovvv"])

            def __getitem__(self, box):
                raise ZeroDivisionError("in the reader")

        arrays = OBJECTS["arrays"]
        results = trifuse.triples_many([arrays, {**arrays, "ovvv": Broken()}, "no.h5", None, {1: 2}, {**arrays, "t1": "x"}, arrays],
                                       return_errors=True, workers=2, device="cpu")
        self.assertEqual(float(results[0]), float(results[-1]))
        for n, words in enumerate(("in the reader", "no.h5", "None", "name of an argument", "t1"), 1):
            self.assertIsInstance(results[n], trifuse.Error)
            self.assertRegex(str(results[n]), rf"^molecules\[{n}\].*{words}")
        with self.assertRaises(ZeroDivisionError):
            trifuse.triples_many([{**arrays, "ovvv": Broken()}])
        with self.assertRaisesRegex(trifuse.Error, r"^molecules\[1\], 'no.h5': "):
            trifuse.triples_many([arrays, "no.h5"])

    def test_a_failed_check_names_the_causes_with_pyscf(self):
        other = solved(pyscf.cc.CCSD(mean_field(scf.RHF, "O 0 0 0; H 0 0.757 0.6; H 0 -0.757 0.6")))
        with self.assertRaisesRegex(trifuse.InputError, "used other integrals than these eris"):
            of_object("rhf", eris=other.ao2mo())
        with self.assertRaisesRegex(trifuse.InputError, "for example of CC2"):
            of_object("rhf", t1=other.t1, t2=other.t2)


class Forks(unittest.TestCase):
    def outcome(self, options):
        """What a forked process says about a calculation: its energy or the exception."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                said = repr(float(of_arrays(**options)))
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            os.write(writing, said.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            said = pipe.read()
        os.waitpid(pid, 0)
        return said

    def test_a_child_of_a_process_that_has_computed_says_what_to_do(self):
        of_arrays()
        for options in ({}, {"threads": 1}, {"check": False}):
            self.assertRegex(self.outcome(options), "^ResourceError: .*\"spawn\"")
        self.assertLess(float(of_arrays()), -1e-4)


if __name__ == "__main__":
    unittest.main()
