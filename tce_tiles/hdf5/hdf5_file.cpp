#include "tce_tiles/hdf5/hdf5_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5/hdf5_description.hpp"
#include "tce_tiles/hdf5/hdf5_structure.hpp"

namespace trifuse {

/// The contents of an open file that have been read so far. A group or dataset is checked when it is first used.
struct Hdf5File::State {
  explicit State(const std::string& path)
      : structure(std::make_shared<const Hdf5Structure>(path)), attributes(*structure) {}

  /// Returns the links of the group that `link` leads to. `name`: name of the link, for error messages.
  const Hdf5Links& links(const Hdf5Link& link, const std::string& name);
  /// Returns the link of an object; null if there is no such object.
  const Hdf5Link* find(const std::string& name);
  /// Returns the address of the header of the object that `link` leads to. Throws InputError if `link` only gives
  /// another name.
  std::uint64_t address(const Hdf5Link& link, const std::string& name) const;
  /// Returns the description of a dataset, read at the first call.
  std::shared_ptr<const Hdf5Description> description(const std::string& name);

  const std::shared_ptr<const Hdf5Structure> structure;
  const Hdf5Attributes attributes;
  std::mutex mutex;
  std::map<std::uint64_t, Hdf5Links> groups;  ///< by address
  std::map<std::string, std::shared_ptr<const Hdf5Description>> datasets;
};

std::uint64_t Hdf5File::State::address(const Hdf5Link& link, const std::string& name) const {
  if (link.hard) return link.address;
  throw InputError(fmt::format("{}: '{}' is a link to another place; store the object itself under this name.",
                               structure->file().path(), name));
}

const Hdf5Links& Hdf5File::State::links(const Hdf5Link& link, const std::string& name) {
  const std::uint64_t at = address(link, name);
  const auto known = groups.find(at);
  return known != groups.end() ? known->second : groups.emplace(at, structure->links(at)).first->second;
}

const Hdf5Link* Hdf5File::State::find(const std::string& name) {
  const Hdf5Links* group = &structure->root_links();
  for (std::size_t begin = 0;;) {
    const std::size_t slash = name.find('/', begin);
    const auto found = group->find(name.substr(begin, slash - begin));
    if (found == group->end()) return nullptr;
    if (slash == std::string::npos) return &found->second;
    group = &links(found->second, name.substr(0, slash));
    begin = slash + 1;
  }
}

std::shared_ptr<const Hdf5Description> Hdf5File::State::description(const std::string& name) {
  const auto known = datasets.find(name);
  if (known != datasets.end()) return known->second;
  const Hdf5Link* const link = find(name);
  if (link == nullptr) throw InputError(fmt::format("{}: dataset '{}' is missing.", structure->file().path(), name));
  auto found = std::make_shared<const Hdf5Description>(describe_dataset(*structure, address(*link, name), name));
  return datasets.emplace(name, std::move(found)).first->second;
}

Hdf5File Hdf5File::open(const std::string& path) {
  Hdf5File file;
  file.state_ = std::make_shared<State>(path);
  return file;
}

const std::string& Hdf5File::path() const {
  return state_->structure->file().path();
}

const Hdf5Attributes& Hdf5File::attributes() const {
  return state_->attributes;
}

bool Hdf5File::has(const std::string& name) const {
  const std::lock_guard lock(state_->mutex);
  return state_->find(name) != nullptr;
}

Hdf5Dataset Hdf5File::dataset(const std::string& name) const {
  std::shared_ptr<const Hdf5Description> description;
  {
    const std::lock_guard lock(state_->mutex);
    description = state_->description(name);
  }
  Hdf5Dataset result(state_->structure, name, std::move(description));
  if (sums_of_) result.verify_with(sums_of_(result));
  return result;
}

std::vector<std::string> Hdf5File::members(const std::string& group) const {
  const std::lock_guard lock(state_->mutex);
  const Hdf5Links* links = &state_->structure->root_links();
  if (group != "/") {
    const Hdf5Link* const link = state_->find(group);
    if (link == nullptr) throw InputError(fmt::format("{}: group '{}' is missing.", path(), group));
    links = &state_->links(*link, group);
  }
  std::vector<std::string> names;
  for (const auto& [name, link] : *links) names.push_back(name);
  return names;
}

bool is_hdf5(const std::string& path) {
  // Reading a pipe would wait for a writer, and /dev/zero has no end.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  constexpr std::string_view signature("\x89HDF\r\n\x1a\n", 8);
  std::ifstream file(path, std::ios::binary);
  char head[8];
  // The superblock is at byte 0 or, after a user block, at byte 512, 1024, 2048, ...
  for (std::int64_t at = 0; file.seekg(at) && file.read(head, sizeof head); at = at == 0 ? 512 : 2 * at) {
    if (std::string_view(head, sizeof head) == signature) return true;
  }
  return false;
}

}
