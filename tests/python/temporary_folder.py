"""A test case with a folder of its own, which is removed afterwards."""

import os
import tempfile
import unittest


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name="dump.h5"):
        return os.path.join(self.folder, name)
