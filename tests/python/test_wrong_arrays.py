#!/usr/bin/env python3
"""The mistakes of tests/pyscf/test_wrong_inputs.py in arrays give the same sentences and warnings as in files."""

import os
import pathlib
import sys
import unittest
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pyscf"))

import test_wrong_inputs

import trifuse

KINDS = test_wrong_inputs.KINDS


def outcome(compute):
    """The exception of a call, or the values that its result warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trifuse.InputWarning)
        try:
            result = compute()
        except trifuse.Error as error:
            return type(error).__name__, [str(error)]
    return f"{result.e_t:.12f}", list(result.warnings)


def of_arrays(path):
    with trifuse.Dump(path) as dump:
        return outcome(lambda: trifuse.triples(threads=1, **dump.facts, **{name: dump[name][()] for name in dump}))


class WrongArrays(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        makers = test_wrong_inputs.WrongInputs
        cls.files = makers("info")
        makers.setUpClass()
        cls.addClassCleanup(makers.doClassCleanups)

    def test_right_ones_have_no_warning(self):
        for reference in test_wrong_inputs.MOLECULES:
            self.assertEqual(of_arrays(self.files.path(reference))[1], [])

    def test_each_mistake_is_treated_as_in_a_file(self):
        self.assertGreaterEqual(len({change.__name__ for _, change in KINDS}), 30)
        for reference, change in KINDS:
            with self.subTest(reference=reference, mistake=change.__name__):
                path = self.files.changed(reference, change)
                kind, sentences = of_arrays(path)
                self.assertNotEqual(sentences, [])
                kind_of_file, of_file = outcome(lambda: trifuse.run(path, threads=1))
                self.assertEqual(kind, kind_of_file)
                of_file = [each.replace(path, "the arrays").replace("dataset", "array") for each in of_file]
                self.assertEqual(sentences, of_file)


if __name__ == "__main__":
    unittest.main()
