"""The progress on a terminal fits into its width, and is removed at the end."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unittest

from trifuse_program import DATA, ProgramTest, TIME_LIMIT, command, environment

WATER = DATA / "h2o_ccpvdz_c2v_rhf_t8_2eorb" / "c"
CLEARED = "\r\033[K"


class Terminal(ProgramTest):
    def shown(self, widths, *arguments):
        """The successive texts in the line of progress. With each text the terminal changes to the next width."""
        ours, terminal = pty.openpty()

        def set_width(columns):
            fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        set_width(widths[0])
        process = subprocess.Popen(command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=terminal,
                                   env=environment())
        os.close(terminal)
        content = b""
        with os.fdopen(ours, "rb", buffering=0) as screen:
            try:
                while part := screen.read(4096):
                    content += part
                    set_width(widths[content.count(b"\r") % len(widths)])
            except OSError:  # the program has closed its end
                pass
        self.assertEqual(process.wait(TIME_LIMIT), 0, content)
        text = content.decode()
        self.assertTrue(text.startswith(CLEARED), text)
        self.assertTrue(text.endswith(CLEARED), text)
        texts = text.split(CLEARED)[1:-1]
        for each in texts:
            self.assertRegex(each, r"\A[ -~]+\Z")
            self.assertLess(len(each), max(widths))
        return texts

    def test_progress_of_a_run_fits_into_the_terminal(self):
        molecule = self.folder / "molecule.h5"
        self.succeed("bench", "--occupied", 6, "--virtual", 21, "--write", molecule)
        texts = self.shown([100, 42, 12], "run", molecule, "--trust-input", "--executor", "reference", "--threads", 1)
        for columns, form in ((100, r"\A\[#*\.*\] +\d+\.\d % +\d+ of \d+ tasks .*GF/s .*left\Z"),
                              (42, r"\A\[#*\.*\] +\d+\.\d % +\d[^/]*left\Z"), (12, r"\A +\d+\.\d %\Z")):
            self.assertTrue(any(len(text) < columns and re.match(form, text) for text in texts), (columns, texts))

    def test_a_plan_says_what_it_does(self):
        texts = self.shown([60], "plan", "--occupied", 4, "--virtual", 8, "--gpus", 2)
        for words in ("Listing about", "Predicting 2 GPUs", "Predicting 1 GPU, for the scaling to 2 GPUs"):
            self.assertTrue(any(text.startswith(words) for text in texts), texts)
        self.assertTrue(all(re.match("[A-Z]", text) for text in texts), texts)
        self.assertTrue(self.shown([10], "plan", "--occupied", 4, "--virtual", 8, "--gpus", 2))


if __name__ == "__main__":
    unittest.main()
