#include "tce_tiles/nwchem_files/nwchem_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "cxx/base/error.hpp"
#include "tce_tiles/nwchem_files/nwchem_file.hpp"
#include "tce_tiles/nwchem_files/nwchem_output.hpp"

namespace trifuse {

namespace fs = std::filesystem;

namespace {

/// Returns the names of the files in a directory, sorted.
std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) throw InputError(fmt::format("The directory {} cannot be read: {}.", directory.string(), error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

/// Returns the prefix in `name` if it is the name of a file of amplitudes, otherwise an empty string.
std::string prefix_of(const std::string& name) {
  for (const std::string_view plain : {".t1_copy.40000", ".t2_copy.40000"}) {
    if (name.ends_with(plain)) return name.substr(0, name.size() - plain.size());
  }
  const auto dot = name.find_last_of('.');
  if (dot == std::string::npos || dot + 1 == name.size()) return {};
  if (name.find_first_not_of("0123456789", dot + 1) != std::string::npos) return {};
  for (const std::string_view numbered : {".t1amp", ".t2amp"}) {
    const std::string_view stem = std::string_view(name).substr(0, dot);
    if (stem.ends_with(numbered)) return std::string(stem.substr(0, stem.size() - numbered.size()));
  }
  return {};
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// Returns the longest prefix of amplitudes in the directory of `path` with which the name of this file begins; empty
/// if there is none.
std::string prefix_beside(const fs::path& path) {
  std::string longest;
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (const std::string& file : names_in(parent)) {
    const std::string prefix = prefix_of(file);
    if (prefix.size() > longest.size() && path.filename().string().starts_with(prefix + ".")) longest = prefix;
  }
  return longest.empty() ? longest : (path.parent_path() / longest).string();
}

/// Throws for a path under which there is nothing.
[[noreturn]] void throw_absent(const std::string& where) {
  const std::string extension = fs::path(where).extension().string();
  if (extension == ".h5" || extension == ".hdf5") {
    throw InputError(fmt::format("There is no file {}; check the path.", where));
  }
  throw InputError(
      fmt::format("There is no file {0}, and there are no NWChem amplitudes {0}.t1amp.000000 or {0}.t1_copy.40000; "
                  "check the path, and run NWChem with `set tce:writet T` and `set tce:writeint T`.",
                  where));
}

}

std::string find_prefix(const std::string& where) {
  const fs::path path(where);
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string name = path.filename().string();
  std::error_code error;
  if (!name.empty() && fs::is_directory(parent, error)) {
    for (const std::string& file : names_in(parent)) {
      if (prefix_of(file) == name) return where;
    }
  }
  if (!fs::is_directory(path, error)) {
    // The completion of shells leads to a file of amplitudes.
    if (const std::string prefix = prefix_of(name); !prefix.empty() && is_file(where))
      return where.substr(0, where.size() - name.size() + prefix.size());
    // The user may have named a file of another kind.
    if (fs::symlink_status(path, error).type() != fs::file_type::not_found && !where.empty()) {
      const InputFile file(where);
      if (const std::string prefix = prefix_beside(path); !prefix.empty()) {
        throw InputError(
            fmt::format("The file {} is one of several of NWChem; did you mean their prefix, {}?", where, prefix));
      }
      throw InputError(fmt::format(
          "The file {} is {}, and there are no NWChem amplitudes {}.t1amp.000000; name a dump, or the prefix of "
          "NWChem's files.",
          where, file.size() == 0 ? "empty" : "not a Trifuse dump (HDF5)", where));
    }
    throw_absent(where);
  }
  std::set<std::string> prefixes;
  for (const std::string& file : names_in(path)) {
    std::string prefix = prefix_of(file);
    if (!prefix.empty()) prefixes.insert(std::move(prefix));
  }
  if (prefixes.empty()) {
    throw InputError(fmt::format(
        "The directory {} has no NWChem amplitudes (*.t1amp.000000 or *.t1_copy.40000); run NWChem with `set "
        "tce:writet T` and `set tce:writeint T`.",
        where));
  }
  if (prefixes.size() > 1) {
    throw InputError(fmt::format("The directory {} has files of several calculations ({}); name one as {}.", where,
                                 fmt::join(prefixes, ", "), (path / *prefixes.begin()).string()));
  }
  return (path / *prefixes.begin()).string();
}

std::optional<NwchemPayload> open_tensor(const std::string& prefix, const std::string& numbered,
                                         const std::string& plain) {
  const std::string stem = prefix + "." + numbered;
  if (!first_numbered_file(stem).empty()) return NwchemPayload::open_numbered(stem);
  // If later files exist without the first one, the set was not copied completely.
  const fs::path path(stem);
  for (const std::string& file : names_in(path.has_parent_path() ? path.parent_path() : fs::path("."))) {
    const std::string start = path.filename().string() + ".";
    if (!file.starts_with(start) || file.size() == start.size()) continue;
    if (file.find_first_not_of("0123456789", start.size()) != std::string::npos) continue;
    throw InputError(fmt::format("The file {}.{} is missing, although {} exists; copy all files of the tensor.", stem,
                                 std::string(file.size() - start.size(), '0'), file));
  }
  std::error_code error;
  const std::string single = prefix + "." + plain;
  if (fs::exists(single, error)) return NwchemPayload::open_plain(single);
  return std::nullopt;
}

std::vector<std::string> find_outputs(const std::string& prefix) {
  for (const char* ending : {".out", ".log", ".nwout", ".output"}) {
    const std::string path = prefix + ending;
    if (is_file(path) && mentions_tce(path)) return {path};
  }
  const fs::path parent = fs::path(prefix).parent_path();
  std::vector<std::string> outputs;
  for (const std::string& name : names_in(parent.empty() ? fs::path(".") : parent)) {
    if (!name.ends_with(".out") && !name.ends_with(".log")) continue;
    const std::string path = (parent / name).string();
    if (is_file(path) && mentions_tce(path)) outputs.push_back(path);
  }
  return outputs;
}

std::string find_movecs(const std::string& prefix) {
  const std::string path = prefix + ".movecs";
  return is_file(path) ? path : std::string();
}

std::vector<std::string> files_of_nwchem(const std::string& prefix) {
  constexpr std::array<std::string_view, 17> kinds = {"t1amp",   "t2amp",   "f1int",  "v2int", "t1_copy", "t2_copy",
                                                      "f1_copy", "v2_copy", "movecs", "out",   "log",     "nwout",
                                                      "output",  "nw",      "db",     "p",     "zmat"};
  const fs::path path(prefix);
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const std::string beginning = path.filename().string() + ".";
  std::vector<std::string> files;
  for (const std::string& name : names_in(parent)) {
    if (!name.starts_with(beginning)) continue;
    const std::string kind = name.substr(beginning.size(), name.find('.', beginning.size()) - beginning.size());
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) files.push_back((parent / name).string());
  }
  return files;
}

}
