#pragma once

#include <memory>
#include <string>

#include "cxx/base/output_file.hpp"
#include "cxx/calculation/calculation.hpp"
#include "drivers/outputs.hpp"

namespace trifuse::cli {

/// An HDF5 file with derivatives, see drivers/docs/derivatives.md. Does nothing if its path is empty.
class DerivativesFile {
 public:
  /// `outputs` must outlive this object. Throws as `Outputs::add` and OutputFile do.
  DerivativesFile(Outputs& outputs, const std::string& path);
  /// Writes the derivatives of a result, slice by slice, and its energy. Throws SystemError.
  void write(const CalculationResult& result);

 private:
  std::string path_;
  std::unique_ptr<OutputFile> file_;
};

}
