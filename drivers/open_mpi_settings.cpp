#include "drivers/open_mpi_settings.hpp"

#include <mpi.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "cxx/mpi/mpi_communicator.hpp"

namespace trifuse::cli {

namespace {

/// Removes pt2pt from a list of excluded components, e.g. from "^ucx,pt2pt". Returns any other text unchanged.
std::string with_pt2pt(const std::string& components) {
  if (!components.starts_with('^')) return components;
  std::istringstream list(components.substr(1));
  std::string kept;
  for (std::string name; std::getline(list, name, ',');) {
    if (name != "pt2pt") kept += (kept.empty() ? "^" : ",") + name;
  }
  return kept;
}

/// Allows the component pt2pt, which needs only messages from the network. The configuration of Debian and Ubuntu
/// excludes it, and then Open MPI has no windows at all over TCP. Open MPI uses pt2pt only if no other component works.
/// If the setting cannot be changed, it stays as it is.
void allow_windows_of_messages() {
  int number = 0, length = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_cvar_get_index("osc", &number) != MPI_SUCCESS) return;
  if (MPI_T_cvar_handle_alloc(number, nullptr, &handle, &length) != MPI_SUCCESS) return;
  std::vector<char> text(static_cast<std::size_t>(length) + 1);
  if (MPI_T_cvar_read(handle, text.data()) == MPI_SUCCESS) {
    const std::string excluded = text.data(), allowed = with_pt2pt(excluded);
    if (allowed != excluded) static_cast<void>(MPI_T_cvar_write(handle, allowed.c_str()));
  }
  static_cast<void>(MPI_T_cvar_handle_free(&handle));
}

}

OpenMpiSettings::OpenMpiSettings() {
  if (!mpi_library_is("Open MPI")) return;
  // If all processes are on one host, Open MPI would still choose the component rdma, which also works between hosts
  // (priority 101), and would clear all memory of the windows. The component for one host has priority 100. The
  // component ucx, for several hosts, has priority 60.
  constexpr int keep_existing = 0;
  setenv("OMPI_MCA_osc_rdma_priority", "90", keep_existing);
  if (std::getenv("OMPI_MCA_osc") != nullptr) return;
  int provided = MPI_THREAD_SINGLE;
  begun_ = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
  if (begun_) allow_windows_of_messages();
}

OpenMpiSettings::~OpenMpiSettings() {
  if (begun_) static_cast<void>(MPI_T_finalize());
}

}
