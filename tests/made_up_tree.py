"""For tests of the scripts that check the sources: made-up trees of sources."""

import pathlib
import tempfile
import unittest


class MadeUpTreeTest(unittest.TestCase):
    def checked(self, check, tree):
        """The result of `check` for a folder with the files of `tree`, which maps paths to texts."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in tree.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return check(root)

    def expect(self, problems, *words):
        """There is one problem, and its sentence contains the words."""
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])
