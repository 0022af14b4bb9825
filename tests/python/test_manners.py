#!/usr/bin/env python3
"""What Python users expect of names, formats, progress, options and the command."""

import logging
import math
import os
import pathlib
import re
import subprocess
import sys
import unittest
import unittest.mock
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pyscf.gto
import pyscf.scf

import trifuse
import trifuse.pyscf
import trifuse.plot
from trifuse._options import byte_count, capitalized

ROOT = pathlib.Path(__file__).resolve().parents[2]
NWCHEM = pathlib.Path(os.environ["TRIFUSE_TEST_DATA"], "nwchem")
CARBENE = NWCHEM / "ch2_631g_c2v_rohf_t3"


def pair(v=2):
    """A made-up electron pair, which has no triples."""
    return dict(eps_occ=[-0.5], eps_vir=np.arange(1.0, v + 1), t1=np.zeros((1, v)), t2=np.zeros((1, 1, v, v)),
                ovvv=np.zeros((1, v, v, v)), ovoo=np.zeros((1, v, 1, 1)), ovov=np.zeros((1, v, 1, v)),
                device="cpu", check=False)


def quiet(call, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trifuse.InputWarning)
        return call(*arguments, **options)


class Progress(unittest.TestCase):
    def test_no_total_is_zero(self):
        """Every quotient is a number: while the input is read, for a molecule without triples, and without a length."""
        for call in (lambda follow: trifuse.run(CARBENE, progress=follow),
                     lambda follow: trifuse.triples(**pair(), progress=follow),
                     lambda follow: trifuse.triples_many((pair() for _ in range(2)), progress=follow)):
            seen = []
            quiet(call, lambda done, total: seen.append((done / total, total)))
            self.assertTrue(seen)
            self.assertTrue(all(0 <= share <= 1 for share, _ in seen), seen)
        quiet(trifuse.run, CARBENE, progress=lambda done, total: seen.append((done / total, total)))
        self.assertTrue(math.isfinite(seen[-1][1]) and seen[-1][0] == 1, seen[-1])

    def test_false_of_numpy_ends_a_run(self):
        for call in (trifuse.triples, lambda **options: trifuse.triples_many([pair()], progress=options["progress"])):
            with self.assertRaises(trifuse.CancelledError):
                quiet(call, **pair(), progress=lambda done, total: np.False_)

    def test_a_log_that_fails_ends_no_run(self):
        class Failing(logging.Handler):
            def emit(self, record):
                raise OSError("no space")

        logger, handler = logging.getLogger("trifuse"), Failing()
        before = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            with self.assertWarnsRegex(RuntimeWarning, "no space"):
                energy = float(trifuse.run(CARBENE))
        finally:
            logger.removeHandler(handler)
            logger.setLevel(before)
        self.assertEqual(energy, float(quiet(trifuse.run, CARBENE)))

    def test_the_bar_has_no_infinite_total(self):
        class Bar(unittest.mock.Mock):
            n = 0
        bar, totals = Bar(), []
        bar.update.side_effect = lambda n: totals.append(bar.total)
        with unittest.mock.patch("trifuse._calculation.progress_bar", return_value=bar) as made:
            quiet(trifuse.run, CARBENE)
        self.assertEqual(made.call_args.kwargs["unit"], "F")
        self.assertIsNone(totals[0])
        self.assertGreater(totals[-1], 0)


class Names(unittest.TestCase):
    def test_energies_of_ccsd(self):
        result = quiet(trifuse.run, CARBENE)
        report = result.to_dict()
        self.assertEqual(result.ccsd_energy, report["ccsd_energy"])
        self.assertAlmostEqual(result.ccsd_energy - report["scf_energy"], result.ccsd_correlation_energy, 12)
        with self.assertWarnsRegex(DeprecationWarning, "ccsd_correlation_energy") as caught:
            self.assertEqual(result.e_ccsd, result.ccsd_correlation_energy)
        self.assertEqual(caught.filename, __file__)

    def test_rohf_has_a_name_that_fits_every_program(self):
        expected = quiet(trifuse.run, CARBENE, rohf="given")
        self.assertEqual(expected.to_dict()["settings"]["rohf"], "given")
        self.assertEqual(float(quiet(trifuse.run, CARBENE)), float(expected))
        for call in (lambda: trifuse.run(CARBENE, rohf="nwchem"), lambda: trifuse.triples_many([CARBENE], rohf="nwchem")[0]):
            with self.assertWarnsRegex(DeprecationWarning, 'rohf="given"') as caught:
                self.assertEqual(float(quiet(call)), float(expected))
            self.assertEqual(caught.filename, __file__)

    def test_sentences_do_not_change_names(self):
        for same in ("ovvv is complex; ...", "int is not a PySCF object; ...", "eris has no oovv; ...", "t1 is ..."):
            self.assertEqual(capitalized(same), same)
        self.assertEqual(capitalized("the SCF has no orbitals yet."), "The SCF has no orbitals yet.")
        with self.assertRaisesRegex(trifuse.UsageError, "^int is not a PySCF object"):
            trifuse.pyscf.solve_regularized_ccsd(5, 0.1)


class WrongObjects(unittest.TestCase):
    def test_properties_say_what_they_take(self):
        wrong = pyscf.scf.RHF(pyscf.gto.M(atom="He 0 0 0", verbose=0))
        for call in (trifuse.pyscf.Gradients, trifuse.pyscf.dip_moment, trifuse.pyscf.make_rdm1, trifuse.pyscf.solve_lambda):
            for each in (wrong, None, 5, pyscf):
                with self.assertRaisesRegex(trifuse.UsageError, "is not a PySCF coupled-cluster object; give a converged"):
                    call(each)


class Formats(unittest.TestCase):
    def test_a_result_has_the_formats_of_a_number(self):
        result = quiet(trifuse.run, CARBENE)
        self.assertEqual(f"{result:.8f} {result:12.3e}", f"{float(result):.8f} {float(result):12.3e}")
        self.assertEqual(f"{result}", str(result))
        with self.assertRaises(ValueError):
            f"{result:d}"


class Pictures(unittest.TestCase):
    def test_operations_have_the_unit_of_the_program(self):
        for number, text in ((0, "0 F"), (512, "512 F"), (12.5e9, "12.5 GF"), (1e12, "1 TF"), (3.76e19, "37.6 EF")):
            self.assertEqual(trifuse.plot._operations(number), text)


class Options(unittest.TestCase):
    def test_gpus_are_a_list(self):
        for wrong in (0, 1, True, False, [], "0", np.int64(0)):
            for call in (trifuse.triples, lambda **options: trifuse.triples_many([pair()], gpus=options["gpus"])):
                with self.assertRaisesRegex(trifuse.UsageError, r'^gpus is .* must be a list .*; device="cuda" takes'):
                    call(**{**pair(), "gpus": wrong})

    def test_gpus_of_cores_are_refused(self):
        with self.assertRaisesRegex(trifuse.UsageError, '^gpus names GPUs, but device="cpu" uses none; leave one of them out'):
            trifuse.triples(**{**pair(), "device": "cpu", "gpus": [0]})

    def test_memory_has_units_everywhere(self):
        self.assertEqual([byte_count("memory", each) for each in (5, "8GiB", "1.5 G", "2 MB")], [5, 8 << 30, 3 << 29, 2000000])
        for wrong in ("8 gigabytes", "8", "GiB", "1.2.3G", "9" * 400 + "G", 1.5, [1]):
            with self.assertRaisesRegex(trifuse.UsageError, "^memory is "):
                byte_count("memory", wrong)
        for memory in ("8GiB", 8 << 30):
            self.assertEqual(trifuse.plan(occupied=10, virtual=40, gpus=2, memory=memory).to_dict()["prediction"]["memory"],
                             trifuse.plan(occupied=10, virtual=40, gpus=2, memory="8 GiB").to_dict()["prediction"]["memory"])
        with self.assertRaisesRegex(trifuse.UsageError, '^memory is "4", which means 4 bytes; write a unit, for example 4GiB'):
            trifuse.triples(**pair(), memory=4)

    def test_numbers_of_a_plan(self):
        for name, wrong in (("gpus", [0, 1]), ("occupied", "ten"), ("nodes", 1.5), ("tile_size", None)):
            options = {"occupied": 10, "virtual": 40, name: wrong}
            if wrong is None:
                self.assertGreater(trifuse.plan(**options).seconds, 0)
                continue
            with self.assertRaisesRegex(trifuse.UsageError, f"^{name} is .* must be an integer"):
                trifuse.plan(**options)


class Command(unittest.TestCase):
    def test_the_module_is_the_program(self):
        done = subprocess.run([sys.executable, "-m", "trifuse", "--version"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout[:8], done.stderr), (0, "trifuse ", ""))
        done = subprocess.run([sys.executable, "-m", "trifuse", "runn"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'run'?", done.stderr)


class Page(unittest.TestCase):
    def test_it_has_every_member(self):
        text = (ROOT / "drivers" / "docs" / "python.md").read_text()
        members = [name for name in dir(trifuse.Result) if not name.startswith("_") and name not in ("extended", "e_ccsd")]
        members += [*trifuse.Energy._fields, *trifuse.Check._fields, "derivatives", "energies", "warnings", "checks"]
        for name in members:
            self.assertRegex(text, rf"`{name}(\(\))?`", name)
        for name in ("scaling", "timeline", "energies"):
            self.assertIn(f"plot.{name}(", text)
            self.assertTrue(hasattr(trifuse.plot, name))

    def test_extras_of_the_page_exist(self):
        extras = re.search(r"\[project.optional-dependencies\]\n((?:.+\n)+)", (ROOT / "pyproject.toml").read_text())[1]
        text = (ROOT / "drivers" / "docs" / "python.md").read_text()
        for name in re.findall(r"^(\w+) =", extras, re.MULTILINE):
            self.assertIn(f"`{name}`", text)
        self.assertIn("tqdm = ", extras)


if __name__ == "__main__":
    unittest.main()
