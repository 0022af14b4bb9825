#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"

namespace trifuse {

/// A list of GPUs, e.g. "GPU 0: NVIDIA H200, GPU 1: NVIDIA H200".
std::string names_of(const std::vector<DeviceInfo>& devices);

/// Describes the work of the devices. `rate`: operations per second of all devices together. `part`: the part of the
/// run that `report` is about; empty: all tasks.
std::string describe_devices(const Calculation& calculation, const DeviceReport& report, double rate,
                             const std::string& part = {});
/// The same for a run on devices: one part in double precision; in mixed precision the tasks, then the sample in double
/// precision. Empty if no devices were used.
std::string describe_devices(const Calculation& calculation, const CalculationResult& result);
/// The work of the devices as JSON. `rate`: as for `describe_devices`.
nlohmann::ordered_json json_devices(const Calculation& calculation, const DeviceReport& report, double rate);

/// Operations per second of the tasks in the precision of the options, without the sample in double precision; 0 if no
/// time is known.
double rate_without_sample(const CalculationResult& result);
/// Operations per second of the sample, without the time that sets up its executor; 0 if there is none.
double rate_of_sample(const CalculationResult& result);

}
