#include "drivers/derivatives_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5/hdf5_writer.hpp"

namespace trifuse::cli {

namespace {

/// Limit for the memory of slices, unless one slice is larger.
constexpr std::int64_t numbers_at_once = (std::int64_t{16} << 20) / std::int64_t{sizeof(double)};

}

DerivativesFile::DerivativesFile(Outputs& outputs, const std::string& path) : path_(path) {
  if (path.empty()) return;
  if (is_standard_output(path))
    throw UsageError("Derivatives are an HDF5 file; give --derivatives the name of a file.");
  OutputRules rules = outputs.add("--derivatives", path);
  rules.kept = fmt::format("this file exists already; {}, or give --overwrite to replace it", rules.cure);
  file_ = std::make_unique<OutputFile>(path, std::move(rules));
}

void DerivativesFile::write(const CalculationResult& result) {
  if (!file_) return;
  Hdf5Writer file = Hdf5Writer::create(file_->open(), path_);
  const TriplesEnergy& energy = result.energies.front();
  file.set_attribute("format", std::string_view("trifuse-derivatives"));
  file.set_attribute("version", std::int64_t{1});
  file.set_attribute("method", std::string_view(energy.method));
  file.set_attribute("omega2", energy.omega2);
  file.set_attribute("e_t", energy.total.values().back());
  bool has_left = false;
  const DerivativeArrays& derivatives = *result.derivatives;
  std::vector<double> values;
  for (const DerivativeArrays::Array& array : derivatives.list()) {
    if (array.name.starts_with("left/") && !has_left) {
      file.create_group("left");
      has_left = true;
    }
    // A number is an array of one element.
    const std::vector<std::int64_t> shape = array.shape.empty() ? std::vector<std::int64_t>{1} : array.shape;
    const Hdf5NewDataset dataset = file.create_dataset(array.name, shape, Hdf5Writer::Type::real);
    if (array.size() == 0) continue;
    const std::int64_t slices = array.slices(), of_slice = array.size() / slices;
    const std::int64_t step = std::clamp<std::int64_t>(numbers_at_once / of_slice, 1, slices);
    std::vector<std::int64_t> begin(shape.size(), 0), count = shape;
    for (std::int64_t first = 0; first < slices; first += step) {
      begin[0] = first;
      count[0] = std::min(step, slices - first);
      values.resize(static_cast<std::size_t>(count[0] * of_slice));
      derivatives.copy(array.name, first, count[0], values);
      dataset.write(begin, count, values);
    }
  }
  file.close();
  file_->finish();
}

}
