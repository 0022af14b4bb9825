#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cxx/calculation/calculation.hpp"

namespace trifuse {

/// Returns a list of GPUs, e.g. "GPU 0: NVIDIA H200, GPU 1: NVIDIA H200".
std::string names_of(const std::vector<DeviceInfo>& devices);

/// Describes the work of the devices. `rate`: operations per second of all devices together. `part`: the part of the
/// run that `report` is about, in words; empty: the whole run.
std::string describe_devices(const Calculation& calculation, const DeviceReport& report, double rate,
                             const std::string& part = {});
/// Describes the work of the devices in a run. A run in double precision has one part. A run in mixed precision has
/// two: all tasks, then the sample. Returns an empty text if no devices were used.
std::string describe_devices(const Calculation& calculation, const CalculationResult& result);
/// Returns the work of the devices as JSON. `rate`: see `describe_devices`.
nlohmann::ordered_json json_devices(const Calculation& calculation, const DeviceReport& report, double rate);

/// Returns the operations per second of all tasks in the precision that the user chose, without the sample; 0 if no
/// time is known.
double rate_without_sample(const CalculationResult& result);
/// Returns the operations per second of the sample, without the setup of its executor; 0 if there is no sample.
double rate_of_sample(const CalculationResult& result);

}
