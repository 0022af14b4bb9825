"""Paths that do not lead to a readable file: the program prints one sentence, soon, and needs no memory."""

import os
import resource
import socket
import subprocess
import unittest
from pathlib import Path

from trifuse_program import (DATA, Outcome, ProgramTest, REFUSAL_TIME_LIMIT, checked, command, environment, sanitized, trifuse,
                             trifuse_as_nobody)

WATER = DATA / "h2o_631g_c2v_rhf_t10" / "c"
MEMORY = 4_000_000 * 1024
TENSORS = ("c.f1int.000000", "c.t1amp.000000", "c.t2amp.000000", "c.v2int.000000")


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class InputPaths(ProgramTest):
    def setUp(self):
        super().setUp()
        self.places = {name: self.folder / name for name in ("fifo", "loop", "directory", "empty", "sparse", "socket")}
        os.mkfifo(self.places["fifo"])
        self.places["loop"].symlink_to("loop")
        self.places["directory"].mkdir()
        self.places["empty"].touch()
        self.make_sparse(self.places["sparse"])
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.places["socket"]))
        for device in ("zero", "random", "full", "null", "tty"):
            if Path("/dev", device).exists():
                self.places[device] = Path("/dev", device)
        self.places["long name"] = "x" * 5000
        self.places["long path"] = "x/" * 2500 + "x"

    @staticmethod
    def make_sparse(path):
        """A sparse file that needs no disk space. Its size is terabytes, or the largest size of the file system."""
        with open(path, "wb") as file:
            for bits in (44, 40, 38, 36):
                try:
                    file.truncate(1 << bits)
                    return
                except OSError:
                    pass
        raise AssertionError("the file system has no sparse files")

    def run_bounded(self, *arguments):
        process = subprocess.run(command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                 timeout=REFUSAL_TIME_LIMIT, env=environment(), preexec_fn=None if sanitized() else limit_memory)
        return checked(Outcome(process.returncode, process.stdout, process.stderr))

    def assert_named(self, outcome, name, code=1):
        self.assert_one_sentence(outcome, code, str(name)[:20])
        self.assertEqual(outcome.out, "")

    def test_amplitudes_of_either_side(self):
        for kind, place in self.places.items():
            for arguments in (("run", place), ("info", place), ("plan", place), ("bench", place), ("convert", place, self.folder / "new.h5"),
                              ("run", WATER, "--left", place)):
                with self.subTest(kind, command=arguments[0]):
                    self.assert_named(self.run_bounded(*arguments), place)
                    self.assertFalse((self.folder / "new.h5").exists())

    def test_a_file_of_nwchem_leads_to_its_prefix(self):
        """The completion of shells stops at the name of a file."""
        expected = self.succeed("run", WATER, "-q").out
        for name in ("c.t1amp.000000", "c.t2amp.000000"):
            found = self.succeed("run", f"{WATER.parent}/{name}", "-q").out
            self.assertEqual(found.split("Time")[0], expected.split("Time")[0])
        for name in ("c.f1int.000000", "c.movecs", "c.out"):
            if (WATER.parent / name).exists():
                self.assert_named(self.run_bounded("run", WATER.parent / name), f"did you mean their prefix, {WATER}?"[:20])

    def test_what_is_named_as_output_or_orbitals_of_nwchem(self):
        for kind, place in self.places.items():
            with self.subTest(kind):
                self.assert_named(self.run_bounded("run", WATER, "--nwchem-output", place), place)
                self.assert_named(self.run_bounded("run", WATER, "--nwchem-movecs", place, "--nwchem-tile-size", 10), place)

    def test_reports_of_measured_runs(self):
        for kind, place in self.places.items():
            with self.subTest(kind):
                self.assert_named(self.run_bounded("plan", "--occupied", 5, "--virtual", 9, "--measured", place), place)

    def test_journals(self):
        for kind, place in self.places.items():
            with self.subTest(kind):
                if kind == "empty":
                    continue  # a run that was killed before it wrote anything
                outcome = self.run_bounded("run", WATER, "--device", "cpu", "--quiet", "--journal", place)
                self.assertIn(outcome.code, (2, 3), outcome)
                # If a path is longer than the system allows, the message gives its length.
                self.assert_named(outcome, "characters" if kind.startswith("long") else place, outcome.code)

    def test_each_file_of_nwchem(self):
        for name in (*TENSORS, "c.out"):
            for kind in ("fifo", "loop", "directory", "empty", "sparse", "zero"):
                with self.subTest(name, kind=kind):
                    copy = self.copy_of("h2o_631g_c2v_rhf_t10", f"{name}_{kind}")
                    (copy / name).unlink()
                    (copy / name).symlink_to(self.places[kind])
                    outcome = self.run_bounded("run", copy / "c")
                    self.assert_named(outcome, copy)
                    self.assertIn(name, outcome.err)

    def test_headers_that_claim_too_much(self):
        for name in TENSORS:
            for files, doubles in ((1, 1 << 60), (1, (1 << 63) - 1), (1 << 62, 1), (1_000_000, 1), (-1, -1)):
                with self.subTest(name, files=files, doubles=doubles):
                    copy = self.copy_of("h2o_631g_c2v_rhf_t10", f"{name}_{files}_{doubles}")
                    content = (copy / name).read_bytes()
                    (copy / name).write_bytes(files.to_bytes(8, "little", signed=True) + doubles.to_bytes(8, "little", signed=True) + content[16:])
                    self.assert_named(self.run_bounded("run", copy / "c"), copy / name)

    def test_a_sparse_file_with_a_header_of_its_size(self):
        copy = self.copy_of("h2o_631g_c2v_rhf_t10")
        for name in TENSORS:
            with self.subTest(name):
                content = (copy / name).read_bytes()
                (copy / name).unlink()
                self.make_sparse(copy / name)
                doubles = ((copy / name).stat().st_size - 16) // 8
                with open(copy / name, "r+b") as file:
                    file.write((1).to_bytes(8, "little") + doubles.to_bytes(8, "little"))
                self.assert_named(self.run_bounded("run", copy / "c"), copy / name)
                (copy / name).unlink()
                (copy / name).write_bytes(content)

    def test_files_that_may_not_be_read(self):
        copy = self.copy_of("h2o_631g_c2v_rhf_t10")
        dump = self.convert(WATER)
        for path, arguments in ((dump, (dump,)), *((copy / name, (copy / "c",)) for name in (*TENSORS, "c.out")),
                                (copy / "c.nw", (copy / "c", "--nwchem-output", copy / "c.nw"))):
            with self.subTest(path.name):
                path.chmod(0)
                outcome = trifuse_as_nobody("run", *arguments)
                self.assert_one_sentence(outcome, 1, path, "permissions")
                path.chmod(0o644)
        copy.chmod(0)
        self.assert_one_sentence(trifuse_as_nobody("run", copy / "c"), 1, copy)
        copy.chmod(0o755)

    def test_empty_values_are_not_passed_over(self):
        for arguments in (("run", ""), ("run", WATER, "--left", ""), ("run", WATER, "--journal", ""), ("run", WATER, "--json", ""),
                          ("run", WATER, "--nwchem-output", ""), ("info", WATER, "--left", ""), ("convert", WATER, ""),
                          ("plan", WATER, "--trace", ""), ("bench", "--write", "")):
            with self.subTest(arguments):
                outcome = trifuse(*arguments, limit=REFUSAL_TIME_LIMIT)
                self.assertEqual((outcome.code, outcome.out), (2, ""), outcome)
                self.assertIn("an empty value", outcome.err)


if __name__ == "__main__":
    unittest.main()
