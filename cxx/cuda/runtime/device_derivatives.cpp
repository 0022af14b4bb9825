#include "cxx/cuda/runtime/device_derivatives.hpp"

#include <algorithm>

#include "cxx/operands/derivative_sums.hpp"

namespace trifuse::gpu {

namespace {

void clear_on_device(DeviceArray<unsigned long long>& array, std::int64_t count) {
  array.reserve(static_cast<std::size_t>(std::max<std::int64_t>(1, count)));
  TRIFUSE_CUDA(cudaMemset(array.data(), 0, array.size() * sizeof(unsigned long long)));
}

std::int64_t seed_doubles(const TaskData& task, const BackwardProgram& program) {
  return program.targets * SeedExtents(task.extent).doubles();
}

}

DeviceDerivatives::DeviceDerivatives(const PanelLayout& layout) : layout_(layout) {
  const std::int64_t orbitals = layout.tiles().orbitals();
  clear_on_device(operands_, layout.doubles());
  clear_on_device(energies_, orbitals);
  for (std::size_t set = 0; set < layout.sets(); ++set) clear_on_device(ov_tensors_[set], orbitals * orbitals);
}

std::int64_t DeviceDerivatives::bytes(const Problem& problem, const TileSpace& tiles) {
  const std::int64_t orbitals = tiles.orbitals();
  return (PanelLayout::required_doubles(problem, tiles) + orbitals +
          problem.disconnected_sets() * orbitals * orbitals) *
         static_cast<std::int64_t>(sizeof(unsigned long long));
}

void DeviceDerivatives::set(DerivativeParameters& parameters) const {
  parameters.energies = energies_.data();
  for (std::size_t set = 0; set < max_disconnected_sets; ++set) parameters.ov_tensors[set] = ov_tensors_[set].data();
  parameters.units = 1.0 / unit_of_operands;
  parameters.energy_units = 1.0 / unit_of_energies;
}

void DeviceDerivatives::add_array(std::size_t array, const DeviceArray<unsigned long long>& from, std::int64_t count,
                                  TaskSums& sums) const {
  constexpr std::int64_t part = std::int64_t{1} << 24;
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(std::min(part, count)));
  for (std::int64_t first = 0; first < count; first += part) {
    const auto length = static_cast<std::size_t>(std::min(part, count - first));
    TRIFUSE_CUDA(
        cudaMemcpy(numbers.data(), from.data() + first, length * sizeof(std::int64_t), cudaMemcpyDeviceToHost));
    sums.add_integers(array, static_cast<std::size_t>(first), std::span(numbers).first(length));
  }
}

void DeviceDerivatives::add_to(TaskSums& sums) const {
  TRIFUSE_CUDA(cudaDeviceSynchronize());
  const TileSpace& space = layout_.tiles();
  const std::int64_t orbitals = space.orbitals();
  add_array(DerivativeSums::operands, operands_, layout_.doubles(), sums);
  add_array(DerivativeSums::energies, energies_, orbitals, sums);
  for (std::size_t set = 0; set < layout_.sets(); ++set)
    add_array(DerivativeSums::ov_tensor(set), ov_tensors_[set], orbitals * orbitals, sums);
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
}

BackwardLaunch::BackwardLaunch(const DeviceDerivatives& sums, std::int64_t seed_bytes)
    : sums_(sums), memory_(static_cast<std::size_t>(seed_bytes) / sizeof(double)) {
  // Seeds beyond the end of a tile are never written. They must be numbers, because they are multiplied by 0.
  TRIFUSE_CUDA(cudaMemset(memory_.data(), 0, memory_.size() * sizeof(double)));
}

bool BackwardLaunch::has_room(const TaskData& task, const BackwardProgram& program) const {
  return doubles_ + seed_doubles(task, program) <= static_cast<std::int64_t>(memory_.size());
}

void BackwardLaunch::add(const TaskData& task, const BackwardProgram& program) {
  TaskSeeds seeds{};
  seeds.begin = memory_.data() + doubles_;
  seeds.target_stride = SeedExtents(task.extent).doubles();
  seeds.images = static_cast<std::int32_t>(program.images.size());
  std::copy(program.images.begin(), program.images.end(), std::begin(seeds.image));
  doubles_ += seed_doubles(task, program);
  for (const BackwardProgram::Vvoo& block : program.vvoo) {
    const auto address = [&] { return reinterpret_cast<unsigned long long>(sums_.operands() + block.out); };
    vvoo_.push_back(block.out < 0 ? 0 : address() | (block.swapped ? VvooSum::swapped : 0));
  }
  for (const BackwardProgram::Entry& entry : program.products) {
    BackwardProduct product = entry.shape;
    product.seeds = seeds.begin + entry.target * seeds.target_stride;
    product.out = sums_.operands() + entry.out;
    product.factor = entry.shape.factor / unit_of_operands;
    const int width = backward_width(product);
    append_backward_tiles(product, static_cast<std::uint32_t>(products_.size()), width, tiles_[width]);
    products_.push_back(product);
    panels_.push_back(entry.panel);
  }
  seeds_.push_back(seeds);
}

void BackwardLaunch::send_with(ArraysInOne& arrays, DerivativeParameters& parameters) {
  sums_.set(parameters);
  arrays.add(seeds_, parameters.seeds);
  arrays.add(vvoo_, parameters.vvoo);
  arrays.add(products_, products_on_device_);
  for (const auto& [width, tiles] : tiles_) arrays.add(tiles, tiles_on_device_[width]);
}

void BackwardLaunch::run(int multiprocessors, cudaStream_t stream) const {
  for (const auto& [width, tiles] : tiles_) {
    const auto count = static_cast<std::uint32_t>(tiles.size());
    const int grid = static_cast<int>(std::min<std::uint32_t>(count, static_cast<std::uint32_t>(multiprocessors)));
    launch_backward(width, grid, {products_on_device_, tiles_on_device_.at(width), count}, stream);
  }
}

void BackwardLaunch::clear() {
  doubles_ = 0;
  seeds_.clear();
  vvoo_.clear();
  products_.clear();
  panels_.clear();
  tiles_.clear();
  tiles_on_device_.clear();
}

}
