#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/buffer.hpp"
#include "tce_tiles/dense/array_specs.hpp"
#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/dense/dense_input.hpp"
#include "tce_tiles/sources/array_source.hpp"
#include "tce_tiles/sources/caller_arrays.hpp"
#include "tce_tiles/tiles/tile_space.hpp"

namespace trifuse::moments {

/// The arrays of an input, some of which are replaced.
class DressedArrays final : public DenseArrays {
 public:
  explicit DressedArrays(std::shared_ptr<const DenseArrays> bare) : bare_(std::move(bare)) {}

  const std::string& path() const override { return bare_->path(); }
  ArrayWords words() const override { return bare_->words(); }
  bool has(const std::string& name) const override {
    return (dressed_ != nullptr && dressed_->has(name)) || (!replaced_.contains(name) && bare_->has(name));
  }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override {
    return dressed_ != nullptr && dressed_->has(name) ? dressed_->array(name) : bare_->array(name);
  }

  const DenseArrays& bare() const { return *bare_; }
  /// Returns the memory of an array `name`, which replaces that with the name `bare`.
  double* add(const std::string& name, const std::string& bare, std::vector<std::int64_t> shape);
  /// Begins to deliver the arrays that were added.
  void finish() { dressed_ = std::make_unique<CallerArrays>(path(), described_); }

 private:
  std::shared_ptr<const DenseArrays> bare_;
  std::set<std::string> replaced_;
  std::vector<Buffer> memory_;
  std::vector<CallerArray> described_;
  std::unique_ptr<CallerArrays> dressed_;
};

/// Memory for a dressed array.
struct NewArray {
  Spin s, t;  ///< of the first and of the second pair of indices
  std::vector<std::int64_t> shape;
  double* elements;
};

/// Adds arrays in the place of those of a kind, of all spins. Arrays without elements remain those of the input.
std::vector<NewArray> add_new(DressedArrays& arrays, const DenseHeader& header, ArrayKind kind);
/// Returns `input` with these arrays, which are finished.
std::shared_ptr<DenseInput> with_arrays(const DenseInput& input, std::shared_ptr<DressedArrays> arrays);

}
