#!/usr/bin/env python3
"""The scripts of inputs/papers in small, on cores, and what they read of the program's reports on a GPU. What the page of the papers
says is what they print of the stored results."""

import contextlib
import importlib
import importlib.util
import io
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAPERS = ROOT / "inputs" / "papers"
sys.dont_write_bytecode = True  # the scripts of inputs/ are imported
sys.path.append(str(PAPERS))
# Arguments with which a script shows the results that are stored.
STORED = {name: ("--read", PAPERS / f"{name}.json") for name in ("kim2018", "kim2019", "herault2021", "abdelfattah2016")} | {
    "ma2011": ("--stored",)}


def printed_by(name, *arguments):
    """What a script prints."""
    with contextlib.redirect_stdout(io.StringIO()) as text, unittest.mock.patch("sys.argv", [name, *map(str, arguments)]):
        importlib.import_module(name).main()
    return text.getvalue()


def rows_of(text):
    """The cells of all rows of tables, without heads."""
    lines = text.splitlines()
    return [[cell.strip() for cell in line[1:-1].split("|")] for n, line in enumerate(lines)
            if line.startswith("|") and not line.startswith("|---") and not (lines + [""])[n + 1].startswith("|---")]


class Papers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_symmetrised_products_are_those_of_the_equations(self):
        """One target from the 18 products, and from the antisymmetrised products of antisymmetric amplitudes and integrals."""
        kim2018 = importlib.import_module("kim2018")
        o, v = 3, 4
        numbers = np.random.default_rng(3)

        def antisymmetric(shape, first):
            x = numbers.uniform(-1, 1, shape)
            return x - np.swapaxes(x, first, first + 1)

        t_l, v_l = antisymmetric((o, v, v, o), 1), antisymmetric((o, o, v, o), 0)  # t2[l,a,b,i], integrals [j,k,c,l]
        t_d, v_d = antisymmetric((v, v, o, o), 2), antisymmetric((v, o, v, v), 2)  # t2[d,a,i,j], integrals [d,k,b,c]
        task = kim2018.Task((o, o, o, v, v, v), (o, v))
        task.products = [(t2, v2, sign, *((t_l, v_l) if t2[0] == "l" else (t_d, v_d))) for t2, v2, sign, _, _ in task.products]
        self.assertEqual(len(task.products), 18)
        task.seconds()
        whole = -np.einsum("labi,jkcl->ijkabc", t_l, v_l) + np.einsum("daij,dkbc->ijkabc", t_d, v_d)
        expected = np.zeros_like(whole)
        signs = {(0, 1, 2): 1, (1, 2, 0): 1, (2, 0, 1): 1, (1, 0, 2): -1, (0, 2, 1): -1, (2, 1, 0): -1}
        for holes, sign in signs.items():
            for particles, other in signs.items():
                expected += 0.25 * sign * other * whole.transpose(*holes, *(3 + p for p in particles))
        self.assertLess(abs(task.target - expected).max(), 1e-13)
        self.assertLess(task.error(), 1e-15)
        task.target[...] *= 1 + 1e-9
        self.assertGreater(task.error(), 1e-12)

    def test_the_sizes_of_table_2_on_cores(self):
        rows = rows_of(printed_by("kim2018", "--share", 0.25, "--repeats", 1))
        self.assertEqual([row[:3] for row in rows][:2], [["A", "4, 4, 4, 4, 4, 4", "4 + 4"], ["B", "16, 4, 4, 4, 4, 4", "4 + 4"]])
        self.assertEqual(len(rows), 5)
        for row in rows:
            self.assertGreater(float(row[3]), 0)
            self.assertLess(float(row[6]), 1e-14)

    def test_the_sizes_of_table_2_are_those_of_the_program(self):
        sizes = importlib.import_module("kim2018").SIZES
        source = (ROOT / "cxx/cuda/runtime/kernel_bench.cu").read_text(encoding="utf-8")
        found = {name: ([int(extent)] * 6, int(contracted))
                 for name, extent, contracted in re.findall(r'equal\("S-(\w)[^"]*", (\d+), (\d+)\)', source)}
        for name, extents, contracted in re.findall(r'push_back\(\{"S-(\w)[^"]*", \{([\d, ]+)\}, (\d+)\}\)', source):
            particles_first = [int(n) for n in extents.split(",")]
            found[name] = (particles_first[3:] + particles_first[:3], int(contracted))
        self.assertEqual(found, {name: (list(target), sum(contracted)) for name, (target, contracted) in sizes.items()})

    def test_kernels_beside_those_of_others(self):
        kernels = [{"task": f"S-{name} x", "seconds": [2e-3, 1e-3, 9.0], "operations": 5e10, "dgemm_8192_flops_per_second": 5e13,
                    "matrix_instruction_flops_per_second": 6.25e13} for name in "ABCDE"] + [{"task": "T=16 4x16+16x16"}]
        output = self.folder / "x.json"
        with unittest.mock.patch("measuring.bench", return_value={"kernels": kernels}):
            rows = rows_of(printed_by("kim2018", "--gpu", "-o", output))
        self.assertEqual(rows[0], ["A", "16, 16, 16, 16, 16, 16", "16 + 16", "2.000", "25.0 TF/s", "0.50", "0.40", "0.22", "0.16", "0.01"])
        self.assertEqual(rows_of(printed_by("kim2018", "--read", output)), rows)

    def test_the_48_contractions_and_batches_on_cores(self):
        rows = rows_of(printed_by("kim2019", "--share", 0.001, "--repeats", 1))
        self.assertEqual([row[1] for row in rows], ["8", "3", "19", "18", "48"])
        # Medians: some of these batches take 3 microseconds, and one disturbance of a single run would round a share to 0.
        rows = rows_of(printed_by("abdelfattah2016", "--products", 200, "--repeats", 3))
        self.assertEqual([row[0] for row in rows], ["2", "4", "8", "16", "24", "32"])
        self.assertGreater(min(float(row[column]) for row in rows for column in (2, 3, 5, 6)), 0)

    def test_panels_from_factors_and_blocks_of_symmetry(self):
        output, herault2021 = self.folder / "x.json", importlib.import_module("herault2021")
        with unittest.mock.patch.object(herault2021, "ON_CORES", herault2021.ON_CORES[1:]):
            printed_by("herault2021", "--repeats", 1, "-o", output)
        report = json.loads(output.read_text(encoding="utf-8"))
        self.assertEqual([(case["naux"], case["irreps"]) for case in report["cases"]], [(100, 1), (None, 8), (200, 8)])
        for case in report["cases"]:
            o, v = case["occupied"], case["virtual"]
            self.assertAlmostEqual(2 * o**3 * v**3 * (o + v) / case["measured"]["operations"], case["irreps"]**2, delta=0.15)
        dense, sparse = report["energies"]
        self.assertEqual((dense["zeros in t2"], sparse["zeros in t2"]), (0, 1 - 1 / 8))
        for each in report["energies"]:
            self.assertLess(each["E(T), factors"], -1e-4)
            self.assertAlmostEqual(each["E(T), factors"] / each["E(T), stored"], 1, delta=1e-12)

    def test_what_is_read_of_a_run_on_a_gpu(self):
        herault2021 = importlib.import_module("herault2021")
        cuda = {"peak_bytes": 2**30, "bytes_sent": 2**31, "bytes_made_from_factors": 2**32, "seconds": {"kernels": 3.0, "copies": 1.0}}
        source = (ROOT / "cxx/report/device_report.cpp").read_text(encoding="utf-8")
        for name in (*cuda, *cuda["seconds"]):
            self.assertIn(f'{{"{name}"', source)
        result = {"tasks": 7, "operations": 1e9, "seconds": [2.0, 2.0], "load_seconds": 0.5, "cuda": cuda}
        with unittest.mock.patch("measuring.bench", return_value={"results": [result]}) as bench:
            found = herault2021.measured(herault2021.Case(4, 9, 20, memory="1GiB"), True, 2)
        self.assertEqual(found, {"tasks": 7, "operations": 1e9, "seconds": 2.0, "load_seconds": 0.5, "peak_bytes": 2**30, "bytes_sent": 2**30,
                                 "bytes_made": 2**31, "kernels": 0.75, "copies": 0.25})
        said = " ".join(map(str, bench.call_args[0]))
        self.assertIn("--factors 20 --memory 1GiB --repeats 2 --device cuda", said)

    def test_an_alkane_in_small(self):
        rows = rows_of(printed_by("ma2011", "--alphas"))
        self.assertEqual([row[0] for row in rows][:2], ["CCSD(T)", "CCSD(2)_T = CR-CC(2,3)_A"])
        self.assertEqual(rows[-1][:1], ["C2H6"])

    def test_what_is_started_for_a_gpu(self):
        """The three examples, which here only copy their stored results."""
        ma2011 = importlib.import_module("ma2011")
        started = []

        def run(command, **_):
            script, output = pathlib.Path(command[2]), pathlib.Path(command[-1])
            started.append((str(script.relative_to(ROOT / "inputs")), *command[3:-2]))
            self.assertTrue(script.exists() and command[-2] == "-o")
            output.write_bytes((ROOT / "inputs" / next(path for path in ma2011.STORED.values() if path.startswith(script.parent.name))).read_bytes())
            return unittest.mock.Mock(returncode=0)

        with unittest.mock.patch("ma2011.subprocess.run", run), unittest.mock.patch("measuring.machine", return_value="a GPU"):
            printed = printed_by("ma2011", "--gpu", "-o", self.folder / "x.json")
        self.assertEqual(started, [("methylfluoride/methods.py",), ("dodecane/stretch.py", "--gpu"), ("spiro/charge_transfer.py", "--gpu")])
        self.assertEqual(rows_of(printed), rows_of(printed_by("ma2011", "--stored")))

    def test_the_page_has_what_the_scripts_print_of_the_stored_results(self):
        page = (ROOT / "drivers" / "docs" / "papers.md").read_text(encoding="utf-8")
        printed = {name: printed_by(name, *arguments) for name, arguments in STORED.items()}
        *shares, last = [row[5] for row in rows_of(printed.pop("kim2018"))]
        self.assertIn(f"{', '.join(shares)} and {last} of DGEMM for A to E", page)
        for name, text in printed.items():
            rows = [row for row in rows_of(text) if name != "ma2011" or row[0] not in ("1.25", "1.625", "1.875", "2.125", "2.375")]
            self.assertGreater(len(rows), 4)
            for row in rows:
                self.assertIn("| " + " | ".join(row) + " |", page, name)

    def test_the_page_has_the_shares_of_other_kernels(self):
        kim2018 = importlib.import_module("kim2018")
        page = (ROOT / "drivers" / "docs" / "papers.md").read_text(encoding="utf-8")
        for size in "ABCDE":
            shares = " | ".join(f"{other[size] / kim2018.DGEMM_OF_OTHERS:.2f}" for other in kim2018.OTHERS.values())
            self.assertRegex(page, rf"(?m)^\| {size} \| [^|]* \| 0\.\d\d to 0\.\d\d \| {re.escape(shares)} \|$")

    def test_what_the_page_says_is_predicted(self):
        herault2021 = importlib.import_module("herault2021")
        with unittest.mock.patch.object(herault2021, "ON_GPU", herault2021.ON_GPU[:4]):
            rows = rows_of(printed_by("herault2021", "--plan"))
        self.assertEqual(len(rows), 4)
        page = (ROOT / "drivers" / "docs" / "papers.md").read_text(encoding="utf-8")
        for row in rows:
            self.assertIn("| " + " | ".join(row) + " |", page)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_pictures(self):
        for name, arguments in STORED.items():
            picture = self.folder / f"{name}.svg"
            printed_by(name, *arguments, "--picture", picture)
            self.assertIn("</svg>", picture.read_text(encoding="utf-8"))

    def test_results_of_another_paper_are_refused(self):
        with self.assertRaisesRegex(SystemExit, "kim2019.json has no results of Kim"):
            printed_by("kim2018", "--read", PAPERS / "kim2019.json")


if __name__ == "__main__":
    unittest.main()
