"""Help, version and exit codes of the program."""

import re
import subprocess
import unittest

from trifuse_program import DATA, ProgramTest, sanitized, trifuse

WATER = DATA / "h2o_631g_c1_rhf_t5_2eorb" / "c"
COMMANDS = ("run", "info", "plan", "convert", "bench", "selftest")


class Help(ProgramTest):
    def test_help_of_the_program_names_every_command_and_the_exit_codes(self):
        text = self.succeed("--help").out
        for name in COMMANDS:
            self.assertRegex(text, rf"\n  {name} ")
        for code in ("0 success", "1 a file is", "2 wrong options", "3 no memory", "4 a failed self-test", "130 stopped"):
            self.assertIn(code, text)

    def test_every_command_has_help_that_names_it(self):
        for name in COMMANDS:
            with self.subTest(name):
                self.assertIn(f"trifuse {name}", self.succeed(name, "--help").out)
                self.assertEqual(self.succeed(name, "-h").out, self.succeed(name, "--help").out)

    def test_help_for_all_commands_names_their_options(self):
        text = self.succeed("--help-all").out
        for option in ("--omega2", "--left", "--rohf", "--journal", "--json", "--overwrite", "--repeats", "--no-check"):
            self.assertIn(option, text)

    def test_version_lists_the_features(self):
        text = self.succeed("--version").out
        self.assertRegex(text, r"\Atrifuse \d+\.\d+\.\d+")
        for feature in ("CPU", "CUDA", "MPI", "Fortran"):
            self.assertRegex(text, rf"{feature} (yes|no)")
        self.assertRegex(text, r"\nBLAS: \S")


class Descriptions(ProgramTest):
    def test_bash_completes_commands_options_and_values(self):
        script = self.folder / "completion"
        script.write_text(self.succeed("describe", "bash").out)
        for words, found in (("trifuse se", "selftest"), ("trifuse run --omeg", "--omega2"),
                             ("trifuse run --form spin", "spin-orbital spin-adapted"), ("trifuse convert --overw", "--overwrite")):
            process = subprocess.run(["bash", "-c", f'. {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _trifuse;'
                                      'echo "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True)
            self.assertEqual((process.stdout.strip(), process.stderr), (found, ""), words)


class ExitCodes(ProgramTest):
    """0 is met all over these tests, 130 in test_journal.py, and 4 would need a defect."""

    def test_wrong_options_end_with_2_and_say_so(self):
        water, target = str(WATER), str(self.folder / "out.h5")
        for arguments in ([], ["frobnicate"], ["--frobnicate"], ["run"], ["run", water, "--frobnicate"],
                          ["run", water, "another"], ["info"], ["info", water, "--journal", "j"],
                          ["convert", water], ["convert", water, target, "--json", "x"], ["selftest", "--quick"],
                          ["bench", "--repeats", "0"], ["run", water, "--omega2", "much"], ["run", water, "--omega2"],
                          ["run", water, "--omega2", "-0.1"], ["run", water, "--omega2", "nan"],
                          ["run", water, "--form", "other"], ["run", water, "--rohf", "other"],
                          ["run", water, "--rohf", "semicanonical"], ["run", water, "--executor", "gpu"],
                          ["run", water, "--tile-size", "0"], ["run", water, "--tile-size", "2.5"],
                          ["run", water, "--threads", "0"], ["run", water, "--threads", "-3"],
                          ["run", water, "--memory", "lots"], ["run", water, "--memory", "-2GiB"],
                          ["run", water, "--memory", "1KiB"], ["run", water, "--nwchem-tile-size", "x"],
                          ["run", str(DATA / "ch2_631g_c1_uhf_t3"), "--form", "spin-adapted"]):
            with self.subTest(arguments):
                outcome = trifuse(*arguments)
                self.assertEqual(outcome.code, 2, outcome)
                self.assertNotEqual(outcome.err, "")
                self.assertEqual(outcome.out, "")
        self.assert_nothing_but()

    def test_the_option_at_fault_is_named(self):
        for arguments, part in ((["run", WATER, "--frobnicate"], "--frobnicate"),
                                (["run", WATER, "--memory", "lots"], '--memory is "lots"; it must be an amount of memory'),
                                (["run", WATER, "--form", "other"], '--form is "other"; it must be auto, spin-orbital or spin-adapted'),
                                (["run", WATER, "--omega2", "-0.1"], '--omega2 is "-0.1"'),
                                (["run", WATER, "--rohf", "semicanonical"], "--rohf semicanonical")):
            self.assertIn(part, trifuse(*arguments).err)

    def test_a_command_line_that_does_not_fit_gets_one_sentence_with_a_cure(self):
        for arguments, sentence in (
                ((), "A command is missing; `trifuse --help` lists the commands."),
                (("--versoin",), "`trifuse` has no option --versoin; did you mean --version?"),
                (("run",), "`trifuse run` needs PATH; `trifuse run --help` explains it."),
                (("run", WATER, "--memry=4GiB"), "`trifuse run` has no option --memry; did you mean --memory?"),
                (("run", "--memry", "4GiB", WATER), "`trifuse run` has no option --memry; did you mean --memory?"),
                (("plan", "--tile_size", "3"), "`trifuse plan` has no option --tile_size; did you mean --tile-size?"),
                (("run", WATER, "--frobnicate"), "`trifuse run` has no option --frobnicate; `trifuse run --help` lists its options."),
                (("run", WATER, "more"), "`trifuse run` does not take the argument more; `trifuse run --help` lists what it takes."),
                (("run", WATER, "--threads"), "--threads has no value; `trifuse run --help` lists the possible ones."),
                (("run", WATER, "--omega2", "0,,1"), "--omega2 is 0,,1, with an empty member; leave out the comma, or give the value."),
                (("run", WATER, "--method=ct,"), "--method is ct,, with an empty member; leave out the comma, or give the value."),
                (("run", WATER, "--threads", "2", "--threads", "3"), "--threads has too many values; give it once, with one value."),
                (("run", WATER, "--memory", "4"), '--memory is "4", which means 4 bytes; write a unit, for example 4GiB.'),
                (("run", WATER, "--memory", "2000"), '--memory is "2000", which means 2000 bytes; write a unit, for example 2000MiB.')):
            with self.subTest(arguments):
                outcome = trifuse(*arguments)
                self.assert_one_sentence(outcome, 2, "")
                self.assertEqual(outcome.err, f"trifuse: {sentence}\n")
        self.assert_one_sentence(trifuse("run", WATER, "--executor", "gpu"), 2, "`trifuse run --help` lists the possible values")

    def test_a_reference_has_no_article(self):
        for arguments in (("run", WATER, "--rohf", "semicanonical"), ("run", DATA / "ch2_631g_c1_uhf_t3", "--form", "spin-adapted")):
            self.assert_one_sentence(trifuse(*arguments), 2, f"but that of {arguments[1]}")

    def test_an_absent_file_ends_with_1(self):
        for name in ("absent", "absent.h5"):
            path = self.folder / name
            outcome = self.assert_refused(path, naming=f"There is no file {path}")
            self.assertEqual("NWChem" in outcome.err, name == "absent")

    def test_an_unknown_command_names_the_nearest_one(self):
        for word, nearest in (("runn", "run"), ("covnert", "convert"), ("selftests", "selftest")):
            self.assert_one_sentence(trifuse(word, WATER), 2, f"'{word}'; did you mean '{nearest}'?")
        self.assert_one_sentence(trifuse("frobnicate"), 2, "'frobnicate'; the commands are run, info, plan,")

    def test_the_memory_that_a_message_names_is_enough(self):
        dump = self.folder / "water.h5"  # other tiles than those of NWChem's files: more tasks
        self.succeed("convert", WATER, dump)
        for path in (WATER, dump):
            refused = trifuse("run", path, "--memory", "1KiB")
            self.assert_one_sentence(refused, 2, "--memory allows 1.0 KiB")
            enough = re.search(r"give --memory (\S+) or more", refused.err)[1]
            self.succeed("run", path, "--memory", enough)

    def test_an_unwritable_report_ends_with_3_before_anything_is_read(self):
        for place in (self.folder / "no" / "such" / "folder.json", self.folder, "/dev/null", "/dev/full"):
            for name in ("run", "info", "bench"):
                with self.subTest(place=place, command=name):
                    # The exit code would be 1 if the program read the amplitudes.
                    self.assert_one_sentence(trifuse(name, self.folder / "absent", "--json", place), 3, place)
        self.assert_nothing_but()

    def test_output_that_cannot_be_written_ends_with_3(self):
        for arguments in (["run", WATER], ["run", WATER, "--quiet"], ["info", WATER], ["--help"], ["--version"]):
            with self.subTest(arguments), open("/dev/full", "w") as full:
                outcome = trifuse(*arguments, stdout=full)
                self.assertEqual(outcome.code, 3, outcome)
                self.assertRegex(outcome.err, r"\Atrifuse: [^\n]+\n\Z")

    def test_a_report_survives_output_that_cannot_be_written(self):
        report = self.folder / "report.json"
        with open("/dev/full", "w") as full:
            self.assertEqual(trifuse("run", WATER, "--json", report, stdout=full).code, 3)
        self.assertTrue(report.exists())

    @unittest.skipIf(sanitized(), "the address sanitizer ends a program that asks for too much memory")
    def test_too_little_memory_ends_with_3(self):
        outcome = trifuse("bench", "--occupied", 400, "--virtual", 4000, "--threads", 1)
        self.assert_one_sentence(outcome, 3, "memory")


if __name__ == "__main__":
    unittest.main()
