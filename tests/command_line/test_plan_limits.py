"""For any request `plan` ends soon, in bounded memory, with finite numbers or with one sentence."""

import json
import random
import re
import resource
import subprocess
import unittest

from trifuse_program import Outcome, ProgramTest, checked, command, environment, repeated, sanitized, trifuse

# Seconds, on a busy machine, and bytes of address space.
SOON = 120
MEMORY = 4_000_000 * 1024
# The largest number of GPUs or ranks that `plan` accepts. The sanitizers make a plan at the limit several times slower. They check the same
# code with a hundredth of the limit; the other builds check time and memory at the limit.
MOST = 2000 if sanitized() else 200000
NOT_FINITE = re.compile(r"(?<![a-z])(nan|inf)(?![a-z])", re.IGNORECASE)
# Parts of the report that only large plans leave out.
MAY_BE_NULL = {"bytes_needed"}
NUMBERS = ("multiprocessors", "rate-zeros", "rate-spin-orbital", "rate-spin-adapted", "target-spin-orbital", "target-spin-adapted",
           "gpu-memory", "launch", "prepare-task", "gpus-per-node", "cores-per-node", "core-rate", "node-memory", "link", "fill",
           "fill-cores", "fill-node", "shared-pages", "fetch", "owned-panels", "peer", "check", "read", "startup", "plan-task", "network",
           "counter-latency", "counter-service")


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Limits(ProgramTest):
    def end_of(self, *arguments):
        process = subprocess.run(command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SOON,
                                 env=environment(), preexec_fn=None if sanitized() else limit_memory)
        return checked(Outcome(process.returncode, process.stdout, process.stderr))

    def assert_finite(self, document, where=""):
        if document is None:
            self.assertIn(where.rpartition("/")[2], MAY_BE_NULL, where)
        for name, value in document.items() if isinstance(document, dict) else ():
            self.assert_finite(value, f"{where}/{name}")
        for value in document if isinstance(document, list) else ():
            self.assert_finite(value, where)

    def assert_ends_well(self, *options):
        """A report and a trace of finite numbers, or one sentence about wrong options and nothing else."""
        files = [self.folder / name for name in ("plan.json", "trace.json")]
        has_gpus = "--gpus" not in options or str(options[options.index("--gpus") + 1]) != "0"
        trace = ("--trace", files[1]) if has_gpus else ()
        outcome = self.end_of("plan", *options, "--json", files[0], *trace)
        self.assertIn(outcome.code, (0, 2), outcome)
        if outcome.code == 2:
            self.assertNotEqual(outcome.err, "")
            self.assertEqual(outcome.out, "")
            self.assert_nothing_but()
            return outcome
        self.assertEqual(outcome.err, "")
        self.assertNotRegex(outcome.out, NOT_FINITE)
        self.assert_finite(json.loads(files[0].read_text()))
        for file in files:
            if not file.exists():
                continue
            self.assertNotRegex(file.read_text(), NOT_FINITE)
            file.unlink()
        return outcome

    def assert_refused_soon(self, *arguments, saying):
        self.assert_one_sentence(self.end_of(*arguments), 2, saying)

    def test_what_cannot_be_listed_is_refused_before_it_is(self):
        for sizes, saying in (((1024, 1024), "too many to list"), ((7000, 7000), "too many to list"),
                              ((7000, 7000, "--tile-size", 1), "too many to list"), ((65536, 65536), "spin orbitals"), ((4000, 77), "too many to list"),
                              ((256, 256, "--tile-size", 256), "use a smaller --tile-size"),
                              ((7000, 7000, "--tile-size", 7000), "use a smaller --tile-size")):
            with self.subTest(sizes):
                self.assert_refused_soon("plan", "--occupied", sizes[0], "--virtual", sizes[1], *sizes[2:], saying=saying)
        for number in (0, -1, 10**9, 2**62, 2**63, "1e9", "nan", ""):
            with self.subTest(number):
                self.assertEqual(self.assert_ends_well("--occupied", number, "--virtual", 10).code, 2)
                outcome = self.assert_ends_well("--occupied", 5, "--virtual", 10, "--gpus", number)
                self.assertEqual(outcome.code, 0 if number == 0 else 2)

    def test_the_largest_numbers_of_gpus_and_ranks(self):
        for job in (("--gpus", MOST), ("--ranks", MOST), ("--gpus", 0, "--ranks", MOST), ("--gpus", 1, "--ranks", 200000, "--nodes", 1)):
            with self.subTest(job):
                self.assertEqual(self.assert_ends_well("--occupied", 10, "--virtual", 100, *job).code, 0)

    def test_the_limits_of_every_number_of_the_machine_give_finite_predictions(self):
        sizes = ("--occupied", 12, "--virtual", 60, "--gpus", 12, "--ranks", 20)
        limits_of = {}
        for number in NUMBERS:
            refused = self.end_of("plan", *sizes, "--assume", f"{number}=0")
            self.assert_one_sentence(refused, 2, "--assume", number)
            limits_of[number] = re.search(r"a number from (\S+) to (\S+) after", refused.err).groups()
            for value in limits_of[number]:
                with self.subTest(number, value=value):
                    outcome = self.assert_ends_well(*sizes, "--assume", f"{number}={value}")
                    # Hosts without memory have no room for their part of the operands.
                    self.assertEqual(outcome.code, 2 if (number, value) == ("node-memory", "1") else 0)
            # The same code reads all numbers, so one suffices where another build does the same.
            for value in ("1e-300", "1e300", "nan") if number == NUMBERS[0] or not repeated() else ():
                self.assert_one_sentence(trifuse("plan", *sizes, "--assume", f"{number}={value}"), 2, "--assume")
        for side in (0, 1):
            options = list(sizes)
            for number in NUMBERS:
                options += ["--assume", f"{number}={limits_of[number][side]}"]
            self.assert_ends_well(*options)

    def test_random_jobs(self):
        rnd = random.Random(5)
        orbitals = (1, 2, 3, 10, 40, 77, 150, 300, 4096, 65536, 65537, 10**9, 2**62)
        jobs = (0, 1, 2, 8, 64, 1000, 10000, MOST, 10**9)
        for _ in range(25):
            options = ["--occupied", rnd.choice(orbitals), "--virtual", rnd.choice(orbitals)]
            for name, values in (("--gpus", jobs), ("--ranks", jobs), ("--nodes", jobs), ("--tile-size", (1, 2, 3, 4, 8, 32, 64, 1000, 10**9)),
                                 ("--irreps", (1, 2, 4, 8, 3)), ("--reference", ("rhf", "uhf")), ("--operands", ("own", "shared")),
                                 ("--form", ("spin-orbital", "spin-adapted")), ("--memory", ("1", "1GiB", "99999TiB", "1e300"))):
                if rnd.random() < 0.3:
                    options += [name, rnd.choice(values)]
            with self.subTest(options):
                self.assert_ends_well(*options)

    def test_reports_that_no_run_has_written(self):
        report = {"input": {"reference": "RHF", "occupied": [24, 24], "virtual": [120, 120], "irreps": 1},
                  "results": [{"form": "spin-adapted", "seconds": [1.0], "load_seconds": 0.5, "cuda": {"devices": [{}]}}]}
        path = self.folder / "measured.json"
        for change in (lambda r: r["input"].update(occupied=[2**62, 2**62]), lambda r: r["input"].update(virtual=[-1, -1]),
                       lambda r: r["results"][0].update(seconds=[0.0]), lambda r: r["results"][0].update(seconds=[-1.0]),
                       lambda r: r["results"][0].update(seconds=[1e-300]), lambda r: r["results"][0].update(load_seconds=-1.0),
                       lambda r: r["results"][0]["cuda"].update(devices=[]), lambda r: r["results"][0]["cuda"].update(bytes_sent=1e300)):
            wrong = json.loads(json.dumps(report))
            change(wrong)
            path.write_text(json.dumps(wrong))
            self.assert_one_sentence(self.end_of("plan", "--occupied", 5, "--virtual", 10, "--measured", path), 1, path)
        report["input"].update(occupied=[4000, 4000], virtual=[4000, 4000])
        path.write_text(json.dumps(report))
        self.assert_refused_soon("plan", "--occupied", 5, "--virtual", 10, "--measured", path, saying="too many to list")

    def test_bench_is_bounded_as_well(self):
        for sizes in ((2**62, 10), (10, 2**62), (65536, 65536), (65536, 65536, "--plan-tile-size", 65536), (200, 60000, "--plan-tile-size", 4096)):
            with self.subTest(sizes):
                self.assertEqual(self.end_of("bench", "--occupied", sizes[0], "--virtual", sizes[1], *sizes[2:], "--repeats", 1).code, 2)


if __name__ == "__main__":
    unittest.main()
