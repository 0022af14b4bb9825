#include "drivers/derivatives_file.hpp"

#include <cstdint>
#include <vector>

#include "tce_tiles/hdf5/hdf5_writer.hpp"

namespace trifuse::cli {

DerivativesFile::DerivativesFile(Outputs& outputs, const std::string& path) : path_(path) {
  if (!path.empty()) file_ = std::make_unique<OutputFile>(path, outputs.add("--derivatives", path));
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
  for (const NamedDerivative& derivative : result.derivatives) {
    if (derivative.name.starts_with("left/") && !has_left) {
      file.create_group("left");
      has_left = true;
    }
    // A number is an array of one element.
    const std::vector<std::int64_t> shape = derivative.shape.empty() ? std::vector<std::int64_t>{1} : derivative.shape;
    const Hdf5NewDataset dataset = file.create_dataset(derivative.name, shape, Hdf5Writer::Type::real);
    if (!derivative.values.empty()) dataset.write(std::vector<std::int64_t>(shape.size(), 0), shape, derivative.values);
  }
  file.close();
  file_->finish();
}

}
