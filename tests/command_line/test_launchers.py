"""Started several times by an MPI or Slurm launcher, the program would do everything as many times."""

import shutil
import subprocess
import unittest

from trifuse_program import DATA, LAUNCHER_VARIABLES, TIME_LIMIT, ProgramTest, command, energies_as_text, environment, trifuse

WATER = DATA / "h2o_631g_c1_rhf_t5_2eorb" / "c"


class Launchers(ProgramTest):
    def test_several_copies_are_refused(self):
        report, dump = self.folder / "report.json", self.folder / "dump.h5"
        for variable in LAUNCHER_VARIABLES:
            for number in ("2", "64"):
                for arguments in (["run", WATER, "--json", report], ["convert", WATER, dump], ["info", WATER]):
                    with self.subTest(variable=variable, number=number, arguments=arguments):
                        outcome = trifuse(*arguments, env=environment(**{variable: number}))
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

    @unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
    def test_a_real_launcher_is_noticed(self):
        launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np"]
        variables = environment(OMPI_MCA_btl_vader_single_copy_mechanism="none")
        if subprocess.run([*launch, "2", "true"], env=variables, capture_output=True, timeout=TIME_LIMIT).returncode != 0:
            self.skipTest("mpirun cannot start two processes here")

        def run(number):
            return subprocess.run([*launch, number, *command("run", WATER)], env=variables, capture_output=True, text=True,
                                  timeout=TIME_LIMIT)

        several = run("2")
        self.assertEqual(several.returncode, 2, several)
        self.assertIn("trifuse: This program was started 2 times", several.stderr)
        self.assertEqual(several.stdout, "")
        one = run("1")
        self.assertEqual(one.returncode, 0, one)
        self.assertIn("CCSD(T)", one.stdout)


if __name__ == "__main__":
    unittest.main()
