"""`trifuse convert`: the dump gives the energies of NWChem's files, and takes no other file's place unasked."""

import os
import signal
import subprocess
import unittest

from made_up_molecule import MadeUpMolecule
from trifuse_program import (CASES, DATA, GOOD_CASES, Outcome, ProgramTest, checked, command, energies_as_text, environment, repeated,
                             trifuse, trifuse_under_file_limit)

WATER = "h2o_631g_c1_rhf_t5_2eorb"


class Converted(ProgramTest):
    def test_every_dump_gives_the_energies_of_its_originals(self):
        # All kinds: the three references, with and without symmetry, both storages, frozen orbitals, several files,
        # restart files, no beta electron, one occupied orbital. Where another build does the same, a third of them.
        for name in list(GOOD_CASES)[::3 if repeated() else 1]:
            with self.subTest(name):
                dump = self.convert(DATA / name / "c", f"{name}.h5")
                choices = ("given", "semicanonical") if CASES[name]["reference"] == "ROHF" else ("given",)
                for rohf in choices:
                    options = ("--omega2", "0,0.1", "--rohf", rohf)
                    self.assert_close(self.energies_of(dump, *options), self.energies_of(DATA / name / "c", *options), 1e-13)

    def test_a_dump_of_a_dump_gives_the_same_bits(self):
        for name in (WATER, "o2_631g_d2h_rohf_t4_2eorb"):
            texts = []
            source = DATA / name / "c"
            for generation in range(3):
                source = self.convert(source, f"{name}_{generation}.h5")
                self.report_of(source)
                texts.append(energies_as_text(self.folder / "report.json"))
            self.assertEqual(texts[0], texts[1])
            self.assertEqual(texts[0], texts[2])

    def test_a_dump_remembers_where_it_came_from(self):
        report = self.report_of(self.convert(DATA / WATER))
        self.assertEqual(report["input"]["provenance"]["program"], "NWChem TCE")
        printed = CASES[WATER]["printed"]
        self.assertEqual(report["input"]["printed"]["CCSD correlation"], printed["E_CCSD_corr"])
        self.assertAlmostEqual(report["ccsd_correlation_energy"], printed["E_CCSD_corr"], delta=1e-12)
        self.assertNotIn(str(DATA), str(report["input"]["provenance"]))

    def test_a_folder_or_a_prefix_may_be_named(self):
        by_prefix = self.energies_of(DATA / WATER / "c")
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        for path in (DATA / WATER, f"{DATA / WATER}/", self.convert(DATA / WATER)):
            self.assert_close(self.energies_of(path), by_prefix, 1e-13)
        os.chdir(DATA / WATER)
        for path in ("c", "./c", "."):
            self.assertEqual(self.energies_of(path), by_prefix)


class Factors(ProgramTest):
    def test_they_stay_or_are_multiplied_out(self):
        for irreps in (1, 4):
            with self.subTest(irreps=irreps):
                self.succeed("bench", "--occupied", 5, "--virtual", 13, "--irreps", irreps, "--factors", 50, "--write",
                             self.folder / "factors.h5", "--overwrite")
                expected = self.report_of(self.folder / "factors.h5")
                texts = [energies_as_text(self.folder / "report.json")]
                copied = self.report_of(self.convert(self.folder / "factors.h5", "copied.h5", "--overwrite"))
                texts.append(energies_as_text(self.folder / "report.json"))
                self.assertEqual(copied["input"]["format"], "Trifuse dump, version 2.2, sealed")
                self.assertEqual(texts[0], texts[1])
                multiplied = self.convert(self.folder / "factors.h5", "multiplied.h5", "--multiply-out", "--overwrite")
                self.assertEqual(self.report_of(multiplied)["input"]["format"], "Trifuse dump, version 1.2, sealed")
                self.assert_close(self.energies_of(multiplied), self.energies_of(self.folder / "factors.h5"), 1e-12)
                self.assertGreater(abs(expected["energies"][0]["E(T)"]), 1e-4)

    def test_stored_integrals_have_none_to_multiply_out(self):
        target = self.folder / "dump.h5"
        self.assert_one_sentence(trifuse("convert", DATA / WATER / "c", target, "--multiply-out"), 2, "no factors", "--multiply-out")
        self.assert_nothing_but()


class Target(ProgramTest):
    def test_the_sentence_names_both_files(self):
        target = self.folder / "dump.h5"
        self.assertEqual(self.succeed("convert", DATA / WATER / "c", target).out,
                         f"{target} is a Trifuse dump of {DATA / WATER / 'c'}.\n")
        self.assert_nothing_but("dump.h5")

    def test_an_existing_file_is_replaced_only_when_asked(self):
        target = self.folder / "dump.h5"
        target.write_text("precious")
        self.assert_one_sentence(trifuse("convert", DATA / WATER / "c", target), 2, target, "exists", "--overwrite")
        self.assertEqual(target.read_text(), "precious")
        self.succeed("convert", DATA / WATER / "c", target, "--overwrite")
        self.assert_close(self.energies_of(target), self.energies_of(DATA / WATER / "c"), 1e-13)
        self.assert_nothing_but("dump.h5", "report.json")

    def test_a_dump_never_takes_its_own_place(self):
        dump = self.convert(DATA / WATER / "c")
        before = dump.read_bytes()
        self.assert_one_sentence(trifuse("convert", dump, dump, "--overwrite", "--quiet"), 2, dump, "input")
        self.assertEqual(dump.read_bytes(), before)

    def test_a_place_that_cannot_be_written_ends_with_an_exit_code(self):
        self.assert_one_sentence(trifuse("convert", DATA / WATER / "c", self.folder / "no" / "folder.h5"), 3, "folder.h5")
        self.assert_one_sentence(trifuse("convert", DATA / WATER / "c", self.folder, "--overwrite"), 2, self.folder)
        self.assert_nothing_but()

    def test_unsound_files_leave_nothing(self):
        target = self.folder / "dump.h5"
        for name, case in CASES.items():
            if "refuse" in case:
                self.assert_refused("convert", DATA / name / "c", target, naming=name)
        self.assert_nothing_but()

    def stopped_while_it_writes(self, which, *arguments):
        """The outcome of a command that gets a signal after it has begun its dump; None if the command ended earlier."""
        process = subprocess.Popen(command(*arguments), env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while process.poll() is None:
            try:
                sizes = [path.stat().st_size for path in self.folder.glob("target.h5.partial-*")]
            except FileNotFoundError:
                continue
            if any(size > 0 for size in sizes):
                process.send_signal(which)
                break
        out, err = process.communicate(timeout=300)
        return None if process.returncode == 0 else checked(Outcome(process.returncode, out, err))

    def test_a_signal_leaves_nothing(self):
        molecule = ("--occupied", 8, "--virtual", 64)
        self.succeed("bench", *molecule, "--write", self.folder / "source.h5")
        target = self.folder / "target.h5"
        for which in (signal.SIGINT, signal.SIGTERM):
            for line in (("convert", self.folder / "source.h5", target), ("bench", *molecule, "--write", target)):
                with self.subTest(signal=which, command=line[0]):
                    for _ in range(20):
                        outcome = self.stopped_while_it_writes(which, *line)
                        if outcome is not None:
                            break
                        target.unlink()
                    self.assertIsNotNone(outcome, "the command was always faster than its signal")
                    self.assert_one_sentence(outcome, 130, "Stopped")
                    self.assert_nothing_but("source.h5")

    def test_a_limit_of_file_sizes_ends_with_3_and_leaves_nothing(self):
        molecule = MadeUpMolecule(occupied=4, virtual=10)
        source = molecule.write(self.folder / "molecule")
        target = self.folder / "dump.h5"
        self.assert_one_sentence(trifuse_under_file_limit(16, "convert", source, target), 3, target)
        self.assert_nothing_but("molecule")
        self.succeed("convert", source, target)


if __name__ == "__main__":
    unittest.main()
