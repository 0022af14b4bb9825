"""Limits of threads and memory, and options that request more than is possible."""

import os
import resource
import subprocess
import unittest

from trifuse_program import DATA, Outcome, ProgramTest, checked, command, environment, read_report, sanitized, trifuse

WATER = DATA / "h2o_ccpvdz_c2v_rhf_t8_2eorb" / "c"
MEBIBYTE = 1 << 20
# No run of these tests takes longer than some seconds.
LIMIT = 120


def run_limited(limits, *arguments, nobody=False, env=None):
    """Runs the program with {resource: value or (soft, hard)}, as the user nobody if this is requested and possible."""
    def limit():
        for name, value in limits.items():
            resource.setrlimit(name, value if isinstance(value, tuple) else (value, value))
        if nobody and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    variables = dict(env or environment())
    if sanitized():
        variables["ASAN_OPTIONS"] = "detect_leaks=0"  # looking for leaks takes a thread
    process = subprocess.run(command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                             timeout=LIMIT, env=variables, preexec_fn=limit)
    return checked(Outcome(process.returncode, process.stdout, process.stderr))


class Threads(ProgramTest):
    def setUp(self):
        super().setUp()
        self.dump = self.convert(WATER)
        self.expected = self.energies_of(self.dump)

    def test_what_the_environment_says_of_threads_cannot_hurt(self):
        for variables in ({"OMP_NUM_THREADS": "99999"}, {"OMP_NUM_THREADS": "2147483647"}, {"OMP_NUM_THREADS": "0"},
                          {"OMP_NUM_THREADS": "-1"}, {"OMP_NUM_THREADS": "many"}, {"OMP_NUM_THREADS": "4,99999"},
                          {"OMP_THREAD_LIMIT": "1"}, {"OMP_THREAD_LIMIT": "99999", "OMP_NUM_THREADS": "99999"},
                          {"OPENBLAS_NUM_THREADS": "99999"}, {"OPENBLAS_NUM_THREADS": "0"}, {"OMP_DYNAMIC": "true"}):
            with self.subTest(**variables):
                path = self.folder / "report.json"
                # OpenMP itself warns about a value that is not a number.
                outcome = trifuse("run", self.dump, "--quiet", "--json", path, env=environment(**variables), limit=LIMIT)
                self.assertEqual(outcome.code, 0, outcome.err)
                found = {entry["omega2"]: (entry["E[T]"], entry["E(T)"]) for entry in read_report(path)["energies"]}
                self.assert_close(found, self.expected, 1e-13)

    def test_as_many_threads_are_started_as_may_be_asked_for(self):
        self.assert_close(self.energies_of(self.dump, "--threads", 4096), self.expected, 1e-13)
        self.assertEqual(trifuse("run", self.dump, "--threads", 4097).code, 2)

    def test_of_fewer_processes_than_threads_were_asked_for(self):
        """OpenMP ends a program if it cannot start a thread."""
        if os.geteuid() == 0 and run_limited({}, "--version", nobody=True).code != 0:
            self.skipTest("nobody cannot run the program here")
        self.dump.chmod(0o644)
        for allowed in (1, 2, 3, 5, 20):
            with self.subTest(allowed=allowed):
                outcome = run_limited({resource.RLIMIT_NPROC: allowed}, "run", self.dump, "--threads", 64, nobody=True,
                                      env=environment(OPENBLAS_NUM_THREADS="1"))
                if allowed > 1:
                    self.assertEqual((outcome.code, outcome.err), (0, ""))
                elif outcome.code != 0:
                    self.assert_one_sentence(outcome, 3, "thread")


class OpenFiles(ProgramTest):
    """NWChem's files of one tensor are as many as the processes that wrote them."""

    FILES = DATA / "ch2_631g_c2v_rohf_t3_2eorb_np5" / "c"  # 16 files

    def test_are_as_many_as_the_system_permits(self):
        outcome = run_limited({resource.RLIMIT_NOFILE: (16, 256)}, "info", self.FILES)
        self.assertEqual((outcome.code, outcome.err), (0, ""))

    def test_beyond_the_limit_are_an_error(self):
        outcome = run_limited({resource.RLIMIT_NOFILE: 16}, "info", self.FILES)
        self.assert_one_sentence(outcome, 3, "Too many open files")


class AddressSpace(ProgramTest):
    """ulimit -v, as batch systems set it."""

    def setUp(self):
        super().setUp()
        if sanitized():
            self.skipTest("the address sanitizer reserves more than any limit allows")
        self.dump = self.convert(WATER)

    def test_too_little_of_it_is_an_error_with_a_sentence(self):
        codes = []
        # With less, OpenBLAS ends the program before main() begins, or the loader does.
        for mebibytes in (*range(160, 500, 30), 700, 1000, 1500, 2000):
            for arguments in ((), ("--threads", 64)):
                with self.subTest(mebibytes=mebibytes, arguments=arguments):
                    outcome = run_limited({resource.RLIMIT_AS: mebibytes * MEBIBYTE}, "run", self.dump, *arguments)
                    codes.append(outcome.code)
                    if outcome.code == 127:  # the loader could not load the libraries
                        self.assertIn("shared", outcome.err)
                        continue
                    if outcome.code != 0:
                        self.assert_one_sentence(outcome, 3, "memory")
        self.assertIn(3, codes)
        self.assertEqual(codes[-1], 0)

    def test_the_data_segment_may_be_limited(self):
        for mebibytes in (20, 60, 150, 300, 1500):
            with self.subTest(mebibytes=mebibytes):
                outcome = run_limited({resource.RLIMIT_DATA: mebibytes * MEBIBYTE}, "run", self.dump)
                if outcome.code not in (0, 127):
                    self.assert_one_sentence(outcome, 3, "memory")


if __name__ == "__main__":
    unittest.main()
