#!/usr/bin/env python3
"""The tutorial for PySCF users: script and notebook are the same, the cells run, and their numbers are PySCF's."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import tempfile
import unittest
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

from notebook import notebook_of

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "inputs" / "pyscf"
NOTEBOOK = (FOLDER / "tutorial.ipynb").read_text(encoding="utf-8")
CELLS = json.loads(NOTEBOOK)["cells"]


class Tutorial(unittest.TestCase):
    def test_the_notebook_has_the_cells_of_the_script_and_no_outputs(self):
        """If this fails: python3 tests/python/notebook.py inputs/pyscf/tutorial.py"""
        self.assertEqual(NOTEBOOK, notebook_of((FOLDER / "tutorial.py").read_text(encoding="utf-8")))
        self.assertGreater(len(CELLS), 15)
        for cell in CELLS:
            self.assertFalse(cell.get("outputs") or cell.get("execution_count"))

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "needs matplotlib")
    def test_the_cells_run_and_give_the_energies_of_pyscf(self):
        names, printed = {}, io.StringIO()
        with tempfile.TemporaryDirectory() as folder, working_in(folder):
            with contextlib.redirect_stdout(printed), warnings.catch_warnings():
                warnings.simplefilter("error")
                for cell in CELLS:
                    if cell["cell_type"] == "code":
                        exec(compile("".join(cell["source"]), "tutorial.ipynb", "exec"), names)
            self.assertIn("<svg", pathlib.Path("tutorial.svg").read_text(encoding="utf-8"))
        self.assertAlmostEqual(names["e_t"], names["mycc"].ccsd_t(), delta=1e-10)
        self.assertIn(f"mycc.ccsd_t() = {names['e_t']:.8f}\n", printed.getvalue())
        self.assertAlmostEqual(float(names["result"]), names["open_shell"].ccsd_t(), delta=1e-10)
        self.assertTrue(0 < names["mixed"].error_bar < 1e-8)
        self.assertLess(abs(float(names["mixed"]) - names["e_t"]), 3 * names["mixed"].error_bar)
        cc = names["cc"]
        self.assertAlmostEqual(names["curves"]["CCSD(T)"][-1], cc.e_tot + cc.ccsd_t(eris=names["eris"]), delta=1e-10)
        # (T) is too large for the stretched bond, which the renormalised energy shows.
        self.assertGreater(names["curves"]["CR-CC(2,3)_D"][-1] - names["curves"]["CCSD(T)"][-1], 5e-3)
        self.assertEqual(len(names["renormalised"]), 4)
        self.assertLess(abs(names["found"].jac).max(), 1e-3)
        self.assertIn("largest force", printed.getvalue())


@contextlib.contextmanager
def working_in(folder):
    """Runs a block in a folder, as contextlib.chdir of Python 3.11."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    unittest.main()
