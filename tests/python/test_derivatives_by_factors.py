#!/usr/bin/env python3
"""The option derivatives with factors: against the chain rule, and against differences of energies."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import h5py
import numpy as np

import trifuse
from test_derivatives import DATA, arrays_of, expect_same_bits, random_arrays, triples

CLOSED, OPEN = "dumps/lih_631g_rhf_df.h5", "dumps/beh_sto3g_uhf_df.h5"


def spins_of(arrays):
    return ("",) if "t1" in arrays else ("_a", "_b")


def symmetric(name, values):
    return values if "_ov" in name else (values + values.transpose(0, 2, 1)) / 2


def unpacked(factors):
    """Factors of two particles that are packed, as [naux,v,v]."""
    if factors.ndim == 3:
        return factors
    n = int((2 * factors.shape[1]) ** 0.5)
    rows, columns = np.tril_indices(n)
    square = np.empty((len(factors), n, n))
    square[:, rows, columns] = square[:, columns, rows] = factors
    return square


def packed(arrays):
    """The arrays with packed factors of two particles."""
    return {name: values[(slice(None), *np.tril_indices(values.shape[1]))] if name.startswith("factors_vv") else values
            for name, values in arrays.items()}


def random_factors(holes, particles, size=0.15, naux=7, size_of_t2=0.2):
    """Random arrays with factors instead of integrals. `size`: of the factors."""
    rng = np.random.default_rng(4)
    arrays = {name: values for name, values in random_arrays(holes, particles, size=size_of_t2).items()
              if not name.startswith(("ovv", "ovo"))}
    for s in holes:
        o, v = holes[s], particles[s]
        for pair, shape in (("oo", (o, o)), ("ov", (o, v)), ("vv", (v, v))):
            name = f"factors_{pair}{s}"
            arrays[name] = symmetric(name, size * rng.standard_normal((naux, *shape)))
    return arrays


def products(arrays):
    """Each array of integrals with the two factors of which it is the product."""
    for x in spins_of(arrays):
        for y in spins_of(arrays):
            spins = x and f"_{2 * x[1]}{2 * y[1]}"
            for pair in ("vv", "oo", "ov"):
                if pair != "ov" or (x, y) != ("_b", "_a"):
                    yield f"ov{pair}{spins}", f"factors_ov{x}", f"factors_{pair}{y}"


def expected_derivatives(arrays, **options):
    """Those of a run with integrals that are multiplied out, and of the factors by the chain rule."""
    factors = {name: unpacked(values) for name, values in arrays.items() if name.startswith("factors")}
    others = {name: values for name, values in arrays.items() if name not in factors}
    integrals = {name: np.einsum("Qpq,Qrs->pqrs", factors[one], factors[two]) for name, one, two in products(arrays)}
    result = triples({**others, **integrals}, **options)
    found = {name: values for name, values in result.derivatives.items() if name not in integrals}
    found.update((name, np.zeros_like(values)) for name, values in factors.items())
    for name, one, two in products(arrays):
        found[one] += np.einsum("pqrs,Qrs->Qpq", result.derivatives[name], factors[two])
        found[two] += np.einsum("pqrs,Qpq->Qrs", result.derivatives[name], factors[one])
    return result, found


class DerivativesByFactors(unittest.TestCase):
    def check(self, arrays, **options):
        options = {"fock_in_triples": True, **options}
        expected, derivatives = expected_derivatives(arrays, **options)
        result = triples(arrays, **options)
        self.assertAlmostEqual(float(result), float(expected), delta=1e-12)
        self.assertEqual(set(result.derivatives), set(derivatives))
        for name, values in derivatives.items():
            found = result.derivatives[name]
            self.assertEqual(found.shape, values.shape, name)
            self.assertLess(np.abs(found - values).max(initial=0), 1e-10 * max(np.abs(values).max(initial=0), 1e-6), name)
        return result

    def test_closed_shells(self):
        arrays = random_factors({"": 4}, {"": 5})
        for options in {}, {"tile_size": 2, "omega2": 0.1}, {"form": "spin-orbital"}:
            with self.subTest(options):
                self.check(arrays, **options)
        self.check(packed(random_factors({"": 5}, {"": 18}, size=0.05, size_of_t2=0.1)))

    def test_open_shells(self):
        for holes, particles in ((4, 3), (4, 5)), ((3, 0), (4, 2)):
            with self.subTest(holes=holes):
                self.check(packed(random_factors(dict(zip(("_a", "_b"), holes)), dict(zip(("_a", "_b"), particles)))), tile_size=2)

    def test_molecules_with_left_amplitudes(self):
        """Symmetry and frozen orbitals, from dumps; with Lambda amplitudes, too."""
        for name in CLOSED, OPEN:
            arrays, other = arrays_of(name), arrays_of(name.replace(".h5", "_lambda.h5"))
            left = {key: values for key, values in other.items() if key[:2] in ("t1", "t2")}
            for options in {}, {"left": left, "left_kind": "lambda"}:
                with self.subTest(name, left=bool(options)):
                    self.check(arrays, **options)

    def test_differences_of_energies(self):
        """E(T) is of the fourth degree in a factor, so that four energies give the derivative without an error of truncation."""
        rng = np.random.default_rng(5)
        for arrays in random_factors({"": 4}, {"": 5}), random_factors({"_a": 3, "_b": 2}, {"_a": 3, "_b": 4}):
            derivatives = triples(arrays).derivatives
            for name in (name for name in derivatives if name.startswith("factors")):
                change = symmetric(name, 0.1 * rng.standard_normal(arrays[name].shape))
                one, two = (0.5 * (float(triples({**arrays, name: arrays[name] + n * change}, derivatives=None))
                                   - float(triples({**arrays, name: arrays[name] - n * change}, derivatives=None))) for n in (1, 2))
                with self.subTest(name):
                    expected = (8 * one - two) / 6
                    self.assertAlmostEqual(np.sum(derivatives[name] * change), expected, delta=1e-10 * max(abs(expected), 1e-2))

    def test_threads_give_the_same_bits(self):
        arrays = random_factors({"": 6}, {"": 9})
        expect_same_bits(arrays, *({"threads": n, "tile_size": 3} for n in (1, 2, 3)))

    def test_names(self):
        arrays = random_factors({"": 3}, {"": 4})
        whole = triples(arrays).derivatives
        part = triples(arrays, derivatives="t").derivatives
        self.assertEqual(set(whole) - set(part), {"factors_oo", "factors_ov", "factors_vv"})
        for name, values in part.items():
            np.testing.assert_allclose(values, whole[name], rtol=0, atol=1e-16)
        self.assertEqual(set(triples(arrays, derivatives=["factors_ov"]).derivatives), {"factors_ov"})

    def test_the_program_writes_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "out.h5"
            subprocess.run([os.environ["TRIFUSE"], "run", DATA / CLOSED, "--derivatives", path, "--device", "cpu"], check=True,
                           capture_output=True)
            result = trifuse.run(DATA / CLOSED, derivatives="all", device="cpu")
            with h5py.File(path) as file:
                self.assertEqual(set(file), set(result.derivatives))
                for name, values in result.derivatives.items():
                    np.testing.assert_array_equal(file[name][()].reshape(values.shape), values, name)


if __name__ == "__main__":
    unittest.main()
