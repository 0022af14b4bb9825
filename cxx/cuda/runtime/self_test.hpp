#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cxx/cuda/runtime/cuda_executor.hpp"
#include "cxx/triples/precision.hpp"
#include "cxx/triples/problem.hpp"

namespace trifuse::gpu {

/// Makes an executor that has its operands and has not been tested. Parameters are those of make_cuda_executor().
using MakeUntested =
    std::function<std::unique_ptr<PanelExecutor>(const Problem&, const TileSpace&, const CudaOptions& options)>;

/// The self-test: compares the energies of a small molecule with the energies from the CPU, task by task. Runs on all
/// devices of `options` at the same time, but not on devices that have passed it earlier in this process. Returns the
/// devices that pass, in the order of the options. `formulation`: the form that is tested. `options`: precision, kernel
/// and `left_out` have the same meaning as for a run. `make` is called on one thread for each device, with that device
/// alone.
///
/// Throws DeviceError if a device fails, unless `left_out` gets the reason and another device passes.
std::vector<int> devices_that_pass(SpinFormulation formulation, const CudaOptions& options, const MakeUntested& make);

/// Throws DeviceError if the energy `found` of a task of the self-test differs from the CPU's energy `expected`, both
/// in hartree, by more than self_test_limit(precision) times `scale`. `number`: the number of the device. `scale`: the
/// size of the terms of the energy.
void check_self_test(int number, Precision precision, double found, double expected, double scale);
double self_test_limit(Precision precision);

}
