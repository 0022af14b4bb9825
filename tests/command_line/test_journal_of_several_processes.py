"""`mpirun -n N trifuse run --journal`: a job that was killed or stopped goes on with any number of ranks to the same bits."""

import os
import random
import signal
import subprocess
import time
import unittest
from pathlib import Path

from launched_run import LaunchedRun
from made_up_molecule import HALF_A_SECOND, write_made_up_molecule
from trifuse_program import (REFUSAL_TIME_LIMIT, TIME_LIMIT, command, energies_as_text, environment, mpirun, read_report, trifuse)

HEADER_BYTES = 72
RECORD_BYTES = 8 + 2 * 32 + 8


class Journal(LaunchedRun):
    """The next job, with any number of ranks, has all tasks that a job had finished before it was ended in any way."""

    # Energies and number of tasks of a run without journal, the same for all tests.
    expected, total = None, 0

    def setUp(self):
        super().setUp()
        self.source = write_made_up_molecule(self.folder / "molecule", **HALF_A_SECOND)
        self.journal, self.report = self.folder / "journal", self.folder / "report.json"
        self.random = random.Random(self.id())
        self.options = (self.source, "--omega2", "0,0.1", "--form", "spin-orbital", "--tile-size", 2, "--executor", "reference",
                        "--threads", 1, "--quiet", "--json", self.report)
        self.with_journal = (*self.options, "--journal", self.journal)
        if Journal.expected is None:
            self.succeed("run", *self.options)
            Journal.expected, Journal.total = energies_as_text(self.report), read_report(self.report)["tasks"]["total"]
            self.report.unlink()

    def files(self):
        return [self.journal, *self.folder.glob("journal.rank*")]

    def tasks(self):
        """Finished tasks by the sizes of all files."""
        sizes = [path.stat().st_size for path in self.files() if path.exists()]
        return sum(max(0, size - HEADER_BYTES) // RECORD_BYTES for size in sizes)

    def start_and_wait(self, ranks, tasks):
        """A job whose ranks are stopped after this number of finished tasks.

        On a busy machine it may come to its end before this test sees that many. Then it begins again, with the files as they were.
        """
        before = {path: path.read_bytes() for path in self.files() if path.exists()}
        for _ in range(10):
            self.start(ranks, *self.with_journal)
            deadline = time.monotonic() + TIME_LIMIT
            while self.tasks() < tasks and self.launcher.poll() is None:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.001)
            if self.hold() == ranks:
                self.find_processes(ranks)
                return
            self.let_go()
            self.assertEqual((*self.launcher.communicate(timeout=TIME_LIMIT), self.launcher.returncode), ("", "", 0))
            for path in self.files():
                path.unlink()
            for path, content in before.items():
                path.write_bytes(content)
            self.report.unlink()
        self.fail("The job cannot be interrupted.")

    def kill_all(self):
        """Kills all ranks, as if a node lost its power."""
        for process in self.freeze():
            self.signal_if_there(process, signal.SIGKILL)
        self.assertNotEqual(self.wait_for_end().code, 0)

    def finish(self, ranks):
        """Resumes the job to its end. Returns the number of tasks from the journal."""
        outcome = mpirun((ranks, ("run", *self.with_journal))) if ranks > 1 else trifuse("run", *self.with_journal)
        self.assertEqual(outcome, (0, "", ""))
        self.assertEqual(energies_as_text(self.report), self.expected)
        self.assertEqual(self.tasks(), self.total)
        return read_report(self.report)["tasks"]["from_journal"]

    def test_a_killed_job_goes_on_with_any_number_of_ranks_to_the_same_bits(self):
        for before, after in ((3, 1), (2, 3), (1, 2), (3, 2)):
            with self.subTest(before=before, after=after):
                for path in self.files():
                    path.unlink(missing_ok=True)
                if before > 1:
                    self.start_and_wait(before, self.random.randrange(1, self.total * 3 // 4))
                    self.kill_all()
                else:
                    process = subprocess.Popen(command("run", *self.with_journal), env=environment())
                    while self.tasks() < self.total // 3:
                        time.sleep(0.001)
                    process.kill()
                    process.wait()
                kept = self.tasks()
                self.assertEqual(self.finish(after), kept)

    def test_a_job_killed_again_and_again_goes_on_to_the_same_bits(self):
        for part, ranks in ((0.15, 2), (0.3, 3), (0.45, 2), (0.6, 4)):
            self.start_and_wait(ranks, max(int(part * self.total), self.tasks() + 1))
            self.kill_all()
        kept = self.tasks()
        self.assertEqual(self.finish(3), kept)
        self.assertEqual(self.finish(2), self.total)

    def test_a_kill_at_any_moment_of_the_beginning_does_no_harm(self):
        for _ in range(4):
            self.start(2, *self.with_journal)
            time.sleep(self.random.uniform(0.0, 0.6))
            self.kill_all()
        kept = self.tasks()
        self.assertEqual(self.finish(2), kept)

    def test_the_death_of_one_rank_ends_the_job_and_loses_nothing_that_was_kept(self):
        for rank in (1, 0):
            for path in self.files():
                path.unlink(missing_ok=True)
            self.start_and_wait(3, self.total // 8)
            os.kill(self.processes[rank], signal.SIGKILL)
            self.let_go()
            self.assertNotEqual(self.wait_for_end().code, 0)
            kept = self.tasks()
            self.assertGreaterEqual(kept, self.total // 8)
            self.assertEqual(self.finish(2), kept)

    def test_a_job_that_is_stopped_says_how_it_goes_on(self):
        self.start_and_wait(3, self.total // 4)
        os.kill(self.processes[1], signal.SIGTERM)
        self.let_go()
        outcome = self.wait_for_end()
        self.assert_told_once(outcome, 130, "resumes from the journal", self.journal)
        kept = self.tasks()
        self.assertEqual(self.finish(1), kept)

    def test_files_that_are_cut_are_repaired(self):
        self.finish(3)
        whole = {path: path.read_bytes() for path in self.files()}
        for path, content in whole.items():
            for size in (0, self.random.randrange(1, HEADER_BYTES), self.random.randrange(HEADER_BYTES, len(content))):
                for other in self.files():
                    other.unlink()
                for other, its_content in whole.items():
                    other.write_bytes(its_content)
                path.write_bytes(content[:size])
                kept = self.tasks()
                self.assertEqual(self.finish(self.random.choice((2, 3))), kept)

    def test_a_second_job_with_the_same_journal_is_refused_once(self):
        self.start_and_wait(2, 10)
        files = sorted(self.folder.iterdir())
        outcome = mpirun((3, ("run", *self.with_journal)), limit=REFUSAL_TIME_LIMIT)
        self.assert_told_once(outcome, 2, self.journal, "in use by another run")
        self.assertEqual(sorted(self.folder.iterdir()), files)
        self.kill_all()

    def test_places_and_files_that_are_no_journal_are_refused_once(self):
        blocked = self.folder / "blocked"
        for name in ("blocked", "blocked.rank1"):
            with self.subTest(name):
                (self.folder / name).write_text("A letter to a friend.\n")
                outcome = mpirun((2, ("run", *self.options, "--journal", blocked)), limit=REFUSAL_TIME_LIMIT)
                self.assert_told_once(outcome, 2, self.folder / name, "not a Trifuse journal")
                self.assertEqual((self.folder / name).read_text(), "A letter to a friend.\n")
                for path in self.folder.glob("blocked*"):
                    path.unlink()
        for place, code in ((self.folder, 3), (self.folder / "no" / "journal", 3), (Path("/dev/null"), 2)):
            with self.subTest(place=place):
                outcome = mpirun((2, ("run", *self.options, "--journal", place)), limit=REFUSAL_TIME_LIMIT)
                self.assert_told_once(outcome, code, place)
        self.assert_nothing_but("molecule")

    def test_a_file_of_one_rank_that_cannot_be_written_ends_all(self):
        (self.folder / "journal.rank1").mkdir()
        outcome = mpirun((3, ("run", *self.with_journal)), limit=REFUSAL_TIME_LIMIT)
        self.assert_told_once(outcome, 3, self.folder / "journal.rank1", "Is a directory")


if __name__ == "__main__":
    unittest.main()
