#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tce_tiles/nwchem_file.hpp"
#include "tce_tiles/nwchem_vector.hpp"

namespace trifuse {

/// One tensor as NWChem wrote it: a vector of doubles in one file, or in one file per I/O process.
class NwchemPayload final : public NwchemVector {
 public:
  /// Files of `set tce:writet` and `set tce:writeint`: STEM.000000, STEM.000001, ... (NWChem can be told to use fewer
  /// digits), each with a header of two 8-byte integers: the number of files and the number of doubles in this file.
  static NwchemPayload open_numbered(const std::string& stem);
  /// One file of `set tce:save_t` or `set tce:save_integrals`: doubles and nothing else.
  static NwchemPayload open_plain(const std::string& path);

  std::int64_t doubles() const override { return doubles_; }
  /// The file, or the first of several.
  const std::string& path() const { return parts_.front().file.path(); }
  const std::string& name() const override { return path(); }
  std::size_t files() const { return parts_.size(); }

  /// Thread-safe.
  void read(std::int64_t offset, std::span<double> values) const override;

 private:
  struct Part {
    InputFile file;
    std::int64_t header;  ///< bytes before the first double
    std::int64_t first;   ///< number of this file's first double in the whole vector
    std::int64_t count;
  };

  void add(InputFile file, std::int64_t header, std::int64_t count);
  const Part& part_of(std::int64_t offset) const;
  /// Throws InputError if the numbers make sense only with their bytes in the opposite order.
  void check_byte_order() const;
  std::string not_finite(std::int64_t position, double value, const std::string& what) const override;

  std::vector<Part> parts_;
  std::int64_t doubles_ = 0;
};

/// The name of the first numbered file of STEM (STEM. and only zeros), or an empty string if there is none. Throws
/// InputError if there are first files with different numbers of digits.
std::string first_numbered_file(const std::string& stem);

}  // namespace trifuse
