#!/usr/bin/env python3
"""trifuse.triples_many, compared with calls of trifuse.triples."""

import math
import os
import tempfile
import unittest
import warnings
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import trifuse
from molecules import hydroxyl, restricted_arrays, unrestricted_arrays, water
from trifuse._many import _Calls, gpus_of, on_gpu

ARRAYS = {}


def setUpModule():
    ARRAYS["rhf"], ARRAYS["uhf"] = restricted_arrays(water()), unrestricted_arrays(hydroxyl())


class ManyMolecules(unittest.TestCase):
    def arrays(self, **changes):
        return {**ARRAYS["rhf"], **changes}

    def molecules(self):
        """Molecules of two references. Each has its own omega2, so each has its own energy."""
        for n in range(6):
            for arrays in ARRAYS.values():
                yield dict(arrays, omega2=0.01 * n)

    def test_bits_of_single_calls(self):
        single = [float(trifuse.triples(**molecule)) for molecule in self.molecules()]
        self.assertEqual(len(set(single)), len(single))
        for workers in (None, 1, 3):
            results = trifuse.triples_many(self.molecules(), workers=workers, device="cpu")
            self.assertEqual([float(result) for result in results], single)

    def test_files_and_shared_options(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "dump.h5")
            trifuse.write_dump(path, **self.arrays())
            results = trifuse.triples_many([path, self.arrays()], omega2=[0.0, 0.2], threads=1)
        self.assertEqual([[energy.omega2 for energy in result.energies] for result in results], [[0.0, 0.2]] * 2)
        self.assertAlmostEqual(float(results[0]), float(results[1]), delta=1e-14)

    def test_a_generator_waits_for_workers(self):
        started, finished = [], [(0, 0)]

        def molecules():
            for n in range(12):
                started.append(n)
                self.assertLessEqual(len(started) - finished[-1][0], 4)
                yield self.arrays()

        trifuse.triples_many(molecules(), workers=2, progress=lambda done, total: finished.append((done, total)))
        self.assertEqual(finished[-1], (12, math.inf))

    def test_errors(self):
        wrong = self.arrays(t1=np.full_like(self.arrays()["t1"], np.nan))
        with self.assertRaisesRegex(trifuse.InputError, "t1"):
            trifuse.triples_many([self.arrays(), wrong, self.arrays()])
        results = trifuse.triples_many([self.arrays(), wrong, self.arrays()], return_errors=True, workers=2)
        self.assertIsInstance(results[1], trifuse.InputError)
        self.assertEqual(float(results[0]), float(results[2]))
        for refused, words in ((dict(workers=0), "0 workers"), (dict(journal="j"), "journal"), (dict(gpu=[0]), "gpus")):
            with self.assertRaisesRegex(trifuse.UsageError, words):
                trifuse.triples_many([self.arrays()], **refused)
        self.assertEqual(trifuse.triples_many([]), [])

    def test_warnings_name_the_molecule(self):
        weak = self.arrays(oovv=None)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", trifuse.InputWarning)
            results = trifuse.triples_many([self.arrays(), weak, weak], workers=2, device="cpu")
        sentences = sorted(str(each.message) for each in found)
        self.assertEqual(sentences, [f"molecules[{n}]: {each}" for n, result in enumerate(results) for each in result.warnings])
        self.assertRegex(sentences[-1], r"^molecules\[2\]: The arrays are checked only weakly")
        self.assertEqual({each.filename for each in found}, {__file__})
        with warnings.catch_warnings():
            warnings.simplefilter("error", trifuse.InputWarning)
            with self.assertRaisesRegex(trifuse.InputWarning, r"^molecules\[0\]: The arrays"):
                trifuse.triples_many([weak], device="cpu")
            (error,) = trifuse.triples_many([weak], device="cpu", return_errors=True)
        self.assertRegex(str(error), r"^molecules\[0\]: The arrays")

    def test_progress_can_end_it(self):
        done = []
        with self.assertRaises(trifuse.CancelledError):
            trifuse.triples_many([self.arrays()] * 20, workers=2, progress=lambda n, total: done.append((n, total)) or n < 3)
        self.assertLess(len(done), 20)
        self.assertEqual(done[0][1], 20)

    def test_threads_are_shared_out(self):
        for workers, molecules, expected in ((None, 0, (8, 1)), (None, 2, (2, 4)), (3, 100, (3, 2)), (3, 1, (1, 8))):
            with self.subTest(workers=workers, molecules=molecules):
                calls = _Calls(workers, {"threads": 8, "device": "cpu"}, molecules)
                self.assertEqual((calls.workers, calls._options["threads"]), expected)

    def test_a_molecule_may_stay_on_cores(self):
        single = float(trifuse.triples(**self.arrays(device="cpu")))
        with mock.patch("trifuse._many.gpus_of", return_value=[0]):
            found, = trifuse.triples_many([self.arrays(device="cpu")])
            self.assertEqual(float(found), single)
            with self.assertRaisesRegex(trifuse.UsageError, 'gpus names GPUs, but device="cpu" uses none'):
                trifuse.triples_many([self.arrays(device="cpu", gpus=[0])])
        with self.assertRaisesRegex(trifuse.UsageError, '^gpus names GPUs, but device="cpu" uses none'):
            trifuse.triples_many([self.arrays()], device="cpu", gpus=[0])

    def test_gpus_are_shared_out(self):
        for options, gpus, of_first in (
                ({}, [0, 1], {"gpus": [0], "device": "auto"}), ({"device": "cuda"}, [0, 1], {"gpus": [0], "device": "cuda"}),
                ({"gpus": [3]}, [3], {"gpus": [3]}), ({"device": "cpu"}, [], {})):
            with self.subTest(options=options):
                self.assertEqual(gpus_of(options, lambda: 2), gpus)
                self.assertEqual(on_gpu(gpus[0] if gpus else -1, options), of_first)


if __name__ == "__main__":
    unittest.main()
