#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cxx/base/output_file.hpp"
#include "tce_tiles/tiles/tile_source.hpp"

namespace trifuse::cli {

/// The output files of one command. An output never replaces an input, a journal or another output of the command. It
/// replaces another existing file only if that file is an earlier output of the same kind or if the user allows to
/// overwrite it.
class Outputs {
 public:
  /// `overwrite`: true if the user allows to overwrite existing files.
  explicit Outputs(bool overwrite) : overwrite_(overwrite) {}
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  /// Protects files from all outputs, also from outputs that are added later. Throws UsageError if an output that was
  /// added before is such a file. An empty path is ignored.
  void protect_input(const std::string& path);
  void protect_inputs(const TileSource& source);
  void protect_journal(const std::string& path);

  /// Adds an output and returns the rules for its file. `option`: the option that names the file, e.g. "--json". Throws
  /// UsageError if the file must not be written. The rules refer to this object, which must outlive them.
  OutputRules add(const std::string& option, const std::string& path);

 private:
  void refuse_protected(const std::string& path, const std::string& option) const;
  void check_all() const;

  bool overwrite_;
  std::vector<std::string> inputs_, journals_;
  std::vector<std::pair<std::string, std::string>> outputs_;  ///< pairs of option and path
};

/// Returns true if a report of this path goes to standard output. The command then prints nothing else there.
inline bool is_standard_output(const std::string& path) {
  return path == "-";
}

/// A JSON report, in a file or on standard output. Does nothing if its path is empty. `outputs` must outlive it.
class ReportFile {
 public:
  /// `command`: name of the command, e.g. "run". Throws as `Outputs::add` and OutputFile do.
  ReportFile(Outputs& outputs, const std::string& path, std::string command);
  /// Writes the report: the entries with which every report begins, and then `content`.
  void write(const nlohmann::ordered_json& content);

 private:
  std::string command_;
  bool on_standard_output_;
  std::unique_ptr<OutputFile> file_;
};

/// A file of text. Does nothing if its path is empty. `outputs` must outlive it.
class TextFile {
 public:
  /// `option`: the option that names the file. `kind`: e.g. "trace of `trifuse plan`". `beginning`: all files of this
  /// kind begin with it, and no other files. Throws as `Outputs::add` and OutputFile do.
  TextFile(Outputs& outputs, const std::string& option, const std::string& path, const std::string& kind,
           std::string_view beginning);
  /// Writes the text that `text` returns. Does not call `text` if there is no file.
  void write(const std::function<std::string()>& text);

 private:
  std::unique_ptr<OutputFile> file_;
};

}
