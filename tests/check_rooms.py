"""Checks that each source file includes only headers of the rooms that cxx/docs/architecture.md allows.

    check_rooms.py ROOT        ROOT: folder of the sources

Prints a line for each file that goes beyond its row, and exits with status 1 if there is any. A forward declaration counts as an
include of the file that defines the name.
"""

import fnmatch
import pathlib
import re
import sys

PAGE = "cxx/docs/architecture.md"
FOLDERS = ("cxx", "tce_tiles", "fortran_iface", "drivers")
SUFFIXES = (".cpp", ".hpp", ".h", ".cu", ".cuh")
GENERATED = ("trifuse_config.hpp",)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
# Declarations at the beginning of a line: those inside a class or a function are indented.
FORWARD = re.compile(r"^(?:class|struct|enum class|enum)[ \t]+(\w+)[^;{(]*;", re.MULTILINE)
DEFINITION = re.compile(r"^(?:class|struct|enum class|enum)[ \t]+(\w+)[^;{(]*\{", re.MULTILINE)


def short(folder):
    """The name of a room in the table, from its folder: `cuda/kernel` of cxx/cuda/kernel, `tiles` of tce_tiles/tiles."""
    return folder.removeprefix("cxx/").removeprefix("tce_tiles/")


def rows(page, header):
    """The rows of the table whose first column is called `header`, each a list of its cells."""
    lines = iter(page.splitlines())
    for line in lines:
        if line.startswith(f"| {header} |"):
            break
    else:
        raise ValueError(f"{PAGE} has no table with a first column '{header}'.")
    next(lines)  # the rule below the header
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return found


def names(cell):
    return re.findall(r"`([^`]+)`", cell)


class Table:
    """The rules of the page."""

    def __init__(self, page):
        self.problems = []
        self.may_include = {}  # by room, from the ground up
        for cells in rows(page, "room"):
            room = short(names(cells[0])[0])
            allowed = names(cells[2])
            for other in allowed:
                if other not in self.may_include:
                    self.problems.append(f"{PAGE}: {room} may not include {other}, which does not stand above it in the table")
            self.may_include[room] = set(allowed) | {room}
        self.knowledge = []  # (name, patterns of headers, rooms)
        for cells in rows(page, "knowledge"):
            rooms = names(cells[2])
            self.problems += [f"{PAGE}: there is no room {room}" for room in rooms if room not in self.may_include]
            self.knowledge.append((cells[0], names(cells[1]), set(rooms)))

    def room_of(self, path):
        """The room of a file, None if it is in none; `path` from the root of the sources."""
        folder = path.parent
        while folder != pathlib.Path("."):
            if short(folder.as_posix()) in self.may_include:
                return short(folder.as_posix())
            folder = folder.parent
        return None


def sources(root):
    """The text of each source file by its path from `root`."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                found[path.relative_to(root)] = path.read_text(encoding="utf-8")
    return found


def check_includes(path, room, text, table, texts):
    for quoted, system in INCLUDE.findall(text):
        header = quoted or system
        for knowledge, patterns, rooms in table.knowledge:
            if room not in rooms and any(fnmatch.fnmatchcase(header, pattern) for pattern in patterns):
                yield f"{path} ({room}) includes {header}, but {knowledge} is known only to {', '.join(sorted(rooms))}"
        if not quoted or header in GENERATED:
            continue
        if pathlib.Path(header) not in texts:
            yield f"{path} includes {header}, which is no file below the root of the sources"
            continue
        other = table.room_of(pathlib.Path(header))
        if other is not None and other not in table.may_include[room]:
            yield f"{path} ({room}) includes {header}, but {room} may not include {other}"


def check_forward_declarations(path, room, text, table, definitions):
    for name in FORWARD.findall(text):
        rooms = definitions.get(name, set())
        if rooms and not rooms & table.may_include[room]:
            yield f"{path} ({room}) declares {name} of {', '.join(sorted(rooms))}, which {room} may not include"


def check(root):
    """One sentence for each problem."""
    table = Table((root / PAGE).read_text(encoding="utf-8"))
    texts = sources(root)
    problems = list(table.problems)
    definitions = {}  # rooms by name
    for path, text in texts.items():
        for name in DEFINITION.findall(text):
            definitions.setdefault(name, set()).add(table.room_of(path))
    for path, text in texts.items():
        room = table.room_of(path)
        if room is None:
            problems.append(f"{path} is in no room of {PAGE}")
            continue
        problems += check_includes(path, room, text, table, texts)
        problems += check_forward_declarations(path, room, text, table, definitions)
    for room in table.may_include:
        if not any(table.room_of(path) == room for path in texts):
            problems.append(f"{PAGE}: the room {room} has no files")
    return problems


def main():
    problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "Every file keeps to its room.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
