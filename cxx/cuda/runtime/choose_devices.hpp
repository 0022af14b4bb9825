#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cxx/cuda/runtime/devices.hpp"

namespace trifuse {

/// Whether the kernels run on this GPU: compute capability 7.5 or more.
bool new_enough(const DeviceInfo& device);

/// The GPUs of `visible` that have these numbers, in this order; without numbers all that are new enough. Throws
/// UsageError for a number that is not there or there twice, for a GPU that is too old, and where there is no GPU.
std::vector<DeviceInfo> choose_devices(const std::vector<DeviceInfo>& visible, const std::vector<int>& numbers);

/// The GPUs that a rank may take where ranks do not ask each other, the best first: the first `gpus_per_node` ranks of
/// a node begin at one each, in turn of those that are new enough and that this process sees. None for the other ranks,
/// and where there is none.
std::vector<DeviceInfo> devices_of_rank(const std::vector<DeviceInfo>& visible, std::int64_t rank_on_node,
                                        std::int64_t gpus_per_node);

/// Which GPU of its list a rank gets where each of a host is had by one rank: the first that fewest ranks before it
/// have. `hosts` and `lists` are those of all ranks, a list being identities with spaces between them. None where all
/// are had by others, unless they are to be shared.
std::optional<std::size_t> dealt_place(const std::vector<std::string>& hosts, const std::vector<std::string>& lists,
                                       std::size_t rank, bool share);

/// The number or name by which users know a GPU, as far as this process can tell. `visible_devices`: the value of
/// CUDA_VISIBLE_DEVICES, or null. Where a container or Slurm hides the others, GPUs of several ranks have the same.
std::string device_label(const DeviceInfo& device, const char* visible_devices);

/// What tells a GPU, or a part of one (MIG), from all others, whatever numbers CUDA gives it in this process.
std::string device_identity(const DeviceInfo& device, const char* visible_devices);

/// Roughly what (T) gets out of a GPU, operations per second. To compare ranks, not to promise.
double nominal_rate(const DeviceInfo& device);

}  // namespace trifuse
