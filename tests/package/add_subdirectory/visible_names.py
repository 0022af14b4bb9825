#!/usr/bin/env python3
"""A shared library of Trifuse exports its interface and nothing else.

    visible_names.py LIBRARY SOURCE ...

SOURCE is an installed header or a file of a Fortran module. Each symbol must be a C function that a header declares,
belong to a class, a function or a constant of the namespace trifuse or trifuse::contraction that a header declares, or
belong to a module. Each C function must be exported, and the pragmas of a header must say that its declarations are.
"""

import pathlib
import re
import subprocess
import sys


def exported(library: str) -> list[str]:
    """The symbols that a shared library defines, demangled."""
    lines = subprocess.run(["nm", "-D", "-C", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [line.split(maxsplit=2)[2] for line in lines.splitlines()]


def declarations(header: pathlib.Path) -> str:
    """A header without comments, texts and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", header.read_text(), flags=re.DOTALL)
    return re.sub(r"^\s*#.*$|\"[^\"]*\"", " ", text, flags=re.MULTILINE)


def of_namespace(text: str) -> str:
    """The text in the namespace itself, without the contents of classes and functions."""
    kept, depth = [], 0
    for character in text:
        depth -= character == "}"
        if depth <= 1:
            kept.append(character)
        depth += character == "{"
    return "".join(kept)


def names_of(text: str) -> set[str]:
    """The classes, functions and constants that a namespace declares."""
    names = set(re.findall(r"\b(?:class|struct)\s+(\w+)[^;{(]*{", text)) | set(re.findall(r"\b(\w+)\s*\(", text))
    # Also the second of `inline constexpr double a = 1, b = 2;`.
    for constants in re.findall(r"^(?:inline )?constexpr\b([^;(]*)", text, flags=re.MULTILINE):
        names |= set(re.findall(r"(\w+)\s*[={]", constants))
    return names


def main() -> None:
    library, sources = sys.argv[1], [pathlib.Path(each) for each in sys.argv[2:]]
    functions, names, modules = set(), set(), set()  # of C, of C++, of Fortran
    for source in sources:
        pragmas = re.findall(r"^#pragma GCC visibility (.*)", source.read_text(), flags=re.MULTILINE)
        if source.suffix != ".F90" and pragmas != ["push(default)", "pop"]:
            sys.exit(f"{source} needs the lines `#pragma GCC visibility push(default)` and `#pragma GCC visibility pop`.")
        if source.suffix == ".F90":
            modules |= set(re.findall(r"^module (\w+)$", source.read_text(), flags=re.MULTILINE))
        elif source.suffix == ".h":
            functions |= set(re.findall(r"\b(trifuse_\w+)\s*\((?!\s*\*)", declarations(source)))
        else:
            names |= names_of(of_namespace(declarations(source)))
    symbols = exported(library)
    wrong = []
    for symbol in symbols:
        # `vtable for trifuse::X`, `trifuse::f[abi:cxx11](...)`, `double const& trifuse::X::f<...>(...)`
        found = re.match(r"(?:[^(]*?[ &*])?trifuse::(?:contraction::)?(\w+)", symbol)
        module = re.match(r"__(\w+)_MOD_", symbol)
        if not (module[1] in modules if module else found[1] in names if found else symbol in functions):
            wrong.append(symbol)
    for text, listed in ((f"{library} exports symbols that no source declares", wrong),
                         (f"{library} lacks functions that a header declares", sorted(functions - set(symbols)))):
        if listed:
            sys.exit("\n  ".join([text + ":", *listed]))
    print(f"{library}: {len(symbols)} symbols, all declared in {len(sources)} files.")


if __name__ == "__main__":
    main()
