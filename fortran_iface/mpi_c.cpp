#include <functional>
#include <memory>

#include "cxx/mpi/ranks_of_caller.hpp"
#include "fortran_iface/handles.hpp"
#include "fortran_iface/trifuse_mpi.h"

using namespace trifuse::c_interface;

void trifuse_set_communicator(trifuse_status* status, trifuse_calculation calculation, int32_t communicator) {
  guarded(status, [&] {
    const ServeRanks serve = [communicator](const std::function<void(trifuse::Communicator&)>& body) {
      trifuse::serve_ranks(communicator, body);
    };
    ranks_without_calculation() = nullptr;
    std::shared_ptr<CalculationSetup> setup;
    try {
      setup = checked(calculation);
    } catch (const BadHandle&) {
      ranks_without_calculation() = serve;
      throw;
    }
    trifuse::expect_communicator(communicator);
    setup->serve_ranks = serve;
  });
}
