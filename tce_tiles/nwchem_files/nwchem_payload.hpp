#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tce_tiles/nwchem_files/nwchem_file.hpp"
#include "tce_tiles/nwchem_files/nwchem_vector.hpp"

namespace trifuse {

/// A tensor in NWChem's files: a vector of doubles in one file, or in one file per I/O process.
class NwchemPayload final : public NwchemVector {
 public:
  /// Opens files of `set tce:writet` or `set tce:writeint`: STEM.000000, STEM.000001, ... (NWChem has an option for
  /// fewer digits). Each file has a header of two 8-byte integers: the number of files and the number of doubles in
  /// this file. Throws InputError if a file is missing or damaged.
  static NwchemPayload open_numbered(const std::string& stem);
  /// Opens the file of `set tce:save_t` or `set tce:save_integrals`. It consists of doubles only. Throws InputError if
  /// it is missing or damaged.
  static NwchemPayload open_plain(const std::string& path);

  std::int64_t doubles() const override { return doubles_; }
  /// Returns the path of the file, or of the first of several files.
  const std::string& path() const { return parts_.front().file.path(); }
  const std::string& name() const override { return path(); }

  /// Thread-safe.
  void read(std::int64_t offset, std::span<double> values) const override;

 private:
  /// The doubles in one file.
  struct Part {
    InputFile file;
    std::int64_t header;  ///< bytes before the first double
    std::int64_t first;   ///< position of this file's first double in the whole vector
    std::int64_t count;   ///< number of doubles in this file
  };

  void add(InputFile file, std::int64_t header, std::int64_t count);
  /// Returns the file that holds the double at `offset`.
  const Part& part_of(std::int64_t offset) const;
  /// Throws InputError if the numbers are plausible only with the opposite byte order.
  void check_byte_order() const;
  std::string not_finite(std::int64_t position, double value, const std::string& what) const override;

  std::vector<Part> parts_;
  std::int64_t doubles_ = 0;
};

/// Returns the name of the first numbered file of `stem` (STEM. and then only zeros), or an empty string if there is
/// none. Throws InputError if there are such files with different numbers of digits.
std::string first_numbered_file(const std::string& stem);

}
