#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/output_file.hpp"
#include "tce_tiles/tile_source.hpp"

namespace trifuse::cli {

/// What one command writes, and what its outputs must not replace: its inputs, journals, each other, and any file that
/// is no earlier output of the same kind, unless the user allows to overwrite it.
class Outputs {
 public:
  explicit Outputs(bool overwrite) : overwrite_(overwrite) {}
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  /// These protect files from all outputs, those before and those to come. Throw UsageError if one of the outputs
  /// before is such a file. An empty path is no file.
  void protect_input(const std::string& path);
  void protect_inputs(const TileSource& source);
  void protect_journal(const std::string& path);

  /// An output that `option` names, to which the rules for it belong. Throws UsageError if it must not be written.
  OutputRules add(const std::string& option, const std::string& path);
  bool overwrite() const { return overwrite_; }

 private:
  void refuse_protected(const std::string& path, const std::string& option) const;
  void check_all() const;

  bool overwrite_;
  std::vector<std::string> inputs_, journals_;
  std::vector<std::pair<std::string, std::string>> outputs_;  ///< option and path
};

/// A JSON report, or none if its path is empty. `outputs` must outlive it.
class ReportFile {
 public:
  /// `command`: whose report it is, "run". Throws as OutputFile.
  ReportFile(Outputs& outputs, const std::string& path, std::string command);
  /// Adds what all reports begin with.
  void write(const nlohmann::ordered_json& content);

 private:
  std::string command_;
  std::unique_ptr<OutputFile> file_;
};

/// A drawing (SVG), or none if its path is empty. `outputs` must outlive it.
class DrawingFile {
 public:
  DrawingFile(Outputs& outputs, const std::string& option, const std::string& path);
  void write(const std::function<std::string()>& draw);

 private:
  std::unique_ptr<OutputFile> file_;
};

}  // namespace trifuse::cli
