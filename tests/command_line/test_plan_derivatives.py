"""The command that predicts a job, with derivatives of E(T)."""

import unittest

from test_plan import PlanTest
from trifuse_program import DATA, read_report

DUMPS = DATA.parent / "dumps"

SIZES = ("--occupied", 5, "--virtual", 6)
LARGE = ("--occupied", 20, "--virtual", 200)


class DerivativesTest(PlanTest):
    def test_sums_take_memory(self):
        # A number for each operand, each orbital and each element [hole, particle] over all orbitals.
        sums = self.plan(*SIZES, "--gpus", 0)[0]["prediction"]["memory"]["rank_bytes"] + 8 * (22 + 1 + 22**2)
        # A rank without a GPU has the sums on the host.
        for gpus, ranks in (0, 1), (1, 1), (1, 2):
            energy, text = self.plan(*SIZES, "--gpus", gpus, "--ranks", ranks)
            self.assertNotIn("derivatives", text)
            self.assertEqual(energy["prediction"]["memory"]["sum_rank_bytes"], 0)
            whole, text = self.plan(*SIZES, "--gpus", gpus, "--ranks", ranks, "--derivatives-of", "all")
            before, memory = (each["prediction"]["memory"] for each in (energy, whole))
            on_host = sums if ranks > gpus else 0
            self.assertEqual(memory["sum_rank_bytes"], on_host)
            self.assertEqual("of sums of derivatives" in text, on_host > 0)
            self.assertEqual("rank without a GPU: " in text, ranks > gpus > 0)
            # With GPUs this is the peak of a rank with one.
            self.assertEqual(memory["peak_rank_bytes"] - before["peak_rank_bytes"], 0 if gpus else on_host)
            self.assertEqual("for sums of derivatives" in text, gpus > 0)
            budgets, peaks = ([each["gpu"][of] for each in (before, memory)] for of in ("budget", "peak"))
            # A GPU also has integers by vvoo blocks, and some room for smaller tiles.
            self.assertGreater(budgets[0] - budgets[1], 1.1 * sums - 1)
            self.assertLess(budgets[0] - budgets[1], 2 * sums)
            self.assertGreater(peaks[1] - peaks[0], sums)
            self.assertGreater(memory["gpu"]["sums"], 1.1 * sums - 1)
        whole, part = (self.plan(*SIZES, "--gpus", 0, "--derivatives-of", of)[0]["prediction"] for of in ("all", "t"))
        # Amplitudes alone take t2, twice, in rows of multiples of eight numbers, and the products of t1.
        self.assertLess(part["memory"]["sum_rank_bytes"], 0.8 * whole["memory"]["sum_rank_bytes"])
        self.assertAlmostEqual(part["seconds_of"]["tasks"] / whole["seconds_of"]["tasks"], 2.5 / 3.3, delta=0.02)

    def test_sums_and_operands_are_those_of_the_run(self):
        for name in "hf_160_631g_rhf", "beh_180_sto3g_uhf":  # f_ov t2 enters (T)
            dump, report = DUMPS / f"{name}.h5", self.folder / "report.json"
            for of in "all", "t":
                planned = self.plan(dump, "--gpus", 0, "--derivatives-of", of)[0]["prediction"]["memory"]
                self.succeed("run", dump, "--device", "cpu", "--json", report, "--derivatives", self.folder / f"{name}_{of}.h5",
                             "--derivatives-of", of)
                memory = read_report(report)["memory"]
                self.assertEqual((planned["sum_rank_bytes"], planned["rank_bytes"]), (memory["sum_bytes"], memory["operand_bytes"]))

    def test_tasks_take_longer(self):
        for gpus, of, precision, times in ((0, "all", "double", 3.3), (1, "all", "double", 2.9), (1, "t", "double", 2.2),
                                           (1, "all", "mixed", 2.7), (1, "t", "mixed", 2.25)):
            job = (*LARGE, "--gpus", gpus, "--precision", precision)
            energy, whole = (self.plan(*job, *derivatives)[0]["prediction"] for derivatives in ((), ("--derivatives-of", of)))
            self.assertAlmostEqual(whole["seconds_of"]["tasks"] / energy["seconds_of"]["tasks"], times, delta=0.05)
            if gpus:  # with derivatives, mixed precision has panels in two formats, except those of (ia|jb)
                panels = [each["memory"]["gpu"]["all_panels"] for each in (energy, whole)]
                self.assertAlmostEqual(panels[1] / panels[0], 1.87 if precision == "mixed" else 1.0, delta=0.01)
            # The sample of mixed precision has no derivatives.
            self.assertEqual(whole.get("sample"), energy.get("sample"))
            self.assertEqual("sample" in whole, precision == "mixed")

    def test_what_cannot_be_done_is_said(self):
        self.assert_usage(*SIZES, "--derivatives-of", "t", "--gpu-model", "a100", saying="A GPU a100 computes no derivatives")
        for methods in ("ct", "t,ct"):
            self.assert_usage(*SIZES, "--gpus", 0, "--derivatives-of", "all", "--method", methods, saying="for the method t or reg-t alone")
        self.assert_usage(DATA / "h2o_631g_c1_rhf_t5_2eorb", "--gpus", 0, "--derivatives-of", "t", saying="NWChem's files")
        self.assert_usage(DUMPS / "hf_160_631g_rhf_lambda.h5", "--gpus", 0, saying="has amplitudes only")
        large = ("--occupied", 60, "--virtual", 900, "--gpus", 0, "--assume", "node-memory=700e9")
        self.assertEqual(self.plan(*large)[0]["prediction"]["obstacles"], [])
        self.assertIn("Operands do not fit", self.plan(*large, "--derivatives-of", "all")[1])


if __name__ == "__main__":
    unittest.main()
