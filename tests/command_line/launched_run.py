"""Code that the tests of several processes share: jobs that continue while a test inspects their ranks, and their results."""

import os
import select
import signal
import subprocess
import time
from pathlib import Path

from trifuse_program import (LOOKS_LIKE_AN_ENERGY, Outcome, PROGRAM, ProgramTest, RANK_VARIABLES, TIME_LIMIT, checked, has_mpi, launched,
                             without_launcher)

# Seconds, on a busy machine. The longest run of these tests takes longer unless a test ends it.
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
    """A run that continues while the test inspects its ranks."""

    def start(self, ranks, *arguments):
        self.start_line(*launched((ranks, ("run", *arguments))))

    def start_line(self, line, variables):
        self.launcher = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                         env=variables)
        self.addCleanup(self.launcher.stderr.close)
        self.addCleanup(self.launcher.stdout.close)
        self.addCleanup(self.launcher.wait)
        self.addCleanup(self.launcher.kill)

    def find_processes(self, ranks):
        """Sets `processes`, the ranks in their order, and `below`, all that runs below the launcher.

        Ranks are children of Open MPI's launcher. MPICH's has a process of its own between them, one on each host.
        """
        self.below = self.below_launcher()
        for process in self.below:
            self.addCleanup(self.signal_if_there, process, signal.SIGKILL)
        self.processes = sorted(filter(self.runs_program, self.below), key=self.rank_of)
        self.assertEqual(len(self.processes), ranks)

    def freeze(self):
        """Stops the launcher and all processes below it, so that they start no more processes, and returns them."""
        stopped = []
        while new := {self.launcher.pid, *self.below_launcher()}.difference(stopped):
            for process in new:
                self.signal_if_there(process, signal.SIGSTOP)
            stopped += new
        self.below = stopped
        return stopped

    def ranks_below(self):
        return list(filter(self.runs_program, self.below_launcher()))

    def hold(self):
        """Stops the ranks, but not the launcher, and returns how many there are."""
        for process in self.ranks_below():
            self.signal_if_there(process, signal.SIGSTOP)
        return len(self.ranks_below())

    def let_go(self):
        for process in self.ranks_below():
            self.signal_if_there(process, signal.SIGCONT)

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

    def below_launcher(self):
        children = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(stat.parent.name))
        found = list(children.get(self.launcher.pid, []))
        for process in found:
            found += children.get(process, [])
        return found

    @staticmethod
    def runs_program(process):
        try:
            return os.path.samefile(f"/proc/{process}/exe", PROGRAM)
        except OSError:
            return False

    @staticmethod
    def rank_of(process):
        variables = dict(entry.partition("=")[::2] for entry in Path(f"/proc/{process}/environ").read_text().split("\0"))
        return next(int(variables[name]) for name in RANK_VARIABLES if name in variables)

    @staticmethod
    def is_there(process):
        try:
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    @staticmethod
    def signal_if_there(process, with_signal):
        try:
            os.kill(process, with_signal)
        except ProcessLookupError:
            pass

    def wait_for_end(self):
        """The output. No process of the run is left."""
        out, err = self.launcher.communicate(timeout=SOON)
        deadline = time.monotonic() + SOON
        while any(self.is_there(process) for process in self.below):
            self.assertLess(time.monotonic(), deadline, "A rank goes on, or a process of the launcher.")
            time.sleep(0.05)
        self.assertIsNone(LOOKS_LIKE_AN_ENERGY.search(out), out)
        return checked(Outcome(self.launcher.returncode, out, without_launcher(err)))
