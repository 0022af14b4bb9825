#include "cxx/cuda/schedule/exchange_handle.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

namespace trifuse::gpu {

std::string write_handle(const std::string& description, const ExportedMemory& exported) {
  if (exported.panels.empty() && exported.slabs.empty()) return {};
  return fmt::format("{} | {} {} {}", description, exported.slab_bytes, exported.panels, exported.slabs);
}

ExportedMemory read_handle(const std::string& description, const std::string& text) {
  const std::string expected = description + " | ";
  if (!text.starts_with(expected)) return {};
  std::vector<std::string_view> words;
  for (std::string_view rest = std::string_view(text).substr(expected.size());;) {
    const std::size_t blank = rest.find(' ');
    words.push_back(rest.substr(0, blank));
    if (blank == std::string_view::npos) break;
    rest.remove_prefix(blank + 1);
  }
  if (words.size() != 3) return {};
  ExportedMemory exported{std::string(words[1]), std::string(words[2])};
  const char* const end = words[0].data() + words[0].size();
  const auto [read, error] = std::from_chars(words[0].data(), end, exported.slab_bytes);
  if (error != std::errc() || read != end) return {};
  return exported;
}

}
