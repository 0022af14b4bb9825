#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cxx/base/error.hpp"
#include "tce_tiles/nwchem_files/nwchem_source.hpp"
#include "tests/support/temporary_folder.hpp"

/// The dumps in tests/data/nwchem, and copies of them that tests may damage.
namespace trifuse::testing {

namespace fs = std::filesystem;

/// The folder tests/data. The environment variable TRIFUSE_TEST_DATA may name another folder, for test programs that
/// run on another machine.
inline fs::path test_data() {
  const char* elsewhere = std::getenv("TRIFUSE_TEST_DATA");
  return elsewhere != nullptr ? elsewhere : TRIFUSE_TEST_DATA;
}
inline fs::path nwchem_data() {
  return test_data() / "nwchem";
}

/// Names of the valid dumps whose names contain `part`. The names of invalid dumps start with bad_. Throws if there is
/// none, because a test of no dumps would pass.
inline std::vector<std::string> good_dumps(const std::string& part = "") {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(nwchem_data())) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && !name.starts_with("bad_") && name.find(part) != std::string::npos)
      names.push_back(name);
  }
  if (names.empty()) throw std::runtime_error("there are no dumps \"" + part + "\" in " + nwchem_data().string());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
inline void write_text(const fs::path& path, const std::string& text) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << text;
}

/// The text after `"key":` of a dump in expected.json, up to the end of the line. Searches for the keys in this order,
/// each after the one before, within the dump.
inline std::optional<std::string> expected_text(const std::string& dump, const std::vector<std::string>& keys) {
  static const std::string json = read_text(nwchem_data() / "expected.json");
  std::size_t position = json.find("\"" + dump + "\":");
  if (position == std::string::npos) return std::nullopt;
  // The next dump starts at the same depth.
  const std::size_t line = json.rfind('\n', position) + 1;
  const std::string indent = "\n" + json.substr(line, position - line) + "}";
  const std::size_t end = json.find(indent, position);
  for (const std::string& key : keys) {
    position = json.find("\"" + key + "\":", position);
    if (position == std::string::npos || position > end) return std::nullopt;
    position += key.size() + 3;
  }
  const std::size_t begin = json.find_first_not_of(" \"", position);
  return json.substr(begin, json.find_first_of(",\n\"}", begin) - begin);
}
inline double expected_number(const std::string& dump, const std::vector<std::string>& keys) {
  const auto text = expected_text(dump, keys);
  if (!text) throw std::runtime_error("expected.json has no " + keys.back() + " of " + dump);
  return std::stod(*text);
}

/// A copy of a dump whose files tests may damage. `file("t1amp")` is the path of c.t1amp.000000.
class DumpCopy {
 public:
  explicit DumpCopy(const std::string& dump) {
    for (const auto& entry : fs::directory_iterator(nwchem_data() / dump)) {
      const fs::path to = folder_.path() / entry.path().filename();
      fs::copy_file(entry.path(), to);
      fs::permissions(to, fs::perms::owner_write, fs::perm_options::add);
    }
  }
  fs::path folder() const { return folder_.path(); }
  std::string prefix() const { return (folder_.path() / "c").string(); }
  fs::path file(const std::string& name) const {
    for (const char* ending : {"", ".000000", ".40000", ".10000"}) {
      const fs::path path = folder_.path() / ("c." + name + ending);
      if (fs::exists(path)) return path;
    }
    throw std::runtime_error("no file " + name);
  }
  std::vector<std::byte> bytes(const std::string& name) const {
    const std::string text = read_text(file(name));
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }
  void write(const std::string& name, const std::vector<std::byte>& bytes) const {
    write_text(file(name), std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  /// The doubles of a numbered file, without its header.
  std::vector<double> doubles(const std::string& name) const {
    const auto raw = bytes(name);
    std::vector<double> values((raw.size() - 16) / 8);
    std::memcpy(values.data(), raw.data() + 16, values.size() * 8);
    return values;
  }
  void write_doubles(const std::string& name, const std::vector<double>& values) const {
    std::vector<std::byte> raw(16 + 8 * values.size());
    const std::int64_t header[2] = {1, static_cast<std::int64_t>(values.size())};
    std::memcpy(raw.data(), header, 16);
    std::memcpy(raw.data() + 16, values.data(), 8 * values.size());
    write(name, raw);
  }
  void remove(const std::string& name) const { fs::remove(file(name)); }
  /// Removes the lines of the output that contain `text`.
  void drop_lines(const std::string& text) const {
    const std::string output = read_text(file("out"));
    std::string kept;
    for (std::size_t begin = 0; begin < output.size();) {
      const std::size_t end = std::min(output.find('\n', begin), output.size() - 1) + 1;
      const std::string line = output.substr(begin, end - begin);
      if (line.find(text) == std::string::npos) kept += line;
      begin = end;
    }
    write_text(file("out"), kept);
  }
  std::unique_ptr<TileSource> open() const {
    NwchemLocation location;
    location.prefix = prefix();
    return open_nwchem(location);
  }

 private:
  TemporaryFolder folder_;
};

inline std::unique_ptr<TileSource> open_dump_of(const std::string& dump) {
  NwchemLocation location;
  location.prefix = (nwchem_data() / dump / "c").string();
  return open_nwchem(location);
}

/// Runs `action`. It must throw InputError with one sentence that contains all `parts`.
template <typename Action>
void expect_refusal(Action action, const std::vector<std::string>& parts) {
  try {
    action();
  } catch (const InputError& error) {
    const std::string message = error.what();
    for (const std::string& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
    EXPECT_TRUE(message.ends_with(".")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return;
  }
  std::string wanted;
  for (const std::string& part : parts) wanted += part + " ";
  ADD_FAILURE() << "nothing was refused; wanted: " << wanted;
}

}
