#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <regex>

#include "tce_tiles/dump_files/dump_source.hpp"
#include "tce_tiles/dump_files/dump_writer.hpp"
#include "tests/c_interface/c_interface_test_support.hpp"
#include "tests/c_interface/dense_arrays.hpp"
#include "tests/tce_tiles/nwchem_test_data.hpp"

/// The mistakes of people who write dumps or pass arrays, as in tests/pyscf/test_wrong_inputs.py. Arrays must meet each
/// of them as a file does: with the same sentence, or with the same warning.
namespace trifuse::testing {
namespace {

using Dataset = RawDump::Dataset;
using Layout = HeldArrays::Layout;
constexpr double hartree_in_ev = 27.211386;

/// A mistake: changes the arrays of a molecule.
struct Mistake {
  std::string name;
  std::function<void(RawDump&)> make;
  enum class For { all, rhf, uhf } reference = For::all;
};

/// True if `name` is one of the arrays `stem`, of any spins and antisymmetrised or not.
bool is_of_class(const std::string& name, const std::string& stem) {
  const std::string asym = "asym_", plain = name.starts_with(asym) ? name.substr(asym.size()) : name;
  return plain == stem || plain.starts_with(stem + "_");
}

void for_class(RawDump& dump, const std::string& stem, const std::function<void(Dataset&)>& change) {
  for (auto& [name, data] : dump.datasets) {
    if (is_of_class(name, stem)) change(data);
  }
}

std::size_t position(const Dataset& data, const std::vector<std::int64_t>& index) {
  std::int64_t at = 0;
  for (std::size_t k = 0; k < index.size(); ++k) at = at * data.shape[k] + index[k];
  return static_cast<std::size_t>(at);
}

/// new[p] = old[q], where q is what `source(p)` makes of the index p.
void rearrange(Dataset& data, const std::function<void(std::vector<std::int64_t>&)>& source) {
  Dataset old = data;
  std::vector<std::int64_t> p(data.shape.size());
  for (std::size_t n = 0; n < data.values.size(); ++n) {
    auto rest = static_cast<std::int64_t>(n);
    for (std::size_t k = p.size(); k-- > 0; rest /= data.shape[k]) p[k] = rest % data.shape[k];
    std::vector<std::int64_t> q = p;
    source(q);
    data.values[n] = old.values[position(old, q)];
  }
}

Dataset swapped(Dataset data, std::size_t x, std::size_t y) {
  rearrange(data, [=](auto& p) { std::swap(p[x], p[y]); });
  return data;
}

void reverse(Dataset& data, std::size_t axis) {
  rearrange(data, [&](auto& p) { p[axis] = data.shape[axis] - 1 - p[axis]; });
}

void scale(Dataset& data, double factor) {
  for (double& x : data.values) x *= factor;
}

/// The numbers of the last index of the first axis.
std::span<double> last_slab(Dataset& data) {
  return std::span(data.values).last(data.values.size() / static_cast<std::size_t>(data.shape[0]));
}

Mistake scaled(const std::string& stem, double factor) {
  return {stem + " times " + std::to_string(factor),
          [=](RawDump& dump) { for_class(dump, stem, [&](Dataset& data) { scale(data, factor); }); }};
}

/// Sets the element [0,0,last,last].
Mistake one_element(const std::string& name, double value, Mistake::For reference) {
  return {"a diagonal element of " + name + " is " + std::to_string(value),
          [=](RawDump& dump) {
            Dataset& data = dump.datasets.at(name);
            data.values[position(data, {0, 0, data.shape[2] - 1, data.shape[3] - 1})] = value;
          },
          reference};
}

Mistake first_element(const std::string& stem, double value) {
  return {"the first element of " + stem + " is " + std::to_string(value),
          [=](RawDump& dump) { for_class(dump, stem, [&](Dataset& data) { data.values.front() = value; }); }};
}

/// Changes one of two elements that must be equal or opposite.
Mistake broken_symmetry(const std::string& name, Mistake::For reference) {
  return {"broken symmetry of " + name,
          [=](RawDump& dump) {
            Dataset& data = dump.datasets.at(name);
            const std::vector<std::int64_t> index = {0, 1, 1, 0};
            data.values[position(data, {index.begin(), index.begin() + std::ssize(data.shape)})] += 1e-3;
          },
          reference};
}

Mistake reversed(const std::string& stem, std::size_t axis) {
  return {stem + " in another order of orbitals",
          [=](RawDump& dump) { for_class(dump, stem, [&](Dataset& data) { reverse(data, axis); }); }};
}

Mistake not_written(const std::string& stem) {
  return {stem + " partly not written", [=](RawDump& dump) {
            for_class(dump, stem, [](Dataset& data) {
              for (double& x : last_slab(data)) x = 0.0;
            });
          }};
}

void energies_in_ev(RawDump& dump) {
  for (const char* stem : {"eps_occ", "eps_vir"}) {
    for_class(dump, stem, [](Dataset& data) { scale(data, hartree_in_ev); });
  }
}

void add_scaled(std::vector<Mistake>& list) {
  for (const char* stem : {"t1", "t2", "ovvv", "ovoo", "ovov"}) {
    for (const double factor : {-1.0, 2.0, 0.0}) list.push_back(scaled(stem, factor));
    list.push_back(first_element(stem, std::numeric_limits<double>::quiet_NaN()));
    list.push_back(first_element(stem, std::numeric_limits<double>::infinity()));
    list.push_back(first_element(stem, 1e7));
  }
  for (const double factor : {-1.0, 0.0}) list.push_back(scaled("oovv", factor));
  for (const char* stem : {"eps_occ", "eps_vir"}) list.push_back(scaled(stem, hartree_in_ev));
}

void add_elements(std::vector<Mistake>& list) {
  using enum Mistake::For;
  for (const double value : {1.0, 1000.0}) list.push_back(one_element("ovvv", value, rhf));
  list.push_back(one_element("ovoo", 1001.0, rhf));
  list.push_back(one_element("ovvv_aabb", 1000.0, uhf));
  list.push_back(one_element("ovoo_bbaa", 1001.0, uhf));
  for (const char* name : {"t1_b", "asym_ovvv_aaaa", "ovvv_aabb", "ovvv_bbaa", "asym_ovvv_bbbb", "asym_ovoo_aaaa",
                           "ovoo_aabb", "ovoo_bbaa"}) {
    list.push_back({std::string("sign of ") + name, [=](RawDump& dump) { scale(dump.datasets.at(name), -1.0); }, uhf});
  }
  for (const char* name : {"t2", "ovvv", "ovoo", "ovov", "fock"}) list.push_back(broken_symmetry(name, rhf));
  for (const char* name : {"t2_aa", "ovvv_aabb", "ovoo_bbaa", "asym_ovov_bbbb", "fock_b"}) {
    list.push_back(broken_symmetry(name, uhf));
  }
}

void add_energies(std::vector<Mistake>& list) {
  list.push_back({"energies in eV", energies_in_ev});
  list.push_back({"energies in reverse order", [](RawDump& dump) {
                    for_class(dump, "eps_occ", [](Dataset& data) { reverse(data, 0); });
                    for_class(dump, "eps_vir", [](Dataset& data) { reverse(data, 0); });
                  }});
  list.push_back({"energies and Fock matrix in eV", [](RawDump& dump) {
                    energies_in_ev(dump);
                    for_class(dump, "fock", [](Dataset& data) { scale(data, hartree_in_ev); });
                  }});
  for (const double energy : {1e307, std::numeric_limits<double>::quiet_NaN()}) {
    list.push_back({"an energy of " + std::to_string(energy), [=](RawDump& dump) {
                      for_class(dump, "eps_vir", [&](Dataset& data) { data.values.back() = energy; });
                    }});
  }
  list.push_back({"Fock matrices exchanged",
                  [](RawDump& dump) { std::swap(dump.datasets.at("fock_a"), dump.datasets.at("fock_b")); },
                  Mistake::For::uhf});
}

void add_orders(std::vector<Mistake>& list) {
  using enum Mistake::For;
  list.push_back(reversed("ovvv", 0));
  list.push_back(reversed("ovoo", 1));
  list.push_back(reversed("t1", 1));
  list.push_back(not_written("ovvv"));
  list.push_back(not_written("ovoo"));
  list.push_back({"phase of one orbital in ovoo", [](RawDump& dump) {
                    for_class(dump, "ovoo", [](Dataset& data) {
                      for (double& x : last_slab(data)) x = -x;
                    });
                  }});
  for (const auto& [name, factor] : {std::pair{"antisymmetrised t2", 1.0}, {"t2 twice less exchanged", 2.0}}) {
    list.push_back({name,
                    [factor = factor](RawDump& dump) {
                      Dataset& t2 = dump.datasets.at("t2");
                      const Dataset other = swapped(t2, 0, 1);
                      for (std::size_t n = 0; n < t2.values.size(); ++n) {
                        t2.values[n] = factor * t2.values[n] - other.values[n];
                      }
                    },
                    rhf});
  }
  list.push_back({"exchange integrals for direct ones",
                  [](RawDump& dump) { dump.datasets.at("ovov") = swapped(dump.datasets.at("ovov"), 1, 3); }, rhf});
  list.push_back({"ovvv averaged with its exchange",
                  [](RawDump& dump) {
                    Dataset& ovvv = dump.datasets.at("ovvv");
                    const Dataset first = swapped(ovvv, 1, 2), second = swapped(ovvv, 1, 3);
                    for (std::size_t n = 0; n < ovvv.values.size(); ++n) {
                      ovvv.values[n] = (ovvv.values[n] + first.values[n] + second.values[n]) / 3.0;
                    }
                  },
                  rhf});
  list.push_back({"spins of t1 exchanged",
                  [](RawDump& dump) {
                    Dataset &a = dump.datasets.at("t1_a"), &b = dump.datasets.at("t1_b");
                    const std::size_t n = std::min(a.values.size(), b.values.size());
                    std::swap_ranges(a.values.begin(), a.values.begin() + static_cast<std::ptrdiff_t>(n),
                                     b.values.begin());
                  },
                  uhf});
}

/// A mistake in arrays without oovv, where the checks are weaker.
Mistake without_oovv(const Mistake& mistake) {
  return {mistake.name + " without oovv", [make = mistake.make](RawDump& dump) {
            std::erase_if(dump.datasets, [](const auto& item) { return is_of_class(item.first, "oovv"); });
            make(dump);
          }};
}

void add_others(std::vector<Mistake>& list) {
  for (const char* stem : {"t1", "t2", "ovvv", "ovov"}) list.push_back(without_oovv(scaled(stem, -1.0)));
  list.push_back(scaled("t1", 0.5));
  list.push_back({"noise of a percent in ovvv", [](RawDump& dump) {
                    for_class(dump, "ovvv", [](Dataset& data) {
                      // The noise has the symmetries of ovvv, whether it is antisymmetrised or not.
                      std::vector<std::int64_t> p(4);
                      for (std::size_t n = 0; n < data.values.size(); ++n) {
                        auto rest = static_cast<std::int64_t>(n);
                        for (std::size_t k = 4; k-- > 0; rest /= data.shape[k]) p[k] = rest % data.shape[k];
                        data.values[n] *= 1.0 + 0.01 * std::cos(static_cast<double>(p[0] + p[1] + p[2] + p[3]));
                      }
                    });
                  }});
  list.push_back({"ovvv too short", [](RawDump& dump) {
                    for_class(dump, "ovvv", [](Dataset& data) {
                      data.values.resize(data.values.size() - last_slab(data).size());
                      --data.shape[0];
                    });
                  }});
  list.push_back({"no ovoo", [](RawDump& dump) {
                    std::erase_if(dump.datasets, [](const auto& item) { return is_of_class(item.first, "ovoo"); });
                  }});
  list.push_back({"irreps of another order",
                  [](RawDump& dump) {
                    for (const char* stem : {"irrep_occ", "irrep_vir"}) {
                      for_class(dump, stem, [](Dataset& data) {
                        data.values.front() = static_cast<double>(static_cast<int>(data.values.front()) ^ 1);
                      });
                    }
                  },
                  Mistake::For::rhf});
}

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all = [] {
    std::vector<Mistake> list;
    for (const auto& add : {add_scaled, add_elements, add_energies, add_orders, add_others}) add(list);
    return list;
  }();
  return all;
}

/// What became of an input: the sentence of a refusal, or the warnings of a run.
struct Outcome {
  std::int32_t code = TRIFUSE_SUCCESS;
  std::string text;
  bool operator==(const Outcome&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << outcome.code << ": " << outcome.text;
}

/// Numbers in a text may depend on the order in which elements are read.
std::string without_numbers(const std::string& text) {
  static const std::regex number(R"(-?\b\d+(\.\d+)?(e[-+]?\d+)?\b)");
  return std::regex_replace(text, number, "#");
}

Outcome outcome_of(const trifuse_status& opening, trifuse_amplitudes amplitudes) {
  if (opening.code != TRIFUSE_SUCCESS) return {opening.code, without_numbers(opening.message)};
  trifuse_status status;
  OpenCalculation calculation(amplitudes);
  trifuse_delete_amplitudes(&amplitudes);
  trifuse_set_threads(&status, calculation.calculation, 1);
  trifuse_run(&status, calculation.calculation);
  if (status.code != TRIFUSE_SUCCESS) return {status.code, without_numbers(status.message)};
  Outcome outcome;
  for (std::int64_t n = 0; n < trifuse_warning_count(&status, calculation.calculation); ++n) {
    char warning[TRIFUSE_MESSAGE_LENGTH];
    trifuse_get_warning(&status, calculation.calculation, n, warning);
    outcome.text += without_numbers(warning) + "\n";
  }
  return outcome;
}

/// The sentence about a file in the words for arrays.
std::string in_words_of_arrays(std::string text) {
  for (const auto& [of_file, of_arrays] :
       {std::pair{"dataset", "array"}, {"write", "pass"}, {"dump", "set of arrays"}, {"file", "array"}}) {
    text = std::regex_replace(text, std::regex(std::string(R"(\b)") + of_file), of_arrays);
  }
  return text;
}

/// A molecule with its arrays, and the path of the file for mistakes.
struct Molecule {
  Molecule(const std::string& name, bool restricted) : reference(restricted ? TRIFUSE_RHF : TRIFUSE_UHF) {
    const auto source = open_dump_of(name);
    write_dump(*source, path);
    raw = read_raw_dump(path);
    energy = source->info().correlation_energy.value();
    raw.attributes = {{"format", std::string("trifuse-dump")},
                      {"version", std::int64_t{1}},
                      {"reference", std::string(restricted ? "RHF" : "UHF")},
                      {"correlation_energy", energy}};
  }
  TemporaryFolder folder;
  std::string path = (folder.path() / "PATH").string();
  std::int32_t reference;
  double energy = 0.0;
  RawDump raw;

  Outcome of_file(const RawDump& dump) const {
    dump.write(path);
    trifuse_status status;
    const trifuse_amplitudes amplitudes = trifuse_open_amplitudes(&status, path.c_str());
    Outcome outcome = outcome_of(status, amplitudes);
    outcome.text = in_words_of_arrays(std::regex_replace(outcome.text, std::regex(path), "PATH"));
    return outcome;
  }
  Outcome of_arrays(const RawDump& dump, Layout layout) const {
    const HeldArrays held(dump, layout);
    DenseDescription description(held, reference);
    description.all.source = "PATH";
    description.all.correlation_energy = energy;
    trifuse_status status;
    const trifuse_amplitudes amplitudes = trifuse_new_dense_amplitudes(&status, &description.all);
    Outcome outcome = outcome_of(status, amplitudes);
    // A file says this only if it lacks the energy, too.
    outcome.text = std::regex_replace(outcome.text, std::regex(R"(\n?The arrays are checked only weakly[^\n]*)"), "");
    return outcome;
  }
};

const Molecule& molecule(bool restricted) {
  static const Molecule rhf("h2o_631g_c2v_rhf_t3_2eorb", true), uhf("ch2_631g_c1_uhf_t3", false);
  return restricted ? rhf : uhf;
}

class WrongArrays : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    threads_ = omp_get_max_threads();
    omp_set_num_threads(1);  // so that the first wrong element is always the same
  }
  void TearDown() override { omp_set_num_threads(threads_); }
  int threads_ = 1;
};

TEST_P(WrongArrays, MeetTheSentencesOfFiles) {
  const bool restricted = GetParam();
  const Molecule& good = molecule(restricted);
  ASSERT_TRUE(good.raw.datasets.contains(restricted ? "oovv" : "asym_oovv_aaaa"));
  EXPECT_EQ(good.of_file(good.raw), Outcome{});
  for (const Layout layout : {Layout::c_order, Layout::fortran_order, Layout::reader}) {
    EXPECT_EQ(good.of_arrays(good.raw, layout), Outcome{});
  }
  std::size_t refused = 0;
  for (const Mistake& mistake : mistakes()) {
    if (mistake.reference == (restricted ? Mistake::For::uhf : Mistake::For::rhf)) continue;
    SCOPED_TRACE(mistake.name);
    RawDump wrong = good.raw;
    mistake.make(wrong);
    const Outcome expected = good.of_file(wrong);
    EXPECT_NE(expected, Outcome{}) << "accepted without a word";
    refused += expected.code == TRIFUSE_BAD_INPUT ? 1 : 0;
    for (const Layout layout : {Layout::c_order, Layout::fortran_order, Layout::with_gaps, Layout::reader}) {
      EXPECT_EQ(good.of_arrays(wrong, layout), expected) << "layout " << static_cast<int>(layout);
    }
  }
  EXPECT_GE(refused, std::size_t{30});
}

INSTANTIATE_TEST_SUITE_P(All, WrongArrays, ::testing::Bool(),
                         [](const auto& restricted) { return restricted.param ? "Rhf" : "Uhf"; });

}
}
