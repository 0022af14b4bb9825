"""--precision mixed: emulated on CPU cores for all dumps, with error bars that cover the errors."""

import re
import unittest

from trifuse_program import CASES, DATA, GOOD_CASES, ProgramTest, mpirun, read_report, sanitized, trifuse

EMULATED = ("--device", "cpu", "--precision", "mixed")
NITROGEN = DATA / "n2_200_ccpvdz_d2h_rhf_fc2_t10"
CARBENE = DATA / "ch2_631g_c1_uhf_t3"
DUMPS = DATA.parent / "dumps"
# More tasks take long and give no new information.
MOST_TASKS = 3000
# With the next smaller tiles there are not too many tasks.
FEW_TASKS = 30
# One tile size runs all of the code, which is enough with the sanitizers.
TILE_SIZES, LEAST_CASES = ((3,), 50) if sanitized() else ((5, 3, 2, 1), 200)


class MixedPrecision(ProgramTest):
    def report(self, source, *options):
        path = self.folder / "report.json"
        self.succeed("run", source, "--json", path, "--overwrite", "--quiet", *options)
        return read_report(path)

    def planned_tasks(self, source, form, size):
        path = self.folder / "plan.json"
        self.succeed("plan", source, "--form", form, "--tile-size", size, "--gpus", 0, "--json", path, "--overwrite")
        return read_report(path)["tasks"]

    def test_error_bars_cover_the_errors_of_all_dumps(self):
        """At least 95 % of the errors are within two bars, and none breaks the limits that the documents promise."""
        cases, uncovered = 0, []
        for name in GOOD_CASES:
            for form in ("spin-adapted", "spin-orbital") if "_rhf_" in name else ("spin-orbital",):
                tasks = 0
                for size in TILE_SIZES:
                    options = ("--form", form, "--tile-size", size, "--omega2", "0,0.1,0.5", "--threads", 1, "--device", "cpu")
                    # Smaller tiles make more tasks.
                    if tasks > FEW_TASKS and self.planned_tasks(DATA / name, form, size) > MOST_TASKS:
                        break
                    exact = self.report(DATA / name, *options)
                    tasks = exact["tasks"]["total"]
                    if not 0 < tasks <= MOST_TASKS:
                        break
                    mixed = self.report(DATA / name, *options, "--precision", "mixed")
                    self.assertEqual(mixed["tasks"]["total"], exact["tasks"]["total"])
                    for found, expected in zip(mixed["energies"], exact["energies"], strict=True):
                        for energy in ("E[T]", "E(T)"):
                            error = abs(found[energy] - expected[energy])
                            self.assertLessEqual(error, max(1e-9, 2e-8 * abs(expected[energy])), (name, options))
                            # Energies below 1e-6 hartree are sums of few numbers, whose errors are not averaged.
                            self.assertLessEqual(abs(found["uncorrected"][energy] - expected[energy]),
                                                 max(1e-12, 6e-7 * abs(expected[energy])), (name, options))
                            # Rounding errors of double precision are not in the bar.
                            covered = error <= 2 * found["error_bar"][energy] + 1e-15
                        if mixed["tasks"]["in_double"] < mixed["tasks"]["total"]:
                            cases += 1
                            if not covered:
                                uncovered.append((name, *options, error, found["error_bar"][energy]))
        self.assertGreaterEqual(cases, LEAST_CASES)
        self.assertLessEqual(len(uncovered), cases // 20, uncovered)

    def test_diffuse_bases_and_more_than_twenty_orbitals(self):
        """Sums of contracted indices are long here, and their first terms are the largest, so truncation is strongest."""
        # With the sanitizers only the smaller molecule: the same code computes both.
        for name, size in (("hf_160_augccpvdz_rhf_fc1", 4), ("benzene_sto3g_rhf", 6))[:1 if sanitized() else 2]:
            with self.subTest(name):
                options = ("--tile-size", size, "--device", "cpu")
                exact = self.report(DUMPS / f"{name}.h5", *options)["energies"][0]
                mixed = self.report(DUMPS / f"{name}.h5", *options, "--precision", "mixed")
                self.assertLess(mixed["tasks"]["in_double"], mixed["tasks"]["total"] // 2)
                found = mixed["energies"][0]
                for energy in ("E[T]", "E(T)"):
                    error = abs(found[energy] - exact[energy])
                    self.assertLessEqual(error, max(1e-9, 2e-8 * abs(exact[energy])))
                    self.assertLessEqual(error, 2 * found["error_bar"][energy])
                    self.assertLessEqual(abs(found["uncorrected"][energy] - exact[energy]), 3e-7 * abs(exact[energy]))

    def test_the_energy_is_printed_with_its_bar(self):
        out = self.succeed("run", NITROGEN, "--tile-size", 4, *EMULATED).out
        said = re.search(r"^E\(T\) = (-\d\.\d+) ± (\d\.\d+) \(mixed precision; (\d+) of (\d+) tasks in double precision\)$", out, re.MULTILINE)
        self.assertIsNotNone(said, out)
        energy, bar, in_double, tasks = float(said[1]), float(said[2]), int(said[3]), int(said[4])
        self.assertEqual(len(said[1].partition(".")[2]), len(said[2].partition(".")[2]))
        self.assertLessEqual(abs(energy - CASES[NITROGEN.name]["printed"]["E_(T)"]), 4 * bar)
        self.assertTrue(0 < bar < 1e-8)
        self.assertTrue(0 < in_double < tasks)
        self.assertNotIn("±", self.succeed("run", NITROGEN, "--tile-size", 4, "--device", "cpu").out)

    def test_the_report_tells_both_parts_of_the_run(self):
        options = ("--tile-size", 4, *EMULATED)
        report = self.report(NITROGEN, *options)
        sample, seconds = report["sample"], report["timings"]["task_seconds"]
        self.assertEqual(sample["tasks"], report["tasks"]["in_double"])
        self.assertGreater(sample["operations"], 0.0)
        self.assertLess(sample["operations"], report["operations"]["executed"] / 2)
        self.assertLessEqual(sample["preparing_seconds"], sample["seconds"])
        self.assertLess(sample["seconds"], seconds)
        out = self.succeed("run", NITROGEN, *options).out
        self.assertRegex(out, r"Precision    \d+\.\d+ s in mixed precision, \d+\.\d GF/s; then \d+\.\d+ s in double precision")
        self.assertIn(f"             {sample['tasks']} tasks, ", out)
        exact = self.report(NITROGEN, "--tile-size", 4, "--device", "cpu")
        self.assertNotIn("sample", exact)
        # Tasks of a journal are not computed again.
        journal = ("--journal", self.folder / "journal")
        self.report(NITROGEN, *options, *journal)
        self.assertEqual(self.report(NITROGEN, *options, *journal)["sample"]["tasks"], 0)

    def test_a_target_error_is_reached(self):
        for target in ("1e-6", "1e-10", "1e-18"):
            report = self.report(NITROGEN, "--tile-size", 6, "--omega2", "0,0.2", *EMULATED, "--target-error", target)
            self.assertEqual(report["settings"]["target_error"], float(target))
            for energy in report["energies"]:
                self.assertLessEqual(max(energy["error_bar"].values()), float(target))
        self.assertEqual(report["tasks"]["in_double"], report["tasks"]["total"])
        exact = self.report(NITROGEN, "--tile-size", 6, "--omega2", "0,0.2", "--device", "cpu")
        self.assertEqual([energy["E(T)"] for energy in report["energies"]], [energy["E(T)"] for energy in exact["energies"]])

    def test_ranks_and_threads_give_the_same_bits(self):
        options = ("--tile-size", 3, "--omega2", "0,0.1", *EMULATED)
        expected = self.report(CARBENE, *options, "--threads", 1)["energies"]
        self.assertEqual(self.report(CARBENE, *options, "--threads", 2)["energies"], expected)
        path = self.folder / "ranks.json"
        outcome = mpirun((3, ("run", CARBENE, "--json", path, *options)))
        self.assertEqual(outcome.code, 0, outcome.err)
        self.assertEqual(read_report(path)["energies"], expected)

    def test_wrong_options_are_refused(self):
        for options, part in ((("--precision", "mixed", "--executor", "reference"), "computes in double precision only"),
                              (("--target-error", "1e-6"), "A target error is for mixed precision"),
                              ((*EMULATED, "--target-error", "0"), "it must be an error bar in hartree, more than 0 and at most 1"),
                              ((*EMULATED, "--target-error", "nan"), "it must be an error bar in hartree, more than 0 and at most 1")):
            with self.subTest(options):
                self.assert_refused("run", CARBENE, *options, naming=part, code=2)
        outcome = trifuse("run", CARBENE, "--precision", "single")
        self.assertEqual((outcome.code, outcome.out), (2, ""))
        self.assertIn('--precision is "single"; it must be double or mixed', outcome.err)


if __name__ == "__main__":
    unittest.main()
