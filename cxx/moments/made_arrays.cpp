#include "cxx/moments/made_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "cxx/base/box_pieces.hpp"
#include "cxx/base/buffer.hpp"
#include "cxx/base/error.hpp"

namespace trifuse::moments {

namespace {

class MadeArray final : public DenseArray {
 public:
  MadeArray(ArrayLabel label, std::vector<std::int64_t> shape, MadeArrays::Make make)
      : DenseArray(std::move(label)), shape_(std::move(shape)), make_(std::move(make)) {}

  std::span<const std::int64_t> shape() const override { return shape_; }
  bool is_integer() const override { return false; }
  Access access() const override { return Access::boxes; }
  void read(std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
            std::span<double> out) const override {
    if (std::equal(count.begin(), count.end(), shape_.begin(), shape_.end()) && !out.empty()) {
      const std::lock_guard lock(mutex_);
      if (memory_.data() == nullptr) return make_(out.data());
    }
    const double* const from = elements();
    BoxPieces pieces(shape_, offset, count);
    double* to = out.data();
    for (std::int64_t n = 0; n < pieces.count(); ++n, pieces.next()) {
      to = std::copy_n(from + pieces.first(), pieces.length(), to);
    }
  }

 private:
  const double* elements() const {
    const std::lock_guard lock(mutex_);
    if (memory_.data() == nullptr) {
      Buffer made(std::max<std::size_t>(1, static_cast<std::size_t>(elements_of(shape_))));
      make_(made.data());
      memory_ = std::move(made);
    }
    return memory_.data();
  }

  const std::vector<std::int64_t> shape_;
  const MadeArrays::Make make_;
  mutable std::mutex mutex_;
  mutable Buffer memory_;  ///< without memory before a part is read
};

}

MadeArrays::MadeArrays(std::shared_ptr<const DenseArrays> others)
    : others_(std::move(others)), path_(others_->path()), words_(others_->words()) {}

void MadeArrays::add(const std::string& name, std::vector<std::int64_t> shape, Make make) {
  Description& description = made_[name];
  description.shape = std::move(shape);
  description.make = std::move(make);
}

std::shared_ptr<const DenseArray> MadeArrays::array(const std::string& name) const {
  const auto found = made_.find(name);
  if (found == made_.end()) {
    if (others_ != nullptr) return others_->array(name);
    throw InputError(fmt::format("{} is missing.", label(name).text()));
  }
  const Description& description = found->second;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const DenseArray> array = description.opened.lock();
  if (array == nullptr) {
    array = std::make_shared<const MadeArray>(label(name), description.shape, description.make);
    description.opened = array;
  }
  return array;
}

}
