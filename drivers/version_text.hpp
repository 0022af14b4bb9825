#pragma once

#include <string>

namespace trifuse::cli {

/// Returns version, features, libraries and GPUs, for --version.
std::string version_text();

}
