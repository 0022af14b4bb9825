#!/usr/bin/env python3
"""Dumps keep what they state about their arrays: in trifuse.triples(**dump), in trifuse.write_dump(**dump), and as left ones."""

import os
import pathlib
import subprocess
import sys
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "1")

import h5py
import numpy as np

import trifuse
from temporary_folder import FolderTest

DATA = pathlib.Path(os.environ["TRIFUSE_TEST_DATA"])
DUMPS = DATA.parent / "pyscf" / "data"


class Facts(FolderTest):
    def test_arrays_of_a_dump_give_its_energy(self):
        moments = DATA / "dumps" / "hf_160_631g_rhf_moments"  # with the arrays for dressed moments and their witness
        for name in ("ch2_631g_rohf", "oh_631g_uhf", "h2o_631g_rhf_c2v", moments):
            with self.subTest(name):
                expected = trifuse.run(DUMPS / f"{name}.h5")
                self.assertEqual("doubles equation" in [check.name for check in expected.checks], name == moments)
                with trifuse.Dump(DUMPS / f"{name}.h5") as dump:
                    found = trifuse.triples(**dump)
                    loaded = trifuse.triples(**dump.facts, **{array: dump[array][()] for array in dump})
                    stated = trifuse.triples(**{**dump, "fock_in_triples": True})
                self.assertEqual(abs(float(stated) - float(expected)) > 1e-7, name == "ch2_631g_rohf")
                for result in (found, loaded):
                    self.assertAlmostEqual(float(result), float(expected), delta=1e-15)
                    self.assertAlmostEqual(result.e_tot, expected.e_tot, delta=1e-12)
                    self.assertEqual([each for each in result.warnings if "only weakly" not in each], list(expected.warnings))
                    self.assertEqual([check.status for check in result.checks], [check.status for check in expected.checks])

    def test_files_that_are_no_dumps(self):
        """The sentences are our own, without the text of h5py."""
        whole = (DUMPS / "h2o_631g_rhf.h5").read_bytes()
        for name, content, words in (
                ("absent.h5", None, "this file does not exist; check the name"), ("", None, "this is a directory; name the dump"),
                ("notes.txt", b"t1 = 0", "this is not an HDF5 file"), ("empty.h5", b"", "this is not an HDF5 file"),
                ("cut.h5", whole[:20000], "this HDF5 file is truncated or damaged"),
                ("damaged.h5", whole[:96] + bytes(200) + whole[296:], "this HDF5 file is truncated or damaged")):
            with self.subTest(name):
                if content is not None:
                    pathlib.Path(self.path(name)).write_bytes(content)
                with self.assertRaisesRegex(trifuse.InputError, rf"{words}.*\.$") as caught:
                    trifuse.Dump(self.path(name))
                self.assertNotRegex(str(caught.exception), "nable to|errno")

    def test_a_file_that_another_program_writes(self):
        with h5py.File(self.path("open.h5"), "w"):
            script = "import sys, trifuse; trifuse.Dump(sys.argv[1])"
            done = subprocess.run([sys.executable, "-c", script, self.path("open.h5")], capture_output=True, text=True)
        self.assertIn("another program has locked this file", done.stderr)

    def test_nwchems_rohf(self):
        """NWChem's same-spin integrals are antisymmetrised, and its (T) has no term of the Fock matrix."""
        files = DATA / "nwchem" / "ch2_631g_c2v_rohf_t3_2eorb"
        done = subprocess.run([os.environ["TRIFUSE"], "convert", files, self.path()], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with trifuse.Dump(self.path()) as dump:
            self.assertEqual(dump.facts["reference"], "ROHF")
            self.assertAlmostEqual(float(trifuse.triples(**dump)), float(trifuse.run(self.path())), delta=1e-15)

    def test_left_arrays_of_a_dump(self):
        right = DUMPS / "h2o_631g_rhf.h5"
        for name, kind in (("h2o_631g_left_0.1", "Reg-CCSD(T)"), ("h2o_631g_lambda", "Lambda-CCSD(T)")):
            expected = trifuse.run(right, left=DUMPS / f"{name}.h5")
            with trifuse.Dump(right) as dump, trifuse.Dump(DUMPS / f"{name}.h5") as left:
                found = trifuse.triples(**dump, left=left)
            self.assertEqual((found.method, expected.method), (kind, kind))
            self.assertEqual(found.energies[0].omega2, expected.energies[0].omega2)
            self.assertAlmostEqual(float(found), float(expected), delta=1e-15)

    def test_copies_state_the_same(self):
        for name in ("ch2_631g_rohf", "h2o_631g_left_0.1", "h2o_631g_lambda"):
            with trifuse.Dump(DUMPS / f"{name}.h5") as dump:
                trifuse.write_dump(self.path(name), **dump, convergence=1e-9)
                with trifuse.Dump(self.path(name)) as copy:
                    for own in ("program", "seal_block", "minor_version"):
                        dump.attributes.pop(own, None), copy.attributes.pop(own, None)
                    self.assertEqual(copy.attributes, {**dump.attributes, "convergence": 1e-9})
                    self.assertEqual(copy.facts, {**dump.facts, "convergence": 1e-9})

    def test_other_amplitudes_are_not_those_of_the_dump(self):
        """The facts about the amplitudes belong to the arrays t1 and t2 of the dump."""
        with trifuse.Dump(DUMPS / "h2o_631g_left_0.1.h5") as dump:
            trifuse.write_dump(self.path(), **{**dump, "t2": dump["t2"][()]})
            with trifuse.Dump(self.path()) as copy:
                self.assertEqual((copy.kind, copy.attributes.get("correlation_energy")), ("ccsd", None))
            trifuse.write_dump(self.path("reg.h5"), kind="reg-ccsd", omega2=0.2, **dump)
            with trifuse.Dump(self.path("reg.h5")) as copy:
                self.assertEqual(copy.facts["kind_omega2"], 0.2)

    def test_fock_in_triples_is_written_if_it_is_stated(self):
        with trifuse.Dump(DUMPS / "h2o_631g_rhf.h5") as dump:
            arrays = {name: dump[name][()] for name in dump}
        for stated in (None, False, True):
            trifuse.write_dump(self.path(), fock_in_triples=stated, **arrays)
            with trifuse.Dump(self.path()) as dump:
                self.assertEqual(dump.facts.get("fock_in_triples"), stated)

    def test_a_full_disk_is_told(self):
        script = ("import resource, signal, sys, numpy as np, trifuse\n"
                  "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                  "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n"
                  "try:\n    trifuse.write_dump(sys.argv[1], t1=np.ones((9, 9)), t2=np.ones((9, 9, 30, 30)))\n"
                  "except trifuse.ResourceError as error:\n    print(error)\n")
        done = subprocess.run([sys.executable, "-B", "-c", script, self.path()], capture_output=True, text=True)
        self.assertRegex(done.stdout, "dump.h5: this dump cannot be written .File too large.; see whether the disk is full")
        self.assertEqual((os.listdir(self.folder), done.stderr, done.returncode), ([], "", 0))

    def test_factors(self):
        rng = np.random.default_rng(1)
        o, v, naux = 2, 3, 7
        oo, vv = rng.normal(size=(naux, o, o)), rng.normal(size=(naux, v, v))
        factors = dict(factors_oo=oo + oo.transpose(0, 2, 1), factors_ov=rng.normal(size=(naux, o, v)),
                       factors_vv=vv + vv.transpose(0, 2, 1))
        others = dict(eps_occ=[-2.0, -1.0], eps_vir=[1.0, 2.0, 3.0], t1=np.zeros((o, v)), t2=np.zeros((o, o, v, v)))
        trifuse.write_dump(self.path(), auxiliary_basis="made-up", **factors, **others)
        with self.assertWarns(trifuse.InputWarning):
            result = trifuse.run(self.path(), check=False)
        self.assertEqual(float(result), 0.0)
        with trifuse.Dump(self.path()) as dump:
            trifuse.write_dump(self.path("copy.h5"), **dump)
        with h5py.File(self.path("copy.h5")) as file:
            self.assertEqual((file.attrs["version"], file.attrs["factorization"], file.attrs["auxiliary_basis"]),
                             (2, b"density-fitting", b"made-up"))
        with self.assertRaisesRegex(trifuse.UsageError, "density-fitting or cholesky"):
            trifuse.write_dump(self.path(), factorization="qr", **factors, **others)


if __name__ == "__main__":
    unittest.main()
