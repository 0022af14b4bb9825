"""Trifuse respects NWChem's output: printed energies must agree, and options must not contradict printed numbers."""

import re
import unittest

from trifuse_program import DATA, GOOD_CASES, LOOKS_LIKE_AN_ENERGY, ProgramTest, read_doubles, read_report, trifuse, write_doubles

WATER = "h2o_631g_c2v_rhf_t10"
FROZEN_WATER = "h2o_631g_c2v_rhf_fc1_fv2_t3"
CUT_WATER = "h2o_631g_c2v_rhf_vcut_t3_2eorb"  # two virtual orbitals are left out for their energy
SMALL_TILES = "h2o_631g_c1_rhf_t5_2eorb"
# All references and both storages of integrals.
KINDS = (WATER, SMALL_TILES, "ch2_631g_c1_uhf_t3", "ch2_631g_c1_rohf_t3_2eorb")
TRIPLES = re.compile(r"(CCSD(?:\[T\]|\(T\)) +(?:correction|correlation|total) energy / hartree *=)\s+(\S+)")


class OutputTest(ProgramTest):
    def with_triples_off_by(self, difference, kind=WATER, name="dump"):
        """A dump whose output has other triples energies, and sums that agree with them."""
        dump = self.copy_of(kind, name)
        output = dump / "c.out"
        changed, count = TRIPLES.subn(lambda line: f"{line[1]} {float(line[2]) + difference:.15f}", output.read_text())
        self.assertEqual(count, 6)
        output.write_text(changed)
        return dump / "c"


class PrintedTriples(OutputTest):
    def test_others_are_refused(self):
        for kind in KINDS:
            prefix = self.with_triples_off_by(-2e-6, kind, kind)
            with self.subTest(kind=kind):
                json = self.folder / f"{kind}.json"
                outcome = trifuse("run", prefix, "--json", json)
                self.assert_one_sentence(outcome, 1, prefix, "was printed", "--trust-input")
                self.assertNotIn("E(T)", outcome.out)
                self.assertFalse(json.exists())

    def test_one_wild_integral_is_refused(self):
        dump = self.copy_of(SMALL_TILES)
        integrals = dump / "c.v2int.000000"
        values = read_doubles(integrals)
        for place in range(0, len(values), len(values) // 12):
            changed = list(values)
            changed[place] = 1e5
            write_doubles(integrals, changed)
            outcome = trifuse("run", dump / "c")
            # The triples do not need many of the integrals in the file.
            if outcome.code == 0:
                self.assertRegex(outcome.out, r"\n +\S+e-1\d +\S+e-1\d  difference")
                continue
            self.assert_one_sentence(outcome, 1, dump / "c")
            self.assertNotIn("E(T)", outcome.out)

    def test_small_differences_are_told_of(self):
        prefix = self.with_triples_off_by(1e-8)
        json = self.folder / "report.json"
        outcome = trifuse("run", prefix, "--json", json)
        self.assertEqual(outcome.code, 0)
        self.assertRegex(outcome.err, r"\Atrifuse: warning: [^\n]+ was printed [^\n]+\n\Z")
        self.assertEqual([f"trifuse: warning: {sentence}\n" for sentence in read_report(json)["warnings"]], [outcome.err])

    def test_a_trusted_input_goes_on(self):
        prefix = self.with_triples_off_by(0.1)
        self.assertEqual(trifuse("run", prefix).code, 1)
        json = self.folder / "report.json"
        outcome = trifuse("run", prefix, "--trust-input", "--quiet", "--json", json)
        self.assertEqual(outcome, (0, "", ""))
        report = read_report(json)
        self.assertIn("trusted", report["warnings"][0])
        self.assertAlmostEqual(report["energies"][0]["E(T)"], -0.000996423158744, delta=1e-12)

    def test_other_quantities_are_not_compared(self):
        prefix = self.with_triples_off_by(0.1)
        self.assertEqual(self.report_of(prefix, "--omega2", 0.1)["warnings"], [])
        self.assertEqual(self.report_of(prefix, "--left", DATA / WATER / "c")["warnings"], [])

    def test_sound_files_have_no_warnings(self):
        for name in GOOD_CASES:
            with self.subTest(name):
                self.assertEqual(self.report_of(DATA / name / "c", name=f"{name}.json")["warnings"], [])


class PrintedSums(OutputTest):
    def test_an_output_that_contradicts_itself_is_refused(self):
        text = (DATA / WATER / "c.out").read_text()
        for line in ("Total SCF energy", "CCSD total energy / hartree", "CCSD[T]  correction energy / hartree",
                     "CCSD[T] correlation energy / hartree", "CCSD[T] total energy / hartree",
                     "CCSD(T)  correction energy / hartree", "CCSD(T) correlation energy / hartree",
                     "CCSD(T) total energy / hartree"):
            dump = self.copy_of(WATER, line.replace(" ", "_").replace("/", "_"))
            found = re.search(rf"{re.escape(line)} *= *(\S+)", text)
            changed = f"{float(found[1]) + 1e-7:.12f}"
            (dump / "c.out").write_text(text.replace(found[0], found[0].replace(found[1], changed)))
            with self.subTest(line):
                self.assertIn("contradicts itself", self.assert_refused(dump / "c", naming=dump / "c.out").err)

    def test_numbers_of_orbitals(self):
        for line, change in (("Alpha orbitals", -1), ("Alpha frozen virtuals", 1), ("Beta frozen virtuals", 1),
                             ("Alpha electrons", 1), ("Beta frozen cores", 1)):
            dump = self.copy_of(FROZEN_WATER, line.replace(" ", "_"))
            text = (dump / "c.out").read_text()
            changed, count = re.subn(rf"({line} : +)(\d+)", lambda found: f"{found[1]}{int(found[2]) + change}", text)
            self.assertEqual(count, 1)
            (dump / "c.out").write_text(changed)
            with self.subTest(line):
                self.assert_refused(dump / "c", naming=dump / "c.out")


class OptionsThatContradict(OutputTest):
    def assert_contradicts(self, kind, option, value):
        with self.subTest(kind=kind, option=option, value=value):
            outcome = trifuse("run", DATA / kind / "c", option, value)
            self.assert_one_sentence(outcome, 2, f"{option} {value}", DATA / kind / "c.out", "contradicts")
            self.assertIsNone(LOOKS_LIKE_AN_ENERGY.search(outcome.out))

    def test_the_output(self):
        self.assert_contradicts(WATER, "--frozen-core", 3)
        self.assert_contradicts(WATER, "--frozen-virtual", 1)
        self.assert_contradicts(FROZEN_WATER, "--frozen-core", 1)
        self.assert_contradicts(FROZEN_WATER, "--frozen-virtual", 3)
        self.assert_contradicts(CUT_WATER, "--frozen-virtual", 0)
        for size in (1, 4, 100000):
            self.assert_contradicts(FROZEN_WATER, "--nwchem-tile-size", size)

    def test_what_the_output_says_too_is_taken(self):
        for options in (["--frozen-core", 0], ["--frozen-core", 0, "--frozen-virtual", 0, "--nwchem-tile-size", 10]):
            self.succeed("run", DATA / WATER / "c", *options)
        for kind, frozen, tile in ((SMALL_TILES, 0, 5), ("n_ccpvdz_c1_rohf_fc1_t5_2eorb", 1, 5)):
            self.succeed("run", DATA / kind / "c", "--frozen-core", frozen, "--nwchem-tile-size", tile)

    def test_dumps_have_no_such_options(self):
        """Options for NWChem's files are refused for dumps, because they would have no effect, unless the other side has such files."""
        dump, other = self.convert(DATA / WATER / "c"), self.convert(DATA / WATER / "c", "other.h5")
        options = (("--frozen-core", 0), ("--frozen-core", 3), ("--frozen-virtual", 1), ("--nwchem-tile-size", 10),
                   ("--nwchem-output", DATA / WATER / "c.out"), ("--nwchem-movecs", DATA / WATER / "c.movecs"))
        for option, value in options:
            for line in (("run", dump), ("info", dump), ("run", dump, "--left", other), ("convert", dump, self.folder / "new.h5"),
                         ("plan", dump)):
                with self.subTest(line=line, option=option):
                    self.assert_one_sentence(trifuse(*line, option, value), 2, f"{option} ", dump, "leave the option out")
        self.assert_nothing_but("dump.h5", "other.h5")
        self.succeed("run", dump, "--left", DATA / WATER / "c", "--frozen-core", 0)
        self.succeed("run", DATA / WATER / "c", "--left", dump, "--frozen-core", 0)

    def test_impossible_numbers(self):
        for option in ("--frozen-core", "--frozen-virtual", "--nwchem-tile-size"):
            for value in (-1, 10**6, 2**31, 2**63 - 1, 2**63, 2**64 + 1, 10**30):
                for kind in (WATER, "bad_h2o_sto3g_c2v_rhf_t3_printlow"):
                    with self.subTest(option=option, value=value, kind=kind):
                        outcome = trifuse("run", DATA / kind / "c", option, value)
                        self.assertEqual(outcome.code, 2, outcome)
                        self.assertIn(option, outcome.err)
        self.assertEqual(trifuse("run", DATA / WATER / "c", "--nwchem-tile-size", 0).code, 2)


if __name__ == "__main__":
    unittest.main()
