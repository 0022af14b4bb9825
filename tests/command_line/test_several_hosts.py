"""`mpirun trifuse run` on two hosts: the bits of one process, operands that come over the network, and an end of all ranks with a host."""

import os
import re
import signal
import subprocess
import unittest
from pathlib import Path

from launched_run import LaunchedRun
from made_up_molecule import MadeUpMolecule
from trifuse_program import (DATA, Outcome, TIME_LIMIT, checked, energies_as_text, launched, read_report, repeated,
                             sanitized, without_launcher)

WATER = DATA / "h2o_631g_c2v_rhf_t10" / "c"
UHF = DATA / "ch2_631g_c1_uhf_t3" / "c"
ROHF = DATA / "ch2_631g_c2v_rohf_t3" / "c"
TWO_HOSTS = Path(__file__).with_name("two_hosts.sh")


def ended(code, out, err):
    """The outcome without messages of the launcher and of the processes that it starts."""
    return checked(Outcome(code, out, re.sub(r"(?m)^\[one:\d+\] .*\n", "", without_launcher(err))))


class TwoHosts(LaunchedRun):
    def setUp(self):
        super().setUp()
        self.end_of_two = self.folder / "end_of_two"
        self.on_hosts(1, 1, "true")  # no launcher at all: SkipTest
        found = subprocess.run(["sh", TWO_HOSTS, self.end_of_two, "true"], capture_output=True, text=True)
        if found.returncode != 0:
            self.skipTest(f"no hosts can be made of namespaces here: {found.stderr.strip()}")
        line, _ = launched((2, ()))
        if not re.search("Open MPI|OpenRTE", subprocess.run([line[0], "--version"], capture_output=True, text=True).stdout):
            self.skipTest("no hosts can be made of namespaces here for this launcher, only for Open MPI's")

    def on_hosts(self, one, two, *arguments):
        """Command line and environment for this number of ranks on each host."""
        (launcher, *ranks), variables = launched((one + two, arguments))
        # A lost host has no network, so nothing informs the launcher. By default it notices this only after minutes.
        variables.update(OMPI_MCA_plm_rsh_agent=f"sh {TWO_HOSTS} --on", OMPI_MCA_oob_tcp_keepalive_time="2",
                         OMPI_MCA_oob_tcp_keepalive_intvl="1", OMPI_MCA_oob_tcp_keepalive_probes="3")
        return ["sh", TWO_HOSTS, self.end_of_two, launcher, "--host", f"one:{one},two:{two}", *ranks], variables

    def run_on_hosts(self, one, two, *arguments, **more_variables):
        line, variables = self.on_hosts(one, two, "run", *arguments)
        process = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT,
                                 env={**variables, **more_variables})
        return ended(process.returncode, process.stdout, process.stderr)

    def start_on_hosts(self, one, two, *arguments):
        line, variables = self.on_hosts(one, two, "run", *arguments)
        self.start_line(line, variables)


class Energies(TwoHosts):
    def test_they_are_those_of_one_process(self):
        report = self.folder / "report.json"
        # For a build whose code another build tests, too, only one job.
        for arguments in ((UHF,),) if repeated() else ((WATER, "--form", "spin-adapted"), (UHF,), (ROHF,)):
            arguments = (*arguments, "--omega2", "0,0.1", "--tile-size", 3, "--device", "cpu", "--threads", 1)
            self.report_of(*arguments)
            alone = energies_as_text(report)
            for one, two in ((2, 1),) if repeated() else ((1, 1), (2, 1), (2, 2)):
                with self.subTest(arguments, ranks=(one, two)):
                    self.assertEqual(self.run_on_hosts(one, two, *arguments, "--quiet", "--json", report), (0, "", ""))
                    self.assertEqual(energies_as_text(report), alone)
                    ranks = read_report(report)["ranks"]
                    self.assertEqual([rank["host"] for rank in ranks], one * ["one"] + two * ["two"])
                    if (one, two) != (2, 2):  # each host has data that the other one needs
                        self.assertGreater(sum(rank["operands"]["fetched_bytes"] for rank in ranks), 0)


class Refusals(TwoHosts):
    def test_a_file_that_one_host_does_not_see_is_named_once(self):
        """Each host has shared memory of its own, and files there."""
        name = f"/dev/shm/{self.folder.name}.h5"
        dump = self.convert(WATER)
        line, variables = self.on_hosts(1, 2, "run", name)
        place = line.index(self.end_of_two) + 1
        line[place:place] = ["sh", "-c", f'cp {dump} {name}; exec "$@"', "sh"]
        process = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIME_LIMIT, env=variables)
        self.assert_told_once(ended(process.returncode, process.stdout, process.stderr), 1, "Rank 1 failed: ", name)

    def test_a_library_that_cannot_join_hosts_is_told_once(self):
        self.assert_told_once(self.run_on_hosts(2, 2, WATER, OMPI_MCA_osc="sm"), 3, "no one-sided communication", "OMPI_MCA_osc")


@unittest.skipIf(sanitized(), "the endings of test_several_processes.py run the same code")
class Endings(TwoHosts):
    def test_a_job_that_loses_a_rank_or_a_host_ends_and_goes_on_to_the_same_bits(self):
        source = MadeUpMolecule(occupied=9, virtual=24).write(self.folder / "molecule")
        journal, report = self.folder / "journal", self.folder / "report.json"
        arguments = (source, "--omega2", "0,0.1", "--form", "spin-orbital", "--tile-size", 2, "--executor", "reference", "--threads", 1,
                     "--json", report)
        self.succeed("run", *arguments, "--quiet")
        expected = energies_as_text(report)
        report.unlink()

        def outcome_after(one, two, loss):
            self.start_on_hosts(one, two, *arguments, "--journal", journal)
            self.wait_for_table()
            self.find_processes(one + two)
            loss()
            return ended(*self.wait_for_end())

        with self.subTest("a rank is killed"):
            self.assertNotEqual(outcome_after(1, 2, lambda: os.kill(self.processes[2], signal.SIGKILL)).code, 0)
        with self.subTest("all processes of a host are gone at once"):
            self.assertNotEqual(outcome_after(2, 1, self.end_of_two.touch).code, 0)
            self.end_of_two.unlink()
        journal.unlink()  # may have most tasks by now
        with self.subTest("a rank is stopped"):
            stopped = outcome_after(2, 1, lambda: os.kill(self.processes[2], signal.SIGTERM))
            self.assert_told_once(stopped, 130, "resumes from the journal", journal)
        self.assertFalse(report.exists())
        self.assertEqual(self.run_on_hosts(1, 1, *arguments, "--journal", journal, "--quiet"), (0, "", ""))
        self.assertEqual(energies_as_text(report), expected)
        self.assertGreater(read_report(report)["tasks"]["from_journal"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # says why tests were skipped
