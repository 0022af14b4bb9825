#include "cxx/cuda/runtime/choose_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "cxx/base/error.hpp"

namespace trifuse {

bool is_supported(const DeviceInfo& device) {
  return device.major > 7 || (device.major == 7 && device.minor >= 5);
}

bool computes_derivatives(const DeviceInfo& device) {
  return device.major == 9 && device.minor == 0;
}

std::vector<DeviceInfo> choose_devices(const std::vector<DeviceInfo>& visible, const std::vector<int>& numbers) {
  if (visible.empty()) {
    const std::string why = why_no_devices();
    throw UsageError(why.empty() ? "There is no GPU to choose from." : why);
  }
  const auto too_old = [](const DeviceInfo& device) {
    return fmt::format("GPU {} ({}) is too old: it has compute capability {}.{}, and 7.5 is needed.", device.number,
                       device.name, device.major, device.minor);
  };
  std::vector<DeviceInfo> chosen;
  if (numbers.empty()) {
    std::copy_if(visible.begin(), visible.end(), std::back_inserter(chosen), is_supported);
    if (chosen.empty()) throw UsageError(too_old(visible.front()));
    return chosen;
  }
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    const auto same = [&](const DeviceInfo& device) { return device.number == numbers[n]; };
    if (std::any_of(chosen.begin(), chosen.end(), same)) {
      throw UsageError(fmt::format("--devices names GPU {} twice.", numbers[n]));
    }
    const auto found = std::find_if(visible.begin(), visible.end(), same);
    if (found == visible.end()) {
      throw UsageError(
          fmt::format("--devices names GPU {}, but CUDA sees {} (trifuse --version lists them).", numbers[n],
                      visible.size() == 1 ? "only GPU 0" : fmt::format("only 0 to {}", visible.size() - 1)));
    }
    if (!is_supported(*found)) throw UsageError(too_old(*found));
    chosen.push_back(*found);
  }
  return chosen;
}

std::vector<DeviceInfo> devices_of_rank(const std::vector<DeviceInfo>& visible, std::int64_t rank_on_node,
                                        std::int64_t gpus_per_node) {
  if (rank_on_node >= gpus_per_node) return {};
  std::vector<DeviceInfo> usable;
  std::copy_if(visible.begin(), visible.end(), std::back_inserter(usable), is_supported);
  if (!usable.empty()) std::rotate(usable.begin(), usable.begin() + rank_on_node % std::ssize(usable), usable.end());
  return usable;
}

std::vector<std::size_t> assigned_devices(const std::vector<std::string>& hosts, const std::vector<std::string>& lists,
                                          std::size_t rank, bool share) {
  // The ranks of this host that may use GPUs.
  std::vector<std::size_t> ranks;
  std::vector<std::vector<std::string>> gpus;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    std::istringstream words(lists[r]);
    std::vector<std::string> list{std::istream_iterator<std::string>(words), {}};
    if (hosts[r] != hosts[rank] || list.empty()) continue;
    ranks.push_back(r);
    gpus.push_back(std::move(list));
  }
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  if (found == ranks.end()) return {};
  const auto mine = static_cast<std::size_t>(found - ranks.begin());
  const std::size_t count = gpus[mine].size();
  const bool alike = std::all_of(gpus.begin(), gpus.end(), [&](const auto& list) { return list == gpus[mine]; });
  std::vector<std::size_t> indices;
  if (alike && ranks.size() <= count) {
    for (std::size_t n = mine * count / ranks.size(); n < (mine + 1) * count / ranks.size(); ++n) indices.push_back(n);
    return indices;
  }
  std::map<std::string, std::size_t> ranks_of_gpu;
  std::vector<std::vector<std::string>> taken(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto best = std::min_element(gpus[r].begin(), gpus[r].end(),
                                       [&](const auto& x, const auto& y) { return ranks_of_gpu[x] < ranks_of_gpu[y]; });
    if (!share && ranks_of_gpu[*best] > 0) continue;
    ++ranks_of_gpu[*best];
    taken[r].push_back(*best);
  }
  for (const std::vector<std::string>& list : gpus) {
    for (const std::string& gpu : list) {
      if (ranks_of_gpu[gpu] > 0) continue;
      std::optional<std::size_t> least;
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        const bool may = std::find(gpus[r].begin(), gpus[r].end(), gpu) != gpus[r].end();
        if (may && (!least || taken[r].size() < taken[*least].size())) least = r;
      }
      ++ranks_of_gpu[gpu];
      taken[least.value()].push_back(gpu);
    }
  }
  for (std::size_t n = 0; n < count; ++n) {
    if (std::find(taken[mine].begin(), taken[mine].end(), gpus[mine][n]) != taken[mine].end()) indices.push_back(n);
  }
  return indices;
}

std::string device_label(const DeviceInfo& device, const char* visible_devices) {
  if (visible_devices == nullptr) return std::to_string(device.number);
  const std::string_view list = visible_devices;
  std::size_t begin = 0;
  for (int n = 0; n < device.number && begin != std::string_view::npos; ++n) {
    begin = list.find(',', begin);
    if (begin != std::string_view::npos) ++begin;
  }
  if (begin == std::string_view::npos) return std::to_string(device.number);
  return std::string(list.substr(begin, list.find(',', begin) - begin));
}

std::string device_identity(const DeviceInfo& device, const char* visible_devices) {
  // A part of a GPU (MIG) has a name of its own, and CUDA knows it only by this name.
  const std::string label = device_label(device, visible_devices);
  return label.starts_with("MIG-") ? label : device.uuid;
}

double nominal_rate(const DeviceInfo& device) {
  // Data-centre GPUs have many FP64 units, other GPUs have few.
  if (device.minor != 0) return 0.3e12;
  switch (device.major) {
    case 8:
      return 10e12;
    case 9:
    case 10:
      return 30e12;
    default:
      return 0.3e12;
  }
}

}
