#pragma once

#include <string>

namespace trifuse {

/// Takes a GPU for this process, until it ends: true if no other process of this machine has taken it. For ranks that
/// may not ask each other. What is taken has a name, that of a socket which nobody ever connects to, so that nothing is
/// left behind by a process that was killed. True as well where the system refuses such names.
bool claim_device(const std::string& identity);

}  // namespace trifuse
