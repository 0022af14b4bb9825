#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tce_tiles/hdf5/hdf5_file.hpp"
#include "tce_tiles/sources/array_source.hpp"
#include "tests/tce_tiles/dump_test_data.hpp"

namespace trifuse::testing {

/// Reads the arrays of an existing dump.
inline RawDump read_raw_dump(const std::string& path) {
  const Hdf5File file = Hdf5File::open(path);
  RawDump dump;
  for (const std::string& name : file.members("/")) {
    if (name == "seal") continue;
    const Hdf5Dataset dataset = file.dataset(name);
    RawDump::Dataset& data = dump.datasets[name];
    data.shape.assign(dataset.shape().begin(), dataset.shape().end());
    data.values.resize(static_cast<std::size_t>(dataset.size()));
    data.type = dataset.is_integer() ? Hdf5Writer::Type::integer : Hdf5Writer::Type::real;
    dataset.read_all(data.values);
  }
  return dump;
}

/// Replaces each (ia|bc) with b < c by (ia|cb), so that the packed arrays hold the same numbers.
inline void make_symmetric(RawDump& dump) {
  for (auto& [name, data] : dump.datasets) {
    if (!name.starts_with("ovvv")) continue;
    const std::int64_t v = data.shape[3];
    for (std::size_t at = 0; at < data.values.size(); at += static_cast<std::size_t>(v * v)) {
      for (std::int64_t b = 0; b < v; ++b) {
        for (std::int64_t c = b + 1; c < v; ++c) {
          data.values[at + static_cast<std::size_t>(b * v + c)] = data.values[at + static_cast<std::size_t>(c * v + b)];
        }
      }
    }
  }
}

/// The arrays of a dump in the memory of a caller.
class HeldArrays {
 public:
  enum class Layout {
    c_order,
    fortran_order,
    with_gaps,  ///< one number in every three, in the reverse order
    reader,
  };

  HeldArrays(const RawDump& dump, Layout layout, bool packed = false) : layout_(layout) {
    for (const auto& [name, data] : dump.datasets) {
      const bool pack_this = packed && name.starts_with("ovvv");
      add(name, pack_this ? pack(data) : data);
    }
  }
  HeldArrays(const HeldArrays&) = delete;
  HeldArrays& operator=(const HeldArrays&) = delete;

  const std::vector<CallerArray>& arrays() const { return arrays_; }
  std::unique_ptr<TileSource> open(SourceInfo info) const { return open_arrays(std::move(info), arrays_); }

 private:
  static RawDump::Dataset pack(const RawDump::Dataset& data) {
    const std::int64_t v = data.shape[3];
    RawDump::Dataset packed{{data.shape[0], data.shape[1], v * (v + 1) / 2}, {}};
    for (std::int64_t at = 0; at < data.shape[0] * data.shape[1] * v * v; at += v * v) {
      for (std::int64_t b = 0; b < v; ++b) {
        for (std::int64_t c = 0; c <= b; ++c) {
          packed.values.push_back(data.values[static_cast<std::size_t>(at + b * v + c)]);
        }
      }
    }
    return packed;
  }

  void add(const std::string& name, const RawDump::Dataset& data) {
    CallerArray array;
    array.name = name;
    array.shape = data.shape;
    if (data.type == Hdf5Writer::Type::integer) {
      array.type = CallerArray::Type::int32;
      array.data = integers_.emplace(name, std::vector<std::int32_t>(data.values.begin(), data.values.end()))
                       .first->second.data();
      arrays_.push_back(std::move(array));
      return;
    }
    std::vector<double>& numbers = numbers_[name];
    numbers = data.values;
    if (layout_ == Layout::reader) {
      array.reader = [&numbers, shape = array.shape](std::span<const std::int64_t> offset,
                                                     std::span<const std::int64_t> count, std::span<double> box) {
        read_box(numbers, shape, offset, count, box);
      };
      arrays_.push_back(std::move(array));
      return;
    }
    array.data = layout_ == Layout::c_order ? numbers.data() : arrange(array, numbers);
    arrays_.push_back(std::move(array));
  }

  /// Delivers a box element by element.
  static void read_box(const std::vector<double>& numbers, const std::vector<std::int64_t>& shape,
                       std::span<const std::int64_t> offset, std::span<const std::int64_t> count,
                       std::span<double> box) {
    for (std::int64_t n = 0; n < std::ssize(box); ++n) {
      std::int64_t rest = n, at = 0, stride = 1;
      for (std::size_t k = shape.size(); k-- > 0;) {
        at += (offset[k] + rest % count[k]) * stride;
        rest /= count[k];
        stride *= shape[k];
      }
      box[static_cast<std::size_t>(n)] = numbers.at(static_cast<std::size_t>(at));
    }
  }

  /// Stores the numbers in another order, sets the strides, and returns the address of the first element.
  const double* arrange(CallerArray& array, std::vector<double>& numbers) const {
    const std::size_t rank = array.shape.size();
    array.strides.assign(rank, 1);
    std::int64_t first = 0;
    if (layout_ == Layout::fortran_order) {
      for (std::size_t k = 1; k < rank; ++k) array.strides[k] = array.strides[k - 1] * array.shape[k - 1];
    } else {
      array.strides[rank - 1] = -3;
      for (std::size_t k = rank - 1; k-- > 0;) array.strides[k] = array.strides[k + 1] * array.shape[k + 1];
      first = 3 * std::ssize(numbers);
    }
    std::vector<double> arranged(3 * numbers.size() + 1, 1e300);
    for (std::int64_t n = 0; n < std::ssize(numbers); ++n) {
      std::int64_t rest = n, at = first;
      for (std::size_t k = rank; k-- > 0; rest /= array.shape[k]) at += rest % array.shape[k] * array.strides[k];
      arranged.at(static_cast<std::size_t>(at)) = numbers[static_cast<std::size_t>(n)];
    }
    numbers = std::move(arranged);
    return numbers.data() + first;
  }

  Layout layout_;
  std::map<std::string, std::vector<double>> numbers_;
  std::map<std::string, std::vector<std::int32_t>> integers_;
  std::vector<CallerArray> arrays_;
};

}
