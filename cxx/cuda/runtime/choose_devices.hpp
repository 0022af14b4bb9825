#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cxx/cuda/runtime/devices.hpp"

#pragma GCC visibility push(default)

namespace trifuse {

/// Returns true if the kernels run on this GPU: compute capability 7.5 or more.
bool is_supported(const DeviceInfo& device);

/// Returns true if derivatives can be computed on this GPU: compute capability 9.0.
bool computes_derivatives(const DeviceInfo& device);

/// Returns the GPUs of `visible` with these numbers, in the order of `numbers`. If `numbers` is empty, returns all
/// supported GPUs of `visible`. Throws UsageError if a number does not exist or is named twice, if a GPU is not
/// supported, or if there is no GPU.
std::vector<DeviceInfo> choose_devices(const std::vector<DeviceInfo>& visible, const std::vector<int>& numbers);

/// Returns the GPUs that a rank may take if ranks do not communicate about it, the best choice first. The first
/// `gpus_per_node` ranks of a node get the supported GPUs of `visible`; successive ranks begin with successive GPUs.
/// The list is empty for other ranks, and if there is no supported GPU. `rank_on_node`: number of the rank on its node,
/// from 0.
std::vector<DeviceInfo> devices_of_rank(const std::vector<DeviceInfo>& visible, std::int64_t rank_on_node,
                                        std::int64_t gpus_per_node);

/// Assigns GPUs to `rank`, such that each GPU of a host belongs to one rank. Returns the indices of the GPUs in the
/// rank's list. Ranks that may use the same GPUs get equal parts of the list, one after another. Otherwise each rank
/// gets one GPU first: the one that the fewest lower ranks have, or the first of these; then each GPU that is left goes
/// to a rank that may use it and has the fewest GPUs. The result is empty if other ranks have all GPUs of the list,
/// unless `share` allows several ranks on one GPU. `hosts` [rank]: host names. `lists` [rank]: identities of the GPUs
/// that the rank may use, with spaces between them, see device_identity().
std::vector<std::size_t> assigned_devices(const std::vector<std::string>& hosts, const std::vector<std::string>& lists,
                                          std::size_t rank, bool share);

/// Returns the number or name by which users know a GPU, as far as this process can tell. `visible_devices`: the value
/// of CUDA_VISIBLE_DEVICES, or null. If a container or Slurm hides GPUs, GPUs of several ranks have the same label.
std::string device_label(const DeviceInfo& device, const char* visible_devices);

/// Identifies a GPU, or a part of a GPU (MIG), independently of the number that CUDA gives it in this process.
/// `visible_devices`: as in device_label().
std::string device_identity(const DeviceInfo& device, const char* visible_devices);

/// Returns a rough estimate of the floating-point operations per second that (T) reaches on a GPU. It is good enough to
/// compare ranks.
double nominal_rate(const DeviceInfo& device);

}

#pragma GCC visibility pop
