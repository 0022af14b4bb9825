#pragma once

#include <functional>

#include "cxx/base/communicator.hpp"
#include "fortran_iface/trifuse.h"

#pragma GCC visibility push(default)

namespace trifuse {

/// Calls `body` with a communicator and returns when `body` has returned. Collective. Throws what `body` throws.
using RankServer = std::function<void(const std::function<void(Communicator&)>& body)>;

/// Sets the processes that compute a calculation of the C interface together: trifuse_run passes its computation to the
/// server as `body`. The library trifuse_mpi sets a server for a communicator of MPI. A C++ program may set a server
/// for a communicator of its own.
///
/// `expect_ranks` throws if the ranks cannot compute together. It is called at once, and only if the handle is valid.
/// Its exception becomes the status. If the handle is not valid, the next trifuse_run of this thread makes the run of
/// the other ranks fail. `status`: see trifuse.h.
void set_rank_server(trifuse_status* status, trifuse_calculation calculation, const RankServer& server,
                     const std::function<void()>& expect_ranks);

}

#pragma GCC visibility pop
