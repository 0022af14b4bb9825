#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tce_tiles/dense/dense_arrays.hpp"
#include "tce_tiles/hdf5/hdf5_file.hpp"

namespace trifuse {

/// The datasets of an open HDF5 file as dense arrays.
class Hdf5Arrays final : public DenseArrays {
 public:
  explicit Hdf5Arrays(Hdf5File file) : file_(std::move(file)) {}

  const std::string& path() const override { return file_.path(); }
  ArrayWords words() const override { return {"dataset", "write", "dump", "file"}; }
  bool has(const std::string& name) const override { return file_.has(name); }
  std::shared_ptr<const DenseArray> array(const std::string& name) const override;

 private:
  Hdf5File file_;
};

}
