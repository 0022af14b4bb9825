#include "cxx/cuda/schedule/backward_program.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "cxx/operands/derivative_sums.hpp"
#include "tce_tiles/tiles/tile_sizes.hpp"

namespace trifuse::gpu {

namespace {

using Order = std::array<int, 3>;

std::size_t position(int n) {
  return static_cast<std::size_t>(n);
}

/// Returns the numbers of the orders of three positions that only exchange equal tiles. `equal`: as in TaskData.
std::vector<int> orders_of_equal(int equal) {
  if (equal == 0) return {0};
  if (equal == 1) return {0, 3};
  if (equal == 2) return {0, 5};
  return {0, 1, 2, 3, 4, 5};
}

bool is_odd(int order) {
  return order >= 3;
}

/// Returns the assignment in which particle particles[q] has the hole holes[assignments[target][q]].
int source_of(int target, const Order& particles, const Order& holes) {
  Order wanted{};
  for (int q = 0; q < 3; ++q)
    wanted[position(particles[position(q)])] = holes[position(assignments[position(target)][position(q)])];
  return static_cast<int>(std::find(assignments.begin(), assignments.end(), wanted) - assignments.begin());
}

/// Writes the images of the seeds of a task. `places`: the number among the seeds of each target that has seeds. There
/// are as few images as possible: one for each order of equal particles in the spin-adapted formulation.
void write_images(SpinFormulation formulation, const TaskData& task, const std::map<int, int>& places,
                  std::vector<SeedImage>& images) {
  const bool adapted = formulation == SpinFormulation::spin_adapted;
  images.clear();
  for (const int particles : orders_of_equal(task.equal_particles)) {
    for (const int holes : orders_of_equal(task.equal_holes)) {
      for (const auto& [target, place] : places) {
        const std::size_t source =
            adapted
                ? position(source_of(target, position_orders[position(particles)], position_orders[position(holes)]))
                : 0;
        const std::int8_t negative = !adapted && is_odd(particles) != is_odd(holes) ? 1 : 0;
        const auto has_room = [&](const SeedImage& image) {
          return image.particle_order == particles && image.negative == negative &&
                 image.target[source] == SeedImage::none;
        };
        auto image = std::find_if(images.begin(), images.end(), has_room);
        if (image == images.end()) {
          SeedImage empty{};
          std::fill(std::begin(empty.target), std::end(empty.target), SeedImage::none);
          empty.particle_order = static_cast<std::int8_t>(particles);
          empty.negative = negative;
          image = images.insert(image, empty);
        }
        image->target[source] = static_cast<std::int8_t>(place);
        image->hole_order[source] = static_cast<std::int8_t>(holes);
      }
    }
  }
}

/// Returns the number of seeds of a target of a task whose tiles have these sizes.
std::int64_t seeds_of_target(std::int64_t holes, std::int64_t particles) {
  const auto h = static_cast<std::int32_t>(holes), p = static_cast<std::int32_t>(particles);
  const std::int32_t extent[6] = {p, p, p, h, h, h};
  return SeedExtents(extent).seeds();
}

/// Sets the members of an entry that belong to the integers of one panel: where they begin, and which contracted
/// indices x are wanted. `out`: the panel. `all`: true if the derivatives by its integrals are wanted, too.
void set_sums(const PanelLayout& layout, const PanelKey& out, std::int64_t begin, bool all,
              BackwardProgram::Entry& entry) {
  // Kernels read the rows of a side from their begin on.
  const PanelRows read = layout.rows(out), stored = layout.stored_rows(out);
  const ContractedExtent extent = layout.contracted(out);
  const std::int64_t amplitudes = read.amplitude_part(out.kind) - read.begin,
                     count = out.kind == PanelKind::left ? extent.particles : extent.holes;
  entry.shape.begin = static_cast<std::int32_t>(all ? 0 : amplitudes);
  entry.shape.end = static_cast<std::int32_t>(all ? extent.total() : amplitudes + count);
  entry.out = begin + (all ? stored.begin : stored.amplitude_part(out.kind) - amplitudes);
}

}

VvooSums::VvooSums(const PanelLayout& layout) {
  layout.visit([&](const PanelKey& key, const PanelExtent& extent) {
    if (key.kind != PanelKind::vvoo) return;
    for (const bool swapped : {false, true}) {
      const PanelName name{key, swapped, {}};
      places_[name] = size_;
      blocks_.push_back({name, size_, extent.begin, packing_of(layout.tiles(), layout.formulation(), name, 1)});
      size_ += packed_bytes(layout.tiles(), layout.formulation(), name) / static_cast<std::int64_t>(sizeof(double));
    }
  });
}

std::int64_t VvooSums::find(const PanelName& name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? -1 : found->second;
}

void write_backward_program(const Problem& problem, const PanelLayout& layout, const VvooSums& vvoo, const Task& task,
                            const TaskProgram& names, const OperandFormat& format, ContractionList& contractions,
                            BackwardProgram& program) {
  const TileSpace& space = layout.tiles();
  const bool adapted = problem.formulation == SpinFormulation::spin_adapted;
  const int sides = problem.sides();
  list_contractions(space, problem.formulation, task, contractions, EquivalentTargets::listed);
  program.products.clear();
  program.operations = 0.0;
  std::map<int, int> places;
  for (const Product& product : contractions.products) {
    const Destination& destination = product.destinations.front();
    const auto& slot = destination.slot;
    const auto found = places.try_emplace(destination.target, static_cast<int>(places.size())).first;
    const ContractedExtent extent = contracted_extent(space, product.contracted);
    BackwardProgram::Entry entry;
    std::copy(std::begin(names.data.extent), std::end(names.data.extent), std::begin(entry.shape.extent));
    entry.shape.particle = slot[0];
    entry.shape.hole = slot[5] - 3;
    entry.shape.k_tiles = static_cast<std::int32_t>(ceil_div(extent.total(), format.k_tile_depth));
    entry.shape.factor = destination.sign;
    // Panels of spin orbitals are antisymmetric. So each element with two indices of equal tiles stands there twice.
    if (!adapted && product.left[1] == product.left[2]) entry.shape.factor /= 2.0;
    if (!adapted && product.right[0] == product.right[1]) entry.shape.factor /= 2.0;
    double elements = 2.0;
    for (const std::int32_t n : names.data.extent) elements *= n;
    for (int n = 0; n < sides; ++n) {
      const Side side = n + 1 == sides ? Side::right : left_side(n);
      const PanelName left{PanelKey::left(product.left, side), slot[1] > slot[2], format};
      const PanelName right{PanelKey::right(product.right, side), slot[3] > slot[4], format};
      entry.target = found->second * sides + n;
      for (const bool to_left : {true, false}) {
        const PanelName& out = to_left ? left : right;
        const PanelExtent* const found_panel = layout.find(out.key);
        if (found_panel == nullptr) continue;
        entry.panel = to_left ? right : left;
        const Packing packing = packing_of(space, problem.formulation, out, layout.stored_rows(out.key).stride);
        std::copy_n(packing.stride, 3, entry.shape.stride);
        entry.shape.left = to_left ? 1 : 0;
        set_sums(layout, out.key, found_panel->begin, problem.derivatives == Derivatives::all, entry);
        if (entry.shape.begin == entry.shape.end) continue;
        program.operations += elements * (entry.shape.end - entry.shape.begin);
        program.products.push_back(entry);
      }
    }
  }
  program.targets = static_cast<int>(places.size()) * sides;
  write_images(problem.formulation, names.data, places, program.images);
  program.vvoo.clear();
  for (const auto& [used, name] : names.vvoo) program.vvoo.push_back(used ? vvoo.find(name) : -1);
}

std::int64_t largest_seed_bytes(int targets, Precision precision, const TileSpace& tiles) {
  const auto [holes, particles] = largest_tiles(tiles);
  return targets * seeds_of_target(holes, particles) * seed_size(precision);
}

TileSpace tiles_with_room_for_seeds(int targets, Precision precision, const TileSpace& tiles, std::int64_t bytes) {
  // The backward kernel computes multiples of 4 holes and of 8 particles. It is as fast with fewer particles, but not
  // with fragments of zeros, so tiles of holes are cut last.
  const TileSizes largest = largest_tiles(tiles);
  // The kernel that writes seeds counts those of a target in 32 bits.
  const std::int64_t most = std::min(std::int64_t{1} << 32, bytes / (targets * seed_size(precision)));
  for (const std::int64_t holes :
       {largest.holes, std::int64_t{20}, std::int64_t{16}, std::int64_t{12}, std::int64_t{8}}) {
    for (const std::int64_t particles :
         {largest.particles, std::int64_t{40}, std::int64_t{32}, std::int64_t{24}, std::int64_t{16}}) {
      if (holes > largest.holes || particles > largest.particles || seeds_of_target(holes, particles) > most) continue;
      return TileSizes{holes, particles} == largest ? tiles : tiles.refined(holes, particles);
    }
  }
  return tiles.refined(hole_group_size, backward_lone_particles);
}

DerivativeMemory derivative_memory(const Problem& problem, const TileSpace& tiles, Precision precision,
                                   std::int64_t budget) {
  constexpr std::int64_t seed_part = 6, least_seeds = std::int64_t{1} << 30;
  const std::int64_t limit = budget / seed_part;
  DerivativeMemory memory{tiles_with_room_for_seeds(problem.targets(), precision, tiles, limit), 0, 0};
  memory.seeds = std::max(largest_seed_bytes(problem.targets(), precision, memory.tiles), std::min(limit, least_seeds));
  const std::int64_t vvoo = VvooSums(layout_of_derivatives(problem, memory.tiles)).size(),
                     sums = derivative_sum_bytes(problem, memory.tiles) +
                            vvoo * static_cast<std::int64_t>(sizeof(unsigned long long));
  // Panels that do not fit may cut the tiles further. Smaller tiles have panels that are a little larger.
  memory.sums = static_cast<std::int64_t>(1.1 * static_cast<double>(sums));
  return memory;
}

int backward_width(const BackwardProduct& product, Precision precision) {
  const auto [depth, narrowest, widest] = backward_tiles(precision);
  const auto k_tiles = static_cast<int>(ceil_div(product.end, depth) - product.begin / depth);
  const auto tiles = static_cast<int>(ceil_div(k_tiles, widest));
  return std::max(narrowest, static_cast<int>(ceil_div(k_tiles, tiles)));
}

void append_backward_tiles(const BackwardProduct& product, Precision precision, std::uint32_t number, int width,
                           std::vector<BackwardTile>& tiles) {
  const int depth = backward_tiles(precision).k_tile_depth;
  const auto [u, w] = others(product.particle);
  const auto [h1, h2] = others(product.hole);
  const auto groups = [&](int hole) { return static_cast<int>(ceil_div(product.extent[3 + hole], hole_group_size)); };
  const bool left = product.left != 0;
  const Order extent = left ? Order{product.extent[product.particle], groups(h1), groups(h2)}
                            : Order{product.extent[u], product.extent[w], groups(product.hole)};
  const Order step = left ? Order{backward_lone_particles, 1, 1} : Order{backward_u, backward_w, 1};
  const auto last = static_cast<int>(ceil_div(product.end, depth));
  // The tiles of one row come together, because they read the same seeds.
  for (int z = 0; z < extent[2]; z += step[2])
    for (int y = 0; y < extent[1]; y += step[1])
      for (int x = 0; x < extent[0]; x += step[0])
        for (int k = product.begin / depth; k < last; k += width) {
          tiles.push_back(
              {number,
               static_cast<std::uint16_t>(k),
               {static_cast<std::uint16_t>(x), static_cast<std::uint16_t>(y), static_cast<std::uint16_t>(z)}});
        }
}

}
