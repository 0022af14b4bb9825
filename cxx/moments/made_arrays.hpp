#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tce_tiles/dense/dense_arrays.hpp"

namespace trifuse::moments {

/// Dense arrays that are made when they are read, beside other ones. DenseArray::read_all() makes the elements where
/// the caller wants them. A read of a part makes all elements, which are in memory from then on as long as somebody has
/// the array.
class MadeArrays final : public DenseArrays {
 public:
  /// Writes all elements of an array in C order. Only one thread at a time calls it for the same array.
  using Make = std::function<void(double* elements)>;

  /// `others`: all other arrays.
  explicit MadeArrays(std::shared_ptr<const DenseArrays> others);
  /// There are no other arrays. `path`, `words`: as of DenseArrays.
  MadeArrays(std::string path, ArrayWords words) : path_(std::move(path)), words_(words) {}

  /// Adds an array, which takes the place of another one of its name. Must not be called after array().
  void add(const std::string& name, std::vector<std::int64_t> shape, Make make);

  const std::string& path() const override { return path_; }
  ArrayWords words() const override { return words_; }
  bool has(const std::string& name) const override {
    return made_.contains(name) || (others_ != nullptr && others_->has(name));
  }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override;

 private:
  struct Description {
    std::vector<std::int64_t> shape;
    Make make;
    mutable std::weak_ptr<const DenseArray> opened;
  };

  std::shared_ptr<const DenseArrays> others_;  ///< null: none
  const std::string path_;
  const ArrayWords words_;
  std::map<std::string, Description> made_;
  mutable std::mutex mutex_;  ///< locked by a reader of Description::opened
};

}
