#pragma once

#include <nlohmann/json.hpp>

#include <optional>

namespace trifuse {

/// A value of a report if it is known, else null.
template <typename Value>
nlohmann::ordered_json json_if(bool known, const Value& value) {
  return known ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

/// A value of a report, or null if it is absent.
template <typename Value>
nlohmann::ordered_json json_or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}
