#include "tce_tiles/dump_files/hdf5_arrays.hpp"

namespace trifuse {
namespace {

class DatasetArray final : public DenseArray {
 public:
  DatasetArray(ArrayLabel label, Hdf5Dataset dataset) : DenseArray(std::move(label)), dataset_(std::move(dataset)) {}

  std::span<const std::int64_t> shape() const override { return dataset_.shape(); }
  bool is_integer() const override { return dataset_.is_integer(); }
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    dataset_.read(offset, count, out);
  }

 private:
  Hdf5Dataset dataset_;
};

}

std::shared_ptr<const DenseArray> Hdf5Arrays::array(const std::string& name) const {
  return std::make_shared<DatasetArray>(label(name), file_.dataset(name));
}

}
