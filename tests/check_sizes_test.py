"""Shows on made-up trees that check_sizes.py finds the problems that it must find."""

import unittest

import check_sizes
from made_up_tree import MadeUpTreeTest


def function(lines, head="int f(int x)"):
    """A C++ function with this number of lines. Some of its braces have no meaning."""
    body = ["  if (x > 1'000'000) {", '    g("}", \'}\');  // }', "  }"]
    return "\n".join([head + " {", *body, *["  ++x;"] * (lines - 5), "}", ""])


class Sizes(MadeUpTreeTest):
    LISTS = "target_sources(trifuse PRIVATE a.cpp PUBLIC FILE_SET HEADERS FILES\n  base/all.hpp base/part0.hpp)\n"

    def tree(self, headers):
        """A public header that includes this number of headers: two directly, the others through other headers."""
        tree = {"cxx/CMakeLists.txt": self.LISTS, "cxx/base/all.hpp": '#include <vector>\n#include "cxx/base/part0.hpp"\n'}
        for n in range(headers):
            following = f'#include "cxx/base/part{n + 1}.hpp"\n' if n + 1 < headers else '#include "generated.hpp"\n'
            tree[f"cxx/base/part{n}.hpp"] = "#pragma once\n" + following
        return tree

    def problems(self, files=(), headers=10):
        return self.checked(check_sizes.check, {**self.tree(headers), **dict(files)})

    def test_a_small_tree_passes(self):
        self.assertEqual(self.problems(), [])

    def test_headers_count_through_other_headers(self):
        self.expect(self.problems(headers=11), "cxx/base/all.hpp includes 11 headers", "at most 10")

    def test_a_tree_without_public_headers_fails(self):
        self.expect(self.problems({"cxx/CMakeLists.txt": ""}), "public headers")

    def test_a_file_may_have_450_lines(self):
        self.assertEqual(self.problems({"drivers/a.cpp": "\n" * 450}), [])
        self.expect(self.problems({"drivers/a.cpp": "\n" * 451}), "drivers/a.cpp has 451 lines")

    def test_a_function_may_have_80_lines(self):
        scopes = ("{}", "namespace a {{\nnamespace {{\n{}}}\n}}\n", "class B : public C<int> {{\n public:\n{}}};\n",
                  "template <typename T>\nstruct D {{\n  int x = 1;\n\n{}}};\n", 'extern "C" {{\n{}}}\n')
        heads = ("int f(int x)", "B::B(int x)\n    : x_{x}, y_(x)", "auto f(int x) -> int", "struct D f(int x)",
                 "template <int n>\nbool operator==(int x) const noexcept")
        for scope in scopes:
            for head in heads:
                with self.subTest(scope=scope, head=head):
                    more = head.count("\n")
                    fits, too_long = (scope.format(function(lines - more, head)) for lines in (80, 81))
                    self.assertEqual(self.problems({"cxx/base/a.cpp": fits}), [])
                    self.expect(self.problems({"cxx/base/a.cpp": too_long}), "cxx/base/a.cpp", "has 81 lines")

    def test_a_long_class_or_table_is_no_function(self):
        many = "  int x;\n" * 100
        self.assertEqual(self.problems({"cxx/base/a.hpp": f"class A {{\n{many}}};\nnamespace b {{\n{many}}}\n"}), [])
        self.assertEqual(self.problems({"cxx/base/a.cpp": "const int table[] = {\n" + "    1,\n" * 100 + "};\n"}), [])

    def test_a_function_of_python_counts(self):
        self.assertEqual(self.problems({"drivers/a.py": "def f():\n" + "    pass\n" * 79}), [])
        self.expect(self.problems({"drivers/a.py": "def f():\n" + "    pass\n" * 80}), "drivers/a.py:1", "f has 81 lines")

    def test_a_procedure_of_fortran_counts_without_those_inside(self):
        body = "  x = x + 1\n"
        inner = "  real(dp) function g(x)\n" + body * 78 + "  end function g\n"
        self.assertEqual(self.problems({"tests/a.F90": "program f\n" + body * 77 + "contains\n" + inner + "end program f\n"}), [])
        self.expect(self.problems({"tests/a.F90": "program f\n" + body * 78 + "contains\n" + inner + "end program f\n"}), "tests/a.F90:1",
                    "f has 81 lines")
        self.expect(self.problems({"tests/a.F90": "contains\n" + inner.replace(body, body * 2, 1)}), "tests/a.F90:2", "g has 81 lines")
        fixed = "c     of a function that is long\n      SUBROUTINE f(x)\n" + "      x = x + 1\n" * 79 + "      END SUBROUTINE\n"
        self.expect(self.problems({"fortran_iface/nwchem/a.F": fixed}), "fortran_iface/nwchem/a.F:2", "f has 81 lines")


if __name__ == "__main__":
    unittest.main()
