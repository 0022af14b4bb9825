"""No option makes the program overwrite an input, a journal or a file of another program."""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import unittest

from made_up_molecule import HALF_A_SECOND, write_made_up_molecule
from trifuse_program import (DATA, Outcome, ProgramTest, command, environment, pairs, read_report, trifuse, trifuse_as_nobody,
                             trifuse_under_file_limit)

WATER = "h2o_631g_c1_rhf_t5_2eorb"
BENCH = ("bench", "--occupied", 3, "--virtual", 5, "--threads", 1, "--repeats", 1)
# The commands that describe a dump, with as little work as possible.
ONCE_EACH = (("info",), ("run", "--threads", 1), ("plan",), ("bench", "--threads", 1, "--repeats", 1))
JOURNAL = b"TRIFUSE2" + bytes(80)
REPORT = {"program": "trifuse", "schema_version": 1, "version": "0.1.0"}


def fingerprint(path):
    """The contents and the identity of a file, and the target of a link."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return "link", os.readlink(path)
    if not stat.S_ISREG(status.st_mode):
        return "other", status.st_ino, status.st_mode
    return status.st_ino, hashlib.sha256(path.read_bytes()).hexdigest()


class OutputTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.dump = self.convert(DATA / WATER, "in.h5")

    def commands(self, dump=None):
        """(name, command line before the output, option of the output) of everything that writes a file."""
        dump = dump or self.dump
        yield "run", ("run", dump, "--threads", 1), "--json"
        yield "derivatives", ("run", dump, "--threads", 1), "--derivatives"
        yield "info", ("info", dump, "--threads", 1), "--json"
        for option in ("--json", "--trace"):
            yield "plan", ("plan", dump), option
        yield "bench", ("bench", dump, "--threads", 1, "--repeats", 1), "--json"
        yield "write", BENCH, "--write"
        yield "convert", ("convert", dump), None

    def attempt(self, line, option, path, *more, **options):
        return trifuse(*line, *([] if option is None else [option]), path, *more, **options)

    def assert_kept(self, line, option, path, *watched, code=2, saying="", **options):
        """The output is refused with one sentence, with and without --overwrite, and no file changes or appears."""
        before = {name: fingerprint(name) for name in sorted(self.folder.rglob("*")) if not name.is_dir()}
        watched = {name: fingerprint(name) for name in watched}
        for more in ((), ("--overwrite",)):
            with self.subTest(line=[str(word) for word in line], option=option, path=str(path), more=more):
                outcome = self.attempt(line, option, path, *more, **options)
                self.assert_one_sentence(outcome, code, *([saying] if more else []))
                self.assertEqual(outcome.out, "")
                self.assertEqual(before, {name: fingerprint(name) for name in sorted(self.folder.rglob("*"))
                                          if not name.is_dir()})
                self.assertEqual(watched, {name: fingerprint(name) for name in watched})


class Inputs(OutputTest):
    def spellings(self, path):
        """Ways to name a file: itself, another spelling, a hard link and a symbolic link."""
        hard, soft = path.with_name(path.name + "_hard"), path.with_name(path.name + "_soft")
        os.link(path, hard)
        soft.symlink_to(path)
        yield path
        yield path.parent / "." / ".." / path.parent.name / path.name
        yield f"{path.parent}//{path.name}"
        yield hard
        yield soft

    def test_a_dump_is_never_overwritten_by_what_is_made_of_it(self):
        for spelling, (name, line, option) in pairs(self.spellings(self.dump), self.commands()):
            if name != "write":
                self.assert_kept(line, option, spelling, saying="is never overwritten")

    def test_a_dump_that_a_link_names_is_an_input_too(self):
        link = self.folder / "link.h5"
        link.symlink_to(self.dump)
        for name, line, option in self.commands(link):
            if name != "write":
                self.assert_kept(line, option, self.dump, saying="is never overwritten")

    def test_no_file_of_nwchem_is_overwritten(self):
        copy = self.copy_of(WATER)
        for prefix in (copy / "c", copy):
            for file, (name, line, option) in pairs(sorted(copy.iterdir()), self.commands(prefix)):
                if name == "write" or (option != "--json" and file.name != "c.out"):
                    continue
                self.assert_kept(line, option, file, saying="is never overwritten")

    def test_files_that_options_name_are_inputs(self):
        copy = self.copy_of(WATER)
        output, movecs = self.folder / "water.txt", self.folder / "orbitals"
        (copy / "c.out").rename(output)
        (copy / "c.movecs").rename(movecs)
        line = ("run", copy / "c", "--nwchem-output", output, "--nwchem-movecs", movecs)
        for file in (output, movecs):
            self.assert_kept(line, "--json", file, saying="is never overwritten")
        left = self.folder / "left.h5"
        shutil.copyfile(self.dump, left)
        for name in ("run", "info"):
            self.assert_kept((name, self.dump, "--left", left), "--json", left, saying="is never overwritten")
        # An output of NWChem with another name, which is found in the folder.
        output.rename(copy / "calculation.out")
        self.assert_kept(("run", copy / "c"), "--json", copy / "calculation.out", saying="is never overwritten")

    def test_measured_runs_are_inputs(self):
        report = self.folder / "measured.json"
        report.write_text(json.dumps({**REPORT, "report": "plan"}))
        for option in ("--json", "--trace"):
            self.assert_kept(("plan", self.dump, "--measured", report), option, report, saying="is never overwritten")


class Journals(OutputTest):
    def test_the_journal_of_the_run_is_no_report(self):
        journal = self.folder / "journal"
        for name in ("journal", "journal.rank1", "journal.rank12"):
            self.assert_kept(("run", self.dump, "--journal", journal), "--json", self.folder / name, saying="journal")
        self.succeed("run", self.dump, "--journal", journal, "--threads", 1, "--json", self.folder / "journal.rank")
        self.assert_kept(("run", self.dump, "--journal", journal), "--json", journal, saying="journal")

    def test_no_journal_is_overwritten(self):
        journal = self.folder / "other"
        self.succeed("run", self.dump, "--journal", journal, "--threads", 1)
        old = self.folder / "old"
        old.write_bytes(b"TRIFUSE1" + bytes(80))
        for file in (journal, old):
            for _, line, option in self.commands():
                self.assert_kept(line, option, file, saying="is a journal")


class ExistingFiles(OutputTest):
    def test_files_of_others_are_replaced_only_when_that_is_allowed(self):
        contents = [b"", b"precious", b"{}", b"[1]", b'{"program": "trifuse"}', b'{"traceEvents":[]}', b"\x89PNG",
                    b'{"program": "trifuse", "report": "other", "schema_version": 1}', b"{" * 100000]
        for (name, line, option), content in pairs(self.commands(), contents):
            with self.subTest(name, option=option, content=content[:70]):
                path = self.folder / "precious"
                path.write_bytes(content)
                outcome = self.attempt(line, option, path)
                self.assert_one_sentence(outcome, 2, path, "exists already", "overwrit")
                self.assertEqual(outcome.out, "")
                self.assertEqual(path.read_bytes(), content)
                path.unlink()
        for name, line, option in self.commands():
            with self.subTest(name, option=option):
                path.write_bytes(b"precious")
                outcome = self.attempt(line, option, path, "--overwrite")
                self.assertEqual((outcome.code, outcome.err), (0, ""))
                self.assertNotEqual(path.read_bytes(), b"precious")
                path.unlink()
        self.assert_nothing_but("in.h5")

    def test_an_earlier_output_of_the_same_command_is_replaced(self):
        for name, line, option in self.commands():
            if name in ("convert", "write", "derivatives"):
                continue
            with self.subTest(name, option=option):
                path = self.folder / "output"
                for _ in range(2):
                    outcome = self.attempt(line, option, path)
                    self.assertEqual((outcome.code, outcome.err), (0, ""))
                others = [(other, each) for kind, other, each in self.commands()
                          if kind not in ("convert", "write", "derivatives", name) or (each == "--json") != (option == "--json")]
                for other, each in others:
                    self.assert_one_sentence(self.attempt(other, each, path), 2, path, "exists already")
                path.unlink()

    def test_links_are_refused(self):
        target, link, dangling = self.folder / "target", self.folder / "link", self.folder / "dangling"
        target.write_text("precious")
        link.symlink_to(target)
        dangling.symlink_to(self.folder / "absent")
        loop = self.folder / "loop"
        loop.symlink_to(loop)
        for (_, line, option), path in pairs(self.commands(), (link, dangling, loop)):
            self.assert_kept(line, option, path, saying="symbolic link")

    def test_what_is_no_file_is_refused(self):
        directory, pipe = self.folder / "directory", self.folder / "pipe"
        directory.mkdir()
        os.mkfifo(pipe)
        for name, line, option in self.commands():
            self.assert_kept(line, option, directory, code=2 if name in ("convert", "write") else 3)
            for path in (pipe, "/dev/null", "/dev/full"):
                for more in ((), ("--overwrite",)):
                    self.assertIn(self.attempt(line, option, path, *more, limit=60).code, (2, 3), (name, path))
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
        self.assertEqual(list(directory.iterdir()), [])

    def test_an_existing_file_that_cannot_be_read_is_kept(self):
        outcome = trifuse("run", self.dump, "--json", "/proc/self/mem")
        self.assert_one_sentence(outcome, 2, "/proc/self/mem", "not an earlier report")

    def test_two_outputs_need_two_files(self):
        same = self.folder / "same"
        outcome = trifuse("plan", self.dump, "--json", same, "--trace", f"{self.folder}/./same", "--overwrite")
        self.assert_one_sentence(outcome, 2, "--json", "--trace", "same file")
        self.assert_one_sentence(trifuse(*BENCH, "--write", same, "--json", self.folder / "x"), 2, "--write", "--json")
        self.assert_nothing_but("in.h5")

    def test_a_folder_that_cannot_be_written_is_said_before_the_work(self):
        closed = self.folder / "closed"
        closed.mkdir(mode=0o555)
        for _, line, option in self.commands():
            line = tuple(str(word) for word in line)
            outcome = trifuse_as_nobody(*line, *([] if option is None else [option]), closed / "x")
            self.assert_one_sentence(outcome, 3, closed / "x")
            self.assertEqual(outcome.out, "")


class Writing(OutputTest):
    """Another file takes the name of an output between the first check and the end of the run."""

    def write_while_a_run_computes(self, content, *more):
        """The outcome of a run during which another file takes the name of its report, and that file."""
        report = self.folder / "report.json"
        source = write_made_up_molecule(self.folder / "molecule", **HALF_A_SECOND)
        line = command("run", source, "--form", "spin-orbital", "--tile-size", 2, "--executor", "reference", "--json", report, *more)
        process = subprocess.Popen(line, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        beginning = process.stdout.readline()  # is shown before the first task
        self.assertFalse(report.exists())
        report.write_text(content)
        out, err = process.communicate(timeout=300)
        shutil.rmtree(self.folder / "molecule")
        self.assert_nothing_but("in.h5", "report.json")
        return Outcome(process.returncode, beginning + out, err), report

    def test_a_file_that_appears_meanwhile_is_kept(self):
        for content in ("precious", json.dumps({**REPORT, "report": "run"})):
            outcome, report = self.write_while_a_run_computes(content)
            self.assert_one_sentence(outcome, 3, report)
            self.assertIn("could not be written", outcome.out)
            self.assertEqual(report.read_text(), content)
            report.unlink()
        outcome, report = self.write_while_a_run_computes("precious", "--overwrite")
        self.assertEqual(outcome.code, 0)
        self.assertEqual(read_report(report)["report"], "run")

    def test_a_journal_that_appears_meanwhile_is_kept(self):
        outcome, report = self.write_while_a_run_computes(JOURNAL.decode(), "--overwrite")
        self.assert_one_sentence(outcome, 3, report, "journal")
        self.assertEqual(report.read_bytes(), JOURNAL)

    def test_a_report_that_cannot_be_written_is_said_beside_the_energies(self):
        report = self.folder / "report.json"
        for more in ((), ("--quiet",)):
            outcome = trifuse_under_file_limit(0, "run", self.dump, "--json", report, *more)
            self.assert_one_sentence(outcome, 3, report)
            self.assertIn("E(T)", outcome.out)
            self.assertRegex(outcome.out, rf"\nWARNING      The report {re.escape(str(report))} could not be written\.\n\Z")
        self.assert_nothing_but("in.h5")

    def test_derivatives_that_cannot_be_written_leave_no_report(self):
        report, derivatives = self.folder / "report.json", self.folder / "derivatives.h5"
        outcome = trifuse_under_file_limit(1, "run", self.dump, "--json", report, "--derivatives", derivatives)
        self.assert_one_sentence(outcome, 3, derivatives)
        self.assertRegex(outcome.out, rf"\nWARNING      The file of derivatives {re.escape(str(derivatives))} could not be written\.\n\Z")
        self.assert_nothing_but("in.h5")

    def test_derivatives_need_a_file(self):
        self.assert_one_sentence(trifuse("run", self.dump, "--derivatives", "-"), 2, "the name of a file")
        self.assert_one_sentence(trifuse("run", self.dump, "--derivatives-of", "t"), 2, "--derivatives-of requires --derivatives")
        self.assert_nothing_but("in.h5")

    def test_no_output_is_left_in_parts(self):
        for name, line, option in self.commands():
            for kilobytes in (0, 1):
                if kilobytes == 1 and (name in ("run", "info", "bench") or option == "--trace"):
                    continue  # these outputs are smaller
                with self.subTest(name, option=option, kilobytes=kilobytes):
                    words = (*line, *([] if option is None else [option]), self.folder / "output")
                    self.assert_one_sentence(trifuse_under_file_limit(kilobytes, *words), 3, "output")
                    self.assert_nothing_but("in.h5")

    def test_a_failure_leaves_the_earlier_report(self):
        report = self.folder / "report.json"
        self.succeed("run", self.dump, "--json", report)
        before = fingerprint(report)
        self.assertEqual(trifuse_under_file_limit(0, "run", self.dump, "--json", report).code, 3)
        self.assertEqual(fingerprint(report), before)

    def test_a_long_name_is_possible(self):
        report = self.folder / ("r" * 255)
        self.succeed("run", self.dump, "--json", report)
        self.assertEqual(read_report(report)["program"], "trifuse")
        self.assert_one_sentence(trifuse("run", self.dump, "--json", self.folder / ("r" * 256)), 3, "r" * 256)


class Streams(OutputTest):
    """Standard streams that are closed, full, or without a reader."""

    def shell(self, line, *arguments):
        words = " ".join(f"'{word}'" for word in command(*arguments))
        return subprocess.run(["bash", "-c", line.format(words)], env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300, cwd=self.folder)

    def test_errors_end_with_their_code_when_nobody_can_read_them(self):
        cases = [(("run", "absent"), 1), (("run", self.dump, "--memory", "much"), 2), (("frobnicate",), 2), ((), 2),
                 (("run", self.dump, "--json", "/no/such/place"), 3), (("convert", self.dump, self.dump), 2),
                 (("info", "absent"), 1), (("plan", "absent"), 1), (("bench", "absent"), 1)]
        redirections = ("2>&-", "2>/dev/full", "2> >(true)", ">&- 2>&-", "<&- >&- 2>&-")
        for redirection, (arguments, code) in pairs(redirections, cases):
            with self.subTest(redirection, arguments=arguments):
                self.assertEqual(self.shell("{} " + redirection, *arguments).returncode, code)

    def test_warnings_and_progress_do_not_need_a_reader(self):
        for redirection in ("2>&-", "2>/dev/full"):
            outcome = self.shell("{} " + redirection, "run", self.dump, "--json", "report.json")
            self.assertEqual(outcome.returncode, 0)
            self.assertIn("E(T)", outcome.stdout)
            self.assertEqual(self.shell("{} " + redirection, "convert", self.dump, "x.h5", "--overwrite").returncode, 0)

    def test_what_is_printed_never_gets_into_a_file(self):
        redirections = (">&-", "2>&-", ">&- 2>&-", "<&- >&-", "<&- >&- 2>&-")
        for (name, line, option), redirection in pairs(self.commands(), redirections):
            with self.subTest(name, option=option, redirection=redirection):
                words = (*line, *([] if option is None else [option]), "output")
                code = self.shell("{} " + redirection, *words).returncode
                silent = name == "write" or ">&- " not in f" {redirection} ".replace("2>&-", "")
                self.assertEqual(code, 0 if silent else 3)
                content = (self.folder / "output").read_bytes()
                if option in ("--json", "--trace"):
                    json.loads(content)
                else:
                    self.assertRegex(content, rb"\A\x89HDF")
                (self.folder / "output").unlink()

    def test_a_reader_that_goes_away_does_not_take_the_report_with_it(self):
        for name in ("run", "info", "plan"):
            with self.subTest(name):
                outcome = self.shell("{{ {}; echo $? >code; }} | true", name, self.dump, "--json", "report.json")
                self.assertEqual((self.folder / "code").read_text(), "3\n")
                self.assertRegex(outcome.stderr, r"\Atrifuse: Standard output could not be written completely, because the program "
                                 r"that reads it has ended; [^\n]+\n\Z")
                self.assertEqual(read_report(self.folder / "report.json")["report"], name)
                (self.folder / "report.json").unlink()

    def test_output_that_is_not_shown_is_no_success(self):
        for arguments in (("run", self.dump), ("info", self.dump), ("plan", self.dump), BENCH, ("selftest",), ("--help",),
                          ("--version",), ("convert", self.dump, "x.h5", "--overwrite")):
            for redirection in (">&-", ">/dev/full"):
                with self.subTest(redirection, arguments=arguments):
                    outcome = self.shell("{} " + redirection, *arguments)
                    self.assertEqual(outcome.returncode, 3)
                    self.assertRegex(outcome.stderr, r"\Atrifuse: [^\n]+\n\Z")


# Characters that a terminal obeys, and what the program shows of them.
ATTACKS = {"\x1b[2J\x1b[H": r"\x1b[2J\x1b[H", "\nE(T)": r"\nE(T)", "\r  0": r"\r  0", "\x7f": r"\x7f", "\u009b1A": r"\x9b1A",
           "\u202e4100.0-": r"\u202e4100.0-", "\u2066": r"\u2066", "\u2028": r"\u2028", "\x07": r"\x07", "\t": r"\t"}
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffd]")


class Terminal(OutputTest):
    """Control characters in text of other programs are shown, and have no effect."""

    def assert_harmless(self, *texts):
        for text in texts:
            self.assertIsNone(OBEYED.search(text), ascii(text))

    def test_names_of_files_and_options_are_shown_not_obeyed(self):
        name, shown = f"a{'b'.join(ATTACKS)}c", f"a{'b'.join(ATTACKS.values())}c"
        for line in (("run", name), ("info", name), ("convert", name, "x"), ("bench", name), ("plan", name),
                     ("run", self.dump, "--left", name), ("run", self.dump, "--json", f"{name}/x"), ("run", name, name),
                     ("run", self.dump, "--form", name), ("run", self.dump, f"--{name}"), ("run", self.dump, "--memory", name),
                     ("plan", self.dump, "--assume", name), ("plan", self.dump, "--measured", name)):
            with self.subTest(line=ascii(line)):
                outcome = trifuse(*line, cwd=self.folder)
                self.assertIn(outcome.code, (1, 2, 3))
                self.assertEqual(outcome.out, "")
                self.assert_harmless(outcome.err)
                self.assertLessEqual(outcome.err.count("\n"), 2)
                self.assertIn(shown, outcome.err)
        dump = self.folder / f"{name}.h5"
        shutil.copyfile(self.dump, dump)
        for words in ONCE_EACH:
            with self.subTest(words):
                outcome = self.succeed(*words, dump, "--json", self.folder / f"{name}.json")
                self.assert_harmless(outcome.out)
                self.assertIn(shown, outcome.out)
                report = (self.folder / f"{name}.json").read_text(encoding="utf-8")
                self.assertTrue(report.isascii())
                self.assert_harmless(report)
                self.assertEqual(json.loads(report)["input"]["path"], str(dump))
                (self.folder / f"{name}.json").unlink()

    def test_bytes_that_are_no_text_are_shown_as_numbers(self):
        name = os.fsencode(self.folder / "dump") + b"\xff\xc0\xaf\xed\xa0\x80.h5"
        shutil.copyfile(self.dump, name)
        out = subprocess.run([*command("info"), name], env=environment(), capture_output=True, timeout=300).stdout
        self.assertIn(rb"dump\xff\xc0\xaf\xed\xa0\x80.h5", out)

    def write_comment(self, text):
        try:
            import h5py
        except ImportError:
            self.skipTest("this Python has no h5py")
        dump = self.folder / "commented.h5"
        shutil.copyfile(self.dump, dump)
        with h5py.File(dump, "r+") as file:
            del file["seal"], file.attrs["seal_block"], file.attrs["minor_version"]  # which a change breaks
            for name in ("comment", "molecule", "basis", "program"):
                file.attrs.pop(name, None)
                data = text if isinstance(text, bytes) else text.encode()
                file.attrs[name] = data
        return dump

    def test_attributes_cannot_forge_a_result(self):
        table = "\n\n  omega2              E[T] / Eh              E(T) / Eh  method\n       0     -0.071200000000000     -0.071100000000000  CCSD(T)\n"
        plain = self.succeed("info", self.dump).out.count("\n")
        texts = [table, table.replace("\n", "\r\n"), table.replace("\n", "\u2028"), table.replace("\n", " " * 200),
                 "\x1b[1A" + table, "\u202e" + table, "a" * 5000]
        for text in texts:
            with self.subTest(text[:20]):
                dump = self.write_comment(text)
                for words in ONCE_EACH:
                    out = self.succeed(*words, dump).out
                    self.assert_harmless(out)
                    for line in out.splitlines():
                        if "-0.071" in line or "aaaaaaaa" in line:
                            self.assertRegex(line, r"\A {13}(comment|molecule|basis|program): ")
                            self.assertLess(len(line), 240)
                            self.assertNotIn("  ", line.strip())
                out = self.succeed("info", dump).out
                self.assertLess(out.count("\n"), plain + 5)
                report = self.report_of(dump)
                self.assertEqual(report["input"]["provenance"]["comment"], text.rstrip(" "))


if __name__ == "__main__":
    unittest.main()
