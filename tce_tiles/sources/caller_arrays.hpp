#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/sources/array_source.hpp"

namespace trifuse {

/// The arrays of a caller as dense arrays. A packed array has the shape of the array that it stands for.
class CallerArrays final : public DenseArrays {
 public:
  /// `path` names the caller in messages. Throws UsageError if a description is not possible.
  CallerArrays(std::string path, std::vector<CallerArray> arrays);

  const std::string& path() const override { return path_; }
  ArrayWords words() const override { return {"array", "pass", "set of arrays", "array"}; }
  bool has(const std::string& name) const override { return arrays_.contains(name); }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override;

 private:
  std::string path_;
  std::map<std::string, std::shared_ptr<const DenseArray>> arrays_;
  std::mutex reading_;  ///< locked by the thread that calls a reader
};

}
