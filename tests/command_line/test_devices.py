"""The device of a run: requested GPUs, and the message if there is none."""

import os
import re
import unittest

from launched_run import LaunchedRun
from made_up_molecule import MadeUpMolecule
from trifuse_program import DATA, ProgramTest, energies_as_text, launched, mpirun, read_report, trifuse

WATER = DATA / "h2o_631g_c1_rhf_t5_2eorb" / "c"


def why_no_gpu():
    """The sentence of `trifuse --version` about missing GPUs; None if there are GPUs."""
    found = re.search(r"^GPU: none\. (.*)$", trifuse("--version").out, re.MULTILINE)
    return found.group(1) if found else None


class WithoutGpus(ProgramTest):
    def setUp(self):
        super().setUp()
        self.reason = why_no_gpu()
        if self.reason is None:
            self.skipTest("there are GPUs here")

    def test_asking_for_one_is_answered_with_the_reason(self):
        for arguments in (["--device", "cuda"], ["--devices", "0"], ["--devices", "0,1"],
                          ["--device", "cuda", "--devices", "0", "--kernel", "x"]):
            for name in ("run", "info"):
                with self.subTest(arguments, command=name):
                    outcome = trifuse(name, WATER, *arguments)
                    self.assertEqual((outcome.code, outcome.out, outcome.err), (2, "", f"trifuse: {self.reason}\n"))

    def test_so_is_measuring_one(self):
        for arguments in (["--device", "cuda"], ["--devices", "0"], ["--kernels"], ["--tune"]):
            self.assert_one_sentence(trifuse("bench", "--occupied", 3, "--virtual", 5, *arguments), 2, self.reason)

    def test_it_is_given_before_anything_is_read_or_written(self):
        outcome = trifuse("run", self.folder / "absent", "--device", "cuda", "--json", self.folder / "report.json",
                          "--journal", self.folder / "journal")
        self.assert_one_sentence(outcome, 2, self.reason)
        self.assert_nothing_but()

    def test_auto_computes_on_the_cpu(self):
        for arguments in ([], ["--device", "auto"]):
            report = self.report_of(WATER, *arguments)
            self.assertEqual(report["settings"]["executor"], "cpu")
            self.assertNotIn("cuda", report)


class Options(ProgramTest):
    def test_the_cpu_can_be_asked_for(self):
        expected = self.energies_of(WATER, "--executor", "cpu")
        self.assertEqual(self.energies_of(WATER, "--device", "cpu"), expected)
        report = self.report_of(WATER, "--device", "cpu", "--executor", "reference")
        self.assertEqual(report["settings"]["executor"], "reference")

    def test_an_amount_of_memory_is_understood_or_refused(self):
        outcome = trifuse("bench", "--occupied", 3, "--virtual", 5, "--memory", "much")
        self.assertEqual(outcome.code, 2)
        self.assertIn('--memory is "much"; it must be an amount of memory', outcome.err)

    def test_nonsense_is_refused(self):
        for arguments in (["--device", "gpu"], ["--device"], ["--devices"], ["--devices", "all"], ["--devices", "-1"],
                          ["--devices", "0.5"], ["--devices", "0,x"], ["--kernel"]):
            with self.subTest(arguments):
                outcome = trifuse("run", WATER, *arguments)
                self.assertEqual(outcome.code, 2, outcome)
                self.assertIn(arguments[0], outcome.err)
                self.assertEqual(outcome.out, "")

    def test_options_that_contradict_each_other_are_refused(self):
        for arguments, part in ((["--device", "cpu", "--devices", "0"], "--device cpu uses none"),
                                (["--device", "cuda", "--executor", "cpu"], "--executor cpu uses no GPU"),
                                (["--devices", "0", "--executor", "reference"], "--executor reference uses no GPU"),
                                (["--device", "cpu", "--kernel", "x"], "--kernel needs --device cuda"),
                                (["--kernel", "x"], "--kernel needs --device cuda")):
            with self.subTest(arguments):
                self.assert_one_sentence(trifuse("run", WATER, *arguments), 2, part)

    def test_help_tells_of_them(self):
        for name in ("run", "info"):
            text = self.succeed(name, "--help").out
            for option in ("--device ", "--devices ", "--kernel "):
                self.assertIn(option, text)


class WithGpus(ProgramTest):
    def setUp(self):
        super().setUp()
        if why_no_gpu() is not None:
            self.skipTest("there is no GPU here")

    def test_the_report_says_what_the_devices_did(self):
        path = self.folder / "report.json"
        text = self.succeed("run", WATER, "--devices", 0, "--json", path).out
        for line in ("\nDevices      GPU 0: ", "\nPanels       ", "\nSeconds      "):
            self.assertIn(line, text)
        report = read_report(path)
        self.assertEqual(report["settings"]["executor"], "cuda")
        self.assertEqual([device["number"] for device in report["cuda"]["devices"]], [0])
        self.assertLessEqual(report["cuda"]["panels"]["sent"], report["cuda"]["panels"]["wanted"])
        self.assert_close(self.energies_of(WATER, "--device", "cuda"), self.energies_of(WATER, "--device", "cpu"), 1e-12)

    def test_a_number_that_is_not_there_is_refused(self):
        self.assert_one_sentence(trifuse("run", WATER, "--devices", 4000), 2, "--devices names GPU 4000")
        self.assert_one_sentence(trifuse("run", WATER, "--devices", "0,0"), 2, "--devices names GPU 0 twice")


def gpus_of_this_machine():
    return re.findall(r"^GPU \d", trifuse("--version").out, re.MULTILINE)


class PeerGpus(LaunchedRun):
    """Ranks that read packed panels from each other's GPUs."""

    def setUp(self):
        super().setUp()
        if len(gpus_of_this_machine()) < 2:
            self.skipTest("there are not two GPUs here")
        self.report = self.folder / "report.json"

    def energies_alone(self, source):
        self.succeed("run", source, "--devices", 0, "--json", self.report, "--quiet")
        return energies_as_text(self.report), read_report(self.report)

    def run_together(self, source, *arguments, ranks=2):
        """Energies, and the reports of the ranks on their operands."""
        run = ("run", source, "--device", "cuda", "--quiet", "--json", self.report, *arguments)
        self.assertEqual(mpirun((ranks, run)), (0, "", ""))
        return energies_as_text(self.report), [rank["operands"] for rank in read_report(self.report)["ranks"]]

    def test_everything_comes_from_there(self):
        source = MadeUpMolecule(occupied=16, virtual=80).write(self.folder / "molecule")
        alone, _ = self.energies_alone(source)
        energies, operands = self.run_together(source)
        self.assertEqual(energies, alone)
        for rank in operands:
            self.assertGreater(rank["bytes_from_other_gpus"], 0)
            self.assertEqual(rank["fetched_bytes"], 0)

    def expect_others_go_on(self, *molecule):
        """A GPU fails in the middle of a run. The other one still reads its memory."""
        dump = self.folder / "dump.h5"
        self.succeed("bench", *molecule, "--write", dump)
        _, alone = self.energies_alone(dump)
        for broken in (0, 1):
            with self.subTest(rank=broken):
                journal = self.folder / f"journal{broken}"
                line, variables = launched((2, ("run", dump, "--device", "cuda", "--json", self.report, "--journal", journal)))
                own = journal if broken == 0 else f"{journal}.rank{broken}"
                variables |= {"LD_PRELOAD": os.environ["TRIFUSE_TEST_BREAK_GPUS"], "TRIFUSE_TEST_BREAKS_RANK": str(broken),
                              "TRIFUSE_TEST_BREAKS_AFTER": str(own), "TRIFUSE_TEST_BREAKS_BYTES": "400"}
                self.start_line(line, variables)
                _, err = self.launcher.communicate(timeout=300)
                self.assertEqual(self.launcher.returncode, 0, err)
                self.assertRegex(err, r"(?m)^GPU \d broken: 0$")
                self.assertRegex(err, r"(?m)^trifuse: warning: ")
                found = read_report(self.report)
                self.assertEqual([rank["kind"] for rank in found["ranks"]],
                                 ["GPU, then cores" if rank == broken else "GPU" for rank in (0, 1)])
                self.assertGreater(found["ranks"][1 - broken]["operands"]["bytes_from_other_gpus"], 0)
                for one, other in zip(found["energies"], alone["energies"]):
                    self.assertAlmostEqual(one["E(T)"] / other["E(T)"], 1.0, delta=1e-12)

    def test_the_others_go_on_where_one_fails_in_the_middle(self):
        self.expect_others_go_on("--occupied", 40, "--virtual", 180)

    def test_they_go_on_with_slabs_of_factors_of_the_one_that_fails(self):
        self.expect_others_go_on("--occupied", 40, "--virtual", 180, "--factors", 600)


if __name__ == "__main__":
    unittest.main()
