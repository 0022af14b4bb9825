"""Shows on made-up trees that check_includes.py finds the includes that are missing, and only these."""

import pathlib
import unittest

import check_includes
from made_up_tree import MadeUpTreeTest

TREE = {
    "cxx/plan/plan.hpp": '#pragma once\n#include <vector>\n#include "cxx/plan/step.hpp"\nnamespace trifuse {\n\nclass Plan {\n public:\n'
                         "  int count() const;\n  std::vector<Step> steps;\n};\n\nPlan make_plan(int count);\n\n}\n",
    "cxx/plan/step.hpp": "#pragma once\nstruct Step {\n  int length;\n};\nenum class Kind { one, two };\nusing Steps = int;\n"
                         "constexpr int most_steps = 3;\ntemplate <class T>\nT total(const T& steps);\n",
    "cxx/plan/plan.cpp": '#include "cxx/plan/plan.hpp"\nint Plan::count() const { return make_plan(1).steps.size(); }\n',
}


class Includes(MadeUpTreeTest):
    def problems(self, text, path="cxx/plan/use.cpp"):
        """The problems of the made-up tree after this file was added."""
        return self.checked(check_includes.check, {**TREE, path: text})

    def test_a_complete_tree_passes(self):
        self.assertEqual(self.problems(""), [])

    def test_a_type_without_its_header_fails(self):
        for use in ("Plan plan;", "void f(const Plan& plan);", "auto kind = Kind::one;", "trifuse::Step step{};", "Steps s = 1;"):
            with self.subTest(use):
                self.expect(self.problems(use + "\n"), "cxx/plan/use.cpp", "includes none of cxx/plan/")

    def test_a_function_without_its_header_fails(self):
        self.expect(self.problems("int n() { return make_plan(3); }\n"), "make_plan", "cxx/plan/plan.hpp")
        self.expect(self.problems("int n() { return total(3); }\n"), "total", "cxx/plan/step.hpp")

    def test_a_name_of_the_standard_library_without_its_header_fails(self):
        self.expect(self.problems("#include <map>\nstd::map<int, std::vector<int>> all;\n"), "std::vector", "<vector>")
        self.expect(self.problems("int n(int a) { return std::ranges::max(a, 1); }\n"), "std::max", "<algorithm>")

    def test_a_name_of_another_library_without_its_header_fails(self):
        self.expect(self.problems("int n = fmt::total(1);\n"), "fmt::", "<fmt/...>")
        self.expect(self.problems("auto file = H5Fopen(path);\n"), "H5Fopen", "<hdf5...>")

    def test_a_constant_without_its_header_fails(self):
        self.expect(self.problems("int n = most_steps;\n"), "most_steps", "cxx/plan/step.hpp")

    def test_headers_and_device_code_are_checked(self):
        for path in ("cxx/plan/use.hpp", "cxx/cuda/kernel/use.cu", "cxx/cuda/kernel/use.cuh", "drivers/use.cpp", "tce_tiles/use.cpp"):
            self.expect(self.problems("Plan plan;\n", path), path, "cxx/plan/plan.hpp")

    def test_an_include_of_an_include_counts(self):
        self.assertEqual(self.problems('#include "cxx/plan/plan.hpp"\nstd::vector<Step> steps = make_plan(total(2)).steps;\n'), [])

    def test_a_forward_declaration_counts(self):
        self.assertEqual(self.problems("class Plan;\nvoid f(const Plan& plan);\n"), [])

    def test_members_and_local_names_are_other_names(self):
        for text in ("void f() {\n  const auto total = [&](int n) { return n; };\n  total(1);\n}\n", "int g(int n) { return other.total(n); }\n",
                     "struct Own {\n  int total(int n);\n  int twice() { return 2 * total(1); }\n};\n",
                     "#include <fmt/core.h>\nint n = fmt::total(1);\n"):
            self.assertEqual(self.problems(text), [])

    def test_comments_and_texts_use_nothing(self):
        self.assertEqual(self.problems('// A Plan of std::vector\n/* Plan\n Plan */\nconst char* text = "Plan make_plan(std::vector)";\n'), [])

    def test_each_include_of_the_sources_that_is_needed_is_missed(self):
        """Without the only include of a header, the sources of this project do not pass."""
        root = pathlib.Path(__file__).resolve().parents[1]
        texts = check_includes.sources(root)
        for file, header in (("cxx/plan/plan.cpp", '"cxx/plan/plan.hpp"'), ("cxx/prediction/simulation.cpp", "<queue>"),
                             ("tce_tiles/dump_files/dump_writer.cpp", '"tce_tiles/dump_files/dump_writer.hpp"'), ("drivers/progress.cpp", '"drivers/progress.hpp"')):
            path = pathlib.Path(file)
            self.assertIn(f"#include {header}\n", texts[path])
            changed = {**texts, path: texts[path].replace(f"#include {header}\n", "")}
            with self.subTest(file):
                self.assertTrue(check_includes.problems_of(changed, [path]))


if __name__ == "__main__":
    unittest.main()
