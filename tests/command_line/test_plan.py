"""The command that predicts a job."""

import json
import re
import unittest

from trifuse_program import DATA, ProgramTest, read_report, sanitized, trifuse

WATER = DATA / "h2o_631g_c1_rhf_t5_2eorb" / "c"
CARBENE = DATA / "ch2_631g_c2v_rohf_t3" / "c"
MOMENTS = DATA.parent / "dumps" / "hf_160_631g_rhf_moments.h5"
SIZES = ("--occupied", 24, "--virtual", 120)


class PlanTest(ProgramTest):
    def plan(self, *arguments):
        """The JSON report, and the printed text."""
        path = self.folder / "plan.json"
        text = self.succeed("plan", *arguments, "--json", path).out
        return read_report(path), text

    def assert_usage(self, *arguments, saying):
        self.assert_one_sentence(trifuse("plan", *arguments), 2, saying)


class Prediction(PlanTest):
    def test_it_says_memory_bytes_time_and_schedule(self):
        report, text = self.plan(*SIZES, "--gpus", 4)
        for line in ("Job          4 GPUs (h200) on 1 node, 1 rank with 4 GPUs", "Plan         spin-adapted form", "Memory       node: ",
                     "Moved  ", "Time  ", "Schedule     efficiency", "tail ", "Suggested ", "Assumed "):
            self.assertIn(line, text)
        prediction = report["prediction"]
        self.assertAlmostEqual(sum(prediction["seconds_of"].values()), prediction["seconds"], delta=1e-9)
        schedule = prediction["schedule"]
        self.assertAlmostEqual(schedule["kernels"] + schedule["idle_at_end"] + schedule["waiting"], 1.0, delta=1e-9)
        self.assertEqual(schedule["kernels"], schedule["efficiency"])
        self.assertGreaterEqual(prediction["bytes_sent"], prediction["bytes_needed"] * (1 - 1e-9))
        gpu = prediction["memory"]["gpu"]
        self.assertLessEqual(gpu["scratch"] + gpu["panels"], gpu["budget"])
        self.assertEqual([point["gpus"] for point in report["curve"]], [1, 2, 4])
        self.assertEqual(report["curve"][-1]["seconds"], prediction["seconds"])
        self.assertEqual(report["curve"][0]["scaling"], 1.0)
        for entry in report["machine"].values():
            self.assertGreater(entry["value"], 0.0)
            self.assertTrue(entry["source"])

    def test_it_plans_what_a_run_would_do(self):
        dump = self.convert(WATER)
        for form in ("spin-adapted", "spin-orbital"):
            planned, _ = self.plan(dump, "--form", form, "--tile-size", 4, "--gpus", 0)
            run = self.report_of(dump, "--form", form, "--tile-size", 4, "--threads", 1)
            self.assertEqual(planned["tasks"], run["plan"]["tasks"])
            self.assertEqual(planned["operations"], run["plan"]["operations"])
            self.assertEqual(planned["prediction"]["memory"]["rank_bytes"], run["plan"]["memory"]["operand_bytes"])
            self.assertEqual(planned["input"], run["input"])

    def test_a_long_plan_says_so(self):
        outcome = trifuse("plan", "--occupied", 6, "--virtual", 40, "--tile-size", 1)
        self.assertEqual(outcome.code, 0)
        self.assertRegex(outcome.err, r"\Atrifuse: This plan has about [\d.]+ million tasks and takes about \d+ seconds; [^\n]+\n\Z")

    def test_it_plans_what_a_run_with_factors_would_do(self):
        dump = self.folder / "factors.h5"
        small = ("--occupied", 6, "--virtual", 20)
        self.succeed("bench", *small, "--factors", 60, "--write", dump)
        planned, _ = self.plan(dump, "--gpus", 0)
        run = self.report_of(dump, "--device", "cpu", "--threads", 2)
        self.assertEqual(planned["prediction"]["memory"]["rank_bytes"], run["plan"]["memory"]["operand_bytes"])
        sizes, _ = self.plan(*small, "--factors", 60, "--gpus", 0)
        self.assertEqual(self.plan(*small, "--naux", 60, "--gpus", 0)[0]["prediction"]["memory"], sizes["prediction"]["memory"])
        self.assertEqual(sizes["prediction"]["memory"], planned["prediction"]["memory"])
        self.assertEqual(sizes["prediction"]["factors"], planned["prediction"]["factors"])

    @unittest.skipIf(sanitized(), "the address sanitizer keeps memory that was returned")
    def test_a_run_with_factors_takes_the_memory_of_the_plan(self):
        dump = self.folder / "large.h5"
        self.succeed("bench", "--occupied", 2, "--virtual", 160, "--factors", 900, "--write", dump)
        planned, _ = self.plan(dump, "--gpus", 0)
        memory = planned["prediction"]["memory"]
        factors = 8 * 900 * 160 * 161 / 2
        self.assertGreater(memory["rank_bytes"], factors)
        self.assertLess(memory["factors_rank_bytes"], factors / 20)
        peak = self.report_of(dump, "--device", "cpu", "--threads", 2)["memory"]["peak_bytes"]
        self.assertLess(peak, 1.2 * memory["peak_rank_bytes"])
        self.assertGreater(peak, memory["rank_bytes"])

    def test_factors_take_less_memory_and_operations_to_make_panels(self):
        stored, text = self.plan(*SIZES, "--gpus", 2)
        self.assertNotIn("slabs", text)
        self.assertEqual(stored["prediction"]["factors"], {"operations": 0.0, "seconds_of_all_gpus": 0.0, "slabs_sent": 0,
                                                           "slabs_from_other_gpus": 0})
        factors, text = self.plan(*SIZES, "--gpus", 2, "--naux", 300)
        for line in ("for slabs of factors", "Factors      panels are made with", "of factors of the input"):
            self.assertIn(line, text)
        self.assertLess(factors["prediction"]["bytes_sent"], stored["prediction"]["bytes_sent"])
        memory, of_stored = (each["prediction"]["memory"] for each in (factors, stored))
        self.assertLess(memory["node_bytes"] + memory["factors_node_bytes"], of_stored["node_bytes"])
        of_holes = 8 * 300 * (24 * 25 / 2 + 24 * 120)
        self.assertEqual(memory["factors_rank_bytes"], of_holes)
        self.assertEqual(memory["factors_check_rank_bytes"], of_holes)
        self.assertNotIn("irreps", text)
        with_irreps, text = self.plan(*SIZES, "--irreps", 2, "--gpus", 2, "--naux", 300)
        self.assertEqual(with_irreps["prediction"]["memory"]["factors_check_rank_bytes"], of_holes + 8 * 300 * 120 * 24)
        self.assertIn("of factors while the input is checked, because of irreps", text)
        self.assertGreaterEqual(memory["gpu"]["slabs"], memory["gpu"]["all_slabs"])
        self.assertLessEqual(memory["gpu"]["scratch"] + memory["gpu"]["slabs"] + memory["gpu"]["panels"],
                             memory["gpu"]["budget"])
        # Both orders of a panel are made, so at least once 2 naux o v^3.
        operations = factors["prediction"]["factors"]["operations"]
        self.assertGreaterEqual(operations, 2 * 300 * 24 * 120**3)
        self.assertLess(operations, 2 * 2 * 2 * 300 * 24 * 120**3)
        slow, _ = self.plan(*SIZES, "--gpus", 2, "--naux", 300, "--assume", "rate-factors=1e12")
        self.assertGreater(slow["prediction"]["seconds"], factors["prediction"]["seconds"])

    def test_gpus_of_a_node_exchange_slabs_of_factors(self):
        one, text = self.plan(*SIZES, "--gpus", 1, "--naux", 300)
        self.assertNotIn("other GPUs", text)
        four, text = self.plan(*SIZES, "--gpus", 4, "--ranks", 4, "--naux", 300)
        for line in ("of the slabs are owned for all GPUs of the node", "from other GPUs of the node on average"):
            self.assertIn(line, text)
        factors, prediction = four["prediction"]["factors"], four["prediction"]
        self.assertEqual(factors["slabs_sent"], one["prediction"]["factors"]["slabs_sent"])
        self.assertGreater(factors["slabs_from_other_gpus"], 0)
        self.assertGreater(prediction["bytes_from_other_gpus"], 0)
        self.assertLess(prediction["bytes_from_other_gpus"], prediction["bytes_sent"])
        self.assertGreater(prediction["memory"]["slabs_owned_for_other_gpus"], 0)
        own, _ = self.plan(*SIZES, "--gpus", 4, "--ranks", 4, "--naux", 300, "--operands", "own")
        self.assertEqual(own["prediction"]["memory"]["slabs_owned_for_other_gpus"], 0)
        self.assertEqual(own["prediction"]["factors"]["slabs_from_other_gpus"], 0)

    def test_auxiliary_functions_are_for_sizes_only(self):
        self.assert_usage(WATER, "--naux", 100, saying="--factors goes with --occupied and --virtual")
        self.assertEqual(trifuse("plan", *SIZES, "--naux", 0).code, 2)

    def test_it_says_what_dressed_integrals_take(self):
        one, _ = self.plan("--occupied", 5, "--virtual", 6)
        for method, sides, moments in (("ct,cr-t", 1, 1), ("2t", 2, 1), ("ct,2t", 2, 1), ("reg-gf-t", 2, 2)):
            planned, text = self.plan("--occupied", 5, "--virtual", 6, "--method", method)
            self.assertEqual(planned["prediction"]["dressing"]["rank_bytes"], sides * 8 * 5 * 6 * (6 * 6 + 5 * 5))
            self.assertEqual(planned["prediction"]["dressing"]["operations"],
                             moments * (6 * 5**2 * 6**4 + 10 * 5**3 * 6**3 + 10 * 5**4 * 6**2))
            self.assertIn("dressed integrals take", text)
            self.assertGreater(planned["prediction"]["memory"]["rank_bytes"], 1.5 * one["prediction"]["memory"]["rank_bytes"])
        self.assertNotIn("dressing", one["prediction"])
        self.assert_usage(*SIZES, "--method", "t,2t", saying="share no side")

    def test_factors_are_multiplied_out_for_dressed_integrals(self):
        whole, _ = self.plan("--occupied", 5, "--virtual", 6, "--method", "ct")
        factors, text = self.plan("--occupied", 5, "--virtual", 6, "--factors", 40, "--method", "ct")
        found, expected = ({**each["prediction"]["dressing"]} for each in (factors, whole))
        self.assertEqual(found["rank_bytes"] - expected["rank_bytes"], 8 * 40 * (5 * 6 / 2 + 5 * 6 + 6 * 7 / 2))
        products = 5 * 6 * (2 * 6**2 + 5**2 + 5 * 6) + 5**2 * (6**2 + 5**2)
        self.assertEqual(found["operations"] - expected["operations"], 2 * 40 * (products + 5 * 6**2))
        # Panels are those of whole integrals.
        self.assertEqual(factors["prediction"]["memory"]["rank_bytes"], whole["prediction"]["memory"]["rank_bytes"])
        self.assertEqual(factors["prediction"]["factors"]["operations"], 0)
        self.assertIn("dressed integrals take", text)

    def test_it_counts_the_operations_of_all_sides(self):
        one, text = self.plan(*SIZES)
        two, both = self.plan(*SIZES, "--method", "2t")
        self.assertEqual(two["operations"], 2 * one["operations"])
        for report, printed in ((one, text), (two, both)):
            number, unit = re.search(r" tasks, (\S+) ([kMGTPE]?)F\n", printed).groups()
            self.assertAlmostEqual(float(number) * 1e3 ** " kMGTPE".index(unit) / report["operations"], 1, delta=5e-3)
        run = self.report_of(MOMENTS, "--method", "ct", "--device", "cpu", "--tile-size", 4)
        plain = self.report_of(MOMENTS, "--device", "cpu", "--tile-size", 4)
        self.assertEqual(run["operations"]["executed"], 2 * plain["operations"]["executed"])

    def test_it_says_what_semicanonical_orbitals_take(self):
        planned, text = self.plan(CARBENE, "--gpus", 0)
        run = self.report_of(CARBENE, "--rohf", "semicanonical", "--device", "cpu")
        rotation = planned["prediction"]["memory"]["rotation"]
        self.assertEqual(rotation["rotated_rank_bytes"], run["memory"]["rotated_bytes"])
        self.assertIn("--rohf semicanonical takes", text)
        # All cores rotate the indices together, and no rank fetches data from another rank.
        self.assertGreater(planned["prediction"]["rotation_seconds"], 0)
        half, _ = self.plan(CARBENE, "--gpus", 0, "--assume", f"cores-per-node={planned['machine']['cores-per-node']['value'] * 2}")
        self.assertAlmostEqual(half["prediction"]["rotation_seconds"] / planned["prediction"]["rotation_seconds"], 0.5)
        shared, _ = self.plan(CARBENE, "--gpus", 4, "--ranks", 4)
        self.assertEqual(shared["prediction"]["memory"]["rotation"]["rotated_rank_bytes"], run["memory"]["rotated_bytes"] / 4)
        limit = int(rotation["peak_rank_bytes"])
        arguments = ("run", CARBENE, "--rohf", "semicanonical", "--device", "cpu", "--tile-size", 3, "--threads", 1, "--memory")
        self.succeed(*arguments, limit)
        self.assert_one_sentence(trifuse(*arguments, limit - 1), 2, "to semicanonical orbitals takes")
        self.assertNotIn("rotation", self.plan(WATER, "--gpus", 0)[0]["prediction"]["memory"])

    def test_more_gpus_take_less_time_and_slower_ones_more(self):
        large = ("--occupied", 40, "--virtual", 200)
        seconds = {gpus: self.plan(*large, "--gpus", gpus)[0]["prediction"]["seconds_of"]["tasks"] for gpus in (1, 2, 8)}
        self.assertLess(seconds[2], 0.55 * seconds[1])
        self.assertLess(seconds[8], 0.3 * seconds[2])
        self.assertGreater(self.plan(*large, "--gpu-model", "a100")[0]["prediction"]["seconds_of"]["tasks"], 2 * seconds[1])

    def test_mixed_precision_has_its_sample(self):
        large = ("--occupied", 40, "--virtual", 200)
        exact, text = self.plan(*large)
        self.assertEqual((exact["precision"], exact["gpu_model_measured"]), ("double", True))
        self.assertNotIn("Precision ", text)
        mixed, text = self.plan(*large, "--precision", "mixed")
        self.assertEqual(mixed["precision"], "mixed")
        self.assertIn("1 rank, mixed precision", text)
        self.assertIn("for the sample in double precision", text)
        prediction = mixed["prediction"]
        self.assertLess(prediction["seconds_of"]["tasks"], 0.6 * exact["prediction"]["seconds_of"]["tasks"])
        self.assertEqual(prediction["seconds_of"]["sample"], prediction["sample"]["seconds"])
        self.assertAlmostEqual(sum(prediction["seconds_of"].values()), prediction["seconds"], delta=1e-9)
        self.assertLess(prediction["memory"]["gpu"]["all_panels"], 0.7 * exact["prediction"]["memory"]["gpu"]["all_panels"])
        self.assertEqual(mixed["curve"][-1]["seconds"], prediction["seconds"])
        factors, _ = self.plan(*large, "--precision", "mixed", "--naux", 600)
        self.assertGreater(factors["prediction"]["sample"]["bytes_sent"], 0)
        slow, _ = self.plan(*large, "--precision", "mixed", "--assume", "mixed-rate-spin-adapted=1e13")
        self.assertGreater(slow["prediction"]["seconds"], exact["prediction"]["seconds"])
        self.assert_usage(*large, "--gpus", 0, "--precision", "mixed", saying="--precision mixed is for GPUs")
        of_file, _ = self.plan(WATER, "--precision", "mixed")
        self.assertLessEqual(of_file["prediction"]["sample"]["tasks"], of_file["tasks"])

    def test_gpus_that_were_not_measured_say_so(self):
        # With the sanitizers one model of each kind.
        for model in ("rtx4090", "a100") if sanitized() else ("l40s", "rtx4090", "rtx5090", "a6000", "b200", "gb10", "a100", "h100"):
            with self.subTest(model):
                for precision in ("double", "mixed"):
                    report, text = self.plan(*SIZES, "--gpu-model", model, "--precision", precision)
                    self.assertFalse(report["gpu_model_measured"])
                    self.assertIn("not measured on this GPU", text)
                    self.assertIn("not measured", report["machine"]["mixed-rate-spin-adapted"]["source"])
                advises = model not in ("a100", "h100")
                report, text = self.plan("--occupied", 40, "--virtual", 200, "--gpu-model", model)
                self.assertEqual("mixed_precision" in report, advises)
                self.assertEqual(f"Precision    {model} has few units for double precision: --precision mixed" in text, advises)
                if advises:
                    self.assertLess(report["mixed_precision"]["seconds"], report["prediction"]["seconds"])
                    # A few tasks, all of which are in the sample.
                    self.assertNotIn("mixed_precision", self.plan("--occupied", 10, "--virtual", 40, "--gpu-model", model)[0])

    @unittest.skipIf(sanitized(), "test_plan_limits.py simulates as many GPUs as the sanitizers have time for")
    def test_ten_thousand_gpus_are_simulated(self):
        report, text = self.plan("--occupied", 60, "--virtual", 600, "--gpus", 10000)
        self.assertIn("10000 GPUs", text)
        self.assertEqual(report["prediction"]["nodes"], 1250)
        efficiencies = [point["schedule"]["efficiency"] for point in report["curve"]]
        self.assertGreater(efficiencies[0], 0.95)
        self.assertLess(efficiencies[-1], efficiencies[0])
        self.assertLess(report["suggested"]["gpus"], 10000)

    @unittest.skipIf(sanitized(), "this needs a large molecule; the same code runs with smaller ones")
    def test_ranks_beyond_the_gpus_compute_on_cores(self):
        large = ("--occupied", 64, "--virtual", 600, "--gpus", 1, "--ranks", 4)
        report, text = self.plan(*large, "--assume", "core-rate=1e12")
        self.assertIn("3 ranks on cores", text)
        self.assertGreater(report["prediction"]["schedule"]["operations_on_cores"], 0.0)
        # With operands of their own, the ranks without GPUs are idle: reading the operands takes longer than the tasks.
        self.assertIn("3 ranks idle", self.plan(*large, "--assume", "core-rate=1e9", "--operands", "own")[1])
        report, _ = self.plan(*SIZES, "--gpus", 2, "--ranks", 1)
        self.assertEqual((report["prediction"]["gpus"], report["prediction"]["ranks"]), (2, 1))

    def test_ranks_share_the_gpus_of_their_node(self):
        for ranks, words in ((1, "1 rank with 4 GPUs\n"), (2, "2 ranks with 2 GPUs each\n"), (3, "3 ranks with 1 or 2 GPUs each\n"),
                             (4, "4 ranks\n")):
            report, text = self.plan(*SIZES, "--naux", 300, "--gpus", 4, "--ranks", ranks)
            self.assertIn(f"4 GPUs (h200) on 1 node, {words}", text)
            prediction, memory = report["prediction"], report["prediction"]["memory"]
            self.assertEqual((prediction["gpus"], prediction["ranks"]), (4, ranks))
            # The node has one copy of the operands, and each rank an equal part of it. Each rank stores the factors of the check.
            if ranks == 1:
                alone = memory
            self.assertEqual(memory["node_bytes"], alone["node_bytes"])
            self.assertAlmostEqual(memory["rank_bytes"], alone["rank_bytes"] / ranks)
            self.assertEqual(memory["factors_node_bytes"], ranks * alone["factors_node_bytes"])
            self.assertEqual(memory["gpu"]["budget"], alone["gpu"]["budget"])
        report, _ = self.plan(*SIZES, "--gpus", 16)
        self.assertEqual((report["prediction"]["nodes"], report["prediction"]["ranks"]), (2, 2))
        self.assertEqual(report["prediction"]["obstacles"], [])
        report, text = self.plan(*SIZES, "--gpus", 16, "--ranks", 1)
        self.assertEqual(report["prediction"]["obstacles"], ["A rank has GPUs of its own node only: use at least 2 ranks."])

    def test_ranks_share_operands_unless_they_are_told_otherwise(self):
        sizes = (*SIZES, "--gpus", 8, "--ranks", 8)
        own, _ = self.plan(*sizes, "--operands", "own")
        self.assertFalse(own["prediction"]["memory"]["operands_shared"])
        shared, text = self.plan(*sizes)
        self.assertTrue(shared["prediction"]["memory"]["operands_shared"])
        self.assertIn("of the cached panels are owned for all GPUs of the node", text)
        self.assertGreater(shared["prediction"]["memory"]["owned_for_other_gpus"], 0.0)
        self.assertAlmostEqual(own["prediction"]["memory"]["rank_bytes"], 8 * shared["prediction"]["memory"]["rank_bytes"],
                               delta=8)
        report, text = self.plan(*sizes, "--assume", "node-memory=1e6")
        self.assertIn("does not fit", text)
        self.assertEqual(len(report["prediction"]["obstacles"]), 1)

    def test_little_memory_of_gpus_means_more_bytes(self):
        ample, _ = self.plan("--occupied", 40, "--virtual", 240, "--form", "spin-orbital")
        narrow, _ = self.plan("--occupied", 40, "--virtual", 240, "--form", "spin-orbital", "--memory", "8GB")
        self.assertGreater(narrow["prediction"]["bytes_sent"], 1.5 * ample["prediction"]["bytes_sent"])
        self.assertEqual(ample["prediction"]["particle_block"], 0)
        self.assertGreater(narrow["prediction"]["particle_block"], 1)
        self.assertEqual(narrow["prediction"]["bytes_needed"], ample["prediction"]["bytes_needed"])

    def test_numbers_of_the_model_can_be_changed(self):
        report, _ = self.plan(*SIZES, "--assume", "rate-spin-adapted=1e12", "--assume", "rate-zeros=1e12")
        usual, _ = self.plan(*SIZES)
        self.assertGreater(report["prediction"]["seconds_of"]["tasks"], 20 * usual["prediction"]["seconds_of"]["tasks"])
        self.assertEqual(report["machine"]["rate-zeros"]["source"], "given by --assume")


class Traces(PlanTest):
    def test_the_trace_has_the_spans_of_each_gpu(self):
        path = self.folder / "trace.json"
        report, _ = self.plan(*SIZES, "--gpus", 5, "--trace", path)
        trace = json.loads(path.read_text())
        seconds = report["prediction"]["seconds_of"]["tasks"]
        self.assertEqual(trace["otherData"]["seconds"], seconds)
        names = {event["pid"]: event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"}
        self.assertEqual(names, {n: f"GPU {n}" for n in range(5)})
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        self.assertLessEqual(max(event["ts"] + event["dur"] for event in spans), 1e6 * seconds * (1 + 1e-6))
        busy = sum(event["dur"] for event in spans if event["name"] == "kernel")
        self.assertAlmostEqual(busy / (5e6 * seconds), report["prediction"]["schedule"]["kernels"], delta=0.01)
        rows = {(event["pid"], event["tid"]): event["name"] for event in spans}
        self.assertEqual(rows, {(n, row): name for n in range(5) for row, name in ((0, "kernel"), (1, "copy"))})

    def test_a_place_that_cannot_be_written_is_said_at_once(self):
        for option in ("--trace", "--json"):
            self.assert_one_sentence(trifuse("plan", *SIZES, option, self.folder / "absent" / "x"), 3, "absent")
        self.assert_nothing_but()


def bench_report(gpus, seconds, **changes):
    """The members of a report of `trifuse bench --device cuda --json` that `plan` reads."""
    return {"input": {"reference": "RHF", "occupied": [24, 24], "virtual": [120, 120], "irreps": 1},
            "results": [{"form": "spin-adapted", "seconds": [seconds], "load_seconds": 0.5,
                         "cuda": {"devices": [{}] * gpus, "memory_budget_bytes": 1e11, "bytes_sent": 2e9}}], **changes}


class Measured(PlanTest):
    def write(self, name, document):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def test_measured_runs_stand_beside_their_predictions(self):
        predicted = self.plan(*SIZES, "--gpus", 2, "--ranks", 1)[0]["prediction"]["seconds_of"]["tasks"]
        measured = self.write("bench.json", bench_report(2, 1.25 * predicted))
        report, text = self.plan(*SIZES, "--gpus", 2, "--measured", measured)
        self.assertEqual(len(report["measured"]), 1)
        entry = report["measured"][0]
        self.assertEqual(entry["gpus"], 2)
        self.assertAlmostEqual(entry["prediction"]["seconds_of"]["tasks"], predicted, delta=1e-9)
        self.assertIn("-20.0 %", text)

    def test_reports_of_runs_are_read(self):
        report = self.report_of(WATER, "--threads", 1)
        report["cuda"] = bench_report(1, 1.0)["results"][0]["cuda"]
        report["cuda"]["peak_bytes"] = 5 << 30
        planned, text = self.plan(WATER, "--measured", self.write("run.json", report))
        entry = planned["measured"][0]
        self.assertEqual(entry["task_seconds"], report["timings"]["task_seconds"])
        self.assertEqual(entry["peak_host_bytes"], report["memory"]["peak_bytes"])
        self.assertIn("GPU 5.00 GiB, predicted", text)
        memory = entry["prediction"]["memory"]
        self.assertEqual(memory["gpu"]["all_slabs"], 0)
        self.assertGreater(memory["peak_rank_bytes"], memory["rank_bytes"])
        self.assertGreater(memory["gpu"]["peak"], memory["gpu"]["scratch"])
        report["input"]["auxiliary"] = 40
        planned, _ = self.plan(WATER, "--measured", self.write("factors.json", report))
        self.assertGreater(planned["measured"][0]["prediction"]["memory"]["gpu"]["all_slabs"], 0)
        del report["input"]["auxiliary"]
        del report["cuda"]
        report["ranks"] = [{"host": "a", "gpu": "0"}, {"host": "a", "gpu": "1"}, {"host": "b", "gpu": "0"},
                           {"host": "b", "gpu": None}]
        planned, _ = self.plan(WATER, "--measured", self.write("ranks.json", report))
        self.assertEqual((planned["measured"][0]["gpus"], planned["measured"][0]["ranks"]), (3, 4))
        report["ranks"] = [{"host": "a", "gpu": "0,1"}, {"host": "a", "gpu": "2,3"}]
        planned, _ = self.plan(WATER, "--measured", self.write("two_gpus_each.json", report))
        self.assertEqual((planned["measured"][0]["gpus"], planned["measured"][0]["ranks"]), (4, 2))

    def test_ranks_of_a_report_that_shared_operands_are_predicted_so(self):
        report = self.report_of(WATER, "--threads", 1)
        report["ranks"] = [{"host": "a", "gpu": "0"}, {"host": "a", "gpu": "1"}]
        own, _ = self.plan(WATER, "--measured", self.write("own.json", report))
        for rank in report["ranks"]:
            rank["operands"] = {"own_bytes": 1}
        shared, _ = self.plan(WATER, "--measured", self.write("shared.json", report))
        # Some panels come from the other GPU then.
        slow, _ = self.plan(WATER, "--assume", "peer=1e3", "--measured", self.write("shared.json", report))
        seconds = [plan["measured"][0]["prediction"]["seconds_of"]["tasks"] for plan in (own, shared, slow)]
        self.assertLess(seconds[0], seconds[2])
        self.assertLess(seconds[1], seconds[2])

    def test_what_is_no_report_is_refused(self):
        for name, content in (("text", "seconds"), ("empty", ""), ("other", "{}"), ("list", "[1]"),
                              ("cores", self.report_of(WATER, "--threads", 1))):
            path = self.write(name, content)
            result = trifuse("plan", *SIZES, "--measured", path)
            self.assert_one_sentence(result, 1, path)
            self.assertNotIn("exception", result.err)
        self.assert_one_sentence(trifuse("plan", *SIZES, "--measured", self.folder / "absent"), 1, "absent")


class Usage(PlanTest):
    def test_what_cannot_be_planned_is_refused(self):
        self.assert_usage(saying="--occupied")
        self.assert_usage("--occupied", 5, saying="--virtual")
        self.assert_usage(WATER, *SIZES, saying="not both")
        self.assert_usage(*SIZES, "--reference", "uhf", "--form", "spin-adapted", saying="RHF")
        self.assert_usage(*SIZES, "--assume", "speed=3", saying="rate-spin-adapted")
        self.assert_usage(*SIZES, "--memory", "much", saying="much")
        self.assert_usage(*SIZES, "--gpus", 0, "--trace", self.folder / "x", saying="--trace")
        self.assert_usage("--occupied", 300, "--virtual", 3000, "--tile-size", 4, saying="--tile-size")
        for wrong in (("--gpus", -1), ("--ranks", 0), ("--gpu-model", "abacus"), ("--irreps", 3)):
            self.assertEqual(trifuse("plan", *SIZES, *wrong).code, 2)
        self.assert_one_sentence(trifuse("plan", self.folder / "absent"), 1, "absent")


if __name__ == "__main__":
    unittest.main()
