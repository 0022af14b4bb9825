#include "tce_tiles/hdf5_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "cxx/base/error.hpp"
#include "tce_tiles/hdf5_description.hpp"
#include "tce_tiles/hdf5_structure.hpp"

namespace trifuse {

/// What is known of an open file. Groups and datasets are checked when they are asked for, each once.
struct Hdf5File::State {
  explicit State(const std::string& path)
      : structure(std::make_shared<const Hdf5Structure>(path)), attributes(*structure) {}

  /// The links of the group of this name; "" is the root group.
  const Hdf5Links& links(const std::string& group);
  const Hdf5Link* find(const std::string& name);
  /// Where the header of an object is.
  std::uint64_t address(const std::string& name);
  std::shared_ptr<const Hdf5Description> description(const std::string& name);

  const std::shared_ptr<const Hdf5Structure> structure;
  const Hdf5Attributes attributes;
  std::mutex mutex;
  std::map<std::string, Hdf5Links> groups;
  std::map<std::string, std::shared_ptr<const Hdf5Description>> datasets;
};

const Hdf5Links& Hdf5File::State::links(const std::string& group) {
  if (group.empty()) return structure->root_links();
  const auto known = groups.find(group);
  if (known != groups.end()) return known->second;
  return groups.emplace(group, structure->links(address(group))).first->second;
}

const Hdf5Link* Hdf5File::State::find(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::string group = slash == std::string::npos ? "" : name.substr(0, slash);
  if (!group.empty() && find(group) == nullptr) return nullptr;
  const Hdf5Links& names = links(group);
  const auto found = names.find(slash == std::string::npos ? name : name.substr(slash + 1));
  return found == names.end() ? nullptr : &found->second;
}

std::uint64_t Hdf5File::State::address(const std::string& name) {
  const Hdf5Link* const link = find(name);
  if (link != nullptr && link->hard) return link->address;
  throw InputError(fmt::format(
      "{}: '{}' {}.", structure->file().path(), name,
      link == nullptr ? "is missing" : "is a link to another place; store the object itself under this name"));
}

std::shared_ptr<const Hdf5Description> Hdf5File::State::description(const std::string& name) {
  const auto known = datasets.find(name);
  if (known != datasets.end()) return known->second;
  auto found = std::make_shared<const Hdf5Description>(describe_dataset(*structure, address(name), name));
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
    if (state_->find(name) == nullptr) {
      throw InputError(fmt::format("{}: dataset '{}' is missing.", path(), name));
    }
    description = state_->description(name);
  }
  Hdf5Dataset result(state_->structure, name, std::move(description));
  if (sums_of_) result.verify_with(sums_of_(result));
  return result;
}

std::vector<std::string> Hdf5File::members(const std::string& group) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<std::string> names;
  for (const auto& [name, link] : state_->links(group == "/" ? "" : group)) names.push_back(name);
  return names;
}

bool is_hdf5(const std::string& path) {
  // A pipe would wait for a writer, and /dev/zero has no end.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  constexpr std::string_view signature("\x89HDF\r\n\x1a\n", 8);
  std::ifstream file(path, std::ios::binary);
  char head[8];
  // The superblock stands at 0 or, behind a user block, at 512, 1024, 2048, ...
  for (std::int64_t at = 0; file.seekg(at) && file.read(head, sizeof head); at = at == 0 ? 512 : 2 * at) {
    if (std::string_view(head, sizeof head) == signature) return true;
  }
  return false;
}

}  // namespace trifuse
