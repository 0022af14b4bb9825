#!/usr/bin/env python3
"""The memory of calls: it stays flat over many calls and errors, and a large run needs its operands and little more."""

import gc
import os
import subprocess
import sys
import unittest
import weakref

os.environ.setdefault("OMP_NUM_THREADS", "1")
if "MALLOC_ARENA_MAX" not in os.environ:
    # Otherwise malloc makes an arena of 1.5 MB if several threads call it at the same time, up to eight for each core. The variable is
    # read when a process starts.
    os.environ["MALLOC_ARENA_MAX"] = "1"
    os.execv(sys.executable, [sys.executable, "-B", *sys.argv])

import numpy as np

import trifuse
from molecules import restricted_arrays, water


def status_bytes(name):
    """A number of /proc/self/status: VmRSS, or VmHWM, its largest value."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


class ManyCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.arrays = {name: np.array(values) for name, values in restricted_arrays(water()).items()}

    def setUp(self):
        gc.disable()  # nothing may wait for it
        self.addCleanup(gc.enable)

    def growth(self, call, calls):
        """Bytes by which the last two thirds of the calls make the process larger: twice the smaller growth of both. A step
        that happens once is no leak."""
        sizes = []
        for n in range(calls):
            if n % (calls // 3) == 0:
                sizes.append(status_bytes("VmRSS"))
            call()
        sizes.append(status_bytes("VmRSS"))
        return 2 * min(sizes[2] - sizes[1], sizes[3] - sizes[2])

    def test_memory_is_flat(self):
        """A leak of 500 bytes in each call would be seen."""
        self.assertLess(self.growth(lambda: trifuse.triples(fock_in_triples=True, threads=1, **self.arrays), 900), 3e5)

    def test_memory_of_errors_is_flat(self):
        wrong = {**self.arrays, "t1": -self.arrays["t1"]}

        def call():
            with self.assertRaises(trifuse.InputError):
                trifuse.triples(fock_in_triples=True, threads=1, **wrong)

        self.assertLess(self.growth(call, 900), 3e5)

    def test_arrays_are_let_go(self):
        """No cycle keeps the arrays of a call alive, also after an exception."""
        arrays = {name: np.array(values) for name, values in self.arrays.items()}
        ovvv = weakref.ref(arrays["ovvv"])
        trifuse.triples(fock_in_triples=True, **arrays)
        with self.assertRaises(trifuse.InputError):
            trifuse.triples(fock_in_triples=True, correlation_energy=-0.1, **arrays)
        arrays.clear()
        self.assertIsNone(ovvv())


QUIET = ("-W", "ignore:The arrays are checked only weakly")


class LargeCalls(unittest.TestCase):
    def test_a_run_needs_its_operands_and_its_scratch(self):
        """No other copies are made, and memory that Python has freed is used again."""
        done = subprocess.run([sys.executable, "-B", *QUIET, __file__, "large"], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        growth, planned, freed = map(int, done.stdout.split())
        self.assertGreater(planned, 100e6)
        self.assertLess(growth, planned - 0.5 * freed)

    def test_two_threads_need_little_besides_arrays_and_operands(self):
        """15 occupied and 100 virtual orbitals. The largest size is reached in the first tasks."""
        done = subprocess.run([sys.executable, "-B", *QUIET, __file__, "begun"], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        growth, of_arrays, operands = map(int, done.stdout.split())
        self.assertGreater(growth, operands)
        self.assertLess(of_arrays + growth, 1.1 * (of_arrays + operands))


def large_arrays(o, v, packed):
    """Zeros for all arrays of a molecule. The library is loaded afterwards."""
    arrays = dict(eps_occ=np.linspace(-2, -1, o), eps_vir=np.linspace(1, 2, v), t1=np.zeros((o, v)), t2=np.zeros((o, o, v, v)),
                  ovvv=np.zeros((o, v, v * (v + 1) // 2) if packed else (o, v, v, v)), ovoo=np.zeros((o, v, o, o)), ovov=np.zeros((o, v, o, v)))
    for values in arrays.values():
        values *= 1.0  # all pages exist
    trifuse.triples(threads=2, eps_occ=[-1.0], eps_vir=[1.0], t1=[[0.0]], t2=[[[[0.0]]]], ovvv=[[[[0.0]]]], ovoo=[[[[0.0]]]],
                    ovov=[[[[0.0]]]])
    return arrays


def begin_to_measure():
    """The size of this process. Its largest size, VmHWM, begins anew."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return status_bytes("VmRSS")


def begun_call():
    """Prints the bytes by which a run, cancelled after its first tasks, makes this process larger, and those of the arrays and of the
    operands."""
    arrays = large_arrays(15, 100, packed=False)
    plan = trifuse.plan(occupied=15, virtual=100, gpus=0).to_dict()
    before = begin_to_measure()
    try:
        trifuse.triples(threads=2, device="cpu", progress=lambda done, total: done <= 0.02 * total, **arrays)
    except trifuse.CancelledError:
        print(status_bytes("VmHWM") - before, sum(values.nbytes for values in arrays.values()),
              int(plan["prediction"]["memory"]["rank_bytes"]))


def large_call():
    """Prints the bytes by which a run of large arrays makes this process larger, those of its plan, and those that were free."""
    arrays = large_arrays(4, 150, packed=True)
    blocks = [bytes(100_000) for _ in range(600)]  # small enough for the heap of malloc, which keeps them below `last`
    last = blocks.pop()
    free = sum(map(len, blocks))
    del blocks
    before = begin_to_measure()
    memory = trifuse.triples(threads=1, **arrays).to_dict()["plan"]["memory"]
    print(status_bytes("VmHWM") - before, memory["operand_bytes"] + memory["scratch_bytes"], free, len(last) and "")


if __name__ == "__main__":
    if sys.argv[1:] == ["large"]:
        large_call()
    elif sys.argv[1:] == ["begun"]:
        begun_call()
    else:
        unittest.main()
