#!/usr/bin/env python3
"""The option derivatives on a GPU: the arrays are those of cores. Without a GPU, only a refusal is tested.

    PYTHONPATH=drivers/python TRIFUSE_LIBRARY=.../libtrifuse.so TRIFUSE_TEST_DATA=tests/data python3 tests/python/test_derivatives_on_gpu.py
"""

import re
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import trifuse
from test_derivatives import BEH, DATA, HF, arrays_of, expect_same_bits, random_arrays, triples
from test_derivatives_by_factors import random_factors
from trifuse import _library

GPUS = _library.library().gpu_count() if _library.library().has_cuda else 0
HAS_GPU = GPUS > 0


def left_amplitudes(arrays):
    """The options of a run with the amplitudes of these arrays on the left."""
    return {"left": {key: values for key, values in arrays.items() if key[:2] in ("t1", "t2")}, "left_kind": "lambda"}


def kind_of(name):
    """The name of an array without its spins."""
    return re.sub("_[ab]+$", "", name)


class DerivativesOnGpu(unittest.TestCase):
    def expect_those_of_cores(self, arrays, precision="double", **options):
        options = {"fock_in_triples": True, **options}
        cores = triples(arrays, **options)
        gpu = triples(arrays, **{**options, "device": "cuda", "precision": precision})
        of_energy, of_array = (1e-11, 1e-10) if precision == "double" else (3e-8, 1e-5)
        self.assertAlmostEqual(float(cores), float(gpu), delta=of_energy * max(1.0, abs(float(cores))))
        self.assertEqual(set(cores.derivatives), set(gpu.derivatives))
        sizes = {name: np.abs(expected).max(initial=1e-6) for name, expected in cores.derivatives.items()}
        for name, expected in cores.derivatives.items():
            # In mixed precision errors are relative to the other spins, too: an array may be zero because terms cancel.
            alike = [name] if precision == "double" else [other for other in sizes if kind_of(other) == kind_of(name)]
            size = max(sizes[other] for other in alike)
            self.assertLess(np.abs(gpu.derivatives[name] - expected).max(initial=0) / size, of_array, name)

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_closed_shells(self):
        self.expect_those_of_cores(arrays_of(HF))
        for holes, particles, options in ((3, 5, {}), (5, 9, {"derivatives": "t"}), (6, 17, {"tile_size": 4}), (13, 30, {}),
                                          (7, 23, {"form": "spin-orbital"}), (6, 11, {"form": "spin-orbital", "tile_size": 4})):
            with self.subTest(holes=holes, particles=particles, **options):
                self.expect_those_of_cores(random_arrays({"": holes}, {"": particles}, size=0.02), **options)

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_open_shells(self):
        self.expect_those_of_cores(arrays_of(BEH))
        for holes, particles, options in (((3, 2), (5, 6), {}), ((7, 6), (17, 18), {}), ((9, 5), (14, 20), {"tile_size": 4}),
                                          ((6, 5), (12, 13), {"derivatives": "t"})):
            arrays = random_arrays(dict(zip(("_a", "_b"), holes)), dict(zip(("_a", "_b"), particles)), size=0.02)
            with self.subTest(holes=holes, particles=particles, **options):
                self.expect_those_of_cores(arrays, **options)

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_factors(self):
        for holes, particles, options in ((5, 9, {}), (9, 37, {"tile_size": 8}), (6, 17, {"derivatives": "t"}),
                                          (6, 11, {"form": "spin-orbital"})):
            with self.subTest(holes=holes, particles=particles, **options):
                self.expect_those_of_cores(random_factors({"": holes}, {"": particles}, size=0.02, size_of_t2=0.02), **options)
        for holes, particles, options in (((7, 6), (17, 18), {}), ((6, 5), (12, 13), {"derivatives": "t"})):
            arrays = random_factors(dict(zip(("_a", "_b"), holes)), dict(zip(("_a", "_b"), particles)), size=0.02,
                                    size_of_t2=0.02)
            with self.subTest(holes=holes, particles=particles, **options):
                self.expect_those_of_cores(arrays, **options)

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_a_journal(self):
        # Small tiles, so that the run takes longer than the time between two calls of `progress`.
        arrays, other = (random_arrays({"": 16}, {"": 96}, seed=seed, size=0.002) for seed in (1, 2))
        for options in {}, {"precision": "mixed"}, left_amplitudes(other):
            with self.subTest(options=sorted(options)):
                self.expect_the_same_bits_after_a_resume(arrays, {"device": "cuda", "tile_size": 4, **options})

    def expect_the_same_bits_after_a_resume(self, arrays, options):
        whole = triples(arrays, **options)

        def interrupt(done, total):
            if done > 0:
                raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as folder:
            options = {**options, "journal": Path(folder) / "x.journal"}
            with self.assertRaises(KeyboardInterrupt):
                triples(arrays, progress=interrupt, **options)
            resumed, again = triples(arrays, **options), triples(arrays, **options)
        # The sums stay on the GPU unless they are stored.
        sums = whole.to_dict()["memory"]["gpu_sum_bytes"]
        self.assertGreater(sums, 0)
        self.assertEqual(whole.to_dict()["memory"]["sum_bytes"], 0)
        for result in (resumed, again):
            self.assertEqual(result.to_dict()["memory"]["gpu_sum_bytes"], 0)
            self.assertEqual(result.to_dict()["memory"]["sum_bytes"], sums)
            self.assertEqual(float(result), float(whole))
            for name, expected in whole.derivatives.items():
                np.testing.assert_array_equal(result.derivatives[name], expected, err_msg=name)

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_mixed_precision(self):
        self.expect_those_of_cores(arrays_of(HF), precision="mixed")
        self.expect_those_of_cores(arrays_of(BEH), precision="mixed")
        self.expect_those_of_cores(random_arrays({"": 13}, {"": 37}, size=0.02), precision="mixed")
        self.expect_those_of_cores(random_arrays({"": 20}, {"": 44}, size=0.02), precision="mixed", memory=3 << 30)
        self.expect_those_of_cores(random_factors({"": 9}, {"": 37}, size=0.02, size_of_t2=0.02), precision="mixed", tile_size=8)

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_the_same_bits_in_every_run(self):
        arrays = random_arrays({"": 13}, {"": 40}, size=0.02)
        for precision in ("double", "mixed"):
            expect_same_bits(arrays, *2 * ({"device": "cuda", "precision": precision},))

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_the_same_bits_in_runs_at_the_same_time(self):
        arrays = random_arrays({"": 13}, {"": 60}, size=0.01)
        alone = triples(arrays, device="cuda")
        with ThreadPoolExecutor(4) as threads:
            for result in threads.map(lambda _: triples(arrays, device="cuda"), range(8)):
                self.assertEqual(float(result), float(alone))
                for name, expected in alone.derivatives.items():
                    np.testing.assert_array_equal(result.derivatives[name], expected, err_msg=name)

    def test_mixed_precision_on_cores_is_refused(self):
        with self.assertRaisesRegex(trifuse.UsageError, "in mixed precision on CPU cores"):
            triples(random_arrays({"": 3}, {"": 4}), device="cpu", precision="mixed")

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_little_memory(self):
        self.expect_those_of_cores(random_arrays({"": 20}, {"": 44}, size=0.02), memory=3 << 30)

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_left_amplitudes(self):
        for holes, particles, options in (({"": 5}, {"": 9}, {}), ({"": 9}, {"": 18}, {"derivatives": "t"}),
                                          ({"": 10}, {"": 21}, {"tile_size": 4}), ({"": 6}, {"": 11}, {"form": "spin-orbital"}),
                                          ({"_a": 7, "_b": 6}, {"_a": 13, "_b": 14}, {}),
                                          ({"_a": 6, "_b": 5}, {"_a": 12, "_b": 13}, {"derivatives": "t", "tile_size": 4})):
            arrays, other = (random_arrays(holes, particles, seed=seed, size=0.02) for seed in (1, 2))
            for fock in True, False:
                with self.subTest(holes=holes, particles=particles, fock=fock, **options):
                    self.expect_those_of_cores(arrays, **left_amplitudes(other), fock_in_triples=fock, **options)
            with self.subTest("mixed precision", holes=holes, particles=particles, **options):
                self.expect_those_of_cores(arrays, precision="mixed", **left_amplitudes(other), **options)

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_left_amplitudes_and_factors(self):
        for holes, particles, options in (({"": 9}, {"": 19}, {}), ({"_a": 6, "_b": 5}, {"_a": 12, "_b": 13}, {"tile_size": 4})):
            arrays = random_factors(holes, particles, size=0.05, size_of_t2=0.05)
            left = left_amplitudes(random_arrays(holes, particles, seed=2, size=0.05))
            for precision in "double", "mixed":
                with self.subTest(holes=holes, precision=precision):
                    self.expect_those_of_cores(arrays, precision=precision, **left, **options)

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_dumps_with_left_amplitudes(self):
        left = DATA / HF.replace(".h5", "_lambda.h5")
        cores, gpu = (trifuse.run(DATA / HF, left=left, derivatives="all", device=device) for device in ("cpu", "cuda"))
        for name, expected in cores.derivatives.items():
            np.testing.assert_allclose(gpu.derivatives[name], expected, rtol=0.0, atol=1e-12, err_msg=name)

    @unittest.skipUnless(HAS_GPU, "needs a GPU")
    def test_the_same_bits_with_left_amplitudes(self):
        arrays, other = (random_arrays({"": 13}, {"": 40}, seed=seed, size=0.02) for seed in (1, 2))
        options = {"device": "cuda", **left_amplitudes(other)}
        expect_same_bits(arrays, options, options)

    @unittest.skipUnless(GPUS > 1, "needs two GPUs")
    def test_the_same_bits_on_several_gpus(self):
        arrays, other = (random_arrays({"": 13}, {"": 60}, seed=seed, size=0.01) for seed in (1, 2))
        for options in {}, {"precision": "mixed"}, left_amplitudes(other):
            with self.subTest(**{key: value for key, value in options.items() if key == "precision"}):
                options = {"device": "cuda", "tile_size": 8, **options}
                expect_same_bits(arrays, *({**options, "gpus": list(range(count))} for count in range(1, GPUS + 1)))


if __name__ == "__main__":
    unittest.main()
