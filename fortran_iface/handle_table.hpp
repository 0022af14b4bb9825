#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace trifuse::c_interface {

/// A number that no handle had before, of any type.
std::uintptr_t new_handle_value();

/// What stands behind the handles of one type. Handles are numbers that look like pointers, and that nothing can be at:
/// whatever a program passes is looked up here, and never followed.
template <typename Handle, typename Object>
class HandleTable {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    const std::uintptr_t value = new_handle_value();
    objects_.emplace(value, std::move(object));
    return reinterpret_cast<Handle>(value);
  }
  /// Null where the handle is none, or deleted.
  std::shared_ptr<Object> find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found != objects_.end() ? found->second : nullptr;
  }
  /// What it was, or null.
  std::shared_ptr<Object> remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    auto found = objects_.extract(reinterpret_cast<std::uintptr_t>(handle));
    return found.empty() ? nullptr : std::move(found.mapped());
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

}  // namespace trifuse::c_interface
