"""Shows on made-up trees that check_energy_sums.py finds the problems that it must find."""

import unittest

import check_energy_sums
from made_up_tree import MadeUpTreeTest


class EnergySums(MadeUpTreeTest):
    PAGE = """# Architecture

- **A method**: [`orbitals.cpp`](../calculation/orbitals.cpp).
- **A method with another energy sum**: [`energy.hpp`](../triples/energy.hpp)
  and [`report.cpp`](../../drivers/tables.cpp).
- **CR-CCSD(T)**: [`panel_layout.cpp`](../operands/panel_layout.cpp).
"""
    TREE = {
        check_energy_sums.PAGE: PAGE,
        "cxx/triples/energy.hpp": "double e_bracket_t;\n",
        "drivers/tables.cpp": "sum += energies.e_bracket_t;\n",
        "drivers/report.hpp": "double e_paren_t, e_bracket_t_of_all;\n",
        **{path: "double e_bracket_t;\n" for path in check_energy_sums.ONLY_PASS_ON},
    }

    def problems(self, **files):
        return self.checked(check_energy_sums.check, {**self.TREE, **files.get("files", {})})

    def test_a_page_that_names_every_file_passes(self):
        self.assertEqual(self.problems(), [])

    def test_a_file_that_the_page_does_not_name_fails(self):
        self.expect(self.problems(files={"cxx/cpu/kernel.cpp": "x += energy.e_bracket_t;\n"}), "cxx/cpu/kernel.cpp")

    def test_a_file_that_does_not_exist_fails(self):
        self.expect(self.problems(files={check_energy_sums.PAGE: self.PAGE.replace("energy.hpp)\n", "energy.hpp) [](no.hpp)\n")}),
                    "cxx/docs/no.hpp", "does not exist")

    def test_more_than_eight_files_fail(self):
        names = [f"file{n}.hpp" for n in range(7)]
        page = self.PAGE.replace("energy.hpp)\n", "energy.hpp) " + " ".join(f"[]({name})" for name in names) + "\n")
        files = {f"cxx/docs/{name}": "\n" for name in names}
        self.expect(self.problems(files={**files, check_energy_sums.PAGE: page}), "names 9 files")

    def test_an_exception_that_is_not_needed_fails(self):
        self.expect(self.problems(files={"cxx/report/report.cpp": "\n"}), "cxx/report/report.cpp", "does not need it")

    def test_a_page_without_the_item_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "no item"):
            self.problems(files={check_energy_sums.PAGE: "# Architecture\n"})


if __name__ == "__main__":
    unittest.main()
