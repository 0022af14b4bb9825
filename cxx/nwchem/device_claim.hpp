#pragma once

#include <string>

namespace trifuse {

/// Claims a GPU for this process until the process ends. Returns true if no other process of this machine has claimed
/// the GPU, or if this process has claimed it before. For ranks that cannot communicate. `identity`: see
/// device_identity().
///
/// The claim is the name of an abstract Unix socket. The system frees the name when the process ends, even if it is
/// killed. Returns true also if the system does not allow such sockets.
bool claim_device(const std::string& identity);

}
