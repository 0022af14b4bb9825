"""Orbital energies that make a denominator vanish or positive are refused, unless omega2 is large enough."""

import re
import unittest

from made_up_molecule import MadeUpMolecule
from trifuse_program import ProgramTest


class Denominators(ProgramTest):
    def molecule_with(self, largest_denominator):
        """A molecule with this largest denominator, hartree. It belongs to the two highest occupied and the two lowest virtual orbitals.
        Both pairs are 0.1 hartree apart."""
        highest = (largest_denominator + 0.2) / 3.0
        molecule = MadeUpMolecule(4, 6, highest_occupied=highest, lowest_virtual=0.0)
        return molecule.write(self.folder / f"molecule{largest_denominator:+g}")

    def test_they_must_be_negative(self):
        for denominator in (2.0, 0.1, 1e-3, 1e-8, 0.0, -1e-8):
            prefix = self.molecule_with(denominator)
            dump = self.convert(prefix, f"{denominator}.h5")
            for source in (prefix, dump):
                for command in ("run", "info"):
                    with self.subTest(denominator=denominator, source=source):
                        refusal = self.assert_refused(command, source, naming=source).err
                        self.assertRegex(refusal, rf"a triples denominator of -?{abs(denominator):.6f} hartree")

    def test_one_just_below_zero_is_allowed(self):
        for denominator in (-1e-6, -1e-3, -0.5):
            found = self.report_of(self.molecule_with(denominator))["plan"]["largest_denominator"]
            self.assertAlmostEqual(found, denominator, delta=1e-14)

    def test_a_large_enough_omega2_cures_it(self):
        prefix = self.molecule_with(0.4)
        refusal = self.assert_refused(prefix, naming=prefix).err
        needed = float(re.search(r"--omega2 above (\d+\.\d+)", refusal).group(1))
        self.assertAlmostEqual(needed, 0.4 / 3.0, delta=3e-4)
        cured = self.energies_of(prefix, "--omega2", f"{needed + 1e-4},{needed + 0.5}")
        self.assertTrue(all(bracket < 0.0 for bracket, _ in cured.values()), cured)
        # One value without a valid denominator is an error, even if other values have energies.
        self.assert_refused(prefix, "--omega2", f"{needed + 0.5},0", naming=prefix)
        self.assert_refused(prefix, "--omega2", f"{needed - 2e-4:.6f}", naming=prefix)

    def test_both_executors_and_forms_agree_close_to_the_limit(self):
        prefix = self.molecule_with(0.1499)
        reference = self.energies_of(prefix, "--omega2", "0.05,0.5")
        largest = max(abs(energy) for pair in reference.values() for energy in pair)
        for options in (["--form", "spin-orbital"], ["--executor", "reference"], ["--tile-size", 1], ["--tile-size", 2]):
            self.assert_close(self.energies_of(prefix, "--omega2", "0.05,0.5", *options), reference, 1e-12 * max(1.0, largest))


if __name__ == "__main__":
    unittest.main()
