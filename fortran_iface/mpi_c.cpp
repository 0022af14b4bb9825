#include <functional>

#include "cxx/mpi/ranks_of_caller.hpp"
#include "fortran_iface/rank_server.hpp"
#include "fortran_iface/trifuse_mpi.h"

void trifuse_set_communicator(trifuse_status* status, trifuse_calculation calculation, int32_t communicator) {
  const trifuse::RankServer server = [communicator](const std::function<void(trifuse::Communicator&)>& body) {
    trifuse::serve_ranks(communicator, body);
  };
  trifuse::set_rank_server(status, calculation, server, [communicator] { trifuse::expect_communicator(communicator); });
}
