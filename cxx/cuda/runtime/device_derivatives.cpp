#include "cxx/cuda/runtime/device_derivatives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cxx/base/error.hpp"
#include "cxx/base/threads.hpp"
#include "cxx/cuda/kernel/vvoo_sums.hpp"
#include "cxx/cuda/runtime/staged_copy.hpp"
#include "cxx/operands/derivative_sums.hpp"

namespace trifuse::gpu {

namespace {

void make_zeros(DeviceArray<unsigned long long>& array, std::int64_t count) {
  array.reserve(static_cast<std::size_t>(std::max<std::int64_t>(1, count)));
  fill_with_zeros(array);
}

std::int64_t seeds_of(const TaskData& task, const BackwardProgram& program) {
  return program.targets * SeedExtents(task.extent).seeds();
}

/// Moves the first `count` integers of a device to array `array` of the host.
void move_array(DeviceArray<unsigned long long>& from, std::int64_t count, std::size_t array, TaskSums& sums) {
  constexpr int most_threads = 16;
  constexpr std::size_t size = sizeof(std::int64_t);
  download_parts(from.data(), static_cast<std::size_t>(count) * size, std::min(available_threads(), most_threads),
                 [&](std::size_t first, std::span<const std::byte> part) {
                   sums.add_integers(array, first / size,
                                     {reinterpret_cast<const std::int64_t*>(part.data()), part.size() / size});
                 });
  fill_with_zeros(from);
}

}

DeviceDerivatives::DeviceDerivatives(const PanelLayout& layout) : layout_(layout), vvoo_sums_(layout) {
  const std::int64_t orbitals = layout.tiles().orbitals();
  make_zeros(operands_, layout.doubles());
  make_zeros(vvoo_, vvoo_sums_.size());
  make_zeros(energies_, orbitals);
  for (std::size_t set = 0; set < layout.sets(); ++set) make_zeros(ov_tensors_[set], orbitals * orbitals);
}

void DeviceDerivatives::set(DerivativeParameters& parameters) const {
  parameters.energies = energies_.data();
  for (std::size_t set = 0; set < max_disconnected_sets; ++set) parameters.ov_tensors[set] = ov_tensors_[set].data();
  parameters.units = 1.0 / unit_of_operands;
  parameters.energy_units = 1.0 / unit_of_energies;
}

void throw_lost_derivatives(const DeviceError& error) {
  throw SystemError(
      fmt::format("{} What this GPU had added to the derivatives is lost; start the run again.", error.what()));
}

void DeviceDerivatives::add_vvoo() {
  // Workers have waited for their work. To wait for the device would also wait for the memory that they return.
  const Stream stream;
  for (const VvooSums::Block& block : vvoo_sums_.blocks())
    launch_add_vvoo_sums(block.packing, vvoo_.data() + block.begin, operands_.data() + block.linear, stream);
  TRIFUSE_CUDA(cudaStreamSynchronize(stream));
  fill_with_zeros(vvoo_);
}

void DeviceDerivatives::move_small(TaskSums& sums) {
  const TileSpace& space = layout_.tiles();
  const std::int64_t orbitals = space.orbitals();
  // Three omega2 are subtracted from a denominator, one for each particle.
  std::vector<std::int64_t> of_energies(static_cast<std::size_t>(orbitals));
  TRIFUSE_CUDA(cudaMemcpy(of_energies.data(), energies_.data(), of_energies.size() * sizeof(std::int64_t),
                          cudaMemcpyDeviceToHost));
  const std::int64_t first = space.hole_tiles() < space.size() ? space[space.hole_tiles()].offset : orbitals;
  std::uint64_t of_omega2 = 0;
  for (std::int64_t p = first; p < orbitals; ++p)
    of_omega2 += static_cast<std::uint64_t>(of_energies[static_cast<std::size_t>(p)]);
  const std::int64_t total[] = {static_cast<std::int64_t>(of_omega2)};
  sums.add_integers(DerivativeSums::omega2, 0, total);
  move_array(energies_, orbitals, DerivativeSums::energies, sums);
  for (std::size_t set = 0; set < layout_.sets(); ++set)
    move_array(ov_tensors_[set], orbitals * orbitals, DerivativeSums::ov_tensor(set), sums);
}

void DeviceDerivatives::move_to(TaskSums& sums) {
  add_vvoo();
  move_small(sums);
  move_array(operands_, layout_.doubles(), DerivativeSums::operands, sums);
}

DeviceArray<unsigned long long> DeviceDerivatives::take_operands(TaskSums& sums) {
  add_vvoo();
  move_small(sums);
  return std::exchange(operands_, {});
}

BackwardLaunch::BackwardLaunch(const DeviceDerivatives& sums, Precision precision, std::int64_t seed_bytes)
    : sums_(sums), precision_(precision), memory_(static_cast<std::size_t>(seed_bytes)) {
  // Seeds beyond the end of a tile are never written. They must be numbers, because they are multiplied by 0.
  fill_with_zeros(memory_);
}

bool BackwardLaunch::has_room(const TaskData& task, const BackwardProgram& program) const {
  return used_ + seeds_of(task, program) * seed_size(precision_) <= static_cast<std::int64_t>(memory_.size());
}

void BackwardLaunch::add(const TaskData& task, const BackwardProgram& program) {
  TaskSeeds seeds{};
  std::byte* const begin = memory_.data() + used_;
  seeds.begin = begin;
  seeds.target_stride = SeedExtents(task.extent).seeds();
  seeds.images = static_cast<std::int32_t>(program.images.size());
  std::copy(program.images.begin(), program.images.end(), std::begin(seeds.image));
  used_ += seeds_of(task, program) * seed_size(precision_);
  for (const std::int64_t place : program.vvoo)
    vvoo_.push_back(place < 0 ? 0 : reinterpret_cast<unsigned long long>(sums_.vvoo() + place));
  for (const BackwardProgram::Entry& entry : program.products) {
    BackwardProduct product = entry.shape;
    product.seeds = begin + entry.target * seeds.target_stride * seed_size(precision_);
    product.out = sums_.operands() + entry.out;
    product.factor = entry.shape.factor / unit_of_operands;
    const int width = backward_width(product, precision_);
    append_backward_tiles(product, precision_, static_cast<std::uint32_t>(products_.size()), width, tiles_[width]);
    products_.push_back(product);
    panels_.push_back(entry.panel);
    tasks_.push_back(seeds_.size());
  }
  seeds_.push_back(seeds);
}

void BackwardLaunch::send_with(ArraysInOne& arrays, DerivativeParameters& parameters, cudaStream_t stream) {
  sums_.set(parameters);
  if (precision_ == Precision::mixed) {
    largest_.reserve(seeds_.size());
    TRIFUSE_CUDA(cudaMemsetAsync(largest_.data(), 0, largest_.size() * sizeof(unsigned), stream));
    for (std::size_t task = 0; task < seeds_.size(); ++task) seeds_[task].largest = largest_.data() + task;
    for (std::size_t n = 0; n < products_.size(); ++n) products_[n].largest = largest_.data() + tasks_[n];
  }
  arrays.add(seeds_, parameters.seeds);
  arrays.add(vvoo_, parameters.vvoo);
  arrays.add(products_, products_on_device_);
  for (const auto& [width, tiles] : tiles_) arrays.add(tiles, tiles_on_device_[width]);
}

void BackwardLaunch::run(int multiprocessors, cudaStream_t stream) const {
  for (const auto& [width, tiles] : tiles_) {
    const auto count = static_cast<std::uint32_t>(tiles.size());
    const int grid = static_cast<int>(std::min<std::uint32_t>(count, static_cast<std::uint32_t>(multiprocessors)));
    launch_backward(precision_, width, grid, {products_on_device_, tiles_on_device_.at(width), count}, stream);
  }
}

void BackwardLaunch::clear() {
  used_ = 0;
  seeds_.clear();
  vvoo_.clear();
  products_.clear();
  panels_.clear();
  tasks_.clear();
  tiles_.clear();
  tiles_on_device_.clear();
}

}
