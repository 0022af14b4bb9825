"""Reports agree with drivers/docs/report.schema.json."""

import copy
import json
import unittest
from pathlib import Path

from trifuse_program import DATA, GOOD_CASES, ProgramTest, read_report

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = Path(__file__).resolve().parents[2] / "drivers" / "docs" / "report.schema.json"
WATER = DATA / "h2o_631g_c1_rhf_t5_2eorb"
CARBENE = DATA / "ch2_631g_c2v_rohf_t3"


@unittest.skipIf(jsonschema is None, "this Python has no jsonschema")
class Schema(ProgramTest):
    def setUp(self):
        super().setUp()
        schema = json.loads(SCHEMA.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        self.validators = {kind: jsonschema.Draft202012Validator({**schema, "oneOf": [{"$ref": f"#/$defs/{definition}"}]})
                           for kind, definition in (("run", "run"), ("info", "info"), ("plan", "plan_report"), ("bench", "bench"))}
        self.whole = jsonschema.Draft202012Validator(schema)

    def assert_valid(self, *arguments):
        path = self.folder / "report.json"
        self.succeed(*arguments, "--json", path)
        report = read_report(path)
        path.unlink()
        self.validators[arguments[0]].validate(report)
        self.whole.validate(report)
        return report

    def test_reports_of_runs(self):
        for name in GOOD_CASES[::3]:
            with self.subTest(name):
                self.assert_valid("run", DATA / name, "--omega2", "0,0.1")
        dump = self.convert(WATER)
        self.assert_valid("run", dump, "--left", dump, "--threads", 1, "--tile-size", 3, "--journal", self.folder / "journal")
        self.assert_valid("run", CARBENE, "--precision", "mixed", "--device", "cpu", "--tile-size", 3)
        self.assert_valid("run", CARBENE, "--rohf", "semicanonical", "--memory", "1GiB", "--executor", "reference")
        report = self.assert_valid("run", DATA.parent / "dumps" / "hf_160_631g_rhf_moments.h5", "--method", "ct,cr-t", "--threads", 1)
        self.assertEqual((report["settings"]["method"], report["method"]), (["ct", "cr-t"], "CCSD(cT)"))
        ct, cr = report["energies"]
        self.assertNotIn("overlap", ct)
        self.assertAlmostEqual(cr["overlap"]["E(T)"] * cr["E(T)"], ct["E(T)"], delta=1e-15)
        self.assertAlmostEqual(cr["smallest_denominator"], -report["plan"]["largest_denominator"], delta=1e-12)
        self.assertEqual(report["memory"]["dressed_bytes"], 8 * 5 * 6 * (6 * 6 + 5 * 5))
        self.assertAlmostEqual(report["energies"][0]["E(T)"], -0.0029762904945657, delta=1e-9)

    def test_reports_of_the_other_commands(self):
        for source in (WATER, CARBENE, self.convert(WATER)):
            self.assert_valid("info", source)
            self.assert_valid("info", source, "--no-check")
            self.assert_valid("plan", source, "--gpus", 2)
            self.assert_valid("plan", source, "--precision", "mixed", "--gpu-model", "l40s")
            self.assert_valid("plan", source, "--gpu-model", "gb10")
            self.assert_valid("bench", source, "--threads", 1, "--repeats", 1)
        self.assert_valid("bench", "--contractions", "--share", "1e-6", "--threads", 1, "--repeats", 1)
        self.assert_valid("bench", "--contractions", "--batched", 7, "--threads", 1, "--repeats", 1)
        self.assert_valid("plan", "--occupied", 20, "--virtual", 100, "--gpus", 0)

    def test_it_has_a_name_and_describes_every_member(self):
        schema = json.loads(SCHEMA.read_text())
        self.assertRegex(schema["$id"], r"^urn:trifuse:report:\d+$")
        nodes, members = [schema], 0
        while nodes:
            node = nodes.pop()
            nodes += [each for each in (node if isinstance(node, list) else node.values()) if isinstance(each, (dict, list))]
            for name, member in (node.get("properties", {}) if isinstance(node, dict) else {}).items():
                described = member if "description" in member else schema["$defs"].get(member.get("$ref", "").split("/")[-1], {})
                self.assertRegex(described.get("description", ""), r"^[A-Z].*\.$", name)
                members += 1
        self.assertGreater(members, 200)

    def test_a_report_on_standard_output_is_alone_there(self):
        for arguments in (("run", WATER), ("info", WATER), ("plan", WATER, "--gpus", 2), ("bench", WATER, "--threads", 1, "--repeats", 1)):
            with self.subTest(arguments[0]):
                self.validators[arguments[0]].validate(json.loads(self.succeed(*arguments, "--json", "-").out))
        self.assert_nothing_but()

    def test_it_notices_what_is_wrong(self):
        report = self.assert_valid("run", WATER)
        for change in (lambda it: it.pop("energies"), lambda it: it.update(schema_version=2), lambda it: it.update(units="eV"),
                       lambda it: it["energies"][0].pop("E(T)"), lambda it: it.update(E=1), lambda it: it["energies"].clear(),
                       lambda it: it["input"].update(sealed=None), lambda it: it.update(report="info"),
                       lambda it: it["energies"][0].update({"E(T)": "-0.001"})):
            wrong = copy.deepcopy(report)
            change(wrong)
            self.assertFalse(self.whole.is_valid(wrong))


if __name__ == "__main__":
    unittest.main()
