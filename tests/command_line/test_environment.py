"""Variables of the environment that the program does not follow."""

import unittest

from trifuse_program import DATA, ProgramTest, environment, has_mpi, mpirun, trifuse

WATER = DATA / "h2o_sto3g_c2v_rhf_two_tasks_t2" / "c"


class Environment(ProgramTest):
    def refuse(self, arguments, saying, **variables):
        with self.subTest(arguments=arguments, **variables):
            self.assert_one_sentence(trifuse(*arguments, env=environment(**variables)), 2, saying)

    def test_settings_of_other_doors_are_refused(self):
        for name, option in (("OMEGA2", "omega2"), ("PRECISION", "precision"), ("FORM", "form"), ("TILE_SIZE", "tile-size"),
                             ("TARGET_ERROR", "target-error"), ("MEMORY", "memory"), ("THREADS", "threads")):
            variable = "TRIFUSE_" + name
            self.refuse(["run", WATER], f"{variable} is set, but `trifuse run` does not follow it; give --{option}", **{variable: "1"})
        self.refuse(["plan", WATER], "`trifuse plan` has no such setting", TRIFUSE_OMEGA2="0.1")
        self.refuse(["info", WATER], "TRIFUSE_TILE_SIZE is set", TRIFUSE_TILE_SIZE="4")
        self.refuse(["bench"], "TRIFUSE_FORM is set", TRIFUSE_FORM="auto")
        self.refuse(["run", WATER], "did you mean TRIFUSE_OMEGA2?", TRIFUSE_OMEGA="0.1")

    def test_a_time_that_is_none_is_refused(self):
        self.refuse(["run", WATER], 'TRIFUSE_SILENCE_SECONDS is "x"; write a number of seconds', TRIFUSE_SILENCE_SECONDS="x")
        if has_mpi():
            outcome = mpirun((2, ("run", WATER)), additions={"TRIFUSE_SILENCE_SECONDS": "x"})
            self.assert_one_sentence(outcome, 2, "TRIFUSE_SILENCE_SECONDS")

    def test_other_variables_change_nothing(self):
        expected = self.succeed("run", WATER, "--quiet").out.splitlines()[0]
        outcome = trifuse("run", WATER, "--quiet", env=environment(TRIFUSE_ROOT="/opt", TRIFUSE_NWCHEM_DEVICE="cpu", TRIFUSE_SILENCE_SECONDS="9"))
        self.assertEqual((outcome.code, outcome.err, outcome.out.splitlines()[0]), (0, "", expected))


if __name__ == "__main__":
    unittest.main()
