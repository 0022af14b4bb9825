#!/usr/bin/env python3
"""trifuse.contract gives what numpy.einsum gives, for arrays of any strides, and refuses what does not fit."""

import os
import unittest

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np

import trifuse

EXPRESSIONS = ["aebf,dfce->abcd", "ab,bc->ac", "ab,bc->ca", "xab,xbc->xac", "bxa,cbx->acx", "ab,ab->", "a,b->ab", ",ab->ba", "a,->a",
               "abcdef,gfe->gdcab", "aged,cbfg->fedcba", "Aa,aB->BA", "xa,xa->xa"]
EXTENTS = {"a": 4, "b": 5, "c": 6, "d": 3, "e": 7, "f": 2, "g": 8, "x": 3, "A": 2, "B": 3}


def operands(expression, rng, change=lambda values: values):
    for letters in expression.partition("->")[0].split(","):
        yield change(rng.uniform(-1, 1, [EXTENTS[letter] for letter in letters]))


def strided(rng):
    """A function that gives an array the same numbers at other places in memory."""

    def change(values):
        order = rng.permutation(values.ndim)
        back = np.argsort(order)
        steps = rng.choice([1, 2, -1, -3], values.ndim)
        shape = [values.shape[k] * abs(steps[k]) for k in order]
        memory = np.zeros(shape).transpose(back)
        view = memory[(*(slice(None, None, step) for step in steps), ...)]
        view[...] = values
        return view

    return change


class Contract(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(7)

    def expect_error(self, sentence, *arguments, **options):
        with self.assertRaises(trifuse.UsageError) as raised:
            trifuse.contract(*arguments, **options)
        self.assertIn(sentence, str(raised.exception))

    def test_is_einsum(self):
        for expression in EXPRESSIONS:
            with self.subTest(expression):
                a, b = operands(expression, self.rng)
                found = trifuse.contract(expression, a, b)
                self.assertTrue(found.flags.c_contiguous)
                np.testing.assert_allclose(found, np.einsum(expression, a, b), rtol=1e-13, atol=1e-13)

    def test_strides_of_inputs_and_of_the_result(self):
        change = strided(self.rng)
        for expression in EXPRESSIONS * 5:
            with self.subTest(expression):
                a, b = operands(expression, self.rng, change)
                expected = np.einsum(expression, a, b)
                out = change(np.full(expected.shape, 2.0))
                found = trifuse.contract(expression, a, b, out, alpha=0.5, beta=-1.5, threads=1)
                self.assertIs(found, out)
                np.testing.assert_allclose(out, 0.5 * expected - 3.0, rtol=1e-13, atol=1e-13)

    def test_other_types_and_broadcast_arrays(self):
        np.testing.assert_array_equal(trifuse.contract("ab,bc->ac", [[1, 2], [3, 4]], np.eye(2, dtype=np.float32)), [[1, 2], [3, 4]])
        ones = np.broadcast_to(2.0, (3, 4))
        np.testing.assert_array_equal(trifuse.contract("ab,bc->ac", ones, np.ones((4, 2))), np.full((3, 2), 8.0))
        out = np.full((2, 2), np.nan)
        trifuse.contract("ab,bc->ac", np.eye(2), np.eye(2), out=out)  # the old values are not read
        np.testing.assert_array_equal(out, np.eye(2))
        np.testing.assert_array_equal(trifuse.contract("ab,bc->ac", np.ones((2, 0)), np.ones((0, 3))), np.zeros((2, 3)))

    def test_wrong_expressions(self):
        two = np.ones((2, 2))
        self.expect_error("Index c occurs only in B", "ab,bc->a", two, two)
        self.expect_error("Index b has the extent 2 in A, but 3 in B", "ab,bc->ac", two, np.ones((3, 2)))
        self.expect_error("A has 2 axes, but the contraction names 3 indices", "abx,bxc->ac", two, two)
        self.expect_error("has no \"->\"", "ab,bc", two, two)
        self.expect_error("Index a of the result", "xb,bc->axc", two, two)
        self.expect_error("Index a occurs twice in C", "ab,bc->aac", two, two)
        self.expect_error("the character \".\"", "a...,bc->ac", two, two)
        self.expect_error("expression is 3, but it must be a text", 3, two, two)

    def test_wrong_arrays(self):
        two = np.ones((2, 2))
        self.expect_error("out is not given", "ab,bc->ac", two, two, beta=1.0)
        self.expect_error("out must be a NumPy array of 64-bit floats", "ab,bc->ac", two, two, [[0.0]])
        self.expect_error("out must be a NumPy array of 64-bit floats", "ab,bc->ac", two, two, np.ones((2, 2), np.float32))
        self.expect_error("Index c has the extent 2 in B, but 3 in C", "ab,bc->ac", two, two, np.ones((2, 3)))
        self.expect_error("out shares memory with a", "ab,bc->ac", two, np.eye(2), two)
        self.expect_error("out must be writeable", "ab,bc->ac", two, two, np.broadcast_to(0.0, (2, 2)))
        self.expect_error("may share memory", "ab,bc->ac", two, two, np.lib.stride_tricks.as_strided(np.ones(2), (2, 2), (0, 8)))
        self.expect_error("a is complex", "ab,bc->ac", two * 1j, two)
        self.expect_error("b has masked elements", "ab,bc->ac", two, np.ma.array(two, mask=np.eye(2)))
        self.expect_error("alpha is 'x'", "ab,bc->ac", two, two, alpha="x")
        self.expect_error("-2 threads are not possible", "ab,bc->ac", two, two, threads=-2)

    def test_a_result_without_memory(self):
        many = np.zeros(4_000_000)
        with self.assertRaisesRegex(trifuse.ResourceError, r"no memory for the result.*\[4000000, 4000000\]"):
            trifuse.contract("a,b->ab", many, many)


if __name__ == "__main__":
    unittest.main()
