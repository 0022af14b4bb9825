#!/usr/bin/env python3
"""The option derivatives: against the reference in NumPy, against stored data and against differences of energies."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import h5py
import numpy as np

import trifuse
from adjoint_reference import derivatives as reference_derivatives
from adjoint_reference import projected

DATA = Path(os.environ["TRIFUSE_TEST_DATA"])
HF, BEH = "dumps/hf_160_631g_rhf.h5", "dumps/beh_180_sto3g_uhf.h5"


def arrays_of(name):
    with h5py.File(DATA / name) as dump:
        return {key: each[()] for key, each in dump.items() if isinstance(each, h5py.Dataset)}


def wanted(arrays):
    """The arrays that derivatives need, with fock_ov instead of fock."""
    found = {}
    for key, values in arrays.items():
        if key.startswith("fock"):
            suffix = key[4:]
            o = len(arrays["eps_occ" + suffix])
            found["fock_ov" + suffix] = values[:o, o:]
        elif not key.startswith(("oovv", "irrep", "asym_oovv")):
            found[key] = values
    return found


def triples(arrays, **options):
    options = {"check": False, "device": "cpu", "derivatives": "all",
               "reference": "UHF" if "t1_a" in arrays else "RHF", **options}
    return trifuse.triples(**arrays, **options)


def expect_same_bits(arrays, *runs):
    """Compares the derivatives of the first run with those of the others. `runs`: options of each."""
    one, *others = [triples(arrays, **options).derivatives for options in runs]
    for other in others:
        for name, values in one.items():
            np.testing.assert_array_equal(other[name], values, name)


def random_arrays(holes, particles, seed=1, size=0.2):
    """Random arrays with the symmetry of those of a molecule. `holes`, `particles`: numbers of each spin; a dictionary of
    suffixes. `size`: of the elements of arrays with four indices."""
    rng = np.random.default_rng(seed)
    spins = list(holes)
    arrays = {}
    for s in spins:
        o, v = holes[s], particles[s]
        arrays["eps_occ" + s], arrays["eps_vir" + s] = -0.5 - np.sort(rng.random(o))[::-1], 0.5 + np.sort(rng.random(v))
        fock = np.zeros((o + v, o + v))
        fock[:o, o:] = 0.1 * rng.standard_normal((o, v))
        arrays["fock" + s] = fock + fock.T + np.diag(np.concatenate([arrays["eps_occ" + s], arrays["eps_vir" + s]]))
        arrays["t1" + s] = 0.1 * rng.standard_normal((o, v))
    pairs = [("", "", "", "")] if spins == [""] else [(x, y, f"_{x[1]}{y[1]}", f"_{x[1]}{x[1]}{y[1]}{y[1]}")
                                                      for x in spins for y in spins]
    for x, y, two, four in pairs:
        o, v, oo, vv = holes[x], particles[x], holes[y], particles[y]
        shapes = {"ovvv" + four: (o, v, vv, vv), "ovoo" + four: (o, v, oo, oo)}
        if two != "_ba":
            shapes.update({"t2" + two: (o, oo, v, vv), "ovov" + four: (o, v, oo, vv)})
        for name, shape in shapes.items():
            arrays[name] = projected(name, size * rng.standard_normal(shape))
    return arrays


class Derivatives(unittest.TestCase):
    def expect_equal(self, found, expected, names=None):
        for name in names or expected:
            size = max(np.abs(expected[name]).max(initial=0), 1e-6)  # some are zero except for rounding
            self.assertEqual(found[name].shape, expected[name].shape, name)
            self.assertLess(np.abs(found[name] - expected[name]).max(initial=0) / size, 1e-10, name)

    def expect_reference(self, arrays, omega2=0.0, **options):
        result = triples(arrays, omega2=omega2, fock_in_triples=True, **options)
        energy, expected = reference_derivatives(wanted(arrays), omega2)
        self.assertAlmostEqual(float(result), energy, delta=1e-12 * max(1.0, abs(energy)))
        self.assertEqual(set(result.derivatives), set(expected))
        self.expect_equal(result.derivatives, expected)

    def test_stored_data(self):
        for name in ("h2o_631g_fc", "made_up_uhf"):
            with self.subTest(name), h5py.File(DATA / "derivatives" / f"{name}.h5") as dump:
                expected = {key: each[()] for key, each in dump["derivatives"].items()}
                result = triples(arrays_of(f"derivatives/{name}.h5"), fock_in_triples=True)
                self.assertAlmostEqual(float(result), dump["derivatives"].attrs["E_paren_T"], delta=1e-12)
                self.expect_equal(result.derivatives, expected)

    def test_closed_shells_in_both_forms(self):
        for form in ("spin-adapted", "spin-orbital"):
            for tile_size in (None, 1, 3):
                with self.subTest(form=form, tile_size=tile_size):
                    self.expect_reference(random_arrays({"": 4}, {"": 5}), 0.1, form=form, tile_size=tile_size)
        self.expect_reference(random_arrays({"": 5}, {"": 18}, size=0.05))  # more than one tile of each kind

    def test_sums_out_of_range_are_seen(self):
        """Also where the numbers of an array are zeros, which no sum of derivative times number sees."""
        with self.assertRaisesRegex(trifuse.InputError, "Derivatives of E.T. reach .*, and sums of derivatives hold up to 8 hartree"):
            triples(random_arrays({"": 5}, {"": 18}, size=1.0))
        arrays = random_arrays({"": 3}, {"": 5})
        arrays["t1"][...] = 0.0
        arrays["ovov"] *= 1e3
        for executor in ({}, {"form": "spin-orbital"}):
            with self.assertRaisesRegex(trifuse.InputError, "Derivatives of E.T. reach"):
                triples(arrays, **executor)

    def test_open_shells(self):
        for holes, particles in ((4, 3), (4, 5)), ((2, 4), (5, 3)), ((3, 1), (4, 3)), ((3, 0), (4, 2)):
            arrays = random_arrays(dict(zip(("_a", "_b"), holes)), dict(zip(("_a", "_b"), particles)))
            for tile_size in (None, 2):
                with self.subTest(holes=holes, tile_size=tile_size):
                    self.expect_reference(arrays, 0.05, tile_size=tile_size)

    def test_irreps(self):
        for name in (HF, BEH):
            with self.subTest(name):
                arrays = arrays_of(name)
                _, expected = reference_derivatives(wanted(arrays))
                result = triples(arrays, fock_in_triples=True)
                self.expect_equal(result.derivatives, expected, [key for key in expected if not key.startswith("fock_ov")])

    def test_amplitudes_alone(self):
        arrays = random_arrays({"": 4}, {"": 5})
        whole = triples(arrays).derivatives
        part = triples(arrays, derivatives="t").derivatives
        self.assertEqual(set(whole) - set(part), {"ovvv", "ovoo"})
        self.expect_equal(part, whole, part)
        self.assertEqual(set(triples(arrays, derivatives=["t2", "eps_occ"]).derivatives), {"t2", "eps_occ"})
        self.assertEqual(set(triples(arrays, derivatives=["ovvv"]).derivatives), {"ovvv"})
        self.assertEqual(dict(triples(arrays, derivatives=None).derivatives), {})

    def test_threads_give_the_same_bits(self):
        arrays = random_arrays({"": 6}, {"": 9}, size=0.1)
        expect_same_bits(arrays, *({"threads": n, "tile_size": 3} for n in (1, 2, 3)))

    def test_antisymmetrised_and_packed_arrays(self):
        plain, asym = arrays_of(BEH), arrays_of(BEH.replace(".h5", "_asym.h5"))
        rng = np.random.default_rng(2)
        found = triples(asym).derivatives
        for name in (key for key in found if key.startswith("asym_")):
            other = plain[name[5:]]
            change = projected(name[5:], rng.standard_normal(other.shape))
            axes = {"asym_ovvv": (0, 2, 1, 3), "asym_ovoo": (2, 1, 0, 3), "asym_ovov": (0, 3, 2, 1)}[name[:9]]
            self.expect_change(asym, found, name, change - change.transpose(axes))
        arrays = random_arrays({"": 4}, {"": 5})
        rows, columns = np.tril_indices(5)
        packed = {**arrays, "ovvv": arrays["ovvv"][:, :, rows, columns]}
        np.testing.assert_array_equal(triples(packed).derivatives["ovvv"], triples(arrays).derivatives["ovvv"])

    def expect_change(self, arrays, found, name, change, left=None):
        """Compares derivatives with a difference of energies, which are of the second degree in each array."""
        def energy(factor):
            if name.startswith("left/"):
                other = {**left["left"], name[5:]: left["left"][name[5:]] + factor * change}
                return float(triples(arrays, derivatives=None, left=other, left_kind=left["left_kind"]))
            return float(triples({**arrays, name: arrays[name] + factor * change}, derivatives=None, **(left or {})))
        size = 0.1 * np.abs(found[name]).max()
        change = change / max(np.abs(change).max(), 1e-300)
        difference = 0.5 * (energy(1.0) - energy(-1.0))
        self.assertAlmostEqual(np.sum(found[name] * change), difference, delta=1e-10 * max(size, abs(difference), 1e-3), msg=name)

    def test_left_amplitudes(self):
        rng = np.random.default_rng(3)
        for name in (HF, BEH):
            arrays = arrays_of(name)
            other = arrays_of(name.replace(".h5", "_lambda.h5"))
            left = {"left": {key: values for key, values in other.items() if key[:2] in ("t1", "t2")}, "left_kind": "lambda"}
            found = triples(arrays, **left).derivatives
            for key in [key for key in found if key.rpartition("/")[2][:4] in ("t1", "t2", "t1_a", "t2_a", "ovvv", "ovoo", "ovov")]:
                with self.subTest(name, key=key):
                    change = projected(key.rpartition("/")[2], rng.standard_normal(found[key].shape))
                    self.expect_change(arrays, found, key, change, left)

    def test_the_program_writes_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            for of, left in (("all", None), ("t", DATA / HF.replace(".h5", "_lambda.h5"))):
                path = Path(folder) / f"{of}.h5"
                command = [os.environ["TRIFUSE"], "run", DATA / HF, "--derivatives", path, "--derivatives-of", of, "--device", "cpu"]
                subprocess.run([*command, *(["--left", left] if left else [])], check=True, capture_output=True)
                result = trifuse.run(DATA / HF, left=left, derivatives=of, device="cpu")
                with h5py.File(path) as file:
                    self.assertEqual(file.attrs["e_t"], float(result))
                    for name, values in result.derivatives.items():
                        np.testing.assert_array_equal(file[name][()].reshape(values.shape), values, name)

    def test_the_program_writes_large_arrays_in_slices(self):
        arrays = random_arrays({"": 3}, {"": 100}, size=1e-4)
        del arrays["fock"]
        # The program checks its input, so t2 are amplitudes of these integrals.
        occupied, virtual = arrays["eps_occ"], arrays["eps_vir"]
        pairs = occupied[:, None] - virtual
        arrays["t2"] = arrays["ovov"].transpose(0, 2, 1, 3) / (pairs[:, None, :, None] + pairs[None, :, None, :])
        self.assertGreater(arrays["ovvv"].nbytes, 16 << 20, "the memory for slices")
        with tempfile.TemporaryDirectory() as folder:
            dump, path = Path(folder) / "x.h5", Path(folder) / "out.h5"
            trifuse.write_dump(dump, reference="RHF", **arrays)
            command = [os.environ["TRIFUSE"], "run", dump, "--derivatives", path, "--device", "cpu"]
            subprocess.run(command, check=True, capture_output=True)
            result = triples(arrays)
            with h5py.File(path) as file:
                for name, values in result.derivatives.items():
                    np.testing.assert_array_equal(file[name][()].reshape(values.shape), values, name)

    def test_a_journal_of_the_reference_executor(self):
        with tempfile.TemporaryDirectory() as folder:
            found = []
            for name in "first", "resumed":
                path = Path(folder) / f"{name}.h5"
                command = [os.environ["TRIFUSE"], "run", DATA / BEH, "--derivatives", path, "--executor", "reference"]
                subprocess.run([*command, "--journal", Path(folder) / "x.journal"], check=True, capture_output=True)
                with h5py.File(path) as file:
                    found.append({key: file[key][()] for key in file})
        for name, values in found[0].items():
            np.testing.assert_array_equal(found[1][name], values, name)

    def test_names_that_a_file_does_not_have(self):
        with self.assertWarnsRegex(trifuse.InputWarning, "no derivatives by ovvv_aabb; this run has those by eps_occ, "):
            result = trifuse.run(DATA / "dumps/hf_160_631g_rhf.h5", derivatives=["t1", "ovvv_aabb"])
        self.assertEqual(list(result.derivatives), ["t1"])
        self.assertIn("ovvv_aabb", result.warnings[0])

    def test_what_is_not_there(self):
        arrays = random_arrays({"": 3}, {"": 4})
        for sentence, given, options in (
                ("several values of omega2", arrays, {"omega2": [0.0, 0.1]}), ("mixed precision", arrays, {"precision": "mixed"}),
                ("no derivatives by 't3'; possible are t1, t2,", arrays, {"derivatives": ["t2", "t3"]}),
                ("no derivatives by 't2_ab'; these arrays have those by eps_occ, .*, t2\\.", arrays, {"derivatives": ["t2", "t2_ab"]}),
                *((f"no derivatives by '{name}'; these arrays have", arrays, {"derivatives": [name]})
                  for name in ("left/t1", "left/eps_occ", "factors_vv", "fock_ov_a", "asym_ovvv")),
                ("derivatives is 5; it must be 't', 'all' or a list", arrays, {"derivatives": 5}),
                ("derivatives is b'all'", arrays, {"derivatives": b"all"}),
                ("none, t or all", arrays, {"derivatives": "everything"})):
            with self.subTest(sentence), self.assertRaisesRegex(trifuse.UsageError, sentence):
                triples(given, **options)


if __name__ == "__main__":
    unittest.main()
