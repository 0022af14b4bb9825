#!/usr/bin/env python3
"""The files of drivers/pyscf_export: seals, refused calculations and existing files.

    python3 test_pyscf_export_files.py [--trifuse build/release/drivers/trifuse] [unittest options]
"""

import json
import os
import subprocess
import zlib

import exported_dumps  # first: it sets the number of threads and the path of the exporter
import h5py
import numpy as np
import pyscf.cc
import pyscf_export
from exported_dumps import HERE, HYDROXYL, WATER, Dumps, mean_field, solved
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
                self.assertIn("Trifuse dump, version 1.2, sealed", done.stdout)
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


if __name__ == "__main__":
    exported_dumps.main()
