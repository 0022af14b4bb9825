#!/usr/bin/env python3
"""The files of drivers/pyscf_export: seals, refused calculations, existing files, and its command line.

    python3 test_pyscf_export_files.py [--trifuse build/release/drivers/trifuse] [unittest options]
"""

import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import traceback
import zlib

import exported_dumps  # first: it sets the number of threads and the path of the exporter
import h5py
import numpy as np
import pyscf.cc
import pyscf_export
from exported_dumps import EXPORTER, HERE, HYDROXYL, WATER, Dumps, mean_field, solved
from pyscf import scf
from pyscf.cc import gccsd, rccsd
from pyscf_export.checksums import BlockSums, seal_block


class Seals(Dumps):
    """The exporter seals its dumps, and Trifuse accepts the seals. The function of the format page makes the same seals."""

    @classmethod
    def setUpClass(cls):
        cls.cases = [solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER))),
                     solved(pyscf.cc.CCSD(mean_field(scf.UHF, HYDROXYL, spin=1)))]

    def run_trifuse(self, *arguments):
        return subprocess.run([exported_dumps.TRIFUSE, *arguments], capture_output=True, text=True)

    def test_dumps_are_sealed(self):
        for cc in self.cases:
            pyscf_export.write_dump(cc, self.path())
            self.assertEqual(pyscf_export.verify_seal(self.path()), [])
            with h5py.File(self.path()) as file:
                self.assertEqual(set(file["seal"]) - {"header"}, set(file) - {"seal"})
                self.assertAlmostEqual(file.attrs["scf_energy"], cc._scf.e_tot, 12)
            if exported_dumps.TRIFUSE:
                done = self.run_trifuse("run", self.path(), "--json", self.path("report.json"))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("Trifuse dump, version 1.1, sealed", done.stdout)
                with open(self.path("report.json")) as file:
                    report = json.load(file)
                self.assertIs(report["input"]["sealed"], True)
                self.assertAlmostEqual(report["ccsd_energy"], cc.e_tot, 9)
                self.assertAlmostEqual(report["energies"][0]["ccsd_t_energy"], cc.e_tot + cc.ccsd_t(), 9)

    def test_every_dataset_and_attribute(self):
        for cc in self.cases:
            pyscf_export.write_dump(cc, self.path("sound.h5"))
            with h5py.File(self.path("sound.h5")) as file:
                changes = sorted(set(file) - {"seal"}) + ["attribute " + name for name in file.attrs]
            for change in changes:
                with open(self.path("sound.h5"), "rb") as sound, open(self.path(), "wb") as copy:
                    copy.write(sound.read())
                with h5py.File(self.path(), "r+") as file:
                    name = change.split()[-1]
                    if change.startswith("attribute"):
                        value = file.attrs[name]
                        file.attrs[name] = value + b"x" if isinstance(value, bytes) else np.nextafter(value, 9e9) \
                            if isinstance(value, float) else value + 1
                        expected = ["header"]
                    else:
                        numbers = file[name][()]
                        last = numbers.reshape(-1)[-1:]
                        last[:] = np.nextafter(last, 9e9)
                        file[name][...] = numbers
                        expected = [name]
                with self.subTest(change):
                    if name != "seal_block":
                        self.assertEqual(pyscf_export.verify_seal(self.path()), expected)
                    if exported_dumps.TRIFUSE:
                        done = self.run_trifuse("run", self.path())
                        self.assertEqual(done.returncode, 1, done.stdout)
                        if name not in ("version", "format", "seal_block"):
                            self.assertIn("not match the seal", done.stderr)

    def test_the_function_of_the_format_page(self):
        with open(os.path.join(HERE, "..", "..", "tce_tiles", "docs", "dump-format.md")) as page:
            code = next(part.split("```")[0] for part in page.read().split("```python\n") if "def seal" in part)
        names = {}
        exec(code, names)
        for cc in self.cases:
            pyscf_export.write_dump(cc, self.path())
            with h5py.File(self.path(), "r+") as file:
                sums = {name: dataset[()] for name, dataset in file["seal"].items()}
                names["seal"](file)
                for name, dataset in file["seal"].items():
                    np.testing.assert_array_equal(dataset[()], sums[name])
                file.attrs["comment"] = "a remark  "
                file.attrs["molecule"] = "Hällö"
                names["seal"](file)
                header = file["seal/header"][0]
                pyscf_export.seal(file)
                self.assertEqual(file["seal/header"][0], header)
            if exported_dumps.TRIFUSE:
                done = self.run_trifuse("info", self.path())
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_blocks_of_large_datasets(self):
        self.assertEqual(seal_block(2**33), 1024)
        self.assertEqual(seal_block(2**33 + 1), 2048)
        sums = BlockSums(4)
        numbers = np.arange(10.0)
        for part in np.split(numbers, [1, 2, 7]):
            sums.add(part)
        np.testing.assert_array_equal(sums.result(), [zlib.crc32(numbers[n:n + 4].tobytes()) for n in (0, 4, 8)])

    def test_a_dump_that_trifuse_wrote(self):
        if not exported_dumps.TRIFUSE:
            self.skipTest("needs --trifuse")
        for layout in ((), ("--irreps", "2")):
            done = self.run_trifuse("bench", "--occupied", "4", "--virtual", "12", *layout, "--write", self.path())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(pyscf_export.verify_seal(self.path()), [])
            with h5py.File(self.path(), "r+") as file:
                self.assertEqual(set(file["seal"]) - {"header"}, set(file) - {"seal"})
                file["ovvv"][0, 0, 0, 0] += 1e-12
            self.assertEqual(pyscf_export.verify_seal(self.path()), ["ovvv"])
            os.remove(self.path())


class Refusals(Dumps):
    def assert_refused(self, words, call, *arguments, **options):
        with self.assertRaisesRegex(pyscf_export.ExportError, words):
            call(*arguments, **options)
        self.assertEqual(os.listdir(self.folder), [])

    def test_calculations(self):
        mf = mean_field(scf.RHF, WATER)
        fresh = pyscf.cc.CCSD(mf)
        self.assert_refused("call cc.kernel", pyscf_export.write_dump, fresh, self.path())
        unconverged = fresh.set(max_cycle=2, verbose=0).run()
        self.assert_refused("not converged", pyscf_export.write_dump, unconverged, self.path())
        self.assert_refused("GCCSD is not supported", pyscf_export.write_dump, gccsd.GCCSD(mf.to_ghf()), self.path())
        self.assert_refused("not a PySCF coupled-cluster", pyscf_export.write_dump, mf, self.path())
        self.assert_refused("omega2 is -1", pyscf_export.solve_regularized_ccsd, fresh, -1.0)
        self.assert_refused("solve_regularized_ccsd", pyscf_export.write_left_dump, unconverged, self.path(), 0.1)
        pyscf_export.write_dump(unconverged, self.path(), allow_unconverged=True)
        os.remove(self.path())
        unconverged.frozen = 1
        self.assert_refused("change of frozen", pyscf_export.write_dump, unconverged, self.path(), allow_unconverged=True)
        unconverged.cc2 = True
        self.assert_refused("CC2 amplitudes", pyscf_export.write_dump, unconverged, self.path())

    def test_orbitals(self):
        mf = mean_field(scf.RHF, WATER)
        cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, WATER, symmetry=True)))
        cc.t1 = cc.t1 + 1e-3
        self.assert_refused("symmetry", pyscf_export.write_dump, cc, self.path())
        cc = rccsd.RCCSD(mf, mo_coeff=mf.mo_coeff + 1e-6j)
        self.assert_refused("orbitals are complex", pyscf_export.write_dump, cc, self.path())

    def test_labels(self):
        cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, "H 0 0 0; H 0 0 0.74")))
        reg = pyscf_export.solve_regularized_ccsd(cc, 0.1)
        self.assert_refused("omega2 = 0.1, not 0.2", pyscf_export.write_left_dump, reg, self.path(), 0.2)
        self.assert_refused("standard CCSD", pyscf_export.write_lambda_dump, reg, self.path())
        self.assert_refused("solve_regularized_ccsd", pyscf_export.write_left_dump, reg.run(), self.path())


class ExistingFiles(Dumps):
    """A dump replaces an earlier dump of its kind, and any other file only if this is allowed. A failure leaves no file."""

    @classmethod
    def setUpClass(cls):
        cls.cc = solved(pyscf.cc.CCSD(mean_field(scf.RHF, "H 0 0 0; H 0 0 0.74")))
        cls.reg = pyscf_export.solve_regularized_ccsd(cls.cc, 0.1)

    def write(self, name="dump.h5", content="precious\n"):
        with open(self.path(name), "w") as file:
            file.write(content)

    def read(self, name="dump.h5"):
        with open(self.path(name), "rb") as file:
            return file.read()

    def assert_kept(self, words, call=None, **options):
        before = {name: self.read(name) for name in os.listdir(self.folder) if os.path.exists(self.path(name))}
        names = set(os.listdir(self.folder))
        with self.assertRaisesRegex(pyscf_export.ExportError, words):
            (call or pyscf_export.write_dump)(self.cc, self.path(), **options)
        self.assertEqual(set(os.listdir(self.folder)), names)
        self.assertEqual({name: self.read(name) for name in before}, before)

    def test_earlier_dumps_are_replaced(self):
        for call, cc in ((pyscf_export.write_dump, self.cc), (pyscf_export.write_left_dump, self.reg),
                         (pyscf_export.write_lambda_dump, self.cc)):
            call(cc, self.path(call.__name__), comment="first")
            call(cc, self.path(call.__name__), comment="second")
            with h5py.File(self.path(call.__name__)) as file:
                self.assertEqual(file.attrs["comment"], b"second")
        self.assertEqual(len(os.listdir(self.folder)), 3)

    def test_other_files_are_kept(self):
        self.write()
        self.assert_kept("exists already")
        self.write(content="")
        self.assert_kept("exists already")
        with h5py.File(self.path(), "w") as file:  # a checkpoint file, say
            file.attrs["format"] = "another"
        self.assert_kept("exists already")
        pyscf_export.write_dump(self.cc, self.path(), overwrite=True)
        self.assert_kept("not an earlier lambda dump", pyscf_export.write_lambda_dump)
        with h5py.File(self.path(), "r+") as file:
            file.attrs["program"] = "trifuse"
        self.assert_kept("exists already")
        pyscf_export.write_lambda_dump(self.cc, self.path(), overwrite=True)
        self.assertEqual(pyscf_export.verify_seal(self.path()), [])

    def test_links_are_not_followed(self):
        for target in ("target", "nothing", "dump.h5"):
            self.write("target")
            os.symlink(target, self.path())
            self.assert_kept("symbolic link")
            pyscf_export.write_dump(self.cc, self.path(), overwrite=True)
            self.assertFalse(os.path.islink(self.path()))
            self.assertEqual(self.read("target"), b"precious\n")
            self.assertFalse(os.path.exists(self.path("nothing")))
            os.remove(self.path())

    def test_what_is_no_file_is_kept(self):
        for make in (os.mkdir, os.mkfifo):
            make(self.path())
            for overwrite in (False, True):
                with self.assertRaisesRegex(pyscf_export.ExportError, "not a regular file"):
                    pyscf_export.write_dump(self.cc, self.path(), overwrite=overwrite)
            self.assertEqual(os.listdir(self.folder), ["dump.h5"])
            os.rmdir(self.path()) if make is os.mkdir else os.remove(self.path())

    def test_the_old_temporary_name_is_somebody_elses(self):
        self.write("dump.h5.partial")
        os.symlink("dump.h5.partial", self.path("link.h5.partial"))
        pyscf_export.write_dump(self.cc, self.path())
        pyscf_export.write_dump(self.cc, self.path("link.h5"))
        self.assertEqual(self.read("dump.h5.partial"), b"precious\n")
        self.assertEqual(len(os.listdir(self.folder)), 4)

    def test_exceptions_leave_nothing(self):
        for existing in (False, True):
            if existing:
                pyscf_export.write_dump(self.cc, self.path())
            for failure in (KeyboardInterrupt, MemoryError, OSError):
                eris = self.cc.ao2mo(self.cc.mo_coeff)

                def fail(*_):
                    self.assertEqual(len(os.listdir(self.folder)), 1 + existing)  # the dump is under way
                    raise failure

                eris.get_ovvv = fail
                before = self.read() if existing else None
                with self.assertRaises(failure):
                    pyscf_export.write_dump(self.cc, self.path(), eris=eris)
                self.assertEqual(os.listdir(self.folder), ["dump.h5"] if existing else [])
                self.assertEqual(self.read() if existing else None, before)

    def test_a_file_that_appears_meanwhile_is_kept(self):
        for overwrite in (False, True):
            eris = self.cc.ao2mo(self.cc.mo_coeff)
            get_ovvv = eris.get_ovvv
            eris.get_ovvv = lambda *rows: self.write() or get_ovvv(*rows)
            if overwrite:
                pyscf_export.write_dump(self.cc, self.path(), eris=eris, overwrite=True)
                self.assertEqual(pyscf_export.verify_seal(self.path()), [])
                continue
            with self.assertRaisesRegex(pyscf_export.ExportError, "exists already"):
                pyscf_export.write_dump(self.cc, self.path(), eris=eris)
            self.assertEqual((os.listdir(self.folder), self.read()), (["dump.h5"], b"precious\n"))
            os.remove(self.path())

    def test_permissions_are_those_of_other_files(self):
        before = os.umask(0o027)
        try:
            pyscf_export.write_dump(self.cc, self.path())
        finally:
            os.umask(before)
        self.assertEqual(os.stat(self.path()).st_mode & 0o777, 0o640)


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
