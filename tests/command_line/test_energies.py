"""The energies of a run in its JSON report equal those of NWChem for any form, tiles and number of threads."""

import re
import unittest

from trifuse_program import (BAD_CASES, CASES, DATA, GOOD_CASES, ProgramTest, energies_as_text, read_report, trifuse)

# A dump of each reference, with and without symmetry, and of both storages of integrals.
WATER = "h2o_631g_c1_rhf_t5_2eorb"
SYMMETRIC_WATER = "h2o_631g_c2v_rhf_t10"
RADICAL = "ch2_631g_c1_uhf_t3"
SYMMETRIC_RADICAL = "oh_ccpvdz_c2v_uhf_t10"
CARBENE = "ch2_631g_c1_rohf_t3_2eorb"
SYMMETRIC_CARBENE = "ch2_631g_c2v_rohf_t3"
SPIN_CASES = ("aaa", "aab", "abb", "bbb")


def expected_energies(name):
    """{omega2: (E[T], E(T))} as tests/data/nwchem/expected.json has them."""
    case = CASES[name]
    entries = {0.0: case.get("recomputed") or case["printed"]}
    entries.update({entry["omega2"]: entry for entry in case["regularised"]})
    return {omega2: (entry["E_[T]"], entry["E_(T)"]) for omega2, entry in entries.items()}


class Energies(ProgramTest):
    def test_every_bundled_calculation_gives_the_expected_energies(self):
        self.assertGreater(len(GOOD_CASES), 30)
        for name in GOOD_CASES:
            with self.subTest(name):
                expected = expected_energies(name)
                omega2 = ",".join(map(str, expected))
                self.assert_close(self.energies_of(DATA / name / "c", "--omega2", omega2), expected, 1e-10)

    def test_every_standard_rohf_energy_is_that_of_other_programs(self):
        names = [name for name in GOOD_CASES if "standard_rohf" in CASES[name]]
        self.assertGreater(len(names), 5)
        for name in names:
            with self.subTest(name):
                found = self.energies_of(DATA / name / "c", "--rohf", "semicanonical")[0.0][1]
                self.assertAlmostEqual(found, CASES[name]["standard_rohf"]["E_(T)"], delta=1e-10)

    def test_every_unsuitable_calculation_is_refused(self):
        self.assertGreater(len(BAD_CASES), 3)
        for name in BAD_CASES:
            with self.subTest(name):
                self.assert_refused(DATA / name / "c", naming=name)

    def test_spin_cases_add_up_and_mirror_each_other_in_closed_shells(self):
        for name in (WATER, RADICAL, SYMMETRIC_CARBENE):
            for entry in self.report_of(DATA / name / "c", "--omega2", "0,0.1")["energies"]:
                for kind in ("E[T]", "E(T)"):
                    parts = [entry["spin_cases"][case][kind] for case in SPIN_CASES]
                    self.assertAlmostEqual(sum(parts), entry[kind], delta=1e-15)
                    self.assertTrue(all(part < 0.0 for part in parts if name != SYMMETRIC_CARBENE))
                    if name == WATER:
                        self.assertEqual(parts, parts[::-1])
        for entry in self.report_of(DATA / "h3_631g_c1_rohf_t3" / "c")["energies"]:
            self.assertEqual([entry["spin_cases"][case]["E(T)"] for case in SPIN_CASES[1:]], [0.0, 0.0, 0.0])


class Sameness(ProgramTest):
    def test_any_number_of_threads_gives_the_same_bits(self):
        for name in (WATER, SYMMETRIC_RADICAL, SYMMETRIC_CARBENE):
            for executor in ("cpu", "reference"):
                texts = set()
                for threads in (1, 2, 3):
                    report = self.report_of(DATA / name / "c", "--threads", threads, "--tile-size", 3,
                                            "--omega2", "0,0.2", "--executor", executor)
                    self.assertEqual(report["settings"]["threads"], threads)
                    texts.add(energies_as_text(self.folder / "report.json"))
                self.assertEqual(len(texts), 1, name)

    def test_both_forms_and_all_tile_sizes_agree(self):
        for name in (WATER, SYMMETRIC_WATER):
            reference = self.energies_of(DATA / name / "c", "--omega2", "0,0.1")
            for form in ("spin-adapted", "spin-orbital"):
                for tile_size in (1, 2, 3, 5, 100):
                    found = self.energies_of(DATA / name / "c", "--omega2", "0,0.1", "--form", form, "--tile-size", tile_size)
                    self.assert_close(found, reference, 1e-12)

    def test_open_shells_agree_for_all_tile_sizes_and_both_executors(self):
        for name in (RADICAL, SYMMETRIC_RADICAL, CARBENE, SYMMETRIC_CARBENE):
            for rohf in ("given", "semicanonical") if "rohf" in name else ("given",):
                reference = self.energies_of(DATA / name / "c", "--rohf", rohf)
                for options in (["--tile-size", 1], ["--tile-size", 4], ["--executor", "reference", "--tile-size", 3]):
                    self.assert_close(self.energies_of(DATA / name / "c", "--rohf", rohf, *options), reference, 1e-12)

    def test_values_of_omega2_do_not_depend_on_each_other(self):
        together = self.energies_of(DATA / RADICAL / "c", "--omega2", "0,0.1,0.2,0.35")
        for omega2, pair in together.items():
            self.assert_close(self.energies_of(DATA / RADICAL / "c", "--omega2", omega2), {omega2: pair}, 1e-16)
        self.assertTrue(together[0.0][1] < together[0.1][1] < together[0.2][1] < together[0.35][1] < 0.0)


class Report(ProgramTest):
    def test_it_holds_all_that_a_program_needs(self):
        report = self.report_of(DATA / SYMMETRIC_CARBENE / "c", "--omega2", "0,0.1", "--threads", 2, "--tile-size", 4)
        self.assertEqual(report["program"], "trifuse")
        self.assertEqual(report["version"], trifuse("--version").out.split()[1])
        self.assertEqual(report["units"], "hartree")
        for entry in report["energies"]:
            self.assertEqual(list(entry), ["omega2", "E[T]", "E(T)", "ccsd_t_energy", "method", "smallest_denominator", "spin_cases"])
            self.assertEqual(tuple(entry["spin_cases"]), SPIN_CASES)
        self.assertEqual(report["settings"], {"method": ["t"], "form": "spin-orbital", "omega2": [0.0, 0.1], "rohf": "given", "executor": "cpu",
                                              "precision": "double", "target_error": None,
                                              "tile_size": 4, "threads": 2, "memory_bytes": 2 << 30, "journal": None})
        self.assertEqual(report["input"]["reference"], "ROHF")
        self.assertEqual((report["input"]["occupied"], report["input"]["virtual"]), ([5, 3], [8, 10]))
        printed = CASES[SYMMETRIC_CARBENE]["printed"]
        self.assertEqual(report["input"]["printed"]["E(T)"], printed["E_(T)"])
        self.assertAlmostEqual(report["ccsd_correlation_energy"], printed["E_CCSD_corr"], delta=1e-10)
        self.assertEqual(report["tasks"], {"total": report["plan"]["tasks"], "from_journal": 0, "from_other_kind": 0,
                                           "in_double": report["plan"]["tasks"]})
        self.assertEqual(report["operations"]["executed"], report["plan"]["operations"])
        self.assertGreater(report["operations"]["executed"], 1e5)
        self.assertIn("a multiply and an add counted as two", report["operations"]["convention"])
        stages = [report["timings"][f"{stage}_seconds"] for stage in ("check", "plan", "journal", "load", "task")]
        self.assertEqual(len(report["timings"]), len(stages) + 1)
        self.assertLessEqual(sum(stages), report["timings"]["whole_seconds"])
        self.assertGreater(min(stages[0], stages[3], stages[4]), 0.0)
        self.assertLess(report["plan"]["largest_denominator"], 0.0)
        memory = report["memory"]
        self.assertGreater(memory["peak_bytes"], memory["operand_bytes"])
        self.assertGreater(memory["scratch_bytes"], 0)
        self.assertTrue(report["machine"]["host"] and report["machine"]["processor"] and report["machine"]["blas"])

    def test_total_energies_are_those_that_nwchem_printed(self):
        for case in (WATER, SYMMETRIC_CARBENE):
            output = (DATA / case / "c.out").read_text()

            def printed(label):
                return float(re.findall(rf"{re.escape(label)}\s*=\s*(\S+)", output)[-1])

            text = self.succeed("run", DATA / case / "c").out
            # The converter keeps the energy of the reference.
            for source in (DATA / case / "c", self.convert(DATA / case / "c", f"{case}.h5")):
                report = self.report_of(source, "--omega2", "0,0.1")
                self.assertAlmostEqual(report["scf_energy"], printed("Total SCF energy"), delta=1e-11)
                self.assertAlmostEqual(report["ccsd_energy"], printed("CCSD total energy / hartree"), delta=1e-9)
                self.assertAlmostEqual(report["energies"][0]["ccsd_t_energy"], printed("CCSD(T) total energy / hartree"), delta=1e-9)
                for entry in report["energies"]:
                    self.assertAlmostEqual(entry["ccsd_t_energy"], report["ccsd_energy"] + entry["E(T)"], delta=1e-12)
                self.assertIs(report["input"]["sealed"], str(source).endswith(".h5"))
            self.assertIn(f"E(CCSD) {report['ccsd_energy']:.12f} Eh", text)
            self.assertIn(f"{report['energies'][0]['ccsd_t_energy']:.12f}  E(CCSD) + E(T)", text)

    def test_methods_are_named_by_what_was_computed(self):
        report = self.report_of(DATA / WATER / "c", "--omega2", "0,0.1")
        self.assertEqual([entry["method"] for entry in report["energies"]], ["CCSD(T)", "denominator-shifted CCSD(T)"])
        self.assertEqual(self.report_of(DATA / WATER / "c")["method"], "CCSD(T)")

    def test_the_report_says_which_rohf_energy_it_is(self):
        for rohf, part in (("given", "NWChem's ROHF-CCSD(T)"), ("semicanonical", "standard ROHF-CCSD(T)")):
            self.assertIn(part, self.report_of(DATA / CARBENE / "c", "--rohf", rohf)["reference_note"])
            self.assertIn(part, self.succeed("run", DATA / CARBENE / "c", "--rohf", rohf).out)
        self.assertNotIn("reference_note", self.report_of(DATA / RADICAL / "c"))

    def test_the_terminal_shows_the_same_numbers(self):
        for name in (WATER, SYMMETRIC_RADICAL):
            entry = self.report_of(DATA / name / "c")["energies"][0]
            line = next(line for line in self.succeed("run", DATA / name / "c").out.splitlines() if line.endswith(" CCSD(T)"))
            shown = [float(word) for word in line.split()[:3]]
            for number, text in zip([0.0, entry["E[T]"], entry["E(T)"]], shown, strict=True):
                self.assertAlmostEqual(number, text, delta=1e-15)

    def test_quiet_shows_the_energies_only_and_nothing_beside_a_report(self):
        outcome = self.succeed("run", DATA / WATER / "c", "--quiet")
        self.assertIn("CCSD(T)", outcome.out)
        self.assertNotIn("Input", outcome.out)
        self.report_of(DATA / WATER / "c")  # finds nothing on the terminal

    def test_quiet_runs_tell_the_warnings_of_the_checks(self):
        dump = self.folder / "made_up.h5"
        self.succeed("bench", "--occupied", 2, "--virtual", 4, "--write", dump)
        outcome = trifuse("run", dump, "--quiet")
        self.assertEqual(outcome.code, 0, outcome)
        self.assertRegex(outcome.err, "^trifuse: warning: .*said to be made up, so no witness tests them")
        self.assertEqual(trifuse("run", dump, "--quiet", "--json", self.folder / "report.json").err, "")

    def test_a_failure_leaves_no_report_and_no_temporary_file(self):
        report = self.folder / "report.json"
        for name in BAD_CASES:
            self.assert_refused(DATA / name / "c", "--json", report, naming=name)
        self.assertEqual(trifuse("run", DATA / WATER / "c", "--json", report, "--omega2", "-1").code, 2)
        self.assert_nothing_but()

    def test_a_report_takes_the_place_of_an_older_one(self):
        report = self.folder / "report.json"
        self.succeed("run", DATA / WATER / "c", "--json", report)
        old = report.read_text()
        self.assert_refused(self.folder / "absent", "--json", report, naming="absent")
        self.assertEqual(report.read_text(), old)
        self.succeed("run", DATA / WATER / "c", "--json", report)
        self.assertEqual(read_report(report)["program"], "trifuse")
        self.assert_nothing_but("report.json")


class LeftHandAmplitudes(ProgramTest):
    def test_the_same_amplitudes_on_both_sides_give_the_one_sided_energies(self):
        for name in (WATER, SYMMETRIC_WATER, RADICAL, SYMMETRIC_RADICAL, CARBENE, SYMMETRIC_CARBENE):
            dump = self.convert(DATA / name / "c", f"{name}.h5")
            for rohf in ("given", "semicanonical") if "rohf" in name else ("given",):
                one_sided = self.energies_of(DATA / name / "c", "--omega2", "0,0.1", "--rohf", rohf)
                for left in (dump, DATA / name / "c"):
                    arguments = (DATA / name / "c", "--left", left, "--omega2", "0,0.1", "--rohf", rohf)
                    self.assert_close(self.energies_of(*arguments), one_sided, 1e-12)
                    report = read_report(self.folder / "report.json")
                    self.assertEqual([entry["method"] for entry in report["energies"]],
                                     ["two-sided CCSD(T)", "denominator-shifted two-sided CCSD(T)"])
                    self.assertEqual(report["left"]["path"], str(left))

    def test_left_amplitudes_of_another_molecule_are_refused(self):
        for other in ("h2o_sto3g_c2v_rhf_two_tasks_t2", "n2_sto3g_d2_rhf_t3", RADICAL, SYMMETRIC_WATER,
                      "h2o_631g_c2v_rhf_fc1_fv2_t3"):
            with self.subTest(other):
                self.assert_refused(DATA / WATER / "c", "--left", DATA / other / "c", naming=other)

    def test_absent_left_amplitudes_are_refused(self):
        self.assert_refused(DATA / WATER / "c", "--left", self.folder / "absent", naming="absent")


if __name__ == "__main__":
    unittest.main()
