#include <functional>

#include "cxx/mpi/ranks_of_caller.hpp"
#include "fortran_iface/handles.hpp"
#include "fortran_iface/trifuse_mpi.h"

using namespace trifuse::c_interface;

void trifuse_set_communicator(trifuse_status* status, trifuse_calculation calculation, int32_t communicator) {
  guarded(status, [&] {
    const auto setup = checked(calculation);
    trifuse::expect_communicator(communicator);
    setup->serve_ranks = [communicator](const std::function<void(trifuse::Communicator&)>& body) {
      trifuse::serve_ranks(communicator, body);
    };
  });
}
