"""A run with --journal that was stopped or killed, or whose disk was full, resumes and gives the bits of an uninterrupted run."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from made_up_molecule import HALF_A_SECOND, MadeUpMolecule, write_made_up_molecule
from trifuse_program import (DATA, Outcome, ProgramTest, TIME_LIMIT, checked, command, energies_as_text, environment, read_report,
                             trifuse, trifuse_as_nobody, trifuse_under_file_limit)

HEADER_BYTES = 72
OMEGA2 = ("--omega2", "0,0.1")
RECORD_BYTES = 8 + 2 * 32 + 8
# Half a second on one core, in thousands of tasks.
OPTIONS = (*OMEGA2, "--form", "spin-orbital", "--tile-size", 2, "--quiet")
SLOW_OPTIONS = (*OPTIONS, "--executor", "reference")
WATER = DATA / "h2o_631g_c1_rhf_t5_2eorb" / "c"


def tasks_in(journal):
    """Finished tasks by the size of the file."""
    return max(0, journal.stat().st_size - HEADER_BYTES) // RECORD_BYTES if journal.exists() else 0


def wait_until_asleep(process_id):
    """Waits until the process has been idle for a while."""
    seen = 0
    while seen < 30:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
        seen = seen + 1 if state == "S" else 0
        time.sleep(0.01)


class JournalTest(ProgramTest):
    finished_runs = {}

    def setUp(self):
        super().setUp()
        self.source = write_made_up_molecule(self.folder / "molecule", **HALF_A_SECOND)
        self.journal = self.folder / "journal"
        self.report = self.folder / "report.json"
        self.random = random.Random(self.id())

    def arguments(self, *options):
        return ("run", self.source, "--journal", self.journal, "--json", self.report, *(options or SLOW_OPTIONS))

    def uninterrupted(self, *options):
        """Energies and number of tasks of a run without journal, which runs once for all tests with these options."""
        options = options or SLOW_OPTIONS
        if options not in self.finished_runs:
            path = self.folder / "uninterrupted.json"
            self.succeed("run", self.source, "--json", path, *options)
            self.finished_runs[options] = energies_as_text(path), read_report(path)["tasks"]["total"]
        return self.finished_runs[options]

    def start(self, *options):
        process = subprocess.Popen(command(*self.arguments(*options)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def end(self, process, with_signal):
        process.send_signal(with_signal)
        out, err = process.communicate(timeout=TIME_LIMIT)
        return checked(Outcome(process.returncode, out, err))

    def wait_for_tasks(self, process, number):
        """Waits until the run has finished this number of tasks or has ended."""
        deadline = time.monotonic() + TIME_LIMIT
        while tasks_in(self.journal) < number and process.poll() is None:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.0005)

    def interrupt(self, number, with_signal, *options):
        """The outcome of a run that gets the signal after this number of finished tasks.

        On a busy machine it may come to its end before this test sees that many. Then it begins again, with the journal as it was.
        """
        before = self.journal.read_bytes() if self.journal.exists() else None
        for _ in range(10):
            process = self.start(*options)
            self.wait_for_tasks(process, number)
            outcome = self.end(process, with_signal)
            if outcome.code != 0:
                return outcome
            self.report.unlink()
            self.journal.unlink()
            if before is not None:
                self.journal.write_bytes(before)
        self.fail("The run cannot be interrupted.")

    def finish(self, *options):
        """Resumes the run to its end. Returns the energies and the number of tasks from the journal."""
        self.succeed(*self.arguments(*options))
        report = read_report(self.report)
        self.assertEqual(tasks_in(self.journal), report["tasks"]["total"])
        return energies_as_text(self.report), report["tasks"]["from_journal"]


class Killed(JournalTest):
    def test_a_killed_run_goes_on_to_the_same_bits(self):
        for options in ((*SLOW_OPTIONS, "--threads", 1), (*SLOW_OPTIONS, "--threads", 2), (*OPTIONS, "--threads", 2)):
            with self.subTest(options):
                expected, total = self.uninterrupted(*options)
                self.journal.unlink(missing_ok=True)
                outcome = self.interrupt(self.random.randrange(1, total // 2), signal.SIGKILL, *options)
                self.assertEqual(outcome.code, -signal.SIGKILL)
                kept = tasks_in(self.journal)
                self.assertEqual(self.finish(*options), (expected, kept))

    def test_a_run_killed_again_and_again_goes_on_to_the_same_bits(self):
        expected, total = self.uninterrupted()
        for target in sorted(self.random.randrange(1, total * 4 // 5) for _ in range(6)):
            outcome = self.interrupt(max(target, tasks_in(self.journal) + 1), signal.SIGKILL)
            self.assertEqual(outcome.code, -signal.SIGKILL)
        kept = tasks_in(self.journal)
        self.assertEqual(self.finish(), (expected, kept))

    def test_a_kill_at_any_moment_of_the_beginning_does_no_harm(self):
        expected, _ = self.uninterrupted()
        kept = 0
        for _ in range(10):
            process = self.start()
            time.sleep(self.random.uniform(0.0, 0.05))
            self.end(process, signal.SIGKILL)
            self.assertGreaterEqual(tasks_in(self.journal), kept)
            kept = tasks_in(self.journal)
        self.assertEqual(self.finish(), (expected, kept))

    def test_a_kill_leaves_no_report_and_no_temporary_file(self):
        self.interrupt(10, signal.SIGKILL)
        self.assert_nothing_but("molecule", "journal")

    def test_another_number_of_threads_may_go_on(self):
        expected, _ = self.uninterrupted()
        self.interrupt(500, signal.SIGKILL, *SLOW_OPTIONS, "--threads", 1)
        kept = tasks_in(self.journal)
        self.assertEqual(self.finish(*SLOW_OPTIONS, "--threads", 3), (expected, kept))

    def test_a_finished_run_is_read_from_its_journal(self):
        expected, total = self.uninterrupted()
        self.assertEqual(self.finish(), (expected, 0))
        self.assertEqual(self.finish(), (expected, total))
        self.assertEqual(read_report(self.report)["operations"]["executed"], 0.0)


class Stopped(JournalTest):
    def test_a_signal_ends_the_run_with_130_and_a_sentence_and_it_goes_on(self):
        expected, total = self.uninterrupted()
        for number, which in enumerate((signal.SIGINT, signal.SIGTERM), start=1):
            outcome = self.interrupt(number * total // 4, which)
            kept = tasks_in(self.journal)
            self.assert_one_sentence(outcome, 130, f"Stopped after {kept} of {total} tasks", self.journal)
            self.assertEqual(outcome.out, "")
            self.assertFalse(self.report.exists())
        self.assertEqual(self.finish(), (expected, kept))

    def test_a_batch_system_that_repeats_its_signal_waits_for_the_tasks_under_way(self):
        options = (*OMEGA2, "--form", "spin-orbital", "--tile-size", 9, "--quiet", "--executor", "reference", "--threads", 1)
        expected, total = self.uninterrupted(*options)
        process = self.start(*options)
        self.wait_for_tasks(process, total // 4)
        repeated = 0
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
            repeated += 1
            time.sleep(0.002)
        kept = tasks_in(self.journal)
        self.assertGreater(repeated, 1)
        self.assert_one_sentence(Outcome(process.returncode, *process.communicate()), 130, f"Stopped after {kept} of {total} tasks")
        self.assertEqual(self.finish(*options), (expected, kept))

    def test_without_a_journal_the_sentence_names_the_option(self):
        process = subprocess.Popen(command("run", self.source, *(option for option in SLOW_OPTIONS if option != "--quiet")),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        while not process.stdout.readline().startswith("Memory"):
            self.assertIsNone(process.poll())
        time.sleep(0.1)
        self.assert_one_sentence(self.end(process, signal.SIGTERM), 130, "nothing was saved", "--journal FILE")

    def test_a_signal_while_factors_are_multiplied_ends_the_run_at_once(self):
        # Operands of this dump take a second on one core, and the signal comes before they are ready.
        dump = self.folder / "factors.h5"
        self.succeed("bench", "--occupied", 16, "--virtual", 40, "--factors", 3000, "--write", dump)
        process = subprocess.Popen(command("run", dump, "--device", "cpu", "--threads", 1), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        while not process.stdout.readline().startswith("Memory"):
            self.assertIsNone(process.poll())
        self.assert_one_sentence(self.end(process, signal.SIGINT), 130, "Stopped before the first task")

    def test_a_signal_while_files_are_read_ends_the_run_with_130(self):
        # A full pipe stops the run while it describes its input.
        reading_end, writing_end = os.pipe()
        self.addCleanup(os.close, reading_end)
        self.addCleanup(os.close, writing_end)
        os.set_blocking(writing_end, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(writing_end, bytes(4096))
        os.set_blocking(writing_end, True)
        process = subprocess.Popen(command("run", WATER), stdout=writing_end, stderr=subprocess.PIPE, text=True,
                                   env=environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stderr.close)
        wait_until_asleep(process.pid)
        self.assert_one_sentence(self.end(process, signal.SIGTERM), 130, "before the first task")


class Foreign(JournalTest):
    def test_a_journal_of_another_calculation_is_refused_and_left_alone(self):
        self.finish(*OPTIONS)
        content = self.journal.read_bytes()
        other = MadeUpMolecule(**HALF_A_SECOND, seed=2).write(self.folder / "other")
        same = self.convert(self.source)
        common = ("--journal", self.journal, "--json", self.folder / "other.json")
        for arguments in ((self.source, *OPTIONS[2:], "--omega2", "0,0.2"), (self.source, *OPTIONS[2:], "--omega2", "0"),
                          (self.source, *OPTIONS[2:], "--omega2", "0.1,0"), (self.source, *OMEGA2),
                          (self.source, *OMEGA2, "--form", "spin-orbital", "--tile-size", 4),
                          (other, *OPTIONS), (self.source, "--left", same, *OPTIONS), (WATER, *OMEGA2)):
            with self.subTest(arguments):
                self.assert_one_sentence(trifuse("run", *arguments, *common, "--quiet"), 2, self.journal, "another")
                self.assertEqual(self.journal.read_bytes(), content)
        self.assert_nothing_but("molecule", "other", "dump.h5", "journal", "report.json")

    def test_other_files_are_refused_and_left_alone(self):
        for content in (b"x", b"A letter to a friend.\n", bytes(1000), (WATER.parent / "c.t2amp.000000").read_bytes()):
            self.journal.write_bytes(content)
            self.assert_one_sentence(trifuse(*self.arguments()), 2, self.journal, "not a Trifuse journal")
            self.assertEqual(self.journal.read_bytes(), content)

    def test_tiles_of_another_size_are_refused_and_others_taken_from_the_journal(self):
        expected, total = self.uninterrupted(*OPTIONS)
        self.finish(*OPTIONS)
        common = (self.source, *OMEGA2, "--form", "spin-orbital", "--journal", self.journal, "--quiet")
        outcome = trifuse("run", *common, "--tile-size", 4, "--json", self.folder / "other.json")
        self.assert_one_sentence(outcome, 2, self.journal, "was started with tiles of 2", "--tile-size asks for 4")
        self.succeed("run", *common, "--json", self.report)
        self.assertEqual((energies_as_text(self.report), read_report(self.report)["tasks"]["from_journal"]), (expected, total))

    def test_the_journal_of_an_older_version_is_refused(self):
        self.journal.write_bytes(b"TRIFUSE1" + bytes(200))
        self.assert_one_sentence(trifuse(*self.arguments()), 2, self.journal, "older version")

    def test_a_journal_that_cannot_be_written_is_refused(self):
        self.finish(*OPTIONS)
        self.journal.chmod(0o444)
        talking = [option for option in OPTIONS if option != "--quiet"]  # the warnings of the checks are in the output
        outcome = trifuse_as_nobody("run", self.source, "--journal", self.journal, *talking)
        self.assert_one_sentence(outcome, 3, self.journal, "Permission denied")

    def test_places_that_cannot_hold_a_journal_are_refused(self):
        for place, code in ((self.folder, 3), (self.folder / "no" / "journal", 3), (Path("/dev/null"), 2)):
            self.journal = place
            self.assert_one_sentence(trifuse(*self.arguments()), code, place)
        self.assert_nothing_but("molecule")

    def test_a_link_leads_to_a_journal_that_exists_or_is_refused(self):
        """A new file never appears at the end of a link."""
        link, target = self.folder / "link", self.folder / "target"
        link.symlink_to(target)
        self.journal = link
        for form in ((), ("--executor", "cpu")):
            outcome = trifuse(*self.arguments(*OPTIONS, *form))
            self.assert_one_sentence(outcome, 2, link, "symbolic link")
            self.assertTrue(link.is_symlink() and not target.exists() and not self.report.exists())
        self.journal = target
        expected, kept = self.finish(*OPTIONS)
        self.assertEqual(kept, 0)
        self.journal = link
        again, kept = self.finish(*OPTIONS)
        self.assertEqual(again, expected)
        self.assertGreater(kept, 0)

    def test_a_journal_in_use_is_refused(self):
        process = self.start()
        self.wait_for_tasks(process, 10)
        process.send_signal(signal.SIGSTOP)
        self.assert_one_sentence(trifuse(*self.arguments()), 2, self.journal, "in use")


class AnotherKindOfWorker(JournalTest):
    def test_it_goes_on_to_the_same_digits_and_says_so(self):
        expected, _ = self.uninterrupted(*OPTIONS)
        self.interrupt(200, signal.SIGKILL, *SLOW_OPTIONS)
        kept = tasks_in(self.journal)
        out = self.succeed(*(argument for argument in self.arguments(*OPTIONS) if argument != "--quiet")).out
        self.assertIn(f"\nJournal      another kind of device computed {kept} of its tasks", out)
        report = read_report(self.report)
        self.assertEqual(report["tasks"]["from_other_kind"], kept)
        for found, wanted in zip(report["energies"], json.loads(expected), strict=True):
            for name in ("E[T]", "E(T)"):
                self.assertAlmostEqual(found[name] / float(wanted[name]), 1.0, delta=1e-12)


class Damaged(JournalTest):
    def warnings_about_the_journal(self):
        return [warning for warning in read_report(self.report)["warnings"] if "journal" in warning]

    def test_records_that_are_cut_or_altered_are_computed_again(self):
        options = OPTIONS
        expected, total = self.uninterrupted(*options)
        self.finish(*options)
        whole = self.journal.read_bytes()
        header = HEADER_BYTES
        for size in (0, 1, 8, header - 1, header, header + 1, header + RECORD_BYTES, header + 100 * RECORD_BYTES + 7, len(whole) - 1):
            self.journal.write_bytes(whole[:size])
            self.assertEqual(self.finish(*options), (expected, max(0, size - header) // RECORD_BYTES))
        for _ in range(5):
            damaged = bytearray(whole)
            place = self.random.randrange(header, len(whole))
            damaged[place] ^= 1 << self.random.randrange(8)
            self.journal.write_bytes(damaged)
            self.assertEqual(self.finish(*options), (expected, total - 1))
            warning, = self.warnings_about_the_journal()
            self.assertRegex(warning, rf"\AThe journal .* is damaged, .*: of its {total} records 1 has a wrong checksum, the first at byte")
            self.assertEqual(self.finish(*options), (expected, total))
            self.assertEqual(self.warnings_about_the_journal(), [])
        self.journal.write_bytes(whole + bytes(3))
        self.assertEqual(self.finish(*options), (expected, total))


class FullDisk(JournalTest):
    def go_on_elsewhere(self, expected):
        """Also in the folder to which the journal was moved."""
        kept = tasks_in(self.journal)
        self.assertGreater(kept, 100)
        moved = self.folder / "moved"
        shutil.copyfile(self.journal, moved)
        self.journal = moved
        self.assertEqual(self.finish(), (expected, kept))

    def test_a_limit_of_file_sizes_ends_the_run_with_3_and_it_goes_on(self):
        expected, _ = self.uninterrupted()
        outcome = trifuse_under_file_limit(64, *self.arguments())
        self.assert_one_sentence(outcome, 3, self.journal, "File too large")
        self.assertFalse(self.report.exists())
        self.go_on_elsewhere(expected)

    def test_a_full_disk_ends_the_run_with_3_and_it_goes_on(self):
        expected, _ = self.uninterrupted()
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("Nothing can be mounted here.")
        self.addCleanup(subprocess.run, ["umount", str(disk)])
        self.journal = disk / "journal"
        outcome = trifuse(*self.arguments())
        self.assert_one_sentence(outcome, 3, self.journal, "No space left on device", "Free some space")
        self.assertFalse(self.report.exists())
        # The disk is still full: the same sentence, and no task is lost.
        kept = tasks_in(self.journal)
        self.assert_one_sentence(trifuse(*self.arguments()), 3, self.journal)
        self.assertEqual(tasks_in(self.journal), kept)
        self.go_on_elsewhere(expected)


if __name__ == "__main__":
    unittest.main()
