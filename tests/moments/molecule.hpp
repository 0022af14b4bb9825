#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cxx/moments/moment_arrays.hpp"
#include "cxx/moments/moment_operands.hpp"
#include "cxx/moments/tensors.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/dump_files/hdf5_arrays.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

/// Files of tests/data/moments, with inputs and results.
namespace trifuse::moments {

/// The arrays of a file, in memory.
class FileArrays {
 public:
  explicit FileArrays(const std::string& name)
      : file_(Hdf5File::open(std::string(TRIFUSE_TEST_DATA) + "/moments/" + name)) {}

  const Hdf5File& file() const { return file_; }
  bool has(const std::string& name) const { return file_.has(name); }
  const std::vector<double>& numbers(const std::string& name) {
    std::vector<double>& numbers = numbers_[name];
    if (numbers.empty()) {
      const Hdf5Dataset dataset = file_.dataset(name);
      numbers.resize(static_cast<std::size_t>(dataset.size()));
      dataset.read_all(numbers);
    }
    return numbers;
  }
  double attribute(const std::string& name) const { return file_.attributes().real(name).value(); }
  const double* first(const std::string& name) { return numbers(name).data(); }
  std::vector<std::int64_t> shape(const std::string& name) const {
    const Hdf5Dataset dataset = file_.dataset(name);
    return {dataset.shape().begin(), dataset.shape().end()};
  }

 private:
  Hdf5File file_;
  std::map<std::string, std::vector<double>> numbers_;
};

inline DenseHeader header_of(const DenseArrays& arrays, bool closed_shell) {
  SourceInfo info;
  info.reference = closed_shell ? Reference::rhf : Reference::uhf;
  return read_dense_header(arrays, info);
}

inline char letter(Spin s) {
  return s == alpha ? 'a' : 'b';
}
inline std::string letters(Spin s, Spin t) {
  return {letter(s), letter(t)};
}

/// The names of the arrays of a dump.
struct Names {
  bool closed_shell;

  std::string of_spin(const std::string& name, Spin s) const { return closed_shell ? name : name + "_" + letter(s); }
  std::string of_spins(const std::string& name, Spin s, Spin t) const {
    return closed_shell ? name : name + "_" + letters(s, t);
  }
  std::string of_pairs(const std::string& name, Spin s, Spin t) const {
    return closed_shell ? name : name + "_" + letters(s, s) + letters(t, t);
  }
  std::string of_operand(const std::string& name, Spin s, Spin t) const {
    return (!closed_shell && s == t ? "asym_" : "") + of_pairs(name, s, t);
  }
  /// A table of a closed shell has its name from equal or opposite spins.
  std::string of_table(const std::string& name, Spin s, Spin t) const {
    return "table_" + (closed_shell ? name + (s == t ? "_s" : "_o") : of_spins(name, s, t));
  }
};

/// A file, and what is made of its arrays.
struct Molecule {
  FileArrays arrays;
  Names names;
  MomentArrays in_memory;
  std::map<std::string, OwnedArray> antisymmetrised;  ///< by the name of the plain array

  explicit Molecule(const std::string& file)
      : arrays(file),
        names{arrays.has("t2")},
        in_memory(Hdf5Arrays(arrays.file()), header_of(Hdf5Arrays(arrays.file()), names.closed_shell),
                  {"oooo", "ovoo", "oovv", "ovov", "ovvv"}) {}

  MomentInputs inputs() {
    MomentInputs in = in_memory.inputs();
    for_operands([&](Spin s, Spin t) { in.kvvv[s][t] = arrays.first(names.of_pairs("kvvv", s, t)); });
    return in;
  }

  /// Replaces the integrals of equal spins by antisymmetrised ones, by the formulas of the dump's page.
  MomentInputs antisymmetrised_inputs() {
    struct Formula {
      std::string name, subtracted;
      ArrayOfSpins& blocks;
      std::vector<std::size_t> axes;  ///< of the subtracted array
    };
    MomentInputs in = inputs();
    in.antisymmetrised = true;
    for (const Formula& f : {Formula{"oooo", "oooo", in.oooo, {2, 1, 0, 3}},
                             {"ovoo", "ovoo", in.ovoo, {2, 1, 0, 3}},
                             {"oovv", "ovov", in.oovv, {0, 2, 3, 1}},
                             {"ovov", "ovov", in.ovov, {0, 3, 2, 1}},
                             {"ovvv", "ovvv", in.ovvv, {0, 2, 1, 3}},
                             {"kvvv", "kvvv", in.kvvv, {0, 2, 1, 3}}}) {
      for (const Spin s : both_spins) {
        const std::string name = names.of_pairs(f.name, s, s), other = names.of_pairs(f.subtracted, s, s);
        const Terms terms(contract_on_cores(1), 1);
        OwnedArray& made = antisymmetrised[name] = terms.make(arrays.shape(name));
        terms.add(made.result(), "pqrs->pqrs", 1.0, {arrays.first(name), arrays.shape(name)});
        terms.add(made.result(), "pqrs->pqrs", -1.0,
                  ArrayView(arrays.first(other), arrays.shape(other)).with_axes(f.axes));
        f.blocks[s][s] = made.view().first;
      }
    }
    return in;
  }

  /// Returns the inputs in each form that the molecule can have.
  std::vector<MomentInputs> all_inputs() {
    std::vector<MomentInputs> all = {inputs()};
    if (!names.closed_shell) all.push_back(antisymmetrised_inputs());
    return all;
  }

  /// Calls `body` for the spins of all operands.
  template <typename Body>
  void for_operands(const Body& body) const {
    if (names.closed_shell) return body(alpha, beta);
    for (const Spin s : both_spins)
      for (const Spin t : both_spins) body(s, t);
  }

  void expect(const std::string& name, const double* found) {
    const std::vector<double>& expected = arrays.numbers(name);
    double largest = 0.0, difference = 0.0;
    for (std::size_t n = 0; n < expected.size(); ++n) {
      largest = std::max(largest, std::abs(expected[n]));
      difference = std::max(difference, std::isnan(found[n]) ? 1e300 : std::abs(found[n] - expected[n]));
    }
    EXPECT_GT(largest, 0.0) << name;
    EXPECT_LE(difference, 1e-12 * largest) << name;
  }
};

}
