"""The page running.md names the variables of the environment that the code reads, and no others.

    check_environment.py ROOT
"""

import re
import sys
from pathlib import Path

FOLDERS = ("cxx", "tce_tiles", "fortran_iface", "drivers")
SCRIPTS = ("drivers/setup.sh", "drivers/quickstart.sh", "drivers/python/wheel.sh", "tests/run.sh")
# Variables of the tools that build a wheel and the site, not of Trifuse.
OF_TOOLS = {"AUDITWHEEL_LD_LIBRARY_PATH", "PATH", "TRIFUSE_DOXYGEN_XML"}


def read_by_cpp(text):
    """The variables that a file reads: getenv of a name, of a constant, or of each name in a list."""
    names = set(re.findall(r'getenv\("(\w+)"\)', text))
    for constant in re.findall(r"getenv\((\w+)\)", text):
        value = re.search(rf'char\* {constant} = "(\w+)"', text)
        for each in re.findall(rf"for \(const char\* {constant} : {{([^}}]*)}}\)", text) + ([f'"{value[1]}"'] if value else []):
            names.update(re.findall(r'"(\w+)"', each))
        if re.search(rf"\(const char\* {constant}\)", text):  # a function that takes the name
            function = re.search(rf"auto (\w+) = \[\]\(const char\* {constant}\)", text)
            names.update(re.findall(rf'\b{function[1]}\("(\w+)"\)', text))
            for loop in re.findall(rf"for \(const char\* {constant} : {{([^}}]*)}}\)", text):
                names.update(re.findall(r'"(\w+)"', loop))
    return names


def read_by_python(text):
    """The variables that a file reads from os.environ, by their name or by a constant of this name."""
    names = set(re.findall(r'os\.environ(?:\.get\(|\[)"(\w+)"(?!\] =)', text))
    if re.search(r"\bname (?:not )?in os\.environ", text):
        names.update(re.findall(r'^ *name = "(\w+)"', text, re.MULTILINE))
    return names


def read_by_options(text):
    """The variables of the options that NWChem's routine has, see CalculationOption::variable."""
    table = text[text.index("constexpr std::array table"):]
    rows = re.split(r"\n    row", table[:table.index("};\n")])
    at_routine = [row for row in rows[1:] if re.search(r"\b(routine|symbols)\b", re.sub(r'"[^"]*"', "", row))]
    names = [re.search(r'"(\w+)"', row)[1] for row in at_routine]
    return {"TRIFUSE_" + ("NWCHEM_" if name == "device" else "") + name.upper() for name in names}


def read_by(root):
    """The variables that the code reads, each with a file that reads it."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            of_cpp = path.suffix in (".cpp", ".hpp", ".cu", ".c")
            reader = read_by_python if path.suffix == ".py" else read_by_cpp if of_cpp else None
            if reader is not None and path.is_file():
                for name in reader(path.read_text()):
                    found.setdefault(name, path)
    options = root / "cxx/calculation/option_table.cpp"
    found.update({name: options for name in read_by_options(options.read_text())})
    for script in SCRIPTS:
        found.update({name: root / script for name in re.findall(r"\$\{(TRIFUSE_\w+)[-:]", (root / script).read_text())})
    return {name: path for name, path in found.items() if name not in OF_TOOLS}


def on_page(root):
    """The variables in the first column of the table and in the paragraph behind it."""
    page = (root / "drivers/docs/running.md").read_text()
    section = page.split("\n## Environment\n")[1].split("\nThe program also refuses")[0]
    table = "".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    scripts = section[section.index("The scripts that build"):]
    homes = re.findall(r"`(XDG_CACHE_HOME|HOME)`", section)
    return {name for name in re.findall(r"`([A-Z]\w*)`", table + scripts)} | set(homes)


def main():
    root = Path(sys.argv[1]).resolve()
    code, page = read_by(root), on_page(root)
    problems = [f"{path.relative_to(root)}: reads {name}, which the table of running.md does not name."
                for name, path in sorted(code.items()) if name not in page]
    problems += [f"drivers/docs/running.md: names {name}, which no code reads." for name in sorted(page - set(code))]
    print("\n".join(problems) or f"{len(code)} variables")
    sys.exit(1 if problems or len(code) < 20 else 0)


if __name__ == "__main__":
    main()
