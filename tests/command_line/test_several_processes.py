"""`mpirun -n N trifuse run`: the bits of one process, one voice, and an end of all ranks whatever happens to one."""

import os
import re
import signal
import struct
import unittest

from launched_run import LaunchedRun, SeveralProcesses
from made_up_molecule import MadeUpMolecule, write_made_up_molecule
from trifuse_program import (ALONE, DATA, FOLDERS_OF_MADE_UP_MOLECULES, LOOKS_LIKE_AN_ENERGY, REFUSAL_TIME_LIMIT, energies_as_text,
                             mpirun, pairs, read_report, repeated, resealed, trifuse)

WATER = DATA / "h2o_631g_c2v_rhf_t10" / "c"
UHF = DATA / "ch2_631g_c1_uhf_t3" / "c"
ROHF = DATA / "ch2_631g_c2v_rohf_t3" / "c"
STOPPED = r"(?m)^trifuse: (Rank \d failed: )?Stopped before [^\n]*$"


class Energies(SeveralProcesses):
    def assert_same_bits(self, ranks, *arguments):
        report = self.folder / "report.json"
        self.report_of(*arguments, program=ALONE)
        alone, alone_report = energies_as_text(report), read_report(report)
        for number in ranks:
            with self.subTest(arguments, ranks=number):
                report.unlink()
                outcome = mpirun((number, ("run", *arguments, "--quiet", "--json", report)))
                self.assertEqual(outcome, (0, "", ""))
                self.assertEqual(energies_as_text(report), alone)
                found = read_report(report)
                self.assertEqual(found["operations"]["executed"], alone_report["operations"]["executed"])
                self.assertEqual(found["tasks"], alone_report["tasks"])
                self.assertEqual([rank["rank"] for rank in found.get("ranks", [])], list(range(number)) if number > 1 else [])

    def test_they_are_those_of_one_process(self):
        for arguments in ((WATER, "--form", "spin-adapted"), (WATER, "--form", "spin-orbital"), (UHF,), (ROHF,),
                          (ROHF, "--rohf", "semicanonical")):
            ranks = (3,) if repeated() else (1, 2, 3, 4)
            self.assert_same_bits(ranks, *arguments, "--omega2", "0,0.1", "--tile-size", 3, "--device", "cpu")

    def test_so_they_are_with_other_executors_threads_and_a_left_side(self):
        self.assert_same_bits((2,), WATER, "--executor", "reference")
        self.assert_same_bits((3,), WATER, "--device", "cpu", "--threads", 2)
        self.assert_same_bits((2,), WATER, "--device", "cpu", "--left", WATER)
        self.assert_same_bits((2,), DATA.parent / "dumps" / "hf_160_631g_rhf_moments.h5", "--device", "cpu", "--method", "ct,cr-t")

    # The address sanitizer keeps memory that was returned.
    @unittest.skipIf(repeated(), "another build tests this")
    def test_each_takes_the_memory_of_the_plan(self):
        dump, report = self.folder / "large.h5", self.folder / "report.json"
        self.succeed("bench", "--occupied", 2, "--virtual", 160, "--factors", 900, "--write", dump)
        self.assertEqual(mpirun((2, ("run", dump, "--device", "cpu", "--threads", 1, "--quiet", "--json", report))), (0, "", ""))
        self.succeed("plan", dump, "--gpus", 0, "--ranks", 2, "--json", self.folder / "plan.json")
        planned = read_report(self.folder / "plan.json")["prediction"]["memory"]
        # Of the operands that the two share, each counts its half, and the copies that it makes of the other half.
        self.assertEqual(planned["fetched_rank_bytes"], planned["rank_bytes"])
        peak = read_report(report)["memory"]["peak_bytes"]
        self.assertLess(peak, 1.2 * planned["peak_rank_bytes"])
        self.assertGreater(peak, planned["rank_bytes"] + planned["fetched_rank_bytes"])

    def test_where_there_are_fewer_tasks_than_ranks_some_do_nothing(self):
        self.assert_same_bits((4,), DATA / "hehplus_631g_c1_rhf_t3" / "c", "--device", "cpu")

    def test_so_they_are_with_integrals_from_factors(self):
        # More and fewer auxiliary functions than ranks.
        for auxiliary in (90, 3):
            dump = self.folder / f"factors{auxiliary}.h5"
            self.succeed("bench", "--occupied", 6, "--virtual", 20, "--factors", auxiliary, "--write", dump)
            self.assert_same_bits((3,) if repeated() else (2, 3, 5), dump, "--device", "cpu", "--tile-size", 6)
            (self.folder / "report.json").unlink()
        # Each number of ranks recognises the journal.
        for ranks in (2, 1, 3):
            report = self.folder / f"report{ranks}.json"
            outcome = mpirun((ranks, ("run", dump, "--device", "cpu", "--quiet", "--json", report, "--journal", self.folder / "journal")))
            self.assertEqual(outcome, (0, "", ""))
            tasks = read_report(report)["tasks"]
            self.assertEqual(tasks["from_journal"], 0 if ranks == 2 else tasks["total"])


class Dumps(SeveralProcesses):
    """All ranks together check a dump that all of them read."""

    def setUp(self):
        super().setUp()
        self.dump = self.convert(MadeUpMolecule(occupied=5, virtual=9).write(self.folder / "molecule"))

    def test_the_energies_of_all_are_those_of_one(self):
        report = self.folder / "report.json"
        arguments = ("run", self.dump, "--device", "cpu", "--quiet", "--json", report)
        found = []
        for ranks, threads in ((1, 1), (1, 3), (2, 1), (3, 2), (4, 1)):
            self.assertEqual(mpirun((ranks, (*arguments, "--threads", threads))), (0, "", ""))
            found.append((energies_as_text(report), repr(read_report(report)["ccsd_correlation_energy"])))
            report.unlink()
        self.assertEqual(len(set(found)), 1, found)

    def test_a_damaged_number_ends_all(self):
        molecule = MadeUpMolecule(occupied=5, virtual=9)
        content = self.dump.read_bytes()
        for name, value in (("t1", molecule.t1[8, 4]), ("t2", molecule.t2[4, 4, 8, 8]), ("ovov", molecule.vovo[8, 4, 8, 4]),
                            ("ovoo", molecule.vooo[8, 4, 4, 4]), ("ovvv", molecule.vvvo[8, 8, 8, 4])):
            place = struct.pack("<d", value)
            self.assertEqual(content.count(place), 1)
            damaged = content.replace(place, struct.pack("<d", float("nan")))
            self.dump.write_bytes(resealed(content, damaged, molecule.places_in_dump(content).values()))
            with self.subTest(name):
                outcome = mpirun((3, ("run", self.dump, "--device", "cpu", "--threads", 2)), limit=REFUSAL_TIME_LIMIT)
                self.assert_told_once(outcome, 1, self.dump, f"'{name}'", "not finite")

    def test_a_broken_seal_ends_all(self):
        damaged = bytearray(self.dump.read_bytes())
        begin, size = MadeUpMolecule(occupied=5, virtual=9).places_in_dump(bytes(damaged))["ovvv"]
        damaged[begin + size - 8] ^= 1
        self.dump.write_bytes(damaged)
        outcome = mpirun((3, ("run", self.dump, "--device", "cpu")), limit=REFUSAL_TIME_LIMIT)
        self.assert_told_once(outcome, 1, self.dump, "block 3 of dataset 'ovvv'", "does not match the seal")

    def test_ranks_that_read_different_dumps_end(self):
        # Both dumps are valid and have the same size and the same CCSD energy, which does not depend on (ia|bc).
        molecule = MadeUpMolecule(occupied=5, virtual=9)
        molecule.vvvo = {index: 1.01 * value for index, value in molecule.vvvo.items()}
        other = self.convert(molecule.write(self.folder / "other"), "other.h5")
        arguments = ("--device", "cpu", "--threads", 1)
        outcome = mpirun((1, ("run", self.dump, *arguments)), (1, ("run", other, *arguments)), limit=REFUSAL_TIME_LIMIT)
        self.assert_told_once(outcome, 1, "ranks 0 and 1 read different numbers")

    def test_singles_of_another_run_end_all(self):
        molecule, content = MadeUpMolecule(occupied=5, virtual=9), self.dump.read_bytes()
        damaged = content.replace(struct.pack("<d", molecule.t1[8, 4]), struct.pack("<d", 0.3))
        self.dump.write_bytes(resealed(content, damaged, molecule.places_in_dump(content).values()))
        FOLDERS_OF_MADE_UP_MOLECULES.clear()  # the input is not trusted
        outcome = mpirun((3, ("run", self.dump, "--device", "cpu")), limit=REFUSAL_TIME_LIMIT)
        self.assert_told_once(outcome, 1, self.dump, "CCSD correlation energy")


class SharedOperands(SeveralProcesses):
    """Operands in Global Arrays or in windows of MPI. Each rank stores a part."""

    def operands_of(self, ranks, *arguments):
        """The reports of the ranks on their operands. Compares the energies with those of one process first."""
        report = self.folder / "report.json"
        self.report_of(*arguments, program=ALONE)
        alone = energies_as_text(report)
        self.assertEqual(mpirun((ranks, ("run", *arguments, "--quiet", "--json", report))), (0, "", ""))
        self.assertEqual(energies_as_text(report), alone)
        return read_report(report)["memory"]["operand_bytes"], [rank["operands"] for rank in read_report(report)["ranks"]]

    def test_no_rank_has_more_than_its_part(self):
        for arguments in ((WATER, "--form", "spin-adapted"), (UHF,), (ROHF, "--rohf", "semicanonical")):
            for ranks in (3,) if repeated() else (2, 3, 4):
                with self.subTest(arguments, ranks=ranks):
                    everything, operands = self.operands_of(ranks, *arguments, "--tile-size", 3, "--device", "cpu", "--threads", 1)
                    self.assertEqual(sum(rank["own_bytes"] for rank in operands), everything)
                    for rank in operands:
                        self.assertLess(abs(rank["own_bytes"] * ranks / everything - 1.0), 0.2)
                        self.assertEqual(rank["own_bytes"] + rank["bytes_of_others"], everything)
                        # With memory for all panels each panel is fetched once.
                        self.assertLessEqual(rank["fetched_bytes"], rank["bytes_of_others"])
                        self.assertLessEqual(rank["panels_hit"], rank["panels_wanted"])
                    self.assertGreater(sum(rank["fetched_bytes"] for rank in operands), 0)

    def test_memory_is_for_all_that_a_rank_keeps(self):
        source = MadeUpMolecule(occupied=8, virtual=24).write(self.folder / "molecule")
        arguments = (source, "--form", "spin-orbital", "--tile-size", 4, "--device", "cpu", "--threads", 1)
        much, operands = self.operands_of(4, *arguments)
        little = 0
        for rank in operands:
            little = max(little, rank["own_bytes"] + rank["bytes_of_others"] // 4)
        limit = little + (1 << 19)
        self.assertLess(limit, much)
        _, limited = self.operands_of(4, *arguments, "--memory", limit)
        for rank in limited:
            self.assertLessEqual(rank["own_bytes"] + rank["cache_bytes"], limit)
        self.assertGreater(sum(rank["fetched_bytes"] for rank in limited), sum(rank["fetched_bytes"] for rank in operands))
        refused = ("run", *arguments, "--memory", operands[0]["own_bytes"] // 2)
        self.assert_told_once(mpirun((4, refused), limit=REFUSAL_TIME_LIMIT), 2, "--memory", "This rank, one of 4, stores")
        self.assert_told_once(mpirun((2, ("run", *arguments)), (1, refused), (1, ("run", *arguments)), limit=REFUSAL_TIME_LIMIT),
                              2, "Rank 2 failed: This rank, one of 4, stores")

    def test_a_number_that_only_some_ranks_read_ends_all(self):
        molecule = MadeUpMolecule(occupied=4, virtual=8)
        sound, damaged = (molecule.write(self.folder / name) for name in ("sound", "damaged"))
        numbers = (("v2int", molecule.vvvo[2, 5, 7, 1]), ("v2int", molecule.vooo[3, 1, 2, 0]), ("t2amp", molecule.t2[0, 3, 5, 6]))
        jobs = ([(3, damaged)], [(1, sound), (1, damaged), (1, sound)], [(3, sound), (1, damaged)])
        for (name, value), ranks in pairs(numbers, jobs):
            path = damaged.with_suffix(f".{name}.000000")
            content = path.read_bytes()
            self.assertIn(struct.pack("<d", value), content)
            path.write_bytes(content.replace(struct.pack("<d", value), struct.pack("<d", float("nan"))))
            with self.subTest(name, value=value, ranks=ranks):
                outcome = mpirun(*((number, ("run", prefix, "--device", "cpu", "--tile-size", 2)) for number, prefix in ranks),
                                 limit=REFUSAL_TIME_LIMIT)
                self.assert_told_once(outcome, 1, path)
            path.write_bytes(content)

    def test_what_moved_is_told(self):
        outcome = mpirun((3, ("run", WATER, "--device", "cpu", "--threads", 1, "--tile-size", 3)))
        self.assertEqual((outcome.code, outcome.err), (0, ""))
        self.assertRegex(outcome.out, r"\nOperands     shared by the ranks: at most \S+ \S+ in a rank, and a cache of \S+ \S+ for panels of other ranks\n"
                                      r"Fetched      \S+ \S+ from other ranks, at most ")


class Report(SeveralProcesses):
    def test_one_rank_prints_it_with_a_table_of_all(self):
        report = self.folder / "report.json"
        outcome = mpirun((3, ("run", WATER, "--device", "cpu", "--threads", 1, "--json", report)))
        self.assertEqual((outcome.code, outcome.err), (0, ""))
        for part in ("Input  ", "Plan  ", "computes on", "E(T) / Eh  method", "Time  "):
            self.assertEqual(outcome.out.count(part), 1, outcome.out)
        self.assertRegex(outcome.out, r"\n +0-2  \S+ +1 core\n")
        ranks = read_report(report)["ranks"]
        for rank in ranks:
            self.assertEqual((rank["host"], rank["computes_on"], rank["gpu"], rank["role"], rank["threads"]),
                             (ranks[0]["host"], "1 core", None, "worker", 1))
        self.assertAlmostEqual(sum(rank["share_of_rate"] for rank in ranks), 1.0)
        self.assert_nothing_but("report.json")

    def test_so_does_one_rank_with_help(self):
        outcome = mpirun((2, ("run", "--help")))
        self.assertEqual((outcome.code, outcome.err), (0, ""))
        self.assertEqual(outcome.out.count("Examples:"), 1)
        self.assertIn("mpirun -n 4 trifuse run", outcome.out)


class Refusals(SeveralProcesses):
    def test_what_no_rank_can_read_is_named_once(self):
        absent = self.folder / "absent"
        self.assert_told_once(mpirun((3, ("run", absent)), limit=REFUSAL_TIME_LIMIT), 1, absent)

    def test_a_damaged_dump_on_any_rank_ends_all(self):
        damaged = self.copy_of("h2o_631g_c2v_rhf_t10") / "c"
        t2 = damaged.with_suffix(".t2amp.000000")
        t2.write_bytes(t2.read_bytes()[:-8])
        for sound, ranks in ((0, [(3, damaged)]), (1, [(1, WATER), (1, damaged), (1, WATER)]), (1, [(2, WATER), (1, damaged)]),
                             (0, [(1, damaged), (2, WATER)])):
            with self.subTest(ranks=ranks):
                report = self.folder / "report.json"
                outcome = mpirun(*((number, ("run", path, "--json", report)) for number, path in ranks), limit=REFUSAL_TIME_LIMIT)
                self.assert_told_once(outcome, 1, damaged, *(["Rank ", " failed: "] if sound else []))
        self.assert_nothing_but("dump")

    def test_ranks_that_would_compute_different_things_are_refused(self):
        one, other = (MadeUpMolecule(occupied=3, virtual=5, seed=n).write(self.folder / f"seed{n}") for n in (1, 2))
        for first, second in ((["run", WATER], ["run", ROHF]), (["run", one], ["run", other])):
            with self.subTest(first=first, second=second):
                outcome = mpirun((2, first), (1, second), limit=REFUSAL_TIME_LIMIT)
                self.assert_told_once(outcome, 1, "ranks 0 and 2 read different numbers")

    def test_a_rank_that_fails_where_the_others_go_on_ends_all(self):
        sound, wrong = ("run", WATER), ("run", WATER, "--tile-size", 0)
        outcome = mpirun((2, sound), (1, wrong), limit=REFUSAL_TIME_LIMIT)
        self.assert_told_once(outcome, 2, "Rank 2 failed: --tile-size")
        outcome = mpirun((1, wrong), (2, sound), limit=REFUSAL_TIME_LIMIT)
        self.assert_told_once(outcome, 2, '--tile-size is "0"; it must be a number of orbitals')

    def test_wrong_options_are_named_once(self):
        for arguments in (["--frobnicate"], ["--form", "other"], ["--threads", "0"]):
            with self.subTest(arguments):
                outcome = mpirun((2, ("run", WATER, *arguments)), limit=REFUSAL_TIME_LIMIT)
                self.assertEqual((outcome.code, outcome.out), (2, ""))
                self.assertEqual(outcome.err.count(arguments[0]), 1, outcome.err)
        for arguments, part in ((["--memory", "lots"], '--memory is "lots"'), (["--omega2", "-0.1"], '--omega2 is "-0.1"'),
                                (["--rohf", "semicanonical"], "--rohf semicanonical"),
                                (["--device", "cpu", "--devices", "0"], "--devices names GPUs")):
            with self.subTest(arguments):
                self.assert_told_once(mpirun((2, ("run", WATER, *arguments)), limit=REFUSAL_TIME_LIMIT), 2, part)

    def test_a_journal_of_some_ranks_only_is_refused(self):
        outcome = mpirun((1, ("run", WATER, "--journal", self.folder / "journal")), (1, ("run", WATER)), limit=REFUSAL_TIME_LIMIT)
        self.assert_told_once(outcome, 2, "Ranks 0 and 1 were not given the same", "--journal")
        self.assert_nothing_but()

    def test_options_that_some_ranks_were_not_given_are_named(self):
        report, journal, left = self.folder / "report.json", self.folder / "journal", self.copy_of("h2o_631g_c1_rhf_t5_2eorb") / "c"
        cases = (["--omega2", "0.1"], ["--json", report], ["--journal", journal], ["--left", left], ["--executor", "reference"],
                 ["--form", "spin-orbital"], ["--rohf", "semicanonical"], ["--tile-size", 3], ["--quiet"], ["--frozen-core", 0],
                 ["--nwchem-tile-size", 5], ["--nwchem-output", WATER.with_suffix(".out")])
        for n, options in enumerate(cases):
            given, not_given = ("run", WATER, *options), ("run", WATER)
            jobs = [(2, not_given), (1, given)], [(1, given), (1, not_given)]
            for ranks in (jobs[n % 2],) if repeated() else jobs:
                with self.subTest(options, first=ranks[0]):
                    self.assert_told_once(mpirun(*ranks, limit=REFUSAL_TIME_LIMIT), 2, "were not given the same", options[0])
        self.assert_nothing_but("dump")

    def test_options_with_other_values_are_named(self):
        journals = [["--journal", self.folder / name] for name in ("a", "b")]
        reports = [["--json", self.folder / name] for name in ("a", "b")]
        for first, second in ((["--tile-size", 3], ["--tile-size", 2]), (["--omega2", "0,0.1"], ["--omega2", "0.1,0"]), journals, reports):
            with self.subTest(first=first, second=second):
                outcome = mpirun((2, ("run", WATER, *first)), (1, ("run", WATER, *second)), limit=REFUSAL_TIME_LIMIT)
                self.assert_told_once(outcome, 2, "Ranks 0 and 2 were not given the same", first[0])
        self.assert_nothing_but()

    def test_help_for_one_rank_is_not_waited_for(self):
        for ranks in ([(1, ("run", "--help")), (1, ("run", WATER))], [(2, ("run", WATER)), (1, ("run", "--help"))]):
            self.assert_told_once(mpirun(*ranks, limit=REFUSAL_TIME_LIMIT), 2, "--help")

    def test_a_rank_may_have_threads_memory_and_devices_of_its_own(self):
        report = self.folder / "report.json"
        arguments = ("run", WATER, "--tile-size", 3, "--quiet", "--json", report)
        self.succeed(*arguments, "--device", "cpu")
        energies = energies_as_text(report)
        for options in (["--threads", 2], ["--memory", "1GiB"], ["--device", "cpu"]):
            with self.subTest(options):
                self.assertEqual(mpirun((1, arguments), (1, (*arguments, *options))), (0, "", ""))
                self.assertEqual(energies_as_text(report), energies)

    def test_a_report_that_cannot_be_written_is_named_once(self):
        report = self.folder / "no" / "report.json"
        self.assert_told_once(mpirun((3, ("run", WATER, "--json", report)), limit=REFUSAL_TIME_LIMIT), 3, report)

    def test_gpus_that_are_not_there_are_refused_once(self):
        reason = re.search(r"^GPU: none\. (.*)$", trifuse("--version").out, re.MULTILINE)
        if reason is None:
            self.skipTest("there are GPUs here")
        for arguments in (["--device", "cuda"], ["--devices", "0,1"]):
            self.assert_told_once(mpirun((2, ("run", WATER, *arguments)), limit=REFUSAL_TIME_LIMIT), 2, reason.group(1))

    def test_other_commands_are_one_process(self):
        outcome = mpirun((2, ("convert", WATER, self.folder / "dump.h5")), limit=REFUSAL_TIME_LIMIT)
        self.assertEqual((outcome.code, outcome.out), (2, ""))
        self.assertIn("trifuse: This program was started 2 times", outcome.err)
        self.assert_nothing_but()


class Endings(LaunchedRun):
    """A long run is ended from outside: by its launcher, or by a signal to one rank."""

    RANKS = 3

    def setUp(self):
        super().setUp()
        source = write_made_up_molecule(self.folder / "molecule", occupied=9, virtual=24)
        omega2 = ",".join(f"{0.01 * n:.2f}" for n in range(400))
        self.start(self.RANKS, source, "--form", "spin-orbital", "--tile-size", 3, "--omega2", omega2, "--executor", "reference",
                   "--threads", 1, "--json", self.folder / "report.json")
        self.wait_for_table()
        self.find_processes(self.RANKS)

    def end(self, process, with_signal):
        """The outcome after the signal. No process of the run is left."""
        self.assertIsNone(self.launcher.poll(), "The run ended before it could be interrupted.")
        os.kill(process, with_signal)
        outcome = self.wait_for_end()
        self.assert_nothing_but("molecule")
        return outcome

    def test_the_death_of_a_rank_ends_all(self):
        self.assertNotEqual(self.end(self.processes[1], signal.SIGKILL).code, 0)

    def test_the_death_of_the_first_rank_ends_all(self):
        self.assertNotEqual(self.end(self.processes[0], signal.SIGKILL).code, 0)

    def test_a_rank_that_is_stopped_stops_all_with_a_sentence(self):
        outcome = self.end(self.processes[2], signal.SIGTERM)
        self.assertEqual(outcome.code, 130, outcome)
        self.assertEqual(len(re.findall(STOPPED, outcome.err)), 1, outcome)
        self.assertEqual(outcome.err.count("trifuse: "), 1, outcome)

    def expect_all_stopped(self, outcome):
        """All processes have stopped after a signal to the launcher."""
        self.assertLessEqual(outcome.err.count("trifuse: "), 1, outcome)
        self.assertIsNone(LOOKS_LIKE_AN_ENERGY.search(outcome.out), outcome)
        # MPICH's launcher ends with 0 in one of some twenty cases, after its processes have ended with 130 and their sentence.
        if outcome.code == 0:
            self.assertIn("mpich", self.launcher.args[0])
            self.assertRegex(outcome.err, STOPPED)

    def test_a_launcher_that_is_interrupted_stops_all(self):
        self.expect_all_stopped(self.end(self.launcher.pid, signal.SIGINT))

    def test_a_launcher_that_is_terminated_stops_all(self):
        self.expect_all_stopped(self.end(self.launcher.pid, signal.SIGTERM))


if __name__ == "__main__":
    unittest.main()
