"""Damaged NWChem files are refused: one sentence that names the file, and never an energy."""

import math
import os
import random
import shutil
import struct
import unittest

from trifuse_program import DATA, GOOD_CASES, ProgramTest, read_doubles, trifuse, trifuse_as_nobody, write_doubles

# All references, with and without symmetry, both storages of integrals; two outputs hold no orbital energies.
WATER = "h2o_631g_c1_rhf_t5_2eorb"
SYMMETRIC_WATER = "h2o_631g_c2v_rhf_t10"
RADICAL = "ch2_631g_c1_uhf_t3"
SYMMETRIC_RADICAL = "nh2_631g_cs_uhf_fc1_t4"
CARBENE = "ch2_631g_c1_rohf_t3_2eorb"
SYMMETRIC_CARBENE = "ch2_631g_c2v_rohf_t3"
KINDS = (WATER, SYMMETRIC_WATER, RADICAL, SYMMETRIC_RADICAL, CARBENE, SYMMETRIC_CARBENE)
TENSORS = {"t1amp": "T1", "t2amp": "T2", "f1int": "F1", "v2int": "V2"}


def tensor(dump, name):
    return dump / f"c.{name}.000000"


def number(value):
    return struct.pack("<d", value)


class OneDamagedFile(ProgramTest):
    def assert_refused_when(self, change, tensors=tuple(TENSORS), kinds=(WATER, RADICAL), in_a_block=False):
        """`change` makes the bytes of one file into others. The sentence names that file, or the block of the tensor."""
        for kind in kinds:
            dump = self.folder / kind
            if not dump.exists():
                self.copy_of(kind, kind)
            for name in tensors:
                path = tensor(dump, name)
                sound = path.read_bytes()
                path.write_bytes(change(sound))
                with self.subTest(kind=kind, tensor=name):
                    refusal = self.assert_refused(dump / "c", naming=dump / "c").err
                    if not (in_a_block and f"in {TENSORS[name]} block" in refusal):
                        self.assertIn(str(path), refusal)
                path.write_bytes(sound)

    def test_truncated(self):
        for kept in (1, 8, 15, 16, 24):
            self.assert_refused_when(lambda content: content[:kept], kinds=(WATER,))
        for missing in (1, 8, 100):
            self.assert_refused_when(lambda content: content[:-missing])
        self.assert_refused_when(lambda content: content[:len(content) // 2], kinds=KINDS)

    def test_empty(self):
        self.assert_refused_when(lambda content: b"", kinds=KINDS)

    def test_longer_than_it_says(self):
        self.assert_refused_when(lambda content: content + bytes(8))

    def test_opposite_byte_order(self):
        def swapped(content, begin):
            words = struct.unpack_from(f"<{(len(content) - begin) // 8}q", content, begin)
            return content[:begin] + struct.pack(f">{len(words)}q", *words)

        self.assert_refused_when(lambda content: swapped(content, 0), kinds=KINDS)
        self.assert_refused_when(lambda content: swapped(content, 16), kinds=KINDS)

    def test_not_a_number_inside(self):
        for value in (math.nan, math.inf, -math.inf):
            self.assert_refused_when(lambda content: content[:16] + number(value) + content[24:], ("t1amp", "t2amp", "f1int"))
            self.assert_refused_when(lambda content: content[:-8] + number(value), ("t1amp", "t2amp", "f1int"))
        # Triples need some blocks of V2 only.
        self.assert_refused_when(lambda content: content[:16] + number(math.nan) * (len(content) // 8 - 2), ("v2int",), KINDS)

    def test_beyond_any_reasonable_size(self):
        self.assert_refused_when(lambda content: content[:16] + number(1e200) + content[24:], ("t1amp", "t2amp"),
                                 in_a_block=True)

    def test_random_bytes(self):
        generator = random.Random(1)
        self.assert_refused_when(lambda content: generator.randbytes(len(content)), kinds=KINDS)
        self.assert_refused_when(lambda content: content[:16] + generator.randbytes(len(content) - 16), kinds=KINDS,
                                 in_a_block=True)

    def test_text(self):
        self.assert_refused_when(lambda content: b"This is no tensor at all, but text of some length.\n" * 3)

    def test_broken_antisymmetry(self):
        for kind in KINDS:
            dump = self.copy_of(kind, kind)
            path = tensor(dump, "t2amp")
            values = read_doubles(path)
            # The first block has the same tile twice on both sides. The symmetry-related element of its second element is another element.
            values[1] += 1e-4
            write_doubles(path, values)
            self.assertIn("T2 block", self.assert_refused(dump / "c", naming=dump / "c").err)

    def test_one_altered_amplitude(self):
        generator = random.Random(2)
        for kind in KINDS:
            dump = self.copy_of(kind, kind)
            path = tensor(dump, "t2amp")
            sound = read_doubles(path)
            large = [place for place, value in enumerate(sound) if abs(value) > 1e-3]
            for place in generator.sample(large, 8):
                altered = list(sound)
                altered[place] *= 1.01
                write_doubles(path, altered)
                self.assert_refused(dump / "c", naming=dump / "c")


class FilesThatDoNotBelongTogether(ProgramTest):
    def test_amplitudes_exchanged(self):
        for kind in KINDS:
            dump = self.copy_of(kind, kind)
            singles, doubles = tensor(dump, "t1amp"), tensor(dump, "t2amp")
            singles.rename(dump / "x")
            doubles.rename(singles)
            (dump / "x").rename(doubles)
            refusal = self.assert_refused(dump / "c", naming=singles)
            self.assertIn(str(doubles), refusal.err)

    def test_integrals_exchanged(self):
        dump = self.copy_of(WATER)
        tensor(dump, "f1int").rename(dump / "x")
        tensor(dump, "v2int").rename(tensor(dump, "f1int"))
        (dump / "x").rename(tensor(dump, "v2int"))
        self.assert_refused(dump / "c", naming=tensor(dump, "v2int"))

    def test_singles_of_another_run(self):
        for kind in KINDS:
            dump = self.copy_of(kind, kind)
            for factor in (0.0, 0.99, 1.01, -1.0):
                write_doubles(tensor(dump, "t1amp"), [factor * t for t in read_doubles(tensor(DATA / kind, "t1amp"))])
                # The sign of T1 does not change the energy if the Fock matrix elements vanish.
                if factor >= 0.0:
                    self.assert_refused(dump / "c", naming=dump / "c")

    def test_doubles_of_another_run(self):
        for kind in KINDS:
            dump = self.copy_of(kind, kind)
            for factor in (0.0, 0.999, -1.0):
                write_doubles(tensor(dump, "t2amp"), [factor * t for t in read_doubles(tensor(DATA / kind, "t2amp"))])
                self.assert_refused(dump / "c", naming=dump / "c")

    def test_left_amplitudes_of_another_run(self):
        for kind in KINDS:
            left = self.copy_of(kind, f"{kind}_left")
            write_doubles(tensor(left, "t1amp"), [1.01 * t for t in read_doubles(tensor(left, "t1amp"))])
            self.assert_refused(DATA / kind / "c", "--left", left / "c", naming=left / "c")

    def test_one_file_of_another_molecule(self):
        for kind, other in ((WATER, "h2_631g_c1_rhf_t3_2eorb"), (SYMMETRIC_WATER, "n2_sto3g_d2_rhf_t3"),
                            (RADICAL, "li_631g_c1_uhf_t3"), (CARBENE, "h3_631g_c1_rohf_t3_2eorb")):
            for name in TENSORS:
                dump = self.copy_of(kind, f"{kind}_{name}")
                shutil.copyfile(tensor(DATA / other, name), tensor(dump, name))
                with self.subTest(kind=kind, tensor=name):
                    self.assert_refused(dump / "c", naming=tensor(dump, name))

    def test_the_output_of_another_calculation(self):
        for kind, other in ((WATER, "h2o_631g_c1_rhf_t30_2eorb"), (WATER, SYMMETRIC_WATER), (WATER, "n2_sto3g_d2_rhf_t3"),
                            (RADICAL, CARBENE), (SYMMETRIC_RADICAL, RADICAL), (SYMMETRIC_CARBENE, "ch2_631g_c2v_uhf_t3")):
            dump = self.copy_of(kind, f"{kind}_{other}")
            shutil.copyfile(DATA / other / "c.out", dump / "c.out")
            with self.subTest(kind=kind, other=other):
                self.assert_refused(dump / "c", naming=dump / "c")
                self.assert_refused(DATA / kind / "c", "--nwchem-output", DATA / other / "c.out", naming=kind)

    def test_a_wrong_output_is_named(self):
        for place in (self.folder, self.folder / "absent.out", DATA / WATER / "c.nw", DATA / WATER / "c.movecs"):
            self.assert_refused(DATA / WATER / "c", "--nwchem-output", place, naming=place)
        for kind in (WATER, SYMMETRIC_RADICAL):
            dump = self.copy_of(kind, kind)
            (dump / "c.out").write_bytes(random.Random(3).randbytes(10000))
            self.assert_refused(dump / "c", "--nwchem-output", dump / "c.out", naming=dump / "c.out")


class FilesThatCannotBeRead(ProgramTest):
    def test_absent(self):
        for place in ("absent", "absent/", "absent/c", "absent.h5"):
            self.assert_refused(f"{self.folder}/{place}", naming=f"{self.folder}/{place}")
        for name in TENSORS:
            dump = self.copy_of(WATER, name)
            tensor(dump, name).unlink()
            self.assert_refused(dump / "c", naming=tensor(dump, name))
            tensor(dump, name).mkdir()
            self.assert_refused(dump / "c", naming=tensor(dump, name))
        for name in GOOD_CASES:
            if name.endswith(("_np3", "_np5")):
                for missing in sorted((DATA / name).glob("c.*amp.*")):
                    dump = self.copy_of(name, f"{name}_{missing.name}")
                    (dump / missing.name).unlink()
                    self.assert_refused(dump / "c", naming=dump / missing.name)

    def test_a_directory_without_dumps(self):
        self.assert_refused(self.folder, naming=self.folder)
        (self.folder / "c.out").write_text("nothing")
        self.assert_refused(self.folder, naming=self.folder)
        self.assert_refused(self.folder / "c", naming=self.folder / "c")

    def test_a_directory_with_two_dumps(self):
        dump = self.copy_of(WATER)
        for path in list(dump.iterdir()):
            shutil.copyfile(path, dump / path.name.replace("c.", "d.", 1))
        self.assert_refused(dump, naming=dump)

    def test_neither_a_dump_nor_a_prefix(self):
        for path in (DATA / WATER / "c.out", DATA / WATER / "c.f1int.000000", "/dev/null", "/dev/zero"):
            self.assert_refused(path, naming=path)
        self.assertEqual(trifuse("run", "").code, 2)

    def test_files_without_permission(self):
        for name in (*TENSORS, "out", "folder"):
            dump = self.copy_of(WATER, name)
            place = {"out": dump / "c.out", "folder": dump}.get(name) or tensor(dump, name)
            self.assertEqual(trifuse_as_nobody("info", dump / "c").code, 0)
            os.chmod(place, 0)
            self.addCleanup(os.chmod, place, 0o755)
            with self.subTest(name):
                outcome = trifuse_as_nobody("run", dump / "c")
                self.assert_one_sentence(outcome, 1, place)
                self.assertEqual(outcome.out, "")


if __name__ == "__main__":
    unittest.main()
