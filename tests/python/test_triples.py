#!/usr/bin/env python3
"""trifuse.triples, trifuse.run, dumps, errors, progress and Ctrl-C, with arrays of PySCF and its (T)."""

import inspect
import os
import subprocess
import sys
import threading
import types
import unittest
import unittest.mock
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import h5py
import numpy as np

import trifuse
import trifuse.pyscf
from molecules import hydroxyl, restricted_arrays, unrestricted_arrays, water
from temporary_folder import FolderTest
from trifuse._calculation import Handles
from trifuse._library import library
from trifuse._options import Options, names_of

DATA = os.environ["TRIFUSE_TEST_DATA"]
TOLERANCE = 1e-10
USER_VARIABLES = set(os.environ)
CC = {}


def setUpModule():
    CC["rhf"], CC["uhf"] = water(), hydroxyl()
    CC["E"] = {name: CC[name].ccsd_t() for name in ("rhf", "uhf")}
    CC["arrays"] = {"rhf": restricted_arrays(CC["rhf"]), "uhf": unrestricted_arrays(CC["uhf"])}


class Case(FolderTest):
    def arrays(self, name="rhf", **changes):
        return {**CC["arrays"][name], **changes}

    def triples(self, name="rhf", **changes):
        stated = {"fock_in_triples": True, "correlation_energy": CC[name].e_corr}
        return trifuse.triples(**{**stated, **self.arrays(name, **changes)})

    def assert_energy(self, result, name="rhf"):
        self.assertLess(abs(float(result) - CC["E"][name]), TOLERANCE)


class Energies(Case):
    def test_restricted_and_unrestricted(self):
        for name in ("rhf", "uhf"):
            result = self.triples(name, correlation_energy=CC[name].e_corr, scf_energy=CC[name]._scf.e_tot)
            self.assert_energy(result, name)
            self.assertEqual(result.method, "CCSD(T)")
            self.assertLess(abs(result.e_ccsd - CC[name].e_corr), TOLERANCE)
            self.assertLess(abs(result.e_tot - CC[name].e_tot - CC["E"][name]), TOLERANCE)
            for n in (0, 1):
                total = (result.e_bracket_t, result.e_t)[n]
                self.assertLess(abs(sum(case[n] for case in result.spin_cases.values()) - total), 1e-14)
            self.assertIn("passed", {check.status for check in result.checks})
            self.assertNotIn("failed", {check.status for check in result.checks})
            self.assertEqual(result.to_dict()["energies"][0]["E(T)"], float(result))
            self.assertIn(f"{result.e_t:.15f}", str(result))
            self.assertIn("E(T)", repr(result))

    def test_mixed_precision(self):
        exact = self.triples(device="cpu", tile_size=2)
        self.assertEqual((exact.error_bar, exact.energies[0].uncorrected), (0.0, None))
        self.assertNotIn("error bars", str(exact))
        mixed = self.triples(device="cpu", tile_size=2, target_error=1e-8, precision="mixed")  # in any order
        self.assertNotEqual(float(mixed), float(exact))
        self.assertLess(abs(float(mixed) - float(exact)), 1e-8)
        self.assertTrue(0 < mixed.error_bar <= 1e-8)
        self.assertLess(abs(mixed.energies[0].uncorrected[1] - float(exact)), 6e-7 * abs(float(exact)))
        self.assertIn("error bars", str(mixed))
        for wrong, part in (({"precision": "single"}, "precision is \"single\"; it must be double or mixed"),
                            ({"target_error": 1e-6}, "A target error is for mixed precision"),
                            ({"precision": "mixed", "target_error": -1.0}, "more than 0 and at most 1")):
            with self.assertRaisesRegex(trifuse.UsageError, part):
                self.triples(device="cpu", **wrong)

    def test_layouts(self):
        """Every layout of the same numbers gives the same bits, and none is changed."""
        expected = float(self.triples())
        arrays = self.arrays()
        swapped = {name: np.asarray(values).astype(">f8") for name, values in arrays.items()}
        fortran = {name: np.asfortranarray(values) for name, values in arrays.items()}
        strided = {}
        for name, values in arrays.items():
            wide = np.full([2 * n for n in np.shape(values)], np.nan)
            strided[name] = wide[tuple(slice(None, None, 2) for _ in np.shape(values))]
            strided[name][...] = values
        backward = {name: np.ascontiguousarray(np.flip(values)) for name, values in arrays.items()}
        flipped = {name: np.flip(values) for name, values in backward.items()}
        unaligned = {}
        for name, values in arrays.items():
            raw = np.zeros(np.asarray(values).nbytes + 1, np.uint8)
            unaligned[name] = raw[1:].view(np.float64).reshape(np.shape(values))
            unaligned[name][...] = values
        for layout in (swapped, fortran, strided, flipped, unaligned):
            before = {name: np.array(values) for name, values in layout.items()}
            self.assertEqual(float(trifuse.triples(fock_in_triples=True, **layout)), expected)
            for name, values in layout.items():
                np.testing.assert_array_equal(values, before[name])

    def test_packed(self):
        ovvv = self.arrays()["ovvv"]
        b, c = np.tril_indices(ovvv.shape[2])
        self.assertEqual(float(self.triples(ovvv=np.ascontiguousarray(ovvv[:, :, b, c]))), float(self.triples()))

    def test_lists_and_single_precision(self):
        arrays = self.arrays()
        lists = {name: np.asarray(arrays[name]).tolist() for name in ("eps_occ", "t1", "ovoo")}
        self.assertEqual(float(self.triples(**lists)), float(self.triples()))
        single = {name: np.asarray(values, np.float32) for name, values in arrays.items()}
        self.assertLess(abs(float(trifuse.triples(fock_in_triples=True, trust_input=True, **single)) - CC["E"]["rhf"]), 1e-6)

    def test_no_copy(self):
        """Arrays are read in place, so read-only pages are enough."""
        arrays = {name: np.array(values) for name, values in self.arrays().items()}
        for values in arrays.values():
            values.flags.writeable = False
        self.assert_energy(trifuse.triples(fock_in_triples=True, **arrays))

    def test_datasets(self):
        """Arrays in an HDF5 file are read in boxes."""
        for name in ("rhf", "uhf"):
            with h5py.File(self.path(name), "w") as file:
                for array, values in self.arrays(name).items():
                    file[array] = values
            with h5py.File(self.path(name)) as file:
                self.assert_energy(trifuse.triples(fock_in_triples=True, **file), name)

    def test_arrays_of_a_gpu(self):
        """A library without CUDA gets a copy on the host."""
        class OnGpu:
            def __init__(self, values):
                self.values = np.asarray(values)
                self.__cuda_array_interface__ = {**self.values.__array_interface__, "data": (0, False), "version": 3}

            def get(self):
                return self.values

        if trifuse._library.library().has_cuda:
            self.skipTest("the pointers would be read")
        result = trifuse.triples(fock_in_triples=True, **{name: OnGpu(values) for name, values in self.arrays().items()})
        self.assert_energy(result)

    def test_tensors_with_gradients(self):
        """Those of torch give neither a pointer nor numbers before they are detached."""
        class Tensor:
            __module__ = "torch"

            def __init__(self, values, requires_grad=True):
                self.values, self.requires_grad = np.asarray(values), requires_grad

            @property
            def __cuda_array_interface__(self):
                if self.requires_grad:
                    raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")
                return {**self.values.__array_interface__, "data": (0, False), "version": 3}

            def is_neg(self):
                return False

            def detach(self):
                return Tensor(self.values, False)

            def cpu(self):
                assert not self.requires_grad
                return self.values

        with unittest.mock.patch.dict(sys.modules, {"torch": types.ModuleType("torch")}):
            result = trifuse.triples(fock_in_triples=True, **{name: Tensor(values) for name, values in self.arrays().items()})
        self.assert_energy(result)

    def test_omega2_and_left(self):
        several = self.triples(omega2=[0.0, 0.1])
        self.assertEqual([each.omega2 for each in several.energies], [0.0, 0.1])
        self.assert_energy(several)
        self.assertEqual(several.energies[1].e_t, float(self.triples(omega2=0.1)))
        l1, l2 = CC["rhf"].solve_lambda()
        of_lambda = self.triples(left={"t1": l1, "t2": l2}, left_kind="lambda")
        self.assertEqual(of_lambda.method, "Lambda-CCSD(T)")
        self.assertLess(abs(float(of_lambda) - trifuse.pyscf.ccsd_t(CC["rhf"], left="lambda")), TOLERANCE)
        self.assertIn("; this is 1 - cosine of l and t; <l t>/<t t> is 0.99", str(of_lambda))
        self.assertGreater(abs(float(of_lambda) - CC["E"]["rhf"]), 1e-6)
        with self.assertRaisesRegex(trifuse.InputError, r"state their kind\.$"):
            self.triples(left={"t1": l1, "t2": l2})
        with self.assertWarnsRegex(trifuse.InputWarning, r"state their kind \(lambda, or reg-ccsd with its omega2\)\.$"):
            self.triples(left={"t1": l1, "t2": l2}, oovv=None)

    def test_threads_of_python(self):
        """Several threads compute at once, and get the bits of one."""
        expected = {name: float(self.triples(name)) for name in ("rhf", "uhf")}
        found = []
        threads = [threading.Thread(target=lambda name=name: found.append((name, float(self.triples(name)))))
                   for name in ("rhf", "uhf") * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 6)
        for name, energy in found:
            self.assertEqual(energy, expected[name])


class Refusals(Case):
    def refused(self, kind, words, **changes):
        with self.assertRaisesRegex(kind, words) as caught:
            self.triples(**changes)
        self.assertTrue(str(caught.exception).endswith("."), str(caught.exception))

    def test_arguments(self):
        self.refused(trifuse.UsageError, "the nearest name is ovvv", ovv=np.zeros(1))
        self.refused(trifuse.UsageError, "have spins", t1_a=np.zeros((1, 1)))
        self.refused(trifuse.UsageError, "must be RHF, UHF or ROHF", reference="GHF")
        self.refused(trifuse.UsageError, 'device is "gpu"; it must be auto, cpu or cuda', device="gpu")
        self.refused(trifuse.UsageError, "rohf is", rohf="standard")
        self.refused(trifuse.UsageError, "complex", t2=self.arrays()["t2"] + 1e-9j)
        self.refused(trifuse.UsageError, "array of numbers", t1=np.full((5, 8), "x"))
        self.refused(trifuse.UsageError, "", threads=0)
        self.refused(trifuse.UsageError, "", omega2=-1.0)
        self.refused(trifuse.UsageError, "", left={"t1": self.arrays()["t1"], "t2": self.arrays()["t2"]}, left_kind="x")

    def test_options(self):
        """Each function lists the same options with the same default values, and refuses others."""
        def listed(function):
            parameters = inspect.signature(function).parameters.values()
            return {each.name: (each.default, each.annotation) for each in parameters if each.kind is each.KEYWORD_ONLY}

        options = listed(trifuse.run)
        self.assertEqual(options.pop("left"), (None, "PathLike | None"))
        self.assertEqual(options["device"], ("auto", "str"))
        self.assertEqual(options["check"], (True, "bool"))
        self.assertEqual(options["omega2"], (None, "float | Sequence[float] | None"))
        for function in (trifuse.triples, trifuse.pyscf.triples, trifuse.pyscf.ccsd_t, trifuse.pyscf.patch):
            self.assertEqual(options.items() & listed(function).items(), options.items())
        self.assertIn("**arrays", str(inspect.signature(trifuse.triples)))
        self.assertEqual(listed(trifuse.pyscf.ccsd_t)["allow_unconverged"], (False, "bool"))
        self.refused(trifuse.UsageError, "no array or option thread; the nearest name is threads", thread=1)
        for function in (trifuse.run, trifuse.pyscf.ccsd_t):
            with self.assertRaisesRegex(trifuse.UsageError, "no option devise; the nearest name is device"):
                function(None, devise="cpu")
        with self.assertRaisesRegex(trifuse.UsageError, "no option t1; the options are method, omega2, device, "):
            trifuse.pyscf.patch(t1=None)
        self.assertEqual(float(self.triples(device="auto", omega2=None, gpus=None, journal=None)), float(self.triples()))

    def test_options_are_those_of_the_library(self):
        path = os.fsencode(os.path.join(DATA, "nwchem/h2o_sto3g_c2v_rhf_two_tasks_t2/c"))
        with Handles() as handles:
            calculation = handles.calculation(handles.amplitudes("open_unverified_amplitudes", path, 0), None)
            with self.assertRaisesRegex(trifuse.UsageError, "no option colour; the names are ") as caught:
                library().call("set_option", calculation, b"colour", b"red")
        names = str(caught.exception).partition("the names are ")[2].rstrip(".").split(", ")
        self.assertEqual({*names, "progress"}, set(names_of(Options)))
        for name in names_of(Options):
            self.assertRegex(inspect.getdoc(trifuse.triples), rf"(?m)^([a-z0-9_]+, )*{name}(, [a-z0-9_]+)*$")

    def test_arrays(self):
        arrays = self.arrays()
        spoiled = np.array(arrays["ovvv"])
        spoiled[0, 1, 2, 3] = np.nan
        self.refused(trifuse.InputError, "ovvv", ovvv=spoiled)
        self.refused(trifuse.InputError, "t2", t2=arrays["t2"][:, :, :-1])
        self.refused(trifuse.InputError, "ovov", ovov=None)
        self.refused(trifuse.InputError, "CCSD correlation energy", correlation_energy=-0.1)
        self.refused(trifuse.InputError, "", t1=-np.asarray(arrays["t1"]))

    def test_trusted_input(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = self.triples(t1=-np.asarray(self.arrays()["t1"]), trust_input=True)
        self.assertIn("failed", {check.status for check in result.checks})
        self.assertTrue(result.warnings)
        self.assertEqual([str(each.message) for each in caught], list(result.warnings))
        self.assertTrue(all(each.category is trifuse.InputWarning for each in caught))
        self.assertEqual({each.filename for each in caught}, {__file__})

    def test_unchecked_input(self):
        with self.assertWarns(trifuse.InputWarning):
            result = self.triples(check=False)
        self.assert_energy(result)

    def test_failing_datasets(self):
        class Broken:
            shape = np.shape(self.arrays()["ovvv"])

            def __getitem__(self, box):
                raise ZeroDivisionError("in the reader")

        with self.assertRaisesRegex(ZeroDivisionError, "in the reader"):
            self.triples(ovvv=Broken())


class Files(Case):
    def test_run(self):
        result = trifuse.run(os.path.join(DATA, "nwchem", "h2o_ccpvdz_c2v_rhf_t8_2eorb", "c"))
        self.assertLess(abs(float(result) + 0.003060022293168), 1e-12)
        self.assertLess(abs(result.e_tot + 76.243168928453), 1e-10)
        with self.assertRaisesRegex(trifuse.InputError, "absent"):
            trifuse.run(self.path("absent"))

    def test_checks_of_files(self):
        """The check of a file is a part of the run: progress can cancel it, and check=False leaves it out."""
        arrays = self.arrays(t1=-np.asarray(self.arrays()["t1"]))
        trifuse.write_dump(self.path(), fock_in_triples=True, **arrays)
        with self.assertRaises(trifuse.InputError):
            trifuse.run(self.path())
        with self.assertRaisesRegex(trifuse.CancelledError, "before its first task"):
            trifuse.run(self.path(), progress=lambda done, total: False)
        with self.assertWarnsRegex(trifuse.InputWarning, "not checked"):
            self.assertEqual(float(trifuse.run(self.path(), check=False)),
                             float(trifuse.triples(fock_in_triples=True, check=False, **arrays)))

    def test_dumps(self):
        for name in ("rhf", "uhf"):
            trifuse.write_dump(self.path(), fock_in_triples=True, correlation_energy=CC[name].e_corr, molecule="x",
                               overwrite=True, **self.arrays(name))
            self.assert_energy(trifuse.run(self.path()), name)
            with trifuse.Dump(self.path()) as dump:
                self.assertEqual((dump.reference, dump.kind, dump.damaged()), (name.upper(), "ccsd", []))
                self.assertEqual(set(dump), set(self.arrays(name)))
                self.assertEqual(dump.attributes["correlation_energy"], CC[name].e_corr)
                self.assert_energy(trifuse.triples(fock_in_triples=True, **dump), name)
            with h5py.File(self.path(), "r+") as file:
                first = sorted(set(file) - {"seal"})[0]
                file[first][0] = 0.0
            with trifuse.Dump(self.path()) as dump:
                self.assertEqual(dump.damaged(), [first])

    def test_files_are_kept(self):
        with open(self.path(), "w") as file:
            file.write("precious\n")
        with self.assertRaisesRegex(trifuse.UsageError, "exists already"):
            trifuse.write_dump(self.path(), **self.arrays())
        with self.assertRaisesRegex(trifuse.InputError, "HDF5"):
            trifuse.Dump(self.path())
        self.assertEqual(os.listdir(self.folder), ["dump.h5"])
        trifuse.write_dump(self.path("own.h5"), **self.arrays())
        trifuse.write_dump(self.path("own.h5"), comment="again", **self.arrays())
        with trifuse.Dump(self.path("own.h5")) as dump:
            self.assertEqual(dump.attributes["comment"], "again")


class Package(Case):
    def test_import_is_light(self):
        """The import loads no library, writes nothing and needs nothing but NumPy."""
        script = ("import sys; import trifuse; wrong = {'h5py', 'pyscf', 'tqdm', 'matplotlib'} & set(sys.modules);"
                  "maps = open('/proc/self/maps').read(); print(sorted(wrong), 'trifuse.so' in maps)")
        done = subprocess.run([sys.executable, "-c", script], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.stdout, "[] False\n", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_openblas_has_the_kernels_of_the_program(self):
        """OpenBLAS that is older than the processor chooses slow kernels when a library is loaded."""
        program = subprocess.run([trifuse._places.program_path(), "--version"], capture_output=True, text=True).stdout
        result = trifuse.run(os.path.join(DATA, "nwchem", "h2o_ccpvdz_c2v_rhf_t8_2eorb", "c"))
        self.assertIn("BLAS: " + result.to_dict()["machine"]["blas"], program)
        self.assertNotIn("OPENBLAS_CORETYPE", set(os.environ) - USER_VARIABLES)

    def test_pictures(self):
        try:
            import matplotlib
        except ImportError:
            self.skipTest("needs matplotlib")
        matplotlib.use("agg")
        import trifuse.plot

        plan = trifuse.plan(occupied=10, virtual=40, gpus=4, trace=self.path("trace.json"))
        ax = trifuse.plot.scaling(plan)
        self.assertEqual([tick.get_text() for tick in ax.get_xticklabels()], ["1", "2", "4"])
        self.assertIn("Predicted", ax.get_title())
        self.assertTrue(all("predicted" in line.get_label() for line in ax.lines))
        self.assertIn("%", ax.get_ylabel())
        curve = plan.to_dict()["curve"]
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2, 4])
        np.testing.assert_array_equal(ax.lines[1].get_ydata(), [100 * point["scaling"] for point in curve])
        ax = trifuse.plot.timeline(self.path("trace.json"))
        self.assertEqual([text.get_text() for text in ax.get_yticklabels()], [f"GPU {n}" for n in range(4)])
        ax = trifuse.plot.energies([1.0, 1.1], {"CCSD(T)": [-1.0, self.triples()]}, xlabel="r / angstrom")
        self.assertAlmostEqual(ax.lines[0].get_ydata()[1], CC["E"]["rhf"], 10)
        with self.assertRaisesRegex(trifuse.InputError, "--json"):
            trifuse.plot.scaling(self.path("trace.json"))
        self.assertEqual(trifuse.plot.main(["timeline", self.path("trace.json"), "-o", self.path("x.svg")]), 0)
        with open(self.path("x.svg")) as file:
            self.assertIn("GPU 3", file.read())

    def test_plan(self):
        plan = trifuse.plan(occupied=10, virtual=40, gpus=2)
        self.assertIn("efficiency", str(plan))
        self.assertGreater(plan.seconds, 0.0)
        self.assertEqual(plan.to_dict()["prediction"]["gpus"], 2)
        self.assertEqual(plan.to_dict()["prediction"]["factors"]["operations"], 0)
        mixed = trifuse.plan(occupied=10, virtual=40, gpus=2, precision="mixed")
        self.assertEqual(mixed.to_dict()["precision"], "mixed")
        factors = trifuse.plan(occupied=10, virtual=40, gpus=2, naux=130)
        self.assertGreater(factors.to_dict()["prediction"]["factors"]["operations"], 0)
        one_side, two_sides = (trifuse.plan(occupied=10, virtual=40, gpus=0, method=method) for method in ("t", ["ct", "cr-t"]))
        operands = [each.to_dict()["prediction"]["memory"]["rank_bytes"] for each in (one_side, two_sides)]
        self.assertGreater(operands[1], 1.5 * operands[0])
        with self.assertRaisesRegex(trifuse.UsageError, "--method"):
            trifuse.plan(occupied=10, virtual=40, method="t(q)")
        with self.assertRaisesRegex(trifuse.UsageError, "^Give amplitudes"):
            trifuse.plan()


if __name__ == "__main__":
    unittest.main()
