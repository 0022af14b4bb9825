#include "drivers/mpi_processes.hpp"

namespace trifuse::cli {

std::unique_ptr<MpiProcesses> begin_mpi(const Launcher& launcher) {
  refuse(launcher, "this build has no MPI and runs as one process");
}

}
