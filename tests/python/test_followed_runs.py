#!/usr/bin/env python3
"""Runs that a function of the caller or Ctrl-C follows."""

import io
import os
import signal
import subprocess
import sys
import unittest
import unittest.mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import trifuse
from test_triples import Case, setUpModule  # noqa: F401  # unittest calls it


class FollowedRuns(Case):
    def large(self):
        """Made-up arrays that take seconds."""
        o, v = 10, 80
        return dict(eps_occ=np.linspace(-2, -1, o), eps_vir=np.linspace(1, 2, v), t1=np.zeros((o, v)),
                    t2=np.zeros((o, o, v, v)), ovvv=np.zeros((o, v, v * (v + 1) // 2)), ovoo=np.zeros((o, v, o, o)),
                    ovov=np.zeros((o, v, o, v)), threads=1, form="spin-orbital", check=False)

    def test_progress(self):
        seen = []
        self.triples(progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[-1][0], seen[-1][1])
        with self.assertRaisesRegex(ZeroDivisionError, "in progress"):
            def fail(done, total):
                raise ZeroDivisionError("in progress")
            self.triples(progress=fail)
        with self.assertRaises(trifuse.CancelledError):
            trifuse.triples(progress=lambda done, total: False, **self.large())

    def test_no_bar_without_a_terminal(self):
        with unittest.mock.patch("sys.stderr", io.StringIO()) as output:
            self.triples()
        self.assertEqual(output.getvalue(), "")

    def test_interrupt(self):
        """Ctrl-C ends a run when the tasks that have begun end; the process goes on."""
        script = ("import sys, trifuse; sys.path.insert(0, sys.argv[1]); import test_followed_runs\n"
                  "arrays = test_followed_runs.FollowedRuns().large()\n"
                  "print('ready', flush=True)\n"
                  "try:\n    trifuse.triples(progress=lambda d, t: print('run', d / max(t, 1), flush=True), **arrays)\n"
                  "except KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
                  "print(float(trifuse.triples(eps_occ=[-1.], eps_vir=[1.], t1=[[0.]], t2=[[[[0.]]]], ovvv=[[[[0.]]]],"
                  " ovoo=[[[[0.]]]], ovov=[[[[0.]]]])))\n")
        process = subprocess.Popen([sys.executable, "-c", script, os.path.dirname(os.path.abspath(__file__))],
                                   stdout=subprocess.PIPE, text=True)
        with process:
            done = last = 0.0
            while done == 0.0:
                words = process.stdout.readline().split()
                self.assertTrue(words, "The run ended before its first task.")
                done = float(words[1]) if words[0] == "run" else 0.0
            process.send_signal(signal.SIGINT)
            for line in process.stdout:
                if line.strip() == "interrupted":
                    break
                last = float(line.split()[1])
            else:
                self.fail("The run was not interrupted.")
            rest = process.stdout.read().split()
        # Seconds would depend on what else the machine does.
        self.assertLess(last, done + 0.5)
        self.assertEqual((rest, process.returncode), (["0.0"], 0))


if __name__ == "__main__":
    unittest.main()
