#!/usr/bin/env python3
"""drivers/pyscf_export as a program: how it is started, its options, and what it refuses.

    python3 test_pyscf_command.py [--trifuse build/release/drivers/trifuse] [unittest options]
"""

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import traceback

import exported_dumps  # first: it sets the number of threads and the path of the exporter
import h5py
import pyscf.cc
import pyscf_export
from exported_dumps import EXPORTER, Dumps, solved
from pyscf import gto, scf


class CommandLine(Dumps):
    def run_tool(self, *arguments, molecule="3\nwater\nO 0 0 0\nH 0 0.757 0.587\nH 0 -0.757 0.587\n", fresh=False):
        with open(self.path("molecule.xyz"), "w") as file:
            file.write(molecule)
        line = [EXPORTER, "molecule.xyz", *arguments]
        if fresh:
            return subprocess.run([sys.executable, *line], cwd=self.folder, capture_output=True, text=True)
        return self.run_in_copy(line)

    def run_in_copy(self, line):
        """Runs the tool in a copy of this process, which need not import PySCF again: that takes longer than most runs."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    os.dup2(out.fileno(), 1)
                    os.dup2(err.fileno(), 2)
                    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
                    os.chdir(self.folder)
                    sys.argv = line
                    runpy.run_path(EXPORTER, run_name="__main__")
                    code = 0
                except SystemExit as end:
                    code = 0 if end.code is None else end.code if isinstance(end.code, int) else 1
                    if not isinstance(end.code, (int, type(None))):
                        print(end.code, file=sys.stderr)
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(line, code, out.read(), err.read())

    def python(self, *arguments, folder):
        """What Python prints with these arguments, without the variables that change where it looks for packages."""
        variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
        done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, env=variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_ways_to_start_it(self):
        drivers = os.path.dirname(EXPORTER)
        for arguments, folder in ((["drivers/pyscf_export"], os.path.dirname(drivers)), ([EXPORTER + "/"], self.folder),
                                  ([os.path.join(EXPORTER, "__main__.py")], self.folder), (["-m", "pyscf_export"], drivers)):
            with self.subTest(arguments):
                self.assertTrue(self.python(*arguments, "--help", folder=folder).startswith("usage: pyscf_export "))

    def test_a_copy_of_the_folder_alone(self):
        """Users copy the folder beside their script."""
        copy = shutil.copytree(EXPORTER, self.path("pyscf_export"), ignore=shutil.ignore_patterns("__pycache__"))
        with open(self.path("molecule.xyz"), "w") as file:
            file.write("2\n\nH 0 0 0\nH 0 0 0.74\n")
        molecule = ["molecule.xyz", "--basis", "sto-3g", "-o"]
        self.python("pyscf_export", *molecule, "program.h5", folder=self.folder)
        self.python("-m", "pyscf_export", *molecule, "module.h5", folder=self.folder)
        for name in ("program.h5", "module.h5"):
            self.assertEqual(pyscf_export.verify_seal(self.path(name)), [])
        with open(self.path("script.py"), "w") as file:
            file.write("import sys\nimport pyscf_export\n"
                       "print(pyscf_export.verify_seal('program.h5'))\n"
                       "for name, module in sys.modules.items():\n"
                       "    if name.startswith('pyscf_export'):\n"
                       "        print(module.__file__)\n")
        sealed, *files = self.python("script.py", folder=self.folder).splitlines()
        self.assertEqual((sealed, {os.path.dirname(os.path.realpath(file)) for file in files}), ("[]", {os.path.realpath(copy)}))

    def test_the_import_needs_no_pyscf(self):
        """`seal`, `verify_seal` and dumps of other programs need only h5py and NumPy."""
        script = "import sys; sys.modules['pyscf'] = None; import pyscf_export; print(pyscf_export.verify_seal.__name__)"
        self.assertEqual(self.python("-c", script, folder=os.path.dirname(EXPORTER)), "verify_seal\n")

    def test_water(self):
        done = self.run_tool("--basis", "6-31g", "--frozen", "1", "--omega2", "0.1", "--lambda", "lambda.h5",
                             "--triples", "-o", "dump.h5", fresh=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        printed = next(float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("E(T)"))
        self.assertLess(abs(self.check()["E(T)"] - printed), 1e-9)
        self.check(left=self.path("dump.left_0.1.h5"), omega2=0.1)
        self.check(left=self.path("lambda.h5"))

    def test_moments(self):
        """E(cT) and CCSD(2)_T of a molecule for which another program gave them, see tests/python/test_methods.py."""
        done = self.run_tool("--basis", "6-31g", "--moments", "--lambda", "lambda.h5", "-o", "dump.h5", molecule=(
            "3\n\nO 0 0 0.1171764454\nH 0 0.7569555617 -0.4687057762\nH 0 -0.7569555617 -0.4687057762\n"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(self.path()) as file:
            self.assertLessEqual({"oooo", "kvvv", "ladder", "vvvv_diag"}, set(file))
        if exported_dumps.TRIFUSE:
            for method, expected in ((["ct"], -0.0009055276991919331), (["2t", "--left", self.path("lambda.h5")], -0.0009181539238996836)):
                self.assertLess(abs(self.trifuse(self.path(), "--method", *method)["E(T)"] - expected), 1e-9)

    def test_bad_input(self):
        done = self.run_tool("--basis", "no-such-basis", "-o", "dump.h5", fresh=True)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        for arguments, words in ((["--basis", "no-such-basis"], "no-such-basis"), ([], "--basis"),
                                 (["--basis", "6-31g", "--spin", "1"], "spin"),
                                 (["--basis", "6-31g", "--frozen", "9"], "frozen"),
                                 (["--basis", "6-31g", "--omega2", "nan"], "omega2")):
            done = self.run_tool(*arguments, "-o", "dump.h5")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for text in ("", "two\n\nH 0 0 0\n", "1\n\nXx 0 0 0\n", "1\n\nH 0 0\n"):
            done = self.run_tool("--basis", "6-31g", "-o", "dump.h5", molecule=text)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_frozen_lists_density_fitting_and_core_potentials(self):
        def own(mean_field_of, frozen, **options):
            mol = gto.M(atom=self.path("molecule.xyz"), verbose=0, **options)
            cc = solved(pyscf.cc.CCSD(mean_field_of(scf.RHF(mol)).run(conv_tol=1e-12), frozen=frozen))
            return cc.ccsd_t(), cc.e_corr

        hydrogen_bromide = "2\n\nBr 0 0 0\nH 0 0 1.41\n"
        water = "3\nwater\nO 0 0 0\nH 0 0.757 0.587\nH 0 -0.757 0.587\n"
        for molecule, arguments, expected in (
                (water, ["--basis", "6-31g", "--frozen", "0,6,11-12"], lambda: own(lambda mf: mf, [0, 6, 11, 12], basis="6-31g")),
                (water, ["--basis", "6-31g", "--frozen", "1", "--density-fit"], lambda: own(lambda mf: mf.density_fit(), 1, basis="6-31g")),
                (water, ["--basis", "6-31g", "--density-fit", "weigend"],
                 lambda: own(lambda mf: mf.density_fit(auxbasis="weigend"), None, basis="6-31g")),
                (hydrogen_bromide, ["--basis", "lanl2dz", "--ecp", "lanl2dz"], lambda: own(lambda mf: mf, None, basis="lanl2dz", ecp={"Br": "lanl2dz"}))):
            done = self.run_tool(*arguments, "-o", "dump.h5", molecule=molecule)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            triples, correlation = expected()
            with h5py.File(self.path()) as file:
                self.assertEqual("factors_vv" in file, "--density-fit" in arguments)
                self.assertLess(abs(file.attrs["correlation_energy"] - correlation), 1e-8)
            if exported_dumps.TRIFUSE:
                self.assertLess(abs(self.trifuse(self.path())["E(T)"] - triples), 1e-8)
        for arguments, words in ((["--frozen", "0,x"], "neither a number nor a list"), (["--frozen", "0,0"], "twice"),
                                 (["--frozen", "0,99"], "orbital 99"), (["--density-fit", "none-such"], "none-such"),
                                 (["--ecp", "none-such"], "none-such")):
            done = self.run_tool("--basis", "6-31g", *arguments, "-o", "dump.h5", molecule=water)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(words, done.stderr)

    def test_labels_of_ghost_atoms(self):
        """PySCF takes the labels of other programs for real atoms."""
        for label, refused in (("ghost-He", False), ("X-He", False), ("@He", True), ("He:", True), ("He@", True), ("2He", True),
                               ("Gh(He)", True), ("bqHe", True)):
            done = self.run_tool("--basis", "sto-3g", "-o", "dump.h5", molecule=f"3\n\nH 0 0 0\nH 0 0 0.74\n{label} 0 0 3\n")
            with self.subTest(label):
                self.assertEqual(done.returncode, 2 if refused else 0, done.stderr)
                if refused:
                    self.assertIn(f"the label {label} is not understood; ", done.stderr)
                else:
                    energy = float(done.stdout.split()[1])
                    self.assertLess(abs(energy + 1.1167), 1e-2)  # of H2 alone

    def test_a_missing_folder_is_told_before_the_scf(self):
        for outputs in (["-o", "no/dump.h5"], ["-o", "dump.h5", "--lambda", "no/lambda.h5"], ["-o", "molecule.xyz/dump.h5"]):
            done = self.run_tool("--basis", "no-such-basis", *outputs)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertRegex(done.stderr, "no file can be made in the folder .*; make it, or name another one")
            self.assertNotIn(".partial-", done.stderr)
            self.assertEqual(os.listdir(self.folder), ["molecule.xyz"])

    def test_outputs(self):
        """The input is refused before anything is computed, and before the basis is read."""
        with open(self.path("other"), "w") as file:
            file.write("precious\n")
        for outputs, words in ((["-o", "other"], "exists already"), (["-o", "molecule.xyz"], "molecule"),
                               (["-o", "a.h5", "--lambda", "./a.h5"], "same name"),
                               (["-o", "a.h5", "--omega2", "0.1", "--left", "other"], "exists already"),
                               (["-o", "molecule.xyz", "--overwrite"], "molecule")):
            done = self.run_tool("--basis", "no-such-basis", *outputs)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(set(os.listdir(self.folder)), {"molecule.xyz", "other"})
        hydrogen = "2\n\nH 0 0 0\nH 0 0 0.74\n"
        done = self.run_tool("--basis", "sto-3g", "-o", "other", "--overwrite", molecule=hydrogen)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(pyscf_export.verify_seal(self.path("other")), [])


if __name__ == "__main__":
    exported_dumps.main()
