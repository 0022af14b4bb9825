"""A launcher that the MPI of the program does not know starts it several times. Each process would then do all of the work."""

import unittest

from trifuse_program import DATA, LAUNCHER_VARIABLES, ProgramTest, energies_as_text, environment, has_mpi, mpirun, trifuse

WATER = DATA / "h2o_631g_c1_rhf_t5_2eorb" / "c"


class Launchers(ProgramTest):
    def test_several_copies_are_refused(self):
        report, dump = self.folder / "report.json", self.folder / "dump.h5"
        for variable in LAUNCHER_VARIABLES:
            for number in ("2", "64"):
                for arguments in (["run", WATER, "--json", report], ["convert", WATER, dump], ["info", WATER]):
                    with self.subTest(variable=variable, number=number, arguments=arguments):
                        # After it has been initialised, MPI does not free its memory.
                        variables = environment(**{variable: number, "ASAN_OPTIONS": "detect_leaks=0"})
                        outcome = trifuse(*arguments, env=variables)
                        self.assert_one_sentence(outcome, 2, variable, f"started {number} times", "--threads")
                        self.assertEqual(outcome.out, "")
        self.assert_nothing_but()

    def test_one_copy_works(self):
        self.report_of(WATER)
        report = self.folder / "report.json"
        alone = energies_as_text(report)
        for variable in LAUNCHER_VARIABLES:
            for number in ("1", ""):
                report.unlink()
                self.succeed("run", WATER, "--quiet", "--json", report, env=environment(**{variable: number}))
                self.assertEqual(energies_as_text(report), alone)

    def test_a_real_launcher_is_noticed(self):
        # test_several_processes.py tests several processes of a build with MPI.
        several = mpirun((2, ("info" if has_mpi() else "run", WATER)))
        self.assertEqual(several.code, 2, several)
        self.assertIn("trifuse: This program was started 2 times", several.err)
        self.assertEqual(several.out, "")
        one = mpirun((1, ("run", WATER)))
        self.assertEqual((one.code, one.err), (0, ""))
        self.assertIn("CCSD(T)", one.out)


if __name__ == "__main__":
    unittest.main()
