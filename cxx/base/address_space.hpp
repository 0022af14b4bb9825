#pragma once

namespace trifuse {

/// Whether this process may use less memory than there is (ulimit -v, ulimit -d).
bool address_space_is_limited();

}  // namespace trifuse
