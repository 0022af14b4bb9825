#!/usr/bin/env python3
"""The examples in the docstrings of the Python package."""

import doctest
import os
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "1")

import trifuse._interface
import trifuse._program
import trifuse.dump
import trifuse.pyscf
import trifuse.result

MODULES = (trifuse._interface, trifuse._program, trifuse.dump, trifuse.pyscf, trifuse.result)


def load_tests(loader, tests, pattern):
    for module in MODULES:
        suite = doctest.DocTestSuite(module)
        assert suite.countTestCases() > 0, module
        tests.addTests(suite)
    return tests


if __name__ == "__main__":
    unittest.main()
