"""Code that the tests of the program share: running it, its dumps, and the check of a refusal."""

import functools
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib
from collections import namedtuple
from pathlib import Path

PROGRAM = os.path.abspath(os.environ["TRIFUSE"])
# One process of this program gives the bits that several processes of PROGRAM must give. The two differ in a build with another MPI.
ALONE = os.path.abspath(os.environ.get("TRIFUSE_ALONE", PROGRAM))
DATA = Path(os.environ.get("TRIFUSE_TEST_DATA", Path(__file__).resolve().parent.parent / "data")) / "nwchem"
CASES = json.loads((DATA / "expected.json").read_text())["cases"]
GOOD_CASES = [name for name, case in CASES.items() if "refuse" not in case]
BAD_CASES = [name for name, case in CASES.items() if "refuse" in case]

# Also on a busy machine, with the sanitizers.
TIME_LIMIT = 300
REFUSAL_TIME_LIMIT = 60

# Variables that depend on the launcher: the number of processes and the rank of each, as Open MPI, MPICH and Slurm set them; and variables
# with which Open MPI starts more processes than there are cores, and runs as root in a container. MPICH needs no such variables.
LAUNCHER_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")
LAUNCHED_VARIABLES = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                      "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_mpi_yield_when_idle": "1",
                      "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}

LOOKS_LIKE_AN_ENERGY = re.compile(r"-?\d*\.\d{6,}|\d[eE][-+]\d")
SANITIZER_COMPLAINT = re.compile(r"runtime error:|AddressSanitizer|LeakSanitizer|UndefinedBehavior")

Outcome = namedtuple("Outcome", "code out err")


@functools.lru_cache
def openblas_kernels():
    """The kernels of OpenBLAS that the program chooses, as a variable of the environment.

    With it the program need not start once more to have them, which takes half the time of many tests.
    """
    said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
    kernels = re.search(r"BLAS: OpenBLAS .*\((\w+) kernels\)", said)
    return {"OPENBLAS_CORETYPE": kernels.group(1)} if kernels else {}


def environment(**additions):
    """The environment of the tests without variables that an MPI launcher around them may have set."""
    variables = {name: value for name, value in os.environ.items() if name not in LAUNCHER_VARIABLES}
    return {**variables, **openblas_kernels(), **additions}


# Folders of tests with made-up molecules, for which no physical witness passes.
FOLDERS_OF_MADE_UP_MOLECULES = set()


def command(*arguments, program=PROGRAM, trust=True):
    """`trust`: go on after the witnesses that fail for molecules that do not exist."""
    words = [str(argument) for argument in arguments]
    made_up = any(word.startswith(folder) for word in words for folder in FOLDERS_OF_MADE_UP_MOLECULES)
    trusted = trust and made_up and words[0] in ("run", "convert", "info")
    return [program, *words, *(["--trust-input"] if trusted else [])]


def trifuse(*arguments, program=PROGRAM, limit=TIME_LIMIT, env=None, trust=True, **options):
    """Runs the program to its end. A negative code is the signal that ended it."""
    process = subprocess.run(command(*arguments, program=program, trust=trust), stdin=subprocess.DEVNULL, stdout=options.pop("stdout", subprocess.PIPE),
                             stderr=subprocess.PIPE, text=True, errors="replace", timeout=limit,
                             env=env or environment(), **options)
    return checked(Outcome(process.returncode, process.stdout, process.stderr))


@functools.lru_cache
def has_mpi():
    """True if the tested program has MPI."""
    return re.search(r"\bMPI yes\b", trifuse("--version").out) is not None


@functools.lru_cache
def expect_to_start_processes(launcher):
    # The processes must not end at once, because MPICH's launcher sometimes fails if it cannot send them a message.
    trial = subprocess.run([launcher, "-n", "2", "sleep", "0.3"], env=environment(**LAUNCHED_VARIABLES), stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=REFUSAL_TIME_LIMIT)
    if trial.returncode != 0:
        raise AssertionError(f"{launcher} cannot start two processes here: {trial.returncode}\n{trial.stdout}{trial.stderr}")


def launched(*ranks):
    """Command line and environment that start several processes, given as (number, arguments of trifuse) one after another.

    SkipTest where there is no launcher.
    """
    launcher = os.environ.get("TRIFUSE_MPIEXEC") or shutil.which("mpirun")
    if not launcher:
        raise unittest.SkipTest("there is no MPI launcher here")
    variables = environment(**LAUNCHED_VARIABLES, OPENBLAS_NUM_THREADS="1")
    if sanitized():
        variables["ASAN_OPTIONS"] = "detect_leaks=0"  # MPI keeps what it allocates
    elif "OPENBLAS_CORETYPE" not in os.environ:
        variables.pop("OPENBLAS_CORETYPE", None)  # ranks may start once more, too
    expect_to_start_processes(launcher)
    line = [launcher]
    for number, arguments in ranks:
        line += [*([":"] if len(line) > 1 else []), "-n", str(number), *command(*arguments)]
    return line, variables


def mpirun(*ranks, limit=TIME_LIMIT, additions=None):
    """Runs `launched` ranks to their end, with `additions` to their environment. What the launcher itself says of an exit code is left out
    of the outcome."""
    line, variables = launched(*ranks)
    process = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=limit,
                             env={**variables, **(additions or {})})
    return checked(Outcome(process.returncode, process.stdout, without_launcher(process.stderr)))


def without_launcher(text):
    """Removes Open MPI's own messages, which stand between lines of dashes."""
    return re.sub(r"-{50,}\n.*?-{50,}\n", "", text, flags=re.DOTALL)


def trifuse_under_file_limit(kilobytes, *arguments):
    """Files cannot grow beyond the limit, as on a full disk. The signal of this limit has its default handler, as in a shell."""
    def limit_file_sizes():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * kilobytes, 1024 * kilobytes))

    return trifuse(*arguments, preexec_fn=limit_file_sizes)


def trifuse_as_nobody(*arguments):
    """Runs the program without the superuser's right to read everything. Raises SkipTest if the user nobody may not run it."""
    if os.geteuid() != 0:
        return trifuse(*arguments)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    try:
        subprocess.run(command("--version"), check=True, capture_output=True, **nobody)
    except (OSError, subprocess.CalledProcessError) as error:
        raise unittest.SkipTest(f"the program cannot be run without the superuser's rights: {error}") from error
    return trifuse(*arguments, **nobody)


def checked(outcome):
    if SANITIZER_COMPLAINT.search(outcome.err):
        raise AssertionError(f"A sanitizer complains:\n{outcome.err}")
    return outcome


@functools.lru_cache
def sanitized():
    """True if the program was built with the address sanitizer. Then the options of the sanitizer have an effect."""
    return "AddressSanitizer" in subprocess.run(command("--version"), env=environment(ASAN_OPTIONS="help=1"),
                                                capture_output=True, text=True).stderr


def repeated():
    """True if another build runs the same tests in full: this build has the sanitizers, or another MPI."""
    return sanitized() or ALONE != PROGRAM


def pairs(first, second):
    """Each of `first` with each of `second`, of which there are at least three. With the sanitizers a third of these pairs, in which each of
    both stands: all pairs run the same code, and that is what the sanitizers check."""
    second = list(second)
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            if not sanitized() or (i + j) % 3 == 0:
                yield one, other


def preloading(library):
    """Variables of the environment with which the program loads `library` before all other libraries."""
    variables = {"LD_PRELOAD": library}
    if sanitized():
        variables["ASAN_OPTIONS"] = "verify_asan_link_order=0:detect_leaks=0"
    return variables


def read_report(path, **options):
    return json.loads(Path(path).read_text(), **options)


def energies_as_text(path):
    """The energies of a report with every digit that the program wrote, so that equal means equal to the bit."""
    return json.dumps(read_report(path, parse_float=str)["energies"], indent=1)


def read_doubles(path):
    """The numbers of one of NWChem's numbered files behind their header (number of files, numbers in this one)."""
    content = Path(path).read_bytes()
    files, count = struct.unpack_from("<qq", content)
    assert files == 1 and len(content) == 16 + 8 * count
    return list(struct.unpack_from(f"<{count}d", content, 16))


def write_doubles(path, values):
    Path(path).write_bytes(struct.pack("<qq", 1, len(values)) + struct.pack(f"<{len(values)}d", *values))


def resealed(sound, damaged, places):
    """The bytes of a dump of which some numbers were changed, with checksums that agree: only other checks can notice it.

    `places`: (first byte, bytes) of its arrays.
    """
    block = 8 * 1024
    for begin, size in places:
        for at in range(begin, begin + size, block):
            part = slice(at, min(at + block, begin + size))
            if sound[part] == damaged[part]:
                continue
            old, new = (struct.pack("<I", zlib.crc32(content[part])) for content in (sound, damaged))
            assert damaged.count(old) == 1
            damaged = damaged.replace(old, new)
    return damaged


class ProgramTest(unittest.TestCase):
    """Each test gets an empty folder of its own that all users may read."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="trifuse_test_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)

    def copy_of(self, case, name="dump"):
        """A writable copy of a bundled dump; its prefix is the result / "c"."""
        copy = self.folder / name
        shutil.copytree(DATA / case, copy, copy_function=shutil.copyfile)
        return copy

    def succeed(self, *arguments, **options):
        outcome = trifuse(*arguments, **options)
        self.assertEqual((outcome.code, outcome.err), (0, ""), f"{arguments}")
        return outcome

    def report_of(self, *arguments, name="report.json", **options):
        """The JSON report of a run that says nothing on the terminal."""
        path = self.folder / name
        outcome = self.succeed("run", *arguments, "--quiet", "--json", path, **options)
        self.assertEqual(outcome.out, "")
        return read_report(path)

    def energies_of(self, *arguments):
        """{omega2: (E[T], E(T))}"""
        return {entry["omega2"]: (entry["E[T]"], entry["E(T)"]) for entry in self.report_of(*arguments)["energies"]}

    def convert(self, source, name="dump.h5", *options):
        target = self.folder / name
        self.succeed("convert", source, target, "--quiet", *options)
        return target

    def assert_close(self, found, expected, tolerance):
        """Energies as `energies_of` gives them."""
        self.assertEqual(found.keys(), expected.keys())
        for omega2, pair in expected.items():
            for x, y in zip(found[omega2], pair, strict=True):
                self.assertLessEqual(abs(x - y), tolerance, f"omega2 {omega2}: {found[omega2]} and {pair}")

    def assert_one_sentence(self, outcome, code, *parts):
        self.assertEqual(outcome.code, code, outcome)
        self.assertRegex(outcome.err, r"\Atrifuse: [^\n]+\n\Z")
        for part in parts:
            self.assertIn(str(part), outcome.err)

    def assert_refused(self, *arguments, naming, code=1, **options):
        """One sentence that names the file, an exit code, and nothing that could be taken for an energy."""
        arguments = arguments if arguments[0] in ("run", "info", "convert") else ("run", *arguments)
        outcome = trifuse(*arguments, limit=REFUSAL_TIME_LIMIT, **options)
        self.assert_one_sentence(outcome, code, naming)
        self.assertIsNone(LOOKS_LIKE_AN_ENERGY.search(outcome.out), outcome.out)
        return outcome

    def assert_nothing_but(self, *names):
        """There is no partial or temporary file in the folder of the test."""
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), sorted(names))
