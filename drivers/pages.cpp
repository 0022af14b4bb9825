#include "drivers/pages.hpp"

#include <filesystem>
#include <regex>
#include <system_error>

namespace trifuse::cli {

namespace {

namespace fs = std::filesystem;

/// Returns the path of a page above the folder of the program; its name if it is not there.
std::string path_of(const std::string& page) {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error);
  while (!error && folder.has_relative_path()) {
    folder = folder.parent_path();
    for (const fs::path& root : {folder / "share" / "trifuse", folder}) {
      std::error_code unreadable;  // then it is not there for this user
      if (fs::exists(root / page, unreadable)) return root / page;
    }
  }
  return page;
}

}

std::string with_paths_of_pages(const std::string& text) {
  static const std::regex page("(drivers|fortran_iface|tce_tiles)/docs/[a-z-]+\\.md");
  std::string result;
  auto rest = text.begin();
  for (std::sregex_iterator found(text.begin(), text.end(), page), end; found != end; ++found) {
    result.append(rest, text.begin() + found->position());
    result += path_of(found->str());
    rest = text.begin() + found->position() + found->length();
  }
  return result.append(rest, text.end());
}

}
