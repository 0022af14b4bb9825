"""Checks that the Fortran modules offer what the C headers offer.

    fortran_covers_c.py FOLDER     FOLDER: the one of the headers and modules

Every function has a bind(c) interface, and a public procedure of the same name. Every value of an enum is a public constant with the
same value. The structures have the same members in the same order.
"""

import pathlib
import re
import sys

HEADERS = ("trifuse.h", "trifuse_arrays.h", "trifuse_contract.h", "trifuse_mpi.h")
MODULES = ("trifuse_c.F90", "trifuse.F90", "trifuse_dense.F90", "trifuse_contraction.F90", "trifuse_derivatives.F90",
           "trifuse_mpi.F90")
# The type of an array follows from the Fortran type, and the structures of arrays have a Fortran type of their own.
CONSTANTS_OF_C = {"trifuse_float64", "trifuse_int32", "trifuse_int64"}
STRUCTURES = {"trifuse_status": "trifuse_status", "trifuse_tile": "trifuse_tile", "trifuse_description": "trifuse_description",
              "trifuse_witness": "c_witness", "trifuse_array": "c_array", "trifuse_arrays": "c_arrays",
              "trifuse_layout": "c_layout"}


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def members_of_c(text, name):
    body = re.search(r"typedef struct " + name + r" \{(.*?)\} " + name + ";", text, re.DOTALL).group(1)
    members = []
    for declaration in body.split(";"):
        members += re.findall(r"(\w+)(?:\[\w+\])?\s*(?:,|$)", declaration.strip())
    return members


def members_of_fortran(text, name):
    body = re.search(r"type, bind\(c\) :: " + name + r"\n(.*?)end type " + name + r"\b", text, re.DOTALL).group(1)
    members = []
    for line in body.splitlines():
        declared = re.sub(r"!<.*", "", line).partition("::")[2]
        members += re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\(.*?\)|=[^,]*", "", declared))
    return members


def problems(folder):
    c = without_comments("\n".join((folder / name).read_text(encoding="utf-8") for name in HEADERS))
    modules = [(folder / name).read_text(encoding="utf-8") for name in MODULES]
    fortran = "\n".join(modules)
    public = set()
    for text in modules:
        for names in re.findall(r"^ *public ::((?:.*&\n)*.*)$", text, re.MULTILINE):
            public |= set(re.findall(r"\w+", names))

    functions = re.findall(r"^[a-z]\w*[ *]+(?:char\* )?(trifuse_\w+)\(", c, re.MULTILINE)
    if len(functions) < 40:
        yield f"only {len(functions)} functions were found in the headers"
    for name in functions:
        if f'bind(c, name="{name}")' not in fortran:
            yield f"{name} has no interface with bind(c)"
        if name not in public:
            yield f"{name} has no public procedure"
    constants = re.findall(r"(TRIFUSE_\w+) = (\d+)", c)
    if len(constants) < 30:
        yield f"only {len(constants)} constants were found in the headers"
    for name, value in constants:
        name = name.lower()
        if name in CONSTANTS_OF_C:
            continue
        if not re.search(rf"\b{name} = {value}_c_int32_t\b", fortran) or name not in public:
            yield f"the constant {name} = {value} is not public"
    for ours, theirs in STRUCTURES.items():
        if members_of_c(c, ours) != members_of_fortran(fortran, theirs):
            yield f"{theirs} has the members {members_of_fortran(fortran, theirs)}, but {ours} has {members_of_c(c, ours)}"


def main():
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
