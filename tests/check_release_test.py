"""drivers/release/release.py, in a copy of the files that it reads and writes; and the papers of CITATION.cff."""

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = ("CMakeLists.txt", "CITATION.cff", "CHANGELOG.md", "pyproject.toml", "drivers/conda/recipe.yaml", "drivers/release/release.py")


class Release(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        for name in FILES:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        changes = self.root / "CHANGELOG.md"
        if "## [Unreleased]" not in changes.read_text():
            new = "\n## [Unreleased]\n\n- See [a page](drivers/docs/running.md#environment).\n\n## ["
            changes.write_text(changes.read_text().replace("\n## [", new, 1))

    def run_script(self, *arguments):
        script = self.root / "drivers/release/release.py"
        return subprocess.run([sys.executable, "-B", script, *arguments], capture_output=True, text=True)

    def refuse(self, saying, *arguments):
        done = self.run_script(*arguments)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, saying)

    def succeed(self, *arguments):
        done = self.run_script(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def change(self, name, old, new):
        text = (self.root / name).read_text()
        self.assertIn(old, text)
        (self.root / name).write_text(text.replace(old, new, 1))

    def test_all_places_have_one_version(self):
        done = subprocess.run([sys.executable, "-B", ROOT / "drivers/release/release.py", "check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_version_is_written_everywhere(self):
        self.refuse("belong to no version|The tag is", "check", "v9.8.7")
        self.succeed("prepare", "9.8.7", "2031-02-03")
        self.succeed("check", "v9.8.7")
        for name, line in (("CMakeLists.txt", "project(trifuse VERSION 9.8.7 "), ("CITATION.cff", 'date-released: "2031-02-03"'),
                           ("CHANGELOG.md", "## [9.8.7] - 2031-02-03"), ("drivers/conda/recipe.yaml", '  version: "9.8.7"')):
            self.assertIn(line, (self.root / name).read_text())
        self.refuse("nothing to release", "prepare", "9.8.8", "2031-02-04")
        self.refuse("The tag is v9.8.8, but the version is 9.8.7", "check", "v9.8.8")
        self.change("CITATION.cff", "version: 9.8.7", "version: 9.8.6")
        self.refuse("CITATION.cff has the version 9.8.6", "check")

    def test_a_wrong_version_or_date_is_refused(self):
        self.refuse("write a version", "prepare", "9.8", "2031-02-03")
        self.refuse("write a version", "prepare", "9.8.7", "today")
        self.refuse("release.py prepare VERSION DATE", "publish")

    def test_notes_are_those_of_the_version_with_whole_links(self):
        self.succeed("prepare", "9.8.7", "2031-02-03")
        notes = self.succeed("notes", "https://example.org/trifuse")
        self.assertNotIn("## [", notes)
        for target in re.findall(r"\]\(([^)]*)\)", notes):
            self.assertTrue(target.startswith("https://"), target)
        self.assertIn("](https://example.org/trifuse/blob/v9.8.7/drivers/docs/", notes)
        # The links lead to pages that exist.
        for page in set(re.findall(r"blob/v9\.8\.7/([^)#]+)", notes)):
            self.assertTrue((ROOT / page).exists(), page)

    def test_the_address_is_written_once(self):
        for _ in range(2):
            self.succeed("address", "https://example.org/trifuse")
        package, citation = (self.root / "pyproject.toml").read_text(), (self.root / "CITATION.cff").read_text()
        self.assertEqual(package.count('Source = "https://example.org/trifuse"'), 1)
        self.assertEqual(citation.count('repository-code: "https://example.org/trifuse"'), 1)
        self.refuse("begins with https", "address", "git@example.org:trifuse")

    def test_assets_have_the_sources_and_checksums_of_all_files(self):
        commit = ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x"]
        for command in (["init", "-q"], ["add", "-A"], commit):
            subprocess.run(["git", "-C", self.root, *command], check=True)
        folder = self.root / "dist"
        folder.mkdir()
        (folder / "some.whl").write_text("a wheel")
        version = re.search(r"trifuse VERSION ([\d.]+)", (self.root / "CMakeLists.txt").read_text())[1]
        self.succeed("assets", str(folder))
        sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(set(sums), {"some.whl", f"trifuse-{version}.tar.gz"})
        for name, digest in sums.items():
            self.assertEqual(hashlib.sha256((folder / name).read_bytes()).hexdigest(), digest)
        with tarfile.open(folder / f"trifuse-{version}.tar.gz") as archive:
            self.assertIn(f"trifuse-{version}/CMakeLists.txt", archive.getnames())

    def test_the_papers_of_the_methods_are_cited(self):
        citation = (ROOT / "CITATION.cff").read_text()
        formulas = (ROOT / "drivers/docs/methods.md").read_text().split("## Formulas")[1]
        papers = re.findall(r"\[(10\.\d{4}/\S+?)\]\(https://doi", formulas)
        self.assertGreaterEqual(len(papers), 10)
        for paper in papers:
            self.assertIn(f"doi: {paper}\n", citation)
        self.assertEqual(citation.count("- type: article"), citation.count("    doi: "))


if __name__ == "__main__":
    unittest.main()
