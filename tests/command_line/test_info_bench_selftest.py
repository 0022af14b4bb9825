"""The commands that describe, measure and check."""

import csv
import math
import re
import unittest

from trifuse_program import DATA, GOOD_CASES, ProgramTest, read_doubles, read_report, trifuse, write_doubles

WATER = DATA / "h2o_631g_c1_rhf_t5_2eorb" / "c"
CARBENE = DATA / "ch2_631g_c2v_rohf_t3" / "c"


class Info(ProgramTest):
    def test_it_shows_what_a_run_would_do(self):
        path = self.folder / "info.json"
        text = self.succeed("info", WATER, "--json", path, "--tile-size", 3, "--threads", 2).out
        for line in ("Input ", "Reference    RHF; occupied 5 alpha, 5 beta; virtual 8 alpha, 8 beta", "CCSD ", "Checks ",
                     "Plan         spin-adapted form", "Memory ", "Denominators ", "Estimate ", " tile  class"):
            self.assertIn(line, text)
        info = read_report(path)
        run = self.report_of(WATER, "--tile-size", 3, "--threads", 2)
        self.assertEqual(info["plan"], run["plan"])
        self.assertEqual(info["input"], run["input"])
        self.assertEqual(info["ccsd_correlation_energy"], run["ccsd_correlation_energy"])
        self.assertEqual(run["operations"]["executed"], info["plan"]["operations"])
        self.assertGreaterEqual(info["estimated_seconds"], 0.0)

    def test_tiles_cover_all_orbitals(self):
        for name in GOOD_CASES[::4]:
            path = self.folder / "info.json"
            self.succeed("info", DATA / name, "--json", path, "--form", "spin-orbital", "--tile-size", 2)
            report = read_report(path)
            tiles = report["plan"]["tiles"]
            self.assertEqual(sum(tile["size"] for tile in tiles), sum(report["input"]["occupied"] + report["input"]["virtual"]))
            self.assertTrue(all(1 <= tile["size"] <= 2 for tile in tiles))

    def test_it_says_which_rohf_energy_a_run_would_give(self):
        self.assertIn("NWChem's ROHF-CCSD(T)", self.succeed("info", CARBENE).out)
        self.assertIn("standard ROHF-CCSD(T)", self.succeed("info", CARBENE, "--rohf", "semicanonical").out)

    def test_it_names_the_left_amplitudes(self):
        left = self.convert(WATER)
        self.assertIn(f"Left         {left}\n", self.succeed("info", WATER, "--left", left).out)

    def test_it_checks_the_numbers_unless_told_not_to(self):
        copy = self.copy_of(WATER.parent.name)
        values = read_doubles(copy / "c.t2amp.000000")
        values[values.index(max(values))] *= 1.01
        write_doubles(copy / "c.t2amp.000000", values)
        self.assert_refused("info", copy / "c", naming=copy / "c")
        self.assertIn("\nChecks       none were made", self.succeed("info", copy / "c", "--no-check").out)

    def test_absent_files_are_refused(self):
        self.assert_refused("info", self.folder / "absent", "--json", self.folder / "info.json", naming="absent")
        self.assert_nothing_but()


class Bench(ProgramTest):
    def test_it_gives_the_ratio_to_dgemm(self):
        path = self.folder / "bench.json"
        text = self.succeed("bench", "--occupied", 5, "--virtual", 12, "--form", "both", "--threads", 1, "--repeats", 2,
                            "--json", path).out
        results = read_report(path)["results"]
        self.assertEqual([entry["form"] for entry in results], ["spin-adapted", "spin-orbital"])
        for entry in results:
            self.assertIn(f"ratio {entry['median_ratio_to_dgemm']:.3f}", text)
            self.assertEqual((entry["threads"], len(entry["seconds"]), len(entry["ratio_to_dgemm"])), (1, 2, 2))
            for ratio, ours, dgemm in zip(entry["ratio_to_dgemm"], entry["flops_per_second"],
                                          entry["dgemm_1024_flops_per_second"], strict=True):
                self.assertAlmostEqual(ratio, ours / dgemm, delta=1e-12)
        self.assertGreater(results[1]["operations"], 1.5 * results[0]["operations"])

    def test_it_measures_amplitudes_of_every_reference(self):
        for name in ("ch2_631g_c1_uhf_t3", "ch2_631g_c2v_rohf_t3", "h2o_631g_c2v_rhf_t10"):
            self.assertRegex(self.succeed("bench", DATA / name, "--threads", 1, "--repeats", 1).out, r"ratio \d")

    def test_tiles_of_the_made_up_molecule_do_not_change_the_plan(self):
        operations = []
        for tiles in ([], ["--tile-size", 2], ["--plan-tile-size", 2]):
            path = self.folder / "bench.json"
            self.succeed("bench", "--occupied", 4, "--virtual", 8, "--irreps", 2, "--threads", 1, "--repeats", 1,
                         "--json", path, *tiles)
            (result,) = read_report(path)["results"]
            operations.append((result["tasks"], result["operations"]))
        self.assertEqual(operations[0], operations[1])
        self.assertLess(operations[0][0], operations[2][0])
        refused = trifuse("bench", DATA / "h2o_631g_c2v_rhf_t10", "--tile-size", 2)
        self.assertEqual(refused.code, 2)
        self.assertIn("--tile-size cuts the made-up molecule", refused.err)

    def test_it_writes_what_it_would_measure(self):
        dump = self.folder / "made_up.h5"
        sizes = ("--occupied", 4, "--virtual", 9, "--irreps", 4, "--uneven")
        self.assertEqual(self.succeed("bench", *sizes, "--write", dump).out, "")
        path = self.folder / "bench.json"
        self.succeed("bench", *sizes, "--threads", 1, "--repeats", 1, "--json", path)
        self.assertEqual(self.report_of(dump)["operations"]["executed"], read_report(path)["results"][0]["operations"])
        again = trifuse("bench", *sizes, "--write", dump)
        self.assertEqual(again.code, 2)
        self.assertIn(str(dump), again.err)

    def test_a_made_up_molecule_may_have_factors(self):
        dump, path = self.folder / "factors.h5", self.folder / "bench.json"
        sizes = ("--occupied", 4, "--virtual", 9, "--irreps", 2, "--factors", 30)
        self.assertEqual(self.succeed("bench", *sizes, "--write", dump).out, "")
        self.succeed("bench", *sizes, "--threads", 1, "--repeats", 1, "--json", path)
        report = self.report_of(dump)
        self.assertEqual(report["operations"]["executed"], read_report(path)["results"][0]["operations"])
        self.assertEqual(report["input"]["format"], "Trifuse dump, version 2.2, sealed")
        refused = trifuse("bench", dump, "--factors", 30)
        self.assertEqual(refused.code, 2)
        self.assertIn("--factors is for the made-up molecule", refused.err)
        self.assertEqual(trifuse("bench", "--factors", 0).code, 2)

    def test_absent_files_are_refused(self):
        self.assertEqual(trifuse("bench", self.folder / "absent").code, 1)


class Contractions(ProgramTest):
    SMALL = ("bench", "--contractions", "--share", "1e-6", "--repeats", 1, "--threads", 2)

    def test_it_measures_all_of_them_beside_their_bounds(self):
        table, path = self.folder / "table.csv", self.folder / "bench.json"
        text = self.succeed(*self.SMALL, "--table", table, "--json", path).out
        report = read_report(path)["contractions"]
        with open(table, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([int(row["number"]) for row in rows], list(range(1, 49)))
        self.assertEqual([row["contraction"] for row in rows], [entry["contraction"] for entry in report["results"]])
        for entry in report["results"]:
            bound = min(entry["dgemm_flops_per_second"], entry["operations"] / entry["bytes"] * entry["copy_bytes_per_second"])
            self.assertAlmostEqual(entry["bound_flops_per_second"] / bound, 1.0, delta=1e-12)
            self.assertAlmostEqual(entry["share_of_bound"] * bound * entry["seconds"] / entry["operations"], 1.0, delta=1e-12)
            self.assertLess(entry["error"], 1e-14)
        product = math.prod(entry["share_of_bound"] for entry in report["results"][8:11])
        self.assertAlmostEqual(report["mean_share_of_bound"]["AO to MO"], product ** (1 / 3), delta=1e-12)
        for name in ("tensor times matrix", "AO to MO", "CCSD", "CCSD(T)", "all"):
            self.assertIn(f"\n{name:<20} {report['mean_share_of_bound'][name]:.3f}\n", text)
        self.assertEqual(trifuse(*self.SMALL, "--table", path).code, 2)  # a file of another kind is kept

    def test_it_measures_batches_of_small_products(self):
        table, path = self.folder / "batches.csv", self.folder / "bench.json"
        products = 7
        self.succeed("bench", "--contractions", "--batched", products, "--repeats", 1, "--threads", 1, "--table", table,
                     "--json", path)
        report = read_report(path)["contractions"]
        self.assertEqual(report["batched"], products)
        self.assertNotIn("share", report)
        with open(table, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([int(row["number"]) for row in rows], list(range(1, 13)))
        self.assertNotIn("cublas_seconds", rows[0])  # only on a GPU
        entries = iter(report["results"])
        for n in (2, 4, 8, 16, 24, 32):
            for expression, operands in (("xik,xkj->xij", 2 * products), ("ik,xkj->xij", 1 + products)):
                entry = next(entries)
                self.assertEqual((entry["contraction"], entry["group"]), (expression, f"n = {n}"))
                self.assertEqual(entry["operations"], 2 * products * n**3)
                self.assertEqual(entry["bytes"], 8 * n**2 * (operands + products))
        self.assertEqual(list(report["mean_share_of_bound"]), [f"n = {n}" for n in (2, 4, 8, 16, 24, 32)] + ["all"])

    def test_it_explains_the_choice_of_a_plan(self):
        text = self.succeed("bench", "--contractions", "--explain", 31, "--threads", 1).out
        self.assertIn("Contraction 31, CCSD(T): aged,cbfg->fedcba with a=16 ", text)
        times = [float(time) for time in re.findall(r"(\S+) s predicted\n", text)]
        self.assertEqual(len(times), 20)
        self.assertEqual(times, sorted(times))

    def test_wrong_options_are_refused(self):
        for arguments, part in ((["--share", "0.1"], "--share requires --contractions"),
                                (["--table", "t.csv"], "--table requires --contractions"),
                                (["--contractions", "--share", "0"], "--share"),
                                (["--contractions", "--share", "nan"], "--share is not a number"), (["--contractions", "--explain", "49"], "1 to 48"),
                                (["--contractions", "--explain", "3", "--table", "t.csv"], "--explain measures nothing"),
                                (["--batched", "5"], "--batched requires --contractions"),
                                (["--contractions", "--batched", "0"], "--batched"),
                                (["--contractions", "--batched", "--share", "1"], "--share excludes --batched"),
                                (["--contractions", "--explain", "3", "--batched"], "--explain excludes --batched"),
                                (["--contractions", "--explain", "3", "--tune"], "excludes --"),
                                (["--contractions", "--tune"], "the plans of a GPU; add --device cuda."),
                                (["--contractions", "--tune", "--batched", "5", "--table", "t.csv"], "add --device cuda.")):
            outcome = trifuse("bench", *arguments)
            self.assertEqual((outcome.code, outcome.out), (2, ""))
            self.assertIn(part, outcome.err)
        self.assert_nothing_but()


class Selftest(ProgramTest):
    def test_every_check_passes(self):
        lines = self.succeed("selftest").out.splitlines()
        self.assertRegex(lines[-1], r"\A(\d+) of \1 checks passed\Z")
        self.assertGreater(len(lines), 5)
        self.assertTrue(all(line.startswith("ok ") for line in lines[:-1]))


if __name__ == "__main__":
    unittest.main()
