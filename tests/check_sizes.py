"""Checks the sizes of files, functions and public headers.

    check_sizes.py ROOT        ROOT: folder of the sources

Prints a line for each source file that is too long, for each function of C, C++, CUDA, Fortran or Python that is too long, and for each
public header that includes too many headers of Trifuse, directly or through other headers. It exits with status 1 if it prints a line.
Public headers are the file sets HEADERS of the CMakeLists.txt files: these headers are installed.

Functions are found by their braces. A function inside a function counts as a part of the outer one, but not in Fortran, where the outer one
may be a whole program. The docstring of a Python function does not count.
"""

import ast
import pathlib
import re
import sys

MOST_LINES_OF_FILE = 450
MOST_LINES_OF_FUNCTION = 80
MOST_HEADERS = 10
FOLDERS = ("cxx", "tce_tiles", "fortran_iface", "drivers", "tests", "inputs")
CPP = (".cpp", ".hpp", ".h", ".c", ".cu", ".cuh")
FORTRAN = (".F90", ".F")
SUFFIXES = (*CPP, *FORTRAN, ".py", ".sh", ".cmake", ".txt")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
# Text in which braces have no meaning: comments, strings, characters, directives of the preprocessor. Digits may have separators, as 1'000.
MEANINGLESS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE)
# A block in which functions stand: its text begins with one of these words, perhaps after a template parameter list.
SCOPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:inline\s+)?(?:namespace|class|struct|union|enum|extern)\b", re.DOTALL)
# The first and the last line of a procedure of Fortran. A line that begins with c, C, * or ! is a comment, in free form only one with !.
PROCEDURE = re.compile(r"^\s*(?:[\w(),=*]+\s+)*?(?:subroutine|function|program)\s+(\w+)", re.IGNORECASE)
END_OF_PROCEDURE = re.compile(r"^\s*end\s*(?:subroutine|function|program)\b", re.IGNORECASE)


def without_text(source):
    """The source with blanks instead of comments, strings and directives. Lines stay where they are."""
    return MEANINGLESS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def functions(source):
    """The functions of a C++ source, each as (first line, number of lines, text before its brace)."""
    code = without_text(source)
    scopes = []  # for each open brace: True if it is a scope of functions
    found, begin, begin_of_function = [], 0, None
    for match in re.finditer(r"[{};]|\b(?:public|private|protected)\s*:", code):
        at = match.start()
        if code[at] == "{":
            before = code[begin:at].strip()
            is_scope = all(scopes) and bool(SCOPE.match(before)) and not before.endswith(")")
            if all(scopes) and not is_scope:
                begin_of_function = at - len(code[begin:at].lstrip()), before
            scopes.append(is_scope)
        elif code[at] == "}" and scopes:
            if not scopes.pop() and all(scopes):
                first, before = begin_of_function
                if code[at + 1:].lstrip()[:1] in (",", "{"):  # the braces of a member initializer; the function begins after it
                    begin = first
                    continue
                line = code.count("\n", 0, first) + 1
                if "(" in before:
                    found.append((line, code.count("\n", first, at) + 1, before))
        elif code[at] == ";" and not all(scopes):
            continue
        begin = match.end()
    return found


def name_of(before):
    """The name of a function, from the text before its brace."""
    names = re.findall(r"([\w:~]+|operator\S+)\s*\(", before)
    return names[0] if names else before


def fortran_procedures(source, fixed_form):
    """The procedures of a Fortran source, each as (first line, number of lines without those of inner procedures, name)."""
    found, open_ones = [], []
    for number, line in enumerate(source.split("\n"), start=1):
        if line.lstrip().startswith("!") or (fixed_form and line[:1] in ("c", "C", "*")):
            continue
        if END_OF_PROCEDURE.match(line) and open_ones:
            first, name, inner = open_ones.pop()
            lines = number - first + 1
            found.append((first, lines - inner, name))
            if open_ones:
                open_ones[-1][2] += lines
        elif match := PROCEDURE.match(line):
            open_ones.append([number, match[1], 0])
    return found


def lines_of_docstring(function):
    """The number of lines of the docstring of a Python function."""
    if ast.get_docstring(function, clean=False) is None:
        return 0
    return function.body[0].end_lineno - function.body[0].lineno + 1


def check_functions(path, source):
    if path.suffix in CPP:
        all_functions = [(line, length, name_of(before)) for line, length, before in functions(source)]
    elif path.suffix == ".py":
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        all_functions = [(node.lineno, node.end_lineno - node.lineno + 1 - lines_of_docstring(node), node.name)
                         for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    elif path.suffix in FORTRAN:
        all_functions = fortran_procedures(source, fixed_form=path.suffix == ".F")
    else:
        return
    for line, length, name in all_functions:
        if length > MOST_LINES_OF_FUNCTION:
            yield f"{path.as_posix()}:{line}: the function {name} has {length} lines; at most {MOST_LINES_OF_FUNCTION} are allowed"


def public_headers(root):
    """The headers of all file sets HEADERS, as paths below the root."""
    headers = []
    for lists in sorted(root.glob("*/CMakeLists.txt")):
        for files in re.findall(r"FILE_SET HEADERS FILES([^)]*)\)", lists.read_text(encoding="utf-8")):
            headers += [(lists.parent / name).relative_to(root).as_posix() for name in files.split()]
    return headers


def included(root, header, found):
    """Adds to `found` the headers of Trifuse that a header includes, directly or through other headers."""
    for name in INCLUDE.findall((root / header).read_text(encoding="utf-8")):
        if name not in found and (root / name).is_file():
            found.add(name)
            included(root, name, found)
    return found


def check(root):
    """One sentence for each problem."""
    problems = []
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink() and "tests/data" not in path.as_posix()]
    for path in files:
        source, name = path.read_text(encoding="utf-8"), path.relative_to(root)
        lines = source.count("\n")
        if lines > MOST_LINES_OF_FILE:
            problems.append(f"{name.as_posix()} has {lines} lines; at most {MOST_LINES_OF_FILE} are allowed")
        problems += check_functions(name, source)
    headers = public_headers(root)
    if not headers:
        problems.append("no CMakeLists.txt lists public headers")
    for header in headers:
        own = included(root, header, set())
        if len(own) > MOST_HEADERS:
            problems.append(f"{header} includes {len(own)} headers of Trifuse; at most {MOST_HEADERS} are allowed: {', '.join(sorted(own))}")
    return problems


def main():
    problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "Every file, function and public header is small enough.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
