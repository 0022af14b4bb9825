#pragma once

namespace trifuse {

/// True if a limit on address space or data (ulimit -v, ulimit -d) is set for this process.
bool address_space_is_limited();

}  // namespace trifuse
