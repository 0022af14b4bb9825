#!/usr/bin/env python3
"""drivers/python/repair_wheel.py makes a wheel that takes no library from this machine but those of every Linux.

The wheel holds the library and the program of this build. drivers/python/wheel.sh compiles those of a release instead,
and tests/python/clean_root.sh tries a wheel in fresh systems.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VARIABLES = {name: value for name, value in os.environ.items()
             if not name.startswith(("TRIFUSE", "PYTHON", "LD_", "OPENBLAS_CORETYPE"))}
# Libraries that the rules of manylinux let a wheel expect, and those of the dynamic loader.
OF_EVERY_LINUX = {"libc", "libm", "libdl", "libpthread", "librt", "libresolv", "libutil", "libstdc++", "libgcc_s", "libz",
                  "ld-linux-x86-64", "linux-vdso"}
OF_TRIFUSE = {"libtrifuse", "libopenblas", "libhdf5", "libhdf5_serial", "libxxhash", "libfmt", "libgomp"}


def stem(library):
    return re.split(r"\.so|-[0-9a-f]{8}", library)[0]


def make_raw_wheel(folder):
    """A wheel of the package as pip makes it, of the library and the program of this build. A release has no debugging symbols."""
    package, information = folder / "trifuse", folder / "trifuse-0.1.0.dist-info"
    shutil.copytree(ROOT / "drivers" / "python" / "trifuse", package, ignore=shutil.ignore_patterns("__pycache__"))
    for variable, target in (("TRIFUSE_LIBRARY", "lib/libtrifuse.so"), ("TRIFUSE_WITHOUT_MPI", "bin/trifuse")):
        (package / target).parent.mkdir()
        run("strip", "--strip-debug", "-o", package / target, os.environ[variable])
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: trifuse\nVersion: 0.1.0\n")
    (information / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n")
    (information / "RECORD").touch()


def run(*command, **variables):
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, env={**VARIABLES, **variables})
    if done.returncode != 0:
        raise AssertionError(f"{command}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        folder = cls.folder = pathlib.Path(temporary.name)
        (folder / "raw").mkdir()
        make_raw_wheel(folder / "raw")
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", folder, folder / "raw")
        (raw,) = folder.glob("*.whl")
        printed = run(sys.executable, ROOT / "drivers" / "python" / "repair_wheel.py", raw, folder / "dist", f"trifuse={ROOT / 'LICENSE'}")
        cls.wheel = pathlib.Path(printed.strip())
        cls.site = folder / "site"
        run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", cls.site, cls.wheel)

    def needed(self, file):
        return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", file))

    def test_name(self):
        self.assertRegex(self.wheel.name, r"^trifuse-0\.1\.0-py3-none-manylinux_2_\d\d_x86_64\.whl$")

    def test_libraries_are_inside(self):
        """If Trifuse needs a new library, somebody must decide: may the wheel contain it, and what does it load?"""
        inside = {file.name for file in (self.site / "trifuse.libs").iterdir()} | {"libtrifuse.so"}
        binaries = [self.site / "trifuse" / "lib" / "libtrifuse.so", self.site / "trifuse" / "bin" / "trifuse"]
        for binary in binaries:
            self.assertLessEqual({stem(each) for each in self.needed(binary)}, OF_EVERY_LINUX | OF_TRIFUSE | {"libopenblasp-r0"})
        for file in [*binaries, *(self.site / "trifuse.libs").iterdir()]:
            for library in self.needed(file):
                self.assertTrue(library in inside or stem(library) in OF_EVERY_LINUX, (file.name, library))

    def test_licences_are_inside(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = [name for name in wheel.namelist() if "/licenses/" in name]
            self.assertTrue(all(wheel.read(name) for name in names))
        licences = {pathlib.PurePath(name).stem for name in names}
        self.assertLessEqual({re.split(r"[-.]", file.name)[0] for file in (self.site / "trifuse.libs").iterdir()}, licences)
        self.assertIn("trifuse", licences)

    def test_it_computes_beside_numpy(self):
        """The libraries of the wheel do not conflict with those of NumPy and SciPy, in any order of loading."""
        script = pathlib.Path(__file__).with_name("wheel_script.py")
        for order in ("before", "after"):
            report = json.loads(run(sys.executable, script, order, PYTHONPATH=str(self.site), LD_LIBRARY_PATH=""))
            self.assertLess(abs(report["E(T)"] - report["PySCF"]), 1e-10)
            self.assertEqual(report["threads of NumPy after"], report["threads of NumPy"])
            self.assertGreater(report["threads of NumPy"], 1)
            foreign = {each for each in report["libraries"] if not each.startswith((str(self.site), sys.prefix))}
            stems = {stem(os.path.basename(each)) for each in foreign}
            self.assertFalse(stems & (OF_TRIFUSE | {"libopenblasp-r0", "libgfortran"}), foreign)
            self.assertTrue(any(each.startswith(str(self.site / "trifuse.libs" / "libopenblas")) for each in report["libraries"]))

    def test_the_program_runs(self):
        self.assertIn("BLAS: OpenBLAS", run(self.site / "trifuse" / "bin" / "trifuse", "--version", LD_LIBRARY_PATH=""))


if __name__ == "__main__":
    unittest.main()
