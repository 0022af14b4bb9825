"""A warning names a rank that does not answer. The job continues when the rank answers again."""

import os
import signal
import time
import unittest
from pathlib import Path

from launched_run import LaunchedRun
from made_up_molecule import write_made_up_molecule
from trifuse_program import ALONE, Outcome, TIME_LIMIT, checked, energies_as_text, launched, preloading, sanitized, without_launcher

SILENCE = 2
STOPPED = 7


class SilentRanks(LaunchedRun):
    RANKS = 3
    # Energies of one process, the same for all tests.
    expected = None

    def setUp(self):
        super().setUp()
        # A second or two on one core.
        size = {"occupied": 6, "virtual": 14} if sanitized() else {"occupied": 7, "virtual": 20}
        source = write_made_up_molecule(self.folder / "molecule", **size)
        omega2 = ",".join(f"{0.01 * n:.2f}" for n in range(60))
        self.arguments = (source, "--form", "spin-orbital", "--tile-size", 3, "--omega2", omega2, "--executor", "reference", "--threads", 1)

    def begin(self, *options, **variables):
        line, environment = launched((self.RANKS, ("run", *self.arguments, "--json", self.folder / "report.json", *options)))
        self.start_line(line, {**environment, "TRIFUSE_SILENCE_SECONDS": str(SILENCE), **variables})

    def end(self):
        """The warnings before the energies. The energies are those of one process."""
        out, err = self.launcher.communicate(timeout=TIME_LIMIT)
        checked(Outcome(self.launcher.returncode, out, err))
        self.assertEqual(self.launcher.returncode, 0, err)
        if SilentRanks.expected is None:
            alone = self.folder / "alone.json"
            self.succeed("run", *self.arguments, "--quiet", "--json", alone, program=ALONE)
            SilentRanks.expected = energies_as_text(alone)
        self.assertEqual(energies_as_text(self.folder / "report.json"), self.expected)
        return [line for line in without_launcher(err).splitlines() if line.startswith("trifuse: ")]

    def stop_for_a_while(self, rank):
        # On a busy machine the run may end before this test finds its ranks. Then the test starts another run.
        for _ in range(10):
            self.begin()
            self.wait_for_table()
            if self.hold() == self.RANKS:
                break
            self.let_go()
            self.assertEqual(self.launcher.wait(TIME_LIMIT), 0)
            (self.folder / "report.json").unlink()
        self.find_processes(self.RANKS)
        for other, process in enumerate(self.processes):
            if other != rank:
                os.kill(process, signal.SIGCONT)
        time.sleep(STOPPED)
        os.kill(self.processes[rank], signal.SIGCONT)
        said = self.end()
        silent = rf"\Atrifuse: warning: Rank {rank} on host \S+ has not answered for \d+ s \(.*\); the job keeps waiting\.\Z"
        back = rf"\Atrifuse: warning: Rank {rank} on host \S+ answers again, after \d+ s\.\Z"
        about = [line for line in said if f"Rank {rank} on host" in line and "answer" in line]
        self.assertRegex(about[0], silent)
        self.assertRegex(about[-1], back)
        # The warning is repeated after twice the time, not earlier.
        self.assertLessEqual(len(about), 3, said)
        for other in set(range(self.RANKS)) - {rank}:
            self.assertEqual([line for line in said if f"Rank {other} on host" in line and "has not answered" in line], [])

    @staticmethod
    def udp_ports(process):
        """The number of sockets of a process that have a UDP port."""
        bound = {line.split()[9] for line in Path(f"/proc/{process}/net/udp").read_text().splitlines()[1:]}
        files = [os.readlink(file) for file in Path(f"/proc/{process}/fd").iterdir()]
        return sum(file == f"socket:[{inode}]" for file in files for inode in bound)

    def test_a_stopped_rank_is_named_until_it_is_back(self):
        self.stop_for_a_while(2)

    def test_so_is_the_first_one_by_another(self):
        self.stop_for_a_while(0)

    def test_a_rank_that_a_disk_keeps_waiting_is_named_as_such(self):
        self.begin("--journal", self.folder / "journal", **preloading(os.environ["TRIFUSE_TEST_NO_LOCKS"]), TRIFUSE_TEST_SLOW_RANK="1",
                   TRIFUSE_TEST_SLOW_SECONDS=str(STOPPED))
        said = self.end()
        behind = [line for line in said if "Rank 1 on host" in line]
        self.assertGreaterEqual(len(behind), 1, said)
        self.assertRegex(behind[0], r"The other ranks have waited for \d+ s: Rank 1 on host \S+ is running, but not finished")
        self.assertEqual([line for line in said if "answer" in line], [])

    def test_nobody_is_named_where_nobody_asks(self):
        self.begin("--journal", self.folder / "journal", **preloading(os.environ["TRIFUSE_TEST_NO_LOCKS"]), TRIFUSE_TEST_SLOW_RANK="1",
                   TRIFUSE_TEST_SLOW_SECONDS="5", TRIFUSE_SILENCE_SECONDS="0")
        self.wait_for_table()
        self.find_processes(self.RANKS)
        # Ranks 0 and 1 listen on no port that rank 2 lacks. The MPI library may have ports.
        ports = [self.udp_ports(process) for process in self.processes]
        self.assertEqual(ports, [ports[2]] * self.RANKS)
        self.assertEqual([line for line in self.end() if "on host" in line], [])


if __name__ == "__main__":
    unittest.main()
