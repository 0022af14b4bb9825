#include "cxx/report/check_report.hpp"

#include <fmt/format.h>

#include "cxx/base/printable.hpp"
#include "cxx/report/json_values.hpp"

namespace trifuse {
namespace {

template <typename Body>
void for_each_witness(const CheckReport& right, const CheckReport* left, Body body) {
  for (const Witness& witness : right.witnesses) body(witness.name, witness);
  if (left == nullptr) return;
  for (const Witness& witness : left->witnesses) body("left: " + witness.name, witness);
}

}

std::string describe_checks(const CheckReport& right, const CheckReport* left) {
  std::string text;
  for_each_witness(right, left, [&](const std::string& name, const Witness& witness) {
    text += fmt::format("{:<12} {}: {}", text.empty() ? "Checks" : "", name, to_string(witness.status));
    if (witness.value && witness.limit) text += fmt::format(" ({:.2g}, limit {:.2g})", *witness.value, *witness.limit);
    if (!witness.note.empty()) text += fmt::format("{} {}", witness.value ? ";" : ":", printable(witness.note));
    text += '\n';
  });
  for (const std::string& warning : check_warnings(right, left)) text += fmt::format("Warning      {}\n", warning);
  return text;
}

std::vector<std::string> check_warnings(const CheckReport& right, const CheckReport* left) {
  std::vector<std::string> warnings = right.warnings;
  if (left != nullptr) warnings.insert(warnings.end(), left->warnings.begin(), left->warnings.end());
  return warnings;
}

nlohmann::ordered_json json_checks(const CheckReport& right, const CheckReport* left) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for_each_witness(right, left, [&](const std::string& name, const Witness& witness) {
    list.push_back({{"name", name},
                    {"status", to_string(witness.status)},
                    {"value", json_or_null(witness.value)},
                    {"limit", json_or_null(witness.limit)},
                    {"note", witness.note}});
  });
  return list;
}

}
