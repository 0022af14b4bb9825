"""The pages, the help of the program, its man page and its completions name the same options and values. What pages name exists, and what
they say of `trifuse plan` is what it says."""

import json
import os
import re
import shlex
import subprocess
import unittest
from pathlib import Path

from trifuse_program import ProgramTest, trifuse

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("run", "info", "plan", "convert", "bench", "selftest")
PAGES = [page for pattern in ("*.md", "*/docs/*.md", "drivers/site/*.md", "inputs/README.md", "inputs/*/README.md", "inputs/*/*.sh", "inputs/*/*.py",
                              "drivers/python/trifuse/*.py", "drivers/pyscf_export/*.py", "drivers/container/*", ".github/*/*.yml")
         for page in sorted(ROOT.glob(pattern))]
# Options of other programs, which pages name beside ours.
FOREIGN = {"--target", "--preset", "--prefix", "--build", "--install", "--gtest_filter", "--shm-size", "--mem", "--requeue", "--mpi",
           "--map-by", "--bind-to", "--gpus-per-task", "--gpus-per-node", "--gpu-bind", "--cpu-bind", "--cpus-per-task", "--cpu", "--wrap",
           "--launch-count", "--version", "--oversubscribe"}


def options_of(help_text):
    """Returns each option of a help text with its allowed values, or None if every value is allowed."""
    found = {}
    for match in re.finditer(r"^ +((?:-\w,)?--[\w-]+(?:,--[\w-]+)*|-\w)(?: \w+(?::(?:\{([^}]*)\})?)?)?", help_text, re.MULTILINE):
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


def source_texts():
    """The texts of the files that are compiled, run or installed, each under its path in the repository."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in (".git", "build", "dist", "data", "__pycache__")]
        for name in names:
            path = Path(folder, name)
            if path.suffix in (".cpp", ".hpp", ".cu", ".cuh", ".h", ".F90", ".F", ".py", ".sh", ".cmake", ".in", ".yaml", ".list", ".txt"):
                yield str(path.relative_to(ROOT)), path.read_text()


class Pages(ProgramTest):
    def test_a_job_script_without_arguments_says_how_to_start_it(self):
        for script in sorted(ROOT.glob("inputs/cluster/*.sh")):
            for words, cpus in (([], {"SLURM_CPUS_PER_TASK": "4"}), (["c.h5"], {})):
                done = subprocess.run(["bash", script, *words], capture_output=True, text=True, cwd=self.folder,
                                      env={"PATH": os.environ["PATH"], **cpus})
                self.assertEqual((done.returncode, done.stdout), (2, ""), script)
                self.assertRegex(done.stderr, rf"^This is a job of Slurm; start it as `sbatch .*{script.name} \S+`, .*\.\n$")

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
        scripts = [ROOT / "drivers/pyscf_export/command.py", *ROOT.glob("inputs/*/*.py")]
        of_scripts = {name for path in scripts for name in re.findall(r'"(--[a-z][\w-]*)"', path.read_text())}
        self.assertLessEqual({"--basis", "--gpu"}, of_scripts)
        known = FOREIGN.union(of_scripts, *self.options_of_command.values())
        for page in PAGES:
            if page.suffix == ".md" and page.name != "CHANGELOG.md":
                for code in re.findall(r"`([^`\n]+)`", page.read_text()):
                    for name in re.findall(r"(?:^|\s)(--[a-z][\w-]*)", code):
                        with self.subTest(page=str(page.relative_to(ROOT)), code=code):
                            self.assertIn(name, known)

    def test_what_pages_name_in_code_exists(self):
        """Settings TRIFUSE_..., functions trifuse_..., files by their path in the repository, and presets of CMake."""
        names, lines = set(), 0
        for path, text in source_texts():
            if path != "tests/command_line/test_pages.py":
                names.update(re.findall(r"\b(?:TRIFUSE|trifuse)_\w+", text))
        presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
        for page in PAGES:
            if page.suffix != ".md" or page.name == "CHANGELOG.md":
                continue
            text = page.read_text()
            for code in re.findall(r"`([^`\n]+)`", text) + re.findall(r"```\w*\n(.*?)```", text, re.DOTALL):
                with self.subTest(page=str(page.relative_to(ROOT)), code=code):
                    for name in re.findall(r"\b(?:TRIFUSE|trifuse)_\w*\w(?!\w|\*)", code):
                        if not name.endswith("_"):
                            self.assertIn(name, names)
                    for path in re.findall(r"(?<![\w/.$~-])((?:cxx|drivers|fortran_iface|inputs|tce_tiles|tests)/[\w./-]*\w)", code):
                        self.assertTrue((ROOT / path).exists(), path)
                    for preset in re.findall(r"--preset (\w+)|\bbuild/(\w+)(?=/drivers|/tests|\s)", code):
                        self.assertIn(preset[0] or preset[1], presets)
                lines += 1
        self.assertGreater(lines, 1000)

    def test_predicted_numbers_are_those_of_the_program(self):
        def assert_rounded(text, number):
            digits = len(text.partition(".")[2])
            self.assertLessEqual(abs(float(text) - float(number)), 0.501 * 10**-digits, text)

        def plan(*arguments):
            """Seconds in all and of the tasks, GiB of a rank and of a GPU."""
            said = self.succeed("plan", *arguments).out
            times = re.search(r"^Time +([\d.]+) s: .* ([\d.]+) tasks", said, re.MULTILINE)
            peaks = re.search(r"peak: ([\d.]+) GiB of each rank with a GPU, ([\d.]+) GiB of each GPU", said)
            return times.groups() + peaks.groups()

        page = (ROOT / "drivers/docs/planning.md").read_text()
        rows = re.findall(r"^\| (\d+), (\d+), (\d+)(, mixed precision)?(?:, first [^|]*)? \|([^|]*\|[^|]*\|[^|]*\|[^|]*\|[^|]*\|[^|]*\|[^|]*)\|$", page,
                          re.MULTILINE)
        self.assertEqual(len(rows), 6)
        for occupied, virtual, factors, mixed, cells in rows:
            predicted = plan("--occupied", occupied, "--virtual", virtual, "--naux", factors, *(["--precision", "mixed"] if mixed else []))[1:]
            for number, cell in zip(predicted, (cells.split("|")[column].strip() for column in (1, 4, 6))):
                if cell:
                    with self.subTest(occupied=occupied, virtual=virtual, mixed=mixed):
                        assert_rounded(cell, number)
        command, *numbers = re.search(r"`trifuse (plan [^`]*)` predicts ([\d.]+) GiB and ([\d.]+) s \(([\d.]+) s in tasks",
                                      re.sub(r"\s+", " ", (ROOT / "inputs/density_fitting/README.md").read_text())).groups()
        seconds, of_tasks, _, gpu = plan(*command.split()[1:])
        for text, number in zip(numbers, (gpu, seconds, of_tasks)):
            assert_rounded(text, number)

    def test_man_page_and_completions_have_the_options_and_values_of_the_help(self):
        bash, zsh = (self.succeed("describe", form).out for form in ("bash", "zsh"))
        for command, options in self.options_of_command.items():
            man = self.succeed("describe", "man", command).out.replace("\\-", "-")
            in_man = {name: line for line in re.findall(r"^\\fB(.*)$", man, re.MULTILINE)
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
        man = self.succeed("describe", "man", "bench").out.replace("\\-", "-")
        self.assertIn("Number of runs; the median is reported. Default: 3.", man)
        self.assertIn("\\fB--threads\\fR INT in [1 - 4096]\n", man)

    def test_man_pages_have_examples_and_name_pages_that_exist(self):
        overview = self.succeed("describe", "man").out
        self.assertTrue(overview.startswith(".TH TRIFUSE 1"))
        for command in COMMANDS:
            man = self.succeed("describe", "man", command).out.replace("\\-", "-")
            with self.subTest(command):
                self.assertIn(f"\\fBtrifuse\\-{command}\\fR(1)", overview)
                self.assertIn(f".TH TRIFUSE-{command.upper()} 1 ", man)
                self.assertEqual(re.findall(r"^.+\.SH .*$", man + overview, re.MULTILINE), [])
                examples = re.search(r"^\.SH EXAMPLES\n\.nf\n(.*?)\n\.fi$", man, re.MULTILINE | re.DOTALL)[1].splitlines()
                for line in examples:
                    self.assertRegex(line, rf"^  (mpirun -n \d+ )?trifuse {command}\b")
                shown = trifuse(command, "--help").out
                for page in set(re.findall(r"\w+/docs/[\w-]+\.md", man)):
                    self.assertTrue((ROOT / page).exists(), page)
                    if page in shown:  # with the path under which it is on this machine
                        self.assertIn(f" {ROOT / page}", shown)
                self.assertIn("/docs/", shown)

    def test_only_commands_have_man_pages_of_their_own(self):
        for arguments in (["man", "nothing"], ["bash", "run"]):
            self.assert_one_sentence(trifuse("describe", *arguments), 2, "only as a man page")

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
