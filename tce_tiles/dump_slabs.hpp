#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "tce_tiles/dump_layout.hpp"
#include "tce_tiles/singles_equation.hpp"

namespace trifuse {

/// The arrays of one dump, or of two (amplitudes and integrals), as the equation of the single excitations reads them.
class DumpSlabs final : public SinglesSlabs {
 public:
  /// `amplitudes` and `integrals` may be the same file.
  DumpSlabs(const Hdf5File& amplitudes, const Hdf5File& integrals, const DumpHeader& header);

  /// Says in `problem` which arrays are there and in which form.
  void describe(SinglesProblem& problem) const;

  void read_t2(int u, int s, std::int64_t n, std::int64_t first, std::int64_t count,
               std::span<double> out) const override;
  void read_ovov(int u, int s, std::int64_t n, std::span<double> out) const override;
  void read_ovoo(int u, int s, std::int64_t n, std::span<double> out) const override;
  void read_oovv(int s, std::int64_t n, std::span<double> out) const override;

 private:
  struct Array {
    ArraySpec spec;
    Hdf5Dataset dataset;
  };
  void add(const Hdf5File& file, const ArraySpec& spec);
  const Array& find(ArrayKind kind, int first, int second) const;

  DumpHeader header_;
  std::map<std::tuple<ArrayKind, int, int>, Array> arrays_;
};

}  // namespace trifuse
