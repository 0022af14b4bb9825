"""Checks the files that the architecture page names for another energy sum.

    check_energy_sums.py ROOT        ROOT: folder of the sources

A file that treats the energies one by one names the member of E[T]. Another energy touches such a file. The script prints a line for each
of these files that the page does not name, for each file of the page that does not exist, and if the page names more than eight files. It
exits with status 1 if it prints a line.
"""

import pathlib
import re
import sys

PAGE = "cxx/docs/architecture.md"
ITEM = "- **A method with another energy sum**"
MEMBER = re.compile(r"\be_bracket_t\b")
FOLDERS = ("cxx", "tce_tiles", "fortran_iface", "drivers")
SUFFIXES = (".cpp", ".hpp", ".h", ".cu", ".cuh")
LARGEST_NUMBER = 8

# These files pass E[T] and E(T) to other programs, or compare them with numbers of other programs. Another energy does not touch them.
ONLY_PASS_ON = {
    "cxx/report/report.cpp": "prints the energies of NWChem beside those of Trifuse",
    "fortran_iface/run_c.cpp": "a function of the C interface, which has these two results",
    "fortran_iface/nwchem_routine.cpp": "a function for NWChem, which asks for these two",
    "fortran_iface/nwchem_symbols.cpp": "a symbol of NWChem, which asks for these two",
}


def named_files(page):
    """The files that the item of the page links to, as paths below the root."""
    begin = page.find(ITEM)
    if begin < 0:
        raise ValueError(f"{PAGE} has no item '{ITEM}'.")
    item = page[begin:]
    end = item.find("\n- **")
    folder = pathlib.PurePosixPath(PAGE).parent
    files = []
    for link in re.findall(r"\]\(([^)#]+)\)", item if end < 0 else item[:end]):
        parts = []
        for part in (folder / link).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        files.append("/".join(parts))
    return files


def check(root):
    """One sentence for each problem."""
    named = named_files((root / PAGE).read_text(encoding="utf-8"))
    problems = [f"{PAGE} names {path}, which does not exist" for path in named if not (root / path).is_file()]
    if len(set(named)) > LARGEST_NUMBER:
        problems.append(f"{PAGE} names {len(set(named))} files for another energy sum; at most {LARGEST_NUMBER} are allowed")
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in SUFFIXES]
    found = {path.relative_to(root).as_posix() for path in files if MEMBER.search(path.read_text(encoding="utf-8"))}
    problems += [f"{path} computes with E[T] by its name, but {PAGE} does not name this file for another energy sum"
                 for path in sorted(found - set(named) - set(ONLY_PASS_ON))]
    problems += [f"check_energy_sums.py has an exception for {path}, which does not need it" for path in sorted(set(ONLY_PASS_ON) - found)]
    return problems


def main():
    problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "The architecture page names every file that another energy sum touches.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
