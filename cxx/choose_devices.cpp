#include "cxx/choose_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cxx/base/error.hpp"

namespace trifuse {

bool new_enough(const DeviceInfo& device) {
  return device.major > 7 || (device.major == 7 && device.minor >= 5);
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
    std::copy_if(visible.begin(), visible.end(), std::back_inserter(chosen), new_enough);
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
    if (!new_enough(*found)) throw UsageError(too_old(*found));
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace trifuse
