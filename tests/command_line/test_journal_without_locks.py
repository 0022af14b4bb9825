"""A journal on a file system without locks is used, with a warning."""

import errno
import os
import unittest

from made_up_molecule import MadeUpMolecule
from trifuse_program import ProgramTest, energies_as_text, environment, has_mpi, mpirun, preloading, read_report, trifuse

WARNING = "has no locks (flock), so two runs could use it at the same time"


class JournalWithoutLocks(ProgramTest):
    def warnings(self):
        """The warnings about the journal. A made-up molecule has other warnings, too."""
        return [warning for warning in read_report(self.report)["warnings"] if "journal" in warning]

    def setUp(self):
        super().setUp()
        self.source = MadeUpMolecule(occupied=4, virtual=8).write(self.folder / "molecule")
        self.journal = self.folder / "journal"
        self.report = self.folder / "report.json"
        self.arguments = ("run", self.source, "--device", "cpu", "--tile-size", 2, "--threads", 1, "--json", self.report, "--journal",
                          self.journal)

    def variables(self, number):
        return {**preloading(os.environ["TRIFUSE_TEST_NO_LOCKS"]), "TRIFUSE_TEST_FLOCK_ERRNO": str(number)}

    def assert_warned(self, outcome):
        self.assertEqual(outcome.code, 0, outcome)
        self.assertEqual(outcome.err.count(WARNING), 1, outcome.err)
        self.assertRegex(outcome.err, rf"\Atrifuse: warning: [^\n]*{self.journal}[^\n]*\n\Z")
        warnings = self.warnings()
        self.assertEqual(len(warnings), 1)
        self.assertIn(WARNING, warnings[0])

    def test_it_works_with_a_warning_and_goes_on_to_the_same_bits(self):
        self.succeed(*self.arguments)
        energies = energies_as_text(self.report)
        for number in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            with self.subTest(errno.errorcode[number]):
                self.journal.unlink()
                self.assert_warned(trifuse(*self.arguments, env=environment(**self.variables(number))))
                self.assertEqual(energies_as_text(self.report), energies)
                with open(self.journal, "r+b") as journal:
                    journal.truncate(self.journal.stat().st_size // 2)
                self.assert_warned(trifuse(*self.arguments, env=environment(**self.variables(number))))
                self.assertEqual(energies_as_text(self.report), energies)
                self.assertGreater(read_report(self.report)["tasks"]["from_journal"], 0)

    def test_other_failures_are_none_of_this(self):
        outcome = trifuse(*self.arguments, env=environment(**self.variables(errno.EIO)))
        self.assert_one_sentence(outcome, 3, self.journal, "cannot be locked")

    def test_with_locks_there_is_no_warning(self):
        self.succeed(*self.arguments)
        self.assertEqual(self.warnings(), [])

    def test_ranks_warn_once(self):
        if not has_mpi():
            self.skipTest("this build has no MPI")
        for _ in range(2):
            self.assert_warned(mpirun((3, self.arguments), additions=self.variables(errno.ENOLCK)))


if __name__ == "__main__":
    unittest.main()
