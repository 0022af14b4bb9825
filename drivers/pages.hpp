#pragma once

#include <string>

/// The pages of the documentation, which texts of the program name by their paths in the sources.
namespace trifuse::cli {

/// Returns a text in which each page, e.g. drivers/docs/running.md, has the path under which the user can open it: in
/// share/trifuse of the installation, or in the sources around a build. A page that is not there keeps its name.
std::string with_paths_of_pages(const std::string& text);

}
