"""Checks that each source file includes the headers that declare the names that it uses.

    check_includes.py ROOT        ROOT: folder of the sources

Where several sources are compiled at once, the compiler does not notice that one of them lacks an include. A file may include a header directly
or through other headers of Trifuse. A header of the standard library that only another header of the standard library includes does not count.
The check knows types, functions and constants that headers of Trifuse declare in a namespace, and common names of the standard library and of
other libraries. Prints a line for each missing header, and exits with status 1 if there is any.
"""

import pathlib
import re
import sys

from check_rooms import INCLUDE, sources

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
# Declarations at the beginning of a line: those inside a class or a function are indented.
TEMPLATE = r"^(?:template ?<[^\n]*>[ \t\n])?"
TYPE = re.compile(TEMPLATE + r"(?:(?:class|struct|enum class|enum|union)[ \t]+(\w+)[^;{(\n]*\{|using[ \t]+(\w+)[ \t]*=)", re.MULTILINE)
FUNCTION = re.compile(TEMPLATE + r"(?!using|return|typedef|class|struct|enum|namespace|else|template)"
                      r"(?:[\w:<>,*&\[\]]+(?: const)?[ \t*&]+)+(\w+)\(", re.MULTILINE)
CONSTANT = re.compile(r"^(?:inline )?constexpr [^=;(){}\n]*?(\w+)[ \t]*(?:=|\{|\[)", re.MULTILINE)

# Names of the standard library, by header.
STANDARD = {
    "algorithm": "all_of any_of clamp copy copy_if copy_n count count_if equal fill fill_n find find_if is_sorted lower_bound max max_element "
                 "min min_element minmax_element mismatch nth_element partition_point replace reverse rotate sort stable_sort unique_copy "
                 "upper_bound",
    "array": "array",
    "atomic": "atomic memory_order_acquire memory_order_release",
    "bit": "bit_cast bit_width countr_zero endian has_single_bit rotl",
    "charconv": "from_chars to_chars",
    "chrono": "chrono",
    "cmath": "ceil floor frexp ilogb isfinite isnan ldexp llround log10 log2 pow sqrt",
    "condition_variable": "condition_variable",
    "cstdint": "int16_t int32_t int64_t int8_t uint16_t uint32_t uint64_t uint8_t uintmax_t uintptr_t",
    "cstdio": "ferror fflush fputs fwrite",
    "cstdlib": "_Exit abort aligned_alloc atof atoi calloc free getenv strtod",
    "cstring": "memcmp memcpy memset strerror",
    "deque": "deque",
    "exception": "current_exception exception_ptr rethrow_exception",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream",
    "functional": "function greater",
    "future": "async future launch promise shared_future",
    "iterator": "back_inserter istream_iterator make_move_iterator next prev",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "align make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag recursive_mutex unique_lock",
    "new": "bad_alloc nothrow",
    "numeric": "accumulate iota",
    "optional": "nullopt optional",
    "queue": "priority_queue",
    "random": "random_device",
    "set": "multiset set",
    "span": "as_bytes as_writable_bytes span",
    "sstream": "istringstream ostringstream stringstream",
    "stdexcept": "logic_error runtime_error",
    "string": "stod string to_string",
    "string_view": "string_view",
    "system_error": "errc error_code system_error",
    "thread": "this_thread thread",
    "tuple": "tie tuple",
    "type_traits": "invoke_result_t is_same_v is_void_v",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "exchange forward pair",
    "variant": "get_if holds_alternative variant",
    "vector": "vector",
}
HEADER_OF = {name: header for header, names in STANDARD.items() for name in names.split()}
# What other libraries define, and the beginnings of their headers.
OTHERS = ((r"\bfmt::", "fmt/"), (r"\bnlohmann::", "nlohmann/"), (r"\bH5[A-Z]\w+\(", "hdf5"), (r"\bXXH\w+\(", "xxhash"), (r"\bomp_\w+\(", "omp.h"),
          (r"\bCLI::", "CLI/"), (r"\bMPI_\w+\(", "mpi.h"), (r"\bcuda[A-Z]\w+\(", "cuda"), (r"\bcblas_\w+\(", "cblas"))
# Words that are no members of something else. Types have names in CamelCase.
TYPE_USE = re.compile(r"(?<![.\w])(?<!->)(?<!std::)(?<!fmt::)([A-Z]\w*[a-z]\w*)")
CALL = re.compile(r"(?<![.\w:])(?<!->)([a-z]\w*)\(")
WORD = re.compile(r"(?<![.\w:])(?<!->)([a-z]\w*_\w*)\b(?!\()")
DECLARED_TYPE = re.compile(r"\b(?:class|struct|enum class|enum|using|typename)[ \t]+(\w+)")
# Other declarations, also of members, parameters and local variables, whose name a call may mean.
DECLARED_NAME = re.compile(r"(?<!\breturn)(?<!\bthrow)(?<!\belse)(?<=[\w>&*\]])\s*[\s&*]([a-z]\w*) ?[({=;,)]")


def plain(text):
    """The text without comments, character strings and preprocessor lines."""
    text = COMMENT_OR_TEXT.sub(lambda found: "\n" * found[0].count("\n") if found[0][0] == "/" else '""', text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.MULTILINE)


def declared(text):
    """(types and constants, functions) that a file without comments declares in a namespace."""
    types = {first or second for first, second in TYPE.findall(text)} | set(CONSTANT.findall(text))
    return types, set(FUNCTION.findall(text))


class Tree:
    def __init__(self, texts):
        self.includes = {path: [(quoted, system) for quoted, system in INCLUDE.findall(text)] for path, text in texts.items()}
        self.plain = {path: plain(text) for path, text in texts.items()}
        self.declared = {path: declared(text) for path, text in self.plain.items()}
        self.headers = {}  # headers that declare a name
        for path, (types, functions) in self.declared.items():
            if path.suffix in (".hpp", ".cuh"):
                for name in types | functions:
                    self.headers.setdefault(name, set()).add(path)
        self.reached = {}

    def reach(self, path):
        """(files of Trifuse, headers of the system) that a file includes, directly or through files of Trifuse."""
        if path not in self.reached:
            files, system = {path}, set()
            self.reached[path] = files, system
            for quoted, bracketed in self.includes[path]:
                other = pathlib.Path(quoted)
                if quoted and other in self.plain:
                    more_files, more_system = self.reach(other)
                    files |= more_files
                    system |= more_system
                elif bracketed:
                    system.add(bracketed)
        return self.reached[path]

    def missing_of_standard(self, path, system):
        for name in sorted(set(re.findall(r"\bstd::(?:ranges::)?(\w+)", self.plain[path]))):
            if name in HEADER_OF and HEADER_OF[name] not in system:
                yield f"{path} uses std::{name}, but includes no <{HEADER_OF[name]}>"

        for use, header in OTHERS:
            found = re.search(use, self.plain[path])
            if found and not any(each.startswith(header) for each in system):
                yield f"{path} uses {found[0].rstrip('(')}, but includes no <{header}...>"

    def missing_of_trifuse(self, path, files):
        text = self.plain[path]
        known = set().union(*(types | functions for types, functions in (self.declared[file] for file in files)))
        known |= {name for file in files for name in DECLARED_TYPE.findall(self.plain[file])}
        types = set(TYPE_USE.findall(text)) - known
        known |= {name for file in files for name in DECLARED_NAME.findall(self.plain[file])}
        others = (set(CALL.findall(text)) | set(WORD.findall(text))) - known
        for name in sorted((types | others) & set(self.headers)):
            yield f"{path} uses {name}, but includes none of {', '.join(sorted(map(str, self.headers[name])))}"


def problems_of(texts, paths):
    """One sentence for each header that the files `paths` lack; `texts`: the text of each file by its path."""
    tree = Tree(texts)
    problems = []
    for path in paths:
        files, system = tree.reach(path)
        problems += tree.missing_of_standard(path, system)
        problems += tree.missing_of_trifuse(path, files)
    return problems


def check(root):
    texts = sources(root)
    return problems_of(texts, texts)


def main():
    problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "Every file includes what it uses.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
