"""What the tests of several processes share: jobs that go on while a test looks at their ranks, and how they end."""

import os
import select
import signal
import subprocess
import time
from pathlib import Path

from trifuse_program import (LOOKS_LIKE_AN_ENERGY, Outcome, PROGRAM, ProgramTest, TIME_LIMIT, checked, has_mpi, launched,
                             without_launcher)

# Seconds, on a busy machine. The longest run of these tests takes longer where nobody ends it.
SOON = 30


class SeveralProcesses(ProgramTest):
    def setUp(self):
        super().setUp()
        if not has_mpi():
            self.skipTest("this build has no MPI")

    def assert_told_once(self, outcome, code, *parts):
        """One sentence of one rank, the exit code, and no energy."""
        self.assert_one_sentence(outcome, code, *parts)
        self.assertIsNone(LOOKS_LIKE_AN_ENERGY.search(outcome.out), outcome.out)


class LaunchedRun(SeveralProcesses):
    """A run that goes on while the test looks at its ranks."""

    def start(self, ranks, *arguments):
        line, variables = launched((ranks, ("run", *arguments)))
        self.launcher = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                         env=variables)
        self.addCleanup(self.launcher.stderr.close)
        self.addCleanup(self.launcher.stdout.close)
        self.addCleanup(self.launcher.wait)
        self.addCleanup(self.launcher.kill)

    def find_processes(self, ranks):
        self.processes = self.children()
        self.assertEqual(len(self.processes), ranks)
        for process in self.processes:
            self.addCleanup(self.kill_if_there, process)

    def wait_for_table(self):
        deadline = time.monotonic() + TIME_LIMIT
        seen = ""
        while "computes on" not in seen:
            ready, _, _ = select.select([self.launcher.stdout], [], [], max(0.0, deadline - time.monotonic()))
            self.assertTrue(ready, "The run does not begin.")
            text = os.read(self.launcher.stdout.fileno(), 65536).decode()
            self.assertNotEqual(text, "", "The run ended before it could be interrupted.")
            seen += text
        time.sleep(0.3)  # until tasks are executed

    def children(self):
        """The ranks in the order in which they were started."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                text = stat.read_text()
            except OSError:
                continue
            name, fields = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
            if name == Path(PROGRAM).name[:15] and int(fields[1]) == self.launcher.pid:
                found.append(int(stat.parent.name))
        return sorted(found)

    @staticmethod
    def is_there(process):
        try:
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    def kill_if_there(self, process):
        if self.is_there(process):
            os.kill(process, signal.SIGKILL)

    def wait_for_end(self):
        """What was said; nothing of the run is left."""
        out, err = self.launcher.communicate(timeout=SOON)
        deadline = time.monotonic() + SOON
        while any(self.is_there(rank) for rank in self.processes):
            self.assertLess(time.monotonic(), deadline, "A rank goes on.")
            time.sleep(0.05)
        self.assertIsNone(LOOKS_LIKE_AN_ENERGY.search(out), out)
        return checked(Outcome(self.launcher.returncode, out, without_launcher(err)))
