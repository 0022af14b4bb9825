"""Damaged HDF5 dumps are refused: one sentence that names the file, and never an energy."""

import math
import os
import random
import struct
import unittest

from made_up_molecule import MadeUpMolecule
from trifuse_program import DATA, REFUSAL_TIME_LIMIT, ProgramTest, environment, resealed, trifuse, trifuse_as_nobody

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
OCCUPIED, VIRTUAL = 3, 5
# Witnesses of made-up molecules fail in any case. The errors of these tests are reported first.
NOTICED = "breaks its symmetry|CCSD correlation energy|beyond any reasonable size|not finite"


def packed(values):
    values = list(values)
    return struct.pack(f"<{len(values)}d", *values)


class DumpTest(ProgramTest):
    """`self.datasets` has, for each array of the dump, its place in the file, found by the content."""

    def setUp(self):
        super().setUp()
        molecule = MadeUpMolecule(OCCUPIED, VIRTUAL)
        self.dump = self.convert(molecule.write(self.folder / "molecule"))
        self.content = self.dump.read_bytes()
        self.places = molecule.places_in_dump(self.content)
        self.datasets = {name: range(begin, begin + size, 8) for name, (begin, size) in self.places.items()}

    def write(self, content):
        self.dump.write_bytes(content)

    def write_resealed(self, content):
        self.write(resealed(self.content, bytes(content), self.places.values()))

    def with_number(self, place, value):
        return self.content[:place] + struct.pack("<d", value) + self.content[place + 8:]

    def number_at(self, place):
        return struct.unpack_from("<d", self.content, place)[0]


class DamagedDump(DumpTest):
    def test_any_other_number_breaks_the_seal(self):
        generator = random.Random(5)
        for name, places in self.datasets.items():
            for _ in range(5):
                damaged = bytearray(self.content)
                damaged[generator.choice(places) + generator.randrange(8)] ^= 1 << generator.randrange(8)
                self.write(damaged)
                with self.subTest(name):
                    self.assertIn(f"of dataset '{name}' (elements 0 to {len(places) - 1}) does not match the seal",
                                  self.assert_refused(self.dump, naming=self.dump).err)

    def test_truncated_anywhere(self):
        generator = random.Random(1)
        lengths = [0, 1, 7, 8, 9, 95, 96, 97, len(self.content) - 8, len(self.content) - 1]
        for length in lengths + [generator.randrange(len(self.content)) for _ in range(20)]:
            self.write(self.content[:length])
            with self.subTest(length=length):
                self.assert_refused(self.dump, naming=self.dump)

    def test_garbage_behind_a_valid_signature(self):
        generator = random.Random(2)
        for length in (0, 1, 100, 10000):
            self.write(HDF5_SIGNATURE + generator.randbytes(length))
            self.assert_refused(self.dump, naming=self.dump)
        # A user block may stand before the signature.
        self.write(generator.randbytes(512) + HDF5_SIGNATURE + generator.randbytes(1000))
        self.assert_refused(self.dump, naming=self.dump)

    def test_garbage_instead_of_a_piece(self):
        # After any damage the program ends by itself, with an energy or with a sentence. HDF5 then leaks some memory.
        without_leaks = environment(ASAN_OPTIONS="detect_leaks=0")
        generator = random.Random(3)
        for _ in range(60):
            damaged = bytearray(self.content)
            begin = generator.randrange(len(damaged))
            length = min(generator.choice((1, 8, 100)), len(damaged) - begin)
            damaged[begin:begin + length] = generator.randbytes(length)
            self.write(damaged)
            outcome = trifuse("run", self.dump, "--quiet", limit=REFUSAL_TIME_LIMIT, env=without_leaks)
            with self.subTest(begin=begin, length=length):
                if outcome.code != 0:
                    self.assert_one_sentence(outcome, 1, self.dump)
                    self.assertEqual(outcome.out, "")

    def test_numbers_that_are_not_finite(self):
        for name, places in self.datasets.items():
            for place in (places[0], places[-1], places[len(places) // 2]):
                for value in (math.nan, math.inf):
                    self.write_resealed(self.with_number(place, value))
                    with self.subTest(name):
                        self.assertIn(f"'{name}'", self.assert_refused(self.dump, naming=self.dump).err)

    def test_opposite_byte_order_of_amplitudes(self):
        for name in ("t1", "t2", "ovov"):
            places = self.datasets[name]
            values = [self.number_at(place) for place in places]
            self.write_resealed(self.content[:places[0]] + struct.pack(f">{len(values)}d", *values) + self.content[places[-1] + 8:])
            self.assert_refused(self.dump, naming=self.dump)

    def test_a_flipped_bit_in_an_amplitude(self):
        generator = random.Random(4)
        large = [place for place in self.datasets["t2"] if abs(self.number_at(place)) > 1e-3]
        for place in generator.sample(large, 20):
            damaged = bytearray(self.content)
            # The highest seven bits: sign and exponent.
            damaged[place + 7] ^= 1 << generator.randrange(8)
            self.write_resealed(damaged)
            with self.subTest(place=place):
                self.assertRegex(self.assert_refused(self.dump, naming=self.dump, trust=False).err, NOTICED)
        for place in generator.sample(large, 20):
            damaged = bytearray(self.content)
            # The upper half of the fraction, and the end of the exponent.
            damaged[place + 5 + generator.randrange(2)] ^= 0x80
            self.write_resealed(damaged)
            with self.subTest(place=place):
                self.assertRegex(self.assert_refused(self.dump, naming=self.dump, trust=False).err, NOTICED)

    def test_singles_of_another_run(self):
        places = self.datasets["t1"]
        for factor in (0.0, 0.99, 1.01, -2.0):
            values = packed(factor * self.number_at(place) for place in places)
            self.write_resealed(self.content[:places[0]] + values + self.content[places[-1] + 8:])
            self.assertIn("CCSD correlation energy", self.assert_refused(self.dump, naming=self.dump, trust=False).err)

    def test_broken_symmetries(self):
        # The symmetry-related element of the second element of each array is another element.
        for name in ("t2", "ovov", "ovoo", "ovvv"):
            place = self.datasets[name][1]
            self.write_resealed(self.with_number(place, self.number_at(place) + 1e-4))
            self.assertIn(f"'{name}'", self.assert_refused(self.dump, naming=self.dump).err)

    def test_every_command_refuses_it(self):
        self.write_resealed(self.with_number(self.datasets["t2"][1], 0.3))
        for arguments in (("info", self.dump), ("convert", self.dump, self.folder / "new.h5"),
                          ("run", self.dump, "--left", self.dump), ("run", self.dump, "--json", self.folder / "r.json"),
                          ("run", self.dump, "--journal", self.folder / "journal")):
            self.assert_refused(*arguments, naming=self.dump)
        self.assert_nothing_but("dump.h5", "molecule")

    def test_it_is_refused_on_the_left_as_well(self):
        for name, value in (("t1", 1e5), ("t2", 0.5)):
            self.write_resealed(self.with_number(self.datasets[name][1], value))
            outcome = self.assert_refused(self.folder / "molecule" / "c", "--left", self.dump, naming=self.dump)
            self.assertRegex(outcome.err, NOTICED)


class OtherFiles(DumpTest):
    def test_an_unreadable_dump(self):
        self.assertEqual(trifuse_as_nobody("info", self.dump).code, 0)
        os.chmod(self.dump, 0)
        outcome = trifuse_as_nobody("run", self.dump)
        self.assert_one_sentence(outcome, 1, self.dump)
        self.assertEqual(outcome.out, "")

    def test_an_empty_file_or_a_pipe(self):
        self.write(b"")
        self.assert_refused(self.dump, naming=self.dump)
        self.dump.unlink()
        os.mkfifo(self.dump)
        self.assert_refused(self.dump, naming=self.dump)

    def test_left_amplitudes_over_other_orbitals(self):
        other = MadeUpMolecule(OCCUPIED, VIRTUAL, lowest_virtual=0.25).write(self.folder / "other")
        self.assert_refused(other, "--left", self.dump, naming=self.dump)
        larger = MadeUpMolecule(OCCUPIED, VIRTUAL + 1).write(self.folder / "larger")
        self.assert_refused(larger, "--left", self.dump, naming=self.dump)
        self.assert_refused(DATA / "ch2_631g_c1_uhf_t3" / "c", "--left", self.dump, naming=self.dump)


if __name__ == "__main__":
    unittest.main()
