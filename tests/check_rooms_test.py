"""Shows on made-up trees that check_rooms.py finds the problems that it must find."""

import unittest

import check_rooms
from made_up_tree import MadeUpTreeTest

PAGE = """# Architecture

| room | what it is for | may include | must not know |
|---|---|---|---|
| `cxx/base` | errors | | anything above |
| `cxx/plan` | tasks | `base` | |
| `cxx/cuda/kernel` | device code | `base` | plans |
| `drivers` | programs | `base`, `plan` | kernels |

| knowledge | headers | rooms that may include them |
|---|---|---|
| CUDA | `cuda*.h` | `cuda/kernel` |
"""

TREE = {
    "cxx/base/error.hpp": "#pragma once\nclass Error {\n};\n",
    "cxx/plan/plan.hpp": '#pragma once\n#include <vector>\n#include "cxx/base/error.hpp"\nclass Error;\nstruct Plan {\n};\n',
    "cxx/cuda/kernel/launch.cu": '#include <cuda_runtime_api.h>\n#include "cxx/base/error.hpp"\n#include "trifuse_config.hpp"\n',
    "drivers/main.cpp": '#include "cxx/plan/plan.hpp"\n#include "drivers/report.hpp"\n',
    "drivers/report.hpp": "struct Plan;\n",
}


class Rooms(MadeUpTreeTest):
    def problems(self, files=(), page=PAGE):
        """The problems of the made-up tree after these files were added."""
        return self.checked(check_rooms.check, {check_rooms.PAGE: page, **TREE, **dict(files)})

    def test_a_tree_that_keeps_to_its_rooms_passes(self):
        self.assertEqual(self.problems(), [])

    def test_an_include_that_runs_up_fails(self):
        self.expect(self.problems({"cxx/base/clock.cpp": '#include "cxx/plan/plan.hpp"\n'}),
                    "cxx/base/clock.cpp", "cxx/plan/plan.hpp", "base may not include plan")

    def test_an_indented_include_counts(self):
        self.expect(self.problems({"cxx/base/clock.cpp": '#ifdef X\n#  include "cxx/plan/plan.hpp"\n#endif\n'}), "cxx/base/clock.cpp")

    def test_a_lower_room_that_the_row_does_not_name_fails(self):
        self.expect(self.problems({"drivers/main.cpp": '#include "cxx/cuda/kernel/launch.cu"\n'}), "drivers may not include cuda/kernel")

    def test_a_forward_declaration_that_runs_up_fails(self):
        for kind in ("struct", "class"):
            self.expect(self.problems({"cxx/base/clock.hpp": f"{kind} Plan;\n"}), "cxx/base/clock.hpp", "Plan")

    def test_a_name_that_the_room_defines_itself_may_be_declared(self):
        self.assertEqual(self.problems({"cxx/base/plan.hpp": "struct Plan;\nstruct Plan {\n};\n"}), [])

    def test_a_header_of_another_room_s_knowledge_fails(self):
        self.expect(self.problems({"cxx/plan/plan.cpp": "#include <cuda_fp16.h>\n"}), "cxx/plan/plan.cpp", "CUDA", "cuda/kernel")

    def test_a_file_in_no_room_fails(self):
        self.expect(self.problems({"cxx/stray.cpp": "\n"}), "cxx/stray.cpp", "no room")
        self.expect(self.problems({"cxx/cuda/stray.cpp": "\n"}), "cxx/cuda/stray.cpp", "no room")

    def test_an_include_of_a_file_that_is_not_there_fails(self):
        self.expect(self.problems({"drivers/main.cpp": '#include "cxx/plan.hpp"\n'}), "drivers/main.cpp", "no file")

    def test_a_row_that_names_a_later_room_fails(self):
        self.expect(self.problems(page=PAGE.replace("| errors | |", "| errors | `plan` |")), "base may not include plan")

    def test_a_room_without_files_fails(self):
        page = PAGE.replace("| `drivers` |", "| `cxx/rotation` | orbitals | `base` | |\n| `drivers` |")
        self.expect(self.problems(page=page), "rotation", "no files")

    def test_a_page_without_a_table_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "no table"):
            self.problems(page="# Architecture\n")


if __name__ == "__main__":
    unittest.main()
