#pragma once

#include "cxx/base/communicator.hpp"
#include "fortran_iface/handles.hpp"
#include "fortran_iface/run_watch.hpp"

namespace trifuse::c_interface {

/// Verifies the amplitudes, computes the energies and sets the results of `setup`. `ranks`: the processes that compute
/// together; null for one process. Collective if there are several ranks; then it throws on all ranks if it fails on
/// one.
void compute(CalculationSetup& setup, RunWatch& watch, Communicator* ranks);

}
