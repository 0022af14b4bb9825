"""If OpenBLAS does not know the processor, the program restarts itself with suitable kernels."""

import os
import re
import unittest
from pathlib import Path

from trifuse_program import DATA, ProgramTest, environment, preloading, trifuse

WATER = DATA / "h2o_631g_c1_rhf_t5_2eorb" / "c"


def kernels_of_this_processor():
    lines = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")]
    flags = set(lines[0].split()) if lines else set()
    if {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        return "SkylakeX"
    return "Haswell" if {"avx2", "fma"} <= flags else None


class OpenBlasThatIsTooOld(ProgramTest):
    def setUp(self):
        super().setUp()
        self.expected = kernels_of_this_processor()
        if "BLAS: OpenBLAS" not in trifuse("--version").out or self.expected is None:
            self.skipTest("there is no OpenBLAS here, or a processor for which it has nothing better")
        self.variables = environment(**preloading(os.environ["TRIFUSE_TEST_PLAIN_OPENBLAS"]))
        self.variables.pop("OPENBLAS_CORETYPE", None)

    def kernels(self, **variables):
        return re.search(r"BLAS: .* \((\w+) kernels\)", trifuse("--version", env={**self.variables, **variables}).out).group(1)

    def test_the_program_takes_what_the_processor_can_do(self):
        self.assertEqual(self.kernels(), self.expected)

    def test_a_choice_of_the_user_stands(self):
        self.assertEqual(self.kernels(OPENBLAS_CORETYPE="Prescott"), "Prescott")

    def test_arguments_and_exit_codes_stay_what_they_are(self):
        outcome = trifuse("run", self.folder / "not there", "--quiet", env=self.variables)
        self.assert_one_sentence(outcome, 1, self.folder / "not there")
        path = self.folder / "with blanks in it.json"
        self.succeed("run", WATER, "--device", "cpu", "--quiet", "--json", path, env=self.variables)
        self.assertTrue(path.exists())


if __name__ == "__main__":
    unittest.main()
