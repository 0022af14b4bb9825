"""The pages, the help of the program, its man page and its completions name the same options and values."""

import re
import shlex
import unittest
from pathlib import Path

from trifuse_program import ProgramTest, trifuse

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("run", "info", "plan", "convert", "bench", "selftest")
PAGES = [page for pattern in ("*.md", "*/docs/*.md", "drivers/site/*.md", "inputs/*/README.md", "inputs/*/*.sh", "inputs/*/*.py",
                              "drivers/python/trifuse/*.py", "drivers/pyscf_export/*.py", "drivers/container/*", ".github/*/*.yml")
         for page in sorted(ROOT.glob(pattern))]
# Options of other programs, which pages name beside ours.
FOREIGN = {"--target", "--preset", "--prefix", "--build", "--install", "--gtest_filter", "--shm-size", "--mem", "--requeue", "--mpi",
           "--map-by", "--bind-to", "--gpus-per-task", "--gpus-per-node", "--gpu-bind", "--cpu-bind", "--cpus-per-task", "--cpu", "--wrap",
           "--launch-count", "--version", "--gpu"}


def options_of(help_text):
    """Returns each option of a help text with its allowed values, or None if every value is allowed."""
    found = {}
    for match in re.finditer(r"^ +((?:-\w,)?--[\w-]+|-\w)(?: \w+(?::(?:\{([^}]*)\})?)?)?", help_text, re.MULTILINE):
        for name in match[1].split(","):
            found[name] = set(match[2].split(",")) if match[2] else None
    return found


def command_lines(text):
    """The command lines of a page that call a command of trifuse, each as its words from the command on. They stand in blocks of code, in
    inline code and in comments. A line that ends with a backslash goes on in the next one."""
    text = re.sub(r"\\\n\s*", " ", text)
    for match in re.finditer(rf"(?:\btrifuse(?:_program)?|quickstart\.sh) ((?:{'|'.join(COMMANDS)})\b[^`|\n;&]*)", text):
        line = re.sub(r"(^|\s)#.*", "", match[1])
        try:
            yield shlex.split(line)
        except ValueError:  # an apostrophe of prose
            yield line.split()


class Pages(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.options_of_command = {command: options_of(trifuse(command, "--help").out) for command in COMMANDS}

    def test_every_option_behind_a_command_is_one_of_its_options(self):
        known, lines = self.options_of_command, 0
        for page in PAGES:
            for command, *words in command_lines(page.read_text()):
                lines += 1
                for word, value in zip(words, words[1:] + [""]):
                    name = re.split(r"[=.,:)]", word)[0]
                    if not re.fullmatch(r"--?[a-z][\w-]*", name):
                        continue
                    with self.subTest(page=str(page.relative_to(ROOT)), command=command, option=name):
                        self.assertIn(name, known[command])
                        if known[command][name] and value:
                            self.assertIn(value.rstrip(".,:)"), known[command][name])
        self.assertGreater(lines, 60)

    def test_every_option_in_code_is_an_option_of_some_command(self):
        known = FOREIGN.union(*self.options_of_command.values())
        for page in PAGES:
            if page.suffix == ".md" and page.name != "CHANGELOG.md":
                for code in re.findall(r"`([^`\n]+)`", page.read_text()):
                    for name in re.findall(r"(?:^|\s)(--[a-z][\w-]*)", code):
                        with self.subTest(page=str(page.relative_to(ROOT)), code=code):
                            self.assertIn(name, known)

    def test_man_page_and_completions_have_the_options_and_values_of_the_help(self):
        man, bash, zsh = (self.succeed("describe", form).out for form in ("man", "bash", "zsh"))
        man = man.replace("\\-", "-")
        for command, options in self.options_of_command.items():
            section = man.split(f".SS trifuse {command}\n")[1].split("\n.S")[0]
            in_man = {name: line for line in re.findall(r"^\\fB(.*)$", section, re.MULTILINE)
                      for name in re.findall(r"(?:^| )(-[\w-]+)", line.split("\\fR")[0])}
            in_bash = re.search(rf"^    {command}\) options='([^']*)' ;;$", bash, re.MULTILINE)[1].split()
            in_zsh = re.findall(r"'(-[\w-]+)\[", re.search(rf"^    {command}\)\n(.*?);;$", zsh, re.MULTILINE | re.DOTALL)[1])
            with self.subTest(command):
                self.assertEqual(set(in_man), set(options))
                self.assertEqual(set(in_bash), set(options))
                self.assertEqual(set(in_zsh), set(options))
            for name, values in options.items():
                if values:
                    with self.subTest(command, option=name):
                        self.assertEqual(set(re.search(r"\{(.*)\}", in_man.get(name, "{}"))[1].split(",")), values)
        self.assertIn("Number of runs; the median is reported. Default: 3.", man)
        self.assertIn("\\fB--threads\\fR INT in [1 - 4096]\n", man)

    def test_the_version_is_the_same_everywhere(self):
        version = re.search(r"project\(trifuse VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        for page, pattern in (("drivers/conda/recipe.yaml", r'^  version: "(.*)"$'), ("CHANGELOG.md", r"^## \[([0-9.]+)\] - \d{4}-\d\d-\d\d$")):
            self.assertEqual(re.search(pattern, (ROOT / page).read_text(), re.MULTILINE)[1], version, page)
        self.assertIn(f"trifuse {version}\n", self.succeed("--version").out)

    def test_the_readme_is_one_page(self):
        lines = (ROOT / "README.md").read_text().splitlines()
        self.assertLessEqual(len(lines), 100)
        self.assertLessEqual(max(map(len, lines)), 120)


if __name__ == "__main__":
    unittest.main()
