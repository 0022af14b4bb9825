#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace trifuse {

/// What all GPUs of an executor together did so far.
struct DeviceReport {
  struct Device {
    std::string name;
    double peak_share_rate = 0.0;  ///< FP64 matrix peak of the device, operations per second; 0 if not known
  };
  std::vector<Device> devices;
  struct Kernel {
    std::string name;
    std::int64_t cta_tiles = 0;  ///< CTA tiles that it computed
  };
  std::vector<Kernel> kernels;         ///< candidates, of which one is chosen for each task
  std::int64_t panels_wanted = 0;      ///< panels that tasks acquired
  std::int64_t panels_sent = 0;        ///< of these, sent from the host, or packed from arrays that it sent
  std::int64_t panels_made = 0;        ///< of these, made on the device from factors, again if they were evicted
  std::int64_t panels_from_peers = 0;  ///< of these, copied from other GPUs
  std::int64_t panels_owned = 0;       ///< panels owned for all GPUs, sent from the host before all tasks
  std::int64_t panels_evicted = 0;     ///< dropped to make room
  std::int64_t bytes_sent = 0;         ///< host to device
  std::int64_t bytes_made = 0;         ///< of panels that were made from factors
  std::int64_t slabs_sent = 0;         ///< slabs of factors that were sent from the host, again if they were dropped
  std::int64_t slabs_owned = 0;        ///< of these, owned for all GPUs, sent before all tasks
  std::int64_t slabs_from_peers = 0;   ///< slabs of factors that were copied from other GPUs
  std::int64_t bytes_from_peers = 0;   ///< of panels and slabs that were copied from other GPUs
  std::int64_t bytes_resident = 0;     ///< largest amount of panels and of slabs on one device
  std::int64_t peak_bytes = 0;         ///< most memory in use on one device, with buffers of workers; 0: not known
  std::int64_t memory_budget = 0;      ///< smallest budget of a device, bytes
  double seconds_kernels = 0.0;        ///< on the device, summed over devices
  double seconds_copies = 0.0;         ///< on the device, copies and packing, summed over devices
  double seconds_making = 0.0;         ///< of these copies, the production of panels from factors
  double seconds_waiting = 0.0;        ///< host threads that wait for devices
  double seconds_preparing = 0.0;      ///< host threads that prepare launches
  std::int64_t launches = 0;
};

}

#pragma GCC visibility pop
