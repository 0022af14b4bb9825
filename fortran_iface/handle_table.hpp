#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace trifuse::c_interface {

/// Returns a number that no handle of any type has had before.
std::uintptr_t new_handle_value();

/// The objects of the handles of one type. A handle has a pointer type, but it is only a number. The library looks it
/// up in this table and never dereferences it. Any thread may call any function.
template <typename Handle, typename Object>
class HandleTable {
 public:
  /// Adds an object and returns its handle.
  Handle add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    const std::uintptr_t value = new_handle_value();
    objects_.emplace(value, std::move(object));
    return reinterpret_cast<Handle>(value);
  }
  /// Returns the object of a handle, or null if the handle is not in the table.
  std::shared_ptr<Object> find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found != objects_.end() ? found->second : nullptr;
  }
  /// Removes a handle. Returns its object, or null if the handle is not in the table.
  std::shared_ptr<Object> remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    auto found = objects_.extract(reinterpret_cast<std::uintptr_t>(handle));
    return found.empty() ? nullptr : std::move(found.mapped());
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

}
